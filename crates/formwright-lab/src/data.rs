//! Samples of a function: sequences, uniform on its domain, and its values.

use burn::prelude::*;
use burn::tensor::TensorData;
use formwright::error::Result;
use formwright::random;

use crate::config::{Run, source};

/// Sequences and values, flat, in the order `[sequence][token][coordinate]`.
pub struct Samples {
    /// Sequences.
    pub count: usize,
    /// Tokens of each.
    pub tokens: usize,
    /// Coordinates of a token.
    pub dims: usize,
    /// Coordinates of a value.
    pub outputs: usize,
    /// The sequences.
    pub x: Vec<f32>,
    /// The values, computed from the rounded numbers above.
    pub y: Vec<f32>,
}

/// The stream of validation samples. A seed of a run is mixed with its purpose, so no two streams meet.
const VALIDATION: u64 = 0x7661_6c69;
const TRAINING: u64 = 0x7472_6169;
const FRESH: u64 = 0x6672_6573;

/// A generator for a seed and a purpose.
pub fn stream(seed: u64, purpose: u64) -> u64 {
    let mut state = seed;
    let first = random::word(&mut state);
    first ^ purpose.rotate_left(32)
}

impl Samples {
    /// The training samples of a run, by its seed.
    pub fn training(run: &Run) -> Result<Self> {
        Self::draw(run, run.data.training, stream(run.seed, TRAINING))
    }

    /// The samples of a step, for a run that sees each sample once.
    pub fn of_step(run: &Run, step: u64) -> Result<Self> {
        Self::draw(run, run.data.batch, stream(stream(run.seed, TRAINING), step + 1))
    }

    /// The validation samples: the same for every seed and every model.
    pub fn validation(run: &Run) -> Result<Self> {
        Self::draw(run, run.data.validation, stream(0, VALIDATION))
    }

    /// The samples for comparing networks: no run has seen them or was chosen by them.
    pub fn fresh(run: &Run, count: usize) -> Result<Self> {
        Self::draw(run, count, stream(0, FRESH))
    }

    /// Draws so many samples of a function, from a state of the generator.
    #[expect(clippy::cast_possible_truncation, reason = "the numbers of a model are f32")]
    pub fn draw(run: &Run, count: usize, mut state: u64) -> Result<Self> {
        let target = run.target()?;
        let (low, high) = source(&run.target)?.cube();
        let (low, high) = (low.to_f64(), high.to_f64());
        let (tokens, dims) = (run.tokens, run.dims);
        let x: Vec<f32> =
            (0..count * tokens * dims).map(|_| (low + (high - low) * random::uniform(&mut state)) as f32).collect();
        let mut samples = Self { count, tokens, dims, outputs: target.output_dims(), x, y: Vec::new() };
        for sequence in samples.sequences() {
            samples.y.extend(target.evaluate_f64(&sequence)?.into_iter().map(|y| y as f32));
        }
        Ok(samples)
    }

    /// The sequences in the compiler's form, `[sequence][token][coordinate]`.
    pub fn sequences(&self) -> Vec<Vec<Vec<f64>>> {
        let token = |token: &[f32]| token.iter().map(|x| f64::from(*x)).collect();
        let sequence = |sequence: &[f32]| sequence.chunks_exact(self.dims).map(token).collect();
        self.x.chunks_exact(self.tokens * self.dims).map(sequence).collect()
    }

    /// The sequences as a tensor.
    pub fn inputs<B: Backend>(&self, device: &B::Device) -> Tensor<B, 3> {
        Tensor::from_data(TensorData::new(self.x.clone(), [self.count, self.tokens, self.dims]), device)
    }

    /// The values as a tensor.
    pub fn values<B: Backend>(&self, device: &B::Device) -> Tensor<B, 3> {
        Tensor::from_data(TensorData::new(self.y.clone(), [self.count, self.tokens, self.outputs]), device)
    }

    /// The mean squared error of the best constant: for each coordinate of a value, its mean.
    #[expect(clippy::cast_precision_loss, reason = "counts of samples")]
    pub fn best_constant(&self) -> f64 {
        let rows = (self.y.len() / self.outputs) as f64;
        let variance = |coordinate: usize| {
            let values = || self.y.iter().skip(coordinate).step_by(self.outputs).map(|y| f64::from(*y));
            let mean = values().sum::<f64>() / rows;
            values().map(|y| (y - mean).powi(2)).sum::<f64>() / rows
        };
        (0..self.outputs).map(variance).sum::<f64>() / self.outputs as f64
    }
}

/// The places of an epoch's samples, shuffled: a function of the seed and the epoch.
pub fn order(seed: u64, epoch: u64, count: usize) -> Vec<usize> {
    let mut state = stream(seed, epoch.wrapping_add(1));
    let mut places: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        places.swap(last, random::below(&mut state, last + 1));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_permutation_of_its_epoch_alone() {
        let shuffled = order(7, 3, 100);
        let mut sorted = shuffled.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..100));
        assert_eq!(shuffled, order(7, 3, 100));
        assert_ne!(shuffled, order(7, 4, 100));
        assert_ne!(shuffled, order(8, 3, 100));
    }

    #[test]
    fn the_best_constant_is_the_mean_of_each_coordinate() {
        let samples =
            Samples { count: 2, tokens: 1, dims: 1, outputs: 2, x: vec![0.0; 2], y: vec![1.0, 10.0, 3.0, 14.0] };
        // Variances 1 and 4.
        assert!((samples.best_constant() - 2.5).abs() < 1e-12);
    }
}
