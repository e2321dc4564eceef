//! The norm as the identity, up to one factor for all of a token.
//!
//! ```text
//! v = (z, 0, C | -z, 0, -C)                 D = 2·4^k coordinates; the second half mirrors the first; C is the pin
//! LN(v) = γ (v - mean v)/√(var v + eps)     with γ = σ₀ = C √(2/D) everywhere, a power of two, and no bias
//! what is read:  ½(h_p - h_{-p})
//! ```
//!
//! **Execution.** The mean is within `γ_{D+8} √(Σv²/D)`, the variance within `γ_{D+32} Σv²/D`; `eps` added, a root and
//! a quotient, or a reciprocal root within `4u`, and the gain: `γ₈`. Then `(v - m)·r`, or `v·r - m·r`, fused or not:
//! two roundings of `|v| + |m|`, since the product with γ, a power of two, is exact. Sums in any order, of squares of
//! differences or of squares less the mean's, have `D + 3` roundings. One number after the other (Welford) has means
//! on the way that are not 0: with a pin of `C`, an estimated `20u` more of `2C²`, for which the 32 leave room.
//!
//! **Lemma** (pre). With `E ≥ Σ ẑ²`, `O` a bound of a pair's middle `½(v_p + v_{-p})`, `δ = γ_{D+8} √(Σv²/D)`,
//! `M = 2O + δ`:
//!
//! ```text
//! 2C² ≤ D var ≤ 2C² (1 + q),          q = (2E + D O² + D eps)/2C²
//! h = ρ(v - m) + e,                   |ρ - 1| ≤ r = q/2 ⊕ (ν/2 + ν²) ⊕ γ₈,  ν = γ_{D+32} (1 + q) ≤ ¼
//!                                     |e| ≤ γ₂ ρ (|v| + |m|)
//! ½(h_p - h_{-p}) = ρ ẑ_p + ½(e_p - e_{-p}):   m is gone, however large
//!                                     within γ₂ (1 + r) |ẑ_p| + 2γ₂ M of ρ ẑ_p
//! ```
//!
//! `(1 - x)^{-1/2} ≤ 1 + x/2 + x²` for `x ≤ ¼`. The lower bound of the variance are the pins alone.
//!
//! **Lemma** (root mean square). `RN(v) = γ v/√(Σv²/D + eps)` takes no mean away. `Σv²` is within `γ_{D+4}` in any
//! order, relatively, and all the above holds with `δ = 0`, `M = O` and `ν = γ_{D+4}(1 + q)`: `ẑ` and the pair's middle are
//! multiplied by `ρ` alike, so that middles are of no account to who reads half-differences. `e` are the roundings of a
//! product: `γ₂ ρ |v|`.
//!
//! **Lemma** (a quiet sum). Where `q (1 + γ_{D+2}) < u/2` and the stream has no norms, `|ρ - 1| ≤ γ₄`. Squares of pins are
//! `C²`, a power of two, and all others together less than `uC²`, as they are computed too. An addition to a power of
//! two of less than half of the next spacing changes nothing: a sum of squares that has one pin is `C²` in any order,
//! fused or not, and one that has both is `2C²`. So is the mean, `σ₀²` (a quotient by `D`, a power of two), and with `eps`
//! added it still is. Its root, its reciprocal and the gain are powers of two; a reciprocal root may be off by `4u`.
//!
//! **Lemma** (post). The stream is `h`: pins `P` and `-P` now, no longer `C`. In units of the pin, `z̃ = ẑ C/P`, the
//! factor `ρ` is gone:
//!
//! ```text
//! P  within r ⊕ γ₂(1 + 2M/C) of C, relatively, after every norm anew: what one norm takes the next one gives back
//! z̃  after a norm within d|z̃| + a of what it was before:
//!    d = (c + γ₂)(1 + 2c),  c = γ₂ (1 + 2M/C),  a = 2γ₂ M (1 + 2c)
//! O  ≤ 2 (1 + r)^L (L γ₂ (1 + r)(S + M) + A) + (1 + r) δ after L norms
//! ```
//!
//! The last: a norm takes the mean of all middles away and makes new ones, so that middles add up, and those that are
//! alike vanish with the next norm. `S` bounds every coordinate; `A = (L + 1) γ_K X` is how differently sums of up to
//! `K` terms, up to `X` together, may be rounded on both sides. Without a norm behind the layers `O = A`.
//!
//! **Lemma** (hidden tokens). Every position has a register that is `g` there, a power of two, and 0 elsewhere. Query `j` of
//! a head reads it as `-T` at the positions that are not to see token `j`, key `j` reads the register of position `j` as 1.
//! Of a register that is 0, with what `L` norms of the stream leave there, `λ ≤ 2La`, no more is read than
//! `gε = (1 + r)²λ + 2γ₂M + γ_{2n+6}(1 + r)(λ + M)`, in a row of `n`; `g` is read as 1 within 1/16, if
//! `r + 2Ld + 4γ₂ + γ_{2n+6} + nε` is no more. So the scores of tokens that are seen are `(17/16) T nε` at most by what
//! should be queries of 0, and as much by keys of 0: less than `off = 2.5 T n ε` together. Those of the others are at
//! most `off - (15/16)² T`, roundings apart: below `off - ¾T`.

