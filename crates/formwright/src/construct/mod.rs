//! Constructions: one folder per source, one file per lemma.

pub mod circuit;
pub mod sumcode;
pub mod sumformer;
pub mod yun;
