//! Every token mixer: against plain loops, its gradients against differences, its symmetries.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "small numbers")]

use burn::backend::Flex;
use burn::backend::flex::FlexDevice;
use burn::module::{Module, Param};
use burn::tensor::backend::Backend;
use burn::tensor::{FloatDType, Tensor, TensorData};
use formwright_lab::encoder::mixer::Mixer;
use formwright_lab::encoder::{Initial, Lean, Mix, Place, Sizes, View};

use super::support::gradient::{Checked, check};
use super::support::reference::{Matrix, Reference};
use super::support::weights::{drawn, numbers, tensor, weights};

/// Every kind of mixer, and every kind of pattern; filters shorter than a sequence, longer, of even and odd lengths.
const MIXES: [&str; 22] = [
    "attention",
    "average",
    "bproj",
    "sepconv:1:3",
    "sepconv:4:1",
    "sepconv:3:3",
    "sepconv:30:3",
    "linformer:1",
    "linformer:4",
    "performer:5",
    "sparse:dense",
    "sparse:window:1",
    "sparse:star",
    "sparse:hub",
    "sparse:strided:2",
    "sparse:strided-causal:2",
    "sparse:fixed:2",
    "sparse:fixed-causal:3",
    "sparse:bigbird:4",
    "sparse:random:1:7",
    "sparse:dilated:1:2",
    "sparse:block:3",
];

/// Odd sizes: tokens, width, heads.
const SHAPES: [(usize, usize, usize); 3] = [(1, 3, 1), (5, 6, 2), (7, 9, 3)];

/// Two layers of a mix, so that a cycle is gone through, for sequences of up to two tokens more than there will be.
fn sizes(mix: &str, (tokens, width, heads): (usize, usize, usize)) -> Sizes {
    let layout = format!("{mix}*2").parse().expect("a layout");
    Sizes { vocabulary: 1, tokens: tokens + 2, segments: 0, width, heads, hidden: 1, layout, norm: Place::None }
}

/// A mixer with weights worth testing with.
fn mixer<B: Backend>(sizes: &Sizes, layer: usize) -> Mixer<B> {
    let initial = Initial::new(1, &B::Device::default());
    drawn(Mixer::new(&initial, sizes, layer).expect("a mixer"), 3, 1.0)
}

/// Two sequences, the second with padding in it where it is long enough.
fn padding(tokens: usize) -> Vec<bool> {
    (0..2 * tokens).map(|row| tokens > 2 && row > tokens && [1, tokens - 1].contains(&(row - tokens))).collect()
}

fn view<B: Backend>(tokens: usize, padding: Option<Vec<bool>>) -> View<B> {
    let mask = |padding| Tensor::from_data(TensorData::new(padding, [2, tokens]), &B::Device::default());
    View::new(2, tokens, padding.map(mask), FloatDType::F64)
}

fn rows<B: Backend>(x: Tensor<B, 2>) -> Matrix {
    let width = x.dims()[1];
    x.into_data().to_vec::<f64>().expect("double precision").chunks(width).map(<[f64]>::to_vec).collect()
}

/// The largest difference of the rows that count.
fn distance(a: &Matrix, b: &Matrix, counts: impl Fn(usize) -> bool) -> f64 {
    let pairs = a.iter().zip(b).enumerate().filter(|(row, _)| counts(*row)).map(|(_, pair)| pair);
    let distances = pairs.flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b).abs()));
    distances.fold(0.0, |most, distance| if distance > most || distance.is_nan() { distance } else { most })
}

#[test]
fn every_mixer_is_its_formula_with_padding_and_patterns() {
    for (mix, shape) in MIXES.iter().flat_map(|mix| SHAPES.map(|shape| (mix, shape))) {
        let (n, d, heads) = shape;
        let sizes = sizes(mix, shape);
        let mix = &sizes.layout.layers()[0];
        for (layer, padded) in [(0, true), (1, true), (0, false)] {
            let mixer = mixer::<Flex>(&sizes, layer);
            let x = numbers(&mut 5, 2 * n * d);
            let hidden = if padded { padding(n) } else { vec![false; 2 * n] };
            let found = mixer.forward(tensor(x.clone(), [2 * n, d]), &view(n, padded.then(|| hidden.clone())));
            let reference = Reference {
                mix,
                weights: &weights::<Flex, _>(&mixer),
                heads,
                seen: matches!(mix, Mix::Sparse { .. }).then(|| sizes.connections(layer).expect("a pattern")),
                features: features(mix, d / heads),
            };
            let x: Matrix = x.chunks(d).map(<[f64]>::to_vec).collect();
            let shown: Vec<bool> = hidden.iter().map(|hidden| !hidden).collect();
            let expected: Matrix =
                x.chunks(n).zip(shown.chunks(n)).flat_map(|(x, shown)| reference.mixed(&x.to_vec(), shown)).collect();
            let off = distance(&rows(found), &expected, |row| shown[row]);
            assert!(off < 1e-12, "{mix}, {shape:?}, layer {layer}, padded {padded}: off by {off:e}");
        }
    }
}

/// The features that a Performer draws, which it keeps in single precision.
fn features(mix: &Mix, size: usize) -> Matrix {
    let Mix::Performer { features } = mix else { return Vec::new() };
    let mut normal = Initial::<Flex>::new(1, &FlexDevice).normal("features");
    (0..size).map(|_| (0..*features).map(|_| f64::from(normal() as f32)).collect()).collect()
}

