//! Models that are circuits of their target's expression.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::{Construction, Model, Request};
use crate::bound::norm::upward;
use crate::bound::supremum;
use crate::bound::{Budget, Norm};
use crate::construct::circuit::meaning::Meanings;
use crate::construct::circuit::{self, Compiled, Gate, Trade, Wish};
use crate::construct::sumformer::continuous::{Basis, Continuous};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::float::Engine;
use crate::exact::{Int, Rat};
use crate::interval::Interval;
use crate::lattice::Grid;
use crate::lower::{Hidden, Temperature};
use crate::network::{FloatNetwork, Precision, Realisation};
use crate::target::{Checked, Target};

/// What the circuit construction makes: the network that is shipped, and what is proved of it.
#[derive(Clone, Debug)]
pub struct Circuit {
    /// What was asked of the compiler.
    pub wish: Wish,
    /// The network.
    pub network: FloatNetwork,
    /// Of a Sumformer: what `ψ` is made of.
    pub basis: Option<Basis>,
    target: Arc<Target>,
    shape: Grid,
    norm: Norm,
    /// What is proved, once this has been looked at; `None` if the network is not the one that is compiled.
    proof: OnceLock<Option<Proof>>,
}

/// What is proved of a circuit.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The bound in the supremum norm.
    pub sup: Budget,
    /// The bound in the norm that was asked for.
    pub budget: Budget,
    /// The gates, in the order of execution.
    pub gates: Vec<Gate>,
    /// What each register holds, stage by stage.
    pub meanings: Meanings,
    /// What the outputs are made of: inputs and gates, by name.
    pub outputs: Vec<String>,
    /// The numbers of tokens for which the bound in the supremum norm holds.
    pub lengths: (usize, usize),
    /// On integers: the distance from a computed value to the nearest wrong answer, at least.
    pub margin: Option<f64>,
    /// Of a Sumformer: the normal form of the target that was compiled.
    pub form: Option<Continuous>,
}

impl Proof {
    /// Whether a part of the bound was measured and not proved.
    pub fn is_measured(&self) -> bool {
        self.form.as_ref().is_some_and(|form| form.measured.is_some())
    }

    /// `certified`, or `measured` if a part of the bound was not proved.
    pub fn badge(&self) -> &'static str {
        if self.is_measured() { "measured" } else { "certified" }
    }
}

