//! A float network: ordinary tensors, what is shipped and executed.
//!
//! The same form as [`Network`](super::Network), with every layer explicit. Runs of blocks of one shape are stacked: a tensor of a run
//! has a leading axis, the block. What the tensors mean is what plain matrix products make of them:
//!
//! ```text
//! z = embed.weight x + embed.bias (+ pos)
//! block    z ← z + Σ_heads o · Σ_k softmax_k((k z_k)ᵀ(q z + q_bias)) (v z_k)          no 1/√m: it is in q;
//!                                                                                     k runs over the keys that the head's mask shows,
//!                                                                                     or the connections of the block;
//!                                                                                     other kinds of heads: attention/
//!          z ← z + w2 · max(w1 z + b1, 0) + b2
//! y = read_out.weight z + read_out.bias
//! ```
//!
//! Entries are kept as doubles; those of an `f32` network are all single-precision numbers.

use std::str::FromStr;

use super::attention::{AttentionKind, Look, Side};
use super::{Coordinate, LayerKind, Mask, Size, mask};
use crate::error::Error;
use crate::exact::Int;
use crate::pattern::Connections;
use crate::rounding::Precision;

impl FromStr for Precision {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "f32" => Ok(Self::F32),
            "f64" => Ok(Self::F64),
            _ => Err(Error::input(format!("'{name}' is no precision")).note("known", "f32, f64")),
        }
    }
}

/// `weight · x + bias`.
#[derive(Clone, Debug, PartialEq)]
pub struct FloatAffine {
    /// Coordinates of an input token.
    pub inputs: usize,
    /// Coordinates of an output token.
    pub outputs: usize,
    /// `[outputs, inputs]`.
    pub weight: Vec<f64>,
    /// `[outputs]`.
    pub bias: Vec<f64>,
}

/// The name and the purpose of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloatStage {
    /// A short name, unique in the network.
    pub name: String,
    /// The statement's id in the registry of statements.
    pub statement: String,
    /// One sentence about the stage.
    pub meaning: String,
}

/// The attention sub-layers of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionRun {
    /// The stage that they belong to.
    pub stage: usize,
    /// The kind of the heads; all of them see everything unless they look at the tokens themselves.
    pub kind: AttentionKind,
    /// Heads of a block.
    pub heads: usize,
    /// Rows of `q` and `k` of a head; 0 where there are none.
    pub head_size: usize,
    /// Rows of `v` of a head.
    pub value_size: usize,
    /// The mask of each head, the same in all blocks.
    pub masks: Vec<Mask>,
    /// A cycle: block `b` of the run sees `connections[b mod p]`, with all heads. Empty: the masks decide.
    pub connections: Vec<Connections>,
    /// `[blocks, heads, head_size, width]`.
    pub q: Vec<f64>,
    /// `[blocks, heads, head_size]`.
    pub q_bias: Vec<f64>,
    /// `[blocks, heads, head_size, width]`.
    pub k: Vec<f64>,
    /// `[blocks, heads, value_size, width]`.
    pub v: Vec<f64>,
    /// `[blocks, heads, width, value_size]`.
    pub o: Vec<f64>,
}

