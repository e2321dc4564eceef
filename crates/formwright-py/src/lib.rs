//! The compiled half of the Python package, called by `python/formwright/__init__.py`.
//!
//! Nothing is decided here. Options cross as the JSON of [`Asked`], summaries and plans as the JSON that the command
//! line prints, arrays as little-endian doubles; so this half knows nothing of numpy, and the other nothing of Rust.
//! Short runs are done at once. Long work runs on a thread of its own without the interpreter's lock, while the calling
//! thread listens for signals: after an interrupt the work continues in the background, and its result is dropped.

#![expect(clippy::needless_pass_by_value, reason = "what comes from Python is handed over by value")]

mod work;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use formwright::artifact::{self, Contents};
use formwright::compile::{self, Asked, Model, compile};
use formwright::contextual;
use formwright::error::{Error, ErrorKind};
use formwright::eval::enclosure::Executions;
use formwright::eval::float::Engine;
use formwright::eval::indexed;
use formwright::exact::Rat;
use formwright::export::{hf, onnx, transformerlens, vnnlib};
use formwright::interval::Interval;
use formwright::lattice::Grid;
use formwright::option::Front;
use formwright::plan::{Rows, sized_up, take_first};
use formwright::runtime::Probe;
use formwright::target::{Source, Table};
use formwright::zoo::Zoo;
use formwright_check::{Files, Verdict};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use work::{detached, done, raised};

/// `[batch][token][coordinate]`.
type Batch = Vec<Vec<Vec<f64>>>;

/// A verdict: its name, the obligation and the reason if it is not accepted, and the whole as the command line prints
/// it.
type Said = (&'static str, Option<&'static str>, Option<String>, String);

/// The name of an enclosed state, and its lower and upper ends.
type Ends<'py> = (String, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// A compiled target.
#[pyclass(frozen)]
struct Native {
    model: Arc<Model>,
    engine: OnceLock<Arc<Engine>>,
}

/// A table of doubles from Python: its entries, and tokens, coordinates, output coordinates and cells per side.
type Tabled = (Vec<u8>, (usize, usize, usize, u64));

/// A target that is not a name, a file or a text: the formula of a function, or a table.
#[derive(FromPyObject)]
enum Given {
    Formula(String),
    Table(Tabled),
}

/// The target of a name, or what is given under that name.
fn source(name: &str, given: Option<Given>) -> formwright::error::Result<Source> {
    let (values, (tokens, dims, output_dims, resolution)) = match given {
        None => return artifact::read_target(name),
        Some(Given::Formula(text)) => return Source::expression(name, &text),
        Some(Given::Table(table)) => table,
    };
    let exact = |x: f64| Rat::from_f64(x).ok_or_else(|| Error::input(format!("the table has an entry {x}")));
    let entries = doubles(&values).into_iter().map(exact).collect::<Result<Vec<Rat>, Error>>()?;
    let values = entries.chunks(tokens * output_dims).map(|x| x.chunks(output_dims).map(<[Rat]>::to_vec).collect());
    Ok(Source::table(name, Table::new(Grid::unit(tokens, dims, resolution)?, output_dims, values.collect())?))
}

fn asked(json: &str) -> formwright::error::Result<Asked> {
    serde_json::from_str(json).map_err(|error| Error::input(format!("the options: {error}")))
}

#[pymethods]
impl Native {
    /// Compiles a target; the name of what is given is only a name.
    ///
    /// A folder that must not hold another model is examined before the work is done.
    #[staticmethod]
    fn build(
        py: Python<'_>,
        name: String,
        given: Option<Given>,
        options: String,
        keep: Option<PathBuf>,
    ) -> PyResult<Self> {
        detached(py, move || {
            let request = asked(&options)?.request(source(&name, given)?)?;
            if let Some(dir) = &keep {
                artifact::check_place(dir, Some(&request.source))?;
            }
            let model = if request.is_left_to_plan() { take_first(&request)?.model } else { compile(&request)? };
            // The inputs of the summary are computed here, where the work can be interrupted.
            model.summary()?;
            model.host_to_json();
            Ok(model)
        })
        .map(Self::of)
    }

