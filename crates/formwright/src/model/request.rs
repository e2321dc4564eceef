//! A user's request, and the defaults that fill it in.

use std::sync::Arc;

use super::{Construction, Model};
use crate::bound::Norm;
use crate::error::{Error, ErrorKind, Result};
use crate::exact::Rat;
use crate::lattice::Grid;
use crate::lower::Format;
use crate::network::{Precision, Realisation};
use crate::show::plural;
use crate::target::Source;

/// A user's request; whatever is left open is filled in from the target, else from the defaults.
#[derive(Clone, Debug)]
pub struct Request {
    /// The function.
    pub source: Source,
    /// The constructions that may be taken: one if it was named, otherwise all that there are, and the plan decides.
    pub(crate) constructions: Vec<Arc<dyn Construction>>,
    /// The number of tokens; 3 unless the target fixes it.
    pub tokens: Option<usize>,
    /// The coordinates of a token; 1 unless the target fixes it.
    pub dims: Option<usize>,
    /// Cells a side; there is no default, but a table and an integer domain fix it, and a tolerance finds it. A circuit has none.
    pub resolution: Option<u64>,
    /// How a circuit's sums and means over all tokens are realised.
    pub attention: Realisation,
    /// Take the target for equivariant, as an assumption.
    pub assume_equivariant: bool,
    /// Claim all of space, the target being 0 outside of the box.
    pub everywhere: bool,
    /// The error that is asked for.
    pub tolerance: Tolerance,
    /// The arithmetic of the network.
    pub arithmetic: Arithmetic,
}

/// The arithmetic of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// Rational numbers, hardmax.
    #[default]
    Exact,
    /// Floats and softmax, in this format.
    Float(Format),
    /// Floats and softmax: single precision if that meets the tolerance, else double; the format's own precision is not read.
    AnyFloat(Format),
    /// The same, and exact if neither serves.
    Auto(Format),
}

impl Arithmetic {
    /// The formats to try, in order; `None` is exact.
    pub fn choices(self) -> Vec<Option<Format>> {
        match self {
            Self::Exact => vec![None],
            Self::Float(format) => vec![Some(format)],
            Self::AnyFloat(format) => {
                [Precision::F32, Precision::F64].map(|precision| Some(Format { precision, ..format })).to_vec()
            }
            Self::Auto(format) => [Self::AnyFloat(format).choices(), vec![None]].concat(),
        }
    }
}

/// The tolerance that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tolerance {
    /// It must be at most this; `None` asks for nothing where the grid is fixed, and for 1/100 elsewhere.
    pub eps: Option<Rat>,
    /// In this norm; with a tolerance and no norm, the supremum.
    pub norm: Option<Norm>,
    /// A Lipschitz constant that is stated and not proved.
    pub lipschitz: Option<Rat>,
}

impl Tolerance {
    /// The norm in which an error is certified, if one is.
    pub fn norm(&self) -> Option<Norm> {
        self.norm.clone().or_else(|| self.eps.as_ref().map(|_| Norm::Sup))
    }

    /// The same, with the tolerance that is meant where nobody names one.
    pub fn or_default(&self) -> Self {
        Self { eps: self.eps.clone().or_else(|| Some(Rat::new(1, 100))), ..self.clone() }
    }
}

const DEFAULT_TOKENS: usize = 3;
const DEFAULT_DIMS: usize = 1;

/// The cells a side of the grid on which a witness is looked for while the grid is still open.
const PROVISIONAL: u64 = 4;

impl Request {
    /// A request for a target by one of these constructions, in exact numbers; everything else is left open.
    pub fn new(source: Source, constructions: Vec<Arc<dyn Construction>>) -> Self {
        Self {
            source,
            constructions,
            tokens: None,
            dims: None,
            resolution: None,
            attention: Realisation::SOFTMAX,
            assume_equivariant: false,
            everywhere: false,
            tolerance: Tolerance::default(),
            arithmetic: Arithmetic::Exact,
        }
    }

    /// The construction that was named, if one was.
    pub fn named(&self) -> Option<&Arc<dyn Construction>> {
        match self.constructions.as_slice() {
            [named] => Some(named),
            _ => None,
        }
    }

    /// The stock class in which the tolerance is to be met.
    pub(crate) fn host(&self) -> Option<&'static str> {
        self.constructions.first().and_then(|construction| construction.host())
    }

    /// The grid that was asked for; its resolution is provisional if neither the request nor the target names one.
    pub fn grid(&self) -> Result<Grid> {
        shape(&self.source, self.tokens, self.dims, self.resolution)
    }

    /// True if somebody has to choose how the target is approximated: no grid was named, and the target is no table.
    pub fn is_open(&self) -> bool {
        self.resolution.is_none() && self.source.text().is_some()
    }

    /// True if the first row of the plan is to be built: no construction was named, and there is a tolerance, or
    /// nothing that fixes a grid, or the supremum norm is asked for, which only some have, or a host.
    pub fn is_left_to_plan(&self) -> bool {
        let in_sup = self.tolerance.norm == Some(Norm::Sup) || self.host().is_some();
        self.named().is_none() && (self.tolerance.eps.is_some() || self.is_open() || in_sup)
    }

    /// The cells a side that the request or the target names.
    pub(crate) fn resolution(&self) -> Option<u64> {
        self.resolution.or(self.source.resolution())
    }

    /// The tolerance of a lattice network: nothing, if its grid is fixed and no tolerance is named.
    pub(crate) fn lattice_tolerance(&self) -> Tolerance {
        if self.resolution().is_some() { self.tolerance.clone() } else { self.tolerance.or_default() }
    }
}

