//! Every register holds what is said of it, after every stage: `offset + Σ factor · atom`, within the error that is said, on random inputs.

use super::support::circuits::{Subject, programs};
use super::support::expressions::random_program;
use super::support::meanings::{Atoms, compare, sequence};
use super::support::{Options, circuits, expression, only, request};
use formwright::artifact;
use formwright::compile::{Arithmetic, Request, compile};
use formwright::construct::circuit::{Compiled, Trade};
use formwright::construct::sumcode::{self, SUM_CODE};
use formwright::construct::sumformer::discrete::SUMFORMER_DISCRETE;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::export::transformerlens::TransformerLens;
use formwright::lower::Format;
use formwright::network::{Precision, Realisation};
use formwright::target::{Expression, Source};
use rayon::prelude::*;
use serde_json::{Value, json};

/// The coordinates of a circuit, as files have them.
fn written(compiled: &Compiled) -> Value {
    let coordinates = compiled.network.coordinates.iter().enumerate();
    coordinates
        .map(|(register, c)| json!({"name": c.name, "meaning": c.meaning, "held": compiled.meanings.to_json(register)}))
        .collect()
}

/// Compares traces of a circuit with what is said of it: numbers that were compared, or what is not as it is said.
fn judge(subject: &Subject, compiled: &Compiled, written: &Value, sequences: usize) -> Result<usize, String> {
    let domain = &subject.target.expression().expect("an expression").expression().domain;
    let atoms = Atoms::read(&compiled.meanings.atoms_to_json(), subject.dims, domain);
    let engine = Engine::new(&compiled.network).map_err(|error| error.to_string())?;
    let (least, most) = compiled.lengths;
    let mut state = 20_200_226;
    let mut compared = 0;
    for k in 0..sequences {
        let x = sequence(&mut state, most - k % (most - least + 1), subject.dims, domain);
        let trace = engine.trace(&x).map_err(|error| error.to_string())?;
        compared += compare(written, &trace, &atoms.values(&x)).map_err(|wrong| format!("{wrong}\nat {x:?}"))?;
    }
    Ok(compared)
}

fn check(name: &str, subject: &Subject, compiled: &Compiled, sequences: usize) {
    let found = judge(subject, compiled, &written(compiled), sequences);
    let found = found.unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    assert!(found > 0, "{name}: nothing was compared");
}

/// Every built-in target, in either format, by width and by depth.
#[test]
fn registers_of_all_circuits_of_the_catalogue_hold_what_is_said() {
    let names: Vec<&str> = programs().collect();
    names.par_iter().for_each(|name| {
        for (tokens, precision, trade, eps) in [
            (2, Precision::F64, Trade::Width, 100),
            (5, Precision::F32, Trade::Width, 20),
            (3, Precision::F64, Trade::Depth, 50),
        ] {
            let subject = Subject::of(name, tokens);
            match subject.compile(&Rat::new(1, eps), precision, trade) {
                Ok(compiled) => check(&format!("{name}, {tokens}, {precision}"), &subject, &compiled, 8),
                // There may be nothing to make deep, and single precision may not be enough.
                Err(error) => assert!(trade == Trade::Depth || precision == Precision::F32, "{name}: {error}"),
            }
        }
    });
}

/// Texts that meet what the catalogue does not: several coordinates, masks of all kinds, places by value, longer sequences.
#[test]
fn registers_of_odd_circuits_hold_what_is_said() {
    for (text, tokens, dims) in [
        ("sort(x) on integers 0..4", 5, 1),
        ("[x.0 * x.1, mean(x.0) - x.1]", 3, 2),
        ("max(x.1) - x.0 * i / n on [-1, 3]", 4, 2),
        ("sum(x, j <= i) + i^2 / 7", 5, 1),
        ("mean(x, j >= i - 1 and j <= i + 1) * x", 6, 1),
        ("x[x] on integers 0..4", 4, 1),
        ("x[(i + x) mod n] + x[0] on integers -2..3", 4, 1),
        ("if i == 0 then x else x[i-1]", 4, 1),
        ("min(x, j <= i) + exp(x)", 4, 1),
        ("x / 3 + 1000 on [1/3, 7/3]", 1, 1),
        ("x * mean(x) on [1000, 1001]", 2, 1),
        ("let b = x - mean(x); b / (1 + sum(b^2))", 3, 1),
        ("sum(j * x) - log(i + 2)", 3, 1),
        ("attend(2 * x * x[i] + x, 3 - x, j <= i + 1) on [-1, 2]", 4, 1),
        ("[attend(x.0 * x[i].1 - j, x.1), i]", 3, 2),
        ("let c = if x > 1 then mean(x) else x; c * c[i] on integers 0..4", 3, 1),
    ] {
        let subject = Subject::new(expression(text), tokens, dims);
        for precision in [Precision::F32, Precision::F64] {
            match subject.compile(&Rat::new(1, 20), precision, Trade::Width) {
                Ok(compiled) => check(&format!("{text} {precision}"), &subject, &compiled, 24),
                Err(error) => assert_eq!(precision, Precision::F32, "{text}: {error}"),
            }
        }
    }
}

