//! Encoders that learn from texts: masked words, then pairs of sentences and questions; and copying, for patterns of
//! sparse attention.
//!
//! ```text
//! file ──▶ config ──▶ runs: a task, a layout, a seed ──▶ task ──▶ the loop of `train`
//!          source: vocabulary, cache, pairs, questions ──┘  └─ model: encoder and head
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `config.rs` | an experiment as a file, and its runs |
//! | `source.rs` | the folder with the texts, and the data read from it |
//! | `model.rs` | an encoder with one of three heads |
//! | `task.rs` | the batch of a step, and the judgement of a model |
//! | `page.rs` | the summary and the picture |
//!
//! An epoch here is the time between two judgements: `budget.evaluate` steps.

mod config;
mod model;
pub mod page;
mod source;
mod task;

pub use config::{Asked, Experiment, Plot, Precision, Run, Shape, given};
pub use model::{Heads, Reader};
pub use source::{Source, prepare};
pub use task::Reading;
