//! Sums of codes in a plan: built, since that is what it takes to know what their floats lose.

use std::sync::Arc;

use super::{Cells, More, Sketch};
use crate::bound::Norm;
use crate::bound::piecewise::Question;
use crate::bound::resolution::Found;
use crate::bound::sum_code as bound;
use crate::compile::lattice::{domain_name, not_met};
use crate::compile::{Construction, Request, sum_code};
use crate::construct::sumcode::{self, Family};
use crate::construct::yun::Options;
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::lower::Format;
use crate::network::FloatNetwork;
use crate::target::Target;

/// The sums of codes to look at: the one that was asked for; else both, with positions only where the target needs them. In the supremum norm on a box
/// there is none, for the reason that lattice networks tell.
pub(super) fn to_look_at(request: &Request, target: &Target, norm: &Norm) -> Vec<sumcode::Options> {
    match request.construction {
        Some(Construction::SumCode(asked)) => return vec![sum_code::options(request, asked)],
        Some(_) => return Vec::new(),
        None if *norm == Norm::Sup && !target.is_discrete() => return Vec::new(),
        None => {}
    }
    let families =
        [Family::SumCode, Family::Sumformer].map(|family| sum_code::options(request, sumcode::Options::of(family)));
    if target.is_equivariant() || request.assume_equivariant {
        families.to_vec()
    } else {
        vec![sumcode::Options { positional: true, ..families[0] }]
    }
}

/// All that [`to_look_at`] may give.
pub(super) fn any(request: &Request) -> Vec<sumcode::Options> {
    match request.construction {
        Some(Construction::SumCode(asked)) => vec![sum_code::options(request, asked)],
        Some(_) => Vec::new(),
        None => {
            let of = |family| sum_code::options(request, sumcode::Options::of(family));
            let positional = sumcode::Options { positional: true, ..of(Family::SumCode) };
            vec![of(Family::SumCode), of(Family::Sumformer), positional]
        }
    }
}

/// One of them.
pub(super) fn sketch(
    request: &Request,
    shape: &Grid,
    target: &Arc<Target>,
    options: &sumcode::Options,
    format: Option<Format>,
    norm: &Norm,
    eps: Option<&Rat>,
) -> Result<Sketch> {
    if let Some(refusal) = sum_code::refusal(request, options) {
        return Err(refusal);
    }
    let (lipschitz, precision) = (request.tolerance.lipschitz.as_ref(), format.map(|format| format.precision));
    if *norm == Norm::Sup && !target.is_discrete() {
        return Err(bound::no_supremum());
    }
    let mut assumptions = sum_code::assumptions(shape, target, options, request.assume_equivariant)?;
    let resolution = match (request.resolution(), eps) {
        (Some(resolution), _) => resolution,
        (None, Some(eps)) => match sum_code::grid_for(target, shape, lipschitz, options, precision, norm, eps)? {
            Found::Enough(resolution, _) | Found::AtBest(resolution, _) => resolution,
        },
        (None, None) => return Err(Error::input("there is no --resolution and no --eps")),
    };
    let grid = shape.with_resolution(resolution)?;
    let built = sum_code::build(&grid, target, options, precision)?;
    let question = Question { target, grid: &grid, positional: true, lipschitz };
    let losses = built.lowered.as_ref().map(|lowered| &lowered.lowering.losses);
    let budget = bound::bound(question, losses, norm)?;
    if budget.bound.is_infinite() {
        return Err(Error::declined(format!("no finite bound on the {norm} error is proved"))
            .note("try", "a coarser grid, or another precision"));
    }
    let all = Int::from(grid.tokens() * target.output_dims()) * grid.points();
    let to_remember = if options.positional { all.clone() } else { all.div_rem(&Int::factorial(grid.tokens())).0 };
    assumptions.extend(budget.assumptions.iter().cloned());
    let missed = eps.filter(|eps| !budget.meets(eps));
    let why_not = missed.map(|eps| not_met(eps, &budget, resolution));
    let size = built.float().map_or_else(|| built.network.size(), FloatNetwork::size);
    let id_bits = built.id_bits;
    let built = Some(Arc::new(built));
    let more = More::Cells(Cells { resolution, id_bits, to_remember, residual_network: all, built });
    let domain = domain_name(target, &grid, &Options::default(), None);
    Ok(Sketch { size, budget, domain, assumptions, why_not, more })
}
