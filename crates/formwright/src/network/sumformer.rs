//! The Sumformer (Alberti et al. 2023, (14) and (15)): tokens meet in one sum, and nowhere else.
//!
//! ```text
//! Σ = Σ_k φ(x_k) ∈ R^{d'},    S(X)_i = ψ(x_i, Σ)
//! ```
//!
//! φ and ψ are token-wise networks, ReLU between affine maps; `d'` is the latent dimension. Inputs and outputs may have
//! different dimensions. Numbers are exact. [`construct::sumformer`](crate::construct::sumformer) turns it into a
//! Transformer.

use super::Affine;
#[cfg(test)]
use super::{Sequence, add};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};

/// A network that sees one token: affine maps with the ReLU between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenNetwork {
    layers: Vec<Affine>,
}

impl TokenNetwork {
    /// A network of these layers; refused if they do not fit each other.
    pub fn new(layers: Vec<Affine>) -> Result<Self> {
        let wrong = |what: String| Err(Error::input(what).note("try", "weights [out][in] and biases [out]"));
        if layers.is_empty() {
            return wrong("a token-wise network has no layer".to_owned());
        }
        for (place, layer) in layers.iter().enumerate() {
            let (rows, columns) = shape(layer);
            if rows == 0 || columns == 0 || layer.weight.iter().any(|row| row.len() != columns) {
                return wrong(format!("the weights of layer {place} are no matrix"));
            }
            if layer.bias.len() != rows {
                return wrong(format!("layer {place} has {rows} rows and {} biases", layer.bias.len()));
            }
            if let Some(before) = place.checked_sub(1).map(|before| shape(&layers[before]).0)
                && before != columns
            {
                return wrong(format!("layer {place} reads {columns} numbers, and layer {} gives {before}", place - 1));
            }
        }
        Ok(Self { layers })
    }

    /// The affine maps, in order.
    pub fn layers(&self) -> &[Affine] {
        &self.layers
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |layer| shape(layer).1)
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| shape(layer).0)
    }

    /// The sizes of its input, its hidden layers and its output.
    pub fn sizes(&self) -> Vec<usize> {
        std::iter::once(self.inputs()).chain(self.layers.iter().map(|layer| shape(layer).0)).collect()
    }

    /// Entries of all weights and biases, including zeros.
    pub fn parameters(&self) -> Int {
        let entries = |layer: &Affine| shape(layer).0 * (shape(layer).1 + 1);
        Int::from(self.layers.iter().map(entries).sum::<usize>())
    }

    /// The output for a token.
    pub fn apply(&self, x: &[Rat]) -> Vec<Rat> {
        let mut values = x.to_vec();
        for (place, layer) in self.layers.iter().enumerate() {
            if place > 0 {
                values = values.into_iter().map(|value| value.max(Rat::ZERO)).collect();
            }
            values = layer.apply(&values);
        }
        values
    }
}

/// Rows and columns.
fn shape(layer: &Affine) -> (usize, usize) {
    (layer.weight.len(), layer.weight.first().map_or(0, Vec::len))
}

/// The pair of φ and ψ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sumformer {
    phi: TokenNetwork,
    psi: TokenNetwork,
}

impl Sumformer {
    /// The Sumformer of φ and ψ; refused if ψ does not read a token and the sum.
    pub fn new(phi: TokenNetwork, psi: TokenNetwork) -> Result<Self> {
        let wanted = phi.inputs() + phi.outputs();
        if psi.inputs() != wanted {
            let headline = format!("ψ reads {} numbers, and a token and the sum are {wanted}", psi.inputs());
            return Err(Error::input(headline)
                .note("φ", format!("reads {} and gives {}", phi.inputs(), phi.outputs()))
                .note("try", format!("a ψ that reads {wanted}: the token first, then the sum")));
        }
        Ok(Self { phi, psi })
    }

    /// The network φ, whose outputs are summed.
    pub fn phi(&self) -> &TokenNetwork {
        &self.phi
    }

    /// The network ψ, which reads a token and the sum.
    pub fn psi(&self) -> &TokenNetwork {
        &self.psi
    }

    /// Coordinates of an input token.
    pub fn dims(&self) -> usize {
        self.phi.inputs()
    }

    /// Coordinates of an output token.
    pub fn output_dims(&self) -> usize {
        self.psi.outputs()
    }

    /// `d'`, the coordinates of the sum.
    pub fn latent(&self) -> usize {
        self.phi.outputs()
    }

    #[cfg(test)]
    /// Entries of the weights and biases of φ and ψ.
    pub fn parameters(&self) -> Int {
        self.phi.parameters() + self.psi.parameters()
    }

    #[cfg(test)]
    /// `S(X)`, for any number of tokens.
    pub fn run(&self, x: &[Vec<Rat>]) -> Sequence {
        let mut sum = vec![Rat::ZERO; self.latent()];
        for token in x {
            add(&mut sum, &self.phi.apply(token));
        }
        x.iter().map(|token| self.psi.apply(&[token.as_slice(), &sum].concat())).collect()
    }
}

#[cfg(test)]
/// Lemma 2.9, from right to left: `f(X)_i = g(x_i, {x_j}_{j≠i})`. It is equivariant if `g` does not depend on the order
/// of the others.
pub(crate) fn equivariant<G>(g: G) -> impl Fn(&[Vec<Rat>]) -> Sequence
where
    G: Fn(&[Rat], &[Vec<Rat>]) -> Vec<Rat>,
{
    move |x| {
        let others = |i: usize| [&x[..i], &x[i + 1..]].concat();
        (0..x.len()).map(|i| g(&x[i], &others(i))).collect()
    }
}

#[cfg(test)]
/// Lemma 2.9, from left to right: `g(x, others) = f(x, others)_1`. It does not depend on the order of the others (it is
/// *semi-invariant*) if `f` is equivariant.
pub(crate) fn semi_invariant<F>(f: F) -> impl Fn(&[Rat], &[Vec<Rat>]) -> Vec<Rat>
where
    F: Fn(&[Vec<Rat>]) -> Sequence,
{
    move |x, others| {
        let sequence = [&[x.to_vec()], others].concat();
        f(&sequence).into_iter().next().unwrap_or_default()
    }
}
