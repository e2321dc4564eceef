//! Random float networks, and two evaluations of them that share nothing with the library: plain loops in the network's own format, and
//! an enclosure of everything that a correct runtime may compute.
//!
//! The enclosure is about the execution model `ieee-any-order`. With `u = 2^-digits`, `η` the smallest normal number:
//!
//! ```text
//! a sum of k products and t further terms, in any order, with or without fused operations, is off by at most
//!     γ_{k+t} (Σ |products| + Σ |terms|) + 2 (k + t) η                              γ_m = m u / (1 − m u)
//! exp is off by at most ε = 2^-20 (f32) or 2^-49 (f64), relatively, and by η where the result is below the normal range
//! softmax subtracts the largest score, takes exp, sums, and divides or multiplies by the reciprocal
//! ```
//!
//! States are intervals, rounded outward, so that the bound itself is proved and not merely computed.

#![allow(dead_code)]

use formwright::interval::Interval;
use formwright::network::{
    AttentionKind, AttentionRun, Coordinate, FeedForwardRun, FloatAffine, FloatNetwork, FloatStage, Mask, Precision,
    Run,
};

use super::support::Random;

/// Which random network.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub precision: Precision,
    pub tokens: usize,
    pub dims: usize,
    pub output_dims: usize,
    pub width: usize,
    pub positions: bool,
}

/// Which sub-layers the blocks of a run have, and of which sizes.
#[derive(Clone, Copy, Debug)]
pub struct Layers {
    pub blocks: usize,
    /// Stage, heads, head size, value size.
    pub attention: Option<(usize, usize, usize, usize)>,
    /// Stage, hidden units.
    pub feed_forward: Option<(usize, usize)>,
}

/// A number of the format in `[-scale, scale]`.
pub fn entry(random: &mut Random, precision: Precision, scale: f64) -> f64 {
    let unit = f64::from(u32::try_from(random.below(1 << 30)).expect("30 bits")) / f64::from(1 << 29) - 1.0;
    precision.round(unit * scale)
}

/// A network with random entries. Rows sum to at most 1, and what a run writes into the stream shrinks with its length, so that neither
/// the state nor its enclosure grows exponentially.
pub fn network(random: &mut Random, shape: Shape, stages: usize, runs: &[Layers]) -> FloatNetwork {
    let Shape { precision, tokens, dims, output_dims, width, positions } = shape;
    let mut draw = |rows: usize, columns: usize, scale: f64| -> Vec<f64> {
        (0..rows * columns).map(|_| entry(random, precision, scale / float(columns))).collect()
    };
    let mut affine = |inputs: usize, outputs: usize| FloatAffine {
        inputs,
        outputs,
        weight: draw(outputs, inputs, 1.0),
        bias: draw(outputs, 1, 1.0),
    };
    let (embed, read_out) = (affine(dims, width), affine(width, output_dims));
    let runs = runs
        .iter()
        .map(|&Layers { blocks: b, attention, feed_forward }| Run {
            blocks: b,
            attention: attention.map(|(stage, h, m, mv)| AttentionRun {
                kind: AttentionKind::Softmax,
                stage,
                heads: h,
                head_size: m,
                value_size: mv,
                masks: vec![Mask::ALL; h],
                connections: Vec::new(),
                q: draw(b * h * m, width, 1.0),
                q_bias: draw(b * h * m, 1, 1.0),
                k: draw(b * h * m, width, 1.0 / float(m)),
                v: draw(b * h * mv, width, 1.0),
                o: draw(b * h * width, mv, 1.0 / float(b * h)),
            }),
            feed_forward: feed_forward.map(|(stage, r)| FeedForwardRun {
                stage,
                hidden: r,
                w1: draw(b * r, width, 1.0),
                b1: draw(b * r, 1, 1.0),
                w2: draw(b * width, r, 1.0 / float(b)),
                b2: draw(b * width, 1, 1.0 / float(b)),
            }),
        })
        .collect();
    let named = |i: usize| Coordinate { name: format!("c{i}"), meaning: format!("coordinate {i}") };
    let stage = |i: usize| FloatStage {
        name: format!("stage-{i}"),
        statement: "none".to_owned(),
        meaning: format!("random layers, part {i}"),
    };
    FloatNetwork {
        precision,
        tokens,
        lengths: (tokens, tokens),
        coordinates: (0..width).map(named).collect(),
        embed,
        positions: positions.then(|| draw(tokens * width, 1, 1.0)),
        stages: (0..stages).map(stage).collect(),
        runs,
        read_out,
    }
}

