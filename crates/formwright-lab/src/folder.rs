//! The folder of an experiment.
//!
//! ```text
//! DIR/experiment.toml        what was asked, byte by byte
//! DIR/runs/NAME/run.json     a run: its configuration, the baseline, how it ended
//! DIR/runs/NAME/metrics.csv  a line an epoch
//! DIR/runs/NAME/checkpoint*  where it can go on
//! DIR/runs/NAME/checkpoint.lock  held by the process that is at it
//! DIR/summary.md, results.csv, figure.svg
//! DIR/compare.md, compare.csv, compare-K.svg
//! ```
//!
//! A folder is made once and never overwritten; files in it are written beside their place and renamed.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use formwright::artifact::beside;
use formwright::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::{Experiment, Run};
use crate::study::Study;
use crate::train::{Ended, Epoch, Judgement, Progress};

/// The folder of an experiment.
pub struct Folder<E = Experiment> {
    dir: PathBuf,
    /// The experiment as it was asked for.
    pub experiment: E,
}

/// The facts known about a run besides its epochs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About<R = Run> {
    /// Its configuration.
    pub run: R,
    /// Trained numbers.
    pub parameters: usize,
    /// The validation loss of the best model that ignores its input.
    pub best_constant: f64,
    /// The device that computed it.
    pub device: String,
    /// The hash of the vocabulary that it reads with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<String>,
    /// The way it ended, if it has.
    pub ended: Option<Ended>,
}

/// A run that has begun.
pub type Known<R = Run> = (About<R>, Progress);

/// A run, with the facts known about it if it has begun.
pub type Entry<R = Run> = (R, Option<Known<R>>);

fn cannot(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let headline = format!("cannot {what} {}", path.display());
    move |error| Error::input(format!("{headline}: {error}"))
}

/// Writes a file beside its place and renames it.
pub fn replace(file: &Path, content: &[u8]) -> Result<()> {
    let new = beside(file, "new")?;
    let placed = write_through(&new, content).and_then(|()| fs::rename(&new, file)).map_err(cannot("write", file));
    if placed.is_err() {
        // The error that came first is the one to report.
        drop(fs::remove_file(&new));
    }
    placed
}

/// Writes a file, and waits until it is on the disk: a file renamed after it must not be there first.
fn write_through(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut open = fs::File::create(file)?;
    open.write_all(content)?;
    open.sync_all()
}

impl<E: Study> Folder<E> {
    /// Makes the folder of an experiment, which must not exist yet.
    pub fn create(dir: &Path, text: &str) -> Result<Self> {
        let experiment = E::parse(text)?;
        if dir.symlink_metadata().is_ok() {
            return Err(Error::input(format!("{} exists, and no run overwrites another", dir.display()))
                .note("try", format!("formwright lab resume {}, or -o with another name", dir.display())));
        }
        let new = beside(dir, "new")?;
        let made = fs::create_dir_all(new.join("runs"))
            .and_then(|()| fs::write(new.join("experiment.toml"), text))
            .and_then(|()| fs::rename(&new, dir))
            .map_err(cannot("write", dir));
        if made.is_err() {
            drop(fs::remove_dir_all(&new));
        }
        made.map(|()| Self { dir: dir.to_owned(), experiment })
    }

    /// Opens the folder of an experiment.
    pub fn open(dir: &Path) -> Result<Self> {
        let file = dir.join("experiment.toml");
        let text = fs::read_to_string(&file)
            .map_err(|error| cannot("read", &file)(error).note("try", "a folder that formwright lab run has made"))?;
        Ok(Self { dir: dir.to_owned(), experiment: E::parse(&text)? })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Refuses a folder into which a file cannot be written, before there is work to lose; the file stays as it is.
    pub fn check_writable(&self, file: &str) -> Result<()> {
        let file = self.dir.join(file);
        if file.is_dir() {
            return Err(Error::input(format!("cannot write {}: it is a folder", file.display())));
        }
        let new = beside(&file, "new")?;
        fs::write(&new, []).and_then(|()| fs::remove_file(&new)).map_err(cannot("write", &file))
    }

    /// The folder of a run.
    pub fn of(&self, run: &E::Run, index: usize) -> PathBuf {
        self.dir.join("runs").join(E::name(run, index))
    }

    /// The runs with the facts known about them; none if a run has not begun.
    pub fn runs(&self) -> Result<Vec<Entry<E::Run>>> {
        let read = |(index, run): (usize, E::Run)| {
            let known = read_run(&self.of(&run, index))?;
            if let Some((about, _)) = &known
                && about.run != run
            {
                return Err(other_configuration(&self.of(&run, index)));
            }
            Ok((run, known))
        };
        self.experiment.runs()?.into_iter().enumerate().map(read).collect()
    }
}

/// Takes a run for this process; none if another has it. It is given back when the process lets go, however it ends.
pub fn claim(dir: &Path) -> Result<Option<fs::File>> {
    fs::create_dir_all(dir).map_err(cannot("write", dir))?;
    let file = dir.join("checkpoint.lock");
    let lock = fs::File::create(&file).map_err(cannot("write", &file))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(cannot("lock", &file)(error)),
    }
}

