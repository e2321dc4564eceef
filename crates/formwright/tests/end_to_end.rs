//! The whole network against the target: on every cell, on duplicates, outside; and its symmetry.

use super::support;
use super::support::{
    GENERIC, GENERIC_POSITIONAL, ON_THE_UNIT_BOX, Random, Triple, built_in, exact_network, grid, only, positional,
    request, theorem2, theorem3,
};
use formwright::compile::{Model, compile};
use formwright::construct::yun::Options;
use formwright::eval::{exact, indexed};
use formwright::exact::Rat;
use formwright::network::{Activation, Attention, FeedForward, Head, Realisation, Sequence};
use formwright::target::Source;
use proptest::prelude::*;

const TRIPLES: [Triple; 7] = [(2, 1, 2), (2, 1, 7), (3, 1, 4), (2, 2, 3), (3, 2, 2), (4, 1, 4), (2, 3, 2)];

/// Compares the output with the target on every cell, at the centre and at a random point of the cell.
fn check_every_cell(model: &Model, evaluate: impl Fn(&Sequence) -> Sequence) {
    let grid = &model.grid;
    let mut random = Random::new(1);
    let zero = vec![vec![Rat::ZERO; exact_network(model).output_dims()]; grid.tokens()];
    for point in grid.all_points() {
        let distinct = (1..point.len()).all(|j| !point[..j].contains(&point[j]));
        let centre = grid.centre(&point);
        let expected = if distinct || model.is_positional() { evaluate(&centre) } else { zero.clone() };
        assert_eq!(indexed::run(exact_network(model), &centre).expect("a run"), expected, "cell {point:?}");
        let side = Rat::new(1, grid.resolution());
        let inside: Sequence = point
            .iter()
            .map(|column| column.iter().map(|&k| (Rat::from(k) + random.rational(0, 1)) * &side).collect())
            .collect();
        assert_eq!(indexed::run(exact_network(model), &inside).expect("a run"), expected, "{inside:?}");
    }
}

#[test]
fn outputs_equal_the_target_at_the_centre_of_every_cell() {
    for name in ON_THE_UNIT_BOX {
        let source = built_in(name);
        let equivariant = source.properties().expect("a target").0 == "equivariant";
        for triple in TRIPLES {
            for options in [Options::default(), positional()] {
                if !equivariant && !options.positional {
                    continue;
                }
                let model = compile(&request(source.clone(), triple, options)).expect("a model");
                check_every_cell(&model, |x| model.target.evaluate(x).expect("a value"));
            }
        }
    }
}

#[test]
fn a_target_written_in_rust_comes_out_the_same() {
    // The evaluator of the language is not asked here.
    let model = theorem2("x - mean(x)", (3, 1, 5));
    check_every_cell(&model, |x| {
        let mean = x.iter().map(|token| &token[0]).sum::<Rat>() / Rat::from(3);
        x.iter().map(|token| vec![&token[0] - &mean]).collect()
    });
    let model = theorem3("sort(x)", (4, 1, 3));
    check_every_cell(&model, |x| {
        let mut sorted = x.clone();
        sorted.sort();
        sorted
    });
}

#[test]
fn outputs_are_zero_on_duplicates_and_outside() {
    for triple in TRIPLES {
        let model = theorem2(GENERIC, triple);
        let zero = vec![vec![Rat::ZERO; model.grid.dims()]; model.grid.tokens()];
        let mut random = Random::new(2);
        for attempt in 0..300 {
            let mut x = random.sequence(&model.grid, 0, 1);
            let token = usize::try_from(random.below(x.len() as u64)).expect("small");
            match attempt % 6 {
                0 => x[token] = x[(token + 1) % x.len()].clone(),
                1 => x[token][0] = Rat::ONE,
                2 => x[token][0] = -random.rational(0, 1) - Rat::new(1, 1_000_000_000),
                3 => x[token][0] = Rat::from(1_000_000_000_000u64),
                4 => x.iter_mut().flatten().for_each(|entry| *entry = -Rat::ONE - entry.clone()),
                _ => x[token].iter_mut().for_each(|entry| *entry += &Rat::ONE),
            }
            assert_eq!(indexed::run(exact_network(&model), &x).expect("a run"), zero, "{x:?}");
        }
    }
}

#[test]
fn random_tables_come_out_exactly() {
    let mut random = Random::new(3);
    for triple in TRIPLES {
        let grid = grid(triple);
        let table = random.equivariant_table(&grid);
        let model = compile(&request(Source::table("random", table), triple, Options::default())).expect("a model");
        check_every_cell(&model, |x| model.target.evaluate(x).expect("a value"));
        let table = random.table(&grid);
        let model = compile(&request(Source::table("random", table), triple, positional())).expect("a model");
        check_every_cell(&model, |x| model.target.evaluate(x).expect("a value"));
    }
}

