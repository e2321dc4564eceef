//! Float networks: the engine against a naive evaluator, both against the reference, the reference against closed forms.
//!
//! The bound that they are held to is the model `ieee-any-order`: every sum in any order, multiplications fused or not, exponentials
//! with a relative error of at most `2^-49` or `2^-20`. A sum of `k` products is off by at most `γ_k Σ|w||x|`, `γ_k = ku / (1 − ku)`,
//! in any order (Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.1).

use super::support::Random;
use formwright::error::ErrorKind;
use formwright::eval::float::{Engine, Sequence};
use formwright::eval::reference::{self, Bracket, Reference};
use formwright::exact::{Int, Rat};
use formwright::network::{
    AttentionKind, AttentionRun, Coordinate, FeedForwardRun, FloatAffine, FloatNetwork, FloatStage, Mask, Precision,
    Run,
};
use proptest::prelude::*;

const BOTH: [Precision; 2] = [Precision::F64, Precision::F32];

/// A number of the format in `(-size, size)`; every fourth one is 0.
fn number(random: &mut Random, precision: Precision, size: f64) -> f64 {
    if random.below(4) == 0 {
        return 0.0;
    }
    let fraction = f64::from(u32::try_from(random.below(1 << 30)).expect("small")) / f64::from(1 << 29) - 1.0;
    precision.round(fraction * size)
}

fn numbers(random: &mut Random, precision: Precision, count: usize, size: f64) -> Vec<f64> {
    (0..count).map(|_| number(random, precision, size)).collect()
}

fn below(random: &mut Random, end: u64) -> usize {
    usize::try_from(random.below(end)).expect("small")
}

fn affine(random: &mut Random, precision: Precision, inputs: usize, outputs: usize) -> FloatAffine {
    let weight = numbers(random, precision, outputs * inputs, 1.0);
    FloatAffine { inputs, outputs, weight, bias: numbers(random, precision, outputs, 1.0) }
}

fn attention(random: &mut Random, precision: Precision, stage: usize, blocks: usize, width: usize) -> AttentionRun {
    let (heads, head_size, value_size) = (1 + below(random, 3), 1 + below(random, 3), 1 + below(random, 2));
    let mut tensor = |size: usize, scale: f64| numbers(random, precision, blocks * heads * size, scale);
    AttentionRun {
        kind: AttentionKind::softmax(),
        stage,
        heads,
        head_size,
        value_size,
        masks: vec![Mask::ALL; heads],
        connections: Vec::new(),
        q: tensor(head_size * width, 0.5),
        q_bias: tensor(head_size, 1.0),
        k: tensor(head_size * width, 0.5),
        v: tensor(value_size * width, 0.4),
        o: tensor(width * value_size, 0.4),
    }
}

fn feed_forward(
    random: &mut Random,
    precision: Precision,
    stage: usize,
    blocks: usize,
    width: usize,
) -> FeedForwardRun {
    let hidden = below(random, 10);
    let mut tensor = |size: usize, scale: f64| numbers(random, precision, blocks * size, scale);
    FeedForwardRun {
        stage,
        hidden,
        w1: tensor(hidden * width, 0.7),
        b1: tensor(hidden, 1.0),
        w2: tensor(width * hidden, 0.2),
        b2: tensor(width, 1.0),
    }
}

/// Tensors of every kind: narrow and wide, with and without positions, blocks of one half, and one that two stages share.
fn network(seed: u64, precision: Precision) -> FloatNetwork {
    let random = &mut Random::new(seed);
    let (tokens, dims, width) = (1 + below(random, 4), 1 + below(random, 3), 1 + below(random, 7));
    let stage = |name: &str| FloatStage { name: name.to_owned(), statement: String::new(), meaning: String::new() };
    let coordinate = |i: usize| Coordinate { name: format!("z{i}"), meaning: String::new() };
    let mut run = |blocks: usize, stages: (Option<usize>, Option<usize>)| Run {
        blocks,
        attention: stages.0.map(|stage| attention(random, precision, stage, blocks, width)),
        feed_forward: stages.1.map(|stage| feed_forward(random, precision, stage, blocks, width)),
    };
    let runs = vec![
        run(3, (None, Some(0))),
        run(1, (Some(0), Some(1))),
        run(2, (Some(1), Some(1))),
        run(1, (Some(1), None)),
        run(2, (None, Some(3))),
    ];
    let outputs = 1 + below(random, 2);
    FloatNetwork {
        precision,
        tokens,
        lengths: (tokens, tokens),
        coordinates: (0..width).map(coordinate).collect(),
        embed: affine(random, precision, dims, width),
        positions: (random.below(2) == 0).then(|| numbers(random, precision, tokens * width, 1.0)),
        stages: ["first", "second", "nothing", "last"].map(stage).into(),
        runs,
        read_out: affine(random, precision, width, outputs),
    }
}

fn batch(random: &mut Random, network: &FloatNetwork, count: usize) -> Vec<Sequence> {
    let mut token = || numbers(random, Precision::F64, network.dims(), 2.0);
    (0..count).map(|_| (0..network.tokens).map(|_| token()).collect()).collect()
}

fn rational(x: f64) -> Rat {
    Rat::from_f64(x).expect("finite")
}

/// The input as the network sees it.
fn rounded(network: &FloatNetwork, x: &Sequence) -> Vec<Vec<Rat>> {
    let entry = |x: &f64| rational(network.precision.round(*x));
    x.iter().map(|token| token.iter().map(entry).collect()).collect()
}

// ---- An evaluator of its own: loops as in the formula, sums in random order ----

