//! Gradients against central differences, in double precision, every entry of every parameter:
//!
//! ```text
//! D(h) = (f(θ + h) - f(θ - h)) / 2h = f' + h²/6 f''' + …       D(2h) - D(h) = h²/2 f''' + …
//! |f' - D(h)|  ≤  |D(2h) - D(h)| + 64 ε max(1, |f|) / h
//! ```
//!
//! The first term of the tolerance is three times the error that the step makes, seen from two steps; the second is that of rounding, for sums of a few thousand terms.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use burn::backend::{Autodiff, Flex};
use burn::module::{AutodiffModule, Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{FloatDType, Tensor, TensorData};

/// The backend that differentiates.
pub type Checked = Autodiff<Flex>;

/// `h`.
const STEP: f64 = 1e-4;

/// The module with every parameter in double precision.
pub fn doubled<M: Module<Checked>>(module: M) -> M {
    struct Double;
    impl ModuleMapper<Checked> for Double {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<Checked, D>>) -> Param<Tensor<Checked, D>> {
            // A leaf again: what was cast is no parameter.
            param.map(|tensor| Tensor::from_inner(tensor.inner().cast(FloatDType::F64)).require_grad())
        }
    }
    module.map(&mut Double)
}

/// The first entry of a parameter whose gradient is off, in words; or how many entries were compared.
pub fn check<M>(module: M, loss: impl Fn(&M) -> Tensor<Checked, 1>) -> Result<usize, String>
where
    M: AutodiffModule<Checked>,
{
    let module = doubled(module);
    let value = |module: &M| loss(module).into_data().to_vec::<f64>().expect("a loss in double precision")[0];
    let at = value(&module);
    let mut gradients = Gradients { of: &loss(&module).backward(), path: Vec::new(), found: BTreeMap::new() };
    module.visit(&mut gradients);
    let mut compared = 0;
    for (index, (name, gradient)) in gradients.found.into_values().enumerate() {
        for (entry, found) in gradient.iter().enumerate() {
            let moved = |by: f64| value(&module.clone().map(&mut Move { index, entry, by, seen: 0 }));
            let difference = |h: f64| (moved(h) - moved(-h)) / (2.0 * h);
            let (near, far) = (difference(STEP), difference(2.0 * STEP));
            let tolerance = (far - near).abs() + 64.0 * f64::EPSILON * at.abs().max(1.0) / STEP;
            // Not a number is never within.
            if (found - near).abs().partial_cmp(&tolerance).is_none_or(Ordering::is_gt) {
                return Err(format!("{name}[{entry}]: gradient {found:e}, difference {near:e} ± {tolerance:e}"));
            }
            compared += 1;
        }
    }
    Ok(compared)
}

/// The gradients of all parameters, in the order of the module; zeros where a loss does not depend on one.
struct Gradients<'a> {
    of: &'a <Checked as burn::tensor::backend::AutodiffBackend>::Gradients,
    path: Vec<String>,
    found: BTreeMap<usize, (String, Vec<f64>)>,
}

impl ModuleVisitor<Checked> for Gradients<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<Checked, D>>) {
        let value = param.val();
        let gradient = match value.grad(self.of) {
            Some(gradient) => gradient.into_data().to_vec::<f64>().expect("a gradient in double precision"),
            None => vec![0.0; value.shape().num_elements()],
        };
        self.found.insert(self.found.len(), (self.path.join("."), gradient));
    }
}

/// One entry of one parameter moved.
struct Move {
    index: usize,
    entry: usize,
    by: f64,
    seen: usize,
}

impl ModuleMapper<Checked> for Move {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<Checked, D>>) -> Param<Tensor<Checked, D>> {
        self.seen += 1;
        if self.seen != self.index + 1 {
            return param;
        }
        param.map(|tensor| {
            let (shape, device) = (tensor.shape(), tensor.device());
            let mut entries = tensor.into_data().to_vec::<f64>().expect("double precision");
            entries[self.entry] += self.by;
            Tensor::from_data(TensorData::new(entries, shape), (&device, FloatDType::F64.into()))
        })
    }
}
