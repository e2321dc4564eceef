//! Random bytes, random lines and broken artifacts: reading and checking always end, with a verdict and not with a panic.
//!
//! `cargo test --release -p formwright-check --test fuzz -- --ignored --nocapture` runs a million for each target.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::float_arithmetic, clippy::expect_used)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::support::{self, Artifact, Head, Random, on_box, on_integers, safetensors, seeing_all};
use formwright_check::{Certificate, Files, Verdict, check};

/// The hash of another file.
const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Words of the certificate's grammar, and some that are nearly.
const WORDS: [&str; 64] = [
    "formwright-certificate",
    "1",
    "sha256",
    "target.json",
    "model.safetensors",
    "badge",
    "certified",
    "measured",
    "exact-on-grid",
    "over",
    "box",
    "integers",
    "distinct-integers",
    "space",
    "norm",
    "lp",
    "sup",
    "bound",
    "assumptions",
    "assume",
    "tokens",
    "dims",
    "output-dims",
    "execution",
    "ieee-any-order",
    "f64",
    "f32",
    "width",
    "positions",
    "runs",
    "run",
    "attention",
    "softmax",
    "average",
    "linformer",
    "performer",
    "ff",
    "mask",
    "connections",
    "sees",
    "*",
    "yes",
    "no",
    "cells",
    "margins",
    "end",
    "0",
    "2",
    "3",
    "7",
    "-1",
    "-0",
    "00",
    "1/2",
    "2/4",
    "-1/3",
    "4095",
    "2147483647",
    "2147483648",
    "99999999999999999999",
    "1e9",
    "",
    "\t",
    "é",
];

/// Numbers and pieces of JSON, for targets and headers.
const PIECES: [&str; 60] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "null",
    "true",
    "0",
    "1",
    "-1",
    "3",
    "1e400",
    "0.1",
    "\"1/3\"",
    "\"0\"",
    "\"-2\"",
    "99999999999",
    "\"token\"",
    "\"index\"",
    "\"running\"",
    "\"length\"",
    "{\"number\":\"2\"}",
    "{\"number\":\"1/7\"}",
    "{\"number\":0}",
    "{\"negate\":\"token\"}",
    "{\"power\":[\"token\",4096]}",
    "{\"power\":[\"token\",2]}",
    "{\"gather\":\"index\"}",
    "{\"gather\":{\"number\":0}}",
    "{\"bound\":\"b\"}",
    "{\"sort\":\"token\"}",
    "{\"sort\":{\"sort\":\"token\"}}",
    "{\"table\":[\"index\",[1,2,3]]}",
    "{\"aggregate\":[\"sum\",\"token\",null]}",
    "{\"aggregate\":[\"max\",\"running\",null]}",
    "{\"aggregate\":[\"var\",\"token\",{\"compare\":[\"less\",\"running\",\"index\"]}]}",
    "{\"aggregate\":[\"mean\",{\"aggregate\":[\"sum\",\"token\",null]},null]}",
    "{\"call\":[\"exp\",[\"token\"]]}",
    "{\"call\":[\"log\",[\"token\"]]}",
    "{\"call\":[\"sqrt\",[\"token\"]]}",
    "{\"call\":[\"sin\",[\"token\"]]}",
    "{\"call\":[\"tanh\",[\"token\"]]}",
    "{\"call\":[\"clamp\",[\"token\",\"index\",\"length\"]]}",
    "{\"call\":[\"floor\",[{\"number\":\"7/2\"}]]}",
    "{\"binary\":[\"add\",\"token\",\"index\"]}",
    "{\"binary\":[\"div\",\"token\",\"token\"]}",
    "{\"binary\":[\"mod\",\"token\",{\"number\":3}]}",
    "{\"binary\":[\"mul\",\"token\",\"token\"]}",
    "{\"coordinate\":[\"token\",0]}",
    "{\"if\":[{\"compare\":[\"less\",\"token\",\"index\"]},\"token\",{\"number\":1}]}",
    "{\"interval\":[\"0\",\"1\"]}",
    "{\"interval\":[-1,\"1/3\"]}",
    "{\"integers\":[0,3]}",
    "{\"integers\":[-2,2]}",
    "\"F32\"",
    "\"F64\"",
    "\\u00e9",
    "\\ud800",
];

