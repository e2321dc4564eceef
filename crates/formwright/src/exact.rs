//! Exact numbers: [`Int`] and [`Rat`], of any size.
//!
//! Thin newtypes over `dashu`, so that only this file names that library. Rational results are always in lowest terms;
//! [`Rat`] takes a shortcut when both operands are integers, which in a lattice network is nearly always.
//!
//! Text forms: an integer `-12`, a fraction `3/8`, a decimal `0.125` or `1.5e-3`; a decimal is exactly what it says, so
//! `0.1` is one tenth. Serialised numbers are strings in lowest terms.

use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Rem, Shl, Shr, Sub, SubAssign};
use std::str::FromStr;

use dashu_base::{Approximation, Sign};
use dashu_float::round::mode::Down;
use dashu_float::{Context, Repr};
use dashu_int::ops::{Abs, BitTest, DivRemEuclid};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;

/// A sequence, `[token][coordinate]`.
pub type Sequence = Vec<Vec<Rat>>;

/// The longest text of a number and the largest decimal exponent that are read: larger ones would only cost memory.
pub(crate) const MAX_DIGITS: usize = 400_000;

/// An integer of any size.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Int(IBig);

/// A rational number of any size, in lowest terms.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Rat(RBig);

impl Int {
    /// Zero.
    pub const ZERO: Self = Self(IBig::ZERO);
    /// One.
    pub const ONE: Self = Self(IBig::ONE);

    /// `self` to the power `exponent`.
    pub fn pow(&self, exponent: usize) -> Self {
        Self(self.0.pow(exponent))
    }

    /// The number of binary digits of the absolute value; 0 for 0.
    pub fn bits(&self) -> usize {
        self.0.clone().abs().bit_len()
    }

    /// Quotient and remainder of division by `divisor`, the remainder in `0..|divisor|`.
    ///
    /// # Panics
    /// If `divisor` is zero.
    pub fn div_rem(&self, divisor: &Self) -> (Self, Self) {
        let (quotient, remainder) = (&self.0).div_rem_euclid(&divisor.0);
        (Self(quotient), Self(remainder.into()))
    }

    /// The absolute value.
    pub fn abs(&self) -> Self {
        Self((&self.0).abs())
    }

    /// The binomial coefficient `C(self, k)`; 0 where `self < k`.
    pub fn choose(&self, k: usize) -> Self {
        let mut result = Self::ONE;
        for i in 0..k {
            let factor = self - Int::from(i);
            if factor <= Self::ZERO {
                return Self::ZERO;
            }
            result = (&result * &factor).div_rem(&Int::from(i + 1)).0;
        }
        result
    }

    /// Integers around `exp(x) · 2^places` for `x = self · 2^-places ≤ 1`, at most three apart.
    ///
    /// The library rounds down to four binary digits more than are kept; one unit of `2^-places` below and half a unit
    /// above allow for errors that it might make. Below `x = -places`, where `exp(x) < 2^-places`, nothing is computed.
    ///
    /// # Panics
    /// If `x > 1`.
    pub fn exp_bounds(&self, places: usize) -> (Self, Self) {
        let one = IBig::ONE << places;
        assert!(self.0 <= one, "an exponential of at most 1");
        if self.0 == IBig::ZERO {
            return (Self(one.clone()), Self(one));
        }
        if self.0 <= -(IBig::from(places) << places) {
            return (Self::ZERO, Self::ONE);
        }
        let point = isize::try_from(places).expect("few places");
        let x = Repr::<2>::new(self.0.clone(), -point);
        let rounded = Context::<Down>::new(places + 4).exp(&x, None).expect("neither overflow nor underflow").value();
        let (digits, exponent) = rounded.into_repr().into_parts();
        let shift = exponent + point;
        let below = if shift < 0 { digits >> shift.unsigned_abs() } else { digits << shift.unsigned_abs() };
        (Self((&below - IBig::ONE).max(IBig::ZERO)), Self(below + IBig::from(2)))
    }

