//! `Φ_j(a) = (D+1)^{j-1}(a+1)` at place `j`: the digits of the sum in base `D+1` are the ids plus one. It takes
//! `n log2(D+1)` bits.

use crate::exact::Int;

pub(super) fn codes(tokens: usize, ids: u64) -> Vec<Int> {
    let base = Int::from(ids) + Int::ONE;
    (0..tokens)
        .flat_map(|place| {
            let power = base.pow(place);
            (1..=ids).map(move |digit| &power * Int::from(digit))
        })
        .collect()
}
