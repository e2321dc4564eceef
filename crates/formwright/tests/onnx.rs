//! The exported ONNX model computes what the network says: onnxruntime's residual stream after the embedding and after every stage, and
//! its output, lie in the enclosure of everything that a correct execution may compute (`support/floats.rs`); and the enclosure is
//! narrow enough that a network with one thing changed falls out of it.
//!
//! `cargo test --release --test onnx -- --ignored --nocapture` runs a thousand networks.

#[path = "support/floats.rs"]
mod floats;
#[path = "support/onnxruntime.rs"]
mod onnxruntime;
mod support;

use std::collections::BTreeMap;

use floats::{Enclosure, Execution, Layers, Plain, Shape, execute, inside, judge};
use formwright::export::onnx;
use formwright::network::{FloatNetwork, Precision};
use onnxruntime::Batch;
use support::Random;

/// A network and what to run it on.
struct Case {
    name: String,
    network: FloatNetwork,
    inputs: Batch,
}

/// The executions of a batch, from the outputs by their names.
fn executions(network: &FloatNetwork, outputs: &BTreeMap<String, Batch>) -> Vec<Execution<f64>> {
    let names = network.stages.iter().map(|stage| stage.name.as_str());
    let names: Vec<String> = std::iter::once("embed").chain(names).map(|name| format!("stage.{name}")).collect();
    assert_eq!(outputs.len(), names.len() + 1, "outputs");
    let sequence = |i: usize| Execution {
        states: names.iter().map(|name| outputs[name][i].clone()).collect(),
        output: outputs["y"][i].clone(),
    };
    (0..outputs["y"].len()).map(sequence).collect()
}

fn model(network: &FloatNetwork) -> Vec<u8> {
    onnx::to_bytes(network, &[("made-for".to_owned(), "parity".to_owned())], true).expect("an ONNX model")
}

/// Shows parity for every case: in onnxruntime and in plain loops. Returns the widest enclosure.
fn parity(cases: &[Case]) -> f64 {
    let files: Vec<_> =
        cases.iter().map(|case| (case.name.clone(), model(&case.network), case.inputs.clone())).collect();
    let mut widest: f64 = 0.0;
    for (case, outputs) in cases.iter().zip(onnxruntime::run(&files)) {
        assert_eq!(outputs.properties, BTreeMap::from([("made-for".to_owned(), "parity".to_owned())]));
        let Case { name, network, inputs } = case;
        let plain = inputs.iter().map(|x| execute(&Plain(network.precision), network, x)).collect();
        let mut ways = vec![("plain loops", plain)];
        ways.extend(outputs.runs.iter().map(|(way, outputs)| (way.as_str(), executions(network, outputs))));
        for (way, executions) in ways {
            assert_eq!(executions.len(), inputs.len(), "{name}, {way}: the batch");
            for (i, (x, execution)) in inputs.iter().zip(&executions).enumerate() {
                match judge(network, x, execution) {
                    Ok(width) => widest = widest.max(width),
                    Err(place) => panic!("{name}, {way}: sequence {i}, {place}"),
                }
            }
        }
    }
    widest
}

fn inputs(random: &mut Random, shape: Shape, batch: usize) -> Batch {
    let mut token = || (0..shape.dims).map(|_| floats::entry(random, shape.precision, 1.0)).collect();
    let mut sequence = || (0..shape.tokens).map(|_| token()).collect();
    (0..batch).map(|_| sequence()).collect()
}

