//! Attention in time linear in the tokens: what all tokens have to say is put together once a sequence, and every query looks at that.
//!
//! ```text
//! average      c = (Σ_j v z_j) / n                                       z_i ← z_i + o c
//! linformer    k_a = Σ_j e_aj (k z_j),  c_a = Σ_j f_aj (v z_j)           the keys and values of softmax attention over a = 1 … k
//! performer    c_a = Σ_j x_a(k z_j) (v z_j)                              z_i ← z_i + o (Σ_a x_a(q z_i + q_bias) c_a) / k
//!              x_a(y) = exp(w_a y − ‖y‖² · ½)
//! ```
//!
//! Sums run from left to right, over the tokens in their order. The two factors `k^{-1/2}` of a Performer's features are the division by `k`.

use super::attention::{Again, times};
use super::columns::Columns;
use super::real::{Real, numbers};
use super::tile::{LANES, Lanes, add, add_scaled, tile};
use crate::network::AttentionKind;

/// What the heads of a run do, with the tensors that only this kind has.
#[derive(Clone, Debug)]
pub enum Kind<T> {
    Softmax,
    Average,
    /// `e` and `f` are `[blocks][heads][size][tokens]`.
    Linformer {
        size: usize,
        e: Vec<T>,
        f: Vec<T>,
    },
    /// `w` is `[blocks][heads][size][head_size]`.
    Performer {
        size: usize,
        w: Vec<T>,
    },
}

impl<T: Real> Kind<T> {
    pub fn new(kind: &AttentionKind) -> Self {
        match kind {
            AttentionKind::Softmax => Self::Softmax,
            AttentionKind::Average => Self::Average,
            AttentionKind::Linformer { size, e, f } => Self::Linformer { size: *size, e: numbers(e), f: numbers(f) },
            AttentionKind::Performer { size, w } => Self::Performer { size: *size, w: numbers(w) },
        }
    }
}

/// What was put together of the sequences of a task. Where tokens are the lanes, all lanes hold the same.
#[derive(Clone, Debug, Default)]
pub struct Summary<T> {
    /// `[heads][size][head_size]`, of a Linformer.
    pub keys: Vec<Lanes<T>>,
    /// `[heads][value_size]`, or `[heads][size][value_size]`.
    pub values: Vec<Lanes<T>>,
    /// The features of all keys, `[groups][heads · size]`, of a Performer; as `[tokens][heads · size]` where tokens are the lanes.
    features: Vec<Lanes<T>>,
    feature_rows: Vec<T>,
}

/// A projection of all tokens: `[groups][side]`, and `[tokens][side]` where tokens are the lanes.
#[derive(Clone, Copy)]
pub struct Projected<'p, T> {
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
        let (m, mv) = (keys.side / heads, values.side / heads);
        self.keys.clear();
        self.values.clear();
        match kind {
            Kind::Softmax => {}
            Kind::Average => {
                let count = T::nearest(count(columns.tokens));
                let mean = |r: usize| values.sum(columns, r).map(|sum| sum / count);
                self.values.extend((0..values.side).map(mean));
            }
            Kind::Linformer { size, e, f } => {
                let weight = |tensor: &'_ [T], place: usize| -> std::ops::Range<usize> {
                    let start = (block * heads * size + place) * columns.tokens;
                    debug_assert!(start + columns.tokens <= tensor.len(), "a row for each mixture");
                    start..start + columns.tokens
                };
                for place in 0..heads * size {
                    let head = place / size;
                    let (e, f) = (&e[weight(e, place)], &f[weight(f, place)]);
                    self.keys.extend((0..m).map(|r| keys.mixed(columns, head * m + r, e)));
                    self.values.extend((0..mv).map(|c| values.mixed(columns, head * mv + c, f)));
                }
            }
            Kind::Performer { size, w } => {
                self.features.clear();
                let w = &w[block * heads * size * m..][..heads * size * m];
                let mut exponentials = Again::new(|x: &Lanes<T>| x.map(T::exp));
                for group in keys.lanes.chunks_exact(keys.side) {
                    for place in 0..heads * size {
                        let key = &group[place / size * m..][..m];
                        self.features.push(exponentials.of(&exponent(&w[place * m..][..m], |r| key[r])));
                    }
                }
                let side = heads * size;
                if columns.along {
                    super::attention::transpose(&self.features, side, columns.tokens, &mut self.feature_rows);
                }
                let features = Projected { lanes: &self.features, rows: &self.feature_rows, side };
                for place in 0..side {
                    let head = place / size;
                    self.values.extend((0..mv).map(|c| values.product(columns, head * mv + c, &features, place)));
                }
            }
        }
    }

    /// What the query of a tile finds with a Performer's head: `mixed` gets `(Σ_a x_a(query) c_a) / k`.
    pub fn features_of<const S: usize>(
        &self,
        (w, head, t): (&[T], usize, usize),
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
                add(mixed, &times(feature, tile(&self.values[(head * size + a) * mv + c], t)));
            }
        }
        let size = T::nearest(count(size));
        for mixed in mixed {
            *mixed = mixed.map(|x| x / size);
        }
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

/// A number of tokens or of features. Those of a sequence in memory are counted exactly in `f64`, and up to `2^24` in `f32`.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53")]
fn count(n: usize) -> f64 {
    n as f64
}
