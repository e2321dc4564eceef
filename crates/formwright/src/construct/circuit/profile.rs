//! How large an error is, as a function of the value that it is an error of.
//!
//! Rounding is relative, and steep functions are steep only somewhere: what matters is `sup_t s(t)·e(t)` and not `sup s · sup e`. A
//! profile is a step function over the range of a value: `e(t) ≤ errors[k]` for `t` between `edges[k]` and `edges[k+1]`. Cells are
//! uniform, and those at 0 are halved again and again, each octave in four, because that is where relative errors vanish.
//!
//! **Means** (Jensen). If every token's error is at most `e(t_j)`, the error of the mean is at most `mean e(t_j) ≤ ê(mean t_j)`, where `ê` is
//! the least concave function above `e`.

use crate::interval::Interval;

/// Uniform cells of a range.
const CELLS: usize = 128;

/// How often the cells at 0 are halved.
const HALVINGS: usize = 20;

/// An error as a function of the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    edges: Vec<f64>,
    errors: Vec<f64>,
}

/// The edges of the cells of a range.
pub fn edges(range: Interval) -> Vec<f64> {
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
    pub fn constant(range: Interval, error: f64) -> Self {
        Self { edges: vec![range.lo(), range.hi()], errors: vec![error] }
    }

    /// From an error for each cell of a range, given the cell's ends.
    pub fn new(range: Interval, error: impl Fn(f64, f64) -> f64) -> Self {
        let edges = edges(range);
        let errors = edges.windows(2).map(|cell| error(cell[0], cell[1])).collect();
        Self { edges, errors }
    }

    /// From errors of some intervals that cover the range: each cell gets the largest of those that it meets.
    pub fn gathered(range: Interval, pieces: &[(Interval, f64)]) -> Self {
        let edges = edges(range);
        let mut errors = vec![0.0_f64; edges.len() - 1];
        let little = 1e-13 * range.mag();
        for (piece, error) in pieces {
            let (lo, hi) = (piece.lo() - little, piece.hi() + little);
            let first = edges.partition_point(|edge| *edge < lo).saturating_sub(1);
            for (k, worst) in errors.iter_mut().enumerate().skip(first) {
                if edges[k] > hi {
                    break;
                }
                *worst = worst.max(*error);
            }
        }
        Self { edges, errors }
    }

    /// The cells with their errors.
    pub fn cells(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        self.edges.windows(2).zip(&self.errors).map(|(cell, error)| (cell[0], cell[1], *error))
    }

    /// The largest error.
    pub fn sup(&self) -> f64 {
        self.errors.iter().fold(0.0, |a, b| a.max(*b))
    }

    /// A little more on both sides: edges are rounded.
    fn widened(&self, lo: f64, hi: f64) -> (f64, f64) {
        let ends = (self.edges.first().copied().unwrap_or(0.0), self.edges.last().copied().unwrap_or(0.0));
        let little = 1e-13 * ends.0.abs().max(ends.1.abs());
        (lo - little, hi + little)
    }

    /// The largest error for values between `lo` and `hi`.
    pub fn over(&self, lo: f64, hi: f64) -> f64 {
        let (lo, hi) = self.widened(lo, hi);
        let first = self.edges.partition_point(|edge| *edge < lo).saturating_sub(1);
        let last = self.edges.partition_point(|edge| *edge <= hi).min(self.errors.len());
        // Outside of the range there is nothing: what is asked about reaches out only by rounding.
        self.errors[first.min(last)..last].iter().copied().reduce(f64::max).unwrap_or_else(|| self.sup())
    }

    /// The profile of `scale · t + shift`.
    pub fn scaled(&self, scale: f64, shift: f64) -> Self {
        let mut edges: Vec<f64> = self.edges.iter().map(|edge| edge * scale + shift).collect();
        let mut errors: Vec<f64> = self.errors.iter().map(|error| error * scale.abs()).collect();
        if scale < 0.0 {
            edges.reverse();
            errors.reverse();
        }
        Self { edges, errors }
    }

    /// The same with something added, cell by cell.
    pub fn plus(&self, more: impl Fn(f64, f64) -> f64) -> Self {
        let errors = self.cells().map(|(lo, hi, error)| error + more(lo, hi)).collect();
        Self { edges: self.edges.clone(), errors }
    }

    /// The least concave function above it.
    pub fn concave(&self) -> Self {
        let count = self.edges.len();
        let height = |k: usize| {
            let left = k.checked_sub(1).map_or(0.0, |cell| self.errors[cell]);
            left.max(self.errors.get(k).copied().unwrap_or(0.0))
        };
        // The upper hull of the corners, from left to right.
        let mut hull: Vec<usize> = Vec::new();
        for k in 0..count {
            while let [.., a, b] = hull[..] {
                let cross = (self.edges[b] - self.edges[a]) * (height(k) - height(a))
                    - (height(b) - height(a)) * (self.edges[k] - self.edges[a]);
                if cross < 0.0 {
                    break;
                }
                hull.pop();
            }
            hull.push(k);
        }
        let mut at = vec![0.0_f64; count];
        for pair in hull.windows(2) {
            let [a, b] = [pair[0], pair[1]];
            let width = self.edges[b] - self.edges[a];
            for (k, at) in at.iter_mut().enumerate().take(b + 1).skip(a) {
                let share = if width > 0.0 { (self.edges[k] - self.edges[a]) / width } else { 0.0 };
                *at = at.max(height(a) * (1.0 - share) + height(b) * share).max(height(k));
            }
        }
        let errors = (0..count - 1).map(|k| at[k].max(at[k + 1])).collect();
        Self { edges: self.edges.clone(), errors }
    }
}
