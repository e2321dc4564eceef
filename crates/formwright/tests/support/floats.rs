//! Random float networks; a second evaluation of them, in plain loops that share nothing with the library; and the verdict on an execution:
//! whether each of its parts, from its own state before it, is one that the execution model allows (`eval/enclosure.rs`).

#![allow(dead_code)]

use std::collections::BTreeMap;

use formwright::eval::enclosure::{self, Enclosure, Executions};
use formwright::eval::float::Engine;
use formwright::interval::Interval;
use formwright::network::{
    AttentionKind, AttentionRun, Coordinate, FeedForwardRun, FloatAffine, FloatNetwork, FloatStage, Mask, Precision,
    Run,
};

use super::Random;

/// A random network's seed and sizes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub precision: Precision,
    pub tokens: usize,
    pub dims: usize,
    pub output_dims: usize,
    pub width: usize,
    pub positions: bool,
}

/// The sub-layers of the blocks of a run, and their sizes.
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
                kind: AttentionKind::softmax(),
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

/// The products of a sum.
type Products = Vec<(f64, f64)>;

/// `[token][coordinate]`.
pub type State = Vec<Vec<f64>>;

/// One execution: the states after the embedding and after every stage, and the output.
#[derive(Clone, Debug)]
pub struct Execution {
    pub states: Vec<State>,
    pub output: State,
}

/// Judges an execution part by part: the embedding of the input, each stage from the execution's own state before it, the read-out of its
/// own last state. Returns the widest enclosure, or the place where the execution leaves its enclosure.
pub fn judge(network: &FloatNetwork, x: &State, execution: &Execution) -> Result<f64, String> {
    judge_parts(network, x, execution, |_| true)
}

/// Judges the embedding, the read-out and those stages that are looked at.
pub fn judge_parts(
    network: &FloatNetwork,
    x: &State,
    execution: &Execution,
    looked_at: impl Fn(usize) -> bool,
) -> Result<f64, String> {
    let all = Executions::new(network).expect("a network");
    let points = |state: &State| -> enclosure::State {
        state.iter().map(|token| token.iter().map(|z| Interval::point(*z)).collect()).collect()
    };
    assert_eq!(execution.states.len(), network.stages.len() + 1, "states");
    let embedded = all.embed(x).expect("an input");
    inside("the embedding", &embedded, &execution.states[0])?;
    let mut widest = width(&embedded);
    for (stage, states) in execution.states.windows(2).enumerate().filter(|(stage, _)| looked_at(*stage)) {
        let enclosed = all.stage(stage, &points(&states[0]));
        inside(&network.stages[stage].name, &enclosed, &states[1])?;
        widest = widest.max(width(&enclosed));
    }
    let enclosed = all.read_out(&points(&execution.states[network.stages.len()]));
    inside("the read-out", &enclosed, &execution.output)?;
    Ok(widest.max(width(&enclosed)))
}

/// The place where an execution leaves what all executions may give from the input on is an error.
pub fn contained(network: &FloatNetwork, enclosure: &Enclosure, execution: &Execution) -> Result<(), String> {
    let names = std::iter::once("embed").chain(network.stages.iter().map(|stage| stage.name.as_str()));
    assert_eq!(enclosure.states.len(), execution.states.len(), "states");
    for ((name, enclosed), state) in names.zip(&enclosure.states).zip(&execution.states) {
        inside(name, enclosed, state)?;
    }
    inside("output", &enclosure.output, &execution.output)
}

/// The place where a state leaves its enclosure is an error.
pub fn inside(name: &str, enclosure: &enclosure::State, state: &State) -> Result<(), String> {
    assert_eq!(enclosure.len(), state.len(), "tokens");
    for (t, (enclosed, token)) in enclosure.iter().zip(state).enumerate() {
        assert_eq!(enclosed.len(), token.len(), "coordinates");
        if let Some(c) = (0..token.len()).find(|c| !enclosed[*c].contains(token[*c])) {
            return Err(format!("{name}, token {t}, coordinate {c}: {} is not in {}", token[c], enclosed[c]));
        }
    }
    Ok(())
}

/// The width of the widest interval.
pub fn width(enclosure: &enclosure::State) -> f64 {
    enclosure.iter().flatten().map(|z| z.width()).fold(0.0, f64::max)
}

/// Our engine's execution of each sequence of a batch.
pub fn by_engine(network: &FloatNetwork, batch: &[State]) -> Vec<Execution> {
    let engine = Engine::new(network).expect("an engine");
    let (trace, outputs) = (engine.trace_batch(batch).expect("states"), engine.run(batch).expect("outputs"));
    let states = |i: usize| trace.iter().map(|(_, states)| states[i].clone()).collect();
    outputs.into_iter().enumerate().map(|(i, output)| Execution { states: states(i), output }).collect()
}

