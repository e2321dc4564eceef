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
use crate::lower::to_float::{grid_step, sum_bits, to_multiple};
use crate::network::Precision;

/// A curve whose sums are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gridded {
    /// The curve.
    pub curve: Curve,
    /// How far it is from a value, at most.
    pub loss: Rat,
}

/// How often the grid is made coarser, at most: no format has more digits.
const MOST_TRIES: usize = 64;

/// The curve through the values of all ids, on the finest grid that makes its sums exact.
pub fn on_grid(nodes: &Nodes, steep: bool, precision: Precision) -> Result<Gridded> {
    gridded(nodes, precision, steep)?.ok_or_else(|| {
        Error::declined(format!("the values of this network do not add up exactly in {precision}"))
            .note("try", "--values layered, a coarser --resolution, or --precision exact")
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
    let mut step = grid_step_of(&largest_sum(knots, lowest, &exact), precision);
    for _ in 0..MOST_TRIES {
        let (slopes, loss) = rounded(Some(&step));
        if largest_sum(knots, lowest, &slopes) <= Rat::from(2).pow(precision.digits()) * &step {
            return Some((slopes, loss));
        }
        step = step * Rat::from(2);
    }
    None
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
    let curve = Curve {
        knots: knots.to_vec(),
        start: vec![Rat::ZERO],
        slopes: slopes.iter().map(|slope| vec![slope.clone()]).collect(),
    };
    let (constant, hinges) = curve.hinges();
    let last = &knots[knots.len() - 1];
    let mut sums = [[Rat::ZERO, Rat::ZERO], [Rat::ZERO, Rat::ZERO]];
    for side in &mut sums {
        side[usize::from(constant[0].is_negative())] += &constant[0].abs();
    }
    for hinge in hinges {
        let (side, end) = if hinge.facing < 0 { (0, lowest) } else { (1, last) };
        let distance = Rat::from((hinge.knot - end).abs());
        let sign = usize::from(hinge.weight[0].is_negative());
        sums[side][sign] += &(hinge.weight[0].abs() * distance);
    }
    sums.into_iter().flatten().fold(Rat::ZERO, Rat::max)
}