fn float(n: usize) -> f64 {
    f64::from(u32::try_from(n).expect("a small count"))
}

/// The arithmetic in which a network is evaluated.
pub trait Arithmetic {
    type Number: Copy;
    /// A stored number.
    fn constant(&self, x: f64) -> Self::Number;
    /// A sum of products and further terms.
    fn sum(&self, products: &[(Self::Number, Self::Number)], terms: &[Self::Number]) -> Self::Number;
    /// `max(x, 0)`.
    fn relu(&self, x: Self::Number) -> Self::Number;
    /// The softmax of scores.
    fn softmax(&self, scores: &[Self::Number]) -> Vec<Self::Number>;
    /// `exp(along − square/2)`.
    fn feature(&self, along: Self::Number, square: Self::Number) -> Self::Number;
    /// `sum / n`.
    fn part(&self, sum: Self::Number, n: usize) -> Self::Number;
}

/// The products of a sum.
type Products<T> = Vec<(T, T)>;

/// `[token][coordinate]`.
pub type State<T> = Vec<Vec<T>>;

/// `weight · z + bias`, and what is added to it, token by token.
fn affine<A: Arithmetic>(arithmetic: &A, map: &FloatAffine, z: &[Vec<A::Number>], more: &[f64]) -> State<A::Number> {
    let row = |token: usize, i: usize| {
        let row = map.weight[i * map.inputs..(i + 1) * map.inputs].iter().map(|x| arithmetic.constant(*x));
        let terms = [map.bias.get(i), more.get(token * map.outputs + i)];
        let terms: Vec<A::Number> = terms.into_iter().flatten().map(|x| arithmetic.constant(*x)).collect();
        arithmetic.sum(&row.zip(z[token].iter().copied()).collect::<Vec<_>>(), &terms)
    };
    (0..z.len()).map(|token| (0..map.outputs).map(|i| row(token, i)).collect()).collect()
}

/// The residual stream after the embedding.
pub fn embed<A: Arithmetic>(arithmetic: &A, network: &FloatNetwork, x: &State<A::Number>) -> State<A::Number> {
    affine(arithmetic, &network.embed, x, network.positions.as_deref().unwrap_or_default())
}

/// The output.
pub fn read_out<A: Arithmetic>(arithmetic: &A, network: &FloatNetwork, z: &State<A::Number>) -> State<A::Number> {
    affine(arithmetic, &network.read_out, z, &[])
}

/// The residual stream after a stage.
pub fn stage<A: Arithmetic>(
    arithmetic: &A,
    network: &FloatNetwork,
    stage: usize,
    z: &State<A::Number>,
) -> State<A::Number> {
    let mut z = z.clone();
    for run in &network.runs {
        for block in 0..run.blocks {
            if let Some(a) = run.attention.as_ref().filter(|a| a.stage == stage) {
                z = attention(arithmetic, a, block, &z);
            }
            if let Some(f) = run.feed_forward.as_ref().filter(|f| f.stage == stage) {
                z = z.iter().map(|token| feed_forward(arithmetic, f, block, token)).collect();
            }
        }
    }
    z
}

/// One execution: the states after the embedding and after every stage, and the output.
#[derive(Clone, Debug)]
pub struct Execution<T> {
    pub states: Vec<State<T>>,
    pub output: State<T>,
}

