//! Models by medians: an exact network, or the float network that is made from the same copies.

use std::sync::Arc;

use serde_json::{Value, json};

use super::bound::{self, Question, far_above};
use super::lower::MedianLowering;
use super::shifts::Shifts;
use super::{MEDIAN, network, parts};
use crate::bound::norm::upward;
use crate::bound::resolution::{self, Found, Tries, enough, search};
use crate::bound::{Budget, Norm, supremum};
use crate::construct::sumcode::coded::{self, assumptions, finest, out_of_reach, refusal};
use crate::construct::sumcode::{Options, Parts};
use crate::construct::yun::lattice::{domain_name, not_met};
use crate::construct::yun::value_range;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::lattice::Grid;
use crate::model::{Built, Certified, Margins, Model, Request, Tolerance, first_that_serves};
use crate::network::{Coordinate, FloatNetwork, Network, Precision, Size};
use crate::target::Target;

/// A model by a median.
#[derive(Debug)]
pub(crate) struct Median {
    /// The code and the value map of its copies.
    pub options: Options,
    /// Their grids.
    pub shifts: Shifts,
    /// The exact network.
    pub network: Network,
    /// The code, in words.
    pub code: String,
    /// The binary digits of the largest id.
    pub id_bits: usize,
    /// The bound in the supremum norm.
    pub budget: Budget,
    /// The float network, and how it came about.
    pub lowered: Option<(MedianLowering, FloatNetwork)>,
}

/// The most weights of the value maps of all copies: every grid that is tried lists its ids.
const MOST_WEIGHTS: usize = 1 << 22;

/// Compiles in the first arithmetic that serves.
pub(super) fn compile(request: &Request, asked: Options) -> Result<Model> {
    let options = coded::options(request, asked);
    if let Some(refusal) = refusal(request, &options) {
        return Err(refusal);
    }
    let target = Arc::new(request.source.target(request.grid()?.dims())?);
    first_that_serves(request, |format| compile_in(request, &options, &target, format.map(|format| format.precision)))
}

fn compile_in(
    request: &Request,
    options: &Options,
    target: &Arc<Target>,
    precision: Option<Precision>,
) -> Result<Model> {
    let shape = request.grid()?;
    check(request, &shape, target, options)?;
    if precision.is_none() {
        value_range(&shape, target)?;
    }
    let tolerance = tolerance(request);
    let cells = match cells_for(request, &shape, target, options, precision)? {
        Found::Enough(cells, _) => cells,
        Found::AtBest(cells, budget) => {
            let eps = tolerance.eps.clone().unwrap_or_default();
            return Err(out_of_reach(&eps, &budget, cells, precision));
        }
    };
    let built = build(&Shifts::new(&shape, cells)?, target, options, precision, tolerance.lipschitz.as_ref())?;
    model(request, target, options, Arc::new(built))
}

/// Declines what the theorem is not about; returns the assumptions.
pub(super) fn check(request: &Request, shape: &Grid, target: &Target, options: &Options) -> Result<Vec<String>> {
    bound::check(target, shape)?;
    assumptions(shape, target, options, request.assume_equivariant)
}

/// The model of a median that was built for a request.
pub(super) fn model(
    request: &Request,
    target: &Arc<Target>,
    options: &Options,
    built: Arc<dyn Built>,
) -> Result<Model> {
    let shape = request.grid()?;
    let assumptions = check(request, &shape, target, options)?;
    let model = Model::new(request.source.clone(), Arc::clone(target), shape, assumptions, tolerance(request), built);
    model.check_tolerance()?;
    Ok(model)
}

/// The cells a side that a request names; of a table its own, where no tolerance asks for others.
pub(super) fn fixed(request: &Request) -> Option<u64> {
    match request.source.resolution() {
        Some(cells) => request.tolerance.eps.is_none().then_some(cells),
        None => request.resolution,
    }
}

/// The tolerance: that which is meant where neither it nor a grid is named.
pub(super) fn tolerance(request: &Request) -> Tolerance {
    if fixed(request).is_some() { request.tolerance.clone() } else { request.tolerance.or_default() }
}

/// The cells a side that a request asks for, or that its tolerance needs, with the bound there.
pub(super) fn cells_for(
    request: &Request,
    shape: &Grid,
    target: &Arc<Target>,
    options: &Options,
    precision: Option<Precision>,
) -> Result<Found> {
    let tolerance = tolerance(request);
    let lipschitz = tolerance.lipschitz.as_ref();
    match (fixed(request), &tolerance.eps) {
        (Some(cells), _) => {
            let shifts = Shifts::new(shape, cells)?;
            let question = Question { target, shifts: &shifts, lipschitz };
            // What floats add is known once they are there.
            Ok(Found::Enough(cells, bound::bound(question, None)?))
        }
        (None, Some(eps)) => {
            let factor = supremum::factor(&tolerance.norm().unwrap_or(Norm::Sup), shape, target)?;
            grid_for((target, lipschitz), shape, options, precision, &supremum::allowed(eps, factor)?)
        }
        (None, None) => Err(Error::input("there is no ⟨resolution⟩ and no ⟨eps⟩")),
    }
}

