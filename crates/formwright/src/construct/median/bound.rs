//! The distance between a target and the median of its values in the cells of shifted grids, in the supremum norm.
//!
//! ```text
//! cells          the largest oscillation against the value of a cell, on what the cell serves
//! values         how the values are stored, in floats
//! comparators    the rounding of clamp and comparators
//! ```
//!
//! *Cell by cell*, up to [`MOST_CELLS`] cells of all grids together, from enclosures of values and slopes; beyond, *uniformly*,
//! from a Lipschitz constant on the whole box and the reach `mh/K`. What is proved equivariant is looked at with its columns
//! in one order.
//!
//! **Tables.** A table jumps, and the oscillation is that of its entries whose cells meet what a cell serves. With a stated
//! constant `L` the claim is about *every function that changes by at most `L` times the largest change of an input, and has
//! the table's values at the centres of its cells*: the value of a cell is such a value, and what is counted is `L` times
//! the largest distance between that centre and what the cell serves.

use rayon::prelude::*;

use super::lower::Losses;
use super::shifts::Shifts;
use crate::bound::piecewise::{MOST_CELLS, MOST_INPUTS, splits};
use crate::bound::{Budget, Method, Norm, Term};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::{Interval, Up};
use crate::lattice::Grid;
use crate::target::modulus::Cube;
use crate::target::{Table, Target};

/// The target, the grids, and a constant that the user states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// The function.
    pub target: &'a Target,
    /// The grids.
    pub shifts: &'a Shifts,
    /// A Lipschitz constant: each output entry changes by at most this times the largest change of an input.
    pub lipschitz: Option<&'a Rat>,
}

/// Cells that one thread takes at a time.
const CHUNK: u64 = 256;

/// The number of cells of which [`far_above`] looks at one.
const SHARE: u64 = 16;

/// The certified distance in the supremum norm; exact if nothing is lost.
pub(crate) fn bound(question: Question<'_>, losses: Option<&Losses>) -> Result<Budget> {
    let Question { target, shifts, lipschitz } = question;
    check(target, &shifts.whole)?;
    let sampled = target.table().zip(lipschitz);
    let looked_at = Looked::new(question);
    let (cells, method) = match (&sampled, &looked_at) {
        (Some((table, stated)), _) => (off_samples(shifts, table, stated), Method::Uniform),
        (None, Some(looked)) => (looked.largest()?, Method::CellWise),
        (None, None) => (uniform(question)?, Method::Uniform),
    };
    if losses.is_some() && method == Method::Uniform && !target.is_rational() {
        return Err(Error::declined("values that are not rational are certified cell by cell only")
            .note("limit", format!("{MOST_CELLS} cells of all grids"))
            .note("try", "a larger ⟨eps⟩, or a coarser ⟨resolution⟩"));
    }
    let of = if sampled.is_some() {
        "the table holds the values, at the centres of its cells, of the function that is meant, of which "
    } else {
        ""
    };
    let changes = |l| format!("{of}every output entry changes by at most {l} times the largest change of an input");
    let mut budget = Budget {
        norm: Norm::Sup,
        bound: cells.get(),
        terms: vec![Term::new("cells", cells)],
        method,
        assumptions: lipschitz.map(changes).into_iter().collect(),
    };
    if let Some(losses) = losses {
        budget.add(Term::new("values", losses.values));
        budget.add(Term::new("comparators", losses.comparators));
    }
    Ok(budget)
}

/// Declines what has no such bound, before anything is looked at.
pub(super) fn check(target: &Target, grid: &Grid) -> Result<()> {
    if target.is_discrete() {
        return Err(Error::declined("on integers a sum of codes is exact, and there is nothing to take a median for")
            .note("try", "⟨construction=sum-code⟩"));
    }
    let inputs = grid.tokens() * grid.dims();
    if inputs <= MOST_INPUTS {
        return Ok(());
    }
    Err(Error::declined(format!("a median of {} grids of {inputs} inputs", 2 * inputs + 1))
        .note("limit", format!("{MOST_INPUTS} inputs (tokens times coordinates)"))
        .note("try", "fewer ⟨tokens⟩ or ⟨dims⟩"))
}

