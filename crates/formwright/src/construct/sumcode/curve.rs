//! A piecewise linear function of an id as one block of ReLUs.
//!
//! Through its knots `t_0 < … < t_K` with slopes `s_0, …, s_{K-1}` between them, constant outside. The hinges face
//! *outward* from the middle knot `t_m`,
//!
//! ```text
//! F(t) = F(t_m) + s_m R(t-t_m) + Σ_{k>m} (s_k - s_{k-1}) R(t-t_k)
//!               - s_{m-1} R(t_m-t) + Σ_{k<m} (s_k - s_{k-1}) R(t_k-t),      s_{-1} = s_K = 0
//! ```
//!
//! so that a token meets the hinges of one side only, and none is farther away than necessary: the rounded terms are
//! smaller.
//!
//! *Size*: `K + 2` ReLUs.

use crate::exact::{Int, Rat};
use crate::network::{Activation, FeedForward};

/// The function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Curve {
    /// The points where its slope changes, increasing; at least two knots.
    pub knots: Vec<Int>,
    /// Its value at the first knot and below, an entry for each output.
    pub start: Vec<Rat>,
    /// The slopes between the knots, `[knot][output]`.
    pub slopes: Vec<Vec<Rat>>,
}

/// A hinge: `weight · R(facing · (t - knot))`.
pub(crate) struct Hinge<'a> {
    /// The point where it opens.
    pub knot: &'a Int,
    /// 1 to the right, -1 to the left.
    pub facing: i32,
    /// Its weight in each output.
    pub weight: Vec<Rat>,
}

impl Curve {
    /// The middle knot.
    fn middle(&self) -> usize {
        self.knots.len() / 2
    }

    /// The value at every knot.
    pub fn values(&self) -> Vec<Vec<Rat>> {
        let mut value = self.start.clone();
        let mut values = vec![value.clone()];
        for (pair, slope) in self.knots.windows(2).zip(&self.slopes) {
            let length = Rat::from(&pair[1] - &pair[0]);
            value.iter_mut().zip(slope).for_each(|(value, slope)| *value += &(slope * &length));
            values.push(value.clone());
        }
        values
    }

    /// The constant, and the hinges.
    pub fn hinges(&self) -> (Vec<Rat>, Vec<Hinge<'_>>) {
        let (middle, last) = (self.middle(), self.knots.len() - 1);
        let flat = vec![Rat::ZERO; self.start.len()];
        let before = |k: usize| if k == 0 { &flat } else { &self.slopes[k - 1] };
        let behind = |k: usize| if k == last { &flat } else { &self.slopes[k] };
        let change = |k: usize| behind(k).iter().zip(before(k)).map(|(behind, before)| behind - before).collect();
        let left = (0..middle).map(|k| Hinge { knot: &self.knots[k], facing: -1, weight: change(k) });
        let here = [
            Hinge {
                knot: &self.knots[middle],
                facing: -1,
                weight: before(middle).iter().map(|slope| -slope).collect(),
            },
            Hinge { knot: &self.knots[middle], facing: 1, weight: behind(middle).clone() },
        ];
        let right = (middle + 1..=last).map(|k| Hinge { knot: &self.knots[k], facing: 1, weight: change(k) });
        (self.values().swap_remove(middle), left.chain(here).chain(right).collect())
    }

    /// The block that adds the function of `readᵀZ` to the registers from `to` on.
    pub fn layer(&self, read: &[Rat], to: usize) -> FeedForward {
        let (constant, hinges) = self.hinges();
        let width = read.len();
        let mut layer = FeedForward {
            w1: Vec::with_capacity(hinges.len()),
            b1: Vec::with_capacity(hinges.len()),
            activations: vec![Activation::Relu; hinges.len()],
            w2: vec![vec![Rat::ZERO; hinges.len()]; width],
            b2: vec![Rat::ZERO; width],
        };
        for (unit, Hinge { knot, facing, weight }) in hinges.into_iter().enumerate() {
            let facing = Rat::from(facing);
            layer.w1.push(read.iter().map(|entry| entry * &facing).collect());
            layer.b1.push(-(Rat::from(knot) * facing));
            for (output, weight) in weight.into_iter().enumerate() {
                layer.w2[to + output][unit] = weight;
            }
        }
        layer.b2[to..to + constant.len()].clone_from_slice(&constant);
        layer
    }
}
