//! `Φ(a) = (n+1)^a`: a sum counts, in base `n+1`, the occurrences of each id. It takes `D log2(n+1)` bits. This is the
//! code of the proof.

use crate::error::{Error, Result};
use crate::exact::Int;

/// The most binary digits of all codes together: 32 MiB.
const MOST_BITS: u128 = 1 << 28;

pub(super) fn codes(tokens: usize, ids: u64) -> Result<Vec<Int>> {
    let base = Int::from(tokens) + Int::ONE;
    let bits = u128::from(ids) * u128::from(ids) / 2 * base.bits() as u128;
    if bits > MOST_BITS {
        return Err(Error::declined(format!("a histogram of {ids} ids takes codes of {bits} bits in all"))
            .note("reason", "the code of an id is (n+1)^id: one digit for each id")
            .note("limit", MOST_BITS.to_string())
            .note("try", "⟨code=bose-chowla⟩, or a coarser ⟨resolution⟩"));
    }
    let mut codes = vec![Int::ONE];
    while codes.len() < usize::try_from(ids).unwrap_or(usize::MAX) {
        codes.push(codes.last().map_or(Int::ONE, |last| last * &base));
    }
    Ok(codes)
}
