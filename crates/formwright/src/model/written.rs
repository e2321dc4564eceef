//! Exact networks in `model.json`: written by stage and parameters, and read back.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Folder;
use crate::error::Result;
use crate::exact::Rat;
use crate::network::{Affine, Coordinate, Matrix, Network, Stage};

/// An exact network as it is written.
#[derive(Deserialize)]
pub(crate) struct WrittenExact {
    coordinates: Vec<WrittenCoordinate>,
    embed: WrittenAffine,
    pos: Option<Matrix>,
    read_out: WrittenAffine,
    stages: Vec<WrittenStage>,
}

#[derive(Deserialize)]
struct WrittenCoordinate {
    name: String,
    meaning: String,
}

#[derive(Deserialize)]
struct WrittenAffine {
    weight: Matrix,
    bias: Vec<Rat>,
}

#[derive(Deserialize)]
struct WrittenStage {
    name: String,
    parameters: Value,
}

impl WrittenExact {
    /// Everything that the network computes with, as [`describe`] has it.
    pub fn describe(&self) -> Value {
        let stages: Vec<Value> = self.stages.iter().map(|stage| json!([stage.name, stage.parameters])).collect();
        let affine = |map: &WrittenAffine| json!([map.weight, map.bias]);
        json!([stages, affine(&self.embed), self.pos, affine(&self.read_out)])
    }
}

/// The exact network of a file, whose stages are read by name and parameters.
pub(crate) fn read_exact(
    written: WrittenExact,
    folder: &Folder<'_>,
    read_stage: impl Fn(&str, Value) -> std::result::Result<Stage, String>,
) -> Result<Network> {
    let (width, tokens) = (written.coordinates.len(), folder.grid.tokens());
    let mut stages = Vec::new();
    for stage in written.stages {
        let place = |what: &str| folder.wrong(&format!("stage '{}': {what}", stage.name));
        let read = read_stage(&stage.name, stage.parameters).map_err(|what| place(&what))?;
        if read.generator.width() != width {
            return Err(place(&format!("it acts on {} coordinates of {width}", read.generator.width())));
        }
        stages.push(read);
    }
    let coordinate = |WrittenCoordinate { name, meaning }| Coordinate { name, meaning };
    let (inputs, outputs) = (folder.grid.dims(), folder.target.output_dims());
    let network = Network {
        tokens,
        coordinates: written.coordinates.into_iter().map(coordinate).collect(),
        embed: affine(written.embed, width, inputs).ok_or_else(|| folder.wrong("the embedding's shape"))?,
        positions: written.pos,
        stages,
        read_out: affine(written.read_out, outputs, width).ok_or_else(|| folder.wrong("the read-out's shape"))?,
    };
    let fits = |positions: &Matrix| positions.len() == tokens && positions.iter().all(|row| row.len() == width);
    if network.positions.as_ref().is_none_or(fits) { Ok(network) } else { Err(folder.wrong("the positions' shape")) }
}

/// Everything that a network computes with.
pub(crate) fn describe(network: &Network) -> Value {
    let stages: Vec<Value> =
        network.stages.iter().map(|stage| json!([stage.name, stage.generator.parameters()])).collect();
    let affine = |map: &Affine| json!([map.weight, map.bias]);
    json!([stages, affine(&network.embed), network.positions, affine(&network.read_out)])
}

fn affine(written: WrittenAffine, rows: usize, columns: usize) -> Option<Affine> {
    let WrittenAffine { weight, bias } = written;
    let fits = weight.len() == rows && bias.len() == rows && weight.iter().all(|row| row.len() == columns);
    fits.then_some(Affine { weight, bias })
}
