//! Rule *performer*: a head whose queries and keys are numbers, the same for all tokens.
//!
//! ```text
//! H = Σ_a (φ_a(Q)/k) Σ_j φ_a(K) V_j,   φ_a(y) = exp(w_a·y - ½ Σ_c y_c²), within a factor of 1 ± θ; exp(0) = 1
//! α_j = (1/k) Σ_a φ_a(Q) φ_a(K), whatever execution each of these is of: enclosed; the total is n times their middle
//! r = n + k + 6: a product with φ_a(K), n - 1 additions; a product, k - 1 additions; and at most 6 for the division by k:
//!                a root, its reciprocal and a product with it, of queries and of keys
//! ```

use super::uniform::Uniform;
use super::{Prover, Stop, declined};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::sum::{Outcome, Overflow, Row, Sum, Value, rounded};
use crate::prove::rejected;
use crate::read::weights::Head;

impl Prover<'_> {
    /// Bounds a Performer's head.
    pub(super) fn performer(&mut self, head: &Head, w: &[Row]) -> Result<Uniform, Stop> {
        self.one_length()?;
        let (query, key) = (self.numbers(&head.q)?, self.numbers(&head.k)?);
        let (mut sum, mut largest, mut least) = (Range::ZERO, Dyadic::ONE, None::<Dyadic>);
        for direction in w {
            let both = [&query, &key].map(|y| self.feature(direction, y));
            let [asked, held] = both.map(|value| value.map_err(|Overflow(what)| rejected("finite", what)));
            let (asked, held) = (asked?, held?);
            for feature in [&asked, &held] {
                largest = largest.max(feature.hi.clone());
                let low = feature.lo.clone();
                least = Some(least.map_or(low.clone(), |least| least.min(low)));
            }
            sum = (&sum + &(&asked * &held)).kept().ok_or_else(|| declined("features are too large"))?;
        }
        let (n, k) = (Ratio::whole(self.tokens), Ratio::whole(w.len()));
        // A feature that is divided by k is still a number that nothing flushes.
        let smallest = &Self::count(w.len().saturating_add(1)) * &Dyadic::power_of_two(self.format.least);
        if least.is_none_or(|least| least < &smallest + &smallest) {
            return Err(declined("a Performer's feature may be flushed"));
        }
        let middle = &(&sum.lo + &sum.hi) * &Dyadic::power_of_two(-1);
        let nothing = || declined("a Performer without features");
        let total = Ratio::of(&middle).times(&n).over(&k).filter(|total| !total.is_zero()).ok_or_else(nothing)?;
        let spread = Range::point(&sum.hi - &middle).over(&Range::point(middle)).ok_or_else(nothing)?.hi;
        for row in &head.v {
            let size = self.read(&row.weights)?.size;
            let all = &(&(&size + &size) * &largest) * &Self::count(self.tokens);
            self.note(&(&(&all + &all) * &(&largest * &Self::count(w.len()))));
        }
        let more = self.tokens.saturating_add(w.len());
        let roundings = more.saturating_add(6);
        Ok(Uniform { total, spread, roundings, rough: Dyadic::ONE, products: more, grown: largest })
    }

    /// The values of rows at every token: numbers that no input changes.
    fn numbers(&mut self, rows: &[Row]) -> Result<Vec<Value>, Stop> {
        let mut values = Vec::new();
        for row in rows {
            let reading = self.read(&row.weights)?;
            if !reading.form.terms.is_empty() {
                return Err(declined("a Performer's head whose queries or keys read what tokens hold"));
            }
            let exact = reading.form.offset.plus(&Ratio::of(&row.bias));
            let all = &reading.size + &row.bias.abs();
            self.note(&(&all + &all));
            let copied = reading.single && row.bias.is_zero() && exact.range().is_point();
            let off = if row.weights.is_empty() || (copied && exact.is_zero() && reading.size.is_zero()) {
                Dyadic::ZERO
            } else if copied && exact.range().size() >= Dyadic::power_of_two(self.format.least) {
                // A number times a power of two is a number.
                reading.lost.clone()
            } else {
                let terms = reading.count.saturating_add(1);
                &(&reading.lost + &(&self.gamma(terms) * &all)) + &self.tiny(terms)
            };
            values.push(Value::float((&exact.range() + &Range::around_zero(&off)).tidy(), self.format));
        }
        Ok(values)
    }

    /// `exp(w·y - ½ Σ y²)`, as it is computed.
    fn feature(&self, direction: &Row, y: &[Value]) -> Outcome<Range> {
        let (mut along, mut squares) = (Sum::new(self.format), Sum::new(self.format));
        for (place, weight) in &direction.weights {
            let number = y.get(*place).ok_or_else(|| Overflow("a feature of what is not there".into()))?;
            along.weighted(weight, number);
        }
        for number in y {
            squares.term(number, number);
        }
        let mut half = Sum::new(self.format);
        half.weighted(&Dyadic::power_of_two(-1), &squares.total(None)?.value);
        let mut exponent = Sum::new(self.format);
        exponent.weighted(&Dyadic::ONE, &along.total(None)?.value);
        exponent.weighted(&-&Dyadic::ONE, &half.total(None)?.value);
        let exponent = exponent.total(None)?.value.range;
        if exponent == Range::ZERO {
            return Ok(Range::point(Dyadic::ONE));
        }
        let slip = Dyadic::power_of_two(self.format.theta);
        let slip = Range { lo: &Dyadic::ONE - &slip, hi: &Dyadic::ONE + &slip };
        // Whatever is not bounded overflows.
        let power = exponent.exp().filter(|power| power.hi.top() < self.format.most);
        let power = power.ok_or_else(|| Overflow("a feature may overflow".into()))?;
        Ok(rounded(&(&power * &slip), self.format).range)
    }
}
