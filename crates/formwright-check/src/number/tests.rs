//! Against what is known: digits, identities, and the rounding of the machine.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_arithmetic,
    clippy::unwrap_used
)]

use dashu_int::IBig;

use super::{Dyadic, Range};

/// Random numbers of up to 64 bits.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number of either sign with up to 64 digits, and an exponent around 0.
    fn dyadic(&mut self, reach: i64) -> Dyadic {
        let m = IBig::from(self.next() >> (self.next() % 64));
        let m = if self.next().is_multiple_of(2) { m } else { -m };
        Dyadic::new(m, i64::try_from(self.next() % 1000).unwrap() % (2 * reach + 1) - reach - 32)
    }

    fn range(&mut self, reach: i64) -> Range {
        let (a, b) = (self.dyadic(reach), self.dyadic(reach));
        if self.next().is_multiple_of(4) {
            Range::point(a)
        } else {
            Range { lo: a.clone().min(b.clone()), hi: a.max(b) }
        }
    }
}

fn point(x: i64) -> Range {
    Range::point(Dyadic::new(IBig::from(x), 0))
}

fn within(outer: &Range, inner: &Range) -> bool {
    outer.lo <= inner.lo && inner.hi <= outer.hi
}

fn narrow(range: &Range) -> bool {
    (&range.hi - &range.lo).top() < -70
}

/// That a range is narrow and meets the interval of numbers that begin with these digits.
fn begins(range: &Range, digits: &str) {
    let low = Dyadic::parse(digits).unwrap();
    let last = format!("0.{}1", "0".repeat(digits.split_once('.').unwrap().1.len() - 1));
    let high = &low + &Dyadic::parse(&last).unwrap();
    assert!(narrow(range) && low.lo <= range.lo && range.hi <= high.hi, "{range} does not begin with {digits}");
}

#[test]
fn known_digits() {
    let one = point(1);
    begins(&one.exp().unwrap(), "2.71828182845904523536");
    begins(&point(2).log().unwrap(), "0.69314718055994530941");
    begins(&one.wave(0).unwrap(), "0.84147098480789650665");
    begins(&one.wave(1).unwrap(), "0.54030230586813971740");
    begins(&one.tanh().unwrap(), "0.76159415595576488811");
    begins(&point(2).sqrt().unwrap(), "1.41421356237309504880");
    begins(&point(10).log().unwrap(), "2.30258509299404568401");
    begins(&point(-1).exp().unwrap(), "0.36787944117144232159");
    begins(&point(8).wave(0).unwrap(), "0.98935824662338177780");
}

#[test]
fn functions_undo_each_other() {
    let mut bits = Bits(1);
    for _ in 0..200 {
        let x = Range::point(bits.dyadic(20).abs());
        let root = x.sqrt().unwrap();
        if x.lo.is_zero() {
            assert_eq!(root, x);
            continue;
        }
        assert!(within(&(&root * &root), &x) && root.lo.top() >= root.hi.top() - 1, "the root of {x}");
        assert!(within(&x.log().unwrap().exp().unwrap_or(x.clone()), &x), "the logarithm of {x}");
        let y = x.lo.top().min(10);
        let y = Range::point(&x.lo * &Dyadic::power_of_two(y - x.lo.top()));
        let (up, down) = (y.exp().unwrap(), (-&y).exp().unwrap());
        assert!(within(&(&up * &down), &point(1)), "e to the {y}");
        assert!(within(
            &(&y.wave(0).map_or(point(0), |s| &s * &s) + &y.wave(1).map_or(point(1), |c| &c * &c)),
            &point(1)
        ));
        assert!(within(&(&y.tanh().unwrap() + &(-&y).tanh().unwrap()), &point(0)), "tanh of {y}");
    }
}

