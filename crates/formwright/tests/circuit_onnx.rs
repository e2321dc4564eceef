//! The exported circuit computes what was certified, in a runtime that is not ours.
//!
//! Two executions of one circuit in floats need not be equal: sums have another order, `exp` another last digit, and a wide block adds up
//! hundreds of terms. What a correct execution may give is known, though (`eval/enclosure.rs`). So of both, onnxruntime and our engine, is asked
//!
//! - that every state and the output lie in the enclosure of all executions on the input;
//! - that every stage, from the execution's *own* state before it, stays in its enclosure: no error hides in the distance that two correct
//!   executions may have by then;
//! - that the output is within the certified bound of the target: what is proved holds for either.
//!
//! That enclosures are narrow enough to see misplaced weights is tested last.

use super::support::circuits::{Subject, programs};
use super::support::floats::{Execution, by_engine, by_name, contained, judge, width};
use super::support::onnxruntime::{self, Batch};
use formwright::bound::ascent::starts;
use formwright::construct::circuit::{Compiled, Trade};
use formwright::eval::enclosure::{Enclosure, Executions};
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::network::{FloatNetwork, Precision};

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

    /// Every execution in its enclosure, from the input on and stage by stage, and every output within its bound.
    fn judge(&self, way: &str, executions: &[Execution], enclosures: &[Enclosure]) {
        let (name, network, bound) = (&self.name, &self.compiled.network, self.compiled.budget.bound);
        assert_eq!(executions.len(), self.inputs.len(), "{name}, {way}: the batch");
        for (x, (execution, enclosure)) in self.inputs.iter().zip(executions.iter().zip(enclosures)) {
            contained(network, enclosure, execution)
                .and_then(|()| judge(network, x, execution))
                .unwrap_or_else(|place| panic!("{name}, {way}: {place}, of {x:?}"));
            let error = self.subject.error(x, &execution.output, bound);
            assert!(error <= bound, "{name}, {way}: {error:e} at {x:?}, certified {bound:e}");
        }
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

fn agree(cases: &[Case]) {
    let files: Vec<_> = cases.iter().map(Case::file).collect();
    for (case, outputs) in cases.iter().zip(onnxruntime::run(&files)) {
        let Case { name, compiled, inputs, .. } = case;
        let network = &compiled.network;
        let enclosures = Executions::new(network).and_then(|all| all.enclose_batch(inputs)).expect("enclosures");
        case.judge("formwright", &by_engine(network, inputs), &enclosures);
        for (way, outputs) in &outputs.runs {
            case.judge(way, &by_name(network, outputs), &enclosures);
        }
        let widest = enclosures.iter().map(|all| width(&all.output)).fold(0.0, f64::max);
        println!("{name}: outputs in {widest:.1e}, certified {:.1e}", compiled.budget.bound);
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

/// Scores of every kind: of keys alone, products, several rows, masks, positions.
#[test]
fn onnxruntime_keeps_what_is_certified_of_heads_with_scores() {
    let case = |text: &str| {
        let (subject, compiled) = compiled(text, 6, Precision::F32);
        Case::new(subject, compiled, 32)
    };
    agree(
        &[
            "attend(2 * x, x)",
            "attend(9 * x * x[i], 1 - x)",
            "attend(x * (x[i] - 2) + x^2 * x[i], x, j <= i)",
            "attend(i * x - (i - j)^2 / 4, x)",
            "let b = attend(4 * x * x[i], x); x - attend(4 * b * b[i], b) on [-1, 2]",
        ]
        .map(case),
    );
}

/// One file serves every length that is claimed.
#[test]
fn onnxruntime_runs_one_circuit_at_every_length() {
    let mut cases = Vec::new();
    for name in ["z-score", "mean-centring", "times-mean", "gap-to-max", "prefix-mean", "moving-average", "power-mean"]
    {
        let (subject, compiled) = compiled(name, 64, Precision::F32);
        assert!(compiled.lengths.0 <= 2 && 64 <= compiled.lengths.1, "{name}: {:?}", compiled.lengths);
        cases.extend([2, 3, 17, 64].map(|tokens| Case::new(subject.with_tokens(tokens), compiled.clone(), 4)));
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
                let executions = by_name(&original.compiled.network, outputs);
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
