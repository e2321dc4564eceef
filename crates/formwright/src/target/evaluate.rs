//! The value of a target on a sequence, in any kind of number.
//!
//! Everything acts coordinate by coordinate, so the evaluator computes one coordinate of one output token at a time:
//! `x` is then a number, and `x.k` only changes which coordinate is meant. Inside an aggregate `x` and `j` are the
//! running token's; so an aggregate depends on the output token only through `i`, and one without `i` is computed once
//! for the sequence. Bindings come first, each for all tokens and coordinates; a name then stands for the values
//! computed.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::attend::{Attended, attended};
use super::expr::{Aggregate, BinaryOp, Expr, Expression, Function, Node};
use super::number::{MAX_BOUND_BITS, Number, Outcome, declined, mean, sum, undefined};
use super::typing::Checked;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Interval;

impl Checked {
    /// The output tokens for the input tokens `x`, exactly; `x[t][k]` is coordinate `k` of token `t`.
    ///
    /// Refused where the target is undefined (a quotient by zero, an index outside of the sequence) or its value
    /// irrational.
    pub fn evaluate_exact(&self, x: &[Vec<Rat>]) -> Result<Vec<Vec<Rat>>> {
        evaluate(self, self.expression(), x)
    }

    /// The output tokens in double precision, with its rounding; NaN where the target is undefined or `x` has no value.
    pub fn evaluate_f64(&self, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        evaluate(self, self.expression(), x).unwrap_or_else(|_| vec![vec![f64::NAN; self.output_dims()]; x.len()])
    }
}

/// The output tokens for the input tokens `x`, by a form of the target: as written, or simplified.
pub(crate) fn evaluate<T: Number>(target: &Checked, form: &Expression, x: &[Vec<T>]) -> Result<Vec<Vec<T>>> {
    let dims = target.dims();
    if let Some((t, token)) = x.iter().enumerate().find(|(_, token)| token.len() != dims) {
        let headline = format!("token {t} has {} coordinates, and the target was checked for {dims}", token.len());
        return Err(Error::input(headline));
    }
    let mut evaluator = Evaluator::new(target, form, x);
    // A binding needs a value at every token, whether the body asks for it or not.
    if let Some(Err(error)) = evaluator.bound.iter().find(|binding| binding.is_err()) {
        return Err(error.clone());
    }
    (0..x.len())
        .map(|i| {
            evaluator.of_token.clear();
            let outputs = target.outputs(form).into_iter();
            outputs.map(|(expr, c)| evaluator.number(expr, At { i, j: None, c })).collect()
        })
        .collect()
}

/// The values of an expression of positions alone, at every token, which is the running token or the output token. Each
/// comes with a bound on its distance from the true value, 0 where that is rational.
pub(crate) fn positional_values(
    expr: &Expr,
    running: bool,
    tokens: usize,
    dims: usize,
    text: &str,
) -> Vec<Result<(Rat, f64)>> {
    let blank = vec![vec![Rat::ZERO; dims]; tokens];
    let near_blank = vec![vec![Interval::ZERO; dims]; tokens];
    let mut exact = Evaluator::bare(text, &blank);
    let mut near = Evaluator::bare(text, &near_blank);
    let value = |t: usize| {
        let at = At { i: t, j: running.then_some(t), c: 0 };
        exact.of_token.clear();
        near.of_token.clear();
        exact.number(expr, at).map(|value| (value, 0.0)).or_else(|error| {
            let near = near.number(expr, at).ok().filter(|near| near.is_bounded());
            // An undecided condition leaves a wide interval, from which no number can be chosen.
            let narrow = near.filter(|near| near.width() <= 1e-9 * (1.0 + near.mag()));
            narrow.and_then(|near| Some((Rat::from_f64(near.mid())?, near.width()))).ok_or(error)
        })
    };
    (0..tokens).map(value).collect()
}

/// The meaning of the names `i`, `j` and `x`.
#[derive(Clone, Copy)]
pub(super) struct At {
    /// The output token.
    pub i: usize,
    /// The running token, inside an aggregate.
    pub j: Option<usize>,
    /// The coordinate of the token that is meant.
    pub c: usize,
}

/// The key of an aggregate's value: the aggregate, by its place in memory, and the coordinate.
type Slot = (*const Expr, usize);

/// The values of a bound name, `[token][coordinate]`; or the reason why there are none.
type OfToken<T> = Result<Vec<Vec<T>>>;

