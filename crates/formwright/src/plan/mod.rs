//! What there is to choose from: every construction's size, bits and bound, from formulas, before anything is built.
//!
//! Beside the sizes stand the counts of section 5.4 of Yun et al. 2020: any method that approximates by cells has to remember one number
//! for each output entry and cell, `d n N^{dn} / n!` for equivariant functions and `d n N^{dn}` for all; a residual network (Lin &
//! Jegelka 2018) needs the order of `d n N^{dn}` parameters.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::bound::baseline::baseline;
use crate::bound::piecewise::{Question, bound};
use crate::bound::resolution::Found;
use crate::bound::{Baseline, Budget, Norm, lowered};
use crate::compile::{
    Arithmetic, Lowered, Model, Request, assumptions, build, coarsest, compile, domain_name, grid_for, not_met,
};
use crate::construct::yun::{self, Options};
use crate::error::{Error, ErrorKind, Result};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::lower::{self, Format, Hidden, Lowering};
use crate::network::Size;
use crate::target::Target;

/// One way to build a target.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// With positions: Theorem 3.
    pub positional: bool,
    /// The format of its floats; `None` is exact.
    pub format: Option<Format>,
    /// What it would be, or why it is not to be had.
    pub outcome: std::result::Result<Sketch, Error>,
}

/// A network that was not built.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Cells a side.
    pub resolution: u64,
    /// Its size.
    pub size: Size,
    /// The binary digits of the largest id.
    pub id_bits: usize,
    /// Its certified error.
    pub budget: Budget,
    /// What is assumed and not proved.
    pub assumptions: Vec<String>,
    /// The numbers that any approximation by cells has to remember.
    pub to_remember: Int,
    /// The parameters of a residual network, up to a constant.
    pub residual_network: Int,
    /// What keeps it from meeting the tolerance.
    pub why_not: Option<String>,
}

impl Candidate {
    /// The name on the command line.
    pub fn construction(&self) -> &'static str {
        if self.positional { "yun --positional" } else { "yun" }
    }

    /// Construction and precision.
    pub fn name(&self) -> String {
        format!("{}, {}", self.construction(), self.precision())
    }

    /// `softmax`, or `hardmax` if it is exact.
    pub fn attention(&self) -> &'static str {
        self.format.map_or("hardmax", |_| "softmax")
    }

    /// `f32`, `f64` or `exact`.
    pub fn precision(&self) -> &'static str {
        self.format.map_or("exact", |format| format.precision.name())
    }
}

impl Sketch {
    /// The smallest precision whose mantissa holds the ids and, two digits more, the edges of their windows.
    pub fn precision_needed(&self) -> &'static str {
        match self.id_bits {
            0..=22 => "f32",
            23..=51 => "f64",
            _ => "exact",
        }
    }

    /// Our parameters for each number that has to be remembered.
    pub fn ratio(&self) -> f64 {
        Rat::new(self.size.parameters.clone(), self.to_remember.clone().max(Int::ONE)).to_f64()
    }
}

/// The plan for a request.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The tolerance; `None` if the grid is fixed and nothing is asked of the error.
    pub eps: Option<Rat>,
    /// The norm.
    pub norm: Norm,
    /// Every construction, those that meet the tolerance first, then by parameters.
    pub candidates: Vec<Candidate>,
    /// The error of the best constant.
    pub baseline: Option<Baseline>,
    /// The box, in words.
    pub domain: String,
}

/// Compiles the first row of the plan. If no row meets the tolerance, the error is that of the first row.
pub fn compile_first(request: &Request) -> Result<Model> {
    let plan = plan(request)?;
    let Some(first) = plan.candidates.first() else { return compile(request) };
    let options = Options { positional: first.positional, ..request.options.clone() };
    let arithmetic = first.format.map_or(Arithmetic::Exact, Arithmetic::Float);
    let compiled = compile(&Request { options, arithmetic, ..request.clone() });
    if first.outcome.is_err() {
        return compiled;
    }
    // Where nothing serves, the message is about the nearest, which nobody named.
    compiled.map_err(|error| {
        let (name, all) = (first.name(), plan.candidates.len());
        error.note_first("nearest", format!("{name}; formwright plan lists all {all}"))
    })
}

