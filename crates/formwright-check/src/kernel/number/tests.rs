//! Compares with known digits, identities, and the rounding of the machine.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_arithmetic,
    clippy::unwrap_used
)]

use dashu_int::IBig;

use super::{Dyadic, Range, Ratio, is_canonical};

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

/// Asserts that a range is narrow and meets the interval of numbers that begin with these digits.
fn begins(range: &Range, digits: &str) {
    let number = |text: &str| Ratio::number(text).unwrap().range();
    let low = number(digits);
    let last = format!("0.{}1", "0".repeat(digits.split_once('.').unwrap().1.len() - 1));
    let high = &low + &number(&last);
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

/// Intervals hold the values at their points.
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
        // An exact double is rounded once more, to a single.
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
        let range = Ratio::number(text).unwrap().range();
        assert!(within(&(&range * &point(den)), &point(num)), "{text} is {range}");
        assert!(range.is_point() || narrow(&range));
    }
    for text in [
        "", "-", "1/0", "-1/0", "0/0", "2/4", "01", "-0", "1/-2", "1.", ".5", "-.5", "1.-5", "1.5x", "1e5", "1/2.5",
        "+1", "+1.5", "--1", "1_0", " 1",
    ] {
        assert_eq!(Ratio::number(text), None, "{text:?}");
    }
}

/// `m·2^e`.
fn dyadic(m: i64, e: i64) -> Dyadic {
    Dyadic::new(IBig::from(m), e)
}

#[test]
fn ends_are_rounded_outwards_to_96_digits() {
    // 2^100 + 1 has 101 digits: 96 of them are multiples of 2^5.
    let long = &dyadic(1, 100) + &Dyadic::ONE;
    assert_eq!(Range::point(long.clone()).tidy(), Range { lo: dyadic(1, 100), hi: &dyadic(1, 100) + &dyadic(1, 5) });
    let negative = Range::point(-&long).tidy();
    assert_eq!(negative, Range { lo: &dyadic(-1, 100) - &dyadic(1, 5), hi: dyadic(-1, 100) });
    // Each end is rounded by its own size.
    let fine = &Dyadic::ONE + &dyadic(1, -90);
    let wide = Range { lo: fine.clone(), hi: long }.tidy();
    assert_eq!(wide, Range { lo: fine, hi: &dyadic(1, 100) + &dyadic(1, 5) });
}

#[test]
fn numbers_that_are_kept_are_neither_huge_nor_fine() {
    let limit = 1 << 14;
    let huge = Range::point(dyadic(1, limit - 1));
    assert_eq!(huge.clone().kept(), Some(huge.clone()));
    assert_eq!((&huge + &huge).kept(), None);
    assert_eq!((-&(&huge + &huge)).kept(), None);
    let least = dyadic(1, -limit);
    assert_eq!(Range::point(least.clone()).kept(), Some(Range::point(least.clone())));
    let finer = Range::point(dyadic(1, -limit - 1));
    assert_eq!(finer.clone().kept(), Some(Range { lo: Dyadic::ZERO, hi: least.clone() }));
    assert_eq!((-&finer).kept(), Some(Range { lo: -&least, hi: Dyadic::ZERO }));
}

#[test]
fn quotients_and_roots_have_their_digits() {
    // ⌊2^97/3⌋ has 96 digits.
    let third = point(1).over(&point(3)).unwrap();
    assert_eq!(&third.hi - &third.lo, dyadic(1, -97));
    assert_eq!(third.lo, Dyadic::new((IBig::ONE << 97) / IBig::from(3), -97));
    assert_eq!(point(6).over(&point(-3)), Some(point(-2)));
    assert_eq!(point(0).over(&point(3)), Some(point(0)));
    for zero in
        [Range::ZERO, Range { lo: dyadic(-1, 0), hi: Dyadic::ZERO }, Range { lo: Dyadic::ZERO, hi: dyadic(1, 0) }]
    {
        assert_eq!(point(1).over(&zero), None, "{zero}");
    }
    let root = point(2).sqrt().unwrap();
    assert_eq!(&root.hi - &root.lo, dyadic(1, -95));
    assert_eq!(Range { lo: Dyadic::ONE, hi: dyadic(9, -2) }.sqrt(), Some(Range { lo: Dyadic::ONE, hi: dyadic(3, -1) }));
    assert_eq!(Range { lo: dyadic(-1, -50), hi: Dyadic::ONE }.sqrt(), None);
}

