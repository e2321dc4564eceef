//! The encoder of T5: norms by the root of the mean square, before the layers and at the end, every head sees all
//! tokens, ReLUs, no biases.
//!
//! ```text
//! v   = word or vector
//! v   ← v + SelfAttention(RN v),   v ← v + wo(relu(wi(RN v)))       scores as they are, relative biases 0
//! out = classifier(RN v)
//! ```
//!
//! It has no positions of its own: its table of relative ones is 0. Its norms are
//! computed in single precision.

use serde_json::{Value, json};

use super::{Activation, Class, Kind, Matrices, Names, Norm, Order, Part, Tensor};
use crate::network::Mask;

/// The encoder of T5.
pub(super) static T5: Class = Class {
    name: "t5",
    architecture: "T5ForTokenClassification",
    mask: Mask::ALL,
    norm: Norm { kind: Kind::Root, order: Order::Before, eps: 1e-6 },
    activation: Activation::RELU,
    gated: false,
    biased: false,
    scores_tokens: false,
    scaled: false,
    least_head: 1,
    single: Some("norms"),
    names: Names {
        words: "transformer.shared.weight",
        positions: None,
        norms: &["transformer.encoder.final_layer_norm"],
        layer: "transformer.encoder.block",
        parts: &[
            (Part::Query, "layer.0.SelfAttention.q"),
            (Part::Key, "layer.0.SelfAttention.k"),
            (Part::Value, "layer.0.SelfAttention.v"),
            (Part::Output, "layer.0.SelfAttention.o"),
            (Part::Inner, "layer.1.DenseReluDense.wi"),
            (Part::Outer, "layer.1.DenseReluDense.wo"),
        ],
        transposed: false,
        layer_norms: ["layer.0.layer_norm", "layer.1.layer_norm"],
        head: "classifier",
    },
    settings,
    more,
};

/// The rows of the table of relative positions, by default.
const BUCKETS: usize = 32;

fn settings(matrices: &Matrices) -> Value {
    let sides = &matrices.sides;
    json!({
        "d_model": sides.width,
        "d_kv": sides.head_size,
        "d_ff": sides.hidden,
        "num_layers": sides.blocks,
        "num_heads": sides.heads,
        "feed_forward_proj": T5.activation.name,
        "layer_norm_epsilon": T5.norm.eps,
        "relative_attention_num_buckets": BUCKETS,
        "is_encoder_decoder": false,
        "dropout_rate": 0.0,
        "classifier_dropout": 0.0,
        "use_cache": false,
        "pad_token_id": null,
        "eos_token_id": null,
    })
}

fn more(matrices: &Matrices) -> Vec<Tensor> {
    let heads = matrices.sides.heads;
    let name = format!("{}.0.layer.0.SelfAttention.relative_attention_bias.weight", T5.names.layer);
    vec![(name, vec![BUCKETS, heads], vec![0.0; BUCKETS * heads])]
}
