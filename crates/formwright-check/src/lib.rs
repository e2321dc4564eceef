//! The checker's interface; it declines everything.

use std::fmt;

/// The three files of a claim.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// `certificate.fwc`.
    pub certificate: &'a [u8],
    /// `target.json`.
    pub target: &'a [u8],
    /// `model.safetensors`.
    pub weights: &'a [u8],
}

/// A verdict on a claim.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The claim is proved.
    Accepted(Accepted),
    /// The files contradict each other, or an obligation is not met.
    Rejected(Reason),
    /// The claim is of a kind, or a size, that is not decided.
    Declined(Reason),
}

/// What was proved.
#[derive(Clone, Debug)]
pub struct Accepted;

/// Why a claim was not accepted.
#[derive(Clone, Debug)]
pub struct Reason;

impl Reason {
    /// The obligation that was not met.
    pub fn obligation(&self) -> &'static str {
        "claim"
    }

    /// Where.
    pub fn place(&self) -> &'static str {
        "certificate.fwc"
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("claims are not decided")
    }
}

/// Checks a claim.
pub fn check(_files: &Files<'_>) -> Verdict {
    Verdict::Declined(Reason)
}
