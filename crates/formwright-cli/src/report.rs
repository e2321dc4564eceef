//! `formwright report`.

use std::path::PathBuf;

use clap::Args;
use formwright::artifact;
use formwright::error::Result;
use formwright::report::page;
use serde_json::json;

use crate::Answer;
use crate::show::working;

#[derive(Args)]
pub struct Report {
    /// The folder that `build` wrote.
    dir: PathBuf,
    /// The file to write, which must not be there yet; without it, the folder's own report.html is written anew.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Report {
    pub fn execute(&self) -> Result<Answer> {
        self.output.as_deref().map_or(Ok(()), artifact::check_new)?;
        let model = formwright::open(&self.dir)?;
        let _working = working("computing the bound anew");
        let page = page(&model)?;
        let file = match &self.output {
            Some(file) => {
                artifact::write_new(file, page.as_bytes())?;
                file.clone()
            }
            None => artifact::Contents::write_report(&self.dir, &page)?,
        };
        let name = file.display().to_string();
        let json = json!({"files": [name], "sha256": {&name: artifact::sha256(page.as_bytes())}, "bytes": page.len()});
        Ok(Answer { text: format!("written to {name}: open it in a browser"), json })
    }
}
