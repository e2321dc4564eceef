//! Yun, Bhojanapalli, Rawat, Reddi, Kumar, "Are Transformers universal approximators of sequence-to-sequence
//! functions?" (2020).
//!
//! | file | statement | content |
//! |---|---|---|
//! | `centres.rs` | Lemma 8 | the piecewise constant function that the network computes |
//! | `quantise.rs` | Lemma 5 | every coordinate to its cell, or to a flag |
//! | `context/` | Lemma 6 | an id for every token that names the whole sequence |
//! | `value/` | Lemma 7 | from the id to the value |
//! | `guard.rs` | ours | 0 everywhere outside of the box, also in floats, off the ramp around it |
//! | `equivariant.rs` | Theorem 2 | the network for equivariant functions |
//! | `positional.rs` | Theorem 3 | the network with positions, for all functions |
//! | `sparse.rs` | Yun et al. 2020b | the same, where a token sees few others |
//! | `stages.rs` | – | the list of all stages, by name |
//!
//! The network runs in integer units: the embedding multiplies by `N` (and moves the box to `[0, N)`), the read-out
//! divides by `N`. In the paper's real units every weight of the residual stream's scale is multiplied by `δ = 1/N`.

pub(crate) mod bound;
pub(crate) mod centres;
pub(crate) mod context;
pub(crate) mod equivariant;
pub(crate) mod family;
pub(crate) mod guard;
pub(crate) mod lattice;
pub(crate) mod lower;
pub(crate) mod positional;
pub(crate) mod quantise;
pub(crate) mod sparse;
mod stages;
pub(crate) mod value;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result, nearest};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::meaning::Meaning;
use crate::network::{Affine, Coordinate, Matrix, Network, Stage};
use crate::target::Target;

use context::{Order, Positions};
use guard::Guard;
use sparse::Sparse;

pub(crate) use stages::read_stage;

/// The longest id, in binary digits, that is supported: beyond it a single token would fill memory.
pub(crate) const MAX_ID_BITS: usize = 1 << 20;

/// The most bit operations of a run in closed form, which take some ten seconds.
const MAX_WORK: u128 = 1 << 36;

/// The most coordinates: the embedding has that many weights, squared.
const MAX_DIMS: usize = 1000;

/// A step of a printed proof, taken as printed instead of repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AsPrinted {
    /// Lemma 7's windows in the order of their listing, values unscaled.
    Lemma7Order,
    /// Theorem 3's positions `E_j = j-1`.
    Theorem3Positions,
    /// The lecture's flag `-δ^{nd}`.
    FlagSign,
}

impl AsPrinted {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Lemma7Order, Self::Theorem3Positions, Self::FlagSign];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lemma7Order => "lemma7-order",
            Self::Theorem3Positions => "theorem3-positions",
            Self::FlagSign => "flag-sign",
        }
    }
}

impl fmt::Display for AsPrinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AsPrinted {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let error = Error::input(format!("'{name}' is no step of a printed proof")).note("known", names.join(", "));
            match nearest(name, names) {
                Some(near) => error.note("try", format!("⟨as-printed={near}⟩")),
                None => error,
            }
        })
    }
}

/// The options of the construction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// True if to build Theorem 3 instead of Theorem 2.
    pub positional: bool,
    /// The pattern of the sparse counterpart of Theorem 3, which has positions.
    pub sparse: Option<Arc<Sparse>>,
    /// Steps taken as printed.
    pub as_printed: Vec<AsPrinted>,
    /// True if claims are about all of space, the target being 0 outside of the box.
    pub everywhere: bool,
    /// The choices that the lowering to floats makes.
    pub tuning: Tuning,
}

/// Freedoms of the construction that do not matter in exact arithmetic and do in floats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tuning {
    /// A number subtracted from the stored values and added again by the read-out: the output where the network would
    /// otherwise give 0.
    pub offset: Rat,
    /// The order of the quantiser's steps.
    pub steps: Order,
    /// A lower bound for Lemma 7's `M`.
    pub least_drop: Rat,
    /// The reach of a window below its centre: ½, and the ramp of a lowered one.
    pub window_reach: Rat,
    /// True if irrational values are stored as rational numbers near them.
    pub near: bool,
    /// The guard that keeps the network at 0 everywhere outside of the box.
    pub guard: Option<Guard>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            offset: Rat::ZERO,
            steps: Order::Increasing,
            least_drop: Rat::ZERO,
            window_reach: Rat::new(1, 2),
            near: false,
            guard: None,
        }
    }
}

impl Options {
    /// True if a step is taken as printed.
    pub fn prints(&self, step: AsPrinted) -> bool {
        self.as_printed.contains(&step)
    }

