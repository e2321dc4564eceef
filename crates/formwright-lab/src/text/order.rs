//! Seeds of streams, and orders of examples: both by number, with nothing to keep between steps.
//!
//! An epoch's order is a permutation of `0..count` that is evaluated at one place at a time: four rounds of a Feistel
//! network permute the `2b`-bit numbers, `4^b ≥ count`. A result outside `0..count` is permuted again until it leads
//! back, which keeps it a permutation.

use formwright::random;

/// The seed of a stream that is named by numbers; different names have different streams.
pub fn stream(seed: u64, name: &[u64]) -> u64 {
    let mixed = |mut state: u64| random::word(&mut state);
    name.iter().fold(mixed(seed), |state, part| mixed(state ^ part))
}

/// The example at a place of an endless sequence of epochs, each of which takes every one of `count` examples once.
pub fn example(seed: u64, count: usize, place: u64) -> usize {
    let count = count as u64;
    let keys = stream(seed, &[place / count]);
    let mut at = permuted(keys, count, place % count);
    while at >= count {
        at = permuted(keys, count, at);
    }
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// Four rounds on two halves of `b` bits.
fn permuted(keys: u64, count: u64, number: u64) -> u64 {
    let b = (64 - (count - 1).leading_zeros()).div_ceil(2).max(1);
    let low = (1 << b) - 1;
    let (left, right) = (0..4).fold((number >> b, number & low), |(left, right), round| {
        (right, left ^ (stream(keys, &[round, right]) & low))
    });
    left << b | right
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_epoch_takes_every_example_once_and_no_two_epochs_agree() {
        for count in 1..200 {
            let epoch = |number: u64| -> Vec<usize> {
                (0..count as u64).map(|place| example(7, count, number * count as u64 + place)).collect()
            };
            let all: BTreeSet<usize> = epoch(3).into_iter().collect();
            assert_eq!(all, (0..count).collect(), "{count} examples");
            assert!(count < 10 || epoch(0) != epoch(1), "{count} examples");
        }
    }

    #[test]
    fn every_example_comes_first_about_equally_often() {
        let mut first = [0_u32; 10];
        (0..10_000).for_each(|seed| first[example(seed, 10, 0)] += 1);
        // Binomial: mean 1000, standard deviation 30.
        assert!(first.iter().all(|&times| times.abs_diff(1000) < 150), "{first:?}");
    }
}