/// True if the cells alone are above a number by so much that a sixteenth of them shows it. Not to be shown says nothing.
pub(crate) fn far_above(question: Question<'_>, number: f64) -> bool {
    if question.target.table().is_some() && question.lipschitz.is_some() {
        return bound(question, None).is_ok_and(|budget| budget.bound > number);
    }
    Looked::new(question).is_some_and(|looked| looked.is_above(number))
}

/// A coordinate's side of a cell: what it serves, and where its value is taken.
struct Side {
    served: Interval,
    centre: Interval,
    /// The largest distance between the two.
    reach: Up,
    /// The table's cells that it meets, and the one that holds its centre.
    meets: (u64, u64),
    holds: u64,
}

/// Grids whose cells are few enough to be looked at one by one.
struct Looked<'a> {
    question: Question<'a>,
    /// The cells of a grid.
    cells: u64,
    /// The sides, `[grid][cell]`.
    sides: Vec<Vec<Side>>,
    /// The largest reach of a side.
    reach: Up,
    equivariant: bool,
}

impl<'a> Looked<'a> {
    fn new(question: Question<'a>) -> Option<Self> {
        let Question { target, shifts, .. } = question;
        let cells = Int::from(shifts.cells()).pow(shifts.spoiled()).to_u64()?;
        cells.checked_mul(shifts.copies() as u64).filter(|all| *all <= MOST_CELLS)?;
        let resolution = target.grid_resolution().unwrap_or(1);
        let sides = |copy| (0..shifts.cells()).map(|cell| Side::new(shifts, (copy, cell), resolution)).collect();
        let sides: Vec<Vec<Side>> = (0..shifts.copies()).map(sides).collect();
        let reach = sides.iter().flatten().map(|side| side.reach).fold(Up::ZERO, Up::max);
        Some(Self { question, cells, sides, reach, equivariant: target.is_equivariant() })
    }

    /// The largest oscillation of all cells.
    fn largest(&self) -> Result<Up> {
        let chunks = self.cells.div_ceil(CHUNK);
        let all = chunks * self.sides.len() as u64;
        let chunk = |place: u64| -> Result<Up> {
            let (copy, from) = (place / chunks, place % chunks * CHUNK);
            let mut largest = Up::ZERO;
            for rank in from..self.cells.min(from + CHUNK) {
                largest = largest.max(self.oscillation(copy, rank)?);
            }
            Ok(largest)
        };
        let largest: Vec<Result<Up>> = (0..all).into_par_iter().map(chunk).collect();
        largest.into_iter().try_fold(Up::ZERO, |largest, found| Ok(largest.max(found?)))
    }

    /// True if some of the cells of the first grid, taken in strides, are above a number.
    fn is_above(&self, number: f64) -> bool {
        let stride =
            (self.cells * 5 / 8 + 1..=self.cells + 1).find(|stride| gcd(*stride, self.cells) == 1).unwrap_or(1);
        let mut looked = (0..self.cells.div_ceil(SHARE)).map(|step| step * stride % self.cells);
        looked.any(|rank| self.oscillation(0, rank).is_ok_and(|found| found > number))
    }

    /// The largest oscillation of an output entry on a cell; 0 for one for which another stands.
    fn oscillation(&self, copy: u64, rank: u64) -> Result<Up> {
        let Question { target, shifts, lipschitz } = self.question;
        let sides = &self.sides[usize::try_from(copy).unwrap_or(0)];
        let point = point(rank, shifts);
        if self.equivariant && !point.is_sorted() {
            return Ok(Up::ZERO);
        }
        let point: Vec<Vec<&Side>> =
            point.iter().map(|column| column.iter().map(|cell| &sides[*cell]).collect()).collect();
        if let Some(table) = target.table() {
            return Ok(jump(table, &point));
        }
        let boxes = |pick: fn(&Side) -> Interval| -> Cube {
            point.iter().map(|column| column.iter().map(|side| pick(side)).collect()).collect()
        };
        let proved = target.oscillations(&boxes(|side| side.served), &boxes(|side| side.centre), self.reach.get());
        let largest = |values: Vec<Up>| values.into_iter().fold(Up::ZERO, Up::max);
        match (proved, lipschitz) {
            (Ok(proved), Some(stated)) if target.is_rational() => {
                Ok(largest(proved).min(Up::from(stated) * self.reach))
            }
            (Err(_), Some(stated)) if target.is_rational() => Ok(Up::from(stated) * self.reach),
            (proved, _) => proved.map(largest),
        }
    }
}

