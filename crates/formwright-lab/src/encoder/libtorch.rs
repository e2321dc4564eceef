//! The operations of `lean.rs` by LibTorch: an attention that never writes its weights down, a layer norm in one
//! kernel, an embedding whose gradient sorts the rows first.
//!
//! LibTorch knows their gradients, but offers most of them through its own graph alone. For `y = f(x)` and a gradient
//! `g` of `y` the graph is that of `y ∘ g`, whose entries it adds up by itself: `d(Σ y ∘ g)/dx` is the result. The
//! graph lives as long as the call; `f` is computed again, as in `lean.rs`.
//!
//! Gains and biases are rounded to the precision of `x`, as all weights are; sums and exponentials inside the kernels
//! are in single precision.

use burn::backend::LibTorch;
use burn::backend::libtorch::TchTensor;
use tch::Tensor;

use super::lean::{EPSILON, Lean};

impl Lean for LibTorch {
    fn attend(qkv: TchTensor, hidden: Option<TchTensor>, batch: usize, heads: usize) -> TchTensor {
        TchTensor::new(attend(&qkv.tensor, hidden.as_ref().map(|hidden| &hidden.tensor), batch, heads))
    }

    fn attend_back(
        qkv: TchTensor,
        hidden: Option<TchTensor>,
        batch: usize,
        heads: usize,
        gradient: TchTensor,
    ) -> TchTensor {
        let hidden = hidden.as_ref().map(|hidden| &hidden.tensor);
        let [of_qkv] = back([&qkv.tensor], &gradient.tensor, |[qkv]| attend(qkv, hidden, batch, heads));
        TchTensor::new(of_qkv)
    }

    fn normalise(x: TchTensor, gain: TchTensor, bias: TchTensor) -> TchTensor {
        TchTensor::new(normalise(&x.tensor, &gain.tensor, &bias.tensor))
    }

    fn normalise_back(x: TchTensor, gain: TchTensor, gradient: TchTensor) -> [TchTensor; 3] {
        // The bias does not matter, but it must be there to have a gradient.
        let bias = gain.tensor.zeros_like();
        let of = back([&x.tensor, &gain.tensor, &bias], &gradient.tensor, |[x, gain, bias]| normalise(x, gain, bias));
        of.map(TchTensor::new)
    }

    fn embed_back(rows: usize, ids: TchTensor, gradient: TchTensor) -> TchTensor {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        TchTensor::new(Tensor::embedding_backward(&gradient.tensor, &ids.tensor, rows, -1, false, false))
    }
}

/// `d(Σ f(x) ∘ gradient) / dx` for each of the inputs.
fn back<const N: usize>(inputs: [&Tensor; N], gradient: &Tensor, f: impl Fn([&Tensor; N]) -> Tensor) -> [Tensor; N] {
    let leaves = inputs.map(|input| input.detach().set_requires_grad(true));
    let weighed = f(leaves.each_ref()) * gradient;
    let mut found = Tensor::run_backward(&[weighed], &leaves, false, false).into_iter();
    leaves.map(|leaf| found.next().filter(Tensor::defined).unwrap_or_else(|| leaf.zeros_like()))
}

fn attend(qkv: &Tensor, hidden: Option<&Tensor>, batch: usize, heads: usize) -> Tensor {
    let (rows, triple) = qkv.size2().expect("rows of queries, keys and values");
    let [batch, heads] = [batch, heads].map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    let (tokens, size) = (rows / batch, triple / 3 / heads);
    // [b, n, 3, heads, e] ↦ three of [b, heads, n, e].
    let parts = qkv.reshape([batch, tokens, 3, heads, size]).unbind(2);
    let [query, key, value] = [0, 1, 2].map(|part| parts[part].transpose(1, 2));
    // A query from which everything is hidden may look at everything; its result is not used.
    let blind = hidden.map(|hidden| hidden.all_dim(-1, true));
    let seen = hidden.zip(blind.as_ref()).map(|(hidden, blind)| hidden.logical_not().logical_or(blind));
    let found = Tensor::scaled_dot_product_attention(&query, &key, &value, seen, 0.0, false, None, false);
    let taken = match &blind {
        Some(blind) => found.masked_fill(blind, 0.0),
        None => found,
    };
    taken.transpose(1, 2).reshape([rows, heads * size])
}

fn normalise(x: &Tensor, gain: &Tensor, bias: &Tensor) -> Tensor {
    let width = x.size().last().copied().unwrap_or_default();
    let [gain, bias] = [gain, bias].map(|weights| weights.to_kind(x.kind()));
    x.layer_norm([width], Some(gain), Some(bias), EPSILON, false)
}

#[cfg(test)]
mod tests {
    use super::super::lean;
    use crate::adam::{Adam, gradient};
    use crate::config::Optimiser;
    use crate::device::libtorch;
    use crate::study::Training;
    use burn::backend::{Autodiff, Flex};
    use burn::module::{AutodiffModule, Param};
    use burn::prelude::*;
    use burn::tensor::{Bool, FloatDType, TensorData};

    type Ours = Autodiff<Flex>;
    type Theirs = Autodiff<burn::backend::LibTorch>;

    /// Numbers in (-1, 1) that repeat nowhere.
    fn numbers(shape: &[usize]) -> TensorData {
        let count = shape.iter().product::<usize>();
        #[expect(clippy::cast_precision_loss, reason = "a few numbers")]
        let next = |i: usize| ((i as f32 + 0.5) * 0.754_877_7).fract().mul_add(2.0, -1.0);
        TensorData::new((0..count).map(next).collect::<Vec<f32>>(), shape.to_vec())
    }

