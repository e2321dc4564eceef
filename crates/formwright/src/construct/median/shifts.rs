//! The shifted grids of a box.
//!
//! A box of `R` cells a side of length `h`, `m` coordinates in all, `K = 2m + 1`. Grid `j = 0, …, K-1` has `R + 1` cells a
//! side, of the same length, and begins at `low - (2j+1)h/2K`. So its outermost walls are `h/2K` or more outside of the box,
//! and the walls of two grids `h/K` or more from each other.
//!
//! A cell *serves* the points of the box that are `h/2K` or more away from its walls: those at most `mh/K` from its middle.
//! Its value is the target's in the middle of what it serves. Where that is one point, an end of the box, it is the
//! target's in the middle of what the cell has of the box, `h/4K` away: a table has no value at an end.

use crate::error::Result;
use crate::exact::Rat;
use crate::lattice::Grid;

/// The shifted grids of a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shifts {
    /// The box, with as many cells a side as fill it.
    pub whole: Grid,
}

impl Shifts {
    /// The grids for so many cells a side of a box.
    pub fn new(shape: &Grid, cells: u64) -> Result<Self> {
        Ok(Self { whole: shape.with_resolution(cells)? })
    }

    /// `m`: the copies that a point can spoil.
    pub fn spoiled(&self) -> usize {
        self.whole.tokens() * self.whole.dims()
    }

    /// `K`.
    pub fn copies(&self) -> usize {
        2 * self.spoiled() + 1
    }

    /// `h`.
    pub fn side(&self) -> Rat {
        (self.whole.high() - self.whole.low()) / Rat::from(self.whole.resolution())
    }

    /// The part of a cell's side, at either end, where its copy may be spoiled: `1/2K`.
    pub fn margin(&self) -> Rat {
        Rat::ONE / Rat::from(2 * self.copies())
    }

    /// The cells a side of each grid.
    pub fn cells(&self) -> u64 {
        self.whole.resolution() + 1
    }

    /// The part of a cell by which a grid begins before the box.
    pub fn shift(&self, copy: usize) -> Rat {
        self.margin() * Rat::from(2 * copy + 1)
    }

    /// The beginning of a grid, in every coordinate.
    fn begin(&self, copy: usize) -> Rat {
        self.whole.low() - self.side() * self.shift(copy)
    }

    /// The grid of a copy.
    pub fn grid(&self, copy: usize) -> Result<Grid> {
        let low = self.begin(copy);
        let high = &low + self.side() * Rat::from(self.cells());
        Grid::new(self.whole.tokens(), self.whole.dims(), self.cells(), low, high)
    }

    /// The part of the box that a cell serves, in a coordinate.
    pub fn served(&self, copy: usize, cell: u64) -> (Rat, Rat) {
        self.inside(copy, cell, &self.margin())
    }

    /// The part of the box that a cell has, without this part of its side at either end.
    fn inside(&self, copy: usize, cell: u64, margin: &Rat) -> (Rat, Rat) {
        let (begin, side) = (self.begin(copy), self.side());
        let from = &begin + &side * &(Rat::from(cell) + margin);
        let to = begin + side * (Rat::from(cell) + Rat::ONE - margin);
        (from.max(self.whole.low().clone()), to.min(self.whole.high().clone()))
    }

    /// The coordinate at which a cell's value is taken.
    pub fn centre(&self, copy: usize, cell: u64) -> Rat {
        let (mut from, mut to) = self.served(copy, cell);
        if from == to {
            (from, to) = self.inside(copy, cell, &Rat::ZERO);
        }
        (from + to) / Rat::from(2)
    }

    /// Those of all cells of a grid.
    pub fn centres(&self, copy: usize) -> Vec<Rat> {
        (0..self.cells()).map(|cell| self.centre(copy, cell)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifts(tokens: usize, dims: usize, cells: u64) -> Shifts {
        let grid = Grid::new(tokens, dims, 2, Rat::new(-1, 3), Rat::from(2)).expect("a grid");
        Shifts::new(&grid, cells).expect("grids")
    }

    const CASES: [(usize, usize, u64); 6] = [(2, 1, 2), (2, 1, 5), (3, 1, 4), (2, 2, 3), (4, 1, 2), (3, 2, 3)];

    /// Every wall of every grid is a margin or more outside of the box, or two margins or more from every other.
    #[test]
    fn walls_of_different_grids_are_two_margins_apart() {
        for (tokens, dims, cells) in CASES {
            let shifts = shifts(tokens, dims, cells);
            let margin = shifts.side() * shifts.margin();
            let mut walls = Vec::new();
            for copy in 0..shifts.copies() {
                let grid = shifts.grid(copy).expect("a grid");
                let begin = |wall: u64| grid.low() + shifts.side() * Rat::from(wall);
                let outer = (begin(0), begin(shifts.cells()));
                assert!(&outer.0 + &margin <= *shifts.whole.low(), "{copy}");
                assert!(&outer.1 - &margin >= *shifts.whole.high(), "{copy}");
                assert_eq!(outer.1, *grid.high());
                walls.extend((1..shifts.cells()).map(begin));
            }
            walls.sort();
            assert!(walls.windows(2).all(|pair| &pair[1] - &pair[0] >= &margin * &Rat::from(2)));
        }
    }

    /// Cells have their values within `mh/K` of all that they serve, inside of the box.
    #[test]
    fn values_are_near_what_their_cells_serve() {
        for (tokens, dims, cells) in CASES {
            let shifts = shifts(tokens, dims, cells);
            let reach = shifts.side() * Rat::from(shifts.spoiled()) / Rat::from(shifts.copies());
            for copy in 0..shifts.copies() {
                let grid = shifts.grid(copy).expect("a grid");
                for (cell, centre) in shifts.centres(copy).into_iter().enumerate() {
                    let (from, to) = shifts.served(copy, cell as u64);
                    assert!(from <= to, "a cell of the box serves a point");
                    assert!((&centre - &from).abs() <= reach && (&to - &centre).abs() <= reach);
                    assert!(*shifts.whole.low() <= centre && centre < *shifts.whole.high());
                    let x = vec![vec![centre; dims]; tokens];
                    assert_eq!(grid.cell(&x), Some(vec![vec![cell as u64; dims]; tokens]));
                }
            }
        }
    }
}
