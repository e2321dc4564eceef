//! Circuits whose claims are proved line by line: on boxes, and on more integers than are told one by one. Weights, lines, ranges, masks and claims
//! are changed, one or two at a time; and tents of three units, of width 10^-6, are added to a gate, where nothing else gives them away.

use formwright::exact::Rat;
use serde_json::{Value, json};

use super::artifacts::{Artifact, F32, F64, circuit, normal_form};
use super::judge::Subject;
use super::mutants::{self, Kind, examine, node, said, weight};
use super::weights::{Weights, with_weights};
use super::{Random, Tally};

/// Small circuits, each of which is accepted by its lines.
pub fn families() -> Vec<Artifact> {
    let mut all = Vec::new();
    for (text, tokens) in [
        ("x - mean(x)", 3),
        ("x * mean(x)", 3),
        ("var(x)", 2),
        ("(x - mean(x)) / sqrt(var(x) + 1/2)", 2),
        ("exp(x) / sum(exp(x))", 3),
        ("log(sum(exp(x)))", 4),
        ("sum(exp(2 * x) * x) / sum(exp(2 * x))", 3),
        ("x / sqrt(sum(x^2) + 1/4)", 2),
        ("max(x) - x on [-1, 2]", 4),
        ("(max(x) - x)^2", 3),
        ("max(x, mean(x)) on [-1, 1]", 3),
        ("x[n - 1 - i]", 4),
        ("if i < 1 then 0 else x[i - 1]", 3),
        ("sum(x, j <= i)", 4),
        ("mean(x, j <= i)", 4),
        ("max(x, j <= i) - x[0]", 4),
        ("mean(x, j >= i - 1 and j <= i + 1)", 5),
        ("abs(x - mean(x)) + tanh(x)", 2),
        ("sin(3 * x) * x[0]", 2),
    ] {
        for precision in [F32, F64] {
            all.push(Artifact::new(
                &format!("{text}, {tokens} tokens, {precision}"),
                &circuit(text, tokens, precision),
            ));
        }
    }
    for text in ["x * mean(x)", "x^2 - mean(x)", "var(x)"] {
        let deep = circuit(text, 3, F64).with(|asked| drop(asked.own.insert("trade".to_owned(), "depth".to_owned())));
        all.push(Artifact::new(&format!("{text}, 3 tokens, deep"), &deep));
    }
    for kind in ["average", "linformer:2", "performer:2", "performer:2:constant", "sparse:hub", "sparse:hub@2"] {
        let other = circuit("x * mean(x)", 3, F64).with(|asked| asked.attention = Some(kind.to_owned()));
        all.push(Artifact::new(&format!("x * mean(x), 3 tokens, {kind}"), &other));
    }
    // Networks that are near their targets, and no nearer.
    for (text, basis, precision) in [
        ("tanh(x - mean(x))", "hats", F32),
        ("sin(x) * mean(x)", "hats", F64),
        ("sin(x) * mean(x)", "fit:4", F32),
        ("exp(x) * mean(x)", "fit:3", F64),
    ] {
        let near = normal_form(text, basis, "1/10", precision);
        all.push(Artifact::new(&format!("{text}, 2 tokens, {basis}, {precision}"), &near));
    }
    // More sequences than are examined, so that lines alone decide.
    for (text, tokens, precision) in [
        ("sum(x, j <= i) on integers 0..8", 8, F32),
        ("x[n - 1 - i] on integers 0..8", 8, F32),
        ("sort(x) on integers 0..6", 24, F32),
        ("count(x == x[i]) on integers 0..8", 16, F32),
        ("sum(x) mod 5 on integers 0..5", 40, F64),
        ("max(x) - x on integers 0..9", 12, F64),
        ("if x == max(x) then x else 0 on integers 0..6", 24, F32),
    ] {
        all.push(Artifact::new(&format!("{text}, {tokens} tokens, {precision}"), &circuit(text, tokens, precision)));
    }
    all
}

/// Where the lines that say what registers mean begin and end.
fn meanings(lines: &[String]) -> std::ops::Range<usize> {
    let from = lines.iter().position(|line| line.starts_with("meanings ")).unwrap_or(0);
    from..lines.len().saturating_sub(1)
}

