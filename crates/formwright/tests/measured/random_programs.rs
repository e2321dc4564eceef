//! The tables of `measurements/random-programs.md`: random programs of every construct, compiled or declined with a reason.
//!
//! ```sh
//! cargo test --release -p formwright --lib -- --ignored --nocapture measured::random_programs
//! ```
//!
//! writes them to `measurements/`; with `MEASURE="0 100"` in front it prints the programs of those seeds, one a line.

use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;
use std::time::Instant;

use crate::tests::support::circuits::{Subject, reason};
use crate::tests::support::expressions::random_program;
use crate::tests::support::report;
use crate::tests::support::report::{duration, grouped, table};
use formwright::construct::circuit::Trade;
use formwright::error::ErrorKind;
use formwright::exact::Rat;
use formwright::network::Precision;
use formwright::target::Source;
use rayon::prelude::*;

/// How many programs.
const SEEDS: u64 = 5000;

/// Points at which a circuit is run.
const POINTS: usize = 5000;

/// The outcome of a program.
struct Outcome {
    seed: u64,
    text: String,
    tokens: usize,
    seconds: f64,
    end: End,
}

enum End {
    Compiled { precision: Precision, parameters: f64, certified: f64, measured: f64 },
    Declined { kind: ErrorKind, reason: String },
    Panicked,
}

fn outcome(seed: u64, points: usize) -> Outcome {
    let program = random_program(seed);
    let tokens = 2 + usize::try_from(seed % 7).expect("small");
    let source = Source::expression(&program.text, &program.text).expect("a program");
    let subject = Subject::new(source, tokens, program.dims);
    let start = Instant::now();
    let compiled = catch_unwind(|| {
        let subject = Subject::new(subject.source.clone(), tokens, program.dims);
        subject.compile_in_either(&Rat::new(1, 100), Trade::Width)
    });
    let seconds = start.elapsed().as_secs_f64();
    let end = match compiled {
        Ok(Ok(compiled)) => End::Compiled {
            precision: compiled.network.precision,
            parameters: compiled.network.size().parameters.to_string().parse().expect("a number"),
            certified: compiled.budget.bound,
            measured: subject.search(&compiled, points).error,
        },
        Ok(Err(error)) => End::Declined { kind: error.kind(), reason: reason(error.headline()) },
        Err(_) => End::Panicked,
    };
    Outcome { seed, text: program.text, tokens, seconds, end }
}

#[test]
#[ignore = "a measurement, not a test: minutes"]
fn is_written() {
    let asked: Vec<u64> = report::arguments().map(|seed| seed.parse().expect("a seed")).collect();
    if let [from, to] = asked[..] {
        (from..to).for_each(|seed| show(&outcome(seed, POINTS)));
        return;
    }
    let outcomes: Vec<Outcome> = (0..SEEDS).into_par_iter().map(|seed| outcome(seed, POINTS)).collect();
    for outcome in outcomes.iter().filter(|outcome| violates(outcome) || matches!(outcome.end, End::Panicked)) {
        show(outcome);
    }
    let text = report(&outcomes);
    print!("{text}");
    fs::write(report::measurements("random-programs.md"), text).expect("measurements/random-programs.md");
}

fn violates(outcome: &Outcome) -> bool {
    matches!(outcome.end, End::Compiled { certified, measured, .. } if measured > certified)
}

fn show(outcome: &Outcome) {
    let Outcome { seed, text, tokens, seconds, end } = outcome;
    let end = match end {
        End::Compiled { precision, parameters, certified, measured } => {
            let violated = if violates(outcome) { "VIOLATED " } else { "" };
            format!("{violated}{precision}, {parameters} parameters, {measured:.2e} of {certified:.2e}")
        }
        End::Declined { kind, reason } => format!("{kind:?}: {reason}"),
        End::Panicked => "PANICKED".to_owned(),
    };
    println!("{seed}, {tokens} tokens, {}: {end}: {text}", duration(*seconds));
}

