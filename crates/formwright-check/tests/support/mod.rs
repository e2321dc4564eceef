//! Small artifacts, written by hand: a claim, a target and tensors, hashed as they are.

#![allow(dead_code, clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::expect_used)]

use formwright_check::{Files, Verdict, check, sha256};

/// A small generator of numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % u64::try_from(limit).expect("a machine word")).expect("a machine word")
    }

    pub fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }

    pub fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).expect("a byte")
    }
}

/// A tensor: its name, its shape and its numbers.
#[derive(Clone)]
pub struct Tensor {
    pub name: String,
    pub shape: Vec<usize>,
    pub numbers: Vec<f64>,
}

/// A head of size 1 that writes one value.
#[derive(Clone)]
pub struct Head {
    pub mask: &'static str,
    pub q: Vec<f64>,
    pub q_bias: f64,
    pub k: Vec<f64>,
    pub v: Vec<f64>,
    pub o: Vec<f64>,
}

/// A head that hides nothing, with these rows.
pub fn seeing_all(q: &[f64], k: &[f64], v: &[f64], o: &[f64]) -> Head {
    Head { mask: "* * * * no", q: q.into(), q_bias: 0.5, k: k.into(), v: v.into(), o: o.into() }
}

/// A hidden unit: what it reads, its bias, what it writes.
pub type Unit<'u> = (&'u [f64], f64, &'u [f64]);