/// The cells a side that a tolerance in the supremum norm needs.
fn grid_for(
    (target, lipschitz): (&Arc<Target>, Option<&Rat>),
    shape: &Grid,
    options: &Options,
    precision: Option<Precision>,
    eps: &Rat,
) -> Result<Found> {
    let first = Shifts::new(shape, 2)?;
    let width = first.copies() * (2 * shape.dims() + 1 + target.output_dims());
    let most = MOST_WEIGHTS / (2 * width * first.copies());
    let finest = finest(target, options, precision, most as u64, |side| Shifts::new(shape, side)?.grid(0))?;
    let shifts = |grid: &Grid| Shifts { whole: grid.clone() };
    let cells = |grid: &Grid| bound::bound(Question { target, shifts: &shifts(grid), lipschitz }, None);
    let by_cells = |grid: &Grid, number: f64| far_above(Question { target, shifts: &shifts(grid), lipschitz }, number);
    let Some(precision) = precision else { return search(&Tries::new(&first.whole, cells, by_cells), finest, eps) };
    let whole = |grid: &Grid| {
        let shifts = shifts(grid);
        let lowering = MedianLowering::derive(&shifts, target, options, precision)?;
        bound::bound(Question { target, shifts: &shifts, lipschitz }, Some(&lowering.losses))
    };
    // Where the cells alone are too much, floats do not matter.
    let cells_first = |grid: &Grid| match cells(grid)? {
        budget if budget.meets(eps) => whole(grid),
        budget => Ok(budget),
    };
    if let Some((cells, budget)) = enough(&Tries::new(&first.whole, cells_first, by_cells), finest, eps)? {
        return Ok(Found::Enough(cells, budget));
    }
    let found = match precision {
        Precision::F32 => resolution::least(&Tries::new(&first.whole, whole, by_cells), finest, eps)?,
        // Rounding is small beside the cells, and takes long to know: one grid is enough.
        Precision::F64 => resolution::least(&Tries::new(&first.whole, cells, by_cells), finest, eps)?,
    };
    let (Found::Enough(cells, _) | Found::AtBest(cells, _)) = found;
    let budget = whole(&first.whole.with_resolution(cells)?)?;
    Ok(if budget.meets(eps) { Found::Enough(cells, budget) } else { Found::AtBest(cells, budget) })
}

/// The size of a median that is not built, by formula, and the binary digits of its largest id.
pub(super) fn outline(shifts: &Shifts, target: &Arc<Target>, options: &Options) -> Result<(Size, usize)> {
    let codes = options.code()?.codes(shifts.whole.tokens(), &shifts.grid(0)?.columns())?;
    let copies = parts(shifts, target, options, true, &codes)?;
    Ok((network(&copies, (&Rat::ZERO, &Rat::ONE)).size(), copies[0].id_bits()))
}

/// The exact network, or the float network besides.
pub(crate) fn build(
    shifts: &Shifts,
    target: &Arc<Target>,
    options: &Options,
    precision: Option<Precision>,
    lipschitz: Option<&Rat>,
) -> Result<Median> {
    let question = Question { target, shifts, lipschitz };
    let (copies, network, lowered, budget) = match precision {
        None => {
            if !options.attention.is_softmax() {
                let headline = format!("a median has {} attention in floats only", options.attention.kind());
                return Err(Error::declined(headline).note("try", "⟨precision=f64⟩, or leave out ⟨attention⟩"));
            }
            let (low, high) = value_range(&shifts.whole, target)?;
            let columns = shifts.grid(0)?.columns();
            let codes = options.code()?.codes(shifts.whole.tokens(), &columns)?;
            let copies = parts(shifts, target, options, false, &codes)?;
            let network = network(&copies, (&low, &high));
            (copies, network, None, bound::bound(question, None)?)
        }
        Some(precision) => {
            let lowering = MedianLowering::derive(shifts, target, options, precision)?;
            let exact = lowering.exact();
            let network = lowering.lower(&exact)?;
            let copies = lowering.copies.iter().map(|copy| copy.parts.clone()).collect();
            let budget = bound::bound(question, Some(&lowering.losses))?;
            (copies, exact, Some((lowering, network)), budget)
        }
    };
    let first: &Parts = &copies[0];
    let (code, id_bits) = (first.nodes.codes.describe(), first.id_bits());
    Ok(Median { options: *options, shifts: shifts.clone(), network, code, id_bits, budget, lowered })
}

