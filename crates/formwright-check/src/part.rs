//! Parts of a check: what `fwcheck --shard` writes and `fwcheck merge` reads. CERTIFICATE.md, section 9, specifies the text.
//!
//! A part is believed: it is what a run of this checker said, on some machine. What is proved here is that parts are
//! about the same files, by the same checker, and that together they are all sequences, each of them once.

use std::fmt;
use std::ops::Range;

use crate::effort::{Effort, Shard};
use crate::prove::{check_shard, points_summary};
use crate::{Files, Reason, Verdict, sha256};

/// The longest part.
pub(crate) const LONGEST_PART: usize = 1 << 16;

/// The names of the files, in the order of their hashes.
const NAMES: [&str; 3] = ["certificate.fwc", "target.json", "model.safetensors"];

/// The result of one shard of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    checker: String,
    hashes: [String; 3],
    shard: Shard,
    /// The sequences that were examined, of how many.
    range: Range<usize>,
    total: usize,
    verdict: String,
    said: String,
}

/// The version of this checker.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

fn hashes(files: &Files<'_>) -> [String; 3] {
    [files.certificate, files.target, files.weights].map(sha256)
}

/// A count in digits, without leading zeros.
fn count(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

impl Part {
    /// Checks a shard.
    pub fn check(files: &Files<'_>, effort: &Effort<'_>) -> Self {
        let (range, total, verdict) = check_shard(files, effort);
        let said = match &verdict {
            Verdict::Accepted(accepted) => accepted.to_string(),
            Verdict::Rejected(reason) | Verdict::Declined(reason) => reason.to_string(),
        };
        // Only lines of printable characters are read again.
        let said = said.chars().map(|c| if (' '..='~').contains(&c) { c } else { '?' }).take(4096).collect();
        let (checker, verdict) = (VERSION.to_owned(), verdict.name().to_owned());
        Self { checker, hashes: hashes(files), shard: effort.shard, range, total, verdict, said }
    }

    /// The name of the verdict on this part.
    pub fn verdict(&self) -> &str {
        &self.verdict
    }

    /// Reads a part. There is one reading: printed again, it is the same text.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is no text".to_owned())?;
        let mut lines = text.lines();
        let mut line = |name: &str| {
            let rest = lines.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(' '));
            rest.map(str::to_owned).ok_or_else(|| format!("its line {name:?} is missing, or out of place"))
        };
        if line("formwright-part")? != "1" {
            return Err("it is of another version than 1".to_owned());
        }
        let checker = line("checker")?;
        let mut hash = |name: &str| line(&format!("sha256 {name}"));
        let hashes = [hash("certificate.fwc")?, hash("target.json")?, hash("model.safetensors")?];
        let numbers = |text: String| text.split(' ').map(count).collect::<Option<Vec<_>>>().unwrap_or_default();
        let shard = match numbers(line("shard")?).as_slice() {
            [at, of] => Shard::new(*at, *of),
            _ => None,
        };
        let shard = shard.ok_or("its line \"shard\" names no shard")?;
        let sequences = numbers(line("sequences")?);
        let [from, to, total] = sequences.as_slice() else { return Err("its sequences are not counted".to_owned()) };
        let (range, total) = (*from..*to, *total);
        let verdict = line("verdict")?;
        if !["accepted", "rejected", "declined"].contains(&verdict.as_str()) {
            return Err(format!("its verdict is none: {verdict}"));
        }
        let said = line("said")?;
        let part = Self { checker, hashes, shard, range, total, verdict, said };
        let sum = line("sum")?;
        let wanted = part.sum();
        if sum != wanted {
            return Err(format!("it was altered: its lines have the SHA-256 {wanted}, it says {sum}"));
        }
        if part.to_string().as_bytes() != bytes {
            return Err("it is not written as parts are".to_owned());
        }
        if part.total > 0 && part.range != part.shard.of(part.total) {
            let Shard { at, of } = part.shard;
            return Err(format!("its sequences are not those of shard {at} of {of} of {}", part.total));
        }
        Ok(part)
    }

    /// The text, without its last lines.
    fn body(&self) -> String {
        let Self { checker, hashes, shard: Shard { at, of }, range, total, verdict, said } = self;
        let [certificate, target, weights] = hashes;
        let (from, to) = (range.start, range.end);
        format!(
            "formwright-part 1\nchecker {checker}\nsha256 certificate.fwc {certificate}\nsha256 target.json {target}\n\
             sha256 model.safetensors {weights}\nshard {at} {of}\nsequences {from} {to} {total}\nverdict {verdict}\n\
             said {said}\n"
        )
    }

    fn sum(&self) -> String {
        sha256(self.body().as_bytes())
    }

    /// Checks that it is about these files.
    fn is_about(&self, files: &Files<'_>) -> Result<(), String> {
        let found = hashes(files);
        let other = NAMES.iter().zip(found.iter().zip(&self.hashes)).find(|(_, (found, known))| found != known);
        other.map_or(Ok(()), |(name, (found, known))| {
            Err(format!("it is about a {name} with the SHA-256 {known}, the folder's has {found}"))
        })
    }

    /// The first thing in which two parts of one check differ.
    fn differs(&self, other: &Self) -> Option<String> {
        let files = NAMES.iter().zip(self.hashes.iter().zip(&other.hashes)).find(|(_, (a, b))| a != b);
        if let Some((name, _)) = files {
            return Some(format!("another {name}"));
        }
        let (a, b) = (&self.checker, &other.checker);
        if a != b {
            return Some(format!("the checker {a}, not {b}"));
        }
        if self.shard.of != other.shard.of {
            return Some(format!("{} shards, not {}", self.shard.of, other.shard.of));
        }
        (self.total != other.total).then(|| format!("{} sequences, not {}", self.total, other.total))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}sum {}\nend\n", self.body(), self.sum())
    }
}

