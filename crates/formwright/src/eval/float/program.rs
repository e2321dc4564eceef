//! A network in one format, and its execution over groups of lanes.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::attention::{Attention, Projections, Room};
use super::columns::Columns;
use super::feed_forward::FeedForward;
use super::real::{Real, numbers};
use super::tile::{LANES, Lanes, product, tile, tile_mut};
use crate::error::Result;
use crate::eval::{Part, stages};
use crate::network::{FloatAffine, FloatNetwork};

/// The least number of groups for which the tokens of one sequence are split among threads.
const MANY_GROUPS: usize = 8;

/// The least number of operations for which they are split: less work is done before another thread has begun.
const MANY_OPERATIONS: usize = 1 << 18;

/// The network in one format, with tiles of `S` lanes.
#[derive(Clone, Debug)]
pub(crate) struct Program<T, const S: usize> {
    width: usize,
    embed: Affine<T>,
    positions: Option<Vec<T>>,
    stages: Vec<(String, Vec<Step<T>>)>,
    read_out: Affine<T>,
    states: Pool<State<T>>,
    rooms: Pool<Rooms<T, S>>,
}

/// Room for the sequences of a task.
#[derive(Clone, Debug, Default)]
struct State<T> {
    /// `[groups][dims]`.
    ends: Vec<Lanes<T>>,
    /// `[groups][width]`.
    z: Vec<Lanes<T>>,
    projections: Projections<T>,
}

/// Room for one thread.
#[derive(Clone, Debug, Default)]
struct Rooms<T, const S: usize> {
    attention: Room<T, S>,
    units: Vec<[T; S]>,
}

