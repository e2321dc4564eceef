//! `formwright export`.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use formwright::artifact::{self, Contents};
use formwright::bound::norm::upward;
use formwright::compile::Model;
use formwright::error::{Error, Result};
use formwright::export::vnnlib::VnnLib;
use formwright::export::{hf, onnx, transformerlens, vnnlib};
use formwright_check::Verdict;
use serde_json::{Map, Value, json};

use crate::Answer;
use crate::check::verdict;
use crate::show::working;

#[derive(Args)]
pub struct Export {
    /// The folder that `build` wrote, with a float model.
    dir: PathBuf,
    /// The format.
    #[arg(long, value_enum, default_value_t = FileKind::Onnx)]
    format: FileKind,
    /// The file or folder to write, which must not be there yet; NAME.onnx, NAME.transformerlens or NAME.vnnlib in the
    /// current folder for a model in the folder NAME.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// ONNX: give out the residual stream after the embedding and after every stage as well, as `stage.NAME`.
    #[arg(long)]
    stages: bool,
    /// TransformerLens: turn the residual stream to an orthogonal basis drawn from this seed, in f64, and have the
    /// checker prove the error of the turned weights.
    #[arg(long, value_name = "SEED")]
    rotate: Option<u64>,
    /// VNN-LIB: instances, at most; they are spread evenly over all cells.
    #[arg(long, value_name = "K")]
    cells: Option<NonZeroUsize>,
    /// Hugging Face, ONNX: the stock class that the network is put into: bert, t5, modernbert (all tokens see each other),
    /// gpt2, opt or llama (causal). Hugging Face without it: the one that the model was built for; ONNX without it: the
    /// network by itself.
    #[arg(long, value_name = "CLASS")]
    host: Option<String>,
    /// Hugging Face: the words of the integers of the domain, the least one first, with commas between; otherwise their
    /// digits.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    vocabulary: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FileKind {
    /// One file, ONNX with operators of version 21; the claim stands in the properties of the model. With --host the
    /// blocks of a stock Transformer.
    Onnx,
    /// A folder: config, state dict and ground-truth circuit for TransformerLens' `boot_native`; for targets on
    /// integers.
    Transformerlens,
    /// A folder: the claim at some cells as ONNX and VNN-LIB instances for verifiers (VNNLIB.md).
    Vnnlib,
    /// A folder: the network inside of a stock Transformer (--host), which `AutoModelForTokenClassification` loads, or
    /// `AutoModelForCausalLM`.
    Hf,
}

impl Export {
    pub fn execute(&self) -> Result<Answer> {
        self.check_options()?;
        let model = formwright::open(&self.dir)?;
        let path = match &self.output {
            Some(path) => path.clone(),
            None => self.default_path()?,
        };
        artifact::check_new(&path)?;
        let _working = working("computing the bound anew");
        match self.format {
            FileKind::Onnx => match &self.host {
                Some(host) => Self::stock(&model, host, &path),
                None => self.onnx(&model, &path),
            },
            FileKind::Transformerlens => self.transformerlens(&model, &path),
            FileKind::Vnnlib => self.vnnlib(&model, &path),
            FileKind::Hf => self.hf(&model, &path),
        }
    }

    /// Refuses an option of another format, which would be ignored otherwise.
    fn check_options(&self) -> Result<()> {
        let options = [
            ("--stages", self.stages, FileKind::Onnx, "onnx"),
            ("--rotate", self.rotate.is_some(), FileKind::Transformerlens, "transformerlens"),
            ("--cells", self.cells.is_some(), FileKind::Vnnlib, "vnnlib"),
            ("--vocabulary", self.vocabulary.is_some(), FileKind::Hf, "hf"),
        ];
        match options.into_iter().find(|(_, given, format, _)| *given && *format != self.format) {
            Some((option, _, _, format)) => Err(Error::input(format!("{option} is an option of --format {format}"))
                .note("try", format!("--format {format}"))),
            None if self.host.is_some() && ![FileKind::Hf, FileKind::Onnx].contains(&self.format) => {
                Err(Error::input("--host is an option of --format hf and onnx").note("try", "--format hf"))
            }
            None if self.host.is_some() && self.stages => {
                Err(Error::input("--stages is about the network by itself").note("try", "leave out --host"))
            }
            None => Ok(()),
        }
    }

