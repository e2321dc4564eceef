//! Mixers that add up over the tokens: a token learns itself and one weighted sum of the contents of all tokens,
//!
//! ```text
//! q(L)_j = c_j + C·den·Σ_i B^i Σ_k g_k v_ik,       0 ≤ c_j < C,      den·g whole,      B = 1 + den·Σ_k |g_k|·max v
//! ```
//!
//! a number that names exactly the pair of `c_j` and the vector of sums: if `q` does not tell two tokens apart, no
//! function of a token and the sums does.
//!
//! | mixer | `v_k` | `g_k` |
//! |---|---|---|
//! | `average`, `linformer`, `performer` | the coordinates of token `k` | 1: equal scores, `F = 1`, or `W_Q = W_K = 0` (Alberti et al. 2023) |
//! | `linformer:k:gaussian` | the same | `(1/k) Σ_a F_ak`, which depends on the place: no sum, but it names the sequence |
//! | with `ff-`, and `sum-code` | the code `Φ` of token `k`, by a feed-forward layer | as above |
//! | `sumformer` | `φ(x_k)`, continuous, piecewise linear, drawn: one number | 1 |
//!
//! Plain averages fail: `(0, 1, 5)` and `(0, 2, 4)` agree in token 0 and in the mean. Codes do not, since their sums
//! name multisets: FF, average, FF is a Sumformer. But a *continuous* `φ` of one number fails for `n ≥ 3` off the grid:
//! some `t` has `2φ(t) = φ(0) + φ(N-1)`, and the contexts `{0, N-1}` and `{t, t}` have one sum.

use super::mixer::Map;
use super::set::{Set, check_length, common};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::lattice::codes::Code;
use crate::lattice::{Grid, Point};
use crate::network::{Realisation, Sequence};
use crate::questions::one_number;
use crate::random;

/// The contribution of token `k` to the sums, `[coordinate]`, and its own number.
type Held = Box<dyn Fn(usize, &[u64]) -> (Vec<Int>, Int)>;

/// Values of `φ` at its knots are below this.
const HIGHEST: usize = 1000;

/// The origin of the two sequences, in words.
const HALFWAY: &str = "of the intermediate value theorem";

/// Sums of the contents of tokens, raw or coded.
pub(super) fn map(set: &Set, by: &Realisation, coded: bool, positional: bool) -> Result<Map> {
    let grid = set.grid.clone();
    let (tokens, columns) = (grid.tokens(), grid.columns());
    let (held, largest, own): (Held, Int, Int) = if coded {
        let code = if positional { Code::Positional } else { Code::BoseChowla { field: None } };
        let codes = code.codes(tokens, &columns)?;
        let (largest, ids) = (codes.largest(), codes.values.len() / if positional { tokens } else { 1 });
        let held = move |token: usize, column: &[u64]| {
            let id = grid.id(column).to_usize().unwrap_or_default();
            let code = codes.values[if positional { token * ids + id } else { id }].clone();
            (vec![code.clone()], code)
        };
        (Box::new(held), largest.clone(), largest + Int::ONE)
    } else {
        let unit = super::linear::place_unit(&grid);
        let far = if positional { Int::from(tokens - 1) * &unit } else { Int::ZERO };
        let highest = Int::from(grid.resolution() - 1);
        let held = move |token: usize, column: &[u64]| {
            let place = if positional { Int::from(token) * &unit } else { Int::ZERO };
            (column.iter().map(|x| Int::from(*x)).collect(), grid.id(column) + place)
        };
        (Box::new(held), highest, far + columns)
    };
    Ok(sums(&by.kind.weights(&by.choice, tokens), held, &largest, own))
}

