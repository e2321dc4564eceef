//! Files with one change somewhere. What the change is about is hashed anew, so that only what the files say can betray it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use formwright::exact::Rat;
use formwright_check::Verdict;
use serde_json::{Value, json};

use super::artifacts::Artifact;
use super::corpus::{target, with_target};
use super::judge::{Truth, judge};
use super::weights::{Weights, with_weights};
use super::{Random, Tally};

/// A change: of what, how, and what makes it of the files, of others and of chance; nothing where there is nothing to change.
pub type Kind = (&'static str, &'static str, fn(&Artifact, &Artifact, &mut Random) -> Option<Artifact>);

pub const KINDS: &[Kind] = &[
    ("certificate", "a number ± 1", |artifact, _, random| {
        let numbers = |word: &str| word.parse::<i64>().is_ok();
        let step = *random.of(&[-1, 1]);
        word(artifact, random, numbers, |word| word.parse::<i64>().map_or(word.to_owned(), |n| (n + step).to_string()))
    }),
    ("certificate", "a rational made smaller or larger", |artifact, _, random| {
        let line = *random.of(&["bound", "bound", "margins", "over", "norm"]);
        let factor: Rat =
            random.of(&["1/2", "2", "0", "-1", "1048575/1048576", "1/1000", "1000001/1000000"]).parse().ok()?;
        let mut words: Vec<String> = artifact.line(line).split(' ').map(str::to_owned).collect();
        let place = random.below(words.len());
        let number: Rat = words[place].parse::<Rat>().ok()? * factor;
        words[place] = number.to_string();
        Some(artifact.with_line(line, &words.join(" ")))
    }),
    ("certificate", "two words of a line swapped", |artifact, _, random| {
        line(artifact, random, |line, random| {
            let mut words: Vec<&str> = line.split(' ').collect();
            let (a, b) = (random.below(words.len()), random.below(words.len()));
            words.swap(a, b);
            words.join(" ")
        })
    }),
    ("certificate", "a word dropped", |artifact, _, random| {
        line(artifact, random, |line, random| {
            let mut words: Vec<&str> = line.split(' ').collect();
            words.remove(random.below(words.len()));
            words.join(" ")
        })
    }),
    ("certificate", "a word twice", |artifact, _, random| {
        line(artifact, random, |line, random| {
            let mut words: Vec<&str> = line.split(' ').collect();
            let place = random.below(words.len());
            words.insert(place, words[place]);
            words.join(" ")
        })
    }),
    ("certificate", "a word for another of the format", |artifact, _, random| {
        let known = [
            "certified",
            "measured",
            "exact-on-grid",
            "box",
            "integers",
            "distinct-integers",
            "space",
            "lp",
            "sup",
            "softmax",
            "average",
            "linformer",
            "performer",
            "f32",
            "f64",
            "yes",
            "no",
            "*",
            "0",
            "1",
            "2",
            "1/3",
        ];
        let other = *random.of(&known);
        word(artifact, random, |word| known.contains(&word), |_| other.to_owned())
    }),
    ("certificate", "a line dropped", |artifact, _, random| {
        lines(artifact, random, |lines, at, _| drop(lines.remove(at)))
    }),
    ("certificate", "a line twice", |artifact, _, random| {
        lines(artifact, random, |lines, at, _| lines.insert(at, lines[at].clone()))
    }),
    ("certificate", "two lines swapped", |artifact, _, random| lines(artifact, random, |lines, a, b| lines.swap(a, b))),
    ("certificate", "cut off", |artifact, _, random| {
        let end = random.below(artifact.certificate.len());
        Some(Artifact { certificate: artifact.certificate[..end].to_vec(), ..artifact.clone() })
    }),
    ("certificate", "a line of another one", |artifact, other, random| {
        line(artifact, random, |line, random| {
            let first = line.split(' ').next();
            let same: Vec<&str> = other.text().lines().filter(|line| line.split(' ').next() == first).collect();
            if same.is_empty() { line.to_owned() } else { (*random.of(&same)).to_owned() }
        })
    }),
    ("certificate", "the rest of another one", |artifact, other, random| {
        let (own, other): (Vec<&str>, Vec<&str>) = (artifact.text().lines().collect(), other.text().lines().collect());
        let place = 3 + random.below(own.len().min(other.len()) - 3);
        let text = [&own[..place], &other[place..]].concat().join("\n") + "\n";
        Some(Artifact { certificate: text.into_bytes(), ..artifact.clone() })
    }),
    ("certificate", "a bit", |artifact, _, random| {
        Some(Artifact { certificate: flipped(&artifact.certificate, random), ..artifact.clone() })
    }),
    ("weights", "+ 1 ulp", |artifact, _, random| weight(artifact, random, |weights, x, _| weights.neighbour(x, true))),
    ("weights", "- 1 ulp", |artifact, _, random| weight(artifact, random, |weights, x, _| weights.neighbour(x, false))),
    ("weights", "+ 1", |artifact, _, random| weight(artifact, random, |_, x, _| x + 1.0)),
    ("weights", "- 1", |artifact, _, random| weight(artifact, random, |_, x, _| x - 1.0)),
    ("weights", "the other sign", |artifact, _, random| weight(artifact, random, |_, x, _| -x)),
    ("weights", "0", |artifact, _, random| weight(artifact, random, |_, _, _| 0.0)),
    ("weights", "doubled", |artifact, _, random| weight(artifact, random, |_, x, _| 2.0 * x)),
    ("weights", "times 1 + 2^-12", |artifact, _, random| weight(artifact, random, |_, x, _| x * (1.0 + 1.0 / 4096.0))),
    ("weights", "another one's value", |artifact, _, random| {
        weight(artifact, random, |weights, _, random| weights.get(random.below(weights.len())))
    }),
    ("weights", "very large", |artifact, _, random| {
        weight(artifact, random, |weights, _, _| if weights.size == 8 { 1e308 } else { 3e38 })
    }),
    ("weights", "two swapped", |artifact, _, random| {
        let mut weights = Weights::of(artifact);
        let tensors = weights.tensors();
        let (_, range) = random.of(&tensors);
        let (a, b) = (range.start + random.below(range.len()), range.start + random.below(range.len()));
        let (x, y) = (weights.get(a), weights.get(b));
        weights.set(a, y);
        weights.set(b, x);
        Some(with_weights(artifact, weights.bytes()))
    }),
    ("weights", "a bit", |artifact, _, random| {
        let mut weights = Weights::of(artifact);
        weights.data = flipped(&weights.data, random);
        Some(with_weights(artifact, weights.bytes()))
    }),
    ("weights", "those of another model", |artifact, other, _| Some(with_weights(artifact, other.weights.clone()))),
    ("target", "a number ± 1", |artifact, _, random| {
        let step = *random.of(&[-1, 1]);
        node(
            artifact,
            random,
            |node| node.as_str().is_some_and(|text| text.parse::<i64>().is_ok()),
            |node, _| {
                *node =
                    json!((node.as_str().and_then(|text| text.parse::<i64>().ok()).unwrap_or(0) + step).to_string());
            },
        )
    }),
    ("target", "a number by a little", |artifact, _, random| {
        let other = *random.of(&["1/1024", "1/10000000", "1000000000", "1/1000000000000000000000000000000"]);
        node(
            artifact,
            random,
            |node| node.get("number").is_some(),
            |node, _| {
                *node = json!({"binary": ["add", node, {"number": other}]});
            },
        )
    }),
    ("target", "a count ± 1", |artifact, _, random| {
        let step = *random.of(&[-1, 1]);
        node(
            artifact,
            random,
            |node| node.as_i64().is_some(),
            |node, _| *node = json!(node.as_i64().unwrap_or(0) + step),
        )
    }),
    ("target", "another operator", |artifact, _, random| {
        let groups: [&[&str]; 4] = [
            &["add", "sub", "mul", "div", "mod"],
            &["less", "less-equal", "greater", "greater-equal", "equal", "not-equal"],
            &["sum", "mean", "var", "max", "min", "count"],
            &["exp", "log", "sqrt", "tanh", "sin", "cos", "abs", "relu", "floor"],
        ];
        let of = move |node: &Value| groups.into_iter().find(|group| group.iter().any(|name| *node == **name));
        node(
            artifact,
            random,
            |node| of(node).is_some(),
            |node, random| {
                if let Some(group) = of(node) {
                    *node = json!(random.of(group));
                }
            },
        )
    }),
    ("target", "another leaf", |artifact, _, random| {
        let leaves = [json!("token"), json!("index"), json!("length"), json!("running"), json!({"number": "1"})];
        let is_leaf = leaves.clone();
        node(artifact, random, |node| is_leaf.contains(node), |node, random| *node = random.of(&leaves).clone())
    }),
    ("target", "two operands swapped", |artifact, _, random| {
        node(
            artifact,
            random,
            |node| node.as_array().is_some_and(|all| all.len() > 1),
            |node, random| {
                if let Some(all) = node.as_array_mut() {
                    let (a, b) = (random.below(all.len()), random.below(all.len()));
                    all.swap(a, b);
                }
            },
        )
    }),
    ("target", "a part for another", |artifact, _, random| {
        let (file, parts) = (target(artifact), pointers(&target(artifact), &|node| node.is_object()));
        let other = file.pointer(random.of(&parts).as_str())?.clone();
        node(artifact, random, Value::is_object, |node, _| *node = other.clone())
    }),
    ("target", "a field dropped", |artifact, _, random| {
        node(artifact, random, Value::is_object, |node, random| {
            if let Some(object) = node.as_object_mut() {
                let name = random.of(&object.keys().cloned().collect::<Vec<_>>()).clone();
                object.shift_remove(&name);
            }
        })
    }),
    ("target", "a field more", |artifact, _, random| {
        let name = *random.of(&["name", "text", "kind", "domain", "note", "number"]);
        node(artifact, random, Value::is_object, |node, _| node[name] = json!("1"))
    }),
    ("target", "a byte", |artifact, _, random| {
        Some(Artifact { target: replaced(&artifact.target, random), ..artifact.clone() }.hashed())
    }),
    ("target", "that of another model", |artifact, other, _| {
        Some(Artifact { target: other.target.clone(), ..artifact.clone() }.hashed())
    }),
    ("header", "a byte", |artifact, _, random| {
        let (weights, text) = header(artifact);
        let text = String::from_utf8(replaced(text.as_bytes(), random)).ok()?;
        Some(with_weights(artifact, weights.bytes_with(&text)))
    }),
    ("header", "a digit", |artifact, _, random| {
        let (weights, mut text) = header(artifact);
        let digits: Vec<usize> =
            text.bytes().enumerate().filter(|(_, b)| b.is_ascii_digit()).map(|(at, _)| at).collect();
        let place = *random.of(&digits);
        text.replace_range(place..=place, &random.below(10).to_string());
        Some(with_weights(artifact, weights.bytes_with(&text)))
    }),
    ("header", "two tensors' names swapped", |artifact, _, random| {
        let (weights, text) = header(artifact);
        let tensors = weights.tensors();
        let [a, b] = [random.of(&tensors), random.of(&tensors)].map(|(name, _)| format!("\"{name}\""));
        let text = text.replacen(&a, "\"?\"", 1).replacen(&b, &a, 1).replacen("\"?\"", &b, 1);
        Some(with_weights(artifact, weights.bytes_with(&text)))
    }),
    ("header", "a tensor dropped", |artifact, _, random| {
        let weights = Weights::of(artifact);
        let name = random.of(&weights.tensors()).0.clone();
        Some(with_weights(artifact, weights.with_header(|header| drop(header.shift_remove(&name))).bytes()))
    }),
    ("header", "a shape turned round", |artifact, _, random| {
        let weights = Weights::of(artifact);
        let name = random.of(&weights.tensors()).0.clone();
        let turn = |header: &mut serde_json::Map<String, Value>| {
            header[&name]["shape"].as_array_mut().into_iter().for_each(|shape| shape.reverse());
        };
        Some(with_weights(artifact, weights.with_header(turn).bytes()))
    }),
    ("header", "metadata", |artifact, _, random| {
        let text = *random.of(&["a text", "", "{}"]);
        let weights = Weights::of(artifact)
            .with_header(|header| drop(header.insert("__metadata__".to_owned(), json!({"format": text}))));
        Some(with_weights(artifact, weights.bytes()))
    }),
    ("header", "a space", |artifact, _, random| {
        let (weights, mut text) = header(artifact);
        text.insert(random.below(text.len()), ' ');
        Some(with_weights(artifact, weights.bytes_with(&text)))
    }),
    ("header", "its length", |artifact, _, random| {
        let mut weights = artifact.weights.clone();
        weights[random.below(8)] ^= 1 << random.below(8);
        Some(with_weights(artifact, weights))
    }),
    ("header", "the file cut off or longer", |artifact, _, random| {
        let mut weights = artifact.weights.clone();
        weights.resize(weights.len() + 16 - random.below(33), 0);
        Some(with_weights(artifact, weights))
    }),
    ("not hashed", "a bit of the weights", |artifact, _, random| {
        Some(Artifact { weights: flipped(&artifact.weights, random), ..artifact.clone() })
    }),
    ("not hashed", "a bit of the target", |artifact, _, random| {
        Some(Artifact { target: flipped(&artifact.target, random), ..artifact.clone() })
    }),
];

