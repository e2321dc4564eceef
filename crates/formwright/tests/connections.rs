//! Connections: softmax is over the keys that the block's layer of the cycle shows and no others, in every way of running it: our engine, the
//! enclosing reference, onnxruntime, and plain loops over the definition (`support/floats.rs`); and networks with connections as files.

use super::support::Random;
use super::support::floats::{self, Execution, Layers, Plain, Shape, judge};
use super::support::onnxruntime;
use formwright::artifact::tensors::{Skeleton, to_bytes};
use formwright::error::ErrorKind;
use formwright::eval::float::{Engine, Sequence};
use formwright::eval::reference::{self, Reference};
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::network::attention::average;
use formwright::network::{AttentionKind, AttentionRun, FloatNetwork, Mask, Precision};
use formwright::pattern::{Connections, Family, Pattern};
use serde_json::{Value, json};

const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];

/// A run of several blocks, blocks of other shapes, one across two stages, several heads with several values.
const RUNS: [Layers; 4] = [
    Layers { blocks: 1, attention: Some((0, 3, 1, 1)), feed_forward: Some((0, 2)) },
    Layers { blocks: 5, attention: Some((1, 2, 2, 3)), feed_forward: Some((1, 5)) },
    Layers { blocks: 1, attention: Some((1, 4, 3, 2)), feed_forward: Some((2, 33)) },
    Layers { blocks: 3, attention: Some((3, 1, 1, 5)), feed_forward: None },
];

fn plain(seed: u64, precision: Precision, tokens: usize) -> FloatNetwork {
    let shape = Shape { precision, tokens, dims: 2, output_dims: 2, width: 3, positions: false };
    floats::network(&mut Random::new(seed), shape, 4, &RUNS)
}

fn attention(network: &mut FloatNetwork) -> impl Iterator<Item = &mut AttentionRun> {
    network.runs.iter_mut().filter_map(|run| run.attention.as_mut())
}

fn with(mut network: FloatNetwork, cycle: &[Connections]) -> FloatNetwork {
    attention(&mut network).for_each(|run| run.connections = cycle.to_vec());
    network
}

fn pattern(name: &str, tokens: usize) -> Pattern {
    name.parse::<Family>().expect("a name").pattern(tokens).expect("a pattern")
}

fn by(tokens: usize, sees: impl Fn(usize, usize) -> bool) -> Connections {
    Connections::new((0..tokens).map(|i| (0..tokens).filter(|j| sees(i, *j)).collect()).collect()).expect("connections")
}

fn sequence(random: &mut Random, precision: Precision, tokens: usize) -> Sequence {
    let mut token = || (0..2).map(|_| floats::entry(random, precision, 2.0)).collect();
    (0..tokens).map(|_| token()).collect()
}

fn batch(seed: u64, precision: Precision, tokens: usize, count: usize) -> Vec<Sequence> {
    let random = &mut Random::new(seed);
    (0..count).map(|_| sequence(random, precision, tokens)).collect()
}

fn bits(outputs: &[Sequence]) -> Vec<u64> {
    outputs.iter().flatten().flatten().map(|y| y.to_bits()).collect()
}

/// One sequence, whose tokens lie side by side, and many, which do themselves; the sums are taken in the same order.
#[test]
fn connections_and_masks_that_say_the_same_are_the_same_bit_by_bit() {
    for precision in BOTH {
        for tokens in [1, 2, 7, 16, 33, 70] {
            let network = plain(tokens as u64, precision, tokens);
            let window = |w: i64| Mask { relative: (Some(-w), Some(w)), ..Mask::ALL };
            let cases = [
                (Mask::ALL, by(tokens, |_, _| true)),
                (Mask::CAUSAL, by(tokens, |i, j| j <= i)),
                (window(1), by(tokens, |i, j| i.abs_diff(j) <= 1)),
                (window(4), by(tokens, |i, j| i.abs_diff(j) <= 4)),
                (Mask { absolute: (None, Some(0)), ..Mask::ALL }, by(tokens, |_, j| j == 0)),
            ];
            for (mask, connections) in cases {
                let mut masked = network.clone();
                attention(&mut masked).for_each(|run| run.masks.fill(mask));
                let connected = Engine::new(&with(network.clone(), &[connections])).expect("an engine");
                let masked = Engine::new(&masked).expect("an engine");
                for count in [1, 3, 40] {
                    let batch = batch(count as u64, precision, tokens, count);
                    let [ours, theirs] = [&connected, &masked].map(|engine| engine.run(&batch).expect("a run"));
                    assert_eq!(bits(&ours), bits(&theirs), "{mask:?}, {count} of {tokens} tokens");
                }
            }
        }
    }
}

