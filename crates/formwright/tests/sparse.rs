//! Sparse attention (Yun et al. 2020b): the contextual mapping and its invariants on every sequence, both executions, sizes, connections, and the target itself.

use std::collections::BTreeSet;

use super::support::patterns::{cases, named, options};
use super::support::{GENERIC_POSITIONAL, Random, Triple, corners, exact_network, expression, grid, request};
use formwright::compile::{Model, compile};
use formwright::construct::yun::context_map;
use formwright::construct::yun::sparse::Sparse;
use formwright::error::ErrorKind;
use formwright::eval::{exact, indexed};
use formwright::exact::{Int, Rat};
use formwright::network::{Layer, Sequence, dot};
use formwright::pattern::Pattern;
use formwright::target::Source;

fn ids(u: &[Rat], state: &Sequence) -> Vec<Rat> {
    state.iter().map(|token| dot(u, token)).collect()
}

#[test]
fn chains_are_not_always_the_order_of_the_tokens() {
    let turned = cases().into_iter().filter(|(pattern, _)| {
        let sparse = Sparse::new(pattern.clone()).expect("Assumption 1");
        pattern.period() >= 2 && !sparse.order().is_sorted()
    });
    assert!(turned.count() >= 5 && cases().len() >= 15);
}

/// Definition 5.1 for all sequences, F.2's invariants, and both executions: by layers and in closed form.
#[test]
fn every_sequence_has_ids_of_its_own() {
    for (pattern, triple) in cases() {
        let name = format!("{} {triple:?}", pattern.name());
        let grid = grid(triple);
        let options = options(pattern);
        let sparse = options.sparse.clone().expect("sparse");
        let model = compile(&request(expression(GENERIC_POSITIONAL), triple, options.clone())).expect(&name);
        let network = exact_network(&model);
        let map = context_map(&grid, &options);
        let u: Vec<Rat> = grid.radix().iter().map(Rat::from).collect();
        let (n, columns) = (grid.tokens(), grid.columns());
        let largest = Int::from(n - 1) * Int::from(grid.resolution()) * (&columns - Int::ONE);
        let largest = largest.div_rem(&Int::from(grid.resolution() - 1)).0 + &columns - Int::ONE;
        let scale = Int::from(2 * sparse.hops()) * columns.pow(n - 1) * largest;
        let unit = scale.pow(sparse.hops());
        let inputs = corners(&grid);
        let traces = exact::trace_batch(network, &inputs).expect("a run");
        let after = |stage: &str| &traces.iter().find(|(name, _)| *name == stage).expect("a stage").1;
        let mut known = BTreeSet::new();
        for (k, x) in inputs.iter().enumerate() {
            let before = ids(&u, &after("quantise")[k]);
            let shifted = ids(&u, &after("shifts")[k]);
            let mapped = ids(&u, &after("global")[k]);
            // The recurrence along the chain.
            let mut expected = before.clone();
            for pair in sparse.order().windows(2) {
                expected[pair[1]] = &before[pair[1]] + Rat::from(&columns) * (&expected[pair[0]] - &before[pair[1]]);
            }
            assert_eq!(shifted, expected, "{name}: {x:?}");
            let top = shifted.iter().max().expect("tokens").to_int().expect("whole");
            for (token, id) in mapped.iter().enumerate() {
                let id = id.to_int().expect("whole");
                assert_eq!(id.div_rem(&unit).0, top, "{name}: {x:?}");
                assert_eq!(Rat::from(&id % &scale), shifted[token].clone(), "{name}: {x:?}");
                assert!(known.insert(id), "{name}: the id of token {token} of {x:?} is not its own");
            }
            let closed = indexed::trace(network, x).expect("a run");
            for ((stage, states), (_, state)) in traces.iter().zip(closed) {
                assert_eq!(states[k], state, "{name}: after {stage}, {x:?}");
            }
        }
        // Ids lie where the map says, and lead back to their sequences.
        let (lowest, highest) = (map.lowest_id(), Rat::from(map.largest_id()));
        assert!(known.iter().all(|id| (&lowest..=&highest).contains(&&Rat::from(id))), "{name}");
        assert_eq!(map.descending().count(), inputs.len(), "{name}");
        let located = known.iter().all(|id| map.locate(&Rat::from(id)).is_some());
        assert!(located, "{name}: an id that leads nowhere");
    }
}

