//! An experiment on texts as a file, and the runs that it asks for.
//!
//! ```toml
//! title   = "what is asked"
//! text    = "data"                              # the folder that `formwright lab text` has made
//! tasks   = ["masked"]                          # or "copying", "pairs", "questions": one run for each
//! layouts = ["attention*4", "sepconv*4"]        # one run for each
//! seeds   = [1, 2, 3]
//! from    = "pretrained"                        # the experiment whose encoders pairs and questions begin with;
//!                                               # left out: with fresh ones
//! ```
//!
//! Keys that are left out have the values of [`Experiment::default`] and its parts.

use std::path::Path;

use formwright::error::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::config::{self, Optimiser, as_table, check_keys, read_table, understood};
use crate::encoder::{Head, Layout, Part, Place, Sizes};
use crate::folder::Folder;
use crate::study::{Study, Training, slug};
use crate::text::copying::Copying;
use crate::text::nli::LABELS;
use crate::text::vocabulary::Vocabulary;

use super::source::Source;
use super::task::Reading;

/// A file of the lab about texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Experiment {
    /// The question, in a line.
    pub title: String,
    /// The folder with the texts.
    pub text: String,
    /// The experiment that encoders come from; if it is empty, they are fresh.
    pub from: String,
    /// The tasks, one run for each.
    pub tasks: Vec<Asked>,
    /// The layouts, one run for each.
    pub layouts: Vec<Layout>,
    /// Seeds, one run for each.
    pub seeds: Vec<u64>,
    /// The kind of picture.
    pub plot: Plot,
    /// The encoder besides its layout.
    pub encoder: Shape,
    /// Strings to copy.
    pub copying: Strings,
    /// Pairs of sentences.
    pub pairs: Files,
    /// Questions about texts.
    pub questions: Files,
    /// The amount of data.
    pub data: Data,
    /// The optimiser.
    pub optimiser: Optimiser,
    /// The end of a run.
    pub budget: Budget,
}

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// Masked words of running text.
    Masked,
    /// Strings to copy.
    Copying,
    /// The relation of a sentence to another.
    Pairs,
    /// The place of the answer to a question.
    Questions,
}

impl Asked {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Masked => "masked",
            Self::Copying => "copying",
            Self::Pairs => "pairs",
            Self::Questions => "questions",
        }
    }

    /// The scores besides the loss: shares of all answers, and the mean F1.
    pub fn scores(self) -> &'static [&'static str] {
        match self {
            Self::Questions => &["f1", "exact_match"],
            _ => &["accuracy"],
        }
    }
}

/// The picture of an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plot {
    /// Loss and score against steps, a line a layout.
    #[default]
    Steps,
    /// The last score against the number of layers that are not attention.
    Layers,
}

/// An encoder besides its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shape {
    /// Tokens of a sequence.
    pub tokens: usize,
    /// Numbers of a token.
    pub width: usize,
    /// Heads of an attention layer.
    pub heads: usize,
    /// Hidden units of a feed-forward layer.
    pub hidden: usize,
    /// The places of layer norms.
    pub norm: Place,
    /// The precision of activations; weights are in single precision.
    pub precision: Precision,
}

/// The precision of activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Single precision.
    F32,
    /// Half precision with the exponents of single precision, on a card that has it.
    Bf16,
}

/// Strings to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Strings {
    /// The length of a string, which is also the distance over which it is copied.
    pub distance: usize,
    /// The number of symbols.
    pub symbols: usize,
}

/// Files with examples, in the folder with the texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Files {
    /// The files to train on.
    pub training: Vec<String>,
    /// The files to judge by.
    pub validation: Vec<String>,
}

/// The amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Data {
    /// Sequences of a batch.
    pub batch: usize,
    /// The number of sequences to judge by, for masked words and copying. For pairs and questions all are used, or so
    /// many if that is less.
    pub validation: usize,
    /// Pieces between the windows of a context.
    pub stride: usize,
    /// The most pieces of an answer.
    pub longest: usize,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Steps.
    pub steps: u64,
    /// Steps between judgements; it divides the number of steps.
    pub evaluate: u64,
    /// Judgements between checkpoints.
    pub checkpoint: u64,
}

