//! Lemma 9, attention half: softmax at a temperature in the place of hardmax.
//!
//! `W_Q` and `b_Q` are multiplied by `λ`, a power of two, so that the weights stay exact. For a query at distance `q` from its threshold
//! and keys at least `x` apart, the softmax average is off the hardmax value by at most `(n-1) x e^{-λqx}` once `λqx ≥ 1`: it depends on the
//! gaps, not on the size of the ids. On the lattice `q ≥ ½` and `x ≥ x_0 = 1`; with positions tokens have ranges of their own and are
//! `x_0 = 1 + N + … + N^{d-1}` apart.
//!
//! # The drift of an id, in exact arithmetic
//!
//! While no id is off by more than `ρ`, a head is off by `e = (n-1)x e^{-λ(½-ρ)x}`, `x = x_0-2ρ`, at the windows next to the token and by
//! `e^{-λx}` times less at each further one. A token that is not shifted collects `E_0`; one that is shifted takes over `D` times
//! what the largest and the smallest id have lost; the last layer multiplies by its scale:
//!
//! ```text
//! E_0 = 4De / (1 - e^{-λx}),    r_0 = E_0,    r_j = (1+D) E_0 + D r_{j-1} + 2De,    r_n ≤ ρ < 1/5,    λ(½-ρ)x ≥ 1
//! η = r_n + scale · (r_n + e)
//! ```
//!
//! With sparse connections `n-1` is the most that a token sees besides itself: averages are over the keys that are seen, the same for both heads. There the last
//! layer is `s` layers, each with `r ← r + scale · (r + e)`, and `r ≤ ρ` is asked before the last of them. Between them ids stay `x_0` apart: they differ by what they differed by
//! before, modulo the scale, and that is less than half of it.
//!
//! # Which temperature
//!
//! In a format of `μ` binary digits ids must be integers again after every layer, so all that attention may lose is a quarter of the
//! last digit of the largest id: `η ≤ 2^{b-μ-2}` for ids of `b` bits. The temperature is the smallest power of two with that drift for
//! which, besides, every loser of a softmax is absorbed when the average is rounded ([`absorbs`]): then **the float states equal the
//! hardmax states at every lattice point with distinct ids, in any order of summation**. A *saturated* temperature makes every loser's
//! exponential vanish altogether: softmax is hardmax, bit by bit.
//!
//! # Ties
//!
//! Equal columns (Theorem 2 only) have equal ids, and softmax shares its weight between them in floats that need not add up to 1. See
//! [`ties_stay_low`].

use crate::construct::yun::context::{ContextMap, interval};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Interval;
use crate::lower::Temperature;
use crate::network::{Attention, Precision};
use crate::rounding::gamma;

/// The most windows of a sweep that are followed one by one.
const MOST_WINDOWS: usize = 1_000_000;

/// The largest temperature that is tried: beyond, scores overflow.
const MOST: u32 = 16;

/// `λ = 2^exponent` for a map in a format.
pub(crate) fn temperature(map: &ContextMap, precision: Precision, wish: Temperature) -> Result<u32> {
    let saturated = |exponent: u32| {
        // Below this, exp is 0 even where subnormal numbers are kept.
        let vanishes = match precision {
            Precision::F32 => 104,
            Precision::F64 => 746,
        };
        // The smallest exponent on the lattice is λ/2.
        1_u64 << exponent >= 2 * vanishes
    };
    let enough = |exponent: &u32| match wish {
        Temperature::Exponent(asked) => *exponent == asked,
        Temperature::Saturate => saturated(*exponent),
        Temperature::Derived => true,
    };
    let sound = |exponent: &u32| {
        matches!(wish, Temperature::Exponent(_))
            || (drift(map, *exponent) <= share(map, precision) && absorbs(map, precision, *exponent))
    };
    (0..=MOST).find(|exponent| enough(exponent) && sound(exponent)).ok_or_else(|| {
        Error::declined(format!("no temperature up to 2^{MOST} makes softmax follow hardmax closely enough"))
            .note("try", "a coarser ⟨resolution⟩, or ⟨precision=exact⟩")
    })
}

/// The share of an id that attention may lose: a quarter of the last digit of the largest one.
pub(crate) fn share(map: &ContextMap, precision: Precision) -> f64 {
    power_of_two(map.id_bits()) * power_of_two(precision.digits() + 2).recip()
}

/// `2^exponent`, or infinity.
fn power_of_two(exponent: usize) -> f64 {
    i32::try_from(exponent).map_or(f64::INFINITY, |exponent| 2.0_f64.powi(exponent))
}

