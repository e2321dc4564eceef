//! The lattice: cells of the box, grid points, column ids, counts. Everything here is an exact integer.
//!
//! The box `[low, high)^{d×n}` is cut into `N^{dn}` cells of side `(high-low)/N`. A cell is named by its grid point
//! `L`, one integer `0 ≤ L_ij < N` for every coordinate (*integer units*: lengths are multiplied by `N / (high-low)`).
//! A column `L_j` has the id `uᵀL_j`, `u = (1, N, …, N^{d-1})`: its coordinates are the id's digits in base `N`. There
//! are `D = N^d` columns.
//!
//! The *extended* grid adds a flag to every coordinate, for "outside of the box".

pub(crate) mod codes;
mod contexts;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exact::Sequence;
use crate::exact::{Int, Rat};

pub(crate) use contexts::{by_spread, increasing_tuples, tuples};

/// A grid point, `[token][coordinate]`.
pub(crate) type Point = Vec<Vec<u64>>;

/// True if no two columns of a grid point are equal.
pub(crate) fn has_distinct_columns(point: &[Vec<u64>]) -> bool {
    (1..point.len()).all(|j| !point[..j].contains(&point[j]))
}

/// A coordinate of the extended grid.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extended {
    /// Outside of the box.
    Flag,
    /// In the cell with this index.
    Cell(u64),
}

/// A grid over a box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Grid {
    tokens: usize,
    dims: usize,
    resolution: u64,
    low: Rat,
    high: Rat,
}

/// A grid as it is written in a file, not yet checked.
#[derive(Deserialize)]
struct Written {
    tokens: usize,
    dims: usize,
    resolution: u64,
    low: Rat,
    high: Rat,
}

impl TryFrom<Written> for Grid {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        Self::new(written.tokens, written.dims, written.resolution, written.low, written.high)
    }
}

impl Grid {
    /// The grid of `resolution` cells per side over `[low, high)`; at least one token, one coordinate, two cells.
    pub fn new(tokens: usize, dims: usize, resolution: u64, low: Rat, high: Rat) -> Result<Self> {
        let least = |name: &str, found: String, least: u64, why: &str| {
            Error::input(format!("⟨{name}⟩ is {found}, but at least {least} is needed"))
                .note("reason", why)
                .note("try", format!("⟨{name}={least}⟩"))
        };
        if tokens < 1 {
            return Err(least("tokens", tokens.to_string(), 1, "a sequence has at least one token"));
        }
        if dims < 1 {
            return Err(least("dims", dims.to_string(), 1, "a token has at least one coordinate"));
        }
        if resolution < 2 {
            return Err(least(
                "resolution",
                resolution.to_string(),
                2,
                "the grid has at least two cells a side (Lemma 6)",
            ));
        }
        if low >= high {
            return Err(Error::input(format!("the box [{low}, {high}) is empty")));
        }
        Ok(Self { tokens, dims, resolution, low, high })
    }

    /// The grid of contexts over the unit box; at least two tokens.
    pub fn unit(tokens: usize, dims: usize, resolution: u64) -> Result<Self> {
        if tokens == 1 {
            return Err(Error::input("⟨tokens⟩ is 1, but at least 2 is needed")
                .note("reason", "a context is made of at least two tokens (Lemma 6)")
                .note("try", "⟨tokens=2⟩"));
        }
        Self::new(tokens, dims, resolution, Rat::ZERO, Rat::ONE)
    }

    /// The same box, cut into another number of cells.
    pub fn with_resolution(&self, resolution: u64) -> Result<Self> {
        Self::new(self.tokens, self.dims, resolution, self.low.clone(), self.high.clone())
    }

    /// `n`.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// `d`.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// `N`.
    pub fn resolution(&self) -> u64 {
        self.resolution
    }

    /// The box's lower end.
    pub fn low(&self) -> &Rat {
        &self.low
    }

    /// The box's upper end.
    pub fn high(&self) -> &Rat {
        &self.high
    }

    /// The box, in words: `[low, high]^(d×n)`.
    pub fn box_name(&self) -> String {
        format!("[{}, {}]^({}×{})", self.low, self.high, self.dims, self.tokens)
    }

    /// `D = N^d`, the number of columns.
    pub fn columns(&self) -> Int {
        Int::from(self.resolution).pow(self.dims)
    }

    /// `N^{dn}`, the number of cells.
    pub fn points(&self) -> Int {
        Int::from(self.resolution).pow(self.dims * self.tokens)
    }

    /// `C(D, n)`, the number of grid points with distinct columns, up to the order of the columns.
    pub fn contexts(&self) -> Int {
        self.columns().choose(self.tokens)
    }

    /// `u = (1, N, …, N^{d-1})`.
    pub fn radix(&self) -> Vec<Int> {
        (0..self.dims).map(|row| Int::from(self.resolution).pow(row)).collect()
    }

