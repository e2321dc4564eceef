//! A construction as a value.
//!
//! A [`Family`] is a line of the registry (`construct/mod.rs`): a name, the options that it takes, how its folders are read
//! back. With its options chosen it is a [`Construction`], which compiles a request, and lists the [`Way`]s in which a plan
//! could build it. A way is sized up to a [`Sketch`]: from below by a formula first, and only if it may win for real.

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::{Asked, Built, Model, Own, Request, Tolerance};
use crate::bound::{Budget, Norm};
use crate::error::{Error, ErrorKind, Result};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::network::{FloatNetwork, Precision, Size};
use crate::pattern::Pattern;
use crate::target::Target;

/// A family of constructions.
pub trait Family: Sync {
    /// Its name, in options and in files.
    fn name(&self) -> &'static str;

    /// One sentence about it, for a list of constructions.
    fn summary(&self) -> &'static str;

    /// The options that it owns, alone or with others.
    fn options(&self) -> &'static [&'static Own] {
        &[]
    }

    /// True if it is a network by cells: then a grid may be fixed.
    fn has_cells(&self) -> bool {
        false
    }

    /// True if its attention follows a pattern; otherwise sums over all tokens go by way of the pattern's hub.
    fn follows_patterns(&self) -> bool {
        false
    }

    /// True if these options mean this family though none is named.
    fn is_meant(&self, _asked: &Asked) -> bool {
        false
    }

    /// Why positions cannot be asked for, if they cannot.
    fn no_positions(&self) -> Option<&'static str> {
        None
    }

    /// True if it is built from a printed proof, whose steps can be taken as they are printed.
    fn is_printed(&self) -> bool {
        false
    }

    /// Why a folder of it has no certificate, if none of them has.
    fn no_certificate(&self, _dir: &Path) -> Option<Error> {
        None
    }

    /// True if users name it. What is only read from files is not offered.
    fn is_offered(&self) -> bool {
        true
    }

    /// The construction with these options; `named` says whether it was asked for by name.
    fn construction(&self, asked: &Asked, pattern: Option<&Pattern>, named: bool) -> Result<Arc<dyn Construction>>;

    /// Reads a folder that this family wrote.
    fn read(&self, folder: &Folder<'_>) -> Result<Read>;
}

/// A construction with its options.
pub trait Construction: Any + fmt::Debug + Send + Sync {
    /// The name of its family.
    fn name(&self) -> &'static str;

    /// True if it is a network by cells.
    fn has_cells(&self) -> bool {
        false
    }

    /// The stock class in which it meets its tolerance, if it does so in one.
    fn host(&self) -> Option<&'static str> {
        None
    }

    /// Compiles a request that names this construction.
    fn compile(&self, request: &Request) -> Result<Model>;

    /// The turn in which a plan looks at it: rows of one turn are compared before the next turn begins.
    fn turn(&self) -> usize;

    /// Every row of a plan, in the order in which equal ones are preferred.
    fn ways(&self, scope: &Scope<'_>) -> Vec<Arc<dyn Way>>;

    /// True if no row of it can come first, given what serves already; said without listing the rows.
    fn cannot_win(&self, _scope: &Scope<'_>, _looked_at: &[Candidate]) -> bool {
        false
    }
}

/// The question that all rows of a plan answer.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The request.
    pub request: &'a Request,
    /// Its grid, of which the resolution may still be open.
    pub shape: &'a Grid,
    /// Its target.
    pub target: &'a Arc<Target>,
    /// The norm of the bound.
    pub norm: &'a Norm,
    /// The tolerance.
    pub eps: Option<&'a Rat>,
}

/// One way to build a target: a construction with everything chosen that there is to choose about it.
pub trait Way: Any + fmt::Debug + Send + Sync {
    /// The name of its family.
    fn family(&self) -> &'static str;

    /// The construction with its options, as one writes them.
    fn construction(&self) -> String;

    /// The format of its floats; `None` is exact.
    fn floats(&self) -> Option<Precision>;

    /// The attention of its heads, as one names it.
    fn attention(&self) -> String {
        self.floats().map_or("hardmax", |_| "softmax").to_owned()
    }

    /// True if it tells tokens apart by their place; `None` if that is not known before it is built.
    fn positional(&self) -> Option<bool>;

