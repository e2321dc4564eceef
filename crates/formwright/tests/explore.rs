//! The page to try a model on computes what the engine does, bit for bit where a format's operations are all rounded correctly, and what
//! every execution keeps to elsewhere; and the target as the library evaluates it. Its script runs in node, which knows nothing of ours.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use formwright::eval::enclosure::Executions;
use formwright::eval::float::Engine;
use formwright::explore;
use formwright::model::Model;
use formwright::network::Precision;
use formwright::random::{below, uniform};
use formwright::target::{Source, catalogue};

type Sequence = Vec<Vec<f64>>;

/// Something, as the page's script makes it.
fn node(asked: &Value) -> Value {
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/explore/engine.js");
    let mut node = Command::new("node")
        .arg(driver)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node: apt-get install nodejs");
    node.stdin.take().expect("a pipe").write_all(asked.to_string().as_bytes()).expect("a reader");
    let output = node.wait_with_output().expect("an answer");
    assert!(output.status.success(), "node failed");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A number that JSON may not have.
fn number(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).expect("a number")
}

fn sequence(value: &Value) -> Sequence {
    let row = |row: &Value| row.as_array().expect("a token").iter().map(number).collect();
    value.as_array().expect("tokens").iter().map(row).collect()
}

fn model(text: &str, tokens: usize, more: &[(&str, &str)]) -> Model {
    let mut build = formwright::build(text).tokens(tokens);
    for (option, value) in more {
        build = match *option {
            "dims" => build.dims(value.parse().expect("a number")),
            "eps" => build.eps(*value),
            "norm" => build.norm(*value),
            "resolution" => build.resolution(value.parse().expect("a number")),
            "construction" => build.construction(*value),
            "attention" => build.attention(*value),
            "precision" => build.precision(*value),
            other => panic!("{other}"),
        };
    }
    build.model().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Inputs of the domain: at random, at its corners, with equal tokens, and of every length up to a few.
fn inputs(model: &Model, seed: &mut u64) -> Vec<Sequence> {
    let (low, high) = (model.grid.low().to_f64(), model.grid.high().to_f64());
    let discrete = model.target.is_discrete();
    let drawn = |state: &mut u64| match below(state, 8) {
        0 if !discrete => low,
        1 if !discrete => high,
        _ if discrete => (low + uniform(state) * (high - low)).round().clamp(low + 0.5, high - 0.5),
        _ => low + uniform(state) * (high - low),
    };
    let (least, most) = model.accepted();
    let token = |state: &mut u64| (0..model.grid.dims()).map(|_| drawn(state)).collect::<Vec<f64>>();
    let mut inputs: Vec<Sequence> = Vec::new();
    for turn in 0..12 {
        let tokens = if turn % 3 == 0 { least + below(seed, most - least + 1) } else { most };
        let first = token(seed);
        let equal = turn == 5;
        inputs.push((0..tokens).map(|_| if equal { first.clone() } else { token(seed) }).collect());
    }
    inputs
}

/// A target, its tokens, how it is built, and whether its execution is one of correctly rounded operations alone, so that there is one result.
type Example = (&'static str, usize, &'static [(&'static str, &'static str)], bool);

/// A model of every kind of network and head.
const MODELS: [Example; 16] = [
    ("z-score", 16, &[], true),
    ("sort-integers", 6, &[], true),
    ("histogram", 5, &[], true),
    ("attention-pooling", 5, &[], true),
    ("softmax", 4, &[("precision", "f64"), ("eps", "1/1000")], false),
    ("max-broadcast", 4, &[], true),
    ("prefix-sum", 6, &[], true),
    ("x * mean(x)", 2, &[("construction", "sumformer"), ("eps", "1/10")], true),
    ("x * mean(x)", 2, &[("construction", "yun"), ("eps", "1/5"), ("norm", "l2")], false),
    ("x * mean(x)", 2, &[("construction", "sum-code"), ("eps", "1/5"), ("norm", "l2")], false),
    ("x - mean(x)", 3, &[("dims", "2")], true),
    ("x * mean(x)", 4, &[("attention", "average")], true),
    ("x * mean(x)", 4, &[("attention", "linformer")], true),
    ("x * mean(x)", 4, &[("attention", "linformer:2")], true),
    ("x * mean(x)", 3, &[("attention", "performer:4")], true),
    ("x - mean(x)", 8, &[("attention", "sparse:star")], true),
];

#[test]
fn the_page_computes_what_the_engine_computes() {
    let mut seed = 20_200_226;
    let folder = tempfile::tempdir().expect("a folder");
    let (mut compared, mut exact) = (0, 0);
    for (text, tokens, more, alike) in MODELS {
        let model = model(text, tokens, more);
        let page = explore::page(&model).expect("a page");
        assert_eq!(page, explore::page(&model).expect("a page"), "{text}: the same bytes");
        let path = folder.path().join("page.html");
        std::fs::write(&path, page).expect("a file");
        let network = model.float().expect("floats");
        let inputs = inputs(&model, &mut seed);
        let answers = node(&json!({"page": path, "inputs": inputs}));
        let (engine, executions) =
            (Engine::new(network).expect("an engine"), Executions::new(network).expect("bounds"));
        for (x, answer) in inputs.iter().zip(answers.as_array().expect("answers")) {
            let place = format!("{text} {more:?} at {x:?}");
            let mut wanted: Vec<Sequence> = engine.trace(x).expect("a trace").into_iter().map(|(_, z)| z).collect();
            wanted.push(engine.run(std::slice::from_ref(x)).expect("an output").remove(0));
            let mut found: Vec<Sequence> = answer["stages"].as_array().expect("stages").iter().map(sequence).collect();
            found.push(sequence(&answer["output"]));
            let enclosure = executions.enclose(x).expect("an enclosure");
            let bounds = enclosure.states.iter().chain([&enclosure.output]);
            assert_eq!(found.len(), wanted.len(), "{place}");
            for ((found, wanted), bounds) in found.iter().zip(&wanted).zip(bounds) {
                let entries = found.iter().flatten().zip(wanted.iter().flatten()).zip(bounds.iter().flatten());
                for ((found, wanted), bound) in entries {
                    assert!(bound.contains(*found), "{place}: {found:e} is in no execution, {bound:?}");
                    // On integers, and wherever all operations are rounded correctly, nothing is left open.
                    assert!(!alike || found.to_bits() == wanted.to_bits(), "{place}: {found:e}, {wanted:e}");
                    compared += 1;
                    exact += usize::from(found.to_bits() == wanted.to_bits());
                }
            }
            let target = model.target.evaluate_f64(x).expect("a value");
            close(&place, &sequence(&answer["target"]).concat(), &target, 1e-12);
        }
        // Another page computes something else: what is compared can differ.
        assert!(network.precision == Precision::F32 || !alike, "{text}: f64 has exponentials of its own");
    }
    println!("{compared} numbers compared, {exact} of them equal bit for bit");
    assert!(compared > 10_000 && exact * 100 > compared * 99, "{exact} of {compared}");
}

/// A difference that is no more than what functions of other libraries may differ by; undefined where the other is.
fn close(place: &str, found: &[f64], wanted: &[f64], allowed: f64) {
    assert_eq!(found.len(), wanted.len(), "{place}");
    for (found, wanted) in found.iter().zip(wanted) {
        let near = (found - wanted).abs() <= allowed * wanted.abs().max(1.0);
        assert!(
            near || found.total_cmp(wanted).is_eq() || found.is_nan() && wanted.is_nan(),
            "{place}: {found:e}, {wanted:e}"
        );
    }
}

/// Features of no built-in target.
const MORE: [&str; 5] = [
    "let a = x - mean(x); let b = a ^ 3; [sort(b) + x[clamp(i - 1, 0, n - 1)], b[n - 1 - i]]",
    "if x > mean(x, j <= i) and not (i == 0 or x < 0.1) then var(x) else -sum(x, x > 0.3) / 7",
    "table(x; 3, 1/3, -2) + (x mod 2) + count(x == x[i]) + floor(x / 2) on integers 0..3",
    "max(x, j != i) - min(x, 0.5) + tanh(x) + sin(x) * cos(x) + log(x + 1) + relu(x - 0.5) + abs(x - 0.25) + n - i",
    "1 / (x - x) + clamp(x, 0.2, 0.7)",
];

#[test]
fn the_page_evaluates_every_target_as_the_library_does() {
    let mut seed = 7;
    let page = explore::page(&model("x - mean(x)", 2, &[])).expect("a page");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("page.html");
    std::fs::write(&path, page).expect("a file");
    let built_in = catalogue::names().filter_map(|name| Some((name, catalogue::find(name)?.ok()?)));
    let more = MORE.into_iter().map(|text| (text, Source::expression("t", text).expect("a target")));
    let (mut asked, mut expected, mut defined) = (Vec::new(), Vec::new(), 0);
    for (name, source) in built_in.chain(more) {
        for dims in 1..=2 {
            let Ok(target) = source.target(dims) else { continue };
            for tokens in [1, 2, 5] {
                let (low, high) = source.cube();
                let entry = |seed: &mut u64| {
                    let x = low.to_f64() + uniform(seed) * (high.to_f64() - low.to_f64());
                    if target.is_discrete() { x.round() } else { x }
                };
                let x: Sequence = (0..tokens).map(|_| (0..dims).map(|_| entry(&mut seed)).collect()).collect();
                let Ok(value) = target.evaluate_f64(&x) else { continue };
                defined += usize::from(value.iter().all(|y| y.is_finite()));
                asked.push(json!({"target": source.to_json(), "x": x, "dims": dims}));
                expected.push((format!("{name} at {x:?}"), value));
            }
        }
    }
    let answers = node(&json!({"page": path, "targets": asked}));
    let answers = answers.as_array().expect("answers");
    assert_eq!(answers.len(), expected.len());
    for (found, (place, wanted)) in answers.iter().zip(&expected) {
        close(place, &sequence(found).concat(), wanted, 1e-12);
    }
    assert!(defined > 100, "{defined} of {} have a value", expected.len());
}

/// A search starts from what a reader has typed, which may be far outside.
#[test]
fn the_worst_input_is_one_of_the_domain() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("page.html");
    for (text, (low, high), start) in [
        ("x * mean(x) on [-1/3, 2/3]", (-1.0 / 3.0, 2.0 / 3.0), [[[-9.5], [1e30]], [[0.25], [0.5]]]),
        ("x - mean(x) on integers -2..3", (-2.0, 2.0), [[[99.0], [-1e30]], [[0.5], [1.0]]]),
        ("x - mean(x) on integers 0..100", (0.0, 99.0), [[[-7.0], [1e30]], [[0.5], [99.4]]]),
    ] {
        let model = model(text, 2, &[]);
        std::fs::write(&path, explore::page(&model).expect("a page")).expect("a file");
        let claimed = model.built.supremum().expect("a bound").bound;
        for start in start {
            let found = node(&json!({"page": path, "start": start}));
            let (x, error) = (sequence(&found["x"]), number(&found["error"]));
            let inside =
                |entry: &f64| (low..=high).contains(entry) && (!text.contains("integers") || entry.fract() == 0.0);
            assert!(x.iter().flatten().all(inside), "{text}: {x:?}, from {start:?}");
            assert!((0.0..=claimed).contains(&error), "{text}: off by {error:e} of {claimed:e}");
        }
    }
}

#[test]
fn what_is_too_large_or_exact_has_no_page() {
    let declined = |model: &Model| explore::page(model).expect_err("no page").to_string();
    let exact = declined(&formwright::build("x - mean(x)").tokens(2).resolution(4).model().expect("a model"));
    assert!(exact.starts_with("an exact model has fractions of any length"), "{exact}");
}

/// A name that is markup stays a name.
#[test]
fn a_hostile_name_ends_no_script() {
    let hostile = "</script><script>alert(1)</script>";
    let mut model = model("x - mean(x)", 2, &[]);
    model.source.name = hostile.to_owned();
    let page = explore::page(&model).expect("a page");
    assert_eq!(page.matches("</script>").count(), 2, "the data, and the script");
    assert!(!page.contains("<script>alert"));
}
