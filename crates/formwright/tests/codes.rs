//! Codes: sums over a sequence name its multiset, exhaustively; Bose and Chowla's codes are what they are said to be.

use std::collections::{HashMap, HashSet};

use formwright::exact::Int;
use formwright::lattice::codes::{Code, Codes};
use formwright::lattice::tuples;

/// All multisets of `n` places below `count`, increasing.
fn multisets(count: usize, n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..n {
        all = all
            .into_iter()
            .flat_map(|set: Vec<usize>| {
                (set.last().copied().unwrap_or(0)..count).map(move |next| [set.clone(), vec![next]].concat())
            })
            .collect();
    }
    all
}

fn sum(codes: &Codes, places: &[usize]) -> Int {
    places.iter().fold(Int::ZERO, |sum, place| sum + &codes.values[*place])
}

/// Asserts that all sums are distinct, and returns how many there are.
fn distinct(codes: &Codes, places: impl IntoIterator<Item = Vec<usize>>) -> usize {
    let mut seen: HashMap<Int, Vec<usize>> = HashMap::new();
    for set in places {
        if let Some(other) = seen.insert(sum(codes, &set), set.clone()) {
            panic!("{:?} for {} tokens: {other:?} and {set:?} have one sum", codes.code, codes.tokens);
        }
    }
    seen.len()
}

#[test]
fn all_multisets_have_distinct_sums() {
    let mut checked = 0;
    for (code, most) in [
        (Code::Histogram, [40, 24, 14]),
        (Code::BoseChowla { field: None }, [150, 40, 20]),
        (Code::MianChowla, [80, 16, 8]),
    ] {
        for (n, most) in (2..).zip(most) {
            for ids in 1..=most {
                let codes = code.codes(n, &Int::from(ids)).expect("a code");
                assert!(codes.values.windows(2).all(|pair| pair[0] < pair[1]) && codes.values[0] >= Int::ONE);
                assert_eq!(codes.values.len(), ids);
                checked += distinct(&codes, multisets(ids, n));
            }
        }
    }
    assert!(checked > 700_000, "{checked}");
}

#[test]
fn all_sequences_have_distinct_sums_at_their_places() {
    for (n, most) in [(2, 30), (3, 12), (4, 7), (5, 4)] {
        for ids in 1..=most {
            let codes = Code::Positional.codes(n, &Int::from(ids)).expect("a code");
            let places = |sequence: Vec<usize>| sequence.iter().enumerate().map(|(j, a)| j * ids + a).collect();
            let sequences = tuples((0..ids).collect(), n).map(places);
            assert_eq!(distinct(&codes, sequences), ids.pow(u32::try_from(n).expect("few tokens")));
        }
    }
}

/// From the definition, by brute force: some monic polynomial under which the powers of `X` run through all of `GF(q^n)` without 0, and of these powers
/// the ones that are `X + a`, in the order in which they come.
#[test]
fn bose_chowla_codes_are_logarithms_in_a_field() {
    for q in [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31_u64] {
        for n in 2..=3_usize {
            let codes = Code::BoseChowla { field: Some(q) }.codes(n, &Int::from(q)).expect("codes");
            let found: Vec<u64> = codes.values.iter().map(|code| code.to_u64().expect("small")).collect();
            let size = q.pow(u32::try_from(n).expect("few"));
            assert!(found.iter().all(|code| *code < size - 1));
            let logarithms = |monic: &[u64]| -> Option<Vec<u64>> {
                let (mut seen, mut power, mut logarithms) = (HashSet::new(), vec![0; n], Vec::new());
                power[1] = 1;
                for exponent in 1..size {
                    if power.iter().all(|c| *c == 0) || !seen.insert(power.clone()) {
                        return None;
                    }
                    if power[1] == 1 && power[2..].iter().all(|c| *c == 0) {
                        logarithms.push(exponent);
                    }
                    // Times X, less a multiple of the polynomial.
                    let top = power[n - 1];
                    power.rotate_right(1);
                    power[0] = 0;
                    for (c, m) in power.iter_mut().zip(monic) {
                        *c = (*c + (q - top % q) * m) % q;
                    }
                }
                Some(logarithms)
            };
            let polynomials = tuples((0..q).rev().collect(), n);
            let known = polynomials.filter_map(|monic| logarithms(&monic)).any(|logarithms| logarithms == found);
            assert!(known, "GF({q}^{n}): {found:?}");
        }
    }
}

#[test]
fn sums_are_decoded_and_what_is_no_sum_is_not() {
    for code in [Code::Histogram, Code::BoseChowla { field: None }, Code::MianChowla] {
        for (n, ids) in [(2, 9), (3, 7), (4, 5)] {
            let codes = code.codes(n, &Int::from(ids)).expect("a code");
            let known: HashMap<Int, Vec<usize>> =
                multisets(ids, n).into_iter().map(|set| (sum(&codes, &set), set)).collect();
            let end = codes.largest() * Int::from(n) + Int::from(2);
            let step = (&end.div_rem(&Int::from(5000)).0 + Int::ONE).to_usize().expect("small");
            for candidate in Int::ZERO.up_to(&end).step_by(step).chain(known.keys().cloned()) {
                assert_eq!(codes.decode(&candidate).as_ref(), known.get(&candidate), "{code:?}, {n}: {candidate}");
            }
        }
    }
    let codes = Code::Positional.codes(3, &Int::from(4)).expect("a code");
    for sequence in tuples((0..4).collect::<Vec<usize>>(), 3) {
        let places: Vec<usize> = sequence.iter().enumerate().map(|(j, a)| j * 4 + a).collect();
        assert_eq!(codes.decode(&sum(&codes, &places)), Some(places));
    }
    // Two codes of one place and none of another.
    assert_eq!(codes.decode(&(&codes.values[0] + &codes.values[1] + &codes.values[9])), None);
}
