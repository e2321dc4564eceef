//! Theorem 3, repaired: positions give the ids of each token a range of their own, and every sequence is a context.
//!
//! The position `E_j` is added to every row of token `j`, in units of the box's side. Its ids then lie in
//!
//! ```text
//! [s_j, s_j + D - 1],      s_j = E_j · N(1 + N + … + N^{d-1}),      E_1 = n-1,      E_j = j-2 for j ≥ 2,
//! ```
//!
//! and the sweep visits the ranges of tokens `2, …, n`. Token 1 is the largest and is never shifted; a shifted id
//! exceeds `l_1 ≥ s_1`, past every window. So
//!
//! ```text
//! l̃_1 = l_1,      l̃_j = l_j + D(l̃_{j-1} - l_j),      l̃_1 < … < l̃_n < nND^n,
//! ```
//!
//! and the global shift adds `nND^n · l̃_n` to all. In the digits `a_j = l_j - s_j`,
//!
//! ```text
//! l̃_n = const + D^{n-1} a_1 - (D-1) Σ_{j≥2} D^{n-j} a_j
//! ```
//!
//! rises with the first digit and falls with the others, which bounds it.
//!
//! The same holds for the tokens in any other order `γ`: `γ(1)` highest, `γ(2), …, γ(n)` below it (sparse.rs).
//!
//! *Size*: `(n-1)D + 1` attention layers.
//!
//! *Departures*: the paper's `E_j = j-1`, its sweep of all `n` ranges and its scale `nND^{n+1}` are in as_printed.rs,
//! with the sequence for which its claim `l̃_1 < … < l̃_n` fails.

use std::borrow::Cow;

use super::ContextMap;
use super::arrangement::{Arrangement, Recurrence};
use crate::exact::Int;
use crate::lattice::Grid;

/// The first token highest and never shifted, the others below it in order.
pub(super) struct FirstHighest<'a> {
    /// `γ`, if it is not the order of the sequence.
    pub order: Option<&'a [usize]>,
}

impl Arrangement for FirstHighest<'_> {
    fn order(&self, n: usize) -> Cow<'_, [usize]> {
        self.order.map_or_else(|| Cow::Owned((0..n).collect()), Cow::Borrowed)
    }

    fn position(&self, n: usize, token: usize) -> usize {
        let rank = |order: &[usize]| order.iter().position(|other| *other == token).unwrap_or_default();
        match self.order.map_or(token, rank) {
            0 => n - 1,
            rank => rank - 1,
        }
    }

    fn swept<'a>(&self, order: &'a [usize]) -> &'a [usize] {
        &order[1..]
    }

    fn global_scale(&self, grid: &Grid) -> Int {
        let n = grid.tokens();
        Int::from(n) * Int::from(grid.resolution()) * grid.columns().pow(n)
    }

    fn bounds(&self, map: &ContextMap) -> (Int, Int) {
        let first = self.order(map.grid.tokens())[0];
        (map.top_where(|token| token != first), map.top_where(|token| token == first))
    }

    /// `l̃_1 = l_1`.
    fn close(&self, recurrence: &Recurrence, shifted: &Int, mut digits: Vec<Int>) -> Option<Vec<Int>> {
        let first = self.order(digits.len())[0];
        let digit = shifted - &recurrence.starts[first];
        let valid = digit >= Int::ZERO && digit < recurrence.columns;
        digits[first] = digit;
        valid.then_some(digits)
    }

    fn check(&self, n: usize) -> Result<(), String> {
        let Some(order) = self.order else { return Ok(()) };
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        let whole = sorted.into_iter().eq(0..n);
        if whole { Ok(()) } else { Err(format!("the chain {order:?} is not a row of {n} tokens")) }
    }
}
