//! Models by sums of codes: an exact network, or the float network that is made from the same parts.

use std::sync::Arc;

use serde_json::{Value, json};

use super::lower::{Outside, SumCodeLowering, check_fit, fitting};
use super::{Options, Parts, Scheme, Values, bound};
use crate::bound::norm::{downward, upward};
use crate::bound::piecewise::{Question, Unserved, far_above};
use crate::bound::resolution::{self, Found, Tries, enough, search};
use crate::bound::{Budget, Norm};
use crate::construct::yun::centres::value_at_centre;
use crate::construct::yun::lattice::{assumptions_of, domain_name, not_met};
use crate::construct::yun::value_range;
use crate::error::{Error, Result};
use crate::exact::{Int, Rat, Sequence};
use crate::interval::Interval;
use crate::lattice::Grid;
use crate::lattice::codes::Code;
use crate::lower::{Hidden, Margins, Temperature};
use crate::model::{Built, Certified, Model, Request, Tolerance, first_that_serves};
use crate::network::{Coordinate, FloatNetwork, Network, Precision};
use crate::target::Target;

/// A model by a sum of codes.
#[derive(Debug)]
pub(crate) struct SumCoded {
    /// The construction, the code and the value map.
    pub options: Options,
    /// The exact network.
    pub network: Network,
    /// Its code, in words, and its ids' binary digits.
    pub code: String,
    /// The binary digits of the largest id.
    pub id_bits: usize,
    /// The float network.
    pub lowered: Option<SumCodeFloats>,
}

/// A float network, and how it came about.
#[derive(Debug)]
pub(crate) struct SumCodeFloats {
    /// Ramps, grids and losses.
    pub lowering: SumCodeLowering,
    /// The network.
    pub network: FloatNetwork,
}

/// The most ids of a grid that is found by a tolerance: every grid that is tried lists its ids.
pub(in crate::construct) const MOST_SEARCHED: u64 = 1 << 17;

/// The most steps in which the codes of such a grid are found.
const MOST_WALKED: u64 = 1 << 25;

/// The options of a construction for a request.
pub(in crate::construct) fn options(request: &Request, options: Options) -> Options {
    Options { attention: request.attention, ..options }
}

/// Compiles in the first arithmetic that serves.
pub(super) fn compile(request: &Request, asked: Options) -> Result<Model> {
    let options = options(request, asked);
    if let Some(refusal) = refusal(request, &options) {
        return Err(refusal);
    }
    let target = Arc::new(request.source.target(request.grid()?.dims())?);
    first_that_serves(request, |format| {
        compile_in(request, &options, Arc::clone(&target), format.map(|format| format.precision))
    })
}

/// Refuses options that a sum of codes does not have.
pub(in crate::construct) fn refusal(request: &Request, options: &Options) -> Option<Error> {
    let name = options.family.name;
    let out = |what: String, reason: &str, way_out: &str| {
        Some(Error::declined(what).note("reason", reason).note("try", way_out))
    };
    let format = request.arithmetic.choices().into_iter().flatten().next();
    if request.everywhere {
        let reason = "on the ramp around the box, and where its flags overflow, its floats are not 0";
        return out(
            format!("{name} is certified on its box only"),
            reason,
            "leave out ⟨domain=all⟩, or ⟨construction=yun⟩",
        );
    }
    if format.is_some_and(|format| format.hidden != Hidden::Literal) {
        let reason = "its values are in one block already, or in layers";
        return out(
            format!("⟨pack⟩ and ⟨hidden⟩ are not for {name}"),
            reason,
            "⟨values=one-block⟩, staircase, layered or rank",
        );
    }
    if format.is_some_and(|format| format.temperature != Temperature::Derived) {
        let reason = "its scores are all equal, at any temperature";
        return out(format!("⟨temperature⟩ is not for {name}"), reason, "leave out ⟨temperature⟩");
    }
    None
}

/// The assumptions that are needed; declined if none are allowed, or if one is known to be false.
pub(in crate::construct) fn assumptions(
    grid: &Grid,
    target: &Target,
    options: &Options,
    allowed: bool,
) -> Result<Vec<String>> {
    let Scheme { needs, way_out, .. } = options.family;
    assumptions_of(grid, target, options.positional, allowed, needs, way_out)
}

