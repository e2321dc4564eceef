//! From the sum to its rank: the named pass `--values rank`.
//!
//! The sums `Σ_1 < … < Σ_R` of all multisets are far apart; their ranks are not. One block writes
//!
//! ```text
//! rank ← rank + Q Σ_k ( R(Σ - Σ_k + 1) - R(Σ - Σ_k) )          R = C(D+n-1, n), with positions D^n
//! ```
//!
//! `Q` (the number of codes) times 1, …, R at a sum, and 0 below, so that `rank + id` of a column names multiset and
//! token with `(n+1) log2 D - log2 n!` bits instead of `2n log2 q + log2 n`.
//!
//! *Size*: `2R` ReLUs, all weights `±Q`: exact in floats while the sum of all terms is. (Interpolation would do with
//! `R`, but its slopes are fractions.)

use std::sync::Arc;

use serde_json::{Value, json};

use super::nodes::Nodes;
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::{Activation, FeedForward, Generator, Layer, LayerKind, Sequence, StageSize, dot};

/// The rank block's parameters.
#[derive(Clone, Debug)]
pub(crate) struct Rank {
    /// The row that reads the sum.
    pub read: Vec<Rat>,
    /// The register of the rank.
    pub to: usize,
    /// The sums.
    pub nodes: Arc<Nodes>,
}

impl Rank {
    /// The layer.
    pub fn layer(&self) -> Result<FeedForward> {
        let sums = self.nodes.sums()?;
        let unit = Rat::from(self.nodes.symbols());
        let width = self.read.len();
        let mut layer = FeedForward {
            w1: vec![self.read.clone(); 2 * sums.len()],
            b1: sums.iter().flat_map(|sum| [Rat::ONE - Rat::from(sum), -Rat::from(sum)]).collect(),
            activations: vec![Activation::Relu; 2 * sums.len()],
            w2: vec![vec![Rat::ZERO; 2 * sums.len()]; width],
            b2: vec![Rat::ZERO; width],
        };
        layer.w2[self.to] = sums.iter().flat_map(|_| [unit.clone(), -unit.clone()]).collect();
        Ok(layer)
    }

    /// The sum of the positive terms at a sum `t` that is at least the largest one, which an exact sum has to hold.
    ///
    /// `Q Σ_k (t + 1 - Σ_k)`, and all `Σ_k` together are, by symmetry, `R·n/D` times all codes (with positions `R/D`
    /// times).
    pub fn sum_at(&self, t: &Rat) -> Rat {
        let (nodes, codes) = (&self.nodes, &self.nodes.codes);
        let all = codes.values.iter().fold(Int::ZERO, |sum, code| sum + code);
        let each = Rat::from(Int::from(codes.tokens) * all) / Rat::from(nodes.symbols());
        Rat::from(nodes.symbols()) * Rat::from(nodes.multisets()) * (t + Rat::ONE - each)
    }
}

impl Generator for Rank {
    fn width(&self) -> usize {
        self.read.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let units = Int::from(2) * self.nodes.multisets();
        let reads = self.read.iter().filter(|weight| !weight.is_zero()).count();
        let nonzeros = &units * Int::from(reads + 2);
        let hidden = units.to_usize().unwrap_or(usize::MAX);
        StageSize { layers: Int::ONE, heads: 0, head_size: 0, hidden, units, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new(std::iter::once(self.layer().map(Layer::FeedForward)))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        let sums = self.nodes.sums()?;
        let unit = Rat::from(self.nodes.symbols());
        for token in &mut state {
            let sum = dot(&self.read, token);
            let below = sums.partition_point(|known| Rat::from(known) <= sum);
            // The part of the way to the next.
            let part = sums.get(below).map_or(Rat::ZERO, |next| (sum + Rat::ONE - Rat::from(next)).max(Rat::ZERO));
            token[self.to] += &(&unit * &(Rat::from(below) + part));
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        json!({"read": self.read, "to": self.to, "nodes": self.nodes.to_json()})
    }
}
