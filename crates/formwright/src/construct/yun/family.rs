//! `yun` as a construction: its options, its rows in a plan, and how its folders are read.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::bound as lowered;
use super::lattice::{Lattice, Lowered, assumptions, build, check_attention, coarsest, compile, domain_name, grid_for};
use super::lattice::{not_met, on_grid, out_of_reach};
use super::lower::{Lowering, literal_size};
use super::sparse::Sparse;
use super::{AsPrinted, Options};
use crate::bound::Norm;
use crate::bound::piecewise::{Question, Unserved, bound, exceeds};
use crate::bound::resolution::Found;
use crate::construct::cells::{self, ByCells};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::lower::{Format, Hidden, Temperature};
use crate::model::written::{WrittenExact, describe, read_exact};
use crate::model::{
    Arithmetic, Asked, Candidate, Cells, Construction, Family, Folder, Model, Read, Request, Scope, Sketch, Way, weight,
};
use crate::network::{FloatNetwork, Precision};
use crate::pattern::Pattern;

/// Yun et al. 2020: any continuous function, cell by cell.
pub(crate) struct Yun;

/// The name of the family.
pub(super) const NAME: &str = "yun";

impl Family for Yun {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "Yun et al. 2020, Theorem 2, and with positions Theorem 3: any continuous function, cell by cell"
    }

    fn is_printed(&self) -> bool {
        true
    }

    fn has_cells(&self) -> bool {
        true
    }

    fn follows_patterns(&self) -> bool {
        true
    }

    /// Theorems and printed steps are Yun's.
    fn is_meant(&self, asked: &Asked) -> bool {
        asked.positional || !asked.as_printed.is_empty()
    }

    fn construction(&self, asked: &Asked, pattern: Option<&Pattern>, named: bool) -> Result<Arc<dyn Construction>> {
        let as_printed = asked.as_printed.iter().map(|name| name.parse()).collect::<Result<Vec<AsPrinted>>>()?;
        let sparse = pattern.map(|pattern| Sparse::new(pattern.clone()));
        // A pattern that somebody asked for must serve; one that is open may go by way of its hub.
        let sparse = if named { sparse.transpose()? } else { sparse.and_then(Result::ok) };
        let positional = asked.positional || (named && sparse.is_some());
        Ok(Arc::new(Options { positional, sparse, as_printed, ..Options::default() }))
    }

    fn read(&self, folder: &Folder<'_>) -> Result<Read> {
        let options = written_options(folder)?;
        let assumptions = assumptions(folder.grid, folder.target, &options, true)?;
        if folder.precision == "exact" {
            read_rational(folder, options, assumptions)
        } else {
            read_float(folder, options, assumptions)
        }
    }
}

impl Construction for Options {
    fn name(&self) -> &'static str {
        NAME
    }

    fn has_cells(&self) -> bool {
        true
    }

    fn compile(&self, request: &Request) -> Result<Model> {
        compile(request, &self.of(request))
    }

    fn turn(&self) -> usize {
        2
    }

    fn ways(&self, scope: &Scope<'_>) -> Vec<Arc<dyn Way>> {
        self.rows(scope.request).into_iter().map(|row| Arc::new(row) as Arc<dyn Way>).collect()
    }

    fn cannot_win(&self, scope: &Scope<'_>, looked_at: &[Candidate]) -> bool {
        cells::none_wins(&self.rows(scope.request), scope, looked_at)
    }
}

impl Options {
    /// The options with what the request says of the claim.
    fn of(&self, request: &Request) -> Self {
        Self { everywhere: self.everywhere || request.everywhere, ..self.clone() }
    }

    fn rows(&self, request: &Request) -> Vec<Row> {
        let mut rows = Vec::new();
        for format in request.arithmetic.choices() {
            // A pattern goes with positions.
            for positional in [false, true].into_iter().filter(|positional| *positional || self.sparse.is_none()) {
                rows.push(Row { options: Self { positional, ..self.of(request) }, format });
            }
        }
        rows
    }
}

/// A network of Theorem 2 or 3 in a format.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The theorem and its steps.
    pub options: Options,
    /// The format of its floats; `None` is exact.
    pub format: Option<Format>,
}

