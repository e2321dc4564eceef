//! Every built-in target does what its description says: a reference for each in plain Rust, written from the description and not from
//! the expression.
//!
//! On integers all short sequences are compared, exactly, and random ones of up to 24 tokens; on the unit box random points with many equal
//! tokens, with what the exact evaluator gives where the target is rational, and in doubles. With two coordinates each is for itself.

use std::collections::BTreeMap;

use super::support::expressions::{checked, constructs, random_program};
use super::support::reference;
use super::support::{Random, built_in};
use formwright::exact::Rat;
use formwright::target::{Domain, Target, catalogue};

/// The output of a program for tokens of one coordinate.
#[derive(Clone, Copy)]
enum Reference {
    /// On integers, exactly.
    Integers(fn(&[i64]) -> Vec<Rat>),
    /// On the unit box.
    Doubles(fn(&[f64]) -> Vec<f64>),
}

use Reference::{Doubles, Integers};

fn described(name: &str) -> Reference {
    match name {
        "identity" => Doubles(<[f64]>::to_vec),
        "complement" => Doubles(|x| each(x, |x| 1.0 - x)),
        "square" => Doubles(|x| each(x, |x| x * x)),
        "mean-centring" => Doubles(|x| each(x, |own| own - mean(x))),
        "max-broadcast" => Doubles(|x| same(x, ascending(x)[x.len() - 1])),
        "range-broadcast" => Doubles(|x| same(x, ascending(x)[x.len() - 1] - ascending(x)[0])),
        "pairwise-means" => Doubles(|x| each(x, |own| mean(&each(x, |other| f64::midpoint(own, other))))),
        "distance" => Doubles(|x| each(x, |own| mean(&each(x, |other| (own - other).abs())))),
        "times-mean" => Doubles(|x| each(x, |own| own * mean(x))),
        "gap-to-max" => Doubles(|x| each(x, |own| (ascending(x)[x.len() - 1] - own).powi(2))),
        "variance" => Doubles(|x| same(x, variance(x))),
        // How far up it stands among the sorted ones.
        "rank" => {
            Doubles(|x| each(x, |own| float(ascending(x).partition_point(|other| *other < own)) / float(x.len())))
        }
        "z-score" => Doubles(|x| each(x, |own| (own - mean(x)) / (variance(x) + 0.01).sqrt())),
        "softmax" => Doubles(|x| softmax(x, 1.0)),
        // From above: the largest, and the logarithm of what the others add to it.
        "log-sum-exp" => Doubles(|x| {
            let sorted = ascending(x);
            let (largest, rest) = (sorted[x.len() - 1], &sorted[..x.len() - 1]);
            same(x, largest + each(rest, |x| (x - largest).exp()).iter().sum::<f64>().ln_1p())
        }),
        "attention-pooling" => Doubles(|x| same(x, softmax(x, 2.0).iter().zip(x).map(|(weight, x)| weight * x).sum())),
        "l2-normalise" => Doubles(|x| {
            // The length of the vector with 1/10 as one more entry.
            let length = x.iter().fold(0.1_f64, |length, x| length.hypot(*x));
            each(x, |x| x / length)
        }),
        "power-mean" => Doubles(|x| same(x, (mean(&each(x, |x| x * x * x)) + 0.01).cbrt())),
        "sort" => Doubles(ascending),
        "reverse" => Doubles(|x| x.iter().rev().copied().collect()),
        "shift" => Doubles(|x| [&[0.0], &x[..x.len() - 1]].concat()),
        "rotate" => Doubles(|x| {
            let mut x = x.to_vec();
            x.rotate_right(1);
            x
        }),
        "difference" => Doubles(|x| {
            let before = [&[0.0], &x[..x.len() - 1]].concat();
            x.iter().zip(before).map(|(x, before)| x - before).collect()
        }),
        "prefix-sum" => Doubles(running_sum),
        "prefix-mean" => Doubles(|x| running_sum(x).iter().zip(1..).map(|(sum, k)| sum / float(k)).collect()),
        "first" => Doubles(|x| same(x, x[0])),
        "previous-token" => Doubles(|x| [&x[..1], &x[..x.len() - 1]].concat()),
        "moving-average" => Doubles(|x| {
            let around = |i: usize| &x[i.saturating_sub(1)..x.len().min(i + 2)];
            (0..x.len()).map(|i| mean(around(i))).collect()
        }),
        "histogram" => Integers(|x| x.iter().map(|own| Rat::from(counts(x)[own])).collect()),
        "count-less" => {
            Integers(|x| x.iter().map(|own| Rat::from(x.iter().filter(|other| *other < own).count())).collect())
        }
        "most-frequent" => Integers(|x| {
            let most = counts(x).into_values().max().expect("a token");
            // A map is in ascending order.
            let (smallest, _) = counts(x).into_iter().find(|(_, count)| *count == most).expect("a token");
            same(x, Rat::from(smallest))
        }),
        "pair-balance" => Integers(|x| same(x, Rat::new(steps(x).iter().sum::<i64>(), whole(x.len())))),
        "parity" => Integers(|x| same(x, Rat::from(u32::from(x.iter().fold(false, |odd, x| odd ^ (*x == 1)))))),
        "modular-sum" => Integers(|x| same(x, Rat::from(x.iter().fold(0, |clock, x| (clock + x) % 5)))),
        "sort-integers" => Integers(|x| sorted(x).into_iter().map(Rat::from).collect()),
        "sorted-place" => Integers(|x| {
            let mut order: Vec<usize> = (0..x.len()).collect();
            order.sort_by_key(|i| x[*i]);
            let place = |i: usize| order.iter().position(|token| *token == i).expect("a place");
            (0..x.len()).map(|i| Rat::from(place(i))).collect()
        }),
        "median" => Integers(|x| {
            let mut rest = sorted(x);
            // Drop the smallest and the largest while that leaves any; of two the larger is left.
            while rest.len() > 2 {
                rest.pop();
                rest.remove(0);
            }
            same(x, Rat::from(*rest.last().expect("a token")))
        }),
        "fraction-of-ones" => Integers(|x| {
            let ones = |k: usize| x[..k].iter().filter(|x| **x == 1).count();
            (1..=x.len()).map(|k| Rat::new(whole(ones(k)), whole(k))).collect()
        }),
        "dyck-1" => Integers(|x| {
            let end = steps(x).iter().try_fold(0, |open, step| Some(open + step).filter(|open| *open >= 0));
            same(x, Rat::from(u32::from(end == Some(0))))
        }),
        "addition" => Integers(|x| {
            let half = x.len() / 2;
            let number = |digits: &[i64]| digits.iter().rev().fold(0, |number, digit| 10 * number + digit);
            let sum = number(&x[..half]) + number(&x[half..2 * half]);
            let tails = std::iter::successors(Some(sum), |tail| Some(tail / 10));
            tails.map(|tail| Rat::from(tail % 10)).take(x.len()).collect()
        }),
        _ => panic!("{name} has no reference"),
    }
}

