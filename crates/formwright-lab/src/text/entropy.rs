//! What frequencies alone achieve, in nats a piece: a masked-word loss says nothing before it is below the first.
//!
//! With `p(b)` the frequency of a piece and `p(b | a)` its frequency after `a`:
//!
//! ```text
//! unigram  H = -Σ_b p(b) ln p(b)          bigram  H = -Σ_{a,b} p(a, b) ln p(b | a)
//! ```
//!
//! Only pieces that can be asked for count: no special tokens. They are entropies of the text as it stands; that of
//! bigrams is below that of the language where a text is short, since most of its pairs occur once.

use super::{cache::Split, vocabulary::Vocabulary};
use std::collections::HashMap;
use std::hash::Hash;

/// The entropy of a piece.
pub fn unigram(text: &Split, vocabulary: &Vocabulary) -> f64 {
    entropy(text.pieces().filter(|&id| !vocabulary.is_special(id)))
}

/// The entropy of a piece, given the one before it: `H(a, b) - H(a)`.
pub fn bigram(text: &Split, vocabulary: &Vocabulary) -> f64 {
    let pairs = || {
        let ordinary = |id: u32| !vocabulary.is_special(id);
        text.pieces().zip(text.pieces().skip(1)).filter(move |&(a, b)| ordinary(a) && ordinary(b))
    };
    entropy(pairs()) - entropy(pairs().map(|(a, _)| a))
}

/// The entropy of values by their frequencies: `-Σ p ln p = ln n - (1/n) Σ c ln c` for counts `c` with the sum `n`.
#[expect(clippy::cast_precision_loss, reason = "counts")]
pub fn entropy<T: Eq + Hash>(values: impl Iterator<Item = T>) -> f64 {
    let mut counts: HashMap<T, u64> = HashMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    // The same order of summation every time.
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable();
    let n = counts.iter().sum::<u64>().max(1) as f64;
    n.ln() - counts.iter().map(|&c| c as f64 * (c as f64).ln()).sum::<f64>() / n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::cache::tests::cache;

    #[test]
    fn entropies_by_hand() {
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-14, "{found} against {expected}");
        close(entropy(std::iter::empty::<u32>()), 0.0);
        close(entropy([7; 9].into_iter()), 0.0);
        close(entropy([1, 2, 3, 4].into_iter()), 4_f64.ln());
        // Frequencies 1/2, 1/4, 1/4.
        close(entropy("abac".chars()), 1.5 * 2_f64.ln());
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn a_text_has_the_entropy_of_its_ordinary_pieces() {
        let (cache, vocabulary) = cache(40);
        let pieces: Vec<u32> = cache.train.pieces().collect();
        let ordinary = |id: &u32| !vocabulary.is_special(*id);
        // By the definition: the mean of -ln p over all places.
        let share = |here: usize, all: usize| -(here as f64 / all as f64).ln();
        let single: Vec<u32> = pieces.iter().copied().filter(ordinary).collect();
        let expected = single.iter().map(|id| share(single.iter().filter(|other| *other == id).count(), single.len()));
        let expected = expected.sum::<f64>() / single.len() as f64;
        assert!((unigram(&cache.train, &vocabulary) - expected).abs() < 1e-12);
        let pairs: Vec<&[u32]> = pieces.windows(2).filter(|pair| pair.iter().all(ordinary)).collect();
        let expected = pairs.iter().map(|pair| {
            let both = pairs.iter().filter(|other| *other == pair).count();
            share(both, pairs.iter().filter(|other| other[0] == pair[0]).count())
        });
        let expected = expected.sum::<f64>() / pairs.len() as f64;
        let found = bigram(&cache.train, &vocabulary);
        assert!((found - expected).abs() < 1e-12, "{found} against {expected}");
        assert!(found < unigram(&cache.train, &vocabulary));
    }
}
