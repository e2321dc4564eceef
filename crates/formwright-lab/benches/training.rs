//! The speed of the loop: a step of a Sumformer of Figure 1, beside the matrix products that it needs at least.
//!
//! A product of `[r, a]` and `[a, b]` in a layer counts three times: itself, and the gradients of its two sides.

#![allow(
    clippy::default_trait_access,
    clippy::cast_possible_truncation,
    reason = "a backend has one device here; numbers of models are f32"
)]

use std::hint::black_box;

use burn::backend::{Autodiff, Flex};
use burn::tensor::{Tensor, TensorData};
use criterion::{Criterion, criterion_group, criterion_main};
use formwright::random;
use formwright_lab::config::{Architecture, Experiment, Run};
use formwright_lab::presets;
use formwright_lab::regression::Regression;
use formwright_lab::study::Study as _;
use formwright_lab::train::{fresh, step};

fn run(mlp: bool) -> Run {
    let experiment = Experiment::parse(presets::find("figure1").expect("a preset")).expect("an experiment");
    let runs = experiment.runs().expect("runs");
    runs.into_iter().find(|run| matches!(run.model, Architecture::MlpSumformer { .. }) == mlp).expect("a run")
}

/// The shapes `[a, b]` of the products of a forward pass.
fn products(run: &Run) -> Vec<[usize; 2]> {
    let chain = |from: usize, to: usize| [vec![from], vec![50; 5], vec![to]].concat();
    let pairs = |sizes: Vec<usize>| sizes.windows(2).map(|pair| [pair[0], pair[1]]).collect::<Vec<_>>();
    let latent = run.tokens;
    let psi = pairs(chain(run.dims + latent, run.dims));
    match run.model {
        Architecture::MlpSumformer { .. } => [pairs(chain(run.dims, latent)), psi].concat(),
        _ => psi,
    }
}

fn matrix(rows: usize, columns: usize) -> Tensor<Flex, 2> {
    let mut state = 1;
    let entries: Vec<f32> = (0..rows * columns).map(|_| random::uniform(&mut state) as f32).collect();
    Tensor::from_data(TensorData::new(entries, [rows, columns]), &Default::default())
}

fn training(criterion: &mut Criterion) {
    // As runs are: on one thread.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    for (name, mlp) in [("polynomial", false), ("mlp", true)] {
        let run = run(mlp);
        let task = Regression::<Autodiff<Flex>>::new(&run, &Default::default()).expect("data");
        let mut trained = fresh(&task, &run.optimiser);
        criterion.bench_function(&format!("step/{name}"), |bencher| {
            pool.install(|| bencher.iter(|| step(&task, &run.optimiser, &run.budget, &mut trained).expect("a step")));
        });
        let rows = run.data.batch * run.tokens;
        let sides: Vec<[Tensor<Flex, 2>; 3]> =
            products(&run).into_iter().map(|[a, b]| [matrix(rows, a), matrix(a, b), matrix(rows, b)]).collect();
        criterion.bench_function(&format!("products/{name}"), |bencher| {
            pool.install(|| {
                bencher.iter(|| {
                    for [x, w, g] in &sides {
                        black_box(x.clone().matmul(w.clone()));
                        black_box(g.clone().matmul(w.clone().transpose()));
                        black_box(x.clone().transpose().matmul(g.clone()));
                    }
                });
            });
        });
    }
}

criterion_group!(benches, training);
criterion_main!(benches);