/// The circuit of the fewest bytes that meets the tolerance; else why there is none.
pub(super) fn compile(request: &Request) -> Result<Model> {
    let shape = request.shape()?;
    let target = Arc::new(request.source.target(shape.dims())?);
    let (mut missed, mut smallest): (Option<Error>, Option<Circuit>) = (None, None);
    if let Some(refusal) = refusal(request) {
        return Err(refusal);
    }
    let form = match request.construction {
        Some(Construction::Sumformer(basis)) => Some(normal_form(request, &target, &shape, basis)?),
        _ => None,
    };
    // Those in double precision that are not worth a look.
    let mut settled: Vec<Trade> = Vec::new();
    for format in request.arithmetic.choices().into_iter().flatten() {
        for trade in trades(request).into_iter().filter(|trade| !settled.contains(trade)).collect::<Vec<_>>() {
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
    match smallest {
        Some(circuit) => Ok(model(request, target, shape, circuit)),
        None => Err(missed.unwrap_or_else(|| Error::input("no arithmetic was asked for"))),
    }
}

/// The trades that are tried.
pub(crate) fn trades(request: &Request) -> Vec<Trade> {
    request.trade.map_or_else(|| vec![Trade::Width, Trade::Depth], |trade| vec![trade])
}

/// The model of a circuit that was compiled for a request.
pub(crate) fn model(request: &Request, target: Arc<Target>, shape: Grid, circuit: Circuit) -> Model {
    let tolerance = request.tolerance.or_default();
    Model::new(request.source.clone(), target, shape, Vec::new(), tolerance, circuit.into())
}

/// Why there can be no circuit for a request, before its expression is looked at.
pub(crate) fn refusal(request: &Request) -> Option<Error> {
    let sums = matches!(request.construction, Some(Construction::Sumformer(_)));
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
        return out("a circuit computes an expression", reason, "--construction yun");
    }
    if request.resolution.is_some() {
        let reason = "it is as precise as --eps says, between the points of any grid";
        return out("a circuit has no --resolution", reason, "leave out --resolution, or --construction yun");
    }
    if !request.options.as_printed.is_empty() {
        let reason = "the steps that are printed are those of Yun et al. 2020";
        return out("a circuit has no steps --as-printed", reason, "--construction yun");
    }
    if request.options.everywhere {
        let reason = "its gates are right on the ranges that the box gives them, and on nothing else";
        return out("a circuit is certified on its box only", reason, "leave out --domain all, or --construction yun");
    }
    if request.tolerance.lipschitz.is_some() {
        let reason = "its bound comes from its gates, which are known";
        return out("a circuit has no use for --lipschitz", reason, "leave out --lipschitz, or --construction yun");
    }
    if format.is_some_and(|format| format.hidden != Hidden::Literal) {
        let reason = "they are about the layers of a lattice network; hidden units of a circuit are traded by --trade";
        return out("--pack and --hidden are not for circuits", reason, "leave them out, or --construction yun");
    }
    if format.is_some_and(|format| format.temperature != Temperature::Derived) {
        let reason = "its temperatures follow from the tolerance";
        return out("--temperature is not for circuits", reason, "leave out --temperature, or --construction yun");
    }
    if request.arithmetic.choices().iter().all(Option::is_none) {
        let reason = "softmax and approximate gates are not rational";
        return out("a circuit computes in floats", reason, "--precision f32, f64 or auto; or --construction yun");
    }
    None
}

/// Compiles one circuit for a request that is not refused.
pub(crate) fn build(
    request: &Request,
    target: &Arc<Target>,
    shape: &Grid,
    (precision, trade): (Precision, Trade),
    form: Option<&Continuous>,
) -> Result<Circuit> {
    let (eps, norm) = asked(request)?;
    Circuit::build((target, shape), &norm, Asked { eps, precision, trade, attention: request.attention }, form)
}

/// The normal form of the target of a request, in a basis.
pub(crate) fn normal_form(
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
pub(crate) fn gates(target: &Target, form: &Continuous, tokens: usize) -> Result<(usize, usize)> {
    Ok((circuit::gate_count(expression(target)?, tokens)?, circuit::gate_count(&form.psi, tokens)?))
}

/// The tolerance, and the norm that it is in.
fn asked(request: &Request) -> Result<(Rat, Norm)> {
    let tolerance = request.tolerance.or_default();
    let norm = tolerance.norm();
    tolerance.eps.zip(norm).ok_or_else(|| Error::input("a circuit needs a tolerance").note("try", "--eps 1/100"))
}

impl Circuit {
    /// Compiles the circuit whose error is at most `eps` in a norm.
    fn build(
        (target, shape): (&Arc<Target>, &Grid),
        norm: &Norm,
        asked: Asked,
        form: Option<&Continuous>,
    ) -> Result<Self> {
        let wish = asked.wish(target, shape, norm)?;
        let compiled = compiled(target, &wish, form)?;
        let basis = form.map(|form| form.basis);
        let circuit = Self::shipped(compiled.network.clone(), wish, (target, shape), norm, basis);
        let proof = circuit.proof_of(compiled, form.cloned());
        Ok(Self { proof: OnceLock::from(Some(proof)), ..circuit })
    }

    /// A circuit that was read from a file: nothing is proved of it until somebody asks.
    pub(crate) fn read(
        network: FloatNetwork,
        target: &Arc<Target>,
        shape: &Grid,
        eps: &Rat,
        norm: &Norm,
        (trade, attention, basis): (Trade, Realisation, Option<Basis>),
    ) -> Result<Self> {
        let asked = Asked { eps: eps.clone(), precision: network.precision, trade, attention };
        let wish = asked.wish(target, shape, norm)?;
        Ok(Self::shipped(network, wish, (target, shape), norm, basis))
    }

    fn shipped(
        network: FloatNetwork,
        wish: Wish,
        (target, shape): (&Arc<Target>, &Grid),
        norm: &Norm,
        basis: Option<Basis>,
    ) -> Self {
        let (target, shape, norm) = (Arc::clone(target), shape.clone(), norm.clone());
        Self { wish, network, basis, target, shape, norm, proof: OnceLock::new() }
    }

    /// The construction as one names it on the command line.
    pub fn construction(&self) -> &'static str {
        if self.basis.is_some() { "sumformer" } else { "circuit" }
    }

    /// What is proved; `None` if the network is not the one that is compiled for its target: somebody edited its files.
    pub fn proof(&self) -> Option<&Proof> {
        let anew = || {
            let form = self
                .basis
                .map(|basis| Continuous::of(expression(&self.target)?, self.wish.tokens, Some(basis), &self.wish.eps));
            let form = form.transpose().ok()?;
            let compiled = compiled(&self.target, &self.wish, form.as_ref()).ok()?;
            (compiled.network == self.network).then(|| self.proof_of(compiled, form))
        };
        self.proof.get_or_init(anew).as_ref()
    }

    fn proof_of(&self, compiled: Compiled, form: Option<Continuous>) -> Proof {
        let Compiled { budget: sup, gates, meanings, outputs, lengths, margin, .. } = compiled;
        // What has no factor was not compiled.
        let factor = supremum::factor(&self.norm, &self.shape, &self.target).unwrap_or(f64::INFINITY);
        let budget = supremum::in_norm(&sup, &self.norm, factor);
        Proof { sup, budget, gates, meanings, outputs, lengths, margin, form }
    }

    /// The bytes of its weights.
    pub(crate) fn bytes(&self) -> Int {
        self.network.size().parameters * Int::from(self.network.precision.bytes())
    }

    /// Whether the same circuit in double precision is not worth a look: then the share of the tolerance that rounding takes from this one, which is in
    /// single precision and serves. A double has twice the bytes, so that it would have to do with less than half of the parameters. It has for its
    /// gates what rounding takes here, and units go like deviations to the power -1/2 (`tune.rs`): 3/8 of the tolerance save 21 %. (In 960 circuits,
    /// 40 targets at 2, 5 and 16 tokens and four tolerances, nothing that is passed over had less than 54 %; beyond one half there is 16 %.)
    /// And where no gate is approximated, there is nothing to save.
    pub(crate) fn settles_double(&self) -> Option<f64> {
        let proof = self.proof().filter(|_| self.network.precision == Precision::F32)?;
        let terms = proof.sup.terms.iter().filter(|term| term.name == "rounding");
        let share = terms.map(|term| term.bound).sum::<f64>() / self.wish.eps.to_f64();
        let approximates = proof.gates.iter().any(|gate| gate.share > 0.0 && gate.units > 0);
        (share <= 0.375 || !approximates).then_some(share)
    }

    /// Why it does not meet what a request asks for, if it does not.
    pub(crate) fn misses(&self, request: &Request) -> Option<Error> {
        let eps = request.tolerance.or_default().eps?;
        let budget = &self.proof()?.budget;
        if budget.meets(&eps) {
            return None;
        }
        let (norm, precision) = (&budget.norm, self.wish.precision);
        let error = Error::rejected(format!("the tolerance {eps} in {norm} is not met in {precision}"))
            .note("bound", upward(budget.bound, 3));
        let error = match budget.dominant() {
            Some(term) => error.note("term", format!("the largest is {}: {}", term.name, upward(term.bound, 3))),
            None => error,
        };
        let reachable = format!("--eps {}", upward(budget.bound, 3));
        Some(match precision {
            Precision::F32 => error.note("try", format!("{reachable}, or --precision f64")),
            Precision::F64 => error.note("try", reachable),
        })
    }

    /// Refuses a network that is further from its target than what is proved of it, as an error that was found somewhere shows. The target is
    /// enclosed there: what a search in floats finds is off by its own rounding.
    pub(super) fn confirm(&self, found: f64, at: &[Vec<f64>], engine: &Engine) -> Result<()> {
        let (Some(proof), Some(checked)) = (self.proof(), self.target.expression()) else { return Ok(()) };
        // What is only measured may be exceeded by what is measured elsewhere.
        if found <= proof.sup.bound || proof.is_measured() {
            return Ok(());
        }
        let point = at.iter().map(|token| token.iter().map(|x| Interval::point(*x)).collect()).collect();
        let (wanted, outputs) = (checked.enclose(&point)?.concat(), engine.run(&[at.to_vec()])?.concat().concat());
        let off = |(wanted, y): (&Interval, &f64)| (wanted.lo() - y).max(y - wanted.hi());
        if wanted.iter().zip(&outputs).all(|pair| off(pair) <= proof.sup.bound) {
            return Ok(());
        }
        let (found, bound) = (format!("{found:.4e}"), upward(proof.sup.bound, 4));
        Err(Error::rejected(format!("this circuit is off by {found}, and was proved to be within {bound}"))
            .note("witness", format!("X = {at:?}"))
            .note("reason", "a proof of formwright is wrong, or this machine does not compute as IEEE 754 says")
            .note("try", "to report it, with this message"))
    }

    /// The fewest and the most tokens for which the bound holds in the norm that was asked for: integrals are over one length.
    pub fn lengths(&self) -> (usize, usize) {
        match (&self.norm, self.proof()) {
            (Norm::Sup, Some(proof)) => proof.lengths,
            (Norm::Sup, None) => self.network.lengths,
            (Norm::Lp(_), _) => (self.wish.tokens, self.wish.tokens),
        }
    }

    /// What is known of its outputs, in words.
    pub(super) fn claim(&self) -> Option<String> {
        let proof = self.proof()?;
        let domain = domain_name(&self.target, &self.shape, proof.lengths);
        let bound = upward(proof.sup.bound, 4);
        Some(match proof.margin {
            Some(margin) if proof.sup.bound < 0.5 => format!(
                "every output is within {bound} of the right integer at every point of {domain}, so that rounding to \
                 nearest is exact; the nearest wrong answer is at least {} away",
                downward(margin)
            ),
            _ => format!("every output is within {bound} of the target at every point of {domain}"),
        })
    }

    /// The gates, as they are written; none if nothing is proved.
    pub(super) fn gates_to_json(&self) -> Value {
        let gate = |gate: &Gate| {
            json!({
                "name": gate.name,
                "formula": gate.formula,
                "kind": gate.kind,
                "block": gate.block,
                "units": gate.units,
                "heads": gate.heads,
                "range": [gate.range.0, gate.range.1],
                "share": gate.share,
            })
        };
        self.proof().map(|proof| proof.gates.iter().map(gate).collect()).unwrap_or_default()
    }

    /// `φ` and `ψ`, as they are written.
    pub(super) fn form_to_json(&self) -> Value {
        let form = self.proof().and_then(|proof| proof.form.as_ref());
        json!({
            "basis": self.basis.map(|basis| basis.to_string()),
            "latent_dimension": form.map(|form| form.phi.len()),
            "latent_dimension_of_the_theorem": form.map(|form| &form.theorem),
            "phi": form.map(|form| &form.phi),
            "psi": form.map(Continuous::psi_text),
            "distance": form.map(|form| form.distance),
        })
    }

    /// Where its error is certified, in the norm that was asked for.
    pub(crate) fn domain_name(&self) -> String {
        domain_name(&self.target, &self.shape, self.lengths())
    }
}

/// What is asked of a circuit, in the norm of the request.
struct Asked {
    eps: Rat,
    precision: Precision,
    trade: Trade,
    attention: Realisation,
}

impl Asked {
    /// What that is in the supremum norm.
    fn wish(self, target: &Target, shape: &Grid, norm: &Norm) -> Result<Wish> {
        let Self { eps, precision, trade, attention } = self;
        let factor = supremum::factor(norm, shape, target)?;
        Ok(Wish { tokens: shape.tokens(), eps: supremum::allowed(&eps, factor)?, precision, trade, attention })
    }
}

fn compiled(target: &Target, wish: &Wish, form: Option<&Continuous>) -> Result<Compiled> {
    match form {
        Some(form) => form.compile(wish),
        None => circuit::compile(expression(target)?, wish),
    }
}

fn expression(target: &Target) -> Result<&Checked> {
    target.expression().ok_or_else(|| Error::declined("a circuit computes an expression, and a table has none"))
}

/// The box, or the integers, of some lengths.
pub(super) fn domain_name(target: &Target, shape: &Grid, (least, most): (usize, usize)) -> String {
    let side = target.integers().unwrap_or_else(|| format!("[{}, {}]", shape.low(), shape.high()));
    let dims = shape.dims();
    if least == most {
        format!("{side}^({dims}×{least})")
    } else {
        format!("{side}^({dims}×n), n from {least} to {most}")
    }
}

/// A positive number with five digits, rounded down: a margin that is printed is one too.
fn downward(x: f64) -> String {
    upward(-x, 4).trim_start_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Asked, Circuit};
    use crate::bound::Norm;
    use crate::construct::circuit::Trade;
    use crate::eval::float::Engine;
    use crate::exact::Rat;
    use crate::lattice::Grid;
    use crate::network::{Precision, Realisation};
    use crate::target::Source;

    /// An error above the bound is refused if it is one, and not if the search was wrong about it.
    #[test]
    fn a_circuit_that_breaks_its_bound_is_refused() {
        let target =
            Arc::new(Source::expression("t", "x - mean(x)").and_then(|source| source.target(1)).expect("a target"));
        let shape = Grid::new(2, 1, 2, Rat::ZERO, Rat::ONE).expect("a grid");
        let asked = Asked {
            eps: Rat::new(1, 100),
            precision: Precision::F32,
            trade: Trade::Width,
            attention: Realisation::SOFTMAX,
        };
        let mut circuit = Circuit::build((&target, &shape), &Norm::Sup, asked, None).expect("a circuit");
        let at = [vec![1.0], vec![0.0]];
        let confirm = |circuit: &Circuit, found: f64| {
            let engine = Engine::new(&circuit.network).expect("an engine");
            circuit.confirm(found, &at, &engine)
        };
        assert_eq!(confirm(&circuit, 0.0), Ok(()));
        assert_eq!(confirm(&circuit, 1.0), Ok(()), "there is no such error");
        circuit.network.read_out.bias[0] += 1.0 / 1024.0;
        let error = confirm(&circuit, 1.0 / 1024.0).expect_err("the bound is broken").to_string();
        assert!(error.contains("off by 9.7656e-4") && error.contains("X = [[1.0], [0.0]]"), "{error}");
    }
}
