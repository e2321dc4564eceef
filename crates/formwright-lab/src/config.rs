//! An experiment as a file, and the runs that it asks for.
//!
//! ```toml
//! title   = "what is asked"
//! targets = ["z-score", "x * mean(x)"]     # names of the catalogue, or expressions
//! tokens  = 4
//! dims    = [1]                            # one run for each
//! seeds   = [1, 2, 3]
//! plot    = "epochs"                       # or "latent": best loss against the latent dimension
//!
//! [[model]]
//! kind = "mlp-sumformer"                   # or "polynomial-sumformer", "transformer"
//! latent = [4, 8]                          # one run for each; left out: that of the power sums, C(n+d, d) - 1
//! ```
//!
//! Keys that are left out have the values of [`Experiment::default`] and its parts. An unknown key is an error that
//! names the nearest known one; the known keys are those of the defaults.

use std::fmt;

use formwright::artifact::read_target;
use formwright::error::{Error, Result, nearest};
use formwright::target::{Source, Target};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::regression::Regression;
use crate::study::{Study, Training, fingerprint, slug};
use crate::text::vocabulary::Vocabulary;

/// A file of the lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Experiment {
    /// The question, in a line.
    pub title: String,
    /// The functions: names of the catalogue, or expressions.
    pub targets: Vec<String>,
    /// Tokens of a sequence.
    pub tokens: usize,
    /// Coordinates of a token, one run for each.
    pub dims: Vec<usize>,
    /// True if targets and dims go together, the first with the first. Otherwise every target is taken with every
    /// dimension.
    pub paired: bool,
    /// Seeds, one run for each.
    pub seeds: Vec<u64>,
    /// The kind of picture.
    pub plot: Plot,
    /// The models.
    pub model: Vec<Model>,
    /// The amount of data.
    pub data: Data,
    /// The optimiser.
    pub optimiser: Optimiser,
    /// The end of a run.
    pub budget: Budget,
}

/// The picture of an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plot {
    /// Validation loss against epochs, a picture for each target.
    #[default]
    Epochs,
    /// The best validation loss against the latent dimension, a line for each number of coordinates.
    Latent,
    /// The best validation loss against the number of parameters, a picture for each target.
    Parameters,
}

/// A family of models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Model {
    /// φ fixed to the power sums, ψ trained.
    PolynomialSumformer(Perceptron),
    /// φ and ψ trained.
    MlpSumformer(Sumformer),
    /// Blocks of attention and feed-forward layers.
    Transformer(Transformer),
}

/// A perceptron: hidden layers of ReLUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Perceptron {
    /// Units of a hidden layer.
    pub hidden: usize,
    /// Hidden layers.
    pub layers: usize,
}

/// A Sumformer of two perceptrons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sumformer {
    /// Units of a hidden layer.
    pub hidden: usize,
    /// Hidden layers.
    pub layers: usize,
    /// Latent dimensions, one run for each; if there are none, the number of power sums.
    pub latent: Vec<usize>,
}

/// A Transformer as the papers have it: `X + attention(X)`, then `X + feed-forward(X)`, no dropout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Transformer {
    /// Blocks, one run for each.
    pub blocks: Vec<usize>,
    /// Coordinates of the residual stream, one run for each.
    pub width: Vec<usize>,
    /// Heads, which share the width.
    pub heads: usize,
    /// Hidden units, as a multiple of the width.
    pub expansion: usize,
    /// The places of layer norms.
    pub norm: Norm,
    /// True if tokens know their places.
    pub positions: bool,
}

/// The places of layer norms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Nowhere: the networks of the theorems.
    #[default]
    None,
    /// Before each layer, and before the read-out.
    Pre,
    /// After each sum of a layer and its input.
    Post,
}

/// The amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Data {
    /// Sequences of an epoch.
    pub training: usize,
    /// Sequences to validate on, the same for every run of a target.
    pub validation: usize,
    /// Sequences of a step.
    pub batch: usize,
    /// True if every epoch has samples of its own, which are seen once.
    pub fresh: bool,
}

/// The optimiser: Adam with decoupled weight decay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Optimiser {
    /// The largest rate.
    pub rate: f64,
    /// Steps in which the rate rises from nothing.
    pub warm_up: u64,
    /// The fall of the rate to nothing over the budget.
    pub decay: Decay,
    /// The part of a weight that a step takes off, in units of the rate.
    pub weight_decay: f64,
    /// The largest length of a gradient, all weights together; 0 for no limit.
    pub clip: f64,
    /// Batches of a step.
    pub accumulate: u64,
}

