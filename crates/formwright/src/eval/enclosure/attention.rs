//! Attention of every kind, in every execution.
//!
//! ```text
//! softmax    d_k = s_k - max s is off by u|d_k|, and e^d by ε: both as if the score were moved. A score that is the largest for certain is not: exp(0) = 1.
//!            With w_k = e^{s_k ± (u|d_k| + ε/(1-ε))}, since weights grow with their own score and fall with the others,
//!              p_k  from  w_k⁻ / (w_k⁻ + Σ_{j≠k} w_j⁺)  to  w_k⁺ / (w_k⁺ + Σ_{j≠k} w_j⁻),   times 1 ± γ_{n+2},   ± 4η
//!            for n - 1 additions and a quotient, or a product with the reciprocal. Where the others are less than u together, the sum is that
//!            of the largest alone, 1, and every weight is its exponential. Where all scores are the same number, every weight is 1/n, rounded.
//! average    Σ p_k v_k = c Σ p_k + Σ p_k (v_k - c) for any c; Σ p_k = 1 ± γ_{n+2}. Where it is not known which of two scores is the larger, weights are wide,
//!            but their values mostly lie together, around c: the value of the largest score.
//! mean       divided by n, or multiplied by 1/n, rounded: γ_2; exact if n is a power of two
//! features   a = exp(t - s/2): t - s/2 is off by u|t - s/2|, its exponential by ε. Divided by the number k of features, or multiplied by 1/k,
//!            rounded, on the side of the queries; or by k^{-1/2}, rounded, on both: γ_4 there, and γ_2 on the side of the keys
//! ```

use std::ops::Range;

use super::sum::{Sum, ball, count, over};
use super::{Executions, State};
use crate::interval::Interval;
use crate::network::AttentionRun;
use crate::network::attention::{AttentionKind, Look, Step};

