//! Training against construction: on the same samples, the networks that an experiment has trained and those that the
//! compiler writes down.
//!
//! ```text
//! sup = max |g - f|        L² = (mean |g - f|²)^{1/2}        over samples, tokens and coordinates: measured
//! ```
//!
//! The samples are fresh: none was trained on, and none chose the best epoch. The proved errors of a construction stand
//! beside the measured ones, and the two are never mixed. Seconds are those of the machine at hand, on one core each.

pub mod constructions;
mod page;

use burn::backend::{Autodiff, Flex};
use formwright::error::{Error, Result};
use formwright::eval::float::Engine;

use crate::config::{Architecture, Norm, Run};
use crate::data::Samples;
use crate::execute;
use crate::folder::{About, Folder};
use crate::plot;
use crate::regression::outputs;
use crate::summary::Spread;
use crate::train::Progress;

pub use constructions::{Certified, LeftOut};
pub use page::{page, table, to_json, write};

/// The number of sequences on which all networks are compared.
pub const SAMPLES: usize = 8192;

/// Errors on the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// The largest.
    pub sup: f64,
    /// The root of the mean square.
    pub l2: f64,
}

impl Errors {
    /// The errors of computed values against wanted ones.
    #[expect(clippy::cast_precision_loss, reason = "a count of samples")]
    pub fn of(found: &[f64], wanted: &[f64]) -> Self {
        let wrong = || found.iter().zip(wanted).map(|(g, f)| (g - f).abs());
        // A value that is not a number must not be lost in a maximum.
        let sup = wrong().fold(0.0_f64, |sup, off| if sup >= off { sup } else { off });
        let l2 = (wrong().map(|off| off * off).sum::<f64>() / wanted.len() as f64).sqrt();
        Self { sup: if l2.is_nan() { f64::NAN } else { sup }, l2 }
    }
}

/// One network on the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Try {
    /// Its seed, if it was trained.
    pub seed: Option<u64>,
    /// Its errors.
    pub errors: Errors,
    /// Seconds to its best epoch, or to write it down.
    pub seconds: f64,
}

/// The origin of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// By gradient descent, once for each seed.
    Trained(Architecture),
    /// By a theorem, with the errors that are proved.
    Constructed(Certified),
}

/// A network of a size.
pub struct Network {
    /// Its family.
    pub family: String,
    /// Its size within the family.
    pub size: String,
    /// The number of its parameters.
    pub parameters: usize,
    /// Its origin.
    pub origin: Origin,
    /// Its results on the samples, seed by seed.
    pub tries: Vec<Try>,
}

/// A number of a try.
pub type Number = fn(&Try) -> f64;

/// The norms in which networks are compared.
pub const NORMS: [(&str, Number); 2] = [("sup", |one| one.errors.sup), ("L²", |one| one.errors.l2)];

impl Network {
    /// A number over the seeds.
    pub fn spread(&self, number: Number) -> Spread {
        let nothing = Spread { least: f64::NAN, middle: f64::NAN, most: f64::NAN };
        Spread::of(self.tries.iter().map(number)).unwrap_or(nothing)
    }

    /// True if a theorem wrote it down.
    pub fn is_constructed(&self) -> bool {
        matches!(self.origin, Origin::Constructed(_))
    }
}

/// A function, and every network for it.
pub struct Comparison {
    /// The function.
    pub target: String,
    /// Coordinates of a token.
    pub dims: usize,
    /// The errors of the best constant on the samples.
    pub best_constant: Errors,
    /// The networks: trained, then constructed, family by family.
    pub networks: Vec<Network>,
    /// The networks that could not be built.
    pub left_out: Vec<LeftOut>,
    /// Runs that have not ended, and are left out.
    pub unfinished: usize,
}

