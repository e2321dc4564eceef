//! Circuits do what is certified of them: every program of the catalogue, exhaustively on integers, at every length that is claimed, in any
//! order of summation, and random programs of every construct.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::support::circuits::{DECLINED, Found, Subject, programs, reason};
use super::support::expressions::random_program;
use super::support::shuffled::{self, Shuffle};
use formwright::bound::ascent::starts;
use formwright::construct::circuit::{Compiled, Trade};
use formwright::error::ErrorKind;
use formwright::eval::float::Engine;
use formwright::exact::{Int, Rat};
use formwright::network::Precision;
use formwright::target::Source;
use rayon::prelude::*;

/// The tolerance of all circuits of the catalogue.
fn hundredth() -> Rat {
    Rat::new(1, 100)
}

fn compiled(subject: &Subject, precision: Precision) -> Compiled {
    let (name, tokens) = (&subject.source.name, subject.tokens);
    subject
        .compile(&hundredth(), precision, Trade::Width)
        .unwrap_or_else(|error| panic!("{name}, {tokens} tokens, {precision}: {error}"))
}

/// Every program of the catalogue for eight tokens in single precision.
static CATALOGUE: LazyLock<Vec<(Subject, Compiled)>> = LazyLock::new(|| {
    let names: Vec<&str> = programs().collect();
    let made = |name: &&str| {
        let subject = Subject::of(name, 8);
        let compiled = compiled(&subject, Precision::F32);
        (subject, compiled)
    };
    names.par_iter().map(made).collect()
});

/// The error that was found is at most the certified one, and that at most the tolerance.
fn holds(subject: &Subject, compiled: &Compiled, found: &Found) {
    let (name, tokens, bound) = (&subject.source.name, subject.tokens, compiled.budget.bound);
    assert!(compiled.budget.meets(&hundredth()), "{name}, {tokens} tokens: {bound:e} is certified");
    assert!(found.error <= bound, "{name}, {tokens} tokens: {:e} at {:?}, certified {bound:e}", found.error, found.at);
}

#[test]
fn every_program_keeps_what_is_certified() {
    every_program_at(5_000);
}

#[test]
#[ignore = "twenty times as many points: minutes"]
fn every_program_keeps_what_is_certified_at_many_points() {
    every_program_at(100_000);
}

fn every_program_at(points: usize) {
    CATALOGUE.par_iter().for_each(|(subject, in_single)| {
        let (name, in_double) = (&subject.source.name, compiled(subject, Precision::F64));
        let deep =
            subject.compile_deep(&hundredth()).map(|deep| deep.unwrap_or_else(|error| panic!("{name}: {error}")));
        for compiled in [in_single, &in_double].into_iter().chain(&deep) {
            let found = subject.search(compiled, points);
            let (network, bound) = (&compiled.network, compiled.budget.bound);
            let shape = format!("{}, {} blocks", network.precision, network.size().blocks);
            println!("{name}, {shape}: {:.3e} of {bound:.3e} certified, {} points", found.error, found.points);
            holds(subject, compiled, &found);
        }
    });
}

/// Teeth empty the registers that they read: by units of their own they would take 711 and 276 parameters.
#[test]
fn gates_empty_the_registers_that_they_read() {
    for (text, eps, most) in [("z-score", hundredth(), 515), ("x * mean(x)", Rat::new(1, 1000), 192)] {
        let subject = Subject::of(text, 16);
        let compiled = subject.compile(&eps, Precision::F32, Trade::Depth).expect(text);
        let (parameters, bound) = (compiled.network.size().parameters, compiled.budget.bound);
        assert!(parameters <= Int::from(most), "{text}: {parameters}");
        let found = subject.search(&compiled, 4_000);
        assert!(found.error <= bound && compiled.budget.meets(&eps), "{text}: {:e}, certified {bound:e}", found.error);
    }
}

#[test]
fn what_compares_real_numbers_is_declined_with_a_way_out() {
    for name in DECLINED {
        let error = Subject::of(name, 8).compile(&hundredth(), Precision::F32, Trade::Width).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Declined, "{name}: {error}");
        let labels: Vec<&str> = error.notes().iter().map(|(label, _)| *label).collect();
        assert!(labels.contains(&"at") && labels.contains(&"try"), "{name}: {error}");
    }
}

/// Inputs of an exhaustive run, at most.
const EXHAUSTIVE: usize = 1 << 16;

