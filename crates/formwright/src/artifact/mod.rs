//! The folder on disk, and targets read from files.
//!
//! An exact model is two files: `target.json`, the function, closed; `model.json`, for people and for reading back: the summary, the
//! named coordinates, embedding, positions and read-out, and each stage with the parameters that generate its layers. A float model has
//! its weights in a third file, `model.safetensors` ([`tensors`]), in `model.json` the shapes that these must have, and, if its claim is one that can be
//! checked, a fourth file, `certificate.fwc` ([`certificate`]). Every model has its page, `report.html` ([`report`]), which nobody reads back. A circuit is a float
//! model whose `model.json` lists its gates; they are for people, and compiled anew when something is claimed. A folder is written beside its
//! place and renamed, so that nothing half-written is ever seen.

pub mod certificate;
pub mod tensors;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::{fs, io};

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::compile::{
    Built, Check, Circuit, Lattice, Learned, Lowered, Model, Stated, SumCodeFloats, SumCoded, Tolerance, lattice,
    sum_code,
};
use crate::construct::circuit::Trade;
use crate::construct::sumcode::{self, Family};
use crate::construct::sumformer::continuous::Basis;
use crate::construct::yun::sparse::Sparse;
use crate::construct::yun::{self, AsPrinted, Options};
use crate::error::{Error, Result, nearest};
use crate::exact::Rat;
use crate::input::parse_json;
use crate::lattice::Grid;
use crate::lower::{Format, Hidden, Lowering, Temperature};
use crate::network::{Affine, Coordinate, FloatNetwork, Matrix, Network, Realisation};
use crate::pattern::{self, Pattern};
use crate::report;
use crate::target::{Source, Target, catalogue};
use tensors::Skeleton;

/// What `model.json` says it is.
const FORMAT: &str = "formwright-model";

/// The version of `model.json`.
const VERSION: u64 = 1;

/// A target from what a user writes: a built-in name, a file with an expression or a table, or an expression.
pub fn read_target(text: &str) -> Result<Source> {
    if let Some(source) = catalogue::find(text) {
        return source;
    }
    let path = Path::new(text);
    if path.is_file() {
        let content = read_file(path)?;
        let name = path.file_stem().map_or_else(|| text.to_owned(), |stem| stem.to_string_lossy().into_owned());
        return if content.trim_start().starts_with('{') {
            Source::from_json(&name, &parse_json(&content, text)?)
        } else {
            Source::expression(&name, &content)
        };
    }
    if path.is_dir() {
        return Err(Error::input(format!("{text} is a folder, and a target is a name, a file or an expression"))
            .note("try", format!("formwright inspect {text}, if it holds a model")));
    }
    let parsed = Source::expression(text, text);
    let is_file_name = path.extension().is_some_and(|end| end == "json");
    // A lone word that is no expression is a name, or a path.
    let is_word = text.starts_with(|c: char| c.is_alphabetic() || "./\\".contains(c))
        && text.chars().all(|c| c.is_alphanumeric() || "-_./\\".contains(c));
    match parsed {
        Ok(source) => Ok(source),
        Err(_) if is_file_name => Err(Error::input(format!("there is no file {text}"))
            .note("try", "the path of a file with a table or an expression, seen from the current folder")),
        Err(reason) if is_word && text.contains(['/', '\\']) => Err(Error::input(format!("there is no file {text}"))
            .note("parser", format!("nor is it an expression: {}", reason.headline()))
            .note("try", "the path of a file, seen from the current folder")),
        Err(reason) if is_word => {
            let error =
                Error::input(format!("there is no target '{text}': it is no built-in name, no file and no expression"))
                    .note("parser", reason.headline());
            if CONSTRUCTIONS.contains(&text) {
                return Err(Error::input(format!("{text} is a construction, and no target is named"))
                    .note("try", format!("formwright build TARGET --construction {text}")));
            }
            Err(match nearest(text, catalogue::names()) {
                Some(near) => error.note("try", format!("{near}, or formwright targets for the whole list")),
                None => error.note("try", "formwright targets for the list of built-in names"),
            })
        }
        Err(error) => Err(error),
    }
}

/// What `--construction` takes.
pub(crate) const CONSTRUCTIONS: [&str; 5] = ["yun", "circuit", "sum-code", "sumformer-discrete", "sumformer"];

/// A pattern of sparse attention for so many tokens: by its name, or `file:` and a path. That of a file is called by the file's name, wherever it lies.
pub fn read_pattern(text: &str, tokens: usize) -> Result<Pattern> {
    let Some(path) = text.strip_prefix("file:").map(Path::new) else {
        return text.parse::<pattern::Family>()?.pattern(tokens);
    };
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Pattern::read(&format!("file:{name}"), &read_file(path)?)
}

/// The text of a file.
pub(crate) fn read_file(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| Error::input(format!("cannot read {}: {error}", path.display())))?;
    // Some editors put a byte order mark in front.
    Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}

