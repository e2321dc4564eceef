//! Sums of codes: one attention layer is enough.
//!
//! Quantise, give every column a code whose sums are distinct for distinct multisets, add the codes up by one attention
//! layer, look the value up. A [`Scheme`] is a construction of this kind: **`sum-code`** is ours; the discontinuous proof
//! of Alberti et al. 2023 is another, in `sumformer/discrete.rs`.
//!
//! | file | stage | content |
//! |---|---|---|
//! | `quantise.rs` | quantise | every coordinate to its cell, one block |
//! | `code.rs` | code | `Φ`, one block (`lattice/codes/`) |
//! | `sum.rs` | sum | one attention layer with equal weights |
//! | `identify.rs` | id | where the sum stands apart: `S·Σ + φ(x)` |
//! | `rank.rs` | rank | the named pass that replaces sums by their ranks |
//! | `nodes.rs`, `curve.rs`, `values.rs` | values | ids and values; one block, or layers |
//!
//! In a sum-code network these are three blocks: quantise; code; attention and values. It equals the target at the
//! centre of *every* cell, duplicates included, and is 0 outside of the box. With positions, place `j` has its own
//! code, by `D(j-1)` that the encoding adds to the id.

pub(crate) mod bound;
pub(crate) mod code;
pub(crate) mod coded;
pub(crate) mod curve;
pub(crate) mod family;
pub(crate) mod identify;
pub(crate) mod lower;
pub(crate) mod nodes;
pub(crate) mod quantise;
pub(crate) mod rank;
pub(crate) mod sum;
pub(crate) mod values;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

#[cfg(test)]
use crate::construct::yun::value_range;
use crate::error::{Error, Result, nearest};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::lattice::codes::{Code, Codes};
use crate::meaning::Meaning;
use crate::network::{Affine, Coordinate, FeedForward, Generator, Network, Realisation, Stage};
use crate::target::Target;

use code::Encode;
use identify::Identify;
use nodes::Nodes;
use quantise::Quantise;
use rank::Rank;
use sum::Sum;
use values::{ValueBlock, ValueLayers};

/// A construction that adds up codes, by what tells it from others.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    /// The name in options and files.
    pub name: &'static str,
    /// One sentence on what it does.
    pub summary: &'static str,
    /// The code that is taken where none is named.
    pub code: Code,
    /// True if the code, the sum and the id have registers of their own, and queries and keys read a 1.
    pub is_apart: bool,
    /// True if a plan looks at it with positions where the target needs them: of one construction that is enough.
    pub is_planned_with_positions: bool,
    /// The hypothesis without positions.
    pub needs: &'static str,
    /// The way out for a target that does not satisfy it.
    pub way_out: &'static str,
}

/// Ours.
pub(crate) static SUM_CODE: Scheme = Scheme {
    name: "sum-code",
    summary: "Ours: one attention layer adds up codes, duplicates included; any continuous function, cell by cell",
    code: Code::BoseChowla { field: None },
    is_apart: false,
    is_planned_with_positions: true,
    needs: "sum-code without positions needs f(XP) = f(X)P for every permutation P",
    way_out: "⟨positional⟩",
};

/// The map from ids to values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Values {
    /// All in one block, by interpolation.
    #[default]
    OneBlock,
    /// All in one block, as a staircase: more ReLUs, and fewer digits lost in floats.
    Staircase,
    /// A layer for each value.
    Layered,
    /// All in one block, by the rank of the sum.
    Rank,
}

impl Values {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OneBlock, Self::Staircase, Self::Layered, Self::Rank];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneBlock => "one-block",
            Self::Staircase => "staircase",
            Self::Layered => "layered",
            Self::Rank => "rank",
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Values {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|values| values.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let error = Error::input(format!("'{name}' is no value map")).note("known", names.join(", "));
            error.note("try", format!("⟨values={}⟩", nearest(name, names).unwrap_or("one-block")))
        })
    }
}

/// The options of a construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The construction.
    pub family: &'static Scheme,
    /// The code; `None` takes the construction's default.
    pub code: Option<Code>,
    /// The value map.
    pub values: Values,
    /// True if tokens are told apart by their place.
    pub positional: bool,
    /// The kind of the head that adds the codes up, in floats.
    pub attention: Realisation,
}

