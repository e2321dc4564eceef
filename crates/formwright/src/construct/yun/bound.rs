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
use crate::interval::{Interval, Up};

/// The certified `L^p` distance between the target and the float network, as it is executed.
pub(crate) fn bound(question: Question<'_>, lowering: &Lowering, norm: &Norm) -> Result<Budget> {
    let mut budget = bound_around(question, unserved(lowering), norm)?;
    if budget.method == Method::Uniform && !question.target.is_rational() {
        return Err(Error::declined("values that are not rational are certified cell by cell only")
            .note("limit", format!("{MOST_CELLS} cells; this grid has {}", question.grid.points()))
            .note("try", "a larger ⟨eps⟩, or a coarser ⟨resolution⟩"));
    }
    for term in losses(question, lowering, norm) {
        budget.add(term);
    }
    Ok(budget)
}

/// Its output on cells that it does not serve.
pub(crate) fn unserved(lowering: &Lowering) -> Unserved {
    let losses = &lowering.losses;
    let stray = if losses.ties_cleared { Up::ZERO } else { losses.height.into() };
    Unserved { value: Interval::from(&lowering.options.tuning.offset), stray }
}

/// The losses of the lowering alone: these terms grow with the grid.
pub(crate) fn losses(question: Question<'_>, lowering: &Lowering, norm: &Norm) -> Vec<Term> {
    let losses = &lowering.losses;
    let Norm::Lp(p) = norm else {
        // In the supremum norm there are bounds on integers only, where no point lies on a ramp.
        return vec![Term::new("rounding", losses.rounding)];
    };
    let exponent = Exponent::new(p);
    let grid = question.grid;
    let volume = Up::from(&(grid.high() - grid.low()).pow(grid.tokens() * grid.dims()));
    let entries = |count: usize| volume * Up::from(count);
    let all = entries(grid.tokens() * question.target.output_dims());
    [
        ("softmax", losses.softmax * exponent.root(entries(grid.tokens()))),
        ("bad set", exponent.root(losses.bad_share * all) * (Up::from(losses.spread) + Up::from(losses.height))),
        ("rounding", losses.rounding * exponent.root(all)),
    ]
    .map(|(name, bound)| Term::new(name, bound))
    .to_vec()
}
