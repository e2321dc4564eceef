//! Squares and products that stand in no register: teeth add up to them (Yarotsky).
//!
//! With `g(t) = 2R(t) - 4R(t - ½)`, `s = ½ + u/2r` and `T_1 = g(s)`, `T_k = g(T_{k-1})`, for `|u| ≤ r`
//!
//! ```text
//! 0 ≤ S(u) - u² ≤ r² 4^{-m},     S(u) = r² - 4r² Σ_{k≤m} T_k 4^{-k}
//! ```
//!
//! since `S` interpolates the square at `2^m + 1` points. A product is `S(u_1) - S(u_2)` and an affine rest, where
//! `u_1² - u_2²` and the rest are the product: what is too large in both cancels. Teeth that are computed are off by what
//! they lose and by twice what the tooth before is off, given what the first of them reads; so the sum is as near to
//! the square of *what was read* as the teeth allow, and that is as near to what is meant as in any product. It is also as
//! near to what is meant as all errors of the teeth together and the deviation of `S` say.

use std::collections::BTreeMap;

use super::profile::{Cell, Profile, up};
use super::{Form, Known, Prover, Stop, declined, line};
use crate::kernel::function::{Binary, Call, Word};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::read::certificate::Wire;

/// Cells into which the argument of a square is cut.
const CELLS: usize = 64;

/// True if a function is the square.
pub fn is_square(function: &[Word]) -> bool {
    matches!(function, [Word::Variable, Word::Power(2)])
}

/// True if a function is a tooth: `2 R(x) - 4 R(x - 1/2)`, as it is written.
pub fn is_tooth(function: &[Word]) -> bool {
    let number = |word: &Word, wanted: &str| matches!(word, Word::Number(found) if found.text() == wanted);
    let [Word::Number(_), x, r, m, Word::Number(_), y, Word::Number(_), op, q, l, s] = function else { return false };
    let [two, .., four, _, half, _, _, _, _] = function else { return false };
    let plain = [x, y].iter().all(|word| **word == Word::Variable)
        && [r, q].iter().all(|word| **word == Word::Call(Call::Relu))
        && [m, l].iter().all(|word| **word == Word::Binary(Binary::Mul))
        && *s == Word::Binary(Binary::Sub);
    let shifted = (*op == Word::Binary(Binary::Add) && number(half, "-1/2"))
        || (*op == Word::Binary(Binary::Sub) && number(half, "1/2"));
    plain && shifted && number(two, "2") && number(four, "4")
}

/// A polynomial of degree two in wires: the quadratic part by pairs in order, and the affine rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quadratic {
    squares: BTreeMap<(usize, usize), Ratio>,
    rest: Form,
}

impl Quadratic {
    /// `a · b`.
    pub fn product(a: &Form, b: &Form) -> Self {
        let mut squares: BTreeMap<(usize, usize), Ratio> = BTreeMap::new();
        for (i, c) in &a.terms {
            for (j, d) in &b.terms {
                let pair = (*i.min(j), *i.max(j));
                let sum = squares.remove(&pair).unwrap_or(Ratio::ZERO).plus(&c.times(d));
                if !sum.is_zero() {
                    squares.insert(pair, sum);
                }
            }
        }
        let linear = |form: &Form| Form { offset: Ratio::ZERO, terms: form.terms.clone() };
        let rest = Form::number(a.offset.times(&b.offset)).plus(&a.offset, &linear(b)).plus(&b.offset, &linear(a));
        Self { squares, rest }
    }

    fn minus(mut self, other: &Self) -> Self {
        for (pair, factor) in &other.squares {
            let sum = self.squares.remove(pair).unwrap_or(Ratio::ZERO).minus(factor);
            if !sum.is_zero() {
                self.squares.insert(*pair, sum);
            }
        }
        self.rest = self.rest.minus(&other.rest);
        self
    }

    /// The affine form that is left of `a · b` without `u_1² - u_2²`, or without `u_1²`; nothing if it is not affine.
    pub fn left(factors: [&Form; 2], arguments: &[&Form]) -> Option<Form> {
        let [a, b] = factors;
        let square = |u: &Form| Self::product(u, u);
        let left = match arguments {
            [u] => Self::product(a, b).minus(&square(u)),
            [u, v] => {
                // a b - u² + v²: the negative of (u² - a b - v²).
                let (first, second) = (Self::product(a, b).minus(&square(u)), square(v));
                let negative = Self { squares: BTreeMap::new(), rest: Form::zero() }.minus(&second);
                first.minus(&negative)
            }
            _ => return None,
        };
        left.squares.is_empty().then_some(left.rest)
    }
}

