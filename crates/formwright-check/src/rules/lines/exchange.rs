//! Rule *exchange*: the larger of two numbers `a` and `b` at some positions, the smaller at the others.
//!
//! The gate reads `t = b - a + d`, `d` a number of the position, and adds the exchange less `a`: where the larger one is
//! kept its units stand for `R(t - d)`, elsewhere for `-R(d - t)`. With `â` and `b̂` for `a` and `b`, and all that reading
//! is off by on the side of `b̂`,
//!
//! ```text
//! |max(â, b̂ + δ) - max(a, b)| ≤ max(|â - a|, |b̂ - b|) + |δ|,        and so of the smaller
//! ```
//!
//! since `max` grows with both, and by no more than they do. What is computed of the wire is what its only register holds:
//! what that has lost is its error, and of the register nothing is lost.

use super::layer::{Gate, Group, Written, shared, widened};
use super::profile::{Profile, up};
use super::{Form, Known, Prover, Stop, declined, line};
use crate::kernel::number::{Dyadic, Range, Ratio};

impl Prover<'_> {
    /// A wire that is an exchange, before it is charged with what its register loses.
    pub(super) fn exchange(
        &mut self,
        groups: &[Group],
        gate: &Gate<'_>,
        [side, own, other]: [&Form; 3],
    ) -> Result<Known, Stop> {
        let wire = gate.made.wire;
        let [part] = gate.parts.as_slice() else { return Err(line("an exchange reads one number")) };
        let group = groups.get(part.group).ok_or_else(|| line("a group that does not exist"))?;
        let argument = group.argument.clone().ok_or_else(|| line("an exchange without an argument"))?;
        let kappa = gate.made.adds.minus(&Form::of(wire)).plus(&Ratio::ONE, own);
        if !kappa.terms.is_empty() {
            return Err(line(format!(
                "wire {wire}: what is added is not the exchange less its own number, and a number"
            )));
        }
        if self.is_housed() {
            return Err(declined(format!("wire {wire}: there is no rule for an exchange in a host")));
        }
        let between = other.minus(own);
        let cases = self.exchange_cases(wire, side, &argument.form.minus(&between))?;
        let (of_own, of_other) = (self.error(own)?, self.error(other)?);
        let error = &(&of_own + &of_other) + &argument.off;
        let (range, factor) = (self.range(&between)?, gate.factor.range());
        let mut most = Dyadic::ZERO;
        for (larger, read) in cases {
            let read = read.range();
            if !read.is_point() {
                return Err(declined(format!("wire {wire}: a number of the position that no format has")));
            }
            let reached = widened(&(&range + &read), &error);
            let mut points = vec![reached.lo.clone(), reached.hi.clone()];
            points.extend(part.gate.inside(&reached));
            points.extend(Some(read.lo.clone()).filter(|kink| reached.lo < *kink && *kink < reached.hi));
            self.spend(points.len())?;
            let apart = |t: &Dyadic| {
                let beyond = &Range::point(t.clone()) - &read;
                let meant = if larger { beyond.max(&Range::ZERO) } else { -&(-&beyond).max(&Range::ZERO) };
                (&Range::point(part.gate.value(t)) - &(&factor * &(&meant + &kappa.offset.range()))).size()
            };
            let apart = points.iter().map(apart).fold(Dyadic::ZERO, Dyadic::max);
            let inside = self.inside(group, (&part.function, &widened(&reached, &group.slack)), gate.company);
            let inside = if gate.exact { Dyadic::ZERO } else { inside };
            most = most.max(&apart + &inside);
        }
        let own_loss = &shared(&most, &factor.absolute().lo)? + &argument.off;
        let most = up(&(&of_own.max(of_other) + &own_loss));
        let range = self.range(own)?.hull(&self.range(other)?);
        Ok(Known { range, error: Profile::Constant(most.clone()), most, tooth: Dyadic::ZERO })
    }

    /// For every position, without repetitions, whether the larger number is kept, and what is read besides `b - a`.
    fn exchange_cases(&self, wire: usize, side: &Form, read: &Form) -> Result<Vec<(bool, Ratio)>, Stop> {
        let open = || declined(format!("wire {wire}: an exchange by more than positions"));
        let (sides, read) = (self.by_position(side).ok_or_else(open)?, self.by_position(read).ok_or_else(open)?);
        if sides.len() != read.len() {
            return Err(line("positions of different numbers"));
        }
        let mut cases: Vec<(bool, Ratio)> = Vec::new();
        for (side, read) in sides.into_iter().zip(read) {
            if side != Ratio::ZERO && side != Ratio::ONE {
                return Err(line(format!("wire {wire}: a side that is neither 0 nor 1")));
            }
            let case = (side == Ratio::ONE, read);
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        Ok(cases)
    }

    /// An exchange, charged with what the register has lost that holds it: the only one, and nothing else is in it.
    pub(super) fn charged(known: Known, wire: usize, written: &[Written], lost: &mut [Dyadic]) -> Result<Known, Stop> {
        let mut holders = written.iter().zip(lost.iter_mut()).filter(|(held, _)| !held.form.factor(wire).is_zero());
        let (Some((holder, lost)), None) = (holders.next(), holders.next()) else {
            return Err(declined(format!("wire {wire}: an exchange in several registers")));
        };
        let (_, factor) = holder
            .form
            .single()
            .ok_or_else(|| declined(format!("wire {wire}: an exchange in a register with something else")))?;
        let lost = std::mem::replace(lost, Dyadic::ZERO);
        let most = up(&(&known.most + &shared(&lost, &factor.range().absolute().lo)?));
        Ok(Known { error: Profile::Constant(most.clone()), most, ..known })
    }
}
