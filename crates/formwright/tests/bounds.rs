//! Certified `L^p` bounds against closed forms, against measured errors, and against each other.

// Some bounds are exactly 0, and must be.
#![expect(clippy::float_cmp, reason = "0 is 0")]

use super::support::{ON_THE_UNIT_BOX, Random, Triple, built_in, exact_network, expression, grid, only};
use formwright::bound::piecewise::{MOST_CELLS, Question, bound};
use formwright::bound::resolution::{Found, smallest};
use formwright::bound::{Budget, Method, Norm};
use formwright::compile::{Model, Request, Tolerance, compile};
use formwright::construct::yun::Options;
use formwright::eval::indexed;
use formwright::exact::Rat;
use formwright::network::Realisation;
use formwright::target::{Source, Target};

fn norm(name: &str) -> Norm {
    name.parse().expect("a norm")
}

fn target(text: &str) -> Target {
    expression(text).target(1).expect("a target")
}

fn budget(target: &Target, triple: Triple, positional: bool, name: &str) -> Budget {
    let question = Question { target, grid: &grid(triple), positional, lipschitz: None };
    bound(question, &norm(name)).expect("a bound")
}

fn term(budget: &Budget, name: &str) -> f64 {
    budget.terms.iter().find(|term| term.name == name).expect(name).bound
}

#[expect(clippy::cast_precision_loss, reason = "small grids")]
fn float(n: u64) -> f64 {
    n as f64
}

#[test]
fn the_identity_is_off_by_a_known_amount() {
    // On a cell of side 1/N, ∫|x - c| = 1/(4N²) and ∫(x - c)² = 1/(12N³); two tokens, one coordinate.
    for cells in [2, 3, 8, 50] {
        let n = float(cells);
        for (name, truth) in [("l1", 2.0 / (4.0 * n)), ("l2", (2.0 / (12.0 * n * n)).sqrt())] {
            let certified = budget(&target("x"), (2, 1, cells), true, name).bound;
            assert!(certified >= truth && certified <= 2.5 * truth, "{name}, N = {cells}: {certified} for {truth}");
        }
    }
}

#[test]
fn the_duplicates_of_a_constant_are_counted_exactly() {
    // f = 1: nothing varies, and the network is 0 on the share 1 - Π(1 - i/D) of the box.
    for (triple, share) in [((2, 1, 8), 1.0 / 8.0), ((3, 1, 4), 1.0 - 0.75 * 0.5), ((2, 1, 50), 1.0 / 50.0)] {
        let n = float(triple.0 as u64);
        for (name, p) in [("l1", 1.0), ("l2", 2.0), ("lp:3/2", 1.5)] {
            let found = budget(&target("1 + 0 * x"), triple, false, name);
            let truth = (n * share).powf(1.0 / p);
            let duplicates = term(&found, "duplicates");
            assert!(
                duplicates >= truth * (1.0 - 1e-12) && duplicates <= truth * (1.0 + 1e-9),
                "{duplicates} for {truth}"
            );
            assert!(term(&found, "piecewise constant") < 1e-9);
            assert!(budget(&target("1 + 0 * x"), triple, true, name).bound < 1e-9, "with positions nothing is lost");
        }
    }
}

#[test]
fn cell_by_cell_is_not_worse_than_uniformly() {
    // The same bound on both sides of the limit: a grid one cell finer is bounded uniformly.
    for text in ["x - mean(x)", "x * max(x)", "(max(x) - x)^2"] {
        let fine = 1000;
        assert_eq!(fine * fine, MOST_CELLS);
        let by_cells = budget(&target(text), (2, 1, fine), true, "l2");
        let uniformly = budget(&target(text), (2, 1, fine + 1), true, "l2");
        assert_eq!((by_cells.method, uniformly.method), (Method::CellWise, Method::Uniform));
        assert!(by_cells.bound <= uniformly.bound * 1.002, "{text}: {} and {}", by_cells.bound, uniformly.bound);
        assert!(uniformly.bound <= 5.0 * by_cells.bound, "{text}: {} and {}", by_cells.bound, uniformly.bound);
    }
}

/// The `L^p` distance between network and target at `points` random points of the box.
fn measured(model: &Model, p: f64, points: u64) -> f64 {
    let mut random = Random::new(17);
    let mut sum = 0.0;
    for _ in 0..points {
        let x = random.sequence(&model.grid, 0, 1);
        let y = indexed::run(exact_network(model), &x).expect("a run").concat();
        let floats: Vec<Vec<f64>> = x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
        let value = model.target.evaluate_f64(&floats).expect("a value");
        sum += y.iter().zip(value).map(|(y, value)| (y.to_f64() - value).abs().powf(p)).sum::<f64>();
    }
    (sum / float(points)).powf(1.0 / p)
}

