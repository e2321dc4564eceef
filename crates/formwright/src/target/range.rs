//! An exact enclosure of all values that a target takes on its domain.
//!
//! The evaluator runs on intervals with rational ends. The output token and the running token stay single tokens, so
//! conditions on positions are decided and only conditions on values are not: both branches of such an `if` count.
//! Lemmas: `e^2 ≥ 0` and every even power; `var(e) ∈ [0, (b-a)²/4]` for values in `[a, b]` (the mean squared distance
//! from the mean is at most that from the middle of the range); a mean weighted by a softmax lies among the values; the `i`-th smallest of intervals lies between the
//! `i`-th smallest of their lower ends and that of their upper ends.

use super::evaluate::{Evaluator, evaluate};
use super::expr::{CompareOp, Domain, Expr, Function};
use super::number::{Number, Outcome, declined, exact_power, position, undefined};
use super::typing::Checked;
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};

/// The numbers from `low` to `high`, exact: unlike intervals of floats, they reach beyond the largest float.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub low: Rat,
    pub high: Rat,
}

impl Checked {
    /// An interval that holds every output value for sequences of `tokens` tokens from the domain.
    ///
    /// Declined where a denominator's range contains 0, or where a range is not rational.
    pub fn range_exact(&self, tokens: usize) -> Result<(Rat, Rat)> {
        let outputs = evaluate(self, self.simplified(), &self.box_of(tokens))?;
        let hull = outputs.into_iter().flatten().reduce(Bounds::either);
        hull.map(|range| (range.low, range.high)).ok_or_else(|| Error::input("a sequence of 0 tokens has no values"))
    }

    /// The range of a part of the target, over all tokens and, `inside` an aggregate, all running tokens.
    ///
    /// The part may come from the target as written or simplified, or be composed of such parts. For many parts, use
    /// [`Checked::ranges`].
    #[allow(dead_code, reason = "for compilers that ask for a single part")]
    pub(crate) fn range_of(&self, part: &Expr, inside: bool, tokens: usize) -> Result<Bounds> {
        let x = self.box_of(tokens);
        self.ranges(&x).of(part, inside)
    }

    /// The ranges of parts on a box of inputs, in any kind of enclosure: exact, or by outward-rounded floats.
    pub(crate) fn ranges<'e, T: Number>(&'e self, x: &'e [Vec<T>]) -> Ranges<'e, T> {
        Ranges { evaluator: Evaluator::new(self, self.simplified(), x), dims: self.dims() }
    }

    /// The box of all inputs.
    pub(crate) fn box_of(&self, tokens: usize) -> Vec<Vec<Bounds>> {
        let side = match &self.expression().domain {
            Domain::Interval(low, high) => Bounds { low: low.clone(), high: high.clone() },
            Domain::Integers(from, to) => Bounds { low: Rat::from(*from), high: Rat::from(*to) - Rat::ONE },
        };
        vec![vec![side; self.dims()]; tokens]
    }
}

/// The ranges of the parts of a target; its bindings are computed once. A binding without a range affects only the
/// parts that use it.
pub(crate) struct Ranges<'e, T> {
    evaluator: Evaluator<'e, T>,
    dims: usize,
}

impl<T: Number> Ranges<'_, T> {
    /// The range of a part, over all tokens and, `inside` an aggregate, all running tokens.
    pub(crate) fn of(&mut self, part: &Expr, inside: bool) -> Result<T> {
        self.evaluator.hull_of(part, inside, self.dims)
    }
}

impl Bounds {
    fn point(value: Rat) -> Self {
        Self { low: value.clone(), high: value }
    }

    /// The hull of at least one value.
    fn hull<const N: usize>(values: [Rat; N]) -> Self {
        let low = values.iter().min().cloned().unwrap_or_default();
        Self { low, high: values.into_iter().max().unwrap_or_default() }
    }

    fn contains_zero(&self) -> bool {
        self.low <= Rat::ZERO && self.high >= Rat::ZERO
    }

    /// The image under a map that keeps the order, from both ends.
    fn rising(&self, map: impl Fn(&Rat) -> Rat) -> Self {
        Self { low: map(&self.low), high: map(&self.high) }
    }
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}, {}]", self.low, self.high)
    }
}

