//! How large an error is, as a function of the value that it is an error of.
//!
//! Rounding is relative, and steep functions are steep only somewhere: what matters is `sup_t s(t)·e(t)` and not `sup s · sup e`. A
//! profile is a step function over the range of a value: `e(t) ≤ errors[k]` for `t` between `edges[k]` and `edges[k+1]`. Cells are
//! uniform, and those at 0 are halved again and again, each octave in four, because that is where relative errors vanish.
//!
//! **Means** (Jensen). If every token's error is at most `e(t_j)`, the error of the mean is at most `mean e(t_j) ≤ ê(mean t_j)`, where `ê` is
//! the least concave function above `e`.

use crate::exact::Rat;
use crate::interval::{Interval, Up};

/// Uniform cells of a range.
const CELLS: usize = 128;

/// How often the cells at 0 are halved.
const HALVINGS: usize = 20;

/// An error as a function of the value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Profile {
    edges: Vec<f64>,
    /// How far an edge may be from where it belongs: those of [`Profile::scaled`] are rounded.
    blur: Up,
    errors: Vec<Up>,
}

/// The edges of the cells of a range.
pub(crate) fn edges(range: Interval) -> Vec<f64> {
    let (lo, hi) = (range.lo(), range.hi());
    if lo >= hi {
        return vec![lo, hi];
    }
    #[expect(clippy::cast_precision_loss, reason = "a few dozen cells")]
    let step = (hi - lo) / CELLS as f64;
    #[expect(clippy::cast_precision_loss, reason = "a few dozen cells")]
    let mut edges: Vec<f64> = (1..CELLS).map(|k| lo + step * k as f64).collect();
    let mut near = step;
    if range.contains(0.0) {
        edges.push(0.0);
        for _ in 0..HALVINGS {
            // An octave in four.
            for share in [1.0, 0.84, 0.71, 0.59] {
                edges.extend([near * share, -near * share]);
            }
            near /= 2.0;
        }
        edges.extend([near, -near]);
    }
    edges.retain(|edge| *edge > lo && *edge < hi);
    edges.extend([lo, hi]);
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    edges
}

impl Profile {
    /// The same error everywhere.
    pub fn constant(range: Interval, error: Up) -> Self {
        Self { edges: vec![range.lo(), range.hi()], blur: Up::ZERO, errors: vec![error] }
    }

    /// From an error for each cell of a range.
    pub fn new(range: Interval, error: impl Fn(Interval) -> Up) -> Self {
        let edges = edges(range);
        let errors = edges.windows(2).map(|cell| error(between(cell[0], cell[1]))).collect();
        Self { edges, blur: Up::ZERO, errors }
    }

    /// From errors of some intervals that cover all values: each cell gets the largest of those that it meets.
    pub fn gathered(range: Interval, pieces: &[(Interval, Up)]) -> Self {
        let edges = edges(range);
        let mut errors = vec![Up::ZERO; edges.len() - 1];
        for (piece, error) in pieces {
            let first = edges.partition_point(|edge| *edge < piece.lo()).saturating_sub(1);
            for (k, worst) in errors.iter_mut().enumerate().skip(first) {
                if edges[k] > piece.hi() {
                    break;
                }
                *worst = worst.max(*error);
            }
        }
        Self { edges, blur: Up::ZERO, errors }
    }

    /// Intervals that cover all values, with their errors.
    pub fn cells(&self) -> impl Iterator<Item = (Interval, Up)> {
        let cells = self.edges.windows(2).map(|cell| between(cell[0], cell[1]).widened(self.blur));
        cells.zip(self.errors.iter().copied())
    }

    /// The largest error.
    pub fn sup(&self) -> Up {
        self.errors.iter().copied().fold(Up::ZERO, Up::max)
    }