/// The executions of a batch, from the outputs of an exported model by their names.
pub fn by_name(network: &FloatNetwork, outputs: &BTreeMap<String, Vec<State>>) -> Vec<Execution> {
    let names = std::iter::once("embed").chain(network.stages.iter().map(|stage| stage.name.as_str()));
    let states: Vec<&Vec<State>> = names.map(|name| &outputs[&format!("stage.{name}")]).collect();
    assert_eq!(outputs.len(), states.len() + 1, "outputs");
    let of = |i: usize| states.iter().map(|batch| batch[i].clone()).collect();
    outputs["y"].iter().enumerate().map(|(i, y)| Execution { states: of(i), output: y.clone() }).collect()
}

/// Plain loops: every operation rounded to a format, and softmax either way.
pub struct Plain {
    precision: Precision,
    /// True if weights are products with the rounded reciprocal of the sum, and not quotients.
    reciprocal: bool,
}

impl Plain {
    /// Plain loops that divide.
    pub fn dividing(precision: Precision) -> Self {
        Self { precision, reciprocal: false }
    }

    /// Both ways.
    pub fn both(precision: Precision) -> [Self; 2] {
        [false, true].map(|reciprocal| Self { precision, reciprocal })
    }

    /// Runs a network from its input to its output.
    pub fn execute(&self, network: &FloatNetwork, x: &State) -> Execution {
        let positions = network.positions.as_deref().unwrap_or_default();
        let mut z = self.affine(&network.embed, x, positions);
        let mut states = vec![z.clone()];
        for stage in 0..network.stages.len() {
            for run in &network.runs {
                for block in 0..run.blocks {
                    if let Some(a) = run.attention.as_ref().filter(|a| a.stage == stage) {
                        z = self.attention(a, block, &z);
                    }
                    if let Some(f) = run.feed_forward.as_ref().filter(|f| f.stage == stage) {
                        z = z.iter().map(|token| self.feed_forward(f, block, token)).collect();
                    }
                }
            }
            states.push(z.clone());
        }
        let output = self.affine(&network.read_out, &z, &[]);
        Execution { states, output }
    }

    // A double holds twice the digits of a single and more, so that rounding twice rounds as once.
    fn sum(&self, products: &[(f64, f64)], terms: &[f64]) -> f64 {
        let products = products.iter().map(|(a, b)| self.precision.round(a * b));
        products.chain(terms.iter().copied()).fold(0.0, |sum, x| self.precision.round(sum + x))
    }

    fn dot(&self, x: &[f64], y: &[f64], terms: &[f64]) -> f64 {
        self.sum(&x.iter().copied().zip(y.iter().copied()).collect::<Vec<_>>(), terms)
    }

    /// `weight · z + bias`, and what is added to it, token by token.
    fn affine(&self, map: &FloatAffine, z: &State, more: &[f64]) -> State {
        let row = |token: usize, i: usize| {
            let terms = [map.bias.get(i), more.get(token * map.outputs + i)];
            let terms: Vec<f64> = terms.into_iter().flatten().copied().collect();
            self.dot(&map.weight[i * map.inputs..(i + 1) * map.inputs], &z[token], &terms)
        };
        (0..z.len()).map(|token| (0..map.outputs).map(|i| row(token, i)).collect()).collect()
    }

    fn feed_forward(&self, f: &FeedForwardRun, block: usize, z: &[f64]) -> Vec<f64> {
        let (width, r) = (z.len(), f.hidden);
        let row = |matrix: &[f64], row: usize, vector: &[f64], terms: &[f64]| {
            self.dot(&matrix[row * vector.len()..][..vector.len()], vector, terms)
        };
        let hidden: Vec<f64> =
            (block * r..(block + 1) * r).map(|unit| row(&f.w1, unit, z, &[f.b1[unit]]).max(0.0)).collect();
        let output = |(c, output): (usize, usize)| row(&f.w2, output, &hidden, &[z[c], f.b2[output]]);
        (block * width..(block + 1) * width).enumerate().map(output).collect()
    }

    fn attention(&self, a: &AttentionRun, block: usize, z: &State) -> State {
        let width = z[0].len();
        let (h, m, mv) = (a.heads, a.head_size, a.value_size);
        // What every head adds to every token, as products with the columns of o.
        let mut products: Vec<Vec<Products>> = vec![vec![Vec::new(); width]; z.len()];
        for place in 0..h {
            let head = block * h + place;
            let all = |matrix: &[f64], rows: usize, bias: &[f64]| -> State {
                let row = |token: &Vec<f64>, row: usize| {
                    let terms: Vec<f64> = bias.get(row).copied().into_iter().collect();
                    self.dot(&matrix[row * width..][..width], token, &terms)
                };
                z.iter().map(|token| (head * rows..(head + 1) * rows).map(|r| row(token, r)).collect()).collect()
            };
            let m = if a.kind.formula.has_scores() { m } else { 0 };
            let (queries, keys, values) = (all(&a.q, m, &a.q_bias), all(&a.k, m, &[]), all(&a.v, mv, &[]));
            let sees = |i: usize, j: usize| match a.connections_of(block) {
                Some(connections) => connections.sees(i, j),
                None => a.masks[place].sees(i, j),
            };
            let found = self.find((a, head), sees, &queries, (&keys, &values));
            for (products, found) in products.iter_mut().zip(found) {
                for (row, mixed) in found.into_iter().enumerate() {
                    for (c, products) in products.iter_mut().enumerate() {
                        products.push((a.o[(head * width + c) * mv + row], mixed));
                    }
                }
            }
        }
        let token = |(token, products): (&Vec<f64>, &Vec<Products>)| {
            token.iter().zip(products).map(|(z, products)| self.sum(products, &[*z])).collect()
        };
        z.iter().zip(&products).map(token).collect()
    }