/// Runs a network from its input to its output.
pub fn execute<A: Arithmetic>(arithmetic: &A, network: &FloatNetwork, x: &State<f64>) -> Execution<A::Number> {
    let mut states = vec![embed(arithmetic, network, &constants(arithmetic, x))];
    for index in 0..network.stages.len() {
        states.push(stage(arithmetic, network, index, &states[index]));
    }
    let output = read_out(arithmetic, network, states.last().expect("the embedding"));
    Execution { states, output }
}

fn constants<A: Arithmetic>(arithmetic: &A, state: &State<f64>) -> State<A::Number> {
    state.iter().map(|token| token.iter().map(|x| arithmetic.constant(*x)).collect()).collect()
}

/// Judges an execution part by part: the embedding of the input, each stage from the execution's own state before it, the read-out of its
/// own last state. Returns the widest enclosure, or the place where the execution leaves its enclosure.
pub fn judge(network: &FloatNetwork, x: &State<f64>, execution: &Execution<f64>) -> Result<f64, String> {
    judge_parts(network, x, execution, |_| true)
}

/// Judges the embedding, the read-out and those stages that are looked at.
pub fn judge_parts(
    network: &FloatNetwork,
    x: &State<f64>,
    execution: &Execution<f64>,
    looked_at: impl Fn(usize) -> bool,
) -> Result<f64, String> {
    let model = Enclosure(network.precision);
    let starts = std::iter::once(x).chain(&execution.states);
    let ends = execution.states.iter().chain([&execution.output]);
    assert_eq!(execution.states.len(), network.stages.len() + 1, "states");
    let mut widest = 0.0;
    for (part, (start, end)) in starts.zip(ends).enumerate() {
        if (1..=network.stages.len()).contains(&part) && !looked_at(part - 1) {
            continue;
        }
        let start = constants(&model, start);
        let (name, enclosure) = match part {
            0 => ("the embedding", embed(&model, network, &start)),
            part if part <= network.stages.len() => {
                (network.stages[part - 1].name.as_str(), stage(&model, network, part - 1, &start))
            }
            _ => ("the read-out", read_out(&model, network, &start)),
        };
        inside(&enclosure, end).map_err(|place| format!("{name}, {place}"))?;
        widest = enclosure.iter().flatten().map(|interval| interval.width()).fold(widest, f64::max);
    }
    Ok(widest)
}

/// The place where a state leaves its enclosure is an error.
pub fn inside(enclosure: &State<Interval>, state: &State<f64>) -> Result<(), String> {
    assert_eq!(enclosure.len(), state.len(), "tokens");
    for (t, (enclosed, token)) in enclosure.iter().zip(state).enumerate() {
        assert_eq!(enclosed.len(), token.len(), "coordinates");
        if let Some(c) = (0..token.len()).find(|c| !enclosed[*c].contains(token[*c])) {
            return Err(format!("token {t}, coordinate {c}: {} is not in {}", token[c], enclosed[c]));
        }
    }
    Ok(())
}

fn attention<A: Arithmetic>(arithmetic: &A, a: &AttentionRun, block: usize, z: &State<A::Number>) -> State<A::Number> {
    let width = z[0].len();
    let (h, m, mv) = (a.heads, a.head_size, a.value_size);
    let number = |x: &f64| arithmetic.constant(*x);
    // What every head adds to every token, as products with the columns of o.
    let mut products: State<Products<A::Number>> = vec![vec![Vec::new(); width]; z.len()];
    for mask in 0..h {
        let (head, mask) = (block * h + mask, a.masks[mask]);
        // Row `row` of a matrix with `rows` rows, times a token.
        let times = |matrix: &[f64], rows: usize, row: usize, token: &[A::Number], terms: &[A::Number]| {
            let start = (head * rows + row) * width;
            let row = matrix[start..start + width].iter().map(number);
            arithmetic.sum(&row.zip(token.iter().copied()).collect::<Vec<_>>(), terms)
        };
        let all = |matrix: &[f64], rows: usize| -> State<A::Number> {
            z.iter().map(|token| (0..rows).map(|row| times(matrix, rows, row, token, &[])).collect()).collect()
        };
        let (keys, values) = (&all(&a.k, if a.kind.has_scores() { m } else { 0 }), &all(&a.v, mv));
        let query = |token: &[A::Number]| -> Vec<A::Number> {
            (0..m).map(|row| times(&a.q, m, row, token, &[number(&a.q_bias[head * m + row])])).collect()
        };
        let queries: State<A::Number> = z.iter().map(|token| query(token)).collect();
        let found = find(arithmetic, (a, head, mask), &queries, (keys, values));
        for (products, found) in products.iter_mut().zip(found) {
            for (row, mixed) in found.into_iter().enumerate() {
                for (c, products) in products.iter_mut().enumerate() {
                    products.push((number(&a.o[(head * width + c) * mv + row]), mixed));
                }
            }
        }
    }
    let token = |(token, products): (&Vec<A::Number>, &Vec<Products<A::Number>>)| {
        token.iter().zip(products).map(|(z, products)| arithmetic.sum(products, &[*z])).collect()
    };
    z.iter().zip(&products).map(token).collect()
}

