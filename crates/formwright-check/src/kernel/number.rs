//! Numbers `m·2^e`, intervals of them, and the functions of the target language on intervals.
//!
//! Sums and products are exact; quotients and functions are rounded outwards. There is no floating-point arithmetic.

mod ratio;

use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg, Sub};

use dashu_base::{Abs, BitTest, DivEuclid, Gcd, Sign, Signed, SquareRoot, UnsignedAbs};
use dashu_int::{IBig, UBig};

pub use ratio::Ratio;

/// Binary digits that are kept where results are rounded.
const DIGITS: i64 = 96;

/// Numbers of `2^LIMIT` or more have no use here.
const LIMIT: i64 = 1 << 14;

/// `m·2^e` with an odd `m`, or 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dyadic {
    m: IBig,
    e: i64,
}

/// A count as an exponent. No number here has 2^63 digits.
fn digits(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn shift(by: i64) -> usize {
    usize::try_from(by).unwrap_or(0)
}

impl Dyadic {
    /// 0.
    pub const ZERO: Self = Self { m: IBig::ZERO, e: 0 };
    /// 1.
    pub const ONE: Self = Self { m: IBig::ONE, e: 0 };

    /// `m·2^e`.
    pub fn new(m: IBig, e: i64) -> Self {
        match m.trailing_zeros() {
            None => Self::ZERO,
            Some(0) => Self { m, e },
            Some(zeros) => Self { m: m >> zeros, e: e.saturating_add(digits(zeros)) },
        }
    }

    /// `2^e`.
    pub fn power_of_two(e: i64) -> Self {
        Self { m: IBig::ONE, e }
    }

    /// The number with these IEEE bits in a format of `p` binary digits; none for NaN, infinities and subnormal
    /// numbers.
    pub fn from_bits(bits: u64, p: u32) -> Option<Self> {
        let (fraction, width) = (p.checked_sub(1)?, if p == 53 { 11 } else { 8 });
        let mask = |count: u32| 1_u64.checked_shl(count).unwrap_or(0).wrapping_sub(1);
        let exponent = bits.checked_shr(fraction)? & mask(width);
        let low = bits & mask(fraction);
        if exponent == mask(width) || (exponent == 0 && low != 0) {
            return None;
        }
        let whole = if exponent == 0 { 0 } else { low | 1_u64.checked_shl(fraction)? };
        let bias = i64::try_from(mask(width.saturating_sub(1))).ok()?.saturating_add(i64::from(fraction));
        let e = i64::try_from(exponent).ok()?.saturating_sub(bias);
        let negative = bits.checked_shr(fraction.saturating_add(width))? & 1 == 1;
        let m = IBig::from(whole);
        Some(Self::new(if negative { -m } else { m }, e))
    }

    /// True if this is 0.
    pub fn is_zero(&self) -> bool {
        self.m.is_zero()
    }

    /// True if this is below 0.
    pub fn is_negative(&self) -> bool {
        self.m.is_negative()
    }

    /// The absolute value.
    pub fn abs(&self) -> Self {
        Self { m: self.m.clone().abs(), e: self.e }
    }

    /// `max(x, 0)`.
    pub fn positive(&self) -> Self {
        if self.is_negative() { Self::ZERO } else { self.clone() }
    }

    /// The largest `q` such that this is a multiple of `2^q`; 0 has none.
    pub fn quantum(&self) -> Option<i64> {
        (!self.is_zero()).then_some(self.e)
    }

    /// The least `t` with `|x| < 2^t`; for 0, the least exponent there is.
    pub fn top(&self) -> i64 {
        if self.is_zero() { i64::MIN } else { self.e.saturating_add(digits(self.m.bit_len())) }
    }

    /// The largest multiple of `2^q` that is not larger.
    pub fn down(&self, q: i64) -> Self {
        if self.e >= q { self.clone() } else { Self::new(&self.m >> shift(q.saturating_sub(self.e)), q) }
    }

    /// The least multiple of `2^q` that is not smaller.
    pub fn up(&self, q: i64) -> Self {
        -&(-self).down(q)
    }

    /// The nearest multiple of `2^q`, ties to even ones.
    pub fn nearest(&self, q: i64) -> Self {
        let below = self.down(q);
        let rest = self - &below;
        let odd = below.quantum() == Some(q);
        match rest.cmp(&Self::power_of_two(q.saturating_sub(1))) {
            Ordering::Less => below,
            Ordering::Equal if !odd => below,
            _ => &below + &Self::power_of_two(q),
        }
    }

    /// The largest number of [`DIGITS`] digits that is not above `self / other`.
    fn quotient_down(&self, other: &Self) -> Self {
        let (num, den) = if other.is_negative() { (-&self.m, -&other.m) } else { (self.m.clone(), other.m.clone()) };
        if den.is_zero() {
            return Self::ZERO;
        }
        let places = DIGITS.saturating_add(digits(den.bit_len())).saturating_sub(digits(num.bit_len())).max(0);
        let e = self.e.saturating_sub(other.e).saturating_sub(places);
        Self::new((num << shift(places)).div_euclid(den), e)
    }
}

fn integer(text: &str) -> Option<IBig> {
    let bare = text.strip_prefix('-').unwrap_or(text);
    (!bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// True if a text is a rational in the one form that the certificate allows.
pub fn is_canonical(text: &str) -> bool {
    // This comes before anything that takes longer for a longer text.
    if text.len() > 8194 {
        return false;
    }
    let plain = |part: &str| part == "0" || (!part.starts_with('0') && integer(part).is_some());
    let bare = text.strip_prefix('-').unwrap_or(text);
    let (num, den) = bare.split_once('/').map_or((bare, None), |(num, den)| (num, Some(den)));
    let lowest = den.is_none_or(|den| match (integer(num), integer(den)) {
        (Some(num), Some(other)) => {
            plain(den) && den.len() <= 4096 && other > IBig::ONE && !num.is_zero() && num.gcd(other) == UBig::ONE
        }
        _ => false,
    });
    plain(num) && !num.starts_with('-') && num.len() <= 4096 && lowest && text != "-0"
}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.e == other.e {
            return self.m.cmp(&other.m);
        }
        let by_size = || match (self.top().cmp(&other.top()), self.is_negative()) {
            (Ordering::Equal, _) => (self - other).m.cmp(&IBig::ZERO),
            (order, false) => order,
            (order, true) => order.reverse(),
        };
        self.m.signum().cmp(&other.m.signum()).then_with(by_size)
    }
}

impl Neg for &Dyadic {
    type Output = Dyadic;
    fn neg(self) -> Dyadic {
        Dyadic { m: -&self.m, e: self.e }
    }
}

impl Add for &Dyadic {
    type Output = Dyadic;
    fn add(self, other: &Dyadic) -> Dyadic {
        match (self.is_zero(), other.is_zero(), self.e.cmp(&other.e)) {
            (true, ..) => other.clone(),
            (_, true, _) => self.clone(),
            (.., Ordering::Less) => Dyadic::new(&self.m + (&other.m << shift(other.e.saturating_sub(self.e))), self.e),
            (.., Ordering::Equal) => Dyadic::new(&self.m + &other.m, self.e),
            (.., Ordering::Greater) => {
                Dyadic::new((&self.m << shift(self.e.saturating_sub(other.e))) + &other.m, other.e)
            }
        }
    }
}

impl Sub for &Dyadic {
    type Output = Dyadic;
    fn sub(self, other: &Dyadic) -> Dyadic {
        self + &-other
    }
}

impl Mul for &Dyadic {
    type Output = Dyadic;
    fn mul(self, other: &Dyadic) -> Dyadic {
        // A product of odd numbers is odd.
        if self.is_zero() || other.is_zero() {
            Dyadic::ZERO
        } else {
            Dyadic { m: &self.m * &other.m, e: self.e.saturating_add(other.e) }
        }
    }
}

impl From<u64> for Dyadic {
    fn from(x: u64) -> Self {
        Self::new(IBig::from(x), 0)
    }
}

/// All numbers from `lo` to `hi`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The lower end.
    pub lo: Dyadic,
    /// The upper end.
    pub hi: Dyadic,
}

