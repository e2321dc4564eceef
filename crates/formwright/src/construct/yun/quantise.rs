//! Lemma 5: the quantiser `g_q`, feed-forward layers with one hidden unit.
//!
//! Integer units (a cell has side 1). For each row `i`, in this order:
//!
//! ```text
//! flag    Z ← Z + e_i φ(e_iᵀZ),      φ(t) = -t - F   for t < 0 or t ≥ N,   else 0
//! step k  Z ← Z + e_i φ(e_iᵀZ - k),  φ(t) = -t       for 0 ≤ t < 1,        else 0          k = 0, …, N-1
//! ```
//!
//! An entry in `[k, k+1)` becomes `k`, an entry outside `[0, N)` becomes `-F`, `F = N^{nd+1}`. The steps touch disjoint
//! cells, so their order does not matter here. It does in floats: by decreasing `k`, as in a lowered network, a step
//! meets its own cell or integers only.
//!
//! *Size*: `d(N+1)` layers. Theorem 3 has no flag and `nN` steps per row: `ndN` layers.
//!
//! *Departures*: the paper lets `k` run over `0, δ, …` and writes `kδ` besides (a slip); a lecture on the paper prints
//! the flag as `-δ^{nd}`, whose sign in the exponent matters (`--as-printed flag-sign`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::context::Order;
use super::lower::{Lowering, Lowers, pack, relus};
use super::stages::{Short, StageKind, checked};
use super::{basis, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::lower::{Format, Hidden};
use crate::network::{Activation, FeedForward, Generator, Layer, LayerKind, Piece, Piecewise, Sequence, StageSize};
use crate::target::Target;

/// Sends a coordinate outside `low ≤ t < high` to `value`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    /// The lower end of the interval that is left alone.
    pub low: Rat,
    /// Its upper end.
    pub high: Rat,
    /// The new value of everything else: `-F`.
    pub value: Rat,
    /// The number added to everything afterwards: 0, and with a guard -1.
    pub shift: Rat,
}

/// The quantiser's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantise {
    /// The width of the stream, `d`.
    pub width: usize,
    /// The rows that are quantised: all `d`, the guard's `floor` only the first.
    pub rows: usize,
    /// The steps of a row: `N`, with positions `nN`.
    pub steps: Int,
    /// The flag of Theorem 2.
    pub flag: Option<Flag>,
    /// The order of a row's steps.
    pub order: Order,
}

impl Quantise {
    /// Refuses parameters that a hand-edited file may contain and that no layer can have.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        match &self.flag {
            _ if self.rows > self.width => Err(format!("{} rows of {}", self.rows, self.width)),
            Some(flag) if flag.low >= flag.high => {
                Err(format!("the flag's box [{}, {}) is empty", flag.low, flag.high))
            }
            _ => Ok(()),
        }
    }

    fn flag_layer(&self, row: usize, flag: &Flag) -> Layer {
        let inside = Piece::constant(0);
        let outside = Piece::line(-1, flag.value.clone());
        let phi = Piecewise::window(flag.low.clone(), flag.high.clone(), false, inside, outside);
        let mut layer = self.unit(row, Rat::ZERO, phi);
        layer.b2[row] = flag.shift.clone();
        Layer::FeedForward(layer)
    }

    fn step_layer(&self, row: usize, k: &Int) -> Layer {
        let phi = Piecewise::window(Rat::ZERO, Rat::ONE, false, Piece::line(-1, 0), Piece::constant(0));
        Layer::FeedForward(self.unit(row, -Rat::from(k), phi))
    }

    fn unit(&self, row: usize, bias: Rat, phi: Piecewise) -> FeedForward {
        let e = basis(self.width, row, Rat::ONE);
        FeedForward::unit(e.clone(), bias, Activation::Piecewise(phi), e)
    }
}

impl Generator for Quantise {
    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let flags = u64::from(self.flag.is_some());
        let rows = Int::from(self.rows);
        let layers = &rows * (&self.steps + Int::from(flags));
        // W_1, b_1 and W_2 hold one weight each, but the flag and step 0 have no bias.
        let shifts = Int::from(usize::from(self.flag.as_ref().is_some_and(|flag| !flag.shift.is_zero())));
        let nonzeros = &rows * (Int::from(3) * &self.steps + Int::from(2 * flags) - Int::ONE + shifts);
        StageSize { units: layers.clone(), layers, heads: 0, head_size: 0, hidden: 1, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new((0..self.rows).flat_map(move |row| {
            let flag = self.flag.iter().map(move |flag| self.flag_layer(row, flag));
            let steps = Int::ZERO.up_to(&self.steps).map(move |k| match self.order {
                Order::Increasing => k,
                Order::Decreasing => &self.steps - Int::ONE - k,
            });
            flag.chain(steps.map(move |k| self.step_layer(row, &k))).map(Ok)
        }))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        let end = Rat::from(&self.steps);
        for z in state.iter_mut().flat_map(|token| &mut token[..self.rows]) {
            if let Some(flag) = &self.flag {
                if *z < flag.low || *z >= flag.high {
                    *z = flag.value.clone();
                }
                *z += &flag.shift;
            }
            if !z.is_negative() && *z < end {
                *z = Rat::from(z.floor());
            }
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

impl Lowers for Quantise {
    /// A step has three units with a weight, a bias and an output each, of which one bias of the first is 0; a flag has
    /// four.
    fn literal_nonzeros(&self) -> Int {
        let flag = self.flag.as_ref().map_or(0, |flag| if flag.shift.is_zero() { 11 } else { 13 });
        Int::from(self.rows) * (Int::from(9) * &self.steps - Int::ONE + Int::from(flag))
    }

    fn blocks(&self, layers: &[FeedForward], lowering: &Lowering) -> Result<(Vec<FeedForward>, Rat)> {
        let Format { precision, hidden, .. } = lowering.format;
        let layers = relus(&lowering.step_ramp, layers);
        if !lowering.snaps {
            return Ok((pack::pack(layers, Hidden::Literal), Rat::ZERO));
        }
        let flags = usize::from(self.flag.is_some());
        let rows = layers.chunks(layers.len() / self.rows);
        let (first, steps): (Vec<_>, Vec<_>) = rows.map(|row| row.split_at(flags)).unzip();
        let steps = steps.into_iter().map(<[FeedForward]>::to_vec).collect();
        let digits = lowering.step_ramp.denominator().bits() - 1;
        Ok((pack::pack_quantiser(first.concat(), steps, hidden, digits, precision), Rat::ZERO))
    }
}

impl StageKind for Quantise {
    const NAME: &'static str = "quantise";

    fn statement(&self) -> &'static str {
        "lemma5"
    }

    fn meaning(&self) -> String {
        let cells = "every coordinate to the lower end of its cell";
        let Some(Flag { value, .. }) = &self.flag else { return cells.to_owned() };
        let value = value.to_int().map_or_else(|| value.to_string(), |value| Short(&value).to_string());
        format!("{cells}; outside of the box to {value}")
    }

    fn read(parameters: Value, _: &Grid, _: &Arc<Target>) -> std::result::Result<Self, String> {
        checked(parameters, Self::check)
    }
}
