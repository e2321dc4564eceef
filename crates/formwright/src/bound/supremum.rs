//! A bound in the supremum norm gives one in the others: `‖f‖_p ≤ (V e)^{1/p} · sup |f|` on a box of volume `V`, for
//! `e` output entries.

use super::norm::Exponent;
use super::{Budget, Norm, Term};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Up;
use crate::lattice::Grid;
use crate::target::Target;

/// The largest factor of a supremum; 1 in the supremum norm.
pub(crate) fn factor(norm: &Norm, grid: &Grid, target: &Target) -> Result<Up> {
    let Norm::Lp(p) = norm else { return Ok(Up::ONE) };
    if target.is_discrete() {
        return Err(Error::declined("on an integer domain there is nothing to integrate over")
            .note("reason", "an L^p error is taken over a box; on integers every point counts")
            .note("try", "⟨norm=sup⟩, or leave out ⟨norm⟩"));
    }
    let volume = Up::from(&(grid.high() - grid.low()).pow(grid.tokens() * grid.dims()));
    Ok(Exponent::new(p).root(volume * Up::from(grid.tokens() * target.output_dims())))
}

/// The error in the supremum norm that keeps `factor` times it below `eps`; never more than `eps`, however small the box.
pub(crate) fn allowed(eps: &Rat, factor: Up) -> Result<Rat> {
    if factor <= 1.0 {
        return Ok(eps.clone());
    }
    let factor = Rat::from_f64(factor.get()).ok_or_else(|| {
        Error::declined("the volume of the box is beyond every float")
            .note("reason", "an error in the supremum norm is multiplied by a power of the volume")
            .note("try", "⟨norm=sup⟩")
    })?;
    // A little less, so that the product, rounded up, is still below.
    Ok(eps * &Rat::new((1_u64 << 40) - 1, 1_u64 << 40) / factor)
}

/// A bound in the supremum norm, in another.
pub(crate) fn in_norm(budget: &Budget, norm: &Norm, factor: Up) -> Budget {
    let terms = budget.terms.iter().map(|term| Term::new(term.name.clone(), Up::from(term.bound) * factor)).collect();
    Budget { norm: norm.clone(), bound: (Up::from(budget.bound) * factor).get(), terms, ..budget.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::Method;
    use super::*;
    use crate::interval::Interval;
    use crate::target::Source;

    #[test]
    fn what_is_allowed_in_the_supremum_norm_is_enough_in_others() {
        let target = Source::expression("x", "x on [0, 3]").and_then(|source| source.target(2)).expect("a target");
        let grid = Grid::new(3, 2, 2, Rat::ZERO, Rat::from(3)).expect("a grid");
        for (name, expected) in
            [("sup", 1.0), ("l1", 4374.0), ("l2", 4374_f64.sqrt()), ("lp:3/2", 4374_f64.cbrt().powi(2))]
        {
            let norm: Norm = name.parse().expect("a norm");
            let factor = factor(&norm, &grid, &target).expect("a factor");
            let close = (expected * (1.0 - 1e-15)..=expected * (1.0 + 1e-12)).contains(&factor.get());
            assert!(close, "{name}: {factor:?}");
            for eps in [Rat::new(1, 100), Rat::new(1, 3), Rat::from(7)] {
                let sup = Interval::from(&allowed(&eps, factor).expect("a number")).lo();
                let budget = Budget {
                    norm: Norm::Sup,
                    bound: sup,
                    terms: vec![Term::new("all", sup)],
                    method: Method::GateWise,
                    assumptions: Vec::new(),
                };
                let there = in_norm(&budget, &norm, factor);
                assert!(there.meets(&eps) && there.norm == norm, "{name}: {}", there.bound);
                assert!(there.bound > eps.to_f64() * (1.0 - 1e-11), "{name}: nothing is given away");
            }
        }
    }

    #[test]
    fn boxes_that_are_too_large_and_integers_are_declined() {
        let norm: Norm = "l2".parse().expect("a norm");
        let target = |text: &str| Source::expression(text, text).and_then(|source| source.target(1)).expect("a target");
        let vast = Grid::new(600, 1, 2, Rat::ZERO, Rat::from(4)).expect("a grid");
        let factor = factor(&norm, &vast, &target("x on [0, 4]")).expect("a factor");
        assert!(allowed(&Rat::ONE, factor).is_err(), "{factor:?}");
        let integers = Grid::new(2, 1, 4, Rat::new(-1, 2), Rat::new(7, 2)).expect("a grid");
        assert!(super::factor(&norm, &integers, &target("x on integers 0..4")).is_err());
    }
}
