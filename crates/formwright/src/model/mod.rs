//! A [`Model`]: a network with everything that was decided on the way, and what is claimed of it.
//!
//! | file | what |
//! |---|---|
//! | `asked.rs` | options in words, as every front end is told them |
//! | `request.rs` | a request: target, shape, tolerance, and the constructions that may be taken |
//! | `construction.rs` | a construction as a value, and the rows that a plan makes of it |
//! | `built.rs` | what a construction makes |
//! | `claim.rs` | what is claimed of a model's error |
//!
//! Nothing here knows a construction by name. Each of them is a folder in `construct/` and a line in its registry.

mod asked;
mod built;
mod claim;
mod construction;
mod request;
pub(crate) mod written;

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::bound::ascent::ascend;
use crate::bound::baseline::baseline;
use crate::bound::measured::{Measured, measure};
use crate::bound::{Baseline, Budget, Norm};
use crate::error::{Error, Result};
use crate::eval::float::Engine;
use crate::eval::indexed;
use crate::exact::{Int, Rat, Sequence};
use crate::lattice::Grid;
use crate::network::{Coordinate, FloatNetwork, LayerKind, Network, Size};
use crate::pattern::{Connections, Pattern};
use crate::target::{Source, Target};

pub use crate::lower::{Format, Margins};
pub use crate::meaning::Meanings;
pub use asked::{Asked, Own};
pub(crate) use asked::{chosen, positive};
pub use built::Built;
pub use claim::Check;
pub use claim::{Over, Stated};
pub(crate) use construction::ANEW;
pub use construction::Other;
pub(crate) use construction::weight;
pub use construction::{Candidate, Cells, Construction, Sketch};
pub use construction::{Family, Folder, Read, Scope, Way};
pub use request::Request;
pub use request::{Arithmetic, Tolerance};
pub(crate) use request::{first_that_serves, shape};

/// A proved error, and what it is to be read beside.
#[derive(Clone, Debug)]
pub struct Certified {
    /// The bound and its terms.
    pub budget: Budget,
    /// The error of the best constant.
    pub(crate) baseline: Option<Baseline>,
}

/// A compiled target: the network and everything that was decided on the way.
#[derive(Debug)]
pub struct Model {
    /// The function as it was written.
    pub source: Source,
    /// The function on tokens of this network's dimension.
    pub target: Arc<Target>,
    /// Tokens, coordinates and the box; its cells are a lattice network's, and mean nothing to a circuit.
    pub grid: Grid,
    /// The assumptions that are not proved, besides those that a budget lists.
    pub assumptions: Vec<String>,
    /// The tolerance that was asked for.
    pub(crate) tolerance: Tolerance,
    /// The network, as its construction made it.
    pub built: Arc<dyn Built>,
    /// The checker's verdict on its certificate, if it was asked: its bytes are fixed, and so is the answer.
    check: OnceLock<Check>,
    /// True if the network is not the one that the construction builds, once this has been looked at.
    pub(crate) edited: OnceLock<bool>,
    /// The proved error, once it has been computed.
    certified: OnceLock<Certified>,
    /// The measured error, once it has been measured.
    measured: OnceLock<Option<Measured>>,
    /// The error in `L^2` of a network whose error is only measured, once it has been measured.
    mean: OnceLock<Option<Measured>>,
    /// The stock class that it was built for, if it was built for one.
    pub(crate) host: Option<Host>,
    /// What it is there, once this has been computed.
    pub(crate) in_host: OnceLock<InHost>,
}

/// A stock class that a model was built for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Its name.
    pub class: String,
    /// The tolerance that is met there. The network by itself was built for a part of it.
    pub eps: Rat,
}

/// The error of a model in its host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InHost {
    /// The bound of every output, in the supremum norm.
    pub bound: f64,
    /// The host's part of it.
    pub term: f64,
}