/// The function.
const TARGET: &str = "target.json";

/// What is for people, and for reading back.
const MODEL: &str = "model.json";

/// The file of the weights.
const WEIGHTS: &str = "model.safetensors";

/// The claim, for a checker.
const CERTIFICATE: &str = "certificate.fwc";

/// The longest file that a checker looks at.
const LONGEST: u64 = (1 << 26) + (1 << 24) + 8;

/// The model to look at.
const REPORT: &str = "report.html";

/// The files of a model's folder; weights are there if it is a float model, and a certificate if its claim is one that can be checked.
const FILES: [&str; 5] = [TARGET, MODEL, WEIGHTS, CERTIFICATE, REPORT];

/// What a checker reads of a model, byte for byte as it is written.
#[derive(Clone, Debug)]
pub struct Contents {
    /// `target.json`.
    pub target: Vec<u8>,
    /// `model.safetensors`, of a float model.
    pub weights: Option<Vec<u8>>,
    /// `certificate.fwc`, if something is claimed that it has words for.
    pub certificate: Option<Vec<u8>>,
}

impl Contents {
    /// The files of a model, before anything is written.
    pub fn of(model: &Model) -> Result<Self> {
        Self::of_network(model, model.stated()?.as_ref(), model.float())
    }

    /// The same with another network for the model's target, of which this is claimed.
    pub fn of_network(model: &Model, stated: Option<&Stated>, network: Option<&FloatNetwork>) -> Result<Self> {
        let target = text(&model.source.to_json());
        let weights = network.map(tensors::to_bytes).transpose()?;
        let certificate = match (stated, network, &weights) {
            (Some(stated), Some(network), Some(weights)) => {
                certificate::text(model, stated, network, (&target, weights))
            }
            _ => None,
        };
        Ok(Self { target, weights, certificate: certificate.map(String::into_bytes) })
    }

    /// The files of a folder, whatever is in them. Without a certificate there is nothing to check, and no weights are read.
    pub fn read(dir: &Path) -> Result<Self> {
        check_folder(dir)?;
        let load = |name: &str| {
            let path = dir.join(name);
            let fail = |why: &dyn std::fmt::Display| {
                Error::input(format!("cannot read {}: {why}", path.display())).note("try", ANEW)
            };
            // Opening a pipe would wait for somebody to write.
            let about = fs::metadata(&path).map_err(|error| fail(&error))?;
            if !about.is_file() {
                return Err(fail(&"it is no regular file"));
            }
            if about.len() > LONGEST {
                return Err(Error::declined(format!("{} has {} bytes", path.display(), about.len()))
                    .note("limit", format!("{LONGEST} bytes are the most that the checker looks at")));
            }
            fs::read(&path).map_err(|error| fail(&error))
        };
        let certificate = dir.join(CERTIFICATE).exists().then(|| load(CERTIFICATE)).transpose()?;
        let weights = certificate.as_ref().map(|_| load(WEIGHTS)).transpose()?;
        Ok(Self { target: load(TARGET)?, weights, certificate })
    }

    /// Its files, by name.
    pub fn files(&self) -> Vec<(&'static str, &[u8])> {
        let all = [
            (TARGET, Some(self.target.as_slice())),
            (WEIGHTS, self.weights.as_deref()),
            (CERTIFICATE, self.certificate.as_deref()),
        ];
        all.into_iter().filter_map(|(name, bytes)| Some((name, bytes?))).collect()
    }

    /// Why a model whose claim the checker rejects is not written.
    pub fn refused(reason: &str) -> Error {
        Error::rejected("the checker rejects the claim of this network, and nothing was written")
            .note("reason", reason)
            .note("try", "to report it, with this message; --no-check writes the network all the same")
    }

    /// Why a folder without a certificate cannot be checked.
    pub fn no_certificate(dir: &Path) -> Error {
        let file = fs::read_to_string(dir.join(MODEL)).unwrap_or_default();
        let file: Value = serde_json::from_str(&file).unwrap_or_default();
        if let Some(kind) = attention_without_words(&file) {
            return Error::declined(format!("a certificate has no words for {kind} attention"))
                .note("reason", "CERTIFICATE.md names the kinds of attention, and checkers know no others")
                .note("try", "build it with --attention softmax");
        }
        if file["construction"] == "learned" {
            return Error::declined("a measured error is nothing to certify")
                .note(
                    "reason",
                    "the network was trained: how far it is from its target was measured, and no bound is stated",
                )
                .note("try", format!("formwright inspect {}, which measures it again", dir.display()));
        }
        Error::input(format!("there is no certificate in {}", dir.display()))
            .note(
                "reason",
                "an exact model has none, nor has one of which nothing, or only a grid's points, is claimed",
            )
            .note("try", "build it with a tolerance, such as --eps 1/10 --norm l2, and --precision f64")
    }

