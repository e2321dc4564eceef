//! Rule *selection*: `condition · value`, where the condition is 0 or 1: by position, or at every token.
//!
//! The gate reads `u = value + d(t)`, and adds `condition · value + q(t)`, where `d` and `q` are numbers of the position.
//! So at a token where the condition is 1 its units stand for `u - d(t) + q(t)`, and elsewhere for `q(t)`, on the range of
//! the value plus `d(t)`: as in the rule *curve*. A condition at every token takes the place of the position: `d` and `q` are numbers with a multiple
//! of it, and what is added of it is charged with its error.

use super::curve::PARTS;
use super::layer::{Fit, Gate, Group, shared, widened};
use super::points::Sides;
use super::profile::{Profile, up};
use super::{Form, Known, Prover, Stop, declined, line};
use crate::kernel::function::Word;
use crate::kernel::number::{Dyadic, Range, Ratio};

impl Prover<'_> {
    /// A wire that is a selection.
    pub(super) fn select(
        &mut self,
        groups: &[Group],
        gate: &Gate<'_>,
        condition: &Form,
        value: &Form,
    ) -> Result<Known, Stop> {
        let wire = gate.made.wire;
        let [part] = gate.parts.as_slice() else { return Err(line("a selection reads one number")) };
        let group = groups.get(part.group).ok_or_else(|| line("a group that does not exist"))?;
        let argument = group.argument.clone().ok_or_else(|| line("a selection without an argument"))?;
        let (read, added) = (argument.form.minus(value), gate.made.adds.minus(&Form::of(wire)));
        let sides = match self.by_position(condition) {
            Some(holds) => Sides { cases: self.placed_cases(wire, holds, &read, &added)?, share: Ratio::ZERO },
            None => self.sides(condition, &read, &added)?.ok_or_else(|| {
                declined(format!("wire {wire}: a selection by what is not shown to be 0 or 1, or reads more than that"))
            })?,
        };
        let range = self.range(value)?;
        let factor = gate.factor.range();
        let (mut most, mut all) = (Dyadic::ZERO, None::<Range>);
        let mut silent = Dyadic::ZERO;
        for (holds, read, added) in sides.cases {
            let (function, kappa) = if holds {
                (vec![Word::Variable], added.minus(&read))
            } else {
                (vec![Word::Number(Ratio::ZERO)], added)
            };
            let fit = Fit { part, factor: factor.clone(), kappa: kappa.range(), function: &function };
            let over = (&range + &read.range()).tidy();
            for piece in self.pieces(&fit, &over, PARTS)? {
                let error = &self.error(&argument.form)? + &argument.off;
                let reached = widened(&piece.argument, &error);
                let reading = (&part.function, &widened(&reached, &group.slack));
                let inside = self.inside(group, reading, gate.company);
                let inside = if gate.exact { Dyadic::ZERO } else { inside };
                let moved = &part.gate.steepest(&reached) * &error;
                let off = &(&moved + &piece.apart.size()) + &inside;
                if !holds {
                    silent = silent.max(off.clone());
                }
                most = most.max(off);
            }
            let values = if holds { range.clone() } else { Range::ZERO };
            all = Some(all.map_or(values.clone(), |all| all.hull(&values)));
        }
        // What is added of the condition is what is computed of it.
        let shared_condition = &sides.share.range().size() * &self.error(condition)?;
        let in_all = |off: &Dyadic| Ok::<_, Stop>(up(&(&shared(off, &factor.absolute().lo)? + &shared_condition)));
        let most = in_all(&most)?;
        self.whole.off.insert(wire, in_all(&silent)?);
        let range = all.ok_or_else(|| line("a selection of no positions"))?;
        Ok(Known { range, error: Profile::Constant(most.clone()), most, tooth: Dyadic::ZERO })
    }

    /// The cases of a condition on the position: what is read besides the value, and what is added besides the wire.
    fn placed_cases(
        &self,
        wire: usize,
        holds: Vec<Ratio>,
        read: &Form,
        added: &Form,
    ) -> Result<Vec<(bool, Ratio, Ratio)>, Stop> {
        let by_position = |form: &Form| {
            self.by_position(form).ok_or_else(|| declined(format!("wire {wire}: a selection by more than positions")))
        };
        let (read, added) = (by_position(read)?, by_position(added)?);
        if holds.len() != read.len() || holds.len() != added.len() {
            return Err(line("positions of different numbers"));
        }
        let mut cases: Vec<(bool, Ratio, Ratio)> = Vec::new();
        for ((holds, read), added) in holds.into_iter().zip(read).zip(added) {
            if holds != Ratio::ZERO && holds != Ratio::ONE {
                return Err(line(format!("wire {wire}: a condition that is neither 0 nor 1")));
            }
            let case = (holds == Ratio::ONE, read, added);
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        Ok(cases)
    }
}
