//! How fast float networks run: `2 · 21` operations a block and sequence, at one coordinate, four hidden units and two tokens.
//!
//! The elements of the throughput are floating-point operations: `8 + 4` before and in the hidden units, `8` after them, one for the
//! residual stream.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use formwright::eval::float::Engine;
use formwright::network::{
    AttentionKind, AttentionRun, Coordinate, FeedForwardRun, FloatAffine, FloatNetwork, FloatStage, Mask, Precision,
    Run,
};

const BATCH: usize = 1024;
const TOKENS: usize = 2;

/// Numbers of the format in `[-1/2, 1/2)`, always the same ones.
fn noise(precision: Precision, count: usize) -> Vec<f64> {
    let fraction = |i: usize| f64::from(u32::try_from(i * 7919 % 10_007).expect("small")) / 10_007.0 - 0.5;
    (0..count).map(|i| precision.round(fraction(i))).collect()
}

fn network(precision: Precision, width: usize, hidden: usize, runs: Vec<Run>) -> FloatNetwork {
    let coordinate = |i: usize| Coordinate { name: format!("z{i}"), meaning: String::new() };
    let affine = |outputs: usize, inputs: usize| FloatAffine {
        inputs,
        outputs,
        weight: noise(precision, outputs * inputs),
        bias: noise(precision, outputs),
    };
    FloatNetwork {
        precision,
        tokens: TOKENS,
        lengths: (TOKENS, TOKENS),
        coordinates: (0..width).map(coordinate).collect(),
        embed: affine(width, 1),
        positions: None,
        stages: vec![FloatStage {
            name: "blocks".to_owned(),
            statement: String::new(),
            meaning: format!("{hidden} hidden units"),
        }],
        runs,
        read_out: affine(1, width),
    }
}

fn feed_forward(precision: Precision, blocks: usize, width: usize, hidden: usize) -> FeedForwardRun {
    FeedForwardRun {
        stage: 0,
        hidden,
        w1: noise(precision, blocks * hidden * width),
        b1: noise(precision, blocks * hidden),
        w2: noise(precision, blocks * width * hidden).iter().map(|w| w / 1024.0).collect(),
        b2: noise(precision, blocks * width),
    }
}

fn attention(precision: Precision, blocks: usize) -> AttentionRun {
    AttentionRun {
        kind: AttentionKind::softmax(),
        stage: 0,
        heads: 1,
        head_size: 1,
        value_size: 1,
        masks: vec![Mask::ALL],
        connections: Vec::new(),
        q: noise(precision, blocks),
        q_bias: noise(precision, blocks),
        k: noise(precision, blocks),
        v: noise(precision, blocks),
        o: noise(precision, blocks),
    }
}

fn batch() -> Vec<Vec<Vec<f64>>> {
    let numbers = noise(Precision::F64, BATCH * TOKENS);
    numbers.chunks(TOKENS).map(|x| x.iter().map(|entry| vec![*entry]).collect()).collect()
}

/// Operations of a feed-forward block on the whole batch.
fn operations(blocks: usize, width: usize, hidden: usize) -> Throughput {
    let a_token = hidden * (4 * width + 1) + width;
    Throughput::Elements((blocks * a_token * TOKENS * BATCH) as u64)
}

/// Deep and narrow: what the constructions build.
fn deep(c: &mut Criterion) {
    let batch = batch();
    for precision in [Precision::F64, Precision::F32] {
        let mut group = c.benchmark_group(format!("float, {precision}, {BATCH} sequences"));
        for blocks in [100, 1_000, 10_000] {
            let run = Run { blocks, attention: None, feed_forward: Some(feed_forward(precision, blocks, 1, 4)) };
            let engine = Engine::new(&network(precision, 1, 4, vec![run])).expect("a network");
            group.throughput(operations(blocks, 1, 4));
            group.bench_function(BenchmarkId::new("blocks", blocks), |b| {
                b.iter(|| engine.run(&batch).expect("a run"));
            });
        }
    }
}

