//! Heads. What they write into registers, and the rule *mean*: a head without scores.
//!
//! All scores are 0, so all weights are `fl(1/n)`, where `n` tokens are seen, and `H = Σ_k fl(1/n) fl(v z_k)` is the mean of what is read up to
//! `γ_{n+1}` of the mean size; one token alone has the weight 1. Errors of what is averaged are averaged as well: with a concave `ê ≥ e`, their mean is at
//! most `ê(mean)` (Jensen), which is a function of the value of the mean itself. Heads of other kinds weigh all tokens
//! alike as well (`uniform.rs`): what they read times what their weights add up to is a multiple of what is averaged.

use super::placed::{Apart, Placed};
use super::profile::{Mean, Profile, up};
use super::uniform::{Taken, Uniform};
use super::{Known, Prover, Register, Stop, declined, is_power_of_two, line};
use crate::kernel::function::{Binary, Word};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::softmax::excess;
use crate::kernel::sum::Row;
use crate::read::certificate::{Layer, Made, Mask, Pooled, Source, Wire};
use crate::read::weights::Head;

impl Prover<'_> {
    /// Proves the lines behind a layer of heads.
    pub(super) fn heads(&mut self, heads: &[Head], hint: &Layer) -> Result<(), Stop> {
        let mut kinds = Vec::new();
        for head in heads {
            kinds.push(if is_uniform(head) {
                // In a host every token has a factor of its own.
                let spread = self.value_factor()?;
                Kind::Uniform(Uniform { spread, ..Uniform::mean(self.seen(head)) })
            } else {
                self.shares(head)?.map_or(Kind::Scored, Kind::Placed)
            });
        }
        self.attention(&heads.iter().collect::<Vec<_>>(), &kinds, hint)
    }

    /// The same, where it is known how each head weighs.
    pub(super) fn attention(&mut self, heads: &[&Head], kinds: &[Kind], hint: &Layer) -> Result<(), Stop> {
        self.registers_exist(hint)?;
        if heads.len() != kinds.len() {
            return Err(line("not as many kinds as heads"));
        }
        let uneven = self.heads_write(heads)?;
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
        // Scores that no rule looks at might overflow.
        for (number, kind) in kinds.iter().enumerate() {
            if matches!(kind, Kind::Scored) && !owners.iter().any(|((head, _), _)| *head == number) {
                return Err(declined(format!("head {number} has scores that have no rule")));
            }
        }
        // What is written into each register: wires, with the factor that the line says and the one of the weights.
        let places = 0..self.registers.len();
        let mut lost: Vec<Option<(super::Form, Dyadic)>> = vec![None; self.registers.len()];
        let mut terms: Vec<usize> = Vec::new();
        for place in places.clone() {
            let row = |head: &&Head| head.o.get(place).map_or(0, |row: &Row| row.weights.len());
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
                let more =
                    if register.empty { register.lost.clone() } else { &self.held(&register)? + &self.middles() };
                let all = count.saturating_add(usize::from(!register.empty));
                let rounded = match (register.empty, self.lone(heads, kinds, place)?) {
                    (true, _) => more.clone(),
                    // One rounding of a sum of two.
                    (false, Some(added)) if count == 1 => &self.unit() * &(&more + &added),
                    (false, _) => &self.gamma(all) * &more,
                };
                self.note_sum(heads, kinds, place, &more)?;
                if let Some(entry) = lost.get_mut(place) {
                    *entry = Some((wanted, &(&register.lost + &rounded) + &self.tiny(all)));
                }
            } else if wanted != register.form {
                return Err(line(format!("register {place} changes, and no head writes there")));
            }
        }
        for ((number, value), made) in owners {
            let missing = || line(format!("there is no head {number}"));
            let head = Scored {
                head: heads.get(number).copied().ok_or_else(missing)?,
                kind: kinds.get(number).ok_or_else(missing)?,
                value,
            };
            let more = self.pooled(&head, made, hint, &terms)?;
            for (place, more) in more {
                if let Some((_, lost)) = lost.get_mut(place).and_then(Option::as_mut) {
                    *lost = &*lost + &more;
                }
            }
        }
        for (place, change) in lost.into_iter().enumerate() {
            if let Some((form, lost)) = change {
                self.hold(
                    place,
                    Register { form, lost, sign: None, empty: false, stored: None, values: None },
                    "heads",
                )?;
            }
        }
        self.wrote(&uneven);
        Ok(())
    }

    /// The size of what the only head value that is written into a register adds there, times a power of two.
    fn lone(&self, heads: &[&Head], kinds: &[Kind], place: usize) -> Result<Option<Dyadic>, Stop> {
        let written = heads.iter().zip(kinds).flat_map(|(head, kind)| {
            let row = head.o.get(place).map_or(&[][..], |row| &row.weights);
            row.iter().map(move |(value, weight)| (*head, kind, *value, weight))
        });
        let all: Vec<(&Head, &Kind, usize, &Dyadic)> = written.filter(|_| !self.is_housed()).collect();
        let [(head, kind, value, weight)] = all.as_slice() else { return Ok(None) };
        if !is_power_of_two(weight) {
            return Ok(None);
        }
        let row = head.v.get(*value).ok_or_else(|| line(format!("there is no value {value}")))?;
        let reading = self.reading(&row.weights)?;
        let read = &(&self.gamma(reading.count) * &reading.size) + &self.tiny(reading.count);
        // Weights add up to 1 within the excess, or to what they do, and their sum with values is rounded.
        let one = &Dyadic::ONE;
        let grown = if let Kind::Uniform(uniform) = kind {
            &uniform.weight() * &(one + &self.gamma(uniform.roundings.saturating_add(1)))
        } else {
            let seen = self.seen(head);
            &(one + &excess(seen, self.format)) * &(one + &self.gamma(seen.saturating_add(2)))
        };
        let all = &(&(&reading.size + &read) * &grown) + &self.flushed(head, kind);
        Ok(Some(up(&(&weight.abs() * &all))))
    }

    /// The most tokens that a head sees.
    pub(super) fn seen(&self, head: &Head) -> usize {
        head.mask.most_seen(self.tokens)
    }

    /// Remembers how large the sum of a register gets, with what was there.
    fn note_sum(&mut self, heads: &[&Head], kinds: &[Kind], place: usize, before: &Dyadic) -> Result<(), Stop> {
        let mut sum = before.clone();
        for (head, kind) in heads.iter().zip(kinds) {
            let grown = kind.weight();
            for (value, weight) in head.o.get(place).map_or(&[][..], |row| &row.weights) {
                let row = head.v.get(*value).ok_or_else(|| line(format!("there is no value {value}")))?;
                sum = up(&(&sum + &(&(&weight.abs() * &self.read(&row.weights)?.size) * &grown)));
            }
        }
        self.note(&(&sum + &sum));
        Ok(())
    }

    /// Makes a wire that a head writes; what each register but the first loses for it.
    fn pooled(
        &mut self,
        head: &Scored<'_>,
        made: &Made,
        hint: &Layer,
        terms: &[usize],
    ) -> Result<Vec<(usize, Dyadic)>, Stop> {
        let (wire, value) = (made.wire, head.value);
        let Some(known) = self.hints.wires.get(wire) else { return Err(line(format!("there is no wire {wire}"))) };
        let shift = made.adds.minus(&super::Form::of(wire));
        if !shift.terms.is_empty() {
            return Err(line(format!("wire {wire}: a head adds the wire and a number, no more")));
        }
        let row = head.head.v.get(value).ok_or_else(|| line(format!("there is no value {value}")))?;
        let taken = self.taken(head, known, row)?;
        let Taken { reading, read, flushed, share } = &taken;
        let seen = self.seen(head.head);
        // Weights and sum; then the product with o and the sum of the register; and o itself, beside the line's factor.
        let (mut theta, mut model, mut more, mut first) = (Dyadic::ZERO, Dyadic::ZERO, Vec::new(), true);
        // Beside the one that is gathered, terms are absorbed: each rounds by no more than it is.
        let roundings = match (head.kind, known) {
            (Kind::Placed(_), Wire::Gather { .. }) => 2,
            (Kind::Uniform(uniform), _) => uniform.roundings,
            _ => seen.saturating_add(1),
        };
        let (rough, spread) = match head.kind {
            Kind::Uniform(uniform) => (uniform.rough.clone(), uniform.spread.clone()),
            _ => (Dyadic::ONE, Dyadic::ZERO),
        };
        let mut factors: Vec<(usize, Ratio)> = Vec::new();
        for (place, form) in &hint.holds {
            let factor = self.lowered(form)?.factor(wire);
            if !factor.is_zero() {
                factors.push((*place, factor));
            }
        }
        for (place, output) in head.head.o.iter().enumerate() {
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
            // A term beside what was there is rounded with it: the register has lost that.
            let sums = if many == 1 && is_power_of_two(&written) && !self.is_housed() { 0 } else { sum };
            let exact = Ratio::of(&written).times(share).over(&factor).unwrap_or(Ratio::ZERO).minus(&Ratio::ONE);
            let odd = exact.range().size();
            let lost = |roundings: usize| {
                let gamma = &(&self.gamma(roundings) * &rough) + &spread;
                &gamma + &(&odd * &(&Dyadic::ONE + &gamma))
            };
            // The value of a head is one number: what registers get of it differs by the product with o, and their sums.
            let product = self.gamma(sums);
            let here = &product + &(&odd * &(&Dyadic::ONE + &product));
            if first {
                theta = lost(roundings.saturating_add(sums));
                model = here;
                first = false;
            } else {
                let size = &(&reading.size + read) + flushed;
                // Weights that are computed add up to less than 2.
                let grown = if let Kind::Uniform(uniform) = head.kind {
                    let gamma = &self.gamma(uniform.roundings) * &rough;
                    &(&Dyadic::ONE + &gamma) + &spread
                } else {
                    Dyadic::power_of_two(1)
                };
                let size = &size * &grown;
                let flushed = &(&written.abs() * &share.range().size()) * &(flushed + flushed);
                more.push((place, up(&(&(&(&(&here + &model) * &size) * &factor.range().size()) + &flushed))));
            }
        }
        let known = self.meant_by(wire, known, head, &shift.offset, (&taken, &theta))?;
        self.make(wire, known)?;
        Ok(more)
    }

    /// A wire that a head of its kind writes: its range, and its distance from what it means.
    fn meant_by(
        &mut self,
        wire: usize,
        known: &Wire,
        head: &Scored<'_>,
        shift: &Ratio,
        (taken, theta): (&Taken, &Dyadic),
    ) -> Result<Known, Stop> {
        let (value, seen) = (head.value, self.seen(head.head));
        let row = head.head.v.get(value).ok_or_else(|| line(format!("there is no value {value}")))?;
        let Taken { reading, read, flushed, .. } = taken;
        Ok(match (head.kind, known) {
            (Kind::Uniform(_), Wire::Hub { token, scale, of }) => {
                self.gathered(wire, head, (*token, scale, of), shift, (taken, theta))?
            }
            (Kind::Uniform(_), Wire::Mean { scale, of }) => {
                if let Some(hub) = self.seen_by_all(&head.head.mask) {
                    self.handed_on(wire, hub, (of, scale), shift, (taken, theta))?
                } else {
                    let plain = Mask { limits: [None; 4], first: head.head.mask.first, connections: None };
                    self.average(head.head, &plain, (of, scale), shift, (reading, read, flushed, theta))?
                }
            }
            (Kind::Uniform(_), Wire::Seen { mask, pooled: Pooled::Mean, scale, of }) => {
                self.average(head.head, mask, (of, scale), shift, (reading, read, flushed, theta))?
            }
            (Kind::Scored | Kind::Placed(_), Wire::Attend { mask, of, rows }) => {
                if *mask != head.head.mask {
                    return Err(line(format!("wire {wire}: another mask")));
                }
                let (off, rest) = self.apart(&reading.form, &self.lowered(of)?)?;
                let missed = (&Range::point(off) - &shift.range()).size();
                let error = &(&self.error(of)? + &reading.lost) + &(&rest + read);
                let range = self.range(of)?;
                let weighed = self.weighed(head.head, rows, &range, (&reading.size, &error))?;
                self.near(range, &(&(&weighed + &missed) + flushed), (&reading.size, read, theta), seen)
            }
            (Kind::Placed(shares), _) => self.placed(wire, (shares, seen), shift, (reading, read, flushed, theta))?,
            (Kind::Scored, Wire::Seen { mask, pooled: Pooled::Largest, scale, of }) => {
                if *mask != head.head.mask || scale.is_negative() || scale.is_zero() {
                    return Err(line(format!("wire {wire}: another mask, or no positive factor")));
                }
                let (off, rest) = self.apart(&reading.form, &self.lowered(&of.scaled(scale))?)?;
                let behind = self.behind(head.head, row)?;
                let error = &(&scale.range().size() * &self.error(of)?) + &(&reading.lost + &rest);
                // From below by the average, from above by nothing: and what is added may be half of it.
                let missed = &Range::point(off) - &shift.range();
                let apart = &Range { lo: -&behind.below, hi: Dyadic::ZERO } + &missed;
                let apart = &(&apart.size() + &behind.off) + &(&error + flushed);
                let range = (&scale.range() * &self.range(of)?).tidy();
                self.near(range, &apart, (&reading.size, read, theta), seen)
            }
            _ => return Err(declined(format!("wire {wire}: a head with scores that have no rule"))),
        })
    }

    /// A wire whose weights are those of positions.
    fn placed(
        &self,
        wire: usize,
        (placed, seen): (&Placed, usize),
        shift: &Ratio,
        (reading, read, flushed, theta): (&super::Reading, &Dyadic, &Dyadic, &Dyadic),
    ) -> Result<Known, Stop> {
        let missing = || line(format!("there is no wire {wire}"));
        let known = self.hints.wires.get(wire).ok_or_else(missing)?;
        let tokens = placed.shares.last().map_or(0, Vec::len);
        let Some((_, scale, of)) = self.meant_shares(known, tokens)? else {
            return Err(declined(format!("wire {wire}: weights by position, and no rule for what it means")));
        };
        let (off, rest) = self.apart(&reading.form, &self.lowered(&of.scaled(&scale))?)?;
        let values = (&(&scale.range() * &self.range(of)?) + &Range::point(off.clone())).tidy();
        let error = &(&scale.range().size() * &self.error(of)?) + &(&(&reading.lost + &rest) + read);
        // Of a sum the first token is that number.
        let sink = matches!(known, Wire::Seen { pooled: Pooled::Sum, .. }).then(|| off.abs());
        let mut apart = Apart { value: Dyadic::ZERO, weights: Dyadic::ZERO };
        for shares in &placed.shares {
            let meant = self.meant_shares(known, shares.len())?.map_or(Vec::new(), |(meant, ..)| meant);
            let here = self.apart_by((shares, seen), &meant, &values, &error, sink.as_ref());
            let here = here.ok_or_else(|| line(format!("wire {wire}: weights of different tokens")))?;
            apart = Apart { value: apart.value.max(here.value), weights: apart.weights.max(here.weights) };
        }
        if let Wire::Seen { mask, pooled: Pooled::Mean, .. } = known
            && let Some(moved) = self.beside_hidden(placed, mask)?
        {
            let share = self.share(seen)?;
            let all = &(&moved * &(&values.hi - &values.lo)) + &(&share * &(&reading.size + read));
            apart.value = apart.value.min(up(&(&all + &(&(&Dyadic::ONE + &share) * &error))));
        }
        let range = match known {
            Wire::Seen { pooled: Pooled::Mean, .. } => (&scale.range() * &self.range(of)?).tidy(),
            // The first token adds nothing.
            Wire::Seen { mask, scale, .. } => {
                let all = &super::placed::others(mask, self.tokens) * &scale.range();
                (&all * &self.range(of)?).tidy()
            }
            _ => self.range(of)?,
        };
        let missed = (&Range::point(off) - &shift.range()).size();
        // What is gathered is rounded twice, and by no more than the other terms are; a sum of all is rounded as such.
        let absorbed = &(&apart.weights + &apart.weights) * &(&reading.size + read);
        let absorbed = if matches!(known, Wire::Gather { .. }) { absorbed } else { Dyadic::ZERO };
        let apart = &apart.value + &absorbed;
        Ok(self.near(range, &(&(&apart + &missed) + flushed), (&reading.size, read, theta), seen))
    }

    /// The most that flushing may lose in a head's output: in every product of a weight and a value.
    pub(super) fn flushed(&self, head: &Head, kind: &Kind) -> Dyadic {
        match kind {
            Kind::Uniform(uniform) => &self.tiny(uniform.products) * &uniform.grown,
            _ => self.tiny(self.seen(head)),
        }
    }

    /// A wire that is off by this, and by what is lost where it is written.
    fn near(
        &self,
        range: Range,
        apart: &Dyadic,
        (size, read, theta): (&Dyadic, &Dyadic, &Dyadic),
        seen: usize,
    ) -> Known {
        let sum = &Dyadic::ONE + &excess(seen, self.format);
        let all = &(size + read) * &sum;
        let most = up(&(&(apart * &(&Dyadic::ONE + theta)) + &(theta * &all)));
        Known { range, error: Profile::Constant(most.clone()), most, tooth: Dyadic::ZERO }
    }

    /// A wire that is the mean of what a mask shows.
    fn average(
        &mut self,
        head: &Head,
        mask: &Mask,
        (of, scale): (&super::Form, &Ratio),
        shift: &Ratio,
        (reading, read, flushed, theta): (&super::Reading, &Dyadic, &Dyadic, &Dyadic),
    ) -> Result<Known, Stop> {
        if *mask != head.mask {
            return Err(line("a mean over other tokens than the head sees"));
        }
        if scale.is_zero() {
            return Err(line("a mean times 0"));
        }
        // What is averaged is scale · of + shift.
        let wanted = of.scaled(scale).plus(&Ratio::ONE, &super::Form::number(shift.clone()));
        let (off, rest) = self.apart(&reading.form, &self.lowered(&wanted)?)?;
        let fixed = &(&(&(&reading.lost + &rest) + &off.abs()) + read) + flushed;
        let spread = if mask.hides() { None } else { self.variance(of) };
        self.averaged((of, scale), shift, &fixed, theta, &reading.size, spread)
    }

    /// Encloses `scale · mean(of)`, with errors of `fixed` and, relative to the mean size of what is averaged,
    /// `theta`.
    pub(super) fn averaged(
        &self,
        (of, scale): (&super::Form, &Ratio),
        shift: &Ratio,
        fixed: &Dyadic,
        theta: &Dyadic,
        size: &Dyadic,
        spread: Option<Range>,
    ) -> Result<Known, Stop> {
        let (factor, inner) = (scale.range(), self.range(of)?);
        let mut range = (&factor * &inner).tidy();
        if let Some(spread) = spread {
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
    pub(super) fn variance(&self, of: &super::Form) -> Option<Range> {
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
        a.terms.iter().find_map(|(mean, factor)| {
            let (scale, of) = self.averages(*mean)?;
            let rest = a.plus(&factor.negative(), &super::Form::of(*mean));
            let same = scale == Ratio::ONE && rest == of.scaled(&factor.negative());
            same.then(|| (factor.clone(), of.clone()))
        })
    }

    /// If a wire is a number times the mean of a form, by itself or as a multiple of a wire that is: both.
    pub(super) fn averages(&self, wire: usize) -> Option<(Ratio, &super::Form)> {
        match self.hints.wires.get(wire)? {
            Wire::Mean { scale, of } => Some((scale.clone(), of)),
            Wire::Curve { of, function } => {
                let [Word::Variable, Word::Number(times), Word::Binary(Binary::Mul)] = function.as_slice() else {
                    return None;
                };
                match self.hints.wires.get(of.bare()?)? {
                    Wire::Mean { scale, of } => Some((scale.times(times), of)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// How a head weighs.
pub(super) enum Kind {
    /// Everything that it sees alike.
    Uniform(Uniform),
    /// By position, for every number of tokens.
    Placed(Placed),
    /// By what tokens hold.
    Scored,
}

impl Kind {
    /// The most that the sizes of weights add up to, rounding apart.
    fn weight(&self) -> Dyadic {
        if let Self::Uniform(uniform) = self { uniform.weight() } else { Dyadic::ONE }
    }
}

/// A value of a head.
pub(super) struct Scored<'h> {
    pub(super) head: &'h Head,
    pub(super) kind: &'h Kind,
    value: usize,
}

/// True if all scores of a head are 0.
fn is_uniform(head: &Head) -> bool {
    let zero = |rows: &[Row]| rows.iter().all(Row::is_zero);
    zero(&head.q) || zero(&head.k)
}
