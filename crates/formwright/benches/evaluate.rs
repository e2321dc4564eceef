//! How fast the two executions are, and how they grow.
//!
//! `cargo bench -p formwright` prints it; `measurements/benchmarks.md` holds a run with its date.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use formwright::eval::{exact, indexed};
use formwright::model::Model;

fn model(tokens: usize, columns: u64, positional: bool) -> Model {
    model_in(tokens, 1, columns, positional)
}

fn model_in(tokens: usize, dims: usize, resolution: u64, positional: bool) -> Model {
    let asked = formwright::build("x - mean(x)").tokens(tokens).dims(dims).resolution(resolution);
    let asked = asked.construction("yun").precision("exact").asked(|asked| asked.positional = positional);
    asked.model().expect("a model")
}

/// Sequences a second: one run of the whole network, independent of the number of value layers.
fn closed_form(c: &mut Criterion) {
    for positional in [false, true] {
        let theorem = if positional { "theorem 3" } else { "theorem 2" };
        let mut group = c.benchmark_group(format!("closed form, {theorem}"));
        group.throughput(Throughput::Elements(1));
        for tokens in [2, 3, 4] {
            for columns in [16, 256, 4096] {
                let model = model(tokens, columns, positional);
                let x = model.example();
                group.bench_function(BenchmarkId::new(format!("n={tokens}"), format!("D={columns}")), |b| {
                    b.iter(|| indexed::run(model.exact().expect("cells"), &x).expect("a run"));
                });
            }
        }
    }
}

/// The network of more than 10^12 layers.
fn a_trillion_layers(c: &mut Criterion) {
    let model = model_in(4, 2, 46, false);
    let x = model.example();
    let mut group = c.benchmark_group("closed form, theorem 2");
    group.throughput(Throughput::Elements(1));
    group.bench_function("n=4, d=2, N=46", |b| {
        b.iter(|| indexed::run(model.exact().expect("cells"), &x).expect("a run"));
    });
}

/// Layers a second: the same network, every layer made and applied to one sequence.
fn layer_by_layer(c: &mut Criterion) {
    let mut group = c.benchmark_group("layer by layer, theorem 2");
    group.sample_size(10);
    for (tokens, columns) in [(2, 16), (2, 32), (2, 64), (3, 8), (3, 16), (4, 8), (4, 16)] {
        let model = model(tokens, columns, false);
        let layers = model.exact().expect("cells").layer_count().to_u64().expect("few");
        let x = model.example();
        group.throughput(Throughput::Elements(layers));
        group.bench_function(BenchmarkId::new(format!("n={tokens}"), format!("D={columns}, {layers} layers")), |b| {
            b.iter(|| exact::run(model.exact().expect("cells"), &x).expect("a run"));
        });
    }
}

/// The work of `build` before anything is written.
fn compilation(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile, theorem 2");
    for (tokens, columns) in [(2, 16), (4, 4096)] {
        group.bench_function(BenchmarkId::new(format!("n={tokens}"), format!("D={columns}")), |b| {
            b.iter(|| model(tokens, columns, false));
        });
    }
}

criterion_group!(benches, closed_form, a_trillion_layers, layer_by_layer, compilation);
criterion_main!(benches);
