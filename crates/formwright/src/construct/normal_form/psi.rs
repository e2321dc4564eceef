//! `ψ` as an expression of the target language, with a single level of aggregates. The circuit compiler turns it into a
//! network.
//!
//! Products are the main cost, so that common factors are taken out, the most frequent first (Horner's scheme, for
//! several letters):
//!
//! ```text
//! p = L^k q + r,   L the letter that most monomials hold, k its smallest exponent there
//! ```
//!
//! Nothing is taken out of a polynomial of one letter: it is one curve.

use std::collections::BTreeMap;

use super::polynomial::{Monomial, Polynomial};
use super::power_sums::{Letter, NormalForm};
use crate::error::Result;
use crate::exact::Rat;
use crate::target::expr::{Aggregate, BinaryOp, Body, Domain, Expr, Expression, Node};
use crate::target::univariate::{affine, binary, expr, number};
use crate::target::{Checked, expr::Source};

impl NormalForm {
    /// `ψ(x, E)` on a domain.
    pub fn expression(&self, domain: &Domain) -> Result<Checked> {
        let body = Body::Coordinates(self.outputs.iter().map(|output| self.nested(output)).collect());
        checked(body, domain, self.dims)
    }

    /// `φ`, coordinate by coordinate.
    pub fn features(&self) -> Vec<String> {
        self.sums().iter().map(|alpha| monomial(alpha, self.dims).to_string()).collect()
    }

    fn nested(&self, polynomial: &Polynomial<Letter>) -> Expr {
        let mut holders: BTreeMap<&Letter, usize> = BTreeMap::new();
        for (letter, _) in polynomial.terms().flat_map(|(monomial, _)| monomial.factors()) {
            *holders.entry(letter).or_default() += 1;
        }
        // The first of the letters that most monomials hold.
        let best = holders.iter().rev().max_by_key(|(_, many)| **many);
        match best {
            Some((letter, many)) if *many > 1 && holders.len() > 1 => self.factored(polynomial, letter),
            _ => self.sum(polynomial),
        }
    }

    /// `L^k q + r`
    fn factored(&self, polynomial: &Polynomial<Letter>, letter: &Letter) -> Expr {
        let exponents = polynomial.terms().map(|(monomial, _)| monomial.exponent(letter)).filter(|k| *k > 0);
        let least = exponents.min().unwrap_or(0);
        let (mut quotient, mut rest) = (Polynomial::constant(Rat::ZERO), Polynomial::constant(Rat::ZERO));
        for (monomial, coefficient) in polynomial.terms() {
            if monomial.exponent(letter) == 0 {
                rest = rest.plus(coefficient, &Polynomial::term(Rat::ONE, monomial.clone()));
            } else {
                let reduced = monomial.factors().iter().map(|(known, exponent)| {
                    (known.clone(), if known == letter { exponent - least } else { *exponent })
                });
                quotient = quotient.plus(coefficient, &Polynomial::term(Rat::ONE, Monomial::of(reduced)));
            }
        }
        let power = power(self.letter(letter), least);
        let product = binary(BinaryOp::Mul, power, self.nested(&quotient));
        if rest.terms().len() == 0 {
            return product;
        }
        match rest.as_constant() {
            Some(shift) => affine(&Rat::ONE, product, &shift),
            None => binary(BinaryOp::Add, product, self.nested(&rest)),
        }
    }

    /// The sum of the terms as they are, the constant last.
    fn sum(&self, polynomial: &Polynomial<Letter>) -> Expr {
        let mut sum: Option<Expr> = None;
        let mut shift = Rat::ZERO;
        for (monomial, coefficient) in polynomial.terms() {
            let factors = monomial.factors().iter().map(|(letter, exponent)| power(self.letter(letter), *exponent));
            let Some(product) = factors.reduce(|a, b| binary(BinaryOp::Mul, a, b)) else {
                shift = coefficient.clone();
                continue;
            };
            sum = Some(match sum {
                None => affine(coefficient, product, &Rat::ZERO),
                Some(sum) if coefficient.is_negative() => {
                    binary(BinaryOp::Sub, sum, affine(&-coefficient.clone(), product, &Rat::ZERO))
                }
                Some(sum) => binary(BinaryOp::Add, sum, affine(coefficient, product, &Rat::ZERO)),
            });
        }
        match sum {
            Some(sum) => affine(&Rat::ONE, sum, &shift),
            None => number(shift),
        }
    }

    fn letter(&self, letter: &Letter) -> Expr {
        match letter {
            Letter::Own(k) | Letter::Running(k) => coordinate(*k, self.dims),
            Letter::Sum(alpha) => expr(Node::Aggregate(Aggregate::Sum, Box::new(monomial(alpha, self.dims)), None)),
        }
    }
}

/// `x^α`
fn monomial(alpha: &[u32], dims: usize) -> Expr {
    let powers = alpha.iter().enumerate().filter(|(_, exponent)| **exponent > 0);
    let powers = powers.map(|(k, exponent)| power(coordinate(k, dims), *exponent));
    powers.reduce(|a, b| binary(BinaryOp::Mul, a, b)).unwrap_or_else(|| number(Rat::ONE))
}

/// An expression of the language by itself, with places in its own text.
pub fn checked(body: Body, domain: &Domain, dims: usize) -> Result<Checked> {
    let expression = Expression { lets: Vec::new(), body, domain: domain.clone(), source: Source::default() };
    Expression::parse(&expression.to_string())?.check(dims)
}

/// `x.k`, or `x` if it has one coordinate.
pub fn coordinate(k: usize, dims: usize) -> Expr {
    let token = expr(Node::Token);
    if dims == 1 { token } else { expr(Node::Coordinate(Box::new(token), k)) }
}

fn power(base: Expr, exponent: u32) -> Expr {
    if exponent == 1 { base } else { expr(Node::Power(Box::new(base), exponent)) }
}
