//! The two executions of every stage agree: layer by layer, and in closed form. And they agree because both read the stage's
//! parameters, not because both know the answer: a changed parameter changes them alike.

use super::support::{
    GENERIC, GENERIC_POSITIONAL, Random, Triple, as_printed, corners, edit, exact_network, expression,
    extended_corners, grid, positional, request, theorem2, theorem3, triples,
};
use formwright::compile::{Model, compile};
use formwright::construct::yun::context::{ContextMap, Positions, interval};
use formwright::construct::yun::{AsPrinted, Options};
use formwright::eval::{exact, indexed};
use formwright::exact::{Int, Rat};
use formwright::network::{Generator, Sequence, dot};
use formwright::target::Source;
use serde_json::{Value, json};

/// Off-grid points of the box, and points outside of it: far, near, and exactly on edges and half-integers.
fn strays(model: &Model, count: usize) -> Vec<Sequence> {
    let mut random = Random::new(7);
    let half_cell = Rat::new(1, 2 * model.grid.resolution());
    (0..count)
        .map(|k| {
            let mut x = random.sequence(&model.grid, if k % 2 == 0 { 0 } else { -1 }, if k % 2 == 0 { 1 } else { 3 });
            let entry = &mut x[k % model.grid.tokens()][0];
            match k % 7 {
                3 => *entry = -half_cell.clone(),
                4 => *entry = Rat::from(1_000_000),
                5 => *entry = Rat::new(-1, 1_000_000_007),
                6 => *entry = Rat::ONE,
                _ => {}
            }
            x
        })
        .collect()
}

/// Asserts that both executions give the same state after every stage, and returns the states: `[stage][input]`.
fn agree(model: &Model, inputs: &[Sequence]) -> Vec<Vec<Sequence>> {
    let layers = exact::trace_batch(exact_network(model), inputs).expect("a run");
    for (k, x) in inputs.iter().enumerate() {
        for ((stage, states), (_, state)) in layers.iter().zip(indexed::trace(exact_network(model), x).expect("a run"))
        {
            assert_eq!(states[k], state, "after {stage}, input {x:?}");
        }
    }
    layers.into_iter().map(|(_, states)| states).collect()
}

/// The points compared: those of every grid of at most so many.
fn on_extended_grids(most: u64) -> usize {
    let mut points = 0;
    for triple in triples(most) {
        if grid(triple).columns() < Int::from(triple.0) {
            continue;
        }
        let model = theorem2(GENERIC, triple);
        let mut inputs = extended_corners(&model.grid);
        inputs.extend(strays(&model, 60));
        points += agree(&model, &inputs)[0].len();
    }
    points
}

#[test]
fn layers_and_closed_form_agree_on_every_point_of_the_extended_grid() {
    let points = on_extended_grids(256);
    assert!(points > 10_000, "{points}");
}

#[test]
#[ignore = "all grids of up to 729 points: minutes"]
fn layers_and_closed_form_agree_on_larger_extended_grids() {
    let points = on_extended_grids(729);
    assert!(points > 50_000, "{points}");
}

#[test]
fn the_contextual_map_agrees_where_no_sequence_has_distinct_columns() {
    // Theorem 2 is declined for D < n, but its contextual map is there, and sends everything outside of the interval.
    let mut points = 0;
    for triple in triples(729).into_iter().filter(|&triple| grid(triple).columns() < Int::from(triple.0)) {
        let grid = grid(triple);
        let map = ContextMap::new(&grid, Positions::None);
        let (low, high) = interval(&grid);
        for point in grid.all_points() {
            let mut layered: Sequence =
                point.iter().map(|column| column.iter().map(|&k| Rat::from(k)).collect()).collect();
            let mut closed = layered.clone();
            for stage in [&map.sweep as &dyn Generator, &map.global] {
                stage.layers().for_each(|layer| exact::apply(&layer.expect("a layer"), &mut layered));
                closed = stage.closed_form(closed).expect("a run");
                assert_eq!(layered, closed, "{triple:?}, {point:?}");
            }
            let outside = |id: Rat| id < Rat::from(&low) || id > Rat::from(&high);
            assert!(closed.iter().all(|token| outside(dot(&map.sweep.u, token))));
            points += 1;
        }
    }
    assert!(points > 500, "{points}");
}

