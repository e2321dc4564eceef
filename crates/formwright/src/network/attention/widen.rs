//! A network with more coordinates in its residual stream, which begin as zeros: room for what a head puts aside.

use std::ops::Range;

use crate::network::{Coordinate, FeedForwardRun, FloatNetwork};

/// The most values that the heads of a layer find.
pub(crate) fn most_sums(network: &FloatNetwork) -> usize {
    let attention = network.runs.iter().filter_map(|run| run.attention.as_ref());
    attention.map(|attention| attention.heads * attention.value_size).max().unwrap_or(0)
}

/// Embedding, positions and read-out in a wider stream, which begins with zeros there.
pub(crate) fn widen_ends(network: &mut FloatNetwork, width: usize, wide: usize) {
    let embed = &mut network.embed;
    embed.outputs = wide;
    embed.weight.resize(wide * embed.inputs, 0.0);
    embed.bias.resize(wide, 0.0);
    network.positions = network.positions.take().map(|positions| widened(&positions, width, wide));
    network.read_out.inputs = wide;
    network.read_out.weight = widened(&network.read_out.weight, width, wide);
}

/// One more coordinate, whose name is made unique.
pub(crate) fn add_coordinate(network: &mut FloatNetwork, mut name: String, meaning: &str) {
    while network.coordinates.iter().any(|known| known.name == name) {
        name.push('\'');
    }
    network.coordinates.push(Coordinate { name, meaning: meaning.to_owned() });
}

/// Rows of one length, filled up with zeros.
pub(crate) fn widened(rows: &[f64], width: usize, wide: usize) -> Vec<f64> {
    rows.chunks_exact(width).flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, wide - width))).collect()
}

/// The feed-forward layers of all blocks in the wider stream.
pub(crate) fn wide_layers(layer: &FeedForwardRun, blocks: usize, width: usize, wide: usize) -> FeedForwardRun {
    let parts: Vec<FeedForwardRun> = (0..blocks).map(|block| wide_layer(layer, block, width, wide)).collect();
    let all = |tensor: fn(&FeedForwardRun) -> &Vec<f64>| parts.iter().flat_map(tensor).copied().collect();
    let (w1, b1) = (all(|part| &part.w1), all(|part| &part.b1));
    FeedForwardRun { w1, b1, w2: all(|part| &part.w2), b2: all(|part| &part.b2), ..*layer }
}

/// A feed-forward layer of one block in the wider stream.
pub(crate) fn wide_layer(layer: &FeedForwardRun, block: usize, width: usize, wide: usize) -> FeedForwardRun {
    let hidden = layer.hidden;
    let part = |tensor: &[f64], size: usize| tensor[block * size..][..size].to_vec();
    let mut w2 = part(&layer.w2, width * hidden);
    w2.resize(wide * hidden, 0.0);
    let mut b2 = part(&layer.b2, width);
    b2.resize(wide, 0.0);
    let w1 = widened(&part(&layer.w1, hidden * width), width, wide);
    FeedForwardRun { stage: layer.stage, hidden, w1, b1: part(&layer.b1, hidden), w2, b2 }
}

/// The layer that empties some registers: `t - R(t) + R(-t) = 0`, in any order; of what is below the normal range
/// something may stay, where it is kept in one place and flushed in another, but never more than that.
pub(crate) fn emptied(stage: usize, registers: Range<usize>, wide: usize) -> FeedForwardRun {
    let hidden = 2 * registers.len();
    let (mut w1, mut w2) = (vec![0.0; hidden * wide], vec![0.0; wide * hidden]);
    for (place, register) in registers.enumerate() {
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            let unit = 2 * place + side;
            w1[unit * wide + register] = sign;
            w2[register * hidden + unit] = -sign;
        }
    }
    FeedForwardRun { stage, hidden, w1, b1: vec![0.0; hidden], w2, b2: vec![0.0; wide] }
}