    /// The fields that tell it from other rows in JSON, besides construction, positions and precision.
    fn identity(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// True if it is made of the gates of an expression. Why there is none of these is worth telling.
    fn is_circuit(&self) -> bool {
        false
    }

    /// True if it is made of another expression than the target's own.
    fn is_derived(&self) -> bool {
        false
    }

    /// True if it is a theorem's network, layer by layer: its refusals stand beside those of circuits.
    fn is_literal(&self) -> bool {
        false
    }

    /// True if it is wide where it could be deep: then it may exist where a deep one does not.
    fn is_wide(&self) -> bool {
        true
    }

    /// True if the request excludes it, whatever its target is.
    fn is_excluded(&self) -> bool {
        false
    }

    /// True if heads of another kind than softmax were asked for: then the answer is about what keeps them from
    /// serving.
    fn is_realised(&self) -> bool {
        false
    }

    /// True if a row that is not to be had is not worth a word, since nobody asked for it.
    fn is_silent(&self, _request: &Request) -> bool {
        false
    }

    /// A lower bound of its weight, by formula; 0 if it is not known before the row is looked at.
    fn least(&self, _scope: &Scope<'_>) -> Int {
        Int::ZERO
    }

    /// True if it is declined at once.
    fn is_declined(&self, _scope: &Scope<'_>) -> bool {
        false
    }

    /// Checks that it may serve with at most this weight; if not, returns the cells a side that this leaves room for.
    fn may_serve(&self, _scope: &Scope<'_>, _most: &Int) -> std::result::Result<(), u64> {
        Ok(())
    }

    /// Why it cannot be the smallest, by what this construction knows of those that were looked at.
    fn is_beaten(&self, _scope: &Scope<'_>, _looked_at: &[Candidate]) -> Option<Error> {
        None
    }

    /// Sizes it up.
    fn sketch(&self, scope: &Scope<'_>) -> Result<Sketch>;

    /// A row to look at where this one does not serve.
    fn otherwise(&self, _scope: &Scope<'_>) -> Option<Arc<dyn Way>> {
        None
    }

    /// Builds what a sketch that serves describes.
    fn build(&self, request: &Request, sketch: Sketch) -> Result<Model>;

    /// Says why the nearest row does not serve: compiles it by name, and fails.
    fn refuse(&self, request: &Request, sketch: Sketch) -> Result<Model>;

    /// Adds to the row of a plan in JSON what only this construction has.
    fn describe(&self, _sketch: &Sketch, _row: &mut Value) {}
}

impl dyn Way {
    /// The row as one of this kind, if it is.
    pub fn of<T: Way>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    /// Construction and precision.
    pub fn name(&self) -> String {
        format!("{}, {}", self.construction(), self.precision())
    }

    /// `f32`, `f64` or `exact`.
    pub fn precision(&self) -> &'static str {
        self.floats().map_or("exact", Precision::name)
    }

    /// Its place among formats: single precision before double before exact.
    pub(crate) fn class(&self) -> usize {
        self.floats().map_or(2, |precision| precision as usize)
    }
}

/// A network that was not built, or not yet.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Its size.
    pub size: Size,
    /// Its certified error,
    pub budget: Budget,
    /// and where it is certified.
    pub domain: String,
    /// The assumptions that are not proved.
    pub assumptions: Vec<String>,
    /// The reason why it does not meet the tolerance.
    pub why_not: Option<Error>,
    /// The cells of a lattice network.
    pub cells: Option<Cells>,
    /// The network itself, if sizing it up took building it.
    pub built: Option<Arc<dyn Built>>,
}

/// A lattice network by its cells.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Cells a side.
    pub resolution: u64,
    /// The binary digits of the largest id.
    pub id_bits: usize,
    /// The numbers that any approximation by cells has to remember.
    pub to_remember: Int,
    /// The parameters of a residual network, up to a constant.
    pub residual_network: Int,
}

impl Sketch {
    /// The cells of a lattice network.
    pub fn cells(&self) -> Option<&Cells> {
        self.cells.as_ref()
    }

    /// `certified`, or `measured` if a part of the bound was not proved.
    pub(crate) fn badge(&self) -> &'static str {
        self.built.as_ref().map_or("certified", |built| built.badge())
    }

    /// Our parameters for each number that a lattice network has to remember.
    pub fn ratio(&self) -> Option<f64> {
        let remembered = self.cells()?.to_remember.clone().max(Int::ONE);
        Some(Rat::new(self.size.parameters.clone(), remembered).to_f64())
    }
}

impl Cells {
    /// The cells of a grid: what they ask any method to remember (section 5.4 of Yun et al. 2020).
    pub(crate) fn new(grid: &Grid, target: &Target, id_bits: usize, positional: bool) -> Self {
        let all = Int::from(grid.tokens() * target.output_dims()) * grid.points();
        let to_remember = if positional { all.clone() } else { all.div_rem(&Int::factorial(grid.tokens())).0 };
        Self { resolution: grid.resolution(), id_bits, to_remember, residual_network: all }
    }

    /// The smallest precision whose mantissa holds the ids and, two digits more, the edges of their windows.
    pub fn precision_needed(&self) -> &'static str {
        match self.id_bits {
            0..=22 => "f32",
            23..=51 => "f64",
            _ => "exact",
        }
    }
}

/// A row of a plan.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The way.
    pub way: Arc<dyn Way>,
    /// Its sketch, or the reason why it is not to be had.
    pub outcome: std::result::Result<Sketch, Error>,
}

