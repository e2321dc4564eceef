//! The files from which a run can go on: weights, the optimiser's state, the best weights, and the progress.
//!
//! ```text
//! checkpoint           formwright-lab 2\n
//!                      {"run": hash, "progress": …, "lengths": [w, o, b], "parts": [sha256, …]}\n
//!                      the first part
//! checkpoint-HASH.K    the part K = 1, 2, …, by the first digits of its hash
//! ```
//!
//! The parts, of at most 16 MB each, are w bytes of weights, o of the optimiser and b of the best weights, if they are
//! kept, one after the other (burn's records, MessagePack, full precision): the first few are enough for the weights.
//! Every file is written beside its place and renamed, the one with the header last. Until then the last checkpoint is
//! whole, since other bytes have another name. Parts that the header does not name are then removed. A checkpoint is
//! refused if it belongs to another configuration, is cut short, or was written by another version.

use std::path::{Path, PathBuf};

use burn::module::AutodiffModule;
use burn::prelude::*;
use burn::record::{FullPrecisionSettings, NamedMpkBytesRecorder, Record, Recorder};
use burn::tensor::backend::AutodiffBackend;
use formwright::artifact::sha256;
use formwright::error::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::folder;
use crate::train::{Progress, Trained};

const MAGIC: &[u8] = b"formwright-lab 2\n";

/// The most bytes of a part.
const PART: usize = 16_000_000;

#[derive(Serialize, Deserialize)]
struct Header {
    run: String,
    progress: Progress,
    lengths: [usize; 3],
    parts: Vec<String>,
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

/// The file of a part after the first.
fn part(file: &Path, header: &Header, number: usize) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let hash: String = header.parts.get(number).into_iter().flat_map(|hash| hash.chars()).take(16).collect();
    file.with_file_name(format!("{name}-{hash}.{number}"))
}

/// Writes a checkpoint in place of the last one.
pub fn write<B: AutodiffBackend, M: AutodiffModule<B>>(file: &Path, run: &str, trained: &Trained<B, M>) -> Result<()> {
    let records = [
        pack::<B>(trained.model.clone().into_record())?,
        pack::<B::InnerBackend>(trained.adam.moments.clone())?,
        match &trained.best {
            Some(best) => pack::<B::InnerBackend>(best.clone().into_record())?,
            None => Vec::new(),
        },
    ];
    let body = records.concat();
    let header = Header {
        run: run.to_owned(),
        progress: Progress {
            partial: trained.total.clone().map(|total| total.into_scalar().elem()),
            ..trained.progress.clone()
        },
        lengths: records.each_ref().map(Vec::len),
        parts: body.chunks(PART).map(sha256).collect(),
    };
    for (number, bytes) in body.chunks(PART).enumerate().skip(1) {
        folder::replace(&part(file, &header, number), bytes)?;
    }
    let text = serde_json::to_vec(&header).unwrap_or_default();
    let first = body.chunks(PART).next().unwrap_or_default();
    folder::replace(file, &[MAGIC, &text, b"\n", first].concat())?;
    sweep(file, &header);
    Ok(())
}

/// Removes the parts of earlier checkpoints. A part that cannot be removed does no harm.
fn sweep(file: &Path, header: &Header) {
    let (Some(name), Some(dir)) = (file.file_name(), file.parent()) else { return };
    let parts = format!("{}-", name.to_string_lossy());
    let kept: Vec<PathBuf> = (1..header.parts.len()).map(|number| part(file, header, number)).collect();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&parts) && !kept.contains(&entry.path()) {
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

/// A checkpoint on disk: its header, and as many bytes of its body as are asked for.
struct Found {
    header: Header,
    body: Vec<u8>,
}

fn open(file: &Path, needed: impl FnOnce(&Header) -> usize) -> Result<Found> {
    let read = |file: &Path| {
        std::fs::read(file).map_err(|error| Error::input(format!("cannot read {}: {error}", file.display())))
    };
    let damaged = |why: &str| {
        Error::input(format!("{} is not a checkpoint that can be gone on from", file.display()))
            .note("reason", why.to_owned())
            .note("try", "take it away: its run then starts anew")
    };
    let bytes = read(file)?;
    if bytes.starts_with(&MAGIC[..MAGIC.len() - 2]) && !bytes.starts_with(MAGIC) {
        return Err(Error::input(format!("{} was written by another version of formwright-lab", file.display()))
            .note("expected", String::from_utf8_lossy(MAGIC).trim_end().to_owned())
            .note("try", "the version that wrote it, or formwright lab run with another folder"));
    }
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| damaged("it does not begin as one"))?;
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("it has no header"))?;
    let header: Header = serde_json::from_slice(&rest[..end]).map_err(|error| damaged(&error.to_string()))?;
    let needed = needed(&header);
    let mut body = Vec::new();
    for (number, expected) in header.parts.iter().enumerate() {
        if number > 0 && body.len() >= needed {
            break;
        }
        let bytes = if number == 0 { rest[end + 1..].to_vec() } else { read(&part(file, &header, number))? };
        if sha256(&bytes) != *expected {
            return Err(damaged("its bytes are not those that were written"));
        }
        body.extend(bytes);
    }
    if body.len() < needed {
        return Err(damaged("it is shorter than its header says"));
    }
    Ok(Found { header, body })
}

