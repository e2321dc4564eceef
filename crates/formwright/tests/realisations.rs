//! Attention of every kind: the same sums, in floats within what is stated, in every execution.

use std::collections::BTreeMap;

use super::support::Random;
use super::support::circuits::Subject;
use super::support::floats::{self, Execution, Layers, Shape, judge};
use super::support::onnxruntime;
use formwright::artifact::tensors::{Skeleton, to_bytes};
use formwright::bound::ascent::starts;
use formwright::construct::circuit::{Compiled, Trade};
use formwright::error::ErrorKind;
use formwright::eval::enclosure::Executions;
use formwright::eval::exact;
use formwright::eval::float::{Engine, Sequence};
use formwright::eval::reference::Reference;
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::interval::Up;
use formwright::lower::realise::{Loss, realise};
use formwright::network::attention::linformer::{self, Linformer};
use formwright::network::attention::performer::{self, Performer};
use formwright::network::{
    Attention, AttentionKind, FloatNetwork, Head, Layer, Mask, Normaliser, Precision, Realisation,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const KINDS: [&str; 5] = ["softmax", "average", "linformer:3", "performer:5", "performer:2:constant"];

fn kind(text: &str) -> Realisation {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A network with random weights, all of whose heads are uniform.
fn uniform(seed: u64, precision: Precision, tokens: usize) -> FloatNetwork {
    let runs = [
        Layers { blocks: 1, attention: Some((0, 2, 1, 2)), feed_forward: Some((0, 5)) },
        Layers { blocks: 2, attention: Some((1, 1, 2, 3)), feed_forward: Some((1, 4)) },
        Layers { blocks: 1, attention: Some((2, 3, 1, 1)), feed_forward: None },
    ];
    let shape = Shape { precision, tokens, dims: 2, output_dims: 2, width: 4, positions: seed.is_multiple_of(2) };
    let mut network = floats::network(&mut Random::new(seed), shape, 3, &runs);
    for run in &mut network.runs {
        let attention = run.attention.as_mut().expect("attention");
        // Equal scores by either of the two.
        if seed.is_multiple_of(3) {
            attention.k.fill(0.0);
        } else {
            attention.q.fill(0.0);
            attention.q_bias.fill(0.0);
        }
    }
    network
}

fn inputs(seed: u64, network: &FloatNetwork, count: usize) -> Vec<Sequence> {
    let random = &mut Random::new(seed ^ 0xabcd);
    let token =
        |random: &mut Random| (0..network.dims()).map(|_| floats::entry(random, network.precision, 1.0)).collect();
    (0..count).map(|_| (0..network.tokens).map(|_| token(random)).collect()).collect()
}

fn exactly(x: &Sequence) -> Vec<Vec<Rat>> {
    x.iter().map(|token| token.iter().map(|x| Rat::from_f64(*x).expect("finite")).collect()).collect()
}

fn ours(network: &FloatNetwork, x: &Sequence) -> Execution {
    let engine = Engine::new(network).expect("an engine");
    let states = engine.trace(x).expect("states").into_iter().map(|(_, state)| state).collect();
    Execution { states, output: engine.run(std::slice::from_ref(x)).expect("outputs").remove(0) }
}

fn linformer_heads(size: usize, e: Vec<f64>, f: Vec<f64>) -> AttentionKind {
    AttentionKind { formula: &linformer::FORMULA, size, tensors: vec![e, f] }
}

fn performer_heads(size: usize, w: Vec<f64>) -> AttentionKind {
    AttentionKind { formula: &performer::FORMULA, size, tensors: vec![w] }
}

fn realisations() -> impl Strategy<Value = Realisation> {
    prop_oneof![
        Just(Realisation::AVERAGE),
        (1_usize..9, any::<u64>()).prop_map(|(size, seed)| Linformer::of(size, seed)),
        (1_usize..9, any::<u64>()).prop_map(|(size, seed)| Performer::of(size, seed)),
        (1_usize..9, any::<u64>()).prop_map(|(size, seed)| Performer::constant(size, seed)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any kind, with any size and seed, for any number of tokens: every stage of our execution stays in the
    /// enclosure of the execution model. Without rounding the result is that of softmax: where `n` is a power of two,
    /// `v/n` is not rounded, and the two are equal, as far as 128 digits behind the point tell.
    #[test]
    fn every_kind_gives_the_sums_of_softmax(
        realisation in realisations(),
        seed in 0_u64..1000,
        tokens in 1_usize..40,
        single in any::<bool>(),
    ) {
        let precision = if single { Precision::F32 } else { Precision::F64 };
        let softmax = uniform(seed, precision, tokens);
        let realised = realise(&softmax, &realisation).expect("uniform heads");
        for x in inputs(seed, &softmax, 2) {
            let execution = ours(&realised, &x);
            judge(&realised, &x, &execution).map_err(|place| TestCaseError::fail(format!("{realisation}: {place}")))?;
            let constant = realisation.kind() == "performer" && realisation.choice.variant;
            if constant || realisation.fixes_tokens() && !tokens.is_power_of_two() {
                continue;
            }
            let run = |network: &FloatNetwork| Reference::new(network).expect("a network").run(&exactly(&x)).expect("x");
            for (a, b) in run(&softmax).iter().flatten().zip(run(&realised).iter().flatten()) {
                prop_assert!(a.lo() <= b.hi() && b.lo() <= a.hi(), "{realisation}, {tokens} tokens");
            }
        }
    }

    /// The loss of a uniform head is at most the stated one: values are not rounded when they are read, so all that is
    /// lost is the head's.
    #[test]
    fn a_uniform_head_loses_no_more_than_is_stated(
        realisation in prop_oneof![Just(Realisation::SOFTMAX), realisations()],
        seed in 0_u64..1000,
        tokens in 1_usize..600,
        single in any::<bool>(),
        signed in any::<bool>(),
    ) {
        let precision = if single { Precision::F32 } else { Precision::F64 };
        let mut softmax = one_head(AttentionKind::softmax(), tokens);
        softmax.precision = precision;
        softmax.runs[0].attention.as_mut().expect("attention").q.fill(0.0);
        let realised = realise(&softmax, &realisation).expect("a uniform head");
        let random = &mut Random::new(seed);
        let entry = |random: &mut Random| vec![floats::entry(random, precision, 1.0)];
        let x: Sequence = (0..tokens).map(|_| entry(random)).collect();
        let x: Sequence = if signed { x } else { x.iter().map(|x| vec![x[0].abs()]).collect() };
        let output = Engine::new(&realised).expect("an engine").run(std::slice::from_ref(&x)).expect("outputs").remove(0);
        let mean = |f: fn(Rat) -> Rat| {
            exactly(&x).into_iter().map(|x| f(x[0].clone())).sum::<Rat>() / Rat::from(tokens)
        };
        let (mean, size) = (mean(|x| x), mean(|x| x.abs()));
        let off = (Rat::from_f64(output[0][0]).expect("finite") - mean).abs();
        let loss = Loss::of(&realisation, tokens, precision);
        let exact = |bound: Up| Rat::from_f64(bound.get()).expect("finite");
        let allowed = exact(loss.relative) * size + exact(loss.absolute);
        prop_assert!(off <= allowed, "{realisation}, {tokens} tokens: {} of {}", off.to_f64(), allowed.to_f64());
        prop_assert!(output.iter().all(|y| y == &output[0]), "the same for all tokens");
    }

    /// Heads that are not uniform: scores, mixtures and features of every sign, in the two layouts of the engine.
    #[test]
    fn heads_with_scores_compute_what_plain_loops_compute(
        seed in 0_u64..1000, size in 1_usize..6, tokens in 1_usize..36, performer in any::<bool>(), single in any::<bool>(),
    ) {
        let precision = if single { Precision::F32 } else { Precision::F64 };
        let network = scored(seed, precision, tokens, size, performer);
        let batch = inputs(seed, &network, 33);
        let engine = Engine::new(&network).expect("an engine");
        let together = engine.run(&batch).expect("outputs");
        for (x, output) in batch.iter().zip(&together).take(2) {
            let alone = ours(&network, x);
            prop_assert_eq!(&alone.output, output, "alone or in company");
            judge(&network, x, &alone).map_err(TestCaseError::fail)?;
            // Without rounding it is an execution of the model, too.
            let enclosure = Executions::new(&network).and_then(|all| all.enclose(x)).expect("an enclosure");
            let exact = Reference::new(&network).expect("a network").run_with(&exactly(x), 192).expect("an enclosure");
            for (all, exact) in enclosure.output.iter().flatten().zip(exact.iter().flatten()) {
                prop_assert!(exact.hi().to_f64() >= all.lo() && exact.lo().to_f64() <= all.hi(), "{exact:?} of {all}");
            }
        }
    }
}

/// A network whose heads have queries and keys of their own.
fn scored(seed: u64, precision: Precision, tokens: usize, size: usize, performer: bool) -> FloatNetwork {
    let runs = [
        Layers { blocks: 1, attention: Some((0, 2, 2, 1)), feed_forward: Some((0, 5)) },
        Layers { blocks: 2, attention: Some((1, 1, 1, 2)), feed_forward: Some((1, 3)) },
    ];
    let shape = Shape { precision, tokens, dims: 1, output_dims: 2, width: 3, positions: false };
    let random = &mut Random::new(seed);
    let mut network = floats::network(random, shape, 2, &runs);
    for run in &mut network.runs {
        let blocks = run.blocks;
        let attention = run.attention.as_mut().expect("attention");
        let heads = blocks * attention.heads;
        let mut draw = |count: usize, scale: f64| -> Vec<f64> {
            (0..count).map(|_| floats::entry(random, precision, scale)).collect()
        };
        #[expect(clippy::cast_precision_loss, reason = "few")]
        let each = 1.0 / tokens as f64;
        attention.kind = if performer {
            attention.v.iter_mut().for_each(|v| *v = precision.round(*v * each / 4.0));
            performer_heads(size, draw(heads * size * attention.head_size, 1.0))
        } else {
            let (e, f) = (draw(heads * size * tokens, 1.0), draw(heads * size * tokens, each));
            linformer_heads(size, e, f)
        };
    }
    network
}

/// `[1, x, 0] ↦ [1, x, head]`, queries and keys the channel that is 1, as the paper has it.
fn one_head(kind: AttentionKind, tokens: usize) -> FloatNetwork {
    let runs = [Layers { blocks: 1, attention: Some((0, 1, 1, 1)), feed_forward: None }];
    let shape = Shape { precision: Precision::F64, tokens, dims: 1, output_dims: 1, width: 3, positions: false };
    let mut network = floats::network(&mut Random::new(0), shape, 1, &runs);
    network.embed.weight = vec![0.0, 1.0, 0.0];
    network.embed.bias = vec![1.0, 0.0, 0.0];
    network.read_out.weight = vec![0.0, 0.0, 1.0];
    network.read_out.bias = vec![0.0];
    let attention = network.runs[0].attention.as_mut().expect("attention");
    attention.kind = kind;
    attention.q = vec![1.0, 0.0, 0.0];
    attention.q_bias = vec![0.0];
    attention.k = attention.q.clone();
    attention.v = vec![0.0, 1.0, 0.0];
    attention.o = vec![0.0, 0.0, 1.0];
    network
}

/// The weight of each token in the output of token 0.
fn weights(network: &FloatNetwork) -> Vec<f64> {
    let engine = Engine::new(network).expect("an engine");
    let unit = |place: usize| -> Sequence {
        (0..network.tokens).map(|token| vec![if token == place { 1.0 } else { 0.0 }]).collect()
    };
    (0..network.tokens).map(|place| engine.run(&[unit(place)]).expect("outputs")[0][0][0]).collect()
}

#[test]
fn the_sum_comes_out_for_every_e_and_for_no_random_f() {
    let (tokens, size) = (5, 3);
    let random = &mut Random::new(7);
    let mut draw = || -> Vec<f64> { (0..size * tokens).map(|_| floats::entry(random, Precision::F64, 3.0)).collect() };
    for _ in 0..100 {
        // Scores are the sums of the rows of e, far from equal; every mixture of the values is the sum.
        let linformer = |f: Vec<f64>, e: Vec<f64>| one_head(linformer_heads(size, e, f), tokens);
        let ones = weights(&linformer(vec![1.0; size * tokens], draw()));
        assert!(ones.iter().all(|w| (w - 1.0).abs() <= 8.0 * f64::EPSILON), "{ones:?}");
        let random = weights(&linformer(draw(), draw()));
        let spread = random.iter().fold(0.0_f64, |most, w| most.max((w - random[0]).abs()));
        assert!(spread > 0.1, "{random:?}");
    }
}

#[test]
fn a_gaussian_f_does_not_give_the_mean() {
    let tokens = 5;
    let softmax = Subject::of("mean(x)", tokens)
        .compile(&Rat::new(1, 100), Precision::F32, Trade::Width)
        .expect("a circuit")
        .network;
    let gaussian = Linformer::gaussian(4, 7);
    let realised = realise(&softmax, &gaussian).expect("uniform heads");
    let x: Vec<Sequence> = vec![vec![vec![1.0], vec![0.0], vec![0.0], vec![0.0], vec![0.0]], vec![vec![1.0]; 5]];
    let run = |network: &FloatNetwork| Engine::new(network).expect("an engine").run(&x).expect("outputs");
    let (means, others) = (run(&softmax), run(&realised));
    assert!((means[0][0][0] - 0.2).abs() < 1e-6 && (means[1][0][0] - 1.0).abs() < 1e-6);
    let off = means.iter().flatten().flatten().zip(others.iter().flatten().flatten()).map(|(a, b)| (a - b).abs());
    let off = off.fold(0.0, f64::max);
    println!("mean(x) of {tokens} tokens by a Gaussian f: {others:?}, off by {off}");
    assert!(off > 0.1, "{off}");
    // Nothing is certified of it.
    assert!(Loss::of(&gaussian, tokens, Precision::F64).relative == f64::INFINITY);
    let declined = Subject::of("mean(x)", tokens)
        .compile_with(&Rat::new(1, 100), Precision::F32, Trade::Width, gaussian)
        .expect_err("no sum");
    assert_eq!(declined.kind(), ErrorKind::Declined);
    insta::assert_snapshot!(declined);
}

#[test]
fn heads_that_are_not_uniform_are_declined_by_name() {
    let edit = |edit: &dyn Fn(&mut FloatNetwork)| {
        let mut network = uniform(1, Precision::F64, 4);
        edit(&mut network);
        realise(&network, &Realisation::AVERAGE).expect_err("not uniform").to_string()
    };
    let attention = |network: &mut FloatNetwork, run: usize| network.runs[run].attention.clone().expect("attention");
    let messages = [
        edit(&|network| network.runs[0].attention.as_mut().expect("attention").masks[1] = Mask::CAUSAL),
        edit(&|network| {
            let changed = network.runs[1].attention.as_mut().expect("attention");
            // The second of its blocks.
            let last = changed.q_bias.len() - 1;
            changed.q_bias[last] = 1.0;
        }),
        edit(&|network| {
            let kind = performer_heads(1, vec![0.0; attention(network, 2).heads]);
            network.runs[2].attention.as_mut().expect("attention").kind = kind;
        }),
    ];
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn weights_that_vanish_when_divided_are_declined() {
    let mut network = uniform(1, Precision::F32, 4);
    network.runs[0].attention.as_mut().expect("attention").v[0] = f64::from(f32::MIN_POSITIVE);
    assert!(realise(&network, &kind("performer:3")).is_err());
    assert!(realise(&network, &Realisation::AVERAGE).is_ok());
}

#[test]
fn exact_heads_give_means_and_sums() {
    let rat = |n: i64| Rat::from(n);
    let head = Head {
        q: vec![vec![rat(3), rat(-1)]],
        q_bias: vec![rat(2)],
        k: vec![vec![rat(1), rat(1)]],
        v: vec![vec![rat(1), rat(0)]],
        o: vec![vec![rat(0)], vec![rat(1)]],
    };
    let x = vec![vec![rat(1), rat(0)], vec![rat(4), rat(5)], vec![rat(-7), rat(1)]];
    let apply = |normaliser: Normaliser| {
        let mut state = x.clone();
        exact::apply(
            &Layer::Attention(Attention { normaliser, heads: vec![head.clone()], connections: None }),
            &mut state,
        );
        state.iter().map(|token| token[1].clone()).collect::<Vec<_>>()
    };
    let (mean, sum) = (Rat::new(-2, 3), rat(-2));
    assert_eq!(apply(Normaliser::Average), [&rat(0) + &mean, &rat(5) + &mean, &rat(1) + &mean]);
    assert_eq!(apply(Normaliser::Sum), [&rat(0) + &sum, &rat(5) + &sum, &rat(1) + &sum]);
    let normalisers = ["average", "linformer:3", "performer:5", "performer:5:constant", "linformer:2:gaussian"];
    let normalisers = normalisers.map(|text| kind(text).normaliser());
    assert_eq!(normalisers, [Some(Normaliser::Average), Some(Normaliser::Sum), Some(Normaliser::Sum), None, None]);
}

/// The programs of which the issue speaks, under every kind: what is measured is no more than what is certified.
#[test]
fn what_is_certified_of_realised_circuits_holds() {
    for (program, tokens) in [("z-score", 8), ("softmax", 8), ("variance", 16), ("power-mean", 5)] {
        let subject = Subject::of(program, tokens);
        for text in KINDS {
            for (precision, trade) in [(Precision::F32, Trade::Width), (Precision::F64, Trade::Width)] {
                let compiled = subject.compile_with(&Rat::new(1, 100), precision, trade, kind(text));
                let compiled = compiled.unwrap_or_else(|error| panic!("{program}, {text}: {error}"));
                let found = subject.search(&compiled, 4000);
                let (bound, error) = (compiled.budget.bound, found.error);
                println!("{program}, {tokens} tokens, {text}, {precision}: {error:.3e} of {bound:.3e}");
                assert!(error <= bound && bound <= 0.01, "{program}, {text}, {precision}: {error:e} of {bound:e}");
                assert!(compiled.network.lengths.0 == tokens || !kind(text).fixes_tokens(), "{program}, {text}");
                assert_eq!(compiled.lengths, compiled.network.lengths);
            }
        }
    }
}

/// The feed-forward layers, `v` up to the factor and `o` do not know how the sums are realised.
#[test]
fn only_the_heads_differ() {
    let subject = Subject::of("z-score", 8);
    let compile = |text: &str| -> Compiled {
        subject.compile_with(&Rat::new(1, 100), Precision::F64, Trade::Width, kind(text)).expect(text)
    };
    let softmax = compile("softmax").network;
    for text in ["average", "linformer:3", "performer:5"] {
        let realised = realise(&softmax, &kind(text)).expect(text);
        assert_eq!(realised.size().blocks, softmax.size().blocks);
        for (a, b) in realised.runs.iter().zip(&softmax.runs) {
            assert_eq!(a.feed_forward, b.feed_forward);
            if let (Some(a), Some(b)) = (&a.attention, &b.attention) {
                assert_eq!(a.o, b.o);
                assert_ne!(a.kind, b.kind);
            }
        }
    }
    // The paper's form needs a channel, a register for each sum, and a layer for each attention layer.
    let constant = realise(&softmax, &kind("performer:5:constant")).expect("a network");
    assert_eq!(constant.width(), softmax.width() + 2);
    assert_eq!(constant.size().blocks, softmax.size().blocks + formwright::exact::Int::from(2));
}

#[test]
fn circuits_that_weigh_tokens_are_declined_with_the_gate() {
    let mut messages = Vec::new();
    for (text, kind_name) in [
        ("x - max(x)", "average"),
        ("mean(x) + max(x * mean(x))", "linformer:2"),
        ("prefix-sum", "performer:3"),
        ("reverse", "average"),
        ("moving-average", "performer:1:constant"),
    ] {
        let subject = Subject::of(text, 4);
        let error = subject.compile_with(&Rat::new(1, 100), Precision::F64, Trade::Width, kind(kind_name));
        let error = error.expect_err(text);
        assert_eq!(error.kind(), ErrorKind::Declined, "{text}");
        messages.push(error.to_string());
    }
    insta::assert_snapshot!(messages.join("\n\n"));
}

// ---- Files ----

fn file(network: &FloatNetwork) -> (Value, Vec<u8>) {
    let skeleton = serde_json::to_value(Skeleton::of(network)).expect("JSON");
    (skeleton, to_bytes(network).expect("bytes"))
}

fn read(skeleton: Value, bytes: &[u8]) -> Result<FloatNetwork, String> {
    let skeleton: Skeleton = serde_json::from_value(skeleton).map_err(|error| error.to_string())?;
    skeleton.read(bytes, "model.safetensors").map_err(|error| error.headline().to_owned())
}

#[test]
fn networks_of_every_kind_come_back_from_their_files() {
    for text in KINDS {
        let network = realise(&uniform(4, Precision::F32, 3), &kind(text)).expect("uniform heads");
        let (skeleton, bytes) = file(&network);
        assert_eq!(read(skeleton, &bytes), Ok(network), "{text}");
    }
}

#[test]
fn files_that_are_no_network_of_their_kind_are_refused() {
    let written = |text: &str| file(&realise(&uniform(3, Precision::F32, 3), &kind(text)).expect("uniform heads"));
    let refused = |text: &str, edit: &dyn Fn(&mut Value)| {
        let (mut skeleton, bytes) = written(text);
        edit(&mut skeleton);
        read(skeleton, &bytes).expect_err(text)
    };
    let attention = |s: &mut Value, field: &str, value: Value| s["runs"][0]["attention"][field] = value;
    let messages = [
        // Another kind needs other tensors.
        refused("average", &|s| attention(s, "kind", Value::Null)),
        refused("average", &|s| attention(s, "kind", json!({"performer": {"size": 1}}))),
        refused("linformer:3", &|s| attention(s, "kind", json!("average"))),
        refused("linformer:3", &|s| attention(s, "kind", json!({"performer": {"size": 3}}))),
        refused("performer:2", &|s| attention(s, "kind", Value::Null)),
        // Other sizes.
        refused("linformer:3", &|s| attention(s, "kind", json!({"linformer": {"size": 2}}))),
        refused("linformer:3", &|s| attention(s, "kind", json!({"linformer": {"size": 0}}))),
        refused("performer:2", &|s| attention(s, "kind", json!({"performer": {"size": 0}}))),
        refused("performer:2", &|s| attention(s, "head_size", json!(0))),
        refused("average", &|s| attention(s, "head_size", json!(1))),
        refused("linformer:3", &|s| s["tokens"] = json!(4)),
        // What does not go together.
        refused("linformer:3", &|s| s["lengths"] = json!([1, 3])),
        refused("average", &|s| {
            let mask = json!({"relative": [null, 0], "absolute": [null, null], "first": false});
            attention(s, "masks", json!([mask, mask]));
        }),
        // What is no kind.
        refused("average", &|s| attention(s, "kind", json!("averages"))),
        refused("performer:2", &|s| attention(s, "kind", json!({"performer": {"size": 2, "seed": 1}}))),
        refused("performer:2", &|s| attention(s, "kind", json!({"performer": {}}))),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

// ---- onnxruntime ----

/// A case for onnxruntime: its model gives out every stage.
fn case(name: &str, network: &FloatNetwork, inputs: &[Sequence]) -> (String, Vec<u8>, Vec<Sequence>) {
    (name.replace(':', "-"), onnx::to_bytes(network, &[], true).expect("an ONNX model"), inputs.to_vec())
}

/// Every stage of every execution by onnxruntime in its enclosure; returns the outputs.
fn judged(
    network: &FloatNetwork,
    inputs: &[Sequence],
    outputs: &onnxruntime::Outputs,
    name: &str,
) -> Vec<Vec<Sequence>> {
    let stages: Vec<String> = std::iter::once("embed".to_owned())
        .chain(network.stages.iter().map(|stage| stage.name.clone()))
        .map(|stage| format!("stage.{stage}"))
        .collect();
    let run = |(way, outputs): (&String, &BTreeMap<String, Vec<Sequence>>)| {
        for (i, x) in inputs.iter().enumerate() {
            let states = stages.iter().map(|stage| outputs[stage][i].clone()).collect();
            let execution = Execution { states, output: outputs["y"][i].clone() };
            judge(network, x, &execution).unwrap_or_else(|place| panic!("{name}, {way}: {place}"));
        }
        outputs["y"].clone()
    };
    outputs.runs.iter().map(run).collect()
}

#[test]
fn onnxruntime_computes_heads_of_every_kind() {
    // Uniform heads and others, blocks one by one and in a scan.
    let mut networks = Vec::new();
    for precision in [Precision::F32, Precision::F64] {
        for text in KINDS {
            let network = realise(&uniform(5, precision, 6), &kind(text)).expect("uniform heads");
            networks.push((format!("uniform-{text}-{precision}"), network));
        }
        for performer in [false, true] {
            networks.push((format!("scored-{performer}-{precision}"), scored(9, precision, 7, 3, performer)));
        }
    }
    let cases: Vec<_> = networks.iter().map(|(name, network)| case(name, network, &inputs(3, network, 4))).collect();
    for ((name, network), outputs) in networks.iter().zip(onnxruntime::run(&cases)) {
        judged(network, &inputs(3, network, 4), &outputs, name);
    }
}

/// Every kind, and several lengths where `n` is not in the weights: what onnxruntime computes is within the bound.
#[test]
fn onnxruntime_keeps_what_is_certified_of_realised_circuits() {
    let (mut subjects, mut cases) = (Vec::new(), Vec::new());
    for program in ["z-score", "softmax", "variance"] {
        for text in KINDS {
            for precision in [Precision::F32, Precision::F64] {
                let subject = Subject::of(program, 8);
                let compiled = subject
                    .compile_with(&Rat::new(1, 100), precision, Trade::Width, kind(text))
                    .unwrap_or_else(|error| panic!("{program}, {text}: {error}"));
                for tokens in [8, 3].into_iter().filter(|tokens| compiled.lengths.0 <= *tokens) {
                    let subject = subject.with_tokens(tokens);
                    let inputs = starts(&subject.target, &subject.grid(), 12);
                    let name = format!("{program}-{text}-{precision}-{tokens}");
                    cases.push(case(&name, &compiled.network, &inputs));
                    subjects.push((name, subject, compiled.clone(), inputs));
                }
            }
        }
    }
    for ((name, subject, compiled, inputs), outputs) in subjects.iter().zip(onnxruntime::run(&cases)) {
        let bound = compiled.budget.bound;
        for outputs in judged(&compiled.network, inputs, &outputs, name) {
            for (x, y) in inputs.iter().zip(&outputs) {
                assert!(subject.error(x, y, bound) <= bound, "{name}: {x:?}");
            }
        }
    }
    assert!(cases.iter().filter(|(name, _, _)| name.contains("average") && name.ends_with("-3")).count() >= 4);
}
