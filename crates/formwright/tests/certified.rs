//! Float networks by tolerance: measured ≤ certified ≤ ε, for fifteen targets at a quarter of the best constant's error.
//!
//! `cargo test --release -p formwright --lib -- --ignored --nocapture measured::certified` measures with more points and writes the table.

use super::support::certified::{BUILT_IN, Case, EXPRESSIONS, PLANE, Setting, THEOREM2, THEOREM3, cases};
use formwright::bound::measured::{Measured, measure};
use formwright::bound::norm::upward;
use formwright::compile::Model;
use formwright::error::ErrorKind;
use formwright::eval::float::Engine;
use formwright::network::Precision;

/// Points of a measurement: enough for an interval a tenth as wide as the error.
const POINTS: usize = 1 << 11;

fn under(setting: Setting) -> impl Iterator<Item = Case> {
    cases().into_iter().filter(move |case| case.setting == setting)
}

fn measured(model: &Model, case: &Case) -> Measured {
    let engine = Engine::new(model.float().expect("floats")).expect("an engine");
    let run = |batch: &[Vec<Vec<f64>>]| engine.run(batch);
    measure(|batch| model.target.evaluate_batch(batch), &model.grid, &case.norm(), POINTS, run)
        .expect("a run")
        .expect("an L^p norm")
}

fn certified(model: &Model) -> f64 {
    model.certified().expect("a bound").expect("a norm was asked for").budget.bound
}

/// The certified error covers the measured one, with its whole confidence interval, and is not vacuous.
fn covers(model: &Model, case: &Case) {
    let (certified, measured) = (certified(model), measured(model, case));
    let name = case.name();
    let (_, high) = measured.confidence.expect("sampled");
    assert!(measured.value <= high && high <= certified, "{name}: {certified} {measured:?}");
    assert!(certified <= 6.0 * measured.value, "{name}: {certified} says little about {measured:?}");
}

/// `T^{2,1,4}`: two heads of size one, four hidden units, in every block.
fn is_literal(model: &Model, case: &Case) {
    let network = model.float().expect("floats");
    for run in &network.runs {
        if let Some(part) = &run.attention {
            assert_eq!((part.heads, part.head_size, part.value_size), (2, 1, 1), "{}", case.name());
        }
        if let Some(part) = &run.feed_forward {
            assert_eq!(part.hidden, 4, "{}", case.name());
        }
    }
    assert_eq!(network.width(), case.setting.dims, "no coordinate is added to the stream");
}

fn check_double(setting: Setting) {
    for case in under(setting) {
        let eps = case.eps();
        let model = case.compile(Precision::F64, None, Some(eps.clone())).expect("a model");
        let budget = &model.certified().expect("a bound").expect("a norm was asked for").budget;
        assert!(budget.meets(&eps), "{}: {} for {}", case.name(), budget.bound, eps.to_f64());
        covers(&model, &case);
        is_literal(&model, &case);
    }
}

fn check_single(setting: Setting) {
    for case in under(setting) {
        let (resolution, bound) = case.best_single();
        let model = case.compile(Precision::F32, Some(resolution), None).expect("a model");
        assert_eq!(certified(&model).to_bits(), bound.to_bits(), "{}", case.name());
        covers(&model, &case);
        is_literal(&model, &case);
        // Half of that is out of reach, and the refusal names what is not.
        let half = formwright::exact::Rat::from_f64(bound / 2.0);
        let refusal = case.compile(Precision::F32, None, half).expect_err("half of the least bound");
        assert_eq!(refusal.kind(), ErrorKind::Rejected, "{}: {refusal}", case.name());
        let told = ("bound", format!("{} with {resolution} cells a side", upward(bound, 3)));
        assert!(refusal.notes().contains(&told), "{}: {told:?} is not in\n{refusal}", case.name());
    }
}

#[test]
fn the_cases_are_fifteen_targets_and_few_are_elementwise() {
    let of = |setting| under(setting).count();
    assert_eq!(BUILT_IN.len() + EXPRESSIONS.len(), 15);
    assert_eq!((of(THEOREM2), of(THEOREM3[0]), of(THEOREM3[1]), of(PLANE)), (11, 15, 15, 3));
    let elementwise = ["identity", "complement", "square"];
    assert!(BUILT_IN.iter().filter(|name| elementwise.contains(name)).count() <= 3);
}

#[test]
fn theorem2_meets_a_quarter_of_the_best_constant_in_l1() {
    check_double(THEOREM2);
}

#[test]
fn theorem3_meets_a_quarter_of_the_best_constant_in_l2_for_two_tokens() {
    check_double(THEOREM3[0]);
}

#[test]
fn theorem3_meets_a_quarter_of_the_best_constant_in_l2_for_three_tokens() {
    check_double(THEOREM3[1]);
}

#[test]
fn theorem2_meets_half_of_the_best_constant_in_the_plane() {
    check_double(PLANE);
}

#[test]
fn single_precision_keeps_its_own_bound_and_says_how_far_it_reaches() {
    for setting in [THEOREM2, THEOREM3[0], THEOREM3[1], PLANE] {
        check_single(setting);
    }
}
