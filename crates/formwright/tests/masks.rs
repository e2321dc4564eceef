//! Masks and lengths: softmax is over the keys that a mask shows and no others, at every length that a network accepts, in every way of
//! running it: our engine, the enclosing reference, onnxruntime from one file, and plain loops over the definition (`support/floats.rs`).

use super::support::Random;
use super::support::floats::{self, Execution, Layers, Plain, Shape, judge};
use super::support::onnxruntime;
use formwright::artifact::tensors::{Skeleton, to_bytes};
use formwright::error::ErrorKind;
use formwright::eval::float::{Engine, Sequence};
use formwright::eval::reference::{self, Reference};
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::network::{FloatNetwork, Mask, Precision};
use serde_json::{Value, json};

const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];

/// Everything that a circuit asks of a mask, and what is left of the kinds.
const MASKS: [Mask; 10] = [
    Mask::ALL,
    Mask::CAUSAL,
    // Its own key and those behind it.
    Mask { relative: (Some(0), None), ..Mask::ALL },
    // A window of three.
    Mask { relative: (Some(-1), Some(1)), ..Mask::ALL },
    // Three before it, with a sink.
    Mask { relative: (Some(-3), Some(-1)), first: true, ..Mask::ALL },
    // Those strictly before it, with a sink.
    Mask { relative: (None, Some(-1)), first: true, ..Mask::ALL },
    // The first three.
    Mask { absolute: (Some(0), Some(2)), ..Mask::ALL },
    // From position 2 on, with a sink.
    Mask { absolute: (Some(2), None), first: true, ..Mask::ALL },
    // Position 0 alone.
    Mask { absolute: (None, Some(0)), ..Mask::ALL },
    // A window within a prefix, with a sink.
    Mask { relative: (Some(-2), Some(2)), absolute: (Some(1), Some(5)), first: true },
];

/// How many tokens the networks accept.
const LENGTHS: (usize, usize) = (1, 40);

fn below(random: &mut Random, end: usize) -> usize {
    usize::try_from(random.below(end as u64)).expect("small")
}

/// A network of those runs, of any length, whose heads have masks from the list, beginning with number `start`.
fn masked(seed: u64, precision: Precision, width: usize, runs: &[Layers], start: usize) -> FloatNetwork {
    let shape = Shape { precision, tokens: 6, dims: 2, output_dims: 2, width, positions: false };
    let stages = 1 + runs
        .iter()
        .flat_map(|run| [run.attention.map_or(0, |a| a.0), run.feed_forward.map_or(0, |f| f.0)])
        .max()
        .unwrap_or(0);
    let mut network = floats::network(&mut Random::new(seed), shape, stages, runs);
    network.lengths = LENGTHS;
    let mut next = MASKS.iter().cycle().skip(start);
    for attention in network.runs.iter_mut().filter_map(|run| run.attention.as_mut()) {
        attention.masks.fill_with(|| *next.next().expect("a cycle"));
    }
    network
}

/// A run of several blocks, blocks of other shapes, one across two stages, several heads with several values, a wide layer.
const RUNS: [Layers; 5] = [
    Layers { blocks: 1, attention: Some((0, 3, 1, 1)), feed_forward: Some((0, 2)) },
    Layers { blocks: 3, attention: Some((1, 2, 2, 3)), feed_forward: Some((1, 5)) },
    Layers { blocks: 1, attention: Some((1, 4, 3, 2)), feed_forward: Some((2, 33)) },
    Layers { blocks: 1, attention: None, feed_forward: Some((2, 1)) },
    Layers { blocks: 1, attention: Some((3, 1, 1, 5)), feed_forward: None },
];

/// A single attention layer.
const ONE: [Layers; 1] = [Layers { blocks: 1, attention: Some((0, 1, 2, 2)), feed_forward: None }];

