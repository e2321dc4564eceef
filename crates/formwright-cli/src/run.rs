//! `formwright run`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use formwright::artifact;
use formwright::error::{Error, Result};
use formwright::eval::{exact, indexed};
use formwright::exact::Int;
use formwright::input;
use formwright::network::Sequence;
use serde_json::{Value, json};

use crate::Answer;
use crate::show::{example_table, sequence};

/// The most layers that are executed one by one.
const MOST_LAYERS: u64 = 10_000_000;

#[derive(Args)]
pub struct Run {
    /// The folder that `build` wrote.
    dir: PathBuf,
    /// Sequences [batch][tokens][dims] as JSON, numbers or exact strings such as "3/8"; - reads standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The arithmetic.
    #[arg(long, value_enum, default_value_t = Engine::Exact)]
    engine: Engine,
    /// Show the residual stream after each stage, for one sequence.
    #[arg(long)]
    trace: bool,
    /// Execute every layer instead of each stage in closed form. The result is the same.
    #[arg(long)]
    layer_by_layer: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Engine {
    /// Rational numbers of any size.
    Exact,
}

impl Run {
    pub fn execute(&self) -> Result<Answer> {
        let Engine::Exact = self.engine;
        let model = artifact::read(&self.dir)?;
        let network = &model.network;
        let layers = network.layer_count();
        if self.layer_by_layer && layers > Int::from(MOST_LAYERS) {
            return Err(Error::declined(format!("the network has {layers} layers, too many to execute one by one"))
                .note("limit", MOST_LAYERS.to_string())
                .note("try", "leave out --layer-by-layer: the closed form does not depend on the number of layers"));
        }
        let (text, name) = read_input(&self.input)?;
        let batch = input::batch(&input::parse_json(&text, &name)?, network.tokens, network.dims())?;
        let run = if self.layer_by_layer { exact::run } else { indexed::run };
        let outputs = batch.iter().map(|x| run(network, x)).collect::<Result<Vec<Sequence>>>()?;
        let mut json = json!({"engine": "exact", "outputs": outputs});
        if self.trace {
            let [x] = batch.as_slice() else {
                return Err(Error::input(format!("--trace follows one sequence, and the input has {}", batch.len())));
            };
            let trace = if self.layer_by_layer { exact::trace } else { indexed::trace };
            let trace = trace(network, x)?;
            json["trace"] =
                trace.iter().map(|(stage, state)| json!({"stage": stage, "state": state})).collect::<Value>();
            return Ok(Answer { text: example_table(x, &trace, &outputs[0], None), json });
        }
        let mut text = String::new();
        for (x, y) in batch.iter().zip(&outputs) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} ↦ {}", sequence(x), sequence(y));
        }
        Ok(Answer { text, json })
    }
}

fn read_input(path: &Path) -> Result<(String, String)> {
    if path == Path::new("-") {
        let mut text = String::new();
        let read = io::stdin().read_to_string(&mut text);
        return read
            .map(|_| (text, "standard input".to_owned()))
            .map_err(|error| Error::input(format!("cannot read standard input: {error}")));
    }
    let name = path.display().to_string();
    fs::read_to_string(path)
        .map(|text| (text, name))
        .map_err(|error| Error::input(format!("cannot read {}: {error}", path.display())))
}
