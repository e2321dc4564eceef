//! Checks the certificates of formwright's networks, and believes nothing.
//!
//! CERTIFICATE.md specifies the files, their meaning, and what is to be proved. The checker reads three files,
//! recomputes every number in exact arithmetic, and answers with a [`Verdict`]. It shares no code with the compiler.
//!
//! | room | what |
//! |---|---|
//! | `kernel/` | numbers, sums in any order, softmax, piecewise linear functions: what everything stands on |
//! | `rules/` | the rules, a file a rule, each with its theorem |
//! | `read/` | the strict readers |
//! | `fast/` | what only saves time |
//! | `prove.rs` | the obligations, and how much work is done |
//! | `sequences.rs`, `effort.rs` | the sequences of a claim; how the work is done: on all cores, in shards |
//! | `part.rs` | parts of a check, and what they prove together |

mod effort;
mod fast;
mod kernel;
mod part;
mod prove;
mod read;
mod rules;
mod sequences;

use std::fmt;

use sha2::{Digest as _, Sha256};

pub use effort::{Effort, Shard};
pub use part::{Part, VERSION, merge};
pub use prove::{Accepted, check, check_host, check_with, proved_host_lines, proved_lines};
pub use read::certificate::Certificate;
pub use read::folder::{Folder, check_folder, check_named, is_host, read_part};
pub use rules::lines::{About, FormText, Line};

/// The bytes of the files that are checked.
#[derive(Clone, Copy, Debug)]
pub struct Files<'b> {
    /// `certificate.fwc`.
    pub certificate: &'b [u8],
    /// `target.json`.
    pub target: &'b [u8],
    /// `model.safetensors`.
    pub weights: &'b [u8],
}

/// The bytes of the files of a network inside of a stock Transformer.
#[derive(Clone, Copy, Debug)]
pub struct HostFiles<'b> {
    /// The three that every network has.
    pub files: Files<'b>,
    /// `config.json`.
    pub config: &'b [u8],
    /// `inputs.safetensors`; nothing where a claim is over integers.
    pub inputs: &'b [u8],
}

/// The answer of the checker.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The claim is proved.
    Accepted(Accepted),
    /// The files do not prove their claim.
    Rejected(Reason),
    /// The claim is of a kind or a size that is not decided here.
    Declined(Reason),
}

impl Verdict {
    /// The name of the verdict.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "accepted",
            Self::Rejected(_) => "rejected",
            Self::Declined(_) => "declined",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted(accepted) => write!(f, "accepted: {accepted}"),
            Self::Rejected(reason) | Self::Declined(reason) => write!(f, "{}: {reason}", self.name()),
        }
    }
}

/// The reason why a claim is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The obligation that is not met, or `scope` if the claim is not decided.
    pub obligation: &'static str,
    /// The fault and its place, with the numbers.
    pub what: String,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.obligation, self.what)
    }
}

/// The SHA-256 of bytes, as hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('?');
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
