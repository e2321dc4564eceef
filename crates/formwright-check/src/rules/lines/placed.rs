//! Rule *scores by position*: a head whose queries and keys read nothing but positions has the same weights for every
//! input, and they are enclosed by the rule *softmax*: gathers, and sums with a sink.
//!
//! Let `U_k` be what is read as value, exactly, in `[l, h]` with the middle `m`, and `α_tk` the weights that are meant,
//! with `Σ_k α_tk = 1`. Computed weights `p` add up to 1 within `ε`, and computed values are within `e` of `U`; so
//!
//! ```text
//! |Σ_k p_tk V̂_k - Σ_k α_tk U_k| ≤ max_t Σ_k |p_tk - α_tk| · (h - l)/2 + |m| ε + (1 + ε) e,
//!                                  max_t Σ_k |p_tk - α_tk| · max|U| + (1 + ε) e
//! gather     α_tk = 1 where k is the index, which is a place
//!            all other terms are at most Σ|p - α| max|V̂|: each rounds the sum by no more than it is, and the one once or twice
//! sum        U = n · scale · T + c, T = 0 at the first token: α_tk = 1/n for every other k that is seen, the first has the rest
//! ```

use super::{Form, Prover, Stop, declined, line};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::softmax::{excess, softmax};
use crate::kernel::sum::{Overflow, Row, Sum, Value, affine};
use crate::read::certificate::{Mask, Pooled, Wire};
use crate::read::weights::Head;

/// The weights of a head: for every token, those of all tokens; 0 where nothing is seen.
pub(super) type Shares = Vec<Vec<Range>>;

/// The meaning of a wire: the weights row by row, the factor with which its form is read, and the form.
type Meant<'w> = (Vec<Vec<Ratio>>, Ratio, &'w Form);

/// How far an average may be from the one that is meant, and the weights from theirs, all together.
pub(super) struct Apart {
    pub value: Dyadic,
    pub weights: Dyadic,
}

fn finite(Overflow(what): Overflow) -> Stop {
    crate::prove::rejected("finite", what)
}

