//! How fast errors fall with the cells' side δ: like δ with positions; without, Proposition 4's `δ^{d/p}` is added by the sequences with
//! equal columns. The table is in `measurements/rates.md`.

use super::support::rates::{Part, Subject, rate};

fn measured(text: &str, dims: usize, sides: &[u64], positional: bool, p: u32, part: Part, points: usize) -> f64 {
    let error = |side: &u64| {
        let subject = Subject::new(text, (2, dims, *side), positional).expect("it fits");
        (*side, subject.error(p, part, points))
    };
    let errors: Vec<(u64, f64)> = sides.iter().map(error).collect();
    println!("{text}, d = {dims}, positional {positional}, p = {p}, {part:?}: {errors:?}, rate {}", rate(&errors));
    rate(&errors)
}

const LINE: [u64; 4] = [4, 8, 16, 32];

#[test]
fn rates_of_known_errors() {
    let powers = |exponent: f64| LINE.map(|n| (n, 3.0 * f64::from(u32::try_from(n).expect("small")).powf(-exponent)));
    for exponent in [0.5, 1.0, 2.0] {
        assert!((rate(&powers(exponent)) - exponent).abs() < 1e-12);
    }
}

#[test]
fn in_l2_equal_columns_cost_half_a_power_and_positions_save_it() {
    let rate = |text: &str, positional: bool| measured(text, 1, &LINE, positional, 2, Part::Everywhere, 1 << 13);
    let between = |rate: f64, low: f64, high: f64| assert!(low <= rate && rate <= high, "{rate}");
    // On the diagonal max(x) is not constant: d/p = 1/2. Lemma 8's own rate is 1.
    between(rate("max(x)", false), 0.48, 0.62);
    between(rate("max(x)", true), 0.97, 1.03);
    // x - mean(x) is 0 there, which is what the network gives.
    between(rate("x - mean(x)", false), 0.9, 1.1);
}

#[test]
fn equal_columns_alone_cost_d_over_p() {
    for (dims, p, sides, expected) in
        [(1, 2, &LINE[..], 0.5), (1, 1, &LINE[..], 1.0), (2, 2, &[4, 6, 8][..], 1.0), (2, 1, &[4, 6, 8][..], 2.0)]
    {
        let found = measured("max(x)", dims, sides, false, p, Part::Duplicates, 1 << 15);
        assert!((found - expected).abs() <= 0.1 * expected, "d = {dims}, p = {p}: {found}, not {expected}");
    }
}