fn same<T, U: Clone>(x: &[T], value: U) -> Vec<U> {
    vec![value; x.len()]
}

fn each(x: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
    x.iter().map(|x| f(*x)).collect()
}

fn whole(k: usize) -> i64 {
    i64::try_from(k).expect("a short sequence")
}

fn float(k: usize) -> f64 {
    f64::from(u32::try_from(k).expect("a short sequence"))
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / float(x.len())
}

/// The mean squared distance of all pairs is twice the variance.
fn variance(x: &[f64]) -> f64 {
    mean(&each(x, |a| mean(&each(x, |b| (a - b).powi(2))))) / 2.0
}

fn ascending(x: &[f64]) -> Vec<f64> {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    x
}

fn sorted(x: &[i64]) -> Vec<i64> {
    let mut x = x.to_vec();
    x.sort_unstable();
    x
}

/// The softmax of `factor` times the tokens: token by token one over what the others are in proportion to it.
fn softmax(x: &[f64], factor: f64) -> Vec<f64> {
    each(x, |own| 1.0 / each(x, |other| (factor * (other - own)).exp()).iter().sum::<f64>())
}

fn running_sum(x: &[f64]) -> Vec<f64> {
    let add = |total: &mut f64, x: &f64| {
        *total += x;
        Some(*total)
    };
    x.iter().scan(0.0, add).collect()
}

fn counts(x: &[i64]) -> BTreeMap<i64, usize> {
    let mut counts = BTreeMap::new();
    for x in x {
        *counts.entry(*x).or_default() += 1;
    }
    counts
}

