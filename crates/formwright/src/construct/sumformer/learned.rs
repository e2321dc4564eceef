//! Models that were learned: a trained Sumformer as a Transformer (Theorems 4.3 to 4.5, applied to a φ and a ψ that somebody trained).
//!
//! ```text
//! S(X)_i = ψ(x_i, Σ_k φ(x_k))      φ, ψ: ReLU networks of f32 weights
//! ```
//!
//! **Over the reals, the network computes `S` itself.** Weights of f32 are rational numbers and numbers of both formats, so none is rounded. Scores are 0, so a
//! softmax weighs every token by `1/n`, and the values are `n φ(x_k)`: `n · (1/n) = 1`. An average does the same; a Linformer with `F = 1` and a Performer
//! with queries and keys 0 give the sum for every draw, and their values are `φ(x_k)`. What is left is rounding, and of that two things are proved: a bound `R` at
//! every point of the box, and one at a single input (`Rounding`, [`Learned::spread`]). Over the box few units are known to be on or off: of deep networks in
//! f32 `R` may be large, and says so.
//!
//! **How far `S` is from the target is measured**, never proved: nothing is known of what somebody trained.
//!
//! A folder does not store φ and ψ besides the network. They are read out of its weights and the network is built anew: if that is another one,
//! somebody edited it, and nothing is claimed; else everything that is told is computed from the weights that are there, edited or not.
//!
//! A φ of monomials `x^α` is no ReLU network. Gates could only come near it, and the network would compute another function than the trained one, with an error of its own to be
//! multiplied by all of ψ: such a φ is not taken.
//!
//! *Size*: that of `transformer`: `L_φ + L_ψ` blocks with one attention layer, width `d + w + 2d' + d_out`, `w` the widest hidden layer. With `units` hidden
//! units, `units (2 width + 1) + (L_φ + L_ψ) width` parameters in feed-forward layers.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::family::LEARNED;
use super::rounding::Rounding;
use super::transformer::{recover, transformer};
use crate::bound::ascent::starts;
use crate::bound::norm::upward;
use crate::bound::{Budget, Norm};
use crate::construct::circuit::built as circuit;
use crate::error::{Error, Result};
use crate::eval::enclosure::Executions;
use crate::exact::Rat;
use crate::interval::Interval;
use crate::lattice::Grid;
use crate::lower::as_it_is;
use crate::lower::realise::realise;
use crate::model::{Built, Model, Tolerance, shape};
use crate::network::{Affine, FloatNetwork, Network, Precision, Realisation, Sumformer, TokenNetwork};
use crate::target::{Source, Target};

/// A trained Sumformer, its target, and the way to compile it.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The function that it was trained for.
    pub source: Source,
    /// The number of tokens.
    pub tokens: usize,
    /// The layers of φ, from a token to the latent dimension.
    pub phi: Vec<Dense>,
    /// From a token and the sum, in this order, to an output token.
    pub psi: Vec<Dense>,
    /// How the sum is realised.
    pub attention: Realisation,
    /// The format of the network.
    pub precision: Precision,
}

/// A trained layer: an affine map, behind which all but the last of a network have a ReLU.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// `[out][in]`.
    pub weight: Vec<Vec<f32>>,
    /// `[out]`.
    pub bias: Vec<f32>,
}

/// A trained Sumformer, compiled.
#[derive(Debug)]
pub struct Learned {
    /// The trained Sumformer.
    pub(crate) sumformer: Sumformer,
    /// Its Transformer over the rationals, with hardmax for equal scores.
    pub exact: Network,
    /// The network that is shipped.
    pub network: FloatNetwork,
    /// How the sum is realised.
    pub attention: Realisation,
    /// `R`: how far any execution may be from the trained function, at every point of the box.
    pub rounding: f64,
    /// The same, point by point.
    executions: Rounding,
    /// The largest spread at a few points, once it has been computed.
    spread: OnceLock<f64>,
}

/// The number of points at which executions are enclosed for a model's report.
const ENCLOSED: usize = 64;

