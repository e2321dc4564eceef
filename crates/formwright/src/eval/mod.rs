//! Running a network.
//!
//! | file | content |
//! |---|---|
//! | `exact.rs` | layer by layer on rationals: the explicit network, the reference |
//! | `indexed.rs` | stage by stage in closed form: the same, without visiting layers that do nothing |
//! | `float.rs` | a float network as it is executed: plain products of its tensors in `f32` or `f64`, in batches |
//! | `enclosure.rs` | a float network on every runtime of the execution model: enclosures of all results |
//! | `reference.rs` | a float network in real arithmetic: enclosures of its outputs without any rounding |

pub mod enclosure;
pub mod exact;
pub mod float;
pub mod indexed;
pub mod reference;

use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::network::{AttentionRun, FeedForwardRun, FloatNetwork, Network, Sequence};

/// The states of a run after the embedding and after each stage, by name.
pub(crate) type Trace = Vec<(&'static str, Sequence)>;

/// Refuses an input whose shape is not the network's.
pub(crate) fn check_shape(network: &Network, x: &[Vec<Rat>]) -> Result<()> {
    check_tokens((network.tokens, network.tokens), network.dims(), x, None)
}

/// Refuses a sequence of another shape; `number` is its index in a batch.
fn check_tokens<T>(lengths: (usize, usize), dims: usize, x: &[Vec<T>], number: Option<usize>) -> Result<()> {
    let sequence = || number.map_or("the sequence".to_owned(), |i| format!("sequence {i}"));
    check_length(lengths, x.len(), sequence)?;
    match x.iter().position(|token| token.len() != dims) {
        Some(place) => {
            let sequence = number.map_or(String::new(), |i| format!("sequence {i}, "));
            let found = x[place].len();
            Err(Error::input(format!("{sequence}token {place} has {found} coordinates, the network expects {dims}")))
        }
        None => Ok(()),
    }
}

/// Refuses a sequence that is too short or too long.
fn check_length((least, most): (usize, usize), tokens: usize, sequence: impl Fn() -> String) -> Result<()> {
    if (least..=most).contains(&tokens) {
        return Ok(());
    }
    let expected = if least == most { most.to_string() } else { format!("{least} to {most}") };
    Err(Error::input(format!("{} has {tokens} tokens, the network expects {expected}", sequence())))
}

/// Refuses a float network whose tensors have other sizes than their shapes say, or entries that are not numbers of its
/// format; whose lengths contradict each other; or in which some query of some sequence sees no key.
pub(crate) fn check_network(network: &FloatNetwork) -> Result<()> {
    let (width, precision) = (network.width(), network.precision);
    let ends = [("embed.weight", network.embed.outputs), ("read_out.weight", network.read_out.inputs)];
    if let Some((name, size)) = ends.into_iter().find(|(_, size)| *size != width) {
        return Err(Error::input(format!("{name} is for {size} coordinates, the residual stream has {width}")));
    }
    let sides = [
        ("the residual stream", width),
        ("an input token", network.dims()),
        ("an output token", network.output_dims()),
    ];
    if let Some((name, _)) = sides.into_iter().find(|(_, side)| *side == 0) {
        return Err(Error::input(format!("{name} has no coordinates, expected 1 or more")));
    }
    for (name, shape, entries) in network.tensors() {
        if shape.iter().product::<usize>() != entries.len() {
            return Err(Error::input(format!("{name} of shape {shape:?} has {} entries", entries.len())));
        }
        let wrong = entries.iter().position(|x| !x.is_finite() || precision.round(*x).to_bits() != x.to_bits());
        if let Some(place) = wrong {
            let (at, entry) = (index(place, &shape), entries[place]);
            let what =
                if entry.is_finite() { format!("no {precision} number") } else { "not a finite number".to_owned() };
            return Err(Error::input(format!("{name}{at:?} is {entry:?}: {what}")));
        }
    }
    let no_network = |what: String| Error::input(format!("this is no network: {what}"));
    FloatNetwork::check_lengths(network.tokens, network.lengths, network.positions.is_some()).map_err(no_network)?;
    let mut first = 0;
    for run in &network.runs {
        if let Some(attention) = &run.attention {
            attention.check(first, network.lengths).map_err(no_network)?;
        }
        first += run.blocks;
    }
    Ok(())
}

/// The index of the entry at `place` in a tensor.
fn index(mut place: usize, shape: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|size| {
            let i = place % size;
            place /= size;
            i
        })
        .collect();
    index.reverse();
    index
}

/// A run, or the half of one that belongs to a stage.
#[derive(Debug)]
struct Part<'a> {
    blocks: usize,
    attention: Option<&'a AttentionRun>,
    feed_forward: Option<&'a FeedForwardRun>,
}

/// The parts that each stage of a float network executes, in order. A block whose halves belong to two stages is taken
/// apart: its attention comes first, so nothing changes.
fn stages(network: &FloatNetwork) -> Result<Vec<(&str, Vec<Part<'_>>)>> {
    let mut stages: Vec<(&str, Vec<Part>)> =
        network.stages.iter().map(|stage| (stage.name.as_str(), Vec::new())).collect();
    let (mut block, mut reached) = (0, 0);
    for run in &network.runs {
        let (attention, feed_forward) = (run.attention.as_ref(), run.feed_forward.as_ref());
        let halves = match (attention, feed_forward) {
            (Some(a), Some(f)) if a.stage != f.stage => {
                if run.blocks != 1 {
                    let blocks = run.blocks;
                    return Err(Error::input(format!("the {blocks} blocks from {block} on lie in two stages at once")));
                }
                vec![(a.stage, attention, None), (f.stage, None, feed_forward)]
            }
            (Some(a), _) => vec![(a.stage, attention, feed_forward)],
            (None, Some(f)) => vec![(f.stage, None, feed_forward)],
            (None, None) => Vec::new(),
        };
        for (stage, attention, feed_forward) in halves {
            if stage < reached || stage >= stages.len() {
                return Err(Error::input(format!("block {block} belongs to stage {stage}"))
                    .note("expected", format!("a stage from {reached} on, of {}", stages.len())));
            }
            reached = stage;
            stages[stage].1.push(Part { blocks: run.blocks, attention, feed_forward });
        }
        block += run.blocks;
    }
    Ok(stages)
}