/// How an execution may round: the order of sums, and fused multiplication, as the random numbers will.
struct Naive<'a> {
    network: &'a FloatNetwork,
    random: Random,
}

impl Naive<'_> {
    /// A product and sum of singles computed in double precision and rounded is the same as one computed in single precision.
    fn round(&self, x: f64) -> f64 {
        self.network.precision.round(x)
    }

    /// `bias + Σ w x`, in some order.
    fn sum(&mut self, bias: f64, products: impl Iterator<Item = (f64, f64)>) -> f64 {
        let mut terms: Vec<(f64, f64)> = products.chain([(bias, 1.0)]).collect();
        for end in (1..terms.len()).rev() {
            terms.swap(end, below(&mut self.random, end as u64 + 1));
        }
        let fused = self.random.below(2) == 0;
        terms.iter().fold(0.0, |sum, (w, x)| match (fused, self.network.precision) {
            (true, Precision::F64) => w.mul_add(*x, sum),
            #[expect(clippy::cast_possible_truncation, reason = "all of them are singles")]
            (true, Precision::F32) => f64::from((*w as f32).mul_add(*x as f32, sum as f32)),
            (false, _) => self.round(sum + self.round(w * x)),
        })
    }

    fn affine(&mut self, affine: &FloatAffine, x: &[f64]) -> Vec<f64> {
        let n = affine.inputs;
        let row = |i: usize| affine.weight[i * n..(i + 1) * n].iter().copied();
        (0..affine.outputs).map(|i| self.sum(affine.bias[i], row(i).zip(x.iter().copied()))).collect()
    }

    fn run(&mut self, x: &Sequence) -> Sequence {
        let network = self.network;
        let rounded = |token: &Vec<f64>| token.iter().map(|x| network.precision.round(*x)).collect::<Vec<f64>>();
        let mut state: Sequence = x.iter().map(|token| self.affine(&network.embed, &rounded(token))).collect();
        if let Some(positions) = &network.positions {
            state.iter_mut().flatten().zip(positions).for_each(|(z, p)| *z = self.round(*z + p));
        }
        for run in &network.runs {
            for block in 0..run.blocks {
                if let Some(layer) = &run.attention {
                    self.attend(layer, block, &mut state);
                }
                if let Some(layer) = &run.feed_forward {
                    for token in &mut state {
                        self.feed_forward(layer, block, token);
                    }
                }
            }
        }
        state.iter().map(|token| self.affine(&network.read_out, token)).collect()
    }

    fn feed_forward(&mut self, layer: &FeedForwardRun, block: usize, token: &mut [f64]) {
        let (width, hidden) = (token.len(), layer.hidden);
        let mut units = Vec::new();
        for j in 0..hidden {
            let row = block * hidden + j;
            let products = (0..width).map(|i| (layer.w1[row * width + i], token[i]));
            units.push(self.sum(layer.b1[row], products).max(0.0));
        }
        for (i, z) in token.iter_mut().enumerate() {
            let row = block * width + i;
            let gained = self.sum(layer.b2[row], (0..hidden).map(|j| (layer.w2[row * hidden + j], units[j])));
            *z = self.round(*z + gained);
        }
    }

    fn attend(&mut self, layer: &AttentionRun, block: usize, state: &mut Sequence) {
        let (before, width) = (state.clone(), self.network.width());
        for head in block * layer.heads..(block + 1) * layer.heads {
            let mut project = |tensor: &[f64], bias: Option<&[f64]>, size: usize, z: &[f64]| -> Vec<f64> {
                let row = |r: usize| (0..width).map(move |i| (tensor[(head * size + r) * width + i], z[i]));
                (0..size).map(|r| self.sum(bias.map_or(0.0, |bias| bias[head * size + r]), row(r))).collect()
            };
            let keys: Vec<Vec<f64>> = before.iter().map(|z| project(&layer.k, None, layer.head_size, z)).collect();
            let values: Vec<Vec<f64>> = before.iter().map(|z| project(&layer.v, None, layer.value_size, z)).collect();
            let queries: Vec<Vec<f64>> =
                before.iter().map(|z| project(&layer.q, Some(&layer.q_bias), layer.head_size, z)).collect();
            let mask = layer.masks[head - block * layer.heads];
            for (i, (z, query)) in state.iter_mut().zip(&queries).enumerate() {
                let seen: Vec<usize> = (0..keys.len()).filter(|j| mask.sees(i, *j)).collect();
                let scores: Vec<f64> =
                    seen.iter().map(|j| self.sum(0.0, keys[*j].iter().copied().zip(query.iter().copied()))).collect();
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                // Not the engine's exponential: that of the standard library.
                let exps: Vec<f64> = scores.iter().map(|score| self.round(self.round(score - largest).exp())).collect();
                let total = self.sum(0.0, exps.iter().map(|e| (*e, 1.0)));
                let weights: Vec<f64> = exps.iter().map(|e| self.round(e / total)).collect();
                let mixed: Vec<f64> = (0..layer.value_size)
                    .map(|c| self.sum(0.0, weights.iter().zip(&seen).map(|(w, j)| (*w, values[*j][c]))))
                    .collect();
                for (i, z) in z.iter_mut().enumerate() {
                    let row = (head * width + i) * layer.value_size;
                    let gained = self.sum(0.0, mixed.iter().enumerate().map(|(c, mixed)| (layer.o[row + c], *mixed)));
                    *z = self.round(*z + gained);
                }
            }
        }
    }
}

// ---- How far any such execution is from the real result ----

/// A real number `x` with `|x| ≤ size`, and a bound on how far any execution's number is from it.
#[derive(Clone, Copy)]
struct Number {
    mid: f64,
    error: f64,
}

