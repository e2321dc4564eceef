//! The sum over the sequence, by one attention layer.
//!
//! All scores are equal, so that every weight is `1/n`, with softmax as with hardmax, at any temperature; the factor
//! `n` is in `W_V`:
//!
//! ```text
//! W_Q = W_K = 0   (or both read a channel that is 1),     W_V = n·eᵀ_code,     W_O = S·e_to:
//! to ← to + S Σ_k code_k
//! ```
//!
//! With the code's own register as `to`, and `S = max Φ + 1`, a token holds `S·Σ + c`: an id that names the multiset
//! and the token, **duplicates included**. In floats the factor in `W_V` matters: `fl(1/n)·(n c)` is `c` again
//! (`sumcode/lower/mod.rs`).

use serde::Serialize;
use serde_json::Value;

use super::{basis, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::{Attention, Generator, Head, Layer, LayerKind, Sequence, StageSize};

/// The attention layer's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Sum {
    /// The width of the stream.
    pub width: usize,
    /// The register that is added up.
    pub from: usize,
    /// The register that the sum is added to.
    pub to: usize,
    /// The factor in `W_V`: `n`.
    pub tokens: usize,
    /// The factor in `W_O`.
    pub scale: Int,
    /// The channel that is 1, which queries and keys read; `None` if they are 0.
    pub constant: Option<usize>,
}

impl Sum {
    /// The layer.
    pub fn layer(&self) -> Attention {
        let same =
            self.constant.map_or_else(|| vec![Rat::ZERO; self.width], |constant| basis(self.width, constant, Rat::ONE));
        let head = Head {
            q: vec![same.clone()],
            q_bias: vec![Rat::ZERO],
            k: vec![same],
            v: vec![basis(self.width, self.from, Rat::from(self.tokens))],
            o: basis(self.width, self.to, Rat::from(&self.scale)).into_iter().map(|entry| vec![entry]).collect(),
        };
        Attention::hardmax(vec![head], None)
    }
}

impl Generator for Sum {
    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> LayerKind {
        LayerKind::Attention
    }

    fn size(&self) -> StageSize {
        let nonzeros = Int::from(if self.constant.is_some() { 4 } else { 2 });
        StageSize { layers: Int::ONE, heads: 1, head_size: 1, hidden: 0, units: Int::ZERO, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new(std::iter::once(Ok(Layer::Attention(self.layer()))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        let mean = state.iter().map(|token| &token[self.from]).sum::<Rat>() / Rat::from(state.len());
        let gained = mean * Rat::from(self.tokens) * Rat::from(&self.scale);
        for token in &mut state {
            token[self.to] += &gained;
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}
