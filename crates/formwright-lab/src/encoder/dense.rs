//! `x ↦ x W + b`, row by row.
//!
//! Rows are tokens of all sequences of a batch, `[b·n, d]`. They have two dimensions: with three, the gradient of `W`
//! would be one matrix a sequence, added up afterwards. The weights stay in single precision; they are cast to that of
//! `x`, and their gradients come back the same way.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use burn::tensor::module::linear;

use super::Initial;

/// A matrix and a bias.
#[derive(Module, Debug)]
pub struct Dense<B: Backend> {
    weight: Param<Tensor<B, 2>>,
    bias: Param<Tensor<B, 1>>,
}

impl<B: Backend> Dense<B> {
    /// A dense layer of a shape.
    pub fn new(initial: &Initial<B>, input: usize, output: usize) -> Self {
        Self { weight: initial.matrix("weight", [input, output]), bias: initial.vector(output, 0.0) }
    }

    /// The number of its parameters.
    pub fn parameters(input: usize, output: usize) -> usize {
        input * output + output
    }

    /// `x W + b`.
    pub fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        let precision = x.dtype();
        linear(x, self.weight.val().cast(precision), Some(self.bias.val().cast(precision)))
    }
}
