//! Equivariant polynomials as polynomials of a token and power sums (Alberti et al. 2023, Section 4; Briand 2004).
//!
//! ```text
//! f(X)_i = ψ(x_i, E),   E_α = Σ_k x_k^α
//! ```
//!
//! **Aggregates.** In an expression without `i`, `j` and gathers, `sum(e)` of a polynomial `e` of the running token is
//! read off its monomials: `Σ_k c x_k^α = c E_α`, for any `c`. Nothing is multiplied out in all entries, and the length
//! does not matter.
//!
//! **Entries.** Any other polynomial is multiplied out. It is equivariant if and only if `f_0` is symmetric in the
//! tokens `1, …, n-1` and every `f_i` is `f_0` with tokens `0` and `i` exchanged: compared coefficient by coefficient,
//! this is a proof. Then `f_0` is a combination of `x_0^α` and augmented monomials of the *other* tokens,
//!
//! ```text
//! M(α¹, …, α^k) = Σ_{i_1, …, i_k distinct} Π_q x_{i_q}^{α^q}
//!               = P_{α^k} M(α¹, …, α^{k-1}) - Σ_{j<k} M(…, α^j + α^k, …),   P_α = E_α - x_0^α
//! ```
//!
//! and of *all* tokens, with `E` for `P`, if it is symmetric in all of them.
//!
//! Exponents up to the degree are used. The theorem needs only `1 ≤ |α| ≤ n`, `C(n+d, d) - 1` of them: power sums
//! beyond are polynomials of these, of higher degree, and would cost products where they save sums.

use std::collections::{BTreeMap, BTreeSet};

use super::polynomial::{Entry, MONOMIALS, Monomial, Polynomial, choose, degree, expand};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::show::short_int;
use crate::target::Checked;
use crate::target::evaluate::positional_values;
use crate::target::expr::{Aggregate, BinaryOp, Expr, Node};
use crate::target::univariate::{expr, number};

/// The exponents `α` of a power sum.
pub(crate) type Exponents = Vec<u32>;

/// The variables of `ψ`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Letter {
    /// `x_i`, coordinate by coordinate.
    Own(usize),
    /// `E_α`.
    Sum(Exponents),
    /// A coordinate of the running token, inside of an aggregate.
    Running(usize),
}

/// `ψ`, for each output coordinate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NormalForm {
    /// The number of tokens.
    pub tokens: usize,
    /// The coordinates of a token.
    pub dims: usize,
    /// `ψ`, coordinate by coordinate.
    pub outputs: Vec<Polynomial<Letter>>,
}

/// `C(n+d, d) - 1`, the number of power sums that the theorem requires.
pub(crate) fn latent_dimension(tokens: usize, dims: usize) -> Int {
    choose((tokens + dims) as u64, dims as u64) - Int::ONE
}

/// The number of monomials `Π x^α Π E_β` of degree up to `D`, with `letters` coordinates: the coefficients of
/// `(1-t)^{-letters} Π_α (1-t^{|α|})^{-1}`, added up. `None` if the number overflows, or if the degree alone shows that
/// there are more than are ever multiplied out.
pub(crate) fn basis_size(dims: usize, letters: usize, degree: u32) -> Option<u64> {
    // One letter has as many powers as the degree.
    let degree = usize::try_from(degree).ok().filter(|degree| *degree <= MONOMIALS)?;
    let mut counts = vec![0_u64; degree + 1];
    counts[0] = 1;
    let mut factor = |weight: usize, many: &Int| -> Option<()> {
        // Each factor occurs at most `degree` times: more of the same weight than there are monomials would overflow
        // soon.
        for _ in 0..many.to_usize().filter(|many| *many <= MONOMIALS)? {
            for k in weight..=degree {
                counts[k] = counts[k].checked_add(counts[k - weight])?;
            }
        }
        Some(())
    };
    factor(1, &Int::from(letters))?;
    for weight in 1..=degree {
        factor(weight, &choose((weight + dims) as u64 - 1, dims as u64 - 1))?;
    }
    counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count))
}

