//! The error of the best constant output: what a bound has to beat to mean anything.
//!
//! For each output entry the constant `c` that minimises `∫|f_ij - c|^p`. It is computed for the piecewise constant `f̄` of a coarse grid and
//! lies within `‖f - f̄‖_p` of the truth, by the triangle inequality: both ends are given.

use super::norm::{Exponent, add_up, mul_up};
use super::piecewise::{self, Question};
use super::{Norm, Term};
use crate::error::Result;
use crate::lattice::Grid;
use crate::target::Target;

/// The most cells of the grid on which it is computed.
const MOST_CELLS: u64 = 4096;

/// The error of the best constant, and what is proved of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// For the piecewise constant function.
    pub best_constant: f64,
    /// The true value lies within this distance.
    pub within: f64,
}

/// The baseline of a target on the box of a grid.
pub fn baseline(target: &Target, grid: &Grid, norm: &Norm) -> Result<Option<Baseline>> {
    let Norm::Lp(p) = norm else { return Ok(None) };
    let inputs = u32::try_from(grid.tokens() * grid.dims()).unwrap_or(u32::MAX);
    let Some(cells) = target.grid_resolution().or_else(|| {
        (2..=64).rev().find(|side: &u64| side.checked_pow(inputs).is_some_and(|cells| cells <= MOST_CELLS))
    }) else {
        return Ok(None);
    };
    let coarse = grid.with_resolution(cells)?;
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for point in coarse.all_points() {
        let values = target.evaluate_f64(&coarse.centre(&point))?;
        columns.resize(values.len(), Vec::new());
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }
    let p_float = p.to_f64();
    #[expect(clippy::cast_precision_loss, reason = "a few thousand cells")]
    let mean_power =
        |values: &[f64], c: f64| values.iter().map(|v| (v - c).abs().powf(p_float)).sum::<f64>() / values.len() as f64;
    let total: f64 =
        columns.iter().map(|values| mean_power(values, best_constant(values, |c| mean_power(values, c)))).sum();
    let exponent = Exponent::new(p);
    let span = (grid.high() - grid.low()).to_f64().powi(i32::try_from(inputs).unwrap_or(i32::MAX));
    let question = Question { target, grid: &coarse, positional: true, lipschitz: None };
    let within = piecewise::bound(question, norm)?.bound;
    Ok(Some(Baseline { best_constant: exponent.root(mul_up(total, span)), within: add_up(within, 0.0) }))
}

/// The minimiser of a convex function between the smallest and the largest value, by ternary search.
fn best_constant(values: &[f64], cost: impl Fn(f64) -> f64) -> f64 {
    let mut low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let mut high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..100 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if cost(a) <= cost(b) { high = b } else { low = a }
    }
    f64::midpoint(low, high)
}

/// The baseline as a term beside others.
impl From<Baseline> for Term {
    fn from(baseline: Baseline) -> Self {
        Self { name: "best constant", bound: baseline.best_constant }
    }
}
