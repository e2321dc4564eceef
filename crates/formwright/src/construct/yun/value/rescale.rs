//! The last layers of the value map: values that were stored smaller are multiplied back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::construct::yun::lower::Lowers;
use crate::construct::yun::stages::{StageKind, checked};
use crate::construct::yun::{MAX_ID_BITS, basis, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::network::{Activation, FeedForward, Generator, Layer, LayerKind, Sequence, StageSize};
use crate::target::Target;

/// Multiplies the first rows back by `2^exponent`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rescale {
    /// The width of the residual stream.
    pub width: usize,
    /// The number of rows that carry a value.
    pub rows: usize,
    /// The power of two.
    pub exponent: usize,
}

impl Rescale {
    /// Refuses parameters that a hand-edited file may contain and that no layer can have.
    fn check(&self) -> std::result::Result<(), String> {
        if self.rows > self.width || self.exponent > MAX_ID_BITS {
            return Err(format!("{} rows of {}, exponent {}", self.rows, self.width, self.exponent));
        }
        Ok(())
    }
}

impl Generator for Rescale {
    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        StageSize {
            layers: Int::from(self.rows.div_ceil(2)),
            heads: 0,
            head_size: 0,
            hidden: 2 * self.rows.min(2),
            units: Int::from(2 * self.rows),
            nonzeros: Int::from(4 * self.rows),
        }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let gain = Rat::from(2).pow(self.exponent) - Rat::ONE;
        Box::new((0..self.rows).step_by(2).map(move |first| {
            let rows: Vec<usize> = (first..self.rows.min(first + 2)).collect();
            let w1: Vec<Vec<Rat>> = rows
                .iter()
                .flat_map(|&row| [basis(self.width, row, Rat::ONE), basis(self.width, row, -Rat::ONE)])
                .collect();
            let mut w2 = vec![vec![Rat::ZERO; w1.len()]; self.width];
            for (k, &row) in rows.iter().enumerate() {
                w2[row][2 * k] = gain.clone();
                w2[row][2 * k + 1] = -gain.clone();
            }
            Ok(Layer::FeedForward(FeedForward {
                b1: vec![Rat::ZERO; w1.len()],
                activations: vec![Activation::Relu; w1.len()],
                w1,
                w2,
                b2: vec![Rat::ZERO; self.width],
            }))
        }))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        let factor = Rat::from(2).pow(self.exponent);
        for z in state.iter_mut().flat_map(|token| &mut token[..self.rows]) {
            *z = &*z * &factor;
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

impl Lowers for Rescale {}

impl StageKind for Rescale {
    const NAME: &'static str = "rescale";

    fn statement(&self) -> &'static str {
        "lemma7"
    }

    fn meaning(&self) -> String {
        format!("values times 2^{}", self.exponent)
    }

    fn read(parameters: Value, _: &Grid, _: &Arc<Target>) -> std::result::Result<Self, String> {
        checked(parameters, Self::check)
    }
}