    /// Reads a folder.
    #[staticmethod]
    fn read(py: Python<'_>, dir: PathBuf) -> PyResult<Self> {
        detached(py, move || formwright::open(&dir)).map(Self::of)
    }

    /// The output of `formwright inspect --json`, without the folder.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        let model = self.model.clone();
        detached(py, move || {
            let mut summary = model.summary()?;
            if let Some(host) = model.host_to_json() {
                summary["host"] = host;
            }
            Ok(summary.to_string())
        })
    }

    /// Names and meanings of the coordinates of the residual stream.
    fn coordinates(&self) -> Vec<(&str, &str)> {
        self.model.coordinates().iter().map(|c| (c.name.as_str(), c.meaning.as_str())).collect()
    }

    /// For a circuit, the contents of its coordinates, stage by stage, and the meanings of the names in them; `None`
    /// for other models.
    fn meanings(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let model = self.model.clone();
        detached(py, move || {
            let meanings =
                serde_json::json!({"coordinates": model.coordinates_to_json(), "atoms": model.atoms_to_json()});
            Ok(model.meanings().map(|_| meanings.to_string()))
        })
    }

    /// `f32`, `f64` or `exact`.
    fn precision(&self) -> &'static str {
        self.model.precision()
    }

    /// The fewest and the most tokens of an input, the coordinates of an input token and of an output token.
    fn shape(&self) -> (usize, usize, usize, usize) {
        let (least, most) = self.model.accepted();
        (least, most, self.model.grid.dims(), self.model.target.output_dims())
    }

    /// The least and the largest double of the domain, whether it holds integers only, and the words for points outside
    /// of it.
    fn domain(&self) -> (f64, f64, bool, &'static str) {
        let grid = &self.model.grid;
        let cells = self.model.has_cells();
        let (mut low, mut high) = (grid.low().to_f64(), grid.high().to_f64());
        // The nearest double may lie outside; and the last cell does not contain its upper end.
        let least = |x: f64| Rat::from_f64(x).is_none_or(|x| x >= *grid.low());
        let largest =
            |x: f64| Rat::from_f64(x).is_none_or(|x| if cells { x < *grid.high() } else { x <= *grid.high() });
        while !least(low) {
            low = low.next_up();
        }
        while !largest(high) {
            high = high.next_down();
        }
        let outside = if cells { "outside of the box" } else { "outside of the domain, where nothing is claimed" };
        (low, high, self.model.target.is_discrete() && !cells, outside)
    }

    /// The outputs of a batch of sequences of so many tokens.
    fn run<'py>(&self, py: Python<'py>, batch: Vec<u8>, tokens: usize) -> PyResult<Bound<'py, PyBytes>> {
        let (model, engine, dims) = (self.model.clone(), self.engine()?, self.model.grid.dims());
        let out = done(py, self.operations(&batch, tokens)?, move || {
            let flat = doubles(&batch);
            if let Some(engine) = engine {
                let mut out = vec![0.0; flat.len() / dims * model.target.output_dims()];
                engine.run_flat(tokens, &flat, &mut out)?;
                return Ok(out);
            }
            let outputs =
                nested(&flat, tokens, dims).iter().map(|x| model.run_rounded(x)).collect::<Result<Batch, _>>();
            Ok(outputs?.into_iter().flatten().flatten().collect())
        })?;
        Ok(bytes(py, &out))
    }

    /// The residual stream after the embedding and after each stage: names, and the states of the batch.
    fn trace<'py>(
        &self,
        py: Python<'py>,
        batch: Vec<u8>,
        tokens: usize,
    ) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let (model, engine, dims) = (self.model.clone(), self.engine()?, self.model.grid.dims());
        let states = done(py, self.operations(&batch, tokens)?, move || {
            let batch = nested(&doubles(&batch), tokens, dims);
            match engine {
                Some(engine) => engine.trace_batch(&batch),
                None => trace_exact(&model, &batch),
            }
        })?;
        let flat = |states: Batch| states.into_iter().flatten().flatten().collect::<Vec<f64>>();
        Ok(states.into_iter().map(|(name, states)| (name, bytes(py, &flat(states)))).collect())
    }

    /// Enclosures of every execution: names, and lower and upper ends of the states of the batch; then of the outputs.
    fn enclosure<'py>(&self, py: Python<'py>, batch: Vec<u8>, tokens: usize) -> PyResult<Vec<Ends<'py>>> {
        let (model, dims) = (self.model.clone(), self.model.grid.dims());
        let ends = detached(py, move || {
            let network = model.float().ok_or_else(|| {
                Error::declined("an exact network has one execution, and nothing to enclose").note("try", "trace")
            })?;
            let all = Executions::new(network)?.enclose_batch(&nested(&doubles(&batch), tokens, dims))?;
            let stages = network.stages.iter().map(|stage| stage.name.clone());
            let names = std::iter::once("embed".to_owned()).chain(stages).chain(["output".to_owned()]);
            let ends = |(place, name): (usize, String)| {
                let states = all.iter().map(|all| all.states.get(place).unwrap_or(&all.output));
                let (lower, upper) = states.flatten().flatten().map(|z| (z.lo(), z.hi())).unzip();
                (name, lower, upper)
            };
            Ok(names.enumerate().map(ends).collect::<Vec<(String, Vec<f64>, Vec<f64>)>>())
        })?;
        Ok(ends.into_iter().map(|(name, lower, upper)| (name, bytes(py, &lower), bytes(py, &upper))).collect())
    }

    /// The error against a function that Python evaluates, as JSON; `wanted` takes the doubles of a batch and returns
    /// those of its values.
    fn measured_against(&self, py: Python<'_>, wanted: &Bound<'_, PyAny>) -> PyResult<String> {
        let side = self.model.grid.tokens() * self.model.target.output_dims();
        let mut failure = None;
        let ask = |batch: &[Vec<Vec<f64>>]| {
            let flat: Vec<f64> = batch.iter().flatten().flatten().copied().collect();
            wanted.call1((bytes(py, &flat),))?.extract::<Vec<u8>>()
        };
        let failed = std::cell::RefCell::new(&mut failure);
        let found = self.model.measured_against(|batch| match ask(batch) {
            Ok(values) => Ok(doubles(&values).chunks(side).map(<[f64]>::to_vec).collect()),
            Err(error) => {
                **failed.borrow_mut() = Some(error);
                Err(Error::input("the function raised"))
            }
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(serde_json::json!(found.map_err(|e| raised(py, &e))?.map(|found| found.to_json())).to_string()),
        }
    }

    /// The checker's verdict on the files as they would be written, if there is a certificate among them.
    fn check(&self, py: Python<'_>) -> PyResult<Option<Said>> {
        let model = self.model.clone();
        detached(py, move || Ok(verdict(&Contents::of(&model)?).as_ref().map(said)))
    }

    /// Writes the folder, after a check unless `check` is false; another model there is replaced only with `force`.
    fn write(&self, py: Python<'_>, dir: PathBuf, check: bool, force: bool) -> PyResult<()> {
        let fit = artifact::check_place(&dir, (!force).then_some(&self.model.source));
        fit.map_err(|error| raised(py, &error))?;
        let model = self.model.clone();
        let contents = detached(py, move || {
            let contents = Contents::of(&model)?;
            match check.then(|| verdict(&contents)).flatten() {
                None => {}
                Some(Verdict::Accepted(_)) => model.was_checked(compile::Check::Accepted),
                Some(Verdict::Declined(reason)) => model.was_checked(compile::Check::Declined(reason.to_string())),
                Some(Verdict::Rejected(reason)) => return Err(Contents::refused(&reason.to_string())),
            }
            Ok(contents)
        })?;
        // This happens on the calling thread, so that interrupted work writes nothing.
        let written = if force { contents.replace(&self.model, &dir) } else { contents.write(&self.model, &dir) };
        written.map_err(|error| raised(py, &error))
    }

    /// The page `report.html`.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let model = self.model.clone();
        detached(py, move || formwright::report::page(&model))
    }

    /// Writes an ONNX file: of the network, or of the stock class that it is put into.
    fn onnx(&self, py: Python<'_>, file: PathBuf, stages: bool, host: Option<String>) -> PyResult<()> {
        artifact::check_new(&file).map_err(|error| raised(py, &error))?;
        let model = self.model.clone();
        let bytes = detached(py, move || match &host {
            Some(host) => Ok(hf::onnx(&model, host)?.0),
            None => onnx::to_bytes(model.exported()?, &model.metadata()?, stages),
        })?;
        artifact::write_new(&file, &bytes).map_err(|error| raised(py, &error))
    }

    /// Writes a folder for TransformerLens, in the basis of a seed if there is one.
    fn transformerlens(&self, py: Python<'_>, dir: PathBuf, rotate: Option<u64>) -> PyResult<()> {
        self.folder(py, &dir, move |model| {
            let refused = |contents: &Contents| match verdict(contents) {
                Some(Verdict::Accepted(_)) => None,
                Some(other) => Some(other.to_string()),
                None => Some("there is no certificate".to_owned()),
            };
            Ok(transformerlens::files(model, rotate, refused)?.0)
        })
    }

    /// Writes a folder for Hugging Face's `transformers`, inside of a stock class.
    fn hf(&self, py: Python<'_>, dir: PathBuf, host: String, vocabulary: Option<Vec<String>>) -> PyResult<()> {
        self.folder(py, &dir, move |model| {
            let said = |files: &Vec<(String, Vec<u8>)>| {
                formwright_check::check_named(files).map(|verdict| verdict.to_string())
            };
            Ok(hf::files(model, &host, vocabulary.as_deref(), said)?.0)
        })
    }

    /// Writes a folder of VNN-LIB instances.
    fn vnnlib(&self, py: Python<'_>, dir: PathBuf, cells: Option<usize>) -> PyResult<()> {
        self.folder(py, &dir, move |model| Ok(vnnlib::files(model, &model.metadata()?, cells)?.files))
    }
}

