//! sum-code and sumformer-discrete, exactly: equal to the target at *every* grid point, duplicates included; 0 outside; layers = closed form.

use std::sync::Arc;

use super::support::{GENERIC, GENERIC_POSITIONAL, Random, Triple, expression, extended_corners, grid, triples};
use formwright::construct::sumcode::{Options, SUM_CODE, Scheme, Values, build};
use formwright::construct::sumformer::discrete::SUMFORMER_DISCRETE;
use formwright::eval::{exact, indexed};
use formwright::exact::{Int, Rat};
use formwright::lattice::Grid;
use formwright::lattice::codes::Code;
use formwright::network::{Layer, Network, Realisation, Sequence};
use formwright::target::{Source, Target};

fn options(family: &'static Scheme, values: Values, code: Option<Code>, positional: bool) -> Options {
    Options { family, code, values, positional, attention: Realisation::SOFTMAX }
}

/// Every construction that is tried on every small grid.
fn equivariant() -> Vec<Options> {
    let mut all = Vec::new();
    for family in [&SUM_CODE, &SUMFORMER_DISCRETE] {
        for values in Values::ALL {
            all.push(options(family, values, None, false));
        }
    }
    for code in [Code::Histogram, Code::MianChowla, Code::BoseChowla { field: Some(11) }] {
        all.push(options(&SUM_CODE, Values::OneBlock, Some(code), false));
    }
    all
}

fn target(source: &Source, grid: &Grid) -> Arc<Target> {
    Arc::new(source.target(grid.dims()).expect("a target"))
}

/// A point in every cell, not the centre: its corner, moved by a third of a cell in some coordinates.
fn inside(grid: &Grid) -> Vec<(Vec<Vec<u64>>, Sequence)> {
    let coordinate = |k: u64, place: usize| {
        let moved = if place.is_multiple_of(2) { Rat::ZERO } else { Rat::new(1, 3) };
        (Rat::from(k) + moved) / Rat::from(grid.resolution())
    };
    let column = |(token, column): (usize, &Vec<u64>)| {
        column.iter().enumerate().map(|(row, k)| coordinate(*k, token + row)).collect()
    };
    grid.all_points().map(|point| (point.clone(), point.iter().enumerate().map(column).collect())).collect()
}

/// Asserts that both executions agree after every stage.
fn agree(network: &Network, inputs: &[Sequence]) -> Vec<Sequence> {
    let layers = exact::trace_batch(network, inputs).expect("a run");
    for (k, x) in inputs.iter().enumerate() {
        for ((stage, states), (_, state)) in layers.iter().zip(indexed::trace(network, x).expect("a run")) {
            assert_eq!(states[k], state, "after {stage}, input {x:?}");
        }
    }
    let last = layers.last().expect("stages");
    last.1.iter().map(|state| network.read_out(state)).collect()
}

/// Equal to the target at every cell, 0 outside; returns how many cells there were.
fn check(source: &Source, triple: Triple, options: &Options) -> usize {
    let grid = grid(triple);
    let target = target(source, &grid);
    let network = build(&grid, &target, options).expect("a network");
    let cells = inside(&grid);
    let inputs: Vec<Sequence> = cells.iter().map(|(_, x)| x.clone()).collect();
    for ((point, _), output) in cells.iter().zip(agree(&network, &inputs)) {
        let expected = target.evaluate(&grid.centre(point)).expect("a value");
        assert_eq!(output, expected, "{options:?} at {point:?} of {triple:?}");
    }
    cells.len()
}

#[test]
fn outputs_equal_the_target_at_every_grid_point_duplicates_included() {
    let (mut tried, mut cells) = (std::collections::BTreeSet::new(), 0);
    for triple in triples(130) {
        for options in equivariant() {
            if options.code.is_some() && grid(triple).columns() > Int::from(11) {
                continue;
            }
            cells += check(&expression(GENERIC), triple, &options);
            tried.insert(triple);
        }
    }
    assert!(tried.len() >= 15 && cells > 10_000, "{} triples, {cells} cells", tried.len());
}

#[test]
fn with_positions_every_target_is_met_at_every_grid_point() {
    for triple in triples(70) {
        for family in [&SUM_CODE, &SUMFORMER_DISCRETE] {
            for values in Values::ALL {
                check(&expression(GENERIC_POSITIONAL), triple, &options(family, values, None, true));
            }
        }
    }
}

#[test]
fn random_tables_are_met_at_every_grid_point() {
    let mut random = Random::new(20_230_705);
    for triple in [(2, 1, 7), (2, 2, 3), (3, 1, 5), (4, 1, 3), (2, 3, 2)] {
        let table = Source::table("random", random.equivariant_table(&grid(triple)));
        let any = Source::table("random", random.table(&grid(triple)));
        for values in Values::ALL {
            check(&table, triple, &options(&SUM_CODE, values, None, false));
            check(&any, triple, &options(&SUM_CODE, values, None, true));
        }
    }
}

