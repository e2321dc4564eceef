//! Sparse attention in floats: exact on the lattice in any order, within what is stated, at a temperature that is enough and not twice what is; and the hub's sums.

use super::support::built::{Built, PRECISIONS, exactly};
use super::support::patterns::{cases, named, options};
use super::support::shuffled::{self, Shuffle};
use super::support::{GENERIC_POSITIONAL, Random, expression, grid, request};
use formwright::bound::measured::measure;
use formwright::compile::{Arithmetic, Asked, Model, Request, Tolerance, compile};
use formwright::construct::yun;
use formwright::construct::yun::lower::hardmax_to_softmax::{drift, share};
use formwright::construct::yun::lower::literal_size;
use formwright::eval::float::Engine;
use formwright::eval::indexed;
use formwright::eval::reference::Reference;
use formwright::exact::Rat;
use formwright::lower::{Format, Temperature};
use formwright::network::{FloatNetwork, Precision, Sequence};
use formwright::pattern::Connections;
use formwright::plan::compile_first;
use formwright::target::Source;
use rayon::prelude::*;

/// All cases in both formats, where their ids fit.
fn all() -> Vec<(String, Built)> {
    let build = |(pattern, triple): &(_, _)| {
        let options = options(Clone::clone(pattern));
        let name =
            |precision| format!("{} {triple:?} {precision}", options.sparse.as_ref().expect("sparse").pattern().name());
        let built = PRECISIONS.map(|precision| {
            let built = Built::new(&expression(GENERIC_POSITIONAL), *triple, &options, Format::literal(precision));
            built.ok().map(|built| (name(precision), built))
        });
        built.into_iter().flatten().collect::<Vec<_>>()
    };
    let built: Vec<(String, Built)> = cases().par_iter().flat_map(build).collect();
    let single = built.iter().filter(|(_, built)| built.network.precision == Precision::F32).count();
    println!("{} networks, {single} of them in single precision", built.len());
    assert!(built.len() - single >= 15 && single >= 4, "{} {single}", built.len());
    built
}

#[test]
fn floats_are_exact_on_the_lattice_in_any_order() {
    all().par_iter().for_each(|(name, built)| {
        let Built { grid, lowering, exact, network, .. } = built;
        let stated = lowering.losses.rounding;
        let engine = Engine::new(network).expect("an engine");
        for (index, point) in grid.all_points().enumerate() {
            let (centre, x) = (grid.centre(&point), built.centre(&point));
            let expected = indexed::trace(exact, &centre).expect("a trace");
            let output = indexed::run(exact, &centre).expect("an output");
            let near = |y: &[Vec<f64>]| {
                output.iter().flatten().zip(y.iter().flatten()).all(|(a, b)| (a.to_f64() - b).abs() <= stated)
            };
            for seed in [0, index as u64 * 2 + 1] {
                let found = shuffled::trace(network, &x, &mut Shuffle::new(seed));
                for (stage, state) in
                    expected.iter().filter(|(stage, _)| ["quantise", "shifts", "global"].contains(stage))
                {
                    let (_, floats) = found.iter().find(|(other, _)| other == stage).expect("the stage");
                    assert_eq!(&exactly(floats), state, "{name}: {stage} at {point:?}, seed {seed}");
                }
                assert!(near(&found.last().expect("an output").1), "{name}: {point:?}, seed {seed}");
            }
            assert!(near(&engine.run(&[x]).expect("a run")[0]), "{name}: {point:?}");
        }
    });
}