fn refused(what: String) -> Verdict {
    Verdict::Rejected(Reason { obligation: "parts", what })
}

/// The verdict that named parts give together; if the files are given, about these.
pub fn merge(parts: &[(String, Part)], files: Option<&Files<'_>>) -> Verdict {
    let Some((first_name, first)) = parts.first() else { return refused("there are no parts".to_owned()) };
    for (name, part) in parts {
        if let Some(Err(what)) = files.map(|files| part.is_about(files)) {
            return refused(format!("{name}: {what}"));
        }
        if let Some(what) = part.differs(first) {
            return refused(format!("{name} is about {what}, as {first_name} is"));
        }
    }
    let mut order: Vec<&(String, Part)> = parts.iter().collect();
    order.sort_by_key(|(_, part)| part.shard.at);
    let of = first.shard.of;
    for wanted in 1..=of {
        match order
            .iter()
            .filter(|(_, part)| part.shard.at == wanted)
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>()
            .as_slice()
        {
            [_] => {}
            [] => return refused(format!("shard {wanted} of {of} is missing")),
            twice => return refused(format!("shard {wanted} of {of} is there more than once: {}", twice.join(", "))),
        }
    }
    for name in ["rejected", "declined"] {
        if let Some((_, part)) = order.iter().find(|(_, part)| part.verdict == name) {
            let (obligation, what) = part.said.split_once(": ").unwrap_or(("", &part.said));
            let obligation = OBLIGATIONS.iter().find(|known| **known == obligation).copied().unwrap_or("parts");
            let reason = Reason { obligation, what: what.to_owned() };
            return if name == "rejected" { Verdict::Rejected(reason) } else { Verdict::Declined(reason) };
        }
    }
    // All are accepted, and have the ranges of their shards: these are all sequences, each of them once.
    let end = order.iter().try_fold(0, |end, (_, part)| (part.range.start == end).then_some(part.range.end));
    if first.total == 0 || end != Some(first.total) {
        return refused(format!("the parts are not {} sequences, each of them once", first.total));
    }
    if let Some((name, _)) = order.iter().find(|(_, part)| part.said != first.said) {
        return refused(format!("{name} and {first_name} prove different claims"));
    }
    Verdict::Accepted(crate::prove::Accepted::together(&first.said, &points_summary(first.total)))
}

/// The obligations that a part can name.
const OBLIGATIONS: [&str; 9] = ["format", "hash", "weights", "target", "claim", "finite", "point", "integral", "scope"];
