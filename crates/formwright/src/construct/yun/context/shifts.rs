//! The selective shifts of Lemma 6: a sweep of windows, each an attention layer of two heads.
//!
//! Integer units, `id_j = uᵀZ_j`. The *selective shift* of the window `v` is
//!
//! ```text
//! Z ← Z + D Ψ(Z; v-½, v+½),      Ψ(Z; b, b') = ψ(Z; b) - ψ(Z; b').
//! ```
//!
//! It adds `D·(max - min)` to the ids with `v-½ < id < v+½`. To the others it adds nothing: there both heads give the
//! largest id, or both the smallest. The sweep visits its windows in ascending order.
//!
//! # Closed form
//!
//! Token `j` is touched by `v` exactly when `v-½ ≤ id_j ≤ v+½`. So the next window that touches any token is known, and
//! the closed form jumps to it instead of visiting all windows.
//!
//! *Size*: a layer a window; under a pattern (sparse.rs) a cycle of layers a window.
//!
//! *Departure*: a plain-text copy of the paper lost the factor `δ^{-d}`, here `D`, before `Ψ`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::head::{Extremes, head, seen, shift_first_row};
use super::sparse::SparseSweep;
use crate::construct::yun::lower::Lowers;
use crate::construct::yun::stages::{Short, StageKind, checked};
use crate::construct::yun::to_value;
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::network::{Attention, Generator, Head, Layer, LayerKind, Sequence, StageSize};
use crate::pattern::Connections;
use crate::target::Target;

/// A run of consecutive windows `start, start+1, …`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Windows {
    /// The first window's centre.
    pub start: Int,
    /// How many there are.
    pub count: Int,
}

impl Windows {
    fn last(&self) -> Int {
        &self.start + &self.count - Int::ONE
    }
}

/// The order in which a sweep visits its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// As in the lemma.
    Increasing,
    /// The other way: not a contextual map, and a test of the two executions.
    Decreasing,
}

/// The parameters of the sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SelectiveShifts {
    /// `u`, which reads a token's id.
    pub u: Vec<Rat>,
    /// The windows, ascending, without overlap.
    pub windows: Vec<Windows>,
    /// The distance of the two thresholds from a window's centre: ½.
    pub half_width: Rat,
    /// The factor `D` of a shift.
    pub scale: Int,
    /// The order of the sweep.
    pub order: Order,
    /// The connections of its layers, if tokens do not see all others (sparse.rs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparse: Option<SparseSweep>,
}

/// `scale · Ψ(Z; b, b')`, for the two ends `b` and `b'`.
fn heads(u: &[Rat], ends: &[Rat; 2], scale: Rat) -> Vec<Head> {
    vec![head(u, &ends[0], scale.clone()), head(u, &ends[1], -scale)]
}

/// The layer that shifts the ids between the two ends by `scale` times (largest - smallest id).
pub(crate) fn selective_shift(u: &[Rat], ends: &[Rat; 2], scale: Rat) -> Layer {
    Layer::Attention(Attention::hardmax(heads(u, ends, scale), None))
}

impl SelectiveShifts {
    /// The layers of a window: one, or a cycle of them of which one acts.
    fn layers_of(&self, v: &Int) -> Vec<Layer> {
        let (centre, scale) = (Rat::from(v), Rat::from(&self.scale));
        let ends = [&centre - &self.half_width, &centre + &self.half_width];
        match &self.sparse {
            None => vec![selective_shift(&self.u, &ends, scale)],
            Some(sparse) => sparse.cycle(self.run_of(v), &heads(&self.u, &ends, scale)),
        }
    }

    /// The run that a window belongs to.
    fn run_of(&self, v: &Int) -> usize {
        self.windows.partition_point(|run| run.last() < *v)
    }

    /// The connections of the layer in which a window acts, where tokens do not see all others.
    fn connections_of(&self, v: &Int) -> Option<&Connections> {
        self.sparse.as_ref()?.connections(self.run_of(v))
    }

