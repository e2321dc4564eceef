//! Averages: `(1/n) Σ_j V_j`, with neither queries nor keys.
//!
//! ```text
//! uniform     no q, no k          v, o as they are
//! loss        γ(n + 1) ⊕ rest     n − 1 in the sum, 1 for 1/n, 1 for its product
//! ```

use super::{Choice, Formula, Integers, Kind, Look, Loss, Roundings, Rows, Step, VALUES};

/// The mean of all values. There are no queries and no keys: the head size is 0.
pub(crate) const FORMULA: Formula =
    Formula { name: "average", steps: &[Step::Mean { of: VALUES }], look: Look::Row { of: Rows(2) } };

/// The average of the values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Average;

impl Kind for Average {
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
        roundings.loss(roundings.gamma(tokens + 7), tokens)
    }

    fn sums_of_integers(&self, _: &Choice, tokens: usize) -> Integers {
        let exact = tokens.is_power_of_two();
        Integers::Divided { divisor: tokens, exact, wanted: "⟨tokens⟩ that are a power of two" }
    }

    fn mixer(&self) -> Option<&'static str> {
        Some("")
    }
}