    /// Writes the folder. One that is there already must be empty, or hold this model, which is written anew, and nothing else.
    pub fn write(&self, model: &Model, dir: &Path) -> Result<()> {
        let place = replaceable(dir)?;
        let summary = text(&to_json(model)?);
        if holds_model(&place) && !self.lies_in(&place, &summary) {
            return Err(occupied(dir));
        }
        self.place(model, &summary, dir, &place)
    }

    /// Writes the folder, in place of whatever model is there already: one with a model and nothing else.
    pub fn replace(&self, model: &Model, dir: &Path) -> Result<()> {
        let place = replaceable(dir)?;
        self.place(model, &text(&to_json(model)?), dir, &place)
    }

    /// Whether a folder holds this model: its target, weights and certificate, byte by byte. What an exact model computes stands in `model.json`.
    fn lies_in(&self, place: &Path, summary: &[u8]) -> bool {
        let same = |name: &str, bytes: Option<&[u8]>| fs::read(place.join(name)).ok().as_deref() == bytes;
        same(TARGET, Some(&self.target))
            && same(WEIGHTS, self.weights.as_deref())
            && same(CERTIFICATE, self.certificate.as_deref())
            && (self.weights.is_some() || same(MODEL, Some(summary)))
    }

    /// Writes the files beside their place, and puts them there.
    fn place(&self, model: &Model, summary: &[u8], dir: &Path, place: &Path) -> Result<()> {
        let report = report::page(model)?;
        let mut files = self.files();
        files.extend([(MODEL, summary), (REPORT, report.as_bytes())]);
        let fail = |error: io::Error| Error::input(format!("cannot write {}: {error}", dir.display()));
        let new = beside(place, "new")?;
        let written = write_files(&files, &new).map_err(fail).and_then(|()| {
            if !place.exists() {
                return fs::rename(&new, place).map_err(fail);
            }
            let old = beside(place, "old")?;
            fs::rename(place, &old).map_err(fail)?;
            let placed = fs::rename(&new, place);
            if placed.is_err() && !place.exists() {
                // What was there is there again; the error that is reported is the one that came first.
                drop(fs::rename(&old, place));
                return placed.map_err(fail);
            }
            // Where somebody else was faster, theirs is there.
            fs::remove_dir_all(&old).and(placed).map_err(fail)
        });
        if written.is_err() {
            // What could not be finished is taken away; the error that is reported is the one that came first.
            drop(fs::remove_dir_all(&new));
        }
        written
    }
}

fn text(content: &Value) -> Vec<u8> {
    format!("{content:#}\n").into_bytes()
}

/// Writes a model's folder, as [`Contents::write`] does.
pub fn write(model: &Model, dir: &Path) -> Result<()> {
    Contents::of(model)?.write(model, dir)
}

/// Where a folder is to be written; refused if something is there that is not to be replaced.
fn replaceable(dir: &Path) -> Result<PathBuf> {
    let fail = |error: io::Error| Error::input(format!("cannot write {}: {error}", dir.display()));
    // A link is followed: what it points to is replaced, not the link.
    let place = if dir.exists() { fs::canonicalize(dir).map_err(fail)? } else { dir.to_owned() };
    let occupied = place.exists();
    if occupied && std::env::current_dir().is_ok_and(|here| here.starts_with(&place)) {
        return Err(Error::input(format!(
            "{} is the current folder, or above it, and cannot be replaced",
            dir.display()
        ))
        .note("try", "the name of a folder inside of it"));
    }
    if occupied && !is_replaceable(&place).map_err(fail)? {
        return Err(Error::input(format!("{} exists and is not a model's folder", dir.display()))
            .note("reason", "only an empty folder, or one with a model and nothing else, is replaced")
            .note("try", "another folder"));
    }
    Ok(place)
}

/// Refuses a folder that could not be written: something is there that is not to be replaced.
pub fn check_place(dir: &Path) -> Result<()> {
    replaceable(dir).map(drop)
}

/// Refuses a folder that holds a model of another target: what [`Contents::write`] would refuse, before any work is done for it.
pub fn check_target(dir: &Path, source: &Source) -> Result<()> {
    let same = |there: Vec<u8>| there == text(&source.to_json());
    if holds_model(dir) && !fs::read(dir.join(TARGET)).is_ok_and(same) { Err(occupied(dir)) } else { Ok(()) }
}

/// Whether there is a model of ours in a folder.
fn holds_model(dir: &Path) -> bool {
    let file = fs::read_to_string(dir.join(MODEL)).unwrap_or_default();
    serde_json::from_str::<Value>(&file).is_ok_and(|file| file["format"] == FORMAT)
}

