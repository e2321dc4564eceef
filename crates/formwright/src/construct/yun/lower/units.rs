//! The residual stream in a smaller unit, so that no finite input overflows.
//!
//! A guarded network answers every finite float, but its embedding multiplies by `c = N/(high - low)`: from `Ω/c` on, `Ω` the largest float, an input was
//! infinite before the clamp saw it. Floats do not mind a power of two, so the whole stream is carried times `s = 2^-k`:
//!
//! ```text
//! embed, b_1, b_2   times s          W_Q, W_K, read-out weights   divided by s          b_Q, W_V, W_O, W_1, W_2, read-out bias   as they are
//! ```
//!
//! Keys and queries, hence scores, are what they were; every other number is `s` times what it was. **Nothing is lost**: multiplying by a power of two commutes with every
//! rounding, fused or not and in any order, as long as nothing leaves the normal range.
//!
//! **At the upper end.** `k` is the least number, 0 or more, with `s (cΩ + |b| + κ) ≤ Ω/2` for every row of the embedding (one product, one bias `b`; all other weights of the row are 0). So `|z| ≤ Ω/2 + …` behind it,
//! the clamp's pre-activations `±z - κ` are finite in any order, one of its two units rests, and `z - R(z-κ)` is one rounded subtraction of two numbers of one sign. Behind the clamp no entry
//! is beyond `2κ` (see `guard.rs`), and `clip.rs` bounds everything else.
//!
//! **At the lower end.** What is flushed is off by the least normal number `ω`, at most. With `s u² ≥ ω`, `u = 2^-μ`:
//!
//! * *embedding*: an input or a product that is flushed moves a coordinate by `(c + 1/s) ω ≤ 2u²` of a cell, and `γ_6` counts a rounding more than there are (no positions);
//! * *up to the guard's head*: the box stands at `[1, N+1)` before the flag takes 1 away, so that every entry is a multiple of `2us` and nothing is flushed;
//! * *softmax*: the share of a key, or its product with a value, may be flushed. It is less then; where losers are absorbed they still are. The bounds on equal columns have `γ_k`, `k ≥ 2n + 7`, for what is
//!   at most `(1+u)^k - 1` in each term, and `k²u²/2` that is left of it is more than the `n + 2` flushes of `u²` in a head;
//! * *windows, clip*: sums of multiples of `g s`, `g ≥ u`; the clip's bound `B` must have `B s u ≥ ω`, so that `z - B`, which is exact, is not flushed.
//!
//! Where these conditions fail, or a weight is not normal, the network is declined: the box is too small, or the values are, for the format.
//!
//! *Loss*: nothing.

use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::lower::to_float;
use crate::network::{Affine, FloatNetwork, Precision};

/// `2^exponent`.
fn two(exponent: usize) -> Rat {
    Rat::from(2).pow(exponent)
}

/// The least `k` with which no finite input overflows on its way to the clamp at `bound`; `clip` is the bound of the last clip.
pub(crate) fn derive(embed: &Affine, bound: &Rat, clip: &Rat, precision: Precision) -> Result<usize> {
    let exact = |x: f64| Rat::from_f64(x).unwrap_or_default();
    let (largest, least) = (exact(precision.largest()), exact(precision.least_normal()));
    let float = |x: &Rat| exact(to_float::nearest(x, precision)).abs();
    let rows = embed.weight.iter().zip(&embed.bias);
    let reach = |(row, bias): (&Vec<Rat>, &Rat)| {
        row.iter().fold(Rat::ZERO, |sum, weight| sum + float(weight)) * &largest + float(bias) + bound
    };
    let reached = rows.map(reach).max().unwrap_or_default();
    // The least power of two that is not below the quotient.
    let quotient = reached * Rat::from(2) / largest;
    let carried = (quotient.ceil().max(Int::ONE) - Int::ONE).bits();
    let scaled = |x: Rat| x / two(carried);
    let digits = two(precision.digits());
    let entries = embed.weight.iter().flatten().chain(&embed.bias).map(float);
    let small = [Rat::ONE / (&digits * &digits), clip / &digits].into_iter().chain(entries);
    if small.filter(|x| !x.is_zero()).all(|x| scaled(x) >= least) {
        return Ok(carried);
    }
    Err(vanishes(carried, precision))
}

/// The error where the lower end of a format is too near.
fn vanishes(exponent: usize, precision: Precision) -> Error {
    Error::declined(format!("a guard in {precision} cannot both answer every finite input and resolve this box"))
        .note(
            "reason",
            format!("the residual stream would be carried times 2^-{exponent}, and its last digits would vanish"),
        )
        .note("try", "another unit for the domain or for the values, ⟨precision=f64⟩, or leave out ⟨domain=all⟩")
}

/// The same network with its stream times `2^-exponent`.
pub(crate) fn carry(network: &mut FloatNetwork, exponent: usize) -> Result<()> {
    if exponent == 0 {
        return Ok(());
    }
    let down = two(exponent).to_f64().recip();
    let up = down.recip();
    let precision = network.precision;
    let mut normal = true;
    let mut scale = |entries: &mut [f64], factor: f64| {
        for entry in entries.iter_mut().filter(|entry| **entry != 0.0) {
            *entry *= factor;
            normal &= entry.abs() >= precision.least_normal() && precision.round(*entry).is_finite();
        }
    };
    scale(&mut network.embed.weight, down);
    scale(&mut network.embed.bias, down);
    network.positions.iter_mut().for_each(|positions| scale(positions, down));
    for run in &mut network.runs {
        if let Some(attention) = &mut run.attention {
            scale(&mut attention.q, up);
            scale(&mut attention.k, up);
        }
        if let Some(layer) = &mut run.feed_forward {
            scale(&mut layer.b1, down);
            scale(&mut layer.b2, down);
        }
    }
    scale(&mut network.read_out.weight, up);
    if !normal {
        return Err(vanishes(exponent, precision));
    }
    for coordinate in &mut network.coordinates {
        let _ = write!(coordinate.meaning, "; all of it times 2^-{exponent}");
    }
    if let Some(clamp) = network.stages.first_mut() {
        let _ = write!(
            clamp.meaning,
            "; the stream holds all numbers times 2^-{exponent}, so that no finite input overflows"
        );
    }
    Ok(())
}
