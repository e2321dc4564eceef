//! A softmax network over a vocabulary of integers, as TransformerLens loads it (`TransformerBridge.boot_native`,
//! version 4).
//!
//! - `config.json`: the configuration that `boot_native` takes;
//! - `state_dict.safetensors`: the tensors that `load_state_dict` takes: `tok_embed`, `pos`,
//!   `layers.{i}.attn.{q,k,v,o}`, `layers.{i}.mlp.{fc_in,fc_out}`, `head`;
//! - `circuit.json`: the ground truth: the function of each head and each hidden unit, the meaning of each direction of
//!   the residual stream, tokens, logits.
//!
//! All blocks have one shape, filled up with zeros. Scores are divided by `√d_head` there, so `d_head` is a power of
//! four and `q` carries its root, a power of two: nothing is rounded, and the numbers are those that were certified.
//! `tok_embed` holds `embed.weight x + embed.bias` of every token, computed by fused operations, as an execution may.
//! The head has no bias; a coordinate `one` of the stream is 1 everywhere and carries it.
//!
//! Where outputs are integers there is a logit for each of them, `2 v y − v²`, largest for the `v` nearest to `y`; else
//! the outputs are the logits.

use serde_json::{Value, json};

use super::{Files, rotate};
use crate::artifact::{Contents, tensors};
use crate::bound::Norm;
use crate::construct::circuit::built::Proof;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Up;
use crate::meaning::{Held, Meaning, Meanings};
use crate::model::{Model, Stated};
use crate::network::{Coordinate, FloatNetwork, Mask};
use crate::target::Domain;

/// The most tokens, or logits.
const MOST_TOKENS: usize = 1 << 16;

/// The most numbers in the state dict.
const MOST_ENTRIES: usize = 1 << 27;

/// A network that TransformerLens has a form for.
pub(crate) struct TransformerLens<'m> {
    model: &'m Model,
    /// The network with the coordinate `one`, in the basis of the constructions.
    plain: FloatNetwork,
    /// The same network in the exported basis.
    network: FloatNetwork,
    /// The seed of that basis.
    seed: Option<u64>,
    /// The directions of the coordinates of `plain` in that basis.
    directions: Vec<Vec<f64>>,
    causal: bool,
    vocabulary: Vec<Vec<i64>>,
    /// The least and the largest output, where all outputs are integers.
    values: Option<(i64, i64)>,
}

/// The sides of a block.
struct Sides {
    layers: usize,
    width: usize,
    heads: usize,
    head_size: usize,
    hidden: usize,
}

/// The amounts by which the bound of a rotated network may exceed that of the model; the first that the checker accepts
/// is taken.
pub(crate) const MORE: [f64; 4] = [1.0 / 68_719_476_736.0, 1.0 / 16_777_216.0, 1.0 / 1024.0, 0.125];

/// The files, with a bound on the distance of outputs from the target's if one is proved. For a network in another
/// basis it is proved anew: `refused` returns the checker's reason against files, if it has one, and the accepted files
/// are among those returned.
pub fn files(
    model: &Model,
    rotate: Option<u64>,
    refused: impl Fn(&Contents) -> Option<String>,
) -> Result<(Files, Option<f64>)> {
    let export = TransformerLens::new(model, rotate)?;
    let stated = model.stated()?;
    let (Some(stated), Some(_)) = (&stated, rotate) else {
        let bound = stated.filter(|stated| stated.norm == Norm::Sup).map(|stated| stated.bound);
        return Ok((export.files(bound)?, bound));
    };
    let mut said = String::new();
    for bound in MORE.map(|more| stated.bound + more) {
        let contents = export.contents(stated, bound)?;
        let Some(reason) = refused(&contents) else {
            let proof = contents.files().into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
            return Ok((proof.chain(export.files(Some(bound))?).collect(), Some(bound)));
        };
        said = reason;
    }
    Err(Error::declined("no error of the rotated network is proved, and nothing was written")
        .note("checker", said)
        .note("try", "fewer tokens or integers, or leave out ⟨rotate⟩"))
}

type Named = (String, Vec<usize>, Vec<f64>);