/// Lines of a certificate, and what else can stand there.
const CLAIMS: [(&str, &[&str]); 10] = [
    ("badge", &["measured", "exact-on-grid"]),
    ("over", &["box", "integers", "space", "distinct-integers 0", "distinct-integers -1/3"]),
    ("norm", &["sup", "lp 1", "lp 2", "lp 3/2", "lp 64", "lp 65", "lp 0"]),
    ("bound", &["0", "1/3", "-1", "100000", "1/9007199254740993"]),
    ("tokens", &["1 1", "1 2", "3 2", "0 0", "22 22", "4000 4096", "1 2147483647"]),
    ("dims", &["2", "0", "2147483647"]),
    ("output-dims", &["2", "0", "2147483647"]),
    ("execution", &["ieee-any-order f32", "ieee-any-order f64"]),
    ("width", &["2", "0", "2147483647"]),
    ("positions", &["0", "2", "3", "4096"]),
];

/// Numbers that are hard on arithmetic.
const NUMBERS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    3.0,
    0.1,
    1e300,
    -1e300,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    f64::INFINITY,
    f64::NAN,
    9_007_199_254_740_993.0,
];

/// Artifacts that are accepted, of every kind that is decided.
fn artifacts() -> Vec<Artifact> {
    let (token, sum) = (r#""token""#, r#"{"aggregate":["mean","token",null]}"#);
    let identity = Artifact::new(on_integers(token, 0, 3), 2, "0", &[(1.0, 0.0)], &[1.0]);
    let average = seeing_all(&[0.0, 0.0], &[0.0, 0.0], &[1.0, 0.0], &[0.0, 1.0]);
    let mean = Artifact::new(on_integers(sum, 0, 3), 3, "1/1000", &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]);
    let causal = Head { mask: "-1 0 * * yes", ..average.clone() };
    let table = r#"{"kind":"table","tokens":1,"dims":1,"output_dims":1,"resolution":2,"symmetry":"none","values":[[["0"]],[["1/2"]]]}"#;
    let step = Artifact::new(table.into(), 1, "1", &[(1.0, 0.0)], &[1.0]);
    let shift = |bias: f64| Head { q_bias: bias, ..seeing_all(&[64.0], &[1.0], &[1.0], &[1.0]) };
    let (up, down) = (shift(-16.0), Head { o: vec![-1.0], ..shift(-48.0) });
    vec![
        identity.clone().with("tokens", "1 3").forward(&[(&[1.0], -1.0, &[1.0]), (&[1.0], -1.0, &[-1.0])]),
        identity.clone().with("over", "distinct-integers 1").with("bound", "1"),
        mean.clone().attention(std::slice::from_ref(&average)),
        mean.clone()
            .with("bound", "2")
            .attention(std::slice::from_ref(&average))
            .connections(&[&[&[0], &[0, 1], &[0, 1, 2]], &[&[0, 2], &[1], &[2]]]),
        mean.clone()
            .with("execution", "ieee-any-order f32")
            .attention(&[average.clone(), average.clone()])
            .with("bound", "3"),
        mean.clone().with("bound", "2").attention(&[causal]).forward(&[(&[0.0, 1.0], 0.0, &[0.0, 0.0])]),
        mean.positions(&[&[0.0, 0.0], &[0.0, 1.0], &[0.0, 2.0]]).with("bound", "4").attention(&[average]),
        // So many tokens that cells are not cut into pieces, which would take seconds.
        Artifact::new(on_box(token), 22, "44", &[(1.0, 0.0)], &[1.0]).over_box(1, "0 1/8"),
        Artifact::new(on_box(token), 22, "9999", &[(1.0, 0.0)], &[1.0]).over_box(1, "1/8 1/8").attention(&[up, down]),
        step.over_box(2, "0 0").forward(&[(&[2.0], -1.0, &[0.0])]),
    ]
}

