//! Heads: means and sums, sums with a sink, maxima, means by scores, gathers; and what weights that are computed do to
//! each.
//!
//! **Scores that are off.** Let `p ∝ e^s` and `p' ∝ e^(s+δ)` with `|δ_k| ≤ e`, and numbers `V_k` in `[l, h]`. Then
//! `|Σ p'V - Σ pV| ≤ e (h - l)/2`: with `p^τ ∝ e^(s+τδ)` the derivative of `Σ p^τ V` by `τ` is the covariance of `δ` and `V`
//! under `p^τ`, and that is at most the product of their standard deviations, which are at most half of what they span
//! (Popoviciu): `e` and `(h - l)/2`. What all scores of a token have in common moves nothing.

use super::reading::Reading;
use super::{Analyst, Machine, exactly};
use crate::construct::circuit::graph::Kind;
use crate::construct::circuit::layout::{Scores, Source};
use crate::construct::circuit::profile::Profile;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::{Interval, Up};
use crate::lower::realise::Loss;
use crate::network::Realisation;
use crate::rounding::compound;

/// A head as the analysis sees it.
struct Seen<'a> {
    /// How many tokens, at most.
    tokens: usize,
    /// The relative error of weights and sums.
    theta: Up,
    /// The values, their constant apart.
    linear: Interval,
    /// Their errors, as read.
    total: Profile,
    /// The factor of the result.
    scale: &'a Rat,
    /// The number that it reads.
    reading: Reading,
}

impl Seen<'_> {
    /// The largest value, its constant apart.
    fn size(&self, values: Interval) -> Up {
        (values - self.reading.centre).into()
    }
}

