//! What every kind of experiment has: a file that expands to runs, and a task for each of them.
//!
//! | kind | its file | a run learns |
//! |---|---|---|
//! | [`config::Experiment`](crate::config::Experiment) | names `targets` | a function, from samples |
//! | [`language::Experiment`](crate::language::Experiment) | names `tasks` | masked words, copying, pairs of sentences, questions |

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
    /// One training: all that its curve depends on, besides what it reads.
    type Run: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync;
    /// What its runs read, together.
    type Data: Sync;
    /// What is trained on what.
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

    /// What tells a run from others of its experiment, as a folder's name.
    fn name(run: &Self::Run, index: usize) -> String;

    /// How its weights are changed, and when it ends.
    fn settings(run: &Self::Run) -> (Optimiser, Budget);

    /// What a model is judged by, besides the loss.
    fn scores(run: &Self::Run) -> &'static [&'static str];

    /// Tokens that a step sees, where they are counted.
    fn tokens_a_step(run: &Self::Run) -> Option<u64>;

    /// The vocabulary of what is read, where there is one.
    fn vocabulary(data: &Self::Data) -> Option<&Vocabulary>;

    /// What a checkpoint must agree with.
    fn fingerprint(data: &Self::Data, run: &Self::Run) -> String;
}

/// A hash of all that something says.
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
