//! All executions of a network at once: what a number can be, in any order of summation, fused or not.
//!
//! CERTIFICATE.md, section 6, has the rules; each is proved there in a sentence.

use std::collections::BTreeMap;

use crate::number::{Dyadic, Range};
use crate::weights::{Format, Head, Layer, Network, Row};

/// A computed number: it lies in `range` and is a multiple of `2^quantum`, whatever the execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Where it lies.
    pub range: Range,
    /// What it is a multiple of; 0 is a multiple of everything.
    pub quantum: i64,
}

/// A number that may be too large for the format; the place is added by who knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overflow(pub String);

type Outcome<T> = Result<T, Overflow>;

impl Value {
    /// A number that is known.
    pub fn point(x: Dyadic) -> Self {
        Self { quantum: x.quantum().unwrap_or(i64::MAX), range: Range::point(x) }
    }

    /// Some number of the format in a range.
    pub fn float(range: Range, format: Format) -> Self {
        if range.is_point() {
            return Self::point(range.lo);
        }
        let finest = last_place(format, format.least);
        let straddles = range.lo <= Dyadic::ZERO && Dyadic::ZERO <= range.hi;
        let least = range.lo.abs().min(range.hi.abs());
        let quantum = if straddles { finest } else { last_place(format, least.top()).max(finest) };
        Self { range, quantum }
    }

    /// Some multiple of `2^quantum` in a range.
    fn multiple(range: Range, quantum: i64) -> Self {
        if range.is_point() { Self::point(range.lo) } else { Self { range, quantum } }
    }

    /// The same, known to be a multiple of `2^quantum`: rounding multiples of it gives multiples of it.
    fn at_least(self, quantum: i64) -> Self {
        Self { quantum: self.quantum.max(quantum), ..self }
    }

    /// Any number of either.
    pub fn hull(&self, other: &Self) -> Self {
        Self { range: self.range.hull(&other.range), quantum: self.quantum.min(other.quantum) }
    }
}

/// The quantum of numbers below `2^top`.
fn last_place(format: Format, top: i64) -> i64 {
    top.saturating_sub(format.digits)
}

/// The number of the format that is nearest, ties to even.
fn nearest(x: &Dyadic, format: Format) -> Dyadic {
    x.nearest(last_place(format, x.top().max(format.least.saturating_add(1))))
}

/// Rule *snapping*: the number that a product rounds to, if it does so fused into a sum of the same sign as well. It does if it is less than half the distance
/// of numbers away from it, which is no smaller farther up; at a power of two, below which numbers are closer, a tie goes to the power.
fn snap(x: &Dyadic, format: Format) -> Option<Dyadic> {
    let grid = nearest(x, format);
    let half = Dyadic::power_of_two(last_place(format, grid.top()).saturating_sub(1));
    let (off, below) = ((x - &grid).abs(), x.abs() < grid.abs());
    let near = if below && inverse_power(&grid).is_some() { &off + &off <= half } else { off < half };
    (near && grid.top() > format.least).then_some(grid)
}

/// What one rounding makes of a range; below the normal range it may make 0.
pub fn rounded(range: &Range, format: Format) -> Value {
    let (lo, hi, tiny) = (nearest(&range.lo, format), nearest(&range.hi, format), Dyadic::power_of_two(format.least));
    let lo = if lo > Dyadic::ZERO && lo < tiny { Dyadic::ZERO } else { lo };
    let hi = if hi < Dyadic::ZERO && hi > -&tiny { Dyadic::ZERO } else { hi };
    Value::float(Range { lo, hi }, format)
}

/// `k·2^e`.
fn times(k: usize, e: i64) -> Dyadic {
    &Range::whole(k).hi * &Dyadic::power_of_two(e)
}

/// `γ_k = ku/(1-ku) ≤ ku(1+2ku)`, for `ku ≤ 1/2`.
pub fn gamma(k: usize, format: Format) -> Dyadic {
    let ku = times(k, format.digits.saturating_neg());
    &ku * &(&Dyadic::ONE + &(&ku + &ku))
}

/// Terms of a sum: how far up and down partial sums of them can go, and what they are multiples of.
#[derive(Clone)]
struct Part {
    count: usize,
    above: Dyadic,
    below: Dyadic,
    quantum: i64,
}