use crate::construct::circuit::analysis::{Hiding, Stream};
use crate::interval::Up;
use crate::network::{Mask, Precision};
use crate::rounding::compound;

/// The number that a norm takes away before it divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The mean (`LayerNorm`).
    Centred,
    /// Nothing: it divides by the root of the mean square (`RMSNorm`).
    Root,
}

impl Kind {
    /// Its action on mirrored registers with a pin.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Centred => {
                "The mean that a norm takes away is the same for both, and is gone. The variance is that of the pin, up \
                 to `Σz²/C²`."
            }
            Self::Root => "The mean square is that of the pin, up to `Σz²/C²`.",
        }
    }
}

/// Where norms stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Before each sub-layer, and at the end: the stream itself is not touched.
    Before,
    /// Behind each sub-layer, and behind the embedding: the stream is what was normed.
    Behind,
    /// Behind the embedding, before each sub-layer but the first, and twice at the end.
    Ends,
}

impl Order {
    /// True if the first layer has no norm before attention.
    pub fn skips_the_first(self) -> bool {
        self == Self::Ends
    }

    /// How many norms the stream itself goes through, of all.
    fn of_stream(self, norms: usize) -> usize {
        match self {
            Self::Before => 0,
            Self::Behind => norms,
            Self::Ends => 2,
        }
    }
}

/// The norms of a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Norm {
    pub kind: Kind,
    pub order: Order,
    /// The number that is added to a variance, or to a mean square.
    pub eps: f64,
}

/// A network in a host, as far as its norms must know it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The format.
    pub precision: Precision,
    /// Its norms.
    pub norm: Norm,
    /// `D`
    pub width: usize,
    /// `L`: how many norms a token goes through.
    pub norms: usize,
    /// `K`: how many terms a sum may have that is written to the stream.
    pub terms: usize,
    /// `E`: the sum of the squares of all registers, at most.
    pub squares: Up,
    /// `X`: the largest number that turns up.
    pub largest: Up,
}

/// The norms of a host, for a pin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Norms {
    /// `M`
    pub middle: Up,
    /// `r ⊕ γ₂(1 + 2M/C)`
    pub relative: Up,
    /// `γ₂`
    pub elementwise: Up,
    /// The stream's loss, where it is normed itself.
    pub stream: Option<Stream>,
}

/// How far a pin may be from where it was: less than 1/256, or nothing is claimed.
const DRIFT: f64 = 1.0 / 256.0;

/// `σ₀ = C √(2/D)` for `D = 2·4^k`: exactly.
pub(super) fn gain(pin: f64, width: usize) -> f64 {
    pin / f64::from(1_u32 << ((width / 2).trailing_zeros() / 2))
}

/// The largest pin, as a power of 2: its square, and sums of squares, stay far from the end of the format.
pub(super) fn largest_pin(precision: Precision) -> i32 {
    match precision {
        Precision::F32 => 47,
        Precision::F64 => 400,
    }
}

/// `T`: the power of two for which `n exp(-¾T)` is next to nothing.
pub(super) fn hiding_score(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 32.0,
        Precision::F64 => 64.0,
    }
}

