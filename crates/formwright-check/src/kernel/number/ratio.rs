//! Fractions. The value of a target at a point is often known exactly, and then nothing is lost.

use std::cmp::Ordering;

use dashu_base::{BitTest, DivEuclid, Gcd, Sign, Signed, SquareRoot, UnsignedAbs};
use dashu_int::{IBig, UBig};

use super::{Dyadic, Range, integer, is_canonical, shift};

/// Fractions with more binary digits, in numerator or denominator, are rounded outwards.
const MOST_DIGITS: usize = 1 << 11;

/// The longest text of a decimal.
const LONGEST: usize = 4096;

/// `num/den` in lowest terms, with `den > 0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ratio {
    num: IBig,
    den: IBig,
}

impl Ratio {
    /// 0.
    pub const ZERO: Self = Self { num: IBig::ZERO, den: IBig::ONE };
    /// 1.
    pub const ONE: Self = Self { num: IBig::ONE, den: IBig::ONE };

    /// A quotient; none if the divisor is 0.
    fn new(num: IBig, den: IBig) -> Option<Self> {
        if den.is_zero() {
            return None;
        }
        let (num, den) = if den.is_negative() { (-num, -den) } else { (num, den) };
        if den == IBig::ONE {
            return Some(Self { num, den });
        }
        let common = IBig::from_parts(Sign::Positive, (&num).gcd(&den));
        Some(Self { num: num.div_euclid(&common), den: den.div_euclid(&common) })
    }

    /// A whole number.
    pub fn whole(x: usize) -> Self {
        Self { num: IBig::from(x), den: IBig::ONE }
    }

    /// The same number.
    pub fn of(x: &Dyadic) -> Self {
        if x.e >= 0 {
            Self { num: &x.m << shift(x.e), den: IBig::ONE }
        } else {
            Self { num: x.m.clone(), den: IBig::ONE << shift(x.e.saturating_neg()) }
        }
    }

    /// A rational of section 1.
    pub fn rational(text: &str) -> Option<Self> {
        if !is_canonical(text) {
            return None;
        }
        let (num, den) = text.split_once('/').map_or((text, None), |(num, den)| (num, Some(den)));
        Some(Self { num: integer(num)?, den: den.map_or(Some(IBig::ONE), integer)? })
    }

    /// A rational of section 1, or a decimal.
    pub fn number(text: &str) -> Option<Self> {
        let Some((whole, part)) = text.split_once('.') else { return Self::rational(text) };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if text.len() > LONGEST || !digits(whole.strip_prefix('-').unwrap_or(whole)) || !digits(part) {
            return None;
        }
        Self::new(integer(&format!("{whole}{part}"))?, IBig::from(10).pow(part.len()))
    }

    /// The number in the one form that the certificate allows.
    pub fn text(&self) -> String {
        if self.is_whole() { self.num.to_string() } else { format!("{}/{}", self.num, self.den) }
    }

    /// The dyadic interval around it; a point if it is dyadic.
    pub fn range(&self) -> Range {
        let (num, den) = (Dyadic::new(self.num.clone(), 0), Dyadic::new(self.den.clone(), 0));
        Range { lo: num.quotient_down(&den), hi: -&(-&num).quotient_down(&den) }
    }

    /// True if it is short enough to be computed with.
    pub fn is_short(&self) -> bool {
        self.num.bit_len() <= MOST_DIGITS && self.den.bit_len() <= MOST_DIGITS
    }

    /// True if it is a whole number.
    pub fn is_whole(&self) -> bool {
        self.den == IBig::ONE
    }

    /// True if it is 0.
    pub fn is_zero(&self) -> bool {
        self.num.is_zero()
    }

    /// True if it is below 0.
    pub fn is_negative(&self) -> bool {
        self.num.is_negative()
    }

    /// The number as a place in a list, if it is a whole number that can be one.
    pub fn place(&self) -> Option<usize> {
        usize::try_from(&self.num).ok().filter(|_| self.is_whole())
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        let sum = &(&self.num * &other.den) + &(&other.num * &self.den);
        Self::new(sum, &self.den * &other.den).unwrap_or(Self::ZERO)
    }

    /// The negative.
    pub fn negative(&self) -> Self {
        Self { num: -&self.num, den: self.den.clone() }
    }

    /// The difference.
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negative())
    }

    /// The product.
    pub fn times(&self, other: &Self) -> Self {
        Self::new(&self.num * &other.num, &self.den * &other.den).unwrap_or(Self::ZERO)
    }

    /// The quotient, if the divisor is not 0.
    pub fn over(&self, other: &Self) -> Option<Self> {
        Self::new(&self.num * &other.den, &self.den * &other.num)
    }

    /// The absolute value.
    pub fn absolute(&self) -> Self {
        if self.is_negative() { self.negative() } else { self.clone() }
    }

    /// The largest whole number that is not larger.
    pub fn floor(&self) -> Self {
        Self { num: (&self.num).div_euclid(&self.den), den: IBig::ONE }
    }

    /// `a mod b` in `0..|b|`, if `b` is not 0.
    pub fn modulo(&self, other: &Self) -> Option<Self> {
        let size = other.absolute();
        Some(self.minus(&self.over(&size)?.floor().times(&size)))
    }

    /// `x^k`, if it is short.
    pub fn power(&self, k: u32) -> Option<Self> {
        let k = usize::try_from(k).ok()?;
        // A number of b binary digits is at least 2^(b-1), so its power has at least (b-1)k of them.
        let digits = self.num.bit_len().max(self.den.bit_len()).saturating_sub(1);
        if digits.saturating_mul(k) > MOST_DIGITS {
            return None;
        }
        Some(Self { num: self.num.pow(k), den: self.den.pow(k) })
    }

    /// The square root, if it is a fraction.
    pub fn root(&self) -> Option<Self> {
        let root = |x: &IBig| {
            let whole: UBig = x.clone().unsigned_abs();
            let root = whole.sqrt();
            (&root * &root == whole).then(|| IBig::from_parts(Sign::Positive, root))
        };
        if self.is_negative() { None } else { Some(Self { num: root(&self.num)?, den: root(&self.den)? }) }
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.num * &other.den).cmp(&(&other.num * &self.den))
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.range())
    }
}