/// The evaluator of one sequence.
pub(super) struct Evaluator<'e, T> {
    text: &'e str,
    x: &'e [Vec<T>],
    /// The bindings, as far as they are computed.
    bound: Vec<OfToken<T>>,
    /// The name whose definition is being computed; none in the body.
    defining: Option<&'e str>,
    /// Aggregates that are the same for every output token.
    of_sequence: BTreeMap<Slot, T>,
    /// Aggregates for the output token at hand.
    of_token: BTreeMap<Slot, T>,
    /// The sorted coordinates of the input (`None`) and of the bindings.
    sorted: BTreeMap<(Option<usize>, usize), Vec<T>>,
}

impl<'e, T: Number> Evaluator<'e, T> {
    /// An evaluator for expressions without bound names.
    pub(super) fn bare(text: &'e str, x: &'e [Vec<T>]) -> Self {
        let (of_sequence, of_token, sorted) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { text, x, bound: Vec::new(), defining: None, of_sequence, of_token, sorted }
    }

    /// An evaluator for a form of the target, with its bindings computed.
    pub(super) fn new(target: &'e Checked, form: &'e Expression, x: &'e [Vec<T>]) -> Self {
        let mut evaluator = Self::bare(&target.expression().source.text, x);
        for binding in &form.lets {
            evaluator.defining = Some(&binding.name);
            let values = (0..x.len()).map(|i| evaluator.define(&binding.value, i, target.dims())).collect();
            evaluator.bound.push(values);
        }
        evaluator.defining = None;
        evaluator
    }

    /// The coordinates of token `i` of a binding.
    fn define(&mut self, value: &Expr, i: usize, dims: usize) -> Result<Vec<T>> {
        self.of_token.clear();
        let number = |c| {
            let at = At { i, j: None, c };
            let number = self.number(value, at)?;
            if number.is_too_long() {
                let fault = declined(format!("a bound number of more than {MAX_BOUND_BITS} binary digits"));
                return self.settle(fault, value, at);
            }
            Ok(number)
        };
        (0..dims).map(number).collect()
    }

    /// All values of a part, over all output tokens and, `inside` of an aggregate, all running tokens.
    pub(super) fn hull_of(&mut self, part: &Expr, inside: bool, dims: usize) -> Result<T> {
        let tokens = self.x.len();
        let mut hull: Option<T> = None;
        for i in 0..tokens {
            self.of_token.clear();
            for j in if inside { 0..tokens } else { 0..1 } {
                for c in 0..dims {
                    let value = self.number(part, At { i, j: inside.then_some(j), c })?;
                    hull = Some(match hull {
                        Some(hull) => hull.either(value),
                        None => value,
                    });
                }
            }
        }
        hull.ok_or_else(|| Error::input("a sequence of 0 tokens has no values"))
    }

    /// The value of a number.
    pub(super) fn number(&mut self, expr: &Expr, at: At) -> Result<T> {
        let outcome = match &expr.node {
            Node::Number(value) => Ok(T::constant(value)),
            Node::Token => self.entry(None, at.j.unwrap_or(at.i), at.c)?,
            Node::Bound(bound) => self.entry(Some(bound.index), at.j.unwrap_or(at.i), at.c)?,
            Node::Coordinate(token, k) => return self.number(token, At { c: *k, ..at }),
            Node::Index => Ok(T::whole(at.i)),
            Node::Running => Ok(T::whole(at.j.unwrap_or(at.i))),
            Node::Length => Ok(T::whole(self.x.len())),
            Node::Gather(index) => self.gathered(None, index, at)?,
            Node::GatherBound(bound, index) => self.gathered(Some(bound.index), index, at)?,
            Node::Table(index, entries) => {
                let index = self.number(index, at)?;
                index
                    .positions(entries.len())
                    .and_then(|(first, last)| hull(entries[first..=last].iter().map(|entry| Ok(T::constant(entry)))))
            }
            Node::Negate(e) => Ok(T::constant(&Rat::ZERO).sub(&self.number(e, at)?)),
            Node::Power(e, k) => self.number(e, at)?.pow(*k),
            Node::Binary(op, a, b) => match attended(&expr.node) {
                Some(pooled) => return self.weighted(expr, pooled, at),
                None => binary(*op, &self.number(a, at)?, &self.number(b, at)?),
            },
            Node::If(c, a, b) => match self.condition(c, at)? {
                Some(true) => return self.number(a, at),
                Some(false) => return self.number(b, at),
                None => Ok(self.number(a, at)?.either(self.number(b, at)?)),
            },
            Node::Call(function, arguments) => {
                let values = arguments.iter().map(|argument| self.number(argument, at)).collect::<Result<Vec<_>>>()?;
                T::call(*function, &values)
            }
            Node::Aggregate(aggregate, e, filter) => return self.kept(expr, *aggregate, e, filter.as_deref(), at),
            Node::Sort(of) => Ok(self.sorted(of, at)?),
            Node::Compare(..) | Node::And(..) | Node::Or(..) | Node::Not(_) => undefined("a condition is not a number"),
        };
        self.settle(outcome, expr, at)
    }

