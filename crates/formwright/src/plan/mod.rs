//! What there is to choose from: every construction's size, bits and bound.
//!
//! Lattice networks are sized up by formulas, before anything is built. A circuit is compiled, which is quick; what comes of it is kept, and
//! built if it is chosen.
//!
//! Rows are looked at in the order of what they weigh at least (`least.rs`), and no more of them than it takes to know the smallest that serves: what
//! cannot win is left out, with the reason. [`plan`] looks at all of them.
//!
//! Beside the sizes of lattice networks stand the counts of section 5.4 of Yun et al. 2020: any method that approximates by cells has to
//! remember one number for each output entry and cell, `d n N^{dn} / n!` for equivariant functions and `d n N^{dn}` for all; a residual
//! network (Lin & Jegelka 2018) needs the order of `d n N^{dn}` parameters.

mod least;
mod sums;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::bound::baseline::baseline;
use crate::bound::piecewise::{Question, bound};
use crate::bound::resolution::Found;
use crate::bound::{Baseline, Budget, Norm, lowered};
use crate::compile::lattice::{self, assumptions, build, check_attention, coarsest, domain_name, grid_for, not_met};
use crate::compile::{
    Arithmetic, Circuit, Construction, Lowered, Model, Proof, Request, SumCoded, circuit, compile, sum_code,
};
use crate::construct::circuit::Trade;
use crate::construct::sumcode;
use crate::construct::sumformer::continuous::{Basis, Continuous};
use crate::construct::yun::{self, Options};
use crate::error::{Error, ErrorKind, Result};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::lower::{self, Format, Hidden, Lowering};
use crate::network::{Precision, Realisation, Size};
use crate::target::Target;
use crate::words::{kilobytes, short_int};

use least::{Afar, weight};

/// One way to build a target.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Which.
    pub way: Way,
    /// What it would be, or why it is not to be had.
    pub outcome: std::result::Result<Sketch, Error>,
}

/// A construction, and what there is to choose about it.
#[derive(Clone, Debug)]
pub enum Way {
    /// Yun et al. 2020.
    Yun {
        /// With positions: Theorem 3.
        positional: bool,
        /// With sparse attention: `sparse:` and the pattern's name.
        sparse: Option<Arc<str>>,
        /// The format of its floats; `None` is exact.
        format: Option<Format>,
    },
    /// A circuit.
    Circuit {
        /// The format of its floats; `None` is exact, which no circuit is.
        precision: Option<Precision>,
        /// What hidden units are traded for; `None` if there is no circuit at all.
        trade: Option<Trade>,
        /// How its sums are realised.
        attention: Realisation,
    },
    /// A sum of codes.
    SumCode {
        /// Which, with which code and value map.
        options: sumcode::Options,
        /// The format of its floats; `None` is exact.
        format: Option<Format>,
    },
    /// A Sumformer: a circuit of the target's normal form.
    Sumformer {
        /// As of a circuit.
        precision: Option<Precision>,
        /// As of a circuit.
        trade: Option<Trade>,
        /// What its ψ is made of; `None` if there is no normal form.
        basis: Option<Basis>,
        /// The kind of its heads.
        attention: Realisation,
    },
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
    /// What is assumed and not proved.
    pub assumptions: Vec<String>,
    /// What keeps it from meeting the tolerance.
    pub why_not: Option<Error>,
    /// What only one family has.
    pub more: More,
}

/// What there is to say of one family only.
#[derive(Clone, Debug)]
pub enum More {
    /// Of a lattice network.
    Cells(Cells),
    /// The circuit itself.
    Circuit(Box<Circuit>),
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
    /// A sum of codes, which had to be built.
    built: Option<Arc<SumCoded>>,
}

