//! Alberti et al. 2023: equivariant functions by one sum, and Transformers with one attention layer.
//!
//! | file | content |
//! |---|---|
//! | [`transformer`] | Theorem 4.3: a Sumformer as a Transformer |
//! | [`rounding`] | the distance of its executions in floats from it |
//! | [`continuous`] | Theorem 4.1, the continuous route: a target's normal form, compiled as a circuit |
//! | [`polynomial`] | polynomials, and targets that are polynomials |
//! | [`power_sums`] | the normal form of an equivariant polynomial: `φ(x) = (x^α)`, `ψ` a polynomial |
//! | `psi` | `ψ` as an expression |
//! | [`hats`] | the normal form of any continuous target of two tokens: hat functions |
//! | [`fit`] | polynomials near any target |
//! | [`learned`](mod@learned) | a Sumformer that somebody trained |
//! | [`family`] | all of them as constructions |

pub mod continuous;
pub mod family;
pub mod fit;
pub mod hats;
pub mod learned;
pub mod polynomial;
pub mod power_sums;
mod psi;
pub mod rounding;
pub mod transformer;
