//! Arrays of numpy, `.npy`: version 1.0, little-endian `f4` or `f8`, in C order, of the shape `(batch, tokens, dims)`.
//!
//! ```text
//! \x93NUMPY 1 0   two bytes: the length of the rest of the header
//! {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 1), }  spaces \n   the numbers
//! ```

use std::fs::File;
use std::io::{self, BufRead, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::shape;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::exact::Sequence;
use crate::network::Precision;

/// The first bytes of a file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The bytes of a header as it is written here; the numbers begin at a multiple of 64.
const HEADER: usize = 128;

/// An array that is being read.
pub(crate) struct Npy {
    precision: Precision,
    shape: [usize; 3],
}

impl Npy {
    /// Reads the header of an array that holds such sequences.
    pub(super) fn read(reader: &mut impl BufRead, name: &str, tokens: (usize, usize), dims: usize) -> Result<Self> {
        let wrong = |what: &str| {
            Error::input(format!("{name} is no array that is read: {what}"))
                .note("expected", "numpy's format 1.0, '<f4' or '<f8', in the order of C")
                .note("try", "numpy.save(file, numpy.ascontiguousarray(x, dtype='<f8'))")
        };
        let mut head = [0; 10];
        reader.read_exact(&mut head).map_err(|_| wrong("it ends in its header"))?;
        if !head.starts_with(MAGIC) {
            return Err(wrong("it does not begin with \\x93NUMPY"));
        }
        if head[6..8] != [1, 0] {
            return Err(wrong(&format!("its format is {}.{}", head[6], head[7])));
        }
        let mut header = vec![0; usize::from(u16::from_le_bytes([head[8], head[9]]))];
        reader.read_exact(&mut header).map_err(|_| wrong("it ends in its header"))?;
        let text = std::str::from_utf8(&header).map_err(|_| wrong("its header is no text"))?;
        let (descr, fortran, sides) = fields(text).ok_or_else(|| wrong(&format!("its header is {:?}", text.trim())))?;
        let precision = match descr {
            "<f4" => Precision::F32,
            "<f8" => Precision::F64,
            other => return Err(wrong(&format!("its numbers are '{other}'"))),
        };
        if fortran {
            return Err(wrong("it is in the order of Fortran"));
        }
        let misfit = |what: String| {
            Error::input(format!("{name} has the shape {sides:?}: {what}")).note("expected", shape(tokens, dims))
        };
        let [count, found, coordinates] = sides[..] else {
            return Err(misfit(format!("{} axes, expected 3", sides.len())));
        };
        if count == 0 {
            return Err(misfit("an empty batch".to_owned()));
        }
        if !(tokens.0..=tokens.1).contains(&found) {
            return Err(misfit(format!("{found} tokens, expected {}", found.clamp(tokens.0, tokens.1))));
        }
        if coordinates != dims {
            return Err(misfit(format!("{coordinates} coordinates, expected {dims}")));
        }
        Ok(Self { precision, shape: [count, found, coordinates] })
    }

    /// The sequence with this number; `None` after the last, where nothing may follow.
    pub(super) fn one(&self, reader: &mut impl BufRead, name: &str, number: usize) -> Result<Option<Sequence>> {
        let [_, _, dims] = self.shape;
        let Some(numbers) = self.numbers(reader, name, number)? else { return Ok(None) };
        let entry = |(place, value): (usize, f64)| {
            Rat::from_f64(value).ok_or_else(|| {
                let (token, coordinate) = (place / dims, place % dims);
                let at = format!("sequence {number}, token {token}, coordinate {coordinate}");
                Error::input(format!("{at} is '{value}': not a finite number"))
            })
        };
        let flat = numbers.into_iter().enumerate().map(entry).collect::<Result<Vec<Rat>>>()?;
        Ok(Some(flat.chunks_exact(dims).map(<[Rat]>::to_vec).collect()))
    }

    /// All numbers of an array of `count` sequences, finite or not.
    pub(crate) fn floats(
        mut reader: impl BufRead,
        name: &str,
        count: usize,
        tokens: (usize, usize),
        dims: usize,
    ) -> Result<Vec<f64>> {
        let array = Self::read(&mut reader, name, tokens, dims)?;
        let found = array.shape[0];
        if found != count {
            return Err(Error::input(format!("{name} has {found} sequences, expected {count}")));
        }
        let mut all = Vec::new();
        for number in 0.. {
            match array.numbers(&mut reader, name, number)? {
                Some(numbers) => all.extend(numbers),
                None => break,
            }
        }
        Ok(all)
    }

    /// The numbers of a sequence, finite or not; `None` after the last, where nothing may follow.
    fn numbers(&self, reader: &mut impl BufRead, name: &str, number: usize) -> Result<Option<Vec<f64>>> {
        let [count, tokens, dims] = self.shape;
        if number == count {
            let rest = reader.fill_buf().map_err(|error| Error::input(format!("cannot read {name}: {error}")))?;
            if rest.is_empty() {
                return Ok(None);
            }
            return Err(Error::input(format!("{name} goes on behind its {count} sequences")));
        }
        let width = match self.precision {
            Precision::F32 => 4,
            Precision::F64 => 8,
        };
        let mut bytes = vec![0; tokens * dims * width];
        reader.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                Error::input(format!("{name} ends in sequence {number}, and its header says that there are {count}"))
            }
            _ => Error::input(format!("cannot read {name}: {error}")),
        })?;
        let value = |bytes: &[u8]| match *bytes {
            [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
            _ => f64::from_le_bytes(bytes.try_into().unwrap_or_default()),
        };
        Ok(Some(bytes.chunks_exact(width).map(value).collect()))
    }
}

