//! Intervals of real numbers with `f64` endpoints, rounded outward.
//!
//! An [`Interval`] `[lo, hi]` is the set of the *real* numbers between its endpoints. Every operation returns an
//! interval that contains `f(x, y, …)` for all reals `x, y, …` in its operands: an *enclosure*. An infinite endpoint is
//! not a number; it says that nothing is known on that side.
//!
//! **Rounding without rounding modes.** The processor rounds to nearest. For `+ − × ÷ √` of floats the error of that
//! rounding can be computed exactly, or at least its sign, and this sign is all that is needed: if the exact result
//! lies below the nearest float, the largest float not above it is the next one down; otherwise it is the nearest float
//! itself. So the endpoints of these five operations are the best possible ones. With `∘` for rounding to nearest:
//!
//! | operation | nearest | remainder of the exact result | from |
//! |---|---|---|---|
//! | `a + b` | `s = ∘(a + b)` | `b − (s − a)` for `\|a\| ≥ \|b\|`, no operation of which rounds | Dekker's sum |
//! | `a × b` | `p = ∘(a × b)` | `∘(a × b − p)` | one fused multiply-add |
//! | `a ÷ b`, `b > 0` | `q = ∘(a ÷ b)` | `∘(a − q × b)`, of the sign of `a ÷ b − q` | one fused multiply-add |
//! | `√x` | `s = ∘(√x)` | `∘(x − s × s)`, of the sign of `√x − s` | one fused multiply-add |
//!
//! A fused multiply-add rounds once, so the sign it returns is right unless it turns a remainder that is not 0 into 0,
//! and only underflow does that. Floats have 53 digits; therefore a remainder that is not 0 exceeds 2⁻¹⁰⁸ times the
//! number that is rounded (`a × b`, `a`, `x`), provided that the nearest float is not 0. From 2⁻⁹⁶⁰ on, such a
//! remainder is above 2⁻¹⁰⁶⁹ and a float near it is not 0; below, the operands are first multiplied by 2²⁰⁰, which is
//! exact. A product or quotient that rounds to 0 has the sign of its zero, and one that overflows lies between the
//! largest float and infinity.
//!
//! **exp, log, tanh, sin, cos** come from `core-math`, whose results are the nearest floats; their endpoints are moved
//! outward by two floats all the same, so that an error of one unit in that library would not make an enclosure false.
//! (The functions of `std` promise no accuracy and are not used.)
//!
//! **Domain of validity.** IEEE 754 binary64 in the default rounding mode with subnormal numbers, which Rust guarantees
//! for `f64` outside 32-bit x87 targets. Undefined operations are refused ([`Refusal`]), never clipped. Zero endpoints
//! are always `+0.0`.

pub(crate) mod dual;
mod up;

use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};

use crate::exact::Rat;

pub use up::Up;

/// A closed interval of real numbers, not empty; see the [module](self).
///
/// Invariant: `lo ≤ hi`, `lo < +∞`, `hi > −∞`, no NaN, no negative zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    lo: f64,
    hi: f64,
}

/// The reason why an operation has no result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// These endpoints enclose no real number, or one of them is not a number.
    Endpoints(f64, f64),
    /// The divisor contains 0.
    Divisor(Interval),
    /// The operand of a square root reaches below 0.
    Root(Interval),
    /// The operand of a logarithm reaches 0 or below.
    Logarithm(Interval),
    /// The operand of a floor passes an integer, where no slope describes the result.
    Jump(Interval),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoints(lo, hi) => write!(f, "no real number lies between {lo:?} and {hi:?}"),
            Self::Divisor(x) => write!(f, "division by a value in {x}, which contains 0"),
            Self::Root(x) => write!(f, "square root of a value in {x}, which reaches below 0"),
            Self::Logarithm(x) => write!(f, "logarithm of a value in {x}, which is not above 0"),
            Self::Jump(x) => write!(f, "slope of the floor of a value in {x}, where it jumps"),
        }
    }
}

impl std::error::Error for Refusal {}

/// The two endpoints, each as the shortest decimal that reads back as the same `f64`.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:?}, {:?}]", self.lo, self.hi)
    }
}

// ---- Error-free transformations ----

/// A number, as the nearest float and the sign of the remainder: `number − near` has the sign of `rest`.
#[derive(Clone, Copy)]
struct Rounded {
    near: f64,
    rest: f64,
}