/// Up for an opening bracket, down for a closing one.
fn steps(x: &[i64]) -> Vec<i64> {
    x.iter().map(|x| if *x == 1 { 1 } else { -1 }).collect()
}

/// The coordinates of all tokens from those of each coordinate.
fn tokens<T: Clone>(coordinates: &[Vec<T>]) -> Vec<Vec<T>> {
    (0..coordinates[0].len()).map(|t| coordinates.iter().map(|of| of[t].clone()).collect()).collect()
}

fn compare_integers(name: &str, target: &Target, reference: fn(&[i64]) -> Vec<Rat>, x: &[Vec<i64>]) {
    let exact: Vec<Vec<Rat>> = x.iter().map(|of| of.iter().map(|x| Rat::from(*x)).collect()).collect();
    let expected = tokens(&x.iter().map(|of| reference(of)).collect::<Vec<_>>());
    let found = target.evaluate(&tokens(&exact)).unwrap_or_else(|error| panic!("{name} {x:?}: {error}"));
    assert_eq!(found, expected, "{name} {x:?}");
}

fn compare_doubles(name: &str, target: &Target, reference: fn(&[f64]) -> Vec<f64>, x: &[Vec<Rat>]) {
    let doubles: Vec<Vec<f64>> = x.iter().map(|of| of.iter().map(Rat::to_f64).collect()).collect();
    let expected = tokens(&doubles.iter().map(|of| reference(of)).collect::<Vec<_>>()).concat();
    let near = |found: &[f64]| {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{name} {x:?}: {found} and {expected}");
        }
    };
    near(&target.evaluate_f64(&tokens(&doubles)).expect("values"));
    if target.is_rational() {
        let exact = target.evaluate(&tokens(x)).expect("values").concat();
        near(&exact.iter().map(Rat::to_f64).collect::<Vec<_>>());
    }
}

/// All sequences of so many tokens among so many values, the first value `from`.
fn all_sequences(tokens: u32, from: i64, values: i64) -> impl Iterator<Item = Vec<i64>> {
    let digits = move |code: i64| (0..tokens).map(|t| from + code / values.pow(t) % values).collect();
    (0..values.pow(tokens)).map(digits)
}

/// The values that each program is tried on, all sequences of up to `n` tokens: as many as there are, and two and three of them.
const EXHAUSTIVE: [(i64, u32); 5] = [(2, 11), (3, 7), (5, 5), (8, 4), (10, 4)];

#[test]
fn programs_on_integers_do_what_they_say() {
    let (mut programs, mut sequences) = (0, 0);
    for (name, _) in catalogue::CATALOGUE {
        let Integers(reference) = described(name) else { continue };
        programs += 1;
        let target = |dims| built_in(name).target(dims).expect("a target");
        let one = target(1);
        let Some(Domain::Integers(from, to)) = one.expression().map(|checked| checked.expression().domain.clone())
        else {
            panic!("{name} is not on integers")
        };
        for (values, longest) in EXHAUSTIVE.into_iter().filter(|(values, _)| *values <= to - from) {
            for x in (2..=longest).flat_map(|n| all_sequences(n, from, values)) {
                compare_integers(name, &one, reference, &[x]);
                sequences += 1;
            }
        }
        let random = &mut Random::new(programs);
        for k in 0..200 {
            let n = 2 + random.below(23);
            let values = u64::try_from(to - from).expect("some");
            let mut x = || (0..n).map(|_| from + i64::try_from(random.below(values)).expect("small")).collect();
            if k % 4 == 0 {
                compare_integers(name, &target(2), reference, &[x(), x()]);
            } else {
                compare_integers(name, &one, reference, &[x()]);
            }
        }
    }
    assert_eq!(programs, 12);
    assert!(sequences > 150_000, "only {sequences} sequences");
}

/// Nines on nines: the carries that run furthest.
#[test]
fn carries_run_through_all_digits() {
    let Integers(reference) = described("addition") else { panic!("addition is on integers") };
    let target = built_in("addition").target(1).expect("a target");
    for half in 1..=15 {
        for at in 0..half {
            let mut x = vec![9; half];
            x.extend((0..half).map(|k| i64::from(k == at)));
            compare_integers("addition", &target, reference, &[x]);
        }
    }
}

