//! The loop: steps, epochs, validation, and when to stop.
//!
//! ```text
//! rate(s) = rate · min(1, (s + 1) / warm_up) · decay(s / steps)
//! ```
//!
//! A run ends with its budget, or early, when its last part, of the share `flat`, has brought no new best validation
//! loss. It ends as diverged if a loss is not a number.

use std::time::Instant;

use burn::module::AutodiffModule;
use burn::prelude::*;
use burn::tensor::backend::AutodiffBackend;
use formwright::error::Result;
use serde::{Deserialize, Deserializer, Serialize};

use crate::adam::{Adam, gradient};
use crate::config::{Budget, Decay, Optimiser};

/// A model and its data.
pub trait Task<B: AutodiffBackend> {
    /// The model.
    type Model: AutodiffModule<B>;

    /// Its initial weights.
    fn fresh(&self) -> Self::Model;

    /// The loss of a batch. The batch is a function of the seed and of its number.
    fn loss(&self, model: &Self::Model, batch: u64) -> Result<Tensor<B, 1>>;

    /// The judgement of a model.
    fn validate(&self, model: &<Self::Model as AutodiffModule<B>>::InnerModule) -> Result<Judgement>;

    /// Steps of an epoch.
    fn steps_an_epoch(&self) -> u64;

    /// The validation loss of the best model that ignores its input.
    fn best_constant(&self) -> f64;

    /// True if the weights with the least validation loss are kept besides the latest.
    fn keeps_best(&self) -> bool;
}

/// The quality of a model on data that it was not trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The loss.
    #[serde(deserialize_with = "number")]
    pub loss: f64,
    /// The other scores: the largest error of a function; shares of right answers about texts.
    #[serde(deserialize_with = "numbers")]
    pub scores: Vec<f64>,
}

/// JSON writes a number that is not one as `null`.
fn number<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

fn numbers<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<f64>, D::Error> {
    let found = Vec::<Option<f64>>::deserialize(from)?;
    Ok(found.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

impl Judgement {
    /// The first score.
    pub fn score(&self) -> f64 {
        self.scores.first().copied().unwrap_or(f64::NAN)
    }
}

/// An epoch: the steps from one judgement to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Its number, from 1.
    pub epoch: u64,
    /// Steps until its end.
    pub step: u64,
    /// Seconds until its end, all sittings together.
    pub seconds: f64,
    /// The mean loss of its steps.
    #[serde(deserialize_with = "number")]
    pub training: f64,
    /// Its judgement at the end.
    pub validation: Judgement,
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps that were made.
    pub step: u64,
    /// Seconds that they took, all sittings together.
    pub seconds: f64,
    /// The sum of the losses of an epoch that has begun; only where it is written down.
    pub partial: Option<f64>,
    /// The epochs.
    pub epochs: Vec<Epoch>,
    /// The way it ended, if it has.
    pub ended: Option<Ended>,
}

/// The way a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its budget was spent.
    Budget,
    /// Its validation loss was flat.
    Flat,
    /// A loss was not a number.
    Diverged,
}

impl Progress {
    /// The epoch with the least validation loss.
    pub fn best(&self) -> Option<&Epoch> {
        self.epochs.iter().min_by(|a, b| a.validation.loss.total_cmp(&b.validation.loss))
    }

    /// The way the run ends here, if it does.
    #[expect(clippy::cast_precision_loss, reason = "epochs")]
    fn end(&self, budget: &Budget) -> Option<Ended> {
        let last = self.epochs.last()?;
        if !(last.training.is_finite() && last.validation.loss.is_finite()) {
            return Some(Ended::Diverged);
        }
        if last.epoch >= budget.epochs {
            return Some(Ended::Budget);
        }
        let since = last.epoch - self.best()?.epoch;
        let flat = budget.flat > 0.0 && last.epoch >= budget.least && since as f64 >= budget.flat * last.epoch as f64;
        flat.then_some(Ended::Flat)
    }
}

/// A model on its way.
pub struct Trained<B: AutodiffBackend, M: AutodiffModule<B>> {
    /// Its weights.
    pub model: M,
    /// The optimiser.
    pub adam: Adam<B::InnerBackend>,
    /// The weights with the least validation loss, where they are kept.
    pub best: Option<M::InnerModule>,
    /// Its progress.
    pub progress: Progress,
    /// The sum of the losses of the epoch that has begun, where it was computed.
    pub(crate) total: Option<Tensor<B::InnerBackend, 1>>,
}

/// A model before its first step.
pub fn fresh<B: AutodiffBackend, T: Task<B>>(task: &T, optimiser: &Optimiser) -> Trained<B, T::Model> {
    let model = task.fresh();
    let best = task.keeps_best().then(|| model.valid());
    Trained { model, adam: Adam::new(optimiser), best, progress: Progress::default(), total: None }
}

