//! The engine bit by bit: whatever lies side by side, however the work is shared, it computes what plain loops compute that take every sum
//! from left to right, round every operation and every exponential correctly, and know nothing of lanes, tiles and threads.

use super::support::Random;
use super::support::floats::{self, Layers, Shape};
use formwright::error::ErrorKind;
use formwright::eval::float::{Engine, Sequence};
use formwright::network::{AttentionRun, FeedForwardRun, FloatAffine, FloatNetwork, Mask, Precision};

const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];

// ---- The definition ----

/// Operations of a format. A double holds more than twice the digits of a single, so that rounding twice rounds as once.
#[derive(Clone, Copy)]
struct By(Precision);

impl By {
    fn add(self, x: f64, y: f64) -> f64 {
        self.0.round(x + y)
    }

    fn sum(self, start: f64, products: impl Iterator<Item = (f64, f64)>) -> f64 {
        products.fold(start, |sum, (x, y)| self.add(sum, self.0.round(x * y)))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a single-precision number")]
    fn exp(self, x: f64) -> f64 {
        match self.0 {
            Precision::F32 => f64::from(core_math::expf(x as f32)),
            Precision::F64 => core_math::exp(x),
        }
    }

    /// Row `row` of a matrix times a vector.
    fn row(self, weight: &[f64], row: usize, start: f64, x: &[f64]) -> f64 {
        self.sum(start, weight[row * x.len()..][..x.len()].iter().copied().zip(x.iter().copied()))
    }

    fn affine(self, map: &FloatAffine, x: &[f64]) -> Vec<f64> {
        (0..map.outputs).map(|i| self.row(&map.weight, i, map.bias[i], x)).collect()
    }

    fn run(self, network: &FloatNetwork, x: &Sequence) -> Sequence {
        let round = |token: &Vec<f64>| token.iter().map(|x| self.0.round(*x)).collect::<Vec<f64>>();
        let mut z: Sequence = x.iter().map(|token| self.affine(&network.embed, &round(token))).collect();
        if let Some(positions) = &network.positions {
            z.iter_mut().flatten().zip(positions).for_each(|(z, position)| *z = self.add(*z, *position));
        }
        for run in &network.runs {
            for block in 0..run.blocks {
                run.attention.iter().for_each(|layer| z = self.attend(layer, block, &z));
                run.feed_forward.iter().for_each(|f| z.iter_mut().for_each(|z| self.feed_forward(f, block, z)));
            }
        }
        z.iter().map(|token| self.affine(&network.read_out, token)).collect()
    }

    fn feed_forward(self, f: &FeedForwardRun, block: usize, z: &mut [f64]) {
        let unit = |unit: usize| self.row(&f.w1, unit, f.b1[unit], z);
        let units: Vec<f64> =
            (block * f.hidden..(block + 1) * f.hidden).map(unit).map(|x| if 0.0 > x { 0.0 } else { x }).collect();
        let width = z.len();
        for (i, z) in z.iter_mut().enumerate() {
            *z = self.add(*z, self.row(&f.w2, block * width + i, f.b2[block * width + i], &units));
        }
    }

    fn attend(self, a: &AttentionRun, block: usize, z: &Sequence) -> Sequence {
        let (m, mv, width) = (a.head_size, a.value_size, z[0].len());
        let token = |i: usize| {
            let mut mixed: Vec<Vec<f64>> = Vec::new();
            for (mask, head) in a.masks.iter().zip(block * a.heads..) {
                let rows = |weight: &[f64], size: usize, z: &[f64]| -> Vec<f64> {
                    (0..size).map(|r| self.row(weight, head * size + r, 0.0, z)).collect()
                };
                let query: Vec<f64> =
                    (head * m..(head + 1) * m).map(|r| self.row(&a.q, r, a.q_bias[r], &z[i])).collect();
                let seen: Vec<usize> = (0..z.len()).filter(|j| mask.sees(i, *j)).collect();
                let score = |j: &usize| {
                    let key = rows(&a.k, m, &z[*j]);
                    let first = self.0.round(key[0] * query[0]);
                    self.sum(first, key.into_iter().zip(query.iter().copied()).skip(1))
                };
                let scores: Vec<f64> = seen.iter().map(score).collect();
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let exps: Vec<f64> = scores.iter().map(|score| self.exp(self.add(*score, -largest))).collect();
                let total = exps.iter().fold(0.0, |sum, exp| self.add(sum, *exp));
                let weights: Vec<f64> = exps.iter().map(|exp| self.0.round(exp / total)).collect();
                let values: Vec<Vec<f64>> = seen.iter().map(|j| rows(&a.v, mv, &z[*j])).collect();
                let value = |c: usize| weights.iter().copied().zip(values.iter().map(move |value| value[c]));
                mixed.push((0..mv).map(|c| self.sum(0.0, value(c))).collect());
            }
            let coordinate = |c: usize| {
                let o = |head: usize, r: usize| a.o[((block * a.heads + head) * width + c) * mv + r];
                let products = mixed
                    .iter()
                    .enumerate()
                    .flat_map(|(head, mixed)| mixed.iter().enumerate().map(move |(r, mixed)| (o(head, r), *mixed)));
                self.add(z[i][c], self.sum(0.0, products))
            };
            (0..width).map(coordinate).collect()
        };
        (0..z.len()).map(token).collect()
    }
}

// ---- Networks ----

/// Heads that weigh, that take means, that find the largest, whose query is the same for all tokens; masks of all kinds.
fn network(seed: u64, precision: Precision, width: usize, tokens: Option<usize>) -> FloatNetwork {
    let random = &mut Random::new(seed);
    let runs = [
        Layers { blocks: 1, attention: Some((0, 3, 1, 1)), feed_forward: Some((0, 7)) },
        Layers { blocks: 2, attention: Some((1, 4, 2, 3)), feed_forward: Some((1, 4)) },
        Layers { blocks: 1, attention: None, feed_forward: Some((1, 30)) },
        Layers { blocks: 1, attention: Some((2, 2, 3, 2)), feed_forward: None },
    ];
    let shape =
        Shape { precision, tokens: tokens.unwrap_or(5), dims: 2, output_dims: 3, width, positions: tokens.is_some() };
    let mut network = floats::network(random, shape, 3, &runs);
    if tokens.is_none() {
        network.lengths = (1, 1000);
    }
    let masks = [
        Mask::ALL,
        Mask { absolute: (Some(1), Some(40)), first: true, ..Mask::ALL },
        Mask::CAUSAL,
        Mask { relative: (Some(-3), Some(2)), ..Mask::ALL },
        Mask { relative: (Some(-40), Some(-2)), first: true, ..Mask::ALL },
        Mask { relative: (Some(0), None), absolute: (None, Some(35)), first: true },
        Mask { absolute: (None, Some(0)), ..Mask::ALL },
    ];
    let mut next = masks.iter().cycle().skip(usize::try_from(seed % 7).expect("small"));
    for a in network.runs.iter_mut().filter_map(|run| run.attention.as_mut()) {
        let rows = a.head_size * width;
        for (head, (q, bias)) in a.q.chunks_mut(rows).zip(a.q_bias.chunks_mut(a.head_size)).enumerate() {
            match head % 4 {
                // A mean; the same query for all, sharp; a sharp one.
                0 => (q.fill(0.0), bias.fill(0.0)),
                1 => (q.fill(0.0), bias.iter_mut().for_each(|b| *b *= 4096.0)),
                2 => (q.iter_mut().for_each(|q| *q *= 1024.0), ()),
                _ => ((), ()),
            };
        }
        a.masks.fill_with(|| *next.next().expect("a cycle"));
    }
    network
}

fn batch(random: &mut Random, tokens: usize, count: usize) -> Vec<Sequence> {
    let mut token = || (0..2).map(|_| floats::entry(random, Precision::F64, 2.0)).collect();
    let mut sequence = || (0..tokens).map(|_| token()).collect();
    (0..count).map(|_| sequence()).collect()
}

fn bits(y: &Sequence) -> Vec<u64> {
    y.iter().flatten().map(|y| y.to_bits()).collect()
}

#[test]
fn every_bit_is_that_of_plain_loops() {
    for precision in BOTH {
        for (seed, width) in [1, 2, 3, 4, 5, 9].into_iter().enumerate() {
            let network = network(seed as u64, precision, width, None);
            let engine = Engine::new(&network).expect("an engine");
            for (tokens, count) in
                [(1, 1), (1, 70), (2, 33), (7, 3), (8, 35), (31, 2), (31, 32), (32, 2), (33, 2), (70, 1)]
            {
                let random = &mut Random::new(tokens as u64);
                let batch = batch(random, tokens, count);
                let outputs = engine.run(&batch).expect("a run");
                for place in [0, count / 2, count - 1] {
                    let expected = By(precision).run(&network, &batch[place]);
                    let same = bits(&outputs[place]) == bits(&expected);
                    assert!(same, "{precision}, width {width}: sequence {place} of {count}, {tokens} tokens");
                }
            }
        }
        for tokens in [1, 6, 40] {
            let network = network(3, precision, 3, Some(tokens));
            let engine = Engine::new(&network).expect("an engine");
            for count in [1, 35] {
                let batch = batch(&mut Random::new(5), tokens, count);
                let output = &engine.run(&batch).expect("a run")[count - 1];
                assert_eq!(bits(output), bits(&By(precision).run(&network, &batch[count - 1])), "{tokens} positions");
            }
        }
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for precision in BOTH {
        let network = network(11, precision, 3, None);
        let with = |threads: usize| Engine::new(&network).and_then(|e| e.with_threads(threads)).expect("an engine");
        let engines = [1, 2, 3, 5].map(with);
        let shared = Engine::new(&network).expect("an engine");
        for (tokens, count) in [(5, 200), (300, 1), (600, 2), (300, 7)] {
            let batch = batch(&mut Random::new(2), tokens, count);
            let expected: Vec<_> = shared.run(&batch).expect("a run").iter().map(bits).collect();
            for engine in &engines {
                let found: Vec<_> = engine.run(&batch).expect("a run").iter().map(bits).collect();
                assert_eq!(found, expected, "{precision}: {count} sequences of {tokens} tokens");
            }
            let last = By(precision).run(&network, &batch[count - 1]);
            assert_eq!(expected[count - 1], bits(&last));
        }
    }
    let none = Engine::new(&network(1, Precision::F32, 2, None)).and_then(|engine| engine.with_threads(0));
    assert_eq!(none.expect_err("nobody works").headline(), "0 threads, expected 1 or more");
}

#[test]
fn a_flat_batch_gives_the_same_numbers() {
    for precision in BOTH {
        let engine = Engine::new(&network(5, precision, 5, None)).expect("an engine");
        for (tokens, count) in [(1, 1), (3, 100), (8, 31), (50, 3), (8, 0)] {
            let batch = batch(&mut Random::new(1), tokens, count);
            let flat: Vec<f64> = batch.iter().flatten().flatten().copied().collect();
            let mut out = vec![f64::NAN; count * tokens * 3];
            // Twice: the second time in rooms that are not new.
            for _ in 0..2 {
                engine.run_flat(tokens, &flat, &mut out).expect("a run");
                let outputs = engine.run(&batch).expect("a run");
                assert_eq!(out, outputs.into_iter().flatten().flatten().collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn flat_batches_of_another_shape_are_refused() {
    let mut network = network(5, Precision::F32, 2, None);
    network.lengths = (2, 9);
    let engine = Engine::new(&network).expect("an engine");
    let mut numbers = vec![0.5; 24];
    let mut out = vec![0.0; 36];
    let mut refusal = |tokens: usize, batch: &[f64], room: usize| {
        let error = engine.run_flat(tokens, batch, &mut out[..room]).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Input);
        error.headline().to_owned()
    };
    let lengths = "a sequence of the batch has 1 tokens, the network expects 2 to 9";
    assert_eq!(refusal(1, &numbers, 36), lengths);
    assert_eq!(refusal(0, &numbers, 36), lengths.replace("1 tokens", "0 tokens"));
    assert_eq!(refusal(5, &numbers, 36), "24 numbers are no batch of 5 tokens of 2 coordinates");
    assert_eq!(refusal(4, &numbers, 35), "there is room for 35 numbers, and 36 come out");
    numbers[13] = 1e39;
    assert_eq!(refusal(4, &numbers, 36), "sequence 1, token 2, coordinate 1 is 1e39: beyond the range of f32");
    numbers[13] = f64::NAN;
    assert_eq!(refusal(4, &numbers, 36), "sequence 1, token 2, coordinate 1 is NaN: not a finite number");
}

/// An overflow stays with the sequence and the tokens that see it.
#[test]
fn numbers_out_of_range_do_not_spread_to_neighbours() {
    for precision in BOTH {
        let mut network = network(4, precision, 3, None);
        for a in network.runs.iter_mut().filter_map(|run| run.attention.as_mut()) {
            a.masks.fill(Mask::CAUSAL);
        }
        let engine = Engine::new(&network).expect("an engine");
        for (tokens, count) in [(12, 20), (12, 1), (50, 1)] {
            let good = batch(&mut Random::new(3), tokens, count);
            let mut bad = good.clone();
            let huge = if precision == Precision::F32 { 3e38 } else { 1e308 };
            bad[count - 1][10] = vec![huge, -huge];
            let (good, bad) = (engine.run(&good).expect("a run"), engine.run(&bad).expect("a run"));
            assert!(bad[count - 1].iter().flatten().any(|y| !y.is_finite()), "nothing overflows");
            assert_eq!(good[..count - 1], bad[..count - 1]);
            assert_eq!(good[count - 1][..10], bad[count - 1][..10]);
        }
    }
}
