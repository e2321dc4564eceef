//! The value block of a sum of codes in floats: weights on a grid, so that every sum is exact.
//!
//! A token at an id meets the hinges of one side of the curve, `y = F(t_m) + Σ w_k |t - t_k|`, terms far larger than their sum. If the weights are multiples of `h`, ids
//! being integers, every partial sum is a multiple of `h`; if, besides, the positive terms and the negative terms each add up to at most `2^μ h`,
//! every partial sum is a float: **the block adds up exactly, in any order**, and all that is lost is that the curve misses its values,
//!
//! ```text
//! F(c_k) = F(c_{k-1}) + s ℓ,   s = (A_k - F(c_{k-1})) / ℓ  to the nearest multiple of h:        |F(c_k) - A_k| ≤ h ℓ / 2
//! ```
//!
//! where the curve rises over the last `ℓ` before an id and is flat elsewhere. What is left of a slope is made up at the next id. Rising over the whole gap
//! (`one-block` and `rank`: a ReLU an id) makes slopes small, and with them `h`, but multiplies `h` by the largest gap; rising over `ℓ = 1` (`staircase`: two ReLUs an id)
//! does not. The loss is computed from the weights.

use crate::construct::sumcode::curve::Curve;
use crate::construct::sumcode::nodes::Nodes;
use crate::construct::sumcode::values::knots;
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::Interval;
use crate::lower::to_float::{grid_step, sum_bits, to_multiple};
use crate::network::Precision;

/// A curve whose sums are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gridded {
    /// The curve.
    pub curve: Curve,
    /// How far it is from a value, at most.
    pub loss: Rat,
}

/// How often the grid is made coarser, at most: no format has more digits.
const MOST_TRIES: usize = 64;

/// The curve through the values of all ids, on the finest grid that makes its sums exact.
pub(crate) fn on_grid(nodes: &Nodes, steep: bool, precision: Precision) -> Result<Gridded> {
    gridded(nodes, precision, steep)?.ok_or_else(|| {
        Error::declined(format!("the values of this network do not add up exactly in {precision}"))
            .note("try", "⟨values=layered⟩, a coarser ⟨resolution⟩, or ⟨precision=exact⟩")
    })
}

/// The curve that rises over whole gaps, or `steep`, over the last unit before an id; `None` if no grid makes its sums exact.
fn gridded(nodes: &Nodes, precision: Precision, steep: bool) -> Result<Option<Gridded>> {
    let listed = nodes.listed()?;
    let outputs = nodes.target.output_dims();
    let (knots, rises) = knots(nodes, steep)?;
    let mut slopes = vec![Vec::with_capacity(outputs); knots.len() - 1];
    let mut loss = Rat::ZERO;
    for output in 0..outputs {
        let values = || listed.iter().map(|node| &node.value[output]);
        let Some((column, lost)) = column(&knots, &rises, &nodes.lowest(), values, precision) else { return Ok(None) };
        slopes.iter_mut().zip(column).for_each(|(entries, slope)| entries.push(slope));
        loss = loss.max(lost);
    }
    let curve = Curve { knots, start: vec![Rat::ZERO; outputs], slopes };
    Ok(Some(Gridded { curve, loss }))
}

/// The slopes of one output on the finest grid that makes its sums exact, and its loss.
fn column<'a, V: Iterator<Item = &'a Rat>>(
    knots: &[Int],
    rises: &[usize],
    lowest: &Int,
    values: impl Fn() -> V,
    precision: Precision,
) -> Option<(Vec<Rat>, Rat)> {
    let rounded = |step: Option<&Rat>| {
        let mut slopes = vec![Rat::ZERO; knots.len() - 1];
        let (mut reached, mut loss) = (Rat::ZERO, Rat::ZERO);
        for (value, place) in values().zip(rises) {
            let length = Rat::from(&knots[place + 1] - &knots[*place]);
            let slope = (value - &reached) / length.clone();
            let slope = step.map_or_else(|| slope.clone(), |step| to_multiple(&slope, step));
            reached += &(&slope * &length);
            loss = loss.max((&reached - value).abs());
            slopes[*place] = slope;
        }
        (slopes, loss)
    };
    let (exact, _) = rounded(None);
    let mut step = first_step(knots, lowest, &exact, precision);
    for _ in 0..MOST_TRIES {
        let (slopes, loss) = rounded(Some(&step));
        if is_sum_at_most(knots, lowest, &slopes, &(Rat::from(2).pow(precision.digits()) * &step)) {
            return Some((slopes, loss));
        }
        step = step * Rat::from(2);
    }
    None
}

