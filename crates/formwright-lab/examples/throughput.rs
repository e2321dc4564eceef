//! Tokens per second of training steps of the encoder with its masked-LM head: AdamW, random words, 15 % of them asked
//! for.
//!
//! ```text
//! cargo run --release -p formwright-lab --features cuda --example throughput -- --precision bf16
//! ```
//!
//! with `libtorch` by PyTorch's kernels, with neither feature on the processor.
//!
//! `python/benchmarks/encoder_torch.py` does the same steps in PyTorch, takes the same sizes and prints the same line.
//! Steps that warm up are not counted.

use std::time::{Duration, Instant};

use burn::backend::Autodiff;
use burn::module::Module;
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{FloatDType, Int, Tensor, TensorData};
use clap::{Parser, ValueEnum};
use formwright::error::Result;
use formwright::random;
use formwright_lab::adam::{Adam, gradient};
use formwright_lab::config::Optimiser;
use formwright_lab::encoder::head::{MaskedHead, cross_entropy};
use formwright_lab::encoder::{Batch, Encoder, Head, Initial, Layout, Lean, Place, Sizes};

#[cfg(feature = "libtorch")]
type Inner = burn::backend::LibTorch;
#[cfg(all(feature = "cuda", not(feature = "libtorch")))]
type Inner = burn::backend::Cuda;
#[cfg(not(any(feature = "cuda", feature = "libtorch")))]
type Inner = burn::backend::Flex;

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value = "attention*12")]
    layout: Layout,
    #[arg(long, default_value_t = 512)]
    width: usize,
    #[arg(long, default_value_t = 8)]
    heads: usize,
    #[arg(long, default_value_t = 2048)]
    hidden: usize,
    #[arg(long, default_value_t = 16384)]
    vocabulary: usize,
    /// Tokens of a sequence
    #[arg(long, default_value_t = 128)]
    tokens: usize,
    /// Sequences of a step
    #[arg(long, default_value_t = 128)]
    batch: usize,
    #[arg(long, value_enum, default_value_t = Precision::F32)]
    precision: Precision,
    #[arg(long, default_value_t = 20)]
    steps: u32,
    #[arg(long, default_value_t = 5)]
    warm_up: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Precision {
    F32,
    Bf16,
}

/// The model that is trained.
#[derive(Module, Debug)]
struct Model<B: Backend> {
    encoder: Encoder<B>,
    head: MaskedHead<B>,
}

/// The batch of a step.
struct Seen<B: Backend> {
    batch: Batch<B>,
    places: Tensor<B, 2, Int>,
    labels: Tensor<B, 1, Int>,
    weights: Tensor<B, 1>,
}

fn drawn<B: Backend>(sizes: &Sizes, batch: usize, device: &B::Device) -> Seen<B> {
    let asked = (sizes.tokens * 15).div_ceil(100);
    let mut state = 1;
    let mut below = |bound: usize, count: usize| {
        (0..count).map(|_| i64::try_from(random::below(&mut state, bound)).unwrap_or_default()).collect::<Vec<i64>>()
    };
    let ids = TensorData::new(below(sizes.vocabulary, batch * sizes.tokens), [batch, sizes.tokens]);
    let places = TensorData::new(below(sizes.tokens, batch * asked), [batch, asked]);
    let labels = TensorData::new(below(sizes.vocabulary, batch * asked), [batch * asked]);
    Seen {
        batch: Batch { ids: Tensor::from_data(ids, device), segments: None, padding: None },
        places: Tensor::from_data(places, device),
        labels: Tensor::from_data(labels, device),
        weights: Tensor::ones([batch * asked], device),
    }
}

/// Runs work, and adds the time until the device has finished it.
fn timed<B: Backend, T>(device: &B::Device, spent: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    B::sync(device).expect("the device answers");
    *spent += start.elapsed();
    done
}

fn run<B: AutodiffBackend + Lean>(arguments: &Arguments, device: &B::Device) -> Result<()> {
    let &Arguments { width, heads, hidden, vocabulary, tokens, batch, steps, warm_up, .. } = arguments;
    let layout = arguments.layout.clone();
    let sizes = Sizes { vocabulary, tokens, segments: 0, width, heads, hidden, layout, norm: Place::Post };
    let (precision, named) = match arguments.precision {
        Precision::F32 => (FloatDType::F32, "f32"),
        Precision::Bf16 => (FloatDType::BF16, "bf16"),
    };
    let initial = Initial::new(1, device);
    let encoder = Encoder::<B>::new(&initial, &sizes)?.in_precision(precision);
    let mut model = Model { encoder, head: MaskedHead::new(&initial, &sizes) };
    let mut adam = Adam::new(&Optimiser { weight_decay: 0.01, ..Optimiser::default() });
    let seen = drawn::<B>(&sizes, batch, device);
    let loss = |model: &Model<B>| {
        let x = model.encoder.forward(&seen.batch, &model.encoder.view(&seen.batch));
        let scores = model.head.forward(&model.encoder, x, seen.places.clone());
        cross_entropy(scores, seen.labels.clone(), seen.weights.clone())
    };
    // Once with a pause after each part of a step, to see where the time goes; once without, and this time counts.
    let mut parts = [Duration::ZERO; 3];
    for step in 0..warm_up + steps {
        if step == warm_up {
            parts = [Duration::ZERO; 3];
        }
        let [forward, backward, update] = &mut parts;
        let loss = timed::<B, _>(device, forward, || loss(&model));
        let along = timed::<B, _>(device, backward, || gradient(&model, loss.backward()));
        model = timed::<B, _>(device, update, || adam.step(1e-4, model, along));
    }
    let mut whole = Duration::ZERO;
    let model = timed::<B, _>(device, &mut whole, || {
        (0..steps).fold(model, |model, _| {
            let along = gradient(&model, loss(&model).backward());
            adam.step(1e-4, model, along)
        })
    });
    let [forward, backward, update] = parts.map(|part| 1e3 * part.as_secs_f64() / f64::from(steps));
    let step = whole.as_secs_f64() / f64::from(steps);
    #[expect(clippy::cast_precision_loss, reason = "small sizes")]
    let (tokens_a_step, parameters) = ((batch * tokens) as f64, sizes.parameters(Head::Masked) as f64 / 1e6);
    println!(
        "formwright on {}, {named}: {} of width {width}, {parameters:.1} M parameters, {batch} × {tokens} tokens: {:.1} k tokens/s; {:.1} ms a step, in parts forward {forward:.1}, backward {backward:.1}, update {update:.1}; loss {:.3}",
        B::name(device),
        sizes.layout,
        tokens_a_step / step / 1e3,
        1e3 * step,
        loss(&model).into_data().convert::<f64>().to_vec::<f64>().map_or(f64::NAN, |loss| loss[0]),
    );
    Ok(())
}

fn main() -> Result<()> {
    #[cfg(feature = "libtorch")]
    let device = formwright_lab::device::libtorch();
    #[cfg(not(feature = "libtorch"))]
    let device = burn::tensor::Device::<Inner>::default();
    run::<Autodiff<Inner>>(&Arguments::parse(), &device)
}
