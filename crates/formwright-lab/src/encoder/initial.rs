//! The initial weights. Each is a function of the seed, its name and its shape: two encoders that differ in one layer
//! begin alike in all others.
//!
//! ```text
//! matrices    N(0, 0.02²), drawn again beyond two standard deviations (as BERT does)
//! biases      0            gains    1
//! ```
//!
//! A name is the path of a parameter, `layers.3.mixer.output.weight`; the kind of mixer is not part of it.

use std::f64::consts::TAU;

use burn::module::Param;
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use formwright::random;

/// The standard deviation of a matrix's entries.
const DEVIATION: f64 = 0.02;

/// The source of initial weights: a seed, and the part of the network that is being made.
#[derive(Clone, Debug)]
pub struct Initial<B: Backend> {
    seed: u64,
    path: String,
    device: B::Device,
}

impl<B: Backend> Initial<B> {
    /// All weights of a seed.
    pub fn new(seed: u64, device: &B::Device) -> Self {
        Self { seed, path: String::new(), device: device.clone() }
    }

    /// The weights of a part.
    pub fn of(&self, part: impl std::fmt::Display) -> Self {
        let path = if self.path.is_empty() { part.to_string() } else { format!("{}.{part}", self.path) };
        Self { path, ..self.clone() }
    }

    /// The device of the weights.
    pub fn device(&self) -> &B::Device {
        &self.device
    }

    /// A matrix of truncated normal numbers.
    pub fn matrix(&self, name: &str, shape: [usize; 2]) -> Param<Tensor<B, 2>> {
        let mut normal = self.normal(name);
        let mut entry = || loop {
            let number = normal();
            if number.abs() <= 2.0 {
                #[expect(clippy::cast_possible_truncation, reason = "weights are kept in single precision")]
                break (DEVIATION * number) as f32;
            }
        };
        let entries: Vec<f32> = (0..shape[0] * shape[1]).map(|_| entry()).collect();
        Param::from_tensor(Tensor::from_data(TensorData::new(entries, shape), &self.device))
    }

    /// A vector of one repeated number.
    pub fn vector(&self, length: usize, entry: f32) -> Param<Tensor<B, 1>> {
        Param::from_tensor(Tensor::from_data(TensorData::new(vec![entry; length], [length]), &self.device))
    }

    /// Standard normal numbers, not truncated (Box–Muller).
    pub fn normal(&self, name: &str) -> impl FnMut() -> f64 + use<B> {
        let mut state = self.of(name).path.bytes().fold(self.seed, |state, byte| {
            let mut state = state ^ u64::from(byte);
            random::word(&mut state)
        });
        let mut other = None;
        move || {
            other.take().unwrap_or_else(|| {
                // In (0, 1]: its logarithm is finite.
                let radius = (-2.0 * (1.0 - random::uniform(&mut state)).ln()).sqrt();
                let (sin, cos) = (TAU * random::uniform(&mut state)).sin_cos();
                other = Some(radius * sin);
                radius * cos
            })
        }
    }
}