impl Trained {
    /// Compiles the Sumformer.
    pub fn compile(&self) -> Result<Model> {
        let Trained { source, tokens, phi, psi, attention, precision } = self;
        let sumformer = Sumformer::new(token_network("φ", phi)?, token_network("ψ", psi)?)?;
        let grid = shape(source, Some(*tokens), Some(sumformer.dims()), None)?;
        let target = Arc::new(source.target(grid.dims())?);
        if sumformer.output_dims() != target.output_dims() {
            let (given, wanted) = (sumformer.output_dims(), target.output_dims());
            return Err(Error::input(format!("ψ gives {given} numbers a token, and the target {wanted}"))
                .note("target", source.name.clone())
                .note("try", format!("a ψ whose last layer has {wanted} rows")));
        }
        let built = Learned::build(sumformer, &grid, (*attention, *precision))?;
        // What nobody asks for is measured where it is largest.
        let tolerance = Tolerance { norm: Some(Norm::Sup), ..Tolerance::default() };
        Ok(Model::new(source.clone(), target, grid, Vec::new(), tolerance, Arc::new(built)))
    }
}

/// Trained layers over the rationals.
fn token_network(name: &str, layers: &[Dense]) -> Result<TokenNetwork> {
    let exact = |(place, layer): (usize, &Dense)| {
        let number = |x: &f32| {
            let refused =
                || Error::input(format!("layer {place} has a weight that is {x}")).note("try", "finite weights");
            Rat::from_f64(f64::from(*x)).ok_or_else(refused)
        };
        let row = |row: &Vec<f32>| row.iter().map(number).collect::<Result<Vec<Rat>>>();
        Ok(Affine {
            weight: layer.weight.iter().map(row).collect::<Result<_>>()?,
            bias: layer.bias.iter().map(number).collect::<Result<_>>()?,
        })
    };
    let layers = layers.iter().enumerate().map(exact).collect::<Result<Vec<Affine>>>();
    layers.and_then(TokenNetwork::new).map_err(|error| error.note_first("network", name))
}

impl Learned {
    fn build(sumformer: Sumformer, grid: &Grid, (attention, precision): (Realisation, Precision)) -> Result<Self> {
        if attention.normaliser().is_none() {
            return Err(Error::declined(format!("{attention} attention does not compute the trained function"))
                .note("reason", "a drawn F does not give the sum, and 1/‖a_0‖² of a constant row has to be rounded")
                .note("try", "⟨attention=linformer:4⟩, or performer:4"));
        }
        let exact = transformer(&sumformer, grid.tokens())?;
        let network = realise(&as_it_is(&exact, precision)?, &attention)?;
        let side = Interval::from(grid.low()).hull(Interval::from(grid.high()));
        let executions = Rounding::new(&sumformer, grid.tokens(), (&attention, precision));
        let rounding = executions.on(side);
        if rounding.is_infinite() {
            return Err(Error::declined(format!("executions of this network in {precision} might overflow"))
                .note("reason", "nothing is proved of how large its values are, at every point of the box")
                .note("try", "⟨precision=f64⟩, or smaller weights"));
        }
        Ok(Self { sumformer, exact, network, attention, rounding, executions, spread: OnceLock::new() })
    }

    /// Reads the network of a folder, with the sizes of φ and ψ beside it; true if it is no Transformer of a Sumformer.
    pub(crate) fn read(
        network: FloatNetwork,
        grid: &Grid,
        (phi, psi): (&[usize], &[usize]),
        attention: Realisation,
    ) -> Result<(Self, bool)> {
        let sumformer = recover(&network, phi, psi)
            .ok_or_else(|| Error::input(format!("its network has no φ of sizes {phi:?} and ψ of sizes {psi:?}")))?;
        let built = Self::build(sumformer, grid, (attention, network.precision))?;
        let edited = built.network != network;
        Ok((Self { network, ..built }, edited))
    }

