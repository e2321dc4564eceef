//! From exact numbers to floats: what all constructions share.
//!
//! | file | what | what it loses |
//! |---|---|---|
//! | `to_float.rs` | numbers of a format | their rounding |
//! | `piecewise_to_relu.rs` | Lemma 9: four ReLUs for a function of Φ | everything on the ramps: the bad set |
//! | `assembly.rs` | layers, put together as the runs of a float network | nothing |
//! | `realise.rs` | uniform sums by other heads, or by way of a hub | see its parts |
//!
//! The lowering of a construction stands beside the construction.

pub(crate) mod assembly;
pub(crate) mod piecewise_to_relu;
pub(crate) mod realise;
pub(crate) mod to_float;

use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::Interval;
use crate::lattice::Grid;
use crate::rounding::{Precision, gamma};

pub(crate) use assembly::as_it_is;

/// The most layers that are made explicit.
pub(crate) const MOST_LAYERS: u64 = 1_000_000;

/// The words for a clip of the values.
pub(crate) const CLIP: &str = "what is beyond the target's range is cut off";

/// The format and sizes that are asked of a float network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The floating-point format.
    pub precision: Precision,
    /// The temperature of its softmax.
    pub(crate) temperature: Temperature,
    /// The width of its feed-forward layers.
    pub(crate) hidden: Hidden,
}

impl Format {
    /// The literal network of the theorem, at the derived temperature.
    pub fn literal(precision: Precision) -> Self {
        Self { precision, temperature: Temperature::Derived, hidden: Hidden::Literal }
    }
}

/// The temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Temperature {
    /// The smallest power of two for which the drift is absorbed by rounding.
    Derived,
    /// The smallest power of two for which softmax is hardmax, bit by bit, on the lattice.
    Saturate,
    /// This power of two, whatever it does: nothing is claimed.
    Exponent(u32),
}

/// The width of feed-forward blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// One layer of the paper a block, four ReLUs.
    Literal,
    /// At most this many hidden units, at least four.
    Units(usize),
    /// As many as it takes for one block a stage.
    All,
}

/// ReLUs of a literal block.
pub(crate) const LITERAL: usize = 4;

impl Hidden {
    /// How many units fit a block.
    pub(crate) fn units(self) -> usize {
        match self {
            Self::Literal => LITERAL,
            Self::Units(units) => units,
            Self::All => usize::MAX,
        }
    }

    /// The steps of the quantiser that fit a block, of `steps` in a row.
    pub fn steps_a_block(self, steps: &Int) -> Int {
        let most = match self {
            Self::Literal => 1,
            Self::Units(units) => units.saturating_sub(1) / 2,
            Self::All => usize::MAX,
        };
        Int::from(most.max(1)).min(steps.clone())
    }
}

impl Hidden {
    /// The ids whose values fit a block, of `count`.
    pub fn ids_a_block(self, count: &Int) -> Int {
        match self {
            Self::Literal => Int::ONE,
            Self::Units(units) if Int::from(units) < *count => Int::from((units / 2).max(1)),
            _ => count.clone(),
        }
    }
}

/// How far the embedding can move a coordinate, in cells: `s·x + c + position` of a rounded `x`, five roundings of the largest term.
pub(crate) fn embedding_shift(grid: &Grid, steps: &Int, precision: Precision) -> Interval {
    let scale = Rat::from(grid.resolution()) / (grid.high() - grid.low());
    let largest = grid.low().abs().max(grid.high().abs()) * scale * Rat::from(2) + Rat::from(steps);
    gamma(6, precision) * Interval::from(&largest)
}

pub(crate) fn coordinates(grid: &Grid) -> u32 {
    u32::try_from(grid.tokens() * grid.dims()).unwrap_or(u32::MAX)
}

/// The margins of every cell, in cells: at its lower end the most that rounding can move a coordinate by, at its upper
/// end a ramp besides. On the rest no coordinate lies on a ramp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Margins {
    /// Off the lower end.
    pub low: Rat,
    /// Off the upper end.
    pub high: Rat,
}

impl Margins {
    pub(crate) fn new(shift: Interval, ramp: &Rat) -> Self {
        // A few digits are enough, rounded up: they stand in the certificate.
        let short = |shift: Rat| Rat::from_f64(to_float::upward(&shift, Precision::F32));
        let low = Rat::from_f64(shift.hi()).and_then(short).unwrap_or(Rat::ONE);
        Self { high: &low + ramp, low }
    }

    /// The share of a box that is cut off.
    pub(crate) fn share(&self, grid: &Grid) -> f64 {
        let good = Interval::from(&(Rat::ONE - &self.low - &self.high));
        if good.lo() > 0.0 { (Interval::ONE - good.powi(coordinates(grid))).hi() } else { 1.0 }
    }
}

/// Declines a box that a format cannot resolve: the middle of a cell must stay in it.
pub(crate) fn check_box(grid: &Grid, steps: &Int, precision: Precision) -> Result<()> {
    to_float::check_magnitude("the lower end of the box", grid.low(), precision)?;
    to_float::check_magnitude("the upper end of the box", grid.high(), precision)?;
    to_float::check_magnitude(
        "a cell's side",
        &((grid.high() - grid.low()) / Rat::from(grid.resolution())),
        precision,
    )?;
    let shift = embedding_shift(grid, steps, precision).hi();
    if shift <= 0.25 {
        return Ok(());
    }
    Err(Error::declined(format!("{precision} does not tell the cells of this box apart"))
        .note(
            "reason",
            format!("rounding moves a coordinate by up to {shift:.1e} cells: the box is far from 0 for its size"),
        )
        .note("try", "a domain that is moved to 0, a coarser ⟨resolution⟩, or ⟨precision=f64⟩"))
}
