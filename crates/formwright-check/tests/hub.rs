//! Rule *hub* (CERTIFICATE.md, section 7): one token adds up, and all others see it. Each hypothesis is taken away in turn.

#![allow(clippy::indexing_slicing)]

use super::support::{Artifact, Head, accepted, declined, on_box, rejected};

const TOKEN: &str = r#""token""#;
const MEAN: &str = r#"{"aggregate":["mean","token",null]}"#;
const SMALL: &str = "1/1000000000000";

/// Token 0 sees all, the others themselves.
const GATHER: &[&[usize]] = &[&[0, 1, 2], &[1], &[2]];
/// All see token 0.
const SPREAD: &[&[usize]] = &[&[0], &[0], &[0]];

fn head(v: [f64; 3], o: [f64; 3]) -> Head {
    let none = vec![0.0; 3];
    Head { mask: "* * * * no", q: none.clone(), q_bias: 0.0, k: none, v: v.into(), o: o.into() }
}

/// The token, what a hub adds up, and what all get of it.
fn network(each: &str, gather: &[&[usize]], spread: &[&[usize]], heads: [Head; 2]) -> Artifact {
    let [first, second] = heads;
    let embed = [(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
    Artifact::new(on_box(each), 3, SMALL, &embed, &[0.0, 0.0, 1.0])
        .attention(&[first])
        .connections(&[gather])
        .attention(&[second])
        .connections(&[spread])
        .forward(&[(&[0.0, 1.0, 0.0], 0.0, &[0.0, -1.0, 0.0]), (&[0.0, -1.0, 0.0], 0.0, &[0.0, 1.0, 0.0])])
}

fn plain() -> [Head; 2] {
    [head([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]), head([0.0, 1.0, 0.0], [0.0, 0.0, 1.0])]
}

const HUB: &str = "wire hub 0 1 0 1 0 1";
const ALL: &str = "wire mean 1 0 1 0 1";
const OUTPUT: &str = "output 0 1 2 1";

fn told(artifact: Artifact, [hub, mean, output]: [&str; 3]) -> Artifact {
    artifact.meaning(&[
        "meanings 3",
        "wire input 0",
        hub,
        mean,
        "layers 4",
        "layer 0 1",
        "holds 0 0 1 0 1",
        "layer 1 1",
        "head 1 0 1 1 1 0 0",
        "holds 1 0 1 1 1",
        "layer 1 1",
        "head 2 0 1 2 1 0 0",
        "holds 2 0 1 2 1",
        "layer 0 1",
        "holds 1 0 0",
        "outputs 1",
        output,
    ])
}

#[test]
fn a_hub_sees_all_and_others_see_themselves() {
    accepted(&told(network(MEAN, GATHER, SPREAD, plain()), [HUB, ALL, OUTPUT]));
    let other = |gather: &[&[usize]]| told(network(MEAN, gather, SPREAD, plain()), [HUB, ALL, OUTPUT]);
    // The mean of two tokens; of all, at another token; of two at a token that should see itself.
    rejected(&other(&[&[0, 1], &[1], &[2]]), "line");
    rejected(&other(&[&[0], &[0, 1, 2], &[2]]), "line");
    rejected(&other(&[&[0, 1, 2], &[0, 1], &[2]]), "line");
    rejected(&other(&[&[0, 1, 2], &[0], &[2]]), "line");
}

#[test]
fn all_see_the_hub_alone() {
    let other = |spread: &[&[usize]]| told(network(MEAN, GATHER, spread, plain()), [HUB, ALL, OUTPUT]);
    // Another token, which has what it read; itself; both.
    rejected(&other(&[&[1], &[1], &[1]]), "line");
    rejected(&other(&[&[0], &[1], &[0]]), "line");
    rejected(&other(&[&[0], &[0, 1], &[0]]), "line");
    // Scores, though of one key, have no rule here.
    let [first, second] = plain();
    let scored = Head { q_bias: 1.0, k: vec![1.0, 0.0, 0.0], ..second };
    declined(&told(network(MEAN, GATHER, SPREAD, [first, scored]), [HUB, ALL, OUTPUT]));
}

#[test]
fn what_a_hub_hands_on_is_what_it_has() {
    let network = |heads| network(MEAN, GATHER, SPREAD, heads);
    // Half of it; something else besides; the token itself.
    let [first, second] = plain();
    let taken = |v: [f64; 3]| network([first.clone(), Head { v: v.into(), ..second.clone() }]);
    rejected(&told(taken([0.0, 0.5, 0.0]), [HUB, ALL, OUTPUT]), "line");
    declined(&told(taken([0.5, 1.0, 0.0]), [HUB, ALL, OUTPUT]));
    declined(&told(taken([1.0, 0.0, 0.0]), [HUB, ALL, OUTPUT]));
    // A hub that adds up half of the token is half of the mean, and not the mean.
    let half = network([head([0.5, 0.0, 0.0], [0.0, 1.0, 0.0]), second]);
    declined(&told(half.clone(), [HUB, ALL, OUTPUT]));
    rejected(&told(half.clone(), ["wire hub 0 1/2 0 1 0 1", ALL, OUTPUT]), "line");
    let mut doubled = half;
    *doubled.numbers("read_out.weight") = vec![0.0, 0.0, 2.0];
    accepted(&told(doubled, ["wire hub 0 1/2 0 1 0 1", "wire mean 1/2 0 1 0 1", "output 0 1 2 2"]));
}

#[test]
fn a_hub_is_a_token_and_no_mean() {
    let network = |each| network(each, GATHER, SPREAD, plain());
    rejected(&told(network(MEAN), ["wire hub 3 1 0 1 0 1", ALL, OUTPUT]), "format");
    rejected(&told(network(MEAN), ["wire hub 1 1 0 1 0 1", ALL, OUTPUT]), "line");
    rejected(&told(network(MEAN), ["wire hub 0 0 0 1 0 1", ALL, OUTPUT]), "line");
    // At the other tokens a hub's wire is what is read.
    let mut read = network(MEAN);
    *read.numbers("read_out.weight") = vec![0.0, 1.0, 0.0];
    declined(&told(read, [HUB, ALL, "output 0 1 1 1"]));
    rejected(&told(network(TOKEN), [HUB, ALL, OUTPUT]), "point");
}
