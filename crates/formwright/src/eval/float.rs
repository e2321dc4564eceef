//! A float network as it is executed: plain products of its tensors, in the network's own format.
//!
//! ```text
//! z = ∘(x) ↦ embed.weight z + embed.bias (+ pos)
//! block    z ← z + Σ_heads o · Σ_k w_k (v z_k)      w_k = e_k / Σ_l e_l,  e_k = exp(s_k − max_l s_l),  s_k = (k z_k)ᵀ(q z + q_bias)
//!          z ← z + (b2 + w2 · max(b1 + w1 z, 0))
//! y = read_out.weight z + read_out.bias
//! ```
//!
//! `∘` rounds the input to the format; sums are taken from left to right; no multiplication and addition are fused; `exp` is
//! `core-math`'s, which rounds correctly. So the same network and input give the same bytes on every machine, and with any number of
//! threads: sequences are independent, and results are collected in their order. No layer and no zero is treated in a special way.
//!
//! **Layout.** `LANES` sequences go through the whole network together. The state is `[token][coordinate]` of `Lanes`, one number a
//! sequence, so every inner loop runs over the lanes of a few arrays that stay in the first cache, and the weights are read from front to
//! back once for all the lanes. The numbers of a hidden unit stand together, `b1, w1[..], w2[..]`, so hidden units are never stored.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

use rayon::prelude::*;

use super::{Part, check_network, check_tokens, stages};
use crate::error::{Error, Result};
use crate::network::{AttentionRun, FeedForwardRun, FloatAffine, FloatNetwork, Mask, Precision};

/// A sequence of tokens, `[tokens][dims]`.
pub type Sequence = Vec<Vec<f64>>;

/// How many sequences go through the network together.
const LANES: usize = 32;

/// The same number of [`LANES`] sequences.
type Lanes<T> = [T; LANES];

