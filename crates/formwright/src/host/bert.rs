//! BERT: norms behind the layers and behind the embedding, every head sees all tokens, GELU by erf.
//!
//! ```text
//! v   ← LN(word or vector + token type + position)
//! v   ← LN(v + attention(v)),   v ← LN(v + output(gelu(intermediate(v))))        scores over √size
//! out = classifier(v)                                                            no pooler
//! ```
//!
//! Biases everywhere; `padding_idx` is none, so that every row of the vocabulary is a token.

use serde_json::{Value, json};

use super::{Activation, Class, Kind, Matrices, Names, Norm, Order, Part, Tensor};
use crate::network::Mask;

/// BERT.
pub(super) static BERT: Class = Class {
    name: "bert",
    architecture: "BertForTokenClassification",
    mask: Mask::ALL,
    norm: Norm { kind: Kind::Centred, order: Order::Behind, eps: 1e-12 },
    activation: Activation::GELU,
    gated: false,
    biased: true,
    scores_tokens: false,
    scaled: true,
    least_head: 1,
    single: None,
    names: Names {
        words: "bert.embeddings.word_embeddings.weight",
        positions: Some(("bert.embeddings.position_embeddings.weight", 0)),
        norms: &["bert.embeddings.LayerNorm"],
        layer: "bert.encoder.layer",
        parts: &[
            (Part::Query, "attention.self.query"),
            (Part::Key, "attention.self.key"),
            (Part::Value, "attention.self.value"),
            (Part::Output, "attention.output.dense"),
            (Part::Inner, "intermediate.dense"),
            (Part::Outer, "output.dense"),
        ],
        transposed: false,
        layer_norms: ["attention.output.LayerNorm", "output.LayerNorm"],
        head: "classifier",
    },
    settings,
    more,
};

fn settings(matrices: &Matrices) -> Value {
    let sides = &matrices.sides;
    json!({
        "hidden_size": sides.width,
        "num_hidden_layers": sides.blocks,
        "num_attention_heads": sides.heads,
        "intermediate_size": sides.hidden,
        "hidden_act": BERT.activation.name,
        "layer_norm_eps": BERT.norm.eps,
        "max_position_embeddings": sides.tokens,
        "type_vocab_size": 1,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "classifier_dropout": 0.0,
        "is_decoder": false,
        "pad_token_id": null,
    })
}

fn more(matrices: &Matrices) -> Vec<Tensor> {
    let width = matrices.sides.width;
    vec![("bert.embeddings.token_type_embeddings.weight".to_owned(), vec![1, width], vec![0.0; width])]
}
