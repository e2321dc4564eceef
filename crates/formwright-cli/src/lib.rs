//! The command line of formwright: arguments, tables, messages, exit codes. No mathematics.
//!
//! Exit codes: 0 done; 1 rejected; 2 declined, outside of the hypotheses; 3 usage, input or output error.
//!
//! It is a library, so that a program of somebody else can register a construction and have all commands serve it: see
//! `examples/outside`.

mod build;
mod check;
mod contextual;
mod explore;
mod export;
mod inspect;
mod lab;
mod meanings;
mod patterns;
mod plan;
mod questions;
mod report;
mod run;
mod runtime;
mod shell;
mod show;
mod targets;
mod theorems;
mod zoo;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use formwright::error::{Error, Result};
use formwright::option::Front;
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
    /// Say nothing on standard error while work is going on.
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Compile a target to a Transformer; without a target, show a small example.
    Build(build::Build),
    /// Size up every construction for a target and a tolerance, without building any.
    Plan(plan::Plan),
    /// Run a compiled Transformer on sequences.
    Run(run::Run),
    /// Show the stages, sizes and coordinates of a compiled Transformer, or its explicit layers.
    Inspect(inspect::Inspect),
    /// Check the claim of a compiled Transformer, by a checker that believes nothing of what compiled it.
    ///
    /// Exit codes: 0 accepted, the claim is proved; 1 rejected; 2 declined, claims of this kind or size are not
    /// decided; 3 there is nothing to check.
    Check(check::Check),
    /// Ask whether a token mixer computes a contextual mapping: the margin, or a counterexample in numbers.
    ///
    /// Exactly, on a finite set of sequences, by Definition 5.1 of Yun et al. 2020 or a weaker one. Exit code 0 either
    /// way.
    Contextual(contextual::Contextual),
    /// Write a compiled Transformer in a format that other programs load.
    Export(export::Export),
    /// Write a page to look at: the claim, the function and the network, stages, the residual stream of an example.
    ///
    /// `build` writes it into every folder; this writes it anew.
    Report(report::Report),
    /// Write a page to try a model on: change tokens, look into every layer, and break what is proved.
    ///
    /// One file that opens from disk and needs nothing else; for models in floats of up to some 100,000 weights.
    Explore(explore::Explore),
    /// Print a script that completes commands and options in a shell.
    Completions(shell::Completions),
    /// Train the same architectures, and set training beside construction.
    ///
    /// The lab is a program of its own, formwright-lab; all that follows is handed to it.
    Lab(lab::Lab),
    /// Write the pages of the manual, one for each command.
    Man(shell::Man),
    /// Show a pattern of sparse attention and what the sparse theorem asks of it; without one, compare them all.
    Patterns(patterns::Patterns),
    /// Ask whether a runtime's arithmetic is inside of the execution model that all claims are about.
    ///
    /// A probe of some kilobytes is run there, and its answers are judged here: those that are not allowed are shown,
    /// with their inputs. Without options our own engine is judged. Exit codes: 0 nothing is outside; 1 something is.
    Runtime(runtime::Runtime),
    /// List the built-in targets.
    Targets,
    /// Write a zoo: many certified models of which it is known what every head and every unit computes.
    ///
    /// Ground truth for methods that look into networks: the circuits of all built-in targets in several sizes, formats
    /// and kinds of attention, variants of each, stock hosts; an index, manifests, a script that scores answers. Only
    /// models whose claim the checker accepts are written. Minutes.
    Zoo(zoo::Command),
    /// List the statements that are built, what checks them, and where the printed proofs were repaired.
    Theorems(theorems::Theorems),
}

/// The answer of a command: a text for people, or a JSON document.
struct Answer {
    text: String,
    json: Value,
}

/// Runs the command that the arguments of this process name.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is not a reason to fail twice.
            drop(error.print());
            if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
                let reason = error.render().to_string();
                let reason = reason.lines().next().unwrap_or_default().trim_start_matches("error: ");
                print_document(&json!({"verdict": "error", "reason": reason, "notes": []}));
            }
            return ExitCode::from(if error.use_stderr() { 3 } else { 0 });
        }
    };
    if arguments.quiet {
        show::be_quiet();
    }
    let mut code = ExitCode::SUCCESS;
    let answer = match &arguments.command {
        Command::Build(command) => command.execute(),
        Command::Plan(command) => command.execute(),
        Command::Run(command) => match command.stream(arguments.json) {
            Some(Ok(code)) => return code,
            Some(Err(error)) => Err(error),
            None => command.execute(),
        },
        Command::Inspect(command) => match command.stream() {
            Some(Ok(())) => return ExitCode::SUCCESS,
            Some(Err(error)) => Err(error),
            None => command.execute(),
        },
        Command::Check(command) => command.execute().map(|(answer, verdict)| {
            code = verdict;
            answer
        }),
        Command::Completions(command) => command.execute(),
        Command::Contextual(command) => command.execute(),
        Command::Export(command) => command.execute(),
        Command::Report(command) => command.execute(),
        Command::Explore(command) => command.execute(),
        Command::Lab(command) => match command.execute(arguments.json) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Man(command) => command.execute(),
        Command::Patterns(command) => command.execute(),
        Command::Runtime(command) => command.execute().map(|(answer, verdict)| {
            code = verdict;
            answer
        }),
        Command::Zoo(command) => command.execute(),
        Command::Targets => targets::execute(),
        Command::Theorems(command) => command.execute(),
    };
    match answer.and_then(|answer| print(&answer, arguments.json)) {
        Ok(()) => code,
        Err(error) => fail(&error, arguments.json),
    }
}

fn print(answer: &Answer, json: bool) -> Result<()> {
    let text = Front::CommandLine.shows(&if json { format!("{:#}", answer.json) } else { answer.text.clone() });
    let mut out = io::stdout().lock();
    write_line(&mut out, text.trim_end())?;
    flush(&mut out)
}

/// Writes a line; `false` if the reader has gone away, which is not an error.
fn write_line(out: &mut impl Write, line: &str) -> Result<bool> {
    match writeln!(out, "{line}") {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::input(format!("cannot write to standard output: {error}"))),
    }
}

/// Flushes; a reader that has gone away is not an error.
fn flush(out: &mut impl Write) -> Result<()> {
    match out.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::input(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints the document of a failure; if that fails too, only the exit code is left.
fn print_document(document: &Value) {
    drop(writeln!(io::stdout(), "{document:#}"));
}

fn fail(error: &Error, json: bool) -> ExitCode {
    let (code, document) = error.document(Front::CommandLine);
    // Where messages cannot be written, only the exit code reports the error.
    drop(writeln!(io::stderr(), "error: {}", error.told(Front::CommandLine)));
    if json {
        print_document(&document);
    }
    ExitCode::from(code)
}
