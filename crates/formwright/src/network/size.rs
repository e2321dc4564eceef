//! Sizes by formula: the dimensions of a network, without making a layer.

use serde::Serialize;

use super::{LayerKind, Network};
use crate::exact::Int;

/// The size of one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StageSize {
    /// The number of layers.
    pub layers: Int,
    /// Heads per layer; 0 in a feed-forward stage.
    pub heads: usize,
    /// Rows of `W_Q`, `W_K` and `W_V` of a head.
    pub head_size: usize,
    /// Hidden units of the widest layer; 0 in an attention stage.
    pub hidden: usize,
    /// Hidden units of all layers together.
    pub units: Int,
    /// Weights of all layers together that the construction does not fix to zero.
    pub nonzeros: Int,
}

/// The size of a network; the large counts are printed as strings everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Blocks: an attention layer and the feed-forward layer after it are one.
    pub blocks: Int,
    /// Attention layers.
    pub attention_layers: Int,
    /// Feed-forward layers.
    pub feed_forward_layers: Int,
    /// The most heads in a layer.
    pub heads: usize,
    /// The size of the largest head.
    pub head_size: usize,
    /// The connections of the densest attention layer; `None` if no layer has connections, so that masks decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<usize>,
    /// The widest hidden layer.
    pub hidden: usize,
    /// Entries of all weight matrices and biases, including zeros, embedding, positions and read-out.
    pub parameters: Int,
    /// The same count after padding all blocks to one shape, every sub-layer present.
    pub parameters_uniform: Int,
    /// Entries that the construction does not fix to zero.
    pub nonzeros: Int,
}

/// `W_Q`, `b_Q`, `W_K`, `W_V` and `W_O` of one layer.
fn attention_parameters(heads: usize, head_size: usize, width: usize) -> Int {
    Int::from(heads * head_size * (4 * width + 1))
}

/// `W_1`, `b_1` and `W_2` for `units` hidden units, and `b_2` for each of `layers` layers.
fn feed_forward_parameters(units: &Int, layers: &Int, width: usize) -> Int {
    units * Int::from(2 * width + 1) + layers * Int::from(width)
}

pub(super) fn size(network: &Network) -> Size {
    let width = network.width();
    let mut size = Size {
        blocks: Int::ZERO,
        attention_layers: Int::ZERO,
        feed_forward_layers: Int::ZERO,
        heads: 0,
        head_size: 0,
        connections: None,
        hidden: 0,
        parameters: Int::ZERO,
        parameters_uniform: Int::ZERO,
        nonzeros: Int::ZERO,
    };
    let mut behind_attention = false;
    for stage in &network.stages {
        let part = stage.generator.size();
        if part.layers == Int::ZERO {
            continue;
        }
        size.blocks += &part.layers;
        size.nonzeros += &part.nonzeros;
        match stage.generator.kind() {
            LayerKind::Attention => {
                size.attention_layers += &part.layers;
                size.connections = size.connections.max(stage.generator.connections());
                size.heads = size.heads.max(part.heads);
                size.head_size = size.head_size.max(part.head_size);
                size.parameters += &(&part.layers * attention_parameters(part.heads, part.head_size, width));
                behind_attention = true;
            }
            LayerKind::FeedForward => {
                size.feed_forward_layers += &part.layers;
                size.hidden = size.hidden.max(part.hidden);
                size.parameters += &feed_forward_parameters(&part.units, &part.layers, width);
                if behind_attention {
                    size.blocks = size.blocks - Int::ONE;
                }
                behind_attention = false;
            }
        }
    }
    let (dims, outputs) = (network.dims(), network.output_dims());
    let positions = network.positions.as_ref().map_or(0, |rows| rows.len() * width);
    let ends = Int::from(width * dims + width + positions + outputs * width + outputs);
    let block = attention_parameters(size.heads, size.head_size, width)
        + feed_forward_parameters(&Int::from(size.hidden), &Int::ONE, width);
    size.parameters_uniform = &size.blocks * block + &ends;
    size.parameters += &ends;
    let ends = [&network.embed, &network.read_out].into_iter().flat_map(|map| map.weight.iter().chain([&map.bias]));
    let ends = ends.chain(network.positions.iter().flatten());
    size.nonzeros += &Int::from(ends.flatten().filter(|entry| !entry.is_zero()).count());
    size
}
