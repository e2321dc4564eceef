//! A claim as instances for verifiers of neural networks: `network.onnx`, `vnnlib/*.vnnlib`, `instances.csv` and the
//! expected results, `expected.csv`; where all weights of heads are known, `plain.onnx` and `plain.csv` as well: the same
//! instances of the same network over one vector, with matrices and ReLUs alone.
//!
//! An instance is a box of inputs `X` and the *negation* of the claim about the outputs `Y` there; a verifier must find
//! it unsatisfiable.
//!
//! ```text
//! by cells    X in a cell less its margins   |Y − v| ≤ ρ                v the cell's value, ρ the stated rounding
//! circuits    X in a cell of a cut box       min f − ε ≤ Y ≤ max f + ε  over the cell, enclosed; ε the bound in the
//!                                                                       supremum norm
//! integers    X one sequence                 the same at that point
//! ```
//!
//! Every instance is implied by the claim: the ends of boxes are numbers of the network's format, rounded inward, and
//! the ends of outputs are rounded outward, so that claimed values lie strictly between them. All are printed as exact
//! decimals. In one more instance the outputs are moved up by the width of their range: every point of its box
//! satisfies it.

use std::fmt::Write as _;

use super::onnx;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Interval;
use crate::lower::Margins;
use crate::model::Model;
use crate::network::{FloatNetwork, Precision};

/// The seconds that a verifier may take.
const SECONDS: u32 = 60;

/// The claim on a box.
struct Instance {
    name: String,
    /// For every input: from, to.
    inputs: Vec<(f64, f64)>,
    /// For every output: above, below.
    outputs: Vec<(f64, f64)>,
}

/// The instances of a model's claim, and the number of possible ones.
pub struct VnnLib {
    /// The files, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// The number of cells taken.
    pub taken: usize,
    /// The number of cells there are.
    pub cells: u64,
}

/// The default number of instances.
const CELLS: usize = 16;

/// The claim at `cells` cells, or 16, spread evenly over all of them.
pub fn files(model: &Model, metadata: &[(String, String)], cells: Option<usize>) -> Result<VnnLib> {
    let (Some(network), true) = (model.float(), model.is_claimed()) else {
        return Err(Error::declined("nothing is claimed of this model's floats, so there is nothing to verify")
            .note("try", "build it with ⟨precision=f64⟩, or f32, and leave its files as they are"));
    };
    if model.learned().is_some() {
        return Err(Error::declined("a measured error is nothing to verify")
            .note("reason", "of what was trained, no bound against the target is stated")
            .note("try", "⟨format=onnx⟩"));
    }
    let all = model.grid.points().to_u64().ok_or_else(|| {
        Error::declined(format!("{} cells are too many to number", model.grid.points()))
            .note("try", "fewer tokens, or a coarser grid")
    })?;
    let mut instances = Vec::new();
    let wanted = u64::try_from(cells.unwrap_or(CELLS)).unwrap_or(u64::MAX).min(all);
    for number in 0..wanted {
        let from =
            |number: u64| u64::try_from(u128::from(number) * u128::from(all) / u128::from(wanted)).unwrap_or(all);
        let (from, to) = (from(number), from(number + 1));
        // A cell somewhere in its share, so that no coordinate is the same in all of them; if the cell is not served,
        // the next one that is.
        let start = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (to - from);
        let share = (0..to - from).map(|step| point(model, from + (start + step) % (to - from)));
        if let Some(point) = share.into_iter().find(|point| model.built.serves(point)) {
            instances.push(instance(model, network, &point)?);
        }
    }
    // A box has so many sides, and a verifier expects the network's input to have as many.
    let tokens = model.grid.tokens();
    let network = FloatNetwork { lengths: (tokens, tokens), ..network.clone() };
    let mut files = vec![("network.onnx".to_owned(), onnx::to_bytes(&network, metadata, false)?)];
    let (mut list, mut expected) = (String::new(), String::from("vnnlib,expected\n"));
    let mut add = |instance: &Instance, answer: &str| {
        let file = format!("vnnlib/{}.vnnlib", instance.name);
        let _ = writeln!(list, "network.onnx,{file},{SECONDS}");
        let _ = writeln!(expected, "{file},{answer}");
        files.push((file, instance.text(answer).into_bytes()));
    };
    for instance in &instances {
        add(instance, "unsat");
    }
    if let Some(wrong) = wrong(&instances) {
        add(&wrong, "sat");
    }
    if let Some(plain) = onnx::plain::to_bytes(&network, tokens) {
        let plain_list = list.replace("network.onnx,", "plain.onnx,");
        files.extend([("plain.onnx".to_owned(), plain), ("plain.csv".to_owned(), plain_list.into_bytes())]);
    }
    files.push(("instances.csv".to_owned(), list.into_bytes()));
    files.push(("expected.csv".to_owned(), expected.into_bytes()));
    Ok(VnnLib { files, taken: instances.len(), cells: all })
}

/// The first box with its outputs moved up by the width of their range, which no point of the box reaches.
fn wrong(instances: &[Instance]) -> Option<Instance> {
    let Instance { inputs, outputs, .. } = instances.first()?;
    let outputs = outputs.iter().map(|(above, below)| (*below, below + (below - above))).collect();
    Some(Instance { name: "wrong_outputs".to_owned(), inputs: inputs.clone(), outputs })
}

