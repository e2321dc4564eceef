//! The exported circuit computes what was certified, in a runtime that is not ours.
//!
//! Two executions of one circuit in floats need not be equal: sums have another order, `exp` another last digit, and a wide block adds up
//! hundreds of terms. What a correct execution may give is known, though: from the state before a stage, the state after it lies in an
//! enclosure that `support/floats.rs` proves for the execution model (sums in any order, fused or not, `exp` within its error), and whose width
//! is a few units of rounding times the sizes that are added up. So of both, onnxruntime and our engine, is asked
//!
//! - that every stage, from the execution's *own* state before it, stays in its enclosure: no error hides in the distance that two correct
//!   executions may have by then;
//! - that the output is within the certified bound of the target: what is proved holds for either.
//!
//! Where a maximum is attained twice the enclosure of its weights is wide, since it forgets that they add up to 1. So it is also asked, from
//! experience and not by proof, that the two are within [`NEAR`] units of rounding of each other in every stage, relative to the largest number
//! around: a twentieth of that is usual. That enclosures are narrow enough to see misplaced weights is tested last.

#[path = "support/circuits.rs"]
mod circuits;
#[path = "support/floats.rs"]
mod floats;
#[path = "support/onnxruntime.rs"]
mod onnxruntime;
mod support;

use std::collections::BTreeMap;

use circuits::{Subject, programs};
use floats::{Execution, judge};
use formwright::bound::ascent::starts;
use formwright::construct::circuit::{Compiled, Trade};
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::network::{FloatNetwork, Precision};
use onnxruntime::Batch;

/// Units of rounding between two executions.
const NEAR: f64 = 256.0;

/// A circuit and what to run it on.
struct Case {
    name: String,
    subject: Subject,
    compiled: Compiled,
    inputs: Batch,
}

impl Case {
    fn new(subject: Subject, compiled: Compiled, points: usize) -> Self {
        let name = format!("{}-{}-{}", subject.source.name, subject.tokens, compiled.network.precision);
        let inputs = starts(&subject.target, &subject.grid(), points);
        Self { name, subject, compiled, inputs }
    }

    fn file(&self) -> (String, Vec<u8>, Batch) {
        (self.name.clone(), model(&self.compiled.network), self.inputs.clone())
    }

    /// Every stage in its enclosure, every output within its bound; the widest enclosure of a number, relative to the largest one around.
    fn judge(&self, way: &str, executions: &[Execution<f64>]) -> f64 {
        let (name, bound) = (&self.name, self.compiled.budget.bound);
        assert_eq!(executions.len(), self.inputs.len(), "{name}, {way}: the batch");
        let mut widest = 0.0_f64;
        for (x, execution) in self.inputs.iter().zip(executions) {
            let width = judge(&self.compiled.network, x, execution)
                .unwrap_or_else(|place| panic!("{name}, {way}: {place}, of {x:?}"));
            widest = widest.max(width / largest(execution));
            let error = self.subject.error(x, &execution.output, bound);
            assert!(error <= bound, "{name}, {way}: {error:e} at {x:?}, certified {bound:e}");
        }
        widest
    }
}

fn compiled(name: &str, tokens: usize, precision: Precision) -> (Subject, Compiled) {
    let subject = Subject::of(name, tokens);
    let compiled = subject.compile(&Rat::new(1, 100), precision, Trade::Width);
    let compiled = compiled.unwrap_or_else(|error| panic!("{name}, {tokens} tokens: {error}"));
    (subject, compiled)
}

fn model(network: &FloatNetwork) -> Vec<u8> {
    onnx::to_bytes(network, &[], true).expect("an ONNX model")
}

/// The executions of a batch, from the outputs by their names.
fn executions(network: &FloatNetwork, outputs: &BTreeMap<String, Batch>) -> Vec<Execution<f64>> {
    let names = std::iter::once("embed").chain(network.stages.iter().map(|stage| stage.name.as_str()));
    let states: Vec<&Batch> = names.map(|name| &outputs[&format!("stage.{name}")]).collect();
    assert_eq!(outputs.len(), states.len() + 1, "outputs");
    let execution = |(i, output): (usize, &Vec<Vec<f64>>)| Execution {
        states: states.iter().map(|batch| batch[i].clone()).collect(),
        output: output.clone(),
    };
    outputs["y"].iter().enumerate().map(execution).collect()
}

/// Our own executions.
fn ours(network: &FloatNetwork, inputs: &Batch) -> Vec<Execution<f64>> {
    let engine = Engine::new(network).expect("an engine");
    let (trace, outputs) = (engine.trace_batch(inputs).expect("states"), engine.run(inputs).expect("outputs"));
    let execution = |(i, output): (usize, Vec<Vec<f64>>)| Execution {
        states: trace.iter().map(|(_, states)| states[i].clone()).collect(),
        output,
    };
    outputs.into_iter().enumerate().map(execution).collect()
}

fn largest(execution: &Execution<f64>) -> f64 {
    execution.states.iter().flatten().flatten().fold(1.0, |most, z| most.max(z.abs()))
}

