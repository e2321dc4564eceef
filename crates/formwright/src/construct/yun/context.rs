//! Lemma 6: the contextual map `g_c`, attention layers with two heads of size one, hardmax.
//!
//! Integer units, `id_j = uᵀZ_j`. The head `ψ(Z; b) = e_1 uᵀZ σ_H[(uᵀZ)ᵀ(uᵀZ - b1ᵀ)]` gives token `j` the largest id if
//! `id_j > b`, the smallest if `id_j < b`, the mean of all if `id_j = b`. The *selective shift* of the window `v`,
//!
//! ```text
//! Z ← Z + D (ψ(Z; v-½) - ψ(Z; v+½)),         v = 0, 1, …, D-1 in this order,
//! ```
//!
//! adds `D·(max - min)` to the tokens with `v-½ < id < v+½` and nothing to the others. For sorted ids `l_1 < … < l_n` the sweep
//! ends in `l̃_1 < … < l̃_n`,
//!
//! ```text
//! l̃_1 = l_1 + D(l_n - l_1),      l̃_j = l_j + D(l̃_{j-1} - l_j),
//! ```
//!
//! and the *global shift* `Z ← Z + D^{n+1} ψ(Z; 0)` adds `D^{n+1} l̃_n` to all. Then, with `t_l = D^{2n}(D-1)` and
//! `t_r = D^{2n+1}(D-1)`:
//!
//! 1. the ids of a sequence with distinct columns are distinct;
//! 2. so are the ids of two such sequences that are no permutations of each other (`⌊id/D^{n+1}⌋ = l̃_n` tells the context);
//! 3. they lie in `[t_l, t_r)`;
//! 4. the ids of every other sequence, duplicates and flags, lie outside `[t_l, t_r]`.
//!
//! *Size*: `D + 1` attention layers.
//!
//! # Which window acts next
//!
//! The closed form does not visit the `D` windows: token `j` is touched by `v` exactly when `v-½ ≤ id_j ≤ v+½`, so the next
//! window that touches any token is known, and each token of a lattice sequence is touched once.
//!
//! # Decoding
//!
//! `l̃_j ≡ l_j (mod D)`, so `l̃_n` gives `l_n`, then `l̃_{j-1} = (l̃_j - l_j)/D + l_j` gives the others, down to `l̃_1`. With positions
//! the residue is taken relative to the token's range.
//!
//! # Order of the ids
//!
//! With gaps `g_k = l_{k+1} - l_k` and spread `a = l_n - l_1`, `l̃_n = D^n a - S`, `S = Σ_{k<n} D^{n-k} g_k - l_n`. Since
//! `1 ≤ g_k ≤ D-1`, `0 < S < D^n`: a larger spread always wins. At equal spread, `S + D - 1` has the base-`D` digits
//! `g_1, …, g_{n-1}, D-1-l_n`: smaller gaps win, the first one first, then the larger `l_n`; the last gap follows from the others.
//! So the contexts by decreasing `l̃_n` are those of
//! [`by_spread`].
//!
//! *Departures*: category 3 needs `l_i ≥ 0` where the paper has `>`; a plain-text copy of the paper lost the factor `δ^{-d}`
//! before `Ψ`.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{basis, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::{Grid, by_spread, increasing_tuples, tuples};
use crate::network::{Attention, Generator, Head, Layer, LayerKind, Sequence, StageSize, dot};
use crate::pattern::{Connections, Pattern};

/// A run of consecutive windows `start, start+1, …`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    /// The first window's centre.
    pub start: Int,
    /// How many there are.
    pub count: Int,
}

/// The order in which a sweep visits its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As in the lemma.
    Increasing,
    /// The other way: not a contextual map, and a test of the two executions.
    Decreasing,
}

/// The parameters of the sweep of selective shifts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectiveShifts {
    /// `u`, which reads a token's id.
    pub u: Vec<Rat>,
    /// The windows, ascending, without overlap.
    pub windows: Vec<Windows>,
    /// The distance of the two thresholds from a window's centre: ½.
    pub half_width: Rat,
    /// The factor `D` of a shift.
    pub scale: Int,
    /// The order of the sweep.
    pub order: Order,
    /// Where tokens do not see all others (sparse.rs): what they see, and in which layer of the cycle each run of windows acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparse: Option<SparseSweep>,
}

