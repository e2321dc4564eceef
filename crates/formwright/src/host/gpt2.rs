//! GPT-2: norms before the layers and at the end, every head sees the tokens up to its own, GELU by tanh.
//!
//! ```text
//! v   = word or vector + position
//! v   ← v + attention(LN v),   v ← v + c_proj(gelu_new(c_fc(LN v)))              scores over √size
//! out = classifier(LN v)
//! ```
//!
//! `GPT2ForTokenClassification`. Its `Conv1D` holds weights as `[in, out]`; queries, keys and values are one matrix.

use serde_json::{Map, Value, json};

use super::{Class, Matrices, Order, Place, Tensor};
use crate::network::Mask;

/// GPT-2.
pub(super) struct Gpt2;

/// The name of a block's tensors.
fn layer(block: usize) -> String {
    format!("transformer.h.{block}")
}

/// `[out, in]` as `[in, out]`.
fn transposed(weight: &[f64], inner: usize) -> Vec<f64> {
    (0..inner).flat_map(|column| weight.iter().skip(column).step_by(inner).copied()).collect()
}

impl Class for Gpt2 {
    fn name(&self) -> &'static str {
        "gpt2"
    }

    fn architecture(&self) -> &'static str {
        "GPT2ForTokenClassification"
    }

    fn order(&self) -> Order {
        Order::Before
    }

    fn eps(&self) -> f64 {
        1e-5
    }

    fn activation(&self) -> &'static str {
        "gelu_new"
    }

    fn mask(&self) -> Mask {
        Mask::CAUSAL
    }

    fn config(&self, matrices: &Matrices) -> Map<String, Value> {
        let sides = &matrices.sides;
        let config = json!({
            "n_embd": sides.width,
            "n_layer": sides.blocks,
            "n_head": sides.heads,
            "n_inner": sides.hidden,
            "n_positions": sides.tokens,
            "activation_function": self.activation(),
            "layer_norm_epsilon": self.eps(),
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
        });
        config.as_object().cloned().unwrap_or_default()
    }

    fn tensors(&self, matrices: &Matrices) -> Vec<Tensor> {
        let sides = &matrices.sides;
        let (width, hidden, joined) = (sides.width, sides.hidden, sides.heads * sides.head_size);
        let mut tensors: Vec<Tensor> = vec![
            ("transformer.wte.weight".to_owned(), vec![matrices.words.len(), width], matrices.words.concat()),
            ("transformer.wpe.weight".to_owned(), vec![sides.tokens, width], matrices.positions.clone()),
        ];
        for (number, block) in matrices.blocks.iter().enumerate() {
            let layer = layer(number);
            let mut conv = |name: &str, [outer, inner]: [usize; 2], weight: &[f64], bias: &[f64]| {
                tensors.push((format!("{layer}.{name}.weight"), vec![inner, outer], transposed(weight, inner)));
                tensors.push((format!("{layer}.{name}.bias"), vec![outer], bias.to_vec()));
            };
            let three = [&block.q[..], &block.k, &block.v].concat();
            let mut bias = block.q_bias.clone();
            bias.resize(3 * joined, 0.0);
            conv("attn.c_attn", [3 * joined, width], &three, &bias);
            conv("attn.c_proj", [width, joined], &block.o, &vec![0.0; width]);
            conv("mlp.c_fc", [hidden, width], &block.w1, &block.b1);
            conv("mlp.c_proj", [width, hidden], &block.w2, &block.b2);
            tensors.extend(matrices.norm(&format!("{layer}.ln_1")));
            tensors.extend(matrices.norm(&format!("{layer}.ln_2")));
        }
        tensors.extend(matrices.norm("transformer.ln_f"));
        tensors
    }

    fn places(&self, block: usize, place: Place) -> Vec<Value> {
        let layer = layer(block);
        match place {
            Place::Head { head, size, width } => {
                let columns = (0..3).map(|part| {
                    let from = part * width + head * size;
                    json!({"tensor": format!("{layer}.attn.c_attn.weight"), "columns": [from, from + size]})
                });
                let rows = json!({
                    "tensor": format!("{layer}.attn.c_proj.weight"),
                    "rows": [head * size, (head + 1) * size],
                });
                columns.chain([rows]).collect()
            }
            Place::Unit(unit) => vec![
                json!({"tensor": format!("{layer}.mlp.c_fc.weight"), "columns": [unit, unit + 1]}),
                json!({"tensor": format!("{layer}.mlp.c_proj.weight"), "rows": [unit, unit + 1]}),
            ],
        }
    }
}