impl Number {
    /// A bound of the real number and of every execution's. `mid` is itself an execution's number.
    fn size(self) -> f64 {
        self.mid.abs() + 2.0 * self.error
    }
}

/// The bounds along a network. `mid` is computed in double precision, whose roundings the errors cover too.
struct Bound<'a> {
    network: &'a FloatNetwork,
    unit: f64,
    exp: f64,
}

impl<'a> Bound<'a> {
    fn new(network: &'a FloatNetwork) -> Self {
        let (unit, exp) = match network.precision {
            Precision::F64 => (2f64.powi(-53), 2f64.powi(-49)),
            Precision::F32 => (2f64.powi(-24), 2f64.powi(-20)),
        };
        Self { network, unit, exp }
    }

    fn gamma(&self, k: usize) -> f64 {
        let ku = f64::from(u32::try_from(k).expect("small")) * self.unit;
        ku / (1.0 - ku)
    }

    /// `Σ x y`: the errors of the factors, then `γ` of the sizes; a product that underflows loses at most the least normal number.
    fn sum(&self, products: &[(Number, Number)]) -> Number {
        let mid = products.iter().map(|(x, y)| x.mid * y.mid).sum();
        let carried: f64 = products.iter().map(|(x, y)| x.error * y.size() + y.error * x.size()).sum();
        let rounded: f64 = products.iter().map(|(x, y)| x.size() * y.size()).sum();
        let least = 2.0 * if self.unit < 1e-10 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
        let count = f64::from(u32::try_from(products.len()).expect("small"));
        // The last factor is for the roundings of this line itself.
        Number { mid, error: (carried + self.gamma(products.len() + 1) * rounded + count * least) * (1.0 + 1e-9) }
    }

    fn dot(&self, weight: &[f64], x: &[Number], bias: f64) -> Number {
        let one = Number { mid: 1.0, error: 0.0 };
        let exact = |mid: f64| Number { mid, error: 0.0 };
        let products: Vec<(Number, Number)> =
            weight.iter().zip(x).map(|(w, x)| (exact(*w), *x)).chain([(exact(bias), one)]).collect();
        self.sum(&products)
    }

    fn add(&self, x: Number, y: Number) -> Number {
        let one = Number { mid: 1.0, error: 0.0 };
        self.sum(&[(x, one), (y, one)])
    }

    fn affine(&self, affine: &FloatAffine, x: &[Number]) -> Vec<Number> {
        let row = |i: usize| &affine.weight[i * affine.inputs..][..affine.inputs];
        (0..affine.outputs).map(|i| self.dot(row(i), x, affine.bias[i])).collect()
    }

    /// The largest error of an output entry.
    fn run(&self, x: &Sequence) -> f64 {
        let network = self.network;
        let exact = |x: &f64| Number { mid: network.precision.round(*x), error: 0.0 };
        let mut state: Vec<Vec<Number>> =
            x.iter().map(|token| self.affine(&network.embed, &token.iter().map(exact).collect::<Vec<_>>())).collect();
        if let Some(positions) = &network.positions {
            state.iter_mut().flatten().zip(positions).for_each(|(z, p)| *z = self.add(*z, exact(p)));
        }
        for run in &network.runs {
            for block in 0..run.blocks {
                if let Some(layer) = &run.attention {
                    state = self.attend(layer, block, &state);
                }
                if let Some(layer) = &run.feed_forward {
                    for token in &mut state {
                        self.feed_forward(layer, block, token);
                    }
                }
            }
        }
        state.iter().flat_map(|token| self.affine(&network.read_out, token)).map(|y| y.error).fold(0.0, larger)
    }

    fn feed_forward(&self, layer: &FeedForwardRun, block: usize, token: &mut [Number]) {
        let (width, hidden) = (token.len(), layer.hidden);
        let unit = |j: usize| {
            let row = block * hidden + j;
            let t = self.dot(&layer.w1[row * width..][..width], token, layer.b1[row]);
            Number { mid: t.mid.max(0.0), ..t }
        };
        let units: Vec<Number> = (0..hidden).map(unit).collect();
        for (i, z) in token.iter_mut().enumerate() {
            let row = block * width + i;
            *z = self.add(*z, self.dot(&layer.w2[row * hidden..][..hidden], &units, layer.b2[row]));
        }
    }

    fn attend(&self, layer: &AttentionRun, block: usize, before: &[Vec<Number>]) -> Vec<Vec<Number>> {
        let (one, width) = (Number { mid: 1.0, error: 0.0 }, self.network.width());
        // What is summed for every entry of the state: the entry itself, and what each head adds.
        let entry = |z: &Number| vec![(*z, one)];
        let mut sums: Vec<Vec<Vec<(Number, Number)>>> =
            before.iter().map(|token| token.iter().map(entry).collect()).collect();
        for head in block * layer.heads..(block + 1) * layer.heads {
            let project = |tensor: &[f64], bias: Option<&[f64]>, size: usize, z: &[Number]| -> Vec<Number> {
                let rows = (0..size).map(|r| head * size + r);
                rows.map(|r| self.dot(&tensor[r * width..][..width], z, bias.map_or(0.0, |bias| bias[r]))).collect()
            };
            let keys: Vec<_> = before.iter().map(|z| project(&layer.k, None, layer.head_size, z)).collect();
            let values: Vec<_> = before.iter().map(|z| project(&layer.v, None, layer.value_size, z)).collect();
            let mask = layer.masks[head - block * layer.heads];
            for (i, (sums, before)) in sums.iter_mut().zip(before).enumerate() {
                let seen: Vec<usize> = (0..keys.len()).filter(|j| mask.sees(i, *j)).collect();
                let query = project(&layer.q, Some(&layer.q_bias), layer.head_size, before);
                let score =
                    |key: &Vec<Number>| self.sum(&key.iter().copied().zip(query.iter().copied()).collect::<Vec<_>>());
                let weights = self.softmax(&seen.iter().map(|j| score(&keys[*j])).collect::<Vec<_>>());
                let mixed: Vec<Number> = (0..layer.value_size)
                    .map(|c| self.sum(&weights.iter().zip(&seen).map(|(w, j)| (*w, values[*j][c])).collect::<Vec<_>>()))
                    .collect();
                for (i, sum) in sums.iter_mut().enumerate() {
                    let row = (head * width + i) * layer.value_size;
                    sum.push((self.dot(&layer.o[row..][..layer.value_size], &mixed, 0.0), one));
                }
            }
        }
        sums.iter().map(|token| token.iter().map(|sum| self.sum(sum)).collect()).collect()
    }

