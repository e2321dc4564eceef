//! Yun et al. 2020b: the contextual map under a sparsity pattern that satisfies Assumption 1, on ids alone.
//!
//! With the chain `γ`, positions `n-1` for `γ(1)` and `i-2` for `γ(i)`, `i ≥ 2`, so that the ids of the tokens lie in ranges of their own:
//!
//! ```text
//! for i = 2, …, n, for the D ids v of the range of γ(i):
//!     id_k ← id_k + D (max - min)_{A_k^l}        for all tokens with id_k = v, in a layer l with γ(i-1) ∈ A^l_{γ(i)}
//! for l = 1, …, s:
//!     id_k ← id_k + M max_{A_k^l}                M = 2s D^{n-1} R,   R = (n-1) N(D-1)/(N-1) + D-1
//! ```
//!
//! After the sweeps `l̃_{γ(i)} = l_{γ(i)} + D (l̃_{γ(i-1)} - l_{γ(i)})`, since `γ(i)` holds the smallest of all ids and `γ(i-1)` the largest; at the end
//! `id_k ≡ l̃_k (mod M)` and `⌊id_k / M^s⌋ = max l̃` (a test looks at both).

use super::linear::place_unit;
use super::mixer::Map;
use super::set::Set;
use crate::artifact::read_pattern;
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::pattern::{Assumptions, Connections, Pattern};

/// The map under a pattern, which is declined where it does not satisfy Assumption 1.
pub(super) fn map(set: &Set, name: &str) -> Result<Map> {
    let grid = set.grid.clone();
    let n = grid.tokens();
    let pattern = pattern(name, n)?;
    let assumptions = Assumptions::of(&pattern);
    let (order, served, hops) = assumptions.satisfied(&pattern)?;
    let (order, served) = (order.to_vec(), served.to_vec());
    let (unit, columns) = (place_unit(&grid), grid.columns());
    let start = |step: usize| Int::from(if step == 0 { n - 1 } else { step - 1 }) * &unit;
    let starts: Vec<Int> = (0..n).map(start).collect();
    let range = &starts[0] + &columns - Int::ONE;
    let last_scale = Int::from(2 * hops) * columns.pow(n - 1) * range;
    Ok(Box::new(move |point| {
        let mut ids = vec![Int::ZERO; n];
        for (step, token) in order.iter().enumerate() {
            ids[*token] = grid.id(&point[*token]) + &starts[step];
        }
        for step in 1..n {
            let end = &starts[step] + &columns;
            sweep(&mut ids, pattern.layer(served[step - 1]), &starts[step], &end, &columns);
        }
        for layer in 0..hops {
            ids = shifted(&ids, pattern.layer(layer), &last_scale);
        }
        ids.into_iter().map(Rat::from).collect()
    }))
}

/// By its name, or from a file.
fn pattern(name: &str, tokens: usize) -> Result<Pattern> {
    let pattern = read_pattern(name, tokens)?;
    if pattern.tokens() != tokens {
        let found = pattern.tokens();
        return Err(Error::input(format!("the pattern {name} is for {found} tokens, and the sequences have {tokens}"))
            .note("try", format!("--tokens {found}")));
    }
    Ok(pattern)
}

/// The largest and the smallest id that a token sees.
fn seen<'a>(ids: &'a [Int], layer: &Connections, token: usize) -> (&'a Int, &'a Int) {
    let keys = || layer.keys(token).iter().map(|key| &ids[*key]);
    (keys().max().unwrap_or(&ids[token]), keys().min().unwrap_or(&ids[token]))
}

/// The windows `start, …, end-1`, by jumping from one that holds an id to the next.
fn sweep(ids: &mut [Int], layer: &Connections, start: &Int, end: &Int, scale: &Int) {
    let mut from = start.clone();
    while let Some(v) = ids.iter().filter(|id| **id >= from && *id < end).min().cloned() {
        let gain = |token: usize| {
            let (max, min) = seen(ids, layer, token);
            if ids[token] == v { &ids[token] + (max - min) * scale } else { ids[token].clone() }
        };
        let next: Vec<Int> = (0..ids.len()).map(gain).collect();
        ids.clone_from_slice(&next);
        from = v + Int::ONE;
    }
}

/// The all-max shift.
fn shifted(ids: &[Int], layer: &Connections, scale: &Int) -> Vec<Int> {
    (0..ids.len()).map(|token| &ids[token] + seen(ids, layer, token).0 * scale).collect()
}
