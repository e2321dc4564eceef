//! Linformer: attention to `K` mixtures of the tokens, `softmax(Q (E K)ᵀ / √e) F V`, with learned `K × n` matrices `E`
//! and `F` for all heads of a layer.
//!
//! A shorter sequence takes the first columns of `E` and `F`. Padding is mixed as zeros, in keys and values.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::softmax;
use burn::tensor::backend::Backend;

use super::super::{Initial, View};
use super::attention::Attention;

/// The projections of attention, `E` and `F`.
#[derive(Module, Debug)]
pub struct Linformer<B: Backend> {
    attention: Attention<B>,
    keys: Param<Tensor<B, 2>>,
    values: Param<Tensor<B, 2>>,
}

impl<B: Backend> Linformer<B> {
    /// A Linformer of a width, with so many heads and mixtures, for at most so many tokens.
    pub fn new(initial: &Initial<B>, width: usize, heads: usize, slots: usize, tokens: usize) -> Self {
        Self {
            attention: Attention::new(initial, width, heads),
            keys: initial.matrix("keys", [slots, tokens]),
            values: initial.matrix("values", [slots, tokens]),
        }
    }

    /// The parameters of attention, and `2Kn`.
    pub fn parameters(width: usize, slots: usize, tokens: usize) -> usize {
        Attention::<B>::parameters(width) + 2 * slots * tokens
    }

    /// Attention of every token to the mixtures.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> Tensor<B, 2> {
        let width = x.dims()[1];
        let heads = self.attention.heads();
        let [query, key, value] = parts(&self.attention.project(x), width);
        let mixed = |by: &Param<Tensor<B, 2>>, x: Tensor<B, 2>| {
            let by = by.val().narrow(1, 0, view.tokens).cast(x.dtype()).unsqueeze::<3>();
            by_head(by.matmul(view.by_sequence(view.shown(x))), heads)
        };
        let (key, value) = (mixed(&self.keys, key), mixed(&self.values, value));
        let query = by_head(view.by_sequence(query), heads);
        #[expect(clippy::cast_precision_loss, reason = "a head's size is small")]
        let scale = ((width / heads) as f64).sqrt().recip();
        let weights = softmax(query.matmul(key.transpose()) * scale, 3);
        let found = weights.matmul(value).swap_dims(1, 2).reshape([view.batch * view.tokens, width]);
        self.attention.output(found)
    }
}

/// Three parts, side by side.
pub fn parts<B: Backend>(qkv: &Tensor<B, 2>, width: usize) -> [Tensor<B, 2>; 3] {
    [0, 1, 2].map(|part| qkv.clone().narrow(1, part * width, width))
}

/// `[b, n, heads·e]` as `[b, heads, n, e]`.
pub fn by_head<B: Backend>(x: Tensor<B, 3>, heads: usize) -> Tensor<B, 4> {
    let [batch, tokens, width] = x.dims();
    x.reshape([batch, tokens, heads, width / heads]).swap_dims(1, 2)
}
