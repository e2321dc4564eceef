//! Circuits: how long they take to compile, and how many tokens a second they process.
//!
//!     cargo bench -p formwright --bench circuit

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use formwright::eval::float::Engine;
use formwright::model::Model;
use formwright::network::FloatNetwork;

fn circuit(name: &str, tokens: usize, tolerance: u32, trade: &str) -> Option<Model> {
    let asked = formwright::build(name).tokens(tokens).eps(format!("1/{tolerance}"));
    let circuit = asked
        .construction("circuit")
        .precision("f32")
        .asked(|asked| drop(asked.own.insert("trade".to_owned(), trade.to_owned())));
    circuit.model().ok()
}

fn compiling(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile");
    group.sample_size(10);
    for (name, tokens, tolerance) in [
        ("z-score", 16, 100),
        ("z-score", 512, 100),
        ("sort-integers", 8, 100),
        ("softmax", 16, 1000),
        ("softmax", 16, 10_000),
    ] {
        for trade in ["width", "depth"] {
            let shown = format!("{name}, {tokens} tokens, 1/{tolerance}, {trade}");
            group.bench_function(&shown, |b| b.iter(|| circuit(name, tokens, tolerance, trade)));
        }
    }
}

/// Tokens of a batch: many short sequences, or a few long ones.
const TOKENS: usize = 16_384;

/// The z-score in f32, from short sequences to long ones. The elements are tokens.
fn running(c: &mut Criterion) {
    let mut longest = [4096, 1024, 512].into_iter();
    let model = longest.find_map(|n| circuit("z-score", n, 100, "width")).expect("a circuit");
    // The time does not depend on what is certified of the longest sequences.
    let network = FloatNetwork { lengths: (1, 4096), ..model.float().expect("floats").clone() };
    let mut group = c.benchmark_group("z-score, f32");
    group.sample_size(10);
    for threads in [1, 2] {
        let engine = Engine::new(&network).and_then(|engine| engine.with_threads(threads)).expect("an engine");
        for tokens in [16, 64, 256, 1024, 4096] {
            for (name, sequences) in [("one sequence", 1), ("16,384 tokens", TOKENS / tokens)] {
                let x = inputs(sequences * tokens);
                let mut out = vec![0.0; x.len()];
                group.throughput(Throughput::Elements((sequences * tokens) as u64));
                group.bench_function(format!("n = {tokens}, {name}, {threads} threads"), |b| {
                    b.iter(|| engine.run_flat(tokens, &x, &mut out).expect("outputs"));
                });
            }
        }
    }
}

/// Numbers in [0, 1), spread evenly.
fn inputs(count: usize) -> Vec<f64> {
    let place = |k: usize| f64::from(u32::try_from(k).expect("not so many")) * 0.618_033_988_749_894_9;
    (0..count).map(|k| place(k).fract()).collect()
}

criterion_group!(benches, compiling, running);
criterion_main!(benches);
