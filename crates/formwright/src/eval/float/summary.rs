//! The steps of a formula (`network/attention/formula.rs`): what all tokens have to say is put together once a
//! sequence, and every query looks at that.
//!
//! ```text
//! mean         c = (Σ_j v z_j) / n
//! mixed        k_a = Σ_j e_aj (k z_j),  c_a = Σ_j f_aj (v z_j)
//! features     x_a(y) = exp(w_a y − ‖y‖² · ½)
//! products     c_a = Σ_j x_a(k z_j) (v z_j)                              found: (Σ_a x_a(q z_i + q_bias) c_a) / k
//! ```
//!
//! Sums run from left to right, over the tokens in their order. The two factors `k^{-1/2}` of features are the
//! division by `k`.

use super::attention::{Again, times};
use super::columns::Columns;
use super::real::{Real, numbers};
use super::tile::{LANES, Lanes, add, add_scaled, tile};
use crate::network::AttentionKind;
use crate::network::attention::{Formula, KEYS, Look, Rows, Step, VALUES};

/// The formula of a run's heads, with the tensors that only this kind has.
#[derive(Clone, Debug)]
pub(crate) struct Kind<T> {
    pub formula: &'static Formula,
    pub size: usize,
    /// True if queries look at the tokens themselves; and true if each token finds a row of its own.
    pub sees_tokens: bool,
    pub has_own_rows: bool,
    /// `[blocks][heads][size][side]` each, by name.
    tensors: Vec<(&'static str, Vec<T>)>,
}

impl<T: Real> Kind<T> {
    pub fn new(kind: &AttentionKind) -> Self {
        let AttentionKind { formula, size, tensors } = kind;
        let names = formula.tensors().into_iter().map(|(name, _)| name);
        let has_own_rows = matches!(formula.look, Look::Row { .. }) && *size > 1;
        let tensors = names.zip(tensors.iter().map(|tensor| numbers(tensor))).collect();
        Self { formula, size: *size, sees_tokens: formula.sees_tokens(), has_own_rows, tensors }
    }

    /// A tensor.
    pub fn tensor(&self, name: &str) -> &[T] {
        self.tensors.iter().find(|(known, _)| *known == name).map_or(&[], |(_, tensor)| tensor)
    }
}

/// All that was put together of the sequences of a task, step by step. Where tokens are the lanes, all lanes of
/// mixtures hold the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary<T>(Vec<Made<T>>);

/// The result of a step.
#[derive(Clone, Debug)]
struct Made<T> {
    /// `[heads][size][side]` of mixtures, `[heads][value_size]` of a mean, `[groups][heads · size]` of the features
    /// of all keys.
    lanes: Vec<Lanes<T>>,
    /// Features as `[tokens][heads · size]`, where tokens are the lanes.
    rows: Vec<T>,
}

/// A projection of all tokens: `[groups][side]`, and `[tokens][side]` where tokens are the lanes.
#[derive(Clone, Copy)]
pub(crate) struct Projected<'p, T> {
    pub lanes: &'p [Lanes<T>],
    pub rows: &'p [T],
    pub side: usize,
}

impl<T: Real> Projected<'_, T> {
    /// `Σ_j weight_j x_j` of row `r`.
    fn mixed(&self, columns: &Columns, r: usize, weight: &[T]) -> Lanes<T> {
        if columns.along {
            let mut sum = T::ZERO;
            self.rows.chunks_exact(self.side).zip(weight).for_each(|(x, weight)| sum += *weight * x[r]);
            return [sum; LANES];
        }
        let mut sum = [T::ZERO; LANES];
        self.lanes.chunks_exact(self.side).zip(weight).for_each(|(x, weight)| add_scaled(&mut sum, *weight, &x[r]));
        sum
    }

    /// `Σ_j x_j` of row `r`.
    fn sum(&self, columns: &Columns, r: usize) -> Lanes<T> {
        if columns.along {
            let mut sum = T::ZERO;
            self.rows.chunks_exact(self.side).for_each(|x| sum += x[r]);
            return [sum; LANES];
        }
        let mut sum = [T::ZERO; LANES];
        self.lanes.chunks_exact(self.side).for_each(|x| add(&mut sum, &x[r]));
        sum
    }

    /// `Σ_j y_j x_j` of row `r` and another projection's row `s`.
    fn product(&self, columns: &Columns, r: usize, other: &Self, s: usize) -> Lanes<T> {
        if columns.along {
            let mut sum = T::ZERO;
            let pairs = self.rows.chunks_exact(self.side).zip(other.rows.chunks_exact(other.side));
            pairs.for_each(|(x, y)| sum += y[s] * x[r]);
            return [sum; LANES];
        }
        let mut sum = [T::ZERO; LANES];
        let pairs = self.lanes.chunks_exact(self.side).zip(other.lanes.chunks_exact(other.side));
        pairs.for_each(|(x, y)| add(&mut sum, &times(y[s], &x[r])));
        sum
    }
}

