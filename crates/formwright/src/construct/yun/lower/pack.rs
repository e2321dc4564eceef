//! Packing: width for depth.
//!
//! Updates `Z ← Z + F_k(Z)` that touch disjoint sets of tokens, none of which leads into the set of a later one, may be made at once:
//! `Z ← Z + Σ_k F_k(Z)`. Attention does not pack (two windows in one layer shift their tokens by the same amount, and contexts collide); the
//! feed-forward stages do, into blocks of at most `R` hidden units. What it costs is bits: in one wide sum terms meet that a literal network
//! keeps apart, and all of them must add up exactly.
//!
//! * **Quantiser**, `K` steps a block. Steps at `k_0, …, k_0+K-1` share their kinks, `2K + 1` units:
//!   `-R(z-k_0) + 2^m Σ_k (R(z-k-1+2^{-m}) - R(z-k-1)) + R(z-k_0-K)`. A coordinate with all its digits would not survive that sum; so two layers in front
//!   *snap* it to a multiple of `2^-q`: `z + C` and `z - C` with `C = 2^{μ-1-q}`, whose last digit is `2^-q`. All terms are multiples of `2^-q` then, and
//!   the sum is exact if `q + m + 1 + log2 K + log2 steps ≤ μ`. Snapping moves a coordinate by `2^{-q-1}`, ramps take `2^-m`: the best is `q = m`.
//! * **Values as a staircase**, `K` ids a block, highest block first: with the ids `c_1 < … < c_K` of a block and what they add, `w_k`,
//!   `4 Σ_k (w_k - w_{k-1}) (R(t-c_k+¾) - R(t-c_k+½))`, two units an id. Terms are as large as an id times the reach of the block.
//! * **Values by interpolation**, all in one block of as many units as ids: `-R(t) + G(t)`, `G` piecewise linear through the values at the ids. Its slopes
//!   are multiples of `h`, so that every term is; what is left of a slope is made up at the next id, and the loss is half of `h` times the largest gap.

use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::lower::{Hidden, LITERAL, to_float};
use crate::network::{Activation, FeedForward, Precision};

/// Ramps of `2^-m` for a packed quantiser: as narrow as the sum stays exact, `q = m`.
pub(crate) fn ramp_digits(steps: &Int, together: &Int, precision: Precision) -> Option<usize> {
    let log = |count: &Int| (count - Int::ONE).bits();
    precision.digits().checked_sub(1 + log(together) + log(steps)).map(|both| both / 2).filter(|m| *m > 0)
}

/// The blocks of layers that may be made in any order, and at once: as many as fit.
pub(crate) fn pack(layers: Vec<FeedForward>, hidden: Hidden) -> Vec<FeedForward> {
    let mut blocks: Vec<FeedForward> = Vec::new();
    for layer in layers {
        match blocks.last_mut() {
            Some(block) if hidden != Hidden::Literal && block.b1.len() + layer.b1.len() <= hidden.units() => {
                append(block, &layer);
            }
            _ => blocks.push(layer),
        }
    }
    if hidden == Hidden::Literal {
        for block in &mut blocks {
            pad(block, LITERAL);
        }
    }
    blocks
}

/// The quantiser: flags, then the two layers that snap, then the steps of each row in blocks.
pub(crate) fn pack_quantiser(
    flags: Vec<FeedForward>,
    rows: Vec<Vec<FeedForward>>,
    hidden: Hidden,
    digits: usize,
    precision: Precision,
) -> Vec<FeedForward> {
    let width = rows.first().and_then(|row| row.first()).map_or(0, |layer| layer.b2.len());
    let last_digit = Rat::from(2).pow(precision.digits() - 1 - digits);
    // A layer has at least one hidden unit; this one's does nothing.
    let snap = |constant: Rat| FeedForward {
        w1: vec![vec![Rat::ZERO; width]],
        b1: vec![Rat::ZERO],
        activations: vec![Activation::Relu],
        w2: vec![vec![Rat::ZERO]; width],
        b2: vec![constant; width],
    };
    let together = hidden.steps_a_block(&Int::from(rows.first().map_or(0, Vec::len)));
    let together = together.to_usize().unwrap_or(usize::MAX).max(1);
    let joined = rows.into_iter().flat_map(|row| {
        let mut blocks = Vec::new();
        let mut steps = row.into_iter().peekable();
        while steps.peek().is_some() {
            let mut chunk = steps.by_ref().take(together);
            if let Some(mut block) = chunk.next() {
                for step in chunk {
                    append(&mut block, &step);
                }
                blocks.push(block);
            }
        }
        blocks
    });
    let steps: Vec<FeedForward> = joined.collect();
    let mut blocks = pack(flags, hidden);
    blocks.extend([snap(last_digit.clone()), snap(-last_digit)]);
    // Rows do not meet: whole rows may share a block.
    blocks.extend(pack(steps, hidden));
    blocks
}