impl Range {
    /// 0 alone.
    pub const ZERO: Self = Self { lo: Dyadic::ZERO, hi: Dyadic::ZERO };

    /// One number.
    pub fn point(x: Dyadic) -> Self {
        Self { lo: x.clone(), hi: x }
    }

    /// A whole number.
    pub fn whole(x: usize) -> Self {
        Self::point(Dyadic::new(IBig::from(x), 0))
    }

    /// `[-x, x]` of a number that is not negative.
    pub fn around_zero(x: &Dyadic) -> Self {
        Self { lo: -x, hi: x.clone() }
    }

    /// True if it is a single number.
    pub fn is_point(&self) -> bool {
        self.lo == self.hi
    }

    /// The largest absolute value.
    pub fn size(&self) -> Dyadic {
        self.lo.abs().max(self.hi.abs())
    }

    /// The least interval around both.
    pub fn hull(&self, other: &Self) -> Self {
        Self { lo: self.lo.clone().min(other.lo.clone()), hi: self.hi.clone().max(other.hi.clone()) }
    }

    /// The intersection. Where rounding has parted the two, it is one of them, which holds the number too.
    pub fn meet(self, other: &Self) -> Self {
        let (lo, hi) = (self.lo.clone().max(other.lo.clone()), self.hi.clone().min(other.hi.clone()));
        if lo <= hi { Self { lo, hi } } else { self }
    }

