//! Codes: a number `Φ(a)` for every id, such that the sum over a sequence names its multiset.
//!
//! For `n` tokens over `D` ids, `Σ_k Φ(a_k) = Σ_k Φ(b_k)` only if the `b_k` are the `a_k` in another order: the codes
//! are a `B_n` set.
//!
//! | file | code | largest code |
//! |---|---|---|
//! | `histogram.rs` | `(n+1)^a`, the digits count | `(n+1)^{D-1}` |
//! | `bose_chowla.rs` | logarithms of `θ + a` in `GF(q^n)`, `q ≥ D` prime | below `q^n - 1` |
//! | `mian_chowla.rs` | each the smallest that may follow | for small sizes |
//! | `positional.rs` | `(D+1)^{j-1}(a+1)` at place `j`: names the sequence, not only its multiset | `(D+1)^{n-1} D` |
//!
//! There are `C(D+n-1, n)` multisets, and a sum is at most `n` times the largest code: a code has at least about
//! `n log2 D - log2 n·n!` bits. Codes are listed increasingly and start at 1 or above.

mod bose_chowla;
mod histogram;
mod mian_chowla;
mod positional;

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result, nearest};
use crate::exact::Int;

/// The most codes of a list: a network has a hidden unit for each.
const MOST_CODES: u64 = 1 << 16;

/// A kind of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// `(n+1)^a`.
    Histogram,
    /// Discrete logarithms, in the named field, or else in the smallest that has room.
    BoseChowla {
        /// `q`, or the number from which the next prime is taken.
        field: Option<u64>,
    },
    /// The greedy `B_n` set.
    MianChowla,
    /// `(D+1)^{j-1}(a+1)` at place `j`.
    Positional,
}

impl Code {
    /// The name on the command line, without a field.
    pub fn name(self) -> &'static str {
        match self {
            Self::Histogram => "histogram",
            Self::BoseChowla { .. } => "bose-chowla",
            Self::MianChowla => "mian-chowla",
            Self::Positional => "positional",
        }
    }

    /// In how many steps the codes are found: the walk of Bose and Chowla; other codes are quick, or declined for their size.
    pub fn walk(self, tokens: usize, ids: u64) -> Int {
        match self {
            Self::BoseChowla { field } => {
                bose_chowla::field(field, ids).map_or(Int::ZERO, |q| Int::from(q).pow(tokens))
            }
            Self::Histogram | Self::MianChowla | Self::Positional => Int::ZERO,
        }
    }

    /// The codes of `ids` ids for sequences of `tokens` tokens; sizes that explode are declined before any work.
    pub fn codes(self, tokens: usize, ids: &Int) -> Result<Codes> {
        let codes = self.codes_up_to(tokens, ids, u64::MAX)?;
        codes.ok_or_else(|| Error::declined("the codes are longer than 64 bits").note("try", "⟨code=histogram⟩"))
    }

    /// As [`Code::codes`]; `None` as soon as a code that has to be searched for is larger than `most`.
    pub fn codes_up_to(self, tokens: usize, ids: &Int, most: u64) -> Result<Option<Codes>> {
        let places = if self == Self::Positional { tokens } else { 1 };
        let count = ids * Int::from(places);
        let Some(small) = ids.to_u64().filter(|_| count <= Int::from(MOST_CODES)) else {
            return Err(Error::declined(format!("the code would have {count} numbers"))
                .note(
                    "reason",
                    "one for each of the D = N^d columns of the grid, with positions for each at every place",
                )
                .note("limit", MOST_CODES.to_string())
                .note("try", "a coarser ⟨resolution⟩, or fewer ⟨dims⟩"));
        };
        let (field, values) = match self {
            Self::Histogram => (None, histogram::codes(tokens, small)?),
            Self::BoseChowla { field } => {
                let q = bose_chowla::field(field, small)?;
                let Some(values) = bose_chowla::codes(tokens, small, q, most)? else { return Ok(None) };
                (Some(q), values)
            }
            Self::MianChowla => (None, mian_chowla::codes(tokens, small)?),
            Self::Positional => (None, positional::codes(tokens, small)),
        };
        Ok(Some(Codes { code: self, tokens, field, values }))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BoseChowla { field: Some(q) } => write!(f, "bose-chowla:{q}"),
            other => f.write_str(other.name()),
        }
    }
}

