//! Alberti et al. 2023, the continuous route: a target as `ψ(x_i, Σ_k φ(x_k))`, before any network is made of it.
//!
//! | file | content |
//! |---|---|
//! | [`continuous`] | Theorem 4.1: a target's normal form, in a basis |
//! | [`polynomial`] | polynomials, and targets that are polynomials |
//! | [`power_sums`] | the normal form of an equivariant polynomial: `φ(x) = (x^α)`, `ψ` a polynomial |
//! | `psi` | `ψ` as an expression |
//! | [`hats`] | the normal form of any continuous target of two tokens: hat functions |
//! | [`fit`] | polynomials near any target |

pub mod continuous;
pub mod fit;
pub mod hats;
pub mod polynomial;
pub mod power_sums;
mod psi;

/// The name of the family whose circuits are of normal forms.
pub(super) const FAMILY: &str = "sumformer";
