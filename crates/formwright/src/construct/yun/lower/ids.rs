//! Ids in floats: whether they fit a format, and what a value loses beside them.

use crate::bound::resolution::last;
use crate::construct::yun::context::ContextMap;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::lower::to_float::{grid_step, sum_bits};
use crate::network::Precision;

/// Checks that ids, in quarters, fit a format; the error says what would. A grid that the target fixes cannot be made
/// coarser.
pub(crate) fn check_bits(
    map: &ContextMap,
    precision: Precision,
    fixed: bool,
    fits_at: impl Fn(u64) -> bool,
) -> Result<()> {
    let bits = map.id_bits() + 2;
    if bits <= precision.digits() {
        return Ok(());
    }
    let resolution = map.grid.resolution();
    let coarser = if fixed { None } else { last(2, resolution - 1, fits_at) };
    let way_out = match (precision, coarser) {
        (Precision::F32, coarser) if bits <= Precision::F64.digits() => {
            let or = coarser.map_or_else(String::new, |side| format!(", or ⟨resolution={side}⟩"));
            format!("⟨precision=f64⟩{or}")
        }
        (_, Some(side)) => format!("⟨resolution={side}⟩, or ⟨precision=exact⟩"),
        (_, None) => "⟨precision=exact⟩".to_owned(),
    };
    Err(Error::declined(format!("the ids of this network have {} bits and do not fit {precision}", map.id_bits()))
        .note(
            "reason",
            format!("two more are needed for the windows' edges, and {precision} has {}", precision.digits()),
        )
        .note("grid", format!("{resolution} cells a side"))
        .note("try", way_out))
}

/// A bound on what a value loses in windows of one block each: `g/2`.
pub(crate) fn value_loss(map: &ContextMap, values: &Rat, precision: Precision) -> Rat {
    let largest = Rat::from(3) * (Rat::from(map.largest_id()) + values);
    grid_step(sum_bits(&largest), precision) / Rat::from(2)
}
