//! The operations that the evaluator needs of a kind of number: those of the language, and no others.
//!
//! An operation may have no result: the quotient by zero, or a value that this kind of number cannot hold. The
//! evaluator adds the place to such a [`Fault`], or goes on with the kind's own [`Number::undefined`], which only `f64`
//! has.

use super::expr::{CompareOp, Function};
use crate::error::Error;
use crate::exact::{Int, Rat};

/// Exact powers of more binary digits than this are refused.
const MAX_BITS: usize = 1 << 20;
/// Bound numbers of more binary digits than this are refused: each binding could double the digits of those before it.
pub(crate) const MAX_BOUND_BITS: usize = 1 << 16;

/// The reason why an operation has no result; the evaluator adds the place. It is boxed, because results are many and
/// faults are few.
pub(crate) type Fault = Box<Error>;

/// The result of one operation.
pub(crate) type Outcome<T> = Result<T, Fault>;

/// The fault that the target has no value at this input.
pub(crate) fn undefined<T>(headline: impl Into<String>) -> Outcome<T> {
    Err(Box::new(Error::input(headline)))
}

/// The fault that this kind of number cannot hold the value.
pub(crate) fn declined<T>(headline: impl Into<String>) -> Outcome<T> {
    Err(Box::new(Error::declined(headline)))
}

/// A kind of number in which the language can be evaluated.
pub(crate) trait Number: Clone {
    /// The number that the text says.
    fn constant(value: &Rat) -> Self;

    /// A position or a number of tokens.
    fn whole(value: usize) -> Self {
        Self::constant(&Rat::from(value))
    }

    /// The number that stands for a value that does not exist, in kinds of number that have one.
    fn undefined() -> Option<Self> {
        None
    }

    /// True if it has more than [`MAX_BOUND_BITS`].
    fn is_too_long(&self) -> bool {
        false
    }

    /// `self + other`
    fn add(&self, other: &Self) -> Self;
    /// `self - other`
    fn sub(&self, other: &Self) -> Self;
    /// `self * other`
    fn mul(&self, other: &Self) -> Self;
    /// `self / other`
    fn div(&self, other: &Self) -> Outcome<Self>;
    /// `self mod other`
    fn modulo(&self, other: &Self) -> Outcome<Self>;
    /// `self ^ exponent`
    fn pow(&self, exponent: u32) -> Outcome<Self>;
    /// `function(arguments)`, with as many arguments as the function takes.
    fn call(function: Function, arguments: &[Self]) -> Outcome<Self>;
    /// True if the comparison holds; `None` where that is undecided.
    fn compare(&self, op: CompareOp, other: &Self) -> Option<bool>;

    /// A number for either of the two, where a condition is undecided. It matters only to kinds of number that leave
    /// some undecided.
    fn either(self, _other: Self) -> Self {
        self
    }

    /// A number between `certain` and `possible`, where conditions are counted. They are equal unless some were
    /// undecided.
    fn between(certain: usize, _possible: usize) -> Self {
        Self::whole(certain)
    }

    /// The positions in `0..size` that the value may name: the first and the last.
    fn positions(&self, size: usize) -> Outcome<(usize, usize)>;

    /// Sorts in ascending order.
    fn sort(values: &mut [Self]);

    /// The mean of at least one value, weighted by the softmax of as many scores.
    fn weighted(scores: &[Self], values: &[Self]) -> Outcome<Self> {
        softmax_mean(scores, values)
    }

    /// The mean squared distance from the mean of at least one value.
    fn variance(values: &[Self]) -> Outcome<Self> {
        centred_variance(values)
    }
}

/// `Σ exp(s) v / Σ exp(s)`.
pub(crate) fn softmax_mean<T: Number>(scores: &[T], values: &[T]) -> Outcome<T> {
    let powers = scores.iter().map(|score| T::call(Function::Exp, std::slice::from_ref(score)));
    let powers = powers.collect::<Outcome<Vec<T>>>()?;
    let weighed: Vec<T> = powers.iter().zip(values).map(|(power, value)| power.mul(value)).collect();
    sum(&weighed).div(&sum(&powers))
}

