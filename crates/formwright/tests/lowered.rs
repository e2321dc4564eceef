//! Lowered networks at lattice points: floats equal the exact network, in any order of summation; what they lose to rounding is what is
//! stated; and they are as large as the formula says.

use super::support::built::{Built, PRECISIONS, exactly};
use super::support::shuffled::{self, Shuffle};
use super::support::{GENERIC_POSITIONAL, Options, Random, Triple, expression, positional};
use formwright::construct::yun::lower::literal_size;
use formwright::error::Error;
use formwright::eval::float::Engine;
use formwright::eval::indexed;
use formwright::eval::reference::{Reference, distance};
use formwright::exact::Rat;
use formwright::lattice::has_distinct_columns;
use formwright::lower::Format;
use formwright::network::Precision;
use rayon::prelude::*;

/// An equivariant target whose values are no binary fractions, also less the middle of its range.
const EQUIVARIANT: &str = "x^2 * mean(x) / 3 + max(x) / 7";

/// Sizes at which every lattice point is tried.
const TRIPLES: [Triple; 10] =
    [(2, 1, 2), (2, 1, 5), (2, 1, 8), (2, 1, 15), (3, 1, 3), (3, 1, 4), (3, 1, 6), (4, 1, 4), (2, 2, 3), (2, 3, 2)];

fn build(text: &str, triple: Triple, options: &Options, precision: Precision) -> Result<Built, Error> {
    Built::new(&expression(text), triple, options, Format::literal(precision))
}

/// Both theorems in both formats, where they fit; the expected number keeps the list from becoming empty.
fn all() -> Vec<Built> {
    let theorems = [(EQUIVARIANT, Options::default()), (GENERIC_POSITIONAL, positional())];
    let tried = TRIPLES.iter().flat_map(|triple| {
        let theorem =
            |(text, options): (&str, Options)| PRECISIONS.map(|format| build(text, *triple, &options, format));
        theorems.clone().map(theorem).into_iter().flatten()
    });
    let built: Vec<Built> = tried.flatten().collect();
    let single = built.iter().filter(|built| built.network.precision == Precision::F32).count();
    assert_eq!((built.len() - single, single), (20, 19), "how many fit");
    built
}

impl Built {
    fn name(&self) -> String {
        let (grid, positional) = (&self.grid, self.lowering.options.positional);
        let triple = (grid.tokens(), grid.dims(), grid.resolution());
        format!("Theorem {} at {triple:?} in {}", if positional { 3 } else { 2 }, self.network.precision)
    }

    fn serves(&self, point: &[Vec<u64>]) -> bool {
        self.lowering.options.positional || has_distinct_columns(point)
    }
}

fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
}

fn small(n: u64) -> f64 {
    f64::from(u32::try_from(n).expect("small"))
}

/// True if two outputs are the same floats.
fn same(a: &[Vec<f64>], b: &[Vec<f64>]) -> bool {
    a.iter().flatten().map(|x| x.to_bits()).eq(b.iter().flatten().map(|x| x.to_bits()))
}

/// Every stage up to `zero` bit by bit, the output within the stated rounding of the exact network.
fn check(text: &str, triple: Triple, positional: bool, precision: Precision) {
    let options = Options { positional, ..Options::default() };
    let built = build(text, triple, &options, precision).expect("it fits");
    let Built { lowering, exact, network, .. } = &built;
    for (index, point) in built.grid.all_points().enumerate() {
        let centre = built.grid.centre(&point);
        let x = built.centre(&point);
        let expected = indexed::trace(exact, &centre).expect("a trace");
        let output = indexed::run(exact, &centre).expect("an output");
        for seed in [0, index as u64 * 2 + 1] {
            let found = shuffled::trace(network, &x, &mut Shuffle::new(seed));
            for (name, state) in &expected {
                if ["quantise", "shifts", "global", "zero"].contains(name) && built.serves(&point) {
                    let (_, floats) = found.iter().find(|(stage, _)| stage == name).expect("the stage");
                    let same = state
                        .iter()
                        .flatten()
                        .zip(floats.iter().flatten())
                        .all(|(a, b)| Rat::from_f64(*b).as_ref() == Some(a));
                    assert!(same, "{name} at {point:?}, seed {seed}: {floats:?} {state:?}");
                }
            }
            let (_, y) = found.last().expect("an output");
            for (a, b) in output.iter().flatten().zip(y.iter().flatten()) {
                assert!((a.to_f64() - b).abs() <= lowering.losses.rounding, "{point:?} seed {seed}: {a} {b}");
            }
        }
    }
}

