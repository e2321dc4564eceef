//! A program of somebody else: all commands of formwright, and a construction that formwright does not know.
//!
//! ```sh
//! cargo run --example outside -- plan "x mod 2 on integers 0..3" --tokens 2 --construction constant --eps 1
//! cargo run --example outside -- build "x mod 2 on integers 0..3" --tokens 2 --construction constant --eps 1 -o half
//! ```

mod constant;

use std::process::ExitCode;

fn main() -> ExitCode {
    match formwright::construct::register(&constant::Constants) {
        Ok(()) => formwright_cli::main(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}
