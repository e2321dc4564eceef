//! From a request to a [`Model`]: the one way in for every front end.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::bound::baseline::baseline;
use crate::bound::measured::{Measured, measure};
use crate::bound::norm::upward;
use crate::bound::piecewise::{Question, bound};
use crate::bound::resolution::{Found, search, smallest};
use crate::bound::{Baseline, Budget, Norm, lowered, resolution};
use crate::construct::yun::{self, AsPrinted, Options};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::float::Engine;
use crate::exact::{Int, Rat};
use crate::lattice::{Grid, has_distinct_columns};
use crate::lower::{self, Format, Hidden, Lowering, Temperature};
use crate::network::{FloatNetwork, LayerKind, Network, Precision, Sequence, Size};
use crate::target::{Source, Symmetry, Target};

/// What a user asks for; what is left open is filled in from the target, else from the defaults.
#[derive(Clone, Debug)]
pub struct Request {
    /// The function.
    pub source: Source,
    /// The number of tokens; 3 unless the target fixes it.
    pub tokens: Option<usize>,
    /// The coordinates of a token; 1 unless the target fixes it.
    pub dims: Option<usize>,
    /// Cells a side; there is no default, but a table and an integer domain fix it.
    pub resolution: Option<u64>,
    /// Which theorem, and which steps as printed.
    pub options: Options,
    /// Take the target for equivariant, as an assumption.
    pub assume_equivariant: bool,
    /// The error that is asked for.
    pub tolerance: Tolerance,
    /// The arithmetic of the network.
    pub arithmetic: Arithmetic,
}

/// The arithmetic of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// Rational numbers, hardmax.
    #[default]
    Exact,
    /// Floats and softmax, in this format.
    Float(Format),
    /// Floats and softmax: single precision if that meets the tolerance, else double; the format's own precision is not read.
    AnyFloat(Format),
    /// The same, and exact if neither serves.
    Auto(Format),
}

impl Arithmetic {
    /// What to try, in order; `None` is exact.
    pub fn choices(self) -> Vec<Option<Format>> {
        match self {
            Self::Exact => vec![None],
            Self::Float(format) => vec![Some(format)],
            Self::AnyFloat(format) => {
                [Precision::F32, Precision::F64].map(|precision| Some(Format { precision, ..format })).to_vec()
            }
            Self::Auto(format) => [Self::AnyFloat(format).choices(), vec![None]].concat(),
        }
    }
}

/// What is asked of the error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tolerance {
    /// It must be at most this; `None` asks for nothing.
    pub eps: Option<Rat>,
    /// In this norm; with a tolerance and no norm, the supremum.
    pub norm: Option<Norm>,
    /// A Lipschitz constant that is stated and not proved.
    pub lipschitz: Option<Rat>,
}

impl Tolerance {
    /// The norm in which an error is certified, if one is.
    pub fn norm(&self) -> Option<Norm> {
        self.norm.clone().or_else(|| self.eps.as_ref().map(|_| Norm::Sup))
    }
}

/// A proved error, and what it is to be read beside.
#[derive(Clone, Debug)]
pub struct Certified {
    /// The bound and its terms.
    pub budget: Budget,
    /// The error of the best constant.
    pub baseline: Option<Baseline>,
}

/// A compiled target: the network and everything that was decided on the way.
#[derive(Debug)]
pub struct Model {
    /// The function as it was written.
    pub source: Source,
    /// The function on tokens of this network's dimension.
    pub target: Arc<Target>,
    /// The lattice.
    pub grid: Grid,
    /// Which theorem, and which steps as printed.
    pub options: Options,
    /// What was assumed and not proved, besides what a budget lists.
    pub assumptions: Vec<String>,
    /// What was asked of the error.
    pub tolerance: Tolerance,
    /// Whether the network is not the one that the construction builds, once this has been looked at.
    pub(crate) edited: OnceLock<bool>,
    /// The exact network.
    pub network: Network,
    /// The float network that it was lowered to.
    pub lowered: Option<Lowered>,
    /// The proved error, once it has been computed.
    pub(crate) certified: OnceLock<Certified>,
    /// The measured error, once it has been measured.
    pub(crate) measured: OnceLock<Option<Measured>>,
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
    /// Of which kind.
    pub kind: LayerKind,
    /// What it does.
    pub meaning: String,
}

