//! `constant`: the middle of the target's range, whatever the input.
//!
//! ```text
//! z = 0 x + 0,    y = 0 z + c,    c = fl((low + high) / 2),    |y - f| ≤ max(high - c, c - low)
//! ```
//!
//! Products with 0 are 0 for every finite input, so that every execution gives `c` exactly. Nothing is trained, nothing is
//! approximated, and the bound is as good as the range that is proved of the target.

use std::sync::Arc;

use formwright::bound::norm::upward;
use formwright::bound::{Budget, Method, Norm, Term};
use formwright::error::{Error, Result};
use formwright::exact::Rat;
use formwright::interval::Interval;
use formwright::lattice::Grid;
use formwright::model::{Asked, Built, Construction, Family, Folder, Model, Read, Request, Scope, Sketch, Way};
use formwright::network::{Coordinate, FloatAffine, FloatNetwork, Precision};
use formwright::pattern::Pattern;
use formwright::target::Target;

const NAME: &str = "constant";

/// The family.
pub struct Constants;

/// There is nothing to choose.
#[derive(Debug)]
struct Options;

/// A constant in a format.
#[derive(Debug)]
struct Row(Precision);

/// The network, and its bound.
#[derive(Debug)]
struct Constant {
    network: FloatNetwork,
    budget: Budget,
}

impl Constant {
    fn new(target: &Target, grid: &Grid, precision: Precision) -> Result<Self> {
        let (low, high) = target.range_near(grid.tokens())?;
        let value = precision.round(((&low + &high) / Rat::from(2)).to_f64());
        let exact = Rat::from_f64(value).ok_or_else(|| Error::declined("the middle of the range is no float"))?;
        let bound = Interval::from(&(&high - &exact).max(&exact - &low)).hi();
        let affine = |inputs: usize, outputs: usize, bias: f64| FloatAffine {
            inputs,
            outputs,
            weight: vec![0.0; inputs * outputs],
            bias: vec![bias; outputs],
        };
        let network = FloatNetwork {
            precision,
            tokens: grid.tokens(),
            lengths: (grid.tokens(), grid.tokens()),
            coordinates: vec![Coordinate { name: "zero".to_owned(), meaning: "0".to_owned() }],
            embed: affine(grid.dims(), 1, 0.0),
            positions: None,
            stages: Vec::new(),
            runs: Vec::new(),
            read_out: affine(1, target.output_dims(), value),
        };
        let terms = vec![Term::new("range", bound)];
        let budget = Budget { norm: Norm::Sup, bound, terms, method: Method::Uniform, assumptions: Vec::new() };
        Ok(Self { network, budget })
    }
}

impl Built for Constant {
    fn family(&self) -> &'static str {
        NAME
    }

    fn float(&self) -> Option<&FloatNetwork> {
        Some(&self.network)
    }

    fn made(&self) -> String {
        format!("{NAME}, {}", self.network.precision)
    }

    fn claim(&self, model: &Model) -> Option<String> {
        let domain = self.domain_name(model);
        (!model.is_edited()).then(|| {
            format!("every output is within {} of the target at every point of {domain}", upward(self.budget.bound, 4))
        })
    }

    fn supremum(&self) -> Option<&Budget> {
        Some(&self.budget)
    }

    fn budget(&self, _model: &Model, norm: &Norm) -> Result<Option<Budget>> {
        Ok((*norm == Norm::Sup).then(|| self.budget.clone()))
    }

    fn rounding(&self) -> Option<f64> {
        Some(self.budget.bound)
    }

    fn is_edited(&self, model: &Model) -> bool {
        let built = Self::new(&model.target, &model.grid, self.network.precision);
        built.is_ok_and(|built| built.network != self.network)
    }

    fn domain_name(&self, model: &Model) -> String {
        model.target.integers().unwrap_or_else(|| model.grid.box_name())
    }
}

impl Way for Row {
    fn family(&self) -> &'static str {
        NAME
    }

    fn construction(&self) -> String {
        NAME.to_owned()
    }

    fn floats(&self) -> Option<Precision> {
        Some(self.0)
    }

    fn positional(&self) -> Option<bool> {
        Some(false)
    }

    fn sketch(&self, scope: &Scope<'_>) -> Result<Sketch> {
        if *scope.norm != Norm::Sup {
            return Err(Error::declined("a constant is certified in the supremum norm").note("try", "--norm sup"));
        }
        let built = Constant::new(scope.target, scope.shape, self.0)?;
        let budget = built.budget.clone();
        let missed = scope.eps.filter(|eps| !budget.meets(eps));
        Ok(Sketch {
            size: built.network.size(),
            domain: scope.shape.box_name(),
            assumptions: Vec::new(),
            why_not: missed.map(|eps| Error::rejected(format!("the tolerance {eps} is not met by a constant"))),
            cells: None,
            built: Some(Arc::new(built)),
            budget,
        })
    }

    fn build(&self, request: &Request, sketch: Sketch) -> Result<Model> {
        let grid = request.grid()?;
        let target = Arc::new(request.source.target(grid.dims())?);
        let built = sketch.built.ok_or_else(|| Error::declined("a constant was not made"))?;
        Ok(Model::new(request.source.clone(), target, grid, Vec::new(), request.tolerance.or_default(), built))
    }

    fn refuse(&self, _request: &Request, sketch: Sketch) -> Result<Model> {
        Err(sketch.why_not.unwrap_or_else(|| Error::declined("a constant was not made")))
    }
}

impl Construction for Options {
    fn name(&self) -> &'static str {
        NAME
    }

    fn compile(&self, request: &Request) -> Result<Model> {
        let (grid, norm) = (request.grid()?, request.tolerance.or_default().norm().unwrap_or(Norm::Sup));
        let target = Arc::new(request.source.target(grid.dims())?);
        let tolerance = request.tolerance.or_default();
        let scope = Scope { request, shape: &grid, target: &target, norm: &norm, eps: tolerance.eps.as_ref() };
        let formats = request.arithmetic.choices().into_iter().flatten();
        let row = Row(formats.map(|format| format.precision).next().unwrap_or(Precision::F32));
        match row.sketch(&scope)? {
            Sketch { why_not: Some(error), .. } => Err(error),
            sketch => row.build(request, sketch),
        }
    }

    fn turn(&self) -> usize {
        0
    }

    fn ways(&self, scope: &Scope<'_>) -> Vec<Arc<dyn Way>> {
        let formats = scope.request.arithmetic.choices().into_iter().flatten();
        formats.map(|format| Arc::new(Row(format.precision)) as Arc<dyn Way>).collect()
    }
}

impl Family for Constants {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "The middle of the target's range, whatever the input"
    }

    fn construction(&self, _asked: &Asked, _pattern: Option<&Pattern>, _named: bool) -> Result<Arc<dyn Construction>> {
        Ok(Arc::new(Options))
    }

    fn read(&self, folder: &Folder<'_>) -> Result<Read> {
        let network = (folder.network)()?;
        let built = Constant::new(folder.target, folder.grid, network.precision)?;
        let edited = built.network != network;
        Ok(Read { built: Arc::new(Constant { network, ..built }), edited: Some(edited), assumptions: Vec::new() })
    }
}
