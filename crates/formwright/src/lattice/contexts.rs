//! Enumerations: tuples, increasing tuples, and increasing tuples by spread.
//!
//! A context of distinct columns is a set of `n` ids, written `l_1 < … < l_n`. Lemma 6 gives it a number that grows
//! with the spread `l_n - l_1` first; [`by_spread`] lists the contexts in the order in which that number *decreases*
//! (the file of Lemma 6 has the proof, and a test that compares with sorting).

use crate::exact::Int;

/// All tuples of `length` entries, lexicographic in the order of `entries`.
pub(crate) fn tuples<T: Clone>(entries: Vec<T>, length: usize) -> impl Iterator<Item = Vec<T>> {
    let mut digits = (!entries.is_empty() || length == 0).then(|| vec![0; length]);
    std::iter::from_fn(move || {
        let current = digits.as_mut()?;
        let tuple = current.iter().map(|&digit| entries[digit].clone()).collect();
        match current.iter().rposition(|&digit| digit + 1 < entries.len()) {
            Some(place) => {
                current[place] += 1;
                current[place + 1..].fill(0);
            }
            None => digits = None,
        }
        Some(tuple)
    })
}

/// All `low ≤ t_1 < … < t_length < end`, lexicographic.
pub(crate) fn increasing_tuples(low: &Int, end: Int, length: usize) -> impl Iterator<Item = Vec<Int>> + use<> {
    let mut next: Option<Vec<Int>> =
        (low + Int::from(length) <= end).then(|| (0..length).map(|k| low + Int::from(k)).collect());
    std::iter::from_fn(move || {
        let tuple = next.take()?;
        // The last entry that can still grow; those after it follow closely.
        let place = (0..length).rfind(|&k| &tuple[k] + Int::from(length - k) < end);
        if let Some(place) = place {
            let mut grown = tuple.clone();
            for (step, entry) in grown[place..].iter_mut().enumerate() {
                *entry = &tuple[place] + Int::from(step + 1);
            }
            next = Some(grown);
        }
        Some(tuple)
    })
}

/// All sets of `n ≥ 2` ids below `columns`, ascending inside a set: larger spread `l_n - l_1` first, then smaller gaps
/// `l_2 - l_1`, `l_3 - l_2`, … first, then larger `l_n` first.
pub(crate) fn by_spread(columns: Int, n: usize) -> impl Iterator<Item = Vec<Int>> {
    let spreads = std::iter::successors(Some(&columns - Int::ONE), |spread| Some(spread - Int::ONE));
    spreads.take_while(move |spread| *spread >= Int::from(n - 1)).flat_map(move |spread| {
        let columns = columns.clone();
        increasing_tuples(&Int::ONE, spread.clone(), n - 2).flat_map(move |inner| {
            let offsets: Vec<Int> =
                std::iter::once(Int::ZERO).chain(inner).chain(std::iter::once(spread.clone())).collect();
            let lowest = std::iter::successors(Some(&columns - Int::ONE - &spread), |low| Some(low - Int::ONE));
            lowest
                .take_while(|low| *low >= Int::ZERO)
                .map(move |low| offsets.iter().map(|offset| &low + offset).collect())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increasing_tuples_are_lexicographic_and_complete() {
        for end in 0..8 {
            for length in 0..5 {
                let listed: Vec<Vec<Int>> = increasing_tuples(&Int::ZERO, Int::from(end), length).collect();
                let all = tuples((0..end).map(Int::from).collect(), length);
                let expected: Vec<Vec<Int>> = all.filter(|t| t.windows(2).all(|pair| pair[0] < pair[1])).collect();
                assert_eq!(listed, expected, "below {end}, length {length}");
            }
        }
    }

    #[test]
    fn by_spread_lists_every_set_once() {
        for (columns, n) in [(2, 2), (7, 2), (7, 3), (6, 4), (9, 5), (4, 4)] {
            let mut listed: Vec<Vec<Int>> = by_spread(Int::from(columns), n).collect();
            listed.sort();
            let expected: Vec<Vec<Int>> = increasing_tuples(&Int::ZERO, Int::from(columns), n).collect();
            assert_eq!(listed, expected);
        }
        assert_eq!(by_spread(Int::from(2), 3).count(), 0);
    }
}
