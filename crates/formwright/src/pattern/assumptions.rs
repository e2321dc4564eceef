//! Yun et al. 2020b, Assumption 1: the conditions that the construction sets on a pattern.
//!
//! ```text
//! (1)  k ∈ A_k^l  for all k and l                                                         self-loops
//! (2)  a permutation γ with γ(i) ∈ ∪_l A^l_{γ(i+1)}                                       a chain: chain.rs
//! (3)  S_k^1 = A_k^1,  S_k^t = ∪_{j ∈ A_k^{((t-1) mod p)+1}} S_j^{t-1}:  S_k^s = all      all connected in s hops
//! ```
//!
//! With self-loops the sets `S_k^t` only grow. So a whole cycle in which none grows ends the search: tokens that are
//! not connected by then never will be.

use serde::Serialize;

use super::{Chain, Pattern};
use crate::error::Error;

/// The answer to the question if every token reaches every other, layer after layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub(crate) enum Reach {
    /// After `s` layers every token has heard of every other.
    Hops {
        /// The smallest such `s`.
        s: usize,
    },
    /// Some token never hears of another.
    Never {
        /// The token that never hears of `of`.
        token: usize,
        /// The token that it never hears of.
        of: usize,
    },
    /// Not examined: without self-loops a layer forgets.
    Forgets,
}

/// The findings for a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumptions {
    /// Condition (1): the first layer and token without a self-loop, if there is one.
    pub no_self_loop: Option<(usize, usize)>,
    /// Condition (2).
    pub(crate) chain: Chain,
    /// Condition (3).
    pub(crate) reach: Reach,
}

impl Assumptions {
    /// Examines a pattern.
    pub fn of(pattern: &Pattern) -> Self {
        let lacks = |layer: usize| (0..pattern.tokens()).find(|token| !pattern.layer(layer).sees(*token, *token));
        let no_self_loop = (0..pattern.period()).find_map(|layer| Some((layer, lacks(layer)?)));
        let reach = if no_self_loop.is_some() { Reach::Forgets } else { reach(pattern) };
        Self { no_self_loop, chain: Chain::of(pattern), reach }
    }

    /// The layers after which every token has heard of every other, if it ever does.
    pub fn hops(&self) -> Option<usize> {
        match self.reach {
            Reach::Hops { s } => Some(s),
            Reach::Never { .. } | Reach::Forgets => None,
        }
    }

    /// True if there is a chain, and its order is another than that of the tokens.
    pub fn is_reordered(&self) -> bool {
        matches!(&self.chain, Chain::Found { order, .. } if !order.is_sorted())
    }

    /// The three conditions in words, a line each.
    pub fn in_words(&self) -> [String; 3] {
        let first = match self.no_self_loop {
            None => "(1) holds: every token sees itself in every layer".to_owned(),
            Some((layer, token)) => format!("(1) fails: token {token} does not see itself in layer {layer}"),
        };
        let second = match &self.chain {
            Chain::Found { order, .. } if order.is_sorted() => {
                "(2) holds: each token is seen by the one behind it".to_owned()
            }
            Chain::Found { order, .. } => format!("(2) holds: each token is seen by the next of {}", listed(order)),
            Chain::Impossible { reason } => format!("(2) fails: {reason}"),
            Chain::NotFound { steps } => format!("(2) is open: no chain was found within {steps} steps of a search"),
        };
        let third = match &self.reach {
            Reach::Hops { s: 1 } => "(3) holds: every token sees every other, s = 1".to_owned(),
            Reach::Hops { s } => format!("(3) holds: every token has heard of every other after s = {s} layers"),
            Reach::Never { token, of } => format!("(3) fails: token {token} never hears of token {of}"),
            Reach::Forgets => "(3) was not looked at: without (1) a layer forgets".to_owned(),
        };
        [first, second, third]
    }

    /// `γ`, the layers that serve its steps, and `s`. A pattern that does not satisfy all three conditions is declined,
    /// with the witness.
    pub fn satisfied(&self, pattern: &Pattern) -> Result<(&[usize], &[usize], usize), Error> {
        if let (None, Chain::Found { order, served }, Reach::Hops { s }) = (self.no_self_loop, &self.chain, &self.reach)
        {
            return Ok((order, served, *s));
        }
        let words = self.in_words();
        let failing = words.iter().find(|words| !words.contains("holds")).map_or("", String::as_str);
        let (name, tokens) = (pattern.name(), pattern.tokens());
        let does = if failing.contains("is open") { "is not known to" } else { "does not" };
        Err(Error::declined(format!("the pattern {name} {does} satisfy Assumption 1 for {tokens} tokens"))
            .note("witness", failing)
            .note(
                "theorem",
                "sparse attention (Yun et al. 2020b) needs self-loops, a chain of tokens, and hops from all to all",
            )
            .note("try", "sparse:star, or formwright patterns to compare others"))
    }
}

/// The first few of a long list.
fn listed(order: &[usize]) -> String {
    let first: Vec<String> = order.iter().take(12).map(usize::to_string).collect();
    first.join(", ") + if order.len() > 12 { ", …" } else { "" }
}

fn reach(pattern: &Pattern) -> Reach {
    let n = pattern.tokens();
    let words = n.div_ceil(64);
    // S_k as bits. Before the first layer a token has heard only of itself: S_k^1 = A_k^1 is one step from there.
    let mut heard: Vec<Vec<u64>> =
        (0..n).map(|k| (0..words).map(|word| if k / 64 == word { 1 << (k % 64) } else { 0 }).collect()).collect();
    let missing = |heard: &[u64]| (0..n).find(|j| heard[j / 64] >> (j % 64) & 1 == 0);
    let mut still = 0;
    for layer in 0.. {
        if heard.iter().all(|heard| missing(heard).is_none()) {
            return Reach::Hops { s: layer.max(1) };
        }
        if still == pattern.period() {
            break;
        }
        let union = |k: usize| {
            let mut union = vec![0; words];
            for j in pattern.layer(layer).keys(k) {
                union.iter_mut().zip(&heard[*j]).for_each(|(union, word)| *union |= word);
            }
            union
        };
        let next: Vec<Vec<u64>> = (0..n).map(union).collect();
        still = if next == heard { still + 1 } else { 0 };
        heard = next;
    }
    let never = heard.iter().enumerate().find_map(|(token, heard)| Some((token, missing(heard)?)));
    let (token, of) = never.unwrap_or_default();
    Reach::Never { token, of }
}
