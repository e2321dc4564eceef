//! A sum of numbers of a format and of products of them, in any order, fused or not.
//!
//! Let it have `m` terms besides zeros, and `r = 1` if one of them is a product that may be rounded before it is added,
//! else `r = 0`.
//!
//! ```text
//! exact      all terms are known and multiples of 2^q ≥ η, and neither the positive nor the negative ones add up to
//!            2^(q+p): every partial sum is a number of the format, so nothing is rounded
//! absorbed   some terms are exact so, and the others, together and with their own roundings, are less than a quarter
//!            of the distance of numbers at 2^q (at |t|, if there is one exact term t): whatever partial sum they join
//!            rounds back, so the sum is that of the exact terms; or at most as large as the others, if it is 0
//! once       there is nothing but one product of two known numbers, or two known numbers of the format: one rounding,
//!            to nearest, which gives one number, if that is normal and nothing that is rounded is below η
//! else       the exact sum ± (γ_{m-1+r} Σ|t| + 3mη), of which nothing is left for a normal number alone:
//!            m - 1 additions, one more rounding of a product, and 2m - 1 results that may be flushed
//! entire     a term is not bounded, or Σ|t| with its roundings is beyond the largest number: some order may overflow.
//!            An unbounded term may be infinite, or not a number, and 0 times it is not a number: a weight of 0 does
//!            not hide it
//! ```

use crate::interval::{Interval, Up};
use crate::network::Precision;
use crate::rounding::gamma;

/// The properties of a format's arithmetic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding {
    precision: Precision,
    /// `u`.
    pub unit: f64,
    /// `η`, and its exponent.
    pub tiny: f64,
    least: i32,
    /// `ε/(1-ε) ≥ |log(1 ± ε)|`: an error of `exp` as one of its argument.
    pub slip: f64,
    /// `e^-depth < η`.
    pub depth: f64,
}

impl Rounding {
    pub fn of(precision: Precision) -> Self {
        let (least, depth) = match precision {
            Precision::F32 => (f32::MIN_EXP - 1, 88.0),
            Precision::F64 => (f64::MIN_EXP - 1, 709.0),
        };
        let error = precision.exp_error();
        let slip = (Up::from(error) / (1.0 - error)).get();
        Self { precision, unit: precision.unit(), tiny: precision.least_normal(), least, slip, depth }
    }

    /// `γ_k`.
    pub fn gamma(self, k: usize) -> Interval {
        gamma(k, self.precision)
    }
}

/// `[-r, r]`.
pub(super) fn ball(r: f64) -> Interval {
    Interval::new(-r, r).unwrap_or(Interval::ENTIRE)
}

/// `x / y` for `y ≥ 0`; entire where `y` may be 0.
pub(super) fn over(x: Interval, y: Interval) -> Interval {
    x.checked_div(y).unwrap_or(Interval::ENTIRE)
}

pub(super) fn count(n: usize) -> Interval {
    Interval::point(f64::from(u32::try_from(n).unwrap_or(u32::MAX)))
}

/// Terms that have been added.
#[derive(Clone, Copy, Debug)]
struct Terms {
    count: usize,
    sum: Interval,
    /// The highest and the lowest that partial sums may reach, up to `count` roundings to nearest.
    above: f64,
    below: f64,
}

impl Terms {
    const NONE: Self = Self { count: 0, sum: Interval::ZERO, above: 0.0, below: 0.0 };

    fn add(&mut self, term: Interval) {
        self.count += 1;
        self.sum = self.sum + term;
        self.above += term.hi().max(0.0);
        self.below -= term.lo().min(0.0);
    }

    /// `Σ|t|`, from above.
    fn size(&self) -> Interval {
        let slack = Interval::ONE + count(self.count + 1) * Interval::point(f64::EPSILON);
        Interval::point_or_entire(self.above + self.below) * slack
    }
}

/// The terms that are known, as long as their sum may be rounded once at most.
#[derive(Clone, Copy, Debug)]
enum Few {
    None,
    /// A number of the format, or (`true`) a product that was rounded to one.
    One(f64, bool),
    /// Two numbers of the format.
    Two(f64, f64),
    Many,
}