impl Way {
    /// `yun`, `circuit`, `sumformer`, `sum-code` or `sumformer-discrete`.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Yun { .. } => "yun",
            Self::Circuit { .. } => "circuit",
            Self::Sumformer { .. } => "sumformer",
            Self::SumCode { options, .. } => options.family.name(),
        }
    }

    /// What one writes behind `--construction`.
    pub fn construction(&self) -> String {
        match self {
            Self::Yun { sparse: Some(pattern), .. } => format!("yun --attention {pattern}"),
            Self::Yun { positional: true, .. } => "yun --positional".to_owned(),
            Self::Circuit { trade: Some(trade), attention, .. } => {
                format!("circuit --trade {}{}", trade.name(), behind(*attention))
            }
            Self::SumCode { options, .. } => {
                let mut name = options.family.name().to_owned();
                if options.positional {
                    name.push_str(" --positional");
                }
                if options.values != sumcode::Values::default() {
                    name = format!("{name} --values {}", options.values);
                }
                name.push_str(&behind(options.attention));
                options.code.map_or(name.clone(), |code| format!("{name} --code {code}"))
            }
            Self::Sumformer { trade: Some(trade), basis, attention, .. } => {
                let basis = basis.filter(|basis| *basis != Basis::Polynomial);
                let basis = basis.map_or_else(String::new, |basis| format!(" --basis {basis}"));
                format!("sumformer{basis} --trade {}{}", trade.name(), behind(*attention))
            }
            _ => self.family().to_owned(),
        }
    }

    fn floats(&self) -> Option<Precision> {
        match self {
            Self::Yun { format, .. } | Self::SumCode { format, .. } => format.map(|format| format.precision),
            Self::Circuit { precision, .. } | Self::Sumformer { precision, .. } => *precision,
        }
    }

    /// Its place among formats: single precision before double before exact.
    fn class(&self) -> usize {
        self.floats().map_or(2, |precision| precision as usize)
    }

    /// Whether it tells tokens apart by their place, as far as that is known before it is built.
    fn positional(&self) -> Option<bool> {
        match self {
            Self::Yun { positional, .. } => Some(*positional),
            Self::SumCode { options, .. } => Some(options.positional),
            Self::Circuit { .. } | Self::Sumformer { .. } => None,
        }
    }

    /// Whether it is made of gates.
    fn is_circuit(&self) -> bool {
        matches!(self, Self::Circuit { .. } | Self::Sumformer { .. })
    }

    /// Whether heads of another kind than softmax were asked for: what keeps them from serving is what the answer is about.
    fn is_realised(&self) -> bool {
        match self {
            Self::Circuit { attention, .. } | Self::Sumformer { attention, .. } => *attention != Realisation::Softmax,
            Self::SumCode { options, .. } => options.attention != Realisation::Softmax,
            Self::Yun { .. } => false,
        }
    }

    /// Construction and precision.
    pub fn name(&self) -> String {
        format!("{}, {}", self.construction(), self.precision())
    }

    /// `f32`, `f64` or `exact`.
    pub fn precision(&self) -> &'static str {
        self.floats().map_or("exact", Precision::name)
    }

    /// `softmax`, or what else realises a circuit's sums; `hardmax` if it is exact.
    pub fn attention(&self) -> String {
        match (self, self.floats()) {
            (Self::Yun { sparse: Some(pattern), .. }, _) => pattern.to_string(),
            (_, None) => "hardmax".to_owned(),
            (Self::Circuit { attention, .. } | Self::Sumformer { attention, .. }, Some(_)) => attention.to_string(),
            (Self::SumCode { options, .. }, Some(_)) => options.attention.to_string(),
            (Self::Yun { .. }, Some(_)) => "softmax".to_owned(),
        }
    }
}

/// What one writes behind a circuit whose heads are not softmax.
fn behind(attention: Realisation) -> String {
    if attention == Realisation::Softmax { String::new() } else { format!(" --attention {attention}") }
}

impl Candidate {
    /// Construction and precision.
    pub fn name(&self) -> String {
        self.way.name()
    }

    /// Whether it can be had and meets the tolerance.
    pub fn serves(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|sketch| sketch.why_not.is_none())
    }

    /// Why it does not serve, if it does not.
    pub fn reason(&self) -> Option<&Error> {
        self.outcome.as_ref().map_or_else(Some, |sketch| sketch.why_not.as_ref())
    }

    /// The gates and heads of a circuit.
    fn gates(&self) -> Option<usize> {
        match &self.outcome.as_ref().ok()?.more {
            More::Circuit(circuit) => Some(circuit.proof()?.gates.len()),
            More::Cells(_) => None,
        }
    }

    /// What it weighs, if it is of floats.
    fn other(&self) -> Option<Other> {
        let parameters = self.outcome.as_ref().ok()?.size.parameters.clone();
        Some(Other { way: self.way.clone(), parameters, bytes: self.bytes()? })
    }

    /// The bytes of its weights; nothing if they are exact numbers, which have no format.
    pub fn bytes(&self) -> Option<Int> {
        let sketch = self.outcome.as_ref().ok()?;
        self.way.floats().map(|precision| weight(&sketch.size.parameters, Some(precision)))
    }

    /// Whether it tells tokens apart by their place, as far as that is known.
    fn positional(&self) -> Option<bool> {
        match &self.outcome {
            Ok(Sketch { more: More::Circuit(circuit), .. }) => Some(circuit.network.positions.is_some()),
            _ => self.way.positional(),
        }
    }

    /// What candidates are sorted by. Those that serve: floats before exact numbers, then the fewest bytes (of exact numbers: parameters), and of
    /// equal ones single precision first. Those that do not: the nearest first. Those that are not to be had: those that miss a tolerance first, then
    /// lattice networks, exact numbers first, whose reason is never a format; but where attention is asked for that only circuits have, these.
    fn rank(&self) -> (u8, usize, f64, Int) {
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

impl Sketch {
    /// The cells of a lattice network.
    pub fn cells(&self) -> Option<&Cells> {
        match &self.more {
            More::Cells(cells) => Some(cells),
            More::Circuit(_) => None,
        }
    }

    /// `certified`, or `measured` if a part of the bound was not proved.
    fn badge(&self) -> &'static str {
        match &self.more {
            More::Circuit(circuit) => circuit.proof().map_or("certified", Proof::badge),
            More::Cells(_) => "certified",
        }
    }

    /// Our parameters for each number that a lattice network has to remember.
    pub fn ratio(&self) -> Option<f64> {
        let remembered = self.cells()?.to_remember.clone().max(Int::ONE);
        Some(Rat::new(self.size.parameters.clone(), remembered).to_f64())
    }
}

