//! The loss of uniform heads by rounding.
//!
//! In the execution model `ieee-any-order` a uniform head of each kind gives `Σ_j (1 + θ_j) v_j / n` instead of the mean, `|θ_j| ≤ θ`, apart from
//! what flushing to 0 loses. Kinds count their roundings (a sum of `m` terms: `m − 1`), with `ε` the error of a quotient of two `exp`, `a ⊕ b = a + b + ab`, and
//! `rest = γ(6)`, of which softmax needs no more than 5: `o`, its product, the rounding of a quotient in double before it is one in single
//! precision, and sums of terms of which all but one are 0.

use super::Realisation;
use crate::interval::Up;
use crate::rounding::{Precision, TERMS, compound};

/// The loss of a uniform head by rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// `θ`: relative to the mean of the absolute values.
    pub relative: Up,
    /// The absolute loss, by flushing to 0.
    pub absolute: Up,
}

impl Loss {
    /// The loss of a head over so many tokens; infinite if it does not give the sum.
    pub fn of(realisation: &Realisation, tokens: usize, precision: Precision) -> Self {
        realisation.kind.loss(&realisation.choice, tokens, &Roundings { precision })
    }
}

/// The errors that roundings of a format may come to.
#[derive(Clone, Copy, Debug)]
pub struct Roundings {
    /// The format.
    pub precision: Precision,
}

impl Roundings {
    /// `ε ⊕ γ_k`, with `ε` the error of a quotient of two exponentials.
    pub fn both(&self, roundings: usize) -> Up {
        compound(self.precision.exp_quotient_error(), self.gamma(roundings))
    }

    /// `γ_k`.
    pub fn gamma(&self, k: usize) -> Up {
        self.precision.gamma(k)
    }

    /// A loss of `θ`, and of what is flushed in a sum over the tokens.
    pub fn loss(&self, relative: Up, tokens: usize) -> Loss {
        Loss { relative, absolute: self.precision.flushed(TERMS + tokens) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of operations")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_grow_with_tokens_and_features_and_shrink_with_the_format() {
        let of = |text: &str, tokens, precision| Loss::of(&text.parse().expect(text), tokens, precision).relative;
        for kind in ["softmax", "average", "linformer:4", "performer:4", "performer:4:constant"] {
            let single = of(kind, 64, Precision::F32);
            assert!(single < of(kind, 128, Precision::F32) && of(kind, 64, Precision::F64) < single / 1e8, "{kind}");
        }
        assert!(of("average", 64, Precision::F32) < of("performer:1", 64, Precision::F32));
        assert!(of("performer:4", 64, Precision::F32) < of("performer:4:constant", 64, Precision::F32));
        assert_eq!(of("linformer:4:gaussian", 64, Precision::F64), Up::INFINITY);
        // Too many tokens to say anything.
        assert_eq!(of("average", 1 << 24, Precision::F32), Up::INFINITY);
    }
}
