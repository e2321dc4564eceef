//! Packing: several feed-forward layers in one wide block, or each in a block of its own with four ReLUs.

use super::to_float;
use crate::error::Result;
use crate::exact::Rat;
use crate::network::{Activation, FeedForward, Precision};

/// The width of feed-forward blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// One layer of the paper a block, four ReLUs.
    Literal,
    /// At most this many hidden units.
    Units(usize),
    /// As many as it takes for one block a stage.
    All,
}

/// ReLUs of a literal block.
pub(super) const LITERAL: usize = 4;

/// The blocks of a stage's layers. Layers of windows that hold values are rounded so that they add up exactly.
pub fn pack(
    layers: Vec<FeedForward>,
    hidden: Hidden,
    holds_values: bool,
    entries: &[Rat],
    precision: Precision,
) -> Result<Vec<FeedForward>> {
    let mut blocks = layers;
    if holds_values {
        for block in &mut blocks {
            round_windows(block, entries, precision);
        }
    }
    if hidden == Hidden::Literal {
        blocks.iter_mut().for_each(|block| pad(block, LITERAL));
    }
    Ok(blocks)
}

/// Rounds a block of windows: the first unit of the highest one opens ¾ below its centre.
fn round_windows(block: &mut FeedForward, entries: &[Rat], precision: Precision) {
    let Some(highest) = block.b1.iter().cloned().reduce(Rat::min) else { return };
    // The last unit opens ½ above the centre.
    let top = -highest - Rat::new(1, 2);
    let mut entries = entries.to_vec();
    entries[0] = top.clone();
    to_float::on_grid(block, &top, &entries, precision);
}

/// Adds hidden units that do nothing.
fn pad(block: &mut FeedForward, units: usize) {
    let width = block.b2.len();
    while block.b1.len() < units {
        block.w1.push(vec![Rat::ZERO; width]);
        block.b1.push(Rat::ZERO);
        block.activations.push(Activation::Relu);
        block.w2.iter_mut().for_each(|row| row.push(Rat::ZERO));
    }
}
