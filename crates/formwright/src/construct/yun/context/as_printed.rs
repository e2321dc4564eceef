//! Theorem 3 as printed (`--as-printed theorem3-positions`): positions `E_j = j-1`, and a sweep of all `n` ranges.
//!
//! The ids of token `j` lie in `[s_j, s_j + D - 1]`, `s_j = E_j · N(1 + N + … + N^{d-1})`, so `l_1 < … < l_n` always.
//! As in Lemma 6, the sweep is to end in
//!
//! ```text
//! l̃_1 = l_1 + D(l_n - l_1),      l̃_j = l_j + D(l̃_{j-1} - l_j),      l̃_1 < … < l̃_n,
//! ```
//!
//! and the global shift adds `nND^{n+1} · l̃_n` to all. In the digits `a_j = l_j - s_j`,
//!
//! ```text
//! l̃_n = const - (D-1) Σ_{j<n} D^{n-j} a_j + (D^n - D + 1) a_n
//! ```
//!
//! rises with the last digit and falls with the others, which bounds it from above.
//!
//! # The sequence that is hit twice
//!
//! For `n = 2`, `d = 1` the recurrence fails at one sequence. Tokens `1-δ` and `0` have the ids `D-1` and `D`. The
//! first moves to `2D-1`, the last window of token 2's range, and moves again; the ids end as `(2D-1+D(D-1)², D²)`, not
//! increasing. They are distinct from all others all the same, so the mapping survives. For `n ≥ 3` or `d ≥ 2` there is
//! no such sequence.
//!
//! *Size*: `nD + 1` attention layers.
//!
//! *Departures*: none. The repair is in positional.rs.

use super::ContextMap;
use super::arrangement::{Arrangement, Recurrence};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;

/// Token `j` at `j-1`.
pub(super) struct Printed;

impl Arrangement for Printed {
    fn position(&self, _: usize, token: usize) -> usize {
        token
    }

    fn swept<'a>(&self, order: &'a [usize]) -> &'a [usize] {
        order
    }

    fn global_scale(&self, grid: &Grid) -> Int {
        let n = grid.tokens();
        Int::from(n) * Int::from(grid.resolution()) * grid.columns().pow(n + 1)
    }

    /// From below: the first token, shifted once, is past `D`, also in the sequence that is hit twice.
    fn bounds(&self, map: &ContextMap) -> (Int, Int) {
        let last = map.grid.tokens() - 1;
        (map.grid.columns(), map.top_where(|token| token == last))
    }

    fn highest(&self, _: &ContextMap) -> Option<Int> {
        None
    }

    fn mean_digits(&self, _: &Grid) -> Option<Vec<Rat>> {
        None
    }

    fn close(&self, recurrence: &Recurrence, shifted: &Int, digits: Vec<Int>) -> Option<Vec<Int>> {
        recurrence.around(shifted, digits)
    }

    /// The sequence that is hit twice.
    fn irregular(&self, grid: &Grid) -> Option<Vec<Int>> {
        let exists = grid.tokens() == 2 && grid.dims() == 1;
        exists.then(|| vec![grid.columns() - Int::ONE, Int::ZERO])
    }
}
