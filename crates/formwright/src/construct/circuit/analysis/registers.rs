//! The losses of registers: a sum of what is there and what is added is rounded, and so is what the embedding puts
//! there.
//!
//! How much, depends on how many terms take part: the units that are active, those of other atoms that are written into the same register, and
//! those that clear it.
//!
//! **Clearing.** `-R(z)` and `R(-z)` empty a register. Where a gate that is written into it reads it alone, by units `R(z + b)` and `R(-z - b)`,
//! these do it as well, since they are `z + b` together: no unit is added, and `-b` stays.

use super::exact::is_centre;
use super::{Analyst, Emptier, Emptying, exactly};
use crate::construct::circuit::form::Form;
use crate::construct::circuit::graph::{Kind, is_table_product};
use crate::construct::circuit::hinges::Hinges;
use crate::construct::circuit::layout::{Clear, Source, arguments};
use crate::exact::Rat;
use crate::interval::{Interval, Up};

impl Analyst<'_> {
    /// Adds the losses of the registers in a slot.
    pub(super) fn registers(&mut self, slot: usize) {
        let (mut lost, mut times, mut fixed) =
            (self.lost[slot].clone(), self.times[slot].clone(), self.fixed[slot].clone());
        let after = &self.layout.before[slot + 1];
        for of_registers in [&mut lost, &mut times, &mut fixed] {
            of_registers.resize(after.len(), Up::ZERO);
        }
        let mut left = self.constants.left[slot].clone();
        left.resize(after.len(), Rat::ZERO);
        for clear in &self.layout.clears[slot] {
            let register = clear.register;
            let emptying = self.emptying(slot, clear);
            let rest = self.left_behind(slot, register, Up::from(&emptying.left));
            (lost[register], times[register], fixed[register]) = (rest, Up::ZERO, rest);
            left[register] = emptying.left.clone();
            self.emptied.insert((slot, register), emptying);
        }
        for (register, addition) in &self.layout.writes[slot] {
            if self.holds_exactly(slot, *register) && self.is_exact(&after[*register], &left[*register]) {
                continue;
            }
            let (more, often) = self.written(slot, *register, (addition, &left[*register]));
            let empty = self.layout.before[slot].get(*register).is_none_or(|row| row.terms.is_empty());
            let garbage = if empty { lost[*register] } else { Up::ZERO };
            let (besides, relative) = self.housed_write(slot, more, garbage);
            lost[*register] += more + besides + relative * self.size(addition);
            times[*register] = self.more_often(often.unwrap_or(times[*register]), relative);
            fixed[*register] += besides;
        }
        for register in self.layout.writes[slot].keys() {
            if let Some(atom) = self.exchanged_alone(slot, *register) {
                self.charge(atom, std::mem::take(&mut lost[*register]));
                (times[*register], fixed[*register]) = (Up::ZERO, Up::ZERO);
            }
        }
        for (times, lost) in times.iter_mut().zip(&lost) {
            if !times.is_finite() && *lost == 0.0 {
                *times = Up::ZERO;
            }
        }
        let held: Vec<Up> = after.iter().zip(&left).map(|(row, left)| self.size(row) + Up::from(left)).collect();
        self.normed(slot, &held, (&mut lost, &mut times, &mut fixed));
        let sizes: Vec<Up> = held.iter().zip(&lost).map(|(held, lost)| *held + *lost).collect();
        for size in &sizes {
            self.note_size(*size);
        }
        let squares = sizes.iter().map(|size| *size * *size).sum();
        self.constants.left.push(left);
        self.squares = self.squares.max(squares);
        self.lost.push(lost);
        self.times.push(times);
        self.fixed.push(fixed);
    }

    /// The loss of a register when something is added to it; and how often it was rounded then, if that is new:
    /// infinite if what it has lost is not relative to what it holds.
    fn written(&self, slot: usize, register: usize, (addition, left): (&Form, &Rat)) -> (Up, Option<Up>) {
        let (machine, empty) = (self.machine, Form::default());
        let before = self.layout.before[slot].get(register).unwrap_or(&empty);
        let (mut lost, mut times) = (Up::ZERO, None);
        if slot == 0 {
            let (embedded, once) = self.embedding_loss(addition);
            (lost, times) = (embedded, Some(if once { Up::ONE } else { Up::INFINITY }));
        } else if !before.terms.is_empty() {
            // What was there takes part in the sum, in any order.
            let terms = self.active(addition) + 2;
            let after = self.size(&self.layout.before[slot + 1][register]) + Up::from(left);
            (lost, times) = (machine.gamma(terms) * (self.held(slot, register) + after), Some(Up::INFINITY));
        }
        if slot % 2 == 1 && addition.terms.len() > 1 {
            // Several heads add up before they reach the register.
            lost += machine.gamma(addition.terms.len() + 1) * self.size(addition);
            times = Some(Up::INFINITY);
        }
        for clear in self.layout.clears[slot].iter().filter(|clear| clear.register == register) {
            let held = self.held(slot, clear.register);
            lost += 2.0 * (machine.gamma(self.active(addition) + 4) * held);
            if !left.is_zero() {
                // The units' heights are those of z + b; what is read is rounded once, and so are weights that are a gate's as well.
                lost += machine.gamma(self.active(addition) + 6) * (held + Up::from(left));
            }
            // The register is not alone any more: what was cleared left its rounding.
            times = Some(Up::INFINITY);
        }
        (lost, times)
    }

    /// The units that empty a register: those that read it as it is, or a pair that a gate has anyway.
    fn emptying(&self, slot: usize, clear: &Clear) -> Emptying {
        let left = self.constants.left(slot, clear.register);
        let sign = if left.is_zero() { self.sign(&clear.content) } else { 0 };
        let plain: Vec<Emptier> = [(1.0, sign >= 0), (-1.0, sign <= 0)]
            .into_iter()
            .filter_map(|(read, needed)| needed.then_some(Emptier { read, bias: 0.0, adds: -read }))
            .collect();
        let there = self.units_alone(slot, clear.register);
        if plain.iter().all(|unit| there.contains(&(unit.read, unit.bias))) {
            return Emptying { units: plain, left: Rat::ZERO };
        }
        let pairs = there.iter().filter(|(read, bias)| *read > 0.0 && there.contains(&(-read, -bias + 0.0)));
        match pairs.min_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs())) {
            Some((read, bias)) => {
                let units = [(*read, *bias), (-read, -bias + 0.0)];
                let units = units.map(|(read, bias)| Emptier { read, bias, adds: -read }).to_vec();
                Emptying { units, left: exactly(-read * bias) }
            }
            None => Emptying { units: plain, left: Rat::ZERO },
        }
    }

    /// The weight, 1 or -1, and the bias of the units of gates that are written into a register, and read it alone.
    fn units_alone(&self, slot: usize, register: usize) -> Vec<(f64, f64)> {
        let gates = self.layout.writes[slot].get(&register).into_iter().flat_map(|addition| addition.terms.keys());
        let mut units = Vec::new();
        for atom in gates {
            let Source::Gate(arguments) = &self.layout.atoms[*atom].source else { continue };
            for (argument, (hinges, _)) in arguments.iter().zip(&self.gates[*atom]) {
                let Some(weight) = self.layout.alone(argument, slot, register) else { continue };
                let constant = self.constants.of(argument, slot, self.layout).to_f64();
                units.extend(hinges.units.iter().map(|unit| {
                    let (read, bias) =
                        if unit.right { (weight, constant - unit.knot) } else { (-weight, unit.knot - constant) };
                    (read, self.machine.precision.round(bias) + 0.0)
                }));
            }
        }
        units
    }

    /// 1 or -1 if what a register holds is never of the other sign, as computed; else 0.
    fn sign(&self, content: &Form) -> i32 {
        let Some((atom, scale)) = content.single() else { return 0 };
        let of_range = |range: Interval| match (range.lo() >= 0.0, range.hi() <= 0.0) {
            (true, _) => 1,
            (_, true) => -1,
            _ => 0,
        };
        let own = match &self.layout.atoms[atom].source {
            Source::Gate(_) => {
                let slopes = || {
                    let gates = self.gates[atom].iter();
                    gates.flat_map(|(hinges, sign)| hinges.units.iter().map(move |unit| unit.slope * sign))
                };
                i32::from(slopes().all(|slope| slope >= 0.0)) - i32::from(slopes().all(|slope| slope <= 0.0))
            }
            // What is exact is of its own sign.
            Source::Input(_, middle) => {
                let wire = &self.graph.wires[self.layout.atoms[atom].wire];
                if wire.integer && middle.is_zero() { of_range(wire.range) } else { 0 }
            }
            Source::Position(wire) => of_range(self.graph.wires[*wire].range),
            Source::Head { .. } => 0,
        };
        if scale.is_negative() { -own } else { own }
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
        if let Kind::Exchange { .. } = self.graph.wires[wire].kind {
            return 2;
        }
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
