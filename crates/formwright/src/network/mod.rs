//! The network: a residual stream of named coordinates, an embedding, stages of layers, a read-out.
//!
//! A [`Network`] does not store its layers. It holds `Stage`s, each with a `Generator` that knows the stage's
//! parameters; from these it *produces* the layers one by one, *counts* them by a formula and *executes* them in closed
//! form. The two executions read the same parameters, so that a changed scale, threshold, flag or order changes both
//! alike.
//!
//! ```text
//! embed, positions ─▶ stage ─▶ stage ─▶ … ─▶ read-out
//!                     layers = attention or feed-forward; an attention layer and the feed-forward layer after it
//!                     form a block
//! ```

mod activation;
pub mod attention;
mod float;
mod layer;
pub(crate) mod mask;
mod size;
mod sumformer;

use std::any::Any;
use std::fmt;

use serde_json::{Value, json};

use crate::error::Result;
pub use crate::exact::Sequence;
use crate::exact::{Int, Rat};

pub use crate::rounding::Precision;
pub(crate) use activation::{Activation, Break, Piece, Piecewise, Side};
pub(crate) use attention::Gaussians;
pub use attention::{AttentionKind, Realisation};
pub use float::{AttentionRun, FeedForwardRun, FloatAffine, FloatLayer, FloatNetwork, FloatStage, Run};
#[cfg(test)]
pub(crate) use layer::Block;
pub use layer::LayerKind;
pub use layer::Normaliser;
pub(crate) use layer::{Attention, FeedForward, Head, Layer};
pub use mask::Mask;
pub(crate) use mask::{Keys, Limits};
pub use size::Size;
pub(crate) use size::StageSize;
pub(crate) use sumformer::{Sumformer, TokenNetwork};
#[cfg(test)]
pub(crate) use sumformer::{equivariant, semi_invariant};

/// A matrix, `[row][column]`.
pub(crate) type Matrix = Vec<Vec<Rat>>;

/// One coordinate of the residual stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// Its name, unique in the network.
    pub name: String,
    /// Its content at each stage.
    pub meaning: String,
}

/// `z = weight · x + bias`, the same for every token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Affine {
    /// `[out][in]`.
    pub weight: Matrix,
    /// `[out]`.
    pub bias: Vec<Rat>,
}

impl Affine {
    /// The image of one token.
    pub fn apply(&self, x: &[Rat]) -> Vec<Rat> {
        self.weight.iter().zip(&self.bias).map(|(row, bias)| dot(row, x) + bias).collect()
    }
}

/// A run of layers that does one thing, with its two executions.
pub(crate) trait Generator: Any + fmt::Debug + Send + Sync {
    /// The width of the residual stream that the layers act on.
    fn width(&self) -> usize;

    /// The kind of every layer of the stage.
    fn kind(&self) -> LayerKind;

    /// The number and the size of the layers, by formula.
    fn size(&self) -> StageSize;

    /// The connections of the densest layer, where tokens do not see all others.
    fn connections(&self) -> Option<usize> {
        None
    }

    /// The layers, in order, made on demand.
    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_>;

    /// The effect of all the layers together on `state`, computed without visiting those that leave it alone.
    fn closed_form(&self, state: Sequence) -> Result<Sequence>;

    /// The parameters, as they are written to `model.json`.
    fn parameters(&self) -> Value;
}

/// A named run of layers and the statement of the paper that it makes true.
#[derive(Debug)]
pub(crate) struct Stage {
    /// A short name, unique in the network.
    pub name: &'static str,
    /// The statement's id in the registry of statements.
    pub statement: &'static str,
    /// The effect of the stage, in one sentence.
    pub meaning: String,
    /// Its layers.
    pub generator: Box<dyn Generator>,
}

/// A Transformer, given by generators of its layers.
#[derive(Debug)]
pub struct Network {
    /// The number of tokens `n`.
    pub tokens: usize,
    /// The residual stream, coordinate by coordinate.
    pub coordinates: Vec<Coordinate>,
    /// The map from an input token to the residual stream.
    pub(crate) embed: Affine,
    /// The positional encoding `[token][coordinate]`, added after the embedding.
    pub positions: Option<Matrix>,
    /// The stages, in order.
    pub(crate) stages: Vec<Stage>,
    /// The map from the residual stream to an output token.
    pub(crate) read_out: Affine,
}

impl Network {
    /// The width of the residual stream.
    pub fn width(&self) -> usize {
        self.coordinates.len()
    }

    /// The number of coordinates of an input token.
    pub fn dims(&self) -> usize {
        self.embed.weight.first().map_or(0, Vec::len)
    }

    /// The number of coordinates of an output token.
    pub fn output_dims(&self) -> usize {
        self.read_out.weight.len()
    }

    /// The state before the first stage.
    pub(crate) fn embed(&self, x: &[Vec<Rat>]) -> Sequence {
        let mut state: Sequence = x.iter().map(|token| self.embed.apply(token)).collect();
        if let Some(positions) = &self.positions {
            for (token, position) in state.iter_mut().zip(positions) {
                add(token, position);
            }
        }
        state
    }

    /// The output for the state after the last stage.
    pub(crate) fn read_out(&self, state: &[Vec<Rat>]) -> Sequence {
        state.iter().map(|token| self.read_out.apply(token)).collect()
    }

    /// Every layer, in order, with its stage.
    pub(crate) fn layers(&self) -> impl Iterator<Item = (&Stage, Result<Layer>)> {
        self.stages.iter().flat_map(|stage| stage.generator.layers().map(move |layer| (stage, layer)))
    }

    /// The first layers of each stage, written out: the stage's name, the place in it, the layer.
    pub fn written(&self, most: usize) -> impl Iterator<Item = Result<(&'static str, usize, Value)>> {
        self.stages.iter().flat_map(move |stage| {
            let layers = stage.generator.layers().take(most).enumerate();
            layers.map(|(place, layer)| Ok((stage.name, place, json!(layer?))))
        })
    }

    #[cfg(test)]
    /// Every block, in order: an attention layer takes the feed-forward layer after it, if there is one.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Result<Block>> {
        let mut layers = self.layers().map(|(_, layer)| layer).peekable();
        std::iter::from_fn(move || {
            let block = match layers.next()? {
                Err(error) => return Some(Err(error)),
                Ok(Layer::FeedForward(layer)) => Block { attention: None, feed_forward: Some(layer) },
                Ok(Layer::Attention(layer)) => {
                    let behind = layers.next_if(|next| matches!(next, Ok(Layer::FeedForward(_))));
                    let feed_forward = match behind {
                        Some(Ok(Layer::FeedForward(layer))) => Some(layer),
                        _ => None,
                    };
                    Block { attention: Some(layer), feed_forward }
                }
            };
            Some(Ok(block))
        })
    }

    /// Counts of layers and parameters, by formula: no layer is made.
    pub(crate) fn size(&self) -> Size {
        size::size(self)
    }

    /// The number of layers of all stages.
    pub fn layer_count(&self) -> Int {
        self.stages.iter().fold(Int::ZERO, |total, stage| total + stage.generator.size().layers)
    }
}

/// `Σ w_k x_k`; zero weights are skipped.
pub(crate) fn dot(w: &[Rat], x: &[Rat]) -> Rat {
    w.iter().zip(x).filter(|(w, _)| !w.is_zero()).map(|(w, x)| w * x).sum()
}

/// `x ← x + y`.
pub(crate) fn add(x: &mut [Rat], y: &[Rat]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}