/// Adds a layer's units to a block, merging those that compute the same.
fn append(block: &mut FeedForward, layer: &FeedForward) {
    for unit in 0..layer.b1.len() {
        let same = |place: &usize| block.b1[*place] == layer.b1[unit] && block.w1[*place] == layer.w1[unit];
        let column = layer.w2.iter().map(|row| row[unit].clone());
        // A kink that is shared is shared with a neighbour.
        let near = block.b1.len().saturating_sub(2 * LITERAL)..block.b1.len();
        if let Some(place) = near.into_iter().rev().find(same) {
            block.w2.iter_mut().zip(column).for_each(|(row, weight)| row[place] += &weight);
        } else {
            block.w1.push(layer.w1[unit].clone());
            block.b1.push(layer.b1[unit].clone());
            block.activations.push(Activation::Relu);
            block.w2.iter_mut().zip(column).for_each(|(row, weight)| row.push(weight));
        }
    }
    block.b2.iter_mut().zip(&layer.b2).for_each(|(sum, constant)| *sum += constant);
}

/// Adds hidden units that do nothing.
fn pad(block: &mut FeedForward, units: usize) {
    let width = block.b2.len();
    while block.b1.len() < units {
        block.w1.push(vec![Rat::ZERO; width]);
        block.b1.push(Rat::ZERO);
        block.activations.push(Activation::Relu);
        block.w2.iter_mut().for_each(|row| row.push(Rat::ZERO));
    }
}

/// An id, and what is added to a token that has it.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The id.
    pub centre: Rat,
    /// The change of each row.
    pub change: Vec<Rat>,
}

impl Window {
    /// The window that a layer of Lemma 7 is.
    pub fn of(layer: &FeedForward) -> Option<Self> {
        let centre = -layer.b1.first()?.clone();
        Some(Self { centre, change: layer.w2.iter().map(|row| row[0].clone()).collect() })
    }
}

/// The value map in wide blocks; `windows` by decreasing id. Returns the blocks, and the largest loss of a value.
pub(crate) fn pack_values(
    windows: &[Window],
    u: &[Rat],
    hidden: Hidden,
    entries: &[Rat],
    precision: Precision,
) -> Result<(Vec<FeedForward>, Rat)> {
    if hidden.ids_a_block(&Int::from(windows.len())) == Int::from(windows.len()) {
        let (block, loss) = interpolate(windows, u, entries, precision)?;
        return Ok((vec![block], loss));
    }
    let mut loss = Rat::ZERO;
    let mut blocks = Vec::new();
    for chunk in windows.chunks((hidden.units() / 2).max(1)) {
        let (block, lost) = staircase(chunk, u, entries, precision)?;
        blocks.push(block);
        loss = loss.max(lost);
    }
    Ok((blocks, loss))
}

/// The grid on which sums of this size are exact. The entries that they start from are integers, and must lie on it.
fn grid_of(bits: usize, ids: usize, precision: Precision) -> Result<Rat> {
    let step = to_float::grid_step(bits, precision);
    if step <= Rat::ONE {
        return Ok(step);
    }
    Err(Error::declined(format!("the values of {ids} ids do not add up exactly in one block in {precision}"))
        .note("reason", format!("their sum has {bits} digits before the point, {precision} has {}", precision.digits()))
        .note(
            "try",
            match precision {
                Precision::F32 => "fewer ⟨hidden⟩ units, ⟨precision=f64⟩, or neither ⟨pack⟩ nor ⟨hidden⟩",
                Precision::F64 => "fewer ⟨hidden⟩ units, a coarser grid, or neither ⟨pack⟩ nor ⟨hidden⟩",
            },
        ))
}

/// A block whose units read the id, opening to the right at `knots`, with nothing written yet.
fn reader(u: &[Rat], knots: Vec<Rat>) -> FeedForward {
    FeedForward {
        w1: vec![u.to_vec(); knots.len()],
        activations: vec![Activation::Relu; knots.len()],
        w2: vec![Vec::new(); u.len()],
        b2: vec![Rat::ZERO; u.len()],
        b1: knots.into_iter().map(|knot| -knot).collect(),
    }
}