/// The shipped network is `T^{2,1,4}`, of the size of the formula, with the connections of the pattern in every
/// attention layer.
#[test]
fn sizes_and_connections_are_those_of_the_formulas() {
    for (name, built) in all() {
        let Built { network, exact, lowering, .. } = &built;
        assert_eq!(network.size(), literal_size(exact).expect("a size"), "{name}");
        let pattern = lowering.options.sparse.as_ref().expect("sparse").pattern();
        let mut layer = 0;
        for run in &network.runs {
            for block in (0..run.blocks).filter(|_| run.attention.is_some()) {
                let attention = run.attention.as_ref().expect("attention");
                assert_eq!((attention.heads, attention.head_size, attention.value_size), (2, 1, 1), "{name}");
                assert!(attention.connections.len() <= pattern.period(), "{name}: a cycle is kept as one");
                assert_eq!(attention.connections_of(block), Some(pattern.layer(layer)), "{name}: layer {layer}");
                layer += 1;
            }
        }
        assert_eq!(Some(layer), exact.size().attention_layers.to_usize(), "{name}");
    }
}

/// How far ids are off after the max shifts, by enclosures of the softmax: between these two.
fn deviation(built: &Built) -> (Rat, Rat) {
    let reference = Reference::new(&built.network).expect("a reference");
    let mut most = (Rat::ZERO, Rat::ZERO);
    for point in built.grid.all_points() {
        let expected = indexed::trace(&built.exact, &built.grid.centre(&point)).expect("a trace");
        let found = reference.trace(&exactly(&built.centre(&point))).expect("a trace");
        let (_, exact) = expected.iter().find(|(stage, _)| *stage == "global").expect("the stage");
        let (_, enclosed) = found.iter().find(|(stage, _)| stage == "global").expect("the stage");
        for (exact, enclosed) in exact.iter().zip(enclosed) {
            let far = (&exact[0] - enclosed[0].lo()).abs().max((enclosed[0].hi() - &exact[0]).abs());
            let near = (&far - enclosed[0].width()).max(Rat::ZERO);
            most = (most.0.max(near), most.1.max(far));
        }
    }
    most
}

#[test]
fn the_derived_temperature_is_enough_and_half_of_it_is_not() {
    let tried = [("star", (5, 1, 2)), ("window:1", (3, 1, 3)), ("strided:2", (4, 1, 2)), ("window:1", (2, 1, 4))];
    for (pattern, triple) in tried {
        let options = options(named(pattern, triple.0));
        let at = |temperature| {
            let format = Format { temperature, ..Format::literal(Precision::F64) };
            Built::new(&expression("max(x)"), triple, &options, format).expect("it fits")
        };
        let derived = at(Temperature::Derived);
        let exponent = derived.lowering.temperature;
        let map = yun::context_map(&derived.grid, &options);
        let (drift, share) = (drift(&map, exponent), share(&map, Precision::F64));
        let (found, half) = (deviation(&derived).1, deviation(&at(Temperature::Exponent(exponent - 1))).0);
        println!(
            "{pattern} {triple:?}, 2^{exponent}: {:.2e} ≤ {drift:.2e} ≤ {share:.2e}; at half {:.2e}",
            found.to_f64(),
            half.to_f64()
        );
        assert!(found <= Rat::from_f64(drift).expect("finite") && drift <= share, "{pattern}");
        assert!(half > Rat::from_f64(share).expect("finite"), "{pattern}: half of it would do");
    }
}

fn certified(model: &Model) -> f64 {
    model.certified().expect("a bound").expect("a norm").budget.bound
}

/// Certified in `L^2` over the box; sampled, the error is below.
#[test]
fn what_is_measured_is_below_what_is_certified() {
    for (pattern, triple) in
        [("star", (5, 1, 2)), ("window:1", (3, 1, 5)), ("strided:2", (4, 1, 3)), ("fixed:2", (4, 1, 3))]
    {
        let sources =
            [expression("x[n-1-i] / 2 + max(x) / 3"), Source::table("random", Random::new(7).table(&grid(triple)))];
        for source in sources {
            let tolerance = Tolerance { norm: Some("l2".parse().expect("a norm")), ..Tolerance::default() };
            let arithmetic = Arithmetic::Float(Format::literal(Precision::F64));
            let model = compile(&Request {
                tolerance,
                arithmetic,
                ..request(source, triple, options(named(pattern, triple.0)))
            });
            let model = model.expect(pattern);
            let engine = Engine::new(model.float().expect("floats")).expect("an engine");
            let norm = model.norm().expect("a norm");
            let measured = measure(
                |batch| model.target.evaluate_batch(batch),
                &model.grid,
                &norm,
                1 << 12,
                |batch| engine.run(batch),
            );
            let measured = measured.expect("a run").expect("an L^p norm");
            let (certified, (_, high)) = (certified(&model), measured.confidence.expect("sampled"));
            println!(
                "{pattern} {triple:?} {}: measured {:.4} up to {high:.4}, certified {certified:.4}",
                model.target.name, measured.value
            );
            assert!(
                measured.value <= high && high <= certified && certified.is_finite(),
                "{pattern}: {certified} {measured:?}"
            );
        }
    }
}

