//! A network that computes the same in another order, with parts that are cut in two, and with parts that do nothing.
//!
//! ```text
//! registers   a permutation; and a spare one, which holds a multiple of the input that nothing reads
//! units       a permutation; w2 max(w1 z + b, 0) = ½ w2 max(w1 z + b, 0) + ½ w2 max(w1 z + b, 0), exactly, for some;
//!             and idle ones, which read anything and write nothing
//! heads       a permutation; o H = ½ o H + ½ o H for some
//! ```
//!
//! Halves are exact, since no weight is near the least normal number; but sums have more terms. So what is claimed of a
//! variant is claimed of its own weights, and proved anew.

use std::collections::BTreeMap;

use super::lines::Numbers;
use crate::exact::Rat;
use crate::network::{AttentionRun, Coordinate, FeedForwardRun, FloatNetwork};
use crate::random::{below, word};

/// What is changed besides the order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub units: bool,
    pub heads: bool,
}

/// What a hidden unit or a head of a variant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The part of this number of the network that was compiled, or one of its halves.
    Of(usize),
    /// It writes nothing.
    Idle,
}

/// The parts of a sub-layer, in their new order.
type Parts = Vec<Part>;

/// A varied network.
#[derive(Debug)]
pub(super) struct Varied {
    pub network: FloatNetwork,
    pub numbers: Numbers,
    /// The parts of each sub-layer, in the order of execution.
    pub parts: Vec<Parts>,
}

/// Draws from a seed.
struct Draw(u64);

impl Draw {
    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, below(&mut self.0, last + 1));
        }
        order
    }

    fn one_in(&mut self, many: usize) -> bool {
        below(&mut self.0, many) == 0
    }

    /// An odd number of sixteenths below 1 in size: few digits, and never 0.
    fn fraction(&mut self) -> f64 {
        let sixteenths = 2.0 * f64::from(u8::try_from(below(&mut self.0, 16)).unwrap_or(0)) - 15.0;
        sixteenths / 16.0
    }
}

/// The new place of each old part, the places of the twins of some, and the parts in their new order.
struct Layout {
    places: Vec<usize>,
    twins: BTreeMap<usize, usize>,
    parts: Parts,
}

impl Layout {
    fn drawn(draw: &mut Draw, count: usize, splits: impl Fn(usize) -> bool, idle: usize) -> Self {
        let split: Vec<usize> = (0..count).filter(|part| splits(*part) && draw.one_in(2)).collect();
        let order = draw.shuffled(count + split.len() + idle);
        let of = |place: usize| match order[place] {
            part if part < count => Part::Of(part),
            twin => split.get(twin - count).map_or(Part::Idle, |part| Part::Of(*part)),
        };
        let parts: Parts = (0..order.len()).map(of).collect();
        let place = |number: usize| order.iter().position(|part| *part == number).unwrap_or_default();
        let twins = split.iter().enumerate().map(|(k, part)| (*part, place(count + k))).collect();
        Self { places: (0..count).map(place).collect(), twins, parts }
    }

    /// The share of a part in what it was.
    fn share(&self, part: usize) -> f64 {
        if self.twins.contains_key(&part) { 0.5 } else { 1.0 }
    }
}

/// True if half of every number is exact.
fn halves(numbers: impl IntoIterator<Item = f64>, network: &FloatNetwork) -> bool {
    let least = 2.0 * network.precision.least_normal();
    numbers.into_iter().all(|x| x == 0.0 || x.abs() >= least)
}

/// The variant of a seed. `gate` says whether a unit of a block belongs to a gate: those that empty registers stay whole.
pub(super) fn varied(network: &FloatNetwork, seed: u64, change: Change, gate: impl Fn(usize, usize) -> bool) -> Varied {
    let mut draw = Draw(seed);
    word(&mut draw.0);
    let (width, spare) = (network.width(), 1);
    let order = draw.shuffled(width + spare);
    let factor = draw.fraction();
    let streams = Streams { registers: &order[..width], width: width + spare };
    let mut varied = network.clone();
    varied.coordinates = streams.coordinates(network, order[width]);
    let embed = &mut varied.embed;
    embed.outputs = streams.width;
    embed.weight = streams.columns(&network.embed.weight, embed.inputs);
    embed.weight[order[width] * embed.inputs] = factor;
    embed.bias = streams.rows(&network.embed.bias);
    varied.positions = network.positions.as_ref().map(|positions| streams.rows(positions));
    varied.read_out.inputs = streams.width;
    varied.read_out.weight = streams.rows(&network.read_out.weight);
    let spare = vec![(order[width], Rat::from_f64(factor).unwrap_or(Rat::ZERO))];
    let mut numbers =
        Numbers { registers: order[..width].to_vec(), places: vec![Vec::new()], spare, ..Numbers::default() };
    let (mut first, mut all) = (0, vec![Parts::new()]);
    for run in &mut varied.runs {
        let mut layouts = Vec::new();
        if let Some(a) = &mut run.attention {
            let splits = change.heads && halves(a.o.iter().copied(), network);
            let layout = Layout::drawn(&mut draw, a.heads, |_| splits, 0);
            *a = heads(a, &layout, &streams, run.blocks);
            layouts.push((layout, true));
        }
        if let Some(f) = &mut run.feed_forward {
            let splits = change.units && halves(f.w2.iter().copied(), network);
            let of_gate = |unit: usize| splits && (first..first + run.blocks).all(|block| gate(block, unit));
            let layout = Layout::drawn(&mut draw, f.hidden, of_gate, 1 + f.hidden / 8);
            *f = units(f, &layout, &streams, (run.blocks, &mut draw));
            layouts.push((layout, false));
        }
        for _ in 0..run.blocks {
            for (layout, is_attention) in &layouts {
                if *is_attention {
                    let layer = numbers.places.len();
                    numbers.twins.extend(layout.twins.iter().map(|(head, twin)| ((layer, *head), *twin)));
                }
                numbers.places.push(layout.places.clone());
                all.push(layout.parts.clone());
            }
        }
        first += run.blocks;
    }
    Varied { network: varied, numbers, parts: all }
}