/// The tolerance of a plan that does not name one.
fn default_eps() -> Rat {
    Rat::new(1, 100)
}

/// Sizes up every construction for a request.
pub fn plan(request: &Request) -> Result<Plan> {
    let shape = request.shape()?;
    let target = Arc::new(request.source.target(shape.dims())?);
    let fixed = request.resolution.or(request.source.resolution()).is_some();
    let eps = request.tolerance.eps.clone().or_else(|| (!fixed).then(default_eps));
    // As `Model::norm`: a float network of which nothing is asked is certified in L^2.
    let asked = request.tolerance.norm.clone();
    let float = eps.is_none() && request.arithmetic != Arithmetic::Exact;
    let norm = asked.unwrap_or_else(|| if float { Norm::Lp(Rat::from(2)) } else { Norm::Sup });
    let mut candidates: Vec<Candidate> = Vec::new();
    for format in request.arithmetic.choices() {
        for positional in [false, true] {
            let outcome = sketch(request, &shape, &target, positional, format, &norm, eps.as_ref());
            candidates.push(Candidate { positional, format, outcome });
        }
    }
    // Those that serve: single precision before double, floats before exact numbers, then the fewest parameters. Those that do not: the
    // nearest first. Those that are not to be had: exact numbers first, whose reason is never a format.
    let class = |candidate: &Candidate| candidate.format.map_or(2, |format| format.precision as usize);
    let key = |candidate: &Candidate| match &candidate.outcome {
        Ok(sketch) if sketch.why_not.is_none() => (0, class(candidate), 0.0, sketch.size.parameters.clone()),
        Ok(sketch) => (1, 0, sketch.budget.bound, sketch.size.parameters.clone()),
        Err(_) => (2, 2 - class(candidate), 0.0, Int::ZERO),
    };
    candidates.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)).then(a.3.cmp(&b.3))
    });
    // A malformed request is malformed for every construction.
    if let Some(Err(error)) = candidates.first().map(|candidate| &candidate.outcome)
        && error.kind() == ErrorKind::Input
    {
        return Err(error.clone());
    }
    let baseline = baseline(&target, &shape, &norm);
    Ok(Plan { eps, norm, candidates, baseline, domain: domain_name(&shape, &request.options) })
}

