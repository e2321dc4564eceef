//! Lemma 8 and the duplicates of Theorem 2: the distance between a target and its values at cell centres.
//!
//! An exact network, all its steps repaired, equals `f(C_L)` on the cells `S_L` that it serves (all of them with positions; those with distinct columns without)
//! and 0 on the others, so that
//!
//! ```text
//! ‖f - g‖_p^p ≤ Σ_{served L} |S_L| Σ_ij osc_ij(S_L)^p + Σ_{other L} |S_L| Σ_ij sup_{S_L} |f_ij|^p
//! ```
//!
//! with the oscillation against the centre and the supremum from enclosures on the cell (*cell by cell*, up to [`MOST_CELLS`] cells).
//! Beyond, *uniformly*: a Lipschitz constant times half a cell's side (or twice the supremum, if that is less), a bound on `|f|`, and the share `1 - Π_{i<n}(1 - i/D)` of cells
//! with equal columns. Cell by cell is two to four times tighter and needs no continuity.
//!
//! What is proved equivariant has the same sums on a cell as on those with the same columns in another order: one of them stands for all.

use rayon::prelude::*;

use super::norm::Exponent;
use super::{Budget, Method, Norm, Term};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::{Interval, Up};
use crate::lattice::{Grid, has_distinct_columns};
use crate::target::Target;
use crate::target::modulus::Cube;

/// The most cells that are looked at one by one.
pub(crate) const MOST_CELLS: u64 = 1_000_000;

/// Cells that one thread takes at a time; the sum over a chunk does not depend on which thread took it.
const CHUNK: u64 = 512;

/// The most inputs `n·d` that slopes are enclosed in: each of as many output entries has a slope in each of them.
pub(crate) const MOST_INPUTS: usize = 1000;

/// How often the domain is cut in two for a uniform bound: ten times, and less for many inputs, so that boxes times slopes stay below 10^7.
pub(crate) fn splits(inputs: usize) -> u32 {
    (10_000_000 / (inputs * inputs).max(1)).max(1).ilog2().min(10)
}

/// The target, grid and tokens that a bound is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// The function.
    pub target: &'a Target,
    /// The grid.
    pub grid: &'a Grid,
    /// True if cells with equal columns are served.
    pub positional: bool,
    /// A Lipschitz constant that the user states: each output entry changes by at most this times the largest change of an input. With a table it
    /// is the constant of a function whose values at the centres of cells the table holds, and the bound is about that function.
    pub lipschitz: Option<&'a Rat>,
}

impl Question<'_> {
    /// How far a function of which a table holds samples may be from them, in a cell that reaches so far: a table needs no constant for itself, so
    /// whoever states one means the function. Samples may be taken at the doubles next to the centres, which are less than 1.
    fn off_samples(&self, reach: Up) -> Option<Up> {
        let stated = self.lipschitz.filter(|_| self.target.expression().is_none())?;
        Some(Up::from(stated) * (reach + Up::from(f64::EPSILON)))
    }
}

/// The output of a network on cells that it does not serve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unserved {
    /// This number,
    pub value: Interval,
    /// up to this much.
    pub stray: Up,
}

impl Unserved {
    /// An exact network gives 0.
    pub const ZERO: Self = Self { value: Interval::ZERO, stray: Up::ZERO };
}

/// The certified `L^p` distance between the target and the exact network.
pub(crate) fn bound(question: Question<'_>, norm: &Norm) -> Result<Budget> {
    bound_around(question, Unserved::ZERO, norm)
}