impl Candidate {
    /// Construction and precision.
    pub fn name(&self) -> String {
        self.way.name()
    }

    /// True if it can be had and meets the tolerance.
    pub fn serves(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|sketch| sketch.why_not.is_none())
    }

    /// Why it does not serve, if it does not.
    pub fn reason(&self) -> Option<&Error> {
        self.outcome.as_ref().map_or_else(Some, |sketch| sketch.why_not.as_ref())
    }

    /// The network, if it was built, as one that this construction made.
    pub fn built<T: Built>(&self) -> Option<&T> {
        self.outcome.as_ref().ok()?.built.as_ref()?.of()
    }

    /// Its weight, if it is of floats.
    pub(crate) fn other(&self) -> Option<Other> {
        let parameters = self.outcome.as_ref().ok()?.size.parameters.clone();
        Some(Other { way: Arc::clone(&self.way), parameters, bytes: self.bytes()? })
    }

    /// The bytes of its weights; exact numbers have no format, and none.
    pub fn bytes(&self) -> Option<Int> {
        let sketch = self.outcome.as_ref().ok()?;
        self.way.floats().map(|precision| weight(&sketch.size.parameters, Some(precision)))
    }

    /// True if it tells tokens apart by their place; `None` if that is not known.
    pub fn positional(&self) -> Option<bool> {
        let built = self.outcome.as_ref().ok().and_then(|sketch| sketch.built.as_ref());
        built.map_or_else(|| self.way.positional(), |built| Some(built.is_positional()))
    }

    /// The key by which candidates are sorted. Those that serve: floats before exact numbers, then the fewest bytes (of
    /// exact numbers: parameters), and of equal ones single precision first. Those that do not: the nearest first. Those
    /// that are not to be had: those that miss a tolerance first, then lattice networks, exact numbers first, whose reason
    /// is never a format; but where attention is asked for that only circuits have, these.
    pub(crate) fn rank(&self) -> (u8, usize, f64, Int) {
        let class = self.way.class();
        match &self.outcome {
            Ok(sketch) if sketch.why_not.is_none() => {
                (0, usize::from(self.way.floats().is_none()), 0.0, weight(&sketch.size.parameters, self.way.floats()))
            }
            Ok(sketch) => (1, 0, sketch.budget.bound, sketch.size.parameters.clone()),
            Err(error) if error.kind() == ErrorKind::Rejected => (2, 2 - class, 0.0, Int::ZERO),
            Err(_) if self.way.is_circuit() => (if self.way.is_realised() { 2 } else { 4 }, 2 - class, 0.0, Int::ZERO),
            Err(_) => (3, 2 - class, 0.0, Int::ZERO),
        }
    }
}

/// A row that serves and was not taken.
#[derive(Clone, Debug)]
pub struct Other {
    /// The way.
    pub way: Arc<dyn Way>,
    /// Its parameters,
    pub parameters: Int,
    /// and their bytes.
    pub bytes: Int,
}

/// The weight that is compared: bytes of floats. Exact numbers have no format; their networks are compared by parameters.
pub(crate) fn weight(parameters: &Int, precision: Option<Precision>) -> Int {
    parameters * Int::from(precision.map_or(1, Precision::bytes))
}

/// A folder as it is read back.
pub struct Folder<'a> {
    /// The path of `model.json`, for messages.
    pub path: &'a Path,
    /// Its content.
    pub file: &'a Value,
    /// True if it says that tokens are told apart by their place.
    pub positional: bool,
    /// The steps that it says are as printed.
    pub as_printed: &'a [String],
    /// True if it claims all of space.
    pub everywhere: bool,
    /// Its precision, as it is written.
    pub precision: &'a str,
    /// Its grid.
    pub grid: &'a Grid,
    /// Its target.
    pub target: &'a Arc<Target>,
    /// The tolerance that was asked for.
    pub(crate) tolerance: &'a Tolerance,
    /// Reads its float network.
    pub network: &'a dyn Fn() -> Result<FloatNetwork>,
}

/// The remedy for a folder that is not as it was written.
pub(crate) const ANEW: &str = "build the model anew, or copy all files of its folder again";

impl Folder<'_> {
    /// The error for a file that is not as it was written.
    pub fn wrong(&self, what: &str) -> Error {
        Error::input(format!("{} is no model that this version reads: {what}", self.path.display())).note("try", ANEW)
    }

    /// A part of the file that this construction needs.
    pub(crate) fn part<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_value(self.file.clone()).map_err(|error| self.wrong(&error.to_string()))
    }
}

/// The parts that are read from a folder.
#[derive(Debug)]
pub struct Read {
    /// The network.
    pub built: Arc<dyn Built>,
    /// True if it is not the one that the construction builds; `None` if that was not looked at.
    pub edited: Option<bool>,
    /// The assumptions that are not proved.
    pub assumptions: Vec<String>,
}
