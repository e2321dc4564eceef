//! A float network as it is executed: plain products of its tensors, in the network's own format.
//!
//! ```text
//! z = ∘(x) ↦ embed.weight z + embed.bias (+ pos)
//! block    z ← z + Σ_heads o · Σ_k w_k (v z_k)
//!              w_k = e_k / Σ_l e_l,   e_k = exp(s_k − max_l s_l),   s_k = (k z_k)ᵀ(q z + q_bias)
//!          z ← z + (b2 + w2 · max(b1 + w1 z, 0))
//! y = read_out.weight z + read_out.bias
//! ```
//!
//! `k` and `l` run over the keys that the head's mask, or the block's connections, show. Heads of other formulas are as `summary.rs` says. `∘` rounds the input to the format; sums are taken from left to right; no
//! multiplication and addition are fused; `exp` rounds correctly. So the same network and input give the same bytes on every machine, with
//! any number of threads and in any company. No layer and no zero is treated in a special way, except that what is known to come out bit for
//! bit is not computed again.
//!
//! | file | content |
//! |---|---|
//! | `real.rs` | the arithmetic of `f32` and `f64` |
//! | `tile.rs` | numbers side by side, and matrices times them |
//! | `columns.rs` | the arrangement of sequences side by side: a token of many sequences, or many tokens of one |
//! | `feed_forward.rs`, `attention.rs`, `seen.rs` | the two kinds of layers; the keys that a tile of queries sees |
//! | `summary.rs` | attention of other kinds than softmax: linear in the tokens |
//! | `program.rs` | a network in one format; threads, and reused memory |

mod attention;
mod columns;
mod feed_forward;
mod program;
mod real;
mod seen;
mod summary;
mod tile;

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::ThreadPool;

use super::{check_length, check_network, check_tokens};
use crate::error::{Error, Result};
use crate::network::{FloatNetwork, Precision};
use program::Program;

/// A sequence of tokens, `[tokens][dims]`.
pub(crate) type Sequence = Vec<Vec<f64>>;

/// A float network, ready to run.
#[derive(Clone, Debug)]
pub struct Engine {
    precision: Precision,
    lengths: (usize, usize),
    dims: usize,
    output_dims: usize,
    width: usize,
    program: Either,
    threads: Threads,
}

#[derive(Clone, Debug)]
enum Either {
    Single(Program<f32, 16>),
    Double(Program<f64, 8>),
}

/// The threads that do the work.
#[derive(Clone, Debug)]
enum Threads {
    /// All threads of rayon.
    All,
    /// The thread of the caller.
    One,
    /// A pool of its own.
    Own(Arc<ThreadPool>),
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
    /// Arranges the network's tensors for execution; refuses tensors that do not fit, or entries that are not numbers
    /// of the format.
    pub fn new(network: &FloatNetwork) -> Result<Self> {
        check_network(network)?;
        let program = match network.precision {
            Precision::F32 => Either::Single(Program::new(network)?),
            Precision::F64 => Either::Double(Program::new(network)?),
        };
        Ok(Self {
            precision: network.precision,
            lengths: network.lengths,
            dims: network.dims(),
            output_dims: network.output_dims(),
            width: network.width(),
            program,
            threads: Threads::All,
        })
    }

