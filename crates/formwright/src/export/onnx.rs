//! A float network as an ONNX model (IR version 10, operators 21).
//!
//! ```text
//! x [batch, tokens, dims] ─▶ embedding ─▶ run ─▶ run ─▶ … ─▶ read-out ─▶ y [batch, tokens, output_dims]
//! ```
//!
//! The initialisers are the network's tensors: same names, same shapes, same numbers. A token is a row here, so that
//! `w z` is `z wᵀ`; the transposes are nodes of the graph, before the blocks, where a runtime computes them once. With
//! `z` of shape `[batch, tokens, width]`, and heads side by side (`q`, `k`, `v`: `[width, heads · size]`, `o`:
//! `[heads · size, width]`):
//!
//! ```text
//! attention       q = split(z qᵀ + q_bias), k = split(z kᵀ), v = split(z vᵀ)          [batch, heads, tokens, size]
//!                 z + join(softmax(seen ? q kᵀ : −∞) v) oᵀ                            softmax over the last axis
//! mean            z + mean(z vᵀ) oᵀ                                                   mean over the tokens, before the heads are split
//! mixtures        z + join(softmax(q (e k)ᵀ) (f v)) oᵀ                                e, f: [heads, size, tokens]
//! features        z + join((x(q) / size) (x(k)ᵀ v)) oᵀ                                x(y) = exp(y wᵀ − ½ Σ y²)
//! feed-forward    z + (max(z w1ᵀ + b1, 0) w2ᵀ + b2)
//! ```
//!
//! The seen keys are computed from the positions, `[heads, tokens, tokens]`, so that one file serves every length that
//! the network accepts; where nothing is hidden there is no such node. Every query sees a key, so the largest score is
//! finite and a hidden key has the exponential `exp(−∞) = 0`, exactly. Connections are truth values,
//! `[p, tokens, tokens]`, of which a block takes its own. The side of the tokens is open where the network accepts
//! several lengths; that of the batch is always open.
//!
//! A run of several blocks is one `Scan` over its stacked weights that carries `z`, since onnxruntime takes time
//! quadratic in the number of nodes to load a model; a single block stands in the graph itself. `stage.embed` and
//! `stage.NAME`, if requested, are the residual stream after the embedding and after every stage.

mod heads;
pub(crate) mod plain;
mod proto;
pub(super) mod stock;

use std::collections::BTreeSet;

use prost::Message;

use crate::artifact::tensors;
use crate::error::{Error, Result};
use crate::network::attention::Side;
use crate::network::{AttentionRun, FloatNetwork, Mask, Precision, Run};
use crate::pattern::Connections;
use proto::{
    AttributeProto, Dimension, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};

const IR_VERSION: i64 = 10;
const OPERATORS: i64 = 21;

/// Protocol buffers are limited to two gigabytes.
const MOST_BYTES: usize = i32::MAX as usize;

/// The network as an ONNX model, with `metadata` as its properties. With `with_stages`, the residual stream after the
/// embedding and after every stage is an output as well. The same network gives the same bytes.
pub fn to_bytes(network: &FloatNetwork, metadata: &[(String, String)], with_stages: bool) -> Result<Vec<u8>> {
    tensors::check(network)?;
    let mut keys = BTreeSet::new();
    if let Some((key, _)) = metadata.iter().find(|(key, _)| !keys.insert(key)) {
        return Err(Error::input(format!("the property '{key}' comes twice, expected once")));
    }
    let entries: usize = network.tensors().iter().map(|(_, _, entries)| entries.len()).sum();
    too_large(entries.saturating_mul(bytes(network.precision)))?;
    let graph = Writer::new(network).graph(with_stages)?;
    let model = ModelProto {
        ir_version: IR_VERSION,
        producer_name: "formwright".to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: OPERATORS }],
        metadata_props: metadata
            .iter()
            .map(|(key, value)| StringStringEntryProto { key: key.clone(), value: value.clone() })
            .collect(),
    };
    too_large(model.encoded_len())?;
    Ok(model.encode_to_vec())
}

