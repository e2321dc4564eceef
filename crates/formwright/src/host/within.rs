//! Constructions whose tolerance is met inside of a host: what norms and activations lose is a term of the budget.
//!
//! A network is made for the tolerance, and for less of it as long as its bound in the host is above: what is left to the
//! network is what the host leaves, and a quarter of the host term more, which is about the same for a finer network.

use std::any::Any;
use std::sync::Arc;

use serde_json::Value;

use super::check::{check, no_bound};
use super::{Class, Fitted};
use crate::bound::norm::upward;
use crate::bound::{Norm, Term};
use crate::construct::circuit::built::Circuit;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::model::{
    Arithmetic, Built, Candidate, Construction, Host, Model, Request, Scope, Sketch, Tolerance, Way, first_that_serves,
};
use crate::network::Precision;

/// A construction inside of a class.
#[derive(Debug)]
struct Within {
    inner: Arc<dyn Construction>,
    class: &'static Class,
}

/// A construction whose tolerance is met in a class.
pub(crate) fn within(inner: Arc<dyn Construction>, class: &'static Class) -> Arc<dyn Construction> {
    Arc::new(Within { inner, class })
}

/// The same request, for a network by itself.
pub(crate) fn plain(request: &Request) -> Request {
    let bare = |construction: &Arc<dyn Construction>| {
        let within = (&**construction as &dyn Any).downcast_ref::<Within>();
        within.map_or_else(|| Arc::clone(construction), |within| Arc::clone(&within.inner))
    };
    let constructions = request.constructions.iter().map(bare).collect();
    Request { constructions, ..request.clone() }
}

/// How often a network is made anew, with less of the tolerance.
const TRIES: usize = 6;

/// The tolerance is divided into so many parts, of which the network has some.
const PARTS: u32 = 1 << 12;

/// What is made with as much of the tolerance as a class leaves, and what it is there.
fn met<T>(
    eps: &Rat,
    class: &Class,
    make: impl Fn(&Rat) -> Result<T>,
    built: impl Fn(&T) -> Result<&dyn Built>,
) -> Result<(T, Fitted)> {
    let mut parts = PARTS;
    let mut missed = None;
    for _ in 0..TRIES {
        let share = eps * &Rat::new(i64::from(parts), i64::from(PARTS));
        // Why nothing is made with less says less than by how much more was missed.
        let made = match make(&share) {
            Ok(made) => made,
            Err(error) => return Err(missed.unwrap_or_else(|| without_doubles(error, class))),
        };
        let network = built(&made)?;
        check(network, class)?;
        let fitted = Fitted::of(network, class)?;
        if Rat::from_f64(fitted.bound).is_some_and(|bound| bound <= *eps) {
            return Ok((made, fitted));
        }
        missed = Some(misses(eps, class, network, &fitted));
        let taken = (1.25 * fitted.host_term() / eps.to_f64() * f64::from(PARTS)).ceil();
        let left = (1..parts).rev().find(|left| f64::from(*left) <= f64::from(PARTS) - taken);
        let Some(left) = left else { break };
        parts = left;
    }
    Err(missed.unwrap_or_else(|| Error::rejected(format!("the tolerance {eps} is not met in {}", class.name))))
}

/// An error without the advice to take double precision, where a class has none.
fn without_doubles(error: Error, class: &Class) -> Error {
    let advises = |(label, text): &(&str, String)| *label == "try" && text.contains("⟨precision=f64⟩");
    if class.single.is_none() || !error.notes().iter().any(advises) {
        return error;
    }
    error.without("try").note("try", format!("a larger ⟨eps⟩; {} has no double precision", class.name))
}

/// The bound in the host is above the tolerance.
fn misses(eps: &Rat, class: &Class, network: &dyn Built, fitted: &Fitted) -> Error {
    let precision = network.float().map_or(Precision::F64, |network| network.precision);
    let (bound, term) = (upward(fitted.bound, 3), upward(fitted.host_term(), 2));
    let error = Error::rejected(format!("the tolerance {eps} in sup is not met in {} in {precision}", class.name))
        .note("bound", format!("{bound}, of which {term} is the host's"));
    // For so much, and no finer network, the host leaves room.
    let enough = format!("⟨eps={}⟩", upward(2.0 * fitted.bound, 1));
    match precision {
        Precision::F32 if class.single.is_none() => error.note("try", format!("⟨precision=f64⟩, or {enough}")),
        _ => error.note("try", enough),
    }
}

/// A request for a part of the tolerance.
fn with_eps(request: &Request, eps: &Rat) -> Request {
    let tolerance = Tolerance { eps: Some(eps.clone()), ..request.tolerance.clone() };
    Request { tolerance, ..request.clone() }
}

/// The tolerance, which is one in the supremum norm.
fn tolerance(request: &Request) -> Result<Rat> {
    let tolerance = request.tolerance.or_default();
    match (tolerance.norm(), tolerance.eps) {
        (None | Some(Norm::Sup), Some(eps)) => Ok(eps),
        (norm, _) => {
            let norm = norm.map(|norm| format!(", and not in {norm}")).unwrap_or_default();
            Err(Error::input(format!("the claim in a host is in the supremum norm{norm}"))
                .note("try", "leave out ⟨norm⟩"))
        }
    }
}

