//! The grid for a tolerance.
//!
//! The bound falls as the grid gets finer, roughly like a power of the resolution: doubling finds a grid that is fine enough, and
//! interpolation between it and the last one that was not (on logarithms, where a power is a line) finds the smallest. One cell fewer is
//! then not enough. Where all coarser grids together have few cells they are tried as well; beyond, that a much coarser one happens to be
//! enough, by a bound that is not monotone, is not excluded. A grid on which nothing is proved is not fine enough.
//!
//! A grid of a million cells takes a second. Most that fail do so by far, which a part of the cells shows: their bounds are not
//! worked out, unless none is enough and the best is to be named.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::piecewise::{MOST_CELLS, Question, Unserved, bound, far_above};
use super::{Budget, Norm};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::Interval;
use crate::lattice::Grid;

/// The finest grid that is tried.
const FINEST: u64 = 1 << 40;

/// The most cells of a grid that is worked out only to say how near it comes to a tolerance that none meets: of a dozen grids by thirds,
const MOST_BY_THIRDS: u64 = 1 << 16;

/// and by doubling, where the finest alone has as many as all others together.
const MOST_BY_DOUBLING: u64 = 1 << 18;

/// The grid that was found, and its bound.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// This many cells a side are enough, with this bound.
    Enough(u64, Budget),
    /// No grid that was tried is enough; the cells a side and the bound of the best.
    AtBest(u64, Budget),
}

impl Found {
    fn budget(&self) -> &Budget {
        let (Self::Enough(_, budget) | Self::AtBest(_, budget)) = self;
        budget
    }
}

/// The bound of a grid.
type Bound<'a> = Box<dyn Fn(&Grid) -> Result<Budget> + 'a>;

/// A test that says if a part of the bound of a grid is above a number.
type Above<'a> = Box<dyn Fn(&Grid, f64) -> bool + 'a>;

/// The questions that a search asks of the grids of a shape. Each grid is asked once.
pub(crate) struct Tries<'a> {
    shape: &'a Grid,
    budget: Bound<'a>,
    by_cells: Above<'a>,
    by_floats: Above<'a>,
    known: RefCell<BTreeMap<u64, Result<Budget>>>,
}

impl<'a> Tries<'a> {
    /// The bound of a grid; and, for little, whether its cells alone are far above a number.
    pub fn new(
        shape: &'a Grid,
        budget: impl Fn(&Grid) -> Result<Budget> + 'a,
        by_cells: impl Fn(&Grid, f64) -> bool + 'a,
    ) -> Self {
        let by_floats = Box::new(|_: &Grid, _| false);
        Self { shape, budget: Box::new(budget), by_cells: Box::new(by_cells), by_floats, known: RefCell::default() }
    }

    /// The same, with floats, which may be above the number by themselves.
    pub fn with_floats(self, by_floats: impl Fn(&Grid, f64) -> bool + 'a) -> Self {
        Self { by_floats: Box::new(by_floats), ..self }
    }

    fn budget(&self, side: u64) -> Result<Budget> {
        if let Some(known) = self.known.borrow().get(&side) {
            return known.clone();
        }
        let found = self.shape.with_resolution(side).and_then(|grid| (self.budget)(&grid));
        self.known.borrow_mut().insert(side, found.clone());
        found
    }

    fn bound(&self, side: u64) -> f64 {
        self.budget(side).map_or(f64::INFINITY, |budget| budget.bound)
    }

    /// True if a grid's bound is far above a number; `false` says nothing.
    fn is_far_above(&self, side: u64, number: f64) -> bool {
        let known = self.known.borrow().contains_key(&side);
        let above = |grid: Grid| (self.by_floats)(&grid, number) || (self.by_cells)(&grid, number);
        !known && self.shape.with_resolution(side).is_ok_and(above)
    }

    /// The finest grid up to this one that has at most so many cells.
    fn finest_of(&self, finest: u64, cells: u64) -> Option<u64> {
        let few = |side| self.shape.with_resolution(side).is_ok_and(|grid| grid.points() <= Int::from(cells));
        last(self.shape.resolution(), finest, few)
    }

