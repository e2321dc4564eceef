//! Kinds of attention: a file each, behind one trait and one registry.
//!
//! ```text
//! softmax      Σ_j softmax_j(K_jᵀQ_i) V_j                                   the mean, where all scores are equal
//! average      (1/n) Σ_j V_j                                                the mean; neither queries nor keys
//! linformer    Σ_a softmax_a((Σ_j e_aj K_j)ᵀQ_i) Σ_j f_aj V_j,  a = 1 … k   the sum, for f = 1 and any e
//! performer    Σ_a a_a(Q_i) Σ_j a_a(K_j) V_j,  a = 1 … k                    ‖a_0‖² times the sum, if Q_i = K_j = const
//!              a_a(x) = k^{-1/2} exp(w_aᵀx − ‖x‖²/2)                        no normaliser
//! hub          Σ_j softmax_j(K_jᵀQ_h) V_j of one token h, by two layers     the mean, where all scores are equal
//! ```
//!
//! All but softmax take time linear in `n`. A [`Kind`] says what its heads compute, as a [`Formula`] that every
//! interpreter follows, and how the uniform sum `Σ_k v z_k` is realised by them (Alberti et al. 2023, section 4):
//! which tensors, what is lost by rounding, what its name and parameters look like. Its tensors' names and shapes,
//! its line in the certificate and its ONNX nodes follow from the formula.
//!
//! Kinds from elsewhere are made known by [`register`].

pub(crate) mod average;
mod draws;
mod formula;
pub(crate) mod hub;
pub(crate) mod linformer;
mod loss;
pub(crate) mod performer;
mod realisation;
pub(crate) mod softmax;
mod uniform;
pub(crate) mod widen;

use std::fmt;
use std::sync::{PoisonError, RwLock};

use super::{FloatNetwork, Normaliser};
use crate::error::{Error, Result};
use crate::exact::Rat;

pub use draws::Gaussians;
pub use formula::{AttentionKind, Formula, Look, Rows, Step, VALUES};
pub(crate) use formula::{KEYS, Side};
pub use loss::{Loss, Roundings};
pub use realisation::{Choice, Realisation};
pub use uniform::Sizes;

/// A kind of attention, and how it adds up.
pub trait Kind: fmt::Debug + Sync {
    /// The name in options.
    fn name(&self) -> &'static str;

    /// The formula of its heads.
    fn formula(&self) -> &'static Formula;

    /// The word for another form of it, if it has one: `name:k:variant`.
    fn variant(&self) -> Option<&'static str> {
        None
    }

    /// How it is written where kinds are listed.
    fn usage(&self) -> String {
        format!("{}{}", self.name(), if self.formula().is_sized() { "[:k]" } else { "" })
    }

    /// The choice that is written behind the name: `parts` between colons, and the number behind `@`. `text` is all
    /// of it.
    fn read(&self, text: &str, parts: &[&str], at: Option<u64>) -> Result<Choice> {
        realisation::read(self.name(), (self.formula(), self.variant()), text, parts, at)
    }

    /// The same in words, as short as it can be read again.
    fn write(&self, choice: &Choice) -> String {
        realisation::write(self.name(), (self.formula(), self.variant()), choice)
    }

    /// True if a head gives the sum of the values, not their mean: then a mean is a sum of `v/n`, and the number of
    /// tokens is in the weights.
    fn gives_sum(&self) -> bool;

    /// Why a choice does not give what it should, if it does not.
    fn no_sum(&self, _: &Choice) -> Option<Error> {
        None
    }

    /// The exact counterpart of its heads on rationals, where queries and keys are 0; `None` where that is not
    /// rational, or no sum.
    fn normaliser(&self, choice: &Choice) -> Option<Normaliser> {
        let normaliser = if self.gives_sum() { Normaliser::Sum } else { Normaliser::Average };
        self.no_sum(choice).is_none().then_some(normaliser)
    }

    /// The weight of each token in what a head gives, up to a common factor; the weights differ where it is no sum.
    fn weights(&self, _: &Choice, tokens: usize) -> Vec<Rat> {
        vec![Rat::ONE; tokens]
    }

    /// The loss of a uniform head by rounding.
    fn loss(&self, choice: &Choice, tokens: usize, roundings: &Roundings) -> Loss;

    /// How much larger than its result the numbers are that a head works with.
    fn growth(&self, _: &Choice) -> f64 {
        1.0
    }

    /// The place where heads round sums of integers, and if dividing by a number there, wherever an execution does, is
    /// exact.
    fn sums_of_integers(&self, choice: &Choice, tokens: usize) -> Integers;

    /// How many numbers are drawn for a head, for each mixture or feature, and what they are; `None` if none are.
    fn drawn(&self, _tokens: usize) -> Option<(usize, &'static str)> {
        None
    }

    /// The tensors of uniform heads, in the order of `Formula::tensors`.
    fn tensors(&self, _: &Choice, _: &Sizes, _: &mut Gaussians) -> Vec<Vec<f64>> {
        Vec::new()
    }

    /// How many blocks stand before the one that ends a sum, and whether the feed-forward layer behind it has a block
    /// of its own.
    fn more_blocks(&self, _: &Choice) -> (usize, bool) {
        (0, false)
    }

    /// The way of sums in a network that was realised, if it is not that of softmax heads; `None` if it is one that
    /// cannot be told a checker.
    fn detour(&self, choice: &Choice, _: &FloatNetwork) -> Option<Detour> {
        (self.more_blocks(choice) == (0, false)).then(Detour::default)
    }

    /// A network of uniform softmax heads with heads of this kind.
    fn realise(&self, choice: &Choice, network: FloatNetwork) -> Result<FloatNetwork> {
        uniform::realise(
            network,
            self.formula(),
            self.gives_sum(),
            |sizes, draws| self.tensors(choice, sizes, draws),
            choice,
        )
    }

    /// The statement of Alberti et al. 2023 that it makes of a Sumformer.
    fn theorem(&self) -> &'static str {
        "Theorem 4.3"
    }

    /// The text that may follow its name where it is a mixer of tokens, if it is one.
    fn mixer(&self) -> Option<&'static str> {
        None
    }
}

