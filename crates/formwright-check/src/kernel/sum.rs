//! Sums in any order, by the rules of CERTIFICATE.md, section 6, where each rule is proved in a sentence.

use super::format::Format;
use super::number::{Dyadic, Range};

/// A computed number: it lies in `range` and is a multiple of `2^quantum`, whatever the execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    /// The interval in which it lies.
    pub range: Range,
    /// The exponent of the power of two that it is a multiple of; 0 is a multiple of everything.
    pub quantum: i64,
}

/// A number that may be too large for the format. The caller, who knows the place, adds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overflow(pub String);

pub type Outcome<T> = Result<T, Overflow>;

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
    pub fn multiple(range: Range, quantum: i64) -> Self {
        if range.is_point() { Self::point(range.lo) } else { Self { range, quantum } }
    }

    /// The same, known to be a multiple of `2^quantum`: rounding multiples of it gives multiples of it.
    pub fn at_least(self, quantum: i64) -> Self {
        Self { quantum: self.quantum.max(quantum), ..self }
    }

    /// Any number of either.
    pub fn hull(&self, other: &Self) -> Self {
        Self { range: self.range.hull(&other.range), quantum: self.quantum.min(other.quantum) }
    }
}

/// The quantum of numbers below `2^top`.
pub fn last_place(format: Format, top: i64) -> i64 {
    top.saturating_sub(format.digits)
}

/// The number of the format that is nearest, ties to even.
pub fn nearest(x: &Dyadic, format: Format) -> Dyadic {
    x.nearest(last_place(format, x.top().max(format.least.saturating_add(1))))
}

/// Rule *snapping*: the number that a product rounds to, if it also does so when fused into a sum of the same sign.
/// That holds if the product is nearer to the number than half the distance between numbers, which does not shrink
/// farther up. At a power of two, below which numbers are closer, a tie goes to the power.
pub fn snap(x: &Dyadic, format: Format) -> Option<Dyadic> {
    let grid = nearest(x, format);
    let half = Dyadic::power_of_two(last_place(format, grid.top()).saturating_sub(1));
    let (off, below) = ((x - &grid).abs(), x.abs() < grid.abs());
    let near = if below && inverse_power(&grid).is_some() { &off + &off <= half } else { off < half };
    // Below the normal range the product may be flushed, even if it rounds to the least normal number.
    (near && x.top() > format.least).then_some(grid)
}

/// The result of one rounding of a range; below the normal range it may be 0.
pub fn rounded(range: &Range, format: Format) -> Value {
    let (lo, hi, tiny) = (nearest(&range.lo, format), nearest(&range.hi, format), Dyadic::power_of_two(format.least));
    // Whether it is may be decided before the rounding.
    let lo = if lo > Dyadic::ZERO && range.lo < tiny { Dyadic::ZERO } else { lo };
    let hi = if hi < Dyadic::ZERO && range.hi > -&tiny { Dyadic::ZERO } else { hi };
    Value::float(Range { lo, hi }, format)
}

/// `k·2^e`.
pub fn times(k: usize, e: i64) -> Dyadic {
    &Range::whole(k).hi * &Dyadic::power_of_two(e)
}

/// `γ_k = ku/(1-ku) ≤ ku(1+2ku)`, for `ku ≤ 1/2`.
pub fn gamma(k: usize, format: Format) -> Dyadic {
    let ku = times(k, format.digits.saturating_neg());
    &ku * &(&Dyadic::ONE + &(&ku + &ku))
}

/// Terms of a sum: how far up and down their partial sums can go, and the quantum of their values.
#[derive(Clone)]
pub struct Part {
    count: usize,
    above: Dyadic,
    below: Dyadic,
    quantum: i64,
}

impl Part {
    /// No terms.
    pub const EMPTY: Self = Self { count: 0, above: Dyadic::ZERO, below: Dyadic::ZERO, quantum: i64::MAX };

    pub fn add(&mut self, lo: &Dyadic, hi: &Dyadic, quantum: i64) {
        self.count = self.count.saturating_add(1);
        if !hi.is_negative() {
            self.above = &self.above + hi;
        }
        if lo.is_negative() {
            self.below = &self.below - lo;
        }
        self.quantum = self.quantum.min(quantum);
    }