/// The same, for a network that gives something else than 0 on the cells that it does not serve.
pub(crate) fn bound_around(question: Question<'_>, unserved: Unserved, norm: &Norm) -> Result<Budget> {
    if question.target.is_discrete() && *norm == Norm::Sup {
        return on_integers(question);
    }
    let Norm::Lp(p) = norm else {
        return Err(Error::declined("a lattice network is certified in L^p, not in the supremum norm")
            .note("reason", "it is 0 on cells with equal columns and, once lowered to floats, far off between cells")
            .note("try", "⟨norm=l2⟩"));
    };
    if question.target.is_discrete() {
        return Err(Error::declined(
            "on an integer domain there is nothing between the cell centres to integrate over",
        )
        .note("reason", "an L^p error is taken over a box; on integers the network is compared point by point")
        .note("try", "leave out ⟨eps⟩ and ⟨norm⟩: the network equals the target at every point that it serves"));
    }
    let inputs = question.grid.tokens() * question.grid.dims();
    if inputs > MOST_INPUTS {
        return Err(Error::declined(format!(
            "a bound over {inputs} inputs would take {inputs} slopes of each of as many outputs"
        ))
        .note("limit", format!("{MOST_INPUTS} inputs (tokens times coordinates)"))
        .note("try", "fewer ⟨tokens⟩ or ⟨dims⟩; or ⟨resolution⟩ without ⟨norm⟩, which claims equality on the grid"));
    }
    let exponent = Exponent::new(p);
    let cells = question.grid.points().to_u64().filter(|cells| *cells <= MOST_CELLS);
    let (method, (served, other)) = match cells {
        Some(cells) => {
            let Question { target, grid, positional, lipschitz } = question;
            let name = format!("{norm} {grid:?} {positional} {unserved:?} {lipschitz:?}");
            (Method::CellWise, target.sums_once(name, || cell_by_cell(question, unserved, &exponent, cells))?)
        }
        None => (Method::Uniform, uniform(question, unserved, &exponent)?),
    };
    let mut terms = vec![Term::new("piecewise constant", exponent.root(served))];
    if !question.positional {
        terms.push(Term::new("duplicates", exponent.root(other)));
    }
    let of = if question.off_samples(Up::ZERO).is_some() {
        "the table holds the values, at the centres of its cells, of the function that is meant, of which "
    } else {
        ""
    };
    let changes = |l| format!("{of}every output entry changes by at most {l} times the largest change of an input");
    let assumptions = question.lipschitz.map(changes);
    Ok(Budget {
        norm: norm.clone(),
        bound: exponent.root(served + other).get(),
        terms,
        method,
        assumptions: assumptions.into_iter().collect(),
    })
}

/// True if the bound of [`bound_around`] is above `eps`, as a few cells show where all have too much: a sum of what is
/// not negative is at least each part of it. Cells are looked at in strides, so that all parts of the box are met
/// early.
pub(crate) fn exceeds(question: Question<'_>, unserved: Unserved, norm: &Norm, eps: &Rat) -> Result<bool> {
    match shown_above(question, unserved, norm, Interval::from(eps).hi(), 1)? {
        Some(exceeds) => Ok(exceeds),
        None => Ok(!bound_around(question, unserved, norm)?.meets(eps)),
    }
}

/// The number of cells of which [`far_above`] looks at one.
const SHARE: u64 = 16;

/// True if the bound is above a number by so much that a sixteenth of the cells shows it. Not to be shown says nothing.
pub(crate) fn far_above(question: Question<'_>, unserved: Unserved, norm: &Norm, number: f64) -> bool {
    shown_above(question, unserved, norm, number, SHARE).is_ok_and(|shown| shown == Some(true))
}