/// Changes the lines of meanings.
fn said_otherwise(
    artifact: &Artifact,
    random: &mut Random,
    change: impl Fn(&mut Vec<String>, std::ops::Range<usize>, &mut Random) -> Option<()>,
) -> Option<Artifact> {
    let mut lines: Vec<String> = artifact.text().lines().map(str::to_owned).collect();
    let place = meanings(&lines);
    change(&mut lines, place, random)?;
    Some(Artifact { certificate: (lines.join("\n") + "\n").into_bytes(), ..artifact.clone() })
}

/// Changes one of the words of the lines of meanings that are wanted.
fn word(
    artifact: &Artifact,
    random: &mut Random,
    wanted: impl Fn(&str) -> bool,
    change: impl Fn(&str, &mut Random) -> String,
) -> Option<Artifact> {
    said_otherwise(artifact, random, |lines, place, random| {
        let mut words: Vec<Vec<String>> =
            lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect();
        let all = place.flat_map(|line| (1..words[line].len()).map(move |at| (line, at)));
        let places: Vec<(usize, usize)> = all.filter(|(line, at)| wanted(&words[*line][*at])).collect();
        if places.is_empty() {
            return None;
        }
        let (line, at) = *random.of(&places);
        words[line][at] = change(&words[line][at], random);
        lines[line] = words[line].join(" ");
        Some(())
    })
}

fn is_number(word: &str) -> bool {
    word.parse::<Rat>().is_ok()
}

/// A number of the weights that is not 0.
#[expect(clippy::unnecessary_wraps, reason = "every change may find nothing to change")]
fn there(artifact: &Artifact, random: &mut Random, change: impl Fn(f64) -> f64) -> Option<Artifact> {
    let mut weights = Weights::of(artifact);
    let places: Vec<usize> = (0..weights.len()).filter(|place| weights.get(*place) != 0.0).collect();
    let place = *random.of(&places);
    weights.set(place, change(weights.get(place)));
    Some(with_weights(artifact, weights.bytes()))
}

