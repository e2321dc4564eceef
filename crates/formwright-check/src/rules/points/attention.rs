//! Attention: rules *softmax* (with `kernel/softmax.rs`) and *pairs* of CERTIFICATE.md, section 6.

use std::collections::BTreeMap;

use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Range};
use crate::kernel::softmax::{excess, softmax};
use crate::kernel::sum::{Outcome, Row, Sum, Total, Value, affine};
use crate::read::weights::Head;

/// The values that a head gives a token, and their parts.
struct Given<'k> {
    shares: Vec<Value>,
    values: Vec<&'k Vec<Total>>,
    totals: Vec<Total>,
}

/// A query, the tokens that it sees, and the values that it was given.
type Answered<'k> = (Vec<Value>, Vec<usize>, Given<'k>);

/// The values of all rows at a token.
pub(super) fn all_rows(rows: &[Row], z: &[Value], format: Format) -> Outcome<Vec<Total>> {
    rows.iter().map(|row| Ok(affine(row, z, None, format)?.0)).collect()
}

/// The values that a head gives to a query, from the keys and values of the tokens that it sees.
fn give<'k>(
    query: &[Value],
    seen: &[usize],
    read: &'k BTreeMap<usize, (Vec<Total>, Vec<Total>)>,
    size: usize,
    format: Format,
) -> Outcome<Given<'k>> {
    let (mut scores, mut values) = (Vec::new(), Vec::new());
    for (key, value) in seen.iter().filter_map(|key| read.get(key)) {
        let mut score = Sum::new(format);
        query.iter().zip(key).for_each(|(q, k)| score.term(q, &k.value));
        scores.push(score.total(None)?.value);
        values.push(value);
    }
    let shares = softmax(&scores, format)?;
    let totals = (0..size).map(|row| average(&shares, &values, row, format)).collect::<Outcome<_>>()?;
    Ok(Given { shares, values, totals })
}

/// Lets tokens attend to keys. Keys are tokens too: `keys` lists them, as often as they occur.
pub(super) fn attention(heads: &[Head], tokens: &mut [Vec<Value>], keys: &[usize], format: Format) -> Outcome<()> {
    // A head that writes nothing may still overflow.
    let heads: Vec<&Head> = heads.iter().filter(|head| !head.is_zero()).collect();
    let mut read = Vec::new();
    for head in &heads {
        let mut known = BTreeMap::new();
        for key in keys {
            if let (false, Some(z)) = (known.contains_key(key), tokens.get(*key)) {
                known.insert(*key, (all_rows(&head.k, z, format)?, all_rows(&head.v, z, format)?));
            }
        }
        read.push(known);
    }
    let mut new = Vec::new();
    // Equal queries that see the same keys get the same values.
    let mut known: Vec<Vec<Answered<'_>>> = heads.iter().map(|_| Vec::new()).collect();
    for (t, z) in tokens.iter().enumerate() {
        let mut found = Vec::new();
        for ((head, read), known) in heads.iter().zip(&read).zip(&mut known) {
            let query: Vec<Value> = all_rows(&head.q, z, format)?.into_iter().map(|total| total.value).collect();
            let seen: Vec<usize> =
                keys.iter().enumerate().filter(|(k, _)| head.mask.sees(t, *k)).map(|(_, key)| *key).collect();
            let place = known.iter().position(|(q, s, _)| *q == query && *s == seen);
            found.push(place.unwrap_or(known.len()));
            if place.is_none() {
                let given = give(&query, &seen, read, head.v.len(), format)?;
                known.push((query, seen, given));
            }
        }
        let given: Vec<&Given<'_>> =
            known.iter().zip(found).filter_map(|(known, at)| Some(&known.get(at)?.2)).collect();
        let mut z = z.clone();
        for (r, own) in z.iter_mut().enumerate() {
            let rows: Vec<&Row> = heads.iter().filter_map(|head| head.o.get(r)).collect();
            if rows.iter().all(|row| row.is_zero()) {
                continue;
            }
            let mut sum = Sum::new(format);
            sum.weighted(&Dyadic::ONE, own);
            for (row, head) in rows.iter().zip(&given) {
                let written = row.weights.iter().filter_map(|(place, weight)| Some((weight, head.totals.get(*place)?)));
                written.for_each(|(weight, total)| sum.weighted(weight, &total.value));
            }
            let total = sum.total(None)?.value;
            let pair = if total.range.is_point() { None } else { paired(&heads, &rows, &given, own, format) };
            *own = match pair {
                Some(pair) => sum.total(Some(pair))?.value,
                None => total,
            };
        }
        new.push(z);
    }
    tokens.iter_mut().zip(new).for_each(|(place, z)| *place = z);
    Ok(())
}