impl Options {
    /// A construction with its defaults.
    pub fn of(family: &'static Scheme) -> Self {
        Self { family, code: None, values: Values::default(), positional: false, attention: Realisation::SOFTMAX }
    }

    /// The code that is used.
    pub fn code(&self) -> Result<Code> {
        match (self.positional, self.code) {
            (true, Some(code)) if code != Code::Positional => Err(Error::input(format!(
                "⟨code={code}⟩ names multisets, and ⟨positional⟩ needs a code that names places"
            ))
            .note("try", "leave out ⟨code⟩, or ⟨positional⟩")),
            (true, ..) => Ok(Code::Positional),
            (false, code) => Ok(code.unwrap_or(self.family.code)),
        }
    }
}

/// The registers of the residual stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Coordinates of a token: registers `0..dims` hold it, `dims..2·dims` its cells.
    pub dims: usize,
    /// The channel that is 1.
    pub constant: Option<usize>,
    /// The code; in a sum-code network later the id.
    pub code: usize,
    /// The sum, if it is kept apart.
    pub sum: Option<usize>,
    /// The id, if it is kept apart.
    pub id: Option<usize>,
    /// The place in the code and the rank, if the sum is ranked.
    pub ranked: Option<(usize, usize)>,
    /// The first output.
    pub outputs: usize,
    /// All registers.
    pub width: usize,
}

impl Layout {
    fn new(grid: &Grid, target: &Target, options: &Options) -> Self {
        let dims = grid.dims();
        let (apart, ranked) = (options.family.is_apart, options.values == Values::Rank);
        let mut next = 2 * dims;
        let mut take = |taken: bool| {
            let register = next;
            next += usize::from(taken);
            taken.then_some(register)
        };
        let constant = take(apart);
        let code = take(true).unwrap_or(2 * dims);
        let sum = take(apart || ranked);
        let id = take(apart && !ranked);
        let ranked = take(ranked).zip(take(ranked));
        Self { dims, constant, code, sum, id, ranked, outputs: next, width: next + target.output_dims() }
    }

    /// The register that value layers read and clear, unless sums are ranked.
    pub fn identity(&self) -> usize {
        self.id.unwrap_or(self.code)
    }

    /// The row that reads an id.
    pub fn read(&self) -> Vec<Rat> {
        match self.ranked {
            Some((index, rank)) => {
                let mut read = basis(self.width, index, Rat::ONE);
                read[rank] = Rat::ONE;
                read
            }
            None => basis(self.width, self.identity(), Rat::ONE),
        }
    }

    fn coordinates(&self, embed: &Affine, nodes: &Nodes, options: &Options) -> Vec<Coordinate> {
        let mut coordinates: Vec<(String, String)> = Vec::new();
        let taken = "; in floats, from quantise on, what its cell leaves of it";
        for k in 0..self.dims {
            let terms = vec![(format!("x.{k}"), embed.weight[k][k].clone())];
            let cells = Meaning { terms, ..Meaning::number(embed.bias[k].clone()) };
            coordinates.push((format!("x.{k}"), format!("{cells}, the token's coordinate {k} in cells{taken}")));
        }
        for k in 0..self.dims {
            let place = if options.positional && k == 0 {
                format!(", and from the embedding on {} times the token's place", nodes.grid.columns())
            } else {
                String::new()
            };
            let cell = format!(
                "the cell of coordinate {k}, from quantise on; outside of the box -{}, in floats below it",
                nodes.symbols()
            );
            coordinates.push((format!("cell.{k}"), format!("{cell}{place}")));
        }
        // Layers of values push an id that they have found below all others.
        let found =
            if options.values == Values::Layered { "; once its value is found, less than every id" } else { "" };
        let mut name = |register: Option<usize>, name: &str, meaning: &str| {
            if register.is_some() {
                coordinates.push((name.to_owned(), meaning.to_owned()));
            }
        };
        name(self.constant, "one", "1: queries and keys read it");
        let code = match (self.sum, self.constant) {
            (None, _) => (
                "code",
                format!("the code of the token's column; behind the attention layer the token's id, S·Σ + code{found}"),
            ),
            (Some(_), Some(_)) => ("phi", "φ(x), the code of the token's column".to_owned()),
            (Some(_), None) => ("code", "the code of the token's column".to_owned()),
        };
        name(Some(self.code), code.0, &code.1);
        name(self.sum, "sum", "Σ, the sum of the codes of all tokens");
        name(self.id, "id", &format!("S·Σ + φ(x){found}"));
        name(self.ranked.map(|(index, _)| index), "index", "the place of the token's column in the code");
        name(self.ranked.map(|(_, rank)| rank), "rank", "the rank of Σ, times the number of codes");
        for k in self.outputs..self.width {
            coordinates.push((format!("y.{}", k - self.outputs), format!("output coordinate {}", k - self.outputs)));
        }
        coordinates.into_iter().map(|(name, meaning)| Coordinate { name, meaning }).collect()
    }
}

