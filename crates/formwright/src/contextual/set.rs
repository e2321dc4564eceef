//! The finite sets on which a mixer is judged.
//!
//! Sequences are grid points, their coordinates counted in cells: `0, …, N-1`. `grid` are all `N^{dn}` of them,
//! `distinct` those with pairwise distinct columns, the paper's `G̃`. A file lists any sequences of exact numbers; they
//! are points of the coarsest grid on which all of them are whole, which starts at the least of them if that is
//! negative, else at 0. Sequences are counted before any is listed.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::files::read_file;
use crate::input;
use crate::lattice::{Grid, Point, tuples};
use crate::network::Sequence;
use crate::show::{plural, short_int};

/// The most sequences of a set.
pub(crate) const MOST_SEQUENCES: usize = 100_000;

/// The most tokens of a sequence.
const MOST_TOKENS: usize = 1000;

/// The most binary digits of a count that is printed.
const MOST_BITS: usize = 4096;

/// A finite set of sequences of one length.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    /// The grid on which all coordinates are.
    pub grid: Grid,
    /// The sequences, as points of the grid.
    pub points: Vec<Point>,
    /// The coordinate of the grid's first cell, and the number of cells of unit length.
    units: (Rat, Int),
    /// A description of the set.
    pub words: String,
}

/// Declines sequences that are too long to compare.
pub(super) fn check_length(tokens: usize, whence: &str) -> Result<()> {
    if tokens <= MOST_TOKENS {
        return Ok(());
    }
    Err(Error::declined(format!("the sequences {whence} have {tokens} tokens"))
        .note("limit", format!("{MOST_TOKENS}: every two of them are compared"))
        .note("try", format!("⟨tokens={MOST_TOKENS}⟩")))
}

impl Set {
    /// All points of a grid, or those with distinct columns.
    pub fn of_grid(grid: Grid, distinct: bool) -> Result<Self> {
        let (n, d, resolution) = (grid.tokens(), grid.dims(), grid.resolution());
        let side = Int::from(resolution);
        let columns = product(std::iter::repeat_n(side.clone(), d));
        let factor = |token: usize| {
            columns.as_ref().map(|columns| if distinct { columns - Int::from(token) } else { columns.clone() })
        };
        let count = columns.as_ref().and_then(|_| product((0..n).filter_map(factor)));
        let which = if distinct { " with distinct columns" } else { "" };
        let shape = shape(&grid);
        match &count {
            Some(count) if *count == Int::ZERO => {
                let columns = columns.unwrap_or_default();
                return Err(Error::declined(format!("there are no sequences of {shape}{which}"))
                    .note("reason", format!("{n} distinct columns, and there are {columns}"))
                    .note("try", "a larger ⟨resolution⟩, or ⟨set=grid⟩"));
            }
            Some(count) if *count <= Int::from(MOST_SEQUENCES) => {}
            count => {
                let count = count.as_ref().map_or_else(|| format!("more than 2^{MOST_BITS}"), short_int);
                return Err(Error::declined(format!("the set has {count} sequences"))
                    .note("set", format!("{shape} in 0..{}{which}", resolution - 1))
                    .note("limit", format!("{MOST_SEQUENCES}: every two tokens are compared"))
                    .note("try", "fewer ⟨tokens⟩, a smaller ⟨resolution⟩, or ⟨set=file:PATH⟩ with those that matter"));
            }
        }
        let columns: Vec<Vec<u64>> = tuples((0..resolution).collect(), d).collect();
        let longer = |point: Point| {
            let may_follow = |column: &&Vec<u64>| !distinct || !point.contains(column);
            columns
                .iter()
                .filter(may_follow)
                .map(|column| [&point[..], std::slice::from_ref(column)].concat())
                .collect::<Vec<Point>>()
        };
        let points = (0..n).fold(vec![Point::new()], |points, _| points.into_iter().flat_map(longer).collect());
        let all = if distinct { "" } else { "all " };
        let words = format!("{all}{} of {shape} in 0..{}{which}", plural(points.len(), "sequence"), resolution - 1);
        Ok(Self { grid, points, units: (Rat::ZERO, Int::ONE), words })
    }

