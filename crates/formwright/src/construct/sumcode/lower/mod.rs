//! A sum of codes in floats.
//!
//! | stage | what becomes of it | exact on the lattice, because |
//! |---|---|---|
//! | quantise | binary digits (`binary_quantiser.rs`) | no sum has terms larger than its result |
//! | code, rank, id | as they are: integers | all terms together are at most `2^μ` |
//! | sum | softmax of equal scores | see below |
//! | values | one block on a grid (`values_on_grid.rs`), or layers of two ReLUs | weights are multiples of a power of two |
//!
//! **The sum.** Equal scores are equal floats; less their maximum they are 0, and `exp(0) = 1`. So the weights are all `w = fl(1/n) = (1+δ)/n`, and what is added up,
//! `w·(n c) = c + cδ`, is rounded to `c`, fused into the sum or not, whenever `|cδ|` is less than half a unit in the last place of `c` (at a power of two, at most half of the unit below, a tie going
//! to the power): it is so for every code of this network, or the network is declined. Then the sum of codes is exact in any order, and so is `S` times it.
//!
//! **Layers.** `R(t-c+¾)` and `R(t-c+½)` with the weights `±4A` and `∓4W`: at its own id a token holds `¾` and `½`, `y = 3A - 2A` and `id = c - 3W + 2W < 0`, exactly if `3A` has at most
//! `μ` digits and the ids four less. Every window above has left it alone, every window below finds a negative id.
//!
//! **Between lattice points** all that is needed is a bound on the outputs. A code is between `-G` and the largest one, whatever the cell, up to rounding; the curve is
//! between its values, up to rounding, for every id. With layers, a token that lies on the ramps of several windows has `Σ θ < 2` over them, since all but the last leave an id that
//! is not negative, and `W` is twice the largest: nothing overflows, and a clip behind the layers, twice (`clip.rs`), brings every output into the target's range.
//!
//! **Outside of the box** the output is exactly 0 if one coordinate is past the ramp around it, wherever the others are, as long as none is so far away that its flag overflows ([`Outside`]).
//! On the ramp itself nothing is known but the height: a coordinate of `-10^-9` is not yet flagged. The flag is `F/ε` times the distance, and the code block reads `uᵀcell`, so with `c` and `b` the weight and the bias of the embedding
//!
//! ```text
//! (1 + γ_{2J+d+10}) Σu ((F/ε) (c|x| + |b| + N + 1) + 2^J + nD) ≤ Ω         the largest float
//! ```
//!
//! keeps every product and every sum of the two stages finite, in any order; all others are smaller. The code of such a column is `-G`, exactly, since all units rest, and from there on nothing depends on how far it was.

pub(crate) mod binary_quantiser;
pub(crate) mod values_on_grid;

use std::sync::Arc;

use binary_quantiser::BinaryQuantiser;
use values_on_grid::{Gridded, on_grid};

use crate::bound::resolution;
use crate::construct::sumcode::{Options, Parts, Values};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::Interval;
use crate::lattice::Grid;
use crate::lower::assembly::Assembly;
use crate::lower::realise::realise;
use crate::lower::to_float;
use crate::lower::{CLIP, MOST_LAYERS, Margins, check_box, embedding_shift};
use crate::network::attention::{Integers, Loss};
use crate::network::{
    Activation, FeedForward, FloatNetwork, FloatStage, Layer, Network, Precision, Realisation, Stage,
};
use crate::rounding::gamma;
use crate::target::Target;

/// The losses of a float network against the target's values at cell centres.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Losses {
    /// The loss at the lattice points.
    pub rounding: f64,
    /// The share of the box on which a coordinate lies on a ramp.
    pub bad_share: f64,
    /// How large the outputs can be there.
    pub height: f64,
    /// How large the target can be.
    pub spread: f64,
}

/// The region where the output is known to be exactly 0: a coordinate is outside of the box by `ramp` or more, and none
/// is larger than `farthest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outside {
    /// The ramp around the box, and what the embedding rounds, in the units of the input.
    pub ramp: Rat,
    /// The largest magnitude of an input for which no flag overflows.
    pub farthest: Rat,
}

