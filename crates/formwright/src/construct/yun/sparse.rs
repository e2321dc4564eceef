//! Yun, Chang, Bhojanapalli, Rawat, Reddi, Kumar, "O(n) connections are expressive enough" (2020): the network of
//! Theorem 3 where tokens see few others.
//!
//! Its contextual map is that of `context/sparse.rs`, which holds for every pattern that satisfies Assumption 1
//! (`pattern/assumptions.rs`); quantiser and value map have no attention and stay as they are. Here a pattern is held
//! to the assumption, and its chain `γ` and its number of hops `s` are kept.
//!
//! *Size*: `ndN` feed-forward, `p(n-1)D + s` attention and `n·D^n` feed-forward layers.

use std::sync::Arc;

use super::{MAX_ID_BITS, MAX_WORK};
use crate::error::{Error, Result};
use crate::lattice::Grid;
use crate::pattern::{Assumptions, Pattern};

/// The most tokens of a pattern.
const MOST_TOKENS: usize = 4096;

/// A pattern that satisfies Assumption 1, with the data that the construction needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sparse {
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
                .note("try", "fewer ⟨tokens⟩, or a circuit or sum of codes with sparse:hub"));
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

    /// For each token of the chain but the first, the layer of the cycle in which it sees the one before it.
    pub fn served(&self) -> &[usize] {
        &self.served
    }

    /// The number `s` of max shifts.
    pub fn hops(&self) -> usize {
        self.hops
    }

    /// Refuses a grid of another number of tokens, and ids that could not be worked with.
    pub(crate) fn check(&self, grid: &Grid) -> Result<()> {
        let (tokens, expected) = (grid.tokens(), self.pattern.tokens());
        if tokens != expected {
            let name = self.pattern.name();
            return Err(Error::input(format!("the pattern {name} is for {expected} tokens, not for {tokens}"))
                .note("try", format!("⟨tokens={expected}⟩")));
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
            .note("try", format!("fewer ⟨tokens⟩{fewer}")))
    }
}
