//! Enclosures of values: the evaluator on outward-rounded intervals.
//!
//! Every value that the target takes on a box of inputs lies in the resulting interval. The named range lemmas:
//!
//! - **square**: an even power is not negative;
//! - **variance**: `var(e) ∈ [0, (b-a)²/4]` for values in `[a, b]` (the mean squared distance from the mean is at most
//!   that from the middle of the range), intersected with the enclosure by definition;
//! - **mean**: the mean of values in `[a, b]` lies in `[a, b]` up to rounding, and so does one weighted by a softmax; so
//!   do maximum and minimum, by their own rules;
//! - **order statistic**: the `i`-th smallest of intervals lies between the `i`-th smallest of their lower and of their
//!   upper ends.

use super::expr::{CompareOp, Function};
use super::number::{Number, Outcome, declined, mean, shifted, softmax_mean, undefined};
use crate::exact::Rat;
use crate::interval::{Interval, Refusal};

/// Declines an operation that may be undefined somewhere on the box.
pub(super) fn refused<T>(outcome: Result<T, Refusal>) -> Outcome<T> {
    outcome.or_else(|refusal| declined(format!("not shown to be defined: {refusal}")))
}

/// The whole number that an interval consists of, if it does.
fn whole_value(x: Interval) -> Option<Rat> {
    Rat::from_f64(x.lo()).filter(|value| x.lo() >= x.hi() && value.is_int())
}

/// Lemma *variance*, from the range of the values.
pub(super) fn variance_range(values: &[Interval]) -> Interval {
    match values.iter().copied().reduce(Interval::hull) {
        Some(hull) if values.len() > 1 && hull.is_bounded() => {
            let span = Interval::point(hull.hi()) - Interval::point(hull.lo());
            let most = span.sqr() * Interval::point(0.25);
            Interval::ZERO.hull(most)
        }
        Some(_) if values.len() > 1 => Interval::ZERO.hull(Interval::ENTIRE).max(Interval::ZERO),
        _ => Interval::ZERO,
    }
}

/// Lemma *order statistic*: the intervals of the sorted values.
pub(super) fn order_statistics(values: &[Interval]) -> Vec<Interval> {
    let (mut lows, mut highs): (Vec<f64>, Vec<f64>) = values.iter().map(|value| (value.lo(), value.hi())).unzip();
    lows.sort_by(f64::total_cmp);
    highs.sort_by(f64::total_cmp);
    let between = |(lo, hi)| Interval::new(lo, hi).expect("the i-th lower end is not above the i-th upper end");
    lows.into_iter().zip(highs).map(between).collect()
}

/// The positions in `0..size` that a value in `x` may name.
pub(super) fn positions(x: Interval, size: usize) -> Outcome<(usize, usize)> {
    let index = |value: f64| Rat::from_f64(value).and_then(|value| value.ceil().to_usize());
    let last = size.saturating_sub(1);
    match (index(x.lo()), Rat::from_f64(x.hi()).and_then(|value| value.floor().to_usize())) {
        (Some(first), Some(end)) if x.lo() >= 0.0 && first <= end && end <= last => Ok((first, end)),
        _ => declined(format!("an index is not shown to be among 0, …, {last}: its range is {x}")),
    }
}

/// Compares two ranges: true if the comparison holds for all values, false if for none, else `None`.
pub(super) fn compare(a: Interval, op: CompareOp, b: Interval) -> Option<bool> {
    let (always, never) = match op {
        CompareOp::Less => (a.hi() < b.lo(), a.lo() >= b.hi()),
        CompareOp::LessEqual => (a.hi() <= b.lo(), a.lo() > b.hi()),
        CompareOp::Greater => return compare(b, CompareOp::Less, a),
        CompareOp::GreaterEqual => return compare(b, CompareOp::LessEqual, a),
        CompareOp::Equal => (a.hi() <= b.lo() && a.lo() >= b.hi(), a.hi() < b.lo() || a.lo() > b.hi()),
        CompareOp::NotEqual => return compare(a, CompareOp::Equal, b).map(|equal| !equal),
    };
    if always { Some(true) } else { never.then_some(false) }
}

