//! The answers of `formwright theorems questions`, and what they rest on.

use super::support::{Random, exact_network, theorem2, theorem3};
use formwright::eval::{exact, indexed};
use formwright::exact::{Int, Rat};
use formwright::questions;

#[test]
fn permuted_tokens_give_permuted_outputs() {
    let answer = questions::sharing().expect("an answer");
    assert!(answer.equivariant);
    let size = theorem2(answer.example.expression, (3, 1, 4)).size();
    // Embedding and read-out are the rest, two numbers each.
    assert_eq!(&answer.attention + &answer.feed_forward + Int::from(4), size.parameters);
    assert_eq!(answer.attention_unshared, Int::from(9) * &answer.attention);
    assert_eq!(answer.feed_forward_unshared, Int::from(3) * &answer.feed_forward);
    assert_eq!((answer.values, answer.values_with_positions), (Int::from(12), Int::from(192)));
}

#[test]
fn behind_norms_networks_of_gates_lose_what_is_told_and_no_more() {
    let rows = questions::norms().expect("an answer");
    for row in &rows {
        assert!(row.plain <= row.bound && row.bound <= 0.01 && row.norms >= 3, "{row:?}");
        assert!(row.bound - row.plain <= row.term && row.term < 0.05 * 0.01, "{row:?}");
    }
    let terms = |precision| rows.iter().filter(move |row| row.precision == precision).map(|row| row.term);
    // Twice the digits lose next to nothing.
    assert!(terms("f64").all(|term| term < 1e-12) && terms("f32").all(|term| term > 1e-7));
    assert!(rows.iter().any(|row| row.construction == "sumformer"));
}

#[test]
fn without_skips_the_same_layers_forget_the_input() {
    let answer = questions::skips().expect("an answer");
    assert_eq!((answer.sequences, answer.right_with), (24, 24));
    assert!(answer.right_without < answer.sequences, "{} come out right", answer.right_without);
    // Whatever goes in, what comes out is one of few: windows that nothing reaches are constant.
    let mut random = Random::new(11);
    for model in [theorem2("x^2 + max(x)", (3, 1, 4)), theorem3("sort(x)", (3, 1, 4)), theorem2("x", (2, 2, 3))] {
        let mut outputs = Vec::new();
        for _ in 0..50 {
            let x = random.sequence(&model.grid, 0, 1);
            let (_, bare) = exact::without_skips(exact_network(&model), &x).expect("an output");
            assert_ne!(indexed::run(exact_network(&model), &x).expect("an output").len(), 0);
            if !outputs.contains(&bare) {
                outputs.push(bare);
            }
        }
        assert_eq!(outputs.len(), 1, "{outputs:?}");
    }
}

/// With its skip connection a layer is the state and what it adds; without, what it adds.
#[test]
fn a_trace_without_skips_is_what_the_layers_add() {
    let model = theorem2("x - mean(x)", (3, 1, 4));
    let x = vec![vec![Rat::new(1, 8)], vec![Rat::new(7, 8)], vec![Rat::new(3, 8)]];
    let mut state = exact_network(&model).embed(&x);
    for (_, layer) in exact_network(&model).layers() {
        let mut after = state.clone();
        exact::apply(&layer.expect("a layer"), &mut after);
        state = after.iter().zip(&state).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a - b).collect()).collect();
    }
    let (trace, output) = exact::without_skips(exact_network(&model), &x).expect("a trace");
    assert_eq!(trace.last().expect("a state").1, state);
    assert_eq!(output, exact_network(&model).read_out(&state));
}

#[test]
fn wider_blocks_are_fewer_and_attention_layers_stay() {
    let answer = questions::width().expect("an answer");
    let rows = &answer.rows;
    assert_eq!(rows.len(), 6);
    for pair in rows.windows(2).skip(1) {
        assert!(pair[1].blocks < pair[0].blocks && pair[1].hidden > pair[0].hidden, "{pair:?}");
    }
    assert!(rows.iter().all(|row| row.attention_layers == rows[0].attention_layers));
    assert!(rows.iter().all(|row| row.rounding.is_finite() && row.rounding > 0.0));
}

#[test]
fn two_windows_in_one_attention_layer_make_contexts_collide() {
    let found = questions::width().expect("an answer").collision;
    assert_eq!(found.shared, [Int::from(11_020), Int::from(11_051)]);
    let distinct = |a: &[Int], b: &[Int]| a.iter().all(|id| !b.contains(id));
    assert!(distinct(&found.first_apart, &found.second_apart));
    // The literal sweep is that of Lemma 6.
    let model = theorem2("x", (3, 1, 4));
    for (ids, apart) in [(&found.first, &found.first_apart), (&found.second, &found.second_apart)] {
        let x: Vec<Vec<Rat>> = ids.iter().map(|id| vec![(Rat::from(id) + Rat::new(1, 2)) / Rat::from(4)]).collect();
        let trace = indexed::trace(exact_network(&model), &x).expect("a trace");
        let (_, state) = trace.iter().find(|(name, _)| *name == "global").expect("the stage");
        assert_eq!(state.iter().flatten().map(Rat::floor).collect::<Vec<Int>>(), *apart);
    }
}

/// Random continuous piecewise linear codes: monotone ones, oscillating ones, with flat parts.
#[test]
fn no_continuous_code_of_one_number_serves_three_tokens_in_the_supremum_norm() {
    let mut random = Random::new(3);
    for knots in 2..12_u64 {
        for _ in 0..50 {
            let last = knots - 1;
            let phi: Vec<(Rat, Rat)> = (0..knots).map(|k| (Rat::new(k, last), random.rational(-5, 5))).collect();
            let found = questions::one_number(&phi).expect("an answer");
            // φ once more, by a formula of its own: a sum of hats.
            let at = |x: &Rat| -> Rat {
                let hat = |k: u64| (Rat::ONE - (x - Rat::new(k, last)).abs() * Rat::from(last)).max(Rat::ZERO);
                (0..knots).zip(&phi).map(|(k, (_, y))| hat(k) * y).sum()
            };
            assert!(!found.t.is_negative() && found.t <= Rat::ONE);
            assert_eq!(at(&found.t) * Rat::from(2), at(&Rat::ZERO) + at(&Rat::ONE));
            for (x, sum) in found.sequences.iter().zip(&found.sums) {
                assert_eq!(x.iter().map(|token| at(&token[0])).sum::<Rat>(), *sum);
            }
            assert_eq!(found.sums[0], found.sums[1]);
            assert_eq!(found.sequences[0][0], found.sequences[1][0]);
            assert_eq!((found.targets, found.error), ([Rat::ONE, Rat::ZERO], Rat::new(1, 2)));
        }
    }
    let point = |x: i32, y: i32| (Rat::from(x), Rat::from(y));
    for bad in [
        vec![],
        vec![point(0, 0)],
        vec![point(0, 0), point(2, 1)],
        vec![point(1, 0), point(0, 1)],
        vec![point(0, 1); 2],
    ] {
        assert!(questions::one_number(&bad).is_err(), "{bad:?}");
    }
    let code = questions::one_number(&questions::stepped_code().expect("a code")).expect("an answer");
    assert_eq!(code.sums[0], code.sums[1]);
}