/// How far two executions are apart, in any state or output.
fn apart(a: &Execution<f64>, b: &Execution<f64>) -> f64 {
    let numbers = |e: &Execution<f64>| -> Vec<f64> {
        e.states.iter().flatten().flatten().chain(e.output.iter().flatten()).copied().collect()
    };
    numbers(a).iter().zip(numbers(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn agree(cases: &[Case]) {
    let files: Vec<_> = cases.iter().map(Case::file).collect();
    for (case, outputs) in cases.iter().zip(onnxruntime::run(&files)) {
        let Case { name, compiled, inputs, .. } = case;
        let ours = ours(&compiled.network, inputs);
        let (mut widest, mut farthest) = (case.judge("formwright", &ours), 0.0_f64);
        for (way, outputs) in &outputs.runs {
            let theirs = executions(&compiled.network, outputs);
            widest = widest.max(case.judge(way, &theirs));
            farthest = ours.iter().zip(&theirs).map(|(a, b)| apart(a, b) / largest(a)).fold(farthest, f64::max);
        }
        let unit = 0.5_f64.powi(i32::try_from(compiled.network.precision.digits()).expect("few digits"));
        assert!(farthest <= NEAR * unit, "{name}: {farthest:e} apart");
        println!("{name}: at most {farthest:.1e} apart, enclosures at most {widest:.1e} wide, certified {:.1e}", {
            compiled.budget.bound
        });
    }
}

#[test]
fn onnxruntime_keeps_what_is_certified_of_every_program() {
    let case = |name: &str| {
        let (subject, compiled) = compiled(name, 8, Precision::F32);
        Case::new(subject, compiled, 32)
    };
    agree(&programs().map(case).collect::<Vec<_>>());
}

#[test]
fn onnxruntime_keeps_what_is_certified_in_double_precision() {
    let case = |name: &str| {
        let (subject, compiled) = compiled(name, 6, Precision::F64);
        Case::new(subject, compiled, 16)
    };
    let names =
        ["z-score", "softmax", "attention-pooling", "range-broadcast", "prefix-sum", "rotate", "histogram", "dyck-1"];
    agree(&names.map(case));
}

/// One file serves every length that is claimed.
#[test]
fn onnxruntime_runs_one_circuit_at_every_length() {
    let mut cases = Vec::new();
    for name in ["z-score", "mean-centring", "times-mean", "gap-to-max", "prefix-mean", "moving-average", "power-mean"]
    {
        let (subject, compiled) = compiled(name, 64, Precision::F32);
        assert!(compiled.lengths.0 <= 2 && 64 <= compiled.lengths.1, "{name}: {:?}", compiled.lengths);
        cases.extend([2, 3, 17, 64].map(|tokens| Case::new(subject.with_tokens(tokens), compiled.clone(), 12)));
    }
    agree(&cases);
}

/// The entries of one tensor after the other, each moved up by one place: an enclosure that is too wide would not see it.
#[test]
fn misplaced_weights_fall_out_of_the_enclosure() {
    let mut seen = 0;
    for name in ["z-score", "range-broadcast", "prefix-sum", "reverse", "histogram"] {
        let (subject, compiled) = compiled(name, 8, Precision::F32);
        let original = Case::new(subject, compiled, 16);
        let names: Vec<String> = original.compiled.network.tensors().into_iter().map(|(name, _, _)| name).collect();
        let mut files = Vec::new();
        for (tensor, name) in names.into_iter().enumerate() {
            let mut network = original.compiled.network.clone();
            entries(&mut network)[tensor].rotate_right(1);
            if network != original.compiled.network {
                files.push((name, model(&network), original.inputs.clone()));
            }
        }
        for ((tensor, _, _), outputs) in files.iter().zip(onnxruntime::run(&files)) {
            seen += 1;
            for (way, outputs) in &outputs.runs {
                let executions = executions(&original.compiled.network, outputs);
                let verdicts = original.inputs.iter().zip(&executions);
                let mut verdicts = verdicts.map(|(x, execution)| judge(&original.compiled.network, x, execution));
                assert!(verdicts.any(|verdict| verdict.is_err()), "{name}, {tensor}, {way}: nothing is seen");
            }
        }
    }
    assert!(seen >= 30, "only {seen} tensors");
}

/// The entries of every tensor, in the order of `FloatNetwork::tensors`.
fn entries(network: &mut FloatNetwork) -> Vec<&mut Vec<f64>> {
    let mut entries = vec![&mut network.embed.weight, &mut network.embed.bias];
    entries.extend(&mut network.positions);
    for run in &mut network.runs {
        entries.extend(run.attention.iter_mut().flat_map(|a| [&mut a.q, &mut a.q_bias, &mut a.k, &mut a.v, &mut a.o]));
        entries.extend(run.feed_forward.iter_mut().flat_map(|f| [&mut f.w1, &mut f.b1, &mut f.w2, &mut f.b2]));
    }
    entries.extend([&mut network.read_out.weight, &mut network.read_out.bias]);
    entries
}
