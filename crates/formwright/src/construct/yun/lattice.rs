//! Models by cells: an exact network of Theorem 2 or 3, and the float network that it may be lowered to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use super::family::{NAME, format_to_json};
use super::lower::{self, Lowering};
use super::sparse::Sparse;
use super::{AsPrinted, Options, bound as lowered};
use crate::bound::norm::upward;
use crate::bound::piecewise::{Question, Unserved, bound, far_above};
use crate::bound::resolution::{Found, Tries, enough, smallest};
use crate::bound::{Budget, Norm, resolution};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat, Sequence};
use crate::interval::Up;
use crate::lattice::{Grid, has_distinct_columns};
use crate::lower::{Format, Hidden, Margins, Temperature, to_float};
use crate::model::{Arithmetic, Built, Certified, Model, Over, Request, Tolerance, first_that_serves};
use crate::network::{Coordinate, FloatNetwork, Network, Precision};
use crate::pattern::Pattern;
use crate::show::short;
use crate::target::{Symmetry, Target};

/// A model by a lattice construction.
#[derive(Debug)]
pub(crate) struct Lattice {
    /// The theorem, and the steps that are as printed.
    pub options: Options,
    /// The exact network.
    pub network: Network,
    /// The float network that it was lowered to.
    pub lowered: Option<Lowered>,
}

/// A float network, and how it came about.
#[derive(Debug)]
pub(crate) struct Lowered {
    /// Temperature, ramps and losses.
    pub lowering: Lowering,
    /// The network.
    pub network: FloatNetwork,
}

/// Compiles a target to the network of Theorem 2 or 3, in the first arithmetic that serves.
pub(super) fn compile(request: &Request, options: &Options) -> Result<Model> {
    check_attention(request, options)?;
    let shape = request.grid()?;
    let target = Arc::new(request.source.target(shape.dims())?);
    let mut request = request.clone();
    if let Arithmetic::Auto(format) = request.arithmetic
        && super::value_range(&shape, &target).is_err()
    {
        // Values that are not rational are for floats: that an exact network has none of them is no news where floats are tried.
        request.arithmetic = Arithmetic::AnyFloat(format);
    }
    let tolerance = request.lattice_tolerance();
    if request.resolution().is_none() && tolerance.norm() == Some(Norm::Sup) && !target.is_discrete() {
        return Err(no_supremum(&request, options, &target, &shape)?);
    }
    first_that_serves(&request, |format| compile_in(&request, options, Arc::clone(&target), format))
}

/// Why a lattice network has no error in the supremum norm, and what it reaches in `L^2`; an error if it is not to be had there either.
fn no_supremum(request: &Request, options: &Options, target: &Arc<Target>, shape: &Grid) -> Result<Error> {
    let tolerance = request.lattice_tolerance();
    assumptions(shape, target, options, request.assume_equivariant)?;
    super::check_size(shape)?;
    let (positional, lipschitz) = (options.positional, tolerance.lipschitz.as_ref());
    let Err(refused) = bound(Question { target, grid: shape, positional, lipschitz }, &Norm::Sup) else {
        return Err(Error::declined("a bound was found after all"));
    };
    // Of what may be taken, what reaches the furthest: exact numbers, then double precision.
    let reach = |format: &Option<Format>| format.map_or(2, |format| format.precision as usize);
    let Some(format) = request.arithmetic.choices().into_iter().max_by_key(reach) else { return Ok(refused) };
    if format.is_none() {
        super::value_range(shape, target)?;
    }
    let Some(eps) = &tolerance.eps else { return Ok(refused) };
    let (shape, norm) = (coarsest(shape, positional)?, Norm::Lp(Rat::from(2)));
    let question = Question { target, grid: &shape, positional, lipschitz };
    let (met, side, budget) = match grid_for(question, options, format, &norm, eps)? {
        Found::Enough(side, budget) => (true, side, budget),
        Found::AtBest(_, budget) if budget.bound.is_infinite() => return Ok(refused),
        Found::AtBest(side, budget) => (false, side, budget),
    };
    let reached = upward(budget.bound, 3);
    let in_l2 = format!("{reached} with {side} cells a side, in {}", format.map_or("exact", |f| f.precision.name()));
    let way_out = if met {
        "⟨norm=l2⟩; or a circuit".to_owned()
    } else {
        format!("⟨norm=l2⟩ ⟨eps={reached}⟩, the least that was found there; or a circuit")
    };
    Ok(refused.without("try").note("in l2", in_l2).note("try", way_out))
}

