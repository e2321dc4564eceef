//! Rows of a plan that are networks by cells: a lower bound of their weight, before they are looked at.
//!
//! A lattice network has a window, or a hidden unit, for each of its ids. Their number is a formula of the grid, which
//! bounds the parameters from below. It grows with the grid, so there is a finest grid that is still smaller than what serves
//! already. If no grid up to that one meets the tolerance, the row cannot win, and how fine a grid it takes need not be known.

use serde_json::{Value, json};

use crate::bound::piecewise::MOST_CELLS;
use crate::bound::{Norm, resolution};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::model::{Candidate, Scope, Sketch, Way};

/// The most inputs for which formulas are worked out: beyond, numbers are long, and such networks are declined for their
/// size anyway.
const MOST_INPUTS: usize = 4096;

/// A network by cells, seen from afar.
pub(crate) trait ByCells: Way {
    /// True if it is declined at once: in the supremum norm there are those on integers, where equal tokens are served.
    fn is_out(&self, scope: &Scope<'_>) -> bool {
        *scope.norm == Norm::Sup && (self.is_wrong_at_ties() || !scope.target.is_discrete())
    }

    /// The cells a side, where they are not to be found.
    fn fixed(&self, scope: &Scope<'_>) -> Option<u64> {
        scope.request.resolution()
    }

    /// True if it is wrong where two tokens share a cell.
    fn is_wrong_at_ties(&self) -> bool;

    /// The coarsest grid of a shape that is tried.
    fn coarsest(&self, shape: &Grid) -> Result<Grid>;

    /// A lower bound of its weight on a grid: its value map alone.
    fn least_on(&self, scope: &Scope<'_>, grid: &Grid) -> Int;

    /// True if it misses a tolerance on a grid, by its cells alone.
    fn misses(&self, scope: &Scope<'_>, grid: &Grid, eps: &Rat) -> Result<bool>;

    /// True if an exact network by the same cells misses it. Of grids with too many cells to be looked at one by one, a
    /// coarser one misses what a finer one misses.
    fn misses_exactly(&self, scope: &Scope<'_>, grid: &Grid, eps: &Rat) -> Result<bool>;
}

/// A lower bound of a row's weight, on the grid that is fixed, or on the coarsest; 0 if it is not known.
pub(crate) fn least(row: &impl ByCells, scope: &Scope<'_>) -> Int {
    first(row, scope).map_or(Int::ZERO, |grid| row.least_on(scope, &grid))
}

/// Checks that a row may serve with at most this weight. If not, returns the cells a side that this leaves room for.
pub(crate) fn may_serve(row: &impl ByCells, scope: &Scope<'_>, most: &Int) -> std::result::Result<(), u64> {
    let (Some(first), Some(eps), None) = (first(row, scope), scope.eps, row.fixed(scope)) else {
        return Ok(());
    };
    let room = |side: u64| scope.shape.with_resolution(side).is_ok_and(|grid| row.least_on(scope, &grid) <= *most);
    let mut too_fine = 2 * first.resolution();
    while room(too_fine) {
        too_fine *= 2;
    }
    let Some(finest) = resolution::last(first.resolution(), too_fine, room) else { return Err(first.resolution()) };
    let serves = |side: u64| {
        let Ok(grid) = scope.shape.with_resolution(side) else { return false };
        // Where nothing is proved, nothing is met.
        row.misses(scope, &grid, eps).is_ok_and(|misses| !misses)
    };
    let few = |side: u64| scope.shape.with_resolution(side).is_ok_and(|grid| grid.points() <= Int::from(MOST_CELLS));
    let last_by_cells = resolution::last(first.resolution(), finest, few);
    // Beyond, one formula is for all grids, and there may be as many as there are bytes.
    let uniformly = last_by_cells.is_none_or(|last| last < finest);
    let may_uniformly = || {
        let grid = scope.shape.with_resolution(finest);
        grid.is_ok_and(|grid| row.misses_exactly(scope, &grid, eps).is_ok_and(|misses| !misses))
    };
    let by_cells = || last_by_cells.is_some_and(|last| (first.resolution()..=last).any(serves));
    if uniformly && may_uniformly() || by_cells() { Ok(()) } else { Err(finest) }
}

/// True if none of these rows can come before what serves already, by their least weights.
pub(crate) fn none_wins(rows: &[impl ByCells], scope: &Scope<'_>, looked_at: &[Candidate]) -> bool {
    let serving = looked_at.iter().filter(|candidate| candidate.serves());
    let Some(weight) = serving.filter_map(Candidate::bytes).min() else { return false };
    let floats = rows.iter().filter(|row| row.floats().is_some());
    floats.into_iter().all(|row| row.is_out(scope) || least(row, scope) >= weight)
}

/// The grid that is fixed, or the first that is tried; `None` where the row is declined at once.
fn first(row: &impl ByCells, scope: &Scope<'_>) -> Option<Grid> {
    let shape = scope.shape;
    if row.is_out(scope) || shape.tokens().saturating_mul(shape.dims()) > MOST_INPUTS {
        return None;
    }
    match row.fixed(scope) {
        Some(resolution) => shape.with_resolution(resolution).ok(),
        None => row.coarsest(shape).ok(),
    }
}

/// Adds to the row of a plan in JSON what its cells are.
pub(crate) fn describe(sketch: &Sketch, row: &mut Value) {
    let Some(cells) = sketch.cells() else { return };
    row["precision_needed"] = json!(cells.precision_needed());
    row["to_remember"] = json!(cells.to_remember);
    row["parameters_per_number"] = json!(sketch.ratio());
    row["residual_network"] = json!(cells.residual_network);
}
