//! BERT: norms behind the layers and behind the embedding, every token sees all.

use super::{Class, Setting, Side};

pub(super) static BERT: Class = Class {
    name: "bert",
    architecture: "BertForTokenClassification",
    behind: true,
    causal: false,
    transposed: false,
    settings: &[
        ("hidden_size", Setting::Count(Side::Width)),
        ("num_hidden_layers", Setting::Count(Side::Blocks)),
        ("num_attention_heads", Setting::Count(Side::Heads)),
        ("intermediate_size", Setting::Count(Side::Hidden)),
        ("max_position_embeddings", Setting::Count(Side::Positions)),
        ("hidden_act", Setting::Text("gelu")),
        ("layer_norm_eps", Setting::Eps),
        ("type_vocab_size", Setting::One),
        ("is_decoder", Setting::Word("false")),
        ("pad_token_id", Setting::Word("null")),
        ("hidden_dropout_prob", Setting::Zero),
        ("attention_probs_dropout_prob", Setting::Zero),
        ("classifier_dropout", Setting::Zero),
    ],
    words: "bert.embeddings.word_embeddings.weight",
    positions: "bert.embeddings.position_embeddings.weight",
    types: Some("bert.embeddings.token_type_embeddings.weight"),
    norm: "bert.embeddings.LayerNorm",
    layer: "bert.encoder.layer",
    heads: &["attention.self.query", "attention.self.key", "attention.self.value"],
    maps: ["attention.output.dense", "intermediate.dense", "output.dense"],
    norms: ["attention.output.LayerNorm", "output.LayerNorm"],
};
