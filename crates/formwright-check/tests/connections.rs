//! Connections: which keys each token sees, block by block. CERTIFICATE.md, sections 1, 3 and 6; each hypothesis with a false claim.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::float_arithmetic, clippy::expect_used)]

use super::support::{Artifact, Head, accepted, on_box, on_integers, rejected};
use formwright_check::{Files, Verdict, check};

/// One layer: the keys of each token.
type Layer = &'static [&'static [usize]];

const TOKEN: &str = r#""token""#;
const OWN: Layer = &[&[0], &[1], &[2]];
const DENSE: Layer = &[&[0, 1, 2], &[0, 1, 2], &[0, 1, 2]];
const NEXT: Layer = &[&[1], &[2], &[0]];
const LAST: Layer = &[&[2], &[2], &[2]];
const SWAP: Layer = &[&[1], &[0], &[2]];
const OTHERS: Layer = &[&[1, 2], &[0, 2], &[0, 1]];
const HUB: Layer = &[&[0, 1, 2], &[0, 1], &[0, 2]];

/// A head that writes the average of what it sees to the second coordinate.
fn averaging() -> Head {
    Head { mask: "* * * * no", q: vec![0.0; 2], q_bias: 0.0, k: vec![0.0; 2], v: vec![1.0, 0.0], o: vec![0.0, 1.0] }
}

/// Three tokens of 0 and 1; the output is the average of what a token sees.
fn average(target: &str, cycle: &[Layer]) -> Artifact {
    let embed = [(1.0, 0.0), (0.0, 0.0)];
    let net = Artifact::new(on_integers(target, 0, 2), 3, "1/1000000000", &embed, &[0.0, 1.0]);
    net.attention(&[averaging()]).connections(cycle)
}

