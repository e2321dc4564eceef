//! The budget of a float network: that of the exact one, and what the lowering adds.
//!
//! On the *good set* no coordinate lies on a ramp and the float network differs from the exact one, entry by entry, by what softmax and
//! rounding lose. On the *bad set*, a share of every cell, all that is known is that the clip holds. With `V` the volume of the box and
//! `e` entries of an output, Minkowski's inequality adds up
//!
//! ```text
//! softmax     (V n)^{1/p} · drift                           in the first row only
//! bad set     (V e share)^{1/p} · (spread + height)
//! rounding    (V e)^{1/p} · rounding
//! ```

use super::lower::Lowering;
use crate::bound::norm::Exponent;
use crate::bound::piecewise::{MOST_CELLS, Question, Unserved, bound_around};
use crate::bound::{Budget, Method, Norm, Term};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::{Interval, add_up, mul_up};

/// The certified `L^p` distance between the target and the float network, as it is executed.
pub fn bound(question: Question<'_>, lowering: &Lowering, norm: &Norm) -> Result<Budget> {
    let mut budget = bound_around(question, unserved(lowering), norm)?;
    if budget.method == Method::Uniform && !question.target.is_rational() {
        return Err(Error::declined("values that are not rational are certified cell by cell only")
            .note("limit", format!("{MOST_CELLS} cells; this grid has {}", question.grid.points()))
            .note("try", "a larger --eps, or a coarser --resolution"));
    }
    for term in losses(question, lowering, norm) {
        budget.bound = add_up(budget.bound, term.bound);
        budget.terms.push(term);
    }
    Ok(budget)
}

/// What it gives on cells that it does not serve.
pub fn unserved(lowering: &Lowering) -> Unserved {
    let losses = &lowering.losses;
    let stray = if losses.ties_cleared { 0.0 } else { losses.height };
    Unserved { value: Interval::from(&lowering.options.tuning.offset), stray }
}

/// What the lowering alone loses: these terms grow with the grid.
pub fn losses(question: Question<'_>, lowering: &Lowering, norm: &Norm) -> Vec<Term> {
    let losses = &lowering.losses;
    let Norm::Lp(p) = norm else {
        // In the supremum norm there are bounds on integers only, where no point lies on a ramp.
        return vec![Term::new("rounding", losses.rounding)];
    };
    let exponent = Exponent::new(p);
    let grid = question.grid;
    let volume = Interval::from(&(grid.high() - grid.low()).pow(grid.tokens() * grid.dims())).hi();
    let entries = |count: usize| mul_up(volume, Interval::from(&Rat::from(count)).hi());
    let all = entries(grid.tokens() * question.target.output_dims());
    [
        ("softmax", mul_up(exponent.root(entries(grid.tokens())), losses.softmax)),
        ("bad set", mul_up(exponent.root(mul_up(all, losses.bad_share)), add_up(losses.spread, losses.height))),
        ("rounding", mul_up(exponent.root(all), losses.rounding)),
    ]
    .map(|(name, bound)| Term::new(name, bound))
    .to_vec()
}
