//! Normal forms over whole numbers. A thing that takes the whole values `lo … hi` and no others is a **base**; every function of a base
//! `T` is one sum, and only one,
//!
//! ```text
//! f(T) = f(lo) + (f(lo+1) - f(lo)) (T - lo) + Σ_{lo<k<hi} (f(k+1) - 2 f(k) + f(k-1)) R(T - k)
//! ```
//!
//! So functions of the same whole number are compared point by point, whatever they are written like, and products of
//! them are such sums again. Of two bases the same holds for products of the two sums. A polynomial over bases that is whole is a
//! base itself, once it is an argument; its least and largest values are found by its parts.

use std::collections::{BTreeMap, BTreeSet};

use super::{Monomial, Outcome, Polynomial, Thing, Things};
use crate::kernel::number::Ratio;

/// The most values of a base, and the most pairs of values of two.
const MOST_VALUES: usize = 1 << 12;

/// The most values of terms that are looked at, all together.
const MOST_WORK: usize = 1 << 23;

/// A base; inside of a mean, whose tokens are others, or not.
type Key = (bool, usize);

/// A product of functions of bases: of each, the knots of its hinges, or none for the base itself, with exponents.
struct Term {
    coefficient: Ratio,
    factors: BTreeMap<Key, Vec<(Option<i64>, u32)>>,
}

/// A base with its values.
#[derive(Clone, Debug)]
pub(super) struct Base {
    /// The least value and the largest one.
    ends: (i64, i64),
    /// Its polynomial over other things, if it has one.
    is: Option<Polynomial>,
}

/// A whole number as a fraction.
pub(super) fn ratio(k: i64) -> Ratio {
    let size = Ratio::whole(usize::try_from(k.unsigned_abs()).unwrap_or(usize::MAX));
    if k < 0 { size.negative() } else { size }
}

/// A fraction as a whole number.
pub(super) fn whole(x: &Ratio) -> Option<i64> {
    let size = i64::try_from(x.absolute().place()?).ok()?;
    Some(if x.is_negative() { size.saturating_neg() } else { size })
}

fn count((lo, hi): (i64, i64)) -> Option<usize> {
    usize::try_from(hi.checked_sub(lo)?.checked_add(1)?).ok().filter(|count| *count <= MOST_VALUES)
}

/// The greatest common divisor of two fractions: both are whole multiples of it.
fn common(a: &Ratio, b: &Ratio) -> Ratio {
    let (mut a, mut b) = (a.absolute(), b.absolute());
    while !b.is_zero() {
        let rest = a.modulo(&b).unwrap_or(Ratio::ZERO);
        a = std::mem::replace(&mut b, rest);
    }
    a
}

impl Things {
    /// Things of sequences whose numbers are whole, of this least and this largest one; and of so many tokens.
    pub fn over(domain: Option<(i64, i64)>, tokens: Option<usize>) -> Self {
        Self { domain, tokens, ..Self::default() }
    }

    /// Makes a thing a base of the domain.
    pub(super) fn in_domain(&mut self, thing: usize) {
        if let Some(ends) = self.domain.filter(|ends| count(*ends).is_some()) {
            self.bases.entry(thing).or_insert(Base { ends, is: None });
        }
    }

    /// `R(base - knot)`.
    fn hinge(&mut self, base: usize, knot: i64) -> usize {
        let (same, outer) = self.known.get(base).copied().unwrap_or((false, None));
        // What it is outside of a mean is the hinge of what its base is there.
        let outer = outer.map(|outer| self.hinge(outer, knot));
        let number = self.number(Thing::Hinge(base, knot), same, outer);
        self.hinges.insert(number, (base, knot));
        number
    }

    /// The thing of the output token that a hinge stands for.
    pub(super) fn outer_hinge(&mut self, thing: usize) -> Option<usize> {
        let (base, knot) = self.hinges.get(&thing).copied()?;
        let outer = self.outer_thing(base);
        Some(self.hinge(outer, knot))
    }

    /// The thing that stands for one of the output token inside of a mean.
    pub(super) fn outer_thing(&mut self, thing: usize) -> usize {
        if self.is_same(thing) {
            return thing;
        }
        if let Some(hinge) = self.outer_hinge(thing) {
            return hinge;
        }
        let outer = self.number(Thing::Outer(thing), false, Some(thing));
        if let Some(base) = self.bases.get(&thing).cloned() {
            self.bases.insert(outer, base);
        }
        outer
    }

