//! The view that mixers have of a batch: its shape, and which of its tokens are padding.
//!
//! No mixer lets a token see padding: attention hides the keys, the others mix zeros instead. The values at padding
//! itself mean nothing, and nothing reads them.

use burn::tensor::backend::Backend;
use burn::tensor::{Bool, FloatDType, Tensor};

/// The shape of a batch and its padding.
#[derive(Clone, Debug)]
pub struct View<B: Backend> {
    /// The number of sequences.
    pub batch: usize,
    /// The number of tokens of each, padding included.
    pub tokens: usize,
    padding: Option<Tensor<B, 2, Bool>>,
    /// 1 for a token, 0 for padding, `[b·n, 1]`.
    shown: Option<Tensor<B, 2>>,
}

impl<B: Backend> View<B> {
    /// The view of a batch; `padding` is `[batch, tokens]`, true where there is no token.
    pub fn new(batch: usize, tokens: usize, padding: Option<Tensor<B, 2, Bool>>, precision: FloatDType) -> Self {
        let shown = |padding: &Tensor<B, 2, Bool>| {
            padding.clone().bool_not().float().cast(precision).reshape([batch * tokens, 1])
        };
        Self { batch, tokens, shown: padding.as_ref().map(shown), padding }
    }

    /// The places without a token, `[b, n]`.
    pub fn padding(&self) -> Option<Tensor<B, 2, Bool>> {
        self.padding.clone()
    }

    /// Rows `[b·n, d]` with zeros where there is padding.
    pub fn shown(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        match &self.shown {
            Some(shown) => x * shown.clone(),
            None => x,
        }
    }

    /// The number of tokens of each sequence, `[b, 1]`, at least 1.
    pub fn counts(&self) -> Option<Tensor<B, 2>> {
        let shown = self.shown.clone()?;
        Some(shown.reshape([self.batch, self.tokens]).sum_dim(1).clamp_min(1.0))
    }

    /// The keys that are hidden, `[b, 1, 1, n]`.
    pub fn hidden(&self) -> Option<Tensor<B, 4, Bool>> {
        Some(self.padding.clone()?.reshape([self.batch, 1, 1, self.tokens]))
    }

    /// Rows `[b·n, d]` as `[b, n, d]`.
    pub fn by_sequence(&self, x: Tensor<B, 2>) -> Tensor<B, 3> {
        let width = x.dims()[1];
        x.reshape([self.batch, self.tokens, width])
    }

    /// `[b, n, d]` as rows `[b·n, d]`.
    pub fn by_row(&self, x: Tensor<B, 3>) -> Tensor<B, 2> {
        let width = x.dims()[2];
        x.reshape([self.batch * self.tokens, width])
    }
}