/// A float network, and how it came about.
#[derive(Debug)]
pub struct Lowered {
    /// Temperature, ramps and losses.
    pub lowering: Lowering,
    /// The network.
    pub network: FloatNetwork,
}

const DEFAULT_TOKENS: usize = 3;
const DEFAULT_DIMS: usize = 1;

/// Compiles a target to the network of Theorem 2 or 3.
pub fn compile(request: &Request) -> Result<Model> {
    let mut missed = None;
    for format in request.arithmetic.choices() {
        match compile_in(request, format) {
            // What is malformed is so in every format.
            Err(error) if error.kind() != ErrorKind::Input => {
                // By how much a tolerance is missed says more than what another format cannot do at all.
                let says_less = error.kind() == ErrorKind::Declined
                    && missed.as_ref().is_some_and(|missed: &Error| missed.kind() == ErrorKind::Rejected);
                if !says_less {
                    missed = Some(error);
                }
            }
            compiled => return compiled,
        }
    }
    Err(missed.unwrap_or_else(|| Error::input("no arithmetic was asked for")))
}

/// Compiles in one format; `None` is exact.
fn compile_in(request: &Request, format: Option<Format>) -> Result<Model> {
    let source = &request.source;
    let shape = request.shape()?;
    let target = Arc::new(source.target(shape.dims())?);
    // Whether the theorem applies at all does not depend on how fine the grid is: it is asked first.
    let assumptions = assumptions(&shape, &target, &request.options, request.assume_equivariant)?;
    if format.is_none() {
        yun::value_range(&shape, &target)?;
    }
    let grid = match request.resolution.or(source.resolution()) {
        Some(_) => shape,
        None => request.smallest_grid(&target, &shape, format)?,
    };
    let built = build(&grid, &target, &request.options, format);
    let (network, lowered) = built.map_err(|error| request.too_wide(error, format, &grid))?;
    let model = Model {
        source: source.clone(),
        target,
        grid,
        options: request.options.clone(),
        assumptions,
        tolerance: request.tolerance.clone(),
        edited: OnceLock::from(false),
        network,
        lowered,
        certified: OnceLock::new(),
        measured: OnceLock::new(),
    };
    model.check_tolerance()?;
    Ok(model)
}

/// The exact network, and what it is lowered to.
pub(crate) fn build(
    grid: &Grid,
    target: &Arc<Target>,
    options: &Options,
    format: Option<Format>,
) -> Result<(Network, Option<Lowered>)> {
    let Some(format) = format else { return Ok((yun::build(grid, target, options)?, None)) };
    let mut lowering = Lowering::derive(grid, target, options, format)?;
    let exact = lowering.exact(grid, target)?;
    let network;
    (network, lowering.losses) = lowering.finish(&exact, grid)?;
    Ok((exact, Some(Lowered { lowering, network })))
}

/// The cells a side of the grid on which a witness is looked for while the grid is still open.
const PROVISIONAL: u64 = 4;

impl Request {
    /// The grid that was asked for; its resolution is provisional if neither the request nor the target names one.
    pub(crate) fn shape(&self) -> Result<Grid> {
        let source = &self.source;
        let tokens = fixed("--tokens", self.tokens, source.tokens(), &source.name)?.unwrap_or(DEFAULT_TOKENS);
        let dims = fixed("--dims", self.dims, source.dims(), &source.name)?.unwrap_or(DEFAULT_DIMS);
        let resolution = fixed("--resolution", self.resolution, source.resolution(), &source.name)?;
        if source.resolution().is_some_and(|cells| cells < 2) {
            return Err(Error::input(format!("the domain of {} has a single value", source.name))
                .note("try", "a domain of at least two integers, such as `on integers 0..2`"));
        }
        let (low, high) = source.cube();
        Grid::new(tokens, dims, resolution.unwrap_or(PROVISIONAL), low, high)
    }