/// Declines a network that is too large for an ONNX file.
fn too_large(bytes: usize) -> Result<()> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(Error::declined(format!("an ONNX file of {bytes} bytes: the format ends at {MOST_BYTES}"))
        .note("try", "a coarser tolerance, or f32; the folder's model.safetensors has no such limit"))
}

fn element(precision: Precision) -> i32 {
    match precision {
        Precision::F32 => 1,
        Precision::F64 => 11,
    }
}

fn bytes(precision: Precision) -> usize {
    match precision {
        Precision::F32 => 4,
        Precision::F64 => 8,
    }
}

fn number(n: usize) -> i64 {
    i64::try_from(n).expect("a size of memory")
}

/// A side of a tensor that every execution may choose.
fn open(name: &str) -> Dimension {
    Dimension::Param(name.to_owned())
}

fn fixed(side: usize) -> Dimension {
    Dimension::Value(number(side))
}

/// A name with the type of a tensor.
fn value(name: &str, elem_type: i32, sides: impl IntoIterator<Item = Dimension>) -> ValueInfoProto {
    let dim = sides.into_iter().map(|side| DimensionProto { value: Some(side) }).collect();
    let shape = TensorShapeProto { dim };
    let tensor = TensorTypeProto { elem_type, shape: Some(shape) };
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}

fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.to_owned(), i: Some(i), kind: 2, ..AttributeProto::default() }
}

fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto { name: name.to_owned(), ints: ints.to_vec(), kind: 7, ..AttributeProto::default() }
}

/// A vector of numbers.
fn vector(precision: Precision, numbers: &[f64]) -> TensorProto {
    TensorProto {
        dims: vec![number(numbers.len())],
        raw_data: Some(tensors::to_little_endian(precision, numbers)),
        ..scalar(precision, 0.0)
    }
}

/// A single number.
fn scalar(precision: Precision, number: f64) -> TensorProto {
    TensorProto {
        dims: Vec::new(),
        data_type: element(precision),
        name: String::new(),
        raw_data: Some(tensors::to_little_endian(precision, &[number])),
    }
}

/// A tensor of truth values or of integers.
fn plain(data_type: i32, sides: &[usize], raw_data: Vec<u8>) -> TensorProto {
    let dims = sides.iter().map(|side| number(*side)).collect();
    TensorProto { dims, data_type, name: String::new(), raw_data: Some(raw_data) }
}

/// A tensor with one entry per head, to be compared with `[heads, tokens, tokens]`.
fn of_heads(data_type: i32, raw_data: Vec<u8>, heads: usize) -> TensorProto {
    plain(data_type, &[heads, 1, 1], raw_data)
}

const BOOL: i32 = 9;
const INT64: i32 = 7;

/// Nodes in the order of execution. Every value is named after its content.
#[derive(Default)]
struct Nodes(Vec<NodeProto>);

impl Nodes {
    /// Adds an operation and returns the name of its result.
    fn add(&mut self, operator: &str, inputs: &[&str], attributes: Vec<AttributeProto>, result: String) -> String {
        self.0.push(NodeProto {
            input: inputs.iter().map(|&name| name.to_owned()).collect(),
            output: vec![result.clone()],
            name: result.clone(),
            op_type: operator.to_owned(),
            attribute: attributes,
        });
        result
    }

    fn plain(&mut self, operator: &str, inputs: &[&str], result: String) -> String {
        self.add(operator, inputs, Vec::new(), result)
    }

    fn transpose(&mut self, input: &str, order: &[i64], result: String) -> String {
        self.add("Transpose", &[input], vec![ints("perm", order)], result)
    }

    /// A side of 0 keeps the side.
    fn reshape(&mut self, input: &str, sides: &[usize], result: String) -> String {
        let sides: Vec<i64> = sides.iter().map(|side| number(*side)).collect();
        let shape = self.add("Constant", &[], vec![ints("value_ints", &sides)], format!("{result}.shape"));
        self.plain("Reshape", &[input, &shape], result)
    }

    fn constant(&mut self, tensor: TensorProto, result: String) -> String {
        let value = AttributeProto { name: "value".to_owned(), t: Some(tensor), kind: 4, ..AttributeProto::default() };
        self.add("Constant", &[], vec![value], result)
    }

