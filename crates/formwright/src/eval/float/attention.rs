//! Attention on lanes, a tile of queries at a time:
//!
//! ```text
//! s_j = (k z_j)ᵀ(q z + q_bias),  m = max_j s_j,  e_j = exp(s_j − m),  w_j = e_j / Σ_l e_l,  z ← z + o · (Σ_j w_j (v z_j))_heads
//! ```
//!
//! over the keys `j` that the head's mask, or the block's connections, show, in their order. Keys are run through three times: for the largest score, for the exponentials
//! and their sum, for the weighted values. Only the exponentials of one tile of queries are stored.
//!
//! By connections, lanes that are tokens look one after the other, each along its own list, unless all of them see the same: a layer costs what it has
//! connections.
//!
//! Where a tile of queries equals the one before and sees the same keys, the result is the one before: so heads whose query does not depend on
//! the token (means, maxima, sums over a class) cost one tile instead of all. Heads of other formulas look at what their steps have made (`summary.rs`).

use super::columns::Columns;
use super::real::{Real, numbers};
use super::seen::{Interval, Lists, Seen, Shown};
use super::summary::{Kind, Projected, Summary, by_features};
use super::tile::{LANES, Lanes, add, product, tile, tile_mut};
use crate::network::attention::Look;
use crate::network::{AttentionRun, Keys, Mask};

/// The attention layers of a run.
#[derive(Clone, Debug)]
pub(crate) struct Attention<T> {
    width: usize,
    kind: Kind<T>,
    masks: Vec<Mask>,
    /// A cycle over the blocks; empty where the masks decide.
    connections: Vec<Lists>,
    head_size: usize,
    value_size: usize,
    /// `[blocks][heads · head_size][width]`.
    q: Vec<T>,
    q_bias: Vec<T>,
    k: Vec<T>,
    /// `[blocks][heads · value_size][width]`.
    v: Vec<T>,
    /// `[blocks][width][heads · value_size]`.
    o: Vec<T>,
    /// As many as a product has rows.
    zeros: Vec<T>,
}

/// The memory that the queries of a layer meet: projections of all tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Projections<T> {
    /// `[groups][heads · head_size]`.
    queries: Vec<Lanes<T>>,
    /// `[groups][heads · head_size]`.
    keys: Vec<Lanes<T>>,
    /// `[groups][heads · value_size]`.
    values: Vec<Lanes<T>>,
    /// `[tokens][heads · head_size]` and `[tokens][heads · value_size]`, where tokens are the lanes.
    rows: (Vec<T>, Vec<T>),
    /// The summary of all tokens, where heads look at one.
    summary: Summary<T>,
}

/// Room for a tile of queries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room<T, const S: usize> {
    /// The exponentials, by key.
    exps: Vec<[T; S]>,
    /// The query of all heads, `[heads · head_size]`, and that of the tile before.
    query: Vec<[T; S]>,
    last: Vec<[T; S]>,
    /// The outputs of the heads, `[heads · value_size]`.
    mixed: Vec<[T; S]>,
    alone: Alone<T>,
}

/// Room for one lane, of one head: its exponentials, its query, what it has found.
#[derive(Clone, Debug, Default)]
struct Alone<T> {
    exps: Vec<[T; 1]>,
    query: Vec<[T; 1]>,
    mixed: Vec<[T; 1]>,
}

impl<T: Real> Alone<T> {
    /// Looks for the queries of a tile, each along its own list.
    fn look<'l, const S: usize>(
        &mut self,
        list: impl Fn(usize) -> &'l [Interval],
        query: &[[T; S]],
        key: impl Fn(usize, usize) -> [T; 1],
        value: impl Fn(usize, usize) -> [T; 1],
        mixed: &mut [[T; S]],
    ) {
        self.mixed.resize(mixed.len(), [T::ZERO]);
        for lane in 0..S {
            self.query.clear();
            self.query.extend(query.iter().map(|query| [query[lane]]));
            look(&Seen::by_list(list(lane)), &self.query, &key, &value, &mut self.exps, &mut self.mixed);
            mixed.iter_mut().zip(&self.mixed).for_each(|(mixed, [found])| mixed[lane] = *found);
        }
    }
}

impl<T: Real> Attention<T> {
    /// Arranges the tensors of a run of so many blocks.
    pub fn new(run: &AttentionRun, blocks: usize, width: usize) -> Self {
        let (heads, size) = (run.heads, run.value_size);
        let o = |block: usize, i: usize, head: usize, c: usize| run.o[((block * heads + head) * width + i) * size + c];
        let row = |block: usize, i: usize| (0..heads * size).map(move |place| o(block, i, place / size, place % size));
        let joined: Vec<f64> = (0..blocks).flat_map(|block| (0..width).flat_map(move |i| row(block, i))).collect();
        Self {
            width,
            kind: Kind::new(&run.kind),
            masks: run.masks.clone(),
            connections: run.connections.iter().map(Lists::new).collect(),
            head_size: run.head_size,
            value_size: size,
            q: numbers(&run.q),
            q_bias: numbers(&run.q_bias),
            k: numbers(&run.k),
            v: numbers(&run.v),
            o: numbers(&joined),
            zeros: vec![T::ZERO; width.max(heads * run.head_size.max(size))],
        }
    }