/// Groups of keys whose values lie apart from all others, each with a number in its middle. Tokens that are equal up to
/// rounding stay together.
pub(super) fn groups(values: &[&Range]) -> Vec<(Vec<usize>, Range)> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|k| values.get(*k).map(|value| value.lo.clone()));
    let mut groups: Vec<(Vec<usize>, Range)> = Vec::new();
    for k in order {
        let Some(value) = values.get(k) else { continue };
        match groups.last_mut() {
            Some((group, hull)) if value.lo <= hull.hi => {
                group.push(k);
                *hull = hull.hull(value);
            }
            _ => groups.push((vec![k], (*value).clone())),
        }
    }
    for (_, hull) in &mut groups {
        let middle = (&(&hull.lo + &hull.hi) * &Dyadic::power_of_two(-1)).down(hull.size().top().saturating_sub(64));
        *hull = Range::point(middle);
    }
    groups
}

/// The sum of the shares of a group: 1 less the shares of the others.
fn group_share(shares: &[Value], group: &[usize], format: Format) -> Range {
    let excess = Range::around_zero(&excess(shares.len(), format));
    let (mut inside, mut outside) = (Range::ZERO, &Range::point(Dyadic::ONE) + &excess);
    for (k, share) in shares.iter().enumerate() {
        if group.contains(&k) { inside = &inside + &share.range } else { outside = &outside - &share.range }
    }
    inside.meet(&outside)
}

/// `Σ_k p_k V_k`, group by group: `Σ p_k (V_k - c) + c Σ p_k`.
fn average(shares: &[Value], values: &[&Vec<Total>], row: usize, format: Format) -> Outcome<Total> {
    let values: Vec<&Value> = values.iter().filter_map(|value| Some(&value.get(row)?.value)).collect();
    let mut sum = Sum::new(format);
    shares.iter().zip(&values).for_each(|(share, value)| sum.term(share, value));
    if sum.other == Range::ZERO {
        return sum.total(None);
    }
    let ranges: Vec<&Range> = values.iter().map(|value| &value.range).collect();
    let mut within = Range::ZERO;
    for (group, centre) in groups(&ranges) {
        within = &within + &(&centre * &group_share(shares, &group, format));
        for (share, value) in group.iter().filter_map(|k| Some((shares.get(*k)?, ranges.get(*k)?))) {
            within = &within + &(&share.range * &(*value - &centre));
        }
    }
    let hull = ranges.into_iter().cloned().reduce(|a, b| a.hull(&b)).unwrap_or(Range::ZERO);
    let excess = excess(shares.len(), format);
    let convex = &hull * &Range { lo: &Dyadic::ONE - &excess, hi: &Dyadic::ONE + &excess };
    sum.total(Some(within.meet(&convex)))
}

/// Rule *pairs*: the effect on a coordinate of two heads that see the same, with equal values and opposite outputs, and
/// the rounding of their averages.
fn paired(heads: &[&Head], rows: &[&Row], given: &[&Given<'_>], own: &Value, format: Format) -> Option<Range> {
    let ([first, second], [to, from], [plus, minus]) = (heads, rows, given) else { return None };
    let opposite = to.weights.len() == from.weights.len()
        && to.weights.iter().zip(&from.weights).all(|(a, b)| a.0 == b.0 && a.1 == -&b.1);
    if first.v != second.v || first.mask != second.mask || !opposite || plus.shares.len() != minus.shares.len() {
        return None;
    }
    let mut result = own.range.clone();
    for (place, weight) in &to.weights {
        let totals: Vec<&Total> = plus.values.iter().filter_map(|value| value.get(*place)).collect();
        let values: Vec<&Range> = totals.iter().map(|total| &total.value.range).collect();
        let errors = &plus.totals.get(*place)?.error + &minus.totals.get(*place)?.error;
        // The second head may have rounded its values differently; shares add up to less than 2.
        let slip = &totals.iter().map(|total| total.error.clone()).max()? * &Dyadic::power_of_two(2);
        let mut gain = Range::around_zero(&(&errors + &slip));
        for (group, centre) in groups(&values) {
            let shift = &group_share(&plus.shares, &group, format) - &group_share(&minus.shares, &group, format);
            gain = &gain + &(&centre * &shift);
            for k in group {
                let (p, m, value) = (plus.shares.get(k)?, minus.shares.get(k)?, values.get(k)?);
                gain = &gain + &(&(&p.range - &m.range) * &(*value - &centre));
            }
        }
        result = &result + &(&Range::point(weight.clone()) * &gain);
    }
    Some(result)
}
