//! The loss of uniform heads by rounding.
//!
//! In the execution model `ieee-any-order` a uniform head of each kind gives `Σ_j (1 + θ_j) v_j / n` instead of the
//! mean, `|θ_j| ≤ θ`, apart from what flushing to 0 loses. Kinds count their roundings (a sum of `m` terms: `m − 1`),
//! with `η` the error of `exp`, `a ⊕ b = a + b + ab`, and `rest = γ(6)`, of which softmax needs no more than 5: `o`,
//! its product, the rounding of a quotient in double before it is one in single precision, and sums of terms of which
//! all but one are 0.

use super::Realisation;
use crate::network::Precision;

/// The loss of a uniform head by rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// `θ`: relative to the mean of the absolute values.
    pub relative: f64,
    /// The effect of flushing to 0.
    pub absolute: f64,
}

impl Loss {
    /// Of a head over so many tokens; infinite if it does not give the sum.
    pub fn of(realisation: &Realisation, tokens: usize, precision: Precision) -> Self {
        realisation.kind.loss(&realisation.choice, tokens, &Roundings { precision })
    }
}

/// The roundings of a format, and how much they may come to.
#[derive(Clone, Copy, Debug)]
pub struct Roundings {
    /// The format.
    pub precision: Precision,
}

impl Roundings {
    /// `2η`: an exponential, and the sum that it is divided by.
    pub fn exps(&self) -> f64 {
        let exp = match self.precision {
            Precision::F32 => 2_f64.powi(-20),
            Precision::F64 => 2_f64.powi(-49),
        };
        2.0 * exp * (1.0 + 1e-5)
    }

    /// `2η ⊕ γ_k`.
    pub fn both(&self, roundings: usize) -> f64 {
        let exps = self.exps();
        (exps + self.gamma(roundings) * (1.0 + exps)) * (1.0 + 1e-12)
    }

    /// `γ_k`, rounded up.
    pub fn gamma(&self, k: usize) -> f64 {
        let ku = float(k) * 0.5_f64.powi(i32::try_from(self.precision.digits()).unwrap_or(53));
        if ku < 0.5 { ku / (1.0 - ku) * (1.0 + 1e-12) } else { f64::INFINITY }
    }

    /// A loss of `θ`, and of what is flushed in a sum over the tokens: up to 2^16 terms are.
    pub fn loss(&self, relative: f64, tokens: usize) -> Loss {
        let tiny = match self.precision {
            Precision::F32 => 2_f64.powi(-110),
            Precision::F64 => 2_f64.powi(-1000),
        };
        Loss { relative, absolute: tiny * (1.0 + float(tokens) / 65536.0) }
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
        assert!(of("linformer:4:gaussian", 64, Precision::F64).is_infinite());
        // Too many tokens to say anything.
        assert!(of("average", 1 << 24, Precision::F32).is_infinite());
    }
}
