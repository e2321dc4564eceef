//! The first layers of the value map: a token that no window is for becomes 0.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::construct::yun::lower::{Lowering, Lowers, pack, relus};
use crate::construct::yun::stages::{StageKind, checked};
use crate::construct::yun::{basis, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::lower::to_float;
use crate::network::{
    Activation, Break, FeedForward, Generator, Layer, LayerKind, Piece, Piecewise, Sequence, Side, StageSize, dot,
};
use crate::target::Target;

/// Sends a token whose id is outside `[low, high]` to 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZeroOutside {
    /// `u`, which reads a token's id.
    pub u: Vec<Rat>,
    /// `t_l`.
    pub low: Rat,
    /// `t_r`.
    pub high: Rat,
    /// `M + 1`.
    pub drop: Rat,
    /// The function of the id that is subtracted.
    pub by: Outside,
}

/// The function that the first layer of the value map subtracts, times `drop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outside {
    /// 1 outside of the interval, as in the lemma.
    Indicator,
    /// The distance to the interval, widened by ½, as the guard uses it.
    Distance,
}

impl ZeroOutside {
    /// The function of Φ that the first layer computes.
    fn phi(&self) -> Piecewise {
        let rest = Piece::constant(0);
        match self.by {
            Outside::Indicator => {
                Piecewise::window(self.low.clone(), self.high.clone(), true, rest, Piece::constant(1))
            }
            Outside::Distance => {
                let (low, high) = (&self.low - Rat::new(1, 2), &self.high - Rat::new(1, 2));
                let pieces = vec![Piece::line(-1, low.clone()), rest, Piece::line(1, -high.clone())];
                let breaks = [low, high].map(|at| Break { at, belongs: Side::Right }).to_vec();
                Piecewise::new(pieces, breaks).expect("low < high and a constant piece")
            }
        }
    }
}

impl ZeroOutside {
    /// Refuses parameters that a hand-edited file may contain and that no layer can have.
    fn check(&self) -> std::result::Result<(), String> {
        if self.low < self.high { Ok(()) } else { Err(format!("the interval [{}, {}] is empty", self.low, self.high)) }
    }
}

impl Generator for ZeroOutside {
    fn width(&self) -> usize {
        self.u.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let layers = Int::from(1 + self.u.len());
        let nonzeros = Int::from(4 * self.u.len());
        StageSize { units: layers.clone(), layers, heads: 0, head_size: 0, hidden: 1, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let rows = self.u.len();
        let phi = self.phi();
        let down = vec![-self.drop.clone(); rows];
        let outside = FeedForward::unit(self.u.clone(), Rat::ZERO, Activation::Piecewise(phi), down);
        let clear = (0..rows).map(move |row| {
            let read = basis(rows, row, -Rat::ONE);
            FeedForward::unit(read, Rat::ZERO, Activation::Relu, basis(rows, row, Rat::ONE))
        });
        Box::new(std::iter::once(outside).chain(clear).map(|layer| Ok(Layer::FeedForward(layer))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        for token in &mut state {
            let down = self.phi().apply(&dot(&self.u, token)) * &self.drop;
            for z in token {
                *z -= &down;
                if z.is_negative() {
                    *z = Rat::ZERO;
                }
            }
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

impl Lowers for ZeroOutside {
    /// The indicator has four units, the distance two; `clear` one for each row.
    fn literal_nonzeros(&self) -> Int {
        let d = self.u.len();
        let outside = match self.by {
            Outside::Indicator => 8 * d + 4,
            Outside::Distance => 4 * d + 2,
        };
        Int::from(outside + 2 * d)
    }

    /// The indicator comes before what it makes negative is cleared.
    fn blocks(&self, layers: &[FeedForward], lowering: &Lowering) -> Result<(Vec<FeedForward>, Rat)> {
        let (outside, clear) = layers.split_at(1);
        let pack = |layers| pack::pack(relus(&to_float::id_ramp(), layers), lowering.format.hidden);
        Ok(([pack(outside), pack(clear)].concat(), Rat::ZERO))
    }
}

impl StageKind for ZeroOutside {
    const NAME: &'static str = "zero";

    fn statement(&self) -> &'static str {
        "lemma7"
    }

    fn meaning(&self) -> String {
        "tokens of sequences with equal columns or flags become 0".to_owned()
    }

    fn read(parameters: Value, _: &Grid, _: &Arc<Target>) -> std::result::Result<Self, String> {
        checked(parameters, Self::check)
    }
}

/// `M`: at least every entry that the contextual map makes of the extended grid.
///
/// A flagged coordinate is `-F`; a column of flags has the id `-F(D-1)/(N-1)`. Each shift multiplies the distance to it
/// by `D`.
pub fn largest_entry(grid: &Grid, flag: &Rat) -> Rat {
    let (n, columns) = (grid.tokens(), Rat::from(grid.columns()));
    let below = &columns - Rat::ONE;
    let depth = flag * &below / Rat::from(grid.resolution() - 1);
    let mut reached = below.clone();
    for _ in 1..n {
        reached = &below + &columns * (reached + &depth);
    }
    (columns.pow(n + 1) + Rat::ONE) * reached
}