#[test]
fn outside_of_the_box_the_output_is_zero_however_far() {
    let mut zeros = 0;
    for triple in [(2, 1, 4), (3, 1, 3), (2, 2, 2), (4, 1, 2), (2, 3, 2)] {
        let grid = grid(triple);
        let mut inputs = extended_corners(&grid);
        for (k, x) in inside(&grid).into_iter().map(|(_, x)| x).enumerate() {
            for far in [Rat::from(10).pow(15), Rat::from(-10).pow(15), Rat::new(-1, 1_000_000), Rat::ONE] {
                let mut x = x.clone();
                x[k % grid.tokens()][k % grid.dims()] = far;
                inputs.push(x);
            }
        }
        let mut all = equivariant();
        all.extend(Values::ALL.map(|values| options(&SUM_CODE, values, None, true)));
        for options in all {
            let text = if options.positional { GENERIC_POSITIONAL } else { GENERIC };
            let target = target(&expression(text), &grid);
            let network = build(&grid, &target, &options).expect("a network");
            for (x, output) in inputs.iter().zip(agree(&network, &inputs)) {
                if grid.cell(x).is_none() {
                    zeros += 1;
                    assert!(output.iter().flatten().all(Rat::is_zero), "{options:?} at {x:?}: {output:?}");
                }
            }
        }
    }
    assert!(zeros > 5_000, "{zeros}");
}

#[test]
fn sizes_are_formulas_and_blocks_are_three() {
    for triple in triples(130) {
        let grid = grid(triple);
        for options in equivariant().into_iter().take(8).chain([options(&SUM_CODE, Values::OneBlock, None, true)]) {
            let text = if options.positional { GENERIC_POSITIONAL } else { GENERIC };
            let network = build(&grid, &target(&expression(text), &grid), &options).expect("a network");
            for stage in &network.stages {
                let size = stage.generator.size();
                let (mut layers, mut units, mut nonzeros, mut hidden) = (0, 0, 0, 0);
                for layer in stage.generator.layers() {
                    layers += 1;
                    let rows: Vec<Vec<Rat>> = match layer.expect("a layer") {
                        Layer::FeedForward(layer) => {
                            units += layer.b1.len();
                            hidden = hidden.max(layer.b1.len());
                            [layer.w1, layer.w2, vec![layer.b1, layer.b2]].concat()
                        }
                        Layer::Attention(layer) => {
                            assert_eq!(layer.heads.len(), 1);
                            let heads = layer.heads.into_iter();
                            heads
                                .flat_map(|head| [head.q, head.k, head.v, head.o, vec![head.q_bias]].concat())
                                .collect()
                        }
                    };
                    nonzeros += rows.iter().flatten().filter(|entry| !entry.is_zero()).count();
                }
                assert_eq!((size.layers, size.units, size.hidden), (Int::from(layers), Int::from(units), hidden));
                assert!(size.nonzeros >= Int::from(nonzeros), "{}: {nonzeros}", stage.name);
                if stage.name != "values" && stage.name != "rank" {
                    assert_eq!(size.nonzeros, Int::from(nonzeros), "{}", stage.name);
                }
            }
            let size = network.size();
            assert_eq!(size.blocks, Int::from(network.blocks().count()));
            assert_eq!(size.attention_layers, Int::ONE);
            if options.family == &SUM_CODE && options.values == Values::OneBlock {
                assert_eq!(size.blocks, Int::from(3));
                let (n, d) = (grid.tokens(), grid.columns());
                if !options.positional {
                    // M = D·C(D+n-2, n-1), and the two ends.
                    let ids = &d * (&d + Int::from(n) - Int::from(2)).choose(n - 1);
                    let hidden = network.stages.last().expect("values").generator.size().units;
                    assert_eq!(hidden, ids + Int::from(2));
                }
            }
        }
    }
}

#[test]
fn a_network_of_four_million_ids_runs_in_closed_form() {
    let grid = grid((3, 1, 200));
    let target = target(&expression(GENERIC), &grid);
    // 211^3 steps.
    let network = build(&grid, &target, &options(&SUM_CODE, Values::Layered, None, false)).expect("a network");
    assert_eq!(network.layer_count(), Int::from(4_020_000 + 3));
    let x = [Rat::new(1, 10), Rat::new(1, 10), Rat::new(17, 20)].map(|x| vec![x]).to_vec();
    let centre = grid.centre(&grid.cell(&x).expect("a cell"));
    assert_eq!(indexed::run(&network, &x).expect("a run"), target.evaluate(&centre).expect("a value"));
    assert!(exact::run(&network, &x).is_err(), "too many to write down");
}