/// Places that only circuits have, or that are hit too rarely elsewhere.
const OWN: &[Kind] = &[
    ("weights", "one that is there: + 1 ulp", |artifact, _, random| {
        let weights = Weights::of(artifact);
        there(artifact, random, |x| weights.neighbour(x, true))
    }),
    ("weights", "one that is there: times 1 + 2^-12", |artifact, _, random| {
        there(artifact, random, |x| x * (1.0 + 1.0 / 4096.0))
    }),
    ("weights", "one that is there: times 1 - 2^-20", |artifact, _, random| {
        there(artifact, random, |x| x * (1.0 - 1.0 / 1_048_576.0))
    }),
    ("weights", "one that is there: 0", |artifact, _, random| there(artifact, random, |_| 0.0)),
    ("weights", "one that is there: the other sign", |artifact, _, random| there(artifact, random, |x| -x)),
    ("weights", "one that is there: halved", |artifact, _, random| there(artifact, random, |x| x / 2.0)),
    ("weights", "one where none was", |artifact, _, random| {
        weight(artifact, random, |_, x, random| if x == 0.0 { *random.of(&[1.0, -1.0, 0.5, 1e-3, 1e-9]) } else { x })
    }),
    ("meanings", "a whole number ± 1", |artifact, _, random| {
        let whole = |word: &str| word.parse::<i64>().is_ok();
        word(artifact, random, whole, |word, random| {
            word.parse::<i64>().map_or(word.to_owned(), |n| (n + random.of(&[-1, 1])).to_string())
        })
    }),
    ("meanings", "a number times another", |artifact, _, random| {
        word(artifact, random, is_number, |word, random| {
            let factor: Rat = random
                .of(&["2", "1/2", "-1", "0", "1048575/1048576", "1073741825/1073741824", "3"])
                .parse()
                .expect("a number");
            word.parse::<Rat>().map_or(word.to_owned(), |x| (x * factor).to_string())
        })
    }),
    ("meanings", "a number and a little", |artifact, _, random| {
        word(artifact, random, is_number, |word, random| {
            let step: Rat = random.of(&["1", "-1/2", "1/1024", "1/1000000000"]).parse().expect("a number");
            word.parse::<Rat>().map_or(word.to_owned(), |x| (x + step).to_string())
        })
    }),
    ("meanings", "a word for another", |artifact, _, random| {
        let groups: [&[&str]; 6] = [
            &["mean", "sum", "max"],
            &["add", "sub", "mul", "div", "max", "min"],
            &["exp", "log", "sqrt", "tanh", "sin", "cos", "abs", "relu", "negate"],
            &["yes", "no"],
            &["product", "select", "gather"],
            &["*", "0", "1", "-1"],
        ];
        let group = *random.of(&groups);
        word(artifact, random, |word| group.contains(&word), |_, random| (*random.of(group)).to_owned())
    }),
    ("meanings", "two words of a line swapped", |artifact, _, random| {
        said_otherwise(artifact, random, |lines, place, random| {
            let at = place.start + random.below(place.len());
            let mut words: Vec<&str> = lines[at].split(' ').collect();
            let (a, b) = (random.below(words.len()), random.below(words.len()));
            words.swap(a, b);
            lines[at] = words.join(" ");
            Some(())
        })
    }),
    ("meanings", "two lines swapped", |artifact, _, random| {
        said_otherwise(artifact, random, |lines, place, random| {
            let (a, b) = (place.start + random.below(place.len()), place.start + random.below(place.len()));
            lines.swap(a, b);
            Some(())
        })
    }),
    ("meanings", "a line dropped, and not counted", |artifact, _, random| {
        said_otherwise(artifact, random, |lines, place, random| {
            let droppable = |at: &usize| ["gate ", "head ", "holds "].iter().any(|word| lines[*at].starts_with(word));
            let places: Vec<usize> = place.filter(droppable).collect();
            let at = *random.of(&places);
            let held = lines.remove(at).starts_with("holds ");
            let layer = (0..at).rev().find(|at| lines[*at].starts_with("layer "))?;
            let mut words: Vec<String> = lines[layer].split(' ').map(str::to_owned).collect();
            let count = words.get_mut(if held { 2 } else { 1 })?;
            *count = (count.parse::<usize>().ok()?.checked_sub(1)?).to_string();
            lines[layer] = words.join(" ");
            Some(())
        })
    }),
    ("meanings", "a line of another place", |artifact, _, random| {
        said_otherwise(artifact, random, |lines, place, random| {
            let at = place.start + random.below(place.len());
            let first = lines[at].split(' ').next().map(str::to_owned);
            let same: Vec<String> = lines[place]
                .iter()
                .filter(|line| line.split(' ').next().map(str::to_owned) == first)
                .cloned()
                .collect();
            lines[at].clone_from(random.of(&same));
            Some(())
        })
    }),
    ("meanings", "those of another model", |artifact, other, _| {
        let (head, _) = artifact.text().split_once("\nmeanings ")?;
        let (_, rest) = other.text().split_once("\nmeanings ")?;
        Some(Artifact { certificate: format!("{head}\nmeanings {rest}").into_bytes(), ..artifact.clone() })
    }),
    ("claim", "a bound times another", |artifact, _, random| {
        let factor: Rat = random
            .of(&["1/2", "3/4", "15/16", "255/256", "65535/65536", "1048577/1048576", "0", "1/1000000"])
            .parse()
            .ok()?;
        let bound: Rat = artifact.line("bound").parse().ok()?;
        Some(artifact.with_line("bound", &(bound * factor).to_string()))
    }),
    ("claim", "other numbers of tokens", |artifact, _, random| {
        let mut words: Vec<i64> = artifact.line("tokens").split(' ').map(|n| n.parse().expect("a count")).collect();
        let at = random.below(2);
        words[at] = *random.of(&[words[at] + 1, words[at] - 1, 2 * words[at], 4096, 1]);
        Some(artifact.with_line("tokens", &format!("{} {}", words[0], words[1])))
    }),
    ("claim", "another mask", |artifact, _, random| {
        let mut lines: Vec<String> = artifact.text().lines().map(str::to_owned).collect();
        let places: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("mask ")).collect();
        if places.is_empty() {
            return None;
        }
        let at = *random.of(&places);
        let mut words: Vec<String> = lines[at].split(' ').map(str::to_owned).collect();
        let place = 1 + random.below(5);
        let all: &[&str] = if place == 5 { &["yes", "no"] } else { &["*", "0", "1", "-1", "2", "-2"] };
        (*random.of(all)).clone_into(&mut words[place]);
        lines[at] = words.join(" ");
        Some(Artifact { certificate: (lines.join("\n") + "\n").into_bytes(), ..artifact.clone() })
    }),
    ("claim", "a wider domain", |artifact, _, random| {
        let times: Rat = random.of(&["2", "3/2", "-1", "1025/1024", "1000"]).parse().ok()?;
        let end = random.below(2);
        let whole = *random.of(&[1, -1, 2, -3]);
        node(
            artifact,
            random,
            |node| node.get("interval").is_some() || node.get("integers").is_some(),
            |node, _| {
                if let Some(Value::Array(ends)) = node.get_mut("interval") {
                    let old: Rat = ends[end].as_str().and_then(|text| text.parse().ok()).expect("an end");
                    let moved = if old == Rat::ZERO { -times.clone() } else { old * times.clone() };
                    ends[end] = json!(moved.to_string());
                }
                if let Some(Value::Array(ends)) = node.get_mut("integers") {
                    ends[end] = json!(ends[end].as_i64().expect("an end") + whole);
                }
            },
        )
    }),
];