impl NormalForm {
    /// The normal form of a target; refused if it is not a polynomial, not equivariant, or too large, before it is
    /// multiplied out.
    pub fn of(target: &Checked, tokens: usize) -> Result<Self> {
        let (degree, dims) = (degree(target)?, target.dims());
        if !target.equivariance().is_proved() {
            return by_entries(target, tokens);
        }
        check_size(tokens, dims, degree)?;
        let mut reader = Reader { target, tokens, lets: Vec::new() };
        let expression = target.expression();
        for binding in &expression.lets {
            let coordinates = (0..dims).map(|c| reader.number(&binding.value, false, c)).collect::<Result<Vec<_>>>()?;
            reader.lets.push(coordinates);
        }
        let outputs = target.outputs(expression).into_iter();
        let outputs = outputs.map(|(expr, c)| reader.number(expr, false, c)).collect::<Result<Vec<_>>>()?;
        Ok(Self { tokens, dims, outputs })
    }

    /// The power sums that occur, by degree.
    pub fn sums(&self) -> Vec<Exponents> {
        let factors = self.outputs.iter().flat_map(Polynomial::terms).flat_map(|(monomial, _)| monomial.factors());
        let sums: BTreeSet<(u32, Exponents)> = factors
            .filter_map(|(letter, _)| match letter {
                Letter::Sum(alpha) => Some((alpha.iter().sum(), alpha.iter().rev().copied().collect())),
                _ => None,
            })
            .collect();
        sums.into_iter().map(|(_, alpha)| alpha.into_iter().rev().collect()).collect()
    }

    #[cfg(test)]
    /// The degree in the entries: `|α|` counts for `E_α`.
    pub fn degree(&self) -> u32 {
        let weight = |letter: &Letter| match letter {
            Letter::Sum(alpha) => alpha.iter().sum(),
            _ => 1_u32,
        };
        let of = |monomial: &Monomial<Letter>| monomial.factors().iter().map(|(letter, k)| weight(letter) * k).sum();
        self.outputs.iter().flat_map(Polynomial::terms).map(|(monomial, _)| of(monomial)).max().unwrap_or(0)
    }

    #[cfg(test)]
    /// The polynomials of one output token, multiplied out.
    pub fn multiplied_out(&self, token: usize) -> Vec<Polynomial<Entry>> {
        let power = |t: usize, alpha: &[u32]| {
            let factors = alpha.iter().enumerate().map(|(k, exponent)| ((t, k), *exponent));
            Polynomial::term(Rat::ONE, Monomial::of(factors))
        };
        let entries = |letter: &Letter| match letter {
            Letter::Own(k) | Letter::Running(k) => Polynomial::variable((token, *k)),
            Letter::Sum(alpha) => {
                (0..self.tokens).fold(Polynomial::constant(Rat::ZERO), |sum, t| sum.plus(&Rat::ONE, &power(t, alpha)))
            }
        };
        self.outputs.iter().map(|output| output.substituted(entries)).collect()
    }
}

/// Refuses a target with too many power sums, or too many products of them, and says how many.
pub(crate) fn check_size(tokens: usize, dims: usize, degree: u32) -> Result<()> {
    // Bodies of aggregates have the running token's coordinates as well.
    let monomials = basis_size(dims, 2 * dims, degree);
    if monomials.is_some_and(|monomials| monomials <= MONOMIALS as u64) {
        return Ok(());
    }
    let sums = counted(dims as u64 + u64::from(degree), dims as u64);
    let many = match monomials {
        Some(monomials) => monomials.to_string(),
        None if degree as usize > MONOMIALS => format!("more than {degree}"),
        None => "more than 10^19".to_owned(),
    };
    Err(Error::declined(format!("the latent dimension explodes: {sums} power sums up to degree {degree}"))
        .note("size", format!("ψ may have {many} monomials; {MONOMIALS} are the most that are multiplied out"))
        .note(
            "theorem",
            format!(
                "the latent dimension C(n+d, d) - 1 is {} for {tokens} tokens of {dims} coordinates",
                counted((tokens + dims) as u64, dims as u64)
            ),
        )
        .note("try", "a smaller degree, fewer ⟨dims⟩, or ⟨construction=circuit⟩"))
}

