//! `sum-code` and its relatives as constructions: their options, their rows in a plan, and how their folders are read.

use std::sync::Arc;

use serde_json::{Value, json};

use super::coded::{self, SumCodeFloats, SumCoded, assumptions, build, grid_for, out_of_reach, refusal};
use super::{Options, Scheme, Values, bound};
use crate::bound::Norm;
use crate::bound::piecewise::{Question, Unserved, exceeds};
use crate::bound::resolution::Found;
use crate::construct::cells::{self, ByCells};
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
use crate::network::{FloatNetwork, Precision, Realisation};
use crate::pattern::Pattern;

/// A family of sums of codes.
pub(crate) struct Coded(pub(in crate::construct) &'static Scheme);

/// The numbers that are added up.
pub(in crate::construct) const CODE: Own = Own {
    name: "code",
    value: "CODE",
    known: &[],
    help: "The code of a sum of codes: histogram, bose-chowla, bose-chowla:q with a prime q, or mian-chowla",
    is_shared: false,
};

/// The way from a sum to a value.
pub(in crate::construct) const VALUES: Own = Own {
    name: "values",
    value: "MAP",
    known: &[],
    help: "How a sum of codes looks its values up: one-block, staircase, layered or rank",
    is_shared: false,
};

impl Family for Coded {
    fn name(&self) -> &'static str {
        self.0.name
    }

    fn summary(&self) -> &'static str {
        self.0.summary
    }

    fn options(&self) -> &'static [&'static Own] {
        &[&CODE, &VALUES]
    }

    fn has_cells(&self) -> bool {
        true
    }

    fn construction(&self, asked: &Asked, _pattern: Option<&Pattern>, named: bool) -> Result<Arc<dyn Construction>> {
        Ok(Arc::new(asked_of(self.0, asked, named)?))
    }

    fn read(&self, folder: &Folder<'_>) -> Result<Read> {
        let options = written_options(self.0, folder).map_err(|what| folder.wrong(what))?;
        let assumptions = assumptions(folder.grid, folder.target, &options, true)?;
        let network = (folder.precision != "exact").then(|| (folder.network)()).transpose()?;
        let precision = network.as_ref().map(|network| network.precision);
        let built = build(folder.grid, folder.target, &options, precision);
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
        let lowered = built.lowered.map(|floats| SumCodeFloats { network: shipped, ..floats });
        Ok(Read { built: Arc::new(SumCoded { lowered, ..built }), edited: Some(edited), assumptions })
    }
}

/// The options that are asked of a scheme; those that it owns if it is named.
pub(in crate::construct) fn asked_of(scheme: &'static Scheme, asked: &Asked, named: bool) -> Result<Options> {
    let options = Options { positional: asked.positional, ..Options::of(scheme) };
    if !named {
        return Ok(options);
    }
    Ok(Options {
        code: asked.own(&CODE).map(str::parse).transpose()?,
        values: asked.own(&VALUES).map_or_else(|| Ok(Values::default()), str::parse)?,
        ..options
    })
}

/// The options that a folder of a scheme says it was built with.
pub(in crate::construct) fn written_options(
    scheme: &'static Scheme,
    folder: &Folder<'_>,
) -> std::result::Result<Options, &'static str> {
    let file = folder.file;
    let code = match &file["code"] {
        Value::Null => None,
        Value::String(name) => Some(name.parse().map_err(|_| "its code is not one")?),
        _ => return Err("its code is not one"),
    };
    let attention = match file["attention"].as_str() {
        Some("hardmax") => Realisation::SOFTMAX,
        name => name.and_then(|name| name.parse().ok()).ok_or("its attention is not one")?,
    };
    let values = file["values"].as_str().and_then(|name| name.parse().ok()).ok_or("its value map is not one")?;
    Ok(Options { family: scheme, code, values, positional: folder.positional, attention })
}

impl Construction for Options {
    fn name(&self) -> &'static str {
        self.family.name
    }

    fn has_cells(&self) -> bool {
        true
    }

    fn compile(&self, request: &Request) -> Result<Model> {
        coded::compile(request, *self)
    }

    fn turn(&self) -> usize {
        2
    }

    /// If it is not named, there is none in the supremum norm on a box, for the reason that lattice networks tell; and
    /// positions are for targets that need them, of which one family is enough.
    fn ways(&self, scope: &Scope<'_>) -> Vec<Arc<dyn Way>> {
        let request = scope.request;
        let options = coded::options(request, *self);
        let rows = |options: Options| -> Vec<Arc<dyn Way>> {
            Self::rows(request, options).into_iter().map(|row| Arc::new(row) as Arc<dyn Way>).collect()
        };
        if request.named().is_some() {
            return rows(options);
        }
        if *scope.norm == Norm::Sup && !scope.target.is_discrete() {
            return Vec::new();
        }
        let equivariant = scope.target.is_equivariant() || request.assume_equivariant;
        match (equivariant, self.family.is_planned_with_positions) {
            (true, _) => rows(options),
            (false, true) => rows(Options { positional: true, ..options }),
            (false, false) => Vec::new(),
        }
    }

    /// Whatever symmetry the target has: that may take long to say.
    fn cannot_win(&self, scope: &Scope<'_>, looked_at: &[Candidate]) -> bool {
        let options = coded::options(scope.request, *self);
        let mut rows = Self::rows(scope.request, options);
        rows.extend(Self::rows(scope.request, Options { positional: true, ..options }));
        cells::none_wins(&rows, scope, looked_at)
    }
}