    /// The sequences of a file.
    pub fn from_file(path: &str) -> Result<Self> {
        Self::from_json(&input::parse_json(&read_file(path.as_ref())?, path)?, &format!("of {path}"))
    }

    /// Sequences `[sequences][tokens][coordinates]`.
    pub fn from_json(value: &Value, whence: &str) -> Result<Self> {
        let first = value.get(0);
        let length = |value: Option<&Value>| value.and_then(Value::as_array).map_or(0, Vec::len);
        let (tokens, dims) = (length(first), length(first.and_then(|first| first.get(0))));
        let sequences = input::batch(value, (tokens, tokens), dims)?;
        if sequences.len() > MOST_SEQUENCES {
            return Err(Error::declined(format!("the set has {} sequences", sequences.len()))
                .note("limit", format!("{MOST_SEQUENCES}: every two tokens are compared")));
        }
        Self::of(&sequences, whence)
    }

    /// Sequences of exact numbers.
    pub fn of(sequences: &[Sequence], whence: &str) -> Result<Self> {
        let numbers = || sequences.iter().flatten().flatten();
        let low = numbers().fold(Rat::ZERO, |low, x| low.min(x.clone()));
        let high = numbers().fold(Rat::ZERO, |high, x| high.max(x.clone()));
        let finer =
            |cells: Int, x: &Rat| Some(common(&cells, &(x - &low).denominator())).filter(|cells| cells.bits() <= 64);
        let too_fine = || {
            Error::declined("the numbers of the set are too fine for a grid")
                .note("found", format!("numbers from {low} to {high}, and no 2^64 cells on which all are whole"))
                .note("try", "numbers with small denominators")
        };
        let cells = numbers().try_fold(Int::ONE, finer).ok_or_else(too_fine)?;
        let place = |x: &Rat| ((x - &low) * Rat::from(&cells)).floor().to_u64();
        let resolution = place(&high).filter(|last| *last < u64::MAX).ok_or_else(too_fine)? + 1;
        let (tokens, dims) = sequences.first().map_or((0, 0), |x| (x.len(), x.first().map_or(0, Vec::len)));
        check_length(tokens, whence)?;
        let grid = Grid::unit(tokens, dims, resolution.max(2))?;
        let point = |x: &Sequence| x.iter().map(|column| column.iter().map(place).collect()).collect::<Option<Point>>();
        let points = sequences.iter().map(point).collect::<Option<Vec<Point>>>().ok_or_else(too_fine)?;
        let mut seen = BTreeSet::new();
        if let Some(again) = points.iter().position(|point| !seen.insert(point)) {
            let first = points.iter().position(|point| *point == points[again]).unwrap_or_default();
            return Err(Error::input(format!("sequence {again} {whence} is sequence {first} again"))
                .note("expected", "a set: every sequence once"));
        }
        let words = format!("the {} {whence}, {}", plural(points.len(), "sequence"), shape(&grid));
        Ok(Self { grid, points, units: (low, cells), words })
    }

    /// A coordinate as it was written.
    pub fn coordinate(&self, cell: u64) -> Rat {
        &self.units.0 + Rat::new(cell, self.units.1.clone())
    }

    /// The number of cells of unit length.
    pub fn cells(&self) -> &Int {
        &self.units.1
    }

    /// A sequence as it was written.
    pub fn sequence(&self, index: usize) -> Sequence {
        self.points[index].iter().map(|column| column.iter().map(|cell| self.coordinate(*cell)).collect()).collect()
    }
}

fn shape(grid: &Grid) -> String {
    format!("{} of {}", plural(grid.tokens(), "token"), plural(grid.dims(), "coordinate"))
}

/// A product, unless it has too many digits to print; 0 if a factor is not positive.
fn product(factors: impl Iterator<Item = Int>) -> Option<Int> {
    let mut product = Int::ONE;
    for factor in factors {
        if factor <= Int::ZERO {
            return Some(Int::ZERO);
        }
        product = product * factor;
        if product.bits() > MOST_BITS {
            return None;
        }
    }
    Some(product)
}

/// The least common multiple.
pub(super) fn common(a: &Int, b: &Int) -> Int {
    Rat::new(a.clone(), b.clone()).numerator() * b
}
