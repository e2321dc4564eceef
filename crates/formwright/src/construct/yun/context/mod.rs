//! Lemma 6 and its counterparts: the contextual map `g_c`, attention layers with two heads of size one, hardmax.
//!
//! A map is *contextual* if behind it the id of a token names the token and its whole sequence: the ids inside of a
//! context are distinct, and two contexts share no id. All maps here work alike, in integer units, `id_j = uᵀZ_j`:
//!
//! ```text
//! sweep     Z ← Z + D Ψ(Z; v-½, v+½)      for the windows v in ascending order
//! global    Z ← Z + S ψ(Z; 0)
//! ```
//!
//! The sweep makes of the ids `l_1, …, l_n` the ids `l̃_1 < … < l̃_n` by the recurrence
//!
//! ```text
//! l̃_j = l_j + D(l̃_{j-1} - l_j),      j = 2, …, n,
//! ```
//!
//! and the global shift adds `S l̃_n` to all. Then `⌊id/S⌋ = l̃_n` (in `s` layers, `⌊id/S^s⌋`), from which the
//! recurrence, read backwards, gives every `l_j` again. The maps differ in who has which ids, and so in `l̃_1` and `S`.
//!
//! | file | for all maps |
//! |---|---|
//! | `head.rs` | the head `ψ` |
//! | `shifts.rs` | the selective shifts, `Ψ`, and their sweep |
//! | `global.rs` | the global shift |
//! | `arrangement.rs` | the recurrence, its inverse, and the places where the maps differ |
//!
//! | file | statement | contexts | `l̃_1` | `S` |
//! |---|---|---|---|---|
//! | `equivariant.rs` | Lemma 6, Lemma 10 (Theorem 2) | sets of distinct columns | `l_1 + D(l_n - l_1)` | `D^{n+1}` |
//! | `positional.rs` | Theorem 3, repaired | all sequences | `l_1` | `nND^n` |
//! | `as_printed.rs` | Theorem 3 as printed | all sequences | `l_1 + D(l_n - l_1)` | `nND^{n+1}` |
//! | `sparse.rs` | Yun et al. 2020b | all sequences | `l_1`, along a chain | `M`, in `s` layers |

mod arrangement;
mod as_printed;
mod equivariant;
mod global;
mod head;
mod positional;
mod shifts;
mod sparse;

use serde::{Deserialize, Serialize};

use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use arrangement::{Arrangement, Recurrence, shifted};
use as_printed::Printed;
use equivariant::Sets;
use positional::FirstHighest;

pub(crate) use equivariant::interval;
pub(crate) use global::GlobalShift;
pub(crate) use shifts::{Order, SelectiveShifts, Windows, selective_shift};

/// How the tokens of a sequence are told apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Positions {
    /// Not at all (Theorem 2): a context is a set of distinct columns.
    None,
    /// Token 1 highest and never shifted, the others below it in order (Theorem 3, repaired).
    Repaired,
    /// Token `j` at `j-1` (Theorem 3 as printed).
    Printed,
    /// The same as repaired, for the tokens in this order (sparse.rs).
    Chain(Vec<usize>),
}

impl Positions {
    fn arrangement(&self) -> Box<dyn Arrangement + '_> {
        match self {
            Self::None => Box::new(Sets),
            Self::Repaired => Box::new(FirstHighest { order: None }),
            Self::Printed => Box::new(Printed),
            Self::Chain(order) => Box::new(FirstHighest { order: Some(order) }),
        }
    }
}

/// The contextual map as a whole: the contexts, their ids, and the way back from an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContextMap {
    /// The lattice.
    pub grid: Grid,
    /// How tokens are told apart.
    pub positions: Positions,
    /// The sweep.
    pub sweep: SelectiveShifts,
    /// The last layer, or layers.
    pub global: GlobalShift,
}