    /// The base of a thing, and the knot if it is a hinge.
    fn base_of(&self, thing: usize) -> Option<(usize, Option<i64>)> {
        match self.hinges.get(&thing) {
            Some((base, knot)) => Some((*base, Some(*knot))),
            None => self.bases.contains_key(&thing).then_some((thing, None)),
        }
    }

    fn ends(&self, base: usize) -> Option<(i64, i64)> {
        self.bases.get(&base).map(|base| base.ends)
    }

    /// The value of a product of hinges at a value of their base.
    fn at(factors: &[(Option<i64>, u32)], value: i64) -> Option<Ratio> {
        let one = |(knot, power): &(Option<i64>, u32)| {
            let x = knot.map_or(Some(value), |knot| Some(value.checked_sub(knot)?.max(0)))?;
            ratio(x).power(*power)
        };
        factors.iter().try_fold(Ratio::ONE, |product, factor| Some(product.times(&one(factor)?)))
    }

    /// The sum that a function of a base is, from all of its values.
    fn sum_of(&mut self, base: usize, values: &[Ratio]) -> Outcome<Polynomial> {
        let known = self.bases.get(&base).cloned().ok_or_else(|| "a base that is not known".to_owned())?;
        let [first, rest @ ..] = values else { return Err("a function of no values".to_owned()) };
        let mut sum = Self::constant(first.clone());
        let Some(second) = rest.first() else { return Ok(sum) };
        let slope = second.minus(first);
        let linear = known.is.clone().unwrap_or_else(|| Self::single(base));
        let moved = Self::plus(&linear, &Ratio::ONE.negative(), &Self::constant(ratio(known.ends.0)))?;
        sum = Self::plus(&sum, &slope, &moved)?;
        let mut knot = known.ends.0;
        for window in values.windows(3) {
            let [a, b, c] = window else { continue };
            knot = knot.saturating_add(1);
            let bend = c.minus(b).minus(&b.minus(a));
            if !bend.is_zero() {
                let hinge = self.hinge(base, knot);
                sum.insert(vec![(hinge, 1)], bend);
            }
        }
        Self::small(sum)
    }

    /// `a · b`: functions of the same base are multiplied point by point.
    pub fn product(&mut self, a: &Polynomial, b: &Polynomial) -> Outcome<Polynomial> {
        let product = Self::times(a, b)?;
        if self.bases.is_empty() { Ok(product) } else { self.joined(product) }
    }

    fn joined(&mut self, p: Polynomial) -> Outcome<Polynomial> {
        let mut sum = Polynomial::new();
        for (monomial, factor) in p {
            let Some((base, rest, together)) = self.repeated(&monomial) else {
                let one = Polynomial::from([(monomial, factor)]);
                sum = Self::plus(&sum, &Ratio::ONE, &one)?;
                continue;
            };
            let long = || "a function of a whole number has too many digits".to_owned();
            let (lo, hi) = self.ends(base).ok_or_else(long)?;
            let values: Option<Vec<Ratio>> = (lo..=hi).map(|value| Self::at(&together, value)).collect();
            let expanded = self.sum_of(base, &values.ok_or_else(long)?)?;
            let product = Self::times(&Polynomial::from([(rest, factor)]), &expanded)?;
            sum = Self::plus(&sum, &Ratio::ONE, &self.joined(product)?)?;
        }
        Ok(sum)
    }

    /// The first base that a monomial has more than one factor of: what is left, and these factors.
    #[expect(clippy::type_complexity, reason = "three parts of a monomial")]
    fn repeated(&self, monomial: &Monomial) -> Option<(usize, Monomial, Vec<(Option<i64>, u32)>)> {
        let mut powers: BTreeMap<usize, u32> = BTreeMap::new();
        for (thing, power) in monomial {
            if let Some((base, _)) = self.base_of(*thing) {
                let sum = powers.entry(base).or_insert(0);
                *sum = sum.saturating_add(*power);
            }
        }
        let (base, _) = powers.into_iter().find(|(_, power)| *power > 1)?;
        let (mut rest, mut together) = (Monomial::new(), Vec::new());
        for (thing, power) in monomial {
            match self.base_of(*thing) {
                Some((found, knot)) if found == base => together.push((knot, *power)),
                _ => rest.push((*thing, *power)),
            }
        }
        Some((base, rest, together))
    }

