//! The plan: every construction's size, bits and bound.
//!
//! Lattice networks are sized up by formulas, before anything is built. A circuit is compiled, which is quick; what comes of it is kept, and
//! built if it is chosen.
//!
//! Rows are looked at in the order of what they weigh at least (`least.rs`), and no more of them than it takes to know the smallest that serves: what
//! cannot win is left out, with the reason. `plan` looks at all of them.
//!
//! Beside the sizes of lattice networks stand the counts of section 5.4 of Yun et al. 2020: any method that approximates by cells has to
//! remember one number for each output entry and cell, `d n N^{dn} / n!` for equivariant functions and `d n N^{dn}` for all; a residual
//! network (Lin & Jegelka 2018) needs the order of `d n N^{dn}` parameters.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::bound::baseline::baseline;
use crate::bound::{Baseline, Norm};
use crate::compile::compile;
use crate::error::{Error, ErrorKind, Result};
use crate::exact::{Int, Rat};
use crate::host::{self, CLASSES, Class, Fitted};
use crate::model::{Arithmetic, Model, Request};
pub use crate::model::{Candidate, Cells, Sketch};
pub(crate) use crate::model::{Other, Scope, Way};
use crate::show::{kilobytes, short_int};

/// A row that was not looked at.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// The row.
    pub way: Arc<dyn Way>,
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
    /// The rows that were looked at, those that meet the tolerance first, the smallest first.
    pub candidates: Vec<Candidate>,
    /// The rows that were left out, because they could not be the first.
    pub left_out: Vec<LeftOut>,
    /// The families that may be taken, with the turn in which each was looked at.
    pub turns: Vec<(usize, &'static str)>,
    /// The error of the best constant.
    pub(crate) baseline: Option<Baseline>,
    /// Where a host was asked for: the network that would be built without one.
    pub by_itself: Option<Candidate>,
    /// In each class, its bound and the host's part of that, or why it has no place there.
    pub hosts: Vec<(&'static str, Result<(f64, f64)>)>,
}

/// The model that was built of a plan, and the remarks on the choice.
#[derive(Debug)]
pub struct Taken {
    /// The model.
    pub model: Model,
    /// The smallest row in the other precision that serves as well and was looked at: name, precision and size.
    pub other: Option<Other>,
    /// Why it is no circuit, where it is none and might have been one.
    pub no_circuit: Option<Error>,
}

/// Compiles the first row of the plan. If no row meets the tolerance, the error is that of the first row.
pub(crate) fn compile_first(request: &Request) -> Result<Model> {
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
    let circuits = || plan.candidates.iter().filter(|candidate| is_own_circuit(candidate));
    let refused = circuits().find_map(|candidate| candidate.outcome.as_ref().err());
    let refused = refused.filter(|_| circuits().all(|candidate| candidate.outcome.is_err())).cloned();
    // Where nothing can be had, what is wrong with the expression says more than what cells are for; unless it was not
    // looked at.
    let own = refused.clone().filter(|_| !circuits().any(|candidate| candidate.way.is_excluded()));
    let Some(first) = plan.candidates.into_iter().next() else { return compile(request) };
    let (name, serves, way) = (first.name(), first.serves(), first.way);
    // Where nothing serves, the message is about the nearest, which nobody named.
    let nearest = |error: Error| error.note_first("nearest", format!("{name}; formwright plan lists all {all}"));
    match (first.outcome, own) {
        (Ok(sketch), _) if serves => way.build(request, sketch),
        (Ok(sketch), _) => way.refuse(request, sketch).map_err(nearest).map_err(|error| beside(&*way, error, refused)),
        (Err(error), Some(own)) if !way.is_circuit() && error.kind() == ErrorKind::Declined => {
            Err(own.note("cells", error.headline()))
        }
        (Err(error), _) => Err(beside(&*way, error, refused)),
    }
}

/// Beside the error of a theorem's network, the reason why there is no circuit.
fn beside(way: &dyn Way, error: Error, refused: Option<Error>) -> Error {
    match refused {
        Some(refused) if way.is_literal() => error.note("circuit", refused.headline()),
        _ => error,
    }
}

/// True if a row is a circuit of the target's own expression.
fn is_own_circuit(candidate: &Candidate) -> bool {
    candidate.way.is_circuit() && !candidate.way.is_derived()
}

/// The request with the tolerance that its plan is about: where neither a grid nor a table fixes what is built, there is one.
fn with_tolerance(request: &Request) -> Request {
    if request.is_open() && request.named().is_none_or(|named| !named.has_cells()) {
        Request { tolerance: request.tolerance.or_default(), ..request.clone() }
    } else {
        Request { tolerance: request.lattice_tolerance(), ..request.clone() }
    }
}

/// Sizes up every construction for a request.
pub(crate) fn plan(request: &Request) -> Result<Plan> {
    sized_up(request, Rows::All, &mut |_| {})
}

/// The rows of a plan that are wanted.
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
    let shape = request.grid()?;
    plan.baseline = baseline(&request.source.target(shape.dims())?, &shape, &plan.norm);
    if request.host().is_some() {
        plan.look_at_hosts(&request)?;
    }
    Ok(plan)
}