fn compile_in(
    request: &Request,
    options: &Options,
    target: Arc<Target>,
    precision: Option<Precision>,
) -> Result<Model> {
    let shape = request.grid()?;
    let tolerance = request.lattice_tolerance();
    if tolerance.norm() == Some(Norm::Sup) && !target.is_discrete() {
        return Err(bound::no_supremum());
    }
    let assumptions = assumptions(&shape, &target, options, request.assume_equivariant)?;
    if precision.is_none() {
        value_range(&shape, &target)?;
    }
    let grid = match request.resolution() {
        Some(_) => shape,
        None => smallest_grid(&tolerance, options, &target, &shape, precision)?,
    };
    let built = build(&grid, &target, options, precision)?;
    model(request, (target, grid), assumptions, Arc::new(built))
}

/// The model of a sum of codes that was built for a request.
pub(super) fn model(
    request: &Request,
    (target, grid): (Arc<Target>, Grid),
    assumptions: Vec<String>,
    built: Arc<dyn Built>,
) -> Result<Model> {
    let tolerance = request.lattice_tolerance();
    let model = Model::new(request.source.clone(), target, grid, assumptions, tolerance, built);
    model.check_tolerance()?;
    Ok(model)
}

/// The exact network, or the float network besides.
pub(super) fn build(
    grid: &Grid,
    target: &Arc<Target>,
    options: &Options,
    precision: Option<Precision>,
) -> Result<SumCoded> {
    let Some(precision) = precision else {
        if !options.attention.is_softmax() {
            let headline = format!("sums of codes have {} attention in floats only", options.attention.kind());
            return Err(Error::declined(headline).note("try", "⟨precision=f64⟩, or leave out ⟨attention⟩"));
        }
        value_range(grid, target)?;
        let parts = Parts::new(grid, target, options, false)?;
        return Ok(SumCoded::of(&parts, None));
    };
    let lowering = SumCodeLowering::derive(grid, target, options, precision)?;
    let network = lowering.lower()?;
    let parts = lowering.parts.clone();
    Ok(SumCoded::of(&parts, Some(SumCodeFloats { lowering, network })))
}

/// The coarsest grid that meets the tolerance.
fn smallest_grid(
    tolerance: &Tolerance,
    options: &Options,
    target: &Arc<Target>,
    shape: &Grid,
    precision: Option<Precision>,
) -> Result<Grid> {
    let (Some(eps), Some(norm)) = (&tolerance.eps, tolerance.norm()) else {
        return Err(Error::input("how fine the grid is must be said: there is no ⟨resolution⟩ and no ⟨eps⟩")
            .note("try", "⟨resolution=4⟩, or a tolerance such as ⟨eps=0.1⟩ ⟨norm=l2⟩"));
    };
    match grid_for(target, shape, tolerance.lipschitz.as_ref(), options, precision, &norm, eps)? {
        Found::Enough(resolution, _) => shape.with_resolution(resolution),
        Found::AtBest(resolution, budget) => Err(out_of_reach(eps, &budget, resolution, precision)),
    }
}

/// The error for a tolerance that no grid meets, with the best that one reaches.
pub(in crate::construct) fn out_of_reach(
    eps: &Rat,
    budget: &Budget,
    resolution: u64,
    precision: Option<Precision>,
) -> Error {
    let reachable = upward(budget.bound, 3);
    let way_out = match precision {
        Some(Precision::F32) => format!("⟨eps={reachable}⟩, the least that was found in f32, or ⟨precision=f64⟩"),
        Some(Precision::F64) => {
            format!("⟨eps={reachable}⟩, the least that was found in floats, or ⟨precision=exact⟩")
        }
        None => format!("⟨eps={reachable}⟩, the least that was found"),
    };
    not_met(eps, budget, resolution).note("try", way_out)
}

/// True if a grid is within reach: its code is quick to find, and its ids are few enough and fit, by a lower bound on
/// what any code needs.
fn in_reach(grid: &Grid, options: &Options, precision: Option<Precision>, most: u64) -> bool {
    let (n, columns) = (grid.tokens(), grid.columns());
    let (multisets, ids) = if options.positional {
        (grid.points(), grid.points() * Int::from(n))
    } else {
        ((&columns + Int::from(n - 1)).choose(n), &columns * (&columns + Int::from(n) - Int::from(2)).choose(n - 1))
    };
    // There are no more multisets than sums up to n·S, and ids are n·S².
    let scale = if options.code().ok() == Some(Code::Histogram) {
        Int::from(n + 1).pow(columns.to_usize().map_or(1 << 16, |columns| columns.min(1 << 16)) - 1)
    } else {
        multisets.div_rem(&Int::from(n)).0
    };
    let ids_fit = ids <= Int::from(most);
    let walk = || options.code().ok().zip(columns.to_u64()).map(|(code, columns)| code.walk(n, columns));
    match precision {
        // In floats a walk ends where codes no longer fit.
        None => ids_fit && scale.bits() <= 28 && walk().is_some_and(|walk| walk <= Int::from(MOST_WALKED)),
        Some(_) if options.values == Values::Rank => ids_fit && scale.bits() <= 28,
        Some(precision) => ids_fit && scale.bits() * 2 + Int::from(n).bits() <= precision.digits() + 3,
    }
}

