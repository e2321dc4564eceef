//! Theorem 2: the network for continuous equivariant functions.
//!
//! `g = g_v ∘ g_c ∘ g_q`: quantise (Lemma 5), contextual map (Lemma 6), value map (Lemma 7). On a cell with distinct
//! columns it equals the target at the cell's centre; on cells with equal columns and outside of the box it is 0.
//!
//! *Size*: `d(N+1)`, `D+1` and `1 + d + n·C(D,n)` layers; the last attention layer and the first layer after it share a
//! block.
//!
//! *Departures*: those of the lemmas; integer units; the box may be any `[low, high)`, moved to `[0, N)` by the
//! embedding.

use std::sync::Arc;

use super::context::{ContextMap, Positions, interval};
use super::guard::{AddMinimum, Clamp, Floor};
use super::quantise::{Flag, Quantise};
use super::stages::StageKind;
use super::value::{Outside, Rescale, ValueWindows, WindowOrder, ZeroOutside};
use super::{AsPrinted, Options, network, value_exponent};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::network::{Network, Stage};
use crate::target::Target;

/// The magnitude of the flag: `F = N^{nd+1}`, as printed in the lecture `N^{1-nd}`.
pub(crate) fn flag_magnitude(grid: &Grid, options: &Options) -> Rat {
    let (resolution, power) = (Rat::from(grid.resolution()), Rat::from(grid.points()));
    if options.prints(AsPrinted::FlagSign) { resolution / power } else { resolution * power }
}

/// Refuses a grid on which no sequence has pairwise distinct columns: it has no ids.
pub(super) fn check_columns(grid: &Grid) -> Result<()> {
    let (n, columns) = (grid.tokens(), grid.columns());
    if columns >= Int::from(n) {
        return Ok(());
    }
    let enough = (grid.resolution()..=n as u64).find(|&side| Int::from(side).pow(grid.dims()) >= Int::from(n));
    Err(Error::declined(format!("{n} tokens cannot have distinct columns: the grid has only D = {columns}"))
        .note("theorem", "yun (Theorem 2) tells sequences with distinct columns apart, which needs D = N^d ≥ n")
        .note(
            "try",
            format!("a grid of {} cells a side or more, or ⟨positional⟩ (Theorem 3)", enough.unwrap_or_default()),
        ))
}

/// The network of Theorem 2.
pub(super) fn build(grid: &Grid, target: &Arc<Target>, options: &Options) -> Result<Network> {
    check_columns(grid)?;
    let guard = options.tuning.guard.as_ref();
    let flag = guard.map_or_else(|| flag_magnitude(grid, options), |guard| guard.flag.clone());
    let (dims, steps) = (grid.dims(), Int::from(grid.resolution()));
    // With a guard the box stands at [1, N+1) until the flags are set.
    let shift = if guard.is_some() { Rat::ONE } else { Rat::ZERO };
    let quantise = Quantise {
        width: dims,
        rows: dims,
        steps: steps.clone(),
        flag: Some(Flag { low: shift.clone(), high: Rat::from(&steps) + &shift, value: -flag.clone(), shift: -shift }),
        order: options.tuning.steps,
    };
    let map = ContextMap::new(grid, Positions::None);
    let (low, high) = interval(grid);
    let zero = ZeroOutside {
        u: map.sweep.u.clone(),
        low: Rat::from(low),
        high: Rat::from(high),
        drop: guard.map_or_else(|| options.drop(grid, &flag), |guard| guard.slope.clone()),
        by: if guard.is_some() { Outside::Distance } else { Outside::Indicator },
    };
    let mut stages = Vec::new();
    if let Some(guard) = guard {
        stages.push(Clamp { width: dims, bound: guard.clamp.clone() }.stage());
    }
    stages.push(quantise.stage());
    if let Some(guard) = guard {
        stages.push(AddMinimum { u: map.sweep.u.clone(), gain: guard.gain.clone() }.stage());
        let floor = Quantise { width: dims, rows: 1, steps, flag: None, order: options.tuning.steps };
        stages.push(Floor(floor).stage());
    }
    stages.extend([map.sweep.clone().stage(), map.global.clone().stage(), zero.stage()]);
    stages.extend(value_stages(grid, target, options, map)?);
    Ok(network(grid, target, options, None, stages))
}

/// The windows of Lemma 7 and, where the values had to be scaled down, the layers that scale them back.
pub(super) fn value_stages(
    grid: &Grid,
    target: &Arc<Target>,
    options: &Options,
    map: ContextMap,
) -> Result<Vec<Stage>> {
    let (order, exponent) = if options.prints(AsPrinted::Lemma7Order) {
        (WindowOrder::Listed, 0)
    } else {
        (WindowOrder::DecreasingCentres, value_exponent(grid, target, options, &map.lowest_id())?)
    };
    let offset = options.tuning.offset.clone();
    let (half_width, near) = (Rat::new(1, 2), options.tuning.near);
    let values = ValueWindows { map, half_width, order, exponent, offset, near, target: Arc::clone(target) };
    let mut stages = vec![values.stage()];
    if exponent > 0 {
        let rows = target.output_dims();
        stages.push(Rescale { width: grid.dims(), rows, exponent }.stage());
    }
    Ok(stages)
}