fn flipped(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = random.below(bytes.len());
    bytes[place] ^= 1 << random.below(8);
    bytes
}

/// With another printable character somewhere.
fn replaced(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = random.below(bytes.len());
    bytes[place] = u8::try_from(32 + random.below(95)).expect("ASCII");
    bytes
}

/// Changes some line of the certificate.
#[expect(clippy::unnecessary_wraps, reason = "changes are functions of one type")]
fn line(artifact: &Artifact, random: &mut Random, change: impl Fn(&str, &mut Random) -> String) -> Option<Artifact> {
    let mut lines: Vec<String> = artifact.text().lines().map(str::to_owned).collect();
    let place = random.below(lines.len());
    lines[place] = change(&lines[place], random);
    Some(Artifact { certificate: (lines.join("\n") + "\n").into_bytes(), ..artifact.clone() })
}

/// Changes the lines of the certificate at two places.
#[expect(clippy::unnecessary_wraps, reason = "changes are functions of one type")]
fn lines(
    artifact: &Artifact,
    random: &mut Random,
    change: impl Fn(&mut Vec<String>, usize, usize),
) -> Option<Artifact> {
    let mut lines: Vec<String> = artifact.text().lines().map(str::to_owned).collect();
    let (a, b) = (random.below(lines.len()), random.below(lines.len()));
    change(&mut lines, a, b);
    Some(Artifact { certificate: (lines.join("\n") + "\n").into_bytes(), ..artifact.clone() })
}

