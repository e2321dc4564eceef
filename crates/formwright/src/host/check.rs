//! Networks that have no place in a class: the place, and what to take instead.

use super::{CLASSES, Class, Fitted};
use crate::construct::circuit::built::{Circuit, Proof};
use crate::error::{Error, Result};
use crate::model::Built;
use crate::network::{AttentionRun, FloatNetwork, Mask, Precision};

/// Declines a network that has no place in a class, and says what to take instead.
pub(super) fn check<'m>(built: &'m dyn Built, class: &Class) -> Result<&'m FloatNetwork> {
    let network = carried(built)?;
    misfit(network, class).map_or(Ok(network), |error| Err(error.note("try", instead(built, network))))
}

/// The same without advice, which is looked for by asking this of all classes.
pub(super) fn place<'m>(built: &'m dyn Built, class: &Class) -> Result<&'m FloatNetwork> {
    let network = carried(built)?;
    misfit(network, class).map_or(Ok(network), Err)
}

/// The refusal of networks that are no circuits.
pub(super) fn no_bound(family: &str) -> Error {
    Error::declined(format!("{family} networks have no bound in a host"))
        .note("reason", "their ids are exact sums, and behind a norm no sum is exact")
        .note("try", "⟨construction=circuit⟩, of a target with a formula")
}

/// The network, if it is of a kind that hosts carry.
fn carried(built: &dyn Built) -> Result<&FloatNetwork> {
    let network = built.float().ok_or_else(|| {
        Error::declined("an exact model has no place in a host, whose numbers are floats")
            .note("try", "⟨construction=circuit⟩, of a target with a formula")
    })?;
    proof(built)?;
    if network.runs.iter().all(|run| run.blocks == 0) {
        return Err(Error::declined("it has no blocks: there is nothing to put into a host")
            .note("try", "the network by itself: leave out ⟨host⟩"));
    }
    for (block, attention) in attentions(network) {
        kind(block, attention)?;
    }
    Ok(network)
}

/// What is proved of a network by itself.
pub(super) fn proof(built: &dyn Built) -> Result<&Proof> {
    let circuit = built.of::<Circuit>().ok_or_else(|| no_bound(built.family()))?;
    circuit.proof().filter(|proof| !proof.is_measured()).ok_or_else(|| {
        Error::declined("nothing is proved of this network by itself, and so nothing in a host")
            .note("reason", "it was edited, or a part of its bound is measured")
            .note("try", "export a folder as `formwright build` wrote it")
    })
}

/// What a class has not, and the network needs.
fn misfit(network: &FloatNetwork, class: &Class) -> Option<Error> {
    masks(network, class).or_else(|| positions(network, class)).or_else(|| format(network, class))
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
fn kind(block: usize, attention: &AttentionRun) -> Result<()> {
    let what = match (attention.kind.is_softmax(), attention.connections.is_empty()) {
        (true, true) => return Ok(()),
        (false, _) => format!("{} attention, and hosts have softmax", attention.kind.name()),
        _ => "connections, and hosts have none".to_owned(),
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

/// What has a place for it: that is tried, so that nobody is sent on in vain.
fn instead(built: &dyn Built, network: &FloatNetwork) -> String {
    let tried = CLASSES.into_iter().find(|class| Fitted::of(built, class).is_ok());
    match tried {
        Some(class) => format!("⟨host={}⟩", class.name),
        None if CLASSES.iter().all(|class| masks(network, class).is_some() || positions(network, class).is_some()) => {
            "⟨format=onnx⟩, which has every mask: no host has all of these heads".to_owned()
        }
        None => "⟨format=onnx⟩: the hosts that have all of these heads cannot hold its numbers".to_owned(),
    }
}
