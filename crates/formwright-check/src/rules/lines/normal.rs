//! Normal forms: polynomials with rational coefficients over things that are compared by their own normal forms.
//!
//! Two expressions with the same normal form are the same function. Nothing clever is done: products are multiplied
//! out, a mean is linear and lets what is the same for all tokens through, `1/p` is a thing of its own with the leading
//! coefficient of `p` taken out, and any other function is a thing of its own.

mod program;
mod whole;

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use super::Form;
use crate::kernel::function::{Binary, CALLS, Call, Word};
use crate::kernel::number::Ratio;
use crate::read::certificate::{Pooled, Shown, Wire};
pub use program::Program;

/// The most terms of a polynomial.
const MOST_TERMS: usize = 1 << 12;

/// Whole numbers that are no farther apart are sorted by counts.
const MOST_COUNTS: u64 = 512;

/// The largest exponent that is multiplied out.
const MOST_POWER: u32 = 64;

/// Things, by number, with their exponents, ascending.
pub type Monomial = Vec<(usize, u32)>;

/// A polynomial over things; no coefficient is 0.
pub type Polynomial = BTreeMap<Monomial, Ratio>;

/// Something that is not a polynomial of anything else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Thing {
    /// A coordinate of the token.
    Input(usize),
    /// The number of tokens.
    Length,
    /// The mean of a monomial over all tokens.
    Mean(Monomial),
    /// The mean of a monomial over what a token sees.
    Seen(Shown, Monomial),
    /// The largest value of a polynomial over what a token sees.
    LargestSeen(Shown, Vec<(Monomial, String)>),
    /// A thing of the output token, inside of a mean.
    Outer(usize),
    /// A coordinate of one token of a sequence.
    Token(usize, usize),
    /// The largest value of a polynomial over all tokens, or of one of these polynomials.
    Largest(Vec<Vec<(Monomial, String)>>),
    /// A function of polynomials, by name.
    Function(&'static str, Vec<Vec<(Monomial, String)>>),
    /// The part of a base above a knot, and 0 below.
    Hinge(usize, i64),
    /// A polynomial whose values are whole.
    Whole(Vec<(Monomial, String)>),
    /// One of some numbers in ascending order, by its place.
    Sorted(Vec<Vec<(Monomial, String)>>, usize),
    /// What an exchange, a wire, keeps at a token.
    Exchanged(usize, usize),
    /// A pair for a hub and for the other tokens: at the one it is something else than at the others.
    Hub(usize),
}

/// All things that have been met.
#[derive(Debug, Default)]
pub struct Things {
    numbers: HashMap<Thing, usize>,
    /// For each thing, true if it is the same for all tokens; and for one of the output token, the thing it stands for.
    known: Vec<(bool, Option<usize>)>,
    /// The argument of each logarithm.
    logarithms: HashMap<usize, Polynomial>,
    /// The monomial that each mean averages.
    means: HashMap<usize, Monomial>,
    /// The things that take whole values only, of which there are not too many.
    bases: HashMap<usize, whole::Base>,
    /// The base and the knot of each hinge.
    hinges: HashMap<usize, (usize, i64)>,
    /// The least and the largest number of tokens' coordinates, if they are whole.
    domain: Option<(i64, i64)>,
    /// The number of tokens, if it is fixed.
    tokens: Option<usize>,
    /// How many values of terms have been looked at.
    work: Cell<usize>,
}

/// The sum of two exponents. One that is cut off would make different powers equal.
fn raised(a: u32, b: u32) -> Outcome<u32> {
    a.checked_add(b).ok_or_else(|| "an exponent is too large".to_owned())
}

/// The reason why there is no normal form.
pub type Outcome<T> = Result<T, String>;

impl Things {
    fn number(&mut self, thing: Thing, same: bool, outer: Option<usize>) -> usize {
        if let Some(number) = self.numbers.get(&thing) {
            return *number;
        }
        let number = self.known.len();
        self.numbers.insert(thing, number);
        self.known.push((same, outer));
        number
    }

    fn is_same(&self, thing: usize) -> bool {
        self.known.get(thing).is_some_and(|(same, _)| *same)
    }

