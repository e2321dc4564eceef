//! The tables of `measurements/circuits.md`, and the plot beside it.
//!
//! ```sh
//! cargo test --release -p formwright --lib -- --ignored --nocapture measured::circuits
//! ```
//!
//! writes all of them to `measurements/`; with `MEASURE=yardstick` in front it prints one of them.

mod exhaustive;
mod lengths;
mod plot;
mod programs;
mod tolerance;
mod yardstick;

use std::fs;

use crate::tests::support::report;
use crate::tests::support::report::{duration, grouped};
use formwright::construct::circuit::{Compiled, Trade};
use formwright::exact::Rat;
use formwright::network::Precision;

/// A part of the file: its name, and what writes it.
type Section = (&'static str, fn() -> String);

const SECTIONS: [Section; 6] = [
    ("programs", programs::section),
    ("yardstick", yardstick::section),
    ("tracr", yardstick::tracr),
    ("lengths", lengths::section),
    ("tolerance", tolerance::section),
    ("exhaustive", exhaustive::section),
];

#[test]
#[ignore = "a measurement, not a test: minutes"]
fn is_written() {
    let asked: Vec<String> = report::arguments().collect();
    if !asked.is_empty() {
        let sections = SECTIONS.iter().filter(|(name, _)| asked.iter().any(|asked| asked == name));
        sections.for_each(|(_, section)| println!("{}", section()));
        return;
    }
    let mut text = format!(
        "# Circuits\n\n{}, {}.\n\n    cargo test --release -p formwright --lib -- --ignored --nocapture measured::circuits\n\n\
         *Certified* is the proved bound in the supremum norm, including rounding in any order of summation. *Measured* is\n\
         the largest error found in the executed network: structured starts, then ascent (`bound/ascent.rs`), seeded; on\n\
         integers, all inputs where they are few. *Parameters* are all entries of all weights and biases, zeros included;\n\
         *uniform*, those of the same network padded to equal blocks.\n",
        report::today(),
        report::machine()
    );
    for (name, section) in SECTIONS {
        eprintln!("{name}");
        text.push('\n');
        text.push_str(&section());
    }
    fs::write(report::measurements("circuits.md"), text).expect("measurements/circuits.md");
}

/// `10^-k`
fn power(k: u32) -> Rat {
    Rat::new(1, 10_i64.pow(k))
}

/// The cells of a table for a circuit.
fn sizes(compiled: &Compiled) -> Vec<String> {
    let size = compiled.network.size();
    vec![
        compiled.network.precision.to_string(),
        size.blocks.to_string(),
        compiled.network.width().to_string(),
        size.hidden.to_string(),
        grouped(&size.parameters),
    ]
}

/// The hidden units of all blocks together.
fn units(compiled: &Compiled) -> usize {
    let layers = compiled.network.runs.iter().filter_map(|run| Some(run.blocks * run.feed_forward.as_ref()?.hidden));
    layers.sum()
}

/// The number of parameters.
fn parameters(compiled: &Compiled) -> f64 {
    compiled.network.size().parameters.to_string().parse().expect("a number")
}

fn seconds(time: f64) -> String {
    duration(time)
}

/// Single before double precision.
const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F64];

/// Both ways to spend hidden units.
const TRADES: [Trade; 2] = [Trade::Width, Trade::Depth];
