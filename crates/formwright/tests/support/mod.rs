//! Parts that the tests share: models, triples, random rationals with a seed.

#![allow(dead_code)]

pub mod built;
pub mod certified;
pub mod circuits;
pub mod expressions;
pub mod floats;
pub mod learned;
pub mod meanings;
pub mod onnxruntime;
pub mod patterns;
pub mod rates;
pub mod reference;
pub mod report;
pub mod shuffled;
pub mod stock;
pub mod texts;
pub mod value_order;

use std::sync::Arc;

use formwright::compile::{Construction, Model, Request, compile};
use formwright::construct::normal_form::continuous::Basis;
pub(crate) use formwright::construct::only;
pub(crate) use formwright::construct::yun::Options;
use formwright::construct::yun::lattice::Lattice;
use formwright::construct::yun::{AsPrinted, read_stage};
use formwright::construct::{all, circuit, sumformer};
use formwright::exact::Rat;
use formwright::lattice::{Extended, Grid};
use formwright::network::{Network, Realisation, Sequence};
use formwright::target::{Source, Table, catalogue};
use serde_json::Value;

/// An equivariant target without accidental coincidences.
pub const GENERIC: &str = "x^2 * mean(x) + max(x) / 3 - 1/7";

/// The same, made dependent on the order of the tokens.
pub const GENERIC_POSITIONAL: &str = "x^2 * mean(x) + sum(x, j <= i) / 3 - x[n - 1 - i] / 7 + i / 11";

/// The built-in targets that lattice constructions are tried on: rational, on the unit box.
pub const ON_THE_UNIT_BOX: [&str; 20] = [
    "identity",
    "complement",
    "square",
    "mean-centring",
    "max-broadcast",
    "range-broadcast",
    "pairwise-means",
    "distance",
    "times-mean",
    "gap-to-max",
    "variance",
    "rank",
    "sort",
    "reverse",
    "shift",
    "rotate",
    "difference",
    "prefix-sum",
    "prefix-mean",
    "first",
];

/// A built-in target.
pub fn built_in(name: &str) -> Source {
    catalogue::find(name).expect("a built-in name").expect("a target")
}

/// (n, d, N)
pub type Triple = (usize, usize, u64);

pub fn grid((n, d, resolution): Triple) -> Grid {
    Grid::unit(n, d, resolution).expect("a grid")
}

pub fn request(source: Source, (n, d, resolution): Triple, options: Options) -> Request {
    Request {
        source,
        tokens: Some(n),
        dims: Some(d),
        resolution: Some(resolution),
        constructions: only(options),
        attention: Realisation::SOFTMAX,
        assume_equivariant: false,
        everywhere: false,
        tolerance: formwright::compile::Tolerance::default(),
        arithmetic: formwright::compile::Arithmetic::Exact,
    }
}

/// The constructions that a request may take.
pub type Constructions = Vec<Arc<dyn Construction>>;

pub fn circuits() -> Constructions {
    only(circuit::family::Options::default())
}

pub fn sumformers(basis: Option<Basis>) -> Constructions {
    only(sumformer::family::Options { basis, ..Default::default() })
}

/// Every construction: the plan decides.
pub fn every() -> Constructions {
    all().expect("their usual options")
}

pub fn expression(text: &str) -> Source {
    Source::expression(text, text).expect("an expression")
}

pub fn theorem2(text: &str, triple: Triple) -> Model {
    compile(&request(expression(text), triple, Options::default())).expect("a model")
}

pub fn theorem3(text: &str, triple: Triple) -> Model {
    compile(&request(expression(text), triple, positional())).expect("a model")
}

pub fn positional() -> Options {
    Options { positional: true, ..Options::default() }
}

pub fn as_printed(step: AsPrinted, positional: bool) -> Options {
    Options { positional, as_printed: vec![step], ..Options::default() }
}

/// The exact network of a model by cells.
pub fn exact_network(model: &Model) -> &Network {
    &model.lattice().expect("a model by cells").network
}

/// A model by cells, to be changed.
pub fn cells_of(model: &mut Model) -> &mut Lattice {
    let built = Arc::get_mut(&mut model.built).expect("nobody else has it");
    (built as &mut dyn std::any::Any).downcast_mut().expect("a model by cells")
}

