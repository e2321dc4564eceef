//! The grid for a tolerance.
//!
//! The bound falls as the grid gets finer, up to the roughness of interval arithmetic: doubling finds a grid that is fine enough, bisection
//! the smallest between it and the last one that was not. (One cell fewer is then not enough; that no much coarser grid happens to be is
//! not excluded.) A grid on which nothing is proved is not fine enough.

use super::piecewise::{Question, bound};
use super::{Budget, Norm};
use crate::error::{Error, Result};
use crate::exact::Rat;

/// The finest grid that is tried.
const FINEST: u64 = 1 << 40;

/// What was found.
#[derive(Clone, Debug)]
pub enum Found {
    /// This many cells a side are enough, with this bound.
    Enough(u64, Budget),
    /// No grid that was tried is enough; the cells a side and the bound of the best.
    AtBest(u64, Budget),
}

/// The smallest resolution, from that of the question's grid on, whose bound is at most `eps`.
pub fn smallest(question: Question<'_>, norm: &Norm, eps: &Rat) -> Result<Found> {
    let shape = question.grid;
    let budget = |resolution: u64| bound(Question { grid: &shape.with_resolution(resolution)?, ..question }, norm);
    let mut best: Result<(u64, Budget)> = Err(Error::declined("no grid was tried"));
    let (mut failed, mut resolution) = (shape.resolution() - 1, shape.resolution());
    let mut found = loop {
        match budget(resolution) {
            Ok(found) if found.meets(eps) => break found,
            Ok(found) if best.as_ref().is_ok_and(|(_, best)| best.bound <= found.bound) => {}
            Ok(found) => best = Ok((resolution, found)),
            Err(error) if best.is_err() => best = Err(error),
            Err(_) => {}
        }
        if resolution >= FINEST {
            return best.map(|(resolution, budget)| Found::AtBest(resolution, budget));
        }
        failed = resolution;
        resolution = (2 * resolution).min(FINEST);
    };
    while failed + 1 < resolution {
        let middle = failed + (resolution - failed) / 2;
        match budget(middle) {
            Ok(tried) if tried.meets(eps) => (resolution, found) = (middle, tried),
            _ => failed = middle,
        }
    }
    Ok(Found::Enough(resolution, found))
}
