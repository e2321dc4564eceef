//! CERTIFICATE.md, section 6: each rule proves what it is for, and a claim that is false since one of its hypotheses fails is not accepted.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::float_arithmetic)]

use super::support::{Artifact, Head, Unit, accepted, declined, on_box, on_integers, rejected};

/// The interval of [`on_box`].
const UNIT: &str = r#"["0","1"]"#;

/// `2^-53`, half of what numbers from 1 on are apart.
const HALF: f64 = f64::EPSILON / 2.0;

/// `2^53`.
const FULL: f64 = 2.0 / f64::EPSILON;

fn number(text: &str) -> String {
    format!(r#"{{"number":"{text}"}}"#)
}

/// Claims that a sum of these products is a number, up to a bound.
fn products(terms: &[(f64, f64)], is: &str, bound: &str) -> Artifact {
    let embed: Vec<(f64, f64)> = terms.iter().map(|(value, _)| (0.0, *value)).collect();
    let weights: Vec<f64> = terms.iter().map(|(_, weight)| *weight).collect();
    Artifact::new(on_integers(&number(is), 0, 1), 1, bound, &embed, &weights)
}

fn sum(terms: &[f64], is: &str, bound: &str) -> Artifact {
    products(&terms.iter().map(|term| (*term, 1.0)).collect::<Vec<_>>(), is, bound)
}

#[test]
fn sums_are_exact_while_their_terms_leave_room() {
    accepted(&sum(&[FULL / 2.0, 1.0, -FULL / 2.0], "1", "0"));
    accepted(&sum(&[FULL - 1.0, 1.0, -1.0], "9007199254740991", "0"));
    rejected(&sum(&[FULL, 1.0, -FULL], "1", "0"), "point");
    rejected(&sum(&[FULL, 1.0, 1.0], "9007199254740994", "0"), "point");
    rejected(&sum(&[-FULL, -1.0, -1.0], "-9007199254740994", "0"), "point");
    rejected(&sum(&[FULL, 0.5, -0.5, -FULL], "0", "0"), "point");
    // Any of these partial sums may be flushed.
    rejected(&sum(&[f64::MIN_POSITIVE * 1.5, -f64::MIN_POSITIVE], "0", "0"), "point");
    rejected(&sum(&[1.0, 1.0, 1.0], "2", "0"), "point");
    rejected(&sum(&[1.0, 1.0, 1.0], "4", "1/2"), "point");
}

#[test]
fn sums_have_the_room_of_their_format() {
    let single = |terms: &[f64], is: &str| sum(terms, is, "0").with("execution", "ieee-any-order f32");
    accepted(&single(&[8_388_608.0, 1.0, -8_388_608.0], "1"));
    rejected(&single(&[16_777_216.0, 1.0, -16_777_216.0], "1"), "point");
    accepted(&sum(&[16_777_216.0, 1.0, -16_777_216.0], "1", "0"));
    rejected(&single(&[3e38, 3e38], "0"), "finite");
    rejected(&sum(&[f64::MAX, f64::MAX, -f64::MAX], "0", "0"), "finite");
}

#[test]
fn one_rounding_is_to_the_nearest() {
    let third = 1.0 / 3.0;
    accepted(&products(&[(3.0, third)], "1", "0"));
    accepted(&sum(&[1.0, HALF / 2.0], "1", "0"));
    accepted(&sum(&[1.0, HALF], "1", "0"));
    accepted(&sum(&[1.0, 1.5 * HALF], "4503599627370497/4503599627370496", "0"));
    rejected(&sum(&[1.0, 1.5 * HALF], "1", "0"), "point");
    accepted(&products(&[(3.0, third)], "1", "0").with("execution", "ieee-any-order f32"));
}

#[test]
fn products_that_snap_may_be_added_up_on_one_side() {
    let third = 1.0 / 3.0;
    accepted(&products(&[(3.0, third), (3.0, third), (3.0, third)], "3", "0"));
    // Fused, one of them is not rounded.
    rejected(&products(&[(3.0, third), (3.0, -third)], "0", "0"), "point");
    rejected(&products(&[(3.0, third), (3.0, third), (3.0, -third)], "1", "0"), "point");
    rejected(
        &products(&[(1.0 + HALF * 2.0, 1.0 + HALF * 2.0), (1.0 + HALF * 2.0, 3.0), (1.0, 1.0)], "5", "0"),
        "point",
    );
}

#[test]
fn sums_that_snap_are_sums_of_the_format() {
    let third = 1.0 / 3.0;
    // 2 + 2^-60 and 2^53 + 1 are none.
    let fine = [(3.0, third), (3.0, third), (2.0_f64.powi(-60), 1.0)];
    rejected(&products(&fine, "2305843009213693953/1152921504606846976", "0"), "point");
    let coarse = [(FULL, 1.0), (1.5, third), (1.5, third)];
    rejected(&products(&coarse, "9007199254740993", "0"), "point");
    // A term with all digits is a number of the format.
    accepted(&sum(&[1.0 + 2.0 * HALF, HALF / 2.0], "4503599627370497/4503599627370496", "0"));
}

#[test]
fn weights_that_may_be_flushed_are_refused() {
    rejected(&products(&[(2.0_f64.powi(1000), 5e-324)], "0", "1"), "weights");
    accepted(&products(&[(2.0_f64.powi(1000), f64::MIN_POSITIVE)], "1/4194304", "0"));
}

#[test]
fn any_sum_is_off_by_its_roundings() {
    let terms = [1.0, HALF, HALF];
    let (above, one) = ("4503599627370497/4503599627370496", "1");
    accepted(&sum(&terms, above, "1/2251799813685248"));
    // 1 if the small ones come last, 1 + 2^-52 if they come first.
    rejected(&sum(&terms, one, "0"), "point");
    rejected(&sum(&terms, above, "0"), "point");
    rejected(&sum(&terms, above, "1/9007199254740992"), "point");
}

/// A head of all tokens: the score is this times the key's `x`, the value is the coordinate `v`, and it is added to coordinate 1.
fn head(score: f64, v: usize) -> Head {
    let unit = |at: usize| (0..3).map(|r| f64::from(u8::from(r == at))).collect::<Vec<f64>>();
    Head { mask: "* * * * no", q: vec![0.0; 3], q_bias: score, k: unit(0), v: unit(v), o: unit(1) }
}

/// Two tokens of 0 and 1 with the streams `x, start, 1 - x`, through heads; coordinate 1 is read out.
fn attended(target: &str, bound: &str, start: f64, heads: &[Head]) -> Artifact {
    let embed = [(1.0, 0.0), (0.0, start), (-1.0, 1.0)];
    Artifact::new(on_integers(target, 0, 2), 2, bound, &embed, &[0.0, 1.0, 0.0]).attention(heads)
}

const MAX: &str = r#"{"aggregate":["max","token",null]}"#;

#[test]
fn exponentials_are_off_by_what_the_format_says() {
    let softmax = r#"{"binary":["div",{"aggregate":["sum",{"binary":["mul","token",{"call":["exp",["token"]]}]},null]},{"aggregate":["sum",{"call":["exp",["token"]]},null]}]}"#;
    accepted(&attended(softmax, "1/281474976710656", 0.0, &[head(1.0, 0)]));
    // p (1 - p) 2^-49 is more than 2^-52.
    rejected(&attended(softmax, "1/4503599627370496", 0.0, &[head(1.0, 0)]), "point");
    let single = |bound: &str| attended(softmax, bound, 0.0, &[head(1.0, 0)]).with("execution", "ieee-any-order f32");
    accepted(&single("1/524288"));
    rejected(&single("1/8388608"), "point");
    rejected(&attended(softmax, "1/1000", 0.0, &[head(2.0, 0)]), "point");
    rejected(&attended(softmax, "1/1000", 0.0, &[head(-1.0, 0)]), "point");
    // Among equal tokens shares are halves: a maximum, if it is steep.
    accepted(&attended(MAX, "0", 0.0, &[head(1000.0, 0)]));
    rejected(&attended(MAX, "0", 0.0, &[head(30.0, 0)]), "point");
    rejected(&attended(MAX, "1/4", 0.0, &[head(-1000.0, 0)]), "point");
}

#[test]
fn small_terms_are_absorbed_if_together_they_are_small() {
    let heads = |count: u8| {
        format!(
            r#"{{"binary":["sub",{{"number":"{}"}},{{"binary":["mul",{{"number":"{count}"}},{MAX}]}}]}}"#,
            count + 1
        )
    };
    accepted(&attended(&heads(2), "0", 1.0, &[head(40.0, 2), head(40.0, 2)]));
    // e^-37 is below half of the distance of numbers, eight of them are not; e^-36 is above.
    rejected(&attended(&heads(8), "0", 1.0, &vec![head(37.0, 2); 8]), "point");
    rejected(&attended(&heads(2), "0", 1.0, &[head(36.0, 2), head(36.0, 2)]), "point");
    // Nothing is absorbed by 0.
    let alone = format!(r#"{{"binary":["sub",{{"number":"2"}},{{"binary":["mul",{{"number":"2"}},{MAX}]}}]}}"#);
    rejected(&attended(&alone, "0", 0.0, &[head(40.0, 2), head(40.0, 2)]), "point");
}

#[test]
fn known_terms_are_absorbed_too() {
    accepted(&sum(&[1.0, HALF / 128.0, 3.0 * HALF / 128.0, HALF / 64.0], "1", "0"));
    accepted(&sum(&[1.0, 2.0, HALF / 128.0, -HALF / 128.0], "3", "0"));
    // 2^-54 and 2^-53 together make 1 + 2^-52, and 2^54 + 1 is no number of the format.
    rejected(&sum(&[1.0, HALF / 2.0, HALF], "1", "0"), "point");
    rejected(&sum(&[2.0 * FULL, 1.0, HALF], "18014398509481985", "0"), "point");
    // Nothing is absorbed by 0.
    rejected(&sum(&[1.0, -1.0, HALF / 128.0], "0", "0"), "point");
}

#[test]
fn pairs_cancel_only_if_they_are_pairs() {
    let back = |head: Head| Head { o: head.o.iter().map(|o| -o).collect(), ..head };
    let (near, zero) = ("1/1000000", number("0"));
    accepted(&attended(&zero, near, 0.0, &[head(1.0, 0), back(head(1.0, 0))]));
    rejected(&attended(&zero, near, 0.0, &[head(1.0, 0), back(head(1.0, 2))]), "point");
    rejected(&attended(&zero, near, 0.0, &[head(1.0, 0), back(head(3.0, 0))]), "point");
    rejected(&attended(&zero, near, 0.0, &[head(1.0, 0), head(1.0, 0)]), "point");
    let double = Head { o: vec![0.0, -2.0, 0.0], ..head(1.0, 0) };
    rejected(&attended(&zero, near, 0.0, &[head(1.0, 0), double]), "point");
}

#[test]
fn pairs_add_the_first_head_and_take_the_second_away() {
    let softmax = |times: &str| {
        let power = format!(r#"{{"call":["exp",[{{"binary":["mul","token",{}]}}]]}}"#, number(times));
        let total = format!(r#"{{"aggregate":["sum",{power},null]}}"#);
        let values = format!(r#"{{"aggregate":["sum",{{"binary":["mul","token",{power}]}},null]}}"#);
        format!(r#"{{"binary":["div",{values},{total}]}}"#)
    };
    let difference = |a: &str, b: &str| format!(r#"{{"binary":["sub",{},{}]}}"#, softmax(a), softmax(b));
    let back = |score: f64| Head { o: vec![0.0, -1.0, 0.0], ..head(score, 0) };
    let heads = [head(1.0, 0), back(3.0)];
    accepted(&attended(&difference("1", "3"), "1/1000000000000", 0.0, &heads));
    rejected(&attended(&difference("3", "1"), "1/1000000000000", 0.0, &heads), "point");
    rejected(&attended(&difference("1", "2"), "1/1000000000000", 0.0, &heads), "point");
}

/// Two heads with two values each, `x` and 1, which write these: claims of tokens that differ, and of equal ones.
fn two_values(o: [[f64; 2]; 2], at_apart: &str, at_equal: &str) -> Artifact {
    let apart = r#"{"binary":["sub",{"aggregate":["max","token",null]},{"aggregate":["min","token",null]}]}"#;
    let target = format!(r#"{{"if":[{},{},{}]}}"#, equal(apart, "1"), number(at_apart), number(at_equal));
    let embed = [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)];
    let mut net = Artifact::new(on_integers(&target, 0, 2), 2, "1/1000000", &embed, &[0.0, 0.0, 1.0]);
    net.runs = ["run 1 attention softmax 2 1 2 0", "mask * * * * no", "mask * * * * no"].map(Into::into).to_vec();
    net.tensor("0.attn.q", &[1, 2, 1, 3], vec![0.0; 6]);
    net.tensor("0.attn.q_bias", &[1, 2, 1], vec![1.0; 2]);
    net.tensor("0.attn.k", &[1, 2, 1, 3], [1.0, 0.0, 0.0].repeat(2));
    net.tensor("0.attn.v", &[1, 2, 2, 3], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0].repeat(2));
    net.tensor("0.attn.o", &[1, 2, 3, 2], [[0.0; 4].as_slice(), &o[0], &[0.0; 4], &o[1]].concat());
    net
}

#[test]
fn pairs_are_opposite_in_every_value() {
    accepted(&two_values([[1.0, 1.0], [-1.0, -1.0]], "0", "0"));
    for (o, is) in [
        ([[1.0, 1.0], [-1.0, 1.0]], "2"),
        ([[1.0, 0.0], [-1.0, 1.0]], "1"),
        ([[1.0, 1.0], [-1.0, 0.0]], "1"),
        ([[0.0, 1.0], [0.0, 1.0]], "2"),
    ] {
        accepted(&two_values(o, is, is));
        rejected(&two_values(o, "0", is), "point");
    }
}

#[test]
fn pairs_see_the_same_keys() {
    // Values x plus something that is not known exactly; one head sees token 0, the other token 1.
    let sees = |mask: &'static str, o: f64| Head { mask, v: vec![1.0, 1.0, 0.0], o: vec![0.0, 0.0, o], ..head(0.0, 0) };
    let net = |first: &'static str, second: &'static str| {
        let embed = [(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
        let net = Artifact::new(on_integers(&number("0"), 0, 2), 2, "1/1000", &embed, &[0.0, 0.0, 1.0]);
        net.attention(&[head(1.0, 0)]).attention(&[sees(first, 1.0), sees(second, -1.0)])
    };
    accepted(&net("* * 0 0 no", "* * 0 0 no"));
    rejected(&net("* * 0 0 no", "* * 1 1 no"), "point");
}

#[test]
fn pairs_may_round_their_values_otherwise() {
    // 2^53 + 1 - 2^53 is 1, or 0 if the first two meet first: one head's value of token 0, and the other's. That of token 1 is 0.
    let average = |o: f64| Head {
        mask: "* * * * no",
        q: vec![0.0; 4],
        q_bias: 0.0,
        k: vec![0.0; 4],
        v: vec![1.0, 1.0, 1.0, 0.0],
        o: vec![0.0, 0.0, 0.0, o],
    };
    let net = |bound: &str| {
        let net = Artifact::new(on_integers(&number("0"), 0, 1), 2, bound, &[(0.0, 0.0); 4], &[0.0, 0.0, 0.0, 1.0]);
        net.positions(&[&[FULL, 1.0, -FULL, 0.0], &[0.0; 4]]).attention(&[average(1.0), average(-1.0)])
    };
    accepted(&net("16"));
    rejected(&net("1/4"), "point");
}

#[test]
fn heads_that_write_nothing_must_be_finite_too() {
    // 0 times a number that is none is none.
    let idle = |q_bias: f64| Head { q_bias, k: vec![1e300, 0.0, 0.0], o: vec![0.0; 3], ..head(0.0, 0) };
    accepted(&attended(&number("0"), "0", 0.0, &[idle(1.0)]));
    rejected(&attended(&number("0"), "0", 0.0, &[idle(1e300)]), "finite");
    let blank = |q_bias: f64| Head { q_bias, v: vec![0.0; 3], o: vec![0.0, 1.0, 0.0], ..idle(0.0) };
    accepted(&attended(&number("0"), "0", 0.0, &[blank(1.0)]));
    rejected(&attended(&number("0"), "0", 0.0, &[blank(1e300)]), "finite");
}

#[test]
fn units_that_rest_must_be_finite_too() {
    let unit = |large: f64, bias: f64| {
        let embed = [(0.0, large), (0.0, 1e10), (0.0, 0.0)];
        let net = Artifact::new(on_integers(&number("0"), 0, 1), 1, "0", &embed, &[0.0, 0.0, 1.0]);
        net.forward(&[(&[-1e300, 1e300, 0.0], bias, &[0.0, 0.0, 1.0])])
    };
    // -10^600 + 10^310 may come out as the difference of two infinities.
    rejected(&unit(1e300, 0.0), "finite");
    let below = |least: f64| {
        let net = Artifact::new(on_integers(r#""token""#, 1, 2), 1, "0", &[(1.0, 0.0)], &[1.0]);
        net.forward(&[(&[least], least, &[1.0])])
    };
    accepted(&below(-1e300));
    rejected(&below(-f64::MAX), "finite");
}

#[test]
fn units_rest_only_if_no_rounding_wakes_them() {
    // 2^53 + 1 - 2^53 - 1 is 0, and 1 if the large terms meet first.
    let embed = [(0.0, FULL), (0.0, 1.0), (0.0, -FULL), (0.0, -1.0), (0.0, 0.0)];
    let net = |bound: &str| {
        let net = Artifact::new(on_integers(&number("0"), 0, 1), 1, bound, &embed, &[0.0, 0.0, 0.0, 0.0, 1.0]);
        net.forward(&[(&[1.0, 1.0, 1.0, 1.0, 0.0], 0.0, &[0.0, 0.0, 0.0, 0.0, 1.0])])
    };
    accepted(&net("16"));
    rejected(&net("1/2"), "point");
    // 2^53 + 1 - 2^53 is 1, and 0 if 1 meets a large term first.
    let lost = |is: &str| {
        let net = Artifact::new(on_integers(&number(is), 0, 1), 1, "1/2", &embed, &[0.0, 0.0, 0.0, 0.0, 1.0]);
        net.forward(&[(&[1.0, 1.0, 1.0, 0.0, 0.0], 0.0, &[0.0, 0.0, 0.0, 0.0, 1.0])])
    };
    rejected(&lost("1"), "point");
    rejected(&lost("0"), "point");
}

/// Claims that a token of `[0, 1]` is taken to a number, up to a bound in the mean.
fn layer(units: &[Unit<'_>], is: &str, bound: &str) -> Artifact {
    Artifact::new(on_box(&number(is)), 1, bound, &[(1.0, 0.0)], &[1.0]).over_box(1, "0 0").forward(units)
}

#[test]
fn layers_are_composed_before_intervals_are_put_in() {
    // min(x, 1/2), within 1/4 of 1/4; and x + max(x - 1/2, 0), which is not.
    accepted(&layer(&[(&[1.0], -0.5, &[-1.0])], "1/4", "9/32"));
    rejected(&layer(&[(&[1.0], -0.5, &[1.0])], "1/4", "9/32"), "integral");
    rejected(&layer(&[(&[1.0], -0.75, &[-1.0])], "0", "3/8"), "integral");
    rejected(&layer(&[(&[1.0], 0.5, &[1.0])], "1/4", "5/4"), "integral");
    // max(x, 1/2) by a unit that opens to the left.
    accepted(&layer(&[(&[-1.0], 0.5, &[1.0])], "3/4", "9/32"));
    rejected(&layer(&[(&[-1.0], 0.5, &[1.0])], "1/4", "9/32"), "integral");
    // The difference of two that are active everywhere.
    accepted(&layer(&[(&[1.0], 1.0, &[-1.0])], "-1", "1/1000"));
    rejected(&layer(&[(&[1.0], 1.0, &[-1.0])], "0", "1/2"), "integral");
}

#[test]
fn zigzags_are_bounded_at_their_kinks() {
    // Up and down, ten times: units at 0.1, 0.2, …, more than are looked at piece by piece.
    let bends: Vec<f64> = (1..10_u8).map(|k| -f64::from(k) / 16.0).collect();
    let sign = |k: usize| if k.is_multiple_of(2) { [-2.0] } else { [2.0] };
    let writes: Vec<[f64; 1]> = (0..9).map(sign).collect();
    let mut all: Vec<Unit<'_>> =
        bends.iter().zip(&writes).map(|(bend, write)| (&[1.0][..], *bend, &write[..])).collect();
    all.push((&[1.0], -0.625, &[1.0]));
    accepted(&layer(&all, "0", "1/8"));
    all[9].2 = &[2.0];
    rejected(&layer(&all, "0", "1/16"), "integral");
}

#[test]
fn units_of_one_functional_are_bounded_exactly() {
    // max(±3(x - k), 0) with weights of either sign, written to a coordinate of its own: the extremes are at kinks and ends.
    let kinks = [0.25, 0.5, 0.75];
    for case in 0..64_usize {
        let unit = |k: usize| {
            let bits = case.wrapping_mul(2_654_435_761).wrapping_shr(u32::try_from(3 * k).unwrap_or(0));
            let (reads, write) = (if bits & 1 == 0 { 3.0 } else { -3.0 }, if bits & 2 == 0 { 1.0 } else { -2.0 });
            (reads, -reads * kinks[(bits >> 2) % 3], write)
        };
        let units: Vec<(f64, f64, f64)> = (0..4).map(unit).collect();
        let y = |x: f64| units.iter().map(|(reads, bias, write)| write * (reads * x + bias).max(0.0)).sum::<f64>();
        // Kinks are multiples of 1/4.
        let size = (0..=4_u8).map(|k| y(f64::from(k) / 4.0).abs()).fold(0.0, f64::max);
        let mean = (0..4096_u16).map(|k| y((f64::from(k) + 0.5) / 4096.0).abs()).sum::<f64>() / 4096.0;
        let parts: Vec<([f64; 2], f64, [f64; 2])> = units.iter().map(|(r, b, w)| ([*r, 0.0], *b, [0.0, *w])).collect();
        let parts: Vec<Unit<'_>> = parts.iter().map(|(r, b, w)| (&r[..], *b, &w[..])).collect();
        let claim = |bound: f64| {
            let bound = format!("{:.0}/10007", (bound * 10007.0).max(1.0));
            let net = Artifact::new(on_box(&number("0")), 1, &bound, &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]);
            net.over_box(1, "0 0").forward(&parts)
        };
        accepted(&claim(size + 0.001));
        if mean > 0.01 {
            rejected(&claim(0.99 * mean), "integral");
        }
    }
}

#[test]
fn a_box_counts_what_lies_beyond_the_good_parts() {
    // 0 up to 3/4, then up to 2: 1/4 in the mean.
    let steep = |bound: &str, margins: &str| {
        let net = Artifact::new(on_box(&number("0")), 1, bound, &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]);
        net.over_box(1, margins).forward(&[(&[1.0, 0.0], -0.75, &[0.0, 8.0])])
    };
    accepted(&steep("9/16", "0 1/4"));
    rejected(&steep("1/8", "0 1/4"), "integral");
    rejected(&steep("1/8", "0 1/8"), "integral");
    rejected(&steep("1/8", "1/4 0"), "integral");
    rejected(&steep("1/8", "0 1"), "integral");
    rejected(&steep("9", "0 5/4"), "claim");
    rejected(&steep("9", "-1/4 0"), "claim");
    rejected(&steep("9", "0 -1/4"), "claim");
}

#[test]
fn an_integral_is_over_all_of_the_box_and_all_outputs() {
    let off = |tokens: usize, high: &str, norm: &str, bound: &str| {
        let target = on_box(&number("1/2")).replace(r#"["0","1"]"#, &format!(r#"["0","{high}"]"#));
        Artifact::new(target, tokens, bound, &[(0.0, 0.0)], &[1.0]).over_box(2, "0 0").with("norm", norm)
    };
    accepted(&off(1, "1", "lp 1", "1/2"));
    rejected(&off(1, "1", "lp 1", "7/16"), "integral");
    accepted(&off(1, "2", "lp 1", "1"));
    rejected(&off(1, "2", "lp 1", "15/16"), "integral");
    accepted(&off(2, "1", "lp 1", "1"));
    rejected(&off(2, "1", "lp 1", "15/16"), "integral");
    accepted(&off(2, "2", "lp 1", "4"));
    rejected(&off(2, "2", "lp 1", "31/8"), "integral");
    accepted(&off(1, "2", "lp 2", "3/4"));
    rejected(&off(1, "2", "lp 2", "11/16"), "integral");
    accepted(&off(3, "1", "lp 2", "7/8"));
    rejected(&off(3, "1", "lp 2", "13/16"), "integral");
}

#[test]
fn products_of_ranges_have_all_four_corners() {
    // Where the target is not 0, with a network that is: factors of either sign, in either order.
    let claim = |a: &str, b: &str| {
        let part = |shift: &str| format!(r#"{{"binary":["sub","token",{}]}}"#, number(shift));
        let target = on_box(&format!(r#"{{"binary":["mul",{},{}]}}"#, part(a), part(b)));
        Artifact::new(target, 1, "1/100", &[(0.0, 0.0)], &[1.0]).over_box(1, "0 0")
    };
    for (a, b) in
        [("0", "1"), ("1", "0"), ("0", "0"), ("1", "1"), ("1/2", "1/2"), ("1/2", "2"), ("2", "1/2"), ("-1", "2")]
    {
        rejected(&claim(a, b), "integral");
    }
}

#[test]
fn a_table_has_its_entry_on_each_cell() {
    let table = |values: &str| {
        let target =
            r#"{"kind":"table","tokens":2,"dims":1,"output_dims":1,"resolution":2,"symmetry":"none","values":VALUES}"#;
        // Each token to 1 above a half: with a ramp of 1/16, which lies below the good parts.
        let ramp: [Unit<'_>; 2] = [(&[1.0, 0.0], -0.5, &[0.0, 16.0]), (&[1.0, 0.0], -0.5625, &[0.0, -16.0])];
        let net = Artifact::new(target.replace("VALUES", values), 2, "3/4", &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]);
        net.over_box(2, "1/8 0").forward(&ramp)
    };
    accepted(&table(r#"[[["0"],["0"]],[["0"],["1"]],[["1"],["0"]],[["1"],["1"]]]"#));
    rejected(&table(r#"[[["0"],["0"]],[["1"],["0"]],[["0"],["1"]],[["1"],["1"]]]"#), "integral");
    rejected(&table(r#"[[["0"],["0"]],[["0"],["1"]],[["1"],["0"]],[["1"],["4"]]]"#), "integral");
    rejected(&table(r#"[[["1"],["1"]],[["1"],["0"]],[["0"],["1"]],[["0"],["0"]]]"#), "integral");
}

#[test]
fn every_sequence_of_integers_counts() {
    let claim = |bound: &str, from: i64, to: i64| {
        Artifact::new(on_integers(r#"{"call":["abs",["token"]]}"#, from, to), 1, bound, &[(1.0, 0.0)], &[1.0])
    };
    accepted(&claim("0", 0, 4));
    rejected(&claim("0", -1, 4), "point");
    accepted(&claim("2", -1, 4));
    rejected(&claim("2", -2, 4), "point");
    let sum = r#"{"aggregate":["sum","token",null]}"#;
    let lengths =
        |tokens: &str| Artifact::new(on_integers(sum, 0, 2), 1, "0", &[(1.0, 0.0)], &[1.0]).with("tokens", tokens);
    accepted(&lengths("1 1"));
    rejected(&lengths("1 2"), "point");
    let distinct = |otherwise: &str| {
        let target = r#"{"if":[{"compare":["equal","length",{"number":"1"}]},"token",{"number":"1"}]}"#;
        let net = Artifact::new(on_integers(target, 0, 2), 1, "0", &[(0.0, 1.0)], &[1.0]);
        net.with("tokens", "2 2").with("over", &format!("distinct-integers {otherwise}"))
    };
    accepted(&distinct("1"));
    rejected(&distinct("0"), "point");
    // Undefined at 0.
    let inverse = r#"{"binary":["div","token","token"]}"#;
    accepted(&Artifact::new(on_integers(inverse, 1, 3), 1, "0", &[(0.0, 1.0)], &[1.0]));
    rejected(&Artifact::new(on_integers(inverse, 0, 3), 1, "0", &[(0.0, 1.0)], &[1.0]), "target");
}

/// Claims that three tokens of 0 and 1 give 0 by a network that is 0. Of the orders of the tokens that are not its own, an order-free target
/// would be looked at in the sorted one alone.
fn nothing(lets: &str, first: &str) -> Artifact {
    let each = format!(r#"{{"if":[{},{first},{}]}}"#, equal(r#""index""#, "0"), number("0"));
    let target = on_integers(&each, 0, 2).replace(r#""body""#, &format!(r#""lets":[{lets}],"body""#));
    Artifact::new(target, 3, "0", &[(0.0, 0.0)], &[0.0])
}

fn equal(a: &str, b: &str) -> String {
    format!(r#"{{"compare":["equal",{a},{}]}}"#, number(b))
}

fn both(a: &str, b: &str) -> String {
    format!(r#"{{"and":[{a},{b}]}}"#)
}

/// 1 if a condition holds, else 0.
fn indicator(condition: &str) -> String {
    format!(r#"{{"if":[{condition},{},{}]}}"#, number("1"), number("0"))
}

#[test]
fn targets_that_see_the_order_are_looked_at_in_every_order() {
    // All are 0 unless tokens 1 and 2 are 1 and 0.
    let (token, sum_b) = (r#""token""#, r#"{"aggregate":["sum",{"bound":"b"},null]}"#);
    accepted(&nothing("", &number("0")));
    let count = |place: &str, value: &str| {
        let here = both(&equal(r#""running""#, place), &equal(token, value));
        format!(r#"{{"aggregate":["count",{here},null]}}"#)
    };
    let running = format!(r#"{{"binary":["mul",{},{}]}}"#, count("1", "1"), count("2", "0"));
    rejected(&nothing("", &running), "point");
    let gather = |place: &str| format!(r#"{{"gather":{}}}"#, number(place));
    rejected(&nothing("", &indicator(&both(&equal(&gather("1"), "1"), &equal(&gather("2"), "0")))), "point");
    let at = |place: &str, value: &str| indicator(&both(&equal(r#""index""#, place), &equal(token, value)));
    let by_index = format!(r#"{{"name":"b","value":{{"binary":["add",{},{}]}}}}"#, at("1", "1"), at("2", "0"));
    rejected(&nothing(&by_index, &indicator(&equal(sum_b, "2"))), "point");
    // Σ sorted_j x_j of (0, 0, 1) is 1, of (0, 1, 0) it is 0.
    let one = both(&equal(token, "0"), &equal(r#"{"aggregate":["sum","token",null]}"#, "1"));
    let product = r#"{"binary":["mul",{"sort":"token"},"token"]}"#;
    let by_sort = format!(r#"{{"name":"b","value":{product}}}"#);
    rejected(&nothing(&by_sort, &indicator(&both(&one, &equal(sum_b, "0")))), "point");
    let sorted = format!(r#"{{"aggregate":["sum",{product},null]}}"#);
    rejected(&nothing("", &indicator(&both(&one, &equal(&sorted, "0")))), "point");
}

/// Claims of three tokens of 0 and 1 what is true where the tokens that are not one's own are sorted: that every output is token 2.
fn last(net: Artifact, times: &str) -> Artifact {
    let others = r#"{"binary":["sub",{"aggregate":["sum","token",null]},"token"]}"#;
    let most = format!(r#"{{"call":["min",[{others},{}]]}}"#, number("1"));
    let each = format!(r#"{{"if":[{},"token",{most}]}}"#, equal(r#""index""#, "2"));
    Artifact { target: on_integers(&format!(r#"{{"binary":["mul",{each},{}]}}"#, number(times)), 0, 2), ..net }
}

#[test]
fn networks_that_see_the_order_are_looked_at_in_every_order() {
    let average = Head {
        mask: "* * * * no",
        q: vec![0.0; 3],
        q_bias: 0.0,
        k: vec![0.0; 3],
        v: vec![0.0, 1.0, 0.0],
        o: vec![0.0, 0.0, 1.0],
    };
    let net =
        |v0: (f64, f64)| Artifact::new(String::new(), 3, "1/1000", &[(1.0, 0.0), v0, (0.0, 0.0)], &[0.0, 0.0, 1.0]);
    // A mask that shows token 2 alone.
    let masked = Head { mask: "* * 2 2 no", ..average.clone() };
    rejected(&last(net((1.0, 0.0)).attention(&[masked]), "1"), "point");
    // Values max(x + position - 1, 0): they are x of token 2.
    let positions: [&[f64]; 3] = [&[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0], &[1.0, 0.0, 0.0]];
    let placed = net((0.0, 0.0)).positions(&positions).forward(&[(&[1.0, 0.0, 0.0], -1.0, &[0.0, 1.0, 0.0])]);
    rejected(&last(placed.attention(std::slice::from_ref(&average)), "1/3"), "point");
    // Keys that are 1000 at token 2.
    let at = |place: f64| vec![0.0, 0.0, place];
    let (here, there) = (at(0.0), at(1.0));
    let keyed = net((1.0, 0.0)).positions(&[&here, &here, &there]);
    let head = Head { q_bias: 1000.0, k: vec![0.0, 0.0, 1.0], o: vec![0.0, 0.0, 1.0], ..average };
    let mut keyed = keyed.attention(&[head]);
    keyed.numbers("read_out.weight")[2] = 1.0;
    // The position itself is read out besides: 1 at token 2.
    rejected(&last(keyed, "1"), "point");
}

/// A hundred blocks of two heads that read, and write, the one coordinate. No part of the box is good.
fn swept(first: f64, second: f64, o: [f64; 2], v: f64) -> Artifact {
    let head = |bias: f64, o: f64, v: f64| Head {
        mask: "* * * * no",
        q: vec![64.0],
        q_bias: bias,
        k: vec![1.0],
        v: vec![v],
        o: vec![o],
    };
    let net = Artifact::new(on_box(r#""token""#), 2, "1000000000000000000000000000000", &[(1.0, 0.0)], &[1.0]);
    let net = net.over_box(1, "1/2 1/2").with("execution", "ieee-any-order f32");
    (0..100).fold(net, |net, _| net.attention(&[head(first, o[0], 1.0), head(second, o[1], v)]))
}

#[test]
fn only_sweeps_are_swept() {
    accepted(&swept(-32.0, -96.0, [1.0, -1.0], 1.0));
    // Without its hypotheses nothing bounds the tokens: most of these overflow.
    rejected(&swept(-32.0, -96.0, [1.0, 1.0], 1.0), "finite");
    rejected(&swept(-32.0, -96.0, [3.0, -1.0], 1.0), "finite");
    rejected(&swept(-32.0, -96.0, [1.0, -1.0], -1.0), "finite");
    rejected(&swept(-32.0, -96.0, [-1.0, 1.0], 3.0), "finite");
    rejected(&swept(-96.0, -32.0, [1.0, -1.0], 1.0), "finite");
}

#[test]
fn a_sort_of_places_sees_the_order() {
    // The least of 5, (0 if x_1 = 0 else 5), (0 if x_2 = 1 else 5): 0 unless x_1 = 1 and x_2 = 0.
    let zero_at = |place: i32, value: i32| {
        format!(
            r#"{{"and":[{{"compare":["equal","index",{{"number":"{place}"}}]}},{{"compare":["equal","token",{{"number":"{value}"}}]}}]}}"#
        )
    };
    let inner =
        format!(r#"{{"if":[{{"or":[{},{}]}},{{"number":"0"}},{{"number":"5"}}]}}"#, zero_at(1, 0), zero_at(2, 1));
    let each = r#"{"if":[{"compare":["equal","index",{"number":"0"}]},{"sort":{"bound":"b"}},{"number":"0"}]}"#;
    let lets = format!(r#""ast":{{"lets":[{{"name":"b","value":{inner}}}],"#);
    let target = on_integers(each, 0, 2).replacen(r#""ast":{"#, &lets, 1);
    rejected(&Artifact::new(target, 3, "0", &[(0.0, 0.0)], &[0.0]), "point");
}

#[test]
fn outputs_are_looked_at_in_every_place() {
    // Only the output of one place is wrong, by its position or by the target.
    let token = r#""token""#;
    let net = |target: &str| Artifact::new(on_integers(target, 0, 2), 2, "0", &[(1.0, 0.0)], &[1.0]);
    accepted(&net(token).positions(&[&[0.0], &[0.0]]));
    rejected(&net(token).positions(&[&[0.0], &[1.0]]), "point");
    rejected(&net(token).positions(&[&[1.0], &[0.0]]), "point");
    let more_at = |place: &str| {
        let more = format!(r#"{{"binary":["add","token",{}]}}"#, number("1"));
        net(&format!(r#"{{"if":[{},{more},"token"]}}"#, equal(r#""index""#, place)))
    };
    accepted(&more_at("2"));
    rejected(&more_at("1"), "point");
    rejected(&more_at("0"), "point");
    accepted(&more_at("1").positions(&[&[0.0], &[1.0]]));
    rejected(&more_at("1").positions(&[&[1.0], &[0.0]]), "point");
}

/// `⌊2^97/3⌋/2^97` and the next one: the digits of 1/3 that are kept.
const THIRDS: [&str; 2] = [
    "26409387504754779197847983445/79228162514264337593543950336",
    "52818775009509558395695966891/158456325028528675187087900672",
];

#[test]
fn claims_that_are_false_in_the_last_digit_are_rejected() {
    let [below, above] = THIRDS;
    let constant =
        |is: &str, bound: &str| Artifact::new(on_integers(&number(is), 0, 1), 1, bound, &[(0.0, 0.0)], &[1.0]);
    accepted(&constant(below, "1/3"));
    rejected(&constant(above, "1/3"), "point");
    let boxed = |is: &str, interval: &str, bound: &str| {
        let target = on_box(&number(is)).replace(r#"["0","1"]"#, interval);
        Artifact::new(target, 1, bound, &[(0.0, 0.0)], &[1.0]).over_box(1, "0 0")
    };
    accepted(&boxed(below, UNIT, "1/3"));
    // Less than the digits that are kept of an integral: it is not accepted, and not called false.
    declined(&boxed(above, UNIT, "1/3"));
    // The volume of [0, 1/3].
    accepted(&boxed("1", r#"["0","1/3"]"#, above));
    declined(&boxed("1", r#"["0","1/3"]"#, below));
    // (1 + 2^-60)^2 has more digits than are kept.
    let bound = "1152921504606846977/1152921504606846976";
    let more = "1606938044258990276935758667249326548868185385823315429425153/1606938044258990275541962092341162602522202993782792835301376";
    let table = |value: &str| {
        format!(
            r#"{{"kind":"table","tokens":1,"dims":1,"output_dims":1,"resolution":1,"symmetry":"none","values":[[["{value}"]]]}}"#
        )
    };
    declined(&Artifact { target: table(more), ..boxed("0", UNIT, bound).with("norm", "lp 2") });
    // 2^120 + 2 is more than 2^120 + 1: their digits are more than are kept of a power.
    let [bound, more] = ["1329227995784915872903807060280344577", "1329227995784915872903807060280344578"];
    declined(&Artifact { target: table(more), ..boxed("0", UNIT, bound) });
    // Margins of 1/3 and 1 - ⌊2^97/3⌋/2^97 are above 1 together.
    let rest = "52818775009509558395695966891/79228162514264337593543950336";
    rejected(&boxed("0", UNIT, "1").over_box(1, &format!("1/3 {rest}")), "claim");
    rejected(&boxed("0", UNIT, "1").over_box(1, &format!("{rest} 1/3")), "claim");
    // Ends of an interval that the digits which are kept do not tell apart, 1/3 and 1/3 + 2^-97.
    let next = "158456325028528675187087900675/475368975085586025561263702016";
    accepted(&boxed("0", &format!(r#"["1/3","{next}"]"#), "1"));
    rejected(&boxed("0", &format!(r#"["{next}","1/3"]"#), "1"), "claim");
}

#[test]
fn a_box_is_as_large_as_its_sides() {
    let off = |interval: &str, bound: &str| {
        let target = on_box(&number("1/2")).replace(r#"["0","1"]"#, interval);
        Artifact::new(target, 1, bound, &[(0.0, 0.0)], &[1.0]).over_box(2, "0 0")
    };
    accepted(&off(r#"["1","2"]"#, "1/2"));
    rejected(&off(r#"["1","2"]"#, "7/16"), "integral");
    accepted(&off(r#"["-3","1"]"#, "2"));
    rejected(&off(r#"["-3","1"]"#, "31/16"), "integral");
}

#[test]
fn blocks_of_a_run_follow_each_other() {
    // Twice x + x is 4x, not 3x.
    let run = |times: &str| {
        let target = format!(r#"{{"binary":["mul","token",{}]}}"#, number(times));
        let mut net = Artifact::new(on_integers(&target, 0, 3), 1, "0", &[(1.0, 0.0)], &[1.0]);
        net.runs = vec!["run 2 attention softmax 1 1 1 0".into(), "mask * * * * no".into()];
        for (name, value) in [("q", 0.0), ("k", 0.0), ("v", 1.0), ("o", 1.0)] {
            net.tensor(&format!("0.attn.{name}"), &[2, 1, 1, 1], vec![value; 2]);
        }
        net.tensor("0.attn.q_bias", &[2, 1, 1], vec![0.0; 2]);
        net
    };
    accepted(&run("4"));
    rejected(&run("3"), "point");
}