impl Cells {
    /// The smallest precision whose mantissa holds the ids and, two digits more, the edges of their windows.
    pub fn precision_needed(&self) -> &'static str {
        match self.id_bits {
            0..=22 => "f32",
            23..=51 => "f64",
            _ => "exact",
        }
    }
}

/// A row that was not looked at.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// Which.
    pub way: Way,
    /// Why it could not be the first.
    pub reason: Error,
}

impl LeftOut {
    /// Construction and precision.
    pub fn name(&self) -> String {
        self.way.name()
    }
}

/// The plan for a request.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The tolerance; `None` if the grid is fixed and nothing is asked of the error.
    pub eps: Option<Rat>,
    /// The norm.
    pub norm: Norm,
    /// What was looked at, those that meet the tolerance first, the smallest first.
    pub candidates: Vec<Candidate>,
    /// What was not, because it could not be the first.
    pub left_out: Vec<LeftOut>,
    /// The error of the best constant.
    pub baseline: Option<Baseline>,
}

/// What was built of a plan, and what there is to say of the choice.
#[derive(Debug)]
pub struct Taken {
    /// The model.
    pub model: Model,
    /// The smallest row in the other precision that serves as well and was looked at: name, precision and size.
    pub other: Option<Other>,
    /// Why it is no circuit, where it is none and might have been one.
    pub no_circuit: Option<Error>,
}

/// A row that serves and was not taken.
#[derive(Clone, Debug)]
pub struct Other {
    /// Which.
    pub way: Way,
    /// Its parameters,
    pub parameters: Int,
    /// and their bytes.
    pub bytes: Int,
}

/// Compiles the first row of the plan. If no row meets the tolerance, the error is that of the first row.
pub fn compile_first(request: &Request) -> Result<Model> {
    take_first(request).map(|taken| taken.model)
}

/// The same, and what there is to say of the choice.
pub fn take_first(request: &Request) -> Result<Taken> {
    let request = with_tolerance(request);
    let plan = rows(&request, Wanted::First, &mut |_| {})?;
    let (other, no_circuit) = (plan.other(), plan.no_circuit().cloned());
    let model = build_first(&request, plan)?;
    Ok(Taken { model, other, no_circuit })
}

fn build_first(request: &Request, plan: Plan) -> Result<Model> {
    let all = plan.candidates.len();
    let circuits = || plan.candidates.iter().filter(|candidate| matches!(candidate.way, Way::Circuit { .. }));
    let refused = circuits().find_map(|candidate| candidate.outcome.as_ref().err());
    let refused = refused.filter(|_| circuits().all(|candidate| candidate.outcome.is_err())).cloned();
    // Where nothing can be had, what is wrong with the expression says more than what cells are for; unless it was not looked at.
    let own = refused.clone().filter(|_| circuit::refusal(request).is_none());
    let Some(first) = plan.candidates.into_iter().next() else { return compile(request) };
    let (name, serves, way) = (first.name(), first.serves(), first.way);
    let on = |resolution: u64| -> Result<(Arc<Target>, Grid)> {
        let shape = request.shape()?;
        Ok((Arc::new(request.source.target(shape.dims())?), shape.with_resolution(resolution)?))
    };
    match (way, first.outcome) {
        (Way::Circuit { .. } | Way::Sumformer { .. }, Ok(Sketch { more: More::Circuit(circuit), .. })) => {
            match circuit.misses(request) {
                None => {
                    let shape = request.shape()?;
                    let target = Arc::new(request.source.target(shape.dims())?);
                    Ok(circuit::model(request, target, shape, *circuit))
                }
                Some(error) => Err(error.note_first("nearest", format!("{name}; formwright plan lists all {all}"))),
            }
        }
        (Way::Yun { .. } | Way::SumCode { .. }, Err(error)) if own.is_some() && error.kind() == ErrorKind::Declined => {
            Err(own.map_or(error.clone(), |own| own.note("cells", error.headline())))
        }
        (Way::Circuit { .. } | Way::Sumformer { .. } | Way::SumCode { .. }, Err(error)) => Err(error),
        (Way::Circuit { .. } | Way::Sumformer { .. }, _) => Err(Error::declined("a circuit was not made")),
        // What serves was found on a grid: it is built there.
        (Way::SumCode { options, format }, Ok(Sketch { more: More::Cells(cells), .. })) if serves => {
            let (target, grid) = on(cells.resolution)?;
            let assumed = sum_code::assumptions(&grid, &target, &options, request.assume_equivariant)?;
            let built = match cells.built.map(Arc::try_unwrap) {
                Some(Ok(built)) => built,
                _ => sum_code::build(&grid, &target, &options, format.map(|format| format.precision))?,
            };
            sum_code::model(request, (target, grid), assumed, built)
        }
        (Way::Yun { positional, format, .. }, Ok(Sketch { more: More::Cells(cells), .. })) if serves => {
            let options = Options { positional, ..request.options.clone() };
            let (target, grid) = on(cells.resolution)?;
            let assumed = assumptions(&grid, &target, &options, request.assume_equivariant)?;
            lattice::on_grid(request, &options, format, (target, grid), assumed)
        }
        (Way::SumCode { options, format }, Ok(_)) => {
            let arithmetic = format.map_or(Arithmetic::Exact, Arithmetic::Float);
            compile(&Request { construction: Some(Construction::SumCode(options)), arithmetic, ..request.clone() })
                .map_err(|error| error.note_first("nearest", format!("{name}; formwright plan lists all {all}")))
        }
        (Way::Yun { positional, format, .. }, outcome) => {
            let options = Options { positional, ..request.options.clone() };
            let arithmetic = format.map_or(Arithmetic::Exact, Arithmetic::Float);
            let construction = Some(Construction::Yun);
            let compiled = match outcome {
                Ok(_) => compile(&Request { construction, options, arithmetic, ..request.clone() })
                    // Where nothing serves, the message is about the nearest, which nobody named.
                    .map_err(|error| error.note_first("nearest", format!("{name}; formwright plan lists all {all}"))),
                Err(error) => Err(error),
            };
            match refused {
                Some(refused) => compiled.map_err(|error| error.note("circuit", refused.headline())),
                None => compiled,
            }
        }
    }
}

