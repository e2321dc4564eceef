//! Feed-forward layers: hidden units that read one number are a piecewise linear function of it, exactly.
//!
//! Units whose rows are equal up to sign read the same number `τ`. By the lines, `τ = T̂ + shift`, where `T̂` is the
//! argument `T` over computed wires, up to what registers have lost and what rounded weights leave. So the units add
//! `P(T̂ + …)` to a register, `P` a [`Piecewise`], and:
//!
//! ```text
//! curve       |P(t̂)/c - (f(t) + κ)| ≤ sup|P'|/|c| · e + |P(t)/c - f(t) - κ|,    cell by cell of t
//! product     P_1(û) + P_2(v̂) = c (û² - v̂² + κ) up to its deviation,  û² - v̂² + rest = âb̂,  |âb̂ - ab| ≤ |a| e_b + |b| e_a + e_a e_b
//! clearing    R(z) and R(-z), times -1 and 1, leave nothing of a register
//! rounding    a sum of m terms is off by γ_m Σ|terms|: what units add to a wire is its own loss, what was there before the register's
//! ```

use super::function::jet;
use super::piecewise::{Active, Piecewise, Unit};
use super::profile::{Cell, Profile, up};
use super::teeth::{Quadratic, is_tooth};
use super::{Form, Known, Prover, Reading, Register, Stop, declined, line};
use crate::certificate::{Layer, Made, Source, Wire, Word};
use crate::number::{Dyadic, Range, Ratio};
use crate::weights::Row;

/// Parts into which a piece of a curve is cut: a power of two.
const PARTS: i64 = 4;

/// How often a cell is halved where the curve bends without bound.
const HALVINGS: usize = 60;

impl Known {
    /// A wire whose error is known by cells of an argument.
    pub(super) fn of_cells(cells: Vec<Cell>) -> Self {
        let most = cells.iter().map(|cell| cell.error.clone()).fold(Dyadic::ZERO, Dyadic::max);
        let range = cells.iter().map(|cell| cell.values.clone()).reduce(|a, b| a.hull(&b)).unwrap_or(Range::ZERO);
        Self { range, error: Profile::Cells(cells), most, tooth: Dyadic::ZERO }
    }
}

/// Units that read the same number.
struct Group {
    /// The number: a row of weights.
    weights: Vec<(usize, Dyadic)>,
    /// The units, and whether each reads the number itself, or its negative.
    units: Vec<(usize, bool)>,
    reading: Reading,
    /// How far what a unit computes before its kink may be from the number and its bias: one beside its kink may be active.
    slack: Dyadic,
    /// The argument that the hints name, if a gate reads it.
    argument: Option<Argument>,
}

/// What a group reads.
#[derive(Clone)]
struct Argument {
    form: Form,
    /// `τ - T`, a number.
    shift: Dyadic,
    /// How far `τ - shift` may be from `T` over computed wires.
    off: Dyadic,
}

/// A gate's units in one register.
struct Part {
    /// What the units do there, for all of them together.
    function: Piecewise,
    /// The same without what clears the register.
    gate: Piecewise,
    group: usize,
}

/// Of one register: what the layer adds.
struct Written {
    place: usize,
    before: Register,
    form: Form,
    cleared: bool,
}

