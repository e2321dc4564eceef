//! sum-code and sumformer-discrete in floats: at every grid point within the certified rounding, bit by bit the same in any order; exactly 0
//! outside, from the ramp to where flags overflow; bounded between.

use std::sync::Arc;

use super::support::shuffled::{Shuffle, trace};
use super::support::{GENERIC, GENERIC_POSITIONAL, Random, Triple, expression, grid};
use formwright::construct::sumcode::lower::{Outside, SumCodeLowering};
use formwright::construct::sumcode::{Options, SUM_CODE, Scheme, Values};
use formwright::construct::sumformer::discrete::SUMFORMER_DISCRETE;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::lattice::Grid;
use formwright::network::{FloatNetwork, Precision, Realisation};
use formwright::target::{Source, Target};

struct Case {
    grid: Grid,
    target: Arc<Target>,
    lowering: SumCodeLowering,
    network: FloatNetwork,
}

fn options(family: &'static Scheme, values: Values, positional: bool) -> Options {
    Options { family, code: None, values, positional, attention: Realisation::SOFTMAX }
}

fn case(source: &Source, triple: Triple, options: &Options, precision: Precision) -> Case {
    let grid = grid(triple);
    let target = Arc::new(source.target(grid.dims()).expect("a target"));
    let lowering = SumCodeLowering::derive(&grid, &target, options, precision)
        .unwrap_or_else(|error| panic!("{options:?} {triple:?} {precision}: {error}"));
    let network = lowering.lower().expect("a network");
    Case { grid, target, lowering, network }
}

fn floats(x: &[Vec<Rat>]) -> Vec<Vec<f64>> {
    x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect()
}

impl Case {
    /// Every grid point, by the engine and by the second evaluator: within the rounding, and the same bits.
    fn check(&self, shuffles: u64) -> usize {
        let points: Vec<Vec<Vec<Rat>>> = self.grid.all_points().map(|point| self.grid.centre(&point)).collect();
        let engine = Engine::new(&self.network).expect("an engine");
        let batch: Vec<Vec<Vec<f64>>> = points.iter().map(|x| floats(x)).collect();
        let outputs = engine.run(&batch).expect("a run");
        let rounding = Rat::from_f64(self.lowering.losses.rounding).expect("finite");
        for (k, (x, output)) in points.iter().zip(&outputs).enumerate() {
            let expected = self.target.evaluate(x).expect("a value");
            for (found, expected) in output.iter().flatten().zip(expected.iter().flatten()) {
                let off = (Rat::from_f64(*found).expect("finite") - expected).abs();
                assert!(
                    off <= rounding,
                    "{:?} {:?} at {x:?}: {found}, not {expected}",
                    self.lowering.parts.options,
                    self.grid
                );
            }
            let shuffles = if k % 7 == 0 { shuffles } else { 0 };
            for seed in 0..shuffles {
                let mut shuffle = Shuffle::new(seed * 77 + k as u64 + 1);
                let (_, other) = trace(&self.network, &batch[k], &mut shuffle).pop().expect("an output");
                assert_eq!(*output, other, "in another order, at {x:?}");
            }
        }
        points.len()
    }
}

const F64: [Triple; 14] = [
    (2, 1, 2),
    (2, 1, 5),
    (2, 1, 16),
    (2, 1, 24),
    (2, 2, 3),
    (2, 3, 2),
    (3, 1, 4),
    (3, 1, 7),
    (3, 1, 10),
    (3, 2, 2),
    (4, 1, 3),
    (4, 1, 5),
    (5, 1, 3),
    (6, 1, 2),
];

/// Heads of every kind add codes up exactly, where they are not declined: the same bits as softmax, at every grid point.
#[test]
fn other_kinds_of_attention_give_the_same_bits() {
    let kind = |name: &str| name.parse::<Realisation>().expect("a kind");
    for (triple, kinds) in [
        ((2, 1, 5), &["average", "linformer:1", "linformer:4", "performer:1", "performer:4"][..]),
        ((4, 1, 3), &["average", "linformer:2", "performer:16"]),
        ((3, 1, 4), &["linformer:8", "performer:1"]),
    ] {
        for family in [&SUM_CODE, &SUMFORMER_DISCRETE] {
            let softmax = options(family, Values::OneBlock, false);
            let usual = case(&expression(GENERIC), triple, &softmax, Precision::F64);
            let points: Vec<Vec<Vec<f64>>> =
                usual.grid.all_points().map(|point| floats(&usual.grid.centre(&point))).collect();
            let outputs = |case: &Case| Engine::new(&case.network).expect("an engine").run(&points).expect("a run");
            for name in kinds {
                let asked = Options { attention: kind(name), ..softmax };
                let other = case(&expression(GENERIC), triple, &asked, Precision::F64);
                assert_eq!(outputs(&other), outputs(&usual), "{family:?} {triple:?} {name}");
                assert_eq!(other.lowering.losses.rounding.to_bits(), usual.lowering.losses.rounding.to_bits());
                other.check(0);
            }
        }
    }
    let target = Arc::new(expression(GENERIC).target(1).expect("a target"));
    for (n, name) in [(3, "average"), (2, "linformer:3"), (2, "performer:2"), (2, "performer:4:constant")] {
        let asked = Options { attention: kind(name), ..Options::of(&SUM_CODE) };
        let refused = SumCodeLowering::derive(&grid((n, 1, 4)), &target, &asked, Precision::F64);
        let error = refused.expect_err(name).to_string();
        assert!(error.contains("does not add codes up exactly"), "{error}");
    }
}

