//! `circuit` as a construction: its options, its rows in a plan, and how its folders are read. A Sumformer is a circuit of its
//! target's normal form, and shares the rows.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::built::{Circuit, How, expression};
use super::{Trade, gate_count};
use crate::bound::{Norm, supremum};
use crate::construct::normal_form;
use crate::construct::normal_form::continuous::{Basis, Continuous};
use crate::error::{Error, ErrorKind, Result};
use crate::exact::Rat;
use crate::lattice::Grid;
use crate::lower::{Hidden, Temperature};
use crate::model::{
    Asked, Candidate, Construction, Family, Folder, Model, Own, Read, Request, Scope, Sketch, Way, chosen,
};
use crate::network::{Precision, Realisation};
use crate::pattern::Pattern;
use crate::show::{kilobytes, short_int};
use crate::target::Target;

/// A circuit of the target's own expression.
pub(crate) struct Circuits;

/// The name of the family.
pub(super) const NAME: &str = "circuit";

/// Wide blocks or many of them.
pub(in crate::construct) const TRADE: Own = Own {
    name: "trade",
    value: "TRADE",
    known: &[("width", "Wide feed-forward blocks, as few as possible"), ("depth", "Narrow blocks, many of them")],
    help: "What a circuit's hidden units are traded for; without it, what is smaller",
    is_shared: true,
};

/// The choices of a circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The resource that hidden units are traded for; `None` takes what is smaller.
    pub trade: Option<Trade>,
}

impl Options {
    /// The options that a front end was told.
    pub(in crate::construct) fn asked(asked: &Asked) -> Result<Self> {
        let trades = [Trade::Width, Trade::Depth].map(|trade| (trade.name(), trade));
        Ok(Self { trade: chosen("trade", asked.own(&TRADE), &trades)? })
    }

    /// The trades that are tried.
    fn trades(self) -> Vec<Trade> {
        self.trade.map_or_else(|| vec![Trade::Width, Trade::Depth], |trade| vec![trade])
    }
}

impl Family for Circuits {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "The target's own expression, gate by gate, certified in the supremum norm"
    }

    fn options(&self) -> &'static [&'static Own] {
        &[&TRADE]
    }

    fn no_positions(&self) -> Option<&'static str> {
        Some("a circuit has positions where its target needs them")
    }

    fn construction(&self, asked: &Asked, _pattern: Option<&Pattern>, _named: bool) -> Result<Arc<dyn Construction>> {
        Ok(Arc::new(Options::asked(asked)?))
    }

    fn read(&self, folder: &Folder<'_>) -> Result<Read> {
        if folder.file.get("sumformer").is_some_and(|form| !form.is_null()) {
            return Err(folder.wrong("a circuit with the basis of a Sumformer"));
        }
        read(folder, None)
    }
}

impl Construction for Options {
    fn name(&self) -> &'static str {
        NAME
    }

    fn compile(&self, request: &Request) -> Result<Model> {
        compile(request, *self, |_, _| Ok(None), false)
    }

    fn turn(&self) -> usize {
        0
    }

    fn ways(&self, scope: &Scope<'_>) -> Vec<Arc<dyn Way>> {
        rows(scope.request, *self, None)
    }
}

/// Every row in the order of precisions, single before double. If the request excludes circuits there is one a precision, to
/// say so. Where floats are asked for and exact numbers too, the latter are for lattice networks.
pub(in crate::construct) fn rows(request: &Request, options: Options, form: Option<&Derived>) -> Vec<Arc<dyn Way>> {
    let excluded = refusal(request, form.is_some()).is_some() || form.is_some_and(|form| form.form.is_none());
    let mut rows: Vec<Arc<dyn Way>> = Vec::new();
    for precision in request.arithmetic.choices().into_iter().map(|format| format.map(|format| format.precision)) {
        let trades: Vec<Option<Trade>> = match precision {
            _ if excluded => vec![None],
            Some(_) => options.trades().into_iter().map(Some).collect(),
            None => Vec::new(),
        };
        let row = |trade| Row { precision, trade, attention: request.attention, form: form.cloned() };
        rows.extend(trades.into_iter().map(|trade| Arc::new(row(trade)) as Arc<dyn Way>));
    }
    rows
}

/// The normal form that a Sumformer is compiled from.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    /// The basis of its ψ; `None` if there is no normal form.
    pub basis: Option<Basis>,
    /// The form; `None` if there is none.
    pub form: Option<Arc<Continuous>>,
}