/// The cell of a number, the first token most significant.
fn point(model: &Model, mut index: u64) -> Vec<Vec<u64>> {
    let (tokens, dims, side) = (model.grid.tokens(), model.grid.dims(), model.grid.resolution());
    let mut digits = vec![0; tokens * dims];
    for digit in digits.iter_mut().rev() {
        (*digit, index) = (index % side, index / side);
    }
    digits.chunks(dims).map(<[u64]>::to_vec).collect()
}

fn instance(model: &Model, network: &FloatNetwork, point: &[Vec<u64>]) -> Result<Instance> {
    let centre = model.grid.centre(point);
    let none = Margins { low: Rat::ZERO, high: Rat::ZERO };
    let margins = model.built.margins();
    // Of cells it is the distance from the value at the centre, of other networks from the target itself.
    let rounding = model.rounding().filter(|_| margins.is_some());
    let margins = margins.unwrap_or(none);
    let grid = &model.grid;
    let width = (grid.high() - grid.low()) / Rat::from(grid.resolution());
    let ends = |k: u64, centre: &Rat| {
        if model.target.is_discrete() {
            return (centre.clone(), centre.clone());
        }
        let at = |cells: Rat| grid.low() + &(cells * &width);
        (at(Rat::from(k) + &margins.low), at(Rat::from(k) + Rat::ONE - &margins.high))
    };
    let sides: Vec<(Rat, Rat)> =
        point.iter().flatten().zip(centre.iter().flatten()).map(|(k, c)| ends(*k, c)).collect();
    let inputs: Vec<(f64, f64)> = sides
        .iter()
        .map(|(low, high)| (inward(low, network.precision, true), inward(high, network.precision, false)))
        .collect();
    let values: Vec<Interval> = if rounding.is_some() {
        model.target.evaluate_near(&centre)?.concat().iter().map(Interval::from).collect()
    } else {
        let side = |(low, high): &(Rat, Rat)| Interval::from(low).hull(Interval::from(high));
        let cube: Vec<Vec<Interval>> =
            sides.chunks(grid.dims()).map(|token| token.iter().map(side).collect()).collect();
        let checked = model.target.expression().ok_or_else(|| Error::declined("a circuit without an expression"))?;
        checked.enclose(&cube)?.concat()
    };
    let stated = model.built.supremum().map(|sup| sup.bound);
    let bound = rounding.or(stated).ok_or_else(|| Error::declined("no bound is stated"))?;
    let outputs = values.iter().map(|value| {
        let around = *value + Interval::point(-bound).hull(Interval::point(bound));
        (around.lo().next_down(), around.hi().next_up())
    });
    let name = point.iter().flatten().map(u64::to_string).collect::<Vec<_>>().join("_");
    Ok(Instance { name: format!("cell_{name}"), inputs, outputs: outputs.collect() })
}

/// The number of the format next to `x`: not below it, or not above it.
fn inward(x: &Rat, precision: Precision, up: bool) -> f64 {
    let mut near = precision.round(x.to_f64());
    let outside = |near: f64| Rat::from_f64(near).is_some_and(|near| if up { near < *x } else { near > *x });
    while outside(near) {
        near = if up { precision.next_up(near) } else { -precision.next_up(-near) };
    }
    near
}

/// All digits of a number.
fn decimal(x: f64) -> String {
    let places = Rat::from_f64(x).map_or(0, |x| x.denominator().bits() - 1);
    format!("{:.*}", places.max(1), x + 0.0)
}

impl Instance {
    fn text(&self, answer: &str) -> String {
        let mut text = format!("; {}: expected {answer}\n\n", self.name);
        for (letter, count) in [("X", self.inputs.len()), ("Y", self.outputs.len())] {
            for i in 0..count {
                let _ = writeln!(text, "(declare-const {letter}_{i} Real)");
            }
        }
        text.push('\n');
        for (i, (low, high)) in self.inputs.iter().enumerate() {
            let _ = writeln!(text, "(assert (>= X_{i} {}))\n(assert (<= X_{i} {}))", decimal(*low), decimal(*high));
        }
        text.push_str("\n(assert (or\n");
        for (i, (low, high)) in self.outputs.iter().enumerate() {
            let _ = writeln!(text, "    (and (<= Y_{i} {}))\n    (and (>= Y_{i} {}))", decimal(*low), decimal(*high));
        }
        text.push_str("))\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_ends_are_inside() {
        assert_eq!(decimal(-0.0), "0.0");
        assert_eq!(decimal(0.1), "0.1000000000000000055511151231257827021181583404541015625");
        assert_eq!(decimal(-12.5), "-12.5");
        let third = Rat::new(1, 3);
        for precision in [Precision::F32, Precision::F64] {
            let (above, below) = (inward(&third, precision, true), inward(&third, precision, false));
            assert!(Rat::from_f64(above).expect("finite") > third && Rat::from_f64(below).expect("finite") < third);
            assert_eq!(precision.next_up(below).to_bits(), above.to_bits());
        }
    }
}
