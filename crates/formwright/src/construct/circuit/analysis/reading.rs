//! A number that is read from registers: `Σ_p c_p z_p + c`, what it is off by, and what reading it loses.
//!
//! What registers have lost is known in absolute terms. Of one register that holds one atom and nothing else it is known better: it was rounded
//! so many times, by `u` relative to what it holds.

use super::exact::is_power_of_two;
use super::{Analyst, Machine};
use crate::construct::circuit::form::Form;
use crate::construct::circuit::profile::Profile;
use crate::exact::Rat;
use crate::interval::{Interval, Up};

/// The analysis of a number that is read from registers.
pub(super) struct Reading {
    /// Its range.
    pub range: Interval,
    /// The error of the atoms that it is made of.
    pub value: Profile,
    /// The absolute loss of the registers.
    pub lost: Up,
    /// How often the only register was rounded, if there is only one, with one atom in it; and what it has lost besides.
    alone: Option<(Up, Up)>,
    /// The loss of adding up because every register is read twice, in a host.
    pub housed: Up,
    /// The loss of reading a constant from a pin, relative to it.
    pub pinned: Up,
    /// How far the factor of all that is read may be from 1, in a host.
    factor: Up,
    /// A constant beside the registers' sum.
    pub constant: Rat,
    /// An enclosure of it.
    pub centre: Interval,
    /// `Σ |c_p| |z_p|` at most.
    pub size: Up,
    /// The number of registers.
    pub count: usize,
    /// True if it is one register times a power of two: nothing is lost before something is added.
    pub single: bool,
}

/// Bounds of a number that is read, where it is one of some values.
#[derive(Clone, Copy)]
pub(super) struct Here {
    /// The error of the atoms.
    pub atoms: Up,
    /// `Σ |c_p| |z_p|`.
    pub size: Up,
    /// The loss of the registers.
    pub lost: Up,
}

impl Here {
    /// The error before it is read: of the atoms, and of the registers.
    pub fn error(self) -> Up {
        self.atoms + self.lost
    }
}

impl Reading {
    /// `|c|`.
    pub fn offset(&self) -> Up {
        self.centre.into()
    }

    /// The largest term that the sum has: registers and constant.
    pub fn all(&self) -> Up {
        self.size + self.offset()
    }

    /// Bounds that hold where the number is one of these.
    pub fn at(&self, values: Interval, machine: Machine) -> Here {
        let atoms = self.value.over(values);
        let Some((times, fixed)) = self.alone else { return Here { atoms, size: self.size, lost: self.lost } };
        let size = Up::from(values - self.centre) + atoms;
        Here { atoms, size, lost: times * machine.unit() * size + fixed }
    }

    /// The loss of the registers.
    pub fn lost(&self, values: Interval, machine: Machine) -> Up {
        self.at(values, machine).lost
    }

    /// The most that the registers have lost and the sum loses.
    pub fn rounding(&self, machine: Machine) -> Up {
        self.summed(self.range, self.at(self.range, machine), machine)
    }

    fn summed(&self, values: Interval, here: Here, machine: Machine) -> Up {
        let lost = here.lost + machine.gamma(self.count + 2) * here.size + self.in_host();
        // What is read may be the constant too, or not.
        let read = Up::from(values - self.centre).max(if self.pinned == 0.0 { Up::ZERO } else { values.into() });
        lost + self.factor * (read + here.atoms + lost)
    }

    /// The same for who reads no constant, such as the values of heads.
    pub fn without_constant(self) -> Self {
        Self { pinned: Up::ZERO, ..self }
    }

    /// The loss that a host adds by adding up, and by reading the constant.
    pub fn in_host(&self) -> Up {
        self.housed + self.pinned * self.offset()
    }

    /// The error of the linear part, as the sum is computed.
    pub fn total(&self, machine: Machine) -> Profile {
        let summed = |cell| {
            let here = self.at(cell, machine);
            (here.atoms, self.summed(cell, here, machine))
        };
        if self.alone.is_none() {
            return self.value.plus(|cell| summed(cell).1);
        }
        Profile::new(self.range, |cell| {
            let (atoms, lost) = summed(cell);
            atoms + lost
        })
    }
}

impl Analyst<'_> {
    /// Analyses a form over wires that is read in a slot.
    pub(super) fn read(&self, form: &Form, slot: usize) -> Reading {
        let lowered = self.layout.lower(form);
        let coordinates = self.layout.coordinates(&lowered, slot);
        let rows = &self.layout.before[slot];
        let used: Vec<usize> = (0..rows.len()).filter(|p| !coordinates[*p].is_zero()).collect();
        let weight = |p: usize| Up::from(&coordinates[p]);
        let reads = |p: usize| {
            let housed = self.housed(slot, p, used.len());
            self.lost[slot][p] + housed.relative * self.held(slot, p) + housed.absolute
        };
        let by_register: Up = used.iter().map(|p| weight(*p) * reads(*p)).sum();
        let shared = self.shared(&lowered, &coordinates, &used, slot);
        let alone = match used[..] {
            [p] if rows[p].terms.len() == 1 && shared == 0.0 => {
                let housed = self.housed(slot, p, 1);
                let times = self.more_often(self.times[slot][p], housed.relative);
                let fixed = weight(p) * (self.fixed[slot][p] + housed.absolute);
                Some((times, fixed)).filter(|(times, _)| times.is_finite())
            }
            _ => None,
        };
        let size: Up = used.iter().map(|p| weight(*p) * self.held(slot, *p)).sum();
        let constant = self.constants.of(&lowered, slot, self.layout);
        let single = matches!(used[..], [p] if is_power_of_two(&coordinates[p]));
        let reading = Reading {
            range: self.graph.range(form),
            value: self.form_error(form),
            lost: by_register + shared,
            alone,
            housed: used.iter().map(|p| weight(*p) * self.housed(slot, *p, used.len()).summed).sum(),
            pinned: self.housed_constant(used.len()),
            factor: self.factor(),
            centre: Interval::from(&constant),
            constant,
            size,
            // In a host every register is read twice, and so is the pin.
            count: if self.machine.housing.is_some() { 2 * (used.len() + 1) } else { used.len() },
            single,
        };
        self.note_size(reading.all());
        reading
    }

    /// An atom that several registers share was rounded in each of them: what that adds to what it loses inside.
    fn shared(&self, lowered: &Form, coordinates: &[Rat], used: &[usize], slot: usize) -> Up {
        let rows = &self.layout.before[slot];
        let atoms = lowered.terms.keys().chain(used.iter().flat_map(|p| rows[*p].terms.keys()));
        let more = |atom: &usize| {
            let parts = used.iter().filter_map(|p| Some((&coordinates[*p] * rows[*p].terms.get(atom)?).abs()));
            let own = lowered.terms.get(atom).map_or(Rat::ZERO, Rat::abs);
            Up::from(&(parts.sum::<Rat>() - own).max(Rat::ZERO))
        };
        atoms.map(|atom| if self.inner[*atom] == 0.0 { Up::ZERO } else { more(atom) * self.inner[*atom] }).sum()
    }
}
