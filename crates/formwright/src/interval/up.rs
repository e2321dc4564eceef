//! Upper bounds that stay upper bounds: numbers whose arithmetic is rounded up.
//!
//! An [`Up`] stands for a number `x ≥ 0` that is not known exactly, and is at least as large as `x`:
//!
//! | operation | result | why it is a bound |
//! |---|---|---|
//! | `a + b`, `a · b`, `√a`, `max`, `min` | the least double that is not below the exact result | they grow with `a` and `b` |
//! | `a / d` | the same, for a plain double `d`, which must not be above what it stands for | quotients fall as `d` grows |
//! | from doubles, fractions, intervals, counts | the magnitude, from above | `x ≤ \|x\|` |
//!
//! There is no difference of two bounds: it bounds nothing. **Every operation is total**: what is not a number, or divided by what may be 0, is
//! infinite, which bounds everything, and 0 times anything is 0. A sum of products of such numbers is thus a bound by its type, and no factor at
//! its end has to make up for the doubles in which it was computed.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul};

use super::{Interval, Rounded};
use crate::exact::Rat;

/// A bound from above for a number that is not negative.
///
/// Invariant: `0 ≤ self ≤ ∞`, no NaN, no negative zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Up(f64);

impl Up {
    /// The bound of 0.
    pub const ZERO: Self = Self(0.0);
    /// The bound of numbers up to 1.
    pub const ONE: Self = Self(1.0);
    /// The bound of all numbers: nothing is known.
    pub const INFINITY: Self = Self(f64::INFINITY);

    /// The bound as a double.
    pub fn get(self) -> f64 {
        self.0
    }

    /// True if anything is known.
    pub fn is_finite(self) -> bool {
        self.0.is_finite()
    }

    /// A bound for the larger of two numbers.
    pub fn max(self, other: Self) -> Self {
        if self.0 < other.0 { other } else { self }
    }

    /// A bound for the smaller of two numbers; or the better one of two bounds for the same number.
    pub fn min(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }

    /// `√self`.
    pub fn sqrt(self) -> Self {
        Self(Rounded::root(self.0).up())
    }

    /// `|a − b|` for two doubles.
    pub fn distance(a: f64, b: f64) -> Self {
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        let difference = high - low;
        if difference.is_finite() { Self(Rounded::sum(high, -low).up()) } else { Self::INFINITY }
    }
}

impl From<f64> for Up {
    fn from(x: f64) -> Self {
        if x.is_nan() { Self::INFINITY } else { Self(x.abs()) }
    }
}

impl From<&Rat> for Up {
    fn from(x: &Rat) -> Self {
        Interval::from(x).into()
    }
}

impl From<Interval> for Up {
    fn from(x: Interval) -> Self {
        Self(x.mag())
    }
}

impl From<usize> for Up {
    fn from(count: usize) -> Self {
        u32::try_from(count).map_or_else(|_| (&Rat::from(count)).into(), |count| Self(f64::from(count)))
    }
}

/// The remainder is Knuth's, without a comparison: numbers that are not negative are not above their sum, so that nothing
/// overflows behind it. The next number has the next bits.
impl Add for Up {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let near = self.0 + other.0;
        if near.is_infinite() {
            return Self::INFINITY;
        }
        let part = near - self.0;
        let rest = (self.0 - (near - part)) + (other.0 - part);
        Self(f64::from_bits(near.to_bits() + u64::from(rest > 0.0)))
    }
}

impl AddAssign for Up {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Up {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, Self::add)
    }
}

impl Mul for Up {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self(Rounded::product(self.0, other.0).up())
    }
}

/// A plain number times a bound.
impl Mul<Up> for f64 {
    type Output = Up;
    fn mul(self, bound: Up) -> Up {
        Up::from(self) * bound
    }
}

/// Divided by a double that is not above what it stands for; infinite if that is not shown to be positive.
impl Div<f64> for Up {
    type Output = Self;
    fn div(self, divisor: f64) -> Self {
        let known = divisor > 0.0 && (self.is_finite() || divisor.is_finite());
        if known { Self(Rounded::quotient(self.0, divisor).up()) } else { Self::INFINITY }
    }
}

impl PartialEq<f64> for Up {
    fn eq(&self, other: &f64) -> bool {
        self.0 == *other
    }
}

impl PartialOrd<f64> for Up {
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.0.partial_cmp(other)
    }
}

/// Between 0 and the bound.
impl From<Up> for Interval {
    fn from(x: Up) -> Self {
        Self::of(0.0, x.0)
    }
}