    fn integer(&mut self, i: i64, result: String) -> String {
        self.add("Constant", &[], vec![int("value_int", i)], result)
    }

    /// The positions, `[tokens]`, and the distance of a key behind a query, `[tokens, tokens]`.
    fn positions(&mut self, input: &str) -> [String; 2] {
        let count = self.add("Shape", &[input], vec![int("start", 1), int("end", 2)], "tokens.shape".to_owned());
        let count = self.plain("Squeeze", &[&count], "tokens".to_owned());
        let (zero, one) = (self.integer(0, "zero".to_owned()), self.integer(1, "one".to_owned()));
        let keys = self.plain("Range", &[&zero, &count, &one], "positions".to_owned());
        let axis = self.add("Constant", &[], vec![ints("value_ints", &[1])], "queries.axis".to_owned());
        let queries = self.plain("Unsqueeze", &[&keys, &axis], "queries".to_owned());
        let offsets = self.plain("Sub", &[&keys, &queries], "offsets".to_owned());
        [keys, offsets]
    }

    /// The keys that the heads see, `[heads, tokens, tokens]`; `None` where nothing is hidden.
    fn seen(&mut self, masks: &[Mask], positions: &[String; 2], at: &str) -> Option<String> {
        let [keys, offsets] = positions;
        let limits = |limit: fn(&Mask) -> Option<i64>| masks.iter().map(limit).collect::<Vec<_>>();
        let sides = [
            ("relative.low", offsets, "GreaterOrEqual", limits(|mask| mask.relative.0), i64::MIN),
            ("relative.high", offsets, "LessOrEqual", limits(|mask| mask.relative.1), i64::MAX),
            ("absolute.low", keys, "GreaterOrEqual", limits(|mask| mask.absolute.0), i64::MIN),
            ("absolute.high", keys, "LessOrEqual", limits(|mask| mask.absolute.1), i64::MAX),
        ];
        let mut seen: Option<String> = None;
        for (name, place, operator, limits, none) in sides {
            if limits.iter().all(Option::is_none) {
                continue;
            }
            let raw = limits.iter().flat_map(|limit| limit.unwrap_or(none).to_le_bytes()).collect();
            let limit = self.constant(of_heads(INT64, raw, masks.len()), format!("{at}.{name}"));
            let within = self.plain(operator, &[place, &limit], format!("{limit}.within"));
            seen = Some(match seen {
                Some(seen) => self.plain("And", &[&seen, &within], format!("{limit}.and")),
                None => within,
            });
        }
        if masks.iter().any(|mask| mask.first) {
            seen = seen.map(|seen| {
                let sinks = masks.iter().map(|mask| u8::from(mask.first)).collect();
                let sinks = self.constant(of_heads(BOOL, sinks, masks.len()), format!("{at}.sinks"));
                let first = self.plain("Equal", &[keys, "zero"], format!("{at}.first"));
                let first = self.plain("And", &[&first, &sinks], format!("{at}.first.seen"));
                self.plain("Or", &[&seen, &first], format!("{at}.seen"))
            });
        }
        seen
    }

    /// The keys that the tokens see in the layers of a cycle, `[layers, tokens, tokens]`.
    fn connected(&mut self, cycle: &[Connections], at: &str) -> String {
        let tokens = cycle.first().map_or(0, Connections::tokens);
        let sees = |layer: &Connections| {
            let mut seen = vec![0; tokens * tokens];
            (0..tokens).for_each(|i| layer.keys(i).iter().for_each(|j| seen[i * tokens + j] = 1));
            seen
        };
        let seen = cycle.iter().flat_map(sees).collect();
        self.constant(plain(BOOL, &[cycle.len(), tokens, tokens], seen), format!("{at}.connections"))
    }

    /// `z wᵀ + b` with the weights as they are stored.
    fn affine(&mut self, z: &str, at: &str) -> String {
        let rows = self.transpose(&format!("{at}.weight"), &[1, 0], format!("{at}.weight.rows"));
        let linear = self.plain("MatMul", &[z, &rows], format!("{at}.linear"));
        self.plain("Add", &[&linear, &format!("{at}.bias")], format!("{at}.out"))
    }