    /// What a network that cannot be made says of a tolerance: its grid would do, its wide blocks do not hold the values.
    fn too_wide(&self, error: Error, format: Option<Format>, grid: &Grid) -> Error {
        match (&self.tolerance.eps, format) {
            (Some(eps), Some(Format { precision, hidden, .. })) if hidden != Hidden::Literal => {
                Error::rejected(format!("the tolerance {eps} is not met in {precision} with blocks this wide"))
                    .note("grid", format!("{} cells a side would do", grid.resolution()))
                    .note("reason", error.headline())
                    .note("try", "fewer --hidden units, or neither --pack nor --hidden")
            }
            _ => error,
        }
    }

    /// The coarsest grid that meets the tolerance.
    fn smallest_grid(&self, target: &Target, shape: &Grid, format: Option<Format>) -> Result<Grid> {
        yun::check_size(shape)?;
        let (Some(eps), Some(norm)) = (&self.tolerance.eps, self.tolerance.norm()) else {
            return Err(Error::input("how fine the grid is must be said: there is no --resolution and no --eps")
                .note("reason", "the exact network stores one value for each cell of a grid with N cells a side")
                .note("try", "--resolution 4, or a tolerance such as --eps 0.1 --norm l2"));
        };
        let positional = self.options.positional;
        let shape = coarsest(shape, positional)?;
        let lipschitz = self.tolerance.lipschitz.as_ref();
        let question = Question { target, grid: &shape, positional, lipschitz };
        match grid_for(question, &self.options, format, &norm, eps)? {
            Found::Enough(resolution, _) => shape.with_resolution(resolution),
            Found::AtBest(resolution, budget) => {
                let reachable = upward(budget.bound, 3);
                let error = not_met(eps, &budget, resolution);
                let way_out = match format {
                    Some(Format { precision: Precision::F32, .. }) => {
                        format!("--eps {reachable}, the smallest reachable in f32, or --precision f64")
                    }
                    Some(_) if target.range(shape.tokens()).is_err() => {
                        format!("--eps {reachable}, the smallest reachable")
                    }
                    Some(_) => format!("--eps {reachable}, the smallest reachable in floats, or --precision exact"),
                    None if positional => format!("--eps {reachable}, the smallest reachable"),
                    None => format!("--eps {reachable}, the smallest reachable, or --positional (no duplicates)"),
                };
                Err(error.note("try", way_out))
            }
        }
    }
}

/// The grid that a tolerance needs: by the bound of the exact network, or of the float network in a format.
pub(crate) fn grid_for(
    question: Question<'_>,
    options: &Options,
    format: Option<Format>,
    norm: &Norm,
    eps: &Rat,
) -> Result<Found> {
    let Some(format) = format else { return smallest(question, norm, eps) };
    let lowering = |grid: &Grid| Lowering::derive(grid, question.target, options, format);
    let budget = |grid: &Grid| lowered::bound(Question { grid, ..question }, &lowering(grid)?, norm);
    // Finer grids lose less to their cells and more to floats: no further than where floats alone take half of what is allowed.
    let half = eps / &Rat::from(2);
    let cheap = |side: u64| {
        let grid = question.grid.with_resolution(side).ok()?;
        let losses = lowered::losses(Question { grid: &grid, ..question }, &lowering(&grid).ok()?, norm);
        Some(losses.iter().filter_map(|term| Rat::from_f64(term.bound)).fold(Rat::ZERO, |sum, term| sum + term) <= half)
    };
    let fits = lower::finest(question.grid, options, format.precision)?;
    let finest = resolution::last(question.grid.resolution(), fits, |side| cheap(side).unwrap_or(false));
    if let Some(finest) = finest
        && let Ok(Found::Enough(resolution, budget)) = search(question.grid, finest, eps, budget)
    {
        return Ok(Found::Enough(resolution, budget));
    }
    resolution::least(question.grid, fits, eps, budget)
}

/// The coarsest grid of this shape that serves any cell: without positions, one with as many columns as tokens.
pub(crate) fn coarsest(shape: &Grid, positional: bool) -> Result<Grid> {
    let tokens = Int::from(shape.tokens());
    let serves = |cells: &u64| positional || Int::from(*cells).pow(shape.dims()) >= tokens;
    let least = (2..=shape.tokens().max(2) as u64).find(serves).unwrap_or(2);
    shape.with_resolution(least)
}