#[test]
fn no_token_sees_padding() {
    for (mix, shape) in MIXES.iter().flat_map(|mix| SHAPES[1..].iter().map(move |shape| (mix, *shape))) {
        let (n, d, _) = shape;
        let mixer = mixer::<Flex>(&sizes(mix, shape), 0);
        let hidden = padding(n);
        let mixed = |seed: u64| {
            let (mut x, other) = (numbers(&mut 5, 2 * n * d), numbers(&mut seed.clone(), 2 * n * d));
            (0..x.len()).filter(|entry| hidden[entry / d]).for_each(|entry| x[entry] = 100.0 * other[entry]);
            rows(mixer.forward(tensor(x, [2 * n, d]), &view(n, Some(hidden.clone()))))
        };
        let off = distance(&mixed(8), &mixed(9), |row| !hidden[row]);
        assert!(off <= 0.0, "{mix}, {shape:?}: off by {off:e}");
    }
}

#[test]
fn a_token_that_sees_only_padding_gets_nothing() {
    // In a window of 1, token 0 sees tokens 0 and 1: as padding, they leave nothing but the bias.
    let mixer = mixer::<Flex>(&sizes("sparse:window:1", (3, 3, 1)), 0);
    let hidden = vec![true, true, false, false, false, false];
    let found = rows(mixer.forward(tensor(numbers(&mut 5, 18), [6, 3]), &view(3, Some(hidden))));
    let (_, bias) = &weights::<Flex, _>(&mixer)["Sparse.attention.output.bias"];
    assert_eq!(&found[0], bias);
}

/// A mixer and what it is given, so that both gradients are looked at.
#[derive(Module, Debug)]
struct Given<B: Backend> {
    x: Param<Tensor<B, 2>>,
    mixer: Mixer<B>,
}

/// Not linear in anything, and without padding's rows.
fn loss<B: Lean>(given: &Given<B>, view: &View<B>) -> Tensor<B, 1> {
    let found = view.shown(given.mixer.forward(given.x.val(), view));
    let [rows, width] = found.dims();
    let by = tensor(numbers(&mut 11, rows * width), [rows, width]);
    (found.clone() * found.clone() * by.clone() + found * by).mean()
}

#[test]
fn every_gradient_is_that_of_differences() {
    // Patterns differ in nothing but what is hidden: one shape will do.
    let all = MIXES.iter().flat_map(|mix| SHAPES.map(|shape| (mix, shape)));
    for (mix, shape) in all.filter(|(mix, shape)| !mix.starts_with("sparse") || *shape == SHAPES[1]) {
        let (n, d, _) = shape;
        let mixer = mixer::<Checked>(&sizes(mix, shape), 1);
        let given = Given { x: Param::from_tensor(tensor(numbers(&mut 5, 2 * n * d), [2 * n, d])), mixer };
        let view = view(n, Some(padding(n)));
        let entries = given.num_params();
        assert_eq!(check(given, |given| loss(given, &view)), Ok(entries), "{mix}, {shape:?}");
    }
}

#[test]
fn a_wrong_gradient_is_noticed() {
    let given = || Given {
        x: Param::from_tensor(tensor(numbers(&mut 5, 6), [2, 3])),
        mixer: mixer::<Checked>(&sizes("average", (1, 3, 1)), 0),
    };
    let view = view(1, None);
    assert_eq!(check(given(), |given| loss(given, &view)), Ok(given().num_params()));
    // The same number, but half of the gradient does not flow.
    let halved = |given: &Given<Checked>| (loss(given, &view) + loss(given, &view).detach()) * 0.5;
    let told = check(given(), halved).expect_err("half a gradient");
    assert!(told.starts_with("x[0]: gradient"), "{told}");
    // One entry in a thousand parts.
    let bent = |given: &Given<Checked>| loss(given, &view) + given.x.val().narrow(0, 1, 1).detach().sum() * 1e-3;
    assert!(check(given(), bent).expect_err("a part of it").starts_with("x[3]: gradient"));
}

#[test]
fn a_pattern_that_hides_nothing_is_attention() {
    for shape in SHAPES {
        let (n, d, _) = shape;
        let mixed = |mix: &str, padded: bool| {
            let x = tensor(numbers(&mut 5, 2 * n * d), [2 * n, d]);
            rows(mixer::<Flex>(&sizes(mix, shape), 0).forward(x, &view(n, padded.then(|| padding(n)))))
        };
        let patterns = ["sparse:dense", "sparse:window:9", "sparse:block:9"];
        for (pattern, padded) in patterns.iter().flat_map(|pattern| [(pattern, true), (pattern, false)]) {
            let off = distance(&mixed(pattern, padded), &mixed("attention", padded), |_| true);
            assert!(off < 1e-13, "{pattern}, {shape:?}, padded {padded}: off by {off:e}");
        }
    }
}

#[test]
fn attention_and_averages_know_no_order_and_projections_and_convolutions_do() {
    let shape @ (n, d, _) = (5, 6, 2);
    let order = [3, 1, 4, 0, 2, 5, 7, 6, 9, 8];
    let x: Matrix = numbers(&mut 5, 2 * n * d).chunks(d).map(<[f64]>::to_vec).collect();
    let permuted = |x: &Matrix| order.map(|row| x[row].clone()).to_vec();
    for (mix, knows_order) in [
        ("attention", false),
        ("average", false),
        ("performer:5", false),
        ("sparse:dense", false),
        ("bproj", true),
        ("sepconv:3:3", true),
        ("linformer:2", true),
        ("sparse:window:1", true),
    ] {
        let mixer = mixer::<Flex>(&sizes(mix, shape), 0);
        let mixed = |x: Matrix| rows(mixer.forward(tensor(x.concat(), [2 * n, d]), &view(n, None)));
        let off = distance(&mixed(permuted(&x)), &permuted(&mixed(x.clone())), |_| true);
        assert_eq!(off > 1e-3, knows_order, "{mix}: off by {off:e}");
        assert!(knows_order || off < 1e-13, "{mix}: off by {off:e}");
    }
}