/// Declines attention that cannot find the largest and the smallest id, which is what a lattice network's heads do.
pub(super) fn check_attention(request: &Request, options: &Options) -> Result<()> {
    let hub = request.attention.is_hub();
    if request.attention.is_softmax() || hub && options.sparse.is_some() {
        return Ok(());
    }
    if hub {
        return Err(Error::declined("a lattice network (yun) needs more of a pattern than a hub")
            .note("reason", "Assumption 1 of the sparse theorem: formwright patterns says what is missing")
            .note("try", "⟨construction=circuit⟩ or sum-code, or ⟨attention=sparse:star⟩"));
    }
    let kind = request.attention.kind();
    Err(Error::declined(format!("a lattice network (yun) has no {kind} attention"))
        .note(
            "reason",
            format!("its heads look for the largest and the smallest id; {kind} attention gives sums and means"),
        )
        .note("try", "⟨construction=circuit⟩, or ⟨attention=softmax⟩"))
}

/// Compiles in one format; `None` is exact.
fn compile_in(request: &Request, options: &Options, target: Arc<Target>, format: Option<Format>) -> Result<Model> {
    let shape = request.grid()?;
    // Whether the theorem applies at all does not depend on how fine the grid is: it is asked first.
    let assumptions = assumptions(&shape, &target, options, request.assume_equivariant)?;
    if format.is_none() {
        super::value_range(&shape, &target)?;
    }
    let tolerance = request.lattice_tolerance();
    let grid = match request.resolution() {
        Some(_) => shape,
        None => smallest_grid(&tolerance, options, &target, &shape, format)?,
    };
    on_grid(request, options, format, (target, grid), assumptions)
}

/// The model on a grid that is known to serve, or was asked for.
pub(super) fn on_grid(
    request: &Request,
    options: &Options,
    format: Option<Format>,
    (target, grid): (Arc<Target>, Grid),
    assumptions: Vec<String>,
) -> Result<Model> {
    let tolerance = request.lattice_tolerance();
    let built = build(&grid, &target, options, format);
    let lattice = built.map_err(|error| too_wide(error, &tolerance, format, &grid))?;
    let model = Model::new(request.source.clone(), target, grid, assumptions, tolerance, Arc::new(lattice));
    model.check_tolerance()?;
    Ok(model)
}

/// The exact network, and what it is lowered to.
pub(super) fn build(grid: &Grid, target: &Arc<Target>, options: &Options, format: Option<Format>) -> Result<Lattice> {
    let options = options.clone();
    let Some(format) = format else {
        return Ok(Lattice { network: super::build(grid, target, &options)?, options, lowered: None });
    };
    let mut lowering = Lowering::derive(grid, target, &options, format)?;
    let exact = lowering.exact(grid, target)?;
    let network;
    (network, lowering.losses) = lowering.finish(&exact)?;
    Ok(Lattice { options, network: exact, lowered: Some(Lowered { lowering, network }) })
}

/// Adds to an error of width that the grid would meet the tolerance, but wide blocks do not hold the values.
fn too_wide(error: Error, tolerance: &Tolerance, format: Option<Format>, grid: &Grid) -> Error {
    match (&tolerance.eps, format) {
        (Some(eps), Some(Format { precision, hidden, .. })) if hidden != Hidden::Literal => {
            Error::rejected(format!("the tolerance {eps} is not met in {precision} with blocks this wide"))
                .note("grid", format!("{} cells a side would do", grid.resolution()))
                .note("reason", error.headline())
                .note("try", "fewer ⟨hidden⟩ units, or neither ⟨pack⟩ nor ⟨hidden⟩")
        }
        _ => error,
    }
}

