//! Lemma 7's windows by decreasing centre and in the order of their listing: how far the executed network is off at lattice points.

#![allow(dead_code)]

use formwright::construct::yun::{AsPrinted, Options};
use formwright::eval::float::Engine;
use formwright::lattice::has_distinct_columns;
use formwright::lower::Format;
use formwright::network::Precision;
use formwright::target::Source;

use super::built::Built;
use super::{Random, Triple, grid};

/// The seed of the random tables.
pub const SEED: u64 = 2020;

/// An equivariant table with random values in `[-1, 1)`.
pub fn table(triple: Triple) -> Source {
    Source::table("table", Random::new(SEED).equivariant_table_in(&grid(triple), -1, 1))
}

/// The errors of a network.
#[derive(Clone, Copy, Debug)]
pub struct Off {
    /// The largest error in front of the clip, at all lattice points with distinct columns.
    pub raw: f64,
    /// The largest error of the output.
    pub output: f64,
    /// The stated loss of the windows by decreasing centre.
    pub stated: f64,
}

/// The largest error at the centres of all cells with distinct columns.
pub fn off(source: &Source, triple: Triple, precision: Precision, listed: bool) -> Off {
    let as_printed = if listed { vec![AsPrinted::Lemma7Order] } else { Vec::new() };
    let options = Options { as_printed, ..Options::default() };
    let built = Built::new(source, triple, &options, Format::literal(precision)).expect("it fits");
    let points: Vec<_> = built.grid.all_points().filter(|point| has_distinct_columns(point)).collect();
    let batch: Vec<_> = points.iter().map(|point| built.centre(point)).collect();
    let engine = Engine::new(&built.network).expect("an engine");
    let outputs = engine.run(&batch).expect("a run");
    let mut states = engine.trace_batch(&batch).expect("a run");
    assert_eq!(states.pop().expect("a stage").0, "clip", "the last stage");
    let (_, before) = states.pop().expect("a stage");
    let (weight, bias) = (built.network.read_out.weight[0], built.network.read_out.bias[0]);
    let mut off = Off { raw: 0.0, output: 0.0, stated: built.lowering.losses.rounding };
    for ((point, output), state) in points.iter().zip(&outputs).zip(&before) {
        let value = built.target.evaluate(&built.grid.centre(point)).expect("a value");
        for ((value, y), z) in value.iter().flatten().zip(output.iter().flatten()).zip(state.iter().flatten()) {
            off.output = larger(off.output, (value.to_f64() - y).abs());
            off.raw = larger(off.raw, (value.to_f64() - (weight * z + bias)).abs());
        }
    }
    off
}

/// The larger one; what is not a number is infinitely far off.
fn larger(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}
