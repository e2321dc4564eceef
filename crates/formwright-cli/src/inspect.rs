//! `formwright inspect`.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use clap::Args;
use formwright::error::{Error, Result};
use formwright::exact::Int;
use formwright::network::{FloatLayer, Mask};
use serde_json::{Value, json};

use crate::Answer;
use crate::build::{describe, exact};
use crate::meanings;
use crate::show::{document, lines, table, working};
use crate::{flush, write_line};

/// The most layers that are listed in full.
const MOST_LAYERS: u64 = 1_000_000;

#[derive(Args)]
pub struct Inspect {
    /// The folder that `build` wrote.
    dir: PathBuf,
    /// Write the explicit layers, one JSON object a line.
    #[arg(long)]
    layers: bool,
    /// With --layers: only the first K layers of each stage.
    #[arg(long, value_name = "K", requires = "layers")]
    first: Option<usize>,
    /// Print what registers hold as the checker proves it: line by line, each with its error and its rules.
    #[arg(long, conflicts_with = "layers")]
    meanings: bool,
}

impl Inspect {
    pub fn execute(&self) -> Result<Answer> {
        if self.meanings {
            return meanings::execute(&self.dir);
        }
        let model = formwright::open(&self.dir)?;
        let _working = working("computing the bound anew");
        let mut coordinates = table(&["coordinate", "meaning"]);
        for coordinate in model.coordinates() {
            coordinates.add_row([&coordinate.name, &coordinate.meaning]);
        }
        let mut text = describe(&model, usize::MAX)?;
        let _ = write!(text, "\n{}\n", lines(&coordinates));
        let mut json = document(&model, Some(&self.dir))?;
        json["coordinates"] = model.coordinates_to_json();
        if model.meanings().is_some() {
            json["atoms"] = model.atoms_to_json();
        }
        Ok(Answer { text, json })
    }

    /// Streams the layers, if they were asked for.
    pub fn stream(&self) -> Option<Result<()>> {
        self.layers.then(|| self.write_layers())
    }

    fn write_layers(&self) -> Result<()> {
        let model = formwright::open(&self.dir)?;
        let layers = model.layer_count();
        if self.first.is_none() && layers > Int::from(MOST_LAYERS) {
            return Err(Error::declined(format!("the network has {layers} layers, too many to list"))
                .note("limit", MOST_LAYERS.to_string())
                .note("try", "--first 10, the first layers of each stage"));
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        let most = self.first.unwrap_or(usize::MAX);
        let mut write = |stage: &str, index: usize, layer: Value| {
            write_line(&mut out, &json!({"stage": stage, "index": index, "layer": layer}).to_string())
        };
        if let Some(network) = model.float() {
            let mut written = vec![0; network.stages.len()];
            for layer in network.layers() {
                let index = written[layer.stage];
                written[layer.stage] += 1;
                if index < most && !write(&network.stages[layer.stage].name, index, float_layer(&layer))? {
                    return Ok(());
                }
            }
        } else {
            for layer in exact(&model)?.written(most) {
                let (stage, index, layer) = layer?;
                if !write(stage, index, layer)? {
                    return Ok(());
                }
            }
        }
        flush(&mut out)
    }
}

/// A layer with its tensors as nested arrays.
fn float_layer(layer: &FloatLayer<'_>) -> Value {
    let mut object = json!({"kind": layer.kind.name()});
    if let Some(kind) = layer.attention.filter(|kind| !kind.is_softmax()) {
        object["attention"] = json!(kind.name());
    }
    if !layer.masks.iter().all(Mask::is_all) {
        object["masks"] = json!(layer.masks);
    }
    if let Some(connections) = layer.connections {
        object["connections"] = json!(connections);
    }
    for (name, shape, entries) in &layer.tensors {
        object[*name] = nested(shape, entries);
    }
    object
}

/// The entries as nested arrays of this shape.
fn nested(shape: &[usize], entries: &[f64]) -> Value {
    match shape {
        [] => entries.first().map_or(Value::Null, |entry| json!(entry)),
        [_, inner @ ..] => {
            entries.chunks(inner.iter().product::<usize>().max(1)).map(|part| nested(inner, part)).collect()
        }
    }
}