impl Analyst<'_> {
    pub(super) fn head(&mut self, atom: usize, wire: usize) -> Result<()> {
        let Source::Head { scores, mask, value, scale } = &self.layout.atoms[atom].source else { return Ok(()) };
        let (slot, machine) = (self.layout.atoms[atom].slot, self.machine);
        let known = &self.graph.wires[wire];
        let (Kind::Mean { of, .. }
        | Kind::Sink { of, .. }
        | Kind::Largest { of, .. }
        | Kind::Attend { of, .. }
        | Kind::Gather { of, .. }) = &known.kind
        else {
            return Ok(());
        };
        let tokens = if mask.is_all() || self.hides(mask) || machine.tokens != self.graph.tokens {
            machine.tokens
        } else {
            let seen = (0..machine.tokens).map(|t| mask.keys(t, machine.tokens).positions().count());
            seen.max().unwrap_or(1)
        };
        let reading = self.read(of, slot).without_constant();
        // The weights: exp, their sum, the quotient, or a reciprocal and a product; then the sum of the products. Or whatever takes their place.
        let Loss { relative: theta, absolute } = match scores {
            Scores::Uniform => Loss::of(&machine.attention, tokens, machine.precision),
            _ => Loss::of(&Realisation::SOFTMAX, tokens, machine.precision),
        };
        let (linear, total) = (reading.range - reading.centre, reading.total(machine));
        let own = match (scores, &known.kind) {
            (Scores::Uniform, _) => Up::ZERO,
            (_, Kind::Sink { query, key, .. }) => self.read(query, slot).all() * self.read(key, slot).all(),
            _ => Up::INFINITY,
        };
        let moved = self.hidden(mask, own, Up::from(linear.width()) + 2.0 * total.sup());
        let absolute = absolute + Up::from(scale) * moved * (Up::ONE + theta);
        let seen = Seen { tokens, theta, linear, total, scale, reading };
        let profile = match scores {
            Scores::Uniform => mean(known.range, &seen, moved),
            Scores::Sink { .. } => self.sink(wire, slot, &seen),
            Scores::Largest => self.maximum(atom, wire, &seen),
            Scores::Products(_) => self.attended(wire, slot, &seen),
            Scores::Gather { .. } => self.gather(wire, slot, &seen)?,
        };
        let profile = profile.plus(|_| absolute);
        let base = scale * &self.constants.of(value, slot, self.layout);
        self.constants.bases[atom] += &base;
        let size = match scores {
            Scores::Sink { .. } => Up::from(known.range),
            _ => Up::from(scale) * Up::from(linear),
        };
        self.sizes[atom] = size + profile.sup();
        let growth = machine.attention.kind.growth(&machine.attention.choice);
        if growth > 1.0 {
            self.note_size(growth * self.sizes[atom]);
        }
        self.inner[atom] = theta * self.sizes[atom];
        self.errors[wire] = Some(profile);
        Ok(())
    }

    /// A sum with a sink: every token weighs `1/n`, the sink what is left.
    fn sink(&self, wire: usize, slot: usize, seen: &Seen<'_>) -> Profile {
        let Kind::Sink { query, key, .. } = &self.graph.wires[wire].kind else {
            return Profile::constant(Interval::ENTIRE, Up::INFINITY);
        };
        let (machine, range) = (self.machine, self.graph.wires[wire].range);
        let (query, key) = (self.read(query, slot), self.read(key, slot));
        let (asked, held) = (query.all(), key.all());
        let off = query.value.sup() + query.rounding(machine);
        let score = machine.gamma(10) * asked * held + off * held + asked * key.rounding(machine);
        // Scores that are off by s ≤ ½ change weights by e^{2s} - 1 ≤ 4s, relatively.
        let theta = seen.theta + if score <= 0.5 { 4.0 * score } else { Up::INFINITY };
        // The sink weighs up to n, and its value is 0 but for rounding.
        let own = 2.0 * (Up::from(self.graph.tokens) * seen.reading.rounding(machine));
        let values = Up::from(seen.tokens) * seen.reading.value.sup() + own;
        Profile::constant(range, values * (Up::ONE + theta) + theta * Up::from(range))
    }

    /// A maximum: below by what the average loses, half of which is added.
    fn maximum(&mut self, atom: usize, wire: usize, seen: &Seen<'_>) -> Profile {
        let (machine, lambda) = (self.machine, self.choice.temperature[wire]);
        let average = average(seen.tokens, lambda);
        let base = average.mid() / 2.0;
        self.constants.bases[atom] = exactly(base);
        let half = Up::from(average - Interval::point_or_entire(base)).max(base.into());
        let sizes = Up::from(seen.linear) + seen.reading.value.sup();
        self.note_size(lambda * sizes);
        let rounding = 3.0 * seen.reading.rounding(machine) + (seen.theta + machine.gamma(6)) * sizes;
        let error = seen.reading.value.sup() + rounding + self.choice.weight[wire] * half;
        Profile::new(self.graph.wires[wire].range, |_| error)
    }

    /// A mean by the softmax of scores that are off by `e`: its weights are off by a factor between `e^-2e` and `e^2e`, and
    /// it moves by at most `e/2` of what its values span.
    fn attended(&self, wire: usize, slot: usize, seen: &Seen<'_>) -> Profile {
        let known = &self.graph.wires[wire];
        let Kind::Attend { rows, .. } = &known.kind else {
            return Profile::constant(Interval::ENTIRE, Up::INFINITY);
        };
        let machine = self.machine;
        let (mut sizes, mut off) = (Up::ZERO, Up::ZERO);
        for (query, key) in rows {
            let (asked, held) = (self.read(query, slot), self.read(key, slot));
            let query = asked.total(machine).sup() + machine.gamma(asked.count + 2) * asked.offset();
            let key = held.total(machine).sup();
            let [queried, keyed] = [Up::from(asked.range), Up::from(held.range - held.centre)];
            off += queried * key + keyed * query + query * key;
            sizes += (asked.all() + query) * (held.size + key);
        }
        // Products and their sum; then the distance from the largest score, which is rounded once.
        let score = off + (machine.gamma(rows.len() + 1) + 2.0 * machine.unit()) * sizes + machine.tiny();
        self.note_size(4.0 * sizes);
        let moved = Up::from(seen.linear.width()) * (0.5 * score).min(Up::ONE);
        let flushed = machine.tiny() * Up::from(seen.linear);
        mean(known.range, seen, moved).plus(|_| moved + flushed)
    }

    /// The value at another position: what leaks from the others.
    fn gather(&self, wire: usize, slot: usize, seen: &Seen<'_>) -> Result<Profile> {
        let known = &self.graph.wires[wire];
        let Kind::Gather { index: position, keys, .. } = &known.kind else {
            return Err(Error::declined("a gather without keys"));
        };
        let (machine, lambda) = (self.machine, self.choice.temperature[wire]);
        let asked = self.read(position, slot);
        let off = asked.total(machine).sup() + machine.gamma(asked.count + 2) * asked.offset();
        if off > 0.25 {
            return Err(Error::declined(format!("an index is known only to within {:.2e}", off.get()))
                .place(&self.graph.text, &known.span, "this index")
                .note("reason", "a gather needs it to within 1/4")
                .note("try", "⟨precision=f64⟩"));
        }
        let (place, square) = (self.read(&keys.0, slot), self.read(&keys.1, slot));
        let sizes = 2.0 * (asked.all() * place.all()) + square.all();
        self.note_size(lambda * sizes);
        let forms = [position, &keys.0, &keys.1];
        let exact = forms.iter().all(|form| self.reads_exactly(form, slot))
            && super::exact::is_dyadic(&asked.constant)
            && self.grain(&forms, slot) * sizes < 0.25 / machine.precision.unit();
        let lost = 2.0 * ((asked.all() + Up::ONE) * place.rounding(machine)) + square.rounding(machine);
        let score = if exact { Up::ZERO } else { lambda * (machine.gamma(14) * sizes + 2.0 * lost) };
        let leak = leak(lambda, off, score, machine) * (4.0 * Up::from(seen.tokens) + Up::from(8.0));
        let leaked = self.choice.weight[wire] * (leak * (Up::from(seen.linear) + seen.total.sup()));
        let over = |values: Interval| {
            seen.total.over(values) * (Up::ONE + seen.theta) + machine.gamma(8) * seen.size(values) + leaked
        };
        Ok(Profile::new(known.range, over))
    }
}

