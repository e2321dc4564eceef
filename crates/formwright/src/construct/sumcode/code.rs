//! From the id of a column to its code, in one block.
//!
//! With `t = uᵀcell`, the column's id (with positions, `D` times the token's place more), and `Q` codes,
//!
//! ```text
//! code ← code - G + (Φ(0) + G) R(t+1) + Σ_k w_k R(t-k),      w_k the change of slope at k = 0, …, Q-1
//! ```
//!
//! so that `t ↦ Φ(t)` at every id, nothing is above the last code, and everything at -1 or below, a column with a
//! coordinate outside of the box, goes to `-G` exactly: all units rest. One such code outweighs all others:
//! `G = (n-1) max Φ + 2`, so that the sum over a sequence is at most -2.
//!
//! *Size*: `Q + 1` ReLUs. The weights are integers: where `Σ |w| R ≤ 2^μ` the block is exact in floats, in any order.

use serde::Serialize;
use serde_json::Value;

use super::{counted, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::codes::Codes;
use crate::network::{Activation, FeedForward, Generator, Layer, LayerKind, Sequence, StageSize, dot};

/// The code block's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Encode {
    /// The row that reads the id: `u` on the cells.
    pub read: Vec<Rat>,
    /// The register of the code.
    pub code: usize,
    /// The register of the id itself, -1 outside of the box, if it is kept.
    pub index: Option<usize>,
    /// `Φ`.
    pub values: Vec<Int>,
    /// `G`.
    pub flagged: Int,
}

impl Encode {
    /// `G` for a list of codes.
    pub fn flagged_for(codes: &Codes) -> Int {
        Int::from(codes.tokens - 1) * codes.largest() + Int::from(2)
    }

    /// The kinks and the changes of slope there, from left to right.
    fn hinges(&self) -> Vec<(Int, Int)> {
        let first = self.values.first().map(|code| code + &self.flagged);
        let slopes: Vec<Int> = first
            .into_iter()
            .chain(self.values.windows(2).map(|pair| &pair[1] - &pair[0]))
            .chain([Int::ZERO])
            .collect();
        let before = std::iter::once(Int::ZERO).chain(slopes.iter().cloned());
        let kinks = std::iter::successors(Some(-Int::ONE), |kink| Some(kink + Int::ONE));
        kinks.zip(slopes.iter().zip(before).map(|(slope, before)| slope - before)).collect()
    }

    /// `G + Σ |w| R` at `t ≥ -1`, which an exact sum has to hold.
    pub fn sum_at(&self, t: &Rat) -> Rat {
        self.hinges().into_iter().fold(Rat::from(&self.flagged), |sum, (kink, weight)| {
            sum + Rat::from(weight.abs()) * (t - Rat::from(kink)).max(Rat::ZERO)
        })
    }

    /// The same sum at the largest id.
    pub fn largest_sum(&self) -> Rat {
        self.sum_at(&Rat::from(self.values.len() - 1))
    }

    /// The code at `t`: between two ids along a line.
    fn at(&self, t: &Rat) -> Rat {
        let outside = -Rat::from(&self.flagged);
        if *t <= -Rat::ONE {
            return outside;
        }
        let code = |place: usize| self.values.get(place).or(self.values.last()).map_or(Rat::ZERO, Rat::from);
        let below = t.floor();
        let (low, high) = match below.to_usize() {
            None => (outside, code(0)),
            Some(place) => (code(place), code(place + 1)),
        };
        &low + (&high - &low) * (t - Rat::from(below))
    }

    /// The layer.
    pub fn layer(&self) -> FeedForward {
        let (width, hinges) = (self.read.len(), self.hinges());
        let mut layer = FeedForward {
            w1: vec![self.read.clone(); hinges.len()],
            b1: hinges.iter().map(|(kink, _)| -Rat::from(kink)).collect(),
            activations: vec![Activation::Relu; hinges.len()],
            w2: vec![vec![Rat::ZERO; hinges.len()]; width],
            b2: vec![Rat::ZERO; width],
        };
        layer.w2[self.code] = hinges.iter().map(|(_, weight)| Rat::from(weight)).collect();
        layer.b2[self.code] = -Rat::from(&self.flagged);
        if let Some(index) = self.index {
            layer.w2[index][0] = Rat::ONE;
            layer.b2[index] = -Rat::ONE;
        }
        layer
    }
}

impl Generator for Encode {
    fn width(&self) -> usize {
        self.read.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let units = self.values.len() + 1;
        let nonzeros = counted(&self.layer());
        StageSize { layers: Int::ONE, heads: 0, head_size: 0, hidden: units, units: Int::from(units), nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new(std::iter::once(Ok(Layer::FeedForward(self.layer()))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        for token in &mut state {
            let t = dot(&self.read, token);
            if let Some(index) = self.index {
                token[index] += &t.clone().max(-Rat::ONE);
            }
            token[self.code] += &self.at(&t);
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}
