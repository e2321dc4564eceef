//! The rounding of the execution model `ieee-any-order`, in numbers: the one place that has them.
//!
//! ```text
//! u = 2^-p                     a result is within u of the exact one, relatively
//! γ_k = ku/(1 - ku)            k roundings, one after the other, or of a sum of k + 1 terms in any order
//! η                            the least normal number: what is below it may be flushed to 0
//! exp                          within 2^-20 (f32), 2^-49 (f64), relatively, and exp(0) = 1
//! a ⊕ b = a + b + ab           one relative error after another: (1 + a)(1 + b) - 1
//! ```

use std::fmt;

use crate::interval::{Interval, Up};

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Precision {
    /// The binary digits `p` of a significand.
    pub fn digits(self) -> usize {
        match self {
            Self::F32 => 24,
            Self::F64 => 53,
        }
    }

    /// The largest number of the format.
    pub fn largest(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::MAX),
            Self::F64 => f64::MAX,
        }
    }

    /// `η`, the least normal number of the format.
    pub fn least_normal(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::MIN_POSITIVE),
            Self::F64 => f64::MIN_POSITIVE,
        }
    }

    /// The bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// `x` rounded to the format, to nearest.
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
    pub fn round(self, x: f64) -> f64 {
        match self {
            Self::F32 => f64::from(x as f32),
            Self::F64 => x,
        }
    }

    /// `a b + c`, rounded once, of numbers of the format.
    #[expect(clippy::cast_possible_truncation, reason = "they are numbers of the format")]
    pub(crate) fn fused(self, a: f64, b: f64, c: f64) -> f64 {
        match self {
            Self::F32 => f64::from((a as f32).mul_add(b as f32, c as f32)),
            Self::F64 => a.mul_add(b, c),
        }
    }

    /// The next number of the format above one of it.
    #[expect(clippy::cast_possible_truncation, reason = "it is a number of the format")]
    pub fn next_up(self, x: f64) -> f64 {
        match self {
            Self::F32 => f64::from((x as f32).next_up()),
            Self::F64 => x.next_up(),
        }
    }

    /// `u`, the unit roundoff.
    pub fn unit(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::EPSILON) / 2.0,
            Self::F64 => f64::EPSILON / 2.0,
        }
    }

    /// `γ_k`; infinite from `ku = 1` on.
    pub fn gamma(self, k: usize) -> Up {
        // Below 1, multiples of u are doubles: neither ku nor 1 - ku is rounded.
        let ku = Up::from(k) * Up::from(self.unit());
        ku / (1.0 - ku.get())
    }

    /// The relative error of an `exp`.
    pub fn exp_error(self) -> f64 {
        match self {
            Self::F32 => 2_f64.powi(-20),
            Self::F64 => 2_f64.powi(-49),
        }
    }

    /// The relative error of a quotient of two, or of sums of them: `(1 + e)/(1 - e) - 1 = 2e/(1 - e)`.
    pub fn exp_quotient_error(self) -> Up {
        let error = self.exp_error();
        Up::from(2.0 * error) / (1.0 - error)
    }

    /// `kη`: what flushing may take from `k` numbers.
    pub fn flushed(self, k: usize) -> Up {
        Up::from(k) * Up::from(self.least_normal())
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `a ⊕ b`.
pub(crate) fn compound(a: Up, b: Up) -> Up {
    a + b + a * b
}

/// `γ_k` in sums and products of intervals: a number from 0 to the bound.
pub(crate) fn gamma(k: usize, precision: Precision) -> Interval {
    precision.gamma(k).into()
}

/// Terms of a sum: what is flushed on the way through a layer is counted as so many numbers.
pub(crate) const TERMS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Rat;

    const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];

    #[test]
    fn gamma_is_the_fraction_rounded_up() {
        for precision in BOTH {
            let most = 1_usize << precision.digits();
            for k in [0, 1, 2, 3, 7, 1000, 65_536, 1_000_003, most / 2, most - 1] {
                let u = Rat::from(k) / Rat::from(most);
                let exact = &u / &(Rat::ONE - u.clone());
                assert_eq!(precision.gamma(k), Up::from(&exact), "{precision} {k}");
            }
            assert_eq!(precision.gamma(most), Up::INFINITY);
            assert_eq!(precision.gamma(usize::MAX), Up::INFINITY);
        }
    }

    #[test]
    fn a_unit_is_half_the_distance_of_the_numbers_above_one() {
        for precision in BOTH {
            let unit = precision.unit();
            assert_eq!(Rat::from_f64(unit), Some(Rat::ONE / Rat::from(1_u64 << precision.digits())));
            // Half way between two numbers the even one is taken; a little farther, the next.
            let next = 1.0 + 2.0 * unit;
            assert!(precision.round(1.0 + unit).to_bits() == 1.0_f64.to_bits(), "{precision}");
            assert!(precision.round(next).to_bits() == next.to_bits(), "{precision}");
        }
    }

    #[test]
    fn quotients_of_exps_and_errors_of_errors_are_bounded() {
        for precision in BOTH {
            let error = Rat::from_f64(precision.exp_error()).expect("a number");
            let worst = (Rat::ONE + error.clone()) / (Rat::ONE - error) - Rat::ONE;
            assert!(Rat::from_f64(precision.exp_quotient_error().get()).expect("finite") >= worst);
        }
        assert_eq!(compound(Up::from(0.5), Up::from(0.25)), 0.875);
        assert_eq!(Precision::F32.flushed(TERMS), 2_f64.powi(-110));
    }
}