/// Changes one of the words of the certificate that are wanted.
#[expect(clippy::unnecessary_wraps, reason = "changes are functions of one type")]
fn word(
    artifact: &Artifact,
    random: &mut Random,
    wanted: impl Fn(&str) -> bool,
    change: impl Fn(&str) -> String,
) -> Option<Artifact> {
    let mut words: Vec<Vec<String>> =
        artifact.text().lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect();
    let places: Vec<(usize, usize)> = (0..words.len())
        .flat_map(|line| (1..words[line].len()).map(move |at| (line, at)))
        .filter(|(line, at)| wanted(&words[*line][*at]))
        .collect();
    let (line, at) = *random.of(&places);
    words[line][at] = change(&words[line][at]);
    let text: String = words.iter().map(|words| words.join(" ") + "\n").collect();
    Some(Artifact { certificate: text.into_bytes(), ..artifact.clone() })
}

/// Changes some number of the weights.
#[expect(clippy::unnecessary_wraps, reason = "changes are functions of one type")]
pub fn weight(
    artifact: &Artifact,
    random: &mut Random,
    change: impl Fn(&Weights, f64, &mut Random) -> f64,
) -> Option<Artifact> {
    let mut weights = Weights::of(artifact);
    let place = random.below(weights.len());
    weights.set(place, change(&weights, weights.get(place), random));
    Some(with_weights(artifact, weights.bytes()))
}

