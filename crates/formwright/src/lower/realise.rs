//! The uniform sums of a network by other heads. How, and what is lost by it, each kind says in its own file:
//! `network/attention/`.

use crate::error::{Error, Result};
use crate::network::{AttentionRun, FloatNetwork, Realisation, Run};
use crate::show::plural;

pub(crate) use crate::network::attention::Loss;

/// The network with all its heads realised in another way; declined if one of them is not a uniform sum.
pub(crate) fn realise(network: &FloatNetwork, realisation: &Realisation) -> Result<FloatNetwork> {
    if realisation.is_softmax() {
        return Ok(network.clone());
    }
    check(network, realisation)?;
    let heads = |run: &Run| run.blocks * run.attention.as_ref().map_or(0, |attention| attention.heads);
    check_size(network.runs.iter().map(heads).sum(), network.tokens, realisation)?;
    realisation.kind.realise(&realisation.choice, network.clone())
}

/// The most numbers that are drawn for the heads of a network.
const MOST_DRAWN: usize = 1 << 22;

/// The most features of a sequence that a head has at once. The engine has 32 sequences side by side: an eighth of a
/// gigabyte of doubles.
const MOST_FEATURES: usize = 1 << 19;

/// Declines mixtures or features of more numbers than are drawn, before they are.
pub(crate) fn check_size(heads: usize, tokens: usize, realisation: &Realisation) -> Result<()> {
    let Some((each, what)) = realisation.kind.drawn(tokens) else { return Ok(()) };
    let size = realisation.choice.size;
    let (drawn, features) = (heads.saturating_mul(each).saturating_mul(size), size.saturating_mul(tokens));
    let kind = realisation.kind();
    let (would, limit) = if drawn > MOST_DRAWN {
        (format!("draw {drawn} numbers"), MOST_DRAWN)
    } else if features > MOST_FEATURES {
        (format!("have {features} features of {}", plural(tokens, "token")), MOST_FEATURES)
    } else {
        return Ok(());
    };
    Err(Error::declined(format!("{kind} attention of size {size} would {would}"))
        .note("size", format!("{}, each with {size} {what}", plural(heads, "head")))
        .note("limit", limit.to_string())
        .note("try", format!("⟨attention={kind}⟩: every size gives the same sum")))
}

/// Refuses a head that is not a uniform sum.
fn check(network: &FloatNetwork, realisation: &Realisation) -> Result<()> {
    let width = network.width();
    for run in &network.runs {
        let Some(attention) = &run.attention else { continue };
        for head in 0..run.blocks * attention.heads {
            if let Some(reason) = not_uniform(attention, head, width) {
                let stage = &network.stages[attention.stage].name;
                let number = head % attention.heads;
                return Err(Error::declined(format!("head {number} of stage '{stage}' is no uniform sum"))
                    .note("reason", format!("{reason}; {} attention has nothing to say that with", realisation.kind()))
                    .note("try", "⟨attention=softmax⟩"));
            }
        }
    }
    Ok(())
}

/// Why one of all heads of a run is not a uniform sum.
fn not_uniform(attention: &AttentionRun, head: usize, width: usize) -> Option<&'static str> {
    let m = attention.head_size;
    let zero = |tensor: &[f64], size: usize| tensor[head * size..][..size].iter().all(|entry| *entry == 0.0);
    if !attention.kind.is_softmax() {
        return Some("it is not softmax attention");
    }
    if !attention.masks[head % attention.heads].is_all() {
        return Some("its mask hides some of the tokens");
    }
    if !attention.connections.is_empty() {
        return Some("its connections hide some of the tokens");
    }
    let no_query = zero(&attention.q, m * width) && zero(&attention.q_bias, m);
    let uniform = no_query || zero(&attention.k, m * width);
    (!uniform).then_some("its scores depend on the tokens")
}