/// Why a folder with another model is left as it is, and what is in it.
fn occupied(dir: &Path) -> Error {
    let file = fs::read_to_string(dir.join(MODEL)).unwrap_or_default();
    let file: Value = serde_json::from_str(&file).unwrap_or_default();
    // The file may be anybody's: what is shown of it is one short line.
    let word = |value: &Value| {
        let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let short: String = word.chars().filter(|c| !c.is_control()).take(MOST_SHOWN).collect();
        if short == word { short } else { short + " …" }
    };
    let (construction, precision) = (word(&file["construction"]), word(&file["precision"]));
    let (target, tokens) = (word(&file["target"]["name"]), word(&file["tokens"]));
    Error::input(format!("{} holds another model, and nothing was written", dir.display()))
        .note("there", format!("{target}, by {construction} in {precision}, for --tokens {tokens}"))
        .note("try", "another folder, or --force (from Python force=True), which replaces it")
}

/// How much of a word of a file a message shows.
const MOST_SHOWN: usize = 80;

/// Refuses a file that is there already.
pub fn check_new(file: &Path) -> Result<()> {
    if file.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Error::input(format!("{} exists, and nothing is overwritten", file.display()))
        .note("try", "another name, or take it away"))
}

/// Writes a file that is not there yet: beside its place, then renamed.
pub fn write_new(file: &Path, content: &[u8]) -> Result<()> {
    check_new(file)?;
    let fail = |error: io::Error| Error::input(format!("cannot write {}: {error}", file.display()));
    let new = beside(file, "new")?;
    let placed = fs::write(&new, content).map_err(fail).and_then(|()| match fs::hard_link(&new, file) {
        // Somebody was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_new(file),
        // Not every file system has links.
        Err(_) => fs::rename(&new, file).map_err(fail),
        Ok(()) => Ok(()),
    });
    // Where it was renamed it is gone already.
    drop(fs::remove_file(&new));
    placed
}

/// Writes the page of a model's folder, in place of the one that is there; where it is.
pub fn write_report(dir: &Path, page: &str) -> Result<PathBuf> {
    let file = dir.join(REPORT);
    let fail = |error: io::Error| Error::input(format!("cannot write {}: {error}", file.display()));
    let new = beside(&file, "new")?;
    let placed = fs::write(&new, page).and_then(|()| fs::rename(&new, &file)).map_err(fail);
    if placed.is_err() {
        // The error that is reported is the one that came first.
        drop(fs::remove_file(&new));
    }
    placed.map(|()| file)
}

/// Writes a folder that is not there yet: beside its place, then renamed.
pub fn write_new_folder(dir: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    check_new(dir)?;
    let fail = |error: io::Error| Error::input(format!("cannot write {}: {error}", dir.display()));
    let new = beside(dir, "new")?;
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let written = write_files(&files, &new).and_then(|()| fs::rename(&new, dir)).map_err(fail);
    if written.is_err() {
        // The error that is reported is the one that came first.
        drop(fs::remove_dir_all(&new));
    }
    written
}

/// The SHA-256 of bytes, as hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('?');
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Whether a folder is empty, or holds a model of ours and nothing else.
fn is_replaceable(dir: &Path) -> io::Result<bool> {
    if !dir.is_dir() {
        return Ok(false);
    }
    let names = fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<Vec<_>>>()?;
    Ok(names.is_empty() || names.iter().all(|name| FILES.iter().any(|file| name == file)) && holds_model(dir))
}

/// A name beside `dir` that is this call's own: of this process, and of no other thread of it.
pub fn beside(dir: &Path, what: &str) -> Result<PathBuf> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let name =
        dir.file_name().ok_or_else(|| Error::input(format!("{} names neither a folder nor a file", dir.display())))?;
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let name = format!(".{}.{what}-{}-{call}", name.to_string_lossy(), std::process::id());
    Ok(dir.with_file_name(name))
}

fn write_files(files: &[(&str, &[u8])], dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for (name, content) in files {
        let file = dir.join(name);
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(file, content)?;
    }
    Ok(())
}

/// `model.json`: the summary, and what is needed to run.
fn to_json(model: &Model) -> Result<Value> {
    let mut file = json!({"format": FORMAT, "version": VERSION});
    let mut summary = model.summary()?;
    let exact = model.exact().filter(|_| model.float().is_none());
    if let Some(network) = exact {
        for (stage, written) in network.stages.iter().zip(summary["stages"].as_array_mut().into_iter().flatten()) {
            written["parameters"] = stage.generator.parameters();
        }
    }
    if let (Some(file), Value::Object(summary)) = (file.as_object_mut(), summary) {
        file.extend(summary);
    }
    file["coordinates"] = model.coordinates_to_json();
    if model.meanings().is_some() {
        file["atoms"] = model.atoms_to_json();
    }
    let tolerance = &model.tolerance;
    file["tolerance"] = json!({
        "eps": tolerance.eps,
        "norm": tolerance.norm().map(|norm| norm.to_string()),
        "lipschitz": tolerance.lipschitz,
    });
    file["grid"] = json!(model.grid);
    if let Some(Lowered { lowering, .. }) = model.lattice().and_then(|lattice| lattice.lowered.as_ref()) {
        file["format_asked"] = format_to_json(lowering.format);
    }
    if let Some(network) = model.float() {
        file["network"] = json!(Skeleton::of(network));
    }
    if let Some(network) = exact {
        let affine = |map: &Affine| json!({"weight": map.weight, "bias": map.bias});
        file["embed"] = affine(&network.embed);
        file["pos"] = json!(network.positions);
        file["read_out"] = affine(&network.read_out);
    }
    Ok(file)
}

