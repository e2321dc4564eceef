//! The error of the best constant output: what a bound has to beat to mean anything.
//!
//! For each output entry the constant `c` that minimises `∫|f_ij - c|^p`. It is a number to compare with, not a claim: computed in floats for
//! the piecewise constant `f̄` of a coarse grid. By the triangle inequality the truth is within `‖f - f̄‖_p` of it, rounding aside. In the
//! supremum norm the best constant is the middle of an entry's values, and off by half of their spread: at least what is found at some
//! points, at most what is proved of the target's range.

use super::Norm;
use super::ascent::starts;
use super::piecewise::{self, Question};
use crate::exact::Rat;
use crate::lattice::Grid;
use crate::target::Target;

/// The most cells of the grid on which it is computed.
const MOST_CELLS: u64 = 4096;

/// The error of the best constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Baseline {
    /// For the piecewise constant function; in the supremum norm, at the points that were looked at.
    pub best_constant: f64,
    /// How far the truth can be from that.
    pub within: f64,
}

/// The baseline of a target on the box of a grid; `None` where it cannot be had: for too many inputs, for values that no float
/// holds, or where nothing is proved on a coarse grid.
pub(crate) fn baseline(target: &Target, grid: &Grid, norm: &Norm) -> Option<Baseline> {
    let Norm::Lp(p) = norm else { return in_sup(target, grid) };
    let inputs = u32::try_from(grid.tokens() * grid.dims()).ok()?;
    let affordable = |side: &u64| side.checked_pow(inputs).is_some_and(|cells| cells <= MOST_CELLS);
    let cells = target.grid_resolution().or_else(|| (2..=64).rev().find(affordable))?;
    let coarse = grid
        .with_resolution(cells)
        .ok()
        .filter(|coarse| coarse.points().to_u64().is_some_and(|n| n <= piecewise::MOST_CELLS))?;
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for point in coarse.all_points() {
        let centre: Vec<Vec<f64>> =
            coarse.centre(&point).iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
        let values = target.evaluate_f64(&centre).ok()?;
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        columns.resize(values.len(), Vec::new());
        for (column, value) in columns.iter_mut().zip(values) {
            column.push(value);
        }
    }
    let p = p.to_f64();
    let distances: Vec<f64> = columns.iter().map(|values| best_distance(values, p)).collect();
    let span = (grid.high() - grid.low()).to_f64();
    let volume_root = span.powf(f64::from(inputs) / p);
    let question = Question { target, grid: &coarse, positional: true, lipschitz: None };
    let within = piecewise::bound(question, norm).ok()?.bound;
    let best_constant = mean_root(&distances, p) * root_of_count(distances.len(), p) * volume_root;
    (best_constant.is_finite() && within.is_finite()).then_some(Baseline { best_constant, within })
}

/// The points at which a spread is looked for: fewer, if one of them takes long.
const SPREAD_POINTS: usize = 512;

/// The steps that this may take.
const SPREAD_STEPS: u128 = 1 << 24;

/// Half of the largest spread of an output entry.
fn in_sup(target: &Target, grid: &Grid) -> Option<Baseline> {
    let mut spreads: Vec<(f64, f64)> = Vec::new();
    let affordable = usize::try_from(SPREAD_STEPS / target.steps(grid.tokens()).max(1)).unwrap_or(usize::MAX);
    for x in starts(target, grid, affordable.clamp(4, SPREAD_POINTS)) {
        let values = target.evaluate_f64(&x).ok()?;
        spreads.resize(values.len(), (f64::INFINITY, f64::NEG_INFINITY));
        for (spread, value) in spreads.iter_mut().zip(values) {
            *spread = (spread.0.min(value), spread.1.max(value));
        }
    }
    let best_constant = spreads.iter().map(|(low, high)| (high - low) / 2.0).fold(0.0, f64::max);
    let (low, high) = target.range_near(grid.tokens()).ok()?;
    let within = ((high - low).to_f64() / 2.0 - best_constant).max(0.0);
    (best_constant.is_finite() && within.is_finite()).then_some(Baseline { best_constant, within })
}

/// `(mean |v|^p)^{1/p}`, scaled by the largest entry so that powers neither overflow nor vanish.
fn mean_root(values: &[f64], p: f64) -> f64 {
    let largest = values.iter().fold(0.0_f64, |largest, v| largest.max(v.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let sum: f64 = values.iter().map(|v| (v.abs() / largest).powf(p)).sum();
    largest * sum.powf(1.0 / p) / root_of_count(values.len(), p)
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand entries")]
fn root_of_count(count: usize, p: f64) -> f64 {
    (count as f64).powf(1.0 / p)
}

/// The smallest `(mean |v - c|^p)^{1/p}` over all `c`: a convex function of `c`, by ternary search.
fn best_distance(values: &[f64], p: f64) -> f64 {
    let cost = |c: f64| mean_root(&values.iter().map(|v| v - c).collect::<Vec<f64>>(), p);
    let mut low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let mut high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..100 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if cost(a) <= cost(b) { high = b } else { low = a }
    }
    cost(f64::midpoint(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Source;

    #[test]
    fn the_best_constant_is_mean_median_or_middle() {
        let values = [0.0, 0.0, 0.0, 1.0];
        assert!((best_distance(&values, 2.0) - 0.1875_f64.sqrt()).abs() < 1e-9, "the mean");
        assert!((best_distance(&values, 1.0) - 0.25).abs() < 1e-9, "the median");
        let far = best_distance(&[0.0, 0.1], 300.0);
        assert!((far - 0.05).abs() < 1e-9, "no underflow: {far}");
    }

    #[test]
    fn in_the_supremum_norm_it_is_half_of_the_spread() {
        let baseline_of = |text: &str| {
            let target = Source::expression(text, text).and_then(|source| source.target(1)).expect(text);
            baseline(&target, &Grid::unit(3, 1, 2).expect("a grid"), &Norm::Sup).expect(text)
        };
        let Baseline { best_constant, within } = baseline_of("x - mean(x)");
        assert!(
            (best_constant - 2.0 / 3.0).abs() < 1e-12 && (best_constant + within) < 1.01,
            "{best_constant} ± {within}"
        );
        let known = baseline_of("i + x on [0, 1/2]");
        assert!((known.best_constant - 0.5).abs() < 1e-12, "each token has a constant of its own: {known:?}");
    }

    #[test]
    fn values_that_no_float_holds_have_none() {
        let baseline_of = |text: &str| {
            let target = Source::expression(text, text).and_then(|source| source.target(1)).expect(text);
            baseline(&target, &Grid::unit(2, 1, 2).expect("a grid"), &"l2".parse().expect("a norm"))
        };
        assert!(baseline_of("x").is_some());
        assert_eq!(baseline_of("10^400 * x"), None);
        assert_eq!(baseline_of("1 / (x - 1/2)"), None);
    }
}