/// The extent of a plan: all its rows, or nothing but the first, where what is left out need not be told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    Needed,
    First,
}

fn rows(request: &Request, wanted: Wanted, told: &mut dyn FnMut(&Candidate)) -> Result<Plan> {
    let shape = request.grid()?;
    let target = Arc::new(request.source.target(shape.dims())?);
    let eps = request.tolerance.eps.clone();
    // As `Model::norm`: a float network of which nothing is asked is certified in L^2.
    let asked = request.tolerance.norm.clone();
    let float = eps.is_none() && request.arithmetic != Arithmetic::Exact && !target.is_discrete();
    let norm = asked.unwrap_or_else(|| if float { Norm::Lp(Rat::from(2)) } else { Norm::Sup });
    let scope = Scope { request, shape: &shape, target: &target, norm: &norm, eps: eps.as_ref() };
    let mut looked_at: Vec<Candidate> = Vec::new();
    // The places of these rows among all, by which equal ones are told apart.
    let mut places: Vec<usize> = Vec::new();
    let mut left_out: Vec<(usize, LeftOut)> = Vec::new();
    let mut turns: Vec<usize> = request.constructions.iter().map(|construction| construction.turn()).collect();
    turns.sort_unstable();
    turns.dedup();
    for turn in turns {
        let mut constructions: Vec<_> = request.constructions.iter().filter(|one| one.turn() == turn).collect();
        if wanted == Wanted::First && constructions.iter().all(|one| one.cannot_win(&scope, &looked_at)) {
            constructions.clear();
        }
        let mut ways: Vec<Arc<dyn Way>> = constructions.into_iter().flat_map(|one| one.ways(&scope)).collect();
        ways.sort_by_key(|way| way.class());
        let before = looked_at.len() + left_out.len();
        let row =
            |(place, way): (usize, Arc<dyn Way>)| Waiting { least: way.least(&scope), place: before + place, way };
        let mut waiting: Vec<Waiting> = ways.into_iter().enumerate().map(row).collect();
        waiting.sort_by(|a, b| a.order().cmp(&b.order()));
        for row in waiting {
            let reason = match wanted {
                Wanted::All => None,
                Wanted::Needed | Wanted::First => row.cannot_be_first(&scope, &looked_at, &places),
            };
            if let Some(reason) = reason {
                left_out.push((row.place, LeftOut { way: row.way, reason }));
            } else if let Some(candidate) = look(&scope, row.way) {
                told(&candidate);
                looked_at.push(candidate);
                places.push(row.place);
            }
        }
    }
    let mut ranked: Vec<(usize, Candidate)> = places.into_iter().zip(looked_at).collect();
    ranked.sort_by(|a, b| {
        let (x, y) = (a.1.rank(), b.1.rank());
        (x.0, x.1)
            .cmp(&(y.0, y.1))
            .then(x.2.total_cmp(&y.2))
            .then(x.3.cmp(&y.3))
            .then(a.1.way.class().cmp(&b.1.way.class()))
            .then(a.0.cmp(&b.0))
    });
    left_out.sort_by_key(|(place, _)| *place);
    let candidates: Vec<Candidate> = ranked.into_iter().map(|(_, candidate)| candidate).collect();
    // A malformed request is malformed for every construction.
    if let Some(Err(error)) = candidates.first().map(|candidate| &candidate.outcome)
        && error.kind() == ErrorKind::Input
    {
        return Err(error.clone());
    }
    let left_out = left_out.into_iter().map(|(_, row)| row).collect();
    let turns = request.constructions.iter().map(|one| (one.turn(), one.name())).collect();
    Ok(Plan { eps, norm, candidates, left_out, turns, baseline: None, by_itself: None, hosts: Vec::new() })
}

/// Looks at a row, or at the one that stands in for it; nothing comes of one that nobody asked for and that is not to be had.
fn look(scope: &Scope<'_>, way: Arc<dyn Way>) -> Option<Candidate> {
    let sized_up = |way: Arc<dyn Way>| Candidate { outcome: way.sketch(scope), way };
    let candidate = sized_up(way);
    if candidate.serves() {
        return Some(candidate);
    }
    let other = candidate.way.otherwise(scope).map(sized_up).filter(Candidate::serves);
    let silent = candidate.outcome.is_err() && candidate.way.is_silent(scope.request);
    other.or_else(|| (!silent).then_some(candidate))
}

