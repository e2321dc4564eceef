//! The weights of a module by their names, and weights worth testing with.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::backend::Backend;
use burn::tensor::{FloatDType, Tensor, TensorData};
use formwright::random;

/// A parameter: its shape and its entries.
pub type Weights = BTreeMap<String, (Vec<usize>, Vec<f64>)>;

/// All parameters of a module, by their paths.
pub fn weights<B: Backend, M: Module<B>>(module: &M) -> Weights {
    let mut names = Names::default();
    module.visit(&mut names);
    names.found
}

#[derive(Default)]
struct Names {
    path: Vec<String>,
    found: Weights,
}

impl<B: Backend> ModuleVisitor<B> for Names {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        let data = param.val().cast(FloatDType::F64).into_data();
        let entries = data.to_vec::<f64>().expect("cast to double precision");
        self.found.insert(self.path.join("."), (data.shape.to_vec(), entries));
    }
}

/// The module with other weights: all of them, biases and gains as well, uniform in `[-size, size]`, in double precision.
///
/// Initial weights are small, and biases zero: much would go unnoticed with them.
pub fn drawn<B: Backend, M: Module<B>>(module: M, seed: u64, size: f64) -> M {
    module.map(&mut Draw { state: seed, size })
}

struct Draw {
    state: u64,
    size: f64,
}

impl<B: Backend> ModuleMapper<B> for Draw {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        param.map(|tensor| {
            let drawn = numbers(&mut self.state, tensor.shape().num_elements());
            let entries: Vec<f64> = drawn.into_iter().map(|entry| self.size * entry).collect();
            let data = TensorData::new(entries, tensor.shape());
            Tensor::from_data(data, (&tensor.device(), FloatDType::F64.into())).require_grad()
        })
    }
}

/// Uniform numbers in `[-1, 1]`.
pub fn numbers(state: &mut u64, count: usize) -> Vec<f64> {
    (0..count).map(|_| 2.0 * random::uniform(state) - 1.0).collect()
}

/// Numbers as a tensor in double precision.
pub fn tensor<B: Backend, const D: usize>(entries: Vec<f64>, shape: [usize; D]) -> Tensor<B, D> {
    Tensor::from_data(TensorData::new(entries, shape), (&B::Device::default(), FloatDType::F64.into()))
}