#[test]
fn on_integers_every_answer_is_right() {
    let on_integers: Vec<(&str, i64)> =
        programs().filter_map(|name| Subject::of(name, 2).integers().map(|(from, to)| (name, to - from))).collect();
    assert_eq!(on_integers.len(), 12);
    on_integers.par_iter().for_each(|(name, values)| {
        let values = usize::try_from(*values).expect("some");
        let tokens = (1..=16).take_while(|n| values.pow(*n) <= EXHAUSTIVE).last().expect("a length") as usize;
        let subject = Subject::of(name, tokens);
        let compiled = compiled(&subject, Precision::F32);
        let found = subject.exhaust(&compiled);
        println!(
            "{name}, {tokens} tokens: {} inputs, {:.3e} of {:.3e}",
            found.points, found.error, compiled.budget.bound
        );
        holds(&subject, &compiled, &found);
        // Within less than 1/2 of an integer: it is the nearest one.
        assert!(found.error < 0.5, "{name}");
        let fractions = ["pair-balance", "fraction-of-ones"].contains(name);
        assert_eq!(compiled.margin.is_some(), !fractions, "{name}");
        assert!(compiled.margin.is_none_or(|margin| margin <= 1.0 - found.error && margin > 0.5), "{name}");
    });
}

/// The bound is claimed for a range of lengths: the same weights, at the ends of the range and between.
#[test]
fn the_bound_holds_at_every_length_that_is_claimed() {
    at_every_length(1);
}

#[test]
#[ignore = "eight times as many points: a minute"]
fn the_bound_holds_at_every_length_that_is_claimed_at_many_points() {
    at_every_length(8);
}

fn at_every_length(more: usize) {
    let mut several = 0;
    for (subject, compiled) in &*CATALOGUE {
        let (name, (least, most)) = (&subject.source.name, compiled.lengths);
        assert!(least <= 8 && 8 <= most && compiled.network.lengths == compiled.lengths, "{name}: {least} to {most}");
        several += usize::from(least < most);
        for (tokens, points) in [(2, 1_000), (5, 1_000), (64, 300), (512, 64), (most.min(2048), 8)] {
            if least <= tokens && tokens <= most && least < most {
                let subject = subject.with_tokens(tokens);
                holds(&subject, compiled, &subject.search(compiled, more * points));
            }
        }
    }
    assert!(several >= 14, "only {several} programs are for several lengths");
}

/// The certificate is about every execution that the model allows: sums in an order of their own, fused or not.
#[test]
fn the_bound_holds_in_any_order_of_summation() {
    CATALOGUE.par_iter().for_each(|(subject, compiled)| {
        let name = &subject.source.name;
        let engine = Engine::new(&compiled.network).expect("an engine");
        let points = starts(&subject.target, &subject.grid(), 400);
        let outputs = engine.run(&points).expect("outputs");
        // Where rounding may decide: the points at which the engine is furthest off.
        let mut worst: Vec<(f64, &Vec<Vec<f64>>)> =
            points.iter().zip(&outputs).map(|(x, y)| (subject.error(x, y, f64::INFINITY), x)).collect();
        worst.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (k, (_, x)) in worst.iter().take(40).enumerate() {
            for seed in 1..6 {
                let mut shuffle = Shuffle::new(u64::try_from(k).expect("small") * 8 + seed);
                let (_, y) = shuffled::trace(&compiled.network, x, &mut shuffle).pop().expect("the output");
                let error = subject.error(x, &y, compiled.budget.bound);
                let bound = compiled.budget.bound;
                assert!(error <= bound, "{name}, order {seed}: {error:e} at {x:?}, certified {bound:e}");
            }
        }
    });
}

#[test]
fn random_programs_are_compiled_and_keep_it_or_are_declined_with_a_reason() {
    random_programs(0..200);
}

#[test]
#[ignore = "thousands of programs: minutes"]
fn thousands_of_random_programs_are_compiled_and_keep_it_or_are_declined_with_a_reason() {
    random_programs(200..3_000);
}

fn random_programs(seeds: std::ops::Range<u64>) {
    let outcomes: Vec<Option<String>> = seeds
        .into_par_iter()
        .map(|seed| {
            let program = random_program(seed);
            let source = Source::expression(&program.text, &program.text).expect("a program");
            let subject = Subject::new(source, 2 + usize::try_from(seed % 7).expect("small"), program.dims);
            let (tokens, text) = (subject.tokens, &program.text);
            let deep = if seed % 4 == 3 { subject.compile_deep(&hundredth()) } else { None };
            match deep.unwrap_or_else(|| subject.compile_in_either(&hundredth(), Trade::Width)) {
                Ok(compiled) => {
                    holds(&subject, &compiled, &subject.search(&compiled, 2_000));
                    None
                }
                Err(error) => {
                    assert!(!error.headline().is_empty() && !error.notes().is_empty(), "{text}, {tokens}: {error}");
                    Some(reason(error.headline()))
                }
            }
        })
        .collect();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in outcomes.iter().flatten() {
        *reasons.entry(reason).or_default() += 1;
    }
    let compiled = outcomes.iter().filter(|outcome| outcome.is_none()).count();
    let all = outcomes.len();
    println!("{compiled} of {all} compiled; declined: {reasons:#?}");
    assert!(3 * compiled >= all, "only {compiled} of {all} are compiled");
}