/// The request with the tolerance that its plan is about: where neither a grid nor a table fixes what is built, there is one.
fn with_tolerance(request: &Request) -> Request {
    if request.is_open() && matches!(request.construction, None | Some(Construction::Circuit)) {
        Request { tolerance: request.tolerance.or_default(), ..request.clone() }
    } else {
        Request { tolerance: request.lattice_tolerance(), ..request.clone() }
    }
}

/// Sizes up every construction for a request.
pub fn plan(request: &Request) -> Result<Plan> {
    sized_up(request, Rows::All, &mut |_| {})
}

/// Which rows of a plan are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Every one.
    All,
    /// As many as it takes to know the first.
    Needed,
}

/// Sizes up the rows that are wanted, and tells each as soon as it is there.
pub fn sized_up(request: &Request, wanted: Rows, told: &mut dyn FnMut(&Candidate)) -> Result<Plan> {
    let request = with_tolerance(request);
    let wanted = if wanted == Rows::All { Wanted::All } else { Wanted::Needed };
    let mut plan = rows(&request, wanted, told)?;
    let shape = request.shape()?;
    plan.baseline = baseline(&request.source.target(shape.dims())?, &shape, &plan.norm);
    Ok(plan)
}

/// What is wanted of a plan: its rows, or nothing but the first, where what is left out need not be told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    Needed,
    First,
}

fn rows(request: &Request, wanted: Wanted, told: &mut dyn FnMut(&Candidate)) -> Result<Plan> {
    let shape = request.shape()?;
    let target = Arc::new(request.source.target(shape.dims())?);
    let eps = request.tolerance.eps.clone();
    // As `Model::norm`: a float network of which nothing is asked is certified in L^2.
    let asked = request.tolerance.norm.clone();
    let float = eps.is_none() && request.arithmetic != Arithmetic::Exact && !target.is_discrete();
    let norm = asked.unwrap_or_else(|| if float { Norm::Lp(Rat::from(2)) } else { Norm::Sup });
    let planner = Planner { request, shape: &shape, target: &target, norm: &norm, eps: eps.as_ref() };
    let mut looked_at: Vec<(usize, Candidate)> = Vec::new();
    let mut left_out: Vec<(usize, LeftOut)> = Vec::new();
    let mut look_at = |ways: Vec<Way>, form: Option<&Continuous>, looked_at: &mut Vec<(usize, Candidate)>| {
        let before = looked_at.len() + left_out.len();
        let row = |(place, way)| Waiting { least: planner.afar().least(&way), place: before + place, way };
        let mut waiting: Vec<Waiting> = ways.into_iter().enumerate().map(row).collect();
        waiting.sort_by(|a, b| a.order().cmp(&b.order()));
        for row in waiting {
            let reason = match wanted {
                Wanted::All => None,
                Wanted::Needed | Wanted::First => planner.cannot_be_first(&row, looked_at, form),
            };
            if let Some(reason) = reason {
                left_out.push((row.place, LeftOut { way: row.way, reason }));
            } else if let Some(candidate) = planner.look(row.way, form) {
                told(&candidate);
                looked_at.push((row.place, candidate));
            }
        }
    };
    look_at(planner.circuits(), None, &mut looked_at);
    // Fewer gates than one there are not; but one that looks at places may be a sum as well, which has no need of them.
    let plain = |candidate: &Candidate| candidate.serves() && candidate.positional() == Some(false);
    let least = looked_at.iter().any(|(_, row)| plain(row) && row.gates().is_some_and(|gates| gates < 2));
    if wanted != Wanted::First || !least {
        let (sumformers, form) = planner.sumformers();
        look_at(sumformers, form.as_ref(), &mut looked_at);
    }
    if wanted != Wanted::First || !planner.no_lattice_wins(&looked_at) {
        look_at(planner.lattices(), None, &mut looked_at);
    }
    let first = |a: &(usize, Candidate), b: &(usize, Candidate)| {
        let (x, y) = (a.1.rank(), b.1.rank());
        (x.0, x.1)
            .cmp(&(y.0, y.1))
            .then(x.2.total_cmp(&y.2))
            .then(x.3.cmp(&y.3))
            .then(a.1.way.class().cmp(&b.1.way.class()))
            .then(a.0.cmp(&b.0))
    };
    looked_at.sort_by(first);
    left_out.sort_by_key(|(place, _)| *place);
    let candidates: Vec<Candidate> = looked_at.into_iter().map(|(_, candidate)| candidate).collect();
    // A malformed request is malformed for every construction.
    if let Some(Err(error)) = candidates.first().map(|candidate| &candidate.outcome)
        && error.kind() == ErrorKind::Input
    {
        return Err(error.clone());
    }
    let left_out = left_out.into_iter().map(|(_, row)| row).collect();
    Ok(Plan { eps, norm, candidates, left_out, baseline: None })
}

