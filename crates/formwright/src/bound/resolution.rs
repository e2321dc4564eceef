//! The grid for a tolerance.
//!
//! The bound falls as the grid gets finer, roughly like a power of the resolution: doubling finds a grid that is fine enough, and
//! interpolation between it and the last one that was not (on logarithms, where a power is a line) finds the smallest. One cell fewer is
//! then not enough. Where all coarser grids together have few cells they are tried as well; beyond, that a much coarser one happens to be
//! enough, by a bound that is not monotone, is not excluded. A grid on which nothing is proved is not fine enough.

use std::ops::RangeInclusive;

use super::piecewise::{MOST_CELLS, Question, bound};
use super::{Budget, Norm};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;

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
    let budget = |grid: &Grid| bound(Question { grid, ..question }, norm);
    search(question.grid, FINEST, eps, budget)
}

/// The smallest resolution, from that of `shape` to `finest`, whose budget is at most `eps`.
pub fn search(shape: &Grid, finest: u64, eps: &Rat, budget: impl Fn(&Grid) -> Result<Budget>) -> Result<Found> {
    let budget = |resolution: u64| budget(&shape.with_resolution(resolution)?);
    // Where all grids together have few cells, each is tried: a bound need not be monotone.
    if affordable(shape, finest) {
        let mut best: Result<(u64, Budget)> = Err(Error::declined("no grid was tried"));
        for resolution in shape.resolution()..=finest {
            match budget(resolution) {
                Ok(tried) if tried.meets(eps) => return Ok(Found::Enough(resolution, tried)),
                Ok(tried) if best.as_ref().is_ok_and(|(_, best)| best.bound <= tried.bound) => {}
                Ok(tried) => best = Ok((resolution, tried)),
                Err(error) => best = best.or(Err(error)),
            }
        }
        return best.map(|(resolution, budget)| Found::AtBest(resolution, budget));
    }
    // The finest grid that failed, with its bound; the best budget so far, or why there is none.
    let mut failed = (shape.resolution() - 1, f64::INFINITY);
    let mut best: Result<(u64, Budget)> = Err(Error::declined("no grid was tried"));
    let mut resolution = shape.resolution();
    let mut found = loop {
        match budget(resolution) {
            Ok(tried) if tried.meets(eps) => break tried,
            Ok(tried) => {
                failed = (resolution, tried.bound);
                if best.as_ref().is_ok_and(|(_, best)| best.bound <= tried.bound) {
                    // Finer and no better: a jump that only cells one by one can see.
                } else {
                    best = Ok((resolution, tried));
                }
            }
            Err(error) => {
                failed = (resolution, f64::INFINITY);
                best = best.or(Err(error));
            }
        }
        if resolution >= finest {
            return best.map(|(resolution, budget)| Found::AtBest(resolution, budget));
        }
        resolution = (2 * resolution).min(finest);
    };
    // A guess, its neighbour on the other side of the answer, and if these do not settle it, halves.
    let guess = interpolate(failed, (resolution, found.bound), eps.to_f64());
    let mut tries = 0;
    let mut next = guess;
    while failed.0 + 1 < resolution {
        let tried = next.clamp(failed.0 + 1, resolution - 1);
        match budget(tried) {
            Ok(better) if better.meets(eps) => {
                (resolution, found) = (tried, better);
                next = tried - 1;
            }
            worse => {
                failed = (tried, worse.map_or(f64::INFINITY, |worse| worse.bound));
                next = tried + 1;
            }
        }
        tries += 1;
        if tries > 1 {
            next = u64::midpoint(failed.0, resolution);
        }
    }
    if affordable(shape, resolution) {
        for coarser in shape.resolution()..resolution {
            if let Ok(better) = budget(coarser)
                && better.meets(eps)
            {
                return Ok(Found::Enough(coarser, better));
            }
        }
    }
    Ok(Found::Enough(resolution, found))
}

/// The last of `from..=to` of which `holds` is true, if it is true of a first part of them and false of the rest.
pub fn last(from: u64, to: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(from) {
        return None;
    }
    let (mut yes, mut no) = (from, to + 1);
    while yes + 1 < no {
        let middle = u64::midpoint(yes, no);
        if holds(middle) { yes = middle } else { no = middle }
    }
    Some(yes)
}

/// The resolution with the least bound, for budgets that first fall and then rise: by thirds.
pub fn least(shape: &Grid, finest: u64, eps: &Rat, budget: impl Fn(&Grid) -> Result<Budget>) -> Result<Found> {
    let budget = |resolution: u64| budget(&shape.with_resolution(resolution)?);
    let bound = |resolution: u64| budget(resolution).map_or(f64::INFINITY, |budget| budget.bound);
    let (mut low, mut high) = (shape.resolution(), finest);
    while high - low > 2 {
        let third = (high - low) / 3;
        let (a, b) = (low + third, high - third);
        // Two bounds that are both infinite are so because of floats: the grid is too fine.
        if bound(a) <= bound(b) { high = b - 1 } else { low = a + 1 }
    }
    every(shape, low..=high, eps, |grid| budget(grid.resolution()))
}

/// The resolution with the least bound, every one being tried.
pub fn every(
    shape: &Grid,
    sides: RangeInclusive<u64>,
    eps: &Rat,
    budget: impl Fn(&Grid) -> Result<Budget>,
) -> Result<Found> {
    let tried = sides.map(|side| Ok((side, budget(&shape.with_resolution(side)?)?)));
    let best = tried.min_by(|a: &Result<(u64, Budget)>, b| {
        let bound = |tried: &Result<(u64, Budget)>| tried.as_ref().map_or(f64::INFINITY, |(_, budget)| budget.bound);
        bound(a).total_cmp(&bound(b))
    });
    let (resolution, budget) = best.unwrap_or_else(|| Err(Error::declined("no grid was tried")))?;
    Ok(if budget.meets(eps) { Found::Enough(resolution, budget) } else { Found::AtBest(resolution, budget) })
}

/// Whether all grids up to this one together have few cells.
fn affordable(shape: &Grid, resolution: u64) -> bool {
    let finest = shape.with_resolution(resolution);
    finest.is_ok_and(|finest| finest.points() * Int::from(resolution) <= Int::from(MOST_CELLS))
}

/// Where the line through two points, on logarithms, falls to `eps`; the middle, if there is no such line.
fn interpolate((coarse, above): (u64, f64), (fine, below): (u64, f64), eps: f64) -> u64 {
    let share = (above / eps).ln() / (above / below).ln();
    if !(0.0..=1.0).contains(&share) || coarse == 0 {
        return u64::midpoint(coarse, fine);
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a guess in range"
    )]
    let guess = (coarse as f64 * (fine as f64 / coarse as f64).powf(share)).ceil() as u64;
    guess
}
