//! Seeded random numbers: the same on every machine.

/// The next word of 64 bits (splitmix64).
pub fn word(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A number in `[0, 1)`, of 53 bits.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
pub fn uniform(state: &mut u64) -> f64 {
    (word(state) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number below a bound, as fair as 64 bits allow.
pub fn below(state: &mut u64, bound: usize) -> usize {
    usize::try_from((u128::from(word(state)) * bound as u128) >> 64).unwrap_or_default()
}
