//! The closed-form run: each stage applies the effect of all its layers at once.
//!
//! It reads the same stage parameters as the layers, and its cost does not depend on their number.

use super::{Trace, check_shape};
use crate::error::Result;
use crate::exact::Rat;
use crate::network::{Network, Sequence};

/// The network's output.
pub fn run(network: &Network, x: &[Vec<Rat>]) -> Result<Sequence> {
    check_shape(network, x)?;
    let mut state = network.embed(x);
    for stage in &network.stages {
        state = stage.generator.closed_form(state)?;
    }
    Ok(network.read_out(&state))
}

/// The state after the embedding and after each stage.
pub fn trace(network: &Network, x: &[Vec<Rat>]) -> Result<Trace> {
    check_shape(network, x)?;
    let mut trace = vec![("embed", network.embed(x))];
    for stage in &network.stages {
        let state = trace.last().map_or_else(Vec::new, |(_, state)| state.clone());
        trace.push((stage.name, stage.generator.closed_form(state)?));
    }
    Ok(trace)
}
