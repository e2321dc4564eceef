//! The id of a token that keeps its code and the sum apart: `id ← id + R(S·sum + code)`, one ReLU.
//!
//! Outside of the box the sum is negative, and the id is 0.

use serde::Serialize;
use serde_json::Value;

use super::{basis, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::{Activation, FeedForward, Generator, Layer, LayerKind, Sequence, StageSize, dot};

/// `to ← to + R(readᵀZ)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Identify {
    /// The row that is read.
    pub read: Vec<Rat>,
    /// The register that is written.
    pub to: usize,
}

impl Identify {
    /// The layer.
    pub fn layer(&self) -> FeedForward {
        let direction = basis(self.read.len(), self.to, Rat::ONE);
        FeedForward::unit(self.read.clone(), Rat::ZERO, Activation::Relu, direction)
    }
}

impl Generator for Identify {
    fn width(&self) -> usize {
        self.read.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let nonzeros = Int::from(1 + self.read.iter().filter(|weight| !weight.is_zero()).count());
        StageSize { layers: Int::ONE, heads: 0, head_size: 0, hidden: 1, units: Int::ONE, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new(std::iter::once(Ok(Layer::FeedForward(self.layer()))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        for token in &mut state {
            let id = dot(&self.read, token).max(Rat::ZERO);
            token[self.to] += &id;
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}
