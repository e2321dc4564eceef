//! The front door: a target, a few options, a model.

use std::path::Path;

use crate::artifact;
use crate::compile::compile;
use crate::error::Result;
use crate::model::{Asked, Model, Request};
use crate::plan::{self, Plan};

/// A target to compile: a built-in name, an expression, or the path of a file with an expression or a table.
///
/// Options that are left out are chosen: the construction by the plan, the tolerance as 1/100 in the supremum norm.
pub fn build(target: impl Into<String>) -> Build {
    Build { target: target.into(), asked: Asked::default() }
}

/// Reads the model of a folder.
pub fn open(folder: impl AsRef<Path>) -> Result<Model> {
    artifact::read(folder.as_ref())
}

/// A target with the options of its compilation. Numbers are exact: `"1/100"`, `"0.01"`.
#[derive(Clone, Debug)]
pub struct Build {
    target: String,
    asked: Asked,
}

impl Build {
    /// The number of tokens.
    pub fn tokens(mut self, tokens: usize) -> Self {
        self.asked.tokens = Some(tokens);
        self
    }

    /// The coordinates of a token.
    pub fn dims(mut self, dims: usize) -> Self {
        self.asked.dims = Some(dims);
        self
    }

    /// The tolerance.
    pub fn eps(mut self, eps: impl Into<String>) -> Self {
        self.asked.eps = Some(eps.into());
        self
    }

    /// The norm of the tolerance: `sup`, `l1`, `l2` or `lp:P`.
    pub fn norm(mut self, norm: impl Into<String>) -> Self {
        self.asked.norm = Some(norm.into());
        self
    }

    /// The cells a side of the grid.
    pub fn resolution(mut self, cells: u64) -> Self {
        self.asked.resolution = Some(cells);
        self
    }

    /// The construction, by name.
    pub fn construction(mut self, name: impl Into<String>) -> Self {
        self.asked.construction = Some(name.into());
        self
    }

    /// The attention, by name.
    pub fn attention(mut self, name: impl Into<String>) -> Self {
        self.asked.attention = Some(name.into());
        self
    }

    /// The precision: `exact`, `f32`, `f64` or `auto`.
    pub fn precision(mut self, name: impl Into<String>) -> Self {
        self.asked.precision = Some(name.into());
        self
    }

    /// A stock class of `transformers`, in which the tolerance is met.
    pub fn host(mut self, class: impl Into<String>) -> Self {
        self.asked.host = Some(class.into());
        self
    }

    /// All options in words, to set those that have no method here.
    pub fn asked(mut self, change: impl FnOnce(&mut Asked)) -> Self {
        change(&mut self.asked);
        self
    }

    /// The request that the options mean.
    pub fn request(&self) -> Result<Request> {
        self.asked.request(artifact::read_target(&self.target)?)
    }

    /// Every construction's size, bits and bound, the smallest first.
    pub fn plan(&self) -> Result<Plan> {
        plan::plan(&self.request()?)
    }

    /// Compiles it: by the construction that is named, or by the first row of the plan.
    pub fn model(&self) -> Result<Model> {
        let request = self.request()?;
        if request.is_left_to_plan() { plan::compile_first(&request) } else { compile(&request) }
    }
}