/// The points compared, with positions: those of every grid of at most so many.
fn on_grids_with_positions(most: u64) -> usize {
    let mut points = 0;
    for triple in triples(most) {
        let model = theorem3(GENERIC_POSITIONAL, triple);
        let mut inputs = corners(&model.grid);
        inputs.extend(strays(&model, 60));
        points += agree(&model, &inputs)[0].len();
    }
    points
}

#[test]
fn layers_and_closed_form_agree_on_every_grid_point_with_positions() {
    let points = on_grids_with_positions(256);
    assert!(points > 3_000, "{points}");
}

#[test]
#[ignore = "all grids of up to 729 points: minutes"]
fn layers_and_closed_form_agree_on_larger_grids_with_positions() {
    let points = on_grids_with_positions(729);
    assert!(points > 10_000, "{points}");
}

#[test]
fn layers_and_closed_form_agree_as_printed() {
    for (step, with_positions, triples) in [
        (AsPrinted::Lemma7Order, false, [(2, 1, 8), (3, 1, 4), (2, 2, 2), (4, 1, 5)]),
        (AsPrinted::Lemma7Order, true, [(2, 1, 8), (3, 1, 4), (2, 2, 2), (4, 1, 3)]),
        (AsPrinted::FlagSign, false, [(2, 1, 8), (3, 1, 4), (2, 2, 2), (4, 1, 5)]),
        (AsPrinted::Theorem3Positions, true, [(2, 1, 8), (3, 1, 4), (2, 2, 2), (4, 1, 3)]),
    ] {
        for triple in triples {
            let model =
                compile(&request(expression(GENERIC), triple, as_printed(step, with_positions))).expect("a model");
            let mut inputs = corners(&model.grid);
            inputs.extend(strays(&model, 60));
            agree(&model, &inputs);
        }
    }
}

#[test]
fn layers_and_closed_form_agree_when_values_reach_into_the_windows() {
    // Values as large as the ids: as listed, tokens are replaced again and again.
    for (triple, scale) in [((2, 1, 2), 27), ((2, 1, 4), 800), ((3, 1, 3), 2500), ((2, 2, 2), 600)] {
        let mut random = Random::new(11);
        let grid = grid(triple);
        for _ in 0..10 {
            let values = random.equivariant_table(&grid).to_json();
            let mut file = values.as_object().expect("an object").clone();
            let scaled = |value: &Value| -> Value {
                let value: Rat = value.as_str().expect("a number").parse().expect("a number");
                json!((value * Rat::from(scale)).floor().to_string())
            };
            let scale_token =
                |token: &Value| -> Value { token.as_array().expect("a token").iter().map(scaled).collect() };
            let scale_entry =
                |entry: &Value| -> Value { entry.as_array().expect("an entry").iter().map(scale_token).collect() };
            file["values"] = values["values"].as_array().expect("values").iter().map(scale_entry).collect();
            let source = Source::from_json("large", &Value::Object(file)).expect("a table");
            let printed =
                compile(&request(source.clone(), triple, as_printed(AsPrinted::Lemma7Order, false))).expect("a model");
            agree(&printed, &corners(&grid));
            let repaired = compile(&request(source, triple, Options::default())).expect("a model");
            let states = agree(&repaired, &corners(&grid));
            for (state, x) in states.last().expect("a stage").iter().zip(corners(&grid)) {
                assert_eq!(exact_network(&repaired).read_out(state), repaired.expected(&x).expect("a value"));
            }
        }
    }
}

/// One edit of one stage parameter.
type Edit = (&'static str, &'static str, Value);