impl Options {
    /// The construction with its options, as one writes them.
    pub(in crate::construct) fn as_written(&self) -> String {
        let mut name = self.family.name.to_owned();
        if self.positional {
            name.push_str(" --positional");
        }
        if self.values != Values::default() {
            name = format!("{name} --values {}", self.values);
        }
        if !self.attention.is_softmax() {
            name = format!("{name} --attention {}", self.attention);
        }
        self.code.map_or(name.clone(), |code| format!("{name} --code {code}"))
    }

    fn rows(request: &Request, options: Self) -> Vec<Row> {
        request.arithmetic.choices().into_iter().map(|format| Row { options, format }).collect()
    }
}

/// A sum of codes in a format.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The family, the code and the value map.
    pub options: Options,
    /// The format of its floats; `None` is exact.
    pub format: Option<Format>,
}

impl Way for Row {
    fn family(&self) -> &'static str {
        self.options.family.name
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
        sketch(scope, &self.options, self.floats())
    }

    fn build(&self, request: &Request, sketch: Sketch) -> Result<Model> {
        let shape = request.grid()?;
        let target = Arc::new(request.source.target(shape.dims())?);
        let grid = shape.with_resolution(sketch.cells.map_or_else(|| shape.resolution(), |cells| cells.resolution))?;
        let assumed = assumptions(&grid, &target, &self.options, request.assume_equivariant)?;
        let built = match sketch.built {
            Some(built) => built,
            None => build(&grid, &target, &self.options, self.floats()).map(Arc::new)?,
        };
        coded::model(request, (target, grid), assumed, built)
    }

    fn refuse(&self, request: &Request, sketch: Sketch) -> Result<Model> {
        if let (None, Some(eps), Some(cells)) = (request.resolution(), &request.tolerance.eps, sketch.cells()) {
            // How near it comes is known, and no grid is tried again.
            return Err(out_of_reach(eps, &sketch.budget, cells.resolution, self.floats()));
        }
        let arithmetic = self.format.map_or(Arithmetic::Exact, Arithmetic::Float);
        coded::compile(&Request { arithmetic, ..request.clone() }, self.options)
    }

    fn describe(&self, sketch: &Sketch, row: &mut Value) {
        cells::describe(sketch, row);
    }
}

impl ByCells for Row {
    fn is_wrong_at_ties(&self) -> bool {
        false
    }

    fn coarsest(&self, shape: &Grid) -> Result<Grid> {
        shape.with_resolution(2)
    }

    fn least_on(&self, scope: &Scope<'_>, grid: &Grid) -> Int {
        let options = &self.options;
        // The registers, at least: inputs, cells, the code, a 1 and the sum where it stands apart, outputs.
        let own = if options.family.is_apart { 2 } else { 0 };
        let width = 2 * grid.dims() + 1 + own + scope.target.output_dims();
        let units = if options.values == Values::Staircase { 2 } else { 1 };
        weight(&(ids(options, grid) * Int::from((2 * width + 1) * units)), self.floats())
    }

    fn misses(&self, scope: &Scope<'_>, grid: &Grid, eps: &Rat) -> Result<bool> {
        exceeds(question(scope, grid), Unserved::ZERO, scope.norm, eps)
    }

    fn misses_exactly(&self, scope: &Scope<'_>, grid: &Grid, eps: &Rat) -> Result<bool> {
        self.misses(scope, grid, eps)
    }
}

/// The ids of a sum of codes: see `nodes.rs`.
pub(in crate::construct) fn ids(options: &Options, grid: &Grid) -> Int {
    let (n, columns) = (grid.tokens(), grid.columns());
    if options.positional {
        return grid.points() * Int::from(n);
    }
    &columns * (&columns + Int::from(n) - Int::from(2)).choose(n - 1)
}

fn question<'a>(scope: &Scope<'a>, grid: &'a Grid) -> Question<'a> {
    Question { target: scope.target, grid, positional: true, lipschitz: scope.request.tolerance.lipschitz.as_ref() }
}

/// Builds it: that is what it takes to know what its floats lose.
fn sketch(scope: &Scope<'_>, options: &Options, precision: Option<Precision>) -> Result<Sketch> {
    let Scope { request, shape, target, norm, eps } = *scope;
    if let Some(refusal) = refusal(request, options) {
        return Err(refusal);
    }
    if *norm == Norm::Sup && !target.is_discrete() {
        return Err(bound::no_supremum());
    }
    let mut assumptions = assumptions(shape, target, options, request.assume_equivariant)?;
    let lipschitz = request.tolerance.lipschitz.as_ref();
    let resolution = match (request.resolution(), eps) {
        (Some(resolution), _) => resolution,
        (None, Some(eps)) => match grid_for(target, shape, lipschitz, options, precision, norm, eps)? {
            Found::Enough(resolution, _) | Found::AtBest(resolution, _) => resolution,
        },
        (None, None) => return Err(Error::input("there is no ⟨resolution⟩ and no ⟨eps⟩")),
    };
    let grid = shape.with_resolution(resolution)?;
    let built = build(&grid, target, options, precision)?;
    let losses = built.lowered.as_ref().map(|lowered| &lowered.lowering.losses);
    let budget = bound::bound(question(scope, &grid), losses, norm)?;
    if budget.bound.is_infinite() {
        return Err(Error::declined(format!("no finite bound on the {norm} error is proved"))
            .note("try", "a coarser grid, or another precision"));
    }
    assumptions.extend(budget.assumptions.iter().cloned());
    let missed = eps.filter(|eps| !budget.meets(eps));
    Ok(Sketch {
        size: built.float().map_or_else(|| built.network.size(), FloatNetwork::size),
        domain: domain_name(target, &grid, false, None),
        assumptions,
        why_not: missed.map(|eps| not_met(eps, &budget, resolution)),
        cells: Some(Cells::new(&grid, target, built.id_bits, options.positional)),
        built: Some(Arc::new(built)),
        budget,
    })
}