impl Default for Experiment {
    fn default() -> Self {
        let files = |folder: &str, kind: &str| Files {
            training: vec![format!("{folder}/train.{kind}")],
            validation: vec![format!("{folder}/validation.{kind}")],
        };
        Self {
            title: String::new(),
            text: "text".to_owned(),
            from: String::new(),
            tasks: Vec::new(),
            layouts: Vec::new(),
            seeds: vec![1],
            plot: Plot::default(),
            encoder: Shape::default(),
            copying: Strings::default(),
            pairs: files("pairs", "jsonl"),
            questions: files("questions", "json"),
            data: Data::default(),
            optimiser: Optimiser::default(),
            budget: Budget::default(),
        }
    }
}

impl Default for Shape {
    fn default() -> Self {
        Self { tokens: 128, width: 256, heads: 4, hidden: 1024, norm: Place::Post, precision: Precision::F32 }
    }
}

impl Default for Strings {
    fn default() -> Self {
        Self { distance: 32, symbols: 64 }
    }
}

impl Default for Data {
    fn default() -> Self {
        Self { batch: 64, validation: 2048, stride: 64, longest: 30 }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: 1000, evaluate: 100, checkpoint: 1 }
    }
}

/// One training: a task, a layout, a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The task.
    pub task: Asked,
    /// The layout.
    pub layout: Layout,
    /// The seed.
    pub seed: u64,
    /// True if its encoder comes from another experiment.
    pub fine_tuned: bool,
    /// The encoder besides its layout.
    pub encoder: Shape,
    /// Strings to copy.
    pub copying: Strings,
    /// The amount of data.
    pub data: Data,
    /// The optimiser.
    pub optimiser: Optimiser,
    /// The end of the run.
    pub budget: Budget,
}

impl Run {
    /// The sizes of its encoder, for a vocabulary.
    pub fn sizes(&self, vocabulary: usize) -> Sizes {
        let Shape { tokens, width, heads, hidden, norm, .. } = self.encoder;
        let segments = if self.task == Asked::Copying { 0 } else { 2 };
        Sizes { vocabulary, tokens, segments, width, heads, hidden, layout: self.layout.clone(), norm }
    }

    /// The parts of its model, of so many parameters in all. The vocabulary behind a run is known by the parameters
    /// that it adds: the same number for every word.
    pub fn parts(&self, parameters: usize) -> Vec<Part> {
        let head = match self.task {
            Asked::Masked | Asked::Copying => Head::Masked,
            Asked::Pairs => Head::Class(LABELS.len()),
            Asked::Questions => Head::Span,
        };
        let [none, one] = [0, 1].map(|vocabulary| self.sizes(vocabulary).parameters(head));
        let sizes = self.sizes(parameters.saturating_sub(none) / (one - none));
        [sizes.parts(), vec![sizes.head(head)]].concat()
    }
}

impl Experiment {
    fn check(&self) -> Result<()> {
        let empty =
            [("tasks", self.tasks.is_empty()), ("layouts", self.layouts.is_empty()), ("seeds", self.seeds.is_empty())];
        if let Some((what, _)) = empty.into_iter().find(|(_, empty)| *empty) {
            let fine =
                what == "layouts" && self.tasks.iter().all(|task| matches!(task, Asked::Pairs | Asked::Questions));
            let how = if fine {
                "--from with an experiment that has trained encoders, whose layouts are taken"
            } else {
                "formwright lab list, and one of its files"
            };
            return Err(Error::input(format!("the experiment names no {what}")).note("try", how));
        }
        let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
        let zero = [
            ("data.batch", self.data.batch),
            ("data.validation", self.data.validation),
            ("data.stride", self.data.stride),
            ("data.longest", self.data.longest),
            ("budget.steps", size(self.budget.steps)),
            ("budget.evaluate", size(self.budget.evaluate)),
            ("budget.checkpoint", size(self.budget.checkpoint)),
        ];
        if let Some((key, _)) = zero.into_iter().find(|(_, size)| *size == 0) {
            return Err(Error::input(format!("{key} is 0")).note("expected", "1 or more"));
        }
        let Budget { steps, evaluate, .. } = self.budget;
        if !steps.is_multiple_of(evaluate) {
            return Err(Error::input(format!("budget.steps is {steps}, no multiple of budget.evaluate, {evaluate}"))
                .note("try", format!("steps = {}", steps.next_multiple_of(evaluate))));
        }
        self.optimiser.check()?;
        for run in self.runs()? {
            run.sizes(1).check()?;
            if run.task == Asked::Copying && run.fine_tuned {
                return Err(Error::input("copying has no words, and begins with no encoder of texts")
                    .note("try", "leave copying or from out"));
            }
            if run.task == Asked::Copying {
                Copying::new(1, self.encoder.tokens, self.copying.distance, self.copying.symbols, 1)?;
            }
        }
        Ok(())
    }
}