/// A row that was not looked at yet.
struct Waiting {
    way: Way,
    /// Its place among all: of equal rows the first is taken.
    place: usize,
    /// What it weighs at least.
    least: Int,
}

impl Waiting {
    /// Floats before exact numbers, then by what they weigh at least; circuits, of which that is not known, first.
    fn order(&self) -> (bool, &Int, usize) {
        (self.way.floats().is_none(), &self.least, self.place)
    }
}

/// What all rows of a plan are about.
struct Planner<'a> {
    request: &'a Request,
    shape: &'a Grid,
    target: &'a Arc<Target>,
    norm: &'a Norm,
    eps: Option<&'a Rat>,
}

impl Planner<'_> {
    fn afar(&self) -> Afar<'_> {
        let Self { request, shape, target, norm, eps } = *self;
        Afar { request, shape, target, norm, eps }
    }

    /// The precisions that are asked for, the first to try first; `None` is exact.
    fn precisions(&self) -> impl Iterator<Item = Option<Precision>> {
        self.request.arithmetic.choices().into_iter().map(|format| format.map(|format| format.precision))
    }

    /// Every circuit of the target's expression: single precision before double.
    fn circuits(&self) -> Vec<Way> {
        if !matches!(self.request.construction, None | Some(Construction::Circuit)) {
            return Vec::new();
        }
        let attention = self.request.attention;
        let ways = |precision| {
            self.trades(precision).into_iter().map(move |trade| Way::Circuit { precision, trade, attention })
        };
        self.precisions().flat_map(ways).collect()
    }

    /// Every Sumformer, and its normal form.
    fn sumformers(&self) -> (Vec<Way>, Option<Continuous>) {
        let attention = self.request.attention;
        let Some((basis, form)) = self.normal_form() else { return (Vec::new(), None) };
        let ways = |precision| {
            // Where there is no normal form, there is nothing to trade.
            let trades = if form.is_some() { self.trades(precision) } else { vec![None] };
            trades.into_iter().map(move |trade| Way::Sumformer { precision, trade, basis, attention })
        };
        (self.precisions().flat_map(ways).collect(), form)
    }

    /// Every lattice network.
    fn lattices(&self) -> Vec<Way> {
        let Self { request, target, norm, .. } = *self;
        self.lattices_of(&sums::to_look_at(request, target, norm))
    }

    fn lattices_of(&self, coded: &[sumcode::Options]) -> Vec<Way> {
        let request = self.request;
        let sparse = request.options.sparse.as_ref().map(|sparse| format!("sparse:{}", sparse.pattern().name()));
        let sparse: Option<Arc<str>> = sparse.map(Arc::from);
        let mut ways = Vec::new();
        for format in request.arithmetic.choices() {
            if matches!(request.construction, None | Some(Construction::Yun)) {
                // A pattern goes with positions.
                for positional in [false, true].into_iter().filter(|positional| *positional || sparse.is_none()) {
                    ways.push(Way::Yun { positional, sparse: sparse.clone(), format });
                }
            }
            ways.extend(coded.iter().map(|options| Way::SumCode { options: *options, format }));
        }
        ways
    }

    /// Whether no lattice network can come before what serves already, by its least size, whatever symmetry the target has: that may take long to say.
    fn no_lattice_wins(&self, looked_at: &[(usize, Candidate)]) -> bool {
        let serving = looked_at.iter().map(|(_, candidate)| candidate).filter(|candidate| candidate.serves());
        let Some(weight) = serving.filter_map(Candidate::bytes).min() else { return false };
        let afar = self.afar();
        let any = sums::any(self.request);
        self.lattices_of(&any)
            .iter()
            .filter(|way| way.floats().is_some())
            .all(|way| afar.is_declined(way) || afar.least(way) >= weight)
    }

    /// The trades of a circuit in a precision: none if there is no circuit at all. Where floats are asked for and exact numbers too, the latter are for
    /// lattice networks.
    fn trades(&self, precision: Option<Precision>) -> Vec<Option<Trade>> {
        match (circuit::refusal(self.request), precision) {
            (Some(_), _) => vec![None],
            (None, Some(_)) => circuit::trades(self.request).into_iter().map(Some).collect(),
            (None, None) => Vec::new(),
        }
    }

    /// Whether there are Sumformers, in which basis, and their normal form: those that are asked for, and where nothing is, those of equivariant
    /// polynomials, which have the target's own values.
    fn normal_form(&self) -> Option<(Option<Basis>, Option<Continuous>)> {
        let normal_form = |basis| circuit::normal_form(self.request, self.target, self.shape, basis);
        match self.request.construction {
            Some(Construction::Sumformer(basis)) => {
                let form = normal_form(basis).ok().filter(|_| circuit::refusal(self.request).is_none());
                Some((form.as_ref().map_or(basis, |form| Some(form.basis)), form))
            }
            None if circuit::refusal(self.request).is_none() => {
                // Without sums it is the target's own circuit; and nobody asked for what cannot be had.
                let form = normal_form(Some(Basis::Polynomial)).ok().filter(|form| !form.phi.is_empty())?;
                Some((Some(form.basis), Some(form)))
            }
            _ => None,
        }
    }

    /// Looks at a row; nothing comes of one that nobody asked for and that is not to be had.
    fn look(&self, way: Way, form: Option<&Continuous>) -> Option<Candidate> {
        let Self { request, shape, target, norm, eps } = *self;
        let outcome = match &way {
            Way::Circuit { precision, trade, .. } => self.circuit(*precision, *trade, None),
            Way::Sumformer { precision, trade, basis, .. } => {
                let outcome = match form {
                    Some(form) => self.circuit(*precision, *trade, Some(form)),
                    None => Err(circuit::refusal(request)
                        .or_else(|| circuit::normal_form(request, target, shape, *basis).err())
                        .unwrap_or_else(|| Error::declined("a Sumformer was not made"))),
                };
                if request.construction.is_none() && outcome.is_err() {
                    return None;
                }
                outcome
            }
            Way::Yun { positional, format, .. } => sketch(request, shape, target, *positional, *format, norm, eps),
            Way::SumCode { options, format } => {
                let with = |options: sumcode::Options| {
                    let outcome = sums::sketch(request, shape, target, &options, *format, norm, eps);
                    Candidate { way: Way::SumCode { options, format: *format }, outcome }
                };
                let plain = with(*options);
                // In floats a staircase loses fewer digits than interpolation, for twice the hidden units.
                let open = request.construction.is_none() && format.is_some() && !plain.serves();
                let steep = open.then(|| with(sumcode::Options { values: sumcode::Values::Staircase, ..*options }));
                return Some(steep.filter(Candidate::serves).unwrap_or(plain));
            }
        };
        Some(Candidate { way, outcome })
    }

    /// A circuit of the target's expression, or of its normal form: compiled, since that is what it takes to know its size.
    fn circuit(&self, precision: Option<Precision>, trade: Option<Trade>, form: Option<&Continuous>) -> Result<Sketch> {
        let Self { request, shape, target, .. } = *self;
        if let Some(refusal) = circuit::refusal(request) {
            return Err(refusal);
        }
        let how = precision.zip(trade).ok_or_else(|| Error::declined("a circuit computes in floats"))?;
        let circuit = circuit::build(request, target, shape, how, form)?;
        let proof = circuit.proof().ok_or_else(|| Error::declined("nothing is proved of this circuit"))?;
        Ok(Sketch {
            size: circuit.network.size(),
            budget: proof.budget.clone(),
            domain: circuit.domain_name(),
            assumptions: proof.budget.assumptions.clone(),
            why_not: circuit.misses(request),
            more: More::Circuit(Box::new(circuit)),
        })
    }

    /// Why a row need not be looked at, given those that were: it cannot be the smallest that serves.
    fn cannot_be_first(
        &self,
        row: &Waiting,
        looked_at: &[(usize, Candidate)],
        form: Option<&Continuous>,
    ) -> Option<Error> {
        let Waiting { way, place, least } = row;
        // What nobody asked for is looked at where it has fewer gates than the circuit that serves, or where that one needs positions.
        if let (Way::Sumformer { trade, .. }, None, Some(form)) = (way, self.request.construction, form) {
            let same = |way: &Way| matches!(way, Way::Circuit { trade: other, .. } if other == trade);
            let served =
                looked_at.iter().any(|(_, row)| same(&row.way) && row.serves() && row.positional() == Some(false));
            if let (true, Ok((own, other))) = (served, circuit::gates(self.target, form, self.shape.tokens()))
                && own <= other
            {
                let gates = format!("{own} of the circuit, {other} of the normal form");
                let headline = "its normal form has no fewer gates than the circuit, which serves";
                return Some(Error::declined(headline).note("gates", gates));
            }
        }
        if let Some((single, share)) = Self::settled_by(way, looked_at) {
            let (parameters, bytes) = (short_int(&single.parameters), kilobytes(&single.bytes));
            return Some(
                Error::declined("in f32 they serve, with so little rounding that twice the bytes buy no finer gates")
                    .note("f32", format!("{parameters} parameters, {bytes}"))
                    .note("rounding", format!("{:.2} % of the tolerance", 100.0 * share)),
            );
        }
        let serving = looked_at.iter().filter(|(_, candidate)| candidate.serves());
        let (first, best) = serving.min_by_key(|(place, candidate)| {
            let (_, exact, _, weight) = candidate.rank();
            (exact, weight, candidate.way.class(), *place)
        })?;
        let name = best.name();
        match (way.floats(), best.way.floats()) {
            (None, Some(_)) => {
                return Some(
                    Error::declined("floats serve, and exact numbers are for where they do not")
                        .note("first", format!("{name}: {}", kilobytes(&best.bytes()?))),
                );
            }
            (Some(_), None) => return None,
            _ => {}
        }
        let weight = best.rank().3;
        let weighs = |weight: &Int| {
            if way.floats().is_some() { kilobytes(weight) } else { format!("{} parameters", short_int(weight)) }
        };
        let (has, at_least) = (weighs(&weight), weighs(least));
        if (least, way.class(), place) > (&weight, best.way.class(), first) {
            return Some(
                Error::declined(format!("it takes at least {at_least}")).note("first", format!("{name}: {has}")),
            );
        }
        // Whether a theorem applies is quick to say, and says more.
        let applies = match way {
            Way::Yun { positional: false, .. } => self.target.is_equivariant(),
            Way::Yun { .. } | Way::SumCode { .. } => true,
            Way::Circuit { .. } | Way::Sumformer { .. } => return None,
        };
        let most = self.afar().may_serve(way, &weight).err().filter(|_| applies)?;
        Some(
            Error::declined(format!(
                "with {most} cells a side at most, which is all that {has} hold, the tolerance is missed"
            ))
            .note("first", format!("{name}: {has}")),
        )
    }

    /// The circuit in single precision by which its counterpart in double is settled, and what rounding takes there.
    fn settled_by(way: &Way, looked_at: &[(usize, Candidate)]) -> Option<(Other, f64)> {
        let pair = |way: &Way| match way {
            Way::Circuit { precision, trade, .. } => Some((*precision, *trade, false)),
            Way::Sumformer { precision, trade, .. } => Some((*precision, *trade, true)),
            _ => None,
        };
        let (Some(Precision::F64), trade, sums) = pair(way)? else { return None };
        let single = looked_at.iter().find(|(_, other)| pair(&other.way) == Some((Some(Precision::F32), trade, sums)));
        let (_, single) = single.filter(|(_, single)| single.serves())?;
        let More::Circuit(circuit) = &single.outcome.as_ref().ok()?.more else { return None };
        Some((single.other()?, circuit.settles_double()?))
    }
}

