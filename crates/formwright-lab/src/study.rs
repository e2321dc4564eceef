//! The common part of all kinds of experiment: a file that expands to runs, and a task for each of them.
//!
//! | kind | its file | a run learns |
//! |---|---|---|
//! | [`config::Experiment`](crate::config::Experiment) | names `targets` | a function, from samples |
//! | [`language::Experiment`](crate::language::Experiment) | names `tasks` | words, copying, pairs, questions |

use std::fmt::Debug;

use burn::tensor::backend::AutodiffBackend;
use formwright::error::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::{Budget, Optimiser};
use crate::encoder::Lean;
use crate::text::vocabulary::Vocabulary;
use crate::train::Task;

/// A backend that every kind of experiment trains on.
pub trait Training: AutodiffBackend<InnerBackend: Lean> + Lean {}

impl<B: AutodiffBackend<InnerBackend: Lean> + Lean> Training for B {}

/// A kind of experiment.
pub trait Study: Sized + Sync {
    /// One training: everything that its curve depends on, besides the data it reads.
    type Run: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync;
    /// The data that its runs read together.
    type Data: Sync;
    /// The task of a run: a model and its data.
    type Task<'a, B: Training>: Task<B>
    where
        Self: 'a;

    /// Reads a file.
    fn parse(text: &str) -> Result<Self>;

    /// The runs, in their order.
    fn runs(&self) -> Result<Vec<Self::Run>>;

    /// Reads what the runs need.
    fn data(&self) -> Result<Self::Data>;

    /// The task of a run.
    fn task<'a, B: Training>(
        &'a self,
        data: &'a Self::Data,
        run: &'a Self::Run,
        device: &B::Device,
    ) -> Result<Self::Task<'a, B>>;

    /// The name of a run's folder, which differs from all others of its experiment.
    fn name(run: &Self::Run, index: usize) -> String;

    /// The optimiser of a run, and its budget.
    fn settings(run: &Self::Run) -> (Optimiser, Budget);

    /// The names of the scores besides the loss.
    fn scores(run: &Self::Run) -> &'static [&'static str];

    /// The number of tokens of a step, where they are counted.
    fn tokens_a_step(run: &Self::Run) -> Option<u64>;

    /// The vocabulary of the data, if there is one.
    fn vocabulary(data: &Self::Data) -> Option<&Vocabulary>;

    /// A fingerprint that a checkpoint must agree with.
    fn fingerprint(data: &Self::Data, run: &Self::Run) -> String;
}

/// A hash of the whole of a value.
pub fn fingerprint(run: &impl Serialize) -> String {
    let text = serde_json::to_string(run).unwrap_or_default();
    formwright::artifact::sha256(text.as_bytes())
}

/// Words as a folder's name.
pub fn slug(words: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let word: String = words.chars().map(plain).collect();
    let parts: Vec<&str> = word.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-").chars().take(60).collect()
}
