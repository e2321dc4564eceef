//! The whole encoder: against plain loops, its gradients, its counts, its initial weights, its precisions.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "small numbers"
)]

use std::collections::BTreeMap;

use burn::backend::flex::FlexDevice;
use burn::backend::{Autodiff, Flex};
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{DType, FloatDType, Int, Tensor, TensorData};
use formwright::random;
use formwright_lab::encoder::head::{ClassHead, MaskedHead, SpanHead, cross_entropy};
use formwright_lab::encoder::{Batch, Encoder, Head, Initial, Lean, Part, Place, Sizes};

use super::support::gradient::{Checked, check};
use super::support::reference::{Matrix, Reference, dense, matrix};
use super::support::weights::{Weights, drawn, numbers, tensor, weights};

const PLACES: [Place; 3] = [Place::Pre, Place::Post, Place::None];

/// A hybrid of all kinds, at odd sizes.
fn sizes(norm: Place) -> Sizes {
    let layout = "sepconv:3:3,attention,average,bproj,linformer:2,performer:4,sparse:star".parse().expect("a layout");
    Sizes { vocabulary: 11, tokens: 7, segments: 2, width: 6, heads: 2, hidden: 5, layout, norm }
}

fn small(layout: &str, norm: Place) -> Sizes {
    Sizes { hidden: 3, width: 4, tokens: 4, vocabulary: 5, layout: layout.parse().expect("a layout"), ..sizes(norm) }
}

#[derive(Module, Debug)]
struct Model<B: Backend> {
    encoder: Encoder<B>,
    masked: MaskedHead<B>,
    class: ClassHead<B>,
    span: SpanHead<B>,
}

fn model<B: Backend>(sizes: &Sizes) -> Model<B> {
    let initial = Initial::new(7, &B::Device::default());
    Model {
        encoder: Encoder::new(&initial, sizes).expect("an encoder"),
        masked: MaskedHead::new(&initial, sizes),
        class: ClassHead::new(&initial, sizes, 3),
        span: SpanHead::new(&initial, sizes),
    }
}

fn ints<B: Backend, const D: usize>(entries: Vec<i64>, shape: [usize; D]) -> Tensor<B, D, Int> {
    Tensor::from_data(TensorData::new(entries, shape), &B::Device::default())
}

/// Two sequences of so many tokens, the second two shorter.
fn batch<B: Backend>(sizes: &Sizes, tokens: usize) -> Batch<B> {
    let mut state = 3;
    let mut below = |bound| (0..2 * tokens).map(|_| random::below(&mut state, bound) as i64).collect();
    let padding: Vec<bool> = (0..2 * tokens).map(|row| row >= 2 * tokens - 2).collect();
    Batch {
        ids: ints(below(sizes.vocabulary), [2, tokens]),
        segments: Some(ints(below(sizes.segments), [2, tokens])),
        padding: Some(Tensor::from_data(TensorData::new(padding, [2, tokens]), &B::Device::default())),
    }
}

fn rows<B: Backend>(x: Tensor<B, 2>) -> Matrix {
    let width = x.dims()[1];
    x.into_data().convert::<f64>().to_vec::<f64>().expect("converted").chunks(width).map(<[f64]>::to_vec).collect()
}