impl Part {
    const EMPTY: Self = Self { count: 0, above: Dyadic::ZERO, below: Dyadic::ZERO, quantum: i64::MAX };

    fn add(&mut self, lo: &Dyadic, hi: &Dyadic, quantum: i64) {
        self.count = self.count.saturating_add(1);
        if *hi > Dyadic::ZERO {
            self.above = &self.above + hi;
        }
        if lo.is_negative() {
            self.below = &self.below - lo;
        }
        self.quantum = self.quantum.min(quantum);
    }

    /// Rule *exact sums*.
    fn is_exact(&self, format: Format) -> bool {
        let top = self.quantum.saturating_add(format.digits);
        let fits = |x: &Dyadic| x.top() <= top || *x <= Dyadic::power_of_two(top);
        self.count == 0 || (self.quantum >= format.least && fits(&self.above) && fits(&self.below))
    }

    fn size(&self) -> Dyadic {
        &self.above + &self.below
    }
}

/// A sum of products, in any order.
#[derive(Clone)]
struct Sum {
    format: Format,
    /// The sum of the terms that are known, and of the others.
    known: Dyadic,
    other: Range,
    /// The terms that are known, and all.
    of_known: Part,
    of_all: Part,
    /// Whether every product is a number of the format.
    products: bool,
    /// The least size of a term.
    least: Option<Dyadic>,
    /// The terms, if all are known, each rounded; `None` if rounding could depend on the order.
    snapped: Option<(Part, Dyadic)>,
}

/// What a sum can be, and how far it can be from what it would be without rounding.
struct Total {
    value: Value,
    error: Dyadic,
}

impl Sum {
    fn new(format: Format) -> Self {
        let (known, other, products, least, snapped) =
            (Dyadic::ZERO, Range::ZERO, true, None, Some((Part::EMPTY, Dyadic::ZERO)));
        Self { format, known, other, of_known: Part::EMPTY, of_all: Part::EMPTY, products, least, snapped }
    }

    fn known(&mut self, x: &Dyadic) {
        let Some(quantum) = x.quantum() else { return };
        let fits = quantum >= self.format.least && x.top().saturating_sub(quantum) <= self.format.digits;
        self.products &= fits;
        let grid = if fits { Some(x.clone()) } else { snap(x, self.format) };
        self.snapped = self.snapped.take().zip(grid).map(|((mut part, sum), grid)| {
            part.add(&grid, &grid, grid.quantum().unwrap_or(i64::MAX));
            (part, &sum + &grid)
        });
        self.known = &self.known + x;
        self.of_known.add(x, x, quantum);
        self.of_all.add(x, x, quantum);
        self.note(x.abs());
    }

    fn note(&mut self, size: Dyadic) {
        self.least = Some(self.least.take().map_or(size.clone(), |least| least.min(size)));
    }

    fn weighted(&mut self, weight: &Dyadic, b: &Value) {
        if b.range.is_point() {
            self.known(&(weight * &b.range.lo));
        } else {
            self.term(&Value::point(weight.clone()), b);
        }
    }

    fn term(&mut self, a: &Value, b: &Value) {
        let term = &a.range * &b.range;
        if term.is_point() {
            return self.known(&term.lo);
        }
        let quantum = a.quantum.saturating_add(b.quantum);
        let mut alone = Part::EMPTY;
        alone.add(&term.lo, &term.hi, quantum);
        // A number of the format times a power of two is one, unless it vanishes.
        let power = |x: &Value| x.range.is_point() && inverse_power(&x.range.lo).is_some();
        self.products &= (quantum >= self.format.least && (power(a) || power(b))) || alone.is_exact(self.format);
        self.snapped = None;
        self.other = &self.other + &term;
        self.of_all.add(&term.lo, &term.hi, quantum);
        self.note(term.size());
    }

    /// Without rounding.
    fn real(&self) -> Range {
        &Range::point(self.known.clone()) + &self.other
    }