fn sketch(
    request: &Request,
    shape: &Grid,
    target: &Arc<Target>,
    positional: bool,
    format: Option<Format>,
    norm: &Norm,
    eps: Option<&Rat>,
) -> Result<Sketch> {
    check_attention(request)?;
    let options = Options { positional, ..request.options.clone() };
    if *norm == Norm::Sup && !(target.is_discrete() && positional) {
        // Declined whatever else is wrong: what else is wrong is of no use to anybody.
        bound(Question { target, grid: shape, positional, lipschitz: None }, norm)?;
    }
    let mut assumptions = assumptions(shape, target, &options, request.assume_equivariant)?;
    let lipschitz = request.tolerance.lipschitz.as_ref();
    yun::check_size(shape)?;
    let fixed = request.resolution();
    let coarse = match fixed {
        Some(resolution) => shape.with_resolution(resolution)?,
        None => coarsest(shape, positional)?,
    };
    let question = Question { target, grid: &coarse, positional, lipschitz };
    let (resolution, budget) = match (fixed, format, eps) {
        (Some(resolution), Some(format), _) => {
            let lowering = Lowering::derive(&coarse, target, &options, format)?;
            (resolution, lowered::bound(question, &lowering, norm)?)
        }
        (Some(resolution), None, _) => (resolution, bound(question, norm)?),
        (None, format, Some(eps)) => match grid_for(question, &options, format, norm, eps)? {
            Found::Enough(resolution, budget) | Found::AtBest(resolution, budget) => (resolution, budget),
        },
        (None, _, None) => return Err(Error::input("there is no --resolution and no --eps")),
    };
    let grid = shape.with_resolution(resolution)?;
    let (size, budget) = match format {
        None => (yun::build(&grid, target, &options)?.size(), budget),
        // What a packed network weighs and loses is known only once it has been made.
        Some(format) if format.hidden != Hidden::Literal => {
            let Some(Lowered { lowering, network }) = build(&grid, target, &options, Some(format))?.lowered else {
                return Err(Error::declined("a float network was not made"));
            };
            (network.size(), lowered::bound(Question { grid: &grid, ..question }, &lowering, norm)?)
        }
        Some(format) => {
            let lowering = Lowering::derive(&grid, target, &options, format)?;
            (lower::literal_size(&lowering.exact(&grid, target)?), budget)
        }
    };
    if budget.bound.is_infinite() {
        let term = budget.dominant().map_or("a term", |term| &term.name);
        return Err(Error::declined(format!("no finite bound on the {norm} error is proved"))
            .note("term", format!("{term}, with {resolution} cells a side"))
            .note("try", "a coarser grid, or another precision"));
    }
    let outputs = Int::from(grid.tokens() * target.output_dims());
    let all = outputs * grid.points();
    let to_remember = if positional { all.clone() } else { all.div_rem(&Int::factorial(grid.tokens())).0 };
    assumptions.extend(budget.assumptions.iter().cloned());
    let missed = eps.filter(|eps| !budget.meets(eps));
    let why_not = missed.map(|eps| not_met(eps, &budget, resolution));
    let id_bits = yun::id_bits(&grid, &options);
    let more = More::Cells(Cells { resolution, id_bits, to_remember, residual_network: all, built: None });
    let domain = domain_name(target, &grid, &options, format.map(|format| format.precision));
    Ok(Sketch { size, budget, domain, assumptions, why_not, more })
}