#[test]
fn every_grid_point_is_within_the_certified_rounding_in_any_order() {
    let mut points = 0;
    for triple in F64 {
        for family in [&SUM_CODE, &SUMFORMER_DISCRETE] {
            for values in Values::ALL {
                // A histogram's sums have D log2(n+1) bits.
                if family == &SUMFORMER_DISCRETE && triple.2.pow(u32::try_from(triple.1).expect("few")) > 8 {
                    continue;
                }
                let case = case(&expression(GENERIC), triple, &options(family, values, false), Precision::F64);
                assert!(case.lowering.losses.rounding < 1e-3, "{triple:?} {values}: {}", case.lowering.losses.rounding);
                points += case.check(3);
            }
        }
    }
    assert!(points > 10_000, "{points}");
}

#[test]
fn single_precision_and_positions_are_within_their_rounding_too() {
    for triple in [(2, 1, 3), (2, 1, 8), (3, 1, 3), (2, 2, 2), (3, 1, 4)] {
        for values in Values::ALL {
            case(&expression(GENERIC), triple, &options(&SUM_CODE, values, false), Precision::F32).check(3);
        }
    }
    for triple in [(2, 1, 6), (3, 1, 4), (2, 2, 2), (4, 1, 2)] {
        for values in Values::ALL {
            let positional = options(&SUM_CODE, values, true);
            case(&expression(GENERIC_POSITIONAL), triple, &positional, Precision::F64).check(3);
        }
    }
}

#[test]
fn random_tables_on_a_large_grid_are_within_the_rounding() {
    let mut random = Random::new(77);
    for triple in [(2, 1, 60), (3, 1, 16), (4, 1, 8)] {
        let table = Source::table("random", random.equivariant_table(&grid(triple)));
        for values in [Values::OneBlock, Values::Staircase, Values::Rank] {
            let case = case(&table, triple, &options(&SUM_CODE, values, false), Precision::F64);
            // Interpolation is at its end there, a staircase is not.
            let enough = if values == Values::Staircase { 1e-3 } else { 1.0 };
            assert!(case.lowering.losses.rounding < enough, "{triple:?}: {}", case.lowering.losses.rounding);
            case.check(0);
        }
    }
}

