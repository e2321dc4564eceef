//! Walls that are apart and walls that meet; comparators, one by one left out; clamps; sizes.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::panic)]

use super::*;
use crate::kernel::sum::times;

fn ratio(text: &str) -> Ratio {
    Ratio::rational(text).expect("a rational")
}

fn whole(x: i64) -> Dyadic {
    Dyadic::new(x.into(), 0)
}

/// The sorting network of neighbours for three registers, behind a clamp to `[-2, 2]`.
fn layers() -> Vec<Layer> {
    let clamp = |low: i64, high: i64| {
        let (mut units, mut gains) = (Vec::new(), Vec::new());
        for register in 0..3 {
            for (slope, bias) in [(1, -high), (-1, low)] {
                units.push(Row { weights: vec![(register, whole(slope))], bias: whole(bias) });
            }
            let weights = vec![(2 * register, whole(-1)), (2 * register + 1, whole(1))];
            gains.push(Row { weights, bias: Dyadic::ZERO });
        }
        Layer::FeedForward { units, gains }
    };
    let compare = |a: usize, b: usize| {
        let units = vec![Row { weights: vec![(a, whole(1)), (b, whole(-1))], bias: Dyadic::ZERO }];
        let gain = |register: usize| {
            let weight = whole(if register == a { -1 } else { 1 });
            let weights = if [a, b].contains(&register) { vec![(0, weight)] } else { Vec::new() };
            Row { weights, bias: Dyadic::ZERO }
        };
        Layer::FeedForward { units, gains: (0..3).map(gain).collect() }
    };
    vec![clamp(-2, 2), compare(0, 1), compare(1, 2), compare(0, 1)]
}

fn starts(good: i64) -> Vec<Start> {
    let of = |copy: usize| Start {
        register: copy,
        copy,
        output: 0,
        anywhere: Range::around_zero(&whole(1000)),
        good: Range::around_zero(&whole(good)),
    };
    (0..3).map(of).collect()
}

fn reads(register: usize) -> Vec<Row> {
    vec![Row { weights: vec![(register, Dyadic::ONE)], bias: Dyadic::ZERO }]
}

fn shown(layers: &[Layer], register: usize) -> Result<Vec<Dyadic>, String> {
    median(layers, &reads(register), starts(1), 3, Format::SINGLE)
}

#[test]
fn shifts_two_margins_apart_are_enough_and_less_is_not() {
    let of = |shifts: [&str; 3], margin: &str| are_apart(&shifts.map(ratio), &ratio(margin));
    assert!(of(["1/6", "1/2", "5/6"], "1/6").is_ok());
    assert!(of(["5/6", "1/6", "1/2"], "1/6").is_ok(), "in any order");
    assert!(of(["1/6", "1/2", "5/6"], "1/5").is_err(), "margins that are too large");
    assert!(of(["1/6", "1/2", "1/2"], "1/6").is_err(), "two grids alike");
    assert!(of(["1/6", "499/1000", "5/6"], "1/6").is_err(), "a grid that moved");
    assert!(of(["1/8", "1/2", "5/6"], "1/6").is_err(), "a grid that begins too late");
    assert!(of(["1/6", "1/2", "7/8"], "1/6").is_err(), "a grid that ends too early");
    assert!(of(["-1/6", "1/2", "5/6"], "1/6").is_err(), "a grid that begins inside of the box");
}

#[test]
fn the_middle_of_three_sorted_registers_is_their_median() {
    let off = shown(&layers(), 1).expect("a median");
    // Three rounds of two roundings of sizes up to 4 and 2.
    assert!(off[0] <= times(40, -24) && off[0] > times(3, -24), "{}", off[0]);
    assert!(shown(&layers(), 0).is_err() && shown(&layers(), 2).is_err(), "the ends are not");
}

#[test]
fn without_a_comparator_it_is_no_median() {
    for left_out in 1..4 {
        let mut rest = layers();
        drop(rest.remove(left_out));
        assert!(shown(&rest, 1).is_err(), "{left_out}");
    }
}

#[test]
fn every_weight_of_the_layers_counts() {
    for at in 0..4 {
        let Layer::FeedForward { units, gains } = &layers()[at] else { panic!("attention") };
        for (unit, row) in units.iter().enumerate() {
            for place in 0..row.weights.len() {
                let mut all = layers();
                if let Layer::FeedForward { units, .. } = &mut all[at] {
                    units[unit].weights[place].1 = Dyadic::power_of_two(-1);
                }
                assert!(shown(&all, 1).is_err(), "layer {at}, unit {unit}");
            }
        }
        for (register, row) in gains.iter().enumerate() {
            for place in 0..row.weights.len() {
                let mut all = layers();
                if let Layer::FeedForward { gains, .. } = &mut all[at] {
                    let weight = gains[register].weights[place].1.clone();
                    gains[register].weights[place].1 = -&weight;
                }
                assert!(shown(&all, 1).is_err(), "layer {at}, register {register}");
            }
            let mut all = layers();
            if let Layer::FeedForward { gains, .. } = &mut all[at] {
                gains[register].bias = Dyadic::power_of_two(-30);
            }
            assert!(shown(&all, 1).is_err(), "layer {at}, register {register}");
        }
    }
}

#[test]
fn a_clamp_holds_what_copies_are_on_good_parts() {
    assert!(median(&layers(), &reads(1), starts(2), 3, Format::SINGLE).is_ok());
    assert!(median(&layers(), &reads(1), starts(3), 3, Format::SINGLE).is_err());
}

#[test]
fn without_a_clamp_the_size_of_garbage_is_lost_to_rounding() {
    let clamped = shown(&layers(), 1).expect("a median");
    let bare = shown(&layers()[1..], 1).expect("a median");
    assert!(bare[0] > &clamped[0] * &whole(100), "{} {}", bare[0], clamped[0]);
}