/// A construction for a target on a grid: all data that its stages share, exact or in floats.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// The options.
    pub options: Options,
    /// The registers.
    pub layout: Layout,
    /// Ids and values.
    pub nodes: Arc<Nodes>,
    /// The code block.
    pub encode: Encode,
    /// The attention layer.
    pub sum: Sum,
    /// The id, where the sum stands apart.
    pub identify: Option<Identify>,
    /// The rank block.
    pub rank: Option<Rank>,
}

impl Parts {
    /// The parts; `near` holds irrational values as rational numbers near them, for floats.
    pub fn new(grid: &Grid, target: &Arc<Target>, options: &Options, near: bool) -> Result<Self> {
        let codes = options.code()?.codes(grid.tokens(), &grid.columns())?;
        Ok(Self::of(grid, target, options, near, codes, None))
    }

    /// The parts for given codes, with values taken at these coordinates of the cells, or at their centres.
    pub fn of(
        grid: &Grid,
        target: &Arc<Target>,
        options: &Options,
        near: bool,
        codes: Codes,
        centres: Option<Vec<Rat>>,
    ) -> Self {
        let layout = Layout::new(grid, target, options);
        let Layout { dims, width, .. } = layout;
        let mut read = vec![Rat::ZERO; width];
        read[dims..2 * dims].clone_from_slice(&grid.radix().iter().map(Rat::from).collect::<Vec<_>>());
        let encode = Encode {
            read,
            code: layout.code,
            index: layout.ranked.map(|(index, _)| index),
            values: codes.values.clone(),
            flagged: Encode::flagged_for(&codes),
        };
        let nodes = Nodes::new(grid.clone(), Arc::clone(target), codes, options.values == Values::Rank, near);
        let nodes = Arc::new(nodes.at(centres));
        let sum = Sum {
            width,
            from: layout.code,
            to: layout.sum.unwrap_or(layout.code),
            tokens: grid.tokens(),
            scale: if layout.sum.is_some() { Int::ONE } else { nodes.scale.clone() },
            constant: layout.constant,
        };
        let identify = layout.id.zip(layout.sum).map(|(to, sum)| {
            let mut read = basis(width, sum, Rat::from(&nodes.scale));
            read[layout.code] = Rat::ONE;
            Identify { read, to }
        });
        let rank = layout.ranked.zip(layout.sum).map(|((_, rank), sum)| Rank {
            read: basis(width, sum, Rat::ONE),
            to: rank,
            nodes: Arc::clone(&nodes),
        });
        Self { options: *options, layout, nodes, encode, sum, identify, rank }
    }

    /// The value map in layers.
    pub fn value_layers(&self) -> ValueLayers {
        ValueLayers {
            nodes: Arc::clone(&self.nodes),
            read: self.layout.read(),
            from: self.layout.identity(),
            clear: ValueLayers::clear_for(&self.nodes),
            to: self.layout.outputs,
        }
    }

    /// The binary digits of the largest id.
    pub fn id_bits(&self) -> usize {
        self.nodes.largest().bits()
    }

    /// The stages between the quantiser and the values: name, effect, and layers.
    pub fn middle(&self) -> Vec<Stage> {
        let codes = &self.nodes.codes;
        let encode = format!("every column to its code, {}: sums of {} name multisets", codes.describe(), codes.tokens);
        let encode = if self.options.positional {
            "every column to its code, (D+1)^place (column + 1): sums name sequences".to_owned()
        } else {
            encode
        };
        let added = match self.layout.sum {
            None => format!("every token gains {} times the sum of all codes: it now has its id", self.sum.scale),
            Some(_) => "every token receives the sum of all codes".to_owned(),
        };
        let mut stages = vec![
            stage("code", "codes", encode, self.encode.clone()),
            stage("sum", "sum-code", added, self.sum.clone()),
        ];
        stages.extend(self.identify.clone().map(|identify| {
            stage("id", self.options.family.name, format!("the id of a token: {}·Σ + φ(x)", self.nodes.scale), identify)
        }));
        stages.extend(self.rank.clone().map(|rank| {
            let meaning = format!(
                "the sum is replaced by its rank among {}, times {}",
                self.nodes.multisets(),
                self.nodes.symbols()
            );
            stage("rank", "sum-code", meaning, rank)
        }));
        stages
    }