/// The same scores, each less by a number: no weight changes, and powers stay small.
pub(crate) fn shifted<T: Number>(scores: &[T], by: f64) -> Vec<T> {
    let by = Rat::from_f64(by).map(|by| T::constant(&by));
    scores.iter().map(|score| by.as_ref().map_or_else(|| score.clone(), |by| score.sub(by))).collect()
}

/// The variance by its definition.
fn centred_variance<T: Number>(values: &[T]) -> Outcome<T> {
    let centre = mean(values)?;
    let squares = values.iter().map(|value| value.sub(&centre).pow(2)).collect::<Outcome<Vec<_>>>()?;
    mean(&squares)
}

/// The sum; 0 for no values.
pub(crate) fn sum<T: Number>(values: &[T]) -> T {
    let mut values = values.iter();
    let first = values.next().cloned().unwrap_or_else(|| T::constant(&Rat::ZERO));
    values.fold(first, |total, value| total.add(value))
}

/// The mean of at least one value.
pub(crate) fn mean<T: Number>(values: &[T]) -> Outcome<T> {
    sum(values).div(&T::whole(values.len()))
}

/// A whole number as a position in `0..size`.
pub(crate) fn position(value: &Rat, size: usize) -> Outcome<usize> {
    let position = value.to_int().and_then(|value| value.to_usize()).filter(|position| *position < size);
    position.map_or_else(|| undefined(format!("index {value} is not among 0, …, {}", size.saturating_sub(1))), Ok)
}

/// `value ^ exponent`, unless it is too long to be worth it.
pub(crate) fn exact_power(value: &Rat, exponent: u32) -> Outcome<Rat> {
    let bits = value.numerator().bits() + value.denominator().bits();
    match usize::try_from(exponent) {
        Ok(exponent) if bits.saturating_mul(exponent) <= MAX_BITS => Ok(value.pow(exponent)),
        _ => declined(format!("a power of more than {MAX_BITS} binary digits")),
    }
}

impl Number for Rat {
    fn constant(value: &Rat) -> Self {
        value.clone()
    }

    fn is_too_long(&self) -> bool {
        self.numerator().bits() + self.denominator().bits() > MAX_BOUND_BITS
    }

    fn add(&self, other: &Self) -> Self {
        self + other
    }

    fn sub(&self, other: &Self) -> Self {
        self - other
    }

    fn mul(&self, other: &Self) -> Self {
        self * other
    }

    fn div(&self, other: &Self) -> Outcome<Self> {
        if other.is_zero() { undefined(format!("{self} is divided by 0")) } else { Ok(self / other) }
    }

    fn modulo(&self, other: &Self) -> Outcome<Self> {
        match (self.to_int(), other.to_int()) {
            (Some(_), Some(b)) if b == Int::ZERO => undefined(format!("{self} mod 0 is undefined")),
            (Some(a), Some(b)) => Ok((a % b).into()),
            _ => undefined(format!("{self} mod {other} needs integers")),
        }
    }

    fn pow(&self, exponent: u32) -> Outcome<Self> {
        exact_power(self, exponent)
    }

    fn call(function: Function, arguments: &[Self]) -> Outcome<Self> {
        match (function, arguments) {
            (Function::Abs, [e]) => Ok(e.abs()),
            (Function::Relu, [e]) => Ok(e.clone().max(Rat::ZERO)),
            (Function::Min, [a, b]) => Ok(a.clone().min(b.clone())),
            (Function::Max, [a, b]) => Ok(a.clone().max(b.clone())),
            (Function::Clamp, [e, low, high]) => Ok(e.clone().max(low.clone()).min(high.clone())),
            (Function::Floor, [e]) => Ok(e.floor().into()),
            (Function::Exp | Function::Cos, [e]) if e.is_zero() => Ok(Rat::ONE),
            (Function::Tanh | Function::Sin, [e]) if e.is_zero() => Ok(Rat::ZERO),
            (Function::Log, [e]) if *e == Rat::ONE => Ok(Rat::ZERO),
            (Function::Log, [e]) if *e <= Rat::ZERO => undefined(format!("log({e}) is undefined")),
            (Function::Sqrt, [e]) if e.is_negative() => undefined(format!("sqrt({e}) is undefined")),
            (Function::Sqrt, [e]) => rational_root(e).map_or_else(|| irrational(function, e), Ok),
            (_, [e]) => irrational(function, e),
            _ => undefined(format!("{} with {} arguments", function.name(), arguments.len())),
        }
    }