    /// The rows of `q` and `k`, and of `v`, of all heads.
    fn rows(&self) -> (usize, usize) {
        (self.masks.len() * self.head_size, self.masks.len() * self.value_size)
    }

    /// Queries, keys and values of all tokens.
    pub fn project<const S: usize>(
        &self,
        block: usize,
        columns: &Columns,
        state: &[Lanes<T>],
        into: &mut Projections<T>,
    ) {
        let (width, (m, mv)) = (self.width, self.rows());
        let weights = |rows: usize| block * rows * width..(block + 1) * rows * width;
        let Projections { queries, keys, values, rows, summary } = into;
        let fill = |weight: &[T], bias: &[T], into: &mut Vec<Lanes<T>>| {
            into.resize(columns.groups() * bias.len(), [T::ZERO; LANES]);
            for (group, (into, z)) in into.chunks_exact_mut(bias.len()).zip(state.chunks_exact(width)).enumerate() {
                for t in 0..columns.tiles::<S>(group) {
                    product::<T, S>(
                        weight,
                        bias,
                        width,
                        |i| *tile(&z[i], t),
                        |row, sum| *tile_mut(&mut into[row], t) = sum,
                    );
                }
            }
        };
        if m > 0 {
            fill(&self.q[weights(m)], &self.q_bias[block * m..][..m], queries);
            fill(&self.k[weights(m)], &self.zeros[..m], keys);
        }
        fill(&self.v[weights(mv)], &self.zeros[..mv], values);
        if columns.along {
            if m > 0 {
                transpose(keys, m, columns.tokens, &mut rows.0);
            }
            transpose(values, mv, columns.tokens, &mut rows.1);
        }
        let keys = Projected { lanes: keys, rows: &rows.0, side: m };
        let values = Projected { lanes: values, rows: &rows.1, side: mv };
        summary.fill(&self.kind, (block, self.masks.len()), columns, (keys, values));
    }

    /// True if every query of a block is the same and sees the same: then one look serves all groups of a thread, and
    /// every thread looks once.
    pub fn asks_alike(&self, block: usize) -> bool {
        let side = self.rows().0 * self.width;
        self.connections.is_empty()
            && self.masks.iter().all(|mask| mask.relative == (None, None))
            && self.q[block * side..][..side].iter().all(|q| *q == T::ZERO)
    }

    /// About how many operations a block takes for each token, and for each token that it looks at.
    pub fn operations(&self) -> (usize, usize) {
        let (m, mv) = self.rows();
        let each = 2 * self.width * (2 * m + 2 * mv);
        if self.kind.sees_tokens {
            return (each, 2 * m + 2 * mv + 4 * self.masks.len());
        }
        (each + (4 * self.kind.size).max(1) * (m + mv), 0)
    }

