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
//! mean       in a host whose class shows more: α_tk = 1/n for the n tokens that the wire's mask shows
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

/// The scores of a token, with those that it sees.
type Scores = Vec<(usize, Value)>;

/// A head whose scores depend on positions alone: its scores, and for every number of tokens its weights.
pub(super) struct Placed {
    scores: Vec<Scores>,
    pub(super) shares: Vec<Shares>,
}

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
                let range = stored.map_or_else(near, |(stored, _)| Range::point(stored.clone()));
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

    /// The same in a host: what is computed of rows that read registers of positions alone, with the factors of tokens.
    fn housed_rows(&self, rows: &[Row]) -> Result<Option<Vec<Vec<Value>>>, Stop> {
        let tokens = self.network.positions.len();
        let mut all = vec![Vec::new(); tokens];
        for row in rows {
            let mut read = vec![(Range::point(row.bias.clone()), Dyadic::ZERO, Dyadic::ZERO); tokens];
            for (place, weight) in &row.weights {
                let register = self.registers.get(*place).ok_or_else(|| line("a register that does not exist"))?;
                let near = |value: &Ratio, off: &Dyadic| &value.range() + &Range::around_zero(off);
                let known: Option<Vec<Range>> = if let Some(stored) = &register.stored {
                    Some(stored.iter().map(|(number, strayed)| near(&Ratio::of(number), strayed)).collect())
                } else {
                    let values = self.by_position(&register.form);
                    values.map(|values| values.iter().map(|value| near(value, &register.lost)).collect())
                };
                let Some(values) = known.filter(|values| values.len() == tokens) else { return Ok(None) };
                for ((sum, size, middle), held) in read.iter_mut().zip(&values) {
                    let (beside, between) = self.read_beside(&held.size());
                    let held = held + &Range::around_zero(&beside);
                    *sum = (&*sum + &(&Range::point(weight.clone()) * &held)).tidy();
                    *size = super::up(&(&*size + &(&weight.abs() * &held.size())));
                    *middle = super::up(&(&*middle + &(&weight.abs() * &between)));
                }
            }
            for (computed, (sum, size, middle)) in all.iter_mut().zip(read) {
                computed.push(Value::float(self.housed_number(row, (sum, size, middle)), self.format));
            }
        }
        Ok(Some(all))
    }

    /// The weights of a head, if its scores depend on positions alone: for every number of tokens.
    pub(super) fn shares(&mut self, head: &Head) -> Result<Option<Placed>, Stop> {
        let tokens = self.network.positions.len();
        if tokens == 0 || head.q.len() != head.k.len() {
            return Ok(None);
        }
        let rows = |rows: &[Row]| if self.is_housed() { self.housed_rows(rows) } else { self.placed_rows(rows) };
        let (Some(queries), Some(keys)) = (rows(&head.q)?, rows(&head.k)?) else {
            return Ok(None);
        };
        let least = if self.fixed { tokens } else { self.least };
        let work = (least..=tokens).map(|tokens| tokens.saturating_mul(tokens).saturating_mul(8));
        self.spend(work.fold(0, usize::saturating_add))?;
        let scores = self.placed_scores(head, &queries, &keys)?;
        let mut shares = Vec::new();
        for tokens in least..=tokens {
            let rows = scores.iter().take(tokens);
            shares.push(rows.map(|row| self.shares_of(row, tokens)).collect::<Result<_, _>>()?);
        }
        Ok(Some(Placed { scores, shares }))
    }

    /// How far the mean of what a mask shows may be from the one by exact weights of these scores, relative to what the
    /// values span: half of how far the scores of what is shown are from a number, and the share of the others.
    pub(super) fn beside_hidden(&self, placed: &Placed, mask: &Mask) -> Result<Option<Dyadic>, Stop> {
        let four = &Dyadic::from(4) * &self.unit();
        let half = Dyadic::power_of_two(-1);
        let mut most = Dyadic::ZERO;
        for tokens in placed.shares.iter().map(Vec::len) {
            for (t, row) in placed.scores.iter().take(tokens).enumerate() {
                let here = row.iter().filter(|(k, _)| *k < tokens);
                let (shown, hidden): (Vec<_>, Vec<_>) = here.partition(|(k, _)| mask.sees(t, *k));
                if shown.len() != (0..tokens).filter(|k| mask.sees(t, *k)).count() {
                    return Err(line("a mean of tokens that a head does not see"));
                }
                let hull = shown.iter().map(|(_, score)| score.range.clone()).reduce(|a, b| a.hull(&b));
                let hull = hull.ok_or_else(|| line("a mean over no token"))?;
                // The largest score is subtracted, and that is rounded.
                let span = &hull.hi - &hull.lo;
                let off = &(&(&span * &half) + &(&four * &span)) + &self.tiny(1);
                let mut share = Dyadic::ZERO;
                for (_, score) in &hidden {
                    let apart = &(&hull.lo - &score.range.hi) - &(&four * &(&score.range.size() + &hull.size()));
                    let power = Range::point(-&apart).exp().filter(|_| apart > Dyadic::ZERO);
                    let Some(power) = power else { return Ok(None) };
                    share = super::up(&(&share + &power.hi));
                }
                let share = super::layer::shared(&share, &Range::whole(shown.len()).lo)?;
                most = most.max(super::up(&(&(&off * &half).min(Dyadic::ONE) + &share)));
            }
        }
        Ok(Some(most))
    }

    /// The scores of a head at every token, of the tokens that it sees.
    fn placed_scores(&mut self, head: &Head, queries: &[Vec<Value>], keys: &[Vec<Value>]) -> Result<Vec<Scores>, Stop> {
        let mut all = Vec::new();
        for (t, query) in queries.iter().enumerate() {
            let mut row = Vec::new();
            for (k, key) in keys.iter().enumerate().filter(|(k, _)| head.mask.sees(t, *k)) {
                let (mut score, mut size) = (Sum::new(self.format), Dyadic::ZERO);
                for (place, q) in query.iter().enumerate() {
                    let key = key.get(place).ok_or_else(|| line("a key that does not exist"))?;
                    size = super::up(&(&size + &(&q.range.size() * &key.range.size())));
                    score.term(q, &key.clone());
                }
                self.note(&(&size + &size));
                row.push((k, score.total(None).map_err(finite)?.value));
            }
            all.push(row);
        }
        Ok(all)
    }

    /// The weights of so many tokens, by their scores.
    fn shares_of(&self, scores: &Scores, tokens: usize) -> Result<Vec<Range>, Stop> {
        let (seen, scores): (Vec<usize>, Vec<Value>) = scores.iter().filter(|(k, _)| *k < tokens).cloned().unzip();
        let shares = softmax(&scores, self.format).map_err(finite)?;
        if shares.len() != seen.len() {
            return Err(line("weights of other keys than are seen"));
        }
        let mut row = vec![Range::ZERO; tokens];
        for (k, share) in seen.into_iter().zip(shares) {
            let slot = row.get_mut(k).ok_or_else(|| line("a key that does not exist"))?;
            *slot = share.range;
        }
        Ok(row)
    }

    /// The weights that a wire means among so many tokens, row by row, the factor with which its form is read, and the
    /// form.
    pub(super) fn meant_shares<'w>(&self, wire: &'w Wire, tokens: usize) -> Result<Option<Meant<'w>>, Stop> {
        match wire {
            Wire::Seen { mask, pooled: Pooled::Mean, scale, of } if self.is_housed() => {
                Ok(Some((means(mask, tokens)?, scale.clone(), of)))
            }
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
                if !self.fixed {
                    return Err(declined("a sum over several numbers of tokens"));
                }
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

/// Every token that is seen weighs the same.
fn means(mask: &Mask, tokens: usize) -> Result<Vec<Vec<Ratio>>, Stop> {
    let row = |t: usize| {
        let seen = (0..tokens).filter(|k| mask.sees(t, *k)).count();
        let share = Ratio::ONE.over(&Ratio::whole(seen)).ok_or_else(|| line("a mean over no token"))?;
        Ok((0..tokens).map(|k| if mask.sees(t, k) { share.clone() } else { Ratio::ZERO }).collect())
    };
    (0..tokens).map(row).collect()
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