/// Bytes with a few changes.
fn broken(random: &mut Random, bytes: &[u8], pieces: &[&str]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(6)).min(bytes.len());
        let piece = match random.below(5) {
            0 => Vec::new(),
            1 => vec![random.byte()],
            2 => bytes[at..end].repeat(2),
            _ => random.of(pieces).as_bytes().to_vec(),
        };
        bytes.splice(at..end, piece);
    }
    bytes
}

/// A text with some of its words replaced by others of the grammar, or by each other.
fn other_words(random: &mut Random, text: &str) -> String {
    let mut lines: Vec<Vec<&str>> = text.split('\n').map(|line| line.split(' ').collect()).collect();
    for _ in 0..=random.below(3) {
        let (line, other) = (random.below(lines.len()), random.below(lines.len()));
        let place = random.below(lines[line].len());
        match random.below(6) {
            0 => {
                let words = lines[other].clone();
                lines[line] = words;
            }
            1 => lines.swap(line, other),
            2 => lines[line][place] = lines[other][random.below(lines[other].len())],
            3 => {
                // A certificate of other files.
                let hashes = lines.iter_mut().flatten().filter(|word| word.len() == HASH.len());
                hashes.take(1 + random.below(2)).for_each(|word| *word = HASH);
            }
            _ => lines[line][place] = *random.of(&WORDS),
        }
    }
    lines.iter().map(|line| line.join(" ")).collect::<Vec<_>>().join("\n")
}

/// A target with a part of it replaced by another expression: values stay whole, so that most can be read.
fn other_target(random: &mut Random, target: &str) -> String {
    let whole: Vec<&str> = PIECES.into_iter().filter(|piece| piece.starts_with('{') && piece.ends_with('}')).collect();
    let mut text = target.to_owned();
    for _ in 0..=random.below(3) {
        let words =
            ["\"token\"", "\"index\"", "\"length\"", "{\"number\":\"2\"}", "\"sum\"", "\"mean\"", "[0,1]", "[0,3]"];
        let word = *random.of(&words);
        let by = match word {
            "\"sum\"" | "\"mean\"" => {
                (*random.of(&["\"sum\"", "\"var\"", "\"max\"", "\"min\"", "\"count\""])).to_owned()
            }
            "[0,1]" | "[0,3]" => {
                (*random.of(&["[0,2]", "[-1,1]", "[1,0]", "[\"1/3\",\"2/3\"]", "[0,99999999]"])).to_owned()
            }
            _ => (*random.of(&whole)).to_owned(),
        };
        text = text.replacen(word, &by, 1);
    }
    text
}

/// Another claim about the same network: lines that can be read.
fn other_claim(random: &mut Random, artifact: &mut Artifact) {
    for _ in 0..=random.below(2) {
        let (field, values) = *random.of(&CLAIMS);
        let value = *random.of(values);
        artifact.set(field, value);
        if random.below(4) == 0 {
            artifact.hints = [format!("cells {}", random.of(&[0, 1, 5, 2_147_483_647])), "margins 1/3 2/3".into()];
        }
    }
}

/// Numbers, shapes and order of the tensors, changed.
fn other_tensors(random: &mut Random, artifact: &mut Artifact) {
    for _ in 0..=random.below(4) {
        let place = random.below(artifact.tensors.len());
        let tensor = &mut artifact.tensors[place];
        match random.below(12) {
            0 => drop(tensor.numbers.pop()),
            1 => tensor.shape.reverse(),
            2 => artifact.tensors.swap(0, place),
            3 => artifact.tensors.truncate(place.max(2)),
            _ => {
                if !tensor.numbers.is_empty() {
                    let entry = random.below(tensor.numbers.len());
                    let near = tensor.numbers[entry] + *random.of(&[1.0, -1.0, 0.25, 1e-17]);
                    tensor.numbers[entry] = if random.below(2) == 0 { near } else { *random.of(&NUMBERS) };
                }
            }
        }
    }
}

/// The header of a file of tensors with a few changes, of the length that it has or another.
fn other_header(random: &mut Random, weights: &[u8]) -> Vec<u8> {
    let length = usize::from(weights[0]) + 256 * usize::from(weights[1]);
    let header = broken(random, &weights[8..8 + length], &PIECES);
    let mut file = safetensors(&String::from_utf8_lossy(&header), &weights[8 + length..]);
    if random.below(8) == 0 {
        file[random.below(8)] = random.byte();
    }
    file
}

