//! The global shift of Lemma 6: the last attention layer, of one head.
//!
//! ```text
//! Z ← Z + S ψ(Z; 0)
//! ```
//!
//! The ids of a context are positive behind the sweep, so it adds `S·max_k l̃_k` to each. With a scale `S` beyond every
//! `l̃_j`, `⌊id / S⌋ = max_k l̃_k` names the sequence and the rest the token. The theorems differ in `S`: `D^{n+1}`
//! (equivariant.rs), `nND^n` (positional.rs), `nND^{n+1}` (as_printed.rs). Where tokens do not see all others there are
//! `s` such layers (sparse.rs).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::head::{Extremes, head, seen, shift_first_row};
use super::sparse::Hops;
use crate::construct::yun::lower::Lowers;
use crate::construct::yun::stages::{Short, StageKind, checked};
use crate::construct::yun::to_value;
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::network::{Attention, Generator, Layer, LayerKind, Sequence, StageSize};
use crate::pattern::Connections;
use crate::target::Target;

/// The parameters of the global shift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GlobalShift {
    /// `u`, which reads a token's id.
    pub u: Vec<Rat>,
    /// The threshold, 0.
    pub threshold: Rat,
    /// The factor `S`.
    pub scale: Int,
    /// The connections of its layers, if tokens do not see all others (sparse.rs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparse: Option<Hops>,
}

impl GlobalShift {
    /// How many layers there are.
    pub fn hops(&self) -> usize {
        self.sparse.as_ref().map_or(1, |hops| hops.count)
    }

    /// The scale of the sum of all layers: `S^s`.
    pub fn unit(&self) -> Int {
        self.scale.pow(self.hops())
    }

    /// The connections of a layer, where tokens do not see all others.
    fn connections_of(&self, layer: usize) -> Option<&Connections> {
        self.sparse.as_ref().map(|hops| hops.pattern.layer(layer))
    }

    /// The sum of all shifts of each token's first row.
    pub(super) fn gains(&self, ids: &[Rat]) -> Vec<Rat> {
        let mut ids = ids.to_vec();
        let mut gains = vec![Rat::ZERO; ids.len()];
        for layer in 0..self.hops() {
            let gained = self.gained(&ids, self.connections_of(layer));
            for ((id, total), gain) in ids.iter_mut().zip(&mut gains).zip(&gained) {
                *id += &(&self.u[0] * gain);
                *total += gain;
            }
        }
        gains
    }

    /// The shift of each token's first row in one layer.
    fn gained(&self, ids: &[Rat], connections: Option<&Connections>) -> Vec<Rat> {
        let scale = Rat::from(&self.scale);
        let gain = |id: &Rat, of: &Extremes| &scale * of.attended(id.cmp(&self.threshold)).as_ref();
        if connections.is_none() {
            let all = Extremes::of(ids);
            return ids.iter().map(|id| gain(id, &all)).collect();
        }
        let visible = |(token, id): (usize, &Rat)| gain(id, &Extremes::of(&seen(ids, connections, token)));
        ids.iter().enumerate().map(visible).collect()
    }

    /// Refuses parameters that a hand-edited file may hold and that no layers can have.
    pub(super) fn check(&self, grid: &Grid) -> std::result::Result<(), String> {
        self.sparse.as_ref().map_or(Ok(()), |hops| hops.check(grid))
    }
}

impl Generator for GlobalShift {
    fn width(&self) -> usize {
        self.u.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::Attention
    }

    fn size(&self) -> StageSize {
        let layers = Int::from(self.hops());
        let nonzeros = &layers * Int::from(3 * self.u.len() + 1 + usize::from(!self.threshold.is_zero()));
        StageSize { layers, heads: 1, head_size: 1, hidden: 0, units: Int::ZERO, nonzeros }
    }

    fn connections(&self) -> Option<usize> {
        self.sparse.as_ref().map(|hops| hops.pattern.connections())
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let heads = vec![head(&self.u, &self.threshold, Rat::from(&self.scale))];
        let layer = move |layer| Attention::hardmax(heads.clone(), self.connections_of(layer).cloned());
        Box::new((0..self.hops()).map(move |index| Ok(Layer::Attention(layer(index)))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        shift_first_row(&mut state, &self.u, |ids| self.gains(ids));
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

impl Lowers for GlobalShift {}

impl StageKind for GlobalShift {
    const NAME: &'static str = "global";

    fn statement(&self) -> &'static str {
        if self.sparse.is_some() { "sparse" } else { "lemma6" }
    }

    fn meaning(&self) -> String {
        let scale = Short(&self.scale);
        match self.hops() {
            1 => format!("every id gains {scale} times the largest: it now names the whole sequence"),
            s => format!(
                "{s} times every id gains {scale} times the largest that it sees: it now names the whole sequence"
            ),
        }
    }

    fn read(parameters: Value, grid: &Grid, _: &Arc<Target>) -> std::result::Result<Self, String> {
        checked(parameters, |stage: &Self| stage.check(grid))
    }
}
