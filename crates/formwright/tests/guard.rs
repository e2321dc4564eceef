//! The leak to infinity of a lowered network, and the guard that stops it.

#[path = "support/shuffled.rs"]
mod shuffled;

use std::sync::Arc;

use formwright::construct::yun::Options;
use formwright::construct::yun::context::interval;
use formwright::eval::float::Engine;
use formwright::eval::reference::Reference;
use formwright::eval::{exact, indexed};
use formwright::exact::Rat;
use formwright::lattice::{Extended, Grid, has_distinct_columns};
use formwright::lower::{Format, Lowering};
use formwright::network::{FloatNetwork, Network, Precision};
use formwright::target::Source;
use shuffled::Shuffle;

struct Case {
    grid: Grid,
    lowering: Lowering,
    exact: Network,
    network: FloatNetwork,
}

fn case((n, d, side): (usize, usize, u64), precision: Precision, everywhere: bool) -> Case {
    let grid = Grid::unit(n, d, side).expect("a grid");
    let target = Source::expression("f", "x - mean(x)").and_then(|source| source.target(d)).expect("a target");
    let target = Arc::new(target);
    let options = Options { everywhere, ..Options::default() };
    let lowering = Lowering::derive(&grid, &target, &options, Format::literal(precision)).expect("it fits");
    let exact = lowering.exact(&grid, &target).expect("a network");
    let network = lowering.lower(&exact, &grid).expect("floats");
    Case { grid, lowering, exact, network }
}

const TRIPLES: [(usize, usize, u64); 5] = [(2, 1, 2), (2, 1, 5), (3, 1, 3), (2, 2, 2), (3, 1, 4)];

/// A first coordinate on its flag's ramp for which, with the second one at `far`, the first token's id lies in the interval of contexts.
fn leaking(case: &Case, far: &Rat) -> Rat {
    let reference = Reference::new(&case.network).expect("a reference");
    let (low, high) = interval(&case.grid);
    let (low, high) = (Rat::from(low), Rat::from(high));
    let n = case.grid.tokens();
    // From the ramp's outer end, where the id is negative, to its inner end, where it is beyond the interval.
    let mut outer = -(&case.lowering.step_ramp / &Rat::from(case.grid.resolution()));
    let mut inner = Rat::ZERO;
    for _ in 0..200 {
        let middle = (&outer + &inner) / Rat::from(2);
        let mut x = vec![vec![Rat::new(1, 2); case.grid.dims()]; n];
        x[0][0] = middle.clone();
        x[1][0] = far.clone();
        let trace = reference.trace(&x).expect("a trace");
        let (_, state) = trace.iter().find(|(name, _)| name == "global").expect("the stage");
        let id: Rat = state[0].iter().zip(case.grid.radix()).map(|(z, u)| z.lo() * &Rat::from(u)).sum();
        if id < low {
            outer = middle;
        } else if id > high {
            inner = middle;
        } else {
            return middle;
        }
    }
    panic!("no id in the interval between {outer} and {inner}");
}

#[test]
fn without_a_guard_the_output_leaks_however_far_away_another_coordinate_is() {
    for triple in TRIPLES {
        let open = case(triple, Precision::F64, false);
        let guarded = case(triple, Precision::F64, true);
        let reference = Reference::new(&open.network).expect("a reference");
        let safe = Reference::new(&guarded.network).expect("a reference");
        let engine = Engine::new(&guarded.network).expect("an engine");
        for far in [10, 1000, 1_000_000].map(Rat::from) {
            let mut x = vec![vec![Rat::new(1, 2); open.grid.dims()]; open.grid.tokens()];
            x[1][0] = far.clone();
            x[0][0] = leaking(&open, &far);
            let leaked = reference.run(&x).expect("an output");
            let offset = &open.lowering.options.tuning.offset;
            let largest = leaked.iter().flatten().map(|y| (y.lo() - offset).abs()).max().expect("entries");
            assert!(largest > Rat::new(1, 100), "{triple:?}, {far} away: {}", largest.to_f64());
            let kept = safe.run(&x).expect("an output");
            assert!(kept.iter().flatten().all(|y| y.lo().is_zero() && y.hi().is_zero()), "{triple:?}: {kept:?}");
            let floats = x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
            let y = engine.run(&[floats]).expect("an output");
            assert!(y.iter().flatten().flatten().all(|y| *y == 0.0), "{triple:?}: {y:?}");
        }
    }
}

/// Coordinates in the box, on every ramp around it, and as far away as the format goes.
fn places(case: &Case) -> Vec<f64> {
    let ramp = (&case.lowering.step_ramp / &Rat::from(case.grid.resolution())).to_f64();
    let largest = match case.network.precision {
        Precision::F32 => 2.0_f64.powi(118),
        Precision::F64 => 2.0_f64.powi(1000),
    };
    let mut places = vec![-1.0, 1.0, 1.5, 7.0 / 3.0, 1e3, 1e9, 4.2e12, 31403.0, 1e30, largest];
    places.extend(places.clone().iter().map(|x| -x));
    for step in 0..=8 {
        places.push(-ramp * f64::from(step) / 8.0);
        places.push(1.0 - ramp * f64::from(step) / 8.0);
    }
    places
}