impl Interval {
    /// All numbers that are no farther from a member than this.
    pub fn widened(self, by: Up) -> Self {
        Self::of(Rounded::sum(self.lo, -by.0).down(), Rounded::sum(self.hi, by.0).up())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of all sizes: ordinary, huge, tiny, subnormal, 0, powers of two, infinite.
    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => 0.0_f64..1e3,
            4 => any::<u64>().prop_map(|bits| f64::from_bits(bits >> 1)).prop_filter("a number", |x| !x.is_nan()),
            2 => (0_u64..1 << 52).prop_map(f64::from_bits),
            2 => (0_u32..5).prop_map(|k| f64::MAX / 2_f64.powi(k.cast_signed())),
            1 => (-1074_i32..1024).prop_map(|k| 2_f64.powi(k)),
            1 => Just(0.0),
            1 => Just(f64::INFINITY),
        ]
    }

    fn exact(x: f64) -> Option<Rat> {
        Rat::from_f64(x)
    }

    /// The least double that is not below a fraction: infinite above the largest one.
    fn is_least(found: Up, wanted: &Rat) -> bool {
        let above = exact(found.get()).is_none_or(|found| found >= *wanted);
        let least = found == 0.0 || exact(found.get().next_down()).is_some_and(|below| below < *wanted);
        above && least
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_operation_is_the_exact_one_rounded_up(a in number(), b in number()) {
            let (x, y) = (Up::from(a), Up::from(b));
            let Some((p, q)) = exact(a).zip(exact(b)) else {
                prop_assert_eq!(x + y, Up::INFINITY);
                prop_assert_eq!(x * y, if a == 0.0 || b == 0.0 { Up::ZERO } else { Up::INFINITY });
                return Ok(());
            };
            prop_assert!(is_least(x + y, &(&p + &q)), "{a:e} + {b:e} = {:?}", x + y);
            prop_assert!(is_least(x * y, &(&p * &q)), "{a:e} * {b:e} = {:?}", x * y);
            prop_assert!(is_least(b * x, &(&p * &q)), "{b:e} * {a:e} = {:?}", b * x);
            prop_assert!(is_least(Up::distance(a, b), &(&p - &q).abs()), "|{a:e} - {b:e}|");
            if b > 0.0 {
                prop_assert!(is_least(x / b, &(&p / &q)), "{a:e} / {b:e} = {:?}", x / b);
            }
            let root = x.sqrt().get();
            let square = |x: f64| exact(x).map_or(Rat::ZERO, |x| &x * &x);
            prop_assert!(square(root) >= p && (root == 0.0 || square(root.next_down()) < p), "{a:e}");
            prop_assert_eq!(x.max(y), Up::from(a.max(b)));
            prop_assert_eq!(x.min(y), Up::from(a.min(b)));
        }

        #[test]
        fn long_sums_of_products_are_above_the_exact_ones(
            terms in prop::collection::vec((number(), number()), 0..40),
        ) {
            let found: Up = terms.iter().map(|(a, b)| Up::from(*a) * Up::from(*b)).sum();
            let products = terms.iter().map(|(a, b)| Some(&exact(*a)? * &exact(*b)?));
            if let Some(wanted) = products.sum::<Option<Rat>>() {
                prop_assert!(exact(found.get()).is_none_or(|found| found >= wanted));
            }
        }

        #[test]
        fn fractions_are_rounded_up_and_neighbourhoods_outward(
            (numerator, denominator) in (any::<i64>(), 1_i64..i64::MAX),
            (a, b, by) in (number(), number(), number()),
        ) {
            let x = Rat::new(numerator, denominator);
            prop_assert!(is_least(Up::from(&x), &x.abs()));
            if let (Ok(range), Some(by)) = (Interval::new(-a, b), exact(by)) {
                let wide = range.widened(Up::from(&by));
                prop_assert!(exact(wide.lo()).zip(exact(-a)).is_none_or(|(lo, a)| lo <= a - by.clone()));
                prop_assert!(exact(wide.hi()).zip(exact(b)).is_none_or(|(hi, b)| hi >= b + by));
            }
        }
    }

    #[test]
    fn every_operation_is_total() {
        assert_eq!(Up::from(f64::NAN), Up::INFINITY);
        assert_eq!(Up::from(-3.0), Up::from(3.0));
        assert_eq!(Up::ONE / 0.0, Up::INFINITY);
        assert_eq!(Up::ONE / -1.0, Up::INFINITY);
        assert_eq!(Up::ONE / f64::NAN, Up::INFINITY);
        assert_eq!(Up::INFINITY / f64::INFINITY, Up::INFINITY);
        assert_eq!(Up::ONE / f64::INFINITY, Up::ZERO);
        assert_eq!(Up::ZERO * Up::INFINITY, Up::ZERO);
        assert_eq!(Up::INFINITY.sqrt(), Up::INFINITY);
        assert_eq!(Up::distance(f64::INFINITY, f64::INFINITY), Up::INFINITY);
        assert_eq!(Up::distance(f64::MAX, f64::MIN), Up::INFINITY);
        assert_eq!(Up::from(usize::MAX), Up::from(2_f64.powi(64)));
        assert_eq!([0.5, 0.25].map(Up::from).into_iter().sum::<Up>(), 0.75);
        assert_eq!(Interval::ONE.widened(Up::INFINITY), Interval::ENTIRE);
    }
}
