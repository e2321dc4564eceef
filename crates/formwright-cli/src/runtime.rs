//! `formwright runtime`.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use formwright::artifact;
use formwright::error::{Error, Result};
use formwright::network::Precision;
use formwright::runtime::Probe;
use serde_json::{Map, Value, json};

use crate::Answer;

#[derive(Args)]
pub struct Runtime {
    /// Write the probe as a folder, which must not be there yet: an ONNX file, inputs, what may come out, and a script.
    #[arg(short, long, value_name = "DIR", conflicts_with = "answers")]
    output: Option<PathBuf>,
    /// Judge these answers to the probe: an array of numpy, or lists in JSON.
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// The format: f32 or f64.
    #[arg(long, default_value = "f32")]
    precision: Precision,
}

impl Runtime {
    /// The judgement, and its exit code: 1 if there is a witness.
    pub fn execute(&self) -> Result<(Answer, ExitCode)> {
        let probe = Probe::new(self.precision)?;
        if let Some(dir) = &self.output {
            return self.write(&probe, dir).map(|answer| (answer, ExitCode::SUCCESS));
        }
        let answers = match &self.answers {
            Some(file) => {
                let name = file.display().to_string();
                let opened = File::open(file).map_err(|error| Error::input(format!("cannot read {name}: {error}")))?;
                probe.read(opened, &name)?
            }
            None => probe.own()?,
        };
        let (inside, mut text, json) = probe.judge(&answers)?;
        if self.answers.is_none() {
            text = format!("formwright's own engine\n{text}\ntry: formwright runtime -o probe");
        }
        Ok((Answer { text, json }, ExitCode::from(u8::from(!inside))))
    }

    fn write(&self, probe: &Probe, dir: &Path) -> Result<Answer> {
        artifact::check_new(dir)?;
        let files = probe.files()?;
        artifact::write_new_folder(dir, &files)?;
        let name = dir.display().to_string();
        let mut text = format!("written to {name}\n\n");
        for (file, bytes) in &files {
            let _ = writeln!(text, " {file}: {} bytes", bytes.len());
        }
        let [cases, tokens, outputs] = probe.shape();
        let precision = if self.precision == Precision::F32 { "" } else { " --precision f64" };
        let _ = write!(
            text,
            "\n{cases} inputs of {tokens} tokens, {outputs} outputs a token\n\
             try: python {name}/run.py && formwright runtime{precision} --answers answers.npy"
        );
        let hashes: Map<String, Value> =
            files.iter().map(|(file, bytes)| (file.clone(), artifact::sha256(bytes).into())).collect();
        Ok(Answer { text, json: json!({"folder": name, "sha256": hashes, "shape": probe.shape()}) })
    }
}
