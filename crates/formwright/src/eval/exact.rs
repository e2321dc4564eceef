//! The reference: every layer, on rationals, by its formula.

use super::{Trace, check_shape};
use crate::error::Result;
use crate::exact::Rat;
#[cfg(test)]
use crate::network::Block;
use crate::network::{Attention, FeedForward, Head, Layer, Network, Normaliser, Sequence, add, dot};

/// The network's output.
pub fn run(network: &Network, x: &[Vec<Rat>]) -> Result<Sequence> {
    check_shape(network, x)?;
    let mut state = network.embed(x);
    for (_, layer) in network.layers() {
        apply(&layer?, &mut state);
    }
    Ok(network.read_out(&state))
}

/// The state after the embedding and after each stage.
pub fn trace(network: &Network, x: &[Vec<Rat>]) -> Result<Trace> {
    Ok(trace_batch(network, &[x.to_vec()])?.into_iter().map(|(name, mut states)| (name, states.remove(0))).collect())
}

/// The states of many sequences after the embedding and after each stage; every layer is made once.
pub(crate) fn trace_batch(network: &Network, batch: &[Sequence]) -> Result<Vec<(&'static str, Vec<Sequence>)>> {
    batch.iter().try_for_each(|x| check_shape(network, x))?;
    let mut states: Vec<Sequence> = batch.iter().map(|x| network.embed(x)).collect();
    let mut trace = vec![("embed", states.clone())];
    for stage in &network.stages {
        for layer in stage.generator.layers() {
            let layer = layer?;
            for state in &mut states {
                apply(&layer, state);
            }
        }
        trace.push((stage.name, states.clone()));
    }
    Ok(trace)
}

/// The states of the network without its skip connections, after the embedding and after each stage, and its output: a
/// layer outputs the term that it would have added, without its input.
///
/// Sub-layers that a block does not have stay the identity; if they were layers of zeros, nothing would pass them at
/// all.
pub fn without_skips(network: &Network, x: &[Vec<Rat>]) -> Result<(Trace, Sequence)> {
    check_shape(network, x)?;
    let mut state = network.embed(x);
    let mut trace = vec![("embed", state.clone())];
    for stage in &network.stages {
        for layer in stage.generator.layers() {
            let before = state.clone();
            apply(&layer?, &mut state);
            for (z, came_in) in state.iter_mut().flatten().zip(before.iter().flatten()) {
                *z = &*z - came_in;
            }
        }
        trace.push((stage.name, state.clone()));
    }
    Ok((trace, network.read_out(&state)))
}

/// Applies one layer.
pub(crate) fn apply(layer: &Layer, state: &mut Sequence) {
    match layer {
        Layer::Attention(layer) => attend(layer, state),
        Layer::FeedForward(layer) => feed_forward(layer, state),
    }
}

#[cfg(test)]
/// Applies one block.
pub(crate) fn apply_block(block: &Block, state: &mut Sequence) {
    block.attention.iter().for_each(|layer| attend(layer, state));
    block.feed_forward.iter().for_each(|layer| feed_forward(layer, state));
}

/// `X ← X + W_2 φ(W_1 X + b_1) + b_2`.
fn feed_forward(layer: &FeedForward, state: &mut Sequence) {
    for token in state {
        let read = layer.w1.iter().zip(&layer.b1).map(|(row, bias)| dot(row, token) + bias);
        let hidden: Vec<Rat> = read.zip(&layer.activations).map(|(t, phi)| phi.apply(&t)).collect();
        for ((z, row), bias) in token.iter_mut().zip(&layer.w2).zip(&layer.b2) {
            *z += &(dot(row, &hidden) + bias);
        }
    }
}

/// `X ← X + Σ_heads W_O (W_V X) σ[(W_K X)ᵀ(W_Q X + b_Q)]`.
fn attend(layer: &Attention, state: &mut Sequence) {
    let before = state.clone();
    for head in &layer.heads {
        for (token, gained) in state.iter_mut().zip(attended(head, layer, &before)) {
            add(token, &gained);
        }
    }
}

/// The contribution of one head to each token.
fn attended(head: &Head, layer: &Attention, x: &Sequence) -> Sequence {
    let project =
        |rows: &[Vec<Rat>]| -> Sequence { x.iter().map(|z| rows.iter().map(|row| dot(row, z)).collect()).collect() };
    let (mut queries, keys, values) = (project(&head.q), project(&head.k), project(&head.v));
    for query in &mut queries {
        add(query, &head.q_bias);
    }
    let all: Vec<usize> = (0..x.len()).collect();
    let output = |(token, query): (usize, &Vec<Rat>)| {
        let seen = layer.connections.as_ref().map_or(&all[..], |connections| connections.keys(token));
        let scores: Vec<Rat> = seen.iter().map(|key| dot(&keys[*key], query)).collect();
        let weights = match layer.normaliser {
            Normaliser::Hardmax => hardmax(&scores),
            Normaliser::Average => vec![Rat::new(1, seen.len()); seen.len()],
            Normaliser::Sum => vec![Rat::ONE; seen.len()],
        };
        let mut mixed = vec![Rat::ZERO; head.v.len()];
        for (weight, key) in weights.iter().zip(seen).filter(|(weight, _)| !weight.is_zero()) {
            mixed.iter_mut().zip(&values[*key]).for_each(|(sum, v)| *sum += &(weight * v));
        }
        head.o.iter().map(|row| dot(row, &mixed)).collect()
    };
    queries.iter().enumerate().map(output).collect()
}

/// `1/k` on each of the `k` largest scores, 0 elsewhere.
fn hardmax(scores: &[Rat]) -> Vec<Rat> {
    let Some(largest) = scores.iter().max() else { return Vec::new() };
    let ties = scores.iter().filter(|score| *score == largest).count();
    scores.iter().map(|score| if score == largest { Rat::new(1, ties) } else { Rat::ZERO }).collect()
}
