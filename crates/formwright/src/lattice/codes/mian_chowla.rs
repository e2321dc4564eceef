//! The greedy `B_n` set (Mian and Chowla, for `n = 2`): 1, and then always the smallest number that leaves all `n`-fold
//! sums distinct.
//!
//! A new number `x` adds the sums `jx + s`, `s` a sum of `n-j` earlier numbers, `j = 1, …, n`. Two sums coincide for at
//! most one `x` each, so the next number is at most about `D^{2n-1}`: that many are tried at worst, and [`MOST_TRIED`]
//! is the limit.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::exact::Int;

/// The largest number that may have to be tried, which takes some seconds.
const MOST_TRIED: u64 = 1 << 26;

pub(super) fn codes(tokens: usize, ids: u64) -> Result<Vec<Int>> {
    let worst = Int::from(ids).pow(2 * tokens - 1);
    if worst > Int::from(MOST_TRIED) {
        return Err(Error::declined(format!("the greedy code of {ids} ids may have to try numbers up to {worst}"))
            .note("reason", "each of D numbers is found by trying, and the last may be as large as D^(2n-1)")
            .note("limit", MOST_TRIED.to_string())
            .note("try", "⟨code=bose-chowla⟩"));
    }
    let mut found: Vec<u64> = Vec::new();
    // sums[k]: all sums of k numbers.
    let mut sums: Vec<HashSet<u64>> = vec![HashSet::from([0])];
    sums.resize(tokens + 1, HashSet::new());
    let mut next = 1;
    while (found.len() as u64) < ids {
        if let Some(new) = fits(&sums, tokens, next) {
            found.push(next);
            sums[tokens].extend(new);
            // Sums of fewer numbers, with `next` once more than before.
            for count in 1..tokens {
                let more: Vec<u64> = sums[count - 1].iter().map(|sum| sum + next).collect();
                sums[count].extend(more);
            }
        }
        next += 1;
    }
    Ok(found.into_iter().map(Int::from).collect())
}

/// The sums that `x` adds, unless one of them exists already or occurs twice.
fn fits(sums: &[HashSet<u64>], tokens: usize, x: u64) -> Option<HashSet<u64>> {
    let mut new = HashSet::new();
    let mut copies = 0;
    for count in (0..tokens).rev() {
        copies += x;
        for sum in &sums[count] {
            if sums[tokens].contains(&(sum + copies)) || !new.insert(sum + copies) {
                return None;
            }
        }
    }
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_give_the_sequence_of_mian_and_chowla() {
        // OEIS A005282.
        let expected = [1, 2, 4, 8, 13, 21, 31, 45, 66, 81, 97, 123, 148, 182, 204].map(Int::from);
        assert_eq!(codes(2, 15).expect("a code"), expected);
    }

    #[test]
    fn every_number_that_was_left_out_would_have_spoilt_it() {
        for (n, ids) in [(3, 8), (4, 5)] {
            let greedy = codes(n, ids).expect("a code");
            let found: Vec<u64> = greedy.iter().filter_map(Int::to_u64).collect();
            for candidate in 1..*found.last().expect("codes") {
                let below: Vec<u64> = found.iter().copied().filter(|code| *code < candidate).collect();
                let with: Vec<u64> = [below, vec![candidate]].concat();
                let distinct = is_distinct(&with, n);
                assert_eq!(distinct, found.contains(&candidate), "{n}: {candidate}");
            }
        }
    }

    /// Compares all tuples, by brute force.
    fn is_distinct(codes: &[u64], n: usize) -> bool {
        let mut seen: std::collections::HashMap<u64, Vec<u64>> = std::collections::HashMap::new();
        crate::lattice::tuples(codes.to_vec(), n).all(|mut tuple| {
            tuple.sort_unstable();
            let sum = tuple.iter().sum();
            seen.entry(sum).or_insert_with(|| tuple.clone()) == &tuple
        })
    }
}
