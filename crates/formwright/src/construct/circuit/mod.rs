//! The circuit construction: any expression, any length, certified in the supremum norm.

pub mod analysis;
pub mod form;
pub mod graph;
pub mod hinges;
pub mod layout;
pub mod profile;
pub mod translate;

use crate::bound::Budget;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::network::{FloatNetwork, Precision};
use crate::target::Checked;

/// What hidden units are traded for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trade {
    /// Wide feed-forward blocks, as few as possible: squares and products by piecewise-linear functions.
    #[default]
    Width,
    /// Narrow blocks, many of them: squares and products by sawtooth gates.
    Depth,
}

impl Trade {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Width => "width",
            Self::Depth => "depth",
        }
    }
}

/// What is asked of a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The number of tokens.
    pub tokens: usize,
    /// The largest error, in the supremum norm.
    pub eps: Rat,
    /// The format of the weights and of the execution.
    pub precision: Precision,
    /// What hidden units are traded for.
    pub trade: Trade,
}

/// One gate or aggregation of a circuit, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// A short name, unique in the circuit.
    pub name: String,
    /// What it computes, in the language, of the names of other gates.
    pub formula: String,
    /// `unary`, `product`, `attention`, …
    pub kind: &'static str,
    /// The block that computes it (its last one), counted from 0.
    pub block: usize,
    /// Its hidden units.
    pub units: usize,
    /// Its heads.
    pub heads: usize,
    /// The smallest and the largest value.
    pub range: (f64, f64),
    /// What its own approximation adds to the error of the output, at most.
    pub share: f64,
}

/// A compiled circuit.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// The network.
    pub network: FloatNetwork,
    /// The proved error, in the supremum norm, with a term for each gate and one for rounding.
    pub budget: Budget,
    /// The circuit, in the order of execution.
    pub gates: Vec<Gate>,
    /// The numbers of tokens for which the bound holds.
    pub lengths: (usize, usize),
    /// On integers, where every output is one: the distance from the computed value to the nearest wrong answer, at least.
    pub margin: Option<f64>,
}

/// Compiles a target into a circuit, or says why not.
pub fn compile(target: &Checked, wish: &Wish) -> Result<Compiled> {
    let _ = (target, wish);
    Err(Error::declined("circuits are not built yet"))
}
