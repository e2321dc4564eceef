//! The normal form of a target for a number of tokens, token by token: positions are numbers there, so that filters,
//! indices and conditions on them are decided. Everything is enclosed as well, which shows that it has a value.

use std::collections::HashMap;

use super::normal::Ranges;
use super::{Definition, Expr, Target};
use crate::kernel::function::{BINARIES, Binary, CALLS};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::rules::lines::{Outcome, Polynomial, Things};

/// A number: what it is, and all values that it may have.
#[derive(Clone)]
struct Value {
    normal: Polynomial,
    range: Range,
}

/// A place: the output token, the running token inside of an aggregate, and the coordinate.
#[derive(Clone, Copy)]
struct At {
    i: usize,
    j: Option<usize>,
    c: usize,
}

struct Unrolled<'t> {
    things: &'t mut Things,
    lets: &'t [Expr],
    tokens: usize,
    domain: Range,
    /// Lets that have been read, by token and coordinate.
    read: HashMap<(usize, usize, usize), Value>,
}

impl Target {
    /// The normal forms of the outputs of every token, of so many; a reason if some word has none, or if a let or an
    /// output is not shown to have a value for all inputs.
    pub fn unrolled(&self, things: &mut Things, tokens: usize) -> Outcome<Vec<Vec<Polynomial>>> {
        let Definition::Expression { lets, each, body, .. } = &self.definition else {
            return Err("a table has no formula".to_owned());
        };
        let domain = self.domain.range();
        let mut reader = Unrolled { things, lets, tokens, domain, read: HashMap::new() };
        let mut outputs = Vec::new();
        for t in 0..tokens {
            for b in 0..lets.len() {
                for c in 0..self.dims {
                    reader.bound(b, t, c)?;
                }
            }
            let mut of_token = Vec::new();
            for c in 0..self.output_dims {
                let (e, c) = if *each { (body.first(), c) } else { (body.get(c), 0) };
                let e = e.ok_or_else(|| "a body without expressions".to_owned())?;
                of_token.push(reader.number(e, At { i: t, j: None, c })?.normal);
            }
            outputs.push(of_token);
        }
        Ok(outputs)
    }
}

fn valueless() -> String {
    "the target is not shown to have a value everywhere".to_owned()
}

/// 1 or 0.
pub(super) fn indicated(holds: bool) -> Ratio {
    if holds { Ratio::ONE } else { Ratio::ZERO }
}

/// 1 where a difference compares so with 0, and 0 elsewhere.
pub(super) fn compared(things: &mut Things, op: &str, apart: &Polynomial) -> Outcome<Polynomial> {
    let holds = |x: &Ratio| {
        let positive = !x.is_negative() && !x.is_zero();
        Some(indicated(match op {
            "less" => x.is_negative(),
            "less-equal" => !positive,
            "greater" => positive,
            "greater-equal" => !x.is_negative(),
            "equal" => x.is_zero(),
            "not-equal" => !x.is_zero(),
            _ => return None,
        }))
    };
    let open = || "there is no rule for a condition that depends on inputs".to_owned();
    things.points(apart, holds)?.ok_or_else(open)
}

/// The reason why there is no normal form of a step.
fn unstepped() -> String {
    "there is no rule for a step of what is not whole, or by what is no number".to_owned()
}

/// `floor(a)`.
pub(super) fn floored(things: &mut Things, a: &Polynomial) -> Outcome<Polynomial> {
    things.points(a, |x| Some(x.floor()))?.ok_or_else(unstepped)
}

/// `a mod divisor`.
pub(super) fn modulo(things: &mut Things, a: &Polynomial, divisor: &Polynomial) -> Outcome<Polynomial> {
    let divisor = Things::as_number(divisor).ok_or_else(unstepped)?;
    things.points(a, |x| x.modulo(&divisor))?.ok_or_else(unstepped)
}

