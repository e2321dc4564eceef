//! Rule *shared units*: several curves of one argument read the same units, and registers hold several of them.
//!
//! In a register the units add `P(t̂)`, which is said to be `Σ_j c_j (ĝ_j + κ_j)` over the curves that it holds. Where
//! all of them but one, `g`, have been made already, by units of other registers that add `c'_j (ĝ_j + κ_j) = P_j(t̂)`,
//!
//! ```text
//! c (ĝ + κ) = (P - Σ_j c_j/c'_j P_j)(t̂)
//! ```
//!
//! defines `ĝ`: a piecewise linear function of the same number, which is compared with the curve as in rule *curve*; what
//! the units of all these registers round is charged. Where all have been made, the difference is what the register has
//! lost. If some cannot be told apart so, what is computed of each is said to be what is meant, and a register has lost
//! what its units are off from the sum of all of its curves, which is one curve.

use std::rc::Rc;

use super::curve::{PARTS, jet};
use super::layer::{Fit, Gate, Group, Part, Written, widened};
use super::profile::{Profile, up};
use super::{Form, Known, Prover, Stop, line};
use crate::kernel::function::{Binary, Word};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::piecewise::{Piecewise, Unit};
use crate::kernel::sum::Row;
use crate::read::certificate::{Made, Wire};

/// Parts of an interval on which the values of a curve are enclosed.
const INTERVALS: usize = 16;

/// Parts of a piece of a sum of curves, a power of two: only its largest error is asked for.
const FEW_PARTS: i64 = 1;

/// A curve that shares its units.
struct Curve<'m> {
    made: &'m Made,
    function: &'m [Word],
    kappa: Ratio,
}

/// Units that stand for a curve that has been told apart.
struct Model<'m> {
    curve: usize,
    /// The factor of the curve in their sum.
    factor: Ratio,
    /// The sum: of units of several registers.
    part: Part,
    /// The gates of these registers, and how many times their rounding is in the sum.
    losses: Vec<(Dyadic, Rc<Gate<'m>>)>,
    /// What is left of factors that were rounded.
    rest: Dyadic,
}

/// The units of one layer.
#[derive(Clone, Copy)]
pub(super) struct Units<'u> {
    pub(super) groups: &'u [Group],
    pub(super) rows: &'u [Row],
    pub(super) gains: &'u [Row],
}