/// Reads a checkpoint of this run into a fresh model and a fresh optimiser.
pub fn read<B: AutodiffBackend, M: AutodiffModule<B>>(
    file: &Path,
    run: &str,
    device: &B::Device,
    mut trained: Trained<B, M>,
) -> Result<Trained<B, M>> {
    let all = |header: &Header| header.lengths.iter().fold(0_usize, |sum, length| sum.saturating_add(*length));
    let Found { header, body } = open(file, all)?;
    if header.run != run {
        return Err(Error::input(format!("{} belongs to another configuration, or to other texts", file.display()))
            .note("found", header.run)
            .note("expected", run.to_owned())
            .note("try", "formwright lab run with another folder: an experiment is not changed while it runs"));
    }
    let (model, body) = body.split_at(header.lengths[0]);
    let (moments, best) = body.split_at(header.lengths[1]);
    trained.model = trained.model.load_record(unpack::<B, _>(model, device)?);
    trained.adam.moments = unpack::<B::InnerBackend, _>(moments, device)?;
    trained.best = match trained.best {
        Some(fresh) => Some(fresh.load_record(unpack::<B::InnerBackend, _>(best, device)?)),
        None => None,
    };
    trained.total = header.progress.partial.map(|total| Tensor::from_data([total], device));
    trained.progress = header.progress;
    Ok(trained)
}

/// Reads the latest weights of a checkpoint into a fresh model. The optimiser, and the parts that hold it, are not
/// needed.
pub fn weights<B: Backend, M: Module<B>>(file: &Path, device: &B::Device, fresh: M) -> Result<M> {
    let Found { header, body } = open(file, |header| header.lengths[0])?;
    Ok(fresh.load_record(unpack::<B, _>(&body[..header.lengths[0]], device)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::backend::{Autodiff, Flex};
    use burn::module::Param;

    use crate::adam::{Adam, gradient};
    use crate::config::Optimiser;

    type B = Autodiff<Flex>;

    #[derive(Module, Debug)]
    struct Wide<B: Backend> {
        weights: Param<Tensor<B, 1>>,
    }

    /// A model that does not fit into one part, a step on its way.
    fn trained(step: u64) -> Trained<B, Wide<B>> {
        let device = Device::<B>::default();
        let start = Tensor::<B, 1, Int>::arange(0..5_000_000, &device).float();
        let model = Wide { weights: Param::from_tensor(start) };
        let mut adam = Adam::new(&Optimiser::default());
        let along = gradient(&model, model.weights.val().sum().backward());
        let model = adam.step(1e-3, model, along);
        Trained { model, adam, best: None, progress: Progress { step, ..Progress::default() }, total: None }
    }

    fn numbers(model: &Wide<B>) -> Vec<f32> {
        model.weights.val().into_data().to_vec().expect("numbers")
    }

    #[test]
    fn parts_are_small_swept_and_compared_and_the_first_are_enough_for_weights() {
        let scratch = tempfile::tempdir().expect("a folder");
        let (file, device) = (scratch.path().join("checkpoint"), Device::<B>::default());
        let files = || {
            let entries = std::fs::read_dir(scratch.path()).expect("a folder").map(|entry| entry.expect("an entry"));
            let mut files: Vec<(String, u64)> = entries
                .map(|entry| {
                    (entry.file_name().to_string_lossy().into_owned(), entry.metadata().expect("a file").len())
                })
                .collect();
            files.sort();
            files
        };
        // 20 MB of weights, twice as much of moments.
        write(&file, "run", &trained(7)).expect("written");
        let before = files();
        write(&file, "run", &trained(8)).expect("written");
        let parts: Vec<String> = files().into_iter().skip(1).map(|(name, _)| name).collect();
        assert_eq!((before.len(), files().len()), (4, 4), "{before:?} {:?}", files());
        assert!(files().iter().all(|(_, bytes)| *bytes < 16 << 20), "{:?}", files());
        let part = |number: usize| {
            let name = parts.iter().find(|name| name.ends_with(&format!(".{number}"))).expect("a part");
            scratch.path().join(name)
        };
        let again = read(&file, "run", &device, trained(0)).expect("read");
        assert_eq!((numbers(&again.model), again.progress.step), (numbers(&trained(8).model), 8));
        // Version 1 had another optimiser.
        let whole = std::fs::read(&file).expect("a checkpoint");
        std::fs::write(&file, [b"formwright-lab 1\n", &whole[MAGIC.len()..]].concat()).expect("written");
        let message = read(&file, "run", &device, trained(0)).err().expect("another version").to_string();
        assert!(message.contains("was written by another version"), "{message}");
        std::fs::write(&file, &whole).expect("written");
        // The last part is damaged, then lost: the weights are still there.
        let last = part(3);
        let mut bytes = std::fs::read(&last).expect("a part");
        bytes[0] ^= 1;
        std::fs::write(&last, &bytes).expect("written");
        let refused = |what: &str| read(&file, "run", &device, trained(0)).err().expect(what).to_string();
        assert!(refused("damaged").contains("its bytes are not those that were written"));
        std::fs::remove_file(&last).expect("removed");
        assert!(refused("lost").contains("cannot read"));
        let fresh = Wide { weights: Param::from_tensor(Tensor::zeros([5_000_000], &device)) };
        assert_eq!(numbers(&weights::<B, _>(&file, &device, fresh).expect("weights")), numbers(&trained(8).model));
        std::fs::remove_file(part(1)).expect("removed");
        let fresh = Wide { weights: Param::from_tensor(Tensor::zeros([5_000_000], &device)) };
        assert!(weights::<B, _>(&file, &device, fresh).is_err());
    }
}
