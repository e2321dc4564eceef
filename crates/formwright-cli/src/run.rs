//! `formwright run`.

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use formwright::compile::Model;
use formwright::error::{Error, Result};
use formwright::eval::float::Engine as FloatEngine;
use formwright::eval::reference::{self, Bracket};
use formwright::eval::{exact, indexed};
use formwright::exact::{Int, Rat};
use formwright::input::{Sequences, npy};
use formwright::network::{FloatNetwork, Network, Precision, Sequence};
use formwright::option::Front;
use formwright::show::{plural, shown};
use serde_json::{Value, json};

use crate::build::exact as exact_network;
use crate::show::{example_table, sequence};
use crate::{Answer, fail, flush};

/// The approximate number of numbers that are read, run and printed together.
const TOGETHER: usize = 1 << 14;

/// The most layers that are executed one by one.
const MOST_LAYERS: u64 = 10_000_000;

/// Advice about too many layers.
const CLOSED_FORM: &str = "leave out --layer-by-layer: the closed form does not depend on the number of layers";

#[derive(Args)]
pub struct Run {
    /// The folder that `build` wrote.
    dir: PathBuf,
    /// Sequences as JSON, `[batch][tokens][dims]`, numbers or exact strings such as "3/8", or an array in .npy; - reads
    /// standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Write the outputs of a float model to an array in .npy, which must not be there yet, instead of printing them.
    #[arg(long, value_name = "FILE.npy")]
    output: Option<PathBuf>,
    /// The arithmetic; the model's own unless named. On a float model, exact is the reference: the same weights, with
    /// every softmax enclosed between rationals, and its answer an interval.
    #[arg(long, value_enum)]
    engine: Option<Engine>,
    /// Show the residual stream after each stage, for one sequence.
    #[arg(long)]
    trace: bool,
    /// Execute every layer instead of each stage in closed form. The result is the same.
    #[arg(long)]
    layer_by_layer: bool,
    /// Leave the skip connections out, to see what they are for: every layer puts out only what it would have added. Of
    /// exact models.
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

/// The sequences of the input.
type Input = Sequences<Box<dyn BufRead>>;

/// The outputs of a batch of sequences.
enum Outputs {
    Floats(Vec<Vec<Vec<f64>>>, Precision),
    Exact(Vec<Sequence>),
}

/// A model, ready to run in some arithmetic.
struct Runner<'m> {
    engine: &'static str,
    /// The format of the outputs, if they are floats.
    precision: Option<Precision>,
    run: Running<'m>,
    trace: Tracing<'m>,
}

/// Runs a batch.
type Running<'m> = Box<dyn FnMut(&[Sequence]) -> Result<Outputs> + 'm>;

/// Follows one sequence.
type Tracing<'m> = Box<dyn Fn(&Sequence) -> Result<Vec<Traced>> + 'm>;

