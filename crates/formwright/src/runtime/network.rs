//! The network of the probe: every operation of the execution model, each where its result is known to the last digit.
//!
//! A token has a value `a`, a value `b`, a score `s` and a key `c`. With `p` digits, `u = 2^-p` and the least normal
//! number `2^m`:
//!
//! ```text
//! embedding   a, b, s, c as they are;  a(1 + 2u);  a + b;  a · 2^(m/2 + 3)
//! heads       of all tokens, and of those up to one's own: scores s_k, values a_k and b_k
//!             of tokens 0 and 1: scores s_t c_k, values a_k and b_k
//! units       p units max(a, 0), added with the weights 2^j, with 2^(p-1), 1, -2^(p-1), and with ones;  max(-a, 0)
//! read-out    each of them;  (a + b) - a;  a · 2^(m/2 + 3) · 2^-(m/2 + 3)
//! ```

use crate::network::attention::AttentionKind;
use crate::network::{
    AttentionRun, Coordinate, FeedForwardRun, FloatAffine, FloatNetwork, FloatStage, Mask, Precision, Run,
};

use super::TOKENS;

/// What a token of an input has.
pub(super) const INPUTS: [&str; 4] = ["a", "b", "s", "c"];

/// The outputs, and what they are.
pub(super) const OUTPUTS: [(&str, &str); 15] = [
    ("product", "a (1 + 2u)"),
    ("sum", "a + b"),
    ("kept", "(a + b) - a, rounded in between"),
    ("small", "a scaled down near the least normal number, and up again"),
    ("all.a", "Σ_k p_k a_k over all tokens, p the softmax of s"),
    ("all.b", "Σ_k p_k b_k over all tokens"),
    ("past.a", "Σ_k p_k a_k over the tokens up to this one"),
    ("past.b", "Σ_k p_k b_k over the tokens up to this one"),
    ("two.a", "p_0 a_0 + p_1 a_1, p the softmax of s c_0, s c_1"),
    ("two.b", "p_0 b_0 + p_1 b_1"),
    ("powers", "Σ_j 2^j max(a, 0) over j < p"),
    ("cancelled", "2^(p-1) max(a, 0) + max(a, 0) - 2^(p-1) max(a, 0)"),
    ("ones", "max(a, 0), p times"),
    ("negative", "max(-a, 0)"),
    ("value", "a"),
];

/// The residual stream.
const REGISTERS: [&str; 17] = [
    "a",
    "b",
    "s",
    "c",
    "product",
    "sum",
    "small",
    "all.a",
    "all.b",
    "past.a",
    "past.b",
    "two.a",
    "two.b",
    "powers",
    "cancelled",
    "ones",
    "negative",
];
const WIDTH: usize = REGISTERS.len();
const A: usize = 0;
const B: usize = 1;
const S: usize = 2;
const C: usize = 3;
const SUM: usize = 5;
const SMALL: usize = 6;
const HEADS: usize = 7;
const UNITS: usize = 13;

/// The exponent of the weight that scales down: of what it makes of 1, and of that once more, the first is far from the
/// least normal number and the second near it.
pub(super) fn scale(precision: Precision) -> i32 {
    let least = match precision {
        Precision::F32 => f32::MIN_EXP - 1,
        Precision::F64 => f64::MIN_EXP - 1,
    };
    least / 2 + 3
}

/// A row with few entries.
fn row(width: usize, entries: &[(usize, f64)]) -> Vec<f64> {
    let mut row = vec![0.0; width];
    for (place, x) in entries {
        row[*place] = *x;
    }
    row
}

/// The probe's network.
pub(super) fn network(precision: Precision) -> FloatNetwork {
    let stage = |name: &str, meaning: &str| FloatStage {
        name: name.to_owned(),
        statement: String::new(),
        meaning: meaning.to_owned(),
    };
    let coordinate = |name: &str| Coordinate { name: name.to_owned(), meaning: String::new() };
    FloatNetwork {
        precision,
        tokens: TOKENS,
        lengths: (TOKENS, TOKENS),
        coordinates: REGISTERS.map(coordinate).to_vec(),
        embed: embedding(precision),
        positions: None,
        stages: vec![stage("heads", "averages"), stage("units", "sums of units")],
        runs: vec![Run { blocks: 1, attention: Some(heads()), feed_forward: Some(units(precision)) }],
        read_out: read_out(precision),
    }
}