    /// Integers around `exp(x) · 2^places` for any `x = self · 2^-places`: those of `exp(x / 2^s)`, `x / 2^s ≤ 1`,
    /// squared `s` times.
    pub fn exp_between(&self, places: usize) -> (Self, Self) {
        let halvings = self.bits().saturating_sub(places);
        if self.0 <= IBig::ONE << places {
            return self.exp_bounds(places);
        }
        // A squaring doubles relative errors, and exp(x) < 4^x has 2x digits before the point.
        let digits = (self >> places).to_usize().map_or(usize::MAX / 4, |x| 2 * x + 2);
        let kept = places + halvings + digits;
        let (mut below, mut above) = (self << (kept - places - halvings)).exp_bounds(kept);
        for _ in 0..halvings {
            below = (&below * &below) >> kept;
            above = -(-(&above * &above) >> kept);
        }
        (below >> (kept - places), -(-above >> (kept - places)))
    }

    /// `self, self + 1, …`, while they are below `end`.
    pub fn up_to(&self, end: &Self) -> impl Iterator<Item = Self> + use<> {
        let end = end.clone();
        std::iter::successors(Some(self.clone()), |k| Some(k + Self::ONE)).take_while(move |k| *k < end)
    }

    /// `n! = 1 · 2 · … · n`.
    pub fn factorial(n: usize) -> Self {
        (1..=n).fold(Self::ONE, |product, k| product * Self::from(k))
    }

    /// The value as a machine integer, if it fits.
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(&self.0).ok()
    }

    /// The value as a machine integer, if it fits.
    pub fn to_usize(&self) -> Option<usize> {
        usize::try_from(&self.0).ok()
    }
}

impl Rat {
    /// Zero.
    pub const ZERO: Self = Self(RBig::ZERO);
    /// One.
    pub const ONE: Self = Self(RBig::ONE);

    /// `numerator / denominator`, reduced.
    ///
    /// # Panics
    /// If `denominator` is zero.
    pub fn new(numerator: impl Into<Int>, denominator: impl Into<Int>) -> Self {
        Self(RBig::from_parts_signed(numerator.into().0, denominator.into().0))
    }

    /// The largest integer that is not above `self`.
    pub fn floor(&self) -> Int {
        if self.0.is_int() { Int(self.0.numerator().clone()) } else { Int(self.0.floor()) }
    }

    /// The smallest integer that is not below `self`.
    pub fn ceil(&self) -> Int {
        Int(self.0.ceil())
    }

    /// The value as an integer, if it is one.
    pub fn to_int(&self) -> Option<Int> {
        self.0.is_int().then(|| Int(self.0.numerator().clone()))
    }

    /// True if the value is an integer.
    pub fn is_int(&self) -> bool {
        self.0.is_int()
    }

    /// True if the value is zero.
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// True if the value is below zero.
    pub fn is_negative(&self) -> bool {
        *self.0.numerator() < IBig::ZERO
    }

    /// The numerator of the reduced fraction; it carries the sign.
    pub fn numerator(&self) -> Int {
        Int(self.0.numerator().clone())
    }

    /// The denominator of the reduced fraction, at least 1.
    pub fn denominator(&self) -> Int {
        Int(self.0.denominator().clone().into())
    }

    /// The absolute value.
    pub fn abs(&self) -> Self {
        Self(self.0.clone().abs())
    }

    /// `self` to a whole power.
    pub fn pow(&self, exponent: usize) -> Self {
        let (numerator, denominator) = self.0.clone().into_parts();
        Self(RBig::from_parts(numerator.pow(exponent), denominator.pow(exponent)))
    }

    /// `1 / self`, unless `self` is zero.
    pub fn recip(&self) -> Option<Self> {
        (!self.is_zero()).then(|| Self::ONE / self.clone())
    }

