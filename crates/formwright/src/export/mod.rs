//! Float networks in formats that other programs load.

pub mod hf;
mod hosted;
pub mod onnx;
pub(crate) mod rotate;
pub mod transformerlens;
pub mod vnnlib;

use crate::artifact::{Contents, sha256, tensors};
use crate::bound::Norm;
use crate::bound::norm::upward;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::network::FloatNetwork;

/// Files by name.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

impl Model {
    /// The network of a model that can be exported, which must be one of floats.
    pub fn exported(&self) -> Result<&FloatNetwork> {
        self.float().ok_or_else(|| {
            Error::declined("an exact model is not exported: ONNX has floats, and no rational numbers")
                .note("reason", "its layers jump, and its ids may have more digits than any float")
                .note("try", "build it with ⟨precision=f64⟩, or f32, and export that")
        })
    }

    /// The metadata of an exported file: its purpose, and the claim about it. Nothing is claimed about a network that was
    /// edited.
    pub fn metadata(&self) -> Result<Vec<(String, String)>> {
        let target = self.source.text().unwrap_or_else(|| self.target.name.clone());
        let mut properties = vec![
            ("formwright", env!("CARGO_PKG_VERSION").to_owned()),
            ("target", target),
            ("construction", self.built.exported_as()),
            ("attention", self.attention()),
            ("precision", self.precision().to_owned()),
        ];
        properties.extend(self.built.properties(self));
        if let Some(network) = self.float() {
            properties.push(("weights_sha256", sha256(&tensors::to_bytes(network)?)));
            properties.extend(claims(self)?);
        }
        Ok(properties.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

/// The claim about a float network.
fn claims(model: &Model) -> Result<Vec<(&'static str, String)>> {
    let Some(claim) = model.claim() else { return Ok(Vec::new()) };
    let mut properties = vec![("badge", model.badge().to_owned())];
    if model.built.is_measured() {
        for measured in [model.measured()?, model.measured_mean()?].into_iter().flatten() {
            let name = if measured.norm == Norm::Sup { "measured" } else { "measured_mean" };
            properties.push((name, measured.to_json().to_string()));
        }
        properties.push(("domain", model.domain_name()));
        properties.push(("rounding", claim));
        return Ok(properties);
    }
    let mut assumptions = model.assumptions.clone();
    if let Some(certified) = model.certified()? {
        let budget = &certified.budget;
        properties.push(("norm", budget.norm.to_string()));
        properties.push(("domain", model.domain_name()));
        properties.push(("bound", upward(budget.bound, 4)));
        assumptions.extend(budget.assumptions.iter().cloned());
    } else if let Some(rounding) = model.rounding() {
        // On integers, point by point.
        properties.push(("norm", "sup".to_owned()));
        properties.push(("domain", model.built.points_in_words().to_owned()));
        properties.push(("bound", upward(rounding, 4)));
    }
    let error = ["norm", "domain", "bound"].map(|name| properties.iter().find(|(key, _)| *key == name));
    if let (None, [Some((_, norm)), Some((_, domain)), Some((_, bound))]) = (model.built.supremum(), error) {
        properties.push(("claim", format!("{norm} error on {domain} at most {bound}")));
    }
    properties.push((if model.built.supremum().is_some() { "claim" } else { "on_grid" }, claim));
    if let Some(certificate) = Contents::of(model)?.certificate {
        properties.push(("certificate_sha256", sha256(&certificate)));
    }
    if !assumptions.is_empty() {
        properties.push(("assumptions", assumptions.join("; ")));
    }
    Ok(properties)
}
