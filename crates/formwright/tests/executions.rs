//! The enclosure of every execution (`eval/enclosure.rs`) against executions: our engine, plain loops, and sums in
//! orders of their own, fused or not, with weights that are quotients or products with a reciprocal. And that it is not
//! everything: at points of a lattice it is one number, elsewhere no wider than what is stated of rounding.

use super::support::circuits::{Subject, programs};
use super::support::floats::{self, Execution, Layers, Plain, Shape, State, by_engine, contained, width};
use super::support::shuffled::{self, Shuffle};
use super::support::{GENERIC, GENERIC_POSITIONAL, Options, Random, expression, only, positional, request};
use formwright::bound::ascent::starts;
use formwright::compile::{Arithmetic, Model, Request, compile};
use formwright::construct::circuit::{Compiled, Trade};
use formwright::construct::sumcode::{self, SUM_CODE, Scheme};
use formwright::construct::sumformer::discrete::SUMFORMER_DISCRETE;
use formwright::eval::enclosure::{Enclosure, Executions};
use formwright::exact::Rat;
use formwright::lattice::has_distinct_columns;
use formwright::lower::{Format, Hidden, Temperature};
use formwright::network::{FloatNetwork, Precision, Realisation};
use formwright::pattern::Connections;
use rayon::prelude::*;

const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];

fn enclosed(network: &FloatNetwork, batch: &[State]) -> Vec<Enclosure> {
    Executions::new(network).and_then(|all| all.enclose_batch(batch)).expect("enclosures")
}

/// Sums in some order.
fn in_order(network: &FloatNetwork, x: &State, seed: u64) -> Execution {
    let mut trace = shuffled::trace(network, x, &mut Shuffle::new(seed));
    let (_, output) = trace.pop().expect("the output");
    Execution { states: trace.into_iter().map(|(_, state)| state).collect(), output }
}

/// The engine and seven orders of summation, at every point in the enclosure; the widest interval of an output.
fn check_orders(name: &str, network: &FloatNetwork, batch: &[State]) -> f64 {
    let all = enclosed(network, batch);
    let ours = by_engine(network, batch);
    (0..batch.len()).into_par_iter().for_each(|i| {
        let seeds = (1..7).map(|seed| seed + 8 * i as u64).chain([0]);
        for execution in seeds.map(|seed| in_order(network, &batch[i], seed)).chain([ours[i].clone()]) {
            contained(network, &all[i], &execution)
                .unwrap_or_else(|place| panic!("{name}: {place}, of {:?}", batch[i]));
        }
    });
    all.iter().map(|all| width(&all.output)).fold(0.0, f64::max)
}

/// The engine and plain loops, at every point in the enclosure; the widest interval of an output.
fn check_plain(name: &str, network: &FloatNetwork, batch: &[State]) -> f64 {
    let all = enclosed(network, batch);
    for ((x, all), ours) in batch.iter().zip(&all).zip(by_engine(network, batch)) {
        let plain = Plain::both(network.precision).map(|plain| plain.execute(network, x));
        for execution in [ours].into_iter().chain(plain) {
            contained(network, all, &execution).unwrap_or_else(|place| panic!("{name}: {place}, of {x:?}"));
        }
    }
    all.iter().map(|all| width(&all.output)).fold(0.0, f64::max)
}

/// Twice what is stated of rounding: no two executions are further apart.
fn twice_stated(compiled: &Compiled) -> f64 {
    2.0 * compiled.budget.terms.iter().filter(|term| term.name == "rounding").map(|term| term.bound).sum::<f64>()
}

#[test]
fn every_order_of_every_program_lies_in_its_enclosure() {
    for name in programs() {
        for (precision, tokens) in [(Precision::F32, 8), (Precision::F64, 5)] {
            let subject = Subject::of(name, tokens);
            let compiled = subject.compile(&Rat::new(1, 100), precision, Trade::Width).expect("a circuit");
            let batch = starts(&subject.target, &subject.grid(), 40);
            let (output, stated) = (check_orders(name, &compiled.network, &batch), twice_stated(&compiled));
            println!("{name} {precision}: outputs in {output:.1e}, twice the stated rounding {stated:.1e}");
            // Intervals forget that a number is in its own comparison: rounds of comparators widen them by half.
            let stated = if name == "sort" { 1.5 * stated } else { stated };
            assert!(output <= stated, "{name} {precision}: {output:e} wide, {stated:e} stated");
        }
    }
}

