//! An encoder with one of three heads.

use burn::module::Module;
use burn::tensor::backend::Backend;
use burn::tensor::{FloatDType, Int, Tensor};
use formwright::error::Result;

use crate::encoder::head::{ClassHead, MaskedHead, SpanHead};
use crate::encoder::{Batch, Encoder, Initial, Lean, Sizes};
use crate::text::nli::LABELS;

use super::config::{Asked, Precision};

/// A head on top of an encoder.
#[derive(Module, Debug)]
pub enum Heads<B: Backend> {
    /// A word for each place that is asked for.
    Masked(MaskedHead<B>),
    /// A class for a sequence.
    Class(ClassHead<B>),
    /// The first and the last token of an answer.
    Span(SpanHead<B>),
}

/// An encoder with a head.
#[derive(Module, Debug)]
pub struct Reader<B: Backend> {
    encoder: Encoder<B>,
    head: Heads<B>,
}

impl<B: Backend> Reader<B> {
    /// A model with the initial weights of a seed.
    pub fn new(initial: &Initial<B>, sizes: &Sizes, task: Asked, precision: Precision) -> Result<Self> {
        let precision = match precision {
            Precision::F32 => FloatDType::F32,
            Precision::Bf16 => FloatDType::BF16,
        };
        let encoder = Encoder::new(initial, sizes)?.in_precision(precision);
        let head = match task {
            Asked::Masked | Asked::Copying => Heads::Masked(MaskedHead::new(initial, sizes)),
            Asked::Pairs => Heads::Class(ClassHead::new(initial, sizes, LABELS.len())),
            Asked::Questions => Heads::Span(SpanHead::new(initial, sizes)),
        };
        Ok(Self { encoder, head })
    }

    /// The same head on another encoder.
    pub fn on(self, other: Self) -> Self {
        Self { encoder: other.encoder, ..self }
    }
}

impl<B: Lean> Reader<B> {
    /// Scores, a row for each answer: of words at `places`, or of classes; or of tokens, as the first and then as the
    /// last token of an answer.
    pub fn forward(&self, batch: &Batch<B>, places: Option<&Tensor<B, 2, Int>>) -> Vec<Tensor<B, 2>> {
        let view = self.encoder.view(batch);
        let x = self.encoder.forward(batch, &view);
        match (&self.head, places) {
            (Heads::Masked(head), Some(places)) => vec![head.forward(&self.encoder, x, places.clone())],
            (Heads::Masked(_), None) => Vec::new(),
            (Heads::Class(head), _) => vec![head.forward(x, &view)],
            (Heads::Span(head), _) => head.forward(x, &view).into(),
        }
    }
}
