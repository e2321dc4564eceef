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
use std::sync::{Arc, OnceLock};
use std::{fs, io};

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::construct::{families, names};
use crate::error::{Error, Result, nearest};
use crate::exact::Rat;
pub use crate::files::{beside, check_new, write_new, write_new_folder};
use crate::files::{read_file, write_files};
use crate::input::parse_json;
use crate::lattice::Grid;
use crate::model::{ANEW, Check, Family, Folder, Model, Stated, Tolerance};
use crate::network::{Affine, FloatNetwork};
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
            if names().contains(&text) {
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
    model.built.write(&mut file);
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

#[derive(Deserialize)]
struct WrittenTolerance {
    eps: Option<Rat>,
    norm: Option<String>,
    lipschitz: Option<Rat>,
}

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
    let everywhere = match common.domain.as_str() {
        "box" => false,
        "all" => true,
        other => return Err(wrong(&format!("domain '{other}', expected box or all"))),
    };
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
    let network = || {
        let written = file.get("network").ok_or_else(|| wrong("missing field `network`"))?;
        let skeleton = serde_json::from_value(written.clone()).map_err(|error| wrong(&error.to_string()))?;
        read_network(dir, &skeleton, (&grid, &target), &common.precision, &wrong)
    };
    let family = families().into_iter().find(|family| family.name() == common.construction).ok_or_else(|| {
        let known: Vec<&str> = families().into_iter().map(Family::name).collect();
        wrong(&format!("construction '{}', expected one of {}", common.construction, known.join(", ")))
    })?;
    let read = family.read(&Folder {
        path: &path,
        file: &file,
        positional: common.positional,
        as_printed: &common.as_printed,
        everywhere,
        precision: &common.precision,
        grid: &grid,
        target: &target,
        tolerance: &tolerance,
        network: &network,
    })?;
    let mut model =
        Model::new(source, Arc::clone(&target), grid.clone(), read.assumptions, tolerance.clone(), read.built);
    model.edited = read.edited.map_or_else(OnceLock::new, OnceLock::from);
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