    /// `z + (max(z w1ᵀ + b1, 0) w2ᵀ + b2)`.
    fn feed_forward(&mut self, z: &str, weights: [&str; 4], at: &str) -> String {
        let [w1, b1, w2, b2] = weights;
        let hidden = self.plain("MatMul", &[z, w1], format!("{at}.hidden.linear"));
        let hidden = self.plain("Add", &[&hidden, b1], format!("{at}.hidden"));
        let hidden = self.plain("Relu", &[&hidden], format!("{at}.hidden.relu"));
        let update = self.plain("MatMul", &[&hidden, w2], format!("{at}.update.linear"));
        let update = self.plain("Add", &[&update, b2], format!("{at}.update"));
        self.plain("Add", &[z, &update], format!("{at}.out"))
    }
}

/// True if a number is 0 in single precision and not in its own format.
fn vanishes(x: f64) -> bool {
    x != 0.0 && Precision::F32.round(x) == 0.0
}

/// The weights of a run as the blocks use them: a name, and the sides after that of the blocks.
struct Weights {
    attention: Option<Vec<(String, Vec<usize>)>>,
    feed_forward: Option<[(String, Vec<usize>); 4]>,
}

/// Builds the graph of one network.
struct Writer<'n> {
    network: &'n FloatNetwork,
    nodes: Nodes,
    /// The residual stream after each stage, where the stage has layers.
    after: Vec<Option<String>>,
    /// The values that masks are computed from, where there are any.
    positions: Option<[String; 2]>,
    /// True if the score of hidden keys has its node.
    hides: bool,
}

impl<'n> Writer<'n> {
    fn new(network: &'n FloatNetwork) -> Self {
        Self {
            network,
            nodes: Nodes::default(),
            after: vec![None; network.stages.len()],
            positions: None,
            hides: false,
        }
    }

    /// The type of `[batch, tokens, side]`.
    fn value(&self, name: &str, side: usize) -> ValueInfoProto {
        let (least, most) = self.network.lengths;
        let tokens = if least == most { fixed(most) } else { open("tokens") };
        value(name, element(self.network.precision), [open("batch"), tokens, fixed(side)])
    }

    /// The keys that the heads of a run see, if any are hidden.
    fn seen(&mut self, run: &Run, first: usize) -> Option<String> {
        let AttentionRun { masks, connections, .. } = run.attention.as_ref()?;
        if connections.is_empty() && masks.iter().all(Mask::is_all) {
            return None;
        }
        if !std::mem::replace(&mut self.hides, true) {
            self.nodes.constant(scalar(self.network.precision, f64::NEG_INFINITY), "hidden".to_owned());
        }
        if !connections.is_empty() {
            let cycle = &connections[..connections.len().min(run.blocks)];
            return Some(self.nodes.connected(cycle, &format!("{first}.attn")));
        }
        let positions = match &self.positions {
            Some(positions) => positions.clone(),
            None => self.positions.insert(self.nodes.positions("x")).clone(),
        };
        self.nodes.seen(masks, &positions, &format!("{first}.attn.mask"))
    }