    /// The embedding: coordinates in cells.
    pub fn embed(&self) -> Affine {
        let grid = &self.nodes.grid;
        let Layout { dims, width, constant, .. } = self.layout;
        let scale = Rat::from(grid.resolution()) / (grid.high() - grid.low());
        let mut embed = Affine { weight: vec![vec![Rat::ZERO; dims]; width], bias: vec![Rat::ZERO; width] };
        for row in 0..dims {
            embed.weight[row][row] = scale.clone();
            embed.bias[row] = -(grid.low() * &scale);
        }
        if let Some(constant) = constant {
            embed.bias[constant] = Rat::ONE;
        }
        embed
    }

    /// The positions: `D` times the place, on the first cell.
    pub fn positions(&self) -> Option<Vec<Vec<Rat>>> {
        let (grid, layout) = (&self.nodes.grid, &self.layout);
        let row = |place: usize| basis(layout.width, layout.dims, Rat::from(grid.columns()) * Rat::from(place));
        self.options.positional.then(|| (0..grid.tokens()).map(row).collect())
    }

    /// The read-out: the output registers.
    pub fn read_out(&self) -> Affine {
        let Layout { width, outputs, .. } = self.layout;
        Affine {
            weight: (outputs..width).map(|register| basis(width, register, Rat::ONE)).collect(),
            bias: vec![Rat::ZERO; width - outputs],
        }
    }

    /// The content of each register.
    pub fn coordinates(&self) -> Vec<Coordinate> {
        self.layout.coordinates(&self.embed(), &self.nodes, &self.options)
    }

    /// The effect of the value stage, in words.
    pub fn values_meaning(&self) -> String {
        let count = self.nodes.count();
        match self.options.values {
            Values::Layered => format!("each of {count} ids to the target's value, one window an id"),
            Values::Staircase => format!("each of {count} ids to the target's value, by a staircase"),
            Values::OneBlock | Values::Rank => format!("each of {count} ids to the target's value, by interpolation"),
        }
    }

    /// The exact network.
    pub fn network(&self) -> Network {
        let grid = &self.nodes.grid;
        let quantise = Quantise {
            width: self.layout.width,
            rows: self.layout.dims,
            steps: grid.resolution(),
            flag: Int::from(self.nodes.symbols()),
        };
        let meaning = format!("every coordinate to its cell; outside of the box to -{}", quantise.flag);
        let mut stages = vec![stage("quantise", "sum-code", meaning, quantise)];
        stages.extend(self.middle());
        let meaning = self.values_meaning();
        stages.push(match self.options.values {
            Values::Layered => stage("values", "sum-code", meaning, self.value_layers()),
            values => {
                let (read, to) = (self.layout.read(), self.layout.outputs);
                let steep = values == Values::Staircase;
                let block = ValueBlock { nodes: Arc::clone(&self.nodes), read, to, steep };
                stage("values", "sum-code", meaning, block)
            }
        });
        Network {
            tokens: grid.tokens(),
            coordinates: self.coordinates(),
            embed: self.embed(),
            positions: self.positions(),
            stages,
            read_out: self.read_out(),
        }
    }
}

#[cfg(test)]
/// The exact network for a target on a grid.
pub(crate) fn build(grid: &Grid, target: &Arc<Target>, options: &Options) -> Result<Network> {
    value_range(grid, target)?;
    Ok(Parts::new(grid, target, options, false)?.network())
}

fn stage(name: &'static str, statement: &'static str, meaning: String, generator: impl Generator + 'static) -> Stage {
    Stage { name, statement, meaning, generator: Box::new(generator) }
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

/// The entries of a layer that are not 0.
fn counted(layer: &FeedForward) -> Int {
    let rows = layer.w1.iter().chain(&layer.w2).chain([&layer.b1, &layer.b2]);
    Int::from(rows.flatten().filter(|entry| !entry.is_zero()).count())
}