fn random_case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let mut from =
        |low: usize, high: usize| low + usize::try_from(random.below((high - low + 1) as u64)).expect("small");
    let shape = Shape {
        precision: if seed.is_multiple_of(2) { Precision::F32 } else { Precision::F64 },
        tokens: from(1, 4),
        dims: from(1, 3),
        output_dims: from(1, 3),
        width: from(1, 4),
        positions: from(0, 1) == 1,
    };
    let mut stage = 0;
    let runs: Vec<Layers> = (0..from(0, 4))
        .map(|_| {
            // Now and then a stage is left without layers.
            stage += from(0, 2);
            let blocks = if from(0, 1) == 0 { 1 } else { from(2, 50) };
            let kind = from(0, 2);
            let attention = (kind != 0).then(|| (stage, from(1, 2), from(1, 3), from(1, 3)));
            if kind == 2 && blocks == 1 {
                stage += from(0, 1);
            }
            Layers { blocks, attention, feed_forward: (kind != 1).then(|| (stage, from(1, 8))) }
        })
        .collect();
    let (stages, batch) = (stage + 1 + from(0, 1), from(1, 3));
    let network = floats::network(&mut random, shape, stages, &runs);
    Case { name: format!("random-{seed:04}"), inputs: inputs(&mut random, shape, batch), network }
}

const SMALL: Shape = Shape { precision: Precision::F32, tokens: 3, dims: 2, output_dims: 2, width: 3, positions: true };

/// One of everything: a single block across two stages, a run of whole blocks, a run of each sub-layer.
fn everything(precision: Precision) -> Case {
    let mut random = Random::new(7);
    let shape = Shape { precision, ..SMALL };
    let runs = [
        Layers { blocks: 1, attention: Some((0, 2, 2, 3)), feed_forward: Some((1, 4)) },
        Layers { blocks: 5, attention: Some((1, 2, 3, 1)), feed_forward: Some((1, 5)) },
        Layers { blocks: 4, attention: Some((2, 1, 2, 2)), feed_forward: None },
        Layers { blocks: 6, attention: None, feed_forward: Some((3, 3)) },
    ];
    let network = floats::network(&mut random, shape, 4, &runs);
    Case { name: format!("everything-{precision}"), inputs: inputs(&mut random, shape, 2), network }
}

#[test]
fn onnxruntime_computes_random_networks() {
    let cases: Vec<Case> = (0..40).map(random_case).collect();
    let widest = parity(&cases);
    // States are of the size of 1: the comparison says something.
    assert!(widest < 1e-3, "enclosures up to {widest:e} wide");
}

#[test]
#[ignore = "minutes"]
fn onnxruntime_computes_a_thousand_networks() {
    for start in (0..1000).step_by(100) {
        let widest = parity(&(start..start + 100).map(random_case).collect::<Vec<_>>());
        println!("from {start}: enclosures up to {widest:e} wide");
    }
}

/// Scores far apart: softmax is the maximum, and exponentials fall below the normal range or out of the format.
#[test]
fn onnxruntime_computes_sharp_attention() {
    let sharp = |precision: Precision, scale: f64| {
        let mut case = everything(precision);
        for run in &mut case.network.runs {
            for q in run.attention.iter_mut().flat_map(|a| a.q.iter_mut().chain(&mut a.q_bias)) {
                *q = precision.round(*q * scale);
            }
        }
        case.name = format!("sharp-{precision}-{scale}");
        case
    };
    let scales = [10.0, 100.0, 1000.0, 1e6];
    parity(&scales.map(|scale| sharp(Precision::F32, scale)));
    parity(&scales.map(|scale| sharp(Precision::F64, scale)));
}

type Change = fn(&mut FloatNetwork);