/// What was asked of a float network.
fn format_to_json(format: Format) -> Value {
    let temperature = match format.temperature {
        Temperature::Derived => json!("derived"),
        Temperature::Saturate => json!("saturate"),
        Temperature::Exponent(exponent) => json!(exponent),
    };
    let hidden = match format.hidden {
        Hidden::Literal => json!("literal"),
        Hidden::All => json!("all"),
        Hidden::Units(units) => json!(units),
    };
    json!({"precision": format.precision.name(), "temperature": temperature, "hidden": hidden})
}

/// The same, read back.
fn format_from_json(file: &Value) -> Option<Format> {
    let precision = file["precision"].as_str()?.parse().ok()?;
    let temperature = match &file["temperature"] {
        Value::String(name) if name == "derived" => Temperature::Derived,
        Value::String(name) if name == "saturate" => Temperature::Saturate,
        other => Temperature::Exponent(other.as_u64().and_then(|exponent| u32::try_from(exponent).ok())?),
    };
    let hidden = match &file["hidden"] {
        Value::String(name) if name == "literal" => Hidden::Literal,
        Value::String(name) if name == "all" => Hidden::All,
        other => Hidden::Units(other.as_u64().and_then(|units| usize::try_from(units).ok())?),
    };
    Some(Format { precision, temperature, hidden })
}

/// What of `model.json` every model has.
#[derive(Deserialize)]
struct Common {
    format: String,
    version: u64,
    construction: String,
    positional: bool,
    as_printed: Vec<String>,
    domain: String,
    tolerance: WrittenTolerance,
    grid: Grid,
    precision: String,
    error: WrittenError,
    sparse: Option<WrittenSparse>,
}

/// Of sparse attention: its pattern. What the construction finds of it is found anew.
#[derive(Deserialize)]
struct WrittenSparse {
    pattern: Pattern,
}

impl WrittenSparse {
    /// The pattern of a model on this grid: of so many tokens, and of its name.
    fn read(self, grid: &Grid) -> Result<Arc<Sparse>> {
        let sparse = Sparse::new(self.pattern)?;
        sparse.check(grid)?;
        let pattern = sparse.pattern();
        if pattern.is_named_rightly() {
            Ok(sparse)
        } else {
            let headline = format!("the model's pattern is called {}, and is another one", pattern.name());
            Err(Error::input(headline).note("try", ANEW))
        }
    }
}

/// The kind of attention in a `model.json` that keeps it from having a certificate.
fn attention_without_words(file: &Value) -> Option<&str> {
    let kinds = file["network"]["runs"].as_array()?.iter().map(|run| &run["attention"]["kind"]);
    // A name, or an object with the name and a size.
    let names = kinds.filter_map(|kind| kind.as_str().or_else(|| Some(kind.as_object()?.keys().next()?.as_str())));
    names.into_iter().find(|kind| certificate::is_unknown(kind))
}

/// What of the claim is not computed anew.
#[derive(Deserialize)]
struct WrittenError {
    checked: String,
    /// Models of earlier versions do not tell it.
    checked_reason: Option<String>,
}

/// What a float model by cells has besides.
#[derive(Deserialize)]
struct WrittenFloat {
    format_asked: Value,
    network: Skeleton,
}

/// What a circuit has besides.
#[derive(Deserialize)]
struct WrittenCircuit {
    trade: String,
    attention: String,
    network: Skeleton,
    sumformer: Option<WrittenForm>,
}

/// Of a Sumformer: what its normal form is made of. The form itself is made anew.
#[derive(Deserialize)]
struct WrittenForm {
    basis: String,
}

impl WrittenCircuit {
    /// The basis of a Sumformer, and nothing of a circuit.
    fn basis(&self, construction: &str) -> Result<Option<Basis>> {
        match (construction, &self.sumformer) {
            ("sumformer", Some(form)) => form.basis.parse().map(Some),
            ("sumformer", None) => Err(Error::input("a Sumformer without a basis")),
            (_, Some(_)) => Err(Error::input("a circuit with the basis of a Sumformer")),
            (_, None) => Ok(None),
        }
    }
}

/// What a trained Sumformer has besides. Its φ and ψ are in its weights, where their sizes tell.
#[derive(Deserialize)]
struct WrittenLearned {
    attention: String,
    network: Skeleton,
    sumformer: WrittenSizes,
}

#[derive(Deserialize)]
struct WrittenSizes {
    phi: Vec<usize>,
    psi: Vec<usize>,
}

/// What an exact model has besides.
#[derive(Deserialize)]
struct WrittenExact {
    coordinates: Vec<WrittenCoordinate>,
    embed: WrittenAffine,
    pos: Option<Matrix>,
    read_out: WrittenAffine,
    stages: Vec<WrittenStage>,
}