impl Native {
    /// Writes a folder that does not exist yet.
    fn folder(
        &self,
        py: Python<'_>,
        dir: &Path,
        files: impl FnOnce(&Model) -> formwright::error::Result<Vec<(String, Vec<u8>)>> + Send + 'static,
    ) -> PyResult<()> {
        artifact::check_new(dir).map_err(|error| raised(py, &error))?;
        let model = self.model.clone();
        let files = detached(py, move || files(&model))?;
        artifact::write_new_folder(dir, &files).map_err(|error| raised(py, &error))
    }

    fn of(model: Model) -> Self {
        Self { model: Arc::new(model), engine: OnceLock::new() }
    }

    /// The approximate number of operations for a batch; an exact model is not counted, and may take any number.
    fn operations(&self, batch: &[u8], tokens: usize) -> PyResult<usize> {
        let numbers = batch.len() / 8;
        let sequences = numbers / (tokens * self.model.grid.dims()).max(1);
        let each = self.engine()?.map_or(usize::MAX, |engine| engine.operations(tokens));
        Ok(each.saturating_mul(sequences).saturating_add(numbers))
    }

    /// The engine of a float model; it is made once.
    fn engine(&self) -> PyResult<Option<Arc<Engine>>> {
        let Some(network) = self.model.float() else { return Ok(None) };
        if let Some(engine) = self.engine.get() {
            return Ok(Some(engine.clone()));
        }
        let engine = Python::attach(|py| Engine::new(network).map_err(|error| raised(py, &error)))?;
        Ok(Some(self.engine.get_or_init(|| Arc::new(engine)).clone()))
    }
}