    /// Both together, with short numbers rounded up.
    fn join(&self, other: &Self) -> Self {
        if other.count == 0 {
            return self.clone();
        }
        let short = |x: &Dyadic| x.up(x.top().saturating_sub(60));
        Self {
            count: self.count.saturating_add(other.count),
            above: short(&(&self.above + &other.above)),
            below: short(&(&self.below + &other.below)),
            quantum: self.quantum.min(other.quantum),
        }
    }

    /// Rule *exact sums*.
    pub fn is_exact(&self, format: Format) -> bool {
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
pub struct Sum {
    format: Format,
    /// The sum of the known terms, and of the others.
    known: Dyadic,
    pub other: Range,
    /// The known terms, and the others.
    of_known: Part,
    of_other: Part,
    /// True if every product is a number of the format.
    products: bool,
    /// All terms, with their quanta.
    terms: Vec<(Range, i64)>,
}

/// The values that a sum can take, and how far it can be from its value without rounding.
pub struct Total {
    pub value: Value,
    pub error: Dyadic,
}

impl Sum {
    pub fn new(format: Format) -> Self {
        let (other, of_known, of_other) = (Range::ZERO, Part::EMPTY, Part::EMPTY);
        Self { format, known: Dyadic::ZERO, other, of_known, of_other, products: true, terms: Vec::new() }
    }

    pub fn known(&mut self, x: &Dyadic) {
        let Some(quantum) = x.quantum() else { return };
        self.products &= self.is_number(x, quantum);
        self.known = &self.known + x;
        self.of_known.add(x, x, quantum);
        self.terms.push((Range::point(x.clone()), quantum));
    }

    fn is_number(&self, x: &Dyadic, quantum: i64) -> bool {
        quantum >= self.format.least && x.top().saturating_sub(quantum) <= self.format.digits
    }

    pub fn weighted(&mut self, weight: &Dyadic, b: &Value) {
        if b.range.is_point() {
            self.known(&(weight * &b.range.lo));
        } else {
            self.term(&Value::point(weight.clone()), b);
        }
    }

    pub fn term(&mut self, a: &Value, b: &Value) {
        let term = &a.range * &b.range;
        if term.is_point() {
            return self.known(&term.lo);
        }
        let quantum = a.quantum.saturating_add(b.quantum);
        let mut alone = Part::EMPTY;
        alone.add(&term.lo, &term.hi, quantum);
        // A number of the format times a power of two is again one, unless it vanishes.
        let power = |x: &Value| x.range.is_point() && inverse_power(&x.range.lo).is_some();
        self.products &= (quantum >= self.format.least && (power(a) || power(b))) || alone.is_exact(self.format);
        self.other = &self.other + &term;
        self.of_other.add(&term.lo, &term.hi, quantum);
        self.terms.push((term, quantum));
    }

    /// Rule *absorption*: the largest terms are exact, and all others vanish in them. The exact sum of all is in a range.
    fn absorbed(&self, all: &Part, real: &Range, tiny: &Dyadic) -> Option<Total> {
        let mut terms: Vec<&(Range, i64)> = self.terms.iter().collect();
        terms.sort_by_cached_key(|(term, _)| -&term.size());
        let factor = &Dyadic::ONE + &times(all.count.saturating_mul(2), self.format.digits.saturating_neg());
        let (mut large, mut exact) = (Range::ZERO, Part::EMPTY);
        let mut rest = terms.iter().fold(Dyadic::ZERO, |sum, (term, _)| &sum + &term.size());
        for (term, quantum) in terms {
            rest = &rest - &term.size();
            exact.add(&term.lo, &term.hi, *quantum);
            large = &large + term;
            let small = &(&rest * &factor) + tiny;
            if small.top() < exact.quantum.saturating_sub(self.format.digits) {
                let near = |range: Range, error: &Dyadic| range.meet(&(real + &Range::around_zero(error)));
                let total = if large.lo > Dyadic::ZERO || large.hi.is_negative() {
                    Total { value: Value::multiple(near(large, &small), exact.quantum), error: small }
                } else {
                    let (range, error) = (&large + &Range::around_zero(&small), &small + &small);
                    Total { value: Value::float(near(range, &error).tidy(), self.format).at_least(all.quantum), error }
                };
                return exact.is_exact(self.format).then_some(total);
            }
        }
        None
    }

    /// Rule *snapping*.
    fn snapped(&self) -> Option<Dyadic> {
        if self.of_other.count > 0 || !(self.of_known.above.is_zero() || self.of_known.below.is_zero()) {
            return None;
        }
        let (mut sum, mut quantum) = (Dyadic::ZERO, i64::MAX);
        for (Range { lo: x, .. }, own) in &self.terms {
            let grid = if self.is_number(x, *own) { x.clone() } else { snap(x, self.format)? };
            (sum, quantum) = (&sum + &grid, quantum.min(grid.quantum()?));
        }
        let mut part = Part::EMPTY;
        part.add(&sum, &sum, quantum);
        part.is_exact(self.format).then_some(sum)
    }

    /// Without rounding.
    pub fn real(&self) -> Range {
        &Range::point(self.known.clone()) + &self.other
    }

    /// The result. If `within` is given, the sum of the terms as they are computed is known to lie there.
    pub fn total(&self, within: Option<Range>) -> Outcome<Total> {
        let (format, all) = (self.format, self.of_known.join(&self.of_other));
        let (k, size) = (all.count, all.size());
        let range = within.map_or_else(|| self.real(), |within| within.meet(&self.real()));
        if size.top() >= format.most.saturating_sub(1) || k > 1 << 20 {
            return Err(Overflow(format!("a sum of {k} terms may reach 2^{}", size.top())));
        }
        let exact = all.is_exact(format);
        if exact || (k == 1 && self.products) {
            return Ok(Total { value: Value::multiple(range, all.quantum), error: Dyadic::ZERO });
        }
        let unit = format.digits.saturating_neg();
        let tiny = times(k.saturating_mul(4), format.least);
        if k == 1 || (k == 2 && self.products) {
            // The nearest number is not farther away than the larger term, which is itself a number.
            let error = &range.size() * &Dyadic::power_of_two(unit);
            let error = if k == 2 { self.terms.iter().fold(error, |e, (term, _)| e.min(term.size())) } else { error };
            let error = if range == Range::ZERO { error } else { &error + &tiny };
            return Ok(Total { value: rounded(&range, format).at_least(all.quantum), error });
        }
        if let Some(sum) = self.snapped() {
            return Ok(Total { error: (&sum - &self.known).abs(), value: Value::point(sum) });
        }
        Ok(self.absorbed(&all, &range, &tiny).unwrap_or_else(|| {
            let error = &(&gamma(k, format) * &size) + &tiny;
            let error = error.up(error.top().saturating_sub(64));
            let range = (&range + &Range::around_zero(&error)).tidy();
            Total { value: Value::float(range, format).at_least(all.quantum), error }
        }))
    }
}

/// `row · z + bias`, and perhaps a position: as it is computed, and without rounding.
pub fn affine(row: &Row, z: &[Value], position: Option<&Dyadic>, format: Format) -> Outcome<(Total, Range)> {
    let mut sum = Sum::new(format);
    for (place, weight) in &row.weights {
        z.get(*place).into_iter().for_each(|value| sum.weighted(weight, value));
    }
    sum.known(&row.bias);
    if let Some(position) = position {
        sum.known(position);
    }
    Ok((sum.total(None)?, sum.real()))
}

/// `1/x` of a power of two, perhaps negative.
pub fn inverse_power(x: &Dyadic) -> Option<Dyadic> {
    let power = Dyadic::power_of_two(x.quantum()?);
    (x.abs() == power).then(|| {
        let inverse = Dyadic::power_of_two(x.quantum().unwrap_or(0).saturating_neg());
        if x.is_negative() { -&inverse } else { inverse }
    })
}

/// `Σ weight · z + bias`; weights of 0 are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The weights, each with its place.
    pub weights: Vec<(usize, Dyadic)>,
    /// The bias.
    pub bias: Dyadic,
}

impl Row {
    /// The row of these weights.
    pub fn new(weights: impl Iterator<Item = Dyadic>, bias: Dyadic) -> Self {
        let mut weights: Vec<_> = weights.enumerate().filter(|(_, weight)| !weight.is_zero()).collect();
        weights.shrink_to_fit();
        Self { weights, bias }
    }

    /// True if it is 0 for every input.
    pub fn is_zero(&self) -> bool {
        self.weights.is_empty() && self.bias.is_zero()
    }
}
