//! Lemma 6, for Theorem 2: tokens have no positions, and a context is a set of `n` distinct columns.
//!
//! The sweep visits the windows `v = 0, 1, …, D-1`. For sorted ids `l_1 < … < l_n` it ends in `l̃_1 < … < l̃_n`,
//!
//! ```text
//! l̃_1 = l_1 + D(l_n - l_1),      l̃_j = l_j + D(l̃_{j-1} - l_j),
//! ```
//!
//! and the global shift adds `D^{n+1} l̃_n` to all. Then, with `t_l = D^{2n}(D-1)` and `t_r = D^{2n+1}(D-1)`:
//!
//! 1. the ids of a sequence with distinct columns are distinct;
//! 2. so are the ids of two such sequences that are no permutations of each other, by `⌊id/D^{n+1}⌋ = l̃_n`;
//! 3. they lie in `[t_l, t_r)`;
//! 4. the ids of every other sequence, duplicates and flags, lie outside `[t_l, t_r]`.
//!
//! *Size*: `D + 1` attention layers.
//!
//! # Lemma 10
//!
//! ```text
//! D^{n-1}(D-1) ≤ l̃_n ≤ D^n(D-1) - (D-1)²
//! ```
//!
//! # Order of the ids
//!
//! With gaps `g_k = l_{k+1} - l_k` and spread `a = l_n - l_1`, `l̃_n = D^n a - T`, `T = Σ_{k<n} D^{n-k} g_k - l_n`.
//! Since `1 ≤ g_k ≤ D-1`, `0 < T < D^n`: a larger spread always wins. At equal spread, `T + D - 1` has the base-`D`
//! digits `g_1, …, g_{n-1}, D-1-l_n`: smaller gaps win, the first one first, then the larger `l_n`; the last gap
//! follows from the others. So the contexts by decreasing `l̃_n` are those of [`by_spread`].
//!
//! *Departure*: category 3 of the proof needs `l_i ≥ 0` where the paper has `>`.

use super::arrangement::{Arrangement, Recurrence};
use super::{Context, ContextMap};
use crate::exact::{Int, Rat};
use crate::lattice::{Grid, by_spread, increasing_tuples};

/// Tokens without positions.
pub(super) struct Sets;

impl Arrangement for Sets {
    fn position(&self, _: usize, _: usize) -> usize {
        0
    }

    /// All tokens share one range.
    fn swept<'a>(&self, order: &'a [usize]) -> &'a [usize] {
        &order[..1]
    }

    fn global_scale(&self, grid: &Grid) -> Int {
        grid.columns().pow(grid.tokens() + 1)
    }

    /// Lemma 10.
    fn bounds(&self, map: &ContextMap) -> (Int, Int) {
        let (n, columns) = (map.grid.tokens(), map.grid.columns());
        let below = &columns - Int::ONE;
        (columns.pow(n - 1) * &below, columns.pow(n) * &below - &below * &below)
    }

    /// Lemma 10 is not met by all grids.
    fn highest(&self, _: &ContextMap) -> Option<Int> {
        None
    }

    /// The `k`-th smallest of `n` out of `0, …, D-1`.
    fn mean_digits(&self, grid: &Grid) -> Option<Vec<Rat>> {
        let (n, after) = (grid.tokens(), Rat::from(grid.columns() + Int::ONE));
        Some((1..=n).map(|k| &after * &Rat::new(k, n + 1) - Rat::ONE).collect())
    }

    fn close(&self, recurrence: &Recurrence, shifted: &Int, digits: Vec<Int>) -> Option<Vec<Int>> {
        recurrence.around(shifted, digits).filter(|digits| digits.windows(2).all(|pair| pair[0] < pair[1]))
    }

    fn count(&self, grid: &Grid) -> Int {
        grid.contexts()
    }

    fn lexicographic(&self, grid: &Grid) -> Box<dyn Iterator<Item = Vec<Int>>> {
        Box::new(increasing_tuples(&Int::ZERO, grid.columns(), grid.tokens()))
    }

    fn descending<'a>(&self, map: &'a ContextMap) -> Box<dyn Iterator<Item = Context> + 'a> {
        let sets = by_spread(map.grid.columns(), map.grid.tokens());
        Box::new(sets.map(|columns| map.context(columns)))
    }
}

/// `[t_l, t_r)`, which holds the ids of the sequences with distinct columns and no others.
pub fn interval(grid: &Grid) -> (Int, Int) {
    let (n, columns) = (grid.tokens(), grid.columns());
    let below = &columns - Int::ONE;
    (columns.pow(2 * n) * &below, columns.pow(2 * n + 1) * below)
}
