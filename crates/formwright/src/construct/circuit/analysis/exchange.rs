//! Exchanges: `a + R(t - M) - R(-t)` with `t = b - a + M s` is the larger of `a` and `b` where `s` is 1, and the smaller
//! where it is 0, if they are no more than `M` apart.
//!
//! **Lemma.** `|max(a', b') - max(a, b)| ≤ max(|a' - a|, |b' - b|)`, and so of the smaller: a network of comparators does not
//! add up the errors of its numbers, however many rounds it has. What a register has lost that holds nothing but an
//! exchange is said to be the exchange's own error: the next one reads the register as it is.

use super::Analyst;
use crate::construct::circuit::form::Form;
use crate::construct::circuit::graph::Kind;
use crate::construct::circuit::hinges::{Anchor, Hinges};
use crate::construct::circuit::layout::{apart, arguments};
use crate::construct::circuit::profile::Profile;
use crate::exact::Rat;
use crate::interval::{Interval, Up};

impl Analyst<'_> {
    /// The error of an exchange: the larger one of both numbers, what its units lose, and what the silent one lets through.
    pub(super) fn exchange(&mut self, atom: usize, wire: usize, own: &Form, other: &Form) {
        let slot = self.layout.atoms[atom].slot;
        let known = self.graph.wires[wire].range;
        let (forms, _) = arguments(self.graph, wire);
        let (of_own, of_other) = (self.form_error(own).sup(), self.form_error(other).sup());
        let between = self.graph.range(own).hull(self.graph.range(other)).width();
        let apart = apart(self.graph, own, other);
        let reading = self.read(&forms[0], slot);
        // Beyond all that is read; multiples of a number of few digits, so that slopes are 1, exactly.
        let knot = apart.to_f64();
        let nodes = [(-4.0 * knot, -4.0 * knot), (0.0, 0.0), (knot, 0.0), (5.0 * knot, 4.0 * knot)];
        let hinges = Hinges::through(&nodes, &[Up::ZERO; 3], Anchor::Best, false);
        let here = reading.at(reading.range, self.machine);
        let lost = here.lost;
        let units = self.units(&hinges, &reading, self.company(atom));
        let inside = self.inside(&units, reading.range, (here.size, lost + of_own + of_other));
        let reads = self.machine.gamma(reading.count + 3) * (reading.all() + Up::from(&apart)) + reading.in_host();
        let room = (Interval::from(&apart) - Interval::point_or_entire(between)).lo();
        let beyond = Interval::from(of_own + of_other + lost + reads) - Interval::point_or_entire(room);
        let mut error = of_own.max(of_other) + lost + inside + hinges.worst() + Up::from(beyond.relu());
        error += self.gate_factor() * (Up::from(between) + error);
        self.constants.bases[atom] = super::exactly(hinges.base);
        self.sizes[atom] = Up::from(between) + error + of_own;
        self.inner[atom] = inside;
        self.gates[atom] = vec![(hinges, 1.0)];
        self.errors[wire] = Some(Profile::constant(known, error));
        let (row, middle) = self.exchanged_row(wire);
        self.exchanged.insert(row, Up::from(known - Interval::from(&middle)) + error);
    }

    /// An exchange as a form over atoms, and the number that is added to it.
    fn exchanged_row(&self, wire: usize) -> (Form, Rat) {
        let lowered = self.layout.lower(&Form::of(wire));
        let bases = lowered.terms.iter().map(|(atom, c)| c * &self.constants.bases[*atom]);
        let middle = bases.fold(lowered.constant.clone(), |sum, base| sum + base);
        (lowered.linear(), middle)
    }

    /// The exchange that a slot completes in a register, if there is nothing else in it, and no other register has a part of it.
    pub(super) fn exchanged_alone(&self, slot: usize, register: usize) -> Option<usize> {
        let (atom, _) = self.layout.writes[slot].get(&register)?.single()?;
        let wire = self.layout.atoms[atom].wire;
        let Kind::Exchange { .. } = self.graph.wires[wire].kind else { return None };
        let after = &self.layout.before[slot + 1];
        let alone = after.iter().filter(|row| row.terms.contains_key(&atom)).count() == 1;
        (alone && self.machine.housing.is_none() && after[register] == self.exchanged_row(wire).0).then_some(atom)
    }

    /// Adds to the error of an exchange what its register has lost.
    pub(super) fn charge(&mut self, atom: usize, lost: Up) {
        let wire = self.layout.atoms[atom].wire;
        let Some(known) = self.errors[wire].take() else { return };
        let charged = known.plus(|_| lost);
        let (row, _) = self.exchanged_row(wire);
        self.exchanged.entry(row).and_modify(|size| *size += lost);
        self.own[atom] = charged.sup();
        self.sizes[atom] += lost;
        self.errors[wire] = Some(charged);
    }
}