    /// A polynomial as products of functions of bases; means are taken apart, with the factor that is common to all tokens. Nothing if
    /// something else is part of it.
    fn terms(&self, p: &Polynomial) -> Option<Vec<Term>> {
        let mut terms = Vec::new();
        for (monomial, coefficient) in p {
            let mut term = Term { coefficient: coefficient.clone(), factors: BTreeMap::new() };
            let mut averaged = false;
            for (thing, power) in monomial {
                if let Some((base, knot)) = self.base_of(*thing) {
                    term.factors.entry((false, base)).or_default().push((knot, *power));
                } else if let (Some(inner), 1, false) = (self.means.get(thing), *power, averaged) {
                    averaged = true;
                    for (thing, power) in inner {
                        let (base, knot) = self.base_of(*thing)?;
                        term.factors.entry((true, base)).or_default().push((knot, *power));
                    }
                } else {
                    return None;
                }
            }
            terms.push(term);
        }
        Some(terms)
    }

    /// All values of some terms over the values of their bases, of which there are one or two, in order; the first base is the slower one.
    fn table(&self, terms: &[&Term], keys: &[Key]) -> Option<Vec<Ratio>> {
        let ends: Vec<(i64, i64)> = keys.iter().map(|(_, base)| self.ends(*base)).collect::<Option<_>>()?;
        let mut places: Vec<Vec<i64>> = vec![Vec::new()];
        for (lo, hi) in &ends {
            count((*lo, *hi))?;
            let longer = |place: &Vec<i64>, value| place.iter().copied().chain([value]).collect();
            places = places.iter().flat_map(|place| (*lo..=*hi).map(move |value| longer(place, value))).collect();
            if places.len() > MOST_VALUES {
                return None;
            }
        }
        self.work.set(self.work.get().saturating_add(places.len().saturating_mul(terms.len())));
        if self.work.get() > MOST_WORK {
            return None;
        }
        let value = |place: &Vec<i64>| {
            let mut sum = Ratio::ZERO;
            for term in terms {
                let mut product = term.coefficient.clone();
                for (key, factors) in &term.factors {
                    let at = keys.iter().position(|known| known == key)?;
                    product = product.times(&Self::at(factors, *place.get(at)?)?);
                }
                sum = sum.plus(&product);
            }
            Some(sum)
        };
        places.iter().map(value).collect()
    }

    /// A polynomial without the multiples of bases that are polynomials themselves and have hinges in it: these belong together.
    fn folded(&self, p: &Polynomial) -> (Polynomial, Vec<(usize, Ratio)>) {
        let (mut rest, mut bases) = (p.clone(), Vec::new());
        let hinged: BTreeSet<usize> =
            p.keys().flatten().filter_map(|(thing, _)| self.hinges.get(thing).map(|(base, _)| *base)).collect();
        for base in hinged {
            let Some(is) = self.bases.get(&base).and_then(|base| base.is.as_ref()) else { continue };
            let first = is.iter().find(|(monomial, _)| !monomial.is_empty());
            let share = first.and_then(|(monomial, factor)| rest.get(monomial)?.over(factor));
            let Some(share) = share else { continue };
            let Ok(less) = Self::plus(&rest, &share.negative(), is) else { continue };
            if less.len() < rest.len() {
                rest = less;
                bases.push((base, share));
            }
        }
        (rest, bases)
    }

