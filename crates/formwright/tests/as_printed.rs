//! The printed steps, one by one, failing where constructions are repaired.

use super::support;
use super::support::{as_printed, exact_network, expression, grid, request};
use formwright::compile::{Model, compile};
use formwright::construct::yun::AsPrinted;
use formwright::construct::yun::context::interval;
use formwright::eval::{exact, indexed};
use formwright::exact::Rat;
use formwright::lattice::Grid;
use formwright::network::Sequence;
use formwright::target::{Source, Table};

fn rats(values: &[&str]) -> Sequence {
    values.iter().map(|value| vec![value.parse().expect("a number")]).collect()
}

/// The output of both executions, which must agree.
fn run(model: &Model, x: &Sequence) -> Sequence {
    let output = exact::run(exact_network(model), x).expect("a run");
    assert_eq!(indexed::run(exact_network(model), x).expect("a run"), output);
    output
}

/// The state after a stage, by both executions.
fn after(model: &Model, stage: &str, x: &Sequence) -> Sequence {
    let find =
        |trace: formwright::eval::Trace| trace.into_iter().find(|(name, _)| *name == stage).expect("the stage").1;
    let state = find(exact::trace(exact_network(model), x).expect("a run"));
    assert_eq!(find(indexed::trace(exact_network(model), x).expect("a run")), state);
    state
}

fn two_values(first: &str, second: &str) -> Source {
    let zero = rats(&["0", "0"]);
    let grid = Grid::unit(2, 1, 2).expect("a grid");
    let table = Table::new(grid, 1, vec![zero.clone(), rats(&[first, second]), rats(&[second, first]), zero]);
    Source::table("two values", table.expect("a table"))
}

#[test]
fn lemma7_as_listed_overwrites_a_value_and_the_repair_does_not() {
    let triple = (2, 1, 2);
    let x = rats(&["0", "1/2"]);
    let printed =
        |source| compile(&request(source, triple, as_printed(AsPrinted::Lemma7Order, false))).expect("a model");
    let repaired = |source| compile(&request(source, triple, support::Options::default())).expect("a model");
    let source = two_values("27/2", "7");
    assert_eq!(after(&printed(source.clone()), "global", &x), rats(&["26", "27"]), "13 and 13.5 in real units");
    assert_eq!(run(&printed(source.clone()), &x), rats(&["7", "7"]));
    assert_eq!(printed(source.clone()).claim(), None);
    assert_eq!(run(&repaired(source.clone()), &x), rats(&["27/2", "7"]));
    assert!(repaired(source).claim().is_some());
    // The order alone does not repair it: 0 ↦ 7, 1/2 ↦ 13 fails in decreasing order, unless the values are scaled.
    let source = two_values("7", "13");
    let mut unscaled = repaired(source.clone());
    support::cells_of(&mut unscaled).network.stages.retain(|stage| stage.name != "rescale");
    support::edit(&mut unscaled, "values", |parameters| parameters["exponent"] = 0.into());
    assert_eq!(run(&unscaled, &x), rats(&["7", "7"]));
    assert_eq!(run(&repaired(source), &x), rats(&["7", "13"]));
}

#[test]
fn lemma7_as_listed_is_right_where_the_hypothesis_holds() {
    let model = compile(&request(expression("x - mean(x)"), (3, 1, 4), as_printed(AsPrinted::Lemma7Order, false)));
    let model = model.expect("a model");
    assert!(model.claim().is_some());
    for point in model.grid.all_points() {
        let x = model.grid.centre(&point);
        assert_eq!(run(&model, &x), model.expected(&x).expect("a value"));
    }
}

#[test]
fn theorem3_as_printed_shifts_one_sequence_twice() {
    for (resolution, expected) in [(2, ["5", "4"]), (4, ["43", "16"]), (8, ["407", "64"])] {
        let triple = (2, 1, resolution);
        let model = compile(&request(expression("x"), triple, as_printed(AsPrinted::Theorem3Positions, true)));
        let model = model.expect("a model");
        let columns = i64::try_from(resolution).expect("small");
        let mut out_of_order = 0;
        for point in model.grid.all_points() {
            let x = model.grid.centre(&point);
            let shifted = after(&model, "shifts", &x);
            out_of_order += usize::from(shifted[0][0] >= shifted[1][0]);
            if point == [[resolution - 1], [0]] {
                assert_eq!(shifted, rats(&expected));
                assert_eq!(shifted[0][0], Rat::from(2 * columns - 1 + columns * (columns - 1).pow(2)));
            }
            // The mapping survives: the output is right all the same.
            assert_eq!(run(&model, &x), x);
        }
        assert_eq!(out_of_order, 1, "exactly one sequence");
        let repaired = support::theorem3("x", triple);
        for point in repaired.grid.all_points() {
            let shifted = after(&repaired, "shifts", &repaired.grid.centre(&point));
            assert!(shifted[0][0] < shifted[1][0], "repaired, the order holds");
        }
    }
}

#[test]
fn a_fine_grid_as_printed_is_counted_without_listing_it() {
    // The largest id, of l = (0, 2D-1), is about (2D-1)(D²-D+1)·2ND³ = 4·10^35; none of the 10^10 contexts is visited to find it.
    let options = as_printed(AsPrinted::Theorem3Positions, true);
    let model = compile(&request(expression("x"), (2, 1, 100_000), options)).expect("a model");
    assert_eq!(model.id_bits(), Some(119));
    let x = model.example();
    assert_eq!(indexed::run(exact_network(&model), &x).expect("a run"), x);
}

#[test]
fn theorem3_as_printed_keeps_its_order_for_more_tokens_or_coordinates() {
    for triple in [(3, 1, 3), (2, 2, 2), (4, 1, 2)] {
        let model = compile(&request(expression("x"), triple, as_printed(AsPrinted::Theorem3Positions, true)));
        let model = model.expect("a model");
        let u: Vec<Rat> = model.grid.radix().iter().map(Rat::from).collect();
        for point in model.grid.all_points() {
            let shifted = after(&model, "shifts", &model.grid.centre(&point));
            let ids: Vec<Rat> = shifted.iter().map(|token| formwright::network::dot(&u, token)).collect();
            assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{point:?}");
        }
    }
}

#[test]
fn the_flag_of_the_lecture_lets_an_outside_sequence_in() {
    let triple = (2, 1, 4);
    let model = compile(&request(expression("x"), triple, as_printed(AsPrinted::FlagSign, false))).expect("a model");
    let x = rats(&["-1", "1/2"]);
    assert_eq!(after(&model, "quantise", &x), rats(&["-1/4", "2"]));
    let ids = after(&model, "global", &x);
    assert_eq!(ids, rats(&["1864.75", "1885"]));
    let (low, high) = interval(&grid(triple));
    assert!(ids.iter().all(|id| id[0] >= Rat::from(&low) && id[0] < Rat::from(&high)), "property 4 fails");
    assert_ne!(run(&model, &x), rats(&["0", "0"]));
    assert_eq!(run(&support::theorem2("x", triple), &x), rats(&["0", "0"]), "with the right flag the output is 0");
}