/// The fall of a rate over the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// It does not.
    #[default]
    Constant,
    /// Linearly.
    Linear,
    /// As half a cosine.
    Cosine,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Epochs at most.
    pub epochs: u64,
    /// A run ends early when the last part of it, of this share, has brought no new best validation loss; 0: never.
    pub flat: f64,
    /// Epochs before it may end early.
    pub least: u64,
    /// Epochs between checkpoints.
    pub checkpoint: u64,
}

impl Default for Experiment {
    fn default() -> Self {
        Self {
            title: String::new(),
            targets: Vec::new(),
            tokens: 3,
            dims: vec![1],
            paired: false,
            seeds: vec![1],
            plot: Plot::default(),
            model: Vec::new(),
            data: Data::default(),
            optimiser: Optimiser::default(),
            budget: Budget::default(),
        }
    }
}

impl Default for Perceptron {
    /// The paper's: five hidden layers of fifty.
    fn default() -> Self {
        Self { hidden: 50, layers: 5 }
    }
}

impl Default for Sumformer {
    fn default() -> Self {
        let Perceptron { hidden, layers } = Perceptron::default();
        Self { hidden, layers, latent: Vec::new() }
    }
}

impl Default for Transformer {
    fn default() -> Self {
        Self { blocks: vec![2], width: vec![32], heads: 2, expansion: 4, norm: Norm::None, positions: false }
    }
}

impl Default for Data {
    fn default() -> Self {
        Self { training: 2048, validation: 2048, batch: 128, fresh: false }
    }
}

impl Default for Optimiser {
    fn default() -> Self {
        Self { rate: 1e-3, warm_up: 0, decay: Decay::Constant, weight_decay: 0.0, clip: 0.0, accumulate: 1 }
    }
}

impl Optimiser {
    /// Refuses settings that change no weights, or make no sense.
    pub fn check(&self) -> Result<()> {
        let refused = |key: &str, found: f64, expected: &str| {
            Err(Error::input(format!("optimiser.{key} is {found}")).note("expected", expected))
        };
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return refused("rate", self.rate, "a positive number");
        }
        if !(0.0..1.0).contains(&self.weight_decay) {
            return refused("weight_decay", self.weight_decay, "0 or more, below 1");
        }
        if !(self.clip.is_finite() && self.clip >= 0.0) {
            return refused("clip", self.clip, "a length, or 0 for none");
        }
        if self.accumulate == 0 {
            return refused("accumulate", 0.0, "1 or more batches of a step");
        }
        Ok(())
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self { epochs: 200, flat: 0.2, least: 50, checkpoint: 25 }
    }
}

/// One training: a function, a model, a seed, and everything else that its curve depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The function.
    pub target: String,
    /// Tokens of a sequence.
    pub tokens: usize,
    /// Coordinates of a token.
    pub dims: usize,
    /// The model.
    pub model: Architecture,
    /// The seed.
    pub seed: u64,
    /// The amount of data.
    pub data: Data,
    /// The optimiser.
    pub optimiser: Optimiser,
    /// The end of the run.
    pub budget: Budget,
}

/// A model of a run: a family with its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Architecture {
    /// φ fixed to the power sums.
    PolynomialSumformer {
        /// ψ.
        psi: Perceptron,
    },
    /// φ and ψ trained.
    MlpSumformer {
        /// Both.
        perceptron: Perceptron,
        /// The latent dimension.
        latent: usize,
    },
    /// Blocks.
    Transformer {
        /// The number of blocks.
        blocks: usize,
        /// Coordinates of the residual stream.
        width: usize,
        /// Heads.
        heads: usize,
        /// Hidden units.
        hidden: usize,
        /// The places of layer norms.
        norm: Norm,
        /// True if tokens know their places.
        positions: bool,
    },
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PolynomialSumformer { .. } => f.write_str("polynomial Sumformer"),
            Self::MlpSumformer { perceptron, latent } => {
                f.write_str("MLP Sumformer")?;
                // The paper's sizes are not mentioned.
                if *perceptron != Perceptron::default() {
                    write!(f, " {}x{}", perceptron.layers, perceptron.hidden)?;
                }
                write!(f, ", latent {latent}")
            }
            Self::Transformer { blocks, width, norm, positions, .. } => {
                write!(f, "Transformer {blocks}x{width}")?;
                match norm {
                    Norm::None => {}
                    Norm::Pre => f.write_str(", layer norm before")?,
                    Norm::Post => f.write_str(", layer norm after")?,
                }
                if *positions { f.write_str(", positions") } else { Ok(()) }
            }
        }
    }
}