    /// Every window in the order of the sweep.
    fn sweep(&self) -> Box<dyn Iterator<Item = Int> + '_> {
        match self.order {
            Order::Increasing => {
                Box::new(self.windows.iter().flat_map(|run| run.start.up_to(&(&run.start + &run.count))))
            }
            Order::Decreasing => Box::new(self.windows.iter().rev().flat_map(move |run| {
                std::iter::successors(Some(run.last()), |v| Some(v - Int::ONE)).take_while(|v| *v >= run.start)
            })),
        }
    }

    /// The first window behind `passed`, in the order of the sweep, whose closed interval holds `id`.
    fn next(&self, passed: Option<&Int>, id: &Rat) -> Option<Int> {
        // Whole ids, the usual case, need no fractions.
        let (mut low, mut high) = match id.to_int() {
            Some(id) => (&id - self.half_width.floor(), &id + self.half_width.floor()),
            None => ((id - &self.half_width).ceil(), (id + &self.half_width).floor()),
        };
        match (self.order, passed) {
            (Order::Increasing, Some(v)) => low = low.max(v + Int::ONE),
            (Order::Decreasing, Some(v)) => high = high.min(v - Int::ONE),
            (_, None) => {}
        }
        // The part of [low, high] inside a run of windows, from the end at which the sweep meets it.
        match self.order {
            Order::Increasing => {
                let run = self.windows.get(self.run_of(&low))?;
                let v = low.max(run.start.clone());
                (v <= high && v <= run.last()).then_some(v)
            }
            Order::Decreasing => {
                let run = self.windows[..self.windows.partition_point(|run| run.start <= high)].last()?;
                let v = high.min(run.last());
                (v >= low && v >= run.start).then_some(v)
            }
        }
    }

    /// The first window behind `passed` that touches any token.
    fn next_of_all(&self, passed: Option<&Int>, ids: &[Rat]) -> Option<Int> {
        let touched = ids.iter().filter_map(|id| self.next(passed, id));
        match self.order {
            Order::Increasing => touched.min(),
            Order::Decreasing => touched.max(),
        }
    }

    /// The sum of all shifts of each token's first row, by jumping from one window that touches a token to the next.
    pub(super) fn gains(&self, ids: &[Rat]) -> Vec<Rat> {
        let scale = Rat::from(&self.scale);
        let mut ids = ids.to_vec();
        let mut gains = vec![Rat::ZERO; ids.len()];
        let mut passed: Option<Int> = None;
        while let Some(v) = self.next_of_all(passed.as_ref(), &ids) {
            for (token, selected) in self.selected(&v, &ids) {
                let gained = &scale * selected;
                ids[token] += &(&self.u[0] * &gained);
                gains[token] += &gained;
            }
            passed = Some(v);
        }
        gains
    }

    /// The tokens that a window touches, and `Ψ` at them.
    fn selected(&self, v: &Int, ids: &[Rat]) -> Vec<(usize, Rat)> {
        let (centre, connections) = (Rat::from(v), self.connections_of(v));
        let select = |(token, id): (usize, &Rat)| {
            let offset = id - &centre;
            let inside = offset.abs() <= self.half_width;
            inside.then(|| (token, Extremes::of(&seen(ids, connections, token)).selected(&offset, &self.half_width)))
        };
        ids.iter().enumerate().filter_map(select).collect()
    }

    /// Refuses parameters that a hand-edited file may hold and that no sweep can have.
    pub(super) fn check(&self, grid: &Grid) -> std::result::Result<(), String> {
        if self.half_width.is_negative() {
            return Err(format!("the half-width {} is negative", self.half_width));
        }
        let overlap = |pair: &[Windows]| pair[0].last() >= pair[1].start;
        if self.windows.iter().any(|run| run.count < Int::ZERO) || self.windows.windows(2).any(overlap) {
            return Err("the windows do not ascend".to_owned());
        }
        self.sparse.as_ref().map_or(Ok(()), |sparse| sparse.check(self.windows.len(), grid))
    }

    /// How many windows there are.
    pub fn count(&self) -> Int {
        self.windows.iter().fold(Int::ZERO, |total, run| total + &run.count)
    }
}

impl Generator for SelectiveShifts {
    fn width(&self) -> usize {
        self.u.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::Attention
    }

    fn size(&self) -> StageSize {
        // Per head: u three times, a bias that is a half-integer, one output weight.
        let nonzeros = self.count() * Int::from(2 * (3 * self.u.len() + 2));
        let layers = self.count() * Int::from(self.sparse.as_ref().map_or(1, |sparse| sparse.pattern.period()));
        StageSize { layers, heads: 2, head_size: 1, hidden: 0, units: Int::ZERO, nonzeros }
    }

    fn connections(&self) -> Option<usize> {
        self.sparse.as_ref().map(|sparse| sparse.pattern.connections())
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new(self.sweep().flat_map(|v| self.layers_of(&v)).map(Ok))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        shift_first_row(&mut state, &self.u, |ids| self.gains(ids));
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

impl Lowers for SelectiveShifts {}

impl StageKind for SelectiveShifts {
    const NAME: &'static str = "shifts";

    fn statement(&self) -> &'static str {
        if self.sparse.is_some() { "sparse" } else { "lemma6" }
    }

    fn meaning(&self) -> String {
        let seen = if self.sparse.is_some() { " that it sees" } else { "" };
        format!("one id after the other moves up by {} times (largest - smallest id{seen})", Short(&self.scale))
    }

    fn read(parameters: Value, grid: &Grid, _: &Arc<Target>) -> std::result::Result<Self, String> {
        checked(parameters, |stage: &Self| stage.check(grid))
    }
}
