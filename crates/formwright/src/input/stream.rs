//! Sequences one after another: however many there are, only one is in memory.
//!
//! A batch in JSON is cut at the commas of its outer array; the text between them is read as any JSON is, and an error
//! is reported with its place in the whole. A batch in `.npy` is recognised by its first byte, with which no JSON
//! begins; see `npy.rs`.

use std::io::{self, BufRead, Read};

use serde_json::Value;

use super::npy::{self, Npy};
use super::{array, not_json, nothing, parse, sequence, shape};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::exact::Sequence;

/// The longest text of one sequence.
const MOST_BYTES: usize = 1 << 26;

/// The sequences of a file, read one by one.
pub struct Sequences<R> {
    reader: R,
    name: String,
    tokens: (usize, usize),
    dims: usize,
    /// The number of sequences read.
    count: usize,
    format: Shape,
    /// The position of the next byte of a text: lines before it, bytes before it in its line.
    at: (usize, usize),
}

enum Shape {
    /// JSON, before its first byte.
    Json,
    /// Inside of the outer array.
    Array,
    Npy(Npy),
    /// There is no more.
    Ended,
}

/// The sign after a sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Comma,
    Bracket,
    Nothing,
}

impl<R: BufRead> Sequences<R> {
    /// The sequences of a reader, each with at least `tokens.0` tokens and at most `tokens.1`; errors call it `name`.
    pub fn new(mut reader: R, name: &str, tokens: (usize, usize), dims: usize) -> Result<Self> {
        let first = reader.fill_buf().map_err(|error| unreadable(name, &error))?.first().copied();
        let format = if first == npy::MAGIC.first().copied() {
            Shape::Npy(Npy::read(&mut reader, name, tokens, dims)?)
        } else {
            Shape::Json
        };
        Ok(Self { reader, name: name.to_owned(), tokens, dims, count: 0, format, at: (0, 0) })
    }

    /// The next sequences, with about this many numbers in all; none if there are no more.
    pub fn some(&mut self, numbers: usize) -> Result<Vec<Sequence>> {
        let (mut some, mut held) = (Vec::new(), 0);
        while held < numbers {
            let Some(x) = self.one()? else { break };
            held += x.len() * self.dims;
            some.push(x);
        }
        Ok(some)
    }

    /// The next sequence; `None` if there are no more.
    pub fn one(&mut self) -> Result<Option<Sequence>> {
        let one = match &mut self.format {
            Shape::Ended => None,
            Shape::Npy(array) => array.one(&mut self.reader, &self.name, self.count)?,
            Shape::Json => {
                self.begin()?;
                Some(self.element()?)
            }
            Shape::Array => Some(self.element()?),
        };
        if one.is_some() {
            self.count += 1;
        } else {
            self.format = Shape::Ended;
        }
        Ok(one)
    }

    /// Reads the bracket of the outer array, which is not empty.
    fn begin(&mut self) -> Result<()> {
        if self.skip_space()? != Some(b'[') {
            return Err(self.no_array()?);
        }
        self.take(1);
        self.format = Shape::Array;
        if self.skip_space()? != Some(b']') {
            return Ok(());
        }
        self.take(1);
        self.end()?;
        Err(Error::input("the input is an empty batch").note("expected", shape(self.tokens, self.dims)))
    }

    /// Reads a sequence, with the comma or the bracket after it.
    fn element(&mut self) -> Result<Sequence> {
        if self.skip_space()? == Some(b']') {
            return Err(self.malformed("trailing comma"));
        }
        let start = self.at;
        let (text, behind) = self.text()?;
        let read = match quick(&text).filter(|x| self.fits(x)) {
            Some(x) => x,
            None => self.slow(&text, start, behind)?,
        };
        match behind {
            Behind::Comma => {}
            Behind::Bracket => self.end()?,
            Behind::Nothing => return Err(self.malformed("EOF while parsing a list")),
        }
        Ok(read)
    }

    fn fits(&self, x: &Sequence) -> bool {
        (self.tokens.0..=self.tokens.1).contains(&x.len()) && x.iter().all(|token| token.len() == self.dims)
    }

    /// Reads a sequence as any JSON, and reports any error in it.
    fn slow(&self, text: &str, start: (usize, usize), behind: Behind) -> Result<Sequence> {
        let value = parse(text).map_err(|error| {
            // The element does not end where this text ends.
            let found = (error.is_eof() && behind != Behind::Nothing).then_some("expected value");
            let column = if error.line() <= 1 { start.1 + error.column() } else { error.column() };
            not_json(&self.name, &error, found, (start.0 + error.line().max(1), column))
        })?;
        // A length that is not allowed is compared with the nearest that is.
        let found = value.as_array().map_or(self.tokens.0, Vec::len);
        sequence(&value, found.clamp(self.tokens.0, self.tokens.1), self.dims, || format!("sequence {}", self.count))
            .map_err(|error| error.note("expected", shape(self.tokens, self.dims)))
    }

