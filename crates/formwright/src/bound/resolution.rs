//! The smallest grid that meets a tolerance.
//!
//! The bound falls as the grid gets finer, up to the roughness of interval arithmetic: doubling finds a grid that is fine enough,
//! bisection the smallest between it and the last one that was not.

use super::piecewise::{Question, bound};
use super::{Budget, Norm};
use crate::error::Result;
use crate::exact::Rat;

/// The finest grid that is tried.
const FINEST: u64 = 1 << 40;

/// What was found.
#[derive(Clone, Debug)]
pub enum Found {
    /// This many cells a side are enough, with this bound.
    Enough(u64, Budget),
    /// Not even the finest grid that was tried is enough; its cells a side and its bound.
    NotEvenAt(u64, Budget),
}

/// The smallest resolution, from that of the question's grid on, whose bound is at most `eps`.
pub fn smallest(question: Question<'_>, norm: &Norm, eps: &Rat) -> Result<Found> {
    let shape = question.grid;
    let budget = |resolution: u64| bound(Question { grid: &shape.with_resolution(resolution)?, ..question }, norm);
    let meets = |budget: &Budget| Rat::from_f64(budget.bound).is_some_and(|bound| bound <= *eps);
    let mut resolution = shape.resolution();
    let mut failed = resolution - 1;
    let mut found = budget(resolution)?;
    while !meets(&found) {
        if resolution >= FINEST {
            return Ok(Found::NotEvenAt(resolution, found));
        }
        failed = resolution;
        resolution *= 2;
        found = budget(resolution)?;
    }
    while failed + 1 < resolution {
        let middle = failed + (resolution - failed) / 2;
        let tried = budget(middle)?;
        if meets(&tried) {
            (resolution, found) = (middle, tried);
        } else {
            failed = middle;
        }
    }
    Ok(Found::Enough(resolution, found))
}