impl Executions<'_> {
    pub(super) fn attention(&self, run: &AttentionRun, block: usize, z: &mut State) {
        let (width, size) = (z[0].len(), run.value_size);
        let mut sums: Vec<Vec<Sum>> = vec![vec![self.sum(); width]; z.len()];
        for head in 0..run.heads {
            let found = self.head(run, (block, head), z);
            let first = (block * run.heads + head) * width;
            for (sums, found) in sums.iter_mut().zip(&found) {
                for (row, sum) in (first..).zip(sums) {
                    run.o[row * size..][..size].iter().zip(found).for_each(|(o, found)| sum.weighted(*o, *found));
                }
            }
        }
        for (z, mut sum) in z.iter_mut().flatten().zip(sums.into_iter().flatten()) {
            sum.term(*z);
            *z = sum.total();
        }
    }

    /// The output of a head of a block for each token, `[tokens][value_size]`.
    fn head(&self, run: &AttentionRun, (block, head): (usize, usize), z: &State) -> State {
        let of_all = block * run.heads + head;
        let rows = |matrix: &[f64], size: usize, bias: &[f64]| -> State {
            let row = |z: &[Interval], row: usize| {
                let sum = self.row(matrix, row, z);
                bias.get(row).map_or(sum, |bias| sum.plus(*bias)).total()
            };
            z.iter().map(|z| (of_all * size..(of_all + 1) * size).map(|r| row(z, r)).collect()).collect()
        };
        let values = rows(&run.v, run.value_size, &[]);
        let scored = || (rows(&run.q, run.head_size, &run.q_bias), rows(&run.k, run.head_size, &[]));
        // What may be no number reaches every token: a key that is hidden may have a weight of 0, and 0 times it is
        // no number.
        let unknown = |numbers: &State| numbers.iter().flatten().any(|number| !number.is_bounded());
        let nothing = || vec![vec![Interval::ENTIRE; run.value_size]; z.len()];
        if unknown(&values) {
            return nothing();
        }
        let AttentionKind { formula, size, tensors } = &run.kind;
        let tensor = |name: &str| &tensors[formula.tensor(name)][..];
        let (queries, keys) =
            if formula.has_scores() { scored() } else { (vec![Vec::new(); z.len()], vec![Vec::new(); z.len()]) };
        if formula.sees_tokens() && unknown(&keys) {
            return nothing();
        }
        let features = |w: &str, x: &[Interval]| self.features(&tensor(w)[of_all * size * x.len()..], *size, x);
        let mut rows = vec![keys, values];
        for step in formula.steps {
            rows.push(match *step {
                Step::Mixed { of, by } => self.mixed(tensor(by), of_all * size..(of_all + 1) * size, &rows[of.0]),
                Step::Features { of, by } => rows[of.0].iter().map(|key| features(by, key)).collect(),
                Step::Products { features, of } => self.products(*size, &rows[features.0], &rows[of.0]),
                Step::Mean { of } => vec![self.mean(&rows[of.0])],
            });
        }
        let seen = |i: usize| -> Vec<usize> {
            let masked = || run.masks[head].keys(i, z.len()).positions().collect();
            run.connections_of(block).map_or_else(masked, |connections| connections.keys(i).to_vec())
        };
        let found = |(i, query): (usize, &Vec<Interval>)| match formula.look {
            Look::Softmax { keys, values } => {
                let (keys, values) = (&rows[keys.0], &rows[values.0]);
                let seen = if formula.sees_tokens() { seen(i) } else { (0..*size).collect() };
                self.attend(query, seen.into_iter().map(|j| (&keys[j], &values[j])))
            }
            Look::Features { by, values } => self.share(&features(by, query), &rows[values.0]),
            Look::Row { of } => rows[of.0][if *size > 1 { i } else { 0 }].clone(),
        };
        queries.iter().enumerate().map(found).collect()
    }

    /// Mixtures of what the tokens have, by some rows of a tensor.
    fn mixed(&self, tensor: &[f64], rows: Range<usize>, x: &State) -> State {
        let columns: State = (0..x[0].len()).map(|c| x.iter().map(|x| x[c]).collect()).collect();
        rows.map(|row| columns.iter().map(|x| self.row(tensor, row, x).total()).collect()).collect()
    }

    /// The mean of values.
    fn mean(&self, values: &State) -> Vec<Interval> {
        let sum = |c: usize| {
            let mut sum = self.sum();
            for value in values {
                sum.term(value[c]);
            }
            sum.total()
        };
        let n = values.len();
        let mean = |sum: Interval| {
            let mean = over(sum, count(n));
            let exact = n.is_power_of_two() && (mean == Interval::ZERO || mean.mig() >= self.format.tiny);
            if exact { mean } else { self.off(mean, 2) }
        };
        (0..values[0].len()).map(|c| mean(sum(c))).collect()
    }

    /// A number after a few roundings.
    fn off(&self, x: Interval, roundings: usize) -> Interval {
        x + ball((self.format.gamma(roundings) * x.abs() + count(roundings) * Interval::point(self.format.tiny)).hi())
    }

    fn dot(&self, x: &[Interval], y: &[Interval]) -> Interval {
        let mut sum = self.sum();
        x.iter().zip(y).for_each(|(x, y)| sum.product(*x, *y));
        sum.total()
    }

    /// The average of values, by the softmax of the products of their keys with the query.
    fn attend<'k>(
        &self,
        query: &[Interval],
        seen: impl Iterator<Item = (&'k Vec<Interval>, &'k Vec<Interval>)>,
    ) -> Vec<Interval> {
        let (scores, values): (Vec<Interval>, Vec<&Vec<Interval>>) =
            seen.map(|(key, value)| (self.dot(query, key), value)).unzip();
        let best = largest(&scores);
        if scores.iter().any(|score| !score.is_bounded()) {
            return vec![Interval::ENTIRE; values[best].len()];
        }
        let (weights, total) = self.softmax(&scores);
        let average = |c: usize| {
            let column = || weights.iter().zip(values.iter().map(|value| value[c]));
            let mut sum = self.sum();
            column().for_each(|(p, v)| sum.product(*p, v));
            let plain = sum.total();
            if plain.width() == 0.0 || !plain.is_bounded() {
                return plain;
            }
            let centre = Interval::point(values[best][c].mid());
            let around = column().fold(centre * total, |sum, (p, v)| sum + *p * (v - centre));
            let farthest = column().fold(Interval::ZERO, |most, (_, v)| most.max(v.abs()));
            plain.intersect(around + sum.rounding(total * farthest)).unwrap_or(plain)
        };
        (0..values[best].len()).map(average).collect()
    }

    /// The weights of scores, and what they add up to.
    fn softmax(&self, scores: &[Interval]) -> (Vec<Interval>, Interval) {
        let (format, n, best) = (self.format, scores.len(), largest(scores));
        let top = scores.iter().copied().fold(scores[best], Interval::max);
        if top.width() == 0.0 && scores.iter().all(|score| *score == top) {
            let weight = Interval::point(self.network.precision.round(1.0 / count(n).hi()));
            return (vec![weight; n], weight * count(n));
        }
        let certain = (0..n).all(|k| k == best || scores[k].certainly_le(scores[best]));
        let power = |k: usize| {
            // Farther down all is flushed.
            let apart = (top - scores[k]).mag().min(format.depth);
            let moved = Interval::point(format.unit) * Interval::point(apart) + Interval::point(format.slip);
            let largest = apart == 0.0 || certain && k == best;
            let moved = if largest { Interval::ZERO } else { ball(moved.hi()) };
            (scores[k] + moved - Interval::point(scores[best].mid())).exp()
        };
        let powers: Vec<Interval> = (0..n).map(power).collect();
        let flushed = |times: usize| count(times) * Interval::point(format.tiny);
        let steps = Interval::ONE + ball((format.gamma(n + 2) + flushed(4 * n)).hi());
        let low = powers.iter().fold(Interval::ZERO, |sum, power| sum + Interval::point_or_entire(power.lo()));
        let high = powers.iter().fold(Interval::ZERO, |sum, power| sum + Interval::point_or_entire(power.hi()));
        if certain {
            let weight = |k: usize| (over(powers[k], powers[best]) + ball(flushed(2).hi())).relu();
            let mut weights: Vec<Interval> = (0..n).map(weight).collect();
            let others = (0..n).filter(|k| *k != best).fold(Interval::ZERO, |sum, k| sum + weights[k]);
            if (others * steps).hi() < format.unit {
                weights[best] = Interval::ONE;
                return (weights, Interval::ONE + others);
            }
        }
        let weight = |k: usize| {
            let (least, most) = (Interval::point_or_entire(powers[k].lo()), Interval::point_or_entire(powers[k].hi()));
            let lower = over(least, least + (high - most).relu());
            let upper = over(most, most + (low - least).relu());
            (lower.hull(upper) * steps + ball(flushed(4).hi())).relu()
        };
        ((0..n).map(weight).collect(), steps + ball(flushed(2 * n).hi()))
    }

    /// The features of a query or a key.
    fn features(&self, w: &[f64], size: usize, x: &[Interval]) -> Vec<Interval> {
        let square = self.dot(x, x);
        (0..size).map(|row| self.feature(self.row(w, row, x).total(), square)).collect()
    }

    /// `Σ_j a(k_j) v_j`, a row for each feature.
    fn products(&self, size: usize, features: &State, values: &State) -> State {
        let summary = |a: usize, c: usize| {
            let mut sum = self.sum();
            features.iter().zip(values).for_each(|(features, value)| sum.product(self.off(features[a], 2), value[c]));
            sum.total()
        };
        (0..size).map(|a| (0..values[0].len()).map(|c| summary(a, c)).collect()).collect()
    }

    /// `Σ_a a(q)/size · c_a`.
    fn share(&self, features: &[Interval], values: &State) -> Vec<Interval> {
        let size = count(features.len());
        let parts: Vec<Interval> = features.iter().map(|x| self.off(over(*x, size), 4)).collect();
        let column = |c: usize| values.iter().map(|value| value[c]).collect::<Vec<_>>();
        (0..values[0].len()).map(|c| self.dot(&parts, &column(c))).collect()
    }

    /// `exp(along - square/2)`.
    fn feature(&self, along: Interval, square: Interval) -> Interval {
        let (exponent, tiny) = (along - square * Interval::point(0.5), Interval::point(3.0 * self.format.tiny));
        let moved = exponent.abs() * Interval::point(self.format.unit) + tiny + Interval::point(self.format.slip);
        let feature = ((exponent + ball(moved.hi())).exp() + ball(tiny.hi())).relu();
        if feature.hi() > self.network.precision.largest() { Interval::ENTIRE } else { feature }
    }
}

/// The index of the largest score, or of one of them.
fn largest(scores: &[Interval]) -> usize {
    (0..scores.len()).max_by(|a, b| scores[*a].mid().total_cmp(&scores[*b].mid())).unwrap_or_default()
}