/// A context with the ids that the map gives to its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    /// The column of each token, as an id in `0..D`, without its position.
    pub columns: Vec<Int>,
    /// The id of each token before the map, position included.
    pub before: Vec<Rat>,
    /// Its id after the map.
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
        let u: Vec<Rat> = grid.radix().iter().map(Rat::from).collect();
        let (windows, global_scale) = {
            let arrangement = positions.arrangement();
            let starts = arrangement.starts(grid);
            let run = |token: &usize| Windows { start: starts[*token].clone(), count: grid.columns() };
            let windows = arrangement.swept(&arrangement.order(grid.tokens())).iter().map(run).collect();
            (windows, arrangement.global_scale(grid))
        };
        let sweep = SelectiveShifts {
            u: u.clone(),
            windows,
            half_width: Rat::new(1, 2),
            scale: grid.columns(),
            order: Order::Increasing,
            sparse: None,
        };
        let global = GlobalShift { u, threshold: Rat::ZERO, scale: global_scale, sparse: None };
        Self { grid: grid.clone(), positions, sweep, global }
    }

    fn arrangement(&self) -> Box<dyn Arrangement + '_> {
        self.positions.arrangement()
    }

    /// The position that token `token` (from 0) gets, in units of the box's side.
    pub fn position(&self, token: usize) -> usize {
        self.arrangement().position(self.grid.tokens(), token)
    }

    /// The context of these columns, token by token; for [`Positions::None`] they must ascend.
    pub fn context(&self, columns: Vec<Int>) -> Context {
        let starts = self.arrangement().starts(&self.grid);
        let before: Vec<Rat> = columns.iter().zip(starts).map(|(column, start)| Rat::from(column + start)).collect();
        let gained = |ids: Vec<Rat>, gains: Vec<Rat>| -> Vec<Rat> {
            ids.into_iter().zip(gains).map(|(id, gain)| id + gain).collect()
        };
        let shifted = gained(before.clone(), self.sweep.gains(&before));
        let gains = self.global.gains(&shifted);
        Context { columns, before, ids: gained(shifted, gains) }
    }

    /// True if tokens have positions: then every sequence is a context.
    pub fn is_positional(&self) -> bool {
        self.positions != Positions::None
    }

    /// The number of contexts: `C(D, n)`, with positions `D^n`.
    pub fn count(&self) -> Int {
        self.arrangement().count(&self.grid)
    }

    /// Every context, by decreasing `⌊id / global scale⌋`.
    pub fn descending(&self) -> Box<dyn Iterator<Item = Context> + '_> {
        self.arrangement().descending(self)
    }

    /// Every context, in lexicographic order of its columns.
    pub fn lexicographic(&self) -> Box<dyn Iterator<Item = Context> + '_> {
        Box::new(self.arrangement().lexicographic(&self.grid).map(|columns| self.context(columns)))
    }

    /// The sum of the ids of all contexts: a formula where all of them follow the recurrence and one layer shifts globally.
    pub fn sum_of_ids(&self) -> Rat {
        let (arrangement, grid) = (self.arrangement(), &self.grid);
        let digits = arrangement.mean_digits(grid).filter(|_| self.global.sparse.is_none());
        let Some(digits) = digits else {
            return self.lexicographic().flat_map(|context| context.ids).fold(Rat::ZERO, |sum, id| sum + id);
        };
        let shifted = self.shifted(&digits);
        let highest = shifted.last().cloned().unwrap_or_default();
        let global = highest * Rat::from(&self.global.scale) * Rat::from(grid.tokens());
        Rat::from(self.count()) * shifted.into_iter().fold(global, |sum, id| sum + id)
    }

    /// `l̃_1, …, l̃_n` by the recurrence, for the digits of each token.
    fn shifted(&self, digits: &[Rat]) -> Vec<Rat> {
        let (arrangement, tokens) = (self.arrangement(), self.grid.tokens());
        let (starts, order) = (arrangement.starts(&self.grid), arrangement.order(tokens));
        let before: Vec<Rat> = order.iter().map(|token| &digits[*token] + &Rat::from(&starts[*token])).collect();
        shifted(&before, &Rat::from(&self.sweep.scale), arrangement.swept(&order).contains(&order[0]))
    }

    /// The part of an id that names the context: `max_j l̃_j`.
    fn top(&self, id: &Rat) -> Int {
        id.floor().div_rem(&self.global.unit()).0
    }

    /// This part of the ids of the sequence in which some tokens have the last column, and the others the first.
    fn top_where(&self, is_last: impl Fn(usize) -> bool) -> Int {
        let last = Rat::from(self.grid.columns() - Int::ONE);
        let digit = |token| if is_last(token) { last.clone() } else { Rat::ZERO };
        let digits: Vec<Rat> = (0..self.grid.tokens()).map(digit).collect();
        self.shifted(&digits).last().map_or(Int::ZERO, Rat::floor)
    }

    /// The smallest id of any context, or a bound below it.
    pub fn lowest_id(&self) -> Rat {
        Rat::from(self.global.unit() * self.arrangement().bounds(self).0)
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
        let (arrangement, grid) = (self.arrangement(), &self.grid);
        let starts = arrangement.starts(grid);
        let recurrence = Recurrence { scale: &self.sweep.scale, columns: grid.columns(), starts };
        let candidates = recurrence.decode(top, &*arrangement).into_iter().chain(arrangement.irregular(grid));
        let contexts = candidates.map(|columns| self.context(columns));
        contexts.filter(|context| context.ids.iter().all(|id| self.top(id) == *top)).collect()
    }

    /// The largest id of any context.
    pub fn largest_id(&self) -> Int {
        // Without hops the last token of the highest context has it; no other context is looked at.
        if let (Some(top), None) = (self.arrangement().highest(self), &self.global.sparse) {
            return top * (&self.global.scale + Int::ONE);
        }
        let first = self.descending().next();
        first.and_then(|context| context.ids.iter().map(Rat::ceil).max()).unwrap_or_default()
    }

    /// The largest id before the map: that of the last column of the token with the highest position.
    pub fn largest_before(&self) -> Int {
        let starts = self.arrangement().starts(&self.grid);
        starts.into_iter().max().unwrap_or_default() + self.grid.columns() - Int::ONE
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
    pub(super) fn check(&self) -> Result<(), String> {
        let (tokens, columns) = (self.grid.tokens(), self.grid.columns());
        self.sweep.check(&self.grid)?;
        self.global.check(&self.grid)?;
        self.arrangement().check(tokens)?;
        let windows = self.sweep.count();
        if windows > Int::from(tokens) * &columns {
            return Err(format!("{windows} windows, more than n·D"));
        }
        let u: Vec<Rat> = self.grid.radix().iter().map(Rat::from).collect();
        if self.sweep.u != u || self.global.u != u {
            return Err(format!("u is not (1, N, …), N = {}", self.grid.resolution()));
        }
        let (sweep, global) = (&self.sweep.scale, &self.global.scale);
        if *sweep < columns || *global <= Int::ZERO {
            return Err(format!("the scales {sweep} and {global} are too small for D = {columns}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_of_ids_are_those_of_all_contexts() {
        for (tokens, dims, resolution) in [(2, 1, 2), (2, 1, 5), (3, 1, 3), (3, 1, 6), (4, 1, 5), (2, 2, 2), (3, 2, 2)]
        {
            let grid = Grid::unit(tokens, dims, resolution).expect("a grid");
            let chain: Vec<usize> = (0..tokens).rev().collect();
            for positions in [Positions::None, Positions::Repaired, Positions::Printed, Positions::Chain(chain)] {
                let map = ContextMap::new(&grid, positions);
                let all = map.lexicographic().flat_map(|context| context.ids).fold(Rat::ZERO, |sum, id| sum + id);
                assert_eq!(map.sum_of_ids(), all, "{grid:?}, {:?}", map.positions);
                let largest = map.lexicographic().flat_map(|context| context.ids).max().expect("a context");
                assert_eq!(Rat::from(map.largest_id()), largest, "{grid:?}, {:?}", map.positions);
            }
        }
    }
}