    /// How far an execution may be from the trained function at one input, rounded to the format; it is proved. The less of what rounding can do there
    /// (`Rounding::at`), and of the width of the enclosure of all executions ([`Executions`]), in which the function's value lies: it knows which sums are exact.
    pub fn spread(&self, x: &[Vec<f64>]) -> Result<f64> {
        let enclosure = Executions::new(&self.network)?.enclose(x)?;
        Ok(enclosure.output.iter().flatten().map(|y| y.width()).fold(0.0, f64::max).min(self.executions.at(x)))
    }

    /// The largest spread at a few points of the kinds where functions of many tokens are extreme.
    fn most_spread(&self, target: &Target, grid: &Grid) -> f64 {
        let most = || {
            let points = starts(target, grid, ENCLOSED);
            // What cannot be enclosed may be anywhere.
            points.iter().map(|x| self.spread(x).unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
        };
        *self.spread.get_or_init(most)
    }

    /// The statement about rounding, in words.
    fn claim_on(&self, target: &Target, grid: &Grid) -> String {
        let [bound, spread] = [(self.rounding, 4), (self.most_spread(target, grid), 3)].map(|(x, k)| upward(x, k));
        let domain = domain_name(target, grid);
        format!(
            "every execution is within {bound} of the trained function at every point of {domain}; within {spread} at \
             each of {ENCLOSED} points where all executions were enclosed"
        )
    }

    /// The same, as it is written.
    fn rounding_to_json(&self, target: &Target, grid: &Grid) -> Value {
        json!({
            "badge": "certified",
            "against": "the trained function",
            "norm": "sup",
            "domain": domain_name(target, grid),
            "bound": self.rounding,
            "enclosed": {"points": ENCLOSED, "bound": self.most_spread(target, grid)},
        })
    }
}

/// The box, or the integers, of the one length.
fn domain_name(target: &Target, grid: &Grid) -> String {
    circuit::domain_name(target, grid, (grid.tokens(), grid.tokens()))
}

impl Built for Learned {
    fn family(&self) -> &'static str {
        LEARNED
    }

    fn float(&self) -> Option<&FloatNetwork> {
        Some(&self.network)
    }

    fn exact(&self) -> Option<&Network> {
        Some(&self.exact)
    }

    fn attention(&self) -> String {
        self.attention.to_string()
    }

    fn made(&self) -> String {
        let theorem = self.attention.kind.theorem();
        format!(
            "training, as a Sumformer of latent dimension {} ({theorem}), {}, {} attention",
            self.sumformer.latent(),
            self.network.precision,
            self.attention
        )
    }

    fn exported_as(&self) -> String {
        format!("{LEARNED}, a Sumformer (Theorems 4.3 to 4.5)")
    }

    fn claim(&self, model: &Model) -> Option<String> {
        (!model.is_edited()).then(|| self.claim_on(&model.target, &model.grid))
    }

    fn badge(&self) -> &'static str {
        "measured"
    }

    fn is_measured(&self) -> bool {
        true
    }

    fn budget(&self, _model: &Model, _norm: &Norm) -> Result<Option<Budget>> {
        Ok(None)
    }

    fn proved_besides(&self, model: &Model) -> Value {
        self.rounding_to_json(&model.target, &model.grid)
    }

    /// Its weights are looked at when they are read.
    fn is_edited(&self, _model: &Model) -> bool {
        false
    }

    fn domain_name(&self, model: &Model) -> String {
        domain_name(&model.target, &model.grid)
    }

    fn normal_form(&self) -> Option<[String; 2]> {
        let told = |name: &str, network: &TokenNetwork| {
            let sizes = network.sizes().iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ");
            format!("{name}: {sizes}, trained; {} weights", network.parameters())
        };
        Some([told("φ", self.sumformer.phi()), told("ψ", self.sumformer.psi())])
    }

    fn summarise(&self, summary: &mut Value) {
        summary["sumformer"] = json!({"phi": self.sumformer.phi().sizes(), "psi": self.sumformer.psi().sizes()});
    }
}

impl Model {
    /// The trained Sumformer, if it is one.
    pub fn learned(&self) -> Option<&Learned> {
        self.built.of()
    }
}
