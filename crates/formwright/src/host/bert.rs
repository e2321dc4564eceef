//! BERT: norms behind the layers and behind the embedding, every head sees all tokens, GELU by erf.
//!
//! ```text
//! v   ← LN(word or vector + token type + position)
//! v   ← LN(v + attention(v)),   v ← LN(v + output(gelu(intermediate(v))))        scores over √size
//! out = classifier(v)                                                            no pooler
//! ```
//!
//! `BertForTokenClassification`. Biases everywhere; `padding_idx` is none, so that every row of the vocabulary is a
//! token.

use serde_json::{Map, Value, json};

use super::{Class, Matrices, Order, Place, Tensor};
use crate::network::Mask;

/// BERT.
pub(super) struct Bert;

/// The name of a block's tensors.
fn layer(block: usize) -> String {
    format!("bert.encoder.layer.{block}")
}

impl Class for Bert {
    fn name(&self) -> &'static str {
        "bert"
    }

    fn architecture(&self) -> &'static str {
        "BertForTokenClassification"
    }

    fn order(&self) -> Order {
        Order::Behind
    }

    fn eps(&self) -> f64 {
        1e-12
    }

    fn activation(&self) -> &'static str {
        "gelu"
    }

    fn mask(&self) -> Mask {
        Mask::ALL
    }

    fn config(&self, matrices: &Matrices) -> Map<String, Value> {
        let sides = &matrices.sides;
        let config = json!({
            "hidden_size": sides.width,
            "num_hidden_layers": sides.blocks,
            "num_attention_heads": sides.heads,
            "intermediate_size": sides.hidden,
            "hidden_act": self.activation(),
            "layer_norm_eps": self.eps(),
            "max_position_embeddings": sides.tokens,
            "type_vocab_size": 1,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "classifier_dropout": 0.0,
            "is_decoder": false,
            "pad_token_id": null,
        });
        config.as_object().cloned().unwrap_or_default()
    }

    fn tensors(&self, matrices: &Matrices) -> Vec<Tensor> {
        let sides = &matrices.sides;
        let (width, hidden, joined) = (sides.width, sides.hidden, sides.heads * sides.head_size);
        let mut tensors: Vec<Tensor> = vec![
            (
                "bert.embeddings.word_embeddings.weight".to_owned(),
                vec![matrices.words.len(), width],
                matrices.words.concat(),
            ),
            (
                "bert.embeddings.position_embeddings.weight".to_owned(),
                vec![sides.tokens, width],
                matrices.positions.clone(),
            ),
            ("bert.embeddings.token_type_embeddings.weight".to_owned(), vec![1, width], vec![0.0; width]),
        ];
        tensors.extend(matrices.norm("bert.embeddings.LayerNorm"));
        for (number, block) in matrices.blocks.iter().enumerate() {
            let layer = layer(number);
            let mut dense = |name: &str, sides: [usize; 2], weight: &[f64], bias: &[f64]| {
                tensors.push((format!("{layer}.{name}.weight"), sides.to_vec(), weight.to_vec()));
                tensors.push((format!("{layer}.{name}.bias"), vec![sides[0]], bias.to_vec()));
            };
            let none = vec![0.0; joined.max(width)];
            dense("attention.self.query", [joined, width], &block.q, &block.q_bias);
            dense("attention.self.key", [joined, width], &block.k, &none[..joined]);
            dense("attention.self.value", [joined, width], &block.v, &none[..joined]);
            dense("attention.output.dense", [width, joined], &block.o, &none[..width]);
            dense("intermediate.dense", [hidden, width], &block.w1, &block.b1);
            dense("output.dense", [width, hidden], &block.w2, &block.b2);
            tensors.extend(matrices.norm(&format!("{layer}.attention.output.LayerNorm")));
            tensors.extend(matrices.norm(&format!("{layer}.output.LayerNorm")));
        }
        tensors
    }

    fn places(&self, block: usize, place: Place) -> Vec<Value> {
        let layer = layer(block);
        match place {
            Place::Head { head, size, .. } => {
                let (from, to) = (head * size, (head + 1) * size);
                let rows = ["query", "key", "value"]
                    .map(|name| json!({"tensor": format!("{layer}.attention.self.{name}.weight"), "rows": [from, to]}));
                let columns =
                    json!({"tensor": format!("{layer}.attention.output.dense.weight"), "columns": [from, to]});
                rows.into_iter().chain([columns]).collect()
            }
            Place::Unit(unit) => vec![
                json!({"tensor": format!("{layer}.intermediate.dense.weight"), "rows": [unit, unit + 1]}),
                json!({"tensor": format!("{layer}.output.dense.weight"), "columns": [unit, unit + 1]}),
            ],
        }
    }
}