    /// The result, where the sum of the terms as they are computed is known to lie in `within`, if given.
    fn total(&self, within: Option<Range>) -> Outcome<Total> {
        let (format, k, size) = (self.format, self.of_all.count, self.of_all.size());
        let range = within.map_or_else(|| self.real(), |within| within.meet(&self.real()));
        if size.top() >= format.most.saturating_sub(1) || k > 1 << 20 {
            return Err(Overflow(format!("a sum of {k} terms may reach 2^{}", size.top())));
        }
        let exact = self.of_all.is_exact(format);
        if exact || (k == 1 && self.products) {
            return Ok(Total { value: Value::multiple(range, self.of_all.quantum), error: Dyadic::ZERO });
        }
        let unit = format.digits.saturating_neg();
        let tiny = times(k.saturating_mul(2), format.least);
        if k == 1 || (k == 2 && self.products) {
            // The nearest number is not farther away than the larger term, which is one.
            let near = self.least.clone().filter(|_| k == 2);
            let error = &range.size() * &Dyadic::power_of_two(unit);
            let error = near.map_or(error.clone(), |near| near.min(error));
            let error = if range == Range::ZERO { error } else { &error + &tiny };
            return Ok(Total { value: rounded(&range, format).at_least(self.of_all.quantum), error });
        }
        if let Some((part, sum)) = &self.snapped
            && part.is_exact(format)
            && (part.above.is_zero() || part.below.is_zero())
        {
            return Ok(Total { value: Value::point(sum.clone()), error: (sum - &self.known).abs() });
        }
        let rest = &size - &self.of_known.size();
        let small = &(&rest * &(&Dyadic::ONE + &times(k.saturating_mul(2), unit))) + &tiny;
        let edge = self.of_known.quantum.saturating_sub(format.digits).saturating_sub(1);
        if self.of_known.count > 0 && self.of_known.is_exact(format) && small.top() <= edge {
            let value = match self.known.is_zero() {
                true => Value::float(Range::around_zero(&small), format),
                false => Value::point(self.known.clone()),
            };
            return Ok(Total { value, error: small });
        }
        let error = &(&gamma(k, format) * &size) + &tiny;
        let error = error.up(error.top().saturating_sub(64));
        let range = (&range + &Range::around_zero(&error)).tidy();
        Ok(Total { value: Value::float(range, format).at_least(self.of_all.quantum), error })
    }
}

/// `row · z + bias`, and perhaps a position: as it is computed, and without rounding.
fn affine(row: &Row, z: &[Value], position: Option<&Dyadic>, format: Format) -> Outcome<(Total, Range)> {
    let mut sum = Sum::new(format);
    for (place, weight) in &row.weights {
        z.get(*place).into_iter().for_each(|value| sum.weighted(weight, value));
    }
    sum.known(&row.bias);
    position.into_iter().for_each(|position| sum.known(position));
    Ok((sum.total(None)?, sum.real()))
}

/// A hidden unit that may be active.
struct Active<'r> {
    row: &'r Row,
    /// `w1 z + b1` without rounding.
    real: Range,
    /// How far the computed one is from it.
    error: Dyadic,
    /// The computed `max(w1 z + b1, 0)`.
    value: Value,
}

impl Active<'_> {
    fn is_sure(&self) -> bool {
        !self.real.lo.is_negative()
    }
}

/// What a hidden unit may be, if it may be active.
fn activated<'r>(row: &'r Row, z: &[Value], format: Format) -> Outcome<Option<Active<'r>>> {
    let (Total { value, error }, real) = affine(row, z, None, format)?;
    if value.range.hi <= Dyadic::ZERO && real.hi <= Dyadic::ZERO {
        return Ok(None);
    }
    let range = Range { lo: value.range.lo.positive(), hi: value.range.hi.positive() };
    Ok(Some(Active { row, real, error, value: Value::multiple(range, value.quantum) }))
}

