//! Training beside construction: the lab of formwright.
//!
//! ```text
//! experiment.toml ──▶ config ──▶ runs ──▶ train ──▶ folder ──▶ summary, plot
//!                                 a target, a model, a seed      metrics, checkpoints
//! ```
//!
//! An [`Experiment`](config::Experiment) is a file: functions, models, sizes, optimiser, seeds and a budget. It expands
//! to [`Run`](config::Run)s, one for each function, model and seed, and each is trained in a folder of its own. **A run
//! is determined by its seed**: initial weights, data and their order come from [`formwright::random`], and the batch
//! of a step is a function of the seed and of the step. So an interrupted run goes on as if it had not been
//! interrupted. All findings here are `measured`, never more. [`compare`] puts them beside the networks that the
//! compiler writes down, and their proved errors.

pub mod adam;
pub mod checkpoint;
pub mod compare;
pub mod compile;
pub mod config;
pub mod data;
pub mod device;
pub mod encoder;
pub mod execute;
pub mod folder;
pub mod language;
pub mod model;
pub mod plot;
pub mod presets;
pub mod regression;
pub mod study;
pub mod summary;
pub mod text;
pub mod train;