    /// The way in which the network tells tokens apart.
    fn positions(&self) -> Positions {
        match (self.positional, self.prints(AsPrinted::Theorem3Positions)) {
            (false, _) => Positions::None,
            (true, false) => Positions::Repaired,
            (true, true) => Positions::Printed,
        }
    }

    /// The contextual map on a grid.
    pub(super) fn map(&self, grid: &Grid) -> context::ContextMap {
        match &self.sparse {
            Some(sparse) => context::ContextMap::sparse(grid, sparse),
            None => context::ContextMap::new(grid, self.positions()),
        }
    }

    /// Lemma 7's `M + 1`, for a flag of this magnitude.
    pub(crate) fn drop(&self, grid: &Grid, flag: &Rat) -> Rat {
        (value::largest_entry(grid, flag) + Rat::ONE).max(self.tuning.least_drop.clone())
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.prints(AsPrinted::Theorem3Positions) && !self.positional {
            return Err(Error::input("⟨as-printed=theorem3-positions⟩ needs a network with positions")
                .note("try", "add ⟨positional⟩"));
        }
        if self.everywhere && self.positional {
            return Err(Error::declined("⟨domain=all⟩ needs a network that is 0 outside of the box")
                .note(
                    "theorem",
                    "Theorem 3 is about a compact domain: its network has no flags, and nothing is known outside",
                )
                .note(
                    "try",
                    if self.sparse.is_some() {
                        "leave out ⟨domain=all⟩"
                    } else {
                        "leave out ⟨domain=all⟩, or ⟨positional⟩"
                    },
                ));
        }
        if self.sparse.is_some() && !(self.positional && self.as_printed.is_empty()) {
            return Err(Error::input("sparse attention has positions, and every step repaired")
                .note("try", "leave out ⟨as-printed⟩"));
        }
        if self.prints(AsPrinted::FlagSign) && self.positional {
            return Err(Error::input("⟨as-printed=flag-sign⟩ needs a network with a flag, and Theorem 3 has none")
                .note("try", "leave out ⟨positional⟩"));
        }
        Ok(())
    }
}

/// The network of Theorem 2, or with positions of Theorem 3, for a target on a grid.
pub(crate) fn build(grid: &Grid, target: &Arc<Target>, options: &Options) -> Result<Network> {
    options.check()?;
    options.sparse.iter().try_for_each(|sparse| sparse.check(grid))?;
    check_size(grid)?;
    let outputs = target.output_dims();
    if outputs > grid.dims() {
        return Err(Error::declined(format!(
            "the target has {outputs} output coordinates, but a token only {}",
            grid.dims()
        ))
        .note("theorem", "yun maps sequences of d coordinates to sequences of d coordinates")
        .note("try", format!("⟨dims={outputs}⟩, with a target that ignores the further input coordinates")));
    }
    if options.positional {
        positional::build(grid, target, options)
    } else {
        equivariant::build(grid, target, options)
    }
}

/// Declines a network that is too large to work with, before any of its ids is computed.
pub(crate) fn check_size(grid: &Grid) -> Result<()> {
    let dims = grid.dims();
    if dims > MAX_DIMS {
        return Err(Error::declined(format!("the embedding of {dims} coordinates would have {dims} × {dims} weights"))
            .note("limit", format!("{MAX_DIMS} coordinates"))
            .note("try", format!("⟨dims={MAX_DIMS}⟩ or fewer")));
    }
    let digits = (64 - grid.resolution().leading_zeros()) as usize;
    let id_bits = |tokens: usize| (3 * tokens as u128 + 1) * (dims * digits) as u128 + 2;
    let work = |tokens: usize| (tokens as u128).pow(2) * id_bits(tokens);
    let fits = |tokens: usize| id_bits(tokens) <= MAX_ID_BITS as u128 && work(tokens) <= MAX_WORK;
    if grid.tokens() < MAX_ID_BITS && fits(grid.tokens()) {
        return Ok(());
    }
    let most = (2..MAX_ID_BITS).take_while(|&tokens| fits(tokens)).last();
    let size = format!(
        "ids of up to {} binary digits, and {:.1e} bit operations a run",
        id_bits(grid.tokens()),
        work(grid.tokens())
    );
    Err(Error::declined(format!("the network of {} tokens would be too large to run", grid.tokens()))
        .note("size", size)
        .note("reason", "an id has up to (3n+1)·log2 D + 2 digits, and a sweep touches n ids n times")
        .note("limit", format!("{MAX_ID_BITS} binary digits, {MAX_WORK:.1e} bit operations"))
        .note("try", most.map_or_else(|| "fewer ⟨dims⟩".to_owned(), |most| format!("⟨tokens={most}⟩ or fewer"))))
}

