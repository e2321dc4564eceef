//! Rule *cases*: a sum of which no more than one term is on.
//!
//! `C = c + Σ_k a_k s_k`, where `s_k` is `condition · value`, or a condition itself, and the conditions add up to 0 or 1 at every token. So
//! `C` is `c`, or one `c + a_k value_k`; it is off by no more than that term is, and all others where they are off. It stands in no register,
//! and a form over it stands for one over the terms.

use super::normal::{Polynomial, Things};
use super::profile::{Profile, up};
use super::{Form, Known, Prover, Stop, declined, line};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::read::certificate::{Meanings, Wire};

/// Shows of all wires of cases that no more than one is on, from the normal forms of earlier wires.
pub(super) fn one_at_most(hints: &Meanings, things: &Things, wires: &[Polynomial]) -> Result<(), Stop> {
    for (number, wire) in hints.wires.iter().enumerate() {
        let Wire::Cases(form) = wire else { continue };
        let mut sum = Polynomial::new();
        for term in form.terms.keys() {
            let condition = match hints.wires.get(*term) {
                Some(Wire::Select { condition, .. }) => Things::form(condition, wires),
                _ => Things::form(&Form::of(*term), wires),
            };
            let condition = condition.map_err(declined)?;
            if !zero_to_one(things, &condition) {
                return Err(line(format!("wire {number}: a case that is neither 0 nor 1")));
            }
            sum = Things::plus(&sum, &Ratio::ONE, &condition).map_err(declined)?;
        }
        if !zero_to_one(things, &sum) {
            return Err(declined(format!("wire {number}: more than one case is not excluded")));
        }
    }
    Ok(())
}

fn zero_to_one(things: &Things, p: &Polynomial) -> bool {
    things.integers(p).is_some_and(|(lo, hi)| lo >= 0 && hi <= 1)
}

impl Prover<'_> {
    /// Makes the wires of cases whose terms have been made.
    pub(super) fn cases(&mut self) -> Result<(), Stop> {
        let hints = self.hints;
        for (number, wire) in hints.wires.iter().enumerate() {
            let Wire::Cases(form) = wire else { continue };
            let made = |wire: &usize| self.wires.get(*wire).is_some_and(Option::is_some);
            if made(&number) || !form.terms.keys().all(made) {
                continue;
            }
            let offset = form.offset.range();
            let (mut range, mut on, mut off) = (offset.clone(), Dyadic::ZERO, Dyadic::ZERO);
            for (term, factor) in &form.terms {
                let (known, factor) = (self.known(*term)?, factor.range());
                let values = match hints.wires.get(*term) {
                    Some(Wire::Select { value, .. }) => self.range(value)?,
                    _ => Range::ZERO.hull(&Range::whole(1)),
                };
                range = range.hull(&(&offset + &(&factor * &values)));
                on = on.max(up(&(&factor.size() * &known.most)));
                let silent = self.whole.off.get(term).unwrap_or(&known.most);
                off = up(&(&off + &(&factor.size() * silent)));
            }
            let most = up(&(&on + &off));
            self.make(
                number,
                Known { range: range.tidy(), error: Profile::Constant(most.clone()), most, tooth: Dyadic::ZERO },
            )?;
        }
        Ok(())
    }
}
