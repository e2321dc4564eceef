//! Heads that are not softmax (CERTIFICATE.md, sections 3 and 7): each hypothesis of a rule, and a claim without it.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::float_arithmetic)]

use super::support::{Artifact, accepted, declined, rejected};

const MEAN: &str = r#"{"aggregate":["mean","token",null]}"#;

/// A head of one value that reads the first register, and writes into the second one.
#[derive(Clone)]
struct Other {
    kind: &'static str,
    /// Mixtures or features.
    size: usize,
    /// Rows of queries and keys; `None` if there are none.
    query: Option<[f64; 3]>,
    key: Option<[f64; 3]>,
    value: f64,
    output: f64,
    /// The tensors of its own.
    own: Vec<(&'static str, usize, Vec<f64>)>,
    mask: &'static str,
}

const ALL: &str = "* * * * no";
const NONE: Option<[f64; 3]> = Some([0.0; 3]);

fn average() -> Other {
    Other { kind: "average", size: 0, query: None, key: None, value: 1.0, output: 1.0, own: Vec::new(), mask: ALL }
}

/// Two mixtures of four tokens.
fn linformer(value: f64, f: [f64; 8]) -> Other {
    let own = vec![("e", 4, vec![0.5, -0.25, 1.5, 2.0, 0.0, 1.0, -1.0, 0.125]), ("f", 4, f.to_vec())];
    Other { kind: "linformer", size: 2, query: NONE, key: NONE, value, own, ..average() }
}

/// Features in some directions.
fn performer(value: f64, w: &[f64]) -> Other {
    let own = vec![("w", 1, w.to_vec())];
    Other { kind: "performer", size: w.len(), query: NONE, key: NONE, value, own, ..average() }
}

/// The claim that the network computes the mean of four tokens of `[-1, 1]`; the third register is 1.
fn mean(head: &Other) -> Artifact {
    let target =
        format!(r#"{{"kind":"expression","ast":{{"body":{{"each":{MEAN}}},"domain":{{"interval":["-1","1"]}}}}}}"#);
    let embed = [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0)];
    let mut artifact = Artifact::new(target, 4, "1/1000000", &embed, &[0.0, 1.0, 0.0]);
    let rows = usize::from(head.query.is_some());
    artifact.runs.push(format!("run 1 attention {} 1 {rows} 1 {}", head.kind, head.size));
    artifact.runs.push(format!("mask {}", head.mask));
    if let (Some(query), Some(key)) = (head.query, head.key) {
        artifact.tensor("0.attn.q", &[1, 1, 1, 3], query.to_vec());
        artifact.tensor("0.attn.q_bias", &[1, 1, 1], vec![0.0]);
        artifact.tensor("0.attn.k", &[1, 1, 1, 3], key.to_vec());
    }
    for (name, side, numbers) in &head.own {
        artifact.tensor(&format!("0.attn.{name}"), &[1, 1, head.size, *side], numbers.clone());
    }
    artifact.tensor("0.attn.v", &[1, 1, 1, 3], vec![head.value, 0.0, 0.0]);
    artifact.tensor("0.attn.o", &[1, 1, 3, 1], vec![0.0, head.output, 0.0]);
    artifact.meaning(&[
        "meanings 2",
        "wire input 0",
        "wire mean 1 0 1 0 1",
        "layers 2",
        "layer 0 2",
        "holds 0 0 1 0 1",
        "holds 2 1 0",
        "layer 1 1",
        "head 1 0 1 1 1 0 0",
        "holds 1 0 1 1 1",
        "outputs 1",
        "output 0 1 1 1",
    ])
}

fn single(artifact: Artifact) -> Artifact {
    artifact.with("execution", "ieee-any-order f32")
}

/// The same with other words in the lines.
fn said(mut artifact: Artifact, from: &str, to: &str) -> Artifact {
    assert!(artifact.meanings.iter().any(|line| line == from), "there is no line {from}");
    for line in artifact.meanings.iter_mut().filter(|line| *line == from) {
        to.clone_into(line);
    }
    artifact
}

#[test]
fn an_average_is_a_mean_of_what_it_reads() {
    accepted(&mean(&average()));
    accepted(&single(mean(&average())));
    // For every number of tokens: none of them is in the weights.
    accepted(&mean(&average()).with("tokens", "1 64"));
    accepted(&mean(&Other { value: 4.0, output: 0.25, ..average() }).with("bound", "1/1000000000"));
    // Half of it, or of what it writes.
    declined(&mean(&Other { value: 0.5, ..average() }));
    declined(&mean(&Other { output: 0.5, ..average() }));
    declined(&mean(&Other { value: -1.0, ..average() }));
    // Seven roundings of f32 are more than this.
    declined(&single(mean(&average())).with("bound", "1/10000000"));
    // Sums overflow before they are divided.
    rejected(&mean(&Other { value: f64::MAX, output: 1.0 / f64::MAX, ..average() }), "weights");
    rejected(&mean(&Other { value: 2.0_f64.powi(1022), output: 2.0_f64.powi(-1022), ..average() }), "finite");
}

#[test]
fn what_looks_at_all_tokens_has_no_mask() {
    for head in [average(), linformer(0.25, [1.0; 8]), performer(0.25, &[0.5, 1.0])] {
        rejected(&mean(&Other { mask: "-1 0 * * no", ..head.clone() }), "claim");
        rejected(&mean(&Other { mask: "* * * * yes", ..head.clone() }), "claim");
        // The lines speak of other tokens than it sees.
        rejected(&said(mean(&head), "wire mean 1 0 1 0 1", "wire seen * 5 * * no mean 1 0 1 0 1"), "line");
    }
    let seen = said(mean(&average()), "wire mean 1 0 1 0 1", "wire seen * * * * no mean 1 0 1 0 1");
    accepted(&seen);
}

#[test]
fn a_linformer_is_the_sum_that_its_mixtures_add_up_to() {
    accepted(&mean(&linformer(0.25, [1.0; 8])));
    accepted(&single(mean(&linformer(0.25, [1.0; 8]))));
    // Twice as much of half of it; and mixtures that differ, but weigh every token alike.
    accepted(&mean(&linformer(0.125, [2.0; 8])));
    accepted(&mean(&linformer(0.25, [1.5, 0.5, 2.0, 1.0, 0.5, 1.5, 0.0, 1.0])));
    // Weights that do not add up to the number of tokens, one token that weighs more, and none.
    declined(&mean(&linformer(0.25, [2.0; 8])));
    declined(&mean(&linformer(0.25, [1.0, 1.0, 1.0, 1.5, 1.0, 1.0, 1.0, 1.0])));
    declined(&mean(&linformer(0.25, [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0])));
}

#[test]
fn what_cancels_between_mixtures_was_rounded_before() {
    // 2^30 and 2 - 2^30 for every token: each mixture is a sum of large numbers.
    let apart = |large: f64| {
        let (up, down) = ([large; 4], [2.0 - large; 4]);
        linformer(0.25, [up[0], up[1], up[2], up[3], down[0], down[1], down[2], down[3]])
    };
    accepted(&mean(&apart(4.0)));
    accepted(&mean(&apart(2.0_f64.powi(10))));
    declined(&mean(&apart(2.0_f64.powi(40))));
}

#[test]
fn a_linformer_has_no_scores() {
    let plain = linformer(0.25, [1.0; 8]);
    let (some, large) = (Some([1.0, 0.0, 0.0]), Some([2.0_f64.powi(1022), 0.0, 0.0]));
    // One of the two may be anything that is finite; mixtures of keys are too.
    accepted(&mean(&Other { key: some, ..plain.clone() }));
    accepted(&mean(&Other { query: some, ..plain.clone() }));
    declined(&mean(&Other { query: some, key: some, ..plain.clone() }));
    rejected(&mean(&Other { key: large, ..plain.clone() }), "finite");
    let mixed = vec![("e", 4, vec![2.0_f64.powi(1000); 8]), ("f", 4, vec![1.0; 8])];
    rejected(&mean(&Other { key: Some([2.0_f64.powi(30), 0.0, 0.0]), own: mixed, ..plain.clone() }), "finite");
    let summed = vec![("e", 4, vec![1.0; 8]), ("f", 4, vec![2.0_f64.powi(1000); 8])];
    let value = 2.0_f64.powi(30);
    rejected(&mean(&Other { value, output: 2.0_f64.powi(-1020), own: summed, ..plain.clone() }), "finite");
    // Weights of four tokens say nothing of three.
    rejected(&mean(&plain).with("tokens", "3 4"), "claim");
}

#[test]
fn a_performer_is_the_sum_times_what_its_features_add_up_to() {
    accepted(&mean(&performer(0.25, &[0.5, -1.0])));
    accepted(&mean(&performer(0.25, &[0.5, -1.0, 2.5])));
    accepted(&single(mean(&performer(0.25, &[0.5, -1.0, 2.5]))));
    declined(&mean(&performer(0.5, &[0.5, -1.0])));
    rejected(&mean(&performer(0.25, &[0.5])).with("tokens", "3 4"), "line");
}

/// A Performer whose queries and keys are the register that is 1.
fn constant(w: &[f64], output: f64) -> Other {
    let one = Some([0.0, 0.0, 1.0]);
    Other { query: one, key: one, output, ..performer(0.25, w) }
}

#[test]
fn features_of_numbers_are_numbers() {
    // (e^0 + e^(-1/2))/2
    let inverse = 1.0 / f64::midpoint(1.0, (-0.5_f64).exp());
    accepted(&mean(&constant(&[0.5, 0.25], inverse)));
    declined(&mean(&constant(&[0.5, 0.25], inverse * 1.001)));
    declined(&mean(&constant(&[0.5, 0.25], 1.0)));
    // Another direction, and exponentials that are off by 2^-20 in single precision, twice.
    declined(&mean(&constant(&[0.5, 0.26], inverse)));
    accepted(&single(mean(&constant(&[0.5, 0.25], inverse))).with("bound", "1/200000"));
    declined(&single(mean(&constant(&[0.5, 0.25], inverse))));
    // Both exponentials are 1 here, exactly.
    accepted(&single(mean(&constant(&[0.5, 0.5], 1.0))));
    // Queries and keys that some token changes.
    let reads = Some([2.0_f64.powi(-60), 0.0, 1.0]);
    declined(&mean(&Other { query: reads, ..constant(&[0.5, 0.25], inverse) }));
    declined(&mean(&Other { key: reads, ..constant(&[0.5, 0.25], inverse) }));
}

#[test]
fn features_neither_overflow_nor_vanish() {
    rejected(&mean(&constant(&[800.0, 0.25], 1.0)), "finite");
    declined(&mean(&constant(&[-800.0, 0.25], 1.0)));
    // Each is finite, and their product with a sum is not.
    rejected(&mean(&constant(&[600.0, 0.25], 2.0_f64.powi(-1000))), "finite");
}

/// The mean of four integers from 0 to 3, point by point.
fn at_points(head: &Other, bound: &str) -> Artifact {
    let mut artifact = mean(head);
    artifact.target = artifact.target.replace(r#""interval":["-1","1"]"#, r#""integers":[0,4]"#);
    artifact.meanings.clear();
    artifact.with("over", "integers").with("bound", bound)
}

#[test]
fn sums_of_integers_are_exact_where_dividing_is() {
    let four = performer(0.25, &[0.5, -1.0, 2.5, 0.0]);
    for head in [average(), linformer(0.25, [1.0; 8]), linformer(0.125, [2.0; 8]), four] {
        accepted(&at_points(&head, "0"));
        rejected(&at_points(&Other { value: head.value * 2.0, ..head.clone() }, "1/1000"), "point");
        rejected(&at_points(&Other { output: 0.5, ..head.clone() }, "1/1000"), "point");
        accepted(&at_points(&head, "0").with("execution", "ieee-any-order f32"));
    }
    // By thirds nothing is exact, and by two features not if somebody divides by their root.
    for artifact in [at_points(&average(), "0").with("tokens", "3 3"), at_points(&performer(0.25, &[0.5, -1.0]), "0")] {
        accepted(&artifact.clone().with("bound", "1/100000000000000"));
        rejected(&artifact, "point");
    }
    // Rows of a mixture that weigh every token alike, each by another number.
    let rows = linformer(0.25, [1.5, 1.5, 1.5, 1.5, 0.5, 0.5, 0.5, 0.5]);
    accepted(&at_points(&rows, "0"));
    // Weights that depend on the place, or on the token: nothing is said of single points.
    declined(&at_points(&linformer(0.25, [1.5, 1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0]), "1"));
    declined(&at_points(&linformer(0.25, [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0]), "1"));
    declined(&at_points(&constant(&[0.5, 0.5], 1.0), "1"));
    let reads = Some([1.0, 0.0, 0.0]);
    declined(&at_points(&Other { key: reads, ..linformer(0.25, [1.0; 8]) }, "1"));
    declined(&at_points(&Other { query: reads, ..performer(0.25, &[0.5]) }, "1"));
    // For every number of tokens an average is a mean.
    accepted(&at_points(&average(), "1/1000000000000000").with("tokens", "1 4"));
    rejected(&at_points(&linformer(0.25, [1.0; 8]), "0").with("tokens", "1 4"), "claim");
    rejected(&at_points(&Other { value: f64::MAX, ..average() }, "1"), "finite");
}

#[test]
fn kinds_from_elsewhere_are_declined_by_name() {
    let named = |kind| mean(&Other { kind, ..average() });
    let verdict = named("x-placed").verdict();
    assert!(verdict.to_string().contains("declined: scope: nothing is known of x-placed attention"), "{verdict}");
    for kind in ["x-2", "x--", "x-softmax", "x-x-"] {
        declined(&named(kind));
    }
    // Whatever its sizes are, and its tensors.
    declined(&mean(&Other { kind: "x-placed", size: 7, ..average() }));
    declined(&mean(&Other { kind: "x-placed", own: vec![("g", 4, vec![1.0; 8])], size: 2, ..average() }));
    for kind in ["x-", "x", "x-Placed", "x-two_words", "y-placed", "placed", "hardmax", "Average"] {
        rejected(&named(kind), "format");
    }
    // It says nothing about what is decided otherwise.
    rejected(&named("x-placed").with("tokens", "0 4"), "claim");
}
