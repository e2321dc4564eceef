//! From ids to values, into registers of their own: in one block, or in layers.
//!
//! **One block**: the piecewise linear function through `(floor, 0)` and `(id, value)` for all ids, constant outside
//! (`curve.rs`). `M + 2` ReLUs. As a **staircase** it is flat up to 1 before an id and rises from there: `2M + 2`
//! ReLUs, whose terms floats add up with fewer digits lost.
//!
//! **Layers**, by decreasing id `c`, as in Lemma 7, one hidden unit each:
//!
//! ```text
//! y ← y + value · 1[id ≥ c - ½],      id ← id - W · 1[id ≥ c - ½],      W > every id
//! ```
//!
//! The first window that a token meets is its own; it subtracts more than any id, so that the token meets no other.
//! (Lemma 7 keeps values and ids in one register and needs the values to be small; here they are apart, and values may
//! be of any size.)
//!
//! Sequences outside of the box have ids at or below `floor`, and the value 0.

use std::sync::Arc;

use serde_json::{Value, json};

use super::basis;
use super::curve::Curve;
use super::nodes::{Node, Nodes};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::{
    Activation, Break, FeedForward, Generator, Layer, LayerKind, Piece, Piecewise, Sequence, Side, StageSize, dot,
};

/// All values in one block.
#[derive(Clone, Debug)]
pub(crate) struct ValueBlock {
    /// The ids.
    pub nodes: Arc<Nodes>,
    /// The row that reads an id.
    pub read: Vec<Rat>,
    /// The first register of the values.
    pub to: usize,
    /// True if it is a staircase.
    pub steep: bool,
}

/// The knots of a curve through all ids, and for each id the knot at which its rise begins: the one before it.
pub(crate) fn knots(nodes: &Nodes, steep: bool) -> Result<(Vec<Int>, Vec<usize>)> {
    let mut knots = vec![nodes.floor()];
    let mut rises = Vec::new();
    for node in nodes.listed()? {
        let begins = &node.id - Int::ONE;
        // Where an id directly follows another one, two knots coincide.
        if steep {
            knots.push(begins);
        }
        rises.push(knots.len() - 1);
        knots.push(node.id.clone());
    }
    Ok((knots, rises))
}

/// The function through all values.
pub(crate) fn interpolation(nodes: &Nodes, steep: bool) -> Result<Curve> {
    let (knots, rises) = knots(nodes, steep)?;
    let start = vec![Rat::ZERO; nodes.target.output_dims()];
    let mut slopes = vec![start.clone(); knots.len() - 1];
    let mut before = &start;
    for (Node { value, .. }, place) in nodes.listed()?.iter().zip(rises) {
        let length = Rat::from(&knots[place + 1] - &knots[place]);
        slopes[place] = value.iter().zip(before).map(|(value, before)| (value - before) / length.clone()).collect();
        before = value;
    }
    Ok(Curve { knots, start, slopes })
}

impl ValueBlock {
    /// The value of the interpolation at `t`.
    fn at(&self, t: &Rat) -> Result<Vec<Rat>> {
        let zero = || vec![Rat::ZERO; self.nodes.target.output_dims()];
        if *t <= Rat::from(self.nodes.floor()) {
            return Ok(zero());
        }
        if let Some(id) = t.to_int()
            && let Some(value) = self.nodes.value_at(&id)?
        {
            return Ok(value);
        }
        // At a point that is not an id, the value lies between those of its neighbours.
        let listed = self.nodes.listed()?;
        let above = listed.partition_point(|node| Rat::from(&node.id) < *t);
        let Some(next) = listed.get(above) else {
            return Ok(listed.last().map_or_else(zero, |node| node.value.clone()));
        };
        let (below, value) = if above == 0 {
            (self.nodes.floor(), zero())
        } else {
            (listed[above - 1].id.clone(), listed[above - 1].value.clone())
        };
        let begins = if self.steep { (&next.id - Int::ONE).max(below) } else { below };
        let share = ((t - Rat::from(&begins)) / Rat::from(&next.id - &begins)).max(Rat::ZERO);
        Ok(value.iter().zip(&next.value).map(|(low, high)| low + (high - low) * &share).collect())
    }
}

