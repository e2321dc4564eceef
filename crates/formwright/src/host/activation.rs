//! Activations as ReLUs: `|act(s t)/s - max(t, 0)| ≤ α = 0.172/s` for every `t`.
//!
//! GELU is `x Φ(x)`, by erf, or `½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))`. Both are within 0.171 of `max(x, 0)`: the
//! largest distances are 0.16998 and 0.17005 (a test encloses them). `s` is a power of two, in the weights before and
//! behind: nothing is rounded.
//!
//! **Execution.** A computed GELU of `x` is within `2^-20 |x|` (f32; f64: `2^-49`) of one of the two functions; from
//! `x = 16` on it is `x`, and up to `-16` it is 0 or not above `2^-100`. So for `|x| < 16` it is off by `2^-16` at
//! most, and `0.171 + 2^-16 < 0.172`. Forms by erf and tanh saturate: in `1 + erf`, erf is 1 or -1. Forms by erfc do
//! not need to.
//!
//! `measurements/hosts.md` has what runtimes were seen to do.

use crate::interval::Up;

/// `α s`
const DISTANCE: f64 = 0.172;

/// What is given to an activation is not larger than `2^40`: its cube, as the form by tanh has it, is a number of every
/// format.
pub(super) const LARGEST: f64 = 1_099_511_627_776.0;

/// `α`, for a scale `s`.
pub(super) fn distance(scale: f64) -> Up {
    Up::from(DISTANCE) / scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;

    /// `max |act(x) - max(x, 0)|`, enclosed. Both functions are odd about it: `act(x) - max(x, 0)` is the same at `x`
    /// and `-x`.
    #[test]
    fn gelus_are_near_a_relu_and_no_nearer() {
        let (cells, step) = (1 << 16, 1.0 / 8192.0);
        // By erf: x Φ(-x), Φ(-x) = ½ - ∫₀ˣ φ; φ falls, so that sums from above and below enclose the integral.
        let pi = Interval::new(std::f64::consts::PI, std::f64::consts::PI.next_up()).expect("π");
        let density = |x: f64| {
            let power = (Interval::point(-x * x) * Interval::point(0.5)).exp();
            power.checked_div((Interval::point(2.0) * pi).sqrt().expect("positive")).expect("positive")
        };
        let (mut integral, mut by_erf, mut by_tanh) = (Interval::ZERO, Interval::ZERO, Interval::ZERO);
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
        }
        // Beyond 8: x Φ(-x) ≤ φ(x), and x/(1 + exp(2y)) ≤ x exp(-1.5 x).
        assert!((0.1699..0.171).contains(&by_erf.hi()), "{by_erf:?}");
        assert!((0.1700..0.171).contains(&by_tanh.hi()), "{by_tanh:?}");
        assert!(by_erf.lo() > -0.171 && by_tanh.lo() > -0.171);
        assert!(distance(8.0) >= 0.171 / 8.0 + 2_f64.powi(-16) / 8.0);
    }
}
