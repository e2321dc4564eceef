//! Gradients no longer than a bound, all parameters together:
//!
//! ```text
//! g ← g · c / max(c, ‖g‖),   ‖g‖² = Σ over all parameters
//! ```
//!
//! The norm stays on its device: nothing waits for it.

use burn::module::{AutodiffModule, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::prelude::*;
use burn::tensor::backend::AutodiffBackend;

/// Shortens the gradients of a model to the length `most`.
pub fn clip<B: AutodiffBackend, M: AutodiffModule<B>>(
    model: &M,
    mut gradients: GradientsParams,
    most: f64,
) -> GradientsParams {
    let mut squares = Squares::<B> { gradients: &gradients, sum: None };
    model.visit(&mut squares);
    if let Some(sum) = squares.sum {
        let factor = sum.sqrt().clamp_min(most).recip() * most;
        model.visit(&mut Scale::<B> { gradients: &mut gradients, factor });
    }
    gradients
}

struct Squares<'a, B: AutodiffBackend> {
    gradients: &'a GradientsParams,
    sum: Option<Tensor<B::InnerBackend, 1>>,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Squares<'_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(gradient) = self.gradients.get::<B::InnerBackend, D>(param.id) {
            let square = (gradient.clone() * gradient).sum();
            self.sum = Some(match self.sum.take() {
                Some(sum) => sum + square,
                None => square,
            });
        }
    }
}

struct Scale<'a, B: AutodiffBackend> {
    gradients: &'a mut GradientsParams,
    factor: Tensor<B::InnerBackend, 1>,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Scale<'_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(gradient) = self.gradients.remove::<B::InnerBackend, D>(param.id) {
            self.gradients.register(param.id, gradient * self.factor.clone().reshape([1; D]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::backend::{Autodiff, Flex};
    use burn::module::Module;

    type B = Autodiff<Flex>;

    #[derive(Module, Debug)]
    struct Two<B: Backend> {
        a: Param<Tensor<B, 1>>,
        b: Param<Tensor<B, 2>>,
        unused: Param<Tensor<B, 1>>,
    }

    /// The gradient of `Σ x²/2` is `x`.
    fn clipped(most: f64) -> [Vec<f32>; 2] {
        let device = Device::<B>::default();
        let two = Two::<B> {
            a: Param::from_data([3.0, 0.0], &device),
            b: Param::from_data([[0.0], [4.0]], &device),
            unused: Param::from_data([1.0], &device),
        };
        let loss = (two.a.val().powi_scalar(2).sum() + two.b.val().powi_scalar(2).sum()) / 2.0;
        let gradients = clip(&two, GradientsParams::from_grads(loss.backward(), &two), most);
        assert!(gradients.get::<Flex, 1>(two.unused.id).is_none());
        let numbers = |data: TensorData| data.to_vec::<f32>().expect("numbers");
        [
            numbers(gradients.get::<Flex, 1>(two.a.id).expect("a gradient").into_data()),
            numbers(gradients.get::<Flex, 2>(two.b.id).expect("a gradient").into_data()),
        ]
    }

    #[test]
    fn the_norm_is_that_of_all_parameters_together() {
        // (3, 0) and (0, 4) have the length 5; each by itself would be let through at 4.
        let close = |found: [Vec<f32>; 2], expected: [[f32; 2]; 2]| {
            let off = found.iter().flatten().zip(expected.iter().flatten()).map(|(x, y)| (x - y).abs());
            assert!(off.fold(0.0, f32::max) < 1e-6, "{found:?}");
        };
        close(clipped(5.0), [[3.0, 0.0], [0.0, 4.0]]);
        close(clipped(9.0), [[3.0, 0.0], [0.0, 4.0]]);
        close(clipped(4.0), [[2.4, 0.0], [0.0, 3.2]]);
        close(clipped(1.0), [[0.6, 0.0], [0.0, 0.8]]);
    }
}