impl Way for Row {
    fn family(&self) -> &'static str {
        NAME
    }

    fn construction(&self) -> String {
        match &self.options {
            Options { sparse: Some(sparse), .. } => format!("{NAME} --attention sparse:{}", sparse.pattern().name()),
            Options { positional: true, .. } => format!("{NAME} --positional"),
            _ => NAME.to_owned(),
        }
    }

    fn floats(&self) -> Option<Precision> {
        self.format.map(|format| format.precision)
    }

    fn attention(&self) -> String {
        let dense = || self.format.map_or("hardmax", |_| "softmax").to_owned();
        self.options.sparse.as_ref().map_or_else(dense, |sparse| format!("sparse:{}", sparse.pattern().name()))
    }

    fn positional(&self) -> Option<bool> {
        Some(self.options.positional)
    }

    fn identity(&self) -> Vec<(&'static str, Value)> {
        self.options.sparse.iter().map(|_| ("attention", json!(self.attention()))).collect()
    }

    fn is_literal(&self) -> bool {
        true
    }

    fn least(&self, scope: &Scope<'_>) -> Int {
        cells::least(self, scope)
    }

    fn is_declined(&self, scope: &Scope<'_>) -> bool {
        self.is_out(scope)
    }

    fn may_serve(&self, scope: &Scope<'_>, most: &Int) -> std::result::Result<(), u64> {
        // Whether a theorem applies is quick to say, and says more.
        if self.options.positional || scope.target.is_equivariant() {
            cells::may_serve(self, scope, most)
        } else {
            Ok(())
        }
    }

    fn sketch(&self, scope: &Scope<'_>) -> Result<Sketch> {
        sketch(scope, &self.options, self.format)
    }

    fn build(&self, request: &Request, sketch: Sketch) -> Result<Model> {
        let shape = request.grid()?;
        let target = Arc::new(request.source.target(shape.dims())?);
        let grid = shape.with_resolution(sketch.cells.map_or_else(|| shape.resolution(), |cells| cells.resolution))?;
        let assumed = assumptions(&grid, &target, &self.options, request.assume_equivariant)?;
        on_grid(request, &self.options, self.format, (target, grid), assumed)
    }

    fn refuse(&self, request: &Request, sketch: Sketch) -> Result<Model> {
        if let (None, Some(eps), Some(cells)) = (request.resolution(), &request.tolerance.eps, sketch.cells()) {
            // How near it comes is known, and no grid is tried again.
            let shape = request.grid()?;
            let target = request.source.target(shape.dims())?;
            let best = (&sketch.budget, cells.resolution);
            return Err(out_of_reach(eps, best, (&target, &shape), self.options.positional, self.format));
        }
        let arithmetic = self.format.map_or(Arithmetic::Exact, Arithmetic::Float);
        compile(&Request { arithmetic, ..request.clone() }, &self.options)
    }

    fn describe(&self, sketch: &Sketch, row: &mut Value) {
        cells::describe(sketch, row);
    }
}

impl ByCells for Row {
    fn is_wrong_at_ties(&self) -> bool {
        !self.options.positional
    }

    fn coarsest(&self, shape: &Grid) -> Result<Grid> {
        coarsest(shape, self.options.positional)
    }

    fn least_on(&self, _scope: &Scope<'_>, grid: &Grid) -> Int {
        let dims = grid.dims();
        let contexts = if self.options.positional { grid.points() } else { grid.contexts() };
        let window = match self.format {
            None => 2 * dims + 1 + dims,
            Some(Format { hidden: Hidden::Literal, .. }) => 4 * (2 * dims + 1) + dims,
            // In a wide block, at least a unit.
            Some(_) => 2 * dims + 1,
        };
        weight(&(contexts * Int::from(grid.tokens() * window)), self.floats())
    }

    fn misses(&self, scope: &Scope<'_>, grid: &Grid, eps: &Rat) -> Result<bool> {
        let unserved = match self.format {
            Some(format) if !self.options.positional => {
                lowered::unserved(&Lowering::derive(grid, scope.target, &self.options, format)?)
            }
            _ => Unserved::ZERO,
        };
        exceeds(question(scope, grid, self.options.positional), unserved, scope.norm, eps)
    }

