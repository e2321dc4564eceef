//! Heads without scores: means over all tokens.
//!
//! All scores are 0, so all weights are `fl(1/n)`, and `H = Σ_k fl(1/n) fl(v z_k)` is the mean of what is read up to
//! `γ_{n+1}` of the mean size. Errors of what is averaged are averaged as well: with a concave `ê ≥ e`, their mean is at
//! most `ê(mean)` (Jensen), which is a function of the value of the mean itself.

use super::profile::{Mean, Profile, up};
use super::{Known, Prover, Register, Stop, declined, is_power_of_two, line};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::sum::Row;
use crate::read::certificate::{Layer, Made, Source, Wire};
use crate::read::weights::Head;

impl Prover<'_> {
    /// Proves the lines behind a layer of heads.
    pub(super) fn heads(&mut self, heads: &[Head], hint: &Layer) -> Result<(), Stop> {
        self.registers_exist(hint)?;
        // Every value that is written belongs to one wire.
        let mut owners: Vec<((usize, usize), &Made)> = Vec::new();
        for made in &hint.made {
            let Source::Head(head, value) = made.source else { return Err(line("a gate in a layer of heads")) };
            if owners.iter().any(|(place, _)| *place == (head, value)) {
                return Err(line(format!("two wires are value {value} of head {head}")));
            }
            owners.push(((head, value), made));
        }
        for (number, head) in heads.iter().enumerate() {
            is_uniform(head)?;
            // Queries, keys and values are computed, whether they are used or not: 0 times infinity is no number.
            for row in head.q.iter().chain(&head.k).chain(&head.v) {
                let reading = self.read(&row.weights)?;
                let all = &reading.size + &row.bias.abs();
                self.note(&(&all + &all));
            }
            let written = head.o.iter().flat_map(|row| &row.weights).map(|(value, _)| *value);
            for value in written {
                if !owners.iter().any(|(place, _)| *place == (number, value)) {
                    return Err(line(format!(
                        "value {value} of head {number} is written, and no line says what it is"
                    )));
                }
            }
        }
        // What is written into each register: wires, with the factor that the line says and the one of the weights.
        let places = 0..self.registers.len();
        let mut lost: Vec<Option<(super::Form, Dyadic)>> = vec![None; self.registers.len()];
        let mut terms: Vec<usize> = Vec::new();
        for place in places.clone() {
            let row = |head: &Head| head.o.get(place).map_or(0, |row: &Row| row.weights.len());
            terms.push(heads.iter().map(row).fold(0, usize::saturating_add));
        }
        for place in places {
            let Some(register) = self.registers.get(place).cloned() else { continue };
            let wanted = self.line_of(hint, place)?.unwrap_or_else(|| register.form.clone());
            let mut expected = register.form.clone();
            for made in &hint.made {
                expected = expected.plus(&wanted.factor(made.wire), &self.lowered(&made.adds)?);
            }
            if expected != wanted {
                return Err(line(format!("register {place} does not hold what was there and what the heads add")));
            }
            let count = terms.get(place).copied().unwrap_or(0);
            if count > 0 {
                let more = if register.empty { register.lost.clone() } else { self.held(&register)? };
                let all = count.saturating_add(usize::from(!register.empty));
                let rounded = if register.empty { more.clone() } else { &self.gamma(all) * &more };
                self.note_sum(heads, place, &more)?;
                if let Some(entry) = lost.get_mut(place) {
                    *entry = Some((wanted, &(&register.lost + &rounded) + &self.tiny(all)));
                }
            } else if wanted != register.form {
                return Err(line(format!("register {place} changes, and no head writes there")));
            }
        }
        for ((number, value), made) in owners {
            let head = heads.get(number).ok_or_else(|| line(format!("there is no head {number}")))?;
            let more = self.mean(head, value, made, hint, &terms)?;
            for (place, more) in more {
                if let Some((_, lost)) = lost.get_mut(place).and_then(Option::as_mut) {
                    *lost = &*lost + &more;
                }
            }
        }
        for (place, change) in lost.into_iter().enumerate() {
            if let Some((form, lost)) = change {
                self.hold(place, Register { form, lost, sign: None, empty: false })?;
            }
        }
        Ok(())
    }

    /// Remembers how large the sum of a register gets, with what was there.
    fn note_sum(&mut self, heads: &[Head], place: usize, before: &Dyadic) -> Result<(), Stop> {
        let mut sum = before.clone();
        for head in heads {
            for (value, weight) in head.o.get(place).map_or(&[][..], |row| &row.weights) {
                let row = head.v.get(*value).ok_or_else(|| line(format!("there is no value {value}")))?;
                sum = up(&(&sum + &(&weight.abs() * &self.read(&row.weights)?.size)));
            }
        }
        self.note(&(&sum + &sum));
        Ok(())
    }

    /// Makes a wire that is a mean; what each register but the first loses for it.
    fn mean(
        &mut self,
        head: &Head,
        value: usize,
        made: &Made,
        hint: &Layer,
        terms: &[usize],
    ) -> Result<Vec<(usize, Dyadic)>, Stop> {
        let wire = made.wire;
        let Some(Wire::Mean { scale, of }) = self.hints.wires.get(wire) else {
            return Err(line(format!("wire {wire} is made by a head, and is no mean")));
        };
        let shift = made.adds.minus(&super::Form::of(wire));
        if !shift.terms.is_empty() || scale.is_zero() {
            return Err(line(format!("wire {wire}: a head adds the mean and a number, no more")));
        }
        let row = head.v.get(value).ok_or_else(|| line(format!("there is no value {value}")))?;
        let reading = self.read(&row.weights)?;
        // What is averaged is scale · of + shift.
        let wanted = of.scaled(scale).plus(&Ratio::ONE, &super::Form::number(shift.offset.clone()));
        let (off, rest) = self.apart(&reading.form, &self.lowered(&wanted)?)?;
        let read = if reading.single {
            self.tiny(1)
        } else {
            &(&self.gamma(reading.count) * &reading.size) + &self.tiny(reading.count)
        };
        // Every product of a weight and a value may be flushed.
        let flushed = self.tiny(self.tokens.saturating_add(reading.count));
        let fixed = &(&(&(&reading.lost + &rest) + &off.abs()) + &read) + &flushed;
        // Weights and sum; then the product with o and the sum of the register; and o itself, beside the line's factor.
        let (mut theta, mut more, mut first) = (Dyadic::ZERO, Vec::new(), true);
        let mut factors: Vec<(usize, Ratio)> = Vec::new();
        for (place, form) in &hint.holds {
            let factor = self.lowered(form)?.factor(wire);
            if !factor.is_zero() {
                factors.push((*place, factor));
            }
        }
        for (place, output) in head.o.iter().enumerate() {
            let written = output.weights.iter().find(|(at, _)| *at == value).map(|(_, weight)| weight.clone());
            let factor = factors.iter().find(|(at, _)| *at == place).map(|(_, factor)| factor.clone());
            let (written, factor) = match (written, factor) {
                (None, None) => continue,
                (Some(written), Some(factor)) => (written, factor),
                _ => return Err(line(format!("register {place}: the line and the weights differ on wire {wire}"))),
            };
            let many = terms.get(place).copied().unwrap_or(0);
            let empty = self.registers.get(place).is_some_and(|register| register.empty);
            let sum = many.saturating_add(usize::from(!empty));
            let sums = if sum == 1 && is_power_of_two(&written) { 0 } else { sum };
            let tokens = self.tokens.saturating_add(1).saturating_add(sums);
            let exact = Ratio::of(&written).over(&factor).unwrap_or(Ratio::ZERO).minus(&Ratio::ONE);
            let odd = exact.range().size();
            let here = &self.gamma(tokens) + &(&odd * &(&Dyadic::ONE + &self.gamma(tokens)));
            if first {
                theta = here;
                first = false;
            } else {
                let size = &(&reading.size + &read) + &flushed;
                let flushed = &written.abs() * &(&flushed + &flushed);
                more.push((place, up(&(&(&(&(&here + &theta) * &size) * &factor.range().size()) + &flushed))));
            }
        }
        let size = reading.size.clone();
        self.note(&(&size * &Range::whole(self.tokens).hi));
        let known = self.averaged(of, scale, &shift.offset, &fixed, &theta, &size)?;
        self.make(wire, known)?;
        Ok(more)
    }

    /// What is known of `scale · mean(of)`, with errors of `fixed` and, relative to the mean size of what is averaged,
    /// `theta`.
    fn averaged(
        &self,
        of: &super::Form,
        scale: &Ratio,
        shift: &Ratio,
        fixed: &Dyadic,
        theta: &Dyadic,
        size: &Dyadic,
    ) -> Result<Known, Stop> {
        let (factor, inner) = (scale.range(), self.range(of)?);
        let mut range = (&factor * &inner).tidy();
        if let Some(spread) = self.variance(of) {
            range = range.meet(&(&factor * &spread));
        }
        let grown = &Dyadic::ONE + theta;
        // The sizes: of one sign, their mean is the size of the mean, but for the errors.
        let averaged = &(&factor * &inner) + &shift.range();
        let one_sign = !averaged.lo.is_negative() || averaged.hi <= Dyadic::ZERO;
        let (relative, flat) = if one_sign { (theta.clone(), Dyadic::ZERO) } else { (Dyadic::ZERO, theta * size) };
        let fixed = up(&(&(fixed * &grown) + &flat));
        let centre = -&shift.range();
        let (hull, scale, offset) = if let Some((wire, inside)) = of.single() {
            let known = self.known(wire)?;
            // The mean of `of` is inside · mean(wire) + offset.
            let whole = &factor * &inside.range();
            (known.error.hull(&known.range), whole, (&factor * &of.offset.range()).tidy())
        } else {
            let error = self.error(of)?;
            let ends = [inner.lo.clone(), inner.hi.clone()].map(|end| [end, error.clone()]);
            (ends.into(), factor.clone(), Range::ZERO)
        };
        let profile = if offset == Range::ZERO {
            Profile::Mean(Box::new(Mean { hull, slope: up(&(&scale.size() * &grown)), scale, fixed, relative, centre }))
        } else {
            let most = hull.iter().map(|corner| corner[1].clone()).fold(Dyadic::ZERO, Dyadic::max);
            let far = (&range - &centre).size();
            Profile::Constant(up(&(&(&fixed + &(&relative * &far)) + &(&(&scale.size() * &grown) * &most))))
        };
        let most = profile.most(&range);
        Ok(Known { range, error: profile, most, tooth: Dyadic::ZERO })
    }

    /// The variance lemma: the mean of `(c(M - mean M))²` is at most `c²(h - l)²/4` for `M` in `[l, h]`.
    fn variance(&self, of: &super::Form) -> Option<Range> {
        let (factor, form) = self.centred_square(of.bare()?)?;
        let range = self.range(&form).ok()?;
        let width = Range { lo: Dyadic::ZERO, hi: &range.hi - &range.lo };
        let half = (&width * &factor.range()).power(2)?;
        let quarter = &half * &Range::point(Dyadic::power_of_two(-2));
        Some(Range { lo: Dyadic::ZERO, hi: quarter.hi })
    }

    /// If a wire is the square of `c(M - mean M)`: `c` and `M`.
    pub(super) fn centred_square(&self, wire: usize) -> Option<(Ratio, super::Form)> {
        let (a, b) = match self.hints.wires.get(wire)? {
            Wire::Curve { of, function } if super::teeth::is_square(function) => (of, of),
            Wire::Product(a, b) | Wire::Teeth { factors: [a, b], .. } => (a, b),
            _ => return None,
        };
        if a != b {
            return None;
        }
        a.terms.iter().find_map(|(mean, factor)| match self.hints.wires.get(*mean)? {
            Wire::Mean { scale, of } if *scale == Ratio::ONE => {
                let rest = a.plus(&factor.negative(), &super::Form::of(*mean));
                (rest == of.scaled(&factor.negative())).then(|| (factor.clone(), of.clone()))
            }
            _ => None,
        })
    }
}

/// Proves that all scores of a head are 0, and that it sees all tokens.
fn is_uniform(head: &Head) -> Result<(), Stop> {
    let zero = |rows: &[Row]| rows.iter().all(Row::is_zero);
    if !zero(&head.q) && !zero(&head.k) {
        return Err(declined("a head with scores, in the supremum norm over a box"));
    }
    if head.mask.hides() {
        return Err(declined("a head with a mask, in the supremum norm over a box"));
    }
    Ok(())
}
