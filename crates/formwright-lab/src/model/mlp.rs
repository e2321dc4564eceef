//! A perceptron: `W_L R(… R(W_1 x + b_1) …) + b_L`, `R` the ReLU.

use burn::nn::Linear;
use burn::prelude::*;
use burn::tensor::activation::relu;

use super::Stream;
use crate::config::Perceptron;

/// A perceptron, token by token.
#[derive(Module, Debug)]
pub struct Mlp<B: Backend> {
    layers: Vec<Linear<B>>,
}

impl<B: Backend> Mlp<B> {
    /// A perceptron with fresh weights.
    pub fn new(from: usize, to: usize, shape: Perceptron, stream: &mut Stream, device: &B::Device) -> Self {
        let sizes: Vec<usize> = [from].into_iter().chain(vec![shape.hidden; shape.layers]).chain([to]).collect();
        Self { layers: sizes.windows(2).map(|pair| stream.linear(pair[0], pair[1], device)).collect() }
    }

    /// The values of rows.
    pub fn forward(&self, rows: Tensor<B, 2>) -> Tensor<B, 2> {
        let Some((last, hidden)) = self.layers.split_last() else { return rows };
        last.forward(hidden.iter().fold(rows, |rows, layer| relu(layer.forward(rows))))
    }

    /// The affine maps, first to last.
    pub fn layers(&self) -> &[Linear<B>] {
        &self.layers
    }
}