impl Prover<'_> {
    /// A form without wires that stand in no register: these are replaced by their teeth.
    pub(super) fn lowered(&self, form: &Form) -> Result<Form, Stop> {
        let mut lowered = form.clone();
        // Every wire is made of earlier ones.
        loop {
            let case = lowered.terms.iter().rev().find_map(|(wire, factor)| match self.hints.wires.get(*wire) {
                Some(Wire::Cases(sum)) => Some((*wire, factor.clone(), sum)),
                _ => None,
            });
            if let Some((wire, factor, sum)) = case {
                lowered = lowered.plus(&factor.negative(), &Form::of(wire)).plus(&factor, sum);
                continue;
            }
            let found = lowered.terms.iter().rev().find_map(|(wire, factor)| match self.hints.wires.get(*wire) {
                Some(Wire::Teeth { factors, arguments, reach, teeth }) => {
                    Some((*wire, factor.clone(), factors, arguments, reach, teeth))
                }
                _ => None,
            });
            let Some((wire, factor, factors, arguments, reach, teeth)) = found else { return Ok(lowered) };
            let sum = sum_of_teeth(factors, arguments, reach, teeth)
                .ok_or_else(|| line(format!("wire {wire} is not the sum of its teeth")))?;
            lowered = lowered.plus(&factor.negative(), &Form::of(wire)).plus(&factor, &sum);
        }
    }

    /// Makes the wires whose teeth have been made.
    pub(super) fn teeth(&mut self) -> Result<(), Stop> {
        for (number, wire) in self.hints.wires.iter().enumerate() {
            let Wire::Teeth { factors, arguments, reach, teeth } = wire else { continue };
            let made = |wire: &usize| self.wires.get(*wire).is_some_and(Option::is_some);
            let known = factors.iter().flat_map(|form| form.terms.keys()).chain(teeth.iter().flatten()).all(made);
            if made(&number) || !known {
                continue;
            }
            let known = self.summed(number, factors, arguments, reach, teeth)?;
            self.make(number, known)?;
        }
        Ok(())
    }

    fn summed(
        &self,
        number: usize,
        factors: &[Form; 2],
        arguments: &[Form],
        reach: &Ratio,
        teeth: &[Vec<usize>],
    ) -> Result<Known, Stop> {
        let wrong = |what: &str| line(format!("wire {number}: {what}"));
        let half = Ratio::ONE.over(&Ratio::whole(2)).unwrap_or(Ratio::ZERO);
        let levels = teeth.first().map_or(0, Vec::len);
        if levels == 0 || arguments.len() != teeth.len() || teeth.iter().any(|chain| chain.len() != levels) {
            return Err(wrong("chains of teeth of different lengths, or none"));
        }
        let scale = half.over(reach).filter(|scale| !scale.is_negative()).ok_or_else(|| wrong("a reach of 0"))?;
        let mut lost = Dyadic::ZERO;
        for (u, chain) in arguments.iter().zip(teeth) {
            let mut of = u.scaled(&scale).plus(&Ratio::ONE, &Form::number(half.clone()));
            let mut share = reach.times(reach);
            for tooth in chain {
                match self.hints.wires.get(*tooth) {
                    Some(Wire::Curve { of: found, function }) if *found == of && is_tooth(function) => {}
                    _ => return Err(wrong("a chain of something else than teeth")),
                }
                lost = up(&(&lost + &(&share.range().size() * &self.known(*tooth)?.tooth)));
                share = share.times(&half).times(&half);
                of = Form::of(*tooth);
            }
            // What is computed of the argument must lie within the reach.
            if self.size(u)? > reach.range().lo {
                return Err(declined(format!(
                    "wire {number}: its argument may be farther than the reach of its teeth"
                )));
            }
        }
        let quarter = Dyadic::power_of_two(i64::try_from(levels).unwrap_or(0).saturating_mul(-2));
        let deviation = up(&(&reach.times(reach).range().size() * &quarter));
        let fixed = up(&(&deviation + &lost));
        let sum = sum_of_teeth(factors, arguments, reach, teeth).ok_or_else(|| wrong("not the sum of its teeth"))?;
        let together = up(&(&self.error(&sum)? + &deviation));
        if let ([a, b], [u]) = (factors, arguments)
            && a == b
            && a == u
        {
            return self.squared(u, &fixed, &together);
        }
        let pairs = self.pairs(&factors[0], &factors[1])?;
        let range = (&self.range(&factors[0])? * &self.range(&factors[1])?).tidy();
        let most = up(&(&pairs + &fixed)).min(together);
        Ok(Known { range, error: Profile::Constant(most.clone()), most, tooth: Dyadic::ZERO })
    }

    /// `|û² - u²| ≤ 2|u| e + e²`, by the value of `u`; and no more than is known anyway.
    fn squared(&self, u: &Form, fixed: &Dyadic, together: &Dyadic) -> Result<Known, Stop> {
        let range = self.range(u)?;
        let width = &(&range.hi - &range.lo) * &Dyadic::power_of_two(-6);
        let mut cells = Vec::new();
        for k in 0..CELLS {
            let end = |k: usize| &range.lo + &(&width * &Range::whole(k).lo);
            let argument = Range { lo: end(k), hi: end(k.saturating_add(1)) };
            let error = self.error_over(u, &argument)?;
            let twice = &(&argument.size() * &error) + &(&argument.size() * &error);
            let error = up(&(&(&twice + &(&error * &error)) + fixed)).min(together.clone());
            let values = argument.power(2).ok_or_else(|| declined("a square is too large"))?;
            cells.push(Cell { argument, values, error });
        }
        Ok(Known::of_cells(cells))
    }
}

/// The form that teeth add up to.
fn sum_of_teeth(factors: &[Form; 2], arguments: &[Form], reach: &Ratio, teeth: &[Vec<usize>]) -> Option<Form> {
    let [a, b] = factors;
    let mut sum = Quadratic::left([a, b], &arguments.iter().collect::<Vec<_>>())?;
    if arguments.len() != teeth.len() {
        return None;
    }
    let (mut sign, square) = (Ratio::ONE, reach.times(reach));
    let quarter = Ratio::ONE.over(&Ratio::whole(4))?;
    for chain in teeth {
        sum = sum.plus(&sign, &Form::number(square.clone()));
        let mut share = square.clone();
        for tooth in chain {
            sum = sum.plus(&sign.times(&share).negative(), &Form::of(*tooth));
            share = share.times(&quarter);
        }
        sign = sign.negative();
    }
    Some(sum)
}