/// A row that was not looked at yet.
struct Waiting {
    way: Arc<dyn Way>,
    /// Its place among all: of equal rows the first is taken.
    place: usize,
    /// A lower bound of its weight.
    least: Int,
}

impl Waiting {
    /// Floats before exact numbers, then by their least weight; circuits, of which that is not known, first.
    fn order(&self) -> (bool, &Int, usize) {
        (self.way.floats().is_none(), &self.least, self.place)
    }

    /// Why it need not be looked at, given those that were: it cannot be the smallest that serves.
    fn cannot_be_first(&self, scope: &Scope<'_>, looked_at: &[Candidate], places: &[usize]) -> Option<Error> {
        let Self { way, place, least } = self;
        if let Some(reason) = way.is_beaten(scope, looked_at) {
            return Some(reason);
        }
        let serving = places.iter().zip(looked_at).filter(|(_, candidate)| candidate.serves());
        let (first, best) = serving.min_by_key(|(place, candidate)| {
            let (_, exact, _, weight) = candidate.rank();
            (exact, weight, candidate.way.class(), **place)
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
        let most = way.may_serve(scope, &weight).err()?;
        Some(
            Error::declined(format!(
                "with {most} cells a side at most, which is all that {has} hold, the tolerance is missed"
            ))
            .note("first", format!("{name}: {has}")),
        )
    }
}

impl Plan {
    /// The candidate that `build` would take.
    pub fn chosen(&self) -> Option<&Candidate> {
        self.candidates.first().filter(|candidate| candidate.serves())
    }

    /// The error of the best constant, in words, if it is known.
    pub fn baseline_in_words(&self) -> Option<String> {
        self.baseline.as_ref().map(|baseline| baseline.in_words(&self.norm))
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
        let circuits = || self.candidates.iter().filter(|candidate| is_own_circuit(candidate));
        let missed = circuits().find(|candidate| candidate.outcome.is_ok());
        // In double precision there is more to be had than in single, and what cannot be made deep may be made wide.
        let rejected = |error: &&Error| error.kind() == ErrorKind::Rejected;
        let refused = || circuits().filter_map(Candidate::reason);
        missed.and_then(Candidate::reason).or_else(|| refused().find(rejected)).or_else(|| {
            circuits()
                .filter(|candidate| candidate.way.is_wide())
                .find_map(Candidate::reason)
                .or_else(|| refused().next())
        })
    }

    /// Puts the first circuit of the same request without a host into each class.
    fn look_at_hosts(&mut self, request: &Request) -> Result<()> {
        let mut bare = host::plain(request);
        bare.constructions.retain(|construction| !construction.has_cells());
        let first = rows(&bare, Wanted::First, &mut |_| {})?.candidates.into_iter().find(Candidate::serves);
        let built = first.as_ref().and_then(|first| first.outcome.as_ref().ok()?.built.clone());
        let found = |class: &Class| -> Option<(&'static str, Result<(f64, f64)>)> {
            let fitted = Fitted::of(&**built.as_ref()?, class);
            Some((class.name, fitted.map(|fitted| (fitted.bound, fitted.host_term()))))
        };
        self.hosts = CLASSES.into_iter().filter_map(found).collect();
        self.by_itself = first;
        Ok(())
    }

    /// The plan as JSON.
    pub fn to_json(&self) -> Value {
        let mut plan = json!({
            "eps": self.eps,
            "norm": self.norm.to_string(),
            "candidates": self.candidates.iter().map(|candidate| self.row(candidate)).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(left_out).collect::<Vec<_>>(),
            "chosen": self.chosen().map(|candidate| identity(&*candidate.way, candidate.positional())),
        });
        if let Some(candidate) = &self.by_itself {
            let host = |(name, found): &(&str, Result<(f64, f64)>)| match found {
                Ok((bound, term)) => json!({"host": name, "bound": bound, "host_term": term, "why_not": null}),
                Err(error) => {
                    json!({"host": name, "bound": null, "host_term": null, "why_not": error.written()})
                }
            };
            plan["by_itself"] = self.row(candidate);
            plan["hosts"] = self.hosts.iter().map(host).collect();
        }
        plan
    }

    fn row(&self, candidate: &Candidate) -> Value {
        let mut row = identity(&*candidate.way, candidate.positional());
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
                    "why_not": sketch.why_not.as_ref().map(Error::written),
                });
                candidate.way.describe(sketch, &mut more);
                more
            }
            Err(error) => json!({
                "meets_tolerance": false,
                "size": null,
                "bytes": null,
                "id_bits": null,
                "error": null,
                "why_not": error.written(),
            }),
        };
        if let (Some(row), Value::Object(more)) = (row.as_object_mut(), more) {
            row.extend(more);
        }
        row
    }
}