/// The connections of a sweep. A window takes a whole cycle of layers, of which one acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparseSweep {
    /// What tokens see, layer after layer.
    pub pattern: Pattern,
    /// For each run of windows, the layer of the cycle that acts.
    pub served: Vec<usize>,
}

/// The parameters of the last attention layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalShift {
    /// `u`, which reads a token's id.
    pub u: Vec<Rat>,
    /// The threshold, 0.
    pub threshold: Rat,
    /// The factor `D^{n+1}`.
    pub scale: Int,
    /// Where tokens do not see all others (sparse.rs): what they see, and how many layers it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparse: Option<Hops>,
}

/// The connections of the last layers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hops {
    /// What tokens see, layer after layer.
    pub pattern: Pattern,
    /// How many layers there are, `s`.
    pub count: usize,
}

/// `ψ(Z; b)`, with weight `scale` on the way out.
fn head(u: &[Rat], b: &Rat, scale: Rat) -> Head {
    let row = vec![u.to_vec()];
    let o = basis(u.len(), 0, scale).into_iter().map(|entry| vec![entry]).collect();
    Head { q: row.clone(), q_bias: vec![-b.clone()], k: row.clone(), v: row, o }
}

/// The layer that shifts the tokens whose id lies between the two ends by `scale` times the difference of the largest and the smallest id.
pub fn selective_shift(u: &[Rat], ends: &[Rat; 2], scale: Rat) -> Layer {
    let heads = vec![head(u, &ends[0], scale.clone()), head(u, &ends[1], -scale)];
    Layer::Attention(Attention::hardmax(heads, None))
}

/// The ids that a token sees.
fn seen<'a>(ids: &'a [Rat], connections: Option<&Connections>, token: usize) -> Cow<'a, [Rat]> {
    match connections {
        None => Cow::Borrowed(ids),
        Some(connections) => Cow::Owned(connections.keys(token).iter().map(|key| ids[*key].clone()).collect()),
    }
}

/// The largest and the smallest id of a sequence, and the ids themselves for their mean: all that a head can give.
struct Extremes<'a> {
    max: &'a Rat,
    min: &'a Rat,
    ids: &'a [Rat],
}

impl<'a> Extremes<'a> {
    fn of(ids: &'a [Rat]) -> Self {
        let max = ids.iter().max().expect("a sequence has tokens");
        let min = ids.iter().min().expect("a sequence has tokens");
        Self { max, min, ids }
    }

    /// What `ψ(·; b)` gives to a token whose id stands like this to `b`.
    fn attended(&self, id_to_b: Ordering) -> Cow<'a, Rat> {
        match id_to_b {
            Ordering::Greater => Cow::Borrowed(self.max),
            Ordering::Less => Cow::Borrowed(self.min),
            Ordering::Equal => Cow::Owned(self.ids.iter().sum::<Rat>() / Rat::from(self.ids.len())),
        }
    }

    /// What the selective shift with thresholds `half_width` below and above its centre gives to a token that stands `offset` above
    /// the centre, not outside of them.
    fn selected(&self, offset: &Rat, half_width: &Rat) -> Rat {
        let (to_low, to_high) = ((-offset.clone()).cmp(half_width).reverse(), offset.cmp(half_width));
        self.attended(to_low).as_ref() - self.attended(to_high).as_ref()
    }
}

impl SelectiveShifts {
    fn layer(&self, v: &Int) -> Layer {
        let v = Rat::from(v);
        selective_shift(&self.u, &[&v - &self.half_width, &v + &self.half_width], Rat::from(&self.scale))
    }

    /// The layers of a window: one, or a cycle of them of which one acts.
    fn layers_of(&self, v: &Int) -> Vec<Layer> {
        let Some(sparse) = &self.sparse else { return vec![self.layer(v)] };
        let served = self.served(v);
        let zero = vec![Rat::ZERO; self.u.len()];
        let idle = || vec![head(&zero, &Rat::ZERO, Rat::ZERO); 2];
        let layer = |(index, connections): (usize, &Connections)| {
            let heads = match self.layer(v) {
                Layer::Attention(layer) if Some(index) == served => layer.heads,
                _ => idle(),
            };
            Layer::Attention(Attention::hardmax(heads, Some(connections.clone())))
        };
        sparse.pattern.cycle().iter().enumerate().map(layer).collect()
    }