    /// True if no grid up to the finest comes near `eps`: not the finest whose cells are looked at one by one, since
    /// coarser ones have larger cells, and not the finest of all.
    fn is_hopeless(&self, finest: u64, eps: &Rat) -> bool {
        let Some(side) = self.finest_of(finest, MOST_CELLS) else { return false };
        let by_cells = |grid: Grid| (self.by_cells)(&grid, Interval::from(eps).hi());
        let uniformly = side < finest && self.budget(finest).is_ok_and(|budget| budget.meets(eps));
        !uniformly && self.shape.with_resolution(side).is_ok_and(by_cells)
    }

    /// The sides of grids that are worked out only to say how near they come: with few cells, or with so many that one formula is for all.
    fn glanced_at(&self, finest: u64, cells: u64) -> [RangeInclusive<u64>; 2] {
        let first = self.shape.resolution();
        let few = self.finest_of(finest, cells).unwrap_or(first);
        let many = self.finest_of(finest, MOST_CELLS).map_or(first + 1, |side| side + 1);
        [first..=few, many..=finest]
    }

    /// The sides that doubling tries, up to the finest.
    fn doublings(&self, finest: u64) -> Vec<u64> {
        let doubled = |side: &u64| (*side < finest).then(|| (2 * side).min(finest));
        std::iter::successors(Some(self.shape.resolution()), doubled).collect()
    }
}

/// The smallest resolution, from that of the question's grid on, whose bound is at most `eps`.
pub(crate) fn smallest(question: Question<'_>, norm: &Norm, eps: &Rat) -> Result<Found> {
    let budget = |grid: &Grid| bound(Question { grid, ..question }, norm);
    let far = |grid: &Grid, number: f64| far_above(Question { grid, ..question }, Unserved::ZERO, norm, number);
    search(&Tries::new(question.grid, budget, far), FINEST, eps)
}

/// The smallest resolution, from that of the shape to `finest`, whose budget is at most `eps`; else the best.
pub(crate) fn search(tries: &Tries<'_>, finest: u64, eps: &Rat) -> Result<Found> {
    match enough(tries, finest, eps)? {
        Some((resolution, budget)) => Ok(Found::Enough(resolution, budget)),
        None => best(tries, finest, eps),
    }
}

/// The smallest resolution, from that of the shape to `finest`, whose budget is at most `eps`; nothing if there is none. An error if nothing is proved on
/// any grid.
pub(crate) fn enough(tries: &Tries<'_>, finest: u64, eps: &Rat) -> Result<Option<(u64, Budget)>> {
    if tries.is_hopeless(finest, eps) {
        return Ok(None);
    }
    let first = tries.shape.resolution();
    let few = affordable(tries.shape, finest);
    // Where all grids together have few cells, each is tried: a bound need not be monotone.
    let sides = if few { (first..=finest).collect() } else { tries.doublings(finest) };
    // The finest grid that failed, with its bound.
    let mut failed = (first - 1, f64::INFINITY);
    let mut met = None;
    let mut proved: Result<()> = Err(Error::declined("no grid was tried"));
    for side in sides {
        if !few && tries.is_far_above(side, Interval::from(eps).hi()) {
            (failed, proved) = ((side, f64::INFINITY), Ok(()));
            continue;
        }
        match tries.budget(side) {
            Ok(budget) if budget.meets(eps) => {
                met = Some((side, budget));
                break;
            }
            Ok(budget) => (failed, proved) = ((side, budget.bound), Ok(())),
            Err(error) => {
                failed = (side, f64::INFINITY);
                proved = proved.or(Err(error));
            }
        }
    }
    let Some((mut resolution, mut found)) = met else { return proved.map(|()| None) };
    if few {
        return Ok(Some((resolution, found)));
    }
    // A guess, its neighbour on the other side of the answer, and if these do not settle it, halves.
    let guess = interpolate(failed, (resolution, found.bound), eps.to_f64());
    let mut steps = 0;
    let mut next = guess;
    while failed.0 + 1 < resolution {
        let tried = next.clamp(failed.0 + 1, resolution - 1);
        match tries.budget(tried) {
            Ok(better) if better.meets(eps) => {
                (resolution, found) = (tried, better);
                next = tried - 1;
            }
            worse => {
                failed = (tried, worse.map_or(f64::INFINITY, |worse| worse.bound));
                next = tried + 1;
            }
        }
        steps += 1;
        if steps > 1 {
            next = u64::midpoint(failed.0, resolution);
        }
    }
    if affordable(tries.shape, resolution) {
        for coarser in first..resolution {
            if let Ok(better) = tries.budget(coarser)
                && better.meets(eps)
            {
                return Ok(Some((coarser, better)));
            }
        }
    }
    Ok(Some((resolution, found)))
}

