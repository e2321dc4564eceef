//! Uniform softmax heads by heads of another kind: the feed-forward layers stay as they are, and so do `v` and `o`,
//! up to a factor.

use super::loss::float;
use super::{AttentionKind, Choice, Formula, Gaussians};
use crate::error::{Error, Result};
use crate::network::{FloatNetwork, Mask, Precision};

/// For how many heads, of all blocks of a run, tensors are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// In all blocks together.
    pub heads: usize,
    /// The rows of `q` and `k`.
    pub head_size: usize,
    /// The tokens of a sequence.
    pub tokens: usize,
}

/// Queries and keys become 0, where there are any; the rest of the tensors is the kind's to say.
pub(super) fn realise(
    mut network: FloatNetwork,
    formula: &'static Formula,
    gives_sum: bool,
    tensors: impl Fn(&Sizes, &mut Gaussians) -> Vec<Vec<f64>>,
    choice: &Choice,
) -> Result<FloatNetwork> {
    let (tokens, precision, width) = (network.tokens, network.precision, network.width());
    if gives_sum {
        network.lengths = (tokens, tokens);
    }
    let head_size = usize::from(formula.has_scores());
    let mut draws = Gaussians::new(choice.at);
    for run in &mut network.runs {
        let Some(attention) = &mut run.attention else { continue };
        let heads = run.blocks * attention.heads;
        if gives_sum {
            divide(&mut attention.v, tokens, precision)?;
        }
        attention.head_size = head_size;
        attention.q = vec![0.0; heads * head_size * width];
        attention.k = attention.q.clone();
        attention.q_bias = vec![0.0; heads * head_size];
        attention.masks.fill(Mask::ALL);
        let tensors = tensors(&Sizes { heads, head_size, tokens }, &mut draws);
        attention.kind = AttentionKind { formula, size: choice.size, tensors };
    }
    Ok(network)
}

/// `v/n`, rounded; declined where that leaves the normal range, in which rounding is relative.
fn divide(v: &mut [f64], tokens: usize, precision: Precision) -> Result<()> {
    let least = match precision {
        Precision::F32 => f64::from(f32::MIN_POSITIVE),
        Precision::F64 => f64::MIN_POSITIVE,
    };
    for entry in v {
        let divided = precision.round(*entry / float(tokens));
        if *entry != 0.0 && divided.abs() < least {
            return Err(Error::declined(format!(
                "a weight of {entry:e}, divided by {tokens} tokens, is no normal number"
            ))
            .note("try", "⟨attention=average⟩, which divides the sum"));
        }
        *entry = divided;
    }
    Ok(())
}
