//! Polynomials with rational coefficients, and targets that are polynomials.
//!
//! A target of `n` tokens with `d` coordinates is a polynomial of its `nd` entries if it is built from numbers,
//! `+ - *`, powers, division by values that do not depend on the tokens, `sum`, `mean` and `var`. Its degree `D` is
//! read off the syntax, and with it the largest number of monomials,
//!
//! ```text
//! C(nd + D, D)
//! ```
//!
//! before anything is multiplied out. [`expand`] then *is* the evaluator of the language, with polynomials for numbers.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::target::Checked;
use crate::target::evaluate::evaluate;
use crate::target::expr::{Aggregate, BinaryOp, CompareOp, Expr, Function, Node};
use crate::target::number::{Number, Outcome, declined};

/// The most monomials that are multiplied out.
pub(crate) const MONOMIALS: usize = 100_000;

/// A product of powers of variables, in their order; no exponent is 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Monomial<V>(Vec<(V, u32)>);

impl<V: Ord + Clone> Monomial<V> {
    /// The empty product.
    pub fn one() -> Self {
        Self(Vec::new())
    }

    /// The factors: variables with their exponents.
    pub fn factors(&self) -> &[(V, u32)] {
        &self.0
    }

    /// The exponent of a variable.
    pub fn exponent(&self, variable: &V) -> u32 {
        self.0.binary_search_by(|(known, _)| known.cmp(variable)).map_or(0, |place| self.0[place].1)
    }

    /// The product of some powers, in any order.
    pub fn of(factors: impl IntoIterator<Item = (V, u32)>) -> Self {
        let mut all: BTreeMap<V, u32> = BTreeMap::new();
        for (variable, exponent) in factors {
            *all.entry(variable).or_default() += exponent;
        }
        Self(all.into_iter().filter(|(_, exponent)| *exponent > 0).collect())
    }

    fn times(&self, other: &Self) -> Self {
        Self::of(self.0.iter().chain(&other.0).cloned())
    }
}

/// `Σ c_m m` over monomials; no coefficient is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Polynomial<V: Ord> {
    terms: BTreeMap<Monomial<V>, Rat>,
}

impl<V: Ord + Clone> Polynomial<V> {
    /// A number.
    pub fn constant(value: Rat) -> Self {
        Self::term(value, Monomial::one())
    }

    /// A number times a monomial.
    pub fn term(coefficient: Rat, monomial: Monomial<V>) -> Self {
        let terms = if coefficient.is_zero() { BTreeMap::new() } else { BTreeMap::from([(monomial, coefficient)]) };
        Self { terms }
    }

    /// A variable.
    pub fn variable(variable: V) -> Self {
        Self::term(Rat::ONE, Monomial(vec![(variable, 1)]))
    }