/// `4 Σ_k (w_k - w_{k-1}) (R(t-c_k+¾) - R(t-c_k+½))`.
fn staircase(windows: &[Window], u: &[Rat], entries: &[Rat], precision: Precision) -> Result<(FeedForward, Rat)> {
    let (four, top) = (Rat::from(4), windows[0].centre.clone());
    let rising: Vec<&Window> = windows.iter().rev().collect();
    let knots = rising.iter().flat_map(|window| [Rat::new(3, 4), Rat::new(1, 2)].map(|below| &window.centre - below));
    let mut block = reader(u, knots.collect());
    let mut loss = Rat::ZERO;
    for (row, entry) in entries.iter().enumerate() {
        let entry = if row == 0 { top.clone().max(entry.clone()) } else { entry.clone() };
        let risers = |at: &dyn Fn(&Window) -> Rat| -> Vec<Rat> {
            let mut last = Rat::ZERO;
            let riser = |window: &&Window| {
                let here = at(window);
                let riser = &here - &last;
                last = here;
                riser
            };
            rising.iter().map(riser).collect()
        };
        let reach = |k: usize| &top - &rising[k].centre + Rat::ONE;
        let exact = risers(&|window| window.change[row].clone());
        let sum = exact.iter().enumerate().map(|(k, riser)| &four * &riser.abs() * reach(k)).sum::<Rat>() + entry;
        let step = grid_of(to_float::sum_bits(&sum), windows.len(), precision)?;
        for riser in risers(&|window| to_float::to_multiple(&window.change[row], &step)) {
            block.w2[row].extend([&riser * &four, -(&riser * &four)]);
        }
        let lost = windows.iter().map(|w| (&w.change[row] - to_float::to_multiple(&w.change[row], &step)).abs());
        loss = lost.fold(loss, Rat::max);
    }
    Ok((block, loss))
}

/// `-R(t) + G(t)` in the first row, `G(t)` in the others; `G` has a knot one below the lowest id and at every other id but the highest.
fn interpolate(windows: &[Window], u: &[Rat], entries: &[Rat], precision: Precision) -> Result<(FeedForward, Rat)> {
    let rising: Vec<&Window> = windows.iter().rev().collect();
    let top = windows[0].centre.clone();
    let mut knots: Vec<Rat> = rising.iter().take(rising.len() - 1).map(|window| window.centre.clone()).collect();
    knots.insert(0, &rising[0].centre - Rat::ONE);
    let mut block = reader(u, std::iter::once(Rat::ZERO).chain(knots.iter().cloned()).collect());
    let mut loss = Rat::ZERO;
    for (row, entry) in entries.iter().enumerate() {
        let fall = if row == 0 { Rat::ONE } else { Rat::ZERO };
        // What G has to be at the ids.
        let wanted: Vec<Rat> = rising.iter().map(|window| &window.change[row] + &window.centre * &fall).collect();
        let slopes = |step: Option<&Rat>| -> (Vec<Rat>, Rat) {
            let (mut at, mut slope, mut worst) = (Rat::ZERO, Rat::ZERO, Rat::ZERO);
            let mut bends = Vec::with_capacity(knots.len());
            for ((knot, window), want) in knots.iter().zip(&rising).zip(&wanted) {
                let gap = &window.centre - knot;
                let needed = (want - &at) / gap.clone();
                let next = step.map_or_else(|| needed.clone(), |step| to_float::to_multiple(&needed, step));
                bends.push(&next - &slope);
                at += &(&next * &gap);
                worst = worst.max((&at - want).abs());
                slope = next;
            }
            (bends, worst)
        };
        let size = |bends: &[Rat]| {
            let terms = bends.iter().zip(&knots).map(|(bend, knot)| bend.abs() * (&top - knot));
            terms.sum::<Rat>() + &fall * &top + entry.clone().max(&fall * &top)
        };
        // Rounded slopes bend a little more than exact ones: the grid is made for those that are used.
        let mut bits = to_float::sum_bits(&size(&slopes(None).0));
        let (bends, worst) = loop {
            let (bends, worst) = slopes(Some(&grid_of(bits, windows.len(), precision)?));
            if to_float::sum_bits(&size(&bends)) <= bits {
                break (bends, worst);
            }
            bits += 1;
        };
        block.w2[row].push(-fall);
        block.w2[row].extend(bends);
        loss = loss.max(worst);
    }
    Ok((block, loss))
}

/// Rounds a literal window so that it adds up exactly.
pub(crate) fn round_window(block: &mut FeedForward, centre: &Rat, entries: &[Rat], precision: Precision) {
    let mut entries = entries.to_vec();
    entries[0] = centre.clone();
    to_float::on_grid(block, centre, &entries, precision);
}
