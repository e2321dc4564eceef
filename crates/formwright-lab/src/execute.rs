//! All runs of an experiment, several at a time, each on one thread: a run's numbers do not depend on how many run
//! beside it. On a card, kernels may add in any order: there a run that goes on equals an uninterrupted one only up to
//! rounding.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use burn::backend::{Autodiff, Flex};
use burn::module::{AutodiffModule, Module};
use burn::tensor::backend::AutodiffBackend;
use formwright::error::{Error, Result};

use crate::checkpoint;
use crate::config::Run;
use crate::device::Device;
use crate::folder::{self, About, Folder};
use crate::model::Regressor;
use crate::regression::Regression;
use crate::study::{Study, Training, fingerprint};
use crate::train::{Ended, Epoch, Moment, Task as _, fresh, train};

/// A listener for the events of runs; it is called from several threads.
pub trait Show: Sync {
    /// A run begins, or goes on, in one of the places.
    fn begin(&self, place: usize, start: &Start<'_>);
    /// An epoch of it is done.
    fn epoch(&self, place: usize, epoch: &Epoch);
    /// It has ended, or was interrupted.
    fn end(&self, place: usize, name: &str, best: Option<&Epoch>, ended: Option<Ended>);
}

/// A run that begins, or goes on.
pub struct Start<'a> {
    /// Its name.
    pub name: &'a str,
    /// Epochs of its budget.
    pub epochs: u64,
    /// The last epoch that is done.
    pub done: Option<&'a Epoch>,
    /// The number of tokens of a step, where they are counted.
    pub tokens_a_step: Option<u64>,
}

/// Runs all that has not ended yet, `jobs` at a time, until `stop`; returns whether all have ended.
pub fn execute<E: Study>(
    folder: &Folder<E>,
    device: Device,
    jobs: usize,
    stop: &AtomicBool,
    show: &impl Show,
) -> Result<bool> {
    device.check()?;
    let runs = folder.runs()?;
    let data = folder.experiment.data()?;
    let sitting = Sitting { folder, data: &data, device, stop, show };
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<Error>> = Mutex::new(None);
    let work = |place: usize| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((run, known)) = runs.get(index) else { return };
            if stop.load(Ordering::Relaxed) {
                return;
            }
            if known.as_ref().is_some_and(|(about, _)| about.ended.is_some()) {
                continue;
            }
            if let Err(error) = sitting.one(&folder.of(run, index), run, place) {
                stop.store(true, Ordering::Relaxed);
                if let Ok(mut failure) = failure.lock() {
                    failure.get_or_insert(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for place in 0..jobs.max(1) {
            scope.spawn(move || alone(|| work(place)));
        }
    });
    match failure.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(folder.runs()?.iter().all(|(_, known)| known.as_ref().is_some_and(|(about, _)| about.ended.is_some()))),
    }
}

/// Works on one thread: sums are then taken in one order.
pub fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// The best weights of a run, from its folder; on any device, wherever it was trained.
pub fn best<B: AutodiffBackend>(dir: &Path, run: &Run, device: &B::Device) -> Result<Regressor<B::InnerBackend>> {
    let fresh = fresh(&Regression::<B>::new(run, device)?, &run.optimiser);
    let trained = checkpoint::read(&dir.join("checkpoint"), &fingerprint(run), device, fresh)?;
    Ok(trained.best.unwrap_or_else(|| trained.model.valid()))
}

/// The state that the runs of a sitting share.
struct Sitting<'a, E: Study, S: Show> {
    folder: &'a Folder<E>,
    data: &'a E::Data,
    device: Device,
    stop: &'a AtomicBool,
    show: &'a S,
}

impl<E: Study, S: Show> Sitting<'_, E, S> {
    /// Executes a run that no other process is working on.
    fn one(&self, dir: &Path, run: &E::Run, place: usize) -> Result<()> {
        let Some(_lock) = folder::claim(dir)? else { return Ok(()) };
        // Another process may have ended it in the meantime.
        if folder::read_run::<E::Run>(dir)?.is_some_and(|(about, _)| about.ended.is_some()) {
            return Ok(());
        }
        match self.device {
            Device::Cpu => self.on::<Autodiff<Flex>>(dir, run, &burn::tensor::Device::<Flex>::default(), place),
            #[cfg(feature = "cuda")]
            Device::Cuda => {
                type Cuda = burn::backend::Cuda;
                self.on::<Autodiff<Cuda>>(dir, run, &burn::tensor::Device::<Cuda>::default(), place)
            }
            #[cfg(feature = "libtorch")]
            Device::Libtorch => {
                type LibTorch = burn::backend::LibTorch;
                self.on::<Autodiff<LibTorch>>(dir, run, &crate::device::libtorch(), place)
            }
            #[cfg(not(feature = "cuda"))]
            Device::Cuda => self.device.check(),
            #[cfg(not(feature = "libtorch"))]
            Device::Libtorch => self.device.check(),
        }
    }

    fn on<B: Training>(&self, dir: &Path, run: &E::Run, device: &B::Device, place: usize) -> Result<()> {
        let task = self.folder.experiment.task::<B>(self.data, run, device)?;
        let (optimiser, budget) = E::settings(run);
        let mut trained = fresh(&task, &optimiser);
        let (file, fingerprint) = (dir.join("checkpoint"), E::fingerprint(self.data, run));
        let vocabulary = E::vocabulary(self.data);
        if file.exists() {
            let theirs = folder::read_run::<E::Run>(dir)?.and_then(|(about, _)| about.vocabulary);
            if let (Some(vocabulary), Some(theirs)) = (vocabulary, theirs) {
                vocabulary.check(&format!("the checkpoint {}", file.display()), &theirs)?;
            }
            trained = checkpoint::read(&file, &fingerprint, device, trained)?;
        }
        let mut about = About {
            run: run.clone(),
            parameters: trained.model.num_params(),
            best_constant: task.best_constant(),
            device: self.device.to_string(),
            vocabulary: vocabulary.map(|vocabulary| vocabulary.sha256().to_owned()),
            ended: None,
        };
        // The order matters: a run with a run.json is read with its metrics.
        folder::write_epochs(dir, E::scores(run), &trained.progress.epochs)?;
        folder::write_about(dir, &about)?;
        let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let done = trained.progress.epochs.last();
        let tokens_a_step = E::tokens_a_step(run);
        self.show.begin(place, &Start { name: &name, epochs: budget.epochs, done, tokens_a_step });
        let mut saved = None;
        train(&task, &optimiser, &budget, &mut trained, |moment| {
            if let Moment::Epoch(trained) = moment
                && let Some(epoch) = trained.progress.epochs.last()
            {
                folder::append_epoch(dir, epoch)?;
                self.show.epoch(place, epoch);
                if epoch.epoch.is_multiple_of(budget.checkpoint) {
                    checkpoint::write(&file, &fingerprint, trained)?;
                    saved = Some(trained.progress.step);
                }
            }
            Ok(!self.stop.load(Ordering::Relaxed))
        })?;
        if saved != Some(trained.progress.step) {
            checkpoint::write(&file, &fingerprint, &trained)?;
        }
        about.ended = trained.progress.ended;
        folder::write_about(dir, &about)?;
        self.show.end(place, &name, trained.progress.best(), about.ended);
        Ok(())
    }
}