#[test]
fn with_a_guard_one_coordinate_outside_makes_the_output_exactly_zero_in_floats() {
    for precision in [Precision::F64, Precision::F32] {
        for triple in [(2, 1, 2), (2, 1, 4), (3, 1, 3), (2, 2, 2)] {
            let case = case(triple, precision, true);
            let engine = Engine::new(&case.network).expect("an engine");
            let (n, d) = (case.grid.tokens(), case.grid.dims());
            let places = places(&case);
            let outside = [-2.0, -0.5, 1.0, 3.0, 1e6, -1e20, places[9]];
            let mut batch = Vec::new();
            for out in outside {
                for &other in places.iter().chain(&[0.1, 0.3, 0.9]) {
                    for where_out in 0..n * d {
                        let mut x = vec![vec![0.4; d]; n];
                        x[(where_out + 1) % (n * d) / d][(where_out + 1) % d] = other;
                        x[where_out / d][where_out % d] = out;
                        batch.push(x);
                    }
                }
            }
            for (x, y) in batch.iter().zip(engine.run(&batch).expect("outputs")) {
                assert!(y.iter().flatten().all(|y| *y == 0.0), "{triple:?} {precision}: {x:?} ↦ {y:?}");
            }
            for (index, x) in batch.iter().enumerate().step_by(7) {
                let trace = shuffled::trace(&case.network, x, &mut Shuffle::new(index as u64 + 1));
                let (_, y) = trace.last().expect("an output");
                assert!(y.iter().flatten().all(|y| *y == 0.0), "{triple:?} {precision}, shuffled: {x:?} ↦ {y:?}");
            }
        }
    }
}

#[test]
fn a_guarded_network_is_the_same_in_the_box() {
    for precision in [Precision::F64, Precision::F32] {
        for triple in [(2, 1, 2), (2, 1, 4), (3, 1, 3), (2, 2, 2)] {
            let case = case(triple, precision, true);
            assert_eq!(
                formwright::lower::literal_size(&case.exact),
                formwright::network::Size {
                    nonzeros: formwright::lower::literal_size(&case.exact).nonzeros,
                    ..case.network.size()
                }
            );
            let engine = Engine::new(&case.network).expect("an engine");
            for point in case.grid.all_points() {
                let centre = case.grid.centre(&point);
                let expected = indexed::run(&case.exact, &centre).expect("an output");
                assert_eq!(exact::run(&case.exact, &centre).expect("an output"), expected, "{point:?}");
                let x = centre.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
                let y = engine.run(&[x]).expect("an output").remove(0);
                for (a, b) in expected.iter().flatten().zip(y.iter().flatten()) {
                    assert!((a.to_f64() - b).abs() <= case.lowering.losses.rounding, "{triple:?} {point:?}: {a} {b}");
                    assert!(has_distinct_columns(&point) || *b == 0.0, "equal columns give exactly 0");
                }
            }
        }
    }
}

#[test]
fn the_two_executions_of_the_guard_agree_on_the_extended_grid() {
    for triple in [(2, 1, 3), (3, 1, 3), (2, 2, 2)] {
        let case = case(triple, Precision::F64, true);
        for point in case.grid.all_extended_points() {
            let coordinate = |place: &Extended| match place {
                Extended::Flag => Rat::from(5),
                Extended::Cell(k) => (Rat::from(*k) + Rat::new(1, 3)) / Rat::from(case.grid.resolution()),
            };
            let x: Vec<Vec<Rat>> = point.iter().map(|column| column.iter().map(coordinate).collect()).collect();
            let (layers, closed) = (exact::trace(&case.exact, &x), indexed::trace(&case.exact, &x));
            assert_eq!(layers.expect("a trace"), closed.expect("a trace"), "{point:?}");
            let flagged = point.iter().flatten().any(|place| *place == Extended::Flag);
            let output = indexed::run(&case.exact, &x).expect("an output");
            assert!(!flagged || output.iter().flatten().all(Rat::is_zero), "{point:?}");
        }
    }
}

#[test]
fn what_a_guard_cannot_do_is_declined() {
    let grid = Grid::unit(2, 1, 4).expect("a grid");
    let target = Source::expression("f", "x").and_then(|source| source.target(1)).expect("a target");
    let derive = |options: &Options, side: u64, precision| {
        let grid = grid.with_resolution(side).expect("a grid");
        Lowering::derive(&grid, &target, options, Format::literal(precision)).map(|_| ())
    };
    let all = Options { everywhere: true, ..Options::default() };
    assert!(derive(&all, 4, Precision::F32).is_ok());
    let positional = Options { positional: true, ..all.clone() };
    let error = derive(&positional, 4, Precision::F64).expect_err("Theorem 3 has no flags");
    assert!(error.to_string().contains("compact domain"), "{error}");
    let error = derive(&all, 40, Precision::F32).expect_err("too fine");
    assert!(error.to_string().contains("bits"), "{error}");
}