    /// The monomials with their coefficients.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = (&Monomial<V>, &Rat)> {
        self.terms.iter()
    }

    /// The coefficient of a monomial.
    pub fn coefficient(&self, monomial: &Monomial<V>) -> Rat {
        self.terms.get(monomial).cloned().unwrap_or_default()
    }

    /// The number, if it is one.
    pub fn as_constant(&self) -> Option<Rat> {
        let is_one = |monomial: &Monomial<V>| monomial.0.is_empty();
        self.terms.keys().all(is_one).then(|| self.coefficient(&Monomial::one()))
    }

    /// `self + scale · other`
    pub fn plus(&self, scale: &Rat, other: &Self) -> Self {
        let mut sum = self.clone();
        for (monomial, coefficient) in &other.terms {
            sum.add_term(monomial.clone(), &(scale * coefficient));
        }
        sum
    }

    fn add_term(&mut self, monomial: Monomial<V>, coefficient: &Rat) {
        use std::collections::btree_map::Entry::{Occupied, Vacant};
        match self.terms.entry(monomial) {
            Vacant(place) if !coefficient.is_zero() => {
                place.insert(coefficient.clone());
            }
            Vacant(_) => {}
            Occupied(mut place) => {
                let sum = place.get() + coefficient;
                if sum.is_zero() {
                    place.remove();
                } else {
                    place.insert(sum);
                }
            }
        }
    }

    /// `self · other`
    pub fn times(&self, other: &Self) -> Self {
        let mut product = Self::constant(Rat::ZERO);
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                product.add_term(left.times(right), &(a * b));
            }
        }
        product
    }

    /// `self ^ exponent`
    pub fn power(&self, exponent: u32) -> Self {
        (0..exponent).fold(Self::constant(Rat::ONE), |power, _| power.times(self))
    }

    /// The polynomial with a polynomial in place of each variable.
    pub fn substituted<W: Ord + Clone>(&self, of: impl Fn(&V) -> Polynomial<W>) -> Polynomial<W> {
        let mut sum = Polynomial::constant(Rat::ZERO);
        for (monomial, coefficient) in &self.terms {
            let start = Polynomial::constant(coefficient.clone());
            let product = monomial
                .0
                .iter()
                .fold(start, |product, (variable, exponent)| product.times(&of(variable).power(*exponent)));
            sum = sum.plus(&Rat::ONE, &product);
        }
        sum
    }

    /// The polynomial with other names for its variables.
    pub fn renamed<W: Ord + Clone>(&self, name: impl Fn(&V) -> W) -> Polynomial<W> {
        let mut sum = Polynomial::constant(Rat::ZERO);
        for (monomial, coefficient) in &self.terms {
            let factors = monomial.0.iter().map(|(variable, exponent)| (name(variable), *exponent));
            sum.add_term(Monomial::of(factors), coefficient);
        }
        sum
    }
}

/// An entry of a sequence: the token, and its coordinate.
pub(crate) type Entry = (usize, usize);

/// The fault of a part of the text that is not a polynomial.
fn not_polynomial<T>(what: &str) -> Outcome<T> {
    declined(format!("{what} is not a polynomial"))
}

impl Number for Polynomial<Entry> {
    fn constant(value: &Rat) -> Self {
        Self::constant(value.clone())
    }

    fn add(&self, other: &Self) -> Self {
        self.plus(&Rat::ONE, other)
    }

    fn sub(&self, other: &Self) -> Self {
        self.plus(&-Rat::ONE, other)
    }

    fn mul(&self, other: &Self) -> Self {
        self.times(other)
    }

    fn div(&self, other: &Self) -> Outcome<Self> {
        match other.as_constant() {
            Some(divisor) => {
                let inverse = Number::div(&Rat::ONE, &divisor)?;
                Ok(self.times(&Self::constant(inverse)))
            }
            None => not_polynomial("a quotient by what depends on the tokens"),
        }
    }

    fn modulo(&self, other: &Self) -> Outcome<Self> {
        match (self.as_constant(), other.as_constant()) {
            (Some(a), Some(b)) => Ok(Self::constant(a.modulo(&b)?)),
            _ => not_polynomial("a remainder"),
        }
    }

    fn pow(&self, exponent: u32) -> Outcome<Self> {
        match self.as_constant() {
            Some(value) => Ok(Self::constant(Number::pow(&value, exponent)?)),
            None => Ok(self.power(exponent)),
        }
    }

    fn call(function: Function, arguments: &[Self]) -> Outcome<Self> {
        let numbers: Option<Vec<Rat>> = arguments.iter().map(Self::as_constant).collect();
        match numbers {
            Some(numbers) => Ok(Self::constant(Rat::call(function, &numbers)?)),
            None => not_polynomial(function.name()),
        }
    }

    fn compare(&self, op: CompareOp, other: &Self) -> Option<bool> {
        // Undecided conditions were refused by [`degree`].
        Number::compare(&self.as_constant()?, op, &other.as_constant()?)
    }

    fn positions(&self, size: usize) -> Outcome<(usize, usize)> {
        self.as_constant()
            .map_or_else(|| not_polynomial("an index that depends on the tokens"), |at| at.positions(size))
    }

    fn sort(values: &mut [Self]) {
        // Sorted tokens were refused by [`degree`]; numbers are sorted as numbers.
        values.sort_by_key(|value| value.as_constant().unwrap_or_default());
    }
}

