//! The meaning of registers: after every stage `offset + Σ factor · atom`, exactly, to within an error that is proved.
//!
//! An **atom** here is a name: an input coordinate, the index, numbers by position, a gate. What each name stands for is a formula of the target
//! language over the names before it, or a table of numbers by position. A meaning is about the numbers that are *meant*: formulas without error,
//! weights before they are rounded. What gates approximate and what floats lose is the `error`: for every token, every input of the domain and
//! every execution, `|register - (offset + Σ factor · atom)| ≤ error`.
//!
//! A register does not hold its gates as they are. A slot adds what its atom *is* in the stream ([`super::layout::Source`]), and everybody who reads
//! it adds the rest:
//!
//! ```text
//! input        x - middle of the domain
//! curve        f(T) - base                    base: the value at the knot that the hinges face outward from
//! product      ab - m_b a - m_a b + m_a m_b - bases
//! selection    ca - floor c
//! mean, sum    s · mean(T) - s · (what is added to T's registers)
//! maximum      max(T) - (the same) - half of what the average loses
//! ```
//!
//! A register may hold a number besides, left by units that emptied it. This file is the only place that undoes it.

use std::collections::BTreeSet;

use super::analysis::Analysis;
use super::form::Form;
use super::graph::{Graph, Kind};
use super::layout::{Layout, Source, arguments};
use super::names::Names;
use crate::exact::Rat;
use crate::meaning::{Definition, Formula, Held, Meaning, Meanings, Place};
use crate::network::FloatNetwork;
use crate::rounding::TERMS;

/// A circuit once its stages are made.
pub(crate) struct Circuit<'a> {
    /// The graph that it computes.
    pub graph: &'a Graph,
    /// The layout of its registers.
    pub layout: &'a Layout,
    /// How far it is from that.
    pub analysis: &'a Analysis,
    /// The names of its wires.
    pub names: &'a Names,
}

impl Circuit<'_> {
    /// The meanings of the registers; `slots` are those of the stages, with their blocks.
    pub fn meanings(&self, network: &FloatNetwork, slots: &[(usize, usize)]) -> Meanings {
        let place = |(stage, (slot, block)): (&crate::network::FloatStage, &(usize, usize))| Place {
            stage: stage.name.clone(),
            block: Some((*block, slot % 2 == 1)),
        };
        let embedding = Place { stage: "embed".to_owned(), block: None };
        let places: Vec<Place> =
            std::iter::once(embedding).chain(network.stages.iter().zip(slots).map(place)).collect();
        // Behind a stage it is as before the next one: a slot without a stage adds nothing but what rounds to 0 everywhere.
        let end = self.layout.last() + 1;
        let befores: Vec<usize> = slots.iter().map(|(slot, _)| *slot).chain([end]).collect();
        let mut registers: Vec<Vec<Held>> = Vec::new();
        for register in 0..network.width() {
            let mut held: Vec<Held> = Vec::new();
            for (from, before) in befores.iter().enumerate() {
                let meaning = self.meaning(network, register, *before);
                if held.last().is_none_or(|last| last.meaning != meaning) {
                    held.push(Held { from, meaning });
                }
            }
            registers.push(held);
        }
        let needed = (0..self.graph.wires.len()).filter(|wire| self.layout.wires[*wire].is_some());
        let wires = needed.map(|wire| self.names.name(wire).to_owned()).collect();
        Meanings { definitions: self.definitions(), places, registers, wires }
    }

    /// The meaning of a register before a slot.
    fn meaning(&self, network: &FloatNetwork, register: usize, slot: usize) -> Meaning {
        let Some(row) = self.layout.before[slot].get(register) else {
            if register < self.layout.width {
                return Meaning::number(Rat::ZERO);
            }
            // What another kind of attention keeps there is 1, or empty again behind its stage but for what is below the normal range.
            let constant = network.embed.bias[register];
            let error = if constant == 0.0 { network.precision.flushed(TERMS).get() } else { 0.0 };
            return Meaning { error, ..Meaning::number(Rat::from_f64(constant).unwrap_or_default()) };
        };
        let meant = self.meant_row(row, &self.analysis.constants.left(slot, register));
        let name = |(wire, factor): (&usize, &Rat)| (self.names.name(*wire).to_owned(), factor.clone());
        let terms = meant.terms.iter().map(name).collect();
        let held = |rows: &Vec<Form>| rows.get(register).is_some_and(|row| !row.terms.is_empty());
        let emptied = row.terms.is_empty() && self.layout.before[..slot].iter().any(held);
        let error = self.analysis.register_error(row, register, slot, emptied);
        Meaning { offset: meant.constant, terms, error }
    }

    /// The content of a register that holds a row of atoms and a number, over wires.
    pub(super) fn meant_row(&self, row: &Form, left: &Rat) -> Form {
        let number = Form::constant(left.clone());
        row.terms.iter().fold(number, |sum, (atom, factor)| sum.plus(factor, &self.meant(*atom)))
    }

    /// The form over wires of an atom in the stream.
    pub(super) fn meant(&self, atom: usize) -> Form {
        let known = &self.layout.atoms[atom];
        let wire = Form::of(known.wire);
        let minus = -Rat::ONE;
        match &known.source {
            Source::Input(_, middle) => wire.plus(&minus, &Form::constant(middle.clone())),
            Source::Position(_) => wire,
            Source::Gate(_) | Source::Head { .. } => {
                let (_, rest) = arguments(self.graph, known.wire);
                let base = Form::constant(self.analysis.constants.bases[atom].clone());
                wire.plus(&minus, &rest).plus(&minus, &base)
            }
        }
    }

    /// Everything that has a name and is needed, in the order in which it is made.
    fn definitions(&self) -> Vec<Definition> {
        let mut seen = BTreeSet::new();
        let mut definitions = Vec::new();
        for (number, wire) in self.graph.wires.iter().enumerate().filter(|(wire, _)| self.layout.wires[*wire].is_some())
        {
            let name = self.names.name(number);
            let formula = match &wire.kind {
                Kind::Position(values) if name != "i" => Formula::Positions(values.clone()),
                Kind::Position(_) | Kind::Input(_) => Formula::Expression(name.to_owned()),
                _ => Formula::Expression(self.names.formula(number).to_owned()),
            };
            if seen.insert(name) {
                definitions.push(Definition { name: name.to_owned(), formula });
            }
        }
        definitions
    }
}