    /// The layer of the cycle in which a window acts.
    fn served(&self, v: &Int) -> Option<usize> {
        let run = self.windows.partition_point(|run| &run.start + &run.count <= *v);
        self.sparse.as_ref()?.served.get(run).copied()
    }

    /// Every window in the order of the sweep.
    fn sweep(&self) -> Box<dyn Iterator<Item = Int> + '_> {
        match self.order {
            Order::Increasing => {
                Box::new(self.windows.iter().flat_map(|run| run.start.up_to(&(&run.start + &run.count))))
            }
            Order::Decreasing => Box::new(self.windows.iter().rev().flat_map(move |run| {
                let last = &run.start + &run.count - Int::ONE;
                std::iter::successors(Some(last), |v| Some(v - Int::ONE)).take_while(|v| *v >= run.start)
            })),
        }
    }

    /// The first window behind `passed`, in the order of the sweep, whose closed interval holds `id`.
    fn next(&self, passed: Option<&Int>, id: &Rat) -> Option<Int> {
        // Whole ids, the usual case, need no fractions.
        let (mut low, mut high) = match id.to_int() {
            Some(id) => (&id - self.half_width.floor(), &id + self.half_width.floor()),
            None => ((id - &self.half_width).ceil(), (id + &self.half_width).floor()),
        };
        match (self.order, passed) {
            (Order::Increasing, Some(v)) => low = low.max(v + Int::ONE),
            (Order::Decreasing, Some(v)) => high = high.min(v - Int::ONE),
            (_, None) => {}
        }
        // The part of [low, high] inside a run of windows, from the end at which the sweep meets it.
        let last = |run: &Windows| &run.start + &run.count - Int::ONE;
        match self.order {
            Order::Increasing => {
                let run = &self.windows.get(self.windows.partition_point(|run| last(run) < low))?;
                let v = low.max(run.start.clone());
                (v <= high && v <= last(run)).then_some(v)
            }
            Order::Decreasing => {
                let run = &self.windows[..self.windows.partition_point(|run| run.start <= high)].last()?;
                let v = high.min(last(run));
                (v >= low && v >= run.start).then_some(v)
            }
        }
    }

    /// What the sweep adds to each token's first row, by jumping from one window that touches a token to the next.
    fn gains(&self, ids: &[Rat]) -> Vec<Rat> {
        let scale = Rat::from(&self.scale);
        let mut ids = ids.to_vec();
        let mut gains = vec![Rat::ZERO; ids.len()];
        let mut passed: Option<Int> = None;
        loop {
            let touched = ids.iter().filter_map(|id| self.next(passed.as_ref(), id));
            let first = match self.order {
                Order::Increasing => touched.min(),
                Order::Decreasing => touched.max(),
            };
            let Some(v) = first else { return gains };
            let centre = Rat::from(&v);
            let sparse = self.sparse.as_ref().zip(self.served(&v));
            let connections = sparse.map(|(sparse, layer)| sparse.pattern.layer(layer));
            let select = |(token, id): (usize, &Rat)| {
                let offset = id - &centre;
                let inside = offset.abs() <= self.half_width;
                inside.then(|| Extremes::of(&seen(&ids, connections, token)).selected(&offset, &self.half_width))
            };
            let selected: Vec<Option<Rat>> = ids.iter().enumerate().map(select).collect();
            for (token, gained) in selected.into_iter().enumerate() {
                if let Some(gained) = gained {
                    let gained = &scale * gained;
                    ids[token] += &(&self.u[0] * &gained);
                    gains[token] += &gained;
                }
            }
            passed = Some(v);
        }
    }

    /// Refuses parameters that a hand-edited file may hold and that no sweep can have.
    pub(super) fn check(&self, grid: &Grid) -> std::result::Result<(), String> {
        if self.half_width.is_negative() {
            return Err(format!("the half-width {} is negative", self.half_width));
        }
        let overlap = |pair: &[Windows]| &pair[0].start + &pair[0].count > pair[1].start;
        if self.windows.iter().any(|run| run.count < Int::ZERO) || self.windows.windows(2).any(overlap) {
            return Err("the windows do not ascend".to_owned());
        }
        let unserved = |sparse: &SparseSweep| {
            sparse.served.len() != self.windows.len()
                || sparse.served.iter().any(|layer| *layer >= sparse.pattern.period())
        };
        if self.sparse.as_ref().is_some_and(unserved) {
            return Err("a run of windows acts in no layer of the pattern".to_owned());
        }
        self.sparse.as_ref().map_or(Ok(()), |sparse| fits(&sparse.pattern, grid))
    }

    /// How many windows there are.
    pub fn count(&self) -> Int {
        self.windows.iter().fold(Int::ZERO, |total, run| total + &run.count)
    }
}