/// A circuit in a precision, of the target's expression or of its normal form.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The format of its floats; `None` is exact, which no circuit is.
    pub precision: Option<Precision>,
    /// The resource that hidden units are traded for; `None` if there is no circuit at all.
    pub trade: Option<Trade>,
    /// How its sums are realised.
    pub attention: Realisation,
    /// The normal form of a Sumformer.
    pub form: Option<Derived>,
}

impl Row {
    /// The circuit in single precision by which its counterpart in double is settled, and the share of rounding there.
    fn settled_by(&self, looked_at: &[Candidate]) -> Option<Error> {
        self.precision.filter(|precision| *precision == Precision::F64)?;
        let twin = |other: &&Candidate| {
            other.way.family() == self.family()
                && other
                    .way
                    .of::<Self>()
                    .is_some_and(|other| (other.precision, other.trade) == (Some(Precision::F32), self.trade))
        };
        let single = looked_at.iter().find(twin).filter(|single| single.serves())?;
        let (size, share) = (single.other()?, single.built::<Circuit>()?.settles_double()?);
        let (parameters, bytes) = (short_int(&size.parameters), kilobytes(&size.bytes));
        Some(
            Error::declined("in f32 they serve, with so little rounding that twice the bytes buy no finer gates")
                .note("f32", format!("{parameters} parameters, {bytes}"))
                .note("rounding", format!("{:.2} % of the tolerance", 100.0 * share)),
        )
    }

    /// The reason to leave a normal form out: the circuit of the target's own expression serves with no more gates. A
    /// Sumformer that nobody asked for is looked at where it has fewer, or where the circuit needs positions.
    fn has_no_fewer_gates(&self, scope: &Scope<'_>, looked_at: &[Candidate]) -> Option<Error> {
        let form = self.form.as_ref()?.form.as_ref().filter(|_| scope.request.named().is_none())?;
        let same =
            |row: &Candidate| row.way.of::<Self>().is_some_and(|row| row.form.is_none() && row.trade == self.trade);
        let served = looked_at.iter().any(|row| same(row) && row.serves() && row.positional() == Some(false));
        let (own, other) = gates(scope.target, form, scope.shape.tokens()).ok().filter(|_| served)?;
        (own <= other).then(|| {
            Error::declined("its normal form has no fewer gates than the circuit, which serves")
                .note("gates", format!("{own} of the circuit, {other} of the normal form"))
        })
    }
}

impl Way for Row {
    fn family(&self) -> &'static str {
        if self.form.is_some() { normal_form::FAMILY } else { NAME }
    }

    fn construction(&self) -> String {
        let Some(trade) = self.trade else { return self.family().to_owned() };
        let basis = self.form.as_ref().and_then(|form| form.basis).filter(|basis| *basis != Basis::Polynomial);
        let basis = basis.map_or_else(String::new, |basis| format!(" --basis {basis}"));
        let heads = if self.is_realised() { format!(" --attention {}", self.attention) } else { String::new() };
        format!("{}{basis} --trade {}{heads}", self.family(), trade.name())
    }

    fn floats(&self) -> Option<Precision> {
        self.precision
    }

    fn attention(&self) -> String {
        self.precision.map_or_else(|| "hardmax".to_owned(), |_| self.attention.to_string())
    }

    fn positional(&self) -> Option<bool> {
        None
    }

    fn identity(&self) -> Vec<(&'static str, Value)> {
        let mut identity = vec![("trade", json!(self.trade.map(Trade::name)))];
        identity.extend(self.form.iter().map(|form| ("basis", json!(form.basis.map(|basis| basis.to_string())))));
        identity
    }

    fn is_circuit(&self) -> bool {
        true
    }

    fn is_derived(&self) -> bool {
        self.form.is_some()
    }

    fn is_wide(&self) -> bool {
        self.trade != Some(Trade::Depth)
    }

    fn is_excluded(&self) -> bool {
        self.trade.is_none()
    }

    fn is_realised(&self) -> bool {
        !self.attention.is_softmax()
    }

    fn is_silent(&self, request: &Request) -> bool {
        self.form.is_some() && request.named().is_none()
    }

    fn is_beaten(&self, scope: &Scope<'_>, looked_at: &[Candidate]) -> Option<Error> {
        self.has_no_fewer_gates(scope, looked_at).or_else(|| self.settled_by(looked_at))
    }

    /// Compiles it: that is what it takes to know its size.
    fn sketch(&self, scope: &Scope<'_>) -> Result<Sketch> {
        let Scope { request, shape, target, .. } = *scope;
        if let Some(refusal) = refusal(request, self.form.is_some()) {
            return Err(refusal);
        }
        let form = match &self.form {
            None => None,
            Some(Derived { form: Some(form), .. }) => Some(form.as_ref()),
            Some(Derived { basis, form: None }) => {
                let refused = normal_form(request, target, shape, *basis).err();
                return Err(refused.unwrap_or_else(|| Error::declined("a Sumformer was not made")));
            }
        };
        let how = self.precision.zip(self.trade).ok_or_else(|| Error::declined("a circuit computes in floats"))?;
        let circuit = build(request, target, shape, how, form)?;
        let proof = circuit.proof().ok_or_else(|| Error::declined("nothing is proved of this circuit"))?;
        Ok(Sketch {
            size: circuit.network.size(),
            budget: proof.budget.clone(),
            domain: circuit.certified_on(),
            assumptions: proof.budget.assumptions.clone(),
            why_not: circuit.misses(request),
            cells: None,
            built: Some(Arc::new(circuit)),
        })
    }

    fn build(&self, request: &Request, sketch: Sketch) -> Result<Model> {
        let shape = request.grid()?;
        let target = Arc::new(request.source.target(shape.dims())?);
        let built = sketch.built.ok_or_else(|| Error::declined("a circuit was not made"))?;
        Ok(Model::new(request.source.clone(), target, shape, Vec::new(), request.tolerance.or_default(), built))
    }

    fn refuse(&self, _request: &Request, sketch: Sketch) -> Result<Model> {
        Err(sketch.why_not.unwrap_or_else(|| Error::declined("a circuit was not made")))
    }

    fn describe(&self, sketch: &Sketch, row: &mut Value) {
        let Some(circuit) = sketch.built.as_ref().and_then(|built| built.of::<Circuit>()) else { return };
        let (min, max) = circuit.lengths();
        row["tokens_certified"] = json!({"min": min, "max": max});
        row["margin"] = json!(circuit.proof().and_then(|proof| proof.margin));
    }
}

