//! The models of functions: sizes, gradients, and values against plain loops.

#![allow(
    clippy::default_trait_access,
    clippy::cast_possible_truncation,
    reason = "a backend has one device here; numbers of models are f32"
)]

use super::support::gradient::{self, Checked};
use burn::backend::Flex;
use burn::module::Module as _;
use burn::tensor::{DType, Tensor, TensorData};
use formwright::random;
use formwright_lab::config::{Architecture, Norm, Perceptron, power_sums};
use formwright_lab::model::sumformer::Monomials;
use formwright_lab::model::{Mlp, Regressor};

const SMALL: Perceptron = Perceptron { hidden: 4, layers: 2 };

fn all() -> Vec<Architecture> {
    // In the gradient of a mean burn rounds 1/width to f32, whatever it is computed in: a width whose reciprocal is exact.
    let transformer =
        |norm, positions| Architecture::Transformer { blocks: 2, width: 8, heads: 2, hidden: 5, norm, positions };
    vec![
        Architecture::PolynomialSumformer { psi: SMALL },
        Architecture::PolynomialSumformer { psi: Perceptron { hidden: 3, layers: 0 } },
        Architecture::MlpSumformer { perceptron: SMALL, latent: 3 },
        Architecture::MlpSumformer { perceptron: Perceptron { hidden: 5, layers: 1 }, latent: 1 },
        transformer(Norm::None, false),
        transformer(Norm::Pre, true),
        transformer(Norm::Post, false),
    ]
}

/// Numbers in `[0, 1)`, exact in single precision.
fn numbers(count: usize, mut seed: u64) -> Vec<f64> {
    (0..count).map(|_| f64::from(random::uniform(&mut seed) as f32)).collect()
}

fn doubles(count: usize, tokens: usize, dims: usize, seed: u64) -> Tensor<Checked, 3> {
    let data = TensorData::new(numbers(count * tokens * dims, seed), [count, tokens, dims]);
    Tensor::from_data(data, (&Default::default(), DType::F64))
}

#[test]
fn the_number_of_parameters_is_the_formula() {
    for model in all() {
        for (tokens, dims, outputs) in [(1, 1, 1), (4, 2, 3), (5, 3, 1)] {
            let built = Regressor::<Flex>::new(&model, tokens, dims, outputs, 1, &Default::default());
            assert_eq!(
                built.num_params(),
                model.parameters(dims, outputs, tokens),
                "{model:?} {tokens} {dims} {outputs}"
            );
        }
    }
}

#[test]
fn gradients_are_those_of_differences() {
    for model in all() {
        for (tokens, dims, outputs) in [(1, 2, 1), (3, 1, 2), (5, 2, 2)] {
            let (x, y) = (doubles(2, tokens, dims, 3), doubles(2, tokens, outputs, 4));
            let built = Regressor::<Checked>::new(&model, tokens, dims, outputs, 9, &Default::default());
            let compared = gradient::check(built, |built| (built.forward(x.clone()) - y.clone()).powi_scalar(2).mean());
            assert_eq!(compared, Ok(model.parameters(dims, outputs, tokens)), "{model:?} {tokens} {dims} {outputs}");
        }
    }
}

#[test]
fn monomials_are_all_of_them_once() {
    for (dims, degree) in [(1, 1), (1, 5), (2, 3), (3, 4), (4, 2)] {
        let monomials = Monomials::new(dims, degree);
        assert_eq!(monomials.count(), power_sums(degree, dims));
        // Powers of different primes: every monomial has a value of its own, by unique factorisation.
        let primes = [2.0, 3.0, 5.0, 7.0];
        let x = Tensor::<Flex, 3>::from_data(
            TensorData::new(primes[..dims].to_vec(), [1, 1, dims]),
            (&Default::default(), DType::F64),
        );
        let mut found = monomials.of(&x).into_data().to_vec::<f64>().expect("numbers");
        let mut expected = vec![1.0];
        for _ in 0..degree {
            let longer: Vec<f64> = expected.iter().flat_map(|y| primes[..dims].iter().map(move |p| y * p)).collect();
            expected.extend(longer);
            expected.sort_by(f64::total_cmp);
            expected.dedup();
        }
        found.sort_by(f64::total_cmp);
        assert_eq!(found, expected[1..], "{dims} {degree}");
    }
}

/// `W_L R(… R(W_1 x + b_1) …) + b_L`, by loops.
fn perceptron(mlp: &Mlp<Flex>, x: &[f64]) -> Vec<f64> {
    let mut x = x.to_vec();
    for (place, layer) in mlp.layers().iter().enumerate() {
        let [from, to] = layer.weight.dims();
        let entries = |data: TensorData| data.convert::<f64>().to_vec::<f64>().expect("numbers");
        let (weight, bias) =
            (entries(layer.weight.val().into_data()), entries(layer.bias.as_ref().expect("a bias").val().into_data()));
        let row = |k: usize| bias[k] + (0..from).map(|j| weight[j * to + k] * x[j]).sum::<f64>();
        x = (0..to).map(row).collect();
        if place + 1 < mlp.layers().len() {
            for x in &mut x {
                *x = x.max(0.0);
            }
        }
    }
    x
}

#[test]
fn an_mlp_sumformer_is_psi_of_a_token_and_the_sum_of_phi() {
    let (count, tokens, dims, outputs) = (3, 4, 2, 2);
    let model = Architecture::MlpSumformer { perceptron: SMALL, latent: 3 };
    let Regressor::Mlp(built) = Regressor::<Flex>::new(&model, tokens, dims, outputs, 5, &Default::default()) else {
        panic!("an MLP Sumformer")
    };
    let x = numbers(count * tokens * dims, 8);
    let input =
        Tensor::from_data(TensorData::new(x.clone(), [count, tokens, dims]).convert::<f32>(), &Default::default());
    let found = built.forward(input).into_data().convert::<f64>().to_vec::<f64>().expect("numbers");
    let mut expected = Vec::new();
    for sequence in x.chunks(tokens * dims) {
        let mut sums = vec![0.0; 3];
        for token in sequence.chunks(dims) {
            for (sum, phi) in sums.iter_mut().zip(perceptron(built.phi(), token)) {
                *sum += phi;
            }
        }
        for token in sequence.chunks(dims) {
            expected.extend(perceptron(built.psi(), &[token, &sums].concat()));
        }
    }
    for (found, expected) in found.iter().zip(&expected) {
        // Some fifty roundings of numbers below 4.
        assert!((found - expected).abs() <= 50.0 * 4.0 * f64::from(f32::EPSILON), "{found} {expected}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn models_without_positions_are_equivariant() {
    let (tokens, dims) = (4, 2);
    let x = doubles(1, tokens, dims, 6);
    let turned = x.clone().flip([1]);
    for model in all() {
        let built = gradient::doubled(Regressor::<Checked>::new(&model, tokens, dims, 2, 5, &Default::default()));
        let wrong = (built.forward(turned.clone()) - built.forward(x.clone()).flip([1])).abs().max();
        let wrong = wrong.into_data().to_vec::<f64>().expect("a number")[0];
        let knows_places = matches!(model, Architecture::Transformer { positions: true, .. });
        assert_eq!(wrong > 1e-12, knows_places, "{model:?}: {wrong}");
    }
}