#[test]
fn floats_are_exact_on_the_lattice() {
    use Precision::{F32, F64};
    check("x - mean(x)", (2, 1, 4), false, F64);
    check("max(x)", (2, 1, 15), false, F64);
    check("max(x)", (2, 1, 15), true, F64);
    check("x * mean(x)", (3, 1, 5), true, F64);
    check("x * mean(x)", (3, 1, 6), false, F64);
    check("x * mean(x)", (2, 2, 3), false, F64);
    check("x * mean(x)", (2, 2, 3), true, F64);
    check("max(x)", (2, 1, 8), false, F32);
    check("max(x)", (2, 1, 6), true, F32);
    check("max(x)", (3, 1, 4), false, F32);
}

#[test]
fn rounding_is_what_is_stated_at_every_lattice_point_and_in_any_order() {
    all().par_iter().for_each(|built| {
        let (network, stated) = (&built.network, built.lowering.losses.rounding);
        let batch: Vec<_> = built.grid.all_points().map(|point| built.centre(&point)).collect();
        let inputs: Vec<_> = batch.iter().map(|x| exactly(x)).collect();
        let enclosures = Reference::new(network).and_then(|reference| reference.run_batch(&inputs)).expect("a run");
        let engine = Engine::new(network).expect("an engine");
        let [one, two] = [1, 2].map(|threads| in_pool(threads, || engine.run(&batch)).expect("a run"));
        // From the reference, whose weights are the same; and from the exact network, whose values are not rounded.
        let (mut worst, mut lost): (f64, f64) = (0.0, 0.0);
        for (i, (point, enclosure)) in built.grid.all_points().zip(&enclosures).enumerate() {
            let name = || format!("{} at {point:?}", built.name());
            assert!(same(&one[i], &two[i]), "{}: the number of threads shows", name());
            let exact = indexed::run(&built.exact, &built.grid.centre(&point)).expect("a run");
            let found = exactly(&one[i]);
            let loss = exact.iter().flatten().zip(found.iter().flatten()).map(|(a, b)| (a - b).abs().to_f64());
            lost = loss.fold(lost, f64::max);
            let shuffled = [1, 0x9e37_79b9 + i as u64, 0x5851_f42d_4c95_7f2d].map(|seed| {
                let mut trace = shuffled::trace(network, &batch[i], &mut Shuffle::new(seed));
                trace.pop().expect("an output").1
            });
            for y in std::iter::once(&one[i]).chain(&shuffled) {
                let off = distance(enclosure, y);
                assert!(off <= stated, "{}: off by {off}, stated {stated}", name());
                worst = worst.max(off);
            }
        }
        println!("{}: {worst:.2e} from the reference, {lost:.2e} in all, stated {stated:.2e}", built.name());
        assert!(lost <= stated && stated <= 5.0 * lost, "{}: {lost} in all, stated {stated}", built.name());
    });
}

#[test]
fn sequences_with_equal_columns_give_exactly_the_offset() {
    let mut cleared = 0;
    for built in all().into_iter().filter(|built| !built.lowering.options.positional) {
        // Where it is not proved, the bound does not count on it.
        if !built.lowering.losses.ties_cleared {
            continue;
        }
        cleared += 1;
        let points: Vec<_> = built.grid.all_points().filter(|point| !has_distinct_columns(point)).collect();
        let batch: Vec<_> = points.iter().map(|point| built.centre(point)).collect();
        let outputs = Engine::new(&built.network).and_then(|engine| engine.run(&batch)).expect("a run");
        let offset = vec![vec![built.offset(); built.network.output_dims()]; built.grid.tokens()];
        for (i, (point, output)) in points.iter().zip(&outputs).enumerate() {
            assert!(same(output, &offset), "{} at {point:?}: {output:?}", built.name());
            let found = shuffled::trace(&built.network, &batch[i], &mut Shuffle::new(2 * i as u64 + 1));
            let (_, output) = found.last().expect("an output");
            assert!(same(output, &offset), "{} at {point:?}, shuffled: {output:?}", built.name());
        }
    }
    assert_eq!(cleared, 13, "networks for which it is proved");
}