/// The three files, before they are bytes.
#[derive(Clone)]
pub struct Artifact {
    /// The lines behind the hashes, up to `positions`.
    pub claim: Vec<(&'static str, String)>,
    /// The lines `run` and `mask`.
    pub runs: Vec<String>,
    /// The hints.
    pub hints: [String; 2],
    /// The lines of what registers mean.
    pub meanings: Vec<String>,
    pub target: String,
    pub tensors: Vec<Tensor>,
    /// How many there are.
    pub blocks: usize,
}

/// A target on integers: every token to an expression.
pub fn on_integers(each: &str, from: i64, to: i64) -> String {
    format!(r#"{{"kind":"expression","ast":{{"body":{{"each":{each}}},"domain":{{"integers":[{from},{to}]}}}}}}"#)
}

/// A target on `[0, 1]`.
pub fn on_box(each: &str) -> String {
    format!(r#"{{"kind":"expression","ast":{{"body":{{"each":{each}}},"domain":{{"interval":["0","1"]}}}}}}"#)
}

impl Artifact {
    /// A claim of a bound for tokens of one coordinate; over integers, or over a box in `L^1` if cells are given. The network embeds by these weights and
    /// biases, and reads out by these.
    pub fn new(target: String, tokens: usize, bound: &str, embed: &[(f64, f64)], read_out: &[f64]) -> Self {
        let width = embed.len();
        let claim = vec![
            ("badge", "certified".into()),
            ("over", "integers".into()),
            ("norm", "sup".into()),
            ("bound", bound.into()),
            ("assumptions", "0".into()),
            ("tokens", format!("{tokens} {tokens}")),
            ("dims", "1".into()),
            ("output-dims", "1".into()),
            ("execution", "ieee-any-order f64".into()),
            ("width", width.to_string()),
            ("positions", "0".into()),
        ];
        let hints = ["cells 0".into(), "margins 0 0".into()];
        let mut artifact =
            Self { claim, runs: Vec::new(), hints, meanings: Vec::new(), target, tensors: Vec::new(), blocks: 0 };
        artifact.tensor("embed.weight", &[width, 1], embed.iter().map(|(weight, _)| *weight).collect());
        artifact.tensor("embed.bias", &[width], embed.iter().map(|(_, bias)| *bias).collect());
        artifact.tensor("read_out.weight", &[1, width], read_out.to_vec());
        artifact.tensor("read_out.bias", &[1], vec![0.0]);
        artifact
    }

    /// The claim over the box, in `L^1`, by so many cells.
    pub fn over_box(mut self, cells: usize, margins: &str) -> Self {
        self.set("over", "box");
        self.set("norm", "lp 1");
        self.hints = [format!("cells {cells}"), format!("margins {margins}")];
        self
    }

    /// The claim over the box, in the supremum norm, by these meanings.
    pub fn meaning(mut self, lines: &[&str]) -> Self {
        self.set("over", "box");
        self.meanings = lines.iter().map(|line| (*line).to_owned()).collect();
        self
    }

    pub fn with(mut self, field: &str, value: &str) -> Self {
        self.set(field, value);
        self
    }

    pub fn set(&mut self, field: &str, value: &str) {
        self.claim.iter_mut().find(|(name, _)| *name == field).expect("a line").1 = value.into();
    }

    pub fn tensor(&mut self, name: &str, shape: &[usize], numbers: Vec<f64>) {
        self.tensors.push(Tensor { name: name.into(), shape: shape.to_vec(), numbers });
    }

    /// The numbers of a tensor, to be changed.
    pub fn numbers(&mut self, name: &str) -> &mut Vec<f64> {
        &mut self.tensors.iter_mut().find(|tensor| tensor.name == name).expect("a tensor").numbers
    }

    fn width(&self) -> usize {
        self.tensors[1].numbers.len()
    }

    /// Positions: for each token what is added to its stream.
    pub fn positions(mut self, rows: &[&[f64]]) -> Self {
        self.set("positions", &rows.len().to_string());
        self.tensor("pos", &[rows.len(), rows[0].len()], rows.concat());
        self
    }

    /// A block of attention.
    pub fn attention(mut self, heads: &[Head]) -> Self {
        let (b, w, h) = (self.blocks, self.width(), heads.len());
        self.runs.push(format!("run 1 attention softmax {h} 1 1 0"));
        self.runs.extend(heads.iter().map(|head| format!("mask {}", head.mask)));
        let all = |part: fn(&Head) -> &Vec<f64>| heads.iter().flat_map(part).copied().collect::<Vec<f64>>();
        self.tensor(&format!("{b}.attn.q"), &[1, h, 1, w], all(|head| &head.q));
        self.tensor(&format!("{b}.attn.q_bias"), &[1, h, 1], heads.iter().map(|head| head.q_bias).collect());
        self.tensor(&format!("{b}.attn.k"), &[1, h, 1, w], all(|head| &head.k));
        self.tensor(&format!("{b}.attn.v"), &[1, h, 1, w], all(|head| &head.v));
        self.tensor(&format!("{b}.attn.o"), &[1, h, w, 1], all(|head| &head.o));
        self.blocks += 1;
        self
    }

    /// The last run by a cycle of connections: of each layer and token the keys that it sees.
    pub fn connections(mut self, cycle: &[&[&[usize]]]) -> Self {
        self.runs.push(format!("connections {}", cycle.len()));
        let line = |keys: &&[usize]| keys.iter().fold("sees".to_owned(), |line, key| format!("{line} {key}"));
        self.runs.extend(cycle.iter().flat_map(|layer| layer.iter().map(line)));
        self
    }

    /// A feed-forward block.
    pub fn forward(mut self, units: &[Unit<'_>]) -> Self {
        let (b, w, h) = (self.blocks, self.width(), units.len());
        self.runs.push(format!("run 1 ff {h}"));
        self.tensor(&format!("{b}.ff.w1"), &[1, h, w], units.iter().flat_map(|(reads, ..)| reads.to_vec()).collect());
        self.tensor(&format!("{b}.ff.b1"), &[1, h], units.iter().map(|(_, bias, _)| *bias).collect());
        let writes = (0..w).flat_map(|r| units.iter().map(move |(.., writes)| writes[r])).collect();
        self.tensor(&format!("{b}.ff.w2"), &[1, w, h], writes);
        self.tensor(&format!("{b}.ff.b2"), &[1, w], vec![0.0; w]);
        self.blocks += 1;
        self
    }

    /// `model.safetensors`.
    pub fn weights(&self) -> Vec<u8> {
        let double = self.claim.iter().any(|(_, value)| value == "ieee-any-order f64");
        let (mut header, mut data) = (Vec::new(), Vec::new());
        for Tensor { name, shape, numbers } in &self.tensors {
            let from = data.len();
            for number in numbers {
                if double {
                    data.extend(number.to_le_bytes());
                } else {
                    #[allow(clippy::as_conversions, clippy::cast_possible_truncation)]
                    data.extend((*number as f32).to_le_bytes());
                }
            }
            let (dtype, to) = (if double { "F64" } else { "F32" }, data.len());
            header.push(format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{from},{to}]}}"#));
        }
        safetensors(&format!("{{{}}}", header.join(",")), &data)
    }

    /// `certificate.fwc` about these bytes.
    pub fn certificate(&self, target: &[u8], weights: &[u8]) -> String {
        let mut lines = vec![
            "formwright-certificate 2".to_owned(),
            format!("sha256 target.json {}", sha256(target)),
            format!("sha256 model.safetensors {}", sha256(weights)),
        ];
        lines.extend(self.claim.iter().map(|(name, value)| format!("{name} {value}")));
        lines.push(format!("runs {}", self.runs.iter().filter(|line| line.starts_with("run ")).count()));
        lines.extend(self.runs.iter().chain(&self.hints).chain(&self.meanings).cloned().chain(["end\n".to_owned()]));
        lines.join("\n")
    }

    /// The checker's verdict.
    pub fn verdict(&self) -> Verdict {
        let (target, weights) = (self.target.as_bytes(), self.weights());
        check(&Files { certificate: self.certificate(target, &weights).as_bytes(), target, weights: &weights })
    }
}

/// A file of a header and data.
pub fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let length = u64::try_from(header.len()).expect("a short header");
    [length.to_le_bytes().as_slice(), header.as_bytes(), data].concat()
}

/// Panics unless the claim is accepted.
#[track_caller]
pub fn accepted(artifact: &Artifact) {
    let verdict = artifact.verdict();
    assert_eq!(verdict.name(), "accepted", "{verdict}");
}

/// Panics unless the claim is rejected for this obligation.
#[track_caller]
pub fn rejected(artifact: &Artifact, obligation: &str) {
    let verdict = artifact.verdict();
    assert!(
        matches!(&verdict, Verdict::Rejected(reason) if reason.obligation == obligation),
        "{obligation}: {verdict}"
    );
}

/// Panics unless the claim is declined.
#[track_caller]
pub fn declined(artifact: &Artifact) {
    let verdict = artifact.verdict();
    assert_eq!(verdict.name(), "declined", "{verdict}");
}
