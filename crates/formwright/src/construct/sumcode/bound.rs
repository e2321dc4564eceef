//! The budget of a sum of codes: cells, ramps, rounding. There are no duplicates to pay for, and no temperature.
//!
//! ```text
//! cells       the piecewise constant term of `piecewise.rs`, every cell being served
//! ramps       (V e share)^{1/p} · (spread + height)
//! rounding    (V e)^{1/p} · rounding
//! ```
//!
//! On integers every point is the centre of a cell and lies on no ramp: what is left, in the supremum norm, is the rounding.

use super::lower::Losses;
use crate::bound::norm::Exponent;
use crate::bound::piecewise::{MOST_CELLS, Question, Unserved, bound_around};
use crate::bound::{Budget, Method, Norm, Term};
use crate::error::{Error, Result};
use crate::interval::Up;

/// The certified distance between the target and a network; exact if nothing is lost.
pub(crate) fn bound(question: Question<'_>, losses: Option<&Losses>, norm: &Norm) -> Result<Budget> {
    if *norm == Norm::Sup && !question.target.is_discrete() {
        return Err(no_supremum());
    }
    let mut budget = bound_around(Question { positional: true, ..question }, Unserved::ZERO, norm)?;
    if losses.is_some() && budget.method == Method::Uniform && !question.target.is_rational() {
        return Err(Error::declined("values that are not rational are certified cell by cell only")
            .note("limit", format!("{MOST_CELLS} cells; this grid has {}", question.grid.points()))
            .note("try", "a larger ⟨eps⟩, or a coarser ⟨resolution⟩"));
    }
    for term in &mut budget.terms {
        term.name = "cells".into();
    }
    for term in losses.map(|losses| terms(question, losses, norm)).unwrap_or_default() {
        budget.add(term);
    }
    Ok(budget)
}

/// Why there is nothing to claim in the supremum norm on a box.
pub(crate) fn no_supremum() -> Error {
    Error::declined("a sum of codes is certified in L^p, not in the supremum norm")
        .note(
            "reason",
            "a continuous code of one number cannot tell all multisets apart: with n = 3 and f(X)_i = |x_j - x_k| of the \
             other two, some t has 2φ(t) = φ(0) + φ(1), the contexts {0, 1} and {t, t} have one sum, and the error is 1/2 \
             or more at one of them (formwright theorems questions)",
        )
        .note("try", "⟨construction=median⟩, which takes several grids; or ⟨norm=l2⟩")
}

/// The losses of floats alone: these terms grow with the grid.
pub(crate) fn terms(question: Question<'_>, losses: &Losses, norm: &Norm) -> Vec<Term> {
    let Norm::Lp(p) = norm else { return vec![Term::new("rounding", losses.rounding)] };
    let (exponent, grid) = (Exponent::new(p), question.grid);
    let volume = Up::from(&(grid.high() - grid.low()).pow(grid.tokens() * grid.dims()));
    let all = volume * Up::from(grid.tokens() * question.target.output_dims());
    let off = Up::from(losses.spread) + Up::from(losses.height);
    vec![
        Term::new("ramps", exponent.root(losses.bad_share * all) * off),
        Term::new("rounding", losses.rounding * exponent.root(all)),
    ]
}
