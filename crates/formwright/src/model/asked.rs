//! The options of a front end, in words.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{Error, Result, nearest};
use crate::exact::Rat;

/// An option that a construction owns. Constructions that do not list it refuse it.
#[derive(Debug, PartialEq, Eq)]
pub struct Own {
    /// Its name.
    pub name: &'static str,
    /// The word for its value.
    pub value: &'static str,
    /// Every value that it may have, and what that is; none if there are too many to list.
    pub known: &'static [(&'static str, &'static str)],
    /// One sentence on what it does.
    pub help: &'static str,
    /// True if it may be given where no construction is named: then it is about those that take it.
    pub is_shared: bool,
}

/// The options of `build` and `plan` as they are written; every field has the name of its option.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// The name of a construction.
    pub construction: Option<String>,
    /// The number of tokens.
    pub tokens: Option<usize>,
    /// The coordinates of a token.
    pub dims: Option<usize>,
    /// Cells a side.
    pub resolution: Option<u64>,
    /// The tolerance.
    pub eps: Option<String>,
    /// `sup`, `l1`, `l2` or `lp:P`.
    pub norm: Option<String>,
    /// A stated Lipschitz constant.
    pub lipschitz: Option<String>,
    /// Further assumptions: `equivariant`.
    pub assume: Vec<String>,
    /// `softmax`, `hardmax`, `average`, `linformer:k`, `performer:k` or `sparse:PATTERN`.
    pub attention: Option<String>,
    /// `exact`, `f64`, `f32` or `auto`.
    pub precision: Option<String>,
    /// `derived` or `saturate`.
    pub temperature: Option<String>,
    /// `box` or `all`.
    pub domain: Option<String>,
    /// Each stage in one wide block.
    pub pack: bool,
    /// Blocks of so many hidden units.
    pub hidden: Option<usize>,
    /// With a positional encoding.
    pub positional: bool,
    /// Steps of the proof as printed.
    pub as_printed: Vec<String>,
    /// A stock class, in which the tolerance is met.
    pub host: Option<String>,
    /// Those that a construction owns ([`Family::options`](super::Family::options)), by name.
    #[serde(flatten)]
    pub own: BTreeMap<String, String>,
}

impl Asked {
    /// The value of an option that a construction owns.
    pub fn own(&self, option: &Own) -> Option<&str> {
        self.own.get(option.name).map(String::as_str)
    }
}

/// The value of an option by its name.
pub(crate) fn chosen<T: Copy>(option: &str, name: Option<&str>, known: &[(&str, T)]) -> Result<Option<T>> {
    let Some(name) = name else { return Ok(None) };
    if let Some((_, meaning)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(Some(*meaning));
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let error = Error::input(format!("⟨{option}⟩ is '{name}'")).note("expected", names.join(", "));
    Err(match nearest(name, names) {
        Some(near) => error.note("try", format!("⟨{option}={near}⟩")),
        None => error,
    })
}

/// A positive exact number.
pub(crate) fn positive(option: &str, text: Option<&str>) -> Result<Option<Rat>> {
    let Some(text) = text else { return Ok(None) };
    let value: Rat = text.parse().map_err(|error| Error::input(format!("⟨{option}⟩ is '{text}': {error}")))?;
    if value > Rat::ZERO {
        return Ok(Some(value));
    }
    Err(Error::input(format!("⟨{option}⟩ is {text}, but must be above 0")).note("try", format!("⟨{option}=1/10⟩")))
}
