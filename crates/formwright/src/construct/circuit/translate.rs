//! From an expression to a circuit, node by node.
//!
//! Inside of an aggregate `x` and `j` belong to the running token, `x[i]` and `i` to the output token. A wire is a number that *every* token
//! has, so a part that depends on one of the two only is the same wire for both. A body that mixes them must separate, or is told apart by cases.
//!
//! | file | idea |
//! |---|---|
//! | `condition.rs` | conditions are 0 or 1 |
//! | `gather.rs` | the value at another position |
//! | `aggregate.rs` | aggregates, whatever their body mixes |
//! | `attend.rs` | means weighted by a softmax |
//! | `separate.rs` | a body as a sum of products |
//! | `pool.rs` | aggregates of what each token has by itself |
//! | `sort.rs` | integers by counting, all other numbers by comparators |
//! | `mask.rs` | filters as intervals of positions |

mod aggregate;
mod attend;
mod condition;
mod gather;
mod mask;
mod pool;
mod separate;
mod sort;

use super::form::Form;
use super::graph::{Graph, Kind};
use super::layout::MOST_GATES;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::{Interval, Up};
use crate::network::Realisation;
use crate::target::Checked;
use crate::target::attend::attended;
use crate::target::evaluate::positional_values;
use crate::target::expr::{BinaryOp, CompareOp, Domain, Expr, Function, Node, Span};
use crate::target::univariate::{binary, call, expr, number, variable};

/// The names that are bound.
#[derive(Clone)]
struct Scope {
    /// The coordinate that `x` is.
    c: usize,
    /// True if `x` is the running token of an aggregate.
    running: bool,
    /// The positions at which the value is needed.
    live: Vec<bool>,
}

/// The circuit of a target.
pub(crate) struct Translated {
    /// The graph.
    pub graph: Graph,
    /// A form for each output coordinate.
    pub outputs: Vec<Form>,
    /// True if positions, or the number of tokens, are part of it.
    pub fixed: bool,
}

/// Translates a target for sequences of `tokens` tokens. Heads have scores if they are softmax attention.
pub(crate) fn translate(target: &Checked, tokens: usize, attention: &Realisation) -> Result<Translated> {
    let form = target.simplified();
    let graph =
        Graph { tokens, text: target.expression().source.text.clone(), wires: Vec::new(), live: vec![true; tokens] };
    let mut translator = Translator { target, graph, lets: Vec::new(), fixed: false, scored: attention.is_softmax() };
    let scope = |c| Scope { c, running: false, live: vec![true; tokens] };
    for binding in &form.lets {
        // One that cannot be had matters only to those who use it.
        let coordinates = (0..target.dims()).map(|c| translator.number(&binding.value, &scope(c)));
        let coordinates = coordinates.collect::<Vec<_>>();
        translator.lets.push(coordinates);
    }
    let outputs = target.outputs(form).into_iter();
    let outputs = outputs.map(|(expr, c)| translator.number(expr, &scope(c))).collect::<Result<Vec<_>>>()?;
    Ok(Translated { graph: translator.graph, outputs, fixed: translator.fixed })
}

struct Translator<'t> {
    target: &'t Checked,
    graph: Graph,
    /// The coordinates of each bound name.
    lets: Vec<Vec<Result<Form>>>,
    fixed: bool,
    /// True if heads have scores.
    scored: bool,
}

