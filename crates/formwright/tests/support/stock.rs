//! Stock Transformers from their files, as their authors describe them: BERT and GPT-2 with a token classifier. It
//! knows nothing of how the files were made.
//!
//! Every operation is rounded to the format of `config.json`; sums are in an order of their own, norms by one of four
//! formulas, activations off by as much as they may be.

use std::collections::BTreeMap;

use formwright::export::Files;
use formwright::network::Precision;
use serde_json::Value;

/// How a host computes.
#[derive(Clone, Copy, Debug)]
pub enum Norm {
    /// The mean of the squares of differences from the mean.
    TwoPasses,
    /// The mean of the squares less the square of the mean.
    Squares,
    /// One number after the other, and `x r - m r`.
    Welford,
    /// The first, by a reciprocal root that is off by `4u`.
    Reciprocal,
}

pub const NORMS: [Norm; 4] = [Norm::TwoPasses, Norm::Squares, Norm::Welford, Norm::Reciprocal];

type Matrix = Vec<Vec<f64>>;

/// A host, read from its files.
#[derive(Clone)]
pub struct Stock {
    pub config: Value,
    pub tensors: BTreeMap<String, (Vec<usize>, Vec<f64>)>,
    precision: Precision,
}

/// An execution.
pub struct Execution<'a> {
    stock: &'a Stock,
    norm: Norm,
    seed: u64,
}

/// The tensors of a file of safetensors.
pub fn safetensors(bytes: &[u8]) -> BTreeMap<String, (Vec<usize>, Vec<f64>)> {
    let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"))).expect("small");
    let header: BTreeMap<String, Value> = serde_json::from_slice(&bytes[8..8 + length]).expect("JSON");
    let data = &bytes[8 + length..];
    let side = |x: &Value| usize::try_from(x.as_u64().expect("a count")).expect("small");
    let tensor = |(name, known): (String, Value)| {
        let sides = |key: &str| known[key].as_array().expect(key).iter().map(side).collect::<Vec<usize>>();
        let (shape, place) = (sides("shape"), sides("data_offsets"));
        let part = &data[place[0]..place[1]];
        let entries: Vec<f64> = match known["dtype"].as_str() {
            Some("F32") => part.chunks(4).map(|x| f64::from(f32::from_le_bytes(x.try_into().expect("4")))).collect(),
            _ => part.chunks(8).map(|x| f64::from_le_bytes(x.try_into().expect("8"))).collect(),
        };
        assert_eq!(shape.iter().product::<usize>(), entries.len(), "{name}");
        (name, (shape, entries))
    };
    header.into_iter().filter(|(name, _)| name != "__metadata__").map(tensor).collect()
}

impl Stock {
    pub fn new(files: &Files) -> Self {
        let file = |wanted: &str| &files.iter().find(|(name, _)| name == wanted).expect(wanted).1;
        let config: Value = serde_json::from_slice(file("config.json")).expect("JSON");
        let precision = if config["dtype"] == "float32" { Precision::F32 } else { Precision::F64 };
        assert_eq!(config["attn_implementation"], "eager");
        Self { config, tensors: safetensors(file("model.safetensors")), precision }
    }

    pub fn setting(&self, key: &str) -> usize {
        usize::try_from(self.config[key].as_u64().expect(key)).expect("small")
    }

    fn entries(&self, name: &str) -> &[f64] {
        &self.tensors.get(name).unwrap_or_else(|| panic!("no {name}")).1
    }

    /// The entries of a tensor, to be changed.
    pub fn change(&mut self, name: &str) -> &mut Vec<f64> {
        &mut self.tensors.get_mut(name).unwrap_or_else(|| panic!("no {name}")).1
    }

    /// The row of a token.
    pub fn word(&self, id: usize) -> Vec<f64> {
        let name = if self.is_bert() { "bert.embeddings.word_embeddings.weight" } else { "transformer.wte.weight" };
        let (shape, entries) = &self.tensors[name];
        entries[id * shape[1]..][..shape[1]].to_vec()
    }

    fn is_bert(&self) -> bool {
        self.config["model_type"] == "bert"
    }

    /// Logits, of vectors.
    pub fn run(&self, vectors: &Matrix, norm: Norm, seed: u64) -> Matrix {
        let mut execution = Execution { stock: self, norm, seed };
        if self.is_bert() { execution.bert(vectors) } else { execution.gpt2(vectors) }
    }
}

