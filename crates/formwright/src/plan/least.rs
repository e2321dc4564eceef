//! What a row takes at least, before it is looked at: sizes are formulas, and the error of a coarse grid shows in a few of its cells.
//!
//! A lattice network has a window, or a hidden unit, for each of its ids. How many these are is a formula of the grid, which bounds its parameters from
//! below; and it grows with the grid, so that there is a finest grid that is still smaller than what serves already. If no grid up to that one meets
//! the tolerance, the row cannot win, and how fine a grid it takes need not be known.

use crate::bound::piecewise::{Question, Unserved, exceeds};
use crate::bound::{Norm, lowered, resolution};
use crate::compile::Request;
use crate::compile::lattice::coarsest;
use crate::construct::sumcode::{self, Family, Values};
use crate::construct::yun::Options;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::lower::{Format, Hidden, Lowering};
use crate::network::Precision;
use crate::target::Target;

use super::Way;

/// The most inputs for which formulas are worked out: beyond, numbers are long, and such networks are declined for their size anyway.
const MOST_INPUTS: usize = 4096;

/// What is compared: bytes of floats. Exact numbers have no format; their networks are compared by parameters.
pub(super) fn weight(parameters: &Int, precision: Option<Precision>) -> Int {
    parameters * Int::from(precision.map_or(1, Precision::bytes))
}

/// A lattice row for a request, seen from afar.
pub(super) struct Afar<'a> {
    pub request: &'a Request,
    pub shape: &'a Grid,
    pub target: &'a Target,
    pub norm: &'a Norm,
    pub eps: Option<&'a Rat>,
}

impl Afar<'_> {
    /// What a row weighs at least, on the grid that is fixed, else on the coarsest; 0 if that is not known before it is looked at.
    pub fn least(&self, way: &Way) -> Int {
        self.coarsest(way).map_or(Int::ZERO, |grid| self.least_on(way, &grid))
    }

    /// Whether a row may serve with at most this weight. If not, how many cells a side that leaves room for.
    pub fn may_serve(&self, way: &Way, most: &Int) -> Result<(), u64> {
        let (Some(first), Some(eps), None) = (self.coarsest(way), self.eps, self.request.resolution()) else {
            return Ok(());
        };
        let room = |side: u64| self.shape.with_resolution(side).is_ok_and(|grid| self.least_on(way, &grid) <= *most);
        let mut too_fine = 2 * first.resolution();
        while room(too_fine) {
            too_fine *= 2;
        }
        let Some(finest) = resolution::last(first.resolution(), too_fine, room) else { return Err(first.resolution()) };
        let serves = |side: u64| {
            let Ok(grid) = self.shape.with_resolution(side) else { return false };
            // Where nothing is proved, nothing is met.
            self.misses(way, &grid, eps).is_ok_and(|misses| !misses)
        };
        if (first.resolution()..=finest).any(serves) { Ok(()) } else { Err(finest) }
    }

    /// Whether a row misses the tolerance on a grid, by its cells alone.
    fn misses(&self, way: &Way, grid: &Grid, eps: &Rat) -> crate::error::Result<bool> {
        let lipschitz = self.request.tolerance.lipschitz.as_ref();
        let (positional, unserved) = match way {
            Way::Yun { positional: true, .. } | Way::SumCode { .. } => (true, Unserved::ZERO),
            Way::Yun { format: None, .. } => (false, Unserved::ZERO),
            Way::Yun { format: Some(format), .. } => {
                let options = Options { positional: false, ..self.request.options.clone() };
                (false, lowered::unserved(&Lowering::derive(grid, self.target, &options, *format)?))
            }
            Way::Circuit { .. } | Way::Sumformer { .. } => return Ok(false),
        };
        exceeds(Question { target: self.target, grid, positional, lipschitz }, unserved, self.norm, eps)
    }

    /// Whether a lattice is declined at once: in the supremum norm there are those on integers, where equal tokens are served.
    pub fn is_declined(&self, way: &Way) -> bool {
        let wrong_at_ties = matches!(way, Way::Yun { positional: false, .. });
        *self.norm == Norm::Sup && (wrong_at_ties || !self.target.is_discrete())
    }

    /// The grid that is fixed, or the first that is tried; nothing where the row is no lattice, or is declined at once.
    fn coarsest(&self, way: &Way) -> Option<Grid> {
        if self.is_declined(way) || self.shape.tokens().saturating_mul(self.shape.dims()) > MOST_INPUTS {
            return None;
        }
        match (way, self.request.resolution()) {
            (Way::Circuit { .. } | Way::Sumformer { .. }, _) => None,
            (_, Some(resolution)) => self.shape.with_resolution(resolution).ok(),
            (Way::Yun { positional, .. }, None) => coarsest(self.shape, *positional).ok(),
            (Way::SumCode { .. }, None) => self.shape.with_resolution(2).ok(),
        }
    }

    /// What a row weighs at least on a grid: its value map alone.
    fn least_on(&self, way: &Way, grid: &Grid) -> Int {
        let (dims, outputs) = (grid.dims(), self.target.output_dims());
        match way {
            Way::Yun { positional, format, .. } => {
                let contexts = if *positional { grid.points() } else { grid.contexts() };
                let window = match format {
                    None => 2 * dims + 1 + dims,
                    Some(Format { hidden: Hidden::Literal, .. }) => 4 * (2 * dims + 1) + dims,
                    // In a wide block, at least a unit.
                    Some(_) => 2 * dims + 1,
                };
                let parameters = contexts * Int::from(grid.tokens() * window);
                weight(&parameters, format.map(|format| format.precision))
            }
            Way::SumCode { options, format } => {
                let unit = 2 * least_width(options, dims, outputs) + 1;
                let parameters = ids(options, grid) * Int::from(unit * if steep(options) { 2 } else { 1 });
                weight(&parameters, format.map(|format| format.precision))
            }
            Way::Circuit { .. } | Way::Sumformer { .. } => Int::ZERO,
        }
    }
}

