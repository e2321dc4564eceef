//! Theorem 4.1, the continuous route: any target with a normal form, certified in the supremum norm.
//!
//! ```text
//! f(X)_i ≈ ψ(x_i, Σ_k φ(x_k))
//! ```
//!
//! A normal form has one level of sums, and is an expression of the target language. The circuit compiler turns it into
//! a network, gate by gate, with its budget. So one attention layer is enough, and no part is given by existence alone.

use std::fmt;
use std::str::FromStr;

use super::fit::Fit;
use super::hats::Hats;
use super::polynomial::degree;
use super::power_sums::{NormalForm, latent_dimension};

use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::target::Checked;
use crate::target::expr::Body;

/// The functions that `ψ` is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Power sums, exactly: for targets that are polynomials.
    Polynomial,
    /// Hat functions: for two tokens of one coordinate.
    Hats,
    /// Power sums, approximately: a polynomial of this degree.
    Fit(u32),
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Polynomial => f.write_str("polynomial"),
            Self::Hats => f.write_str("hats"),
            Self::Fit(degree) => write!(f, "fit:{degree}"),
        }
    }
}

impl FromStr for Basis {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "polynomial" => Ok(Self::Polynomial),
            "hats" => Ok(Self::Hats),
            _ => match text.strip_prefix("fit:").map(str::parse) {
                Some(Ok(degree)) if degree > 0 => Ok(Self::Fit(degree)),
                Some(_) => Err(Error::input(format!("'{text}' has no degree"))
                    .note("expected", "fit:DEGREE, a whole number from 1")
                    .note("try", "⟨basis=fit:4⟩")),
                None => Err(Error::input(format!("there is no basis '{text}'"))
                    .note("expected", "polynomial, hats or fit:DEGREE")
                    .note("try", "⟨basis=fit:4⟩, or leave it out: the first that serves is taken")),
            },
        }
    }
}

/// The normal form of a target, `ψ(x_i, Σ_k φ(x_k))`.
#[derive(Clone, Debug)]
pub(crate) struct Continuous {
    /// The functions that it is made of.
    pub basis: Basis,
    /// `φ`, coordinate by coordinate, in the target language.
    pub phi: Vec<String>,
    /// `ψ`, with one level of sums: an expression of the target language.
    pub psi: Checked,
    /// The latent dimension that the theorem requires.
    pub theorem: Int,
    /// A bound on the distance of `ψ` from the target.
    pub distance: f64,
    /// The way that the distance was measured, if it was not proved.
    pub measured: Option<String>,
    /// `ψ` in short, if the expression is long.
    short: Option<String>,
}

impl Continuous {
    /// The normal form of a target in a basis, by default the first that serves, for a tolerance.
    pub fn of(target: &Checked, tokens: usize, basis: Option<Basis>, eps: &Rat) -> Result<Self> {
        let theorem = latent_dimension(tokens, target.dims());
        let domain = &target.expression().domain;
        let basis = match (basis, degree(target)) {
            (Some(basis), _) => basis,
            (None, Ok(_)) => Basis::Polynomial,
            (None, Err(_)) if (tokens, target.dims()) == (2, 1) => Basis::Hats,
            (None, Err(error)) => return Err(error),
        };
        let by_sums = |form: &NormalForm, distance: f64, measured: Option<String>| {
            let psi = form.expression(domain)?;
            Ok(Self { basis, phi: form.features(), psi, theorem: theorem.clone(), distance, measured, short: None })
        };
        match basis {
            Basis::Polynomial => by_sums(&NormalForm::of(target, tokens)?, 0.0, None),
            Basis::Fit(degree) => {
                let fit = Fit::of(target, tokens, degree, eps)?;
                let measured = (!fit.proved).then(|| {
                    let (off, boxes) = (fit.distance, fit.boxes);
                    format!("ψ is within {off:.3e} of the target, as it was at the centres of {boxes} boxes")
                });
                by_sums(&fit.form, fit.distance, measured)
            }
            Basis::Hats => {
                let hats = Hats::of(target, tokens, eps)?;
                let (psi, phi) = (hats.expression()?, vec!["x".to_owned()]);
                let short = Some(format!(
                    "Σ_k s_k(x) D_k(sum(x) - x), {} cells: steps and piecewise linear functions",
                    hats.cells
                ));
                Ok(Self { basis, phi, psi, theorem, distance: hats.distance, measured: None, short })
            }
        }
    }

    /// `ψ`, as it is printed.
    pub fn psi_text(&self) -> String {
        if let Some(short) = &self.short {
            return short.clone();
        }
        match &self.psi.expression().body {
            Body::Coordinates(exprs) if exprs.len() == 1 => exprs[0].to_string(),
            Body::Coordinates(exprs) => {
                format!("[{}]", exprs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
            Body::Each(expr) => expr.to_string(),
        }
    }
}
