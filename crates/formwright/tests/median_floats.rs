//! The median of shifted grids in floats: within the proved bound at every wall of every grid and next to it, in any order
//! of sums; whatever a minority of the copies is replaced by; and not if it is a majority.

use std::sync::Arc;

use super::median::{Reference, coordinates};
use super::support::onnxruntime::{self, Batch};
use super::support::shuffled::{Shuffle, trace};
use super::support::{GENERIC, GENERIC_POSITIONAL, Random, Triple, expression, grid};
use formwright::construct::median::MEDIAN;
use formwright::construct::median::built::{Median, build};
use formwright::construct::median::shifts::Shifts;
use formwright::construct::sumcode::{Options, Values};
use formwright::eval::enclosure::Executions;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::lattice::Grid;
use formwright::network::{FloatNetwork, Precision};
use formwright::target::{Source, Target};

struct Case {
    target: Arc<Target>,
    grid: Grid,
    built: Median,
}

fn case(source: &Source, triple: Triple, options: &Options, precision: Precision) -> Case {
    let grid = grid(triple);
    let target = Arc::new(source.target(grid.dims()).expect("a target"));
    let shifts = Shifts::new(&grid, triple.2).expect("grids");
    let built = build(&shifts, &target, options, Some(precision), None);
    let built = built.unwrap_or_else(|error| panic!("{options:?} {triple:?} {precision}: {error}"));
    Case { target, grid, built }
}

fn options(values: Values, positional: bool) -> Options {
    Options { values, positional, ..Options::of(&MEDIAN) }
}

fn exactly(x: &[Vec<f64>]) -> Vec<Vec<Rat>> {
    x.iter().map(|token| token.iter().map(|x| Rat::from_f64(*x).expect("finite")).collect()).collect()
}

impl Case {
    fn network(&self) -> &FloatNetwork {
        &self.built.lowered.as_ref().expect("floats").1
    }

    fn bound(&self) -> Rat {
        Rat::from_f64(self.built.budget.bound).expect("finite")
    }

