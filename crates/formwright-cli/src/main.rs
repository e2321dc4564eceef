//! The program `formwright`.

fn main() -> std::process::ExitCode {
    formwright_cli::main()
}