    /// A number that is not larger than any value of a polynomial, and one that is not smaller; nothing if it is not one over bases.
    pub fn bounds(&self, p: &Polynomial) -> Option<(Ratio, Ratio)> {
        let (rest, bases) = self.folded(p);
        let mut terms = self.terms(&rest)?;
        for (base, coefficient) in bases {
            terms.push(Term { coefficient, factors: BTreeMap::from([((false, base), vec![(None, 1)])]) });
        }
        let mut sets: Vec<BTreeSet<Key>> = terms.iter().map(|term| term.factors.keys().copied().collect()).collect();
        sets.sort_by_key(|set| (std::cmp::Reverse(set.len()), set.clone()));
        sets.dedup();
        let mut parts: Vec<(BTreeSet<Key>, Vec<&Term>)> = Vec::new();
        for set in sets.iter().filter(|set| set.len() <= 2) {
            if !parts.iter().any(|(known, _)| set.is_subset(known)) {
                parts.push((set.clone(), Vec::new()));
            }
        }
        let (mut lo, mut hi) = (Ratio::ZERO, Ratio::ZERO);
        let mut add = |least: Ratio, most: Ratio| {
            lo = lo.plus(&least);
            hi = hi.plus(&most);
        };
        for term in &terms {
            let set: BTreeSet<Key> = term.factors.keys().copied().collect();
            if let Some((_, part)) = parts.iter_mut().find(|(known, _)| set.is_subset(known)) {
                part.push(term);
                continue;
            }
            // Too many bases: each factor by itself.
            let (mut least, mut most) = (term.coefficient.clone(), term.coefficient.clone());
            for ((_, base), factors) in &term.factors {
                let (from, to) = self.ends(*base)?;
                let values: Vec<Ratio> = (from..=to).map(|value| Self::at(factors, value)).collect::<Option<_>>()?;
                let (a, b) = (values.iter().min()?, values.iter().max()?);
                let all = [least.times(a), least.times(b), most.times(a), most.times(b)];
                (least, most) = (all.iter().min()?.clone(), all.iter().max()?.clone());
            }
            add(least, most);
        }
        for (keys, part) in &parts {
            let keys: Vec<Key> = keys.iter().copied().collect();
            let values = self.table(part, &keys)?;
            add(values.iter().min()?.clone(), values.iter().max()?.clone());
        }
        Some((lo, hi))
    }

    /// Writes a polynomial as a multiple of another, the number added apart, such that all values of the latter are
    /// whole and have no common divisor for a reason that its factors show: `(whole, scale, shift)`. The sum over all
    /// tokens of what is whole is.
    fn scaled(&self, p: &Polynomial) -> Option<(Polynomial, Ratio, Ratio)> {
        // No monomial has more than one mean, or a power of one.
        self.terms(p)?;
        let shift = p.get(&Vec::new()).cloned().unwrap_or(Ratio::ZERO);
        let mut divisor = Ratio::ZERO;
        for (monomial, factor) in p.iter().filter(|(monomial, _)| !monomial.is_empty()) {
            let mut share = factor.clone();
            for (thing, _) in monomial {
                if self.base_of(*thing).is_none() {
                    self.means.get(thing)?;
                    share = share.over(&Ratio::whole(self.tokens?))?;
                }
            }
            divisor = common(&divisor, &share);
        }
        let first = p.iter().find(|(monomial, _)| !monomial.is_empty()).map(|(_, factor)| factor.is_negative());
        let scale = if first? { divisor.negative() } else { divisor };
        let whole = Self::reduced(p, &shift, &scale).ok()?;
        Some((whole, scale, shift))
    }

    /// A number and a positive factor such that all of these, less the one and over the other, are whole.
    pub(super) fn whole_scale(&self, all: &[&Polynomial]) -> Option<(Ratio, Ratio)> {
        let (mut first, mut divisor) = (None, Ratio::ZERO);
        for p in all {
            let (scale, shift) = match Self::as_number(p) {
                Some(number) => (Ratio::ZERO, number),
                None => self.scaled(p).map(|(_, scale, shift)| (scale, shift))?,
            };
            let first = first.get_or_insert_with(|| shift.clone());
            divisor = common(&common(&divisor, &scale), &shift.minus(first));
        }
        first.filter(|_| !divisor.is_zero()).map(|shift| (shift, divisor))
    }

    /// True if all values are whole, by the factors.
    pub fn is_whole(&self, p: &Polynomial) -> bool {
        Self::as_number(p).is_some_and(|number| number.is_whole())
            || self.scaled(p).is_some_and(|(_, scale, shift)| scale.is_whole() && shift.is_whole())
    }

    /// The least and the largest value that a polynomial of whole values may have.
    pub fn integers(&self, p: &Polynomial) -> Option<(i64, i64)> {
        let number = Self::as_number(p).map(|number| (number.clone(), number));
        let (lo, hi) = number.or_else(|| self.bounds(p)).filter(|_| self.is_whole(p))?;
        Some((whole(&lo)?, whole(&hi)?)).filter(|ends| count(*ends).is_some())
    }

