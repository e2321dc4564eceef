//! Error budgets: how far a network can be from its target, term by term.
//!
//! | file | what |
//! |---|---|
//! | `norm.rs` | norms, and rounding up |
//! | `piecewise.rs` | Lemma 8 and the duplicates of Theorem 2: cell by cell, or uniformly |
//! | `supremum.rs` | what a bound in the supremum norm says in others |
//! | `measured.rs` | the error as it is sampled, in `L^p` |
//! | `ascent.rs` | the error as it is searched for, in the supremum norm |
//! | `baseline.rs` | the error of the best constant, beside which every bound is read |
//! | `resolution.rs` | the smallest grid that meets a tolerance |

pub(crate) mod ascent;
pub mod baseline;
pub(crate) mod measured;
pub mod norm;
pub(crate) mod piecewise;
pub(crate) mod resolution;
pub(crate) mod supremum;

use std::borrow::Cow;

use serde::Serialize;

use crate::exact::Rat;
use crate::interval::Up;

pub(crate) use baseline::Baseline;
pub use measured::Measured;
pub use norm::Norm;

/// A named part of a bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Term {
    /// The loss that it bounds; of a circuit, the gate.
    pub name: Cow<'static, str>,
    /// How large it can be.
    pub bound: f64,
}

impl Term {
    /// A part with this name.
    pub fn new(name: impl Into<Cow<'static, str>>, bound: impl Into<Up>) -> Self {
        Self { name: name.into(), bound: bound.into().get() }
    }
}

/// A proved bound on the distance between the network and its target.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The norm.
    pub norm: Norm,
    /// The bound, rounded up.
    pub bound: f64,
    /// Its parts; their sum is at least the bound.
    pub terms: Vec<Term>,
    /// How it was computed.
    pub method: Method,
    /// The assumptions that it rests on.
    pub assumptions: Vec<String>,
}

impl Budget {
    /// Adds a part.
    pub(crate) fn add(&mut self, term: Term) {
        self.bound = (Up::from(self.bound) + Up::from(term.bound)).get();
        self.terms.push(term);
    }

    /// True if the bound is at most `eps`.
    pub fn meets(&self, eps: &Rat) -> bool {
        Rat::from_f64(self.bound).is_some_and(|bound| bound <= *eps)
    }

    /// The largest term.
    pub(crate) fn dominant(&self) -> Option<&Term> {
        self.terms.iter().max_by(|a, b| a.bound.total_cmp(&b.bound))
    }
}

/// How a bound was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From the enclosures on every cell.
    CellWise,
    /// From Lipschitz constants and a bound on the whole domain.
    Uniform,
    /// From the error of every gate and how far it spreads.
    GateWise,
}

impl Method {
    /// Its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::CellWise => "cell by cell",
            Self::Uniform => "uniformly",
            Self::GateWise => "gate by gate",
        }
    }
}
