//! The command line of formwright: arguments, tables, messages, exit codes. No mathematics.
//!
//! Exit codes: 0 done; 1 rejected; 2 declined, outside of the hypotheses; 3 usage, input or output error.

mod build;
mod inspect;
mod run;
mod show;
mod targets;
mod theorems;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use formwright::error::{Error, ErrorKind, Result};
use serde_json::{Value, json};

/// A compiler from functions to Transformers, with proofs.
///
/// Start with `formwright build`, which shows what happens on a small example.
#[derive(Parser)]
#[command(name = "formwright", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print one JSON document on standard output.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Compile a target to a Transformer; without a target, show a small example.
    Build(build::Build),
    /// Run a compiled Transformer on sequences.
    Run(run::Run),
    /// Show the stages, sizes and coordinates of a compiled Transformer, or its explicit layers.
    Inspect(inspect::Inspect),
    /// List the built-in targets.
    Targets,
    /// List the statements that are built, what checks them, and where the printed proofs were repaired.
    Theorems(theorems::Theorems),
}

/// What a command has to say: a text for people, or a JSON document.
struct Answer {
    text: String,
    json: Value,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = if error.use_stderr() { 3 } else { 0 };
            // A closed pipe is no reason to fail twice.
            drop(error.print());
            return ExitCode::from(code);
        }
    };
    let answer = match &arguments.command {
        Command::Build(command) => command.execute(),
        Command::Run(command) => command.execute(),
        Command::Inspect(command) => match command.stream() {
            Some(Ok(())) => return ExitCode::SUCCESS,
            Some(Err(error)) => Err(error),
            None => command.execute(),
        },
        Command::Targets => targets::execute(),
        Command::Theorems(command) => command.execute(),
    };
    match answer.and_then(|answer| print(&answer, arguments.json)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, arguments.json),
    }
}

fn print(answer: &Answer, json: bool) -> Result<()> {
    let text = if json { format!("{:#}", answer.json) } else { answer.text.clone() };
    write_line(&mut io::stdout().lock(), text.trim_end()).map(drop)
}

/// Writes a line; `false` if the reader has gone away, which is no error.
fn write_line(out: &mut impl Write, line: &str) -> Result<bool> {
    match writeln!(out, "{line}") {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::input(format!("cannot write to standard output: {error}"))),
    }
}

fn fail(error: &Error, json: bool) -> ExitCode {
    let (code, kind) = match error.kind() {
        ErrorKind::Rejected => (1, "rejected"),
        ErrorKind::Declined => (2, "declined"),
        ErrorKind::Input => (3, "error"),
    };
    eprintln!("error: {error}");
    if json {
        let notes: Vec<Value> =
            error.notes().iter().map(|(label, text)| json!({"label": label, "text": text})).collect();
        println!("{:#}", json!({"verdict": kind, "reason": error.headline(), "notes": notes}));
    }
    ExitCode::from(code)
}
