//! Networks inside of stock Transformers: norms, both sub-layers in every block, activations that are not ReLUs.
//!
//! | file | idea |
//! |---|---|
//! | `norm.rs` | a pin and mirrored registers make the norm the identity, up to one common factor: what is lost |
//! | `activation.rs` | `act(s t)/s` is a ReLU, up to a number over `s` |
//! | `check.rs` | what has no place in a class, and where it has one |
//! | `within.rs` | constructions whose tolerance is met in a class |
//! | `fit.rs` | the pin and `s`, derived; the bound in the host |
//! | `pass.rs` | from a network to the matrices of a host: mirrored, padded, scaled |
//! | `tensors.rs` | the matrices under the names of a class |
//! | `bert.rs`, `gpt2.rs`, … | classes, a file each: what they compute, what they call it, their settings |
//!
//! **The claim.** In every execution of `ieee-any-order`, with the lines for norms and activations in `norm.rs` and
//! `activation.rs`, the host's output is within `bound(host)` of the target: the circuit is analysed gate by gate
//! again, with a host's losses beside its own (`construct/circuit/analysis/housing.rs`). What exceeds the circuit's own
//! bound is the **host term**. Certificates of hosts are written in `export/hosted.rs`.

mod activation;
mod bert;
mod check;
mod fit;
mod gpt2;
mod llama;
mod modernbert;
mod norm;
mod opt;
mod pass;
mod t5;
mod tensors;
mod within;

use std::fmt;

use serde_json::Value;

use crate::error::{Error, Result, nearest};
use crate::model::{InHost, Model};
use crate::network::Mask;

pub(crate) use activation::Activation;
pub(crate) use fit::Fitted;
pub(crate) use norm::{Kind, Norm, Order};
pub(crate) use pass::Matrices;
pub(crate) use tensors::Place;
pub(crate) use within::{plain, within};

/// A tensor of a host: its name, its shape, its entries.
pub(crate) type Tensor = (String, Vec<usize>, Vec<f64>);

/// A linear map of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Query,
    Key,
    Value,
    /// From the values of all heads to the stream.
    Output,
    /// To the hidden units, before the activation.
    Inner,
    /// The factor of activated units.
    Factor,
    /// From the hidden units to the stream.
    Outer,
}

/// The names that a class has for its tensors.
#[derive(Debug)]
pub(crate) struct Names {
    /// The rows of the vocabulary.
    pub words: &'static str,
    /// The rows of positions, and how many stand before the first; none where the stream has no positions.
    pub positions: Option<(&'static str, usize)>,
    /// The norms behind the embedding and at the end.
    pub norms: &'static [&'static str],
    /// The name in front of a layer's number.
    pub layer: &'static str,
    /// The linear maps of a layer; those of one name are one tensor, one after the other.
    pub parts: &'static [(Part, &'static str)],
    /// True if their weights are `[in, out]`.
    pub transposed: bool,
    /// The norms of a layer; the first one is not there in the first layer of some classes.
    pub layer_norms: [&'static str; 2],
    /// The last linear map.
    pub head: &'static str,
}

/// A class of stock Transformers: what it computes, and what it calls it.
#[expect(clippy::struct_excessive_bools, reason = "yes-or-no facts about a class of somebody else's, each by itself")]
pub(crate) struct Class {
    /// Its name on the command line, which is also its `model_type`.
    pub name: &'static str,
    /// Its class in `transformers`.
    pub architecture: &'static str,
    /// The tokens that all of its heads see.
    pub mask: Mask,
    /// Its norms.
    pub norm: Norm,
    /// Its activation.
    pub activation: Activation,
    /// True if the activated number is multiplied by a linear map.
    pub gated: bool,
    /// True if linear maps and norms have biases, which are 0; the last map has one in any case but the next.
    pub biased: bool,
    /// True if its outputs are scores of next tokens, without a bias, and not labels of tokens.
    pub scores_tokens: bool,
    /// True if scores are divided by the root of the heads' size.
    pub scaled: bool,
    /// The least size of a head, a power of 4.
    pub least_head: usize,
    /// The parts that it computes in single precision, whatever its weights are.
    pub single: Option<&'static str>,
    /// Its names.
    pub names: Names,
    /// Its settings, beside those of all classes.
    pub settings: fn(&Matrices) -> Value,
    /// Tensors that only it has.
    pub more: fn(&Matrices) -> Vec<Tensor>,
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Class {
    /// The class of `transformers` that loads it.
    pub fn loader(&self) -> &'static str {
        if self.scores_tokens { "AutoModelForCausalLM" } else { "AutoModelForTokenClassification" }
    }
}

/// The classes.
pub(crate) static CLASSES: [&Class; 6] =
    [&bert::BERT, &gpt2::GPT2, &t5::T5, &opt::OPT, &llama::LLAMA, &modernbert::MODERNBERT];

/// The class of that name.
pub(crate) fn named(name: &str) -> Result<&'static Class> {
    CLASSES.iter().find(|class| class.name == name).copied().ok_or_else(|| {
        let error =
            Error::input(format!("'{name}' is no host")).note("known", CLASSES.map(|class| class.name).join(", "));
        match nearest(name, CLASSES.iter().map(|class| class.name)) {
            Some(near) => error.note("try", format!("⟨host={near}⟩")),
            None => error,
        }
    })
}

impl Model {
    /// What it is in the class that it was built for; `None` if it was built for none.
    pub(crate) fn in_host(&self) -> Option<Result<&InHost>> {
        let host = self.host.as_ref()?;
        if let Some(known) = self.in_host.get() {
            return Some(Ok(known));
        }
        let found = named(&host.class).and_then(|class| Fitted::of(&*self.built, class));
        Some(found.map(|found| self.in_host.get_or_init(|| InHost { bound: found.bound, term: found.host_term() })))
    }
}

/// Tensors of a class that has no more than all.
fn none(_: &Matrices) -> Vec<Tensor> {
    Vec::new()
}
