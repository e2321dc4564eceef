//! How far an execution of a Sumformer's Transformer may be from the Sumformer: at a point, and at every point of a box.
//!
//! Let `z` be the numbers behind a layer as they are over the reals, known to lie in intervals `v`, and `z̃` those of an execution in the model
//! `ieee-any-order`. Errors are carried on *with their signs*, so that matrices are multiplied before absolute values are taken:
//!
//! ```text
//! z̃ - z = A ξ  for some ξ ∈ [-1, 1]^N          so |z̃_i - z_i| ≤ e_i = Σ_j |A_ij|;   N: a column for every number so far
//! ```
//!
//! With `γ_k = ku/(1-ku)` and `η` the least normal number, `λ` being what a number loses where it is computed:
//!
//! ```text
//! input    v = x, or a box       A = diag(λ)            λ = η, and u|v| if x is not one of the format           fl(X)
//! affine   v = W v + b           A = [W A | diag(λ)]    λ = γ_{m+1} (|W| (|v| + e) + |b|) + (m + 1)(3η + η(|v| + e))     m products and a bias
//! ReLU     v = R(v)              A = g A                R(s̃) - R(s) = g (s̃ - s): g = 1 if v - e ≥ 0, and 0 if v + e ≤ 0; else 0 ≤ g ≤ 1,
//!                                                       which is ½(s̃ - s) ± ½e
//! bank     v stays               A = [A | diag(λ)]      λ = γ_2 (|v| + e + 2(|h| + e_h)) + 16η                  h + R(·) - R(h), where h was held before
//! sum      v = Σ_k v_k           A = diag(λ)            λ = Σ_k (e_k + (θ ⊕ u)(|v_k| + e_k) + η) + α            θ, α: Loss in network/attention/loss.rs; n φ is rounded
//! ```
//!
//! *The affine map*: `W z̃ + b + δ - (W z + b) = (W A) ξ + δ` with `|δ| ≤ λ`. All that a number loses before it is read again goes into one column of
//! its own. So does the rounding of `W A`, which is computed in doubles: `γ_m |W| e` over all columns, with their `u`, and less than their `η`.
//!
//! *The sum* begins anew with one column for each of its numbers, since those of all tokens' φ would make the cost quadratic in the tokens: it is
//! `O(L² w³)` a token, of `L` layers of `w` units.
//!
//! *Of `R(s̃) = 0`* the bank loses nothing but what is flushed: `h - h = 0`. A number that is 0 up to flushing, `|z̃| ≤ 64η`, is none of the `m`: a term `t` that joins a
//! partial sum `S` of others costs at most `|t|`, since `S` itself is a number of the format, and all of them together `2 Σ|t|`.
//!
//! `e` is never more than by absolute values alone, `|W| e + λ` and so on, but for rounding in doubles. At a point almost all signs are known, and it is much less.
//!
//! Weights are numbers of the format. The last layers write into registers that hold 0. What is below the normal range may be kept or flushed, weights
//! included; that is what stands beside the `γ`s. Where something might overflow, nothing is known, and the bound is infinite.
//!
//! The Sumformer evaluated as it is written, in the same format and model, does less of the same: the bound is one for it as well, so that the
//! two are never farther apart than twice the bound.

use crate::exact::Rat;
use crate::interval::{Interval, Up};
use crate::lower::realise::Loss;
use crate::network::{Affine, Precision, Realisation, Sumformer, TokenNetwork};
use crate::rounding::compound;

/// A number on the way.
#[derive(Clone, Debug)]
struct Number {
    /// `v`: where its exact value lies.
    exact: Interval,
    /// Its row of `A`, without the columns of its own layer; none if all is 0.
    carried: Vec<f64>,
    /// Its own column's entry.
    own: Up,
    /// `e`: how far the computed one may be from the exact one.
    off: Up,
}

impl Number {
    /// One whose errors begin here.
    fn new(exact: Interval, off: Up) -> Self {
        Self { exact, carried: Vec::new(), own: off, off }
    }

    /// How large the computed number may be.
    fn size(&self) -> Up {
        Up::from(self.exact) + self.off
    }

    /// `Σ_j |A_ij|`.
    fn row_sum(&self) -> Up {
        self.carried.iter().map(|entry| Up::from(*entry)).sum::<Up>() + self.own
    }
}

/// An affine map in doubles, which hold its numbers exactly.
#[derive(Clone, Debug)]
struct Map {
    weight: Vec<Vec<f64>>,
    bias: Vec<f64>,
}

/// Executions of a Sumformer's Transformer, as far as rounding is concerned.
#[derive(Clone, Debug)]
pub(crate) struct Rounding {
    phi: Vec<Map>,
    psi: Vec<Map>,
    tokens: usize,
    loss: Loss,
    format: Units,
}

impl Rounding {
    /// The rounding of the Transformer for so many tokens, with weights of the format.
    pub fn new(sumformer: &Sumformer, tokens: usize, (attention, precision): (&Realisation, Precision)) -> Self {
        let map = |map: &Affine| Map {
            weight: map.weight.iter().map(|row| row.iter().map(Rat::to_f64).collect()).collect(),
            bias: map.bias.iter().map(Rat::to_f64).collect(),
        };
        let maps = |network: &TokenNetwork| network.layers().iter().map(map).collect();
        let loss = Loss::of(attention, tokens, precision);
        let (phi, psi) = (maps(sumformer.phi()), maps(sumformer.psi()));
        Self { phi, psi, tokens, loss, format: Units::of(precision) }
    }

    /// The bound at every point of a box of this side; infinite where nothing is known.
    pub fn on(&self, side: Interval) -> f64 {
        let off = self.format.unit * Up::from(side) + self.format.tiny;
        let dims = self.phi[0].weight[0].len();
        // No token differs from another.
        self.bound(&[(self.tokens, vec![Number::new(side, off); dims])])
    }