/// `descr`, `fortran_order` and `shape`, each once and in any order.
fn fields(header: &str) -> Option<(&str, bool, Vec<usize>)> {
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    let mut rest = header.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    while !rest.is_empty() {
        let (key, value) = rest.strip_prefix('\'')?.split_once('\'')?;
        let value = value.trim_start().strip_prefix(':')?.trim_start();
        let behind = match key {
            "descr" if descr.is_none() => {
                let (text, behind) = value.strip_prefix('\'')?.split_once('\'')?;
                descr = Some(text);
                behind
            }
            "fortran_order" if fortran.is_none() => {
                let (order, behind) = match value.strip_prefix("False") {
                    Some(behind) => (false, behind),
                    None => (true, value.strip_prefix("True")?),
                };
                fortran = Some(order);
                behind
            }
            "shape" if shape.is_none() => {
                let (sides, behind) = value.strip_prefix('(')?.split_once(')')?;
                let sides = sides.trim().trim_end_matches(',');
                let side = |side: &str| side.trim().parse::<usize>().ok();
                shape = Some(if sides.is_empty() {
                    Vec::new()
                } else {
                    sides.split(',').map(side).collect::<Option<_>>()?
                });
                behind
            }
            _ => return None,
        };
        rest = behind.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(rest) => rest.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some((descr?, fortran?, shape?))
}

/// An array that is being written, sequence by sequence. Until it is finished it has no header, so that half of it
/// cannot be mistaken for an array.
pub struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    precision: Precision,
    count: usize,
    /// Tokens and coordinates, once there is a sequence.
    side: Option<(usize, usize)>,
    finished: bool,
}