/// Compares the networks of an experiment with those written down; `doing` is told what is next.
pub fn compare(folder: &Folder, doing: impl Fn(&str) + Sync) -> Result<Vec<Comparison>> {
    let runs = folder.runs()?;
    let ended = |known: &Option<(About, Progress)>| known.as_ref().is_some_and(|(about, _)| about.ended.is_some());
    if !runs.iter().any(|(_, known)| ended(known)) {
        let dir = folder.path().display();
        return Err(
            Error::input(format!("no run of {dir} has ended")).note("try", format!("formwright lab resume {dir}"))
        );
    }
    folder.check_writable("compare.md")?;
    let mut comparisons: Vec<(Comparison, Fresh)> = Vec::new();
    for (index, (run, known)) in runs.iter().enumerate() {
        let here = |comparison: &Comparison| comparison.target == run.target && comparison.dims == run.dims;
        if comparisons.last().is_none_or(|(last, _)| !here(last)) {
            doing(&format!("{}: trained networks", run.target));
            comparisons.push(begin(run)?);
        }
        let Some((comparison, fresh)) = comparisons.last_mut() else { continue };
        match known {
            Some((About { parameters, ended: Some(_), .. }, progress)) => {
                let dir = folder.of(run, index);
                let model = execute::alone(|| {
                    let model = execute::best::<Autodiff<Flex>>(&dir, run, &burn::tensor::Device::<Flex>::default())?;
                    Ok::<_, Error>(outputs(&model, &fresh.samples, &burn::tensor::Device::<Flex>::default()))
                })?;
                comparison.add_trained(run, *parameters, progress, Errors::of(&model, &fresh.values));
            }
            _ => comparison.unfinished += 1,
        }
        if runs.get(index + 1).is_none_or(|(next, _)| next.target != run.target || next.dims != run.dims) {
            let doing = |family: &str| doing(&format!("{}: {family}", run.target));
            execute::alone(|| comparison.add_constructed(run, fresh, &doing))?;
        }
    }
    Ok(comparisons.into_iter().map(|(comparison, _)| comparison).collect())
}

/// The samples of a function, with its values in double precision.
struct Fresh {
    samples: Samples,
    sequences: Vec<Vec<Vec<f64>>>,
    values: Vec<f64>,
}

fn begin(run: &Run) -> Result<(Comparison, Fresh)> {
    let samples = Samples::fresh(run, SAMPLES)?;
    let sequences = samples.sequences();
    let values: Vec<f64> = run.target()?.evaluate_batch(&sequences)?.concat();
    let best_constant = best_constant(&values, samples.outputs);
    let comparison = Comparison {
        target: run.target.clone(),
        dims: run.dims,
        best_constant,
        networks: Vec::new(),
        left_out: Vec::new(),
        unfinished: 0,
    };
    Ok((comparison, Fresh { samples, sequences, values }))
}

/// One number for each coordinate: the middle of its values for sup, their mean for `L²`.
#[expect(clippy::cast_precision_loss, reason = "a count of samples")]
fn best_constant(values: &[f64], outputs: usize) -> Errors {
    let constant = |of: &dyn Fn(&[f64]) -> f64| {
        let columns = (0..outputs).map(|k| values.iter().skip(k).step_by(outputs).copied().collect::<Vec<f64>>());
        let constants: Vec<f64> = columns.map(|column| of(&column)).collect();
        Errors::of(&constants.repeat(values.len() / outputs), values)
    };
    let middle = |column: &[f64]| {
        let spread = Spread::of(column.iter().copied());
        spread.map_or(f64::NAN, |Spread { least, most, .. }| f64::midpoint(least, most))
    };
    let mean = |column: &[f64]| column.iter().sum::<f64>() / column.len() as f64;
    Errors { sup: constant(&middle).sup, l2: constant(&mean).l2 }
}