    /// The same engine with so many threads instead of all of rayon's: the sequences of a batch are shared among them,
    /// or the tokens of one long sequence. The outputs do not depend on it.
    pub fn with_threads(self, threads: usize) -> Result<Self> {
        let threads = match threads {
            0 => return Err(Error::input("0 threads, expected 1 or more")),
            1 => Threads::One,
            _ => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                Threads::Own(Arc::new(pool.map_err(|error| Error::input(format!("{threads} threads: {error}")))?))
            }
        };
        Ok(Self { threads, ..self })
    }

    /// The approximate number of operations for a sequence of so many tokens.
    pub fn operations(&self, tokens: usize) -> usize {
        either!(self, program => program.operations(tokens))
    }

    /// The network's outputs, `[batch][tokens][dims]`, of inputs that are first rounded to its format. The sequences
    /// may be of several lengths.
    pub fn run(&self, batch: &[Sequence]) -> Result<Vec<Sequence>> {
        self.run_from(0, batch)
    }

    /// As [`Engine::run`], for a part of a longer batch; errors count its sequences from `first` on.
    pub fn run_from(&self, first: usize, batch: &[Sequence]) -> Result<Vec<Sequence>> {
        self.check(first, batch)?;
        let mut outputs = vec![Sequence::new(); batch.len()];
        for (tokens, places) in by_length(batch) {
            let mut out = vec![0.0; places.len() * tokens * self.output_dims];
            self.execute(tokens, &flat(batch, &places), &mut out);
            for (place, out) in places.into_iter().zip(out.chunks_exact(tokens * self.output_dims)) {
                outputs[place] = nested(out, self.output_dims);
            }
        }
        Ok(outputs)
    }

    /// As [`Engine::run`], for sequences of one length in one slice, `[batch][tokens][dims]`, with the outputs in
    /// `out`. Nothing is allocated once the engine has run as many tokens on as many threads, which helps with very
    /// many short sequences.
    pub fn run_flat(&self, tokens: usize, batch: &[f64], out: &mut [f64]) -> Result<()> {
        check_length(self.lengths, tokens, || "a sequence of the batch".to_owned())?;
        let (side, sequences) = (tokens * self.dims, batch.len() / (tokens * self.dims));
        if sequences * side != batch.len() {
            let (found, dims) = (batch.len(), self.dims);
            return Err(Error::input(format!("{found} numbers are no batch of {tokens} tokens of {dims} coordinates")));
        }
        let expected = sequences * tokens * self.output_dims;
        if out.len() != expected {
            return Err(Error::input(format!("there is room for {} numbers, and {expected} come out", out.len())));
        }
        if let Some(place) = batch.iter().position(|entry| !self.precision.round(*entry).is_finite()) {
            let (token, dim) = (place % side / self.dims, place % self.dims);
            return Err(self.not_a_number(batch[place], (place / side, token, dim)));
        }
        self.execute(tokens, batch, out);
        Ok(())
    }

    fn execute(&self, tokens: usize, batch: &[f64], out: &mut [f64]) {
        either!(self, program => match &self.threads {
            Threads::All => program.run(tokens, batch, out, rayon::current_num_threads()),
            Threads::One => program.run(tokens, batch, out, 1),
            Threads::Own(pool) => pool.install(|| program.run(tokens, batch, out, pool.current_num_threads())),
        });
    }

    /// The state after the embedding and after each stage, by name.
    pub fn trace(&self, x: &[Vec<f64>]) -> Result<Vec<(String, Sequence)>> {
        Ok(self.trace_batch(&[x.to_vec()])?.into_iter().map(|(name, mut states)| (name, states.remove(0))).collect())
    }

    /// The states of many sequences after the embedding and after each stage, by name.
    pub fn trace_batch(&self, batch: &[Sequence]) -> Result<Vec<(String, Vec<Sequence>)>> {
        self.check(0, batch)?;
        let names: Vec<String> = either!(self, program => program.stages().map(str::to_owned).collect());
        let mut whole: Vec<(String, Vec<Sequence>)> = std::iter::once("embed".to_owned())
            .chain(names)
            .map(|name| (name, vec![Sequence::new(); batch.len()]))
            .collect();
        for (tokens, places) in by_length(batch) {
            let trace = either!(self, program => program.trace(tokens, &flat(batch, &places)));
            for ((_, states), flat) in whole.iter_mut().zip(trace) {
                for (place, state) in places.iter().zip(flat.chunks_exact(tokens * self.width)) {
                    states[*place] = nested(state, self.width);
                }
            }
        }
        Ok(whole)
    }

    /// Refuses a batch with a sequence of another shape or an entry that is not a number of the format.
    fn check(&self, first: usize, batch: &[Sequence]) -> Result<()> {
        for (i, x) in (first..).zip(batch) {
            check_tokens(self.lengths, self.dims, x, Some(i))?;
            for (j, token) in x.iter().enumerate() {
                if let Some(k) = token.iter().position(|entry| !self.precision.round(*entry).is_finite()) {
                    return Err(self.not_a_number(token[k], (i, j, k)));
                }
            }
        }
        Ok(())
    }

    fn not_a_number(&self, entry: f64, (i, j, k): (usize, usize, usize)) -> Error {
        let why = if entry.is_finite() {
            format!("beyond the range of {}", self.precision)
        } else {
            "not a finite number".to_owned()
        };
        Error::input(format!("sequence {i}, token {j}, coordinate {k} is {entry:?}: {why}"))
    }
}

/// The places of the sequences of each length.
fn by_length(batch: &[Sequence]) -> BTreeMap<usize, Vec<usize>> {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, x) in batch.iter().enumerate() {
        places.entry(x.len()).or_default().push(place);
    }
    places
}

fn flat(batch: &[Sequence], places: &[usize]) -> Vec<f64> {
    places.iter().flat_map(|place| batch[*place].iter().flatten().copied()).collect()
}

fn nested(flat: &[f64], dims: usize) -> Sequence {
    flat.chunks_exact(dims).map(<[f64]>::to_vec).collect()
}
