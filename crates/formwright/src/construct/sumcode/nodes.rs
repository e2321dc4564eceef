//! The ids of all tokens of all sequences, and the values that belong to them.
//!
//! A sequence is a multiset of columns (with positions, a column at every place); a token of it is one of its different
//! columns. Its id is
//!
//! ```text
//! S·Σ + c,                  S = max Φ + 1,  Σ the sum of the codes,  c the token's own code;      or, ranked,
//! Q·(rank of Σ) + a,        a the token's place in the code
//! ```
//!
//! *Count*: `M = D·C(D+n-2, n-1)` tokens in `C(D+n-1, n)` multisets; with positions `n·D^n` in `D^n`.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::construct::yun::centres::value_at_centre;
use crate::error::{Error, Result};
use crate::exact::{Int, Rat, Sequence};
use crate::lattice::codes::{Code, Codes};
use crate::lattice::{Grid, tuples};
use crate::target::Target;

/// The most ids that are listed.
pub(crate) const MOST_NODES: u64 = 1_000_000;

/// The most steps of the target in which the values are found.
const MOST_STEPS: u128 = 1 << 26;

/// An id and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The id.
    pub id: Int,
    /// The output of the token there.
    pub value: Vec<Rat>,
}

/// All ids of a grid under a code.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    /// The grid.
    pub grid: Grid,
    /// The function whose values they hold.
    pub target: Arc<Target>,
    /// The codes.
    pub codes: Codes,
    /// `S`.
    pub scale: Int,
    /// True if ids are ranks of sums, not sums.
    pub ranked: bool,
    /// True if an irrational value is stored as a rational number near it, for floats.
    pub near: bool,
    /// The coordinate of each cell at which values are taken, where that is not its centre.
    pub centres: Option<Vec<Rat>>,
    sums: OnceLock<Result<Vec<Int>>>,
    listed: OnceLock<Result<Vec<Node>>>,
}

impl Nodes {
    /// The ids for a target on a grid.
    pub fn new(grid: Grid, target: Arc<Target>, codes: Codes, ranked: bool, near: bool) -> Self {
        let scale = codes.largest() + Int::ONE;
        let (sums, listed) = (OnceLock::new(), OnceLock::new());
        Self { grid, target, codes, scale, ranked, near, centres: None, sums, listed }
    }

    /// The same, with values taken at these coordinates of the cells.
    pub fn at(self, centres: Option<Vec<Rat>>) -> Self {
        Self { centres, ..self }
    }

    /// `Q`: the number of codes.
    pub fn symbols(&self) -> usize {
        self.codes.values.len()
    }

    fn is_positional(&self) -> bool {
        self.codes.code == Code::Positional
    }

    /// `R`: the number of multisets, or sequences.
    pub fn multisets(&self) -> Int {
        let n = self.codes.tokens;
        if self.is_positional() { self.grid.points() } else { (self.grid.columns() + Int::from(n - 1)).choose(n) }
    }

    /// `M`: the number of their tokens.
    pub fn count(&self) -> Int {
        let n = self.codes.tokens;
        if self.is_positional() {
            self.grid.points() * Int::from(n)
        } else {
            self.grid.columns() * (self.grid.columns() + Int::from(n) - Int::from(2)).choose(n - 1)
        }
    }

    /// The value is 0 at this id and below it, where sequences outside of the box lie.
    pub fn floor(&self) -> Int {
        if self.ranked { Int::from(self.symbols()) - Int::ONE } else { Int::ZERO }
    }

    /// The lowest id that a value block meets, outside of the box.
    pub fn lowest(&self) -> Int {
        if self.ranked { -Int::ONE } else { Int::ZERO }
    }

    /// The largest sum.
    pub fn largest_sum(&self) -> Int {
        if !self.is_positional() {
            return self.codes.largest() * Int::from(self.codes.tokens);
        }
        let ids = self.symbols() / self.codes.tokens;
        self.codes.values.iter().skip(ids - 1).step_by(ids).fold(Int::ZERO, |sum, code| sum + code)
    }

    /// A bound on the ids, attained unless sums are ranked.
    pub fn largest(&self) -> Int {
        if self.ranked {
            // The last multiset's last token.
            (self.multisets() + Int::ONE) * Int::from(self.symbols()) - Int::ONE
        } else {
            &self.scale * self.largest_sum() + self.codes.largest()
        }
    }

