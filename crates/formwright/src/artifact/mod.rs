//! The folder on disk, and targets read from files.
//!
//! | file | content |
//! |---|---|
//! | `contents.rs` | the files that a checker reads: target, weights, certificate |
//! | `place.rs` | where a folder may be written, and writing it |
//! | `document.rs` | `model.json`, written and read |
//! | `tensors.rs` | `model.safetensors` |
//! | `certificate.rs` | `certificate.fwc` |
//! | `source.rs` | a target from what a user writes |
//!
//! An exact model is two files: `target.json`, the function, closed; `model.json`, for people and for reading back: the
//! summary, the named coordinates, embedding, positions and read-out, and each stage with the parameters that generate
//! its layers. A float model has its weights in a third file, `model.safetensors`, in `model.json` the shapes that these
//! must have, and, if its claim is one that can be checked, a fourth file, `certificate.fwc`. Every model has its page,
//! `report.html` ([`report`](crate::report)), which nobody reads back. A circuit is a float model whose `model.json`
//! lists its gates; they are for people, and compiled anew when something is claimed. A folder is written beside its
//! place and renamed, so that nothing half-written is ever seen.

pub(crate) mod certificate;
mod contents;
mod document;
mod place;
mod source;
pub mod tensors;

use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
pub use crate::files::{beside, check_new, write_new, write_new_folder};
use crate::model::Model;

pub use contents::Contents;
pub(crate) use document::read;
pub use place::check_place;
pub use source::read_target;

/// The name of the format in `model.json`.
const FORMAT: &str = "formwright-model";

/// The version of `model.json`.
const VERSION: u64 = 1;

/// The function.
const TARGET: &str = "target.json";

/// The file for people, and for reading back.
const MODEL: &str = "model.json";

/// The file of the weights.
const WEIGHTS: &str = "model.safetensors";

/// The claim, for a checker.
const CERTIFICATE: &str = "certificate.fwc";

/// The longest file that a checker looks at.
const LONGEST: u64 = (1 << 26) + (1 << 24) + 8;

/// The model to look at.
const REPORT: &str = "report.html";

/// The model to try, once somebody has asked for it.
const EXPLORE: &str = "explore.html";

/// The words by which such a page is known: no other file of that name is replaced.
pub(crate) const GENERATOR: &str = "formwright explore";

/// The files of a model's folder; weights are there if it is a float model, and a certificate if its claim is one that can be checked.
const FILES: [&str; 6] = [TARGET, MODEL, WEIGHTS, CERTIFICATE, REPORT, EXPLORE];

fn text(content: &Value) -> Vec<u8> {
    format!("{content:#}\n").into_bytes()
}

/// Writes a model's folder, as [`Contents::write`] does.
pub fn write(model: &Model, dir: &Path) -> Result<()> {
    Contents::of(model)?.write(model, dir)
}

fn check_folder(dir: &Path) -> Result<()> {
    let shown = dir.display();
    let build = format!("formwright build TARGET -o {shown}");
    if dir.is_file() {
        let ours = dir.file_name().is_some_and(|name| FILES.iter().any(|file| name == *file));
        let error = Error::input(format!("{shown} is a file, and a model is a folder"));
        return Err(match dir.parent().filter(|_| ours) {
            Some(folder) => error.note("try", format!("{}", Path::new(".").join(folder).display())),
            None => error.note("try", "the folder that formwright build wrote with -o"),
        });
    }
    if !dir.is_dir() {
        return Err(Error::input(format!("there is no folder {shown}")).note("try", build));
    }
    if [MODEL, TARGET].iter().all(|file| !dir.join(file).exists()) {
        return Err(Error::input(format!("there is no model in {shown}"))
            .note("reason", format!("a model has a file {MODEL}, and this folder has none"))
            .note("try", format!("the folder that formwright build wrote with -o; or {build}")));
    }
    Ok(())
}

/// The SHA-256 of bytes, as hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('?');
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
