//! The Sumformers of Alberti et al. 2023, section 5: `S(X)_i = ψ(x_i, Σ_k φ(x_k))`.
//!
//! *Polynomial*: `φ(x) = (x^α)`, `1 ≤ |α| ≤ n`, is fixed, and ψ is a perceptron. *MLP*: φ and ψ both are.

use burn::prelude::*;
use burn::tensor::TensorData;

use super::{Mlp, Stream};
use crate::config::Perceptron;

/// ψ on tokens and on the sums of their sequence: `[sequence · token, ·]` to `[sequence, token, ·]`.
fn read_out<B: Backend>(psi: &Mlp<B>, x: Tensor<B, 3>, features: Tensor<B, 3>) -> Tensor<B, 3> {
    let [count, tokens, dims] = x.dims();
    let latent = features.dims()[2];
    let sums = features.sum_dim(1).expand([count, tokens, latent]);
    let y = psi.forward(Tensor::cat(vec![x, sums], 2).reshape([count * tokens, dims + latent]));
    let outputs = y.dims()[1];
    y.reshape([count, tokens, outputs])
}

/// φ and ψ trained.
#[derive(Module, Debug)]
pub struct MlpSumformer<B: Backend> {
    phi: Mlp<B>,
    psi: Mlp<B>,
}

impl<B: Backend> MlpSumformer<B> {
    /// A model with fresh weights.
    pub fn new(
        dims: usize,
        latent: usize,
        outputs: usize,
        shape: Perceptron,
        stream: &mut Stream,
        device: &B::Device,
    ) -> Self {
        let phi = Mlp::new(dims, latent, shape, stream, device);
        Self { phi, psi: Mlp::new(dims + latent, outputs, shape, stream, device) }
    }

    /// The values.
    pub fn forward(&self, x: Tensor<B, 3>) -> Tensor<B, 3> {
        let [count, tokens, dims] = x.dims();
        let features = self.phi.forward(x.clone().reshape([count * tokens, dims]));
        let latent = features.dims()[1];
        read_out(&self.psi, x, features.reshape([count, tokens, latent]))
    }

    /// φ.
    pub fn phi(&self) -> &Mlp<B> {
        &self.phi
    }

    /// ψ.
    pub fn psi(&self) -> &Mlp<B> {
        &self.psi
    }
}

/// φ fixed to the power sums.
#[derive(Module, Debug)]
pub struct PolynomialSumformer<B: Backend> {
    psi: Mlp<B>,
    #[module(skip)]
    monomials: Monomials,
}

impl<B: Backend> PolynomialSumformer<B> {
    /// A model with fresh weights.
    pub fn new(
        tokens: usize,
        dims: usize,
        outputs: usize,
        psi: Perceptron,
        stream: &mut Stream,
        device: &B::Device,
    ) -> Self {
        let monomials = Monomials::new(dims, tokens);
        Self { psi: Mlp::new(dims + monomials.count(), outputs, psi, stream, device), monomials }
    }

    /// The values.
    pub fn forward(&self, x: Tensor<B, 3>) -> Tensor<B, 3> {
        let features = self.monomials.of(&x);
        read_out(&self.psi, x, features)
    }
}

/// All `x^α`, `1 ≤ |α| ≤ n`: those of a degree are those of the degree below times a coordinate.
#[derive(Clone, Debug)]
pub struct Monomials {
    /// For each degree from 2 on and each monomial: its place among those of the degree below, and the coordinate to
    /// multiply by.
    degrees: Vec<(Vec<i32>, Vec<i32>)>,
    dims: usize,
}

impl Monomials {
    /// The monomials of `dims` coordinates up to a degree.
    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "the configuration bounds them")]
    pub fn new(dims: usize, degree: usize) -> Self {
        // Each is made once: the coordinate to multiply by is not below the last one.
        let mut last: Vec<usize> = (0..dims).collect();
        let mut degrees = Vec::new();
        for _ in 2..=degree {
            let pairs: Vec<(usize, usize)> =
                last.iter().enumerate().flat_map(|(place, &from)| (from..dims).map(move |k| (place, k))).collect();
            last = pairs.iter().map(|(_, k)| *k).collect();
            degrees.push(pairs.into_iter().map(|(place, k)| (place as i32, k as i32)).unzip());
        }
        Self { degrees, dims }
    }

    /// The number of monomials.
    pub fn count(&self) -> usize {
        self.dims + self.degrees.iter().map(|(places, _)| places.len()).sum::<usize>()
    }

    /// Their values: `[sequence, token, coordinate]` to `[sequence, token, monomial]`.
    pub fn of<B: Backend>(&self, x: &Tensor<B, 3>) -> Tensor<B, 3> {
        let device = x.device();
        let places = |places: &Vec<i32>| {
            Tensor::<B, 1, Int>::from_data(TensorData::new(places.clone(), [places.len()]), &device)
        };
        let mut all = vec![x.clone()];
        for (below, coordinates) in &self.degrees {
            let last = all[all.len() - 1].clone();
            all.push(last.select(2, places(below)) * x.clone().select(2, places(coordinates)));
        }
        Tensor::cat(all, 2)
    }
}
