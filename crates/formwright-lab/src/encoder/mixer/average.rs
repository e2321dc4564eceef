//! Average attention (Yun et al. 2020, appendix D): the weights of a head are all `1/n`, so every token gets `mean(X) W
//! + b`.
//!
//! With equal weights `W_V` and `W_O` are one matrix, and the heads are one; the counts of Table 1 say the same. The
//! text speaks of the *other* tokens, but the matrix of its formula includes the token itself, and so do we. Padding
//! has no part in the mean.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;

use super::super::dense::Dense;
use super::super::{Initial, View};

/// `W` and `b`.
#[derive(Module, Debug)]
pub struct Average<B: Backend> {
    output: Dense<B>,
}

impl<B: Backend> Average<B> {
    /// Average attention of a width.
    pub fn new(initial: &Initial<B>, width: usize) -> Self {
        Self { output: Dense::new(&initial.of("output"), width, width) }
    }

    /// `d² + d`.
    pub fn parameters(width: usize) -> usize {
        Dense::<B>::parameters(width, width)
    }

    /// The mean of each sequence, projected, for each of its tokens.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> Tensor<B, 2> {
        let width = x.dims()[1];
        let sum = view.by_sequence(view.shown(x)).sum_dim(1).reshape([view.batch, width]);
        #[expect(clippy::cast_precision_loss, reason = "sequences are short")]
        let mean = match view.counts() {
            Some(counts) => sum / counts,
            None => sum / view.tokens as f64,
        };
        let projected = self.output.forward(mean).reshape([view.batch, 1, width]);
        view.by_row(projected.expand([view.batch, view.tokens, width]))
    }
}
