//! The heads on top of an encoder, and the loss of their scores.
//!
//! ```text
//! masked   h = norm(GELU(x W + b)),  scores = h Tᵀ + c      T: the table of the embedding; norm if the encoder has any
//! class    scores = tanh(x_0 W + b) W' + b'                 x_0: the first token, [CLS]
//! span     scores = x W + b, two for each token             the first and last token of an answer; padding is neither
//! ```
//!
//! Scores are in single precision, and so is the loss: `-Σ_i w_i log softmax(scores_i)_{label i} / Σ_i w_i`.

use burn::module::{Module, Param};
use burn::tensor::activation::{gelu, log_softmax};
use burn::tensor::backend::Backend;
use burn::tensor::{DType, FloatDType, Int, Tensor};

use super::dense::Dense;
use super::lean::{Lean, unit_vectors};
use super::norm::Norm;
use super::sizes::{Place, Sizes};
use super::{Encoder, Initial, View};

/// Words for masked tokens.
#[derive(Module, Debug)]
pub struct MaskedHead<B: Backend> {
    transform: Dense<B>,
    norm: Option<Norm<B>>,
    bias: Param<Tensor<B, 1>>,
}

impl<B: Backend> MaskedHead<B> {
    /// A head for an encoder of these sizes.
    pub fn new(initial: &Initial<B>, sizes: &Sizes) -> Self {
        let initial = initial.of("head");
        Self {
            transform: Dense::new(&initial.of("transform"), sizes.width, sizes.width),
            norm: (sizes.norm != Place::None).then(|| Norm::new(&initial.of("norm"), sizes.width)),
            bias: initial.vector(sizes.vocabulary, 0.0),
        }
    }
}

impl<B: Lean> MaskedHead<B> {
    /// A score for every word at `k` places of each sequence, `[b, k]`: `[b·k, V]`. `x` is the encoder's output.
    pub fn forward(&self, encoder: &Encoder<B>, x: Tensor<B, 2>, places: Tensor<B, 2, Int>) -> Tensor<B, 2> {
        let x = self.transform.forward(rows_at(x, places));
        let mut x = gelu(x);
        if let Some(norm) = &self.norm {
            x = norm.forward(x);
        }
        let table = encoder.table().cast(x.dtype());
        single(x.matmul(table.transpose())) + self.bias.val().unsqueeze()
    }
}

/// A class for a sequence.
#[derive(Module, Debug)]
pub struct ClassHead<B: Backend> {
    pool: Dense<B>,
    output: Dense<B>,
}

impl<B: Backend> ClassHead<B> {
    /// A head for an encoder of these sizes and so many classes.
    pub fn new(initial: &Initial<B>, sizes: &Sizes, classes: usize) -> Self {
        let initial = initial.of("class");
        Self {
            pool: Dense::new(&initial.of("pool"), sizes.width, sizes.width),
            output: Dense::new(&initial.of("output"), sizes.width, classes),
        }
    }

    /// A score for every class, `[b, classes]`.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> Tensor<B, 2> {
        let width = x.dims()[1];
        let first = view.by_sequence(x).narrow(1, 0, 1).reshape([view.batch, width]);
        single(self.output.forward(self.pool.forward(first).tanh()))
    }
}

/// The first and the last token of an answer.
#[derive(Module, Debug)]
pub struct SpanHead<B: Backend> {
    output: Dense<B>,
}

impl<B: Backend> SpanHead<B> {
    /// A head for an encoder of these sizes.
    pub fn new(initial: &Initial<B>, sizes: &Sizes) -> Self {
        Self { output: Dense::new(&initial.of("span.output"), sizes.width, 2) }
    }

    /// Two scores for every token: `[first, last]`, each `[b, n]`.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> [Tensor<B, 2>; 2] {
        let scores = single(self.output.forward(x));
        [0, 1].map(|end| {
            let scores = scores.clone().narrow(1, end, 1).reshape([view.batch, view.tokens]);
            match view.padding() {
                Some(padding) => scores.mask_fill(padding, f32::MIN),
                None => scores,
            }
        })
    }
}

/// The mean of `-log softmax(scores)` at the labels, with a weight for each row.
pub fn cross_entropy<B: Backend>(
    scores: Tensor<B, 2>,
    labels: Tensor<B, 1, Int>,
    weights: Tensor<B, 1>,
) -> Tensor<B, 1> {
    let logarithms = log_softmax(scores, 1).gather(1, labels.unsqueeze_dim(1)).squeeze_dim::<1>(1);
    let weights = weights.cast(logarithms.dtype());
    -(logarithms * weights.clone()).sum() / weights.sum().clamp_min(f32::MIN_POSITIVE)
}

/// The rows of `k` places of each sequence, `[b·k, d]`: a product with unit vectors, so the gradient is a product as
/// well.
fn rows_at<B: Backend>(x: Tensor<B, 2>, places: Tensor<B, 2, Int>) -> Tensor<B, 2> {
    let ([rows, width], [batch, chosen]) = (x.dims(), places.dims());
    let tokens = rows / batch;
    let unit = unit_vectors(places.reshape([batch * chosen, 1]), tokens, x.dtype());
    let found = unit.reshape([batch, chosen, tokens]).matmul(x.reshape([batch, tokens, width]));
    found.reshape([batch * chosen, width])
}

/// The tensor in single precision at least.
fn single<B: Backend>(x: Tensor<B, 2>) -> Tensor<B, 2> {
    if x.dtype() == DType::F64 { x } else { x.cast(FloatDType::F32) }
}
