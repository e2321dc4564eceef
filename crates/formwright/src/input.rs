//! Numbers and sequences in JSON: exact, and with the place of any error.
//!
//! A number is a JSON number, taken exactly as written (`0.1` is one tenth), or a string with an exact number
//! (`"3/8"`). A batch is `[batch][tokens][dims]`; it is read whole, or sequence by sequence, then also from `.npy`.

pub mod npy;
mod stream;

pub use stream::Sequences;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::network::Sequence;

/// Parses JSON. The bare words `NaN`, `Infinity` and `-Infinity`, which some writers emit, are read as strings, so that
/// the reader of a number can report their place.
pub(crate) fn parse_json(text: &str, name: &str) -> Result<Value> {
    if text.trim().is_empty() {
        return Err(nothing(name));
    }
    parse(text).map_err(|error| not_json(name, &error, None, (error.line(), error.column())))
}

fn nothing(name: &str) -> Error {
    Error::input(format!("{name} is empty, and JSON is expected"))
}

fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&quote_bare_words(text))
}

/// The error of a text that is not JSON, at this line and column of the whole; `found` replaces the parser's words.
fn not_json(name: &str, error: &serde_json::Error, found: Option<&str>, (line, column): (usize, usize)) -> Error {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let found = found.unwrap_or_else(|| text.strip_suffix(&place).unwrap_or(&text));
    Error::input(format!("{name} is not JSON"))
        .note("at", format!("line {line}, column {column}"))
        .note("found", format!("{found} at line {line} column {column}"))
}

fn quote_bare_words(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if character == '"' {
            in_string = true;
        } else if let Some(word) = ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| rest.starts_with(word)) {
            quoted.extend(['"']);
            quoted.push_str(word);
            quoted.extend(['"']);
            rest = &rest[word.len()..];
            continue;
        }
        quoted.push(character);
        rest = &rest[character.len_utf8()..];
    }
    quoted
}

/// An exact number; `place` describes its place.
pub(crate) fn number(value: &Value, place: impl Fn() -> String) -> Result<Rat> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        other => {
            return Err(Error::input(format!("{} is {}", place(), kind_of(other)))
                .note("expected", "a number such as 0.125, or an exact one in quotes such as \"3/8\""));
        }
    };
    text.trim().parse().map_err(|error| {
        let shown =
            if text.len() > 40 { format!("{}…", text.chars().take(40).collect::<String>()) } else { text.clone() };
        Error::input(format!("{} is '{shown}': {error}", place()))
    })
}

/// A sequence `[tokens][dims]`.
pub(crate) fn sequence(value: &Value, tokens: usize, dims: usize, place: impl Fn() -> String) -> Result<Sequence> {
    let rows = array(value, &place)?;
    if rows.len() != tokens {
        return Err(Error::input(format!("{} has {} tokens, expected {tokens}", place(), rows.len())));
    }
    let token = |(j, row): (usize, &Value)| {
        let at = || format!("{}, token {j}", place());
        let row = array(row, at)?;
        if row.len() != dims {
            return Err(Error::input(format!("{} has {} coordinates, expected {dims}", at(), row.len())));
        }
        row.iter().enumerate().map(|(k, entry)| number(entry, || format!("{}, coordinate {k}", at()))).collect()
    };
    rows.iter().enumerate().map(token).collect()
}

/// A batch of at least one sequence, each with at least `tokens.0` tokens and at most `tokens.1`.
pub(crate) fn batch(value: &Value, tokens: (usize, usize), dims: usize) -> Result<Vec<Sequence>> {
    let sequences = array(value, || "the input".to_owned())?;
    if sequences.is_empty() {
        return Err(Error::input("the input is an empty batch").note("expected", shape(tokens, dims)));
    }
    let one = |(b, x): (usize, &Value)| {
        // A length that is not allowed is compared with the nearest that is.
        let found = x.as_array().map_or(tokens.0, Vec::len);
        sequence(x, found.clamp(tokens.0, tokens.1), dims, || format!("sequence {b}"))
    };
    let batch = sequences.iter().enumerate().map(one).collect::<Result<_>>();
    batch.map_err(|error| error.note("expected", shape(tokens, dims)))
}

fn shape((least, most): (usize, usize), dims: usize) -> String {
    let tokens = if least == most { least.to_string() } else { format!("{least} to {most}") };
    format!("[batch][tokens: {tokens}][coordinates: {dims}]")
}

fn array(value: &Value, place: impl Fn() -> String) -> Result<&Vec<Value>> {
    value.as_array().ok_or_else(|| Error::input(format!("{} is {}, expected an array", place(), kind_of(value))))
}

/// The kind of a JSON value, in words.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Sequence>> {
        batch(&parse_json(text, "the input")?, (2, 2), 1)
    }

    #[test]
    fn numbers_are_taken_as_written() {
        let expected = vec![vec![vec![Rat::new(1, 10)], vec![Rat::new(3, 8)]]];
        assert_eq!(read(r#"[[[0.1],["3/8"]]]"#).expect("a batch"), expected);
        let fine = "[[[0.3333333333333333333333333],[1e-3]]]";
        assert_eq!(
            read(fine).expect("a batch")[0][0][0].to_string(),
            "3333333333333333333333333/10000000000000000000000000"
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, expected) in [
            ("[[[0],[NaN]]]", "sequence 0, token 1, coordinate 0 is 'NaN': not a finite number"),
            ("[[[0],[1]],[[-Infinity],[0]]]", "sequence 1, token 0, coordinate 0 is '-Infinity': not a finite number"),
            ("[]", "the input is an empty batch"),
            ("3", "the input is a number, expected an array"),
            ("[[[0]]]", "sequence 0 has 1 tokens, expected 2"),
            ("[[[0],[1,2]]]", "sequence 0, token 1 has 2 coordinates, expected 1"),
            ("[[[0],[null]]]", "sequence 0, token 1, coordinate 0 is null"),
            ("[[[0],[\"a\"]]]", "sequence 0, token 1, coordinate 0 is 'a': not a number"),
            ("[[[0],[1e999999]]]", "sequence 0, token 1, coordinate 0 is '1e+999999': a number of more than"),
            ("[[[0],", "the input is not JSON"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.headline().starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn lengths_may_differ_within_their_range() {
        let read = |text: &str| batch(&parse_json(text, "the input")?, (1, 3), 1);
        assert_eq!(read("[[[0]],[[0],[1],[2]]]").expect("a batch").iter().map(Vec::len).collect::<Vec<_>>(), [1, 3]);
        let error = read("[[[0]],[[0],[1],[2],[3]]]").expect_err("too long");
        assert!(error.to_string().contains("sequence 1 has 4 tokens, expected 3"), "{error}");
        assert!(error.to_string().contains("[tokens: 1 to 3]"), "{error}");
        assert!(read("[[]]").is_err());
    }

    #[test]
    fn words_inside_strings_are_left_alone() {
        assert_eq!(quote_bare_words(r#"["NaN \" NaN", NaN]"#), r#"["NaN \" NaN", "NaN"]"#);
    }
}