    fn single(thing: usize) -> Polynomial {
        Polynomial::from([(vec![(thing, 1)], Ratio::ONE)])
    }

    /// A number.
    pub fn constant(value: Ratio) -> Polynomial {
        if value.is_zero() { Polynomial::new() } else { Polynomial::from([(Vec::new(), value)]) }
    }

    /// The number that a polynomial is, if it is one.
    pub fn as_number(p: &Polynomial) -> Option<Ratio> {
        match (p.len(), p.first_key_value()) {
            (0, _) => Some(Ratio::ZERO),
            (1, Some((monomial, value))) if monomial.is_empty() => Some(value.clone()),
            _ => None,
        }
    }

    /// A coordinate of the token.
    pub fn input(&mut self, c: usize) -> Polynomial {
        let number = self.number(Thing::Input(c), false, None);
        self.in_domain(number);
        Self::single(number)
    }

    /// A coordinate of one token of a sequence.
    pub fn token(&mut self, t: usize, c: usize) -> Polynomial {
        let number = self.number(Thing::Token(t, c), true, None);
        self.in_domain(number);
        Self::single(number)
    }

    /// The number of tokens.
    pub fn length(&mut self) -> Polynomial {
        Self::single(self.number(Thing::Length, true, None))
    }

    /// `a + scale · b`.
    pub fn plus(a: &Polynomial, scale: &Ratio, b: &Polynomial) -> Outcome<Polynomial> {
        let mut sum = a.clone();
        for (monomial, factor) in b {
            let before = sum.remove(monomial).unwrap_or(Ratio::ZERO);
            let after = before.plus(&scale.times(factor));
            if !after.is_zero() {
                sum.insert(monomial.clone(), after);
            }
        }
        Self::small(sum)
    }

    /// The sum of some.
    pub fn sum(all: &[&Polynomial]) -> Outcome<Polynomial> {
        let mut sum = Polynomial::new();
        for (monomial, factor) in all.iter().flat_map(|p| p.iter()) {
            let after = sum.remove(monomial).unwrap_or(Ratio::ZERO).plus(factor);
            if !after.is_zero() {
                sum.insert(monomial.clone(), after);
            }
        }
        Self::small(sum)
    }

    fn small(p: Polynomial) -> Outcome<Polynomial> {
        let short = p.values().all(Ratio::is_short);
        if p.len() <= MOST_TERMS && short {
            Ok(p)
        } else {
            Err("a normal form has too many terms, or digits".to_owned())
        }
    }

    /// `a · b`.
    pub fn times(a: &Polynomial, b: &Polynomial) -> Outcome<Polynomial> {
        if a.len().saturating_mul(b.len()) > MOST_TERMS.saturating_mul(16) {
            return Err("a product has too many terms".to_owned());
        }
        let mut product = Polynomial::new();
        for (left, c) in a {
            for (right, d) in b {
                let mut powers: BTreeMap<usize, u32> = left.iter().copied().collect();
                for (thing, power) in right {
                    let before = powers.get(thing).copied().unwrap_or(0);
                    powers.insert(*thing, raised(before, *power)?);
                }
                let monomial: Monomial = powers.into_iter().collect();
                let sum = product.remove(&monomial).unwrap_or(Ratio::ZERO).plus(&c.times(d));
                if !sum.is_zero() {
                    product.insert(monomial, sum);
                }
            }
        }
        Self::small(product)
    }

    /// `p^k`.
    pub fn power(&mut self, p: &Polynomial, k: u32) -> Outcome<Polynomial> {
        if k > MOST_POWER {
            return Err(format!("the power {k} is not multiplied out"));
        }
        (0..k).try_fold(Self::constant(Ratio::ONE), |product, _| self.product(&product, p))
    }

    fn key(p: &Polynomial) -> Vec<(Monomial, String)> {
        p.iter().map(|(monomial, factor)| (monomial.clone(), factor.text())).collect()
    }

