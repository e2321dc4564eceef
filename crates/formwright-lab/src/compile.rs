//! A trained Sumformer as a Transformer with one attention layer, in a folder like any other (Theorems 4.3 to 4.5,
//! applied to learned functions).
//!
//! Over the reals the compiled network *is* the trained function ([`Trained::compile`]); in floats both are
//! rounded. So the two are compared at many points. There they may differ by the most that rounding can do to the
//! compiled network, plus the most that it can do to the trained model. These bounds are proved for the whole box and,
//! at some of the points, since that is expensive, for the point itself. The trained model adds up the same `φ(x_k)` as
//! a network of averages in f32, which rounds once more: its bounds serve for it.

use std::path::Path;

use burn::backend::{Autodiff, Flex};
use burn::module::Module as _;
use formwright::compile::Model;
use formwright::construct::sumformer::learned::{Dense, Trained};
use formwright::error::{Error, Result};
use formwright::eval::float::Engine;
use formwright::network::{Precision, Realisation};

use crate::config::{Architecture, Run, source};
use crate::data::{Samples, stream};
use crate::execute::best;
use crate::folder::read_run;
use crate::model::{Mlp, Regressor};

/// The points at which the compiled network is compared with the trained one, and those of them with a bound of their
/// own.
pub const POINTS: usize = 10_000;
const BOUNDED: usize = 100;

const COMPARED: u64 = 0x636f_6d70;

/// The result of the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// The number of points.
    pub points: usize,
    /// The largest difference of an output number.
    pub largest: f64,
    /// The difference that rounding allows at every point of the box.
    pub allowed: f64,
    /// The number of points that have a bound of their own.
    pub bounded: usize,
    /// The largest difference that rounding allows at one of these.
    pub allowed_there: f64,
}

/// Compiles the trained model of a run, from the run's folder.
pub fn compile(dir: &Path, attention: Realisation, precision: Precision, points: usize) -> Result<(Model, Agreement)> {
    let (about, _) = read_run::<Run>(dir)?.ok_or_else(|| {
        Error::input(format!("{} is not the folder of a run", dir.display()))
            .note("try", "DIR/runs/NAME of an experiment that formwright lab run has made")
    })?;
    let run = about.run;
    if !matches!(run.model, Architecture::MlpSumformer { .. }) {
        return Err(Error::declined(format!(
            "{} does not become a network of ReLUs with one attention layer",
            run.model
        ))
        .note("reason", "monomials are no ReLUs, and a Transformer is one already, in its own format")
        .note("try", "a run of an MLP Sumformer"));
    }
    let device = burn::tensor::Device::<Flex>::default();
    let trained = best::<Autodiff<Flex>>(dir, &run, &device)?;
    let Regressor::Mlp(sumformer) = &trained else {
        return Err(Error::input(format!("{} holds no MLP Sumformer", dir.display())));
    };
    let compiled = |attention, precision| {
        let trained = Trained {
            source: source(&run.target)?,
            tokens: run.tokens,
            phi: layers(sumformer.phi())?,
            psi: layers(sumformer.psi())?,
            attention,
            precision,
        };
        trained.compile()
    };
    let model = compiled(attention, precision)?;
    let plain = compiled(Realisation::AVERAGE, Precision::F32)?;
    let agreement = agreement(&model, &plain, &trained, &run, points)?;
    Ok((model, agreement))
}

/// The layers of a perceptron, by rows of outputs.
fn layers(mlp: &Mlp<Flex>) -> Result<Vec<Dense>> {
    let numbers = |data: burn::tensor::TensorData| {
        data.to_vec::<f32>().map_err(|error| Error::input(format!("weights are not f32: {error}")))
    };
    let layer = |linear: &burn::nn::Linear<Flex>| {
        let [_, to] = linear.weight.dims();
        let by_input = numbers(linear.weight.val().into_data())?;
        let weight = (0..to).map(|row| by_input.iter().skip(row).step_by(to).copied().collect()).collect();
        let bias = linear.bias.as_ref().map_or_else(|| Ok(vec![0.0; to]), |bias| numbers(bias.val().into_data()))?;
        Ok(Dense { weight, bias })
    };
    mlp.layers().iter().map(layer).collect()
}

/// Compares the compiled network with the trained one. A difference that rounding does not explain is an error.
fn agreement(model: &Model, plain: &Model, trained: &Regressor<Flex>, run: &Run, points: usize) -> Result<Agreement> {
    let (Some(compiled), Some(averages)) = (model.learned(), plain.learned()) else {
        return Err(Error::input("nothing was learned"));
    };
    let samples = Samples::draw(run, points, stream(0, COMPARED))?;
    let device = burn::tensor::Device::<Flex>::default();
    let said = trained.clone().no_grad().forward(samples.inputs(&device)).into_data().convert::<f64>();
    let said = said.to_vec::<f64>().map_err(|error| Error::input(format!("outputs are no numbers: {error}")))?;
    let sequences = samples.sequences();
    let computed = Engine::new(&compiled.network)?.run(&sequences)?;
    let allowed = compiled.rounding + averages.rounding;
    let mut held = Agreement { points, largest: 0.0, allowed, bounded: points.min(BOUNDED), allowed_there: 0.0 };
    for (place, (x, numbers)) in sequences.iter().zip(computed).enumerate() {
        let numbers = numbers.concat();
        let said = &said[place * numbers.len()..(place + 1) * numbers.len()];
        let difference = numbers.iter().zip(said).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let mut allowed = allowed;
        if place < BOUNDED {
            allowed = allowed.min(compiled.spread(x)? + averages.spread(x)?);
            held.allowed_there = held.allowed_there.max(allowed);
        }
        // A value that is not a number is never within the bound.
        if !difference.partial_cmp(&allowed).is_some_and(std::cmp::Ordering::is_le) {
            return Err(Error::rejected("the compiled network is not the trained one")
                .note("at", format!("{x:?}"))
                .note("found", format!("{difference:e}, and rounding allows {allowed:e}")));
        }
        held.largest = held.largest.max(difference);
    }
    Ok(held)
}