/// An experiment's file with the options of the command line: the folder with the texts, and the experiment that
/// encoders come from. The file takes that experiment's layouts and sizes where it names none.
pub fn given(file: &str, text: Option<&Path>, from: Option<&Path>) -> Result<String> {
    let table = read_table(file)?;
    let mut lines = String::new();
    let mut behind = String::new();
    let quoted = |path: &Path| toml::Value::String(path.display().to_string());
    for (key, path) in [("text", text), ("from", from)] {
        let Some(path) = path else { continue };
        if table.contains_key(key) {
            return Err(Error::input(format!("the experiment names its own {key}"))
                .note("try", format!("leave --{key} out, or take the key out of the file")));
        }
        lines = format!("{lines}{key} = {}\n", quoted(path));
    }
    if let Some(from) = from {
        let origin = Folder::<Experiment>::open(from)?.experiment;
        if !table.contains_key("layouts") {
            let layouts = toml::Value::try_from(&origin.layouts).unwrap_or(toml::Value::Array(Vec::new()));
            lines = format!("{lines}layouts = {layouts}\n");
        }
        if !table.contains_key("encoder") {
            behind = format!("\n[encoder]\n{}", as_table(&origin.encoder));
        }
    }
    Ok(format!("{lines}{file}{behind}"))
}

impl Study for Experiment {
    type Run = Run;
    type Data = Source;
    type Task<'a, B: Training> = Reading<'a, B>;

    fn parse(text: &str) -> Result<Self> {
        let table = read_table(text)?;
        check_keys(&table, &as_table(&Self::default()), "")?;
        let experiment: Self = understood(table)?;
        experiment.check()?;
        Ok(experiment)
    }

    /// Tasks, then layouts, then seeds.
    fn runs(&self) -> Result<Vec<Run>> {
        let run = |task: Asked, layout: &Layout, seed: u64| Run {
            task,
            layout: layout.clone(),
            seed,
            fine_tuned: !self.from.is_empty(),
            encoder: self.encoder,
            copying: self.copying,
            data: self.data,
            optimiser: self.optimiser,
            budget: self.budget,
        };
        let layouts = |task: Asked| self.layouts.iter().map(move |layout| (task, layout));
        let seeds = |(task, layout)| self.seeds.iter().map(move |&seed| run(task, layout, seed));
        Ok(self.tasks.iter().copied().flat_map(layouts).flat_map(seeds).collect())
    }

    fn data(&self) -> Result<Source> {
        Source::read(self)
    }

    fn task<'a, B: Training>(&'a self, data: &'a Source, run: &'a Run, device: &B::Device) -> Result<Reading<'a, B>> {
        Reading::new(self, data, run, device)
    }

    fn name(run: &Run, index: usize) -> String {
        let words = slug(&format!("{} {}", run.task.name(), run.layout));
        format!("{:03}-{words}-s{}", index + 1, run.seed)
    }

    fn settings(run: &Run) -> (Optimiser, config::Budget) {
        let Budget { steps, evaluate, checkpoint } = run.budget;
        (run.optimiser, config::Budget { epochs: steps / evaluate, flat: 0.0, least: 0, checkpoint })
    }

    fn scores(run: &Run) -> &'static [&'static str] {
        run.task.scores()
    }

    fn tokens_a_step(run: &Run) -> Option<u64> {
        Some((run.encoder.tokens * run.data.batch) as u64 * run.optimiser.accumulate)
    }

    fn vocabulary(data: &Source) -> Option<&Vocabulary> {
        data.vocabulary.as_ref()
    }

    fn fingerprint(data: &Source, run: &Run) -> String {
        crate::study::fingerprint(&(run, &data.sha256))
    }
}
