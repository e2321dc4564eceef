//! The median of shifted grids: any continuous function in the supremum norm.
//!
//! A network by cells is wrong where a coordinate is near a wall of its grid: there a continuous quantiser is between two
//! cells, and nothing is known of what is looked up. Let `m = nd` be the coordinates and `K = 2m + 1`. Take `K` grids of
//! cells of one side `h`, grid `j` shifted along the diagonal by `jh/K` in every coordinate, a sum of codes on each, and
//! of their `K` outputs the median.
//!
//! ```text
//! A_j    the value in the cell of grid j that holds X        wrong where a coordinate is within h/2K of a wall of grid j
//! |median_j A_j - f(X)| ≤ e    everywhere on the box,        e the oscillation of f on a cell without its margins h/2K
//! ```
//!
//! *Proof.* Walls of different grids are at least `h/K` apart, so that a coordinate is nearer than `h/2K` to a wall of one
//! grid at most. The `m` coordinates spoil at most `m` of the `2m + 1` copies. The other `m + 1` lie in `[f - e, f + e]`, a
//! majority, and so does the median. ∎ Nothing is asked of the spoiled ones but that they are numbers.
//!
//! The shifts are the same for all tokens, so that the network is equivariant where sums of codes are, equal tokens
//! included, and with positions any function is served. There is one attention layer, of `K` heads.
//!
//! | file | content |
//! |---|---|
//! | `shifts.rs` | the shifted grids, and what each of their cells serves |
//! | `beside.rs` | the copies side by side, layer by layer |
//! | `clamp.rs`, `compare.rs` | outputs into the target's range, and their median, by comparators |
//! | `lower.rs` | floats: gentle ramps, and the rounding of comparators |
//! | `bound.rs` | `e`, cell by cell or uniformly; a table's for every function that has its values |

pub(crate) mod beside;
pub(crate) mod bound;
pub(crate) mod built;
pub(crate) mod clamp;
pub(crate) mod compare;
pub(crate) mod family;
pub(crate) mod lower;
pub(crate) mod shifts;

use std::sync::Arc;

use crate::construct::sumcode::{Options, Parts, Scheme};
use crate::error::Result;
use crate::exact::Rat;
use crate::lattice::codes::{Code, Codes};
use crate::network::{Affine, Coordinate, FeedForward, Network, Stage};
use crate::target::Target;

use beside::Beside;
use clamp::Clamp;
use compare::Compare;
use shifts::Shifts;

/// Sums of codes as the copies of a median.
pub(crate) static MEDIAN: Scheme = Scheme {
    name: "median",
    summary: "Ours: the median of sums of codes on shifted grids; any continuous function, certified in the supremum norm",
    code: Code::BoseChowla { field: None },
    is_apart: false,
    is_planned_with_positions: true,
    needs: "median without positions needs f(XP) = f(X)P for every permutation P",
    way_out: "⟨positional⟩",
};

/// The parts of every copy; `near` holds irrational values as rational numbers near them, for floats.
fn parts(shifts: &Shifts, target: &Arc<Target>, options: &Options, near: bool, codes: &Codes) -> Result<Vec<Parts>> {
    let copy = |copy: usize| {
        let (grid, centres) = (shifts.grid(copy)?, shifts.centres(copy));
        Ok(Parts::of(&grid, target, options, near, codes.clone(), Some(centres)))
    };
    (0..shifts.copies()).map(copy).collect()
}

/// The exact network of these copies, with outputs clamped to a range.
fn network(copies: &[Parts], (low, high): (&Rat, &Rat)) -> Network {
    let (compare, clamp) = (compare(copies), clamp(copies, low, high));
    let networks: Vec<Network> = copies.iter().map(Parts::network).collect();
    let (embed, positions) = (embed(&networks), positions(&networks));
    let coordinates = coordinates(&networks);
    let read_out = read_out(&compare);
    let tokens = networks.first().map_or(0, |network| network.tokens);
    let mut stages: Vec<Vec<Stage>> = Vec::new();
    for network in networks {
        for (place, stage) in network.stages.into_iter().enumerate() {
            if place == stages.len() {
                stages.push(Vec::new());
            }
            stages[place].push(stage);
        }
    }
    let mut stages: Vec<Stage> = stages.into_iter().filter_map(beside).collect();
    stages.push(Stage { name: "clamp", statement: MEDIAN.name, meaning: clamp.meaning(), generator: Box::new(clamp) });
    let meaning = compare.meaning();
    stages.push(Stage { name: "median", statement: MEDIAN.name, meaning, generator: Box::new(compare) });
    Network { tokens, coordinates, embed, positions, stages, read_out }
}