    fn graph(mut self, with_stages: bool) -> Result<GraphProto> {
        let network = self.network;
        let (precision, width) = (network.precision, network.width());
        let mut z = self.nodes.affine("x", "embed");
        if network.positions.is_some() {
            z = self.nodes.plain("Add", &[&z, "pos"], "pos.out".to_owned());
        }
        let embedded = z.clone();
        let attention = network.runs.iter().filter_map(|run| run.attention.as_ref());
        self.nodes.numbers_of_features(attention, precision);
        let mut first = 0;
        for run in &network.runs {
            z = if run.blocks == 1 { self.block(&z, run, first) } else { self.scan(&z, run, first) };
            first += run.blocks;
        }
        let y = self.nodes.affine(&z, "read_out");
        self.nodes.plain("Identity", &[&y], "y".to_owned());
        let mut outputs = vec![self.value("y", network.output_dims())];
        if with_stages {
            let mut state = embedded;
            let names = network.stages.iter().map(|stage| stage.name.as_str());
            for (name, after) in
                std::iter::once("embed").chain(names).zip(std::iter::once(None).chain(std::mem::take(&mut self.after)))
            {
                let name = format!("stage.{name}");
                if outputs.iter().any(|output| output.name == name) {
                    return Err(Error::input("a stage is called 'embed', and so is the state before all stages")
                        .note("try", "another name for the stage"));
                }
                state = after.unwrap_or(state);
                outputs.push(self.value(&name, width));
                self.nodes.plain("Identity", &[&state], name);
            }
        }
        let tensor = |(name, shape, entries): (String, Vec<usize>, &[f64])| TensorProto {
            dims: shape.iter().map(|side| number(*side)).collect(),
            data_type: element(precision),
            name,
            raw_data: Some(tensors::to_little_endian(precision, entries)),
        };
        let input = vec![self.value("x", network.dims())];
        // onnxruntime 1.31 drops an `Add` of one number that is 0 in single precision, whatever the format is. It
        // leaves a `Sum` alone.
        if network.tensors().iter().any(|(_, _, entries)| entries.iter().any(|entry| vanishes(*entry))) {
            let adds = self.nodes.0.iter_mut().filter(|node| node.op_type == "Add");
            adds.for_each(|node| "Sum".clone_into(&mut node.op_type));
        }
        Ok(GraphProto {
            node: self.nodes.0,
            name: "formwright".to_owned(),
            initializer: network.tensors().into_iter().map(tensor).collect(),
            input,
            output: outputs,
        })
    }

    /// A single block. Its weights keep their first side, of one block, and broadcast.
    fn block(&mut self, z: &str, run: &Run, first: usize) -> String {
        let (weights, seen) = (self.weights(run, first), self.seen(run, first));
        let mut z = z.to_owned();
        if let (Some(a), Some(weights)) = (&run.attention, &weights.attention) {
            z = self.nodes.attention(
                &z,
                a,
                &weights.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
                seen.as_deref(),
                &format!("{first}.attn"),
            );
            self.after[a.stage] = Some(z.clone());
        }
        if let (Some(f), Some(weights)) = (&run.feed_forward, &weights.feed_forward) {
            z = self.nodes.feed_forward(&z, weights.each_ref().map(|(name, _)| name.as_str()), &format!("{first}.ff"));
            self.after[f.stage] = Some(z.clone());
        }
        z
    }

    /// Several blocks: a `Scan` that carries `z` and takes the weights block by block.
    fn scan(&mut self, z: &str, run: &Run, first: usize) -> String {
        let (precision, width) = (self.network.precision, self.network.width());
        // The body refers to it by its name in the outer graph.
        let mut seen = self.seen(run, first);
        let Weights { attention, feed_forward } = self.weights(run, first);
        let stacked: Vec<(String, Vec<usize>)> =
            attention.into_iter().flatten().chain(feed_forward.into_iter().flatten()).collect();
        let carried = format!("{first}.z");
        let (mut body, mut out) = (Nodes::default(), carried.clone());
        let slices: Vec<String> = stacked.iter().map(|(name, _)| format!("{name}.block")).collect();
        let mut names = slices.iter().map(String::as_str);
        let (mut scanned, mut input): (Vec<&str>, _) =
            (stacked.iter().map(|(name, _)| name.as_str()).collect(), vec![self.value(&carried, width)]);
        let slice = |((_, sides), name): (&(String, Vec<usize>), &String)| {
            value(name, element(precision), sides.iter().copied().map(fixed))
        };
        input.extend(stacked.iter().zip(&slices).map(slice));
        let period = run.attention.as_ref().map_or(0, |a| a.connections.len()).min(run.blocks);
        let layers = format!("{first}.attn.layers");
        if period > 1 {
            // Each block takes its layer of the cycle.
            let numbers = (0..run.blocks).flat_map(|block| number(block % period).to_le_bytes()).collect();
            scanned.push(&layers);
            self.nodes.constant(plain(INT64, &[run.blocks], numbers), layers.clone());
            let layer = format!("{first}.attn.layer");
            input.push(value(&layer, INT64, []));
            seen = seen.map(|seen| body.plain("Gather", &[&seen, &layer], format!("{first}.attn.seen")));
        }
        if let Some(a) = &run.attention {
            let weights: Vec<&str> = names.by_ref().take(a.tensors(self.network.tokens, width).len()).collect();
            out = body.attention(&out, a, &weights, seen.as_deref(), &format!("{first}.attn"));
            self.after[a.stage] = Some(format!("{first}.run"));
        }
        if let Some(f) = &run.feed_forward {
            let weights = std::array::from_fn(|_| names.next().expect("a weight"));
            out = body.feed_forward(&out, weights, &format!("{first}.ff"));
            self.after[f.stage] = Some(format!("{first}.run"));
        }
        let graph = GraphProto {
            node: body.0,
            name: format!("{first}.block"),
            initializer: Vec::new(),
            input,
            output: vec![self.value(&out, width)],
        };
        let body = AttributeProto { name: "body".to_owned(), g: Some(graph), kind: 5, ..AttributeProto::default() };
        let attributes = vec![body, int("num_scan_inputs", number(scanned.len()))];
        let inputs: Vec<&str> = std::iter::once(z).chain(scanned).collect();
        self.nodes.add("Scan", &inputs, attributes, format!("{first}.run"))
    }

