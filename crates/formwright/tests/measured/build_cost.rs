//! The cost of a choice: the time of every catalogue target's compilation, where the construction is left to the plan,
//! over that of the construction that is taken, named.
//!
//! ```sh
//! cargo test --release -p formwright --lib -- --ignored --nocapture measured::build_cost
//! ```
//!
//! Times are those of the processor (Linux: what the scheduler counts), the least of three. `family`: against `--construction` alone, which tries both
//! trades itself; `row`: against the very trade and precision that are taken.

use std::time::Instant;

use crate::tests::support::report::arguments;
use formwright::compile::{Arithmetic, Model, Request, Tolerance, compile};
use formwright::construct::circuit::family::Options as Gates;
use formwright::construct::{all, only, sumformer};
use formwright::error::Result;
use formwright::lower::Format;
use formwright::network::{Precision, Realisation};
use formwright::plan::compile_first;
use formwright::target::{Source, catalogue};

/// Repetitions, of which the fastest counts.
const TIMES: usize = 3;

/// Seconds that a measurement takes at least.
const LONG_ENOUGH: f64 = 0.05;

fn request(source: Source, tokens: usize) -> Request {
    Request {
        source,
        constructions: all().expect("their usual options"),
        tokens: Some(tokens),
        dims: None,
        resolution: None,
        everywhere: false,
        attention: Realisation::SOFTMAX,
        assume_equivariant: false,
        tolerance: Tolerance::default(),
        arithmetic: Arithmetic::Auto(Format::literal(Precision::F64)),
    }
}

/// Seconds of all threads of this process on a processor.
fn on_processor() -> Option<f64> {
    let mut sum = 0.0;
    for thread in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        let counted = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        sum += counted.split(' ').next()?.parse::<f64>().ok()? / 1e9;
    }
    Some(sum)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2000")]
fn count(times: f64) -> usize {
    times as usize
}

fn once(run: &impl Fn() -> Result<Model>) -> (f64, Result<Model>) {
    let (clock, processor) = (Instant::now(), on_processor());
    let mut model = run();
    // The scheduler counts in steps of some milliseconds: short runs are repeated.
    let times = (LONG_ENOUGH / clock.elapsed().as_secs_f64()).clamp(0.0, 2000.0).floor();
    for _ in 0..count(times) {
        model = run();
    }
    let passed = processor.zip(on_processor()).map_or_else(|| clock.elapsed().as_secs_f64(), |(a, b)| b - a);
    (passed / (times + 1.0), model)
}

fn seconds(run: impl Fn() -> Result<Model>) -> (f64, Result<Model>) {
    let runs = (0..TIMES).map(|_| once(&run));
    runs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("at least one time")
}

/// The chosen construction, named: by its family alone, and with its trade and precision.
fn named(request: &Request, model: &Model) -> Option<(Request, Request)> {
    let circuit = model.circuit()?;
    let with = |gates: Gates| match circuit.basis {
        Some(basis) => only(sumformer::family::Options { basis: Some(basis), gates }),
        None => only(gates),
    };
    let family = Request { constructions: with(Gates::default()), ..request.clone() };
    let arithmetic = Arithmetic::Float(Format::literal(circuit.wish.precision));
    let row = Request { constructions: with(Gates { trade: Some(circuit.wish.trade) }), arithmetic, ..family.clone() };
    Some((family, row))
}

#[test]
#[ignore = "a measurement, not a test: minutes"]
fn is_printed() {
    println!("{:<20}{:>7}{:>11}{:>11}{:>9}{:>9}  taken", "target", "tokens", "build s", "named s", "family", "row");
    let (mut families, mut rows, mut all) = (Vec::new(), Vec::new(), (0.0, 0.0));
    let most = arguments().next().and_then(|most| most.parse().ok()).unwrap_or(16);
    for entry in catalogue::names() {
        for tokens in 2..=most {
            let Some(Ok(source)) = catalogue::find(entry) else { continue };
            let request = request(source, tokens);
            let (build, model) = seconds(|| compile_first(&request));
            let Ok(model) = model else {
                let circuit = Request { constructions: only(Gates::default()), ..request.clone() };
                let (refused, _) = seconds(|| compile(&circuit));
                println!("{entry:<20}{tokens:>7}{build:>11.5}{refused:>11.5}{:>9}{:>9}  declined", "", "");
                continue;
            };
            let Some((family, row)) = named(&request, &model) else {
                println!("{entry:<20}{tokens:>7}{build:>11.5}{:>11}{:>9}{:>9}  {}", "", "", "", model.construction());
                continue;
            };
            let (by_family, by_row) = (seconds(|| compile(&family)).0, seconds(|| compile(&row)).0);
            let ratio = |named: f64| build / named;
            let taken = format!(
                "{} --trade {}, {}",
                model.construction(),
                model.circuit().map_or("", |circuit| circuit.wish.trade.name()),
                model.precision()
            );
            println!(
                "{entry:<20}{tokens:>7}{build:>11.5}{by_family:>11.5}{:>9.2}{:>9.2}  {taken}",
                ratio(by_family),
                ratio(by_row)
            );
            families.push(ratio(by_family));
            rows.push(ratio(by_row));
            all = (all.0 + build, all.1 + by_family);
        }
    }
    for (name, mut ratios) in [("family", families), ("row", rows)] {
        ratios.sort_by(f64::total_cmp);
        let at = |share: usize| ratios.get(share * ratios.len().saturating_sub(1) / 100).copied().unwrap_or(f64::NAN);
        println!("{name}: median {:.2}, 90 % {:.2}, largest {:.2} of {}", at(50), at(90), at(100), ratios.len());
    }
    println!("all: {:.2} s against {:.2} s", all.0, all.1);
}
