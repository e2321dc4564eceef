//! Multi-head attention: `Y = [head_1, …, head_h] W_O + b_O`, `head = softmax(Q Kᵀ / √e) V`, `Q, K, V = X W + b`, with
//! one matrix for all three.
//!
//! The keys of padding are hidden.

use burn::module::Module;
use burn::tensor::backend::Backend;
use burn::tensor::{Bool, Tensor};

use super::super::dense::Dense;
use super::super::lean::{self, Lean};
use super::super::{Initial, View};

/// `W`, `W_O` and their biases.
#[derive(Module, Debug)]
pub struct Attention<B: Backend> {
    qkv: Dense<B>,
    output: Dense<B>,
    heads: usize,
}

impl<B: Backend> Attention<B> {
    /// Attention of a width, with so many heads, which divide it.
    pub fn new(initial: &Initial<B>, width: usize, heads: usize) -> Self {
        let qkv = Dense::new(&initial.of("qkv"), width, 3 * width);
        Self { qkv, output: Dense::new(&initial.of("output"), width, width), heads }
    }

    /// `4d² + 4d`.
    pub fn parameters(width: usize) -> usize {
        Dense::<B>::parameters(width, 3 * width) + Dense::<B>::parameters(width, width)
    }

    /// The heads.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// Queries, keys and values, side by side.
    pub fn project(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        self.qkv.forward(x)
    }

    /// The output of the heads, projected.
    pub fn output(&self, heads: Tensor<B, 2>) -> Tensor<B, 2> {
        self.output.forward(heads)
    }
}

impl<B: Lean> Attention<B> {
    /// Attention of every token to all.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> Tensor<B, 2> {
        self.hiding(x, view, view.hidden())
    }

    /// Attention of every token to all that is not hidden from it; the mask broadcasts to `[b, heads, n, n]`.
    pub fn hiding(&self, x: Tensor<B, 2>, view: &View<B>, hidden: Option<Tensor<B, 4, Bool>>) -> Tensor<B, 2> {
        self.output(lean::attend(self.project(x), hidden, view.batch, self.heads))
    }
}