/// What the queries of one of all heads of a run find: `Σ_j p_ij v_j`, by the kind of its attention.
fn find<A: Arithmetic>(
    arithmetic: &A,
    (a, head, mask): (&AttentionRun, usize, Mask),
    queries: &State<A::Number>,
    (keys, values): (&State<A::Number>, &State<A::Number>),
) -> State<A::Number> {
    let (n, one) = (values.len(), arithmetic.constant(1.0));
    let dot = |x: &[A::Number], y: &[A::Number]| {
        arithmetic.sum(&x.iter().copied().zip(y.iter().copied()).collect::<Vec<_>>(), &[])
    };
    // Σ_j w_j x_j of one row.
    let mix = |weights: &[A::Number], x: &[&Vec<A::Number>]| -> Vec<A::Number> {
        let row = |r: usize| dot(weights, &x.iter().map(|x| x[r]).collect::<Vec<_>>());
        (0..x[0].len()).map(row).collect()
    };
    let stored = |tensor: &[f64], row: usize, side: usize| -> Vec<A::Number> {
        tensor[row * side..][..side].iter().map(|x| arithmetic.constant(*x)).collect()
    };
    match &a.kind {
        AttentionKind::Softmax => {
            let one = |(i, query): (usize, &Vec<A::Number>)| {
                let layer = a.connections.get(head / a.heads % a.connections.len().max(1));
                let sees = |j: &usize| layer.map_or(mask.sees(i, *j), |layer| layer.sees(i, *j));
                let seen: Vec<usize> = (0..n).filter(sees).collect();
                let pattern = arithmetic.softmax(&seen.iter().map(|j| dot(query, &keys[*j])).collect::<Vec<_>>());
                mix(&pattern, &seen.iter().map(|j| &values[*j]).collect::<Vec<_>>())
            };
            queries.iter().enumerate().map(one).collect()
        }
        AttentionKind::Average => {
            let sum = mix(&vec![one; n], &values.iter().collect::<Vec<_>>());
            vec![sum.into_iter().map(|sum| arithmetic.part(sum, n)).collect(); n]
        }
        AttentionKind::Linformer { size, e, f } => {
            let mixed = |tensor: &[f64], x: &State<A::Number>| -> State<A::Number> {
                let x: Vec<&Vec<A::Number>> = x.iter().collect();
                (0..*size).map(|row| mix(&stored(tensor, head * size + row, n), &x)).collect()
            };
            let (keys, values) = (mixed(e, keys), mixed(f, values));
            let one = |query: &Vec<A::Number>| {
                let pattern = arithmetic.softmax(&keys.iter().map(|key| dot(query, key)).collect::<Vec<_>>());
                mix(&pattern, &values.iter().collect::<Vec<_>>())
            };
            queries.iter().map(one).collect()
        }
        AttentionKind::Performer { size, w } => {
            let features = |x: &Vec<A::Number>| -> Vec<A::Number> {
                let square = dot(x, x);
                let along = |row: usize| dot(&stored(w, head * size + row, x.len()), x);
                (0..*size).map(|row| arithmetic.feature(along(row), square)).collect()
            };
            let of_keys: State<A::Number> = keys.iter().map(features).collect();
            let feature = |row: usize| of_keys.iter().map(|features| features[row]).collect::<Vec<_>>();
            let values: Vec<&Vec<A::Number>> = values.iter().collect();
            let summary: State<A::Number> = (0..*size).map(|row| mix(&feature(row), &values)).collect();
            let one = |query: &Vec<A::Number>| -> Vec<A::Number> {
                let parts: Vec<A::Number> = features(query).into_iter().map(|x| arithmetic.part(x, *size)).collect();
                mix(&parts, &summary.iter().collect::<Vec<_>>())
            };
            queries.iter().map(one).collect()
        }
    }
}

