//! Long work beside the interpreter, short work at once, and the exceptions for its errors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use formwright::error::{Error, Result};
use formwright::option::Front;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::exception;

/// The interval between checks for signals.
const BREATH: Duration = Duration::from_millis(50);

/// The most operations of work that is done at once: some milliseconds at most, in which nobody misses the lock or
/// waits for an interrupt. A thread of its own costs about as much as 10^5 operations.
const SHORT: usize = 1 << 22;

/// Does work of about so many operations: at once if that is short, else as [`detached`] does it.
pub fn done<T: Send + 'static>(
    py: Python<'_>,
    operations: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    if operations > SHORT {
        return detached(py, work);
    }
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| panicked())?.map_err(|error| raised(py, &error))
}

fn panicked() -> PyErr {
    PyRuntimeError::new_err("formwright panicked: this is a mistake in formwright, please report it")
}

/// Does the work on a thread of its own, without the interpreter's lock. An interrupt is raised at once: the work
/// continues, and its result is dropped.
pub fn detached<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send + 'static) -> PyResult<T> {
    let (done, result) = channel();
    // After an interrupt nobody receives the result.
    thread::spawn(move || drop(done.send(work())));
    // The lock is released before each wait and taken again after it; a receiver cannot be shared, so it is moved in
    // and out.
    let mut waiting = result;
    loop {
        let (found, receiver) = py.detach(move || (waiting.recv_timeout(BREATH), waiting));
        match found {
            Ok(found) => return found.map_err(|error| raised(py, &error)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
        }
        waiting = receiver;
    }
}

/// The exception for an error, with the text of the command line; options are written as Python writes them.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let class = py.import("formwright.errors").and_then(|errors| errors.getattr(exception(error.kind())));
    match class.and_then(|class| class.call1((error.told(Front::Python).to_string(),))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