/// The residual stream: where each register went, and how many there are now.
struct Streams<'a> {
    registers: &'a [usize],
    width: usize,
}

impl Streams<'_> {
    /// Consecutive vectors over the registers.
    fn rows(&self, vectors: &[f64]) -> Vec<f64> {
        self.columns(vectors, 1)
    }

    /// Consecutive matrices of `inner` columns with a row for each register.
    fn columns(&self, matrices: &[f64], inner: usize) -> Vec<f64> {
        let place = |matrix: &[f64]| {
            let mut new = vec![0.0; self.width * inner];
            for (row, to) in matrix.chunks(inner).zip(self.registers) {
                new[to * inner..][..inner].copy_from_slice(row);
            }
            new
        };
        matrices.chunks(self.registers.len() * inner).flat_map(place).collect()
    }

    fn coordinates(&self, network: &FloatNetwork, spare: usize) -> Vec<Coordinate> {
        let known: BTreeMap<usize, &Coordinate> = self.registers.iter().copied().zip(&network.coordinates).collect();
        let coordinate = |register: usize| {
            let meaning = known.get(&register).map_or("noise, which nothing reads", |known| known.meaning.as_str());
            debug_assert!(known.contains_key(&register) || register == spare, "one spare register");
            Coordinate { name: format!("r{register}"), meaning: meaning.to_owned() }
        };
        (0..self.width).map(coordinate).collect()
    }
}

/// Blocks of parts of some size each, in their new order.
fn picked(entries: &[f64], (count, size): (usize, usize), layout: &Layout) -> Vec<f64> {
    let block = |block: &[f64]| -> Vec<f64> {
        let part = |part: &Part| match part {
            Part::Of(part) => block[part * size..][..size].to_vec(),
            Part::Idle => vec![0.0; size],
        };
        layout.parts.iter().flat_map(part).collect()
    };
    entries.chunks((count * size).max(1)).flat_map(block).collect()
}

fn heads(a: &AttentionRun, layout: &Layout, streams: &Streams, blocks: usize) -> AttentionRun {
    let (m, mv, width) = (a.head_size, a.value_size, streams.width);
    let parts = |entries: &[f64], size: usize| picked(entries, (a.heads, size), layout);
    let mut new = a.clone();
    new.heads = layout.parts.len();
    let mask = |part: &Part| if let Part::Of(head) = part { a.masks[*head] } else { a.masks[0] };
    new.masks = layout.parts.iter().map(mask).collect();
    new.q = parts(&streams.rows(&a.q), m * width);
    new.q_bias = parts(&a.q_bias, m);
    new.k = parts(&streams.rows(&a.k), m * width);
    new.v = parts(&streams.rows(&a.v), mv * width);
    new.o = parts(&streams.columns(&a.o, mv), width * mv);
    for (number, o) in new.o.chunks_mut(width * mv).enumerate() {
        if let Part::Of(head) = layout.parts[number % new.heads] {
            for x in o {
                *x *= layout.share(head);
            }
        }
    }
    for tensor in &mut new.kind.tensors {
        *tensor = parts(tensor, tensor.len() / (blocks * a.heads).max(1));
    }
    new
}

fn units(f: &FeedForwardRun, layout: &Layout, streams: &Streams, (blocks, draw): (usize, &mut Draw)) -> FeedForwardRun {
    let (width, hidden) = (streams.width, layout.parts.len());
    let mut w1 = picked(&streams.rows(&f.w1), (f.hidden, width), layout);
    let mut b1 = picked(&f.b1, (f.hidden, 1), layout);
    for (number, (row, bias)) in w1.chunks_mut(width).zip(&mut b1).enumerate() {
        if layout.parts[number % hidden] == Part::Idle {
            for x in row {
                *x = if draw.one_in(2) { draw.fraction() } else { 0.0 };
            }
            *bias = draw.fraction();
        }
    }
    let columns = streams.columns(&f.w2, f.hidden);
    let mut w2 = vec![0.0; blocks * width * hidden];
    for (new, old) in w2.chunks_mut(hidden).zip(columns.chunks(f.hidden)) {
        for (x, part) in new.iter_mut().zip(&layout.parts) {
            if let Part::Of(unit) = part {
                *x = layout.share(*unit) * old[*unit];
            }
        }
    }
    FeedForwardRun { stage: f.stage, hidden, w1, b1, w2, b2: streams.rows(&f.b2) }
}