/// The coarsest grid that meets the tolerance.
fn smallest_grid(
    tolerance: &Tolerance,
    options: &Options,
    target: &Target,
    shape: &Grid,
    format: Option<Format>,
) -> Result<Grid> {
    super::check_size(shape)?;
    let (Some(eps), Some(norm)) = (&tolerance.eps, tolerance.norm()) else {
        return Err(Error::input("how fine the grid is must be said: there is no ⟨resolution⟩ and no ⟨eps⟩")
            .note("try", "⟨resolution=4⟩, or a tolerance such as ⟨eps=0.1⟩ ⟨norm=l2⟩"));
    };
    let positional = options.positional;
    let shape = coarsest(shape, positional)?;
    let lipschitz = tolerance.lipschitz.as_ref();
    let question = Question { target, grid: &shape, positional, lipschitz };
    match grid_for(question, options, format, &norm, eps)? {
        Found::Enough(resolution, _) => shape.with_resolution(resolution),
        Found::AtBest(resolution, budget) => {
            Err(out_of_reach(eps, (&budget, resolution), (target, &shape), positional, format))
        }
    }
}

/// The error for a tolerance that no grid meets, with the best that one reaches.
pub(super) fn out_of_reach(
    eps: &Rat,
    (budget, resolution): (&Budget, u64),
    (target, shape): (&Target, &Grid),
    positional: bool,
    format: Option<Format>,
) -> Error {
    let reachable = upward(budget.bound, 3);
    let way_out = match format {
        Some(Format { precision: Precision::F32, .. }) => {
            format!("⟨eps={reachable}⟩, the least that was found in f32, or ⟨precision=f64⟩")
        }
        Some(_) if target.range(shape.tokens()).is_err() => format!("⟨eps={reachable}⟩, the least that was found"),
        Some(_) => format!("⟨eps={reachable}⟩, the least that was found in floats, or ⟨precision=exact⟩"),
        None if positional => format!("⟨eps={reachable}⟩, the least that was found"),
        None => format!("⟨eps={reachable}⟩, the least that was found, or ⟨positional⟩ (no duplicates)"),
    };
    not_met(eps, budget, resolution).note("try", way_out)
}

/// The grid that a tolerance needs: by the bound of the exact network, or of the float network in a format.
pub(super) fn grid_for(
    question: Question<'_>,
    options: &Options,
    format: Option<Format>,
    norm: &Norm,
    eps: &Rat,
) -> Result<Found> {
    if *norm == Norm::Sup {
        // What is declined on one grid is declined on all of them.
        bound(question, norm)?;
    }
    let Some(format) = format else { return smallest(question, norm, eps) };
    // A grid is asked about several times: for its bound, for what floats take of it, for what it gives at ties.
    let known: RefCell<BTreeMap<u64, Result<Rc<Lowering>>>> = RefCell::default();
    let lowering = |grid: &Grid| -> Result<Rc<Lowering>> {
        let derive = || Lowering::derive(grid, question.target, options, format).map(Rc::new);
        known.borrow_mut().entry(grid.resolution()).or_insert_with(derive).clone()
    };
    let budget = |grid: &Grid| lowered::bound(Question { grid, ..question }, &*lowering(grid)?, norm);
    let losses = |grid: &Grid, lowering: &Lowering| lowered::losses(Question { grid, ..question }, lowering, norm);
    let by_floats = |grid: &Grid, number: f64| {
        lowering(grid).is_ok_and(|lowering| losses(grid, &lowering).iter().any(|term| term.bound > number))
    };
    let by_cells = |grid: &Grid, number: f64| {
        let Ok(lowering) = lowering(grid) else { return false };
        let unserved = Unserved { stray: Up::ZERO, ..lowered::unserved(&lowering) };
        far_above(Question { grid, ..question }, unserved, norm, number)
    };
    let tries = Tries::new(question.grid, budget, by_cells).with_floats(by_floats);
    // Finer grids lose less to their cells and more to floats: no further than where floats alone take half of what is allowed.
    let half = eps / &Rat::from(2);
    let cheap = |side: u64| {
        let grid = question.grid.with_resolution(side).ok()?;
        let losses = losses(&grid, &*lowering(&grid).ok()?);
        Some(losses.iter().filter_map(|term| Rat::from_f64(term.bound)).fold(Rat::ZERO, |sum, term| sum + term) <= half)
    };
    let fits = lower::finest(question.grid, options, format.precision)?;
    let finest = resolution::last(question.grid.resolution(), fits, |side| cheap(side).unwrap_or(false));
    if let Some(finest) = finest
        && let Ok(Some((resolution, budget))) = enough(&tries, finest, eps)
    {
        return Ok(Found::Enough(resolution, budget));
    }
    resolution::least(&tries, fits, eps)
}