impl Number for Bounds {
    fn constant(value: &Rat) -> Self {
        Self::point(value.clone())
    }

    fn is_too_long(&self) -> bool {
        self.low.is_too_long() || self.high.is_too_long()
    }

    fn add(&self, other: &Self) -> Self {
        Self { low: &self.low + &other.low, high: &self.high + &other.high }
    }

    fn sub(&self, other: &Self) -> Self {
        Self { low: &self.low - &other.high, high: &self.high - &other.low }
    }

    fn mul(&self, other: &Self) -> Self {
        let (a, b) = (self, other);
        Self::hull([&a.low * &b.low, &a.low * &b.high, &a.high * &b.low, &a.high * &b.high])
    }

    fn div(&self, other: &Self) -> Outcome<Self> {
        if other.contains_zero() {
            return declined(format!("the denominator is not shown to differ from 0: its range is {other}"));
        }
        Ok(self.mul(&Self { low: Rat::ONE / other.high.clone(), high: Rat::ONE / other.low.clone() }))
    }

    fn modulo(&self, other: &Self) -> Outcome<Self> {
        if other.contains_zero() {
            return declined(format!("the divisor of `mod` is not shown to differ from 0: its range is {other}"));
        }
        let size = other.low.abs().max(other.high.abs());
        let period = |value: &Rat| (value / &size).floor();
        if other.low == other.high && period(&self.low) == period(&self.high) {
            let start = Rat::from(period(&self.low)) * &size;
            return Ok(self.rising(|value| value - &start));
        }
        Ok(Self { low: Rat::ZERO, high: size - Rat::ONE })
    }

    fn pow(&self, exponent: u32) -> Outcome<Self> {
        let ends = [exact_power(&self.low, exponent)?, exact_power(&self.high, exponent)?];
        let turns = exponent > 0 && exponent.is_multiple_of(2) && self.contains_zero();
        let hull = Self::hull(ends);
        Ok(if turns { Self { low: Rat::ZERO, ..hull } } else { hull })
    }

    fn call(function: Function, arguments: &[Self]) -> Outcome<Self> {
        let max = |a: &Self, b: &Self| Self {
            low: a.low.clone().max(b.low.clone()),
            high: a.high.clone().max(b.high.clone()),
        };
        let min = |a: &Self, b: &Self| Self {
            low: a.low.clone().min(b.low.clone()),
            high: a.high.clone().min(b.high.clone()),
        };
        match (function, arguments) {
            (Function::Abs, [e]) if e.contains_zero() => {
                Ok(Self { low: Rat::ZERO, high: e.low.abs().max(e.high.abs()) })
            }
            (Function::Abs, [e]) => Ok(Self::hull([e.low.abs(), e.high.abs()])),
            (Function::Relu, [e]) => Ok(e.rising(|value| value.clone().max(Rat::ZERO))),
            (Function::Min, [a, b]) => Ok(min(a, b)),
            (Function::Max, [a, b]) => Ok(max(a, b)),
            (Function::Clamp, [e, low, high]) => Ok(min(&max(e, low), high)),
            (Function::Floor, [e]) => Ok(e.rising(|value| value.floor().into())),
            (_, [e]) if e.low == e.high => Rat::call(function, std::slice::from_ref(&e.low)).map(Self::point),
            (_, [e]) => declined(format!("the range of {} on {e} is not rational", function.name())),
            _ => undefined(format!("{} with {} arguments", function.name(), arguments.len())),
        }
    }

    fn compare(&self, op: CompareOp, other: &Self) -> Option<bool> {
        let (always, never) = match op {
            CompareOp::Less => (self.high < other.low, self.low >= other.high),
            CompareOp::LessEqual => (self.high <= other.low, self.low > other.high),
            CompareOp::Greater => return other.compare(CompareOp::Less, self),
            CompareOp::GreaterEqual => return other.compare(CompareOp::LessEqual, self),
            CompareOp::Equal => {
                (self.high <= other.low && self.low >= other.high, self.high < other.low || self.low > other.high)
            }
            CompareOp::NotEqual => return self.compare(CompareOp::Equal, other).map(|equal| !equal),
        };
        if always { Some(true) } else { never.then_some(false) }
    }