fn left_out(LeftOut { way, reason }: &LeftOut) -> Value {
    let mut row = identity(&**way, way.positional());
    row["attention"] = json!(way.attention());
    row["reason"] = json!(reason.written());
    row
}

/// The fields that tell a row from the others.
fn identity(way: &dyn Way, positional: Option<bool>) -> Value {
    let mut identity = json!({
        "construction": way.family(),
        "positional": positional,
        "precision": way.precision(),
    });
    for (name, value) in way.identity() {
        identity[name] = value;
    }
    identity
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Candidate, LeftOut, Rows, sized_up, with_tolerance};
    use crate::model::{Asked, Request, Scope, weight};
    use crate::target::Source;

    fn request(text: &str, asked: &Asked) -> Request {
        let source = Source::expression("t", text).expect("an expression");
        with_tolerance(&asked.request(source).expect("a request"))
    }

    fn asked(tokens: usize, eps: &str, norm: Option<&str>) -> Asked {
        Asked { tokens: Some(tokens), eps: Some(eps.to_owned()), norm: norm.map(str::to_owned), ..Asked::default() }
    }

    fn requests() -> Vec<Request> {
        vec![
            request("x * mean(x)", &asked(2, "1/4", Some("l2"))),
            request("x * mean(x)", &Asked { pack: true, ..asked(2, "1/2", Some("l2")) }),
            request("max(x) - x", &asked(3, "1", Some("l1"))),
            request("sort(x)", &asked(2, "1/2", Some("l1"))),
            request("sum(x) mod 2 on integers 0..2", &asked(3, "1/10", None)),
            request("sort(x) on integers 0..3", &asked(3, "1/10", None)),
            request("max(x)", &Asked { dims: Some(2), ..asked(2, "2", Some("l1")) }),
        ]
    }

    /// Nothing weighs less than what was said of it before it was looked at.
    #[test]
    fn what_a_row_takes_at_least_is_no_more_than_what_it_takes() {
        let mut seen = 0;
        for request in requests() {
            let plan = sized_up(&request, Rows::All, &mut |_| {}).expect("a plan");
            let shape = request.grid().expect("a grid");
            let target = Arc::new(request.source.target(shape.dims()).expect("a target"));
            let eps = request.tolerance.eps.as_ref();
            let scope = Scope { request: &request, shape: &shape, target: &target, norm: &plan.norm, eps };
            for row in &plan.candidates {
                let Some((sketch, cells)) = row.outcome.as_ref().ok().and_then(|s| Some((s, s.cells()?))) else {
                    continue;
                };
                // On its own grid it weighs at least as much as on the coarsest.
                let on_its_grid = Request { resolution: Some(cells.resolution), ..request.clone() };
                let least = row.way.least(&Scope { request: &on_its_grid, ..scope });
                let weight = weight(&sketch.size.parameters, row.way.floats());
                assert!(row.way.least(&scope) <= least && least <= weight, "{}", row.name());
                if row.serves() {
                    assert_eq!(row.way.may_serve(&scope, &weight), Ok(()), "{}", row.name());
                }
                seen += 1;
            }
        }
        assert!(seen > 50, "{seen} rows");
    }

    /// With all rows looked at or only those that may win, the same one is the first, and those left out come
    /// behind it.
    #[test]
    fn what_is_left_out_would_not_have_been_taken() {
        let mut left_out = 0;
        for request in requests() {
            let looked_at = |rows| sized_up(&request, rows, &mut |_| {}).expect("a plan");
            let (all, needed) = (looked_at(Rows::All), looked_at(Rows::Needed));
            let first = |plan: &[Candidate]| plan.first().map(|row| (row.name(), row.bytes()));
            assert_eq!(first(&all.candidates), first(&needed.candidates));
            assert!(all.left_out.is_empty());
            left_out += needed.left_out.len();
            // Nothing is both, and nothing is forgotten.
            let mut rows: Vec<String> = needed.candidates.iter().map(Candidate::name).collect();
            rows.extend(needed.left_out.iter().map(LeftOut::name));
            assert_eq!(rows.len(), all.candidates.len(), "{rows:?}");
        }
        assert!(left_out > 30, "{left_out} rows");
    }
}
