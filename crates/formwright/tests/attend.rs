//! Means weighted by a softmax: `attend(s, v)` is one attention head, and the head is what an attention in plain Rust
//! computes, in every execution, up to the bound.

use super::support::circuits::Subject;
use super::support::shuffled::{self, Shuffle};
use super::support::{circuits, expression, request};
use formwright::bound::ascent::starts;
use formwright::compile::{Arithmetic, Request, compile};
use formwright::construct::circuit::{Compiled, Trade};
use formwright::construct::yun::Options;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::lower::Format;
use formwright::network::{Precision, Realisation};

/// An output coordinate of token `i`, as a function of a sequence.
type Reference = fn(&[Vec<f64>], usize, usize) -> f64;

/// The mean of the values of some tokens, weighted by the softmax of their scores.
fn pooled(tokens: impl Iterator<Item = usize>, score: impl Fn(usize) -> f64, value: impl Fn(usize) -> f64) -> f64 {
    let tokens: Vec<usize> = tokens.collect();
    let most = tokens.iter().map(|j| score(*j)).fold(f64::NEG_INFINITY, f64::max);
    let weight = |j: &usize| (score(*j) - most).exp();
    let all: f64 = tokens.iter().map(weight).sum();
    tokens.iter().map(|j| weight(j) / all * value(*j)).sum()
}

#[expect(clippy::cast_precision_loss, reason = "a few tokens")]
fn place(t: usize) -> f64 {
    t as f64
}

/// Targets that one head computes, with the tokens, the coordinates, and the same in plain Rust.
const HEADS: [(&str, usize, usize, Reference); 12] = [
    ("attention-pooling", 16, 1, |x, _, c| pooled(0..x.len(), |j| 2.0 * x[j][c], |j| x[j][c])),
    ("attend(3 * x * x[i], x)", 8, 1, |x, i, c| pooled(0..x.len(), |j| 3.0 * x[j][c] * x[i][c], |j| x[j][c])),
    ("attend(x.0 * x[i].0 + x.1 * x[i].1, x)", 5, 2, |x, i, c| {
        pooled(0..x.len(), |j| x[j][0] * x[i][0] + x[j][1] * x[i][1], |j| x[j][c])
    }),
    ("attend(x * (x[i] + 1) + 2 * x, x, j <= i)", 6, 1, |x, i, c| {
        pooled(0..=i, |j| x[j][c] * (x[i][c] + 1.0) + 2.0 * x[j][c], |j| x[j][c])
    }),
    ("attend(x[i] - x, 3 - 2 * x, j >= i - 1 and j <= i + 1) on [-2, 1]", 6, 1, |x, i, c| {
        let near = i.saturating_sub(1)..(i + 2).min(x.len());
        pooled(near, |j| x[i][c] - x[j][c], |j| 3.0 - 2.0 * x[j][c])
    }),
    ("attend(-(i - j)^2, x)", 6, 1, |x, i, c| pooled(0..x.len(), |j| -(place(i) - place(j)).powi(2), |j| x[j][c])),
    ("attend(i * x + j, x, j >= i)", 6, 1, |x, i, c| {
        pooled(i..x.len(), |j| place(i) * x[j][c] + place(j), |j| x[j][c])
    }),
    ("x - attend(100 * x, x)", 8, 1, |x, i, c| x[i][c] - pooled(0..x.len(), |j| 100.0 * x[j][c], |j| x[j][c])),
    ("mean(x * exp(x)) / mean(exp(x)) on [0, 9]", 8, 1, |x, _, c| pooled(0..x.len(), |j| x[j][c], |j| x[j][c])),
    ("sum(exp(x.0) * x.1) / sum(exp(x.0))", 4, 2, |x, _, _| pooled(0..x.len(), |j| x[j][0], |j| x[j][1])),
    ("attend(x, x) on integers -3..4", 4, 1, |x, _, c| pooled(0..x.len(), |j| x[j][c], |j| x[j][c])),
    ("let b = attend(2 * x * x[i], x); attend(b * b[i], b)", 5, 1, |x, i, c| {
        let b = |i: usize| pooled(0..x.len(), |j| 2.0 * x[j][c] * x[i][c], |j| x[j][c]);
        pooled(0..x.len(), |j| b(j) * b(i), b)
    }),
];

