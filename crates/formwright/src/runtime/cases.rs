//! The inputs of the probe. What an answer that is not allowed tells of a runtime stands with each.
//!
//! Random numbers are drawn with all `p` digits, from a fixed seed; all else follows from the format: `u`, the range of
//! exponents, and the depth at which an exponential ceases to be normal.

use crate::network::Precision;
use crate::random::uniform;

use super::TOKENS;
use super::network::scale;

/// An input, and what it is for.
#[derive(Debug)]
pub(super) struct Case {
    pub name: &'static str,
    /// What a runtime does whose answers are not allowed.
    pub finds: &'static str,
    /// `[token][a, b, s, c]`.
    pub x: Vec<Vec<f64>>,
}

/// The largest score of the large ones, and the distance of hidden ones.
const FAR: f64 = 131_072.0;

/// Draws numbers of a format.
struct Draw {
    precision: Precision,
    state: u64,
}

impl Draw {
    /// A number from 1 to 2, with all digits: its last one is 1.
    fn digits(&mut self) -> f64 {
        let (unit, x) = (self.precision.unit(), uniform(&mut self.state));
        // Multiples of 4u, and 2u more.
        1.0 + (x / (4.0 * unit)).floor() * 4.0 * unit + 2.0 * unit
    }

    /// A number from 0 to 1.
    fn part(&mut self) -> f64 {
        uniform(&mut self.state)
    }
}

/// The tokens' position as a number.
fn at(t: usize) -> f64 {
    f64::from(u8::try_from(t).unwrap_or(u8::MAX))
}

/// An input, token by token.
fn each(token: impl FnMut(usize) -> [f64; 4]) -> Vec<Vec<f64>> {
    (0..TOKENS).map(token).map(Vec::from).collect()
}

/// The inputs of a format.
pub(super) fn cases(precision: Precision) -> Vec<Case> {
    let mut draw = Draw { precision, state: 1 };
    let mut cases = vec![
        digits(&mut draw),
        Case {
            name: "whole numbers",
            finds: "sums with fewer digits than the format, or a max(x, 0) that is something else",
            x: each(|t| [at(t) - 5.0, at(t * 37 % 64), 0.0, 0.0]),
        },
        ties(precision),
        large(precision),
    ];
    cases.extend(small(precision, &mut draw));
    cases.extend((0..4).map(|_| equal(draw.digits())));
    cases.extend((0..6).map(|_| exponentials(&mut draw)));
    cases.extend(scores(&mut draw));
    cases
}

fn digits(draw: &mut Draw) -> Case {
    let x = each(|t| {
        let sign = if t % 2 == 0 { 1.0 } else { -1.0 };
        [sign * draw.digits(), draw.digits() * 2_f64.powi(-i32::from(t % 8 == 0) * 3), 0.0, 0.0]
    });
    Case { name: "all digits", finds: "products, sums or weights with fewer digits (TF32, bfloat16, 16 or 8 bits)", x }
}

/// `a + b` half way between two numbers, and near it.
fn ties(precision: Precision) -> Case {
    let u = precision.unit();
    let ends = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0].map(|k| k * u);
    let x = each(|t| {
        let a = 1.0 + if t / 16 == 0 { 0.0 } else { 2.0 * u };
        let b = ends[t % 8];
        [a, if t / 8 % 2 == 0 { b } else { -b }, 0.0, 0.0]
    });
    Case { name: "half way", finds: "sums that are not rounded to nearest, ties to even, or not rounded at all", x }
}

/// As large as sums of `p` bits may be.
fn large(precision: Precision) -> Case {
    let (digits, exponents) = match precision {
        Precision::F32 => (f32::MANTISSA_DIGITS, f32::MAX_EXP),
        Precision::F64 => (f64::MANTISSA_DIGITS, f64::MAX_EXP),
    };
    let top = 2_f64.powi(exponents - digits.cast_signed() - 3);
    let x = each(|t| [top * (at(t) + 1.0) / at(TOKENS), -top, 0.0, 0.0]);
    Case { name: "large numbers", finds: "a format of fewer exponents (16 bits)", x }
}

/// Near the least normal number, and below it.
fn small(precision: Precision, draw: &mut Draw) -> [Case; 2] {
    let near = 2_f64.powi(scale(precision));
    let above = each(|_| [near * draw.digits(), 0.0, 0.0, 0.0]);
    // Scaled down they are below the normal range, kept or flushed.
    let below = each(|_| [near * 2_f64.powi(-8) * draw.digits(), 0.0, 0.0, 0.0]);
    let finds = "normal numbers that are flushed to 0, or have lost digits";
    [Case { name: "small numbers", finds, x: above }, Case { name: "below the normal range", finds, x: below }]
}

/// Equal scores, and one value besides zeros: the weight `1/n`, to the last digit, and its product with `b`.
fn equal(b: f64) -> Case {
    let x = each(|t| if t == 0 { [1.0, b, -1000.0, 0.0] } else { [0.0, 0.0, -1000.0, 0.0] });
    let finds = "another division, exp(0) ≠ 1, a softmax without the largest score, or one that divides after the sum";
    Case { name: "equal scores", finds, x }
}

/// Two keys, and a number of scores between 0 and where an exponential is no normal number.
fn exponentials(draw: &mut Draw) -> Case {
    let depth = -draw.precision.least_normal().ln();
    let precision = draw.precision;
    let values = [[0.0, 0.0, 0.0], [1.0, draw.digits(), 1.0]];
    let x = each(|t| {
        let score = -precision.round(depth * draw.part());
        let [a, b, c] = values.get(t).copied().unwrap_or_default();
        [a, b, score, c]
    });
    Case { name: "exponentials", finds: "an exp that is farther off than the model allows", x }
}

/// Scores that are large, far apart, or hidden.
fn scores(draw: &mut Draw) -> [Case; 3] {
    let values = [[0.0, 0.0, 512.0], [1.0, 1.5, 513.0]];
    let shifted = each(|t| {
        let [a, b, c] = values.get(t).copied().unwrap_or_default();
        [a, b, (at(t) - 16.0) / 4.0, c]
    });
    let growing = each(|t| [draw.digits(), 1.0, FAR * at(t), 0.0]);
    let falling = each(|t| [draw.digits(), 1.0, -FAR * at(t), 0.0]);
    [
        Case {
            name: "large scores",
            finds: "exponentials of scores that are rounded before the largest is taken off",
            x: shifted,
        },
        Case {
            name: "growing scores",
            finds: "a softmax without the largest score, or a hidden key that is only moved down",
            x: growing,
        },
        Case { name: "falling scores", finds: "a softmax without the largest score", x: falling },
    ]
}
