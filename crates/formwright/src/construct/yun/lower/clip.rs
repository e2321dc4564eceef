//! The final clip, and how high a network can stand where nothing else is known of it.
//!
//! ```text
//! Z ← Z + max(-Z-B, 0) - max(Z-B, 0)          two rows a layer
//! ```
//!
//! keeps the values, which lie in `[-B, B]`, and brings everything else there: also what leaks through the ramps, where ids take every
//! value between two lattice points.
//!
//! **Twice**: in floats one clip is not enough. Of a huge `y` it may leave anything in `[0, 2B]`, since `y - B` is rounded by up to `B` (`y` itself
//! is a float, and `B` away). From there the second clip is exact, `B ≤ y ≤ 2B` makes `y - B` a float. So behind two clips every entry is in
//! `[-B, B]`, **exactly, for every finite `y`**: all that is left to know is that nothing overflows ([`stays_finite`]).
//!
//! # How large entries become on the ramps
//!
//! * *Quantiser.* Its steps move an entry by their rounding, at most `γ_5(2^{m+1}+2)` of it each, for ramps of `2^-m`: less than 16 times in all.
//! * *Sweep.* A softmax average grows with its query, so a selective shift does not lower an id. A token `1½` above all thresholds gains at most
//!   `D(n-1)/(1½ e λ)` a layer (`x e^{-λqx} ≤ 1/(eλq)`), in all `T`. A token below can be moved, and lands at most at `Θ + D·M`, `Θ` above the
//!   last window and `M` the largest distance between ids; that happens to each of the `n` tokens once, so `M ← Θ + D(M + f) + T`, `n` times,
//!   where ids start above `-f`: flags.
//! * *Last layer.* At most its scale times that is added; with sparse connections, `s` times.
//! * *Outside-indicator.* It subtracts `M + 1` times something between 0 and 1, up to rounding.
//! * *Windows.* A window moves an id in it towards a value. On all others its four units cancel, up to rounding: `κ|w|` times what is there, for a
//!   window that adds `w`, `κ = 16γ_{d+6}`. The product over all windows is at most the exponential of the sum.
//!
//! * *Packed windows.* A block of `K` ids has `2K` units whose weights add up to at most `2c + 4K(N + B)`: the same with `γ_{2K+d+6}`.
//!
//! Rounding in attention is relative; it is checked to be small enough for a factor 2 to cover it.

use crate::construct::yun::context::ContextMap;
use crate::exact::{Int, Rat};
use crate::interval::Interval;
use crate::lower::Format;
use crate::network::Precision;
use crate::rounding::gamma;

/// A bound on every entry of the stream behind the contextual map, for any input of the box; `flag` is the flag's magnitude. Infinite if
/// rounding in attention is not small.
pub(crate) fn reach(
    map: &ContextMap,
    precision: Precision,
    exponent: u32,
    steps: &Int,
    flag: Option<&Rat>,
) -> Interval {
    let exact = |value: Rat| Interval::from(&value);
    let (n, grid, two) = (map.grid.tokens(), &map.grid, Interval::point(2.0));
    let lambda = Rat::from(2).pow(exponent as usize);
    let (scale, layers) = (Rat::from(&map.sweep.scale), Rat::from(map.sweep.count()));
    let roundings = gamma(64 * n, precision) * two * exact(scale.pow(n) * (&layers + Rat::from(map.global.hops())));
    if roundings.hi() > 0.25 {
        return Interval::ENTIRE;
    }
    let last = map.sweep.windows.iter().map(|run| &run.start + &run.count).max().unwrap_or_default();
    // 1/e < 3/8
    let gain = &scale * &Rat::from(n - 1) * Rat::new(3, 8) / (Rat::new(3, 2) * &lambda);
    let drift = exact(layers * gain);
    // A column of entries z has the id z(1 + N + … + N^{d-1}).
    let column = Rat::from(grid.columns() - Int::ONE) / Rat::from(grid.resolution() - 1);
    let coordinate = Rat::from(16) * (Rat::from(steps) + Rat::ONE);
    let flagged = flag.map_or(Rat::ZERO, |flag| flag + Rat::from(grid.resolution())) * Rat::from(2);
    let (high, scale) = (exact(Rat::from(&last) + Rat::from(3)), exact(scale));
    let start = exact(&column * &coordinate);
    let below = exact(&column * &(flagged + coordinate));
    let mut distance = exact((Rat::from(&last) + Rat::from(3)).max(Rat::ZERO)) + start;
    for _ in 0..n {
        distance = high + scale * (distance + below) + drift;
    }
    two * (distance + below) * exact((Rat::ONE + Rat::from(&map.global.scale)).pow(map.global.hops()))
}

