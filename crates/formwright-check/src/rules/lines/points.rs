//! Rule *points*: a gate whose argument takes whole values alone stands for a function from its values there.
//!
//! ```text
//! |P(t̂)/c - (f(t) + κ)| ≤ sup|P'| / |c| · e + |P(t)/c - f(t) - κ|,    at every whole t; the slope within e of t
//! ```
//!
//! Between the points `P` may be anything. Whole are inputs, positions and values that are; forms over whole wires with whole factors;
//! products, selections and gathers of what is whole; and sums over so many tokens as the network has.
//!
//! Where all registers that are read hold whole numbers to the bit, and weights are multiples of some `2^q`, rule *exact
//! sums* says that nothing is rounded.

use std::collections::BTreeMap;

use super::layer::{Gate, Group, Part, Written, shared, widened};
use super::normal::{Polynomial, Things};
use super::profile::{Cell, Profile, up};
use super::shared::Units;
use super::teeth::is_tooth;
use super::{Form, Known, Prover, Register, Stop, declined, line};
use crate::kernel::function::{Word, evaluate};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::sum::Row;
use crate::read::certificate::{Layer, Made, Mask, Meanings, Pooled, Wire};

/// The most points of an argument.
const MOST_POINTS: usize = 1 << 13;

/// All values of forms, found by their normal forms, where inputs are whole.
#[derive(Default)]
pub(super) struct Bounds {
    known: Vec<(Form, Range)>,
}

impl Bounds {
    /// Adds some more tokens of every wire, of the arguments of wires by values, and of registers that hold several.
    pub(super) fn add(&mut self, hints: &Meanings, things: &Things, wires: &[Polynomial]) -> Result<(), Stop> {
        let all = (0..hints.wires.len()).map(Form::of);
        let read = hints
            .wires
            .iter()
            .filter_map(|wire| if let Wire::Points { of, .. } = wire { Some(of.clone()) } else { None });
        let held = hints.layers.iter().flat_map(|layer| &layer.holds).map(|(_, form)| form);
        let held = held.filter(|form| form.terms.len() > 1).cloned();
        for (number, form) in all.chain(read).chain(held).enumerate() {
            let normal = Things::form(&form, wires).map_err(declined)?;
            let bounds = Things::as_number(&normal).map(|x| (x.clone(), x)).or_else(|| things.bounds(&normal));
            let anything = Range::around_zero(&Dyadic::power_of_two(1 << 13));
            let range = bounds.map_or(anything, |(lo, hi)| lo.range().hull(&hi.range()));
            match self.known.get_mut(number) {
                Some((_, known)) => *known = known.hull(&range),
                None => self.known.push((form, range)),
            }
        }
        Ok(())
    }

    /// All values of a form of several wires.
    pub(super) fn of(&self, form: &Form) -> Option<Range> {
        let known = self.known.iter().filter(|_| form.terms.len() > 1).find(|(known, _)| known == form);
        known.map(|(_, range)| range.clone())
    }

    /// A range, and no more than is known of its form.
    pub(super) fn meet(&self, form: &Form, range: &Range) -> Range {
        let known = self.known.iter().find(|(known, _)| known == form);
        known.map_or_else(|| range.clone(), |(_, known)| range.clone().meet(known))
    }
}

/// The wires that are whole.
pub(super) struct Whole {
    /// One flag for each wire: true if it is whole.
    pub(super) wires: Vec<bool>,
    /// The error of selections where they are off.
    pub(super) off: BTreeMap<usize, Dyadic>,
    /// The values of forms.
    pub(super) bounds: Bounds,
}

/// True if all values of a form are whole.
pub(super) fn is_whole(form: &Form, wires: &[bool]) -> bool {
    let whole = |(wire, factor): (&usize, &Ratio)| factor.is_whole() && wires.get(*wire).is_some_and(|whole| *whole);
    form.offset.is_whole() && form.terms.iter().all(whole)
}

/// The number of tokens that a mask shows, if it is the same for all of so many.
fn shown(mask: &Mask, tokens: usize) -> Option<usize> {
    let count = |t: usize| (0..tokens).filter(|k| mask.sees(t, *k)).count();
    let first = count(0);
    (1..tokens).all(|t| count(t) == first).then_some(first)
}