#[derive(Deserialize)]
struct WrittenTolerance {
    eps: Option<Rat>,
    norm: Option<String>,
    lipschitz: Option<Rat>,
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

/// What to do about a folder that is not as it was written.
pub(crate) const ANEW: &str = "build the model anew, or copy all files of its folder again";

/// The constructions that a file may name.
const KNOWN: &str = "expected yun, circuit, sumformer, sum-code, sumformer-discrete or learned";

fn check_folder(dir: &Path) -> Result<()> {
    let shown = dir.display();
    let build = format!("formwright build TARGET -o {shown}");
    if dir.is_file() {
        let ours = dir.file_name().is_some_and(|name| FILES.iter().any(|file| name == *file));
        let error = Error::input(format!("{shown} is a file, and a model is a folder"));
        return Err(match dir.parent().filter(|_| ours) {
            Some(folder) => error.note("try", format!("{}", Path::new(".").join(folder).display())),
            None => error.note("try", "the folder that formwright build wrote with -o"),
        });
    }
    if !dir.is_dir() {
        return Err(Error::input(format!("there is no folder {shown}")).note("try", build));
    }
    if [MODEL, TARGET].iter().all(|file| !dir.join(file).exists()) {
        return Err(Error::input(format!("there is no model in {shown}"))
            .note("reason", format!("a model has a file {MODEL}, and this folder has none"))
            .note("try", format!("the folder that formwright build wrote with -o; or {build}")));
    }
    Ok(())
}

/// Reads a model's folder.
pub fn read(dir: &Path) -> Result<Model> {
    check_folder(dir)?;
    let load = |name: &str| {
        let path = dir.join(name);
        let read = read_file(&path).and_then(|text| parse_json(&text, &path.display().to_string()));
        read.map_err(|error| error.note("try", ANEW))
    };
    let path = dir.join(MODEL);
    let wrong = |what: &str| {
        Error::input(format!("{} is no model that this version reads: {what}", path.display())).note("try", ANEW)
    };
    let source = Source::from_json(TARGET, &load(TARGET)?)?;
    let file = load(MODEL)?;
    let common: Common = serde_json::from_value(file.clone()).map_err(|error| wrong(&error.to_string()))?;
    if common.format != FORMAT || common.version != VERSION {
        return Err(wrong(&format!("format {}, version {}", common.format, common.version)));
    }
    let as_printed = common.as_printed.iter().map(|name| name.parse()).collect::<Result<Vec<AsPrinted>>>()?;
    let everywhere = match common.domain.as_str() {
        "box" => false,
        "all" => true,
        other => return Err(wrong(&format!("domain '{other}', expected box or all"))),
    };
    let sparse = common.sparse.map(|written| written.read(&common.grid)).transpose()?;
    let options = Options { positional: common.positional, as_printed, everywhere, sparse, ..Options::default() };
    let WrittenTolerance { eps, norm, lipschitz } = common.tolerance;
    let norm = norm.map(|name| name.parse()).transpose()?;
    if lipschitz.as_ref().is_some_and(|l| *l <= Rat::ZERO) {
        return Err(wrong("a Lipschitz constant that is not positive"));
    }
    let check = Check::named(&common.error.checked, common.error.checked_reason.clone());
    let check = check.ok_or_else(|| wrong(&format!("checked is '{}'", common.error.checked)))?;
    let grid = common.grid;
    if !belongs(&grid, &source) {
        return Err(wrong("its grid is not one of its target's: target.json belongs to another model"));
    }
    let target = Arc::new(source.target(grid.dims())?);
    let tolerance = Tolerance { eps, norm, lipschitz };
    let shipped = |skeleton: &Skeleton| read_network(dir, skeleton, (&grid, &target), &common.precision, &wrong);
    let mut assumptions = Vec::new();
    let (built, edited): (Built, OnceLock<bool>) = match (common.construction.as_str(), common.precision.as_str()) {
        ("circuit" | "sumformer", _) => {
            let written: WrittenCircuit = serde_json::from_value(file).map_err(|error| wrong(&error.to_string()))?;
            let basis = written.basis(&common.construction).map_err(|error| wrong(error.headline()))?;
            let how = (written.trade.as_str(), written.attention.as_str(), basis);
            let circuit = read_circuit(how, shipped(&written.network)?, &grid, &target, &tolerance);
            (circuit.map_err(|error| wrong(error.headline()))?.into(), OnceLock::new())
        }
        ("yun", "exact") => {
            if file.get("network").is_some() {
                return Err(wrong("it says exact, and has the shapes of a float network"));
            }
            let written: WrittenExact = serde_json::from_value(file).map_err(|error| wrong(&error.to_string()))?;
            assumptions = lattice::assumptions(&grid, &target, &options, true)?;
            let network = read_exact(written, &grid, &target, &wrong)?;
            let edited = describe(&yun::build(&grid, &target, &options)?) != describe(&network);
            (Lattice { options, network, lowered: None }.into(), OnceLock::from(edited))
        }
        ("yun", _) => {
            let written: WrittenFloat = serde_json::from_value(file).map_err(|error| wrong(&error.to_string()))?;
            let format = format_from_json(&written.format_asked).ok_or_else(|| wrong("format_asked is not one"))?;
            assumptions = lattice::assumptions(&grid, &target, &options, true)?;
            let network = shipped(&written.network)?;
            if network.precision != format.precision {
                return Err(wrong("its network is not one of its target's, or not of its precision"));
            }
            let (lattice, edited) = read_float(network, format, options, &grid, &target)?;
            (lattice.into(), edited)
        }
        ("sum-code" | "sumformer-discrete", precision) => {
            let options = sum_code_options(&common.construction, &file, options.positional).map_err(&wrong)?;
            assumptions = sum_code::assumptions(&grid, &target, &options, true)?;
            let skeleton = (precision != "exact").then(|| serde_json::from_value(file["network"].clone())).transpose();
            let skeleton: Option<Skeleton> = skeleton.map_err(|error| wrong(&error.to_string()))?;
            let shipped = skeleton.as_ref().map(shipped).transpose()?;
            let read = read_sum_code(&file, shipped, &options, &grid, &target);
            let (coded, edited) = read.map_err(|error| wrong(error.headline()))?;
            (coded.into(), OnceLock::from(edited))
        }
        ("learned", _) => {
            let written: WrittenLearned = serde_json::from_value(file).map_err(|error| wrong(&error.to_string()))?;
            let WrittenLearned { attention, network, sumformer: WrittenSizes { phi, psi } } = written;
            let attention = attention.parse().map_err(|_| wrong(&format!("its attention is '{attention}'")))?;
            let read = Learned::read(shipped(&network)?, &grid, (&phi, &psi), attention);
            let (learned, edited) = read.map_err(|error| wrong(error.headline()))?;
            (learned.into(), OnceLock::from(edited))
        }
        (other, _) => return Err(wrong(&format!("construction '{other}', {KNOWN}"))),
    };
    let mut model = Model::new(source, target, grid, assumptions, tolerance, built);
    model.edited = edited;
    model.was_checked(check);
    Ok(model)
}

/// Whether a grid is one of a target's.
fn belongs(grid: &Grid, source: &Source) -> bool {
    source.tokens().is_none_or(|tokens| tokens == grid.tokens())
        && source.dims().is_none_or(|dims| dims == grid.dims())
        && source.resolution().is_none_or(|resolution| resolution == grid.resolution())
        && source.cube() == (grid.low().clone(), grid.high().clone())
}

/// The float network of a folder, for this grid and target and of this precision.
fn read_network(
    dir: &Path,
    skeleton: &Skeleton,
    (grid, target): (&Grid, &Target),
    precision: &str,
    wrong: &impl Fn(&str) -> Error,
) -> Result<FloatNetwork> {
    let weights = dir.join(WEIGHTS);
    let bytes = fs::read(&weights)
        .map_err(|error| Error::input(format!("cannot read {}: {error}", weights.display())).note("try", ANEW))?;
    let network = tensors::from_bytes(&bytes, &weights.display().to_string(), skeleton)?;
    let fits = network.tokens == grid.tokens()
        && network.dims() == grid.dims()
        && network.output_dims() == target.output_dims();
    if !fits {
        return Err(wrong("its network is not one of its target's, or not of its precision"));
    }
    if precision != network.precision.name() {
        return Err(wrong(&format!("it says {precision}, and its network is {}", network.precision)));
    }
    Ok(network)
}

/// A float network by cells, and whether its weights are not the ones that the construction makes, if that is known.
fn read_float(
    shipped: FloatNetwork,
    format: Format,
    options: Options,
    grid: &Grid,
    target: &Arc<Target>,
) -> Result<(Lattice, OnceLock<bool>)> {
    if format.hidden == Hidden::Literal {
        // Whether the weights are the ones that the construction makes is looked at when something is claimed of them.
        let lowering = Lowering::derive(grid, target, &options, format)?;
        let network = lowering.exact(grid, target)?;
        let lowered = Some(Lowered { lowering, network: shipped });
        return Ok((Lattice { options, network, lowered }, OnceLock::new()));
    }
    // What a packed network loses is known only once it has been made.
    let built = lattice::build(grid, target, &options, Some(format))?;
    let edited = built.float() != Some(&shipped);
    let lowered = built.lowered.map(|built| Lowered { network: shipped, ..built });
    Ok((Lattice { lowered, ..built }, OnceLock::from(edited)))
}

/// What of `model.json` says which sum of codes it is.
fn sum_code_options(
    family: &str,
    file: &Value,
    positional: bool,
) -> std::result::Result<sumcode::Options, &'static str> {
    let code = match &file["code"] {
        Value::Null => None,
        Value::String(name) => Some(name.parse().map_err(|_| "its code is not one")?),
        _ => return Err("its code is not one"),
    };
    let attention = match file["attention"].as_str() {
        Some("hardmax") => Realisation::SOFTMAX,
        name => name.and_then(|name| name.parse().ok()).ok_or("its attention is not one")?,
    };
    let values = file["values"].as_str().and_then(|name| name.parse().ok()).ok_or("its value map is not one")?;
    let families = [Family::SumCode, Family::Sumformer];
    let family = families.into_iter().find(|known| known.name() == family).ok_or("its construction is not one")?;
    Ok(sumcode::Options { family, code, values, positional, attention })
}

