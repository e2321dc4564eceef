//! `formwright run`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use formwright::artifact;
use formwright::compile::Model;
use formwright::error::{Error, Result};
use formwright::eval::{exact, indexed};
use formwright::exact::Int;
use formwright::input;
use formwright::lattice::has_distinct_columns;
use formwright::network::Sequence;
use serde_json::{Value, json};

use crate::Answer;
use crate::show::{example_table, sequence};

/// The longest input that is read.
const MOST_BYTES: u64 = 1 << 28;

/// The most layers that are executed one by one.
const MOST_LAYERS: u64 = 10_000_000;

#[derive(Args)]
pub struct Run {
    /// The folder that `build` wrote.
    dir: PathBuf,
    /// Sequences as JSON, `[batch][tokens][dims]`, numbers or exact strings such as "3/8"; - reads standard input.
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
        warn(&model, &batch);
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
    let name = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let mut text = String::new();
    let read = if path == Path::new("-") {
        io::stdin().take(MOST_BYTES).read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
    };
    match read {
        Err(error) => Err(Error::input(format!("cannot read {name}: {error}"))),
        Ok(length) if length as u64 == MOST_BYTES => {
            Err(Error::input(format!("{name} is longer than {MOST_BYTES} bytes"))
                .note("try", "several smaller batches"))
        }
        Ok(_) => Ok((text, name)),
    }
}

/// Says on standard error which sequences lie outside of what is claimed.
fn warn(model: &Model, batch: &[Sequence]) {
    let remark = |x: &Sequence| match model.grid.cell(x) {
        None => Some("outside of the box"),
        Some(point) if !model.options.positional && !has_distinct_columns(&point) => {
            Some("two tokens in one cell, where Theorem 2 gives 0")
        }
        Some(_) => None,
    };
    let remarks: Vec<(usize, &str)> = batch.iter().enumerate().filter_map(|(b, x)| Some((b, remark(x)?))).collect();
    for (b, remark) in remarks.iter().take(3) {
        // A note that cannot be written is no reason to fail.
        drop(writeln!(io::stderr(), "note: sequence {b}: {remark}"));
    }
    if remarks.len() > 3 {
        drop(writeln!(io::stderr(), "note: … and {} more", remarks.len() - 3));
    }
}
