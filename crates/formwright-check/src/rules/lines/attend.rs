//! Rule *softmax head*: a head whose scores are sums of products of queries and keys.
//!
//! What is meant are scores `s_k = Σ_r Q_r K_rk`, up to a number that is the same for all `k`, and `Σ p_k V_k` with
//! `p ∝ e^s` and `V_k` in `[l, h]`. Rows of keys read `K_r` up to a number; products with keys that are numbers have no
//! rows. With computed scores that are off by at most
//! `e`, products, their sum and the distance from the largest one included,
//!
//! ```text
//! p' ∝ e^{s+δ}, |δ_k| ≤ e:      |Σ p'_k V_k - Σ p_k V_k| ≤ min(1, e/2) (h - l)
//! ```
//!
//! Along `s + τδ` the derivative of the mean is the covariance of `δ` and `V`, at most the product of their standard
//! deviations, and those are at most half of what they span. Weights that are computed are `p'` up to a factor `1 ± Θ`, as
//! in the rule *largest*; so the head is within `min(1, e/2) (h - l) + Θ max|V| + (1 + Θ) r` of the mean that is meant,
//! with `r` the error of the values that are read.

use super::{Form, Prover, Reading, Stop, declined, line, up};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::sum::Row;
use crate::read::weights::Head;

/// A row of queries or keys.
struct Side {
    /// The largest size of what it computes.
    size: Dyadic,
    /// How far that may be from what is meant.
    off: Dyadic,
}

impl Prover<'_> {
    /// How far the average of values in a range, which are off by an error, is from the mean by the scores that are meant.
    pub(super) fn weighed(
        &mut self,
        head: &Head,
        rows: &[[Form; 2]],
        values: &Range,
        (size, error): (&Dyadic, &Dyadic),
    ) -> Result<Dyadic, Stop> {
        let half = &self.scores(head, rows)? * &Dyadic::power_of_two(-1);
        let moved = &half.min(Dyadic::ONE) * &(&values.hi - &values.lo);
        let share = self.share(self.tokens)?;
        Ok(up(&(&(&moved + &(&share * size)) + &(&(&Dyadic::ONE + &share) * error))))
    }

    /// How far computed scores may be from those that are meant, but for a number that all have in common.
    fn scores(&mut self, head: &Head, rows: &[[Form; 2]]) -> Result<Dyadic, Stop> {
        // What a score has of the token that sees alone changes no weight.
        let rows: Vec<&[Form; 2]> = rows.iter().filter(|[_, key]| !key.terms.is_empty()).collect();
        if head.q.len() != head.k.len() || head.q.len() < rows.len() {
            return Err(line("a score of more products than the head has"));
        }
        let (mut off, mut sizes) = (Dyadic::ZERO, Dyadic::ZERO);
        for (place, (q, k)) in head.q.iter().zip(&head.k).enumerate() {
            let Some([query, key]) = rows.get(place) else {
                if q.is_zero() || k.is_zero() {
                    continue;
                }
                return Err(line("a head with more scores than its wire"));
            };
            let (query, key) = (self.side(q, query, false)?, self.side(k, key, true)?);
            let keyed = &key.size + &key.off;
            off = up(&(&off + &(&(&query.size * &key.off) + &(&query.off * &keyed))));
            sizes = up(&(&sizes + &(&query.size * &key.size)));
        }
        // Products and their sum; two scores, and the distance of one from the other.
        let twice = &sizes + &sizes;
        self.note(&(&twice + &twice));
        let rounded = &self.gamma(rows.len().saturating_add(1)) + &(&self.unit() + &self.unit());
        Ok(up(&(&(&off + &(&rounded * &sizes)) + &self.tiny(rows.len().saturating_add(1)))))
    }

    /// A row that reads a form, as far as it is known; of a key, up to a number.
    fn side(&mut self, row: &Row, wanted: &Form, free: bool) -> Result<Side, Stop> {
        if free && !row.bias.is_zero() {
            return Err(declined("keys with a bias"));
        }
        let reading = self.read(&row.weights)?;
        let housed = self.housed_row(&reading, &row.bias);
        let Reading { form, lost, size, count, single, .. } = reading;
        let form = form.plus(&Ratio::ONE, &Form::number(Ratio::of(&row.bias)));
        let (shift, rest) = self.apart(&form, &self.lowered(wanted)?)?;
        let terms = count.saturating_add(usize::from(!row.bias.is_zero()));
        let size = &size + &row.bias.abs();
        let rounded = match (housed, count, terms, single) {
            // Every token has a factor of its own.
            (Some(own), ..) => &own + &(&self.output_factor() * &(&size + &own)),
            (_, 0, ..) => Dyadic::ZERO,
            (_, 1, 1, true) => self.tiny(1),
            _ => &(&self.gamma(terms) * &size) + &self.tiny(terms),
        };
        let missed = if free { Dyadic::ZERO } else { shift.abs() };
        let off = &(&(&self.error(wanted)? + &lost) + &rounded) + &(&rest + &missed);
        Ok(Side { size: up(&(&size + &rounded)), off: up(&off) })
    }
}
