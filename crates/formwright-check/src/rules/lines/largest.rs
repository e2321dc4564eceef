//! Rule *largest*: a head whose scores are a positive number times what it averages.
//!
//! Keys and values are the same row, the query is a number `λ > 0` of the biases, and nothing else scores. With
//! `Z_k` what the row reads, exactly, of `n` tokens, computed scores are `λ W_k` with `|W - Z| ≤ r`, and
//!
//! ```text
//! 0 ≤ max W - Σ_k p_k W_k ≤ L = ln(1 + (n-1)/e)/λ,   p_k = e^{λ W_k} / Σ e^{λ W}
//! ```
//!
//! since the gaps of all that are not the largest are equal where the average falls behind the most, and there it is
//! `W_0((n-1)/e)/λ ≤ L`. Weights that are computed are `p` up to a factor of `1 ± Θ`, `Θ` by the exponentials, their sum and
//! the share; what is flushed is at most the least normal number each, beside an exponential that is 1. So the average of
//! computed values is below `max Z` by at most `L + 2r`, up to `Θ max|Z| + (1 + Θ) r` either way.

use super::{Prover, Stop, declined, line, up};
use crate::kernel::number::{Dyadic, Range};
use crate::kernel::sum::Row;
use crate::read::weights::Head;

/// How far below the largest number that is read a head may be, and how far it may be off either way.
pub(super) struct Behind {
    pub below: Dyadic,
    pub off: Dyadic,
}

impl Prover<'_> {
    /// The number `λ` of a head whose keys are the row of its value; nothing if it is of another kind.
    fn temperature<'h>(head: &'h Head, row: &Row) -> Option<&'h Dyadic> {
        if head.q.len() != head.k.len() || !row.bias.is_zero() {
            return None;
        }
        let mut found = None;
        for (q, k) in head.q.iter().zip(&head.k) {
            if q.is_zero() || k.is_zero() {
                continue;
            }
            if found.is_some() || !q.weights.is_empty() || q.bias <= Dyadic::ZERO || k != row {
                return None;
            }
            found = Some(&q.bias);
        }
        found
    }

    /// Bounds how far the average of a row by a head's weights is from the largest value that the row reads.
    pub(super) fn behind(&mut self, head: &Head, row: &Row) -> Result<Behind, Stop> {
        let lambda = Self::temperature(head, row).ok_or_else(|| declined("a head with scores that have no rule"))?;
        let reading = self.read(&row.weights)?;
        let missing = || line("a head without a temperature");
        let lambda = &self.housed_query(lambda)?;
        let inverse = Range::whole(1).over(&Range::point(lambda.clone())).ok_or_else(missing)?.hi;
        let one = Dyadic::ONE;
        let (own, other) = (self.output_factor(), self.value_factor()?);
        let read = if let Some(read) = self.housed_value(&reading, &other) {
            read
        } else if reading.single {
            self.tiny(1)
        } else {
            &(&self.gamma(reading.count) * &reading.size) + &self.tiny(reading.count)
        };
        let size = &reading.size + &read;
        // A query in a host is less than twice what is counted on.
        let most = Dyadic::from(if self.is_housed() { 4 } else { 2 });
        self.note(&(&(&most * &size) * lambda));
        // The product with λ, and the difference of two scores: each rounded once.
        let four = Dyadic::from(4);
        let scores = &(&(&four * &self.unit()) * &size) + &(&self.tiny(3) * &inverse);
        let scored = self.housed_value(&reading, &own).unwrap_or_else(|| read.clone());
        let reach = &scored + &scores;
        let seen = self.seen(head);
        let others = Range::whole(seen.saturating_sub(1));
        let e = Range::whole(1).exp().ok_or_else(missing)?;
        let gap = (&Range::whole(1) + &others.over(&e).ok_or_else(missing)?).log().ok_or_else(missing)?;
        let gap = &gap.hi * &inverse;
        let share = self.share(seen)?;
        let off = &(&share * &size) + &(&(&one + &share) * &read);
        Ok(Behind { below: up(&(&gap + &(&reach + &reach))), off: up(&off) })
    }

    /// `Θ`: the factor by which the weights of so many tokens, as they are computed, may differ from those of their
    /// scores, with exponentials and weights that are flushed.
    pub(super) fn share(&self, seen: usize) -> Result<Dyadic, Stop> {
        let (one, theta) = (Dyadic::ONE, Dyadic::power_of_two(self.format.theta));
        let exps = Range::point(&one + &theta).over(&Range::point(&one - &theta));
        let exps = exps.ok_or_else(|| line("exponentials without an error"))?;
        let grown = &exps.hi * &(&one + &self.gamma(seen.saturating_add(2)));
        let flushed = &Range::whole(seen).hi * &self.tiny(seen);
        Ok(up(&(&(&grown - &one) + &flushed)))
    }
}