    /// The text up to the comma or the bracket after a sequence, which is consumed as well.
    fn text(&mut self) -> Result<(String, Behind)> {
        let (mut text, mut depth, mut in_string, mut escaped) = (Vec::new(), 0_usize, false, false);
        let mut behind = Behind::Nothing;
        while behind == Behind::Nothing {
            let bytes = self.reader.fill_buf().map_err(|error| unreadable(&self.name, &error))?;
            if bytes.is_empty() {
                break;
            }
            let end = bytes.iter().position(|byte| {
                if in_string {
                    in_string = escaped || *byte != b'"';
                    escaped = !escaped && *byte == b'\\';
                    return false;
                }
                match byte {
                    b'"' => in_string = true,
                    b'[' | b'{' => depth += 1,
                    b',' | b']' if depth == 0 => {
                        behind = if *byte == b',' { Behind::Comma } else { Behind::Bracket };
                        return true;
                    }
                    b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                false
            });
            let (held, taken) = end.map_or((bytes.len(), bytes.len()), |end| (end, end + 1));
            text.extend_from_slice(&bytes[..held]);
            self.take(taken);
            if text.len() > MOST_BYTES {
                let (count, name) = (self.count, &self.name);
                return Err(Error::input(format!("sequence {count} of {name} is longer than {MOST_BYTES} bytes"))
                    .note("try", "shorter sequences, or .npy"));
            }
        }
        let text = String::from_utf8(text).map_err(|_| not_text(&self.name))?;
        Ok((text, behind))
    }

    /// Checks that nothing follows the outer array.
    fn end(&mut self) -> Result<()> {
        if self.skip_space()?.is_some() {
            return Err(self.malformed("trailing characters"));
        }
        self.format = Shape::Ended;
        Ok(())
    }

    /// The next byte that is not a space, without consuming it.
    fn skip_space(&mut self) -> Result<Option<u8>> {
        loop {
            let bytes = self.reader.fill_buf().map_err(|error| unreadable(&self.name, &error))?;
            let found = bytes.iter().position(|byte| !b" \t\r\n".contains(byte));
            let (skipped, next) = (found.unwrap_or(bytes.len()), found.map(|found| bytes[found]));
            let empty = bytes.is_empty();
            self.take(skipped);
            if empty || next.is_some() {
                return Ok(next);
            }
        }
    }

    /// Consumes this many of the buffered bytes, and keeps track of the position.
    fn take(&mut self, count: usize) {
        // The buffer is returned again, and nothing is read.
        if let Ok(bytes) = self.reader.fill_buf() {
            let bytes = &bytes[..count.min(bytes.len())];
            match bytes.iter().rev().position(|byte| *byte == b'\n') {
                Some(behind) => {
                    let lines = bytes.split(|byte| *byte == b'\n').count() - 1;
                    self.at = (self.at.0 + lines, behind);
                }
                None => self.at.1 += bytes.len(),
            }
        }
        self.reader.consume(count);
    }

    /// The error of a file that holds no array.
    fn no_array(&mut self) -> Result<Error> {
        let mut text = Vec::new();
        let read = (&mut self.reader).take(MOST_BYTES as u64).read_to_end(&mut text);
        read.map_err(|error| unreadable(&self.name, &error))?;
        let text = String::from_utf8(text).map_err(|_| not_text(&self.name))?;
        if text.is_empty() {
            return Ok(nothing(&self.name));
        }
        let start = self.at;
        let value: Value = parse(&text).map_err(|error| {
            let column = if error.line() <= 1 { start.1 + error.column() } else { error.column() };
            not_json(&self.name, &error, None, (start.0 + error.line().max(1), column))
        })?;
        array(&value, || "the input".to_owned()).map(|_| self.malformed("expected value"))
    }

    /// The error of a text that is not JSON; `found` describes what stands here.
    fn malformed(&self, found: &str) -> Error {
        let (line, column) = (self.at.0 + 1, self.at.1 + usize::from(!found.starts_with("EOF")));
        Error::input(format!("{} is not JSON", self.name))
            .note("at", format!("line {line}, column {column}"))
            .note("found", format!("{found} at line {line} column {column}"))
    }
}

fn unreadable(name: &str, error: &io::Error) -> Error {
    Error::input(format!("cannot read {name}: {error}"))
}

fn not_text(name: &str) -> Error {
    Error::input(format!("cannot read {name}: stream did not contain valid UTF-8"))
}

/// A sequence of numbers and plain strings; `None` for anything else, which [`Sequences::slow`] reads or refuses.
fn quick(text: &str) -> Option<Sequence> {
    let mut rest = text;
    let x = listed(&mut rest, |rest| listed(rest, entry))?;
    rest.trim_start_matches(SPACE).is_empty().then_some(x)
}

const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// `[…, …]`, with at least one entry.
fn listed<T>(rest: &mut &str, one: impl Fn(&mut &str) -> Option<T>) -> Option<Vec<T>> {
    *rest = rest.trim_start_matches(SPACE).strip_prefix('[')?;
    let mut all = Vec::new();
    loop {
        all.push(one(rest)?);
        *rest = rest.trim_start_matches(SPACE);
        if let Some(more) = rest.strip_prefix(',') {
            *rest = more;
        } else {
            *rest = rest.strip_prefix(']')?;
            return Some(all);
        }
    }
}

/// A number, or a string that holds one without escapes.
fn entry(rest: &mut &str) -> Option<Rat> {
    let text = rest.trim_start_matches(SPACE);
    if let Some(quoted) = text.strip_prefix('"') {
        let (inner, behind) = quoted.split_once('"')?;
        *rest = behind;
        let plain = !inner.contains(|c: char| c == '\\' || c.is_control());
        return plain.then(|| inner.trim().parse().ok()).flatten();
    }
    let length = text.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(text.len());
    let (number, behind) = text.split_at(length);
    *rest = behind;
    is_json_number(number).then(|| number.parse().ok()).flatten()
}

/// `-? (0 | 1-9 digits) (. digits)? (e ±? digits)?`
fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) =
        text.split_once(['e', 'E']).map_or((text, "0"), |(mantissa, exponent)| (mantissa, exponent));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && digits(fraction)
        && digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;
    use crate::input::{batch, parse_json};

    /// Reads a few bytes at a time, so that every state occurs at the end of the buffer.
    fn streamed(text: &[u8], tokens: (usize, usize), dims: usize) -> Result<Vec<Sequence>> {
        let mut read = None;
        for capacity in [1, 3, 4096] {
            let reader = BufReader::with_capacity(capacity, text);
            let mut sequences = Sequences::new(reader, "the input", tokens, dims)?;
            let mut all = Vec::new();
            let found = loop {
                match sequences.one() {
                    Ok(Some(x)) => all.push(x),
                    Ok(None) => break Ok(std::mem::take(&mut all)),
                    Err(error) => break Err(error),
                }
            };
            assert_eq!(*read.get_or_insert_with(|| found.clone()), found, "by {capacity} bytes");
        }
        read.expect("it was read")
    }

    fn whole(text: &str, tokens: (usize, usize), dims: usize) -> Result<Vec<Sequence>> {
        batch(&parse_json(text, "the input")?, tokens, dims)
    }

    #[test]
    fn a_stream_is_the_batch_that_it_would_be_in_one_piece() {
        for text in [
            "[[[0.1],[\"3/8\"]]]",
            " [ [[0.1 ] , [\" 3/8 \"]],\n[[1e-3],\t[-0.0E+2]] ]\n",
            "[[[0.3333333333333333333333333],[1e-3]]]",
            "[[[\"\\u0031\"],[2]]]",
        ] {
            assert_eq!(streamed(text.as_bytes(), (1, 2), 1), whole(text, (1, 2), 1), "{text}");
        }
        assert_eq!(streamed(b"[[[0,1]],[[2,3],[4,5]]]", (1, 2), 2).expect("a batch").len(), 2);
    }

    #[test]
    fn what_is_wrong_is_told_as_it_is_in_one_piece() {
        for text in [
            "",
            "  ",
            "[]",
            "3",
            "{}",
            "nonsense",
            "[[[0],[NaN]]]",
            "[[[0],[1]],[[-Infinity],[0]]]",
            "[[[0]]]",
            "[[[0],[1],[2]]]",
            "[[[0],[1,2]]]",
            "[[[0],[null]]]",
            "[[[0],[\"a\"]]]",
            "[[[0],[1e999999]]]",
            "[[]]",
            "[1]",
            "[{}]",
            "[[[0],",
            "[[[0],[1]]",
            "[[[0],[1]]] x",
            "[[[0],\n[1.]]]",
            "[[[0],[01]]]",
            "[[[0],[+1]]]",
            "[[[0],[.5]]]",
            "[[[0],[-]]]",
            "[[[0],[1e]]]",
            "[[[0][1]]]",
            "[[[0],[1]],]",
            "[[[0],[1]],\n",
        ] {
            let (found, expected) = (streamed(text.as_bytes(), (2, 2), 1), whole(text, (2, 2), 1));
            let (found, expected) = (found.expect_err(text), expected.expect_err(text));
            assert_eq!(found.headline(), expected.headline(), "{text}");
            assert_eq!(found.to_string(), expected.to_string(), "{text}");
        }
        assert!(streamed(b"[[[0],[\"\xff\"]]]", (2, 2), 1).expect_err("no text").to_string().contains("UTF-8"));
    }

    #[test]
    fn what_comes_before_a_mistake_has_come() {
        let mut sequences = Sequences::new(&b"[[[0],[1]],\n [[0],[x]]]"[..], "the input", (2, 2), 1).expect("a stream");
        assert_eq!(sequences.some(2).map(|some| some.len()), Ok(1));
        let error = sequences.some(2).expect_err("no number").to_string();
        assert!(error.contains("line 2, column 8"), "{error}");
    }

    #[test]
    fn a_sequence_without_end_is_refused_before_it_fills_the_memory() {
        let endless = BufReader::new(io::repeat(b'[').take(u64::MAX));
        let mut sequences = Sequences::new(endless, "the input", (1, 2), 1).expect("a stream");
        let error = sequences.one().expect_err("endless");
        assert_eq!(error.headline(), "sequence 0 of the input is longer than 67108864 bytes");
    }
}