impl Whole {
    /// The wires that are whole, where inputs are or are not, and for so many tokens if that is one number.
    pub(super) fn of(hints: &Meanings, inputs: bool, tokens: Option<usize>, bounds: Bounds) -> Self {
        let mut wires: Vec<bool> = Vec::new();
        for wire in &hints.wires {
            let shares = |scale: &Ratio, count: Option<usize>| {
                let share = count.and_then(|count| scale.over(&Ratio::whole(count)));
                share.is_some_and(|share| share.is_whole())
            };
            let whole = match wire {
                Wire::Input(_) => inputs,
                Wire::Position(values) | Wire::Points { values, .. } => values.iter().all(Ratio::is_whole),
                Wire::Product(a, b) | Wire::Select { condition: a, value: b } => {
                    is_whole(a, &wires) && is_whole(b, &wires)
                }
                Wire::Exchange { own, other, .. } => is_whole(own, &wires) && is_whole(other, &wires),
                Wire::Mean { scale, of } => shares(scale, tokens) && is_whole(of, &wires),
                Wire::Seen { mask, pooled: Pooled::Mean, scale, of } => {
                    inputs && shares(scale, tokens.and_then(|n| shown(mask, n))) && is_whole(of, &wires)
                }
                Wire::Seen { scale, of, .. } => scale.is_whole() && is_whole(of, &wires),
                Wire::Gather { of, .. } | Wire::Cases(of) => is_whole(of, &wires),
                Wire::Curve { .. } | Wire::Teeth { .. } | Wire::Hub { .. } | Wire::Attend { .. } => false,
            };
            wires.push(whole);
        }
        Self { wires, off: BTreeMap::new(), bounds }
    }
}

