//! The model as the page reads it: shapes as in `model.json`, the weights of all tensors in their order as base64, gates, meanings, terms
//! of the bound, the target's syntax, an example.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::artifact::tensors::{Skeleton, to_little_endian};
use crate::bound::norm::upward;
use crate::bound::{Budget, Term};
use crate::construct::circuit::Gate;
use crate::error::Result;
use crate::model::Model;
use crate::network::FloatNetwork;
use crate::network::attention::{Formula, Look, Step};

/// The whole of it, as it may stand in a page.
pub(super) fn text(model: &Model, network: &FloatNetwork) -> Result<String> {
    let budget = budget(model)?;
    let proof = model.circuit().and_then(|circuit| circuit.proof());
    let tensors = network.tensors();
    let weights: Vec<u8> =
        tensors.iter().flat_map(|(_, _, entries)| to_little_endian(network.precision, entries)).collect();
    let shapes: Vec<Value> = tensors.iter().map(|(name, shape, _)| json!([name, shape])).collect();
    let grid = &model.grid;
    let data = json!({
        "network": Skeleton::of(network),
        "formulas": formulas(network),
        "lengths": network.lengths,
        "tensors": shapes,
        "weights": base64(&weights),
        "gates": proof.map(|proof| proof.gates.iter().map(gate).collect::<Vec<_>>()),
        "outputs": proof.map(|proof| &proof.outputs),
        "held": held(model),
        "terms": budget.iter().flat_map(|budget| &budget.terms).map(term).collect::<Vec<_>>(),
        "claim": claim(model, budget.as_ref()),
        "target": model.source.to_json(),
        "domain": json!({"low": grid.low().to_f64(), "high": grid.high().to_f64(), "integers": model.target.is_discrete()}),
        "example": model.example(),
        "worst": model.measured()?.and_then(|measured| measured.at.as_ref()),
    });
    // So that no text of a model ends the script that it stands in.
    Ok(data.to_string().replace('<', "\\u003c"))
}

/// How many bytes the numbers have.
pub(super) fn bytes(network: &FloatNetwork) -> usize {
    network.tensors().iter().map(|(_, _, entries)| entries.len() * network.precision.bytes()).sum()
}

/// The bound whose terms are shown: that of the supremum norm if there is one.
fn budget(model: &Model) -> Result<Option<Budget>> {
    if !model.is_claimed() {
        return Ok(None);
    }
    let supremum = model.built.supremum().cloned();
    Ok(if supremum.is_some() { supremum } else { model.certified()?.map(|known| known.budget.clone()) })
}

/// The claim at single inputs: a band, or none where the claim is about integrals or points.
fn claim(model: &Model, budget: Option<&Budget>) -> Option<Value> {
    let claim = model.claim()?;
    let bounded = |budget: &Budget| {
        format!("the {} error on {} is at most {}", budget.norm, model.domain_name(), upward(budget.bound, 4))
    };
    let about = budget.map_or(claim, bounded);
    Some(json!({
        "badge": model.badge(),
        "bound": model.built.supremum().map(|sup| sup.bound),
        "budget": budget.map(|budget| budget.bound),
        "about": about,
        "domain": model.domain_name(),
        "lengths": model.lengths(),
    }))
}

fn term(term: &Term) -> Value {
    json!({"name": term.name, "bound": term.bound})
}

fn gate(gate: &Gate) -> Value {
    json!({
        "name": gate.name,
        "formula": gate.formula,
        "kind": gate.kind,
        "block": gate.block,
        "units": gate.units,
        "heads": gate.heads,
        "places": gate.places,
        "range": gate.range,
        "share": gate.share,
        "reads": gate.reads,
        "registers": gate.registers,
    })
}

/// The meaning of every register, from stage to stage, where it is known.
fn held(model: &Model) -> Option<Value> {
    let meanings = model.meanings()?;
    let of_register = |held: &Vec<_>| -> Value {
        let held = held.iter().map(|held: &crate::meaning::Held| {
            json!({"from": held.from, "text": held.meaning.to_string(), "error": held.meaning.error})
        });
        held.collect()
    };
    Some(meanings.registers.iter().map(of_register).collect())
}

/// The formulas of heads other than softmax, by name.
fn formulas(network: &FloatNetwork) -> Map<String, Value> {
    let runs = network.runs.iter().filter_map(|run| run.attention.as_ref());
    let used: BTreeMap<&str, &Formula> = runs.map(|run| (run.kind.formula.name, run.kind.formula)).collect();
    let written = |formula: &Formula| {
        let steps: Vec<Value> = formula.steps.iter().map(step).collect();
        json!({"steps": steps, "look": look(&formula.look)})
    };
    used.into_iter().map(|(name, formula)| (name.to_owned(), written(formula))).collect()
}

fn step(step: &Step) -> Value {
    match *step {
        Step::Mixed { of, by } => json!({"kind": "mixed", "of": of.0, "by": by}),
        Step::Features { of, by } => json!({"kind": "features", "of": of.0, "by": by}),
        Step::Products { features, of } => json!({"kind": "products", "features": features.0, "of": of.0}),
        Step::Mean { of } => json!({"kind": "mean", "of": of.0}),
    }
}

fn look(look: &Look) -> Value {
    match *look {
        Look::Softmax { keys, values } => json!({"kind": "softmax", "keys": keys.0, "values": values.0}),
        Look::Features { by, values } => json!({"kind": "features", "by": by, "values": values.0}),
        Look::Row { of } => json!({"kind": "row", "of": of.0}),
    }
}

/// How many characters so many bytes have in base64.
pub(super) fn encoded(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Bytes in base64 (RFC 4648).
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(encoded(bytes.len()));
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{base64, encoded};

    #[test]
    fn base64_is_that_of_the_standard() {
        let words =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("\u{ff}~", "w79+")];
        for (plain, coded) in words {
            assert_eq!(base64(plain.as_bytes()), coded);
            assert_eq!(encoded(plain.len()), coded.len());
        }
    }
}