#[test]
fn other_boxes_and_integer_domains_are_moved_by_the_embedding() {
    let model = compile(&formwright::compile::Request {
        source: support::expression("sort(x) on integers 3..7"),
        tokens: Some(3),
        dims: None,
        resolution: None,
        constructions: only(positional()),
        everywhere: false,
        attention: Realisation::SOFTMAX,
        assume_equivariant: false,
        tolerance: formwright::compile::Tolerance::default(),
        arithmetic: formwright::compile::Arithmetic::Exact,
    })
    .expect("a model");
    let x: Sequence = [6, 3, 6].map(|x| vec![Rat::from(x)]).to_vec();
    let y: Sequence = [3, 6, 6].map(|x| vec![Rat::from(x)]).to_vec();
    assert_eq!(indexed::run(exact_network(&model), &x).expect("a run"), y);
    let model = theorem2("x * mean(x) on [-2, 3]", (2, 1, 5));
    let x: Sequence = vec![vec![Rat::new(-3, 2)], vec![Rat::new(5, 2)]];
    assert_eq!(indexed::run(exact_network(&model), &x).expect("a run"), [[Rat::new(-3, 4)], [Rat::new(5, 4)]]);
}

#[test]
fn resolutions_beyond_a_machine_word_are_exact() {
    let x: Sequence = vec![vec![Rat::new(1, 10)], vec![Rat::new(7, 10)]];
    for resolution in [1 << 63, u64::MAX] {
        for model in [theorem3("x[n - 1 - i]", (2, 1, resolution)), theorem2("1 - x", (2, 1, resolution))] {
            let output = indexed::run(exact_network(&model), &x).expect("a run");
            assert_eq!(output, model.expected(&x).expect("a value"));
            assert_ne!(output[0], output[1]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn outputs_are_permutation_equivariant(
        seed in any::<u64>(),
        order in Just([0usize, 1, 2, 3]).prop_shuffle(),
        outside in any::<bool>(),
    ) {
        let model = theorem2(GENERIC, (4, 1, 6));
        let x = Random::new(seed).sequence(&model.grid, if outside { -1 } else { 0 }, 1 + i64::from(outside));
        let permute = |x: &Sequence| -> Sequence { order.iter().map(|&j| x[j].clone()).collect() };
        for run in [exact::run, indexed::run] {
            let y = run(exact_network(&model), &x).expect("a run");
            prop_assert_eq!(run(exact_network(&model), &permute(&x)).expect("a run"), permute(&y));
        }
    }
}

/// A feed-forward layer that would change everything, but for its zero output weights.
fn silent_feed_forward(width: usize) -> FeedForward {
    FeedForward {
        w1: vec![vec![Rat::from(7); width]; 2],
        b1: vec![Rat::ONE; 2],
        activations: vec![Activation::Relu; 2],
        w2: vec![vec![Rat::ZERO; 2]; width],
        b2: vec![Rat::ZERO; width],
    }
}

/// An attention layer that would change everything, but for its zero output weights.
fn silent_attention(width: usize, o: &Rat) -> Attention {
    let row = vec![vec![Rat::from(3); width]];
    let head = Head { q: row.clone(), q_bias: vec![Rat::ONE], k: row.clone(), v: row, o: vec![vec![o.clone()]; width] };
    Attention::hardmax(vec![head], None)
}

#[test]
fn a_sub_layer_with_zero_output_weights_changes_nothing() {
    // The reviewer's question 4: a run of one kind of layer is a run of blocks whose other sub-layer is silent.
    for model in [theorem2(GENERIC, (3, 1, 4)), theorem3(GENERIC_POSITIONAL, (2, 2, 2))] {
        let width = exact_network(&model).width();
        let mut random = Random::new(4);
        for _ in 0..40 {
            let x = random.sequence(&model.grid, -1, 2);
            let run = |silent: bool, o: &Rat| {
                let mut state = exact_network(&model).embed(&x);
                for block in exact_network(&model).blocks() {
                    let mut block = block.expect("a block");
                    if silent {
                        block.attention.get_or_insert_with(|| silent_attention(width, o));
                        block.feed_forward.get_or_insert_with(|| silent_feed_forward(width));
                    }
                    exact::apply_block(&block, &mut state);
                }
                exact_network(&model).read_out(&state)
            };
            let expected = indexed::run(exact_network(&model), &x).expect("a run");
            assert_eq!(run(false, &Rat::ZERO), expected);
            assert_eq!(run(true, &Rat::ZERO), expected);
        }
        // The test can fail: with a weight of one the same sub-layers are heard.
        let x = model.example();
        let mut state = exact_network(&model).embed(&x);
        let before = state.clone();
        exact::apply_block(
            &formwright::network::Block { attention: Some(silent_attention(width, &Rat::ONE)), feed_forward: None },
            &mut state,
        );
        assert_ne!(state, before);
    }
}