/// `C(n, k) - 1`, in words where it would be a long number.
fn counted(n: u64, k: u64) -> String {
    // C(n, k) ≥ 2^min(k, n-k).
    match k.min(n - k) {
        many if many > 64 => format!("more than 2^{}", many - 1),
        _ => {
            let count = choose(n, k) - Int::ONE;
            if count.bits() <= 64 { count.to_string() } else { short_int(&count) }
        }
    }
}

/// Reads a normal form off an expression.
struct Reader<'t> {
    target: &'t Checked,
    tokens: usize,
    /// The coordinates of each bound name, of the output token.
    lets: Vec<Vec<Polynomial<Letter>>>,
}

/// A polynomial of the output token, as one of the running token.
fn running(polynomial: &Polynomial<Letter>) -> Polynomial<Letter> {
    polynomial.renamed(|letter| match letter {
        Letter::Own(k) => Letter::Running(*k),
        letter => letter.clone(),
    })
}

impl Reader<'_> {
    /// A number that does not depend on the tokens.
    fn fixed(&self, e: &Expr) -> Result<Rat> {
        let text = &self.target.expression().source.text;
        let value = positional_values(e, false, self.tokens, self.target.dims(), text).into_iter().next();
        match value {
            Some(Ok((value, width))) if width <= 0.0 => Ok(value),
            Some(Err(error)) => Err(error),
            _ => Err(Error::declined("a coefficient is not rational")
                .place(text, &e.span, "this number")
                .note("try", "a rational number near it, or ⟨construction=circuit⟩")),
        }
    }

    fn number(&self, e: &Expr, inside: bool, c: usize) -> Result<Polynomial<Letter>> {
        if !e.depends_on_values() {
            return self.fixed(e).map(Polynomial::constant);
        }
        let of = |part: &Expr| self.number(part, inside, c);
        let whose = |own: Polynomial<Letter>| if inside { running(&own) } else { own };
        match &e.node {
            Node::Token => Ok(whose(Polynomial::variable(Letter::Own(c)))),
            Node::Bound(bound) => Ok(whose(self.lets[bound.index][c].clone())),
            // This can only be `x[i]`: no other gather is equivariant by its syntax.
            Node::Gather(_) => Ok(Polynomial::variable(Letter::Own(c))),
            Node::GatherBound(bound, _) => Ok(self.lets[bound.index][c].clone()),
            Node::Coordinate(a, k) => self.number(a, inside, *k),
            Node::Negate(a) => Ok(Polynomial::constant(Rat::ZERO).plus(&-Rat::ONE, &of(a)?)),
            Node::Power(a, k) => Ok(of(a)?.power(*k)),
            Node::Binary(BinaryOp::Add, a, b) => Ok(of(a)?.plus(&Rat::ONE, &of(b)?)),
            Node::Binary(BinaryOp::Sub, a, b) => Ok(of(a)?.plus(&-Rat::ONE, &of(b)?)),
            Node::Binary(BinaryOp::Mul, a, b) => Ok(of(a)?.times(&of(b)?)),
            Node::Binary(BinaryOp::Div, a, b) => {
                let inverse = self.fixed(b)?.recip().ok_or_else(|| {
                    let text = &self.target.expression().source.text;
                    Error::declined("a division by 0").place(text, &b.span, "this divisor is always 0")
                })?;
                Ok(of(a)?.times(&Polynomial::constant(inverse)))
            }
            Node::If(condition, a, b) => {
                let decided =
                    expr(Node::If(condition.clone(), Box::new(number(Rat::ONE)), Box::new(number(Rat::ZERO))));
                if self.fixed(&decided)?.is_zero() { of(b) } else { of(a) }
            }
            Node::Aggregate(aggregate, body, _) => self.aggregate(*aggregate, body, c),
            _ => Err(Error::declined("the target is not a polynomial")),
        }
    }

    fn aggregate(&self, aggregate: Aggregate, body: &Expr, c: usize) -> Result<Polynomial<Letter>> {
        let body = self.number(body, true, c)?;
        let share = Polynomial::constant(Rat::new(1, self.tokens));
        Ok(match aggregate {
            Aggregate::Mean => self.sum(&body).times(&share),
            // mean(e²) - mean(e)²
            Aggregate::Var => {
                let mean = self.sum(&body).times(&share);
                self.sum(&body.power(2)).times(&share).plus(&-Rat::ONE, &mean.power(2))
            }
            _ => self.sum(&body),
        })
    }

    /// `Σ_k` of a polynomial of the running token `x_k`.
    fn sum(&self, body: &Polynomial<Letter>) -> Polynomial<Letter> {
        let mut sum = Polynomial::constant(Rat::ZERO);
        for (monomial, coefficient) in body.terms() {
            let (mut alpha, mut rest) = (vec![0; self.target.dims()], Vec::new());
            for (letter, exponent) in monomial.factors() {
                match letter {
                    Letter::Running(k) => alpha[*k] = *exponent,
                    letter => rest.push((letter.clone(), *exponent)),
                }
            }
            let rest = Polynomial::term(coefficient.clone(), Monomial::of(rest));
            sum = sum.plus(&Rat::ONE, &rest.times(&power_sum(alpha, &Rat::from(self.tokens))));
        }
        sum
    }
}