    /// A run's tensors, prepared for rows: transposed, the heads side by side.
    fn weights(&mut self, run: &Run, first: usize) -> Weights {
        let (nodes, width, blocks) = (&mut self.nodes, self.network.width(), run.blocks);
        let tokens = self.network.tokens;
        let attention = run.attention.as_ref().map(|a| {
            let (keys, values) = (a.heads * a.head_size, a.heads * a.value_size);
            let mut weights = Vec::new();
            let own = a.kind.formula.tensors();
            for (tensor, shape, _) in a.tensors(tokens, width) {
                let name = format!("{first}.attn.{tensor}");
                weights.push(match tensor {
                    "q" | "k" | "v" => {
                        let size = if tensor == "v" { values } else { keys };
                        let joined = nodes.reshape(&name, &[blocks, size, width], format!("{name}.joined"));
                        (nodes.transpose(&joined, &[0, 2, 1], format!("{name}.rows")), vec![width, size])
                    }
                    "q_bias" => (nodes.reshape(&name, &[blocks, keys], format!("{name}.joined")), vec![keys]),
                    "o" => {
                        let o = nodes.transpose(&name, &[0, 1, 3, 2], format!("{name}.rows"));
                        let o = nodes.reshape(&o, &[blocks, values, width], format!("{name}.joined"));
                        (o, vec![values, width])
                    }
                    _ if own.contains(&(tensor, Side::HeadSize)) => {
                        let rows = nodes.transpose(&name, &[0, 1, 3, 2], format!("{name}.rows"));
                        (rows, vec![shape[0], shape[2], shape[1]])
                    }
                    // Weights of mixtures are used as they are stored.
                    _ => (name, shape),
                });
            }
            weights
        });
        let feed_forward = run.feed_forward.as_ref().map(|f| {
            let mut rows = |name: &str| {
                let name = format!("{first}.ff.{name}");
                nodes.transpose(&name, &[0, 2, 1], format!("{name}.rows"))
            };
            let (w1, w2) = (rows("w1"), rows("w2"));
            let bias = |name: &str| format!("{first}.ff.{name}");
            [
                (w1, vec![width, f.hidden]),
                (bias("b1"), vec![f.hidden]),
                (w2, vec![f.hidden, width]),
                (bias("b2"), vec![width]),
            ]
        });
        Weights { attention, feed_forward }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn files_beyond_the_limit_of_the_format_are_declined() {
        assert!(too_large(MOST_BYTES).is_ok());
        let error = too_large(3_000_000_000).expect_err("too large");
        assert_eq!(error.kind(), ErrorKind::Declined);
        assert_eq!(error.headline(), "an ONNX file of 3000000000 bytes: the format ends at 2147483647");
    }
}