/// The arithmetic of a format.
trait Real:
    Copy
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    const ZERO: Self;
    /// The nearest number of the format.
    fn nearest(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn exp(self) -> Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
    fn nearest(x: f64) -> Self {
        x as Self
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    fn exp(self) -> Self {
        core_math::expf(self)
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    fn nearest(x: f64) -> Self {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn exp(self) -> Self {
        core_math::exp(self)
    }
}

/// A float network, ready to run.
#[derive(Clone, Debug)]
pub struct Engine {
    precision: Precision,
    lengths: (usize, usize),
    dims: usize,
    program: Either,
}

#[derive(Clone, Debug)]
enum Either {
    Single(Program<f32>),
    Double(Program<f64>),
}

/// `$body` for the program of either format.
macro_rules! either {
    ($engine:expr, $program:ident => $body:expr) => {
        match &$engine.program {
            Either::Single($program) => $body,
            Either::Double($program) => $body,
        }
    };
}

impl Engine {
    /// Arranges the network's tensors for execution; refuses tensors that do not fit, or entries that are no numbers of the format.
    pub fn new(network: &FloatNetwork) -> Result<Self> {
        check_network(network)?;
        let program = match network.precision {
            Precision::F32 => Either::Single(Program::new(network)?),
            Precision::F64 => Either::Double(Program::new(network)?),
        };
        Ok(Self { precision: network.precision, lengths: network.lengths, dims: network.dims(), program })
    }

    /// The network's outputs, `[batch][tokens][dims]`, of inputs that are first rounded to its format.
    pub fn run(&self, batch: &[Sequence]) -> Result<Vec<Sequence>> {
        self.check(batch)?;
        let outputs: Vec<Vec<Sequence>> =
            either!(self, program => chunks(batch).par_iter().map(|chunk| program.run(chunk)).collect());
        Ok(outputs.into_iter().flatten().collect())
    }

    /// The state after the embedding and after each stage, by name.
    pub fn trace(&self, x: &[Vec<f64>]) -> Result<Vec<(String, Sequence)>> {
        Ok(self.trace_batch(&[x.to_vec()])?.into_iter().map(|(name, mut states)| (name, states.remove(0))).collect())
    }

    /// The states of many sequences after the embedding and after each stage, by name.
    pub fn trace_batch(&self, batch: &[Sequence]) -> Result<Vec<(String, Vec<Sequence>)>> {
        self.check(batch)?;
        let traces: Vec<Vec<Vec<Sequence>>> =
            either!(self, program => chunks(batch).par_iter().map(|chunk| program.trace(chunk)).collect());
        let names = either!(self, program => program.stages.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
        let mut whole: Vec<(String, Vec<Sequence>)> =
            std::iter::once("embed".to_owned()).chain(names).map(|name| (name, Vec::new())).collect();
        for trace in traces {
            whole.iter_mut().zip(trace).for_each(|((_, states), chunk)| states.extend(chunk));
        }
        Ok(whole)
    }

    /// Refuses a batch with a sequence of another shape or an entry that is no number of the format.
    fn check(&self, batch: &[Sequence]) -> Result<()> {
        for (i, x) in batch.iter().enumerate() {
            check_tokens(self.lengths, self.dims, x, Some(i))?;
            for (j, token) in x.iter().enumerate() {
                if let Some(k) = token.iter().position(|entry| !self.precision.round(*entry).is_finite()) {
                    let (entry, precision) = (token[k], self.precision);
                    let why = if entry.is_finite() {
                        format!("beyond the range of {precision}")
                    } else {
                        "not a finite number".to_owned()
                    };
                    return Err(Error::input(format!("sequence {i}, token {j}, coordinate {k} is {entry:?}: {why}")));
                }
            }
        }
        Ok(())
    }
}

/// Neighbours of one length, at most [`LANES`] of them.
fn chunks(batch: &[Sequence]) -> Vec<&[Sequence]> {
    batch.chunk_by(|x, y| x.len() == y.len()).flat_map(|equal| equal.chunks(LANES)).collect()
}

/// The network in one format.
#[derive(Clone, Debug)]
struct Program<T> {
    width: usize,
    embed: Affine<T>,
    positions: Option<Vec<T>>,
    stages: Vec<(String, Vec<Step<T>>)>,
    read_out: Affine<T>,
}

impl<T: Real> Program<T> {
    fn new(network: &FloatNetwork) -> Result<Self> {
        let width = network.width();
        let stage = |(name, parts): (&str, Vec<Part>)| {
            (name.to_owned(), parts.iter().map(|part| Step::new(part, width)).collect())
        };
        Ok(Self {
            width,
            embed: Affine::new(&network.embed),
            positions: network.positions.as_deref().map(numbers),
            stages: stages(network)?.into_iter().map(stage).collect(),
            read_out: Affine::new(&network.read_out),
        })
    }

    fn run(&self, chunk: &[Sequence]) -> Vec<Sequence> {
        let mut state = self.embed(chunk);
        for (_, steps) in &self.stages {
            for step in steps {
                step.apply(self.width, &mut state);
            }
        }
        let outputs = self.read_out.bias.len();
        unpack(&self.read_out.apply(&state), outputs, chunk.len())
    }

    fn trace(&self, chunk: &[Sequence]) -> Vec<Vec<Sequence>> {
        let mut state = self.embed(chunk);
        let mut trace = vec![unpack(&state, self.width, chunk.len())];
        for (_, steps) in &self.stages {
            for step in steps {
                step.apply(self.width, &mut state);
            }
            trace.push(unpack(&state, self.width, chunk.len()));
        }
        trace
    }

    /// The state of at most [`LANES`] sequences of one length; lanes that are left over hold zeros, which nobody reads.
    fn embed(&self, chunk: &[Sequence]) -> Vec<Lanes<T>> {
        let mut x = vec![[T::ZERO; LANES]; chunk.first().map_or(0, Vec::len) * self.embed.inputs];
        for (lane, sequence) in chunk.iter().enumerate() {
            x.iter_mut().zip(sequence.iter().flatten()).for_each(|(lanes, entry)| lanes[lane] = T::nearest(*entry));
        }
        let mut state = self.embed.apply(&x);
        for (z, position) in state.iter_mut().zip(self.positions.iter().flatten()) {
            add(z, &[*position; LANES]);
        }
        state
    }
}

fn unpack<T: Real>(state: &[Lanes<T>], width: usize, sequences: usize) -> Vec<Sequence> {
    let token = |lane: usize, j: usize| (0..width).map(|i| state[j * width + i][lane].to_f64()).collect();
    (0..sequences).map(|lane| (0..state.len() / width).map(|j| token(lane, j)).collect()).collect()
}

/// The entries of a tensor in the format; they are numbers of it already.
fn numbers<T: Real>(entries: &[f64]) -> Vec<T> {
    entries.iter().map(|entry| T::nearest(*entry)).collect()
}

/// `sum += w · x`, lane by lane.
#[inline]
fn add_scaled<T: Real>(sum: &mut Lanes<T>, w: T, x: &Lanes<T>) {
    sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += w * *x);
}

/// `bias + row · x`.
#[inline]
fn dot<T: Real>(bias: T, row: &[T], x: &[Lanes<T>]) -> Lanes<T> {
    let mut sum = [bias; LANES];
    row.iter().zip(x).for_each(|(w, x)| add_scaled(&mut sum, *w, x));
    sum
}

/// `x + y`, lane by lane.
fn add<T: Real>(x: &mut Lanes<T>, y: &Lanes<T>) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += *y);
}

#[derive(Clone, Debug)]
struct Affine<T> {
    inputs: usize,
    weight: Vec<T>,
    bias: Vec<T>,
}

impl<T: Real> Affine<T> {
    fn new(affine: &FloatAffine) -> Self {
        Self { inputs: affine.inputs, weight: numbers(&affine.weight), bias: numbers(&affine.bias) }
    }

    /// `[tokens][inputs]` to `[tokens][outputs]`.
    fn apply(&self, x: &[Lanes<T>]) -> Vec<Lanes<T>> {
        let n = self.inputs;
        let row = |j: usize, i: usize| dot(self.bias[i], &self.weight[i * n..][..n], &x[j * n..][..n]);
        (0..x.len() / n).flat_map(|j| (0..self.bias.len()).map(move |i| row(j, i))).collect()
    }
}

/// Blocks of one shape.
#[derive(Clone, Debug)]
struct Step<T> {
    blocks: usize,
    attention: Option<Attention<T>>,
    feed_forward: Option<FeedForward<T>>,
}

impl<T: Real> Step<T> {
    fn new(part: &Part, width: usize) -> Self {
        Self {
            blocks: part.blocks,
            attention: part.attention.map(|run| Attention::new(run)),
            feed_forward: part.feed_forward.map(|run| FeedForward::new(run, part.blocks, width)),
        }
    }

    fn apply(&self, width: usize, state: &mut [Lanes<T>]) {
        let Some(attention) = &self.attention else {
            self.feed_forward.iter().for_each(|layer| layer.apply(0..self.blocks, width, state));
            return;
        };
        let mut scratch = Scratch::new(attention, width, state.len());
        for block in 0..self.blocks {
            attention.apply(block, width, state, &mut scratch);
            self.feed_forward.iter().for_each(|layer| layer.apply(block..block + 1, width, state));
        }
    }
}

/// Hidden units one after the other, then `b2`, block by block.
#[derive(Clone, Debug)]
struct FeedForward<T> {
    hidden: usize,
    numbers: Vec<T>,
}

impl<T: Real> FeedForward<T> {
    fn new(run: &FeedForwardRun, blocks: usize, width: usize) -> Self {
        let hidden = run.hidden;
        let mut numbers = Vec::with_capacity(blocks * (hidden * (2 * width + 1) + width));
        for block in 0..blocks {
            for unit in 0..hidden {
                let row = block * hidden + unit;
                numbers.push(T::nearest(run.b1[row]));
                numbers.extend(run.w1[row * width..][..width].iter().map(|w| T::nearest(*w)));
                numbers.extend((0..width).map(|i| T::nearest(run.w2[(block * width + i) * hidden + unit])));
            }
            numbers.extend(run.b2[block * width..][..width].iter().map(|b| T::nearest(*b)));
        }
        Self { hidden, numbers }
    }

    fn apply(&self, blocks: std::ops::Range<usize>, width: usize, state: &mut [Lanes<T>]) {
        let size = self.hidden * (2 * width + 1) + width;
        let numbers = &self.numbers[blocks.start * size..blocks.end * size];
        match width {
            1 => narrow::<T, 1>(numbers, self.hidden, state),
            2 => narrow::<T, 2>(numbers, self.hidden, state),
            3 => narrow::<T, 3>(numbers, self.hidden, state),
            4 => narrow::<T, 4>(numbers, self.hidden, state),
            _ => wide(numbers, self.hidden, width, state),
        }
    }
}

/// `max(x, 0)`, one instruction; what is not a number stays so.
#[inline]
fn relu<T: Real>(x: T) -> T {
    if T::ZERO > x { T::ZERO } else { x }
}

/// Feed-forward blocks on a stream of `W` coordinates: the loop over lanes is the innermost one, around loops of known length.
fn narrow<T: Real, const W: usize>(numbers: &[T], hidden: usize, state: &mut [Lanes<T>]) {
    let unit = 2 * W + 1;
    for block in numbers.chunks_exact(hidden * unit + W) {
        let (units, b2) = block.split_at(hidden * unit);
        let fours = units.chunks_exact(4 * unit);
        for token in state.as_chunks_mut::<W>().0 {
            let mut sum: [Lanes<T>; W] = std::array::from_fn(|i| [b2[i]; LANES]);
            fours.clone().for_each(|four| add_units::<T, W, 4>(four, token, &mut sum));
            fours.remainder().chunks_exact(unit).for_each(|one| add_units::<T, W, 1>(one, token, &mut sum));
            token.iter_mut().zip(&sum).for_each(|(z, sum)| add(z, sum));
        }
    }
}

/// `sum += Σ_units w2 · max(b1 + w1 z, 0)` for `H` units.
#[inline]
fn add_units<T: Real, const W: usize, const H: usize>(units: &[T], z: &[Lanes<T>; W], sum: &mut [Lanes<T>; W]) {
    let unit = 2 * W + 1;
    let b1: [T; H] = std::array::from_fn(|h| units[h * unit]);
    let w1: [[T; W]; H] = std::array::from_fn(|h| std::array::from_fn(|i| units[h * unit + 1 + i]));
    let w2: [[T; W]; H] = std::array::from_fn(|h| std::array::from_fn(|i| units[h * unit + 1 + W + i]));
    for lane in 0..LANES {
        for h in 0..H {
            let mut t = b1[h];
            for i in 0..W {
                t += w1[h][i] * z[i][lane];
            }
            let t = relu(t);
            for i in 0..W {
                sum[i][lane] += w2[h][i] * t;
            }
        }
    }
}

/// Feed-forward blocks on a stream of any width.
fn wide<T: Real>(numbers: &[T], hidden: usize, width: usize, state: &mut [Lanes<T>]) {
    let unit = 2 * width + 1;
    let mut sum = vec![[T::ZERO; LANES]; width];
    for block in numbers.chunks_exact(hidden * unit + width) {
        let (units, b2) = block.split_at(hidden * unit);
        for token in state.chunks_exact_mut(width) {
            sum.iter_mut().zip(b2).for_each(|(sum, b)| *sum = [*b; LANES]);
            for unit in units.chunks_exact(unit) {
                let (w1, w2) = unit[1..].split_at(width);
                let mut t = dot(unit[0], w1, token);
                for t in &mut t {
                    *t = relu(*t);
                }
                sum.iter_mut().zip(w2).for_each(|(sum, w)| add_scaled(sum, *w, &t));
            }
            token.iter_mut().zip(&sum).for_each(|(z, sum)| add(z, sum));
        }
    }
}

#[derive(Clone, Debug)]
struct Attention<T> {
    heads: usize,
    head_size: usize,
    value_size: usize,
    masks: Vec<Mask>,
    q: Vec<T>,
    q_bias: Vec<T>,
    k: Vec<T>,
    v: Vec<T>,
    o: Vec<T>,
}

/// Room for one attention layer on one chunk.
struct Scratch<T> {
    /// `[tokens][head_size]`.
    queries: Vec<Lanes<T>>,
    /// `[tokens][head_size]`.
    keys: Vec<Lanes<T>>,
    /// `[tokens][value_size]`.
    values: Vec<Lanes<T>>,
    /// `[tokens]`.
    weights: Vec<Lanes<T>>,
    /// `[value_size]`.
    mixed: Vec<Lanes<T>>,
    /// `[tokens][width]`.
    gained: Vec<Lanes<T>>,
}

impl<T: Real> Scratch<T> {
    fn new(attention: &Attention<T>, width: usize, state: usize) -> Self {
        let tokens = state / width;
        let room = |size: usize| vec![[T::ZERO; LANES]; size];
        Self {
            queries: room(tokens * attention.head_size),
            keys: room(tokens * attention.head_size),
            values: room(tokens * attention.value_size),
            weights: room(tokens),
            mixed: room(attention.value_size),
            gained: room(state),
        }
    }
}

impl<T: Real> Attention<T> {
    fn new(run: &AttentionRun) -> Self {
        Self {
            heads: run.heads,
            head_size: run.head_size,
            value_size: run.value_size,
            masks: run.masks.clone(),
            q: numbers(&run.q),
            q_bias: numbers(&run.q_bias),
            k: numbers(&run.k),
            v: numbers(&run.v),
            o: numbers(&run.o),
        }
    }

    fn apply(&self, block: usize, width: usize, state: &mut [Lanes<T>], scratch: &mut Scratch<T>) {
        let (m, mv) = (self.head_size, self.value_size);
        let Scratch { queries, keys, values, weights, mixed, gained } = scratch;
        gained.fill([T::ZERO; LANES]);
        for head in block * self.heads..(block + 1) * self.heads {
            project(&self.q[head * m * width..], &self.q_bias[head * m..], m, width, state, queries);
            project(&self.k[head * m * width..], &[], m, width, state, keys);
            project(&self.v[head * mv * width..], &[], mv, width, state, values);
            let o = &self.o[head * width * mv..][..width * mv];
            let tokens = weights.len();
            for i in 0..tokens {
                let query = &queries[i * m..][..m];
                let seen = self.masks[head - block * self.heads].keys(i, tokens);
                let weights = &mut weights[..seen.positions().count()];
                for (j, score) in seen.positions().zip(&mut *weights) {
                    *score = scalar_product(&keys[j * m..][..m], query);
                }
                softmax(weights);
                for (c, mixed) in mixed.iter_mut().enumerate() {
                    *mixed = [T::ZERO; LANES];
                    for (j, weight) in seen.positions().zip(&*weights) {
                        add_product(mixed, weight, &values[j * mv + c]);
                    }
                }
                for (a, gained) in gained[i * width..][..width].iter_mut().enumerate() {
                    add(gained, &dot(T::ZERO, &o[a * mv..][..mv], mixed));
                }
            }
        }
        state.iter_mut().zip(gained).for_each(|(z, gained)| add(z, gained));
    }
}

/// `rows · z + bias` for every token; an empty bias is 0.
fn project<T: Real>(weight: &[T], bias: &[T], rows: usize, width: usize, state: &[Lanes<T>], into: &mut [Lanes<T>]) {
    for (place, lanes) in into.iter_mut().enumerate() {
        let (token, row) = (place / rows, place % rows);
        let b = bias.get(row).copied().unwrap_or(T::ZERO);
        *lanes = dot(b, &weight[row * width..][..width], &state[token * width..][..width]);
    }
}

/// `sum += x · y`, lane by lane.
#[inline]
fn add_product<T: Real>(sum: &mut Lanes<T>, x: &Lanes<T>, y: &Lanes<T>) {
    sum.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += *x * *y);
}

/// `xᵀ y`.
fn scalar_product<T: Real>(x: &[Lanes<T>], y: &[Lanes<T>]) -> Lanes<T> {
    let mut sum = [T::ZERO; LANES];
    x.iter().zip(y).for_each(|(x, y)| add_product(&mut sum, x, y));
    sum
}

/// Scores of one query to weights, with the largest score subtracted first.
fn softmax<T: Real>(scores: &mut [Lanes<T>]) {
    let Some(mut largest) = scores.first().copied() else { return };
    for score in &*scores {
        largest.iter_mut().zip(score).for_each(|(largest, s)| *largest = if *s > *largest { *s } else { *largest });
    }
    let mut total = [T::ZERO; LANES];
    for score in &mut *scores {
        score.iter_mut().zip(&largest).for_each(|(s, largest)| *s = (*s - *largest).exp());
        add(&mut total, score);
    }
    for weight in scores {
        weight.iter_mut().zip(&total).for_each(|(weight, total)| *weight = *weight / *total);
    }
}
