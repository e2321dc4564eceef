//! Circuits as models: the network that is shipped, and what is proved of it.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::{Compiled, Gate, Made, Trade, Wish};
use crate::bound::norm::upward;
use crate::bound::supremum;
use crate::bound::{Budget, Norm};
use crate::construct::normal_form;
use crate::construct::normal_form::continuous::{Basis, Continuous};
use crate::error::{Error, Result};
use crate::eval::float::Engine;
use crate::exact::{Int, Rat};
use crate::interval::{Interval, Up};
use crate::lattice::Grid;
use crate::meaning::Meanings;
use crate::model::{Built, Model, Request};
use crate::network::{FloatNetwork, Precision, Realisation};
use crate::target::{Checked, Target};

/// The model of the circuit construction: the network that is shipped, and its proof.
#[derive(Clone, Debug)]
pub struct Circuit {
    /// The request to the compiler.
    pub(crate) wish: Wish,
    /// The network.
    pub network: FloatNetwork,
    /// The basis of a Sumformer's `ψ`.
    pub(crate) basis: Option<Basis>,
    target: Arc<Target>,
    shape: Grid,
    norm: Norm,
    /// The proof, once it has been looked for; `None` if the network is not the one that is compiled.
    proof: OnceLock<Option<Proof>>,
}

/// The proof of a circuit.
#[derive(Clone, Debug)]
pub(crate) struct Proof {
    /// The bound in the supremum norm.
    pub sup: Budget,
    /// The bound in the norm that was asked for.
    pub budget: Budget,
    /// The gates, in the order of execution.
    pub gates: Vec<Gate>,
    /// The meaning of each register, stage by stage.
    pub meanings: Meanings,
    /// The same for a checker, where it has rules for all of it.
    pub lines: Option<Vec<String>>,
    /// The inputs and gates that the outputs are made of, by name.
    pub outputs: Vec<String>,
    /// The numbers of tokens for which the bound in the supremum norm holds.
    pub lengths: (usize, usize),
    /// The least distance of a computed value from the nearest wrong answer, on integers.
    pub margin: Option<f64>,
    /// The normal form of the target, if a Sumformer was compiled.
    pub form: Option<Continuous>,
    /// The wish and the choice that it was made from.
    pub made: Made,
}

impl Proof {
    /// True if a part of the bound was measured and not proved.
    pub fn is_measured(&self) -> bool {
        self.form.as_ref().is_some_and(|form| form.measured.is_some())
    }

    /// `certified`, or `measured` if a part of the bound was not proved.
    pub fn badge(&self) -> &'static str {
        if self.is_measured() { "measured" } else { "certified" }
    }
}

