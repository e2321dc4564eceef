//! From an exact network of Yun et al. to floats: the passes, each with what it loses.
//!
//! | file | pass | what it loses |
//! |---|---|---|
//! | `hardmax_to_softmax.rs` | Lemma 9: softmax at a derived temperature | the drift of ids |
//! | `clip.rs` | values beyond the target's range are cut off, twice | nothing; it bounds the height on the bad set |
//! | `guard.rs` | the numbers of the guard, for claims about all of space | a shell around the box |
//! | `units.rs` | with a guard: the stream in a smaller unit, so that no finite input overflows | nothing |
//! | `pack.rs` | several layers become one wide block | bits of the values |
//! | `ids.rs` | whether ids fit a format | the rounding of values |
//!
//! What the literal passes leave is a Transformer of `T^{2,1,4}`: every attention layer has two heads of size one, every feed-forward
//! layer four ReLUs. [`Lowering::derive`] computes temperature, ramps and losses from the construction, without a layer being made;
//! [`Lowering::lower`] makes the layers.

pub(crate) mod clip;
pub(crate) mod guard;
pub(crate) mod hardmax_to_softmax;
pub(crate) mod ids;
pub(crate) mod pack;
pub(crate) mod units;

use std::sync::Arc;

use crate::construct::yun::context::{ContextMap, Order};
use crate::construct::yun::{self, Options, Tuning, stages};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::{Interval, Up};
use crate::lattice::Grid;
use crate::lower::assembly::{Assembly, described};
use crate::lower::piecewise_to_relu::piecewise_to_relu;
use crate::lower::{
    CLIP, Format, Hidden, LITERAL, MOST_LAYERS, Margins, check_box, coordinates, embedding_shift, to_float,
};
use crate::network::{FeedForward, FloatNetwork, FloatStage, Generator, Layer, Network, Precision, Size};
use crate::rounding::gamma;
use crate::target::Target;

/// A stage of the construction that lowers itself.
pub(super) trait Lowers: Generator {
    /// How many weights of its literal float layers are not 0, by formula.
    fn literal_nonzeros(&self) -> Int {
        self.size().nonzeros
    }

    /// The float blocks of its feed-forward layers, and how much a value loses in them.
    fn blocks(&self, layers: &[FeedForward], lowering: &Lowering) -> Result<(Vec<FeedForward>, Rat)> {
        Ok((pack::pack(relus(&to_float::id_ramp(), layers), lowering.format.hidden), Rat::ZERO))
    }
}

/// Heads of every attention layer.
const HEADS: usize = 2;

/// The losses of a float network against the exact one, in the target's units, entry by entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Losses {
    /// Softmax instead of hardmax, in exact arithmetic.
    pub softmax: f64,
    /// The execution in floats against the exact network, on the good set: values as they are stored, sums, read-out, and the drift once more,
    /// so that it bounds the distance to the exact execution of the same weights as well.
    pub rounding: f64,
    /// The share of the box on which a coordinate lies on a ramp.
    pub bad_share: f64,
    /// How far from the offset the network can be on the bad set.
    pub height: f64,
    /// How far from the offset the target can be.
    pub spread: f64,
    /// True if sequences with equal columns provably give the offset; if not, they are as the bad set.
    pub ties_cleared: bool,
}

/// Everything that the passes need to know, derived and not chosen.
#[derive(Clone, Debug)]
pub(crate) struct Lowering {
    /// The format that was asked for.
    pub format: Format,
    /// The construction, tuned for floats.
    pub options: Options,
    /// `λ = 2^temperature`.
    pub temperature: u32,
    /// The width of the quantiser's ramps, in cells.
    pub step_ramp: Rat,
    /// The bound `B` of the clip, in integer units.
    pub clip: Rat,
    /// The residual stream is carried times `2^-units`: with a guard, so that no finite input overflows; else 0.
    pub units: usize,
    /// The losses.
    pub losses: Losses,
    /// True if coordinates are snapped to a grid before they are quantised: where several steps share a block.
    pub(super) snaps: bool,
    /// The facts that the losses are computed from.
    facts: Facts,
}