impl AttentionRun {
    /// Its tensors, with their shapes but for the side of the blocks, in a network built for so many tokens.
    pub fn tensors(&self, tokens: usize, width: usize) -> Vec<Tensor<'_>> {
        let (h, m, mv) = (self.heads, self.head_size, self.value_size);
        let mut tensors: Vec<Tensor<'_>> = Vec::new();
        if self.kind.formula.has_scores() {
            tensors.push(("q", vec![h, m, width], &self.q));
            tensors.push(("q_bias", vec![h, m], &self.q_bias));
            tensors.push(("k", vec![h, m, width], &self.k));
        }
        for ((name, side), entries) in self.kind.formula.tensors().into_iter().zip(&self.kind.tensors) {
            let side = match side {
                Side::Tokens => tokens,
                Side::HeadSize => m,
            };
            tensors.push((name, vec![h, self.kind.size, side], entries));
        }
        tensors.push(("v", vec![h, mv, width], &self.v));
        tensors.push(("o", vec![h, width, mv], &self.o));
        tensors
    }

    /// The same tensors, to be filled in.
    pub(crate) fn entries(&mut self) -> Vec<&mut Vec<f64>> {
        let mut entries = Vec::new();
        if self.kind.formula.has_scores() {
            entries.extend([&mut self.q, &mut self.q_bias, &mut self.k]);
        }
        entries.extend(&mut self.kind.tensors);
        entries.extend([&mut self.v, &mut self.o]);
        entries
    }

    /// The connections in a block of the run, unless the masks decide.
    pub fn connections_of(&self, block: usize) -> Option<&Connections> {
        (!self.connections.is_empty()).then(|| &self.connections[block % self.connections.len()])
    }

    /// Checks that a run that begins with block `first` can have attention of its kind, in a network that accepts so
    /// many tokens.
    pub(crate) fn check(&self, first: usize, lengths: (usize, usize)) -> Result<(), String> {
        self.check_kind(first, lengths)?;
        mask::check(&self.masks, self.heads, first, lengths)
    }

    /// The same, but for what the masks show.
    pub(crate) fn check_kind(&self, first: usize, lengths: (usize, usize)) -> Result<(), String> {
        let (scores, name) = (self.kind.formula.has_scores(), self.kind.name());
        if scores != (self.head_size > 0) {
            let size = self.head_size;
            let expected = if scores { "1 or more" } else { "0" };
            return Err(format!("head_size of block {first} is {size}, expected {expected} for {name}"));
        }
        let sizes = [("heads", self.heads), ("value_size", self.value_size), ("size", self.kind.size().unwrap_or(1))];
        if let Some((name, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(format!("{name} of block {first} is 0, expected 1 or more"));
        }
        let (tensors, expected) = (self.kind.tensors.len(), self.kind.formula.tensors().len());
        if tensors != expected {
            return Err(format!("block {first}: {name} has {tensors} tensors of its own, expected {expected}"));
        }
        self.check_connections(first, lengths)?;
        if self.kind.formula.sees_tokens() {
            return Ok(());
        }
        if let Some(head) = self.masks.iter().position(|mask| *mask != Mask::ALL) {
            return Err(format!("block {first}, head {head}: {name} has no masks"));
        }
        let (least, most) = lengths;
        if self.kind.formula.fixes_tokens() && least != most {
            return Err(format!("block {first}: {name} is for one number of tokens, not for {least} to {most}"));
        }
        let rows = self.kind.size;
        if matches!(self.kind.formula.look, Look::Row { .. }) && rows > 1 && (rows, rows) != lengths {
            return Err(format!("block {first}: {name} has {rows} rows for {most} tokens, expected 1 or one for each"));
        }
        Ok(())
    }

    /// Connections are what softmax heads see, with no masks besides, in sequences of one length.
    fn check_connections(&self, first: usize, (least, most): (usize, usize)) -> Result<(), String> {
        if self.connections.is_empty() {
            return Ok(());
        }
        if !self.kind.formula.sees_tokens() {
            return Err(format!("block {first}: {} has no connections", self.kind.name()));
        }
        if let Some(head) = self.masks.iter().position(|mask| *mask != Mask::ALL) {
            return Err(format!("block {first}, head {head}: it has a mask, and the block has connections"));
        }
        match self.connections.iter().position(|layer| (layer.tokens(), layer.tokens()) != (least, most)) {
            Some(layer) => {
                let tokens = self.connections[layer].tokens();
                let accepted = if least == most { most.to_string() } else { format!("{least} to {most}") };
                Err(format!(
                    "block {first}: layer {layer} of its connections is for {tokens} tokens, not for {accepted}"
                ))
            }
            None => Ok(()),
        }
    }
}

/// The feed-forward sub-layers of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedForwardRun {
    /// The stage that they belong to.
    pub stage: usize,
    /// Hidden units of a block.
    pub hidden: usize,
    /// `[blocks, hidden, width]`.
    pub w1: Vec<f64>,
    /// `[blocks, hidden]`.
    pub b1: Vec<f64>,
    /// `[blocks, width, hidden]`.
    pub w2: Vec<f64>,
    /// `[blocks, width]`.
    pub b2: Vec<f64>,
}

