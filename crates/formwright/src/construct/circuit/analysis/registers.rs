//! The losses of registers: a sum of what is there and what is added is rounded, and so is what the embedding puts
//! there.
//!
//! How much, depends on how many terms take part: the units that are active, those of other atoms that are written into the same register, and
//! those that clear it.

use super::Analyst;
use super::exact::is_centre;
use crate::construct::circuit::form::Form;
use crate::construct::circuit::graph::is_table_product;
use crate::construct::circuit::hinges::Hinges;
use crate::construct::circuit::layout::{Source, arguments};
use crate::exact::Rat;
use crate::interval::Up;

impl Analyst<'_> {
    /// Adds the losses of the registers in a slot.
    pub(super) fn registers(&mut self, slot: usize) {
        let (mut lost, mut times, mut fixed) =
            (self.lost[slot].clone(), self.times[slot].clone(), self.fixed[slot].clone());
        let after = &self.layout.before[slot + 1];
        for of_registers in [&mut lost, &mut times, &mut fixed] {
            of_registers.resize(after.len(), Up::ZERO);
        }
        for clear in &self.layout.clears[slot] {
            let left = self.left_behind(slot, clear);
            (lost[clear.register], times[clear.register], fixed[clear.register]) = (left, Up::ZERO, left);
        }
        for (register, addition) in &self.layout.writes[slot] {
            if self.is_exact(&after[*register]) {
                continue;
            }
            let (more, often) = self.written(slot, *register, addition);
            let empty = self.layout.before[slot].get(*register).is_none_or(|row| row.terms.is_empty());
            let garbage = if empty { lost[*register] } else { Up::ZERO };
            let (besides, relative) = self.housed_write(slot, more, garbage);
            lost[*register] += more + besides + relative * self.size(addition);
            times[*register] = self.more_often(often.unwrap_or(times[*register]), relative);
            fixed[*register] += besides;
        }
        for (times, lost) in times.iter_mut().zip(&lost) {
            if !times.is_finite() && *lost == 0.0 {
                *times = Up::ZERO;
            }
        }
        self.normed(slot, &mut lost, &mut times, &mut fixed);
        let held = || after.iter().zip(&lost).map(|(row, lost)| self.size(row) + *lost);
        for size in held() {
            self.note_size(size);
        }
        let squares = held().map(|size| size * size).sum();
        self.squares = self.squares.max(squares);
        self.lost.push(lost);
        self.times.push(times);
        self.fixed.push(fixed);
    }

    /// The loss of a register when something is added to it; and how often it was rounded then, if that is new:
    /// infinite if what it has lost is not relative to what it holds.
    fn written(&self, slot: usize, register: usize, addition: &Form) -> (Up, Option<Up>) {
        let (machine, empty) = (self.machine, Form::default());
        let before = self.layout.before[slot].get(register).unwrap_or(&empty);
        let (mut lost, mut times) = (Up::ZERO, None);
        if slot == 0 {
            let (embedded, once) = self.embedding_loss(addition);
            (lost, times) = (embedded, Some(if once { Up::ONE } else { Up::INFINITY }));
        } else if !before.terms.is_empty() {
            // What was there takes part in the sum, in any order.
            let terms = self.active(addition) + 2;
            let after = &self.layout.before[slot + 1][register];
            (lost, times) = (machine.gamma(terms) * (self.size(before) + self.size(after)), Some(Up::INFINITY));
        }
        if slot % 2 == 1 && addition.terms.len() > 1 {
            // Several heads add up before they reach the register.
            lost += machine.gamma(addition.terms.len() + 1) * self.size(addition);
            times = Some(Up::INFINITY);
        }
        for clear in self.layout.clears[slot].iter().filter(|clear| clear.register == register) {
            lost += 2.0 * (machine.gamma(self.active(addition) + 4) * self.size(&clear.content));
            // The register is not alone any more: what was cleared left its rounding.
            times = Some(Up::INFINITY);
        }
        (lost, times)
    }

    /// The loss of the embedding in a register, and true if that is one rounding of what the register holds: a single
    /// input, only moved.
    fn embedding_loss(&self, row: &Form) -> (Up, bool) {
        let moved = row.single().filter(|(_, c)| c.abs() == Rat::ONE).map(|(atom, _)| atom);
        if let Some(atom) = moved
            && let Source::Input(..) = &self.layout.atoms[atom].source
            && is_centre(self.graph.wires[self.layout.atoms[atom].wire].range)
        {
            // Both the input, which was rounded before, and the middle are numbers of the format.
            return (self.machine.unit() * (self.size(row) + self.own[atom]), true);
        }
        let size = |(atom, c): (&usize, &Rat)| match &self.layout.atoms[*atom].source {
            Source::Input(_, middle) => {
                let wire = self.layout.atoms[*atom].wire;
                Up::from(c) * (Up::from(self.graph.wires[wire].range) + Up::from(middle))
            }
            _ => Up::from(c) * self.sizes[*atom],
        };
        (self.machine.gamma(row.terms.len() + 5) * row.terms.iter().map(size).sum(), false)
    }

    /// The loss inside of those atoms of a form that are in several registers.
    pub(super) fn spread(&self, form: &Form, slot: usize) -> Up {
        let lowered = self.layout.lower(form);
        let holds = |atom: &usize| self.layout.before[slot].iter().filter(|row| row.terms.contains_key(atom)).count();
        let several = lowered.terms.iter().filter(|(atom, _)| holds(atom) > 1);
        several.map(|(atom, c)| Up::from(c) * self.inner[*atom]).sum()
    }

    /// The terms that are not 0 when atoms are added to a register: active units, or the values of heads.
    fn active(&self, addition: &Form) -> usize {
        let of_hinges = |hinges: &Hinges| {
            let right = hinges.units.iter().filter(|unit| unit.right).count();
            right.max(hinges.units.len() - right)
        };
        let of_atom =
            |atom: &usize| self.gates[*atom].iter().map(|(hinges, _)| of_hinges(hinges)).sum::<usize>().max(1);
        addition.terms.keys().map(of_atom).sum()
    }

    /// The units that others write, or clear, where an atom is written: they take part in its sums.
    pub(super) fn company(&self, atom: usize) -> usize {
        let slot = self.layout.atoms[atom].slot;
        let others = self.layout.writes[slot].values().filter(|addition| addition.terms.contains_key(&atom));
        let count = |addition: &Form| {
            let others = addition.terms.keys().filter(|other| **other != atom);
            others.map(|other| self.expected_units(*other)).sum::<usize>()
        };
        2 + others.map(count).max().unwrap_or(0)
    }

    /// The units of a gate, before its hinges are known.
    pub(super) fn expected_units(&self, atom: usize) -> usize {
        let wire = self.layout.atoms[atom].wire;
        if is_table_product(self.graph, wire) {
            let widths = arguments(self.graph, wire).0.iter().map(|form| self.graph.range(form).width()).sum::<f64>();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousand")]
            return widths as usize + 4;
        }
        match &self.choice.hinges[wire] {
            Some(hinges) => hinges.units.len(),
            None => 4 * self.choice.halves[wire] + 2,
        }
    }
}
