//! Masks: the keys that a query of a head sees.
//!
//! ```text
//! the query of token i sees the key of token j   ⇔   low ≤ j − i ≤ high  and  low' ≤ j ≤ high',
//!                                                    or j = 0 and position 0 is a sink
//! ```
//!
//! Softmax is over the keys that are seen and no others. A query sees an interval of positions, and perhaps position 0
//! before it. That is enough for causal attention, windows, prefixes with a sink and fixed places, and little enough
//! that an evaluator runs over an interval and a file holds five entries per head.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The least and the largest of an interval of integers; `None` means no limit.
pub(crate) type Limits = (Option<i64>, Option<i64>);

/// The keys that a head's query sees: those of an interval of positions, and the first one if it is a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mask {
    /// The limits of the key relative to the query: `low ≤ j − i ≤ high`.
    pub relative: Limits,
    /// The limits of the key in the sequence: `low ≤ j ≤ high`.
    pub absolute: Limits,
    /// True if position 0 is seen in any case.
    pub first: bool,
}

/// The keys that one query sees, in the order of positions: position 0 if it stands apart, then an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    /// True if position 0 is seen, and is not in the interval.
    pub first: bool,
    /// The interval.
    pub range: Range<usize>,
}

impl Keys {
    /// The positions, in their order.
    pub fn positions(&self) -> impl Iterator<Item = usize> + use<> {
        self.first.then_some(0).into_iter().chain(self.range.clone())
    }
}

impl Mask {
    /// Every query sees every key.
    pub const ALL: Self = Self { relative: (None, None), absolute: (None, None), first: false };

    /// Every query sees its own key and those before it.
    pub const CAUSAL: Self = Self { relative: (None, Some(0)), ..Self::ALL };

    /// Its limits as a certificate has them: `low high from to first`.
    pub fn limits(&self) -> String {
        let limit = |limit: Option<i64>| limit.map_or("*".to_owned(), |limit| limit.to_string());
        let [low, high] = [self.relative.0, self.relative.1].map(limit);
        let [from, to] = [self.absolute.0, self.absolute.1].map(limit);
        format!("{low} {high} {from} {to} {}", if self.first { "yes" } else { "no" })
    }

    /// True if nothing is hidden.
    pub fn is_all(&self) -> bool {
        (self.relative, self.absolute) == (Self::ALL.relative, Self::ALL.absolute)
    }

    /// True if it shows what another one shows, which is `ALL` or `CAUSAL`: the first token is among these in any case.
    pub(crate) fn shows(&self, other: &Self) -> bool {
        if other.is_all() { self.is_all() } else { Self { first: false, ..*self } == *other }
    }

    /// True if the query of token `i` sees the key of token `j`.
    pub fn sees(&self, i: usize, j: usize) -> bool {
        self.first && j == 0 || self.keys(i, j.saturating_add(1)).range.contains(&j)
    }

    /// The keys that the query of token `i` sees in a sequence of `tokens` tokens.
    pub(crate) fn keys(&self, i: usize, tokens: usize) -> Keys {
        let (i, end) = (integer(i), integer(tokens));
        let from = |limit: Option<i64>| limit.map_or(0, |low| low.max(0));
        let to = |limit: Option<i64>| limit.map_or(end, |high| high.saturating_add(1).min(end));
        let shifted = |limit: Option<i64>| limit.map(|limit| i.saturating_add(limit));
        let low = from(self.absolute.0).max(from(shifted(self.relative.0)));
        let high = to(self.absolute.1).min(to(shifted(self.relative.1)));
        let range = if low < high { position(low)..position(high) } else { 0..0 };
        Keys { first: self.first && tokens > 0 && !range.contains(&0), range }
    }

    /// The first query that sees nothing in some sequence of an accepted length, and the number of tokens; `None` if
    /// every query of every length sees a key.
    ///
    /// For token `i` the shortest sequence is the worst: `n = max(least, i + 1)`. A token sees nothing where a lower
    /// limit lies above an upper one, each of them constant or `i` plus a constant, so the tokens that see nothing form
    /// intervals that begin at 0 or where one of the pairs first crosses.
    pub fn blind(&self, lengths: (usize, usize)) -> Option<(usize, usize)> {
        let least = integer(lengths.0);
        let crossings = [
            Some(0),
            Some(least),
            self.relative.0.map(|low| least.saturating_sub(low)),
            self.relative.0.zip(self.absolute.1).map(|(low, high)| high.saturating_sub(low).saturating_add(1)),
        ];
        let tokens = |i: usize| lengths.0.max(i.saturating_add(1));
        let blind = |i: &usize| *i < lengths.1 && self.keys(*i, tokens(*i)).positions().next().is_none();
        let candidates = crossings.into_iter().flatten().filter(|i| *i >= 0).map(position);
        candidates.filter(blind).min().map(|i| (i, tokens(i)))
    }