impl Few {
    /// One term more, which is a number of the format, or a product that was rounded to it.
    fn with(self, x: f64, rounded: bool) -> Self {
        match self {
            Self::None => Self::One(x, rounded),
            Self::One(first, false) if !rounded => Self::Two(first, x),
            _ => Self::Many,
        }
    }
}

/// A sum that is being added up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    format: Rounding,
    /// All of its terms, if they are few.
    few: Few,
    /// The terms that are points, and the power of two that they are multiples of.
    known: Terms,
    quantum: i32,
    /// All other terms.
    rest: Terms,
    /// True if `r = 1`.
    rounded: bool,
    /// True if a term, or a factor of one, is not bounded.
    unknown: bool,
}

impl Sum {
    pub fn new(format: Rounding) -> Self {
        Self {
            format,
            few: Few::None,
            known: Terms::NONE,
            quantum: i32::MAX,
            rest: Terms::NONE,
            rounded: false,
            unknown: false,
        }
    }

    /// Adds a computed number.
    pub fn term(&mut self, x: Interval) {
        if x != Interval::ZERO {
            self.few = if x.lo() < x.hi() { Few::Many } else { self.few.with(x.lo(), false) };
        }
        self.add(x);
    }

    /// Adds a product of two numbers, which is `exact` if one of them is a power of two.
    fn product_of(&mut self, (a, b): (Interval, Interval), exact: bool) {
        let x = a * b;
        if x != Interval::ZERO {
            let known = a.width() == 0.0 && b.width() == 0.0;
            let rounded = || self.few.with(self.format.precision.fused(a.lo(), b.lo(), 0.0), !exact);
            self.few = if known { rounded() } else { Few::Many };
        }
        self.add(x);
    }

    fn add(&mut self, x: Interval) {
        self.unknown |= !x.is_bounded();
        if x.lo() < x.hi() {
            self.rest.add(x);
        } else if x != Interval::ZERO {
            self.known.add(x);
            self.quantum = self.quantum.min(quantum(x.lo()));
        }
    }

    /// Adds a stored number.
    pub fn plus(mut self, x: f64) -> Self {
        self.term(Interval::point(x));
        self
    }

    /// Adds the product of a stored number and a computed one.
    pub fn weighted(&mut self, w: f64, z: Interval) {
        self.unknown |= !z.is_bounded();
        if w != 0.0 {
            let exact = is_power_of_two(w);
            self.rounded |= !exact;
            self.product_of((Interval::point(w), z), exact);
        }
    }

    /// Adds the product of two computed numbers.
    pub fn product(&mut self, x: Interval, y: Interval) {
        self.rounded = true;
        self.unknown |= !(x.is_bounded() && y.is_bounded());
        self.product_of((x, y), false);
    }

    /// An enclosure of the sum.
    pub fn total(&self) -> Interval {
        self.parts().0
    }

    /// An enclosure of the sum, and one of its distance from the sum of its terms.
    pub fn parts(&self) -> (Interval, Interval) {
        let Self { format, known, rest, .. } = self;
        let (sum, size) = (known.sum + rest.sum, known.size() + rest.size());
        let lost = self.rounding(size);
        if self.unknown || (size + lost).hi() > format.precision.largest() {
            return (Interval::ENTIRE, Interval::ENTIRE);
        }
        let grain = if self.quantum < format.least { 0.0 } else { 2_f64.powi(self.quantum.min(format.least.abs())) };
        // Sums of doubles, so these are exact if they are as small as that.
        let exact = known.above.max(known.below) < grain / format.unit;
        let alone = known.count + rest.count == 1 && !self.rounded && sum.mig() >= format.tiny;
        if exact && rest.count == 0 || alone {
            return (sum, Interval::ZERO);
        }
        if let Some(once) = self.once(sum) {
            let once = Interval::point(once);
            return (once, once - sum);
        }
        if exact && known.count > 0 {
            let others = ball((rest.size() + self.rounding(rest.size())).hi());
            let smallest = if known.count == 1 { known.sum.mag() } else { grain };
            if others.hi() < smallest * format.unit / 2.0 {
                return (if known.sum == Interval::ZERO { others } else { known.sum }, others);
            }
        }
        (sum + lost, lost)
    }