impl<'m> TransformerLens<'m> {
    /// Declines networks that TransformerLens has no form for. With a seed, the residual stream is rotated to an
    /// orthogonal basis that is drawn from it.
    pub fn new(model: &'m Model, seed: Option<u64>) -> Result<Self> {
        let network = model.float().ok_or_else(|| {
            Error::declined("an exact model is not exported: TransformerLens has floats, and no rational numbers")
                .note("try", "build it with ⟨precision=f64⟩, or f32, and export that")
        })?;
        let causal = direction(network)?;
        let vocabulary = vocabulary(model)?;
        let plain = with_one(network);
        let width = plain.width();
        let (network, directions) = if let Some(seed) = seed {
            let r = rotate::basis(seed, width);
            let column = |j: usize| r.iter().map(|row| row[j]).collect();
            (rotate::rotated(&plain, &r), (0..width).map(column).collect())
        } else {
            let unit = |j: usize| (0..width).map(|i| f64::from(u8::from(i == j))).collect();
            (plain.clone(), (0..width).map(unit).collect())
        };
        let values = values(model)?;
        let export = Self { model, plain, network, seed, directions, causal, vocabulary, values };
        let Sides { layers, width, heads, head_size, hidden } = export.sides();
        let block = (4 * heads * head_size + 2 * hidden).saturating_mul(width);
        let entries = layers.saturating_mul(block).saturating_add((export.vocabulary.len() + export.context()) * width);
        if entries > MOST_ENTRIES {
            return Err(Error::declined(format!("a state dict of {entries} numbers, of at most {MOST_ENTRIES}"))
                .note("reason", "all blocks are filled up to one shape")
                .note("try", "a smaller network: ⟨construction=circuit⟩; or ⟨format=onnx⟩"));
        }
        Ok(export)
    }

    /// The claim of the exported network, with this bound, for a checker: a claim in another basis does not hold for
    /// this one.
    pub fn contents(&self, stated: &Stated, bound: f64) -> Result<Contents> {
        Contents::of_network(self.model, Some(&Stated { bound, ..stated.clone() }), Some(&self.network))
    }

    /// The files; `bound` is the proved bound of the outputs, in the supremum norm.
    pub fn files(&self, bound: Option<f64>) -> Result<Files> {
        let text = |value: &Value| format!("{value:#}\n").into_bytes();
        let tensors = self.tensors();
        let weights = tensors::named_to_bytes(self.network.precision, &tensors)?;
        Ok(vec![
            ("config.json".to_owned(), text(&self.config())),
            ("state_dict.safetensors".to_owned(), weights),
            ("circuit.json".to_owned(), text(&self.circuit(bound)?)),
        ])
    }

    fn context(&self) -> usize {
        self.network.tokens.max(self.model.lengths().1)
    }

    fn sides(&self) -> Sides {
        let network = &self.network;
        let attention = || network.runs.iter().filter_map(|run| run.attention.as_ref());
        let size = attention().map(|a| a.head_size.max(a.value_size)).max().unwrap_or(1).max(1);
        let hidden = network.runs.iter().filter_map(|run| run.feed_forward.as_ref()).map(|f| f.hidden).max();
        Sides {
            layers: network.runs.iter().map(|run| run.blocks).sum(),
            width: network.width(),
            heads: attention().map(|a| a.heads).max().unwrap_or(1),
            head_size: 1 << (2 * size.next_power_of_two().trailing_zeros().div_ceil(2)),
            hidden: hidden.unwrap_or(1),
        }
    }

    fn config(&self) -> Value {
        let Sides { layers, width, heads, head_size, hidden } = self.sides();
        json!({
            "n_layers": layers,
            "d_model": width,
            "n_ctx": self.context(),
            "n_heads": heads,
            "d_head": head_size,
            "d_mlp": hidden,
            "d_vocab": self.vocabulary.len(),
            "d_vocab_out": self.logits().len(),
            "act_fn": "relu",
            "attention_dir": if self.causal { "causal" } else { "bidirectional" },
            "normalization_type": null,
            "positional_embedding_type": "standard",
            "init_weights": false,
        })
    }