    /// The nearest double, ties to even.
    pub fn to_f64(&self) -> f64 {
        self.nearest_f64().0
    }

    /// The nearest double, and the order of the number relative to it.
    pub fn nearest_f64(&self) -> (f64, Ordering) {
        if let Some((p, q)) = self.doubles() {
            // A quotient of two doubles is rounded once. p - near · q is a multiple of near's last place, and at most
            // q/2 ≤ 2^52 of them: `fma` is exact.
            let near = p / q;
            let missed = near.mul_add(-q, p);
            return (near, if missed == 0.0 { Ordering::Equal } else { missed.total_cmp(&0.0) });
        }
        self.rounded()
    }

    /// As [`Rat::nearest_f64`], for numbers of any length.
    fn rounded(&self) -> (f64, Ordering) {
        match self.0.to_f64() {
            Approximation::Exact(near) => (near, Ordering::Equal),
            Approximation::Inexact(near, Sign::Positive) => (near, Ordering::Less),
            Approximation::Inexact(near, Sign::Negative) => (near, Ordering::Greater),
        }
    }

    /// Numerator and denominator, if both are whole numbers of at most 2^53.
    #[expect(clippy::cast_precision_loss, reason = "doubles have 53 digits")]
    fn doubles(&self) -> Option<(f64, f64)> {
        const MOST: u64 = 1 << 53;
        let (p, q) = (i64::try_from(self.0.numerator()).ok()?, u64::try_from(self.0.denominator()).ok()?);
        (p.unsigned_abs() <= MOST && q <= MOST).then_some((p as f64, q as f64))
    }

    /// The exact value of a double, unless it is infinite or not a number.
    pub fn from_f64(x: f64) -> Option<Self> {
        RBig::try_from(x).ok().map(Self)
    }

    /// The smaller of two.
    pub fn min(self, other: Self) -> Self {
        if other < self { other } else { self }
    }

    /// The larger of two.
    pub fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

macro_rules! from_machine {
    ($($machine:ty),*) => {$(
        impl From<$machine> for Int {
            fn from(value: $machine) -> Self {
                Self(IBig::from(value))
            }
        }
        impl From<$machine> for Rat {
            fn from(value: $machine) -> Self {
                Self(RBig::from(IBig::from(value)))
            }
        }
    )*};
}
from_machine!(i32, i64, u32, u64, usize, i128);

impl From<Int> for Rat {
    fn from(value: Int) -> Self {
        Self(RBig::from(value.0))
    }
}

impl From<&Int> for Rat {
    fn from(value: &Int) -> Self {
        Self(RBig::from(value.0.clone()))
    }
}

/// Derives the operator for owned and borrowed operands from its borrowed form.
macro_rules! operators {
    ($number:ident: $($trait:ident $method:ident |$left:ident, $right:ident| $body:expr;)*) => {$(
        impl<'a> $trait<&'a $number> for &'a $number {
            type Output = $number;
            fn $method(self, other: &'a $number) -> $number {
                let ($left, $right) = (self, other);
                $body
            }
        }
        impl $trait for $number {
            type Output = $number;
            fn $method(self, other: $number) -> $number { $trait::$method(&self, &other) }
        }
        impl $trait<&$number> for $number {
            type Output = $number;
            fn $method(self, other: &$number) -> $number { $trait::$method(&self, other) }
        }
        impl $trait<$number> for &$number {
            type Output = $number;
            fn $method(self, other: $number) -> $number { $trait::$method(self, &other) }
        }
    )*};
}

operators! { Int:
    Add add |a, b| Int(&a.0 + &b.0);
    Sub sub |a, b| Int(&a.0 - &b.0);
    Mul mul |a, b| Int(&a.0 * &b.0);
    Rem rem |a, b| a.div_rem(b).1;
}