/// A certificate to be read: bytes, lines of the grammar's words, or a broken one.
fn text(random: &mut Random, valid: &[String]) -> Vec<u8> {
    match random.below(6) {
        0 => (0..random.below(80)).map(|_| random.byte()).collect(),
        1 => {
            let mut line = || (0..random.below(8)).map(|_| *random.of(&WORDS)).collect::<Vec<_>>().join(" ");
            (0..30).map(|_| line() + "\n").collect::<String>().into_bytes()
        }
        2 => {
            let text = random.of(valid).clone();
            broken(random, text.as_bytes(), &WORDS)
        }
        _ => {
            let text = random.of(valid).clone();
            other_words(random, &text).into_bytes()
        }
    }
}

/// Three files, broken somewhere, with their hashes made right again.
fn files(random: &mut Random, artifacts: &[Artifact]) -> [Vec<u8>; 3] {
    let mut artifact = random.of(artifacts).clone();
    let part = random.below(8);
    if matches!(part, 1 | 7) {
        other_claim(random, &mut artifact);
    }
    if matches!(part, 0 | 1) {
        other_tensors(random, &mut artifact);
    }
    if matches!(part, 1 | 2) {
        artifact.target = other_target(random, &artifact.target);
    }
    let weights = artifact.weights();
    let weights = if part == 3 { other_header(random, &weights) } else { weights };
    let target = artifact.target.as_bytes();
    let target = if part == 4 { broken(random, target, &PIECES) } else { target.to_vec() };
    let certificate = artifact.certificate(&target, &weights);
    let certificate = match part {
        5 => broken(random, certificate.as_bytes(), &WORDS),
        6 => other_words(random, &certificate).into_bytes(),
        _ => certificate.into_bytes(),
    };
    [certificate, target, weights]
}

/// Reads so many texts; how many were certificates.
fn read(seed: u64, texts: usize) -> usize {
    let hashed = |artifact: &Artifact| artifact.certificate(artifact.target.as_bytes(), &artifact.weights());
    let valid: Vec<String> = artifacts().iter().map(hashed).collect();
    let random = &mut Random(seed);
    let mut good = 0;
    for _ in 0..texts {
        let text = text(random, &valid);
        if let Ok(certificate) = Certificate::read(&text) {
            assert_eq!(certificate.to_string().as_bytes(), text);
            good += 1;
        }
    }
    good
}

/// Checks so many broken artifacts; how many had each verdict, and the longest time of one, with its number.
fn run(seed: u64, cases: usize) -> (BTreeMap<String, usize>, (Duration, usize)) {
    let artifacts = artifacts();
    let random = &mut Random(seed);
    let (mut counts, mut longest) = (BTreeMap::new(), (Duration::ZERO, 0));
    for case in 0..cases {
        let [certificate, target, weights] = files(random, &artifacts);
        let start = Instant::now();
        let verdict = check(&Files { certificate: &certificate, target: &target, weights: &weights });
        longest = longest.max((start.elapsed(), case));
        let name = match &verdict {
            Verdict::Accepted(_) => verdict.name().to_owned(),
            Verdict::Rejected(reason) | Verdict::Declined(reason) => {
                format!("{} {}", verdict.name(), reason.obligation)
            }
        };
        // A worker that panics is not heard of otherwise.
        assert!(!verdict.to_string().contains("interrupted"), "case {case} of seed {seed}: {verdict}");
        *counts.entry(name).or_default() += 1;
    }
    (counts, longest)
}

#[test]
fn what_is_broken_here_is_accepted_as_it_is() {
    artifacts().iter().for_each(support::accepted);
}

#[test]
fn no_text_brings_a_panic() {
    let good = read(1, 20_000);
    assert!(good > 500, "{good} texts could be read: the mutations are too wild");
}