    /// An interval that ends before it begins, if there is one: such a mask is a mistake.
    pub fn backwards(&self) -> Option<(&'static str, i64, i64)> {
        [("relative", self.relative), ("absolute", self.absolute)]
            .into_iter()
            .find_map(|(name, (low, high))| Some((name, low?, high?)).filter(|(_, low, high)| low > high))
    }
}

/// Checks that masks can be those of the `heads` of a block in a network that accepts so many tokens. The error is too
/// few or too many masks, an interval that ends before it begins, or a query that sees nothing.
pub(crate) fn check(masks: &[Mask], heads: usize, block: usize, lengths: (usize, usize)) -> Result<(), String> {
    if masks.len() != heads {
        return Err(format!("block {block} has {} masks for {heads} heads", masks.len()));
    }
    for (head, mask) in masks.iter().enumerate() {
        if let Some((side, low, high)) = mask.backwards() {
            return Err(format!("block {block}, head {head}: its {side} positions go from {low} to {high}"));
        }
        if let Some((token, tokens)) = mask.blind(lengths) {
            return Err(format!("block {block}, head {head}: token {token} of {tokens} sees no key"));
        }
    }
    Ok(())
}

/// A position as a signed integer; no sequence in memory is longer.
fn integer(position: usize) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

fn position(integer: i64) -> usize {
    usize::try_from(integer).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> impl Iterator<Item = Limits> {
        let ends = || [None].into_iter().chain((-3..=4).map(Some));
        ends().flat_map(move |low| ends().map(move |high| (low, high)))
    }

    fn masks() -> impl Iterator<Item = Mask> {
        let first = |relative, absolute| [false, true].map(|first| Mask { relative, absolute, first });
        limits().flat_map(move |relative| limits().flat_map(move |absolute| first(relative, absolute)))
    }

    /// True if the query sees the key, by the definition.
    fn by_definition(mask: &Mask, i: i64, j: i64) -> bool {
        let within = |x: i64, (low, high): Limits| low.is_none_or(|low| low <= x) && high.is_none_or(|high| x <= high);
        within(j - i, mask.relative) && within(j, mask.absolute) || mask.first && j == 0
    }

    #[test]
    fn keys_are_those_of_the_definition() {
        for mask in masks() {
            for n in 1..5 {
                for i in 0..n {
                    let expected: Vec<usize> =
                        (0..n).filter(|j| by_definition(&mask, integer(i), integer(*j))).collect();
                    assert_eq!(mask.keys(i, n).positions().collect::<Vec<_>>(), expected, "{mask:?} {i} {n}");
                    assert!((0..n).all(|j| mask.sees(i, j) == expected.contains(&j)), "{mask:?} {i}");
                }
            }
        }
    }

    #[test]
    fn the_first_blind_query_is_found_without_looking_at_all() {
        for mask in masks() {
            for least in 1..5 {
                for most in [least, least + 1, least + 6] {
                    let pairs = (0..most).flat_map(|i| (least.max(i + 1)..=most).map(move |n| (i, n)));
                    let sees = |(i, n): &(usize, usize)| (0..*n).any(|j| mask.sees(*i, j));
                    let expected = pairs.into_iter().find(|pair| !sees(pair));
                    assert_eq!(mask.blind((least, most)), expected, "{mask:?} {least} {most}");
                }
            }
        }
    }

    #[test]
    fn limits_beyond_all_positions_do_no_harm() {
        let far = (Some(i64::MIN), Some(i64::MAX));
        let mask = Mask { relative: far, absolute: far, first: false };
        assert_eq!(mask.keys(3, 7).range, 0..7);
        assert_eq!(mask.blind((1, usize::MAX)), None);
        assert_eq!(Mask { relative: (Some(i64::MAX), None), ..Mask::ALL }.blind((2, 5)), Some((0, 2)));
        assert_eq!(Mask::CAUSAL.blind((1, usize::MAX)), None);
    }
}
