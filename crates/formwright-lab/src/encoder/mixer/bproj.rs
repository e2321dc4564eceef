//! Bi-linear projection (Yun et al. 2020, equation 5): `Y = W_O X W_P`, in rows `Y_i = Σ_j P_ij X_j W_O + b_O`, with a
//! learned `n × n` matrix `P`.
//!
//! The paper's equation has one matrix, `W_O`, beside `W_P`, and Table 1 counts it so. The bias is ours, as all other
//! projections have one. A shorter sequence takes the upper left corner of `P`. Padding is mixed as zeros.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;

use super::super::dense::Dense;
use super::super::{Initial, View};

/// `P`, `W_O` and its bias.
#[derive(Module, Debug)]
pub struct BProj<B: Backend> {
    mix: Param<Tensor<B, 2>>,
    output: Dense<B>,
}

impl<B: Backend> BProj<B> {
    /// A projection of a width, for at most so many tokens.
    pub fn new(initial: &Initial<B>, width: usize, tokens: usize) -> Self {
        let mix = initial.matrix("mix", [tokens, tokens]);
        Self { mix, output: Dense::new(&initial.of("output"), width, width) }
    }

    /// `n² + d² + d`.
    pub fn parameters(width: usize, tokens: usize) -> usize {
        tokens * tokens + Dense::<B>::parameters(width, width)
    }

    /// The tokens mixed by `P`, then projected.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> Tensor<B, 2> {
        let n = view.tokens;
        let mix = self.mix.val().slice([0..n, 0..n]).cast(x.dtype()).unsqueeze::<3>();
        let mixed = mix.matmul(view.by_sequence(view.shown(x)));
        self.output.forward(view.by_row(mixed))
    }
}