/// Sizes up constructions, all of them or as many as it takes to know the first; the output of
/// `formwright plan --json`.
#[pyfunction]
fn plan_of(py: Python<'_>, name: String, given: Option<Given>, options: String, all: bool) -> PyResult<String> {
    let rows = if all { Rows::All } else { Rows::Needed };
    detached(py, move || {
        let request = asked(&options)?.request(source(&name, given)?)?;
        Ok(Front::Python.shows(&sized_up(&request, rows, &mut |_| {})?.to_json().to_string()))
    })
}

/// The ends of a text's domain, and whether it holds integers only.
#[pyfunction]
fn domain_of(py: Python<'_>, text: String) -> PyResult<(f64, f64, bool)> {
    let ends = || {
        let source = Source::expression(&text, &text)?;
        let target = source.target(1)?;
        let side = target.side().ok_or_else(|| Error::input("a table has no text"))?;
        Ok((side.lo(), side.hi(), target.is_discrete()))
    };
    ends().map_err(|error| raised(py, &error))
}

/// Enclosures of a text's values at sequences of doubles: lower and upper ends, not numbers where there is no value.
#[pyfunction]
fn enclosed(
    py: Python<'_>,
    text: String,
    batch: Vec<u8>,
    tokens: usize,
    dims: usize,
) -> PyResult<(usize, Bound<'_, PyBytes>, Bound<'_, PyBytes>)> {
    let (side, ends) = detached(py, move || {
        let target = Source::expression(&text, &text)?.target(dims)?;
        let values = |x: &Vec<Vec<f64>>| {
            let point = x.iter().map(|token| token.iter().map(|x| Interval::point(*x)).collect()).collect();
            let nothing = vec![(f64::NAN, f64::NAN); tokens * target.output_dims()];
            target.enclose(&point).map_or(nothing, |y| y.concat().iter().map(|y| (y.lo(), y.hi())).collect())
        };
        let ends: Vec<(f64, f64)> = nested(&doubles(&batch), tokens, dims).iter().flat_map(values).collect();
        Ok((target.output_dims(), ends))
    })?;
    let (lower, upper): (Vec<f64>, Vec<f64>) = ends.into_iter().unzip();
    Ok((side, bytes(py, &lower), bytes(py, &upper)))
}