fn feed_forward(units: &[Row], gains: &[Row], z: &mut [Value], format: Format) -> Outcome<()> {
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

/// A coordinate with its gain. A few units that bend with one coordinate are looked at piece by piece: which of them are active is known on each.
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
        if to < from || (to == from && result.is_some()) {
            continue;
        }
        let mut piece = z.to_vec();
        let range = Range { lo: from, hi: to.clone().min(own.range.hi.clone()) };
        let value = Value::float(range, format);
        piece
            .get_mut(place)
            .into_iter()
            .for_each(|at| *at = Value { quantum: value.quantum.max(own.quantum), ..value.clone() });
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

/// So many units are looked at piece by piece.
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
    let mut bends: Vec<(&[(usize, Dyadic)], Vec<Bend>)> = Vec::new();
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
        // A single coordinate, read with a power of two: what else reads it bends with it.
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

/// `1/x` of a power of two, perhaps negative.
fn inverse_power(x: &Dyadic) -> Option<Dyadic> {
    let power = Dyadic::power_of_two(x.quantum()?);
    (x.abs() == power).then(|| {
        let inverse = Dyadic::power_of_two(x.quantum().unwrap_or(0).saturating_neg());
        if x.is_negative() { -&inverse } else { inverse }
    })
}

/// `weight · max(t + bias, 0)`, or with `-t`.
struct Bend {
    left: bool,
    bias: Dyadic,
    weight: Dyadic,
}

/// The values of `slope·t + Σ bends` on a range of `t`: extremes are at the ends and at kinks.
fn bent(t: &Range, mut slope: Dyadic, bends: Vec<Bend>) -> Range {
    let (mut at, mut value, mut kinks) = (t.lo.clone(), &slope * &t.lo, Vec::new());
    for Bend { left, bias, weight } in bends {
        let kink = if left { bias.clone() } else { -&bias };
        let input = &(if left { -&at } else { at.clone() }) + &bias;
        value = &value + &(&input.positive() * &weight);
        if left && kink > at {
            slope = &slope - &weight;
        } else if !left && kink <= at {
            slope = &slope + &weight;
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
        // A unit that opens to the right begins here, one that opens to the left ends: the slope grows by the weight either way.
        (at, slope) = (kink, &slope + &weight);
    }
    range
}

/// Rule *softmax*: the weights of keys with these scores.
fn softmax(scores: &[Value], format: Format) -> Outcome<Vec<Value>> {
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
        // Below the normal range it may be flushed.
        let lo = if power.lo < Dyadic::power_of_two(format.least) { Dyadic::ZERO } else { power.lo };
        powers.push(Value::float(Range { lo, hi: power.hi }, format));
    }
    let mut sum = Sum::new(format);
    powers.iter().for_each(|power| sum.weighted(&Dyadic::ONE, power));
    // The largest score has the exponential 1, and no partial sum falls.
    let sum = sum.total(None)?.value.range.max(&Range::point(Dyadic::ONE));
    let unit = Range { lo: Dyadic::ZERO, hi: Dyadic::ONE };
    let share = |power: &Value| {
        let share = power.range.over(&sum).map(|share| rounded(&share, format).range.meet(&unit));
        share
            .map(|share| Value::float(share, format))
            .ok_or_else(|| Overflow("a sum of exponentials is not bounded".into()))
    };
    powers.iter().map(share).collect()
}

/// What a head gives a token, value by value, and what it is made of.
struct Given<'k> {
    shares: Vec<Value>,
    values: Vec<&'k Vec<Total>>,
    totals: Vec<Total>,
}

/// What all rows give of a token.
fn all_rows(rows: &[Row], z: &[Value], format: Format) -> Outcome<Vec<Total>> {
    rows.iter().map(|row| Ok(affine(row, z, None, format)?.0)).collect()
}

/// What a head gives to a query, from the keys and values of the tokens that it sees.
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