#[test]
fn functions_of_wide_ranges() {
    let range = |lo: i64, hi: i64| Range { lo: dyadic(lo, 0), hi: dyadic(hi, 0) };
    assert_eq!(range(-2, -1).power(3), Some(range(-8, -1)));
    assert_eq!(range(-2, 1).power(3), Some(range(-8, 1)));
    assert_eq!(range(-2, 1).power(2), Some(range(0, 4)));
    assert_eq!(range(-2, -1).power(2), Some(range(1, 4)));
    assert_eq!(range(-2, 1).power(0), Some(point(1)));
    assert_eq!(range(-2, -1).absolute(), range(1, 2));
    assert_eq!(range(-2, 0).absolute(), range(0, 2));
    assert_eq!(range(0, 1).meet(&range(1, 2)), point(1));
    assert_eq!(range(0, 2).meet(&range(1, 3)), range(1, 2));
    assert_eq!(range(0, 1).meet(&range(2, 3)), range(0, 1));
    for undefined in [range(-1, 2), range(0, 1), range(-2, -1)] {
        assert_eq!(undefined.log(), None, "{undefined}");
    }
    // Beyond 1000 the hyperbolic tangent is all but 1, and up to there below it.
    assert_eq!(point(1001).tanh().unwrap().hi, Dyadic::ONE);
    assert_eq!(point(-1001).tanh().unwrap().lo, dyadic(-1, 0));
    assert!(point(1000).tanh().unwrap().hi < Dyadic::ONE);
    assert!(narrow(&point(1023).wave(0).unwrap()) && !narrow(&point(1024).wave(0).unwrap()));
    assert!(range(-100, 100).wave(1).is_some_and(|all| within(&all, &range(-1, 1)) && within(&range(-1, 1), &all)));
    assert!(point(4095).exp().is_some() && point(4096).exp().is_none());
}

#[test]
fn texts_have_one_form_and_a_length() {
    let digits = |count: usize| "7".repeat(count);
    assert!(Ratio::number(&digits(4096)).is_some() && Ratio::number(&digits(4097)).is_none());
    let decimal = |count: usize| Ratio::number(&format!("0.{}", digits(count)));
    assert!(decimal(4094).is_some() && decimal(4095).is_none());
    for text in
        ["0", "-1", "7/2", "-7/10", &digits(4096), &format!("1/{}", digits(4096)), &format!("-{}", digits(4096))]
    {
        assert!(is_canonical(text), "{text}");
    }
    let long = [digits(4097), format!("1/{}", digits(4097)), format!("{}/2", digits(4097))];
    for text in
        ["", "-", "-0", "00", "01", "1/1", "2/4", "0/3", "1/", "/2", "1/x", "x/2", "1/-2", "1/02", "--1", "1.5", "+1"]
            .into_iter()
            .chain(long.iter().map(String::as_str))
    {
        assert!(!is_canonical(text), "{text}");
    }
}

/// All operations that grow or fall in each argument: their extremes are at the ends, which are whole numbers here.
#[test]
fn operations_on_ranges_reach_their_extremes_and_no_farther() {
    let range = |lo: i64, hi: i64| Range { lo: dyadic(lo, 0), hi: dyadic(hi, 0) };
    let all: Vec<[i64; 2]> = (-3..=3).flat_map(|lo| (lo..=3).map(move |hi| [lo, hi])).collect();
    for [a, b] in &all {
        for [c, d] in &all {
            let (x, y) = (range(*a, *b), range(*c, *d));
            let extremes = |f: fn(i64, i64) -> i64| {
                let values = || (*a..=*b).flat_map(|x| (*c..=*d).map(move |y| f(x, y)));
                range(values().min().unwrap(), values().max().unwrap())
            };
            assert_eq!(&x + &y, extremes(|x, y| x + y));
            assert_eq!(&x - &y, extremes(|x, y| x - y));
            assert_eq!(&x * &y, extremes(|x, y| x * y));
            assert_eq!(x.max(&y), extremes(i64::max));
            assert_eq!(x.min(&y), extremes(i64::min));
            if *c > 0 || *d < 0 {
                // Every quotient is a multiple of a sixth.
                let quotient = &x.over(&y).unwrap() * &point(6);
                let wanted = extremes(|x, y| 6 * x / y);
                assert!(within(&quotient, &wanted), "[{a}, {b}] over [{c}, {d}] is {quotient} sixths");
                assert!(within(&(&wanted + &Range::around_zero(&dyadic(1, -90))), &quotient));
            } else {
                assert_eq!(x.over(&y), None);
            }
        }
        // The floors of [a/2, b/2].
        let half = Range { lo: dyadic(*a, -1), hi: dyadic(*b, -1) };
        assert_eq!(half.floor(), range(a.div_euclid(2), b.div_euclid(2)));
    }
}