impl Translator<'_> {
    fn decline(&self, headline: impl Into<String>, at: &Expr, label: &str) -> Error {
        Error::declined(headline).place(&self.graph.text, &at.span, label)
    }

    /// A number, as a form.
    fn number(&mut self, e: &Expr, scope: &Scope) -> Result<Form> {
        if self.graph.wires.len() > MOST_GATES {
            return Err(self
                .decline(format!("the circuit would have more than {MOST_GATES} gates"), e, "up to here")
                .note("try", "fewer ⟨dims⟩, a smaller domain of integers, or a shorter expression"));
        }
        if !e.depends_on_values() && !matches!(e.node, Node::Number(_)) {
            return self.position(e, scope);
        }
        let span = &e.span;
        match &e.node {
            Node::Number(value) => Ok(Form::constant(value.clone())),
            Node::Token => Ok(self.input(scope.c, span)),
            Node::Coordinate(token, k) => self.number(token, &Scope { c: *k, ..scope.clone() }),
            Node::Index | Node::Running | Node::Length => self.position(e, scope),
            Node::Bound(bound) => self.lets[bound.index][scope.c].clone(),
            Node::Gather(index) => {
                let of = self.input(scope.c, span);
                self.gather(of, index, scope)
            }
            Node::GatherBound(bound, index) => self.gather(self.lets[bound.index][scope.c].clone()?, index, scope),
            Node::Table(index, entries) => {
                let index = self.number(index, scope)?;
                let table = expr(Node::Table(Box::new(variable()), entries.clone()));
                self.graph.apply(&table, &index, span)
            }
            Node::Negate(a) => Ok(self.number(a, scope)?.scaled(&-Rat::ONE)),
            Node::Power(a, k) => {
                let a = self.number(a, scope)?;
                self.graph.apply(&expr(Node::Power(Box::new(variable()), *k)), &a, span)
            }
            Node::Binary(op, a, b) => {
                if let Some(pooled) = attended(&e.node)
                    && let Some(mean) = self.attended(e, pooled, scope)?
                {
                    return Ok(mean);
                }
                if let Some(mean) = self.filtered_mean(*op, a, b, scope) {
                    return self.number(&mean, scope);
                }
                let (left, right) = (self.number(a, scope)?, self.number(b, scope)?);
                self.binary(*op, &left, &right, e)
            }
            Node::Call(function, arguments) => {
                let arguments =
                    arguments.iter().map(|argument| self.number(argument, scope)).collect::<Result<Vec<_>>>()?;
                self.call(*function, &arguments, span)
            }
            Node::If(c, a, b) => {
                let condition = self.condition(c, scope)?;
                let table = self.graph.positional(&condition);
                let live = |holds: bool| {
                    let one = if holds { Rat::ONE } else { Rat::ZERO };
                    let kept = |t: usize| table.as_ref().is_none_or(|table| table[t] == one);
                    Scope { live: (0..scope.live.len()).map(|t| scope.live[t] && kept(t)).collect(), ..scope.clone() }
                };
                match condition.as_constant() {
                    Some(value) if value.is_zero() => self.number(b, scope),
                    Some(_) => self.number(a, scope),
                    None => {
                        let a = self.branch(a, &live(true))?;
                        let b = self.branch(b, &live(false))?;
                        let chosen = self.graph.product(&condition, &a.plus(&-Rat::ONE, &b), span)?;
                        Ok(b.plus(&Rat::ONE, &chosen))
                    }
                }
            }
            Node::Aggregate(aggregate, body, filter) => self.aggregate(e, *aggregate, body, filter.as_deref(), scope),
            Node::Sort(of) => self.sort(e, of, scope),
            Node::Compare(..) | Node::And(..) | Node::Or(..) | Node::Not(_) => {
                Err(self.decline("a condition is not a number", e, "here"))
            }
        }
    }

    /// A branch of a conditional, needed at some positions only.
    fn branch(&mut self, e: &Expr, scope: &Scope) -> Result<Form> {
        let before = std::mem::replace(&mut self.graph.live, scope.live.clone());
        let form = self.number(e, scope);
        self.graph.live = before;
        form
    }

    /// An input coordinate. Those of an interval are centred by whoever stores them.
    fn input(&mut self, c: usize, span: &Span) -> Form {
        let (range, integer) = match &self.target.expression().domain {
            Domain::Interval(low, high) => (Interval::from(low).hull(Interval::from(high)), false),
            Domain::Integers(from, to) => {
                let end = |k: i64| Interval::from(&Rat::from(k));
                (end(*from).hull(end(*to - 1)), true)
            }
        };
        self.graph.wire(Kind::Input(c), range, integer, span)
    }

    /// A number of positions alone.
    fn position(&mut self, e: &Expr, scope: &Scope) -> Result<Form> {
        let tokens = self.graph.tokens;
        let (mut table, mut slack) = (Vec::with_capacity(tokens), Up::ZERO);
        let moves = |node: &Node| matches!(node, Node::Index | Node::Running | Node::Length | Node::Aggregate(..));
        self.fixed |= e.any(&moves);
        let values = positional_values(e, scope.running, tokens, self.target.dims(), &self.graph.text);
        for (t, value) in values.into_iter().enumerate() {
            match value {
                Ok((value, width)) => {
                    slack = slack.max(width.into());
                    table.push(value);
                }
                Err(_) if !scope.live[t] => table.push(Rat::ZERO),
                Err(error) => return Err(error),
            }
        }
        Ok(self.graph.position(table, slack, &e.span))
    }

    fn binary(&mut self, op: BinaryOp, a: &Form, b: &Form, e: &Expr) -> Result<Form> {
        match op {
            BinaryOp::Add => Ok(a.plus(&Rat::ONE, b)),
            BinaryOp::Sub => Ok(a.plus(&-Rat::ONE, b)),
            BinaryOp::Mul => self.graph.product(a, b, &e.span),
            BinaryOp::Div => self.graph.quotient(a, b, &e.span),
            BinaryOp::Mod => match b.as_constant() {
                Some(divisor) => {
                    let modulo = binary(BinaryOp::Mod, variable(), number(divisor.clone()));
                    self.graph.apply(&modulo, a, &e.span)
                }
                None if self.graph.positional(b).is_some_and(|table| table.iter().all(Rat::is_int)) => {
                    self.by_divisor(a, b, e)
                }
                None => Err(self
                    .decline("the divisor of `mod` is not a constant", e, "this remainder")
                    .note("try", "a constant divisor, or one case for each: `if b == 2 then a mod 2 else …`")),
            },
        }
    }

    /// `a mod b(i)`, a case for each divisor.
    fn by_divisor(&mut self, a: &Form, b: &Form, e: &Expr) -> Result<Form> {
        let mut divisors = self.graph.positional(b).unwrap_or_default();
        divisors.sort();
        divisors.dedup();
        let (mut sum, mut hull) = (Form::default(), Interval::ZERO);
        for divisor in divisors {
            let is_divisor =
                self.compare(CompareOp::Equal, &b.plus(&-Rat::ONE, &Form::constant(divisor.clone())), e)?;
            let case = self.binary(BinaryOp::Mod, a, &Form::constant(divisor), e)?;
            hull = hull.hull(self.graph.range(&case));
            sum = sum.plus(&Rat::ONE, &self.graph.product(&is_divisor, &case, &e.span)?);
        }
        if sum.terms.len() > 1 && !self.graph.is_positional(&sum) {
            return Ok(self.graph.wire(Kind::Cases(sum), hull, true, &e.span));
        }
        Ok(sum)
    }

    fn call(&mut self, function: Function, arguments: &[Form], span: &Span) -> Result<Form> {
        match (function, arguments) {
            (Function::Max, [a, b]) => {
                let above = self.call(Function::Relu, &[a.plus(&-Rat::ONE, b)], span)?;
                Ok(b.plus(&Rat::ONE, &above))
            }
            (Function::Min, [a, b]) => {
                let above = self.call(Function::Relu, &[a.plus(&-Rat::ONE, b)], span)?;
                Ok(a.plus(&-Rat::ONE, &above))
            }
            (Function::Clamp, [e, low, high]) => {
                if let (Some(low), Some(high)) = (low.as_constant(), high.as_constant()) {
                    let bounds = vec![variable(), number(low.clone()), number(high.clone())];
                    return self.graph.apply(&expr(Node::Call(Function::Clamp, bounds)), e, span);
                }
                let raised = self.call(Function::Max, &[e.clone(), low.clone()], span)?;
                self.call(Function::Min, &[raised, high.clone()], span)
            }
            (function, [e]) => self.graph.apply(&call(function, variable()), e, span),
            _ => Err(Error::declined(format!("{} with {} arguments", function.name(), arguments.len()))),
        }
    }
}
