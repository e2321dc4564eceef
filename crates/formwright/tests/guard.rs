//! The leak to infinity of a lowered network, and the guard that stops it.

use std::sync::Arc;

use super::support::Random;
use super::support::onnxruntime;
use super::support::shuffled::{self, Shuffle};
use formwright::construct::yun::Options;
use formwright::construct::yun::context::interval;
use formwright::construct::yun::lower::Lowering;
use formwright::error::{Error, ErrorKind};
use formwright::eval::enclosure::Executions;
use formwright::eval::float::Engine;
use formwright::eval::reference::Reference;
use formwright::eval::{exact, indexed};
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::lattice::{Extended, Grid, has_distinct_columns};
use formwright::lower::Format;
use formwright::network::{FloatNetwork, Network, Precision};
use formwright::target::Source;

struct Case {
    grid: Grid,
    lowering: Lowering,
    exact: Network,
    network: FloatNetwork,
}

fn case(triple: (usize, usize, u64), precision: Precision, everywhere: bool) -> Case {
    case_on((Rat::ZERO, Rat::ONE), triple, precision, everywhere).expect("it fits")
}

fn case_on(
    (low, high): (Rat, Rat),
    (n, d, side): (usize, usize, u64),
    precision: Precision,
    everywhere: bool,
) -> Result<Case, Error> {
    let text = format!("((x - mean(x)) / ({})) on [{low}, {high}]", &high - &low);
    let target = Source::expression("f", &text).and_then(|source| source.target(d)).expect("a target");
    let grid = Grid::new(n, d, side, low, high).expect("a grid");
    let target = Arc::new(target);
    let options = Options { everywhere, ..Options::default() };
    let lowering = Lowering::derive(&grid, &target, &options, Format::literal(precision))?;
    let exact = lowering.exact(&grid, &target).expect("a network");
    let network = lowering.lower(&exact).expect("floats");
    Ok(Case { grid, lowering, exact, network })
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
    let largest = case.network.precision.largest();
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

/// The numbers of the format beside `x`.
#[expect(clippy::cast_possible_truncation, reason = "numbers of single precision")]
fn beside(x: f64, precision: Precision) -> [f64; 2] {
    match precision {
        Precision::F32 => [f64::from((x as f32).next_down()), f64::from((x as f32).next_up())],
        Precision::F64 => [x.next_down(), x.next_up()],
    }
}

/// The ends of a format, powers of two where sums and products begin to overflow, what is below the normal range, and the edges of the box and of
/// the ramp around it, each with the numbers beside it and both signs.
fn hostile(case: &Case) -> Vec<f64> {
    let precision = case.network.precision;
    let (largest, least, top) = match precision {
        Precision::F32 => (f64::from(f32::MAX), f64::from(f32::from_bits(1)), 127),
        Precision::F64 => (f64::MAX, f64::from_bits(1), 1023),
    };
    let mut numbers = vec![largest, largest / 4.0, 0.0, least, precision.least_normal(), 1.0, 1e30, 1e38];
    numbers.extend((top - 9..=top).step_by(3).map(|exponent| 2.0_f64.powi(exponent)));
    // Where floats and the clamp are as far apart as each other.
    numbers.extend((-4..=4).map(|k| 2.0_f64.powi(top.min(26) + k)));
    let side = (case.grid.high() - case.grid.low()) / Rat::from(case.grid.resolution());
    let margins = case.lowering.margins();
    for end in [case.grid.low(), case.grid.high()] {
        for by in [Rat::ZERO, &margins.low * &side, &margins.high * &side, &margins.high * &side * Rat::new(1, 2)] {
            numbers.extend([(end - &by).to_f64(), (end + &by).to_f64()]);
        }
    }
    let numbers: Vec<f64> = numbers.into_iter().map(|x| precision.round(x)).collect();
    let all = numbers.iter().flat_map(|x| [*x, beside(*x, precision)[0], beside(*x, precision)[1]]);
    let mut all: Vec<f64> = all.filter(|x| x.is_finite()).flat_map(|x| [x, -x]).collect();
    all.sort_by(f64::total_cmp);
    all.dedup_by_key(|x| x.to_bits());
    all
}

/// True if a coordinate is outside of the box and off its ramp.
fn is_outside(case: &Case, x: &[Vec<f64>]) -> bool {
    let side = (case.grid.high() - case.grid.low()) / Rat::from(case.grid.resolution());
    let margins = case.lowering.margins();
    let (low, high) = (case.grid.low() - &margins.high * &side, case.grid.high() + &margins.low * &side);
    x.iter().flatten().map(|x| Rat::from_f64(*x).expect("finite")).any(|x| x <= low || x >= high)
}

/// Sequences of hostile numbers: in the place of one coordinate, the others being in the box, and in the place of all.
fn sequences(case: &Case, count: u64) -> Vec<Vec<Vec<f64>>> {
    let (n, d, numbers) = (case.grid.tokens(), case.grid.dims(), hostile(case));
    let mut random = Random::new(7 + count);
    let (low, high) = (case.grid.low().to_f64(), case.grid.high().to_f64());
    let mut pick = |end: usize| usize::try_from(random.below(end as u64)).expect("an index");
    let mut batch = Vec::new();
    for number in &numbers {
        for place in 0..n * d {
            let mut x = vec![vec![0.0; d]; n];
            for z in x.iter_mut().flatten() {
                #[expect(clippy::cast_precision_loss, reason = "a small number")]
                let share = pick(1000) as f64 / 1000.0;
                *z = case.network.precision.round(low + (high - low) * share);
            }
            x[place / d][place % d] = *number;
            batch.push(x);
        }
    }
    for _ in 0..count {
        let mut x = vec![vec![0.0; d]; n];
        x.iter_mut().flatten().for_each(|z| *z = numbers[pick(numbers.len())]);
        batch.push(x);
    }
    batch
}

/// The claim: finite and in the target's range everywhere, exactly 0 outside.
fn judge(case: &Case, way: &str, x: &[Vec<f64>], y: &[Vec<f64>]) {
    let side = Rat::from(case.grid.resolution());
    // The read-out rounds its weight, the product and the sum.
    let once = Rat::ONE + Rat::ONE / Rat::from(2).pow(case.network.precision.digits());
    let reach = &case.lowering.clip / &side * once.pow(3);
    for y in y.iter().flatten() {
        let inside = Rat::from_f64(y.abs()).is_some_and(|y| y <= reach);
        assert!(inside, "{way}, {}: {x:?} ↦ {y}", case.network.precision);
        assert!(!is_outside(case, x) || *y == 0.0, "{way}, {}: {x:?} ↦ {y}, expected 0", case.network.precision);
    }
}

/// Boxes and shapes; of the unit box with four cells, `[1e38, 0.3]` once gave NaN.
fn guarded() -> Vec<Case> {
    let unit = || (Rat::ZERO, Rat::ONE);
    let tiny = |precision| match precision {
        Precision::F32 => Rat::ONE / Rat::from(10).pow(22),
        Precision::F64 => Rat::ONE / Rat::from(10).pow(270),
    };
    let mut cases = Vec::new();
    for precision in [Precision::F32, Precision::F64] {
        for (ends, triple) in [
            (unit(), (2, 1, 4)),
            (unit(), (2, 1, 2)),
            (unit(), (3, 1, 3)),
            (unit(), (2, 2, 2)),
            ((Rat::from(5), Rat::from(7)), (2, 1, 3)),
            ((Rat::new(-1, 1000), Rat::new(1, 1000)), (2, 1, 4)),
            ((Rat::ZERO, Rat::from(10).pow(20)), (2, 1, 4)),
            ((Rat::ZERO, tiny(precision)), (2, 1, 4)),
        ] {
            cases.push(case_on(ends, triple, precision, true).expect("it fits"));
        }
    }
    cases
}

#[test]
fn every_finite_float_is_answered_in_any_order_and_flushed_or_not() {
    for case in guarded() {
        let engine = Engine::new(&case.network).expect("an engine");
        let batch = sequences(&case, 600);
        for (x, y) in batch.iter().zip(engine.run(&batch).expect("outputs")) {
            judge(&case, "the engine", x, &y);
        }
        for (index, x) in batch.iter().enumerate() {
            for mut shuffle in [Shuffle::new(index as u64 + 1), Shuffle::flushing(index as u64 + 1)] {
                let (_, y) = shuffled::trace(&case.network, x, &mut shuffle).pop().expect("an output");
                judge(&case, "shuffled", x, &y);
            }
        }
    }
}

#[test]
fn onnxruntime_answers_every_finite_float() {
    let cases = guarded();
    let files: Vec<_> = cases
        .iter()
        .enumerate()
        .map(|(k, case)| {
            let model = onnx::to_bytes(&case.network, &[], false).expect("an ONNX model");
            (format!("guarded-{k}"), model, sequences(case, 300))
        })
        .collect();
    for ((case, (_, _, batch)), outputs) in cases.iter().zip(&files).zip(onnxruntime::run(&files)) {
        for (way, outputs) in &outputs.runs {
            for (x, y) in batch.iter().zip(&outputs["y"]) {
                judge(case, way, x, y);
            }
        }
    }
}

/// The stream of a guarded network is carried times a power of two: in the box every state is that of the network without it, times the power, bit by bit.
#[test]
fn the_unit_of_the_stream_changes_nothing_in_the_box() {
    let mut carried = 0;
    for case in guarded() {
        let factor = 2.0_f64.powi(i32::try_from(case.lowering.units).expect("small"));
        carried += usize::from(case.lowering.units > 0);
        let mut plain = case.network.clone();
        let times = |entries: &mut [f64], by: f64| entries.iter_mut().for_each(|entry| *entry *= by);
        times(&mut plain.embed.weight, factor);
        times(&mut plain.embed.bias, factor);
        for run in &mut plain.runs {
            if let Some(attention) = &mut run.attention {
                times(&mut attention.q, factor.recip());
                times(&mut attention.k, factor.recip());
            }
            if let Some(layer) = &mut run.feed_forward {
                times(&mut layer.b1, factor);
                times(&mut layer.b2, factor);
            }
        }
        times(&mut plain.read_out.weight, factor.recip());
        let mut random = Random::new(99);
        let (low, high) = (case.grid.low().to_f64(), case.grid.high().to_f64());
        for seed in 0..200 {
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            let mut entry = || low + (high - low) * (random.below(1 << 20) as f64 / 2.0_f64.powi(20));
            let x: Vec<Vec<f64>> =
                (0..case.grid.tokens()).map(|_| (0..case.grid.dims()).map(|_| entry()).collect()).collect();
            let theirs = shuffled::trace(&plain, &x, &mut Shuffle::new(seed));
            let ours = shuffled::trace(&case.network, &x, &mut Shuffle::new(seed));
            let (last, stages) = ours.split_last().expect("an output");
            assert_eq!(Some(last), theirs.last(), "{x:?}");
            for ((name, ours), (_, theirs)) in stages.iter().zip(&theirs) {
                for (ours, theirs) in ours.iter().flatten().zip(theirs.iter().flatten()) {
                    // A share of softmax may fall below the normal range: it is nothing beside the last digit of anything.
                    let vanished = 4.0 * case.network.precision.least_normal() * factor;
                    let same = (ours * factor).to_bits() == theirs.to_bits() || theirs.abs() <= vanished;
                    assert!(same && vanished < 1e-13, "{name} of {x:?}: {ours}, not {theirs}");
                }
            }
        }
    }
    assert_eq!(carried, 14, "all but the boxes that are as wide as the format");
}

/// An enclosure does not say that a number is finite where an execution overflows, and where it says so the execution is inside.
#[test]
fn enclosures_know_nothing_where_an_execution_overflows() {
    let (mut unknown, mut known) = (0, 0);
    for everywhere in [false, true] {
        for (precision, far) in [(Precision::F32, 3e38), (Precision::F64, 1.7e308)] {
            for triple in [(2, 1, 4), (2, 2, 2)] {
                let case = case_on((Rat::ZERO, Rat::ONE), triple, precision, everywhere).expect("it fits");
                let executions = Executions::new(&case.network).expect("executions");
                for x in [far, -far, 1e30, 1e10, 2.0_f64.powi(126), 0.25, 2.0] {
                    let mut input = vec![vec![0.3; triple.1]; 2];
                    input[0][0] = x;
                    let enclosure = executions.enclose(&input).expect("an enclosure");
                    for seed in 0..6 {
                        let trace = shuffled::trace(&case.network, &input, &mut Shuffle::flushing(seed));
                        let (last, stages) = trace.split_last().expect("an output");
                        let enclosed = enclosure.states.iter().zip(stages).chain([(&enclosure.output, last)]);
                        for (enclosed, (name, state)) in enclosed {
                            for (enclosed, z) in enclosed.iter().flatten().zip(state.iter().flatten()) {
                                assert!(
                                    !enclosed.is_bounded() || enclosed.contains(*z),
                                    "{name}, {x:e}: {z} {enclosed}"
                                );
                                unknown += usize::from(!z.is_finite());
                                known += usize::from(z.is_finite() && enclosed.is_bounded());
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(unknown > 100 && known > 100, "{unknown} overflow, {known} are known");
}

#[test]
fn a_box_or_values_too_small_for_every_finite_float_are_declined() {
    let derive = |text: &str, width: usize, precision: Precision, everywhere: bool| {
        let target = Source::expression("f", text).and_then(|source| source.target(1)).expect("a target");
        let grid = Grid::new(2, 1, 4, Rat::ZERO, Rat::ONE / Rat::from(10).pow(width)).expect("a grid");
        let options = Options { everywhere, ..Options::default() };
        let lowering = Lowering::derive(&grid, &target, &options, Format::literal(precision));
        lowering.map(|lowering| lowering.units).map_err(|error| (error.kind(), error.to_string()))
    };
    for (precision, width, fits, does_not) in [
        // The box: its last digits, twice, must stay above the least normal number.
        (Precision::F32, 22, "x * 10^22 on [0, 1e-22]", None),
        (Precision::F32, 24, "x * 10^24 on [0, 1e-24]", Some("2^-83")),
        // The values: the last digit of the largest.
        (Precision::F32, 12, "x on [0, 1e-12]", None),
        (Precision::F32, 20, "x on [0, 1e-20]", Some("2^-70")),
        (Precision::F64, 140, "x on [0, 1e-140]", None),
        (Precision::F64, 160, "x on [0, 1e-160]", Some("2^-535")),
    ] {
        assert_eq!(derive(fits, width, precision, false), Ok(0), "on the box alone there is nothing to fear");
        match (does_not, derive(fits, width, precision, true)) {
            (None, found) => assert!(found.as_ref().is_ok_and(|units| *units > 40), "{fits}: {found:?}"),
            (Some(power), found) => {
                let (kind, text) = found.expect_err(fits);
                assert_eq!(kind, ErrorKind::Declined);
                assert!(text.contains("every finite input") && text.contains(power), "{text}");
            }
        }
    }
}

#[test]
fn a_guarded_network_is_the_same_in_the_box() {
    for precision in [Precision::F64, Precision::F32] {
        for triple in [(2, 1, 2), (2, 1, 4), (3, 1, 3), (2, 2, 2)] {
            let case = case(triple, precision, true);
            let formula = formwright::construct::yun::lower::literal_size(&case.exact).expect("a size");
            let nonzeros = formula.nonzeros.clone();
            assert_eq!(formula, formwright::network::Size { nonzeros, ..case.network.size() });
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