impl Side {
    fn new(shifts: &Shifts, (copy, cell): (usize, u64), resolution: u64) -> Self {
        let ((from, to), centre) = (shifts.served(copy, cell), shifts.centre(copy, cell));
        let of_table = |x: &Rat| {
            let place = (x * &Rat::from(resolution)).floor();
            place.to_u64().map_or(0, |place| place.min(resolution - 1))
        };
        Self {
            served: Interval::from(&from).hull(Interval::from(&to)),
            centre: Interval::from(&centre),
            reach: Up::from(&(&to - &centre)).max(Up::from(&(&centre - &from))),
            meets: (of_table(&from), of_table(&to)),
            holds: of_table(&centre),
        }
    }
}

/// The grid point of a rank in lexicographic order.
fn point(mut rank: u64, shifts: &Shifts) -> Vec<Vec<usize>> {
    let mut point = vec![vec![0; shifts.whole.dims()]; shifts.whole.tokens()];
    for digit in point.iter_mut().rev().flat_map(|column| column.iter_mut().rev()) {
        *digit = usize::try_from(rank % shifts.cells()).unwrap_or(0);
        rank /= shifts.cells();
    }
    point
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The largest distance of a table's entries whose cells meet a box from the one that is its value.
fn jump(table: &Table, point: &[Vec<&Side>]) -> Up {
    let dims = point[0].len();
    let flat: Vec<&Side> = point.iter().flatten().copied().collect();
    let entry = |cells: &[u64]| table.entry(&cells.chunks(dims).map(<[u64]>::to_vec).collect());
    let value = entry(&flat.iter().map(|side| side.holds).collect::<Vec<_>>()).concat();
    let mut cells: Vec<u64> = flat.iter().map(|side| side.meets.0).collect();
    let mut largest = Rat::ZERO;
    loop {
        for (found, value) in entry(&cells).iter().flatten().zip(&value) {
            largest = largest.max((found - value).abs());
        }
        let Some(place) = (0..cells.len()).rfind(|place| cells[*place] < flat[*place].meets.1) else { break };
        cells[place] += 1;
        for behind in place + 1..cells.len() {
            cells[behind] = flat[behind].meets.0;
        }
    }
    Up::from(&largest)
}

/// How far a function may be from the samples that a table holds of it, on what a cell serves. Samples may be taken at the
/// doubles next to the centres, which are less than 1.
fn off_samples(shifts: &Shifts, table: &Table, stated: &Rat) -> Up {
    let cells = Rat::from(table.grid().resolution());
    let half = Rat::new(1, 2);
    let distance = |copy: usize, cell: u64| {
        let (from, to) = shifts.served(copy, cell);
        let place = (shifts.centre(copy, cell) * &cells).floor();
        let sample = (Rat::from(place) + &half) / cells.clone();
        (&sample - &from).abs().max((&to - &sample).abs())
    };
    let all = (0..shifts.copies()).flat_map(|copy| (0..shifts.cells()).map(move |cell| (copy, cell)));
    let farthest = all.map(|(copy, cell)| distance(copy, cell)).fold(Rat::ZERO, Rat::max);
    Up::from(stated) * (Up::from(&farthest) + Up::from(f64::EPSILON))
}

/// The bound from constants that hold on the whole domain.
fn uniform(question: Question<'_>) -> Result<Up> {
    let Question { target, shifts, lipschitz } = question;
    if let Some(table) = target.table() {
        let (low, high) = table.range();
        return Ok(Up::from(&(high - low)));
    }
    let reach = Up::from(&(shifts.side() * Rat::from(shifts.spoiled()) / Rat::from(shifts.copies())));
    let stated = lipschitz.map(|stated| Up::from(stated) * reach);
    match (target.rates(shifts.whole.tokens(), splits(shifts.spoiled())), stated) {
        (Err(_), Some(stated)) => Ok(stated),
        (rates, stated) => {
            // Two values differ by at most twice the supremum, also where the target jumps.
            let off =
                rates?.into_iter().map(|(rate, supremum)| (rate * reach).min(2.0 * supremum)).fold(Up::ZERO, Up::max);
            Ok(stated.map_or(off, |stated| off.min(stated)))
        }
    }
}
