//! The ends of formats: boxes far away, huge values, sums that a block cannot hold. Anything not proved is declined,
//! not claimed.

use super::support::shuffled::{self, Shuffle};
use super::support::{expression, only};
use formwright::compile::{Arithmetic, Model, Request, Tolerance, compile};
use formwright::construct::sumcode::{Options as SumCode, SUM_CODE};
use formwright::construct::sumformer::discrete::SUMFORMER_DISCRETE;
use formwright::construct::yun::Options;
use formwright::construct::yun::family::Row;
use formwright::error::{Error, ErrorKind};
use formwright::eval::float::Engine;
use formwright::eval::{exact, indexed};
use formwright::exact::Rat;
use formwright::lower::{Format, Hidden, Temperature};
use formwright::network::{Precision, Realisation};
use formwright::plan::plan;

fn request(text: &str, resolution: u64, precision: Precision, hidden: Hidden, options: Options) -> Request {
    Request {
        source: expression(text),
        tokens: Some(2),
        dims: Some(1),
        resolution: Some(resolution),
        constructions: only(options),
        everywhere: false,
        attention: Realisation::SOFTMAX,
        assume_equivariant: false,
        tolerance: Tolerance { eps: None, norm: Some("l1".parse().expect("a norm")), lipschitz: None },
        arithmetic: Arithmetic::Float(Format { precision, temperature: Temperature::Derived, hidden }),
    }
}

fn build(text: &str, resolution: u64, precision: Precision, everywhere: bool) -> Result<Model, Error> {
    let options = Options { everywhere, ..Options::default() };
    compile(&request(text, resolution, precision, Hidden::Literal, options))
}

/// At every centre with distinct columns, in several orders of summation: within what is stated.
fn holds_on_the_grid(model: &Model) {
    let lowered = model.lattice().and_then(|lattice| lattice.lowered.as_ref()).expect("floats");
    for point in model.grid.all_points().filter(|point| model.is_positional() || point[0] != point[1]) {
        let centre = model.grid.centre(&point);
        let x: Vec<Vec<f64>> = centre.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
        let expected = model.expected(&centre).expect("a value");
        for seed in 0..4 {
            let trace = shuffled::trace(&lowered.network, &x, &mut Shuffle::new(seed * 12_345));
            let (_, y) = trace.last().expect("an output");
            for (y, f) in y.iter().flatten().zip(expected.iter().flatten()) {
                let off = (y - f.to_f64()).abs();
                assert!(off <= lowered.lowering.losses.rounding, "{point:?}, seed {seed}: {y}, not {f}");
            }
        }
    }
}

#[test]
fn boxes_that_a_format_cannot_resolve_are_declined_and_the_others_keep_their_claim() {
    use Precision::{F32, F64};
    for (text, resolution, precision) in [
        ("(x - mean(x)) on [1500000, 1500001]", 6, F32),
        ("(x - mean(x)) on [3000000, 3000001]", 4, F32),
        ("(x - mean(x)) on [100000, 100000001/1000]", 2, F32),
        ("x on [1000000000000000, 1000000000000000001/1000]", 4, F64),
        ("x on [0, 3e38]", 6, F32),
        ("(x - mean(x)) on [0, 1e38]", 5, F32),
    ] {
        for everywhere in [false, true] {
            let error = build(text, resolution, precision, everywhere).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Declined, "{text}: {error}");
        }
    }
    for (text, resolution, precision) in [
        ("(x - mean(x)) on [1000, 1001]", 6, F32),
        ("(x - mean(x)) on [1500000, 1500001]", 6, F64),
        ("(x - mean(x)) on [-1/1000, 1/1000]", 5, F32),
        ("(x - mean(x)) on [0, 1e20]", 5, F32),
    ] {
        holds_on_the_grid(&build(text, resolution, precision, false).expect(text));
    }
}

#[test]
fn values_beyond_the_format_are_declined_and_large_ones_keep_their_claim() {
    use Precision::{F32, F64};
    for (text, precision) in
        [("x * 7e37", F32), ("x * 1e37", F32), ("x * 2e37", F32), ("x * 1e299 * 1e8", F64), ("x * 1e300", F64)]
    {
        for everywhere in [false, true] {
            let error = build(text, 6, precision, everywhere).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Declined, "{text}: {error}");
        }
    }
    for (text, precision) in [("x * 1e15", F32), ("x / 10^20", F32), ("x * 1e250", F64)] {
        holds_on_the_grid(&build(text, 6, precision, false).expect(text));
    }
}

