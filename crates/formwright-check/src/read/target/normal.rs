//! The normal form of a target: what an expression is, whatever it is written like; and a proof that it has a value
//! for every input of a box and every number of tokens.

use std::cell::RefCell;
use std::collections::HashMap;

use super::filter;
use super::unrolled::{compared, floored, modulo};
use super::{Definition, Expr, Number, Target};
use crate::kernel::function::{BINARIES, Binary, CALLS, Call};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::read::certificate::Mask;
use crate::rules::lines::{Outcome, Polynomial, Things};

/// The point of a normal form: its coordinate, and whether it stands inside of an aggregate.
#[derive(Clone, Copy)]
struct At {
    c: usize,
    inside: bool,
}

struct Reader<'t> {
    things: &'t mut Things,
    lets: &'t [Expr],
    /// The number of tokens, if it is fixed.
    tokens: Option<usize>,
    /// Lets that have been read, by coordinate: one that is named twice is read once.
    read: HashMap<(usize, usize), Polynomial>,
}

impl Target {
    /// The normal forms of the outputs, for so many tokens, or any number; nothing but a reason if some word has none.
    pub fn normal(&self, things: &mut Things, tokens: Option<usize>) -> Outcome<Vec<Polynomial>> {
        let Definition::Expression { lets, each, body, .. } = &self.definition else {
            return Err("a table has no formula".to_owned());
        };
        let mut reader = Reader { things, lets, tokens, read: HashMap::new() };
        (0..self.output_dims)
            .map(|c| {
                let (e, c) = if *each { (body.first(), c) } else { (body.get(c), 0) };
                reader.number(e.ok_or_else(|| "a body without expressions".to_owned())?, At { c, inside: false })
            })
            .collect()
    }
}

/// Ranges of expressions, for tokens of a box.
pub(super) struct Ranges<'t> {
    domain: Range,
    tokens: Range,
    lengths: [usize; 2],
    lets: &'t [Expr],
    /// Ranges of lets that have been read.
    read: RefCell<HashMap<usize, Range>>,
}

impl Target {
    /// Shows that every let and every output has a value for all inputs and all numbers of tokens between two.
    ///
    /// Equal normal forms are equal functions only where both have a value: `0/x` is 0 nowhere but for `x` other than 0.
    pub fn defined(&self, [least, most]: [usize; 2]) -> Outcome<()> {
        let Definition::Expression { lets, body, .. } = &self.definition else {
            return Err("a table has no formula".to_owned());
        };
        let tokens = Range::whole(least).hull(&Range::whole(most));
        let (domain, lengths) = (self.domain.range(), [least, most]);
        let ranges = Ranges { domain, tokens, lengths, lets, read: RefCell::default() };
        lets.iter().chain(body).try_for_each(|e| ranges.of(e).map(|_| ()))
    }
}

