//! Feed-forward layers: rule *layers* of CERTIFICATE.md, section 6.

use std::collections::BTreeMap;

use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Range};
use crate::kernel::sum::{Outcome, Row, Sum, Total, Value, affine, inverse_power};

/// A hidden unit that may be active.
struct Active<'r> {
    row: &'r Row,
    /// `w1 z + b1` without rounding.
    real: Range,
    /// The largest distance of the computed value from it.
    error: Dyadic,
    /// The computed `max(w1 z + b1, 0)`.
    value: Value,
}

impl Active<'_> {
    fn is_sure(&self) -> bool {
        !self.real.lo.is_negative()
    }
}

/// The value of a hidden unit, if it may be active.
fn activated<'r>(row: &'r Row, z: &[Value], format: Format) -> Outcome<Option<Active<'r>>> {
    let (Total { value, error }, real) = affine(row, z, None, format)?;
    if value.range.hi <= Dyadic::ZERO {
        return Ok(None);
    }
    let range = Range { lo: value.range.lo.positive(), hi: value.range.hi.positive() };
    Ok(Some(Active { row, real, error, value: Value::multiple(range, value.quantum) }))
}

pub(super) fn feed_forward(units: &[Row], gains: &[Row], z: &mut [Value], format: Format) -> Outcome<()> {
    let active = units.iter().map(|row| activated(row, z, format)).collect::<Outcome<Vec<_>>>()?;
    let mut new = Vec::new();
    for (r, gain) in gains.iter().enumerate() {
        let used: Vec<(&Dyadic, &Active<'_>)> =
            gain.weights.iter().filter_map(|(place, weight)| Some((weight, active.get(*place)?.as_ref()?))).collect();
        if !used.is_empty() || !gain.bias.is_zero() {
            new.push((r, gained(r, gain, &used, z, format)?));
        }
    }
    for (r, value) in new {
        z.get_mut(r).into_iter().for_each(|place| *place = value.clone());
    }
    Ok(())
}

/// A coordinate with its gain. A few units that bend with one coordinate are looked at piece by piece: on each piece it
/// is known which of them are active.
fn gained(r: usize, gain: &Row, used: &[(&Dyadic, &Active<'_>)], z: &[Value], format: Format) -> Outcome<Value> {
    let open: Vec<&Active<'_>> = used.iter().map(|(_, unit)| *unit).filter(|unit| !unit.is_sure()).collect();
    let kink = |unit: &&Active<'_>| match unit.row.weights.as_slice() {
        [(place, weight)] => Some((*place, -&(&unit.row.bias * &inverse_power(weight)?))),
        _ => None,
    };
    let kinks: Option<Vec<(usize, Dyadic)>> = open.iter().map(kink).collect();
    let Some(mut kinks) = kinks
        .filter(|kinks| kinks.len() <= FEW && kinks.iter().all(|(at, _)| Some(at) == kinks.first().map(|(at, _)| at)))
    else {
        return gained_whole(r, gain, used, z, format);
    };
    let Some((place, own)) = kinks.first().and_then(|(place, _)| Some((*place, z.get(*place)?))) else {
        return gained_whole(r, gain, used, z, format);
    };
    kinks.push((place, own.range.hi.clone()));
    kinks.sort();
    let (mut from, mut result): (Dyadic, Option<Value>) = (own.range.lo.clone(), None);
    for (_, to) in kinks {
        if to <= from {
            continue;
        }
        let mut piece = z.to_vec();
        let range = Range { lo: from, hi: to.clone().min(own.range.hi.clone()) };
        let value = Value::float(range, format).at_least(own.quantum);
        piece.get_mut(place).into_iter().for_each(|at| *at = value.clone());
        let units = used.iter().map(|(weight, unit)| Ok((*weight, activated(unit.row, &piece, format)?)));
        let units = units.collect::<Outcome<Vec<_>>>()?;
        let units: Vec<(&Dyadic, &Active<'_>)> =
            units.iter().filter_map(|(weight, unit)| Some((*weight, unit.as_ref()?))).collect();
        let part = gained_whole(r, gain, &units, &piece, format)?;
        result = Some(result.map_or(part.clone(), |known| known.hull(&part)));
        from = to;
    }
    result.map_or_else(|| gained_whole(r, gain, used, z, format), Ok)
}

/// The most units that are looked at piece by piece.
const FEW: usize = 8;

fn gained_whole(r: usize, gain: &Row, used: &[(&Dyadic, &Active<'_>)], z: &[Value], format: Format) -> Outcome<Value> {
    let mut sum = Sum::new(format);
    z.get(r).into_iter().for_each(|own| sum.weighted(&Dyadic::ONE, own));
    sum.known(&gain.bias);
    let mut noise = Dyadic::ZERO;
    for (weight, unit) in used {
        sum.weighted(weight, &unit.value);
        if !unit.error.is_zero() {
            noise = &noise + &(&weight.abs() * &unit.error);
        }
    }
    let real = composed(r, gain, used, z);
    Ok(sum.total(Some(&real + &Range::around_zero(&noise)))?.value)
}

/// Rule *layers*: `z_r + b2 + Σ w2 max(w1 z + b1, 0)` without rounding.
fn composed(r: usize, gain: &Row, used: &[(&Dyadic, &Active<'_>)], z: &[Value]) -> Range {
    if z.get(r).is_some_and(|own| own.range.is_point()) && used.iter().all(|(_, unit)| unit.real.is_point()) {
        let start = z.get(r).map_or(Range::ZERO, |own| own.range.clone());
        let start = &start + &Range::point(gain.bias.clone());
        return used.iter().fold(start, |sum, (weight, unit)| &sum + &Range::point(&unit.real.lo.positive() * weight));
    }
    let mut slopes = BTreeMap::from([(r, Dyadic::ONE)]);
    let mut constant = Range::point(gain.bias.clone());
    let mut bends: Vec<Group<'_>> = Vec::new();
    for (weight, unit) in used {
        if unit.is_sure() {
            constant = &constant + &Range::point(*weight * &unit.row.bias);
            for (place, inner) in &unit.row.weights {
                let slope = slopes.entry(*place).or_insert(Dyadic::ZERO);
                *slope = &*slope + &(*weight * inner);
            }
            continue;
        }
        let reads = unit.row.weights.as_slice();
        let opposite = |known: &[(usize, Dyadic)]| {
            known.len() == reads.len() && known.iter().zip(reads).all(|(a, b)| a.0 == b.0 && a.1 == -&b.1)
        };
        let group = bends.iter_mut().find(|(known, _)| *known == reads || opposite(known));
        let bend = |left: bool| Bend { left, bias: unit.row.bias.clone(), weight: (*weight).clone() };
        match group {
            Some((known, group)) => group.push(bend(*known != reads)),
            None => bends.push((reads, vec![bend(false)])),
        }
    }
    for (reads, group) in bends {
        let value = |place: &usize| z.get(*place).map_or(Range::ZERO, |value| value.range.clone());
        let mut slope = Dyadic::ZERO;
        // A single coordinate, read with a power of two: the other units that read it bend with it.
        if let [(place, weight)] = reads
            && let Some(inverse) = inverse_power(weight)
        {
            slope = slopes.remove(place).map_or(Dyadic::ZERO, |slope| &slope * &inverse);
        }
        let t = reads
            .iter()
            .fold(Range::ZERO, |sum, (place, weight)| &sum + &(&Range::point(weight.clone()) * &value(place)));
        constant = &constant + &bent(&t, slope, group);
    }
    slopes.iter().fold(constant, |sum, (place, slope)| {
        let value = z.get(*place).map_or(Range::ZERO, |value| value.range.clone());
        &sum + &(&Range::point(slope.clone()) * &value)
    })
}

/// A functional, up to sign, and the units that read it.
type Group<'r> = (&'r [(usize, Dyadic)], Vec<Bend>);

/// `weight · max(t + bias, 0)`, or with `-t`.
struct Bend {
    left: bool,
    bias: Dyadic,
    weight: Dyadic,
}

/// The values of `slope·t + Σ bends` on a range of `t` on which no unit is active everywhere. The extremes are at the
/// ends and at the kinks.
fn bent(t: &Range, mut slope: Dyadic, bends: Vec<Bend>) -> Range {
    let (mut at, mut value, mut kinks) = (t.lo.clone(), &slope * &t.lo, Vec::new());
    for Bend { left, bias, weight } in bends {
        let kink = if left { bias.clone() } else { -&bias };
        let input = &(if left { -&at } else { at.clone() }) + &bias;
        value = &value + &(&input.positive() * &weight);
        if left && kink > at {
            slope = &slope - &weight;
        }
        if kink > at && kink < t.hi {
            kinks.push((kink, weight));
        }
    }
    kinks.sort_by(|a, b| a.0.cmp(&b.0));
    let mut range = Range::point(value.clone());
    for (kink, weight) in kinks.into_iter().chain([(t.hi.clone(), Dyadic::ZERO)]) {
        value = &value + &(&slope * &(&kink - &at));
        range = range.hull(&Range::point(value.clone()));
        // A unit that opens to the right begins here, and one that opens to the left ends: either way the slope grows
        // by the weight.
        (at, slope) = (kink, &slope + &weight);
    }
    range
}