#[test]
fn measured_errors_stay_below_certified_ones() {
    for name in ON_THE_UNIT_BOX {
        let source = built_in(name);
        let equivariant = source.properties().expect("a target").0 == "equivariant";
        for (norm_name, p) in [("l1", 1.0), ("l2", 2.0), ("lp:3/2", 1.5)] {
            for positional in [false, true] {
                if !positional && !equivariant {
                    continue;
                }
                let model = compile(&Request {
                    source: source.clone(),
                    tokens: Some(2),
                    dims: Some(1),
                    resolution: Some(6),
                    constructions: only(Options { positional, ..Options::default() }),
                    everywhere: false,
                    attention: Realisation::SOFTMAX,
                    assume_equivariant: false,
                    tolerance: Tolerance { eps: None, norm: Some(norm(norm_name)), lipschitz: None },
                    arithmetic: formwright::compile::Arithmetic::Exact,
                })
                .expect("a model");
                let certified = model.certified().expect("a bound").expect("a norm was asked for").budget.bound;
                let measured = measured(&model, p, 1500);
                assert!(measured <= certified, "{name}, {norm_name}: measured {measured}, certified {certified}");
                assert!(
                    certified <= 6.0 * measured + 1e-9,
                    "{name}, {norm_name}: {certified} says little about {measured}"
                );
            }
        }
    }
}

#[test]
fn a_table_does_not_vary_inside_its_cells() {
    let mut random = Random::new(23);
    let triple = (2, 1, 5);
    let table = random.equivariant_table(&grid(triple));
    let target = Source::table("table", table).target(1).expect("a target");
    let found = budget(&target, triple, false, "l2");
    assert_eq!(term(&found, "piecewise constant"), 0.0);
    // The duplicates are the entries on the diagonal.
    let diagonal = (0..5).map(|k| target.evaluate(&grid(triple).centre(&[vec![k], vec![k]])).expect("a value"));
    let squares: f64 = diagonal.flatten().flatten().map(|value| value.to_f64().powi(2)).sum();
    let truth = (squares / 25.0).sqrt();
    assert!((found.bound - truth).abs() < 1e-9, "{} for {truth}", found.bound);
    assert_eq!(budget(&target, triple, true, "l2").bound, 0.0);
}

#[test]
fn a_stated_constant_is_used_and_listed() {
    // The identity, but written so that no slope is proved at 1/2, and the enclosed values there are wide.
    let tent = target("if x < 1/2 then 100 * x - 99 * x else x");
    let lattice = grid((2, 1, 7));
    let stated = Rat::ONE;
    let ask = |lipschitz| {
        bound(Question { target: &tent, grid: &lattice, positional: true, lipschitz }, &norm("l1")).expect("a bound")
    };
    let (proved, with) = (ask(None), ask(Some(&stated)));
    assert!(with.bound < proved.bound, "{} and {}", with.bound, proved.bound);
    assert!(proved.assumptions.is_empty());
    assert_eq!(with.assumptions.len(), 1);
    // Where the target's own enclosure is refused, the statement stands in.
    let guarded = target("if x > 1/100 then x / max(x, 0) else x");
    let ask =
        |lipschitz| bound(Question { target: &guarded, grid: &lattice, positional: true, lipschitz }, &norm("l1"));
    assert!(ask(None).is_err());
    assert!(ask(Some(&stated)).is_ok());
}

#[test]
fn the_smallest_grid_is_enough_and_one_cell_fewer_is_not() {
    for (text, positional, name, eps) in [
        ("x - mean(x)", false, "l2", Rat::new(1, 10)),
        ("x - mean(x)", true, "l1", Rat::new(1, 100)),
        ("x * max(x)", false, "l1", Rat::new(1, 10)),
        ("max(x)", true, "lp:3/2", Rat::new(1, 50)),
        ("(max(x) - x)^2", true, "l2", Rat::new(1, 2000)),
    ] {
        let (target, shape) = (target(text), grid((2, 1, 2)));
        let question = Question { target: &target, grid: &shape, positional, lipschitz: None };
        let Found::Enough(cells, found) = smallest(question, &norm(name), &eps).expect("a search") else {
            panic!("{text}: out of reach")
        };
        assert!(found.meets(&eps));
        assert_eq!(found, budget(&target, (2, 1, cells), positional, name));
        assert!(
            !budget(&target, (2, 1, cells - 1), positional, name).meets(&eps),
            "{text}: {cells} is not the smallest"
        );
    }
}

#[test]
fn a_tolerance_out_of_reach_is_told_with_the_best_that_was_found() {
    let (rank, shape) = (target("count(x < x[i]) / n"), grid((2, 1, 2)));
    let question = Question { target: &rank, grid: &shape, positional: false, lipschitz: None };
    let found = smallest(question, &norm("l2"), &Rat::new(1, 1_000_000)).expect("a search");
    let Found::AtBest(_, best) = found else { panic!("a jump is never that small") };
    assert!(best.bound < 0.2, "the best of all grids that were tried: {}", best.bound);
}

#[test]
fn bounds_do_not_depend_on_the_number_of_threads() {
    let target = target("x * max(x) + var(x)");
    let in_pool = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| budget(&target, (3, 1, 17), false, "lp:3/2"))
    };
    assert_eq!(in_pool(1), in_pool(2));
}
