//! A target from what a user writes.

use std::path::Path;

use crate::construct::names;
use crate::error::{Error, Result, nearest};
use crate::files::read_file;
use crate::input::parse_json;
use crate::target::{Source, catalogue};

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
                    .note("try", format!("formwright build TARGET ⟨construction={text}⟩")));
            }
            Err(match nearest(text, catalogue::names()) {
                Some(near) => error.note("try", format!("{near}, or formwright targets for the whole list")),
                None => error.note("try", "formwright targets for the list of built-in names"),
            })
        }
        Err(error) => Err(error),
    }
}