/// The error that says by how much a tolerance is missed.
pub(crate) fn not_met(eps: &Rat, budget: &Budget, resolution: u64) -> Error {
    let error = Error::rejected(format!("the tolerance {eps} in {} is not met", budget.norm))
        .note("bound", format!("{} with {resolution} cells a side", upward(budget.bound, 3)));
    match budget.dominant() {
        Some(term) => error.note("term", format!("the largest is {}: {}", term.name, upward(term.bound, 3))),
        None => error,
    }
}

/// What has to be assumed; declined if it is not allowed to be, or known to be false.
pub(crate) fn assumptions(grid: &Grid, target: &Target, options: &Options, allowed: bool) -> Result<Vec<String>> {
    if options.positional {
        return Ok(Vec::new());
    }
    match target.symmetry(grid) {
        Symmetry::Proved => Ok(Vec::new()),
        Symmetry::Unknown if allowed => Ok(vec!["the target is permutation-equivariant".to_owned()]),
        symmetry => Err(not_equivariant(&symmetry)),
    }
}

/// What the user says and what the target fixes must agree.
fn fixed<T: PartialEq + std::fmt::Display>(
    option: &str,
    asked: Option<T>,
    fixed: Option<T>,
    name: &str,
) -> Result<Option<T>> {
    match (asked, fixed) {
        (Some(asked), Some(fixed)) if asked != fixed => {
            Err(Error::input(format!("{option} is {asked}, but the target {name} fixes it to {fixed}"))
                .note("try", format!("leave out {option}")))
        }
        (asked, fixed) => Ok(fixed.or(asked)),
    }
}

fn not_equivariant(symmetry: &Symmetry) -> Error {
    let theorem = "yun (Theorem 2) needs f(XP) = f(X)P for every permutation P";
    match symmetry {
        Symmetry::Refuted(witness) => witness
            .explain(Error::declined(
                "the target is not permutation-equivariant, and no positional encoding was asked for",
            ))
            .note("theorem", theorem)
            .note("try", "--positional (Theorem 3), or an equivariant target"),
        _ => Error::declined(
            "the target could not be proved permutation-equivariant, and no positional encoding was asked for",
        )
        .note("reason", "it mentions i, j, sort, a gather or a position filter; no witness against it was found either")
        .note("theorem", theorem)
        .note("try", "--positional (Theorem 3), or --assume equivariant if you know it is"),
    }
}

/// Where an error is certified: the box, or all of space.
pub(crate) fn domain_name(grid: &Grid, options: &Options) -> String {
    let name = grid.box_name();
    if options.everywhere { format!("all of space, the target being 0 outside of {name}") } else { name }
}

/// A count as a JSON number of any size.
fn json_number(count: &Int) -> Value {
    count.to_string().parse().map_or(Value::Null, Value::Number)
}

impl Model {
    /// The norm in which the error is certified: the one that was asked for, and `L^2` for a float network over a box, which has no other claim.
    pub fn norm(&self) -> Option<Norm> {
        let float = self.lowered.is_some() && !self.target.is_discrete();
        self.tolerance.norm().or_else(|| float.then(|| Norm::Lp(Rat::from(2))))
    }