impl Generator for ValueBlock {
    fn width(&self) -> usize {
        self.read.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let outputs = self.nodes.target.output_dims();
        let count = self.nodes.count();
        let units = if self.steep { Int::from(2) * count } else { count } + Int::from(2);
        let reads = self.read.iter().filter(|weight| !weight.is_zero()).count();
        let nonzeros = &units * Int::from(reads + 1 + outputs) + Int::from(outputs);
        let hidden = units.to_usize().unwrap_or(usize::MAX);
        StageSize { layers: Int::ONE, heads: 0, head_size: 0, hidden, units, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let layer = || Ok(Layer::FeedForward(interpolation(&self.nodes, self.steep)?.layer(&self.read, self.to)));
        Box::new(std::iter::once_with(layer))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        for token in &mut state {
            let value = self.at(&dot(&self.read, token))?;
            token[self.to..].iter_mut().zip(&value).for_each(|(y, value)| *y += value);
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        json!({"nodes": self.nodes.to_json(), "read": self.read, "to": self.to, "steep": self.steep})
    }
}

/// A layer for each value.
#[derive(Clone, Debug)]
pub(crate) struct ValueLayers {
    /// The ids.
    pub nodes: Arc<Nodes>,
    /// The row that reads an id.
    pub read: Vec<Rat>,
    /// The register from which a window subtracts `W`.
    pub from: usize,
    /// `W`.
    pub clear: Int,
    /// The first register of the values.
    pub to: usize,
}

impl ValueLayers {
    /// The least power of two that is at least four times the largest id: exact in every format that holds the ids.
    pub fn clear_for(nodes: &Nodes) -> Int {
        Int::ONE << (nodes.largest().bits() + 2)
    }

    /// The change that a window makes to the stream.
    pub fn direction(&self, value: &[Rat]) -> Vec<Rat> {
        let mut direction = basis(self.read.len(), self.from, -Rat::from(&self.clear));
        direction[self.to..self.to + value.len()].clone_from_slice(value);
        direction
    }

    fn window(&self, node: &Node) -> Layer {
        let breaks = vec![Break { at: Rat::new(-1, 2), belongs: Side::Right }];
        let step = Piecewise::new(vec![Piece::constant(0), Piece::constant(1)], breaks).expect("a step is in Φ");
        let bias = -Rat::from(&node.id);
        let direction = self.direction(&node.value);
        Layer::FeedForward(FeedForward::unit(self.read.clone(), bias, Activation::Piecewise(step), direction))
    }

    /// The first window, among those below `end`, that `t` meets.
    fn first(&self, t: &Rat, end: Option<&Int>) -> Result<Option<Node>> {
        let highest = (t + Rat::new(1, 2)).floor();
        if end.is_none_or(|end| highest < *end)
            && let Some(value) = self.nodes.value_at(&highest)?
        {
            return Ok(Some(Node { id: highest, value }));
        }
        if highest <= self.nodes.floor() {
            return Ok(None);
        }
        let listed = self.nodes.listed()?;
        let met = listed.partition_point(|node| node.id <= highest && end.is_none_or(|end| node.id < *end));
        Ok(met.checked_sub(1).map(|place| listed[place].clone()))
    }
}

impl Generator for ValueLayers {
    fn width(&self) -> usize {
        self.read.len()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let layers = self.nodes.count();
        let reads = self.read.iter().filter(|weight| !weight.is_zero()).count();
        let nonzeros = &layers * Int::from(reads + 2 + self.nodes.target.output_dims());
        StageSize { units: layers.clone(), layers, heads: 0, head_size: 0, hidden: 1, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        match self.nodes.listed() {
            Err(error) => Box::new(std::iter::once(Err(error))),
            Ok(listed) => Box::new(listed.iter().rev().map(|node| Ok(self.window(node)))),
        }
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        for token in &mut state {
            let mut end: Option<Int> = None;
            while let Some(node) = self.first(&dot(&self.read, token), end.as_ref())? {
                for (z, change) in token.iter_mut().zip(self.direction(&node.value)) {
                    *z += &change;
                }
                end = Some(node.id);
            }
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        let Self { nodes, read, from, clear, to } = self;
        json!({"nodes": nodes.to_json(), "read": read, "from": from, "clear": clear, "to": to})
    }
}