/// One stage of the stages of all copies.
fn beside(stages: Vec<Stage>) -> Option<Stage> {
    let Stage { name, statement, meaning, .. } = stages.first()?;
    let (name, statement, meaning) = (*name, *statement, beside::meaning(meaning, stages.len()));
    let copies = stages.into_iter().map(|stage| stage.generator).collect();
    Some(Stage { name, statement, meaning, generator: Box::new(Beside { copies }) })
}

/// The first register of a copy, one behind the other.
fn offset(copies: &[Parts], copy: usize) -> usize {
    copies[..copy].iter().map(|parts| parts.layout.width).sum()
}

/// The registers of each output, copy by copy.
fn wires(copies: &[Parts]) -> Vec<Vec<usize>> {
    let outputs = copies.first().map_or(0, |parts| parts.layout.width - parts.layout.outputs);
    let wire = |output| {
        let register = |(copy, parts): (usize, &Parts)| offset(copies, copy) + parts.layout.outputs + output;
        copies.iter().enumerate().map(register).collect()
    };
    (0..outputs).map(wire).collect()
}

fn width(copies: &[Parts]) -> usize {
    offset(copies, copies.len())
}

fn compare(copies: &[Parts]) -> Compare {
    Compare { width: width(copies), wires: wires(copies) }
}

fn clamp(copies: &[Parts], low: &Rat, high: &Rat) -> Clamp {
    Clamp { width: width(copies), registers: wires(copies).concat(), low: low.clone(), high: high.clone() }
}

fn embed(networks: &[Network]) -> Affine {
    let weight = networks.iter().flat_map(|network| network.embed.weight.clone()).collect();
    Affine { weight, bias: networks.iter().flat_map(|network| network.embed.bias.clone()).collect() }
}

fn positions(networks: &[Network]) -> Option<Vec<Vec<Rat>>> {
    let mut all: Option<Vec<Vec<Rat>>> = None;
    for rows in networks.iter().filter_map(|network| network.positions.as_ref()) {
        match &mut all {
            None => all = Some(rows.clone()),
            Some(all) => all.iter_mut().zip(rows).for_each(|(row, more)| row.extend(more.iter().cloned())),
        }
    }
    all
}

/// The read-out: the wires in the middle.
fn read_out(compare: &Compare) -> Affine {
    let row = |register: usize| {
        let mut row = vec![Rat::ZERO; compare.width];
        row[register] = Rat::ONE;
        row
    };
    let weight: Vec<Vec<Rat>> = compare.middle().map(row).collect();
    Affine { bias: vec![Rat::ZERO; weight.len()], weight }
}

fn coordinates(networks: &[Network]) -> Vec<Coordinate> {
    let of = |(copy, network): (usize, &Network)| -> Vec<Coordinate> {
        let own = |coordinate: &Coordinate| Coordinate {
            name: format!("grid{copy}.{}", coordinate.name),
            meaning: format!("of grid {copy}: {}", coordinate.meaning),
        };
        network.coordinates.iter().map(own).collect()
    };
    networks.iter().enumerate().flat_map(of).collect()
}

/// A layer without units, of this width.
fn empty(width: usize) -> FeedForward {
    FeedForward {
        w1: Vec::new(),
        b1: Vec::new(),
        activations: Vec::new(),
        w2: vec![Vec::new(); width],
        b2: vec![Rat::ZERO; width],
    }
}

/// Adds a ReLU to a layer: what it reads with its bias, and what it adds to.
fn unit(layer: &mut FeedForward, reads: &[(usize, Rat)], bias: Rat, adds: &[(usize, Rat)]) {
    let mut read = vec![Rat::ZERO; layer.w2.len()];
    for (register, weight) in reads {
        read[*register] = weight.clone();
    }
    layer.w1.push(read);
    layer.b1.push(bias);
    layer.activations.push(crate::network::Activation::Relu);
    for (register, row) in layer.w2.iter_mut().enumerate() {
        let weight = adds.iter().find(|(added, _)| *added == register);
        row.push(weight.map_or(Rat::ZERO, |(_, weight)| weight.clone()));
    }
}