impl Prover<'_> {
    /// Proves the lines behind a feed-forward layer.
    pub(super) fn feed_forward(&mut self, units: &[Row], gains: &[Row], hint: &Layer) -> Result<(), Stop> {
        self.registers_exist(hint)?;
        let mut groups = self.groups(units)?;
        for made in &hint.made {
            self.name_arguments(&mut groups, made)?;
        }
        let written = self.written(&groups, units, gains, hint)?;
        let mut lost: Vec<Dyadic> = Vec::new();
        for Written { place, before, cleared, .. } in &written {
            lost.push(self.register_loss(&groups, units, gains, hint, (*place, before, *cleared))?);
        }
        for made in &hint.made {
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
                let gate = Gate { made, factor, parts, company };
                if let Some(model) = &first {
                    let more = self.differs(&groups, model, &gate)?;
                    if let Some(lost) = lost.get_mut(at) {
                        *lost = &*lost + &more;
                    }
                } else {
                    let known = self.gate(&groups, &gate)?;
                    self.make(made.wire, known)?;
                    first = Some(gate);
                }
            }
            if first.is_none() {
                return Err(line(format!("wire {} is made, and no register holds it", made.wire)));
            }
        }
        for (Written { place, form, before, cleared }, lost) in written.iter().zip(&lost) {
            let sign = match gains.get(*place) {
                Some(row) => self.sign_behind(&groups, units, row, hint, (*place, before, *cleared))?,
                None => None,
            };
            let empty = *cleared && *form == Form::zero();
            self.hold(*place, Register { form: form.clone(), lost: lost.clone(), sign, empty })?;
        }
        Ok(())
    }

    /// The units by what they read.
    fn groups(&mut self, units: &[Row]) -> Result<Vec<Group>, Stop> {
        let mut groups: Vec<Group> = Vec::new();
        for (number, row) in units.iter().enumerate() {
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
            let slack = up(&(&rounded + &self.tiny(reading.count)));
            if let Some((at, sign)) = found {
                if let Some(group) = groups.get_mut(at) {
                    group.units.push((number, sign));
                    group.slack = slack.max(group.slack.clone());
                }
                continue;
            }
            let (weights, units) = (row.weights.clone(), vec![(number, true)]);
            groups.push(Group { weights, units, reading, slack, argument: None });
        }
        Ok(groups)
    }

    /// The groups of a gate, as it names them.
    fn sources<'m>(groups: &[Group], made: &'m Made) -> Result<Vec<(usize, &'m Form)>, Stop> {
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

    /// The registers that change, and whether each is cleared: what it holds is what was there, or nothing, and what is added.
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
            let cleared = if form == before.form.plus(&Ratio::ONE, &added) {
                false
            } else if form == added {
                true
            } else {
                return Err(line(format!(
                    "register {place} does not hold what was there, or nothing, and what is added"
                )));
            };
            if cleared {
                let owned = |at: usize| Self::owners(groups, hint, &form, at).map(|owners| owners > 0);
                let mut shown = false;
                for (at, group) in groups.iter().enumerate().filter(|(_, group)| reads_alone(group, place)) {
                    let how = if owned(at)? { None } else { Some(row) };
                    shown = shown || is_clearing(group, place, &before, units, how);
                }
                if !shown {
                    return Err(declined(format!("register {place} is not shown to be cleared")));
                }
            }
            written.push(Written { place, before, form, cleared });
        }
        Ok(written)
    }

    /// The units of a group in one register, as functions of the argument.
    fn part(at: usize, group: &Group, units: &[Row], row: &Row, cleared: bool) -> Part {
        let shift = group.argument.as_ref().map_or(Dyadic::ZERO, |argument| argument.shift.clone());
        let mut found = Vec::new();
        for (number, sign) in &group.units {
            let weight = row.weights.iter().find(|(unit, _)| unit == number).map(|(_, weight)| weight);
            let (Some(weight), Some(unit)) = (weight, units.get(*number)) else { continue };
            let knot = if *sign { &-&unit.bias - &shift } else { &unit.bias - &shift };
            found.push(Unit { right: *sign, knot, weight: weight.clone(), bias: unit.bias.abs() });
        }
        let function = Piecewise::new(&found);
        if cleared {
            // What clears z is -R(z) + R(-z), where z is the number that is read, or its negative.
            let upright = group.weights.iter().all(|(_, weight)| !weight.is_negative());
            for right in [true, false] {
                // On a side without such a unit the register never is. One whose weight is 0 there clears what another gate adds.
                let plain = |(number, sign): &(usize, bool)| {
                    *sign == right && units.get(*number).is_some_and(|unit| unit.bias.is_zero())
                };
                if group.units.iter().any(plain) {
                    let weight = if right == upright { Dyadic::ONE } else { -&Dyadic::ONE };
                    found.push(Unit { right, knot: -&shift, weight, bias: Dyadic::ZERO });
                }
            }
        }
        Part { function, gate: Piecewise::new(&found), group: at }
    }

    /// The parts of a gate in a register.
    fn parts(groups: &[Group], units: &[Row], gains: &[Row], made: &Made, to: &Written) -> Result<Vec<Part>, Stop> {
        let row = gains.get(to.place).ok_or_else(|| line("a register that does not exist"))?;
        let mut parts = Vec::new();
        for (at, _) in Self::sources(groups, made)? {
            let group = groups.get(at).ok_or_else(|| line("a group that does not exist"))?;
            let clears = to.cleared && is_clearing(group, to.place, &to.before, units, None);
            parts.push(Self::part(at, group, units, row, clears));
        }
        Ok(parts)
    }

    /// What a register loses that no wire does: what was there takes part in the sum, and what clears it. Every unit that writes there
    /// must belong to one gate, or clear it.
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
            let part = Self::part(at, group, units, row, false);
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
            if owners > 1 {
                return Err(declined(format!("register {place}: two gates share their units")));
            }
            if owners == 0 && !clears {
                return Err(line(format!("units write into register {place}, and no line says why")));
            }
            let reach = self.reach(group)?;
            count = count.saturating_add(part.function.active(&reach).count);
        }
        let held = self.held(before)?;
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
        self.note(&(&sum + &sum));
        Ok(up(&(&(&left + &rounded) + &self.tiny(count))))
    }

    /// How many gates that a form holds have a group among their arguments.
    fn owners(groups: &[Group], hint: &Layer, form: &Form, at: usize) -> Result<usize, Stop> {
        let mut owners = 0_usize;
        for made in hint.made.iter().filter(|made| !form.factor(made.wire).is_zero()) {
            let sources = Self::sources(groups, made)?;
            owners = owners.saturating_add(sources.iter().filter(|(source, _)| *source == at).count());
        }
        Ok(owners)
    }

    /// The sign that a register has in every execution, if it has one: it was empty, or is cleared by units of no gate, and all that is
    /// added is of one sign. (Rounding is monotone: a sum of `z`, `-z` and numbers of one sign, in any order, is of that sign.)
    fn sign_behind(
        &self,
        groups: &[Group],
        units: &[Row],
        row: &Row,
        hint: &Layer,
        (place, before, cleared): (usize, &Register, bool),
    ) -> Result<Option<(bool, Dyadic)>, Stop> {
        if !before.empty && !cleared {
            return Ok(None);
        }
        let form = self.line_of(hint, place)?.unwrap_or_else(|| before.form.clone());
        let mut clearing: Vec<usize> = Vec::new();
        for (at, group) in groups.iter().enumerate().filter(|(_, group)| cleared && reads_alone(group, place)) {
            if Self::owners(groups, hint, &form, at)? > 0 || !is_clearing(group, place, before, units, Some(row)) {
                return Ok(None);
            }
            clearing.extend(group.units.iter().map(|(number, _)| *number));
        }
        let mut added = row.weights.iter().filter(|(unit, _)| !clearing.contains(unit)).map(|(_, weight)| weight);
        let Some(first) = added.next().map(Dyadic::is_negative) else { return Ok(None) };
        let astray = if cleared {
            before.sign.as_ref().map_or(Dyadic::ZERO, |(_, astray)| astray.clone())
        } else {
            before.lost.clone()
        };
        let astray = up(&(&(&astray + &astray) + &self.tiny(row.weights.len().saturating_add(1))));
        Ok(added.all(|weight| weight.is_negative() == first).then_some((!first, astray)))
    }

    /// All numbers that a group may read, computed ones included, without the shift of its argument.
    fn reach(&self, group: &Group) -> Result<Range, Stop> {
        match &group.argument {
            Some(Argument { form, off, .. }) => {
                let error = &(&self.error(form)? + off) + &group.slack;
                Ok(widened(&self.range(form)?, &error))
            }
            None => Ok(Range::around_zero(&(&group.reading.size + &group.slack))),
        }
    }

    /// The number of terms that stand beside a gate's own in the sum of a register.
    fn company(
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
            let other = Self::part(at, group, units, row, false);
            count = count.saturating_add(other.function.active(&self.reach(group)?).count);
        }
        Ok(count)
    }

    /// The number of terms that stand beside those of one part of a gate.
    fn beside(&self, groups: &[Group], gate: &Gate<'_>, part: &Part) -> Result<usize, Stop> {
        let mut count = gate.company;
        for other in gate.parts.iter().filter(|other| other.group != part.group) {
            let group = groups.get(other.group).ok_or_else(|| line("a group that does not exist"))?;
            count = count.saturating_add(other.function.active(&self.reach(group)?).count);
        }
        Ok(count)
    }

    /// What units lose: reading what they read, and adding it up.
    fn inside(&mut self, group: &Group, active: &Active, company: usize) -> Dyadic {
        let Active { count, weights, biases, heights } = active;
        let read = if group.reading.single {
            // One rounding of a sum of two, which is the height.
            &self.unit() * heights
        } else {
            let gamma = self.gamma(group.reading.count.saturating_add(1));
            &gamma * &(&(weights * &group.reading.size) + biases)
        };
        let add = &self.gamma(count.saturating_add(company)) * &(heights + &read);
        self.note(&(heights + &(weights * &group.reading.size)));
        let tiny = &self.tiny(count.saturating_add(company)) + &(weights * &self.tiny(group.reading.count));
        up(&(&(&read + &add) + &tiny))
    }

    fn gate(&mut self, groups: &[Group], gate: &Gate<'_>) -> Result<Known, Stop> {
        let wire = gate.made.wire;
        match self.hints.wires.get(wire) {
            Some(Wire::Curve { of, function }) => {
                let rest = gate.made.adds.minus(&Form::of(wire));
                let named = Self::sources(groups, gate.made)?;
                if !rest.terms.is_empty() || !matches!(named.as_slice(), [(_, form)] if *form == of) {
                    return Err(line(format!("wire {wire}: a curve is added with a number, and reads its argument")));
                }
                self.curve(groups, gate, function, &rest.offset)
            }
            Some(Wire::Product(a, b)) => self.product(groups, gate, [a, b]),
            _ => Err(line(format!("wire {wire} is made by units, and is no curve and no product"))),
        }
    }

    fn curve(&mut self, groups: &[Group], gate: &Gate<'_>, function: &[Word], kappa: &Ratio) -> Result<Known, Stop> {
        let [part] = gate.parts.as_slice() else { return Err(line("a curve of several arguments")) };
        let group = groups.get(part.group).ok_or_else(|| line("a group that does not exist"))?;
        let argument = group.argument.clone().ok_or_else(|| line("a curve without an argument"))?;
        let range = self.range(&argument.form)?;
        let fit = Fit { part, factor: gate.factor.range(), kappa: kappa.range(), function };
        let size = fit.factor.absolute().lo;
        let mut cells = Vec::new();
        let mut inner = Dyadic::ZERO;
        for piece in self.pieces(&fit, &range, PARTS)? {
            let error = &self.error_over(&argument.form, &piece.argument)? + &argument.off;
            let reached = widened(&piece.argument, &error);
            let active = part.function.active(&widened(&reached, &group.slack));
            let inside = self.inside(group, &active, gate.company);
            let moved = &fit.part.gate.steepest(&reached) * &error;
            let total = &(&moved + &piece.apart.size()) + &inside;
            inner = inner.max(inside);
            let error = shared(&total, &size)?;
            cells.push(Cell { argument: piece.argument, values: piece.values, error });
        }
        let mut known = Known::of_cells(cells);
        if is_tooth(function) {
            // Off from the tooth of what is computed: by what is read besides the teeth before, and by what is lost.
            let (mut taken, mut deviation) = (argument.off.clone(), Dyadic::ZERO);
            for (wire, factor) in &argument.form.terms {
                taken = &taken + &(&factor.range().size() * &self.known(*wire)?.tooth);
            }
            // Behind another tooth it is a number of [0, 1], given that what the first of them reads is within its reach: whoever uses this
            // proves that.
            let before = argument.form.bare().filter(
                |wire| matches!(self.hints.wires.get(*wire), Some(Wire::Curve { function, .. }) if is_tooth(function)),
            );
            let mut reached = widened(&range, &(&self.error(&argument.form)? + &argument.off));
            if before.is_some() {
                reached = reached.meet(&widened(&Range::ZERO.hull(&Range::whole(1)), &taken));
            }
            for piece in self.pieces(&fit, &reached, PARTS)? {
                deviation = deviation.max(piece.apart.size());
            }
            // A tooth is twice as steep as its argument, wherever what it would be without rounding lies.
            let twice = &fit.factor.size() + &fit.factor.size();
            let moved = &fit.part.gate.steepest(&reached).max(twice) * &taken;
            known.tooth = shared(&(&(&moved + &deviation) + &inner), &size)?;
        }
        Ok(known)
    }

    fn product(&mut self, groups: &[Group], gate: &Gate<'_>, [a, b]: [&Form; 2]) -> Result<Known, Stop> {
        let wire = gate.made.wire;
        let named = Self::sources(groups, gate.made)?;
        let forms: Vec<&Form> = named.iter().map(|(_, form)| *form).collect();
        let [_, _] = forms.as_slice() else { return Err(line(format!("wire {wire}: a product reads two forms"))) };
        let rest = Quadratic::left([a, b], &forms);
        let rest = rest.ok_or_else(|| line(format!("wire {wire}: its factors and its arguments do not fit")))?;
        // What is added is u² - v² + κ.
        let kappa = gate.made.adds.minus(&Form::of(wire)).plus(&Ratio::ONE, &rest);
        if !kappa.terms.is_empty() {
            return Err(line(format!("wire {wire}: what is added is not its squares and a number")));
        }
        let square = [Word::Variable, Word::Power(2)];
        let zero = Range::ZERO;
        let (mut apart, mut lost) = (-&(&gate.factor.range() * &kappa.offset.range()), Dyadic::ZERO);
        for (part, sign) in gate.parts.iter().zip([true, false]) {
            let group = groups.get(part.group).ok_or_else(|| line("a group that does not exist"))?;
            let argument = group.argument.clone().ok_or_else(|| line("a product without arguments"))?;
            let error = self.error(&argument.form)?;
            let reached = widened(&self.range(&argument.form)?, &(&error + &argument.off));
            let factor = if sign { gate.factor.range() } else { -&gate.factor.range() };
            let fit = Fit { part, factor, kappa: zero.clone(), function: &square };
            let pieces = self.pieces(&fit, &reached, PARTS)?;
            let all = pieces.into_iter().map(|piece| piece.apart).reduce(|a, b| a.hull(&b));
            apart = &apart + &all.unwrap_or(Range::ZERO);
            let company = self.beside(groups, gate, part)?;
            let active = part.function.active(&widened(&reached, &group.slack));
            let inside = self.inside(group, &active, company);
            lost = &(&lost + &inside) + &(&part.gate.steepest(&reached) * &argument.off);
        }
        let size = gate.factor.range().absolute().lo;
        let own = shared(&(&apart.size() + &lost), &size)?;
        let most = up(&(&self.pairs(a, b)? + &own));
        let range = (&self.range(a)? * &self.range(b)?).tidy();
        Ok(Known { range, error: Profile::Constant(most.clone()), most, tooth: Dyadic::ZERO })
    }

    /// `|a| e_b + |b| e_a + e_a e_b` at most.
    ///
    /// Lemma (deviations and variance): `d = c(M - mean M)` has `d_i² ≤ (n-1) mean(d²)`, since `d_i` is the negative sum of the others.
    /// So where one factor is a function of `mean(d²)`, the other one, a multiple of `d`, is small where that is.
    pub(super) fn pairs(&self, a: &Form, b: &Form) -> Result<Dyadic, Stop> {
        let (left, right) = (self.front(a)?, self.front(b)?);
        let pair = |(x, e): &(Dyadic, Dyadic), (y, d): &(Dyadic, Dyadic)| up(&(&(&(x * d) + &(y * e)) + &(e * d)));
        let all = left.iter().flat_map(|x| right.iter().map(move |y| (x, y)));
        let plain = all.map(|(x, y)| pair(x, y)).fold(Dyadic::ZERO, Dyadic::max);
        let mut best = plain;
        for (deviation, curve) in [(a, b), (b, a)] {
            if let Some(cells) = self.by_variance(deviation, curve)? {
                let error = self.error(deviation)?;
                let found = cells
                    .iter()
                    .map(|(size, value, off)| pair(&(size.clone(), error.clone()), &(value.clone(), off.clone())));
                best = best.min(found.fold(Dyadic::ZERO, Dyadic::max));
            }
        }
        Ok(best)
    }

    /// Sizes and errors of a form, cell by cell where they are known so; without those that others exceed in both.
    fn front(&self, form: &Form) -> Result<Vec<(Dyadic, Dyadic)>, Stop> {
        if let Some((wire, factor)) = form.single()
            && let Profile::Cells(cells) = &self.known(wire)?.error
        {
            let (factor, offset) = (factor.range(), form.offset.range());
            let size = |cell: &Cell| up(&(&(&factor * &cell.values) + &offset).size());
            let mut sizes: Vec<(Dyadic, Dyadic)> =
                cells.iter().map(|cell| (size(cell), up(&(&factor.size() * &cell.error)))).collect();
            sizes.sort_by(|(a, _), (b, _)| b.cmp(a));
            let mut front: Vec<(Dyadic, Dyadic)> = Vec::new();
            for cell in sizes {
                if front.last().is_none_or(|(_, error)| cell.1 > *error) {
                    front.push(cell);
                }
            }
            return Ok(front);
        }
        Ok(vec![(self.range(form)?.size(), self.error(form)?)])
    }

    /// If the lemma applies: by cells of the variance, the size of the deviation, the size of the curve and its error.
    fn by_variance(&self, deviation: &Form, curve: &Form) -> Result<Option<Vec<Sides>>, Stop> {
        let Some((wire, outer)) = curve.single() else { return Ok(None) };
        let Some(Wire::Curve { of, .. }) = self.hints.wires.get(wire) else { return Ok(None) };
        let Some((mean, inner)) = of.single() else { return Ok(None) };
        let Some(Wire::Mean { scale, of: squares }) = self.hints.wires.get(mean) else { return Ok(None) };
        let Some((factor, form)) = squares.bare().and_then(|square| self.centred_square(square)) else {
            return Ok(None);
        };
        let centred = form.scaled(&factor.negative()).plus(&factor, &Form::of(self.mean_of(&form)));
        let (Some(times), true) = (deviation.multiple_of(&centred), *scale == Ratio::ONE) else { return Ok(None) };
        let Profile::Cells(cells) = &self.known(wire)?.error else { return Ok(None) };
        let most = self.range(deviation)?.size();
        let others = Range::whole(self.tokens.saturating_sub(1));
        let (outer_range, offset) = (outer.range(), curve.offset.range());
        let cell = |cell: &Cell| {
            let variance = (&cell.argument - &of.offset.range()).over(&inner.range())?.max(&Range::ZERO);
            let root = (&variance * &others).sqrt()?.hi;
            let size = (&times.range().size() * &root).min(most.clone());
            let value = (&(&outer_range * &cell.values) + &offset).size();
            Some((up(&size), up(&value), up(&(&outer_range.size() * &cell.error))))
        };
        Ok(cells.iter().map(cell).collect())
    }

    /// The wire that is the mean of a form, or one that does not exist.
    fn mean_of(&self, form: &Form) -> usize {
        let wanted = |wire: &Wire| matches!(wire, Wire::Mean { scale, of } if *scale == Ratio::ONE && of == form);
        self.hints.wires.iter().position(wanted).unwrap_or(usize::MAX)
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
                let active = part.function.active(&reach);
                let company = self.beside(groups, gate, part)?;
                let lost = self.inside(group, &active, company);
                sum = &sum + &shared(&(&lost * &size), &gate.factor.range().absolute().lo)?;
            }
        }
        Ok(up(&sum))
    }

    /// A piecewise linear function beside a curve, piece by piece of an interval.
    fn pieces(&mut self, fit: &Fit<'_>, over: &Range, parts: i64) -> Result<Vec<Piece>, Stop> {
        let mut ends = vec![over.lo.clone()];
        ends.extend(fit.part.gate.inside(over));
        ends.push(over.hi.clone());
        let share = Dyadic::power_of_two(parts.saturating_neg());
        let mut pieces = Vec::new();
        for (low, high) in ends.iter().zip(ends.iter().skip(1)) {
            let step = &(high - low) * &share;
            let count = 1_usize.checked_shl(u32::try_from(parts).unwrap_or(0)).unwrap_or(1);
            for k in 0..count {
                let end = |k: usize| if k == count { high.clone() } else { low + &(&step * &Range::whole(k).lo) };
                self.piece(fit, Range { lo: end(k), hi: end(k.saturating_add(1)) }, HALVINGS, &mut pieces)?;
            }
        }
        Ok(pieces)
    }

    /// `P - c(f + κ)` on an interval without knots: with a line between its values at the ends, and half of `(t - a)(b - t) f''`.
    fn piece(&mut self, fit: &Fit<'_>, over: Range, halvings: usize, pieces: &mut Vec<Piece>) -> Result<(), Stop> {
        self.spend(fit.function.len().saturating_mul(3))?;
        let here = jet(fit.function, &over)?;
        let (mut ends, mut values) = (Vec::new(), here.value.clone());
        for s in [&over.lo, &over.hi] {
            let at = jet(fit.function, &Range::point(s.clone()))?.value;
            values = if ends.is_empty() { at.clone() } else { values.hull(&at) };
            ends.push(&Range::point(fit.part.gate.value(s)) - &(&fit.factor * &(&at + &fit.kappa)));
        }
        let [low, high] = ends.as_slice() else { return Err(line("no ends")) };
        let lines: Vec<Range> = [&over.lo, &over.hi].map(|s| Range::point(fit.part.gate.value(s))).into();
        let line_range = lines.into_iter().reduce(|a, b| a.hull(&b)).unwrap_or(Range::ZERO);
        let plain = &line_range - &(&fit.factor * &(&here.value + &fit.kappa));
        // Between the values at the ends where it only grows, or only falls.
        let grows = |[first, _]: &[Range; 2]| !first.lo.is_negative() || first.hi <= Dyadic::ZERO;
        let values = if here.bend.as_ref().is_some_and(grows) { values } else { here.value.clone() };
        let bent = here.bend.map(|[_, second]| {
            let width = &over.hi - &over.lo;
            let bend = &(&second * &fit.factor) * &Range::point(&(&width * &width) * &Dyadic::power_of_two(-1));
            let above = highest(&low.hi, &high.hi, &bend.hi);
            let below = highest(&-&low.lo, &-&high.lo, &-&bend.lo);
            Range { lo: -&below, hi: above }
        });
        let can = bent.is_none() && halvings > 0 && over.lo < over.hi;
        if can {
            let middle = &(&over.lo + &over.hi) * &Dyadic::power_of_two(-1);
            // Only the half in which it bends without bound is cut again.
            self.piece(fit, Range { lo: over.lo, hi: middle.clone() }, halvings.saturating_sub(1), pieces)?;
            return self.piece(fit, Range { lo: middle, hi: over.hi }, halvings.saturating_sub(1), pieces);
        }
        let apart = bent.map_or(plain.clone(), |bent| bent.meet(&plain)).tidy();
        pieces.push(Piece { argument: over, values, apart });
        Ok(())
    }
}

