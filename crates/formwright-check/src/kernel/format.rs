//! Floating-point formats.

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Binary digits of a significand.
    pub digits: i64,
    /// The least normal number is `2^least`.
    pub least: i64,
    /// Numbers of `2^most` or more overflow.
    pub most: i64,
    /// `exp` is off by at most `2^theta`, relatively.
    pub theta: i64,
}

impl Format {
    /// Single precision.
    pub const SINGLE: Self = Self { digits: 24, least: -126, most: 128, theta: -20 };
    /// Double precision.
    pub const DOUBLE: Self = Self { digits: 53, least: -1022, most: 1024, theta: -49 };
}