impl FromStr for Code {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, field) = text.split_once(':').map_or((text, None), |(name, field)| (name, Some(field)));
        match (name, field) {
            ("histogram", None) => Ok(Self::Histogram),
            ("mian-chowla", None) => Ok(Self::MianChowla),
            ("bose-chowla", None) => Ok(Self::BoseChowla { field: None }),
            ("bose-chowla", Some(q)) => match q.parse() {
                Ok(q) => Ok(Self::BoseChowla { field: Some(q) }),
                Err(_) => Err(Error::input(format!("the field of bose-chowla is '{q}', expected a prime number"))
                    .note("try", "⟨code=bose-chowla⟩, which takes the smallest field that has room")),
            },
            _ => {
                let known = ["histogram", "bose-chowla", "mian-chowla"];
                let error = Error::input(format!("'{text}' is no code"))
                    .note("known", "histogram, bose-chowla, bose-chowla:q with a prime q, mian-chowla");
                Err(match nearest(name, known) {
                    Some(near) => error.note("try", format!("⟨code={near}⟩")),
                    None => error.note("try", "⟨code=bose-chowla⟩"),
                })
            }
        }
    }
}

/// The codes of all ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Codes {
    /// Their kind, as requested.
    pub code: Code,
    /// `n`.
    pub tokens: usize,
    /// The `q` of Bose and Chowla.
    pub field: Option<u64>,
    /// `Φ(0) < Φ(1) < …`; with positions place after place.
    pub values: Vec<Int>,
}

impl Codes {
    /// The largest code.
    pub fn largest(&self) -> Int {
        self.values.last().cloned().unwrap_or_default()
    }

    /// The named field and the one used, if they differ.
    pub fn replaced_field(&self) -> Option<(u64, u64)> {
        match (self.code, self.field) {
            (Code::BoseChowla { field: Some(asked) }, Some(used)) if asked != used => Some((asked, used)),
            _ => None,
        }
    }

    /// A short description of the code.
    pub fn describe(&self) -> String {
        match (self.code, self.replaced_field(), self.field) {
            (_, Some((asked, used)), _) => {
                format!("bose-chowla in GF({used}^{}) ({asked} is not prime; {used} is the next that is)", self.tokens)
            }
            (_, None, Some(used)) => format!("bose-chowla in GF({used}^{})", self.tokens),
            (code, ..) => code.name().to_owned(),
        }
    }

    /// The places in the list whose codes add up to `sum`, increasing; with positions, one place for each token.
    pub fn decode(&self, sum: &Int) -> Option<Vec<usize>> {
        let mut found = Vec::new();
        self.search(self.tokens, self.values.len(), sum, &mut found).then(|| {
            found.reverse();
            found
        })
    }

    /// Finds `left` codes, none above place `end`, that add up to `sum`: largest first.
    fn search(&self, left: usize, end: usize, sum: &Int, found: &mut Vec<usize>) -> bool {
        if left == 0 {
            return *sum == Int::ZERO;
        }
        let Some(first) = self.values.first() else { return false };
        let last = self.values[..end].partition_point(|code| code <= sum);
        for place in (0..last).rev() {
            let (code, count) = (&self.values[place], Int::from(left));
            if code * &count < *sum {
                return false;
            }
            let rest = sum - code;
            if rest < first * Int::from(left - 1) {
                continue;
            }
            found.push(place);
            // With positions, a place is used once: the places of one token have a range of their own.
            let end = if self.code == Code::Positional { self.start(place) } else { place + 1 };
            if self.search(left - 1, end, &rest, found) {
                return true;
            }
            found.pop();
        }
        false
    }

    /// The first place of the range that contains a place.
    fn start(&self, place: usize) -> usize {
        let ids = self.values.len() / self.tokens;
        place / ids * ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for name in ["histogram", "bose-chowla", "bose-chowla:31", "mian-chowla"] {
            assert_eq!(name.parse::<Code>().expect("a code").to_string(), name);
        }
        for name in ["", "histogramm", "bose-chowla:", "bose-chowla:x", "bose-chowla:-3", "histogram:3", "positional"] {
            assert!(name.parse::<Code>().is_err(), "{name}");
        }
    }

    #[test]
    fn sizes_that_explode_are_declined_before_any_work() {
        let million = Int::from(1_000_000);
        for code in [Code::Histogram, Code::BoseChowla { field: None }, Code::MianChowla, Code::Positional] {
            assert!(code.codes(2, &million).is_err(), "{code:?}");
        }
        assert!(Code::BoseChowla { field: None }.codes(8, &Int::from(64)).is_err(), "67^8 steps");
        assert!(Code::MianChowla.codes(4, &Int::from(100)).is_err());
        assert!(Code::Histogram.codes(2, &Int::from(60_000)).is_err(), "60000 numbers of up to 95,098 bits");
        assert!(Code::BoseChowla { field: Some(7) }.codes(2, &Int::from(8)).is_err(), "q < D");
        assert!(Code::BoseChowla { field: Some(u64::MAX) }.codes(2, &Int::from(8)).is_err());
    }
}