/// A stage in a few words.
#[derive(Clone, Debug)]
pub struct StageSummary {
    /// Its name.
    pub name: String,
    /// The statement's id.
    pub statement: String,
    /// How many layers.
    pub layers: Int,
    /// Its kind.
    pub kind: LayerKind,
    /// Its purpose.
    pub meaning: String,
}

/// A count as a JSON number of any size.
fn json_number(count: &Int) -> Value {
    count.to_string().parse().map_or(Value::Null, Value::Number)
}

/// How many operations a measurement may take: a second or two.
const MEASURED_OPERATIONS: usize = 1_000_000_000;

/// How many it takes at most, where this makes fewer points than are good,
const MOST_OPERATIONS: u128 = 1 << 32;

/// of which those of the target, and of making the points, are at most so many;
const MOST_TARGET_OPERATIONS: u128 = 1 << 30;

/// with which nothing is measured if they are fewer than this.
const LEAST_MEASURED: usize = 16;

/// The cost of a step of the target's evaluation.
const STEP: u128 = 32;

/// How many points an exact network is measured at.
const EXACTLY_MEASURED: usize = 4096;

impl Model {
    /// A model as its construction built it.
    pub fn new(
        source: Source,
        target: Arc<Target>,
        grid: Grid,
        assumptions: Vec<String>,
        tolerance: Tolerance,
        built: Arc<dyn Built>,
    ) -> Self {
        Self {
            source,
            target,
            grid,
            assumptions,
            tolerance,
            built,
            check: OnceLock::new(),
            edited: OnceLock::from(false),
            certified: OnceLock::new(),
            measured: OnceLock::new(),
            mean: OnceLock::new(),
            host: None,
            in_host: OnceLock::new(),
        }
    }

    /// The same, for a stock class.
    pub(crate) fn hosted(self, host: Host) -> Self {
        Self { host: Some(host), ..self }
    }

    /// The stock class that it was built for, if it was built for one.
    pub fn host(&self) -> Option<&str> {
        self.host.as_ref().map(|host| host.class.as_str())
    }

    /// The checker's verdict on its certificate.
    pub fn check(&self) -> Check {
        self.check.get().cloned().unwrap_or_default()
    }

    /// Remembers what the checker said; only the first time, since it says the same every time.
    pub fn was_checked(&self, said: Check) {
        if said != Check::NotRun {
            self.check.get_or_init(|| said);
        }
    }

    /// True if it has a value for each cell of its grid; otherwise the grid is only a box.
    pub fn has_cells(&self) -> bool {
        self.built.has_cells()
    }

    /// The float network; `None` if the model is exact.
    pub fn float(&self) -> Option<&FloatNetwork> {
        self.built.float()
    }

    /// The exact network that a model is, or was made from; a circuit has none.
    pub fn exact(&self) -> Option<&Network> {
        self.built.exact()
    }

    /// The residual stream, coordinate by coordinate.
    pub fn coordinates(&self) -> &[Coordinate] {
        self.built.coordinates()
    }

    /// The meaning of each register, stage by stage, where it is known exactly; of edited networks nothing is.
    pub fn meanings(&self) -> Option<&Meanings> {
        self.built.meanings()
    }

    /// The residual stream as it is written: names, meanings in words, and exactly, where they are known.
    pub fn coordinates_to_json(&self) -> Value {
        let coordinate = |(register, c): (usize, &Coordinate)| {
            let mut written = json!({"name": c.name, "meaning": c.meaning});
            if let Some(meanings) = self.meanings() {
                written["held"] = meanings.to_json(register);
            }
            written
        };
        self.coordinates().iter().enumerate().map(coordinate).collect()
    }

    /// The names in meanings and their formulas, as they are written.
    pub fn atoms_to_json(&self) -> Value {
        self.meanings().map(Meanings::atoms_to_json).unwrap_or_default()
    }

    /// The construction with its options, as one writes them.
    pub fn construction(&self) -> String {
        self.built.construction()
    }

