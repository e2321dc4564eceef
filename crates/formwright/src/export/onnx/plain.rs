//! A float network as a chain of matrices and ReLUs over one vector, for verifiers: `MatMul`, `Add`, `Relu`, and
//! nothing else; every shape is a number.
//!
//! ```text
//! x [1, tokens · dims]    token 0 first;  y [1, tokens · output_dims]
//! embedding, read-out     z E + e, once for each token on the diagonal; positions are in e
//! heads                   z + ((z V) P) O;  P has the weights of the keys that a token sees, 1/m each, rounded
//! feed-forward            z + (max(z W₁ + b₁, 0) W₂ + b₂)
//! ```
//!
//! It exists for one number of tokens, and where all scores are equal whatever the input, so that a softmax is a mean.
//! Its weights are those of the network, and `1/m` is rounded as every execution rounds it: over real numbers it is the
//! network without any other rounding, and each of its executions in floats is one that the claim is about.

use prost::Message;

use super::proto::{GraphProto, ModelProto, OperatorSetIdProto, TensorProto};
use super::{Nodes, element, fixed, number, scalar, value};
use crate::artifact::tensors;
use crate::network::{AttentionRun, FloatAffine, FloatNetwork, Precision, Run};

/// Operators and a format that verifiers have known for years.
const OPERATORS: i64 = 13;
const IR_VERSION: i64 = 8;

/// The most entries of its matrices together.
const MOST_ENTRIES: usize = 1 << 22;

/// The plain form of a network for so many tokens; `None` if some head's weights depend on the input, or matrices would
/// be large.
pub(crate) fn to_bytes(network: &FloatNetwork, tokens: usize) -> Option<Vec<u8>> {
    let (width, dims, outputs) = (network.width(), network.dims(), network.output_dims());
    if entries(network, tokens)? > MOST_ENTRIES || !network.runs.iter().all(is_uniform) {
        return None;
    }
    let mut chain = Chain { precision: network.precision, tokens, nodes: Nodes::default(), initializer: Vec::new() };
    let mut bias = network.embed.bias.repeat(tokens);
    let positions = network.positions.as_deref().unwrap_or_default();
    // A number that is not stored: where both are there, their sum is rounded, as an execution may.
    bias.iter_mut().zip(positions).for_each(|(bias, position)| *bias = network.precision.round(*bias + position));
    let mut z = chain.affine("x", &network.embed, &bias, "embed");
    let mut first = 0;
    for run in &network.runs {
        for block in 0..run.blocks {
            let at = format!("{}", first + block);
            if let Some(a) = &run.attention {
                z = chain.heads(&z, a, (block, width), &at);
            }
            if let Some(f) = &run.feed_forward {
                let (w1, b1) = (&f.w1[block * f.hidden * width..], &f.b1[block * f.hidden..][..f.hidden]);
                let (w2, b2) = (&f.w2[block * f.hidden * width..], &f.b2[block * width..][..width]);
                let w1 = FloatAffine {
                    inputs: width,
                    outputs: f.hidden,
                    weight: w1[..f.hidden * width].to_vec(),
                    bias: b1.to_vec(),
                };
                let w2 = FloatAffine {
                    inputs: f.hidden,
                    outputs: width,
                    weight: w2[..f.hidden * width].to_vec(),
                    bias: b2.to_vec(),
                };
                let units = chain.affine(&z, &w1, &w1.bias.repeat(tokens), &format!("{at}.units"));
                let units = chain.nodes.plain("Relu", &[&units], format!("{at}.relu"));
                let update = chain.affine(&units, &w2, &w2.bias.repeat(tokens), &format!("{at}.update"));
                z = chain.nodes.plain("Add", &[&z, &update], format!("{at}.ff"));
            }
        }
        first += run.blocks;
    }
    chain.affine(&z, &network.read_out, &network.read_out.bias.repeat(tokens), "read_out");
    if let Some(last) = chain.nodes.0.last_mut() {
        last.output = vec!["y".to_owned()];
    }
    let side = |name: &str, side: usize| value(name, element(network.precision), [fixed(1), fixed(tokens * side)]);
    let graph = GraphProto {
        node: chain.nodes.0,
        name: "plain".to_owned(),
        initializer: chain.initializer,
        input: vec![side("x", dims)],
        output: vec![side("y", outputs)],
    };
    let model = ModelProto {
        ir_version: IR_VERSION,
        producer_name: "formwright".to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: OPERATORS }],
        metadata_props: Vec::new(),
    };
    Some(model.encode_to_vec())
}

