//! Learning a function from samples: the mean squared error over all tokens and coordinates.

use burn::module::AutodiffModule;
use burn::prelude::*;
use burn::tensor::TensorData;
use burn::tensor::backend::AutodiffBackend;
use formwright::error::Result;

use crate::config::Run;
use crate::data::{Samples, order};
use crate::model::Regressor;
use crate::train::{Judgement, Task};

/// A run's data on its device.
pub struct Regression<B: Backend> {
    run: Run,
    device: B::Device,
    outputs: usize,
    training: (Tensor<B, 3>, Tensor<B, 3>),
    validation: Samples,
}

/// The number of sequences that are judged at once.
const CHUNK: usize = 1024;

impl<B: Backend> Regression<B> {
    /// Draws the samples of a run.
    pub fn new(run: &Run, device: &B::Device) -> Result<Self> {
        let training = Samples::training(run)?;
        Ok(Self {
            run: run.clone(),
            device: device.clone(),
            outputs: training.outputs,
            training: (training.inputs(device), training.values(device)),
            validation: Samples::validation(run)?,
        })
    }

    /// A batch by its number.
    fn batch(&self, number: u64) -> Result<(Tensor<B, 3>, Tensor<B, 3>)> {
        if self.run.data.fresh {
            let samples = Samples::of_step(&self.run, number)?;
            return Ok((samples.inputs(&self.device), samples.values(&self.device)));
        }
        let (count, batch) = (self.run.data.training, self.run.data.batch);
        let (epoch, place) = (number / self.run.batches(), number % self.run.batches());
        let first = usize::try_from(place).unwrap_or_default() * batch;
        #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "places of samples")]
        let places: Vec<i32> =
            order(self.run.seed, epoch, count).into_iter().skip(first).take(batch).map(|place| place as i32).collect();
        let size = places.len();
        let places = Tensor::<B, 1, Int>::from_data(TensorData::new(places, [size]), &self.device);
        Ok((self.training.0.clone().select(0, places.clone()), self.training.1.clone().select(0, places)))
    }
}

/// The outputs of a model for samples, flat, in their order.
pub fn outputs<B: Backend>(model: &Regressor<B>, samples: &Samples, device: &B::Device) -> Vec<f64> {
    let x = samples.inputs::<B>(device);
    let chunk = |start: usize| {
        let rows = start..samples.count.min(start + CHUNK);
        model.forward(x.clone().slice([rows])).into_data().iter::<f64>().collect::<Vec<f64>>()
    };
    (0..samples.count).step_by(CHUNK).flat_map(chunk).collect()
}

/// The mean squared error and the largest error of a model on samples.
pub fn judge<B: Backend>(model: &Regressor<B>, samples: &Samples, device: &B::Device) -> Judgement {
    let (x, y) = (samples.inputs::<B>(device), samples.values::<B>(device));
    let (mut squares, mut sup) = (0.0_f64, 0.0_f64);
    for start in (0..samples.count).step_by(CHUNK) {
        let rows = start..samples.count.min(start + CHUNK);
        let wrong = model.forward(x.clone().slice([rows.clone()])) - y.clone().slice([rows]);
        squares += wrong.clone().powi_scalar(2).sum().into_scalar().elem::<f64>();
        let largest = wrong.abs().max().into_scalar().elem::<f64>();
        // A value that is not a number must not be lost in a maximum.
        sup = if largest.is_nan() { f64::NAN } else { sup.max(largest) };
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of samples")]
    Judgement { loss: squares / samples.y.len() as f64, scores: vec![sup] }
}

impl<B: AutodiffBackend> Task<B> for Regression<B> {
    type Model = Regressor<B>;

    fn fresh(&self) -> Self::Model {
        Regressor::new(&self.run.model, self.run.tokens, self.run.dims, self.outputs, self.run.seed, &self.device)
    }

    fn loss(&self, model: &Self::Model, batch: u64) -> Result<Tensor<B, 1>> {
        let (x, y) = self.batch(batch)?;
        Ok((model.forward(x) - y).powi_scalar(2).mean())
    }

    fn validate(&self, model: &<Self::Model as AutodiffModule<B>>::InnerModule) -> Result<Judgement> {
        Ok(judge(model, &self.validation, &self.device))
    }

    fn steps_an_epoch(&self) -> u64 {
        self.run.steps()
    }

    fn best_constant(&self) -> f64 {
        self.validation.best_constant()
    }

    fn keeps_best(&self) -> bool {
        true
    }
}
