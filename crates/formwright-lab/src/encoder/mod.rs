//! A BERT-like encoder whose layers each mix tokens in their own way (Yun et al. 2020, section 6).
//!
//! ```text
//! ids ─▶ word + position + segment ─▶ L × (mixer, feed-forward) ─▶ rows [b·n, d] ─▶ a head
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `layout.rs` | the mixer of each layer, as `sepconv*2,attention*10` |
//! | `sizes.rs` | the sizes, and the number of parameters of each part |
//! | `initial.rs` | initial weights, by seed and name |
//! | `mixer/` | a file a token mixer |
//! | `layer.rs`, `dense.rs`, `norm.rs` | the parts around them |
//! | `head.rs` | masked words, classes, spans, and their loss |
//! | `lean.rs`, `libtorch.rs` | operations whose gradients are written by hand, and LibTorch's own |
//! | `view.rs` | shape and padding of a batch |
//!
//! There is no dropout. Activations have the encoder's precision; weights and their gradients are always in single
//! precision. [`Encoder::in_precision`] with `BF16` is mixed precision.

mod dense;
pub mod head;
mod initial;
mod layer;
mod layout;
pub mod lean;
#[cfg(feature = "libtorch")]
mod libtorch;
pub mod mixer;
mod norm;
mod sizes;
mod view;

use burn::module::{Module, Param};
use burn::tensor::backend::Backend;
use burn::tensor::{Bool, FloatDType, Int, Tensor};
use formwright::error::Result;

pub use dense::Dense;
pub use initial::Initial;
pub use layer::Layer;
pub use layout::{Layout, Mix};
pub use lean::Lean;
pub use norm::Norm;
pub use sizes::{Head, Part, Place, Sizes};
pub use view::View;

/// A batch of sequences: `[b, n]` each.
#[derive(Clone, Debug)]
pub struct Batch<B: Backend> {
    /// Numbers of words.
    pub ids: Tensor<B, 2, Int>,
    /// Numbers of segments, where the encoder has any.
    pub segments: Option<Tensor<B, 2, Int>>,
    /// True where there is no token.
    pub padding: Option<Tensor<B, 2, Bool>>,
}

/// The encoder.
#[derive(Module, Debug)]
pub struct Encoder<B: Backend> {
    words: Param<Tensor<B, 2>>,
    positions: Param<Tensor<B, 2>>,
    segments: Option<Param<Tensor<B, 2>>>,
    layers: Vec<Layer<B>>,
    /// The norm after the embedding, or after the last layer.
    norm: Option<Norm<B>>,
    #[module(skip)]
    place: Place,
    #[module(skip)]
    precision: FloatDType,
}

impl<B: Backend> Encoder<B> {
    /// An encoder with the initial weights of a seed, in single precision.
    pub fn new(initial: &Initial<B>, sizes: &Sizes) -> Result<Self> {
        sizes.check()?;
        let embedding = initial.of("embedding");
        let layers = initial.of("layers");
        let layer = |layer| Layer::new(&layers.of(layer), sizes, layer);
        Ok(Self {
            words: embedding.matrix("words", [sizes.vocabulary, sizes.width]),
            positions: embedding.matrix("positions", [sizes.tokens, sizes.width]),
            segments: (sizes.segments > 0).then(|| embedding.matrix("segments", [sizes.segments, sizes.width])),
            layers: (0..sizes.layout.layers().len()).map(layer).collect::<Result<_>>()?,
            norm: (sizes.norm != Place::None).then(|| Norm::new(&initial.of("norm"), sizes.width)),
            place: sizes.norm,
            precision: FloatDType::F32,
        })
    }

    /// The same encoder with activations in another precision.
    pub fn in_precision(mut self, precision: FloatDType) -> Self {
        self.precision = precision;
        self
    }

    /// The view that mixers have of a batch.
    pub fn view(&self, batch: &Batch<B>) -> View<B> {
        let [sequences, tokens] = batch.ids.dims();
        View::new(sequences, tokens, batch.padding.clone(), self.precision)
    }

    /// The table of words, `[V, d]`.
    pub fn table(&self) -> Tensor<B, 2> {
        self.words.val()
    }
}

impl<B: Lean> Encoder<B> {
    /// Every token in its context, `[b·n, d]`. No sequence may be longer than the encoder's sizes allow.
    pub fn forward(&self, batch: &Batch<B>, view: &View<B>) -> Tensor<B, 2> {
        let x = self.embed(batch, view);
        let x = if self.place == Place::Post { self.normalised(x) } else { x };
        let x = self.layers.iter().fold(x, |x, layer| layer.forward(x, view));
        if self.place == Place::Pre { self.normalised(x) } else { x }
    }

    /// Words, positions and segments, added up.
    fn embed(&self, batch: &Batch<B>, view: &View<B>) -> Tensor<B, 2> {
        let words = lean::embed(self.words.val().cast(self.precision), batch.ids.clone());
        // One row for each place of all sequences: the gradient is a sum, and no rows are looked up.
        let positions = self.positions.val().narrow(0, 0, view.tokens).cast(self.precision).unsqueeze::<3>();
        let x = view.by_row(words + positions);
        match (&self.segments, &batch.segments) {
            (Some(table), Some(ids)) => {
                let table = table.val().cast(self.precision);
                let ids = ids.clone().reshape([view.batch * view.tokens, 1]);
                x + lean::unit_vectors(ids, table.dims()[0], table.dtype()).matmul(table)
            }
            _ => x,
        }
    }

    fn normalised(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        match &self.norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }
}