    fn onnx(&self, model: &Model, path: &Path) -> Result<Answer> {
        let network = model.exported().map_err(|error| error.note_first("model", self.dir.display().to_string()))?;
        let properties = model.metadata()?;
        let bytes = onnx::to_bytes(network, &properties, self.stages)?;
        artifact::write_new(path, &bytes)?;
        let name = path.display().to_string();
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
            "properties": properties.into_iter().map(|(key, value)| (key, value.into())).collect::<Map<_, _>>(),
        });
        Ok(Answer { text, json })
    }

    /// The blocks of a stock class in one file.
    fn stock(model: &Model, host: &str, path: &Path) -> Result<Answer> {
        let (bytes, properties, claim) = hf::onnx(model, host)?;
        artifact::write_new(path, &bytes)?;
        let name = path.display().to_string();
        let text = format!("written to {name}: {} bytes\n\n{claim}\n", bytes.len());
        let json = json!({
            "files": [name],
            "sha256": {name: artifact::sha256(&bytes)},
            "bytes": bytes.len(),
            "properties": properties.into_iter().map(|(key, value)| (key, value.into())).collect::<Map<_, _>>(),
        });
        Ok(Answer { text, json })
    }

    fn transformerlens(&self, model: &Model, path: &Path) -> Result<Answer> {
        let (files, bound) = transformerlens::files(model, self.rotate, verdict_in_words)?;
        let claim = match (bound, self.rotate) {
            (Some(bound), Some(seed)) => format!(
                "{}: in the basis of seed {seed} every output is within {} of the target's; accepted by the checker: formwright check {}",
                model.badge(),
                upward(bound, 4),
                path.display()
            ),
            (Some(bound), None) => format!(
                "{}: every output is within {} of the target's; the numbers are the model's own",
                model.badge(),
                upward(bound, 4)
            ),
            (None, _) => "no claim: nothing is proved of the error".to_owned(),
        };
        answer(path, &files, &claim)
    }

    fn vnnlib(&self, model: &Model, path: &Path) -> Result<Answer> {
        let wanted = self.cells.map(NonZeroUsize::get);
        let VnnLib { files, taken, cells } = vnnlib::files(model, &model.metadata()?, wanted)?;
        let claim = format!(
            "{}: {taken} instances, of {cells} cells, that must be unsat, and one with wrong outputs that must be sat; expected.csv has them",
            model.badge()
        );
        answer(path, &files, &claim)
    }

    fn hf(&self, model: &Model, path: &Path) -> Result<Answer> {
        let host = self.host.as_deref().or(model.host()).ok_or_else(|| {
            Error::input("--format hf needs the class that the network is put into").note(
                "try",
                "--host bert, t5 or modernbert; where tokens see those before them only, gpt2, opt or llama",
            )
        })?;
        let (files, claim) = hf::files(model, host, self.vocabulary.as_deref(), |files| {
            formwright_check::check_named(files).map(|verdict| verdict.to_string())
        })?;
        answer(path, &files, &claim)
    }

    /// `NAME.onnx` for a folder called `NAME`, however it is written.
    fn default_path(&self) -> Result<PathBuf> {
        let full = self.dir.canonicalize().ok();
        let name = self.dir.file_name().or_else(|| full.as_ref()?.file_name());
        let name = name.ok_or_else(|| {
            Error::input(format!("{} has no name to call the file by", self.dir.display())).note("try", "-o PATH")
        })?;
        let format = self.format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        Ok(PathBuf::from(format!("{}.{format}", name.to_string_lossy())))
    }
}

/// The checker's verdict on a rotated network, in words; `None` if it accepts.
fn verdict_in_words(contents: &Contents) -> Option<String> {
    match verdict(contents) {
        Some(Verdict::Accepted(_)) => None,
        Some(other) => Some(other.to_string()),
        None => Some("there is no certificate".to_owned()),
    }
}

/// Writes a folder, and lists its files.
fn answer(path: &Path, files: &[(String, Vec<u8>)], claim: &str) -> Result<Answer> {
    artifact::write_new_folder(path, files)?;
    let name = path.display().to_string();
    let mut text = format!("written to {name}\n\n");
    for (file, bytes) in files {
        let _ = writeln!(text, " {file}: {} bytes", bytes.len());
    }
    let _ = writeln!(text, "\n{claim}");
    let place = |file: &str| path.join(file).display().to_string();
    let hashes: Map<String, Value> =
        files.iter().map(|(file, bytes)| (place(file), artifact::sha256(bytes).into())).collect();
    let json = json!({"files": hashes.keys().collect::<Vec<_>>(), "sha256": hashes, "claim": claim});
    Ok(Answer { text, json })
}

/// The claim that the file's properties make, on one line.
fn claim(properties: &[(String, String)]) -> String {
    let property = |name: &str| properties.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    if let (Some(badge), Some(rounding)) = (property("badge"), property("rounding")) {
        return format!(
            "{badge}, and not proved, against the target; certified: {rounding}; this stands in the file's properties"
        );
    }
    match (property("badge"), property("norm"), property("bound"), property("domain")) {
        (Some(badge), Some(norm), Some(bound), Some(domain)) => {
            format!("{badge}: {norm} error on {domain} at most {bound}; this stands in the file's properties")
        }
        _ => "no claim: the file's properties tell what it was made for, and nothing of its error".to_owned(),
    }
}
