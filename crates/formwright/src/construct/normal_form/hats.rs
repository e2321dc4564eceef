//! The multi-affine hat interpolant of two tokens.
//!
//! `V = {v_0 < … < v_N}` are equidistant points of the box, `δ` apart, and `φ_v` the hat function that is 1 at `v` and
//! 0 at the other points. For two tokens of one coordinate, with `g(x; y) = f(x, y)_0`,
//!
//! ```text
//! f_δ(X)_i = Σ_{v,w} φ_v(x_i) φ_w(y) g(v; w) = Σ_v φ_v(x_i) h_v(y),   h_v = Σ_w g(v; w) φ_w,   y the other token
//! ```
//!
//! which is `g` at the points of `V²` and affine in each token between them. The other token is `Σ_k x_k - x_i`: one
//! number is enough for the latent space of two tokens, and `φ` is the identity.
//!
//! **Products.** There is one for each `v`, of a hat and a value. Written with steps instead of hats,
//!
//! ```text
//! f_δ(X)_i = h_0(y) + Σ_{k=1}^N s_k(x_i) (h_k - h_{k-1})(y),   s_k(x) = min(1, max(0, (x - v_{k-1})/δ))
//! ```
//!
//! the factors `h_k - h_{k-1}` are as small as `δ` times a slope. The loss of a gate is proportional to its factors, so
//! that all `N` gates together lose no more than a single one that multiplies by the whole of `g`: losses do not add up
//! over `v`.
//!
//! **Error.** On a cell, with `I` the interpolation in one token (`‖I‖ = 1`),
//! `f - I_x I_y f = (f - I_x f) + I_x (f - I_y f)`, hence
//!
//! ```text
//! |f - f_δ| ≤ δ²/8 (sup|∂_xx f| + sup|∂_yy f|)                 where the second derivatives exist
//! |f - f_δ| ≤ δ/2 (sup|∂_x f| + sup|∂_y f|)                    everywhere: Σ_v φ_v(x)|x - v| = 2t(1-t)δ ≤ δ/2
//! ```
//!
//! the smaller of the two, cell by cell, derivatives enclosed; this is at most `ω_f(δ)` up to the width of enclosures.
//! The grid is the coarsest whose error is at most half of the tolerance: the error falls with `δ²` where the target is
//! smooth, so that no other split of the tolerance needs fewer than `N/√2` cells.

use super::psi::coordinate;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::dual::{Dual, Order};
use crate::interval::{Interval, Up};
use crate::target::Checked;
use crate::target::expr::{Aggregate, BinaryOp, Body, Domain, Expr, Expression, Function, Node, Source};
use crate::target::modulus::Cube;
use crate::target::univariate::{affine, binary, expr, number};

/// The most cells per side, which is also the number of products.
pub(crate) const MOST_CELLS: usize = 48;

/// The interpolant of a target.
#[derive(Clone, Debug)]
pub(crate) struct Hats {
    /// Cells per side.
    pub cells: usize,
    /// The box.
    low: Rat,
    high: Rat,
    /// `g(v; w)`, `[output coordinate][v][w]`.
    values: Vec<Vec<Vec<Rat>>>,
    /// A bound on its distance from the target.
    pub distance: f64,
}

impl Hats {
    /// The coarsest interpolant within half of a tolerance.
    pub fn of(target: &Checked, tokens: usize, eps: &Rat) -> Result<Self> {
        let Domain::Interval(low, high) = &target.expression().domain else {
            return Err(Error::declined("hat functions are for intervals, and the domain is one of integers")
                .note("try", "⟨construction=circuit⟩"));
        };
        if (tokens, target.dims()) != (2, 1) {
            return Err(Error::declined("hat functions are for two tokens of one coordinate")
                .note("reason", format!("here the interpolant takes products of {} hats", tokens * target.dims()))
                .note("try", "⟨basis=fit:4⟩, or ⟨tokens=2⟩"));
        }
        if !target.equivariance().is_proved() {
            return Err(Error::declined("equivariance is not shown by the syntax")
                .note("reason", "i, j, sort, filters and gathers other than x[i] may tell tokens apart")
                .note("try", "⟨construction=circuit⟩, or an expression without them"));
        }
        let half = eps / &Rat::from(2);
        let enough = |distance: f64| Rat::from_f64(distance).is_some_and(|distance| distance <= half);
        let mut nearest = f64::INFINITY;
        for cells in 1..=MOST_CELLS {
            let grid = Self { cells, low: low.clone(), high: high.clone(), values: Vec::new(), distance: 0.0 };
            nearest = grid.distance(target)?;
            if enough(nearest) {
                return Self { distance: nearest, ..grid }.filled(target);
            }
        }
        Err(Error::rejected(format!("half of the tolerance {eps} is not reached by {MOST_CELLS} cells a side"))
            .note("distance", format!("with {MOST_CELLS} cells the interpolant is within {nearest:.3e} of the target"))
            .note("try", "a larger ⟨eps⟩, or ⟨construction=circuit⟩"))
    }

    /// The points of the grid.
    fn point(&self, v: usize) -> Rat {
        &self.low + &((&self.high - &self.low) * Rat::new(v, self.cells))
    }