    /// The only result, if one rounding gives it, of terms whose exact sum this is.
    fn once(&self, sum: Interval) -> Option<f64> {
        let (tiny, precision) = (self.format.tiny, self.format.precision);
        let once = match self.few {
            Few::One(x, _) => x,
            Few::Two(x, y) if x.abs() >= tiny && y.abs() >= tiny => precision.fused(x, 1.0, y),
            _ => return None,
        };
        (sum.mig() >= tiny && once.abs() >= tiny && once.abs() <= precision.largest()).then_some(once)
    }

    /// The possible effect of rounding on a sum with `Σ|t| ≤ size`.
    pub fn rounding(&self, size: Interval) -> Interval {
        let terms = self.known.count + self.rest.count;
        let additions = terms.saturating_sub(1) + usize::from(self.rounded);
        let flushed = count(3 * terms) * Interval::point(self.format.tiny);
        ball((self.format.gamma(additions) * size + flushed).hi())
    }
}

/// The exponent of the last digit of `x ≠ 0`.
fn quantum(x: f64) -> i32 {
    let (fraction, exponent) = (x.to_bits() & ((1 << 52) - 1), (x.to_bits() >> 52) & 0x7ff);
    let (digits, exponent) = if exponent == 0 { (fraction, 1) } else { (fraction | 1 << 52, exponent) };
    i32::try_from(exponent).unwrap_or(0) + i32::try_from(digits.trailing_zeros()).unwrap_or(0) - 1075
}