/// The places where sums are put aside: into registers of their own, from which a layer behind the heads moves them on, divided; or
/// a second layer of heads as they are, and the layer behind that empties them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detour {
    /// The number that is held by registers that nothing changes.
    pub held: Vec<(usize, Rat)>,
    /// The first of the registers of sums; value `c` of head `h` has the one at `h · value_size + c`, and the units twice that and the next.
    pub first: usize,
    /// The divisors of sums, by layers of heads, and in them by heads. Empty if they take no other way.
    pub divided: Vec<Vec<Rat>>,
    /// The token that adds up for all, if one does: a second layer of heads moves sums on, and nothing is divided.
    pub hub: Option<usize>,
}

/// A kind's answer to the question if its heads give sums of integers exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integers {
    /// If `fl(1/n) · (n c)` is `c` for each of the integers.
    Shares,
    /// If this holds, while sums times `divisor` have digits left.
    Divided {
        /// The number that is divided by.
        divisor: usize,
        /// True if that is exact wherever it stands.
        exact: bool,
        /// The choice that would be.
        wanted: &'static str,
    },
}

/// Those that are always there.
static BUILT_IN: [&dyn Kind; 5] =
    [&softmax::Softmax, &average::Average, &linformer::Linformer, &performer::Performer, &hub::Hub];

/// Those that were registered, by name.
static REGISTERED: RwLock<Vec<&'static dyn Kind>> = RwLock::new(Vec::new());

/// Every kind: those of this crate, then those that were registered, by name.
pub(crate) fn kinds() -> Vec<&'static dyn Kind> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    BUILT_IN.iter().chain(registered.iter()).copied().collect()
}

/// The kind of that name.
pub(crate) fn named(name: &str) -> Option<&'static dyn Kind> {
    kinds().into_iter().find(|kind| kind.name() == name)
}

/// Makes a kind known to everything: options, files, evaluators, exports. Its names must be new ones, of lower-case
/// letters, digits and hyphens, and its formula one that can be followed.
pub fn register(kind: &'static dyn Kind) -> Result<()> {
    let wrong = |what: String| Err(Error::input(what));
    let own = kind.formula();
    for name in [kind.name(), own.name] {
        let word = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !word || name == "hardmax" {
            return wrong(format!("'{name}' cannot be the name of a kind of attention"));
        }
    }
    own.check().or_else(|what| wrong(format!("this is no kind of attention: {what}")))?;
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let mut known = BUILT_IN.iter().chain(registered.iter());
    if known.any(|known| known.name() == kind.name() || known.formula().name == own.name && known.formula() != own) {
        return wrong(format!("there is a kind of attention called '{}' already", kind.name()));
    }
    let place = registered.partition_point(|known| known.name() < kind.name());
    registered.insert(place, kind);
    Ok(())
}
