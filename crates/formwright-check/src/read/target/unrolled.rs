//! The normal form of a target for a number of tokens, token by token: positions are numbers there, so that filters,
//! indices and conditions on them are decided. Everything is enclosed as well, which shows that it has a value.

use std::collections::HashMap;

use super::normal::Ranges;
use super::{Definition, Domain, Expr, Target};
use crate::kernel::function::{BINARIES, Binary, CALLS};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::rules::lines::{Outcome, Polynomial, Things};

/// A number: what it is, and all values that it may have.
#[derive(Clone)]
struct Value {
    normal: Polynomial,
    range: Range,
}

/// Where: the output token, the running token inside of an aggregate, and the coordinate.
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
        let (Definition::Expression { lets, each, body, .. }, Domain::Interval(low, high)) =
            (&self.definition, &self.domain)
        else {
            return Err("a table, or integers".to_owned());
        };
        let domain = low.range().hull(&high.range());
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

impl Unrolled<'_> {
    fn constant(value: Ratio) -> Value {
        Value { range: value.range(), normal: Things::constant(value) }
    }

    fn value(normal: Polynomial, range: Option<Range>) -> Outcome<Value> {
        // Of a number the range is known.
        let exact = Things::as_number(&normal).map(|number| number.range());
        Ok(Value { normal, range: exact.or(range).and_then(Range::kept).ok_or_else(valueless)? })
    }

    /// A place below a limit that a number names.
    fn place(&mut self, e: &Expr, at: At, below: usize) -> Outcome<usize> {
        let index = Things::as_number(&self.number(e, at)?.normal);
        let index = index.ok_or_else(|| "there is no rule for an index that depends on inputs".to_owned())?;
        index.place().filter(|place| *place < below).ok_or_else(valueless)
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
                let place = self.place(index, at, self.tokens)?;
                self.token(*of, place, at.c)
            }
            Expr::Coordinate(e, c) => self.number(e, At { c: *c, ..at }),
            Expr::Power(e, k) => {
                let base = self.number(e, at)?;
                Self::value(Things::power(&base.normal, *k)?, base.range.power(*k))
            }
            Expr::Table(index, entries) => {
                let place = self.place(index, at, entries.len())?;
                let exact = entries.get(place).and_then(|entry| entry.exact().cloned());
                Ok(Self::constant(exact.ok_or_else(|| "a number of many digits".to_owned())?))
            }
            Expr::Sort(_) => Err("there is no rule for sort over a box".to_owned()),
            Expr::Aggregate(f, of, filter) => self.aggregate(f, of, filter.as_deref(), at),
            Expr::Apply(name, parts) => match (name.as_str(), parts.as_slice()) {
                ("if", [condition, a, b]) => {
                    let taken = if self.condition(condition, at)? { a } else { b };
                    self.number(taken, at)
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
        let Expr::Apply(name, parts) = e else { return Err("a condition that is none".to_owned()) };
        match (name.as_str(), parts.as_slice()) {
            ("not", [a]) => Ok(!self.condition(a, at)?),
            // Both sides need a value.
            ("and", [a, b]) => Ok(self.condition(a, at)? & self.condition(b, at)?),
            ("or", [a, b]) => Ok(self.condition(a, at)? | self.condition(b, at)?),
            (op, [a, b]) => {
                let (a, b) = (self.number(a, at)?.normal, self.number(b, at)?.normal);
                let apart = Things::as_number(&Things::plus(&a, &Ratio::ONE.negative(), &b)?).ok_or_else(open)?;
                match op {
                    "less" => Ok(apart.is_negative()),
                    "less-equal" => Ok(apart.is_negative() || apart.is_zero()),
                    "greater" => Ok(!apart.is_negative() && !apart.is_zero()),
                    "greater-equal" => Ok(!apart.is_negative()),
                    "equal" => Ok(apart.is_zero()),
                    "not-equal" => Ok(!apart.is_zero()),
                    _ => Err("a condition that is none".to_owned()),
                }
            }
            _ => Err("a condition that is none".to_owned()),
        }
    }

    fn aggregate(&mut self, f: &str, of: &Expr, filter: Option<&Expr>, at: At) -> Outcome<Value> {
        if at.j.is_some() {
            return Err("there is no rule for an aggregate inside of another".to_owned());
        }
        let (mut seen, mut count) = (Vec::new(), 0_usize);
        for j in 0..self.tokens {
            let at = At { j: Some(j), ..at };
            if filter.map_or(Ok(true), |filter| self.condition(filter, at))? {
                if f == "count" {
                    count = count.saturating_add(usize::from(self.condition(of, at)?));
                } else {
                    seen.push(self.number(of, at)?);
                }
            }
        }
        if f == "count" {
            return Ok(Self::constant(Ratio::whole(count)));
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
                let squares = normals.iter().map(|p| Things::times(p, p)).collect::<Outcome<Vec<_>>>()?;
                let squares = Things::sum(&squares.iter().collect::<Vec<_>>())?;
                let minus = Things::plus(&Polynomial::new(), &Ratio::ONE.negative(), &Things::times(&mean, &mean)?)?;
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