    fn compare(&self, op: CompareOp, other: &Self) -> Option<bool> {
        Some(op.holds(Some(self.cmp(other))))
    }

    fn positions(&self, size: usize) -> Outcome<(usize, usize)> {
        position(self, size).map(|position| (position, position))
    }

    fn sort(values: &mut [Self]) {
        values.sort();
    }
}

fn irrational<T>(function: Function, argument: &Rat) -> Outcome<T> {
    declined(format!("{}({argument}) has no exact rational value", function.name()))
}

/// The square root, if it is rational.
fn rational_root(value: &Rat) -> Option<Rat> {
    Some(Rat::new(integer_root(&value.numerator())?, integer_root(&value.denominator())?))
}

/// The square root of an integer that is not negative, if it is an integer: Newton's iteration from above.
fn integer_root(value: &Int) -> Option<Int> {
    let mut root = Int::from(2).pow(value.bits().div_ceil(2));
    while &root * &root > *value {
        root = (&root + value.div_rem(&root).0).div_rem(&Int::from(2)).0;
    }
    (&root * &root == *value).then_some(root)
}

impl Number for f64 {
    fn constant(value: &Rat) -> Self {
        value.to_f64()
    }

    #[expect(clippy::cast_precision_loss, reason = "sequences are far shorter than 2^53")]
    fn whole(value: usize) -> Self {
        value as f64
    }

    fn undefined() -> Option<Self> {
        Some(f64::NAN)
    }

    fn add(&self, other: &Self) -> Self {
        self + other
    }

    fn sub(&self, other: &Self) -> Self {
        self - other
    }

    fn mul(&self, other: &Self) -> Self {
        self * other
    }

    fn div(&self, other: &Self) -> Outcome<Self> {
        Ok(self / other)
    }

    fn modulo(&self, other: &Self) -> Outcome<Self> {
        Ok(self.rem_euclid(*other))
    }

    fn pow(&self, exponent: u32) -> Outcome<Self> {
        Ok(i32::try_from(exponent).map_or(f64::NAN, |exponent| self.powi(exponent)))
    }

    fn call(function: Function, arguments: &[Self]) -> Outcome<Self> {
        Ok(match (function, arguments) {
            (Function::Exp, [e]) => e.exp(),
            (Function::Log, [e]) => e.ln(),
            (Function::Sqrt, [e]) => e.sqrt(),
            (Function::Tanh, [e]) => e.tanh(),
            (Function::Sin, [e]) => e.sin(),
            (Function::Cos, [e]) => e.cos(),
            (Function::Abs, [e]) => e.abs(),
            _ if arguments.iter().any(|argument| argument.is_nan()) => f64::NAN,
            (Function::Relu, [e]) => e.max(0.0),
            (Function::Min, [a, b]) => a.min(*b),
            (Function::Max, [a, b]) => a.max(*b),
            (Function::Clamp, [e, low, high]) => e.max(*low).min(*high),
            (Function::Floor, [e]) => e.floor(),
            _ => f64::NAN,
        })
    }

    fn compare(&self, op: CompareOp, other: &Self) -> Option<bool> {
        Some(op.holds(self.partial_cmp(other)))
    }

    fn positions(&self, size: usize) -> Outcome<(usize, usize)> {
        let inside = self.fract() == 0.0 && (0.0..Self::whole(size)).contains(self);
        if !inside {
            return undefined("no such index");
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in 0..size")]
        let position = *self as usize;
        Ok((position, position))
    }

    fn sort(values: &mut [Self]) {
        values.sort_by(f64::total_cmp);
    }

    fn weighted(scores: &[Self], values: &[Self]) -> Outcome<Self> {
        softmax_mean(&shifted(scores, scores.iter().copied().fold(f64::NEG_INFINITY, f64::max)), values)
    }

    /// The variance of equal values is 0, although their mean may be rounded away from them.
    fn variance(values: &[Self]) -> Outcome<Self> {
        let equal = values.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
        if equal && values.iter().all(|value| value.is_finite()) { Ok(0.0) } else { centred_variance(values) }
    }
}