fn header(artifact: &Artifact) -> (Weights, String) {
    let weights = Weights::of(artifact);
    let text = weights.text();
    (weights, text)
}

/// The places of the wanted parts of what a target means; its name and text are for people.
fn pointers(file: &Value, wanted: &impl Fn(&Value) -> bool) -> Vec<String> {
    fn collect(value: &Value, at: &str, wanted: &impl Fn(&Value) -> bool, into: &mut Vec<String>) {
        if wanted(value) {
            into.push(at.to_owned());
        }
        match value {
            Value::Array(all) => {
                all.iter().enumerate().for_each(|(k, part)| collect(part, &format!("{at}/{k}"), wanted, into));
            }
            Value::Object(all) => all
                .iter()
                .filter(|(name, _)| !at.is_empty() || !["name", "text"].contains(&name.as_str()))
                .for_each(|(name, part)| collect(part, &format!("{at}/{name}"), wanted, into)),
            _ => {}
        }
    }
    let mut into = Vec::new();
    collect(file, "", wanted, &mut into);
    into
}

/// Changes some part of the target that is wanted.
pub fn node(
    artifact: &Artifact,
    random: &mut Random,
    wanted: impl Fn(&Value) -> bool,
    change: impl Fn(&mut Value, &mut Random),
) -> Option<Artifact> {
    let mut file = target(artifact);
    let places = pointers(&file, &wanted);
    if places.is_empty() {
        return None;
    }
    change(file.pointer_mut(random.of(&places).as_str())?, random);
    Some(with_target(artifact, &file))
}