fn asked(text: &str, tokens: usize, more: Asked) -> Model {
    let asked = Asked { tokens: Some(tokens), attention: Some("sparse:star".to_owned()), ..more };
    let request = asked.request(Source::expression("test", text).expect("a target")).expect("a request");
    if request.is_left_to_plan() { compile_first(&request) } else { compile(&request) }.expect(text)
}

/// The connections of every attention layer.
fn connections(network: &FloatNetwork) -> Vec<usize> {
    let attention = network.runs.iter().filter_map(|run| Some((run.blocks, run.attention.as_ref()?)));
    attention
        .flat_map(|(blocks, run)| {
            (0..blocks).map(|block| run.connections_of(block).map_or(usize::MAX, Connections::count))
        })
        .collect()
}

/// Circuits and sums of codes with a hub: two layers of `2n-1` and `n` connections for each of softmax, the same outputs within both bounds.
#[test]
fn a_hub_adds_up_for_circuits_and_sums_of_codes() {
    for (text, eps) in
        [("x - mean(x)", "1/1000"), ("(x - mean(x))^2 + mean(x^2)", "1/100"), ("mean(x) + i / n", "1/1000")]
    {
        for construction in ["circuit", "sum-code"] {
            if construction == "sum-code" && text.contains("i /") {
                continue;
            }
            let tokens = if construction == "circuit" { 9 } else { 3 };
            let more = Asked {
                construction: Some(construction.to_owned()),
                eps: (construction == "circuit").then(|| eps.to_owned()),
                resolution: (construction == "sum-code").then_some(4),
                precision: Some("f64".to_owned()),
                ..Asked::default()
            };
            let model = asked(text, tokens, more.clone());
            let plain =
                Asked { tokens: Some(tokens), ..more }.request(Source::expression("test", text).expect("a target"));
            let plain = compile(&plain.expect("a request")).expect("a model");
            let (sparse, dense) = (model.float().expect("floats"), plain.float().expect("floats"));
            let layers = connections(sparse);
            let dense_layers =
                dense.runs.iter().filter(|run| run.attention.is_some()).map(|run| run.blocks).sum::<usize>();
            assert_eq!(layers.len(), 2 * dense_layers, "{construction} {text}");
            assert!(dense_layers > 0 && layers.chunks(2).all(|pair| pair == [2 * tokens - 1, tokens]), "{layers:?}");
            assert_eq!(model.attention(), "sparse:hub");
            let mut random = Random::new(5);
            let mut input = || -> Vec<Vec<f64>> {
                let x: Sequence = random.sequence(&model.grid, 0, 1);
                x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect()
            };
            let batch: Vec<_> = (0..200).map(|_| input()).collect();
            let run = |network: &FloatNetwork| Engine::new(network).expect("an engine").run(&batch).expect("a run");
            let (found, expected) = (run(sparse), run(dense));
            if construction == "sum-code" {
                assert_eq!(found, expected, "{text}: a sum of codes is exact either way");
                continue;
            }
            let bound = certified(&model);
            let values = model.target.evaluate_batch(&batch).expect("values");
            for (found, value) in found.iter().flatten().flatten().zip(values.iter().flatten()) {
                assert!((found - value).abs() <= bound, "{text}: {found} {value} {bound}");
            }
            assert!(bound <= 2.0 * certified(&plain), "{text}: {bound}");
        }
    }
}