    /// The bound at one point, which is first rounded to the format; infinite where nothing is known.
    pub fn at(&self, x: &[Vec<f64>]) -> f64 {
        let number = |x: &f64| {
            let x = self.format.precision.round(*x);
            Number::new(Interval::point_or_entire(x), self.format.tiny)
        };
        let tokens: Vec<_> = x.iter().map(|token| (1, token.iter().map(number).collect())).collect();
        self.bound(&tokens)
    }

    /// The bound for tokens with their counts.
    fn bound(&self, tokens: &[(usize, Vec<Number>)]) -> f64 {
        let phi: Vec<_> = tokens.iter().map(|(count, x)| (*count, self.format.network(&self.phi, x.clone()))).collect();
        let sum = self.format.sum(&phi, &self.loss);
        let outputs = |x: &Vec<Number>| self.format.network(&self.psi, [x.as_slice(), &sum].concat());
        tokens.iter().flat_map(|(_, x)| outputs(x)).map(|output| output.off).fold(Up::ZERO, Up::max).get()
    }
}

/// The arithmetic of a format.
#[derive(Clone, Copy, Debug)]
struct Units {
    precision: Precision,
    /// `u`.
    unit: Up,
    /// `η`.
    tiny: Up,
    /// The limit of computed numbers, far enough from the end of the format for a few sums of them.
    largest: f64,
}

impl Units {
    fn of(precision: Precision) -> Self {
        let [unit, tiny] = [precision.unit(), precision.least_normal()].map(Up::from);
        Self { precision, unit, tiny, largest: precision.largest() / 16.0 }
    }

    /// `size · γ_k`.
    fn rounding(self, k: usize, size: Up) -> Up {
        if size > self.largest { Up::INFINITY } else { self.precision.gamma(k) * size }
    }

    fn network(self, layers: &[Map], mut values: Vec<Number>) -> Vec<Number> {
        for (place, layer) in layers.iter().enumerate() {
            let rows = layer.weight.iter().zip(&layer.bias);
            let new: Vec<Number> = rows.map(|(weights, bias)| self.row(weights, *bias, &values)).collect();
            if place + 1 == layers.len() {
                return new;
            }
            // The first hidden layer finds the bank empty.
            let held = if place == 0 { &[][..] } else { &values };
            values = new.into_iter().enumerate().map(|(k, unit)| self.hold(unit, held.get(k))).collect();
        }
        values
    }

    /// A row of an affine map.
    fn row(self, weights: &[f64], bias: f64, z: &[Number]) -> Number {
        let columns = z.iter().map(|z| z.carried.len()).max().unwrap_or(0);
        let mut carried = vec![0.0; columns + z.len()];
        let (mut exact, mut moved, mut size) = (Interval::point(bias), Up::ZERO, Up::from(bias));
        let (mut terms, mut flushed) = (1, Up::from(3.0));
        for (k, (weight, z)) in weights.iter().zip(z).enumerate().filter(|(_, (weight, _))| **weight != 0.0) {
            let (computed, large) = (z.size(), Up::from(*weight));
            exact = exact + Interval::point(*weight) * z.exact;
            moved += large * z.off;
            size += large * computed;
            flushed += Up::from(3.0) + computed;
            if computed <= 64.0 * self.tiny {
                flushed += 128.0 * large;
            } else {
                terms += 1;
            }
            carried.iter_mut().zip(&z.carried).for_each(|(sum, entry)| *sum += weight * entry);
            carried[columns + k] = weight * z.own.get();
        }
        let lost = self.rounding(terms, size) + flushed * self.tiny;
        let doubles = Precision::F64.gamma(z.len()) * moved + Up::from(f64::MIN_POSITIVE);
        let mut number = Number { exact, carried, own: lost + doubles, off: Up::ZERO };
        number.off = number.row_sum();
        number
    }

    /// A hidden unit, in the place of what the bank held.
    fn hold(self, unit: Number, held: Option<&Number>) -> Number {
        let size = held.map_or(Up::ZERO, |held| unit.size() + 2.0 * held.size());
        let Number { exact: before, mut carried, mut own, off } = unit;
        let (exact, flushed) = (before.relu(), 16.0 * self.tiny);
        if before.hi() <= -off.get() {
            return Number::new(exact, flushed);
        }
        // Halves of what is below the normal range are rounded.
        let lost = self.rounding(2, size) + flushed + Up::from(f64::MIN_POSITIVE);
        if before.lo() < off.get() {
            for entry in &mut carried {
                *entry /= 2.0;
            }
            own = (own + off) / 2.0;
        }
        Number { exact, carried, own: own + lost, off: off + lost }
    }

    /// The uniform sum over all tokens.
    fn sum(self, phi: &[(usize, Vec<Number>)], Loss { relative, absolute }: &Loss) -> Vec<Number> {
        let relative = compound(*relative, self.unit);
        let tokens = Up::from(phi.iter().map(|(count, _)| *count).sum::<usize>());
        let one = |k: usize| {
            let (mut exact, mut off, mut most) = (Interval::ZERO, *absolute, Up::ZERO);
            for (count, phi) in phi.iter().map(|(count, phi)| (*count, &phi[k])) {
                let each = phi.off + relative * phi.size() + self.tiny;
                exact = exact + Interval::from(&Rat::from(count)) * phi.exact;
                off += Up::from(count) * each;
                most = most.max(phi.size());
            }
            Number::new(exact, if tokens * most > self.largest { Up::INFINITY } else { off })
        };
        (0..phi[0].1.len()).map(one).collect()
    }
}
