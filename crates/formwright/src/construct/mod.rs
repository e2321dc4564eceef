//! Constructions: one folder a source, one file a lemma.

pub mod yun;