    /// The meaning of each logit: an output coordinate, and its integer, if outputs are integers.
    fn logits(&self) -> Vec<(usize, Option<i64>)> {
        let outputs = 0..self.network.output_dims();
        match self.values {
            Some((low, high)) => outputs.flat_map(|c| (low..=high).map(move |v| (c, Some(v)))).collect(),
            None => outputs.map(|c| (c, None)).collect(),
        }
    }

    /// `2 v y − v²`, or `y`, of the residual stream.
    fn head(&self) -> Vec<f64> {
        let (width, read_out, precision) = (self.network.width(), &self.network.read_out, self.network.precision);
        let one = &self.directions[width - 1];
        let row = |(c, value): (usize, Option<i64>)| {
            let v = value.map_or(0.5, whole);
            let constant = 2.0 * v * read_out.bias[c] - value.map_or(0.0, |_| v * v);
            let weights = read_out.weight[c * width..][..width].iter().zip(one);
            weights.map(move |(w, one)| precision.round(2.0 * v * w + constant * one) + 0.0).collect::<Vec<f64>>()
        };
        self.logits().into_iter().flat_map(row).collect()
    }

    fn tensors(&self) -> Vec<Named> {
        let Sides { width, heads, head_size, hidden, .. } = self.sides();
        let context = self.context();
        let mut positions = self.network.positions.clone().unwrap_or_default();
        positions.resize(context * width, 0.0);
        let tokens = self.vocabulary.iter().flat_map(|token| self.embedded(token)).collect();
        let mut tensors = vec![
            ("tok_embed.weight".to_owned(), vec![self.vocabulary.len(), width], tokens),
            ("pos.weight".to_owned(), vec![context, width], positions),
            ("head.weight".to_owned(), vec![self.logits().len(), width], self.head()),
        ];
        let scale = f64::from(1_u32 << (head_size.trailing_zeros() / 2));
        let mut layer = 0;
        for run in &self.network.runs {
            for block in 0..run.blocks {
                let mut add = |name: &str, shape: Vec<usize>, entries: Vec<f64>| {
                    tensors.push((format!("layers.{layer}.{name}"), shape, entries));
                };
                let joined = heads * head_size;
                let mut parts: [Vec<f64>; 5] =
                    [joined * width, joined, joined * width, joined * width, width * joined].map(|n| vec![0.0; n]);
                if let Some(a) = &run.attention {
                    let [q, q_bias, k, v, o] = &mut parts;
                    let (m, mv) = (a.head_size, a.value_size);
                    for head in 0..a.heads {
                        let (from, to) = ((block * a.heads + head) * m, head * head_size);
                        for (i, bias) in a.q_bias[from..][..m].iter().enumerate() {
                            q_bias[to + i] = scale * bias;
                        }
                        let scaled = a.q[from * width..][..m * width].iter().map(|x| scale * x);
                        q[to * width..].iter_mut().zip(scaled).for_each(|(to, x)| *to = x);
                        k[to * width..][..m * width].copy_from_slice(&a.k[from * width..][..m * width]);
                        let from = (block * a.heads + head) * mv * width;
                        v[to * width..][..mv * width].copy_from_slice(&a.v[from..][..mv * width]);
                        for i in 0..width {
                            o[i * joined + to..][..mv].copy_from_slice(&a.o[from + i * mv..][..mv]);
                        }
                    }
                }
                let [q, q_bias, k, v, o] = parts;
                for (name, weight, bias) in [("q", q, q_bias), ("k", k, vec![0.0; joined]), ("v", v, vec![0.0; joined])]
                {
                    add(&format!("attn.{name}.weight"), vec![joined, width], weight);
                    add(&format!("attn.{name}.bias"), vec![joined], bias);
                }
                add("attn.o.weight", vec![width, joined], o);
                add("attn.o.bias", vec![width], vec![0.0; width]);
                let (mut w1, mut b1) = (vec![0.0; hidden * width], vec![0.0; hidden]);
                let (mut w2, mut b2) = (vec![0.0; width * hidden], vec![0.0; width]);
                if let Some(f) = &run.feed_forward {
                    let r = f.hidden;
                    w1[..r * width].copy_from_slice(&f.w1[block * r * width..][..r * width]);
                    b1[..r].copy_from_slice(&f.b1[block * r..][..r]);
                    b2.copy_from_slice(&f.b2[block * width..][..width]);
                    for i in 0..width {
                        w2[i * hidden..][..r].copy_from_slice(&f.w2[(block * width + i) * r..][..r]);
                    }
                }
                add("mlp.fc_in.weight", vec![hidden, width], w1);
                add("mlp.fc_in.bias", vec![hidden], b1);
                add("mlp.fc_out.weight", vec![width, hidden], w2);
                add("mlp.fc_out.bias", vec![width], b2);
                layer += 1;
            }
        }
        tensors
    }

