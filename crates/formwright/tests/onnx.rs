//! The exported ONNX model computes what the network says: onnxruntime's residual stream after the embedding and after every stage, and
//! its output, lie in the enclosure of everything that a correct execution may compute (`eval/enclosure.rs`); and the enclosure is
//! narrow enough that a network with one thing changed falls out of it.
//!
//! Of networks that the compiler makes more is asked: at the centres of cells onnxruntime's ids are those of our engine, bit by bit, and the
//! outputs are no further apart than the rounding that is stated allows.
//!
//! `cargo test --release --test onnx -- --ignored --nocapture` runs a thousand networks.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use std::sync::Arc;

use super::support;
use super::support::floats::{self, Layers, Plain, Shape, by_name, inside, judge, judge_parts};
use super::support::onnxruntime::{self, Batch};
use super::support::{Options, Random};
use formwright::construct::yun::lower::{Losses, Lowering};
use formwright::eval::enclosure::Executions;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::lattice::{Grid, has_distinct_columns};
use formwright::lower::{Format, Hidden, Temperature};
use formwright::network::{FloatNetwork, Precision};
use formwright::target::Source;

/// A network and what to run it on.
struct Case {
    name: String,
    network: FloatNetwork,
    inputs: Batch,
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
        let by = |plain: Plain| inputs.iter().map(|x| plain.execute(network, x)).collect();
        let [divided, multiplied] = Plain::both(network.precision).map(by);
        let mut ways = vec![("plain loops", divided), ("plain loops, by reciprocals", multiplied)];
        ways.extend(outputs.runs.iter().map(|(way, outputs)| (way.as_str(), by_name(network, outputs))));
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

/// A network for two tokens whose outputs are the weights of a softmax over the scores 0 and `x`, the second token: values are 1 for one token and 0 for
/// the other, and nothing else is added.
fn weights_of_two(precision: Precision) -> FloatNetwork {
    let shape = Shape { precision, tokens: 2, dims: 1, output_dims: 2, width: 5, positions: true };
    let layers = Layers { blocks: 1, attention: Some((0, 1, 1, 2)), feed_forward: None };
    let mut network = floats::network(&mut Random::new(1), shape, 1, &[layers]);
    // Registers: x, whether the token is the first, whether it is the second, and two for the weights.
    network.embed.weight = vec![1.0, 0.0, 0.0, 0.0, 0.0];
    network.embed.bias = vec![0.0; 5];
    network.positions = Some([[0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]].concat());
    let attention = network.runs[0].attention.as_mut().expect("attention");
    (attention.q, attention.q_bias) = (vec![0.0; 5], vec![1.0]);
    attention.k = vec![1.0, 0.0, 0.0, 0.0, 0.0];
    attention.v = [[0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]].concat();
    attention.o = [[0.0; 2], [0.0; 2], [0.0; 2], [1.0, 0.0], [0.0, 1.0]].concat();
    network.read_out.weight = [[0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]].concat();
    network.read_out.bias = vec![0.0; 2];
    network
}

/// onnxruntime's softmax of `1` and `e`, for some `e` within θ of the exponential: a quotient by their sum, or the
/// product with the rounded reciprocal. In single precision there are pairs that no quotient gives.
#[test]
#[expect(clippy::cast_possible_truncation, reason = "singles in doubles")]
fn onnxruntime_forms_weights_in_one_of_the_two_ways() {
    let mut random = Random::new(4);
    let inputs: Batch = (0..2000)
        .map(|_| vec![vec![0.0], vec![-floats::entry(&mut random, Precision::F32, 6.0) - 6.0]])
        .map(|x: Vec<Vec<f64>>| x.iter().map(|x| vec![Precision::F32.round(x[0])]).collect())
        .collect();
    let case = Case { name: "weights".to_owned(), network: weights_of_two(Precision::F32), inputs };
    parity(std::slice::from_ref(&case));
    let outputs = onnxruntime::run(&[(case.name, model(&case.network), case.inputs.clone())]).remove(0);
    for (way, outputs) in outputs.runs {
        let mut by_reciprocal_alone = 0;
        for (x, y) in case.inputs.iter().zip(&outputs["y"]) {
            let (found, exact) = ((y[0][0] as f32, y[0][1] as f32), x[1][0].exp());
            let within = |e: &f32| (f64::from(*e) - exact).abs() <= exact * 2.0_f64.powi(-20);
            let up = (0..17).scan(exact as f32, |e, _| Some(std::mem::replace(e, e.next_up())));
            let down = (0..17).scan(exact as f32, |e, _| Some(std::mem::replace(e, e.next_down())));
            let exps: Vec<f32> = up.chain(down).filter(within).collect();
            let divided = exps.iter().any(|e| (1.0 / (1.0 + e), e / (1.0 + e)) == found);
            let multiplied = exps.iter().any(|e| (1.0 / (1.0 + e), e * (1.0 / (1.0 + e))) == found);
            assert!(divided || multiplied, "{way}: {found:?} of the scores 0 and {}", x[1][0]);
            by_reciprocal_alone += usize::from(!divided);
        }
        println!("{way}: {by_reciprocal_alone} of {} by the reciprocal alone", case.inputs.len());
    }
}

/// The table of `measurements/runtimes.md`, of NumPy and onnxruntime: the script fails where one of them leaves the model.
#[test]
fn what_runtimes_do_with_numbers_is_in_the_model() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/benchmarks/arithmetic.py");
    let output = Command::new(onnxruntime::python()).arg(script).output().expect("an interpreter");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && text.matches("| onnxruntime").count() == 8, "{text}");
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
                let executions = by_name(&original.network, &outputs);
                let mut judged = original.inputs.iter().zip(&executions).map(|(x, e)| judge(&original.network, x, e));
                assert!(judged.any(|verdict| verdict.is_err()), "{name}, {precision}, {way}: nothing is seen");
            }
        }
    }
}

