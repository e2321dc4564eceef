//! Is a runtime inside of the execution model `ieee-any-order`? A probe decides it: a network of some thousand weights,
//! inputs, and for every output the interval of what the model allows.
//!
//! ```text
//! probe.onnx         the network, by the same writer as every model: x [batch, 32, 4] to y [batch, 32, 15]
//! inputs.npy         the inputs
//! probe.json         the inputs with their names, what may come out, what the outputs are, and the network's shape
//! probe.safetensors  the weights, for runtimes that read no ONNX
//! run.py             the answers of onnxruntime or PyTorch, as answers.npy; a few lines to change for others
//! ```
//!
//! The intervals are those of [`Executions`], which bound every execution. So what lies outside of one is a *witness*:
//! no order of summation, no fused product, no flushing, no `exp` within its error and no way of division gives it. The
//! reverse is a test and no proof: a runtime all of whose answers are allowed may deviate elsewhere. The network is
//! made so that most intervals are single numbers (`network.rs`), and the inputs so that every liberty that a runtime
//! may not take moves one of them (`cases.rs`).

mod cases;
mod judge;
mod network;

use serde_json::{Value, json};

use crate::artifact::tensors::{self, Skeleton};
use crate::error::Result;
use crate::eval::enclosure::Executions;
use crate::eval::float::Engine;
use crate::export::onnx;
use crate::input::npy;
use crate::interval::Interval;
use crate::network::{FloatNetwork, Precision};
use cases::Case;

/// The tokens of an input.
const TOKENS: usize = 32;

/// What runs the probe elsewhere.
const RUN: &str = include_str!("run.py");

/// A probe of the arithmetic of a runtime.
#[derive(Debug)]
pub struct Probe {
    network: FloatNetwork,
    cases: Vec<Case>,
    inputs: Vec<Vec<Vec<f64>>>,
    /// What may come out, `[case][token][output]`.
    allowed: Vec<Vec<Vec<Interval>>>,
}

impl Probe {
    /// The probe of a format.
    pub fn new(precision: Precision) -> Result<Self> {
        let (network, cases) = (network::network(precision), cases::cases(precision));
        let inputs: Vec<Vec<Vec<f64>>> = cases.iter().map(|case| case.x.clone()).collect();
        let enclosed = Executions::new(&network)?.enclose_batch(&inputs)?;
        Ok(Self { network, cases, inputs, allowed: enclosed.into_iter().map(|found| found.output).collect() })
    }

    /// The files, by name.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let properties = [
            ("probe".to_owned(), format!("of the execution model ieee-any-order {}", self.network.precision)),
            ("outputs".to_owned(), network::OUTPUTS.map(|(name, _)| name).join(", ")),
        ];
        let inputs: Vec<&[Vec<f64>]> = self.inputs.iter().map(|x| &x[..]).collect();
        Ok(vec![
            ("probe.onnx".to_owned(), onnx::to_bytes(&self.network, &properties, false)?),
            ("inputs.npy".to_owned(), npy::to_bytes(&inputs, self.network.precision)),
            ("probe.json".to_owned(), format!("{:#}\n", self.to_json()).into_bytes()),
            ("probe.safetensors".to_owned(), tensors::to_bytes(&self.network)?),
            ("run.py".to_owned(), RUN.as_bytes().to_vec()),
        ])
    }

    /// The inputs, what is allowed, what the outputs are, the shape of the network.
    fn to_json(&self) -> Value {
        let allowed = |y: &Interval| if y.width() == 0.0 { json!(y.lo()) } else { json!([y.lo(), y.hi()]) };
        let case = |(case, rows): (&Case, &Vec<Vec<Interval>>)| {
            let rows: Vec<Vec<Value>> = rows.iter().map(|row| row.iter().map(allowed).collect()).collect();
            json!({"name": case.name, "finds": case.finds, "input": case.x, "allowed": rows})
        };
        json!({
            "execution": format!("ieee-any-order {}", self.network.precision),
            "inputs": network::INPUTS,
            "outputs": network::OUTPUTS.map(|(name, formula)| json!({"name": name, "formula": formula})),
            "cases": self.cases.iter().zip(&self.allowed).map(case).collect::<Vec<_>>(),
            "network": Skeleton::of(&self.network),
        })
    }

    /// The answers of our own engine.
    pub fn own(&self) -> Result<Vec<f64>> {
        Ok(Engine::new(&self.network)?.run(&self.inputs)?.into_iter().flatten().flatten().collect())
    }

    /// The network, and its inputs.
    #[cfg(test)]
    pub(crate) fn parts(&self) -> (&FloatNetwork, &[Vec<Vec<f64>>]) {
        (&self.network, &self.inputs)
    }

    /// The numbers that come out: `[cases, tokens, outputs]`.
    pub fn shape(&self) -> [usize; 3] {
        [self.cases.len(), TOKENS, self.network.output_dims()]
    }
}