impl Lowering {
    /// Temperature, ramps and losses for a target on a grid.
    pub fn derive(grid: &Grid, target: &Target, options: &Options, format: Format) -> Result<Self> {
        let precision = format.precision;
        yun::check_size(grid)?;
        if !options.positional {
            yun::equivariant::check_columns(grid)?;
        }
        let map = yun::context_map(grid, options);
        let fixed = target.is_discrete() || target.grid_resolution().is_some();
        ids::check_bits(&map, precision, fixed, |side| {
            let coarser = grid.with_resolution(side).ok().map(|grid| yun::context_map(&grid, options));
            coarser.is_some_and(|map| map.id_bits() + 2 <= precision.digits())
        })?;
        if format.hidden != Hidden::Literal && !options.as_printed.is_empty() {
            return Err(Error::declined("a packed network has every step repaired")
                .note("reason", "several windows share a block only by decreasing id")
                .note("try", "leave out ⟨as-printed⟩, or ⟨pack⟩ and ⟨hidden⟩"));
        }
        let steps = yun::quantiser_steps(grid, options);
        check_box(grid, &steps, precision)?;
        let together = format.hidden.steps_a_block(&steps);
        let snaps = together > Int::ONE;
        let step_ramp = if snaps {
            pack::ramp_digits(&steps, &together, precision).map(|m| Rat::ONE / Rat::from(2).pow(m))
        } else {
            to_float::step_ramp(&steps, precision)
        };
        let step_ramp = step_ramp.ok_or_else(|| {
            Error::declined(format!("{steps} steps of the quantiser do not fit {precision}"))
                .note("try", "a coarser ⟨resolution⟩, or fewer ⟨hidden⟩ units")
        })?;
        let temperature = hardmax_to_softmax::temperature(&map, precision, format.temperature)?;
        let guard = options.everywhere.then(|| guard::derive(&map, format, temperature, options)).transpose()?;
        let step_ramp = guard.iter().fold(step_ramp, |ramp, guard| ramp.max(guard::least_ramp(guard, precision)));
        // The middle of the target's range, as a float: the read-out adds it without loss. Over all of space there is no middle but 0.
        let (low, high) = target.range_near(grid.tokens())?;
        let middle = to_float::nearest(&((&low + &high) / Rat::from(2)), precision);
        let offset = if guard.is_some() { Rat::ZERO } else { Rat::from_f64(middle).unwrap_or_default() };
        let bound = (&low - &offset).abs().max((&high - &offset).abs());
        let side = Rat::from(grid.resolution());
        let flag = match &guard {
            // The clamp lets through twice its bound, and the guard adds less than once more what there is.
            Some(guard) => Some(Rat::from(4) * (&guard.flag + &guard.clamp)),
            None => (!options.positional).then(|| yun::equivariant::flag_magnitude(grid, options)),
        };
        let reach = clip::reach(&map, precision, temperature, &steps, flag.as_ref());
        let least_drop = drop_above(reach)?;
        let tuning = Tuning {
            offset: offset.clone(),
            steps: Order::Decreasing,
            least_drop: if flag.is_some() { least_drop } else { Rat::ZERO },
            window_reach: Rat::ONE,
            near: true,
            guard,
        };
        let options = Options { tuning, ..options.clone() };
        let exponent = yun::value_exponent(grid, target, &options, &map.lowest_id())?;
        let scaled = |value: &Rat| value * &side / Rat::from(2).pow(exponent);
        to_float::check_magnitude("the target's largest value in integer units", &(&bound * &side), precision)?;
        to_float::check_magnitude("the middle of the target's range", &offset, precision)?;
        let clip = Rat::from_f64(to_float::upward(&(&bound * &side), precision)).unwrap_or_default();
        let units = match &options.tuning.guard {
            Some(guard) => units::derive(&yun::embed(grid, &options), &guard.clamp, &clip, precision)?,
            None => 0,
        };
        let drop = match &options.tuning.guard {
            Some(guard) => Some(&guard.slope * &Rat::from_f64(reach.hi()).unwrap_or_default()),
            None => flag.as_ref().map(|flag| options.drop(grid, flag)),
        };
        let finite = clip::stays_finite(&map, format, temperature, reach, &scaled(&bound), exponent, drop.as_ref());
        let value_loss = ids::value_loss(&map, &scaled(&bound), precision);
        if value_loss > Rat::new(1, 2) {
            return Err(Error::declined(format!("the values of this network do not add up exactly in {precision}"))
                .note("reason", "they are rounded to a grid, which is coarser than the ids' own, the integers")
                .note("try", "a coarser ⟨resolution⟩, or ⟨precision=f64⟩"));
        }
        // Snapping moves a coordinate by half of what a ramp is wide.
        let snap = if snaps { &step_ramp / &Rat::from(2) } else { Rat::ZERO };
        let shift = embedding_shift(grid, &steps, precision) + Interval::from(&snap);
        let facts = Facts {
            map,
            precision,
            temperature,
            margins: Margins::new(shift, &step_ramp),
            offset,
            bound,
            exponent,
            value_loss,
            finite,
            everywhere: options.everywhere,
        };
        let losses = losses(&facts);
        Ok(Self { format, options, temperature, step_ramp, clip, units, losses, snaps, facts })
    }