/// `x_0`: how far apart two ids of a context are at least, before and during the sweep.
fn least_gap(map: &ContextMap) -> Rat {
    if map.is_positional() { map.grid.radix().iter().map(Rat::from).sum() } else { Rat::ONE }
}

/// `η`: how far softmax at `2^exponent` moves an id of a context, in exact arithmetic; infinite if that is not known.
pub(crate) fn drift(map: &ContextMap, exponent: u32) -> f64 {
    let lambda = Interval::point(2.0_f64.powi(exponent.cast_signed()));
    let (n, scale) = (map.grid.tokens(), Interval::from(&Rat::from(&map.sweep.scale)));
    let others = Interval::from(&Rat::from(map.most_others()));
    let global = Interval::from(&Rat::from(&map.global.scale));
    let apart = Interval::from(&least_gap(map));
    let (one, two, half) = (Interval::point(1.0), Interval::point(2.0), Interval::point(0.5));
    let reached = |rho: f64| -> Option<(Interval, Interval)> {
        let rho = Interval::point(rho);
        let gap = apart - two * rho;
        let leak = others * gap * (-(lambda * (half - rho) * gap)).exp();
        let further = one - (-(lambda * gap)).exp();
        let unshifted = (two * two * scale * leak).checked_div(further).ok()?;
        let shifted = |last: Interval| (one + scale) * unshifted + scale * last + two * scale * leak;
        let swept = (0..n).fold(unshifted, |last, _| shifted(last));
        // All but the last of the last layers, whose keys must still be apart.
        Some(((1..map.global.hops()).fold(swept, |last, _| last + global * (last + leak)), leak))
    };
    let room = |rho: Interval| lambda * (half - rho) * (apart - two * rho);
    let mut rho = 0.0;
    for _ in 0..60 {
        // What was reached may be infinite.
        if rho >= 0.2 || room(Interval::point(rho)).lo() < 1.0 {
            break;
        }
        let Some((last, leak)) = reached(rho) else { break };
        if last.hi() <= rho {
            return (last + global * (last + leak)).hi();
        }
        // Whatever is tried next is proved or not; a sixteenth more than was reached converges soon.
        rho = last.hi() * (1.0 + 1.0 / 16.0);
    }
    f64::INFINITY
}

/// The relative error of what a loser adds to a head, times one: the error of its exponential, and the roundings of ids,
/// weights, products and sums, at most `2n + d + 6`.
pub(crate) fn rounded_share(map: &ContextMap, precision: Precision) -> Interval {
    let roundings = 2 * map.grid.tokens() + map.grid.dims() + 6;
    (Interval::ONE + Interval::point(precision.exp_error())) * (Interval::ONE + gamma(roundings, precision))
}

/// True if rounding absorbs what a softmax gives to losers: `2ρ (n-1) x_0 e^{-(λ/2)(x_0 - 2^{2-μ} K)} ≤ 2^{-(μ+2)}`,
/// `K` the largest id that is attended to, `ρ` what rounding may make of 1 ([`rounded_share`]).
///
/// The computed exponent of a loser is below `-(λ/2)(x_0 - 2^{2-μ}K)`, its score's rounding included. The sum of exponentials then rounds to
/// the winner's, 1, as is its reciprocal: the winner's weight is exactly 1, and a loser's its exponential, divided or multiplied. What the losers add to the winner's value `ν ≥ 1` (at most `2e^{-λ/2}ν` each: if the winner is
/// the largest, they are smaller; if it is the smallest, `x e^{-λqx}` falls with the gap `x ≥ 1`) is less than a quarter of its last digit.
/// A smallest id of 0 is attended to by its own token only, in the window 0, where `D` times the largest id absorbs it.
pub(crate) fn absorbs(map: &ContextMap, precision: Precision, exponent: u32) -> bool {
    let digits = precision.digits();
    let largest = Rat::from(map.largest_id()) / Rat::from(&map.global.scale) + Rat::ONE;
    let loss = largest * Rat::from(4) / Rat::from(2).pow(digits);
    let gap = least_gap(map);
    let others = Interval::from(&(Rat::from(2 * map.most_others()) * &gap)) * rounded_share(map, precision);
    let fall = Interval::from(&((gap - loss) * Rat::from(2).pow(exponent as usize) / Rat::from(2)));
    (others * (-fall).exp()).hi() <= 2.0_f64.powi(-i32::try_from(digits + 2).unwrap_or(i32::MAX))
}