/// Other shapes: width 4, one wide layer, and attention, whose exponentials count as one operation.
fn shapes(c: &mut Criterion) {
    let batch = batch();
    for precision in [Precision::F64, Precision::F32] {
        let mut group = c.benchmark_group(format!("float, {precision}, {BATCH} sequences"));
        for (blocks, width, hidden) in [(1_000, 4, 4), (1, 1, 100_000), (1, 4, 10_000), (2, 64, 256)] {
            let run =
                Run { blocks, attention: None, feed_forward: Some(feed_forward(precision, blocks, width, hidden)) };
            let engine = Engine::new(&network(precision, width, hidden, vec![run])).expect("a network");
            group.throughput(operations(blocks, width, hidden));
            group.bench_function(format!("{blocks} blocks of width {width}, hidden {hidden}"), |b| {
                b.iter(|| engine.run(&batch).expect("a run"));
            });
        }
        let blocks = 1_000;
        let run = Run { blocks, attention: Some(attention(precision, blocks)), feed_forward: None };
        let engine = Engine::new(&network(precision, 1, 0, vec![run])).expect("a network");
        group.throughput(Throughput::Elements((blocks * TOKENS * TOKENS * BATCH) as u64));
        group.bench_function("exponentials in 1000 attention blocks", |b| {
            b.iter(|| engine.run(&batch).expect("a run"));
        });
    }
}

/// Networks like circuits: few blocks, one of them wide, sequences of any length. The elements of the throughput are
/// tokens; the heads take means (their queries are 0) of all or of those before, or weigh softly, every exponential a
/// different one.
fn circuits(c: &mut Criterion) {
    let (width, hidden) = (3, 330);
    for precision in [Precision::F64, Precision::F32] {
        let mut group =
            c.benchmark_group(format!("circuit, {precision}, width {width}, hidden {hidden}, 2 attention layers"));
        for (kind, scale, mask) in
            [("means", 0.0, Mask::ALL), ("prefix means", 0.0, Mask::CAUSAL), ("soft", 1.0, Mask::ALL)]
        {
            let attention = || AttentionRun {
                masks: vec![mask],
                q: noise(precision, width).iter().map(|q| q * scale).collect(),
                q_bias: vec![scale],
                k: noise(precision, width),
                v: noise(precision, width),
                o: noise(precision, width),
                ..attention(precision, 1)
            };
            let mean = Run { blocks: 1, attention: Some(attention()), feed_forward: None };
            let wide = Run { feed_forward: Some(feed_forward(precision, 1, width, hidden)), ..mean.clone() };
            let network = network(precision, width, hidden, vec![mean, wide]);
            let engine = Engine::new(&FloatNetwork { lengths: (1, 4096), ..network }).expect("a network");
            for (sequences, tokens) in [(256, 16), (1, 16), (8, 512), (1, 512), (1, 4096)] {
                let numbers = noise(Precision::F64, sequences * tokens);
                let batch: Vec<Vec<Vec<f64>>> =
                    numbers.chunks(tokens).map(|x| x.iter().map(|entry| vec![*entry]).collect()).collect();
                group.sample_size(10).throughput(Throughput::Elements((sequences * tokens) as u64));
                group.bench_function(format!("{kind}, {sequences} of {tokens} tokens"), |b| {
                    b.iter(|| engine.run(&batch).expect("a run"));
                });
            }
        }
    }
}

/// Exhaustive checks: very many short sequences. The elements are sequences.
fn exhaustive(c: &mut Criterion) {
    let (tokens, width, hidden, sequences) = (8, 8, 21, 1 << 14);
    for precision in [Precision::F64, Precision::F32] {
        let mut group =
            c.benchmark_group(format!("exhaustive, {precision}, {tokens} tokens, width {width}, hidden {hidden}"));
        let attention = AttentionRun {
            q: vec![0.0; width],
            q_bias: vec![0.0],
            k: noise(precision, width),
            value_size: width,
            v: noise(precision, width * width),
            o: noise(precision, width * width),
            ..attention(precision, 1)
        };
        let first = Run { blocks: 1, attention: None, feed_forward: Some(feed_forward(precision, 1, width, hidden)) };
        let second = Run { attention: Some(attention), ..first.clone() };
        let network = network(precision, width, hidden, vec![first, second]);
        let engine = Engine::new(&FloatNetwork { tokens, lengths: (tokens, tokens), ..network }).expect("a network");
        let numbers = noise(Precision::F64, sequences * tokens);
        let batch: Vec<Vec<Vec<f64>>> =
            numbers.chunks(tokens).map(|x| x.iter().map(|entry| vec![*entry]).collect()).collect();
        group.sample_size(10).throughput(Throughput::Elements(sequences as u64));
        group.bench_function("run", |b| b.iter(|| engine.run(&batch).expect("a run")));
        let mut out = vec![0.0; numbers.len()];
        group.bench_function("run_flat", |b| b.iter(|| engine.run_flat(tokens, &numbers, &mut out).expect("a run")));
    }
}

criterion_group!(benches, deep, shapes, circuits, exhaustive);
criterion_main!(benches);