/// The circuit of the fewest bytes that meets the tolerance; otherwise why there is none. It is one of a normal form, if
/// there is to be one: of a Sumformer, as `sums` says.
pub(in crate::construct) fn compile(
    request: &Request,
    options: Options,
    form: impl FnOnce(&Target, &Grid) -> Result<Option<Continuous>>,
    sums: bool,
) -> Result<Model> {
    let shape = request.grid()?;
    let target = Arc::new(request.source.target(shape.dims())?);
    let (mut missed, mut smallest): (Option<Error>, Option<Circuit>) = (None, None);
    if let Some(refusal) = refusal(request, sums) {
        return Err(refusal);
    }
    let form = form(&target, &shape)?;
    // Those in double precision that are not worth a look.
    let mut settled: Vec<Trade> = Vec::new();
    for format in request.arithmetic.choices().into_iter().flatten() {
        for trade in options.trades().into_iter().filter(|trade| !settled.contains(trade)).collect::<Vec<_>>() {
            match build(request, &target, &shape, (format.precision, trade), form.as_ref()) {
                Ok(circuit) if circuit.misses(request).is_none() => {
                    if circuit.settles_double().is_some() {
                        settled.push(trade);
                    }
                    if smallest.as_ref().is_none_or(|best| circuit.bytes() < best.bytes()) {
                        smallest = Some(circuit);
                    }
                }
                Ok(circuit) => missed = circuit.misses(request),
                // By how much a tolerance is missed says more than what a format cannot do at all.
                Err(error) if error.kind() == ErrorKind::Declined && missed.is_some() => {}
                Err(error) => missed = Some(error),
            }
        }
    }
    let circuit = smallest.ok_or_else(|| missed.unwrap_or_else(|| Error::input("no arithmetic was asked for")))?;
    let tolerance = request.tolerance.or_default();
    Ok(Model::new(request.source.clone(), target, shape, Vec::new(), tolerance, Arc::new(circuit)))
}

