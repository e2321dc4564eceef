//! Small stock Transformers with the verdict that a checker has to give: `corpus/hosts/{accept,reject,decline}/NAME`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use formwright::artifact::sha256;
use formwright::export::hf;

use super::artifacts::Artifact;
use super::weights::{Weights, tensor};

/// The files that a checker reads, by name.
pub type Files = BTreeMap<&'static str, Vec<u8>>;

/// Their names.
pub const NAMES: [&str; 5] =
    ["certificate.fwc", "config.json", "inputs.safetensors", "model.safetensors", "target.json"];

/// Files and what must be said of them.
pub struct Case {
    /// `accept`, `reject` or `decline`.
    pub verdict: &'static str,
    pub name: &'static str,
    /// The obligation that must be named, and what was done; nothing of a case that is accepted.
    pub why: Option<String>,
    pub files: Files,
}

impl Case {
    /// Its folder inside of `corpus/hosts/`.
    pub fn folder(&self) -> PathBuf {
        [self.verdict, self.name].iter().collect()
    }

    /// Its contents.
    pub fn contents(&self) -> Files {
        let why = self.why.iter().map(|why| ("why", format!("{why}\n").into_bytes()));
        self.files.clone().into_iter().chain(why).collect()
    }
}

/// A target in a class.
pub(super) fn host(text: &str, tokens: usize, precision: &str, class: &str) -> Files {
    let asked = formwright::build(text).tokens(tokens).construction("circuit").precision(precision);
    let asked = asked.asked(|asked| {
        asked.own.insert("trade".to_owned(), "width".to_owned());
    });
    let model = asked.model().unwrap_or_else(|error| panic!("{text}: {error}"));
    let (files, _) = hf::files(&model, class, None, |_| None).unwrap_or_else(|error| panic!("{text}: {error}"));
    let known = |name: &'static str| Some((name, files.iter().find(|(found, _)| found == name)?.1.clone()));
    NAMES.into_iter().filter_map(known).collect()
}

fn text<'f>(files: &'f Files, name: &str) -> &'f str {
    std::str::from_utf8(&files[name]).expect("a text")
}

/// The same with hashes that are those of the files.
fn hashed(mut files: Files) -> Files {
    let line = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        ["sha256", name, _] => format!("sha256 {name} {}\n", sha256(&files[name])),
        _ => format!("{line}\n"),
    };
    let certificate = text(&files, "certificate.fwc").lines().map(line).collect::<String>();
    files.insert("certificate.fwc", certificate.into_bytes());
    files
}

/// The same with a text in the place of another one in a file.
pub(super) fn with_text(of: &Files, name: &'static str, old: &str, new: &str) -> Files {
    let changed = text(of, name).replacen(old, new, 1);
    assert_ne!(changed, text(of, name), "there is no {old}");
    let mut files = of.clone();
    files.insert(name, changed.into_bytes());
    hashed(files)
}

/// The same with other tensors.
pub(super) fn with_tensors(of: &Files, name: &'static str, change: impl FnOnce(&mut Weights)) -> Files {
    let artifact = Artifact {
        name: String::new(),
        certificate: of["certificate.fwc"].clone(),
        target: Vec::new(),
        weights: of[name].clone(),
    };
    let mut weights = Weights::of(&artifact);
    change(&mut weights);
    let mut files = of.clone();
    files.insert(name, weights.bytes());
    hashed(files)
}

/// Changes all numbers of tensors whose names hold a word, by their places in the tensor.
pub(super) fn each(weights: &mut Weights, word: &str, change: impl Fn(usize, f64) -> f64) {
    let named: Vec<_> = weights.tensors().into_iter().filter(|(name, _)| name.contains(word)).collect();
    assert!(!named.is_empty(), "no tensor is called {word}");
    for (at, place) in named.into_iter().flat_map(|(_, places)| places.enumerate()) {
        weights.set(place, change(at, weights.get(place)));
    }
}

