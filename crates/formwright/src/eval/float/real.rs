//! The arithmetic of a format. `exp` is `core-math`'s, which rounds correctly.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// `f32` or `f64`.
pub(crate) trait Real:
    Copy
    + fmt::Debug
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    const ZERO: Self;
    const LEAST: Self;
    /// The exponential of any number below this rounds to 0: it is less than half of the least number.
    const DEEP: Self;
    /// The nearest number of the format.
    fn nearest(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn exp(self) -> Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const LEAST: Self = Self::NEG_INFINITY;
    // ln 2^-150 = -103.97…
    const DEEP: Self = -104.0;
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
    fn nearest(x: f64) -> Self {
        x as Self
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    fn exp(self) -> Self {
        core_math::expf(self)
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const LEAST: Self = Self::NEG_INFINITY;
    // ln 2^-1075 = -745.13…
    const DEEP: Self = -746.0;
    fn nearest(x: f64) -> Self {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn exp(self) -> Self {
        core_math::exp(self)
    }
}

/// The entries of a tensor in the format; they are numbers of it already.
pub(crate) fn numbers<T: Real>(entries: &[f64]) -> Vec<T> {
    entries.iter().map(|entry| T::nearest(*entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_that_are_not_computed_are_what_would_be_computed() {
        assert!(f32::DEEP.exp().to_bits() == 0 && f64::DEEP.exp().to_bits() == 0);
        assert!((-103.9_f32).exp() > 0.0 && (-745.1_f64).exp() > 0.0);
    }
}
