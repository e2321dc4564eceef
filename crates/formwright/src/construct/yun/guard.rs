//! The guard: 0 everywhere outside of the box, off its ramp, for every finite float once the network is lowered.
//!
//! An exact network is 0 outside of the box, by its flags. A lowered one is not: let one coordinate be far outside and
//! another cross its flag's ramp. The second token's id then runs from below 0 to beyond `t_r`, hence through
//! `[t_l, t_r]`, and the output is not 0, however far away the first coordinate is: the `L^p` error over all of space
//! is infinite. (Lemma 9 and Theorem 2 as printed integrate over `R^{d×n}`; over a bounded set they are right.)
//!
//! Four changes, all inside of two heads and four ReLUs, make one flag anywhere stop the whole sequence:
//!
//! ```text
//! embed     the box at [1, N+1) instead of [0, N); in floats all times 2^-k, so that no finite input overflows
//!           (`yun/lower/units.rs`)
//! clamp     Z ← Z - R(Z-κ) + R(-Z-κ)                   κ = 2^q ≥ N+2: beyond κ every float becomes 0, ±κ or ±2κ,
//!                                                      none of them in the box
//! flag      as in Lemma 5 for [1, N+1), and -1 for all
//! guard     Z ← Z + G e_1 ψ_min(Z)                     the quantised ids' minimum to every token, G = 2^-(1+⌈log2 D⌉)
//! floor     the steps of the first row once more
//! ```
//!
//! In floats `Z - R(Z-κ)` is one rounded subtraction of two numbers of one sign. Up to `2κ`, and wherever floats are no
//! farther apart than `κ`, `Z - κ` is a float and the result is `κ`. Where they are `2κ` apart it is a tie, and the
//! result is 0 or `2κ`; where they are farther apart, `R(Z-κ) = Z` and the result is 0 (just above a power of two, 0 or
//! `2κ`). So the largest float ends as the others do.
//!
//! On a sequence without flags the guard adds less than ½ + rounding to a first row of integers, and `floor` takes it
//! away again. With a flag the minimum is about `-F`, and every id becomes negative: no window, no interval is ever
//! met. Last, the outside-indicator is replaced by a multiple of the distance to the interval,
//! `Z ← Z - W (R(t_l-½-uᵀZ) + R(uᵀZ-t_r+½))`, in which nothing cancels.
//!
//! *Size*: `⌈d/2⌉ + N` feed-forward layers and one attention layer more.
//!
//! *Departure*: all of it. The head could also stand in the last attention layer (its second head is idle), but then
//! the ids of sequences with equal columns mix with the others, four more digits are needed, and in floats it fails for
//! inputs beyond `2^{μ-m-5}`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lower::{Lowering, Lowers};
use super::quantise::Quantise;
use super::stages::{Short, StageKind, checked};
use super::{basis, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::network::{Attention, FeedForward, Generator, Head, Layer, LayerKind, Sequence, StageSize, dot};
use crate::target::Target;

/// The parameters of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// `κ`.
    pub clamp: Rat,
    /// `G`.
    pub gain: Rat,
    /// The flag's magnitude.
    pub flag: Rat,
    /// `W`.
    pub slope: Rat,
}

/// Clips every entry to `[-bound, bound]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clamp {
    /// The width of the stream.
    pub width: usize,
    /// `κ`.
    pub bound: Rat,
}

impl Generator for Clamp {
    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        StageSize {
            layers: self.width.div_ceil(2).into(),
            heads: 0,
            head_size: 0,
            hidden: 2 * self.width.min(2),
            units: (2 * self.width).into(),
            nonzeros: (6 * self.width).into(),
        }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new(
            FeedForward::clip(self.width, 0..self.width, &self.bound).into_iter().map(|l| Ok(Layer::FeedForward(l))),
        )
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        for z in state.iter_mut().flatten() {
            *z = z.clone().min(self.bound.clone()).max(-self.bound.clone());
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

impl Lowers for Clamp {}

impl StageKind for Clamp {
    const NAME: &'static str = "clamp";

    fn statement(&self) -> &'static str {
        "guard"
    }

    fn meaning(&self) -> String {
        format!("what is far outside of the box becomes at most {}", Short(&self.bound.ceil()))
    }

    fn read(parameters: Value, _: &Grid, _: &Arc<Target>) -> std::result::Result<Self, String> {
        checked(parameters, |_| Ok(()))
    }
}

/// Adds `gain` times the smallest id to every token's first row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddMinimum {
    /// `u`, which reads a token's id.
    pub u: Vec<Rat>,
    /// `G`.
    pub gain: Rat,
}

impl Generator for AddMinimum {
    fn width(&self) -> usize {
        self.u.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::Attention
    }

    fn size(&self) -> StageSize {
        let nonzeros = (2 * self.u.len() + 2).into();
        StageSize { layers: 1.into(), heads: 1, head_size: 1, hidden: 0, units: 0.into(), nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let width = self.u.len();
        let o = basis(width, 0, self.gain.clone()).into_iter().map(|entry| vec![entry]).collect();
        let read = vec![self.u.clone()];
        // A constant query of -1: the score of a key is its id, negated.
        let head = Head { q: vec![vec![Rat::ZERO; width]], q_bias: vec![-Rat::ONE], k: read.clone(), v: read, o };
        let layer = Attention::hardmax(vec![head], None);
        Box::new(std::iter::once(Ok(Layer::Attention(layer))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        let least = state.iter().map(|token| dot(&self.u, token)).min().unwrap_or_default();
        for token in &mut state {
            token[0] += &(&self.gain * &least);
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

impl Lowers for AddMinimum {}

impl StageKind for AddMinimum {
    const NAME: &'static str = "guard";

    fn statement(&self) -> &'static str {
        "guard"
    }

    fn meaning(&self) -> String {
        "every token gains a little of the smallest id: less than 1/2, or a flag that stops all".to_owned()
    }

    fn read(parameters: Value, _: &Grid, _: &Arc<Target>) -> std::result::Result<Self, String> {
        checked(parameters, |_| Ok(()))
    }
}

/// The steps of the first row once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Floor(pub Quantise);

impl Generator for Floor {
    fn width(&self) -> usize {
        self.0.width()
    }

    fn kind(&self) -> LayerKind {
        self.0.kind()
    }

    fn size(&self) -> StageSize {
        self.0.size()
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        self.0.layers()
    }

    fn closed_form(&self, state: Sequence) -> Result<Sequence> {
        self.0.closed_form(state)
    }

    fn parameters(&self) -> Value {
        self.0.parameters()
    }
}

impl Lowers for Floor {
    fn literal_nonzeros(&self) -> Int {
        self.0.literal_nonzeros()
    }

    fn blocks(&self, layers: &[FeedForward], lowering: &Lowering) -> Result<(Vec<FeedForward>, Rat)> {
        self.0.blocks(layers, lowering)
    }
}

impl StageKind for Floor {
    const NAME: &'static str = "floor";

    fn statement(&self) -> &'static str {
        "guard"
    }

    fn meaning(&self) -> String {
        "what the guard added is taken away, unless it was a flag".to_owned()
    }

    fn read(parameters: Value, grid: &Grid, target: &Arc<Target>) -> std::result::Result<Self, String> {
        Quantise::read(parameters, grid, target).map(Self)
    }
}