impl Run {
    /// The name of a run's folder, which differs from all others of its experiment.
    pub fn name(&self, index: usize) -> String {
        let words = slug(&format!("{} {}", self.target, self.model));
        format!("{:03}-{words}-d{}-s{}", index + 1, self.dims, self.seed)
    }

    /// Batches of all training samples.
    pub fn batches(&self) -> u64 {
        self.data.training.div_ceil(self.data.batch) as u64
    }

    /// Steps of an epoch.
    pub fn steps(&self) -> u64 {
        self.batches().div_ceil(self.optimiser.accumulate)
    }

    /// The function on tokens of this dimension.
    pub fn target(&self) -> Result<Target> {
        source(&self.target)?.target(self.dims)
    }
}

/// A target by its name in the catalogue, or an expression.
pub fn source(target: &str) -> Result<Source> {
    read_target(target)
}

/// The number of power sums `Σ x^α`, `1 ≤ |α| ≤ n`, of tokens of dimension `d`: `C(n + d, d) - 1`.
pub fn power_sums(tokens: usize, dims: usize) -> usize {
    (1..=dims).fold(1_usize, |count, k| count.saturating_mul(tokens.saturating_add(k)) / k) - 1
}

/// The largest sizes. Anything beyond them is a slip, not an experiment of this lab.
const MOST_PARAMETERS: usize = 1 << 26;
const MOST_NUMBERS: usize = 1 << 28;
const MOST_RUNS: usize = 10_000;

impl Experiment {
    /// Refuses sizes that make no sense.
    fn check(&self) -> Result<()> {
        let none = |what: &str| {
            Err(Error::input(format!("the experiment names no {what}"))
                .note("try", "formwright lab list, and one of its files"))
        };
        if self.targets.is_empty() {
            return none("targets");
        }
        if self.model.is_empty() {
            return none("[[model]]");
        }
        if self.seeds.is_empty() {
            return none("seeds");
        }
        if self.dims.is_empty() {
            return none("dims");
        }
        let zero = [
            ("tokens", self.tokens),
            ("dims", self.dims.iter().copied().min().unwrap_or_default()),
            ("data.training", self.data.training),
            ("data.validation", self.data.validation),
            ("data.batch", self.data.batch),
            ("budget.epochs", usize::try_from(self.budget.epochs).unwrap_or(usize::MAX)),
            ("budget.checkpoint", usize::try_from(self.budget.checkpoint).unwrap_or(usize::MAX)),
        ];
        if let Some((key, _)) = zero.into_iter().find(|(_, size)| *size == 0) {
            return Err(Error::input(format!("{key} is 0")).note("expected", "1 or more"));
        }
        if self.data.batch > self.data.training {
            return Err(Error::input(format!(
                "data.batch is {}, more than the {} sequences of data.training",
                self.data.batch, self.data.training
            ))
            .note("try", format!("batch = {}", self.data.training)));
        }
        self.optimiser.check()?;
        if !(0.0..1.0).contains(&self.budget.flat) {
            return Err(Error::input(format!("budget.flat is {}", self.budget.flat))
                .note("expected", "a share of the run: 0 or more, below 1"));
        }
        if self.paired && self.targets.len() != self.dims.len() {
            return Err(Error::input(format!(
                "{} targets are paired with {} dims",
                self.targets.len(),
                self.dims.len()
            ))
            .note("expected", "as many of the one as of the other"));
        }
        let runs = self.runs()?;
        if runs.len() > MOST_RUNS {
            return Err(Error::input(format!("the experiment asks for {} runs", runs.len()))
                .note("expected", format!("at most {MOST_RUNS}")));
        }
        let numbers = |count: usize, dims: usize| count.saturating_mul(self.tokens).saturating_mul(dims);
        let widest = self.dims.iter().copied().max().unwrap_or_default();
        for (key, count) in [("training", self.data.training), ("validation", self.data.validation)] {
            if numbers(count, widest) > MOST_NUMBERS {
                return Err(Error::input(format!(
                    "data.{key} is {count} sequences of {} tokens of {widest} coordinates",
                    self.tokens
                ))
                .note("expected", format!("at most {MOST_NUMBERS} numbers")));
            }
        }
        for run in &runs {
            let parameters = run.model.parameters(run.dims, run.dims, run.tokens);
            if parameters > MOST_PARAMETERS {
                return Err(Error::input(format!("{} would have {parameters} parameters", run.model))
                    .note("expected", format!("at most {MOST_PARAMETERS}"))
                    .note("try", "fewer tokens or dims, or a smaller model"));
            }
        }
        for run in &runs {
            if run.target()?.is_discrete() {
                return Err(Error::input(format!("{} is a function on integers", run.target))
                    .note("reason", "samples are drawn from an interval")
                    .note("try", "formwright build, which needs no training; or a target on an interval"));
            }
        }
        Ok(())
    }
}

