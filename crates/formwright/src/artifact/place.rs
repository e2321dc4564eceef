//! The place of a folder that may be written, and writing it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use super::document::to_json;
use super::{CERTIFICATE, Contents, EXPLORE, FILES, FORMAT, GENERATOR, MODEL, REPORT, TARGET, WEIGHTS, text};
use crate::error::{Error, Result};
use crate::files::{beside, write_files};
use crate::model::Model;
use crate::report;
use crate::target::Source;

impl Contents {
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

    /// True if a folder holds this model: its target, weights and certificate, byte by byte. What an exact model
    /// computes stands in `model.json`.
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

    /// Writes the page of a model's folder, in place of the one that is there; where it is.
    pub fn write_report(dir: &Path, page: &str) -> Result<PathBuf> {
        write_page(dir.join(REPORT), page)
    }

    /// Writes the page to try of a model's folder, in place of the one that is there, and of nothing else; where it is.
    pub fn write_explore(dir: &Path, page: &str) -> Result<PathBuf> {
        let file = dir.join(EXPLORE);
        if !is_explore_ours(dir) {
            return Err(Error::input(format!(
                "{} is no page of formwright explore, and was left as it is",
                file.display()
            ))
            .note("try", "another file, with -o"));
        }
        write_page(file, page)
    }
}

fn write_page(file: PathBuf, page: &str) -> Result<PathBuf> {
    let fail = |error: io::Error| Error::input(format!("cannot write {}: {error}", file.display()));
    let new = beside(&file, "new")?;
    let placed = fs::write(&new, page).and_then(|()| fs::rename(&new, &file)).map_err(fail);
    if placed.is_err() {
        // The error that is reported is the one that came first.
        drop(fs::remove_file(&new));
    }
    placed.map(|()| file)
}

/// The path that a folder is to be written to; refused if something is there that is not to be replaced.
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

/// Refuses a folder that could not be written, before any work is done for it: something is there that is not to be
/// replaced; or, with a target, a model of another one, as [`Contents::write`] refuses it.
pub fn check_place(dir: &Path, source: Option<&Source>) -> Result<()> {
    replaceable(dir)?;
    source.map_or(Ok(()), |source| check_target(dir, source))
}

fn check_target(dir: &Path, source: &Source) -> Result<()> {
    let same = |there: Vec<u8>| there == text(&source.to_json());
    if holds_model(dir) && !fs::read(dir.join(TARGET)).is_ok_and(same) { Err(occupied(dir)) } else { Ok(()) }
}

/// True if there is a model of ours in a folder.
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
        .note("there", format!("{target}, by {construction} in {precision}, for ⟨tokens={tokens}⟩"))
        .note("try", "another folder, or ⟨force⟩, which replaces it")
}

/// How much of a word of a file a message shows.
const MOST_SHOWN: usize = 80;

/// True if a folder is empty, or holds a model of ours and nothing else.
fn is_replaceable(dir: &Path) -> io::Result<bool> {
    if !dir.is_dir() {
        return Ok(false);
    }
    let names = fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<Vec<_>>>()?;
    let ours = names.iter().all(|name| FILES.iter().any(|file| name == file)) && is_explore_ours(dir);
    Ok(names.is_empty() || ours && holds_model(dir))
}

/// True if a folder has no file of the name of its page to try, or one that is such a page.
fn is_explore_ours(dir: &Path) -> bool {
    let file = dir.join(EXPLORE);
    let is_page = |text: String| text.contains(&format!("<meta name=\"generator\" content=\"{GENERATOR}\">"));
    fs::symlink_metadata(&file).is_err() || fs::read_to_string(file).is_ok_and(is_page)
}