fn feed_forward<A: Arithmetic>(arithmetic: &A, f: &FeedForwardRun, block: usize, z: &[A::Number]) -> Vec<A::Number> {
    let (width, r) = (z.len(), f.hidden);
    let row = |matrix: &[f64], row: usize, vector: &[A::Number], terms: &[A::Number]| {
        let start = row * vector.len();
        let row = matrix[start..start + vector.len()].iter().map(|x| arithmetic.constant(*x));
        arithmetic.sum(&row.zip(vector.iter().copied()).collect::<Vec<_>>(), terms)
    };
    let hidden: Vec<A::Number> = (block * r..(block + 1) * r)
        .map(|unit| arithmetic.relu(row(&f.w1, unit, z, &[arithmetic.constant(f.b1[unit])])))
        .collect();
    (0..width)
        .map(|c| {
            let output = block * width + c;
            row(&f.w2, output, &hidden, &[z[c], arithmetic.constant(f.b2[output])])
        })
        .collect()
}

/// Plain loops: every operation rounded to the network's format.
pub struct Plain(pub Precision);

impl Arithmetic for Plain {
    type Number = f64;

    fn constant(&self, x: f64) -> f64 {
        x
    }

    // A double holds twice the digits of a single and more, so that rounding twice rounds as once.
    fn sum(&self, products: &[(f64, f64)], terms: &[f64]) -> f64 {
        let products = products.iter().map(|(a, b)| self.0.round(a * b));
        products.chain(terms.iter().copied()).fold(0.0, |sum, x| self.0.round(sum + x))
    }

    fn relu(&self, x: f64) -> f64 {
        x.max(0.0)
    }

    fn softmax(&self, scores: &[f64]) -> Vec<f64> {
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let exps: Vec<f64> = scores.iter().map(|s| self.0.round(self.0.round(s - largest).exp())).collect();
        let sum = exps.iter().fold(0.0, |sum, x| self.0.round(sum + x));
        exps.iter().map(|x| self.0.round(x / sum)).collect()
    }

    fn feature(&self, along: f64, square: f64) -> f64 {
        self.0.round(self.0.round(along - square / 2.0).exp())
    }

    fn part(&self, sum: f64, n: usize) -> f64 {
        self.0.round(sum / float(n))
    }
}

/// Everything that an execution in the model may compute.
pub struct Enclosure(pub Precision);

/// `[-x, x]`.
fn ball(x: Interval) -> Interval {
    Interval::new(-x.mag(), x.mag()).expect("a bounded radius")
}

impl Enclosure {
    /// `u`: half of the distance from 1 to the next number.
    fn unit(&self) -> Interval {
        Interval::point(match self.0 {
            Precision::F32 => 2f64.powi(-24),
            Precision::F64 => 2f64.powi(-53),
        })
    }

    /// The smallest normal number.
    fn tiny(&self) -> Interval {
        Interval::point(match self.0 {
            Precision::F32 => f64::from(f32::MIN_POSITIVE),
            Precision::F64 => f64::MIN_POSITIVE,
        })
    }

