//! Rule *hub*: one token adds up for all, and all others see it.
//!
//! ```text
//! hub   sees all tokens, and every other token itself alone: the mean of what is read at that token, and what is read
//!       at all others, where the weight of one key is 1
//! all   see that token alone: what it holds, with the weight 1. So it is the mean, and as far off as it is there
//! ```

use super::head::Scored;
use super::profile::{Profile, up};
use super::uniform::Taken;
use super::{Form, Known, Prover, Stop, declined, line};
use crate::kernel::number::{Dyadic, Ratio};
use crate::read::certificate::{Mask, Wire};

impl Prover<'_> {
    /// True if one token sees all tokens, and every other one itself alone.
    fn adds_up(&self, mask: &Mask, hub: usize) -> bool {
        let wanted = |t: usize, k: usize| t == hub || k == t;
        self.connected_so(mask, wanted)
    }

    /// True if the connections of a layer are these.
    fn connected_so(&self, mask: &Mask, wanted: impl Fn(usize, usize) -> bool) -> bool {
        let Some(pairs) = &mask.connections else { return false };
        let count = (0..self.tokens).map(|t| (0..self.tokens).filter(|k| wanted(t, *k)).count());
        self.fixed
            && mask.limits == [None; 4]
            && pairs.iter().all(|(t, k)| *t < self.tokens && *k < self.tokens && wanted(*t, *k))
            && count.fold(0, usize::saturating_add) == pairs.len()
    }

    /// The token that all tokens see alone, if there is one.
    pub(super) fn seen_by_all(&self, mask: &Mask) -> Option<usize> {
        let hub = mask.connections.as_ref()?.first().map(|(_, k)| *k)?;
        self.connected_so(mask, |_, k| k == hub).then_some(hub)
    }

    /// A wire of a head by which one token adds up.
    pub(super) fn gathered(
        &mut self,
        wire: usize,
        head: &Scored<'_>,
        (hub, scale, of): (usize, &Ratio, &Form),
        shift: &Ratio,
        (taken, theta): (&Taken, &Dyadic),
    ) -> Result<Known, Stop> {
        if !self.adds_up(&head.head.mask, hub) {
            return Err(line(format!("wire {wire}: token {hub} is no hub of what the head sees")));
        }
        if scale.is_zero() {
            return Err(line("a mean times 0"));
        }
        let Taken { reading, read, flushed, .. } = taken;
        let wanted = of.scaled(scale).plus(&Ratio::ONE, &Form::number(shift.clone()));
        let (off, rest) = self.apart(&reading.form, &self.lowered(&wanted)?)?;
        let fixed = &(&(&(&reading.lost + &rest) + &off.abs()) + read) + flushed;
        let there = self.averaged((of, scale), shift, &fixed, theta, &reading.size, self.variance(of))?;
        // Elsewhere it is what is read, but for what is rounded where it is written.
        let own = &fixed + &(&scale.range().size() * &self.error(of)?);
        let own = up(&(&own + &(theta * &(&reading.size + &own))));
        let most = own.max(there.most.clone());
        self.hubs.insert(wire, there);
        let range = (&scale.range() * &self.range(of)?).tidy();
        Ok(Known { range, error: Profile::Constant(most.clone()), most, tooth: Dyadic::ZERO })
    }

    /// A mean that a hub hands on to all tokens.
    pub(super) fn handed_on(
        &mut self,
        wire: usize,
        hub: usize,
        (of, scale): (&Form, &Ratio),
        shift: &Ratio,
        (taken, theta): (&Taken, &Dyadic),
    ) -> Result<Known, Stop> {
        let Taken { reading, read, flushed, .. } = taken;
        let missing = || declined(format!("wire {wire}: token {hub} does not hand on what it has added up"));
        let linear = Form { offset: Ratio::ZERO, terms: reading.form.terms.clone() };
        let Some((gathered, factor)) = linear.single() else { return Err(missing()) };
        let Some(Wire::Hub { token, scale: inner, of: averaged }) = self.hints.wires.get(gathered) else {
            return Err(missing());
        };
        if *token != hub || averaged.scaled(&inner.times(factor)) != of.scaled(scale) {
            return Err(line(format!("wire {wire}: another mean than the hub has")));
        }
        let known = self.hubs.get(&gathered).ok_or_else(missing)?;
        let off = reading.form.offset.minus(shift).range().size();
        let more = &(&(&reading.lost + &off) + read) + flushed;
        let more = &more + &(theta * &(&reading.size + &more));
        let (range, error) = if *factor == Ratio::ONE {
            (known.range.clone(), known.error.raised(&more))
        } else {
            let times = factor.range();
            let most = up(&(&(&times.size() * &known.most) + &more));
            ((&times * &known.range).tidy(), Profile::Constant(most))
        };
        let most = error.most(&range);
        Ok(Known { range, error, most, tooth: Dyadic::ZERO })
    }
}
