//! Every family and every kind of attention that has a float form, exported as `formwright export` does and run by onnxruntime: at every point of the
//! lattice or of the integer domain, or at ten thousand random points of the box.
//!
//! Asked of onnxruntime, in `f32` and in `f64`, and of our engine, at every one of these points: that every output is within the *stated* bound of the target, and that
//! the residual stream after every stage, and the output, lie in the enclosure of all executions (`eval/enclosure.rs`). At the points of a lattice states are equal,
//! bit by bit, but for the last. That each stage by itself stays in its enclosure is asked, of fewer points, by `onnx.rs`, `circuit_onnx.rs` and `realisations.rs`.

use super::support::circuits::Subject;
use super::support::floats::{by_engine, by_name, contained, width};
use super::support::learned::centring;
use super::support::onnxruntime::{self, Batch};
use super::support::patterns::{named, options as sparse};
use super::support::{
    Constructions, GENERIC, GENERIC_POSITIONAL, Options, Random, Triple, circuits, expression, only, positional,
    request, sumformers,
};
use formwright::artifact::{Contents, sha256};
use formwright::compile::{Arithmetic, Model, Request, compile};
use formwright::construct::sumcode::{self, SUM_CODE};
use formwright::construct::sumformer::discrete::SUMFORMER_DISCRETE;
use formwright::eval::enclosure::Executions;
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::lattice::has_distinct_columns;
use formwright::lower::{Format, Hidden, Temperature};
use formwright::network::{Precision, Realisation};

/// Random points of a box.
const POINTS: usize = 10_000;

/// An exported model, its inputs, and how far its outputs may be from the target's values there.
struct Example {
    name: String,
    model: Model,
    inputs: Batch,
    bound: f64,
}

fn in_floats(precision: Precision, asked: Request) -> Request {
    let format = Format { precision, temperature: Temperature::Derived, hidden: Hidden::Literal };
    Request { arithmetic: Arithmetic::Float(format), ..asked }
}

fn floats(x: &[Vec<Rat>]) -> Vec<Vec<f64>> {
    x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect()
}

impl Example {
    fn new(asked: &Request) -> Self {
        Self::of(compile(asked).unwrap_or_else(|error| panic!("{}: {error}", asked.source.name)))
    }

    fn of(model: Model) -> Self {
        let name = format!("{} {} {}", model.construction(), model.attention(), model.precision());
        let stated = || model.stated().expect("a claim").map(|stated| stated.bound);
        let bound = match model.learned() {
            // It computes its target, but for rounding.
            Some(learned) => Some(learned.rounding),
            None if model.has_cells() => model.built.rounding(),
            None => stated(),
        };
        let bound = bound.unwrap_or_else(|| panic!("{name}: nothing is stated"));
        let inputs = points(&model);
        Self { name, model, inputs, bound }
    }
}

/// Every point that the claim is about where there are few, else random ones of the box.
fn points(model: &Model) -> Batch {
    let grid = &model.grid;
    if !model.has_cells() && !model.target.is_discrete() {
        let mut random = Random::new(20_200_226);
        let mut number = || f64::from(u32::try_from(random.below(1 << 20)).expect("20 bits")) / f64::from(1 << 20);
        let mut token = || (0..grid.dims()).map(|_| number()).collect();
        let mut sequence = || (0..grid.tokens()).map(|_| token()).collect();
        return (0..POINTS).map(|_| sequence()).collect();
    }
    // Theorem 2 serves cells with pairwise distinct columns.
    let all = model.lattice().is_none_or(|lattice| lattice.options.positional);
    let served = grid.all_points().filter(|point| all || has_distinct_columns(point));
    served.map(|point| floats(&grid.centre(&point))).collect()
}