    /// The outputs of one of all heads of a run: `Σ_j p_ij v_j`, by the kind of its attention.
    fn find(
        &self,
        (a, head): (&AttentionRun, usize),
        sees: impl Fn(usize, usize) -> bool,
        queries: &State,
        (keys, values): (&State, &State),
    ) -> State {
        let n = values.len();
        let dot = |x: &[f64], y: &[f64]| self.dot(x, y, &[]);
        // Σ_j w_j x_j of one row.
        let mix = |weights: &[f64], x: &[&Vec<f64>]| -> Vec<f64> {
            let row = |r: usize| dot(weights, &x.iter().map(|x| x[r]).collect::<Vec<_>>());
            (0..x[0].len()).map(row).collect()
        };
        let attend = |query: &[f64], keys: &[&Vec<f64>], values: &[&Vec<f64>]| {
            mix(&self.softmax(&keys.iter().map(|key| dot(query, key)).collect::<Vec<_>>()), values)
        };
        let (size, tensors) = (a.kind.size, &a.kind.tensors);
        match a.kind.name() {
            "softmax" => {
                let one = |(i, query): (usize, &Vec<f64>)| {
                    let seen: Vec<usize> = (0..n).filter(|j| sees(i, *j)).collect();
                    let of = |x: &'_ State| -> Vec<Vec<f64>> { seen.iter().map(|j| x[*j].clone()).collect() };
                    let (keys, values) = (of(keys), of(values));
                    attend(query, &keys.iter().collect::<Vec<_>>(), &values.iter().collect::<Vec<_>>())
                };
                queries.iter().enumerate().map(one).collect()
            }
            "average" => {
                let sum = mix(&vec![1.0; n], &values.iter().collect::<Vec<_>>());
                vec![sum.into_iter().map(|sum| self.precision.round(sum / float(n))).collect(); n]
            }
            "linformer" => {
                let [e, f] = &tensors[..] else { panic!("e and f") };
                let mixed = |tensor: &[f64], x: &State| -> State {
                    let x: Vec<&Vec<f64>> = x.iter().collect();
                    (head * size..(head + 1) * size).map(|row| mix(&tensor[row * n..][..n], &x)).collect()
                };
                let (keys, values) = (mixed(e, keys), mixed(f, values));
                let (keys, values): (Vec<_>, Vec<_>) = (keys.iter().collect(), values.iter().collect());
                queries.iter().map(|query| attend(query, &keys, &values)).collect()
            }
            "performer" => {
                let [w] = &tensors[..] else { panic!("w") };
                let features = |x: &Vec<f64>| -> Vec<f64> {
                    let square = dot(x, x);
                    let along = |row: usize| dot(&w[row * x.len()..][..x.len()], x);
                    let exponent = |row: usize| self.precision.round(along(row) - square / 2.0);
                    (head * size..(head + 1) * size).map(|row| self.precision.round(exponent(row).exp())).collect()
                };
                let of_keys: State = keys.iter().map(features).collect();
                let feature = |row: usize| of_keys.iter().map(|features| features[row]).collect::<Vec<_>>();
                let values: Vec<&Vec<f64>> = values.iter().collect();
                let summary: State = (0..size).map(|row| mix(&feature(row), &values)).collect();
                let one = |query: &Vec<f64>| -> Vec<f64> {
                    let parts: Vec<f64> =
                        features(query).into_iter().map(|x| self.precision.round(x / float(size))).collect();
                    mix(&parts, &summary.iter().collect::<Vec<_>>())
                };
                queries.iter().map(one).collect()
            }
            kind => panic!("{kind} attention is not known here"),
        }
    }

    fn softmax(&self, scores: &[f64]) -> Vec<f64> {
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let exps: Vec<f64> =
            scores.iter().map(|s| self.precision.round(self.precision.round(s - largest).exp())).collect();
        let sum = exps.iter().fold(0.0, |sum, x| self.precision.round(sum + x));
        let reciprocal = self.precision.round(1.0 / sum);
        exps.iter().map(|x| self.precision.round(if self.reciprocal { x * reciprocal } else { x / sum })).collect()
    }
}
