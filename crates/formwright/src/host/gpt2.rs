//! GPT-2: norms before the layers and at the end, every head sees the tokens up to its own, GELU by tanh.
//!
//! ```text
//! v   = word or vector + position
//! v   ← v + attention(LN v),   v ← v + c_proj(gelu_new(c_fc(LN v)))              scores over √size
//! out = classifier(LN v)
//! ```
//!
//! Its `Conv1D` holds weights as `[in, out]`; queries, keys and values are one matrix.

use serde_json::{Value, json};

use super::{Activation, Class, Kind, Matrices, Names, Norm, Order, Part, none};
use crate::network::Mask;

/// GPT-2.
pub(super) static GPT2: Class = Class {
    name: "gpt2",
    architecture: "GPT2ForTokenClassification",
    mask: Mask::CAUSAL,
    norm: Norm { kind: Kind::Centred, order: Order::Before, eps: 1e-5 },
    activation: Activation::GELU_NEW,
    gated: false,
    biased: true,
    scores_tokens: false,
    scaled: true,
    least_head: 1,
    single: None,
    names: Names {
        words: "transformer.wte.weight",
        positions: Some(("transformer.wpe.weight", 0)),
        norms: &["transformer.ln_f"],
        layer: "transformer.h",
        parts: &[
            (Part::Query, "attn.c_attn"),
            (Part::Key, "attn.c_attn"),
            (Part::Value, "attn.c_attn"),
            (Part::Output, "attn.c_proj"),
            (Part::Inner, "mlp.c_fc"),
            (Part::Outer, "mlp.c_proj"),
        ],
        transposed: true,
        layer_norms: ["ln_1", "ln_2"],
        head: "classifier",
    },
    settings,
    more: none,
};

fn settings(matrices: &Matrices) -> Value {
    let sides = &matrices.sides;
    json!({
        "n_embd": sides.width,
        "n_layer": sides.blocks,
        "n_head": sides.heads,
        "n_inner": sides.hidden,
        "n_positions": sides.tokens,
        "activation_function": GPT2.activation.name,
        "layer_norm_epsilon": GPT2.norm.eps,
        "scale_attn_weights": true,
        "scale_attn_by_inverse_layer_idx": false,
        "reorder_and_upcast_attn": false,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "classifier_dropout": 0.0,
        "use_cache": false,
        "bos_token_id": null,
        "eos_token_id": null,
    })
}