    /// The family of constructions.
    pub fn family(&self) -> &'static str {
        self.built.family()
    }

    /// True if it tells tokens apart by their place.
    pub fn is_positional(&self) -> bool {
        self.built.is_positional()
    }

    /// The fewest and the most tokens that its claim is about.
    pub fn lengths(&self) -> (usize, usize) {
        self.built.lengths(self.grid.tokens())
    }

    /// The fewest and the most tokens that it runs on.
    pub fn accepted(&self) -> (usize, usize) {
        self.float().map_or((self.grid.tokens(), self.grid.tokens()), |network| network.lengths)
    }

    /// The norm in which the error is certified: the one that was asked for; else the supremum, if the claim is in it, and `L^2` for a float network
    /// over a box, which has no other claim.
    pub fn norm(&self) -> Option<Norm> {
        let float = self.float().is_some() && !self.target.is_discrete();
        let by_claim = || self.built.supremum().map(|_| Norm::Sup);
        self.tolerance.norm().or_else(by_claim).or_else(|| float.then(|| Norm::Lp(Rat::from(2))))
    }

    /// The tokens that tokens see in its attention layers, where these are not all: the pattern, or the layers of a
    /// float network that differ, in their order.
    pub fn connections(&self) -> Option<Pattern> {
        if let Some(pattern) = self.built.pattern() {
            return Some(pattern.clone());
        }
        let mut cycle: Vec<Connections> = Vec::new();
        for run in self.float()?.runs.iter().filter_map(|run| run.attention.as_ref()) {
            cycle.extend(run.connections.iter().filter(|layer| !cycle.contains(layer)).cloned().collect::<Vec<_>>());
        }
        Pattern::new(self.attention(), cycle).ok()
    }

    /// `softmax`, or the kind that realises sums; `hardmax` if the network is exact; `sparse:` and a pattern.
    pub fn attention(&self) -> String {
        self.built.attention()
    }

    /// `f32`, `f64` or `exact`.
    pub fn precision(&self) -> &'static str {
        self.float().map_or("exact", |network| network.precision.name())
    }

    /// The size of the network that is shipped.
    pub fn size(&self) -> Size {
        let exact = || self.exact().map(Network::size).unwrap_or_default();
        self.float().map_or_else(exact, FloatNetwork::size)
    }

    /// The layers of the network that is shipped, of all stages.
    pub fn layer_count(&self) -> Int {
        self.stages().into_iter().fold(Int::ZERO, |sum, stage| sum + stage.layers)
    }

    /// The stages: name, statement, layers, whether they attend, meaning.
    pub fn stages(&self) -> Vec<StageSummary> {
        let exact = || self.exact().map(exact_stages).unwrap_or_default();
        self.float().map_or_else(exact, float_stages)
    }

    /// The error as it is measured, for a float network whose error is certified, or is known in no other way: sampled in an `L^p` norm, searched for in the supremum.
    /// Fails if that is more than what is proved.
    pub fn measured(&self) -> Result<Option<&Measured>> {
        let (Some(network), Some(norm)) = (self.float(), self.norm()) else { return Ok(None) };
        if self.is_sampled() {
            return Ok(None);
        }
        if let Some(known) = self.measured.get() {
            return Ok(known.as_ref());
        }
        let Some(points) = self.affordable(network) else { return Ok(None) };
        let engine = Engine::new(network)?;
        let run = |batch: &[Vec<Vec<f64>>]| engine.run(batch);
        let found = match norm {
            Norm::Sup => {
                let found = ascend(&self.target, &self.grid, points, run)?;
                if let Some(at) = &found.at {
                    self.built.confirm(found.value, at, &engine)?;
                }
                Some(found)
            }
            Norm::Lp(_) => {
                measure(|batch| self.target.evaluate_batch(batch), &self.grid, &norm, 1 << points.ilog2(), run)?
            }
        };
        Ok(self.measured.get_or_init(|| found).as_ref())
    }

    /// The `L^2` error of a trained Sumformer, which is measured beside the supremum: training sees the one, a user may meet the other.
    pub(crate) fn measured_mean(&self) -> Result<Option<&Measured>> {
        if !self.built.is_measured() || self.target.is_discrete() {
            return Ok(None);
        }
        if let Some(known) = self.mean.get() {
            return Ok(known.as_ref());
        }
        let found = self.measured_against(|batch| self.target.evaluate_batch(batch))?;
        Ok(self.mean.get_or_init(|| found).as_ref())
    }

    /// About how many operations a run on one sequence takes.
    pub(crate) fn work(&self, network: &FloatNetwork) -> usize {
        let tokens = self.grid.tokens();
        let work = network.size().parameters.to_usize().unwrap_or(usize::MAX).saturating_mul(2 * tokens).max(1);
        // Few layers on many tokens: what costs is every token's look at every other.
        let pairs = if self.has_cells() { 0 } else { pairs(network) };
        work.saturating_add(pairs.saturating_mul(tokens * tokens))
    }

    /// The error against a function that somebody else evaluates, sampled in the norm of the claim, in `L^2` if that is none of integrals. An
    /// exact network is run in closed form, its outputs rounded.
    pub fn measured_against(
        &self,
        wanted: impl Fn(&[Vec<Vec<f64>>]) -> Result<Vec<Vec<f64>>>,
    ) -> Result<Option<Measured>> {
        let norm = self.norm().filter(|norm| *norm != Norm::Sup).unwrap_or_else(|| Norm::Lp(Rat::from(2)));
        let engine = self.float().map(Engine::new).transpose()?;
        let points = self.float().map_or(Some(EXACTLY_MEASURED), |network| self.affordable(network));
        let Some(points) = points else { return Ok(None) };
        let run = |batch: &[Vec<Vec<f64>>]| match &engine {
            Some(engine) => engine.run(batch),
            None => batch.iter().map(|x| self.run_rounded(x)).collect(),
        };
        measure(wanted, &self.grid, &norm, 1 << points.ilog2(), run)
    }

    /// The output of an exact network for a sequence of doubles, to the nearest doubles.
    pub fn run_rounded(&self, x: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        let network = self.exact().ok_or_else(|| Error::declined("a circuit has no exact network"))?;
        let exact: Option<Sequence> =
            x.iter().map(|token| token.iter().map(|entry| Rat::from_f64(*entry)).collect()).collect();
        let exact = exact.ok_or_else(|| Error::input("an exact network has no value at an infinite number"))?;
        Ok(indexed::run(network, &exact)?.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect())
    }

    /// How many points a measurement may have: none, if it would take too long to say anything.
    fn affordable(&self, network: &FloatNetwork) -> Option<usize> {
        let work = self.work(network);
        let points = (MEASURED_OPERATIONS / work).clamp(256, 65_536);
        let steps = self.target.steps(self.grid.tokens()).saturating_mul(STEP);
        let most = MOST_OPERATIONS / steps.saturating_add(work as u128);
        // A point has numbers, which are drawn and copied, and a value.
        let numbers = (self.grid.tokens() * self.grid.dims()) as u128 * STEP;
        let most = most.min(MOST_TARGET_OPERATIONS / steps.saturating_add(2 * numbers).max(1));
        Some(points.min(usize::try_from(most).unwrap_or(usize::MAX))).filter(|points| *points >= LEAST_MEASURED)
    }

    /// About how many operations one run takes, if it is too long to be measured.
    pub fn too_long_to_measure(&self) -> Option<usize> {
        let network = self.float().filter(|_| self.norm().is_some() && !self.is_sampled())?;
        self.affordable(network).is_none().then(|| self.work(network))
    }

    /// True if its claim is about a function of which only a table of values is known. Only its owner can measure the
    /// error.
    pub fn is_sampled(&self) -> bool {
        self.source.text().is_none() && self.tolerance.lipschitz.is_some()
    }

    /// True if anything is claimed of the network.
    pub fn is_claimed(&self) -> bool {
        self.claim().is_some()
    }

    /// The proved error with its baseline, if a norm was asked for and something is claimed of the network.
    pub fn certified(&self) -> Result<Option<&Certified>> {
        let Some(norm) = self.norm().filter(|_| self.is_claimed()) else { return Ok(None) };
        // A bound that nobody asked for is left out if it is infinite: what is claimed on the grid stands.
        let finite = |known: &Certified| known.budget.bound.is_finite();
        if let Some(known) = self.certified.get() {
            return Ok(Some(known).filter(|known| finite(known)));
        }
        let Some(budget) = self.built.budget(self, &norm)? else { return Ok(None) };
        let baseline = baseline(&self.target, &self.grid, &norm);
        Ok(Some(self.certified.get_or_init(|| Certified { budget, baseline })).filter(|known| finite(known)))
    }

    pub(crate) fn check_tolerance(&self) -> Result<()> {
        let certified = self.certified()?;
        let Some(eps) = &self.tolerance.eps else { return Ok(()) };
        let Some(certified) = certified else {
            return Err(Error::rejected(format!("the tolerance {eps} is not met: nothing is claimed of this network"))
                .note("reason", "the values reach into the windows, and as printed nothing keeps them out")
                .note("try", "leave out ⟨as-printed=lemma7-order⟩"));
        };
        let missed = || self.built.missed(self, eps, certified);
        if certified.budget.meets(eps) { Ok(()) } else { missed().map_or(Ok(()), Err) }
    }

    /// True if a norm was asked for: then a bound that is infinite is no answer.
    pub(crate) fn is_bound_asked(&self) -> bool {
        self.tolerance.norm().is_some()
    }

    /// The claim about the network, in words; empty if nothing is claimed.
    pub fn claim(&self) -> Option<String> {
        let near = "; values that are not rational stand for their enclosures by doubles";
        self.built.claim(self).map(|claim| if self.is_near() { claim + near } else { claim })
    }

    /// True if values at the centres of cells are stored near the target's, which are not rational.
    pub(crate) fn is_near(&self) -> bool {
        self.has_cells() && self.float().is_some() && !self.target.is_rational()
    }

    /// True if something was asked for that the proofs do not cover: a printed step that fails, in floats any printed
    /// step, or a temperature that was not derived.
    pub fn is_broken(&self) -> bool {
        self.built.is_broken(self)
    }

    /// True if the network is not the one that the construction builds: somebody edited its files. Nothing is claimed
    /// of it.
    pub fn is_edited(&self) -> bool {
        *self.edited.get_or_init(|| self.built.is_edited(self))
    }

    /// The largest number of binary digits of an id, where there are ids.
    pub fn id_bits(&self) -> Option<usize> {
        self.built.id_bits(&self.grid)
    }

    /// True if a sequence is one that the target is about: every number in the box, on integers one of them.
    pub fn is_in_domain(&self, x: &[Vec<Rat>]) -> bool {
        let inside = |x: &Rat| *self.grid.low() <= *x && *x <= *self.grid.high();
        let allowed = |x: &Rat| inside(x) && (!self.target.is_discrete() || x.to_int().is_some());
        x.iter().flatten().all(allowed)
    }

    /// A sequence of cell centres with distinct columns (where the grid has enough of them), to show what the network does.
    pub fn example(&self) -> Sequence {
        let n = self.grid.tokens();
        // A box without cells: as many as there are tokens, if these are many.
        let finer = self.grid.with_resolution(self.grid.resolution().max(n as u64));
        let open = !self.has_cells() && !self.target.is_discrete();
        let grid = finer.ok().filter(|_| open).unwrap_or_else(|| self.grid.clone());
        let columns = grid.columns();
        let rank = |token: usize| if token.is_multiple_of(2) { token / 2 } else { n - 1 - token / 2 };
        let id = |token: usize| (Int::from(rank(token)) * &columns).div_rem(&Int::from(n)).0;
        let point: Vec<Vec<u64>> = (0..n).map(|token| grid.column(&id(token))).collect();
        grid.centre(&point)
    }

    /// The output that is wanted for a sequence: the target's value; of a lattice network the value at the cell's
    /// centre, unless it is to give 0 there, or its offset.
    pub fn expected(&self, x: &[Vec<Rat>]) -> Result<Sequence> {
        self.built.expected(self, x)
    }

    /// The domain of the certified error: the box, all of space, in floats every input that is one, the integers.
    pub fn domain_name(&self) -> String {
        self.built.domain_name(self)
    }

    /// `equivariant` if this is proved, else `none`.
    fn symmetry_name(&self) -> &'static str {
        if self.target.is_equivariant() { "equivariant" } else { "none" }
    }

    /// The summary that `build` and `inspect` print, `dir` aside.
    pub fn summary(&self) -> Result<Value> {
        let tokens = self.grid.tokens();
        let stages: Vec<Value> = self
            .stages()
            .iter()
            .map(|stage| {
                json!({
                    "name": stage.name,
                    "statement": stage.statement,
                    "layers": json_number(&stage.layers),
                    "meaning": stage.meaning,
                })
            })
            .collect();
        let mut summary = json!({
            "construction": self.family(),
            "positional": self.is_positional(),
            "attention": self.attention(),
            "precision": self.precision(),
            "domain": if self.built.is_everywhere() { "all" } else { "box" },
            "as_printed": self.built.as_printed(),
            "tokens": tokens,
            "tokens_certified": {"min": self.lengths().0, "max": self.lengths().1},
            "dims": self.grid.dims(),
            "output_dims": self.target.output_dims(),
            "width": self.coordinates().len(),
            "resolution": self.has_cells().then(|| self.grid.resolution()),
            "box": [self.grid.low(), self.grid.high()],
            "size": self.size(),
            "id_bits": self.id_bits(),
            "stages": stages,
            "error": self.error_summary()?,
            "target": {
                "name": self.target.name,
                "expression": self.source.text(),
                "symmetry": self.symmetry_name(),
                "continuous": self.target.is_continuous(tokens),
            },
        });
        self.built.summarise(&mut summary);
        Ok(summary)
    }
}

