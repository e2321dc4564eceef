//! Activations as ReLUs: `|act(s t)/s - max(t, 0)| ≤ α = distance/s` for every `t`.
//!
//! ```text
//! GELU    x Φ(x), by erf, or ½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))      within 0.171 of max(x, 0)
//! SiLU    x/(1 + exp(-x))                                                  within 0.2785
//! ReLU    itself                                                           0, and s = 1
//! ```
//!
//! The largest distances are 0.16998, 0.17005 and 0.27847 (a test encloses them). `s` is a power of two, in the weights
//! before and behind: nothing is rounded.
//!
//! **Execution.** A computed activation of `x` is within `2^-20 |x|` (f32; f64: `2^-49`) of the function for `|x| < X`;
//! from `x = X` on it is `x`, and up to `-X` it is 0 or not above `2^-80`: `X` is 16 for GELU, 64 for SiLU. So it is off
//! by `2^-16`, or `2^-14`, at most: 0.172 and 0.2786.
//!
//! - GELU by erf and tanh saturates: in `1 + erf`, erf is 1 or -1. Forms by erfc do not need to.
//! - SiLU as `x/(1 + e)` or `x · (1/(1 + e))`, with `e` within `θ = 2^-20` (`2^-49`) of `exp(-x)`: relatively it is off by
//!   `θ σ(-x)` and three roundings, and `σ(x)σ(-x) ≤ ¼`: by `(θ/4 + 4u)|x| < θ |x|`. From 64 on `e < 2^-92` is nothing
//!   beside 1; up to -64 it is above `2^92`, or infinite.
//!
//! `measurements/hosts.md` has what runtimes were seen to do.

use crate::interval::Up;
use crate::network::Precision;

/// An activation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activation {
    /// In the words of `transformers`.
    pub name: &'static str,
    /// `α s`, in digits.
    pub distance: f64,
}

impl Activation {
    /// By erf.
    pub const GELU: Self = Self { name: "gelu", distance: 0.172 };
    /// By tanh.
    pub const GELU_NEW: Self = Self { name: "gelu_new", distance: 0.172 };
    pub const SILU: Self = Self { name: "silu", distance: 0.2786 };
    pub const RELU: Self = Self { name: "relu", distance: 0.0 };

    /// True of a ReLU.
    pub fn is_relu(self) -> bool {
        self.distance == 0.0
    }

    /// `α`, for a scale `s`.
    pub(super) fn off(self, scale: f64) -> Up {
        Up::from(self.distance) / scale
    }

    /// The scales to choose from, as powers of 2.
    pub(super) fn scales(self) -> std::ops::RangeInclusive<i32> {
        if self.is_relu() { 0..=0 } else { 2..=56 }
    }
}

/// The largest number that is given to an activation: its cube, as the form by tanh has it, is a number of the format.
pub(super) fn largest(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 2_f64.powi(40),
        Precision::F64 => 2_f64.powi(320),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;

    /// `max |act(x) - max(x, 0)|`, enclosed. Both functions are odd about it: `act(x) - max(x, 0)` is the same at `x`
    /// and `-x`.
    #[test]
    fn activations_are_near_a_relu_and_no_nearer() {
        let (cells, step) = (1 << 16, 1.0 / 8192.0);
        // By erf: x Φ(-x), Φ(-x) = ½ - ∫₀ˣ φ; φ falls, so that sums from above and below enclose the integral.
        let pi = Interval::new(std::f64::consts::PI, std::f64::consts::PI.next_up()).expect("π");
        let density = |x: f64| {
            let power = (Interval::point(-x * x) * Interval::point(0.5)).exp();
            power.checked_div((Interval::point(2.0) * pi).sqrt().expect("positive")).expect("positive")
        };
        let (mut integral, mut by_erf, mut by_tanh) = (Interval::ZERO, Interval::ZERO, Interval::ZERO);
        let mut silu = Interval::ZERO;
        for cell in 0..cells {
            let (a, b) = (f64::from(cell) * step, f64::from(cell + 1) * step);
            let x = Interval::new(a, b).expect("a cell");
            let part = Interval::hull(density(a), density(b)) * Interval::point(step);
            let within = Interval::hull(integral, integral + part);
            integral = integral + part;
            let value = x * (Interval::point(0.5) - within);
            by_erf = Interval::hull(by_erf, value);
            let inner = x + Interval::point(0.044_715) * x * x * x;
            let twice = Interval::point(2.0)
                * (Interval::point(2.0).checked_div(pi).expect("positive")).sqrt().expect("positive")
                * inner;
            let value = x.checked_div(Interval::ONE + twice.exp()).expect("positive");
            by_tanh = Interval::hull(by_tanh, value);
            let value = x.checked_div(Interval::ONE + x.exp()).expect("positive");
            silu = Interval::hull(silu, value);
        }
        // Beyond 8: x Φ(-x) ≤ φ(x), x/(1 + exp(2y)) ≤ x exp(-1.5 x), and x/(1 + exp(x)) ≤ x exp(-x).
        assert!((0.1699..0.171).contains(&by_erf.hi()), "{by_erf:?}");
        assert!((0.1700..0.171).contains(&by_tanh.hi()), "{by_tanh:?}");
        assert!(by_erf.lo() > -0.171 && by_tanh.lo() > -0.171);
        assert!((0.2784..0.2785).contains(&silu.hi()) && silu.lo() >= 0.0, "{silu:?}");
        assert!(Activation::GELU.off(8.0) >= 0.171 / 8.0 + 2_f64.powi(-16) / 8.0);
        assert!(Activation::SILU.off(8.0) >= 0.2785 / 8.0 + 2_f64.powi(-14) / 8.0);
        assert!(Activation::RELU.off(1.0) == 0.0);
    }
}