/// [`grid_step_of`] the largest sum of these slopes.
///
/// The slopes divide by as many gaps as there are ids, and their sum has all of these in its denominator. A step is a power
/// of two, which an enclosure tells nearly always.
fn first_step(knots: &[Int], lowest: &Int, slopes: &[Rat], precision: Precision) -> Rat {
    let near = sum_near(knots, lowest, slopes);
    let step = |end: f64| Rat::from_f64(end).map(|end| grid_step_of(&end, precision));
    match (step(near.lo()), step(near.hi())) {
        (Some(low), Some(high)) if low == high => low,
        _ => grid_step_of(&largest_sum(knots, lowest, slopes), precision),
    }
}

/// True if the largest sum of these slopes is at most this; exactly, where an enclosure leaves it open.
fn is_sum_at_most(knots: &[Int], lowest: &Int, slopes: &[Rat], most: &Rat) -> bool {
    let (near, limit) = (sum_near(knots, lowest, slopes), Interval::from(most));
    if near.hi() <= limit.lo() {
        return true;
    }
    near.lo() <= limit.hi() && largest_sum(knots, lowest, slopes) <= *most
}

/// The least power of two `h` with `largest ≤ 2^μ h`.
fn grid_step_of(largest: &Rat, precision: Precision) -> Rat {
    if *largest >= Rat::ONE {
        return grid_step(sum_bits(largest), precision);
    }
    // Below 1, `sum_bits` does not tell sizes apart.
    let mut step = grid_step(1, precision);
    let half = Rat::new(1, 2);
    while !largest.is_zero() && *largest <= Rat::from(2).pow(precision.digits() - 1) * &step {
        step = step * &half;
    }
    step
}

/// The largest sum of the positive, or of the negative, terms that a token meets: at the lowest id, or at the last.
fn largest_sum(knots: &[Int], lowest: &Int, slopes: &[Rat]) -> Rat {
    let mut sums = [const { Rat::ZERO }; 4];
    terms(knots, lowest, slopes, |sum, factor, distance| sums[sum] += &(factor * &Rat::from(distance)));
    sums.into_iter().fold(Rat::ZERO, Rat::max)
}

/// An enclosure of it.
fn sum_near(knots: &[Int], lowest: &Int, slopes: &[Rat]) -> Interval {
    let mut sums = [Interval::ZERO; 4];
    terms(knots, lowest, slopes, |sum, factor, distance| {
        sums[sum] = sums[sum] + Interval::from(factor) * Interval::from(&Rat::from(distance));
    });
    sums.into_iter().fold(Interval::ZERO, Interval::max)
}

/// Tells each term that a token meets, as two factors, with its sum: those at the lowest id, positive and negative, then those at the last.
fn terms(knots: &[Int], lowest: &Int, slopes: &[Rat], mut tell: impl FnMut(usize, &Rat, Int)) {
    let curve = Curve {
        knots: knots.to_vec(),
        start: vec![Rat::ZERO],
        slopes: slopes.iter().map(|slope| vec![slope.clone()]).collect(),
    };
    let (constant, hinges) = curve.hinges();
    let last = &knots[knots.len() - 1];
    for side in [0, 2] {
        tell(side + usize::from(constant[0].is_negative()), &constant[0].abs(), Int::ONE);
    }
    for hinge in hinges {
        let (side, end) = if hinge.facing < 0 { (0, lowest) } else { (2, last) };
        let sign = usize::from(hinge.weight[0].is_negative());
        tell(side + sign, &hinge.weight[0].abs(), (hinge.knot - end).abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enclosures decide as exact sums do, next to a power of two as well.
    #[test]
    fn enclosures_decide_as_exact_sums_do() {
        for count in [2_i32, 3, 7, 40] {
            let knots: Vec<Int> = (0..count).map(|k| Int::from(k * k + 3 * k)).collect();
            for scale in [Rat::new(1, 3), Rat::new(1, 1 << 20), Rat::from(1024), Rat::new(1 << 30, 7)] {
                let slope = |k: i32| &scale * &Rat::new(if k % 2 == 0 { 1 } else { -2 }, 2 * k + 1);
                let slopes: Vec<Rat> = (0..count - 1).map(slope).collect();
                let largest = largest_sum(&knots, &knots[0], &slopes);
                let near = sum_near(&knots, &knots[0], &slopes);
                assert!(Rat::from_f64(near.lo()).expect("finite") <= largest);
                assert!(largest <= Rat::from_f64(near.hi()).expect("finite"));
                for precision in [Precision::F32, Precision::F64] {
                    let step = first_step(&knots, &knots[0], &slopes, precision);
                    assert_eq!(step, grid_step_of(&largest, precision), "{count} {scale}");
                }
                let tiny = Rat::new(1, Int::from(2).pow(200));
                for (most, expected) in [(&largest + &tiny, true), (largest.clone(), true), (&largest - &tiny, false)] {
                    assert_eq!(is_sum_at_most(&knots, &knots[0], &slopes, &most), expected, "{count} {scale}");
                }
            }
        }
    }
}
