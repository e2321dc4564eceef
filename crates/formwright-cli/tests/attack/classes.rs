//! The same of T5, OPT, Llama and ModernBERT, and of heads with scores by position: small hosts of each, and what must be
//! said of them after a change.

use super::hosts::{Case, Files, each, host, with_tensors, with_text};

const MODEL: &str = "model.safetensors";
const INPUTS: &str = "inputs.safetensors";
const CONFIG: &str = "config.json";

/// A class, and where things are in a host of it whose width is 8.
struct Class {
    name: &'static str,
    /// Words in the names of a norm's gains, and of outputs.
    gains: &'static str,
    outputs: &'static str,
    /// What is added to a variance, the activation, and a setting that changes something else; and others.
    eps: Option<[&'static str; 2]>,
    activation: [&'static str; 2],
    setting: [&'static str; 2],
    /// Names of its folders: what is accepted, with a gain changed by an ulp, and what is rejected.
    names: [&'static str; 10],
}

/// The names of the folders of a class.
macro_rules! names {
    ($class:literal) => {
        [
            concat!($class, "-product"),
            concat!($class, "-gain-ulp"),
            concat!($class, "-labels"),
            concat!($class, "-pin-halved"),
            concat!($class, "-mirror"),
            concat!($class, "-gain"),
            concat!($class, "-eps"),
            concat!($class, "-activation"),
            concat!($class, "-setting"),
            concat!($class, "-bound"),
        ]
    };
}

const CLASSES: [Class; 4] = [
    Class {
        name: "t5",
        gains: "layer.1.layer_norm.weight",
        outputs: "classifier.weight",
        eps: Some(["\"layer_norm_epsilon\": 1e-6", "\"layer_norm_epsilon\": 1e7"]),
        activation: ["\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-gelu\""],
        setting: ["\"relative_attention_num_buckets\": 32", "\"relative_attention_num_buckets\": 16"],
        names: names!("t5"),
    },
    Class {
        name: "opt",
        gains: "layers.0.final_layer_norm.weight",
        outputs: "lm_head.weight",
        eps: None,
        activation: ["\"activation_function\": \"relu\"", "\"activation_function\": \"gelu\""],
        setting: ["\"do_layer_norm_before\": true", "\"do_layer_norm_before\": false"],
        names: names!("opt"),
    },
    Class {
        name: "llama",
        gains: "post_attention_layernorm.weight",
        outputs: "score.weight",
        eps: Some(["\"rms_norm_eps\": 1e-6", "\"rms_norm_eps\": 1e6"]),
        activation: ["\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\""],
        setting: ["\"factor\": 1e+300", "\"factor\": 1.0"],
        names: names!("llama"),
    },
    Class {
        name: "modernbert",
        gains: "mlp_norm.weight",
        outputs: "classifier.weight",
        eps: Some(["\"norm_eps\": 0.00001", "\"norm_eps\": 1e4"]),
        activation: ["\"hidden_activation\": \"gelu\"", "\"hidden_activation\": \"silu\""],
        setting: ["\"factor\": 1e+300", "\"factor\": 1.0"],
        names: names!("modernbert"),
    },
];

/// A case that is rejected: its name, the obligation, and what was done.
type Rejected = (&'static str, &'static str, &'static str, Files);

fn first(by: f64) -> impl Fn(usize, f64) -> f64 {
    move |at, x| if at == 0 { x * by } else { x }
}

fn line<'f>(files: &'f Files, word: &str) -> &'f str {
    let text = std::str::from_utf8(&files["certificate.fwc"]).expect("a text");
    text.lines().find(|line| line.starts_with(word)).expect("a line")
}

/// Half of both pins, and nothing else.
fn half_pins(at: usize, x: f64) -> f64 {
    if at % 4 == 3 { x / 2.0 } else { x }
}

impl Class {
    fn is_causal(&self) -> bool {
        matches!(self.name, "opt" | "llama")
    }

    /// A product by units, with constants.
    fn product(&self) -> Files {
        let text = if self.is_causal() { "x^2" } else { "x * mean(x)" };
        host(text, 2, "f32", self.name)
    }

    fn accepted(&self) -> Vec<(&'static str, Files)> {
        let product = self.product();
        let ulp = 1.0 + f64::from(f32::EPSILON);
        let gain = with_tensors(&product, MODEL, |w| each(w, self.gains, first(ulp)));
        let labels = if self.is_causal() { "max(x, j <= i) on integers 0..3" } else { "max(x) on integers 0..3" };
        let labels = host(labels, 2, "f32", self.name);
        self.names.into_iter().zip([product, gain, labels]).collect()
    }

    fn rejected(&self) -> Vec<Rejected> {
        let product = self.product();
        let [_, _, _, pin, mirror, gain, eps, activation, setting, bound] = self.names;
        // Factors that are read from it are no longer 1.
        let halved = if matches!(self.name, "llama" | "modernbert") { "gate" } else { "norm" };
        let silent = |at: usize, x: f64| if at % 8 >= 4 { 0.0 } else { x };
        let mut cases = vec![
            (
                pin,
                halved,
                "the pin halved, and nothing else",
                with_tensors(&product, INPUTS, |w| each(w, "bias", half_pins)),
            ),
            (
                mirror,
                "mirror",
                "outputs read one half",
                with_tensors(&product, MODEL, |w| each(w, self.outputs, silent)),
            ),
            (gain, "bound", "a gain times 1 + 2^-6", {
                with_tensors(&product, MODEL, |w| each(w, self.gains, first(1.0 + 1.0 / 64.0)))
            }),
            (
                activation,
                "config",
                "another activation",
                with_text(&product, CONFIG, self.activation[0], self.activation[1]),
            ),
            (setting, "config", "another setting", with_text(&product, CONFIG, self.setting[0], self.setting[1])),
            (bound, "bound", "a bound of 10^-9", {
                with_text(&product, "certificate.fwc", line(&product, "bound "), "bound 1/1000000000")
            }),
        ];
        if let Some([old, new]) = self.eps {
            // Next to a pin of 2^17, 2^16 and 2^13.
            cases.push((eps, "bound", "eps raised", with_text(&product, CONFIG, old, new)));
        }
        cases
    }
}

/// What one class has, and no other.
fn others() -> Vec<Rejected> {
    let [t5, opt, llama, modern] = &CLASSES;
    let (t5, opt, llama, modern) = (t5.product(), opt.product(), llama.product(), modern.product());
    let labels = host("max(x, j <= i) on integers 0..3", 2, "f32", "opt");
    let one = |at: usize, x: f64| if at == 0 { 1.0 } else { x };
    let at_pin = |by: f64| move |at: usize, x: f64| if at % 4 == 3 { x * by } else { x };
    let tensor =
        |of: &Files, word: &str, change: &dyn Fn(usize, f64) -> f64| with_tensors(of, MODEL, |w| each(w, word, change));
    let more = "      \"rope_type\": \"linear\"";
    vec![
        ("t5-bias", "mirror", "a relative position", tensor(&t5, "relative_attention_bias", &one)),
        ("t5-double", "config", "double precision", with_text(&t5, CONFIG, "float32", "float64")),
        ("t5-heads", "config", "heads of another size", with_text(&t5, CONFIG, "\"d_kv\": 1", "\"d_kv\": 4")),
        ("opt-tied", "config", "a tied head", {
            with_text(&opt, CONFIG, "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true")
        }),
        ("opt-head-missing", "weights", "no head", {
            with_tensors(&opt, MODEL, |w| {
                let info = w.header.remove("lm_head.weight").expect("a tensor");
                w.header.insert("lm_head.other".to_owned(), info);
            })
        }),
        ("opt-labels-fewer", "config", "a label less than words", {
            with_text(&labels, "certificate.fwc", "labels 0 1 2\n", "labels 0 1\n")
        }),
        ("opt-positions", "weights", "positions without two rows before the first", {
            with_tensors(&opt, MODEL, |w| {
                w.header["model.decoder.embed_positions.weight"]["shape"] = serde_json::json!([2, 16]);
            })
        }),
        ("llama-theta", "config", "another base of rotations", {
            with_text(&llama, CONFIG, "\"rope_theta\": 10000.0", "\"rope_theta\": 1e300")
        }),
        ("llama-rope-type", "config", "other rotations", {
            with_text(&llama, CONFIG, "\"rope_type\": \"linear\"", "\"rope_type\": \"dynamic\"")
        }),
        ("llama-rope-more", "config", "a field of rotations that is not known", {
            with_text(
                &llama,
                CONFIG,
                "\"rope_type\": \"linear\"",
                "\"rope_type\": \"linear\",\n    \"attention_factor\": 2",
            )
        }),
        ("llama-factor", "gate", "units times 1 + 2^-6", tensor(&llama, "up_proj", &at_pin(1.0 + 1.0 / 64.0))),
        ("llama-factor-none", "gate", "units times 0", tensor(&llama, "up_proj", &at_pin(0.0))),
        ("llama-factor-register", "gate", "units times what a register holds", {
            tensor(&llama, "up_proj", &|at, x| match at {
                0 => 1.0,
                4 => -1.0,
                _ => x,
            })
        }),
        ("modernbert-window", "config", "a block that sees a window", {
            with_text(&modern, CONFIG, "    \"full_attention\"\n", "    \"sliding_attention\"\n")
        }),
        ("modernbert-rope", "config", "a field of rotations that is not known", {
            with_text(&modern, CONFIG, more, &format!("{more},\n      \"beta_fast\": 1"))
        }),
        ("modernbert-identity", "identity", "a map before the last norm that changes something", {
            tensor(&modern, "head.dense", &|at, x| if at == 1 { 1.0 / 1024.0 } else { x })
        }),
        ("modernbert-gain-end", "bound", "a gain of the last norm times 1 + 2^-6", {
            tensor(&modern, "head.norm", &first(1.0 + 1.0 / 64.0))
        }),
        ("modernbert-gain-begin", "bound", "a gain behind the embedding times 1 + 2^-6", {
            tensor(&modern, "embeddings.norm", &first(1.0 + 1.0 / 64.0))
        }),
    ]
}

/// Heads with scores by position: gathers, sums with a sink, and tokens that scores hide; and the same with scores that are
/// too weak, or that hide another token.
fn placed() -> (Vec<(&'static str, Files)>, Vec<Rejected>) {
    let hidden = host("mean(x, j <= i)", 3, "f32", "bert");
    let gather = host("reverse", 3, "f32", "bert");
    let weak = |of: &Files, word: &str| with_tensors(of, MODEL, |w| each(w, word, |_, x| x / 16.0));
    let alike = with_tensors(&hidden, MODEL, |w| {
        let name = "bert.embeddings.position_embeddings.weight";
        let (width, first) = (w.shape(name)[1], w.tensor(name));
        each(w, "position_embeddings", |at, x| if at / width == 1 { first[at % width] } else { x });
    });
    let window = host("mean(x, j >= i - 1 and j <= i)", 3, "f32", "opt");
    let rejected = vec![
        ("hidden-weak", "bound", "scores of 1/16 of what hides a token", weak(&hidden, "self.query")),
        ("hidden-alike", "bound", "two positions that are not told apart", alike),
        ("window-weak", "bound", "scores of 1/16 of what hides a token", weak(&window, "q_proj.weight")),
        ("gather-weak", "bound", "scores of 1/16 of what tells positions apart", weak(&gather, "self.query")),
    ];
    let sum = host("sum(x, j <= i)", 3, "f32", "gpt2");
    let accepted = vec![("bert-hidden", hidden), ("bert-gather", gather), ("opt-window", window), ("gpt2-sum", sum)];
    (accepted, rejected)
}

/// Every case, in a fixed order.
pub fn cases() -> Vec<Case> {
    let (shown, faint) = placed();
    let accepted = CLASSES.iter().flat_map(Class::accepted).chain(shown);
    let accepted = accepted.map(|(name, files)| Case { verdict: "accept", name, why: None, files });
    let rejected = CLASSES.iter().flat_map(Class::rejected).chain(others()).chain(faint);
    let rejected = rejected.map(|(name, obligation, what, files)| Case {
        verdict: "reject",
        name,
        why: Some(format!("{obligation}: {what}")),
        files,
    });
    accepted.chain(rejected).collect()
}
