//! Layer normalisation: `(x - mean) / sqrt(variance + 1e-12) · gain + bias`, each row by itself. The small number is
//! BERT's.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;

use super::Initial;
use super::lean::{self, Lean};

/// A gain and a bias.
#[derive(Module, Debug)]
pub struct Norm<B: Backend> {
    gain: Param<Tensor<B, 1>>,
    bias: Param<Tensor<B, 1>>,
}

impl<B: Backend> Norm<B> {
    /// A norm of a width.
    pub fn new(initial: &Initial<B>, width: usize) -> Self {
        Self { gain: initial.vector(width, 1.0), bias: initial.vector(width, 0.0) }
    }

    /// The number of its parameters.
    pub fn parameters(width: usize) -> usize {
        2 * width
    }
}

impl<B: Lean> Norm<B> {
    /// Every row normalised.
    pub fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        lean::normalise(x, self.gain.val(), self.bias.val())
    }
}