    fn misses_exactly(&self, scope: &Scope<'_>, grid: &Grid, eps: &Rat) -> Result<bool> {
        exceeds(question(scope, grid, self.options.positional), Unserved::ZERO, scope.norm, eps)
    }
}

fn question<'a>(scope: &Scope<'a>, grid: &'a Grid, positional: bool) -> Question<'a> {
    Question { target: scope.target, grid, positional, lipschitz: scope.request.tolerance.lipschitz.as_ref() }
}

fn sketch(scope: &Scope<'_>, options: &Options, format: Option<Format>) -> Result<Sketch> {
    let Scope { request, shape, target, norm, eps } = *scope;
    check_attention(request, options)?;
    let positional = options.positional;
    if *norm == Norm::Sup && !(target.is_discrete() && positional) {
        // Declined whatever else is wrong: what else is wrong is of no use to anybody.
        bound(Question { lipschitz: None, ..question(scope, shape, positional) }, norm)?;
    }
    let mut assumptions = assumptions(shape, target, options, request.assume_equivariant)?;
    super::check_size(shape)?;
    let fixed = request.resolution();
    let coarse = match fixed {
        Some(resolution) => shape.with_resolution(resolution)?,
        None => coarsest(shape, positional)?,
    };
    let on_coarse = question(scope, &coarse, positional);
    let (resolution, budget) = match (fixed, format, eps) {
        (Some(resolution), Some(format), _) => {
            let lowering = Lowering::derive(&coarse, target, options, format)?;
            (resolution, lowered::bound(on_coarse, &lowering, norm)?)
        }
        (Some(resolution), None, _) => (resolution, bound(on_coarse, norm)?),
        (None, format, Some(eps)) => match grid_for(on_coarse, options, format, norm, eps)? {
            Found::Enough(resolution, budget) | Found::AtBest(resolution, budget) => (resolution, budget),
        },
        (None, _, None) => return Err(Error::input("there is no ⟨resolution⟩ and no ⟨eps⟩")),
    };
    let grid = shape.with_resolution(resolution)?;
    let (size, budget) = match format {
        None => (super::build(&grid, target, options)?.size(), budget),
        // What a packed network weighs and loses is known only once it has been made.
        Some(format) if format.hidden != Hidden::Literal => {
            let Some(Lowered { lowering, network }) = build(&grid, target, options, Some(format))?.lowered else {
                return Err(Error::declined("a float network was not made"));
            };
            (network.size(), lowered::bound(question(scope, &grid, positional), &lowering, norm)?)
        }
        Some(format) => {
            let lowering = Lowering::derive(&grid, target, options, format)?;
            (literal_size(&lowering.exact(&grid, target)?)?, budget)
        }
    };
    if budget.bound.is_infinite() {
        let term = budget.dominant().map_or("a term", |term| &term.name);
        return Err(Error::declined(format!("no finite bound on the {norm} error is proved"))
            .note("term", format!("{term}, with {resolution} cells a side"))
            .note("try", "a coarser grid, or another precision"));
    }
    assumptions.extend(budget.assumptions.iter().cloned());
    let missed = eps.filter(|eps| !budget.meets(eps));
    Ok(Sketch {
        size,
        domain: domain_name(target, &grid, options.everywhere, format.map(|format| format.precision)),
        assumptions,
        why_not: missed.map(|eps| not_met(eps, &budget, resolution)),
        cells: Some(Cells::new(&grid, target, super::id_bits(&grid, options), positional)),
        built: None,
        budget,
    })
}

/// The pattern of sparse attention. What the construction finds of it is found anew.
#[derive(Deserialize)]
struct WrittenSparse {
    pattern: Pattern,
}

/// The further fields of a float model by cells.
#[derive(Deserialize)]
struct WrittenFloat {
    format_asked: Value,
}

