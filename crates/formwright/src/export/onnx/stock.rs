//! A stock Transformer as an ONNX model: the blocks of its class, by the operators that ONNX has for them.
//!
//! ```text
//! x [batch, tokens, dims] ─▶ vectors, positions ─▶ block ─▶ … ─▶ block ─▶ logits [batch, tokens, labels]
//!                            of integers: input_ids [batch, tokens], rows of the vocabulary
//! LayerNorm   LayerNormalization
//! RMSNorm     x / √(ReduceMean(x²) + eps) · gain           ONNX has no operator for it before version 23
//! GELU        Gelu, approximate by tanh or not             by tanh in doubles: x / (1 + exp(-2√(2/π) (x + 0.044715 x³)))
//! SiLU        x / (1 + exp(-x))                            the model has a line for exp
//! heads       softmax(seen ? q kᵀ/√size : −∞) v
//! ```
//!
//! Initialisers have the names and the numbers of `model.safetensors`, and those of `inputs.safetensors` behind `inputs.`.
//! onnxruntime 1.31 has the constants of Gelu by tanh in single precision, whatever the format is: in doubles that would be
//! off by 5e-9, where `2^-49` is allowed (`measurements/hosts.md`).
//!
//! What changes nothing is left out: token types and relative positions of 0, rotations by 0, and ModernBERT's layer
//! before its classifier, which is the identity. The number that a norm adds is the next one in single precision that
//! is not above the class's: less of it loses less.

use std::collections::BTreeMap;

use prost::Message;

use super::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto, TensorProto,
};
use super::{
    INT64, IR_VERSION, Nodes, OPERATORS, bytes, element, fixed, int, ints, number, open, scalar, too_large, value,
};
use crate::artifact::tensors;
use crate::error::Result;
use crate::host::{Activation, Class, Kind, Matrices, Order, Part, Tensor};
use crate::network::Precision;

/// A host as it is written.
pub(in crate::export) struct Stock<'a> {
    pub class: &'a Class,
    pub matrices: &'a Matrices,
    /// The last map by rows.
    pub head: &'a [f64],
    /// The coordinates of a token that is a vector; `None` if tokens are words.
    pub dims: Option<usize>,
    /// The fewest and the most tokens.
    pub lengths: (usize, usize),
}

impl Stock<'_> {
    /// The model, with `metadata` as its properties.
    pub fn to_bytes(&self, metadata: &[(String, String)]) -> Result<Vec<u8>> {
        let mut known: BTreeMap<String, (Vec<usize>, Vec<f64>)> = BTreeMap::new();
        let all: Vec<Tensor> = self.class.tensors(self.matrices, self.head);
        known.extend(all.into_iter().map(|(name, shape, entries)| (name, (shape, entries))));
        let embed = &self.matrices.embed;
        if let Some(dims) = self.dims {
            let width = self.matrices.sides.width;
            known.insert("inputs.weight".to_owned(), (vec![width, dims], embed.weight.clone()));
            known.insert("inputs.bias".to_owned(), (vec![width], embed.bias.clone()));
        }
        let entries: usize = known.values().map(|(_, entries)| entries.len()).sum();
        too_large(entries.saturating_mul(bytes(self.matrices.precision)))?;
        let graph = Writer { stock: self, known, nodes: Nodes::default() }.graph();
        let property =
            |(key, value): &(String, String)| StringStringEntryProto { key: key.clone(), value: value.clone() };
        let model = ModelProto {
            ir_version: IR_VERSION,
            producer_name: "formwright".to_owned(),
            producer_version: env!("CARGO_PKG_VERSION").to_owned(),
            graph: Some(graph),
            opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: OPERATORS }],
            metadata_props: metadata.iter().map(property).collect(),
        };
        too_large(model.encoded_len())?;
        Ok(model.encode_to_vec())
    }
}