/// Everything that the float network is made from, derived and not chosen.
#[derive(Clone, Debug)]
pub(crate) struct SumCodeLowering {
    /// The format.
    pub precision: Precision,
    /// The construction.
    pub parts: Parts,
    /// The quantiser.
    pub quantiser: BinaryQuantiser,
    /// The margins of every cell, for its ramps.
    pub margins: Margins,
    /// The losses.
    pub losses: Losses,
    /// The value block, unless there are layers.
    curve: Option<Gridded>,
    /// The bound of the clip behind layers: what every value that they store is within.
    clip: Rat,
}

/// Declines what does not fit a format, before anything is listed.
pub(crate) fn check_fit(parts: &Parts, precision: Precision) -> Result<BinaryQuantiser> {
    let (grid, nodes) = (&parts.nodes.grid, &parts.nodes);
    let room = Rat::from(2).pow(precision.digits());
    let spare = if parts.options.values == Values::Layered { 4 } else { 0 };
    let bits = parts.id_bits().max(nodes.largest_sum().bits());
    let ways_out = ways_out(precision);
    if bits + spare > precision.digits() {
        let error = Error::declined(format!("the ids of this network have {bits} bits and do not fit {precision}"))
            .note("grid", format!("{} cells a side, {} columns", grid.resolution(), grid.columns()));
        let error = match spare {
            0 => error.note("reason", format!("{precision} has {}", precision.digits())),
            _ => error.note("reason", format!("layers need four more, and {precision} has {}", precision.digits())),
        };
        return Err(error.note("try", ways_out));
    }
    let rank_sum = parts.rank.as_ref().map(|rank| rank.sum_at(&Rat::from(nodes.largest_sum())));
    for (what, sum) in [("code", Some(parts.encode.largest_sum())), ("rank", rank_sum)] {
        if let Some(sum) = sum.filter(|sum| *sum > room) {
            return Err(Error::declined(format!("the {what} block does not add up exactly in {precision}"))
                .note(
                    "reason",
                    format!(
                        "its terms add up to {:.1e}, and {precision} holds integers up to {:.1e}",
                        sum.to_f64(),
                        room.to_f64()
                    ),
                )
                .note("try", ways_out));
        }
    }
    check_sum(parts, precision)?;
    check_box(grid, &Int::from(grid.resolution()), precision)?;
    BinaryQuantiser::derive(grid.resolution(), nodes.symbols(), precision).ok_or_else(|| {
        Error::declined(format!("{} cells a side do not fit the quantiser in {precision}", grid.resolution()))
            .note("try", ways_out)
    })
}

/// The parts whose ids fit a format; declined as soon as a code is too large, before the others are looked for.
///
/// Ids are below `S·n·max Φ + S` with `S = max Φ + 1`, or ranks, where the sums have to fit.
pub(crate) fn fitting(grid: &Grid, target: &Arc<Target>, options: &Options, precision: Precision) -> Result<Parts> {
    let (n, room) = (Int::from(grid.tokens()), Int::ONE << precision.digits());
    let fits = |code: u64| {
        let code = Int::from(code);
        let largest = if options.values == Values::Rank { &n * &code } else { (&code + Int::ONE) * &n * &code + code };
        largest < room
    };
    let most = resolution::last(1, 1 << precision.digits(), fits).unwrap_or(1);
    let codes = options.code()?.codes_up_to(grid.tokens(), &grid.columns(), most)?;
    let codes = codes.ok_or_else(|| {
        let digits = precision.digits();
        Error::declined(format!("the ids of this network have more than {digits} bits and do not fit {precision}"))
            .note("grid", format!("{} cells a side, {} columns", grid.resolution(), grid.columns()))
            .note("reason", format!("a code is above {most}, and ids are about {} times its square", grid.tokens()))
            .note("try", ways_out(precision))
    })?;
    Ok(Parts::of(grid, target, options, true, codes, None))
}