/// Finds out if one cell in `share` is enough to be above a number; `None` where cells are not looked at one by one.
fn shown_above(
    question: Question<'_>,
    unserved: Unserved,
    norm: &Norm,
    number: f64,
    share: u64,
) -> Result<Option<bool>> {
    let inputs = question.grid.tokens() * question.grid.dims();
    let cells = question.grid.points().to_u64().filter(|cells| *cells <= MOST_CELLS && inputs <= MOST_INPUTS);
    let (Norm::Lp(p), Some(cells), false) = (norm, cells, question.target.is_discrete()) else { return Ok(None) };
    let (exponent, cutter) = (Exponent::new(p), Cutter::new(question));
    let allowed = exponent.power(Up::from(number)).get();
    let stride = (cells * 5 / 8 + 1..=cells + 1).find(|stride| gcd(*stride, cells) == 1).unwrap_or(1);
    let mut sum = Interval::ZERO;
    for step in 0..cells.div_ceil(share) {
        let Some((served, other)) = share_of(question, unserved, &exponent, &cutter, step * stride % cells)? else {
            continue;
        };
        if !served.is_finite() || !other.is_finite() {
            return Ok(Some(true));
        }
        sum = sum + Interval::point(served.get()) + Interval::point(other.get());
        if (sum * Interval::point(cutter.volume.get())).lo() > allowed {
            return Ok(Some(true));
        }
    }
    Ok(Some(false))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// On integers every point is the centre of a cell, where the exact network equals the target if it serves the cell.
fn on_integers(question: Question<'_>) -> Result<Budget> {
    if !question.positional {
        return Err(Error::declined("without positions a lattice network is wrong at sequences with equal tokens")
            .note("reason", "Theorem 2 gives one value for all of them")
            .note("try", "⟨positional⟩; or leave out ⟨eps⟩ and ⟨norm⟩: what it serves is right"));
    }
    if !question.target.is_rational() {
        return Err(Error::declined(
            "values that are not rational are not stored exactly, and on integers nothing accounts for it",
        )
        .note("try", "leave out ⟨eps⟩ and ⟨norm⟩"));
    }
    let (norm, method) = (Norm::Sup, Method::CellWise);
    Ok(Budget { norm, bound: 0.0, terms: Vec::new(), method, assumptions: Vec::new() })
}

/// The two sums of the module comment, without their roots.
fn cell_by_cell(question: Question<'_>, unserved: Unserved, exponent: &Exponent, cells: u64) -> Result<(Up, Up)> {
    let cutter = Cutter::new(question);
    let chunks = cells.div_ceil(CHUNK);
    let partial: Vec<Result<(Up, Up)>> = (0..chunks)
        .into_par_iter()
        .map(|chunk| {
            let mut sums = (Up::ZERO, Up::ZERO);
            for rank in chunk * CHUNK..cells.min((chunk + 1) * CHUNK) {
                if let Some((served, other)) = share_of(question, unserved, exponent, &cutter, rank)? {
                    sums = (sums.0 + served, sums.1 + other);
                }
            }
            Ok(sums)
        })
        .collect();
    let mut sums = (Up::ZERO, Up::ZERO);
    for part in partial {
        let (served, other) = part?;
        sums = (sums.0 + served, sums.1 + other);
    }
    Ok((sums.0 * cutter.volume, sums.1 * cutter.volume))
}

/// The share of a cell and of all that it stands for, without the volume; nothing for one for which another stands.
fn share_of(
    question: Question<'_>,
    unserved: Unserved,
    exponent: &Exponent,
    cutter: &Cutter,
    rank: u64,
) -> Result<Option<(Up, Up)>> {
    let point = cutter.point(rank);
    if !cutter.equivariant {
        return one_cell(question, unserved, exponent, cutter, &point).map(Some);
    }
    if !point.is_sorted() {
        return Ok(None);
    }
    let (served, other) = one_cell(question, unserved, exponent, cutter, &point)?;
    let orders = orders(&point);
    Ok(Some((orders * served, orders * other)))
}

/// The number of different orders of sorted columns: at most that of the cells, which a float holds exactly.
fn orders(point: &[Vec<u64>]) -> Up {
    let (mut orders, mut equal) = (1.0, 0.0);
    let mut columns = 0.0;
    for (k, column) in point.iter().enumerate() {
        equal = if k > 0 && point[k - 1] == *column { equal + 1.0 } else { 1.0 };
        columns += 1.0;
        orders = orders * columns / equal;
    }
    Up::from(orders)
}

/// One cell's share.
fn one_cell(
    question: Question<'_>,
    unserved: Unserved,
    exponent: &Exponent,
    cutter: &Cutter,
    point: &[Vec<u64>],
) -> Result<(Up, Up)> {
    let served = question.positional || has_distinct_columns(point);
    let (cube, centre) = (cutter.cube(point), cutter.centre(point));
    let sum = |values: Vec<Up>| values.into_iter().map(|value| exponent.power(value)).sum();
    if served {
        Ok((sum(oscillations(question, cutter, &cube, &centre)?), Up::ZERO))
    } else {
        let far = question.target.suprema(&cube, unserved.value)?;
        let stray = unserved.stray + cutter.off_samples.unwrap_or_default();
        Ok((Up::ZERO, sum(far.into_iter().map(|value| value + stray).collect())))
    }
}

/// The oscillations on a cell: the smaller of the proved and the stated ones, and the stated where nothing is proved.
fn oscillations(question: Question<'_>, cutter: &Cutter, cube: &Cube, centre: &Cube) -> Result<Vec<Up>> {
    let proved = question.target.oscillations(cube, centre, cutter.reach.get());
    let Some(stated) = cutter.stated else { return proved };
    let entries = question.grid.tokens() * question.target.output_dims();
    if let Some(off) = cutter.off_samples {
        // That the table does not change within a cell says nothing of the function.
        return Ok(vec![off; entries]);
    }
    match proved {
        Ok(proved) => Ok(proved.into_iter().map(|value| value.min(stated)).collect()),
        Err(_) => Ok(vec![stated; entries]),
    }
}

/// The same sums from constants that hold on the whole domain.
fn uniform(question: Question<'_>, unserved: Unserved, exponent: &Exponent) -> Result<(Up, Up)> {
    let grid = question.grid;
    let cutter = Cutter::new(question);
    let (n, columns) = (grid.tokens(), grid.columns());
    let span = Interval::from(&(grid.high() - grid.low()));
    let volume = Up::from(span.powi(u32::try_from(n * grid.dims()).unwrap_or(u32::MAX)));
    let stated = question.lipschitz.map(Up::from);
    let rates = match (question.target.rates(n, splits(n * grid.dims())), stated) {
        (Err(_), Some(stated)) if question.positional => {
            vec![(stated, Up::INFINITY); n * question.target.output_dims()]
        }
        (rates, _) => rates?,
    };
    let share = if question.positional {
        Up::ZERO
    } else {
        // Long numbers: with positions there are none.
        let apart = |i: usize| Rat::ONE - Rat::new(Int::from(i), columns.clone());
        let distinct = (1..n).fold(Rat::ONE, |product, i| product * apart(i));
        Up::from(&(Rat::ONE - distinct.max(Rat::ZERO)))
    };
    let (mut served, mut other) = (Up::ZERO, Up::ZERO);
    for (rate, supremum) in rates {
        // Two values differ by at most twice the supremum, also where the target jumps.
        let proved = |rate: Up| (rate * cutter.reach).min(2.0 * supremum);
        let off = cutter.off_samples;
        let oscillation = off.unwrap_or_else(|| proved(stated.map_or(rate, |stated| rate.min(stated))));
        let supremum = supremum + off.unwrap_or_default();
        served += exponent.power(oscillation);
        let far = supremum + unserved.value.into() + unserved.stray;
        other += share * exponent.power(far);
    }
    Ok((served * volume, other * volume))
}

/// The cells of a grid as boxes of floats.
struct Cutter {
    tokens: usize,
    dims: usize,
    cells: u64,
    /// The box side's cells, and their centres; only if they are few enough to be looked at.
    sides: Vec<(Interval, Interval)>,
    /// Half a side, rounded up.
    reach: Up,
    /// A cell's volume, rounded up.
    volume: Up,
    /// The bound on a cell by the stated constant: long numbers are read once, not once a cell.
    stated: Option<Up>,
    /// [`Question::off_samples`] of a cell.
    off_samples: Option<Up>,
    /// True if the order of a cell's columns makes no difference.
    equivariant: bool,
}

impl Cutter {
    fn new(question: Question<'_>) -> Self {
        let grid = question.grid;
        let side = (grid.high() - grid.low()) / Rat::from(grid.resolution());
        let edge = |k: u64| Interval::from(&(grid.low() + &side * Rat::from(k)));
        let middle = |k: u64| Interval::from(&(grid.low() + &side * (Rat::from(k) + Rat::new(1, 2))));
        let reach = Up::from(&(&side / &Rat::from(2)));
        let few = if grid.points() <= Int::from(MOST_CELLS) { grid.resolution() } else { 0 };
        Self {
            tokens: grid.tokens(),
            dims: grid.dims(),
            cells: grid.resolution(),
            sides: (0..few).map(|k| (edge(k).hull(edge(k + 1)), middle(k))).collect(),
            reach,
            volume: Up::from(&side.pow(grid.tokens() * grid.dims())),
            stated: question.lipschitz.map(|stated| Up::from(stated) * reach),
            off_samples: question.off_samples(reach),
            equivariant: question.target.is_equivariant(),
        }
    }

    /// The grid point of a rank in lexicographic order.
    fn point(&self, mut rank: u64) -> Vec<Vec<u64>> {
        let mut point = vec![vec![0; self.dims]; self.tokens];
        for digit in point.iter_mut().rev().flat_map(|column| column.iter_mut().rev()) {
            *digit = rank % self.cells;
            rank /= self.cells;
        }
        point
    }

    fn boxes(&self, point: &[Vec<u64>], pick: impl Fn(&(Interval, Interval)) -> Interval) -> Cube {
        let side = |k: &u64| usize::try_from(*k).ok().and_then(|k| self.sides.get(k)).map_or(Interval::ENTIRE, &pick);
        point.iter().map(|column| column.iter().map(side).collect()).collect()
    }

    fn cube(&self, point: &[Vec<u64>]) -> Cube {
        self.boxes(point, |(side, _)| *side)
    }

    fn centre(&self, point: &[Vec<u64>]) -> Cube {
        self.boxes(point, |(_, middle)| *middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Source;

    /// A few cells say the same as all of them, on either side of the bound and next to it.
    #[test]
    fn a_part_of_the_cells_exceeds_only_what_all_exceed() {
        for (text, tokens, norm) in [("x * mean(x)", 2, "l2"), ("exp(x) - max(x)", 2, "l1"), ("x^2", 3, "lp:3/2")] {
            let norm: Norm = norm.parse().expect("a norm");
            let target = Source::expression("t", text).and_then(|source| source.target(1)).expect("a target");
            for (resolution, positional) in [(2, true), (3, true), (4, false), (7, false)] {
                let grid = Grid::unit(tokens, 1, resolution).expect("a grid");
                let question = Question { target: &target, grid: &grid, positional, lipschitz: None };
                let bound = Rat::from_f64(bound(question, &norm).expect("a bound").bound).expect("finite");
                let exceeds =
                    |share: Rat| exceeds(question, Unserved::ZERO, &norm, &(&bound * &share)).expect("an answer");
                for share in [Rat::new(1, 100), Rat::new(1, 2), Rat::new(999_999, 1_000_000)] {
                    assert!(exceeds(share.clone()), "{text} {resolution}: {share}");
                }
                for share in [Rat::ONE, Rat::new(1_000_001, 1_000_000), Rat::from(100)] {
                    assert!(!exceeds(share.clone()), "{text} {resolution}: {share}");
                }
            }
        }
    }

    /// One cell in each order of its columns is looked at, and stands for as many as there are.
    #[test]
    fn orders_of_columns_stand_for_each_other() {
        // The same function; that the second is equivariant is not shown by its syntax.
        let [known, unknown] = ["(x - mean(x))^2 + max(x)", "(x - mean(x))^2 + max(x) + 0*i"]
            .map(|text| Source::expression("t", text).and_then(|source| source.target(1)).expect("a target"));
        let norm: Norm = "l2".parse().expect("a norm");
        for (tokens, resolution, multisets) in [(2, 5, 15), (3, 4, 20), (4, 3, 15)] {
            let grid = Grid::unit(tokens, 1, resolution).expect("a grid");
            let question = |target| Question { target, grid: &grid, positional: false, lipschitz: None };
            let (cutter, exponent) = (Cutter::new(question(&known)), Exponent::new(&Rat::from(2)));
            let cells = grid.points().to_u64().expect("few cells");
            let looked_at = |rank: &u64| {
                let share = share_of(question(&known), Unserved::ZERO, &exponent, &cutter, *rank);
                share.expect("a share").is_some()
            };
            let looked_at: Vec<u64> = (0..cells).filter(looked_at).collect();
            assert_eq!(looked_at.len(), multisets);
            let stand_for = looked_at.into_iter().map(|rank| orders(&cutter.point(rank)));
            assert_eq!(stand_for.sum::<Up>(), Up::from(&Rat::from(cells)));
            let [one, all] = [&known, &unknown].map(|target| bound(question(target), &norm).expect("a bound").bound);
            // Both are rounded up, at every cell and its entries by some units in the last place.
            let entries = Interval::from(&Rat::from(cells * tokens as u64)).hi();
            assert!((one - all).abs() <= 16.0 * entries * f64::EPSILON * all, "{one} {all}");
        }
    }

    /// The sums of a grid are worked out once for a target, and anew for everything that they depend on.
    #[test]
    fn sums_of_cells_are_worked_out_once() {
        let target = Source::expression("t", "x * mean(x)").and_then(|source| source.target(1)).expect("a target");
        let grid = Grid::unit(2, 1, 8).expect("a grid");
        let norms: [Norm; 2] = ["l1", "l2"].map(|norm| norm.parse().expect("a norm"));
        let mut bounds = Vec::new();
        for norm in &norms {
            for positional in [false, true] {
                let question = Question { target: &target, grid: &grid, positional, lipschitz: None };
                let first = bound(question, norm).expect("a bound").bound;
                assert_eq!(bound(question, norm).expect("a bound").bound.to_bits(), first.to_bits());
                bounds.push(first.to_bits());
            }
        }
        assert_eq!(target.known_sums(), 4);
        bounds.sort_unstable();
        bounds.dedup();
        assert_eq!(bounds.len(), 4);
    }
}