/// Tries so many changes, of every kind in turn and of all the files; every third has another change besides.
pub fn run(families: &[Artifact], count: usize, seed: u64) -> Tally {
    for artifact in families {
        assert_eq!(said(artifact), "accepted", "{}", artifact.name);
    }
    let shared = mutants::KINDS.iter().filter(|(group, name, _)| {
        let elsewhere = ["those of another model", "very large", "a field dropped", "a field more", "a byte"];
        ["weights", "target"].contains(group) && !elsewhere.contains(name)
    });
    let kinds: Vec<&Kind> = OWN.iter().chain(OWN).chain(shared).collect();
    let (mut tally, mut random) = (Tally::default(), Random::new(seed));
    for attempt in 0.. {
        if tally.tried == count {
            break;
        }
        let (group, name, change) = *kinds[attempt % kinds.len()];
        let (artifact, other) = (random.of(families), random.of(families));
        let Some(mut mutant) = change(artifact, other, &mut random) else { continue };
        let mut name = name;
        // A second change needs files that can still be taken apart.
        let readable = || serde_json::from_slice::<Value>(&mutant.target).is_ok() && Subject::read(&mutant).is_ok();
        if attempt % 3 == 2 && readable() {
            let (_, _, second) = **random.of(&kinds);
            if let Some(twice) = second(&mutant, other, &mut random) {
                (mutant, name) = (twice, "two changes");
            }
        }
        if mutant != *artifact {
            examine(&mut tally, (group, name), mutant, 1);
        }
    }
    tally
}

/// A unit: what it reads, what is added, and the register that it writes to, with its weight.
pub type Unit = (Vec<f64>, f64, usize, f64);

/// The files with some units more in the feed-forward layer of a run of one block.
pub fn with_units(artifact: &Artifact, run: usize, block: usize, units: &[Unit]) -> Artifact {
    let mut weights = Weights::of(artifact);
    let (width, old) = (weights.shape(&format!("{block}.ff.w1"))[2], weights.shape(&format!("{block}.ff.w1"))[1]);
    let mut data: Vec<f64> = Vec::new();
    let mut header = weights.header.clone();
    for (name, range) in weights.tensors() {
        let from = data.len();
        let numbers: Vec<f64> = range.map(|place| weights.get(place)).collect();
        let part = name.strip_prefix(&format!("{block}.ff."));
        match part {
            Some("w1") => data.extend(numbers.into_iter().chain(units.iter().flat_map(|unit| unit.0.clone()))),
            Some("b1") => data.extend(numbers.into_iter().chain(units.iter().map(|unit| unit.1))),
            Some("w2") => {
                for place in 0..width {
                    data.extend(&numbers[place * old..][..old]);
                    data.extend(units.iter().map(|unit| if unit.2 == place { unit.3 } else { 0.0 }));
                }
            }
            _ => data.extend(numbers),
        }
        let hidden = old + units.len();
        match part {
            Some("w1") => header[&name]["shape"] = json!([1, hidden, width]),
            Some("b1") => header[&name]["shape"] = json!([1, hidden]),
            Some("w2") => header[&name]["shape"] = json!([1, width, hidden]),
            _ => {}
        }
        header[&name]["data_offsets"] = json!([from * weights.size, data.len() * weights.size]);
    }
    weights.data = vec![0; data.len() * weights.size];
    data.into_iter().enumerate().for_each(|(place, number)| weights.set(place, number));
    weights.header = header;
    let mut lines: Vec<String> = artifact.text().lines().map(str::to_owned).collect();
    let at = (0..lines.len()).filter(|at| lines[*at].starts_with("run ")).nth(run).expect("a run");
    let (head, _) = lines[at].rsplit_once(' ').expect("a count");
    lines[at] = format!("{head} {}", old + units.len());
    let certificate = (lines.join("\n") + "\n").into_bytes();
    with_weights(&Artifact { certificate, ..artifact.clone() }, weights.bytes())
}

