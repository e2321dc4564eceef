//! Both executions against an outside implementation: `oracle/yun_oracle.py` (Python, fractions, literal weights) wrote
//! `oracle/expected.json`; every state after every stage must be the same number.

use super::support::only;
use formwright::compile::{Model, Request, compile};
use formwright::construct::yun::Options;
use formwright::eval::{exact, indexed};
use formwright::input;
use formwright::network::{Realisation, Sequence};
use formwright::target::Source;
use serde_json::Value;

fn model(case: &Value) -> Model {
    let text = match case["target"].as_str().expect("a target") {
        "centring" => "x - mean(x)",
        "maximum" => "max(x)",
        "square-times-mean" => "x^2 * mean(x)",
        "sort" => "sort(x)",
        "reverse" => "x[n - 1 - i]",
        "prefix-sum" => "sum(x, j <= i)",
        other => panic!("the oracle knows no target {other}"),
    };
    let as_printed = case["as_printed"].as_str().map(|step| step.parse().expect("a step")).into_iter().collect();
    let number = |name: &str| case[name].as_u64().expect("a number");
    let size = |name: &str| usize::try_from(number(name)).expect("small");
    compile(&Request {
        source: Source::expression("oracle", text).expect("an expression"),
        tokens: Some(size("tokens")),
        dims: Some(size("dims")),
        resolution: Some(number("resolution")),
        constructions: only(Options { positional: number("theorem") == 3, as_printed, ..Options::default() }),
        everywhere: false,
        attention: Realisation::SOFTMAX,
        assume_equivariant: false,
        tolerance: formwright::compile::Tolerance::default(),
        arithmetic: formwright::compile::Arithmetic::Exact,
    })
    .expect("a model")
}

fn sequence(value: &Value, model: &Model) -> Sequence {
    input::sequence(value, model.grid.tokens(), model.grid.dims(), || "the oracle's state".to_owned()).expect("a state")
}

#[test]
fn every_stage_agrees_with_the_outside_implementation() {
    let cases: Value = serde_json::from_str(include_str!("oracle/expected.json")).expect("JSON");
    let cases = cases.as_array().expect("cases");
    let mut compared = 0;
    for case in cases {
        let model = model(case);
        let runs = case["runs"].as_array().expect("runs");
        let inputs: Vec<Sequence> = runs.iter().map(|run| sequence(&run["input"], &model)).collect();
        let by_layers = exact::trace_batch(&model.lattice().expect("cells").network, &inputs).expect("a run");
        for (k, run) in runs.iter().enumerate() {
            let closed = indexed::trace(&model.lattice().expect("cells").network, &inputs[k]).expect("a run");
            for (stage, (name, state)) in closed.iter().enumerate().skip(1) {
                let expected = sequence(&run["after"][name], &model);
                assert_eq!(by_layers[stage].1[k], expected, "layer by layer, {name}, {}", run["input"]);
                assert_eq!(*state, expected, "closed form, {name}, {}", run["input"]);
                compared += 1;
            }
            let output = indexed::run(&model.lattice().expect("cells").network, &inputs[k]).expect("a run");
            assert_eq!(output, sequence(&run["output"], &model));
        }
    }
    assert_eq!(cases.len(), 31);
    assert!(compared > 6000, "only {compared} states were compared");
}