impl Prover<'_> {
    /// All values of a form, if they are whole and not too many.
    pub(super) fn points_of(&self, form: &Form) -> Result<Option<Vec<Dyadic>>, Stop> {
        if form.terms.is_empty() || !is_whole(form, &self.whole.wires) {
            return Ok(None);
        }
        let range = self.whole.bounds.meet(form, &self.range(form)?);
        let (mut point, last) = (range.lo.up(0), range.hi.down(0));
        let mut points = Vec::new();
        while point <= last {
            if points.len() >= MOST_POINTS {
                return Ok(None);
            }
            points.push(point.clone());
            point = &point + &Dyadic::ONE;
        }
        Ok(Some(points))
    }

    /// True if a form is 0 or 1.
    pub(super) fn is_condition(&self, form: &Form) -> Result<bool, Stop> {
        let range = self.range(form)?;
        Ok(is_whole(form, &self.whole.wires) && !range.lo.is_negative() && range.hi <= Dyadic::ONE)
    }

    /// A wire whose argument is whole, from its values at whole numbers.
    pub(super) fn on_points(
        &mut self,
        groups: &[Group],
        gate: &Gate<'_>,
        points: &[Dyadic],
        kappa: &Ratio,
        value: impl Fn(&Dyadic) -> Result<Range, Stop>,
    ) -> Result<Known, Stop> {
        let [part] = gate.parts.as_slice() else { return Err(line("values of several arguments")) };
        let (factor, kappa) = (gate.factor.range(), kappa.range());
        let mut cells = Vec::new();
        for point in points {
            let values = value(point)?;
            let meant = &factor * &(&values + &kappa);
            let (apart, lost) = self.at_point(groups, gate, part, point, &meant)?;
            let error = shared(&(&apart.size() + &lost), &factor.absolute().lo)?;
            cells.push(Cell { argument: Range::point(point.clone()), values, error });
        }
        Ok(Known::of_cells(cells))
    }

    /// The points of the argument of a wire by values, and what is added besides the wire.
    pub(super) fn listed_points(&self, groups: &[Group], made: &Made, of: &Form) -> Result<(Vec<Dyadic>, Ratio), Stop> {
        let wire = made.wire;
        let rest = made.adds.minus(&Form::of(wire));
        let named = Self::sources(groups, made)?;
        if !rest.terms.is_empty() || !matches!(named.as_slice(), [(_, form)] if *form == of) {
            return Err(line(format!("wire {wire}: values are added with a number, and read their argument")));
        }
        let points = self.points_of(of)?;
        let points = points.ok_or_else(|| line(format!("wire {wire}: its argument is not shown to be whole")))?;
        Ok((points, rest.offset))
    }

    /// The groups of units that several wires by values, or several curves, share in some register, with all wires that
    /// read them. What each unit does for which of them cannot be told: what is computed of such a wire is said to be
    /// what is meant, and registers have lost all that they are off by.
    pub(super) fn share_groups<'m>(
        &mut self,
        groups: &[Group],
        hint: &'m Layer,
        written: &[Written],
    ) -> Result<Vec<(usize, Vec<&'m Made>)>, Stop> {
        self.shared.clear();
        let mut found = Vec::new();
        for at in 0..groups.len() {
            let mut readers: Vec<&Made> = Vec::new();
            for made in &hint.made {
                if Self::sources(groups, made)?.iter().any(|(source, _)| *source == at) {
                    readers.push(made);
                }
            }
            let listed = |made: &&Made| matches!(self.hints.wires.get(made.wire), Some(Wire::Points { .. }));
            let bends = |made: &&Made| matches!(self.hints.wires.get(made.wire), Some(Wire::Curve { function, .. }) if !is_tooth(function));
            let held = |register: &Written| {
                readers.iter().filter(|made| !register.form.factor(made.wire).is_zero()).count() > 1
            };
            let alike = readers.iter().all(listed) || readers.iter().all(bends);
            if alike && written.iter().any(held) {
                self.shared.push(at);
                found.push((at, readers));
            }
        }
        Ok(found)
    }

    /// Makes the wires that share units, and charges registers with what they are off by.
    pub(super) fn together(
        &mut self,
        groups: &[Group],
        units: &[Row],
        gains: &[Row],
        (together, written): (&[(usize, Vec<&Made>)], &[Written]),
        lost: &mut [Dyadic],
    ) -> Result<(), Stop> {
        let hints = self.hints;
        for (_, readers) in together {
            if readers.iter().any(|made| matches!(hints.wires.get(made.wire), Some(Wire::Curve { .. }))) {
                self.curves_together(Units { groups, rows: units, gains }, (readers, written), lost)?;
                continue;
            }
            let mut known: Vec<(&Made, Vec<Dyadic>, Vec<Range>, Ratio)> = Vec::new();
            for made in readers {
                let Some(Wire::Points { of, from, values }) = hints.wires.get(made.wire) else {
                    return Err(line("units that are shared with another kind of gate"));
                };
                let (points, kappa) = self.listed_points(groups, made, of)?;
                let at = Self::listed(*from, values);
                let values = points.iter().map(at).collect::<Result<Vec<Range>, Stop>>()?;
                let range = values.iter().cloned().reduce(|a, b| a.hull(&b)).unwrap_or(Range::ZERO);
                let error = Profile::Constant(Dyadic::ZERO);
                self.make(made.wire, Known { range, error, most: Dyadic::ZERO, tooth: Dyadic::ZERO })?;
                if !written.iter().any(|register| !register.form.factor(made.wire).is_zero()) {
                    return Err(line(format!("wire {} is made, and no register holds it", made.wire)));
                }
                known.push((made, points, values, kappa));
            }
            for (at, register) in written.iter().enumerate() {
                let held: Vec<_> =
                    known.iter().filter(|(made, ..)| !register.form.factor(made.wire).is_zero()).collect();
                let Some((first, points, ..)) = held.first() else { continue };
                let parts = Self::parts(groups, units, gains, first, register)?;
                let company = self.company(groups, units, gains, &parts, register)?;
                let gate = Gate { made: first, factor: Ratio::ONE, parts, company, exact: register.exact };
                let [part] = gate.parts.as_slice() else { return Err(line("values of several arguments")) };
                let mut most = Dyadic::ZERO;
                for (number, point) in points.iter().enumerate() {
                    let mut meant = Range::ZERO;
                    for (made, _, values, kappa) in &held {
                        let value = values.get(number).ok_or_else(|| line("values of other points"))?;
                        let factor = register.form.factor(made.wire).range();
                        meant = &meant + &(&factor * &(value + &kappa.range()));
                    }
                    let (apart, off) = self.at_point(groups, &gate, part, point, &meant)?;
                    let all = &apart.size() + &off;
                    most = most.max(&all + &(&self.gate_factor() * &(&meant.size() + &all)));
                }
                if let Some(lost) = lost.get_mut(at) {
                    *lost = up(&(&*lost + &most));
                }
            }
        }
        Ok(())
    }

    /// How far units are from what is meant at a whole number, and what they lose there by the error of their argument and by rounding.
    fn at_point(
        &mut self,
        groups: &[Group],
        gate: &Gate<'_>,
        part: &Part,
        point: &Dyadic,
        meant: &Range,
    ) -> Result<(Range, Dyadic), Stop> {
        self.spend(8)?;
        let group = groups.get(part.group).ok_or_else(|| line("a group that does not exist"))?;
        let argument = group.argument.as_ref().ok_or_else(|| line("values without an argument"))?;
        let here = Range::point(point.clone());
        let error = &self.error_over(&argument.form, &here)? + &argument.off;
        let reached = widened(&here, &error);
        let company = self.beside(groups, gate, part)?;
        let over = widened(&reached, &group.slack);
        let inside = self.inside(group, (&part.function, &over), company);
        let inside = if gate.exact { Dyadic::ZERO } else { inside };
        let moved = &part.gate.steepest(&reached) * &error;
        Ok((&Range::point(part.gate.value(point)) - meant, up(&(&moved + &inside))))
    }

    /// A curve, if its argument is whole.
    pub(super) fn curve_on_points(
        &mut self,
        groups: &[Group],
        gate: &Gate<'_>,
        (of, function): (&Form, &[Word]),
        kappa: &Ratio,
    ) -> Result<Option<Known>, Stop> {
        let Some(points) = self.points_of(of)? else { return Ok(None) };
        let value = |point: &Dyadic| {
            let here = evaluate(function, &Range::point(point.clone())).map(|jet| jet.value);
            here.ok_or_else(|| declined(format!("a curve is not shown to be defined at {point}")))
        };
        self.on_points(groups, gate, &points, kappa, value).map(Some)
    }

    /// A product of whole numbers, if `u² - v² = 4ab` for what its units read: `u²/4` and `v²/4` at whole `u` and `v`.
    pub(super) fn product_on_points(
        &mut self,
        groups: &[Group],
        gate: &Gate<'_>,
        [a, b]: [&Form; 2],
        kappa: &Ratio,
        read: &[&Form],
    ) -> Result<Option<Known>, Stop> {
        let [u, v] = read else { return Ok(None) };
        let four = super::teeth::Quadratic::left([&a.scaled(&Ratio::whole(4)), b], &[*u, *v]);
        let (Some(of_u), Some(of_v)) = (self.points_of(u)?, self.points_of(v)?) else { return Ok(None) };
        if four != Some(Form::zero()) {
            return Ok(None);
        }
        let factor = gate.factor.range();
        let quarter = Range::point(Dyadic::power_of_two(-2));
        let (mut apart, mut lost) = (-&(&factor * &kappa.range()), Dyadic::ZERO);
        for (at, points) in [of_u, of_v].iter().enumerate() {
            let part = gate.parts.get(at).ok_or_else(|| line("a product without a part"))?;
            let factor = if at == 0 { &factor * &quarter } else { -&(&factor * &quarter) };
            let (mut all, mut most) = (None::<Range>, Dyadic::ZERO);
            for point in points {
                let meant = &factor * &Range::point(point * point);
                let (here, lost) = self.at_point(groups, gate, part, point, &meant)?;
                all = Some(all.map_or(here.clone(), |all| all.hull(&here)));
                most = most.max(lost);
            }
            apart = &apart + &all.unwrap_or(Range::ZERO);
            lost = &lost + &most;
        }
        let most = up(&shared(&(&apart.size() + &lost), &factor.absolute().lo)?);
        let range = (&self.range(a)? * &self.range(b)?).tidy();
        Ok(Some(Known { range, error: Profile::Constant(most.clone()), most, tooth: Dyadic::ZERO }))
    }

    /// A form over whole wires is a multiple of this power of two, if it is one of any.
    fn quantum(&self, form: &Form) -> Option<i64> {
        let mut least = i64::MAX;
        for number in form.terms.values().chain([&form.offset]) {
            let range = number.range();
            if !range.is_point() {
                return None;
            }
            least = least.min(range.lo.quantum().unwrap_or(i64::MAX));
        }
        let whole = |wire: &usize| self.whole.wires.get(*wire).is_some_and(|whole| *whole);
        form.terms.keys().all(whole).then_some(least)
    }

    /// A power of two that the register's value is a multiple of, to the bit.
    fn exact_register(&self, register: &Register) -> Option<i64> {
        let off = &register.lost + &self.error(&register.form).ok()?;
        self.quantum(&register.form).filter(|_| off.is_zero())
    }

    /// Rule *exact sums*, for what is read by a row, and its bias: all partial sums are multiples of this power of two, and numbers of the
    /// format.
    pub(super) fn exact_row(&self, weights: &[(usize, Dyadic)], others: &[&Dyadic], size: &Dyadic) -> Option<i64> {
        if self.is_housed() {
            return None;
        }
        let mut least = i64::MAX;
        for (place, weight) in weights {
            let register = self.exact_register(self.registers.get(*place)?)?;
            least = least.min(weight.quantum().map_or(i64::MAX, |weight| weight.saturating_add(register)));
        }
        for other in others {
            least = least.min(other.quantum().unwrap_or(i64::MAX));
        }
        self.exact_sum(least, size)
    }

    fn exact_sum(&self, least: i64, size: &Dyadic) -> Option<i64> {
        let fits =
            size.is_zero() || (least >= self.format.least && size.top() <= least.saturating_add(self.format.digits));
        fits.then_some(least)
    }

    /// True if everything that a layer adds to a register is added exactly.
    pub(super) fn adds_exactly(&self, groups: &[Group], units: &[Row], row: &Row, before: &Register) -> bool {
        let Some(mut least) = self.exact_register(before).filter(|_| !self.is_housed()) else { return false };
        let Ok(mut sum) = self.held(before) else { return false };
        for group in groups {
            for (number, _) in &group.units {
                let weight = row.weights.iter().find(|(unit, _)| unit == number).map(|(_, weight)| weight);
                let (Some(weight), Some(unit)) = (weight, units.get(*number)) else { continue };
                let Some(exact) = group.exact else { return false };
                least = least.min(weight.quantum().map_or(i64::MAX, |weight| weight.saturating_add(exact)));
                sum = &sum + &(&weight.abs() * &(&group.reading.size + &unit.bias.abs()));
            }
        }
        self.exact_sum(least, &sum).is_some()
    }

    /// Values of a wire at whole numbers, of which the first belongs to `from`.
    pub(super) fn listed(from: i64, values: &[Ratio]) -> impl Fn(&Dyadic) -> Result<Range, Stop> + '_ {
        move |point: &Dyadic| {
            let value = super::normal::value_at(&Ratio::of(point), from, values).map(|value| value.range());
            value.ok_or_else(|| declined(format!("there is no value at {point}, which is not excluded")))
        }
    }
}