/// The checker's verdict, in a few words; a panic is no verdict.
pub fn said(artifact: &Artifact) -> String {
    match catch_unwind(AssertUnwindSafe(|| artifact.verdict())) {
        Ok(Verdict::Accepted(_)) => "accepted".to_owned(),
        Ok(Verdict::Rejected(reason)) => reason.obligation.to_owned(),
        Ok(Verdict::Declined(_)) => "declined".to_owned(),
        Err(_) => "panicked".to_owned(),
    }
}

/// Tries so many changes, of every kind in turn and of all the files.
pub fn run(families: &[Artifact], count: usize, seed: u64) -> Tally {
    let mut tally = Tally::default();
    let mut random = Random::new(seed);
    for place in 0.. {
        if tally.tried == count {
            break;
        }
        let (group, name, change) = KINDS[place % KINDS.len()];
        let artifact = &families[(place / KINDS.len() + place) % families.len()];
        let other = random.of(families);
        let Some(mutant) = change(artifact, other, &mut random).filter(|mutant| mutant != artifact) else { continue };
        let cells = artifact.line("cells").parse::<usize>().map_or(1, |cells| cells.max(1));
        examine(&mut tally, (group, name), mutant, cells);
    }
    tally
}

/// Has a mutant checked, and what is accepted examined.
pub fn examine(tally: &mut Tally, (group, name): (&'static str, &'static str), mutant: Artifact, cells: usize) {
    let said = said(&mutant);
    if said == "accepted" {
        match judge(&mutant, cells) {
            Truth::Holds => {}
            Truth::Fails(why) => tally.failures.push((format!("false accept, {group}, {name}: {why}"), mutant)),
            Truth::Unread(why) => {
                tally.failures.push((format!("not shown harmless, {group}, {name}: {why}"), mutant));
            }
        }
    } else if said == "panicked" {
        tally.failures.push((format!("a panic, {group}, {name}"), mutant));
    }
    tally.count(group, name, &said);
}