    /// `f` at both ends, for a function that grows.
    fn grown(&self, f: impl Fn(&Dyadic) -> Option<Self>) -> Option<Self> {
        if self.is_point() { f(&self.lo) } else { Some(Self { lo: f(&self.lo)?.lo, hi: f(&self.hi)?.hi }) }
    }

    /// The interval with both ends rounded outwards to [`DIGITS`] digits.
    pub fn tidy(self) -> Self {
        let q = |x: &Dyadic| x.top().saturating_sub(DIGITS);
        Self { lo: self.lo.down(q(&self.lo)), hi: self.hi.up(q(&self.hi)) }
    }

    /// The same interval, if it is not too large and not finer than is useful.
    pub fn kept(self) -> Option<Self> {
        let tidy = self.tidy();
        let fine = LIMIT.saturating_neg();
        (tidy.size().top() <= LIMIT).then(|| Self { lo: tidy.lo.down(fine), hi: tidy.hi.up(fine) })
    }

    /// The quotient, where the divisor is not 0.
    pub fn over(&self, other: &Self) -> Option<Self> {
        if other.hi.is_negative() {
            return (-self).over(&-other);
        }
        (other.lo > Dyadic::ZERO).then(|| {
            // A quotient is least for the least dividend, by the largest divisor if that is not negative.
            let below = self.lo.quotient_down(if self.lo.is_negative() { &other.lo } else { &other.hi });
            let above = (-&self.hi).quotient_down(if self.hi.is_negative() { &other.hi } else { &other.lo });
            Self { lo: below, hi: -&above }
        })
    }

    /// `x^k`: an even power grows with `|x|`, an odd one with `x`.
    pub fn power(&self, k: u32) -> Option<Self> {
        let base = if k.is_multiple_of(2) { self.absolute() } else { self.clone() };
        base.grown(|x| {
            let (x, mut result) = (Self::point(x.clone()), Self::point(Dyadic::ONE));
            for bit in (0..32_u32.saturating_sub(k.leading_zeros())).rev() {
                result = (&result * &result).kept()?;
                if k.checked_shr(bit).unwrap_or(0) & 1 == 1 {
                    result = (&result * &x).kept()?;
                }
            }
            Some(result)
        })
    }

    /// `|x|`.
    pub fn absolute(&self) -> Self {
        if self.lo.is_negative() && !self.hi.is_negative() {
            Self { lo: Dyadic::ZERO, hi: self.size() }
        } else if self.lo.is_negative() {
            -self
        } else {
            self.clone()
        }
    }

    /// The larger of two.
    pub fn max(&self, other: &Self) -> Self {
        Self { lo: self.lo.clone().max(other.lo.clone()), hi: self.hi.clone().max(other.hi.clone()) }
    }

    /// The smaller of two.
    pub fn min(&self, other: &Self) -> Self {
        Self { lo: self.lo.clone().min(other.lo.clone()), hi: self.hi.clone().min(other.hi.clone()) }
    }

    /// `⌊x⌋`.
    pub fn floor(&self) -> Self {
        Self { lo: self.lo.down(0), hi: self.hi.down(0) }
    }

    /// `e^x`.
    pub fn exp(&self) -> Option<Self> {
        self.grown(exp)
    }

    /// The natural logarithm, where it is defined.
    pub fn log(&self) -> Option<Self> {
        if self.lo <= Dyadic::ZERO {
            return None;
        }
        self.grown(|x| {
            // x = 2^t·y with y in [1/2, 1), and log y = 2 artanh((y-1)/(y+1)).
            let t = x.top();
            let y = Dyadic { m: x.m.clone(), e: x.e.saturating_sub(t) };
            let whole = Range::point(Dyadic::new(IBig::from(t), 0));
            let two = artanh_of(&Dyadic::ONE, &Dyadic::new(IBig::from(3), 0))?;
            let part = artanh_of(&(&y - &Dyadic::ONE), &(&y + &Dyadic::ONE))?;
            Some(&(&whole * &two) + &part)
        })
    }

