//! `formwright export`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use formwright::artifact;
use formwright::error::{Error, Result};
use formwright::export::{floats, metadata, onnx};
use serde_json::json;

use crate::Answer;
use crate::show::working;

#[derive(Args)]
pub struct Export {
    /// The folder that `build` wrote, with a float model.
    dir: PathBuf,
    /// The format.
    #[arg(long, value_enum, default_value_t = Format::Onnx)]
    format: Format,
    /// The file to write, which must not be there yet; NAME.onnx in the current folder for a model in the folder NAME.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Give out the residual stream after the embedding and after every stage as well, as `stage.NAME`.
    #[arg(long)]
    stages: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// ONNX, operators of version 21; the claim stands in the properties of the model.
    Onnx,
}

impl Export {
    pub fn execute(&self) -> Result<Answer> {
        let model = artifact::read(&self.dir)?;
        let Format::Onnx = self.format;
        let network = floats(&model).map_err(|error| error.note_first("model", self.dir.display().to_string()))?;
        let file = match &self.output {
            Some(file) => file.clone(),
            None => default_file(&self.dir)?,
        };
        artifact::check_new(&file)?;
        let _working = working("computing the bound anew");
        let properties = metadata(&model)?;
        let bytes = onnx::to_bytes(network, &properties, self.stages)?;
        artifact::write_new(&file, &bytes)?;
        let name = file.display().to_string();
        let mut text = format!("written to {name}: {} bytes\n\n", bytes.len());
        let sides = |dims: usize| match network.lengths {
            (least, most) if least == most => format!("[batch, {most}, {dims}]"),
            (least, most) => format!("[batch, {least} to {most}, {dims}]"),
        };
        let _ = writeln!(text, "input   x {}, {}", sides(network.dims()), network.precision);
        let _ = writeln!(text, "output  y {}", sides(network.output_dims()));
        if self.stages {
            let stages: Vec<String> = network.stages.iter().map(|stage| format!("stage.{}", stage.name)).collect();
            let _ = writeln!(text, "        stage.embed, {} {}", stages.join(", "), sides(network.width()));
        }
        let _ = writeln!(text, "\n{}", claim(&properties));
        let json = json!({
            "files": [name],
            "sha256": {name: artifact::sha256(&bytes)},
            "bytes": bytes.len(),
            "properties": properties.into_iter().map(|(key, value)| (key, value.into())).collect::<serde_json::Map<_, _>>(),
        });
        Ok(Answer { text, json })
    }
}

/// What the file's properties claim, on one line.
fn claim(properties: &[(String, String)]) -> String {
    let property = |name: &str| properties.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    match (property("badge"), property("norm"), property("bound"), property("domain")) {
        (Some(badge), Some(norm), Some(bound), Some(domain)) => {
            format!("{badge}: {norm} error on {domain} at most {bound}; this stands in the file's properties")
        }
        _ => "no claim: the file's properties tell what it was made for, and nothing of its error".to_owned(),
    }
}

/// `NAME.onnx` for a folder called `NAME`, however it is written.
fn default_file(dir: &Path) -> Result<PathBuf> {
    let full = dir.canonicalize().ok();
    let name = dir.file_name().or_else(|| full.as_ref()?.file_name());
    let name = name.ok_or_else(|| {
        Error::input(format!("{} has no name to call the file by", dir.display())).note("try", "-o FILE")
    })?;
    Ok(PathBuf::from(format!("{}.onnx", name.to_string_lossy())))
}
