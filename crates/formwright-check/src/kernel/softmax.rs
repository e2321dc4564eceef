//! Exponentials and shares: rule *softmax* of CERTIFICATE.md, section 6.

use super::format::Format;
use super::number::{Dyadic, Range};
use super::sum::{Outcome, Overflow, Sum, Value, gamma, rounded, times};

/// Rule *softmax*: the weights of keys with these scores.
pub fn softmax(scores: &[Value], format: Format) -> Outcome<Vec<Value>> {
    let Some(top) = scores.iter().map(|score| score.range.clone()).reduce(|a, b| a.max(&b)) else {
        return Ok(Vec::new());
    };
    let slip = Dyadic::power_of_two(format.theta);
    let slip = Range { lo: &Dyadic::ONE - &slip, hi: &Dyadic::ONE + &slip };
    let mut powers = Vec::new();
    for (k, score) in scores.iter().enumerate() {
        let apart = Range { lo: &score.range.lo - &top.hi, hi: (&score.range.hi - &top.lo).min(Dyadic::ZERO) };
        let largest = scores.iter().enumerate().all(|(other, rival)| other == k || rival.range.hi <= score.range.lo);
        let apart = if largest { Range::ZERO } else { rounded(&apart, format).range };
        if apart == Range::ZERO {
            powers.push(Value::point(Dyadic::ONE));
            continue;
        }
        let power = apart.exp().map(|power| &power * &slip).ok_or_else(|| Overflow("a score is not bounded".into()))?;
        // Below the normal range it is rounded once more, and may be flushed.
        powers.push(rounded(&power, format));
    }
    shares(&powers, format)
}

/// The weights of exponentials, one of which is 1: divided by their sum, or multiplied by its rounded reciprocal.
pub fn shares(powers: &[Value], format: Format) -> Outcome<Vec<Value>> {
    let mut sum = Sum::new(format);
    for power in powers {
        sum.weighted(&Dyadic::ONE, power);
    }
    // The largest score has the exponential 1, and no partial sum falls. So no weight is above 1: the weight of that
    // score is the reciprocal of at least 1, and any other shares the sum with it.
    let sum = sum.total(None)?.value.range.max(&Range::point(Dyadic::ONE));
    let unit = Range { lo: Dyadic::ZERO, hi: Dyadic::ONE };
    let unbounded = || Overflow("a sum of exponentials is not bounded".into());
    let reciprocal = rounded(&Range::point(Dyadic::ONE).over(&sum).ok_or_else(unbounded)?, format).range;
    let share = |power: &Value| {
        let divided = rounded(&power.range.over(&sum).ok_or_else(unbounded)?, format).range;
        let multiplied = rounded(&(&power.range * &reciprocal), format).range;
        Ok(Value::float(divided.hull(&multiplied).meet(&unit), format))
    };
    powers.iter().map(share).collect()
}

/// The most by which the shares of so many keys miss the sum 1: `n - 1` additions, and a quotient, or a reciprocal and
/// a product.
pub fn excess(keys: usize, format: Format) -> Dyadic {
    &gamma(keys.saturating_add(1), format) + &times(keys, format.least)
}