/// The forms of a selection where its condition holds, and where it does not: read besides the value, and added besides
/// the wire; and the share of the condition in the latter.
pub(super) struct Sides {
    pub(super) cases: Vec<(bool, Ratio, Ratio)>,
    pub(super) share: Ratio,
}

impl Prover<'_> {
    /// The sides of a selection by a condition that is 0 or 1 at every token: `value + α + β · condition` is read, and `γ + δ · condition`
    /// added.
    pub(super) fn sides(&self, condition: &Form, read: &Form, added: &Form) -> Result<Option<Sides>, Stop> {
        if !self.is_condition(condition)? {
            return Ok(None);
        }
        let linear = |form: &Form| Form { offset: Ratio::ZERO, terms: form.terms.clone() };
        let share = |form: &Form| {
            let none = form.terms.is_empty().then_some(Ratio::ZERO);
            none.or_else(|| linear(form).multiple_of(&linear(condition)))
        };
        let (Some(beta), Some(delta)) = (share(read), share(added)) else { return Ok(None) };
        let side = |holds: bool| {
            let value = if holds { Ratio::ONE } else { Ratio::ZERO }.minus(&condition.offset);
            let at = |form: &Form, factor: &Ratio| form.offset.plus(&factor.times(&value));
            (holds, at(read, &beta), at(added, &delta))
        };
        Ok(Some(Sides { cases: vec![side(true), side(false)], share: delta }))
    }
}
