//! The losses that are reached without context, in nats a piece: a masked-word loss says nothing before it is below
//! both.
//!
//! ```text
//! unigram   H = -Σ_w p(w) ln p(w)                  p(w): the frequency of a piece
//! single    L = -Σ_{w,o} p(w, o) ln p(w | o)       o: the piece that stands in the place of the wanted piece w
//!           o = [MASK] in 8 of 10 cases, a piece drawn from all R in 1, w itself in 1 (`mask.rs`)
//! ```
//!
//! So `p(w, [MASK]) = 0.8 p(w)`, `p(w, x) = c p(w)` for `x ≠ w` and `p(w, w) = (0.1 + c) p(w)`, with `c = 0.1 / R`; and
//! `P(o = x) = 0.1 p(x) + c`. The best reader of single words answers the likeliest `w` for `o`. Only pieces that can
//! be asked for count: no special tokens.

use super::{cache::Split, vocabulary::Vocabulary};
use std::collections::HashMap;
use std::hash::Hash;

/// The entropy of a piece.
pub fn unigram(text: &Split, vocabulary: &Vocabulary) -> f64 {
    entropy(text.pieces().filter(|&id| !vocabulary.is_special(id)))
}

/// The loss and the accuracy of the best reader of single words. It sees only the piece that stands in the place asked
/// for.
#[expect(clippy::cast_precision_loss, reason = "counts")]
pub fn single(text: &Split, vocabulary: &Vocabulary) -> (f64, f64) {
    let mut counts = vec![0_u64; vocabulary.pieces().len()];
    text.pieces().for_each(|id| counts[id as usize] += 1);
    let all = (0..).zip(counts).filter(|(id, _)| !vocabulary.is_special(*id));
    let counts: Vec<u64> = all.map(|(_, count)| count).collect();
    let n = counts.iter().sum::<u64>().max(1) as f64;
    let frequencies: Vec<f64> = counts.iter().map(|count| *count as f64 / n).collect();
    let spread = 0.1 / frequencies.len() as f64;
    // p ln p.
    let term = |p: f64| if p > 0.0 { p * p.ln() } else { 0.0 };
    let entropy = -frequencies.iter().map(|p| term(*p)).sum::<f64>();
    let mut largest = frequencies.clone();
    largest.sort_by(|a, b| b.total_cmp(a));
    let most = |place: usize| largest.get(place).copied().unwrap_or(0.0);
    let (mut loss, mut right) = (0.8 * entropy, 0.8 * most(0));
    for &p in &frequencies {
        let here = 0.1 * p + spread;
        let same = (0.1 + spread) * p;
        // -Σ_{w ≠ x} c p(w) ln(c p(w) / P(o = x)).
        let others = spread * (entropy + term(p)) - spread * (1.0 - p) * (spread / here).ln();
        loss += others - if same > 0.0 { same * (same / here).ln() } else { 0.0 };
        let other = if p < most(0) { most(0) } else { most(1) };
        right += same.max(spread * other);
    }
    (loss, right)
}

/// The entropy of values by their frequencies: `-Σ p ln p = ln n - (1/n) Σ c ln c` for counts `c` with the sum `n`.
#[expect(clippy::cast_precision_loss, reason = "counts")]
pub fn entropy<T: Eq + Hash>(values: impl Iterator<Item = T>) -> f64 {
    let mut counts: HashMap<T, u64> = HashMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    // This keeps the order of summation the same every time.
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
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn a_reader_of_single_words_does_what_the_table_of_all_cases_says() {
        let (cache, vocabulary) = cache(40);
        let ids = (0..).zip(vocabulary.pieces()).map(|(id, _)| id);
        let ordinary: Vec<u32> = ids.filter(|id| !vocabulary.is_special(*id)).collect();
        let pieces: Vec<u32> = cache.train.pieces().filter(|id| ordinary.contains(id)).collect();
        // Rows: the piece that stands there, [MASK] first; columns: the piece asked for.
        let frequency = |w: &u32| pieces.iter().filter(|id| *id == w).count() as f64 / pieces.len() as f64;
        let masked = ordinary.iter().map(|w| 0.8 * frequency(w)).collect();
        let drawn = |x: &u32| {
            let case = |w: &u32| frequency(w) * (0.1 / ordinary.len() as f64 + if x == w { 0.1 } else { 0.0 });
            ordinary.iter().map(case).collect()
        };
        let table: Vec<Vec<f64>> = std::iter::once(masked).chain(ordinary.iter().map(drawn)).collect();
        assert!((table.iter().flatten().sum::<f64>() - 1.0).abs() < 1e-12);
        let (mut loss, mut right) = (0.0, 0.0);
        for row in &table {
            let here: f64 = row.iter().sum();
            loss -= row.iter().filter(|p| **p > 0.0).map(|p| p * (p / here).ln()).sum::<f64>();
            right += row.iter().copied().fold(0.0, f64::max);
        }
        let found = single(&cache.train, &vocabulary);
        assert!((found.0 - loss).abs() < 1e-12 && (found.1 - right).abs() < 1e-12, "{found:?} against {loss}, {right}");
        assert!(found.0 < unigram(&cache.train, &vocabulary));
    }
}