const NAMES: [&str; 9] =
    ["dense", "window:2", "star", "hub", "strided:3", "fixed:2", "bigbird:5", "random:2:7", "strided-causal:2"];

/// The engine within the enclosure of all executions; the reference next to plain loops in double precision.
#[test]
fn every_block_is_softmax_over_what_its_layer_shows() {
    for precision in BOTH {
        for (seed, name) in NAMES.into_iter().enumerate() {
            let network = with(plain(seed as u64, precision, 9), pattern(name, 9).cycle());
            let engine = Engine::new(&network).expect("an engine");
            let truth = Reference::new(&network).expect("a reference");
            let inputs = batch(seed as u64, precision, 9, 33);
            let together = engine.run(&inputs).expect("a run");
            for (i, x) in inputs.iter().enumerate() {
                let states = engine.trace(x).expect("states").into_iter().map(|(_, state)| state).collect();
                let output = engine.run(std::slice::from_ref(x)).expect("a run").remove(0);
                assert_eq!(bits(&together[i..=i]), bits(std::slice::from_ref(&output)), "{name}, sequence {i}");
                if let Err(place) = judge(&network, x, &Execution { states, output }) {
                    panic!("{name}, sequence {i}: {place}");
                }
            }
            let exact = |x: &f64| Rat::from_f64(*x).expect("finite");
            for x in &inputs[..3] {
                let input: Vec<Vec<Rat>> = x.iter().map(|token| token.iter().map(exact).collect()).collect();
                let (real, plain) =
                    (truth.run(&input).expect("a run"), Plain::dividing(Precision::F64).execute(&network, x));
                assert!(reference::distance(&real, &plain.output) < 1e-12, "{name}");
            }
        }
    }
}

/// The layers of a cycle are taken in turn: another order is another network.
#[test]
fn the_order_of_a_cycle_matters() {
    let cycle = pattern("strided:3", 9).cycle().to_vec();
    let turned: Vec<Connections> = cycle.iter().rev().cloned().collect();
    let x = batch(1, Precision::F64, 9, 1);
    let [one, other] = [cycle, turned].map(|cycle| {
        let network = with(plain(1, Precision::F64, 9), &cycle);
        Engine::new(&network).expect("an engine").run(&x).expect("a run")
    });
    assert_ne!(bits(&one), bits(&other));
}

/// A token that others do not see may hold what overflows: there is no 0 · ∞.
#[test]
fn keys_that_are_not_seen_may_be_infinite() {
    for precision in BOTH {
        for tokens in [6, 40] {
            // The last token is seen by itself alone.
            let last = tokens - 1;
            let connections = by(tokens, |i, j| (i == last) == (j == last));
            let mut network = with(plain(3, precision, tokens), &[connections]);
            attention(&mut network).for_each(|run| run.v.iter_mut().for_each(|v| *v *= 64.0));
            let engine = Engine::new(&network).expect("an engine");
            for count in [1, 40] {
                let small = batch(5, precision, tokens, count);
                let mut large = small.clone();
                let far = if precision == Precision::F32 { 2f64.powi(124) } else { 2f64.powi(1020) };
                for x in &mut large {
                    x[last].fill(far);
                }
                let [small, large] = [small, large].map(|batch| engine.run(&batch).expect("a run"));
                assert!(large.iter().all(|y| y[last].iter().any(|y| !y.is_finite())), "nothing overflows");
                for (small, large) in small.iter().zip(&large) {
                    assert_eq!(bits(&[small[..last].to_vec()]), bits(&[large[..last].to_vec()]));
                }
            }
        }
    }
}

#[test]
fn onnxruntime_goes_by_the_cycle() {
    let mut cases = Vec::new();
    for precision in BOTH {
        for (seed, name) in NAMES.into_iter().enumerate() {
            let network = with(plain(seed as u64, precision, 9), pattern(name, 9).cycle());
            let bytes = onnx::to_bytes(&network, &[], true).expect("an ONNX model");
            let file = (format!("{precision}-{seed}"), bytes, batch(seed as u64, precision, 9, 3));
            cases.push((network, file));
        }
        // Some runs with connections, some with masks.
        let mut mixed = with(plain(20, precision, 9), pattern("strided:3", 9).cycle());
        for run in attention(&mut mixed).take(1) {
            (run.connections, run.masks) = (Vec::new(), vec![Mask::CAUSAL; run.heads]);
        }
        let bytes = onnx::to_bytes(&mixed, &[], true).expect("an ONNX model");
        cases.push((mixed, (format!("{precision}-mixed"), bytes, batch(21, precision, 9, 3))));
    }
    let files: Vec<_> = cases.iter().map(|(_, file)| file.clone()).collect();
    for ((network, (name, _, inputs)), outputs) in cases.iter().zip(onnxruntime::run(&files)) {
        for (way, outputs) in &outputs.runs {
            let states = || std::iter::once("embed").chain(network.stages.iter().map(|stage| stage.name.as_str()));
            for (i, x) in inputs.iter().enumerate() {
                let states = states().map(|stage| outputs[&format!("stage.{stage}")][i].clone()).collect();
                let execution = Execution { states, output: outputs["y"][i].clone() };
                if let Err(place) = judge(network, x, &execution) {
                    panic!("{name}, {way}: sequence {i}, {place}");
                }
            }
        }
    }
}

