//! Feed-forward layers: hidden units that read one number are a piecewise linear function of it, exactly.
//!
//! Units whose rows are equal up to sign read the same number `τ`. By the lines, `τ = T̂ + shift`, where `T̂` is the
//! argument `T` over computed wires, up to what registers have lost and what rounded weights leave. So the units add
//! `P(T̂ + …)` to a register, `P` a [`Piecewise`]: a curve (`curve.rs`), part of a product (`product.rs`), or what takes a
//! register away (`clearing.rs`). A sum of `m` terms is off by `γ_m Σ|terms|`: what units add to a wire is its own loss,
//! what was there before the register's.

use super::clearing::{clearing_units, is_clearing, reads_alone};
use super::profile::up;
use super::{Form, Known, Prover, Reading, Register, Stop, declined, line};
use crate::kernel::function::Word;
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::piecewise::{Active, Piecewise, Unit};
use crate::kernel::sum::Row;
use crate::read::certificate::{Layer, Made, Source, Wire};

/// Units that read the same number.
pub(super) struct Group {
    /// The number: a row of weights.
    pub(super) weights: Vec<(usize, Dyadic)>,
    /// The units, and whether each reads the number itself, or its negative.
    pub(super) units: Vec<(usize, bool)>,
    pub(super) reading: Reading,
    /// How far what a unit computes before its kink may be from the number and its bias: one beside its kink may be active.
    pub(super) slack: Dyadic,
    /// The argument that the hints name, if a gate reads it.
    pub(super) argument: Option<Argument>,
    /// All that its units compute is a multiple of this power of two, to the bit.
    pub(super) exact: Option<i64>,
}

/// The argument of a group.
#[derive(Clone)]
pub(super) struct Argument {
    pub(super) form: Form,
    /// `τ - T`, a number.
    pub(super) shift: Dyadic,
    /// How far `τ - shift` may be from `T` over computed wires.
    pub(super) off: Dyadic,
}

/// A gate's units in one register.
pub(super) struct Part {
    /// The sum of all units there, as a function.
    pub(super) function: Piecewise,
    /// The same without what clears the register.
    pub(super) gate: Piecewise,
    /// The units of which the latter is made.
    pub(super) units: Vec<Unit>,
    pub(super) group: usize,
}

/// The addition of a layer to one register.
pub(super) struct Written {
    pub(super) place: usize,
    pub(super) before: Register,
    pub(super) form: Form,
    pub(super) cleared: bool,
    /// The number that is left of what was there, if it is cleared.
    pub(super) left: Dyadic,
    /// True if nothing is rounded.
    pub(super) exact: bool,
}

/// How a gate that reads a register takes away what was there.
struct Cleared<'w> {
    /// By units without bias; otherwise the gate is said to be all of what was there with what its units add.
    plainly: bool,
    /// The number that is left.
    left: &'w Dyadic,
}

