//! Meanings of registers (CERTIFICATE.md, section 7): a line that leaves out a hypothesis proves nothing.
//!
//! Most of these claims are false: an execution that the claim allows is off, as the comment says. Each was accepted once.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::float_arithmetic)]

use super::support::{Artifact, Head, Unit, accepted, declined, rejected};

const ZERO: &str = r#"{"number":"0"}"#;
const TOKEN: &str = r#""token""#;
const MEAN: &str = r#"{"aggregate":["mean","token",null]}"#;
const RELU: &str = r#"{"call":["relu",["token"]]}"#;

/// A target on an interval.
fn on(each: &str, from: &str, to: &str) -> String {
    format!(r#"{{"kind":"expression","ast":{{"body":{{"each":{each}}},"domain":{{"interval":["{from}","{to}"]}}}}}}"#)
}

/// Two to this power, written out.
fn power(exponent: u32) -> String {
    let digits = (0..exponent).fold(vec![1_u8], |digits, _| {
        let (mut doubled, mut carry) = (Vec::with_capacity(digits.len() + 1), 0);
        for digit in digits {
            doubled.push((2 * digit + carry) % 10);
            carry = (2 * digit + carry) / 10;
        }
        doubled.extend((carry > 0).then_some(carry));
        doubled
    });
    digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect()
}

/// A network of one register that holds the token times a factor, and a layer of units; the claim is that nothing is left.
fn cleared(factor: f64, units: &[(f64, f64)], bound: &str) -> Artifact {
    let rows: Vec<([f64; 1], [f64; 1])> = units.iter().map(|(reads, writes)| ([*reads], [*writes])).collect();
    let units: Vec<Unit<'_>> = rows.iter().map(|(reads, writes)| (&reads[..], 0.0, &writes[..])).collect();
    Artifact::new(on(ZERO, "-1", "1"), 1, bound, &[(factor, 0.0)], &[1.0]).forward(&units)
}

/// The lines of [`cleared`].
fn clearing(factor: &str) -> [String; 8] {
    let holds = format!("holds 0 0 1 0 {factor}");
    ["meanings 1", "wire input 0", "layers 2", "layer 0 1", &holds, "layer 0 1", "holds 0 0 0", "outputs 1"]
        .map(str::to_owned)
}

fn claimed(artifact: Artifact, lines: &[String]) -> Artifact {
    let lines: Vec<&str> = lines.iter().map(String::as_str).chain(["output 0 0"]).collect();
    artifact.meaning(&lines)
}

const SMALL: &str = "1/1000000000";

#[test]
fn a_register_is_cleared_by_two_units_of_weight_one() {
    let x = [(1.0, -1.0), (-1.0, 1.0)];
    accepted(&claimed(cleared(1.0, &x, SMALL), &clearing("1")));
    // The token is left.
    declined(&claimed(cleared(1.0, &[(1.0, 0.0), (-1.0, 0.0)], SMALL), &clearing("1")));
    declined(&claimed(cleared(1.0, &[(1.0, -1.0)], SMALL), &clearing("1")));
    declined(&claimed(cleared(1.0, &[(1.0, -1.0), (-1.0, 0.5)], SMALL), &clearing("1")));
    declined(&claimed(cleared(1.0, &[(1.0, 1.0), (-1.0, -1.0)], SMALL), &clearing("1")));
}

#[test]
fn weights_that_only_add_up_to_one_clear_nothing() {
    // (2^53 x + x) - 2^53 x is not x; and 2^1023 x - 2^1023 x may be no number at all.
    for (huge, factor, name) in [(2.0_f64.powi(53), 1.0, "1"), (2.0_f64.powi(1023), 4.0, "4")] {
        let split = [(1.0, huge), (1.0, -huge), (1.0, -1.0), (-1.0, 1.0)];
        declined(&claimed(cleared(factor, &split, SMALL), &clearing(name)));
    }
}

#[test]
fn what_may_be_flushed_is_not_cleared() {
    // The embedding may keep a subnormal that a unit flushes; the read-out makes the token of it.
    let tiny = f64::MIN_POSITIVE;
    let mut artifact = cleared(tiny, &[(1.0, -1.0), (-1.0, 1.0)], "1/1000000");
    artifact.numbers("read_out.weight")[0] = 1.0 / tiny;
    declined(&claimed(artifact, &clearing(&format!("1/{}", power(1022)))));
}

/// Two registers that hold the token; the first is cleared by these weights, and gets the positive part of the second.
fn cleared_and_filled(units: &[Unit<'_>], unit: usize) -> Artifact {
    let target = on(RELU, "-1", "1");
    let gate = format!("gate 1 0 1 1 1 1 {unit} 0 1 0 1");
    Artifact::new(target, 1, "1/1000000", &[(1.0, 0.0), (1.0, 0.0)], &[1.0, 0.0]).forward(units).meaning(&[
        "meanings 2",
        "wire input 0",
        "wire curve 0 1 0 1 x relu",
        "layers 2",
        "layer 0 2",
        "holds 0 0 1 0 1",
        "holds 1 0 1 0 1",
        "layer 1 1",
        &gate,
        "holds 0 0 1 1 1",
        "outputs 1",
        "output 0 1 1 1",
    ])
}

#[test]
fn a_register_that_is_filled_again_is_cleared_too() {
    let (first, second): (&[f64], &[f64]) = (&[1.0, 0.0], &[0.0, 1.0]);
    let negative: &[f64] = &[-1.0, 0.0];
    let filled: Unit<'_> = (second, 0.0, &[1.0, 0.0]);
    accepted(&cleared_and_filled(&[(first, 0.0, &[-1.0, 0.0]), (negative, 0.0, &[1.0, 0.0]), filled], 2));
    declined(&cleared_and_filled(&[(first, 0.0, &[0.0, 0.0]), (negative, 0.0, &[0.0, 0.0]), filled], 2));
    let huge = 2.0_f64.powi(53);
    let (more, less) = (&[huge, 0.0], &[-huge, 0.0]);
    let split: [Unit<'_>; 5] =
        [(first, 0.0, more), (first, 0.0, less), (first, 0.0, &[-1.0, 0.0]), (negative, 0.0, &[1.0, 0.0]), filled];
    declined(&cleared_and_filled(&split, 4));
}

/// A register that holds the token, and a gate that reads it and takes it away: `2|x + 1/2|`, by units with a knot at -1/2.
fn taken_by_a_gate(weights: [f64; 2], row: f64, holds: &str, bound: &str) -> Artifact {
    let target = on(
        r#"{"binary":["mul",{"number":"2"},{"call":["abs",[{"binary":["add","token",{"number":"1/2"}]}]]}]}"#,
        "-1",
        "1",
    );
    let (right, left, adds) = ([row], [-row], weights.map(|weight| [weight / row]));
    let units: [Unit<'_>; 2] = [(&right, row / 2.0, &adds[0]), (&left, -row / 2.0, &adds[1])];
    let mut artifact = Artifact::new(target, 1, bound, &[(1.0, 0.0)], &[1.0]).forward(&units);
    artifact.numbers("read_out.bias")[0] = 0.5;
    artifact.meaning(&[
        "meanings 2",
        "wire input 0",
        "wire curve 0 1 0 1 x 1/2 add abs 2 mul",
        "layers 2",
        "layer 0 1",
        "holds 0 0 1 0 1",
        "layer 1 1",
        "gate 1 0 1 1 1 1 0 0 1 0 1",
        holds,
        "outputs 1",
        "output 0 1 1 1",
    ])
}

#[test]
fn a_gate_takes_away_what_it_reads_but_for_a_number() {
    let holds = "holds 0 -1/2 1 1 1";
    accepted(&taken_by_a_gate([1.0, 3.0], 1.0, holds, SMALL));
    // x is left; half of it; and what is said to be left is not.
    declined(&taken_by_a_gate([2.0, 2.0], 1.0, holds, SMALL));
    declined(&taken_by_a_gate([1.5, 2.5], 1.0, holds, SMALL));
    declined(&taken_by_a_gate([1.0, 3.0], 1.0, "holds 0 -3/4 1 1 1", SMALL));
    declined(&taken_by_a_gate([1.0, 3.0], 1.0, "holds 0 0 1 1 1", SMALL));
    // The number is left to the last digit, and the token as well.
    declined(&taken_by_a_gate([1.0, 3.0 + 1e-6], 1.0, holds, SMALL));
    accepted(&taken_by_a_gate([1.0, 3.0 + 1e-6], 1.0, holds, "1/1000"));
    // Only a register that is read by 1 or -1 is taken away so.
    rejected(&taken_by_a_gate([1.0, 3.0], 2.0, holds, SMALL), "line");
}

#[test]
fn a_number_is_left_by_a_gate_alone() {
    // Units that no gate has leave nothing that a line may say.
    let plain = claimed(cleared(1.0, &[(1.0, -1.0), (-1.0, 1.0)], SMALL), &clearing("1"));
    accepted(&plain);
    let mut lines = clearing("1");
    lines[6] = "holds 0 -1/2 0".to_owned();
    rejected(&claimed(cleared(1.0, &[(1.0, -1.0), (-1.0, 1.0)], SMALL), &lines), "line");
}

#[test]
fn a_sign_is_that_of_what_the_register_holds_now() {
    // x - |x|/2 is not negative where x is; the second layer clears negative numbers only: 7/20 is left of 7/10.
    let halves: [Unit<'_>; 2] = [(&[1.0], 0.0, &[-0.5]), (&[-1.0], 0.0, &[-0.5])];
    let artifact = Artifact::new(on(ZERO, "-1", "1"), 1, SMALL, &[(1.0, 0.0)], &[1.0]);
    declined(&artifact.forward(&halves).forward(&[(&[-1.0], 0.0, &[1.0])]).meaning(&[
        "meanings 2",
        "wire input 0",
        "wire curve 0 1 0 1 x x abs 1/2 mul sub",
        "layers 3",
        "layer 0 1",
        "holds 0 0 1 0 1",
        "layer 1 1",
        "gate 1 0 1 1 1 1 0 0 1 0 1",
        "holds 0 0 1 1 1",
        "layer 0 1",
        "holds 0 0 0",
        "outputs 1",
        "output 0 0",
    ]));
}

/// A head that writes the mean of the first register into the second.
fn averaging() -> Head {
    let none = vec![0.0, 0.0];
    Head { mask: "* * * * no", q: none.clone(), q_bias: 0.0, k: none, v: vec![1.0, 0.0], o: vec![0.0, 1.0] }
}

/// The mean by one head, of which a value is the mean times `value`; `holds` and `output` say what is made of it.
fn mean(target: String, tokens: &str, head: Head, embed: f64, lines: [&str; 3]) -> Artifact {
    let [wire, holds, output] = lines;
    let holds_token = format!("holds 0 0 1 0 {embed}");
    let artifact = Artifact::new(target, 1, "1/1000000", &[(embed, 0.0), (0.0, 0.0)], &[0.0, 1.0 / embed]);
    artifact.with("tokens", tokens).attention(&[head]).meaning(&[
        "meanings 2",
        "wire input 0",
        wire,
        "layers 2",
        "layer 0 1",
        &holds_token,
        "layer 1 1",
        "head 1 0 1 1 1 0 0",
        holds,
        "outputs 1",
        output,
    ])
}

const PLAIN: [&str; 3] = ["wire mean 1 0 1 0 1", "holds 1 0 1 1 1", "output 0 1 1 1"];

#[test]
fn a_mean_is_a_mean() {
    let target = || on(MEAN, "-1", "1");
    accepted(&mean(target(), "1 8", averaging(), 1.0, PLAIN));
    rejected(&mean(on(TOKEN, "-1", "1"), "1 8", averaging(), 1.0, PLAIN), "point");
    declined(&mean(target(), "1 8", Head { v: vec![0.5, 0.0], ..averaging() }, 1.0, PLAIN));
    declined(&mean(target(), "1 8", Head { q: vec![1.0, 0.0], k: vec![1.0, 0.0], ..averaging() }, 1.0, PLAIN));
    rejected(&mean(target(), "1 8", Head { mask: "0 0 * * no", ..averaging() }, 1.0, PLAIN), "line");
}

#[test]
fn a_factor_is_that_of_the_weights() {
    // 99 of the 100 means come from a wire that is the same function, and from no weight.
    let hundred = format!(r#"{{"binary":["mul",{{"number":"100"}},{MEAN}]}}"#);
    let artifact = Artifact::new(on(&hundred, "-1", "1"), 1, "1/1000000", &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]);
    declined(&artifact.with("tokens", "1 8").attention(&[averaging()]).meaning(&[
        "meanings 4",
        "wire input 0",
        "wire mean 1 0 1 0 1",
        "wire curve 0 1 0 1 x",
        "wire teeth 1 0 0 1 1 1 1 2 0 0 1 2 0 0 1 2",
        "layers 2",
        "layer 0 1",
        "holds 0 0 1 0 1",
        "layer 1 1",
        "head 1 0 1 1 1 0 0",
        "holds 1 0 2 1 1 3 99",
        "outputs 1",
        "output 0 1 1 100",
    ]));
}

#[test]
fn products_of_a_mean_may_be_flushed() {
    // Each product of a share of 2^-12 with a value below 2^-114 may be 0, and their sum with them.
    let (large, small) = (power(114), 2.0_f64.powi(-114));
    let head = Head { v: vec![small, 0.0], o: vec![0.0, 1.0 / small], ..averaging() };
    let wire = format!("wire mean 1/{large} 0 1 0 1");
    let lines = [wire, format!("holds 1 0 1 1 {large}"), format!("output 0 1 1 {large}")];
    let artifact = mean(on(MEAN, "-1", "1"), "4096 4096", head, 1.0, [&lines[0], &lines[1], &lines[2]]);
    declined(&artifact.with("bound", "1/100").with("execution", "ieee-any-order f32"));
}

#[test]
fn whatever_is_computed_is_finite() {
    let target = || on(MEAN, "-1", "1");
    // A query that nothing comes of, and the value of another head.
    rejected(
        &mean(target(), "1 8", Head { q: vec![f64::MAX, 0.0], q_bias: f64::MAX, ..averaging() }, 1.0, PLAIN),
        "finite",
    );
    rejected(&mean(target(), "1 8", Head { k: vec![f64::MAX, f64::MAX], ..averaging() }, 4.0, PLAIN), "finite");
    let four = ["wire mean 4 0 1 0 1", "holds 1 0 1 1 1", "output 0 1 1 1/4"];
    let plain = mean(target(), "1 8", averaging(), 4.0, four);
    accepted(&plain);
    // The bias of a unit that nothing reads.
    let unread: Unit<'_> = (&[0.0, 1.0], f64::MAX, &[0.0, 0.0]);
    let (large, name) = (2.0_f64.powi(1000), power(1000));
    let artifact = Artifact::new(on(TOKEN, "-1", "1"), 1, "1/1000000", &[(1.0, 0.0), (large, 0.0)], &[1.0, 0.0]);
    let holds = format!("holds 1 0 1 0 {name}");
    let lines = ["meanings 1", "wire input 0", "layers 2", "layer 0 2", "holds 0 0 1 0 1", &holds, "layer 0 0"];
    rejected(&artifact.forward(&[unread]).meaning(&[&lines[..], &["outputs 1", "output 0 1 0 1"]].concat()), "finite");
    // Inputs that the format does not have.
    let beyond = format!("1{}", "0".repeat(400));
    let artifact = Artifact::new(on(ZERO, "0", &beyond), 1, "1/1000000", &[(0.0, 0.0)], &[0.0]);
    rejected(&artifact.meaning(&["meanings 0", "layers 1", "layer 0 0", "outputs 1", "output 0 0"]), "finite");
}

#[test]
fn parts_of_a_sum_are_finite() {
    // Terms that cancel may overflow before they do: 2^1023 times 5, twice.
    let (huge, name) = (2.0_f64.powi(1023), power(1023));
    let both = |factor: f64| Head { o: vec![0.0, factor], ..averaging() };
    let holds = format!("holds 1 0 2 1 {name} 2 -{name}");
    let artifact = Artifact::new(on(TOKEN, "5", "5001/1000"), 1, "1/1000000", &[(1.0, 0.0), (0.0, 0.0)], &[1.0, 0.0]);
    rejected(
        &artifact.attention(&[both(huge), both(-huge)]).meaning(&[
            "meanings 3",
            "wire input 0",
            "wire mean 1 0 1 0 1",
            "wire mean 1 0 1 0 1",
            "layers 2",
            "layer 0 1",
            "holds 0 0 1 0 1",
            "layer 2 1",
            "head 1 0 1 1 1 0 0",
            "head 2 0 1 2 1 1 0",
            &holds,
            "outputs 1",
            "output 0 1 0 1",
        ]),
        "finite",
    );
    // 80 gates of 2^1018 each before the 80 that take them away.
    let (count, large, name) = (160, 2.0_f64.powi(1018), power(1018));
    let unit = |k: usize| -> (Vec<f64>, Vec<f64>) {
        let (mut reads, mut writes) = (vec![0.0; count + 2], vec![0.0; count + 2]);
        reads[1 + k] = 1.0;
        writes[count + 1] = if k < count / 2 { large } else { -large };
        (reads, writes)
    };
    let rows: Vec<_> = (0..count).map(unit).collect();
    let units: Vec<Unit<'_>> = rows.iter().map(|(reads, writes)| (&reads[..], 0.0, &writes[..])).collect();
    let embed: Vec<(f64, f64)> = (0..count + 2).map(|k| (if k <= count { 1.0 } else { 0.0 }, 0.0)).collect();
    let read_out: Vec<f64> = (0..count + 2).map(|k| if k == 0 { 1.0 } else { 0.0 }).collect();
    let artifact = Artifact::new(on(TOKEN, "1", "1001/1000"), 1, "1/1000000", &embed, &read_out).forward(&units);
    let mut lines = vec![format!("meanings {}", count + 1), "wire input 0".into()];
    lines.extend((0..count).map(|_| "wire curve 0 1 0 1 x".to_owned()));
    lines.extend(["layers 2".into(), format!("layer 0 {}", count + 1)]);
    lines.extend((0..=count).map(|k| format!("holds {k} 0 1 0 1")));
    lines.push(format!("layer {count} 1"));
    lines.extend((0..count).map(|k| format!("gate {0} 0 1 {0} 1 1 {k} 0 1 0 1", k + 1)));
    let terms = (0..count).map(|k| format!(" {} {}{name}", k + 1, if k < count / 2 { "" } else { "-" }));
    lines.push(format!("holds {} 0 {count}{}", count + 1, terms.collect::<String>()));
    lines.extend(["outputs 1".into(), "output 0 1 0 1".into()]);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    rejected(&artifact.meaning(&lines), "finite");
}

#[test]
fn exponents_have_a_limit() {
    // x^(2^36) where the network has x^(2^33): the same only if exponents stop somewhere.
    let each = (0..6).fold(TOKEN.to_owned(), |each, _| format!(r#"{{"power":[{each},64]}}"#));
    let target = on(&each, "8589934591/8589934592", "1");
    let artifact = Artifact::new(target, 1, "1/1000", &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]);
    let unit: Unit<'_> = (&[1.0, 0.0], 0.0, &[0.0, 1.0]);
    declined(&artifact.forward(&[unit]).meaning(&[
        "meanings 2",
        "wire input 0",
        "wire curve 0 1 0 1 x power 64 power 64 power 64 power 64 power 64 power 8",
        "layers 2",
        "layer 0 1",
        "holds 0 0 1 0 1",
        "layer 1 1",
        "gate 1 0 1 1 1 1 0 0 1 0 1",
        "holds 1 0 1 1 1",
        "outputs 1",
        "output 0 1 1 1",
    ]));
}

#[test]
fn a_unit_beside_its_kink_is_not_silent() {
    // 3x - 3x - 2^-60 is below 0; fused, 3x - fl(3x) is above it, and 2^60 times that is a number.
    let embed = [(1.0, 0.0), (1.0, 0.0), (0.0, 0.0)];
    let unit: Unit<'_> = (&[3.0, -3.0, 0.0], -(2.0_f64.powi(-60)), &[0.0, 0.0, 2.0_f64.powi(60)]);
    let artifact = Artifact::new(on(ZERO, "0", "1"), 1, "1/1000000", &embed, &[0.0, 0.0, 1.0]);
    declined(&artifact.forward(&[unit]).meaning(&[
        "meanings 2",
        "wire input 0",
        "wire curve 0 0 0",
        "layers 2",
        "layer 0 2",
        "holds 0 0 1 0 1",
        "holds 1 0 1 0 1",
        "layer 1 1",
        "gate 1 0 1 1 1 1 0 0 0",
        "holds 2 0 1 1 1",
        "outputs 1",
        "output 0 1 1 1",
    ]));
}

#[test]
fn lets_that_use_one_twice_are_read_once() {
    let plain = claimed(cleared(1.0, &[(1.0, -1.0), (-1.0, 1.0)], SMALL), &clearing("1"));
    let mut lets = vec![r#"{"name":"a0","value":"token"}"#.to_owned()];
    lets.extend((1..60).map(|k| {
        let before = format!(r#"{{"bound":"a{}"}}"#, k - 1);
        format!(r#"{{"name":"a{k}","value":{{"binary":["add",{before},{before}]}}}}"#)
    }));
    let nothing = r#"{"binary":["sub",{"bound":"a59"},{"bound":"a59"}]}"#;
    let target =
        plain.target.replace(ZERO, nothing).replace(r#""ast":{"#, &format!(r#""ast":{{"lets":[{}],"#, lets.join(",")));
    accepted(&Artifact { target, ..plain });
}
