//! Layers: attention and feed-forward, both with a skip connection.
//!
//! With `X` the state, tokens as columns,
//!
//! ```text
//! Attn(X) = X + Σ_heads W_O (W_V X) · σ[ (W_K X)ᵀ (W_Q X + b_Q 1ᵀ) ]      σ acts on each column
//! FF(X)   = X + W_2 φ(W_1 X + b_1 1ᵀ) + b_2 1ᵀ
//! ```
//!
//! Column `j` of the scores belongs to query token `j`; with connections, `σ` acts on the keys that the token sees and
//! no others. A sub-layer whose `W_O`, or whose `W_2` and `b_2`, are zero is the identity: this allows a construction
//! to stack runs of one kind.

use std::ops::Range;

use serde::Serialize;

use super::{Activation, Matrix};
use crate::exact::Rat;
use crate::pattern::Connections;

/// The map from scores to weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Normaliser {
    /// All weight on the largest score, in equal parts where several are largest.
    Hardmax,
    /// `1/n` on each of the `n` keys, regardless of the scores.
    Average,
    /// 1 on each key, whatever the scores: what kinds of attention come to that have no normaliser, where queries and keys are 0.
    Sum,
}

/// One attention head of any size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Head {
    /// `W_Q`, `[head size][width]`.
    pub q: Matrix,
    /// `b_Q`, `[head size]`.
    pub q_bias: Vec<Rat>,
    /// `W_K`, `[head size][width]`.
    pub k: Matrix,
    /// `W_V`, `[value size][width]`.
    pub v: Matrix,
    /// `W_O`, `[width][value size]`.
    pub o: Matrix,
}

/// An attention layer with any number of heads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Attention {
    /// The map from scores to weights.
    pub normaliser: Normaliser,
    /// The heads; their contributions are added.
    pub heads: Vec<Head>,
    /// The keys that each query sees; all of them if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
}

impl Attention {
    /// Hardmax attention.
    pub fn hardmax(heads: Vec<Head>, connections: Option<Connections>) -> Self {
        Self { normaliser: Normaliser::Hardmax, heads, connections }
    }
}

/// A feed-forward layer, the same for every token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FeedForward {
    /// `W_1`, `[hidden][width]`.
    pub w1: Matrix,
    /// `b_1`, `[hidden]`.
    pub b1: Vec<Rat>,
    /// The activation of each hidden unit.
    pub activations: Vec<Activation>,
    /// `W_2`, `[width][hidden]`.
    pub w2: Matrix,
    /// `b_2`, `[width]`.
    pub b2: Vec<Rat>,
}

impl FeedForward {
    /// One hidden unit: `Z ← Z + direction · φ(readᵀZ + bias)`.
    pub fn unit(read: Vec<Rat>, bias: Rat, activation: Activation, direction: Vec<Rat>) -> Self {
        let b2 = vec![Rat::ZERO; direction.len()];
        let w2 = direction.into_iter().map(|entry| vec![entry]).collect();
        Self { w1: vec![read], b1: vec![bias], activations: vec![activation], w2, b2 }
    }
}

impl FeedForward {
    /// The layers that clip some rows to `[-bound, bound]`, two rows per layer: `Z ← Z + max(-Z-B, 0) - max(Z-B, 0)`.
    pub fn clip(width: usize, rows: Range<usize>, bound: &Rat) -> Vec<Self> {
        let layer = |first: usize| {
            let rows: Vec<usize> = (first..rows.end.min(first + 2)).collect();
            let mut layer = Self {
                w1: Vec::new(),
                b1: vec![-bound.clone(); 2 * rows.len()],
                activations: vec![Activation::Relu; 2 * rows.len()],
                w2: vec![vec![Rat::ZERO; 2 * rows.len()]; width],
                b2: vec![Rat::ZERO; width],
            };
            for (place, row) in rows.into_iter().enumerate() {
                for (side, sign) in [-Rat::ONE, Rat::ONE].into_iter().enumerate() {
                    let mut read = vec![Rat::ZERO; width];
                    read[row] = sign.clone();
                    layer.w1.push(read);
                    layer.w2[row][2 * place + side] = -sign;
                }
            }
            layer
        };
        rows.clone().step_by(2).map(layer).collect()
    }
}

/// A layer of either kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Layer {
    /// An attention layer.
    Attention(Attention),
    /// A feed-forward layer.
    FeedForward(FeedForward),
}

/// The kind of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// Attention.
    Attention,
    /// Feed-forward.
    FeedForward,
}

impl LayerKind {
    /// `attention` or `feed-forward`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::FeedForward => "feed-forward",
        }
    }
}

#[cfg(test)]
/// A Transformer block; an absent sub-layer is the identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The attention sub-layer, which comes first.
    pub attention: Option<Attention>,
    /// The feed-forward sub-layer after it.
    pub feed_forward: Option<FeedForward>,
}