impl Ranges<'_> {
    fn of(&self, e: &Expr) -> Outcome<Range> {
        let range = match e {
            Expr::Number(number) => Some(number.range()),
            Expr::Word(word) if word == "token" => Some(self.domain.clone()),
            Expr::Word(word) if word == "length" => Some(self.tokens.clone()),
            Expr::Gather(None, index) if index.is_index() => Some(self.domain.clone()),
            Expr::Bound(b) => Some(self.bound(*b)?),
            Expr::Gather(Some(b), index) if index.is_index() => Some(self.bound(*b)?),
            Expr::Gather(of, index) if place(index).is_some_and(|k| self.exists(&Self::one(k))) => {
                Some(of.map_or_else(|| Ok(self.domain.clone()), |b| self.bound(b))?)
            }
            Expr::Coordinate(e, _) => Some(self.of(e)?),
            Expr::Power(e, k) => self.of(e)?.power(*k),
            Expr::Table(index, entries) => {
                // That it is whole is shown where it has its normal form.
                let (index, last) = (self.of(index)?, Range::whole(entries.len().saturating_sub(1)));
                let inside = !index.lo.is_negative() && index.hi <= last.hi;
                entries.iter().map(Number::range).reduce(|a, b| a.hull(&b)).filter(|_| inside)
            }
            Expr::Aggregate(f, e, None) if f == "count" => {
                self.holds(e)?;
                Some(Range::ZERO.hull(&self.tokens))
            }
            Expr::Aggregate(f, e, None) => {
                let of = self.of(e)?;
                match f.as_str() {
                    "mean" | "max" | "min" => Some(of),
                    "sum" => Some(&of * &self.tokens),
                    // Not negative; at most a quarter of the square of the width.
                    "var" => Range { lo: Dyadic::ZERO, hi: &of.hi - &of.lo }.power(2),
                    _ => None,
                }
            }
            Expr::Aggregate(f, e, Some(filter)) if ["mean", "max", "min"].contains(&f.as_str()) => {
                let shown = filter::mask(filter).filter(|mask| self.exists(mask));
                Some(self.of(e)?).filter(|_| shown.is_some())
            }
            Expr::Apply(name, parts) if name == "if" => {
                let [condition, a, b] = parts.as_slice() else { return Err("an if without branches".to_owned()) };
                self.holds(condition)?;
                Some(self.of(a)?.hull(&self.of(b)?))
            }
            Expr::Apply(name, parts) => {
                let parts = parts.iter().map(|part| self.of(part)).collect::<Outcome<Vec<_>>>()?;
                Self::apply(name, &parts)
            }
            _ => None,
        };
        range.and_then(Range::kept).ok_or_else(|| "the target is not shown to have a value everywhere".to_owned())
    }

    /// True if every token of every sequence sees something. Every limit is hardest to meet for the first token of the
    /// shortest sequence, or the last one of the longest.
    fn exists(&self, mask: &Mask) -> bool {
        let [least, most] = self.lengths;
        mask.sees_some(0, least) && mask.sees_some(most.saturating_sub(1), most)
    }

    /// One place.
    fn one(place: i64) -> Mask {
        Mask { limits: [None, None, Some(place), Some(place)], first: false, connections: None }
    }

    /// Shows that all parts of a condition have a value.
    fn holds(&self, e: &Expr) -> Outcome<()> {
        let Expr::Apply(name, parts) = e else { return Err("a condition that is none".to_owned()) };
        let inner = matches!(name.as_str(), "and" | "or" | "not");
        parts.iter().try_for_each(|part| if inner { self.holds(part) } else { self.of(part).map(|_| ()) })
    }

    fn bound(&self, b: usize) -> Outcome<Range> {
        if let Some(read) = self.read.borrow().get(&b) {
            return Ok(read.clone());
        }
        let range = self.of(self.lets.get(b).ok_or_else(|| "a let that is not known".to_owned())?)?;
        self.read.borrow_mut().insert(b, range.clone());
        Ok(range)
    }

    /// An operator or a function of ranges.
    pub(super) fn apply(name: &str, parts: &[Range]) -> Option<Range> {
        let call = CALLS.iter().find(|(known, _)| *known == name).map(|(_, call)| *call);
        let binary = BINARIES.iter().find(|(known, _)| *known == name).map(|(_, binary)| *binary);
        match (parts, name, call, binary) {
            ([a], "negate", ..) => Some(-a),
            ([a], _, Some(call), _) => match call {
                Call::Exp => a.exp(),
                Call::Log => a.log(),
                Call::Sqrt => a.sqrt(),
                Call::Tanh => a.tanh(),
                Call::Sin => a.wave(0),
                Call::Cos => a.wave(1),
                Call::Abs => Some(a.absolute()),
                Call::Relu => Some(a.max(&Range::ZERO)),
            },
            ([a, b], _, _, Some(binary)) => match binary {
                Binary::Add => Some(a + b),
                Binary::Sub => Some(a - b),
                Binary::Mul => Some(a * b),
                Binary::Div => a.over(b),
                Binary::Max => Some(a.max(b)),
                Binary::Min => Some(a.min(b)),
            },
            ([a, low, high], "clamp", ..) => Some(a.max(low).min(high)),
            ([a], "floor", ..) => Some(a.floor()),
            ([_, b], "mod", ..) if b.is_point() && !b.lo.is_zero() => Some(Range::ZERO.hull(&b.absolute())),
            _ => None,
        }
    }
}

/// The place that a number names, if an expression is one.
fn place(e: &Expr) -> Option<i64> {
    let Expr::Number(number) = e else { return None };
    i64::try_from(number.exact()?.place()?).ok()
}