impl Prover<'_> {
    /// Proves the lines behind a feed-forward layer.
    pub(super) fn feed_forward(&mut self, units: &[Row], gains: &[Row], hint: &Layer) -> Result<(), Stop> {
        self.registers_exist(hint)?;
        let uneven = self.units_write(units, gains)?;
        let mut groups = self.groups(units)?;
        for made in &hint.made {
            self.name_arguments(&mut groups, made)?;
        }
        let written = self.written(&groups, units, gains, hint)?;
        let together = self.share_groups(&groups, hint, &written)?;
        let mut lost: Vec<Dyadic> = Vec::new();
        for Written { place, before, cleared, left, exact, .. } in &written {
            let loss = self.register_loss(&groups, units, gains, hint, (*place, before, *cleared))?;
            // In a host what is left has the factor of the units.
            let loss = &loss + &(&self.gate_factor() * &left.abs());
            lost.push(if *exact { Dyadic::ZERO } else { loss });
        }
        self.together(&groups, units, gains, (&together, &written), &mut lost)?;
        for made in hint.made.iter().filter(|made| !together.iter().any(|(_, all)| all.contains(made))) {
            // What is computed of a wire is what a register holds of it: one that was empty, if there is one.
            let mut first = None;
            let mut order: Vec<(usize, &Written)> = written.iter().enumerate().collect();
            order.sort_by_key(|(_, register)| !register.before.empty);
            for (at, register) in order {
                let factor = register.form.factor(made.wire);
                if factor.is_zero() {
                    continue;
                }
                let parts = Self::parts(&groups, units, gains, made, register)?;
                let company = self.company(&groups, units, gains, &parts, register)?;
                let gate = Gate { made, factor, parts, company, exact: register.exact };
                if let Some(model) = &first {
                    let more = self.differs(&groups, model, &gate)?;
                    if let Some(lost) = lost.get_mut(at) {
                        *lost = &*lost + &more;
                    }
                } else {
                    let mut known = self.gate(&groups, &gate)?;
                    if let Some(Wire::Exchange { .. }) = self.hints.wires.get(made.wire) {
                        known = Self::charged(known, made.wire, &written, &mut lost)?;
                    }
                    self.make(made.wire, known)?;
                    first = Some(gate);
                }
            }
            if first.is_none() {
                return Err(line(format!("wire {} is made, and no register holds it", made.wire)));
            }
        }
        for (Written { place, form, before, cleared, exact, .. }, lost) in written.iter().zip(&lost) {
            let sign = match gains.get(*place) {
                Some(row) => self.sign_behind(&groups, units, row, hint, (*place, before, *cleared))?,
                None => None,
            };
            let sign = sign.map(|(sign, astray)| (sign, if *exact { Dyadic::ZERO } else { astray }));
            let empty = *cleared && *form == Form::zero();
            let rule = if *cleared { "clearing" } else { "units" };
            self.hold(
                *place,
                Register { form: form.clone(), lost: lost.clone(), sign, empty, stored: None, values: None },
                rule,
            )?;
        }
        self.wrote(&uneven);
        Ok(())
    }

    /// The units by what they read.
    fn groups(&mut self, units: &[Row]) -> Result<Vec<Group>, Stop> {
        let mut groups: Vec<Group> = Vec::new();
        for (number, row) in units.iter().enumerate() {
            // What fills up a host.
            if row.is_zero() && self.is_housed() {
                continue;
            }
            if row.weights.is_empty() {
                return Err(declined(format!("unit {number} reads nothing")));
            }
            let same = |group: &Group| {
                let signs: Option<Vec<bool>> = (group.weights.len() == row.weights.len()).then(|| {
                    let pairs = group.weights.iter().zip(&row.weights);
                    let alike = |((i, a), (j, b)): ((&usize, &Dyadic), (&usize, &Dyadic))| {
                        if i != j {
                            None
                        } else if a == b {
                            Some(true)
                        } else {
                            (*a == -b).then_some(false)
                        }
                    };
                    pairs.map(|((i, a), (j, b))| alike(((i, a), (j, b)))).collect::<Option<Vec<bool>>>()
                })?;
                let signs = signs?;
                let first = *signs.first()?;
                signs.iter().all(|sign| *sign == first).then_some(first)
            };
            let found = groups.iter().enumerate().find_map(|(at, group)| same(group).map(|sign| (at, sign)));
            let reading = self.read(&row.weights)?;
            let all = &reading.size + &row.bias.abs();
            self.note(&(&all + &all));
            // A sum of two numbers that is rounded once keeps its sign.
            let rounded =
                if reading.single { Dyadic::ZERO } else { &self.gamma(reading.count.saturating_add(1)) * &all };
            let exact = self.exact_row(&row.weights, &[&row.bias], &all);
            let slack = up(&(&rounded + &self.tiny(reading.count)));
            let slack = self.housed_unit(&reading, &row.bias).unwrap_or(slack);
            self.activated(&all)?;
            let slack = if exact.is_some() { Dyadic::ZERO } else { slack };
            if let Some((at, sign)) = found {
                if let Some(group) = groups.get_mut(at) {
                    group.exact = group.exact.and_then(|known| Some(known.min(exact?)));
                    group.units.push((number, sign));
                    group.slack = slack.max(group.slack.clone());
                }
                continue;
            }
            let (weights, units) = (row.weights.clone(), vec![(number, true)]);
            groups.push(Group { weights, units, reading, slack, argument: None, exact });
        }
        Ok(groups)
    }

    /// The groups of a gate, as it names them.
    pub(super) fn sources<'m>(groups: &[Group], made: &'m Made) -> Result<Vec<(usize, &'m Form)>, Stop> {
        let Source::Units(sources) = &made.source else { return Err(line("a head in a feed-forward layer")) };
        let mut found = Vec::new();
        for (unit, form) in sources {
            let at = groups.iter().position(|group| group.units.iter().any(|(number, _)| number == unit));
            found.push((at.ok_or_else(|| line(format!("there is no unit {unit}")))?, form));
        }
        Ok(found)
    }

    /// Gives groups the arguments that a gate names.
    fn name_arguments(&mut self, groups: &mut [Group], made: &Made) -> Result<(), Stop> {
        for (at, form) in Self::sources(groups, made)? {
            let Some(group) = groups.get_mut(at) else { continue };
            let lowered = self.lowered(form)?;
            // The number that is read, or its negative, whichever is meant.
            let first = lowered.terms.first_key_value();
            let turned = first
                .is_some_and(|(wire, factor)| group.reading.form.factor(*wire).is_negative() != factor.is_negative());
            if turned && group.argument.is_none() {
                group.weights.iter_mut().for_each(|(_, weight)| *weight = -&*weight);
                group.units.iter_mut().for_each(|(_, sign)| *sign = !*sign);
                group.reading.form = group.reading.form.scaled(&Ratio::ONE.negative());
            }
            if let Some(known) = &group.argument {
                if known.form != *form {
                    return Err(line(format!("wire {}: its units are said to read two things", made.wire)));
                }
                continue;
            }
            let (shift, rest) = self.apart(&group.reading.form, &lowered)?;
            let off = up(&(&group.reading.lost + &rest));
            group.argument = Some(Argument { form: form.clone(), shift, off });
        }
        Ok(())
    }

    /// The registers that change, and whether each is cleared: what it holds is what was there, or a number, and what is added. A number other than
    /// 0 is left by a gate that reads the register.
    fn written(&self, groups: &[Group], units: &[Row], gains: &[Row], hint: &Layer) -> Result<Vec<Written>, Stop> {
        let mut written = Vec::new();
        for (place, row) in gains.iter().enumerate() {
            let before = self.registers.get(place).cloned().ok_or_else(|| line("a register that does not exist"))?;
            let form = self.line_of(hint, place)?.unwrap_or_else(|| before.form.clone());
            if row.is_zero() && form == before.form {
                continue;
            }
            if !row.bias.is_zero() {
                return Err(line(format!("register {place} gains a bias, and no line says so")));
            }
            let mut added = Form::zero();
            for made in &hint.made {
                added = added.plus(&form.factor(made.wire), &self.lowered(&made.adds)?);
            }
            let rest = form.minus(&added);
            let cleared = rest != before.form;
            let left = if cleared { rest.offset.range() } else { Range::ZERO };
            let mut shown = !cleared;
            let mut may_leave = left == Range::ZERO;
            for (at, group) in groups.iter().enumerate().filter(|(_, group)| cleared && reads_alone(group, place)) {
                let owned = Self::owners(groups, hint, &form, at)? > 0;
                may_leave = may_leave || owned && left.is_point();
                shown = shown || owned || is_clearing(group, place, &before, units, Some(row));
            }
            if cleared && !(rest.terms.is_empty() && may_leave) {
                return Err(line(format!(
                    "register {place} does not hold what was there, or nothing, and what is added"
                )));
            }
            if !shown {
                return Err(declined(format!("register {place} is not shown to be cleared")));
            }
            let exact = self.adds_exactly(groups, units, row, &before);
            written.push(Written { place, before, form, cleared, left: left.lo, exact });
        }
        Ok(written)
    }

    /// The units of a group in one register, as functions of the argument; with what was in the register, if it is cleared, less what is left.
    fn part(at: usize, group: &Group, units: &[Row], row: &Row, cleared: Option<&Cleared<'_>>) -> Part {
        let shift = group.argument.as_ref().map_or(Dyadic::ZERO, |argument| argument.shift.clone());
        let mut found = Vec::new();
        for (number, sign) in &group.units {
            let weight = row.weights.iter().find(|(unit, _)| unit == number).map(|(_, weight)| weight);
            let (Some(weight), Some(unit)) = (weight, units.get(*number)) else { continue };
            let knot = if *sign { &-&unit.bias - &shift } else { &unit.bias - &shift };
            found.push(Unit { right: *sign, knot, weight: weight.clone(), bias: unit.bias.abs() });
        }
        let function = Piecewise::new(&found);
        let mut base = Dyadic::ZERO;
        if let Some(Cleared { plainly, left }) = cleared {
            base = -*left;
            // What clears z is -R(z) + R(-z), where z is the number that is read, or its negative.
            let upright = group.weights.iter().all(|(_, weight)| !weight.is_negative());
            for right in [true, false] {
                // On a side without such a unit the register never is. One whose weight is 0 there clears what another gate adds.
                let plain = |(number, sign): &(usize, bool)| {
                    *sign == right && units.get(*number).is_some_and(|unit| unit.bias.is_zero())
                };
                if !plainly || group.units.iter().any(plain) {
                    let weight = if right == upright { Dyadic::ONE } else { -&Dyadic::ONE };
                    found.push(Unit { right, knot: -&shift, weight, bias: Dyadic::ZERO });
                }
            }
        }
        let mut gate = Piecewise::new(&found);
        gate.base = base;
        Part { function, gate, units: found, group: at }
    }

    /// The parts of a gate in a register.
    pub(super) fn parts(
        groups: &[Group],
        units: &[Row],
        gains: &[Row],
        made: &Made,
        to: &Written,
    ) -> Result<Vec<Part>, Stop> {
        let row = gains.get(to.place).ok_or_else(|| line("a register that does not exist"))?;
        let mut parts = Vec::new();
        for (at, _) in Self::sources(groups, made)? {
            let group = groups.get(at).ok_or_else(|| line("a group that does not exist"))?;
            let plainly = is_clearing(group, to.place, &to.before, units, None);
            let cleared = Cleared { plainly, left: &to.left };
            let clears = to.cleared && reads_alone(group, to.place);
            parts.push(Self::part(at, group, units, row, clears.then_some(&cleared)));
        }
        Ok(parts)
    }

    /// The loss of a register beyond the losses of wires: its old value takes part in the sum, and so do the units that
    /// clear it. Every unit that writes there must belong to one gate, or clear it.
    fn register_loss(
        &mut self,
        groups: &[Group],
        units: &[Row],
        gains: &[Row],
        hint: &Layer,
        (place, before, cleared): (usize, &Register, bool),
    ) -> Result<Dyadic, Stop> {
        let row = gains.get(place).ok_or_else(|| line("a register that does not exist"))?;
        let form = self.line_of(hint, place)?.unwrap_or_else(|| before.form.clone());
        let mut count = usize::from(!before.empty);
        let mut sum = self.held(before)?;
        for (at, group) in groups.iter().enumerate() {
            let part = Self::part(at, group, units, row, None);
            if part.function.knots.is_empty() {
                continue;
            }
            for (number, _) in &group.units {
                let weight = row.weights.iter().find(|(unit, _)| unit == number).map(|(_, weight)| weight.abs());
                let (Some(weight), Some(unit)) = (weight, units.get(*number)) else { continue };
                sum = up(&(&sum + &(&weight * &(&group.reading.size + &unit.bias.abs()))));
            }
            let owners = Self::owners(groups, hint, &form, at)?;
            let clears = cleared && is_clearing(group, place, before, units, Some(row));
            if owners > 1 && !self.shared.contains(&at) {
                return Err(declined(format!("register {place}: two gates share their units")));
            }
            if owners == 0 && !clears {
                return Err(line(format!("units write into register {place}, and no line says why")));
            }
            let reach = self.reach(group)?;
            count = count.saturating_add(part.function.active(&reach).count);
        }
        let held = &self.held(before)? + &self.middles();
        let twice = if cleared { &held + &held } else { held };
        // What is cleared is gone to the last bit, unless something is added in the same sum.
        let alone = cleared && form == Form::zero();
        let rounded = match (before.empty, alone) {
            (true, _) => before.lost.clone(),
            (_, true) => Dyadic::ZERO,
            _ => &self.gamma(count) * &twice,
        };
        // On the side that no unit clears, what flushing has put there stays.
        let astray = before.sign.as_ref().map_or(Dyadic::ZERO, |(_, astray)| astray.clone());
        let left = if cleared { astray } else { before.lost.clone() };
        let (left, rounded) = if cleared && self.is_housed() {
            let (more, all) = self.left_in_host(before)?;
            (&left + &more, &self.gamma(if alone { 3 } else { count.saturating_add(1) }) * &all)
        } else {
            (left, rounded)
        };
        self.note(&(&sum + &sum));
        Ok(up(&(&(&left + &rounded) + &self.tiny(count))))
    }

    /// How many gates that a form holds have a group among their arguments.
    pub(super) fn owners(groups: &[Group], hint: &Layer, form: &Form, at: usize) -> Result<usize, Stop> {
        let mut owners = 0_usize;
        for made in hint.made.iter().filter(|made| !form.factor(made.wire).is_zero()) {
            let sources = Self::sources(groups, made)?;
            owners = owners.saturating_add(sources.iter().filter(|(source, _)| *source == at).count());
        }
        Ok(owners)
    }

    /// The sign that a register has in every execution, if it has one: it was empty, or is cleared, and all that is added is of one sign. (Rounding is monotone: a sum of `z`, `-z` and numbers of one sign, in any order, is of that sign.)
    fn sign_behind(
        &self,
        groups: &[Group],
        units: &[Row],
        row: &Row,
        hint: &Layer,
        (place, before, cleared): (usize, &Register, bool),
    ) -> Result<Option<(bool, Dyadic)>, Stop> {
        let housed = self.is_housed();
        let nothing = before.empty || (housed && before.form == Form::zero());
        if !nothing && !cleared {
            return Ok(None);
        }
        let form = self.line_of(hint, place)?.unwrap_or_else(|| before.form.clone());
        let mut clearing: Vec<usize> = Vec::new();
        for (at, group) in groups.iter().enumerate().filter(|(_, group)| cleared && reads_alone(group, place)) {
            if Self::owners(groups, hint, &form, at)? > 0 {
                // Beside a gate's units, of which each that writes counts as added.
                let Some(units) = clearing_units(group, place, before, units, row) else { return Ok(None) };
                clearing.extend(units);
            } else if is_clearing(group, place, before, units, Some(row)) {
                clearing.extend(group.units.iter().map(|(number, _)| *number));
            } else {
                return Ok(None);
            }
        }
        let mut added = row.weights.iter().filter(|(unit, _)| !clearing.contains(unit)).map(|(_, weight)| weight);
        let Some(first) = added.next().map(Dyadic::is_negative) else { return Ok(None) };
        let astray = if cleared {
            before.sign.as_ref().map_or(Dyadic::ZERO, |(_, astray)| astray.clone())
        } else {
            before.lost.clone()
        };
        let (astray, tiny) = (astray, self.tiny(row.weights.len().saturating_add(1)));
        let astray = if housed {
            let (left, all) = self.left_in_host(before)?;
            let left = if cleared { &left + &astray } else { before.lost.clone() };
            let weights = row.weights.iter().fold(Dyadic::ZERO, |sum, (_, weight)| &sum + &weight.abs());
            &(&left + &(&self.gamma(3) * &all)) + &self.quiet(&weights)
        } else {
            &astray + &astray
        };
        let astray = up(&(&astray + &tiny));
        Ok(added.all(|weight| weight.is_negative() == first).then_some((!first, astray)))
    }

    /// All numbers that a group may read, computed ones included, without the shift of its argument.
    pub(super) fn reach(&self, group: &Group) -> Result<Range, Stop> {
        match &group.argument {
            Some(Argument { form, off, .. }) => {
                let error = &(&self.error(form)? + off) + &group.slack;
                Ok(widened(&self.range(form)?, &error))
            }
            None => Ok(Range::around_zero(&(&group.reading.size + &group.slack))),
        }
    }

    /// The number of terms that stand beside a gate's own in the sum of a register.
    pub(super) fn company(
        &self,
        groups: &[Group],
        units: &[Row],
        gains: &[Row],
        parts: &[Part],
        to: &Written,
    ) -> Result<usize, Stop> {
        let row = gains.get(to.place).ok_or_else(|| line("a register that does not exist"))?;
        let mut count = usize::from(!to.before.empty);
        for (at, group) in groups.iter().enumerate() {
            if parts.iter().any(|part| part.group == at) {
                continue;
            }
            let other = Self::part(at, group, units, row, None);
            count = count.saturating_add(other.function.active(&self.reach(group)?).count);
        }
        Ok(count)
    }

    /// The number of terms that stand beside those of one part of a gate.
    pub(super) fn beside(&self, groups: &[Group], gate: &Gate<'_>, part: &Part) -> Result<usize, Stop> {
        let mut count = gate.company;
        for other in gate.parts.iter().filter(|other| other.group != part.group) {
            let group = groups.get(other.group).ok_or_else(|| line("a group that does not exist"))?;
            count = count.saturating_add(other.function.active(&self.reach(group)?).count);
        }
        Ok(count)
    }

    /// The loss of units: in reading their arguments, and in adding up.
    pub(super) fn inside(&mut self, group: &Group, (function, over): (&Piecewise, &Range), company: usize) -> Dyadic {
        let active = &function.active(over);
        let Active { count, weights, biases, heights } = active;
        let read = if let Some(read) = self.housed_units(group, active) {
            read
        } else if group.reading.single {
            // One rounding of a sum of two, which is the height.
            &self.unit() * heights
        } else {
            let gamma = self.gamma(group.reading.count.saturating_add(1));
            &gamma * &(&(weights * &group.reading.size) + biases)
        };
        let add = &self.gamma(count.saturating_add(company)) * &(heights + &read);
        self.note(&(heights + &(weights * &group.reading.size)));
        let tiny = &self.tiny(count.saturating_add(company)) + &(weights * &self.tiny(group.reading.count));
        up(&(&(&(&read + &add) + &tiny) + &self.quiet_units(function)))
    }

    /// A wire that a gate makes.
    fn gate(&mut self, groups: &[Group], gate: &Gate<'_>) -> Result<Known, Stop> {
        let known = self.plain_gate(groups, gate)?;
        self.times_factor(gate.made.wire, &gate.made.adds, known)
    }

    fn plain_gate(&mut self, groups: &[Group], gate: &Gate<'_>) -> Result<Known, Stop> {
        let wire = gate.made.wire;
        match self.hints.wires.get(wire) {
            Some(Wire::Curve { of, function }) => {
                let rest = gate.made.adds.minus(&Form::of(wire));
                let named = Self::sources(groups, gate.made)?;
                if !rest.terms.is_empty() || !matches!(named.as_slice(), [(_, form)] if *form == of) {
                    return Err(line(format!("wire {wire}: a curve is added with a number, and reads its argument")));
                }
                let on_points = self.curve_on_points(groups, gate, (of, function), &rest.offset)?;
                on_points.map_or_else(|| self.curve(groups, gate, function, &rest.offset), Ok)
            }
            Some(Wire::Points { of, from, values }) => {
                let (points, kappa) = self.listed_points(groups, gate.made, of)?;
                self.on_points(groups, gate, &points, &kappa, Self::listed(*from, values))
            }
            Some(Wire::Product(a, b)) => self.product(groups, gate, [a, b]),
            Some(Wire::Select { condition, value }) => self.select(groups, gate, condition, value),
            Some(Wire::Exchange { side, own, other }) => self.exchange(groups, gate, [side, own, other]),
            _ => Err(line(format!("wire {wire} is made by units, and is no curve, product, selection or exchange"))),
        }
    }

    /// How far what a gate adds to another register may be from what it adds to the first, factors apart.
    fn differs(&mut self, groups: &[Group], model: &Gate<'_>, other: &Gate<'_>) -> Result<Dyadic, Stop> {
        let (mut sum, size) = (Dyadic::ZERO, other.factor.range().size());
        for (mine, theirs) in model.parts.iter().zip(&other.parts) {
            let group = groups.get(mine.group).ok_or_else(|| line("a group that does not exist"))?;
            let reach = self.reach(group)?;
            let ratio = other.factor.over(&model.factor).ok_or_else(|| line("a factor of 0"))?.range();
            let mut points = vec![reach.lo.clone(), reach.hi.clone()];
            points.extend(mine.gate.inside(&reach));
            points.extend(theirs.gate.inside(&reach));
            let off = |s: &Dyadic| {
                (&(&Range::point(mine.gate.value(s)) * &ratio) - &Range::point(theirs.gate.value(s))).size()
            };
            sum = &sum + &points.iter().map(off).fold(Dyadic::ZERO, Dyadic::max);
            let inside = [(mine, model), (theirs, other)];
            for (part, gate) in inside {
                let company = self.beside(groups, gate, part)?;
                let lost = self.inside(group, (&part.function, &reach), company);
                let lost = if gate.exact { Dyadic::ZERO } else { lost };
                sum = &sum + &shared(&(&lost * &size), &gate.factor.range().absolute().lo)?;
            }
        }
        Ok(up(&(&sum * &(&Dyadic::ONE + &self.gate_factor()))))
    }
}

/// A gate in a register.
pub(super) struct Gate<'m> {
    pub(super) made: &'m Made,
    /// The factor of the wire there.
    pub(super) factor: Ratio,
    pub(super) parts: Vec<Part>,
    /// Other terms of the same sum.
    pub(super) company: usize,
    /// True if nothing is rounded.
    pub(super) exact: bool,
}

/// A piecewise linear function that stands for `factor · (function + kappa)`.
pub(super) struct Fit<'p> {
    pub(super) part: &'p Part,
    pub(super) factor: Range,
    pub(super) kappa: Range,
    pub(super) function: &'p [Word],
}

/// `total / size`, rounded up.
pub(super) fn shared(total: &Dyadic, size: &Dyadic) -> Result<Dyadic, Stop> {
    let share = Range::point(total.clone()).over(&Range::point(size.clone()));
    share.map(|share| share.hi).ok_or_else(|| line("a factor of 0"))
}

pub(super) fn widened(range: &Range, by: &Dyadic) -> Range {
    (range + &Range::around_zero(by)).tidy()
}
