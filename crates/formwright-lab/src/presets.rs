//! The experiments that come with the lab.

use formwright::error::{Error, Result, nearest};

/// A name and a file.
pub const PRESETS: &[(&str, &str)] = &[
    ("quick", include_str!("presets/quick.toml")),
    ("figure1", include_str!("presets/figure1.toml")),
    ("figure2", include_str!("presets/figure2.toml")),
    ("construction", include_str!("presets/construction.toml")),
    ("words", include_str!("presets/words.toml")),
    ("table1-small", include_str!("presets/table1-small.toml")),
    ("figure1-small", include_str!("presets/figure1-small.toml")),
    ("sparse-small", include_str!("presets/sparse-small.toml")),
    ("pairs-small", include_str!("presets/pairs-small.toml")),
    ("questions-small", include_str!("presets/questions-small.toml")),
];

/// A preset by its name.
pub fn find(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The text of an experiment: a preset's, or a file's.
pub fn text(name: &str) -> Result<String> {
    if let Some(text) = find(name) {
        return Ok(text.to_owned());
    }
    std::fs::read_to_string(name).map_err(|error| {
        let failed = Error::input(format!("cannot read the experiment {name}: {error}"));
        match nearest(name, PRESETS.iter().map(|(known, _)| *known)) {
            Some(known) => failed.note("try", format!("did you mean '{known}'?")),
            None => failed.note("try", "formwright lab list shows the experiments that come with the lab"),
        }
    })
}
