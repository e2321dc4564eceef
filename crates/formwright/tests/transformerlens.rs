//! A model exported to TransformerLens computes the target: every sequence of tokens, through an independent forward
//! pass in numpy that follows TransformerLens' documentation (`parity/transformerlens.py`), in the basis of the
//! construction and in rotated ones.

use std::fs;
use std::path::Path;

use super::support::circuits::digits;
use super::support::meanings::{Atoms, compare};
use super::support::onnxruntime;
use super::support::{Constructions, Options, circuits, expression, request};
use formwright::artifact;
use formwright::compile::{Model, Request, compile};
use formwright::export::transformerlens::TransformerLens;
use formwright::lower::{Format, Hidden, Temperature};
use formwright::network::{Precision, Realisation};
use serde_json::Value;

fn model(text: &str, tokens: usize, precision: Precision, constructions: Constructions) -> Model {
    let format = Format { precision, temperature: Temperature::Derived, hidden: Hidden::Literal };
    let asked = Request {
        resolution: None,
        constructions,
        arithmetic: formwright::compile::Arithmetic::Float(format),
        attention: Realisation::SOFTMAX,
        ..request(expression(text), (tokens, 1, 2), Options::default())
    };
    compile(&asked).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join(name)).expect(name)).expect(name)
}

/// Doubles of a file.
fn numbers(folder: &Path, name: &str) -> Vec<f64> {
    let bytes = fs::read(folder.join(name)).expect(name);
    bytes.chunks_exact(8).map(|number| f64::from_le_bytes(number.try_into().expect("8 bytes"))).collect()
}

/// Asks of all sequences that the residual stream is what the ground truth says, hook by hook.
fn check_meanings(name: &str, model: &Model, folder: &Path) {
    let (circuit, config) = (json(folder, "circuit.json"), json(folder, "config.json"));
    let side = |key: &str| usize::try_from(config[key].as_u64().expect(key)).expect("small");
    let (layers, width, tokens) = (side("n_layers"), side("d_model"), side("n_ctx"));
    let hooks = |layer| ["mid", "post"].map(|place| format!("blocks.{layer}.hook_resid_{place}"));
    let places: Vec<String> =
        std::iter::once("blocks.0.hook_resid_pre".to_owned()).chain((0..layers).flat_map(hooks)).collect();
    let states = numbers(folder, "states.bin");
    let of_place = states.len() / places.len();
    let domain = &model.target.expression().expect("an expression").expression().domain;
    let atoms = Atoms::read(&circuit["atoms"], 1, domain);
    for code in 0..of_place / (tokens * width) {
        let mut ids: Vec<u64> = digits(code as u64, side("d_vocab") as u64).take(tokens).collect();
        ids.reverse();
        let token = |id: &u64| {
            let token = &circuit["vocabulary"][usize::try_from(*id).expect("small")];
            token.as_array().expect("a token").iter().map(|x| x.as_f64().expect("a number")).collect()
        };
        let x: Vec<Vec<f64>> = ids.iter().map(token).collect();
        let state = |(place, name): (usize, &String)| {
            let state = &states[place * of_place + code * tokens * width..][..tokens * width];
            (name.clone(), state.chunks(width).map(<[f64]>::to_vec).collect())
        };
        let trace: Vec<(String, Vec<Vec<f64>>)> = places.iter().enumerate().map(state).collect();
        let compared = compare(&circuit["coordinates"], &trace, &atoms.values(&x));
        assert!(compared.is_ok(), "{name}, {x:?}: {compared:?}");
    }
}

/// Asks of all sequences that the largest logit of each output, or the logit where it is one real number, is the target's value.
fn check(name: &str, model: &Model, folder: &Path, allowed: f64) {
    let circuit = json(folder, "circuit.json");
    let vocabulary = circuit["vocabulary"].as_array().expect("tokens");
    let logits = circuit["logits"].as_array().expect("logits");
    let numbers = numbers(folder, "logits.bin");
    let tokens = model.grid.tokens();
    let sequences = numbers.len() / logits.len() / tokens;
    assert_eq!(sequences, vocabulary.len().pow(u32::try_from(tokens).expect("few")), "{name}");
    for (code, numbers) in numbers.chunks(logits.len() * tokens).enumerate() {
        let mut ids: Vec<u64> = digits(code as u64, vocabulary.len() as u64).take(tokens).collect();
        ids.reverse();
        let token = |id: &u64| -> Vec<f64> {
            let token = vocabulary[usize::try_from(*id).expect("small")].as_array().expect("a token");
            token.iter().map(|x| x.as_f64().expect("a number")).collect()
        };
        let x: Vec<Vec<f64>> = ids.iter().map(token).collect();
        let wanted = model.target.evaluate_f64(&x).expect("values");
        for (numbers, wanted) in numbers.chunks(logits.len()).zip(wanted) {
            let best = (0..logits.len()).max_by(|a, b| numbers[*a].total_cmp(&numbers[*b])).expect("a logit");
            let found = logits[best]["value"].as_f64().unwrap_or(numbers[best]);
            assert!((found - wanted).abs() <= allowed, "{name}: {found}, not {wanted}, at {x:?}");
        }
    }
}

