//! A Transformer as the theorems have it, trained: blocks of `X + attention(X)` and `X + feed-forward(X)`.
//!
//! Scores are divided by the root of a head's size, hidden units are ReLUs. Without layer norm it is a network of the
//! class that the compiler writes down; with it (before each layer, or after each sum) it is what people train.

use burn::module::Param;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::prelude::*;
use burn::tensor::activation::{relu, softmax};

use super::Stream;
use crate::config::Norm;

/// The sizes of a Transformer.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Blocks.
    pub blocks: usize,
    /// Coordinates of the residual stream.
    pub width: usize,
    /// Heads, which share the width.
    pub heads: usize,
    /// Hidden units.
    pub hidden: usize,
    /// The places of layer norms.
    pub norm: Norm,
    /// The number of places with an encoding of their own, if tokens are to know them.
    pub places: Option<usize>,
}

/// Blocks, an embedding, a read-out.
#[derive(Module, Debug)]
pub struct Transformer<B: Backend> {
    embed: Linear<B>,
    places: Option<Param<Tensor<B, 2>>>,
    blocks: Vec<Block<B>>,
    last: Option<LayerNorm<B>>,
    read_out: Linear<B>,
}

#[derive(Module, Debug)]
struct Block<B: Backend> {
    queries: Linear<B>,
    keys: Linear<B>,
    values: Linear<B>,
    output: Linear<B>,
    first: Linear<B>,
    second: Linear<B>,
    norms: Option<[LayerNorm<B>; 2]>,
    heads: usize,
    #[module(skip)]
    norm: Norm,
}

impl<B: Backend> Transformer<B> {
    /// A Transformer with fresh weights.
    pub fn new(shape: Shape, dims: usize, outputs: usize, stream: &mut Stream, device: &B::Device) -> Self {
        let embed = stream.linear(dims, shape.width, device);
        let places = shape.places.map(|places| stream.uniform([places, shape.width], 1.0, device));
        let blocks = (0..shape.blocks).map(|_| Block::new(shape, stream, device)).collect();
        let last = (shape.norm == Norm::Pre).then(|| LayerNormConfig::new(shape.width).init(device));
        Self { embed, places, blocks, last, read_out: stream.linear(shape.width, outputs, device) }
    }

    /// The values.
    pub fn forward(&self, x: Tensor<B, 3>) -> Tensor<B, 3> {
        let mut x = self.embed.forward(x);
        if let Some(places) = &self.places {
            x = x + places.val().unsqueeze();
        }
        let x = self.blocks.iter().fold(x, |x, block| block.forward(x));
        self.read_out.forward(match &self.last {
            Some(norm) => norm.forward(x),
            None => x,
        })
    }
}

impl<B: Backend> Block<B> {
    fn new(Shape { width, heads, hidden, norm, .. }: Shape, stream: &mut Stream, device: &B::Device) -> Self {
        Self {
            queries: stream.linear(width, width, device),
            keys: stream.linear(width, width, device),
            values: stream.linear(width, width, device),
            output: stream.linear(width, width, device),
            first: stream.linear(width, hidden, device),
            second: stream.linear(hidden, width, device),
            norms: (norm != Norm::None).then(|| [(); 2].map(|()| LayerNormConfig::new(width).init(device))),
            heads,
            norm,
        }
    }

    fn forward(&self, x: Tensor<B, 3>) -> Tensor<B, 3> {
        let x = self.around(0, x, |x| self.attention(x));
        self.around(1, x, |x| self.second.forward(relu(self.first.forward(x))))
    }

    /// A layer, its skip connection and its norm.
    fn around(&self, place: usize, x: Tensor<B, 3>, layer: impl Fn(Tensor<B, 3>) -> Tensor<B, 3>) -> Tensor<B, 3> {
        match (&self.norms, self.norm) {
            (Some(norms), Norm::Pre) => x.clone() + layer(norms[place].forward(x)),
            (Some(norms), Norm::Post) => norms[place].forward(x.clone() + layer(x)),
            _ => x.clone() + layer(x),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "the size of a head")]
    fn attention(&self, x: Tensor<B, 3>) -> Tensor<B, 3> {
        let [count, tokens, width] = x.dims();
        let size = width / self.heads;
        let split = |x: Tensor<B, 3>| x.reshape([count, tokens, self.heads, size]).swap_dims(1, 2);
        let queries = split(self.queries.forward(x.clone()));
        let keys = split(self.keys.forward(x.clone()));
        let scores = queries.matmul(keys.swap_dims(2, 3)) / (size as f64).sqrt();
        let heads = softmax(scores, 3).matmul(split(self.values.forward(x)));
        self.output.forward(heads.swap_dims(1, 2).reshape([count, tokens, width]))
    }
}
