//! Separable convolution (Yun et al. 2020, equation 6 and appendix D, after Wu et al. 2019):
//!
//! ```text
//! U = A ∘ sigmoid(G),  [A, G] = X W_I + b_I        a gated linear unit
//! Z_ij = Σ_t c_{g(j), t} U_{i + t - ⌊k/2⌋, j}      a filter of length k for each group g(j) of adjacent dimensions,
//!                                                  zeros beyond the ends
//! Y = Z W_O + b_O
//! ```
//!
//! The skip connection and the norm belong to the layer. The paper does not say whether filters are normalised, as
//! those of Wu et al. are by a softmax: equation 6 is plain, and so are ours. A filter of even length has one more tap
//! that looks back. Padding is convolved as zeros.
//!
//! A filter is written out as the matrix `T_ij = c_{j - i + ⌊k/2⌋}` and multiplied, all sequences at once. This takes
//! `n² d` multiplications in matrix units, and no kernel of its own.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;
use burn::tensor::backend::Backend;

use super::super::dense::Dense;
use super::super::{Initial, View};

/// `W_I`, the filters, `W_O` and the biases.
#[derive(Module, Debug)]
pub struct SepConv<B: Backend> {
    input: Dense<B>,
    filters: Param<Tensor<B, 2>>,
    output: Dense<B>,
}

impl<B: Backend> SepConv<B> {
    /// A convolution of a width, with so many filters, which divide it, of a length.
    pub fn new(initial: &Initial<B>, width: usize, filters: usize, length: usize) -> Self {
        Self {
            input: Dense::new(&initial.of("input"), width, 2 * width),
            filters: initial.matrix("filters", [filters, length]),
            output: Dense::new(&initial.of("output"), width, width),
        }
    }

    /// `3d² + 3d + fk`.
    pub fn parameters(width: usize, filters: usize, length: usize) -> usize {
        Dense::<B>::parameters(width, 2 * width) + filters * length + Dense::<B>::parameters(width, width)
    }

    /// Gated, convolved, projected.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> Tensor<B, 2> {
        let [_, width] = x.dims();
        let (b, n) = (view.batch, view.tokens);
        let [filters, _] = self.filters.dims();
        let both = self.input.forward(x);
        let gated = both.clone().narrow(1, 0, width) * sigmoid(both.narrow(1, width, width));
        // [b·n, d] ↦ [f, n, b·d/f]: one product for each filter, whatever the number of sequences.
        let size = width / filters;
        let by_filter = view.shown(gated).reshape([b, n, filters, size]).permute([2, 1, 0, 3]);
        let band = self.band(n).cast(by_filter.dtype());
        let mixed = band.matmul(by_filter.reshape([filters, n, b * size]));
        let mixed = mixed.reshape([filters, n, b, size]).permute([2, 1, 0, 3]);
        self.output.forward(mixed.reshape([b * n, width]))
    }

    /// The matrix `T` of every filter, `[f, n, n]`.
    ///
    /// With `v_s = c_{s - (n-1) + ⌊k/2⌋}`, `s < 2n - 1`, and a zero after it, `n` copies of `v` in a row, cut into rows
    /// of `2n - 1`, are shifted by one from row to row: `T_ij` stands at `i (2n - 1) + (n - 1) + j`, which is `j - i +
    /// n - 1` modulo `2n`.
    fn band(&self, n: usize) -> Tensor<B, 3> {
        let [filters, length] = self.filters.dims();
        // The taps that can meet a token, and the zeros beside them.
        let middle = length / 2;
        let first = middle.saturating_sub(n - 1);
        let end = length.min(middle + n);
        let before = (n - 1 + first) - middle;
        let after = 2 * n - before - (end - first);
        let taps = self.filters.val().narrow(1, first, end - first);
        let zeros = |count: usize| Tensor::zeros([filters, count], (&taps.device(), taps.dtype()));
        let row = match before {
            0 => Tensor::cat(vec![taps.clone(), zeros(after)], 1),
            _ => Tensor::cat(vec![zeros(before), taps.clone(), zeros(after)], 1),
        };
        // Not `repeat_dim`: burn 0.21 adds the gradients of its copies up in the wrong order.
        let copies = row.reshape([filters, 1, 2 * n]).expand([filters, n, 2 * n]).reshape([filters, 2 * n * n]);
        copies.narrow(1, 0, n * (2 * n - 1)).reshape([filters, n, 2 * n - 1]).narrow(2, n - 1, n)
    }
}
