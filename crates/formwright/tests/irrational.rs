//! Targets whose values are not rational: float networks store numbers near them, exact networks are declined.

use super::support::expression;
use super::support::only;
use formwright::compile::{Arithmetic, Request, Tolerance, compile};
use formwright::construct::yun::Options;
use formwright::error::ErrorKind;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::lower::Format;
use formwright::network::{Precision, Realisation};

fn request(text: &str, positional: bool, eps: Option<Rat>, resolution: Option<u64>, arithmetic: Arithmetic) -> Request {
    Request {
        source: expression(text),
        tokens: Some(2),
        dims: Some(1),
        resolution,
        constructions: only(Options { positional, ..Options::default() }),
        everywhere: false,
        attention: Realisation::SOFTMAX,
        assume_equivariant: false,
        tolerance: Tolerance { eps, norm: Some("l1".parse().expect("a norm")), lipschitz: None },
        arithmetic,
    }
}

const TARGETS: [&str; 4] = [
    "exp(x) / sum(exp(x))",
    "(x - mean(x)) / sqrt(var(x) + 1/10)",
    "sin(3 * x) * max(x)",
    "tanh(x - mean(x)) + log(1 + x) on [0, 2]",
];

#[test]
fn float_networks_of_irrational_targets_keep_their_bounds() {
    for text in TARGETS {
        for positional in [false, true] {
            let float = Arithmetic::Float(Format::literal(Precision::F64));
            let model = compile(&request(text, positional, Some(Rat::new(2, 5)), None, float)).expect(text);
            let certified = model.certified().expect("a bound").expect("a claim").budget.bound;
            let measured = model.measured().expect("a run").expect("a measurement").confidence.expect("sampled").1;
            assert!(measured <= certified && certified <= 0.4, "{text}: {measured} {certified}");
            let lowered = model.lattice().and_then(|lattice| lattice.lowered.as_ref()).expect("floats");
            let engine = Engine::new(&lowered.network).expect("an engine");
            for point in model.grid.all_points().filter(|point| positional || point[0] != point[1]) {
                let x: Vec<Vec<f64>> =
                    model.grid.centre(&point).iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
                let y = engine.run(std::slice::from_ref(&x)).expect("an output").concat().concat();
                let f = model.target.evaluate_f64(&x).expect("a value");
                for (y, f) in y.iter().zip(f) {
                    // The target's own float evaluation is good to some 10^-15.
                    assert!((y - f).abs() <= lowered.lowering.losses.rounding + 1e-14, "{text} at {point:?}: {y} {f}");
                }
            }
        }
    }
}

#[test]
fn exact_networks_of_irrational_targets_are_declined() {
    for text in TARGETS {
        let error = compile(&request(text, true, None, Some(4), Arithmetic::Exact)).expect_err("no rational values");
        assert_eq!(error.kind(), ErrorKind::Declined, "{error}");
    }
}

#[test]
fn a_target_without_a_bounded_range_is_declined_in_floats_too() {
    let float = Arithmetic::Float(Format::literal(Precision::F64));
    let error = compile(&request("log(x)", true, None, Some(4), float)).expect_err("no range");
    assert_eq!(error.kind(), ErrorKind::Declined, "{error}");
}