/// `p(n-1)D + s` attention layers; connections counted in the layers that are built.
#[test]
fn sizes_and_connections_are_those_of_the_formulas() {
    for (pattern, triple) in cases() {
        let name = format!("{} {triple:?}", pattern.name());
        let options = options(pattern.clone());
        let sparse = options.sparse.clone().expect("sparse");
        let model = compile(&request(expression(GENERIC_POSITIONAL), triple, options)).expect(&name);
        let network = exact_network(&model);
        let (n, columns) = (Int::from(triple.0), model.grid.columns());
        let attention = Int::from(pattern.period()) * (n - Int::ONE) * columns + Int::from(sparse.hops());
        assert_eq!(network.size().attention_layers, attention, "{name}");
        let built: Vec<usize> = network
            .layers()
            .filter_map(|(_, layer)| match layer.expect("a layer") {
                Layer::Attention(layer) => Some(layer.connections.expect("sparse").count()),
                Layer::FeedForward(_) => None,
            })
            .collect();
        assert_eq!(Int::from(built.len()), attention, "{name}");
        for (index, connections) in built.iter().enumerate() {
            assert_eq!(*connections, pattern.layer(index).count(), "{name}: layer {index}");
        }
        let mut nonzeros = Int::ZERO;
        for (_, layer) in network.layers() {
            let count = |matrix: &[Vec<Rat>]| matrix.iter().flatten().filter(|x| !x.is_zero()).count();
            if let Layer::Attention(layer) = layer.expect("a layer") {
                for head in &layer.heads {
                    let bias = head.q_bias.iter().filter(|x| !x.is_zero()).count();
                    nonzeros +=
                        &Int::from(bias + [&head.q, &head.k, &head.v, &head.o].map(|m| count(m)).iter().sum::<usize>());
                }
            }
        }
        let stages = network.stages.iter().filter(|stage| ["shifts", "global"].contains(&stage.name));
        assert_eq!(stages.fold(Int::ZERO, |sum, stage| sum + stage.generator.size().nonzeros), nonzeros, "{name}");
    }
    let star = named("star", 12);
    let model = compile(&request(expression("x[n-1-i]"), (12, 1, 2), options(star))).expect("a model");
    let sees = |layer: Layer| match layer {
        Layer::Attention(layer) => layer.connections.map(|connections| connections.count()),
        Layer::FeedForward(_) => None,
    };
    let shifts = exact_network(&model).stages.iter().find(|stage| stage.name == "shifts").expect("a sweep");
    assert!(shifts.generator.layers().all(|layer| sees(layer.expect("a layer")) == Some(5 * 12 - 4)));
}

fn table_model(pattern: Pattern, triple: Triple, seed: u64) -> Model {
    let source = Source::table("random", Random::new(seed).table(&grid(triple)));
    compile(&request(source, triple, options(pattern))).expect("a model")
}

/// On random tables, whatever the sequence, the network gives the entry of its cell: layer by layer and in closed form.
#[test]
fn random_tables_come_out_exactly() {
    for (seed, (pattern, triple)) in cases().into_iter().enumerate() {
        let name = format!("{} {triple:?}", pattern.name());
        let model = table_model(pattern, triple, seed as u64);
        let network = exact_network(&model);
        let mut random = Random::new(seed as u64);
        let side = Rat::new(1, model.grid.resolution());
        for (k, point) in model.grid.all_points().enumerate() {
            let expected = model.target.evaluate(&model.grid.centre(&point)).expect("a value");
            let mut within = |k: u64| (Rat::from(k) + random.rational(0, 1)) * &side;
            let x: Sequence = point.iter().map(|column| column.iter().map(|&k| within(k)).collect()).collect();
            assert_eq!(indexed::run(network, &x).expect("a run"), expected, "{name}: {point:?}");
            if k % 37 == 0 {
                assert_eq!(exact::run(network, &x).expect("a run"), expected, "{name}: {point:?}");
            }
        }
    }
}

/// Patterns that lack something are declined with a witness; a pattern for other tokens is refused.
#[test]
fn what_the_theorem_needs_is_asked_for() {
    for (name, tokens, witness) in [
        ("hub", 5, "without token 0 the tokens 1, 2 and 3"),
        ("strided-causal:2", 4, "token 0 never hears of token 1"),
        ("block:2", 4, "tokens 0 and 2 are in parts"),
    ] {
        let error = Sparse::new(named(name, tokens)).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Declined, "{name}");
        assert!(error.to_string().contains(witness), "{name}: {error}");
    }
    let error = compile(&request(expression("x"), (3, 1, 4), options(named("star", 5)))).expect_err("other tokens");
    assert!(error.to_string().contains("the pattern star is for 5 tokens, not for 3"), "{error}");
    let long =
        compile(&request(expression("x"), (2000, 1, 2), options(named("window:1", 2000)))).expect_err("too long");
    assert_eq!(long.kind(), ErrorKind::Declined);
    assert!(long.to_string().contains("a pattern of two hops"), "{long}");
}