impl Comparison {
    fn add_trained(&mut self, run: &Run, parameters: usize, progress: &Progress, errors: Errors) {
        let seconds = progress.best().map_or(f64::NAN, |epoch| epoch.seconds);
        let one = Try { seed: Some(run.seed), errors, seconds };
        let origin = Origin::Trained(run.model);
        match self.networks.iter_mut().find(|network| network.origin == origin) {
            Some(network) => network.tries.push(one),
            None => self.networks.push(Network {
                family: format!("trained {}", plot::family(&run.model)),
                size: size(&run.model),
                parameters,
                origin,
                tries: vec![one],
            }),
        }
    }

    fn add_constructed(&mut self, run: &Run, fresh: &Fresh, doing: &impl Fn(&str)) -> Result<()> {
        let ladder = constructions::constructions(run, doing)?;
        for constructions::Constructed { family, size, model, certified, seconds } in ladder.built {
            let network =
                model.float().ok_or_else(|| Error::declined(format!("{family}, {size}, is not of floats")))?;
            let found = Engine::new(network)?.run(&fresh.sequences)?.concat().concat();
            let one = Try { seed: None, errors: Errors::of(&found, &fresh.values), seconds };
            let parameters = model.size().parameters.to_usize().unwrap_or(usize::MAX);
            let origin = Origin::Constructed(certified);
            self.networks.push(Network { family, size, parameters, origin, tries: vec![one] });
        }
        self.left_out = ladder.left_out;
        Ok(())
    }

    /// The trained network with the least middle error among those with at most so many parameters.
    pub fn best_trained(&self, most: usize, number: Number) -> Option<&Network> {
        let trained = self.networks.iter().filter(|network| !network.is_constructed() && network.parameters <= most);
        trained.min_by(|a, b| a.spread(number).middle.total_cmp(&b.spread(number).middle))
    }

    /// The trained network to compare with a construction: the best with at most as many parameters; if there is none,
    /// the smallest.
    pub fn beside(&self, construction: &Network, number: Number) -> Option<&Network> {
        let smallest = || self.networks.iter().filter(|network| !network.is_constructed()).map(|n| n.parameters).min();
        self.best_trained(construction.parameters, number).or_else(|| self.best_trained(smallest()?, number))
    }

    /// The pairs of Transformers that differ in layer norm alone: without, and with.
    pub fn layer_norms(&self) -> Vec<(&Network, &Network)> {
        let without = |network: &Network| match network.origin {
            Origin::Trained(Architecture::Transformer { blocks, width, heads, hidden, norm, positions }) => {
                Some((Architecture::Transformer { blocks, width, heads, hidden, norm: Norm::None, positions }, norm))
            }
            _ => None,
        };
        let with = self.networks.iter().filter_map(|network| Some((network, without(network)?)));
        with.filter(|(_, (_, norm))| *norm != Norm::None)
            .filter_map(|(with, (plain, _))| {
                let plain = self.networks.iter().find(|network| network.origin == Origin::Trained(plain))?;
                Some((plain, with))
            })
            .collect()
    }
}

/// The sizes of a model.
fn size(model: &Architecture) -> String {
    match model {
        Architecture::PolynomialSumformer { psi } => format!("{}x{}", psi.layers, psi.hidden),
        Architecture::MlpSumformer { perceptron, latent } => {
            format!("{}x{}, latent {latent}", perceptron.layers, perceptron.hidden)
        }
        Architecture::Transformer { blocks, width, .. } => format!("{blocks}x{width}"),
    }
}

/// The numbers of sizes at which each side has the smaller error. It is decided only where all seeds of one do better
/// than all of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The first.
    pub first: usize,
    /// The second.
    pub second: usize,
    /// Neither: the gap is smaller than the spread.
    pub undecided: usize,
}

impl Count {
    /// Over pairs of spreads.
    pub fn of(pairs: impl IntoIterator<Item = (Spread, Spread)>) -> Self {
        let mut count = Self::default();
        for (first, second) in pairs {
            if first.below(&second) {
                count.first += 1;
            } else if second.below(&first) {
                count.second += 1;
            } else {
                count.undecided += 1;
            }
        }
        count
    }
}
