//! Numbers that are not rounded: multiples of a small power of two, not too large, whose sums and products are numbers
//! of the format.

use super::Analyst;
use super::reading::Reading;
use crate::construct::circuit::form::Form;
use crate::construct::circuit::hinges::Hinges;
use crate::construct::circuit::layout::middle;
use crate::exact::Rat;
use crate::interval::{Interval, Up};
use crate::network::Precision;

impl Analyst<'_> {
    /// Multiples of `2^-12` below this are numbers of the format, and so are their partial sums.
    pub(super) fn exact_reach(&self) -> f64 {
        2_f64.powi(-14) / self.machine.precision.unit()
    }

    /// True if a register that holds a row, and a number, holds multiples of a small power of two, exactly: sums and
    /// products of such numbers are not rounded.
    pub(super) fn is_exact(&self, row: &Form, left: &Rat) -> bool {
        self.machine.housing.is_none()
            && is_dyadic(left)
            && row.terms.iter().all(|(atom, c)| self.exact[*atom] && is_dyadic(c))
            && self.size(row) + Up::from(left) < self.exact_reach()
    }

    /// The same for what a register holds before a slot.
    pub(super) fn holds_exactly(&self, slot: usize, register: usize) -> bool {
        let lost = self.lost[slot].get(register).copied().unwrap_or_default();
        let row = self.layout.before[slot].get(register);
        lost == 0.0 && row.is_none_or(|row| self.is_exact(row, &self.constants.left(slot, register)))
    }

    /// True if a form is read exactly: from registers that are exact, with weights that are.
    pub(super) fn reads_exactly(&self, form: &Form, slot: usize) -> bool {
        let coordinates = self.layout.coordinates(&self.layout.lower(form), slot);
        let none = self.machine.housing.is_none();
        let mut registers = coordinates.iter().enumerate();
        none && registers.all(|(register, c)| c.is_zero() || is_dyadic(c) && self.holds_exactly(slot, register))
    }

    /// True if a gate reads exact numbers and adds them up exactly.
    pub(super) fn is_exact_gate(&self, reading: &Reading, form: &Form, slot: usize, hinges: &Hinges) -> bool {
        let dyadic = |x: f64| Rat::from_f64(x).is_some_and(|x| is_dyadic(&x));
        let ends = [reading.range.lo(), reading.range.hi()].map(|end| hinges.active(end).size());
        let small = ends[0].max(ends[1]) + reading.all() + Up::from(hinges.base) < self.exact_reach();
        let no_error = self.machine.housing.is_none() && reading.value.sup() == 0.0 && reading.lost == 0.0;
        small
            && no_error
            && is_dyadic(&reading.constant)
            && dyadic(hinges.base)
            && self.reads_exactly(form, slot)
            && hinges.units.iter().all(|unit| dyadic(unit.knot) && dyadic(unit.slope))
    }

    /// One over a power of two that all products of two of these, as read, are multiples of: 1 for integers.
    pub(super) fn grain(&self, forms: &[&Form], slot: usize) -> f64 {
        let integer = |form: &Form| {
            let coordinates = self.layout.coordinates(&self.layout.lower(form), slot);
            let whole = |row: &Form| {
                let known = |atom: usize| self.graph.wires[self.layout.atoms[atom].wire].integer;
                row.terms.iter().all(|(atom, c)| c.is_int() && known(*atom))
            };
            let rows = self.layout.before[slot].iter().zip(&self.constants.left[slot]);
            coordinates
                .iter()
                .zip(rows)
                .all(|(c, (row, left))| c.is_zero() || c.is_int() && left.is_int() && whole(row))
        };
        if forms.iter().all(|form| integer(form)) { 1.0 } else { 4096.0 }
    }
}

/// True if a number is a multiple of 1/64, and no larger than doubles hold such numbers.
pub(super) fn is_dyadic(x: &Rat) -> bool {
    (x * &Rat::from(64)).is_int() && Up::from(x) < 2_f64.powi(40)
}

/// True if a product with it is exact.
pub(super) fn is_power_of_two(x: &Rat) -> bool {
    let near = x.to_f64();
    near.is_normal() && near.to_bits() & ((1 << 52) - 1) == 0 && Rat::from_f64(near).is_some_and(|near| near == *x)
}

/// True if a double is a number of the format.
#[expect(clippy::float_cmp, reason = "equality is what is asked for")]
fn is_number_of(x: f64, precision: Precision) -> bool {
    precision.round(x) == x
}

/// True if `a - b` is a number of the format.
pub(super) fn is_difference(a: f64, b: f64, precision: Precision) -> bool {
    let difference = a - b;
    // The rounding of the difference itself, without rounding.
    let back = difference - a;
    let rest = (a - (difference - back)) - (b + back);
    rest == 0.0 && is_number_of(difference, precision)
}

/// True if the middle of a range is a number of every format.
pub(super) fn is_centre(range: Interval) -> bool {
    let middle = middle(range);
    let near = Precision::F32.round(middle.to_f64());
    Rat::from_f64(near).is_some_and(|near| near == middle)
}
