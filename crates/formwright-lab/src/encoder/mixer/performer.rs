//! Performer: attention by positive random features,
//!
//! ```text
//! φ(x)_r = exp(w_rᵀ x' - ‖x'‖²/2),  x' = x / e^{1/4},  w_r standard normal,
//! head_i = Σ_j (φ(q_i)·φ(k_j)) v_j / Σ_j φ(q_i)·φ(k_j).
//! ```
//!
//! Its expectations over the `w_r` are the numerator and the denominator of softmax attention. The `K` features are
//! drawn once from the seed, the same for all heads of a layer. They are not made orthogonal, never trained and never
//! drawn again. The largest exponent of each query, and the largest of all keys of a head, are subtracted: they cancel.
//! For padding `φ(k_j)` is 0.

use burn::module::Module;
use burn::tensor::backend::Backend;
use burn::tensor::{DType, FloatDType, Tensor, TensorData};

use super::super::{Initial, View};
use super::attention::Attention;
use super::linformer::{by_head, parts};

/// The projections of attention, and the features.
#[derive(Module, Debug)]
pub struct Performer<B: Backend> {
    attention: Attention<B>,
    /// `[e, K]`.
    features: Tensor<B, 2>,
}

impl<B: Backend> Performer<B> {
    /// A Performer of a width, with so many heads and features.
    pub fn new(initial: &Initial<B>, width: usize, heads: usize, features: usize) -> Self {
        let size = width / heads;
        let mut normal = initial.normal("features");
        let drawn: Vec<f64> = (0..size * features).map(|_| normal()).collect();
        let features = Tensor::from_data(TensorData::new(drawn, [size, features]), initial.device());
        Self { attention: Attention::new(initial, width, heads), features }
    }

    /// The parameters of attention; features are not trained.
    pub fn parameters(width: usize) -> usize {
        Attention::<B>::parameters(width)
    }

    /// Attention of every token to all, at a cost of `K n`.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> Tensor<B, 2> {
        let [_, width] = x.dims();
        let precision = x.dtype();
        let heads = self.attention.heads();
        let split = |x: Tensor<B, 2>| by_head(view.by_sequence(x), heads);
        let [query, key, value] = parts(&self.attention.project(x), width).map(split);
        let query = self.exponents(query);
        let query = (query.clone() - query.detach().max_dim(3)).exp();
        let mut key = self.exponents(key);
        if let Some(hidden) = view.hidden() {
            let hidden = hidden.swap_dims(2, 3).expand(key.dims());
            key = key.mask_fill(hidden, f32::MIN);
        }
        let largest = key.clone().detach().max_dim(3).max_dim(2);
        let key = (key - largest).exp();
        let sums = query.clone().matmul(key.clone().sum_dim(2).transpose());
        let value = value.cast(query.dtype());
        let found = query.matmul(key.transpose().matmul(value)) / sums.clamp_min(f32::MIN_POSITIVE);
        let found = found.swap_dims(1, 2).reshape([view.batch * view.tokens, width]);
        self.attention.output(found.cast(precision))
    }

    /// The logarithms of `φ`, in single precision at least.
    #[expect(clippy::cast_precision_loss, reason = "a head's size is small")]
    fn exponents(&self, x: Tensor<B, 4>) -> Tensor<B, 4> {
        let x = if x.dtype() == DType::F64 { x } else { x.cast(FloatDType::F32) };
        let x = x.clone() * (x.dims()[3] as f64).powf(-0.25);
        let half_square = (x.clone() * x.clone()).sum_dim(3) * 0.5;
        x.clone().matmul(self.features.clone().cast(x.dtype()).unsqueeze()) - half_square
    }
}