/// Follows one sequence through an exact network: the states behind its stages.
type ExactTrace = fn(&Network, &[Vec<Rat>]) -> Result<Vec<(&'static str, Sequence)>>;

/// A stage, its state, and the state as it is shown.
type Traced = (String, Value, Vec<Vec<String>>);

impl Run {
    /// Runs the input sequence by sequence and prints as it goes; `None` for a trace, which is one answer.
    pub fn stream(&self, json: bool) -> Option<Result<ExitCode>> {
        (!self.trace).then(|| self.streamed(json))
    }

    fn streamed(&self, json: bool) -> Result<ExitCode> {
        let model = formwright::open(&self.dir)?;
        let mut input = self.open(&model)?;
        // The first sequences are read before anything is printed.
        let mut batch = input.some(TOGETHER)?;
        let width = std::cell::Cell::new(0.0);
        let mut runner = self.runner(&model, &width)?;
        let mut remarks = Remarks::new(&model);
        let mut outputs = (runner.run)(&batch)?;
        let mut printer = self.printer(&runner, json)?;
        let mut goes_on = || -> Result<()> {
            while !batch.is_empty() {
                remarks.look_at(&batch);
                if !printer.print(&batch, &outputs)? {
                    break;
                }
                batch = input.some(TOGETHER)?;
                outputs = (runner.run)(&batch)?;
            }
            Ok(())
        };
        let ended = goes_on();
        remarks.tell();
        drop(runner);
        let width = (self.is_reference(&model)).then(|| width.get());
        match ended {
            Ok(()) => printer.finish(width).map(|()| ExitCode::SUCCESS),
            // A document that has begun is ended, and reports the error.
            Err(error) => {
                printer.give_up(&error)?;
                Ok(fail(&error, false))
            }
        }
    }

    /// The residual stream of one sequence.
    pub fn execute(&self) -> Result<Answer> {
        let model = formwright::open(&self.dir)?;
        let mut input = self.open(&model)?;
        let Some(x) = input.one()? else { return Err(Error::input("the input is an empty batch")) };
        let mut many = 1;
        while input.one()?.is_some() {
            many += 1;
        }
        if self.is_reference(&model) {
            return Err(no_trace());
        }
        let width = std::cell::Cell::new(0.0);
        let mut runner = self.runner(&model, &width)?;
        if many > 1 {
            return Err(Error::input(format!("--trace follows one sequence, and the input has {many}")));
        }
        if self.output.is_some() {
            return Err(Error::input("--output writes outputs, and --trace shows states").note("try", "one of them"));
        }
        let outputs = (runner.run)(std::slice::from_ref(&x))?;
        let trace = (runner.trace)(&x)?;
        let states: Value = trace.iter().map(|(stage, state, _)| json!({"stage": stage, "state": state})).collect();
        let json = json!({"engine": runner.engine, "outputs": [outputs.document(0)], "trace": states});
        let mut rows = vec![("input".to_owned(), shown(&x), String::new())];
        rows.extend(trace.into_iter().map(|(name, _, shown)| (name, shown, String::new())));
        rows.push(("output".to_owned(), outputs.shown(0), String::new()));
        let mut remarks = Remarks::new(&model);
        remarks.look_at(&[x]);
        remarks.tell();
        Ok(Answer { text: example_table(&rows), json })
    }

    fn open(&self, model: &Model) -> Result<Input> {
        let (reader, name): (Box<dyn BufRead>, String) = if self.input == Path::new("-") {
            (Box::new(io::stdin().lock()), "standard input".to_owned())
        } else {
            let name = self.input.display().to_string();
            let file =
                fs::File::open(&self.input).map_err(|error| Error::input(format!("cannot read {name}: {error}")))?;
            (Box::new(BufReader::new(file)), name)
        };
        Sequences::new(reader, &name, model.accepted(), model.grid.dims())
    }

    /// True if the exact values of a float model are requested, which are enclosed.
    fn is_reference(&self, model: &Model) -> bool {
        model.float().is_some() && matches!(self.engine, Some(Engine::Exact))
    }

    /// The model in the requested arithmetic. Where outputs are enclosed, `width` receives the largest width of an
    /// enclosure.
    fn runner<'m>(&self, model: &'m Model, width: &'m std::cell::Cell<f64>) -> Result<Runner<'m>> {
        if self.without_skips && model.float().is_some() {
            return Err(Error::input("--without-skips is for exact models")
                .note("try", "leave it out, or build with --precision exact"));
        }
        match (model.float(), self.engine) {
            (None, None | Some(Engine::Exact)) => self.exact(model),
            (None, Some(_)) => Err(Error::input("an exact model has no float weights")
                .note("try", "leave out --engine, or build with --precision f64")),
            (Some(network), Some(Engine::Exact)) => self.reference(network, width),
            (Some(network), engine) => {
                let precision = match engine {
                    Some(Engine::F32) => Precision::F32,
                    Some(Engine::F64) => Precision::F64,
                    _ => network.precision,
                };
                floats(network, precision)
            }
        }
    }

    /// The reference: the values of the float weights in exact arithmetic, as intervals.
    fn reference<'m>(&self, network: &'m FloatNetwork, width: &'m std::cell::Cell<f64>) -> Result<Runner<'m>> {
        if self.layer_by_layer {
            return Err(no_trace());
        }
        let network = reference::Reference::new(network)?;
        let middle = |y: &Bracket| ((y.lo() + y.hi()) / Rat::from(2)).to_f64();
        let run = move |batch: &[Sequence]| {
            let outputs = network.run_batch(batch)?;
            let widest = outputs.iter().flatten().flatten().map(|y| y.width().to_f64()).fold(width.get(), f64::max);
            width.set(widest);
            let floats = |y: &Vec<Vec<Bracket>>| y.iter().map(|token| token.iter().map(middle).collect()).collect();
            Ok(Outputs::Floats(outputs.iter().map(floats).collect(), Precision::F64))
        };
        let trace = |_: &Sequence| Err(no_trace());
        Ok(Runner { engine: "exact", precision: Some(Precision::F64), run: Box::new(run), trace: Box::new(trace) })
    }

    /// An exact network.
    fn exact<'m>(&self, model: &'m Model) -> Result<Runner<'m>> {
        let network = exact_network(model)?;
        let layers = network.layer_count();
        if (self.layer_by_layer || self.without_skips) && layers > Int::from(MOST_LAYERS) {
            return Err(Error::declined(format!("the network has {layers} layers, too many to execute one by one"))
                .note("limit", MOST_LAYERS.to_string())
                .note("try", if self.without_skips { "a coarser --resolution" } else { CLOSED_FORM }));
        }
        let run: fn(&Network, &[Vec<Rat>]) -> Result<Sequence> = match (self.without_skips, self.layer_by_layer) {
            (true, _) => |network, x| exact::without_skips(network, x).map(|(_, output)| output),
            (_, true) => exact::run,
            _ => indexed::run,
        };
        let trace: ExactTrace = match (self.without_skips, self.layer_by_layer) {
            (true, _) => |network, x| exact::without_skips(network, x).map(|(trace, _)| trace),
            (_, true) => exact::trace,
            _ => indexed::trace,
        };
        let run = move |batch: &[Sequence]| {
            Ok(Outputs::Exact(batch.iter().map(|x| run(network, x)).collect::<Result<Vec<Sequence>>>()?))
        };
        let trace = move |x: &Sequence| {
            let traced = |(name, state): (&str, Sequence)| (name.to_owned(), json!(state), shown(&state));
            Ok(trace(network, x)?.into_iter().map(traced).collect())
        };
        Ok(Runner { engine: "exact", precision: None, run: Box::new(run), trace: Box::new(trace) })
    }

    fn printer(&self, runner: &Runner<'_>, json: bool) -> Result<Printer> {
        let array = match (&self.output, runner.precision) {
            (None, _) => None,
            (Some(_), None) => {
                return Err(Error::input("the numbers of an exact model are rational, and .npy holds floats")
                    .note("try", "leave out --output, or build with --precision f64"));
            }
            (Some(path), _) if path.extension().is_none_or(|extension| extension != "npy") => {
                return Err(Error::input(format!("--output is {}, and arrays are written to .npy", path.display()))
                    .note("try", format!("--output {}", path.with_extension("npy").display())));
            }
            (Some(path), Some(precision)) => Some((npy::Writer::create(path, precision)?, path.clone())),
        };
        Ok(Printer { out: BufWriter::new(io::stdout()), json, engine: runner.engine, count: 0, array })
    }
}