/// Random words are hardly ever balanced; these are, and one step away from it.
#[test]
fn balanced_brackets_are_found_and_one_wrong_bracket_is_seen() {
    let Integers(reference) = described("dyck-1") else { panic!("Dyck-1 is on integers") };
    let target = built_in("dyck-1").target(1).expect("a target");
    let random = &mut Random::new(1);
    for _ in 0..500 {
        let half = 1 + random.below(12);
        let (mut x, mut open, mut closed) = (Vec::new(), 0, 0);
        while closed < half {
            let opens = open == closed || open < half && random.below(2) == 0;
            x.push(i64::from(opens));
            *(if opens { &mut open } else { &mut closed }) += 1;
        }
        assert_eq!(reference(&x)[0], Rat::ONE, "{x:?}");
        compare_integers("dyck-1", &target, reference, &[x.clone()]);
        let wrong = usize::try_from(random.below(2 * half)).expect("small");
        x[wrong] = 1 - x[wrong];
        compare_integers("dyck-1", &target, reference, &[x]);
    }
}

#[test]
fn programs_on_the_unit_box_do_what_they_say() {
    let mut programs = 0;
    for (name, _) in catalogue::CATALOGUE {
        let Doubles(reference) = described(name) else { continue };
        programs += 1;
        let random = &mut Random::new(programs);
        for k in 0..400 {
            let dims = if k % 4 == 0 { 2 } else { 1 };
            let n = 2 + random.below(8);
            // Few values make equal tokens, many make all of them differ.
            let steps = [1, 2, 4, 64, 1 << 20][usize::try_from(random.below(5)).expect("small")];
            let mut of = || (0..n).map(|_| Rat::new(random.below(steps + 1), steps)).collect::<Vec<_>>();
            let x: Vec<Vec<Rat>> = (0..dims).map(|_| of()).collect();
            compare_doubles(name, &built_in(name).target(dims).expect("a target"), reference, &x);
        }
    }
    assert_eq!(programs, 28);
}

/// A point of the domain.
fn input(random: &mut Random, domain: &Domain, tokens: usize, dims: usize) -> Vec<Vec<Rat>> {
    let mut entry = || match domain {
        Domain::Integers(from, to) => Rat::from(*from) + Rat::from(random.below(to.abs_diff(*from))),
        Domain::Interval(low, high) => low + (high - low) * Rat::new(random.below(9), 8),
    };
    (0..tokens).map(|_| (0..dims).map(|_| entry()).collect()).collect()
}

/// Programs like those that others compile: the generator makes whole programs, of every construct, with values
/// everywhere and not too large.
#[test]
fn random_programs_have_values_on_their_whole_domain() {
    let seeds = 1_000;
    let (mut bounded, mut compared) = (0, 0);
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |name: &str| *found.entry(name.into()).or_default() += 1;
    for seed in 0..seeds {
        let program = random_program(seed);
        assert_eq!(program.text, random_program(seed).text);
        let target = checked(&program.text, program.dims);
        for name in constructs(&target) {
            count(&name);
        }
        let domain = &target.expression().domain;
        count(if matches!(domain, Domain::Integers(..)) { "on integers" } else { "on an interval" });
        let (random, tokens) = (&mut Random::new(seed), 2 + usize::try_from(seed % 3).expect("small"));
        let on_box = target.enclose(&target.domain_box(tokens));
        bounded += u64::from(on_box.is_ok_and(|values| values.iter().flatten().all(|value| value.mag() < 1e9)));
        let x = input(random, domain, tokens, program.dims);
        match reference::evaluate(&target, &x) {
            Ok((expected, exact)) => {
                if exact {
                    assert_eq!(
                        target.evaluate_exact(&x).map(|y| y.concat()).as_ref(),
                        Ok(&expected),
                        "{}",
                        program.text
                    );
                }
                compared += 1;
            }
            Err(gap) => assert_eq!(gap, reference::Gap::Beyond, "{} at {x:?}", program.text),
        }
    }
    println!("{bounded} of {seeds} bounded, {compared} compared: {found:?}");
    assert!(bounded * 10 > seeds * 9 && compared * 100 > seeds * 99, "{bounded} bounded, {compared} compared");
    assert_eq!(found.len(), 50, "{found:?}");
    assert!(found.values().all(|programs| *programs >= 10), "some are too rare: {found:?}");
}