impl<T: Real + Default, const S: usize> Program<T, S> {
    pub fn new(network: &FloatNetwork) -> Result<Self> {
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
            states: Pool::default(),
            rooms: Pool::default(),
        })
    }

    /// The names of the stages.
    pub fn stages(&self) -> impl Iterator<Item = &str> {
        self.stages.iter().map(|(name, _)| name.as_str())
    }

    /// The approximate number of operations for a sequence of that length.
    pub fn operations(&self, tokens: usize) -> usize {
        let ends = 2 * (self.embed.weight.len() + self.read_out.weight.len());
        let of = |step: &Step<T>| {
            let (each, pair) = step.operations();
            step.blocks.saturating_mul(each.saturating_add(pair.saturating_mul(tokens)))
        };
        let steps = self.stages.iter().flat_map(|(_, steps)| steps).map(of);
        steps.fold(ends, usize::saturating_add).saturating_mul(tokens)
    }

    /// The outputs of sequences of one length, `[sequences][tokens][dims]` in one slice, by so many threads.
    pub fn run(&self, tokens: usize, x: &[f64], out: &mut [f64], threads: usize) {
        let sides = (tokens * self.embed.inputs, tokens * self.read_out.outputs());
        let some = Columns::together(tokens);
        let run = |state: &mut State<T>, x: &[f64], out: &mut [f64], threads: usize| {
            for (columns, sequences) in Columns::tasks(tokens, x.len() / sides.0) {
                let x = &x[sequences.start * sides.0..sequences.end * sides.0];
                let out = &mut out[sequences.start * sides.1..sequences.end * sides.1];
                self.execute(&columns, x, state, threads, |_| ());
                self.read_out.apply::<S>(&columns, &state.z, &mut state.ends);
                columns.unpack(&state.ends, self.read_out.outputs(), out);
            }
        };
        if threads > 1 && x.len() / sides.0 >= threads * some {
            let chunks = x.par_chunks(sides.0 * some).zip(out.par_chunks_mut(sides.1 * some));
            chunks.for_each_init(|| self.states.take(), |state, (x, out)| run(state, x, out, 1));
        } else {
            let mut state = self.states.take();
            for (x, out) in x.chunks(sides.0 * some).zip(out.chunks_mut(sides.1 * some)) {
                run(&mut state, x, out, threads);
            }
        }
    }

    /// The states of sequences of one length after the embedding and after each stage, each of them
    /// `[sequences][tokens][width]` in one vector.
    pub fn trace(&self, tokens: usize, x: &[f64]) -> Vec<Vec<f64>> {
        let (side, width) = (tokens * self.embed.inputs, tokens * self.width);
        let mut trace = vec![vec![0.0; x.len() / side * width]; self.stages.len() + 1];
        let (mut state, mut first) = (self.states.take(), 0);
        for x in x.chunks(side * Columns::together(tokens)) {
            for (columns, sequences) in Columns::tasks(tokens, x.len() / side) {
                let mut states = trace.iter_mut();
                let out = (first + sequences.start) * width..(first + sequences.end) * width;
                let x = &x[sequences.start * side..sequences.end * side];
                self.execute(&columns, x, &mut state, 1, |z| {
                    let states = states.next().expect("as many as there are stages, and the embedding");
                    columns.unpack(z, self.width, &mut states[out.clone()]);
                });
            }
            first += x.len() / side;
        }
        trace
    }

    /// Runs a task up to the read-out; `see` is called with the state after the embedding and after each stage. A long
    /// sequence is shared among threads.
    fn execute(
        &self,
        columns: &Columns,
        x: &[f64],
        state: &mut State<T>,
        threads: usize,
        mut see: impl FnMut(&[Lanes<T>]),
    ) {
        let State { ends, z, projections } = state;
        columns.pack(x, self.embed.inputs, ends);
        self.embed.apply::<S>(columns, ends, z);
        if let Some(positions) = &self.positions {
            for (group, z) in z.chunks_exact_mut(self.width).enumerate() {
                for lane in 0..columns.lanes(group) {
                    let position = &positions[columns.token(group, lane) * self.width..][..self.width];
                    z.iter_mut().zip(position).for_each(|(z, position)| z[lane] += *position);
                }
            }
        }
        see(z);
        for (_, steps) in &self.stages {
            for step in steps {
                self.step(step, columns, z, projections, threads);
            }
            see(z);
        }
    }

    fn step(
        &self,
        step: &Step<T>,
        columns: &Columns,
        z: &mut [Lanes<T>],
        projections: &mut Projections<T>,
        threads: usize,
    ) {
        let (width, tiles) = (self.width, columns.tiles::<S>(0));
        let many = |operations: usize| {
            threads > 1 && columns.along && columns.groups() >= MANY_GROUPS && operations >= MANY_OPERATIONS
        };
        let (each, pair) = step.operations();
        let Some(attention) = &step.attention else {
            let Some(layer) = &step.feed_forward else { return };
            let split = many(columns.tokens * each * step.blocks);
            let apply = |rooms: &mut Rooms<T, S>, z: &mut [Lanes<T>]| {
                layer.apply(0..step.blocks, z, tiles, &mut rooms.units);
            };
            if split {
                z.par_chunks_mut(width).for_each_init(|| self.rooms.take(), |rooms, z| apply(rooms, z));
            } else {
                apply(&mut self.rooms.take(), z);
            }
            return;
        };
        let mut rooms = self.rooms.take();
        for block in 0..step.blocks {
            attention.project::<S>(block, columns, z, projections);
            let projections = &*projections;
            // If all queries are alike, every thread would look up the same keys: more threads do not make that faster.
            let alike = attention.asks_alike(block);
            let looks = if alike { 0 } else { columns.tokens };
            let split = many(columns.tokens * (each + looks * pair));
            if columns.along {
                // Neighbouring groups in one thread share their results if they have the same queries.
                let apply = |rooms: &mut Rooms<T, S>, start: usize, z: &mut [Lanes<T>]| {
                    for (group, z) in z.chunks_exact_mut(width).enumerate() {
                        for t in 0..columns.tiles::<S>(start + group) {
                            let place = (start + group, t, group + t > 0);
                            attention.apply(block, columns, projections, place, z, &mut rooms.attention);
                        }
                    }
                    step.feed_forward
                        .iter()
                        .for_each(|layer| layer.apply(block..block + 1, z, tiles, &mut rooms.units));
                };
                if split {
                    let some = columns.groups().div_ceil(if alike { threads } else { 4 * threads });
                    z.par_chunks_mut(some * width)
                        .enumerate()
                        .for_each_init(|| self.rooms.take(), |rooms, (chunk, z)| apply(rooms, chunk * some, z));
                } else {
                    apply(&mut rooms, 0, z);
                }
            } else {
                for t in 0..tiles {
                    for (group, z) in z.chunks_exact_mut(width).enumerate() {
                        let place = (group, t, group > 0);
                        attention.apply(block, columns, projections, place, z, &mut rooms.attention);
                    }
                }
                step.feed_forward.iter().for_each(|layer| layer.apply(block..block + 1, z, tiles, &mut rooms.units));
            }
        }
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
            attention: part.attention.map(|run| Attention::new(run, part.blocks, width)),
            feed_forward: part.feed_forward.map(|run| FeedForward::new(run, part.blocks, width)),
        }
    }

    /// The approximate number of operations of a block for each token, and for each token that it attends to.
    fn operations(&self) -> (usize, usize) {
        let (each, pair) = self.attention.as_ref().map_or((0, 0), Attention::operations);
        (each + self.feed_forward.as_ref().map_or(0, FeedForward::operations), pair)
    }
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

    fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// `[groups][inputs]` to `[groups][outputs]`.
    fn apply<const S: usize>(&self, columns: &Columns, x: &[Lanes<T>], into: &mut Vec<Lanes<T>>) {
        into.resize(columns.groups() * self.outputs(), [T::ZERO; LANES]);
        for (x, into) in x.chunks_exact(self.inputs).zip(into.chunks_exact_mut(self.outputs())) {
            for t in 0..LANES / S {
                let write = |row: usize, sum: [T; S]| *tile_mut(&mut into[row], t) = sum;
                product(&self.weight, &self.bias, self.inputs, |i| *tile(&x[i], t), write);
            }
        }
    }
}

/// Rooms that are not in use, kept for reuse: nothing is allocated once there are enough.
#[derive(Debug, Default)]
struct Pool<R>(Mutex<Vec<R>>);

impl<R> Clone for Pool<R> {
    fn clone(&self) -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<R: Default> Pool<R> {
    fn take(&self) -> Lease<'_, R> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Lease { pool: self, room: kept.unwrap_or_default() }
    }
}

/// A room that goes back to its pool.
struct Lease<'p, R: Default> {
    pool: &'p Pool<R>,
    room: R,
}

impl<R: Default> Deref for Lease<'_, R> {
    type Target = R;
    fn deref(&self) -> &R {
        &self.room
    }
}

impl<R: Default> DerefMut for Lease<'_, R> {
    fn deref_mut(&mut self) -> &mut R {
        &mut self.room
    }
}

impl<R: Default> Drop for Lease<'_, R> {
    fn drop(&mut self) {
        self.pool.0.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.room));
    }
}