/// A remedy where something does not fit.
fn ways_out(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "⟨precision=f64⟩, or a coarser ⟨resolution⟩",
        Precision::F64 => "a coarser ⟨resolution⟩, or ⟨precision=exact⟩",
    }
}

/// Checks that the head gives the exact sum of codes, in any order.
///
/// Softmax: see [`check_shares`]. Of the other kinds the model lets a runtime choose where it divides; the kind says by what, and whether that is exact
/// wherever it stands, while sums have digits left for it.
fn check_sum(parts: &Parts, precision: Precision) -> Result<()> {
    let tokens = parts.nodes.codes.tokens;
    let Realisation { kind, choice } = parts.options.attention;
    let (divisor, exact, wanted) = match kind.sums_of_integers(&choice, tokens) {
        Integers::Shares => return check_shares(parts, precision),
        Integers::Divided { divisor, exact, wanted } => (divisor, exact, wanted),
    };
    let largest = Int::from(tokens) * parts.nodes.codes.largest() * Int::from(divisor);
    if exact && largest.bits() <= precision.digits() {
        return Ok(());
    }
    let kind = parts.options.attention.kind();
    let reason = if exact {
        format!("sums of codes times {divisor} have {} bits", largest.bits())
    } else {
        format!("a sum of codes is an integer, and {kind} attention rounds it")
    };
    Err(Error::declined(format!("{} attention does not add codes up exactly in {precision}", parts.options.attention))
        .note("reason", reason)
        .note("try", format!("{wanted}, or ⟨attention=softmax⟩")))
}

/// Checks that `fl(1/n)·(n c)` is `c` for every code, rounded or fused into a sum.
fn check_shares(parts: &Parts, precision: Precision) -> Result<()> {
    let codes = &parts.nodes.codes;
    let tokens = Rat::from(codes.tokens);
    let share = Rat::from_f64(to_float::nearest(&Rat::new(1, codes.tokens), precision)).unwrap_or_default();
    let off = (share * tokens - Rat::ONE).abs();
    let safe = |code: &&Int| {
        // Half a unit in the last place; at a power of two, of the numbers below, and there a tie goes to the power, which is even.
        let below = *code - Int::ONE;
        let half = to_float::grid_step(below.bits(), precision) / Rat::from(2);
        let moved = Rat::from(*code) * &off;
        if below.bits() < code.bits() { moved <= half } else { moved < half }
    };
    match codes.values.iter().find(|code| !safe(code)) {
        None => Ok(()),
        Some(code) => Err(Error::declined(format!("the sum over {} tokens is not exact in {precision}", codes.tokens))
            .note(
                "reason",
                format!(
                    "1/{} is rounded, and {} times it is {code} no more",
                    codes.tokens,
                    Rat::from(code) * Rat::from(codes.tokens)
                ),
            )
            .note("try", "another number of ⟨tokens⟩ (a power of two always serves), or ⟨precision=exact⟩")),
    }
}

impl SumCodeLowering {
    /// The numbers of a float network, and its losses.
    pub fn derive(grid: &Grid, target: &Arc<Target>, options: &Options, precision: Precision) -> Result<Self> {
        let parts = fitting(grid, target, options, precision)?;
        let quantiser = check_fit(&parts, precision)?;
        Self::of(parts, quantiser, precision)
    }