/// The number `q` of the module comment.
fn sums(weights: &[Rat], held: Held, largest: &Int, own: Int) -> Map {
    let den = weights.iter().fold(Int::ONE, |den, weight| common(&den, &weight.denominator()));
    let weights: Vec<Int> = weights.iter().map(|weight| (weight * Rat::from(&den)).floor()).collect();
    let base = weights.iter().fold(Int::ONE, |base, weight| base + weight.abs() * largest);
    Box::new(move |point: &Point| {
        let tokens: Vec<(Vec<Int>, Int)> = point.iter().enumerate().map(|(k, column)| held(k, column)).collect();
        let sum = |i: usize| tokens.iter().zip(&weights).fold(Int::ZERO, |sum, ((v, _), g)| sum + g * &v[i]);
        let coordinates = tokens.first().map_or(0, |(v, _)| v.len());
        let name = (0..coordinates).rev().fold(Int::ZERO, |name, i| name * &base + sum(i));
        tokens.iter().map(|(_, c)| Rat::from(c + &own * &name)).collect()
    })
}

/// `φ` by its values at `0, 1, …, N-1`.
fn knots(resolution: u64, seed: u64) -> Vec<Int> {
    let mut state = seed;
    (0..resolution).map(|_| Int::from(random::below(&mut state, HIGHEST))).collect()
}

/// A Sumformer of latent dimension 1; `φ` has its knots at the points of a grid.
pub(super) fn sumformer(set: &Set, resolution: u64, seed: u64) -> Result<Map> {
    let (phi, cells) = (knots(resolution, seed), set.cells().clone());
    let last = Rat::from(resolution - 1);
    // On a grid with several cells between knots, φ is a whole number of 1/cells.
    let value = |cell: u64| {
        let x = set.coordinate(cell);
        let left = x.floor().to_usize().filter(|_| x <= last).ok_or_else(|| {
            Error::declined(format!("φ is a function on [0, {last}], and a coordinate is {x}"))
                .note("try", "a larger ⟨resolution⟩, which is where its knots are")
        })?;
        let right = &phi[(left + 1).min(phi.len() - 1)];
        let rise = Rat::from(right - &phi[left]) * (x - Rat::from(left));
        Ok(((Rat::from(&phi[left]) + rise) * Rat::from(&cells)).floor())
    };
    let mut values = std::collections::BTreeMap::new();
    for cell in set.points.iter().flatten().flatten() {
        values.insert(*cell, value(*cell)?);
    }
    let (largest, own) = (Int::from(HIGHEST) * &cells, Int::from(set.grid.resolution()));
    let held = move |_: usize, column: &[u64]| (vec![values[&column[0]].clone()], Int::from(column[0]));
    Ok(sums(&vec![Rat::ONE; set.grid.tokens()], Box::new(held), &largest, own))
}

/// Two sequences that a Sumformer of latent dimension 1 does not tell apart: `(0, 0, N-1)` and `(0, t, t)`, filled up
/// with 0.
pub(super) fn halfway(grid: &Grid, seed: u64) -> Result<Set> {
    if grid.tokens() < 3 {
        return Err(Error::declined(
            "for two tokens one number is enough: the other token is the sum less the token itself",
        )
        .note("try", "⟨tokens=3⟩, or ⟨set=grid⟩"));
    }
    check_length(grid.tokens(), HALFWAY)?;
    let last = Rat::from(grid.resolution() - 1);
    let knot = |(x, value): (usize, Int)| (Rat::from(x) / &last, Rat::from(value));
    let phi: Vec<(Rat, Rat)> = knots(grid.resolution(), seed).into_iter().enumerate().map(knot).collect();
    let t = one_number(&phi)?.t * &last;
    let with = |pair: [Rat; 2]| -> Sequence {
        let numbers = std::iter::once(Rat::ZERO).chain(pair).chain(std::iter::repeat(Rat::ZERO));
        numbers.take(grid.tokens()).map(|x| vec![x]).collect()
    };
    let context = format!("(0, 0, {last}) and (0, t, t), t = {t}");
    let mut set = Set::of(&[with([Rat::ZERO, last]), with([t.clone(), t])], HALFWAY)?;
    set.words = format!("the 2 sequences {context}, where 2φ(t) = φ(0) + φ({})", grid.resolution() - 1);
    Ok(set)
}
