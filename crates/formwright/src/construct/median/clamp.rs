//! Registers into a range, in one layer: `z ← z - R(z - high) + R(low - z)`.
//!
//! A spoiled copy may hold any number, and in floats comparators lose digits of what they compare with it.

use serde::Serialize;
use serde_json::Value;

use super::{empty, unit};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::{FeedForward, Generator, Layer, LayerKind, Sequence, StageSize};

/// The clamp's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Clamp {
    /// The width of the stream.
    pub width: usize,
    /// The registers.
    pub registers: Vec<usize>,
    /// The lower end of the range.
    pub low: Rat,
    /// The upper end.
    pub high: Rat,
}

impl Clamp {
    /// The layer.
    pub fn layer(&self) -> FeedForward {
        let mut layer = empty(self.width);
        for register in &self.registers {
            unit(&mut layer, &[(*register, Rat::ONE)], -&self.high, &[(*register, -Rat::ONE)]);
            unit(&mut layer, &[(*register, -Rat::ONE)], self.low.clone(), &[(*register, Rat::ONE)]);
        }
        layer
    }

    /// Its effect, in words.
    pub fn meaning(&self) -> String {
        format!("every copy's outputs into the target's range, [{}, {}]", self.low.to_f64(), self.high.to_f64())
    }
}

impl Generator for Clamp {
    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let units = 2 * self.registers.len();
        let biases = [&self.low, &self.high].into_iter().filter(|end| !end.is_zero()).count();
        let nonzeros = Int::from(2 * units + biases * self.registers.len());
        StageSize { layers: Int::ONE, heads: 0, head_size: 0, hidden: units, units: Int::from(units), nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new(std::iter::once_with(|| Ok(Layer::FeedForward(self.layer()))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        for token in &mut state {
            for register in &self.registers {
                token[*register] = token[*register].clone().min(self.high.clone()).max(self.low.clone());
            }
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        serde_json::to_value(self).expect("plain data")
    }
}