    /// The same for parts that fit, with this quantiser.
    pub fn of(parts: Parts, quantiser: BinaryQuantiser, precision: Precision) -> Result<Self> {
        let (grid, target) = (parts.nodes.grid.clone(), Arc::clone(&parts.nodes.target));
        let (grid, target, options) = (&grid, &*target, &parts.options);
        parts.nodes.check_count()?;
        let (low, high) = target.range_near(grid.tokens())?;
        let spread = low.abs().max(high.abs());
        to_float::check_magnitude("the target's largest value", &spread, precision)?;
        let curve = match options.values {
            Values::Layered => None,
            values => Some(on_grid(&parts.nodes, values == Values::Staircase, precision)?),
        };
        let (mut rounding, mut clip) = (Rat::ZERO, spread.clone());
        if let Some(gridded) = &curve {
            rounding = gridded.loss.clone();
        } else {
            for value in parts.nodes.listed()?.iter().flat_map(|node| &node.value) {
                let stored = on_short_grid(value, precision);
                (rounding, clip) = (rounding.max((&stored - value).abs()), clip.max(stored.abs()));
            }
        }
        let clip = Rat::from_f64(to_float::upward(&clip, precision)).unwrap_or_default();
        let exact = |value: &Rat| Interval::from(value);
        let shift = embedding_shift(grid, &Int::from(grid.resolution()), precision);
        let margins = Margins::new(shift, &quantiser.width());
        let losses = Losses {
            rounding: exact(&rounding).hi(),
            bad_share: margins.share(grid),
            height: height(&parts, curve.as_ref(), (&spread, &clip), &quantiser, precision),
            spread: exact(&spread).hi(),
        };
        Ok(Self { precision, parts, quantiser, margins, losses, curve, clip })
    }

    /// The region where the output is exactly 0, in every execution.
    pub fn outside(&self) -> Outside {
        let (grid, precision, quantiser) = (&self.parts.nodes.grid, self.precision, &self.quantiser);
        let exact = |x: f64| Rat::from_f64(x).unwrap_or_default();
        let float = |x: &Rat| exact(to_float::nearest(x, precision)).abs();
        let embed = self.parts.embed();
        let (weight, bias) = (float(&embed.weight[0][0]), float(&embed.bias[0]));
        let two = Rat::from(2);
        let roundings = exact(gamma(2 * quantiser.digits + grid.dims() + 10, precision).hi());
        let read: Rat = grid.radix().iter().map(Rat::from).sum();
        let cells = exact(precision.largest()) / ((Rat::ONE + roundings) * read);
        let digits = two.pow(quantiser.digits) + Rat::from(grid.tokens()) * Rat::from(grid.columns());
        let slope = &quantiser.flag / &quantiser.width();
        let embedded = (cells - digits) / slope - &bias - Rat::from(grid.resolution()) - Rat::ONE;
        let side = (grid.high() - grid.low()) / Rat::from(grid.resolution());
        Outside { ramp: &self.margins.high * &side, farthest: embedded / weight }
    }

    /// The feed-forward layers of the value stage.
    fn values(&self) -> Result<Vec<FeedForward>> {
        let layout = &self.parts.layout;
        if let Some(gridded) = &self.curve {
            return Ok(vec![gridded.curve.layer(&layout.read(), layout.outputs)]);
        }
        let layers = self.parts.value_layers();
        let four = Rat::from(4);
        let window = |id: &Int, value: &[Rat]| {
            let value: Vec<Rat> = value.iter().map(|value| on_short_grid(value, self.precision)).collect();
            let direction = layers.direction(&value);
            FeedForward {
                w1: vec![layers.read.clone(); 2],
                b1: vec![Rat::new(3, 4) - Rat::from(id), Rat::new(1, 2) - Rat::from(id)],
                activations: vec![Activation::Relu; 2],
                w2: direction.iter().map(|entry| vec![entry * &four, -(entry * &four)]).collect(),
                b2: vec![Rat::ZERO; layout.width],
            }
        };
        Ok(self.parts.nodes.listed()?.iter().rev().map(|node| window(&node.id, &node.value)).collect())
    }

    /// The float network.
    pub fn lower(&self) -> Result<FloatNetwork> {
        assembled(self.stages()?, &self.parts.network(), self.precision, &self.parts.options.attention)
    }