impl Study for Experiment {
    type Run = Run;
    type Data = ();
    type Task<'a, B: Training> = Regression<B>;

    fn parse(text: &str) -> Result<Self> {
        let table = read_table(text)?;
        check_keys(&table, &as_table(&Self::default()), "")?;
        for (index, model) in table.get("model").and_then(Value::as_array).into_iter().flatten().enumerate() {
            check_model(model, index)?;
        }
        let experiment: Self = understood(table)?;
        experiment.check()?;
        Ok(experiment)
    }

    /// All combinations: targets, then coordinates, then models, then seeds.
    fn runs(&self) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        for (place, target) in self.targets.iter().enumerate() {
            for &dims in self.dims.iter().enumerate().filter(|(k, _)| !self.paired || *k == place).map(|(_, dims)| dims)
            {
                for model in &self.model {
                    for model in model.architectures(self.tokens, dims)? {
                        runs.extend(self.seeds.iter().map(|&seed| Run {
                            target: target.clone(),
                            tokens: self.tokens,
                            dims,
                            model,
                            seed,
                            data: self.data,
                            optimiser: self.optimiser,
                            budget: self.budget,
                        }));
                    }
                }
            }
        }
        Ok(runs)
    }

    fn data(&self) -> Result<()> {
        Ok(())
    }

    fn task<'a, B: Training>(&'a self, (): &'a (), run: &'a Run, device: &B::Device) -> Result<Regression<B>> {
        Regression::new(run, device)
    }

    fn name(run: &Run, index: usize) -> String {
        run.name(index)
    }

    fn settings(run: &Run) -> (Optimiser, Budget) {
        (run.optimiser, run.budget)
    }

    fn scores(_: &Run) -> &'static [&'static str] {
        &["sup"]
    }

    fn tokens_a_step(_: &Run) -> Option<u64> {
        None
    }

    fn vocabulary((): &()) -> Option<&Vocabulary> {
        None
    }

    fn fingerprint((): &(), run: &Run) -> String {
        fingerprint(run)
    }
}

impl Model {
    fn architectures(&self, tokens: usize, dims: usize) -> Result<Vec<Architecture>> {
        let positive = |what: &str, size: usize| match size {
            0 => Err(Error::input(format!("{what} of a [[model]] is 0")).note("expected", "1 or more")),
            size => Ok(size),
        };
        match self {
            Self::PolynomialSumformer(psi) => {
                positive("hidden", psi.hidden)?;
                Ok(vec![Architecture::PolynomialSumformer { psi: *psi }])
            }
            Self::MlpSumformer(Sumformer { hidden, layers, latent }) => {
                let perceptron = Perceptron { hidden: positive("hidden", *hidden)?, layers: *layers };
                let latent = if latent.is_empty() { vec![power_sums(tokens, dims)] } else { latent.clone() };
                let one = |latent| Ok(Architecture::MlpSumformer { perceptron, latent: positive("latent", latent)? });
                latent.into_iter().map(one).collect()
            }
            Self::Transformer(Transformer { blocks, width, heads, expansion, norm, positions }) => {
                let (heads, expansion) = (positive("heads", *heads)?, positive("expansion", *expansion)?);
                let mut all = Vec::new();
                for &width in width {
                    if positive("width", width)? % heads != 0 {
                        return Err(Error::input(format!("a width of {width} is not shared by {heads} heads"))
                            .note("expected", "a multiple of heads"));
                    }
                    for &blocks in blocks {
                        let hidden = width.saturating_mul(expansion);
                        all.push(Architecture::Transformer {
                            blocks: positive("blocks", blocks)?,
                            width,
                            heads,
                            hidden,
                            norm: *norm,
                            positions: *positions,
                        });
                    }
                }
                Ok(all)
            }
        }
    }
}

