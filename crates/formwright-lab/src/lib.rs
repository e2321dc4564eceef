//! Training beside construction: the lab of formwright.
//!
//! ```text
//! experiment.toml ──▶ config ──▶ runs ──▶ train ──▶ folder ──▶ summary, plot
//!                                 a target, a model, a seed      metrics, checkpoints
//! ```
//!
//! An [`Experiment`](config::Experiment) is a file: functions, models, sizes, optimiser, seeds and a budget. It expands to
//! [`Run`](config::Run)s, one for each function, model and seed, and each is trained in a folder of its own. **A run is determined by its
//! seed**: initial weights, data and their order come from [`formwright::random`], and what a step sees is a function of the seed and of
//! the step, so that a run that was interrupted goes on as if it had not been. What is found out here is `measured`, never more. [`compare`]
//! puts it beside what the compiler writes down, and beside what is proved of that.

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
