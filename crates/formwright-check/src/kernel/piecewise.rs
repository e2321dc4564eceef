//! A sum of ReLUs of one number, and a number: `P(s) = Σ_u w_u · height_u(s) + base`, exactly.
//!
//! A unit that faces right has the height `max(s - knot, 0)`, one that faces left `max(knot - s, 0)`. `P` is linear
//! between knots; the sum of the sizes of its units, `H(s) = Σ_u |w_u| · height_u(s)`, is convex.

use super::number::{Dyadic, Range};

/// A unit.
#[derive(Clone, Debug)]
pub struct Unit {
    /// True if it faces right.
    pub right: bool,
    /// The number at which it becomes active.
    pub knot: Dyadic,
    /// The factor of its height.
    pub weight: Dyadic,
    /// The size of its bias.
    pub bias: Dyadic,
}

/// Sums over the units that are active.
#[derive(Clone, Debug)]
struct Sums {
    knot: Dyadic,
    /// `Σ w`, `Σ w · knot`.
    weights: [Dyadic; 2],
    /// `Σ |w|`, `Σ |w| · knot`, `Σ |w| |bias|`.
    sizes: [Dyadic; 3],
    count: usize,
}

/// The units that are active at a number, summed.
#[derive(Clone, Debug)]
pub struct Active {
    /// The number of units.
    pub count: usize,
    /// `Σ |w|`.
    pub weights: Dyadic,
    /// `Σ |w| |bias|`.
    pub biases: Dyadic,
    /// `H`.
    pub heights: Dyadic,
}

/// The function.
#[derive(Clone, Debug)]
pub struct Piecewise {
    right: Vec<Sums>,
    left: Vec<Sums>,
    /// All knots, ascending.
    pub knots: Vec<Dyadic>,
    /// The number that is added.
    pub base: Dyadic,
}

fn summed<'u>(units: impl Iterator<Item = &'u Unit>) -> Vec<Sums> {
    let mut sums: Vec<Sums> = Vec::new();
    for Unit { knot, weight, bias, .. } in units {
        let size = weight.abs();
        let mut next = Sums {
            knot: knot.clone(),
            weights: [weight.clone(), weight * knot],
            sizes: [size.clone(), &size * knot, &size * bias],
            count: 1,
        };
        if let Some(last) = sums.last() {
            next.weights = [&next.weights[0] + &last.weights[0], &next.weights[1] + &last.weights[1]];
            let [a, b, c] = &last.sizes;
            next.sizes = [&next.sizes[0] + a, &next.sizes[1] + b, &next.sizes[2] + c];
            next.count = last.count.saturating_add(1);
        }
        sums.push(next);
    }
    sums
}

impl Piecewise {
    /// The sum of some units.
    pub fn new(units: &[Unit]) -> Self {
        let (mut right, mut left): (Vec<&Unit>, Vec<&Unit>) = units.iter().partition(|unit| unit.right);
        right.sort_by(|a, b| a.knot.cmp(&b.knot));
        left.sort_by(|a, b| b.knot.cmp(&a.knot));
        let mut knots: Vec<Dyadic> = units.iter().map(|unit| unit.knot.clone()).collect();
        knots.sort();
        knots.dedup();
        Self { right: summed(right.into_iter()), left: summed(left.into_iter()), knots, base: Dyadic::ZERO }
    }

    /// The sums over what is active at a number, or just right of it.
    fn sums(&self, s: &Dyadic) -> [Option<&Sums>; 2] {
        let right = self.right.partition_point(|sums| sums.knot <= *s);
        let left = self.left.partition_point(|sums| sums.knot > *s);
        [(&self.right, right), (&self.left, left)].map(|(sums, count)| sums.get(count.checked_sub(1)?))
    }

    /// The slope just right of a number.
    fn slope(&self, s: &Dyadic) -> Dyadic {
        let [right, left] = self.sums(s).map(|sums| sums.map_or(Dyadic::ZERO, |sums| sums.weights[0].clone()));
        &right - &left
    }

    /// The value at a number.
    pub fn value(&self, s: &Dyadic) -> Dyadic {
        let height = |sums: Option<&Sums>| sums.map_or(Dyadic::ZERO, |Sums { weights: [w, k], .. }| &(w * s) - k);
        let [right, left] = self.sums(s).map(height);
        &(&right - &left) + &self.base
    }

    fn active_at(&self, s: &Dyadic) -> Active {
        let [right, left] = self.sums(s);
        let mut active = Active { count: 0, weights: Dyadic::ZERO, biases: Dyadic::ZERO, heights: Dyadic::ZERO };
        for sums in [right, left].into_iter().flatten() {
            let [w, k, b] = &sums.sizes;
            active.count = active.count.saturating_add(sums.count);
            active.weights = &active.weights + w;
            active.biases = &active.biases + b;
            active.heights = &active.heights + &(&(w * s) - k).abs();
        }
        active
    }

    /// Not less than what is active anywhere in an interval. Units that face right are the most at the upper end, those
    /// that face left at the lower one; heights are convex, and largest at an end.
    pub fn active(&self, over: &Range) -> Active {
        let (low, high) = (self.active_at(&over.lo), self.active_at(&over.hi));
        let ([right, _], [_, left]) = (self.sums(&over.hi), self.sums(&over.lo));
        let most = |part: fn(&Sums) -> Dyadic| &right.map_or(Dyadic::ZERO, part) + &left.map_or(Dyadic::ZERO, part);
        let count = right.map_or(0, |sums| sums.count).saturating_add(left.map_or(0, |sums| sums.count));
        let heights = low.heights.max(high.heights);
        Active {
            count,
            weights: most(|sums| sums.sizes[0].clone()),
            biases: most(|sums| sums.sizes[2].clone()),
            heights,
        }
    }

    /// The steepest slope in an interval, in size.
    pub fn steepest(&self, over: &Range) -> Dyadic {
        let from = self.knots.partition_point(|knot| *knot <= over.lo);
        let inside = self.knots.iter().skip(from).take_while(|knot| **knot < over.hi);
        inside.map(|knot| self.slope(knot).abs()).fold(self.slope(&over.lo).abs(), Dyadic::max)
    }

    /// The knots inside an interval.
    pub fn inside(&self, over: &Range) -> Vec<Dyadic> {
        self.knots.iter().filter(|knot| over.lo < **knot && **knot < over.hi).cloned().collect()
    }
}
