//! A network inside of a stock Transformer, as `AutoModelForTokenClassification.from_pretrained` loads it, or
//! `AutoModelForCausalLM` where a class has no classifier of tokens; without remote code.
//!
//! - `config.json`, `model.safetensors`: a stock class, its settings, weights under its names;
//! - `tokenizer.json`, `tokenizer_config.json`: of a target on integers, a word for each of them, and no other word;
//! - `certificate.fwc`, `target.json`: what a checker reads beside them (`hosted.rs`);
//! - `inputs.safetensors`: of a target on numbers, the linear map from a token to `inputs_embeds`: `weight [D, dims]`,
//!   `bias [D]`;
//! - `README.md`: the claim, its formula, what every coordinate means; `formwright.json`: the same for programs, and
//!   where each gate is.
//!
//! Outputs are labels, a regression. Where all are integers there is a logit for each, `2vy - v²`, if the largest is
//! proved to be the right one. A class that scores next tokens has the integers of the vocabulary first, so that the
//! label is the token.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::Files;
use super::onnx::stock::Stock;
use super::transformerlens::{values, vocabulary, whole};
use crate::artifact::{sha256, tensors};
use crate::bound::norm::upward;
use crate::error::{Error, Result};
use crate::host::{Class, Matrices, Place, named};
use crate::interval::Up;
use crate::markdown::wrapped;
use crate::model::Model;
use crate::network::{Coordinate, Precision};

/// The files, with the claim in words. `words` are those of the integers of the domain, the least one first; a checker
/// is shown the files with their certificate, and says `accepted`, or something else and why.
pub fn files(
    model: &Model,
    host: &str,
    words: Option<&[String]>,
    checker: impl Fn(&Files) -> Option<String>,
) -> Result<(Files, String)> {
    let export = Export::new(model, named(host)?, words)?;
    let mut files = export.loaded()?;
    super::hosted::add(&mut files, model, (export.class, &export.matrices), export.classes.as_deref())?;
    let verdict = checker(&files);
    if verdict.as_deref().is_some_and(|verdict| verdict.starts_with("rejected")) {
        // The claim is that of the analysis alone.
        files.retain(|(name, _)| name != "certificate.fwc");
    }
    let export = Export { verdict, ..export };
    export.described(&mut files)?;
    Ok((files, export.claim()))
}

/// The properties of an ONNX model, by name.
type Properties = Vec<(String, String)>;

/// The blocks of the host as an ONNX model (`onnx/stock.rs`), its properties, and the claim in words. Tokens are vectors,
/// or the numbers of words.
pub fn onnx(model: &Model, host: &str) -> Result<(Vec<u8>, Properties, String)> {
    let export = Export::new(model, named(host)?, None)?;
    let (Export { class, matrices, .. }, claim) = (&export, export.claim());
    let dims = export.words.is_empty().then(|| model.grid.dims());
    let stock = Stock { class, matrices, head: &export.head, dims, lengths: model.lengths() };
    let loaded = export.loaded()?;
    let weights = loaded.iter().find(|(name, _)| name == "model.safetensors");
    let mut properties = vec![
        ("formwright", env!("CARGO_PKG_VERSION").to_owned()),
        ("target", model.source.text().unwrap_or_else(|| model.target.name.clone())),
        ("host", class.architecture.to_owned()),
        ("precision", matrices.precision.to_string()),
        ("badge", model.badge().to_owned()),
        ("norm", "sup".to_owned()),
        ("domain", model.domain_name()),
        ("bound", upward(matrices.fitted.bound, 4)),
        ("host_term", upward(matrices.fitted.host_term(), 2)),
        ("claim", claim.clone()),
    ];
    properties.extend(weights.map(|(_, bytes)| ("weights_sha256", sha256(bytes))));
    properties.extend((dims.is_none()).then(|| ("vocabulary", export.words.join(" "))));
    properties.extend(export.classes.as_ref().map(|_| ("labels", export.labels.join(" "))));
    let properties: Properties = properties.into_iter().map(|(key, text)| (key.to_owned(), text)).collect();
    Ok((stock.to_bytes(&properties)?, properties, claim))
}