    /// A function of polynomials, of one token: what mixes two cannot be averaged by the rules here.
    pub fn function(&mut self, name: &'static str, arguments: &[&Polynomial]) -> Outcome<Polynomial> {
        let mut same = true;
        for (thing, _) in arguments.iter().flat_map(|p| p.keys()).flatten() {
            let (alike, outer) = self.known.get(*thing).copied().unwrap_or((false, None));
            if outer.is_some() {
                return Err(format!("there is no rule for {name} of two tokens"));
            }
            same = same && alike;
        }
        let keys = arguments.iter().map(|p| Self::key(p)).collect();
        Ok(Self::single(self.number(Thing::Function(name, keys), same, None)))
    }

    /// `1/p`.
    pub fn reciprocal(&mut self, p: &Polynomial) -> Outcome<Polynomial> {
        let (_, leading) = p.first_key_value().ok_or_else(|| "a quotient by 0".to_owned())?;
        let inverse = Ratio::ONE.over(leading).ok_or_else(|| "a quotient by 0".to_owned())?;
        if Self::as_number(p).is_some() {
            return Ok(Self::constant(inverse));
        }
        if let Some(exact) = self.points(p, |x| Ratio::ONE.over(x))? {
            return Ok(exact);
        }
        let normal = Self::plus(&Polynomial::new(), &inverse, p)?;
        let thing = self.function("reciprocal", &[&normal])?;
        Self::plus(&Polynomial::new(), &inverse, &thing)
    }

    /// The mean over all tokens.
    pub fn mean(&mut self, p: &Polynomial) -> Outcome<Polynomial> {
        self.mean_over(None, p)
    }

    /// The mean over what each token sees, which is something; or over all tokens.
    pub fn mean_over(&mut self, shown: Option<Shown>, p: &Polynomial) -> Outcome<Polynomial> {
        let mut mean = Polynomial::new();
        for (monomial, factor) in p {
            let (mut outside, mut inside): (BTreeMap<usize, u32>, Monomial) = (BTreeMap::new(), Vec::new());
            for (thing, power) in monomial {
                let (same, outer) = self.known.get(*thing).copied().unwrap_or((false, None));
                if same || outer.is_some() {
                    let entry = outside.entry(outer.unwrap_or(*thing)).or_insert(0);
                    *entry = raised(*entry, *power)?;
                } else {
                    inside.push((*thing, *power));
                }
            }
            let outside = Polynomial::from([(outside.into_iter().collect(), factor.clone())]);
            let averaged = if inside.is_empty() {
                Self::constant(Ratio::ONE)
            } else if let Some(shown) = shown {
                Self::single(self.number(Thing::Seen(shown, inside), false, None))
            } else {
                let number = self.number(Thing::Mean(inside.clone()), true, None);
                self.means.insert(number, inside);
                Self::single(number)
            };
            let term = self.product(&outside, &averaged)?;
            mean = Self::plus(&mean, &Ratio::ONE, &term)?;
        }
        Ok(mean)
    }

    /// Rewrites a polynomial of the output token as it stands inside of a mean.
    pub fn outer(&mut self, p: &Polynomial) -> Outcome<Polynomial> {
        let mut result = Polynomial::new();
        for (monomial, factor) in p {
            let mut outer: BTreeMap<usize, u32> = BTreeMap::new();
            for (thing, power) in monomial {
                outer.insert(self.outer_thing(*thing), *power);
            }
            let one = Polynomial::from([(outer.into_iter().collect(), factor.clone())]);
            result = Self::plus(&result, &Ratio::ONE, &one)?;
        }
        Ok(result)
    }

    /// A function in postfix notation.
    fn applied(&mut self, function: &[Word], variable: &Polynomial) -> Outcome<Polynomial> {
        let missing = || "a function without arguments".to_owned();
        let mut stack: Vec<Polynomial> = Vec::new();
        for word in function {
            let mut pop = || stack.pop().ok_or_else(missing);
            let next = match word {
                Word::Variable => variable.clone(),
                Word::Number(ratio) => Self::constant(ratio.clone()),
                Word::Negate => Self::plus(&Polynomial::new(), &Ratio::ONE.negative(), &pop()?)?,
                Word::Power(k) => {
                    let base = pop()?;
                    self.power(&base, *k)?
                }
                Word::Call(f) => {
                    let argument = pop()?;
                    self.call(*f, &argument)?
                }
                Word::Binary(op) => {
                    let (b, a) = (pop()?, pop()?);
                    self.binary(*op, &a, &b)?
                }
            };
            stack.push(next);
        }
        stack.pop().ok_or_else(missing)
    }

