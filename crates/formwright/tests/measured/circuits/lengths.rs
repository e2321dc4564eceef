//! One set of weights for sequences of any length, and the smallest tolerance that single precision reaches.

use formwright::construct::circuit::Compiled;
use formwright::exact::Rat;
use formwright::network::Precision;

use super::{TRADES, power, sizes};
use crate::tests::support::circuits::Subject;
use crate::tests::support::report::{grouped, table};

/// The longest sequences.
const MOST: usize = 512;

/// Halvings of the interval of tolerances, on a logarithmic scale from 1 to 10^-6.
const HALVINGS: usize = 12;

pub fn section() -> String {
    let subject = Subject::of("z-score", MOST);
    let (mut rows, mut least) = (Vec::new(), Vec::new());
    for trade in TRADES {
        let compiled = subject.compile_in_either(&power(2), trade).expect("a circuit");
        let (from, to) = compiled.lengths;
        for tokens in [16, 64, MOST] {
            assert!(from <= tokens && tokens <= to, "{tokens} is not among {from} to {to}");
            let found = subject.with_tokens(tokens).search(&compiled, 4_000_000 / (tokens + 64));
            assert!(found.error <= compiled.budget.bound, "{} of {}", found.error, compiled.budget.bound);
            let mut row = vec![trade.name().to_owned(), tokens.to_string()];
            row.extend(sizes(&compiled));
            row.extend([format!("{from} to {}", grouped(to)), format!("{:.3e}", compiled.budget.bound)]);
            row.extend([format!("{:.3e}", found.error), grouped(found.points)]);
            rows.push(row);
        }
        least.push(smallest(&subject, trade.name(), |eps| subject.compile(eps, Precision::F32, trade).ok()));
    }
    let columns = [
        "trade",
        "n",
        "precision",
        "blocks",
        "width",
        "hidden",
        "parameters",
        "for n",
        "certified",
        "measured",
        "points",
    ];
    let smallest = ["trade", "ε", "parameters", "certified", "largest term", "of it", "rounding"];
    format!(
        "## One set of weights, any length\n\n`z-score` made for {MOST} tokens at tolerance 1/100, single precision\n\
         if that is enough, the same weights run at three lengths:\n\n{}\n\
         The smallest tolerance that f32 meets at n = {MOST} ({HALVINGS} bisections), and the largest term of its bound:\n\n{}",
        table(&columns, &rows),
        table(&smallest, &least)
    )
}

/// Bisection over tolerances `10^-e`.
fn smallest(subject: &Subject, trade: &str, compile: impl Fn(&Rat) -> Option<Compiled>) -> Vec<String> {
    let tolerance = |e: f64| Rat::from_f64(10_f64.powf(-e)).expect("a number");
    let (mut good, mut bad, mut best) = (0.0, 6.0, None);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(good, bad);
        match compile(&tolerance(middle)) {
            Some(compiled) => (good, best) = (middle, Some(compiled)),
            None => bad = middle,
        }
    }
    let Some(compiled) = best else { return vec![trade.to_owned(), format!("none for {}", subject.source.name)] };
    let dominant = compiled.budget.dominant().expect("a term");
    let rounding = compiled.budget.terms.iter().find(|term| term.name == "rounding").map_or(0.0, |term| term.bound);
    vec![
        trade.to_owned(),
        format!("{:.2e}", 10_f64.powf(-good)),
        grouped(compiled.network.size().parameters),
        format!("{:.2e}", compiled.budget.bound),
        format!("`{}`", dominant.name),
        format!("{:.2e}", dominant.bound),
        format!("{rounding:.2e}"),
    ]
}
