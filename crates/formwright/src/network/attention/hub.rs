//! Sparse attention by way of a hub: one token sees all and adds up, then all see that token.
//!
//! ```text
//! uniform     q = k = 0, only the hub sees all    v, into registers of their own; in a second layer all see the hub
//!                                                 alone, o; a feed-forward layer empties the registers
//! loss        as softmax                          the second layer has one key, of weight exp(0)/exp(0) = 1; what
//!                                                 registers hold is read as it is, or flushed
//! ```
//!
//! Its heads are softmax heads with connections: two attention layers of `O(n)` connections.

use super::softmax::{self, Softmax};
use super::widen::{add_coordinate, emptied, most_sums, wide_layer, wide_layers, widen_ends, widened};
use super::{AttentionKind, Choice, Detour, Formula, Integers, Kind, Loss, Roundings, realisation};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::network::{AttentionRun, FloatNetwork, Mask, Run};
use crate::pattern::Connections;

/// One token, the hub, sees all and adds up; then all see the hub.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hub;

impl Kind for Hub {
    fn name(&self) -> &'static str {
        "sparse"
    }

    fn formula(&self) -> &'static Formula {
        &softmax::FORMULA
    }

    fn usage(&self) -> String {
        "sparse:PATTERN".to_owned()
    }

    /// `sparse:hub[@token]`.
    fn read(&self, text: &str, parts: &[&str], at: Option<u64>) -> Result<Choice> {
        let token = at.unwrap_or(0);
        if parts != ["hub"] || usize::try_from(token).is_err() {
            return Err(realisation::no_kind(text));
        }
        Ok(Choice { at: token, ..Choice::default() })
    }

    fn write(&self, choice: &Choice) -> String {
        if choice.at == 0 { "sparse:hub".to_owned() } else { format!("sparse:hub@{}", choice.at) }
    }

    fn gives_sum(&self) -> bool {
        false
    }

    fn loss(&self, choice: &Choice, tokens: usize, roundings: &Roundings) -> Loss {
        Softmax.loss(choice, tokens, roundings)
    }

    /// The hub's head is softmax, and what it found is handed on as it is.
    fn sums_of_integers(&self, choice: &Choice, tokens: usize) -> Integers {
        Softmax.sums_of_integers(choice, tokens)
    }

    fn more_blocks(&self, _: &Choice) -> (usize, bool) {
        (1, true)
    }

    fn detour(&self, choice: &Choice, network: &FloatNetwork) -> Option<Detour> {
        let heads = network.runs.iter().filter_map(|run| run.attention.as_ref());
        // Of two layers the first adds up.
        let divided = heads.step_by(2).map(|run| vec![Rat::ONE; run.heads]).collect();
        let first = network.width().checked_sub(most_sums(network))?;
        Some(Detour { first, divided, hub: usize::try_from(choice.at).ok(), ..Detour::default() })
    }

    fn realise(&self, choice: &Choice, network: FloatNetwork) -> Result<FloatNetwork> {
        with_hub(network, usize::try_from(choice.at).unwrap_or(usize::MAX))
    }
}

/// Each layer of uniform heads becomes two: the hub gathers, all see the hub.
fn with_hub(mut network: FloatNetwork, hub: usize) -> Result<FloatNetwork> {
    let (tokens, width) = (network.tokens, network.width());
    if hub >= tokens {
        return Err(Error::input(format!("token {hub} cannot be the hub of {tokens} tokens")));
    }
    let sums = most_sums(&network);
    if sums == 0 {
        return Ok(network);
    }
    network.lengths = (tokens, tokens);
    for sum in 0..sums {
        let meaning = "of the hub: what a head adds up, until all have seen it";
        add_coordinate(&mut network, format!("gathered{sum}"), meaning);
    }
    let wide = network.width();
    widen_ends(&mut network, width, wide);
    let connections = |keys: &dyn Fn(usize) -> Vec<usize>| Connections::new((0..tokens).map(keys).collect());
    let gather = connections(&|token| if token == hub { (0..tokens).collect() } else { vec![token] });
    let spread = connections(&|_| vec![hub]);
    let (gather, spread) = gather.and_then(|gather| Ok((gather, spread?))).map_err(Error::input)?;
    let mut runs = Vec::new();
    for run in std::mem::take(&mut network.runs) {
        let Some(attention) = &run.attention else {
            let feed_forward = run.feed_forward.as_ref().map(|layer| wide_layers(layer, run.blocks, width, wide));
            runs.push(Run { feed_forward, ..run });
            continue;
        };
        for block in 0..run.blocks {
            let feed_forward = run.feed_forward.as_ref().map(|layer| wide_layer(layer, block, width, wide));
            let part =
                |tensor: &[f64]| tensor[block * (tensor.len() / run.blocks)..][..tensor.len() / run.blocks].to_vec();
            let (heads, mv) = (attention.heads, attention.value_size);
            // Head h puts its value c into a register of its own, and takes it from there.
            let register = |head: usize, c: usize| width + head * mv + c;
            let (mut put, mut take) = (vec![0.0; heads * wide * mv], vec![0.0; heads * mv * wide]);
            for (head, c) in (0..heads).flat_map(|head| (0..mv).map(move |c| (head, c))) {
                put[(head * wide + register(head, c)) * mv + c] = 1.0;
                take[(head * mv + c) * wide + register(head, c)] = 1.0;
            }
            let written: Vec<f64> = part(&attention.o)
                .chunks_exact(width * mv)
                .flat_map(|o| o.iter().copied().chain(std::iter::repeat_n(0.0, (wide - width) * mv)))
                .collect();
            let uniform = |v: Vec<f64>, o: Vec<f64>, seen: &Connections| AttentionRun {
                stage: attention.stage,
                kind: AttentionKind::softmax(),
                heads,
                head_size: 1,
                value_size: mv,
                masks: vec![Mask::ALL; heads],
                connections: vec![seen.clone()],
                q: vec![0.0; heads * wide],
                q_bias: vec![0.0; heads],
                k: vec![0.0; heads * wide],
                v,
                o,
            };
            let gathering = uniform(widened(&part(&attention.v), width, wide), put, &gather);
            let spreading = uniform(take, written, &spread);
            let clear = emptied(attention.stage, width..width + heads * mv, wide);
            runs.push(Run { blocks: 1, attention: Some(gathering), feed_forward: None });
            runs.push(Run { blocks: 1, attention: Some(spreading), feed_forward: Some(clear) });
            if feed_forward.is_some() {
                runs.push(Run { blocks: 1, attention: None, feed_forward });
            }
        }
    }
    network.runs = runs;
    Ok(network)
}