fn embedding(precision: Precision) -> FloatAffine {
    let mut weight: Vec<f64> = (0..INPUTS.len()).flat_map(|input| row(INPUTS.len(), &[(input, 1.0)])).collect();
    weight.extend(row(INPUTS.len(), &[(A, 1.0 + 2.0 * precision.unit())]));
    weight.extend(row(INPUTS.len(), &[(A, 1.0), (B, 1.0)]));
    weight.extend(row(INPUTS.len(), &[(A, 2_f64.powi(scale(precision)))]));
    weight.resize(WIDTH * INPUTS.len(), 0.0);
    FloatAffine { inputs: INPUTS.len(), outputs: WIDTH, weight, bias: vec![0.0; WIDTH] }
}

fn heads() -> AttentionRun {
    let first_two = Mask { absolute: (None, Some(1)), ..Mask::ALL };
    let nothing = || vec![0.0; WIDTH];
    let one = |place: usize| row(WIDTH, &[(place, 1.0)]);
    // The heads write to registers of their own, which are empty.
    let write = |head: usize, i: usize| [0, 1].map(|c| if i == HEADS + 2 * head + c { 1.0 } else { 0.0 });
    AttentionRun {
        stage: 0,
        kind: AttentionKind::softmax(),
        heads: 3,
        head_size: 1,
        value_size: 2,
        masks: vec![Mask::ALL, Mask::CAUSAL, first_two],
        connections: Vec::new(),
        q: [nothing(), nothing(), one(S)].concat(),
        q_bias: vec![1.0, 1.0, 0.0],
        k: [one(S), one(S), one(C)].concat(),
        v: [one(A), one(B)].concat().repeat(3),
        o: (0..3).flat_map(|head| (0..WIDTH).flat_map(move |i| write(head, i))).collect(),
    }
}

fn units(precision: Precision) -> FeedForwardRun {
    let (p, hidden) = (precision.digits(), precision.digits() + 1);
    let power = |j: usize| (0..j).fold(1.0, |power, _| 2.0 * power);
    let mut w1 = row(WIDTH, &[(A, 1.0)]).repeat(p);
    w1.extend(row(WIDTH, &[(A, -1.0)]));
    let mut w2 = vec![0.0; UNITS * hidden];
    w2.extend((0..p).map(power).chain([0.0]));
    w2.extend(row(hidden, &[(0, power(p - 1)), (1, 1.0), (2, -power(p - 1))]));
    w2.extend((0..p).map(|_| 1.0).chain([0.0]));
    w2.extend(row(hidden, &[(p, 1.0)]));
    FeedForwardRun { stage: 1, hidden, w1, b1: vec![0.0; hidden], w2, b2: vec![0.0; WIDTH] }
}

fn read_out(precision: Precision) -> FloatAffine {
    let register = |name: &str| REGISTERS.iter().position(|known| *known == name);
    let entries = |name: &str| match (name, register(name)) {
        ("kept", _) => vec![(SUM, 1.0), (A, -1.0)],
        ("small", _) => vec![(SMALL, 2_f64.powi(-scale(precision)))],
        (_, place) => vec![(place.unwrap_or(A), 1.0)],
    };
    let weight = OUTPUTS.iter().flat_map(|(name, _)| row(WIDTH, &entries(name))).collect();
    FloatAffine { inputs: WIDTH, outputs: OUTPUTS.len(), weight, bias: vec![0.0; OUTPUTS.len()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_register_is_read_out_by_its_name_or_is_an_input() {
        let named = |name: &&str| OUTPUTS.iter().any(|(output, _)| output == name);
        assert!(REGISTERS.iter().all(|name| named(name) || INPUTS.contains(name)));
        assert_eq!(OUTPUTS.len(), REGISTERS.len() - INPUTS.len() + 2);
        assert_eq!(
            [REGISTERS[SUM], REGISTERS[SMALL], REGISTERS[HEADS], REGISTERS[UNITS]],
            ["sum", "small", "all.a", "powers"]
        );
    }
}
