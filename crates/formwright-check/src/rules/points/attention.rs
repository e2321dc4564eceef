//! Attention: rules *softmax* (with `kernel/softmax.rs`) and *pairs* of CERTIFICATE.md, section 6.

use std::collections::{BTreeMap, HashMap};
use std::sync::RwLock;

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

/// A token as the heads of a layer read it: for each head its keys and its values.
pub struct Read(Vec<(Vec<Total>, Vec<Total>)>);

/// Heads that are not without weights. A head that writes nothing may still overflow.
fn busy(heads: &[Head]) -> impl Iterator<Item = &Head> {
    heads.iter().filter(|head| !head.is_zero())
}

/// Reads a token, for all heads.
pub(super) fn read(heads: &[Head], z: &[Value], format: Format) -> Outcome<Read> {
    let of = |head: &Head| Ok((all_rows(&head.k, z, format)?, all_rows(&head.v, z, format)?));
    Ok(Read(busy(heads).map(of).collect::<Outcome<_>>()?))
}

/// Weights that are known already, by query and keys: where those are places, they are the same again and again.
#[derive(Default)]
pub struct Known(RwLock<HashMap<Vec<Value>, Vec<Value>>>);

/// The most weights that are remembered.
const REMEMBERED: usize = 1 << 12;

impl Known {
    /// The weights of keys for a query: remembered, or worked out.
    fn shares(&self, query: &[Value], keys: &[&Vec<Total>], format: Format) -> Outcome<Vec<Value>> {
        let all = || keys.iter().flat_map(|key| key.iter().map(|total| &total.value));
        let asked: Vec<Value> = query.iter().chain(all()).cloned().collect();
        if let Some(known) = self.0.read().ok().and_then(|known| known.get(&asked).cloned()) {
            return Ok(known);
        }
        let shares = weigh(query, keys, format)?;
        if let Ok(mut known) = self.0.write()
            && known.len() < REMEMBERED
        {
            known.insert(asked, shares.clone());
        }
        Ok(shares)
    }
}

/// The weights of keys for a query.
fn weigh(query: &[Value], keys: &[&Vec<Total>], format: Format) -> Outcome<Vec<Value>> {
    let score = |key: &&Vec<Total>| {
        let mut score = Sum::new(format);
        query.iter().zip(*key).for_each(|(q, k)| score.term(q, &k.value));
        Ok(score.total(None)?.value)
    };
    softmax(&keys.iter().map(score).collect::<Outcome<Vec<_>>>()?, format)
}

/// The values that a head gives to a query, from the keys and values of the tokens that it sees.
fn give<'k>(
    query: &[Value],
    seen: &[(&'k Read, usize)],
    size: usize,
    known: Option<&Known>,
    format: Format,
) -> Outcome<Given<'k>> {
    let read = || seen.iter().filter_map(|(read, head)| read.0.get(*head));
    let keys: Vec<&Vec<Total>> = read().map(|(key, _)| key).collect();
    let values: Vec<&Vec<Total>> = read().map(|(_, value)| value).collect();
    let shares = match known {
        Some(known) => known.shares(query, &keys, format)?,
        None => weigh(query, &keys, format)?,
    };
    let totals = (0..size).map(|row| average(&shares, &values, row, format)).collect::<Outcome<_>>()?;
    Ok(Given { shares, values, totals })
}

/// Lets tokens attend to keys. Keys are tokens too: `keys` lists them, as often as they occur.
pub(super) fn attention(
    heads: &[Head],
    tokens: &mut [Vec<Value>],
    keys: &[usize],
    shares: Option<&Known>,
    format: Format,
) -> Outcome<()> {
    let mut known = BTreeMap::new();
    for key in keys {
        if let (false, Some(z)) = (known.contains_key(key), tokens.get(*key)) {
            known.insert(*key, read(heads, z, format)?);
        }
    }
    let reads: Vec<(usize, &Read)> = keys.iter().filter_map(|key| Some((*key, known.get(key)?))).collect();
    attend(heads, tokens, 0, &reads, shares, format)
}

/// Lets tokens, the first of which stands at a place, attend to what was read at keys, each of which has a name: what
/// is read at keys of one name is the same.
pub(super) fn attend(
    heads: &[Head],
    tokens: &mut [Vec<Value>],
    first: usize,
    keys: &[(usize, &Read)],
    shares: Option<&Known>,
    format: Format,
) -> Outcome<()> {
    let heads: Vec<&Head> = busy(heads).collect();
    let mut new = Vec::new();
    // Equal queries that see the same keys get the same values.
    let mut known: Vec<Vec<Answered<'_>>> = heads.iter().map(|_| Vec::new()).collect();
    // So do equal coordinates to which the same is added.
    let mut sums: BTreeMap<usize, Vec<(Vec<usize>, Value, Value)>> = BTreeMap::new();
    for (t, z) in tokens.iter().enumerate() {
        let t = first.saturating_add(t);
        let mut found = Vec::new();
        for ((at, head), known) in heads.iter().enumerate().zip(&mut known) {
            let query: Vec<Value> = all_rows(&head.q, z, format)?.into_iter().map(|total| total.value).collect();
            let sees = |k: usize| head.mask.sees(t, k);
            let seen: Vec<usize> =
                keys.iter().enumerate().filter(|(k, _)| sees(*k)).map(|(_, (name, _))| *name).collect();
            let place = known.iter().position(|(q, s, _)| *q == query && *s == seen);
            found.push(place.unwrap_or(known.len()));
            if place.is_none() {
                let reads: Vec<(&Read, usize)> =
                    keys.iter().enumerate().filter(|(k, _)| sees(*k)).map(|(_, (_, read))| (*read, at)).collect();
                let given = give(&query, &reads, head.v.len(), shares, format)?;
                known.push((query, seen, given));
            }
        }
        let given: Vec<&Given<'_>> =
            known.iter().zip(&found).filter_map(|(known, at)| Some(&known.get(*at)?.2)).collect();
        let mut z = z.clone();
        for (r, own) in z.iter_mut().enumerate() {
            let rows: Vec<&Row> = heads.iter().filter_map(|head| head.o.get(r)).collect();
            if rows.iter().all(|row| row.is_zero()) {
                continue;
            }
            let sums = sums.entry(r).or_default();
            if let Some((.., sum)) = sums.iter().find(|(from, before, _)| *from == found && before == own) {
                own.clone_from(sum);
                continue;
            }
            let sum = added(&heads, &rows, &given, own, format)?;
            sums.push((found.clone(), std::mem::replace(own, sum.clone()), sum));
        }
        new.push(z);
    }
    tokens.iter_mut().zip(new).for_each(|(place, z)| *place = z);
    Ok(())
}

/// A coordinate, and what heads add to it.
fn added(heads: &[&Head], rows: &[&Row], given: &[&Given<'_>], own: &Value, format: Format) -> Outcome<Value> {
    let mut sum = Sum::new(format);
    sum.weighted(&Dyadic::ONE, own);
    for (row, head) in rows.iter().zip(given) {
        let written = row.weights.iter().filter_map(|(place, weight)| Some((weight, head.totals.get(*place)?)));
        written.for_each(|(weight, total)| sum.weighted(weight, &total.value));
    }
    let total = sum.total(None)?.value;
    let pair = if total.range.is_point() { None } else { paired(heads, rows, given, own, format) };
    Ok(match pair {
        Some(pair) => sum.total(Some(pair))?.value,
        None => total,
    })
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