fn compiled(subject: &Subject, eps: &Rat, precision: Precision) -> Compiled {
    subject.compile(eps, precision, Trade::Width).unwrap_or_else(|error| panic!("{}: {error}", subject.source.name))
}

fn subject((text, tokens, dims): (&str, usize, usize)) -> Subject {
    if dims == 1 { Subject::of(text, tokens) } else { Subject::new(expression(text), tokens, dims) }
}

#[test]
fn a_head_is_the_attention_that_is_meant_in_every_execution() {
    for (text, tokens, dims, reference) in HEADS {
        let subject = subject((text, tokens, dims));
        for precision in [Precision::F32, Precision::F64] {
            let compiled = compiled(&subject, &Rat::new(1, 1000), precision);
            let (bound, size) = (compiled.budget.bound, compiled.network.size());
            assert!(compiled.gates.iter().all(|gate| gate.heads == 1), "{text}: {:?}", compiled.gates);
            let (engine, mut worst) = (Engine::new(&compiled.network).expect("an engine"), 0.0_f64);
            let points = starts(&subject.target, &subject.grid(), 300);
            for (k, (x, y)) in points.iter().zip(engine.run(&points).expect("outputs")).enumerate() {
                let mut shuffle = Shuffle::new(u64::try_from(k).expect("small") + 1);
                let (_, shuffled) = shuffled::trace(&compiled.network, x, &mut shuffle).pop().expect("the output");
                for (way, y) in [("engine", &y), ("another order", &shuffled)] {
                    for (i, token) in y.iter().enumerate() {
                        for (c, found) in token.iter().enumerate() {
                            let off = (found - reference(x, i, c)).abs();
                            // The reference is in doubles.
                            assert!(off <= bound + 1e-13, "{text}, {precision}, {way}: {off:e} of {bound:e} at {x:?}");
                            worst = worst.max(off);
                        }
                    }
                }
            }
            println!("{text}, {precision}: {} parameters, {worst:.1e} of {bound:.1e}", size.parameters);
        }
    }
}

/// The target's own evaluation is the same attention, also where powers are beyond all numbers.
#[test]
fn values_are_those_of_an_attention() {
    for (text, tokens, dims, reference) in HEADS {
        let subject = subject((text, tokens, dims));
        for x in starts(&subject.target, &subject.grid(), 50) {
            for (i, token) in subject.target.evaluate_f64(&x).expect("values").chunks(1).enumerate() {
                let (t, c) = (i / (subject.target.output_dims()), i % subject.target.output_dims());
                assert!((token[0] - reference(&x, t, c)).abs() < 1e-12, "{text} at {x:?}");
            }
        }
    }
    let far = Subject::of("attend(100000 * x, x)", 2);
    let values = far.target.evaluate_f64(&[vec![0.25], vec![0.75]]).expect("values");
    assert!(values.iter().all(|value| (value - 0.75).abs() < 1e-12), "{values:?}");
}

#[test]
fn attention_pooling_has_few_parameters_and_a_small_error() {
    let pooling = Subject::of("attention-pooling", 16);
    let compiled = compiled(&pooling, &Rat::new(1, 100_000), Precision::F32);
    assert_eq!(compiled.network.size().parameters.to_string(), "16");
    assert_eq!(compiled.lengths, (1, 16));
    assert!(compiled.budget.bound <= 1e-5);
}

