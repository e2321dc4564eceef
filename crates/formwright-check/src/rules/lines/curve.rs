//! Rule *curve*: units that read one number are a piecewise linear `P` of it, and `P` is near a function of the language.
//!
//! ```text
//! |P(t̂)/c - (f(t) + κ)| ≤ sup|P'|/|c| · e + |P(t)/c - f(t) - κ|,    cell by cell of t
//! ```
//!
//! On a cell without knots `P` is a line, and the last term is bounded by its ends and `½(t - a)(b - t) f''`; where `f`
//! bends without bound the cell is halved, and in the end bounded by enclosures of both.

use super::layer::{Fit, Gate, Group, shared, widened};
use super::profile::Cell;
use super::teeth::is_tooth;
use super::{Known, Prover, Stop, declined, line};
use crate::kernel::function::{Jet, Word, evaluate};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::read::certificate::Wire;

/// Parts into which a piece of a curve is cut: a power of two.
pub(super) const PARTS: i64 = 4;

/// How often a cell is halved where the curve bends without bound.
const HALVINGS: usize = 60;

/// A piece of a curve.
pub(super) struct Piece {
    /// The argument.
    pub(super) argument: Range,
    /// The range of the meant value there.
    pub(super) values: Range,
    /// The computed value less the meant one.
    pub(super) apart: Range,
}

impl Prover<'_> {
    /// A wire that is a curve.
    pub(super) fn curve(
        &mut self,
        groups: &[Group],
        gate: &Gate<'_>,
        function: &[Word],
        kappa: &Ratio,
    ) -> Result<Known, Stop> {
        let [part] = gate.parts.as_slice() else { return Err(line("a curve of several arguments")) };
        let group = groups.get(part.group).ok_or_else(|| line("a group that does not exist"))?;
        let argument = group.argument.clone().ok_or_else(|| line("a curve without an argument"))?;
        let range = self.range(&argument.form)?;
        let fit = Fit { part, factor: gate.factor.range(), kappa: kappa.range(), function };
        let size = fit.factor.absolute().lo;
        let (cells, inner) = self.cells(groups, (&fit, &[(Dyadic::ONE, gate)]), PARTS)?;
        let mut known = Known::of_cells(cells);
        if is_tooth(function) {
            // Off from the tooth T of what the first of the chain reads: by what is read besides the teeth before, which is `taken`, and by
            // what is lost. |P(t̂) - T(t)| ≤ sup|P'| · taken + |P(t) - T(t)|, where t is meant, given that reading.
            let (mut taken, mut deviation) = (argument.off.clone(), Dyadic::ZERO);
            for (wire, factor) in &argument.form.terms {
                taken = &taken + &(&factor.range().size() * &self.known(*wire)?.tooth);
            }
            // Behind another tooth it is a number of [0, 1], given that what the first of them reads is within its reach: whoever uses this
            // proves that.
            let before = argument.form.bare().filter(
                |wire| matches!(self.hints.wires.get(*wire), Some(Wire::Curve { function, .. }) if is_tooth(function)),
            );
            let meant = if before.is_some() {
                Range::ZERO.hull(&Range::whole(1))
            } else {
                widened(&range, &self.error(&argument.form)?)
            };
            for piece in self.pieces(&fit, &meant, PARTS)? {
                deviation = deviation.max(piece.apart.size());
            }
            let moved = &fit.part.gate.steepest(&widened(&meant, &taken)) * &taken;
            known.tooth = shared(&(&(&moved + &deviation) + &inner), &size)?;
        }
        Ok(known)
    }

    /// How far units are from a curve, cell by cell of its argument, and the most that gates lose by rounding, each so
    /// many times.
    pub(super) fn cells(
        &mut self,
        groups: &[Group],
        (fit, gates): (&Fit<'_>, &[(Dyadic, &Gate<'_>)]),
        parts: i64,
    ) -> Result<(Vec<Cell>, Dyadic), Stop> {
        let group = groups.get(fit.part.group).ok_or_else(|| line("a group that does not exist"))?;
        let argument = group.argument.clone().ok_or_else(|| line("a curve without an argument"))?;
        let (range, size) = (self.range(&argument.form)?, fit.factor.absolute().lo);
        let (mut cells, mut inner) = (Vec::new(), Dyadic::ZERO);
        for piece in self.pieces(fit, &range, parts)? {
            let error = &self.error_over(&argument.form, &piece.argument)? + &argument.off;
            let reached = widened(&piece.argument, &error);
            let mut inside = Dyadic::ZERO;
            for (times, gate) in gates {
                inside = &inside + &(times * &self.inside_of(group, gate, &widened(&reached, &group.slack)));
            }
            let moved = &fit.part.gate.steepest(&reached) * &error;
            let total = &(&moved + &piece.apart.size()) + &inside;
            inner = inner.max(inside);
            let error = shared(&total, &size)?;
            cells.push(Cell { argument: piece.argument, values: piece.values, error });
        }
        Ok((cells, inner))
    }

    /// What the units of a gate of one argument lose by rounding.
    pub(super) fn inside_of(&mut self, group: &Group, gate: &Gate<'_>, reach: &Range) -> Dyadic {
        let inside = gate.parts.iter().map(|part| self.inside(group, (&part.function, reach), gate.company));
        inside.fold(Dyadic::ZERO, |sum, next| &sum + &next)
    }

    /// A piecewise linear function beside a curve, piece by piece of an interval.
    pub(super) fn pieces(&mut self, fit: &Fit<'_>, over: &Range, parts: i64) -> Result<Vec<Piece>, Stop> {
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
        let grows = |first: &Range| !first.lo.is_negative() || first.hi <= Dyadic::ZERO;
        let values = if here.slope.as_ref().is_some_and(grows) { values } else { here.value.clone() };
        let bent = here.bend.map(|second| {
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

/// A function on an interval.
pub(super) fn jet(function: &[Word], at: &Range) -> Result<Jet, Stop> {
    evaluate(function, at).ok_or_else(|| declined(format!("a curve is not shown to be defined on {at}")))
}
