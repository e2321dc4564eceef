//! A median in floats.
//!
//! *Copies.* A sum of codes whose quantiser has ramps as wide as the margins allow,
//!
//! ```text
//! ε = the largest power of two with ε + s ≤ 1/2K,     s what rounding moves a coordinate by, in cells
//! ```
//!
//! Where a cell serves, a coordinate is at least `1/2K` of a side from its walls, less `s`: on no ramp, and the copy is exact
//! but for the rounding of its values. Elsewhere its output is bounded, `height`, since a curve is between its values. All
//! numbers being finite, what copies do not read of each other adds exact zeros.
//!
//! *Clamp*, twice: `z - R(z - high) + R(low - z)`. The range holds every number that a copy gives where it is not spoiled:
//! there both units rest, and nothing is lost. A spoiled output `z`, for `|z| + max(|low|, |high|) ≤ t`, is at most
//! `max(|low|, |high|) + c(t)` in size behind it,
//!
//! ```text
//! c(t) = γ_1 t + γ_1 (t + γ_1 t + η) + 2η             η: what flushing takes from the numbers of a layer
//! ```
//!
//! where `t` stands for the sizes of both differences.
//!
//! *Comparators.* Of numbers up to `C` in size the difference is within `d = 2C γ_1 + η`, and either result within
//! `τ = d + γ_1 (C + d) + η`. The smaller and the larger of two numbers move by no more than the numbers do, so that the
//! median is off by the sum of the `τ` over the rounds, whatever the spoiled ones are.

use std::sync::Arc;

use super::shifts::Shifts;
use super::{beside, clamp, compare, network, parts};
use crate::construct::sumcode::lower::{SumCodeLowering, assembled, check_fit, fitting};
use crate::construct::sumcode::{Options, Parts};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Up;
use crate::lower::{MOST_LAYERS, embedding_shift, to_float};
use crate::network::{FloatNetwork, FloatStage, Generator, Layer, Network, Precision};
use crate::target::Target;

/// The losses against the target's values in the cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Losses {
    /// The loss of values, as they are stored.
    pub values: Up,
    /// The loss of clamp and comparators.
    pub comparators: Up,
}

/// Everything that the float network is made from, derived and not chosen.
#[derive(Clone, Debug)]
pub(crate) struct MedianLowering {
    /// The format.
    pub precision: Precision,
    /// The copies.
    pub copies: Vec<SumCodeLowering>,
    /// The range of the clamp, in numbers of the format.
    pub range: (Rat, Rat),
    /// The losses.
    pub losses: Losses,
}

impl MedianLowering {
    /// The numbers of a float network, and its losses.
    pub fn derive(shifts: &Shifts, target: &Arc<Target>, options: &Options, precision: Precision) -> Result<Self> {
        let codes = fitting(&shifts.grid(0)?, target, options, precision)?.nodes.codes.clone();
        let copy = |parts: Parts| {
            let quantiser = check_fit(&parts, precision)?;
            let grid = &parts.nodes.grid;
            let shift = Rat::from_f64(embedding_shift(grid, &grid.resolution().into(), precision).hi());
            let gentle = quantiser.gentle(&(shifts.margin() - shift.unwrap_or(Rat::ONE)));
            let quantiser = gentle.ok_or_else(|| too_fine(shifts, precision))?;
            SumCodeLowering::of(parts, quantiser, precision)
        };
        let copies = parts(shifts, target, options, true, &codes)?.into_iter().map(copy).collect::<Result<Vec<_>>>()?;
        let largest =
            |of: fn(&SumCodeLowering) -> f64| copies.iter().map(|copy| Up::from(of(copy))).fold(Up::ZERO, Up::max);
        let (values, height) = (largest(|copy| copy.losses.rounding), largest(|copy| copy.losses.height));
        let (low, high) = target.range_near(shifts.whole.tokens())?;
        let stored = Rat::from_f64(values.get()).unwrap_or_default();
        let range = (-outward(&(&stored - low), precision), outward(&(high + &stored), precision));
        let rounds = compare::rounds(copies.len()).len();
        let comparators = comparators(&range, height, rounds, precision);
        Ok(Self { precision, copies, range, losses: Losses { values, comparators } })
    }

    /// The parts of the copies.
    fn parts(&self) -> Vec<Parts> {
        self.copies.iter().map(|copy| copy.parts.clone()).collect()
    }

    /// The blocks behind the copies, and the registers that hold the outputs of each copy before them.
    pub fn outputs(&self) -> (u64, Vec<Vec<usize>>) {
        let (parts, clamps) = (self.parts(), 2);
        let wires = super::wires(&parts);
        let of = |copy: usize| wires.iter().map(|wire| wire[copy]).collect();
        ((clamps + compare::rounds(parts.len()).len()) as u64, (0..parts.len()).map(of).collect())
    }