/// Every (n, d, N) with `N^{dn} ≤ most`.
pub fn triples(most: u64) -> Vec<Triple> {
    let mut triples = Vec::new();
    for n in 2..=20 {
        for d in 1..=20 {
            let exponent = u32::try_from(n * d).expect("small");
            triples.extend(
                (2..)
                    .take_while(|side: &u64| side.checked_pow(exponent).is_some_and(|points| points <= most))
                    .map(|side| (n, d, side)),
            );
        }
    }
    triples
}

/// A seeded generator of numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A rational in `[low, high)` with a denominator up to 96.
    pub fn rational(&mut self, low: i64, high: i64) -> Rat {
        let denominator = 1 + self.below(96);
        let span = u64::try_from(high - low).expect("low < high") * denominator;
        Rat::from(low) + Rat::new(self.below(span), denominator)
    }

    pub fn sequence(&mut self, grid: &Grid, low: i64, high: i64) -> Sequence {
        let mut token = || (0..grid.dims()).map(|_| self.rational(low, high)).collect();
        (0..grid.tokens()).map(|_| token()).collect()
    }

    pub fn table(&mut self, grid: &Grid) -> Table {
        let values = grid.all_points().map(|_| self.sequence(grid, -3, 3)).collect();
        Table::new(grid.clone(), grid.dims(), values).expect("a table")
    }

    /// A random table made equivariant, with values in `[-3, 3)`.
    pub fn equivariant_table(&mut self, grid: &Grid) -> Table {
        self.equivariant_table_in(grid, -3, 3)
    }

    /// The value at the sorted columns, in the order of the tokens. Equal columns must get equal values.
    pub fn equivariant_table_in(&mut self, grid: &Grid, low: i64, high: i64) -> Table {
        let mut drawn: std::collections::BTreeMap<Vec<Vec<u64>>, Sequence> = std::collections::BTreeMap::new();
        let values = grid
            .all_points()
            .map(|point| {
                let mut sorted = point.clone();
                sorted.sort();
                let value = drawn.entry(sorted.clone()).or_insert_with(|| self.sequence(grid, low, high)).clone();
                let place =
                    |column: &Vec<u64>| sorted.iter().position(|other| other == column).expect("a column of the point");
                point.iter().map(|column| value[place(column)].clone()).collect()
            })
            .collect();
        Table::new(grid.clone(), grid.dims(), values).expect("a table")
    }
}

/// The lattice points themselves, as inputs: the lower corners of all cells.
pub fn corners(grid: &Grid) -> Vec<Sequence> {
    let corner = |k: u64| Rat::new(k, grid.resolution());
    grid.all_points()
        .map(|point| point.into_iter().map(|column| column.into_iter().map(corner).collect()).collect())
        .collect()
}

/// One input for every point of the extended grid: a corner of its cell, and a flag as 1, below 0 or far away.
pub fn extended_corners(grid: &Grid) -> Vec<Sequence> {
    let outside = [Rat::ONE, Rat::new(-1, 3), Rat::from(1000)];
    let entry = |place: usize, entry: Extended| match entry {
        Extended::Cell(k) => Rat::new(k, grid.resolution()),
        Extended::Flag => outside[place % 3].clone(),
    };
    let column = |(token, column): (usize, Vec<Extended>)| {
        column.into_iter().enumerate().map(|(row, cell)| entry(token + row, cell)).collect()
    };
    grid.all_extended_points().map(|point| point.into_iter().enumerate().map(column).collect()).collect()
}

/// Replaces one stage by the same stage with edited parameters.
pub fn edit(model: &mut Model, stage: &str, change: impl Fn(&mut Value)) {
    let target = model.target.clone();
    let grid = model.grid.clone();
    let lattice = cells_of(model);
    let place = lattice.network.stages.iter_mut().find(|other| other.name == stage).expect("the stage");
    let mut parameters = place.generator.parameters();
    change(&mut parameters);
    *place = read_stage(stage, parameters, &grid, &target).expect("a stage");
}