impl Construction for Within {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn has_cells(&self) -> bool {
        self.inner.has_cells()
    }

    fn host(&self) -> Option<&'static str> {
        Some(self.class.name)
    }

    fn compile(&self, request: &Request) -> Result<Model> {
        if self.inner.has_cells() {
            return Err(no_bound(self.inner.name()));
        }
        let eps = tolerance(request)?;
        // Exact numbers are for where no float serves, and here they do not either.
        let arithmetic = match request.arithmetic {
            Arithmetic::Auto(format) => Arithmetic::AnyFloat(format),
            asked => asked,
        };
        first_that_serves(&Request { arithmetic, ..request.clone() }, |format| {
            let format = format.ok_or_else(|| Error::declined("a host computes in floats"))?;
            let make = |share: &Rat| {
                let request = with_eps(request, share);
                self.inner.compile(&Request { arithmetic: Arithmetic::Float(format), ..request })
            };
            let (model, _) = met(&eps, self.class, make, |model| Ok(&*model.built))?;
            Ok(model.hosted(Host { class: self.class.name.to_owned(), eps: eps.clone() }))
        })
    }

    fn turn(&self) -> usize {
        self.inner.turn()
    }

    fn ways(&self, scope: &Scope<'_>) -> Vec<Arc<dyn Way>> {
        let row = |inner| Arc::new(Row { inner, class: self.class }) as Arc<dyn Way>;
        self.inner.ways(scope).into_iter().map(row).collect()
    }

    fn cannot_win(&self, scope: &Scope<'_>, looked_at: &[Candidate]) -> bool {
        self.inner.cannot_win(scope, &bare(looked_at))
    }
}

/// A row of a plan inside of a class.
#[derive(Debug)]
struct Row {
    inner: Arc<dyn Way>,
    class: &'static Class,
}

/// Rows as their constructions know them.
fn bare(looked_at: &[Candidate]) -> Vec<Candidate> {
    let inner = |way: &Arc<dyn Way>| way.of::<Row>().map_or_else(|| Arc::clone(way), |row| Arc::clone(&row.inner));
    looked_at.iter().map(|row| Candidate { way: inner(&row.way), outcome: row.outcome.clone() }).collect()
}

impl Way for Row {
    fn family(&self) -> &'static str {
        self.inner.family()
    }

    fn construction(&self) -> String {
        self.inner.construction()
    }

    fn floats(&self) -> Option<Precision> {
        self.inner.floats()
    }

    fn attention(&self) -> String {
        self.inner.attention()
    }

    fn positional(&self) -> Option<bool> {
        self.inner.positional()
    }

    fn identity(&self) -> Vec<(&'static str, Value)> {
        let mut identity = self.inner.identity();
        identity.push(("host", self.class.name.into()));
        identity
    }

    fn is_circuit(&self) -> bool {
        self.inner.is_circuit()
    }

    fn is_derived(&self) -> bool {
        self.inner.is_derived()
    }

    fn is_wide(&self) -> bool {
        self.inner.is_wide()
    }

    fn is_excluded(&self) -> bool {
        self.inner.is_excluded()
    }

    fn is_realised(&self) -> bool {
        self.inner.is_realised()
    }

    fn is_silent(&self, request: &Request) -> bool {
        self.inner.is_silent(request)
    }

    fn is_beaten(&self, scope: &Scope<'_>, looked_at: &[Candidate]) -> Option<Error> {
        self.inner.is_beaten(scope, &bare(looked_at))
    }

    fn sketch(&self, scope: &Scope<'_>) -> Result<Sketch> {
        if !self.inner.is_circuit() {
            return Err(no_bound(self.inner.family()));
        }
        let eps = tolerance(scope.request)?;
        let make = |share: &Rat| {
            let request = with_eps(scope.request, share);
            let sketch = self.inner.sketch(&Scope { request: &request, eps: Some(share), ..*scope })?;
            sketch.why_not.clone().map_or(Ok(sketch), Err)
        };
        let (mut sketch, fitted) = met(&eps, self.class, make, |sketch| {
            sketch.built.as_deref().ok_or_else(|| Error::declined("a circuit was not made"))
        })?;
        sketch.budget.terms.push(Term::new("host", fitted.host_term()));
        sketch.budget.bound = fitted.bound;
        Ok(sketch)
    }

    fn build(&self, request: &Request, sketch: Sketch) -> Result<Model> {
        let eps = tolerance(request)?;
        // The network by itself was made for this share.
        let share =
            sketch.built.as_deref().and_then(|built| built.of::<Circuit>()).map(|circuit| circuit.wish.eps.clone());
        let model = self.inner.build(&with_eps(request, &share.unwrap_or_else(|| eps.clone())), sketch)?;
        Ok(model.hosted(Host { class: self.class.name.to_owned(), eps }))
    }

    fn refuse(&self, request: &Request, sketch: Sketch) -> Result<Model> {
        self.inner.refuse(request, sketch)
    }

    fn describe(&self, sketch: &Sketch, row: &mut Value) {
        self.inner.describe(sketch, row);
    }
}
