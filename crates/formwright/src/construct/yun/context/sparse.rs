//! Yun, Chang, Bhojanapalli, Rawat, Reddi, Kumar, "O(n) connections are expressive enough" (2020): the contextual map
//! where token `k` sees only the keys `A_k^l` in layer `l`, layers going through a cycle of `p` such patterns.
//!
//! The pattern satisfies Assumption 1 (`pattern/assumptions.rs`): every token sees itself, a chain `γ` goes through all
//! tokens, each seen by the next one, and after `s` layers every token has heard of every other. The map is that of
//! Theorem 3, repaired (positional.rs), for the tokens in the order of the chain:
//!
//! ```text
//! positions   E_γ(1) = n-1,   E_γ(i) = i-2 for i ≥ 2
//! sweep       for i = 2, …, n, for each of the D windows of token γ(i):
//!                 a cycle of p layers, of which the one with γ(i-1) ∈ A_γ(i) acts
//! max shifts  x_k ← x_k + M · max_{j ∈ A_k} x_j,      s layers, the cycle from its beginning,      M = 2s D^{n-1} R
//! ```
//!
//! with `R` the largest id before the map. When it is the turn of `γ(i)`, its id is the smallest of all and that of
//! `γ(i-1)` the largest, whatever else it sees. So, as with all connections,
//!
//! ```text
//! l̃_1 = l_1,      l̃_i = l_i + D(l̃_{i-1} - l_i),      l̃_1 < … < l̃_n ≤ D^{n-1}R,
//! ```
//!
//! and no id is met twice, since `l̃_i > l_1`, above all windows. Each max shift carries the largest id one hop
//! further:
//!
//! ```text
//! x_k ≡ l̃_k (mod M),      M^s l̃_n ≤ x_k ≤ (1+M)^s l̃_n < M^s (l̃_n + 1)
//! ```
//!
//! so `⌊x_k / M^s⌋ = l̃_n` names the sequence, and the rest modulo `M` the token: a contextual mapping.
//!
//! *Size*: `p(n-1)D + s` attention layers.
//!
//! *Departures*: positions and the number of layers are the paper's as we remember it; the scale `M` and this proof are
//! ours.

use serde::{Deserialize, Serialize};

use super::head::head;
use super::{ContextMap, Positions};
use crate::construct::yun::sparse::Sparse;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::network::{Attention, Head, Layer};
use crate::pattern::{Connections, Pattern};

/// The connections of a sweep. A window takes a whole cycle of layers, of which one acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SparseSweep {
    /// The keys that tokens see, layer after layer.
    pub pattern: Pattern,
    /// For each run of windows, the layer of the cycle that acts.
    pub served: Vec<usize>,
}

/// The connections of the max shifts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hops {
    /// The keys that tokens see, layer after layer.
    pub pattern: Pattern,
    /// How many layers there are, `s`.
    pub count: usize,
}

impl ContextMap {
    /// The map under a pattern.
    pub(in crate::construct::yun) fn sparse(grid: &Grid, sparse: &Sparse) -> Self {
        let mut map = Self::new(grid, Positions::Chain(sparse.order().to_vec()));
        let (pattern, hops) = (sparse.pattern(), sparse.hops());
        let largest_shifted = grid.columns().pow(grid.tokens() - 1) * map.largest_before();
        map.sweep.sparse = Some(SparseSweep { pattern: pattern.clone(), served: sparse.served().to_vec() });
        map.global.scale = Int::from(2 * hops) * largest_shifted;
        map.global.sparse = Some(Hops { pattern: pattern.clone(), count: hops });
        map
    }
}

impl SparseSweep {
    /// The connections of the layer in which a run of windows acts.
    pub(super) fn connections(&self, run: usize) -> Option<&Connections> {
        self.served.get(run).map(|layer| self.pattern.layer(*layer))
    }

    /// The cycle of layers of a window of this run. One has the heads; the others have heads that add nothing.
    pub(super) fn cycle(&self, run: usize, heads: &[Head]) -> Vec<Layer> {
        let served = self.served.get(run).copied();
        let idle = |acting: &Head| head(&vec![Rat::ZERO; acting.o.len()], &Rat::ZERO, Rat::ZERO);
        let layer = |(index, connections): (usize, &Connections)| {
            let acts = Some(index) == served;
            let heads = if acts { heads.to_vec() } else { heads.iter().map(idle).collect() };
            Layer::Attention(Attention::hardmax(heads, Some(connections.clone())))
        };
        self.pattern.cycle().iter().enumerate().map(layer).collect()
    }

    /// Refuses a pattern in which one of so many runs of windows does not act.
    pub(super) fn check(&self, runs: usize, grid: &Grid) -> Result<(), String> {
        if self.served.len() != runs || self.served.iter().any(|layer| *layer >= self.pattern.period()) {
            return Err("a run of windows acts in no layer of the pattern".to_owned());
        }
        fits(&self.pattern, grid)
    }
}

impl Hops {
    /// Refuses a number of layers that no broadcast has.
    pub(super) fn check(&self, grid: &Grid) -> Result<(), String> {
        // A way without detours has at most n-1 steps, and waits less than a cycle for each.
        let most = self.pattern.period() * self.pattern.tokens();
        match self.count {
            0 => Err("no layer broadcasts the largest id".to_owned()),
            count if count > most => Err(format!("{count} layers broadcast the largest id, and {most} are enough")),
            _ => fits(&self.pattern, grid),
        }
    }
}

/// Refuses a pattern of another number of tokens.
fn fits(pattern: &Pattern, grid: &Grid) -> Result<(), String> {
    let (found, expected) = (pattern.tokens(), grid.tokens());
    if found == expected { Ok(()) } else { Err(format!("a pattern of {found} tokens, expected {expected}")) }
}