/// A sum of codes, and whether its weights are not the ones that the construction makes. The stages of an exact one must be: there is no other way
/// to run them.
fn read_sum_code(
    file: &Value,
    shipped: Option<FloatNetwork>,
    options: &sumcode::Options,
    grid: &Grid,
    target: &Arc<Target>,
) -> Result<(SumCoded, bool)> {
    let built = sum_code::build(grid, target, options, shipped.as_ref().map(|network| network.precision))?;
    let Some(shipped) = shipped else {
        let written: Option<WrittenExact> = serde_json::from_value(file.clone()).ok();
        let stages = |written: &WrittenExact| -> Vec<Value> {
            written.stages.iter().map(|stage| json!([stage.name, stage.parameters])).collect()
        };
        let own = describe(&built.network);
        let same = written.is_some_and(|written| {
            let affine = |map: &WrittenAffine| json!([map.weight, map.bias]);
            own == json!([stages(&written), affine(&written.embed), written.pos, affine(&written.read_out)])
        });
        return if same {
            Ok((built, false))
        } else {
            Err(Error::input("its stages are not those that the construction builds"))
        };
    };
    let edited = built.float() != Some(&shipped);
    let lowered = built.lowered.map(|floats| SumCodeFloats { network: shipped, ..floats });
    Ok((SumCoded { lowered, ..built }, edited))
}

