//! All runs of an experiment, several at a time, each on one thread: a run's numbers do not depend on how many there are beside it.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use burn::backend::{Autodiff, Flex};
use burn::prelude::*;
use burn::tensor::backend::AutodiffBackend;
use formwright::error::{Error, Result};

use crate::checkpoint;
use crate::config::Run;
use crate::device::Device;
use crate::folder::{self, About, Folder};
use crate::model::Regressor;
use crate::regression::Regression;
use crate::train::{Ended, Epoch, Moment, fresh, train};

/// What happens, told to whoever shows it; called from several threads.
pub trait Show: Sync {
    /// A run begins, or goes on, in one of the places.
    fn begin(&self, place: usize, name: &str, run: &Run, epochs: u64);
    /// An epoch of it is done.
    fn epoch(&self, place: usize, epoch: &Epoch);
    /// It has ended, or was interrupted.
    fn end(&self, place: usize, name: &str, best: Option<&Epoch>, ended: Option<Ended>);
}

/// Runs what has not ended yet, `jobs` at a time, until `stop`; whether all have ended.
pub fn execute(folder: &Folder, device: Device, jobs: usize, stop: &AtomicBool, show: &impl Show) -> Result<bool> {
    device.check()?;
    let runs = folder.runs()?;
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
            let result = one(&folder.of(run, index), run, device, place, stop, show);
            if let Err(error) = result {
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

/// On one thread: sums are then taken in one order.
pub fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// The best weights of a run, from its folder; on any device, wherever it was trained.
pub fn best<B: AutodiffBackend>(dir: &Path, run: &Run, device: &B::Device) -> Result<Regressor<B::InnerBackend>> {
    let fresh = fresh(&Regression::<B>::new(run, device)?, &run.optimiser);
    Ok(checkpoint::read(&dir.join("checkpoint"), &run.fingerprint(), device, fresh)?.best)
}

fn one(dir: &Path, run: &Run, device: Device, place: usize, stop: &AtomicBool, show: &impl Show) -> Result<()> {
    match device {
        Device::Cpu => {
            on::<Autodiff<Flex>>(dir, run, device, &burn::tensor::Device::<Flex>::default(), place, stop, show)
        }
        #[cfg(feature = "cuda")]
        Device::Cuda => {
            type Cuda = burn::backend::Cuda<f32, i32>;
            on::<Autodiff<Cuda>>(dir, run, device, &burn::tensor::Device::<Cuda>::default(), place, stop, show)
        }
        #[cfg(not(feature = "cuda"))]
        Device::Cuda => device.check(),
    }
}

fn on<B: AutodiffBackend>(
    dir: &Path,
    run: &Run,
    device: Device,
    place_of: &B::Device,
    place: usize,
    stop: &AtomicBool,
    show: &impl Show,
) -> Result<()> {
    let task = Regression::<B>::new(run, place_of)?;
    let mut trained = fresh(&task, &run.optimiser);
    let (file, fingerprint) = (dir.join("checkpoint"), run.fingerprint());
    if file.exists() {
        trained = checkpoint::read(&file, &fingerprint, place_of, trained)?;
    }
    let mut about = About {
        run: run.clone(),
        parameters: trained.model.num_params(),
        best_constant: task.best_constant(),
        device: device.to_string(),
        ended: None,
    };
    folder::write_about(dir, &about)?;
    folder::write_epochs(dir, &trained.progress.epochs)?;
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    show.begin(place, &name, run, trained.progress.epochs.len() as u64);
    let budget = run.budget;
    train(&task, &run.optimiser, &budget, &mut trained, |moment| {
        if let Moment::Epoch(trained) = moment
            && let Some(epoch) = trained.progress.epochs.last()
        {
            folder::append_epoch(dir, epoch)?;
            show.epoch(place, epoch);
            if epoch.epoch.is_multiple_of(budget.checkpoint) {
                checkpoint::write(&file, &fingerprint, trained)?;
            }
        }
        Ok(!stop.load(Ordering::Relaxed))
    })?;
    checkpoint::write(&file, &fingerprint, &trained)?;
    about.ended = trained.progress.ended;
    folder::write_about(dir, &about)?;
    show.end(place, &name, trained.progress.best(), about.ended);
    Ok(())
}