/// The mean of the tokens of a layer's lists, as an expression.
fn mean(layer: Layer) -> String {
    let equal = |word: &str, k: usize| format!(r#"{{"compare":["equal","{word}",{{"number":"{k}"}}]}}"#);
    let pairs = layer.iter().enumerate().flat_map(|(t, keys)| keys.iter().map(move |k| (t, *k)));
    let pairs = pairs.map(|(t, k)| format!(r#"{{"and":[{},{}]}}"#, equal("index", t), equal("running", k)));
    let filter = pairs.reduce(|a, b| format!(r#"{{"or":[{a},{b}]}}"#)).expect("connections");
    format!(r#"{{"aggregate":["mean","token",{filter}]}}"#)
}

#[test]
fn tokens_see_what_they_are_said_to() {
    for layer in [OWN, DENSE, NEXT, HUB] {
        for other in [OWN, DENSE, NEXT, HUB] {
            let claim = average(&mean(other), &[layer]);
            if layer == other { accepted(&claim) } else { rejected(&claim, "point") }
        }
    }
}

/// A run of blocks, of which each hands the coordinate of the one before on to its own; by layers in which a token sees one other, the output is the
/// input at these places.
fn handed_on(blocks: usize, cycle: &[Layer], places: &[usize]) -> Artifact {
    let places: Vec<String> = places.iter().map(|place| format!("\"{place}\"")).collect();
    let target = format!(r#"{{"gather":{{"table":["index",[{}]]}}}}"#, places.join(","));
    let width = blocks + 1;
    let unit = |place: usize| (0..width).map(move |r| f64::from(u8::from(r == place)));
    let embed: Vec<(f64, f64)> = unit(0).map(|weight| (weight, 0.0)).collect();
    let read_out: Vec<f64> = unit(blocks).collect();
    let mut net = Artifact::new(on_integers(&target, 0, 3), 3, "0", &embed, &read_out);
    net.runs = vec![format!("run {blocks} attention softmax 1 1 1 0"), "mask * * * * no".into()];
    for name in ["q", "k"] {
        net.tensor(&format!("0.attn.{name}"), &[blocks, 1, 1, width], vec![0.0; blocks * width]);
    }
    net.tensor("0.attn.q_bias", &[blocks, 1, 1], vec![0.0; blocks]);
    net.tensor("0.attn.v", &[blocks, 1, 1, width], (0..blocks).flat_map(unit).collect());
    net.tensor("0.attn.o", &[blocks, 1, width, 1], (1..=blocks).flat_map(unit).collect());
    net.connections(cycle)
}

#[test]
fn blocks_take_their_layers_of_the_cycle_in_turn() {
    let cycles: [&[Layer]; 6] =
        [&[NEXT], &[NEXT, SWAP], &[SWAP, NEXT], &[OWN, NEXT], &[NEXT, OWN, SWAP], &[OWN, OWN, OWN, SWAP]];
    let (mut held, mut failed) = (0, 0);
    for blocks in 1..=4 {
        let end = |cycle: &[Layer]| -> Vec<usize> {
            let seen = |place: usize, block: usize| cycle[block % cycle.len()][place][0];
            (0..3).map(|t| (0..blocks).rev().fold(t, seen)).collect()
        };
        for cycle in cycles {
            for other in cycles {
                let claim = handed_on(blocks, cycle, &end(other));
                if end(cycle) == end(other) {
                    accepted(&claim);
                    held += 1;
                } else {
                    rejected(&claim, "point");
                    failed += 1;
                }
            }
        }
    }
    assert!(held >= 36 && failed >= held, "{held} held, {failed} failed");
}

fn edited(artifact: &Artifact, from: &str, to: &str) -> Verdict {
    let (target, weights) = (artifact.target.as_bytes(), artifact.weights());
    let text = artifact.certificate(target, &weights);
    assert!(text.contains(from), "{from:?} is not in\n{text}");
    check(&Files { certificate: text.replacen(from, to, 1).as_bytes(), target, weights: &weights })
}

#[track_caller]
fn refused(artifact: &Artifact, from: &str, to: &str, obligation: &str) {
    let verdict = edited(artifact, from, to);
    let found = matches!(&verdict, Verdict::Rejected(reason) if reason.obligation == obligation);
    assert!(found, "{from:?} to {to:?}: {verdict}, expected {obligation}");
}

#[test]
fn connections_have_one_form() {
    let net = average(&mean(HUB), &[HUB]);
    assert_eq!(edited(&net, "bound 1/1000000000", "bound 1/2000000000").name(), "accepted");
    let (line, whole) = ("connections 1\n", "connections 1\nsees 0 1 2\nsees 0 1\nsees 0 2\n");
    let edits = [
        (line, ""),
        (line, "connections 0\n"),
        (line, "connections 01\n"),
        (line, "connections 2\n"),
        (line, "connections -1\n"),
        (line, "connections 1 1\n"),
        (line, "connections\n"),
        (line, "connections 1\nconnections 1\n"),
        (whole, "connections 0\n"),
        ("sees 0 2\n", ""),
        ("sees 0 2\n", "sees 0 2\nsees 0 2\n"),
        ("sees 0 2\n", "sees\n"),
        ("sees 0 2\n", "sees \n"),
        ("sees 0 2\n", "sees 0 2 \n"),
        ("sees 0 2\n", "sees 2 0\n"),
        ("sees 0 2\n", "sees 0 0 2\n"),
        ("sees 0 2\n", "sees 0 02\n"),
        ("sees 0 2\n", "sees 0 3\n"),
        ("sees 0 2\n", "sees 0 -1\n"),
        ("sees 0 2\n", "sees 0 *\n"),
        ("sees 0 2\n", "sees 0 2147483648\n"),
        ("mask * * * * no\nconnections", "connections"),
    ];
    for (from, to) in edits {
        refused(&net, from, to, "format");
    }
    // They stand behind the masks of their own run, and runs without attention have none.
    let forward = Artifact::new(on_integers(TOKEN, 0, 2), 1, "0", &[(1.0, 0.0)], &[1.0]);
    let forward = forward.forward(&[(&[0.0], 0.0, &[0.0])]);
    accepted(&forward);
    refused(&forward, "ff 1\n", "ff 1\nconnections 1\nsees 0\n", "format");
    // Two forms of the same: without connections everything is seen.
    accepted(&average(&mean(DENSE), &[DENSE]));
    assert_eq!(
        edited(&average(&mean(DENSE), &[DENSE]), "connections 1\nsees 0 1 2\nsees 0 1 2\nsees 0 1 2\n", "").name(),
        "accepted"
    );
}

#[test]
fn connections_fit_the_rest() {
    let net = average(&mean(HUB), &[HUB]);
    refused(&net, "mask * * * * no", "mask * * * * yes", "claim");
    refused(&net, "mask * * * * no", "mask * 2 * * no", "claim");
    refused(&net, "mask * * * * no", "mask * * 0 * no", "claim");
    refused(&net, "tokens 3 3", "tokens 2 3", "claim");
    refused(&net, "softmax 1 1 1 0", "average 1 0 1 0", "claim");
    refused(&net, "softmax 1 1 1 0", "linformer 1 1 1 1", "claim");
    // For another number of tokens there are too few lines, or too many.
    refused(&net, "tokens 3 3", "tokens 4 4", "format");
    refused(&net, "tokens 3 3", "tokens 2 2", "format");
}

/// Tokens that see different ones are not alike, wherever their inputs come from: every order counts.
#[test]
fn every_order_is_looked_at() {
    let index = |k: &str| format!(r#"{{"compare":["equal","index",{{"number":"{k}"}}]}}"#);
    let others = r#"{"call":["min",[{"binary":["sub",{"aggregate":["sum","token",null]},"token"]},{"number":"1"}]]}"#;
    // True where the tokens that are not one's own are sorted: that every output is token 2.
    let target = format!(r#"{{"if":[{},"token",{others}]}}"#, index("2"));
    rejected(&average(&target, &[LAST]), "point");
    accepted(&average(r#"{"gather":{"number":"2"}}"#, &[LAST]));
}

/// Two tokens, one or both of which see two.
const MORE: [Layer; 3] = [&[&[0], &[0, 1]], &[&[0, 1], &[1]], &[&[0, 1], &[0, 1]]];

/// With inputs anywhere in the box, a token that sees one key is exact and one that sees two is not: an average of two
/// is rounded.
#[test]
fn one_token_does_not_stand_for_those_that_see_more() {
    let zero = r#"{"kind":"table","tokens":2,"dims":1,"output_dims":1,"resolution":1,"symmetry":"none","values":[[["0"],["0"]]]}"#;
    let claim = |bound: &str, layer: Layer| {
        let net = Artifact::new(zero.into(), 2, bound, &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]).over_box(1, "1/2 1/2");
        net.attention(&[averaging()]).connections(&[layer])
    };
    // The good part is the one point of halves. Elsewhere outputs in [0, 1] are at most 1 from 0, in two tokens.
    accepted(&claim("3", &[&[0], &[1]]));
    accepted(&claim("3", &[&[1], &[0]]));
    for layer in MORE {
        rejected(&claim("3", layer), "integral");
        accepted(&claim("3001/1000", layer));
    }
    rejected(&claim("2999/1000", &[&[0], &[1]]), "integral");
}

/// On good parts of cells each token has its own keys.
#[test]
fn boxes_are_decided() {
    let claim = |bound: &str, layer: Layer| {
        let first = on_box(r#"{"gather":{"number":"0"}}"#);
        let net = Artifact::new(first, 2, bound, &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]).over_box(4, "0 0");
        net.attention(&[averaging()]).connections(&[layer])
    };
    // Within a cell of side 1/4 the output is 1/4 away at most, and 3/16 on average, in each of two tokens.
    accepted(&claim("2/5", &[&[0], &[0]]));
    rejected(&claim("1/4", &[&[0], &[0]]), "integral");
    rejected(&claim("2/5", &[&[0], &[0, 1]]), "integral");
    rejected(&claim("2/5", &[&[1], &[0]]), "integral");
}

/// A hundred blocks of a sweep in turns over a cycle, each perhaps followed by a block that does nothing.
fn swept(cycle: &[Layer], thresholds: [f64; 2], gains: [f64; 2], idle: bool) -> Artifact {
    let bound = "1000000000000000000000000000000";
    let net = Artifact::new(on_box(TOKEN), 3, bound, &[(1.0, 0.0)], &[1.0]).over_box(1, "1/2 1/2");
    let mut net = net.with("execution", "ieee-any-order f32");
    let blocks = if idle { 200 } else { 100 };
    net.runs = vec![format!("run {blocks} attention softmax 2 1 1 0")];
    net.runs.extend(["mask * * * * no".into(), "mask * * * * no".into()]);
    let of_heads = |values: [f64; 2]| -> Vec<f64> {
        (0..blocks).flat_map(|block| values.map(|x| if idle && block % 2 == 1 { 0.0 } else { x })).collect()
    };
    for (name, values) in [("q", [64.0; 2]), ("k", [1.0; 2]), ("v", [1.0; 2]), ("o", gains)] {
        net.tensor(&format!("0.attn.{name}"), &[blocks, 2, 1, 1], of_heads(values));
    }
    net.tensor("0.attn.q_bias", &[blocks, 2, 1], of_heads(thresholds.map(|b| -64.0 * b)));
    net.connections(cycle)
}

#[test]
fn sweeps_over_connections_are_swept() {
    let plain = [0.5, 1.5];
    let cycles: [&[Layer]; 4] = [&[DENSE], &[HUB], &[OTHERS, HUB], &[HUB, DENSE, OTHERS]];
    for cycle in cycles {
        for idle in [false, true] {
            accepted(&swept(cycle, plain, [1.0, -1.0], idle));
            rejected(&swept(cycle, plain, [3.0, -1.0], idle), "finite");
            rejected(&swept(cycle, [1.5, 0.5], [1.0, -1.0], idle), "finite");
        }
    }
}