/// Adds to each token's first row what `gains` makes of the ids.
fn shift_first_row(state: &mut Sequence, u: &[Rat], gains: impl Fn(&[Rat]) -> Vec<Rat>) {
    let ids: Vec<Rat> = state.iter().map(|token| dot(u, token)).collect();
    for (token, gain) in state.iter_mut().zip(gains(&ids)) {
        token[0] += &gain;
    }
}

impl Generator for SelectiveShifts {
    fn width(&self) -> usize {
        self.u.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::Attention
    }

    fn size(&self) -> StageSize {
        // Per head: u three times, a bias that is a half-integer, one output weight.
        let nonzeros = self.count() * Int::from(2 * (3 * self.u.len() + 2));
        let layers = self.count() * Int::from(self.sparse.as_ref().map_or(1, |sparse| sparse.pattern.period()));
        StageSize { layers, heads: 2, head_size: 1, hidden: 0, units: Int::ZERO, nonzeros }
    }

    fn connections(&self) -> Option<usize> {
        self.sparse.as_ref().map(|sparse| sparse.pattern.connections())
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new(self.sweep().flat_map(|v| self.layers_of(&v)).map(Ok))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        shift_first_row(&mut state, &self.u, |ids| self.gains(ids));
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

impl GlobalShift {
    /// How many layers there are.
    pub fn hops(&self) -> usize {
        self.sparse.as_ref().map_or(1, |hops| hops.count)
    }

    /// The scale of what all layers together add: `scale^s`.
    pub fn unit(&self) -> Int {
        self.scale.pow(self.hops())
    }

    /// Refuses parameters that a hand-edited file may hold and that no layers can have.
    pub(super) fn check(&self, grid: &Grid) -> std::result::Result<(), String> {
        if self.hops() == 0 {
            return Err("no layer broadcasts the largest id".to_owned());
        }
        self.sparse.as_ref().map_or(Ok(()), |hops| fits(&hops.pattern, grid))
    }

    /// What a token sees in a layer.
    fn connections(&self, layer: usize) -> Option<&Connections> {
        self.sparse.as_ref().map(|hops| hops.pattern.layer(layer))
    }

    /// What the layers add to each token's first row.
    fn gains(&self, ids: &[Rat]) -> Vec<Rat> {
        let scale = Rat::from(&self.scale);
        let mut moved = ids.to_vec();
        let mut gains = vec![Rat::ZERO; ids.len()];
        for layer in 0..self.hops() {
            let to_threshold = |id: &Rat| id.cmp(&self.threshold);
            let gained: Vec<Rat> = match self.connections(layer) {
                None => {
                    let extremes = Extremes::of(&moved);
                    moved.iter().map(|id| &scale * extremes.attended(to_threshold(id)).as_ref()).collect()
                }
                some => {
                    let gain = |(token, id): (usize, &Rat)| {
                        &scale * Extremes::of(&seen(&moved, some, token)).attended(to_threshold(id)).as_ref()
                    };
                    moved.iter().enumerate().map(gain).collect()
                }
            };
            for ((id, total), gain) in moved.iter_mut().zip(&mut gains).zip(&gained) {
                *id += &(&self.u[0] * gain);
                *total += gain;
            }
        }
        gains
    }
}

impl Generator for GlobalShift {
    fn width(&self) -> usize {
        self.u.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::Attention
    }

    fn size(&self) -> StageSize {
        let layers = Int::from(self.hops());
        let nonzeros = &layers * Int::from(3 * self.u.len() + 1 + usize::from(!self.threshold.is_zero()));
        StageSize { layers, heads: 1, head_size: 1, hidden: 0, units: Int::ZERO, nonzeros }
    }

    fn connections(&self) -> Option<usize> {
        self.sparse.as_ref().map(|hops| hops.pattern.connections())
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let heads = vec![head(&self.u, &self.threshold, Rat::from(&self.scale))];
        let layer = move |layer| Attention::hardmax(heads.clone(), self.connections(layer).cloned());
        Box::new((0..self.hops()).map(move |index| Ok(Layer::Attention(layer(index)))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        shift_first_row(&mut state, &self.u, |ids| self.gains(ids));
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

/// How the tokens of a sequence are told apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// Not at all (Theorem 2): a context is a set of distinct columns.
    None,
    /// Token 1 highest and never shifted, the others below it in order (Theorem 3, repaired).
    Repaired,
    /// Token `j` at `j-1` (Theorem 3 as printed).
    Printed,
    /// The same as repaired, for the tokens in this order (sparse.rs).
    Chain(Vec<usize>),
}

/// The contextual map as a whole: the contexts, their ids, and the way back from an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextMap {
    /// The lattice.
    pub grid: Grid,
    /// How tokens are told apart.
    pub positions: Positions,
    /// The sweep.
    pub sweep: SelectiveShifts,
    /// The last layer.
    pub global: GlobalShift,
}

/// A context with the ids that the map gives to its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The column of each token, as an id in `0..D`, without its position.
    pub columns: Vec<Int>,
    /// What each token's id was before the map, position included.
    pub before: Vec<Rat>,
    /// What it is after it.
    pub ids: Vec<Rat>,
}

impl Context {
    /// The token with this id.
    pub fn token_with(&self, id: &Rat) -> Option<usize> {
        self.ids.iter().position(|other| other == id)
    }
}

impl ContextMap {
    /// The map of Lemma 6, or of its counterpart in Theorem 3.
    pub fn new(grid: &Grid, positions: Positions) -> Self {
        let (n, columns) = (grid.tokens(), grid.columns());
        let u: Vec<Rat> = grid.radix().iter().map(Rat::from).collect();
        let run = |token: usize| Windows { start: range_start(grid, &positions, token), count: columns.clone() };
        let side = Int::from(n) * Int::from(grid.resolution());
        let (windows, global) = match &positions {
            Positions::None => (vec![run(0)], columns.pow(n + 1)),
            Positions::Repaired => ((1..n).map(run).collect(), side * columns.pow(n)),
            Positions::Printed => ((0..n).map(run).collect(), side * columns.pow(n + 1)),
            Positions::Chain(order) => (order[1..].iter().map(|token| run(*token)).collect(), side * columns.pow(n)),
        };
        let sweep = SelectiveShifts {
            u: u.clone(),
            windows,
            half_width: Rat::new(1, 2),
            scale: columns.clone(),
            order: Order::Increasing,
            sparse: None,
        };
        let global = GlobalShift { u, threshold: Rat::ZERO, scale: global, sparse: None };
        Self { grid: grid.clone(), positions, sweep, global }
    }

    /// The position that token `token` (from 0) gets, in units of the box's side.
    pub fn position(&self, token: usize) -> usize {
        position(self.grid.tokens(), &self.positions, token)
    }

    /// The context of these columns, token by token; for [`Positions::None`] they must ascend.
    pub fn context(&self, columns: Vec<Int>) -> Context {
        let starts = (0..self.grid.tokens()).map(|token| range_start(&self.grid, &self.positions, token));
        let before: Vec<Rat> = columns.iter().zip(starts).map(|(column, start)| Rat::from(column + start)).collect();
        let gained = |ids: Vec<Rat>, gains: Vec<Rat>| -> Vec<Rat> {
            ids.into_iter().zip(gains).map(|(id, gain)| id + gain).collect()
        };
        let shifted = gained(before.clone(), self.sweep.gains(&before));
        let gains = self.global.gains(&shifted);
        Context { columns, before, ids: gained(shifted, gains) }
    }

    /// Whether tokens have positions: then every sequence is a context.
    pub fn is_positional(&self) -> bool {
        self.positions != Positions::None
    }

    /// The number of contexts: `C(D, n)`, with positions `D^n`.
    pub fn count(&self) -> Int {
        if self.is_positional() { self.grid.points() } else { self.grid.contexts() }
    }

    /// Every context, by decreasing `⌊id / global scale⌋`.
    pub fn descending(&self) -> Box<dyn Iterator<Item = Context> + '_> {
        if self.is_positional() {
            let (lowest, highest) = self.bounds();
            let tops = std::iter::successors(Some(highest), |top| Some(top - Int::ONE));
            Box::new(tops.take_while(move |top| *top >= lowest).flat_map(|top| self.with_top(&top)))
        } else {
            let sets = by_spread(self.grid.columns(), self.grid.tokens());
            Box::new(sets.map(|columns| self.context(columns)))
        }
    }

    /// Every context, in lexicographic order of its columns.
    pub fn lexicographic(&self) -> Box<dyn Iterator<Item = Context> + '_> {
        let (columns, n) = (self.grid.columns(), self.grid.tokens());
        if self.is_positional() {
            let ids = Int::ZERO.up_to(&columns).collect();
            Box::new(tuples(ids, n).map(|columns| self.context(columns)))
        } else {
            Box::new(increasing_tuples(&Int::ZERO, columns, n).map(|columns| self.context(columns)))
        }
    }

    /// The part of an id that names the context.
    fn top(&self, id: &Rat) -> Int {
        id.floor().div_rem(&self.global.unit()).0
    }

    /// Bounds of the largest id before the global shift, over all contexts with positions.
    fn bounds(&self) -> (Int, Int) {
        let (n, columns) = (self.grid.tokens(), self.grid.columns());
        let top_of = |is_largest: &dyn Fn(usize) -> bool| {
            let digit = |token| if is_largest(token) { &columns - Int::ONE } else { Int::ZERO };
            let context = self.context((0..n).map(digit).collect());
            context.ids.iter().map(|id| self.top(id)).max().unwrap_or_default()
        };
        match &self.positions {
            // l̃_n = const + D^{n-1} a_1 - (D-1) Σ D^{n-i} a_i rises with the first digit and falls with the others.
            Positions::None | Positions::Repaired => (top_of(&|token| token > 0), top_of(&|token| token == 0)),
            Positions::Chain(order) => (top_of(&|token| token != order[0]), top_of(&|token| token == order[0])),
            // l̃_n = const - (D-1) Σ_{i<n} D^{n-i} a_i + (D^n - D + 1) a_n rises with the last digit and falls with the others; and
            // the first token, shifted once, is past D, also in the sequence that is hit twice.
            Positions::Printed => (columns.clone(), top_of(&|token| token + 1 == n)),
        }
    }

    /// The smallest id of any context, or a bound below it.
    pub fn lowest_id(&self) -> Rat {
        if self.is_positional() {
            Rat::from(self.global.unit() * &self.bounds().0)
        } else {
            Rat::from(interval(&self.grid).0)
        }
    }

    /// The context that holds this id, and the token.
    pub fn locate(&self, id: &Rat) -> Option<(Context, usize)> {
        if id.is_negative() || !id.is_int() {
            return None;
        }
        self.with_top(&self.top(id)).into_iter().find_map(|context| {
            let token = context.token_with(id)?;
            Some((context, token))
        })
    }

    /// The contexts whose ids all have this top: one at most, by property 2.
    fn with_top(&self, top: &Int) -> Vec<Context> {
        let decoded = self.decode(top);
        // As printed, n = 2 and d = 1 shift token 1 twice when it stands at D-1 and token 2 at 0 (the re-hit of Theorem 3): its
        // ids do not follow the recurrence that is decoded here.
        let rehit = (self.positions == Positions::Printed && self.grid.tokens() == 2 && self.grid.dims() == 1)
            .then(|| vec![self.grid.columns() - Int::ONE, Int::ZERO]);
        let contexts = decoded.into_iter().chain(rehit).map(|columns| self.context(columns));
        contexts.filter(|context| context.ids.iter().all(|id| self.top(id) == *top)).collect()
    }

    /// The columns for which the recurrence ends in `l̃_n = top`.
    fn decode(&self, top: &Int) -> Option<Vec<Int>> {
        let (n, columns, scale) = (self.grid.tokens(), self.grid.columns(), &self.sweep.scale);
        let start = |token: usize| range_start(&self.grid, &self.positions, token);
        let digit = |shifted: &Int, token: usize| {
            let digit = (shifted - start(token)) % scale;
            (digit < columns).then_some(digit)
        };
        // From l̃_j and l_j to l̃_{j-1}.
        let back = |shifted: &Int, before: &Int| (shifted - before).div_rem(scale).0 + before;
        let order: Cow<'_, [usize]> = match &self.positions {
            Positions::Chain(order) => Cow::Borrowed(order),
            _ => Cow::Owned((0..n).collect()),
        };
        let (first, last) = (order[0], order[n - 1]);
        let mut digits = vec![Int::ZERO; n];
        let mut shifted = top.clone();
        for token in order[1..].iter().rev().copied() {
            digits[token] = digit(&shifted, token)?;
            shifted = back(&shifted, &(&digits[token] + start(token)));
        }
        if matches!(self.positions, Positions::Repaired | Positions::Chain(_)) {
            // The first token is never shifted.
            digits[first] = shifted - start(first);
            (digits[first] >= Int::ZERO && digits[first] < columns).then_some(digits)
        } else {
            digits[first] = digit(&shifted, first)?;
            let largest = back(&shifted, &(&digits[first] + start(first)));
            let ascending = self.positions == Positions::Printed || digits.windows(2).all(|pair| pair[0] < pair[1]);
            (ascending && largest == &digits[last] + start(last)).then_some(digits)
        }
    }

