//! What there is to choose from: every construction's size, bits and bound.
//!
//! Lattice networks are sized up by formulas, before anything is built. A circuit is compiled, which is quick; what comes of it is kept, and
//! built if it is chosen.
//!
//! Beside the sizes of lattice networks stand the counts of section 5.4 of Yun et al. 2020: any method that approximates by cells has to
//! remember one number for each output entry and cell, `d n N^{dn} / n!` for equivariant functions and `d n N^{dn}` for all; a residual
//! network (Lin & Jegelka 2018) needs the order of `d n N^{dn}` parameters.

mod sums;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::bound::baseline::baseline;
use crate::bound::piecewise::{Question, bound};
use crate::bound::resolution::Found;
use crate::bound::{Baseline, Budget, Norm, lowered};
use crate::compile::lattice::{assumptions, build, check_attention, coarsest, domain_name, grid_for, not_met};
use crate::compile::{Arithmetic, Circuit, Construction, Lowered, Model, Proof, Request, circuit, compile};
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
    pub why_not: Option<String>,
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
        format!("{}, {}", self.way.construction(), self.way.precision())
    }

    /// Whether it can be had and meets the tolerance.
    pub fn serves(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|sketch| sketch.why_not.is_none())
    }

    /// Whether it tells tokens apart by their place, as far as that is known.
    fn positional(&self) -> Option<bool> {
        match (&self.way, &self.outcome) {
            (Way::Yun { positional, .. }, _) => Some(*positional),
            (Way::SumCode { options, .. }, _) => Some(options.positional),
            (_, Ok(Sketch { more: More::Circuit(circuit), .. })) => Some(circuit.network.positions.is_some()),
            (Way::Circuit { .. } | Way::Sumformer { .. }, _) => None,
        }
    }

    /// What candidates are sorted by. Those that serve: single precision before double, floats before exact numbers, then the fewest
    /// parameters. Those that do not: the nearest first. Those that are not to be had: those that miss a tolerance first, then lattice
    /// networks, exact numbers first, whose reason is never a format; but where attention is asked for that only circuits have, these.
    fn rank(&self) -> (u8, usize, f64, Int) {
        let class = self.way.class();
        match &self.outcome {
            Ok(sketch) if sketch.why_not.is_none() => (0, class, 0.0, sketch.size.parameters.clone()),
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

/// The plan for a request.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The tolerance; `None` if the grid is fixed and nothing is asked of the error.
    pub eps: Option<Rat>,
    /// The norm.
    pub norm: Norm,
    /// Every construction, those that meet the tolerance first, then by parameters.
    pub candidates: Vec<Candidate>,
    /// The error of the best constant.
    pub baseline: Option<Baseline>,
}

/// Compiles the first row of the plan. If no row meets the tolerance, the error is that of the first row.
pub fn compile_first(request: &Request) -> Result<Model> {
    let request = with_tolerance(request);
    let plan = rows(&request, Rows::First)?;
    let all = plan.candidates.len();
    let circuits = || plan.candidates.iter().filter(|candidate| matches!(candidate.way, Way::Circuit { .. }));
    let refused = circuits().find_map(|candidate| candidate.outcome.as_ref().err());
    let refused = refused.filter(|_| circuits().all(|candidate| candidate.outcome.is_err())).cloned();
    // Where nothing can be had, what is wrong with the expression says more than what cells are for; unless it was not looked at.
    let own = refused.clone().filter(|_| circuit::refusal(&request).is_none());
    let Some(first) = plan.candidates.into_iter().next() else { return compile(&request) };
    let (name, serves, way) = (first.name(), first.serves(), first.way);
    match (way, first.outcome) {
        (Way::Circuit { .. } | Way::Sumformer { .. }, Ok(Sketch { more: More::Circuit(circuit), .. })) => {
            match circuit.misses(&request) {
                None => {
                    let shape = request.shape()?;
                    let target = Arc::new(request.source.target(shape.dims())?);
                    Ok(circuit::model(&request, target, shape, *circuit))
                }
                Some(error) => Err(error.note_first("nearest", format!("{name}; formwright plan lists all {all}"))),
            }
        }
        (Way::Yun { .. } | Way::SumCode { .. }, Err(error)) if own.is_some() && error.kind() == ErrorKind::Declined => {
            Err(own.map_or(error.clone(), |own| own.note("cells", error.headline())))
        }
        (Way::Circuit { .. } | Way::Sumformer { .. } | Way::SumCode { .. }, Err(error)) => Err(error),
        (Way::Circuit { .. } | Way::Sumformer { .. }, _) => Err(Error::declined("a circuit was not made")),
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
            match refused.filter(|_| !serves) {
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
    rows(&with_tolerance(request), Rows::All)
}

/// Which rows of a plan are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    All,
    /// Those that may be the first: a lattice network's grid takes long to find, and where a circuit serves, all but the formats up to its
    /// own come behind it.
    First,
}

fn rows(request: &Request, wanted: Rows) -> Result<Plan> {
    let shape = request.shape()?;
    let target = Arc::new(request.source.target(shape.dims())?);
    let eps = request.tolerance.eps.clone();
    // As `Model::norm`: a float network of which nothing is asked is certified in L^2.
    let asked = request.tolerance.norm.clone();
    let float = eps.is_none() && request.arithmetic != Arithmetic::Exact && !target.is_discrete();
    let norm = asked.unwrap_or_else(|| if float { Norm::Lp(Rat::from(2)) } else { Norm::Sup });
    let mut candidates: Vec<Candidate> = Vec::new();
    if matches!(request.construction, None | Some(Construction::Circuit)) {
        candidates.extend(circuits(request, &shape, &target, None));
    }
    candidates.extend(sumformers(request, &shape, &target));
    if !matches!(request.construction, Some(Construction::Circuit | Construction::Sumformer(_))) {
        let served =
            candidates.iter().filter(|candidate| candidate.serves()).map(|candidate| candidate.way.class()).min();
        let behind = |format: Option<Format>| {
            let class = Way::Yun { positional: false, sparse: None, format }.class();
            wanted == Rows::First && served.is_some_and(|served| served < class)
        };
        for format in request.arithmetic.choices().into_iter().filter(|format| !behind(*format)) {
            if matches!(request.construction, None | Some(Construction::Yun)) {
                let sparse =
                    request.options.sparse.as_ref().map(|sparse| format!("sparse:{}", sparse.pattern().name()));
                let sparse: Option<Arc<str>> = sparse.map(Arc::from);
                // A pattern goes with positions.
                for positional in [false, true].into_iter().filter(|positional| *positional || sparse.is_none()) {
                    let outcome = sketch(request, &shape, &target, positional, format, &norm, eps.as_ref());
                    candidates
                        .push(Candidate { way: Way::Yun { positional, sparse: sparse.clone(), format }, outcome });
                }
            }
            for options in sums::to_look_at(request, &shape, &target, &norm) {
                let candidate = |options: sumcode::Options| {
                    let outcome = sums::sketch(request, &shape, &target, &options, format, &norm, eps.as_ref());
                    Candidate { way: Way::SumCode { options, format }, outcome }
                };
                let plain = candidate(options);
                // In floats a staircase loses fewer digits than interpolation, for twice the hidden units.
                let open = request.construction.is_none() && format.is_some() && !plain.serves();
                let steep = open.then(|| candidate(sumcode::Options { values: sumcode::Values::Staircase, ..options }));
                candidates.push(steep.filter(Candidate::serves).unwrap_or(plain));
            }
        }
    }
    candidates.sort_by(|a, b| {
        let (a, b) = (a.rank(), b.rank());
        (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)).then(a.3.cmp(&b.3))
    });
    // A malformed request is malformed for every construction.
    if let Some(Err(error)) = candidates.first().map(|candidate| &candidate.outcome)
        && error.kind() == ErrorKind::Input
    {
        return Err(error.clone());
    }
    let baseline = (wanted == Rows::All).then(|| baseline(&target, &shape, &norm)).flatten();
    Ok(Plan { eps, norm, candidates, baseline })
}

/// Every circuit of the target's expression, or of its normal form: compiled, since that is what it takes to know its size.
fn circuits(request: &Request, shape: &Grid, target: &Arc<Target>, form: Option<&Continuous>) -> Vec<Candidate> {
    let way = |precision, trade| match form {
        Some(form) => Way::Sumformer { precision, trade, basis: Some(form.basis), attention: request.attention },
        None => Way::Circuit { precision, trade, attention: request.attention },
    };
    let refusal = circuit::refusal(request);
    let mut candidates = Vec::new();
    for precision in request.arithmetic.choices().into_iter().map(|format| format.map(|format| format.precision)) {
        if let Some(error) = &refusal {
            candidates.push(Candidate { way: way(precision, None), outcome: Err(error.clone()) });
            continue;
        }
        // Where floats are asked for and exact numbers too, the latter are for lattice networks.
        let Some(precision) = precision else { continue };
        for trade in circuit::trades(request) {
            let compiled = circuit::build(request, target, shape, (precision, trade), form);
            let outcome = compiled.and_then(|circuit| {
                let proof = circuit.proof().ok_or_else(|| Error::declined("nothing is proved of this circuit"))?;
                Ok(Sketch {
                    size: circuit.network.size(),
                    budget: proof.budget.clone(),
                    domain: circuit.domain_name(),
                    assumptions: proof.budget.assumptions.clone(),
                    why_not: circuit.misses(request).map(|error| error.to_string()),
                    more: More::Circuit(Box::new(circuit)),
                })
            });
            candidates.push(Candidate { way: way(Some(precision), Some(trade)), outcome });
        }
    }
    candidates
}

/// Every Sumformer: those that are asked for, and where nothing is, those of equivariant polynomials, which have the target's own values.
fn sumformers(request: &Request, shape: &Grid, target: &Arc<Target>) -> Vec<Candidate> {
    let (basis, asked) = match request.construction {
        Some(Construction::Sumformer(basis)) => (basis, true),
        None => (Some(Basis::Polynomial), false),
        Some(_) => return Vec::new(),
    };
    if !asked && circuit::refusal(request).is_some() {
        return Vec::new();
    }
    match circuit::normal_form(request, target, shape, basis) {
        Ok(form) if asked => circuits(request, shape, target, Some(&form)),
        // Without sums it is the target's own circuit; and nobody asked for what cannot be had.
        Ok(form) if !form.phi.is_empty() => {
            circuits(request, shape, target, Some(&form)).into_iter().filter(|found| found.outcome.is_ok()).collect()
        }
        Err(error) if asked => {
            let precisions = request.arithmetic.choices().into_iter().map(|format| format.map(|f| f.precision));
            let attention = request.attention;
            let way = |precision| Way::Sumformer { precision, trade: None, basis, attention };
            precisions.map(|precision| Candidate { way: way(precision), outcome: Err(error.clone()) }).collect()
        }
        _ => Vec::new(),
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
    if *norm == Norm::Sup && !target.is_discrete() {
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
    let why_not = missed.map(|eps| not_met(eps, &budget, resolution).to_string());
    let id_bits = yun::id_bits(&grid, &options);
    let more = More::Cells(Cells { resolution, id_bits, to_remember, residual_network: all });
    let domain = domain_name(target, &grid, &options, format.map(|format| format.precision));
    Ok(Sketch { size, budget, domain, assumptions, why_not, more })
}

impl Plan {
    /// The candidate that `build` would take.
    pub fn chosen(&self) -> Option<&Candidate> {
        self.candidates.first().filter(|candidate| candidate.serves())
    }

    /// The plan as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "eps": self.eps,
            "norm": self.norm.to_string(),
            "candidates": self.candidates.iter().map(|candidate| self.row(candidate)).collect::<Vec<_>>(),
            "chosen": self.chosen().map(identity),
        })
    }

    fn row(&self, candidate: &Candidate) -> Value {
        let mut row = identity(candidate);
        row["attention"] = json!(candidate.way.attention());
        let more = match &candidate.outcome {
            Ok(sketch) => {
                let cells = sketch.cells();
                let mut more = json!({
                    "meets_tolerance": sketch.why_not.is_none(),
                    "resolution": cells.map(|cells| cells.resolution),
                    "size": sketch.size,
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
                    "why_not": sketch.why_not,
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

/// What tells a candidate from the others.
fn identity(candidate: &Candidate) -> Value {
    let mut identity = json!({
        "construction": candidate.way.family(),
        "positional": candidate.positional(),
        "precision": candidate.way.precision(),
    });
    match &candidate.way {
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
    if let Way::Sumformer { basis, .. } = &candidate.way {
        identity["basis"] = json!(basis.map(|basis| basis.to_string()));
    }
    identity
}
