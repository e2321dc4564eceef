//! How a uniform sum is realised: a kind, and what was chosen of it, as they are written in options and files.

use std::fmt;
use std::str::FromStr;

use super::{Formula, Kind, kinds, named};
use crate::error::{Error, Result};
use crate::network::Normaliser;

/// The seed where none is named: the number of the paper at arXiv.
const SEED: u64 = 230_702_301;

/// How a uniform sum is realised.
#[derive(Clone, Copy, Debug)]
pub struct Realisation {
    /// The kind of attention.
    pub kind: &'static dyn Kind,
    /// In which form of it.
    pub choice: Choice,
}

/// The parameters of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// How many mixtures or features, `k`; 0 of a kind without any.
    pub size: usize,
    /// True if it is the kind's other form.
    pub variant: bool,
    /// The number behind `@`: what is drawn from; of a hub, the token.
    pub at: u64,
}

impl PartialEq for Realisation {
    fn eq(&self, other: &Self) -> bool {
        (self.kind.name(), self.choice) == (other.kind.name(), other.choice)
    }
}

impl Eq for Realisation {}

impl Default for Realisation {
    fn default() -> Self {
        Self::SOFTMAX
    }
}

impl Realisation {
    /// Softmax attention with equal scores.
    pub const SOFTMAX: Self =
        Self { kind: &super::softmax::Softmax, choice: Choice { size: 0, variant: false, at: 0 } };

    /// The average of the values.
    pub const AVERAGE: Self =
        Self { kind: &super::average::Average, choice: Choice { size: 0, variant: false, at: 0 } };

    /// Sparse, by way of a hub.
    pub fn hub(token: usize) -> Self {
        let at = u64::try_from(token).unwrap_or(u64::MAX);
        Self { kind: &super::hub::Hub, choice: Choice { at, ..Choice::default() } }
    }

    /// True if nothing is realised: softmax heads stay as they are.
    pub fn is_softmax(&self) -> bool {
        *self == Self::SOFTMAX
    }

    /// True if it goes by way of a hub.
    pub fn is_hub(&self) -> bool {
        *self == Self { kind: &super::hub::Hub, ..*self }
    }

    /// Its name behind a list of other things, in words; nothing of softmax.
    pub(crate) fn beside(&self) -> String {
        if self.is_softmax() { String::new() } else { format!(", {self} attention") }
    }

    /// The kind alone.
    pub fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// True if the number of tokens is in the weights: a head gives a sum, and a mean is a sum of `v/n`.
    pub fn fixes_tokens(&self) -> bool {
        self.kind.gives_sum()
    }

    /// True if it gives sums, or means, at all.
    pub fn is_sum(&self) -> bool {
        self.kind.no_sum(&self.choice).is_none()
    }

    /// How many blocks stand before the one that ends a sum, and whether the feed-forward layer behind it has a block
    /// of its own.
    pub(crate) fn more_blocks(&self) -> (usize, bool) {
        self.kind.more_blocks(&self.choice)
    }

    /// The exact counterpart of its heads on rationals, where queries and keys are 0; `None` where that is not
    /// rational, or no sum.
    pub fn normaliser(&self) -> Option<Normaliser> {
        self.kind.normaliser(&self.choice)
    }
}

impl fmt::Display for Realisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind.write(&self.choice))
    }
}

/// `kind[:k][:variant][@seed]`, or as the kind has it.
impl FromStr for Realisation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (rest, at) = match text.split_once('@') {
            Some((rest, at)) => {
                let at = at.parse().map_err(|_| {
                    Error::input(format!("'{at}' is no seed of attention"))
                        .note("try", format!("{rest}@7, or {rest} alone"))
                })?;
                (rest, Some(at))
            }
            None => (text, None),
        };
        let mut parts = rest.split(':');
        let kind = named(parts.next().unwrap_or_default()).ok_or_else(|| no_kind(text))?;
        Ok(Self { kind, choice: kind.read(text, &parts.collect::<Vec<_>>(), at)? })
    }
}

/// Refuses what is no kind.
pub(super) fn no_kind(text: &str) -> Error {
    let known: Vec<String> = kinds().iter().map(|kind| kind.usage()).collect();
    Error::input(format!("'{text}' is no kind of attention"))
        .note("known", format!("{}; hardmax for exact networks", known.join(", ")))
        .note("try", "⟨attention=softmax⟩")
}

/// `[:k][:variant][@seed]`. Every `k ≥ 1` gives the sum, so that without one it is 1: the fewest weights, and the
/// least rounding.
pub(super) fn read(
    kind: &str,
    (formula, variant): (&Formula, Option<&str>),
    text: &str,
    parts: &[&str],
    seed: Option<u64>,
) -> Result<Choice> {
    if !formula.is_sized() {
        if parts.is_empty() && seed.is_none() {
            return Ok(Choice::default());
        }
        return Err(Error::input(format!("'{text}': {kind} has no size and no seed"))
            .note("try", format!("⟨attention={kind}⟩")));
    }
    let chosen = variant.is_some() && parts.last().copied() == variant;
    let size = match parts[..parts.len() - usize::from(chosen)] {
        [] => 1,
        [size] => match size.parse::<usize>() {
            Ok(0) => {
                return Err(Error::input(format!("'{text}': a {kind} of size 0 has nothing to attend to"))
                    .note("expected", "k ≥ 1; every one gives the sum")
                    .note("try", format!("⟨attention={kind}:1⟩")));
            }
            Ok(size) => size,
            Err(_) => {
                let or = variant.map_or(String::new(), |variant| format!(", or {kind}:k:{variant}"));
                return Err(Error::input(format!("'{text}': '{size}' is no size"))
                    .note("expected", format!("{kind}:k with an integer k ≥ 1{or}"))
                    .note("try", format!("⟨attention={kind}:4⟩")));
            }
        },
        _ => return Err(no_kind(text)),
    };
    Ok(Choice { size, variant: chosen, at: seed.unwrap_or(SEED) })
}

/// The same in words.
pub(super) fn write(kind: &str, (formula, variant): (&Formula, Option<&str>), choice: &Choice) -> String {
    if !formula.is_sized() {
        return kind.to_owned();
    }
    let variant = variant.filter(|_| choice.variant).map_or(String::new(), |variant| format!(":{variant}"));
    let seed = if choice.at == SEED { String::new() } else { format!("@{}", choice.at) };
    format!("{kind}:{}{variant}{seed}", choice.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_printed() {
        for text in [
            "softmax",
            "average",
            "sparse:hub",
            "sparse:hub@3",
            "linformer:4",
            "performer:16",
            "linformer:3:gaussian",
            "performer:2:constant@7",
        ] {
            assert_eq!(text.parse::<Realisation>().expect(text).to_string(), text);
        }
        let default = |text: &str| text.parse::<Realisation>().expect(text).to_string();
        assert_eq!([default("linformer"), default("performer")], ["linformer:1", "performer:1"]);
        assert_eq!(default("performer:constant"), "performer:1:constant");
    }

    #[test]
    fn what_is_no_kind_is_refused() {
        let wrong = [
            "",
            "soft",
            "softmax:2",
            "average@3",
            "sparse:hub:3",
            "sparse:hub@x",
            "linformer:0",
            "linformer:-1",
            "performer:x",
            "performer:2:3",
            "linformer:constant",
            "performer:gaussian",
            "linformer:1:gaussian:2",
            "performer:1@x",
        ];
        for text in wrong {
            let error = text.parse::<Realisation>().expect_err(text);
            assert_eq!(error.kind(), crate::error::ErrorKind::Input, "{text}");
        }
    }
}