    /// The largest id of any context.
    pub fn largest_id(&self) -> Int {
        let first = self.descending().next();
        first.and_then(|context| context.ids.iter().map(Rat::ceil).max()).unwrap_or_default()
    }

    /// The largest id before the map: that of the last column of the token with the highest position.
    pub fn largest_before(&self) -> Int {
        let starts = (0..self.grid.tokens()).map(|token| range_start(&self.grid, &self.positions, token));
        starts.max().unwrap_or_default() + self.grid.columns() - Int::ONE
    }

    /// The largest number of binary digits of an id of a context.
    pub fn id_bits(&self) -> usize {
        self.largest_id().bits()
    }

    /// The most keys besides the winner that a query sees.
    pub fn most_others(&self) -> usize {
        let cycle = self.global.sparse.iter().flat_map(|hops| hops.pattern.cycle());
        let keys = cycle.flat_map(|layer| (0..layer.tokens()).map(|token| layer.keys(token).len()));
        keys.max().unwrap_or(self.grid.tokens()) - 1
    }

    /// Refuses parameters that a hand-edited file may hold and that do not tell contexts apart.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        self.sweep.check(&self.grid)?;
        self.global.check(&self.grid)?;
        let tokens = self.grid.tokens();
        if let Positions::Chain(order) = &self.positions {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.into_iter().eq(0..tokens) {
                return Err(format!("the chain {order:?} is not a row of {tokens} tokens"));
            }
        }
        let windows = self.sweep.count();
        if windows > Int::from(self.grid.tokens()) * self.grid.columns() {
            return Err(format!("{windows} windows, more than n·D"));
        }
        if self.sweep.u != self.grid.radix().iter().map(Rat::from).collect::<Vec<_>>() {
            return Err(format!("u is not (1, N, …), N = {}", self.grid.resolution()));
        }
        if self.sweep.scale < self.grid.columns() || self.global.scale <= Int::ZERO {
            let columns = self.grid.columns();
            return Err(format!(
                "the scales {} and {} are too small for D = {columns}",
                self.sweep.scale, self.global.scale
            ));
        }
        Ok(())
    }
}