/// Consecutive blocks of one shape; in each, attention comes before feed-forward. Where both are there, and belong to different
/// stages, the run is a single block.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// How many blocks.
    pub blocks: usize,
    /// Their attention, if they have any.
    pub attention: Option<AttentionRun>,
    /// Their feed-forward layer, if they have one.
    pub feed_forward: Option<FeedForwardRun>,
}

/// A tensor: its name, its shape, its entries.
pub(crate) type Tensor<'a> = (&'static str, Vec<usize>, &'a [f64]);

/// One layer, by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct FloatLayer<'a> {
    /// The stage that it belongs to.
    pub stage: usize,
    /// Attention or feed-forward.
    pub kind: LayerKind,
    /// The kind of its heads, if it is attention.
    pub attention: Option<&'a AttentionKind>,
    /// The mask of each head, if it is attention.
    pub masks: &'a [Mask],
    /// The connections of the layer, if it has them.
    pub connections: Option<&'a Connections>,
    /// Its tensors, called as in the files, without the side of the blocks.
    pub tensors: Vec<Tensor<'a>>,
}

/// A Transformer of ordinary weights.
#[derive(Clone, Debug, PartialEq)]
pub struct FloatNetwork {
    /// The format of every tensor and of the execution.
    pub precision: Precision,
    /// The number of tokens for which it was built: the rows of `positions`, if there are any.
    pub tokens: usize,
    /// The least and the largest number of tokens that it accepts; with positions, both are `tokens`.
    pub lengths: (usize, usize),
    /// The residual stream, coordinate by coordinate.
    pub coordinates: Vec<Coordinate>,
    /// From an input token to the residual stream.
    pub embed: FloatAffine,
    /// `[tokens, width]`, added after the embedding.
    pub positions: Option<Vec<f64>>,
    /// The stages, in order.
    pub stages: Vec<FloatStage>,
    /// The blocks, in order.
    pub runs: Vec<Run>,
    /// From the residual stream to an output token.
    pub read_out: FloatAffine,
}

impl FloatNetwork {
    /// Checks that the lengths are those of a network.
    pub(crate) fn check_lengths(tokens: usize, (least, most): (usize, usize), positions: bool) -> Result<(), String> {
        if least == 0 || least > tokens || tokens > most || isize::try_from(most).is_err() {
            return Err(format!("it is for {tokens} tokens, and accepts {least} to {most}"));
        }
        if positions && (least, most) != (tokens, tokens) {
            return Err(format!("it has positions for {tokens} tokens, and accepts {least} to {most}"));
        }
        Ok(())
    }

    /// The width of the residual stream.
    pub fn width(&self) -> usize {
        self.coordinates.len()
    }

    /// The coordinates of an input token.
    pub fn dims(&self) -> usize {
        self.embed.inputs
    }

    /// The coordinates of an output token.
    pub fn output_dims(&self) -> usize {
        self.read_out.outputs
    }