/// A network that the compiler makes, with what it states, and where to look.
struct Compiled {
    name: String,
    network: FloatNetwork,
    losses: Losses,
    inputs: Batch,
    /// For each input, true if it is the centre of a cell that the theorem serves.
    served: Vec<bool>,
}

/// `None` where blocks cannot hold what is packed into them.
fn compiled(
    text: &str,
    (n, d, side): support::Triple,
    positional: bool,
    precision: Precision,
    hidden: Hidden,
) -> Option<Compiled> {
    let grid = Grid::unit(n, d, side).expect("a grid");
    let target = Arc::new(Source::expression(text, text).and_then(|source| source.target(d)).expect("a target"));
    let options = Options { positional, ..Options::default() };
    let format = Format { precision, temperature: Temperature::Derived, hidden };
    let lowering = Lowering::derive(&grid, &target, &options, format).expect("it fits");
    let exact = lowering.exact(&grid, &target).expect("a network");
    let (network, losses) = match lowering.finish(&exact) {
        Ok(made) => made,
        Err(error) => {
            assert!(hidden != Hidden::Literal, "{error}");
            return None;
        }
    };
    let mut random = Random::new(side);
    let few = grid.points() <= formwright::exact::Int::from(64);
    let points: Vec<Vec<Vec<u64>>> = if few {
        grid.all_points().collect()
    } else {
        (0..48).map(|_| (0..n).map(|_| (0..d).map(|_| random.below(side)).collect()).collect()).collect()
    };
    let floats = |x: Vec<Vec<Rat>>| x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
    let mut inputs: Batch = points.iter().map(|point| floats(grid.centre(point))).collect();
    let mut served: Vec<bool> = points.iter().map(|point| positional || has_distinct_columns(point)).collect();
    let place = |random: &mut Random| (0..d).map(|_| random.below(1 << 30)).map(|x| Rat::new(x, 1 << 30)).collect();
    for _ in 0..16 {
        inputs.push(floats((0..n).map(|_| place(&mut random)).collect()));
        served.push(false);
    }
    let theorem = if positional { 3 } else { 2 };
    let name = format!("theorem{theorem}-n{n}-d{d}-N{side}-{precision}-{hidden:?}").replace(['(', ')'], "-");
    Some(Compiled { name, network, losses, inputs, served })
}

/// How many blocks of the network belong to a stage.
fn blocks(network: &FloatNetwork, stage: usize) -> usize {
    let belongs = |run: &&formwright::network::Run| {
        run.attention.as_ref().is_some_and(|a| a.stage == stage)
            || run.feed_forward.as_ref().is_some_and(|f| f.stage == stage)
    };
    network.runs.iter().filter(belongs).map(|run| run.blocks).sum()
}

