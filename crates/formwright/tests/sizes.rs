//! Sizes are formulas first: they must equal what is built.

use super::support::{
    GENERIC, GENERIC_POSITIONAL, exact_network, expression, grid, positional, request, theorem2, theorem3, triples,
};
use formwright::compile::Model;
use formwright::exact::Int;
use formwright::network::{Layer, LayerKind};

/// Counts everything by making every layer and block.
fn check_counts(model: &Model) {
    let (network, size) = (exact_network(model), exact_network(model).size());
    let (mut attention, mut feed_forward, mut parameters, mut nonzeros) = (0, 0, 0, 0);
    let (mut heads, mut hidden) = (0, 0);
    let mut weigh = |rows: &[Vec<formwright::exact::Rat>]| {
        parameters += rows.iter().map(Vec::len).sum::<usize>();
        nonzeros += rows.iter().flatten().filter(|entry| !entry.is_zero()).count();
    };
    for (_, layer) in network.layers() {
        match layer.expect("a layer") {
            Layer::Attention(layer) => {
                attention += 1;
                heads = heads.max(layer.heads.len());
                for head in &layer.heads {
                    for matrix in [&head.q, &head.k, &head.v, &head.o] {
                        weigh(matrix);
                    }
                    weigh(std::slice::from_ref(&head.q_bias));
                    assert_eq!(head.q.len(), 1, "heads have size one");
                }
            }
            Layer::FeedForward(layer) => {
                feed_forward += 1;
                hidden = hidden.max(layer.w1.len());
                for matrix in [&layer.w1, &layer.w2] {
                    weigh(matrix);
                }
                for bias in [&layer.b1, &layer.b2] {
                    weigh(std::slice::from_ref(bias));
                }
            }
        }
    }
    for map in [&network.embed, &network.read_out] {
        weigh(&map.weight);
        weigh(std::slice::from_ref(&map.bias));
    }
    network.positions.iter().for_each(|rows| weigh(rows));
    let blocks = network.blocks().flatten().count();
    assert_eq!(size.attention_layers, Int::from(attention));
    assert_eq!(size.feed_forward_layers, Int::from(feed_forward));
    assert_eq!(size.blocks, Int::from(blocks));
    assert_eq!((size.heads, size.hidden), (heads, hidden));
    assert_eq!(size.parameters, Int::from(parameters));
    // Entries that the construction does not fix to zero; with several rows some of them can be zero by accident.
    assert!(size.nonzeros >= Int::from(nonzeros));
    if network.width() == 1 {
        assert_eq!(size.nonzeros, Int::from(nonzeros), "{:?}", model.grid);
    }
}

#[test]
fn formulas_equal_what_is_built() {
    for triple in triples(300) {
        let (n, d, resolution) = triple;
        let (columns, resolution) = (grid(triple).columns(), Int::from(resolution));
        let (tokens, dims) = (Int::from(n), Int::from(d));
        let layers = |model: &Model, kind: LayerKind| {
            let stages = exact_network(model).stages.iter().filter(|stage| stage.generator.kind() == kind);
            stages.fold(Int::ZERO, |total, stage| total + stage.generator.size().layers)
        };
        if columns >= tokens {
            let model = theorem2(GENERIC, triple);
            let values = &tokens * columns.choose(n);
            assert_eq!(layers(&model, LayerKind::Attention), &columns + Int::ONE);
            let feed_forward = &dims * (&resolution + Int::ONE) + Int::ONE + &dims + &values;
            assert_eq!(layers(&model, LayerKind::FeedForward), feed_forward, "{triple:?}");
            let blocks = &dims * (&resolution + Int::ONE) + &columns + Int::ONE + &dims + &values;
            assert_eq!(
                exact_network(&model).size().blocks,
                blocks,
                "the last attention layer hosts the first one behind it"
            );
            check_counts(&model);
        }
        let model = theorem3(GENERIC_POSITIONAL, triple);
        assert_eq!(layers(&model, LayerKind::Attention), Int::from(n - 1) * &columns + Int::ONE);
        assert_eq!(layers(&model, LayerKind::FeedForward), &tokens * &dims * &resolution + &tokens * columns.pow(n));
        check_counts(&model);
    }
}

#[test]
fn a_network_that_scales_its_values_counts_those_layers() {
    for (dims, extra) in [(1, 1), (2, 1), (3, 2)] {
        let text = "1000000000000000000000000000000 * x";
        let with = theorem2(text, (2, dims, 2));
        let without = theorem2("x", (2, dims, 2));
        let layers = |model: &Model| model.size().feed_forward_layers;
        assert_eq!(layers(&with), layers(&without) + Int::from(extra));
        assert_eq!(with.size().hidden, 2 * dims.min(2));
        check_counts(&with);
    }
}

#[test]
fn theorem3_as_printed_sweeps_every_range() {
    let mut options = positional();
    options.as_printed = vec!["theorem3-positions".parse().expect("a step")];
    for triple in [(2, 1, 4), (3, 1, 3), (2, 2, 2)] {
        let model = formwright::compile::compile(&request(expression("x"), triple, options.clone())).expect("a model");
        let (n, _, _) = triple;
        assert_eq!(exact_network(&model).size().attention_layers, Int::from(n) * grid(triple).columns() + Int::ONE);
        check_counts(&model);
    }
}