    /// Lets the queries of tile `t` of a group, whose state is `z`, look around. `again` says that what was last done in this room was another
    /// tile of the same layer and sequences.
    pub fn apply<const S: usize>(
        &self,
        block: usize,
        columns: &Columns,
        projections: &Projections<T>,
        (group, t, again): (usize, usize, bool),
        z: &mut [Lanes<T>],
        room: &mut Room<T, S>,
    ) {
        let (m, mv) = self.rows();
        let Room { exps, query, last, mixed, alone } = room;
        std::mem::swap(query, last);
        query.clear();
        query.extend(projections.queries[group * m..][..m].iter().map(|lanes| *tile::<T, S>(lanes, t)));
        mixed.resize(mv, [T::ZERO; S]);
        let Projections { keys, values, rows, summary, .. } = projections;
        // Lanes that are left over look with the last token.
        let token = |lane: usize| columns.token(group, lane).min(columns.tokens - 1);
        let lists = (!self.connections.is_empty()).then(|| &self.connections[block % self.connections.len()]);
        for (head, mask) in self.masks.iter().enumerate() {
            let of_head = head * self.head_size..(head + 1) * self.head_size;
            if again
                && !self.kind.has_own_rows
                && lists.is_none()
                && mask.relative == (None, None)
                && query[of_head.clone()] == last[of_head.clone()]
            {
                continue;
            }
            let (of_keys, of_values) = (of_head.start, head * self.value_size);
            let (query, mixed) = (&query[of_head], &mut mixed[of_values..][..self.value_size]);
            if !self.kind.sees_tokens {
                self.look_at((block, head), (summary, t), |lane| token(t * S + lane), query, exps, mixed);
                continue;
            }
            let sees = |lane: usize| mask.keys(token(lane), columns.tokens);
            let all_alike = !columns.along || mask.relative == (None, None);
            let seen = match lists {
                Some(lists) if columns.along => {
                    let list = |lane: usize| lists.of(token(t * S + lane));
                    if (1..S).any(|lane| list(lane) != list(0)) {
                        let key = |j: usize, r: usize| [rows.0[j * m + of_keys + r]];
                        let value = |j: usize, c: usize| [rows.1[j * mv + of_values + c]];
                        alone.look(list, query, key, value, mixed);
                        continue;
                    }
                    Seen::by_list(list(0))
                }
                Some(lists) => Seen::by_list(lists.of(group)),
                None if all_alike => Seen::by_one(sees(0)),
                None => Seen::by_each(|lane| sees(t * S + lane)),
            };
            if columns.along {
                let key = |j: usize, r: usize| [rows.0[j * m + of_keys + r]; S];
                let value = |j: usize, c: usize| [rows.1[j * mv + of_values + c]; S];
                look(&seen, query, key, value, exps, mixed);
            } else {
                let key = |j: usize, r: usize| *tile(&keys[j * m + of_keys + r], t);
                let value = |j: usize, c: usize| *tile(&values[j * mv + of_values + c], t);
                look(&seen, query, key, value, exps, mixed);
            }
        }
        let o = &self.o[block * self.width * mv..][..self.width * mv];
        product(o, &self.zeros[..self.width], mv, |c| mixed[c], |i, sum| add(tile_mut::<T, S>(&mut z[i], t), &sum));
    }
}

impl<T: Real> Attention<T> {
    /// Lets the queries of a tile look at what the steps of the formula have made; `token` is that of a lane.
    fn look_at<const S: usize>(
        &self,
        (block, head): (usize, usize),
        (summary, t): (&Summary<T>, usize),
        token: impl Fn(usize) -> usize,
        query: &[[T; S]],
        exps: &mut Vec<[T; S]>,
        mixed: &mut [[T; S]],
    ) {
        let (size, m, mv) = (self.kind.size, query.len(), mixed.len());
        match self.kind.formula.look {
            Look::Softmax { keys, values } => {
                let (keys, values) = (summary.rows(keys), summary.rows(values));
                let key = |a: usize, r: usize| *tile(&keys[(head * size + a) * m + r], t);
                let value = |a: usize, c: usize| *tile(&values[(head * size + a) * mv + c], t);
                look(&Seen::by_one(Keys { first: false, range: 0..size }), query, key, value, exps, mixed);
            }
            Look::Features { by, values } => {
                let side = size * self.head_size;
                let w = &self.kind.tensor(by)[(block * self.masks.len() + head) * side..][..side];
                by_features(w, &summary.rows(values)[head * size * mv..][..size * mv], t, query, mixed);
            }
            Look::Row { of } => {
                let rows = &summary.rows(of)[head * size.max(1) * mv..][..size.max(1) * mv];
                for (c, mixed) in mixed.iter_mut().enumerate() {
                    *mixed = *tile(&rows[c], t);
                    if size > 1 {
                        *mixed = std::array::from_fn(|lane| rows[token(lane) * mv + c][t * S + lane]);
                    }
                }
            }
        }
    }
}

/// `[groups][rows]` of lanes that are tokens to `[tokens][rows]`.
pub(crate) fn transpose<T: Real>(lanes: &[Lanes<T>], rows: usize, tokens: usize, into: &mut Vec<T>) {
    into.clear();
    for (group, lanes) in lanes.chunks_exact(rows).enumerate() {
        for lane in 0..LANES.min(tokens - group * LANES) {
            into.extend(lanes.iter().map(|lanes| lanes[lane]));
        }
    }
}

/// Looks for the queries of a tile: `mixed` gets `Σ_j w_j value_j`.
fn look<T: Real, const S: usize>(
    seen: &Seen<'_, S>,
    query: &[[T; S]],
    key: impl Fn(usize, usize) -> [T; S],
    value: impl Fn(usize, usize) -> [T; S],
    exps: &mut Vec<[T; S]>,
    mixed: &mut [[T; S]],
) {
    // Of a head of size one the query stays in registers.
    if let [query] = query {
        return scan(seen, |j| times(key(j, 0), query), value, exps, mixed);
    }
    let score = |j: usize| {
        let mut score = times(key(j, 0), &query[0]);
        for (r, query) in query.iter().enumerate().skip(1) {
            add(&mut score, &times(key(j, r), query));
        }
        score
    };
    scan(seen, score, value, exps, mixed);
}

