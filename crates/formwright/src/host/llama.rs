//! Llama: norms by the root of the mean square, before the layers and at the end, every head sees the tokens up to its
//! own, SwiGLU, rotated queries and keys, no biases.
//!
//! ```text
//! v   = word or vector
//! v   ← v + attention(RN v),   v ← v + down(silu(gate(RN v)) · up(RN v))        scores over √size
//! out = score(RN v)
//! ```
//!
//! `up` is 1 for every unit, and like all constants read from the pin. Rotations are by angles of 0: `config.json`
//! divides all frequencies by 1e300, which leaves 0 in single precision, so that queries and keys stay what they are.
//! The stream has no positions. Norms and the weights of attention are computed in single precision.

use serde_json::{Value, json};

use super::{Activation, Class, Kind, Matrices, Names, Norm, Order, Part, none};
use crate::network::Mask;

/// Llama.
pub(super) static LLAMA: Class = Class {
    name: "llama",
    architecture: "LlamaForTokenClassification",
    mask: Mask::CAUSAL,
    norm: Norm { kind: Kind::Root, order: Order::Before, eps: 1e-6 },
    activation: Activation::SILU,
    gated: true,
    biased: false,
    scores_tokens: false,
    scaled: true,
    least_head: 4,
    single: Some("norms and the weights of attention"),
    names: Names {
        words: "model.embed_tokens.weight",
        positions: None,
        norms: &["model.norm"],
        layer: "model.layers",
        parts: &[
            (Part::Query, "self_attn.q_proj"),
            (Part::Key, "self_attn.k_proj"),
            (Part::Value, "self_attn.v_proj"),
            (Part::Output, "self_attn.o_proj"),
            (Part::Inner, "mlp.gate_proj"),
            (Part::Factor, "mlp.up_proj"),
            (Part::Outer, "mlp.down_proj"),
        ],
        transposed: false,
        layer_norms: ["input_layernorm", "post_attention_layernorm"],
        head: "score",
    },
    settings,
    more: none,
};

/// No rotation: every frequency, divided by this in single precision, is 0.
pub(super) fn at_rest() -> Value {
    json!({"rope_type": "linear", "rope_theta": 10_000.0, "factor": 1e300})
}

fn settings(matrices: &Matrices) -> Value {
    let sides = &matrices.sides;
    json!({
        "hidden_size": sides.width,
        "num_hidden_layers": sides.blocks,
        "num_attention_heads": sides.heads,
        "num_key_value_heads": sides.heads,
        "head_dim": sides.head_size,
        "intermediate_size": sides.hidden,
        "hidden_act": LLAMA.activation.name,
        "max_position_embeddings": sides.tokens,
        "rms_norm_eps": LLAMA.norm.eps,
        "rope_parameters": at_rest(),
        "attention_bias": false,
        "mlp_bias": false,
        "attention_dropout": 0.0,
        "classifier_dropout": 0.0,
        "use_cache": false,
        "tie_word_embeddings": false,
        "pad_token_id": null,
        "bos_token_id": null,
        "eos_token_id": null,
    })
}