    /// `embed.weight x + embed.bias`, one fused operation after the other.
    fn embedded(&self, token: &[i64]) -> Vec<f64> {
        let embed = &self.network.embed;
        let row = |(bias, row): (&f64, &[f64])| {
            row.iter().zip(token).fold(*bias, |sum, (w, x)| self.network.precision.fused(*w, whole(*x), sum))
        };
        embed.bias.iter().zip(embed.weight.chunks(embed.inputs)).map(row).collect()
    }

    /// The ground truth.
    fn circuit(&self, bound: Option<f64>) -> Result<Value> {
        let (network, model) = (&self.plain, self.model);
        let coordinate = |(register, (c, direction)): (usize, (&Coordinate, &Vec<f64>))| {
            let mut written = json!({"name": c.name, "meaning": c.meaning, "direction": direction});
            if let Some(meanings) = model.meanings() {
                written["held"] = self.held(meanings, register);
            }
            written
        };
        let logit = |(output, value): (usize, Option<i64>)| json!({"output": output, "value": value});
        let properties: serde_json::Map<String, Value> =
            model.metadata()?.into_iter().map(|(key, value)| (key, value.into())).collect();
        let proved = bound.map(|bound| json!({
            "badge": model.badge(),
            "output": format!("every output is within {bound:e} of the target's, over all sequences of tokens"),
            "bound": bound,
            "argmax": self.argmax_is_proved(bound).then(|| format!("the largest logit is the target's value; {}", model.badge())),
        }));
        let (least, most) = model.lengths();
        Ok(json!({
            "format": "formwright-circuit",
            "version": 1,
            "model": properties,
            "rotate": self.seed,
            "claim": proved,
            "tokens": {"min": least, "max": most},
            "precision": self.network.precision.name(),
            "vocabulary": self.vocabulary,
            "logits": self.logits().into_iter().map(logit).collect::<Vec<_>>(),
            "coordinates": network.coordinates.iter().zip(&self.directions).enumerate().map(coordinate).collect::<Vec<_>>(),
            "atoms": model.atoms_to_json(),
            "gates": self.gates(),
            "layers": self.layers(),
        }))
    }

    /// The content of a coordinate, and the layer from which it holds. In another basis the errors differ, and are not
    /// known.
    fn held(&self, meanings: &Meanings, register: usize) -> Value {
        let one = [Held { from: 0, meaning: Meaning::number(Rat::ONE) }];
        let held = meanings.registers.get(register).map_or(&one[..], Vec::as_slice);
        held.iter()
            .map(|held| {
                let mut written = held.meaning.to_json();
                if self.seed.is_some() {
                    written["error"] = Value::Null;
                }
                let (layer, hook) = match meanings.places[held.from].block {
                    None => (0, "hook_resid_pre"),
                    Some((block, true)) => (block, "hook_resid_mid"),
                    Some((block, false)) => (block, "hook_resid_post"),
                };
                written["from"] = json!(format!("blocks.{layer}.{hook}"));
                written
            })
            .collect()
    }

    fn proof(&self) -> Option<&Proof> {
        self.model.circuit().and_then(|circuit| circuit.proof())
    }

    fn gates(&self) -> Vec<Value> {
        let gates = self.proof().map_or(&[][..], |proof| &proof.gates);
        let gate = |gate: &crate::construct::circuit::Gate| {
            let part = if gate.heads > 0 { "heads" } else { "units" };
            json!({"name": gate.name, "formula": gate.formula, "kind": gate.kind, "layer": gate.block, part: gate.places})
        };
        gates.iter().map(gate).collect()
    }