/// The cost of one token's look at another, in all heads: scores, values, and about four operations' worth of time for
/// an exponential.
fn pairs(network: &FloatNetwork) -> usize {
    let attention = network.runs.iter().filter_map(|run| Some((run.blocks, run.attention.as_ref()?)));
    let softmax = attention.filter(|(_, part)| part.kind.formula.sees_tokens());
    softmax.map(|(blocks, part)| blocks * part.heads * (part.head_size + part.value_size + 4)).sum()
}

/// The stages of an exact network.
fn exact_stages(network: &Network) -> Vec<StageSummary> {
    let stages = network.stages.iter();
    stages
        .map(|stage| StageSummary {
            name: stage.name.to_owned(),
            statement: stage.statement.to_owned(),
            layers: stage.generator.size().layers,
            kind: stage.generator.kind(),
            meaning: stage.meaning.clone(),
        })
        .collect()
}

/// The stages of a float network, with the layers that belong to each.
fn float_stages(network: &FloatNetwork) -> Vec<StageSummary> {
    let count = |index: usize| {
        let mut layers = (0, 0);
        for run in &network.runs {
            layers.0 += run.attention.as_ref().map_or(0, |part| usize::from(part.stage == index) * run.blocks);
            layers.1 += run.feed_forward.as_ref().map_or(0, |part| usize::from(part.stage == index) * run.blocks);
        }
        layers
    };
    let stages = network.stages.iter().enumerate();
    stages
        .map(|(index, stage)| {
            let (attention, feed_forward) = count(index);
            StageSummary {
                name: stage.name.clone(),
                statement: stage.statement.clone(),
                layers: Int::from(attention + feed_forward),
                kind: if attention > 0 { LayerKind::Attention } else { LayerKind::FeedForward },
                meaning: stage.meaning.clone(),
            }
        })
        .collect()
}