/// Below this, 2⁻⁹⁶⁰, a remainder might underflow: operands are multiplied by [`LIFT`] before it is computed.
const TINY: f64 = f64::from_bits((1023 - 960) << 52);
/// 2²⁰⁰.
const LIFT: f64 = ROOT_LIFT * ROOT_LIFT;
/// 2¹⁰⁰.
const ROOT_LIFT: f64 = f64::from_bits((1023 + 100) << 52);

impl Rounded {
    const ZERO: Self = Self { near: 0.0, rest: 0.0 };

    /// The largest float that is not above the number.
    fn down(self) -> f64 {
        if self.rest < 0.0 { self.near.next_down() } else { self.near }
    }

    /// The smallest float that is not below the number.
    fn up(self) -> f64 {
        if self.rest > 0.0 { self.near.next_up() } else { self.near }
    }

    /// `near = ±∞`, from overflow or from an infinite endpoint: the results for all members lie on the inner side of
    /// it.
    fn infinite(near: f64) -> Self {
        Self { near, rest: -near }
    }

    /// `a + b`, not of opposite infinities. Sums of floats do not underflow. Dekker's sum compares the operands first,
    /// and so cannot overflow after its first addition.
    fn sum(a: f64, b: f64) -> Self {
        let near = a + b;
        if near.is_infinite() {
            return Self::infinite(near);
        }
        let (large, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
        Self { near, rest: small - (near - large) }
    }

    /// `a × b`, where `0 × ∞ = 0`: the infinite endpoint is not a member, and the product of 0 with any member is 0.
    ///
    /// A product below 2⁻⁹⁶⁰ that does not round to 0 has `|a| < 2¹¹⁵`, since `|b| ≥ 2⁻¹⁰⁷⁴`: lifting `a` is exact.
    fn product(a: f64, b: f64) -> Self {
        if a == 0.0 || b == 0.0 {
            return Self::ZERO;
        }
        let near = a * b;
        if near.is_infinite() {
            return Self::infinite(near);
        }
        if near == 0.0 {
            return Self { near, rest: 1.0_f64.copysign(near) };
        }
        let lift = if near.abs() < TINY { LIFT } else { 1.0 };
        Self { near, rest: (a * lift).mul_add(b, -near * lift) }
    }

    /// `a ÷ b` for `b > 0`, not both infinite, where `a ÷ ∞ = 0` is the limit.
    ///
    /// For `|a| < 2⁻⁹⁶⁰` a quotient that does not round to 0 has `b < 2¹¹⁶`: lifting both is exact.
    fn quotient(a: f64, b: f64) -> Self {
        if b.is_infinite() {
            return Self::ZERO;
        }
        let near = a / b;
        if near.is_infinite() {
            return Self::infinite(near);
        }
        if near == 0.0 {
            return Self { near, rest: a };
        }
        let lift = if a.abs() < TINY { LIFT } else { 1.0 };
        Self { near, rest: (-near).mul_add(b * lift, a * lift) }
    }

    /// `√x` for `x ≥ 0`.
    fn root(x: f64) -> Self {
        let near = x.sqrt();
        if near.is_infinite() {
            return Self::infinite(near);
        }
        let (lift, root_lift) = if x < TINY { (LIFT, ROOT_LIFT) } else { (1.0, 1.0) };
        let lifted = near * root_lift;
        Self { near, rest: (-lifted).mul_add(lifted, x * lift) }
    }
}

/// A float at least two below `y`.
fn below(y: f64) -> f64 {
    y.next_down().next_down()
}

/// A float at least two above `y`.
fn above(y: f64) -> f64 {
    y.next_up().next_up()
}

// ---- Constructors and queries ----

impl Interval {
    /// `[0, 0]`.
    pub const ZERO: Self = Self { lo: 0.0, hi: 0.0 };
    /// `[1, 1]`.
    pub const ONE: Self = Self { lo: 1.0, hi: 1.0 };
    /// All real numbers.
    pub const ENTIRE: Self = Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
    /// An enclosure of 2π: the constant of `std` is the float nearest to 2π, and it lies below it.
    const TAU: Self = Self { lo: std::f64::consts::TAU, hi: std::f64::consts::TAU.next_up() };

    /// Adding `+0.0` turns `−0.0` into `+0.0` and changes nothing else.
    fn of(lo: f64, hi: f64) -> Self {
        debug_assert!(lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY, "[{lo}, {hi}]");
        Self { lo: lo + 0.0, hi: hi + 0.0 }
    }