/// `ê(t) + θ · mean|v|` (Jensen), where the mean may be `moved` from `t`.
fn mean(range: Interval, seen: &Seen<'_>, moved: Up) -> Profile {
    let one_sign = seen.linear.lo() >= 0.0 || seen.linear.hi() <= 0.0;
    let (concave, scale) = (seen.total.concave(), Interval::from(seen.scale));
    let over = |values: Interval| {
        let mean = values.checked_div(scale).unwrap_or(Interval::ENTIRE).widened(moved);
        let size = if one_sign { seen.size(mean) } else { seen.linear.into() };
        Up::from(seen.scale) * (concave.over(mean) * (Up::ONE + seen.theta) + seen.theta * size)
    };
    Profile::new(range, over)
}

/// `ln(1 + (n-1)/e)/λ`
fn average(tokens: usize, lambda: f64) -> Interval {
    let others = Interval::from(&Rat::from(tokens.saturating_sub(1)));
    let ratio = others.checked_div(Interval::ONE.exp()).unwrap_or(Interval::ENTIRE);
    let logarithm = (Interval::ONE + ratio).log().unwrap_or(Interval::ENTIRE);
    logarithm.checked_div(Interval::point_or_entire(lambda)).unwrap_or(Interval::ENTIRE)
}

/// `2 exp(-λ(1 - 2e_t))/(1 - exp(-λ))`, with scores that are rounded and powers that are computed.
fn leak(lambda: f64, off: Up, score: Up, machine: Machine) -> Up {
    let [lambda, off, score] = [lambda, off.get(), score.get()].map(Interval::point_or_entire);
    let two = Interval::point(2.0);
    let power = (two * score - lambda * (Interval::ONE - two * off)).exp();
    let exps = machine.precision.exp_quotient_error();
    2.0 * (Up::from(power) * (Up::ONE + compound(exps, exps))) / (Interval::ONE - (-lambda).exp()).lo()
}