/// A float network in a format that holds its weights.
fn floats(network: &FloatNetwork, precision: Precision) -> Result<Runner<'_>> {
    if precision < network.precision {
        return Err(Error::declined("an f64 model in f32 is another network: its weights would be rounded")
            .note("reason", "ids and values that f64 holds exactly do not fit f32; nothing is claimed of the result")
            .note("try", "leave out --engine, or build with --precision f32"));
    }
    let network = FloatNetwork { precision, ..network.clone() };
    let engine = FloatEngine::new(&network)?;
    let traced = engine.clone();
    let doubles = |x: &Sequence| x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
    let mut first = 0;
    let run = move |batch: &[Sequence]| {
        let batch: Vec<Vec<Vec<f64>>> = batch.iter().map(doubles).collect();
        let outputs = engine.run_from(first, &batch)?;
        first += batch.len();
        Ok(Outputs::Floats(outputs, precision))
    };
    let trace = move |x: &Sequence| {
        let shown = |(name, state): (String, Vec<Vec<f64>>)| (name, precision.to_json(&state), precision.shown(&state));
        Ok(traced.trace(&doubles(x))?.into_iter().map(shown).collect())
    };
    Ok(Runner { engine: precision.name(), precision: Some(precision), run: Box::new(run), trace: Box::new(trace) })
}

fn no_trace() -> Error {
    Error::input("--trace and --layer-by-layer do not go with --engine exact on a float model")
        .note("try", "leave them out")
}

impl Outputs {
    /// One of the outputs as it is shown.
    fn shown(&self, place: usize) -> Vec<Vec<String>> {
        match self {
            Self::Floats(outputs, precision) => precision.shown(&outputs[place]),
            Self::Exact(outputs) => shown(&outputs[place]),
        }
    }