/// The same for scores.
#[inline]
fn scan<T: Real, const S: usize>(
    seen: &Seen<'_, S>,
    score: impl Fn(usize) -> [T; S],
    value: impl Fn(usize, usize) -> [T; S],
    exps: &mut Vec<[T; S]>,
    mixed: &mut [[T; S]],
) {
    // What is hidden has the score −∞, hence the exponential 0.
    let partly = |shown: Shown, j: usize| {
        let (score, seen) = (score(j), seen.lanes(shown, j));
        std::array::from_fn(|lane| if seen[lane] { score[lane] } else { T::LEAST })
    };
    let mut largest = [T::LEAST; S];
    for (keys, shown) in seen.intervals() {
        match shown {
            Shown::All => keys.clone().for_each(|j| raise(&mut largest, &score(j))),
            _ => keys.clone().for_each(|j| raise(&mut largest, &partly(*shown, j))),
        }
    }
    let count = seen.intervals().iter().map(|(keys, _)| keys.len()).sum();
    if exps.len() < count {
        exps.resize(count, [T::ZERO; S]);
    }
    let (mut rest, mut total) = (&mut exps[..], [T::ZERO; S]);
    for (keys, shown) in seen.intervals() {
        let (exps, behind) = rest.split_at_mut(keys.len());
        match shown {
            Shown::All => exponentials(keys.clone().map(&score), &largest, exps, &mut total),
            _ => exponentials(keys.clone().map(|j| partly(*shown, j)), &largest, exps, &mut total),
        }
        rest = behind;
    }
    mixed.fill([T::ZERO; S]);
    let (mut rest, mut weights) =
        (&exps[..], Again::new(|exp: &[T; S]| std::array::from_fn(|lane| exp[lane] / total[lane])));
    for (keys, shown) in seen.intervals() {
        let (exps, behind) = rest.split_at(keys.len());
        for (j, exp) in keys.clone().zip(exps) {
            let weight = weights.of(exp);
            for (c, mixed) in mixed.iter_mut().enumerate() {
                let value = value(j, c);
                if *shown == Shown::All {
                    add(mixed, &times(value, &weight));
                } else {
                    // The value of a hidden key may be infinite, and 0 · ∞ is no number.
                    let seen = seen.lanes(*shown, j);
                    for lane in (0..S).filter(|lane| seen[*lane]) {
                        mixed[lane] += weight[lane] * value[lane];
                    }
                }
            }
        }
        rest = behind;
    }
}

/// `x y`, lane by lane.
#[inline]
pub(crate) fn times<T: Real, const S: usize>(x: [T; S], y: &[T; S]) -> [T; S] {
    std::array::from_fn(|lane| x[lane] * y[lane])
}

/// `x` becomes `max(x, y)`.
#[inline]
fn raise<T: Real, const S: usize>(x: &mut [T; S], y: &[T; S]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x = if *y > *x { *y } else { *x });
}

/// A function of tiles that is not computed again for the tile that came before: as in a mean, whose scores are all the same.
pub(crate) struct Again<T, F, const S: usize> {
    function: F,
    last: Option<[T; S]>,
    result: [T; S],
}

impl<T: Real, F: Fn(&[T; S]) -> [T; S], const S: usize> Again<T, F, S> {
    pub fn new(function: F) -> Self {
        Self { function, last: None, result: [T::ZERO; S] }
    }

    #[inline]
    pub fn of(&mut self, x: &[T; S]) -> [T; S] {
        // Without a branch for every lane.
        let same = |last: &[T; S]| last.iter().zip(x).fold(0, |differ, (a, b)| differ | u32::from(a != b)) == 0;
        if !self.last.as_ref().is_some_and(same) {
            (self.last, self.result) = (Some(*x), (self.function)(x));
        }
        self.result
    }
}

/// `exp(score − largest)` of every score, and what they sum up to.
#[inline]
fn exponentials<T: Real, const S: usize>(
    scores: impl Iterator<Item = [T; S]>,
    largest: &[T; S],
    exps: &mut [[T; S]],
    total: &mut [T; S],
) {
    let mut of_differences = Again::new(exponential);
    for (score, exp) in scores.zip(exps) {
        *exp = of_differences.of(&std::array::from_fn(|lane| score[lane] - largest[lane]));
        add(total, exp);
    }
}

/// The exponentials of numbers that are not positive.
fn exponential<T: Real, const S: usize>(x: &[T; S]) -> [T; S] {
    if x.iter().fold(1, |deep, x| deep & u32::from(*x < T::DEEP)) == 1 {
        return [T::ZERO; S];
    }
    x.map(|x| if x < T::DEEP { T::ZERO } else { x.exp() })
}
