//! The head `ψ` of Lemma 6, of size one, under hardmax.
//!
//! ```text
//! ψ(Z; b) = e_1 uᵀZ σ_H[(uᵀZ)ᵀ(uᵀZ - b1ᵀ)]
//! ```
//!
//! Token `j` scores token `k` by `id_k (id_j - b)`. So it attends to the largest id if `id_j > b`, to the smallest if
//! `id_j < b`, and to all alike if `id_j = b`: the head adds to its first row
//!
//! ```text
//! max_k id_k   for id_j > b,      min_k id_k   for id_j < b,      the mean of all   for id_j = b.
//! ```
//!
//! Where connections are sparse, `k` runs over the tokens that `j` sees.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::super::basis;
use crate::exact::Rat;
use crate::network::{Head, Sequence, dot};
use crate::pattern::Connections;

/// `scale · ψ(Z; b)`.
pub(super) fn head(u: &[Rat], b: &Rat, scale: Rat) -> Head {
    let row = vec![u.to_vec()];
    let o = basis(u.len(), 0, scale).into_iter().map(|entry| vec![entry]).collect();
    Head { q: row.clone(), q_bias: vec![-b.clone()], k: row.clone(), v: row, o }
}

/// The ids that a token sees.
pub(super) fn seen<'a>(ids: &'a [Rat], connections: Option<&Connections>, token: usize) -> Cow<'a, [Rat]> {
    match connections {
        None => Cow::Borrowed(ids),
        Some(connections) => Cow::Owned(connections.keys(token).iter().map(|key| ids[*key].clone()).collect()),
    }
}

/// The largest and the smallest of some ids, and the ids themselves for their mean: all that a head can give.
pub(super) struct Extremes<'a> {
    max: &'a Rat,
    min: &'a Rat,
    ids: &'a [Rat],
}

impl<'a> Extremes<'a> {
    pub(super) fn of(ids: &'a [Rat]) -> Self {
        let max = ids.iter().max().expect("a sequence has tokens");
        let min = ids.iter().min().expect("a sequence has tokens");
        Self { max, min, ids }
    }

    /// `ψ(·; b)` at a token whose id compares to `b` like this.
    pub(super) fn attended(&self, id_to_b: Ordering) -> Cow<'a, Rat> {
        match id_to_b {
            Ordering::Greater => Cow::Borrowed(self.max),
            Ordering::Less => Cow::Borrowed(self.min),
            Ordering::Equal => Cow::Owned(self.ids.iter().sum::<Rat>() / Rat::from(self.ids.len())),
        }
    }

    /// `ψ(·; v-w) - ψ(·; v+w)` at a token whose id is `v + offset`, for `|offset| ≤ w`.
    pub(super) fn selected(&self, offset: &Rat, w: &Rat) -> Rat {
        let (to_low, to_high) = ((-offset.clone()).cmp(w).reverse(), offset.cmp(w));
        self.attended(to_low).as_ref() - self.attended(to_high).as_ref()
    }
}

/// Adds to each token's first row the number that `gains` makes of the ids.
pub(super) fn shift_first_row(state: &mut Sequence, u: &[Rat], gains: impl Fn(&[Rat]) -> Vec<Rat>) {
    let ids: Vec<Rat> = state.iter().map(|token| dot(u, token)).collect();
    for (token, gain) in state.iter_mut().zip(gains(&ids)) {
        token[0] += &gain;
    }
}