    /// A function of one polynomial. `e^(k log p + q) = p^k e^q` for a whole `k`.
    pub fn call(&mut self, f: Call, a: &Polynomial) -> Outcome<Polynomial> {
        let name = CALLS.iter().find(|(_, call)| *call == f).map_or("", |(name, _)| *name);
        let exact = match f {
            Call::Abs => self.points(a, |x| Some(x.absolute()))?,
            Call::Relu => self.points(a, |x| Some(x.clone().max(Ratio::ZERO)))?,
            _ => None,
        };
        if let Some(exact) = exact {
            return Ok(exact);
        }
        if f == Call::Exp && a.is_empty() {
            return Ok(Self::constant(Ratio::ONE));
        }
        let (mut rest, mut powers) = (a.clone(), Self::constant(Ratio::ONE));
        for (monomial, factor) in a.iter().filter(|_| f == Call::Exp) {
            let [(thing, 1)] = monomial.as_slice() else { continue };
            let Some(p) = self.logarithms.get(thing).cloned() else { continue };
            let Some(k) = factor.absolute().place().and_then(|k| u32::try_from(k).ok()) else { continue };
            let power = self.power(&p, k)?;
            let power = if factor.is_negative() { self.reciprocal(&power)? } else { power };
            powers = self.product(&powers, &power)?;
            rest.remove(monomial);
        }
        if rest.is_empty() && rest != *a {
            return Ok(powers);
        }
        let called = self.function(name, &[&rest])?;
        if let (Call::Log, Some([(thing, 1)])) = (f, called.keys().next().map(Vec::as_slice)) {
            self.logarithms.insert(*thing, a.clone());
        }
        self.product(&powers, &called)
    }

    /// Returns the number that is added to `scale · p` with the first factor of `p` 1 or -1 and nothing added: `p`'s
    /// constant, and the scale.
    fn normalised(p: &Polynomial) -> (Ratio, Ratio) {
        let shift = p.get(&Vec::new()).cloned().unwrap_or(Ratio::ZERO);
        let scale = p.iter().find(|(monomial, _)| !monomial.is_empty()).map_or(Ratio::ONE, |(_, c)| c.absolute());
        (shift, scale)
    }

    /// `(p - shift)/scale`.
    fn reduced(p: &Polynomial, shift: &Ratio, scale: &Ratio) -> Outcome<Polynomial> {
        let inverse = Ratio::ONE.over(scale).ok_or_else(|| "a factor of 0".to_owned())?;
        let less = Self::plus(p, &Ratio::ONE.negative(), &Self::constant(shift.clone()))?;
        Self::plus(&Polynomial::new(), &inverse, &less)
    }

    /// The largest of some: `max(shift + scale · p) = shift + scale · max p` for a positive scale.
    pub fn largest(&mut self, all: &[&Polynomial]) -> Outcome<Polynomial> {
        let first = all.first().ok_or_else(|| "the largest of nothing".to_owned())?;
        let (shift, scale) = self.whole_scale(all).unwrap_or_else(|| Self::normalised(first));
        let mut parts = Vec::new();
        for p in all {
            parts.push(Self::reduced(p, &shift, &scale)?);
        }
        let mut keys: Vec<_> = parts.iter().map(Self::key).collect();
        keys.sort();
        keys.dedup();
        if keys.len() == 1 {
            return Ok((*first).clone());
        }
        let number = self.number(Thing::Largest(keys), true, None);
        self.base_of_largest(number, &parts);
        Self::plus(&Self::constant(shift), &scale, &Self::single(number))
    }

