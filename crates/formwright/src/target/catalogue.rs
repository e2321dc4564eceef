//! The built-in targets: one text file each, in the target language. The first line is a comment that describes it.

use super::Source;
use crate::error::Result;

macro_rules! catalogue {
    ($($name:literal),* $(,)?) => {
        /// Name and text of every built-in target.
        pub const CATALOGUE: &[(&str, &str)] = &[$(($name, include_str!(concat!("catalogue/", $name, ".fw")))),*];
    };
}

catalogue![
    // Functions of values alone.
    "identity",
    "complement",
    "square",
    "mean-centring",
    "max-broadcast",
    "range-broadcast",
    "pairwise-means",
    "distance",
    "times-mean",
    "gap-to-max",
    "variance",
    "rank",
    "z-score",
    "softmax",
    "log-sum-exp",
    "attention-pooling",
    "l2-normalise",
    "power-mean",
    // Functions of values and positions.
    "sort",
    "reverse",
    "shift",
    "rotate",
    "difference",
    "prefix-sum",
    "prefix-mean",
    "first",
    "previous-token",
    "moving-average",
    // Functions of integers.
    "histogram",
    "count-less",
    "most-frequent",
    "pair-balance",
    "parity",
    "modular-sum",
    "sort-integers",
    "sorted-place",
    "median",
    "fraction-of-ones",
    "dyck-1",
    "addition",
];

/// The built-in target of this name.
pub(crate) fn find(name: &str) -> Option<Result<Source>> {
    let (name, text) = CATALOGUE.iter().find(|(known, _)| *known == name)?;
    Some(Source::expression(name, text))
}

/// The names of all built-in targets.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().map(|(name, _)| *name)
}

/// The comment line of a built-in target.
pub fn about(text: &str) -> &str {
    text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default()
}