impl Known {
    /// The norms with a pin; `None` if it is too small, or too large.
    pub fn norms(&self, pin: f64) -> Option<Norms> {
        let (mut middle, mut factor) = (Up::ZERO, Up::ZERO);
        for _ in 0..8 {
            (middle, factor) = self.next(pin, middle, factor);
        }
        // A little more, of which what it leads to is no more: then it is a bound, norm after norm.
        let (middle, factor) = (1.0625 * middle, 1.0625 * factor);
        let (m, r) = self.next(pin, middle, factor);
        let gamma = self.precision.gamma(2);
        let once = gamma * (Up::ONE + 2.0 * middle / pin);
        let relative = compound(factor, once);
        if !(m <= middle && r <= factor && relative <= DRIFT) {
            return None;
        }
        let stretch = Up::ONE + 2.0 * once;
        let (d, a) = ((once + gamma) * stretch, 2.0 * (gamma * middle) * stretch);
        let order = self.norm.order;
        let stream = Stream { relative: d, absolute: a, ends: order == Order::Ends };
        let stream = (order != Order::Before).then_some(stream);
        Some(Norms { middle, relative, elementwise: gamma, stream })
    }

    /// `M` and `r`, if they are no more than these.
    fn next(&self, pin: f64, middle: Up, factor: Up) -> (Up, Up) {
        let (precision, width) = (self.precision, Up::from(self.width));
        let of_stream = self.norm.order.of_stream(self.norms);
        let more = if of_stream > 0 { Up::from(1.0 + 2.0 * DRIFT) } else { Up::ONE };
        let (most, least) = (more * Up::from(pin), if of_stream > 0 { pin * (1.0 - DRIFT) } else { pin });
        let (squares, largest) = (more * more * self.squares, more * self.largest);
        let grown = Up::ONE + factor;
        let apart = Up::from(self.norms + 1) * precision.gamma(self.terms) * largest;
        let off = |square: Up| match self.norm.kind {
            Kind::Centred => {
                precision.gamma(self.width + 8) * (2.0 * (most * most + squares) + square).sqrt() / self.root()
            }
            Kind::Root => Up::ZERO,
        };
        let offset = if of_stream > 0 {
            let powers = (0..of_stream).fold(Up::ONE, |power, _| power * grown);
            let size = most + squares.sqrt();
            let each = precision.gamma(2) * grown * (size + middle);
            2.0 * (powers * (Up::from(of_stream) * each + apart)) + grown * off(width * middle * middle)
        } else {
            apart
        };
        let all = width * offset * offset;
        // What is flushed is less than a unit in the last place of this.
        let tiny = Up::from(gain(pin, self.width)) * precision.flushed(8) / precision.unit();
        let q = (2.0 * squares + all + width * Up::from(self.norm.eps)) / (2.0 * least * least).next_down();
        let roundings = self.width + if self.norm.kind == Kind::Centred { 32 } else { 4 };
        let variance = precision.gamma(roundings) * (Up::ONE + q);
        let root = if variance <= 0.25 { 0.5 * variance + variance * variance } else { Up::INFINITY };
        let quiet = q * (Up::ONE + precision.gamma(self.width + 2)) < 0.5 * precision.unit();
        let factor = if quiet && self.norm.kind == Kind::Root && of_stream == 0 {
            precision.gamma(4)
        } else {
            compound(compound(0.5 * q, root), precision.gamma(8))
        };
        let middles = if self.norm.kind == Kind::Centred { 2.0 * offset + off(all) } else { offset };
        (middles + tiny, factor)
    }

    /// How heads hide tokens that their class shows.
    pub fn hiding(&self, norms: &Norms, (shown, flag): (Mask, f64), tokens: usize, terms: usize) -> Hiding {
        let (precision, middle, grown) = (self.precision, norms.middle, Up::ONE + norms.relative);
        let often = Up::from(2 * self.norm.order.of_stream(self.norms));
        let (left, drift) = norms.stream.map_or((Up::ZERO, Up::ZERO), |s| (often * s.absolute, often * s.relative));
        let gamma = precision.gamma(2 * tokens + 6);
        let noise = grown * grown * left + 2.0 * (norms.elementwise * middle) + gamma * grown * (left + middle);
        let all = Up::from(tokens) * noise / flag;
        let one = norms.relative + drift + 4.0 * norms.elementwise + gamma + all;
        let score = hiding_score(precision);
        let off = if one <= 0.0625 { 2.5 * (score * all) } else { Up::INFINITY };
        Hiding { shown, off, gap: 0.75 * score, terms }
    }

    /// `√D` from below.
    fn root(&self) -> f64 {
        f64::from(u32::try_from(self.width).unwrap_or(0)).sqrt().next_down()
    }