/// The options that a folder says it was built with.
fn written_options(folder: &Folder<'_>) -> Result<Options> {
    let as_printed = folder.as_printed.iter().map(|name| name.parse()).collect::<Result<Vec<AsPrinted>>>()?;
    let sparse = match folder.file.get("sparse") {
        None | Some(Value::Null) => None,
        Some(written) => {
            let written: WrittenSparse =
                serde_json::from_value(written.clone()).map_err(|error| folder.wrong(&error.to_string()))?;
            let sparse = Sparse::new(written.pattern)?;
            sparse.check(folder.grid)?;
            if !sparse.pattern().is_named_rightly() {
                let name = sparse.pattern().name();
                return Err(Error::input(format!("the model's pattern is called {name}, and is another one"))
                    .note("try", crate::model::ANEW));
            }
            Some(sparse)
        }
    };
    let (positional, everywhere) = (folder.positional, folder.everywhere);
    Ok(Options { positional, sparse, as_printed, everywhere, ..Options::default() })
}

fn read_rational(folder: &Folder<'_>, options: Options, assumptions: Vec<String>) -> Result<Read> {
    let Folder { file, grid, target, .. } = folder;
    if file.get("network").is_some() {
        return Err(folder.wrong("it says exact, and has the shapes of a float network"));
    }
    let written: WrittenExact = folder.part()?;
    let network = read_exact(written, folder, |name, parameters| super::read_stage(name, parameters, grid, target))?;
    let edited = describe(&super::build(grid, target, &options)?) != describe(&network);
    let built = Lattice { options, network, lowered: None };
    Ok(Read { built: Arc::new(built), edited: Some(edited), assumptions })
}

fn read_float(folder: &Folder<'_>, options: Options, assumptions: Vec<String>) -> Result<Read> {
    let written: WrittenFloat = folder.part()?;
    let format = format_from_json(&written.format_asked).ok_or_else(|| folder.wrong("format_asked is not one"))?;
    let network = (folder.network)()?;
    if network.precision != format.precision {
        return Err(folder.wrong("its network is not one of its target's, or not of its precision"));
    }
    let (lattice, edited) = with_weights(network, format, options, folder)?;
    Ok(Read { built: Arc::new(lattice), edited, assumptions })
}

/// A float network by cells, and whether its weights are not the ones that the construction makes, if that is known.
fn with_weights(
    shipped: FloatNetwork,
    format: Format,
    options: Options,
    folder: &Folder<'_>,
) -> Result<(Lattice, Option<bool>)> {
    let Folder { grid, target, .. } = folder;
    if format.hidden == Hidden::Literal {
        // Whether the weights are the ones that the construction makes is looked at when something is claimed of them.
        let lowering = Lowering::derive(grid, target, &options, format)?;
        let network = lowering.exact(grid, target)?;
        let lowered = Some(Lowered { lowering, network: shipped });
        return Ok((Lattice { options, network, lowered }, None));
    }
    // What a packed network loses is known only once it has been made.
    let built = build(grid, target, &options, Some(format))?;
    let edited = built.lowered.as_ref().map(|lowered| &lowered.network) != Some(&shipped);
    let lowered = built.lowered.map(|built| Lowered { network: shipped, ..built });
    Ok((Lattice { lowered, ..built }, Some(edited)))
}

/// The format that was asked for, as it is written.
pub(super) fn format_to_json(format: Format) -> Value {
    let temperature = match format.temperature {
        Temperature::Derived => json!("derived"),
        Temperature::Saturate => json!("saturate"),
        Temperature::Exponent(exponent) => json!(exponent),
    };
    let hidden = match format.hidden {
        Hidden::Literal => json!("literal"),
        Hidden::All => json!("all"),
        Hidden::Units(units) => json!(units),
    };
    json!({"precision": format.precision.name(), "temperature": temperature, "hidden": hidden})
}

/// The same, read back.
fn format_from_json(file: &Value) -> Option<Format> {
    let precision = file["precision"].as_str()?.parse().ok()?;
    let temperature = match &file["temperature"] {
        Value::String(name) if name == "derived" => Temperature::Derived,
        Value::String(name) if name == "saturate" => Temperature::Saturate,
        other => Temperature::Exponent(other.as_u64().and_then(|exponent| u32::try_from(exponent).ok())?),
    };
    let hidden = match &file["hidden"] {
        Value::String(name) if name == "literal" => Hidden::Literal,
        Value::String(name) if name == "all" => Hidden::All,
        other => Hidden::Units(other.as_u64().and_then(|units| usize::try_from(units).ok())?),
    };
    Some(Format { precision, temperature, hidden })
}
