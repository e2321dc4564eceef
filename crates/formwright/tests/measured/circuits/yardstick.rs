//! Sizes beside those that a person reached, and beside Tracr's.

use formwright::construct::circuit::Trade;
use formwright::eval::float::Engine;
use formwright::exact::Rat;

use super::{parameters, power, seconds, sizes, units};
use crate::tests::support::circuits::Subject;
use crate::tests::support::report::{fastest, grouped, table};

/// A circuit that was laid out by hand: what it computes, for how many tokens, how well, and its size.
#[derive(Clone, Copy)]
struct Hand {
    text: &'static str,
    tokens: usize,
    eps: fn() -> Rat,
    trade: Trade,
    /// Blocks, width, hidden units.
    shape: (usize, usize, usize),
    parameters: u32,
}

const Z_SCORE: &str = "z-score";

const fn hand(
    text: &'static str,
    tokens: usize,
    eps: fn() -> Rat,
    shape: (usize, usize, usize),
    parameters: u32,
) -> Hand {
    Hand { text, tokens, eps, trade: Trade::Width, shape, parameters }
}

const fn deep(hand: Hand) -> Hand {
    Hand { trade: Trade::Depth, ..hand }
}

/// Sizes of hand-made circuits, laid out and certified with the same lemmas before the compiler was written.
const HANDS: [Hand; 17] = [
    hand("mean-centring", 16, || power(2), (1, 1, 0), 7),
    hand(Z_SCORE, 16, || power(2), (3, 3, 329), 2344),
    hand(Z_SCORE, 512, || power(2), (3, 3, 329), 2344),
    deep(hand(Z_SCORE, 16, || power(2), (16, 5, 89), 1112)),
    deep(hand(Z_SCORE, 512, || power(2), (16, 5, 89), 1112)),
    hand(Z_SCORE, 16, || power(3), (3, 3, 1028), 7237),
    hand(Z_SCORE, 512, || power(3), (3, 3, 1028), 7237),
    deep(hand(Z_SCORE, 16, || power(3), (20, 5, 192), 2265)),
    deep(hand(Z_SCORE, 512, || power(3), (20, 5, 192), 2265)),
    hand("softmax", 16, || power(3), (3, 3, 22), 182),
    hand("softmax", 16, || power(4), (3, 3, 66), 490),
    hand("x * max(x)", 512, || power(3), (1, 2, 49), 260),
    hand("sort-integers", 8, || power(2), (2, 8, 21), 684),
    hand("histogram", 10, || power(2), (2, 11, 19), 931),
    hand("reverse", 10, || power(3), (1, 4, 0), 74),
    hand("prefix-sum", 16, || power(3), (2, 5, 1), 148),
    hand("parity", 16, || power(2), (1, 2, 17), 100),
];

/// Digits of both numbers in one sequence.
const ADDITION: Hand = hand("addition", 8, || power(2), (2, 14, 15), 831);

pub fn section() -> String {
    let columns = [
        "program",
        "n",
        "ε",
        "trade",
        "by hand: blocks, width, hidden",
        "parameters",
        "precision",
        "blocks",
        "width",
        "hidden",
        "parameters",
        "certified",
        "ours / by hand",
    ];
    let mut rows = Vec::new();
    for hand in HANDS.iter().chain([&ADDITION]) {
        let (subject, eps) = (Subject::of(hand.text, hand.tokens), (hand.eps)());
        let (blocks, width, hidden) = hand.shape;
        let mut row = vec![
            format!("`{}`", hand.text),
            hand.tokens.to_string(),
            eps.to_string(),
            hand.trade.name().to_owned(),
            format!("{blocks}, {width}, {hidden}"),
            grouped(hand.parameters),
        ];
        match subject.compile_in_either(&eps, hand.trade) {
            Ok(compiled) => {
                row.extend(sizes(&compiled));
                row[9] = units(&compiled).to_string();
                let factor = parameters(&compiled) / f64::from(hand.parameters);
                row.extend([format!("{:.2e}", compiled.budget.bound), format!("{factor:.2}")]);
            }
            Err(error) => row.push(error.headline().to_owned()),
        }
        row.resize(columns.len(), String::new());
        rows.push(row);
    }
    format!(
        "## Beside circuits laid out by hand\n\nThe yardstick: the same lemmas, laid out by a person for one program\n\
         at a time, executed in f32. Hidden units are those of all blocks together.\n\n{}",
        table(&columns, &rows)
    )
}

/// Tracr's network: its parameters and layers.
struct Tracr {
    text: &'static str,
    tokens: usize,
    size: Option<(u32, u32)>,
    /// Seconds to compile, seconds an input.
    times: Option<(f64, f64)>,
}

const TRACR: [Tracr; 4] = [
    Tracr { text: "sort-integers", tokens: 8, size: Some((122_087, 3)), times: Some((2.7, 24e-3)) },
    Tracr { text: "histogram", tokens: 10, size: Some((4153, 1)), times: None },
    Tracr { text: "x[n - 1 - i] on integers 0..10", tokens: 10, size: Some((108_059, 4)), times: None },
    Tracr { text: "count(x == 1, j <= i) / (i + 1) on integers 0..10", tokens: 10, size: None, times: None },
];

/// Beside Tracr.
pub fn tracr() -> String {
    let columns = [
        "program",
        "n",
        "Tracr: parameters",
        "layers",
        "compiled in",
        "an input",
        "ours: uniform",
        "parameters",
        "blocks",
        "compiled in",
        "an input",
        "Tracr / ours, uniform",
    ];
    let shown = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let mut rows = Vec::new();
    for tracr in &TRACR {
        let subject = Subject::of(tracr.text, tracr.tokens);
        let mut row = vec![format!("`{}`", tracr.text), tracr.tokens.to_string()];
        row.push(shown(tracr.size.map(|(parameters, _)| grouped(parameters))));
        row.push(shown(tracr.size.map(|(_, layers)| layers.to_string())));
        row.push(shown(tracr.times.map(|(compile, _)| seconds(compile))));
        row.push(shown(tracr.times.map(|(_, run)| seconds(run))));
        let (compiled, time) = fastest(3, || subject.compile_in_either(&power(2), Trade::Width));
        match compiled {
            Ok(compiled) => {
                let size = compiled.network.size();
                let uniform: f64 = size.parameters_uniform.to_string().parse().expect("a number");
                let engine = Engine::new(&compiled.network).expect("an engine");
                let input = vec![vec![vec![1.0]; tracr.tokens]];
                let (_, run) = fastest(1000, || engine.run(&input).expect("an output"));
                row.extend([grouped(&size.parameters_uniform), grouped(&size.parameters), size.blocks.to_string()]);
                row.extend([seconds(time), seconds(run)]);
                row.push(shown(tracr.size.map(|(theirs, _)| format!("{:.0}", f64::from(theirs) / uniform))));
            }
            Err(error) => row.push(error.headline().to_owned()),
        }
        row.resize(columns.len(), String::new());
        rows.push(row);
    }
    format!(
        "## Beside Tracr\n\nTracr at its head of 2024-02, JAX on a CPU, its own count of parameters: all entries of\n\
         all weights, padded to equal layers, embeddings of its vocabulary included. So ours are counted uniformly too; our\n\
         tokens are numbers, and need no such embedding. Tracr's layers are attention and MLP, like our blocks. A dash: not\n\
         measured.\n\n{}",
        table(&columns, &rows)
    )
}