/// Of a cell: the size of one factor, the size of the other one, and its error.
type Sides = (Dyadic, Dyadic, Dyadic);

/// A gate in a register.
struct Gate<'m> {
    made: &'m Made,
    /// What the wire is multiplied by there.
    factor: Ratio,
    parts: Vec<Part>,
    /// Other terms of the same sum.
    company: usize,
}

/// A piecewise linear function that stands for `factor · (function + kappa)`.
struct Fit<'p> {
    part: &'p Part,
    factor: Range,
    kappa: Range,
    function: &'p [Word],
}

/// A piece of a curve.
struct Piece {
    argument: Range,
    values: Range,
    /// What is computed, less what is meant.
    apart: Range,
}

/// The largest value of `a + (b - a) x + g x(1 - x)` for `x` between 0 and 1, rounded up.
fn highest(a: &Dyadic, b: &Dyadic, g: &Dyadic) -> Dyadic {
    let (ends, rise) = (a.clone().max(b.clone()), b - a);
    if rise.abs() >= *g {
        return ends;
    }
    let square = Range::point(&rise * &rise).over(&Range::point(&(g + g) + &(g + g)));
    let Some(square) = square else { return ends };
    let (half, quarter) = (Dyadic::power_of_two(-1), Dyadic::power_of_two(-2));
    &(&(&(a + b) * &half) + &(g * &quarter)) + &square.hi
}

