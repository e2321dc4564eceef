//! Lemma 7: the value map `g_v`, feed-forward layers.
//!
//! Integer units, `id = uᵀZ` of a token that comes from the contextual map:
//!
//! ```text
//! outside    Z ← Z - (M+1) 1_d φ(uᵀZ),                    φ(t) = 1 for t ∉ [t_l, t_r],  else 0
//! clear i    Z ← Z + e_i max(-e_iᵀZ, 0)                    i = 1, …, d
//! window     Z ← Z + ((A_L)_j - g_c(L)_j) φ(uᵀZ - c),      φ(t) = 1 for -½ ≤ t < ½,      else 0
//! ```
//!
//! with one window for each context `L` and token `j`, centred at `c = uᵀg_c(L)_j`. The first two steps send every
//! token of a sequence with duplicates or flags to 0, since `M` is at least every entry that the contextual map can
//! produce; the windows replace a token by its value.
//!
//! *Size*: `1 + d + n·C(D,n)` layers, with positions (Theorem 3) `n·D^n` and nothing to send to 0.
//!
//! # The hypothesis that is missing in print
//!
//! The windows act one after another, so a token that has been replaced by its value is tested by the windows after it.
//! With `n = 2`, `d = 1`, `N = 2` the only context has its centres at 13 and 13½ (real units): the target
//! `0 ↦ 13½, ½ ↦ 7` becomes `7, 7` if the windows stand in the order in which the lemma lists them
//! (`--as-printed lemma7-order`). It cannot happen while `|uᵀA_L|` is below every centre by more than ½ (`t_l - ½`;
//! with positions, the lowest id). Where this fails, the stored values are divided by the smallest power of two that
//! restores it, and last feed-forward layers of up to four ReLUs, one for every two output coordinates, multiply back:
//!
//! ```text
//! rescale    Z ← Z + (2^k - 1)(ReLU(Z) - ReLU(-Z))        two rows per layer
//! ```
//!
//! *Departures*: that repair; the windows stand in the order of *decreasing* centres (the paper leaves the order open),
//! the only one that survives floating point.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::context::{Context, ContextMap};
use super::stages::{StageKind, checked};
use super::{MAX_ID_BITS, basis, centres, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::network::{
    Activation, Break, FeedForward, Generator, Layer, LayerKind, Piece, Piecewise, Sequence, Side, StageSize, add, dot,
};
use crate::target::Target;

/// Sends a token whose id is outside `[low, high]` to 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZeroOutside {
    /// `u`, which reads a token's id.
    pub u: Vec<Rat>,
    /// `t_l`.
    pub low: Rat,
    /// `t_r`.
    pub high: Rat,
    /// `M + 1`.
    pub drop: Rat,
    /// The function of the id that is subtracted.
    pub by: Outside,
}

/// The function that the first layer of the value map subtracts, times `drop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outside {
    /// 1 outside of the interval, as in the lemma.
    Indicator,
    /// The distance to the interval, widened by ½, as the guard uses it.
    Distance,
}

impl ZeroOutside {
    /// The function of Φ that the first layer computes.
    fn phi(&self) -> Piecewise {
        let rest = Piece::constant(0);
        match self.by {
            Outside::Indicator => {
                Piecewise::window(self.low.clone(), self.high.clone(), true, rest, Piece::constant(1))
            }
            Outside::Distance => {
                let (low, high) = (&self.low - Rat::new(1, 2), &self.high - Rat::new(1, 2));
                let pieces = vec![Piece::line(-1, low.clone()), rest, Piece::line(1, -high.clone())];
                let breaks = [low, high].map(|at| Break { at, belongs: Side::Right }).to_vec();
                Piecewise::new(pieces, breaks).expect("low < high and a constant piece")
            }
        }
    }
}

impl ZeroOutside {
    /// Refuses parameters that a hand-edited file may contain and that no layer can have.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        if self.low < self.high { Ok(()) } else { Err(format!("the interval [{}, {}] is empty", self.low, self.high)) }
    }
}