const INTEGERS: [(&str, usize); 5] = [
    ("sort(x) on integers 0..4", 4),
    ("count(x == x[i]) on integers 0..3", 5),
    ("x[n - 1 - i] on integers 0..5", 4),
    ("max(x) - min(x) on integers -2..3", 4),
    ("if x > 1 then max(x) else 0 on integers 0..4", 3),
];

#[test]
fn every_sequence_of_tokens_gives_the_targets_value_in_any_basis() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut cases = Vec::new();
    for (number, (text, tokens)) in INTEGERS.into_iter().enumerate() {
        for precision in [Precision::F32, Precision::F64] {
            for seed in [None, Some(1), Some(20_230_702)] {
                let model = model(text, tokens, precision, circuits());
                let bound = model.stated().expect("a claim").map(|stated| stated.bound);
                let files = TransformerLens::new(&model, seed).and_then(|export| export.files(bound)).expect(text);
                let name = format!("{number}-{precision}-{seed:?}");
                artifact::write_new_folder(&folder.path().join(&name), &files).expect("a folder");
                cases.push((name, text, model));
            }
        }
    }
    onnxruntime::script("transformerlens.py", folder.path()).expect("numpy runs all cases");
    for (name, text, model) in cases {
        let folder = folder.path().join(name);
        assert!(json(&folder, "circuit.json")["logits"][0]["value"].is_i64(), "{text}: no vocabulary of outputs");
        check(text, &model, &folder, 0.0);
        if json(&folder, "circuit.json")["rotate"].is_null() {
            check_meanings(text, &model, &folder);
        }
    }
}

/// Real outputs are logits themselves, within what is stated.
#[test]
fn real_outputs_are_logits() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = model("x - mean(x) on integers 0..4", 4, Precision::F64, circuits());
    let bound = model.stated().expect("a claim").expect("a claim").bound;
    let files = TransformerLens::new(&model, None).and_then(|export| export.files(Some(bound))).expect("files");
    let case = folder.path().join("case");
    artifact::write_new_folder(&case, &files).expect("a folder");
    onnxruntime::script("transformerlens.py", folder.path()).expect("numpy runs it");
    check("real", &model, &case, bound + 1e-12);
}

/// A ground truth that is not the network's would be noticed: every part that is named writes, every part that is not is zero, and what a gate's parts read are
/// registers that something wrote before.
#[test]
fn the_ground_truth_names_every_part_that_does_something() {
    for (text, tokens) in INTEGERS {
        let model = model(text, tokens, Precision::F32, circuits());
        let files = TransformerLens::new(&model, None).and_then(|export| export.files(None)).expect(text);
        let (_, bytes) = files.iter().find(|(name, _)| name == "circuit.json").expect("the ground truth");
        let circuit: Value = serde_json::from_slice(bytes).expect("JSON");
        let gates = circuit["gates"].as_array().expect("gates");
        assert!(!gates.is_empty(), "{text}");
        for gate in gates {
            let (part, word) = if gate["heads"].is_array() { ("heads", "head") } else { ("units", "unit") };
            let layer = &circuit["layers"][usize::try_from(gate["layer"].as_u64().expect("a layer")).expect("small")];
            let places = gate[part].as_array().expect("places");
            assert!(!places.is_empty(), "{text}: {gate}");
            for place in places {
                let parts = layer[part].as_array().expect("parts");
                let found = parts.iter().find(|found| found[word] == *place).expect("the part");
                assert!(found["computes"].as_array().expect("names").contains(&gate["name"]), "{text}: {gate}");
                assert!(!found["writes"].as_array().expect("names").is_empty(), "{text}: {gate}");
            }
        }
    }
}

#[test]
fn what_transformerlens_has_no_form_for_is_declined() {
    let decline = |text: &str, construction| {
        let model = model(text, 3, Precision::F64, construction);
        let error = TransformerLens::new(&model, None).err().expect("declined");
        error.to_string()
    };
    let messages =
        [decline("x - mean(x)", circuits()), decline("sum(x, j <= i) + max(x) on integers 0..3", circuits())];
    insta::assert_snapshot!(messages.join("\n"));
}
