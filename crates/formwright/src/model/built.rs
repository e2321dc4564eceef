//! The model of a construction, as everything else sees it: files, pages, claims and exports ask these questions and no
//! others.

use std::any::Any;
use std::fmt;

use serde_json::Value;

use super::{Certified, Model, Over};
use crate::bound::{Budget, Norm};
use crate::error::{Error, Result};
use crate::eval::float::Engine;
use crate::exact::{Rat, Sequence};
use crate::lattice::Grid;
use crate::lower::Margins;
use crate::meaning::Meanings;
use crate::network::{Coordinate, FloatNetwork, Network};
use crate::pattern::Pattern;

/// A network as its construction made it, with everything that the construction knows of it.
pub trait Built: Any + fmt::Debug + Send + Sync {
    /// The name of its family: behind `construction` in options and files.
    fn family(&self) -> &'static str;

    /// The construction with the options that tell it from others of its family, as one writes them.
    fn construction(&self) -> String {
        self.family().to_owned()
    }

    /// The float network; `None` if it is exact.
    fn float(&self) -> Option<&FloatNetwork>;

    /// The exact network that it is, or was made from.
    fn exact(&self) -> Option<&Network> {
        None
    }

    /// The residual stream, coordinate by coordinate.
    fn coordinates(&self) -> &[Coordinate] {
        let exact = || self.exact().map_or(&[][..], |network| &network.coordinates);
        self.float().map_or_else(exact, |network| &network.coordinates)
    }

    /// The meaning of every register, stage by stage, where it is known exactly.
    fn meanings(&self) -> Option<&Meanings> {
        None
    }

    /// The lines of a certificate that say the same to a checker, where it has rules for all of it.
    fn lines(&self) -> Option<&[String]> {
        None
    }

    /// The attention of its heads, as one names it.
    fn attention(&self) -> String {
        self.float().map_or("hardmax", |_| "softmax").to_owned()
    }

    /// The pattern of sparse attention, if the construction follows one.
    fn pattern(&self) -> Option<&Pattern> {
        None
    }

    /// True if it tells tokens apart by their place.
    fn is_positional(&self) -> bool {
        false
    }

    /// True if it has a value for each cell of its grid; otherwise the grid is only a box.
    fn has_cells(&self) -> bool {
        false
    }

    /// True if its claim is about all of space, the target being 0 outside of the box.
    fn is_everywhere(&self) -> bool {
        false
    }

    /// The steps of a proof that were taken as printed.
    fn as_printed(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The fewest and the most tokens that its claim is about; the grid has so many.
    fn lengths(&self, tokens: usize) -> (usize, usize) {
        (tokens, tokens)
    }

    /// The binary digits of the largest id, where there are ids.
    fn id_bits(&self, _grid: &Grid) -> Option<usize> {
        None
    }

    /// How it was made, in words: construction, options, precision.
    fn made(&self) -> String;

    /// The same for an exported file.
    fn exported_as(&self) -> String {
        self.construction()
    }

    /// Further properties in an exported file.
    fn properties(&self, _model: &Model) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The known behaviour of the network, in words; `None` if nothing is claimed.
    fn claim(&self, model: &Model) -> Option<String>;

    /// The bound in the supremum norm that the claim itself states; `None` if the claim is about points of a grid.
    fn supremum(&self) -> Option<&Budget> {
        None
    }

    /// The badge of its claim against the target.
    fn badge(&self) -> &'static str {
        "certified"
    }

    /// True if its error is measured: nothing is proved of what somebody trained.
    fn is_measured(&self) -> bool {
        false
    }

    /// The proved error in a norm, if there is one. A bound that is infinite is an error if a norm was asked for.
    fn budget(&self, model: &Model, norm: &Norm) -> Result<Option<Budget>>;

    /// The error for a tolerance that its bound misses, with a way out; `None` if it cannot miss one.
    fn missed(&self, _model: &Model, _eps: &Rat, _certified: &Certified) -> Option<Error> {
        None
    }

    /// The distance of a float network from the target's values where it serves them: at centres of cells, or everywhere.
    fn rounding(&self) -> Option<f64> {
        None
    }

    /// The points at which a claim holds that is proved point by point.
    fn over_points(&self) -> Over {
        Over::Integers
    }

    /// The same in the words of an exported file.
    fn points_in_words(&self) -> &'static str {
        "the points of the grid"
    }

    /// The further proof of a measured network, as it is written.
    fn proved_besides(&self, _model: &Model) -> Value {
        Value::Null
    }

    /// True if an option was asked for that the proofs do not cover.
    fn is_broken(&self, _model: &Model) -> bool {
        false
    }

    /// True if the network is not the one that the construction builds: somebody edited its files.
    fn is_edited(&self, model: &Model) -> bool;

    /// Refuses a network that is further from its target than is proved, as an error found somewhere shows.
    fn confirm(&self, _found: f64, _at: &[Vec<f64>], _engine: &Engine) -> Result<()> {
        Ok(())
    }

    /// The output that a sequence is to have: the target's value, or that of its cell.
    fn expected(&self, model: &Model, x: &[Vec<Rat>]) -> Result<Sequence> {
        model.target.evaluate_near(x)
    }

    /// Why the target's value is not to be expected of a sequence, in words, if it is not.
    fn unserved(&self, model: &Model, x: &[Vec<Rat>]) -> Option<String> {
        (!model.is_in_domain(x)).then(|| "outside of the domain, where nothing is claimed".to_owned())
    }

    /// True if a cell is one that it serves.
    fn serves(&self, _point: &[Vec<u64>]) -> bool {
        true
    }

    /// The domain of its certified error, in words.
    fn domain_name(&self, model: &Model) -> String;

    /// Copies on shifted grids, of which outputs are the median: the cells a side of the box, what is cut off each, and
    /// the lines of a certificate that say where the copies are.
    fn copies(&self) -> Option<(u64, Margins, Vec<String>)> {
        None
    }

    /// The margins that are cut off each cell, for a certificate.
    fn margins(&self) -> Option<Margins> {
        None
    }

    /// Its normal form in words: φ and ψ of a Sumformer.
    fn normal_form(&self) -> Option<[String; 2]> {
        None
    }

    /// Adds to the summary what only this construction has.
    fn summarise(&self, _summary: &mut Value) {}

    /// Adds to `model.json` what only this construction needs to read it back.
    fn write(&self, _file: &mut Value) {}

    /// The name under which the plan chose it, and what else one could ask for.
    fn chosen(&self, _model: &Model) -> (String, String) {
        (self.construction(), "⟨construction=yun⟩ takes the literal theorem".to_owned())
    }
}

impl dyn Built {
    /// The network as one that this construction made, if it did.
    pub fn of<T: Built>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}
