//! `formwright explore`.

use std::path::PathBuf;

use clap::Args;
use formwright::artifact;
use formwright::error::Result;
use formwright::explore::page;
use serde_json::json;

use crate::Answer;
use crate::show::working;

#[derive(Args)]
pub struct Explore {
    /// The folder that `build` wrote, of a model in floats.
    dir: PathBuf,
    /// The file to write, which must not be there yet; without it, the folder's own explore.html is written anew.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Explore {
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
            None => artifact::Contents::write_explore(&self.dir, &page)?,
        };
        let name = file.display().to_string();
        let claimed =
            if model.is_claimed() { "" } else { "\nnothing is claimed of this network, and the page says so" };
        let text = format!("written to {name}, {} bytes: open it in a browser{claimed}", page.len());
        let sha256 = artifact::sha256(page.as_bytes());
        let json =
            json!({"files": [name], "sha256": {&name: sha256}, "bytes": page.len(), "claimed": model.is_claimed()});
        Ok(Answer { text, json })
    }
}
