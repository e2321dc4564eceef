//! `median` as a construction: its rows in a plan, and how its folders are read.

use std::sync::Arc;

use serde_json::{Value, json};

use super::MEDIAN;
use super::bound::{self, Question, far_above};
use super::built::{self, Median, build, cells_for, check, fixed, model, outline};
use super::shifts::Shifts;
use crate::bound::norm::upward;
use crate::bound::resolution::Found;
use crate::bound::{Norm, supremum};
use crate::construct::cells::{self, ByCells};
use crate::construct::sumcode::coded::{assumptions, options, out_of_reach, refusal};
use crate::construct::sumcode::family::{CODE, VALUES, asked_of, ids, written_options};
use crate::construct::sumcode::{Options, Values};
use crate::construct::yun::lattice::{domain_name, not_met};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::lower::Format;
use crate::model::written::{WrittenExact, describe};
use crate::model::{
    Arithmetic, Asked, Built, Candidate, Cells, Construction, Family, Folder, Model, Own, Read, Request, Scope, Sketch,
    Way, weight,
};
use crate::network::{FloatNetwork, Precision};
use crate::pattern::Pattern;

/// The median of shifted grids.
pub(crate) struct Medians;

/// The construction: the options of its copies.
#[derive(Clone, Copy, Debug)]
struct Chosen(Options);

impl Family for Medians {
    fn name(&self) -> &'static str {
        MEDIAN.name
    }

    fn summary(&self) -> &'static str {
        MEDIAN.summary
    }

    fn options(&self) -> &'static [&'static Own] {
        &[&CODE, &VALUES]
    }

    fn has_cells(&self) -> bool {
        true
    }

    fn construction(&self, asked: &Asked, _pattern: Option<&Pattern>, named: bool) -> Result<Arc<dyn Construction>> {
        Ok(Arc::new(Chosen(asked_of(&MEDIAN, asked, named)?)))
    }

    fn read(&self, folder: &Folder<'_>) -> Result<Read> {
        let options = written_options(&MEDIAN, folder).map_err(|what| folder.wrong(what))?;
        let cells = folder.file["cells"].as_u64().ok_or_else(|| folder.wrong("missing field `cells`"))?;
        let shifts = Shifts::new(folder.grid, cells).map_err(|error| folder.wrong(error.headline()))?;
        bound::check(folder.target, folder.grid)?;
        let assumptions = assumptions(folder.grid, folder.target, &options, true)?;
        let network = (folder.precision != "exact").then(|| (folder.network)()).transpose()?;
        let precision = network.as_ref().map(|network| network.precision);
        let built = build(&shifts, folder.target, &options, precision, folder.tolerance.lipschitz.as_ref());
        let built = built.map_err(|error| folder.wrong(error.headline()))?;
        let Some(shipped) = network else {
            // There is no other way to run the stages of an exact one.
            let written = folder.part::<WrittenExact>().ok().map(|written| written.describe());
            if written != Some(describe(&built.network)) {
                return Err(folder.wrong("its stages are not those that the construction builds"));
            }
            return Ok(Read { built: Arc::new(built), edited: Some(false), assumptions });
        };
        let edited = built.float() != Some(&shipped);
        let lowered = built.lowered.map(|(lowering, _)| (lowering, shipped));
        Ok(Read { built: Arc::new(Median { lowered, ..built }), edited: Some(edited), assumptions })
    }
}