    /// Its stages with their layers.
    pub fn stages(&self) -> Result<Vec<(FloatStage, Vec<Layer>)>> {
        let parts = &self.parts;
        let layout = &parts.layout;
        let mut stages: Vec<(FloatStage, Vec<Layer>)> = Vec::new();
        let mut push = |name: &str, statement: &str, meaning: String, layers: Vec<Layer>| {
            stages.push((FloatStage { name: name.to_owned(), statement: statement.to_owned(), meaning }, layers));
        };
        let forward = |layers: Vec<FeedForward>| layers.into_iter().map(Layer::FeedForward).collect();
        let meaning = "every coordinate to its cell, digit by digit; outside of the box below every id".to_owned();
        push("quantise", "sum-code", meaning, forward(self.quantiser.layers(layout.dims, layout.code, layout.width)));
        for Stage { name, statement, meaning, generator } in parts.middle() {
            push(name, statement, meaning, generator.layers().collect::<Result<_>>()?);
        }
        if !parts.options.family.is_apart && matches!(parts.options.values, Values::OneBlock | Values::Staircase) {
            let mut read = vec![Rat::ZERO; layout.width];
            read[layout.code] = -Rat::ONE;
            let direction = read.iter().map(|entry| -entry).collect();
            let zero = FeedForward::unit(read, Rat::ZERO, Activation::Relu, direction);
            push("zero", "sum-code", "negative ids, outside of the box, become 0".to_owned(), forward(vec![zero]));
        }
        let values = self.values()?;
        if values.len() as u64 > MOST_LAYERS {
            return Err(Error::declined(format!("the network has {} layers, too many to write down", values.len()))
                .note("limit", MOST_LAYERS.to_string())
                .note("try", "⟨values=one-block⟩, or a coarser ⟨resolution⟩"));
        }
        push("values", "sum-code", parts.values_meaning(), forward(values));
        if self.curve.is_none() {
            let clip = FeedForward::clip(layout.width, layout.outputs..layout.width, &self.clip);
            push("clip", "sum-code", CLIP.to_owned(), forward([clip.clone(), clip].concat()));
        }
        Ok(stages)
    }
}

/// The float network of these stages, with the ends of an exact one, its sums by heads of this kind.
pub(in crate::construct) fn assembled(
    stages: Vec<(FloatStage, Vec<Layer>)>,
    exact: &Network,
    precision: Precision,
    attention: &Realisation,
) -> Result<FloatNetwork> {
    let mut assembly = Assembly::new(precision, exact.width());
    for (index, (_, layers)) in stages.iter().enumerate() {
        for layer in layers {
            match layer {
                Layer::Attention(layer) => assembly.attention(index, layer),
                Layer::FeedForward(layer) => assembly.feed_forward(index, layer),
            }
        }
    }
    let stages = stages.into_iter().map(|(stage, _)| stage).collect();
    let mut network = assembly.network(exact, stages);
    if attention.is_softmax() {
        return Ok(network);
    }
    // The scores of a constant channel are as equal as those of no channel.
    for attention in network.runs.iter_mut().filter_map(|run| run.attention.as_mut()) {
        attention.q.fill(0.0);
        attention.k.fill(0.0);
    }
    realise(&network, attention)
}

/// A value of two digits less than the format has: three times it is a float.
fn on_short_grid(value: &Rat, precision: Precision) -> Rat {
    // The exponent of the nearest float, by its own digits.
    let magnitude = value.abs();
    if magnitude.is_zero() {
        return Rat::ZERO;
    }
    let (two, half) = (Rat::from(2), Rat::new(1, 2));
    let mut top = two.pow(magnitude.ceil().bits());
    while &top * &half > magnitude {
        top = top * &half;
    }
    to_float::to_multiple(value, &(top / two.pow(precision.digits() - 2)))
}

