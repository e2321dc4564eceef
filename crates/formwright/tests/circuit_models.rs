//! Circuits as models: what is planned is what is built, written, read back, run and claimed.

use super::support::expression;
use super::support::{circuits, every, only};
use formwright::artifact;
use formwright::bound::Norm;
use formwright::compile::{Arithmetic, Asked, Model, Request, Tolerance, compile};
use formwright::construct::circuit::Trade;
use formwright::construct::circuit::family::{Options as Gates, Row};
use formwright::error::ErrorKind;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::lower::Format;
use formwright::network::{Precision, Realisation};
use formwright::plan::{compile_first, plan};
use formwright::target::{Source, catalogue};

fn request(source: Source, tokens: usize, norm: Option<Norm>) -> Request {
    Request {
        source,
        constructions: every(),
        tokens: Some(tokens),
        dims: None,
        resolution: None,
        everywhere: false,
        attention: Realisation::SOFTMAX,
        assume_equivariant: false,
        tolerance: Tolerance { eps: None, norm, lipschitz: None },
        arithmetic: Arithmetic::Auto(Format::literal(Precision::F64)),
    }
}

/// Targets of every kind: of values, of positions, on integers.
fn models() -> Vec<Model> {
    ["z-score", "softmax", "gap-to-max", "reverse", "prefix-sum", "parity", "sort-integers"]
        .map(|name| {
            let source = catalogue::find(name).expect(name).expect(name);
            compile_first(&request(source, 5, None)).expect(name)
        })
        .into()
}

fn bound(model: &Model) -> f64 {
    model.certified().expect("a bound").expect("a claim").budget.bound
}

#[test]
fn what_is_found_stays_below_what_is_certified() {
    for model in models() {
        let name = &model.target.name;
        assert_eq!((model.family(), model.norm()), ("circuit", Some(Norm::Sup)), "{name}");
        let (bound, measured) = (bound(&model), model.measured().expect("a run").expect("floats"));
        assert!(measured.value <= bound && bound <= 0.01, "{name}: {measured:?} {bound}");
        assert!(measured.confidence.is_none() && measured.points >= 32, "{name}: {measured:?}");
        let proof = model.circuit().and_then(|circuit| circuit.proof()).expect(name);
        assert_eq!(proof.margin.is_some(), model.target.is_discrete(), "{name}");
        assert!(proof.gates.iter().all(|gate| gate.share <= bound && gate.range.0 <= gate.range.1), "{name}");
        // Every gate, and every input, that a formula names is read.
        let known = |word: &&str| word.starts_with('x') || proof.gates.iter().any(|gate| gate.name == *word);
        for gate in &proof.gates {
            let words = gate.formula.split(|c: char| !c.is_alphanumeric() && c != '.' && c != '_');
            for word in words.filter(|word| !word.is_empty()).filter(known) {
                assert!(gate.reads.iter().any(|read| read == word), "{name}: {gate:?} does not read {word}");
            }
            assert!(gate.registers.iter().all(|register| *register < model.coordinates().len()), "{name}: {gate:?}");
        }
        assert_eq!(model.example().len(), 5);
    }
}

/// One token is a length like any other: every built-in target that is a circuit at two is one at one, and within its bound of the target there.
#[test]
fn a_circuit_takes_a_single_token() {
    // One row of the plan is enough.
    let request = |source, tokens| Request {
        constructions: only(Gates { trade: Some(Trade::Width) }),
        arithmetic: Arithmetic::Float(Format::literal(Precision::F32)),
        ..request(source, tokens, None)
    };
    for name in catalogue::names() {
        let source = || catalogue::find(name).expect(name).expect(name);
        let model = match compile(&request(source(), 1)) {
            Ok(model) => model,
            Err(error) => {
                assert!(!error.to_string().contains("Lemma 6") || error.headline().contains("sort"), "{name}: {error}");
                assert!(compile(&request(source(), 2)).is_err(), "{name}: {error}");
                continue;
            }
        };
        assert_eq!((model.family(), model.lengths()), ("circuit", (1, 1)), "{name}");
        let engine = Engine::new(model.float().expect("floats")).expect("an engine");
        let (low, high, dims) = (model.grid.low(), model.grid.high(), model.grid.dims());
        for part in 0..=8 {
            let mut x = low + &((high - low) * Rat::new(part, 8));
            if model.target.is_discrete() {
                x = Rat::new(x.floor(), 1);
                if !model.is_in_domain(&[vec![x.clone(); dims]]) {
                    continue;
                }
            }
            let wanted = model.expected(&[vec![x.clone(); dims]]).expect(name);
            let found = engine.run(&[vec![vec![x.to_f64(); dims]]]).expect(name).remove(0);
            for (y, f) in found.concat().iter().zip(wanted.concat()) {
                // What the target's own value is rounded by is far below what is checked here.
                assert!((y - f.to_f64()).abs() <= bound(&model) + 1e-12, "{name} at {x}: {y}, not {f}");
            }
        }
    }
}