/// `total / size`, rounded up.
fn shared(total: &Dyadic, size: &Dyadic) -> Result<Dyadic, Stop> {
    let share = Range::point(total.clone()).over(&Range::point(size.clone()));
    share.map(|share| share.hi).ok_or_else(|| line("a factor of 0"))
}

fn widened(range: &Range, by: &Dyadic) -> Range {
    (range + &Range::around_zero(by)).tidy()
}

/// Whether a group reads one register as it is, or its negative.
fn reads_alone(group: &Group, place: usize) -> bool {
    matches!(group.weights.as_slice(), [(at, weight)] if *at == place && weight.abs() == Dyadic::ONE)
}

/// Whether a group clears a register: it reads the register as it is, and what is of either sign that the register may have is taken
/// away. With the register's row: by one unit on a side, times exactly -1 or 1, and by nothing else. Without it, the units are a gate's as
/// well, and what they leave is part of the gate: then units without bias must be there, whatever their weights.
fn is_clearing(group: &Group, place: usize, before: &Register, units: &[Row], row: Option<&Row>) -> bool {
    let upright = group.weights.iter().all(|(_, weight)| !weight.is_negative());
    let plain = |number: usize| units.get(number).is_some_and(|unit| unit.bias.is_zero());
    let weight = |number: usize| row.and_then(|row| row.weights.iter().find(|(unit, _)| *unit == number));
    // The units of a side: those that write, or all that could.
    let side = |positive: bool| {
        let here = group.units.iter().filter(move |(_, sign)| (*sign == upright) == positive);
        here.map(|(number, _)| *number).filter(|number| row.is_none() || weight(*number).is_some()).collect::<Vec<_>>()
    };
    let clears = |positive: bool| {
        let spared = before.sign.as_ref().is_some_and(|(sign, _)| *sign != positive);
        let wanted = if positive { -&Dyadic::ONE } else { Dyadic::ONE };
        match (row, side(positive).as_slice()) {
            (_, []) => spared,
            (Some(_), [unit]) => plain(*unit) && weight(*unit).is_some_and(|(_, weight)| *weight == wanted),
            (Some(_), _) => false,
            (None, numbers) => spared || numbers.iter().any(|number| plain(*number)),
        }
    };
    reads_alone(group, place) && clears(true) && clears(false)
}
