//! The target language once more, as its page defines it and as plainly as possible, in numbers of 400 binary digits: an oracle that
//! knows neither floats nor intervals.
//!
//! Rational operations are exact until numbers get long. `exp`, `log`, `sqrt`, `tanh`, `sin` and `cos` are series and Newton's
//! iteration in fixed point, with a relative error (of `sin` and `cos`, an absolute one) below 2⁻³⁰⁰.

#![allow(dead_code)]

use std::cell::Cell;

use formwright::exact::{Int, Rat};
use formwright::target::Checked;
use formwright::target::expr::{Aggregate, BinaryOp, Body, Expr, Function, Node};

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The target is not defined here.
    Undefined,
    /// The numbers are too large for this evaluator.
    Beyond,
}

/// The output entries at `x`, token by token, and whether they are exact.
pub fn evaluate(target: &Checked, x: &[Vec<Rat>]) -> Result<(Vec<Rat>, bool), Gap> {
    let lets: Vec<&Expr> = target.expression().lets.iter().map(|binding| &binding.value).collect();
    let evaluator = Evaluator { x, lets: &lets, exact: Cell::new(true) };
    // A name stands for its definition; but a binding must have a value at every token, also where nobody asks for it.
    for definition in &lets {
        for (i, c) in (0..x.len()).flat_map(|i| (0..target.dims()).map(move |c| (i, c))) {
            evaluator.number(definition, At { i, running: None, c })?;
        }
    }
    let outputs: Vec<(&Expr, usize)> = match &target.expression().body {
        Body::Each(expr) => (0..target.dims()).map(|c| (expr, c)).collect(),
        Body::Coordinates(exprs) => exprs.iter().map(|expr| (expr, 0)).collect(),
    };
    let entry = |i: usize, (expr, c): &(&Expr, usize)| evaluator.number(expr, At { i, running: None, c: *c });
    let entries: Result<Vec<Rat>, Gap> =
        (0..x.len()).flat_map(|i| outputs.iter().map(move |output| (i, output))).map(|(i, o)| entry(i, o)).collect();
    Ok((entries?, evaluator.exact.get()))
}

#[derive(Clone, Copy)]
struct At {
    i: usize,
    running: Option<usize>,
    c: usize,
}

struct Evaluator<'x> {
    x: &'x [Vec<Rat>],
    /// The definitions of the bound names.
    lets: &'x [&'x Expr],
    /// True if nothing was rounded so far.
    exact: Cell<bool>,
}

type Value = Result<Rat, Gap>;

