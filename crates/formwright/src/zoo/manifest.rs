//! The ground truth of a model in a zoo: what every head and every hidden unit computes.

use serde_json::{Value, json};

use super::vary::Part;
use crate::artifact::tensors::Skeleton;
use crate::construct::circuit::Gate;
use crate::error::Result;
use crate::model::Model;
use crate::network::{FloatNetwork, LayerKind};

/// A model as it stands in a zoo.
pub(super) struct Subject<'a> {
    pub name: &'a str,
    pub model: &'a Model,
    pub network: &'a FloatNetwork,
    /// The parts of each sub-layer, the first being the embedding; empty if nothing was changed.
    pub parts: &'a [Vec<Part>],
    /// The change, in words.
    pub change: Value,
    /// The bound that the checker accepted.
    pub bound: f64,
}

impl Subject<'_> {
    /// `manifest.json`.
    pub fn to_json(&self) -> Result<Value> {
        let Self { name, model, network, .. } = self;
        let gates = model.circuit().and_then(|circuit| circuit.gates()).unwrap_or_default();
        let gate = |gate: &Gate| json!({"name": gate.name, "formula": gate.formula, "kind": gate.kind, "block": gate.block, "reads": gate.reads});
        let stated = model.stated()?;
        Ok(json!({
            "format": "formwright-zoo-model",
            "version": 1,
            "name": name,
            "target": model.source.text().unwrap_or_else(|| model.target.name.clone()),
            "claim": {
                "bound": self.bound,
                "norm": stated.as_ref().map(|stated| stated.norm.to_string()),
                "domain": model.domain_name(),
                "tokens": model.lengths(),
            },
            "domain": {"low": model.grid.low().to_f64(), "high": model.grid.high().to_f64(), "integers": model.target.is_discrete()},
            "change": self.change,
            "gates": gates.iter().map(gate).collect::<Vec<_>>(),
            "layers": self.layers(gates),
            "network": Skeleton::of(network),
        }))
    }

    /// The gates of every head and every unit, sub-layer by sub-layer.
    fn layers(&self, gates: &[Gate]) -> Vec<Value> {
        let mut block = 0;
        let mut layers = Vec::new();
        for run in &self.network.runs {
            for _ in 0..run.blocks {
                let kinds = [
                    run.attention.as_ref().map(|a| (LayerKind::Attention, a.heads)),
                    run.feed_forward.as_ref().map(|f| (LayerKind::FeedForward, f.hidden)),
                ];
                for (kind, count) in kinds.into_iter().flatten() {
                    let parts = self.parts.get(layers.len() + 1);
                    let part = |place: usize| parts.map_or(Part::Of(place), |parts| parts[place]);
                    let told = |place: usize| computes(gates, (block, &kind), part(place));
                    let name = if matches!(kind, LayerKind::Attention) { "heads" } else { "units" };
                    layers.push(json!({"block": block, name: (0..count).map(told).collect::<Vec<_>>()}));
                }
                block += 1;
            }
        }
        layers
    }
}

/// The gates that a part computes; units that belong to none empty registers.
fn computes(gates: &[Gate], (block, kind): (usize, &LayerKind), part: Part) -> Value {
    let Part::Of(place) = part else { return json!({"idle": true, "gates": []}) };
    let is_head = matches!(kind, LayerKind::Attention);
    let here = gates.iter().filter(|gate| gate.block == block && (gate.heads > 0) == is_head);
    let made: Vec<&str> = here.filter(|gate| gate.places.contains(&place)).map(|gate| gate.name.as_str()).collect();
    json!({"idle": false, "of": place, "gates": made})
}