    /// The margins of every cell, for its ramps.
    pub fn margins(&self) -> &Margins {
        &self.facts.margins
    }

    /// The exact network that is lowered.
    pub fn exact(&self, grid: &Grid, target: &Arc<Target>) -> Result<Network> {
        yun::build(grid, target, &self.options)
    }

    #[cfg(test)]
    /// The float network, layer by layer.
    pub fn lower(&self, network: &Network) -> Result<FloatNetwork> {
        Ok(self.finish(network)?.0)
    }

    /// The float network, and its losses: where it is packed, what its values lose is known only now.
    pub fn finish(&self, network: &Network) -> Result<(FloatNetwork, Losses)> {
        let layers = network.layer_count();
        if layers > Int::from(MOST_LAYERS) {
            return Err(Error::declined(format!("the network has {layers} layers, too many to write down"))
                .note("limit", MOST_LAYERS.to_string())
                .note("try", "a coarser ⟨resolution⟩, a larger ⟨eps⟩, or ⟨precision=exact⟩"));
        }
        let precision = self.format.precision;
        let width = network.width();
        let mut assembly = Assembly::new(precision, width);
        let mut stages: Vec<FloatStage> = Vec::new();
        let mut loss = Rat::ZERO;
        for stage in &network.stages {
            let index = stages.len();
            stages.push(described(stage));
            let mut layers = Vec::new();
            for layer in stage.generator.layers() {
                match layer? {
                    Layer::Attention(layer) => {
                        let softmax = hardmax_to_softmax::hardmax_to_softmax(&layer, self.temperature, HEADS);
                        assembly.attention(index, &softmax);
                    }
                    Layer::FeedForward(layer) => layers.push(layer),
                }
            }
            let (blocks, lost) = stages::of(stage)?.blocks(&layers, self)?;
            for block in &blocks {
                assembly.feed_forward(index, block);
            }
            loss = loss.max(lost);
        }
        stages.push(FloatStage { name: "clip".to_owned(), statement: "lemma9".to_owned(), meaning: CLIP.to_owned() });
        let clip = FeedForward::clip(width, 0..network.output_dims(), &self.clip);
        for _twice in 0..2 {
            for layer in pack::pack(clip.clone(), self.format.hidden) {
                assembly.feed_forward(stages.len() - 1, &layer);
            }
        }
        let losses = match self.format.hidden {
            Hidden::Literal => self.losses.clone(),
            _ => losses(&Facts { value_loss: loss, ..self.facts.clone() }),
        };
        let mut network = assembly.network(network, stages);
        units::carry(&mut network, self.units)?;
        Ok((network, losses))
    }
}

/// Piecewise linear functions by ReLUs, with ramps of this width.
pub(super) fn relus(ramp: &Rat, layers: &[FeedForward]) -> Vec<FeedForward> {
    layers.iter().map(|layer| piecewise_to_relu(layer, ramp)).collect()
}

