//! From exact weights to floats, and what that loses.
//!
//! Most weights of a lowered network are small integers, halves and powers of two: exact. A number that is not is rounded to nearest. Only
//! the *values* need care, because a window computes `z + 4w·R(t+¾) - 4w·R(t+½) = z + w` from terms as large as the id (`b` bits) to leave
//! something as small as the value:
//!
//! ```text
//! w is rounded to a multiple of g,    g = 2^{⌈log2 S⌉ - μ},    S = the largest sum of the positive, or of the negative, terms.
//! ```
//!
//! Every partial sum is then a multiple of `g` and at most `2^μ g`, hence a float: **the windows add up exactly, in any order**, and all
//! that is lost is `g/2`. For one window a block, `S ≤ 3·2^b`, so the loss is at most `2^{b+1-μ}`.
//!
//! The quantiser is exact for the same reason: its steps come by decreasing cell, so that a coordinate is met by the step of its own cell
//! (`z - (z - k) = k`, exactly) and afterwards, an integer, only by steps below, where all terms are integers below `2^μ` as long as
//! `2^m · steps ≤ 2^{μ-2}` for ramps of width `2^-m`. The ramps are as narrow as that allows.

use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::network::{FeedForward, Precision};

/// The nearest number of the format.
pub(crate) fn nearest(x: &Rat, precision: Precision) -> f64 {
    precision.round(x.to_f64())
}

/// A number of the format that is not below `x ≥ 0`, and at most two steps above the nearest one.
pub(crate) fn upward(x: &Rat, precision: Precision) -> f64 {
    let near = nearest(x, precision);
    match Rat::from_f64(near) {
        // One step of the format above the nearest one, or two.
        Some(found) if found < *x => match precision {
            Precision::F32 => precision.round(near * (1.0 + f64::from(f32::EPSILON))),
            Precision::F64 => near.next_up(),
        },
        _ => near,
    }
}

/// The largest magnitude that networks are built for, and the smallest: far enough from the ends of the format for sums and products.
fn magnitudes(precision: Precision) -> (Rat, Rat) {
    let digits = match precision {
        Precision::F32 => 100,
        Precision::F64 => 900,
    };
    let large = Rat::from(2).pow(digits);
    (Rat::ONE / large.clone(), large)
}

/// Declines numbers that a format does not hold with room for sums and products.
pub(crate) fn check_magnitude(what: &str, x: &Rat, precision: Precision) -> Result<()> {
    let (small, large) = magnitudes(precision);
    let x = x.abs();
    if x.is_zero() || (x >= small && x <= large) {
        return Ok(());
    }
    let (low, high) = (small.to_f64(), large.to_f64());
    Err(Error::declined(format!("{what}, about {:.1e}, is out of the reach of {precision}", x.to_f64()))
        .note("reason", format!("sums and products must neither overflow nor vanish: {low:.1e} to {high:.1e}"))
        .note("try", "another unit for the domain or for the values, or ⟨precision=exact⟩"))
}

/// The ramp of the quantiser's steps: the narrowest power of two for which its layers are exact.
pub(crate) fn step_ramp(steps: &Int, precision: Precision) -> Option<Rat> {
    let width = precision.digits().checked_sub(steps.bits() + 2).filter(|m| *m > 0)?;
    Some(Rat::ONE / Rat::from(2).pow(width))
}

/// The ramp of the windows and of the outside-indicator: with ¼, every lattice id is as far from a ramp as a ramp is wide.
pub(crate) fn id_ramp() -> Rat {
    Rat::new(1, 4)
}

/// Rounds the weights `W_2` of windows so that every sum at a lattice id up to `top` is exact.
///
/// `entries` bounds the state's entries, row by row; on the lattice none is negative. Hidden units are multiples of the ramp `¼`. The grid
/// must not be coarser than the integers that the entries are, which is what bits that fit mean.
pub(crate) fn on_grid(layer: &mut FeedForward, top: &Rat, entries: &[Rat], precision: Precision) {
    let four = Rat::from(4);
    // At most this, at a lattice id up to `top`: w1 reads the id, the units open to the right.
    let heights: Vec<Rat> = layer.b1.iter().map(|bias| (top + bias).max(Rat::ZERO)).collect();
    for (row, entry) in layer.w2.iter_mut().zip(entries) {
        let (mut above, mut below) = (entry.clone(), Rat::ZERO);
        for (weight, height) in row.iter().zip(&heights) {
            let term = weight.abs() * height;
            if weight.is_negative() { below += &term } else { above += &term }
        }
        let step = grid_step(sum_bits(&above.max(below)), precision) * &four;
        for weight in row.iter_mut() {
            *weight = to_multiple(weight, &step);
        }
    }
}

/// The binary digits that sums of this size need before they are rounded. What rounding adds to them is far less than 1.
pub(crate) fn sum_bits(largest: &Rat) -> usize {
    (largest + Rat::ONE).ceil().bits()
}

/// `2^{bits - μ}`.
pub(crate) fn grid_step(bits: usize, precision: Precision) -> Rat {
    let (two, digits) = (Rat::from(2), precision.digits());
    if bits >= digits { two.pow(bits - digits) } else { Rat::ONE / two.pow(digits - bits) }
}

/// The nearest multiple, ties away from 0, so that `-x` is treated like `x`.
pub(crate) fn to_multiple(x: &Rat, step: &Rat) -> Rat {
    let count = (x.abs() / step.clone() + Rat::new(1, 2)).floor();
    let rounded = Rat::from(count) * step;
    if x.is_negative() { -rounded } else { rounded }
}