/// Decides whether a mixer computes a contextual mapping: the output of `formwright contextual --json`, and the verdict
/// in a sentence.
#[pyfunction]
fn contextual_of(py: Python<'_>, options: String) -> PyResult<(String, String)> {
    detached(py, move || {
        let answer = contextual::Inquiry::read(&options)?.answer()?;
        Ok((Front::Python.shows(&answer.to_json().to_string()), Front::Python.shows(&answer.in_words())))
    })
}

/// The checker's verdict on a folder.
#[pyfunction]
fn check_folder(py: Python<'_>, dir: PathBuf) -> PyResult<Said> {
    detached(py, move || {
        let contents = Contents::read(&dir)?;
        let verdict = if contents.certificate.as_deref().is_some_and(formwright_check::is_host) {
            Some(formwright_check::check_folder(&dir).map_err(Error::input)?)
        } else {
            verdict(&contents)
        };
        verdict.as_ref().map(said).ok_or_else(|| Contents::no_certificate(&dir))
    })
}

/// The files of the probe of runtimes, by name.
#[pyfunction]
fn probe_files<'py>(py: Python<'py>, precision: &str) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
    let files = || Probe::new(precision.parse()?)?.files();
    let files = files().map_err(|error| raised(py, &error))?;
    Ok(files.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect())
}

/// The judgement on answers to the probe: whether all are allowed, in words, and as JSON.
#[pyfunction]
fn probe_judged(py: Python<'_>, precision: &str, answers: Vec<u8>) -> PyResult<(bool, String, String)> {
    let judged = || Probe::new(precision.parse()?)?.judge(&doubles(&answers));
    let (inside, text, json) = judged().map_err(|error: Error| raised(py, &error))?;
    Ok((inside, text, json.to_string()))
}

/// The files of a zoo of variants for so many seeds, of models whose names contain a text, by name.
#[pyfunction]
fn zoo_files(py: Python<'_>, seeds: u64, only: Option<String>) -> PyResult<Vec<(String, Bound<'_, PyBytes>)>> {
    let files = detached(py, move || Ok(Zoo::new(seeds, only)?.files(&|files| said_of(files), &mut |_, _, _| {})?.0))?;
    Ok(files.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect())
}