/// A network with the names of its inputs and outputs in a host.
struct Export<'m> {
    model: &'m Model,
    class: &'static Class,
    matrices: Matrices,
    /// The words of the vocabulary; none where tokens are vectors.
    words: Vec<String>,
    /// The last layer by rows, and what it gives out.
    head: Vec<f64>,
    labels: Vec<String>,
    /// The integers that the labels stand for, where they are classes.
    classes: Option<Vec<i64>>,
    /// The verdict of a checker, where one was asked.
    verdict: Option<String>,
}

/// A value as a file.
fn text(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

impl<'m> Export<'m> {
    fn new(model: &'m Model, class: &'static Class, words: Option<&[String]>) -> Result<Self> {
        let tokens = if model.target.is_discrete() { vocabulary(model)? } else { Vec::new() };
        let words = match words {
            Some(_) if tokens.is_empty() => {
                return Err(Error::input("there is no vocabulary: the target is about numbers, not integers")
                    .note("try", "leave out ⟨vocabulary⟩"));
            }
            Some(words) => checked(words, tokens.len())?,
            None => tokens.iter().map(|token| in_words(token)).collect(),
        };
        let mut matrices = Matrices::new(model, class, &tokens)?;
        let mut labels: Vec<String> = (0..model.target.output_dims()).map(|c| format!("y{c}")).collect();
        let (mut head, mut classes) = (matrices.read_out.clone(), None);
        if let Some((low, high)) = values(model)? {
            let values = labelled(class, &tokens, low..=high);
            let numbers: Vec<f64> = values.iter().map(|v| whole(*v)).collect();
            if let Some(found) = matrices.classes(&numbers).filter(|_| !values.is_empty()) {
                let word = |v: &i64| tokens.iter().position(|token| token == &[*v]).map(|at| words[at].clone());
                labels = values.iter().map(|v| word(v).unwrap_or_else(|| v.to_string())).collect();
                (head, classes) = (found, Some(values));
            }
        }
        if let Some((first, at)) = twice(&labels) {
            return Err(Error::input(format!("two values would have the label '{}'", labels[at]))
                .note("values", format!("output {first}, the word of an integer, and output {at}, which has no word"))
                .note("try", "words that are no numbers"));
        }
        if class.scores_tokens {
            // There is a score for each word, and a word for each label.
            let (rows, width) = (matrices.words.len().max(labels.len()), matrices.sides.width);
            matrices.words.resize(rows, vec![0.0; width]);
        }
        Ok(Self { model, class, matrices, words, head, labels, classes, verdict: None })
    }

    fn claim(&self) -> String {
        let fitted = &self.matrices.fitted;
        let (bound, term) = (upward(fitted.bound, 4), upward(fitted.host_term(), 2));
        let what = match &self.classes {
            Some(_) if self.is_accepted() => "the largest logit is that of the target's value".to_owned(),
            Some(_) => format!(
                "the largest logit is that of the target's value, and the output behind it within {bound} of it"
            ),
            None => format!("every output is within {bound} of the target's"),
        };
        let missed = self.missed().map(|missed| format!(". {missed}")).unwrap_or_default();
        let (who, said) = match &self.verdict {
            Some(_) if self.is_accepted() => ("accepted by the checker", String::new()),
            Some(verdict) => ("by formwright's own analysis", format!(". The checker: {verdict}")),
            None => ("by formwright's own analysis", ". No checker was asked".to_owned()),
        };
        let (badge, domain) = (self.model.badge(), self.model.domain_name());
        format!("{badge}, {who}: {what}, on {domain}; the host term is {term}{missed}{said}")
    }

    /// True if a checker has proved the claim.
    fn is_accepted(&self) -> bool {
        self.verdict.as_deref().is_some_and(|verdict| verdict.starts_with("accepted"))
    }

    /// Promises of the network that it does not keep in the host.
    fn missed(&self) -> Option<String> {
        let bound = self.matrices.fitted.bound;
        if let Ok(Some((low, high))) = values(self.model) {
            let count = high - low + 1;
            return self.classes.is_none().then(|| {
                format!(
                    "It is NOT proved that the nearest of the {count} integers is the right one: outputs are numbers"
                )
            });
        }
        let (eps, whose) = match &self.model.host {
            Some(host) if host.class == self.class.name => (Some(&host.eps), String::new()),
            Some(host) => (Some(&host.eps), format!(" that is met in {}", host.class)),
            None => (self.model.tolerance.eps.as_ref(), " of the network by itself".to_owned()),
        };
        let eps = eps.filter(|eps| Up::from(*eps) < bound)?;
        Some(format!("That is MORE than the tolerance {eps}{whose}"))
    }

    /// The files that are loaded.
    fn loaded(&self) -> Result<Files> {
        let precision = self.matrices.precision;
        let width = self.matrices.sides.width;
        let named = self.class.tensors(&self.matrices, &self.head);
        let mut files: Files = vec![
            ("config.json".to_owned(), text(&self.config())),
            ("model.safetensors".to_owned(), tensors::named_to_bytes(precision, &named)?),
        ];
        if self.words.is_empty() {
            let embed = &self.matrices.embed;
            let inputs = vec![
                ("weight".to_owned(), vec![width, self.model.grid.dims()], embed.weight.clone()),
                ("bias".to_owned(), vec![width], embed.bias.clone()),
            ];
            files.push(("inputs.safetensors".to_owned(), tensors::named_to_bytes(precision, &inputs)?));
        } else {
            files.push(("tokenizer.json".to_owned(), text(&self.tokenizer())));
            files.push(("tokenizer_config.json".to_owned(), text(&self.tokenizer_config())));
        }
        Ok(files)
    }

    /// Adds what is told of all these files.
    fn described(&self, files: &mut Files) -> Result<()> {
        let hashes: Map<String, Value> =
            files.iter().map(|(name, bytes)| (name.clone(), sha256(bytes).into())).collect();
        files.push(("formwright.json".to_owned(), text(&self.manifest(&hashes)?)));
        files.push(("README.md".to_owned(), self.card().into_bytes()));
        Ok(())
    }

    fn config(&self) -> Value {
        let mut config = (self.class.settings)(&self.matrices).as_object().cloned().unwrap_or_default();
        let ids = self.labels.iter().enumerate();
        let more = json!({
            "architectures": [self.class.architecture],
            "model_type": self.class.name,
            "attn_implementation": "eager",
            "dtype": match self.matrices.precision { Precision::F32 => "float32", Precision::F64 => "float64" },
            "vocab_size": self.matrices.words.len(),
            "id2label": ids.clone().map(|(id, label)| (id.to_string(), json!(label))).collect::<Map<_, _>>(),
            "label2id": ids.map(|(id, label)| (label.clone(), json!(id))).collect::<Map<_, _>>(),
        });
        config.extend(more.as_object().cloned().unwrap_or_default());
        config.into()
    }

    /// Words apart by spaces. A word that is not in the vocabulary is an error there, since the unknown word is none of
    /// it.
    fn tokenizer(&self) -> Value {
        let words = self.words.iter().enumerate().map(|(id, word)| (word.clone(), json!(id)));
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": [],
            "normalizer": null,
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "post_processor": null,
            "decoder": null,
            "model": {"type": "WordLevel", "vocab": words.collect::<Map<_, _>>(), "unk_token": UNKNOWN},
        })
    }

    fn tokenizer_config(&self) -> Value {
        json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": self.matrices.sides.tokens,
            "model_input_names": ["input_ids", "attention_mask"],
            "clean_up_tokenization_spaces": false,
        })
    }

    fn manifest(&self, hashes: &Map<String, Value>) -> Result<Value> {
        let (fitted, sides) = (&self.matrices.fitted, &self.matrices.sides);
        let network = self.model.float();
        let said = self.verdict.as_deref().and_then(|verdict| verdict.split_once(": "));
        let (checked, reason) = said.map_or(("not-run", None), |(word, why)| (word, Some(why)));
        let reason = reason.filter(|_| !self.is_accepted());
        let half = sides.width / 2;
        let coordinate = |(p, known): (usize, &Coordinate)| {
            let meaning = &known.meaning;
            json!({"name": known.name, "coordinate": p, "mirror": half + p, "meaning": meaning})
        };
        let coordinates = network.iter().flat_map(|network| network.coordinates.iter().enumerate());
        let properties: Map<String, Value> =
            self.model.metadata()?.into_iter().map(|(key, value)| (key, value.into())).collect();
        let (least, most) = self.model.lengths();
        Ok(json!({
            "format": "formwright-host",
            "version": 1,
            "host": self.class.name,
            "loader": self.class.loader(),
            "sha256": hashes,
            "model": properties,
            "claim": {
                "badge": self.model.badge(),
                "norm": "sup",
                "bound": fitted.bound,
                "plain": fitted.plain,
                "host_term": fitted.host_term(),
                "argmax": self.classes.is_some(),
                "tokens": {"min": least, "max": most},
                "execution": "ieee-any-order, with lines for norms and activations",
                "checked": checked,
                "checked_reason": reason,
            },
            "pin": {"value": fitted.pin, "coordinate": half - 1, "mirror": sides.width - 1},
            "gain": fitted.gain,
            "places": (sides.flags > 0).then(|| json!({
                "value": fitted.flag,
                "coordinates": [self.model.coordinates().len(), self.model.coordinates().len() + sides.flags],
            })),
            "scale": fitted.scale,
            "vocabulary": self.words,
            "classes": self.classes,
            "coordinates": coordinates.map(coordinate).collect::<Vec<_>>(),
            "gates": self.gates(),
        }))
    }

    /// Every gate, with the rows and columns that are it. A unit may serve several.
    fn gates(&self) -> Vec<Value> {
        let gates = self.model.circuit().and_then(|circuit| circuit.gates()).unwrap_or_default();
        let size = self.matrices.sides.head_size;
        let gate = |gate: &crate::construct::circuit::Gate| {
            let place = |at: &usize| match gate.heads {
                0 => Place::Unit(*at),
                _ => Place::Head { head: *at, size },
            };
            let places = gate.places.iter().flat_map(|at| self.class.places(&self.matrices, gate.block, place(at)));
            json!({
                "name": gate.name,
                "formula": gate.formula,
                "kind": gate.kind,
                "block": gate.block,
                "range": [gate.range.0, gate.range.1],
                "weights": places.collect::<Vec<_>>(),
            })
        };
        gates.iter().map(gate).collect()
    }

    /// The model card.
    fn card(&self) -> String {
        let (fitted, sides, model) = (&self.matrices.fitted, &self.matrices.sides, self.model);
        let half = sides.width / 2;
        let target = model.source.text().unwrap_or_else(|| model.target.name.clone());
        let mut page = String::new();
        let (pin, gain) = (power(fitted.pin), power(fitted.gain));
        let (plain, term) = (upward(fitted.plain, 4), upward(fitted.host_term(), 2));
        let _ = writeln!(page, "---\nlibrary_name: transformers\npipeline_tag: {}\n---\n", self.task());
        let _ = writeln!(page, "# `{target}` in {}\n", self.class.architecture);
        let _ = writeln!(
            page,
            "Compiled by formwright {}, not trained: every weight has a meaning, and the error is bounded at every \
             input.\n",
            env!("CARGO_PKG_VERSION")
        );
        let _ = writeln!(page, "{}.\n", self.claim());
        let (least, most) = model.lengths();
        let lengths = if least == most { format!("exactly {most}") } else { format!("{least} to {most}") };
        let _ = writeln!(
            page,
            "- The network by itself is within {plain}; being in this host adds {term}.\n\
             - It holds for sequences of {lengths} tokens, without padding (a mask of ones, or none), in {}, with \
             `attn_implementation=\"eager\"`, which `config.json` asks for. transformers 5 does as it asks; version 4 \
             may load another format, and attend otherwise.\n\
             - An execution may add up in any order, and fuse; norms and activations as formwright's HOSTS.md has \
             them. SDPA, other formats and reduced precision are not covered.\n\
             - A sequence has a token at least: with none, `transformers` fails to reshape a tensor of 0 elements.\n\
             {}\n",
            self.matrices.precision,
            self.checked()
        );
        let _ = writeln!(page, "## Use\n\n```python\n{}```\n", self.example());
        let _ = writeln!(
            page,
            "## What the numbers mean\n\n\
             Of {} coordinates the second half mirrors the first: `v = (z, 0, C | -z, 0, -C)`, pin `C = {pin}`. What is \
             read is `½(v[p] - v[p + {half}])`. {} With a gain of `C·√(2/D) = {gain}` the norm is the identity up to a \
             factor near 1, the same for a whole token. {}\n",
            sides.width,
            self.class.norm.kind.in_words(),
            self.activation(),
        );
        let _ = writeln!(page, "| coordinate | mirror | meaning |\n|---|---|---|");
        for (p, known) in model.coordinates().iter().enumerate() {
            let _ = writeln!(page, "| {p} | {} | {} |", half + p, known.meaning.replace('|', "\\|"));
        }
        let first = model.coordinates().len();
        for t in 0..sides.flags {
            let p = first + t;
            let flag = power(fitted.flag);
            let _ =
                writeln!(page, "| {p} | {} | {flag} at token {t}, 0 at others: hides tokens from heads |", half + p);
        }
        let _ = writeln!(page, "| {} | {} | the pin, {pin} |", half - 1, sides.width - 1);
        let _ = writeln!(page, "\nAll others are 0. `formwright.json` says for every gate which weights are it.");
        wrapped_prose(&page)
    }

    /// The word of the checker, for the card.
    fn checked(&self) -> String {
        match &self.verdict {
            Some(_) if self.is_accepted() => {
                "- A checker has proved it from these files, `certificate.fwc` and `target.json` among them: `fwcheck .` \
                 does so again."
                    .to_owned()
            }
            Some(verdict) => {
                format!("- The bound is what the compiler's own analysis proves. The checker says: {verdict}.")
            }
            None => "- No checker was asked: the bound is what the compiler's own analysis proves.".to_owned(),
        }
    }

    /// Its task, in the words of `transformers`.
    fn task(&self) -> &'static str {
        if self.class.scores_tokens { "text-generation" } else { "token-classification" }
    }

    /// The activation, and where constants come from, in words.
    fn activation(&self) -> String {
        let (Class { activation, gated, .. }, scale) = (self.class, power(self.matrices.fitted.scale));
        let scaled = format!(
            "`{}(s·t)/s` with `s = {scale}` is `max(t, 0)` up to `{}/s`; both factors are in the weights.",
            activation.name, activation.distance
        );
        let words = [
            Some("A constant `c` is read from the pin, with `c/2C` and `-c/2C`, so that it has the same factor."),
            Some(scaled.as_str()).filter(|_| !activation.is_relu()),
            Some("What an activation is multiplied by is 1.").filter(|_| *gated),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Lines of Python that use it.
    fn example(&self) -> String {
        let loader = self.class.loader();
        let load = format!(
            "model = {loader}.from_pretrained(\n    \".\", attn_implementation=\"eager\", dtype=\"auto\"\n).eval()\n"
        );
        // A class that scores next tokens has scores for all of them.
        let outputs = match (self.class.scores_tokens, &self.classes) {
            (true, None) if self.matrices.words.len() > self.labels.len() => format!("[..., :{}]", self.labels.len()),
            _ => String::new(),
        };
        let (least, most) = self.model.lengths();
        if self.words.is_empty() {
            let dims = self.model.grid.dims();
            return format!(
                "import torch\nfrom safetensors.torch import load_file\nfrom transformers import {loader}\n\n{load}\
                 inputs = load_file(\"inputs.safetensors\")\n\
                 x = torch.rand(1, {most}, {dims}, dtype=model.dtype)  # of the domain\n\
                 with torch.no_grad():\n    \
                 y = model(inputs_embeds=x @ inputs[\"weight\"].T + inputs[\"bias\"]).logits{outputs}\n"
            );
        }
        let sentence: Vec<&str> =
            (0..most.max(least)).map(|t| self.words[(t * 7 + 3) % self.words.len()].as_str()).collect();
        let sentence = sentence.join(" ");
        if self.classes.is_some() && !self.class.scores_tokens {
            return format!(
                "from transformers import pipeline\n\n\
                 sentence = pipeline(\"token-classification\", \".\")\n\
                 print([token[\"entity\"] for token in sentence(\"{sentence}\")])\n"
            );
        }
        let words = format!(
            "import torch\nfrom transformers import {loader}, AutoTokenizer\n\n{load}\
             words = AutoTokenizer.from_pretrained(\".\")(\"{sentence}\", return_tensors=\"pt\")\n\
             with torch.no_grad():\n    y = model(**words).logits{outputs}\n"
        );
        match &self.classes {
            Some(_) => format!("{words}print([model.config.id2label[id] for id in y.argmax(-1)[0].tolist()])\n"),
            None => words,
        }
    }
}

/// The integers that have a label each: those that are outputs. Where labels are tokens, those of the vocabulary come
/// first, if it has one for each integer.
fn labelled(class: &Class, tokens: &[Vec<i64>], outputs: std::ops::RangeInclusive<i64>) -> Vec<i64> {
    if !class.scores_tokens {
        return outputs.collect();
    }
    let known: Option<Vec<i64>> = tokens.iter().map(|token| if let [v] = token[..] { Some(v) } else { None }).collect();
    let known = known.unwrap_or_default();
    let others = outputs.filter(|v| !known.contains(v));
    if known.is_empty() { Vec::new() } else { known.iter().copied().chain(others).collect() }
}

/// Lines of at most 120 characters, except in code.
fn wrapped_prose(page: &str) -> String {
    let parts = page.split("```").enumerate();
    let parts = parts.map(|(k, part)| if k % 2 == 0 { wrapped(part) } else { format!("```{part}```") });
    parts.collect()
}

/// A power of two, as one writes it.
fn power(x: f64) -> String {
    format!("2^{}", x.log2())
}

/// A token as a word: its coordinates.
fn in_words(token: &[i64]) -> String {
    token.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// The words that somebody chose, as many as there are tokens, all different.
fn checked(words: &[String], count: usize) -> Result<Vec<String>> {
    if words.len() != count {
        return Err(Error::input(format!("a vocabulary of {} words for {count} tokens", words.len()))
            .note("expected", "a word for each integer of the domain, the least one first"));
    }
    for (at, word) in words.iter().enumerate() {
        // The model card shows words inside of Python.
        if word.is_empty() || word.chars().any(|c| c.is_whitespace() || ['"', '`', '\\'].contains(&c)) {
            return Err(Error::input(format!("word {at} of the vocabulary is '{word}'"))
                .note("expected", "a word without spaces, quotes and backslashes"));
        }
        if let Some((_, why)) = TAKEN.iter().find(|(taken, _)| taken == word) {
            return Err(Error::input(format!("word {at} of the vocabulary is '{word}'")).note("reason", *why));
        }
    }
    if let Some((first, at)) = twice(words) {
        return Err(Error::input(format!("words {first} and {at} of the vocabulary are both '{}'", words[at])));
    }
    Ok(words.to_vec())
}

/// Words that mean something else to `transformers`.
const TAKEN: [(&str, &str); 2] = [
    ("O", "a pipeline leaves out tokens with this label"),
    (UNKNOWN, "it would stand for every word that is not in the vocabulary"),
];

/// The name of the unknown word, which is none of the vocabulary.
const UNKNOWN: &str = "[none]";

/// The first two places that hold the same.
fn twice(words: &[String]) -> Option<(usize, usize)> {
    (0..words.len()).find_map(|at| Some((words[..at].iter().position(|other| *other == words[at])?, at)))
}
