//! Yun, Chang, Bhojanapalli, Rawat, Reddi, Kumar, "O(n) connections are expressive enough" (2020): the contextual map
//! where token `k` sees only the keys `A_k^l` in layer `l`, layers going through a cycle of `p` such patterns.
//!
//! The pattern satisfies Assumption 1 (`pattern/assumptions.rs`): self-loops, a chain `γ` in which every token is seen
//! by the next one, and `s` layers after which every token has heard of every other. The network is that of Theorem 3
//! for the tokens in the order of the chain:
//!
//! ```text
//! positions   E_γ(1) = n-1,   E_γ(i) = i-2 for i ≥ 2
//! sweep       for i = 2, …, n, for each of the D windows of token γ(i): a cycle of p layers, of which the one with
//!             γ(i-1) ∈ A_γ(i) acts
//! max shifts  x_k ← x_k + M · max_{j ∈ A_k} x_j,      s layers, the cycle from its beginning,      M = 2s D^{n-1} R
//! ```
//!
//! with `R` the largest id before the map. When it is the turn of `γ(i)`, its id is the smallest of all and that of
//! `γ(i-1)` the largest, whatever else it sees; so `l̃_1 = l_1`, `l̃_i = l_i + D(l̃_{i-1} - l_i)` as with all
//! connections, `l̃_1 < … < l̃_n ≤ D^{n-1}R`, and no id is met twice, since `l̃_i > l_1`, above all windows. Each max
//! shift carries the largest id one hop further:
//!
//! ```text
//! x_k ≡ l̃_k (mod M),      M^s l̃_n ≤ x_k ≤ (1+M)^s l̃_n < M^s (l̃_n + 1)
//! ```
//!
//! so `⌊x_k / M^s⌋ = l̃_n` names the sequence, and the remainder modulo `M` the token: a contextual mapping.
//!
//! *Size*: `p(n-1)D + s` attention layers.
//!
//! *Departures*: positions and the number of layers are the paper's as we remember it; the scale `M` and this proof are
//! ours.

use std::sync::Arc;

use super::context::{ContextMap, Hops, Positions, SparseSweep};
use super::{MAX_ID_BITS, MAX_WORK};
use crate::error::{Error, Result};
use crate::exact::Int;
use crate::lattice::Grid;
use crate::pattern::{Assumptions, Pattern};

/// The most tokens of a pattern.
const MOST_TOKENS: usize = 4096;

/// A pattern that satisfies Assumption 1, with the data that the construction needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparse {
    pattern: Pattern,
    order: Vec<usize>,
    served: Vec<usize>,
    hops: usize,
}

impl Sparse {
    /// The data of a pattern; one that does not satisfy the assumption is declined, with a witness.
    pub fn new(pattern: Pattern) -> Result<Arc<Self>> {
        if pattern.tokens() > MOST_TOKENS {
            return Err(Error::declined(format!("{} tokens are too many for the construction", pattern.tokens()))
                .note("limit", format!("{MOST_TOKENS}: its ids have some D^n of digits for each hop"))
                .note("try", "fewer --tokens, or a circuit or sum of codes with sparse:hub"));
        }
        let assumptions = Assumptions::of(&pattern);
        let (order, served, hops) = assumptions.satisfied(&pattern)?;
        let (order, served) = (order.to_vec(), served.to_vec());
        Ok(Arc::new(Self { pattern, order, served, hops }))
    }

    /// The pattern.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The chain `γ`.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The number `s` of max shifts.
    pub fn hops(&self) -> usize {
        self.hops
    }

    /// The contextual map.
    pub(super) fn map(&self, grid: &Grid) -> ContextMap {
        let mut map = ContextMap::new(grid, Positions::Chain(self.order.clone()));
        let longest = map.grid.columns().pow(grid.tokens() - 1) * map.largest_before();
        map.sweep.sparse = Some(SparseSweep { pattern: self.pattern.clone(), served: self.served.clone() });
        map.global.scale = Int::from(2 * self.hops) * longest;
        map.global.sparse = Some(Hops { pattern: self.pattern.clone(), count: self.hops });
        map
    }

    /// Refuses a grid of another number of tokens, and ids that are too large to work with.
    pub(crate) fn check(&self, grid: &Grid) -> Result<()> {
        let (tokens, expected) = (grid.tokens(), self.pattern.tokens());
        if tokens != expected {
            let name = self.pattern.name();
            return Err(Error::input(format!("the pattern {name} is for {expected} tokens, not for {tokens}"))
                .note("try", format!("--tokens {expected}")));
        }
        // M < 2s · D^{n-1} · nND, and an id has less than s of it and l̃.
        let column = grid.dims() as u128 * u128::from(u64::BITS - grid.resolution().leading_zeros());
        let small = |x: usize| u128::from(usize::BITS - x.leading_zeros());
        let longest = (tokens as u128 + 1) * column + small(tokens);
        let bits = self.hops as u128 * (longest + small(2 * self.hops)) + longest;
        let work = (tokens as u128).pow(2) * bits;
        if bits <= MAX_ID_BITS as u128 && work <= MAX_WORK {
            return Ok(());
        }
        let fewer = if self.hops > 2 { ", or a pattern of two hops, such as sparse:star" } else { "" };
        Err(Error::declined(format!("a network of {tokens} tokens with this pattern would be too large to run"))
            .note("size", format!("ids of up to {bits} binary digits, and {work:.1e} bit operations a run"))
            .note(
                "reason",
                format!("each of the s = {} layers that carry the largest id multiplies by some D^n", self.hops),
            )
            .note("limit", format!("{MAX_ID_BITS} binary digits, {MAX_WORK:.1e} bit operations"))
            .note("try", format!("fewer --tokens{fewer}")))
    }
}
