//! Alberti et al. 2023: equivariant functions by one sum, and Transformers with one attention layer.
//!
//! | file | content |
//! |---|---|
//! | `transformer` | Theorem 4.3: a Sumformer as a Transformer |
//! | `rounding` | the distance of its executions in floats from it |
//! | `discrete` | the discontinuous proof, as a sum of codes |
//! | [`learned`](mod@learned) | a Sumformer that somebody trained |
//! | `family` | all of them as constructions |
//!
//! The continuous proof is a circuit of the target's normal form.

pub(crate) mod discrete;
pub(crate) mod family;
pub mod learned;
pub(crate) mod rounding;
pub(crate) mod transformer;