fn sequence(random: &mut Random, precision: Precision, tokens: usize) -> Sequence {
    let mut token = || (0..2).map(|_| floats::entry(random, precision, 2.0)).collect();
    (0..tokens).map(|_| token()).collect()
}

fn exact(x: &Sequence) -> Vec<Vec<Rat>> {
    x.iter().map(|token| token.iter().map(|x| Rat::from_f64(*x).expect("finite")).collect()).collect()
}

/// The engine's execution of one sequence.
fn by_engine(engine: &Engine, x: &Sequence) -> Execution {
    let states = engine.trace(x).expect("states").into_iter().map(|(_, state)| state).collect();
    Execution { states, output: engine.run(std::slice::from_ref(x)).expect("a run").remove(0) }
}

/// The engine within the enclosure of all executions; the reference next to plain loops in double precision.
fn agree(network: &FloatNetwork, lengths: impl IntoIterator<Item = usize>) {
    let (engine, truth) = (Engine::new(network).expect("an engine"), Reference::new(network).expect("a reference"));
    for tokens in lengths {
        let x = sequence(&mut Random::new(tokens as u64), network.precision, tokens);
        if let Err(place) = judge(network, &x, &by_engine(&engine, &x)) {
            panic!("{:?}, {tokens} tokens: {place}", network.runs[0]);
        }
        let plain = Plain::dividing(Precision::F64).execute(network, &x);
        let real = truth.run(&exact(&x)).expect("a run");
        assert!(reference::distance(&real, &plain.output) < 1e-12, "{tokens} tokens");
        let states = truth.trace(&exact(&x)).expect("states");
        for ((name, real), plain) in states.iter().zip(&plain.states) {
            assert!(reference::distance(real, plain) < 1e-12, "{tokens} tokens, {name}");
        }
    }
}

#[test]
fn every_mask_is_softmax_over_what_it_shows() {
    for precision in BOTH {
        for start in 0..MASKS.len() {
            agree(&masked(start as u64, precision, 3, &ONE, start), 1..10);
        }
    }
}

#[test]
fn blocks_of_many_shapes_run_at_every_length() {
    for precision in BOTH {
        for (seed, width) in [(1, 1), (2, 2), (3, 3), (4, 5), (5, 8), (6, 12)] {
            let network = masked(seed, precision, width, &RUNS, width);
            agree(&network, [1, 2, 7]);
            // Exact numbers of many tokens take long.
            if width <= 3 {
                agree(&network, [33]);
            }
            // Only an embedding and a read-out.
            agree(&masked(seed, precision, width, &[], 0), [1, 2, 40]);
        }
    }
}

/// A hidden token has no influence at all, however large it is.
#[test]
fn hidden_keys_leave_no_trace() {
    for precision in BOTH {
        let mut causal = masked(9, precision, 4, &RUNS, 0);
        for attention in causal.runs.iter_mut().filter_map(|run| run.attention.as_mut()) {
            attention.masks.fill(Mask::CAUSAL);
        }
        let bytes = onnx::to_bytes(&causal, &[], false).expect("an ONNX model");
        let engine = Engine::new(&causal).expect("an engine");
        let mut x = sequence(&mut Random::new(3), precision, 9);
        let before = x.clone();
        x[6..].iter_mut().flatten().for_each(|entry| *entry *= 2f64.powi(30));
        let bits = |y: &Sequence| y[..6].iter().flatten().map(|y| y.to_bits()).collect::<Vec<_>>();
        let ours = engine.run(&[before.clone(), x.clone()]).expect("a run");
        assert_eq!(bits(&ours[0]), bits(&ours[1]));
        let outputs = &onnxruntime::run(&[("causal".to_owned(), bytes, vec![before, x])])[0];
        assert!(outputs.properties.is_empty());
        for (way, outputs) in &outputs.runs {
            assert_eq!(bits(&outputs["y"][0]), bits(&outputs["y"][1]), "{way}, {precision}");
        }
    }
}

