//! Linformers: keys and values are mixed over the tokens first, `Σ_a softmax_a((Σ_j e_aj K_j)ᵀQ_i) Σ_j f_aj V_j`.
//!
//! ```text
//! uniform     q = k = 0, f = 1, e drawn          v/n: the head gives the sum, for every e
//! loss        2η ⊕ γ(n + 2k + 1) ⊕ rest          scores are 0, so that all k weights are 1/k, rounded once; n in each
//!                                                mixture; 1 for v/n
//! gaussian    f drawn like e, as in practice     no sum: token j weighs Σ_a p_a f_aj, which depends on its place
//! integers    weights are 1/k, exact for a power of two k
//! ```

#[cfg(test)]
use super::Realisation;
use super::{Choice, Formula, Gaussians, Integers, KEYS, Kind, Look, Loss, Roundings, Rows, Sizes, Step, VALUES};
use crate::error::Error;
use crate::exact::Rat;
use crate::interval::Up;

/// Softmax over mixtures: `e` mixes keys, `f` values.
pub(crate) const FORMULA: Formula = Formula {
    name: "linformer",
    steps: &[Step::Mixed { of: KEYS, by: "e" }, Step::Mixed { of: VALUES, by: "f" }],
    look: Look::Softmax { keys: Rows(2), values: Rows(3) },
};

/// Keys and values are mixed over the tokens first. The variant draws `f`: it does not give the sum, and is there to
/// show that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linformer;

impl Linformer {
    #[cfg(test)]
    /// The realisation with `f = 1`.
    pub fn of(size: usize, seed: u64) -> Realisation {
        Realisation { kind: &Self, choice: Choice { size, variant: false, at: seed } }
    }

    #[cfg(test)]
    /// The realisation with `f` drawn.
    pub fn gaussian(size: usize, seed: u64) -> Realisation {
        Realisation { kind: &Self, choice: Choice { size, variant: true, at: seed } }
    }
}

impl Kind for Linformer {
    fn name(&self) -> &'static str {
        FORMULA.name
    }

    fn formula(&self) -> &'static Formula {
        &FORMULA
    }

    fn variant(&self) -> Option<&'static str> {
        Some("gaussian")
    }

    fn gives_sum(&self) -> bool {
        true
    }

    fn no_sum(&self, choice: &Choice) -> Option<Error> {
        choice.variant.then(|| {
            Error::declined("a Linformer that mixes values at random does not give their sum")
                .note("reason", "each token weighs Σ_a p_a f_aj, which depends on its place; for f = 1 it is 1")
                .note("try", "⟨attention=linformer⟩")
        })
    }

    fn weights(&self, choice: &Choice, tokens: usize) -> Vec<Rat> {
        let sizes = Sizes { heads: 1, head_size: 1, tokens };
        let mut tensors = self.tensors(choice, &sizes, &mut Gaussians::new(choice.at));
        let f = tensors.pop().unwrap_or_default();
        let entry = |row: usize, token: usize| Rat::from_f64(f[row * tokens + token]).unwrap_or_default();
        let weight = |token| (0..choice.size).map(|row| entry(row, token)).sum::<Rat>() / Rat::from(choice.size);
        (0..tokens).map(weight).collect()
    }

    fn loss(&self, choice: &Choice, tokens: usize, roundings: &Roundings) -> Loss {
        let relative = if choice.variant { Up::INFINITY } else { roundings.both(tokens + 2 * choice.size + 7) };
        roundings.loss(relative, tokens)
    }

    fn sums_of_integers(&self, choice: &Choice, _: usize) -> Integers {
        let exact = choice.size.is_power_of_two();
        Integers::Divided { divisor: choice.size, exact, wanted: "linformer:k with a power of two k" }
    }

    fn drawn(&self, tokens: usize) -> Option<(usize, &'static str)> {
        Some((2 * tokens, "mixtures of all tokens, twice"))
    }

    fn tensors(&self, choice: &Choice, sizes: &Sizes, draws: &mut Gaussians) -> Vec<Vec<f64>> {
        let entries = sizes.heads * choice.size * sizes.tokens;
        let e = draws.draw(entries);
        let f = if choice.variant { draws.draw(entries) } else { vec![1.0; entries] };
        vec![e, f]
    }

    fn theorem(&self) -> &'static str {
        "Theorem 4.4"
    }

    fn mixer(&self) -> Option<&'static str> {
        Some("[:k][:gaussian][@SEED]")
    }
}
