//! `formwright run`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use formwright::artifact;
use formwright::compile::{Built, Lattice, Model};
use formwright::error::{Error, Result};
use formwright::eval::float::Engine as FloatEngine;
use formwright::eval::reference::{self, Enclosure};
use formwright::eval::{exact, indexed};
use formwright::exact::{Int, Rat};
use formwright::input;
use formwright::lattice::has_distinct_columns;
use formwright::network::{FloatNetwork, Precision, Sequence};
use formwright::words::{json_floats, short, shown, shown_floats};
use serde_json::{Value, json};

use crate::Answer;
use crate::build::exact as exact_network;
use crate::show::{example_table, sequence};

/// The longest input that is read.
const MOST_BYTES: u64 = 1 << 28;

/// The most layers that are executed one by one.
const MOST_LAYERS: u64 = 10_000_000;

/// What to do about too many layers.
const CLOSED_FORM: &str = "leave out --layer-by-layer: the closed form does not depend on the number of layers";

#[derive(Args)]
pub struct Run {
    /// The folder that `build` wrote.
    dir: PathBuf,
    /// Sequences as JSON, `[batch][tokens][dims]`, numbers or exact strings such as "3/8"; - reads standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The arithmetic; the model's own unless named. On a float model, exact is the reference: the same weights, with every softmax enclosed
    /// between rationals, and its answer an interval.
    #[arg(long, value_enum)]
    engine: Option<Engine>,
    /// Show the residual stream after each stage, for one sequence.
    #[arg(long)]
    trace: bool,
    /// Execute every layer instead of each stage in closed form. The result is the same.
    #[arg(long)]
    layer_by_layer: bool,
    /// Leave the skip connections out, to see what they are for: every layer puts out only what it would have added. Of exact models.
    #[arg(long)]
    without_skips: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Engine {
    /// Rational numbers of any size.
    Exact,
    /// Double precision.
    F64,
    /// Single precision.
    F32,
}

impl Run {
    pub fn execute(&self) -> Result<Answer> {
        let model = artifact::read(&self.dir)?;
        let (text, name) = read_input(&self.input)?;
        let batch = input::batch(&input::parse_json(&text, &name)?, model.accepted(), model.grid.dims())?;
        if self.without_skips && model.float().is_some() {
            return Err(Error::input("--without-skips is for exact models")
                .note("try", "leave it out, or build with --precision exact"));
        }
        let answer = match (model.float(), self.engine) {
            (None, None | Some(Engine::Exact)) => self.run_exact(&model, &batch),
            (None, Some(_)) => Err(Error::input("an exact model has no float weights")
                .note("try", "leave out --engine, or build with --precision f64")),
            (Some(network), Some(Engine::Exact)) => self.enclose(network, &batch),
            (Some(network), engine) => {
                let precision = match engine {
                    Some(Engine::F32) => Precision::F32,
                    Some(Engine::F64) => Precision::F64,
                    _ => network.precision,
                };
                self.run_floats(network, precision, &batch)
            }
        }?;
        warn(&model, &batch);
        Ok(answer)
    }

    /// Runs a float network in a format that holds its weights.
    fn run_floats(&self, network: &FloatNetwork, precision: Precision, batch: &[Sequence]) -> Result<Answer> {
        if precision < network.precision {
            return Err(Error::declined("an f64 model in f32 is another network: its weights would be rounded")
                .note(
                    "reason",
                    "ids and values that f64 holds exactly do not fit f32; nothing is claimed of the result",
                )
                .note("try", "leave out --engine, or build with --precision f32"));
        }
        let network = FloatNetwork { precision, ..network.clone() };
        let engine = FloatEngine::new(&network)?;
        let floats: Vec<Vec<Vec<f64>>> =
            batch.iter().map(|x| x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect()).collect();
        let outputs = engine.run(&floats)?;
        let numbers = |state: &[Vec<f64>]| json_floats(state, precision);
        let digits = |state: &[Vec<f64>]| shown_floats(state, precision);
        let mut json = json!({
            "engine": precision.name(),
            "outputs": outputs.iter().map(|y| numbers(y)).collect::<Value>(),
        });
        if self.trace {
            let trace = engine.trace(&floats[single(batch)?])?;
            let stage = |(stage, state): &(String, Vec<Vec<f64>>)| json!({"stage": stage, "state": numbers(state)});
            json["trace"] = trace.iter().map(stage).collect::<Value>();
            let mut rows = vec![("input".to_owned(), shown(&batch[0]), String::new())];
            rows.extend(trace.iter().map(|(name, state)| (name.clone(), digits(state), String::new())));
            rows.push(("output".to_owned(), digits(&outputs[0]), String::new()));
            return Ok(Answer { text: example_table(&rows), json });
        }
        let mut text = String::new();
        for (x, y) in batch.iter().zip(&outputs) {
            let _ = writeln!(text, "{} ↦ {}", sequence(&shown(x)), sequence(&digits(y)));
        }
        Ok(Answer { text, json })
    }

