//! Running a network.
//!
//! | file | what |
//! |---|---|
//! | `exact.rs` | layer by layer on rationals: what the explicit network does, the reference |
//! | `indexed.rs` | stage by stage in closed form: the same, without visiting layers that do nothing |
//! | `float.rs` | a float network as it is executed: plain products of its tensors in `f32` or `f64`, many sequences at once |
//! | `reference.rs` | a float network in real arithmetic: enclosures of what its weights would compute without any rounding |

pub mod exact;
pub mod float;
pub mod indexed;
pub mod reference;

use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::network::{AttentionRun, FeedForwardRun, FloatNetwork, Network, Sequence};

/// The states of a run: the embedding's and each stage's, by name.
pub type Trace = Vec<(&'static str, Sequence)>;

/// Refuses an input whose shape is not the network's.
pub fn check_shape(network: &Network, x: &[Vec<Rat>]) -> Result<()> {
    check_tokens(network.tokens, network.dims(), x, None)
}

/// Refuses a sequence of another shape; `number` is its place in a batch.
fn check_tokens<T>(tokens: usize, dims: usize, x: &[Vec<T>], number: Option<usize>) -> Result<()> {
    if x.len() != tokens {
        let sequence = number.map_or("the sequence".to_owned(), |i| format!("sequence {i}"));
        return Err(Error::input(format!("{sequence} has {} tokens, the network expects {tokens}", x.len())));
    }
    match x.iter().position(|token| token.len() != dims) {
        Some(place) => {
            let sequence = number.map_or(String::new(), |i| format!("sequence {i}, "));
            let found = x[place].len();
            Err(Error::input(format!("{sequence}token {place} has {found} coordinates, the network expects {dims}")))
        }
        None => Ok(()),
    }
}

/// Refuses a float network whose tensors have other sizes than their shapes say, or entries that are no numbers of its format.
pub fn check_network(network: &FloatNetwork) -> Result<()> {
    let (width, precision) = (network.width(), network.precision);
    let ends = [("embed.weight", network.embed.outputs), ("read_out.weight", network.read_out.inputs)];
    if let Some((name, size)) = ends.into_iter().find(|(_, size)| *size != width) {
        return Err(Error::input(format!("{name} is for {size} coordinates, the residual stream has {width}")));
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
    Ok(())
}

/// The index of the entry that stands at `place` in a tensor.
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
struct Part<'a> {
    blocks: usize,
    attention: Option<&'a AttentionRun>,
    feed_forward: Option<&'a FeedForwardRun>,
}

/// What each stage of a float network executes, in order. A block whose halves belong to two stages is taken apart: its attention comes
/// first, so nothing changes.
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