/// By Simpson's rule.
fn gelu(x: f64) -> f64 {
    let steps = 4000;
    let h = x / f64::from(steps);
    let density = |t: f64| (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let weight = |k: i32| if k == 0 || k == steps { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
    x * (0.5 + (0..=steps).map(|k| weight(k) * density(f64::from(k) * h)).sum::<f64>() * h / 3.0)
}

fn norm(weights: &Weights, name: &str, x: &Matrix) -> Matrix {
    let (gain, bias) = (matrix(weights, &format!("{name}.gain")), matrix(weights, &format!("{name}.bias")));
    let normed = |row: &Vec<f64>| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
        let entry = |c: usize| (row[c] - mean) / (variance + 1e-12).sqrt() * gain[0][c] + bias[0][c];
        (0..row.len()).map(entry).collect()
    };
    x.iter().map(normed).collect()
}

/// The parameters below a path.
fn below(weights: &Weights, path: &str) -> Weights {
    let path = format!("{path}.");
    let inside = |(name, weight): (&String, &(Vec<usize>, Vec<f64>))| {
        Some((name.strip_prefix(&path)?.to_owned(), weight.clone()))
    };
    weights.iter().filter_map(inside).collect()
}

fn plus(x: &Matrix, y: &Matrix) -> Matrix {
    x.iter().zip(y).map(|(x, y)| x.iter().zip(y).map(|(x, y)| x + y).collect()).collect()
}

/// The encoder on one sequence.
fn reference(sizes: &Sizes, weights: &Weights, ids: &[i64], segments: &[i64], shown: &[bool]) -> Matrix {
    let row = |table: &str, row: i64| matrix(weights, table)[usize::try_from(row).expect("a row")].clone();
    let of = |table: &str, ids: &[i64]| ids.iter().map(|id| row(table, *id)).collect::<Matrix>();
    let positions: Vec<i64> = (0..ids.len() as i64).collect();
    let embedded = plus(&plus(&of("words", ids), &of("positions", &positions)), &of("segments", segments));
    let top = |x: Matrix, place| if sizes.norm == place { norm(weights, "norm", &x) } else { x };
    let mut x = top(embedded, Place::Post);
    for (layer, mix) in sizes.layout.layers().iter().enumerate() {
        let weights = below(weights, &format!("layers.{layer}"));
        let mixing = below(&weights, "mixer");
        let mixer = Reference {
            mix,
            weights: &mixing,
            heads: sizes.heads,
            seen: mix.to_string().starts_with("sparse").then(|| sizes.connections(layer).expect("a pattern")),
            features: features(layer, sizes),
        };
        let fed = |x: &Matrix| {
            let wide = dense(&weights, "wide", x);
            dense(&weights, "narrow", &wide.iter().map(|row| row.iter().copied().map(gelu).collect()).collect())
        };
        let steps: [&dyn Fn(&Matrix) -> Matrix; 2] = [&|x| mixer.mixed(x, shown), &fed];
        for (step, at) in steps.iter().zip(["norms.0", "norms.1"]) {
            x = match sizes.norm {
                Place::Pre => plus(&x, &step(&norm(&weights, at, &x))),
                Place::Post => norm(&weights, at, &plus(&x, &step(&x))),
                Place::None => plus(&x, &step(&x)),
            };
        }
    }
    top(x, Place::Pre)
}

/// The features of layer `layer`, if it is a Performer with four of them.
fn features(layer: usize, sizes: &Sizes) -> Matrix {
    let initial = Initial::<Flex>::new(7, &FlexDevice).of("layers").of(layer).of("mixer");
    let mut normal = initial.normal("features");
    (0..sizes.width / sizes.heads).map(|_| (0..4).map(|_| f64::from(normal() as f32)).collect()).collect()
}

#[test]
fn the_encoder_and_its_heads_are_their_formulas() {
    for place in PLACES {
        let sizes = sizes(place);
        let model = drawn(model::<Flex>(&sizes), 3, 0.5);
        let encoder = model.encoder.clone().in_precision(FloatDType::F64);
        // Shorter than the longest.
        let tokens = 5;
        let batch = batch::<Flex>(&sizes, tokens);
        let view = encoder.view(&batch);
        let x = encoder.forward(&batch, &view);
        let all = weights::<Flex, _>(&model);
        let list = |ids: &Tensor<Flex, 2, Int>| ids.to_data().convert::<i64>().to_vec::<i64>().expect("integers");
        let (ids, segments) = (list(&batch.ids), list(batch.segments.as_ref().expect("segments")));
        for sequence in 0..2 {
            let of = sequence * tokens..(sequence + 1) * tokens;
            let shown: Vec<bool> = of.clone().map(|row| row < 2 * tokens - 2).collect();
            let expected = reference(&sizes, &below(&all, "encoder"), &ids[of.clone()], &segments[of.clone()], &shown);
            let found = rows(x.clone())[of].to_vec();
            for token in (0..tokens).filter(|token| shown[*token]) {
                for (found, expected) in found[token].iter().zip(&expected[token]) {
                    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{place:?}: {found} {expected}");
                }
            }
        }
        heads(&model, &rows(x.clone()), x, &view, &all, &sizes);
    }
}

/// The heads, on what the encoder gave.
fn heads(
    model: &Model<Flex>,
    x: &Matrix,
    given: Tensor<Flex, 2>,
    view: &formwright_lab::encoder::View<Flex>,
    all: &Weights,
    sizes: &Sizes,
) {
    let close = |found: Matrix, expected: Matrix| {
        for (found, expected) in found.concat().iter().zip(expected.concat()) {
            assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} {expected}");
        }
    };
    let tokens = view.tokens;
    // Masked words at two places of each sequence.
    let places = [[4, 1], [0, 2]];
    let found = model.masked.forward(&model.encoder, given.clone(), ints(places.concat(), [2, 2]));
    let chosen = (0..2).flat_map(|sequence| {
        places[sequence].map(|place| x[sequence * tokens + usize::try_from(place).expect("small")].clone())
    });
    let mut h = dense(&below(all, "masked"), "transform", &chosen.collect());
    h.iter_mut().flatten().for_each(|entry| *entry = gelu(*entry));
    if sizes.norm != Place::None {
        h = norm(&below(all, "masked"), "norm", &h);
    }
    let (words, bias) = (matrix(all, "words"), all["masked.bias"].1.clone());
    let score = |h: &Vec<f64>, word: usize| bias[word] + h.iter().zip(&words[word]).map(|(a, b)| a * b).sum::<f64>();
    close(rows(found), h.iter().map(|h| (0..words.len()).map(|word| score(h, word)).collect()).collect());
    // A class.
    let class = below(all, "class");
    let mut pooled = dense(&class, "pool", &vec![x[0].clone(), x[tokens].clone()]);
    pooled.iter_mut().flatten().for_each(|entry| *entry = entry.tanh());
    close(rows(model.class.forward(given.clone(), view)), dense(&class, "output", &pooled));
    // A span.
    let ends = dense(&below(all, "span"), "output", x);
    for (end, found) in model.span.forward(given, view).into_iter().enumerate() {
        let found = rows(found).concat();
        for (row, found) in found.into_iter().enumerate() {
            let expected = if row < 2 * tokens - 2 { ends[row][end] } else { f64::from(f32::MIN) };
            assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{found} {expected}");
        }
    }
}