    /// The reference: what the float weights compute in exact arithmetic, as intervals.
    fn enclose(&self, network: &FloatNetwork, batch: &[Sequence]) -> Result<Answer> {
        if self.trace || self.layer_by_layer {
            return Err(Error::input("--trace and --layer-by-layer do not go with --engine exact on a float model")
                .note("try", "leave them out"));
        }
        let network = reference::Reference::new(network)?;
        let outputs = network.run_batch(batch)?;
        let middle = |y: &Enclosure| ((y.lo() + y.hi()) / Rat::from(2)).to_f64();
        let values: Vec<Vec<Vec<f64>>> =
            outputs.iter().map(|y| y.iter().map(|token| token.iter().map(middle).collect()).collect()).collect();
        let width = outputs.iter().flatten().flatten().map(|y| y.width().to_f64()).fold(0.0, f64::max);
        let mut text = String::new();
        for (x, y) in batch.iter().zip(&values) {
            let _ = writeln!(text, "{} ↦ {}", sequence(&shown(x)), sequence(&shown_floats(y, Precision::F64)));
        }
        let _ = writeln!(text, "each within {width:.1e} of the real result");
        Ok(Answer { text, json: json!({"engine": "exact", "outputs": values, "width": width}) })
    }

    /// Runs an exact network.
    fn run_exact(&self, model: &Model, batch: &[Sequence]) -> Result<Answer> {
        let network = exact_network(model)?;
        let layers = network.layer_count();
        if (self.layer_by_layer || self.without_skips) && layers > Int::from(MOST_LAYERS) {
            return Err(Error::declined(format!("the network has {layers} layers, too many to execute one by one"))
                .note("limit", MOST_LAYERS.to_string())
                .note("try", if self.without_skips { "a coarser --resolution" } else { CLOSED_FORM }));
        }
        let run = match (self.without_skips, self.layer_by_layer) {
            (true, _) => exact::run_without_skips,
            (_, true) => exact::run,
            _ => indexed::run,
        };
        let outputs = batch.iter().map(|x| run(network, x)).collect::<Result<Vec<Sequence>>>()?;
        let mut json = json!({"engine": "exact", "outputs": outputs});
        if self.trace {
            let x = &batch[single(batch)?];
            let trace = match (self.without_skips, self.layer_by_layer) {
                (true, _) => exact::trace_without_skips,
                (_, true) => exact::trace,
                _ => indexed::trace,
            };
            let trace = trace(network, x)?;
            json["trace"] =
                trace.iter().map(|(stage, state)| json!({"stage": stage, "state": state})).collect::<Value>();
            let mut rows = vec![("input".to_owned(), shown(x), String::new())];
            rows.extend(trace.iter().map(|(name, state)| ((*name).to_owned(), shown(state), String::new())));
            rows.push(("output".to_owned(), shown(&outputs[0]), String::new()));
            return Ok(Answer { text: example_table(&rows), json });
        }
        let mut text = String::new();
        for (x, y) in batch.iter().zip(&outputs) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} ↦ {}", sequence(&shown(x)), sequence(&shown(y)));
        }
        Ok(Answer { text, json })
    }
}

/// The place of the only sequence.
fn single(batch: &[Sequence]) -> Result<usize> {
    match batch.len() {
        1 => Ok(0),
        many => Err(Error::input(format!("--trace follows one sequence, and the input has {many}"))),
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
    let tied = match model.lattice().map(Lattice::default_value) {
        Some(Some(value)) => format!("two tokens in one cell, where Theorem 2 gives {}", short(&value)),
        _ => "two tokens in one cell, where nothing is claimed".to_owned(),
    };
    let remark = |x: &Sequence| match (&model.built, model.grid.cell(x)) {
        (Built::Circuit(_) | Built::Learned(_), _) if !model.is_in_domain(x) => {
            Some("outside of the domain, where nothing is claimed")
        }
        (Built::Lattice(_) | Built::SumCode(_), None) => Some("outside of the box"),
        (Built::Lattice(lattice), Some(point)) if !lattice.options.positional && !has_distinct_columns(&point) => {
            Some(tied.as_str())
        }
        _ => None,
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