impl Writer {
    /// Creates a file that does not exist yet.
    pub fn create(path: &Path, precision: Precision) -> Result<Self> {
        crate::files::check_new(path)?;
        let file = File::create_new(path).map_err(|error| unwritable(path, &error))?;
        let (path, file) = (path.to_owned(), BufWriter::new(file));
        let mut writer = Self { path, file, precision, count: 0, side: None, finished: false };
        writer.write(&[0; HEADER])?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| unwritable(&self.path, &error))
    }

    /// Adds a sequence, of as many tokens as those before.
    pub fn push(&mut self, y: &[Vec<f64>]) -> Result<()> {
        let side = (y.len(), y.first().map_or(0, Vec::len));
        let first = *self.side.get_or_insert(side);
        if first != side {
            let (count, tokens, before) = (self.count, side.0, first.0);
            return Err(Error::input(format!(
                "sequence {count} has {tokens} tokens, and those before it have {before}"
            ))
            .note("reason", "an array has one length for all")
            .note("try", "leave out ⟨output⟩, or one file for each length"));
        }
        for entry in y.iter().flatten() {
            let bytes = number(self.precision, *entry);
            self.write(&bytes[..self.precision.bytes()])?;
        }
        self.count += 1;
        Ok(())
    }

    /// Writes the header; returns the shape of the array.
    pub fn finish(mut self) -> Result<[usize; 3]> {
        let (tokens, dims) = self.side.unwrap_or_default();
        let count = self.count;
        let header = header(self.precision, [count, tokens, dims]);
        let written = self.file.seek(SeekFrom::Start(0)).map(drop).map_err(|error| unwritable(&self.path, &error));
        written.and_then(|()| self.write(&header))?;
        self.file.flush().map_err(|error| unwritable(&self.path, &error))?;
        self.finished = true;
        Ok([count, tokens, dims])
    }
}

/// An unfinished file is removed.
impl Drop for Writer {
    fn drop(&mut self) {
        if !self.finished {
            // Nothing can be done about a file that cannot be removed.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// The header of an array.
fn header(precision: Precision, [count, tokens, dims]: [usize; 3]) -> Vec<u8> {
    let descr = if precision == Precision::F32 { "<f4" } else { "<f8" };
    let fields = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count}, {tokens}, {dims}), }}");
    let length = HEADER - MAGIC.len() - 4;
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(u16::try_from(length).unwrap_or_default().to_le_bytes());
    header.extend(format!("{fields:<width$}\n", width = length - 1).bytes());
    header
}

/// A number of the format, in its first bytes.
#[expect(clippy::cast_possible_truncation, reason = "numbers of a network in f32 are numbers of f32")]
fn number(precision: Precision, x: f64) -> [u8; 8] {
    match precision {
        Precision::F32 => u64::from((x as f32).to_bits()).to_le_bytes(),
        Precision::F64 => x.to_le_bytes(),
    }
}

