//! Where a run can go on: weights, the optimiser's state, the best weights, and how far it is.
//!
//! ```text
//! formwright-lab 1\n
//! {"run": hash, "state": …, "lengths": [m, o, b], "sha256": …}\n
//! m bytes of weights, o of the optimiser, b of the best weights (burn's records, MessagePack, full precision)
//! ```
//!
//! It is written beside and renamed. One that belongs to another configuration, or is cut short, is refused.

use std::path::Path;

use burn::module::AutodiffModule;
use burn::optim::Optimizer;
use burn::prelude::*;
use burn::record::{FullPrecisionSettings, NamedMpkBytesRecorder, Record, Recorder};
use burn::tensor::backend::AutodiffBackend;
use formwright::artifact::sha256;
use formwright::error::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::folder;
use crate::train::{Progress, Trained};

const MAGIC: &[u8] = b"formwright-lab 1\n";

#[derive(Serialize, Deserialize)]
struct Header {
    run: String,
    progress: Progress,
    lengths: [usize; 3],
    sha256: String,
}

type Bytes = NamedMpkBytesRecorder<FullPrecisionSettings>;

fn pack<B: Backend>(record: impl Record<B>) -> Result<Vec<u8>> {
    Recorder::<B>::record(&Bytes::default(), record, ())
        .map_err(|error| Error::input(format!("weights cannot be written: {error}")))
}

fn unpack<B: Backend, R: Record<B>>(bytes: &[u8], device: &B::Device) -> Result<R> {
    Recorder::<B>::load(&Bytes::default(), bytes.to_vec(), device)
        .map_err(|error| Error::input("the weights of a checkpoint cannot be read").note("reason", error.to_string()))
}

/// Writes a checkpoint, in place of the last one.
pub fn write<B, M, O>(file: &Path, run: &str, trained: &Trained<B, M, O>) -> Result<()>
where
    B: AutodiffBackend,
    M: AutodiffModule<B>,
    O: Optimizer<M, B>,
{
    let parts = [
        pack::<B>(trained.model.clone().into_record())?,
        pack::<B>(trained.optimiser.to_record())?,
        pack::<B::InnerBackend>(trained.best.clone().into_record())?,
    ];
    let body = parts.concat();
    let header = Header {
        run: run.to_owned(),
        progress: Progress {
            partial: trained.total.clone().map(|total| total.into_scalar().elem()),
            ..trained.progress.clone()
        },
        lengths: parts.each_ref().map(Vec::len),
        sha256: sha256(&body),
    };
    let header = serde_json::to_vec(&header).unwrap_or_default();
    folder::replace(file, &[MAGIC, &header, b"\n", &body].concat())
}

/// Reads a checkpoint of this run into a model and an optimiser that are fresh.
pub fn read<B, M, O>(
    file: &Path,
    run: &str,
    device: &B::Device,
    mut trained: Trained<B, M, O>,
) -> Result<Trained<B, M, O>>
where
    B: AutodiffBackend,
    M: AutodiffModule<B>,
    O: Optimizer<M, B>,
{
    let bytes =
        std::fs::read(file).map_err(|error| Error::input(format!("cannot read {}: {error}", file.display())))?;
    let damaged = |why: &str| {
        Error::input(format!("{} is not a checkpoint that can be gone on from", file.display()))
            .note("reason", why.to_owned())
            .note("try", "take it away: its run then starts anew")
    };
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| damaged("it does not begin as one"))?;
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("it has no header"))?;
    let header: Header = serde_json::from_slice(&rest[..end]).map_err(|error| damaged(&error.to_string()))?;
    let body = &rest[end + 1..];
    if header.lengths.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length)) != Some(body.len())
        || sha256(body) != header.sha256
    {
        return Err(damaged("its bytes are not those that were written"));
    }
    if header.run != run {
        return Err(Error::input(format!("{} belongs to another configuration", file.display()))
            .note("found", header.run)
            .note("expected", run.to_owned())
            .note("try", "formwright lab run with another folder: an experiment is not changed while it runs"));
    }
    let (model, body) = body.split_at(header.lengths[0]);
    let (optimiser, best) = body.split_at(header.lengths[1]);
    trained.model = trained.model.load_record(unpack::<B, _>(model, device)?);
    trained.optimiser = trained.optimiser.load_record(unpack::<B, _>(optimiser, device)?);
    trained.best = trained.best.load_record(unpack::<B::InnerBackend, _>(best, device)?);
    trained.total = header.progress.partial.map(|total| Tensor::from_data([total], device));
    trained.progress = header.progress;
    Ok(trained)
}
