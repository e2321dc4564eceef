//! Float networks in formats that other programs load.

pub mod onnx;

use crate::artifact::{sha256, tensors};
use crate::bound::norm::upward;
use crate::compile::{Lowered, Model};
use crate::construct::yun::AsPrinted;
use crate::error::Result;

/// What an exported file says of itself: what it was made for, and what is claimed of it. Of a network that was edited, nothing is.
pub fn metadata(model: &Model) -> Result<Vec<(String, String)>> {
    let target = model.source.text().unwrap_or_else(|| model.target.name.clone());
    let theorem = if model.options.positional { "yun --positional (Theorem 3)" } else { "yun (Theorem 2)" };
    let mut properties = vec![
        ("target", target),
        ("construction", theorem.to_owned()),
        ("attention", model.attention().to_owned()),
        ("precision", model.precision().to_owned()),
        ("resolution", model.grid.resolution().to_string()),
    ];
    if !model.options.as_printed.is_empty() {
        let steps: Vec<&str> = model.options.as_printed.iter().map(|step| AsPrinted::name(*step)).collect();
        properties.push(("as_printed", steps.join(", ")));
    }
    if let Some(Lowered { lowering, network }) = &model.lowered {
        properties.push(("weights_sha256", sha256(&tensors::to_bytes(network)?)));
        if let Some(claim) = model.claim() {
            let mut assumptions = model.assumptions.clone();
            properties.push(("badge", "certified".to_owned()));
            if let Some(certified) = model.certified()? {
                let budget = &certified.budget;
                properties.push(("norm", budget.norm.to_string()));
                properties.push(("domain", model.domain_name()));
                properties.push(("bound", upward(budget.bound, 4)));
                assumptions.extend(budget.assumptions.iter().cloned());
            } else {
                // On integers, point by point.
                properties.push(("norm", "sup".to_owned()));
                let cells = if model.options.positional { "" } else { " with pairwise distinct columns" };
                properties.push(("domain", format!("the points of the grid{cells}")));
                properties.push(("bound", upward(lowering.losses.rounding, 4)));
            }
            properties.push(("on_grid", claim));
            if !assumptions.is_empty() {
                properties.push(("assumptions", assumptions.join("; ")));
            }
        }
    }
    Ok(properties.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