/// The layer with queries multiplied by `2^exponent`, to be executed with softmax; heads that are missing to `heads` do nothing.
pub(crate) fn hardmax_to_softmax(layer: &Attention, exponent: u32, heads: usize) -> Attention {
    let lambda = Rat::from(2).pow(exponent as usize);
    let mut lowered = layer.clone();
    for head in &mut lowered.heads {
        head.q.iter_mut().flatten().chain(&mut head.q_bias).for_each(|weight| *weight = &*weight * &lambda);
    }
    if let Some(idle) = lowered.heads.first().cloned() {
        let mut idle = idle;
        let matrices = [&mut idle.q, &mut idle.k, &mut idle.v, &mut idle.o];
        matrices.into_iter().flatten().flatten().chain(&mut idle.q_bias).for_each(|weight| *weight = Rat::ZERO);
        lowered.heads.resize(heads.max(lowered.heads.len()), idle);
    }
    lowered
}

/// True if sequences with equal columns provably end below `t_l - 1`, and the outside-indicator then sends them to
/// exactly 0.
///
/// Tokens that are tied in exact arithmetic may come apart in floats; let `σ` bound how far, and `P` how far any id is off. Keys that are
/// tied up to `σ` share a softmax's weight. The average over them is a function of the query with derivative `λ·Var ≤ λσ²/4`, and
/// the queries of a selective shift's two heads differ by `λ`; besides, rounded scores and exponentials (relative errors `δ` and `θ`) move weight
/// inside of the group. So a pair of heads that should cancel, or should give tied tokens the same, is off by
///
/// ```text
/// h = λσ²/4 + σ(δ + 2θ) + 2·leak + 2g,          g = γ(K + D),    δ = γ_{2d+4} λK(K + D),    K the largest id
/// ```
///
/// and a layer moves tied tokens apart by `2Dh`, whether it shifts them or not. A token that is not shifted collects `E_0 = Σ Dh`; as for
/// the drift, `r_0 = E_0` and `r_j = (1+D) E_0 + D r_{j-1} + 2D(leak + g + σ(δ + 2θ)/2)`, at most `n - 1` times, must stay below `P`.
/// The indicator clears if its own rounding, `16 γ_{d+6} t_l`, is at most ½; the guard's distance always does.
pub(crate) fn ties_stay_low(map: &ContextMap, precision: Precision, exponent: u32, by_distance: bool) -> bool {
    let (n, dims, columns) = (map.grid.tokens(), map.grid.dims(), Rat::from(map.grid.columns()));
    let Some(layers) = map.sweep.count().to_usize().filter(|layers| *layers <= MOST_WINDOWS) else { return false };
    // Lemma 6, category 2.
    let below = &columns - Rat::ONE;
    let largest = if n == 2 { below.clone() } else { columns.pow(n - 1) * &below };
    let exact = |x: Rat| Interval::from(&x);
    let (one, two, half, quarter) = (Interval::ONE, Interval::point(2.0), Interval::point(0.5), Interval::point(0.25));
    let lambda = Interval::point(2.0_f64.powi(exponent.cast_signed()));
    let (k, scale) = (exact(largest.clone()), exact(columns.clone()));
    // What is assumed of P, and checked in the end.
    let p = Interval::point(1.0 / 64.0);
    let theta = Interval::point(precision.exp_error());
    let g = gamma(2 * n + dims + 6, precision) * (k + scale);
    let delta = gamma(2 * dims + 4, precision) * lambda * k * (k + scale);
    let score = one - gamma(4, precision) * (k + scale);
    let leak = exact(Rat::from(n - 1)) * k * (-(lambda * (half - p) * (one - two * p) * score)).exp();
    let shared = delta + two * theta;
    let mut apart = Interval::ZERO;
    let mut unshifted = Interval::ZERO;
    for _ in 0..=layers {
        let h = lambda * apart * apart * quarter + apart * shared + two * leak + two * g;
        unshifted = unshifted + scale * h;
        apart = apart + two * scale * h;
        if apart.hi() >= 0.25 {
            return false;
        }
    }
    let mut off = unshifted;
    for _ in 1..n {
        off = (one + scale) * unshifted + scale * off + two * scale * (leak + g + half * apart * shared);
    }
    let global = exact(Rat::from(&map.global.scale));
    let end = (k + off) * (one + global) + global * (leak + g) + gamma(4, precision) * (one + global) * (k + one);
    // Category 2 reaches (1 + D^{n+1})(D^{n-1}(D-1) - (D-1)²) for n ≥ 3.
    let room = if n == 2 { Rat::ZERO } else { below.pow(2) * (Rat::from(&map.global.scale) + Rat::ONE) };
    let kept = Rat::from(interval(&map.grid).0);
    let clears = exact(Rat::from(16) * &kept) * gamma(dims + 6, precision);
    let low_enough = Rat::from_f64(end.hi()).is_some_and(|end| end - room < kept - Rat::ONE);
    off.hi() <= p.lo() && (by_distance || clears.hi() <= 0.5) && low_enough
}
