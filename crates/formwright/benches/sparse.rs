//! The cost of an attention layer, by the number of tokens: of every token to all, by a window of 4 to each side, by
//! the star. One head of size one, in
//! `f32`, one thread; the network is an embedding of one coordinate, one layer, and a read-out. The elements of the throughput are connections.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use formwright::eval::float::Engine;
use formwright::network::{
    AttentionKind, AttentionRun, Coordinate, FloatAffine, FloatNetwork, FloatStage, Mask, Precision, Run,
};
use formwright::pattern::{Connections, Family};

/// Single-precision numbers in `[-1/2, 1/2)`, always the same ones.
fn noise(count: usize) -> impl Iterator<Item = f64> {
    let fraction = |i: usize| f64::from(u32::try_from(i * 7919 % 10_007).expect("small")) / 10_007.0 - 0.5;
    (0..count).map(move |i| Precision::F32.round(fraction(i)))
}

fn network(tokens: usize, connections: Vec<Connections>) -> FloatNetwork {
    let one = || FloatAffine { inputs: 1, outputs: 1, weight: vec![1.0], bias: vec![0.0] };
    let attention = AttentionRun {
        stage: 0,
        kind: AttentionKind::softmax(),
        heads: 1,
        head_size: 1,
        value_size: 1,
        masks: vec![Mask::ALL],
        connections,
        q: vec![4.0],
        q_bias: vec![0.5],
        k: vec![1.0],
        v: vec![1.0],
        o: vec![0.25],
    };
    FloatNetwork {
        precision: Precision::F32,
        tokens,
        lengths: (tokens, tokens),
        coordinates: vec![Coordinate { name: "z".to_owned(), meaning: String::new() }],
        embed: one(),
        positions: None,
        stages: vec![FloatStage { name: "layer".to_owned(), statement: String::new(), meaning: String::new() }],
        runs: vec![Run { blocks: 1, attention: Some(attention), feed_forward: None }],
        read_out: one(),
    }
}

fn layers(c: &mut Criterion) {
    for (name, family) in
        [("dense", None), ("window:4", Some(Family::Window { half_width: 4 })), ("star", Some(Family::Star))]
    {
        let mut group = c.benchmark_group(format!("an attention layer, f32, {name}"));
        for tokens in [64, 256, 1024, 4096, 16_384] {
            // Without connections every token sees every other.
            let cycle = family.map_or(Vec::new(), |family| family.pattern(tokens).expect("a pattern").cycle().to_vec());
            let count = cycle.first().map_or(tokens * tokens, Connections::count);
            let engine =
                Engine::new(&network(tokens, cycle)).and_then(|engine| engine.with_threads(1)).expect("an engine");
            let (x, mut y) = (noise(tokens).collect::<Vec<f64>>(), vec![0.0; tokens]);
            group.sample_size(10).throughput(Throughput::Elements(count as u64));
            group.bench_function(BenchmarkId::from_parameter(tokens), |b| {
                b.iter(|| engine.run_flat(tokens, &x, &mut y).expect("a run"));
            });
        }
    }
}

criterion_group!(benches, layers);
criterion_main!(benches);