impl Plan {
    /// The candidate that `build` would take.
    pub fn chosen(&self) -> Option<&Candidate> {
        self.candidates.first().filter(|candidate| candidate.serves())
    }

    /// The smallest row that serves in the other float format than the chosen one's, of those that were looked at.
    pub fn other(&self) -> Option<Other> {
        let chosen = self.chosen()?.way.floats()?;
        let differs = |candidate: &&Candidate| candidate.way.floats().is_some_and(|precision| precision != chosen);
        self.candidates.iter().filter(|candidate| candidate.serves()).find(differs)?.other()
    }

    /// Why no circuit is chosen, where something else is: by how much the nearest misses, else why there is none.
    pub fn no_circuit(&self) -> Option<&Error> {
        if self.chosen()?.way.is_circuit() {
            return None;
        }
        let circuits = || self.candidates.iter().filter(|candidate| matches!(candidate.way, Way::Circuit { .. }));
        let missed = circuits().find(|candidate| candidate.outcome.is_ok());
        // In double precision there is more to be had than in single, and what cannot be made deep may be made wide.
        let rejected = |error: &&Error| error.kind() == ErrorKind::Rejected;
        let refused = || circuits().filter_map(Candidate::reason);
        missed.and_then(Candidate::reason).or_else(|| refused().find(rejected)).or_else(|| {
            let wide = |candidate: &Candidate| !matches!(candidate.way, Way::Circuit { trade: Some(Trade::Depth), .. });
            circuits().filter(|candidate| wide(candidate)).find_map(Candidate::reason).or_else(|| refused().next())
        })
    }

