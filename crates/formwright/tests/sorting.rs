//! Sorting real numbers: comparators, exact but for rounding, in every execution; beside a plain sort.

use super::support::circuits::Subject;
use super::support::expression;
use super::support::shuffled::{self, Shuffle};
use formwright::construct::circuit::{Compiled, Trade};
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::network::Precision;

fn compiled(text: &str, tokens: usize, precision: Precision) -> Compiled {
    let found = Subject::of(text, tokens).compile(&Rat::new(1, 10_000), precision, Trade::Width);
    found.unwrap_or_else(|error| panic!("{text}, {tokens} tokens: {error}"))
}

fn sequence(x: &[f64]) -> Vec<Vec<f64>> {
    x.iter().map(|x| vec![*x]).collect()
}

fn sorted(x: &[f64]) -> Vec<f64> {
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Numbers between 0 and 1.
struct Random(u64);

impl Random {
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    fn number(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / 2_f64.powi(53)
    }
}

/// The largest distance from a plain sort, by the engine and in one other order of all sums.
fn worst(compiled: &Compiled, points: &[Vec<f64>], other_orders: bool) -> f64 {
    let engine = Engine::new(&compiled.network).expect("an engine");
    let inputs: Vec<Vec<Vec<f64>>> = points.iter().map(|x| sequence(x)).collect();
    let mut worst = 0.0_f64;
    for ((x, input), y) in points.iter().zip(&inputs).zip(engine.run(&inputs).expect("outputs")) {
        let mut found = vec![y];
        if other_orders {
            let mut shuffle = Shuffle::new(x[0].to_bits() | 1);
            found.extend(shuffled::trace(&compiled.network, input, &mut shuffle).pop().map(|(_, y)| y));
        }
        for y in found {
            let off = y.iter().zip(sorted(x)).map(|(y, x)| (y[0] - x).abs());
            worst = off.fold(worst, f64::max);
        }
    }
    worst
}

#[test]
fn all_zeros_and_ones_are_sorted() {
    for tokens in 2..=9 {
        let compiled = compiled("sort(x)", tokens, Precision::F32);
        let all = |input: u32| (0..tokens).map(|t| f64::from((input >> t) & 1)).collect::<Vec<f64>>();
        let points: Vec<Vec<f64>> = (0..1 << tokens).map(all).collect();
        let found = worst(&compiled, &points, false);
        assert!(found <= compiled.budget.bound, "{tokens}: {found} of {}", compiled.budget.bound);
    }
}

#[test]
fn eight_sixteen_and_sixty_four_numbers_are_sorted_in_single_precision() {
    for (tokens, rounds, most) in [(8, 6.0, 650), (16, 10.0, 1_250), (64, 21.0, 3_600)] {
        let compiled = compiled("sort(x)", tokens, Precision::F32);
        assert!(compiled.budget.bound <= 1e-4, "{tokens}: {}", compiled.budget.bound);
        assert!(compiled.network.size().parameters <= most.into(), "{tokens}");
        assert!(compiled.lines.is_some());
        let mut random = Random(1);
        let points: Vec<Vec<f64>> = (0..40).map(|_| (0..tokens).map(|_| random.number()).collect()).collect();
        let found = worst(&compiled, &points, true);
        assert!(found <= compiled.budget.bound, "{tokens}: {found} of {}", compiled.budget.bound);
        // And the bound is no guess: some forty roundings a round, however many tokens there are.
        let roundings = compiled.budget.bound / (rounds * 2_f64.powi(-24));
        assert!(roundings <= 40.0, "{tokens}: {roundings} roundings a round");
    }
}

/// Every order of four numbers, of which some are equal.
#[test]
fn every_order_of_ties_is_sorted() {
    let compiled = compiled("sort(x) on [-1, 1]", 4, Precision::F32);
    let values = [-1.0, -0.5, -0.0, 0.0, f64::from(f32::MIN_POSITIVE), 0.5, 1.0];
    let digit = |code: usize, place: u32| values[code / values.len().pow(place) % values.len()];
    let points: Vec<Vec<f64>> =
        (0..values.len().pow(4)).map(|code| (0..4).map(|place| digit(code, place)).collect()).collect();
    let found = worst(&compiled, &points, true);
    assert!(found <= compiled.budget.bound, "{found} of {}", compiled.budget.bound);
}

/// The largest and the smallest numbers of some domains, relative to which the bound is what it is on `[0, 1]`.
#[test]
fn large_and_small_domains_are_sorted() {
    for (domain, low, high) in [
        ("[-1000000, 3]", -1e6, 3.0),
        ("[1000000, 1000001]", 1e6, 1e6 + 1.0),
        ("[0, 1/1000000]", 0.0, 1e-6),
        ("[-1/3, 2/3]", -1.0 / 3.0, 2.0 / 3.0),
    ] {
        let text = format!("sort(x) on {domain}");
        let found = Subject::of(&text, 5).compile(&Rat::from(10), Precision::F64, Trade::Width);
        let compiled = found.unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut random = Random(7);
        let mut points = vec![vec![low; 5], vec![high; 5], vec![high, low, high, low, high]];
        points.extend((0..100).map(|_| (0..5).map(|_| low + (high - low) * random.number()).collect::<Vec<f64>>()));
        let found = worst(&compiled, &points, true);
        // The reference is in doubles, and rounds its inputs.
        assert!(found <= compiled.budget.bound + 1e-9 * high.abs().max(-low), "{text}: {found}");
    }
}

/// What a text says, in plain Rust.
type Plain<'f> = &'f dyn Fn(&[f64]) -> f64;

/// What the language says by a sort and a gather.
#[test]
fn medians_and_the_largest_few_come_for_free() {
    let median = |x: &[f64]| sorted(x)[x.len() / 2];
    let trimmed = |x: &[f64]| sorted(x)[1..x.len() - 1].iter().sum::<f64>() / 3.0;
    let third = |x: &[f64]| sorted(x)[x.len() - 3];
    let texts: [(&str, Plain<'_>); 3] = [
        ("let s = sort(x); s[floor(n / 2)]", &median),
        ("let s = sort(x); mean(s, j >= 1 and j <= 3)", &trimmed),
        ("let s = sort(x); s[n - 3]", &third),
    ];
    for (text, reference) in texts {
        let compiled = compiled(text, 5, Precision::F32);
        let mut random = Random(3);
        let engine = Engine::new(&compiled.network).expect("an engine");
        for _ in 0..50 {
            let x: Vec<f64> = (0..5).map(|_| random.number()).collect();
            let y = engine.run(&[sequence(&x)]).expect("outputs").remove(0);
            assert!(y.iter().all(|y| (y[0] - reference(&x)).abs() <= compiled.budget.bound), "{text} at {x:?}");
        }
    }
}

#[test]
fn coordinates_are_sorted_by_themselves() {
    let subject = Subject::new(expression("[sort(x.0), sort(x.1), x.0]"), 3, 2);
    let compiled = subject.compile(&Rat::new(1, 1_000), Precision::F32, Trade::Width).expect("a circuit");
    let found = subject.search(&compiled, 2_000);
    assert!(found.error <= compiled.budget.bound, "{found:?}");
}

#[test]
fn integers_far_apart_are_sorted_by_comparators() {
    let counted = compiled("sort(x) on integers 0..5", 3, Precision::F32);
    assert!(counted.gates.iter().all(|gate| gate.kind != "comparator"), "{:?}", counted.gates);
    let compared = compiled("sort(x) on integers -500..20000", 3, Precision::F64);
    assert!(compared.gates.iter().any(|gate| gate.kind == "comparator"), "{:?}", compared.gates);
    let points = [[19_999.0, -500.0, 0.0], [7.0, 7.0, -1.0], [1.0, 2.0, 3.0]].map(|x| x.to_vec());
    assert!(worst(&compared, &points, true) <= compared.budget.bound);
}

#[test]
fn one_token_is_sorted_as_it_is() {
    let compiled = compiled("sort(x)", 1, Precision::F32);
    assert!(compiled.gates.is_empty(), "{:?}", compiled.gates);
}
