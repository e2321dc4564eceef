//! Theorem 3: the network with a positional encoding, for all continuous functions on the box.
//!
//! Token `j` is moved by its position `E_j` (the same on every row) before the quantiser, so that its ids fill a range of their own,
//! `[s_j, s_j + D - 1]`, `s_j = E_j · N(1 + N + … + N^{d-1})` in integer units. Different tokens then never share an id, every sequence of
//! the grid is a context, and there is nothing to flag or to send to 0.
//!
//! As printed, `E_j = j-1` and the sweep visits all `n` ranges. For `n = 2`, `d = 1` one sequence is hit twice: tokens `1-δ` and `0`
//! have the ids `D-1` and `D`, the first is moved to `2D-1`, the last window of token 2's range, and moves again; the ids end as
//! `(2D-1+D(D-1)², D²)`, not increasing (`--as-printed theorem3-positions`). They are distinct all the same, so the mapping survives.
//!
//! Repaired: `E_1 = n-1`, `E_j = j-2` for `j ≥ 2`, and the sweep visits the ranges of tokens `2, …, n` only. Token 1 is the largest and
//! is never shifted; a shifted id exceeds `l_1 ≥ s_1`, past every window. Then
//!
//! ```text
//! l̃_1 = l_1,      l̃_j = l_j + D(l̃_{j-1} - l_j),      l̃_1 < … < l̃_n < nND^n,
//! ```
//!
//! and the last layer's scale is `nND^n` (as printed `nND^{n+1}`).
//!
//! *Size*: `ndN` feed-forward, `(n-1)D + 1` attention (as printed `nD + 1`) and `n·D^n` feed-forward layers.

use std::sync::Arc;

use super::equivariant::value_stages;
use super::quantise::Quantise;
use super::{Options, global_stage, network, quantise_stage, quantiser_steps, shifts_stage};
use crate::error::Result;
use crate::exact::Rat;
use crate::lattice::Grid;
use crate::network::Network;
use crate::target::Target;

/// The network of Theorem 3.
pub(super) fn build(grid: &Grid, target: &Arc<Target>, options: &Options) -> Result<Network> {
    let map = options.map(grid);
    let encoding: Vec<Vec<Rat>> = (0..grid.tokens())
        .map(|token| vec![Rat::from(map.position(token)) * Rat::from(grid.resolution()); grid.dims()])
        .collect();
    let steps = quantiser_steps(grid, options);
    let mut stages = vec![
        quantise_stage(Quantise {
            width: grid.dims(),
            rows: grid.dims(),
            steps,
            flag: None,
            order: options.tuning.steps,
        }),
        shifts_stage(map.sweep.clone()),
        global_stage(map.global.clone()),
    ];
    stages.extend(value_stages(grid, target, options, map)?);
    Ok(network(grid, target, options, Some(encoding), stages))
}
