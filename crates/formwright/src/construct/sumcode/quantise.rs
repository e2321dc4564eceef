//! Every coordinate to its cell, in one block.
//!
//! Integer units (a cell has side 1). For each coordinate, from its register `x` to its register `cell`,
//!
//! ```text
//! cell ← cell + Σ_k k · 1[k ≤ x < k+1] - F · 1[x < 0 or x ≥ N]          k = 1, …, N-1
//! ```
//!
//! `N` hidden units of Φ per coordinate: the steps of Lemma 5 touch disjoint sets and share a block. `F` is the number
//! of codes, so that the id of a column with a coordinate outside of the box is at most -1.

use serde::Serialize;
use serde_json::Value;

use super::{basis, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::{Activation, FeedForward, Generator, Layer, LayerKind, Piece, Piecewise, Sequence, StageSize};

/// The quantiser's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Quantise {
    /// The width of the stream.
    pub width: usize,
    /// The coordinates: register `k` goes to register `rows + k`.
    pub rows: usize,
    /// `N`.
    pub steps: u64,
    /// `F`.
    pub flag: Int,
}

impl Generator for Quantise {
    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let units = Int::from(self.rows) * Int::from(self.steps);
        // W_1, b_1 and W_2 of a step; a flag has no bias.
        let nonzeros = Int::from(3) * &units - Int::from(self.rows);
        let hidden = units.to_usize().unwrap_or(usize::MAX);
        StageSize { layers: Int::ONE, heads: 0, head_size: 0, hidden, units, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let (zero, one) = (Piece::constant(0), Piece::constant(1));
        let step = Piecewise::window(Rat::ZERO, Rat::ONE, false, one.clone(), zero.clone());
        let outside = Piecewise::window(Rat::ZERO, Rat::from(self.steps), false, zero, one);
        let mut layer = FeedForward {
            w1: Vec::new(),
            b1: Vec::new(),
            activations: Vec::new(),
            w2: vec![Vec::new(); self.width],
            b2: vec![Rat::ZERO; self.width],
        };
        for row in 0..self.rows {
            let steps = (1..self.steps).map(|k| (-Rat::from(k), step.clone(), Rat::from(k)));
            let flag = (Rat::ZERO, outside.clone(), -Rat::from(&self.flag));
            for (bias, phi, height) in steps.chain([flag]) {
                layer.w1.push(basis(self.width, row, Rat::ONE));
                layer.b1.push(bias);
                layer.activations.push(Activation::Piecewise(phi));
                for (register, out) in layer.w2.iter_mut().enumerate() {
                    out.push(if register == self.rows + row { height.clone() } else { Rat::ZERO });
                }
            }
        }
        Box::new(std::iter::once(Ok(Layer::FeedForward(layer))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        let end = Rat::from(self.steps);
        for token in &mut state {
            for row in 0..self.rows {
                let inside = !token[row].is_negative() && token[row] < end;
                let cell = if inside { Rat::from(token[row].floor()) } else { -Rat::from(&self.flag) };
                token[self.rows + row] += &cell;
            }
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}
