//! Stock Transformers from their files, as their authors describe them: BERT, GPT-2, T5's encoder, Llama and ModernBERT
//! with a token classifier, OPT with its scores of next tokens. It knows nothing of how the files were made.
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

    /// The bias of a linear map or a norm; nothing if it has none.
    fn bias(&self, name: &str) -> &[f64] {
        self.tensors.get(&format!("{name}.bias")).map_or(&[], |(_, entries)| entries)
    }

    /// The entries of a tensor, to be changed.
    pub fn change(&mut self, name: &str) -> &mut Vec<f64> {
        &mut self.tensors.get_mut(name).unwrap_or_else(|| panic!("no {name}")).1
    }

    /// The row of a token.
    pub fn word(&self, id: usize) -> Vec<f64> {
        let name = match self.class() {
            "bert" => "bert.embeddings.word_embeddings.weight",
            "gpt2" => "transformer.wte.weight",
            "t5" => "transformer.shared.weight",
            "opt" => "model.decoder.embed_tokens.weight",
            "llama" => "model.embed_tokens.weight",
            _ => "model.embeddings.tok_embeddings.weight",
        };
        let (shape, entries) = &self.tensors[name];
        entries[id * shape[1]..][..shape[1]].to_vec()
    }

    pub fn class(&self) -> &str {
        self.config["model_type"].as_str().expect("a class")
    }

    /// The setting that is added to a variance.
    pub fn eps_key(&self) -> Option<&'static str> {
        match self.class() {
            "bert" => Some("layer_norm_eps"),
            "gpt2" | "t5" => Some("layer_norm_epsilon"),
            "llama" => Some("rms_norm_eps"),
            "modernbert" => Some("norm_eps"),
            _ => None,
        }
    }

    /// The names of all norms' gains.
    pub fn gains(&self) -> Vec<String> {
        let is_gain =
            |name: &&String| name.ends_with("weight") && ["norm", "Norm", "ln_"].iter().any(|n| name.contains(n));
        self.tensors.keys().filter(is_gain).cloned().collect()
    }

    /// Logits, of vectors.
    pub fn run(&self, vectors: &Matrix, norm: Norm, seed: u64) -> Matrix {
        let mut execution = Execution { stock: self, norm, seed };
        match self.class() {
            "bert" => execution.bert(vectors),
            "gpt2" => execution.gpt2(vectors),
            "t5" => execution.t5(vectors),
            "opt" => execution.opt(vectors),
            "llama" => execution.llama(vectors),
            "modernbert" => execution.modernbert(vectors),
            class => panic!("{class}"),
        }
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
        let bias = self.stock.bias(name);
        let outputs = weight.len() / x.len();
        assert!(bias.is_empty() || bias.len() == outputs, "{name}");
        let entry = |row: usize, column: usize| {
            if transposed { weight[column * outputs + row] } else { weight[row * x.len() + column] }
        };
        (0..outputs)
            .map(|row| {
                let terms: Vec<f64> = (0..x.len()).map(|c| self.round(entry(row, c) * x[c])).collect();
                self.sum(terms.into_iter().chain(bias.get(row).copied()))
            })
            .collect()
    }

    /// `LayerNorm`, or `RMSNorm`.
    #[expect(clippy::cast_precision_loss, reason = "a width")]
    fn norm(&mut self, name: &str, x: &[f64]) -> Vec<f64> {
        let stock = self.stock;
        let (weight, bias) = (stock.entries(&format!("{name}.weight")), stock.bias(name));
        let eps = stock.eps_key().map_or(1e-5, |key| stock.config[key].as_f64().expect("eps"));
        let (count, eps) = (x.len() as f64, self.round(eps));
        let unit = stock.precision.unit();
        let (mut mean, mut variance) = (0.0, 0.0);
        if matches!(stock.class(), "t5" | "llama") {
            let squares: Vec<f64> = x.iter().map(|x| self.round(x * x)).collect();
            variance = self.sum(squares);
            variance = self.round(variance / count);
        } else if matches!(self.norm, Norm::Welford) {
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
        let bias = |at: usize| bias.get(at).copied().unwrap_or(0.0);
        let gained = x.iter().zip(weight).enumerate();
        gained.map(|(at, (x, w))| self.round(self.round(normed(*x) * w) + bias(at))).collect()
    }

    /// An activation, off by as much as it may be.
    fn activation(&mut self, name: &str, x: f64) -> f64 {
        let beyond = if name == "silu" { 64.0 } else { 16.0 };
        if name == "relu" || x.abs() >= beyond {
            return x.max(0.0);
        }
        let exact = match name {
            "gelu" => 0.5 * x * core_math::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
            "gelu_new" => 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x)).tanh()),
            "silu" => x / (1.0 + (-x).exp()),
            _ => panic!("{name}"),
        };
        let error = self.stock.precision.exp_error() * x.abs();
        let sign = if self.next().is_multiple_of(2) { 1.0 } else { -1.0 };
        // Rounding and the library's own error stay inside.
        self.round(exact + 0.75 * sign * error)
    }

    /// Every query's heads, from queries, keys and values of all tokens.
    fn heads(&mut self, [q, k, v]: [&Matrix; 3], heads: usize, causal: bool) -> Matrix {
        let size = q[0].len() / heads;
        #[expect(clippy::cast_precision_loss, reason = "a size")]
        let scale = self.round(1.0 / (size as f64).sqrt());
        self.attend([q, k, v], (heads, scale), causal, &|_, _, _| 0.0)
    }

    /// The same, for scores that are multiplied by a number, and have another added, by head, query and key.
    fn attend(
        &mut self,
        [q, k, v]: [&Matrix; 3],
        (heads, scale): (usize, f64),
        causal: bool,
        bias: &dyn Fn(usize, usize, usize) -> f64,
    ) -> Matrix {
        let size = q[0].len() / heads;
        let mut all = vec![Vec::new(); q.len()];
        for (t, all) in all.iter_mut().enumerate() {
            let seen = if causal { t + 1 } else { q.len() };
            for head in 0..heads {
                let part = head * size..(head + 1) * size;
                let scores: Vec<f64> = (0..seen)
                    .map(|j| {
                        let terms: Vec<f64> = part.clone().map(|c| self.round(q[t][c] * k[j][c])).collect();
                        let sum = self.sum(terms);
                        self.round(self.round(sum * scale) + bias(head, t, j))
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
        assert_eq!(stock.setting("type_vocab_size"), 1);
        let act = stock.config["hidden_act"].as_str().expect("a name");
        let e = "bert.embeddings";
        let positions = stock.entries(&format!("{e}.position_embeddings.weight"));
        let kind = stock.entries(&format!("{e}.token_type_embeddings.weight"));
        let width = kind.len();
        let mut state: Matrix = Vec::new();
        for (x, position) in vectors.iter().zip(positions.chunks(width)) {
            let sum = self.added(&self.added(x, kind), position);
            state.push(self.norm(&format!("{e}.LayerNorm"), &sum));
        }
        for layer in 0..layers {
            let l = format!("bert.encoder.layer.{layer}");
            let [q, k, v] = ["query", "key", "value"].map(|name| {
                let name = format!("{l}.attention.self.{name}");
                state.iter().map(|x| self.dense(&name, x, false)).collect::<Matrix>()
            });
            let mixed = self.heads([&q, &k, &v], heads, false);
            for (x, mixed) in state.iter_mut().zip(&mixed) {
                let out = self.dense(&format!("{l}.attention.output.dense"), mixed, false);
                let z = self.norm(&format!("{l}.attention.output.LayerNorm"), &self.added(&out, x));
                let hidden = self.dense(&format!("{l}.intermediate.dense"), &z, false);
                let hidden: Vec<f64> = hidden.into_iter().map(|x| self.activation(act, x)).collect();
                let out = self.dense(&format!("{l}.output.dense"), &hidden, false);
                *x = self.norm(&format!("{l}.output.LayerNorm"), &self.added(&out, &z));
            }
        }
        state.iter().map(|x| self.dense("classifier", x, false)).collect()
    }

    fn gpt2(&mut self, vectors: &Matrix) -> Matrix {
        let stock = self.stock;
        let (layers, heads) = (stock.setting("n_layer"), stock.setting("n_head"));
        let act = stock.config["activation_function"].as_str().expect("a name");
        let width = stock.setting("n_embd");
        let positions = stock.entries("transformer.wpe.weight").chunks(width);
        let mut state: Matrix = vectors.iter().zip(positions).map(|(x, p)| self.added(x, p)).collect();
        for layer in 0..layers {
            let l = format!("transformer.h.{layer}");
            let mut parts: [Matrix; 3] = [Vec::new(), Vec::new(), Vec::new()];
            for x in &state {
                let normed = self.norm(&format!("{l}.ln_1"), x);
                let all = self.dense(&format!("{l}.attn.c_attn"), &normed, true);
                parts.iter_mut().zip(all.chunks(width)).for_each(|(part, rows)| part.push(rows.to_vec()));
            }
            let [q, k, v] = parts;
            let mixed = self.heads([&q, &k, &v], heads, true);
            for (x, mixed) in state.iter_mut().zip(&mixed) {
                let out = self.dense(&format!("{l}.attn.c_proj"), mixed, true);
                let z = self.added(&out, x);
                let normed = self.norm(&format!("{l}.ln_2"), &z);
                let hidden = self.dense(&format!("{l}.mlp.c_fc"), &normed, true);
                let hidden: Vec<f64> = hidden.into_iter().map(|x| self.activation(act, x)).collect();
                let out = self.dense(&format!("{l}.mlp.c_proj"), &hidden, true);
                *x = self.added(&out, &z);
            }
        }
        let end: Matrix = state.iter().map(|x| self.norm("transformer.ln_f", x)).collect();
        end.iter().map(|x| self.dense("classifier", x, false)).collect()
    }

    /// A map of all tokens.
    fn all(&mut self, name: &str, x: &Matrix) -> Matrix {
        x.iter().map(|x| self.dense(name, x, false)).collect()
    }

    fn normed(&mut self, name: &str, x: &Matrix) -> Matrix {
        x.iter().map(|x| self.norm(name, x)).collect()
    }

    fn plus(&mut self, x: &Matrix, y: &Matrix) -> Matrix {
        x.iter().zip(y).map(|(x, y)| self.added(y, x)).collect()
    }

    /// Units, times a second map if there is one.
    fn units(&mut self, act: &str, inner: &Matrix, factor: Option<&Matrix>) -> Matrix {
        let mut units: Matrix = Vec::new();
        for (t, row) in inner.iter().enumerate() {
            let row: Vec<f64> = row.iter().map(|x| self.activation(act, *x)).collect();
            let times = |(i, x): (usize, &f64)| factor.map_or(*x, |factor| self.round(x * factor[t][i]));
            units.push(row.iter().enumerate().map(times).collect());
        }
        units
    }

    /// Queries or keys, rotated as the settings say, in single precision.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "single precision")]
    fn rotated(&self, x: &Matrix, heads: usize, rope: &Value) -> Matrix {
        let (size, number) = (x[0].len() / heads, |key: &str| rope[key].as_f64().expect(key));
        assert_eq!(rope["rope_type"], "linear");
        let frequency = |i: usize| {
            let power = (number("rope_theta") as f32).powf(2.0 * i as f32 / size as f32);
            (1.0 / power) / number("factor") as f32
        };
        let turn = |t: usize, at: usize| {
            let (i, half) = (at % size, size / 2);
            let angle = t as f32 * frequency(i % half);
            let other = if i < half { -x[t][at + half] } else { x[t][at - half] };
            let (cos, sin) = (f64::from(angle.cos()), f64::from(angle.sin()));
            self.round(self.round(x[t][at] * cos) + self.round(other * sin))
        };
        (0..x.len()).map(|t| (0..x[t].len()).map(|at| turn(t, at)).collect()).collect()
    }

    fn t5(&mut self, vectors: &Matrix) -> Matrix {
        let stock = self.stock;
        let (layers, heads) = (stock.setting("num_layers"), stock.setting("num_heads"));
        let act = stock.config["feed_forward_proj"].as_str().expect("a name");
        let stack = "transformer.encoder";
        let table = stock.entries(&format!("{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"));
        let bias = |head: usize, t: usize, j: usize| {
            let far = t.abs_diff(j);
            assert!(far < 8, "no logarithms here");
            table[(far + if j > t { 16 } else { 0 }) * heads + head]
        };
        let mut state = vectors.clone();
        for layer in 0..layers {
            let l = format!("{stack}.block.{layer}");
            let x = self.normed(&format!("{l}.layer.0.layer_norm"), &state);
            let [q, k, v] = ["q", "k", "v"].map(|name| self.all(&format!("{l}.layer.0.SelfAttention.{name}"), &x));
            let mixed = self.attend([&q, &k, &v], (heads, 1.0), false, &bias);
            let out = self.all(&format!("{l}.layer.0.SelfAttention.o"), &mixed);
            state = self.plus(&state, &out);
            let x = self.normed(&format!("{l}.layer.1.layer_norm"), &state);
            let inner = self.all(&format!("{l}.layer.1.DenseReluDense.wi"), &x);
            let hidden = self.units(act, &inner, None);
            let out = self.all(&format!("{l}.layer.1.DenseReluDense.wo"), &hidden);
            state = self.plus(&state, &out);
        }
        let end = self.normed(&format!("{stack}.final_layer_norm"), &state);
        self.all("classifier", &end)
    }

    fn opt(&mut self, vectors: &Matrix) -> Matrix {
        let stock = self.stock;
        let (layers, heads) = (stock.setting("num_hidden_layers"), stock.setting("num_attention_heads"));
        let act = stock.config["activation_function"].as_str().expect("a name");
        assert!(stock.config["do_layer_norm_before"] == true && stock.config["tie_word_embeddings"] == false);
        let positions = stock.entries("model.decoder.embed_positions.weight").chunks(vectors[0].len()).skip(2);
        let mut state: Matrix = vectors.iter().zip(positions).map(|(x, p)| self.added(x, p)).collect();
        for layer in 0..layers {
            let l = format!("model.decoder.layers.{layer}");
            let x = self.normed(&format!("{l}.self_attn_layer_norm"), &state);
            let [q, k, v] = ["q", "k", "v"].map(|name| self.all(&format!("{l}.self_attn.{name}_proj"), &x));
            let mixed = self.heads([&q, &k, &v], heads, true);
            let out = self.all(&format!("{l}.self_attn.out_proj"), &mixed);
            state = self.plus(&state, &out);
            let x = self.normed(&format!("{l}.final_layer_norm"), &state);
            let inner = self.all(&format!("{l}.fc1"), &x);
            let hidden = self.units(act, &inner, None);
            let out = self.all(&format!("{l}.fc2"), &hidden);
            state = self.plus(&state, &out);
        }
        let end = self.normed("model.decoder.final_layer_norm", &state);
        self.all("lm_head", &end)
    }

    fn llama(&mut self, vectors: &Matrix) -> Matrix {
        let stock = self.stock;
        let (layers, heads) = (stock.setting("num_hidden_layers"), stock.setting("num_attention_heads"));
        let act = stock.config["hidden_act"].as_str().expect("a name");
        let rope = &stock.config["rope_parameters"];
        let mut state = vectors.clone();
        for layer in 0..layers {
            let l = format!("model.layers.{layer}");
            let x = self.normed(&format!("{l}.input_layernorm"), &state);
            let [q, k, v] = ["q", "k", "v"].map(|name| self.all(&format!("{l}.self_attn.{name}_proj"), &x));
            let [q, k] = [q, k].map(|x| self.rotated(&x, heads, rope));
            let mixed = self.heads([&q, &k, &v], heads, true);
            let out = self.all(&format!("{l}.self_attn.o_proj"), &mixed);
            state = self.plus(&state, &out);
            let x = self.normed(&format!("{l}.post_attention_layernorm"), &state);
            let [gate, up] = ["gate", "up"].map(|name| self.all(&format!("{l}.mlp.{name}_proj"), &x));
            let hidden = self.units(act, &gate, Some(&up));
            let out = self.all(&format!("{l}.mlp.down_proj"), &hidden);
            state = self.plus(&state, &out);
        }
        let end = self.normed("model.norm", &state);
        self.all("score", &end)
    }

    fn modernbert(&mut self, vectors: &Matrix) -> Matrix {
        let stock = self.stock;
        let (layers, heads) = (stock.setting("num_hidden_layers"), stock.setting("num_attention_heads"));
        let act = stock.config["hidden_activation"].as_str().expect("a name");
        assert_eq!(stock.config["classifier_activation"], "linear");
        let rope = &stock.config["rope_parameters"]["full_attention"];
        let mut state = self.normed("model.embeddings.norm", vectors);
        for layer in 0..layers {
            let l = format!("model.layers.{layer}");
            assert_eq!(stock.config["layer_types"][layer], "full_attention");
            let x = if layer == 0 { state.clone() } else { self.normed(&format!("{l}.attn_norm"), &state) };
            let width = x[0].len();
            let all = self.all(&format!("{l}.attn.Wqkv"), &x);
            let part = |at: usize| all.iter().map(|row| row[at * width..][..width].to_vec()).collect::<Matrix>();
            let [q, k] = [0, 1].map(|at| self.rotated(&part(at), heads, rope));
            let mixed = self.heads([&q, &k, &part(2)], heads, false);
            let out = self.all(&format!("{l}.attn.Wo"), &mixed);
            state = self.plus(&state, &out);
            let x = self.normed(&format!("{l}.mlp_norm"), &state);
            let both = self.all(&format!("{l}.mlp.Wi"), &x);
            let hidden = stock.setting("intermediate_size");
            let [input, gate] = [0, 1].map(|at| both.iter().map(|row| row[at * hidden..][..hidden].to_vec()).collect());
            let units = self.units(act, &input, Some(&gate));
            let out = self.all(&format!("{l}.mlp.Wo"), &units);
            state = self.plus(&state, &out);
        }
        let end = self.normed("model.final_norm", &state);
        let dense = self.all("head.dense", &end);
        let end = self.normed("head.norm", &dense);
        self.all("classifier", &end)
    }
}