#[test]
fn inside_of_a_cell_the_output_is_that_of_its_centre() {
    let mut random = Random::new(31);
    for built in all() {
        let precision = built.network.precision;
        // Off the ramps by what the embedding rounds: it computes with numbers below 4nN.
        let coarse = Rat::from(4 * built.grid.tokens()) * Rat::from(built.grid.resolution());
        let shift = (coarse * Rat::from(4) / Rat::from(2).pow(precision.digits())).to_f64();
        let (low, high) = (shift, 1.0 - built.lowering.step_ramp.to_f64() - shift);
        assert!(low < 0.001 && high > 0.999, "the good set is almost everything: {low} {high}");
        let side = small(built.grid.resolution());
        let ramp = 1.0 - built.lowering.step_ramp.to_f64() / 2.0;
        let at = |point: &[Vec<u64>], place: &mut dyn FnMut() -> f64| -> Vec<Vec<f64>> {
            let mut entry = |k: &u64| precision.round((small(*k) + place()) / side);
            point.iter().map(|column| column.iter().map(&mut entry).collect()).collect()
        };
        let mut place = || match random.below(4) {
            0 => low,
            1 => high,
            _ => low + (high - low) * small(random.below(1 << 20)) / small(1 << 20),
        };
        let points: Vec<_> = built.grid.all_points().collect();
        let centres: Vec<_> = points.iter().map(|point| built.centre(point)).collect();
        let inside: Vec<_> = points.iter().map(|point| at(point, &mut place)).collect();
        let on_ramps: Vec<_> = points.iter().map(|point| at(point, &mut || ramp)).collect();
        let engine = Engine::new(&built.network).expect("an engine");
        let [centre, found, leaked] = [&centres, &inside, &on_ramps].map(|batch| engine.run(batch).expect("a run"));
        for i in 0..centre.len() {
            let (x, y) = (&inside[i], &found[i]);
            assert!(same(&centre[i], y), "{} on {x:?}: {y:?}, not {:?}", built.name(), centre[i]);
        }
        assert!(!centre.iter().zip(&leaked).all(|(a, b)| same(a, b)), "{}: on ramps it differs", built.name());
    }
}

#[test]
fn sizes_are_formulas() {
    for built in all() {
        let (formula, counted) = (literal_size(&built.exact).expect("a size"), built.network.size());
        // Some weight may be zero by accident.
        assert!(counted.nonzeros <= formula.nonzeros, "{}: {counted:?}, not {formula:?}", built.name());
        let mut same = formula.clone();
        same.nonzeros = counted.nonzeros.clone();
        assert_eq!(counted, same, "{}", built.name());
        println!("{}: {} of {} nonzeros", built.name(), counted.nonzeros, formula.nonzeros);
    }
}

#[test]
fn the_same_request_gives_the_same_network() {
    for (a, b) in all().iter().zip(&all()) {
        assert_eq!(a.network, b.network, "{}", a.name());
        assert_eq!(a.lowering.losses, b.lowering.losses, "{}", a.name());
    }
}

#[test]
fn what_does_not_fit_is_declined_and_what_would_is_named() {
    let refusals: Vec<String> = [
        ((2, 1, 17), true, Precision::F32),
        ((4, 1, 5), true, Precision::F32),
        ((2, 2, 100), false, Precision::F32),
        ((2, 1, 500), false, Precision::F64),
        ((8, 2, 3), true, Precision::F64),
        ((3, 1, 70), true, Precision::F64),
    ]
    .into_iter()
    .map(|(triple, positional, precision)| {
        let options = Options { positional, ..Options::default() };
        let refusal = build("max(x)", triple, &options, precision).map(|_| ()).expect_err("too large");
        format!("> {triple:?}, Theorem {}, {precision}\nerror: {refusal}\n", if positional { 3 } else { 2 })
    })
    .collect();
    insta::assert_snapshot!(refusals.join("\n"));
}
