//! Permutation equivariance, `f(XP) = f(X)P` for every permutation `P`: proved, or refuted by a witness, or neither.

use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::exact::Sequence;
use crate::lattice::Grid;

/// The result of a search for symmetry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Symmetry {
    /// It is equivariant.
    Proved,
    /// It is not, as the witness shows.
    Refuted(Witness),
    /// Neither a proof nor a witness was found.
    Unknown,
}

/// A sequence and a swap of two tokens at which equivariance fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Witness {
    /// `X`.
    pub x: Sequence,
    /// The tokens that are swapped.
    pub swap: (usize, usize),
    /// `f(XP)`.
    pub found: Sequence,
    /// `f(X)P`.
    pub expected: Sequence,
}

impl Witness {
    /// Adds the witness to an error.
    pub fn explain(&self, error: Error) -> Error {
        let (first, second) = self.swap;
        error
            .note("witness", format!("X = {}, swapping tokens {first} and {second}", show(&self.x)))
            .note("f(XP)", format!("= {}", show(&self.found)))
            .note("f(X)P", format!("= {}", show(&self.expected)))
    }
}

/// A sequence on one line: `[0, 1/2]`, with several coordinates a token `[(0, 1/2), (1, 0)]`.
pub(crate) fn show(x: &[Vec<Rat>]) -> String {
    let token = |token: &Vec<Rat>| {
        let entries: Vec<String> = token.iter().map(ToString::to_string).collect();
        if entries.len() == 1 { entries.concat() } else { format!("({})", entries.join(", ")) }
    };
    format!("[{}]", x.iter().map(token).collect::<Vec<String>>().join(", "))
}

/// The number of sequences that the search for a witness tries.
const TRIES: u64 = 64;

/// The most steps of the target that it takes, and the fewest values that it looks at all the same.
const MOST_STEPS: u128 = 1 << 21;
const LEAST_VALUES: u128 = 16;

/// Searches cell centres for a witness: rising staircases first, then cells drawn with a fixed seed.
///
/// A sequence at which `f` is not defined is passed over: it speaks neither for nor against. Where a value of `f` takes many steps, few
/// are looked at: first swaps of tokens whose values differ.
pub(crate) fn refute(grid: &Grid, steps: u128, f: impl Fn(&Sequence) -> Result<Sequence>) -> Option<Witness> {
    let (n, d, cells) = (grid.tokens(), grid.dims(), grid.resolution());
    let most = (MOST_STEPS / steps.max(1)).max(LEAST_VALUES);
    let mut looked_at = 0;
    let mut draw = linear_congruential();
    for attempt in 0..TRIES {
        let mut cell = |token: usize, row: usize| match attempt {
            0 => (token + row) as u64 % cells,
            1 => (n - 1 - token + row) as u64 % cells,
            _ => draw() % cells,
        };
        let point: Vec<Vec<u64>> = (0..n).map(|token| (0..d).map(|row| cell(token, row)).collect()).collect();
        let x = grid.centre(&point);
        looked_at += 1;
        if looked_at > most {
            return None;
        }
        let Ok(value) = f(&x) else { continue };
        let mut swaps: Vec<usize> = (0..n - 1).collect();
        if swaps.len() as u128 > most {
            swaps.sort_by_key(|first| value[*first] == value[first + 1]);
        }
        for first in swaps {
            looked_at += 1;
            if looked_at > most {
                return None;
            }
            let swap = |sequence: &Sequence| {
                let mut swapped = sequence.clone();
                swapped.swap(first, first + 1);
                swapped
            };
            let expected = swap(&value);
            match f(&swap(&x)) {
                Ok(found) if found != expected => {
                    return Some(Witness { x, swap: (first, first + 1), found, expected });
                }
                _ => {}
            }
        }
    }
    None
}

/// Knuth's MMIX generator from a fixed seed; the high bits are the good ones.
fn linear_congruential() -> impl FnMut() -> u64 {
    let mut state: u64 = 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}
