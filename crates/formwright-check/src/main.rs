//! `fwcheck DIR`: reads three files, prints a verdict. Exit 0 accepted, 1 rejected, 2 declined, 3 no verdict.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use formwright_check::{Verdict, check_folder};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir] = arguments.as_slice() else {
        return say("usage: fwcheck DIR\nchecks certificate.fwc, target.json and model.safetensors in DIR", 3);
    };
    match check_folder(Path::new(dir)) {
        Ok(verdict) => {
            let code = match &verdict {
                Verdict::Accepted(_) => 0,
                Verdict::Rejected(_) => 1,
                Verdict::Declined(_) => 2,
            };
            say(&verdict.to_string(), code)
        }
        Err(error) => say(&format!("error: {error}"), 3),
    }
}

/// Prints a line. A verdict that could not be printed is no verdict.
fn say(text: &str, code: u8) -> ExitCode {
    let mut out: Box<dyn std::io::Write> =
        if code == 3 { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) };
    match writeln!(out, "{text}") {
        Ok(()) => ExitCode::from(code),
        Err(_) => ExitCode::from(3),
    }
}