#[test]
fn the_loss_is_the_mean_logarithm_by_weights() {
    let scores = [[1.0, 2.0, -1.0], [0.5, 0.0, 3.0], [100.0, 0.0, 0.0]];
    let (labels, weights) = ([2, 0, 1], [1.0, 0.5, 0.0]);
    let logarithm = |row: usize| {
        let sum: f64 = scores[row].iter().map(|score: &f64| score.exp()).sum();
        (scores[row][labels[row]].exp() / sum).ln()
    };
    let expected = -(0..2).map(|row| weights[row] * logarithm(row)).sum::<f64>() / 1.5;
    let labels = labels.map(|label| label as i64).to_vec();
    let loss = cross_entropy::<Flex>(tensor(scores.concat(), [3, 3]), ints(labels, [3]), tensor(weights.to_vec(), [3]));
    assert!((f64::from(loss.into_scalar()) - expected).abs() < 1e-6);
}

/// All three heads in one loss.
fn loss<B: Lean>(model: &Model<B>, batch: &Batch<B>) -> Tensor<B, 1> {
    let encoder = model.encoder.clone().in_precision(FloatDType::F64);
    let view = encoder.view(batch);
    let x = encoder.forward(batch, &view);
    let ones = |count: usize| tensor::<B, 1>(vec![1.0; count], [count]);
    let words = model.masked.forward(&encoder, x.clone(), ints(vec![1, 0, 2, 1], [2, 2]));
    let masked = cross_entropy(words, ints(vec![1, 0, 3, 2], [4]), tensor(vec![1.0, 0.5, 1.0, 0.0], [4]));
    let class = cross_entropy(model.class.forward(x.clone(), &view), ints(vec![2, 0], [2]), ones(2));
    let [first, last] = model.span.forward(x, &view);
    let span =
        cross_entropy(first, ints(vec![1, 0], [2]), ones(2)) + cross_entropy(last, ints(vec![1, 1], [2]), ones(2));
    masked + class + span
}