impl Evaluator<'_> {
    fn number(&self, expr: &Expr, at: At) -> Value {
        let of = |e: &Expr| self.number(e, at);
        let value = match &expr.node {
            Node::Number(value) => value.clone(),
            Node::Token => self.x[at.running.unwrap_or(at.i)][at.c].clone(),
            Node::Coordinate(token, k) => self.number(token, At { c: *k, ..at })?,
            Node::Index => Rat::from(at.i),
            Node::Running => Rat::from(at.running.ok_or(Gap::Undefined)?),
            Node::Length => Rat::from(self.x.len()),
            Node::Gather(index) => self.x[one_of(&of(index)?, self.x.len())?][at.c].clone(),
            Node::Bound(bound) => {
                let t = at.running.unwrap_or(at.i);
                self.number(self.lets[bound.index], At { i: t, running: None, ..at })?
            }
            Node::GatherBound(bound, index) => {
                let t = one_of(&of(index)?, self.x.len())?;
                self.number(self.lets[bound.index], At { i: t, running: None, ..at })?
            }
            Node::Table(index, entries) => entries[one_of(&of(index)?, entries.len())?].clone(),
            Node::Negate(e) => -of(e)?,
            Node::Power(e, k) => {
                let base = of(e)?;
                let bits = base.numerator().bits() + base.denominator().bits();
                if bits.saturating_mul(*k as usize) > 1 << 16 {
                    return Err(Gap::Beyond);
                }
                base.pow(*k as usize)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (of(a)?, of(b)?);
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div => a * b.recip().ok_or(Gap::Undefined)?,
                    BinaryOp::Mod if b.is_zero() => return Err(Gap::Undefined),
                    // The remainder in 0, …, |b| - 1.
                    BinaryOp::Mod => &a - Rat::from((&a / &b.abs()).floor()) * b.abs(),
                }
            }
            Node::If(c, a, b) => of(if self.condition(c, at)? { a } else { b })?,
            Node::Call(function, arguments) => {
                let arguments = arguments.iter().map(of).collect::<Result<Vec<_>, _>>()?;
                self.call(*function, &arguments)?
            }
            Node::Aggregate(aggregate, e, filter) => self.aggregate(*aggregate, e, filter.as_deref(), at)?,
            Node::Sort(of) => {
                let whole = |t: usize| self.number(of, At { i: t, running: None, ..at });
                let mut column = (0..self.x.len()).map(whole).collect::<Result<Vec<_>, _>>()?;
                column.sort();
                column.swap_remove(at.i)
            }
            Node::Compare(..) | Node::And(..) | Node::Or(..) | Node::Not(_) => return Err(Gap::Undefined),
        };
        Ok(self.shortened(value))
    }

    /// The number itself, or one near it if it has become long.
    fn shortened(&self, value: Rat) -> Rat {
        if value.denominator().bits() < 4096 {
            return value;
        }
        self.exact.set(false);
        near(&value)
    }

    fn condition(&self, expr: &Expr, at: At) -> Result<bool, Gap> {
        Ok(match &expr.node {
            Node::Compare(op, a, b) => op.holds(Some(self.number(a, at)?.cmp(&self.number(b, at)?))),
            Node::And(a, b) => self.condition(a, at)? && self.condition(b, at)?,
            Node::Or(a, b) => self.condition(a, at)? || self.condition(b, at)?,
            Node::Not(e) => !self.condition(e, at)?,
            _ => return Err(Gap::Undefined),
        })
    }

    fn aggregate(&self, aggregate: Aggregate, e: &Expr, filter: Option<&Expr>, at: At) -> Value {
        let mut values = Vec::new();
        for j in 0..self.x.len() {
            let at = At { running: Some(j), ..at };
            if let Some(filter) = filter
                && !self.condition(filter, at)?
            {
                continue;
            }
            values.push(match aggregate {
                Aggregate::Count => Rat::from(u32::from(self.condition(e, at)?)),
                _ => self.number(e, at)?,
            });
        }
        let mean = |values: &[Rat]| match values.len() {
            0 => Err(Gap::Undefined),
            n => Ok(values.iter().sum::<Rat>() / Rat::from(n)),
        };
        match aggregate {
            Aggregate::Sum | Aggregate::Count => Ok(values.iter().sum()),
            Aggregate::Mean => mean(&values),
            Aggregate::Max => values.into_iter().max().ok_or(Gap::Undefined),
            Aggregate::Min => values.into_iter().min().ok_or(Gap::Undefined),
            Aggregate::Var => {
                let centre = mean(&values)?;
                mean(&values.iter().map(|value| (value - &centre).pow(2)).collect::<Vec<_>>())
            }
        }
    }

    fn call(&self, function: Function, arguments: &[Rat]) -> Value {
        let larger = |a: &Rat, b: &Rat| if a < b { b.clone() } else { a.clone() };
        let smaller = |a: &Rat, b: &Rat| if a < b { a.clone() } else { b.clone() };
        match (function, arguments) {
            (Function::Abs, [e]) => return Ok(larger(e, &-e)),
            (Function::Relu, [e]) => return Ok(larger(e, &Rat::ZERO)),
            (Function::Min, [a, b]) => return Ok(smaller(a, b)),
            (Function::Max, [a, b]) => return Ok(larger(a, b)),
            (Function::Clamp, [e, low, high]) => return Ok(smaller(&larger(e, low), high)),
            (Function::Floor, [e]) => return Ok(Rat::from(e.floor())),
            _ => {}
        }
        let e = &arguments[0];
        // Where the value is rational.
        match function {
            Function::Exp | Function::Cos if e.is_zero() => return Ok(Rat::ONE),
            Function::Tanh | Function::Sin if e.is_zero() => return Ok(Rat::ZERO),
            Function::Log if *e == Rat::ONE => return Ok(Rat::ZERO),
            Function::Log if *e <= Rat::ZERO => return Err(Gap::Undefined),
            Function::Sqrt if e.is_negative() => return Err(Gap::Undefined),
            Function::Sqrt => {
                let root = sqrt(e);
                self.exact.set(self.exact.get() && &root * &root == *e);
                return Ok(root);
            }
            _ => {}
        }
        self.exact.set(false);
        let size = e.abs();
        match function {
            Function::Exp if size < Rat::from(3000) => Ok(exp(e)),
            Function::Tanh if size < Rat::from(200) => {
                let square = exp(&(e + e));
                Ok((&square - Rat::ONE) / (square + Rat::ONE))
            }
            Function::Tanh => Ok(if e.is_negative() { -Rat::ONE } else { Rat::ONE }),
            Function::Log => Ok(log(e)),
            Function::Sin if size < Rat::from(1 << 30) => Ok(sin_cos(e).0),
            Function::Cos if size < Rat::from(1 << 30) => Ok(sin_cos(e).1),
            _ => Err(Gap::Beyond),
        }
    }
}

