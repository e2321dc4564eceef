//! Fifteen targets, and what their networks are asked for: the test checks it, the measurement writes the table.

#![allow(dead_code)]

use formwright::bound::Norm;
use formwright::bound::baseline::baseline;
use formwright::bound::piecewise::Question;
use formwright::compile::{Arithmetic, Model, Request, Tolerance, compile};
use formwright::construct::only;
use formwright::construct::yun::Options;
use formwright::construct::yun::lower::Lowering;
use formwright::construct::yun::{bound as lowered, lower};
use formwright::error::Result;
use formwright::exact::Rat;
use formwright::lattice::Grid;
use formwright::lower::Format;
use formwright::network::{Precision, Realisation};
use formwright::target::{Source, Target, catalogue};

/// Ten of the catalogue: one acts on each token alone, three depend on the order of the tokens.
pub const BUILT_IN: [&str; 10] = [
    "square",
    "mean-centring",
    "max-broadcast",
    "range-broadcast",
    "pairwise-means",
    "times-mean",
    "gap-to-max",
    "sort",
    "prefix-sum",
    "prefix-mean",
];

/// Five of our own: a nested aggregate, products of minimum and maximum on another box, a choice that is continuous, a quotient, a clamp.
pub const EXPRESSIONS: [&str; 5] = [
    "x + mean(abs(x - mean(x)))",
    "min(x, mean(x)) * max(x) on [-1, 1]",
    "if x < mean(x) then x * mean(x) else mean(x)^2",
    "x / (1 + sum(x))",
    "clamp(x + max(x, j <= i) - min(x), 1/4, 1)",
];

/// The ways to ask for a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub positional: bool,
    pub tokens: usize,
    pub dims: usize,
    pub norm: &'static str,
    /// The tolerance is the best constant's error divided by this.
    pub share: u64,
}

/// Theorem 2, for equivariant targets.
pub const THEOREM2: Setting = Setting { positional: false, tokens: 2, dims: 1, norm: "l1", share: 4 };
/// Theorem 3, for all.
pub const THEOREM3: [Setting; 2] = [
    Setting { positional: true, tokens: 2, dims: 1, norm: "l2", share: 4 },
    Setting { positional: true, tokens: 3, dims: 1, norm: "l2", share: 4 },
];
/// Theorem 2 with two coordinates.
pub const PLANE: Setting = Setting { positional: false, tokens: 2, dims: 2, norm: "l1", share: 2 };
/// The targets for two coordinates.
pub const IN_THE_PLANE: [&str; 3] = ["max-broadcast", "times-mean", "[x.0 * max(x.1), mean(x.0) - x.1 / 2]"];

/// A target and what is asked of its network.
#[derive(Clone, Debug)]
pub struct Case {
    pub source: Source,
    pub setting: Setting,
}

/// A built-in target, or an expression under its own text.
pub fn source(name: &str) -> Source {
    catalogue::find(name).unwrap_or_else(|| Source::expression(name, name)).expect("a target")
}

/// All of them: theorem by theorem, target by target.
pub fn cases() -> Vec<Case> {
    let names = || BUILT_IN.into_iter().chain(EXPRESSIONS);
    let equivariant = |name: &&str| source(name).properties().expect("a target").0 == "equivariant";
    let under = |setting: Setting| move |name: &str| Case { source: source(name), setting };
    let mut cases: Vec<Case> = names().filter(equivariant).map(under(THEOREM2)).collect();
    for setting in THEOREM3 {
        cases.extend(names().map(under(setting)));
    }
    cases.extend(IN_THE_PLANE.into_iter().map(under(PLANE)));
    cases
}

impl Case {
    pub fn name(&self) -> String {
        let Setting { positional, tokens, dims, norm, .. } = self.setting;
        format!("{}, Theorem {}, n = {tokens}, d = {dims}, {norm}", self.source.name, if positional { 3 } else { 2 })
    }

    pub fn norm(&self) -> Norm {
        self.setting.norm.parse().expect("a norm")
    }

    pub fn options(&self) -> Options {
        Options { positional: self.setting.positional, ..Options::default() }
    }

    /// The coarsest grid that the construction serves.
    fn shape(&self) -> Grid {
        let (low, high) = self.source.cube();
        Grid::new(self.setting.tokens, self.setting.dims, 2, low, high).expect("a grid")
    }

    /// The tolerance: the share of the best constant's error.
    pub fn eps(&self) -> Rat {
        let target = self.source.target(self.setting.dims).expect("a target");
        let best = baseline(&target, &self.shape(), &self.norm()).expect("a baseline").best_constant;
        Rat::from_f64(best).expect("finite") / Rat::from(self.setting.share)
    }

    pub fn compile(&self, precision: Precision, resolution: Option<u64>, eps: Option<Rat>) -> Result<Model> {
        compile(&Request {
            source: self.source.clone(),
            tokens: Some(self.setting.tokens),
            dims: Some(self.setting.dims),
            resolution,
            constructions: only(self.options()),
            everywhere: false,
            attention: Realisation::SOFTMAX,
            assume_equivariant: false,
            tolerance: Tolerance { eps, norm: Some(self.norm()), lipschitz: None },
            arithmetic: Arithmetic::Float(Format::literal(precision)),
        })
    }

    fn lowering(&self, resolution: u64) -> Result<(Grid, Target, Lowering)> {
        let grid = self.shape().with_resolution(resolution)?;
        let target = self.source.target(self.setting.dims)?;
        let lowering = Lowering::derive(&grid, &target, &self.options(), Format::literal(Precision::F32))?;
        Ok((grid, target, lowering))
    }

    /// The bound in single precision, where the grid fits it.
    fn single(&self, resolution: u64) -> Option<f64> {
        let (grid, target, lowering) = self.lowering(resolution).ok()?;
        let positional = self.setting.positional;
        let question = Question { target: &target, grid: &grid, positional, lipschitz: None };
        Some(lowered::bound(question, &lowering, &self.norm()).ok()?.bound)
    }

    /// The resolution whose bound is the least of all that fit single precision, with that bound.
    pub fn best_single(&self) -> (u64, f64) {
        let finest = lower::finest(&self.shape(), &self.options(), Precision::F32).expect("a resolution");
        let bounds = (2..=finest).filter_map(|resolution| Some((resolution, self.single(resolution)?)));
        bounds.min_by(|a, b| a.1.total_cmp(&b.1)).expect("a grid that fits")
    }

    /// The reason why the next finer grid fails in single precision.
    pub fn why_no_finer(&self, resolution: u64) -> &'static str {
        match self.lowering(resolution + 1) {
            Err(_) => "the ids do not fit",
            Ok((_, _, lowering)) if lowering.losses.height.is_infinite() => "an overflow on the ramps is not excluded",
            Ok((_, _, lowering)) if !lowering.losses.ties_cleared => "equal columns are not proved to be cleared",
            Ok(_) => "rounding",
        }
    }
}