    /// A score is off by at most `δ`, its difference to the largest by at most `2δ` and a rounding, so an exponential by a factor of at
    /// most `e^d` up or down, `d = 2δ + u·span + exp`; the weight by its square, the roundings of the sum and that of the
    /// quotient, or those of the reciprocal and the product.
    fn softmax(&self, scores: &[Number]) -> Vec<Number> {
        let largest = scores.iter().map(|s| s.mid).fold(f64::NEG_INFINITY, f64::max);
        let worst = scores.iter().map(|s| s.error).fold(0.0, f64::max);
        let span = scores.iter().map(|s| largest - s.mid + 2.0 * worst).fold(0.0, f64::max);
        // A factor of 2 for `mid`, which is off the real number by as much as an execution is.
        let d = 2.0 * (2.0 * worst + self.unit * span + 2.0 * self.exp + self.gamma(scores.len() + 2));
        let relative = (2.0 * d).exp_m1();
        let exps: Vec<f64> = scores.iter().map(|s| (s.mid - largest).exp()).collect();
        let total: f64 = exps.iter().sum();
        let least = 2.0 * if self.unit < 1e-10 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
        let number = |e: &f64| Number { mid: e / total, error: (e / total * relative).min(2.0) + 4.0 * least };
        exps.iter().map(number).collect()
    }
}

/// The larger of two, or what is not a number.
fn larger(x: f64, y: f64) -> f64 {
    if y <= x { x } else { y }
}

fn largest_difference(x: &Sequence, y: &Sequence) -> f64 {
    x.iter().flatten().zip(y.iter().flatten()).map(|(x, y)| (x - y).abs()).fold(0.0, larger)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any order of summation, fused or not, and the engine's: all within the bound of the reference, hence of each other.
    #[test]
    fn executions_lie_within_the_bound_of_the_reference(seed in 0..1_000_000_u64, single in any::<bool>()) {
        let network = network(seed, if single { Precision::F32 } else { Precision::F64 });
        let (engine, truth) = (Engine::new(&network).expect("an engine"), Reference::new(&network).expect("a reference"));
        let batch = batch(&mut Random::new(seed ^ 1), &network, 3);
        let outputs = engine.run(&batch).expect("a run");
        for (x, y) in batch.iter().zip(&outputs) {
            let bound = Bound::new(&network).run(x);
            // A larger one would find no mistake.
            prop_assume!(bound < if single { 1.0 } else { 1e-8 });
            let real = truth.run(&rounded(&network, x)).expect("a run");
            let width = real.iter().flatten().map(|y| y.width().to_f64()).fold(0.0, f64::max);
            prop_assert!(width < 2f64.powi(-100), "{width:e}");
            prop_assert!(reference::distance(&real, y) <= bound + width, "{:e} {bound:e}", reference::distance(&real, y));
            for shuffle in 0..3 {
                let naive = Naive { network: &network, random: Random::new(shuffle) }.run(x);
                prop_assert!(reference::distance(&real, &naive) <= bound + width);
                prop_assert!(largest_difference(&naive, y) <= 2.0 * bound);
            }
        }
    }

    /// The trace ends where the output begins, and a stage without layers changes nothing.
    #[test]
    fn traces_show_the_state_after_each_stage(seed in 0..1_000_000_u64) {
        let network = network(seed, Precision::F64);
        let engine = Engine::new(&network).expect("an engine");
        let batch = batch(&mut Random::new(seed), &network, 5);
        let whole = engine.trace_batch(&batch).expect("a trace");
        let names: Vec<&str> = whole.iter().map(|(name, _)| name.as_str()).collect();
        prop_assert_eq!(&names, &["embed", "first", "second", "nothing", "last"]);
        prop_assert_eq!(&whole[2].1, &whole[3].1);
        let one = engine.trace(&batch[4]).expect("a trace");
        prop_assert!(one.iter().zip(&whole).all(|((_, one), (_, all))| *one == all[4]));
        let truth = reference::trace(&network, &rounded(&network, &batch[4])).expect("a trace");
        for ((name, state), (known, enclosures)) in one.iter().zip(&truth) {
            prop_assert_eq!(name, known);
            prop_assert!(reference::distance(enclosures, state) < 1e-6);
        }
        // A network that ends after the first stage has the state that the trace shows.
        let mut beginning = network.clone();
        beginning.runs.truncate(2);
        beginning.runs[1].feed_forward = None;
        let ended = Engine::new(&beginning).expect("an engine").trace(&batch[4]).expect("a trace");
        prop_assert_eq!(&ended[4].1, &one[1].1);
    }
}