fn steep(options: &sumcode::Options) -> bool {
    options.values == Values::Staircase
}

/// The registers of a sum of codes, at least: inputs, cells, the code, a Sumformer's constant and sum, outputs.
fn least_width(options: &sumcode::Options, dims: usize, outputs: usize) -> usize {
    2 * dims + 1 + if options.family == Family::Sumformer { 2 } else { 0 } + outputs
}

/// The ids of a sum of codes: see `sumcode/nodes.rs`.
fn ids(options: &sumcode::Options, grid: &Grid) -> Int {
    let (n, columns) = (grid.tokens(), grid.columns());
    if options.positional {
        return grid.points() * Int::from(n);
    }
    &columns * (&columns + Int::from(n) - Int::from(2)).choose(n - 1)
}

#[cfg(test)]
mod tests {
    use super::Afar;
    use crate::compile::{Asked, Request};
    use crate::plan::{Candidate, LeftOut, Rows, sized_up, with_tolerance};
    use crate::target::Source;

    fn request(text: &str, asked: &Asked) -> Request {
        let source = Source::expression("t", text).expect("an expression");
        with_tolerance(&asked.request(source).expect("a request"))
    }

    fn asked(tokens: usize, eps: &str, norm: Option<&str>) -> Asked {
        Asked { tokens: Some(tokens), eps: Some(eps.to_owned()), norm: norm.map(str::to_owned), ..Asked::default() }
    }

    fn requests() -> Vec<Request> {
        vec![
            request("x * mean(x)", &asked(2, "1/4", Some("l2"))),
            request("x * mean(x)", &Asked { pack: true, ..asked(2, "1/2", Some("l2")) }),
            request("max(x) - x", &asked(3, "1", Some("l1"))),
            request("sort(x)", &asked(2, "1/2", Some("l1"))),
            request("sum(x) mod 2 on integers 0..2", &asked(3, "1/10", None)),
            request("sort(x) on integers 0..3", &asked(3, "1/10", None)),
            request("max(x)", &Asked { dims: Some(2), ..asked(2, "2", Some("l1")) }),
        ]
    }

    /// Nothing weighs less than what was said of it before it was looked at.
    #[test]
    fn what_a_row_takes_at_least_is_no_more_than_what_it_takes() {
        let mut seen = 0;
        for request in requests() {
            let plan = sized_up(&request, Rows::All, &mut |_| {}).expect("a plan");
            let shape = request.shape().expect("a grid");
            let target = request.source.target(shape.dims()).expect("a target");
            let eps = request.tolerance.eps.as_ref();
            let afar = Afar { request: &request, shape: &shape, target: &target, norm: &plan.norm, eps };
            for row in &plan.candidates {
                let Some((sketch, cells)) = row.outcome.as_ref().ok().and_then(|s| Some((s, s.cells()?))) else {
                    continue;
                };
                let grid = shape.with_resolution(cells.resolution).expect("its grid");
                let weight = super::weight(&sketch.size.parameters, row.way.floats());
                assert!(afar.least(&row.way) <= afar.least_on(&row.way, &grid), "{}", row.name());
                assert!(afar.least_on(&row.way, &grid) <= weight, "{}", row.name());
                if row.serves() {
                    assert_eq!(afar.may_serve(&row.way, &weight), Ok(()), "{}", row.name());
                }
                seen += 1;
            }
        }
        assert!(seen > 50, "{seen} rows");
    }

    /// Whether all rows are looked at or only those that may win, the same one is the first, and what was left out comes behind it.
    #[test]
    fn what_is_left_out_would_not_have_been_taken() {
        let mut left_out = 0;
        for request in requests() {
            let looked_at = |rows| sized_up(&request, rows, &mut |_| {}).expect("a plan");
            let (all, needed) = (looked_at(Rows::All), looked_at(Rows::Needed));
            let first = |plan: &[Candidate]| plan.first().map(|row| (row.name(), row.bytes()));
            assert_eq!(first(&all.candidates), first(&needed.candidates));
            assert!(all.left_out.is_empty());
            left_out += needed.left_out.len();
            // Nothing is both, and nothing is forgotten.
            let mut rows: Vec<String> = needed.candidates.iter().map(Candidate::name).collect();
            rows.extend(needed.left_out.iter().map(LeftOut::name));
            assert_eq!(rows.len(), all.candidates.len(), "{rows:?}");
        }
        assert!(left_out > 30, "{left_out} rows");
    }
}