/// The runs of one block that have a feed-forward layer, with their blocks.
fn forward_runs(artifact: &Artifact) -> Vec<(usize, usize)> {
    let (mut block, mut found) = (0, Vec::new());
    for (run, line) in artifact.text().lines().filter(|line| line.starts_with("run ")).enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        if words[1] == "1" && words.contains(&"ff") {
            found.push((run, block));
        }
        block += words[1].parse::<usize>().expect("a count");
    }
    found
}

/// Half of the width of a tent.
const HALF: f64 = 5e-7;

/// A tent in a gate, over the very number that the gate reads at some token of some input; the lowest, of heights doubled, at which outputs there
/// are farther from the target than is claimed. Nothing if there is none.
fn tent(artifact: &Artifact, random: &mut Random) -> Option<(Artifact, &'static str)> {
    let subject = Subject::read(artifact).ok()?;
    let runs = forward_runs(artifact);
    if runs.is_empty() {
        return None;
    }
    let (run, block) = *random.of(&runs);
    let weights = Weights::of(artifact);
    let (w1, w2) = (weights.tensor(&format!("{block}.ff.w1")), weights.tensor(&format!("{block}.ff.w2")));
    let shape = weights.shape(&format!("{block}.ff.w1"));
    let (hidden, width) = (shape[1], shape[2]);
    let unit = random.below(hidden);
    let mut row = w1[unit * width..][..width].to_vec();
    let writes: Vec<usize> = (0..width).filter(|place| w2[place * hidden + unit] != 0.0).collect();
    if writes.is_empty() {
        return None;
    }
    let tokens = *random.of(&subject.lengths());
    let batch = subject.scattered(tokens, 12, random);
    let x = random.of(&batch).clone();
    let state = subject.before(run, &x)?;
    let name = match random.below(6) {
        // What reads another number is no part of the gate.
        0 => {
            for weight in &mut row {
                *weight *= 0.5;
            }
            "a tent that reads half of the number"
        }
        1 => {
            for weight in &mut row {
                *weight = -*weight;
            }
            "a tent that reads the negative"
        }
        _ => "a tent in a gate",
    };
    let s: f64 = row.iter().zip(random.of(&state)).map(|(weight, z)| weight * z).sum();
    let place = *random.of(&writes);
    let mut height = subject.bound() * 1.01 + 1e-300;
    for _ in 0..40 {
        let slope = height / HALF * if random.below(2) == 0 { 1.0 } else { -1.0 };
        let units: Vec<Unit> = [(HALF, 1.0), (0.0, -2.0), (-HALF, 1.0)]
            .map(|(shift, times)| (row.clone(), shift - s, place, times * slope))
            .into();
        let needle = with_units(artifact, run, block, &units);
        let spoilt = Subject::read(&needle).ok()?;
        if spoilt.off(std::slice::from_ref(&x), 2).ok()?[0] > subject.bound() {
            return Some((needle, name));
        }
        height *= 2.0;
    }
    None
}

/// Adds so many tents, each of which makes its claim false, and has them looked for.
pub fn tents(families: &[Artifact], count: usize, seed: u64) -> Tally {
    let (mut tally, mut random) = (Tally::default(), Random::new(seed));
    for _ in 0..100 * count {
        if tally.tried == count {
            break;
        }
        let artifact = random.of(families);
        let Some((needle, name)) = tent(artifact, &mut random) else { continue };
        let said = said(&needle);
        if ["accepted", "panicked"].contains(&said.as_str()) {
            tally.failures.push((format!("{said}: {name}"), needle));
        }
        tally.count("weights", name, &said);
    }
    tally
}