    /// One of the outputs for programs.
    fn document(&self, place: usize) -> Value {
        match self {
            Self::Floats(outputs, precision) => precision.to_json(&outputs[place]),
            Self::Exact(outputs) => json!(outputs[place]),
        }
    }
}

/// The output of results: to people, into a document or into an array.
struct Printer {
    out: BufWriter<io::Stdout>,
    json: bool,
    engine: &'static str,
    count: usize,
    array: Option<(npy::Writer, PathBuf)>,
}

impl Printer {
    /// Prints a batch; `false` if the reader has gone away, which is not an error.
    fn print(&mut self, batch: &[Sequence], outputs: &Outputs) -> Result<bool> {
        if let Some((array, _)) = &mut self.array {
            if let Outputs::Floats(outputs, _) = outputs {
                outputs.iter().try_for_each(|y| array.push(y))?;
            }
            return Ok(true);
        }
        for (place, x) in batch.iter().enumerate() {
            let printed = if self.json {
                self.element(&format!("{:#}", outputs.document(place)))
            } else {
                writeln!(self.out, "{} ↦ {}", sequence(&shown(x)), sequence(&outputs.shown(place)))
            };
            self.count += 1;
            if !written(printed)? {
                return Ok(false);
            }
        }
        written(self.out.flush())
    }

    /// An element of the document's outputs.
    fn element(&mut self, text: &str) -> io::Result<()> {
        if self.count == 0 {
            write!(self.out, "{{\n  \"engine\": {},\n  \"outputs\": [", json!(self.engine))?;
        } else {
            write!(self.out, ",")?;
        }
        text.lines().try_for_each(|line| write!(self.out, "\n    {line}"))
    }

    /// Ends the output; `width` is the largest width of an enclosure.
    fn finish(mut self, width: Option<f64>) -> Result<()> {
        let printed = match (self.array.take(), self.json) {
            (Some((array, path)), json) => {
                let [count, tokens, dims] = array.finish()?;
                let (path, engine) = (path.display().to_string(), self.engine);
                if json {
                    let document = json!({"engine": engine, "written": path, "shape": [count, tokens, dims]});
                    writeln!(self.out, "{document:#}")
                } else {
                    let shape = format!("{} of {} of", plural(count, "sequence"), plural(tokens, "token"));
                    writeln!(self.out, "{shape} {} written to {path}", plural(dims, "coordinate"))
                }
            }
            (None, true) => {
                let width = width.map_or_else(String::new, |width| format!(",\n  \"width\": {}", json!(width)));
                writeln!(self.out, "\n  ]{width}\n}}")
            }
            (None, false) => match width {
                Some(width) => writeln!(self.out, "each within {width:.1e} of the real result"),
                None => Ok(()),
            },
        };
        written(printed)?;
        flush(&mut self.out)
    }

    /// Ends a document that cannot be completed with the error, so that it is valid all the same.
    fn give_up(mut self, error: &Error) -> Result<()> {
        if self.json {
            let (_, document) = error.document(Front::CommandLine);
            let text = format!("{document:#}");
            let inner = text.trim_start_matches("{\n").trim_end_matches("\n}");
            let begun = if self.count == 0 { "{" } else { "\n  ]," };
            written(writeln!(self.out, "{begun}\n{inner}\n}}"))?;
        }
        flush(&mut self.out)
    }
}

/// True if something was written; `false` if the reader has gone away.
fn written(result: io::Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::input(format!("cannot write to standard output: {error}"))),
    }
}

/// The sequences that lie outside of the claim, collected as they are read.
struct Remarks<'m> {
    model: &'m Model,
    seen: usize,
    /// The first of them.
    first: Vec<String>,
    /// Their number.
    count: usize,
}

impl<'m> Remarks<'m> {
    fn new(model: &'m Model) -> Self {
        Self { model, seen: 0, first: Vec::new(), count: 0 }
    }

    fn look_at(&mut self, batch: &[Sequence]) {
        for x in batch {
            if let Some(remark) = self.model.built.unserved(self.model, x) {
                if self.count < 3 {
                    self.first.push(format!("note: sequence {}: {remark}", self.seen));
                }
                self.count += 1;
            }
            self.seen += 1;
        }
    }

    /// Reports them on standard error.
    fn tell(&self) {
        for remark in &self.first {
            // A note that cannot be written is not a reason to fail.
            drop(writeln!(io::stderr(), "{remark}"));
        }
        if self.count > 3 {
            drop(writeln!(io::stderr(), "note: … and {} more", self.count - 3));
        }
    }
}