    /// The plan as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "eps": self.eps,
            "norm": self.norm.to_string(),
            "candidates": self.candidates.iter().map(|candidate| self.row(candidate)).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(left_out).collect::<Vec<_>>(),
            "chosen": self.chosen().map(|candidate| identity(&candidate.way, candidate.positional())),
        })
    }

    fn row(&self, candidate: &Candidate) -> Value {
        let mut row = identity(&candidate.way, candidate.positional());
        row["attention"] = json!(candidate.way.attention());
        let more = match &candidate.outcome {
            Ok(sketch) => {
                let cells = sketch.cells();
                let mut more = json!({
                    "meets_tolerance": sketch.why_not.is_none(),
                    "resolution": cells.map(|cells| cells.resolution),
                    "size": sketch.size,
                    "bytes": candidate.bytes(),
                    "id_bits": cells.map(|cells| cells.id_bits),
                    "error": {
                        "badge": sketch.badge(),
                        "norm": sketch.budget.norm.to_string(),
                        "domain": sketch.domain,
                        "bound": sketch.budget.bound,
                        "method": sketch.budget.method.name(),
                        "terms": sketch.budget.terms,
                        "assumptions": sketch.assumptions,
                        "baseline": {
                            "best_constant": self.baseline.map(|baseline| baseline.best_constant),
                            "within": self.baseline.map(|baseline| baseline.within),
                        },
                    },
                    "why_not": sketch.why_not.as_ref().map(Error::to_string),
                });
                match &sketch.more {
                    More::Cells(cells) => {
                        more["precision_needed"] = json!(cells.precision_needed());
                        more["to_remember"] = json!(cells.to_remember);
                        more["parameters_per_number"] = json!(sketch.ratio());
                        more["residual_network"] = json!(cells.residual_network);
                    }
                    More::Circuit(circuit) => {
                        let (min, max) = circuit.lengths();
                        more["tokens_certified"] = json!({"min": min, "max": max});
                        more["margin"] = json!(circuit.proof().and_then(|proof| proof.margin));
                    }
                }
                more
            }
            Err(error) => json!({
                "meets_tolerance": false,
                "size": null,
                "bytes": null,
                "id_bits": null,
                "error": null,
                "why_not": error.to_string(),
            }),
        };
        if let (Some(row), Value::Object(more)) = (row.as_object_mut(), more) {
            row.extend(more);
        }
        row
    }
}

fn left_out(LeftOut { way, reason }: &LeftOut) -> Value {
    let mut row = identity(way, way.positional());
    row["attention"] = json!(way.attention());
    row["reason"] = json!(reason.to_string());
    row
}

/// What tells a row from the others.
fn identity(way: &Way, positional: Option<bool>) -> Value {
    let mut identity = json!({
        "construction": way.family(),
        "positional": positional,
        "precision": way.precision(),
    });
    match way {
        Way::Circuit { trade, .. } | Way::Sumformer { trade, .. } => identity["trade"] = json!(trade.map(Trade::name)),
        Way::SumCode { options, .. } => {
            identity["code"] = json!(options.code().map(|code| code.to_string()).ok());
            identity["values"] = json!(options.values.name());
        }
        Way::Yun { sparse, .. } => {
            if let Some(pattern) = sparse {
                identity["attention"] = json!(pattern.as_ref());
            }
        }
    }
    if let Way::Sumformer { basis, .. } = way {
        identity["basis"] = json!(basis.map(|basis| basis.to_string()));
    }
    identity
}
