//! The numbers of the guard: clamp, gain, flag and slope, for a claim about all of space.
//!
//! With `κ = 2^q ≥ N + 2`, ramps of `2^-m` and `m + q + 7 ≤ μ`, a coordinate outside of the box that is not on its ramp comes out of the flag
//! layer at most at `-¾F`, for **every** finite input: none overflows (`units.rs`), and beyond `κ` the clamp leaves 0, `±κ` or `±2κ`. One such coordinate brings every id, by
//! the guard, to at most `D - 1 - G(¾F - D)`. That is below `-(T + 2)`, `T` being what a sweep can add to a token below its windows,
//!
//! ```text
//! F ≥ 8D(D + T + 4),     G = 2^-(1+⌈log2 D⌉),     T = ρ L D (n-1) / (1¼ e λ),     180 (n-1) D³ 2^-μ ≤ ½
//! ```
//!
//! with `ρ` for the rounding of a head (`hardmax_to_softmax.rs`); so all ids stay negative through sweep and last layer, and `W ≥ 2t_r` times the distance to the interval clears every row: the output is exactly 0.
//!
//! *Loss*: the shell around the box in which a coordinate is on its ramp.

use crate::construct::yun::context::{ContextMap, interval};
use crate::construct::yun::guard::Guard;
use crate::construct::yun::lower::hardmax_to_softmax;
use crate::construct::yun::{Options, equivariant};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::lower::{Format, Hidden};
use crate::network::Precision;

/// The least power of two that is not below `x`.
fn power_above(x: &Rat) -> Rat {
    Rat::from(2).pow((x.ceil() - Int::ONE).bits())
}

/// The guard of a map in a format.
pub(crate) fn derive(map: &ContextMap, format: Format, exponent: u32, options: &Options) -> Result<Guard> {
    let grid = &map.grid;
    options.check()?;
    if format.hidden != Hidden::Literal {
        return Err(Error::declined("a guarded network is not packed").note("try", "leave out ⟨pack⟩ and ⟨hidden⟩"));
    }
    let (columns, others) = (Rat::from(grid.columns()), Rat::from(grid.tokens() - 1));
    let rounding = Rat::from(180) * &others * columns.pow(3) / Rat::from(2).pow(format.precision.digits());
    if rounding > Rat::new(1, 2) {
        return Err(Error::declined(format!("the guard does not hold in {} on so fine a grid", format.precision))
            .note("grid", format!("{} cells a side", grid.resolution()))
            .note("try", "a coarser ⟨resolution⟩, or ⟨precision=f64⟩"));
    }
    let clamp = power_above(&(Rat::from(grid.resolution()) + Rat::from(2)));
    // 1/e < 3/8
    let rounded = hardmax_to_softmax::rounded_share(map, format.precision).hi();
    let added =
        Rat::from_f64(rounded).unwrap_or_default() * Rat::new(3, 8) * Rat::from(map.sweep.count()) * &columns * &others
            / (Rat::new(5, 4) * Rat::from(2).pow(exponent as usize));
    let least = power_above(&(Rat::from(8) * &columns * (&columns + added + Rat::from(4))));
    Ok(Guard {
        clamp,
        gain: Rat::new(1, 2) / power_above(&columns),
        flag: equivariant::flag_magnitude(grid, options).max(least),
        slope: power_above(&(Rat::from(2) * Rat::from(interval(grid).1))),
    })
}

/// The narrowest ramp with which a flag still comes out below `-¾F`.
pub(crate) fn least_ramp(guard: &Guard, precision: Precision) -> Rat {
    let clamp = guard.clamp.ceil().bits() - 1;
    Rat::from(2).pow(clamp + 7) / Rat::from(2).pow(precision.digits())
}
