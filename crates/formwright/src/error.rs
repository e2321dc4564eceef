//! The one error type: the error, its place, a witness, the hypothesis, one suggestion.

use std::fmt::{self, Write as _};

use crate::option::Front;

/// The three kinds of failure; the command line turns each into an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A claim was checked and does not hold, or a tolerance is not met.
    Rejected,
    /// The request lies outside the hypotheses of the construction.
    Declined,
    /// The request itself is malformed: an option, a file, a number.
    Input,
}

/// An error, printed as a headline and labelled lines below it. Its texts name options as [`Front`] reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    headline: String,
    notes: Vec<(&'static str, String)>,
}

/// The result of everything that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of a malformed request.
    pub fn input(headline: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Input, headline: headline.into(), notes: Vec::new() }
    }

    /// An error of a request that lies outside the hypotheses.
    pub fn declined(headline: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Declined, headline: headline.into(), notes: Vec::new() }
    }

    /// An error of a claim that does not hold.
    pub fn rejected(headline: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Rejected, headline: headline.into(), notes: Vec::new() }
    }

    /// Adds a labelled line; an empty label continues the line above it.
    pub fn note(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.notes.push((label, text.into()));
        self
    }

    /// Adds a labelled line above the others.
    pub fn note_first(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.notes.insert(0, (label, text.into()));
        self
    }

    /// Removes the lines with a label.
    pub fn without(mut self, label: &str) -> Self {
        self.notes.retain(|(known, _)| *known != label);
        self
    }

    /// The error as the users of a front end read it.
    pub fn told(&self, front: Front) -> Self {
        let notes = self.notes.iter().map(|(label, text)| (*label, front.shows(text))).collect();
        Self { kind: self.kind, headline: front.shows(&self.headline), notes }
    }

    /// The headline and the lines below it as they are written: options are left to a [`Front`].
    pub fn written(&self) -> String {
        let mut written = self.headline.clone();
        for (label, text) in &self.notes {
            for (i, line) in text.lines().enumerate() {
                let label = if i == 0 { label } else { "" };
                let _ = write!(written, "\n  {label:<8} {line}");
            }
        }
        written
    }

    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The error, in one line.
    pub fn headline(&self) -> &str {
        &self.headline
    }

    /// The labelled lines.
    pub fn notes(&self) -> &[(&'static str, String)] {
        &self.notes
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Front::Library.shows(&self.written()))
    }
}

impl std::error::Error for Error {}

/// `did you mean …` for a name that is not in the list: the nearest by edit distance, if it is near enough or begins
/// alike.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One letter in three may be wrong: with more, every short name would be near to every other.
    let length = name.chars().count();
    let close = length.div_ceil(3);
    let begins_alike = |other: &str| {
        length > 3 && name.chars().zip(other.chars()).take_while(|(a, b)| a == b).count() + close >= length
    };
    known
        .into_iter()
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= close || begins_alike(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let shortest = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if swapped { shortest.min(rows[i - 2][j - 2] + 1) } else { shortest }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_only_when_it_is_near() {
        let known = ["mean-centring", "sort", "reverse"];
        assert_eq!(nearest("mean-centering", known), Some("mean-centring"));
        assert_eq!(nearest("srot", known), Some("sort"));
        assert_eq!(nearest("maen", ["min", "mean"]), Some("mean"), "a swap is one slip");
        assert_eq!(nearest("q", known), None);
        assert_eq!(nearest("avg", ["log", "abs", "var"]), None);
        assert_eq!(nearest("hello", ["relu"]), None);
        assert_eq!(nearest("sun", ["sin", "sum"]), Some("sin"));
        assert_eq!(nearest("xyzzy-plugh", known), None);
    }
}