/// Why there can be no circuit for a request, before its expression is looked at; `sums` says that it is a Sumformer.
pub(in crate::construct) fn refusal(request: &Request, sums: bool) -> Option<Error> {
    let out = |what: &str, reason: &str, way_out: &str| {
        let what = if sums {
            what.replace("a circuit", "a Sumformer").replace("circuits", "Sumformers")
        } else {
            what.to_owned()
        };
        Some(Error::declined(what).note("reason", reason).note("try", way_out))
    };
    let format = request.arithmetic.choices().into_iter().flatten().next();
    if request.source.text().is_none() {
        let reason = "its gates come from an expression, and a table has none";
        return out("a circuit computes an expression", reason, "⟨construction=yun⟩");
    }
    if request.resolution.is_some() {
        let reason = "it is as precise as ⟨eps⟩ says, between the points of any grid";
        return out("a circuit has no ⟨resolution⟩", reason, "leave out ⟨resolution⟩, or ⟨construction=yun⟩");
    }
    if request.everywhere {
        let reason = "its gates are right on the ranges that the box gives them, and on nothing else";
        return out("a circuit is certified on its box only", reason, "leave out ⟨domain=all⟩, or ⟨construction=yun⟩");
    }
    if request.tolerance.lipschitz.is_some() {
        let reason = "its bound comes from its gates, which are known";
        return out("a circuit has no use for ⟨lipschitz⟩", reason, "leave out ⟨lipschitz⟩, or ⟨construction=yun⟩");
    }
    if format.is_some_and(|format| format.hidden != Hidden::Literal) {
        let reason = "they are about the layers of a lattice network; hidden units of a circuit are traded by ⟨trade⟩";
        return out("⟨pack⟩ and ⟨hidden⟩ are not for circuits", reason, "leave them out, or ⟨construction=yun⟩");
    }
    if format.is_some_and(|format| format.temperature != Temperature::Derived) {
        let reason = "its temperatures follow from the tolerance";
        return out("⟨temperature⟩ is not for circuits", reason, "leave out ⟨temperature⟩, or ⟨construction=yun⟩");
    }
    if request.arithmetic.choices().iter().all(Option::is_none) {
        let reason = "softmax and approximate gates are not rational";
        return out("a circuit computes in floats", reason, "⟨precision=f32⟩, f64 or auto; or ⟨construction=yun⟩");
    }
    None
}

/// Compiles one circuit for a request that is not refused.
fn build(
    request: &Request,
    target: &Arc<Target>,
    shape: &Grid,
    (precision, trade): (Precision, Trade),
    form: Option<&Continuous>,
) -> Result<Circuit> {
    let (eps, norm) = asked(request)?;
    Circuit::build((target, shape), &norm, How { eps, precision, trade, attention: request.attention }, form)
}

/// The normal form of the target of a request, in a basis.
pub(in crate::construct) fn normal_form(
    request: &Request,
    target: &Target,
    shape: &Grid,
    basis: Option<Basis>,
) -> Result<Continuous> {
    let (eps, norm) = asked(request)?;
    let eps = supremum::allowed(&eps, supremum::factor(&norm, shape, target)?)?;
    Continuous::of(expression(target)?, shape.tokens(), basis, &eps)
}

/// The gates of a target's own circuit and of its normal form's, before anything is approximated.
fn gates(target: &Target, form: &Continuous, tokens: usize) -> Result<(usize, usize)> {
    Ok((gate_count(expression(target)?, tokens)?, gate_count(&form.psi, tokens)?))
}

/// The tolerance, and the norm that it is in.
fn asked(request: &Request) -> Result<(Rat, Norm)> {
    let tolerance = request.tolerance.or_default();
    let norm = tolerance.norm();
    tolerance.eps.zip(norm).ok_or_else(|| Error::input("a circuit needs a tolerance").note("try", "⟨eps=1/100⟩"))
}

/// A circuit as it is written.
#[derive(Deserialize)]
struct Written {
    trade: String,
    attention: String,
}

/// A circuit with the weights that were shipped. Whether they are the ones that are compiled is looked at when something is
/// claimed.
pub(in crate::construct) fn read(folder: &Folder<'_>, basis: Option<Basis>) -> Result<Read> {
    let Written { trade, attention } = folder.part()?;
    let shipped = (folder.network)()?;
    let (Some(eps), Some(norm)) = (&folder.tolerance.eps, folder.tolerance.norm()) else {
        return Err(folder.wrong("it has no tolerance"));
    };
    let known = [Trade::Width, Trade::Depth].into_iter().find(|known| known.name() == trade);
    let trade = known.ok_or_else(|| folder.wrong(&format!("its trade is '{trade}'")))?;
    let attention = attention.parse().map_err(|_| folder.wrong(&format!("its attention is '{attention}'")))?;
    let circuit = Circuit::read(shipped, folder.target, folder.grid, eps, &norm, (trade, attention, basis));
    let circuit = circuit.map_err(|error| folder.wrong(error.headline()))?;
    Ok(Read { built: Arc::new(circuit), edited: None, assumptions: Vec::new() })
}