/// Everything that could be exported wrongly, one thing at a time.
fn changes() -> Vec<(&'static str, Change)> {
    fn swap(entries: &mut [f64], rows: usize, a: usize, b: usize) {
        let side = entries.len() / rows;
        for i in 0..side {
            entries.swap(a * side + i, b * side + i);
        }
    }
    vec![
        ("embed-bias", |n| n.embed.bias[0] = 1.5),
        ("no-positions", |n| n.positions = None),
        ("positions-swapped", |n| swap(n.positions.as_mut().expect("positions"), 3, 0, 1)),
        ("read-out-bias", |n| n.read_out.bias[1] = 1.5),
        ("single-q-bias", |n| n.runs[0].attention.as_mut().expect("attention").q_bias[0] = 1.5),
        ("single-o-heads", |n| swap(&mut n.runs[0].attention.as_mut().expect("attention").o, 2, 0, 1)),
        ("single-b2", |n| n.runs[0].feed_forward.as_mut().expect("a layer").b2[0] = 1.5),
        ("run-q-blocks", |n| swap(&mut n.runs[1].attention.as_mut().expect("attention").q, 5, 1, 3)),
        ("run-q-bias", |n| n.runs[1].attention.as_mut().expect("attention").q_bias[7] = 1.5),
        ("run-k-heads", |n| swap(&mut n.runs[1].attention.as_mut().expect("attention").k, 10, 0, 1)),
        ("run-v", |n| n.runs[1].attention.as_mut().expect("attention").v[0] = 1.5),
        ("run-o-blocks", |n| swap(&mut n.runs[1].attention.as_mut().expect("attention").o, 5, 0, 4)),
        ("run-w1-blocks", |n| swap(&mut n.runs[1].feed_forward.as_mut().expect("a layer").w1, 5, 0, 1)),
        ("run-w1-last", |n| *n.runs[3].feed_forward.as_mut().expect("a layer").b1.last_mut().expect("a bias") = 1.5),
        ("run-w2-blocks", |n| swap(&mut n.runs[3].feed_forward.as_mut().expect("a layer").w2, 6, 2, 3)),
        ("run-b2-last", |n| *n.runs[3].feed_forward.as_mut().expect("a layer").b2.last_mut().expect("a bias") = 1.5),
    ]
}

#[test]
fn a_changed_network_falls_out_of_the_enclosure() {
    for precision in [Precision::F32, Precision::F64] {
        let original = everything(precision);
        let changed = |(name, change): (&str, Change)| {
            let mut network = original.network.clone();
            change(&mut network);
            (name.to_owned(), model(&network), original.inputs.clone())
        };
        let files: Vec<_> = changes().into_iter().map(changed).collect();
        for ((name, _, _), outputs) in files.iter().zip(onnxruntime::run(&files)) {
            for (way, outputs) in outputs.runs {
                let executions = executions(&original.network, &outputs);
                let mut judged = original.inputs.iter().zip(&executions).map(|(x, e)| judge(&original.network, x, e));
                assert!(judged.any(|verdict| verdict.is_err()), "{name}, {precision}, {way}: nothing is seen");
            }
        }
    }
}

#[test]
fn without_stages_there_is_one_output() {
    let case = everything(Precision::F32);
    let bytes = onnx::to_bytes(&case.network, &[], false).expect("an ONNX model");
    let outputs = onnxruntime::run(&[(case.name.clone(), bytes, case.inputs.clone())]);
    for outputs in outputs[0].runs.values() {
        assert!(outputs.keys().eq(["y"]));
        for (x, y) in case.inputs.iter().zip(&outputs["y"]) {
            let enclosure = execute(&Enclosure(case.network.precision), &case.network, x);
            inside(&enclosure.output, y).expect("the output in its enclosure");
        }
    }
}

#[test]
fn the_same_network_gives_the_same_bytes() {
    let network = everything(Precision::F64).network;
    assert_eq!(model(&network), model(&network.clone()));
}

#[test]
fn what_is_no_network_is_not_exported() {
    let network = everything(Precision::F32).network;
    let refuse = |change: Change, metadata: &[&str]| {
        let mut network = network.clone();
        change(&mut network);
        let metadata: Vec<_> = metadata.iter().map(|key| ((*key).to_owned(), "1".to_owned())).collect();
        onnx::to_bytes(&network, &metadata, true).expect_err("refused").to_string()
    };
    let messages = [
        refuse(|_| (), &["a", "b", "a"]),
        refuse(|n| "embed".clone_into(&mut n.stages[2].name), &[]),
        refuse(|n| n.stages[2].name = n.stages[0].name.clone(), &[]),
        refuse(|n| n.embed.weight.truncate(5), &[]),
        refuse(|n| n.runs[3].blocks += 1, &[]),
        refuse(|n| n.read_out.inputs = 2, &[]),
        refuse(|n| n.embed.weight[3] = 0.1, &[]),
        refuse(|n| n.embed.weight[3] = f64::INFINITY, &[]),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