    /// The square root, where it is defined.
    pub fn sqrt(&self) -> Option<Self> {
        if self.lo.is_negative() {
            return None;
        }
        self.grown(|x| {
            let places = DIGITS.saturating_mul(2).saturating_sub(digits(x.m.bit_len())).max(0);
            let places = if places.saturating_sub(x.e) % 2 == 0 { places } else { places.saturating_add(1) };
            let whole: UBig = (x.m.clone() << shift(places)).unsigned_abs();
            let (root, e) = (IBig::from_parts(Sign::Positive, whole.sqrt()), x.e.saturating_sub(places) / 2);
            let exact = IBig::from_parts(Sign::Positive, whole) == &root * &root;
            let above = if exact { root.clone() } else { &root + IBig::ONE };
            Some(Self { lo: Dyadic::new(root, e), hi: Dyadic::new(above, e) })
        })
    }

    /// `tanh x = 1 - 2/(e^{2x} + 1)`.
    pub fn tanh(&self) -> Option<Self> {
        let (one, two) = (Self::whole(1), Self::whole(2));
        let far = Dyadic::from(1000);
        let inside = self.max(&Self::point(-&far)).min(&Self::point(far.clone()));
        let middle = inside.grown(|x| Some(&one - &two.over(&(&exp(&(x + x))? + &one))?))?;
        let unit = Dyadic::ONE;
        Some(Self {
            lo: if self.lo < -&far { -&unit } else { middle.lo },
            hi: if self.hi > far { unit } else { middle.hi },
        })
    }

    /// Sine (`quarter` 0) or cosine (1), by its value at the middle and a slope of at most 1. Far away, all that is
    /// said is that it lies in `[-1, 1]`.
    pub fn wave(&self, quarter: u64) -> Option<Self> {
        let half = Dyadic::power_of_two(-1);
        let middle = (&(&self.lo + &self.hi) * &half).down(-DIGITS);
        // The middle is rounded down: the upper end is farther.
        let reach = &self.hi - &middle;
        let unit = Self::around_zero(&Dyadic::ONE);
        if middle.top() > FARTHEST {
            return Some(unit);
        }
        // First at a fraction of it below 1, where no digits are lost; then sin 2x = 2 sin x cos x and cos 2x = 1 - 2
        // sin² x lead back.
        let halvings = middle.top().max(0);
        let part = Self::point(&middle * &Dyadic::power_of_two(halvings.saturating_neg()));
        let (mut sine, mut cosine) = (wave_series(&part, 0)?, wave_series(&part, 1)?);
        for _ in 0..halvings {
            let (product, square) = (&sine * &cosine, sine.power(2)?);
            sine = (&product + &product).tidy();
            cosine = (&Self::whole(1) - &(&square + &square)).tidy();
        }
        let within = &(if quarter == 0 { sine } else { cosine }) + &Self::around_zero(&reach);
        Some(within.meet(&unit))
    }
}

/// Waves are followed up to `2^FARTHEST`.
const FARTHEST: i64 = 10;

/// Sine (`quarter` 0) or cosine (1) at a number of at most 1 in size, by its series.
fn wave_series(x: &Range, quarter: u64) -> Option<Range> {
    let square = (x * x).tidy();
    let (mut term, mut k) = (if quarter == 0 { x.clone() } else { Range::whole(1) }, 1_u64.saturating_sub(quarter));
    let mut sum = term.clone();
    // Terms fall; the rest is below its first term.
    while term.size().top() > DIGITS.saturating_neg() {
        let next = Dyadic::from(k.saturating_add(1).saturating_mul(k.saturating_add(2)));
        term = (-&(&square * &term).over(&Range::point(next))?).kept()?;
        sum = (&sum + &term).tidy();
        k = k.saturating_add(2);
    }
    Some(&sum + &Range::around_zero(&term.size()))
}

/// `2 artanh(num/den) = 2 Σ r^{2k+1}/(2k+1)` for `|r| ≤ 1/3`.
fn artanh_of(num: &Dyadic, den: &Dyadic) -> Option<Range> {
    let ratio = Range::point(num.clone()).over(&Range::point(den.clone()))?;
    let (square, mut term) = ((&ratio * &ratio).tidy(), ratio);
    let mut sum = Range::ZERO;
    for k in 0..64_u64 {
        let divisor = Range::point(Dyadic::from(k.saturating_mul(2).saturating_add(1)));
        sum = (&sum + &term.over(&divisor)?).tidy();
        term = (&term * &square).kept()?;
    }
    // The rest is at most the next term times 1/(1 - r²) ≤ 9/8.
    let rest = Range::around_zero(&(&term.size() * &Dyadic::from(2)));
    let half = &sum + &rest;
    Some(&half + &half)
}

