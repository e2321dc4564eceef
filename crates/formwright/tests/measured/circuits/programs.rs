//! Every program of the catalogue, at one tolerance.

use formwright::construct::circuit::Trade;

use super::{TRADES, power, seconds, sizes};
use crate::tests::support::circuits::{DECLINED, Subject, programs};
use crate::tests::support::report::{fastest, grouped, table};

/// Tokens of all programs.
const TOKENS: usize = 8;

/// Points of a measurement.
const POINTS: usize = 100_000;

pub fn section() -> String {
    let columns = [
        "program",
        "trade",
        "precision",
        "blocks",
        "width",
        "hidden",
        "parameters",
        "uniform",
        "certified",
        "measured",
        "compiled in",
    ];
    let (eps, mut rows) = (power(2), Vec::new());
    for name in programs() {
        let subject = Subject::of(name, TOKENS);
        for trade in TRADES {
            let (compiled, time) = fastest(3, || subject.compile_in_either(&eps, trade));
            let compiled = match compiled {
                Ok(compiled) => compiled,
                Err(_) if trade == Trade::Depth && subject.compile_deep(&eps).is_none() => continue,
                Err(error) => {
                    let mut row = vec![format!("`{name}`"), trade.name().to_owned(), error.headline().to_owned()];
                    row.resize(columns.len(), String::new());
                    rows.push(row);
                    continue;
                }
            };
            let found = subject.search(&compiled, POINTS);
            let (bound, error) = (compiled.budget.bound, found.error);
            assert!(error <= bound && compiled.budget.meets(&eps), "{name}: {error} of {bound}");
            let mut row = vec![format!("`{name}`"), trade.name().to_owned()];
            row.extend(sizes(&compiled));
            row.push(grouped(compiled.network.size().parameters_uniform));
            let all = if found.exhaustive { ", all inputs" } else { "" };
            row.extend([format!("{bound:.3e}"), format!("{error:.3e}{all}"), seconds(time)]);
            rows.push(row);
        }
    }
    let declined = DECLINED.map(|name| format!("`{name}`")).join(", ");
    format!(
        "## All programs\n\nEvery built-in target but {declined}, which compare real numbers and are\n\
         declined; {TOKENS} tokens of one coordinate, tolerance 1/100, {} points. Both trades, where there is something to\n\
         make deep. Compile times are the fastest of three, one thread.\n\n{}",
        grouped(POINTS),
        table(&columns, &rows)
    )
}
