//! Tables: a function that is constant on every cell of a grid over the unit box.
//!
//! ```json
//! {"kind":"table","tokens":n,"dims":d,"output_dims":o,"resolution":N,
//!  "symmetry":"equivariant"|"none","values":[[[…]…]…]}
//! ```
//!
//! One `[tokens][output_dims]` entry for each grid point, in lexicographic order, token 0's coordinate 0 most
//! significant.

use serde_json::{Map, Value, json};

use super::witness::{Symmetry, Witness};
use crate::error::{Error, Result};
use crate::exact::Sequence;
use crate::exact::{Int, Rat};
use crate::input::{kind_of, sequence};
use crate::lattice::{Grid, Point};

/// A table of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    grid: Grid,
    output_dims: usize,
    declared: Declared,
    values: Vec<Sequence>,
}

/// The symmetry that the file declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declared {
    Equivariant,
    None,
}

impl Table {
    /// A table with these values, one for each grid point.
    pub fn new(grid: Grid, output_dims: usize, values: Vec<Sequence>) -> Result<Self> {
        let table = Self { grid, output_dims, declared: Declared::None, values };
        table.check_count(table.values.len())?;
        Ok(table)
    }

    fn check_count(&self, found: usize) -> Result<()> {
        let points = self.grid.points();
        if Int::from(found) == points {
            return Ok(());
        }
        let (n, d, resolution) = (self.grid.tokens(), self.grid.dims(), self.grid.resolution());
        Err(Error::input(format!("the table has {found} entries, expected {points}"))
            .note(
                "reason",
                format!("{n} tokens of {d} coordinates, {resolution} cells each: {resolution}^{} grid points", n * d),
            )
            .note("order", "lexicographic, token 0's coordinate 0 most significant"))
    }

    /// Reads a table file.
    pub fn from_json(file: &Map<String, Value>) -> Result<Self> {
        let field = |name: &str| {
            file.get(name).ok_or_else(|| {
                Error::input(format!("the table has no field \"{name}\"")).note(
                    "expected",
                    r#"{"kind":"table","tokens":n,"dims":d,"output_dims":d,"resolution":N,"symmetry":"equivariant"|"none","values":[[[…]…]…]}"#,
                )
            })
        };
        let count = |name: &str| -> Result<u64> {
            let value = field(name)?;
            value.as_u64().ok_or_else(|| {
                let found = if value.is_number() { value.to_string() } else { kind_of(value).to_owned() };
                Error::input(format!("the table's \"{name}\" is {found}, expected a whole number"))
            })
        };
        let small = |name: &str| -> Result<usize> {
            let value = count(name)?;
            usize::try_from(value)
                .ok()
                .filter(|value| *value <= 1 << 20)
                .ok_or_else(|| Error::input(format!("the table's \"{name}\" is {value}, which no file could fill")))
        };
        let grid = Grid::unit(small("tokens")?, small("dims")?, count("resolution")?)
            .map_err(|error| Error::input(format!("the table's grid: {}", error.headline().replace("--", ""))))?;
        let declared = match field("symmetry")?.as_str() {
            Some("equivariant") => Declared::Equivariant,
            Some("none") => Declared::None,
            _ => {
                return Err(Error::input(format!("the table's \"symmetry\" is {}", field("symmetry")?))
                    .note("expected", r#""equivariant" or "none""#));
            }
        };
        let output_dims = small("output_dims")?;
        if output_dims == 0 {
            return Err(Error::input("the table's \"output_dims\" is 0, but at least 1 is needed"));
        }
        let values = field("values")?.as_array().ok_or_else(|| {
            Error::input(format!("the table's \"values\" is {}, expected an array", kind_of(&file["values"])))
        })?;
        let mut table = Self { grid, output_dims, declared, values: Vec::new() };
        table.check_count(values.len())?;
        let entry = |(rank, value): (usize, &Value)| {
            sequence(value, table.grid.tokens(), output_dims, || format!("the table's entry {rank}"))
        };
        table.values = values.iter().enumerate().map(entry).collect::<Result<_>>()?;
        if declared == Declared::Equivariant
            && let Symmetry::Refuted(witness) = table.symmetry()
        {
            return Err(witness.explain(Error::input("the table says that it is permutation-equivariant, and is not")));
        }
        Ok(table)
    }

    /// The table as a file.
    pub fn to_json(&self) -> Value {
        json!({
            "kind": "table",
            "tokens": self.grid.tokens(),
            "dims": self.grid.dims(),
            "output_dims": self.output_dims,
            "resolution": self.grid.resolution(),
            "symmetry": match self.declared { Declared::Equivariant => "equivariant", Declared::None => "none" },
            "values": self.values,
        })
    }

    /// The grid over whose cells the table is constant.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Coordinates of an output token.
    pub fn output_dims(&self) -> usize {
        self.output_dims
    }

    /// The entry of the cell that holds `x`.
    pub fn evaluate(&self, x: &[Vec<Rat>]) -> Result<Sequence> {
        let point =
            self.grid.cell(x).ok_or_else(|| Error::declined("the table is not defined outside of the unit box"))?;
        Ok(self.entry(&point).clone())
    }

    /// The entry of a cell.
    pub(crate) fn entry(&self, point: &Point) -> &Sequence {
        let rank = self.grid.rank(point).to_usize().expect("a grid point's rank is below the number of entries");
        &self.values[rank]
    }

    /// The smallest and the largest value.
    pub fn range(&self) -> (Rat, Rat) {
        let values = || self.values.iter().flatten().flatten().cloned();
        (values().reduce(Rat::min).unwrap_or_default(), values().reduce(Rat::max).unwrap_or_default())
    }

    /// The symmetry, decided at every grid point: swapping two neighbouring tokens must swap the values. Neighbours are
    /// enough, since their swaps generate all permutations.
    pub(crate) fn symmetry(&self) -> Symmetry {
        for point in self.grid.all_points() {
            for first in 0..self.grid.tokens() - 1 {
                let mut swapped = point.clone();
                swapped.swap(first, first + 1);
                let mut expected = self.entry(&point).clone();
                expected.swap(first, first + 1);
                let found = self.entry(&swapped);
                if *found != expected {
                    let x = self.grid.centre(&point);
                    return Symmetry::Refuted(Witness { x, swap: (first, first + 1), found: found.clone(), expected });
                }
            }
        }
        Symmetry::Proved
    }
}