fn other_configuration(dir: &Path) -> Error {
    Error::input(format!("{} belongs to another configuration than experiment.toml", dir.display()))
        .note("try", "formwright lab run with another folder: an experiment is not changed once it has begun")
}

/// Writes the facts known about a run.
pub fn write_about(dir: &Path, about: &About<impl Serialize>) -> Result<()> {
    fs::create_dir_all(dir).map_err(cannot("write", dir))?;
    let text = serde_json::to_string_pretty(about).unwrap_or_default();
    replace(&dir.join("run.json"), format!("{text}\n").as_bytes())
}

const COLUMNS: &str = "epoch,step,seconds,training,validation";

fn line(epoch: &Epoch) -> String {
    let Epoch { epoch, step, seconds, training, validation: Judgement { loss, scores } } = epoch;
    let numbers: Vec<String> =
        [training, loss].into_iter().chain(scores).map(|number| format!("{number:.6e}")).collect();
    format!("{epoch},{step},{seconds:.3},{}\n", numbers.join(","))
}

/// Writes all epochs of a run, with the names of their scores.
pub fn write_epochs(dir: &Path, scores: &[&str], epochs: &[Epoch]) -> Result<()> {
    let lines: String = epochs.iter().map(line).collect();
    let columns = [&[COLUMNS], scores].concat().join(",");
    replace(&dir.join("metrics.csv"), format!("{columns}\n{lines}").as_bytes())
}

/// Adds an epoch of a run.
pub fn append_epoch(dir: &Path, epoch: &Epoch) -> Result<()> {
    let file = dir.join("metrics.csv");
    let mut open = fs::OpenOptions::new().append(true).open(&file).map_err(cannot("write", &file))?;
    open.write_all(line(epoch).as_bytes()).map_err(cannot("write", &file))
}

/// The facts known about a run, if it has begun.
pub fn read_run<R: DeserializeOwned>(dir: &Path) -> Result<Option<Known<R>>> {
    let file = dir.join("run.json");
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot("read", &file)(error)),
    };
    let about: About<R> = serde_json::from_slice(&text)
        .map_err(|error| Error::input(format!("{} is not what a run writes: {error}", file.display())))?;
    let file = dir.join("metrics.csv");
    let text = fs::read_to_string(&file).map_err(cannot("read", &file))?;
    let epoch = |(place, line): (usize, &str)| {
        read_line(line).ok_or_else(|| {
            Error::input(format!("line {} of {} is not an epoch", place + 1, file.display()))
                .note("found", line.to_owned())
                .note("expected", COLUMNS)
        })
    };
    // A line without an end was cut off while it was written.
    let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let epochs = lines.enumerate().skip(1).map(epoch).collect::<Result<Vec<Epoch>>>()?;
    let (step, seconds) = epochs.last().map_or((0, 0.0), |epoch: &Epoch| (epoch.step, epoch.seconds));
    let progress = Progress { step, seconds, partial: None, epochs, ended: about.ended };
    Ok(Some((about, progress)))
}

fn read_line(line: &str) -> Option<Epoch> {
    let mut fields = line.split(',');
    let epoch = fields.next()?.parse().ok()?;
    let step = fields.next()?.parse().ok()?;
    let mut number = || fields.next().and_then(|field| field.parse::<f64>().ok());
    let (seconds, training, loss) = (number()?, number()?, number()?);
    let scores = fields.map(|field| field.parse().ok()).collect::<Option<Vec<f64>>>()?;
    let validation = Judgement { loss, scores };
    Some(Epoch { epoch, step, seconds, training, validation })
}
