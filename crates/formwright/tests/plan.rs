//! Plans: sizes and bounds without building, and what is built from them.

use super::support::{circuits, every, expression, only};
use formwright::compile::{Arithmetic, Request, Tolerance, compile};
use formwright::construct::yun::Options;
use formwright::construct::yun::family::Row;
use formwright::exact::{Int, Rat};
use formwright::lower::Format;
use formwright::network::{Precision, Realisation};
use formwright::plan::{Candidate, Rows, compile_first, plan, sized_up, take_first};
use formwright::target::catalogue;

fn request(text: &str, tokens: usize, eps: Rat, norm: &str) -> Request {
    Request {
        source: expression(text),
        tokens: Some(tokens),
        dims: Some(1),
        resolution: None,
        constructions: only(Options::default()),
        everywhere: false,
        attention: Realisation::SOFTMAX,
        assume_equivariant: false,
        tolerance: Tolerance { eps: Some(eps), norm: Some(norm.parse().expect("a norm")), lipschitz: None },
        arithmetic: Arithmetic::Exact,
    }
}

fn positional(candidate: &Candidate) -> bool {
    candidate.way.of::<Row>().is_some_and(|row| row.options.positional)
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
            let model = compile(&Request { constructions: only(options), ..request.clone() }).expect("a model");
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

/// A request that is left to the plan, in any arithmetic.
fn open(text: &str, tokens: usize, eps: Rat, norm: &str) -> Request {
    let arithmetic = Arithmetic::Auto(Format::literal(Precision::F64));
    Request { constructions: every(), arithmetic, ..request(text, tokens, eps, norm) }
}

/// A lattice network of ten integers at eight tokens has 10^8 cells, and codes that take minutes to find; a circuit serves.
#[test]
fn rows_that_cannot_win_are_not_looked_at() {
    let source = catalogue::find("histogram").expect("a name").expect("a target");
    let request = Request { source, tolerance: Tolerance::default(), ..open("x", 8, Rat::ONE, "sup") };
    let mut told = Vec::new();
    let plan = sized_up(&request, Rows::Needed, &mut |row| told.push(row.name())).expect("a plan");
    let circuits = ["circuit --trade width, f32", "circuit --trade depth, f32", "circuit --trade depth, f64"];
    assert_eq!(told[..3], circuits);
    // That equal tokens have no place in a network without positions is said before a cell is looked at.
    assert_eq!(told[3..], ["yun, f32", "yun, f64"]);
    assert!(plan.candidates.iter().all(|row| circuits.contains(&row.name().as_str()) || row.outcome.is_err()));
    assert!(plan.chosen().is_some_and(|row| row.name() == told[0]));
    let reason = |name: &str| {
        let row = plan.left_out.iter().find(|row| row.name() == name).unwrap_or_else(|| panic!("{name}"));
        row.reason.to_string()
    };
    assert!(reason("sum-code, f32").starts_with("it takes at least 4.1 MB"), "{}", reason("sum-code, f32"));
    assert!(reason("yun --positional, f64").starts_with("it takes at least 83 GB"));
    assert!(reason("sum-code, exact").starts_with("floats serve"));
    assert!(reason("circuit --trade width, f64").starts_with("in f32 they serve"));
    assert_eq!(plan.candidates.len() + plan.left_out.len(), 16, "every row is told of");
}

/// Grids are not searched for where all that are smaller than a circuit miss the tolerance.
#[test]
fn a_grid_is_looked_for_only_where_it_may_be_smaller() {
    let request = open("(x - mean(x)) / sqrt(var(x) + 1/100)", 4, Rat::new(1, 10), "l2");
    let mut told = Vec::new();
    let plan = sized_up(&request, Rows::Needed, &mut |row| told.push(row.way.family())).expect("a plan");
    assert_eq!(told, ["circuit"; 2], "{told:?}");
    assert!(plan.left_out.iter().any(|row| row.reason.headline().contains("cells a side at most")), "{plan:?}");
}

/// Bytes decide: two trades in single precision serve, and the smaller one in double is less than half of both.
#[test]
fn double_precision_is_taken_where_it_takes_fewer_bytes() {
    let request = open("(x - mean(x)) / sqrt(var(x) + 1/100)", 5, Rat::new(1, 1000), "sup");
    let taken = take_first(&request).expect("a model");
    let bytes = |parameters: &Int, each: usize| parameters * Int::from(each);
    assert_eq!(taken.model.precision(), "f64");
    let other = taken.other.expect("single precision serves as well");
    assert_eq!(other.way.precision(), "f32");
    assert_eq!(other.bytes, bytes(&other.parameters, 4));
    assert!(bytes(&taken.model.size().parameters, 8) < other.bytes, "{other:?}");
    // Named, it is the same.
    let named = compile(&Request { constructions: circuits(), ..request }).expect("a circuit");
    assert_eq!(named.float(), taken.model.float());
}

/// A user who gets a lattice network in place of a circuit is told why.
#[test]
fn a_fallback_says_why_it_is_no_circuit() {
    let taken =
        take_first(&open("sort(x) on integers 0..3", 3, Rat::new(1, Int::from(10).pow(15)), "sup")).expect("a model");
    assert!(taken.model.circuit().is_none());
    let reason = taken.no_circuit.expect("a reason");
    assert!(reason.headline().starts_with("the tolerance 0.000000000000001 is not met"), "{reason}");
    let taken = take_first(&open("sort(x) on integers 0..3", 3, Rat::new(1, 100), "sup")).expect("a model");
    assert!(taken.no_circuit.is_none() && taken.model.circuit().is_some());
}

/// Two tokens in reverse are `sum(x) - x`: without positions, and smaller than the circuit that looks at places.
#[test]
fn a_sum_is_taken_where_a_circuit_needs_positions() {
    let request = open("x[n - 1 - i]", 2, Rat::new(1, 100), "sup");
    let first = |rows| sized_up(&request, rows, &mut |_| {}).expect("a plan").candidates[0].name();
    assert_eq!(first(Rows::Needed), first(Rows::All));
    let built = compile_first(&request).expect("a model");
    assert_eq!((built.family(), built.precision()), ("sumformer", "f32"));
}
