//! Lemma 8: the piecewise constant `f̄`.
//!
//! `f̄(X) = f(C_L)` on the cell of the grid point `L`, `C_L` the cell's centre. A permutation of the columns of `L` permutes those of
//! `C_L`, so `f̄` is equivariant if `f` is. Each output entry is off by at most the modulus of continuity at half a cell's side.
//! (The paper uses the modulus at the whole side.)
//!
//! A network stores `A_L = N · f(C_L)`: integer units, like the rest of its residual stream.

use crate::error::Result;
use crate::exact::Rat;
use crate::lattice::Grid;
use crate::network::Sequence;
use crate::target::Target;

/// `f(C_L)`, in the target's units: exactly, or for floats `near` it where it is irrational.
pub(crate) fn value_at_centre(target: &Target, grid: &Grid, point: &[Vec<u64>], near: bool) -> Result<Sequence> {
    let centre = grid.centre(point);
    if near { target.evaluate_near(&centre) } else { target.evaluate(&centre) }
}

/// `A_L = N · (f(C_L) - offset)`, divided by `2^exponent`.
pub(crate) fn stored_value(
    target: &Target,
    grid: &Grid,
    point: &[Vec<u64>],
    offset: &Rat,
    exponent: usize,
    near: bool,
) -> Result<Sequence> {
    let scale = Rat::from(grid.resolution()) / Rat::from(2).pow(exponent);
    let value = value_at_centre(target, grid, point, near)?;
    Ok(value.into_iter().map(|token| token.into_iter().map(|y| (y - offset) * &scale).collect()).collect())
}
