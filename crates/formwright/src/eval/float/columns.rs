//! The arrangement of sequences in lanes.
//!
//! ```text
//! across    a group is a token, its lanes are up to 32 sequences         many short sequences
//! along     a group is 32 tokens of one sequence, its lanes are tokens   few sequences, or long ones
//! ```
//!
//! Both compute the same sums in the same order, so that the choice affects only speed.

use std::ops::Range;

use super::real::Real;
use super::tile::{LANES, Lanes};

/// Sequences of one length, side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// Tokens of a sequence.
    pub tokens: usize,
    /// The number of sequences; one, if its tokens are the lanes.
    sequences: usize,
    /// True if tokens are the lanes.
    pub along: bool,
}

impl Columns {
    /// The number of sequences of that length that are run together.
    pub fn together(tokens: usize) -> usize {
        if tokens < LANES { LANES } else { 1 }
    }

    /// Splits so many sequences, at most [`Columns::together`], into tasks, each with its range of sequences.
    pub fn tasks(tokens: usize, sequences: usize) -> impl Iterator<Item = (Self, Range<usize>)> {
        // The cost in groups: `sequences` of them or `tokens`.
        let along = sequences * tokens.div_ceil(LANES) <= tokens;
        let tasks = if along { sequences } else { 1 };
        let each = sequences / tasks.max(1);
        (0..tasks).map(move |task| (Self { tokens, sequences: each, along }, task * each..(task + 1) * each))
    }

    /// The number of groups of lanes.
    pub fn groups(&self) -> usize {
        if self.along { self.tokens.div_ceil(LANES) } else { self.tokens }
    }

    /// The number of lanes of a group that are in use.
    pub fn lanes(&self, group: usize) -> usize {
        if self.along { LANES.min(self.tokens - group * LANES) } else { self.sequences }
    }

    /// The number of tiles of a group that are in use.
    pub fn tiles<const S: usize>(&self, group: usize) -> usize {
        self.lanes(group).div_ceil(S)
    }

    /// The token in a lane of a group.
    pub fn token(&self, group: usize, lane: usize) -> usize {
        if self.along { group * LANES + lane } else { group }
    }

    /// The index of a column in `[sequences][tokens]`.
    fn place(&self, group: usize, lane: usize) -> usize {
        if self.along { group * LANES + lane } else { lane * self.tokens + group }
    }

    /// Copies `[sequences][tokens][dims]` into lanes, `[groups][dims]`; lanes that are left over hold zeros.
    pub fn pack<T: Real>(&self, x: &[f64], dims: usize, into: &mut Vec<Lanes<T>>) {
        into.clear();
        into.resize(self.groups() * dims, [T::ZERO; LANES]);
        for (group, lanes) in into.chunks_exact_mut(dims).enumerate() {
            for lane in 0..self.lanes(group) {
                let token = &x[self.place(group, lane) * dims..][..dims];
                lanes.iter_mut().zip(token).for_each(|(lanes, entry)| lanes[lane] = T::nearest(*entry));
            }
        }
    }

    /// Copies lanes, `[groups][dims]`, into `[sequences][tokens][dims]`.
    pub fn unpack<T: Real>(&self, state: &[Lanes<T>], dims: usize, out: &mut [f64]) {
        for (group, lanes) in state.chunks_exact(dims).enumerate() {
            for lane in 0..self.lanes(group) {
                let token = &mut out[self.place(group, lane) * dims..][..dims];
                token.iter_mut().zip(lanes).for_each(|(entry, lanes)| *entry = lanes[lane].to_f64());
            }
        }
    }
}
