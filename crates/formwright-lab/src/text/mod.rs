//! Text for training: plain files become pieces, pieces become batches.
//!
//! ```text
//! corpus ──▶ vocabulary ──▶ cache ──▶ mask        masked words of running text
//!            (merges)       on disk   entropy     the loss to compare with
//! nli, squad ─────▶ encoded examples ─▶ batch     pairs with a label; questions with a span
//! copying ───────────────────────────▶ batch      no text at all
//! ```
//!
//! The batch of a training step is a function of the seed and of the number of the step, nothing else: a run that is
//! broken off and resumed sees the same batches as an unbroken one.

pub mod batch;
pub mod cache;
pub mod copying;
pub mod corpus;
pub mod entropy;
pub mod mask;
mod merges;
pub mod nli;
pub mod order;
pub mod squad;
pub mod vocabulary;

use formwright::error::{Error, Result};
use std::{fs, path::Path};

/// The text of a file.
fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &std::io::Error) -> Error {
    Error::input(format!("cannot read {}: {error}", file.display()))
}
