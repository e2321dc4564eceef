//! GPT-2: norms before the layers and at the end, tokens see those up to their own.

use super::{Class, Setting, Side};

pub(super) static GPT2: Class = Class {
    name: "gpt2",
    architecture: "GPT2ForTokenClassification",
    behind: false,
    causal: true,
    transposed: true,
    settings: &[
        ("n_embd", Setting::Count(Side::Width)),
        ("n_layer", Setting::Count(Side::Blocks)),
        ("n_head", Setting::Count(Side::Heads)),
        ("n_inner", Setting::Count(Side::Hidden)),
        ("n_positions", Setting::Count(Side::Positions)),
        ("activation_function", Setting::Text("gelu_new")),
        ("layer_norm_epsilon", Setting::Eps),
        ("scale_attn_weights", Setting::Word("true")),
        ("scale_attn_by_inverse_layer_idx", Setting::Word("false")),
        ("reorder_and_upcast_attn", Setting::Word("false")),
        ("use_cache", Setting::Word("false")),
        ("bos_token_id", Setting::Word("null")),
        ("eos_token_id", Setting::Word("null")),
        ("resid_pdrop", Setting::Zero),
        ("embd_pdrop", Setting::Zero),
        ("attn_pdrop", Setting::Zero),
        ("classifier_dropout", Setting::Zero),
    ],
    words: "transformer.wte.weight",
    positions: "transformer.wpe.weight",
    types: None,
    norm: "transformer.ln_f",
    layer: "transformer.h",
    heads: &["attn.c_attn"],
    maps: ["attn.c_proj", "mlp.c_fc", "mlp.c_proj"],
    norms: ["ln_1", "ln_2"],
};