/// Other kinds of attention have registers of their own; behind a stage these are empty, or 1.
#[test]
fn registers_of_other_kinds_of_attention_hold_what_is_said() {
    for attention in ["average", "linformer:2", "performer:3", "performer:3:constant", "sparse:hub@1"] {
        let realisation: Realisation = attention.parse().unwrap_or_else(|error| panic!("{attention}: {error}"));
        for text in ["z-score", "x - sum(x) / 7 on [-3, 5]"] {
            let subject = Subject::of(text, 3);
            let compiled = subject.compile_with(&Rat::new(1, 10), Precision::F64, Trade::Width, realisation);
            let compiled = compiled.unwrap_or_else(|error| panic!("{attention}: {error}"));
            check(&format!("{text} {attention}"), &subject, &compiled, 16);
        }
    }
}

/// Programs of every construct of the language.
#[test]
fn registers_of_random_programs_hold_what_is_said() {
    let judged: usize = (0..160_u64)
        .into_par_iter()
        .map(|seed| {
            let program = random_program(seed);
            let tokens = 1 + usize::try_from(seed % 5).expect("small");
            let source = Source::expression(&program.text, &program.text).expect("a program");
            let subject = Subject::new(source, tokens, program.dims);
            let precision = if seed % 2 == 0 { Precision::F32 } else { Precision::F64 };
            let trade = if seed % 3 == 0 { Trade::Depth } else { Trade::Width };
            let Ok(compiled) = subject.compile(&Rat::new(1, 10), precision, trade) else { return 0 };
            check(&program.text, &subject, &compiled, 6);
            1
        })
        .sum();
    assert!(judged >= 40, "only {judged} programs were compiled");
}

/// A false meaning is noticed: an offset or a factor that is left out or off by twice the error, another atom, no error
/// where there is one.
#[test]
fn false_meanings_are_noticed() {
    let mut refused = 0;
    for text in ["sort(x) on integers 0..4", "z-score", "x * max(x)"] {
        let subject = Subject::of(text, 3);
        let compiled = subject.compile(&Rat::new(1, 20), Precision::F32, Trade::Width).expect(text);
        let whole = written(&compiled);
        judge(&subject, &compiled, &whole, 16).expect(text);
        let mut refuse = |what: &str, file: &Value| {
            assert!(judge(&subject, &compiled, file, 16).is_err(), "{text}: {what}");
            refused += 1;
        };
        for register in 0..compiled.network.width() {
            for (k, held) in compiled.meanings.registers[register].iter().enumerate() {
                let changed = |key: &str, value: Value| {
                    let mut file = whole.clone();
                    file[register]["held"][k][key] = value;
                    file
                };
                let meaning = &held.meaning;
                let more = Rat::from_f64(meaning.error * 2.0 + 1e-9).expect("a number");
                refuse("a larger offset", &changed("offset", json!(&meaning.offset + &more)));
                refuse("a smaller offset", &changed("offset", json!(&meaning.offset - &more)));
                if meaning.offset.abs() > more {
                    refuse("no offset", &changed("offset", json!("0")));
                }
                if !meaning.terms.is_empty() && meaning.error < 1e-3 {
                    refuse("no terms", &changed("terms", json!([])));
                }
            }
        }
    }
    assert!(refused > 40, "{refused}");
}

