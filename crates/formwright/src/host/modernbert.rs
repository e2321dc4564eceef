//! ModernBERT: a norm behind the embedding, norms before the layers but for the first attention, every head sees all
//! tokens, GeGLU, rotated queries and keys, no biases; a classifier with a layer and a norm of its own.
//!
//! ```text
//! v   = LN(word or vector)
//! v   ← v + attention(LN v),   v ← v + Wo(gelu(input) · gate),  (input, gate) = Wi(LN v)        scores over √size
//! out = classifier(LN(dense(LN v)))                             in the first block attention reads v itself
//! ```
//!
//! `gate` is 1 for every unit, and like all constants read from the pin. Rotations are by angles of 0 (`llama.rs`), and
//! no window is smaller than the sequence. The stream has no positions. `dense` is the identity, with
//! `classifier_activation: linear`. The weights of attention are computed in single precision.

use serde_json::{Value, json};

use super::{Activation, Class, Kind, Matrices, Names, Norm, Order, Part, Tensor, llama};
use crate::network::Mask;

/// ModernBERT.
pub(super) static MODERNBERT: Class = Class {
    name: "modernbert",
    architecture: "ModernBertForTokenClassification",
    mask: Mask::ALL,
    norm: Norm { kind: Kind::Centred, order: Order::Ends, eps: 1e-5 },
    activation: Activation::GELU,
    gated: true,
    biased: false,
    scores_tokens: false,
    scaled: true,
    least_head: 4,
    single: Some("the weights of attention"),
    names: Names {
        words: "model.embeddings.tok_embeddings.weight",
        positions: None,
        norms: &["model.embeddings.norm", "model.final_norm", "head.norm"],
        layer: "model.layers",
        parts: &[
            (Part::Query, "attn.Wqkv"),
            (Part::Key, "attn.Wqkv"),
            (Part::Value, "attn.Wqkv"),
            (Part::Output, "attn.Wo"),
            (Part::Inner, "mlp.Wi"),
            (Part::Factor, "mlp.Wi"),
            (Part::Outer, "mlp.Wo"),
        ],
        transposed: false,
        layer_norms: ["attn_norm", "mlp_norm"],
        head: "classifier",
    },
    settings,
    more,
};

fn settings(matrices: &Matrices) -> Value {
    let sides = &matrices.sides;
    let rope = llama::at_rest();
    json!({
        "hidden_size": sides.width,
        "num_hidden_layers": sides.blocks,
        "num_attention_heads": sides.heads,
        "intermediate_size": sides.hidden,
        "hidden_activation": MODERNBERT.activation.name,
        "max_position_embeddings": sides.tokens,
        "norm_eps": MODERNBERT.norm.eps,
        "norm_bias": false,
        "attention_bias": false,
        "mlp_bias": false,
        "classifier_bias": false,
        "classifier_activation": "linear",
        "layer_types": vec!["full_attention"; sides.blocks],
        "rope_parameters": {"full_attention": rope, "sliding_attention": rope},
        "attention_dropout": 0.0,
        "embedding_dropout": 0.0,
        "mlp_dropout": 0.0,
        "classifier_dropout": 0.0,
        "pad_token_id": null,
        "bos_token_id": null,
        "eos_token_id": null,
        "cls_token_id": null,
        "sep_token_id": null,
    })
}

fn more(matrices: &Matrices) -> Vec<Tensor> {
    let width = matrices.sides.width;
    let identity = (0..width * width).map(|at| if at / width == at % width { 1.0 } else { 0.0 }).collect();
    vec![("head.dense.weight".to_owned(), vec![width, width], identity)]
}