/// The coarsest grid of this shape that serves any cell: without positions, one with as many columns as tokens.
pub(super) fn coarsest(shape: &Grid, positional: bool) -> Result<Grid> {
    let tokens = Int::from(shape.tokens());
    let serves = |cells: &u64| positional || Int::from(*cells).pow(shape.dims()) >= tokens;
    let least = (2..=shape.tokens().max(2) as u64).find(serves).unwrap_or(2);
    shape.with_resolution(least)
}

/// The error that says by how much a tolerance is missed.
pub(in crate::construct) fn not_met(eps: &Rat, budget: &Budget, resolution: u64) -> Error {
    let error = Error::rejected(format!("the tolerance {eps} in {} is not met", budget.norm))
        .note("bound", format!("{} with {resolution} cells a side", upward(budget.bound, 3)));
    match budget.dominant() {
        Some(term) => error.note("term", format!("the largest is {}: {}", term.name, upward(term.bound, 3))),
        None => error,
    }
}

/// The assumptions that are needed; declined if none are allowed, or if one is known to be false.
pub(in crate::construct) fn assumptions(
    grid: &Grid,
    target: &Target,
    options: &Options,
    allowed: bool,
) -> Result<Vec<String>> {
    let theorem = "yun (Theorem 2) needs f(XP) = f(X)P for every permutation P";
    assumptions_of(grid, target, options.positional, allowed, theorem, "⟨positional⟩ (Theorem 3)")
}

/// The same for a construction whose hypothesis is put this way, and whose way out is this one.
pub(in crate::construct) fn assumptions_of(
    grid: &Grid,
    target: &Target,
    positional: bool,
    allowed: bool,
    theorem: &str,
    way_out: &str,
) -> Result<Vec<String>> {
    check_context(grid)?;
    if positional {
        return Ok(Vec::new());
    }
    match target.symmetry(grid) {
        Symmetry::Proved => Ok(Vec::new()),
        Symmetry::Unknown if allowed => Ok(vec!["the target is permutation-equivariant".to_owned()]),
        symmetry => Err(not_equivariant(&symmetry, theorem, way_out)),
    }
}

/// Declines a single token, of which a circuit makes what it makes of many.
fn check_context(grid: &Grid) -> Result<()> {
    if grid.tokens() > 1 {
        return Ok(());
    }
    Err(Error::declined("a network by cells needs at least 2 tokens, and there is 1")
        .note("reason", "its ids name a context, which is made of at least two tokens (Lemma 6)")
        .note("try", "⟨construction=circuit⟩, which takes one token; or ⟨tokens=2⟩"))
}

fn not_equivariant(symmetry: &Symmetry, theorem: &str, way_out: &str) -> Error {
    match symmetry {
        Symmetry::Refuted(witness) => witness
            .explain(Error::declined(
                "the target is not permutation-equivariant, and no positional encoding was asked for",
            ))
            .note("theorem", theorem)
            .note("try", format!("{way_out}, or an equivariant target")),
        _ => Error::declined(
            "the target could not be proved permutation-equivariant, and no positional encoding was asked for",
        )
        .note("reason", "it mentions i, j, sort, a gather or a position filter; no witness against it was found either")
        .note("theorem", theorem)
        .note("try", format!("{way_out}, or ⟨assume=equivariant⟩ if you know it is")),
    }
}