/// A rational range of the target, around which an exact network is built.
pub(crate) fn value_range(grid: &Grid, target: &Target) -> Result<(Rat, Rat)> {
    let why = "an exact network stores rational values, and where it puts them depends on a proved bound on them";
    target.range(grid.tokens()).map_err(|error| {
        let error = error.note("reason", why);
        // For floats, a rational number near an irrational one is enough.
        if target.range_near(grid.tokens()).is_ok() { error.note("try", "⟨precision=f64⟩") } else { error }
    })
}

/// The smallest `k` for which values divided by `2^k` stay below the windows: `|uᵀA_L| < lowest - ½`, where ½ is the
/// reach of the windows, and more for floats.
pub(crate) fn value_exponent(grid: &Grid, target: &Target, options: &Options, lowest: &Rat) -> Result<usize> {
    let sum = grid.radix().iter().fold(Int::ZERO, |sum, power| sum + power);
    let Tuning { offset, window_reach, near, .. } = &options.tuning;
    let (low, high) = if *near { target.range_near(grid.tokens())? } else { value_range(grid, target)? };
    let bound = (low - offset).abs().max((high - offset).abs());
    let mut reach = bound * Rat::from(grid.resolution()) * Rat::from(sum);
    let limit = lowest - window_reach;
    let mut exponent = 0;
    while reach >= limit {
        reach = reach / Rat::from(2);
        exponent += 1;
    }
    Ok(exponent)
}

/// True if the hypothesis that Lemma 7 needs holds without scaling the values down.
pub(crate) fn values_stay_below_windows(grid: &Grid, target: &Target, options: &Options) -> Result<bool> {
    let map = options.map(grid);
    Ok(value_exponent(grid, target, options, &map.lowest_id())? == 0)
}

/// The embedding: the box to `[0, N)`, with a guard to `[1, N+1)`.
pub(crate) fn embed(grid: &Grid, options: &Options) -> Affine {
    let dims = grid.dims();
    let scale = Rat::from(grid.resolution()) / (grid.high() - grid.low());
    Affine {
        weight: (0..dims).map(|row| basis(dims, row, scale.clone())).collect(),
        bias: vec![-(grid.low() * &scale) + if options.tuning.guard.is_some() { Rat::ONE } else { Rat::ZERO }; dims],
    }
}

/// A network over the residual stream of the paper: one coordinate for each row of `X`.
fn network(grid: &Grid, target: &Target, options: &Options, positions: Option<Matrix>, stages: Vec<Stage>) -> Network {
    let (dims, outputs) = (grid.dims(), target.output_dims());
    let embed = embed(grid, options);
    let delta = Rat::new(1, grid.resolution());
    let read_out = Affine {
        weight: (0..outputs).map(|row| basis(dims, row, delta.clone())).collect(),
        bias: vec![options.tuning.offset.clone(); outputs],
    };
    let affine = |factor: &Rat, atom: String, offset: Rat| {
        Meaning { terms: vec![(atom, factor.clone())], ..Meaning::number(offset) }.to_string()
    };
    let coordinate = |row: usize| {
        let first = "; from the contextual map to the value map it also carries the token's id";
        let moved = if positions.is_some() { ", and the position" } else { "" };
        let cells = affine(&embed.weight[row][row], format!("x.{row}"), embed.bias[row].clone());
        let factor = Rat::from(grid.resolution());
        let value = affine(&factor, "f".to_owned(), -(&factor * &options.tuning.offset));
        let meaning = format!(
            "row {} of X: {cells}, the token's coordinate {row} in cells{moved}, then its cell{moved}, then {value} for its value f",
            row + 1
        );
        Coordinate { name: format!("x.{row}"), meaning: meaning + if row == 0 { first } else { "" } }
    };
    let coordinates = (0..dims).map(coordinate).collect();
    Network { tokens: grid.tokens(), coordinates, embed, positions, stages, read_out }
}

/// `value · e_row`.
fn basis(width: usize, row: usize, value: Rat) -> Vec<Rat> {
    let mut vector = vec![Rat::ZERO; width];
    vector[row] = value;
    vector
}

/// A stage's parameters as JSON; they are plain data, so this cannot fail.
fn to_value(parameters: &impl Serialize) -> Value {
    serde_json::to_value(parameters).expect("plain data")
}

/// The contextual map of a construction.
pub(crate) fn context_map(grid: &Grid, options: &Options) -> context::ContextMap {
    options.map(grid)
}

/// The steps of a row of the quantiser: `N`, with positions `nN`.
pub(crate) fn quantiser_steps(grid: &Grid, options: &Options) -> Int {
    let rows = if options.positional { grid.tokens() } else { 1 };
    Int::from(rows) * Int::from(grid.resolution())
}

/// The largest number of binary digits of an id of a context.
pub(crate) fn id_bits(grid: &Grid, options: &Options) -> usize {
    options.map(grid).id_bits()
}