#[test]
fn a_folder_gives_back_the_network_and_the_claim() {
    let folder = tempfile::tempdir().expect("a folder");
    for model in models() {
        let name = &model.target.name;
        let dir = folder.path().join(name);
        artifact::write(&model, &dir).expect(name);
        let read = artifact::read(&dir).expect(name);
        assert_eq!(read.float(), model.float(), "{name}");
        assert!(!read.is_edited() && read.claim() == model.claim(), "{name}");
        assert_eq!(read.summary().expect(name), model.summary().expect(name), "{name}");
        // Another tolerance is another network: that of the folder is none of it.
        let file = std::fs::read_to_string(dir.join("model.json")).expect(name);
        std::fs::write(dir.join("model.json"), file.replacen("\"eps\": \"1/100\"", "\"eps\": \"1/7\"", 1)).expect(name);
        let edited = artifact::read(&dir).expect(name);
        let same = compile_first(&Request {
            tolerance: Tolerance { eps: Some(Rat::new(1, 7)), ..Tolerance::default() },
            ..request(model.source.clone(), 5, None)
        });
        assert_eq!(edited.is_claimed(), same.is_ok_and(|same| same.float() == model.float()), "{name}");
        assert!(Engine::new(edited.float().expect(name)).is_ok(), "it runs all the same");
    }
}

#[test]
fn the_first_row_is_built_and_every_row_is_what_it_says() {
    for (text, norm) in [("x * max(x)", "sup"), ("x * max(x)", "l2"), ("exp(x) - mean(x)^2", "lp:3/2")] {
        // Lattices are slow to size up, and in the supremum norm not to be had.
        let constructions = if norm == "sup" { every() } else { circuits() };
        let request = request(expression(text), 2, Some(norm.parse().expect("a norm")));
        let request = Request { constructions, ..request };
        let plan = plan(&request).expect("a plan");
        assert_eq!(plan.eps, Some(Rat::new(1, 100)), "the default");
        let rows = plan.candidates.iter().filter(|candidate| candidate.way.family() == "circuit");
        assert_eq!(rows.clone().count(), 4, "two formats, two trades");
        for row in rows {
            let &Row { precision, trade, .. } = row.way.of().expect("a circuit");
            let precision = precision.expect("floats");
            let sketch = row.outcome.as_ref().expect("a circuit");
            let model = compile(&Request {
                constructions: only(Gates { trade }),
                attention: Realisation::SOFTMAX,
                arithmetic: Arithmetic::Float(Format::literal(precision)),
                ..request.clone()
            });
            let model = model.expect("a model");
            assert_eq!((model.size(), bound(&model)), (sketch.size.clone(), sketch.budget.bound));
            assert_eq!(model.domain_name(), sketch.domain);
            assert!(sketch.budget.norm.to_string() == norm && sketch.budget.meets(&Rat::new(1, 100)));
        }
        let built = compile_first(&request).expect("a model");
        assert_eq!(built.size(), plan.candidates[0].outcome.as_ref().expect("a row").size);
    }
}

#[test]
fn integrals_are_over_one_length_and_suprema_over_many() {
    let lengths = |norm: &str| {
        let request = request(expression("x - mean(x)"), 3, Some(norm.parse().expect("a norm")));
        let model = compile_first(&request).expect("a model");
        (model.lengths(), model.accepted(), model.domain_name())
    };
    let (certified, accepted, _) = lengths("sup");
    assert!(certified == accepted && certified == (1, 3));
    let (certified, accepted, domain) = lengths("l2");
    assert!(certified == (3, 3) && accepted == (1, 3) && domain == "[0, 1]^(1×3)", "{domain}");
}

#[test]
fn what_only_lattices_have_is_refused_with_a_reason() {
    let base = Request { constructions: circuits(), ..request(expression("x"), 2, None) };
    let refused = [
        Request { resolution: Some(4), ..base.clone() },
        Request { everywhere: true, ..base.clone() },
        Request { arithmetic: Arithmetic::Exact, ..base.clone() },
        Request { tolerance: Tolerance { lipschitz: Some(Rat::ONE), ..Tolerance::default() }, ..base.clone() },
    ];
    for request in refused {
        let error = compile(&request).expect_err("no circuit");
        assert_eq!(error.kind(), ErrorKind::Declined);
        assert_eq!(error.notes().iter().map(|(label, _)| *label).collect::<Vec<_>>(), ["reason", "try"], "{error}");
        let plan = plan(&request).expect("a plan");
        assert!(plan.chosen().is_none() && plan.candidates.iter().all(|row| row.outcome.is_err()));
    }
    let printed = Asked {
        construction: Some("circuit".to_owned()),
        as_printed: vec!["flag-sign".to_owned()],
        ..Asked::default()
    };
    let error = printed.request(expression("x")).expect_err("no circuit");
    assert_eq!(error.kind(), ErrorKind::Declined);
    // Where there is no product and no square, nothing can be made deep.
    let deep = |text: &str| {
        let constructions = only(Gates { trade: Some(Trade::Depth) });
        compile(&Request { source: expression(text), constructions, ..base.clone() })
    };
    assert!(deep("x * mean(x)").is_ok() && deep("x").is_err());
}