    /// Layer by layer, the function of every head and every hidden unit, and the coordinates that it reads and writes.
    fn layers(&self) -> Vec<Value> {
        let (network, width) = (&self.plain, self.plain.width());
        let gates = self.proof().map_or(&[][..], |proof| &proof.gates);
        let names = |used: &dyn Fn(usize) -> bool| -> Vec<&str> {
            let used = (0..width).filter(|c| used(*c));
            used.map(|c| network.coordinates[c].name.as_str()).collect()
        };
        let mut layers: Vec<Value> = Vec::new();
        for run in &network.runs {
            for block in 0..run.blocks {
                let layer = layers.len();
                let computes = |head: bool, place: usize, stage: usize| -> Vec<String> {
                    let here = gates.iter().filter(|gate| gate.block == layer && (gate.heads > 0) == head);
                    let made: Vec<String> =
                        here.filter(|gate| gate.places.contains(&place)).map(|gate| gate.name.clone()).collect();
                    // A lattice's layers have stages; a circuit's units that belong to no gate empty registers.
                    if gates.is_empty() { vec![network.stages[stage].name.clone()] } else { made }
                };
                let heads = run.attention.as_ref().map_or(Vec::new(), |a| {
                    let head = |head: usize| {
                        let at = block * a.heads + head;
                        let any = |entries: &[f64], rows: usize, c: usize| {
                            entries[at * rows * width..][..rows * width].iter().skip(c).step_by(width).any(|x| *x != 0.0)
                        };
                        let reads = names(&|c| any(&a.q, a.head_size, c) || any(&a.k, a.head_size, c) || any(&a.v, a.value_size, c));
                        let o = &a.o[at * width * a.value_size..][..width * a.value_size];
                        let writes = names(&|c| o[c * a.value_size..][..a.value_size].iter().any(|x| *x != 0.0));
                        json!({"head": head, "computes": computes(true, head, a.stage), "reads": reads, "writes": writes})
                    };
                    (0..a.heads).map(head).collect()
                });
                let units = run.feed_forward.as_ref().map_or(Vec::new(), |f| {
                    let unit = |unit: usize| {
                        let w1 = &f.w1[(block * f.hidden + unit) * width..][..width];
                        let w2 = &f.w2[block * width * f.hidden..][..width * f.hidden];
                        let (reads, writes) = (names(&|c| w1[c] != 0.0), names(&|c| w2[c * f.hidden + unit] != 0.0));
                        json!({"unit": unit, "computes": computes(false, unit, f.stage), "reads": reads, "writes": writes})
                    };
                    (0..f.hidden).map(unit).collect()
                });
                layers.push(json!({"layer": layer, "heads": heads, "units": units}));
            }
        }
        layers
    }

    /// True if the largest logit is that of the target's value, in whatever order logits are added up.
    ///
    /// With `|y − f| ≤ bound`, the logit of `f` is ahead of any other by at least `1 − 2 bound`. A logit of `k` terms
    /// is off by at most `γ_k Σ |w_c| |z_c|`, its weights by a few roundings more, and its products by what is flushed.
    fn argmax_is_proved(&self, bound: f64) -> bool {
        let width = self.network.width();
        if self.values.is_none() {
            return false;
        }
        let precision = self.network.precision;
        let largest = self.vocabulary.iter().flatten().map(|x| whole(x.abs())).fold(0.0, f64::max);
        let sizes = magnitudes(&self.network, Up::from(largest));
        let off = |row: &[f64]| {
            let terms = row.iter().filter(|w| **w != 0.0).count();
            precision.gamma(terms + 8) * dot(row, &sizes) + precision.flushed(terms)
        };
        let worst = self.head().chunks(width).map(off).fold(Up::ZERO, Up::max);
        2.0 * (worst + Up::from(bound)) < 1.0
    }
}

/// `Σ |w| z`.
fn dot(row: &[f64], z: &[Up]) -> Up {
    row.iter().zip(z).map(|(w, z)| *w * *z).sum()
}