/// The size of the literal float network, by formula: every feed-forward layer has four units, and each stage says how
/// many of its weights are not 0. A row of the clip takes two units, twice.
pub(crate) fn literal_size(exact: &Network) -> Result<Size> {
    let (d, outputs) = (exact.width(), exact.output_dims());
    let clips = Int::from(2 * outputs.div_ceil(2));
    let mut size = exact.size();
    for stage in &exact.stages {
        size.nonzeros = size.nonzeros - stage.generator.size().nonzeros + stages::of(stage)?.literal_nonzeros();
    }
    size.nonzeros += &Int::from(12 * outputs);
    size.blocks += &clips;
    size.feed_forward_layers += &clips;
    (size.heads, size.head_size, size.hidden) = (HEADS, 1, LITERAL);
    let attention = Int::from(HEADS * (4 * d + 1));
    let feed_forward = Int::from(LITERAL * (2 * d + 1) + d);
    let positions = exact.positions.as_ref().map_or(0, |rows| rows.len() * d);
    let affine = Int::from(d * exact.dims() + d + positions + outputs * d + outputs);
    size.parameters = &size.attention_layers * &attention + &size.feed_forward_layers * &feed_forward + &affine;
    size.parameters_uniform = &size.blocks * &(attention + feed_forward) + affine;
    Ok(size)
}

/// The finest grid of a shape, up to where bits or layers do not fit a format any more.
pub(crate) fn finest(shape: &Grid, options: &Options, precision: Precision) -> Result<u64> {
    let fits = |side: u64| -> Result<bool> {
        let map = yun::context_map(&shape.with_resolution(side)?, options);
        let windows = Int::from(shape.tokens()) * map.count();
        Ok(map.id_bits() + 2 <= precision.digits() && windows <= Int::from(MOST_LAYERS))
    };
    let (mut fine, mut too_fine) = (shape.resolution(), shape.resolution());
    while fits(too_fine)? {
        fine = too_fine;
        too_fine *= 2;
    }
    while fine + 1 < too_fine {
        let middle = u64::midpoint(fine, too_fine);
        if fits(middle)? { fine = middle } else { too_fine = middle }
    }
    Ok(fine)
}

/// Twice what any entry can reach, rounded up to a power of two.
fn drop_above(reach: Interval) -> Result<Rat> {
    let reach = Rat::from_f64(reach.hi()).ok_or_else(|| {
        Error::declined("the contextual map's ids are not bounded on the ramps: rounding is too coarse")
            .note("try", "a coarser ⟨resolution⟩, or ⟨precision=f64⟩")
    })?;
    Ok(Rat::from(2).pow(reach.ceil().bits() + 1))
}

/// The facts that the losses depend on.
#[derive(Clone, Debug)]
struct Facts {
    map: ContextMap,
    precision: Precision,
    temperature: u32,
    margins: Margins,
    offset: Rat,
    bound: Rat,
    exponent: usize,
    value_loss: Rat,
    finite: bool,
    everywhere: bool,
}

/// The losses, by formula.
fn losses(facts: &Facts) -> Losses {
    let Facts { map, precision, exponent, bound, offset, .. } = facts;
    let grid = &map.grid;
    let exact = |value: Rat| Interval::from(&value);
    let gamma = |k: usize| gamma(k, *precision);
    let side = Rat::from(grid.resolution());
    let back = exact(Rat::from(2).pow(*exponent) / &side);
    let softmax = back * Interval::point_or_entire(hardmax_to_softmax::drift(map, facts.temperature));
    // Stored values; scaled back by a layer of three terms if they were scaled down; read out.
    let mut value_loss = back * exact(facts.value_loss.clone());
    if *exponent > 0 {
        value_loss = value_loss + gamma(3) * (exact(bound.clone()) + value_loss);
    }
    let read_out = gamma(grid.dims() + 3) * (exact(bound + &offset.abs()) + value_loss);
    let rounding = value_loss + read_out + softmax;
    let mut bad_share = Up::from(facts.margins.share(grid));
    if facts.everywhere {
        // A shell around the box, as wide as a ramp and what rounding adds.
        let shell = exact((&facts.margins.low + &facts.margins.high) / side);
        bad_share += ((Interval::ONE + shell).powi(coordinates(grid)) - Interval::ONE).into();
    }
    // What the clips leave, read out.
    let clipped = exact(bound.clone()) * (Interval::ONE + gamma(1));
    let height = if facts.finite {
        (clipped + gamma(grid.dims() + 3) * (clipped + exact(offset.abs()))).hi()
    } else {
        f64::INFINITY
    };
    let ties_cleared =
        map.is_positional() || hardmax_to_softmax::ties_stay_low(map, *precision, facts.temperature, facts.everywhere);
    Losses {
        softmax: softmax.hi(),
        rounding: rounding.hi(),
        bad_share: bad_share.get(),
        height,
        spread: exact(bound.clone()).hi(),
        ties_cleared,
    }
}