#[test]
fn the_number_of_threads_and_of_neighbours_does_not_matter() {
    for precision in BOTH {
        for seed in 0..5 {
            let network = network(seed, precision);
            let engine = Engine::new(&network).expect("an engine");
            let batch = batch(&mut Random::new(seed), &network, 150);
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                pool.install(|| engine.run(&batch).expect("a run"))
            };
            let bits = |y: &[Sequence]| y.iter().flatten().flatten().map(|y| y.to_bits()).collect::<Vec<u64>>();
            let together = with(1);
            assert_eq!(bits(&together), bits(&with(2)));
            let alone: Vec<Sequence> =
                batch.iter().map(|x| engine.run(std::slice::from_ref(x)).expect("a run").remove(0)).collect();
            assert_eq!(bits(&together), bits(&alone));
            assert_eq!(engine.run(&[]), Ok(Vec::new()));
        }
    }
}

/// `[k z_0, k z_1]` with one head of size 1, a query of 1, values passed on: `z_i + p z_0 + (1 − p) z_1`, `p = 1 / (1 + e^(k(z_1 − z_0)))`.
fn two_keys(k: f64) -> FloatNetwork {
    let one = || vec![1.0];
    let attention = AttentionRun {
        kind: AttentionKind::softmax(),
        stage: 0,
        heads: 1,
        head_size: 1,
        value_size: 1,
        masks: vec![Mask::ALL],
        connections: Vec::new(),
        q: vec![0.0],
        q_bias: one(),
        k: vec![k],
        v: one(),
        o: one(),
    };
    let identity = FloatAffine { inputs: 1, outputs: 1, weight: one(), bias: vec![0.0] };
    FloatNetwork {
        precision: Precision::F64,
        tokens: 2,
        lengths: (2, 2),
        coordinates: vec![Coordinate { name: "z".to_owned(), meaning: String::new() }],
        embed: identity.clone(),
        positions: None,
        stages: vec![FloatStage { name: "mix".to_owned(), statement: String::new(), meaning: String::new() }],
        runs: vec![Run { blocks: 1, attention: Some(attention), feed_forward: None }],
        read_out: identity,
    }
}

fn sigmoid_outputs(k: f64, low: i32) -> Vec<Bracket> {
    let x = vec![vec![Rat::ONE], vec![Rat::from(low)]];
    reference::run(&two_keys(k), &x).expect("a run").into_iter().flatten().collect()
}

/// Digits of `1 / (1 + exp(-k))` from mpmath, truncated after 100.
#[test]
fn two_keys_are_a_sigmoid() {
    for (k, digits) in [
        (
            0.5,
            "622459331201854564638900565745508478753279365308910163059437162658544995640024679502583694\
            7247423730",
        ),
        (
            1.0,
            "731058578630004879251159241821836274365144640165056519276365907919040453070204639387474532\
            0759812452",
        ),
        (
            20.0,
            "999999997938846381809796418569137870525407309247509981130700347718400940449383413053256662\
            4753451159",
        ),
        (
            -3.0,
            "047425873177566780878848151771752201386179432420609100717888008774448711502710233885783654\
            4910600390",
        ),
    ] {
        // Tokens 1 and 0: token 0 becomes 1 + p, token 1 becomes p.
        let y = sigmoid_outputs(k, 0);
        let (low, unit) =
            (format!("0.{digits}").parse::<Rat>().expect("digits"), "1e-100".parse::<Rat>().expect("a number"));
        for (y, add) in y.iter().zip([Rat::ONE, Rat::ZERO]) {
            assert!(
                *y.lo() >= &low + &add && *y.hi() <= &low + &unit + &add,
                "{k}: {} {}",
                y.lo().to_f64(),
                y.hi().to_f64()
            );
            assert!(y.width() < Rat::new(1, Int::ONE << 500) && y.width() > Rat::ZERO);
        }
    }
}

#[test]
fn a_large_factor_makes_a_hardmax_and_equal_scores_a_mean() {
    for k in [1e3, 1e6, 1e300] {
        let y = sigmoid_outputs(k, -1);
        assert!(y[0].contains(&Rat::from(2)) && y[1].contains(&Rat::ZERO), "{k}");
        assert!(y[0].distance(2.0) < 1e-150 && y[1].distance(0.0) < 1e-150, "{k}");
    }
    let equal = sigmoid_outputs(1e9, 1);
    assert!(equal.iter().all(|y| y.contains(&Rat::from(2)) && y.distance(2.0) < 1e-100));
}

