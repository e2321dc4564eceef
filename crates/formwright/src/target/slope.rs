//! Enclosures of values and derivatives: the evaluator in forward mode.
//!
//! A [`Slope`] is a [`Dual`] that need not know the number of inputs while it is constant. Where a target may *jump* on
//! the box (an undecided condition, a count, a floor that passes an integer, a table entry that is not determined)
//! nothing is known of its slope, and only the values count.

use std::convert::Infallible;

use super::enclosure::{compare, modulo, order_statistics, positions, refused, variance_range};
use super::expr::{CompareOp, Function};
use super::number::{Number, Outcome, mean, shifted, softmax_mean, undefined};
use crate::exact::Rat;
use crate::interval::dual::{Dual, Order};
use crate::interval::{Interval, Refusal};

/// A number of the target with its derivatives.
#[derive(Clone, Debug)]
pub(super) enum Slope {
    /// The same number at every input of the box, enclosed.
    Constant(Interval),
    /// A function of the inputs.
    Varying(Dual),
    /// A function that may jump: its values are enclosed, its slopes are not.
    Jump(Interval),
}

impl Slope {
    pub(super) fn value(&self) -> Interval {
        match self {
            Self::Constant(value) | Self::Jump(value) => *value,
            Self::Varying(dual) => dual.value(),
        }
    }

    /// The number as a function of `inputs` inputs.
    pub(super) fn dual(&self, inputs: usize, order: Order) -> Dual {
        match self {
            Self::Constant(value) => Dual::constant(*value, inputs, order),
            Self::Jump(value) => Dual::unknown(*value, inputs),
            Self::Varying(dual) => dual.clone(),
        }
    }

    /// A function with values in `value` that is not continuous unless it has only one.
    fn jump(value: Interval) -> Self {
        if value.lo() < value.hi() { Self::Jump(value) } else { Self::Constant(value) }
    }

    fn unary(
        &self,
        on_value: impl Fn(Interval) -> Result<Interval, Refusal>,
        on_dual: impl Fn(&Dual) -> Result<Dual, Refusal>,
    ) -> Outcome<Self> {
        refused(match self {
            Self::Constant(value) => on_value(*value).map(Self::Constant),
            Self::Jump(value) => on_value(*value).map(Self::jump),
            Self::Varying(dual) => on_dual(dual).map(Self::Varying),
        })
    }

    fn smooth(&self, on_value: fn(Interval) -> Interval, on_dual: fn(&Dual) -> Dual) -> Outcome<Self> {
        self.unary(|value| Ok(on_value(value)), |dual| Ok(on_dual(dual)))
    }

    fn binary<E>(
        &self,
        other: &Self,
        on_values: impl Fn(Interval, Interval) -> Result<Interval, E>,
        on_duals: impl Fn(&Dual, &Dual) -> Result<Dual, E>,
    ) -> Result<Self, E> {
        let lift = |value: Interval, like: &Dual| {
            let order = if like.hessian().is_some() { Order::Second } else { Order::First };
            Dual::constant(value, like.gradient().len(), order)
        };
        match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => on_values(*a, *b).map(Self::Constant),
            (Self::Jump(_), _) | (_, Self::Jump(_)) => on_values(self.value(), other.value()).map(Self::jump),
            (Self::Constant(a), Self::Varying(b)) => on_duals(&lift(*a, b), b).map(Self::Varying),
            (Self::Varying(a), Self::Constant(b)) => on_duals(a, &lift(*b, a)).map(Self::Varying),
            (Self::Varying(a), Self::Varying(b)) => on_duals(a, b).map(Self::Varying),
        }
    }

    /// Applies an operation that cannot fail.
    fn total(
        &self,
        other: &Self,
        on_values: impl Fn(Interval, Interval) -> Interval,
        on_duals: impl Fn(&Dual, &Dual) -> Dual,
    ) -> Self {
        let Ok(result) =
            self.binary(other, |a, b| Ok::<_, Infallible>(on_values(a, b)), |a, b| Ok::<_, Infallible>(on_duals(a, b)));
        result
    }

    fn max_of(&self, other: &Self) -> Self {
        self.total(other, Interval::max, Dual::max)
    }

    fn min_of(&self, other: &Self) -> Self {
        self.total(other, Interval::min, Dual::min)
    }

    /// The same function, whose values are proved to lie in `range` too.
    fn within(self, range: Interval) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(value.intersect(range).unwrap_or(value)),
            Self::Jump(value) => Self::Jump(value.intersect(range).unwrap_or(value)),
            Self::Varying(dual) => Self::Varying(dual.clone().with_value_in(range).unwrap_or(dual)),
        }
    }
}

