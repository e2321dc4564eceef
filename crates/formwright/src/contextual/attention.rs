//! The paper's stack of attention layers (Lemma 6; with positions Theorem 3, repaired), and its generalisation to
//! several windows per layer.
//!
//! ```text
//! for windows v, …, v+K-1, ascending:    id_j ← id_j + D (max - min)     for all tokens with v ≤ id_j < v+K
//! last:                                  id_j ← id_j + scale · max
//! ```
//!
//! With `K = 1` this is the recurrence of `construct/yun/context/`, which supplies windows and scales. With `K ≥ 2`
//! windows in a layer (`2K` heads, or one wide window) all their tokens move by the *same* amount. For `n = 2` that is
//! enough, even with one window for all ids. For `n = 3`, `d = 1`, `N = 4`, `K = 2` the contexts `{0, 1, 3}` and
//! `{0, 2, 3}` both reach the maximum 43. With positions every token has a range of its own, and all `D` windows of a
//! range fit into one layer: no other token moves along.

use super::mixer::Map;
use super::set::Set;
use crate::construct::yun::context::{ContextMap, Positions};
use crate::exact::{Int, Rat};

/// The stack with so many windows per layer.
pub(super) fn map(set: &Set, windows: u64, positional: bool) -> Map {
    let positions = if positional { Positions::Repaired } else { Positions::None };
    let (grid, stack, windows) = (set.grid.clone(), ContextMap::new(&set.grid, positions), Int::from(windows));
    let starts: Vec<Int> =
        (0..grid.tokens()).map(|token| Int::from(stack.position(token)) * super::linear::place_unit(&grid)).collect();
    Box::new(move |point| {
        let mut ids: Vec<Int> = point.iter().zip(&starts).map(|(column, start)| grid.id(column) + start).collect();
        for run in &stack.sweep.windows {
            sweep(&mut ids, &run.start, &run.count, &windows, &stack.sweep.scale);
        }
        let shift = ids.iter().max().cloned().unwrap_or_default() * &stack.global.scale;
        ids.into_iter().map(|id| Rat::from(id + &shift)).collect()
    })
}

/// A run of windows, so many per layer, executed by jumping from one layer that touches a token to the next.
fn sweep(ids: &mut [Int], start: &Int, count: &Int, together: &Int, scale: &Int) {
    let mut passed: Option<Int> = None;
    let end = start + count;
    loop {
        // The layer that holds an id, unless it is outside of the run or already passed.
        let layer = |id: &Int| {
            let layer = (id - start).div_rem(together).0;
            (id >= start && *id < end && passed.as_ref().is_none_or(|passed| layer > *passed)).then_some(layer)
        };
        let Some(next) = ids.iter().filter_map(layer).min() else { return };
        let touched: Vec<usize> = (0..ids.len()).filter(|token| layer(&ids[*token]).as_ref() == Some(&next)).collect();
        let (max, min) = (ids.iter().max().cloned().unwrap_or_default(), ids.iter().min().cloned().unwrap_or_default());
        for token in touched {
            ids[token] = &ids[token] + (&max - &min) * scale;
        }
        passed = Some(next);
    }
}
