//! Lemma 9's temperature, measured without rounding: at the derived one softmax loses no more of an id than its share, at half of it more.

use super::support::built::{Built, PRECISIONS, exactly};
use super::support::{Options, Triple, expression};
use formwright::construct::yun;
use formwright::construct::yun::lower::hardmax_to_softmax::{drift, share};
use formwright::eval::reference::Reference;
use formwright::eval::{exact, indexed};
use formwright::exact::Rat;
use formwright::lattice::has_distinct_columns;
use formwright::lower::{Format, Temperature};
use formwright::network::{Layer, Precision, dot};
use rayon::prelude::*;

/// How far ids are from the exact network's after `global`, over all lattice points with distinct columns: between these two.
fn deviation(built: &Built) -> (Rat, Rat) {
    let reference = Reference::new(&built.network).expect("a reference");
    let served = |point: &Vec<Vec<u64>>| built.lowering.options.positional || has_distinct_columns(point);
    let points: Vec<_> = built.grid.all_points().filter(served).collect();
    let largest = |(a, b): (Rat, Rat), (c, d): (Rat, Rat)| (a.max(c), b.max(d));
    let at = |point: &Vec<Vec<u64>>| {
        let x = exactly(&built.centre(point));
        let expected = indexed::trace(&built.exact, &built.grid.centre(point)).expect("a trace");
        let found = reference.trace(&x).expect("a trace");
        let state = |name: &str| {
            let (_, exact) = expected.iter().find(|(stage, _)| *stage == name).expect("the stage");
            let (_, enclosed) = found.iter().find(|(stage, _)| stage == name).expect("the stage");
            exact.iter().zip(enclosed)
        };
        for (exact, enclosed) in state("quantise").flat_map(|(exact, enclosed)| exact.iter().zip(enclosed)) {
            assert!(enclosed.lo() == exact && enclosed.hi() == exact, "the quantiser is exact at {point:?}");
        }
        let mut most = (Rat::ZERO, Rat::ZERO);
        for (exact, enclosed) in state("global") {
            // Attention writes to the first row only, so this is what the id is off by.
            assert!(exact[1..].iter().zip(&enclosed[1..]).all(|(exact, found)| found.contains(exact)));
            let ends = [&exact[0] - enclosed[0].lo(), enclosed[0].hi() - &exact[0]];
            let farthest = ends[0].abs().max(ends[1].abs());
            let nearest = (&farthest - enclosed[0].width()).max(Rat::ZERO);
            most = largest(most, (nearest, farthest));
        }
        most
    };
    points.par_iter().map(at).reduce(|| (Rat::ZERO, Rat::ZERO), largest)
}

/// A network and the same one at half the temperature.
struct Pair {
    name: String,
    share: f64,
    drift: f64,
    derived: Rat,
    half: Rat,
}

impl Pair {
    fn new(triple: Triple, positional: bool, precision: Precision) -> Self {
        let options = Options { positional, ..Options::default() };
        let at = |temperature: Temperature| {
            let format = Format { temperature, ..Format::literal(precision) };
            Built::new(&expression("max(x)"), triple, &options, format).expect("it fits")
        };
        let derived = at(Temperature::Derived);
        let exponent = derived.lowering.temperature;
        let map = yun::context_map(&derived.grid, &options);
        let pair = Self {
            name: format!("{triple:?}, Theorem {}, {precision}, 2^{exponent}", if positional { 3 } else { 2 }),
            share: share(&map, precision),
            drift: drift(&map, exponent),
            derived: deviation(&derived).1,
            half: deviation(&at(Temperature::Exponent(exponent - 1))).0,
        };
        let (derived, half) = (pair.derived.to_f64(), pair.half.to_f64());
        println!("{}: {derived:.2e} ≤ {:.2e} ≤ {:.2e}; at half {half:.2e}", pair.name, pair.drift, pair.share);
        assert!(pair.derived <= exactly_one(pair.drift), "{}: {derived} is more than the drift", pair.name);
        assert!(pair.drift <= pair.share, "{}", pair.name);
        pair
    }

    fn half_loses_more_than_the_share(&self) -> bool {
        self.half > exactly_one(self.share)
    }
}

fn exactly_one(x: f64) -> Rat {
    Rat::from_f64(x).expect("finite")
}

#[test]
fn the_derived_temperature_is_enough_and_half_of_it_is_not() {
    for triple in [(2, 1, 4), (2, 1, 7), (3, 1, 3), (3, 1, 4), (2, 2, 2)] {
        for positional in [false, true] {
            for precision in PRECISIONS {
                let pair = Pair::new(triple, positional, precision);
                assert!(pair.half_loses_more_than_the_share(), "{}: half of it would do", pair.name);
            }
        }
    }
}

/// The largest weight, as a float of the format, that a softmax gives to a key that does not win, over all layers and lattice points.
#[expect(clippy::cast_possible_truncation, reason = "rounding to the format is what is asked for")]
fn largest_losing_weight(built: &Built) -> f64 {
    let lambda = Rat::from(2).pow(built.lowering.temperature as usize);
    let positional = built.lowering.options.positional;
    let mut largest: f64 = 0.0;
    for point in built.grid.all_points().filter(|point| positional || has_distinct_columns(point)) {
        let mut state = built.exact.embed(&built.grid.centre(&point));
        for (_, layer) in built.exact.layers() {
            let layer = layer.expect("a layer");
            if let Layer::Attention(attention) = &layer {
                for head in &attention.heads {
                    let read = |rows: &[Vec<Rat>]| -> Vec<Rat> { state.iter().map(|z| dot(&rows[0], z)).collect() };
                    let (queries, keys) = (read(&head.q), read(&head.k));
                    for query in queries.iter().map(|query| (query + &head.q_bias[0]) * &lambda) {
                        let scores: Vec<Rat> = keys.iter().map(|key| key * &query).collect();
                        let most = scores.iter().max().expect("keys").clone();
                        for gap in scores.iter().filter(|score| **score != most).map(|score| (score - &most).to_f64()) {
                            let weight = match built.network.precision {
                                Precision::F32 => f64::from(core_math::expf(gap as f32)),
                                Precision::F64 => core_math::exp(gap),
                            };
                            largest = largest.max(weight);
                        }
                    }
                }
            }
            exact::apply(&layer, &mut state);
        }
    }
    largest
}

#[test]
fn a_saturated_softmax_is_hardmax_bit_by_bit_and_a_derived_one_is_not() {
    for (triple, positional) in [((2, 1, 4), false), ((2, 1, 4), true), ((3, 1, 3), false), ((2, 2, 2), false)] {
        for precision in PRECISIONS {
            let options = Options { positional, ..Options::default() };
            let at = |temperature: Temperature| {
                let format = Format { temperature, ..Format::literal(precision) };
                Built::new(&expression("max(x)"), triple, &options, format).expect("it fits")
            };
            assert!(largest_losing_weight(&at(Temperature::Saturate)) <= 0.0, "{triple:?}, {precision}");
            assert!(largest_losing_weight(&at(Temperature::Derived)) > 0.0, "{triple:?}, {precision}");
        }
    }
}
