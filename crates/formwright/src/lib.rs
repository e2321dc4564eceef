//! A compiler from functions to Transformers, with proofs.
pub mod artifact;
pub mod bound;
pub mod compile;
pub mod construct;
pub mod error;
pub mod eval;
pub mod exact;
pub mod input;
pub mod interval;
pub mod lattice;
pub mod network;
pub mod plan;
pub mod target;
pub mod theorems;