/// The domain of a certified error: the box, all of space, in floats every input that is one, the integers.
pub(in crate::construct) fn domain_name(
    target: &Target,
    grid: &Grid,
    everywhere: bool,
    precision: Option<Precision>,
) -> String {
    if let Some(integers) = target.integers() {
        return format!("{integers}^({}×{})", grid.dims(), grid.tokens());
    }
    let name = grid.box_name();
    match precision {
        _ if !everywhere => name,
        None => format!("all of space, the target being 0 outside of {name}"),
        Some(precision) => format!("all finite {precision} inputs, the target being 0 outside of {name}"),
    }
}

impl Lattice {
    /// The output of Theorem 2 where two tokens are in one cell: 0, in floats the middle of the target's range; `None`
    /// if that is not proved.
    pub fn default_value(&self) -> Option<Rat> {
        match &self.lowered {
            None => Some(Rat::ZERO),
            Some(Lowered { lowering, .. }) => {
                lowering.losses.ties_cleared.then(|| lowering.options.tuning.offset.clone())
            }
        }
    }

    /// The domain on which the network is known to be right, in words.
    fn claim_on(&self, grid: &Grid) -> String {
        let positional = self.options.positional;
        if let Some(Lowered { lowering, .. }) = &self.lowered {
            let within = upward(lowering.losses.rounding, 3);
            let cells = if positional { "all cells" } else { "the cells with pairwise distinct columns" };
            let elsewhere = match self.default_value() {
                _ if positional => String::new(),
                Some(offset) => format!("; {} on the others", offset.to_f64()),
                None => "; nothing is claimed on the others".to_owned(),
            };
            return format!("the centres of {cells}, within {within}{elsewhere}");
        }
        if positional {
            return format!("the centres of all {} cells; nothing is claimed outside of the box", grid.points());
        }
        let good = grid.contexts() * Int::factorial(grid.tokens());
        let zero = if self.options.prints(AsPrinted::FlagSign) {
            "0 on cells with equal columns; nothing is claimed outside of the box"
        } else {
            "0 on cells with equal columns and outside of the box"
        };
        format!("the centres of the {good} cells with pairwise distinct columns; {zero}")
    }

    /// Why no finite bound is proved.
    fn unbounded(&self, grid: &Grid, norm: &Norm) -> Error {
        let error = Error::declined(format!("no finite bound on the {norm} error is proved"));
        match &self.lowered {
            Some(Lowered { lowering, network }) if lowering.losses.height.is_infinite() => {
                let (bits, precision) = (super::id_bits(grid, &self.options), network.precision);
                error
                    .note("reason", format!("on the ramps ids of {bits} bits may leave what {precision} holds"))
                    .note("grid", format!("{} cells a side", grid.resolution()))
                    .note(
                        "try",
                        match precision {
                            Precision::F32 => "⟨precision=f64⟩, or a coarser ⟨resolution⟩",
                            Precision::F64 => "a coarser ⟨resolution⟩, or ⟨precision=exact⟩",
                        },
                    )
            }
            _ => error
                .note("reason", "the target jumps, or its slope or its values are not bounded on some cell")
                .note("try", "⟨lipschitz=L⟩, if you know a constant; or leave out ⟨norm⟩"),
        }
    }
}