/// The rate of a step.
#[expect(clippy::cast_precision_loss, reason = "steps")]
pub fn rate(optimiser: &Optimiser, step: u64, steps: u64) -> f64 {
    let part = step as f64 / steps as f64;
    let warm = if step < optimiser.warm_up { (step + 1) as f64 / optimiser.warm_up as f64 } else { 1.0 };
    let decay = match optimiser.decay {
        Decay::Constant => 1.0,
        Decay::Linear => 1.0 - part,
        Decay::Cosine => f64::midpoint(1.0, (std::f64::consts::PI * part).cos()),
    };
    optimiser.rate * warm * decay
}

/// An event of training.
pub enum Moment<'a, B: AutodiffBackend, M: AutodiffModule<B>> {
    /// A step inside of an epoch.
    Step(&'a Trained<B, M>),
    /// An epoch, which has been judged.
    Epoch(&'a Trained<B, M>),
}

/// Trains until the end, or until `watch` says stop.
pub fn train<B: AutodiffBackend, T: Task<B>>(
    task: &T,
    optimiser: &Optimiser,
    budget: &Budget,
    trained: &mut Trained<B, T::Model>,
    mut watch: impl FnMut(Moment<'_, B, T::Model>) -> Result<bool>,
) -> Result<()> {
    let before = trained.progress.seconds;
    let start = Instant::now();
    let mut go_on = true;
    while go_on && trained.progress.ended.is_none() {
        step(task, optimiser, budget, trained)?;
        trained.progress.seconds = before + start.elapsed().as_secs_f64();
        go_on = if trained.progress.step.is_multiple_of(task.steps_an_epoch()) {
            judge(task, trained)?;
            trained.progress.seconds = before + start.elapsed().as_secs_f64();
            if let Some(epoch) = trained.progress.epochs.last_mut() {
                epoch.seconds = trained.progress.seconds;
            }
            trained.progress.ended = trained.progress.end(budget);
            watch(Moment::Epoch(trained))?
        } else {
            watch(Moment::Step(trained))?
        };
    }
    Ok(())
}

/// Makes one step: the loss, its gradient, new weights.
pub fn step<B: AutodiffBackend, T: Task<B>>(
    task: &T,
    optimiser: &Optimiser,
    budget: &Budget,
    trained: &mut Trained<B, T::Model>,
) -> Result<()> {
    let step = trained.progress.step;
    #[expect(clippy::cast_precision_loss, reason = "a few")]
    let share = (optimiser.accumulate as f64).recip();
    let mut along = None;
    for part in 0..optimiser.accumulate {
        let mut loss = task.loss(&trained.model, step * optimiser.accumulate + part)?;
        if optimiser.accumulate > 1 {
            loss = loss * share;
        }
        trained.total = Some(added(trained.total.take(), loss.clone().inner()));
        along = Some(added(along, gradient(&trained.model, loss.backward())));
    }
    if let Some(along) = along {
        let rate = rate(optimiser, step, budget.epochs * task.steps_an_epoch());
        trained.model = trained.adam.step(rate, trained.model.clone(), along);
    }
    trained.progress.step += 1;
    Ok(())
}

fn added<B: Backend>(sum: Option<Tensor<B, 1>>, next: Tensor<B, 1>) -> Tensor<B, 1> {
    match sum {
        Some(sum) => sum + next,
        None => next,
    }
}

/// Judges the model at the end of an epoch.
fn judge<B: AutodiffBackend, T: Task<B>>(task: &T, trained: &mut Trained<B, T::Model>) -> Result<()> {
    let valid = trained.model.valid();
    let validation = task.validate(&valid)?;
    let total = trained.total.take().map_or(0.0, |total| total.into_scalar().elem::<f64>());
    if task.keeps_best() && trained.progress.best().is_none_or(|best| validation.loss < best.validation.loss) {
        trained.best = Some(valid);
    }
    let (step, epoch) = (trained.progress.step, trained.progress.epochs.len() as u64 + 1);
    #[expect(clippy::cast_precision_loss, reason = "steps")]
    let training = total / task.steps_an_epoch() as f64;
    trained.progress.epochs.push(Epoch { epoch, step, seconds: trained.progress.seconds, training, validation });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_rise_and_fall() {
        let optimiser = |decay| Optimiser { rate: 2.0, warm_up: 4, decay, ..Optimiser::default() };
        let rates = |decay| [0, 1, 3, 4, 8, 12].map(|step| rate(&optimiser(decay), step, 16));
        let quarter = 1.0 - 0.5_f64.sqrt();
        for (decay, expected) in [
            (Decay::Constant, [0.5, 1.0, 2.0, 2.0, 2.0, 2.0]),
            (Decay::Linear, [0.5, 0.9375, 1.625, 1.5, 1.0, 0.5]),
            (Decay::Cosine, [0.5, 0.990_392_640_2, 1.831_469_612_3, 2.0 - quarter, 1.0, quarter]),
        ] {
            for (found, expected) in rates(decay).into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{decay:?}: {found} {expected}");
            }
        }
    }
}