/// The model of the first arithmetic that serves; otherwise why the one that came nearest does not.
pub(crate) fn first_that_serves(
    request: &Request,
    compile_in: impl Fn(Option<Format>) -> Result<Model>,
) -> Result<Model> {
    let mut missed = None;
    for format in request.arithmetic.choices() {
        match compile_in(format) {
            // What is malformed is so in every format.
            Err(error) if error.kind() != ErrorKind::Input => {
                // By how much a tolerance is missed says more than what another format cannot do at all.
                let says_less = error.kind() == ErrorKind::Declined
                    && missed.as_ref().is_some_and(|missed: &Error| missed.kind() == ErrorKind::Rejected);
                if !says_less {
                    missed = Some(error);
                }
            }
            compiled => return compiled,
        }
    }
    Err(missed.unwrap_or_else(|| Error::input("no arithmetic was asked for")))
}

/// The grid of a target, of what was asked for and what the target fixes; see [`Request::shape`].
pub(crate) fn shape(
    source: &Source,
    tokens: Option<usize>,
    dims: Option<usize>,
    resolution: Option<u64>,
) -> Result<Grid> {
    let tokens = fixed("tokens", tokens, source.tokens(), &source.name)?.unwrap_or(DEFAULT_TOKENS);
    let dims = fixed("dims", dims, source.dims(), &source.name)?.unwrap_or(DEFAULT_DIMS);
    let resolution = fixed("resolution", resolution, source.resolution(), &source.name)?;
    if source.resolution().is_some_and(|cells| cells < 2) {
        return Err(Error::input(format!("the domain of {} has a single value", source.name))
            .note("try", "a domain of at least two integers, such as `on integers 0..2`"));
    }
    check_size(source, tokens, dims)?;
    let (low, high) = source.cube();
    if low >= high {
        // What is wrong with the domain is said of the domain.
        source.target(dims)?;
    }
    Grid::new(tokens, dims, resolution.unwrap_or(PROVISIONAL), low, high)
}

/// The most numbers of a sequence. Attention looks at every two tokens: twice as many take four times as long.
const MOST_NUMBERS: usize = 1 << 14;

/// The most coordinates of a token: weights are matrices of them.
const MOST_DIMS: usize = 1 << 8;

/// The most steps that one value of the target may take.
const MOST_STEPS: u128 = 1 << 22;

/// Declines what would be too large to compile, whatever the construction, before anything is made for it.
fn check_size(source: &Source, tokens: usize, dims: usize) -> Result<()> {
    let shape = format!("{tokens} tokens of {}", plural(dims, "coordinate"));
    let too_large = |what: String, limit: String| Error::declined(what).note("limit", limit);
    if dims > MOST_DIMS {
        let limit = format!("{MOST_DIMS}: weights are matrices of them");
        return Err(too_large(format!("a token would have {dims} coordinates"), limit)
            .note("try", format!("⟨dims={MOST_DIMS}⟩")));
    }
    if tokens.saturating_mul(dims) > MOST_NUMBERS {
        let numbers = tokens as u128 * dims as u128;
        let limit = format!("{MOST_NUMBERS}: all are part of the proof, and attention looks at every two tokens");
        return Err(too_large(format!("a sequence of {shape} would have {numbers} numbers"), limit)
            .note("try", format!("⟨tokens={}⟩", MOST_NUMBERS / dims)));
    }
    let fits = |tokens: usize| source.steps(tokens, dims) <= MOST_STEPS;
    if fits(tokens) {
        return Ok(());
    }
    let steps = source.steps(tokens, dims);
    let limit = format!("{MOST_STEPS}: it is evaluated many times, exactly as well");
    let error = too_large(format!("one value of the target at {shape} would take about {steps} steps"), limit);
    let (mut enough, mut many) = (0, tokens);
    while many - enough > 1 {
        let middle = enough.midpoint(many);
        if fits(middle) { enough = middle } else { many = middle }
    }
    Err(error.note("try", if enough == 0 { "a shorter expression".to_owned() } else { format!("⟨tokens={enough}⟩") }))
}

/// Checks that the user and the target agree on a number.
fn fixed<T: PartialEq + std::fmt::Display>(
    option: &str,
    asked: Option<T>,
    fixed: Option<T>,
    name: &str,
) -> Result<Option<T>> {
    match (asked, fixed) {
        (Some(asked), Some(fixed)) if asked != fixed => {
            Err(Error::input(format!("⟨{option}⟩ is {asked}, but the target {name} fixes it to {fixed}"))
                .note("try", format!("leave out ⟨{option}⟩")))
        }
        (asked, fixed) => Ok(fixed.or(asked)),
    }
}
