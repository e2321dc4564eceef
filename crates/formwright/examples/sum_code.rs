//! The tables of `measurements/sum-code.md`: how fine a grid a sum of codes has in double precision.
//!
//!     cargo run --release -p formwright --example sum_code

#[path = "../tests/support/mod.rs"]
mod support;

use std::sync::Arc;

use formwright::bound::resolution::last;
use formwright::construct::sumcode::lower::{SumCodeLowering, check_fit};
use formwright::construct::sumcode::{Options, Parts, SUM_CODE, Values};
use formwright::eval::float::Engine;
use formwright::exact::{Int, Rat};
use formwright::lattice::Grid;
use formwright::network::Precision;
use formwright::target::{Source, Target};
use rayon::prelude::*;
use support::{Random, expression};

/// The most ids of a grid that is tried.
const MOST_IDS: u64 = 20_000;

/// The rounding that is asked for.
const ROUNDING: f64 = 1e-3;

fn options(values: Values) -> Options {
    Options { values, ..Options::of(&SUM_CODE) }
}

fn grid(n: usize, side: u64) -> Grid {
    Grid::unit(n, 1, side).expect("a grid")
}

/// The finest grid whose ids fit, whatever the values are; the code is looked for only where any code could fit.
fn representable(n: usize, values: Values, precision: Precision) -> (u64, usize) {
    let target: Arc<Target> = Arc::new(expression("x").target(1).expect("a target"));
    let fits = |side: u64| {
        // A code has nearly D^n numbers to choose from, and ids are sums of codes, times as much; ranked, the rank block adds up R·Q·Σ.
        let (sums, multisets) = (Int::from(side).pow(n).bits(), (Int::from(side) + Int::from(n - 1)).choose(n).bits());
        let bits = if values == Values::Rank { sums + multisets + Int::from(side).bits() } else { 2 * sums };
        if bits > precision.digits() + 4 {
            return None;
        }
        let parts = Parts::new(&grid(n, side), &target, &options(values), true).ok()?;
        check_fit(&parts, precision).ok().map(|_| parts.id_bits())
    };
    let mut end = 4;
    while fits(end).is_some() {
        end *= 2;
    }
    let side = last(end / 2, end - 1, |side| fits(side).is_some()).unwrap_or(2);
    (side, fits(side).unwrap_or_default())
}

/// A table of random rationals in `[-1, 1)`, equivariant, or a smooth function.
fn source(n: usize, side: u64, random: bool) -> Source {
    if random {
        Source::table("table", Random::new(2020).equivariant_table_in(&grid(n, side), -1, 1))
    } else {
        expression("max(x)")
    }
}

fn lowering(n: usize, side: u64, values: Values, precision: Precision, random: bool) -> Option<SumCodeLowering> {
    let grid = grid(n, side);
    let target = Arc::new(source(n, side, random).target(1).ok()?);
    SumCodeLowering::derive(&grid, &target, &options(values), precision).ok()
}

/// The finest grid whose rounding is small enough, with at most this many ids.
fn certified(n: usize, values: Values, precision: Precision, random: bool, most: u64) -> Option<(u64, f64)> {
    let rounding = |side: u64| {
        let ids = Int::from(side) * (Int::from(side) + Int::from(n) - Int::from(2)).choose(n - 1);
        if ids > Int::from(most) {
            return None;
        }
        Some(lowering(n, side, values, precision, random)?.losses.rounding)
    };
    let enough = |side: u64| rounding(side).is_some_and(|rounding| rounding <= ROUNDING);
    let mut end = 4;
    while enough(end) {
        end *= 2;
    }
    let side = last(end / 2, end - 1, enough)?;
    Some((side, rounding(side)?))
}

/// The largest error over all grid points, executed.
fn measured(n: usize, side: u64, values: Values) -> (f64, f64) {
    let lowering = lowering(n, side, values, Precision::F64, true).expect("it fits");
    let engine = Engine::new(&lowering.lower().expect("a network")).expect("an engine");
    let (grid, target) = (&lowering.parts.nodes.grid, &lowering.parts.nodes.target);
    let points: Vec<Vec<Vec<Rat>>> = grid.all_points().map(|point| grid.centre(&point)).collect();
    let floats: Vec<Vec<Vec<f64>>> =
        points.iter().map(|x| x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect()).collect();
    let mut worst = 0.0_f64;
    for (x, y) in points.iter().zip(engine.run(&floats).expect("a run")) {
        for (found, expected) in y.iter().flatten().zip(target.evaluate(x).expect("a value").iter().flatten()) {
            let off = (Rat::from_f64(*found).expect("finite") - expected).abs();
            worst = worst.max(off.to_f64());
        }
    }
    (worst, lowering.losses.rounding)
}

/// A row of cells, computed side by side.
fn row<T: Copy + Sync>(cells: &[T], cell: impl Fn(T) -> String + Sync) -> String {
    let cells: Vec<String> = cells.par_iter().map(|which| cell(*which)).collect();
    cells.join(" | ")
}

fn main() {
    use Precision::{F32, F64};
    println!("| n | one-block, staircase | layered | rank | one-block, f32 | rank, f32 |\n|---|---|---|---|---|---|");
    let columns = [
        (Values::OneBlock, F64),
        (Values::Layered, F64),
        (Values::Rank, F64),
        (Values::OneBlock, F32),
        (Values::Rank, F32),
    ];
    let rows: Vec<String> = (2..=5_usize)
        .into_par_iter()
        .map(|n| {
            let cells = row(&columns, |(values, precision)| {
                let (side, bits) = representable(n, values, precision);
                format!("{side} ({bits} bits)")
            });
            format!("| {n} | {cells} |")
        })
        .collect();
    println!("{}", rows.join("\n"));
    println!(
        "\n| n | target | one-block | staircase | layered | rank | staircase, f32 |\n|---|---|---|---|---|---|---|"
    );
    let columns: Vec<(Values, Precision)> =
        Values::ALL.map(|values| (values, F64)).into_iter().chain([(Values::Staircase, F32)]).collect();
    let tried: Vec<(usize, bool)> = (2..=5).flat_map(|n| [(n, true), (n, false)]).collect();
    let rows: Vec<String> = tried
        .into_par_iter()
        .map(|(n, random)| {
            let cells = row(&columns, |(values, precision)| {
                let found = certified(n, values, precision, random, MOST_IDS);
                found.map_or_else(|| "–".to_owned(), |(side, rounding)| format!("{side} ({rounding:.1e})"))
            });
            format!("| {n} | `{}` | {cells} |", if random { "table" } else { "max(x)" })
        })
        .collect();
    println!("{}", rows.join("\n"));
    println!("\n| n, N | values | largest error at a grid point | certified |\n|---|---|---|---|");
    for (n, side) in [(2, 16), (2, 64), (2, 128), (3, 8), (3, 20), (4, 6), (4, 10), (5, 6)] {
        for values in [Values::OneBlock, Values::Staircase, Values::Rank] {
            let (worst, rounding) = measured(n, side, values);
            println!("| {n}, {side} | {values} | {worst:.1e} | {rounding:.1e} |");
        }
    }
}