    /// The column with this id, which must lie in `0..D`.
    pub fn column(&self, id: &Int) -> Vec<u64> {
        let base = Int::from(self.resolution);
        let mut rest = id.clone();
        let digit = |_| {
            let (quotient, digit) = rest.div_rem(&base);
            rest = quotient;
            digit.to_u64().expect("a digit is below the base")
        };
        (0..self.dims).map(digit).collect()
    }

    /// The id of a column.
    pub fn id(&self, column: &[u64]) -> Int {
        column.iter().rev().fold(Int::ZERO, |id, digit| id * Int::from(self.resolution) + Int::from(*digit))
    }

    /// The point of the box in the middle of a cell.
    pub fn centre(&self, point: &[Vec<u64>]) -> Sequence {
        let side = &(&self.high - &self.low) / &Rat::from(2 * i128::from(self.resolution));
        let coordinate = |k: &u64| &self.low + &side * Rat::from(2 * i128::from(*k) + 1);
        point.iter().map(|column| column.iter().map(coordinate).collect()).collect()
    }

    /// The cell that holds `x`, unless some coordinate is outside of the box.
    pub fn cell(&self, x: &[Vec<Rat>]) -> Option<Point> {
        let scale = Rat::from(self.resolution) / (&self.high - &self.low);
        let index = |x: &Rat| ((x - &self.low) * &scale).floor().to_u64().filter(|k| *k < self.resolution);
        x.iter().map(|token| token.iter().map(index).collect()).collect()
    }

    /// Every grid point, in lexicographic order, token 0's coordinate 0 most significant.
    pub fn all_points(&self) -> impl Iterator<Item = Point> + use<'_> {
        let digits: Vec<u64> = (0..self.resolution).collect();
        tuples(digits, self.tokens * self.dims).map(|flat| flat.chunks(self.dims).map(<[u64]>::to_vec).collect())
    }

    /// Every point of the extended grid.
    #[cfg(test)]
    pub(crate) fn all_extended_points(&self) -> impl Iterator<Item = Vec<Vec<Extended>>> + use<'_> {
        let entries: Vec<Extended> =
            std::iter::once(Extended::Flag).chain((0..self.resolution).map(Extended::Cell)).collect();
        tuples(entries, self.tokens * self.dims).map(|flat| flat.chunks(self.dims).map(<[Extended]>::to_vec).collect())
    }

    /// The index of a grid point in lexicographic order.
    pub fn rank(&self, point: &[Vec<u64>]) -> Int {
        let digits = point.iter().flatten();
        digits.fold(Int::ZERO, |rank, digit| rank * Int::from(self.resolution) + Int::from(*digit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_ids_are_inverse() {
        let grid = Grid::unit(2, 3, 5).expect("a grid");
        for id in 0..125 {
            let column = grid.column(&Int::from(id));
            assert_eq!(grid.id(&column), Int::from(id));
        }
        assert_eq!(grid.column(&Int::from(7)), [2, 1, 0]);
    }

    #[test]
    fn centres_lie_in_their_cells_and_edges_in_the_cell_on_their_right() {
        let grid = Grid::new(2, 1, 3, Rat::new(-1, 2), Rat::new(5, 2)).expect("a grid");
        for point in grid.all_points() {
            assert_eq!(grid.cell(&grid.centre(&point)), Some(point));
        }
        assert_eq!(grid.centre(&[vec![0], vec![2]]), [[Rat::ZERO], [Rat::from(2)]]);
        let at = |x: Rat| grid.cell(&[vec![x], vec![Rat::ZERO]]);
        assert_eq!(at(Rat::new(1, 2)), Some(vec![vec![1], vec![0]]));
        assert_eq!(at(Rat::new(5, 2)), None);
        assert_eq!(at(Rat::new(-1, 2)), Some(vec![vec![0], vec![0]]));
        assert_eq!(at(Rat::new(-5, 9)), None);
    }

    #[test]
    fn points_are_counted_and_ranked_in_order() {
        let grid = Grid::unit(2, 2, 3).expect("a grid");
        let points: Vec<Point> = grid.all_points().collect();
        assert_eq!(Int::from(points.len()), grid.points());
        for (rank, point) in points.iter().enumerate() {
            assert_eq!(grid.rank(point), Int::from(rank));
        }
        assert_eq!(grid.all_extended_points().count(), 4usize.pow(4));
    }

    #[test]
    fn degenerate_grids_are_refused() {
        for (tokens, dims, resolution) in [(1, 1, 4), (0, 1, 4), (2, 0, 4), (2, 1, 1), (2, 1, 0)] {
            assert!(Grid::unit(tokens, dims, resolution).is_err());
        }
        assert!(Grid::new(2, 1, 2, Rat::ONE, Rat::ONE).is_err());
        assert!(Grid::new(0, 1, 2, Rat::ZERO, Rat::ONE).is_err());
        assert!(Grid::new(1, 1, 2, Rat::ZERO, Rat::ONE).is_ok(), "a circuit takes one token");
    }
}