/// `exp(a/b)` from mpmath, truncated after 170 digits.
#[test]
fn exponentials_agree_with_known_digits() {
    let places = 512;
    for (a, b, digits) in [
        (
            1,
            2_i64,
            "164872127070012814684865078781416357165377610071014801157507931164066102119421560863277652\
            005636664300286663775630779700467116697521960915984097145249005979692942265909840",
        ),
        (
            -1,
            8_i64,
            "882496902584595402864892143229050736222004824990650741770309319208109295211308730099355147\
            32994343864532351501568177704565862496539477367319177252814685987549890899753116",
        ),
        (
            -1,
            1_i64,
            "367879441171442321595523770161460867445811131031767834507836801697461495744899803357147274\
            34591964374662732527684399520824697579279012900862665358949409878309219436737733",
        ),
        (
            -10,
            1_i64,
            "453999297624848515355915155605506102379180888665649692590713056509994216143022816525250045\
            4594778232170805508968602849294519911724452038883718334770941456756099090921",
        ),
        (
            -1,
            1_i64 << 40,
            "999999999999090505298227485352391237325951371616663876955002530503395345644279742051001587\
            19239563741846403886712164312854676466485502147952643918809072623999438392491568",
        ),
        (-601, 2_i64, "3122541277232284838096255779560280799363"),
        (-3000, 8_i64, "13790159"),
    ] {
        let x = Rat::new(a, b);
        let (lo, hi) = (&x * &Rat::from(Int::ONE << places)).to_int().expect("dyadic").exp_bounds(places);
        let scale = Rat::from(10).pow(170);
        let below = digits.parse::<Rat>().expect("digits") / &scale;
        let above = &below + &(Rat::ONE / &scale);
        let unit = Rat::new(1, Int::ONE << places);
        assert!(Rat::from(&lo) * &unit <= above && Rat::from(&hi) * &unit >= below, "exp({a}/{b})");
        assert!(&hi - &lo <= Int::from(3), "exp({a}/{b}) within {}", &hi - &lo);
    }
    assert_eq!(Int::ZERO.exp_bounds(7), (Int::from(128), Int::from(128)));
    let far = -(Int::from(1_000_000) << 600);
    assert_eq!(far.exp_bounds(600), (Int::ZERO, Int::ONE));
}

/// At rising precision the enclosures are nested, up to the unit that is added on both sides.
#[test]
fn exponentials_at_different_precisions_agree() {
    let mut random = Random::new(7);
    for _ in 0..200 {
        let x = -Int::from(random.below(1 << 30));
        let ends: Vec<(Rat, Rat)> = [200, 201, 300, 512, 1100]
            .map(|places| {
                let (lo, hi) = (&x << (places - 24)).exp_bounds(places);
                assert!(&hi - &lo <= Int::from(3));
                (Rat::new(lo, Int::ONE << places), Rat::new(hi, Int::ONE << places))
            })
            .into();
        for (lo, _) in &ends {
            assert!(ends.iter().all(|(_, hi)| lo <= hi));
        }
    }
}

/// Units that cancel: a step of slope `2^20` and back, ten thousand times, after a softmax that left a width.
#[test]
fn widths_follow_the_slope_of_the_layer_not_of_its_units() {
    let blocks = 10_000;
    let steep = 2f64.powi(20);
    let mut network = two_keys(0.5);
    // z ← z + s·max(z + 1, 0) − s·max(z + 2, 0) + s: the identity where z ≥ −1.
    network.runs.push(Run {
        blocks,
        attention: None,
        feed_forward: Some(FeedForwardRun {
            stage: 0,
            hidden: 2,
            w1: vec![1.0; blocks * 2],
            b1: [1.0, 2.0].repeat(blocks),
            w2: [steep, -steep].repeat(blocks),
            b2: vec![steep; blocks],
        }),
    });
    let x = vec![vec![Rat::new(1, 3)], vec![Rat::new(-1, 7)]];
    let after = reference::run(&network, &x).expect("a run");
    let before = reference::run(&two_keys(0.5), &x).expect("a run");
    for (after, before) in after.iter().flatten().zip(before.iter().flatten()) {
        assert!(after.lo() <= before.hi() && before.lo() <= after.hi());
        assert!(after.width() < Rat::new(1, Int::ONE << 480), "2^-{}", after.width().denominator().bits());
    }
}

/// The formula of a feed-forward network, on rationals.
fn exactly(network: &FloatNetwork, x: &[Vec<Rat>]) -> Vec<Vec<Rat>> {
    let dot = |weight: &[f64], x: &[Rat], bias: f64| -> Rat {
        weight.iter().zip(x).map(|(w, x)| rational(*w) * x).sum::<Rat>() + rational(bias)
    };
    let affine = |affine: &FloatAffine, x: &[Rat]| -> Vec<Rat> {
        let rows = affine.weight.chunks(affine.inputs).zip(&affine.bias);
        rows.map(|(row, bias)| dot(row, x, *bias)).collect()
    };
    let token = |(place, x): (usize, &Vec<Rat>)| {
        let mut z = affine(&network.embed, x);
        if let Some(positions) = &network.positions {
            z.iter_mut().zip(&positions[place * network.width()..]).for_each(|(z, p)| *z += &rational(*p));
        }
        for run in &network.runs {
            let Some(layer) = &run.feed_forward else { continue };
            let (hidden, width) = (layer.hidden, z.len());
            for block in 0..run.blocks {
                let unit = |row: usize| dot(&layer.w1[row * width..][..width], &z, layer.b1[row]).max(Rat::ZERO);
                let units: Vec<Rat> = (block * hidden..(block + 1) * hidden).map(unit).collect();
                for (i, z) in z.iter_mut().enumerate() {
                    let row = block * width + i;
                    *z += &dot(&layer.w2[row * hidden..][..hidden], &units, layer.b2[row]);
                }
            }
        }
        affine(&network.read_out, &z)
    };
    x.iter().enumerate().map(token).collect()
}

/// Without attention and with inputs that are short binary fractions nothing is rounded at all; with others very little is.
#[test]
fn feed_forward_networks_are_evaluated_exactly() {
    for seed in 0..20 {
        let mut network = network(seed, Precision::F64);
        for run in &mut network.runs {
            run.attention = None;
        }
        for denominator in [8, 7] {
            let x = vec![vec![Rat::new(5, denominator); network.dims()]; network.tokens];
            let truth = Reference::new(&network).expect("a reference");
            let (y, exact) = (truth.run_with(&x, 1024).expect("a run"), exactly(&network, &x));
            for (y, exact) in y.iter().flatten().zip(exact.iter().flatten()) {
                assert!(y.contains(exact) && y.width() < Rat::new(1, Int::ONE << 1000));
                assert!(denominator == 7 || y.width() == Rat::ZERO, "{seed}: 2^-{}", y.width().denominator().bits());
            }
        }
    }
}