impl Construction for Chosen {
    fn name(&self) -> &'static str {
        MEDIAN.name
    }

    fn has_cells(&self) -> bool {
        true
    }

    fn compile(&self, request: &Request) -> Result<Model> {
        built::compile(request, self.0)
    }

    fn turn(&self) -> usize {
        2
    }

    /// If it is not named, there is none but in the supremum norm on a box: elsewhere a single grid serves.
    fn ways(&self, scope: &Scope<'_>) -> Vec<Arc<dyn Way>> {
        let options = options(scope.request, self.0);
        let rows = |options: Options| -> Vec<Arc<dyn Way>> {
            rows(scope.request, options).into_iter().map(|row| Arc::new(row) as Arc<dyn Way>).collect()
        };
        if scope.request.named().is_some() {
            return rows(options);
        }
        if *scope.norm != Norm::Sup || scope.target.is_discrete() {
            return Vec::new();
        }
        let equivariant = scope.target.is_equivariant() || scope.request.assume_equivariant;
        rows(Options { positional: options.positional || !equivariant, ..options })
    }

    /// Whatever symmetry the target has: that may take long to say.
    fn cannot_win(&self, scope: &Scope<'_>, looked_at: &[Candidate]) -> bool {
        let options = options(scope.request, self.0);
        let mut all = rows(scope.request, options);
        all.extend(rows(scope.request, Options { positional: true, ..options }));
        cells::none_wins(&all, scope, looked_at)
    }
}

fn rows(request: &Request, options: Options) -> Vec<Row> {
    request.arithmetic.choices().into_iter().map(|format| Row { options, format }).collect()
}

/// A median in a format.
#[derive(Clone, Debug)]
struct Row {
    /// The code and the value map of its copies.
    options: Options,
    /// The format of its floats; `None` is exact.
    format: Option<Format>,
}

impl Way for Row {
    fn family(&self) -> &'static str {
        MEDIAN.name
    }

    fn construction(&self) -> String {
        self.options.as_written()
    }

    fn floats(&self) -> Option<Precision> {
        self.format.map(|format| format.precision)
    }

    fn attention(&self) -> String {
        self.format.map_or_else(|| "hardmax".to_owned(), |_| self.options.attention.to_string())
    }

    fn positional(&self) -> Option<bool> {
        Some(self.options.positional)
    }

    fn identity(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("code", json!(self.options.code().map(|code| code.to_string()).ok())),
            ("values", json!(self.options.values.name())),
        ]
    }

    fn is_realised(&self) -> bool {
        !self.options.attention.is_softmax()
    }

    fn least(&self, scope: &Scope<'_>) -> Int {
        cells::least(self, scope)
    }

    fn is_declined(&self, scope: &Scope<'_>) -> bool {
        self.is_out(scope)
    }

    fn may_serve(&self, scope: &Scope<'_>, most: &Int) -> std::result::Result<(), u64> {
        cells::may_serve(self, scope, most)
    }

    /// In floats a staircase loses fewer digits than interpolation, for twice the hidden units.
    fn otherwise(&self, scope: &Scope<'_>) -> Option<Arc<dyn Way>> {
        let is_open = scope.request.named().is_none() && self.format.is_some();
        let steep = || Self { options: Options { values: Values::Staircase, ..self.options }, format: self.format };
        is_open.then(|| Arc::new(steep()) as Arc<dyn Way>)
    }

    fn sketch(&self, scope: &Scope<'_>) -> Result<Sketch> {
        let Self { options, .. } = self;
        let Scope { request, shape, target, norm, eps } = *scope;
        if let Some(refusal) = refusal(request, options) {
            return Err(refusal);
        }
        let mut assumptions = check(request, shape, target, options)?;
        let (cells, best) = match cells_for(request, shape, target, options, self.floats())? {
            Found::Enough(cells, _) => (cells, None),
            Found::AtBest(cells, budget) => (cells, Some(budget)),
        };
        // Nobody asked for it: that an expression is no circuit says more than how near this comes.
        let is_open = request.named().is_none() && target.expression().is_some();
        if let Some(budget) = best.as_ref().filter(|_| is_open) {
            let bound = upward(budget.bound, 3);
            return Err(Error::declined(format!(
                "the median of shifted grids is within {bound}, with {cells} cells a side"
            ))
            .note("try", format!("⟨eps={bound}⟩")));
        }
        let shifts = Shifts::new(shape, cells)?;
        let lipschitz = request.tolerance.lipschitz.as_ref();
        // What misses the tolerance is not built.
        let built = best.is_none().then(|| build(&shifts, target, options, self.floats(), lipschitz)).transpose()?;
        let sup = best.or_else(|| built.as_ref().map(|built| built.budget.clone()));
        let budget = sup.map(|sup| Ok(supremum::in_norm(&sup, norm, supremum::factor(norm, shape, target)?)));
        let budget = budget.unwrap_or_else(|| Err(Error::declined("there is no bound")))?;
        if budget.bound.is_infinite() {
            return Err(Error::declined(format!("no finite bound on the {norm} error is proved"))
                .note("try", "⟨lipschitz=L⟩, if you know a constant"));
        }
        let (size, id_bits) = match &built {
            Some(built) => (built.float().map_or_else(|| built.network.size(), FloatNetwork::size), built.id_bits),
            None => outline(&shifts, target, options)?,
        };
        assumptions.extend(budget.assumptions.iter().cloned());
        let missed = eps.filter(|eps| !budget.meets(eps));
        Ok(Sketch {
            size,
            domain: domain_name(target, shape, false, None),
            assumptions,
            why_not: missed.map(|eps| not_met(eps, &budget, cells)),
            cells: Some(Cells::new(&shifts.whole, target, id_bits, options.positional)),
            built: built.map(|built| Arc::new(built) as Arc<dyn Built>),
            budget,
        })
    }

    fn build(&self, request: &Request, sketch: Sketch) -> Result<Model> {
        let shape = request.grid()?;
        let target = Arc::new(request.source.target(shape.dims())?);
        let built = sketch.built.ok_or_else(|| Error::declined("a median was not made"))?;
        model(request, &target, &self.options, built)
    }

    fn refuse(&self, request: &Request, sketch: Sketch) -> Result<Model> {
        if let (None, Some(eps), Some(cells)) = (fixed(request), &request.tolerance.eps, sketch.cells()) {
            // How near it comes is known, and no grid is tried again.
            return Err(out_of_reach(eps, &sketch.budget, cells.resolution, self.floats()));
        }
        let arithmetic = self.format.map_or(Arithmetic::Exact, Arithmetic::Float);
        built::compile(&Request { arithmetic, ..request.clone() }, self.options)
    }

    fn describe(&self, sketch: &Sketch, row: &mut Value) {
        cells::describe(sketch, row);
        if let Some(median) = sketch.built.as_ref().and_then(|built| built.of::<Median>()) {
            row["grids"] = json!(median.shifts.copies());
        }
    }
}

