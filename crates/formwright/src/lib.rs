//! A compiler from functions to Transformers, with proofs.
//!
//! A function and a tolerance go in; an explicit Transformer, a proved error and a folder that other programs load come out.
//!
//! ```
//! let model = formwright::build("x - mean(x)").tokens(3).eps("1/100").model()?;
//! assert_eq!((model.family(), model.precision()), ("circuit", "f32"));
//! let certified = model.certified()?.expect("a bound");
//! assert!(certified.budget.bound <= 0.01);
//! let engine = formwright::eval::float::Engine::new(model.float().expect("floats"))?;
//! let y = engine.run(&[vec![vec![0.25], vec![0.5], vec![0.75]]])?;
//! assert!((y[0][0][0] + 0.25).abs() <= certified.budget.bound);
//! # Ok::<(), formwright::error::Error>(())
//! ```
//!
//! The theorems behind it run as well, literally and in exact arithmetic, on a grid that you choose. A stage has two
//! executions, layer by layer and in closed form, from one set of parameters:
//!
//! ```
//! use formwright::eval::{exact, indexed};
//! use formwright::exact::Rat;
//!
//! let model = formwright::build("x - mean(x)").tokens(2).resolution(4).model()?;
//! let network = model.exact().expect("rational numbers from end to end");
//! let x = vec![vec![Rat::new(1, 10)], vec![Rat::new(7, 8)]];
//! // The value at the centres of the two cells, 1/8 and 7/8.
//! let y = indexed::run(network, &x)?;
//! assert_eq!(y, [[Rat::new(-3, 8)], [Rat::new(3, 8)]]);
//! assert_eq!(exact::run(network, &x)?, y);
//! # Ok::<(), formwright::error::Error>(())
//! ```
//!
//! Which construction is taken is decided by a plan, which compares sizes and bounds before anything large is built:
//!
//! ```
//! let plan = formwright::build("x * mean(x)").tokens(2).eps("1/4").norm("l2").plan()?;
//! let first = plan.chosen().expect("a construction that serves");
//! assert!(first.name().starts_with("circuit"));
//! assert!(plan.candidates.iter().any(|row| row.way.family() == "yun" && row.serves()));
//! # Ok::<(), formwright::error::Error>(())
//! ```
//!
//! Where to look next: [`construct`] has the constructions and their registry, [`model`] what they are asked,
//! [`artifact`] the folder on disk, [`theorems`] the statements and what checks them. ARCHITECTURE.md has the map.

// What is public has a public name.
#![warn(unnameable_types)]

pub mod artifact;
pub mod bound;
pub mod compile;
pub mod construct;
pub mod contextual;
pub mod error;
pub mod eval;
pub mod exact;
pub mod explore;
pub mod export;
mod files;
mod front;
pub(crate) mod host;
pub mod input;
pub mod interval;
pub mod lattice;
pub(crate) mod lower;
pub mod markdown;
pub(crate) mod meaning;
pub mod model;
pub mod network;
pub mod option;
pub mod pattern;
pub mod plan;
pub mod questions;
pub mod random;
pub mod report;
pub(crate) mod rounding;
pub mod runtime;
pub mod show;
pub mod target;
pub mod theorems;
pub mod words;
pub mod zoo;

pub use front::{Build, build, open};

// The tests name the crate as a user does.
#[cfg(test)]
extern crate self as formwright;
#[cfg(test)]
#[path = "../tests/mod.rs"]
mod tests;