    fn read<B: Backend, const D: usize>(x: Tensor<B, D>) -> Vec<f32> {
        x.into_data().convert::<f32>().to_vec().expect("single precision")
    }

    fn close(ours: &[Vec<f32>], theirs: &[Vec<f32>], within: f32) {
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!(ours.len(), theirs.len());
            let off = ours.iter().zip(theirs).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
            assert!(off < within, "{off}: {ours:?} {theirs:?}");
        }
    }

    /// The output of attention, and the gradient of a weighted sum of it.
    fn attended<B: Training>(device: &B::Device, hidden: Option<Vec<bool>>) -> Vec<Vec<f32>> {
        let (batch, heads, tokens, size) = (3, 2, 5, 4);
        let qkv = Tensor::<B, 2>::from_data(numbers(&[batch * tokens, 3 * heads * size]), device).require_grad();
        let hidden = hidden.map(|hidden| {
            let rows = hidden.len() / tokens / batch;
            Tensor::<B, 4, Bool>::from_data(TensorData::new(hidden, [batch, 1, rows, tokens]), device)
        });
        let found = lean::attend(qkv.clone(), hidden, batch, heads);
        let weights = Tensor::<B, 2>::from_data(numbers(&[batch * tokens, heads * size]), device);
        let gradient = qkv.grad(&(found.clone() * weights).sum().backward()).expect("a gradient");
        vec![read(found), read(gradient)]
    }

    #[test]
    fn attention_is_that_of_the_other_backends() {
        // Padding after sequences; and single keys, for some queries all of them.
        let padding: Vec<bool> = (0..15).map(|i| i % 5 > 4 - i / 5).collect();
        let single: Vec<bool> = (0..75).map(|i| i % 3 == 0 || i / 5 == 7).collect();
        for hidden in [None, Some(padding), Some(single)] {
            let ours = attended::<Ours>(&Device::<Flex>::default(), hidden.clone());
            close(&ours, &attended::<Theirs>(&libtorch(), hidden), 5e-6);
        }
    }

    fn normalised<B: Training>(device: &B::Device, precision: FloatDType) -> Vec<Vec<f32>> {
        let x = Tensor::<B, 2>::from_data(numbers(&[7, 6]), device).require_grad();
        let [gain, bias] =
            [1.0, 0.3].map(|by| (Tensor::<B, 1>::from_data(numbers(&[6]), device) * by + 0.5).detach().require_grad());
        let found = lean::normalise(x.clone().cast(precision), gain.clone(), bias.clone()).cast(FloatDType::F32);
        let gradients = (found.clone() * Tensor::from_data(numbers(&[7, 6]), device).powi_scalar(2)).sum().backward();
        let of = |x: &Tensor<B, 1>| read(x.grad(&gradients).expect("a gradient"));
        vec![read(found), read(x.grad(&gradients).expect("a gradient")), of(&gain), of(&bias)]
    }

    #[test]
    fn norms_are_those_of_the_other_backends() {
        // Numbers below 4, rounded to 8 bits two or three times.
        for (precision, within) in [(FloatDType::F32, 5e-6), (FloatDType::BF16, 0.03)] {
            let ours = normalised::<Ours>(&Device::<Flex>::default(), precision);
            close(&ours, &normalised::<Theirs>(&libtorch(), precision), within);
        }
    }

    fn embedded<B: Training>(device: &B::Device) -> Vec<Vec<f32>> {
        let table = Tensor::<B, 2>::from_data(numbers(&[5, 3]), device).require_grad();
        let found = lean::embed(table.clone(), Tensor::from_data([[0, 4, 4], [2, 0, 4]], device));
        let weights = Tensor::<B, 3>::from_data(numbers(&[2, 3, 3]), device);
        let gradient = table.grad(&(found.clone() * weights).sum().backward()).expect("a gradient");
        vec![read(found), read(gradient)]
    }

    #[test]
    fn embeddings_are_those_of_the_other_backends() {
        close(&embedded::<Ours>(&Device::<Flex>::default()), &embedded::<Theirs>(&libtorch()), 5e-6);
    }

    #[derive(Module, Debug)]
    struct Two<B: Backend> {
        a: Param<Tensor<B, 1>>,
        b: Param<Tensor<B, 2>>,
    }

    /// Weights before and after each of three steps; those before are read at the end.
    fn stepped<B: Training>(device: &B::Device) -> Vec<Vec<f32>> {
        let mut two = Two::<B> {
            a: Param::from_tensor(Tensor::from_data(numbers(&[3]), device)),
            b: Param::from_tensor(Tensor::from_data(numbers(&[3, 2]), device)),
        };
        let mut adam = Adam::new(&Optimiser { weight_decay: 0.1, clip: 0.5, ..Optimiser::default() });
        let mut kept = vec![two.valid()];
        for _ in 0..3 {
            let loss = (two.b.val() * two.a.val().reshape([3, 1])).powi_scalar(2).sum();
            let along = gradient(&two, loss.backward());
            two = adam.step(0.1, two, along);
            kept.push(two.valid());
        }
        kept.into_iter().flat_map(|two| [read(two.a.val()), read(two.b.val())]).collect()
    }

    #[test]
    fn steps_are_those_of_the_other_backends_and_change_nothing_that_is_kept() {
        close(&stepped::<Ours>(&Device::<Flex>::default()), &stepped::<Theirs>(&libtorch()), 5e-6);
    }
}