#[test]
fn every_gradient_of_the_whole_is_that_of_differences() {
    for place in PLACES {
        let sizes = small("attention,sepconv:3:2", place);
        let model = drawn(model::<Checked>(&sizes), 5, 1.0);
        let entries = model.num_params();
        let batch = batch(&sizes, 4);
        assert_eq!(check(model, |model| loss(model, &batch)), Ok(entries), "{place:?}");
    }
}

#[test]
fn parameters_are_counted_by_formulas() {
    for (place, layout) in
        PLACES.iter().flat_map(|place| ["attention*2", "average,bproj", ""].map(|layout| (*place, layout)))
    {
        let sizes = if layout.is_empty() { sizes(place) } else { small(layout, place) };
        let model = model::<Flex>(&sizes);
        let parts = sizes.parts().iter().map(Part::parameters).sum::<usize>();
        assert_eq!(parts, model.encoder.num_params());
        let heads = [Head::Masked, Head::Class(3), Head::Span].map(|head| sizes.head(head).parameters());
        assert_eq!(heads, [model.masked.num_params(), model.class.num_params(), model.span.num_params()]);
        assert_eq!(sizes.parameters(Head::Span), parts + heads[2]);
    }
}

/// Yun et al. 2020, Table 1, in millions: what our formulas give for BERT-base and the masked-LM head.
#[test]
fn the_counts_of_table_1_are_met() {
    let base = |layout: &str| {
        let layout = layout.parse().expect("a layout");
        let (vocabulary, tokens, segments) = (30_522, 512, 2);
        let sizes =
            Sizes { vocabulary, tokens, segments, width: 768, heads: 12, hidden: 3072, layout, norm: Place::Post };
        sizes.parameters(Head::Masked)
    };
    // 88.3, 102.5 and 110.
    assert_eq!(base("average*12"), 88_252_986);
    assert_eq!(base("sepconv*12"), 102_451_770);
    assert_eq!(base("attention*12"), 109_514_298);
    // 90, with a W_P for 384 tokens; for all 512 it is 91.4.
    assert_eq!(base("bproj*12"), 91_398_714);
    assert_eq!(base("bproj*12") - 12 * (512 * 512 - 384 * 384), 90_022_458);
}

#[test]
fn encoders_that_differ_in_a_layer_begin_alike_elsewhere() {
    let weights = |layout: &str| weights::<Flex, _>(&model::<Flex>(&small(layout, Place::Post)));
    let (one, other) = (weights("attention*3"), weights("attention,sepconv:3:2,attention"));
    let elsewhere = |weights: &Weights| {
        let kept = weights.iter().filter(|(name, _)| !name.starts_with("encoder.layers.1.mixer"));
        kept.map(|(name, weight)| (name.clone(), weight.clone())).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(elsewhere(&one), elsewhere(&other));
    assert_ne!(one, other);
    // No two matrices are the same.
    let matrices: Vec<_> =
        one.values().filter(|(shape, _)| shape.len() == 2).map(|(_, entries)| &entries[..4]).collect();
    assert!((0..matrices.len()).all(|i| !matrices[..i].contains(&matrices[i])));
}

#[test]
fn initial_matrices_are_truncated_normal_and_biases_zero() {
    let initial = Initial::<Flex>::new(1, &FlexDevice);
    let entries =
        initial.matrix("x", [300, 300]).val().into_data().convert::<f64>().to_vec::<f64>().expect("converted");
    let mean = |f: &dyn Fn(f64) -> f64| entries.iter().map(|x| f(x / 0.02)).sum::<f64>() / entries.len() as f64;
    // Variance of a normal number cut at 2: 1 - 4 φ(2) / (2 Φ(2) - 1) = 0.7737; four standard errors of 90,000.
    assert!(mean(&|x| x).abs() < 4.0 * 0.88 / 300.0);
    assert!((mean(&|x| x * x) - 0.7737).abs() < 4.0 * 0.9 / 300.0);
    assert!((mean(&|x| f64::from(x.abs() < 1.0)) - 0.6827 / 0.9545).abs() < 4.0 * 0.5 / 300.0);
    assert!(entries.iter().all(|x| x.abs() <= 0.04 + 1e-9));
}

/// The gradients of every parameter, as vectors, and their precisions.
struct Gradients<'a> {
    of: &'a <Checked as AutodiffBackend>::Gradients,
    found: Vec<(DType, Vec<f64>)>,
}