impl Prover<'_> {
    /// The values of a form by position, if it depends on nothing else.
    pub(super) fn by_position(&self, form: &Form) -> Option<Vec<Ratio>> {
        let mut sums = vec![form.offset.clone(); self.network.positions.len()];
        for (wire, factor) in &form.terms {
            let Some(Wire::Position(values)) = self.hints.wires.get(*wire) else { return None };
            if values.len() != sums.len() {
                return None;
            }
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = sum.plus(&factor.times(value));
            }
        }
        (!sums.is_empty()).then_some(sums)
    }

    /// The values at every token of rows that read positions alone; `None` if one reads something else.
    fn placed_rows(&self, rows: &[Row]) -> Result<Option<Vec<Vec<Value>>>, Stop> {
        let tokens = self.network.positions.len();
        let mut streams = vec![vec![Value::point(Dyadic::ZERO); self.registers.len()]; tokens];
        for (place, _) in rows.iter().flat_map(|row| &row.weights) {
            let register = self.registers.get(*place).ok_or_else(|| line("a register that does not exist"))?;
            let Some(values) = self.by_position(&register.form) else { return Ok(None) };
            for (t, (stream, value)) in streams.iter_mut().zip(&values).enumerate() {
                let stored = register.stored.as_ref().and_then(|stored| stored.get(t));
                let near = || &value.range() + &Range::around_zero(&register.lost);
                let range = stored.map_or_else(near, |stored| Range::point(stored.clone()));
                let slot = stream.get_mut(*place).ok_or_else(|| line("a register that does not exist"))?;
                *slot = Value::float(range, self.format);
            }
        }
        let mut all = Vec::new();
        for stream in &streams {
            let mut computed = Vec::new();
            for row in rows {
                computed.push(affine(row, stream, None, self.format).map_err(finite)?.0.value);
            }
            all.push(computed);
        }
        Ok(Some(all))
    }

    /// The weights of a head, if its scores depend on positions alone.
    pub(super) fn shares(&mut self, head: &Head) -> Result<Option<Shares>, Stop> {
        let tokens = self.network.positions.len();
        if tokens == 0 || head.q.len() != head.k.len() {
            return Ok(None);
        }
        let (Some(queries), Some(keys)) = (self.placed_rows(&head.q)?, self.placed_rows(&head.k)?) else {
            return Ok(None);
        };
        self.spend(tokens.saturating_mul(tokens).saturating_mul(8))?;
        let mut all = Vec::new();
        for (t, query) in queries.iter().enumerate() {
            let (mut seen, mut scores) = (Vec::new(), Vec::new());
            for (k, key) in keys.iter().enumerate().filter(|(k, _)| head.mask.sees(t, *k)) {
                let mut score = Sum::new(self.format);
                for (place, q) in query.iter().enumerate() {
                    score.term(q, &key.get(place).ok_or_else(|| line("a key that does not exist"))?.clone());
                }
                scores.push(score.total(None).map_err(finite)?.value);
                seen.push(k);
            }
            let shares = softmax(&scores, self.format).map_err(finite)?;
            if shares.len() != seen.len() {
                return Err(line("weights of other keys than are seen"));
            }
            let mut row = vec![Range::ZERO; tokens];
            for (k, share) in seen.into_iter().zip(shares) {
                let slot = row.get_mut(k).ok_or_else(|| line("a key that does not exist"))?;
                *slot = share.range;
            }
            all.push(row);
        }
        Ok(Some(all))
    }

    /// The weights that a wire means, row by row, the factor with which its form is read, and the form.
    pub(super) fn meant_shares<'w>(&self, wire: &'w Wire) -> Result<Option<Meant<'w>>, Stop> {
        let tokens = self.network.positions.len();
        match wire {
            Wire::Gather { index, of } => {
                let places = self.by_position(index).ok_or_else(|| declined("an index that depends on inputs"))?;
                let mut rows = Vec::new();
                for place in places {
                    let mut row = vec![Ratio::ZERO; tokens];
                    let slot = place.place().and_then(|place| row.get_mut(place));
                    *slot.ok_or_else(|| line("an index that is no place"))? = Ratio::ONE;
                    rows.push(row);
                }
                Ok(Some((rows, Ratio::ONE, of)))
            }
            Wire::Seen { mask, pooled: Pooled::Sum, scale, of } => {
                if !self.is_zero_at_first(of)? {
                    return Err(declined("a sum of what is not 0 at the first token"));
                }
                let count = Ratio::whole(tokens);
                Ok(Some((sums(mask, tokens), scale.times(&count), of)))
            }
            _ => Ok(None),
        }
    }

    /// True if a form is 0 at the first token, whatever the inputs.
    fn is_zero_at_first(&self, form: &Form) -> Result<bool, Stop> {
        let Some(wires) = self.unrolled.first() else { return Ok(false) };
        Ok(super::Things::form(form, wires).map_err(declined)?.is_empty())
    }

    /// How far the average by computed weights may be from the one by those that are meant, of values in a range that
    /// are off by at most `error`.
    pub(super) fn apart_by(
        &self,
        (shares, seen): (&Shares, usize),
        meant: &[Vec<Ratio>],
        values: &Range,
        error: &Dyadic,
        sink: Option<&Dyadic>,
    ) -> Option<Apart> {
        let (mut most, mut beside) = (Dyadic::ZERO, Dyadic::ZERO);
        if shares.len() != meant.len() {
            return None;
        }
        for (shares, meant) in shares.iter().zip(meant) {
            if shares.len() != meant.len() {
                return None;
            }
            let apart: Vec<Dyadic> = shares.iter().zip(meant).map(|(p, a)| (p - &a.range()).size()).collect();
            let (first, rest) = apart.split_first()?;
            let rest = rest.iter().fold(Dyadic::ZERO, |sum, apart| &sum + apart);
            most = most.max(&rest + first);
            if let Some(sink) = sink {
                beside = beside.max(&(&rest * &values.size()) + &(first * sink));
            }
        }
        let half = Dyadic::power_of_two(-1);
        let (reach, middle) = (&(&values.hi - &values.lo) * &half, &(&values.hi + &values.lo) * &half);
        let excess = excess(seen, self.format);
        let spread = &(&most * &reach) + &(&middle.abs() * &excess);
        let spread = spread.min(&most * &values.size());
        let spread = if sink.is_some() { spread.min(beside) } else { spread };
        let all = &spread + &(&(&Dyadic::ONE + &excess) * error);
        Some(Apart { value: super::up(&all), weights: super::up(&most) })
    }
}

/// How many tokens but the first a mask shows to a token.
pub(super) fn others(mask: &Mask, tokens: usize) -> Range {
    let count = |t: usize| Range::whole((1..tokens).filter(|k| mask.sees(t, *k)).count());
    (0..tokens).map(count).reduce(|a, b| a.hull(&b)).unwrap_or(Range::ZERO)
}

/// Every token that is seen weighs `1/n`, and the first one has the rest.
fn sums(mask: &Mask, tokens: usize) -> Vec<Vec<Ratio>> {
    let share = Ratio::ONE.over(&Ratio::whole(tokens)).unwrap_or(Ratio::ZERO);
    let row = |t: usize| {
        let others = (1..tokens).filter(|k| mask.sees(t, *k)).count();
        let first = Ratio::ONE.minus(&share.times(&Ratio::whole(others)));
        let rest = (1..tokens).map(|k| if mask.sees(t, k) { share.clone() } else { Ratio::ZERO });
        std::iter::once(first).chain(rest).collect()
    };
    (0..tokens).map(row).collect()
}