impl Execution<'_> {
    fn next(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    fn round(&self, x: f64) -> f64 {
        self.stock.precision.round(x)
    }

    /// A sum, in some order.
    fn sum(&mut self, terms: impl IntoIterator<Item = f64>) -> f64 {
        let mut terms: Vec<f64> = terms.into_iter().filter(|x| *x != 0.0).collect();
        if self.seed != 0 {
            for last in (1..terms.len()).rev() {
                let other = usize::try_from(self.next() % (last as u64 + 1)).expect("an index");
                terms.swap(last, other);
            }
        }
        terms.into_iter().fold(0.0, |sum, x| self.round(sum + x))
    }

    /// `weight x + bias`; `weight` is `[out, in]`, or transposed.
    fn dense(&mut self, name: &str, x: &[f64], transposed: bool) -> Vec<f64> {
        let weight = self.stock.entries(&format!("{name}.weight"));
        let bias = self.stock.entries(&format!("{name}.bias"));
        let outputs = bias.len();
        assert_eq!(weight.len(), outputs * x.len(), "{name}");
        let entry = |row: usize, column: usize| {
            if transposed { weight[column * outputs + row] } else { weight[row * x.len() + column] }
        };
        (0..outputs)
            .map(|row| {
                let terms: Vec<f64> = (0..x.len()).map(|c| self.round(entry(row, c) * x[c])).collect();
                self.sum(terms.into_iter().chain([bias[row]]))
            })
            .collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "a width")]
    fn layer_norm(&mut self, name: &str, x: &[f64]) -> Vec<f64> {
        let stock = self.stock;
        let (weight, bias) = (stock.entries(&format!("{name}.weight")), stock.entries(&format!("{name}.bias")));
        let eps = stock.config[if stock.is_bert() { "layer_norm_eps" } else { "layer_norm_epsilon" }].as_f64();
        let (count, eps) = (x.len() as f64, self.round(eps.expect("eps")));
        let unit = stock.precision.unit();
        let (mut mean, mut variance) = (0.0, 0.0);
        if matches!(self.norm, Norm::Welford) {
            for (k, x) in x.iter().enumerate() {
                let delta = self.round(x - mean);
                mean = self.round(mean + self.round(delta * self.round(1.0 / (k as f64 + 1.0))));
                variance = self.round(variance + self.round(delta * self.round(x - mean)));
            }
            variance = self.round(variance / count);
        } else {
            mean = self.sum(x.iter().copied());
            mean = self.round(mean / count);
            let by_squares = matches!(self.norm, Norm::Squares);
            let from = if by_squares { 0.0 } else { mean };
            let squares: Vec<f64> = x.iter().map(|x| self.round(x - from)).map(|x| self.round(x * x)).collect();
            let sum = self.sum(squares);
            variance = self.round(sum / count);
            if by_squares {
                variance = self.round(variance - self.round(mean * mean));
            }
        }
        let root = self.round(self.round(variance + eps).sqrt());
        let mut factor = self.round(1.0 / root);
        if matches!(self.norm, Norm::Reciprocal) {
            factor = self.round(factor * (1.0 - 2.0 * unit));
        }
        let shift = self.round(-mean * factor);
        let normed = |x: f64| match self.norm {
            Norm::Welford => self.round(self.round(x * factor) + shift),
            Norm::Squares => self.round(self.round(x - mean) / root),
            _ => self.round(self.round(x - mean) * factor),
        };
        let gained = x.iter().zip(weight).zip(bias).map(|((x, w), b)| self.round(self.round(normed(*x) * w) + b));
        gained.collect()
    }

    /// GELU, off by as much as it may be.
    fn activation(&mut self, x: f64) -> f64 {
        if x.abs() >= 16.0 {
            return x.max(0.0);
        }
        let exact = if self.stock.is_bert() {
            0.5 * x * core_math::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
        } else {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x)).tanh())
        };
        let error = self.stock.precision.exp_error() * x.abs();
        let sign = if self.next().is_multiple_of(2) { 1.0 } else { -1.0 };
        // Rounding and the library's own error stay inside.
        self.round(exact + 0.75 * sign * error)
    }

    /// Every query's heads, from queries, keys and values of all tokens.
    fn heads(&mut self, q: &Matrix, k: &Matrix, v: &Matrix, heads: usize, causal: bool) -> Matrix {
        let size = q[0].len() / heads;
        #[expect(clippy::cast_precision_loss, reason = "a size")]
        let scale = self.round(1.0 / (size as f64).sqrt());
        let mut all = vec![Vec::new(); q.len()];
        for (t, all) in all.iter_mut().enumerate() {
            let seen = if causal { t + 1 } else { q.len() };
            for head in 0..heads {
                let part = head * size..(head + 1) * size;
                let scores: Vec<f64> = (0..seen)
                    .map(|j| {
                        let terms: Vec<f64> = part.clone().map(|c| self.round(q[t][c] * k[j][c])).collect();
                        let sum = self.sum(terms);
                        self.round(sum * scale)
                    })
                    .collect();
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let powers: Vec<f64> = scores.iter().map(|s| self.round(self.round(s - most).exp())).collect();
                let total = self.sum(powers.iter().copied());
                let shares: Vec<f64> = powers.iter().map(|e| self.round(e / total)).collect();
                for c in part {
                    let terms: Vec<f64> = (0..seen).map(|j| self.round(shares[j] * v[j][c])).collect();
                    let mixed = self.sum(terms);
                    all.push(mixed);
                }
            }
        }
        all
    }

    fn added(&self, a: &[f64], b: &[f64]) -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| self.round(a + b)).collect()
    }

    fn bert(&mut self, vectors: &Matrix) -> Matrix {
        let stock = self.stock;
        let (layers, heads) = (stock.setting("num_hidden_layers"), stock.setting("num_attention_heads"));
        assert_eq!((stock.config["hidden_act"].as_str(), stock.setting("type_vocab_size")), (Some("gelu"), 1));
        let e = "bert.embeddings";
        let positions = stock.entries(&format!("{e}.position_embeddings.weight"));
        let kind = stock.entries(&format!("{e}.token_type_embeddings.weight"));
        let width = kind.len();
        let mut state: Matrix = Vec::new();
        for (x, position) in vectors.iter().zip(positions.chunks(width)) {
            let sum = self.added(&self.added(x, kind), position);
            state.push(self.layer_norm(&format!("{e}.LayerNorm"), &sum));
        }
        for layer in 0..layers {
            let l = format!("bert.encoder.layer.{layer}");
            let [q, k, v] = ["query", "key", "value"].map(|name| {
                let name = format!("{l}.attention.self.{name}");
                state.iter().map(|x| self.dense(&name, x, false)).collect::<Matrix>()
            });
            let mixed = self.heads(&q, &k, &v, heads, false);
            for (x, mixed) in state.iter_mut().zip(&mixed) {
                let out = self.dense(&format!("{l}.attention.output.dense"), mixed, false);
                let z = self.layer_norm(&format!("{l}.attention.output.LayerNorm"), &self.added(&out, x));
                let hidden = self.dense(&format!("{l}.intermediate.dense"), &z, false);
                let hidden: Vec<f64> = hidden.into_iter().map(|x| self.activation(x)).collect();
                let out = self.dense(&format!("{l}.output.dense"), &hidden, false);
                *x = self.layer_norm(&format!("{l}.output.LayerNorm"), &self.added(&out, &z));
            }
        }
        state.iter().map(|x| self.dense("classifier", x, false)).collect()
    }

    fn gpt2(&mut self, vectors: &Matrix) -> Matrix {
        let stock = self.stock;
        let (layers, heads) = (stock.setting("n_layer"), stock.setting("n_head"));
        assert_eq!(stock.config["activation_function"], "gelu_new");
        let width = stock.setting("n_embd");
        let positions = stock.entries("transformer.wpe.weight").chunks(width);
        let mut state: Matrix = vectors.iter().zip(positions).map(|(x, p)| self.added(x, p)).collect();
        for layer in 0..layers {
            let l = format!("transformer.h.{layer}");
            let mut parts: [Matrix; 3] = [Vec::new(), Vec::new(), Vec::new()];
            for x in &state {
                let normed = self.layer_norm(&format!("{l}.ln_1"), x);
                let all = self.dense(&format!("{l}.attn.c_attn"), &normed, true);
                parts.iter_mut().zip(all.chunks(width)).for_each(|(part, rows)| part.push(rows.to_vec()));
            }
            let [q, k, v] = parts;
            let mixed = self.heads(&q, &k, &v, heads, true);
            for (x, mixed) in state.iter_mut().zip(&mixed) {
                let out = self.dense(&format!("{l}.attn.c_proj"), mixed, true);
                let z = self.added(&out, x);
                let normed = self.layer_norm(&format!("{l}.ln_2"), &z);
                let hidden = self.dense(&format!("{l}.mlp.c_fc"), &normed, true);
                let hidden: Vec<f64> = hidden.into_iter().map(|x| self.activation(x)).collect();
                let out = self.dense(&format!("{l}.mlp.c_proj"), &hidden, true);
                *x = self.added(&out, &z);
            }
        }
        let end: Matrix = state.iter().map(|x| self.layer_norm("transformer.ln_f", x)).collect();
        end.iter().map(|x| self.dense("classifier", x, false)).collect()
    }
}