/// The best of the grids that a search tries in vain: from the finest on, those that are not far above the best so far.
fn best(tries: &Tries<'_>, finest: u64, eps: &Rat) -> Result<Found> {
    let few = affordable(tries.shape, finest);
    let mut sides = if few { (tries.shape.resolution()..=finest).collect() } else { tries.doublings(finest) };
    if !few && tries.is_hopeless(finest, eps) {
        let glanced_at = tries.glanced_at(finest, MOST_BY_DOUBLING);
        sides.retain(|side| glanced_at.iter().any(|sides| sides.contains(side)));
    }
    let mut best: Result<(u64, Budget)> = Err(Error::declined("no grid was tried"));
    for side in sides.into_iter().rev() {
        if best.as_ref().is_ok_and(|(_, best)| tries.is_far_above(side, best.bound)) {
            continue;
        }
        match tries.budget(side) {
            // Finer and no better: a jump that only cells one by one can see.
            Ok(tried) if best.as_ref().is_ok_and(|(_, best)| best.bound < tried.bound) => {}
            Ok(tried) => best = Ok((side, tried)),
            Err(error) => best = best.or(Err(error)),
        }
    }
    best.map(|(resolution, budget)| Found::AtBest(resolution, budget))
}

/// The last of `from..=to` of which `holds` is true, if it is true of a first part of them and false of the rest.
pub(crate) fn last(from: u64, to: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
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

/// The resolution with the least bound, for budgets that first fall and then rise. Where none comes near `eps`, of grids that take little.
pub(crate) fn least(tries: &Tries<'_>, finest: u64, eps: &Rat) -> Result<Found> {
    if !tries.is_hopeless(finest, eps) {
        return by_thirds(tries, tries.shape.resolution()..=finest, eps);
    }
    let [few, many] = tries.glanced_at(finest, MOST_BY_THIRDS);
    let few = by_thirds(tries, few, eps);
    let many = if many.is_empty() { return few } else { by_thirds(tries, many, eps) };
    match (few, many) {
        (Ok(few), Ok(many)) => Ok(if few.budget().bound <= many.budget().bound { few } else { many }),
        (few, many) => few.or(many),
    }
}

fn by_thirds(tries: &Tries<'_>, sides: RangeInclusive<u64>, eps: &Rat) -> Result<Found> {
    let (mut low, mut high) = sides.into_inner();
    while high - low > 2 {
        let third = (high - low) / 3;
        let (a, b) = (low + third, high - third);
        // Two bounds that are both infinite are so because of floats: the grid is too fine.
        let falls = tries.bound(a);
        if tries.is_far_above(b, falls) || falls <= tries.bound(b) { high = b - 1 } else { low = a + 1 }
    }
    every(tries, low..=high, eps)
}

/// The resolution with the least bound, every one being tried.
pub(crate) fn every(tries: &Tries<'_>, sides: RangeInclusive<u64>, eps: &Rat) -> Result<Found> {
    let tried = sides.map(|side| Ok((side, tries.budget(side)?)));
    let best = tried.min_by(|a: &Result<(u64, Budget)>, b| {
        let bound = |tried: &Result<(u64, Budget)>| tried.as_ref().map_or(f64::INFINITY, |(_, budget)| budget.bound);
        bound(a).total_cmp(&bound(b))
    });
    let (resolution, budget) = best.unwrap_or_else(|| Err(Error::declined("no grid was tried")))?;
    Ok(if budget.meets(eps) { Found::Enough(resolution, budget) } else { Found::AtBest(resolution, budget) })
}

/// True if all grids up to this one together have few cells.
fn affordable(shape: &Grid, resolution: u64) -> bool {
    let finest = shape.with_resolution(resolution);
    finest.is_ok_and(|finest| finest.points() * Int::from(resolution) <= Int::from(MOST_CELLS))
}

/// The place where the line through two points, on logarithms, falls to `eps`; the middle, if there is no such line.
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