    /// A bound on the distance from the target, cell by cell.
    fn distance(&self, target: &Checked) -> Result<f64> {
        let side = |v: usize| Interval::from(&self.point(v)).hull(Interval::from(&self.point(v + 1)));
        let mut worst = Up::ZERO;
        for v in 0..self.cells {
            for w in 0..self.cells {
                let cell: Cube = vec![vec![side(v)], vec![side(w)]];
                let slopes = target.slopes(&cell, Order::Second)?;
                for entry in slopes.first().into_iter().flatten() {
                    worst = worst.max(on_cell(entry, side(v).width().max(side(w).width()).into()));
                }
            }
        }
        Ok(worst.get())
    }

    /// The interpolant with the target's values at the points; an irrational value is replaced by some number of its
    /// enclosure.
    fn filled(mut self, target: &Checked) -> Result<Self> {
        let outputs = target.output_dims();
        self.values = vec![vec![Vec::new(); self.cells + 1]; outputs];
        let mut stored = 0.0_f64;
        for v in 0..=self.cells {
            for w in 0..=self.cells {
                let x = [vec![self.point(v)], vec![self.point(w)]];
                let first = if target.is_rational() {
                    target.evaluate_exact(&x)?.swap_remove(0)
                } else {
                    let point: Cube = x.iter().map(|token| token.iter().map(Interval::from).collect()).collect();
                    let values = target.enclose(&point)?.swap_remove(0);
                    stored = values.iter().map(|value| value.width()).fold(stored, f64::max);
                    let near = values.iter().map(|value| Rat::from_f64(value.mid()));
                    let near: Option<Vec<Rat>> = near.collect();
                    near.ok_or_else(|| Error::declined("a value of the target is not bounded"))?
                };
                for (values, value) in self.values.iter_mut().zip(first) {
                    values[v].push(value);
                }
            }
        }
        self.distance = (Up::from(self.distance) + Up::from(stored)).get();
        Ok(self)
    }

    #[cfg(test)]
    /// The value at a point, exactly, by the definition with hats.
    pub fn evaluate(&self, x: &Rat, y: &Rat) -> Vec<Rat> {
        let hat = |t: &Rat, v: usize| {
            let away = ((t - &self.point(v)) * Rat::from(self.cells) / (&self.high - &self.low)).abs();
            (Rat::ONE - away).max(Rat::ZERO)
        };
        let points = || 0..=self.cells;
        let value = |values: &Vec<Vec<Rat>>| {
            points()
                .flat_map(|v| points().map(move |w| (v, w)))
                .map(|(v, w)| hat(x, v) * hat(y, w) * &values[v][w])
                .sum()
        };
        self.values.iter().map(value).collect()
    }

    /// `ψ(x, Σ)`, with steps.
    pub fn expression(&self) -> Result<Checked> {
        let other = || {
            let sum = expr(Node::Aggregate(Aggregate::Sum, Box::new(coordinate(0, 1)), None));
            binary(BinaryOp::Sub, sum, coordinate(0, 1))
        };
        // s_k, k = 1, …, N.
        let step = |of: Expr, k: usize| {
            let scale = Rat::from(self.cells) / (&self.high - &self.low);
            let shift = -(&scale * &self.point(k - 1));
            let argument = affine(&scale, of, &shift);
            expr(Node::Call(Function::Clamp, vec![argument, number(Rat::ZERO), number(Rat::ONE)]))
        };
        let piecewise = |values: &[Rat]| {
            let rise = |k: usize| &values[k] - &values[k - 1];
            let steps = (1..=self.cells).filter(|k| !rise(*k).is_zero());
            let steps = steps.map(|k| affine(&rise(k), step(other(), k), &Rat::ZERO)).collect();
            match total(steps) {
                Some(sum) => affine(&Rat::ONE, sum, &values[0]),
                None => number(values[0].clone()),
            }
        };
        let output = |values: &Vec<Vec<Rat>>| {
            let mut terms = vec![piecewise(&values[0])];
            for k in 1..=self.cells {
                let rises: Vec<Rat> = values[k].iter().zip(&values[k - 1]).map(|(a, b)| a - b).collect();
                if rises.iter().any(|rise| !rise.is_zero()) {
                    terms.push(binary(BinaryOp::Mul, step(coordinate(0, 1), k), piecewise(&rises)));
                }
            }
            total(terms).unwrap_or_else(|| number(Rat::ZERO))
        };
        let body = Body::Coordinates(self.values.iter().map(output).collect());
        let domain = Domain::Interval(self.low.clone(), self.high.clone());
        Expression { lets: Vec::new(), body, domain, source: Source::default() }.check(1)
    }
}

/// A sum of minimal depth.
fn total(mut terms: Vec<Expr>) -> Option<Expr> {
    if terms.len() < 2 {
        return terms.pop();
    }
    let right = terms.split_off(terms.len() / 2);
    Some(binary(BinaryOp::Add, total(terms)?, total(right)?))
}

/// The bound on a cell whose sides are at most `delta`.
fn on_cell(entry: &Dual, delta: Up) -> Up {
    let slopes: Up = entry.gradient().iter().map(|slope| Up::from(*slope)).sum();
    let first = slopes * delta / 2.0;
    let inputs = 0..entry.gradient().len();
    let bends = inputs.map(|k| entry.second(k, k).map(Up::from)).try_fold(Up::ZERO, |sum, next| Some(sum + next?));
    let second = bends.map(|bends| bends * delta * delta / 8.0);
    // The oscillation on the cell bounds it as well: an interpolated value is an average of values of the target.
    let all = entry.value().width().into();
    second.unwrap_or(Up::INFINITY).min(first).min(all)
}
