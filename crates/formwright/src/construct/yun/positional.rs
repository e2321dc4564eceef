//! Theorem 3: the network with a positional encoding, for all continuous functions on the box.
//!
//! `g = g_v ∘ g_c ∘ g_q` as in Theorem 2, behind an embedding that adds to token `j` its position `E_j`, the same on
//! every row. The ids of different tokens then lie in ranges of their own and never meet. So every sequence of the grid
//! is a context, and there is nothing to flag or to send to 0. On every cell the network equals the target at the
//! cell's centre.
//!
//! The contextual map is that of `context/positional.rs`, repaired; as printed, that of `context/as_printed.rs`; where
//! tokens see few others, that of `context/sparse.rs`.
//!
//! *Size*: `ndN` feed-forward, `(n-1)D + 1` attention (as printed `nD + 1`) and `n·D^n` feed-forward layers.

use std::sync::Arc;

use super::equivariant::value_stages;
use super::quantise::Quantise;
use super::stages::StageKind;
use super::{Options, network, quantiser_steps};
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
    let (width, order) = (grid.dims(), options.tuning.steps);
    let quantise = Quantise { width, rows: width, steps, flag: None, order };
    let mut stages = vec![quantise.stage(), map.sweep.clone().stage(), map.global.clone().stage()];
    stages.extend(value_stages(grid, target, options, map)?);
    Ok(network(grid, target, options, Some(encoding), stages))
}
