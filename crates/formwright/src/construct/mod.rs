//! Constructions: one folder a source, one file a lemma.

pub mod circuit;
pub mod sumformer;
pub mod yun;