/// Keys from coordinate 0, values from coordinate 1, which is read out.
fn keys_and_values(k: f64) -> FloatNetwork {
    let mut network = two_keys(k);
    network.coordinates.push(Coordinate { name: "value".to_owned(), meaning: String::new() });
    network.embed = FloatAffine { inputs: 2, outputs: 2, weight: vec![1.0, 0.0, 0.0, 1.0], bias: vec![0.0; 2] };
    network.read_out = FloatAffine { inputs: 2, outputs: 1, weight: vec![0.0, 1.0], bias: vec![0.0] };
    let attention = attention_of(&mut network);
    (attention.q, attention.k) = (vec![0.0; 2], vec![k, 0.0]);
    (attention.v, attention.o) = (vec![0.0, 1.0], vec![0.0, 1.0]);
    network
}

/// With few places the scores are known badly, so the weights are; they are enclosed all the same, up to knowing nothing.
#[test]
fn softmax_of_scores_that_are_hardly_known_is_enclosed() {
    for k in [1.0, 2f64.powi(12), 2f64.powi(16)] {
        let truth = Reference::new(&keys_and_values(k)).expect("a reference");
        for i in -20..20 {
            // Scores that differ by i/7; only one value is not 0, so its weight alone decides.
            for (values, first) in [([1, 0], 3), ([0, 1], 3), ([1, 0], 2), ([0, 1], 2)] {
                let (values, first) = (values.map(Rat::from), Rat::new(1, first));
                let keys = [first.clone(), first + Rat::new(i, 7) / rational(k)];
                let x: Vec<Vec<Rat>> = keys.into_iter().zip(values).map(|(key, value)| vec![key, value]).collect();
                let narrow = truth.run(&x).expect("a run");
                for places in [8, 16, 18, 20, 30, 40, 60] {
                    let wide = truth.run_with(&x, places).expect("a run");
                    for (wide, narrow) in wide.iter().flatten().zip(narrow.iter().flatten()) {
                        assert!(wide.contains(narrow.lo()) && wide.contains(narrow.hi()), "{k} {i} {places}");
                    }
                }
            }
        }
    }
}

/// `3 · 1/3` is known up to rounding only, so it is not known on which side of its kink the unit `5 max(1 − z, 0)` is.
#[test]
fn a_unit_at_its_kink_is_enclosed() {
    let mut network = two_keys(1.0);
    network.embed.weight = vec![3.0];
    let kink = FeedForwardRun { stage: 0, hidden: 1, w1: vec![-1.0], b1: vec![1.0], w2: vec![5.0], b2: vec![0.0] };
    network.runs = vec![Run { blocks: 1, attention: None, feed_forward: Some(kink) }];
    let x = vec![vec![Rat::new(1, 3)], vec![Rat::new(2, 3)]];
    let y = reference::run(&network, &x).expect("a run");
    for (y, exact) in y.iter().flatten().zip(exactly(&network, &x).iter().flatten()) {
        assert!(y.contains(exact) && y.width() > Rat::ZERO && y.width() < Rat::new(1, Int::ONE << 500));
    }
}

/// Enclosures with few places hold what those with many places narrow down.
#[test]
fn more_places_give_narrower_enclosures_of_the_same_numbers() {
    for seed in 0..20 {
        let network = network(seed, Precision::F64);
        let truth = Reference::new(&network).expect("a reference");
        let x = vec![vec![Rat::new(3, 7); network.dims()]; network.tokens];
        let runs = [200, 257, 512, 1024].map(|places| truth.run_with(&x, places).expect("a run"));
        for pair in runs.windows(2) {
            for (wide, narrow) in pair[0].iter().flatten().zip(pair[1].iter().flatten()) {
                assert!(wide.contains(narrow.lo()) && wide.contains(narrow.hi()), "{seed}");
            }
        }
        assert!(runs[3].iter().flatten().all(|y| y.width() < Rat::new(1, Int::ONE << 900)));
    }
}

#[test]
fn distances_are_rounded_up() {
    let y = &sigmoid_outputs(1.0, 0)[1];
    let float = y.lo().to_f64();
    let distance = y.distance(float);
    assert!(distance > 0.0 && rational(distance) >= (rational(float) - y.lo()).abs());
    assert!(rational(distance.next_down()) < (rational(float) - y.lo()).abs() + y.width());
    assert_eq!((y.distance(f64::NAN), y.distance(f64::INFINITY)), (f64::INFINITY, f64::INFINITY));
    assert!(!y.contains(&rational(float)) && y.contains(y.lo()) && y.contains(y.hi()));
}

// ---- Refusals ----

fn refusals(network: &FloatNetwork) -> [String; 2] {
    let error = Engine::new(network).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Input);
    [error.headline().to_owned(), Reference::new(network).expect_err("refused").headline().to_owned()]
}