/// The element at a share of sorted numbers.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list"
    )]
    let place = ((sorted.len() - 1) as f64 * share).round() as usize;
    sorted[place]
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

fn report(outcomes: &[Outcome]) -> String {
    let count = |holds: &dyn Fn(&End) -> bool| outcomes.iter().filter(|outcome| holds(&outcome.end)).count();
    let in_format = |wanted| count(&|end| matches!(end, End::Compiled { precision, .. } if *precision == wanted));
    let (single, double) = (in_format(Precision::F32), in_format(Precision::F64));
    let panicked = count(&|end| matches!(end, End::Panicked));
    let violated = outcomes.iter().filter(|outcome| violates(outcome)).count();
    let mut declined: BTreeMap<&str, (usize, &Outcome)> = BTreeMap::new();
    for outcome in outcomes {
        if let End::Declined { reason, .. } = &outcome.end {
            let known = declined.entry(reason).or_insert((0, outcome));
            known.0 += 1;
            // The shortest one shows the reason best.
            if outcome.text.len() < known.1.text.len() {
                known.1 = outcome;
            }
        }
    }
    let mut reasons: Vec<_> = declined.into_iter().collect();
    reasons.sort_by_key(|(reason, (count, _))| (std::cmp::Reverse(*count), *reason));
    let rows: Vec<Vec<String>> = reasons
        .iter()
        .map(|(reason, (count, outcome))| {
            let text = outcome.text.replace('|', "\\|");
            vec![count.to_string(), (*reason).to_owned(), format!("`{text}`"), outcome.tokens.to_string()]
        })
        .collect();
    let circuits = || {
        outcomes.iter().filter_map(|outcome| match outcome.end {
            End::Compiled { parameters, certified, measured, .. } => Some((parameters, certified, measured)),
            _ => None,
        })
    };
    let times = sorted(outcomes.iter().map(|outcome| outcome.seconds));
    let sizes = sorted(circuits().map(|(parameters, _, _)| parameters));
    // Below that the error is the last digit of an output, and a bound for any order of summation is many times as large.
    let told = circuits().filter(|(_, _, measured)| *measured > 1e-4);
    let ratios = sorted(told.map(|(_, certified, measured)| certified / measured));
    let shares = [0.0, 0.1, 0.5, 0.9, 0.99, 1.0];
    let line = |name: &str, numbers: &[f64], show: &dyn Fn(f64) -> String| {
        let mut row = vec![name.to_owned()];
        row.extend(shares.iter().map(|share| show(quantile(numbers, *share))));
        row
    };
    let quantiles = vec![
        line("time to compile or decline", &times, &duration),
        line("parameters", &sizes, &|x| grouped(x.round())),
        line("certified / measured, where more than 1e-4 is measured", &ratios, &|x| format!("{x:.2}")),
    ];
    let total = outcomes.len();
    format!(
        "# Random programs\n\n{}, {}.\n\n    cargo test --release -p formwright --lib -- --ignored --nocapture measured::random_programs\n\n\
         {} seeded programs of every construct of the language (`tests/support/texts.rs`), with 2 to 8 tokens of one or\n\
         two coordinates, tolerance 1/100 in the supremum norm, single precision before double. Every circuit is run at\n\
         {} points (structured starts and ascent; on integers, all of them where they are few). What the checker says of them\n\
         stands in [attacks/README.md](../attacks/README.md#random-programs).\n\n\
         | | |\n|---|---|\n| compiled in f32 | {single} |\n| compiled in f64 | {double} |\n| declined with a reason | {} |\n| panicked | {panicked} |\n\
         | of the compiled ones: measured above certified | {violated} |\n\n## Declined\n\nThe reasons, without their numbers, and the shortest program of each.\n\n{}\n\
         ## Times, sizes, how tight\n\n{}",
        report::today(),
        report::machine(),
        grouped(total),
        grouped(POINTS),
        total - single - double - panicked,
        table(&["programs", "reason", "the shortest", "n"], &rows),
        table(&["", "least", "10 %", "median", "90 %", "99 %", "most"], &quantiles)
    )
}