/// A bound on every coordinate of the residual stream at any time, in any execution: magnitudes added up, with what
/// rounding and flushing may add to each sum.
///
/// A sum of `k` products and a bias has `k + 1` roundings at most. The weights of a softmax over `n` keys are quotients
/// of sums of `n` numbers, so that they add up to at most `1 + γ_{n+1}`, and an average of values has `n + 1` roundings.
fn magnitudes(network: &FloatNetwork, largest: Up) -> Vec<Up> {
    let (width, precision) = (network.width(), network.precision);
    let rounded = |size: Up, terms: usize| (Up::ONE + precision.gamma(terms + 1)) * size + precision.flushed(terms + 1);
    let affine = |row: &[f64], z: &[Up], b: f64| rounded(dot(row, z) + Up::from(b), row.len());
    let embed = &network.embed;
    let token = embed.weight.chunks(embed.inputs).zip(&embed.bias);
    let mut z: Vec<Up> = token.map(|(row, b)| affine(row, &vec![largest; row.len()], *b)).collect();
    for (z, row) in z.iter_mut().zip(0..width) {
        let positions = network.positions.iter().flat_map(|positions| positions.chunks(width));
        let position = positions.map(|position| Up::from(position[row])).fold(Up::ZERO, Up::max);
        *z = rounded(*z + position, 1);
    }
    for layer in network.layers() {
        let tensor = |wanted: &str| {
            layer.tensors.iter().find(|(name, ..)| *name == wanted).map_or(&[][..], |(_, _, entries)| *entries)
        };
        let mut change = vec![Up::ZERO; width];
        if layer.attention.is_some() {
            let average = |row: &[f64]| rounded(rounded(affine(row, &z, 0.0), network.tokens), network.tokens);
            let values: Vec<Up> = tensor("v").chunks(width).map(average).collect();
            let o = tensor("o");
            let size = values.len() / layer.masks.len();
            for (head, values) in values.chunks(size).enumerate() {
                let o = &o[head * width * size..][..width * size];
                change.iter_mut().zip(o.chunks(size)).for_each(|(change, row)| *change += affine(row, values, 0.0));
            }
            // The heads are added up.
            for change in &mut change {
                *change = rounded(*change, layer.masks.len());
            }
        } else {
            let hidden = tensor("w1").chunks(width).zip(tensor("b1"));
            let hidden: Vec<Up> = hidden.map(|(row, b)| affine(row, &z, *b)).collect();
            let rows = tensor("w2").chunks(hidden.len()).zip(tensor("b2"));
            change.iter_mut().zip(rows).for_each(|(change, (row, b))| *change = affine(row, &hidden, *b));
        }
        z.iter_mut().zip(&change).for_each(|(z, change)| *z = rounded(*z + *change, 1));
    }
    z
}

#[expect(clippy::cast_precision_loss, reason = "tokens and counts are small")]
pub(super) fn whole(x: i64) -> f64 {
    x as f64
}

/// True if attention is causal; declined where heads see different keys, or are not softmax.
fn direction(network: &FloatNetwork) -> Result<bool> {
    let mut first: Option<bool> = None;
    let mut block = 0;
    for run in &network.runs {
        if let Some(a) = &run.attention {
            let declined = |what: String| Err(Error::declined(what));
            if !a.kind.is_softmax() {
                return declined(format!(
                    "block {block} has {} attention, and TransformerLens softmax only",
                    a.kind.name()
                ))
                .map_err(|error| error.note("try", "build it with ⟨attention=softmax⟩"));
            }
            if !a.connections.is_empty() {
                return declined(format!("block {block} has connections, for which TransformerLens has no mask"))
                    .map_err(|error| {
                        error
                            .note("reason", "there, either all heads of a model see everything, or all are causal")
                            .note("try", "⟨format=onnx⟩, which has them")
                    });
            }
            for (head, mask) in a.masks.iter().enumerate() {
                let causal = Mask { first: false, ..*mask } == Mask::CAUSAL;
                if !(causal || mask.is_all()) || first.is_some_and(|first| first != causal) {
                    return declined(format!(
                        "block {block}, head {head} sees other keys than TransformerLens has a mask for"
                    ))
                    .map_err(|error| {
                        error
                            .note("reason", "there, either all heads of a model see everything, or all are causal")
                            .note("try", "⟨format=onnx⟩, which has every mask")
                    });
                }
                first = Some(causal);
            }
        }
        block += run.blocks;
    }
    Ok(first.unwrap_or(false))
}

