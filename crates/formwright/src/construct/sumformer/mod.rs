//! The continuous Sumformer (Alberti et al. 2023, Theorem 4.1): one attention layer, certified in the supremum norm.
//!
//! ```text
//! f(X)_i = ψ(x_i, Σ_k φ(x_k))
//! ```
//!
//! A normal form of the target, with one level of sums, is an expression of the target language; the circuit compiler makes the network of it,
//! gate by gate, with its budget.
//!
//! | file | idea |
//! |---|---|
//! | [`polynomial`] | polynomials, and targets that are polynomials |
//! | [`power_sums`] | `φ(x) = (x^α)`, `ψ` a polynomial: exactly, for equivariant polynomials |
//! | `psi` | `ψ` as an expression |

pub mod polynomial;
pub mod power_sums;
mod psi;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use power_sums::{NormalForm, latent_dimension};

use super::circuit::{self, Compiled, Wish};
use crate::bound::Term;
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::add_up;
use crate::target::Checked;
use crate::target::expr::Body;

/// What `ψ` is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Power sums, exactly: for targets that are polynomials.
    Polynomial,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Polynomial => f.write_str("polynomial"),
        }
    }
}

impl FromStr for Basis {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "polynomial" => Ok(Self::Polynomial),
            _ => Err(Error::input(format!("there is no basis '{text}'"))
                .note("expected", "polynomial")
                .note("try", "--basis polynomial, or leave it out")),
        }
    }
}

/// The normal form of a target, `ψ(x_i, Σ_k φ(x_k))`.
#[derive(Clone, Debug)]
pub struct Sumformer {
    /// What it is made of.
    pub basis: Basis,
    /// `φ`, coordinate by coordinate, in the target language.
    pub phi: Vec<String>,
    /// `ψ`, with one level of sums: an expression of the target language.
    pub psi: Checked,
    /// The latent dimension that the theorem asks for.
    pub theorem: Int,
    /// How far `ψ` is from the target, at most.
    pub distance: f64,
}

impl Sumformer {
    /// The normal form of a target in a basis, the first that serves if none is named.
    pub fn of(target: &Checked, tokens: usize, _basis: Option<Basis>, _eps: &Rat) -> Result<Self> {
        let form = NormalForm::of(target, tokens)?;
        let psi = form.expression(&target.expression().domain)?;
        let theorem = latent_dimension(tokens, target.dims());
        Ok(Self { basis: Basis::Polynomial, phi: form.features(), psi, theorem, distance: 0.0 })
    }

    /// `ψ`, as it is printed.
    pub fn psi_text(&self) -> String {
        match &self.psi.expression().body {
            Body::Coordinates(exprs) if exprs.len() == 1 => exprs[0].to_string(),
            Body::Coordinates(exprs) => {
                format!("[{}]", exprs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
            Body::Each(expr) => expr.to_string(),
        }
    }

    /// The network: a circuit of `ψ`, with what is left of the tolerance.
    pub fn compile(&self, wish: &Wish) -> Result<Compiled> {
        let left = Rat::from_f64(self.distance).map(|distance| &wish.eps - &distance).filter(|left| *left > Rat::ZERO);
        let left = left.ok_or_else(|| {
            Error::rejected(format!("the tolerance {} is not met", wish.eps))
                .note("distance", format!("ψ itself is within {:.3e} of the target, and no nearer", self.distance))
                .note("try", "a larger --eps, or another --basis")
        })?;
        let mut compiled = circuit::compile(&self.psi, &Wish { eps: left, ..wish.clone() })?;
        let layers = compiled.network.size().attention_layers;
        if layers > Int::ONE {
            return Err(Error::declined(format!("{layers} attention layers, and a Sumformer has one")));
        }
        // The coefficients are those of one number of tokens.
        compiled.network.lengths = (wish.tokens, wish.tokens);
        compiled.lengths = (wish.tokens, wish.tokens);
        if self.distance > 0.0 {
            compiled.budget.bound = add_up(compiled.budget.bound, self.distance);
            compiled.budget.terms.push(Term { name: Cow::Borrowed("interpolation"), bound: self.distance });
            compiled.margin = None;
        }
        Ok(compiled)
    }
}
