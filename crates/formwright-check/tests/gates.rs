//! Rules *embedding*, *curve*, *product* and *teeth* (CERTIFICATE.md, section 7): each hypothesis is taken away in turn. Where nothing else is said,
//! what is not accepted is false.

#![allow(clippy::float_arithmetic, clippy::indexing_slicing)]

use super::support::{Artifact, Unit, accepted, declined, rejected};

/// A target on an interval that begins at 0.
fn on(each: &str, to: &str) -> String {
    format!(r#"{{"kind":"expression","ast":{{"body":{{"each":{each}}},"domain":{{"interval":["0","{to}"]}}}}}}"#)
}

fn times(a: &str, b: &str) -> String {
    format!(r#"{{"binary":["mul",{a},{b}]}}"#)
}

const TOKEN: &str = r#""token""#;
const SQUARE: &str = r#"{"power":["token",2]}"#;

/// What units of a layer read, their biases, and what they write, in three registers.
type Units<'u> = &'u [([f64; 3], f64, [f64; 3])];

fn layers(target: String, bound: &str, layers: &[Units<'_>], read_out: [f64; 3]) -> Artifact {
    let artifact = Artifact::new(target, 1, bound, &[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)], &read_out);
    layers.iter().fold(artifact, |artifact, units| {
        let units: Vec<Unit<'_>> = units.iter().map(|(reads, bias, writes)| (&reads[..], *bias, &writes[..])).collect();
        artifact.forward(&units)
    })
}

/// `R(x)/2 + R(x - 1/2)` in the second register: the square, and at most 1/16 above it.
const HATS: Units<'_> = &[([1.0, 0.0, 0.0], 0.0, [0.0, 0.5, 0.0]), ([1.0, 0.0, 0.0], -0.5, [0.0, 1.0, 0.0])];
const IS_SQUARE: &str = "wire curve 0 1 0 1 x power 2";
const FIRST: [&str; 2] = ["layer 0 1", "holds 0 0 1 0 1"];

#[test]
fn what_is_embedded_is_what_the_line_says() {
    let plain = |pos: [f64; 2], bias: f64, holds: &str, numbers: &str| {
        let mut artifact = Artifact::new(on(TOKEN, "1"), 2, "1/1000000", &[(1.0, 0.0), (0.0, 0.0)], &[1.0, 0.0]);
        artifact.numbers("embed.bias")[0] = bias;
        artifact.numbers("read_out.bias")[0] = -0.5;
        let places = format!("wire position {numbers}");
        let artifact = artifact.positions(&[&[0.0, pos[0]], &[0.0, pos[1]]]);
        artifact.meaning(&[
            "meanings 2",
            "wire input 0",
            &places,
            "layers 1",
            "layer 0 2",
            holds,
            "holds 1 0 1 1 1",
            "outputs 1",
            "output 0 1 0 1",
        ])
    };
    let holds = "holds 0 1/2 1 0 1";
    accepted(&plain([3.0, 4.0], 0.5, holds, "3 4"));
    // The bias is another one, or the line.
    declined(&plain([3.0, 4.0], 0.25, holds, "3 4"));
    declined(&plain([3.0, 4.0], 0.5, "holds 0 1/4 1 0 1", "3 4"));
    declined(&plain([3.0, 4.0], 0.5, "holds 0 1/2 1 0 2", "3 4"));
    // More positions than there are, or fewer.
    rejected(&plain([3.0, 4.0], 0.5, holds, "3 4 5"), "line");
    rejected(&plain([3.0, 4.0], 0.5, holds, "3"), "line");
}

#[test]
fn what_is_embedded_by_position_is_so_at_every_token() {
    let place = |pos: [f64; 2], numbers: &str| {
        let target = on(r#""index""#, "1");
        let artifact = Artifact::new(target, 2, "1/1000000", &[(0.0, 0.0)], &[1.0]).positions(&[&pos[..1], &pos[1..]]);
        let places = format!("wire position {numbers}");
        artifact.meaning(&[
            "meanings 1",
            &places,
            "layers 1",
            "layer 0 1",
            "holds 0 0 1 0 1",
            "outputs 1",
            "output 0 1 0 1",
        ])
    };
    accepted(&place([0.0, 1.0], "0 1"));
    // At the last token, or at the first; in weights, lines, or both.
    declined(&place([0.0, 1.0 + 1e-5], "0 1"));
    declined(&place([1e-5, 1.0], "0 1"));
    declined(&place([0.0, 1.0], "0 2"));
    rejected(&place([0.0, 2.0], "0 2"), "point");
    rejected(&place([1.0, 0.0], "1 0"), "point");
}

#[test]
fn a_curve_of_what_is_off_is_off_by_its_slope_times_that() {
    // 4 R(g - 1/2) of g = x², which is computed as 5/8 instead of 9/16 at 3/4.
    let steep: Units<'_> = &[([0.0, 1.0, 0.0], -0.5, [0.0, 0.0, 4.0])];
    let target = || {
        let above = format!(r#"{{"call":["relu",[{{"binary":["sub",{SQUARE},{{"number":"1/2"}}]}}]]}}"#);
        on(&times(r#"{"number":"4"}"#, &above), "1")
    };
    let told = |bound: &str, function: &str| {
        let wire = format!("wire curve 0 1 1 1 {function}");
        let known = ["meanings 3", "wire input 0", IS_SQUARE, &wire, "layers 3"];
        let gates = ["layer 1 1", "gate 1 0 1 1 1 1 0 0 1 0 1", "holds 1 0 1 1 1"];
        let last = ["layer 1 1", "gate 2 0 1 2 1 1 0 0 1 1 1", "holds 2 0 1 2 1", "outputs 1", "output 0 1 2 1"];
        let artifact = layers(target(), bound, &[HATS, steep], [0.0, 0.0, 1.0]);
        artifact.meaning(&[&known[..], &FIRST, &gates, &last].concat())
    };
    accepted(&told("13/50", "x 1/2 sub relu 4 mul"));
    declined(&told("6/25", "x 1/2 sub relu 4 mul"));
    // Another slope in the line than in the weights.
    declined(&told("13/50", "x 1/2 sub relu 3 mul"));
}

/// `3x²` as `(2x)² - x²`, by chords of both squares.
fn tripled(bound: &str, knot: f64, sign: f64, lines: [&str; 2]) -> Artifact {
    let units: Units<'_> = &[
        ([2.0, 0.0, 0.0], 0.0, [0.0, 1.0, 0.0]),
        ([2.0, 0.0, 0.0], -knot, [0.0, 2.0, 0.0]),
        ([1.0, 0.0, 0.0], 0.0, [0.0, -0.5 * sign, 0.0]),
        ([1.0, 0.0, 0.0], -0.5, [0.0, -sign, 0.0]),
    ];
    let target = on(&times(r#"{"number":"3"}"#, SQUARE), "1");
    let [wire, gate] = lines;
    let known = ["meanings 2", "wire input 0", wire, "layers 2"];
    let last = ["layer 1 1", gate, "holds 1 0 1 1 1", "outputs 1", "output 0 1 1 1"];
    layers(target, bound, &[units], [0.0, 1.0, 0.0]).meaning(&[&known[..], &FIRST, &last].concat())
}

const PRODUCT: &str = "wire product 0 1 0 1 0 1 0 3";
const BY_SQUARES: &str = "gate 1 0 1 1 1 2 0 0 1 0 2 2 0 1 0 1";

#[test]
fn a_product_is_a_difference_of_two_squares() {
    // The chords are at most 1/4 and 1/16 above; at 1/4 the first is, and the second less than that.
    let plain = [PRODUCT, BY_SQUARES];
    accepted(&tripled("2501/10000", 1.0, 1.0, plain));
    declined(&tripled("9/50", 1.0, 1.0, plain));
    // Another knot; the sum of the squares.
    declined(&tripled("2501/10000", 0.5, 1.0, plain));
    declined(&tripled("2501/10000", 1.0, -1.0, plain));
    declined(&tripled("2501/10000", 1.0, 0.0, plain));
    // Other factors than the squares make, or other arguments than units read.
    rejected(&tripled("2501/10000", 1.0, 1.0, ["wire product 0 1 0 1 0 1 0 2", BY_SQUARES]), "line");
    rejected(&tripled("2501/10000", 1.0, 1.0, ["wire product 0 1 0 2 0 1 0 3", BY_SQUARES]), "line");
    rejected(&tripled("2501/10000", 1.0, 1.0, [PRODUCT, "gate 1 0 1 1 1 2 0 0 1 0 2 2 0 1 0 2"]), "line");
    rejected(&tripled("2501/10000", 1.0, 1.0, [PRODUCT, "gate 1 0 1 1 1 2 2 0 1 0 1 0 0 1 0 2"]), "line");
    declined(&tripled(
        "2501/10000",
        1.0,
        1.0,
        ["wire product 0 1 0 2 0 1 0 6", "gate 1 0 1 1 1 2 0 0 1 0 4 2 0 1 0 2"],
    ));
    // One square is none of two arguments, and a number besides is none that is added.
    rejected(&tripled("2501/10000", 1.0, 1.0, [PRODUCT, "gate 1 0 1 1 1 1 0 0 1 0 2"]), "line");
    rejected(&tripled("2501/10000", 1.0, 1.0, [PRODUCT, "gate 1 1/8 1 1 1 2 0 0 1 0 2 2 0 1 0 1"]), "line");
}

#[test]
fn a_product_has_the_errors_of_both_factors() {
    // x · g of g = x², which is computed as 5/8 instead of 9/16 at 3/4: 3/64 of the error there, which is 0.0938. Squares alone are off by no more
    // than 0.08.
    let squares: Units<'_> = &[
        ([0.5, 0.5, 0.0], 0.0, [0.0, 0.0, 0.5]),
        ([0.5, 0.5, 0.0], -0.5, [0.0, 0.0, 1.0]),
        ([0.5, -0.5, 0.0], 0.0, [0.0, 0.0, -0.25]),
        ([0.5, -0.5, 0.0], -0.25, [0.0, 0.0, -0.5]),
        ([-0.5, 0.5, 0.0], 0.0, [0.0, 0.0, -0.25]),
        ([-0.5, 0.5, 0.0], -0.25, [0.0, 0.0, -0.5]),
    ];
    let told = |bound: &str, factors: &str| {
        let wire = format!("wire product {factors}");
        let known = ["meanings 3", "wire input 0", IS_SQUARE, &wire, "layers 3"];
        let gates = ["layer 1 1", "gate 1 0 1 1 1 1 0 0 1 0 1", "holds 1 0 1 1 1"];
        let gate = "gate 2 0 1 2 1 2 0 0 2 0 1/2 1 1/2 2 0 2 0 1/2 1 -1/2";
        let last = ["layer 1 1", gate, "holds 2 0 1 2 1", "outputs 1", "output 0 1 2 1"];
        let artifact = layers(on(r#"{"power":["token",3]}"#, "1"), bound, &[HATS, squares], [0.0, 0.0, 1.0]);
        artifact.meaning(&[&known[..], &FIRST, &gates, &last].concat())
    };
    for factors in ["0 1 0 1 0 1 1 1", "0 1 1 1 0 1 0 1"] {
        accepted(&told("1/5", factors));
        declined(&told("9/100", factors));
    }
}

/// `x²` by two teeth of a reach.
fn toothed(to: &str, bound: &str, reach: f64, second: f64, lines: [&str; 3]) -> Artifact {
    let first: Units<'_> =
        &[([0.5 / reach, 0.0, 0.0], 0.5, [0.0, 2.0, 0.0]), ([0.5 / reach, 0.0, 0.0], 0.0, [0.0, -4.0, 0.0])];
    let next: Units<'_> = &[([0.0, 1.0, 0.0], 0.0, [0.0, 0.0, second]), ([0.0, 1.0, 0.0], -0.5, [0.0, 0.0, -4.0])];
    let square = reach * reach;
    let mut artifact = layers(on(SQUARE, to), bound, &[first, next], [0.0, -square, -square / 4.0]);
    artifact.numbers("read_out.bias")[0] = square;
    let [scale, tooth, teeth] = lines;
    let wire = format!("wire curve 1/2 1 0 {scale} {TOOTH}");
    let known = ["meanings 4", "wire input 0", &wire, tooth, teeth, "layers 3"];
    let gate = format!("gate 1 0 1 1 1 1 0 1/2 1 0 {scale}");
    let gates = ["layer 1 1", &gate, "holds 1 0 1 1 1"];
    let last = ["layer 1 1", "gate 2 0 1 2 1 1 0 0 1 1 1", "holds 2 0 1 2 1", "outputs 1", "output 0 1 3 1"];
    artifact.meaning(&[&known[..], &FIRST, &gates, &last].concat())
}

const TOOTH: &str = "2 x relu mul 4 x 1/2 sub relu mul sub";
const NEXT: &str = "wire curve 0 1 1 1 2 x relu mul 4 x 1/2 sub relu mul sub";
const TEETH: &str = "wire teeth 0 1 0 1 0 1 0 1 1 1 0 1 0 1 2 1 2";

#[test]
fn teeth_add_up_to_a_square_within_their_reach() {
    let plain = ["1/2", NEXT, TEETH];
    // A chord of a square between 0 and 1/2 is 1/16 above it at 1/4.
    accepted(&toothed("15/16", "6251/100000", 1.0, 2.0, plain));
    declined(&toothed("15/16", "6249/100000", 1.0, 2.0, plain));
    // Half of the reach does for half of the domain, and not for all of it: there teeth are below 0.
    let half = ["1", NEXT, "wire teeth 0 1 0 1 0 1 0 1 1/2 1 0 1 0 1 2 1 2"];
    accepted(&toothed("7/16", "1563/100000", 0.5, 2.0, half));
    declined(&toothed("15/16", "1563/100000", 0.5, 2.0, half));
    declined(&toothed("15/16", "6251/100000", 0.5, 2.0, half));
    // A larger domain, by a rounding or more; another reach in the line; another tooth in the weights.
    declined(&toothed("1", "6251/100000", 1.0, 2.0, plain));
    declined(&toothed("9/8", "6251/100000", 1.0, 2.0, plain));
    rejected(&toothed("7/16", "6251/100000", 1.0, 2.0, ["1/2", NEXT, half[2]]), "line");
    declined(&toothed("15/16", "6251/100000", 1.0, 2.25, plain));
}

#[test]
fn teeth_are_a_chain_of_teeth() {
    let told = |tooth: &str, teeth: &str| toothed("15/16", "6251/100000", 1.0, 2.0, ["1/2", tooth, teeth]);
    accepted(&told(NEXT, TEETH));
    // The same tooth twice, the second one first, one alone, none, one that is not there.
    let chain = |chain: &str| format!("wire teeth 0 1 0 1 0 1 0 1 1 1 0 1 0 1 {chain}");
    rejected(&told(NEXT, &chain("2 1 1")), "line");
    rejected(&told(NEXT, &chain("2 2 1")), "line");
    declined(&told(NEXT, &chain("1 1")));
    rejected(&told(NEXT, &chain("1 2")), "line");
    rejected(&told(NEXT, &chain("0")), "line");
    rejected(&told(NEXT, &chain("2 1 7")), "format");
    // Another curve than a tooth; a tooth of something else.
    rejected(&told("wire curve 0 1 1 1 3 x relu mul 4 x 1/2 sub relu mul sub", TEETH), "line");
    rejected(&told("wire curve 0 1 1 1 2 x relu mul 4 x 1/4 sub relu mul sub", TEETH), "line");
    rejected(&told("wire curve 0 1 1 2 2 x relu mul 4 x 1/2 sub relu mul sub", TEETH), "line");
    // A square of something else, and no reach.
    rejected(&told(NEXT, "wire teeth 0 1 0 2 0 1 0 2 1 1 0 1 0 1 2 1 2"), "line");
    rejected(&told(NEXT, "wire teeth 0 1 0 1 0 1 0 1 0 1 0 1 0 1 2 1 2"), "line");
    rejected(&told(NEXT, "wire teeth 0 1 0 1 0 1 0 1 -1 1 0 1 0 1 2 1 2"), "line");
}
