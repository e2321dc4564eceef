//! Interval evaluation of targets is sound: whatever a target is at a point of a box lies in what is enclosed on the box.
//!
//! Random targets on random boxes, and at points of the boxes three oracles: exact rationals where the value is rational; the
//! language written once more in 400 binary digits (`support/reference.rs`) everywhere; and the enclosures on the box of the one point,
//! which must have a number in common with those on the box.
//!
//! `cargo test --release --test enclosure -- --ignored --nocapture` runs a hundred thousand targets.

use std::collections::BTreeMap;

use super::support::Random;
use super::support::expressions::{Kind, around, checked, constructs, cube, floats, holds, nearly_holds, point, text};
use super::support::reference::{self, Gap};
use formwright::error::ErrorKind;
use formwright::exact::Rat;
use formwright::interval::Interval;
use formwright::interval::dual::Order;
use formwright::target::Checked;
use formwright::target::modulus::Cube;

/// The counts of comparisons, in output entries but for the first two.
#[derive(Debug, Default)]
struct Tally {
    targets: usize,
    /// Boxes on which the target is not shown to be defined.
    refused: usize,
    /// Entries compared exactly.
    exact: usize,
    /// Entries compared with a number of 400 digits.
    irrational: usize,
    /// Entries compared in double precision.
    float: usize,
    /// Entries whose enclosure has an infinite end.
    unbounded: usize,
    /// Points at which the oracle gives up.
    beyond: usize,
    /// How many targets have this in them.
    constructs: BTreeMap<String, usize>,
}

/// The enclosures on a box by both evaluators, entry by entry; `None` where they refuse.
fn enclosures(target: &Checked, cube: &Cube, order: Order) -> Option<Vec<[Interval; 2]>> {
    let values = target.enclose(cube);
    let slopes = target.slopes(cube, order);
    assert_eq!(values.is_ok(), slopes.is_ok(), "{}: one of the two refuses {cube:?}", target.expression());
    let (values, slopes) = (values.ok()?.concat(), slopes.ok()?.concat());
    Some(values.into_iter().zip(slopes).map(|(value, slope)| [value, slope.value()]).collect())
}

/// Compares the target at a point with the enclosures on a box around it.
fn compare(target: &Checked, x: &[Vec<Rat>], on_box: &[[Interval; 2]], tally: &mut Tally) {
    let place = || format!("{} at {x:?}", target.expression());
    let mut check = |values: &[Rat], exact: bool| {
        for (value, enclosed) in values.iter().zip(on_box) {
            let inside = if exact { holds } else { nearly_holds };
            let sound = enclosed.iter().all(|enclosed| inside(*enclosed, value));
            assert!(sound, "{:e} is outside of {enclosed:?}: {}", value.to_f64(), place());
        }
        *(if exact { &mut tally.exact } else { &mut tally.irrational }) += values.len();
    };
    let by_library = target.evaluate_exact(x);
    match reference::evaluate(target, x) {
        Ok((values, true)) => {
            let same = by_library.unwrap_or_else(|error| panic!("{}: {error}", place()));
            assert_eq!(values, same.concat(), "{}", place());
            check(&values, true);
        }
        Ok((values, false)) => match by_library {
            Ok(same) => check(&same.concat(), true),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Declined, "{}: {error}", place());
                check(&values, false);
            }
        },
        Err(Gap::Beyond) => tally.beyond += 1,
        Err(Gap::Undefined) => panic!("enclosed, and yet not defined: {}", place()),
    }
    // The box around a number that is no float can reach beyond the big box, and the target need not be defined there.
    let Some(at_point) = enclosures(target, &around(x), Order::First) else { return };
    let in_double = target.evaluate_f64(&floats(x)).concat();
    for ((at_point, enclosed), in_double) in at_point.iter().zip(on_box).zip(in_double) {
        for (a, b) in at_point.iter().zip(enclosed) {
            assert!(a.intersect(*b).is_some(), "{a} and {b} have nothing in common: {}", place());
        }
        // The nearest floats of the inputs lie in the same box; what rounding does to the rest is about as much as its width.
        let [value, _] = at_point;
        if value.is_bounded() && value.width() < 1e-9 {
            let distance = (in_double - value.mid()).abs();
            assert!(distance <= value.width() + 1e-12 * (1.0 + value.mag()), "{in_double} is not {value}: {}", place());
            tally.float += 1;
        }
    }
}

fn soundness(seed: u64, targets: usize, order: Order) -> Tally {
    let random = &mut Random::new(seed);
    let mut tally = Tally::default();
    while tally.targets < targets {
        let kind = Kind::random(random);
        let target = checked(&text(random, kind), kind.dims);
        let tokens = 1 + usize::try_from(random.below(4)).expect("small");
        let cube = cube(random, tokens, kind);
        let Some(on_box) = enclosures(&target, &cube, order) else {
            tally.refused += 1;
            continue;
        };
        tally.targets += 1;
        tally.unbounded += on_box.iter().filter(|enclosed| enclosed.iter().any(|one| !one.is_bounded())).count();
        for construct in constructs(&target) {
            *tally.constructs.entry(construct).or_default() += 1;
        }
        for _ in 0..5 {
            compare(&target, &point(random, &cube, kind), &on_box, &mut tally);
        }
    }
    println!("{tally:?}");
    tally
}

#[test]
fn values_at_points_of_a_box_lie_in_the_enclosures_on_it() {
    let tally = soundness(1, 5_000, Order::First);
    assert!(
        tally.exact > 40_000 && tally.irrational > 20_000 && tally.float > 60_000,
        "too little was compared: {tally:?}"
    );
    assert!(tally.refused < tally.targets / 4, "too many boxes were refused: {tally:?}");
    // 12 functions, 6 aggregates with and without filters, 5 operators, 6 comparisons, and 13 forms more.
    assert_eq!(tally.constructs.len(), 48, "{tally:?}");
    assert!(tally.constructs.values().all(|targets| *targets > 40), "some are too rare: {tally:?}");
    assert!(tally.unbounded < 1_000 && tally.beyond < 1_000, "too much is unbounded: {tally:?}");
}

#[test]
fn second_order_slopes_enclose_the_values_too() {
    let tally = soundness(2, 1_500, Order::Second);
    assert!(tally.exact > 10_000 && tally.irrational > 5_000, "too little was compared: {tally:?}");
}

#[test]
#[ignore = "a hundred thousand targets: minutes"]
fn a_hundred_thousand_targets_are_enclosed() {
    let tally = soundness(3, 100_000, Order::First);
    assert!(tally.exact > 1_000_000 && tally.irrational > 500_000, "too little was compared: {tally:?}");
}