/// `a mod b` for integers: exactly if both are known, else in `[0, |b|-1]`.
pub(super) fn modulo(a: Interval, b: Interval) -> Outcome<Interval> {
    if b.contains(0.0) {
        return declined(format!("the divisor of `mod` is not shown to differ from 0: its range is {b}"));
    }
    if let (Some(a), Some(b)) = (whole_value(a), whole_value(b)) {
        return a.modulo(&b).map(|value| Interval::from(&value));
    }
    Ok(Interval::ZERO.hull(Interval::point(b.mag()) - Interval::ONE))
}

impl Number for Interval {
    fn constant(value: &Rat) -> Self {
        Self::from(value)
    }

    fn add(&self, other: &Self) -> Self {
        *self + *other
    }

    fn sub(&self, other: &Self) -> Self {
        *self - *other
    }

    fn mul(&self, other: &Self) -> Self {
        *self * *other
    }

    fn div(&self, other: &Self) -> Outcome<Self> {
        refused(self.checked_div(*other))
    }

    fn modulo(&self, other: &Self) -> Outcome<Self> {
        modulo(*self, *other)
    }

    fn pow(&self, exponent: u32) -> Outcome<Self> {
        Ok(if exponent == 2 { self.sqr() } else { self.powi(exponent) })
    }

    fn call(function: Function, arguments: &[Self]) -> Outcome<Self> {
        match (function, arguments) {
            (Function::Exp, [e]) => Ok(e.exp()),
            (Function::Log, [e]) => refused(e.log()),
            (Function::Sqrt, [e]) => refused(e.sqrt()),
            (Function::Tanh, [e]) => Ok(e.tanh()),
            (Function::Sin, [e]) => Ok(e.sin()),
            (Function::Cos, [e]) => Ok(e.cos()),
            (Function::Abs, [e]) => Ok(e.abs()),
            (Function::Relu, [e]) => Ok(e.relu()),
            (Function::Min, [a, b]) => Ok(Self::min(*a, *b)),
            (Function::Max, [a, b]) => Ok(Self::max(*a, *b)),
            (Function::Clamp, [e, low, high]) => Ok(Self::min(Self::max(*e, *low), *high)),
            (Function::Floor, [e]) => Ok(e.floor()),
            _ => undefined(format!("{} with {} arguments", function.name(), arguments.len())),
        }
    }

    fn compare(&self, op: CompareOp, other: &Self) -> Option<bool> {
        compare(*self, op, *other)
    }

    fn either(self, other: Self) -> Self {
        self.hull(other)
    }

    fn between(certain: usize, possible: usize) -> Self {
        Self::whole(certain).hull(Self::whole(possible))
    }

    fn positions(&self, size: usize) -> Outcome<(usize, usize)> {
        positions(*self, size)
    }

    fn sort(values: &mut [Self]) {
        let sorted = order_statistics(values);
        for (value, sorted) in values.iter_mut().zip(sorted) {
            *value = sorted;
        }
    }

    /// Lemma *mean*: among the values, whatever the weights.
    fn weighted(scores: &[Self], values: &[Self]) -> Outcome<Self> {
        let most = scores.iter().map(|score| score.hi()).fold(f64::NEG_INFINITY, f64::max);
        let hull = values.iter().copied().reduce(Self::hull).unwrap_or(Self::ENTIRE);
        let mean = softmax_mean(&shifted(scores, most), values).unwrap_or(hull);
        Ok(mean.intersect(hull).unwrap_or(hull))
    }

    fn variance(values: &[Self]) -> Outcome<Self> {
        let centre = mean(values)?;
        let squares: Vec<Self> = values.iter().map(|value| (*value - centre).sqr()).collect();
        let centred = mean(&squares)?;
        Ok(centred.intersect(variance_range(values)).unwrap_or(centred))
    }
}