impl ModuleVisitor<Checked> for Gradients<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<Checked, D>>) {
        if let Some(gradient) = param.val().grad(self.of) {
            let dtype = gradient.dtype();
            self.found.push((dtype, gradient.into_data().convert::<f64>().to_vec().expect("converted")));
        }
    }
}

#[test]
fn half_precision_keeps_weights_and_gradients_in_single_and_comes_near() {
    let sizes = Sizes {
        layout: "sepconv:3:3,attention,average,bproj,sparse:star".parse().expect("a layout"),
        ..sizes(Place::Post)
    };
    let batch = batch::<Checked>(&sizes, 7);
    let gradients = |precision: FloatDType| {
        let Model { encoder, masked, .. } = model::<Checked>(&sizes);
        let encoder = encoder.in_precision(precision);
        let x = encoder.forward(&batch, &encoder.view(&batch));
        assert_eq!(x.dtype(), precision.into());
        let scores = masked.forward(&encoder, x, ints(vec![0, 1], [2, 1]));
        assert_eq!(scores.dtype(), DType::F32);
        let weights = Tensor::ones([2], &FlexDevice);
        let loss = cross_entropy(scores, ints(vec![3, 4], [2]), weights);
        let mut gradients = Gradients { of: &loss.backward(), found: Vec::new() };
        encoder.visit(&mut gradients);
        masked.visit(&mut gradients);
        gradients.found
    };
    let (half, single) = (gradients(FloatDType::BF16), gradients(FloatDType::F32));
    assert_eq!(half.len(), single.len());
    for ((half_type, half), (single_type, single)) in half.iter().zip(&single) {
        assert_eq!((*half_type, *single_type), (DType::F32, DType::F32));
        let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let off: Vec<f64> = half.iter().zip(single).map(|(half, single)| half - single).collect();
        // A number of bfloat16 has eight bits, and a gradient goes through a dozen of roundings.
        assert!(length(&off) <= 0.1 * length(single) + 1e-6, "{} of {}", length(&off), length(single));
    }
}

#[test]
fn rows_of_a_table_get_the_sum_of_their_gradients_either_way() {
    let ids = || ints::<Flex, 2>(vec![0, 3, 3, 1, 3, 0], [2, 3]).into_primitive();
    let gradient = || tensor::<Flex, 3>(numbers(&mut 5, 24), [2, 3, 4]);
    let by_row = Flex::embed_back(5, ids(), gradient().into_primitive().tensor());
    // What has no way of its own takes the product.
    let by_product =
        Autodiff::<Flex>::embed_back(5, ids(), Tensor::<Checked, 3>::from_inner(gradient()).into_primitive().tensor());
    let by_row = rows(Tensor::<Flex, 2>::from_primitive(burn::tensor::TensorPrimitive::Float(by_row)));
    let by_product = Tensor::<Checked, 2>::from_primitive(burn::tensor::TensorPrimitive::Float(by_product));
    let by_product = rows(by_product);
    for (a, b) in by_row.concat().iter().zip(by_product.concat()) {
        assert!((a - b).abs() < 1e-14);
    }
    assert_eq!(by_row[2], [0.0; 4]);
}

#[test]
fn sizes_that_do_not_fit_are_refused_with_a_way_out() {
    let refusal = |sizes: Sizes| sizes.check().expect_err("does not fit").to_string();
    let base = sizes(Place::Post);
    let with = |layout: &str| Sizes { layout: layout.parse().expect("a layout"), ..base.clone() };
    insta::assert_snapshot!(
        [
            Sizes { vocabulary: 0, ..base.clone() },
            Sizes { heads: 4, ..with("average,attention") },
            with("attention,sepconv:3:5"),
            with("sparse:random:9:1"),
            with("sparse:hub@7"),
        ]
        .map(refusal)
        .join("\n\n")
    );
}