    /// The cost of the norms to a network, roughly: the number that a pin is chosen by, and nothing that is claimed.
    fn cost(&self, norms: &Norms) -> f64 {
        let size = self.squares.sqrt();
        let reading = norms.relative * size + 4.0 * (norms.elementwise * norms.middle);
        let often = Up::from(self.norm.order.of_stream(self.norms));
        let drift = norms.stream.map_or(Up::ZERO, |stream| often * (stream.relative * size + stream.absolute));
        (reading + drift).get()
    }

    /// The power of two that costs least, the smallest of those that cost the same within 1/64; with what it does.
    pub fn pin(&self) -> Option<(f64, Norms)> {
        let tries =
            (-24..=largest_pin(self.precision)).map(|k| 2_f64.powi(k)).filter_map(|pin| Some((pin, self.norms(pin)?)));
        let tries: Vec<(f64, Norms, f64)> = tries.map(|(pin, norms)| (pin, norms, self.cost(&norms))).collect();
        let least = tries.iter().map(|(.., cost)| *cost).fold(f64::INFINITY, f64::min);
        tries.into_iter().find(|(.., cost)| *cost <= least * (65.0 / 64.0)).map(|(pin, norms, _)| (pin, norms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, uniform};

    fn known(kind: Kind, order: Order, width: usize, precision: Precision) -> Known {
        let (squares, largest) = (Up::from(9.0), Up::from(16.0));
        let norm = Norm { kind, order, eps: 1e-5 };
        Known { precision, norm, width, norms: 9, terms: 100, squares, largest }
    }

    #[test]
    fn a_pin_that_is_too_small_is_refused_and_the_chosen_one_costs_least() {
        for (kind, order, width) in [
            (Kind::Centred, Order::Before, 8),
            (Kind::Centred, Order::Behind, 8),
            (Kind::Centred, Order::Behind, 128),
            (Kind::Centred, Order::Ends, 32),
            (Kind::Root, Order::Before, 32),
        ] {
            for precision in [Precision::F32, Precision::F64] {
                let known = known(kind, order, width, precision);
                assert!(known.norms(1.0).is_none(), "a pin below what it holds");
                let (pin, norms) = known.pin().expect("a pin");
                let cost = |pin: f64| known.norms(pin).map_or(f64::INFINITY, |norms| known.cost(&norms));
                assert!((-20..=20).all(|k| cost(pin) <= 1.016 * cost(pin * 2_f64.powi(k))), "{width} {precision}");
                // The roundings of the variance, ten more, and what the pin is chosen to balance; or six, where the
                // pins' squares are all that is left of a sum.
                let units = norms.relative.get() / precision.unit();
                let centred = f64::from(u32::try_from(width).expect("small")) / 2.0 + 26.0;
                let roundings = if kind == Kind::Centred { centred } else { 6.0 };
                assert!((roundings..1.25 * roundings).contains(&units), "{units} units for {width}");
                assert_eq!(norms.stream.is_some(), order != Order::Before);
            }
        }
    }

    /// Sums of squares in random orders, fused or not, of pins and of numbers that are as large as is allowed beside
    /// them; and next to four times as many, where this is no longer so.
    #[test]
    fn a_sum_of_squares_is_that_of_the_pins_where_the_others_are_small() {
        let mut seed = 11;
        let pin = 1024.0_f32;
        for width in [8_usize, 32, 128] {
            let all = f64::from(pin) * f64::from(pin) * Precision::F32.unit();
            let mut changed = 0;
            for (trial, large) in (0..600).map(|trial| (trial, trial % 2 == 1)) {
                // All of the sum in a few of them, or in all alike.
                let some = if trial % 3 == 0 { 2 } else { width - 2 };
                let total = all * if large { 4.0 } else { 0.999 };
                let each = (total / f64::from(u32::try_from(some).expect("small"))).sqrt();
                let mut terms: Vec<f64> = (0..width - 2).map(|at| if at < some { each } else { 0.0 }).collect();
                terms.extend([f64::from(pin), -f64::from(pin)]);
                let mut sums: Vec<f64> = Vec::new();
                let round = |x: f64| Precision::F32.round(x);
                for term in terms {
                    let (term, fused) = (round(term), uniform(&mut seed) < 0.5);
                    // Into a sum that is there, fused or not, or a new one.
                    match below(&mut seed, sums.len() + 1) {
                        at if at < sums.len() && fused => sums[at] = Precision::F32.fused(term, term, sums[at]),
                        at if at < sums.len() => sums[at] = round(sums[at] + round(term * term)),
                        _ => sums.push(round(term * term)),
                    }
                }
                while sums.len() > 1 {
                    let (a, b) = (below(&mut seed, sums.len()), below(&mut seed, sums.len()));
                    if a != b {
                        sums[a.min(b)] = round(sums[a] + sums[b]);
                        sums.swap_remove(a.max(b));
                    }
                }
                let exact = sums[0].to_bits() == f64::from(2.0 * pin * pin).to_bits();
                assert!(exact || large, "{width}: {}", sums[0]);
                changed += usize::from(!exact);
            }
            assert!(changed > 0, "{width}: where more is allowed, a sum changes");
        }
        // So much is what the lemma asks for.
        let small = Known { squares: Up::from(1e-3), ..known(Kind::Root, Order::Before, 8, Precision::F32) };
        let relative = |pin: f64| small.norms(pin).expect("norms").relative.get() / Precision::F32.unit();
        assert!(relative(4096.0) < 7.0 && relative(64.0) > 14.0, "{} {}", relative(4096.0), relative(64.0));
    }

    #[test]
    fn gains_are_exact() {
        for (width, root) in [(2, 1.0), (8, 2.0), (32, 4.0), (128, 8.0)] {
            assert_eq!((gain(4096.0, width) * root).to_bits(), 4096.0_f64.to_bits(), "{width}");
        }
    }

    /// Norms in single precision, by two passes, by Welford, and without a mean, of streams whose middles are not 0.
    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "single precision is what is asked for")]
    fn half_differences_behind_a_norm_are_what_they_were() {
        let mut seed = 7;
        for (kind, width) in [8, 32, 128].into_iter().flat_map(|width| [(Kind::Centred, width), (Kind::Root, width)]) {
            let known = known(kind, Order::Before, width, Precision::F32);
            // A pin that is small enough for its loss to be seen.
            let pin = known.pin().expect("a pin").0 / 16.0;
            let norms = known.norms(pin).expect("norms");
            let (half, gain) = (width / 2, gain(pin, width) as f32);
            let (relative, absolute) = (norms.relative.get(), 2.0 * (norms.elementwise * norms.middle).get());
            let most = (9.0 / f64::from(u32::try_from(half).expect("small"))).sqrt();
            let mut worst = 0.0_f64;
            for trial in 0..400 {
                let mut v = vec![0.0_f32; width];
                for p in 0..half - 1 {
                    let z = most * (2.0 * uniform(&mut seed) - 1.0);
                    // The other half may be rounded differently.
                    (v[p], v[half + p]) = (z as f32, -(z as f32).next_up());
                }
                (v[half - 1], v[width - 1]) = (pin as f32, -pin as f32);
                let (mean, variance) = moments(kind, trial % 2 == 0, &v);
                let factor = 1.0 / (variance + 1e-5).sqrt();
                let shift = -mean * factor;
                let h: Vec<f64> = v.iter().map(|x| f64::from((x * factor + shift) * gain)).collect();
                for p in 0..half {
                    let read = |h: &dyn Fn(usize) -> f64| (h(p) - h(half + p)) / 2.0;
                    let (before, after) = (read(&|i| f64::from(v[i])), read(&|i| h[i]));
                    let allowed = relative * before.abs() + absolute;
                    assert!((after - before).abs() <= allowed, "{width}: {before} {after}");
                    worst = worst.max((after - before).abs() / allowed);
                }
            }
            assert!(worst > 1e-3, "{width}: the bound is not that far: {worst}");
        }
    }

    /// The mean and the variance, in single precision.
    #[expect(clippy::cast_precision_loss, reason = "single precision is what is asked for")]
    fn moments(kind: Kind, welford: bool, v: &[f32]) -> (f32, f32) {
        let width = v.len() as f32;
        if kind == Kind::Root {
            return (0.0, v.iter().map(|x| x * x).sum::<f32>() / width);
        }
        if welford {
            let (mut mean, mut sum) = (0.0_f32, 0.0_f32);
            for (k, x) in v.iter().enumerate() {
                let delta = x - mean;
                mean += delta / (k as f32 + 1.0);
                sum += delta * (x - mean);
            }
            return (mean, sum / width);
        }
        let mean = v.iter().sum::<f32>() / width;
        (mean, v.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / width)
    }
}
