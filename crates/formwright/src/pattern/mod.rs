//! Sparsity patterns: the keys that the query of each token sees, layer after layer.
//!
//! ```text
//! A_k^l ⊆ {0, …, n-1},   l = 1, …, p      the keys that token k sees in layer l of a cycle of p layers
//! ```
//!
//! | file | content |
//! |---|---|
//! | `names.rs` | patterns by name, for any number of tokens |
//! | `assumptions.rs` | the conditions of Yun et al. 2020b: self-loops, a chain, connections in `s` hops |
//! | `chain.rs` | the search for a chain, and proofs that there is none |
//! | `draw.rs` | pictures, as text and SVG |

mod assumptions;
mod chain;
mod draw;
mod names;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use assumptions::Assumptions;
#[cfg(test)]
pub(crate) use assumptions::Reach;
pub(crate) use chain::Chain;
pub use names::Family;

use crate::error::{Error, Result};
use crate::files::read_file;

/// The connections of one layer: for every token the keys that it sees, ascending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<usize>>", into = "Vec<Vec<usize>>")]
pub struct Connections(Vec<Vec<usize>>);

impl Connections {
    /// Connections from the keys of each token, which need not be in order; a token must see at least one key, and none
    /// twice.
    pub fn new(mut keys: Vec<Vec<usize>>) -> std::result::Result<Self, String> {
        let tokens = keys.len();
        if tokens == 0 {
            return Err("no tokens".to_owned());
        }
        for (token, seen) in keys.iter_mut().enumerate() {
            seen.sort_unstable();
            if let Some(key) = seen.iter().find(|key| **key >= tokens) {
                return Err(format!("token {token} sees {key}, and the tokens are 0 to {}", tokens - 1));
            }
            if let Some([key, _]) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(format!("token {token} sees {key} twice"));
            }
            if seen.is_empty() {
                return Err(format!("token {token} sees nothing"));
            }
        }
        Ok(Self(keys))
    }

    /// Connections from a rule: the keys that the query of token `i` sees, in any order, some perhaps named twice. It
    /// takes as many steps as there are connections.
    fn by(tokens: usize, keys: impl Fn(usize) -> Vec<usize>) -> Self {
        let in_order = |i: usize| {
            let mut keys = keys(i);
            keys.sort_unstable();
            keys.dedup();
            keys
        };
        Self((0..tokens).map(in_order).collect())
    }

    /// The number of tokens.
    pub fn tokens(&self) -> usize {
        self.0.len()
    }

    /// The keys that a token sees, ascending.
    pub fn keys(&self, token: usize) -> &[usize] {
        &self.0[token]
    }

    /// True if the query of token `i` sees the key of token `j`.
    pub fn sees(&self, i: usize, j: usize) -> bool {
        self.0[i].binary_search(&j).is_ok()
    }

    /// The number of pairs of a query and a key that it sees.
    pub fn count(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

impl TryFrom<Vec<Vec<usize>>> for Connections {
    type Error = String;

    fn try_from(keys: Vec<Vec<usize>>) -> std::result::Result<Self, String> {
        Self::new(keys)
    }
}

impl From<Connections> for Vec<Vec<usize>> {
    fn from(connections: Connections) -> Self {
        connections.0
    }
}

/// A cycle of `p ≥ 1` layers of connections, for one number of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored", deny_unknown_fields)]
pub struct Pattern {
    name: String,
    cycle: Vec<Connections>,
}

/// A pattern as it is read, not yet checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    name: String,
    cycle: Vec<Connections>,
}

impl TryFrom<Stored> for Pattern {
    type Error = String;

    fn try_from(stored: Stored) -> std::result::Result<Self, String> {
        Self::new(stored.name, stored.cycle)
    }
}

impl Pattern {
    /// A cycle of layers, all for the same number of tokens.
    pub fn new(name: impl Into<String>, cycle: Vec<Connections>) -> std::result::Result<Self, String> {
        let Some(first) = cycle.first() else {
            return Err("the cycle is empty: a pattern has at least one layer".to_owned());
        };
        let tokens = first.tokens();
        if let Some(layer) = cycle.iter().position(|layer| layer.tokens() != tokens) {
            let other = cycle[layer].tokens();
            return Err(format!("layer {layer} has {other} tokens, and layer 0 has {tokens}"));
        }
        Ok(Self { name: name.into(), cycle })
    }

