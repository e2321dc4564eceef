//! Alberti et al. 2023: equivariant functions by one sum, and Transformers with one attention layer.
//!
//! | file | what |
//! |---|---|
//! | [`transformer`] | Theorem 4.3: a Sumformer as a Transformer |

pub mod transformer;