    /// The largest error for values of an interval.
    pub fn over(&self, values: Interval) -> Up {
        if let [error] = self.errors[..] {
            return error;
        }
        let values = values.widened(self.blur);
        let first = self.edges.partition_point(|edge| *edge < values.lo()).saturating_sub(1);
        let last = self.edges.partition_point(|edge| *edge <= values.hi()).min(self.errors.len());
        // Outside of the range there is nothing: what is asked about reaches out only by rounding.
        self.errors[first.min(last)..last].iter().copied().reduce(Up::max).unwrap_or_else(|| self.sup())
    }

    /// The profile of `scale · t + shift`.
    pub fn scaled(&self, scale: &Rat, shift: &Rat) -> Self {
        if *scale == Rat::ONE && shift.is_zero() {
            return self.clone();
        }
        let (size, factor, shift) = (Up::from(scale), Interval::from(scale), Interval::from(shift));
        let moved = |edge: &f64| Interval::point_or_entire(*edge) * factor + shift;
        let enclosed: Vec<Interval> = self.edges.iter().map(moved).collect();
        let mut edges: Vec<f64> = enclosed.iter().map(|edge| edge.mid()).collect();
        let rounded = enclosed.iter().map(|edge| Up::from(edge.width())).fold(Up::ZERO, Up::max);
        let mut errors: Vec<Up> = self.errors.iter().map(|error| *error * size).collect();
        if scale.is_negative() {
            edges.reverse();
            errors.reverse();
        }
        Self { edges, blur: size * self.blur + rounded, errors }
    }

    /// The same with something added, cell by cell.
    pub fn plus(&self, more: impl Fn(Interval) -> Up) -> Self {
        let errors = self.cells().map(|(cell, error)| error + more(cell)).collect();
        Self { errors, ..self.clone() }
    }

    /// A concave function above it, hardly more than the least one.
    ///
    /// The upper hull of the corners is found in doubles, and then made what it should be: **any** slopes that fall from left to right belong to a
    /// concave function, and so does what is `lift` higher. `lift` is as much as corners are above it, and 0 but for rounding.
    pub fn concave(&self) -> Self {
        let count = self.edges.len();
        let height = |k: usize| {
            let left = k.checked_sub(1).map_or(Up::ZERO, |cell| self.errors[cell]);
            left.max(self.errors.get(k).copied().unwrap_or(Up::ZERO))
        };
        if !self.sup().is_finite() {
            return Self { errors: vec![Up::INFINITY; count - 1], ..self.clone() };
        }
        let mut slope = f64::MAX;
        let mut at = vec![Interval::point(height(0).get()); count];
        for pair in self.hull(&height).windows(2) {
            let [a, b] = [pair[0], pair[1]];
            let rise = (height(b).get() - height(a).get()) / (self.edges[b] - self.edges[a]);
            slope = if rise.is_finite() { slope.min(rise) } else { slope };
            for k in a + 1..=b {
                let width = Interval::point_or_entire(self.edges[k]) - Interval::point_or_entire(self.edges[a]);
                at[k] = at[a] + Interval::point(slope) * width;
            }
        }
        let lift = (0..count).map(|k| (Interval::point(height(k).get()) - at[k]).relu().hi());
        let lift = lift.map(Up::from).fold(Up::ZERO, Up::max);
        let above = |k: usize| Up::from(at[k].relu()) + lift;
        let errors = (0..count - 1).map(|k| above(k).max(above(k + 1))).collect();
        Self { errors, ..self.clone() }
    }

    /// The corners of the upper hull, from left to right, as doubles have it.
    fn hull(&self, height: &impl Fn(usize) -> Up) -> Vec<usize> {
        let mut hull: Vec<usize> = Vec::new();
        for k in 0..self.edges.len() {
            while let [.., a, b] = hull[..] {
                let rise = |to: usize| height(to).get() - height(a).get();
                if (self.edges[b] - self.edges[a]) * rise(k) < rise(b) * (self.edges[k] - self.edges[a]) {
                    break;
                }
                hull.pop();
            }
            hull.push(k);
        }
        hull
    }
}

/// The numbers between two that are in order.
fn between(lo: f64, hi: f64) -> Interval {
    Interval::new(lo, hi).unwrap_or(Interval::ENTIRE)
}
