//! Masked words: 15 % of the pieces of a sequence are asked for.
//!
//! Of the `k` pieces of a sequence that are not special tokens, `max(1, round(0.15 k))` are chosen without replacement.
//! A chosen piece is replaced by `[MASK]` with probability 0.8, by a piece drawn from all that are not special with
//! probability 0.1, and stays as it is otherwise; the answer is always the original piece. So the answers are
//! distributed like the pieces of the text: knowing their frequencies alone achieves `entropy`.

use super::batch::Asked;
use super::{cache::Split, order, vocabulary::Vocabulary};
use formwright::error::Result;
use formwright::random;

/// Batches of masked text: a function of seed and step.
#[derive(Clone, Debug)]
pub struct Masking<'a> {
    text: &'a Split,
    vocabulary: &'a Vocabulary,
    rows: usize,
    length: usize,
    sequences: usize,
    seed: u64,
    ordinary: Vec<u32>,
}

impl<'a> Masking<'a> {
    /// Batches of so many rows of a length.
    pub fn new(text: &'a Split, vocabulary: &'a Vocabulary, rows: usize, length: usize, seed: u64) -> Result<Self> {
        let sequences = text.sequences(length)?;
        let ordinary =
            (0..).zip(vocabulary.pieces()).map(|(id, _)| id).filter(|&id| !vocabulary.is_special(id)).collect();
        Ok(Self { text, vocabulary, rows, length, sequences, seed, ordinary })
    }

    /// The number of places asked for in a row, fillers included.
    pub fn asked_a_row(&self) -> usize {
        share(self.length - 2)
    }

    /// The batch of a step. Every sequence is seen once an epoch.
    pub fn batch(&self, step: u64) -> Asked {
        let mut batch = Asked::default();
        for row in 0..self.rows as u64 {
            let place = step * self.rows as u64 + row;
            let sequence = order::example(order::stream(self.seed, &[0]), self.sequences, place);
            self.mask(self.text.sequence(sequence, self.length), order::stream(self.seed, &[1, place]), &mut batch);
        }
        batch
    }

    fn mask(&self, mut row: Vec<u32>, mut seed: u64, batch: &mut Asked) {
        let mut places: Vec<usize> = (0..row.len()).filter(|&place| !self.vocabulary.is_special(row[place])).collect();
        let chosen = share(places.len()).min(places.len());
        for i in 0..chosen {
            let other = i + random::below(&mut seed, places.len() - i);
            places.swap(i, other);
        }
        places.truncate(chosen);
        places.sort_unstable();
        let start = batch.inputs.len();
        for place in places {
            batch.positions.push(flat(start + place));
            batch.labels.push(row[place]);
            match random::below(&mut seed, 10) {
                0..8 => row[place] = self.vocabulary.mask(),
                8 => row[place] = self.ordinary[random::below(&mut seed, self.ordinary.len())],
                _ => {}
            }
        }
        let fillers = self.asked_a_row() - chosen;
        batch.positions.extend(std::iter::repeat_n(flat(start), fillers));
        batch.labels.extend(std::iter::repeat_n(row[0], fillers));
        batch.weights.extend((0..self.asked_a_row()).map(|asked| if asked < chosen { 1.0 } else { 0.0 }));
        batch.inputs.extend(row);
    }
}

/// `max(1, round(0.15 k))`
fn share(k: usize) -> usize {
    ((15 * k + 50) / 100).max(1)
}