impl Circuit {
    /// Compiles the circuit whose error is at most `eps` in a norm.
    pub(super) fn build(
        (target, shape): (&Arc<Target>, &Grid),
        norm: &Norm,
        asked: How,
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
    pub(super) fn read(
        network: FloatNetwork,
        target: &Arc<Target>,
        shape: &Grid,
        eps: &Rat,
        norm: &Norm,
        (trade, attention, basis): (Trade, Realisation, Option<Basis>),
    ) -> Result<Self> {
        let asked = How { eps: eps.clone(), precision: network.precision, trade, attention };
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

    /// Its gates, in the order of execution; `None` if nothing is known of its weights, since somebody edited them.
    pub fn gates(&self) -> Option<&[Gate]> {
        self.proof().map(|proof| proof.gates.as_slice())
    }

    /// The proof; `None` if the network is not the one that is compiled for its target: somebody edited its files.
    pub(crate) fn proof(&self) -> Option<&Proof> {
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
        let Compiled { budget: sup, gates, meanings, lines, outputs, lengths, margin, made, .. } = compiled;
        // What has no factor was not compiled.
        let factor = supremum::factor(&self.norm, &self.shape, &self.target).unwrap_or(Up::INFINITY);
        let budget = supremum::in_norm(&sup, &self.norm, factor);
        Proof { sup, budget, gates, meanings, lines, outputs, lengths, margin, form, made }
    }

    /// The bytes of its weights.
    pub(crate) fn bytes(&self) -> Int {
        self.network.size().parameters * Int::from(self.network.precision.bytes())
    }

    /// If the same circuit in double precision is not worth a look, the share of the tolerance that rounding takes from
    /// this one, which is in single precision and serves. A double has twice the bytes, so that it would
    /// have to do with less than half of the parameters. It has for its gates what rounding takes here, and units go
    /// like deviations to the power -1/2 (`tune.rs`): 3/8 of the tolerance save 21 %. (In 960 circuits, 40 targets at
    /// 2, 5 and 16 tokens and four tolerances, nothing that is passed over had less than 54 %; beyond one half there is
    /// 16 %.) And where no gate is approximated, there is nothing to save.
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
        let reachable = format!("⟨eps={}⟩", upward(budget.bound, 3));
        Some(match precision {
            Precision::F32 => error.note("try", format!("{reachable}, or ⟨precision=f64⟩")),
            Precision::F64 => error.note("try", reachable),
        })
    }

    /// Refuses a network that is further from its target than what is proved of it, as an error that was found somewhere shows. The target is
    /// enclosed there: what a search in floats finds is off by its own rounding.
    fn confirm_at(&self, found: f64, at: &[Vec<f64>], engine: &Engine) -> Result<()> {
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

    /// The statement about its outputs, in words.
    fn claim_in_words(&self) -> Option<String> {
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
    fn gates_to_json(&self) -> Value {
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
    fn form_to_json(&self) -> Value {
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

    /// The domain of its certified error, in the norm that was asked for.
    pub(crate) fn certified_on(&self) -> String {
        domain_name(&self.target, &self.shape, self.lengths())
    }
}

impl Built for Circuit {
    fn family(&self) -> &'static str {
        if self.basis.is_some() { normal_form::FAMILY } else { super::family::NAME }
    }

    fn float(&self) -> Option<&FloatNetwork> {
        Some(&self.network)
    }

    fn meanings(&self) -> Option<&Meanings> {
        self.proof().map(|proof| &proof.meanings)
    }

    fn lines(&self) -> Option<&[String]> {
        self.proof().and_then(|proof| proof.lines.as_deref())
    }

    fn attention(&self) -> String {
        self.wish.attention.to_string()
    }

    fn is_positional(&self) -> bool {
        self.network.positions.is_some()
    }

    fn lengths(&self, _tokens: usize) -> (usize, usize) {
        Self::lengths(self)
    }

    fn made(&self) -> String {
        let (trade, precision) = (self.wish.trade.name(), self.network.precision);
        let attention = self.wish.attention.beside();
        let options = match self.basis {
            Some(basis) => format!("Theorem 4.1, --basis {basis} --trade {trade}"),
            None => format!("--trade {trade}"),
        };
        format!("{} ({options}), {precision}{attention}", self.family())
    }

    fn exported_as(&self) -> String {
        super::family::NAME.to_owned()
    }

    fn properties(&self, model: &Model) -> Vec<(&'static str, String)> {
        let (least, most) = model.lengths();
        vec![
            ("trade", self.wish.trade.name().to_owned()),
            ("tokens", if least == most { least.to_string() } else { format!("{least} to {most}") }),
        ]
    }

    fn claim(&self, _model: &Model) -> Option<String> {
        self.claim_in_words()
    }

    fn supremum(&self) -> Option<&Budget> {
        self.proof().map(|proof| &proof.sup)
    }

    fn badge(&self) -> &'static str {
        self.proof().map_or("certified", Proof::badge)
    }

    fn budget(&self, _model: &Model, _norm: &Norm) -> Result<Option<Budget>> {
        Ok(self.proof().map(|proof| proof.budget.clone()))
    }

    fn rounding(&self) -> Option<f64> {
        self.proof().map(|proof| proof.sup.bound)
    }

    fn is_edited(&self, _model: &Model) -> bool {
        self.proof().is_none()
    }

    fn confirm(&self, found: f64, at: &[Vec<f64>], engine: &Engine) -> Result<()> {
        self.confirm_at(found, at, engine)
    }

    fn domain_name(&self, _model: &Model) -> String {
        self.certified_on()
    }

    fn normal_form(&self) -> Option<[String; 2]> {
        let form = self.proof()?.form.as_ref()?;
        let (latent, theorem) = (form.phi.len(), &form.theorem);
        let phi = if form.phi.is_empty() { "nothing".to_owned() } else { form.phi.join(", ") };
        Some([
            format!("φ = {phi}: latent dimension {latent}, where the theorem takes C(n+d, d) - 1 = {theorem}"),
            format!("ψ = {}", form.psi_text()),
        ])
    }

    fn summarise(&self, summary: &mut Value) {
        summary["trade"] = json!(self.wish.trade.name());
        summary["margin"] = json!(self.proof().and_then(|proof| proof.margin));
        summary["circuit"] = self.gates_to_json();
        if self.basis.is_some() {
            summary["sumformer"] = self.form_to_json();
        }
    }

    fn chosen(&self, model: &Model) -> (String, String) {
        let in_sup = model.norm() == Some(Norm::Sup) && !model.target.is_discrete();
        let literal = if in_sup { "⟨construction=yun⟩ ⟨norm=l2⟩" } else { "⟨construction=yun⟩" };
        let chosen = format!("{} --trade {}", self.family(), self.wish.trade.name());
        let attention = self.wish.attention;
        if model.host().is_some() {
            (chosen, "without ⟨host⟩ other constructions may be smaller".to_owned())
        } else if attention.is_softmax() {
            (chosen, format!("{literal} takes the literal theorem"))
        } else {
            (format!("{chosen} --attention {attention}"), "⟨attention=softmax⟩ takes ordinary heads".to_owned())
        }
    }
}

impl Model {
    /// The circuit, if it is one.
    pub fn circuit(&self) -> Option<&Circuit> {
        self.built.of()
    }
}

/// The demands on a circuit, in the norm of the request.
pub(super) struct How {
    pub eps: Rat,
    pub precision: Precision,
    pub trade: Trade,
    pub attention: Realisation,
}

impl How {
    /// The same demands in the supremum norm.
    fn wish(self, target: &Target, shape: &Grid, norm: &Norm) -> Result<Wish> {
        let Self { eps, precision, trade, attention } = self;
        let factor = supremum::factor(norm, shape, target)?;
        Ok(Wish { tokens: shape.tokens(), eps: supremum::allowed(&eps, factor)?, precision, trade, attention })
    }
}

fn compiled(target: &Target, wish: &Wish, form: Option<&Continuous>) -> Result<Compiled> {
    match form {
        Some(form) => super::of_form(form, wish),
        None => super::compile(expression(target)?, wish),
    }
}

pub(super) fn expression(target: &Target) -> Result<&Checked> {
    target.expression().ok_or_else(|| Error::declined("a circuit computes an expression, and a table has none"))
}

/// The box, or the integers, of some lengths.
pub(in crate::construct) fn domain_name(target: &Target, shape: &Grid, (least, most): (usize, usize)) -> String {
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

    use super::{Circuit, How};
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
        let asked = How {
            eps: Rat::new(1, 100),
            precision: Precision::F32,
            trade: Trade::Width,
            attention: Realisation::SOFTMAX,
        };
        let mut circuit = Circuit::build((&target, &shape), &Norm::Sup, asked, None).expect("a circuit");
        let at = [vec![1.0], vec![0.0]];
        let confirm = |circuit: &Circuit, found: f64| {
            let engine = Engine::new(&circuit.network).expect("an engine");
            circuit.confirm_at(found, &at, &engine)
        };
        assert_eq!(confirm(&circuit, 0.0), Ok(()));
        assert_eq!(confirm(&circuit, 1.0), Ok(()), "there is no such error");
        circuit.network.read_out.bias[0] += 1.0 / 1024.0;
        let error = confirm(&circuit, 1.0 / 1024.0).expect_err("the bound is broken").to_string();
        assert!(error.contains("off by 9.7656e-4") && error.contains("X = [[1.0], [0.0]]"), "{error}");
    }
}