/// The checker's verdict on files, of a network by itself or in a host, in words.
fn said_of(files: &[(String, Vec<u8>)]) -> Option<String> {
    let file = |wanted: &str| files.iter().find(|(name, _)| name == wanted).map(|(_, bytes)| bytes.as_slice());
    if file("config.json").is_some() {
        return formwright_check::check_named(files).map(|verdict| verdict.to_string());
    }
    let (certificate, target, weights) = (file("certificate.fwc")?, file("target.json")?, file("model.safetensors")?);
    Some(formwright_check::check(&Files { certificate, target, weights }).to_string())
}

/// Refuses a folder that could not be written, before any work is done for it.
#[pyfunction]
fn check_place(py: Python<'_>, dir: PathBuf) -> PyResult<()> {
    artifact::check_place(&dir, None).map_err(|error| raised(py, &error))
}

/// The reason why a model without a certificate cannot be checked.
#[pyfunction]
fn no_certificate(py: Python<'_>) -> PyErr {
    raised(py, &Contents::no_certificate(Path::new("this network")))
}

fn verdict(contents: &Contents) -> Option<Verdict> {
    let Contents { target, weights: Some(weights), certificate: Some(certificate) } = contents else { return None };
    Some(formwright_check::check(&Files { certificate, target, weights }))
}

fn said(verdict: &Verdict) -> Said {
    match verdict {
        Verdict::Accepted(_) => (verdict.name(), None, None, verdict.to_string()),
        Verdict::Rejected(reason) | Verdict::Declined(reason) => {
            (verdict.name(), Some(reason.obligation), Some(reason.what.clone()), verdict.to_string())
        }
    }
}

/// The trace of an exact network in closed form, rounded.
fn trace_exact(model: &Model, batch: &Batch) -> formwright::error::Result<Vec<(String, Batch)>> {
    let network = model.exact().ok_or_else(|| Error::declined("a circuit has no exact network"))?;
    let mut whole: Vec<(String, Batch)> = Vec::new();
    for x in batch {
        let exact: Option<Vec<Vec<Rat>>> =
            x.iter().map(|token| token.iter().map(|entry| Rat::from_f64(*entry)).collect()).collect();
        let exact = exact.ok_or_else(|| Error::input("an exact network has no value at an infinite number"))?;
        for (place, (name, state)) in indexed::trace(network, &exact)?.into_iter().enumerate() {
            if whole.len() == place {
                whole.push((name.to_owned(), Vec::new()));
            }
            whole[place].1.push(state.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect());
        }
    }
    Ok(whole)
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|entry| f64::from_le_bytes(entry.try_into().unwrap_or_default())).collect()
}

fn bytes<'py>(py: Python<'py>, entries: &[f64]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &entries.iter().flat_map(|entry| entry.to_le_bytes()).collect::<Vec<u8>>())
}

fn nested(flat: &[f64], tokens: usize, dims: usize) -> Batch {
    flat.chunks_exact(tokens * dims).map(|x| x.chunks_exact(dims).map(<[f64]>::to_vec).collect()).collect()
}

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Native>()?;
    module.add_function(wrap_pyfunction!(plan_of, module)?)?;
    module.add_function(wrap_pyfunction!(contextual_of, module)?)?;
    module.add_function(wrap_pyfunction!(domain_of, module)?)?;
    module.add_function(wrap_pyfunction!(enclosed, module)?)?;
    module.add_function(wrap_pyfunction!(check_folder, module)?)?;
    module.add_function(wrap_pyfunction!(check_place, module)?)?;
    module.add_function(wrap_pyfunction!(probe_files, module)?)?;
    module.add_function(wrap_pyfunction!(zoo_files, module)?)?;
    module.add_function(wrap_pyfunction!(probe_judged, module)?)?;
    module.add_function(wrap_pyfunction!(no_certificate, module)?)
}

/// The name of the exception for a kind of error.
fn exception(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Rejected => "Rejected",
        ErrorKind::Declined => "Declined",
        ErrorKind::Input => "InputError",
    }
}
