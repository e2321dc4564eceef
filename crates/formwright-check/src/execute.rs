//! All executions of a network at once: the values that each number can take, in any order of summation, fused or not.

mod attention;
mod forward;
mod sum;

use std::collections::BTreeMap;

use crate::number::{Dyadic, Range};
use crate::weights::{Format, Layer, Network, Row};
pub use attention::Read;
use attention::{Known, all_rows, attend, attention, read};
use forward::feed_forward;
use sum::{Outcome, affine, times};
pub use sum::{Overflow, Value, gamma, rounded};

/// A network, ready to be executed. Runs of feed-forward layers have an index of where they do nothing.
pub struct Program<'n> {
    /// The network.
    pub network: &'n Network,
    indices: BTreeMap<usize, Index<'n>>,
    shares: Option<Known>,
}

/// Consecutive feed-forward layers. Where the units of a layer all read one functional up to sign, and it adds no
/// constant, the index knows where all of them rest.
struct Index<'n> {
    reads: &'n [(usize, Dyadic)],
    /// For each layer, where it rests; `None` if it may do something anywhere.
    rests: Vec<Option<Rest>>,
    /// The same for every [`STRIDE`] layers together.
    strides: Vec<Option<Rest>>,
}

const STRIDE: usize = 64;

/// The largest bias of the units that open to the right, and of those that open to the left, if there are any.
#[derive(Clone, Default)]
struct Rest {
    sides: [Option<Dyadic>; 2],
}

impl Rest {
    fn raise(&mut self, side: usize, bias: Option<&Dyadic>) {
        if let (Some(place), Some(bias)) = (self.sides.get_mut(side), bias) {
            *place = Some(place.take().map_or(bias.clone(), |known| known.max(bias.clone())));
        }
    }

    /// The place where both rest.
    fn and(mut self, other: &Self) -> Self {
        other.sides.iter().enumerate().for_each(|(side, bias)| self.raise(side, bias.as_ref()));
        self
    }
}

/// Whether two numbers of this size may add up to more than a sum may reach.
fn large(x: &Dyadic, format: Format) -> bool {
    x.top() >= format.most.saturating_sub(2)
}

impl<'n> Index<'n> {
    fn new(layers: &'n [Layer], format: Format) -> Option<Self> {
        let forward = |layer: &'n Layer| match layer {
            Layer::FeedForward { units, gains } => Some((units, gains)),
            Layer::Attention(_) => None,
        };
        let run: Vec<(&Vec<Row>, &Vec<Row>)> = layers.iter().map_while(forward).collect();
        let reads =
            run.iter().flat_map(|(units, _)| units.iter()).find(|row| !row.weights.is_empty())?.weights.as_slice();
        let rest = |(units, gains): &(&Vec<Row>, &Vec<Row>)| {
            let mut rest = Rest::default();
            for row in units.iter().filter(|row| !row.is_zero()) {
                let left = row.weights.iter().zip(reads).all(|(a, b)| a.0 == b.0 && a.1 == -&b.1);
                if row.weights.len() != reads.len() || (row.weights != reads && !left) || large(&row.bias, format) {
                    return None;
                }
                // The bias, with the most that rounding can add to it.
                let slack = &row.bias.abs() * &gamma(reads.len().saturating_add(1), format);
                rest.raise(usize::from(left), Some(&(&row.bias + &slack)));
            }
            gains.iter().all(|row| row.bias.is_zero()).then_some(rest)
        };
        let rests: Vec<Option<Rest>> = run.iter().map(rest).collect();
        let together =
            |chunk: &[Option<Rest>]| chunk.iter().try_fold(Rest::default(), |all, rest| Some(all.and(rest.as_ref()?)));
        let strides = rests.chunks(STRIDE).map(together).collect();
        Some(Self { reads, rests, strides })
    }

    /// The first layer, from `from` on, that may change a token.
    fn next(&self, from: usize, z: &[Value], format: Format) -> usize {
        let (mut t, mut size) = (Range::ZERO, Dyadic::ZERO);
        for (place, weight) in self.reads {
            let Some(value) = z.get(*place) else { continue };
            let term = &Range::point(weight.clone()) * &value.range;
            (t, size) = (&t + &term, &size + &term.size());
        }
        if large(&size, format) {
            return from;
        }
        let k = self.reads.len().saturating_add(1);
        let slack = &(&gamma(k, format) * &size) + &times(k.saturating_mul(4), format.least);
        let (right, left) = (&t.hi + &slack, &slack - &t.lo);
        let idle = |rest: &Option<Rest>| {
            let below = |t: &Dyadic, bias: &Option<Dyadic>| bias.as_ref().is_none_or(|bias| *t <= -bias);
            rest.as_ref().is_some_and(|Rest { sides: [r, l] }| below(&right, r) && below(&left, l))
        };
        let mut at = from;
        while let Some(rest) = self.rests.get(at) {
            if at.is_multiple_of(STRIDE) && self.strides.get(at / STRIDE).is_some_and(idle) {
                at = at.saturating_add(STRIDE);
            } else if idle(rest) {
                at = at.saturating_add(1);
            } else {
                return at;
            }
        }
        self.rests.len()
    }
}