impl Unrolled<'_> {
    fn constant(value: Ratio) -> Value {
        Value { range: value.range(), normal: Things::constant(value) }
    }

    fn value(normal: Polynomial, range: Option<Range>) -> Outcome<Value> {
        // Of a number the range is known.
        let exact = Things::as_number(&normal).map(|number| number.range());
        Ok(Value { normal, range: exact.or(range).and_then(Range::kept).ok_or_else(valueless)? })
    }

    fn token(&mut self, of: Option<usize>, t: usize, c: usize) -> Outcome<Value> {
        match of {
            Some(b) => self.bound(b, t, c),
            None => Ok(Value { normal: self.things.token(t, c), range: self.domain.clone() }),
        }
    }

    fn number(&mut self, e: &Expr, at: At) -> Outcome<Value> {
        let t = at.j.unwrap_or(at.i);
        match e {
            Expr::Number(number) => {
                Ok(Self::constant(number.exact().cloned().ok_or_else(|| "a number of many digits".to_owned())?))
            }
            Expr::Word(word) => match (word.as_str(), at.j) {
                ("token", _) => self.token(None, t, at.c),
                ("index", _) => Ok(Self::constant(Ratio::whole(at.i))),
                ("running", Some(j)) => Ok(Self::constant(Ratio::whole(j))),
                ("length", _) => Ok(Self::constant(Ratio::whole(self.tokens))),
                _ => Err(format!("there is no rule for {word}")),
            },
            Expr::Bound(b) => self.bound(*b, t, at.c),
            Expr::Gather(of, index) => {
                let index = self.number(index, at)?;
                if let Some(place) = Things::as_number(&index.normal) {
                    let place = place.place().filter(|place| *place < self.tokens).ok_or_else(valueless)?;
                    return self.token(*of, place, at.c);
                }
                // One of the tokens: those that it may be, where it is each of them.
                let (mut sum, mut range) = (Polynomial::new(), None::<Range>);
                for place in 0..self.tokens {
                    let there =
                        |x: &Ratio| Some(indicated(x.place()? == place)).filter(|_| x.place() < Some(self.tokens));
                    let open = || "there is no rule for an index that depends on inputs".to_owned();
                    let is_there = self.things.points(&index.normal, there)?.ok_or_else(open)?;
                    let token = self.token(*of, place, at.c)?;
                    let term = self.things.product(&is_there, &token.normal)?;
                    sum = Things::plus(&sum, &Ratio::ONE, &term)?;
                    range = Some(range.map_or(token.range.clone(), |range| range.hull(&token.range)));
                }
                Self::value(sum, range)
            }
            Expr::Coordinate(e, c) => self.number(e, At { c: *c, ..at }),
            Expr::Power(e, k) => {
                let base = self.number(e, at)?;
                let power = self.things.power(&base.normal, *k)?;
                Self::value(power, base.range.power(*k))
            }
            Expr::Table(index, entries) => {
                let index = self.number(index, at)?.normal;
                let exact: Option<Vec<Ratio>> = entries.iter().map(|entry| entry.exact().cloned()).collect();
                let exact = exact.ok_or_else(|| "a number of many digits".to_owned())?;
                let found = self.things.points(&index, |x| exact.get(x.place()?).cloned())?;
                let range = exact.iter().map(Ratio::range).reduce(|a, b| a.hull(&b));
                Self::value(found.ok_or_else(|| "there is no rule for an index of a table".to_owned())?, range)
            }
            Expr::Sort(of) => self.sort(of, t, at.c),
            Expr::Aggregate(f, of, filter) => self.aggregate(f, of, filter.as_deref(), at),
            Expr::Apply(name, parts) => match (name.as_str(), parts.as_slice()) {
                ("if", [condition, a, b]) => {
                    let condition = self.indicator(condition, at)?;
                    if let Some(decided) = Things::as_number(&condition) {
                        return self.number(if decided.is_zero() { b } else { a }, at);
                    }
                    let (a, b) = (self.number(a, at)?, self.number(b, at)?);
                    let apart = Things::plus(&a.normal, &Ratio::ONE.negative(), &b.normal)?;
                    let chosen = self.things.product(&condition, &apart)?;
                    Self::value(Things::plus(&b.normal, &Ratio::ONE, &chosen)?, Some(a.range.hull(&b.range)))
                }
                _ => self.apply(name, parts, at),
            },
        }
    }

    /// A let, at a token: what stands in it has no running token.
    fn bound(&mut self, b: usize, t: usize, c: usize) -> Outcome<Value> {
        if let Some(read) = self.read.get(&(b, t, c)) {
            return Ok(read.clone());
        }
        let lets = self.lets;
        let e = lets.get(b).ok_or_else(|| "a let that is not known".to_owned())?;
        let read = self.number(e, At { i: t, j: None, c })?;
        self.read.insert((b, t, c), read.clone());
        Ok(read)
    }

    /// A condition that is the same for all inputs.
    fn condition(&mut self, e: &Expr, at: At) -> Outcome<bool> {
        let open = || "there is no rule for a condition that depends on inputs".to_owned();
        Things::as_number(&self.indicator(e, at)?).map(|holds| !holds.is_zero()).ok_or_else(open)
    }

    /// 1 where a condition holds, and 0 elsewhere. Both sides need a value.
    fn indicator(&mut self, e: &Expr, at: At) -> Outcome<Polynomial> {
        let Expr::Apply(name, parts) = e else { return Err("a condition that is none".to_owned()) };
        let minus = Ratio::ONE.negative();
        match (name.as_str(), parts.as_slice()) {
            ("not", [a]) => Things::plus(&Things::constant(Ratio::ONE), &minus, &self.indicator(a, at)?),
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
                let (a, b) = (self.number(a, at)?.normal, self.number(b, at)?.normal);
                compared(self.things, op, &Things::plus(&a, &minus, &b)?)
            }
            _ => Err("a condition that is none".to_owned()),
        }
    }

    /// The `t`-th smallest of what all tokens have.
    fn sort(&mut self, of: &Expr, t: usize, c: usize) -> Outcome<Value> {
        let (mut all, mut range) = (Vec::new(), None::<Range>);
        for j in 0..self.tokens {
            let Value { normal, range: values } = self.number(of, At { i: j, j: None, c })?;
            range = Some(range.map_or(values.clone(), |range| range.hull(&values)));
            all.push(normal);
        }
        Self::value(self.things.sorted(&all, t)?, range)
    }

    fn aggregate(&mut self, f: &str, of: &Expr, filter: Option<&Expr>, at: At) -> Outcome<Value> {
        let (mut seen, mut counted) = (Vec::new(), Vec::new());
        for j in 0..self.tokens {
            let at = At { j: Some(j), ..at };
            if filter.map_or(Ok(true), |filter| self.condition(filter, at))? {
                if f == "count" {
                    counted.push(self.indicator(of, at)?);
                } else {
                    seen.push(self.number(of, at)?);
                }
            }
        }
        if f == "count" {
            let all = Range::ZERO.hull(&Range::whole(counted.len()));
            return Self::value(Things::sum(&counted.iter().collect::<Vec<_>>())?, Some(all));
        }
        let normals: Vec<&Polynomial> = seen.iter().map(|value| &value.normal).collect();
        let whole = Ratio::whole(normals.len());
        let hull = seen.iter().map(|value| value.range.clone()).reduce(|a, b| a.hull(&b));
        let sum = Things::sum(&normals)?;
        let Some(hull) = hull else {
            return if f == "sum" { Ok(Self::constant(Ratio::ZERO)) } else { Err(valueless()) };
        };
        let share = Ratio::ONE.over(&whole).ok_or_else(valueless)?;
        let mean = Things::plus(&Polynomial::new(), &share, &sum)?;
        match f {
            "sum" => Self::value(sum, Some(&hull * &whole.range())),
            "mean" => Self::value(mean, Some(hull)),
            "var" => {
                let squares = normals.iter().map(|p| self.things.product(p, p)).collect::<Outcome<Vec<_>>>()?;
                let squares = Things::sum(&squares.iter().collect::<Vec<_>>())?;
                let square = self.things.product(&mean, &mean)?;
                let minus = Things::plus(&Polynomial::new(), &Ratio::ONE.negative(), &square)?;
                let width = Range { lo: Dyadic::ZERO, hi: &hull.hi - &hull.lo };
                Self::value(Things::plus(&minus, &share, &squares)?, width.power(2))
            }
            "max" => Self::value(self.things.largest(&normals)?, Some(hull)),
            "min" => {
                let minus = |p: &&Polynomial| Things::plus(&Polynomial::new(), &Ratio::ONE.negative(), p);
                let negatives = normals.iter().map(minus).collect::<Outcome<Vec<_>>>()?;
                let largest = self.things.largest(&negatives.iter().collect::<Vec<_>>())?;
                Self::value(minus(&&largest)?, Some(hull))
            }
            _ => Err(format!("there is no rule for {f} over the tokens")),
        }
    }

    fn apply(&mut self, name: &str, parts: &[Expr], at: At) -> Outcome<Value> {
        let values = parts.iter().map(|part| self.number(part, at)).collect::<Outcome<Vec<_>>>()?;
        let ranges: Vec<Range> = values.iter().map(|value| value.range.clone()).collect();
        let numbers: Option<Vec<Ratio>> = values.iter().map(|value| Things::as_number(&value.normal)).collect();
        let call = CALLS.iter().find(|(known, _)| *known == name).map(|(_, call)| *call);
        let binary = BINARIES.iter().find(|(known, _)| *known == name).map(|(_, binary)| *binary);
        match (name, numbers.as_deref()) {
            ("max", Some([a, b])) => return Ok(Self::constant(a.clone().max(b.clone()))),
            ("min", Some([a, b])) => return Ok(Self::constant(a.clone().min(b.clone()))),
            ("floor", Some([a])) => return Ok(Self::constant(a.floor())),
            ("abs", Some([a])) => return Ok(Self::constant(a.absolute())),
            ("relu", Some([a])) => return Ok(Self::constant(a.clone().max(Ratio::ZERO))),
            ("mod", Some([a, b])) => return Ok(Self::constant(a.modulo(b).ok_or_else(valueless)?)),
            ("clamp", Some([a, low, high])) => {
                return Ok(Self::constant(a.clone().max(low.clone()).min(high.clone())));
            }
            _ => {}
        }
        let stepped = match (name, values.as_slice()) {
            ("floor", [a]) => Some(floored(self.things, &a.normal)?),
            ("mod", [a, b]) => Some(modulo(self.things, &a.normal, &b.normal)?),
            _ => None,
        };
        if let Some(found) = stepped {
            let range = self.things.bounds(&found).map(|(lo, hi)| lo.range().hull(&hi.range()));
            return Self::value(found, range);
        }
        let range = Ranges::apply(name, &ranges).ok_or_else(valueless)?;
        let normals: Vec<&Polynomial> = values.iter().map(|value| &value.normal).collect();
        let normal = match (normals.as_slice(), name, call, binary) {
            ([a], "negate", ..) => Things::plus(&Polynomial::new(), &Ratio::ONE.negative(), a)?,
            ([a], _, Some(call), _) => self.things.call(call, a)?,
            ([a, b], _, _, Some(binary)) => self.things.binary(binary, a, b)?,
            ([a, low, high], "clamp", ..) => {
                let above = self.things.binary(Binary::Max, a, low)?;
                self.things.binary(Binary::Min, &above, high)?
            }
            _ => return Err(format!("there is no rule for {name}")),
        };
        Self::value(normal, Some(range))
    }
}