impl Architecture {
    /// The number of trained parameters.
    pub fn parameters(&self, dims: usize, outputs: usize, tokens: usize) -> usize {
        let linear = |from: usize, to: usize| from.saturating_mul(to).saturating_add(to);
        let perceptron = |from: usize, to: usize, Perceptron { hidden, layers }: Perceptron| {
            if layers == 0 {
                return linear(from, to);
            }
            let inner = (layers - 1).saturating_mul(linear(hidden, hidden));
            linear(from, hidden).saturating_add(inner).saturating_add(linear(hidden, to))
        };
        match *self {
            Self::PolynomialSumformer { psi } => {
                perceptron(dims.saturating_add(power_sums(tokens, dims)), outputs, psi)
            }
            Self::MlpSumformer { perceptron: p, latent } => {
                perceptron(dims, latent, p).saturating_add(perceptron(dims.saturating_add(latent), outputs, p))
            }
            Self::Transformer { blocks, width, hidden, norm, positions, .. } => {
                let norms = match norm {
                    Norm::None => 0,
                    Norm::Pre => blocks.saturating_mul(2).saturating_add(1),
                    Norm::Post => blocks.saturating_mul(2),
                };
                let block = linear(width, width)
                    .saturating_mul(4)
                    .saturating_add(linear(width, hidden))
                    .saturating_add(linear(hidden, width));
                let places = if positions { tokens.saturating_mul(width) } else { 0 };
                let ends = linear(dims, width).saturating_add(linear(width, outputs)).saturating_add(places);
                blocks.saturating_mul(block).saturating_add(ends).saturating_add(norms.saturating_mul(2 * width))
            }
        }
    }
}

/// The keys of a file.
pub(crate) fn read_table(text: &str) -> Result<Table> {
    text.parse()
        .map_err(|error: toml::de::Error| Error::input("the experiment is not TOML").note("at", error.to_string()))
}

/// Reads an experiment from the keys of a file.
pub(crate) fn understood<T: DeserializeOwned>(table: Table) -> Result<T> {
    table.try_into().map_err(|error: toml::de::Error| {
        Error::input("the experiment is not understood").note("at", error.to_string())
    })
}

pub(crate) fn as_table(value: &impl Serialize) -> Table {
    Table::try_from(value).unwrap_or_default()
}

/// Refuses keys that the defaults do not have.
pub(crate) fn check_keys(given: &Table, known: &Table, place: &str) -> Result<()> {
    for (key, value) in given {
        let Some(default) = known.get(key) else {
            let place = if place.is_empty() { "the experiment".to_owned() } else { place.to_owned() };
            let error = Error::input(format!("{place} has no key '{key}'"));
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            return Err(match nearest(key, names.iter().copied()) {
                Some(name) => error.note("try", format!("did you mean '{name}'?")),
                None => error.note("expected", names.join(", ")),
            });
        };
        if let (Value::Table(given), Value::Table(known)) = (value, default) {
            check_keys(given, known, &format!("[{key}]"))?;
        }
    }
    Ok(())
}

/// Refuses keys that a model of its kind does not have.
fn check_model(model: &Value, index: usize) -> Result<()> {
    let kinds = [
        Model::PolynomialSumformer(Perceptron::default()),
        Model::MlpSumformer(Sumformer::default()),
        Model::Transformer(Transformer::default()),
    ]
    .map(|model| as_table(&model));
    let place = format!("[[model]] {}", index + 1);
    let Some(table) = model.as_table() else { return Ok(()) };
    let Some(kind) = table.get("kind").and_then(Value::as_str) else {
        return Err(Error::input(format!("{place} has no kind"))
            .note("expected", "mlp-sumformer, polynomial-sumformer or transformer"));
    };
    let name = |table: &Table| table.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let names = kinds.each_ref().map(name);
    if let Some(known) = names.iter().position(|name| name == kind) {
        return check_keys(table, &kinds[known], &place);
    }
    let error = Error::input(format!("{place} is of kind '{kind}'"));
    Err(match nearest(kind, names.iter().map(String::as_str)) {
        Some(name) => error.note("try", format!("did you mean '{name}'?")),
        None => error.note("expected", names.join(", ")),
    })
}
