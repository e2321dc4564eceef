//! `formwright lab`: the lab is a program of its own, so that the compiler builds fast; it is found beside this one, or
//! on the path.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;
use formwright::error::{Error, Result};

/// Everything after `lab` is passed on to the lab.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Lab {
    /// The lab's command; `formwright lab --help` lists all.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Lab {
    /// Runs the lab, and ends with its exit code.
    pub fn execute(&self, json: bool) -> Result<ExitCode> {
        let name = format!("formwright-lab{EXE_SUFFIX}");
        let beside = std::env::current_exe().ok().map(|here| here.with_file_name(&name)).filter(|lab| lab.is_file());
        let program = beside.unwrap_or_else(|| PathBuf::from(&name));
        let json = json.then_some("--json");
        // Its exit code is a byte, unless a signal ended it.
        let code = |code: Option<i32>| code.and_then(|code| u8::try_from(code).ok()).unwrap_or(130);
        match Command::new(&program).args(&self.arguments).args(json).status() {
            Ok(status) => Ok(ExitCode::from(code(status.code()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::input("the lab is not installed")
                .note("looked", format!("for {name} beside formwright, and on the path"))
                .note(
                    "try",
                    "cargo install --path crates/formwright-lab (or cargo build --release -p formwright-lab)",
                )),
            Err(error) => Err(Error::input(format!("cannot start {}: {error}", program.display()))),
        }
    }
}