impl Reader<'_> {
    fn number(&mut self, e: &Expr, at: At) -> Outcome<Polynomial> {
        match e {
            Expr::Number(number) => {
                Ok(Things::constant(number.exact().cloned().ok_or_else(|| "a number of many digits".to_owned())?))
            }
            Expr::Word(word) if word == "token" => Ok(self.things.input(at.c)),
            Expr::Word(word) if word == "length" => {
                Ok(self.tokens.map_or_else(|| self.things.length(), |n| Things::constant(Ratio::whole(n))))
            }
            Expr::Bound(b) => self.bound(*b, at.c),
            Expr::Gather(of, index) if index.is_index() => {
                let own = match of {
                    None => self.things.input(at.c),
                    Some(b) => self.bound(*b, at.c)?,
                };
                if at.inside { self.things.outer(&own) } else { Ok(own) }
            }
            // A token by its place is the mean over it alone.
            Expr::Gather(of, index) if !at.inside && place(index).is_some() => {
                let own = match of {
                    None => self.things.input(at.c),
                    Some(b) => self.bound(*b, at.c)?,
                };
                let shown = place(index).and_then(|k| Ranges::one(k).shown());
                self.things.mean_over(shown, &own)
            }
            Expr::Coordinate(e, c) => self.number(e, At { c: *c, ..at }),
            Expr::Power(e, k) => {
                let base = self.number(e, at)?;
                self.things.power(&base, *k)
            }
            Expr::Table(index, entries) => {
                let index = self.number(index, at)?;
                let exact: Option<Vec<Ratio>> = entries.iter().map(|entry| entry.exact().cloned()).collect();
                let exact = exact.ok_or_else(|| "a number of many digits".to_owned())?;
                let found = self.things.points(&index, |x| exact.get(x.place()?).cloned())?;
                found.ok_or_else(|| "there is no rule for an index of a table".to_owned())
            }
            Expr::Apply(name, parts) if name == "if" => {
                let [condition, a, b] = parts.as_slice() else { return Err("an if without branches".to_owned()) };
                let condition = self.indicator(condition, at)?;
                let (a, b) = (self.number(a, at)?, self.number(b, at)?);
                let chosen = self.things.product(&condition, &Things::plus(&a, &Ratio::ONE.negative(), &b)?)?;
                Things::plus(&b, &Ratio::ONE, &chosen)
            }
            Expr::Apply(name, parts) => self.apply(name, parts, at),
            Expr::Aggregate(f, e, None) => {
                let inside = At { inside: true, ..at };
                let found = if f == "count" {
                    let of = self.indicator(e, inside)?;
                    self.aggregate("sum", &of)?
                } else {
                    let of = self.number(e, inside)?;
                    self.aggregate(f, &of)?
                };
                // What one inside of another has of the output token is that of the other one's as well.
                if at.inside { self.things.outer(&found) } else { Ok(found) }
            }
            Expr::Aggregate(f, e, Some(filter)) if !at.inside => {
                let none = || "there is no rule for such a filter for any number of tokens".to_owned();
                let shown = filter::mask(filter).and_then(|mask| mask.shown()).ok_or_else(none)?;
                let of = self.number(e, At { inside: true, ..at })?;
                let minus = |p: &Polynomial| Things::plus(&Polynomial::new(), &Ratio::ONE.negative(), p);
                match f.as_str() {
                    "mean" => self.things.mean_over(Some(shown), &of),
                    "max" => self.things.largest_over(Some(shown), &of),
                    "min" => minus(&self.things.largest_over(Some(shown), &minus(&of)?)?),
                    _ => Err(none()),
                }
            }
            _ => Err("the target has positions, comparisons, sorts or filters, for which there is no rule".to_owned()),
        }
    }

    /// 1 where a condition holds, and 0 elsewhere.
    fn indicator(&mut self, e: &Expr, at: At) -> Outcome<Polynomial> {
        let Expr::Apply(name, parts) = e else { return Err("a condition that is none".to_owned()) };
        let (one, minus) = (Things::constant(Ratio::ONE), Ratio::ONE.negative());
        match (name.as_str(), parts.as_slice()) {
            ("not", [a]) => Things::plus(&one, &minus, &self.indicator(a, at)?),
            ("and", [a, b]) => {
                let (a, b) = (self.indicator(a, at)?, self.indicator(b, at)?);
                self.things.product(&a, &b)
            }
            ("or", [a, b]) => {
                let (a, b) = (self.indicator(a, at)?, self.indicator(b, at)?);
                let both = self.things.product(&a, &b)?;
                Things::plus(&Things::plus(&a, &Ratio::ONE, &b)?, &minus, &both)
            }
            (op, [a, b]) => {
                let (a, b) = (self.number(a, at)?, self.number(b, at)?);
                compared(self.things, op, &Things::plus(&a, &minus, &b)?)
            }
            _ => Err("a condition that is none".to_owned()),
        }
    }

    /// A let, at a token: what stands in it has no running token.
    fn bound(&mut self, b: usize, c: usize) -> Outcome<Polynomial> {
        if let Some(read) = self.read.get(&(b, c)) {
            return Ok(read.clone());
        }
        let lets = self.lets;
        let e = lets.get(b).ok_or_else(|| "a let that is not known".to_owned())?;
        let read = self.number(e, At { c, inside: false })?;
        self.read.insert((b, c), read.clone());
        Ok(read)
    }

    fn aggregate(&mut self, f: &str, of: &Polynomial) -> Outcome<Polynomial> {
        match f {
            "mean" => self.things.mean(of),
            "sum" => {
                let mean = self.things.mean(of)?;
                let n = self.tokens.map_or_else(|| self.things.length(), |n| Things::constant(Ratio::whole(n)));
                self.things.product(&n, &mean)
            }
            "var" => {
                let (mean, square) = (self.things.mean(of)?, self.things.product(of, of)?);
                let squares = self.things.mean(&square)?;
                Things::plus(&squares, &Ratio::ONE.negative(), &self.things.product(&mean, &mean)?)
            }
            "max" => self.things.largest_of_all(of),
            "min" => {
                let minus = |p: &Polynomial| Things::plus(&Polynomial::new(), &Ratio::ONE.negative(), p);
                minus(&self.things.largest_of_all(&minus(of)?)?)
            }
            _ => Err(format!("there is no rule for {f} over the tokens")),
        }
    }

    /// A quotient of two sums over all tokens is that of their means, whatever their number.
    fn sums<'e>(name: &str, parts: &'e [Expr]) -> Option<[&'e Expr; 2]> {
        match (name, parts) {
            ("div", [Expr::Aggregate(f, a, None), Expr::Aggregate(g, b, None)]) => {
                (f == "sum" && g == "sum").then_some([a, b])
            }
            _ => None,
        }
    }

    fn apply(&mut self, name: &str, parts: &[Expr], at: At) -> Outcome<Polynomial> {
        if let Some(sums) = Self::sums(name, parts) {
            let mut mean = |e: &Expr| {
                let of = self.number(e, At { inside: true, ..at })?;
                self.things.mean(&of)
            };
            let (above, below) = (mean(sums[0])?, mean(sums[1])?);
            let quotient = self.things.binary(Binary::Div, &above, &below)?;
            return if at.inside { self.things.outer(&quotient) } else { Ok(quotient) };
        }
        let values = parts.iter().map(|part| self.number(part, at)).collect::<Outcome<Vec<_>>>();
        let call = CALLS.iter().find(|(known, _)| *known == name).map(|(_, call)| *call);
        let binary = BINARIES.iter().find(|(known, _)| *known == name).map(|(_, binary)| *binary);
        match (values?.as_slice(), name, call, binary) {
            ([a], "floor", ..) => floored(self.things, a),
            ([a, b], "mod", ..) => modulo(self.things, a, b),
            ([a], "negate", ..) => Things::plus(&Polynomial::new(), &Ratio::ONE.negative(), a),
            ([a], _, Some(call), _) => self.things.call(call, a),
            ([a, b], _, _, Some(binary)) => self.things.binary(binary, a, b),
            ([a, low, high], "clamp", ..) => {
                let above = self.things.binary(Binary::Max, a, low)?;
                self.things.binary(Binary::Min, &above, high)
            }
            _ => Err(format!("there is no rule for {name}")),
        }
    }
}
