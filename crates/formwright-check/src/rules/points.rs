//! All executions of a network at once: the values that each number can take, in any order of summation, fused or not.

mod attention;
mod forward;
mod mixers;

use std::collections::BTreeMap;

use crate::fast::lookup::Lookup;
use crate::fast::skip::Index;
use crate::kernel::number::Range;
use crate::kernel::sum::{Outcome, Overflow, Value, affine};
use crate::read::weights::{Layer, Network};
pub use attention::Read;
use attention::{Known, all_rows, attend, attention, read};
use forward::feed_forward;
pub use mixers::is_uniform;
use mixers::mix;

/// A network, ready to be executed. Runs of feed-forward layers have an index of where they do nothing, and layers whose
/// units read one number another of what they add.
pub struct Program<'n> {
    /// The network.
    pub network: &'n Network,
    indices: BTreeMap<usize, Index<'n>>,
    lookups: BTreeMap<usize, Lookup>,
    shares: Option<Known>,
}

impl<'n> Program<'n> {
    /// The program of a network, layer by layer.
    pub fn plain(network: &'n Network) -> Self {
        Self { network, indices: BTreeMap::new(), lookups: BTreeMap::new(), shares: None }
    }

    /// The program of a network that passes over layers that rest.
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
        let layers = network.layers.iter().enumerate();
        let lookups = layers.filter_map(|(at, layer)| Some((at, Lookup::new(layer)?))).collect();
        Self { network, indices, lookups, shares: None }
    }

    /// The same program, which remembers weights of keys.
    pub fn remembering(self) -> Self {
        Self { shares: Some(Known::default()), ..self }
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
                Some(Layer::Mixers(mixers)) => {
                    mix(mixers, tokens, keys, format)
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

    /// Reads a token, for the heads of a layer.
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
            let known = self.lookups.get(&at).is_some_and(|lookup| lookup.apply(token, self.network.format));
            if let (Some(Layer::FeedForward { units, gains }), false) = (self.network.layers.get(at), known) {
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