    /// Every tensor with its name and shape, in the order of execution. A run's tensors are called by the number of its first block.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>, &[f64])> {
        let width = self.width();
        let mut tensors: Vec<(String, Vec<usize>, &[f64])> = vec![
            ("embed.weight".to_owned(), vec![self.embed.outputs, self.embed.inputs], &self.embed.weight),
            ("embed.bias".to_owned(), vec![self.embed.outputs], &self.embed.bias),
        ];
        if let Some(positions) = &self.positions {
            tensors.push(("pos".to_owned(), vec![self.tokens, width], positions));
        }
        let mut first = 0;
        for run in &self.runs {
            let b = run.blocks;
            if let Some(a) = &run.attention {
                for (name, shape, entries) in a.tensors(self.tokens, width) {
                    let shape = std::iter::once(b).chain(shape).collect();
                    tensors.push((format!("{first}.attn.{name}"), shape, entries));
                }
            }
            if let Some(f) = &run.feed_forward {
                tensors.push((format!("{first}.ff.w1"), vec![b, f.hidden, width], &f.w1));
                tensors.push((format!("{first}.ff.b1"), vec![b, f.hidden], &f.b1));
                tensors.push((format!("{first}.ff.w2"), vec![b, width, f.hidden], &f.w2));
                tensors.push((format!("{first}.ff.b2"), vec![b, width], &f.b2));
            }
            first += run.blocks;
        }
        let read_out = &self.read_out;
        tensors.push(("read_out.weight".to_owned(), vec![read_out.outputs, read_out.inputs], &read_out.weight));
        tensors.push(("read_out.bias".to_owned(), vec![read_out.outputs], &read_out.bias));
        tensors
    }

    /// Every layer, in the order of execution.
    pub fn layers(&self) -> impl Iterator<Item = FloatLayer<'_>> {
        let width = self.width();
        self.runs.iter().flat_map(move |run| {
            (0..run.blocks).flat_map(move |block| {
                let slice = |name, shape: Vec<usize>, stacked| {
                    let size: usize = shape.iter().product();
                    let entries: &[f64] = stacked;
                    (name, shape, &entries[block * size..(block + 1) * size])
                };
                let attention = run.attention.as_ref().map(|a| {
                    let of_run = a.tensors(self.tokens, width).into_iter();
                    let tensors = of_run.map(|(name, shape, stacked)| slice(name, shape, stacked)).collect();
                    FloatLayer {
                        stage: a.stage,
                        kind: LayerKind::Attention,
                        attention: Some(&a.kind),
                        masks: &a.masks,
                        connections: a.connections_of(block),
                        tensors,
                    }
                });
                let feed_forward = run.feed_forward.as_ref().map(|f| {
                    let tensors = vec![
                        slice("w1", vec![f.hidden, width], &f.w1),
                        slice("b1", vec![f.hidden], &f.b1),
                        slice("w2", vec![width, f.hidden], &f.w2),
                        slice("b2", vec![width], &f.b2),
                    ];
                    FloatLayer {
                        stage: f.stage,
                        kind: LayerKind::FeedForward,
                        attention: None,
                        masks: &[],
                        connections: None,
                        tensors,
                    }
                });
                attention.into_iter().chain(feed_forward)
            })
        })
    }

    /// Counts of blocks, layers and parameters.
    pub fn size(&self) -> Size {
        let attention = || self.runs.iter().filter_map(|run| Some((run.blocks, run.attention.as_ref()?)));
        let feed_forward = || self.runs.iter().filter_map(|run| Some((run.blocks, run.feed_forward.as_ref()?)));
        let count = |blocks: usize| Int::from(blocks);
        let (heads, head_size) =
            attention().fold((0, 0), |(h, m), (_, a)| (h.max(a.heads), m.max(a.head_size).max(a.value_size)));
        let hidden = feed_forward().map(|(_, f)| f.hidden).max().unwrap_or(0);
        let tensors = self.tensors();
        let entries = |tensors: &[(String, Vec<usize>, &[f64])]| -> usize {
            tensors.iter().map(|(_, _, entries)| entries.len()).sum()
        };
        let ends: usize = self.embed.weight.len()
            + self.embed.bias.len()
            + self.positions.as_ref().map_or(0, Vec::len)
            + self.read_out.weight.len()
            + self.read_out.bias.len();
        let blocks: usize = self.runs.iter().map(|run| run.blocks).sum();
        let block = heads * head_size * (4 * self.width() + 1) + hidden * (2 * self.width() + 1) + self.width();
        Size {
            blocks: count(blocks),
            attention_layers: count(attention().map(|(blocks, _)| blocks).sum()),
            feed_forward_layers: count(feed_forward().map(|(blocks, _)| blocks).sum()),
            heads,
            head_size,
            connections: attention().flat_map(|(_, a)| &a.connections).map(Connections::count).max(),
            hidden,
            parameters: count(entries(&tensors)),
            parameters_uniform: count(ends) + count(blocks) * count(block),
            nonzeros: count(
                tensors.iter().map(|(_, _, entries)| entries.iter().filter(|entry| **entry != 0.0).count()).sum(),
            ),
        }
    }
}