impl Prover<'_> {
    /// Makes curves of one argument that share units, and charges registers with what they have lost.
    pub(super) fn curves_together(
        &mut self,
        layer: Units<'_>,
        (readers, written): (&[&Made], &[Written]),
        lost: &mut [Dyadic],
    ) -> Result<(), Stop> {
        let hints = self.hints;
        let mut curves: Vec<Curve<'_>> = Vec::new();
        for made in readers {
            let wire = made.wire;
            let Some(Wire::Curve { of, function }) = hints.wires.get(wire) else {
                return Err(line("units that are shared with another kind of gate"));
            };
            let rest = made.adds.minus(&Form::of(wire));
            let named = Self::sources(layer.groups, made)?;
            if !rest.terms.is_empty() || !matches!(named.as_slice(), [(_, form)] if *form == of) {
                return Err(line(format!("wire {wire}: a curve is added with a number, and reads its argument")));
            }
            if !written.iter().any(|register| !register.form.factor(wire).is_zero()) {
                return Err(line(format!("wire {wire} is made, and no register holds it")));
            }
            curves.push(Curve { made, function, kappa: rest.offset });
        }
        match Self::apart_in(&curves, written) {
            Some(order) => self.one_by_one(layer, (&curves, written), &order, lost),
            None => self.as_meant(layer, (&curves, written), lost),
        }
    }

    /// An order of the curves, and for each a register that holds it and, of the others, only earlier ones.
    fn apart_in(curves: &[Curve<'_>], written: &[Written]) -> Option<Vec<(usize, usize)>> {
        let mut order: Vec<(usize, usize)> = Vec::new();
        while order.len() < curves.len() {
            let known = |curve: usize| order.iter().any(|(known, _)| *known == curve);
            let alone = |register: &Written| {
                let holds = |curve: &usize| curves.get(*curve).is_some_and(|curve| holds(register, curve));
                let mut open = (0..curves.len()).filter(|curve| !known(*curve)).filter(holds);
                open.next().filter(|_| open.next().is_none())
            };
            let mut found = written.iter().enumerate().filter_map(|(at, register)| Some((alone(register)?, at)));
            let empty = |(_, at): &(usize, usize)| written.get(*at).is_some_and(|register| register.before.empty);
            // What a register that was empty gets is rounded with nothing else.
            let next = found.clone().find(empty).or_else(|| found.next())?;
            order.push(next);
        }
        Some(order)
    }

    /// Curves that are told apart, one after another.
    fn one_by_one(
        &mut self,
        layer: Units<'_>,
        (curves, written): (&[Curve<'_>], &[Written]),
        order: &[(usize, usize)],
        lost: &mut [Dyadic],
    ) -> Result<(), Stop> {
        let missing = || line("a curve that is not there");
        let mut models: Vec<Model<'_>> = Vec::new();
        for (at, place) in order {
            let (curve, register) = (curves.get(*at).ok_or_else(missing)?, written.get(*place).ok_or_else(missing)?);
            let model = self.without(layer, curves, &models, (*at, register))?;
            let fit = Fit {
                part: &model.part,
                factor: model.factor.range(),
                kappa: curve.kappa.range(),
                function: curve.function,
            };
            let losses: Vec<_> = model.losses.iter().map(|(times, gate)| (times.clone(), &**gate)).collect();
            let (mut cells, _) = self.cells(layer.groups, (&fit, &losses), PARTS)?;
            let rest = super::layer::shared(&model.rest, &fit.factor.absolute().lo)?;
            for cell in &mut cells {
                cell.error = up(&(&cell.error + &rest));
            }
            let known = self.times_factor(curve.made.wire, &curve.made.adds, Known::of_cells(cells))?;
            self.make(curve.made.wire, known)?;
            models.push(model);
        }
        for (place, register) in
            written.iter().enumerate().filter(|(place, _)| !order.iter().any(|(_, at)| at == place))
        {
            let Some(first) = curves.iter().position(|curve| holds(register, curve)) else { continue };
            let Model { part, losses, rest, .. } = self.without(layer, curves, &models, (first, register))?;
            let group = layer.groups.get(part.group).ok_or_else(missing)?;
            let reach = self.reach(group)?;
            let mut most = rest;
            for (times, gate) in &losses {
                most = &most + &(times * &self.inside_of(group, gate, &reach));
            }
            let ends = part.gate.inside(&reach).into_iter().chain([reach.lo, reach.hi]);
            most = &most + &ends.map(|end| part.gate.value(&end).abs()).fold(Dyadic::ZERO, Dyadic::max);
            most = &most * &(&Dyadic::ONE + &self.gate_factor());
            if let Some(lost) = lost.get_mut(place) {
                *lost = up(&(&*lost + &most));
            }
        }
        Ok(())
    }

    /// What the units of a register add less what stands for the other curves there, all of which are known.
    fn without<'m>(
        &self,
        layer: Units<'_>,
        curves: &[Curve<'m>],
        models: &[Model<'m>],
        (at, register): (usize, &Written),
    ) -> Result<Model<'m>, Stop> {
        let curve = curves.get(at).ok_or_else(|| line("a curve that is not there"))?;
        let gate = self.shared_gate(layer, curve, register)?;
        let [own] = gate.parts.as_slice() else { return Err(line("a curve of several arguments")) };
        let group = layer.groups.get(own.group).ok_or_else(|| line("a group that does not exist"))?;
        let reach = widened(&self.reach(group)?, &Dyadic::ONE);
        let (mut units, function, group) = (own.units.clone(), own.function.clone(), own.group);
        let (mut rest, mut losses, mut base) = (Dyadic::ZERO, Vec::new(), own.gate.base.clone());
        for model in models {
            let other = curves.get(model.curve).ok_or_else(|| line("a curve that is not there"))?;
            let factor = register.form.factor(other.made.wire);
            if factor.is_zero() {
                continue;
            }
            let times = factor.over(&model.factor).ok_or_else(|| line("a factor of 0"))?;
            let (near, size) = (times.range().tidy().lo, times.range().size());
            units.extend(model.part.units.iter().map(|unit| Unit { weight: -&(&unit.weight * &near), ..unit.clone() }));
            base = &base - &(&model.part.gate.base * &near);
            // What is left of the factor, times the largest value.
            let most = &model.part.gate.active(&reach).heights + &model.part.gate.base.abs();
            let left = &times.minus(&Ratio::of(&near)).range().size() * &most;
            rest = up(&(&rest + &(&left + &(&size * &model.rest))));
            losses.extend(model.losses.iter().map(|(times, gate)| (up(&(times * &size)), Rc::clone(gate))));
        }
        let factor = gate.factor.clone();
        losses.push((Dyadic::ONE, Rc::new(gate)));
        let mut gate = Piecewise::new(&units);
        gate.base = base;
        let part = Part { function, gate, units, group };
        Ok(Model { curve: at, factor, part, losses, rest })
    }

    /// A curve's units in a register, with all others that read the same argument.
    fn shared_gate<'m>(&self, layer: Units<'_>, curve: &Curve<'m>, register: &Written) -> Result<Gate<'m>, Stop> {
        let parts = Self::parts(layer.groups, layer.rows, layer.gains, curve.made, register)?;
        let company = self.company(layer.groups, layer.rows, layer.gains, &parts, register)?;
        let factor = register.form.factor(curve.made.wire);
        Ok(Gate { made: curve.made, factor, parts, company, exact: register.exact })
    }

    /// Curves that are not told apart: what is computed is what is meant, and registers have lost the rest.
    fn as_meant(
        &mut self,
        layer: Units<'_>,
        (curves, written): (&[Curve<'_>], &[Written]),
        lost: &mut [Dyadic],
    ) -> Result<(), Stop> {
        for curve in curves {
            let Some(Wire::Curve { of, .. }) = self.hints.wires.get(curve.made.wire) else { continue };
            let over = self.range(of)?;
            let range = self.values(curve.function, &over)?;
            let error = Profile::Constant(Dyadic::ZERO);
            self.make(curve.made.wire, Known { range, error, most: Dyadic::ZERO, tooth: Dyadic::ZERO })?;
        }
        for (at, register) in written.iter().enumerate() {
            let mut sum = vec![Word::Number(Ratio::ZERO)];
            let mut kappa = Ratio::ZERO;
            let held: Vec<&Curve<'_>> = curves.iter().filter(|curve| holds(register, curve)).collect();
            for curve in &held {
                let factor = register.form.factor(curve.made.wire);
                kappa = kappa.plus(&factor.times(&curve.kappa));
                sum.extend(curve.function.iter().cloned());
                sum.extend([Word::Number(factor), Word::Binary(Binary::Mul), Word::Binary(Binary::Add)]);
            }
            let Some(first) = held.first() else { continue };
            let gate = self.shared_gate(layer, first, register)?;
            let [part] = gate.parts.as_slice() else { return Err(line("a curve of several arguments")) };
            let fit = Fit { part, factor: Range::whole(1), kappa: kappa.range(), function: &sum };
            let (cells, _) = self.cells(layer.groups, (&fit, &[(Dyadic::ONE, &gate)]), FEW_PARTS)?;
            let factor = self.gate_factor();
            let off = |cell: super::profile::Cell| {
                let all = (&cell.values + &kappa.range()).size();
                &cell.error + &(&factor * &(&all + &cell.error))
            };
            let most = cells.into_iter().map(off).fold(Dyadic::ZERO, Dyadic::max);
            if let Some(lost) = lost.get_mut(at) {
                *lost = up(&(&*lost + &most));
            }
        }
        Ok(())
    }

    /// All values of a function, part by part of an interval.
    fn values(&mut self, function: &[Word], over: &Range) -> Result<Range, Stop> {
        let share = Range::point(&over.hi - &over.lo).over(&Range::whole(INTERVALS));
        let step = share.ok_or_else(|| line("a curve of no argument"))?.hi;
        let mut all: Option<Range> = None;
        for k in 0..INTERVALS {
            self.spend(function.len())?;
            // The ends are rounded up: parts overlap, or leave nothing between them.
            let end = |k: usize| (&over.lo + &(&step * &Range::whole(k).lo)).min(over.hi.clone());
            let here = jet(function, &Range { lo: end(k), hi: end(k.saturating_add(1)) })?.value;
            all = Some(all.map_or(here.clone(), |all| all.hull(&here)));
        }
        all.ok_or_else(|| line("a curve of no argument"))
    }
}

fn holds(register: &Written, curve: &Curve<'_>) -> bool {
    !register.form.factor(curve.made.wire).is_zero()
}