type Change = fn(&mut FloatNetwork);

/// Networks that are refused, and why: the same in the engine, the reference, the file and the export.
#[test]
fn networks_whose_connections_do_not_fit_are_refused() {
    fn first(network: &mut FloatNetwork) -> &mut AttentionRun {
        attention(network).next().expect("attention")
    }
    let cases: [(Change, &str); 5] = [
        (|n| first(n).masks[2] = Mask::CAUSAL, "block 0, head 2: it has a mask, and the block has connections"),
        (
            |n| first(n).connections[1] = pattern("dense", 8).layer(0).clone(),
            "block 0: layer 1 of its connections is for 8 tokens, not for 9",
        ),
        (|n| n.lengths = (8, 9), "block 0: layer 0 of its connections is for 9 tokens, not for 8 to 9"),
        (|n| n.lengths = (9, 10), "block 0: layer 0 of its connections is for 9 tokens, not for 9 to 10"),
        (
            |n| (first(n).kind, first(n).head_size) = (AttentionKind::plain(&average::FORMULA), 0),
            "block 0: average has no connections",
        ),
    ];
    for (change, expected) in cases {
        let mut network = with(plain(1, Precision::F32, 9), pattern("strided:3", 9).cycle());
        assert!(Engine::new(&network).is_ok() && to_bytes(&network).is_ok());
        change(&mut network);
        let expected = format!("this is no network: {expected}");
        for error in [
            Engine::new(&network).expect_err(&expected),
            Reference::new(&network).expect_err(&expected),
            to_bytes(&network).expect_err(&expected),
            onnx::to_bytes(&network, &[], false).expect_err(&expected),
        ] {
            assert_eq!((error.kind(), error.headline()), (ErrorKind::Input, expected.as_str()));
        }
    }
}

#[test]
fn connections_come_back_from_the_file() {
    for name in NAMES {
        let network = with(plain(2, Precision::F32, 9), pattern(name, 9).cycle());
        let bytes = to_bytes(&network).expect("bytes");
        let text = serde_json::to_string(&Skeleton::of(&network)).expect("JSON");
        let skeleton: Skeleton = serde_json::from_str(&text).expect("the skeleton that was written");
        assert_eq!(skeleton.read(&bytes, "model.safetensors").expect("the network that was written"), network);
    }
    let text = serde_json::to_string(&Skeleton::of(&plain(2, Precision::F32, 9))).expect("JSON");
    assert!(!text.contains("connections"), "nothing is written where there are none");
}

#[test]
fn malformed_connections_in_a_file_are_refused() {
    let network = with(plain(2, Precision::F32, 3), &[by(3, |i, j| i.abs_diff(j) <= 1)]);
    let bytes = to_bytes(&network).expect("bytes");
    let changed = |what: &str, connections: Value| {
        let mut skeleton = serde_json::to_value(Skeleton::of(&network)).expect("JSON");
        skeleton["runs"][1]["attention"]["connections"] = connections;
        let error = match serde_json::from_value::<Skeleton>(skeleton) {
            Ok(skeleton) => skeleton.read(&bytes, "model.safetensors").expect_err(what).to_string(),
            Err(error) => format!("serde: {error}"),
        };
        format!("> {what}\n{error}\n")
    };
    let messages = [
        changed("an empty cycle", json!([])),
        changed("no tokens", json!([[]])),
        changed("a token too few", json!([[[0], [1]]])),
        changed("a token too many", json!([[[0], [1], [2], [0]]])),
        changed("one layer for two tokens", json!([[[0], [1], [2]], [[0], [1]]])),
        changed("a token that there is not", json!([[[0, 1], [1, 3], [2]]])),
        changed("a token twice", json!([[[0, 1], [1, 0, 1], [2]]])),
        changed("a token that sees nothing", json!([[[0, 1], [], [2]]])),
        changed("half a token", json!([[[0, 0.5], [1], [2]]])),
        changed("a negative token", json!([[[0, -1], [1], [2]]])),
        changed("a name", json!("star")),
        changed("a layer that is not in a cycle", json!([[0, 1], [1], [2]])),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