/// The most contexts whose ids are added up for a sharper bound.
const MOST_CONTEXTS: u64 = 100_000;

/// Checks that no sum or product overflows, for any input of the box: every entry before the clip, times every weight,
/// is a number of the format.
///
/// `values` bounds the stored values, which are multiplied by `2^rescaled` behind the windows; `drop` is Lemma 7's `M + 1` where there is an
/// outside-indicator.
pub(crate) fn stays_finite(
    map: &ContextMap,
    format: Format,
    exponent: u32,
    reach: Interval,
    values: &Rat,
    rescaled: usize,
    drop: Option<&Rat>,
) -> bool {
    let (dims, grid, precision) = (map.grid.dims(), &map.grid, format.precision);
    let exact = |value: Rat| Interval::from(&value);
    let limit = match precision {
        Precision::F32 => 2.0_f64.powi(120),
        Precision::F64 => 2.0_f64.powi(1000),
    };
    let largest = exact(Rat::from(map.largest_id()));
    let rows = exact(Rat::from(grid.columns()));
    let indicator = Interval::point(40.0) * gamma(dims + 8, precision) * (reach + largest);
    let dropped = exact(drop.cloned().unwrap_or_default()) * rows * (Interval::ONE + indicator);
    let before = reach * rows + dropped;
    let count = Int::from(grid.tokens()) * map.count();
    let together = format.hidden.ids_a_block(&count);
    let windows = exact(Rat::from(&count));
    let side = exact(Rat::from(grid.resolution()) + values) * rows;
    let packed = together > Int::ONE;
    let (weights, units) = if packed {
        let blocks = exact(Rat::from(&count) / Rat::from(&together) + Rat::ONE);
        let ids = exact(Rat::from(&together));
        let weights = blocks * (Interval::point(2.0) * largest + Interval::point(4.0) * ids * side);
        (weights, together.to_usize().and_then(|ids| ids.checked_mul(2)).unwrap_or(1 << precision.digits()))
    } else {
        (windows * (largest + side), 0)
    };
    if units > 1 << (precision.digits() - 8) {
        return false;
    }
    let rate = Interval::point(16.0) * gamma(units + dims + 6, precision);
    let fits = |weights: Interval| {
        let entry = (before + weights * (Interval::ONE + rate * (largest + Interval::ONE))) * (rate * weights).exp();
        let products = [
            Interval::point(16.0) * exact(drop.cloned().unwrap_or_default()) * (reach + largest),
            Interval::point(16.0) * (largest + side) * entry,
            exact(Rat::from(2).pow(rescaled + 2)) * entry,
        ];
        let score = exact(Rat::from(2).pow(exponent as usize)) * reach * reach;
        products.into_iter().chain([score]).all(|product| product.hi() <= limit)
    };
    let is_listed = !packed && (rate * weights).hi() > 1.0 && map.count() <= Int::from(MOST_CONTEXTS);
    if !is_listed || fits(weights) {
        return fits(weights);
    }
    // Most windows add far less than the largest one. The ids need not be listed where even the smallest are too much.
    let ids_of = |sum: Rat| exact(sum) + windows * side;
    fits(ids_of(map.lowest_id() * Rat::from(&count))) && fits(ids_of(map.sum_of_ids()))
}