    /// True if a condition holds, false if it does not; `None` if that is not decided.
    fn condition(&mut self, expr: &Expr, at: At) -> Result<Option<bool>> {
        Ok(match &expr.node {
            // A token is equal to itself, even where its value is only enclosed.
            Node::Compare(op, a, b) if entry_of(a, at).is_some_and(|entry| entry_of(b, at) == Some(entry)) => {
                Some(op.holds(Some(Ordering::Equal)))
            }
            Node::Compare(op, a, b) => self.number(a, at)?.compare(*op, &self.number(b, at)?),
            Node::And(a, b) => match self.condition(a, at)? {
                Some(false) => Some(false),
                a => match (a, self.condition(b, at)?) {
                    (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                },
            },
            Node::Or(a, b) => match self.condition(a, at)? {
                Some(true) => Some(true),
                a => match (a, self.condition(b, at)?) {
                    (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                },
            },
            Node::Not(e) => self.condition(e, at)?.map(|holds| !holds),
            _ => return Err(Error::input("a number is not a condition").place(self.text, &expr.span, "here")),
        })
    }

    /// The input (`None`) or a binding.
    fn sequence(&self, of: Option<usize>) -> Result<&[Vec<T>]> {
        match of.map(|of| self.bound.get(of)) {
            None => Ok(self.x),
            Some(Some(Ok(values))) => Ok(values),
            Some(Some(Err(error))) => Err(error.clone()),
            Some(None) => Err(Error::input("a name is used before it is bound")),
        }
    }

    fn entry(&self, of: Option<usize>, t: usize, c: usize) -> Result<Outcome<T>> {
        let entry = self.sequence(of)?.get(t).and_then(|token| token.get(c)).cloned();
        Ok(entry.map_or_else(|| undefined(format!("no coordinate {c} of token {t}")), Ok))
    }

    fn gathered(&mut self, of: Option<usize>, index: &Expr, at: At) -> Result<Outcome<T>> {
        let (first, last) = match self.number(index, at)?.positions(self.x.len()) {
            Ok(places) => places,
            Err(fault) => return Ok(Err(fault)),
        };
        let entries = (first..=last).map(|t| self.entry(of, t, at.c)).collect::<Result<Vec<_>>>()?;
        Ok(hull(entries.into_iter()))
    }

    /// An aggregate's value, computed unless it is already kept.
    fn kept(&mut self, expr: &Expr, aggregate: Aggregate, e: &Expr, filter: Option<&Expr>, at: At) -> Result<T> {
        let slot = (std::ptr::from_ref(expr), at.c);
        if let Some(value) = self.of_sequence.get(&slot).or_else(|| self.of_token.get(&slot)) {
            return Ok(value.clone());
        }
        let outcome = self.aggregate(aggregate, e, filter, at)?;
        let value = self.settle(outcome, expr, at)?;
        let kept = if expr.depends_on_output() { &mut self.of_token } else { &mut self.of_sequence };
        kept.insert(slot, value.clone());
        Ok(value)
    }

    fn aggregate(&mut self, aggregate: Aggregate, e: &Expr, filter: Option<&Expr>, at: At) -> Result<Outcome<T>> {
        let mut values = Vec::with_capacity(self.x.len());
        let (mut certain, mut possible) = (0, 0);
        for j in 0..self.x.len() {
            let at = At { j: Some(j), ..at };
            if let Some(filter) = filter
                && self.condition(filter, at)? == Some(false)
            {
                continue;
            }
            if aggregate == Aggregate::Count {
                let holds = self.condition(e, at)?;
                certain += usize::from(holds == Some(true));
                possible += usize::from(holds != Some(false));
            } else {
                values.push(self.number(e, at)?);
            }
        }
        let fold = |function| {
            let mut rest = values.iter().cloned();
            let first = rest.next().map_or_else(|| undefined("no token passes the filter"), Ok);
            first.and_then(|first| rest.try_fold(first, |a, b| T::call(function, &[a, b])))
        };
        Ok(match aggregate {
            Aggregate::Count => Ok(T::between(certain, possible)),
            Aggregate::Sum => Ok(sum(&values)),
            Aggregate::Max => fold(Function::Max),
            Aggregate::Min => fold(Function::Min),
            Aggregate::Mean | Aggregate::Var if values.is_empty() => undefined("no token passes the filter"),
            Aggregate::Mean => mean(&values),
            Aggregate::Var => T::variance(&values),
        })
    }

    /// A mean weighted by a softmax, computed unless it is already kept.
    fn weighted(&mut self, expr: &Expr, Attended { score, value, filter }: Attended<'_>, at: At) -> Result<T> {
        let slot = (std::ptr::from_ref(expr), at.c);
        if let Some(value) = self.of_sequence.get(&slot).or_else(|| self.of_token.get(&slot)) {
            return Ok(value.clone());
        }
        let (mut scores, mut values) = (Vec::new(), Vec::new());
        for j in 0..self.x.len() {
            let at = At { j: Some(j), ..at };
            if let Some(filter) = filter
                && self.condition(filter, at)? == Some(false)
            {
                continue;
            }
            scores.push(self.number(score, at)?);
            values.push(value.map_or_else(|| Ok(T::whole(1)), |value| self.number(value, at))?);
        }
        let none = || undefined("no token passes the filter");
        let outcome = if scores.is_empty() { none() } else { T::weighted(&scores, &values) };
        let value = self.settle(outcome, expr, at)?;
        let kept = if expr.depends_on_output() { &mut self.of_token } else { &mut self.of_sequence };
        kept.insert(slot, value.clone());
        Ok(value)
    }

    /// The value at the output token's place after sorting `x`, `x.k`, `b` or `b.k`.
    fn sorted(&mut self, of: &Expr, at: At) -> Result<T> {
        let (sequence, c) = match &of.node {
            Node::Coordinate(token, k) => (token.as_ref(), *k),
            _ => (of, at.c),
        };
        let sequence = if let Node::Bound(bound) = &sequence.node { Some(bound.index) } else { None };
        if !self.sorted.contains_key(&(sequence, c)) {
            let mut column: Vec<T> = self.sequence(sequence)?.iter().map(|token| token[c].clone()).collect();
            T::sort(&mut column);
            self.sorted.insert((sequence, c), column);
        }
        Ok(self.sorted[&(sequence, c)][at.i].clone())
    }

    /// The value; or the number that stands for a missing one; or the fault with its place.
    fn settle(&self, outcome: Outcome<T>, expr: &Expr, at: At) -> Result<T> {
        outcome.or_else(|fault| {
            T::undefined().ok_or_else(|| {
                let running = at.j.map_or(String::new(), |j| format!(", running token {j}"));
                let whose = self.defining.map_or("output token".into(), |name| format!("`{name}` of token"));
                let tokens = format!("{whose} {}{running}, coordinate {}", at.i, at.c);
                let (part, label, attempt) = culprit(expr);
                let error = fault.place(self.text, &part.span, label).note("for", tokens);
                if let Some(attempt) = attempt { error.note("try", attempt) } else { error }
            })
        })
    }
}

/// The sequence, token and coordinate that `x`, `x[i]`, `x[j]`, a coordinate of these, or the same of a bound name
/// stands for.
fn entry_of(expr: &Expr, at: At) -> Option<(Option<usize>, usize, usize)> {
    let running = at.j.unwrap_or(at.i);
    let place = |index: &Expr| match index.node {
        Node::Index => Some(at.i),
        Node::Running => Some(running),
        _ => None,
    };
    match &expr.node {
        Node::Token => Some((None, running, at.c)),
        Node::Bound(bound) => Some((Some(bound.index), running, at.c)),
        Node::Gather(index) => Some((None, place(index)?, at.c)),
        Node::GatherBound(bound, index) => Some((Some(bound.index), place(index)?, at.c)),
        Node::Coordinate(token, k) => entry_of(token, At { c: *k, ..at }),
        _ => None,
    }
}

/// The part that is to blame for a missing value, what to call it, and what helps.
fn culprit(expr: &Expr) -> (&Expr, &'static str, Option<&'static str>) {
    let (part, label, attempt) = match &expr.node {
        Node::Binary(BinaryOp::Mod, _, b) => (b, "this divisor", "a divisor that is never 0, such as `abs(e) + 1`"),
        Node::Binary(_, _, b) => (b, "this divisor", "a divisor that is never 0, such as `abs(e) + 1/10`"),
        Node::Gather(index) => (index, "this index", "`x[clamp(e, 0, n - 1)]`, which stays inside of the sequence"),
        Node::GatherBound(_, index) => {
            (index, "this index", "`clamp(e, 0, n - 1)` as index, which stays inside of the sequence")
        }
        Node::Table(index, _) => (index, "this index", "one entry for each index, from 0 on"),
        Node::Aggregate(_, _, Some(filter)) => {
            (filter, "this filter", "a filter that some token always passes, such as `j <= i`")
        }
        _ => return (expr, "here", None),
    };
    (part, label, Some(attempt))
}

fn binary<T: Number>(op: BinaryOp, a: &T, b: &T) -> Outcome<T> {
    match op {
        BinaryOp::Add => Ok(a.add(b)),
        BinaryOp::Sub => Ok(a.sub(b)),
        BinaryOp::Mul => Ok(a.mul(b)),
        BinaryOp::Div => a.div(b),
        BinaryOp::Mod => a.modulo(b),
    }
}

/// The hull of the values, of which there is at least one.
fn hull<T: Number>(mut values: impl Iterator<Item = Outcome<T>>) -> Outcome<T> {
    let first = values.next().unwrap_or_else(|| undefined("no value"))?;
    values.try_fold(first, |a, b| Ok(a.either(b?)))
}

#[cfg(test)]
mod tests {
    use super::super::expr::Expression;
    use super::super::random::{Features, Random, input, target};
    use super::*;

    fn rats(text: &str) -> Vec<Vec<Rat>> {
        let token = |token: &str| token.split_whitespace().map(|value| value.parse().expect("a number")).collect();
        text.split(';').map(token).collect()
    }

    fn checked(text: &str, dims: usize) -> Checked {
        Expression::parse(text).and_then(|target| target.check(dims)).expect(text)
    }

    #[test]
    fn values_are_those_of_the_definitions() {
        for (text, x, y) in [
            ("x - mean(x)", "0; 1/2; 1", "-1/2; 0; 1/2"),
            ("x - mean(x)", "0 4; 1 8", "-1/2 -2; 1/2 2"),
            ("var(x)", "0; 1/2; 1", "1/6; 1/6; 1/6"),
            ("x[n-1-i]", "1; 2; 3", "3; 2; 1"),
            ("sum(x, j <= i)", "1; 2; 3", "1; 3; 6"),
            ("mean(x, j >= i - 1 and j <= i)", "1; 2; 6", "1; 3/2; 4"),
            ("max(x, j < 2) - min(x, j >= i)", "1; 5; 3", "4; 2; 2"),
            ("sum(x, j < 0)", "1; 5", "0; 0"),
            ("sort(x)", "3; 1; 2", "1; 2; 3"),
            ("sort(x) on integers 0..9", "2 7; 1 9; 3 8", "1 7; 2 8; 3 9"),
            ("[sort(x.1)]", "2 7; 1 9; 3 8", "7; 8; 9"),
            ("count(x == x[i]) on integers 0..9", "4; 5; 4", "2; 1; 2"),
            ("count(x < x[i], j < i)", "4; 5; 6", "0; 1; 2"),
            ("[x.0 * mean(x.1), max(x.0) - x.1]", "1 2; 3 4", "3 1; 9 -1"),
            ("x - x.0", "1 2; 3 7", "0 1; 0 4"),
            ("[n, i, x]", "5; 6", "2 0 5; 2 1 6"),
            ("sum(j * x) + i", "5; 6", "6; 7"),
            ("sum(x * sum(x))", "1; 2", "9; 9"),
            ("sum(x * sum(x[i] * j))", "1; 2", "3; 6"),
            ("sum(x[j] - x)", "1; 2", "0; 0"),
            ("if x < 1/2 then -x else x^2", "1/4; 1/2; 3", "-1/4; 1/4; 9"),
            ("if not (x > 1 or x < 0) and i != 0 then 1 else 0", "1; 1; 2", "0; 1; 0"),
            ("x mod 3 on integers -9..9", "-4; 4; 3", "2; 1; 0"),
            ("x mod -3 on integers -9..9", "-4; 4; 3", "2; 1; 0"),
            ("floor(x / 2) on integers -9..9", "-3; 3", "-2; 1"),
            ("table(x; 1/3, 0, -2) on integers 0..3", "2; 0", "-2; 1/3"),
            ("clamp(x, 0, 1) + relu(-x) + abs(x)", "-2; 1/2; 3", "4; 1; 4"),
            ("min(x, 1) + max(x, 1)", "-2; 3", "-1; 4"),
            ("sqrt(x) + exp(x - x) + cos(0) + sin(0) + tanh(0) + log(1)", "9/4; 0", "7/2; 2"),
            ("x[i] * 0.1", "3", "3/10"),
            ("if i == 0 then x else x[i-1]", "5; 6; 7", "5; 5; 6"),
            ("let b = sum(x, j <= i); b", "1; 2; 3", "1; 3; 6"),
            ("let b = sum(x, j <= i); max(b) - b[i]", "1; 2; -3", "2; 0; 3"),
            ("let b = sum(x, j <= i); sum(b * b[i])", "1; 2; 3", "10; 30; 60"),
            ("let b = sum(x, j <= i); sum(b[j] - b)", "1; 2; 3", "0; 0; 0"),
            ("let b = 2 * x; let c = b + i; [c, b[n-1-i], c[0]]", "1; 2; 3", "2 6 2; 5 4 2; 8 2 2"),
            ("let b = x - mean(x); var(b) + b", "0 4; 1 8", "-1/4 2; 3/4 6"),
            ("let b = x + 1; [b.1, sum(b.0 * b[i].1)]", "0 4; 1 8", "5 15; 9 27"),
            ("let b = x.0; b + x", "0 4; 1 8", "0 4; 2 9"),
            ("let s = sort(x); s[floor(n / 2)]", "7; 5; 6", "6; 6; 6"),
            ("let b = -x; sort(b) + sort(b.0)", "7; 5; 6", "-14; -12; -10"),
            ("let r = count(x < x[i]); count(r == r[i]) on integers 0..9", "4; 5; 4", "2; 1; 2"),
            ("let p = n - 1 - i; x[p] + p[p]", "5; 6; 7", "7; 7; 7"),
        ] {
            let (x, y) = (rats(x), rats(y));
            assert_eq!(
                checked(text, x[0].len()).evaluate_exact(&x).map_err(|error| error.to_string()),
                Ok(y),
                "{text}"
            );
        }
    }

    #[test]
    fn what_has_no_exact_value_is_refused_with_its_place() {
        use crate::error::ErrorKind::{Declined, Input};
        for (text, x, kind, headline) in [
            ("1 / x", "1; 0", Input, "1 is divided by 0"),
            ("x / (x - mean(x))", "1", Input, "1 is divided by 0"),
            ("x[i+1]", "1; 2", Input, "index 2 is not among 0, …, 1"),
            ("x[i-1]", "1; 2", Input, "index -1 is not among 0, …, 1"),
            ("x[x] on integers 0..9", "1; 5", Input, "index 5 is not among 0, …, 1"),
            ("table(x; 7) on integers 0..9", "0; 1", Input, "index 1 is not among 0, …, 0"),
            ("mean(x, j < i)", "1", Input, "no token passes the filter"),
            ("max(x, j > i)", "1; 2", Input, "no token passes the filter"),
            ("var(x, j > 5)", "1; 2", Input, "no token passes the filter"),
            ("i mod x on integers 0..2", "0", Input, "0 mod 0 is undefined"),
            ("sqrt(x - 1)", "0", Input, "sqrt(-1) is undefined"),
            ("log(x)", "0", Input, "log(0) is undefined"),
            ("exp(x)", "1/2", Declined, "exp(1/2) has no exact rational value"),
            ("sqrt(x)", "1/2", Declined, "sqrt(1/2) has no exact rational value"),
            ("tanh(x)", "1", Declined, "tanh(1) has no exact rational value"),
            ("((x^1000)^1000)^1000", "2", Declined, "a power of more than 1048576 binary digits"),
            ("x", "1 2", Input, "token 0 has 2 coordinates, and the target was checked for 1"),
            ("let b = 1 / x; if i == 0 then b else 0", "1; 0", Input, "1 is divided by 0"),
            ("let b = x; b[i + 1]", "1; 2", Input, "index 2 is not among 0, …, 1"),
        ] {
            let error = checked(text, 1).evaluate_exact(&rats(x)).expect_err(text);
            assert_eq!((error.kind(), error.headline()), (kind, headline), "{text}");
        }
        let error = checked("x + mean(1 / x)", 1).evaluate_exact(&rats("1; 0")).expect_err("a quotient by 0");
        let notes: String = error.notes().iter().map(|(_, text)| text.as_str()).collect();
        assert!(notes.contains("^ this divisor") && notes.contains("output token 0, running token 1"), "{error}");
        let error = checked("let b = mean(1 / x); x", 1).evaluate_exact(&rats("1; 0")).expect_err("a quotient by 0");
        let notes: String = error.notes().iter().map(|(_, text)| text.as_str()).collect();
        assert!(notes.contains("^ this divisor") && notes.contains("`b` of token 0, running token 1"), "{error}");
    }

    #[test]
    fn a_bound_number_that_gets_out_of_hand_is_declined() {
        let doubled: Vec<String> = (1..40).map(|k| format!("let b{k} = b{} * b{};", k - 1, k - 1)).collect();
        let target = checked(&format!("let b0 = x + 2; {} b39", doubled.concat()), 1);
        let error = target.evaluate_exact(&rats("1")).expect_err("3 to the power of 2^39");
        assert_eq!(error.headline(), "a bound number of more than 65536 binary digits");
        assert_eq!(target.range_exact(1).expect_err("the same").headline(), error.headline());
        assert!(target.evaluate_f64(&[vec![1.0]])[0][0].is_infinite());
    }

    #[test]
    fn doubles_follow_the_exact_values_and_say_nan_where_there_is_none() {
        assert!(checked("x / (x - 1)", 1).evaluate_f64(&[vec![1.0]])[0][0].is_infinite());
        // In double precision, three times 0.1 divided by 3 is not 0.1.
        let equal = checked("if var(x) > 0 then 1 else 0", 1).evaluate_f64(&[vec![0.1], vec![0.1], vec![0.1]]);
        assert!(equal[0][0] < 0.5, "{equal:?}");
        for (text, x) in [
            ("x[i+1]", 1.0),
            ("table(x; 7) on integers 0..9", 3.0),
            ("mean(x, j < i)", 1.0),
            ("log(x) - log(x)", -1.0),
            ("relu(log(x))", -1.0),
            ("max(log(x), 0)", -1.0),
        ] {
            assert!(checked(text, 1).evaluate_f64(&[vec![x]])[0][0].is_nan(), "{text}");
        }
        let mut compared = 0;
        for seed in 0..3_000 {
            let random = &mut Random::new(seed);
            let kind = Features { dims: 2, integers: random.below(2) == 0, positions: true };
            let expression = target(random, kind);
            let jumps = |node: &Node| {
                matches!(
                    node,
                    Node::Compare(..)
                        | Node::Table(..)
                        | Node::Call(Function::Floor, _)
                        | Node::Binary(BinaryOp::Mod | BinaryOp::Div, ..)
                )
            };
            let x = input(random, 3, kind);
            let target = expression.check(2).expect("a checked target");
            let Ok(exact) = target.evaluate_exact(&x) else { continue };
            if expression.exprs().any(|expr| expr.any(&jumps)) {
                continue;
            }
            let doubles: Vec<Vec<f64>> = x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
            for (exact, double) in exact.iter().flatten().zip(target.evaluate_f64(&doubles).iter().flatten()) {
                let (exact, double) = (exact.to_f64(), *double);
                assert!(
                    (exact - double).abs() <= 1e-6 * (1.0 + exact.abs()) || exact.abs() > 1e15,
                    "{expression}: {exact} {double}"
                );
                compared += 1;
            }
        }
        assert!(compared > 1_000, "only {compared} values were compared");
    }

    #[test]
    fn an_aggregate_without_the_output_token_is_computed_once() {
        let target = checked("x - mean(mean(mean(mean(mean(mean(x))))))", 1);
        let x: Vec<Vec<Rat>> = (0..40).map(|t| vec![Rat::from(t)]).collect();
        assert_eq!(target.evaluate_exact(&x).expect("values")[0][0], Rat::new(-39, 2));
    }
}
