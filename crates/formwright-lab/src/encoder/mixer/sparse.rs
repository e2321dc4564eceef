//! Attention under a sparsity pattern (Yun et al. 2020b): in layer `l` of a cycle token `i` sees the keys of `A_i^l`
//! and no others.
//!
//! The pattern is that of the longest sequence; in a shorter one it applies to the first tokens. It is a mask on dense
//! scores, so no pattern saves anything. Padding is hidden as well; a token that sees nothing but padding gets 0.

use burn::module::Module;
use burn::tensor::backend::Backend;
use burn::tensor::{Bool, Tensor, TensorData};
use formwright::pattern::Connections;

use super::super::lean::Lean;
use super::super::{Initial, View};
use super::attention::Attention;

/// The projections of attention, and the hidden keys.
#[derive(Module, Debug)]
pub struct Sparse<B: Backend> {
    attention: Attention<B>,
    /// `[n, n]`, true where a token does not see a key.
    hidden: Tensor<B, 2, Bool>,
}

impl<B: Backend> Sparse<B> {
    /// Sparse attention of a width, with so many heads, for the connections of a layer.
    pub fn new(initial: &Initial<B>, width: usize, heads: usize, seen: &Connections) -> Self {
        let n = seen.tokens();
        let mut hidden = vec![true; n * n];
        for i in 0..n {
            for j in seen.keys(i) {
                hidden[i * n + j] = false;
            }
        }
        let hidden = Tensor::from_data(TensorData::new(hidden, [n, n]), initial.device());
        Self { attention: Attention::new(initial, width, heads), hidden }
    }
}

impl<B: Lean> Sparse<B> {
    /// Attention of every token to its keys.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> Tensor<B, 2> {
        let (b, n) = (view.batch, view.tokens);
        let pattern = self.hidden.clone().slice([0..n, 0..n]).reshape([1, 1, n, n]);
        let hidden = match view.hidden() {
            Some(padding) => pattern.expand([b, 1, n, n]).bool_or(padding.expand([b, 1, n, n])),
            None => pattern,
        };
        self.attention.hiding(x, view, Some(hidden))
    }
}