/// Refuses a pattern of another number of tokens.
fn fits(pattern: &Pattern, grid: &Grid) -> std::result::Result<(), String> {
    let (found, expected) = (pattern.tokens(), grid.tokens());
    if found == expected { Ok(()) } else { Err(format!("a pattern of {found} tokens, expected {expected}")) }
}

/// The position of a token, from 0, in units of the box's side.
fn position(tokens: usize, positions: &Positions, token: usize) -> usize {
    let behind = |rank: usize| if rank == 0 { tokens - 1 } else { rank - 1 };
    match positions {
        Positions::None => 0,
        Positions::Repaired => behind(token),
        Positions::Printed => token,
        Positions::Chain(order) => behind(order.iter().position(|other| *other == token).unwrap_or_default()),
    }
}

/// The smallest id of a token: position times `N(1 + N + … + N^{d-1})`.
pub(super) fn range_start(grid: &Grid, positions: &Positions, token: usize) -> Int {
    let resolution = Int::from(grid.resolution());
    let (unit, _) = (&resolution * (grid.columns() - Int::ONE)).div_rem(&(&resolution - Int::ONE));
    Int::from(position(grid.tokens(), positions, token)) * unit
}

/// `[t_l, t_r)`, which holds the ids of the sequences with distinct columns and no others.
pub fn interval(grid: &Grid) -> (Int, Int) {
    let (n, columns) = (grid.tokens(), grid.columns());
    let below = &columns - Int::ONE;
    (columns.pow(2 * n) * &below, columns.pow(2 * n + 1) * below)
}