/// Attention without scores has no such head: exponentials, their sums and a quotient take its place.
#[test]
fn attention_without_scores_takes_sums() {
    let pooling = Subject::of("attention-pooling", 4);
    let average: Realisation = "average".parse().expect("a kind");
    let compiled = pooling.compile_with(&Rat::new(1, 20), Precision::F64, Trade::Width, average).expect("a circuit");
    assert!(compiled.gates.len() > 4, "{:?}", compiled.gates);
    let found = pooling.search(&compiled, 2_000);
    assert!(found.error <= compiled.budget.bound, "{found:?}");
}

/// Scores and values that do not separate are told apart by cases, or declined with the place.
#[test]
fn what_does_not_separate_is_no_head() {
    let cases = Subject::of("attend(max(x, x[i]), x) on integers 0..3", 3);
    let compiled = compiled(&cases, &Rat::new(1, 100), Precision::F64);
    let found = cases.exhaust(&compiled);
    assert!(found.error <= compiled.budget.bound, "{found:?}");
    let real = Subject::of("attend(max(x, x[i]), x)", 3);
    let error = real.compile(&Rat::new(1, 100), Precision::F64, Trade::Width).expect_err("no circuit");
    assert!(error.headline().contains("does not separate"), "{error}");
    let none = Subject::of("attend(x, x, j < i)", 3);
    let error = none.compile(&Rat::new(1, 100), Precision::F64, Trade::Width).expect_err("no circuit");
    assert_eq!(error.headline(), "no token passes the filter at token 0");
}

/// `|Σ p'V - Σ pV| ≤ e (h - l)/2` for scores that are off by at most `e`: at random, and where it is nearly attained.
#[test]
fn scores_that_are_off_move_the_mean_by_no_more_than_is_said() {
    let mean = |scores: &[f64], values: &[f64]| pooled(0..scores.len(), |j| scores[j], |j| values[j]);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        place(usize::try_from(state >> 40).expect("24 bits")) / place(1 << 24)
    };
    let mut nearest = 0.0_f64;
    for k in 0..20_000 {
        let n = 2 + k % 5;
        let e = random().powi(3);
        let scores: Vec<f64> = (0..n).map(|_| 4.0 * random() - 2.0).collect();
        let values: Vec<f64> = (0..n).map(|_| if k % 2 == 0 { random() } else { random().round() }).collect();
        // Up where the value is large, and down elsewhere: the worst there is.
        let middle = mean(&scores, &values);
        let off: Vec<f64> = scores.iter().zip(&values).map(|(s, v)| if *v > middle { s + e } else { s - e }).collect();
        let span = values.iter().copied().fold(0.0, f64::max) - values.iter().copied().fold(1.0, f64::min);
        let moved = (mean(&off, &values) - middle).abs();
        assert!(moved <= e / 2.0 * span + 1e-15, "{moved} of {}", e / 2.0 * span);
        nearest = nearest.max(moved / (e / 2.0 * span + 1e-9));
    }
    assert!(nearest > 0.99, "{nearest}");
}

/// The model says `attend`, counts a head, and claims every length.
#[test]
fn a_model_tells_of_its_softmax() {
    let asked = Request {
        constructions: circuits(),
        resolution: None,
        arithmetic: Arithmetic::Float(Format::literal(Precision::F32)),
        ..request(expression("sum(exp(2 * x) * x) / sum(exp(2 * x))"), (5, 1, 2), Options::default())
    };
    let model = compile(&asked).expect("a circuit");
    let proof = model.circuit().and_then(|circuit| circuit.proof()).expect("a proof");
    let gates: Vec<_> = proof.gates.iter().map(|gate| (gate.kind, gate.formula.as_str(), gate.heads)).collect();
    assert_eq!(gates, [("softmax", "attend(2*x, x)", 1)]);
    assert_eq!(model.lengths(), (1, 5));
    assert!(model.coordinates()[1].meaning.starts_with("g1 - 1/2"), "{}", model.coordinates()[1].meaning);
}