impl<'n> Program<'n> {
    /// The program of a network, layer by layer.
    pub fn plain(network: &'n Network) -> Self {
        Self { network, indices: BTreeMap::new(), shares: None }
    }

    /// The program of a network that passes over layers that rest, and remembers weights of keys.
    pub fn new(network: &'n Network) -> Self {
        let mut indices = BTreeMap::new();
        let mut before = None;
        for (at, layer) in network.layers.iter().enumerate() {
            let forward = matches!(layer, Layer::FeedForward { .. });
            if forward && before != Some(true) {
                let index = network.layers.get(at..).and_then(|layers| Index::new(layers, network.format));
                if let Some(index) = index {
                    indices.insert(at, index);
                }
            }
            before = Some(forward);
        }
        Self { network, indices, shares: Some(Known::default()) }
    }

    /// The stream of a token with these inputs, at a position.
    pub fn embed(&self, inputs: &[Value], position: usize) -> Outcome<Vec<Value>> {
        let extra = self.network.positions.get(position);
        let rows = self.network.embed.iter().enumerate();
        rows.map(|(r, row)| Ok(affine(row, inputs, extra.and_then(|p| p.get(r)), self.network.format)?.0.value))
            .collect()
    }

    /// Carries tokens through the layers `from..to`; `keys` lists the tokens that are attended to.
    pub fn run(&self, tokens: &mut [Vec<Value>], keys: &[usize], from: usize, to: usize) -> Outcome<()> {
        let (format, mut at) = (self.network.format, from);
        while at < to {
            match self.network.layers.get(at) {
                Some(Layer::Attention(heads)) => {
                    attention(heads, tokens, keys, self.shares.as_ref(), format)
                        .map_err(|Overflow(what)| Overflow(format!("layer {at}: {what}")))?;
                    at = at.saturating_add(1);
                }
                Some(Layer::FeedForward { .. }) => {
                    let end = self.forward_end(at).min(to);
                    for token in tokens.iter_mut() {
                        self.forward(token, at, end)?;
                    }
                    at = end;
                }
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// What the heads of a layer read at a token.
    pub fn read(&self, at: usize, z: &[Value]) -> Outcome<Read> {
        match self.network.layers.get(at) {
            Some(Layer::Attention(heads)) => read(heads, z, self.network.format),
            _ => Err(Overflow(format!("layer {at} has no heads"))),
        }
    }

    /// Lets tokens, the first of which stands at a place, attend in a layer to what was read at keys, each with its name.
    pub fn attend(&self, at: usize, tokens: &mut [Vec<Value>], first: usize, keys: &[(usize, &Read)]) -> Outcome<()> {
        match self.network.layers.get(at) {
            Some(Layer::Attention(heads)) => {
                attend(heads, tokens, first, keys, self.shares.as_ref(), self.network.format)
            }
            _ => Err(Overflow(format!("layer {at} has no heads"))),
        }
    }

    /// The end of the feed-forward layers that begin at a layer.
    pub fn forward_end(&self, from: usize) -> usize {
        let forward = |layer: &Layer| matches!(layer, Layer::FeedForward { .. });
        let rest = self.network.layers.get(from..).unwrap_or(&[]);
        from.saturating_add(rest.iter().take_while(|layer| forward(layer)).count())
    }

    fn forward(&self, token: &mut [Value], from: usize, end: usize) -> Outcome<()> {
        let (index, mut at) = (self.indices.get(&from), from);
        while at < end {
            if let Some(index) = index {
                at = from.saturating_add(index.next(at.saturating_sub(from), token, self.network.format));
                if at >= end {
                    break;
                }
            }
            if let Some(Layer::FeedForward { units, gains }) = self.network.layers.get(at) {
                feed_forward(units, gains, token, self.network.format)
                    .map_err(|Overflow(what)| Overflow(format!("layer {at}: {what}")))?;
            }
            at = at.saturating_add(1);
        }
        Ok(())
    }

    /// The outputs of a token.
    pub fn read_out(&self, z: &[Value]) -> Outcome<Vec<Range>> {
        Ok(all_rows(&self.network.read_out, z, self.network.format)?
            .into_iter()
            .map(|total| total.value.range)
            .collect())
    }
}

#[cfg(test)]
mod tests;