/// The largest number, from 2 on, whose grid fits and has at most so many ids; why, if there is none.
pub(in crate::construct) fn finest(
    target: &Arc<Target>,
    options: &Options,
    precision: Option<Precision>,
    most: u64,
    grid: impl Fn(u64) -> Result<Grid>,
) -> Result<u64> {
    let parts = |grid: &Grid| match precision {
        None => Parts::new(grid, target, options, true),
        Some(precision) => {
            let parts = fitting(grid, target, options, precision)?;
            check_fit(&parts, precision)?;
            Ok(parts)
        }
    };
    let fits = |side: u64| {
        let Ok(grid) = grid(side) else { return false };
        in_reach(&grid, options, precision, most) && parts(&grid).is_ok()
    };
    if !fits(2) {
        // Say why.
        parts(&grid(2)?)?.nodes.check_count()?;
        return Err(Error::declined("the coarsest grid has too many ids").note("try", "fewer ⟨tokens⟩ or ⟨dims⟩"));
    }
    let mut too_fine = 4;
    while fits(too_fine) {
        too_fine *= 2;
    }
    Ok(resolution::last(too_fine / 2, too_fine - 1, fits).unwrap_or(too_fine / 2))
}

/// The grid that a tolerance needs.
pub(super) fn grid_for(
    target: &Arc<Target>,
    shape: &Grid,
    lipschitz: Option<&Rat>,
    options: &Options,
    precision: Option<Precision>,
    norm: &Norm,
    eps: &Rat,
) -> Result<Found> {
    let first = shape.with_resolution(2)?;
    let finest = finest(target, options, precision, MOST_SEARCHED, |side| shape.with_resolution(side))?;
    let cells = |grid: &Grid| bound::bound(Question { target, grid, positional: true, lipschitz }, None, norm);
    let by_cells = |grid: &Grid, number: f64| {
        let question = Question { target, grid, positional: true, lipschitz };
        far_above(question, Unserved::ZERO, norm, number)
    };
    let Some(precision) = precision else { return search(&Tries::new(&first, cells, by_cells), finest, eps) };
    let whole = |grid: &Grid| {
        let lowering = SumCodeLowering::derive(grid, target, options, precision)?;
        let question = Question { target, grid, positional: true, lipschitz };
        bound::bound(question, Some(&lowering.losses), norm)
    };
    // Where the cells alone are too much, floats do not matter.
    let cells_first = |grid: &Grid| match cells(grid)? {
        budget if budget.meets(eps) => whole(grid),
        budget => Ok(budget),
    };
    if let Some((resolution, budget)) = enough(&Tries::new(&first, cells_first, by_cells), finest, eps)? {
        return Ok(Found::Enough(resolution, budget));
    }
    let tries = Tries::new(&first, whole, by_cells);
    // Rounding jumps from prime to prime. Grids that fit single precision are few and small: all are tried.
    match precision {
        Precision::F32 => resolution::every(&tries, 2..=finest, eps),
        Precision::F64 => resolution::least(&tries, finest, eps),
    }
}

impl SumCoded {
    fn of(parts: &Parts, lowered: Option<SumCodeFloats>) -> Self {
        Self {
            options: parts.options,
            network: parts.network(),
            code: parts.nodes.codes.describe(),
            id_bits: parts.id_bits(),
            lowered,
        }
    }

    /// The domain on which the network is known to be right, in words.
    fn claim_on(&self, grid: &Grid) -> String {
        let points = grid.points();
        match &self.lowered {
            None => format!("the centres of all {points} cells, duplicates included; 0 outside of the box"),
            Some(SumCodeFloats { lowering, .. }) => {
                let Outside { ramp, farthest } = lowering.outside();
                format!(
                    "the centres of all {points} cells, duplicates included, within {}; exactly 0 where a coordinate is outside of the box by {} or more and \
                     none is beyond {}",
                    upward(lowering.losses.rounding, 3),
                    upward(Interval::from(&ramp).hi(), 1),
                    downward(Interval::from(&farthest).lo(), 3)
                )
            }
        }
    }

