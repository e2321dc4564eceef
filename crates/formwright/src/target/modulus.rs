//! The variation of a target on a box: enclosures of values and slopes, oscillation, Lipschitz constants.
//!
//! All of it comes from interval evaluation, nothing from samples. For two points of a box,
//! `|f(y) - f(x)| ≤ Σ_k mag(G_k)|y_k - x_k|` with the enclosed slopes `G_k`; the width of the enclosed values is a
//! second bound, which also holds where the target jumps. The smaller of the two is taken.
//!
//! A Lipschitz constant is the largest `mag(G_k)` over a subdivision of the domain into `2^m` closed boxes: the segment
//! between two points of the convex domain is cut where it crosses from box to box, and each piece changes `f` by no
//! more than its box allows. The enclosure of a derivative is wider than its range by an amount that shrinks with the
//! box.

use super::evaluate::evaluate;
use super::expr::Domain;
use super::slope::Slope;
use super::typing::Checked;
use crate::error::Result;
use crate::exact::Rat;
use crate::interval::dual::{Dual, Order};
use crate::interval::{Interval, Up};

/// A box of inputs, or of outputs, `[token][coordinate]`.
pub type Cube = Vec<Vec<Interval>>;

impl Checked {
    /// Enclosures of every output entry on a box of inputs.
    pub fn enclose(&self, cube: &Cube) -> Result<Cube> {
        evaluate(self, self.simplified(), cube)
    }

    /// Enclosures of every output entry's values and slopes on a box of inputs; input `t·dims + c` is coordinate `c` of
    /// token `t`.
    pub fn slopes(&self, cube: &Cube, order: Order) -> Result<Vec<Vec<Dual>>> {
        let (dims, inputs) = (self.dims(), cube.len() * self.dims());
        let variable = |t: usize, c: usize| Slope::Varying(Dual::variable(cube[t][c], t * dims + c, inputs, order));
        let x: Vec<Vec<Slope>> = (0..cube.len()).map(|t| (0..dims).map(|c| variable(t, c)).collect()).collect();
        let outputs = evaluate(self, self.simplified(), &x)?;
        Ok(outputs.iter().map(|token| token.iter().map(|entry| entry.dual(inputs, order)).collect()).collect())
    }

    /// The whole domain, as a box.
    pub fn domain_box(&self, tokens: usize) -> Cube {
        let side = match &self.expression().domain {
            Domain::Interval(low, high) => Interval::from(low).hull(Interval::from(high)),
            Domain::Integers(from, to) => {
                Interval::from(&Rat::from(*from)).hull(Interval::from(&(Rat::from(*to) - Rat::ONE)))
            }
        };
        vec![vec![side; self.dims()]; tokens]
    }

    /// Bounds on `|∂f_entry/∂x_input|` over the whole domain, `[entry][input]`, from at most `2^splits` boxes.
    ///
    /// A bound is infinite where no slope is proved: at a jump, or where a root meets 0.
    pub fn lipschitz(&self, tokens: usize, splits: u32) -> Result<Vec<Vec<f64>>> {
        self.largest(tokens, splits, |entry| entry.gradient().iter().map(|g| g.mag()).collect())
    }

    /// For each output entry a bound on `Σ_k |∂f/∂x_k|` and one on `|f|`, over the whole domain, from at most
    /// `2^splits` boxes.
    pub fn rates(&self, tokens: usize, splits: u32) -> Result<Vec<(Up, Up)>> {
        let rate = |entry: &Dual| entry.gradient().iter().map(|g| Up::from(*g)).sum::<Up>();
        let rows = self.largest(tokens, splits, |entry| vec![rate(entry).get(), entry.value().mag()])?;
        Ok(rows.into_iter().map(|row| (row[0].into(), row[1].into())).collect())
    }

    /// For each output entry the largest of the numbers `of` gives over the boxes of a subdivision of the domain.
    fn largest(&self, tokens: usize, splits: u32, of: impl Fn(&Dual) -> Vec<f64>) -> Result<Vec<Vec<f64>>> {
        let mut largest: Vec<Vec<f64>> = Vec::new();
        for cube in subdivide(&self.domain_box(tokens), splits) {
            let rows: Vec<Vec<f64>> = self.slopes(&cube, Order::First)?.iter().flatten().map(&of).collect();
            if largest.is_empty() {
                largest = rows;
                continue;
            }
            for (known, found) in largest.iter_mut().flatten().zip(rows.iter().flatten()) {
                *known = known.max(*found);
            }
        }
        Ok(largest)
    }
}

/// The largest distance of an output entry on the box from its value at a point that is at most `reach[input]` away
/// from all others.
///
/// `centre` encloses the values at that point, `slopes` the values and slopes on the box.
pub fn oscillation(centre: Interval, slopes: &Dual, reach: &[f64]) -> f64 {
    let by_slope = slopes.gradient().iter().zip(reach).fold(Interval::ZERO, |sum, (g, reach)| {
        sum + Interval::point_or_entire(g.mag()) * Interval::point_or_entire(*reach)
    });
    let by_value = (slopes.value() - centre).mag();
    by_slope.hi().min(by_value)
}

/// The box cut in two, `splits` times, each time along its next input.
pub fn subdivide(cube: &Cube, splits: u32) -> Vec<Cube> {
    let dims = cube.first().map_or(0, Vec::len);
    let inputs = cube.len() * dims;
    let mut parts = vec![cube.clone()];
    for k in (0..inputs).cycle().take(if inputs == 0 { 0 } else { splits as usize }) {
        let (t, c) = (k / dims, k % dims);
        parts = parts
            .into_iter()
            .flat_map(|part| {
                let (low, high) = part[t][c].halves();
                let with = |side| {
                    let mut half = part.clone();
                    half[t][c] = side;
                    half
                };
                [with(low), with(high)]
            })
            .collect();
    }
    parts
}