    /// The exact network that it was made from.
    pub fn exact(&self) -> Network {
        network(&self.parts(), (&self.range.0, &self.range.1))
    }

    /// The float network.
    pub fn lower(&self, exact: &Network) -> Result<FloatNetwork> {
        let parts = self.parts();
        let copies = self.copies.iter().map(SumCodeLowering::stages).collect::<Result<Vec<_>>>()?;
        let layers: usize = copies.first().map_or(0, |stages| stages.iter().map(|(_, layers)| layers.len()).sum());
        if layers as u64 > MOST_LAYERS {
            return Err(Error::declined(format!("the network has {layers} layers, too many to write down"))
                .note("limit", MOST_LAYERS.to_string())
                .note("try", "⟨values=one-block⟩, or a coarser ⟨resolution⟩"));
        }
        let mut stages = side_by_side(copies);
        let stage = |name: &str, meaning: String| FloatStage {
            name: name.to_owned(),
            statement: super::MEDIAN.name.to_owned(),
            meaning,
        };
        let (clamp, compare) = (clamp(&parts, &self.range.0, &self.range.1), compare(&parts));
        let clamped = Layer::FeedForward(clamp.layer());
        stages.push((stage("clamp", clamp.meaning()), vec![clamped.clone(), clamped]));
        stages.push((stage("median", compare.meaning()), compare.layers().collect::<Result<_>>()?));
        let attention = parts.first().map(|parts| parts.options.attention).unwrap_or_default();
        assembled(stages, exact, self.precision, &attention)
    }
}

/// The stages of all copies, layer by layer as one.
fn side_by_side(copies: Vec<Vec<(FloatStage, Vec<Layer>)>>) -> Vec<(FloatStage, Vec<Layer>)> {
    let count = copies.len();
    let mut copies: Vec<_> = copies.into_iter().map(Vec::into_iter).collect();
    std::iter::from_fn(|| {
        let of_all: Vec<(FloatStage, Vec<Layer>)> = copies.iter_mut().map(Iterator::next).collect::<Option<_>>()?;
        let (mut stages, layers): (Vec<FloatStage>, Vec<Vec<Layer>>) = of_all.into_iter().unzip();
        let stage = stages.swap_remove(0);
        let stage = FloatStage { meaning: beside::meaning(&stage.meaning, count), ..stage };
        let mut layers: Vec<_> = layers.into_iter().map(Vec::into_iter).collect();
        let whole = std::iter::from_fn(|| {
            let of_all: Option<Vec<Layer>> = layers.iter_mut().map(Iterator::next).collect();
            of_all.map(beside::together)
        });
        Some((stage, whole.collect()))
    })
    .collect()
}

/// Products and sums of a register and of the unit that changes it, each of which may be flushed.
const FLUSHED: usize = 8;

/// A number of the format that is not below `x`.
fn outward(x: &Rat, precision: Precision) -> Rat {
    let near = to_float::nearest(x, precision);
    let above = if Rat::from_f64(near).is_some_and(|found| found < *x) { precision.next_up(near) } else { near };
    Rat::from_f64(above).unwrap_or_default()
}

/// The loss of clamp and comparators; infinite if outputs are not bounded.
fn comparators((low, high): &(Rat, Rat), height: Up, rounds: usize, precision: Precision) -> Up {
    let (unit, flushed) = (precision.gamma(1), precision.flushed(FLUSHED));
    let ends = Up::from(low).max(Up::from(high));
    let clamped = |t: Up| unit * t + unit * (t + unit * t + flushed) + flushed + flushed;
    let once = |size: Up| clamped(size + ends);
    let spoiled = ends + once(height.max(ends));
    let mut size = ends + once(spoiled);
    // What flushing takes from copies that are not spoiled, and at the read-out.
    let mut off = 3.0 * flushed;
    for _ in 0..rounds {
        let difference = 2.0 * size * unit + flushed;
        let round = difference + unit * (size + difference) + flushed;
        (off, size) = (off + round, size + round);
    }
    off
}

fn too_fine(shifts: &Shifts, precision: Precision) -> Error {
    let copies = shifts.copies();
    Error::declined(format!("{precision} does not tell the walls of {copies} shifted grids apart"))
        .note("grid", format!("{} cells a side, shifted by 1/{copies} of one", shifts.whole.resolution()))
        .note("try", "a coarser ⟨resolution⟩, or ⟨precision=exact⟩")
}