/// `e^x`: by its series at `x/2^s`, squared `s` times; far below 0 by `e^{-y} ≤ 2^{-⌊1.44 y⌋}`, since `1.44 < log2 e`.
fn exp(x: &Dyadic) -> Option<Range> {
    if x.is_zero() {
        return Some(Range::point(Dyadic::ONE));
    }
    if *x < -&Dyadic::from(50) {
        let places = (&(-x) * &Dyadic::from(144)).quotient_down(&Dyadic::from(100)).down(0);
        let places = i64::try_from(&(places.m << shift(places.e.min(64)))).unwrap_or(LIMIT).min(LIMIT);
        return Some(Range { lo: Dyadic::ZERO, hi: Dyadic::power_of_two(places.saturating_neg()) });
    }
    if x.top() > 12 {
        return None;
    }
    let halvings = x.top().saturating_add(8).max(0);
    let small = Range::point(x * &Dyadic::power_of_two(halvings.saturating_neg()));
    let (mut term, mut sum) = (Range::point(Dyadic::ONE), Range::point(Dyadic::ONE));
    for k in 1..24_u64 {
        term = (&term * &small).over(&Range::point(Dyadic::from(k)))?.kept()?;
        sum = (&sum + &term).tidy();
    }
    // |x/2^s| ≤ 2^-8: the rest is less than the last term.
    sum = &sum + &Range::around_zero(&term.size());
    for _ in 0..halvings {
        sum = (&sum * &sum).tidy();
    }
    Some(sum)
}

impl Add for &Range {
    type Output = Range;
    fn add(self, other: &Range) -> Range {
        Range { lo: &self.lo + &other.lo, hi: &self.hi + &other.hi }
    }
}

impl Neg for &Range {
    type Output = Range;
    fn neg(self) -> Range {
        Range { lo: -&self.hi, hi: -&self.lo }
    }
}

impl Sub for &Range {
    type Output = Range;
    fn sub(self, other: &Range) -> Range {
        self + &-other
    }
}

impl Mul for &Range {
    type Output = Range;
    fn mul(self, other: &Range) -> Range {
        match (self.is_point(), other.is_point()) {
            (true, true) => return Range::point(&self.lo * &other.lo),
            (false, true) => return other * self,
            (true, false) if !self.lo.is_negative() => {
                return Range { lo: &self.lo * &other.lo, hi: &self.lo * &other.hi };
            }
            _ => {}
        }
        let products = [&self.lo * &other.lo, &self.lo * &other.hi, &self.hi * &other.lo, &self.hi * &other.hi];
        let (lo, hi) = (products.iter().min(), products.iter().max());
        Range { lo: lo.cloned().unwrap_or(Dyadic::ZERO), hi: hi.cloned().unwrap_or(Dyadic::ZERO) }
    }
}

impl std::fmt::Display for Dyadic {
    /// Whole numbers up to a million are written as they are, others with six digits, cut off.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.e >= 0 && self.top() <= 20 {
            return write!(f, "{}", &self.m << shift(self.e));
        }
        let (size, sign) = (self.abs(), if self.is_negative() { "-" } else { "" });
        // log10 2 is about 301/1000.
        let mut places = 6_i64.saturating_sub(self.top().saturating_mul(301) / 1000);
        let scaled = |places: i64| {
            let power = Dyadic::new(IBig::from(10).pow(shift(places.saturating_abs())), 0);
            let scaled = if places < 0 { size.quotient_down(&power) } else { &size * &power };
            let whole = scaled.down(0);
            (whole.m << shift(whole.e)).to_string()
        };
        let mut digits = scaled(places);
        if digits.len() < 6 {
            places = places.saturating_add(1);
            digits = scaled(places);
        }
        let exponent = i64::try_from(digits.len()).unwrap_or(0).saturating_sub(1).saturating_sub(places);
        let (first, rest) = digits.split_at_checked(1).unwrap_or(("0", ""));
        write!(f, "{sign}{first}.{}e{exponent}", rest.get(..5).unwrap_or(rest))
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_point() { write!(f, "{}", self.lo) } else { write!(f, "[{}, {}]", self.lo, self.hi) }
    }
}

#[cfg(test)]
mod tests;
