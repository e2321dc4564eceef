//! Plans: sizes and bounds without building, and what is built from them.

mod support;

use formwright::compile::{Arithmetic, Construction, Request, Tolerance, compile};
use formwright::construct::yun::Options;
use formwright::exact::{Int, Rat};
use formwright::lower::Format;
use formwright::network::{Precision, Realisation};
use formwright::plan::{Candidate, Way, compile_first, plan};
use support::expression;

fn request(text: &str, tokens: usize, eps: Rat, norm: &str) -> Request {
    Request {
        source: expression(text),
        tokens: Some(tokens),
        dims: Some(1),
        resolution: None,
        options: Options::default(),
        construction: Some(Construction::Yun),
        trade: None,
        attention: Realisation::Softmax,
        assume_equivariant: false,
        tolerance: Tolerance { eps: Some(eps), norm: Some(norm.parse().expect("a norm")), lipschitz: None },
        arithmetic: Arithmetic::Exact,
    }
}

fn positional(candidate: &Candidate) -> bool {
    matches!(candidate.way, Way::Yun { positional: true, .. })
}

#[test]
fn a_plan_is_what_would_be_built() {
    for (text, tokens, eps, norm) in [
        ("x - mean(x)", 2, Rat::new(1, 10), "l2"),
        ("x * max(x)", 2, Rat::new(1, 5), "l1"),
        ("max(x)", 3, Rat::new(1, 2), "lp:3/2"),
    ] {
        let request = request(text, tokens, eps.clone(), norm);
        let plan = plan(&request).expect("a plan");
        assert_eq!(plan.candidates.len(), 2);
        for candidate in &plan.candidates {
            let sketch = candidate.outcome.as_ref().expect("both theorems apply");
            assert_eq!(sketch.why_not, None);
            let cells = sketch.cells().expect("cells");
            let options = Options { positional: positional(candidate), ..Options::default() };
            let model = compile(&Request { options, ..request.clone() }).expect("a model");
            assert_eq!(model.grid.resolution(), cells.resolution);
            assert_eq!(model.size(), sketch.size);
            assert_eq!(model.id_bits(), Some(cells.id_bits));
            let certified = model.certified().expect("a bound").expect("a norm was asked for");
            assert_eq!(certified.budget, sketch.budget);
            assert!(sketch.budget.meets(&eps));
        }
        let parameters: Vec<&Int> =
            plan.candidates.iter().filter_map(|c| Some(&c.outcome.as_ref().ok()?.size.parameters)).collect();
        assert!(parameters[0] <= parameters[1], "the first row has the fewest parameters");
        let built = compile_first(&request).expect("a model");
        assert_eq!(built.is_positional(), positional(&plan.candidates[0]));
    }
}

#[test]
fn counts_of_section_5_4_stand_beside_ours() {
    let plan = plan(&request("x - mean(x)", 2, Rat::new(1, 10), "l2")).expect("a plan");
    for candidate in &plan.candidates {
        let sketch = candidate.outcome.as_ref().expect("a sketch");
        let cells = sketch.cells().expect("cells");
        let all = Int::from(2) * Int::from(cells.resolution).pow(2);
        assert_eq!(cells.residual_network, all);
        let expected = if positional(candidate) { all } else { all.div_rem(&Int::from(2)).0 };
        assert_eq!(cells.to_remember, expected);
        assert!(sketch.ratio().is_some_and(|ratio| ratio > 1.0 && ratio < 10.0), "order-optimal: {:?}", sketch.ratio());
    }
}

#[test]
fn a_construction_that_does_not_apply_says_why() {
    let plan = plan(&request("sort(x)", 3, Rat::new(1, 2), "l1")).expect("a plan");
    assert!(positional(&plan.candidates[0]) && plan.candidates[0].outcome.is_ok());
    let refused = plan.candidates[1].outcome.as_ref().expect_err("sort is not equivariant");
    assert!(refused.to_string().contains("witness"));
    assert!(plan.chosen().is_some_and(positional));
}

#[test]
fn no_construction_is_chosen_that_misses_the_tolerance() {
    let mut request = request("x - mean(x)", 2, Rat::new(1, 1000), "l2");
    request.resolution = Some(4);
    let plan = plan(&request).expect("a plan");
    assert!(plan.chosen().is_none());
    assert!(
        plan.candidates.iter().all(|candidate| candidate.outcome.as_ref().is_ok_and(|sketch| sketch.why_not.is_some()))
    );
    assert!(compile_first(&request).is_err());
}

#[test]
fn in_the_supremum_norm_a_lattice_is_declined() {
    let plan = plan(&request("x - mean(x)", 2, Rat::new(1, 10), "sup")).expect("a plan");
    assert!(plan.chosen().is_none());
    assert!(plan.candidates.iter().all(|candidate| candidate.outcome.is_err()));
}

#[test]
fn on_integers_a_lattice_with_positions_is_certified_point_by_point() {
    let request = Request {
        arithmetic: Arithmetic::Auto(Format::literal(Precision::F64)),
        ..request("max(x) - x on integers 0..3", 3, Rat::new(1, 10), "sup")
    };
    let plan = plan(&request).expect("a plan");
    assert_eq!(plan.candidates.iter().filter(|candidate| candidate.serves()).count(), 3, "f32, f64, exact");
    for candidate in &plan.candidates {
        assert_eq!(candidate.serves(), positional(candidate), "{}", candidate.name());
    }
    let model = compile_first(&request).expect("a model");
    let certified = model.certified().expect("a bound").expect("in sup");
    assert!(certified.budget.bound > 0.0 && model.domain_name() == "{0, …, 2}^(1×3)");
    let measured = model.measured().expect("a run").expect("floats");
    assert!(measured.exhaustive && measured.points == 27 && measured.value <= certified.budget.bound);
}