fn one_of(index: &Rat, size: usize) -> Result<usize, Gap> {
    index.to_int().and_then(|index| index.to_usize()).filter(|index| *index < size).ok_or(Gap::Undefined)
}

// ---- Fixed point: the integer `a` stands for `a / 2^DIGITS` ----

const DIGITS: usize = 400;

fn one() -> Int {
    Int::from(2).pow(DIGITS)
}

fn fixed(x: &Rat) -> Int {
    (x * Rat::from(one())).floor()
}

fn times(a: &Int, b: &Int) -> Int {
    (a * b).div_rem(&one()).0
}

fn unfixed(a: Int) -> Rat {
    Rat::new(a, one())
}

/// A number with [`DIGITS`] binary digits near `x`.
fn near(x: &Rat) -> Rat {
    if x.is_zero() {
        return Rat::ZERO;
    }
    let (above, below) = (x.numerator().bits(), x.denominator().bits());
    let scale = Rat::from(Int::from(2).pow(below.saturating_sub(above) + DIGITS));
    Rat::from((x * &scale).floor()) / scale
}

/// `Σ_k t^k c_k` with `c_0 = 1` and `c_k = c_{k-1} · ratio(k)`, as long as the terms are not 0; `first` is the first term.
fn series(first: Int, ratio: impl Fn(&Int, u32) -> Int) -> Int {
    let (mut sum, mut term) = (first.clone(), first);
    for k in 1.. {
        term = ratio(&term, k);
        // Floors stop at -1, not at 0.
        if term.bits() <= 1 {
            break;
        }
        sum += &term;
    }
    sum
}

fn over(a: &Int, divisor: u32) -> Int {
    a.div_rem(&Int::from(divisor)).0
}

/// By halving the argument until it is below 1/2, and squaring as often.
fn exp(x: &Rat) -> Rat {
    let size = x.abs();
    let halvings = size.ceil().bits() + 1;
    let t = fixed(&(size / Rat::from(Int::from(2).pow(halvings))));
    let mut e = series(one(), |term, k| over(&times(term, &t), k));
    for _ in 0..halvings {
        e = times(&e, &e);
    }
    let e = unfixed(e);
    if x.is_negative() { e.recip().expect("not 0") } else { e }
}