impl ByCells for Row {
    fn is_out(&self, scope: &Scope<'_>) -> bool {
        scope.target.is_discrete()
    }

    fn fixed(&self, scope: &Scope<'_>) -> Option<u64> {
        fixed(scope.request)
    }

    fn is_wrong_at_ties(&self) -> bool {
        false
    }

    fn coarsest(&self, shape: &Grid) -> Result<Grid> {
        shape.with_resolution(2)
    }

    fn least_on(&self, scope: &Scope<'_>, grid: &Grid) -> Int {
        let (options, copies) = (&self.options, 2 * grid.tokens() * grid.dims() + 1);
        // The registers of a copy: inputs, cells, the code, outputs.
        let width = copies * (2 * grid.dims() + 1 + scope.target.output_dims());
        let units = if options.values == Values::Staircase { 2 } else { 1 };
        let Ok(each) = grid.with_resolution(grid.resolution() + 1) else { return Int::ZERO };
        weight(&(ids(options, &each) * Int::from(copies * (2 * width + 1) * units)), self.floats())
    }

    fn misses(&self, scope: &Scope<'_>, grid: &Grid, eps: &Rat) -> Result<bool> {
        let shifts = Shifts { whole: grid.clone() };
        let lipschitz = scope.request.tolerance.lipschitz.as_ref();
        let question = Question { target: scope.target, shifts: &shifts, lipschitz };
        let allowed = supremum::allowed(eps, supremum::factor(scope.norm, grid, scope.target)?)?;
        let above = allowed.to_f64();
        if far_above(question, above + above.abs() * f64::EPSILON * 4.0) {
            return Ok(true);
        }
        Ok(!bound::bound(question, None)?.meets(&allowed))
    }

    fn misses_exactly(&self, scope: &Scope<'_>, grid: &Grid, eps: &Rat) -> Result<bool> {
        self.misses(scope, grid, eps)
    }
}