    /// A pattern from a file: one layer as a list of keys for each token, or a list of such layers.
    pub fn read(name: &str, text: &str) -> Result<Self> {
        let wrong = |what: String| {
            Error::input(format!("'{name}' is no pattern: {what}"))
                .note("expected", "the keys that each token sees, [[0, 1], [0, 1, 2], …], or a list of such layers")
        };
        let file: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let list = |value: &Value, place: &str| {
            value.as_array().cloned().ok_or_else(|| wrong(format!("{place} is {value}, and no list")))
        };
        let all = list(&file, "the file")?;
        // One layer is a list of lists of numbers; a cycle is nested once more.
        let is_cycle = all.iter().any(|layer| layer.as_array().is_some_and(|keys| keys.iter().any(Value::is_array)));
        let mut layers: Vec<Vec<Vec<usize>>> = Vec::new();
        let cycle = if is_cycle || all.is_empty() { all } else { vec![file] };
        for (index, layer) in cycle.iter().enumerate() {
            let tokens = list(layer, &format!("layer {index}"))?.into_iter().enumerate().map(|(token, keys)| {
                let place = format!("layer {index}, token {token}");
                let key = |key: &Value| {
                    let number = key.as_u64().and_then(|key| usize::try_from(key).ok());
                    number.ok_or_else(|| wrong(format!("{place} sees {key}, which is no token's number")))
                };
                list(&keys, &place)?.iter().map(key).collect::<Result<Vec<usize>>>()
            });
            layers.push(tokens.collect::<Result<_>>()?);
        }
        let several = layers.len() > 1;
        let layer = |(index, keys): (usize, Vec<Vec<usize>>)| {
            Connections::new(keys).map_err(|what| if several { format!("layer {index}: {what}") } else { what })
        };
        let cycle = layers.into_iter().enumerate().map(layer).collect::<std::result::Result<Vec<_>, String>>();
        cycle.and_then(|cycle| Self::new(name, cycle)).map_err(wrong)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if it is the pattern that its name stands for, or comes from a file.
    pub(crate) fn is_named_rightly(&self) -> bool {
        let family = self.name.parse::<Family>().and_then(|family| family.pattern(self.tokens()));
        self.name.starts_with("file:") || family.is_ok_and(|pattern| pattern == *self)
    }

    /// The number of tokens.
    pub fn tokens(&self) -> usize {
        self.cycle[0].tokens()
    }

    /// The number `p` of layers of the cycle.
    pub fn period(&self) -> usize {
        self.cycle.len()
    }

    /// The layers of the cycle.
    pub fn cycle(&self) -> &[Connections] {
        &self.cycle
    }

    /// The connections of a layer of a network, from 0: the cycle repeats.
    pub fn layer(&self, layer: usize) -> &Connections {
        &self.cycle[layer % self.cycle.len()]
    }

    /// A token that sees all others and that all others see, in a cycle of one layer.
    pub fn hub(&self) -> Option<usize> {
        let [layer] = &self.cycle[..] else { return None };
        let n = self.tokens();
        (0..n).find(|hub| layer.keys(*hub).len() == n && (0..n).all(|token| layer.sees(token, *hub)))
    }

    /// The connections of the densest layer.
    pub fn connections(&self) -> usize {
        self.cycle.iter().map(Connections::count).max().unwrap_or_default()
    }

    /// A pattern of sparse attention for so many tokens: by its name, or `file:` and a path. That of a file is called by the
    /// file's name, wherever it lies.
    pub fn named(text: &str, tokens: usize) -> Result<Self> {
        let Some(path) = text.strip_prefix("file:").map(Path::new) else {
            return text.parse::<Family>()?.pattern(tokens);
        };
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self::read(&format!("file:{name}"), &read_file(path)?)
    }
}