#[test]
fn no_artifact_brings_a_panic() {
    // Side by side: nothing else of this program takes as long.
    let counts = std::thread::scope(|scope| {
        let parts: Vec<_> = [2, 5].into_iter().map(|seed| scope.spawn(move || run(seed, 3_000).0)).collect();
        let mut counts: BTreeMap<_, _> = BTreeMap::new();
        for (name, count) in parts.into_iter().flat_map(|part| part.join().expect("no panic")) {
            *counts.entry(name).or_insert(0) += count;
        }
        counts
    });
    let wanted = [
        "accepted",
        "rejected format",
        "rejected hash",
        "rejected weights",
        "rejected target",
        "rejected claim",
        "rejected finite",
        "rejected point",
        "rejected integral",
        "declined scope",
    ];
    for name in wanted {
        assert!(counts.get(name).is_some_and(|count| *count > 5), "{name} is hardly reached: {counts:?}");
    }
}

#[test]
#[ignore = "a million texts: minutes"]
fn a_million_texts_bring_no_panic() {
    let start = Instant::now();
    let good = read(3, 1_000_000);
    println!("1000000 texts in {:?}: {good} read", start.elapsed());
}

#[test]
#[ignore = "a million artifacts: many minutes"]
fn a_million_artifacts_bring_no_panic() {
    let start = Instant::now();
    let (counts, longest) = run(4, 1_000_000);
    println!("1000000 artifacts in {:?}, the longest {longest:?}: {counts:?}", start.elapsed());
}

/// Files that are small, well-formed and laborious.
fn laborious() -> Vec<(&'static str, Artifact)> {
    let nested =
        |open: &str, close: &str, depth: usize| format!("{}\"token\"{}", open.repeat(depth), close.repeat(depth));
    let plain = |each: &str, tokens| Artifact::new(on_integers(each, 0, 2), tokens, "0", &[(1.0, 0.0)], &[1.0]);
    let identity = plain("\"token\"", 2);
    let long = "7".repeat(4096);
    let own = Head { mask: "0 0 * * no", ..seeing_all(&[0.0], &[0.0], &[1.0], &[1.0]) };
    let masked = (0..400).fold(identity.clone(), |net, _| net.attention(std::slice::from_ref(&own)));
    let many = plain("{\"number\":0}", 4096).positions(&vec![[0.0].as_slice(); 4096]);
    let deep = (0..40).fold(identity.clone(), |net, _| net.forward(&[(&[1e300], 0.0, &[5e-324])]));
    vec![
        ("aggregates", plain(&nested("{\"aggregate\":[\"sum\",", ",null]}", 90), 2)),
        (
            "filters",
            plain(&nested("{\"aggregate\":[\"sum\",\"token\",{\"compare\":[\"less\",", ",\"token\"]}]}", 45), 2),
        ),
        ("sorts", plain(&nested("{\"sort\":", "}", 150), 2)),
        ("powers", plain(&nested("{\"power\":[", ",4096]}", 90), 2)),
        ("exponentials", plain(&nested("{\"call\":[\"exp\",[", "]]}", 60), 2)),
        ("brackets", plain(&"[".repeat(100_000), 2)),
        ("digits", identity.clone().with("bound", &format!("1/{long}"))),
        (
            "digits of a box",
            Artifact::new(on_box("\"token\""), 1, "2", &[(1.0, 0.0)], &[1.0])
                .over_box(9, &format!("1/{long} 1/{long}")),
        ),
        ("digits of a number", plain(&format!("{{\"number\":\"{long}/3\"}}"), 2)),
        ("lengths", masked.with("tokens", "4032 4096")),
        ("positions", Artifact { target: on_integers("{\"number\":0}", 0, 131_072), ..many.clone() }),
        ("tokens", plain("{\"aggregate\":[\"sum\",\"token\",null]}", 4096)),
        ("cells", Artifact { target: on_box("\"token\""), ..many }.over_box(131_072, "0 0")),
        ("far apart", deep),
        ("blocks", Artifact { runs: vec!["run 2147483647 ff 1".into()], ..identity.clone() }),
        ("heads", Artifact { runs: vec!["run 1 attention softmax 2147483647 1 1 0".into()], ..identity }),
    ]
}

#[test]
fn laborious_files_are_answered_without_the_labour() {
    for (name, artifact) in laborious() {
        let verdict = artifact.verdict();
        assert!(!verdict.to_string().contains("interrupted"), "{name}: {verdict}");
    }
}