fn sketch(
    request: &Request,
    shape: &Grid,
    target: &Arc<Target>,
    positional: bool,
    format: Option<Format>,
    norm: &Norm,
    eps: Option<&Rat>,
) -> Result<Sketch> {
    let options = Options { positional, ..request.options.clone() };
    let mut assumptions = assumptions(shape, target, &options, request.assume_equivariant)?;
    let lipschitz = request.tolerance.lipschitz.as_ref();
    yun::check_size(shape)?;
    let fixed = request.resolution.or(request.source.resolution());
    let coarse = match fixed {
        Some(resolution) => shape.with_resolution(resolution)?,
        None => coarsest(shape, positional)?,
    };
    let question = Question { target, grid: &coarse, positional, lipschitz };
    let (resolution, budget) = match (fixed, format) {
        (Some(resolution), Some(format)) => {
            let lowering = Lowering::derive(&coarse, target, &options, format)?;
            (resolution, lowered::bound(question, &lowering, norm)?)
        }
        (Some(resolution), None) => (resolution, bound(question, norm)?),
        (None, format) => match grid_for(question, &options, format, norm, eps.unwrap_or(&default_eps()))? {
            Found::Enough(resolution, budget) | Found::AtBest(resolution, budget) => (resolution, budget),
        },
    };
    let grid = shape.with_resolution(resolution)?;
    let (size, budget) = match format {
        None => (yun::build(&grid, target, &options)?.size(), budget),
        // What a packed network weighs and loses is known only once it has been made.
        Some(format) if format.hidden != Hidden::Literal => {
            let Some(Lowered { lowering, network }) = build(&grid, target, &options, Some(format))?.1 else {
                return Err(Error::declined("a float network was not made"));
            };
            (network.size(), lowered::bound(Question { grid: &grid, ..question }, &lowering, norm)?)
        }
        Some(format) => {
            let lowering = Lowering::derive(&grid, target, &options, format)?;
            (lower::literal_size(&lowering.exact(&grid, target)?), budget)
        }
    };
    if budget.bound.is_infinite() {
        let term = budget.dominant().map_or("a term", |term| &term.name);
        return Err(Error::declined(format!("no finite bound on the {norm} error is proved"))
            .note("term", format!("{term}, with {resolution} cells a side"))
            .note("try", "a coarser grid, or another precision"));
    }
    let outputs = Int::from(grid.tokens() * target.output_dims());
    let all = outputs * grid.points();
    let to_remember = if positional { all.clone() } else { all.div_rem(&Int::factorial(grid.tokens())).0 };
    assumptions.extend(budget.assumptions.iter().cloned());
    let missed = eps.filter(|eps| !budget.meets(eps));
    let why_not = missed.map(|eps| not_met(eps, &budget, resolution).to_string());
    let id_bits = yun::id_bits(&grid, &options);
    Ok(Sketch { resolution, size, id_bits, budget, assumptions, to_remember, residual_network: all, why_not })
}

impl Plan {
    /// The candidate that `build` would take.
    pub fn chosen(&self) -> Option<&Candidate> {
        self.candidates
            .first()
            .filter(|candidate| candidate.outcome.as_ref().is_ok_and(|sketch| sketch.why_not.is_none()))
    }

    /// The plan as JSON.
    pub fn to_json(&self) -> Value {
        let chosen = self.chosen().map(|candidate| {
            json!({"construction": "yun", "positional": candidate.positional, "precision": candidate.precision()})
        });
        let candidate = |candidate: &Candidate| {
            let mut row = json!({
                "construction": "yun",
                "positional": candidate.positional,
                "attention": candidate.attention(),
                "precision": candidate.precision(),
            });
            let more = match &candidate.outcome {
                Ok(sketch) => json!({
                    "meets_tolerance": sketch.why_not.is_none(),
                    "resolution": sketch.resolution,
                    "size": sketch.size,
                    "id_bits": sketch.id_bits,
                    "precision_needed": sketch.precision_needed(),
                    "error": {
                        "badge": "certified",
                        "norm": sketch.budget.norm.to_string(),
                        "domain": self.domain,
                        "bound": sketch.budget.bound,
                        "method": sketch.budget.method.name(),
                        "terms": sketch.budget.terms,
                        "assumptions": sketch.assumptions,
                        "baseline": {
                            "best_constant": self.baseline.map(|baseline| baseline.best_constant),
                            "within": self.baseline.map(|baseline| baseline.within),
                        },
                    },
                    "to_remember": sketch.to_remember,
                    "parameters_per_number": sketch.ratio(),
                    "residual_network": sketch.residual_network,
                    "why_not": sketch.why_not,
                }),
                Err(error) => json!({
                    "meets_tolerance": false,
                    "size": null,
                    "id_bits": null,
                    "error": null,
                    "why_not": error.to_string(),
                }),
            };
            if let (Some(row), Value::Object(more)) = (row.as_object_mut(), more) {
                row.extend(more);
            }
            row
        };
        json!({
            "eps": self.eps,
            "norm": self.norm.to_string(),
            "candidates": self.candidates.iter().map(candidate).collect::<Vec<_>>(),
            "chosen": chosen,
        })
    }
}