/// True if a product with `x` is exact, unless it underflows.
fn is_power_of_two(x: f64) -> bool {
    x.is_normal() && x.to_bits() & ((1 << 52) - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A number of few or many digits, large or small.
    fn number() -> impl Strategy<Value = f32> {
        let small = (-40_i8..40).prop_map(f32::from);
        let scaled = (-4096_i16..4096, -40_i32..20).prop_map(|(k, e)| f32::from(k) * 2_f32.powi(e));
        let tiny = (any::<f32>().prop_filter("finite", |x| x.is_finite()), -140_i32..-60)
            .prop_map(|(x, e)| (x % 2.0) * 2_f32.powi(e));
        prop_oneof![4 => small, 4 => scaled, 1 => tiny, 1 => Just(1.0), 1 => Just(0.1)]
    }

    fn flushed(x: f32, flush: bool) -> f32 {
        if flush && x.is_subnormal() { 0.0 } else { x }
    }

    /// The terms added up along a random tree: two parts at a time become one; a product alone is fused into the other
    /// part or rounded first.
    fn along(order: &[usize], terms: &[(f32, f32)], (fuse, flush): (bool, bool)) -> f32 {
        let value = |(a, b): (f32, f32)| flushed(a * b, flush);
        let mut parts: Vec<(f32, f32)> = terms.to_vec();
        for pick in order {
            if parts.len() == 1 {
                break;
            }
            let (a, b) = parts.remove(pick % parts.len());
            let other = parts.remove(pick / 7 % parts.len());
            let sum = if fuse { a.mul_add(b, value(other)) } else { value((a, b)) + value(other) };
            parts.push((flushed(sum, flush), 1.0));
        }
        value(parts[0])
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Exact, absorbed or neither: no tree of additions leaves the enclosure.
        #[test]
        fn every_order_lies_in_the_enclosure_of_a_sum(
            terms in prop::collection::vec((number(), prop::option::of(number())), 1..7),
            order in prop::collection::vec(0_usize..1000, 8),
            (fuse, flush) in (any::<bool>(), any::<bool>()),
            wide in any::<[bool; 7]>(),
        ) {
            let mut sum = Sum::new(Rounding::of(Precision::F32));
            for ((x, w), wide) in terms.iter().zip(wide) {
                // A number that may be anything from 0 to itself must be enclosed as well.
                let z = Interval::point(f64::from(*x));
                let z = if wide { z.hull(Interval::ZERO) } else { z };
                match w {
                    Some(w) => sum.weighted(f64::from(*w), z),
                    None => sum.term(z),
                }
            }
            let factors: Vec<(f32, f32)> = terms.iter().map(|(x, w)| (*x, w.unwrap_or(1.0))).collect();
            let found = along(&order, &factors, (fuse, flush));
            prop_assert!(sum.total().contains(f64::from(found)), "{found:e} is not in {}: {terms:?}", sum.total());
        }
    }

    #[test]
    fn one_rounding_gives_one_number() {
        for precision in [Precision::F32, Precision::F64] {
            let (unit, tiny) = (precision.unit(), precision.least_normal());
            let new = || Sum::new(Rounding::of(precision));
            let product = |w: f64, x: f64| {
                let mut sum = new();
                sum.weighted(w, Interval::point(x));
                sum.weighted(0.0, Interval::point(7.0));
                sum.parts()
            };
            let plain = |x: f64, y: f64| new().plus(x).plus(y).parts();
            // (1 + 2u)² = 1 + 4u + 4u², of which the last is rounded away.
            let (square, lost) = product(1.0 + 2.0 * unit, 1.0 + 2.0 * unit);
            assert_eq!(square, Interval::point(1.0 + 4.0 * unit), "{precision}");
            assert!(lost.contains(-4.0 * unit * unit) && lost.mag() <= 4.0 * unit, "{precision}: {lost}");
            // Half way the even number is taken; a little farther, the next.
            assert_eq!(plain(1.0, unit).0, Interval::ONE);
            assert_eq!(plain(1.0, 1.5 * unit).0, Interval::point(1.0 + 2.0 * unit));
            assert_eq!(plain(1.0 + 2.0 * unit, unit).0, Interval::point(1.0 + 4.0 * unit));
            // What may be flushed, and what is rounded twice, or fused or not, is not one number.
            assert!(product(1.5 * tiny, 0.5).0.contains(0.0), "{precision}");
            assert!(plain(1.25 * tiny, -tiny).0.contains(0.0), "{precision}");
            let mut fused = new().plus(1.0);
            fused.weighted(1.0 + 2.0 * unit, Interval::point(1.0 + 2.0 * unit));
            assert!(fused.total().width() > 0.0, "{precision}");
            assert!(new().plus(1.0).plus(0.75 * unit).plus(0.75 * unit).total().width() > 0.0, "{precision}");
        }
    }

    #[test]
    fn few_digits_are_not_rounded_and_small_terms_are_absorbed() {
        let total = |terms: &[f64], rest: Interval| {
            let mut sum = terms.iter().fold(Sum::new(Rounding::of(Precision::F32)), |sum, x| sum.plus(*x));
            sum.term(rest);
            sum.total()
        };
        let small = |exponent: i32| ball(2_f64.powi(exponent));
        // 2^24 - 1 and 1 are exact, and so is their difference; from 2^24 on a sum may be rounded.
        assert_eq!(total(&[16_777_214.0, 1.0, -3.0], Interval::ZERO), Interval::point(16_777_212.0));
        assert!(total(&[16_777_213.0, 1.0, 2.0], Interval::ZERO).width() > 0.0);
        // Numbers below 4 are 2^-22 apart, those below 1, as 3 - 2 is, 2^-24; an interval that spans 0 counts twice.
        assert_eq!(total(&[4.0], small(-25)), Interval::point(4.0));
        assert!(total(&[4.0], small(-23)).width() > 0.0);
        assert_eq!(total(&[3.0, -2.0], small(-27)), Interval::ONE);
        assert!(total(&[3.0, -2.0], small(-25)).width() > 0.0);
        // A term that was absorbed before the others cancel is lost.
        assert!(
            total(&[3.0, -3.0], Interval::point(2_f64.powi(-30)).hull(Interval::point(2_f64.powi(-29)))).contains(0.0)
        );
        assert_eq!(total(&[f64::from(f32::MAX), f64::from(f32::MAX)], Interval::ZERO), Interval::ENTIRE);
        // An exact or a single term overflows as well; and an unbounded term shows behind a weight of 0.
        let large = 2_f64.powi(127);
        assert_eq!(total(&[large, large], Interval::ZERO), Interval::ENTIRE);
        assert_eq!(total(&[large, large, -large], Interval::ZERO), Interval::ENTIRE);
        assert_eq!(total(&[large], Interval::ZERO), Interval::point(large));
        let weighted = |w: f64, z: Interval| {
            let mut sum = Sum::new(Rounding::of(Precision::F32));
            sum.weighted(w, z);
            sum.total()
        };
        assert_eq!(weighted(4.0, Interval::point(large)), Interval::ENTIRE);
        assert_eq!(weighted(0.0, Interval::ENTIRE), Interval::ENTIRE);
        assert_eq!(weighted(0.0, Interval::point(large)), Interval::ZERO);
    }
}