operators! { Rat:
    Add add |a, b| if both_int(a, b) { whole(a.0.numerator() + b.0.numerator()) } else { Rat(&a.0 + &b.0) };
    Sub sub |a, b| if both_int(a, b) { whole(a.0.numerator() - b.0.numerator()) } else { Rat(&a.0 - &b.0) };
    Mul mul |a, b| if both_int(a, b) { whole(a.0.numerator() * b.0.numerator()) } else { Rat(&a.0 * &b.0) };
    Div div |a, b| Rat(&a.0 / &b.0);
}

fn both_int(a: &Rat, b: &Rat) -> bool {
    a.0.is_int() && b.0.is_int()
}

fn whole(value: IBig) -> Rat {
    Rat(RBig::from(value))
}

impl Neg for Int {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Neg for Rat {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Neg for &Rat {
    type Output = Rat;
    fn neg(self) -> Rat {
        Rat(-&self.0)
    }
}

/// `self · 2^places`.
impl Shl<usize> for &Int {
    type Output = Int;
    fn shl(self, places: usize) -> Int {
        Int(&self.0 << places)
    }
}

/// `self · 2^places`.
impl Shl<usize> for Int {
    type Output = Int;
    fn shl(self, places: usize) -> Int {
        Int(self.0 << places)
    }
}

/// The largest integer that is not above `self / 2^places`.
impl Shr<usize> for &Int {
    type Output = Int;
    fn shr(self, places: usize) -> Int {
        Int(&self.0 >> places)
    }
}

/// The largest integer that is not above `self / 2^places`.
impl Shr<usize> for Int {
    type Output = Int;
    fn shr(self, places: usize) -> Int {
        Int(self.0 >> places)
    }
}

impl AddAssign<&Int> for Int {
    fn add_assign(&mut self, other: &Self) {
        self.0 += &other.0;
    }
}

impl AddAssign<&Rat> for Rat {
    fn add_assign(&mut self, other: &Self) {
        *self = &*self + other;
    }
}

impl SubAssign<&Rat> for Rat {
    fn sub_assign(&mut self, other: &Self) {
        *self = &*self - other;
    }
}

impl PartialOrd for Rat {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rat {
    fn cmp(&self, other: &Self) -> Ordering {
        if both_int(self, other) { self.0.numerator().cmp(other.0.numerator()) } else { self.0.cmp(&other.0) }
    }
}

impl Sum for Rat {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        values.fold(Self::ZERO, |total, value| total + value)
    }
}

impl<'a> Sum<&'a Rat> for Rat {
    fn sum<I: Iterator<Item = &'a Self>>(values: I) -> Self {
        values.fold(Self::ZERO, |total, value| total + value)
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Rat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Rat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// `NaN` or an infinity: exact numbers are finite.
fn not_finite() -> Error {
    Error::input("not a finite number")
}

/// More than `MAX_DIGITS` characters, or an exponent beyond it.
fn too_long() -> Error {
    Error::input(format!("a number of more than {MAX_DIGITS} digits"))
}

fn malformed() -> Error {
    Error::input("not a number (expected an integer, a decimal such as 0.125 or a fraction such as 3/8)")
}

fn digits(text: &str) -> Result<UBig, Error> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed());
    }
    UBig::from_str_radix(text, 10).map_err(|_| malformed())
}

impl FromStr for Int {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Rat::from_str(text)?.to_int().ok_or_else(malformed)
    }
}

impl FromStr for Rat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_DIGITS {
            return Err(too_long());
        }
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if ["nan", "inf", "infinity"].contains(&unsigned.to_ascii_lowercase().as_str()) {
            return Err(not_finite());
        }
        let value = if let Some((numerator, denominator)) = unsigned.split_once('/') {
            let (numerator, denominator) = (digits(numerator)?, digits(denominator)?);
            if denominator == UBig::ZERO {
                return Err(Error::input("a fraction with denominator 0"));
            }
            RBig::from_parts(numerator.into(), denominator)
        } else {
            decimal(unsigned)?
        };
        Ok(Self(if negative { -value } else { value }))
    }
}