/// Every parameter of every stage of Theorem 2, one at a time, at n = 3, d = 1, N = 4 (D = 4). (The order of the value windows shows
/// only where values reach into them: that has a test of its own.)
fn edits() -> Vec<Edit> {
    vec![
        ("shifts", "/scale", json!("5")),
        ("shifts", "/half_width", json!("0")),
        ("shifts", "/half_width", json!("3/2")),
        ("shifts", "/order", json!("decreasing")),
        ("shifts", "/windows/0/start", json!("1")),
        ("shifts", "/windows/0/count", json!("3")),
        ("shifts", "/u/0", json!("2")),
        ("global", "/scale", json!("255")),
        ("global", "/threshold", json!("29")),
        ("global", "/threshold", json!("300")),
        ("quantise", "/flag/value", json!("256")),
        ("quantise", "/flag/value", json!("-1/2")),
        ("quantise", "/flag/low", json!("1")),
        ("quantise", "/flag/high", json!("3")),
        ("quantise", "/flag", json!(null)),
        ("quantise", "/steps", json!("3")),
        ("zero", "/low", json!("28200")),
        ("zero", "/high", json!("20000")),
        ("zero", "/drop", json!("1")),
        ("values", "/half_width", json!("25")),
        ("values", "/half_width", json!("100")),
        ("values", "/exponent", json!(3)),
        ("values", "/map/sweep/scale", json!("5")),
        ("values", "/map/global/scale", json!("255")),
        ("values", "/map/positions", json!("repaired")),
    ]
}

#[test]
fn a_changed_parameter_changes_both_executions_alike() {
    let triple: Triple = (3, 1, 4);
    let unchanged = theorem2(GENERIC, triple);
    let mut inputs = corners(&unchanged.grid);
    inputs.extend(strays(&unchanged, 100));
    let before = agree(&unchanged, &inputs);
    for (stage, pointer, value) in edits() {
        let mut model = theorem2(GENERIC, triple);
        edit(&mut model, stage, |parameters| *parameters.pointer_mut(pointer).expect(pointer) = value.clone());
        assert!(agree(&model, &inputs) != before, "nothing changed: {stage}{pointer} = {value}");
    }
}

#[test]
fn a_changed_parameter_changes_both_executions_alike_with_positions() {
    let triple: Triple = (2, 1, 4);
    let unchanged = theorem3(GENERIC_POSITIONAL, triple);
    let mut inputs = corners(&unchanged.grid);
    inputs.extend(strays(&unchanged, 100));
    let before = agree(&unchanged, &inputs);
    for (stage, pointer, value) in [
        ("shifts", "/scale", json!("5")),
        ("shifts", "/order", json!("decreasing")),
        ("shifts", "/half_width", json!("1")),
        ("shifts", "/windows/0/start", json!("2")),
        ("global", "/scale", json!("100")),
        ("global", "/threshold", json!("20")),
        ("quantise", "/steps", json!("5")),
        ("values", "/map/global/scale", json!("129")),
        ("values", "/map/positions", json!("printed")),
        ("values", "/exponent", json!(1)),
    ] {
        let mut model = theorem3(GENERIC_POSITIONAL, triple);
        edit(&mut model, stage, |parameters| *parameters.pointer_mut(pointer).expect(pointer) = value.clone());
        assert!(agree(&model, &inputs) != before, "nothing changed: {stage}{pointer} = {value}");
    }
}

/// Ten larger triples, up to 6,561 grid points; run by `cargo test --release -p formwright --test agreement -- --ignored --nocapture`.
#[test]
#[ignore = "minutes; the result is recorded in measurements/agreement.md"]
fn ten_larger_triples_agree_on_every_grid_point() {
    println!("| theorem | n | d | N | grid points | inputs | layers |\n|---|---|---|---|---|---|---|");
    for (triple, options) in [
        ((2, 1, 40), Options::default()),
        ((2, 1, 81), Options::default()),
        ((2, 2, 9), Options::default()),
        ((3, 1, 18), Options::default()),
        ((4, 1, 9), Options::default()),
        ((2, 4, 3), Options::default()),
        ((4, 2, 3), Options::default()),
        ((2, 1, 64), positional()),
        ((3, 1, 12), positional()),
        ((6, 2, 2), positional()),
    ] {
        let text = if options.positional { GENERIC_POSITIONAL } else { GENERIC };
        let theorem = if options.positional { 3 } else { 2 };
        let model = compile(&request(expression(text), triple, options)).expect("a model");
        let mut inputs = corners(&model.grid);
        inputs.extend(strays(&model, 300));
        let points = agree(&model, &inputs)[0].len();
        let (n, d, resolution) = triple;
        let layers = exact_network(&model).layer_count();
        println!("| {theorem} | {n} | {d} | {resolution} | {} | {points} | {layers} |", model.grid.points());
    }
}