/// `E_α`; `E_0` is the number of tokens.
fn power_sum(alpha: Exponents, tokens: &Rat) -> Polynomial<Letter> {
    if alpha.iter().all(|exponent| *exponent == 0) {
        Polynomial::constant(tokens.clone())
    } else {
        Polynomial::variable(Letter::Sum(alpha))
    }
}

/// The normal form of a polynomial that is multiplied out.
fn by_entries(target: &Checked, tokens: usize) -> Result<NormalForm> {
    let (outputs, dims) = (expand(target, tokens)?, target.dims());
    if let Some(error) = refuted(&outputs, tokens) {
        return Err(error);
    }
    let first = outputs.into_iter().next().unwrap_or_default();
    let outputs = first.iter().map(|polynomial| symmetric(polynomial, tokens, dims)).collect();
    Ok(NormalForm { tokens, dims, outputs })
}

fn exchanged(polynomial: &Polynomial<Entry>, a: usize, b: usize) -> Polynomial<Entry> {
    polynomial.renamed(|(t, k)| match *t {
        t if t == a => (b, *k),
        t if t == b => (a, *k),
        t => (t, *k),
    })
}

/// The reason why polynomials of all tokens are not equivariant, if they are not.
fn refuted(outputs: &[Vec<Polynomial<Entry>>], tokens: usize) -> Option<Error> {
    let error = |what: String, difference: &Polynomial<Entry>| {
        Error::declined("the target is not permutation-equivariant")
            .note("witness", format!("{what} differ by {}", show(difference)))
            .note("theorem", "a Sumformer computes ψ(x_i, Σ_k φ(x_k)), which is equivariant")
            .note("try", "⟨construction=circuit⟩, or ⟨construction=yun⟩ ⟨positional⟩")
    };
    let minus = |a: &Polynomial<Entry>, b: &Polynomial<Entry>| a.plus(&-Rat::ONE, b);
    let first = outputs.first()?;
    for (c, polynomial) in first.iter().enumerate() {
        // Swaps of neighbours generate all permutations of the others.
        for t in 1..tokens.saturating_sub(1) {
            let difference = minus(polynomial, &exchanged(polynomial, t, t + 1));
            if difference.terms().len() > 0 {
                let what = format!("f(X)_0 and the same with tokens {t} and {} exchanged", t + 1);
                return Some(error(what, &difference));
            }
        }
        for (t, other) in outputs.iter().enumerate().skip(1) {
            let difference = minus(&other[c], &exchanged(polynomial, 0, t));
            if difference.terms().len() > 0 {
                let what = format!("f(X)_{t}, and f(X)_0 with tokens 0 and {t} exchanged,");
                return Some(error(what, &difference));
            }
        }
    }
    None
}

