//! OPT: norms before the layers and at the end, every head sees the tokens up to its own, ReLUs.
//!
//! ```text
//! v   = word or vector + position                                    positions from row 2 on
//! v   ← v + attention(LN v),   v ← v + fc2(relu(fc1(LN v)))          scores over √size
//! out = lm_head(LN v)                                                no bias
//! ```
//!
//! There is no classifier of tokens. `OPTForCausalLM` scores next tokens, so that an integer is the token that comes
//! next; its head is not tied to the vocabulary. Its weights of attention are computed in single precision.

use serde_json::{Value, json};

use super::{Activation, Class, Kind, Matrices, Names, Norm, Order, Part, none};
use crate::network::Mask;

/// OPT.
pub(super) static OPT: Class = Class {
    name: "opt",
    architecture: "OPTForCausalLM",
    mask: Mask::CAUSAL,
    norm: Norm { kind: Kind::Centred, order: Order::Before, eps: 1e-5 },
    activation: Activation::RELU,
    gated: false,
    biased: true,
    scores_tokens: true,
    scaled: true,
    least_head: 1,
    single: Some("the weights of attention"),
    names: Names {
        words: "model.decoder.embed_tokens.weight",
        positions: Some(("model.decoder.embed_positions.weight", 2)),
        norms: &["model.decoder.final_layer_norm"],
        layer: "model.decoder.layers",
        parts: &[
            (Part::Query, "self_attn.q_proj"),
            (Part::Key, "self_attn.k_proj"),
            (Part::Value, "self_attn.v_proj"),
            (Part::Output, "self_attn.out_proj"),
            (Part::Inner, "fc1"),
            (Part::Outer, "fc2"),
        ],
        transposed: false,
        layer_norms: ["self_attn_layer_norm", "final_layer_norm"],
        head: "lm_head",
    },
    settings,
    more: none,
};

fn settings(matrices: &Matrices) -> Value {
    let sides = &matrices.sides;
    json!({
        "hidden_size": sides.width,
        "word_embed_proj_dim": sides.width,
        "num_hidden_layers": sides.blocks,
        "num_attention_heads": sides.heads,
        "ffn_dim": sides.hidden,
        "max_position_embeddings": sides.tokens,
        "activation_function": OPT.activation.name,
        "do_layer_norm_before": true,
        "enable_bias": true,
        "layer_norm_elementwise_affine": true,
        "tie_word_embeddings": false,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "layerdrop": 0.0,
        "use_cache": false,
        "pad_token_id": null,
        "bos_token_id": null,
        "eos_token_id": null,
    })
}