fn examples(precision: Precision) -> Vec<Example> {
    let wide = precision == Precision::F64;
    let of = |text: &str, triple: Triple, options: Options| request(expression(text), triple, options);
    let circuit = |text: &str, tokens: usize, constructions: Constructions, attention: Realisation| Request {
        resolution: None,
        constructions,
        attention,
        ..of(text, (tokens, 1, 2), Options::default())
    };
    let mut asked = vec![
        of(GENERIC, (2, 1, 8), Options::default()),
        of("x * mean(x)", (3, 1, if wide { 8 } else { 4 }), Options::default()),
        of(GENERIC_POSITIONAL, (2, 1, if wide { 16 } else { 4 }), positional()),
        circuit("sort(x) on integers 0..4", 5, circuits(), Realisation::SOFTMAX),
        circuit("max(x) * mean(x, j <= i)", 4, circuits(), Realisation::SOFTMAX),
    ];
    let (name, triple) = if wide { ("strided:2", (4, 1, 3)) } else { ("window:1", (3, 1, 2)) };
    asked.push(of(GENERIC_POSITIONAL, triple, sparse(named(name, triple.0))));
    for kind in ["softmax", "average", "linformer:2", "performer:4", "sparse:hub"] {
        let attention: Realisation = kind.parse().expect("a kind");
        asked.push(circuit("x * mean(x)", 4, circuits(), attention));
        asked.push(circuit("var(x) * x", 3, sumformers(None), attention));
        for family in [&SUM_CODE, &SUMFORMER_DISCRETE] {
            let options = sumcode::Options { attention, ..sumcode::Options::of(family) };
            let fits = if wide { 8 } else { 4 };
            let triple = (2, 1, fits);
            asked.push(Request {
                constructions: only(options),
                attention,
                ..of("x * mean(x)", triple, Options::default())
            });
        }
    }
    let built = asked.into_iter().map(|asked| Example::new(&in_floats(precision, asked)));
    let kinds = ["softmax", "average", "linformer:1", "linformer:3", "performer:1", "performer:4"];
    built.chain(kinds.map(|kind| Example::of(centring(kind, precision).compile().expect(kind)))).collect()
}

/// The properties of the file agree with the folder's.
fn check_properties(model: &Model, properties: &std::collections::BTreeMap<String, String>) {
    let certificate = Contents::of(model).expect("files").certificate;
    assert_eq!(properties.get("certificate_sha256"), certificate.map(|bytes| sha256(&bytes)).as_ref());
    assert_eq!(properties["formwright"], env!("CARGO_PKG_VERSION"));
    let (claim, badge) = if model.learned().is_some() { ("rounding", "measured") } else { ("claim", "certified") };
    assert!(properties.contains_key(claim) && properties["badge"] == badge, "{properties:?}");
}

fn agree(precision: Precision) {
    let examples = examples(precision);
    let file = |(number, example): (usize, &Example)| {
        let network = example.model.float().expect("a float network");
        let properties = example.model.metadata().expect("properties");
        let bytes = onnx::to_bytes(network, &properties, true).expect("an ONNX model");
        (format!("{number:02}"), bytes, example.inputs.clone())
    };
    let files: Vec<_> = examples.iter().enumerate().map(file).collect();
    for (Example { name, model, inputs, bound }, outputs) in examples.iter().zip(onnxruntime::run(&files)) {
        check_properties(model, &outputs.properties);
        let network = model.float().expect("a float network");
        let subject = Subject::new(model.source.clone(), model.grid.tokens(), model.grid.dims());
        let all = Executions::new(network).and_then(|all| all.enclose_batch(inputs)).expect("enclosures");
        let mut error = 0.0_f64;
        let ours = by_engine(network, inputs);
        // On a lattice, but for the last stage, in which values are rounded.
        let exact = if model.has_cells() { 1..network.stages.len() } else { 0..0 };
        let ways = outputs.runs.iter().map(|(way, outputs)| (way.as_str(), by_name(network, outputs)));
        for (way, executions) in ways.chain([("formwright", ours.clone())]) {
            assert_eq!(executions.len(), inputs.len(), "{name}, {way}: the batch");
            for ((x, all), (execution, ours)) in inputs.iter().zip(&all).zip(executions.iter().zip(&ours)) {
                contained(network, all, execution).unwrap_or_else(|place| panic!("{name}, {way}: {place}, of {x:?}"));
                assert_eq!(execution.states[exact.clone()], ours.states[exact.clone()], "{name}, {way}: {x:?}");
                error = error.max(subject.error(x, &execution.output, *bound));
                assert!(error <= *bound, "{name}, {way}: {error:e} at {x:?}, stated {bound:e}");
            }
        }
        let widest = all.iter().map(|all| width(&all.output)).fold(0.0, f64::max);
        let points = inputs.len();
        println!("{name}: {points} points, off by at most {error:.2e}, stated {bound:.2e}; outputs in {widest:.2e}");
    }
}

#[test]
fn onnxruntime_keeps_what_is_stated_of_every_family_and_kind_in_single_precision() {
    agree(Precision::F32);
}

#[test]
fn onnxruntime_keeps_what_is_stated_of_every_family_and_kind_in_double_precision() {
    agree(Precision::F64);
}