#[test]
fn tensors_that_are_no_tensors_are_refused_with_the_place() {
    type Edit = fn(&mut FloatNetwork);
    let edits: [(Edit, &str); 14] = [
        (|n| n.embed.weight[0] = f64::NAN, "embed.weight[0, 0] is NaN: not a finite number"),
        (|n| n.read_out.bias[0] = f64::INFINITY, "read_out.bias[0] is inf: not a finite number"),
        (|n| attention_of(n).k[1] = f64::NEG_INFINITY, "0.attn.k[1, 0, 0, 0] is -inf: not a finite number"),
        (|n| attention_of(n).o[0] = f64::NAN, "0.attn.o[0, 0, 0, 0] is NaN: not a finite number"),
        (|n| feed_forward_of(n).w1[5] = f64::NAN, "0.ff.w1[1, 2, 0] is NaN: not a finite number"),
        (|n| feed_forward_of(n).w2[4] = 0.1, "0.ff.w2[1, 0, 1] is 0.1: no f32 number"),
        (|n| feed_forward_of(n).b2[1] = 1e39, "0.ff.b2[1, 0] is 1e39: no f32 number"),
        (|n| feed_forward_of(n).b1.truncate(5), "0.ff.b1 of shape [2, 3] has 5 entries"),
        (|n| attention_of(n).heads = 2, "0.attn.q of shape [2, 2, 1, 1] has 2 entries"),
        (|n| n.embed.outputs = 2, "embed.weight is for 2 coordinates, the residual stream has 1"),
        (
            |n| (n.embed.inputs, n.embed.weight) = (0, Vec::new()),
            "an input token has no coordinates, expected 1 or more",
        ),
        (
            |n| {
                let a = attention_of(n);
                (a.value_size, a.v, a.o) = (0, Vec::new(), Vec::new());
            },
            "this is no network: value_size of block 0 is 0, expected 1 or more",
        ),
        (|n| (attention_of(n).stage, feed_forward_of(n).stage) = (1, 1), "block 0 belongs to stage 1"),
        (
            |n| n.runs[0].feed_forward.as_mut().expect("one").stage = 1,
            "the 2 blocks from 0 on lie in two stages at once",
        ),
    ];
    for (edit, expected) in edits {
        let mut network = small();
        assert!(Engine::new(&network).is_ok() && Reference::new(&network).is_ok());
        edit(&mut network);
        assert_eq!(refusals(&network), [expected, expected]);
    }
    let mut backwards = small();
    backwards.stages.push(backwards.stages[0].clone());
    backwards.runs.insert(0, Run { blocks: 0, attention: None, feed_forward: None });
    backwards.runs.push(backwards.runs[1].clone());
    attention_of_run(&mut backwards.runs[1]).stage = 1;
    backwards.runs[1].feed_forward = None;
    assert_eq!(refusals(&backwards)[0], "block 2 belongs to stage 0");
}

fn attention_of_run(run: &mut Run) -> &mut AttentionRun {
    run.attention.as_mut().expect("one")
}

fn attention_of(network: &mut FloatNetwork) -> &mut AttentionRun {
    attention_of_run(&mut network.runs[0])
}

fn feed_forward_of(network: &mut FloatNetwork) -> &mut FeedForwardRun {
    network.runs[0].feed_forward.as_mut().expect("one")
}

/// Two blocks of attention and three hidden units on one coordinate, in single precision.
fn small() -> FloatNetwork {
    let mut network = two_keys(1.0);
    network.precision = Precision::F32;
    network.runs[0].blocks = 2;
    let attention = attention_of(&mut network);
    for tensor in [&mut attention.q, &mut attention.q_bias, &mut attention.k, &mut attention.v, &mut attention.o] {
        tensor.push(0.5);
    }
    network.runs[0].feed_forward = Some(FeedForwardRun {
        stage: 0,
        hidden: 3,
        w1: vec![0.5; 6],
        b1: vec![1.0; 6],
        w2: vec![-0.25; 6],
        b2: vec![0.0; 2],
    });
    network
}

#[test]
fn inputs_of_another_shape_are_refused_with_the_place() {
    let network = small();
    let engine = Engine::new(&network).expect("an engine");
    let good = vec![vec![0.5], vec![0.25]];
    for (bad, expected) in [
        (vec![vec![0.5]], "sequence 1 has 1 tokens, the network expects 2"),
        (vec![vec![0.5], vec![0.5, 1.0]], "sequence 1, token 1 has 2 coordinates, the network expects 1"),
        (vec![vec![], vec![0.5]], "sequence 1, token 0 has 0 coordinates, the network expects 1"),
        (vec![vec![0.5], vec![f64::NAN]], "sequence 1, token 1, coordinate 0 is NaN: not a finite number"),
        (vec![vec![f64::INFINITY], vec![0.5]], "sequence 1, token 0, coordinate 0 is inf: not a finite number"),
        (vec![vec![1e39], vec![0.5]], "sequence 1, token 0, coordinate 0 is 1e39: beyond the range of f32"),
    ] {
        let batch = [good.clone(), bad];
        assert_eq!(engine.run(&batch).expect_err(expected).headline(), expected);
        assert_eq!(engine.trace_batch(&batch).expect_err(expected).headline(), expected);
    }
    let rationals = |x: &[usize]| -> Vec<Vec<Rat>> { x.iter().map(|dims| vec![Rat::ONE; *dims]).collect() };
    for (shape, expected) in [
        (&[1][..], "the sequence has 1 tokens, the network expects 2"),
        (&[1, 2][..], "token 1 has 2 coordinates, the network expects 1"),
    ] {
        assert_eq!(reference::run(&network, &rationals(shape)).expect_err(expected).headline(), expected);
        assert_eq!(reference::trace(&network, &rationals(shape)).expect_err(expected).headline(), expected);
    }
    let batch = [rationals(&[1, 1]), rationals(&[1, 1, 1])];
    let error = Reference::new(&network).expect("a reference").run_batch(&batch).expect_err("three tokens");
    assert_eq!(error.headline(), "sequence 1 has 3 tokens, the network expects 2");
}