    /// Why no finite bound is proved.
    fn unbounded(&self, grid: &Grid, norm: &Norm) -> Error {
        let error = Error::declined(format!("no finite bound on the {norm} error is proved"));
        if self.lowered.as_ref().is_some_and(|lowered| lowered.lowering.losses.height.is_infinite()) {
            return error
                .note("reason", format!("on the ramps ids of {} bits may meet several windows", self.id_bits))
                .note("grid", format!("{} cells a side", grid.resolution()))
                .note("try", "⟨values=one-block⟩, or a coarser ⟨resolution⟩");
        }
        error
            .note("reason", "the target jumps, or its slope or its values are not bounded on some cell")
            .note("try", "⟨lipschitz=L⟩, if you know a constant; or leave out ⟨norm⟩")
    }
}

impl Built for SumCoded {
    fn family(&self) -> &'static str {
        self.options.family.name
    }

    fn construction(&self) -> String {
        format!("{}{}", self.family(), if self.options.positional { " --positional" } else { "" })
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
        self.lowered.as_ref().map_or_else(|| "hardmax".to_owned(), |_| self.options.attention.to_string())
    }

    fn is_positional(&self) -> bool {
        self.options.positional
    }

    fn has_cells(&self) -> bool {
        true
    }

    fn id_bits(&self, _grid: &Grid) -> Option<usize> {
        Some(self.id_bits)
    }

    fn made(&self) -> String {
        let attention = self.options.attention.beside();
        let precision = self.float().map_or("exact", |network| network.precision.name());
        format!("{} ({}; values {}), {precision}{attention}", self.construction(), self.code, self.options.values)
    }

    fn properties(&self, model: &Model) -> Vec<(&'static str, String)> {
        vec![
            ("resolution", model.grid.resolution().to_string()),
            ("code", self.code.clone()),
            ("values", self.options.values.name().to_owned()),
        ]
    }

    fn claim(&self, model: &Model) -> Option<String> {
        (!model.is_edited()).then(|| self.claim_on(&model.grid))
    }

    fn budget(&self, model: &Model, norm: &Norm) -> Result<Option<Budget>> {
        let (target, grid, lipschitz) = (&*model.target, &model.grid, model.tolerance.lipschitz.as_ref());
        let losses = self.lowered.as_ref().map(|lowered| &lowered.lowering.losses);
        let budget = bound::bound(Question { target, grid, positional: true, lipschitz }, losses, norm)?;
        if budget.bound.is_infinite() && model.is_bound_asked() {
            return Err(self.unbounded(grid, norm));
        }
        Ok(Some(budget))
    }

    fn missed(&self, model: &Model, eps: &Rat, certified: &Certified) -> Option<Error> {
        let way_out = if model.source.resolution().is_some() {
            "a larger ⟨eps⟩: the target fixes the grid"
        } else {
            "leave out ⟨resolution⟩: one that is enough is found"
        };
        Some(not_met(eps, &certified.budget, model.grid.resolution()).note("try", way_out))
    }

    fn rounding(&self) -> Option<f64> {
        self.lowered.as_ref().map(|lowered| lowered.lowering.losses.rounding)
    }

    fn is_edited(&self, model: &Model) -> bool {
        let Model { grid, target, .. } = model;
        let Some(lowered) = &self.lowered else { return false };
        let built = build(grid, target, &self.options, Some(lowered.network.precision));
        !built.is_ok_and(|built| built.float() == self.float())
    }

    fn expected(&self, model: &Model, x: &[Vec<Rat>]) -> Result<Sequence> {
        let Model { grid, target, .. } = model;
        match grid.cell(x) {
            Some(point) => value_at_centre(target, grid, &point, self.lowered.is_some()),
            None => Ok(vec![vec![Rat::ZERO; target.output_dims()]; grid.tokens()]),
        }
    }

    fn unserved(&self, model: &Model, x: &[Vec<Rat>]) -> Option<String> {
        model.grid.cell(x).is_none().then(|| "outside of the box".to_owned())
    }

    fn domain_name(&self, model: &Model) -> String {
        domain_name(&model.target, &model.grid, false, None)
    }

    fn margins(&self) -> Option<Margins> {
        self.lowered.as_ref().map(|lowered| lowered.lowering.margins.clone())
    }

    fn summarise(&self, summary: &mut Value) {
        summary["code"] = json!(self.options.code.map(|code| code.to_string()));
        summary["code_used"] = json!(self.code);
        summary["values"] = json!(self.options.values.name());
        if let Some(SumCodeFloats { lowering, .. }) = &self.lowered {
            summary["lowering"] = json!({"step_ramp": lowering.quantiser.width()});
        }
    }
}

impl Model {}
