//! How the number of parameters grows when the tolerance shrinks.

use std::fs;

use formwright::exact::Rat;
use formwright::network::Precision;

use super::plot::{Curve, plot};
use super::{PRECISIONS, TRADES, parameters};
use crate::tests::support::circuits::Subject;
use crate::tests::support::report::{grouped, measurements, table};

/// The programs, and their tokens.
const PROGRAMS: [(&str, usize); 5] =
    [("square", 16), ("times-mean", 16), ("z-score", 16), ("softmax", 16), ("attention-pooling", 16)];

/// Tolerances, as `1/k`.
const TOLERANCES: [u32; 7] = [10, 32, 100, 316, 1000, 3162, 10_000];

pub fn section() -> String {
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    for (name, tokens) in PROGRAMS {
        let subject = Subject::of(name, tokens);
        for trade in TRADES {
            let mut row = vec![format!("`{name}`"), trade.name().to_owned()];
            let mut points = Vec::new();
            for k in TOLERANCES {
                let eps = Rat::new(1, k);
                let compiled = PRECISIONS.iter().find_map(|precision| subject.compile(&eps, *precision, trade).ok());
                let Some(compiled) = compiled else {
                    row.push("–".to_owned());
                    continue;
                };
                let mark = if compiled.network.precision == Precision::F64 { "*" } else { "" };
                row.push(format!("{}{mark}", grouped(compiled.network.size().parameters)));
                points.push((1.0 / f64::from(k), parameters(&compiled)));
            }
            if points.is_empty() {
                row.splice(2.., vec![String::new(); TOLERANCES.len() + 1]);
                "nothing to make deep".clone_into(&mut row[2]);
                rows.push(row);
                continue;
            }
            row.push(exponent(&points).map_or_else(|| "–".to_owned(), |exponent| format!("{exponent:.2}")));
            rows.push(row);
            curves.push(Curve { name: name.to_owned(), dashed: trade == TRADES[1], points });
        }
    }
    let image = plot("Parameters against tolerance", ("tolerance", "parameters"), &curves);
    fs::write(measurements("parameters-against-tolerance.svg"), image).expect("the plot");
    let tolerances = TOLERANCES.map(|k| format!("1/{}", grouped(k)));
    let mut columns = vec!["program", "trade"];
    columns.extend(tolerances.iter().map(String::as_str));
    columns.push("slope");
    format!(
        "## Parameters against tolerance\n\n16 tokens; a star where f32 does not meet the tolerance and f64 does.\n\
         *Slope* is `s` of the line `parameters ~ ε^-s` through the last four points: piecewise-linear functions cost 1/2,\n\
         and logarithms would cost 0.\n\n![](parameters-against-tolerance.svg)\n\n{}",
        table(&columns, &rows)
    )
}

/// The least-squares slope of the last points, in logarithms.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let last = points.get(points.len().checked_sub(4)?..)?;
    let logs: Vec<(f64, f64)> = last.iter().map(|(eps, count)| (-eps.ln(), count.ln())).collect();
    let mean = |f: fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / 4.0;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = logs.iter().map(|(a, b)| (a - x) * (b - y)).sum();
    let variance: f64 = logs.iter().map(|(a, _)| (a - x).powi(2)).sum();
    Some(covariance / variance)
}