/// A polynomial of entries in words, its first few terms.
fn show(polynomial: &Polynomial<Entry>) -> String {
    const SHOWN: usize = 4;
    let factor = |((t, k), exponent): &(Entry, u32)| match exponent {
        1 => format!("x[{t}].{k}"),
        exponent => format!("x[{t}].{k}^{exponent}"),
    };
    let term = |(monomial, coefficient): (&Monomial<Entry>, &Rat)| {
        let factors = monomial.factors().iter().map(factor).collect::<Vec<_>>().join(" ");
        match (coefficient, factors.as_str()) {
            (coefficient, "") => coefficient.to_string(),
            (one, factors) if *one == Rat::ONE => factors.to_owned(),
            (one, factors) if *one == -Rat::ONE => format!("-{factors}"),
            (coefficient, factors) => format!("{coefficient} {factors}"),
        }
    };
    let mut shown: Vec<String> = polynomial.terms().take(SHOWN).map(term).collect();
    if polynomial.terms().len() > SHOWN {
        shown.push(format!("… ({} terms)", polynomial.terms().len()));
    }
    shown.join(" + ").replace("+ -", "- ")
}

/// A polynomial that is symmetric in the tokens after the first, or in all, as a polynomial of the first token and
/// power sums.
fn symmetric(polynomial: &Polynomial<Entry>, tokens: usize, dims: usize) -> Polynomial<Letter> {
    let invariant = tokens > 1 && exchanged(polynomial, 0, 1) == *polynomial;
    // The tokens that sums run over.
    let from = usize::from(!invariant);
    let mut sum = Polynomial::constant(Rat::ZERO);
    for (monomial, coefficient) in polynomial.terms() {
        let mut alphas = vec![vec![0_u32; dims]; tokens];
        for ((t, k), exponent) in monomial.factors() {
            alphas[*t][*k] = *exponent;
        }
        let summed = &alphas[from..];
        // Of all rearrangements, only the one with decreasing exponents is taken.
        if summed.windows(2).any(|pair| pair[0] < pair[1]) {
            continue;
        }
        let parts: Vec<Exponents> = summed.iter().filter(|alpha| alpha.iter().any(|k| *k > 0)).cloned().collect();
        // The number of tuples of distinct tokens that give the same monomial.
        let mut same: BTreeMap<&Exponents, usize> = BTreeMap::new();
        for part in &parts {
            *same.entry(part).or_default() += 1;
        }
        let over = same.values().fold(Int::ONE, |over, many| over * Int::factorial(*many));
        let own: &[u32] = if invariant { &[] } else { &alphas[0] };
        let own = Monomial::of(own.iter().enumerate().map(|(k, exponent)| (Letter::Own(k), *exponent)));
        let scale = coefficient / &Rat::from(over);
        sum = sum.plus(&scale, &Polynomial::term(Rat::ONE, own).times(&augmented(&parts)));
    }
    if invariant {
        return sum;
    }
    // Sums over the others are sums over all, less the token itself.
    sum.substituted(|letter| match letter {
        Letter::Sum(alpha) => {
            let own = Monomial::of(alpha.iter().enumerate().map(|(k, exponent)| (Letter::Own(k), *exponent)));
            Polynomial::variable(letter.clone()).plus(&-Rat::ONE, &Polynomial::term(Rat::ONE, own))
        }
        letter => Polynomial::variable(letter.clone()),
    })
}

/// `M(α¹, …, α^k)`, of power sums over the same tokens.
fn augmented(parts: &[Exponents]) -> Polynomial<Letter> {
    let Some((last, rest)) = parts.split_last() else { return Polynomial::constant(Rat::ONE) };
    let mut value = Polynomial::variable(Letter::Sum(last.clone())).times(&augmented(rest));
    for j in 0..rest.len() {
        let mut merged = rest.to_vec();
        for (exponent, more) in merged[j].iter_mut().zip(last) {
            *exponent += more;
        }
        value = value.plus(&-Rat::ONE, &augmented(&merged));
    }
    value
}
