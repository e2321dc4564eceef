//! The models that are trained, a file each: [`mlp`], [`sumformer`], [`transformer`].
//!
//! Initial weights are drawn from a [`Stream`], layer after layer, so they depend on the seed alone.

pub mod mlp;
pub mod sumformer;
pub mod transformer;

use burn::module::Param;
use burn::nn::Linear;
use burn::prelude::*;
use burn::tensor::TensorData;
use formwright::random;

use crate::config::Architecture;
use crate::data::stream;

pub use mlp::Mlp;
pub use sumformer::{MlpSumformer, PolynomialSumformer};
pub use transformer::Transformer;

const WEIGHTS: u64 = 0x7765_6967;

/// Seeded numbers for initial weights.
pub struct Stream(u64);

impl Stream {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(stream(seed, WEIGHTS))
    }

    /// A tensor of numbers in `[-bound, bound)`.
    #[expect(clippy::cast_possible_truncation, reason = "weights are f32")]
    pub fn uniform<B: Backend, const D: usize>(
        &mut self,
        shape: [usize; D],
        bound: f64,
        device: &B::Device,
    ) -> Param<Tensor<B, D>> {
        let numbers: Vec<f32> =
            (0..shape.iter().product()).map(|_| (bound * (2.0 * random::uniform(&mut self.0) - 1.0)) as f32).collect();
        Param::from_tensor(Tensor::from_data(TensorData::new(numbers, shape), device))
    }

    /// An affine map, weights and biases uniform in `±1/√inputs`.
    #[expect(clippy::cast_precision_loss, reason = "sizes of layers")]
    pub fn linear<B: Backend>(&mut self, from: usize, to: usize, device: &B::Device) -> Linear<B> {
        let bound = 1.0 / (from as f64).sqrt();
        Linear { weight: self.uniform([from, to], bound, device), bias: Some(self.uniform([to], bound, device)) }
    }
}

/// A model of sequences: `[sequence, token, coordinate]` to `[sequence, token, value]`.
#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of them, and burn has no modules in boxes")]
pub enum Regressor<B: Backend> {
    /// φ fixed to the power sums.
    Polynomial(PolynomialSumformer<B>),
    /// φ and ψ trained.
    Mlp(MlpSumformer<B>),
    /// Blocks.
    Transformer(Transformer<B>),
}

impl<B: Backend> Regressor<B> {
    /// A model with fresh weights.
    pub fn new(
        model: &Architecture,
        tokens: usize,
        dims: usize,
        outputs: usize,
        seed: u64,
        device: &B::Device,
    ) -> Self {
        let mut stream = Stream::new(seed);
        match *model {
            Architecture::PolynomialSumformer { psi } => {
                Self::Polynomial(PolynomialSumformer::new(tokens, dims, outputs, psi, &mut stream, device))
            }
            Architecture::MlpSumformer { perceptron, latent } => {
                Self::Mlp(MlpSumformer::new(dims, latent, outputs, perceptron, &mut stream, device))
            }
            Architecture::Transformer { blocks, width, heads, hidden, norm, positions } => {
                let places = positions.then_some(tokens);
                let shape = transformer::Shape { blocks, width, heads, hidden, norm, places };
                Self::Transformer(Transformer::new(shape, dims, outputs, &mut stream, device))
            }
        }
    }

    /// The values.
    pub fn forward(&self, x: Tensor<B, 3>) -> Tensor<B, 3> {
        match self {
            Self::Polynomial(model) => model.forward(x),
            Self::Mlp(model) => model.forward(x),
            Self::Transformer(model) => model.forward(x),
        }
    }
}
