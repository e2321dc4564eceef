//! Mixers that are linear over the tokens (Yun et al. 2020, section 6), with weights from a seed. `v = uᵀL`, the ids of
//! the columns, with positions `E_ij = j-1` as in Theorem 3:
//!
//! ```text
//! BProj     X + X W_P    q = v (I + W_P)               W_P ∈ R^{n×n}
//! SepConv   X + X * W_C  q_j = v_j + Σ_m c_m v_{j-m}   K taps, -(K-1)/2 ≤ m ≤ K/2; v is 0 outside of the sequence
//! ```
//!
//! (`W_O W_V = I`, one filter for all rows.) Both read a token by `u`, as every mixer here does.
//!
//! *BProj.* For almost every `W_P` it is contextual in the strict sense of Definition 5.1, unless some `v` is 0: then
//! so is `q`. Entries are sums of three numbers that are uniform on `2^64` points of `[-1, 1]`: mean 0, variance 1,
//! density at most 3/8, less than the `1/√(2π)` of a normal variable. The difference of two entries of `q` is
//! `aᵀw + const` in independent entries `w` of `W_P`, where `a` holds a `v`, or the difference of two: whole numbers,
//! not all 0. So some `|a_k| ≥ 1`, and
//!
//! ```text
//! P(|difference| < t) ≤ 3t/4 + 2^-64
//! P(margin < t) ≤ κ  for  t = (4/3)(κ / pairs - 2^-64),    pairs = n|𝓛|(n|𝓛| - 1)/2
//! ```
//!
//! (three uniform variables on `K` points add up to a given value with probability at most `3/(4K) + 1/(4K³)`, and an
//! interval holds at most one point more than its length has steps). With normal entries a union bound gives
//! `√(2π) κ / (n|𝓛|)²`, a little less.
//!
//! *SepConv.* Without positions it commutes with shifts: `(1, 0)` and `(0, 1)` share `1 + c_0`. With a window that is
//! smaller than the sequence, tokens outside of it are invisible. With positions and `2n-1` taps generic taps work,
//! since no `v` is then a shift of another.

use super::mixer::Map;
use super::set::Set;
use crate::exact::{Int, Rat};
use crate::lattice::{Grid, Point};
use crate::random;

/// The contribution of one position to an id: `N (1 + N + … + N^{d-1})`.
pub(super) fn place_unit(grid: &Grid) -> Int {
    let resolution = Int::from(grid.resolution());
    (&resolution * (grid.columns() - Int::ONE)).div_rem(&(&resolution - Int::ONE)).0
}

/// The ids of a sequence's columns.
fn ids(grid: &Grid, positional: bool, point: &Point) -> Vec<Rat> {
    let start = |token: usize| if positional { Int::from(token) * place_unit(grid) } else { Int::ZERO };
    point.iter().enumerate().map(|(token, column)| Rat::from(grid.id(column) + start(token))).collect()
}

/// A number of mean 0 and variance 1: three of the `2^64` numbers `(2w+1)/2^64 - 1`.
fn drawn(state: &mut u64) -> Rat {
    let words = (0..3).fold(Int::ZERO, |sum, _| sum + Int::from(random::word(state)));
    Rat::new((words << 1) + Int::from(3), Int::ONE << 64) - Rat::from(3)
}

/// `q = v (I + W_P)`.
pub(super) fn bproj(set: &Set, seed: u64, positional: bool) -> Map {
    let (grid, mut state) = (set.grid.clone(), seed);
    let n = grid.tokens();
    let mixed: Vec<Vec<Rat>> = (0..n)
        .map(|row| (0..n).map(|column| drawn(&mut state) + Rat::from(usize::from(row == column))).collect())
        .collect();
    Box::new(move |point| {
        let v = ids(&grid, positional, point);
        (0..n).map(|j| v.iter().zip(&mixed).map(|(v, row)| v * &row[j]).sum()).collect()
    })
}

/// `q_j = v_j + Σ_m c_m v_{j-m}`.
pub(super) fn sepconv(set: &Set, taps: usize, seed: u64, positional: bool) -> Map {
    let (grid, mut state) = (set.grid.clone(), seed);
    let filter: Vec<Rat> = (0..taps).map(|_| drawn(&mut state)).collect();
    Box::new(move |point| {
        let v = ids(&grid, positional, point);
        // Tap `m + (K-1)/2` looks at the token `m` places before.
        let seen = |j: usize, tap: usize| (j + (taps - 1) / 2).checked_sub(tap).and_then(|k| v.get(k));
        let around = |j: usize| filter.iter().enumerate().filter_map(|(tap, c)| Some(c * seen(j, tap)?)).sum::<Rat>();
        (0..v.len()).map(|j| &v[j] + around(j)).collect()
    })
}

/// No mixing at all: `q = v`. A function of each token by itself cannot do better than the identity.
pub(super) fn feed_forward(set: &Set, positional: bool) -> Map {
    let grid = set.grid.clone();
    Box::new(move |point| ids(&grid, positional, point))
}

/// The probability that a drawn projection has a small margin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The number of pairs of numbers that must differ by Definition 5.1.
    pub pairs: Int,
}

impl Failure {
    /// The probabilities for which a front end states the margin, as fractions.
    pub const PROBABILITIES: [[i64; 2]; 3] = [[1, 2], [1, 10], [1, 100]];

    /// The failure of BProj on a set; `None` if some `v` is 0, so that it fails for certain.
    pub(super) fn of(set: &Set, positional: bool) -> Option<Self> {
        let entries = Int::from(set.points.len() * set.grid.tokens());
        let zero = |point: &Point| ids(&set.grid, positional, point).iter().all(Rat::is_zero);
        let pairs = (&entries * (&entries - Int::ONE)).div_rem(&Int::from(2)).0;
        (!set.points.iter().any(zero)).then_some(Self { pairs })
    }

    /// The margin `t`: with a probability of at most `kappa` the margin of a draw is smaller.
    pub fn margin(&self, kappa: &Rat) -> Rat {
        let each = kappa / &Rat::from(&self.pairs) - Rat::new(1, Int::ONE << 64);
        (Rat::new(4, 3) * each).max(Rat::ZERO)
    }
}