    /// `softmax`, or `hardmax` if the network is exact.
    pub fn attention(&self) -> &'static str {
        self.lowered.as_ref().map_or("hardmax", |_| "softmax")
    }

    /// `f32`, `f64` or `exact`.
    pub fn precision(&self) -> &'static str {
        self.lowered.as_ref().map_or("exact", |lowered| lowered.network.precision.name())
    }

    /// The size of the network that is shipped.
    pub fn size(&self) -> Size {
        self.lowered.as_ref().map_or_else(|| self.network.size(), |lowered| lowered.network.size())
    }

    /// The layers of the network that is shipped, of all stages.
    pub fn layer_count(&self) -> Int {
        self.stages().into_iter().fold(Int::ZERO, |sum, stage| sum + stage.layers)
    }

    /// The stages: name, statement, layers, whether they attend, meaning.
    pub fn stages(&self) -> Vec<StageSummary> {
        let Some(lowered) = &self.lowered else {
            let stages = self.network.stages.iter();
            return stages
                .map(|stage| StageSummary {
                    name: stage.name.to_owned(),
                    statement: stage.statement.to_owned(),
                    layers: stage.generator.size().layers,
                    kind: stage.generator.kind(),
                    meaning: stage.meaning.clone(),
                })
                .collect();
        };
        let count = |index: usize| {
            let mut layers = (0, 0);
            for run in &lowered.network.runs {
                layers.0 += run.attention.as_ref().map_or(0, |part| usize::from(part.stage == index) * run.blocks);
                layers.1 += run.feed_forward.as_ref().map_or(0, |part| usize::from(part.stage == index) * run.blocks);
            }
            layers
        };
        let stages = lowered.network.stages.iter().enumerate();
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

    /// The error as it is measured, for a float network whose error is certified in an `L^p` norm.
    pub fn measured(&self) -> Result<Option<&Measured>> {
        let (Some(lowered), Some(norm)) = (&self.lowered, self.norm()) else { return Ok(None) };
        if let Some(known) = self.measured.get() {
            return Ok(known.as_ref());
        }
        let engine = Engine::new(&lowered.network)?;
        // Some 10^9 operations: a second or two.
        let size = lowered.network.size();
        let work = size.parameters.to_usize().unwrap_or(usize::MAX).saturating_mul(2 * self.grid.tokens());
        let points = (1_000_000_000 / work.max(1)).clamp(256, 65_536);
        let found = measure(&self.target, &self.grid, &norm, 1 << points.ilog2(), |batch| engine.run(batch))?;
        Ok(self.measured.get_or_init(|| found).as_ref())
    }

    /// Whether anything is claimed of the network.
    pub fn is_claimed(&self) -> bool {
        self.claim().is_some()
    }

    /// The proved error with its baseline, if a norm was asked for and the network is claimed to be right on its grid.
    pub fn certified(&self) -> Result<Option<&Certified>> {
        let Some(norm) = self.norm().filter(|_| self.is_claimed()) else { return Ok(None) };
        // A bound that nobody asked for is left out if it is infinite: what is claimed on the grid stands.
        let asked = self.tolerance.norm().is_some();
        let finite = |known: &Certified| known.budget.bound.is_finite();
        if let Some(known) = self.certified.get() {
            return Ok(Some(known).filter(|known| finite(known)));
        }
        let lipschitz = self.tolerance.lipschitz.as_ref();
        let question =
            Question { target: &self.target, grid: &self.grid, positional: self.options.positional, lipschitz };
        let budget = match &self.lowered {
            Some(lowered) => lowered::bound(question, &lowered.lowering, &norm)?,
            None => bound(question, &norm)?,
        };
        if budget.bound.is_infinite() && asked {
            return Err(self.unbounded(&norm));
        }
        let baseline = baseline(&self.target, &self.grid, &norm);
        Ok(Some(self.certified.get_or_init(|| Certified { budget, baseline })).filter(|known| finite(known)))
    }

    /// Why no finite bound is proved.
    fn unbounded(&self, norm: &Norm) -> Error {
        let error = Error::declined(format!("no finite bound on the {norm} error is proved"));
        match &self.lowered {
            Some(Lowered { lowering, network }) if lowering.losses.height.is_infinite() => {
                let (bits, precision) = (self.id_bits(), network.precision);
                error
                    .note("reason", format!("on the ramps ids of {bits} bits may leave what {precision} holds"))
                    .note("grid", format!("{} cells a side", self.grid.resolution()))
                    .note(
                        "try",
                        match precision {
                            Precision::F32 => "--precision f64, or a coarser --resolution",
                            Precision::F64 => "a coarser --resolution, or --precision exact",
                        },
                    )
            }
            _ => error
                .note("reason", "the target jumps, or its slope or its values are not bounded on some cell")
                .note("try", "--lipschitz L, if you know a constant; or leave out --norm"),
        }
    }

    fn check_tolerance(&self) -> Result<()> {
        let certified = self.certified()?;
        let Some(eps) = &self.tolerance.eps else { return Ok(()) };
        let Some(Certified { budget, .. }) = certified else {
            return Err(Error::rejected(format!("the tolerance {eps} is not met: nothing is claimed of this network"))
                .note("reason", "the values reach into the windows, and as printed nothing keeps them out")
                .note("try", "leave out --as-printed lemma7-order"));
        };
        if budget.meets(eps) {
            return Ok(());
        }
        let packed = self.lowered.as_ref().is_some_and(|lowered| lowered.lowering.format.hidden != Hidden::Literal);
        let way_out = if self.source.resolution().is_some() {
            "a larger --eps: the target fixes the grid"
        } else if packed {
            "a smaller --hidden, or none: what is packed keeps fewer digits of the values"
        } else {
            "leave out --resolution: one that is enough is found"
        };
        Err(not_met(eps, budget, self.grid.resolution()).note("try", way_out))
    }

    /// What the network is known to do, in words; empty if nothing is claimed.
    pub fn claim(&self) -> Option<String> {
        let contexts = self.grid.contexts();
        let claim = if self.options.positional {
            format!("the centres of all {} cells; nothing is claimed outside of the box", self.grid.points())
        } else {
            let good = contexts * Int::factorial(self.grid.tokens());
            let zero = if self.options.prints(AsPrinted::FlagSign) {
                "0 on cells with equal columns; nothing is claimed outside of the box"
            } else {
                "0 on cells with equal columns and outside of the box"
            };
            format!("the centres of the {good} cells with pairwise distinct columns; {zero}")
        };
        let claim = match &self.lowered {
            None => claim,
            Some(Lowered { lowering, .. }) => {
                let within = upward(lowering.losses.rounding, 3);
                let cells =
                    if self.options.positional { "all cells" } else { "the cells with pairwise distinct columns" };
                let elsewhere = match self.default_value() {
                    _ if self.options.positional => String::new(),
                    Some(offset) => format!("; {} on the others", offset.to_f64()),
                    None => "; nothing is claimed on the others".to_owned(),
                };
                format!("the centres of {cells}, within {within}{elsewhere}")
            }
        };
        (!self.is_broken() && !self.is_edited()).then_some(claim)
    }

    /// What Theorem 2 gives where two tokens are in one cell: 0, in floats the middle of the target's range; `None` if that is not proved.
    pub fn default_value(&self) -> Option<Rat> {
        match &self.lowered {
            None => Some(Rat::ZERO),
            Some(Lowered { lowering, .. }) => {
                lowering.losses.ties_cleared.then(|| lowering.options.tuning.offset.clone())
            }
        }
    }

    /// Whether something was asked for that the proofs do not cover: a printed step that fails, in floats any printed step, or a temperature
    /// that was not derived.
    pub fn is_broken(&self) -> bool {
        match &self.lowered {
            Some(Lowered { lowering, .. }) => {
                !self.options.as_printed.is_empty() || matches!(lowering.format.temperature, Temperature::Exponent(_))
            }
            None => {
                self.options.prints(AsPrinted::Lemma7Order)
                    && !yun::values_stay_below_windows(&self.grid, &self.target, &self.options).unwrap_or(false)
            }
        }
    }

    /// Whether the network is not the one that the construction builds: somebody edited its files. Nothing is claimed of it.
    pub fn is_edited(&self) -> bool {
        *self.edited.get_or_init(|| {
            let format = self.lowered.as_ref().map(|lowered| lowered.lowering.format);
            let built = build(&self.grid, &self.target, &self.options, format);
            let same = |built: &Option<Lowered>| match (built, &self.lowered) {
                (Some(built), Some(shipped)) => built.network == shipped.network,
                _ => false,
            };
            !built.is_ok_and(|(_, lowered)| same(&lowered))
        })
    }

    /// The largest number of binary digits of an id.
    pub fn id_bits(&self) -> usize {
        yun::id_bits(&self.grid, &self.options)
    }

    /// A sequence of cell centres with distinct columns (where the grid has enough of them), to show what the network does.
    pub fn example(&self) -> Sequence {
        let (n, columns) = (self.grid.tokens(), self.grid.columns());
        let rank = |token: usize| if token.is_multiple_of(2) { token / 2 } else { n - 1 - token / 2 };
        let id = |token: usize| (Int::from(rank(token)) * &columns).div_rem(&Int::from(n)).0;
        let point: Vec<Vec<u64>> = (0..n).map(|token| self.grid.column(&id(token))).collect();
        self.grid.centre(&point)
    }

    /// What the target says of a sequence: its value at the cell's centre, unless the network is to give 0 there, or its offset.
    pub fn expected(&self, x: &[Vec<Rat>]) -> Result<Sequence> {
        let outputs = self.target.output_dims();
        let offset = self.lowered.as_ref().map(|lowered| lowered.lowering.options.tuning.offset.clone());
        let zero = vec![vec![offset.unwrap_or_default(); outputs]; self.grid.tokens()];
        let Some(point) = self.grid.cell(x) else { return Ok(zero) };
        if self.options.positional || has_distinct_columns(&point) {
            yun::centres::value_at_centre(&self.target, &self.grid, &point, self.lowered.is_some())
        } else {
            Ok(zero)
        }
    }

    /// The claim with its badge: certified in a norm if one was asked for, else exact on the grid.
    fn error_summary(&self) -> Result<Value> {
        let claim = self.claim();
        let mut assumptions = self.assumptions.clone();
        let Some(Certified { budget, baseline }) = self.certified()? else {
            // On integers, point by point.
            let rounding = self.lowered.as_ref().map(|lowered| lowered.lowering.losses.rounding);
            let badge = if rounding.is_some() { "certified" } else { "exact-on-grid" };
            return Ok(json!({
                "badge": claim.as_ref().map(|_| badge),
                "norm": rounding.map(|_| "sup"),
                "bound": claim.as_ref().map(|_| rounding.map_or_else(|| json!(0), |bound| json!(bound))),
                "domain": claim,
                "terms": [],
                "assumptions": assumptions,
                "baseline": {"best_constant": null},
                "measured": null,
                "checked": "not-run",
            }));
        };
        assumptions.extend(budget.assumptions.iter().cloned());
        let measured = self.measured()?;
        Ok(json!({
            "badge": "certified",
            "norm": budget.norm.to_string(),
            "domain": self.domain_name(),
            "bound": budget.bound,
            "method": budget.method.name(),
            "terms": budget.terms,
            "assumptions": assumptions,
            "baseline": {
                "best_constant": baseline.map(|baseline| baseline.best_constant),
                "within": baseline.map(|baseline| baseline.within),
            },
            "measured": measured.map(|measured| json!({
                "norm": measured.norm.to_string(),
                "points": measured.points,
                "seed": measured.seed,
                "value": measured.value,
                "confidence": {"level": 0.95, "low": measured.confidence.0, "high": measured.confidence.1},
            })),
            "checked": "not-run",
        }))
    }

    /// Where the error is certified: the box, or all of space.
    pub fn domain_name(&self) -> String {
        domain_name(&self.grid, &self.options)
    }

    /// `equivariant` if this is proved, else `none`.
    fn symmetry_name(&self) -> &'static str {
        if self.target.symmetry(&self.grid) == Symmetry::Proved { "equivariant" } else { "none" }
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
            "construction": "yun",
            "positional": self.options.positional,
            "attention": self.attention(),
            "precision": self.precision(),
            "domain": if self.options.everywhere { "all" } else { "box" },
            "as_printed": self.options.as_printed.iter().map(|step| step.name()).collect::<Vec<_>>(),
            "tokens": tokens,
            "tokens_certified": {"min": tokens, "max": tokens},
            "dims": self.grid.dims(),
            "output_dims": self.network.output_dims(),
            "width": self.network.width(),
            "resolution": self.grid.resolution(),
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
        if let Some(Lowered { lowering, .. }) = &self.lowered {
            summary["lowering"] = json!({
                "temperature": 1_u64 << lowering.temperature,
                "step_ramp": lowering.step_ramp,
                "id_ramp": lower::to_float::id_ramp(),
                "offset": lowering.options.tuning.offset,
                "clip": lowering.clip,
            });
        }
        Ok(summary)
    }
}
