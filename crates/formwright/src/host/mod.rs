//! Networks inside of stock Transformers: norms, both sub-layers in every block, activations that are not ReLUs.
//!
//! | file | idea |
//! |---|---|
//! | `norm.rs` | a pin and mirrored registers make the norm the identity, up to one common factor: what is lost |
//! | `activation.rs` | `act(s t)/s` is a ReLU, up to a number over `s` |
//! | `fit.rs` | the pin and `s`, derived; the bound in the host |
//! | `pass.rs` | from a network to the matrices of a host: mirrored, padded, scaled |
//! | `bert.rs`, `gpt2.rs` | classes, a file each: what their tensors and settings are called |
//!
//! **The claim.** In every execution of `ieee-any-order`, with the lines for norms and activations in `norm.rs` and
//! `activation.rs`, the host's output is within `bound(host)` of the target: the circuit is analysed gate by gate
//! again, with a host's losses beside its own (`construct/circuit/analysis/housing.rs`). What exceeds the circuit's own
//! bound is the **host term**. No checker decides hosts yet.

mod activation;
mod bert;
mod fit;
mod gpt2;
mod norm;
mod pass;

use serde_json::{Map, Value};

use crate::error::{Error, Result, nearest};
use crate::model::Model;
use crate::network::{FloatNetwork, Mask};

pub(crate) use fit::Fitted;
pub(crate) use pass::{Matrices, Mirrored, Place};

/// A tensor of a host: its name, its shape, its entries.
pub(crate) type Tensor = (String, Vec<usize>, Vec<f64>);

/// Where the norm stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Before each sub-layer, and at the end: the stream itself is not touched.
    Before,
    /// Behind each sub-layer, and behind the embedding: the stream is what was normed.
    Behind,
}

/// A class of stock Transformers.
pub(crate) trait Class: Sync {
    /// Its name on the command line, which is also its `model_type`.
    fn name(&self) -> &'static str;

    /// Its class for `AutoModelForTokenClassification`.
    fn architecture(&self) -> &'static str;

    /// Where its norms stand.
    fn order(&self) -> Order;

    /// What is added to a variance.
    fn eps(&self) -> f64;

    /// Its activation, in its own words.
    fn activation(&self) -> &'static str;

    /// What its heads see, all of them.
    fn mask(&self) -> Mask;

    /// Its settings, beside those of all classes.
    fn config(&self, matrices: &Matrices) -> Map<String, Value>;

    /// Its tensors, by its names.
    fn tensors(&self, matrices: &Matrices) -> Vec<Tensor>;

    /// The tensors of a block that hold its hidden units, as rows and as columns, and those of a head.
    fn places(&self, block: usize, place: Place) -> Vec<Value>;
}

/// The classes.
static CLASSES: [&dyn Class; 2] = [&bert::Bert, &gpt2::Gpt2];

/// The class of that name.
pub(crate) fn named(name: &str) -> Result<&'static dyn Class> {
    let known = || CLASSES.iter().map(|class| class.name());
    CLASSES.iter().find(|class| class.name() == name).copied().ok_or_else(|| {
        let error = Error::input(format!("'{name}' is no host")).note("known", known().collect::<Vec<_>>().join(", "));
        match nearest(name, known()) {
            Some(near) => error.note("try", format!("--host {near}")),
            None => error,
        }
    })
}

/// Declines a network that has no place in a class, with the place.
pub(crate) fn check<'m>(model: &'m Model, class: &dyn Class) -> Result<&'m FloatNetwork> {
    let network = model.float().ok_or_else(|| {
        Error::declined("an exact model has no place in a host, whose numbers are floats")
            .note("try", "build it with --precision f32, and export that")
    })?;
    if model.circuit().is_none() {
        return Err(Error::declined(format!("{} networks have no bound in a host", model.family()))
            .note("reason", "their ids are exact sums, and behind a norm no sum is exact")
            .note("try", "--construction circuit"));
    }
    let mut block = 0;
    for run in &network.runs {
        if let Some(a) = &run.attention {
            if !a.kind.is_softmax() {
                let kind = a.kind.name();
                return Err(Error::declined(format!(
                    "block {block} has {kind} attention, and {} softmax",
                    class.name()
                ))
                .note("try", "build it with --attention softmax"));
            }
            if !a.connections.is_empty() {
                return Err(Error::declined(format!("block {block} has connections, and {} none", class.name()))
                    .note("try", "build it with --attention softmax"));
            }
            let alike = |mask: &Mask| if class.mask().is_all() { mask.is_all() } else { *mask == class.mask() };
            if let Some(head) = a.masks.iter().position(|mask| !alike(mask)) {
                return Err(other_mask(block, head, &a.masks[head], class));
            }
        }
        block += run.blocks;
    }
    if block == 0 {
        return Err(Error::declined("it has no blocks: there is nothing to put into a host"));
    }
    Ok(network)
}

/// Declines a head that sees other tokens than those of a class.
fn other_mask(block: usize, head: usize, mask: &Mask, class: &dyn Class) -> Error {
    let sees = |mask: &Mask| {
        let causal = Mask { first: false, ..*mask } == Mask::CAUSAL;
        if mask.is_all() {
            "all tokens"
        } else if causal {
            "the tokens up to its own"
        } else {
            "other tokens"
        }
    };
    let error = Error::declined(format!("block {block}, head {head} sees {}", sees(mask)))
        .note("host", format!("in {} every head sees {}", class.name(), sees(&class.mask())));
    let other = CLASSES.iter().find(|other| if other.mask().is_all() { mask.is_all() } else { other.mask() == *mask });
    match other {
        Some(other) => error.note("try", format!("--host {}, if all heads do", other.name())),
        None => error.note("try", "--format onnx, which has every mask"),
    }
}