impl<T: Real> Summary<T> {
    /// Puts together what the heads of a block need; nothing for softmax.
    pub fn fill(
        &mut self,
        kind: &Kind<T>,
        (block, heads): (usize, usize),
        columns: &Columns,
        (keys, values): (Projected<'_, T>, Projected<'_, T>),
    ) {
        // Room that was made for other layers is kept.
        let steps = kind.formula.steps.len().max(self.0.len());
        self.0.resize_with(steps, || Made { lanes: Vec::new(), rows: Vec::new() });
        for (number, step) in kind.formula.steps.iter().enumerate() {
            let (before, made) = self.0.split_at_mut(number);
            let made = &mut made[0];
            made.lanes.clear();
            let of = |rows: Rows| match rows {
                KEYS => keys,
                VALUES => values,
                Rows(made) => {
                    let Made { lanes, rows } = &before[made - 2];
                    Projected { lanes, rows, side: heads * kind.size }
                }
            };
            match *step {
                Step::Mean { of: rows } => {
                    let (x, count) = (of(rows), T::nearest(count(columns.tokens)));
                    made.lanes.extend((0..x.side).map(|r| x.sum(columns, r).map(|sum| sum / count)));
                }
                Step::Mixed { of: rows, by } => {
                    let (x, tokens) = (of(rows), columns.tokens);
                    let weights = &kind.tensor(by)[block * heads * kind.size * tokens..];
                    let side = x.side / heads;
                    for (place, weight) in weights.chunks_exact(tokens).take(heads * kind.size).enumerate() {
                        let first = place / kind.size * side;
                        made.lanes.extend((first..first + side).map(|r| x.mixed(columns, r, weight)));
                    }
                }
                Step::Features { of: rows, by } => made.features(kind, (block, heads), columns, (of(rows), by)),
                Step::Products { features, of: rows } => {
                    let (x, features) = (of(rows), of(features));
                    let side = x.side / heads;
                    for place in 0..features.side {
                        let first = place / kind.size * side;
                        made.lanes.extend((first..first + side).map(|c| x.product(columns, c, &features, place)));
                    }
                }
            }
        }
    }

    /// The result of a step.
    pub fn rows(&self, rows: Rows) -> &[Lanes<T>] {
        &self.0[rows.0 - 2].lanes
    }
}

impl<T: Real> Made<T> {
    /// The features of all keys.
    fn features(
        &mut self,
        kind: &Kind<T>,
        (block, heads): (usize, usize),
        columns: &Columns,
        (keys, by): (Projected<'_, T>, &str),
    ) {
        let (size, m) = (kind.size, keys.side / heads);
        let w = &kind.tensor(by)[block * heads * size * m..][..heads * size * m];
        let mut exponentials = Again::new(|x: &Lanes<T>| x.map(T::exp));
        for group in keys.lanes.chunks_exact(keys.side) {
            for place in 0..heads * size {
                let key = &group[place / size * m..][..m];
                self.lanes.push(exponentials.of(&exponent(&w[place * m..][..m], |r| key[r])));
            }
        }
        if columns.along {
            super::attention::transpose(&self.lanes, heads * size, columns.tokens, &mut self.rows);
        }
    }
}

/// The finding of a tile's query by features: `mixed` gets `(Σ_a x_a(query) c_a) / k`, where `values` are the `c_a`
/// of a head.
pub(crate) fn by_features<T: Real, const S: usize>(
    w: &[T],
    values: &[Lanes<T>],
    t: usize,
    query: &[[T; S]],
    mixed: &mut [[T; S]],
) {
    let (m, mv) = (query.len(), mixed.len());
    let size = w.len() / m;
    mixed.fill([T::ZERO; S]);
    let mut exponentials = Again::new(|x: &[T; S]| x.map(T::exp));
    for a in 0..size {
        let feature = exponentials.of(&exponent(&w[a * m..][..m], |r| query[r]));
        for (c, mixed) in mixed.iter_mut().enumerate() {
            add(mixed, &times(feature, tile(&values[a * mv + c], t)));
        }
    }
    let size = T::nearest(count(size));
    for mixed in mixed {
        *mixed = mixed.map(|x| x / size);
    }
}

/// `w x − ‖x‖² · ½`.
fn exponent<T: Real, const S: usize>(w: &[T], x: impl Fn(usize) -> [T; S]) -> [T; S] {
    let (mut along, mut square) = ([T::ZERO; S], [T::ZERO; S]);
    for (r, w) in w.iter().enumerate() {
        let x = x(r);
        add_scaled(&mut along, *w, &x);
        add(&mut square, &times(x, &x));
    }
    let half = T::nearest(0.5);
    std::array::from_fn(|lane| along[lane] - square[lane] * half)
}

/// A number of tokens or of features. Those of a sequence in memory are counted exactly in `f64`, and up to `2^24` in
/// `f32`.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53")]
fn count(n: usize) -> f64 {
    n as f64
}