    /// The largest value over all tokens, of what has one token.
    pub fn largest_of_all(&mut self, p: &Polynomial) -> Outcome<Polynomial> {
        let known = |thing: &usize| self.known.get(*thing).copied().unwrap_or((false, Some(0)));
        let things = || p.keys().flatten().map(|(thing, _)| thing);
        if things().any(|thing| known(thing).1.is_some()) {
            return Err("there is no rule for the largest of what has two tokens".to_owned());
        }
        if things().all(|thing| known(thing).0) {
            return Ok(p.clone());
        }
        let (shift, scale) = self.whole_scale(&[p]).unwrap_or_else(|| Self::normalised(p));
        let part = Self::reduced(p, &shift, &scale)?;
        let number = self.number(Thing::Largest(vec![Self::key(&part)]), true, None);
        self.base_of_largest(number, &[part]);
        Self::plus(&Self::constant(shift), &scale, &Self::single(number))
    }

    /// The largest value over what each token sees, which is something, of what has one token.
    pub fn largest_over(&mut self, shown: Option<Shown>, p: &Polynomial) -> Outcome<Polynomial> {
        let Some(shown) = shown else { return self.largest_of_all(p) };
        let known = |thing: &usize| self.known.get(*thing).copied().unwrap_or((false, Some(0)));
        let things = || p.keys().flatten().map(|(thing, _)| thing);
        if things().any(|thing| known(thing).1.is_some()) {
            return Err("there is no rule for the largest of what has two tokens".to_owned());
        }
        if things().all(|thing| known(thing).0) {
            return Ok(p.clone());
        }
        let (shift, scale) = Self::normalised(p);
        let part = Self::reduced(p, &shift, &scale)?;
        let number = self.number(Thing::LargestSeen(shown, Self::key(&part)), false, None);
        Self::plus(&Self::constant(shift), &scale, &Self::single(number))
    }

    /// What an exchange keeps at a token: nothing is known of it.
    pub fn exchanged(&mut self, wire: usize, t: usize) -> Polynomial {
        Self::single(self.number(Thing::Exchanged(wire, t), true, None))
    }

    /// The `t`-th smallest of some numbers. *Sorting by counts:* of whole numbers that are not below `lo` nor above `hi` it
    /// is `lo + Σ_{lo≤k<hi} [#{j : x_j ≤ k} ≤ t]`, if these are not too far apart.
    pub fn sorted(&mut self, all: &[Polynomial], t: usize) -> Outcome<Polynomial> {
        let first = all.first().ok_or_else(|| "a sort of nothing".to_owned())?;
        if all.iter().all(|p| p == first) {
            return Ok(first.clone());
        }
        let ends: Option<Vec<(i64, i64)>> = all.iter().map(|p| self.integers(p)).collect();
        let ends = ends.and_then(|ends| ends.into_iter().reduce(|(a, b), (lo, hi)| (a.min(lo), b.max(hi))));
        if let Some((lo, hi)) = ends.filter(|(lo, hi)| hi.abs_diff(*lo) <= MOST_COUNTS) {
            return self.sorted_by_counts(all, t, (lo, hi));
        }
        let mut keys: Vec<_> = all.iter().map(Self::key).collect();
        keys.sort();
        Ok(Self::single(self.number(Thing::Sorted(keys, t), true, None)))
    }

    fn sorted_by_counts(&mut self, all: &[Polynomial], t: usize, (lo, hi): (i64, i64)) -> Outcome<Polynomial> {
        let open = || "a sort of what is not whole".to_owned();
        let indicated = |holds: bool| Some(if holds { Ratio::ONE } else { Ratio::ZERO });
        let mut sum = Self::constant(whole::ratio(lo));
        for k in lo..hi {
            let mut below = Vec::new();
            for p in all {
                below.push(self.points(p, |x| indicated(*x <= whole::ratio(k)))?.ok_or_else(open)?);
            }
            let count = Self::sum(&below.iter().collect::<Vec<_>>())?;
            let passed = self.points(&count, |x| indicated(*x <= Ratio::whole(t)))?.ok_or_else(open)?;
            sum = Self::plus(&sum, &Ratio::ONE, &passed)?;
        }
        Ok(sum)
    }