#[test]
fn outside_of_the_box_the_output_is_exactly_zero() {
    let mut zeros = 0;
    for precision in [Precision::F32, Precision::F64] {
        for triple in [(2, 1, 3), (2, 1, 8), (3, 1, 3), (2, 2, 2)] {
            for (family, positional) in [(&SUM_CODE, false), (&SUMFORMER_DISCRETE, false), (&SUM_CODE, true)] {
                for values in Values::ALL {
                    let options = options(family, values, positional);
                    if family == &SUMFORMER_DISCRETE && precision == Precision::F32 && triple.2 == 8 {
                        continue;
                    }
                    let text = if positional { GENERIC_POSITIONAL } else { GENERIC };
                    let case = case(&expression(text), triple, &options, precision);
                    let engine = Engine::new(&case.network).expect("an engine");
                    // Past the ramp on the left, and on the right from the end of the box on.
                    let ramp = 2.0 * case.lowering.quantiser.width().to_f64() / 2.0;
                    let mut far = vec![-2.0 * ramp, 1.0 + ramp, -0.1, 1.5, 2.0];
                    far.extend((1..=15).flat_map(|k| [10_f64.powi(k), -(10_f64.powi(k)), 3.7 * 10_f64.powi(k)]));
                    for (k, x) in case.grid.all_points().map(|point| case.grid.centre(&point)).enumerate().step_by(5) {
                        for far in &far {
                            let mut x = floats(&x);
                            x[k % triple.0][k % triple.1] = *far;
                            for (seed, output) in std::iter::once(engine.run(&[x.clone()]).expect("a run").remove(0))
                                .chain((1..3).map(|seed| {
                                    trace(&case.network, &x, &mut Shuffle::new(seed)).pop().expect("an output").1
                                }))
                                .enumerate()
                            {
                                zeros += 1;
                                assert!(
                                    output.iter().flatten().all(|y| *y == 0.0),
                                    "{options:?} {precision} {triple:?}, order {seed}, at {x:?}: {output:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(zeros > 20_000, "{zeros}");
}

/// The region of output 0 is derived from the weights: from the ramp on, up to the overflow of a flag, for all other
/// coordinates.
#[test]
fn how_far_outside_the_output_is_zero_is_what_is_said() {
    let mut zeros = 0;
    for precision in [Precision::F32, Precision::F64] {
        for triple in [(2, 1, 4), (3, 1, 3), (2, 2, 2)] {
            for (family, positional) in [(&SUM_CODE, false), (&SUMFORMER_DISCRETE, false), (&SUM_CODE, true)] {
                for values in Values::ALL {
                    let options = options(family, values, positional);
                    let text = if positional { GENERIC_POSITIONAL } else { GENERIC };
                    let case = case(&expression(text), triple, &options, precision);
                    let engine = Engine::new(&case.network).expect("an engine");
                    let Outside { ramp, farthest } = case.lowering.outside();
                    let away = |x: Rat, by: Rat| precision.round((x + by).to_f64());
                    let least = precision.round(ramp.to_f64() * (1.0 + 1e-6));
                    let most = precision.round(farthest.to_f64() * (1.0 - 1e-6));
                    let outside = [-least, away(Rat::ONE, ramp), -most, most, -most / 3.0, 2.0];
                    let others = [0.3, -least / 3.0, 1.0 - least / 2.0, -f64::MIN_POSITIVE, most, -most];
                    let mut batch = Vec::new();
                    for out in outside {
                        for other in others {
                            for place in 0..triple.0 * triple.1 {
                                let mut x = vec![vec![other; triple.1]; triple.0];
                                x[place / triple.1][place % triple.1] = out;
                                batch.push(x);
                            }
                        }
                    }
                    let executed = engine.run(&batch).expect("a run");
                    for (seed, (x, output)) in batch.iter().zip(executed).enumerate() {
                        let mut shuffle = Shuffle::flushing(seed as u64 + 1);
                        let shuffled = trace(&case.network, x, &mut shuffle).pop().expect("an output").1;
                        for output in [shuffled, output] {
                            zeros += 1;
                            assert!(
                                output.iter().flatten().all(|y| *y == 0.0),
                                "{options:?} {precision} {triple:?} at {x:?}: {output:?}"
                            );
                        }
                    }
                }
            }
        }
    }
    assert!(zeros > 10_000, "{zeros}");
    // Both ends are near the truth: on the ramp the output is not 0, and a little farther there is none.
    let plain = options(&SUM_CODE, Values::OneBlock, false);
    let case = case(&expression("x * mean(x)"), (2, 1, 4), &plain, Precision::F32);
    let run = |x: f64| {
        let output = Engine::new(&case.network).and_then(|engine| engine.run(&[vec![vec![x], vec![0.6]]]));
        output.expect("a run").remove(0)
    };
    assert!(run(-1e-9).iter().flatten().all(|y| *y > 0.01), "{:?}", run(-1e-9));
    let farthest = case.lowering.outside().farthest.to_f64();
    assert!(farthest > 1.26e30 && run(farthest * 1.05).iter().flatten().any(|y| !y.is_finite()), "{farthest:e}");
}

/// Inputs on the ramps: just below the edges of cells, where a digit is half taken.
#[test]
fn on_the_ramps_outputs_stay_below_the_height() {
    let mut random = Random::new(5);
    for triple in [(2, 1, 5), (2, 1, 16), (3, 1, 6), (2, 2, 3)] {
        for values in Values::ALL {
            let case = case(&expression(GENERIC), triple, &options(&SUM_CODE, values, false), Precision::F64);
            let engine = Engine::new(&case.network).expect("an engine");
            let ramp = case.lowering.quantiser.width().to_f64();
            let height = case.lowering.losses.height;
            let spread = case.lowering.losses.spread;
            assert!(height.is_finite() && height < 3.0 * spread + 1.0, "{height}");
            assert!(values != Values::Layered || height <= spread * (1.0 + 1e-15), "clipped: {height} {spread}");
            let mut largest = 0.0_f64;
            for _ in 0..2000 {
                #[expect(clippy::cast_precision_loss, reason = "small numbers")]
                let mut entry = || {
                    let edge = 1 + random.below(triple.2);
                    let part = random.below(1001) as f64 / 1000.0;
                    (edge as f64 - ramp * part) / triple.2 as f64
                };
                let x: Vec<Vec<f64>> = (0..triple.0).map(|_| (0..triple.1).map(|_| entry()).collect()).collect();
                let output = engine.run(&[x]).expect("a run").remove(0);
                largest = output.into_iter().flatten().map(f64::abs).fold(largest, f64::max);
            }
            assert!(largest <= height, "{triple:?} {values}: {largest} > {height}");
        }
    }
}

#[test]
fn what_does_not_fit_a_format_is_declined() {
    let refuse = |triple: Triple, options: Options, precision: Precision| {
        let grid = grid(triple);
        let target = Arc::new(expression(GENERIC).target(grid.dims()).expect("a target"));
        let refused = SumCodeLowering::derive(&grid, &target, &options, precision);
        assert!(refused.is_err(), "{triple:?} {options:?} {precision}");
    };
    for values in Values::ALL {
        refuse((2, 1, 100), options(&SUM_CODE, values, false), Precision::F32);
        refuse((3, 1, 300), options(&SUM_CODE, values, false), Precision::F64);
        refuse((3, 1, 40), options(&SUMFORMER_DISCRETE, values, false), Precision::F64);
    }
}