    /// Every multiset, as places in the list of codes; with positions every sequence.
    fn places(&self) -> Box<dyn Iterator<Item = Vec<usize>> + '_> {
        let (n, count) = (self.codes.tokens, self.symbols());
        if self.is_positional() {
            let ids = count / n;
            let at_places = move |sequence: Vec<usize>| sequence.iter().enumerate().map(|(j, a)| j * ids + a).collect();
            return Box::new(tuples((0..ids).collect(), n).map(at_places));
        }
        let mut next = Some(vec![0; n]);
        Box::new(std::iter::from_fn(move || {
            let set = next.take()?;
            if let Some(place) = set.iter().rposition(|&entry| entry + 1 < count) {
                let mut grown = set.clone();
                let entry = set[place] + 1;
                grown[place..].fill(entry);
                next = Some(grown);
            }
            Some(set)
        }))
    }

    /// Declines more ids than can be listed, and values that would take too long, before there are any.
    pub fn check_count(&self) -> Result<()> {
        check(&self.count(), "ids")?;
        let each = self.target.steps(self.codes.tokens);
        let most = Int::from(u64::try_from(MOST_STEPS / each.max(1)).unwrap_or(u64::MAX));
        let multisets = self.multisets();
        if multisets <= most {
            return Ok(());
        }
        Err(Error::declined(format!(
            "the value map has the target's values at {multisets} multisets, of {each} steps each"
        ))
        .note("limit", format!("{MOST_STEPS} steps in all"))
        .note("try", "fewer ⟨tokens⟩, or ⟨construction=circuit⟩"))
    }

    /// The sums of all multisets, increasing.
    pub fn sums(&self) -> Result<&[Int]> {
        let list = || {
            check(&self.multisets(), "sums")?;
            let sum = |places: Vec<usize>| places.iter().fold(Int::ZERO, |sum, place| sum + &self.codes.values[*place]);
            let mut sums: Vec<Int> = self.places().map(sum).collect();
            sums.sort_unstable();
            Ok(sums)
        };
        self.sums.get_or_init(list).as_deref().map_err(Clone::clone)
    }

    /// The id of a token, given its sequence's sum and its place in the code.
    fn id(&self, sum: &Int, place: usize) -> Result<Int> {
        if !self.ranked {
            return Ok(&self.scale * sum + &self.codes.values[place]);
        }
        let rank = self.sums()?.partition_point(|known| known <= sum);
        Ok(Int::from(rank) * Int::from(self.symbols()) + Int::from(place))
    }

    /// The values of all tokens of a multiset, in its order.
    fn values(&self, places: &[usize]) -> Result<Vec<Vec<Rat>>> {
        let ids = if self.is_positional() { self.symbols() / self.codes.tokens } else { self.symbols() };
        let point: Vec<Vec<u64>> = places.iter().map(|place| self.grid.column(&Int::from(place % ids))).collect();
        let Some(centres) = &self.centres else {
            return value_at_centre(&self.target, &self.grid, &point, self.near);
        };
        let coordinate = |k: &u64| usize::try_from(*k).ok().and_then(|k| centres.get(k)).cloned().unwrap_or_default();
        let x: Sequence = point.iter().map(|column| column.iter().map(coordinate).collect()).collect();
        if self.near { self.target.evaluate_near(&x) } else { self.target.evaluate(&x) }
    }

    /// All ids with their values, increasing.
    pub fn listed(&self) -> Result<&[Node]> {
        let list = || {
            self.check_count()?;
            let mut nodes = Vec::new();
            for places in self.places() {
                let sum = places.iter().fold(Int::ZERO, |sum, place| sum + &self.codes.values[*place]);
                let values = self.values(&places)?;
                for (token, value) in values.into_iter().enumerate() {
                    // Equal columns have one id and one value.
                    if token == 0 || places[token] != places[token - 1] {
                        nodes.push(Node { id: self.id(&sum, places[token])?, value });
                    }
                }
            }
            nodes.sort_unstable_by(|a, b| a.id.cmp(&b.id));
            Ok(nodes)
        };
        self.listed.get_or_init(list).as_deref().map_err(Clone::clone)
    }

    /// The value at an id, if it is one: the sum is decoded, and nothing is listed.
    pub fn value_at(&self, id: &Int) -> Result<Option<Vec<Rat>>> {
        if *id <= self.floor() || *id > self.largest() {
            return Ok(None);
        }
        let (sum, place) = if self.ranked {
            let (rank, place) = id.div_rem(&Int::from(self.symbols()));
            let sum = (rank - Int::ONE).to_usize().and_then(|rank| self.sums().ok()?.get(rank).cloned());
            (sum, place.to_usize())
        } else {
            let (sum, code) = id.div_rem(&self.scale);
            (Some(sum), self.codes.values.binary_search(&code).ok())
        };
        let (Some(sum), Some(place)) = (sum, place) else { return Ok(None) };
        let Some(places) = self.codes.decode(&sum) else { return Ok(None) };
        let Some(token) = places.iter().position(|known| *known == place) else { return Ok(None) };
        Ok(Some(self.values(&places)?.swap_remove(token)))
    }

    /// The data written to a file; the target has a file of its own.
    pub fn to_json(&self) -> Value {
        let mut written = json!({
            "grid": self.grid,
            "code": self.codes.code.to_string(),
            "field": self.codes.field,
            "codes": self.codes.values,
            "scale": self.scale,
            "ranked": self.ranked,
        });
        if let Some(centres) = &self.centres {
            written["centres"] = json!(centres);
        }
        written
    }
}

/// Declines a list that is too long.
fn check(count: &Int, what: &str) -> Result<()> {
    if *count <= Int::from(MOST_NODES) {
        return Ok(());
    }
    Err(Error::declined(format!("the value map has {count} {what}, too many to write down"))
        .note("limit", MOST_NODES.to_string())
        .note("try", "a coarser ⟨resolution⟩, or fewer ⟨tokens⟩"))
}
