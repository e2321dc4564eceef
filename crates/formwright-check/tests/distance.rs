//! Rule *read-out within a distance* (CERTIFICATE.md, section 7): forms that are near the target, and no nearer.

#![allow(clippy::float_arithmetic)]

use super::support::{Artifact, Unit, accepted, declined, rejected};

const SQUARE: &str = r#"{"power":["token",2]}"#;

/// A target on `[0, 1]`, or another interval.
fn on(each: &str, from: &str, to: &str) -> String {
    format!(r#"{{"kind":"expression","ast":{{"body":{{"each":{each}}},"domain":{{"interval":["{from}","{to}"]}}}}}}"#)
}

/// `R(x)/2 + R(x - 1/2)`, which is `x²` at 0, 1/2 and 1, and at most 1/16 above it: computed, and told, with another knot
/// or without a piece.
fn hats(target: String, bound: &str, units: &[(f64, f64)], curve: &str) -> Artifact {
    let units: Vec<Unit<'_>> = units
        .iter()
        .map(|(knot, weight)| (&[1.0, 0.0][..], -knot, if *weight < 1.0 { &[0.0, 0.5][..] } else { &[0.0, 1.0][..] }))
        .collect();
    let wire = format!("wire curve 0 1 0 1 {curve}");
    Artifact::new(target, 1, bound, &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]).forward(&units).meaning(&[
        "meanings 2",
        "wire input 0",
        &wire,
        "layers 2",
        "layer 0 1",
        "holds 0 0 1 0 1",
        "layer 1 1",
        "gate 1 0 1 1 1 1 0 0 1 0 1",
        "holds 1 0 1 1 1",
        "outputs 1",
        "output 0 1 1 1",
    ])
}

const UNITS: [(f64, f64); 2] = [(0.0, 0.5), (0.5, 1.0)];
const CURVE: &str = "x relu 1/2 mul x 1/2 sub relu add";

#[test]
fn what_lies_between_the_knots_is_shown() {
    // 1/16 is reached at 1/4 and 3/4; the rest is for rounding.
    accepted(&hats(on(SQUARE, "0", "1"), "6250001/100000000", &UNITS, CURVE));
    accepted(&hats(on(SQUARE, "0", "1"), "1/10", &UNITS, CURVE));
    rejected(&hats(on(SQUARE, "0", "1"), "6249999/100000000", &UNITS, CURVE), "point");
    rejected(&hats(on(SQUARE, "0", "1"), "0", &UNITS, CURVE), "point");
}

#[test]
fn a_knot_that_is_moved_is_found() {
    // x/2 + R(x - 3/8) - x² is 3/16 at 3/4.
    let moved = [(0.0, 0.5), (0.375, 1.0)];
    let curve = "x relu 1/2 mul x 3/8 sub relu add";
    rejected(&hats(on(SQUARE, "0", "1"), "6250001/100000000", &moved, curve), "point");
    accepted(&hats(on(SQUARE, "0", "1"), "469/2500", &moved, curve));
    rejected(&hats(on(SQUARE, "0", "1"), "937/5000", &moved, curve), "point");
    // Moved in the weights alone, or in the line alone, it is the line that does not hold.
    declined(&hats(on(SQUARE, "0", "1"), "6250001/100000000", &moved, CURVE));
    declined(&hats(on(SQUARE, "0", "1"), "6250001/100000000", &UNITS, curve));
}

#[test]
fn a_missing_piece_is_found() {
    let curve = "x relu 1/2 mul";
    rejected(&hats(on(SQUARE, "0", "1"), "6250001/100000000", &UNITS[..1], curve), "point");
    accepted(&hats(on(SQUARE, "0", "1"), "500001/1000000", &UNITS[..1], curve));
    declined(&hats(on(SQUARE, "0", "1"), "6250001/100000000", &UNITS[..1], CURVE));
}

#[test]
fn a_wider_domain_is_another_claim() {
    // At 3/2 the line is 1/2 below the square.
    rejected(&hats(on(SQUARE, "0", "3/2"), "6250001/100000000", &UNITS, CURVE), "point");
    // At 4/3, which is no dyadic number, it is 5/18 below.
    accepted(&hats(on(SQUARE, "0", "4/3"), "2777779/10000000", &UNITS, CURVE));
    rejected(&hats(on(SQUARE, "0", "4/3"), "2777777/10000000", &UNITS, CURVE), "point");
}

#[test]
fn kinks_of_the_target_are_met_as_well() {
    let kinked = r#"{"call":["abs",[{"binary":["sub","token",{"number":"1/3"}]}]]}"#;
    let square = |bound| hats(on(kinked, "0", "1"), bound, &UNITS, CURVE);
    // The line is 0 at 0, where the target is 1/3; and 1 at 1, where it is 2/3.
    accepted(&square("333337/1000000"));
    rejected(&square("333333/1000000"), "point");
}

#[test]
fn what_has_no_slope_is_not_shown_at_once() {
    // √x is steep without bound at 0; boxes around 0 are bounded by its values.
    let root = r#"{"call":["sqrt",["token"]]}"#;
    // R(x)/2 + R(x - 1/2) is √x at 0 and 1, and √x - x/2 is largest at 1/2: 0.4571.
    accepted(&hats(on(root, "0", "1"), "4573/10000", &UNITS, CURVE));
    rejected(&hats(on(root, "0", "1"), "4571/10000", &UNITS, CURVE), "point");
}

#[test]
fn a_target_without_a_value_is_not_met() {
    let root = r#"{"call":["sqrt",[{"binary":["sub","token",{"number":"1/4"}]}]]}"#;
    declined(&hats(on(root, "0", "1"), "10", &UNITS, CURVE));
    let quotient = r#"{"binary":["div",{"number":"1"},{"binary":["sub","token",{"number":"1/3"}]}]}"#;
    declined(&hats(on(quotient, "0", "1"), "10", &UNITS, CURVE));
}

#[test]
fn corners_say_nothing_of_a_box_on_which_nothing_is_enclosed() {
    // log(x² - x + 1) is 0 at 0 and at 1, and log(3/4) at 1/2; over [0, 1] at once its argument is only seen to be in [0, 2].
    let units = [(0.0, -0.575_363), (0.5, 1.150_728)];
    let curve = "x power 2 x sub 1 add log";
    let log =
        r#"{"call":["log",[{"binary":["add",{"binary":["sub",{"power":["token",2]},"token"]},{"number":"1"}]}]]}"#;
    let nothing = on(r#"{"number":"0"}"#, "0", "1");
    let near = |target: String, bound: &str| {
        let mut artifact = hats(target, bound, &UNITS, curve);
        *artifact.numbers("0.ff.w2") = vec![0.0, 0.0, units[0].1, units[1].1];
        artifact
    };
    // Outputs are -0.2877 at 1/2, and as far from 0; of the curve they are at most 0.0638 off.
    rejected(&near(nothing.clone(), "1/10"), "point");
    accepted(&near(nothing, "9/25"));
    // The target's own value is not seen there either.
    declined(&near(on(log, "0", "1"), "1/10"));
}
