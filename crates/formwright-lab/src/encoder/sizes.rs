//! The sizes of an encoder, and the number of parameters of each of its parts.
//!
//! ```text
//! embedding      (V + n + S) d                       feed-forward    L (2dh + d + h)
//! attention      4d² + 4d       average  d² + d      norms           (2L + 1) 2d, or 0
//! bproj          n² + d² + d                         masked-LM head  d² + d + V, and 2d with norms
//! sepconv        3d² + 3d + fk                       class head      d² + d + dc + c
//! linformer:K    4d² + 4d + 2Kn                      span head       2d + 2
//! ```
//!
//! The matrix of the masked-LM head is the table of the embedding.
//!
//! With BERT-base's sizes (V = 30,522, n = 512, S = 2, d = 768, h = 3072, L = 12) and the masked-LM head these are
//! 88,252,986 for `average`, 109,514,298 for `attention` and 102,451,770 for `sepconv`, as Table 1 of Yun et al. 2020
//! prints them: 88.3, 110 and 102.5 million. `bproj` has 91,398,714; the table's 90 million would fit a `W_P` of 384 ×
//! 384.

use std::fmt;

use burn::backend::Flex;
use formwright::error::{Error, Result};
use formwright::pattern::Connections;
use formwright::pattern::Pattern;
use serde::{Deserialize, Serialize};

use super::dense::Dense;
use super::mixer::Mixer;
use super::norm::Norm;
use super::{Layout, Mix};

/// The places of the layer norms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// `x + f(norm(x))`, and a norm after the last layer.
    Pre,
    /// `norm(x + f(x))`, and a norm after the embedding: BERT.
    Post,
    /// `x + f(x)`: Yun et al. 2020, in theory.
    None,
}

/// The sizes of an encoder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// `V`: the words of the vocabulary.
    pub vocabulary: usize,
    /// `n`: the longest sequence.
    pub tokens: usize,
    /// `S`: the kinds of segments; 0 for none.
    pub segments: usize,
    /// `d`: the numbers of a token.
    pub width: usize,
    /// The heads of an attention layer.
    pub heads: usize,
    /// `h`: the hidden units of a feed-forward layer.
    pub hidden: usize,
    /// The mixer of each layer.
    pub layout: Layout,
    /// The places of the layer norms.
    pub norm: Place,
}

/// The head of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A word for a masked token.
    Masked,
    /// One of so many classes for a sequence.
    Class(usize),
    /// The first and the last token of an answer.
    Span,
}

/// Parts of an encoder that are alike, and the number of their parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// `embedding`, `sepconv`, …
    pub name: String,
    /// The number of such parts.
    pub times: usize,
    /// The number of trained parameters of each.
    pub each: usize,
}

impl Part {
    /// The number of parameters of all of them.
    pub fn parameters(&self) -> usize {
        self.times * self.each
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.times {
            1 => write!(f, "{} {}", self.name, self.each),
            times => write!(f, "{} {times} × {}", self.name, self.each),
        }
    }
}

impl Sizes {
    /// Refuses sizes that do not fit together.
    pub fn check(&self) -> Result<()> {
        let sizes = [
            ("vocabulary", self.vocabulary),
            ("tokens", self.tokens),
            ("width", self.width),
            ("heads", self.heads),
            ("hidden", self.hidden),
            ("layout", self.layout.layers().len()),
        ];
        if let Some((name, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(Error::input(format!("an encoder with no {name}")).note("expected", "a number from 1 on"));
        }
        for (layer, mix) in self.layout.layers().iter().enumerate() {
            let (name, parts) = match mix {
                Mix::Average | Mix::BProj => continue,
                Mix::SepConv { filters, .. } => ("filters", *filters),
                _ => ("heads", self.heads),
            };
            if !self.width.is_multiple_of(parts) {
                let divisors = (1..=self.width).filter(|parts| self.width.is_multiple_of(*parts));
                let near = divisors.min_by_key(|divisor| divisor.abs_diff(parts)).unwrap_or(1);
                return Err(Error::input(format!("{parts} {name} do not divide the width {}", self.width))
                    .note("where", format!("layer {layer}, {mix}"))
                    .note("try", format!("{near} {name}")));
            }
            if matches!(mix, Mix::Sparse { .. }) {
                self.connections(layer)?;
            }
        }
        Ok(())
    }

    /// The connections of a sparse layer. Its place in the cycle is its place among the layers with the same pattern.
    pub fn connections(&self, layer: usize) -> Result<Connections> {
        let layers = self.layout.layers();
        let mix = &layers[layer];
        let pattern = if let Mix::Sparse { pattern } = mix { pattern } else { "dense" };
        let at = |error: Error| error.note("where", format!("layer {layer}, {mix}"));
        let read = Pattern::named(pattern, self.tokens).map_err(at)?;
        if read.tokens() != self.tokens {
            let error =
                Error::input(format!("a pattern for {} tokens, and the encoder has {}", read.tokens(), self.tokens));
            return Err(at(error).note("try", format!("tokens = {}", read.tokens())));
        }
        let place = layers[..layer].iter().filter(|other| *other == mix).count();
        Ok(read.layer(place).clone())
    }

    /// The parts: the mixers in the order of the layers.
    pub fn parts(&self) -> Vec<Part> {
        let part = |name: &str, times, each| Part { name: name.to_owned(), times, each };
        let layers = self.layout.layers();
        let fed =
            Dense::<Flex>::parameters(self.width, self.hidden) + Dense::<Flex>::parameters(self.hidden, self.width);
        let norms = if self.norm == Place::None { 0 } else { 2 * layers.len() + 1 };
        let mut parts = vec![part("embedding", 1, (self.vocabulary + self.tokens + self.segments) * self.width)];
        let alike = layers.chunk_by(|a, b| a == b);
        parts.extend(alike.map(|run| part(&run[0].to_string(), run.len(), Mixer::<Flex>::parameters(self, &run[0]))));
        parts.push(part("feed-forward", layers.len(), fed));
        parts.push(part("norms", norms, Norm::<Flex>::parameters(self.width)));
        parts
    }

    /// A head.
    pub fn head(&self, head: Head) -> Part {
        let d = self.width;
        let square = Dense::<Flex>::parameters(d, d);
        let norm = if self.norm == Place::None { 0 } else { Norm::<Flex>::parameters(d) };
        let (name, each) = match head {
            Head::Masked => ("masked-LM head", square + norm + self.vocabulary),
            Head::Class(classes) => ("class head", square + Dense::<Flex>::parameters(d, classes)),
            Head::Span => ("span head", Dense::<Flex>::parameters(d, 2)),
        };
        Part { name: name.to_owned(), times: 1, each }
    }

    /// The number of parameters of the encoder and a head.
    pub fn parameters(&self, head: Head) -> usize {
        self.parts().iter().map(Part::parameters).sum::<usize>() + self.head(head).parameters()
    }
}