    /// What an exponential may be off, relatively.
    fn exp_error(&self) -> Interval {
        Interval::point(match self.0 {
            Precision::F32 => 2f64.powi(-20),
            Precision::F64 => 2f64.powi(-49),
        })
    }

    /// A number from below which `exp` is less than the smallest normal number.
    fn depth(&self) -> f64 {
        match self.0 {
            Precision::F32 => 88.0,
            Precision::F64 => 709.0,
        }
    }

    /// `m u / (1 − m u)`.
    fn gamma(&self, operations: usize) -> Interval {
        let product = count(operations) * self.unit();
        product.checked_div(Interval::ONE - product).expect("few operations")
    }
}

fn count(n: usize) -> Interval {
    Interval::point(f64::from(u32::try_from(n).expect("a small count")))
}

impl Arithmetic for Enclosure {
    type Number = Interval;

    fn constant(&self, x: f64) -> Interval {
        Interval::point(x)
    }

    fn sum(&self, products: &[(Interval, Interval)], terms: &[Interval]) -> Interval {
        let all = || products.iter().map(|(a, b)| *a * *b).chain(terms.iter().copied());
        let exact = all().fold(Interval::ZERO, |sum, x| sum + x);
        let magnitudes = all().fold(Interval::ZERO, |sum, x| sum + x.abs());
        let operations = products.len() + terms.len();
        let rounding = self.gamma(operations) * magnitudes;
        let underflow = count(2 * operations) * self.tiny();
        exact + ball(rounding + underflow)
    }

    fn relu(&self, x: Interval) -> Interval {
        x.relu()
    }

    /// `p_k = 1 / Σ_j exp(s_j − s_k)`, which grows in `s_k` and falls in the others, so that this is sharp for exact arithmetic; then
    /// what the steps add. A computed difference `d = s − max` is off by `u |d|`, its exponential by `ε` and, in absolute terms, by 2η
    /// where it is as small as that; the sum is at least 1 − ε.
    fn softmax(&self, scores: &[Interval]) -> Vec<Interval> {
        let n = scores.len();
        let farthest = scores.iter().flat_map(|a| scores.iter().map(|b| (*a - *b).mag())).fold(0.0, f64::max);
        let slack = ball(self.unit() * Interval::point(farthest.min(self.depth() + 1.0)));
        let one = |error: Interval| Interval::ONE + ball(error);
        let exponential = one(self.exp_error()) * slack.exp();
        let flushed = ball(count(4 * n) * self.tiny());
        let sum = exponential * one(self.gamma(n)) + flushed;
        let steps = exponential.checked_div(sum).expect("near 1") * one(self.gamma(2));
        (0..n)
            .map(|k| {
                let others = || (0..n).filter(move |j| *j != k).map(|j| scores[j]);
                let against = |own: f64, other: f64| (Interval::point(other) - Interval::point(own)).exp();
                let least = others().fold(Interval::ONE, |sum, s| sum + against(scores[k].lo(), s.hi()));
                let most = others().fold(Interval::ONE, |sum, s| sum + against(scores[k].hi(), s.lo()));
                let low = least.recip().expect("at least 1");
                let high = most.recip().expect("at least 1");
                low.hull(high) * steps + ball(count(4) * self.tiny())
            })
            .collect()
    }

    /// The difference is rounded, which moves it by `u |d|`; `exp` is off by `ε`, and flushed.
    fn feature(&self, along: Interval, square: Interval) -> Interval {
        let difference = along - square * Interval::point(0.5);
        let moved = ball(self.unit() * difference.abs() + count(2) * self.tiny());
        (difference + moved).exp() * (Interval::ONE + ball(self.exp_error())) + ball(self.tiny())
    }

    /// Divided, or multiplied by `1/n`, rounded; or, twice, by `n^{-1/2}`, rounded.
    fn part(&self, sum: Interval, n: usize) -> Interval {
        let part = sum.checked_div(count(n)).expect("at least 1");
        part + ball(self.gamma(4) * part.abs() + count(2) * self.tiny())
    }
}