/// Intervals hold what their points give.
#[test]
fn functions_of_ranges_hold_those_of_points() {
    let mut bits = Bits(2);
    for _ in 0..200 {
        let (a, b) = (bits.range(8), bits.range(8));
        let middle = |range: &Range| Range::point(&(&range.lo + &range.hi) * &Dyadic::power_of_two(-1));
        for x in [Range::point(a.lo.clone()), middle(&a), Range::point(a.hi.clone())] {
            let y = middle(&b);
            let holds = |outer: Option<Range>, inner: Option<Range>| {
                let (Some(outer), Some(inner)) = (outer, inner) else { return };
                assert!(outer.lo <= inner.hi && inner.lo <= outer.hi, "{outer} of {a} does not meet {inner} of {x}");
            };
            holds(Some(&a * &b), Some(&x * &y));
            holds(Some(&a - &b), Some(&x - &y));
            holds(a.over(&b), x.over(&y));
            (0..6).for_each(|k| holds(a.power(k), x.power(k)));
            holds(a.exp(), x.exp());
            holds(a.log(), x.log());
            holds(a.sqrt(), x.sqrt());
            holds(a.tanh(), x.tanh());
            holds(a.wave(0), x.wave(0));
            holds(a.wave(1), x.wave(1));
            holds(Some(a.absolute()), Some(x.absolute()));
            holds(Some(a.floor()), Some(x.floor()));
        }
    }
}

#[test]
fn quotients_are_outside_and_near() {
    let mut bits = Bits(3);
    for _ in 0..20_000 {
        let (a, b) = (Range::point(bits.dyadic(60)), Range::point(bits.dyadic(60)));
        let Some(quotient) = a.over(&b) else { continue };
        let product = &quotient * &b;
        assert!(within(&product, &a), "{a} over {b}");
        assert!((&product.hi - &product.lo).top() <= a.lo.top().saturating_sub(88), "{a} over {b} is wide");
    }
}

#[test]
fn rounding_is_that_of_the_machine() {
    let mut bits = Bits(4);
    for _ in 0..100_000 {
        // Often a few digits more than the format has, and ties.
        let m = (bits.next() >> (bits.next() % 40)) & !((1 << (bits.next() % 32)) - 1);
        let (exponent, negative) = (i64::try_from(bits.next() % 200).unwrap() - 130, bits.next().is_multiple_of(2));
        let m = if negative { -i128::from(m) } else { i128::from(m) };
        let x = Dyadic::new(IBig::from(m), exponent);
        let scale = 2.0_f64.powi(i32::try_from(exponent).unwrap());
        let double = m as f64 * scale;
        let nearest = |least: i64, digits: i64| x.nearest(x.top().max(least + 1) - digits);
        let bits = |x: f64| if x == 0.0 { Dyadic::ZERO } else { Dyadic::from_bits(x.to_bits(), 53).unwrap() };
        assert_eq!(nearest(-1022, 53), bits(double), "{m}·2^{exponent}");
        // A double that is exact is rounded once more, to a single.
        if bits(double) == x && (double as f32).is_finite() {
            assert_eq!(nearest(-126, 24), bits(f64::from(double as f32)), "{m}·2^{exponent} as a single");
        }
        for q in [exponent + 3, exponent - 3] {
            let (down, up) = (x.down(q), x.up(q));
            assert!(down <= x && x <= up && &up - &down <= Dyadic::power_of_two(q));
        }
    }
}

#[test]
fn bits_are_numbers() {
    let mut bits = Bits(5);
    for _ in 0..10_000 {
        let x = f64::from_bits(bits.next());
        let single = f32::from_bits(bits.next() as u32);
        assert_eq!(Dyadic::from_bits(x.to_bits(), 53).is_some(), x.is_normal() || x == 0.0);
        let wide = Dyadic::from_bits(f64::from(single).to_bits(), 53);
        assert_eq!(
            Dyadic::from_bits(u64::from(single.to_bits()), 24),
            wide.filter(|_| single.is_normal() || single == 0.0)
        );
    }
    assert_eq!(Dyadic::from_bits((-1.5_f64).to_bits(), 53), Some(Dyadic::new(IBig::from(-3), -1)));
}

#[test]
fn texts_are_numbers() {
    for (text, num, den) in [("0.1", 1, 10), ("-3/7", -3, 7), ("-0.25", -1, 4), ("12", 12, 1), ("0.30", 3, 10)] {
        let range = Dyadic::parse(text).unwrap();
        assert!(within(&(&range * &point(den)), &point(num)), "{text} is {range}");
        assert!(range.is_point() || narrow(&range));
    }
    for text in ["", "-", "1/0", "1/-2", "1.", "1e5", "1/2.5", "+1", "--1", "1_0", " 1"] {
        assert_eq!(Dyadic::parse(text), None, "{text:?}");
    }
}