impl Generator for ZeroOutside {
    fn width(&self) -> usize {
        self.u.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let layers = Int::from(1 + self.u.len());
        let nonzeros = Int::from(4 * self.u.len());
        StageSize { units: layers.clone(), layers, heads: 0, head_size: 0, hidden: 1, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let rows = self.u.len();
        let phi = self.phi();
        let down = vec![-self.drop.clone(); rows];
        let outside = FeedForward::unit(self.u.clone(), Rat::ZERO, Activation::Piecewise(phi), down);
        let clear = (0..rows).map(move |row| {
            let read = basis(rows, row, -Rat::ONE);
            FeedForward::unit(read, Rat::ZERO, Activation::Relu, basis(rows, row, Rat::ONE))
        });
        Box::new(std::iter::once(outside).chain(clear).map(|layer| Ok(Layer::FeedForward(layer))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        for token in &mut state {
            let down = self.phi().apply(&dot(&self.u, token)) * &self.drop;
            for z in token {
                *z -= &down;
                if z.is_negative() {
                    *z = Rat::ZERO;
                }
            }
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

impl StageKind for ZeroOutside {
    const NAME: &'static str = "zero";

    fn statement(&self) -> &'static str {
        "lemma7"
    }

    fn meaning(&self) -> String {
        "tokens of sequences with equal columns or flags become 0".to_owned()
    }

    fn read(parameters: Value, _: &Grid, _: &Arc<Target>) -> std::result::Result<Self, String> {
        checked(parameters, Self::check)
    }
}

/// `M`: at least every entry that the contextual map makes of the extended grid.
///
/// A flagged coordinate is `-F`; a column of flags has the id `-F(D-1)/(N-1)`. Each shift multiplies the distance to it
/// by `D`.
pub fn largest_entry(grid: &Grid, flag: &Rat) -> Rat {
    let (n, columns) = (grid.tokens(), Rat::from(grid.columns()));
    let below = &columns - Rat::ONE;
    let depth = flag * &below / Rat::from(grid.resolution() - 1);
    let mut reached = below.clone();
    for _ in 1..n {
        reached = &below + &columns * (reached + &depth);
    }
    (columns.pow(n + 1) + Rat::ONE) * reached
}

/// The order of the windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowOrder {
    /// By decreasing centre.
    DecreasingCentres,
    /// Context by context, lexicographic, and in it token by token: the order in which the lemma lists them.
    Listed,
}

/// The windows' parameters, and the target whose values they hold.
#[derive(Clone, Debug)]
pub struct ValueWindows {
    /// The lattice, the contexts and their ids.
    pub map: ContextMap,
    /// Half of a window's width: ½.
    pub half_width: Rat,
    /// The order.
    pub order: WindowOrder,
    /// Values are stored divided by `2^exponent`.
    pub exponent: usize,
    /// The number subtracted from a value before it is stored.
    pub offset: Rat,
    /// Whether an irrational value is stored as a rational number near it, for floats.
    pub near: bool,
    /// The function.
    pub target: Arc<Target>,
}

/// The widest window that a file may contain: the closed form tries every integer in it.
const MAX_HALF_WIDTH: u32 = 1000;

/// The part of [`ValueWindows`] that is written to a file; the target has a file of its own.
#[derive(Serialize, Deserialize)]
struct Written {
    map: ContextMap,
    half_width: Rat,
    order: WindowOrder,
    exponent: usize,
    offset: Rat,
    near: bool,
}

impl Written {
    /// Refuses parameters that a hand-edited file may hold and that no layer can have.
    fn check(&self, grid: &Grid) -> std::result::Result<(), String> {
        let Self { map, half_width, exponent, .. } = self;
        if map.grid != *grid {
            return Err("its grid is not the model's".to_owned());
        }
        map.check()?;
        if *half_width <= Rat::ZERO || *half_width > Rat::from(MAX_HALF_WIDTH) {
            return Err(format!("the half-width {half_width} is not in (0, {MAX_HALF_WIDTH}]"));
        }
        if *exponent > MAX_ID_BITS {
            return Err(format!("the exponent {exponent} is above {MAX_ID_BITS}"));
        }
        Ok(())
    }
}

/// A context, its tokens after the contextual map, and what replaces them.
struct Entry {
    context: Context,
    mapped: Sequence,
    values: Sequence,
}

impl ValueWindows {
    fn rows(&self) -> usize {
        self.map.grid.dims()
    }

    /// `g_c(L)` and `A_L`.
    fn entry(&self, context: Context) -> Result<Entry> {
        let grid = &self.map.grid;
        let point: Vec<Vec<u64>> = context.columns.iter().map(|id| grid.column(id)).collect();
        let mut values = centres::stored_value(&self.target, grid, &point, &self.offset, self.exponent, self.near)?;
        for value in &mut values {
            value.resize(self.rows(), Rat::ZERO);
        }
        let mut mapped: Sequence = point.iter().map(|column| column.iter().map(|&k| Rat::from(k)).collect()).collect();
        for (token, column) in mapped.iter_mut().enumerate() {
            let position = self.map.position(token);
            let raised = Rat::from(grid.resolution()) * Rat::from(position);
            for z in column.iter_mut() {
                *z += &raised;
            }
            column[0] += &(&context.ids[token] - &context.before[token]);
        }
        Ok(Entry { context, mapped, values })
    }

    /// The change that the window of token `token` makes: `(A_L)_j - g_c(L)_j`.
    fn change(entry: &Entry, token: usize) -> Vec<Rat> {
        entry.values[token].iter().zip(&entry.mapped[token]).map(|(value, z)| value - z).collect()
    }

    fn layer(&self, entry: &Entry, token: usize) -> Layer {
        let half = &self.half_width;
        let phi = Piecewise::window(-half.clone(), half.clone(), false, Piece::constant(1), Piece::constant(0));
        let centre = entry.context.ids[token].clone();
        let change = Self::change(entry, token);
        let u = self.map.sweep.u.clone();
        Layer::FeedForward(FeedForward::unit(u, -centre, Activation::Piecewise(phi), change))
    }

    /// The tokens of a context in the order of its windows.
    fn token_order(&self, context: &Context) -> Vec<usize> {
        let mut tokens: Vec<usize> = (0..context.ids.len()).collect();
        if self.order == WindowOrder::DecreasingCentres {
            tokens.sort_by(|&a, &b| context.ids[b].cmp(&context.ids[a]));
        }
        tokens
    }

    /// Whether the window `(a, token)` stands before the window `(b, other)`.
    fn before(&self, (a, token): (&Context, usize), (b, other): (&Context, usize)) -> bool {
        match self.order {
            WindowOrder::DecreasingCentres => a.ids[token] > b.ids[other],
            WindowOrder::Listed => (&a.columns, token) < (&b.columns, other),
        }
    }

    /// The first window, among those after `passed`, that holds `id`. Most often it belongs to the context `near`,
    /// which is tried before the id is decoded.
    fn next(&self, passed: Option<&(Context, usize)>, id: &Rat, near: Option<&Context>) -> Option<(Context, usize)> {
        // -½ ≤ id - c < ½
        let mut first: Option<(Context, usize)> = None;
        let mut centre = Rat::from((id + &self.half_width).floor());
        while centre > id - &self.half_width {
            let known = near.and_then(|context| Some((context.clone(), context.token_with(&centre)?)));
            if let Some((context, token)) = known.or_else(|| self.map.locate(&centre)) {
                let behind = passed.is_none_or(|(last, other)| self.before((last, *other), (&context, token)));
                let earlier = first.as_ref().is_none_or(|(best, other)| self.before((&context, token), (best, *other)));
                if behind && earlier {
                    first = Some((context, token));
                }
            }
            centre -= &Rat::ONE;
        }
        first
    }
}

impl Generator for ValueWindows {
    fn width(&self) -> usize {
        self.rows()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let layers = Int::from(self.map.grid.tokens()) * self.map.count();
        let nonzeros = &layers * Int::from(2 * self.rows() + 1);
        StageSize { units: layers.clone(), layers, heads: 0, head_size: 0, hidden: 1, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let contexts = match self.order {
            WindowOrder::DecreasingCentres => self.map.descending(),
            WindowOrder::Listed => self.map.lexicographic(),
        };
        Box::new(contexts.flat_map(move |context| match self.entry(context) {
            Err(error) => vec![Err(error)],
            Ok(entry) => {
                let tokens = self.token_order(&entry.context);
                tokens.into_iter().map(|token| Ok(self.layer(&entry, token))).collect()
            }
        }))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        // The tokens of a sequence share their context: it is looked up and evaluated once.
        let mut last: Option<Entry> = None;
        for token in &mut state {
            let mut passed = None;
            loop {
                let near = last.as_ref().map(|entry| &entry.context);
                let Some((context, place)) = self.next(passed.as_ref(), &dot(&self.map.sweep.u, token), near) else {
                    break;
                };
                let entry = match last.take().filter(|entry| entry.context == context) {
                    Some(entry) => entry,
                    None => self.entry(context.clone())?,
                };
                add(token, &Self::change(&entry, place));
                last = Some(entry);
                passed = Some((context, place));
            }
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(&Written {
            map: self.map.clone(),
            half_width: self.half_width.clone(),
            order: self.order,
            exponent: self.exponent,
            offset: self.offset.clone(),
            near: self.near,
        })
    }
}

impl StageKind for ValueWindows {
    const NAME: &'static str = "values";

    fn statement(&self) -> &'static str {
        "lemma7"
    }

    fn meaning(&self) -> String {
        match self.exponent {
            0 => "each id is replaced by the target's value, one window an id".to_owned(),
            k => format!("each id is replaced by the target's value divided by 2^{k}, one window an id"),
        }
    }

    fn read(parameters: Value, grid: &Grid, target: &Arc<Target>) -> std::result::Result<Self, String> {
        let Written { map, half_width, order, exponent, offset, near } =
            checked(parameters, |written: &Written| written.check(grid))?;
        Ok(Self { map, half_width, order, exponent, offset, near, target: Arc::clone(target) })
    }
}

/// Multiplies the first rows back by `2^exponent`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rescale {
    /// The width of the residual stream.
    pub width: usize,
    /// The number of rows that carry a value.
    pub rows: usize,
    /// The power of two.
    pub exponent: usize,
}

impl Rescale {
    /// Refuses parameters that a hand-edited file may contain and that no layer can have.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        if self.rows > self.width || self.exponent > MAX_ID_BITS {
            return Err(format!("{} rows of {}, exponent {}", self.rows, self.width, self.exponent));
        }
        Ok(())
    }
}

impl Generator for Rescale {
    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        StageSize {
            layers: Int::from(self.rows.div_ceil(2)),
            heads: 0,
            head_size: 0,
            hidden: 2 * self.rows.min(2),
            units: Int::from(2 * self.rows),
            nonzeros: Int::from(4 * self.rows),
        }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let gain = Rat::from(2).pow(self.exponent) - Rat::ONE;
        Box::new((0..self.rows).step_by(2).map(move |first| {
            let rows: Vec<usize> = (first..self.rows.min(first + 2)).collect();
            let w1: Vec<Vec<Rat>> = rows
                .iter()
                .flat_map(|&row| [basis(self.width, row, Rat::ONE), basis(self.width, row, -Rat::ONE)])
                .collect();
            let mut w2 = vec![vec![Rat::ZERO; w1.len()]; self.width];
            for (k, &row) in rows.iter().enumerate() {
                w2[row][2 * k] = gain.clone();
                w2[row][2 * k + 1] = -gain.clone();
            }
            Ok(Layer::FeedForward(FeedForward {
                b1: vec![Rat::ZERO; w1.len()],
                activations: vec![Activation::Relu; w1.len()],
                w1,
                w2,
                b2: vec![Rat::ZERO; self.width],
            }))
        }))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        let factor = Rat::from(2).pow(self.exponent);
        for z in state.iter_mut().flat_map(|token| &mut token[..self.rows]) {
            *z = &*z * &factor;
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(self)
    }
}

impl StageKind for Rescale {
    const NAME: &'static str = "rescale";

    fn statement(&self) -> &'static str {
        "lemma7"
    }

    fn meaning(&self) -> String {
        format!("values times 2^{}", self.exponent)
    }

    fn read(parameters: Value, _: &Grid, _: &Arc<Target>) -> std::result::Result<Self, String> {
        checked(parameters, Self::check)
    }
}
