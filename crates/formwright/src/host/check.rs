//! Networks that have no place in a class: the place, and what to take instead.

use super::{CLASSES, Class};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::network::{AttentionRun, FloatNetwork, Mask, Precision};

/// Declines a network that has no place in a class.
pub(super) fn check<'m>(model: &'m Model, class: &Class) -> Result<&'m FloatNetwork> {
    let network = model.float().ok_or_else(|| {
        Error::declined("an exact model has no place in a host, whose numbers are floats")
            .note("try", "build it with ⟨precision=f32⟩, and export that")
    })?;
    if model.circuit().is_none() {
        return Err(Error::declined(format!("{} networks have no bound in a host", model.family()))
            .note("reason", "their ids are exact sums, and behind a norm no sum is exact")
            .note("try", "⟨construction=circuit⟩"));
    }
    if network.runs.iter().all(|run| run.blocks == 0) {
        return Err(Error::declined("it has no blocks: there is nothing to put into a host"));
    }
    for (block, attention) in attentions(network) {
        kind(block, attention, class)?;
    }
    let misfit = masks(network, class).or_else(|| positions(network, class)).or_else(|| format(network, class));
    misfit.map_or(Ok(network), |error| Err(error.note("try", instead(network))))
}

/// The attention of a network, with its first block.
fn attentions(network: &FloatNetwork) -> impl Iterator<Item = (usize, &AttentionRun)> {
    let starts = network.runs.iter().scan(0, |block, run| {
        let start = *block;
        *block += run.blocks;
        Some((start, run))
    });
    starts.filter_map(|(start, run)| Some((start, run.attention.as_ref()?)))
}

/// Declines attention that is not softmax; no class has another.
fn kind(block: usize, attention: &AttentionRun, class: &Class) -> Result<()> {
    let what = match (attention.kind.is_softmax(), attention.connections.is_empty()) {
        (true, true) => return Ok(()),
        (false, _) => format!("{} attention, and {} softmax", attention.kind.name(), class.name),
        _ => format!("connections, and {} none", class.name),
    };
    Err(Error::declined(format!("block {block} has {what}")).note("try", "build it with ⟨attention=softmax⟩"))
}

/// True if a head sees the tokens that a class shows, or fewer: scores can hide the others if there are positions to tell
/// them apart, and if it has no scores of its own but those of a sum with a sink.
fn has_place(network: &FloatNetwork, attention: &AttentionRun, head: usize, class: &Class) -> bool {
    let mask = &attention.masks[head];
    if mask.shows(&class.mask) {
        return true;
    }
    let tokens = network.tokens.max(network.lengths.1);
    let fewer = (0..tokens).all(|i| mask.keys(i, tokens).positions().all(|j| class.mask.sees(i, j)));
    let told_apart = class.names.positions.is_some() && fewer && mask.blind(network.lengths).is_none();
    let of_head = |numbers: &[f64], row: usize| {
        numbers.chunks(attention.head_size * row).skip(head).step_by(attention.heads).flatten().all(|x| *x == 0.0)
    };
    let uniform = of_head(&attention.q, network.width()) && of_head(&attention.q_bias, 1);
    told_apart && tokens <= MOST_HIDDEN && (uniform || mask.first)
}

/// A head that hides tokens has a query and a key for every position.
const MOST_HIDDEN: usize = 64;

/// True if heads see fewer tokens than a class shows.
pub(super) fn hides(network: &FloatNetwork, class: &Class) -> bool {
    attentions(network).any(|(_, attention)| attention.masks.iter().any(|mask| !mask.shows(&class.mask)))
}

/// A head that sees other tokens than those of a class.
fn masks(network: &FloatNetwork, class: &Class) -> Option<Error> {
    // The first token is among those up to one's own.
    let sees = |mask: &Mask| match (mask.is_all(), Mask { first: false, ..*mask } == Mask::CAUSAL) {
        (true, _) => "all tokens",
        (_, true) => "the tokens up to its own",
        _ => "other tokens",
    };
    attentions(network).find_map(|(block, attention)| {
        let head = (0..attention.masks.len()).find(|head| !has_place(network, attention, *head, class))?;
        let declined = Error::declined(format!("block {block}, head {head} sees {}", sees(&attention.masks[head])));
        let declined = declined.note("host", format!("in {} every head sees {}", class.name, sees(&class.mask)));
        let hidden = sees(&class.mask) == "all tokens" && class.names.positions.is_some();
        let hidden =
            hidden.then(|| format!("scores hide the others only from uniform heads, of {MOST_HIDDEN} tokens at most"));
        Some(hidden.into_iter().fold(declined, |declined, why| declined.note("reason", why)))
    })
}

/// Positions, where a class has none.
fn positions(network: &FloatNetwork, class: &Class) -> Option<Error> {
    let positions = network.positions.as_ref().filter(|_| class.names.positions.is_none())?;
    let register = positions.iter().position(|x| *x != 0.0)? % network.width();
    let declined = Error::declined(format!("register {register} holds positions, of which {} has none", class.name));
    Some(declined.note("register", network.coordinates[register].meaning.clone()))
}

/// Double precision, where a class computes in single precision all the same.
fn format(network: &FloatNetwork, class: &Class) -> Option<Error> {
    let what = class.single.filter(|_| network.precision == Precision::F64)?;
    let declined = Error::declined(format!("{} has no double precision", class.name));
    Some(declined.note("reason", format!("it computes {what} in single precision, whatever its weights are")))
}

/// The classes that have a place for it.
fn instead(network: &FloatNetwork) -> String {
    let misfit = |class: &Class| masks(network, class).or_else(|| positions(network, class));
    let fitting: Vec<&Class> = CLASSES.into_iter().filter(|class| misfit(class).is_none()).collect();
    match fitting.iter().find(|class| format(network, class).is_none()) {
        Some(class) => format!("⟨host={}⟩", class.name),
        None if fitting.is_empty() => "⟨format=onnx⟩, which has every mask: no host has all of these heads".to_owned(),
        None => "build it with ⟨precision=f32⟩".to_owned(),
    }
}