/// The entries of its matrices; `None` if they are beyond all counting.
fn entries(network: &FloatNetwork, tokens: usize) -> Option<usize> {
    let width = tokens.checked_mul(network.width())?;
    let mut all = width.checked_mul(tokens.checked_mul(network.dims().checked_add(network.output_dims())?)?)?;
    for run in &network.runs {
        let values = run.attention.as_ref().map_or(0, |a| a.heads * a.value_size).checked_mul(tokens)?;
        let hidden = run.feed_forward.as_ref().map_or(0, |f| f.hidden).checked_mul(tokens)?;
        let sides = values.checked_add(hidden)?.checked_mul(2)?.checked_mul(width)?;
        all = all.checked_add(sides.checked_add(values.checked_mul(values)?)?.checked_mul(run.blocks)?)?;
    }
    Some(all)
}

/// True if all weights of a run's heads are the same for every input.
fn is_uniform(run: &Run) -> bool {
    run.attention.as_ref().is_none_or(|a| {
        let zero = |entries: &[f64]| entries.iter().all(|x| *x == 0.0);
        match a.kind.name() {
            "average" => true,
            "softmax" => zero(&a.k) || zero(&a.q) && zero(&a.q_bias),
            _ => false,
        }
    })
}

/// The graph as far as it is written.
struct Chain {
    precision: Precision,
    tokens: usize,
    nodes: Nodes,
    initializer: Vec<TensorProto>,
}

impl Chain {
    fn stored(&mut self, name: String, sides: &[usize], entries: &[f64]) -> String {
        self.initializer.push(TensorProto {
            dims: sides.iter().map(|side| number(*side)).collect(),
            name: name.clone(),
            raw_data: Some(tensors::to_little_endian(self.precision, entries)),
            ..scalar(self.precision, 0.0)
        });
        name
    }

    /// `z M`, for `M` of so many rows and columns.
    fn product(&mut self, z: &str, (rows, columns): (usize, usize), matrix: &[f64], at: &str) -> String {
        let matrix = self.stored(format!("{at}.matrix"), &[rows, columns], matrix);
        self.nodes.plain("MatMul", &[z, &matrix], format!("{at}.product"))
    }

    /// A map of every token.
    fn affine(&mut self, z: &str, map: &FloatAffine, bias: &[f64], at: &str) -> String {
        let (rows, columns) = (self.tokens * map.inputs, self.tokens * map.outputs);
        let mut matrix = vec![0.0; rows * columns];
        for token in 0..self.tokens {
            for (o, row) in map.weight.chunks(map.inputs).enumerate() {
                for (i, w) in row.iter().enumerate() {
                    matrix[(token * map.inputs + i) * columns + token * map.outputs + o] = *w;
                }
            }
        }
        let product = self.product(z, (rows, columns), &matrix, at);
        let bias = self.stored(format!("{at}.bias"), &[columns], bias);
        self.nodes.plain("Add", &[&product, &bias], format!("{at}.out"))
    }

    /// Heads whose weights are known: values, their means, and what they add.
    fn heads(&mut self, z: &str, a: &AttentionRun, (block, width): (usize, usize), at: &str) -> String {
        let (n, size) = (self.tokens, a.heads * a.value_size);
        let (stream, values) = (n * width, n * size);
        let (mut v, mut p, mut o) =
            (vec![0.0; stream * values], vec![0.0; values * values], vec![0.0; values * stream]);
        for head in 0..a.heads {
            let place = block * a.heads + head;
            let seen = |token: usize| -> Vec<usize> {
                let masked = || a.masks[head].keys(token, n).positions().collect();
                a.connections_of(block).map_or_else(masked, |connections| connections.keys(token).to_vec())
            };
            for c in 0..a.value_size {
                let of = |token: usize| token * size + head * a.value_size + c;
                let row = &a.v[(place * a.value_size + c) * width..][..width];
                for token in 0..n {
                    for i in 0..width {
                        v[(token * width + i) * values + of(token)] = row[i];
                        o[of(token) * stream + token * width + i] = a.o[(place * width + i) * a.value_size + c];
                    }
                    let keys = seen(token);
                    let share = 1.0 / f64::from(u32::try_from(keys.len()).unwrap_or(u32::MAX));
                    for key in keys {
                        p[of(key) * values + of(token)] = self.precision.round(share);
                    }
                }
            }
        }
        let found = self.product(z, (stream, values), &v, &format!("{at}.values"));
        let found = self.product(&found, (values, values), &p, &format!("{at}.means"));
        let found = self.product(&found, (values, stream), &o, &format!("{at}.heads"));
        self.nodes.plain("Add", &[z, &found], format!("{at}.attn"))
    }
}
