//! Runs that nobody watches.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use formwright::error::Result;
use formwright_lab::device::Device;
use formwright_lab::execute::{Show, Start, execute};
use formwright_lab::folder::Folder;
use formwright_lab::study::Study;
use formwright_lab::train::{Ended, Epoch};

/// Shows nothing, and asks for an end after so many epochs.
struct Quiet<'a> {
    stop: &'a AtomicBool,
    left: AtomicUsize,
}

impl Show for Quiet<'_> {
    fn begin(&self, _: usize, _: &Start<'_>) {}
    fn epoch(&self, _: usize, _: &Epoch) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
    fn end(&self, _: usize, _: &str, _: Option<&Epoch>, _: Option<Ended>) {}
}

/// Runs for so many epochs in all; whether all is done.
pub fn try_go<E: Study>(folder: &Folder<E>, jobs: usize, epochs: usize) -> Result<bool> {
    let stop = AtomicBool::new(false);
    let show = Quiet { stop: &stop, left: AtomicUsize::new(epochs) };
    execute(folder, Device::Cpu, jobs, &stop, &show)
}

/// The same, of what goes well.
pub fn go<E: Study>(folder: &Folder<E>, jobs: usize, epochs: usize) -> bool {
    try_go(folder, jobs, epochs).expect("runs")
}