#[test]
fn outputs_on_the_ramps_are_finite_and_in_range_for_large_values() {
    for (text, precision) in
        [("x * 1e15", Precision::F32), ("x * 1e200", Precision::F64), ("x - mean(x)", Precision::F32)]
    {
        let model = build(text, 6, precision, false).expect(text);
        let lowered = model.lattice().and_then(|lattice| lattice.lowered.as_ref()).expect("floats");
        let ramp = lowered.lowering.step_ramp.to_f64() / 6.0;
        let side = Rat::from(model.grid.resolution());
        let offset = &lowered.lowering.options.tuning.offset;
        let reach = (&lowered.lowering.clip / &side).to_f64() * (1.0 + 1e-6);
        let mut checked = 0;
        for cell in 1..=6 {
            for other in 1..=6 {
                for share in 1..32_u32 {
                    let near = |cell: u32, share: u32| f64::from(cell) / 6.0 - ramp * f64::from(share) / 32.0;
                    let x = vec![vec![near(cell, share)], vec![near(other, 32 - share)]];
                    let trace = shuffled::trace(&lowered.network, &x, &mut Shuffle::new(u64::from(share)));
                    let (_, y) = trace.last().expect("an output");
                    for y in y.iter().flatten() {
                        assert!((y - offset.to_f64()).abs() <= reach, "{text} at {x:?}: {y}");
                        checked += 1;
                    }
                }
            }
        }
        assert_eq!(checked, 2 * 36 * 31);
    }
}

#[test]
fn packed_blocks_whose_sums_are_coarser_than_ids_are_declined() {
    let (mut built, mut declined) = (0, 0);
    for text in ["mean(x)", "x * max(x) - 1/3"] {
        for resolution in 2..=7 {
            for hidden in [4, 8, 16, 64].map(Hidden::Units).into_iter().chain([Hidden::All]) {
                for positional in [false, true] {
                    let options = Options { positional, ..Options::default() };
                    match compile(&request(text, resolution, Precision::F32, hidden, options)) {
                        Ok(model) => {
                            built += 1;
                            holds_on_the_grid(&model);
                        }
                        Err(error) => {
                            declined += 1;
                            assert_eq!(error.kind(), ErrorKind::Declined, "{error}");
                        }
                    }
                }
            }
        }
    }
    assert!(built > 20 && declined > 20, "{built} built, {declined} declined");
}

#[test]
fn a_plan_does_not_offer_what_build_declines() {
    let options = Options::default();
    let request = request("x", 12, Precision::F32, Hidden::Literal, options);
    assert!(compile(&request).is_err());
    let plan = plan(&request).expect("a plan");
    assert!(
        plan.chosen().is_none_or(|chosen| chosen.way.of::<Row>().is_some_and(|row| row.options.positional)),
        "{:?}",
        plan.chosen()
    );
}

/// The claim of all of space, as it was broken: the first token's coordinate is a finite number of the format.
#[test]
fn a_claim_about_every_finite_float_holds_at_the_largest() {
    for (precision, far) in [(Precision::F32, 1e38), (Precision::F32, f64::from(f32::MAX)), (Precision::F64, f64::MAX)]
    {
        let model = build("x - mean(x)", 4, precision, true).expect("it fits");
        let network = model.float().expect("floats");
        let engine = Engine::new(network).expect("an engine");
        for far in [far, -far] {
            let y = engine.run(&[vec![vec![far], vec![0.3]]]).expect("a run");
            assert_eq!(y, [[[0.0], [0.0]]], "{precision}: {far:e}");
        }
        let domain = format!("all finite {precision} inputs, the target being 0 outside of [0, 1]^(1×2)");
        assert_eq!(model.domain_name(), domain);
    }
}

/// Exact networks are 0 outside of the box by any rational distance, however small or large.
#[test]
fn exact_networks_are_zero_outside_by_any_distance() {
    let tiny = Rat::ONE / Rat::from(10).pow(60);
    let huge = Rat::from(10).pow(400);
    let inside = [Rat::ZERO, Rat::new(1, 3), Rat::ONE - tiny.clone()];
    let outside = [-tiny.clone(), Rat::ONE, Rat::ONE + tiny, huge.clone(), -huge, Rat::new(-1, 2)];
    for constructions in
        [only(Options::default()), only(SumCode::of(&SUM_CODE)), only(SumCode::of(&SUMFORMER_DISCRETE))]
    {
        let construction = constructions[0].name();
        let request = request("x * mean(x) + 1", 3, Precision::F32, Hidden::Literal, Options::default());
        let model = compile(&Request { constructions, arithmetic: Arithmetic::Exact, ..request });
        let model = model.expect("an exact network");
        let network = model.exact().expect("an exact network");
        let mut zeros = 0;
        for out in &outside {
            for other in inside.iter().chain(&outside) {
                for x in [[out, other], [other, out]] {
                    let x = x.map(|x| vec![x.clone()]).to_vec();
                    for y in [indexed::run(network, &x), exact::run(network, &x)] {
                        let y = y.expect("an output");
                        assert!(y.iter().flatten().all(Rat::is_zero), "{construction}: {x:?} ↦ {y:?}");
                        zeros += 1;
                    }
                }
            }
        }
        assert_eq!(zeros, 6 * 9 * 4);
    }
}

#[test]
fn a_grid_without_end_is_declined_at_once() {
    let text = "x on integers 0..100000000000";
    let source = expression(text);
    let request =
        Request { source, resolution: None, ..request(text, 2, Precision::F32, Hidden::Literal, Options::default()) };
    let error = compile(&request).expect_err("too fine");
    assert!(!error.to_string().contains("resolution"), "an integer domain fixes its grid: {error}");
}
