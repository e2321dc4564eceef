//! `formwright completions` and `formwright man`: what a shell and a reader of manuals want of this command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use formwright::artifact;
use formwright::error::{Error, Result};
use serde_json::json;

use crate::{Answer, Arguments};

#[derive(Args)]
pub struct Completions {
    /// The shell: bash, zsh, fish, elvish or powershell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub fn execute(&self) -> Result<Answer> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "formwright", &mut script);
        let text = String::from_utf8(script).map_err(|_| Error::input("the script is no text"))?;
        Ok(Answer { json: json!({"shell": self.shell.to_string(), "script": text}), text })
    }
}

#[derive(Args)]
pub struct Man {
    /// The folder to write, which must not be there yet.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

impl Man {
    pub fn execute(&self) -> Result<Answer> {
        artifact::check_new(&self.output)?;
        let mut command = Arguments::command();
        // Options of all commands are options of each.
        command.build();
        let mut files = vec![("formwright.1".to_owned(), page(&command)?)];
        for part in command.get_subcommands().filter(|part| part.get_name() != "help") {
            files.push((format!("formwright-{}.1", part.get_name()), page(part)?));
        }
        artifact::write_new_folder(&self.output, &files)?;
        let (name, count) = (self.output.display().to_string(), files.len());
        let text = format!("written to {name}: {count} pages\ntry: man {name}/formwright.1");
        Ok(Answer { text, json: json!({"folder": name, "pages": count}) })
    }
}

/// A page of the manual.
fn page(command: &clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone());
    man.render(&mut page).map_err(|error| Error::input(format!("cannot write a page: {error}")))?;
    Ok(page)
}
