//! Integer programs on every input there is.
//!
//! What is right is computed by plain functions, written from the programs' descriptions and not by evaluating their expressions.

use std::time::Instant;

use formwright::construct::circuit::Trade;
use formwright::eval::float::Engine;
use rayon::prelude::*;

use super::{power, seconds};
use crate::tests::support::circuits::{Subject, digits};
use crate::tests::support::report::{grouped, table};

/// A program on all sequences of so many tokens among the first `values` integers.
struct Run {
    text: &'static str,
    tokens: usize,
    values: u64,
    reference: fn(&[u8]) -> Vec<f64>,
}

const RUNS: [Run; 13] = [
    Run { text: "sort-integers", tokens: 8, values: 8, reference: |x| each(&sorted(x), |_, x| whole(x)) },
    Run {
        text: "x[n - 1 - i] on integers 0..8",
        tokens: 8,
        values: 8,
        reference: |x| x.iter().rev().map(|x| whole(*x)).collect(),
    },
    Run { text: "histogram", tokens: 7, values: 10, reference: |x| each(x, |_, own| count(x, |other| other == own)) },
    Run { text: "count-less", tokens: 7, values: 10, reference: |x| each(x, |_, own| count(x, |other| other < own)) },
    Run { text: "most-frequent", tokens: 7, values: 10, reference: most_frequent },
    Run { text: "median", tokens: 7, values: 10, reference: |x| each(x, |_, _| whole(sorted(x)[x.len() / 2])) },
    Run {
        text: "sorted-place",
        tokens: 7,
        values: 10,
        reference: |x| each(x, |i, own| count(x, |other| other < own) + count(&x[..i], |other| other == own)),
    },
    Run { text: "parity", tokens: 24, values: 2, reference: |x| each(x, |_, _| sum(x) % 2.0) },
    Run { text: "pair-balance", tokens: 24, values: 2, reference: |x| each(x, |_, _| (2.0 * sum(x) - 24.0) / 24.0) },
    Run { text: "modular-sum", tokens: 10, values: 5, reference: |x| each(x, |_, _| sum(x) % 5.0) },
    Run {
        text: "fraction-of-ones",
        tokens: 12,
        values: 4,
        reference: |x| each(x, |i, _| count(&x[..=i], |other| other == 1) / count(&x[..=i], |_| true)),
    },
    Run { text: "dyck-1", tokens: 24, values: 2, reference: balanced },
    Run { text: "addition", tokens: 6, values: 10, reference: added },
];

/// Two numbers of four digits: ten times as many inputs as all the others together.
const FOUR_DIGITS: Run = Run { text: "addition", tokens: 8, values: 10, reference: added };

fn whole(x: u8) -> f64 {
    f64::from(x)
}

fn sorted(x: &[u8]) -> Vec<u8> {
    let mut x = x.to_vec();
    x.sort_unstable();
    x
}

fn each(x: &[u8], f: impl Fn(usize, u8) -> f64) -> Vec<f64> {
    x.iter().enumerate().map(|(i, x)| f(i, *x)).collect()
}

fn count(x: &[u8], holds: impl Fn(u8) -> bool) -> f64 {
    f64::from(u32::try_from(x.iter().filter(|x| holds(**x)).count()).expect("a short sequence"))
}

fn sum(x: &[u8]) -> f64 {
    x.iter().map(|x| f64::from(*x)).sum()
}

fn most_frequent(x: &[u8]) -> Vec<f64> {
    let mut counts = [0; 10];
    for x in x {
        counts[usize::from(*x)] += 1;
    }
    let most = counts.iter().max().expect("ten counts");
    let first = counts.iter().position(|count| count == most).expect("a place");
    vec![f64::from(u32::try_from(first).expect("a digit")); x.len()]
}

fn balanced(x: &[u8]) -> Vec<f64> {
    let end = x.iter().try_fold(0_u32, |open, x| if *x == 1 { Some(open + 1) } else { open.checked_sub(1) });
    vec![if end == Some(0) { 1.0 } else { 0.0 }; x.len()]
}

fn added(x: &[u8]) -> Vec<f64> {
    let (half, mut carry) = (x.len() / 2, 0);
    let mut digits: Vec<f64> = Vec::with_capacity(x.len());
    for k in 0..half {
        let sum = x[k] + x[half + k] + carry;
        digits.push(f64::from(sum % 10));
        carry = sum / 10;
    }
    digits.push(f64::from(carry));
    digits.resize(x.len(), 0.0);
    digits
}

/// Inputs that are executed together.
const CHUNK: u64 = 1 << 14;

pub fn section() -> String {
    let columns = ["program", "n", "v", "inputs", "wrong", "largest error", "certified", "time", "inputs a second"];
    let rows: Vec<Vec<String>> = RUNS.iter().chain([&FOUR_DIGITS]).map(row).collect();
    format!(
        "## Exhaustive runs\n\nEvery input of `n` tokens among `v` integers, executed in f32 on all\n\
         cores. *Wrong* counts inputs with an output that is further than the certified bound from the value of a plain\n\
         function, or, where outputs are integers, is another integer after rounding. The time includes that function.\n\n{}",
        table(&columns, &rows)
    )
}

fn row(run: &Run) -> Vec<String> {
    let subject = Subject::of(run.text, run.tokens);
    let inputs = run.values.pow(u32::try_from(run.tokens).expect("few"));
    let mut row = vec![format!("`{}`", run.text), run.tokens.to_string(), run.values.to_string(), grouped(inputs)];
    let compiled = match subject.compile_in_either(&power(2), Trade::Width) {
        Ok(compiled) => compiled,
        Err(error) => {
            row.push(error.headline().to_owned());
            row.resize(9, String::new());
            return row;
        }
    };
    // The chunks are shared among the threads.
    let engine = Engine::new(&compiled.network).and_then(|engine| engine.with_threads(1)).expect("an engine");
    let bound = compiled.budget.bound;
    let start = Instant::now();
    let chunk = |chunk: u64| {
        let codes = chunk * CHUNK..inputs.min((chunk + 1) * CHUNK);
        let digit = |digit: u64| u8::try_from(digit).expect("a small integer");
        let tokens: Vec<u8> = codes.flat_map(|code| digits(code, run.values).take(run.tokens).map(digit)).collect();
        let batch: Vec<f64> = tokens.iter().map(|x| whole(*x)).collect();
        let mut outputs = vec![0.0; batch.len()];
        engine.run_flat(run.tokens, &batch, &mut outputs).expect("outputs");
        let mut worst = (0_u64, 0.0_f64);
        for (x, y) in tokens.chunks(run.tokens).zip(outputs.chunks(run.tokens)) {
            let wanted = (run.reference)(x);
            let off = wanted.iter().zip(y).map(|(f, g)| (f - g).abs()).fold(0.0, f64::max);
            let rounded = compiled.margin.is_none() || wanted.iter().zip(y).all(|(f, g)| (f - g.round()).abs() < 1e-9);
            worst = (worst.0 + u64::from(!(rounded && off <= bound + 1e-12)), worst.1.max(off));
        }
        worst
    };
    let chunks = (0..inputs.div_ceil(CHUNK)).into_par_iter().map(chunk);
    let (wrong, error) = chunks.reduce(|| (0, 0.0), |a, b| (a.0 + b.0, a.1.max(b.1)));
    let time = start.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a count of inputs")]
    let rate = inputs as f64 / time;
    row.extend([
        wrong.to_string(),
        format!("{error:.2e}"),
        format!("{bound:.2e}"),
        seconds(time),
        grouped(rate.round()),
    ]);
    assert_eq!(wrong, 0, "{row:?}");
    row
}