impl Number for Slope {
    fn constant(value: &Rat) -> Self {
        Self::Constant(Interval::from(value))
    }

    fn add(&self, other: &Self) -> Self {
        self.total(other, |a, b| a + b, |a, b| a + b)
    }

    fn sub(&self, other: &Self) -> Self {
        self.total(other, |a, b| a - b, |a, b| a - b)
    }

    fn mul(&self, other: &Self) -> Self {
        self.total(other, |a, b| a * b, |a, b| a * b)
    }

    fn div(&self, other: &Self) -> Outcome<Self> {
        refused(self.binary(other, Interval::checked_div, Dual::checked_div))
    }

    fn modulo(&self, other: &Self) -> Outcome<Self> {
        modulo(self.value(), other.value()).map(Self::jump)
    }

    fn pow(&self, exponent: u32) -> Outcome<Self> {
        match exponent {
            2 => self.smooth(Interval::sqr, Dual::sqr),
            _ => self.unary(|value| Ok(value.powi(exponent)), |dual| Ok(dual.powi(exponent))),
        }
    }

    fn call(function: Function, arguments: &[Self]) -> Outcome<Self> {
        match (function, arguments) {
            (Function::Exp, [e]) => e.smooth(Interval::exp, Dual::exp),
            (Function::Log, [e]) => e.unary(Interval::log, Dual::log),
            (Function::Sqrt, [e]) => e.unary(Interval::sqrt, Dual::sqrt),
            (Function::Tanh, [e]) => e.smooth(Interval::tanh, Dual::tanh),
            (Function::Sin, [e]) => e.smooth(Interval::sin, Dual::sin),
            (Function::Cos, [e]) => e.smooth(Interval::cos, Dual::cos),
            (Function::Abs, [e]) => e.smooth(Interval::abs, Dual::abs),
            (Function::Relu, [e]) => e.smooth(Interval::relu, Dual::relu),
            (Function::Min, [a, b]) => Ok(a.min_of(b)),
            (Function::Max, [a, b]) => Ok(a.max_of(b)),
            (Function::Clamp, [e, low, high]) => Ok(e.max_of(low).min_of(high)),
            (Function::Floor, [e]) => Ok(Self::jump(e.value().floor())),
            _ => undefined(format!("{} with {} arguments", function.name(), arguments.len())),
        }
    }

    fn compare(&self, op: CompareOp, other: &Self) -> Option<bool> {
        compare(self.value(), op, other.value())
    }

    fn either(self, other: Self) -> Self {
        Self::jump(self.value().hull(other.value()))
    }

    fn between(certain: usize, possible: usize) -> Self {
        Self::jump(Interval::between(certain, possible))
    }

    fn positions(&self, size: usize) -> Outcome<(usize, usize)> {
        positions(self.value(), size)
    }

    /// An order statistic is made of the values by maxima and minima, so its slope lies in the hull of theirs; and one
    /// that is never equal to it does not matter, because continuous values that never meet keep their order.
    fn sort(values: &mut [Self]) {
        let ranges: Vec<Interval> = values.iter().map(Self::value).collect();
        let inputs = values
            .iter()
            .find_map(|value| if let Self::Varying(dual) = value { Some(dual.gradient().len()) } else { None });
        let jumps = values.iter().any(|value| matches!(value, Self::Jump(_)));
        let duals: Vec<Dual> = match inputs {
            Some(inputs) if !jumps => values.iter().map(|value| value.dual(inputs, Order::First)).collect(),
            _ => Vec::new(),
        };
        for (value, range) in values.iter_mut().zip(order_statistics(&ranges)) {
            let meeting = duals.iter().filter(|dual| dual.value().intersect(range).is_some());
            *value = match Dual::one_of(range, meeting) {
                Some(dual) => Self::Varying(dual),
                None if jumps => Self::jump(range),
                None => Self::Constant(range),
            };
        }
    }

    fn weighted(scores: &[Self], values: &[Self]) -> Outcome<Self> {
        let most = scores.iter().map(|score| score.value().hi()).fold(f64::NEG_INFINITY, f64::max);
        let hull = values.iter().map(Self::value).reduce(Interval::hull).unwrap_or(Interval::ENTIRE);
        Ok(softmax_mean(&shifted(scores, most), values)?.within(hull))
    }

    fn variance(values: &[Self]) -> Outcome<Self> {
        let centre = mean(values)?;
        let squares = values.iter().map(|value| value.sub(&centre).pow(2)).collect::<Outcome<Vec<_>>>()?;
        let ranges: Vec<Interval> = values.iter().map(Self::value).collect();
        Ok(mean(&squares)?.within(variance_range(&ranges)))
    }
}
