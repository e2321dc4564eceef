//! The recurrence that all contextual maps share, and where they differ.
//!
//! ```text
//! l̃_j = l_j + D(l̃_{j-1} - l_j),      j = 2, …, n
//! ```
//!
//! The sweep meets the tokens in an order, here `1, …, n`, and each of them is then the smallest while the one before
//! it is the largest. An [`Arrangement`] says where the ids of each token begin, which ranges of ids the sweep visits,
//! and what becomes of the first token: `l̃_1 = l_1` if its range is not visited, and else `l̃_1 = l_1 + D(l_n - l_1)`.
//!
//! # Decoding
//!
//! Let `s_j` be the smallest id of token `j`, and `a_j = l_j - s_j < D` its digit. Since `l̃_j ≡ l_j (mod D)`,
//!
//! ```text
//! a_j = (l̃_j - s_j) mod D,      l̃_{j-1} = (l̃_j - l_j)/D + l_j,
//! ```
//!
//! so that `l̃_n` gives all digits, down to the first.

use std::borrow::Cow;

use super::{Context, ContextMap};
use crate::exact::{Int, Rat};
use crate::lattice::{Grid, tuples};

/// A way to tell the tokens of a sequence apart. By default every sequence of the grid is a context.
pub(super) trait Arrangement {
    /// The `n` tokens in the order in which the sweep meets them.
    fn order(&self, n: usize) -> Cow<'_, [usize]> {
        Cow::Owned((0..n).collect())
    }

    /// The position `E` of a token among `n`, in units of the box's side. Tokens count from 0.
    fn position(&self, n: usize, token: usize) -> usize;

    /// The tokens whose ranges the sweep visits.
    fn swept<'a>(&self, order: &'a [usize]) -> &'a [usize];

    /// The factor of the global shift.
    fn global_scale(&self, grid: &Grid) -> Int;

    /// Bounds of `max_j l̃_j` over all contexts, both inclusive.
    fn bounds(&self, map: &ContextMap) -> (Int, Int);

    /// The largest `max_j l̃_j` of all contexts, if there is a formula.
    fn highest(&self, map: &ContextMap) -> Option<Int> {
        Some(self.bounds(map).1)
    }

    /// The mean of each token's digit over all contexts, if all of them follow the recurrence.
    fn mean_digits(&self, grid: &Grid) -> Option<Vec<Rat>> {
        let mean = Rat::from(grid.columns() - Int::ONE) / Rat::from(2);
        Some(vec![mean; grid.tokens()])
    }

    /// The digits of all tokens, if there is a first digit for which the recurrence begins with `l̃_1 = shifted`.
    fn close(&self, recurrence: &Recurrence, shifted: &Int, digits: Vec<Int>) -> Option<Vec<Int>>;

    /// The columns of the sequence that does not follow the recurrence, if there is one.
    fn irregular(&self, _grid: &Grid) -> Option<Vec<Int>> {
        None
    }

    /// The number of contexts.
    fn count(&self, grid: &Grid) -> Int {
        grid.points()
    }

    /// The columns of every context, in lexicographic order.
    fn lexicographic(&self, grid: &Grid) -> Box<dyn Iterator<Item = Vec<Int>>> {
        let columns = Int::ZERO.up_to(&grid.columns()).collect();
        Box::new(tuples(columns, grid.tokens()))
    }

    /// Every context, by decreasing `max_j l̃_j`.
    fn descending<'a>(&self, map: &'a ContextMap) -> Box<dyn Iterator<Item = Context> + 'a> {
        let (lowest, highest) = self.bounds(map);
        let tops = std::iter::successors(Some(highest), |top| Some(top - Int::ONE));
        Box::new(tops.take_while(move |top| *top >= lowest).flat_map(|top| map.with_top(&top)))
    }

    /// Refuses an arrangement that is none of `n` tokens.
    fn check(&self, _n: usize) -> Result<(), String> {
        Ok(())
    }

    /// The smallest id of each token: `s_j = E_j · N(1 + N + … + N^{d-1})`.
    fn starts(&self, grid: &Grid) -> Vec<Int> {
        let (n, resolution) = (grid.tokens(), Int::from(grid.resolution()));
        let (unit, _) = (&resolution * (grid.columns() - Int::ONE)).div_rem(&(&resolution - Int::ONE));
        (0..n).map(|token| Int::from(self.position(n, token)) * &unit).collect()
    }
}

/// The recurrence, forwards on rational ids: `l̃_j` for the tokens in their order. It is affine, so that means go to means.
pub(super) fn shifted(ids: &[Rat], scale: &Rat, shifts_first: bool) -> Vec<Rat> {
    let mut before = if shifts_first { ids[ids.len() - 1].clone() } else { ids[0].clone() };
    let shift = |id: &Rat| {
        before = id + scale * &(&before - id);
        before.clone()
    };
    ids.iter().map(shift).collect()
}

/// The recurrence, to be read backwards.
pub(super) struct Recurrence<'a> {
    /// The factor `D` of the sweep.
    pub scale: &'a Int,
    /// The number of columns: that factor, unless a file was edited.
    pub columns: Int,
    /// The smallest id of each token.
    pub starts: Vec<Int>,
}

impl Recurrence<'_> {
    /// The columns for which the recurrence ends in `l̃_n = top`.
    pub(super) fn decode(&self, top: &Int, arrangement: &dyn Arrangement) -> Option<Vec<Int>> {
        let n = self.starts.len();
        let mut digits = vec![Int::ZERO; n];
        let mut shifted = top.clone();
        for token in arrangement.order(n)[1..].iter().rev().copied() {
            digits[token] = self.digit(&shifted, token)?;
            shifted = self.back(&shifted, &digits[token], token);
        }
        arrangement.close(self, &shifted, digits)
    }

    /// The digits where the first token is shifted as well: `l̃_1 = l_1 + D(l_n - l_1)`.
    pub(super) fn around(&self, shifted: &Int, mut digits: Vec<Int>) -> Option<Vec<Int>> {
        digits[0] = self.digit(shifted, 0)?;
        let last = digits.len() - 1;
        let largest = &digits[last] + &self.starts[last];
        (self.back(shifted, &digits[0], 0) == largest).then_some(digits)
    }

    /// `a_j` from `l̃_j`.
    fn digit(&self, shifted: &Int, token: usize) -> Option<Int> {
        let digit = (shifted - &self.starts[token]) % self.scale;
        (digit < self.columns).then_some(digit)
    }

    /// `l̃_{j-1}` from `l̃_j` and `a_j`.
    fn back(&self, shifted: &Int, digit: &Int, token: usize) -> Int {
        let before = digit + &self.starts[token];
        (shifted - &before).div_rem(self.scale).0 + before
    }
}
