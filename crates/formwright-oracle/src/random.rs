//! Pseudo-random floats and intervals that prefer awkward places.

use formwright::interval::Interval;

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    /// A member of `[0, 1)` with 53 digits.
    #[allow(clippy::cast_precision_loss)] // 53 bits
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `±2ᵉ·1.…` with `e` between the bounds, which may be subnormal; the digits are often few or all ones.
    pub fn float_between(&mut self, lowest: i64, highest: i64) -> f64 {
        let span = u64::try_from(highest - lowest + 1).expect("bounds in order");
        let exponent = lowest + i64::try_from(self.below(span)).expect("a small number");
        let digits = match self.below(6) {
            0 => 0,
            1 => (1 << 52) - 1,
            2 => self.below(4) << 50,
            3 => self.bits() >> 12 & !0xff_ffff,
            _ => self.bits() >> 12,
        };
        let magnitude = if exponent >= -1022 {
            f64::from_bits(u64::try_from(exponent + 1023).expect("an exponent of a float") << 52 | digits)
        } else {
            f64::from_bits((1 << 52 | digits) >> (-1022 - exponent).min(52))
        };
        if self.below(2) == 0 { magnitude } else { -magnitude }
    }

    /// A finite float of any magnitude: zeros, subnormals, huge ones, powers of two, small integers, anything.
    pub fn float(&mut self) -> f64 {
        match self.below(16) {
            0 => 0.0,
            1 => self.float_between(-1074, -1023),
            2 => self.float_between(-1030, -1015),
            3 => self.float_between(-965, -955),
            4 => self.float_between(1015, 1023),
            5 => self.float_between(-545, -475),
            6 => self.float_between(505, 515),
            7 | 8 => self.float_between(-4, 4),
            9 => [f64::MAX, f64::MIN, f64::MIN_POSITIVE, -f64::MIN_POSITIVE][self.index(4)],
            10 => [f64::from_bits(1), -f64::from_bits(1), 1.0, -1.0][self.index(4)],
            11 => f64::from(u16::try_from(self.below(2000)).expect("small")) - 1000.0,
            _ => self.float_between(-1074, 1023),
        }
    }

    pub fn index(&mut self, n: usize) -> usize {
        usize::try_from(self.below(n as u64)).expect("an index")
    }

    /// An interval around `a`: the point, a few floats wide, as wide as `a`, up to any other float, or half a line.
    fn interval_at(&mut self, a: f64) -> Interval {
        let b = match self.below(8) {
            0 | 1 => a,
            2 => (0..=self.below(4)).fold(a, |b, _| b.next_up()),
            3 => a * (1.0 + self.unit()),
            4 => 0.0,
            5 => f64::INFINITY,
            _ => self.float(),
        };
        let b = if self.below(8) == 0 { -b } else { b };
        Interval::new(a.min(b), a.max(b)).expect("two floats in order, the first finite")
    }

    pub fn interval(&mut self) -> Interval {
        if self.below(200) == 0 {
            return Interval::ENTIRE;
        }
        let a = self.float();
        self.interval_at(a)
    }

    pub fn bounded_interval(&mut self) -> Interval {
        loop {
            let interval = self.interval();
            if interval.is_bounded() {
                return interval;
            }
        }
    }

    /// Two intervals, half of the time related: sums that cancel, products and quotients at the edge of underflow or
    /// overflow.
    pub fn pair(&mut self) -> (Interval, Interval) {
        let x = self.interval();
        let e = exponent(x.mid());
        let target = match self.below(12) {
            0 => -1074 - e + self.near(4),
            1 => -960 - e + self.near(3),
            2 => 1023 - e + self.near(3),
            3 => e + 1074 + self.near(4),
            4 => e - 1023 + self.near(3),
            5 => e + self.near(60),
            6 => return (x, -x),
            _ => return (x, self.interval()),
        };
        let b = self.float_between(target.clamp(-1074, 1023), target.clamp(-1074, 1023));
        (x, self.interval_at(b))
    }

    /// A number in `−spread..=spread`.
    fn near(&mut self, spread: i64) -> i64 {
        i64::try_from(self.below(2 * spread.unsigned_abs() + 1)).expect("small") - spread
    }
}

/// `e` of `2ᵉ ≤ |a| < 2ᵉ⁺¹`, and 0 for 0.
fn exponent(a: f64) -> i64 {
    if a == 0.0 {
        return 0;
    }
    let (scaled, shift) = if a.abs() < f64::MIN_POSITIVE { (a * 2_f64.powi(60), 60) } else { (a, 0) };
    i64::try_from(scaled.to_bits() >> 52 & 0x7ff).expect("eleven bits") - 1023 - shift
}