/// `2 atanh(z)` for small `z`.
fn twice_atanh(z: &Rat) -> Int {
    let z = fixed(z);
    let square = times(&z, &z);
    let mut power = &z + &z;
    let mut sum = power.clone();
    for k in 1.. {
        power = times(&power, &square);
        if power.bits() <= 1 {
            break;
        }
        sum = sum + over(&power, 2 * k + 1);
    }
    sum
}

/// `x = m 2^k` with `m` near 1; `log m = 2 atanh((m - 1) / (m + 1))`, `log 2 = 2 atanh(1/3)`.
fn log(x: &Rat) -> Rat {
    let (above, below) = (x.numerator().bits(), x.denominator().bits());
    let power = |k: usize| Rat::from(Int::from(2).pow(k));
    let m = x * power(below) / power(above);
    let of_m = twice_atanh(&((&m - Rat::ONE) / (&m + Rat::ONE)));
    let of_two = unfixed(twice_atanh(&Rat::new(1, 3)));
    unfixed(of_m) + of_two * (Rat::from(above) - Rat::from(below))
}

/// Newton's iteration from above, on a multiple of `x` by an even power of 2 that is a large integer.
fn sqrt(x: &Rat) -> Rat {
    let (p, q) = (x.numerator(), x.denominator());
    // √(p/q) = √(p q) / q, exact where p q is a square.
    let shift = DIGITS + q.bits();
    let square = (p * &q) * Int::from(2).pow(2 * shift);
    let mut root = Int::from(2).pow(square.bits().div_ceil(2));
    while &root * &root > square {
        root = (&root + square.div_rem(&root).0).div_rem(&Int::from(2)).0;
    }
    Rat::new(root, q * Int::from(2).pow(shift))
}

/// π by Machin: `π/4 = 4 atan(1/5) - atan(1/239)`.
fn pi() -> Int {
    let atan_of_inverse = |m: u32| {
        let mut power = over(&one(), m);
        let mut sum = power.clone();
        for k in 1_u32.. {
            power = over(&over(&power, m), m);
            if power == Int::ZERO {
                break;
            }
            let term = over(&power, 2 * k + 1);
            sum = if k.is_multiple_of(2) { sum + term } else { sum - term };
        }
        sum
    };
    Int::from(4) * (Int::from(4) * atan_of_inverse(5) - atan_of_inverse(239))
}

/// After the removal of whole turns.
fn sin_cos(x: &Rat) -> (Rat, Rat) {
    let turn = Int::from(2) * pi();
    let t = fixed(x).div_rem(&turn).1;
    let square = times(&t, &t);
    let alternating = |first: Int, shift: u32| {
        let ratio = |term: &Int, k: u32| -over(&over(&times(term, &square), 2 * k - 1 + shift), 2 * k + shift);
        unfixed(series(first, ratio))
    };
    (alternating(t.clone(), 1), alternating(one(), 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(x: &Rat, decimal: &str) {
        let distance = (x - decimal.parse::<Rat>().expect("a decimal")).abs();
        assert!(distance < Rat::new(1, Int::from(10).pow(48)), "{x:?} is not {decimal}");
    }

    /// Fifty digits from tables.
    #[test]
    fn the_functions_have_their_known_values() {
        near(&exp(&Rat::ONE), "2.71828182845904523536028747135266249775724709369996");
        near(&exp(&Rat::from(-2)), "0.13533528323661269189399949497248440340763154590958");
        near(&log(&Rat::from(10)), "2.30258509299404568401799145468436420760110148862877");
        near(&log(&Rat::new(1, 3)), "-1.09861228866810969139524523692252570464749055782275");
        near(&sqrt(&Rat::from(2)), "1.41421356237309504880168872420969807856967187537695");
        near(&unfixed(pi()), "3.14159265358979323846264338327950288419716939937511");
        near(&sin_cos(&Rat::ONE).0, "0.84147098480789650665250232163029899962256306079837");
        near(&sin_cos(&Rat::from(-100)).1, "0.86231887228768393410193851395084253551008400853551");
        assert_eq!(sqrt(&Rat::new(9, 4)), Rat::new(3, 2));
    }
}