/// An array of sequences of one length, whose numbers are numbers of the format.
pub(crate) fn to_bytes(sequences: &[&[Vec<f64>]], precision: Precision) -> Vec<u8> {
    let (tokens, dims) = sequences.first().map_or((0, 0), |x| (x.len(), x.first().map_or(0, Vec::len)));
    let mut bytes = header(precision, [sequences.len(), tokens, dims]);
    for entry in sequences.iter().flat_map(|x| x.iter()).flatten() {
        bytes.extend_from_slice(&number(precision, *entry)[..precision.bytes()]);
    }
    bytes
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::input(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Sequences;

    fn file(header: &str, numbers: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).expect("short").to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), numbers].concat()
    }

    fn all(bytes: &[u8]) -> Result<Vec<Sequence>> {
        let mut sequences = Sequences::new(bytes, "x.npy", (1, 2), 1)?;
        std::iter::from_fn(|| sequences.one().transpose()).collect()
    }

    const DOUBLES: &str = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 1), }\n";

    fn doubles(x: &[f64]) -> Vec<u8> {
        x.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    #[test]
    fn numbers_are_read_as_they_are() {
        let expected = vec![vec![vec![Rat::new(1, 8)], vec![Rat::from(-3)]]];
        assert_eq!(all(&file(DOUBLES, &doubles(&[0.125, -3.0]))), Ok(expected.clone()));
        let singles: Vec<u8> = [0.125_f32, -3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let header = "{ 'shape' : (1,2,1) , 'fortran_order':False, 'descr': '<f4'}   \n";
        assert_eq!(all(&file(header, &singles)), Ok(expected));
    }

    #[test]
    fn what_is_wrong_with_an_array_is_told() {
        let good = file(DOUBLES, &doubles(&[0.125, -3.0]));
        for (bytes, expected) in [
            (good[..4].to_vec(), "it ends in its header"),
            (good[..40].to_vec(), "it ends in its header"),
            (good[..good.len() - 1].to_vec(), "x.npy ends in sequence 0, and its header says that there are 1"),
            ([&good[..], &[0]].concat(), "x.npy goes on behind its 1 sequences"),
            ([b"\x93NUMPX", &good[6..]].concat(), "it does not begin with"),
            ([&good[..6], &[2], &good[7..]].concat(), "its format is 2.0"),
            (file(&DOUBLES.replace("<f8", ">f8"), &[]), "its numbers are '>f8'"),
            (file(&DOUBLES.replace("<f8", "<i8"), &[]), "its numbers are '<i8'"),
            (file(&DOUBLES.replace("False", "True"), &[]), "in the order of Fortran"),
            (file(&DOUBLES.replace("False", "Maybe"), &[]), "its header is"),
            (file(&DOUBLES.replace("'shape'", "'descr'"), &[]), "its header is"),
            (file(&DOUBLES.replace(", 'shape': (1, 2, 1), ", ""), &[]), "its header is"),
            (file(&DOUBLES.replace('}', "} x"), &[]), "its header is"),
            (file(&DOUBLES.replace("(1, 2, 1)", "(1, 2, -1)"), &[]), "its header is"),
            (file(&DOUBLES.replace("(1, 2, 1)", "(1, 2, 99999999999999999999999)"), &[]), "its header is"),
            (file(&DOUBLES.replace("(1, 2, 1)", "(2, 1)"), &[]), "the shape [2, 1]: 2 axes, expected 3"),
            (file(&DOUBLES.replace("(1, 2, 1)", "()"), &[]), "the shape []: 0 axes, expected 3"),
            (file(&DOUBLES.replace("(1, 2, 1)", "(0, 2, 1)"), &[]), "an empty batch"),
            (file(&DOUBLES.replace("(1, 2, 1)", "(1, 3, 1)"), &[]), "3 tokens, expected 2"),
            (file(&DOUBLES.replace("(1, 2, 1)", "(1, 18446744073709551615, 1)"), &[]), "tokens, expected 2"),
            (file(&DOUBLES.replace("(1, 2, 1)", "(1, 2, 2)"), &[]), "2 coordinates, expected 1"),
            (file(&DOUBLES.replace("(1, 2, 1)", "(18446744073709551615, 2, 1)"), &[]), "x.npy ends in sequence 0"),
            (
                file(DOUBLES, &doubles(&[0.0, f64::NAN])),
                "sequence 0, token 1, coordinate 0 is 'NaN': not a finite number",
            ),
            (file(DOUBLES, &doubles(&[f64::NEG_INFINITY, 0.0])), "sequence 0, token 0, coordinate 0 is '-inf'"),
        ] {
            let error = all(&bytes).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("y.npy");
        let mut writer = Writer::create(&path, Precision::F64).expect("a file");
        writer.push(&[vec![0.125], vec![-3.0]]).expect("room");
        assert_eq!(writer.finish(), Ok([1, 2, 1]));
        let bytes = std::fs::read(&path).expect("a file");
        assert_eq!(all(&bytes).expect("an array").len(), 1);
        assert!(Writer::create(&path, Precision::F64).is_err());
        assert_eq!(std::fs::read(&path).expect("still there"), bytes);
        let half = dir.path().join("half.npy");
        let mut writer = Writer::create(&half, Precision::F32).expect("a file");
        writer.push(&[vec![0.125], vec![-3.0]]).expect("room");
        assert!(writer.push(&[vec![0.125]]).is_err());
        drop(writer);
        assert!(!half.exists());
    }
}