/// The words for people are printed from the numbers for machines, in every file, and evaluate to a run's.
#[test]
fn all_files_say_the_same() {
    let asked = Request {
        constructions: circuits(),
        resolution: None,
        arithmetic: Arithmetic::Float(Format::literal(Precision::F32)),
        ..request(expression("sort(x) on integers 0..4"), (5, 1, 2), Options::default())
    };
    let model = compile(&asked).expect("a circuit");
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("sorted");
    artifact::write(&model, &dir).expect("a folder");
    let file: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.join("model.json")).expect("a file")).expect("JSON");
    assert_eq!(file["coordinates"], model.coordinates_to_json());
    assert_eq!(file["coordinates"], artifact::read(&dir).expect("a model").coordinates_to_json());
    let words: Vec<&str> = file["coordinates"]
        .as_array()
        .expect("registers")
        .iter()
        .map(|coordinate| coordinate["meaning"].as_str().expect("words"))
        .collect();
    insta::assert_snapshot!(words.join("\n"));
    let page = std::fs::read_to_string(dir.join("report.html")).expect("a page");
    let files = TransformerLens::new(&model, None).and_then(|export| export.files(None)).expect("files");
    let (_, bytes) = files.iter().find(|(name, _)| name == "circuit.json").expect("the ground truth");
    let circuit: Value = serde_json::from_slice(bytes).expect("JSON");
    assert_eq!(circuit["atoms"], file["atoms"]);
    for (k, coordinate) in file["coordinates"].as_array().expect("registers").iter().enumerate() {
        let truth = &circuit["coordinates"][k];
        assert_eq!(truth["meaning"], coordinate["meaning"]);
        for (a, b) in truth["held"].as_array().expect("held").iter().zip(coordinate["held"].as_array().expect("held")) {
            assert_eq!((&a["offset"], &a["terms"], &a["error"]), (&b["offset"], &b["terms"], &b["error"]));
        }
        for meaning in coordinate["meaning"].as_str().expect("words").split(", then ") {
            assert!(page.contains(&meaning.replace('<', "&lt;")), "{meaning}");
        }
    }
}

/// Lattice constructions say in words what rows hold; the numbers in these words are what a trace shows: scale and offset of cells, and of values.
#[test]
fn the_words_of_lattices_have_the_right_numbers() {
    let of = |text: &str, x: &[Vec<Rat>]| {
        let target = Expression::parse(text).and_then(|target| target.check(1)).expect(text);
        target.evaluate_exact(x).expect(text)
    };
    let body = "x * mean(x) + x / 3";
    for (low, high) in [("0", "1"), ("-1", "1"), ("-1/3", "5/3")] {
        let text = format!("{body} on [{low}, {high}]");
        let sums = |family| only(sumcode::Options::of(family));
        for constructions in [only(Options::default()), sums(&SUM_CODE), sums(&SUMFORMER_DISCRETE)] {
            let construction = constructions[0].name();
            let asked = Request { constructions, ..request(expression(&text), (2, 1, 3), Options::default()) };
            let model = compile(&asked).unwrap_or_else(|error| panic!("{construction}, {text}: {error}"));
            let network = model.exact().expect("an exact network");
            let (low, high): (Rat, Rat) = (low.parse().expect("a number"), high.parse().expect("a number"));
            let side = (&high - &low) / Rat::from(3);
            // The centres of two cells.
            let x: Vec<Vec<Rat>> = [1, 5].map(|half| vec![&low + &(&side * &Rat::new(half, 2))]).into();
            let trace = formwright::eval::indexed::trace(network, &x).expect("a trace");
            let words = &model.coordinates()[0].meaning;
            let cells = words.split_once(": ").map_or(words.as_str(), |(_, words)| words);
            let (cells, rest) = cells.split_once(", the token's coordinate 0 in cells").expect("cells");
            let shown =
                |state: &[Vec<Rat>]| -> Vec<Vec<Rat>> { state.iter().map(|token| vec![token[0].clone()]).collect() };
            assert_eq!(of(&format!("[{cells}]"), &x), shown(&trace[0].1), "{construction}, {text}: {words}");
            if let Some((_, value)) = rest.split_once("then its cell, then ") {
                let (value, _) = value.split_once(" for its value f").expect("a value");
                let value = format!("let f = {body}; [{value}]");
                assert_eq!(of(&value, &x), shown(&trace.last().expect("a stage").1), "{construction}, {text}: {words}");
            }
        }
    }
}