impl Median {
    /// The bound in a norm.
    pub fn budget_in(&self, norm: &Norm, target: &Target) -> Result<Budget> {
        Ok(supremum::in_norm(&self.budget, norm, supremum::factor(norm, &self.shifts.whole, target)?))
    }
}

impl Built for Median {
    fn family(&self) -> &'static str {
        MEDIAN.name
    }

    fn construction(&self) -> String {
        format!("{}{}", self.family(), if self.options.positional { " --positional" } else { "" })
    }

    fn float(&self) -> Option<&FloatNetwork> {
        self.lowered.as_ref().map(|(_, network)| network)
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

    fn id_bits(&self, _grid: &Grid) -> Option<usize> {
        Some(self.id_bits)
    }

    fn made(&self) -> String {
        let attention = self.options.attention.beside();
        let precision = self.float().map_or("exact", |network| network.precision.name());
        let (copies, cells) = (self.shifts.copies(), self.shifts.whole.resolution());
        format!(
            "{} ({copies} shifted grids of {cells} cells a side; {}; values {}), {precision}{attention}",
            self.construction(),
            self.code,
            self.options.values
        )
    }

    fn properties(&self, _model: &Model) -> Vec<(&'static str, String)> {
        vec![
            ("cells", self.shifts.whole.resolution().to_string()),
            ("grids", self.shifts.copies().to_string()),
            ("code", self.code.clone()),
            ("values", self.options.values.name().to_owned()),
        ]
    }

    fn claim(&self, model: &Model) -> Option<String> {
        if model.is_edited() || self.budget.bound.is_infinite() {
            return None;
        }
        let within = upward(self.budget.bound, 4);
        let domain = self.domain_name(model);
        let meant = if model.is_sampled() { "the function that is meant" } else { "the target" };
        Some(format!("every output is within {within} of {meant} at every point of {domain}"))
    }

    fn supremum(&self) -> Option<&Budget> {
        Some(&self.budget)
    }

    fn copies(&self) -> Option<(u64, Margins, Vec<String>)> {
        let (lowering, network) = self.lowered.as_ref()?;
        let blocks: u64 = network.runs.iter().map(|run| run.blocks as u64).sum();
        let (behind, registers) = lowering.outputs();
        let mut lines = vec![format!("median {} {}", blocks.checked_sub(behind)?, registers.len())];
        for (copy, registers) in registers.iter().enumerate() {
            let registers = registers.iter().fold(String::new(), |line, register| format!("{line} {register}"));
            lines.push(format!("grid {}{registers}", self.shifts.shift(copy)));
        }
        let margin = self.shifts.margin();
        Some((self.shifts.whole.resolution(), Margins { low: margin.clone(), high: margin }, lines))
    }

    fn budget(&self, model: &Model, norm: &Norm) -> Result<Option<Budget>> {
        let budget = self.budget_in(norm, &model.target)?;
        if budget.bound.is_infinite() && model.is_bound_asked() {
            return Err(Error::declined(format!("no finite bound on the {norm} error is proved"))
                .note("reason", "the target jumps, or its slope or its values are not bounded on some cell")
                .note("try", "⟨lipschitz=L⟩, if you know a constant"));
        }
        Ok(Some(budget))
    }

    fn missed(&self, _model: &Model, eps: &Rat, certified: &Certified) -> Option<Error> {
        let cells = self.shifts.whole.resolution();
        Some(not_met(eps, &certified.budget, cells).note("try", "leave out ⟨resolution⟩: one that is enough is found"))
    }

    fn rounding(&self) -> Option<f64> {
        let losses = self.lowered.as_ref().map(|(lowering, _)| lowering.losses)?;
        Some((losses.values + losses.comparators).get())
    }

    fn is_edited(&self, model: &Model) -> bool {
        let Some(network) = self.float() else { return false };
        let lipschitz = model.tolerance.lipschitz.as_ref();
        let built = build(&self.shifts, &model.target, &self.options, Some(network.precision), lipschitz);
        !built.is_ok_and(|built| built.float() == self.float())
    }

    fn domain_name(&self, model: &Model) -> String {
        domain_name(&model.target, &model.grid, false, None)
    }

    fn summarise(&self, summary: &mut Value) {
        summary["code"] = json!(self.options.code.map(|code| code.to_string()));
        summary["code_used"] = json!(self.code);
        summary["values"] = json!(self.options.values.name());
        summary["cells"] = json!(self.shifts.whole.resolution());
        summary["grids"] = json!(self.shifts.copies());
        let ramp = self.lowered.as_ref().and_then(|(lowering, _)| lowering.copies.first());
        if let Some(copy) = ramp {
            summary["lowering"] = json!({"step_ramp": copy.quantiser.width(), "margin": self.shifts.margin()});
        }
    }

    fn chosen(&self, _model: &Model) -> (String, String) {
        (self.construction(), "⟨norm=l2⟩ takes a single grid, and fewer parameters".to_owned())
    }
}