/// Runs compiled networks in onnxruntime and in our engine, and compares.
fn agree(cases: &[Compiled]) {
    let files: Vec<_> =
        cases.iter().map(|case| (case.name.clone(), model(&case.network), case.inputs.clone())).collect();
    for (case, outputs) in cases.iter().zip(onnxruntime::run(&files)) {
        let Compiled { name, network, losses, inputs, served } = case;
        let engine = Engine::new(network).expect("an engine");
        let (trace, ours) = (engine.trace_batch(inputs).expect("states"), engine.run(inputs).expect("outputs"));
        let stage = |wanted: &str| trace.iter().position(|(stage, _)| stage == wanted);
        let (first, last) = (1, stage("zero").or_else(|| stage("global")).expect("the contextual map"));
        let (mut apart, mut off_the_ramps): (f64, usize) = (0.0, 0);
        for (way, outputs) in &outputs.runs {
            for (i, execution) in by_name(network, outputs).iter().enumerate() {
                let place = format!("{name}, {way}: sequence {i}, {:?}", inputs[i]);
                // A long stage of large weights has no narrow enclosure.
                judge_parts(network, &inputs[i], execution, |stage| blocks(network, stage) <= 2)
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                let state = |s: usize| trace[s].1[i].iter().flatten().map(|z| z.to_bits());
                let equal = |s: usize| state(s).eq(execution.states[s].iter().flatten().map(|z| z.to_bits()));
                // Elsewhere: where no coordinate is on a ramp, that is, where both quantise to the same cells.
                let cells = execution.states[first].iter().flatten().all(|z| z.fract() == 0.0);
                let good = served[i] || (cells && equal(first));
                if !good {
                    continue;
                }
                off_the_ramps += usize::from(!served[i]);
                if served[i] {
                    for (s, (stage, ours)) in trace.iter().enumerate().take(last + 1).skip(first) {
                        let (ours, theirs) = (&ours[i], &execution.states[s]);
                        assert!(equal(s), "{place}, {stage}: {theirs:?}, not {ours:?}");
                    }
                }
                for (a, b) in ours[i].iter().flatten().zip(execution.output.iter().flatten()) {
                    apart = apart.max((a - b).abs());
                    assert!((a - b).abs() <= 2.0 * losses.rounding, "{place}: {b}, not {a}; {:e}", losses.rounding);
                }
            }
        }
        // Ties are no ramps, and 16 points were drawn; four ways of running.
        assert!(off_the_ramps >= 4 * 8, "{name}: {off_the_ramps} of the other points are off the ramps");
        let size = network.size();
        println!(
            "{name}: {} blocks, hidden {}, outputs at most {apart:.1e} apart, twice the rounding {:.1e}",
            size.blocks,
            size.hidden,
            2.0 * losses.rounding
        );
    }
}

/// Every case in three widths.
fn in_all_widths(text: &str, triple: support::Triple, positional: bool, precision: Precision) -> Vec<Compiled> {
    let widths = [Hidden::Literal, Hidden::Units(16), Hidden::All];
    let made: Vec<Compiled> =
        widths.into_iter().filter_map(|hidden| compiled(text, triple, positional, precision, hidden)).collect();
    assert!(made.len() >= 2, "{triple:?}: no packed network is made");
    made
}

#[test]
fn onnxruntime_agrees_on_networks_of_theorem_2() {
    use Precision::{F32, F64};
    let text = "x * mean(x)";
    agree(&in_all_widths(text, (2, 1, 8), false, F32));
    agree(&in_all_widths(text, (3, 1, 4), false, F32));
    agree(&in_all_widths(text, (2, 1, 8), false, F64));
    agree(&in_all_widths(text, (2, 1, 30), false, F64));
    agree(&in_all_widths(text, (3, 1, 8), false, F64));
    agree(&in_all_widths(text, (2, 2, 4), false, F64));
    agree(&in_all_widths(text, (3, 2, 3), false, F64));
}

#[test]
fn onnxruntime_agrees_on_networks_of_theorem_3() {
    use Precision::{F32, F64};
    let text = "x * mean(x) - x[n - 1 - i] / 3";
    agree(&in_all_widths(text, (2, 1, 6), true, F32));
    agree(&in_all_widths(text, (3, 1, 3), true, F32));
    agree(&in_all_widths(text, (2, 1, 12), true, F64));
    agree(&in_all_widths(text, (3, 1, 8), true, F64));
    agree(&in_all_widths(text, (2, 2, 5), true, F64));
    agree(&in_all_widths(text, (3, 2, 3), true, F64));
}

/// The comparison of ids notices a network with one weight changed in its last digit.
#[test]
fn another_id_is_seen() {
    let mut case =
        compiled("x * mean(x)", (2, 1, 8), false, Precision::F64, Hidden::Literal).expect("literal networks are made");
    let ours = Engine::new(&case.network).and_then(|engine| engine.trace_batch(&case.inputs)).expect("states");
    let attention = case.network.runs.iter_mut().find_map(|run| run.attention.as_mut()).expect("attention");
    attention.o[0] = attention.o[0].next_up();
    let outputs = onnxruntime::run(&[(case.name.clone(), model(&case.network), case.inputs.clone())]);
    for outputs in outputs[0].runs.values() {
        let theirs = by_name(&case.network, outputs);
        let at = ours.iter().position(|(name, _)| name == "global").expect("the stage");
        assert!((0..theirs.len()).any(|i| case.served[i] && theirs[i].states[at] != ours[at].1[i]));
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
            let enclosure = Executions::new(&case.network).and_then(|all| all.enclose(x)).expect("an enclosure");
            inside("output", &enclosure.output, y).expect("the output in its enclosure");
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