    fn either(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn between(certain: usize, possible: usize) -> Self {
        Self { low: Rat::from(certain), high: Rat::from(possible) }
    }

    fn positions(&self, size: usize) -> Outcome<(usize, usize)> {
        if let (Ok(first), Ok(last)) = (position(&self.low, size), position(&self.high, size)) {
            return Ok((first, last));
        }
        let last = size.saturating_sub(1);
        declined(format!("an index is not shown to be among 0, …, {last}: its range is {self}"))
    }

    fn sort(values: &mut [Self]) {
        let mut ends: (Vec<Rat>, Vec<Rat>) = values.iter().map(|value| (value.low.clone(), value.high.clone())).unzip();
        ends.0.sort();
        ends.1.sort();
        for (value, (low, high)) in values.iter_mut().zip(ends.0.into_iter().zip(ends.1)) {
            *value = Self { low, high };
        }
    }

    /// Among the values, whatever the weights.
    fn weighted(_scores: &[Self], values: &[Self]) -> Outcome<Self> {
        let hull = values.iter().cloned().reduce(Self::either);
        hull.map_or_else(|| undefined("no token passes the filter"), Ok)
    }

    fn variance(values: &[Self]) -> Outcome<Self> {
        let hull = values.iter().cloned().reduce(Self::either).unwrap_or_else(|| Self::point(Rat::ZERO));
        let width = hull.high - hull.low;
        let most = if values.len() < 2 { Rat::ZERO } else { &width * &width / Rat::from(Int::from(4)) };
        Ok(Self { low: Rat::ZERO, high: most })
    }
}

#[cfg(test)]
mod tests {
    use super::super::expr::Expression;
    use super::super::random::{Features, Random, input, target};
    use super::*;
    use crate::error::ErrorKind;

    fn checked(text: &str) -> Checked {
        Expression::parse(text).and_then(|target| target.check(1)).expect(text)
    }

    fn range(text: &str) -> String {
        let (low, high) = checked(text).range_exact(4).expect(text);
        format!("[{low}, {high}]")
    }