/// Attention of tokens to keys, which are tokens too: `keys` lists which of them, as often as they occur.
fn attention(heads: &[Head], tokens: &mut [Vec<Value>], keys: &[usize], format: Format) -> Outcome<()> {
    let writes = |head: &Head| !head.o.iter().all(Row::is_zero) && !head.v.iter().all(Row::is_zero);
    let writing: Vec<&Head> = heads.iter().filter(|head| writes(head)).collect();
    let mut read = Vec::new();
    for head in heads {
        let mut known = BTreeMap::new();
        for key in keys {
            if let (false, Some(z)) = (known.contains_key(key), tokens.get(*key)) {
                known.insert(*key, (all_rows(&head.k, z, format)?, all_rows(&head.v, z, format)?));
            }
        }
        read.push(known);
    }
    let mut new = Vec::new();
    // Equal queries that see the same get the same.
    let mut known: Vec<Vec<(Vec<Value>, Vec<usize>, Given<'_>)>> = heads.iter().map(|_| Vec::new()).collect();
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
        // Heads that write nothing have been looked at, since 0 times an overflow is no number.
        let given = heads.iter().zip(known.iter().zip(found)).filter(|(head, _)| writes(head));
        let given: Vec<&Given<'_>> = given.filter_map(|(_, (known, at))| Some(&known.get(at)?.2)).collect();
        let mut z = z.clone();
        for (r, own) in z.iter_mut().enumerate() {
            let rows: Vec<&Row> = writing.iter().filter_map(|head| head.o.get(r)).collect();
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
            let pair = if total.range.is_point() { None } else { paired(&writing, &rows, &given, own, format) };
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

/// How far the shares of so many keys add up to something else than 1.
fn excess(keys: usize, format: Format) -> Dyadic {
    &gamma(keys.saturating_add(1), format) + &times(keys, format.least)
}

/// Keys whose values lie apart from all others', with a number amid them: tokens that are equal but for rounding stay together.
fn groups(values: &[&Range]) -> Vec<(Vec<usize>, Range)> {
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

/// What the shares of a group add up to: what is left of 1 by the others.
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

/// Rule *pairs*: what two heads with equal values and opposite outputs make of a coordinate, with the rounding of their averages.
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
        // The second head may have rounded its values otherwise; shares add up to less than 2.
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

/// A network, ready to be executed: runs of feed-forward layers have an index of where nothing happens.
pub struct Program<'n> {
    /// The network.
    pub network: &'n Network,
    indices: BTreeMap<usize, Index<'n>>,
}

/// Consecutive feed-forward layers. For those whose units all read one functional up to sign, and add no constant: the largest bias
/// on either side, which tells where all of them rest.
struct Index<'n> {
    reads: &'n [(usize, Dyadic)],
    /// For each layer, right and left: `None` if no unit opens there.
    rests: Vec<Option<[Option<Dyadic>; 2]>>,
    /// The same for every [`STRIDE`] layers together.
    strides: Vec<Option<[Option<Dyadic>; 2]>>,
}

const STRIDE: usize = 64;

fn later(a: &Option<Dyadic>, b: &Option<Dyadic>) -> Option<Dyadic> {
    a.clone().max(b.clone())
}

impl<'n> Index<'n> {
    fn new(layers: &'n [Layer], format: Format) -> Option<Self> {
        let forward = |layer: &'n Layer| match layer {
            Layer::FeedForward { units, gains } => Some((units, gains)),
            Layer::Attention(_) => None,
        };
        let run: Vec<(&Vec<Row>, &Vec<Row>)> = layers.iter().map_while(forward).collect();
        let reads =
            run.iter().flat_map(|(units, _)| units.iter()).find(|row| !row.weights.is_empty())?.weights.as_slice();
        let rest = |(units, gains): &(&Vec<Row>, &Vec<Row>)| {
            let mut sides: [Option<Dyadic>; 2] = [None, None];
            for row in units.iter().filter(|row| !row.is_zero()) {
                let left = row.weights.iter().zip(reads).all(|(a, b)| a.0 == b.0 && a.1 == -&b.1);
                let large = row.bias.top() >= format.most.saturating_sub(2);
                if row.weights.len() != reads.len() || (row.weights != reads && !left) || large {
                    return None;
                }
                // The bias with what rounding can add to it.
                let slack = &row.bias.abs() * &gamma(reads.len().saturating_add(1), format);
                let side = sides.get_mut(usize::from(left))?;
                *side = later(side, &Some(&row.bias + &slack));
            }
            gains.iter().all(|row| row.bias.is_zero()).then_some(sides)
        };
        let rests: Vec<Option<[Option<Dyadic>; 2]>> = run.iter().map(rest).collect();
        let both = |a: &Option<[Option<Dyadic>; 2]>, b: &Option<[Option<Dyadic>; 2]>| match (a, b) {
            (Some([a, b]), Some([c, d])) => Some([later(a, c), later(b, d)]),
            _ => None,
        };
        let stride = |chunk: &[Option<[Option<Dyadic>; 2]>]| chunk.iter().fold(Some([None, None]), |a, b| both(&a, b));
        let strides = rests.chunks(STRIDE).map(stride).collect();
        Some(Self { reads, rests, strides })
    }

    /// The first layer from `from` on that may do something to a token.
    fn next(&self, from: usize, z: &[Value], format: Format) -> usize {
        let (mut t, mut size) = (Range::ZERO, Dyadic::ZERO);
        for (place, weight) in self.reads {
            let Some(value) = z.get(*place) else { continue };
            let term = &Range::point(weight.clone()) * &value.range;
            (t, size) = (&t + &term, &size + &term.size());
        }
        // What overflows does not rest.
        if size.top() >= format.most.saturating_sub(2) {
            return from;
        }
        let k = self.reads.len().saturating_add(1);
        let slack = &(&gamma(k, format) * &size) + &times(k.saturating_mul(2), format.least);
        let (right, left) = (&t.hi + &slack, &slack - &t.lo);
        let idle = |rest: &Option<[Option<Dyadic>; 2]>| {
            let below = |t: &Dyadic, bias: &Option<Dyadic>| bias.as_ref().is_none_or(|bias| *t <= -bias);
            rest.as_ref().is_some_and(|[r, l]| below(&right, r) && below(&left, l))
        };
        let mut at = from;
        while let Some(rest) = self.rests.get(at) {
            if at % STRIDE == 0 && self.strides.get(at / STRIDE).is_some_and(idle) {
                at = at.saturating_add(STRIDE);
            } else if idle(rest) {
                at = at.saturating_add(1);
            } else {
                return at;
            }
        }
        self.rests.len()
    }
}

impl<'n> Program<'n> {
    /// The program of a network.
    pub fn new(network: &'n Network) -> Self {
        let mut indices = BTreeMap::new();
        let mut before = None;
        for (at, layer) in network.layers.iter().enumerate() {
            let forward = matches!(layer, Layer::FeedForward { .. });
            if forward && before != Some(true) {
                let index = network.layers.get(at..).and_then(|layers| Index::new(layers, network.format));
                index.into_iter().for_each(|index| drop(indices.insert(at, index)));
            }
            before = Some(forward);
        }
        Self { network, indices }
    }

    /// The stream of a token with these inputs, at a position.
    pub fn embed(&self, inputs: &[Value], position: usize) -> Outcome<Vec<Value>> {
        let extra = self.network.positions.get(position);
        let rows = self.network.embed.iter().enumerate();
        rows.map(|(r, row)| Ok(affine(row, inputs, extra.and_then(|p| p.get(r)), self.network.format)?.0.value))
            .collect()
    }

    /// Tokens through the layers `from..to`; `keys` lists the tokens that are attended to.
    pub fn run(&self, tokens: &mut [Vec<Value>], keys: &[usize], from: usize, to: usize) -> Outcome<()> {
        let (format, mut at) = (self.network.format, from);
        while at < to {
            match self.network.layers.get(at) {
                Some(Layer::Attention(heads)) => {
                    attention(heads, tokens, keys, format)
                        .map_err(|Overflow(what)| Overflow(format!("layer {at}: {what}")))?;
                    at = at.saturating_add(1);
                }
                Some(Layer::FeedForward { .. }) => {
                    let end = self.forward_end(at).min(to);
                    for token in tokens.iter_mut() {
                        self.forward(token, at, end)?;
                    }
                    at = end;
                }
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Where the feed-forward layers that begin at a layer end.
    pub fn forward_end(&self, from: usize) -> usize {
        let forward = |layer: &Layer| matches!(layer, Layer::FeedForward { .. });
        let rest = self.network.layers.get(from..).unwrap_or(&[]);
        from.saturating_add(rest.iter().take_while(|layer| forward(layer)).count())
    }

    fn forward(&self, token: &mut [Value], from: usize, end: usize) -> Outcome<()> {
        let (index, mut at) = (self.indices.get(&from), from);
        while at < end {
            if let Some(index) = index {
                at = from.saturating_add(index.next(at.saturating_sub(from), token, self.network.format));
                if at >= end {
                    break;
                }
            }
            if let Some(Layer::FeedForward { units, gains }) = self.network.layers.get(at) {
                feed_forward(units, gains, token, self.network.format)
                    .map_err(|Overflow(what)| Overflow(format!("layer {at}: {what}")))?;
            }
            at = at.saturating_add(1);
        }
        Ok(())
    }

    /// The outputs of a token.
    pub fn read_out(&self, z: &[Value]) -> Outcome<Vec<Range>> {
        Ok(all_rows(&self.network.read_out, z, self.network.format)?
            .into_iter()
            .map(|total| total.value.range)
            .collect())
    }
}