impl Built for Lattice {
    fn family(&self) -> &'static str {
        NAME
    }

    fn construction(&self) -> String {
        match &self.options {
            Options { sparse: Some(_), .. } => format!("{NAME} --attention sparse"),
            Options { positional: true, .. } => format!("{NAME} --positional"),
            _ => NAME.to_owned(),
        }
    }

    fn float(&self) -> Option<&FloatNetwork> {
        self.lowered.as_ref().map(|lowered| &lowered.network)
    }

    fn exact(&self) -> Option<&Network> {
        Some(&self.network)
    }

    fn coordinates(&self) -> &[Coordinate] {
        &self.network.coordinates
    }

    fn attention(&self) -> String {
        let dense = || self.float().map_or("hardmax", |_| "softmax").to_owned();
        self.pattern().map_or_else(dense, |pattern| format!("sparse:{}", pattern.name()))
    }

    fn pattern(&self) -> Option<&Pattern> {
        self.options.sparse.as_deref().map(Sparse::pattern)
    }

    fn is_positional(&self) -> bool {
        self.options.positional
    }

    fn has_cells(&self) -> bool {
        true
    }

    fn is_everywhere(&self) -> bool {
        self.options.everywhere
    }

    fn as_printed(&self) -> Vec<&'static str> {
        self.options.as_printed.iter().map(|step| step.name()).collect()
    }

    fn id_bits(&self, grid: &Grid) -> Option<usize> {
        Some(super::id_bits(grid, &self.options))
    }

    fn made(&self) -> String {
        let theorem = match (self.pattern(), self.options.positional) {
            (Some(pattern), _) => format!("sparse:{}", pattern.name()),
            (None, true) => "Theorem 3".to_owned(),
            (None, false) => "Theorem 2".to_owned(),
        };
        let printed = self.as_printed();
        let printed = if printed.is_empty() { String::new() } else { format!(", as printed: {}", printed.join(", ")) };
        let arithmetic = match &self.lowered {
            None => "exact".to_owned(),
            Some(Lowered { lowering, network }) => {
                format!("{}, softmax at temperature 2^{}", network.precision, lowering.temperature)
            }
        };
        format!("{NAME} ({theorem}{printed}), {arithmetic}")
    }

    fn exported_as(&self) -> String {
        match &self.options {
            Options { sparse: Some(_), .. } => format!("{NAME}, sparse (Yun et al. 2020b)"),
            Options { positional: true, .. } => format!("{NAME} --positional (Theorem 3)"),
            _ => format!("{NAME} (Theorem 2)"),
        }
    }

    fn properties(&self, model: &Model) -> Vec<(&'static str, String)> {
        let mut properties = vec![("resolution", model.grid.resolution().to_string())];
        if !self.options.as_printed.is_empty() {
            properties.push(("as_printed", self.as_printed().join(", ")));
        }
        properties
    }

    fn claim(&self, model: &Model) -> Option<String> {
        (!self.is_broken(model) && !model.is_edited()).then(|| self.claim_on(&model.grid))
    }

    fn budget(&self, model: &Model, norm: &Norm) -> Result<Option<Budget>> {
        let (target, grid, lipschitz) = (&*model.target, &model.grid, model.tolerance.lipschitz.as_ref());
        let question = Question { target, grid, positional: self.options.positional, lipschitz };
        let budget = match &self.lowered {
            Some(lowered) => lowered::bound(question, &lowered.lowering, norm)?,
            None => bound(question, norm)?,
        };
        if budget.bound.is_infinite() && model.is_bound_asked() {
            return Err(self.unbounded(grid, norm));
        }
        Ok(Some(budget))
    }

    fn missed(&self, model: &Model, eps: &Rat, certified: &Certified) -> Option<Error> {
        let packed = self.lowered.as_ref().is_some_and(|lowered| lowered.lowering.format.hidden != Hidden::Literal);
        let way_out = if model.source.resolution().is_some() {
            "a larger ⟨eps⟩: the target fixes the grid"
        } else if packed {
            "a smaller ⟨hidden⟩, or none: what is packed keeps fewer digits of the values"
        } else {
            "leave out ⟨resolution⟩: one that is enough is found"
        };
        Some(not_met(eps, &certified.budget, model.grid.resolution()).note("try", way_out))
    }

    fn rounding(&self) -> Option<f64> {
        self.lowered.as_ref().map(|lowered| lowered.lowering.losses.rounding)
    }

    fn over_points(&self) -> Over {
        if self.options.positional {
            Over::Integers
        } else {
            self.default_value().map_or(Over::Centres, Over::DistinctIntegers)
        }
    }

    fn points_in_words(&self) -> &'static str {
        if self.options.positional {
            "the points of the grid"
        } else {
            "the points of the grid with pairwise distinct columns"
        }
    }

    fn is_broken(&self, model: &Model) -> bool {
        let Model { grid, target, .. } = model;
        match &self.lowered {
            Some(Lowered { lowering, .. }) => {
                !self.options.as_printed.is_empty() || matches!(lowering.format.temperature, Temperature::Exponent(_))
            }
            None => {
                self.options.prints(AsPrinted::Lemma7Order)
                    && !super::values_stay_below_windows(grid, target, &self.options).unwrap_or(false)
            }
        }
    }

    fn is_edited(&self, model: &Model) -> bool {
        let Model { grid, target, .. } = model;
        let format = self.lowered.as_ref().map(|lowered| lowered.lowering.format);
        let built = build(grid, target, &self.options, format);
        !built.is_ok_and(|built| built.float().is_some() && built.float() == self.float())
    }

    fn expected(&self, model: &Model, x: &[Vec<Rat>]) -> Result<Sequence> {
        let Model { grid, target, .. } = model;
        let offset = self.lowered.as_ref().map(|lowered| lowered.lowering.options.tuning.offset.clone());
        let zero = vec![vec![offset.unwrap_or_default(); target.output_dims()]; grid.tokens()];
        let Some(point) = grid.cell(x) else { return Ok(zero) };
        if self.options.positional || has_distinct_columns(&point) {
            super::centres::value_at_centre(target, grid, &point, self.lowered.is_some())
        } else {
            Ok(zero)
        }
    }

    fn unserved(&self, model: &Model, x: &[Vec<Rat>]) -> Option<String> {
        match model.grid.cell(x) {
            None => Some("outside of the box".to_owned()),
            Some(point) if self.serves(&point) => None,
            Some(_) => Some(match self.default_value() {
                Some(value) => format!("two tokens in one cell, where Theorem 2 gives {}", short(&value)),
                None => "two tokens in one cell, where nothing is claimed".to_owned(),
            }),
        }
    }

    fn serves(&self, point: &[Vec<u64>]) -> bool {
        self.options.positional || has_distinct_columns(point)
    }

    fn domain_name(&self, model: &Model) -> String {
        let precision = self.float().map(|network| network.precision);
        domain_name(&model.target, &model.grid, self.options.everywhere, precision)
    }

    fn margins(&self) -> Option<Margins> {
        self.lowered.as_ref().map(|lowered| lowered.lowering.margins().clone())
    }

    fn summarise(&self, summary: &mut Value) {
        if let Some(sparse) = &self.options.sparse {
            summary["sparse"] = json!({"pattern": sparse.pattern(), "chain": sparse.order(), "hops": sparse.hops()});
        }
        if let Some(Lowered { lowering, .. }) = &self.lowered {
            summary["lowering"] = json!({
                "temperature": 1_u64 << lowering.temperature,
                "step_ramp": lowering.step_ramp,
                "id_ramp": to_float::id_ramp(),
                "offset": lowering.options.tuning.offset,
                "clip": lowering.clip,
            });
        }
    }

    fn write(&self, file: &mut Value) {
        if let Some(Lowered { lowering, .. }) = &self.lowered {
            file["format_asked"] = format_to_json(lowering.format);
        }
    }

    fn chosen(&self, _model: &Model) -> (String, String) {
        let (chosen, other) = match &self.options {
            Options { sparse: Some(_), .. } => {
                (format!("{NAME} --attention {}", self.attention()), "⟨positional⟩ takes Theorem 3, where all see all")
            }
            Options { positional: true, .. } => (self.construction(), "⟨construction=yun⟩ takes the other theorem"),
            _ => (self.construction(), "⟨construction=yun⟩ ⟨positional⟩ takes the other theorem"),
        };
        (chosen, other.to_owned())
    }
}

impl Model {
    #[cfg(test)]
    /// The network of Yun et al., if it is one.
    pub(crate) fn lattice(&self) -> Option<&Lattice> {
        self.built.of()
    }
}