    /// A function of a polynomial, from its values at all points that the polynomial may have; nothing if these are not known, or
    /// too many. A point without a value is an error.
    pub fn points(&mut self, p: &Polynomial, f: impl Fn(&Ratio) -> Option<Ratio>) -> Outcome<Option<Polynomial>> {
        let value = |x: &Ratio| f(x).ok_or_else(|| format!("there is no value at {x}"));
        if let Some(number) = Self::as_number(p) {
            return Ok(Some(Self::constant(value(&number)?)));
        }
        let Some(terms) = self.terms(p) else { return Ok(None) };
        let keys: Vec<Key> =
            terms.iter().flat_map(|term| term.factors.keys().copied()).collect::<BTreeSet<_>>().into_iter().collect();
        let inside = keys.iter().any(|(inside, _)| *inside);
        let all: Vec<&Term> = terms.iter().collect();
        let plain = |(_, base): &Key| self.bases.get(base).is_some_and(|base| base.is.is_none());
        let table = if keys.len() <= 2 && !inside && keys.iter().all(plain) { self.table(&all, &keys) } else { None };
        if let Some(table) = table {
            let values = table.iter().map(value).collect::<Outcome<Vec<Ratio>>>()?;
            return match keys.as_slice() {
                [(_, base)] => self.sum_of(*base, &values).map(Some),
                [(_, slow), (_, fast)] => self.sum_of_two(*slow, *fast, &values).map(Some),
                _ => Ok(None),
            };
        }
        let Some((whole_part, scale, shift)) = self.scaled(p) else { return Ok(None) };
        let Some((least, most)) = self.bounds(&whole_part) else { return Ok(None) };
        let (Some(lo), Some(hi)) = (whole(&least.negative().floor().negative()), whole(&most.floor())) else {
            return Ok(None);
        };
        if count((lo, hi)).is_none() || lo > hi {
            return Ok(None);
        }
        let same = p.keys().flatten().all(|(thing, _)| self.is_same(*thing));
        let outer =
            p.keys().flatten().any(|(thing, _)| self.known.get(*thing).is_some_and(|(_, outer)| outer.is_some()));
        if outer {
            // What mixes two tokens cannot be averaged by the rules here.
            return Ok(None);
        }
        let base = self.number(Thing::Whole(Self::key(&whole_part)), same, None);
        self.bases.insert(base, Base { ends: (lo, hi), is: Some(whole_part) });
        let values = (lo..=hi).map(|k| value(&scale.times(&ratio(k)).plus(&shift))).collect::<Outcome<Vec<_>>>()?;
        self.sum_of(base, &values).map(Some)
    }

    /// The sum of products that a function of two bases is.
    fn sum_of_two(&mut self, slow: usize, fast: usize, values: &[Ratio]) -> Outcome<Polynomial> {
        let long = || "a function of no values".to_owned();
        let (lo, hi) = self.ends(fast).ok_or_else(long)?;
        let width = count((lo, hi)).ok_or_else(long)?;
        // Row by row the sum over the faster base; then each of its factors as a function of the slower one.
        let mut rows: Vec<Polynomial> = Vec::new();
        for row in values.chunks(width) {
            rows.push(self.sum_of(fast, row)?);
        }
        let monomials: BTreeSet<Monomial> = rows.iter().flat_map(|row| row.keys().cloned()).collect();
        let mut sum = Polynomial::new();
        for monomial in monomials {
            let factors: Vec<Ratio> =
                rows.iter().map(|row| row.get(&monomial).cloned().unwrap_or(Ratio::ZERO)).collect();
            let factor = self.sum_of(slow, &factors)?;
            let product = Self::times(&Polynomial::from([(monomial, Ratio::ONE)]), &factor)?;
            sum = Self::plus(&sum, &Ratio::ONE, &product)?;
        }
        Ok(sum)
    }

    /// Makes the largest of some polynomials a base, where they are whole.
    pub(super) fn base_of_largest(&mut self, thing: usize, all: &[Polynomial]) {
        let mut ends: Option<(Ratio, Ratio)> = None;
        for p in all {
            let Some((lo, hi)) = self.bounds(p).filter(|_| self.is_whole(p)) else { return };
            ends = Some(ends.map_or((lo.clone(), hi.clone()), |(a, b)| (a.max(lo), b.max(hi))));
        }
        let ends = ends.and_then(|(lo, hi)| Some((whole(&lo.floor())?, whole(&hi.floor())?)));
        if let Some(ends) = ends.filter(|ends| count(*ends).is_some()) {
            self.bases.entry(thing).or_insert(Base { ends, is: None });
        }
    }
}