    /// The interval between two endpoints. Refused: NaN, `lo > hi`, `lo = +∞`, `hi = −∞`.
    pub fn new(lo: f64, hi: f64) -> Result<Self, Refusal> {
        if lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY {
            Ok(Self::of(lo, hi))
        } else {
            Err(Refusal::Endpoints(lo, hi))
        }
    }

    /// The one number `x`.
    ///
    /// # Panics
    /// If `x` is infinite or not a number.
    pub fn point(x: f64) -> Self {
        assert!(x.is_finite(), "an interval of the one number {x}");
        Self::of(x, x)
    }

    /// The lower endpoint, `−∞` where there is no lower bound.
    pub fn lo(self) -> f64 {
        self.lo
    }

    /// The upper endpoint, `+∞` where there is no upper bound.
    pub fn hi(self) -> f64 {
        self.hi
    }

    /// True if both endpoints are finite.
    pub fn is_bounded(self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }

    /// True if the number `x` is a member.
    pub fn contains(self, x: f64) -> bool {
        x.is_finite() && self.lo <= x && x <= self.hi
    }

    /// True if every member of `self` is at most every member of `other`.
    pub fn certainly_le(self, other: Self) -> bool {
        self.hi <= other.lo
    }

    /// The smallest interval that contains both.
    pub fn hull(self, other: Self) -> Self {
        Self::of(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    /// The common members, if there are any.
    pub fn intersect(self, other: Self) -> Option<Self> {
        Self::new(self.lo.max(other.lo), self.hi.min(other.hi)).ok()
    }

    /// `hi − lo`, rounded up.
    pub fn width(self) -> f64 {
        Rounded::sum(self.hi, -self.lo).up()
    }

    /// A member near the middle; finite even if the interval is not bounded.
    pub fn mid(self) -> f64 {
        let (lo, hi) = (self.lo.max(f64::MIN), self.hi.min(f64::MAX));
        f64::midpoint(lo, hi).clamp(lo, hi)
    }

    /// The magnitude, `max |x|`.
    pub fn mag(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// The point `x`, or all numbers if `x` is infinite, which means that the bound is not known.
    pub fn point_or_entire(x: f64) -> Self {
        if x.is_finite() { Self::point(x) } else { Self::ENTIRE }
    }

    /// The parts below and above the middle; they share it.
    pub fn halves(self) -> (Self, Self) {
        let mid = self.mid();
        (Self::of(self.lo, mid), Self::of(mid, self.hi))
    }

    /// The mignitude, `min |x|`.
    pub fn mig(self) -> f64 {
        self.lo.max(-self.hi).max(0.0)
    }
}

/// The smallest interval around a rational number; a point if it is a float. The conversion tells on which side it
/// errs.
impl From<&Rat> for Interval {
    fn from(x: &Rat) -> Self {
        let (near, side) = x.nearest_f64();
        let rounded = Rounded { near, rest: f64::from(side as i8) };
        Self::of(rounded.down(), rounded.up())
    }
}

// ---- Arithmetic, tightest ----

/// Exact: `x ↦ −x` swaps the endpoints.
impl Neg for Interval {
    type Output = Self;
    fn neg(self) -> Self {
        Self::of(-self.hi, -self.lo)
    }
}

/// Tightest: addition grows in both operands.
impl Add for Interval {
    type Output = Self;
    fn add(self, y: Self) -> Self {
        Self::of(Rounded::sum(self.lo, y.lo).down(), Rounded::sum(self.hi, y.hi).up())
    }
}

/// Tightest: subtraction grows in the first operand and falls in the second.
impl Sub for Interval {
    type Output = Self;
    fn sub(self, y: Self) -> Self {
        Self::of(Rounded::sum(self.lo, -y.hi).down(), Rounded::sum(self.hi, -y.lo).up())
    }
}

/// Tightest: a product is linear in each factor, so its extrema over a rectangle are at corners.
impl Mul for Interval {
    type Output = Self;
    fn mul(self, y: Self) -> Self {
        Self::of(self.least_product(y), -(-self).least_product(y))
    }
}

impl Interval {
    /// The least `x × y`, rounded down. If `x ≥ 0`, it is at the least `y`, if `x ≤ 0` at the greatest, with the `x`
    /// that the sign of this `y` requires; if `x` has both signs, at the least `x` and the greatest `y`, or the other
    /// way round.
    fn least_product(self, y: Self) -> f64 {
        let product = |a, b| Rounded::product(a, b).down();
        if self.lo >= 0.0 {
            product(if y.lo >= 0.0 { self.lo } else { self.hi }, y.lo)
        } else if self.hi <= 0.0 {
            product(if y.hi >= 0.0 { self.lo } else { self.hi }, y.hi)
        } else {
            product(self.lo, y.hi).min(product(self.hi, y.lo))
        }
    }

    /// `self ÷ y`, tightest; refused if `y` contains 0. For a negative divisor, `x ÷ y = (−x) ÷ (−y)`.
    pub fn checked_div(self, y: Self) -> Result<Self, Refusal> {
        if y.lo > 0.0 {
            Ok(self.div_positive(y))
        } else if y.hi < 0.0 {
            Ok((-self).div_positive(-y))
        } else {
            Err(Refusal::Divisor(y))
        }
    }

    /// `self ÷ y` for `y > 0`. A quotient grows with the dividend; it falls as the divisor grows, or grows with it
    /// where the dividend is negative.
    fn div_positive(self, y: Self) -> Self {
        let lo = Rounded::quotient(self.lo, if self.lo < 0.0 { y.lo } else { y.hi });
        let hi = Rounded::quotient(self.hi, if self.hi < 0.0 { y.hi } else { y.lo });
        Self::of(lo.down(), hi.up())
    }

    /// `1 ÷ self`, tightest; refused if `self` contains 0.
    pub fn recip(self) -> Result<Self, Refusal> {
        Self::ONE.checked_div(self)
    }

    /// `√self`, tightest since `√` grows; refused if `self` reaches below 0.
    pub fn sqrt(self) -> Result<Self, Refusal> {
        if self.lo < 0.0 {
            return Err(Refusal::Root(self));
        }
        Ok(Self::of(Rounded::root(self.lo).down(), Rounded::root(self.hi).up()))
    }

    /// `self²`, tightest and never negative: it grows with `|x|`, which runs from `mig` to `mag`.
    pub fn sqr(self) -> Self {
        let (near, far) = (self.mig(), self.mag());
        Self::of(Rounded::product(near, near).down(), Rounded::product(far, far).up())
    }

    /// `selfⁿ`, with `x⁰ = 1`. An even power is the power of `|x|`; an odd one is that of the positive part minus that
    /// of the negative part, one of which is 0 for every `x`. Powers of nonnegative numbers grow, hence the products of
    /// endpoints that enclose them need no dependency between factors.
    pub fn powi(self, n: u32) -> Self {
        if n.is_multiple_of(2) { self.abs().power(n) } else { self.relu().power(n) - (-self).relu().power(n) }
    }

    /// `selfⁿ` for `self ≥ 0` by repeated squaring.
    fn power(self, n: u32) -> Self {
        match n {
            0 => Self::ONE,
            1 => self,
            _ => {
                let even = self.power(n / 2).sqr();
                if n.is_multiple_of(2) { even } else { even * self }
            }
        }
    }
}

// ---- Piecewise linear functions and floor, exact ----

impl Interval {
    /// `|self|`, exact: from `mig` to `mag`.
    pub fn abs(self) -> Self {
        Self::of(self.mig(), self.mag())
    }

    /// `min(self, y)`, exact: it grows in both operands.
    pub fn min(self, y: Self) -> Self {
        Self::of(self.lo.min(y.lo), self.hi.min(y.hi))
    }

    /// `max(self, y)`, exact: it grows in both operands.
    pub fn max(self, y: Self) -> Self {
        Self::of(self.lo.max(y.lo), self.hi.max(y.hi))
    }

    /// `max(self, 0)`, exact.
    pub fn relu(self) -> Self {
        self.max(Self::ZERO)
    }

    /// `min(max(self, from), to)`, exact; where `from > to` this is `to`.
    pub fn clamp(self, from: Self, to: Self) -> Self {
        self.max(from).min(to)
    }

    /// The hull of `⌊self⌋`, exact: `⌊·⌋` grows, and the floor of a float is a float.
    pub fn floor(self) -> Self {
        Self::of(self.lo.floor(), self.hi.floor())
    }
}

// ---- Transcendental functions, within a few floats ----

impl Interval {
    /// `exp(self)`: it grows, is above 0, and passes through `(0, 1)`.
    pub fn exp(self) -> Self {
        self.growing(core_math::exp, (0.0, 1.0), (0.0, f64::INFINITY))
    }

    /// `log(self)`: it grows and passes through `(1, 0)`; refused unless `self > 0`.
    pub fn log(self) -> Result<Self, Refusal> {
        if self.lo <= 0.0 {
            return Err(Refusal::Logarithm(self));
        }
        Ok(self.growing(core_math::log, (1.0, 0.0), (f64::NEG_INFINITY, f64::INFINITY)))
    }

    /// `tanh(self)`: it grows, stays between −1 and 1, and passes through `(0, 0)`.
    pub fn tanh(self) -> Self {
        self.growing(core_math::tanh, (0.0, 0.0), (-1.0, 1.0))
    }

    /// `sin(self)`: maxima a quarter turn after the whole turns.
    pub fn sin(self) -> Self {
        self.wave(core_math::sin, 0.25)
    }

    /// `cos(self)`: maxima at the whole turns.
    pub fn cos(self) -> Self {
        self.wave(core_math::cos, 0.0)
    }

    /// A growing function with values in `range` that passes through the point `(x0, y0)`: the endpoints go to
    /// endpoints, widened, except that nothing from `x0` on lies below `y0`, and nothing up to `x0` above it.
    fn growing(self, f: fn(f64) -> f64, (x0, y0): (f64, f64), range: (f64, f64)) -> Self {
        let floor = if self.lo >= x0 { y0 } else { range.0 };
        let ceiling = if self.hi <= x0 { y0 } else { range.1 };
        Self::of(below(f(self.lo)).max(floor), above(f(self.hi)).min(ceiling))
    }

    /// A wave of period 2π between −1 and 1, its maxima `crest` turns after the whole turns, its minima half a turn
    /// later, and whose value at 0 is a float.
    ///
    /// An extremum over an interval is at an endpoint or is one of the wave's own, and the latter is excluded only if
    /// the enclosure of the interval in turns, shifted by the place of the extremum, has no integer. Where arguments
    /// are so large that a turn is lost in rounding, none is excluded and the result is `[−1, 1]`; likewise for an
    /// infinite endpoint, at which `f` has no value. A single number has no inner extremum, so its enclosure stays
    /// narrow at any size.
    fn wave(self, f: fn(f64) -> f64, crest: f64) -> Self {
        let turns = self.div_positive(Self::TAU);
        let reaches = |place: f64| {
            let shifted = turns - Self::point(place);
            self.lo < self.hi && shifted.hi.floor() >= shifted.lo
        };
        let end = |x: f64| {
            let y = f(x);
            if x == 0.0 { (y, y) } else { (below(y).max(-1.0), above(y).min(1.0)) }
        };
        let (first, last) = (end(self.lo), end(self.hi));
        let lo = if reaches(crest + 0.5) { -1.0 } else { first.0.min(last.0) };
        let hi = if reaches(crest) { 1.0 } else { first.1.max(last.1) };
        Self::of(lo, hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    const MIN_SUBNORMAL: f64 = f64::from_bits(1);

    fn interval(lo: f64, hi: f64) -> Interval {
        Interval::new(lo, hi).expect("endpoints in order")
    }

    fn exact(x: f64) -> Rat {
        Rat::from_f64(x).expect("a finite float")
    }

    /// True if the real number `x` is a member.
    fn encloses(interval: Interval, x: &Rat) -> bool {
        (interval.lo.is_infinite() || exact(interval.lo) <= *x)
            && (interval.hi.is_infinite() || *x <= exact(interval.hi))
    }

    /// True if no smaller interval contains `x`, where `order(y)` compares the float `y` with it.
    fn is_tightest(interval: Interval, order: impl Fn(f64) -> std::cmp::Ordering) -> bool {
        let Interval { lo, hi } = interval;
        let below = lo.is_infinite() || order(lo).is_le();
        let above = hi.is_infinite() || order(hi).is_ge();
        let narrow = if lo < hi { lo.next_up() >= hi && order(lo).is_ne() && order(hi).is_ne() } else { true };
        below && above && narrow
    }

    /// Compares a float with a rational number, infinities included.
    fn against(x: &Rat) -> impl Fn(f64) -> std::cmp::Ordering {
        move |y: f64| if y.is_infinite() { y.total_cmp(&0.0) } else { exact(y).cmp(x) }
    }

    fn cases(cases: u32) -> ProptestConfig {
        ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
    }

    /// A finite float of any magnitude, often with few digits.
    fn float() -> impl Strategy<Value = f64> {
        let exponent = prop_oneof![0_u64..2047, 0_u64..120, 480_u64..570, 1010_u64..1036, 1930_u64..2047];
        let digits =
            prop_oneof![0..1_u64 << 52, Just(0), Just(1), Just((1 << 52) - 1), (0..16_u64).prop_map(|d| d << 48)];
        (any::<bool>(), exponent, digits).prop_map(|(negative, exponent, digits)| {
            f64::from_bits(u64::from(negative) << 63 | exponent << 52 | digits)
        })
    }

    /// An interval, often a narrow one or one with an endpoint 0, and a member that need not be a float.
    fn interval_and_member() -> impl Strategy<Value = (Interval, Rat)> {
        let other = prop_oneof![float().prop_map(Some), Just(Some(0.0)), Just(None)];
        (float(), other, 0_u64..9, 0..=8_u8).prop_map(|(a, other, steps, eighths)| {
            let b = other.unwrap_or_else(|| f64::from_bits(a.to_bits().saturating_add(steps)));
            let b = if b.is_finite() { b } else { a };
            let at = Rat::new(u32::from(eighths), 8);
            (interval(a.min(b), a.max(b)), exact(a) + (exact(b) - exact(a)) * at)
        })
    }

    proptest! {
        #![proptest_config(cases(20_000))]

        #[test]
        fn the_five_operations_on_numbers_are_tightest(a in float(), b in float()) {
            let (x, y) = (Interval::point(a), Interval::point(b));
            let (p, q) = (exact(a), exact(b));
            prop_assert!(is_tightest(x + y, against(&(&p + &q))));
            prop_assert!(is_tightest(x - y, against(&(&p - &q))));
            prop_assert!(is_tightest(x * y, against(&(&p * &q))));
            prop_assert!(is_tightest(x.sqr(), against(&(&p * &p))));
            match x.checked_div(y) {
                Ok(quotient) => prop_assert!(is_tightest(quotient, against(&(&p / &q)))),
                Err(refusal) => prop_assert_eq!((b, refusal), (0.0, Refusal::Divisor(y))),
            }
            let root = x.abs().sqrt().expect("not negative");
            prop_assert!(is_tightest(root, |y| (exact(y) * exact(y)).cmp(&exact(a.abs()))));
        }

        #[test]
        fn results_enclose_what_members_give(
            (x, p) in interval_and_member(),
            (y, q) in interval_and_member(),
            n in 0..6_u8,
        ) {
            let (lesser, greater) = if p < q { (&p, &q) } else { (&q, &p) };
            let zero = Rat::ZERO;
            prop_assert!(encloses(x, &p));
            prop_assert!(encloses(-x, &-&p));
            prop_assert!(encloses(x + y, &(&p + &q)));
            prop_assert!(encloses(x - y, &(&p - &q)));
            prop_assert!(encloses(x * y, &(&p * &q)));
            prop_assert!(encloses(x.sqr(), &(&p * &p)));
            prop_assert!(encloses(x.powi(n.into()), &p.pow(n.into())));
            prop_assert!(encloses(x.abs(), (&p).max(&-&p)));
            prop_assert!(encloses(x.min(y), lesser));
            prop_assert!(encloses(x.max(y), greater));
            prop_assert!(encloses(x.relu(), (&p).max(&zero)));
            prop_assert!(encloses(x.clamp(Interval::ZERO, y), (&p).max(&zero).min(&q)));
            prop_assert!(encloses(x.floor(), &p.floor().into()));
            prop_assert!(encloses(x.hull(y), &p) && encloses(x.hull(y), &q));
            prop_assert!(encloses(Interval::from(&p), &p) && is_tightest(Interval::from(&p), against(&p)));
            if let Ok(quotient) = x.checked_div(y) {
                prop_assert!(encloses(quotient, &(&p / &q)));
                prop_assert!(encloses(y.recip().expect("no 0"), &(Rat::ONE / &q)));
            }
        }

        #[test]
        fn the_measures_agree_with_their_definitions((x, p) in interval_and_member()) {
            prop_assert!(x.contains(x.mid()));
            prop_assert!(exact(x.mig()) <= (&p).max(&-&p).clone() && (&p).max(&-&p).clone() <= exact(x.mag()));
            prop_assert!(x.width().is_infinite() || exact(x.width()) >= exact(x.hi) - exact(x.lo));
            prop_assert_eq!(x.intersect(Interval::ENTIRE), Some(x));
        }
    }

    #[test]
    fn endpoints_that_enclose_nothing_are_refused() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for (lo, hi) in [(nan, 1.0), (1.0, nan), (nan, nan), (2.0, 1.0), (inf, inf), (-inf, -inf), (inf, -inf)] {
            assert!(matches!(Interval::new(lo, hi), Err(Refusal::Endpoints(..))), "[{lo}, {hi}]");
        }
        assert_eq!(interval(-inf, inf), Interval::ENTIRE);
        assert_eq!(interval(1.0, 2.0).intersect(interval(3.0, 4.0)), None);
        assert_eq!(interval(1.0, 3.0).intersect(interval(3.0, 4.0)), Some(Interval::point(3.0)));
    }

    #[test]
    #[should_panic(expected = "an interval of the one number NaN")]
    fn no_interval_of_a_value_that_is_not_a_number() {
        Interval::point(f64::NAN);
    }

    #[test]
    fn undefined_operations_are_refused_with_the_range() {
        for y in [interval(0.0, 0.0), interval(-1.0, 1.0), interval(0.0, 1.0), interval(-1.0, -0.0), Interval::ENTIRE] {
            assert_eq!(Interval::ONE.checked_div(y), Err(Refusal::Divisor(y)));
            assert_eq!(y.recip(), Err(Refusal::Divisor(y)));
            assert_eq!(y.log(), Err(Refusal::Logarithm(y)));
        }
        let below = interval(-MIN_SUBNORMAL, 1.0);
        assert_eq!(below.sqrt(), Err(Refusal::Root(below)));
        assert_eq!(interval(-0.0, 4.0).sqrt(), Ok(interval(0.0, 2.0)));
    }

    #[test]
    fn refusals_print_the_range() {
        let messages =
            [Refusal::Endpoints(2.0, 1.0), Refusal::Divisor(interval(-1.0, 0.5)), Refusal::Root(interval(-1.0, 0.5))]
                .map(|refusal| refusal.to_string());
        assert_eq!(messages[0], "no real number lies between 2.0 and 1.0");
        assert_eq!(messages[1], "division by a value in [-1.0, 0.5], which contains 0");
        assert_eq!(messages[2], "square root of a value in [-1.0, 0.5], which reaches below 0");
        let refusal = Refusal::Logarithm(interval(-0.0, 1e300)).to_string();
        assert_eq!(refusal, "logarithm of a value in [0.0, 1e300], which is not above 0");
    }

    #[test]
    fn overflow_and_underflow_lie_between_neighbouring_floats() {
        let (max, tiny) = (Interval::point(f64::MAX), Interval::point(MIN_SUBNORMAL));
        assert_eq!(max + max, interval(f64::MAX, f64::INFINITY));
        assert_eq!(-max - max, interval(f64::NEG_INFINITY, f64::MIN));
        assert_eq!(max + tiny, interval(f64::MAX, f64::INFINITY));
        assert_eq!(max - tiny, interval(f64::MAX.next_down(), f64::MAX));
        assert_eq!(tiny * tiny, interval(0.0, MIN_SUBNORMAL));
        assert_eq!(-tiny * tiny, interval(-MIN_SUBNORMAL, 0.0));
        assert_eq!(tiny.checked_div(max), Ok(interval(0.0, MIN_SUBNORMAL)));
        assert_eq!(max.checked_div(-tiny), Ok(interval(f64::NEG_INFINITY, f64::MIN)));
        assert_eq!(tiny.checked_div(tiny), Ok(Interval::ONE));
    }

    #[test]
    fn unbounded_operands_stay_honest() {
        let (inf, up) = (f64::INFINITY, interval(2.0, f64::INFINITY));
        assert_eq!(up + Interval::ONE, interval(3.0, inf));
        assert_eq!(up - up, Interval::ENTIRE);
        assert_eq!(up * Interval::ZERO, Interval::ZERO);
        assert_eq!(up * interval(0.0, 1.0), interval(0.0, inf));
        assert_eq!(up.recip(), Ok(interval(0.0, 0.5)));
        assert_eq!((-up).checked_div(up), Ok(interval(-inf, 0.0)));
        assert_eq!(up.sqr().sqrt(), Ok(up));
        assert_eq!(up.powi(3), interval(8.0, inf));
        assert_eq!((up.width(), up.mag(), up.mig()), (inf, inf, 2.0));
        assert_eq!((Interval::ENTIRE.mid(), Interval::ENTIRE.mig()), (0.0, 0.0));
        assert!((-up).exp().certainly_le(Interval::ONE) && (-up).exp().contains(0.0));
        assert_eq!(up.log().map(Interval::hi), Ok(inf));
        assert_eq!((up.tanh().hi(), up.sin(), up.cos()), (1.0, interval(-1.0, 1.0), interval(-1.0, 1.0)));
        assert!(!up.contains(inf) && !up.is_bounded());
    }

    #[test]
    fn powers_know_that_their_factors_are_one_number() {
        let x = interval(-2.0, 3.0);
        assert_eq!((x * x, x.sqr()), (interval(-6.0, 9.0), interval(0.0, 9.0)));
        let powers: Vec<Interval> = (0..5).map(|n| x.powi(n)).collect();
        assert_eq!(powers, [Interval::ONE, x, interval(0.0, 9.0), interval(-8.0, 27.0), interval(0.0, 81.0)]);
        assert_eq!((-x).powi(3), interval(-27.0, 8.0));
        assert_eq!(interval(-3.0, -2.0).powi(5), interval(-243.0, -32.0));
    }

    #[test]
    fn growing_functions_keep_their_range_and_their_known_point() {
        assert_eq!((Interval::ZERO.exp(), Interval::ZERO.tanh()), (Interval::ONE, Interval::ZERO));
        assert_eq!(Interval::ONE.log(), Ok(Interval::ZERO));
        assert_eq!(interval(-1e3, -800.0).exp(), interval(0.0, 2.0 * MIN_SUBNORMAL));
        assert_eq!(interval(800.0, 1e3).exp(), interval(f64::MAX.next_down(), f64::INFINITY));
        assert_eq!((interval(0.0, 1e3).tanh(), interval(-1e3, 0.0).tanh()), (interval(0.0, 1.0), interval(-1.0, 0.0)));
        assert!(Interval::point(MIN_SUBNORMAL).exp().lo() >= 1.0 && Interval::point(-MIN_SUBNORMAL).exp().hi() <= 1.0);
        assert!(interval(1.0, 2.0).log().is_ok_and(|y| y.lo() >= 0.0));
    }

    /// Exact up to four floats: e, log 2, tanh 1, sin 1 and cos 1 between fractions that differ by 10⁻²⁰.
    #[test]
    fn transcendental_functions_at_a_point_are_narrow() {
        let one = Interval::ONE;
        let cases = [
            (one.exp(), "271828182845904523536"),
            (Interval::point(2.0).log().expect("above 0"), "69314718055994530941"),
            (one.tanh(), "76159415595576488811"),
            (one.sin(), "84147098480789650665"),
            (one.cos(), "54030230586813971740"),
        ];
        for (y, digits) in cases {
            let scale = "100000000000000000000".parse::<Rat>().expect("an integer");
            let truncated = digits.parse::<Rat>().expect("an integer");
            assert!(encloses(y, &(&truncated / &scale)) && encloses(y, &((truncated + Rat::ONE) / scale)), "{y}");
            assert!(y.lo().next_up().next_up().next_up().next_up() >= y.hi(), "{y}");
        }
    }

    #[test]
    fn tau_is_enclosed() {
        let digits = |text: &str| text.parse::<Rat>().expect("a fraction");
        assert!(encloses(Interval::TAU, &digits("628318530717958647692/100000000000000000000")));
        assert!(encloses(Interval::TAU, &digits("628318530717958647693/100000000000000000000")));
    }

    #[test]
    fn waves_see_their_own_extrema() {
        let tau = std::f64::consts::TAU;
        let quarter = tau / 4.0;
        for turn in [-1e6, -3.0, 0.0, 1.0, 17.0, 123_456.0] {
            let around = |place: f64| interval(turn * tau + place - 0.1, turn * tau + place + 0.1);
            assert_eq!((around(quarter).sin().hi(), around(-quarter).sin().lo()), (1.0, -1.0));
            assert_eq!((around(0.0).cos().hi(), around(2.0 * quarter).cos().lo()), (1.0, -1.0));
            assert!(around(quarter).sin().lo() > 0.99 && around(-quarter).sin().hi() < -0.99);
            assert!(around(0.0).sin().mag() < 0.1 && around(quarter).cos().mag() < 0.1);
        }
        assert_eq!(interval(0.0, 7.0).sin(), interval(-1.0, 1.0));
        assert_eq!(interval(1e300, 2e300).cos(), interval(-1.0, 1.0));
        assert!(Interval::point(1e300).cos().width() < 1e-15);
        assert_eq!((interval(0.0, 1.0).sin().lo(), Interval::ZERO.cos()), (0.0, Interval::ONE));
    }

    #[test]
    fn zero_has_no_sign() {
        let zeros = [
            -Interval::ZERO,
            Interval::point(-0.0),
            interval(-1.0, -0.0).relu(),
            Interval::ZERO * interval(-1.0, -1.0),
        ];
        for zero in zeros {
            assert!(zero.lo().is_sign_positive() && zero.hi().is_sign_positive());
        }
    }
}