/// A place in a flat batch.
pub(super) fn flat(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::cache::tests::cache;
    use std::collections::BTreeMap;

    #[test]
    fn a_batch_is_a_function_of_seed_and_step() {
        let (cache, vocabulary) = cache(40);
        let masking = |seed| Masking::new(&cache.train, &vocabulary, 3, 20, seed).expect("batches");
        let late = masking(5).batch(1000);
        assert_eq!(masking(5).batch(1000), late, "whatever was asked for before");
        assert_ne!(masking(6).batch(1000), late);
        assert_ne!(masking(5).batch(1001), late);
    }

    #[test]
    fn fifteen_in_a_hundred_are_asked_for_and_never_a_special_token() {
        let (cache, vocabulary) = cache(40);
        for (length, rows) in [(3, 2), (8, 3), (20, 4), (102, 5)] {
            let masking = Masking::new(&cache.train, &vocabulary, rows, length, 9).expect("batches");
            assert_eq!(
                masking.asked_a_row(),
                [(3, 1), (8, 1), (20, 3), (102, 15)].into_iter().find(|case| case.0 == length).expect("a case").1
            );
            for step in 0..50 {
                let batch = masking.batch(step);
                assert_eq!(batch.inputs.len(), rows * length);
                assert_eq!(
                    [batch.positions.len(), batch.labels.len(), batch.weights.len()],
                    [rows * masking.asked_a_row(); 3]
                );
                for row in 0..rows {
                    let place = step * rows as u64 + row as u64;
                    let number = order::example(order::stream(9, &[0]), masking.sequences, place);
                    let sequence = cache.train.sequence(number, length);
                    let ordinary = sequence.iter().filter(|&&id| !vocabulary.is_special(id)).count();
                    let mut restored = batch.inputs[row * length..][..length].to_vec();
                    let asked = row * masking.asked_a_row()..(row + 1) * masking.asked_a_row();
                    let real: Vec<usize> = asked.filter(|&i| batch.weights[i] > 0.0).collect();
                    let near = (100 * real.len()).abs_diff(15 * ordinary) <= 50;
                    assert!(near || real.len() == ordinary.min(1), "{} of {ordinary}", real.len());
                    for i in real {
                        assert!(!vocabulary.is_special(batch.labels[i]));
                        restored[batch.positions[i] as usize - row * length] = batch.labels[i];
                    }
                    assert_eq!(restored, sequence, "nothing else is changed");
                }
            }
        }
    }

    #[test]
    fn eight_are_masked_one_is_drawn_and_one_stays() {
        let (cache, vocabulary) = cache(400);
        let masking = Masking::new(&cache.train, &vocabulary, 16, 102, 3).expect("batches");
        let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
        for step in 0..100 {
            let batch = masking.batch(step);
            for i in (0..batch.labels.len()).filter(|&i| batch.weights[i] > 0.0) {
                let kind = match batch.inputs[batch.positions[i] as usize] {
                    id if id == vocabulary.mask() => "masked",
                    id if id == batch.labels[i] => "stays",
                    id => {
                        assert!(!vocabulary.is_special(id));
                        "drawn"
                    }
                };
                *kinds.entry(kind).or_default() += 1;
            }
        }
        let all = f64::from(kinds.values().sum::<u32>());
        // Of the drawn, one in 55 is the same piece by chance. The standard deviation of a share is below 0.003.
        for (kind, share) in [("masked", 0.8), ("drawn", 0.1 * 54.0 / 55.0), ("stays", 0.1 + 0.1 / 55.0)] {
            assert!((f64::from(kinds[kind]) / all - share).abs() < 0.012, "{kinds:?}");
        }
    }

    #[test]
    fn an_epoch_sees_every_sequence_once() {
        let (cache, vocabulary) = cache(40);
        let masking = Masking::new(&cache.train, &vocabulary, 1, 20, 3).expect("batches");
        let mut found: Vec<Vec<u32>> = (0..masking.sequences as u64)
            .map(|step| {
                let mut batch = masking.batch(step);
                let real = (0..batch.labels.len()).filter(|&i| batch.weights[i] > 0.0);
                real.for_each(|i| batch.inputs[batch.positions[i] as usize] = batch.labels[i]);
                batch.inputs
            })
            .collect();
        let mut expected: Vec<Vec<u32>> =
            (0..masking.sequences).map(|number| cache.train.sequence(number, 20)).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}
