//! The encoder of T5: norms without a mean before the layers and at the end, every token sees all, `ReLU`s, scores as they are.

use super::{Activation, Class, Extent, Factor, Order, Setting, Side};

/// The rows of the table of relative positions.
const BUCKETS: usize = 32;

pub(super) static T5: Class = Class {
    name: "t5",
    architecture: "T5ForTokenClassification",
    order: Order::Before,
    centred: false,
    eps: None,
    activation: Activation::Relu,
    causal: false,
    scaled: false,
    rotated: false,
    double: false,
    biased: false,
    transposed: false,
    settings: &[
        ("d_model", Setting::Count(Side::Width)),
        ("d_kv", Setting::Count(Side::HeadSize)),
        ("d_ff", Setting::Count(Side::Hidden)),
        ("num_layers", Setting::Count(Side::Blocks)),
        ("num_heads", Setting::Count(Side::Heads)),
        ("feed_forward_proj", Setting::Text("relu")),
        ("layer_norm_epsilon", Setting::Eps),
        ("relative_attention_num_buckets", Setting::Whole(BUCKETS)),
        ("is_encoder_decoder", Setting::Word("false")),
        ("use_cache", Setting::Word("false")),
        ("pad_token_id", Setting::Word("null")),
        ("eos_token_id", Setting::Word("null")),
        ("dropout_rate", Setting::Zero),
        ("classifier_dropout", Setting::Zero),
    ],
    words: "transformer.shared.weight",
    positions: None,
    zeros: Some((
        "transformer.encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        [Extent::Whole(BUCKETS), Extent::Heads],
    )),
    ends: [&[], &["transformer.encoder.final_layer_norm"]],
    layer: "transformer.encoder.block",
    heads: &["layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v"],
    maps: ["layer.0.SelfAttention.o", "layer.1.DenseReluDense.wi", "layer.1.DenseReluDense.wo"],
    factor: Factor::None,
    norms: ["layer.0.layer_norm", "layer.1.layer_norm"],
    identity: None,
    outputs: ("classifier", false),
};
