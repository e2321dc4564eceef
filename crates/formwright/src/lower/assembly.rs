//! Layers put together as a float network.

use super::to_float;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::network::{
    Activation, Affine, Attention, AttentionKind, AttentionRun, FeedForward, FeedForwardRun, FloatAffine, FloatNetwork,
    FloatStage, Head, Layer, Mask, Network, Precision, Run, Stage,
};

pub(crate) fn described(stage: &Stage) -> FloatStage {
    let (name, statement) = (stage.name.to_owned(), stage.statement.to_owned());
    FloatStage { name, statement, meaning: stage.meaning.clone() }
}

/// The same layers with the nearest numbers of a format: for networks of ReLUs whose scores are all equal, where softmax is hardmax.
///
/// Nothing is said of what rounding adds.
pub(crate) fn as_it_is(network: &Network, precision: Precision) -> Result<FloatNetwork> {
    let mut assembly = Assembly::new(precision, network.width());
    for (index, stage) in network.stages.iter().enumerate() {
        for layer in stage.generator.layers() {
            match layer? {
                Layer::Attention(layer) if layer.heads.iter().all(scores_nothing) => assembly.attention(index, &layer),
                Layer::FeedForward(layer) if layer.activations.iter().all(|kind| *kind == Activation::Relu) => {
                    assembly.feed_forward(index, &layer);
                }
                _ => {
                    let headline = format!("stage '{}' is not of ReLUs and equal scores", stage.name);
                    return Err(
                        Error::declined(headline).note("try", "Lowering, which derives ramps and a temperature")
                    );
                }
            }
        }
    }
    Ok(assembly.network(network, network.stages.iter().map(described).collect()))
}

/// True if all scores of a head are 0.
fn scores_nothing(head: &Head) -> bool {
    let zero = |matrix: &[Vec<Rat>]| matrix.iter().flatten().all(Rat::is_zero);
    zero(&head.k) || (zero(&head.q) && head.q_bias.iter().all(Rat::is_zero))
}

/// Blocks as they are put together: attention takes the feed-forward layer behind it, equal shapes are stacked.
pub(crate) struct Assembly {
    precision: Precision,
    width: usize,
    runs: Vec<Run>,
}

impl Assembly {
    /// No block yet, of this format and width.
    pub fn new(precision: Precision, width: usize) -> Self {
        Self { precision, width, runs: Vec::new() }
    }

    /// The network of these blocks, with the ends of an exact one.
    pub fn network(mut self, exact: &Network, stages: Vec<FloatStage>) -> FloatNetwork {
        for run in self.runs.iter_mut().filter_map(|run| run.attention.as_mut()) {
            let seen = &run.connections;
            let period = (1..seen.len()).find(|p| seen.iter().zip(&seen[*p..]).all(|(a, b)| a == b));
            run.connections.truncate(period.unwrap_or(seen.len()));
        }
        let precision = self.precision;
        let flat = |matrix: &[Vec<Rat>]| matrix.iter().flatten().map(|x| to_float::nearest(x, precision)).collect();
        let affine = |map: &Affine| FloatAffine {
            inputs: map.weight.first().map_or(0, Vec::len),
            outputs: map.weight.len(),
            weight: flat(&map.weight),
            bias: flat(std::slice::from_ref(&map.bias)),
        };
        FloatNetwork {
            precision,
            tokens: exact.tokens,
            lengths: (exact.tokens, exact.tokens),
            coordinates: exact.coordinates.clone(),
            embed: affine(&exact.embed),
            positions: exact.positions.as_deref().map(flat),
            stages,
            runs: self.runs,
            read_out: affine(&exact.read_out),
        }
    }

    /// Adds an attention layer.
    pub fn attention(&mut self, stage: usize, layer: &Attention) {
        let flat = |pick: &dyn Fn(&Head) -> Vec<f64>| -> Vec<f64> { layer.heads.iter().flat_map(pick).collect() };
        let entry = |x: &Rat| to_float::nearest(x, self.precision);
        let matrix = |rows: &[Vec<Rat>]| -> Vec<f64> { rows.iter().flatten().map(entry).collect() };
        let new = AttentionRun {
            stage,
            kind: AttentionKind::softmax(),
            heads: layer.heads.len(),
            head_size: layer.heads.first().map_or(0, |head| head.q.len()),
            value_size: layer.heads.first().map_or(0, |head| head.v.len()),
            masks: vec![Mask::ALL; layer.heads.len()],
            connections: layer.connections.iter().cloned().collect(),
            q: flat(&|head| matrix(&head.q)),
            q_bias: flat(&|head| head.q_bias.iter().map(entry).collect()),
            k: flat(&|head| matrix(&head.k)),
            v: flat(&|head| matrix(&head.v)),
            o: flat(&|head| matrix(&head.o)),
        };
        match self.runs.last_mut() {
            Some(Run { blocks, attention: Some(run), feed_forward: None })
                if (run.stage, run.heads, run.head_size) == (stage, new.heads, new.head_size)
                    && run.connections.is_empty() == new.connections.is_empty() =>
            {
                run.q.extend(new.q);
                run.q_bias.extend(new.q_bias);
                run.k.extend(new.k);
                run.v.extend(new.v);
                run.o.extend(new.o);
                // Of every block, until all of them are there.
                run.connections.extend(new.connections);
                *blocks += 1;
            }
            _ => self.runs.push(Run { blocks: 1, attention: Some(new), feed_forward: None }),
        }
    }

    /// The last of several attention layers becomes a run of its own.
    fn separate_last(&mut self) {
        let Some(Run { blocks, attention: Some(run), feed_forward: None }) = self.runs.last_mut() else { return };
        if *blocks == 1 {
            return;
        }
        let mut last = run.clone();
        for (all, one) in run.entries().into_iter().zip(last.entries()) {
            let first = all.len() - all.len() / *blocks;
            *one = all.split_off(first);
        }
        last.connections = run.connections.pop().into_iter().collect();
        *blocks -= 1;
        self.runs.push(Run { blocks: 1, attention: Some(last), feed_forward: None });
    }

    /// Adds a feed-forward layer.
    pub fn feed_forward(&mut self, stage: usize, layer: &FeedForward) {
        let entry = |x: &Rat| to_float::nearest(x, self.precision);
        let matrix = |rows: &[Vec<Rat>]| -> Vec<f64> { rows.iter().flatten().map(entry).collect() };
        let new = FeedForwardRun {
            stage,
            hidden: layer.b1.len(),
            w1: matrix(&layer.w1),
            b1: layer.b1.iter().map(entry).collect(),
            w2: matrix(&layer.w2),
            b2: layer.b2.iter().map(entry).collect(),
        };
        debug_assert_eq!(new.w2.len(), self.width * new.hidden, "W_2 is [width, hidden]");
        self.separate_last();
        match self.runs.last_mut() {
            // The last attention layer, a block of its own, takes this layer in.
            Some(Run { blocks, feed_forward: place @ None, .. }) if *blocks == 1 => *place = Some(new),
            Some(Run { blocks, attention: None, feed_forward: Some(run) })
                if (run.stage, run.hidden) == (stage, new.hidden) =>
            {
                run.w1.extend(new.w1);
                run.b1.extend(new.b1);
                run.w2.extend(new.w2);
                run.b2.extend(new.b2);
                *blocks += 1;
            }
            _ => self.runs.push(Run { blocks: 1, attention: None, feed_forward: Some(new) }),
        }
    }
}