/// A circuit with the weights that were shipped. Whether they are the ones that are compiled is looked at when something is claimed.
fn read_circuit(
    (trade, attention, basis): (&str, &str, Option<Basis>),
    shipped: FloatNetwork,
    grid: &Grid,
    target: &Arc<Target>,
    tolerance: &Tolerance,
) -> Result<Circuit> {
    let (Some(eps), Some(norm)) = (&tolerance.eps, tolerance.norm()) else {
        return Err(Error::input("it has no tolerance"));
    };
    let known = [Trade::Width, Trade::Depth].into_iter().find(|known| known.name() == trade);
    let trade = known.ok_or_else(|| Error::input(format!("its trade is '{trade}'")))?;
    let attention = attention.parse().map_err(|_| Error::input(format!("its attention is '{attention}'")))?;
    Circuit::read(shipped, target, grid, eps, &norm, (trade, attention, basis))
}

/// The exact network of a file.
fn read_exact(
    written: WrittenExact,
    grid: &Grid,
    target: &Arc<Target>,
    wrong: &impl Fn(&str) -> Error,
) -> Result<Network> {
    let (width, tokens) = (written.coordinates.len(), grid.tokens());
    let mut stages = Vec::new();
    for stage in written.stages {
        let place = |what: &str| wrong(&format!("stage '{}': {what}", stage.name));
        let read = yun::read_stage(&stage.name, stage.parameters, grid, target).map_err(|what| place(&what))?;
        if read.generator.width() != width {
            return Err(place(&format!("it acts on {} coordinates of {width}", read.generator.width())));
        }
        stages.push(read);
    }
    let coordinate = |WrittenCoordinate { name, meaning }| Coordinate { name, meaning };
    let network = Network {
        tokens,
        coordinates: written.coordinates.into_iter().map(coordinate).collect(),
        embed: affine(written.embed, width, grid.dims()).ok_or_else(|| wrong("the embedding's shape"))?,
        positions: written.pos,
        stages,
        read_out: affine(written.read_out, target.output_dims(), width).ok_or_else(|| wrong("the read-out's shape"))?,
    };
    let fits = |positions: &Matrix| positions.len() == tokens && positions.iter().all(|row| row.len() == width);
    if network.positions.as_ref().is_none_or(fits) { Ok(network) } else { Err(wrong("the positions' shape")) }
}

/// Everything that the network computes with.
fn describe(network: &Network) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of one process, and calls of one thread, write beside each other.
    #[test]
    fn every_call_writes_under_a_name_of_its_own() {
        let name = || beside(Path::new("models/one"), "new").expect("a name");
        let names =
            std::thread::scope(|scope| [scope.spawn(name), scope.spawn(name)].map(|one| one.join().expect("a name")));
        assert_ne!(names[0], names[1]);
        assert_ne!(name(), name());
        assert!(names.iter().all(|name| name.parent() == Some(Path::new("models"))));
    }
}