/// A BERT of a width whose pin is so many times as large, with all that reads it.
fn repinned(of: &Files, width: usize, times: f64) -> Files {
    let at_pin = |at: usize| at % (width / 2) == width / 2 - 1;
    let inputs = with_tensors(of, "inputs.safetensors", |w| {
        each(w, "bias", |at, x| if at_pin(at) { x * times } else { x });
    });
    with_tensors(&inputs, "model.safetensors", |w| {
        each(w, "LayerNorm.weight", |_, x| x * times);
        for word in ["query.weight", "intermediate.dense.weight", "classifier.weight"] {
            each(w, word, |at, x| if at_pin(at) { x / times } else { x });
        }
    })
}

/// Every case, in a fixed order.
#[expect(clippy::too_many_lines, reason = "a list of cases")]
pub fn cases() -> Vec<Case> {
    let (mean, prefix) = (host("x - mean(x)", 3, "f32", "bert"), host("mean(x, j <= i)", 3, "f32", "gpt2"));
    let (product, own) = (host("x * mean(x)", 3, "f32", "bert"), host("x^2", 2, "f32", "gpt2"));
    let sort = host("sort(x) on integers 0..3", 3, "f32", "bert");
    let (model, config) = ("model.safetensors", "config.json");
    let gains = |of: &Files, change: &dyn Fn(usize, f64) -> f64| {
        with_tensors(of, model, |w| each(w, "layer.0.output.LayerNorm.weight", change))
    };
    let first = |by: f64| move |at: usize, x: f64| if at == 0 { x * by } else { x };
    let ulp = 1.0 + f64::from(f32::EPSILON);
    let accepted = [
        ("bert-mean", mean.clone()),
        ("bert-product", product.clone()),
        ("bert-sort", sort.clone()),
        ("bert-double", host("x - mean(x)", 3, "f64", "bert")),
        ("bert-attend", host("attend(x * x[i], x) on [-1, 1]", 3, "f32", "bert")),
        ("gpt2-prefix", prefix.clone()),
        ("gpt2-square", own.clone()),
        ("gpt2-integers", host("(if x > 1 then 2 else 0) on integers 0..4", 2, "f32", "gpt2")),
        ("gpt2-largest", host("max(x, j <= i) on integers 0..3", 3, "f32", "gpt2")),
        ("bert-gain-ulp", gains(&product, &first(ulp))),
        ("gpt2-gain-ulp", with_tensors(&own, model, |w| each(w, "ln_2.weight", first(ulp)))),
        ("bert-gain-power", gains(&mean, &first(1.0 - f64::from(f32::EPSILON)))),
    ];
    let accepted = accepted.map(|(name, files)| Case { verdict: "accept", name, why: None, files });
    let none = |files: &Files| {
        let (head, _) = text(files, "certificate.fwc").split_once("meanings").expect("meanings");
        let mut files = files.clone();
        let silent = format!("{head}end\n").into_bytes();
        files.insert("certificate.fwc", silent);
        files
    };
    let renamed = |w: &mut Weights, from: &str, to: &str| {
        let info = w.header.remove(from).expect("a tensor");
        w.header.insert(to.to_owned(), info);
    };
    let eps = "\"layer_norm_eps\": 1e-12";
    let act = |of: &Files| with_text(of, config, "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"relu\"");
    let pinned = |of: &Files, name: &'static str, word: &str, width: usize| {
        // Half of both pins.
        with_tensors(of, name, |w| each(w, word, |at, x| if at % (width / 2) == width / 2 - 1 { x / 2.0 } else { x }))
    };
    let labels = "labels 0 1 2\n";
    let rejected = [
        ("pin-too-small", "norm", "the pin, and what reads it, times 2^-16", repinned(&mean, 8, 1.0 / 65536.0)),
        ("pin-small", "bound", "the pin, and what reads it, times 2^-6", repinned(&mean, 8, 1.0 / 64.0)),
        ("pin-halved", "norm", "the pin halved, and nothing else", pinned(&product, "inputs.safetensors", "bias", 8)),
        (
            "pin-one-side",
            "mirror",
            "one half of the pin doubled",
            with_tensors(&mean, "inputs.safetensors", |w| {
                each(w, "bias", |at, x| if at == 3 { 2.0 * x } else { x });
            }),
        ),
        (
            "pin-none",
            "pin",
            "no pin",
            with_tensors(&mean, "inputs.safetensors", |w| {
                each(w, "bias", |at, x| if at % 4 == 3 { 0.0 } else { x });
            }),
        ),
        (
            "pin-position",
            "pin",
            "a position moves the pin",
            with_tensors(&mean, model, |w| {
                each(w, "position_embeddings", |at, x| match at {
                    3 => 1.0,
                    7 => -1.0,
                    _ => x,
                });
            }),
        ),
        (
            "pin-word",
            "pin",
            "a word with a pin of its own",
            with_tensors(&sort, model, |w| {
                let width = w.shape("classifier.weight")[1];
                each(
                    w,
                    "word_embeddings",
                    |at, x| if at < width && at % (width / 2) == width / 2 - 1 { 2.0 * x } else { x },
                );
            }),
        ),
        (
            "mirror-inputs",
            "mirror",
            "inputs without a mirror",
            with_tensors(&mean, "inputs.safetensors", |w| {
                each(w, "weight", |at, x| if at >= 4 { 0.0 } else { x });
            }),
        ),
        (
            "mirror-units",
            "mirror",
            "what units write has no mirror",
            with_tensors(&product, model, |w| {
                let half = w.tensors().into_iter().find(|(name, _)| name.ends_with("layer.0.output.dense.weight"));
                let half = half.expect("a tensor").1.len() / 2;
                each(w, "layer.0.output.dense.weight", |at, x| if at >= half { 0.0 } else { x });
            }),
        ),
        (
            "mirror-classifier",
            "mirror",
            "outputs read one half",
            with_tensors(&mean, model, |w| {
                each(w, "classifier.weight", |at, x| if at >= 4 { 0.0 } else { x });
            }),
        ),
        ("bias", "mirror", "a bias of units", {
            with_tensors(&product, model, |w| each(w, "intermediate.dense.bias", |_, _| 1.0))
        }),
        (
            "norm-bias",
            "mirror",
            "a bias of a norm",
            with_tensors(&mean, model, |w| {
                each(w, "embeddings.LayerNorm.bias", |at, _| if at == 0 { 1.0 / 1024.0 } else { 0.0 });
            }),
        ),
        (
            "token-type",
            "mirror",
            "a type of tokens",
            with_tensors(&mean, model, |w| {
                each(w, "token_type", |at, _| if at == 0 { 1.0 } else { 0.0 });
            }),
        ),
        ("gain", "bound", "a gain times 1 + 2^-6", gains(&product, &first(1.0 + 1.0 / 64.0))),
        (
            "gain-before",
            "bound",
            "a gain times 1 + 2^-6",
            with_tensors(&own, model, |w| {
                each(w, "ln_2.weight", first(1.0 + 1.0 / 64.0));
            }),
        ),
        ("gain-all", "bound", "all gains of a norm times 1 + 2^-6", gains(&product, &|_, x| x * (1.0 + 1.0 / 64.0))),
        ("gain-turned", "norm", "a gain turned around", gains(&product, &first(-1.0))),
        (
            "gain-labels",
            "labels",
            "a gain times 1 + 2^-6",
            with_tensors(&sort, model, |w| {
                each(w, "layer.0.output.LayerNorm.weight", first(1.0 + 1.0 / 64.0));
            }),
        ),
        ("eps", "bound", "eps raised", with_text(&mean, config, eps, "\"layer_norm_eps\": 1000")),
        ("eps-huge", "norm", "eps raised", with_text(&mean, config, eps, "\"layer_norm_eps\": 1e12")),
        ("eps-negative", "config", "eps below 0", with_text(&mean, config, eps, "\"layer_norm_eps\": -1e-12")),
        ("config-hash", "hash", "config.json is another one", {
            let mut files = mean.clone();
            files.insert(config, with_text(&mean, config, eps, "\"layer_norm_eps\": 2e-12")[config].clone());
            files
        }),
        ("activation", "config", "another activation", act(&product)),
        ("config-more", "config", "a field that is not known", {
            with_text(&mean, config, eps, "\"layer_norm_eps\": 1e-12,\n  \"chunk_size_feed_forward\": 0")
        }),
        ("config-less", "config", "a field is missing", with_text(&mean, config, "  \"is_decoder\": false,\n", "")),
        ("config-decoder", "config", "tokens see those before them", {
            with_text(&mean, config, "\"is_decoder\": false", "\"is_decoder\": true")
        }),
        ("config-dropout", "config", "dropout", {
            with_text(&mean, config, "\"hidden_dropout_prob\": 0.0", "\"hidden_dropout_prob\": 0.1")
        }),
        ("config-attention", "config", "fused attention", with_text(&mean, config, "eager", "sdpa")),
        ("config-units", "weights", "more units", {
            with_text(&mean, config, "\"intermediate_size\": 1", "\"intermediate_size\": 2")
        }),
        ("config-labels", "config", "a label more", {
            with_text(&mean, config, "\"0\": \"y0\"", "\"0\": \"y0\",\n    \"1\": \"y1\"")
        }),
        (
            "tensor-missing",
            "weights",
            "a tensor is missing",
            with_tensors(&mean, model, |w| {
                renamed(w, "classifier.bias", "classifier.offset");
            }),
        ),
        ("tensor-more", "weights", "a tensor more", {
            with_tensors(&mean, model, |w| {
                let end = w.data.len();
                w.header.insert("bert.pooler.dense.bias".to_owned(), tensor("F32", &[1], end, end + 4));
                w.data.extend([0; 4]);
            })
        }),
        (
            "tensor-shape",
            "weights",
            "a tensor of another shape",
            with_tensors(&mean, model, |w| {
                w.header["classifier.weight"]["shape"] = serde_json::json!([8, 1]);
            }),
        ),
        (
            "inputs-shape",
            "weights",
            "inputs of another shape",
            with_tensors(&mean, "inputs.safetensors", |w| {
                w.header["weight"]["shape"] = serde_json::json!([1, 8]);
            }),
        ),
        (
            "weight",
            "bound",
            "a weight of the classifier times 2",
            with_tensors(&mean, model, |w| {
                each(w, "classifier.weight", |_, x| 2.0 * x);
            }),
        ),
        ("labels-swapped", "labels", "two labels are swapped", {
            with_text(&sort, "certificate.fwc", labels, "labels 1 0 2\n")
        }),
        ("labels-twice", "format", "a label twice", with_text(&sort, "certificate.fwc", labels, "labels 0 1 1\n")),
        ("labels-fewer", "config", "a label less", with_text(&sort, "certificate.fwc", labels, "labels 0 1\n")),
        ("scale", "format", "a scale that is no power of two", {
            let line = text(&product, "certificate.fwc").lines().find(|line| line.starts_with("scale "));
            with_text(&product, "certificate.fwc", line.expect("a line"), "scale 3")
        }),
        ("bound-less", "bound", "a bound of 10^-9", {
            let line = text(&mean, "certificate.fwc").lines().find(|line| line.starts_with("bound "));
            with_text(&mean, "certificate.fwc", line.expect("a line"), "bound 1/1000000000")
        }),
    ];
    let declined = [
        ("class", "a class that is not decided", with_text(&mean, "certificate.fwc", "host bert", "host roberta")),
        ("meanings-none", "no meanings", none(&mean)),
        ("measured", "a badge", with_text(&mean, "certificate.fwc", "badge certified", "badge measured")),
        ("lp", "another norm", with_text(&mean, "certificate.fwc", "norm sup", "norm lp 2")),
    ];
    let told = |obligation: &str, what: &str| Some(format!("{obligation}: {what}"));
    let mut cases: Vec<Case> = accepted.into();
    cases.extend(rejected.into_iter().map(|(name, obligation, what, files)| Case {
        verdict: "reject",
        name,
        why: told(obligation, what),
        files,
    }));
    cases.extend(declined.into_iter().map(|(name, what, files)| Case {
        verdict: "decline",
        name,
        why: told("scope", what),
        files,
    }));
    cases.extend(super::classes::cases());
    cases
}