struct Writer<'a> {
    stock: &'a Stock<'a>,
    /// The tensors of the class.
    known: BTreeMap<String, (Vec<usize>, Vec<f64>)>,
    nodes: Nodes,
}

impl Writer<'_> {
    fn precision(&self) -> Precision {
        self.stock.matrices.precision
    }

    fn graph(mut self) -> GraphProto {
        let Stock { class, matrices, dims, lengths: (least, most), .. } = *self.stock;
        let tokens = || if least == most { fixed(most) } else { open("tokens") };
        let kind = element(self.precision());
        let (name, input) = match dims {
            Some(dims) => ("x", value("x", kind, [open("batch"), tokens(), fixed(dims)])),
            None => ("input_ids", value("input_ids", INT64, [open("batch"), tokens()])),
        };
        let causal = !class.mask.is_all();
        let places = (causal || class.names.positions.is_some()).then(|| self.nodes.positions(name));
        let mut z = self.vectors(name, places.as_ref());
        let mut ends = class.names.norms;
        if class.norm.order != Order::Before {
            z = self.norm(&z, ends[0]);
            ends = &ends[1..];
        }
        let seen = places.filter(|_| causal).and_then(|places| {
            self.nodes.constant(scalar(matrices.precision, f64::NEG_INFINITY), "hidden".to_owned());
            self.nodes.seen(&[class.mask], &places, "mask")
        });
        for block in 0..matrices.blocks.len() {
            z = self.block(&z, block, seen.as_deref());
        }
        for norm in ends {
            z = self.norm(&z, norm);
        }
        let logits = self.dense(&z, class.names.head);
        self.nodes.plain("Identity", &[&logits], "logits".to_owned());
        let labels = self.known[&format!("{}.weight", class.names.head)].0[0];
        let output = value("logits", kind, [open("batch"), tokens(), fixed(labels)]);
        let used = |name: &String| self.nodes.0.iter().any(|node| node.input.contains(name));
        let tensor = |(name, (shape, entries)): (&String, &(Vec<usize>, Vec<f64>))| TensorProto {
            dims: shape.iter().map(|side| number(*side)).collect(),
            data_type: kind,
            name: name.clone(),
            raw_data: Some(tensors::to_little_endian(matrices.precision, entries)),
        };
        let initializer = self.known.iter().filter(|(name, _)| used(name)).map(tensor).collect();
        GraphProto {
            node: self.nodes.0,
            name: class.architecture.to_owned(),
            initializer,
            input: vec![input],
            output: vec![output],
        }
    }

    /// The vectors of the tokens, with those of their places.
    fn vectors(&mut self, input: &str, places: Option<&[String; 2]>) -> String {
        let names = &self.stock.class.names;
        let z = if self.stock.dims.is_some() {
            self.nodes.affine(input, "inputs")
        } else {
            self.nodes.plain("Gather", &[names.words, input], "vectors".to_owned())
        };
        let (Some((table, before)), Some([place, _])) = (names.positions, places) else { return z };
        let place = if before > 0 {
            let before = self.nodes.integer(number(before), "positions.before".to_owned());
            self.nodes.plain("Add", &[place, &before], "positions.rows".to_owned())
        } else {
            place.clone()
        };
        let rows = self.nodes.plain("Gather", &[table, &place], "positions.vectors".to_owned());
        self.nodes.plain("Add", &[&z, &rows], "vectors.placed".to_owned())
    }

    /// A linear map, with its bias if it has one.
    fn dense(&mut self, z: &str, name: &str) -> String {
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        let columns = self.stock.class.names.transposed && name != self.stock.class.names.head;
        let weight = if columns { weight } else { self.nodes.transpose(&weight, &[1, 0], format!("{weight}.rows")) };
        let out = self.nodes.plain("MatMul", &[z, &weight], format!("{name}.linear"));
        if self.known.contains_key(&bias) {
            self.nodes.plain("Add", &[&out, &bias], format!("{name}.out"))
        } else {
            out
        }
    }

    /// The maps of a layer that are these parts; those of one name are one map, whose rows are split.
    fn maps(&mut self, z: &str, layer: &str, wanted: &[Part]) -> Vec<String> {
        let parts = self.stock.class.names.parts.iter().filter(|(part, _)| wanted.contains(part));
        let parts: Vec<&str> = parts.map(|(_, name)| *name).collect();
        let mut found = Vec::new();
        for same in parts.chunk_by(|a, b| a == b) {
            let out = self.dense(z, &format!("{layer}.{}", same[0]));
            if same.len() == 1 {
                found.push(out);
                continue;
            }
            let names: Vec<String> = (0..same.len()).map(|at| format!("{out}.{at}")).collect();
            self.nodes.0.push(NodeProto {
                input: vec![out.clone()],
                output: names.clone(),
                name: format!("{out}.split"),
                op_type: "Split".to_owned(),
                attribute: vec![int("axis", -1), int("num_outputs", number(same.len()))],
            });
            found.extend(names);
        }
        found
    }

    fn block(&mut self, z: &str, number: usize, seen: Option<&str>) -> String {
        let class = self.stock.class;
        let layer = format!("{}.{number}", class.names.layer);
        let [first, second] = class.names.layer_norms.map(|name| format!("{layer}.{name}"));
        let before = class.norm.order != Order::Behind;
        let skipped = number == 0 && class.norm.order.skips_the_first();
        let read = if before && !skipped { self.norm(z, &first) } else { z.to_owned() };
        let update = self.attention(&read, &layer, seen);
        let mut z = self.nodes.plain("Add", &[&update, z], format!("{layer}.attended"));
        if !before {
            z = self.norm(&z, &first);
        }
        let read = if before { self.norm(&z, &second) } else { z.clone() };
        let update = self.units(&read, &layer);
        z = self.nodes.plain("Add", &[&update, &z], format!("{layer}.computed"));
        if before { z } else { self.norm(&z, &second) }
    }

    fn attention(&mut self, z: &str, layer: &str, seen: Option<&str>) -> String {
        let (sides, at) = (self.stock.matrices.sides, format!("{layer}.heads"));
        let size = (sides.heads, sides.head_size);
        let maps = self.maps(z, layer, &[Part::Query, Part::Key, Part::Value]);
        let mut queries = maps[0].clone();
        if self.stock.class.scaled {
            let root = f64::from(1_u32 << (sides.head_size.trailing_zeros() / 2));
            let scale = self.nodes.constant(scalar(self.precision(), 1.0 / root), format!("{at}.scale"));
            queries = self.nodes.plain("Mul", &[&queries, &scale], format!("{at}.queries.scaled"));
        }
        let queries = self.nodes.split(&queries, size, &[0, 2, 1, 3]);
        let keys = self.nodes.split(&maps[1], size, &[0, 2, 3, 1]);
        let values = self.nodes.split(&maps[2], size, &[0, 2, 1, 3]);
        let mixed = self.nodes.weighted(&queries, &keys, &values, seen, &at);
        let mixed = self.nodes.transpose(&mixed, &[0, 2, 1, 3], format!("{at}.mixed.heads"));
        let joined = self.nodes.reshape(&mixed, &[0, 0, size.0 * size.1], format!("{at}.mixed.joined"));
        self.maps(&joined, layer, &[Part::Output]).remove(0)
    }

    fn units(&mut self, z: &str, layer: &str) -> String {
        let at = format!("{layer}.units");
        let maps = self.maps(z, layer, &[Part::Inner, Part::Factor]);
        let mut units = self.activation(&maps[0], &at);
        if let Some(factor) = maps.get(1) {
            units = self.nodes.plain("Mul", &[&units, factor], format!("{at}.gated"));
        }
        self.maps(&units, layer, &[Part::Outer]).remove(0)
    }

    fn activation(&mut self, x: &str, at: &str) -> String {
        let out = format!("{at}.active");
        match self.stock.class.activation.name {
            name if name == Activation::RELU.name => self.nodes.plain("Relu", &[x], out),
            name if name == Activation::SILU.name => self.gate(x, x, at),
            name if name == Activation::GELU_NEW.name && self.precision() == Precision::F64 => {
                let twice = 2.0 * (2.0 / std::f64::consts::PI).sqrt();
                let [first, third] = [("first", twice), ("third", twice * 0.044_715)]
                    .map(|(name, c)| self.nodes.constant(scalar(Precision::F64, c), format!("{at}.{name}")));
                let square = self.nodes.plain("Mul", &[x, x], format!("{at}.square"));
                let slope = self.nodes.plain("Mul", &[&square, &third], format!("{at}.slope.third"));
                let slope = self.nodes.plain("Add", &[&slope, &first], format!("{at}.slope"));
                let inner = self.nodes.plain("Mul", &[x, &slope], format!("{at}.inner"));
                self.gate(x, &inner, at)
            }
            name => {
                let tanh = if name == Activation::GELU_NEW.name { "tanh" } else { "none" };
                self.nodes.add("Gelu", &[x], vec![text("approximate", tanh)], out)
            }
        }
    }

    /// `x / (1 + exp(-y))`
    fn gate(&mut self, x: &str, y: &str, at: &str) -> String {
        let minus = self.nodes.plain("Neg", &[y], format!("{at}.minus"));
        let power = self.nodes.plain("Exp", &[&minus], format!("{at}.power"));
        let one = self.nodes.constant(scalar(self.precision(), 1.0), format!("{at}.one"));
        let below = self.nodes.plain("Add", &[&power, &one], format!("{at}.below"));
        self.nodes.plain("Div", &[x, &below], format!("{at}.active"))
    }

    fn norm(&mut self, z: &str, name: &str) -> String {
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        let (out, eps) = (format!("{name}.out"), self.stock.class.norm.eps);
        match self.stock.class.norm.kind {
            Kind::Centred => {
                let stash = int("stash_type", i64::from(element(self.precision())));
                let attributes = vec![int("axis", -1), float("epsilon", eps), stash];
                let mut inputs = vec![z, &weight];
                inputs.extend(self.known.contains_key(&bias).then_some(bias.as_str()));
                self.nodes.add("LayerNormalization", &inputs, attributes, out)
            }
            Kind::Root => {
                let square = self.nodes.plain("Mul", &[z, z], format!("{name}.squares"));
                let axis = self.nodes.add("Constant", &[], vec![ints("value_ints", &[-1])], format!("{name}.axis"));
                let mean = self.nodes.plain("ReduceMean", &[&square, &axis], format!("{name}.mean"));
                let eps = self.nodes.constant(scalar(self.precision(), f64::from(below(eps))), format!("{name}.eps"));
                let sum = self.nodes.plain("Add", &[&mean, &eps], format!("{name}.sum"));
                let root = self.nodes.plain("Sqrt", &[&sum], format!("{name}.root"));
                let normed = self.nodes.plain("Div", &[z, &root], format!("{name}.normed"));
                self.nodes.plain("Mul", &[&normed, &weight], out)
            }
        }
    }
}

/// The next number in single precision that is not above.
#[expect(clippy::cast_possible_truncation, reason = "single precision is what is asked for")]
fn below(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) > x { near.next_down() } else { near }
}

fn float(name: &str, x: f64) -> AttributeProto {
    AttributeProto { name: name.to_owned(), f: Some(below(x)), kind: 1, ..AttributeProto::default() }
}

fn text(name: &str, s: &str) -> AttributeProto {
    AttributeProto { name: name.to_owned(), s: Some(s.as_bytes().to_vec()), kind: 3, ..AttributeProto::default() }
}