    /// An operator.
    pub fn binary(&mut self, op: Binary, a: &Polynomial, b: &Polynomial) -> Outcome<Polynomial> {
        match op {
            Binary::Add => Self::plus(a, &Ratio::ONE, b),
            Binary::Sub => Self::plus(a, &Ratio::ONE.negative(), b),
            Binary::Mul => self.product(a, b),
            Binary::Div => {
                let inverse = self.reciprocal(b)?;
                self.product(a, &inverse)
            }
            // max(a, b) = b + R(a - b), min(a, b) = a - R(a - b).
            Binary::Max | Binary::Min => {
                let above = self.call(Call::Relu, &Self::plus(a, &Ratio::ONE.negative(), b)?)?;
                let (from, sign) = if op == Binary::Max { (b, Ratio::ONE) } else { (a, Ratio::ONE.negative()) };
                Self::plus(from, &sign, &above)
            }
        }
    }

    /// A form over wires of these normal forms.
    pub fn form(form: &Form, wires: &[Polynomial]) -> Outcome<Polynomial> {
        let mut sum = Self::constant(form.offset.clone());
        for (wire, factor) in &form.terms {
            let wire = wires.get(*wire).ok_or_else(|| "a wire that is not known".to_owned())?;
            sum = Self::plus(&sum, factor, wire)?;
        }
        Ok(sum)
    }

    /// The normal form of a wire over those of earlier ones.
    pub fn wire(&mut self, wire: &Wire, earlier: &[Polynomial]) -> Outcome<Polynomial> {
        match wire {
            Wire::Input(c) => Ok(self.input(*c)),
            Wire::Curve { of, function } => {
                let of = Self::form(of, earlier)?;
                self.applied(function, &of)
            }
            Wire::Product(a, b) | Wire::Teeth { factors: [a, b], .. } => {
                self.product(&Self::form(a, earlier)?, &Self::form(b, earlier)?)
            }
            Wire::Select { condition, value } => {
                self.product(&Self::form(condition, earlier)?, &Self::form(value, earlier)?)
            }
            Wire::Cases(form) => Self::form(form, earlier),
            Wire::Points { of, from, values } => {
                let of = Self::form(of, earlier)?;
                let open = || "values at points of what is not whole".to_owned();
                self.points(&of, |x| value_at(x, *from, values))?.ok_or_else(open)
            }
            Wire::Hub { .. } => Ok(Self::single(self.number(Thing::Hub(earlier.len()), false, None))),
            Wire::Mean { scale, of } => {
                let mean = self.mean(&Self::form(of, earlier)?)?;
                Self::plus(&Polynomial::new(), scale, &mean)
            }
            Wire::Seen { mask, pooled, scale, of } => {
                let of = Self::form(of, earlier)?;
                let shown = mask.shown().ok_or_else(|| "connections, for any number of tokens".to_owned())?;
                let shown = Some(shown).filter(|_| mask.hides());
                let pooled = match pooled {
                    Pooled::Largest => self.largest_over(shown, &of)?,
                    Pooled::Mean => self.mean_over(shown, &of)?,
                    Pooled::Sum => return Err("a sum over any number of tokens".to_owned()),
                };
                Self::plus(&Polynomial::new(), scale, &pooled)
            }
            Wire::Attend { mask, of, rows } if !mask.hides() => {
                let mut score = Polynomial::new();
                for [query, key] in rows {
                    let query = self.outer(&Self::form(query, earlier)?)?;
                    let product = self.product(&query, &Self::form(key, earlier)?)?;
                    score = Self::plus(&score, &Ratio::ONE, &product)?;
                }
                let power = self.call(Call::Exp, &score)?;
                let weighed = self.product(&power, &Self::form(of, earlier)?)?;
                let (above, below) = (self.mean(&weighed)?, self.mean(&power)?);
                self.binary(Binary::Div, &above, &below)
            }
            Wire::Attend { .. } | Wire::Position(_) | Wire::Gather { .. } | Wire::Exchange { .. } => {
                Err("positions, for any number of tokens".to_owned())
            }
        }
    }
}

/// One of the values of a wire at whole numbers, of which the first belongs to `from`.
pub(super) fn value_at(x: &Ratio, from: i64, values: &[Ratio]) -> Option<Ratio> {
    values.get(x.minus(&whole::ratio(from)).place()?).cloned()
}

#[cfg(test)]
mod tests;
