//! `formwright zoo`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use formwright::artifact;
use formwright::error::{Error, Result};
use formwright::zoo::Zoo;
use formwright_check::{Files, Verdict};
use serde_json::{Value, json};

use crate::Answer;
use crate::show::counted;

#[derive(Args)]
pub struct Command {
    /// The folder to write, which must not be there yet.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Variants of each circuit, drawn from the seeds 1, 2, …
    #[arg(long, value_name = "K", default_value_t = 2)]
    seeds: u64,
    /// Only models with this in their name, such as z-score, or sort-n3-f32.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Replace a zoo that is there; anything else is left alone.
    #[arg(long)]
    force: bool,
}

impl Command {
    pub fn execute(&self) -> Result<Answer> {
        let there = self.output.symlink_metadata().is_ok();
        if there && !(self.force && is_zoo(&self.output)) {
            let refused = artifact::check_new(&self.output);
            return Err(refused.err().unwrap_or_else(|| Error::input("the folder exists"))).map_err(|error| {
                let why = if self.force { "it is no zoo" } else { "a zoo is replaced with --force" };
                error.note("reason", why)
            });
        }
        let zoo = Zoo::new(self.seeds, self.only.clone())?;
        let progress = counted("making models");
        let (files, index) =
            zoo.files(&|files| verdict(files), &mut |place, all, name| progress.tell(place, all, name))?;
        drop(progress);
        if there {
            fs::remove_dir_all(&self.output)
                .map_err(|error| Error::input(format!("cannot replace {}: {error}", self.output.display())))?;
        }
        artifact::write_new_folder(&self.output, &files)?;
        Ok(answer(&self.output, &files, &index))
    }
}

/// True if a zoo of ours is there, and no link to one.
fn is_zoo(dir: &Path) -> bool {
    let index = fs::read(dir.join("zoo.json")).unwrap_or_default();
    let is_folder = dir.symlink_metadata().is_ok_and(|about| about.is_dir());
    is_folder && serde_json::from_slice::<Value>(&index).is_ok_and(|index| index["format"] == "formwright-zoo")
}

/// The checker's verdict on files, of a network by itself or in a host.
fn verdict(files: &[(String, Vec<u8>)]) -> Option<String> {
    let file = |wanted: &str| files.iter().find(|(name, _)| name == wanted).map(|(_, bytes)| bytes.as_slice());
    let verdict: Verdict = if file("config.json").is_some() {
        formwright_check::check_named(files)?
    } else {
        let (certificate, target, weights) =
            (file("certificate.fwc")?, file("target.json")?, file("model.safetensors")?);
        formwright_check::check(&Files { certificate, target, weights })
    };
    Some(verdict.to_string())
}

fn answer(dir: &Path, files: &[(String, Vec<u8>)], index: &Value) -> Answer {
    let models = index["models"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |kind: &str| models.iter().filter(|model| model["change"]["kind"] == kind).count();
    let without = index["without"].as_array().map_or(0, Vec::len);
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let name = dir.display().to_string();
    let count = models.len();
    let (compiled, varied, turned, hosts) = (of("compiled"), of("varied"), of("turned"), of("host"));
    let text = format!(
        "written to {name}: {count} models, {bytes} bytes\n\n\
         {compiled} as compiled, {varied} varied, {turned} in a turned basis, {hosts} in stock hosts\n\
         all of them accepted by the checker; {without} others were left out, zoo.json says why\n\
         try: open {name}/index.html; python {name}/score.py {name}"
    );
    let json = json!({
        "folder": name,
        "models": count,
        "compiled": compiled,
        "varied": varied,
        "turned": turned,
        "hosts": hosts,
        "without": without,
        "bytes": bytes,
    });
    Answer { text, json }
}
