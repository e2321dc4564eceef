//! A compiler from functions to Transformers, with proofs.
//!
//! ```text
//! target ──▶ plan ──▶ construct ──▶ network ──▶ artifact
//! what f is   which     theorems      the IR      a folder on disk
//!             theorem   bound proves an error, eval runs any network
//! ```
//!
//! A [`Request`](compile::Request) says which function, on how many tokens, how finely or how precisely; [`compile`](compile::compile())
//! makes a [`Model`](compile::Model) of it: the network, and what is proved about it.
//!
//! ```
//! use formwright::compile::{Arithmetic, Construction, Request, Tolerance, compile};
//! use formwright::construct::yun::Options;
//! use formwright::eval::{exact, indexed};
//! use formwright::exact::Rat;
//! use formwright::network::Realisation;
//! use formwright::target::Source;
//!
//! let model = compile(&Request {
//!     source: Source::expression("centring", "x - mean(x)")?,
//!     tokens: Some(2),
//!     dims: Some(1),
//!     resolution: Some(4),
//!     construction: Some(Construction::Yun),
//!     options: Options::default(),
//!     trade: None,
//!     attention: Realisation::Softmax,
//!     assume_equivariant: false,
//!     tolerance: Tolerance::default(),
//!     arithmetic: Arithmetic::Exact,
//! })?;
//! let x = vec![vec![Rat::new(1, 10)], vec![Rat::new(7, 8)]];
//! let network = &model.lattice().expect("Yun et al. build a lattice network").network;
//! let y = indexed::run(network, &x)?;
//! // The value at the centres of the two cells, 1/8 and 7/8.
//! assert_eq!(y, [[Rat::new(-3, 8)], [Rat::new(3, 8)]]);
//! // Every layer of the network, one after the other, does the same.
//! assert_eq!(exact::run(network, &x)?, y);
//! # Ok::<(), formwright::error::Error>(())
//! ```
//!
//! Where to look: ARCHITECTURE.md has the map, [`theorems`] the statements and what checks them.

pub mod artifact;
pub mod bound;
pub mod compile;
pub mod construct;
pub mod contextual;
pub mod error;
pub mod eval;
pub mod exact;
pub mod export;
pub mod input;
pub mod interval;
pub mod lattice;
pub mod lower;
pub mod network;
pub mod pattern;
pub mod plan;
pub mod questions;
pub mod random;
pub mod report;
pub mod rounding;
pub mod target;
pub mod theorems;
pub mod words;

// The tests name the crate as a user does.
#[cfg(test)]
extern crate self as formwright;
#[cfg(test)]
#[path = "../tests/mod.rs"]
mod tests;
