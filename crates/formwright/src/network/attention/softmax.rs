//! Softmax attention: `Σ_j softmax_j(K_jᵀQ_i) V_j` over the tokens that are seen. Where all scores are equal, it is
//! the mean.
//!
//! ```text
//! uniform     q = 0 or k = 0: p_j = 1/n   as it is
//! loss        2η + γ(2n + 1 + 5)          exp and Σ exp; n − 1 in the sum, a quotient, or a reciprocal and a product,
//!                                         n in the weighted sum
//! ```

use super::{Choice, Formula, Integers, KEYS, Kind, Look, Loss, Roundings, VALUES};
use crate::error::Result;
use crate::network::FloatNetwork;

/// Softmax over the keys that are seen.
pub(crate) const FORMULA: Formula =
    Formula { name: "softmax", steps: &[], look: Look::Softmax { keys: KEYS, values: VALUES } };

/// Softmax attention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Softmax;

impl Kind for Softmax {
    fn name(&self) -> &'static str {
        FORMULA.name
    }

    fn formula(&self) -> &'static Formula {
        &FORMULA
    }

    fn gives_sum(&self) -> bool {
        false
    }

    fn loss(&self, _: &Choice, tokens: usize, roundings: &Roundings) -> Loss {
        roundings.loss(roundings.both(2 * tokens + 6), tokens)
    }

    fn sums_of_integers(&self, _: &Choice, _: usize) -> Integers {
        Integers::Shares
    }

    fn realise(&self, _: &Choice, network: FloatNetwork) -> Result<FloatNetwork> {
        Ok(network)
    }
}