/// How large outputs can be where coordinates lie on ramps; infinite if that is not known.
fn height(
    parts: &Parts,
    curve: Option<&Gridded>,
    (spread, clip): (&Rat, &Rat),
    quantiser: &BinaryQuantiser,
    precision: Precision,
) -> f64 {
    let (nodes, grid) = (&parts.nodes, &parts.nodes.grid);
    let exact = |value: &Rat| Interval::from(value);
    let gamma = |k: usize| gamma(k, precision);
    // What the digits take away from a coordinate they add to its cell, on ramps too, up to rounding: a cell is at most N, and less than 1.
    let side = Rat::from(quantiser.cells) + Rat::ONE;
    let columns = grid.radix().iter().map(Rat::from).sum::<Rat>() * side;
    let top = columns + Rat::from(nodes.symbols());
    let code = exact(&Rat::from(nodes.codes.largest()))
        + gamma(nodes.symbols() + grid.dims() + 6) * exact(&parts.encode.sum_at(&top));
    let lost = Interval::from(Loss::of(&parts.options.attention, grid.tokens(), precision).relative);
    let sum = code * exact(&Rat::from(grid.tokens())) * (Interval::ONE + lost);
    let id = match &parts.rank {
        None => (exact(&Rat::from(&nodes.scale)) * sum + code) * (Interval::ONE + gamma(6)),
        Some(rank) => {
            let units = Int::from(2) * nodes.multisets();
            let roundings = gamma(units.to_usize().unwrap_or(usize::MAX / 4) + 6);
            let most =
                Rat::from_f64(sum.hi()).map_or(Interval::ENTIRE, |sum| exact(&(Rat::from(2) * rank.sum_at(&sum))));
            exact(&Rat::from(nodes.largest())) + roundings * most + exact(&top)
        }
    };
    let Some(id) = Rat::from_f64(id.hi()) else { return f64::INFINITY };
    let Some(gridded) = curve else {
        let clear = Rat::from(parts.value_layers().clear);
        let step = gamma(8) * Interval::point(8.0) * exact(&(&id + Rat::ONE));
        if step.hi() > 0.125 || id > clear / Rat::from(2) {
            return f64::INFINITY;
        }
        // A few times the spread at most before the clip, and nothing else behind it.
        return exact(clip).hi();
    };
    let (constant, hinges) = gridded.curve.hinges();
    let units = hinges.len() + parts.layout.width + 6;
    let mut worst = Interval::ZERO;
    for (output, constant) in constant.iter().enumerate() {
        let (mut left, mut right) = (constant.abs(), constant.abs());
        for hinge in &hinges {
            let knot = Rat::from(hinge.knot);
            if hinge.facing < 0 {
                left += &(hinge.weight[output].abs() * (knot + Rat::ONE));
            } else {
                right += &(hinge.weight[output].abs() * (&id - knot).max(Rat::ZERO));
            }
        }
        worst = worst.max(exact(&left.max(right)));
    }
    (exact(spread) + exact(&gridded.loss) + gamma(units) * worst).hi()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::construct::sumcode::SUM_CODE;
    use crate::target::Source;

    /// While codes are looked for, only those whose ids do not fit are declined.
    #[test]
    fn a_code_is_given_up_exactly_where_its_ids_do_not_fit() {
        let target = Arc::new(Source::expression("t", "x").and_then(|source| source.target(1)).expect("a target"));
        let (mut declined, mut built) = (0, 0);
        for values in [Values::OneBlock, Values::Rank] {
            for (tokens, most) in [(2, 70), (3, 20), (4, 8), (5, 6), (6, 4)] {
                for resolution in 2..=most {
                    let grid = Grid::unit(tokens, 1, resolution).expect("a grid");
                    let options = Options { values, ..Options::of(&SUM_CODE) };
                    let parts = Parts::new(&grid, &target, &options, true).expect("a code");
                    let largest =
                        if values == Values::Rank { parts.nodes.largest_sum() } else { parts.nodes.largest() };
                    for precision in [Precision::F32, Precision::F64] {
                        let found = fitting(&grid, &target, &options, precision);
                        let fits = largest.bits() <= precision.digits();
                        assert_eq!(found.is_ok(), fits, "{tokens} tokens, {resolution} cells, {values}, {precision}");
                        match found {
                            Ok(found) => assert_eq!(found.nodes.codes, parts.nodes.codes),
                            Err(error) => assert!(error.headline().contains("do not fit"), "{error}"),
                        }
                        (declined, built) = (declined + usize::from(!fits), built + usize::from(fits));
                    }
                }
            }
        }
        assert!(declined > 10 && built > 100, "{declined} declined, {built} built");
    }
}