/// The degree of a target as its syntax shows it; a target that is not a polynomial is refused, with the place.
pub(crate) fn degree(target: &Checked) -> Result<u32> {
    let expression = target.expression();
    let refuse = |culprit: &Expr| {
        Error::declined("the target is not a polynomial")
            .place(&expression.source.text, &culprit.span, "this is not one")
            .note("expected", "numbers, x, + - *, powers, division by numbers, sum, mean, var")
            .note("try", "⟨basis=hats⟩ (one coordinate, two tokens), or ⟨basis=fit:4⟩")
    };
    let mut lets = Vec::new();
    for binding in &expression.lets {
        lets.push(part_degree(&binding.value, &lets).map_err(refuse)?);
    }
    let mut degree = 0;
    for expr in expression.body.exprs() {
        degree = degree.max(part_degree(expr, &lets).map_err(refuse)?);
    }
    Ok(degree)
}

/// The degree of a part; else the part of it that is not a polynomial.
fn part_degree<'e>(e: &'e Expr, lets: &[u32]) -> std::result::Result<u32, &'e Expr> {
    if !e.depends_on_values() {
        return Ok(0);
    }
    let of = |part: &'e Expr| part_degree(part, lets);
    match &e.node {
        Node::Token => Ok(1),
        Node::Bound(bound) => Ok(lets[bound.index]),
        Node::Gather(index) if !index.depends_on_values() => Ok(1),
        Node::GatherBound(bound, index) if !index.depends_on_values() => Ok(lets[bound.index]),
        Node::Coordinate(a, _) | Node::Negate(a) | Node::Aggregate(Aggregate::Sum | Aggregate::Mean, a, _) => of(a),
        Node::Power(a, k) => Ok(of(a)?.saturating_mul(*k)),
        Node::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => Ok(of(a)?.max(of(b)?)),
        Node::Binary(BinaryOp::Mul, a, b) => Ok(of(a)?.saturating_add(of(b)?)),
        Node::Binary(BinaryOp::Div, a, b) if !b.depends_on_values() => of(a),
        Node::If(condition, a, b) if !condition.depends_on_values() => Ok(of(a)?.max(of(b)?)),
        Node::Aggregate(Aggregate::Var, a, _) => Ok(of(a)?.saturating_mul(2)),
        _ => Err(e),
    }
}

/// `C(n, k)`, for numbers of any size.
pub(crate) fn choose(n: u64, k: u64) -> Int {
    usize::try_from(k.min(n.saturating_sub(k))).map_or(Int::ZERO, |k| Int::from(n).choose(k))
}

/// The polynomials of all outputs, `[token][coordinate]`, multiplied out in the entries of the sequence.
pub(crate) fn expand(target: &Checked, tokens: usize) -> Result<Vec<Vec<Polynomial<Entry>>>> {
    let (degree, dims) = (degree(target)?, target.dims());
    let entries = (tokens * dims) as u64;
    // C(a + b, a) ≥ 2^min(a, b): if that is large, nothing is counted.
    let many = entries.min(u64::from(degree)) > 64;
    let monomials = if many { Int::ZERO } else { choose(entries + u64::from(degree), u64::from(degree)) };
    if many || monomials > Int::from(MONOMIALS) {
        let monomials =
            if many { format!("more than 2^{}", entries.min(u64::from(degree))) } else { format!("up to {monomials}") };
        return Err(Error::declined(format!("multiplied out, the target has {monomials} monomials"))
            .note("reason", format!("degree {degree} in {} entries; it is done for {MONOMIALS} at most", tokens * dims))
            .note(
                "try",
                "an expression without i, j and gathers, which need not be multiplied out; or fewer ⟨tokens⟩",
            ));
    }
    let token = |t: usize| (0..dims).map(|k| Polynomial::variable((t, k))).collect();
    let x: Vec<Vec<Polynomial<Entry>>> = (0..tokens).map(token).collect();
    evaluate(target, target.expression(), &x)
}