/// `12`, `.5`, `12.5`, `1.25e-3`.
fn decimal(text: &str) -> Result<RBig, Error> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().map_err(|_| malformed())?),
        None => (text, 0),
    };
    if exponent.unsigned_abs() > MAX_DIGITS as u64 {
        return Err(too_long());
    }
    let (whole_part, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let value = digits(&format!("{whole_part}{fraction}"))?;
    let places = i64::try_from(fraction.len()).map_err(|_| too_long())? - exponent;
    let scale = UBig::from(10u32).pow(usize::try_from(places.unsigned_abs()).map_err(|_| too_long())?);
    Ok(if places > 0 { RBig::from_parts(value.into(), scale) } else { RBig::from(IBig::from(value * scale)) })
}

impl Serialize for Int {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Rat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Rat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rat(text: &str) -> Rat {
        text.parse().expect("a number")
    }

    #[test]
    fn short_fractions_are_rounded_as_long_ones_are() {
        let (most, mut state) = (1_i64 << 53, 7);
        let mut numbers = vec![0, 1, 2, 3, 10, most - 1, most, most + 1, i64::MAX];
        numbers.extend((0..400).map(|k| (crate::random::word(&mut state) >> (k % 63 + 1)).cast_signed()));
        let denominators = || numbers.iter().filter(|q| **q != 0);
        for (p, q) in numbers.iter().flat_map(|p| denominators().map(move |q| (*p, *q))) {
            for number in [Rat::new(p, q), -Rat::new(p, q)] {
                assert_eq!(number.nearest_f64(), number.rounded(), "{p}/{q}");
            }
        }
    }

    #[test]
    fn decimals_are_exactly_what_they_say() {
        assert_eq!(rat("0.1"), Rat::new(1, 10));
        assert_eq!(rat("-1.25e-1"), Rat::new(-1, 8));
        assert_eq!(rat("2.5E3"), Rat::from(2500));
        assert_eq!(rat(".5"), Rat::new(1, 2));
        assert_eq!(rat("6/8").to_string(), "3/4");
    }

    #[test]
    fn texts_that_are_no_numbers_are_refused() {
        for (text, error) in [
            ("NaN", not_finite()),
            ("-inf", not_finite()),
            ("1/0", Error::input("a fraction with denominator 0")),
            ("1e9999999", too_long()),
            ("", malformed()),
            ("-", malformed()),
            (".", malformed()),
            ("1/-2", malformed()),
            ("--1", malformed()),
            ("0x10", malformed()),
            ("1e", malformed()),
            ("1_000", malformed()),
        ] {
            assert_eq!(text.parse::<Rat>(), Err(error), "{text:?}");
        }
    }

    #[test]
    fn binomials_follow_pascals_rule() {
        for n in 0..20usize {
            for k in 0..=n {
                let rule = Int::from(n).choose(k) + Int::from(n).choose(k + 1);
                assert_eq!(Int::from(n + 1).choose(k + 1), rule);
            }
        }
        assert_eq!(Int::from(2116).choose(4).to_string(), pascal(2116, 4));
    }

    /// `C(n, k)` by additions alone.
    fn pascal(n: usize, k: usize) -> String {
        let mut row = vec![0u128; k + 1];
        row[0] = 1;
        for _ in 0..n {
            for i in (1..=k).rev() {
                row[i] += row[i - 1];
            }
        }
        row[k].to_string()
    }

    #[test]
    fn division_rounds_towards_minus_infinity_for_positive_divisors() {
        let (quotient, remainder) = Int::from(-7).div_rem(&Int::from(3));
        assert_eq!((quotient, remainder), (Int::from(-3), Int::from(2)));
        assert_eq!(Rat::new(-7, 3).floor(), Int::from(-3));
        assert_eq!(Rat::new(-7, 3).ceil(), Int::from(-2));
    }
}