/// One file, many lengths.
#[test]
fn onnxruntime_runs_one_file_at_every_length() {
    let networks = BOTH.into_iter().flat_map(|precision| {
        let several = (0..4).map(move |start| masked(start as u64, precision, 3, &RUNS, 2 * start));
        several.chain([masked(7, precision, 1, &RUNS, 5), masked(8, precision, 2, &[], 0)])
    });
    let mut cases = Vec::new();
    for (i, network) in networks.enumerate() {
        let bytes = onnx::to_bytes(&network, &[], true).expect("an ONNX model");
        for tokens in [1, 2, 5, 17] {
            let random = &mut Random::new(tokens as u64);
            let inputs: Vec<Sequence> = (0..2).map(|_| sequence(random, network.precision, tokens)).collect();
            cases.push((network.clone(), (format!("network-{i:02}-{tokens:02}"), bytes.clone(), inputs)));
        }
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

/// Sequences of several lengths in one batch, and one by one.
#[test]
fn a_batch_may_hold_several_lengths() {
    for precision in BOTH {
        let engine = Engine::new(&masked(4, precision, 5, &RUNS, 1)).expect("an engine");
        let random = &mut Random::new(8);
        let batch: Vec<Sequence> = (0..60)
            .map(|_| {
                let tokens = 1 + below(random, 3) * below(random, 13);
                sequence(random, precision, tokens)
            })
            .collect();
        let together = engine.run(&batch).expect("a run");
        let traced = engine.trace_batch(&batch).expect("states");
        for (i, x) in batch.iter().enumerate() {
            let alone = by_engine(&engine, x);
            assert_eq!(together[i], alone.output, "sequence {i}");
            assert!(traced.iter().zip(&alone.states).all(|((_, states), alone)| states[i] == *alone), "sequence {i}");
        }
    }
}

#[test]
fn sequences_of_other_lengths_are_refused() {
    let mut network = masked(1, Precision::F32, 2, &ONE, 1);
    (network.tokens, network.lengths) = (4, (3, 6));
    let (engine, truth) = (Engine::new(&network).expect("an engine"), Reference::new(&network).expect("a reference"));
    for tokens in [2, 7] {
        let x = vec![vec![0.5; 2]; tokens];
        let expected = format!("has {tokens} tokens, the network expects 3 to 6");
        let error = engine.run(&[vec![vec![0.5; 2]; 3], x.clone()]).expect_err(&expected);
        assert_eq!((error.kind(), error.headline()), (ErrorKind::Input, format!("sequence 1 {expected}").as_str()));
        let error = truth.run(&exact(&x)).expect_err(&expected);
        assert_eq!(error.headline(), format!("the sequence {expected}"));
    }
}

type Change = fn(&mut FloatNetwork);

/// Networks that are refused, and why: the same in the engine, the reference, the file and the export.
#[test]
fn networks_with_blind_queries_or_strange_lengths_are_refused() {
    fn mask(network: &mut FloatNetwork, head: usize, mask: Mask) {
        network.runs[1].attention.as_mut().expect("attention").masks[head] = mask;
    }
    let cases: [(Change, &str); 10] = [
        (|n| mask(n, 1, Mask { relative: (None, Some(-1)), ..Mask::ALL }), "block 1, head 1: token 0 of 1 sees no key"),
        (|n| mask(n, 0, Mask { relative: (Some(1), None), ..Mask::ALL }), "block 1, head 0: token 0 of 1 sees no key"),
        (|n| mask(n, 0, Mask { absolute: (Some(3), None), ..Mask::ALL }), "block 1, head 0: token 0 of 1 sees no key"),
        (
            |n| mask(n, 1, Mask { relative: (Some(-2), None), absolute: (None, Some(4)), ..Mask::ALL }),
            "block 1, head 1: token 7 of 8 sees no key",
        ),
        (
            |n| mask(n, 1, Mask { relative: (Some(2), Some(-2)), first: true, ..Mask::ALL }),
            "block 1, head 1: its relative positions go from 2 to -2",
        ),
        (|n| n.runs[1].attention.as_mut().expect("attention").masks.truncate(1), "block 1 has 1 masks for 2 heads"),
        (|n| n.lengths = (0, 9), "it is for 6 tokens, and accepts 0 to 9"),
        (|n| n.lengths = (7, 9), "it is for 6 tokens, and accepts 7 to 9"),
        (|n| n.lengths = (1, 5), "it is for 6 tokens, and accepts 1 to 5"),
        (|n| n.positions = Some(vec![0.0; 12]), "it has positions for 6 tokens, and accepts 1 to 40"),
    ];
    for (change, expected) in cases {
        let mut network = masked(1, Precision::F32, 2, &RUNS, 0);
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
fn masks_and_lengths_come_back_from_the_file() {
    let network = masked(2, Precision::F32, 3, &RUNS, 3);
    let bytes = to_bytes(&network).expect("bytes");
    let text = serde_json::to_string(&Skeleton::of(&network)).expect("JSON");
    let skeleton: Skeleton = serde_json::from_str(&text).expect("the skeleton that was written");
    assert_eq!(skeleton.read(&bytes, "model.safetensors").expect("the network that was written"), network);
}

#[test]
fn malformed_masks_and_lengths_in_a_file_are_refused() {
    let network = masked(2, Precision::F32, 3, &RUNS, 3);
    let bytes = to_bytes(&network).expect("bytes");
    let changed = |what: &str, change: &dyn Fn(&mut Value)| {
        let mut skeleton = serde_json::to_value(Skeleton::of(&network)).expect("JSON");
        change(&mut skeleton);
        let error = match serde_json::from_value::<Skeleton>(skeleton) {
            Ok(skeleton) => skeleton.read(&bytes, "model.safetensors").expect_err(what).to_string(),
            Err(error) => format!("serde: {error}"),
        };
        format!("> {what}\n{error}\n")
    };
    let mask = |what: &str, side: &str, limits: Value| {
        changed(what, &|s| s["runs"][1]["attention"]["masks"][0][side] = limits.clone())
    };
    let messages = [
        mask("half a position", "relative", json!([0.5, 1])),
        mask("a limit too few", "relative", json!([0])),
        mask("a limit too many", "absolute", json!([0, 1, 2])),
        mask("a limit beyond 2^63", "absolute", json!([null, u64::MAX])),
        mask("a limit that is text", "absolute", json!(["0", null])),
        mask("backwards", "relative", json!([1, 0])),
        mask("nothing to be seen", "absolute", json!([5, null])),
        mask("a sink that is a number", "first", json!(1)),
        mask("an unknown field", "last", json!(true)),
        changed("a field missing", &|s| {
            drop(s["runs"][1]["attention"]["masks"][0].as_object_mut().expect("an object").remove("first"));
        }),
        changed("a mask too many", &|s| {
            let masks = s["runs"][1]["attention"]["masks"].as_array_mut().expect("a list");
            masks.push(masks[0].clone());
        }),
        changed("no masks in the list", &|s| s["runs"][1]["attention"]["masks"] = json!([])),
        changed("a name for a mask", &|s| s["runs"][1]["attention"]["masks"] = json!("causal")),
        changed("10^18 heads", &|s| {
            s["runs"][1]["attention"] =
                json!({"stage": 1, "heads": 1_000_000_000_000_000_000_u64, "head_size": 2, "value_size": 3});
        }),
        changed("lengths from 0", &|s| s["lengths"] = json!([0, 9])),
        changed("backwards lengths", &|s| s["lengths"] = json!([9, 6])),
        changed("lengths without end", &|s| s["lengths"] = json!([1, u64::MAX])),
        changed("a length", &|s| s["lengths"] = json!(6)),
        changed("lengths that leave out the one it was built for", &|s| s["lengths"] = json!([1, 5])),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