    /// Coordinates of the format: at and next to every wall, a margin off, on the ramps.
    fn coordinates(&self) -> Vec<f64> {
        let precision = self.network().precision;
        let reference = Reference { target: &self.target, grid: self.grid.clone() };
        let mut all = Vec::new();
        for x in coordinates(&reference) {
            let x = precision.round(x.to_f64());
            all.extend([x, precision.next_up(x), -precision.next_up(-x)]);
        }
        let ramp =
            self.built.lowered.as_ref().expect("floats").0.copies[0].quantiser.width() * self.built.shifts.side();
        for wall in reference.walls() {
            for part in [Rat::ONE, Rat::new(1, 2), Rat::new(1, 3), Rat::new(7, 8)] {
                all.push(precision.round((&wall - &(&ramp * &part)).to_f64()));
            }
        }
        all.extend([0.0, 1.0]);
        all.retain(|x| (0.0..=1.0).contains(x));
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    /// All sequences of these where there are at most so many, else some of them.
    fn inputs(&self, most: usize) -> Vec<Vec<Vec<f64>>> {
        let (n, d, all) = (self.grid.tokens(), self.grid.dims(), self.coordinates());
        let shaped = |flat: Vec<f64>| -> Vec<Vec<f64>> { flat.chunks(d).map(<[f64]>::to_vec).collect() };
        if n * d == 2 && all.len() * all.len() <= most {
            return all.iter().flat_map(|x| all.iter().map(|y| shaped(vec![*x, *y]))).collect();
        }
        let mut random = Random::new(26);
        let mut draw = || all[usize::try_from(random.below(all.len() as u64)).expect("an index")];
        (0..most).map(|_| shaped((0..n * d).map(|_| draw()).collect())).collect()
    }

    /// The largest error of these outputs.
    fn worst(&self, inputs: &[Vec<Vec<f64>>], outputs: &[Vec<Vec<f64>>]) -> Rat {
        let mut worst = Rat::ZERO;
        for (x, output) in inputs.iter().zip(outputs) {
            let wanted = self.target.evaluate(&exactly(x)).expect("a value");
            for (found, wanted) in output.iter().flatten().zip(wanted.iter().flatten()) {
                worst = worst.max((Rat::from_f64(*found).expect("finite") - wanted).abs());
            }
        }
        worst
    }

    /// Within the bound by the engine, in other orders, and, at some points, in every execution.
    fn check(&self, most: usize) -> usize {
        let (inputs, network, bound) = (self.inputs(most), self.network(), self.bound());
        let outputs = Engine::new(network).and_then(|engine| engine.run(&inputs)).expect("a run");
        let worst = self.worst(&inputs, &outputs);
        assert!(worst <= bound, "{:?}: {worst} above {bound}", self.built.options);
        let executions = Executions::new(network).expect("enclosures");
        for (k, x) in inputs.iter().enumerate().filter(|(k, _)| k % 97 == 0) {
            for mut shuffle in [Shuffle::new(k as u64 + 1), Shuffle::flushing(3 * k as u64 + 1)] {
                let (_, output) = trace(network, x, &mut shuffle).pop().expect("an output");
                assert!(self.worst(std::slice::from_ref(x), &[output]) <= bound, "in another order, at {x:?}");
            }
            let enclosed = executions.enclose(x).expect("an enclosure").output;
            assert!(enclosed.iter().flatten().all(|y| y.lo().is_finite() && y.hi().is_finite()), "at {x:?}");
        }
        inputs.len()
    }

    /// The network in which some copies give these numbers whatever they read.
    fn replaced(&self, copies: &[(usize, f64)]) -> FloatNetwork {
        let mut network = self.network().clone();
        let width = network.width();
        let each = width / self.built.shifts.copies();
        let values = network.stages.iter().position(|stage| stage.name == "values").expect("values");
        let run = network.runs.iter_mut().filter_map(|run| run.feed_forward.as_mut()).find(|run| run.stage == values);
        let run = run.expect("values");
        for (copy, garbage) in copies {
            for register in copy * each + each - self.target.output_dims()..(copy + 1) * each {
                run.w2[register * run.hidden..(register + 1) * run.hidden].fill(0.0);
                run.b2[register] = network.precision.round(*garbage);
            }
        }
        network
    }
}

/// Every wall of every grid, exhaustively.
#[test]
fn at_every_wall_and_next_to_it_outputs_are_within_the_bound() {
    let mut points = 0;
    for (text, precision) in
        [(GENERIC, Precision::F64), (GENERIC, Precision::F32), (GENERIC_POSITIONAL, Precision::F64)]
    {
        let options = options(Values::OneBlock, text == GENERIC_POSITIONAL);
        points += case(&expression(text), (2, 1, 2), &options, precision).check(1_000_000);
        case(&expression(text), (2, 1, 4), &options, precision).check(10_000);
    }
    assert!(points > 100_000, "{points}");
}

#[test]
fn every_value_map_and_more_coordinates_are_within_the_bound_too() {
    for triple in [(2, 1, 4), (3, 1, 3), (2, 2, 2), (4, 1, 2)] {
        for values in Values::ALL {
            case(&expression(GENERIC), triple, &options(values, false), Precision::F64).check(1_500);
        }
    }
    for values in [Values::OneBlock, Values::Staircase, Values::Rank] {
        case(&expression(GENERIC), (3, 1, 2), &options(values, false), Precision::F32).check(1_500);
    }
}

/// A target that is not rational: values are stored near it, and cells are looked at one by one.
#[test]
fn values_that_are_not_rational_are_within_the_bound() {
    let case = case(&expression("exp(x) * mean(x)"), (2, 1, 6), &options(Values::OneBlock, false), Precision::F64);
    let inputs = case.inputs(20_000);
    let outputs = Engine::new(case.network()).and_then(|engine| engine.run(&inputs)).expect("a run");
    let wanted = case.target.evaluate_batch(&inputs).expect("values");
    for ((x, output), wanted) in inputs.iter().zip(&outputs).zip(&wanted) {
        for (found, wanted) in output.iter().flatten().zip(wanted) {
            assert!((found - wanted).abs() <= case.built.budget.bound + 1e-12, "at {x:?}: {found}, not {wanted}");
        }
    }
}

/// All choices of `count` of `0..of`.
fn choices(of: usize, count: usize) -> Vec<Vec<usize>> {
    let all = (0..1_u32 << of).filter(|bits| bits.count_ones() as usize == count);
    all.map(|bits| (0..of).filter(|k| bits >> k & 1 == 1).collect()).collect()
}

/// Away from walls any `m` copies may hold anything; `m + 1` may not.
#[test]
fn a_minority_of_garbage_changes_nothing_and_a_majority_does() {
    for (triple, precision) in [((2, 1, 3), Precision::F64), ((2, 1, 3), Precision::F32), ((3, 1, 2), Precision::F64)] {
        let case = case(&expression(GENERIC), triple, &options(Values::OneBlock, false), precision);
        let (copies, spoiled) = (case.built.shifts.copies(), case.built.shifts.spoiled());
        // No coordinate is nearer than a margin to a wall of any grid: two margins lie between two walls.
        let reference = Reference { target: &case.target, grid: case.grid.clone() };
        let between: Vec<f64> = coordinates(&reference)
            .into_iter()
            .filter(|x| reference.spoiled(&vec![vec![x.clone()]; triple.0]) == 0)
            .map(|x| precision.round(x.to_f64()))
            .collect();
        let mut random = Random::new(8);
        let mut draw = || between[usize::try_from(random.below(between.len() as u64)).expect("an index")];
        let inputs: Vec<Vec<Vec<f64>>> = (0..40).map(|_| (0..triple.0).map(|_| vec![draw()]).collect()).collect();
        let errors = |network: &FloatNetwork| {
            let outputs = Engine::new(network).and_then(|engine| engine.run(&inputs)).expect("a run");
            case.worst(&inputs, &outputs)
        };
        let garbage = [1e6, -1e6, 0.3, 7.0, -1e3, 1e-30];
        for chosen in choices(copies, spoiled) {
            for shift in 0..garbage.len() {
                let replaced: Vec<(usize, f64)> =
                    chosen.iter().enumerate().map(|(k, copy)| (*copy, garbage[(k * shift + shift) % 6])).collect();
                let worst = errors(&case.replaced(&replaced));
                assert!(worst <= case.bound(), "{triple:?} {precision} {replaced:?}: {worst}");
            }
        }
        for chosen in choices(copies, spoiled + 1) {
            let replaced: Vec<(usize, f64)> = chosen.iter().map(|copy| (*copy, 1e6)).collect();
            assert!(errors(&case.replaced(&replaced)) > case.bound(), "{triple:?} {chosen:?}");
        }
    }
}

/// One copy alone is far off next to its walls: that is what the others are for.
#[test]
fn a_single_grid_is_not_within_the_bound() {
    let case = case(&expression("max(x) - x"), (2, 1, 5), &options(Values::OneBlock, false), Precision::F64);
    let inputs = case.inputs(20_000);
    let middle = case.built.shifts.copies() / 2;
    let each = case.network().width() / case.built.shifts.copies();
    let values = case.network().stages.iter().position(|stage| stage.name == "values").expect("values");
    // The copy in the middle as it is before clamp and comparators.
    let states = Engine::new(case.network()).and_then(|engine| engine.trace_batch(&inputs)).expect("a run");
    let outputs: Vec<Vec<Vec<f64>>> = states[values + 1]
        .1
        .iter()
        .map(|state| state.iter().map(|z| vec![z[middle * each + each - 1]]).collect())
        .collect();
    assert!(case.worst(&inputs, &outputs) > case.bound());
}

#[test]
fn onnxruntime_is_within_the_bound_and_near_ours() {
    let mut cases: Vec<(String, Vec<u8>, Batch)> = Vec::new();
    let mut built = Vec::new();
    for (text, triple, precision) in [
        (GENERIC, (2, 1, 5), Precision::F64),
        (GENERIC, (3, 1, 3), Precision::F64),
        (GENERIC, (2, 2, 2), Precision::F64),
        (GENERIC, (2, 1, 3), Precision::F32),
        (GENERIC_POSITIONAL, (2, 1, 4), Precision::F64),
    ] {
        let case = case(&expression(text), triple, &options(Values::OneBlock, text == GENERIC_POSITIONAL), precision);
        let inputs = case.inputs(400);
        let model = onnx::to_bytes(case.network(), &[], false).expect("an ONNX model");
        cases.push((format!("{triple:?} {precision}"), model, inputs));
        built.push(case);
    }
    for ((name, _, inputs), (outcome, case)) in cases.iter().zip(onnxruntime::run(&cases).iter().zip(&built)) {
        assert!(!outcome.runs.is_empty(), "{name}");
        for (way, outputs) in &outcome.runs {
            assert_eq!(outputs["y"].len(), inputs.len());
            assert!(case.worst(inputs, &outputs["y"]) <= case.bound(), "{name}, {way}");
        }
    }
}