#[test]
fn every_kind_of_attention_lies_in_its_enclosure() {
    for kind in ["average", "linformer:2", "performer:4"] {
        for precision in BOTH {
            let attention: Realisation = kind.parse().expect("a kind");
            let subject = Subject::of("z-score", 6);
            let compiled =
                subject.compile_with(&Rat::new(1, 10), precision, Trade::Width, attention).expect("a circuit");
            let batch = starts(&subject.target, &subject.grid(), 200);
            let (output, stated) = (check_plain(kind, &compiled.network, &batch), twice_stated(&compiled));
            println!("z-score, {kind} {precision}: outputs in {output:.1e}, twice the stated rounding {stated:.1e}");
            assert!(output <= stated, "{kind} {precision}: {output:e} wide, {stated:e} stated");
        }
    }
}

/// A cycle of two connections in three blocks. What is enclosed changes with it.
#[test]
fn connections_are_what_is_seen() {
    for precision in BOTH {
        let random = &mut Random::new(11);
        let shape = Shape { precision, tokens: 5, dims: 2, output_dims: 2, width: 3, positions: true };
        let layers = Layers { blocks: 3, attention: Some((0, 2, 2, 2)), feed_forward: Some((0, 4)) };
        let dense = floats::network(random, shape, 1, &[layers]);
        let mut sparse = dense.clone();
        let ring = |step: usize| Connections::new((0..5).map(|i| vec![i, (i + step) % 5]).collect()).expect("keys");
        sparse.runs[0].attention.as_mut().expect("attention").connections = vec![ring(1), ring(2)];
        let mut token = || (0..2).map(|_| floats::entry(random, precision, 1.0)).collect();
        let batch: Vec<State> = (0..20).map(|_| (0..5).map(|_| token()).collect()).collect();
        let output = check_plain("connections", &sparse, &batch);
        let unit = 0.5_f64.powi(i32::try_from(precision.digits()).expect("few digits"));
        assert!(output < 1e4 * unit, "{precision}: {output:e} wide");
        let places = enclosed(&sparse, &batch).into_iter().zip(by_engine(&dense, &batch));
        assert!(places.into_iter().all(|(all, other)| contained(&sparse, &all, &other).is_err()));
    }
}

fn in_floats(precision: Precision, asked: Request) -> Model {
    let format = Format { precision, temperature: Temperature::Derived, hidden: Hidden::Literal };
    compile(&Request { arithmetic: Arithmetic::Float(format), ..asked }).expect("a model")
}

/// Every lattice point that is served: all executions give the same states up to the values.
#[test]
fn on_a_lattice_all_executions_are_one() {
    for precision in BOTH {
        let fine = if precision == Precision::F64 { 8 } else { 4 };
        let of = |text: &str, triple, options| request(expression(text), triple, options);
        let coded = |family: &'static Scheme| Request {
            constructions: only(sumcode::Options::of(family)),
            ..of("x * mean(x)", (2, 1, fine), Options::default())
        };
        let asked = [
            of(GENERIC, (2, 1, fine), Options::default()),
            of("x * mean(x)", (3, 1, 4), Options::default()),
            of("x - mean(x)", (2, 2, 2), Options::default()),
            of(GENERIC_POSITIONAL, (2, 1, fine), positional()),
            coded(&SUM_CODE),
            coded(&SUMFORMER_DISCRETE),
        ];
        for asked in asked {
            let model = in_floats(precision, asked);
            let all = model.lattice().is_none_or(|lattice| lattice.options.positional);
            let served = model.grid.all_points().filter(|point| all || has_distinct_columns(point));
            let floats =
                |x: Vec<Vec<Rat>>| -> State { x.iter().map(|t| t.iter().map(Rat::to_f64).collect()).collect() };
            let batch: Vec<State> = served.map(|point| floats(model.grid.centre(&point))).collect();
            let network = model.float().expect("a float network");
            let name = format!("{} {precision}", model.construction());
            for all in enclosed(network, &batch) {
                assert!(all.states[..network.stages.len()].iter().all(|state| width(state) == 0.0), "{name}: {all:?}");
            }
            let output = check_orders(&name, network, &batch);
            println!("{name}: outputs in {output:.1e}");
        }
    }
}