    #[test]
    fn ranges_are_those_of_the_rules() {
        for (text, expected) in [
            ("x", "[0, 1]"),
            ("x on [-1, 2]", "[-1, 2]"),
            ("x on integers -2..5", "[-2, 4]"),
            ("x - mean(x)", "[-1, 1]"),
            ("x^2 on [-1, 2]", "[0, 4]"),
            ("x^3 on [-1, 2]", "[-1, 8]"),
            ("x^0 on [-1, 2]", "[1, 1]"),
            ("var(x) on [-1, 2]", "[0, 9/4]"),
            ("mean(x) + max(x) + min(x)", "[0, 3]"),
            ("sum(x)", "[0, 4]"),
            ("sum(x, j < 2)", "[0, 2]"),
            ("sum(x, j <= i) on [1, 2]", "[1, 8]"),
            ("sort(x)", "[0, 1]"),
            ("sort(x) + i", "[0, 4]"),
            ("x[n-1-i] on [2, 3]", "[2, 3]"),
            ("if i == 0 then x else x[i-1]", "[0, 1]"),
            ("if x < 1/2 then 5 else x", "[0, 5]"),
            ("if x < 2 then 5 else x", "[5, 5]"),
            ("if x <= 0 then 5 else x", "[0, 5]"),
            ("if x <= 1 then 5 else x", "[5, 5]"),
            ("if x < 0 then 5 else x", "[0, 1]"),
            ("if x < 1 then 5 else x", "[0, 5]"),
            ("if x >= 1 then 5 else x", "[0, 5]"),
            ("if x >= 0 then 5 else x", "[5, 5]"),
            ("if x > 1 then 5 else x", "[0, 1]"),
            ("if x == 2 then 5 else x on integers 0..3", "[0, 5]"),
            ("if x == 3 then 5 else x on integers 0..3", "[0, 2]"),
            ("if x != 3 then 5 else x on integers 0..3", "[5, 5]"),
            ("if x == 2 then 5 else x on integers 2..3", "[5, 5]"),
            ("if x > 2 or x < 1/2 and i == 9 then 5 else x", "[0, 1]"),
            ("count(x > 1/2)", "[0, 4]"),
            ("count(x < x[i])", "[0, 3]"),
            ("count(x <= x[i])", "[1, 4]"),
            ("count(x > 1/2, j < i)", "[0, 3]"),
            ("count(j < i)", "[0, 3]"),
            ("i", "[0, 3]"),
            ("n", "[4, 4]"),
            ("x / n", "[0, 1/4]"),
            ("x / (x + 1)", "[0, 1]"),
            ("1 / (x - 2)", "[-1, -1/2]"),
            ("-x * (x - 1/2)", "[-1/2, 1/2]"),
            ("abs(x) on [-3, 2]", "[0, 3]"),
            ("abs(x) on [-3, -2]", "[2, 3]"),
            ("relu(x) + clamp(x, 0, 1) on [-3, 2]", "[0, 3]"),
            ("min(x, 1/2) - max(x, 1/2)", "[-1, 0]"),
            ("floor(x * 5 / 2)", "[0, 2]"),
            ("x mod 4 on integers 5..7", "[1, 2]"),
            ("x mod 4 on integers 2..7", "[0, 3]"),
            ("x mod -4 on integers 5..7", "[1, 2]"),
            ("table(x; 1, 5, -1/2) on integers 1..3", "[-1/2, 5]"),
            ("x[x] on integers 0..4", "[0, 3]"),
            ("exp(0) + sqrt(9/4)", "[5/2, 5/2]"),
        ] {
            assert_eq!(range(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_shown_to_be_defined_is_declined_with_the_range() {
        for (text, headline) in [
            ("1 / x", "the denominator is not shown to differ from 0: its range is [0, 1]"),
            ("1 / (x - mean(x))", "the denominator is not shown to differ from 0: its range is [-1, 1]"),
            ("if x > 0 then 1 / x else 0", "the denominator is not shown to differ from 0: its range is [0, 1]"),
            ("x / i", "the denominator is not shown to differ from 0: its range is [0, 0]"),
            ("i mod x on integers 0..2", "the divisor of `mod` is not shown to differ from 0: its range is [0, 1]"),
            ("x[x] on integers 0..5", "an index is not shown to be among 0, …, 3: its range is [0, 4]"),
            ("x[i+1]", "an index is not shown to be among 0, …, 3: its range is [4, 4]"),
            ("table(x; 1, 2) on integers 0..3", "an index is not shown to be among 0, …, 1: its range is [0, 2]"),
            ("exp(x)", "the range of exp on [0, 1] is not rational"),
            ("sqrt(x + 1)", "the range of sqrt on [1, 2] is not rational"),
        ] {
            let error = checked(text).range_exact(4).expect_err(text);
            assert_eq!((error.kind(), error.headline()), (ErrorKind::Declined, headline), "{text}");
            assert!(error.to_string().contains("^ "), "{error}");
        }
        assert!(checked("mean(x, j < i)").range_exact(4).is_err());
        assert!(checked("x").range_exact(0).is_err());
    }

    #[test]
    fn every_value_lies_in_the_range() {
        let mut values = 0;
        for seed in 0..4_000 {
            let random = &mut Random::new(seed);
            let kind =
                Features { dims: 1 + random.below(2), integers: random.below(2) == 0, positions: random.below(3) > 0 };
            let target = target(random, kind).check(kind.dims).expect("a checked target");
            let tokens = 1 + random.below(4);
            let Ok((low, high)) = target.range_exact(tokens) else { continue };
            for _ in 0..5 {
                let x = input(random, tokens, kind);
                let y = target.evaluate_exact(&x).map_err(|error| format!("{}: {error}", target.expression()));
                for value in y.expect("a range shows that there are values").into_iter().flatten() {
                    assert!(low <= value && value <= high, "seed {seed}: {} {x:?} {value}", target.expression());
                    values += 1;
                }
            }
        }
        assert!(values > 10_000, "only {values} values were compared");
    }
}