/// Every token: all integers of the domain, in all coordinates.
pub(super) fn vocabulary(model: &Model) -> Result<Vec<Vec<i64>>> {
    let domain = model.target.expression().map(|checked| checked.expression().domain.clone());
    let Some(Domain::Integers(from, to)) = domain else {
        return Err(Error::declined("TransformerLens reads tokens, and this model real numbers")
            .note("expected", "a target on integers, such as `sort(x) on integers 0..4`")
            .note("try", "⟨format=onnx⟩"));
    };
    let mut tokens: Vec<Vec<i64>> = vec![Vec::new()];
    for _ in 0..model.grid.dims() {
        let many = tokens.len().saturating_mul(usize::try_from(to - from).unwrap_or(usize::MAX));
        if many > MOST_TOKENS {
            return Err(Error::declined(format!("a vocabulary of {many} tokens or more, of at most {MOST_TOKENS}"))
                .note("try", "fewer integers, or fewer coordinates; or ⟨format=onnx⟩"));
        }
        tokens = tokens.into_iter().flat_map(|token| (from..to).map(move |x| [&token[..], &[x]].concat())).collect();
    }
    Ok(tokens)
}

/// The least and the largest integer among the outputs, if all of them are proved to be integers.
pub(super) fn values(model: &Model) -> Result<Option<(i64, i64)>> {
    if model.circuit().and_then(|circuit| circuit.proof()).is_none_or(|proof| proof.margin.is_none()) {
        return Ok(None);
    }
    let (least, most) = model.lengths();
    let mut ends: Option<(Rat, Rat)> = None;
    for tokens in least..=most {
        let (low, high) = model.target.range_near(tokens)?;
        ends = Some(match ends {
            Some((l, h)) => (l.min(low), h.max(high)),
            None => (low, high),
        });
    }
    let Some((low, high)) = ends else { return Ok(None) };
    let small = |x: crate::exact::Int| x.to_string().parse::<i64>().ok().filter(|x| x.abs() < 1 << 24);
    let (Some(low), Some(high)) = (small(low.ceil()), small(high.floor())) else { return Ok(None) };
    let many = usize::try_from(high - low + 1).unwrap_or(usize::MAX).saturating_mul(model.target.output_dims());
    Ok((many <= MOST_TOKENS).then_some((low, high)))
}

/// The network with one more coordinate, which is always 1.
fn with_one(network: &FloatNetwork) -> FloatNetwork {
    let width = network.width();
    let wider = |entries: &[f64]| -> Vec<f64> {
        entries.chunks(width).flat_map(|row| row.iter().copied().chain([0.0]).collect::<Vec<f64>>()).collect()
    };
    let taller = |entries: &[f64], inner: usize| -> Vec<f64> {
        entries.chunks(width * inner).flat_map(|matrix| [matrix, &vec![0.0; inner]].concat()).collect()
    };
    let mut network = network.clone();
    network.coordinates.push(Coordinate { name: "one".to_owned(), meaning: "1, for the head's bias".to_owned() });
    network.embed.outputs += 1;
    network.embed.weight.extend(vec![0.0; network.embed.inputs]);
    network.embed.bias.push(1.0);
    network.positions = network.positions.map(|positions| wider(&positions));
    for run in &mut network.runs {
        if let Some(a) = &mut run.attention {
            (a.q, a.k, a.v) = (wider(&a.q), wider(&a.k), wider(&a.v));
            a.o = taller(&a.o, a.value_size);
        }
        if let Some(f) = &mut run.feed_forward {
            (f.w1, f.w2, f.b2) = (wider(&f.w1), taller(&f.w2, f.hidden), wider(&f.b2));
        }
    }
    network.read_out.inputs += 1;
    network.read_out.weight = wider(&network.read_out.weight);
    network
}