#[test]
fn exponentials_far_below_0_are_below_a_power_of_two() {
    // log2 e is 1.4426…: e^-51 is 2^-73.6, e^-1000 is 2^-1442.7.
    let below = |x: i64| point(-x).exp().unwrap();
    for (x, places) in [(51, 73), (1000, 1440)] {
        assert_eq!(below(x), Range { lo: Dyadic::ZERO, hi: dyadic(1, -places) });
    }
    assert_eq!(Range::point(dyadic(-1, 80)).exp(), Some(Range { lo: Dyadic::ZERO, hi: dyadic(1, -(1 << 14)) }));
    assert!(narrow(&below(50)) && below(50).lo > Dyadic::ZERO);
}

#[test]
fn ends_beyond_the_digits_that_are_kept_count() {
    // Between 0 and 2^-100 sine is all but the identity.
    let fine = dyadic(1, -100);
    for range in [Range { lo: Dyadic::ZERO, hi: fine.clone() }, Range { lo: -&fine, hi: Dyadic::ZERO }] {
        assert!(within(&range.wave(0).unwrap(), &range), "{range}");
    }
    // Beyond 1000 no digit tells the hyperbolic tangent from 1.
    let wide = Range { lo: dyadic(-2000, 0), hi: dyadic(2000, 0) };
    assert_eq!(wide.tanh(), Some(Range { lo: dyadic(-1, 0), hi: Dyadic::ONE }));
}

/// Fractions of small numbers, against multiplications of whole ones.
#[test]
fn fractions_are_exact() {
    let ratio = |num: i64, den: i64| {
        let text = |x: i64| Ratio::number(&x.to_string()).unwrap();
        text(num).over(&text(den)).unwrap()
    };
    let all: Vec<(i64, i64)> = (-6..=6).flat_map(|num| [1, 2, 3, 4, 6, -3].map(|den| (num, den))).collect();
    for (a, b) in &all {
        let x = ratio(*a, *b);
        assert_eq!(x.floor(), ratio(a.div_euclid(*b).min((a * b.signum()).div_euclid(b.abs())), 1), "{a}/{b}");
        assert_eq!(x.absolute(), ratio(a.abs(), b.abs()));
        assert_eq!(x.negative(), ratio(-a, *b));
        assert_eq!((x.is_whole(), x.is_zero(), x.is_negative()), (a % b == 0, *a == 0, a * b < 0));
        assert_eq!(x.power(3), Some(ratio(a * a * a, b * b * b)));
        assert_eq!(x.power(0), Some(Ratio::ONE));
        assert_eq!(x.times(&x).root(), Some(x.absolute()));
        let range = x.range();
        assert!(Ratio::of(&range.lo) <= x && x <= Ratio::of(&range.hi) && (range.is_point() || narrow(&range)));
        for (c, d) in &all {
            let y = ratio(*c, *d);
            assert_eq!(x.plus(&y), ratio(a * d + c * b, b * d));
            assert_eq!(x.minus(&y), ratio(a * d - c * b, b * d));
            assert_eq!(x.times(&y), ratio(a * c, b * d));
            assert_eq!(x.cmp(&y), (a * d * b.signum() * d.signum()).cmp(&(c * b * b.signum() * d.signum())));
            if *c == 0 {
                assert_eq!((x.over(&y), x.modulo(&y)), (None, None));
            } else {
                assert_eq!(x.over(&y), Some(ratio(a * d, b * c)));
                let rest = x.modulo(&y).unwrap();
                assert!(rest >= Ratio::ZERO && rest < y.absolute() && x.minus(&rest).over(&y).unwrap().is_whole());
            }
        }
    }
    assert_eq!((ratio(2, 1).root(), ratio(1, 2).root(), ratio(-4, 1).root()), (None, None, None));
    assert_eq!((ratio(3, 1).place(), ratio(-3, 1).place(), ratio(3, 2).place()), (Some(3), None, None));
    // Long fractions are not computed with, and long powers are not computed at all.
    let long = |k: u32| ratio(2, 1).power(k);
    assert!(long(2047).unwrap().is_short() && !long(2048).unwrap().is_short() && long(2049).is_none());
    assert!(
        ratio(3, 1).power(1293).is_some() && ratio(1, 3).power(4096).is_none() && ratio(1, 1).power(4096).is_some()
    );
}

/// Compares with the same angle, turned back by whole turns: 1000 = 159·2π + 0.973535…
#[test]
fn waves_are_followed_far() {
    begins(&point(1000).wave(0).unwrap(), "0.826879540532");
    begins(&point(1000).wave(1).unwrap(), "0.562379076290");
    begins(&(-&point(1000).wave(0).unwrap()), "-0.826879540533");
    begins(&point(1023).wave(0).unwrap(), "-0.916485372272");
    assert_eq!(point(1024).wave(0), Some(point(-1).hull(&point(1))));
}
