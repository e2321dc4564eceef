//! From an expression to a circuit.
//!
//! Inside of an aggregate `x` and `j` belong to the running token, `x[i]` and `i` to the output token. A wire is a number that *every* token
//! has, so a part that depends on one of the two only is the same wire for both. A body that mixes them must **separate**:
//!
//! ```text
//! Σ_j Σ_k a_k(i) b_k(j) = Σ_k a_k(i) · Σ_j b_k(j)            exp(a + b) = exp(a) exp(b)
//! agg_j F(a(i), j) = Σ_v 1[a(i) = v] · agg_j F(v, j)         if a(i) is one of few integers
//! ```

use super::form::Form;
use super::graph::{Graph, Kind};
use super::layout::MOST_GATES;
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::{Interval, Up};
use crate::network::{Limits, Mask};
use crate::target::Checked;
use crate::target::evaluate::positional_values;
use crate::target::expr::{Aggregate, BinaryOp, CompareOp, Domain, Expr, Function, Node, Span};
use crate::target::univariate::{binary, call, expr, number, variable};

/// Values of an output token's integer that an aggregate is told apart by, at most.
const CASES: i64 = 64;

/// What the names stand for.
#[derive(Clone)]
struct Scope {
    /// The coordinate that `x` is.
    c: usize,
    /// Whether `x` is the running token of an aggregate.
    running: bool,
    /// The positions at which the value is needed.
    live: Vec<bool>,
}

/// The circuit of a target.
pub struct Translated {
    /// The graph.
    pub graph: Graph,
    /// A form for each output coordinate.
    pub outputs: Vec<Form>,
    /// Whether positions, or the number of tokens, are part of it.
    pub fixed: bool,
}

/// Translates a target for sequences of `tokens` tokens.
pub fn translate(target: &Checked, tokens: usize) -> Result<Translated> {
    let form = target.simplified();
    let graph =
        Graph { tokens, text: target.expression().source.text.clone(), wires: Vec::new(), live: vec![true; tokens] };
    let mut translator = Translator { target, graph, lets: Vec::new(), fixed: false };
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
}

/// Whether a part depends on the running token.
fn runs(e: &Expr) -> bool {
    match &e.node {
        Node::Token | Node::Bound(_) | Node::Running => true,
        // Its running token is its own.
        Node::Aggregate(..) => false,
        _ => e.parts().into_iter().any(runs),
    }
}

/// A sum of products, each of a part of the output token and a part of the running token.
type Separated = Vec<(Form, Form)>;

impl Translator<'_> {
    fn decline(&self, headline: impl Into<String>, at: &Expr, label: &str) -> Error {
        Error::declined(headline).place(&self.graph.text, &at.span, label)
    }

    /// A number, as a form.
    fn number(&mut self, e: &Expr, scope: &Scope) -> Result<Form> {
        if self.graph.wires.len() > MOST_GATES {
            return Err(self
                .decline(format!("the circuit would have more than {MOST_GATES} gates"), e, "up to here")
                .note("try", "fewer --dims, a smaller domain of integers, or a shorter expression"));
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

    /// A condition, as a form that is 0 or 1.
    fn condition(&mut self, e: &Expr, scope: &Scope) -> Result<Form> {
        let one = Form::constant(Rat::ONE);
        match &e.node {
            Node::Compare(op, a, b) => {
                let difference = self.number(a, scope)?.plus(&-Rat::ONE, &self.number(b, scope)?);
                self.compare(*op, &difference, e)
            }
            Node::And(a, b) => {
                let (a, b) = (self.condition(a, scope)?, self.condition(b, scope)?);
                self.graph.product(&a, &b, &e.span)
            }
            Node::Or(a, b) => {
                let (a, b) = (self.condition(a, scope)?, self.condition(b, scope)?);
                let both = self.graph.product(&a, &b, &e.span)?;
                Ok(a.plus(&Rat::ONE, &b).plus(&-Rat::ONE, &both))
            }
            Node::Not(a) => Ok(one.plus(&-Rat::ONE, &self.condition(a, scope)?)),
            _ => Err(self.decline("a number is not a condition", e, "here")),
        }
    }

    /// Whether a difference compares so with 0.
    fn compare(&mut self, op: CompareOp, difference: &Form, e: &Expr) -> Result<Form> {
        let range = self.graph.range(difference);
        let decided = match op {
            CompareOp::Less if range.hi() < 0.0 => Some(true),
            CompareOp::Less if range.lo() >= 0.0 => Some(false),
            CompareOp::LessEqual if range.hi() <= 0.0 => Some(true),
            CompareOp::LessEqual if range.lo() > 0.0 => Some(false),
            CompareOp::Greater if range.lo() > 0.0 => Some(true),
            CompareOp::Greater if range.hi() <= 0.0 => Some(false),
            CompareOp::GreaterEqual if range.lo() >= 0.0 => Some(true),
            CompareOp::GreaterEqual if range.hi() < 0.0 => Some(false),
            _ => None,
        };
        if let Some(holds) = decided {
            return Ok(Form::constant(Rat::from(i64::from(holds))));
        }
        let zero = || Box::new(number(Rat::ZERO));
        let test = expr(Node::Compare(op, Box::new(variable()), zero()));
        let step = expr(Node::If(Box::new(test), Box::new(number(Rat::ONE)), zero()));
        self.graph.apply(&step, difference, &e.span)
    }

    /// `x[index]`, or the same of a bound name.
    fn gather(&mut self, of: Form, index: &Expr, scope: &Scope) -> Result<Form> {
        let own = if scope.running { Node::Running } else { Node::Index };
        if index.node == own {
            return Ok(of);
        }
        let position = self.number(index, scope)?;
        self.gather_from(&of, &position, index, scope)
    }

    /// The value of a form at another position.
    fn gather_from(&mut self, of: &Form, position: &Form, index: &Expr, scope: &Scope) -> Result<Form> {
        let tokens = self.graph.tokens;
        let last = Rat::from(tokens - 1);
        let inside = |value: &Rat| !value.is_negative() && *value <= last;
        let mut position = position.clone();
        let outside = |at: String| {
            Error::declined(format!("an index is not shown to be among 0, …, {last}: {at}"))
                .place(&self.graph.text, &index.span, "this index")
                .note("try", "`x[clamp(e, 0, n - 1)]`, which stays inside of the sequence")
        };
        if let Some(mut table) = self.graph.positional(&position) {
            for (t, value) in table.iter_mut().enumerate() {
                if !inside(value) {
                    if scope.live[t] {
                        return Err(outside(format!("at token {t} it is {value}")));
                    }
                    *value = Rat::ZERO;
                }
            }
            position = self.graph.position(table, Up::ZERO, &index.span);
        } else {
            let range = self.graph.range(&position);
            if range.lo() < 0.0 || range.hi() > last.to_f64() {
                return Err(outside(format!("its range is {range}")));
            }
        }
        if let Some(table) = self.graph.positional(of) {
            if let Some(positions) = self.graph.positional(&position) {
                let pick = |p: &Rat| table[p.floor().to_usize().unwrap_or(0)].clone();
                let slack = self.graph.slack(of);
                return Ok(self.graph.position(positions.iter().map(pick).collect(), slack, &index.span));
            }
            if self.graph.slack(of) > 0.0 {
                return Err(self.decline("irrational numbers of positions, gathered by values", index, "this index"));
            }
            let table = expr(Node::Table(Box::new(variable()), table));
            return self.graph.apply(&table, &position, &index.span);
        }
        let (normal, scale, shift) = self.graph.normalised(of);
        let (range, integer) = (self.graph.range(&normal), self.graph.is_integer(&normal));
        let kind = if let Some(place) = position.as_constant() {
            let place = place.to_int().and_then(|place| i64::try_from(place.to_u64()?).ok()).unwrap_or(0);
            let mask = Mask { absolute: (Some(place), Some(place)), ..Mask::ALL };
            Kind::Mean { of: normal, mask, scale: Rat::ONE }
        } else {
            let place = |t: usize| Rat::from(t);
            let keys = self.graph.position((0..tokens).map(place).collect(), Up::ZERO, &index.span);
            let squares =
                self.graph.position((0..tokens).map(|t| place(t) * place(t)).collect(), Up::ZERO, &index.span);
            Kind::Gather { index: position, of: normal, keys: (keys, squares) }
        };
        let gathered = self.graph.wire(kind, range, integer, &index.span);
        Ok(Form::constant(shift).plus(&scale, &gathered))
    }

    /// `sum(e, filter) / c(i)`, where `c(i)` is the number of tokens that pass, is a mean.
    fn filtered_mean(&mut self, op: BinaryOp, a: &Expr, b: &Expr, scope: &Scope) -> Option<Expr> {
        let Node::Aggregate(aggregate @ (Aggregate::Sum | Aggregate::Count), body, Some(filter)) = &a.node else {
            return None;
        };
        if op != BinaryOp::Div || b.depends_on_values() {
            return None;
        }
        let mask = self.mask(filter).ok()?;
        let divisor = self.position(b, scope).ok()?;
        let divisor = self.graph.positional(&divisor)?;
        let passes = |t: usize| Rat::from(mask.keys(t, self.graph.tokens).range.len());
        if !divisor.iter().enumerate().all(|(t, divisor)| *divisor == passes(t)) {
            return None;
        }
        let body = match aggregate {
            Aggregate::Count => Box::new(indicator(body)),
            _ => body.clone(),
        };
        let mean = Node::Aggregate(Aggregate::Mean, body, Some(filter.clone()));
        Some(Expr { node: mean, span: a.span.clone() })
    }

    fn aggregate(
        &mut self,
        e: &Expr,
        aggregate: Aggregate,
        body: &Expr,
        filter: Option<&Expr>,
        scope: &Scope,
    ) -> Result<Form> {
        let mask = filter.map_or(Ok(Mask::ALL), |filter| self.mask(filter))?;
        let tokens = self.graph.tokens;
        let blind = (0..tokens).find(|t| mask.keys(*t, tokens).range.is_empty());
        if let Some(t) = blind.filter(|_| !matches!(aggregate, Aggregate::Sum | Aggregate::Count)) {
            let place = filter.unwrap_or(e);
            return Err(self
                .decline(format!("no token passes the filter at token {t}"), place, "this filter")
                .note(
                    "reason",
                    "a head's weights always add up to 1: it must see something, also where an `if` discards it",
                )
                .note("try", "a filter that some token always passes, such as `j <= i`"));
        }
        let inside = Scope { running: true, live: vec![true; tokens], ..scope.clone() };
        let counted;
        let (aggregate, body) = match aggregate {
            Aggregate::Count => {
                counted = indicator(body);
                (Aggregate::Sum, &counted)
            }
            aggregate => (aggregate, body),
        };
        if !body.depends_on_output() {
            let of = self.branch(body, &inside)?;
            return self.pool(e, aggregate, &of, mask);
        }
        if !runs(body) && matches!(aggregate, Aggregate::Mean | Aggregate::Max | Aggregate::Min) {
            return self.number(body, scope);
        }
        if let Some(parts) = self.separate(body, scope, &inside)? {
            let ones = |form: &Form| form.as_constant().is_some();
            match aggregate {
                Aggregate::Sum | Aggregate::Mean => {
                    let mut sum = Form::default();
                    for (out, run) in parts {
                        let pooled = self.pool(e, aggregate, &run, mask)?;
                        sum = sum.plus(&Rat::ONE, &self.graph.product(&out, &pooled, &e.span)?);
                    }
                    return Ok(sum);
                }
                Aggregate::Max | Aggregate::Min | Aggregate::Var if parts.iter().all(|(a, b)| ones(a) || ones(b)) => {
                    let (mut outer, mut inner) = (Form::default(), Form::default());
                    for (out, run) in parts {
                        match (out.as_constant(), run.as_constant()) {
                            (_, Some(scale)) => outer = outer.plus(scale, &out),
                            (Some(scale), _) => inner = inner.plus(scale, &run),
                            (None, None) => {}
                        }
                    }
                    let pooled = self.pool(e, aggregate, &inner, mask)?;
                    return Ok(if aggregate == Aggregate::Var { pooled } else { outer.plus(&Rat::ONE, &pooled) });
                }
                _ => {}
            }
        }
        self.by_cases(e, aggregate, body, filter, scope)
    }

    /// The aggregate, told apart by the values of an integer of the output token.
    fn by_cases(
        &mut self,
        e: &Expr,
        aggregate: Aggregate,
        body: &Expr,
        filter: Option<&Expr>,
        scope: &Scope,
    ) -> Result<Form> {
        let mut found = None;
        for part in outer_parts(body) {
            let form = self.number(part, scope)?;
            if let Some((lo, hi)) = self.graph.integers(&form).filter(|(lo, hi)| hi - lo < CASES) {
                found = Some((part.clone(), form, lo, hi));
                break;
            }
        }
        let Some((part, form, lo, hi)) = found else {
            return Err(self
                .decline("an aggregate mixes the running and the output token and does not separate", body, "this body")
                .note("reason", "attention adds up what each token has by itself: only finite sums of products `a(i)·b(j)` can be had")
                .note("try", "an integer domain of few values; or --norm l2 (lattice constructions)"));
        };
        let mut sum = Form::default();
        let (mut hull, mut whole) = (None, true);
        for value in lo..=hi {
            let number = number(Rat::from(value));
            let fixed = replaced(body, &part, &number);
            let case = Node::Aggregate(aggregate, Box::new(fixed), filter.cloned().map(Box::new));
            let case = self.number(&Expr { node: case, span: e.span.clone() }, scope)?;
            let is_value =
                self.compare(CompareOp::Equal, &form.plus(&-Rat::ONE, &Form::constant(Rat::from(value))), e)?;
            let range = self.graph.range(&case);
            hull = Some(hull.map_or(range, |hull: Interval| hull.hull(range)));
            whole &= self.graph.is_integer(&case);
            sum = sum.plus(&Rat::ONE, &self.graph.product(&is_value, &case, &e.span)?);
        }
        match hull {
            Some(range) if sum.terms.len() > 1 && !self.graph.is_positional(&sum) => {
                Ok(self.graph.wire(Kind::Cases(sum), range, whole, &e.span))
            }
            _ => Ok(sum),
        }
    }

    /// A body as a sum of products, where its form shows that it is one.
    fn separate(&mut self, body: &Expr, out: &Scope, run: &Scope) -> Result<Option<Separated>> {
        let one = || Form::constant(Rat::ONE);
        if !runs(body) {
            return Ok(Some(vec![(self.number(body, out)?, one())]));
        }
        if !body.depends_on_output() {
            return Ok(Some(vec![(one(), self.number(body, run)?)]));
        }
        macro_rules! parts {
            ($e:expr) => {
                match self.separate($e, out, run)? {
                    Some(parts) => parts,
                    None => return Ok(None),
                }
            };
        }
        let minus = |parts: Separated| parts.into_iter().map(|(a, b)| (a.scaled(&-Rat::ONE), b)).collect::<Vec<_>>();
        Ok(match &body.node {
            Node::Negate(e) => Some(minus(parts!(e))),
            Node::Binary(BinaryOp::Add, a, b) => Some([parts!(a), parts!(b)].concat()),
            Node::Binary(BinaryOp::Sub, a, b) => Some([parts!(a), minus(parts!(b))].concat()),
            Node::Binary(BinaryOp::Mul, a, b) => {
                let (a, b) = (parts!(a), parts!(b));
                Some(self.products(&a, &b, &body.span)?)
            }
            Node::Binary(BinaryOp::Div, a, b) => {
                let (above, below) = (parts!(a), parts!(b));
                let [(p, q)] = &below[..] else { return Ok(None) };
                let one = Form::constant(Rat::ONE);
                let inverse = (self.graph.quotient(&one, p, &b.span)?, self.graph.quotient(&one, q, &b.span)?);
                Some(self.products(&above, &[inverse], &body.span)?)
            }
            Node::Power(e, k) if (1..=6).contains(k) => {
                let base = parts!(e);
                let mut power = base.clone();
                for _ in 1..*k {
                    power = self.products(&power, &base, &body.span)?;
                }
                (power.len() <= 32).then_some(power)
            }
            Node::If(c, a, b) if !runs(c) || !c.depends_on_output() => {
                let one = Form::constant(Rat::ONE);
                let condition = if runs(c) {
                    (one.clone(), self.condition(c, run)?)
                } else {
                    (self.condition(c, out)?, one.clone())
                };
                let not =
                    |form: &Form| if form.as_constant().is_some() { form.clone() } else { one.plus(&-Rat::ONE, form) };
                let otherwise =
                    if runs(c) { (one.clone(), not(&condition.1)) } else { (not(&condition.0), one.clone()) };
                if condition.0.as_constant().is_some() && condition.1.as_constant().is_some() {
                    return Ok(None);
                }
                let (a, b) = (parts!(a), parts!(b));
                let taken = self.products(&a, &[condition], &body.span)?;
                Some([taken, self.products(&b, &[otherwise], &body.span)?].concat())
            }
            Node::Call(Function::Exp, e) => {
                let (mut p, mut q) = (Form::default(), Form::default());
                for (a, b) in parts!(&e[0]) {
                    match (a.as_constant(), b.as_constant()) {
                        (_, Some(scale)) => p = p.plus(scale, &a),
                        (Some(scale), _) => q = q.plus(scale, &b),
                        (None, None) => return Ok(None),
                    }
                }
                let exp = call(Function::Exp, variable());
                Some(vec![(self.graph.apply(&exp, &p, &body.span)?, self.graph.apply(&exp, &q, &body.span)?)])
            }
            _ => None,
        })
    }

    fn products(&mut self, a: &[(Form, Form)], b: &[(Form, Form)], span: &Span) -> Result<Separated> {
        let mut products: Separated = Vec::new();
        for (p, q) in a {
            for (r, s) in b {
                let (out, run) = (self.graph.product(p, r, span)?, self.graph.product(q, s, span)?);
                match products.iter_mut().find(|(_, known)| *known == run) {
                    Some((known, _)) => *known = known.plus(&Rat::ONE, &out),
                    None => products.push((out, run)),
                }
            }
        }
        Ok(products)
    }

    /// An aggregate of what each token has by itself.
    fn pool(&mut self, e: &Expr, aggregate: Aggregate, of: &Form, mask: Mask) -> Result<Form> {
        let (tokens, span) = (self.graph.tokens, &e.span);
        let (normal, scale, shift) = self.graph.normalised(of);
        match aggregate {
            Aggregate::Min => Ok(self.pool(e, Aggregate::Max, &of.scaled(&-Rat::ONE), mask)?.scaled(&-Rat::ONE)),
            _ if self.graph.is_positional(of) => {
                // The sum of a constant knows the number of tokens.
                self.fixed |= of.as_constant().is_none() || aggregate == Aggregate::Sum;
                let table = self.graph.positional(of).unwrap_or_default();
                let pooled = |t: usize| {
                    let seen: Vec<&Rat> = mask.keys(t, tokens).positions().map(|j| &table[j]).collect();
                    let count = Rat::from(seen.len().max(1));
                    let sum = seen.iter().fold(Rat::ZERO, |sum, value| sum + (*value).clone());
                    match aggregate {
                        Aggregate::Sum | Aggregate::Count => sum,
                        Aggregate::Mean => sum / count,
                        Aggregate::Var => {
                            let mean = sum / count.clone();
                            let square = |value: &Rat| (value - &mean) * (value - &mean);
                            seen.iter().fold(Rat::ZERO, |sum, value| sum + square(value)) / count
                        }
                        Aggregate::Max | Aggregate::Min => seen.into_iter().max().cloned().unwrap_or_default(),
                    }
                };
                // A variance moves by as much as the numbers do, times their range.
                let slack = self.graph.slack(of);
                let slack = match aggregate {
                    Aggregate::Sum | Aggregate::Count => slack * Up::from(tokens),
                    Aggregate::Var => 4.0 * (slack * (Up::from(self.graph.range(of).width()) + slack)),
                    _ => slack,
                };
                Ok(self.graph.position((0..tokens).map(pooled).collect(), slack, span))
            }
            Aggregate::Mean => {
                let range = self.graph.range(&normal);
                let mean = self.graph.wire(Kind::Mean { of: normal, mask, scale: Rat::ONE }, range, false, span);
                Ok(Form::constant(shift).plus(&scale, &mean))
            }
            Aggregate::Sum | Aggregate::Count => self.sum(&normal, &scale, &shift, mask, span),
            Aggregate::Var => {
                let mean = self.pool(e, Aggregate::Mean, &normal, mask)?;
                let square = expr(Node::Power(Box::new(variable()), 2));
                if mask.is_all() {
                    let centred = normal.plus(&-Rat::ONE, &mean);
                    let squares = self.graph.apply(&square, &centred, span)?;
                    let variance = self.pool(e, Aggregate::Mean, &squares, mask)?;
                    // Lemma: the variance of numbers in [a, b] is at most (b - a)²/4.
                    if let Some((wire, _)) = variance.single() {
                        let width = self.graph.range(&normal).width();
                        let most = Interval::ZERO.hull(Interval::point(width).sqr() * Interval::point(0.25));
                        let wire = &mut self.graph.wires[wire];
                        wire.range = wire.range.intersect(most).unwrap_or(wire.range);
                    }
                    return Ok(variance.scaled(&(&scale * &scale)));
                }
                let squares = self.graph.apply(&square, &normal, span)?;
                let mean_square = self.pool(e, Aggregate::Mean, &squares, mask)?;
                let square_mean = self.graph.apply(&square, &mean, span)?;
                let variance = mean_square.plus(&-Rat::ONE, &square_mean);
                let width = self.graph.range(&normal).width();
                let most = Interval::ZERO.hull(Interval::point(width).sqr() * Interval::point(0.25));
                Ok(self.graph.wire(Kind::Cases(variance), most, false, span).scaled(&(&scale * &scale)))
            }
            Aggregate::Max => {
                // The sign matters: a maximum of -e is a minimum of e.
                let (of, scale) =
                    if scale.is_negative() { (normal.scaled(&-Rat::ONE), -scale) } else { (normal, scale) };
                let (range, integer) = (self.graph.range(&of), self.graph.is_integer(&of));
                let largest = self.graph.wire(Kind::Largest { of, mask }, range, integer, span);
                Ok(Form::constant(shift).plus(&scale, &largest))
            }
        }
    }

    /// `Σ (scale · normal + shift)` over the visible tokens.
    fn sum(&mut self, normal: &Form, scale: &Rat, shift: &Rat, mask: Mask, span: &Span) -> Result<Form> {
        let tokens = self.graph.tokens;
        self.fixed = true;
        let counts: Vec<usize> = (0..tokens).map(|t| mask.keys(t, tokens).range.len()).collect();
        let (range, integer) = (self.graph.range(normal), self.graph.is_integer(normal));
        let whole = |count: usize| Interval::from(&Rat::from(count));
        if counts.iter().all(|count| *count == counts[0]) && counts[0] > 0 {
            let factor = Rat::from(counts[0]);
            let kind = Kind::Mean { of: normal.clone(), mask, scale: factor.clone() };
            let sum = self.graph.wire(kind, range * whole(counts[0]), integer, span);
            return Ok(Form::constant(shift * &factor).plus(scale, &sum));
        }
        // Shifted to begin at 0, and 0 at the first token, which is the sink.
        let floor = Rat::from_f64(range.lo()).unwrap_or_default();
        let raised = normal.plus(&-Rat::ONE, &Form::constant(floor.clone()));
        let table = |f: &dyn Fn(usize) -> Rat| (0..tokens).map(f).collect::<Vec<Rat>>();
        let zero_one = |holds: bool| if holds { Rat::ONE } else { Rat::ZERO };
        let key = self.graph.position(table(&|t| zero_one(t == 0)), Up::ZERO, span);
        let rest = self.graph.position(table(&|t| zero_one(t > 0)), Up::ZERO, span);
        let without = self.graph.product(&rest, &raised, span)?;
        let others = |t: usize| counts[t] - usize::from(mask.sees(t, 0));
        let weight = |t: usize| Rat::from(tokens - others(t));
        let weights = self.graph.position(table(&weight), Up::ZERO, span);
        let query = self.graph.apply(&call(Function::Log, variable()), &weights, span)?;
        let most = (0..tokens).map(others).max().unwrap_or(0);
        let sums = (self.graph.range(&raised) * whole(most)).hull(Interval::ZERO);
        let kind = Kind::Sink { of: without, mask: Mask { first: true, ..mask }, query, key };
        let sum = self.graph.wire(kind, sums, integer, span);
        // The first token, where it is visible.
        let first_mask = Mask { absolute: (Some(0), Some(0)), ..Mask::ALL };
        let at_first = Kind::Mean { of: normal.clone(), mask: first_mask, scale: Rat::ONE };
        let sees_first = self.graph.position(table(&|t| zero_one(mask.sees(t, 0))), Up::ZERO, span);
        let first = if sees_first.as_constant().is_some_and(Rat::is_zero) {
            Form::default()
        } else {
            let first = self.graph.wire(at_first, range, integer, span);
            self.graph.product(&sees_first, &first, span)?
        };
        let floors = self.graph.position(table(&|t| &floor * &Rat::from(others(t))), Up::ZERO, span);
        let shifts = self.graph.position(table(&|t| shift * &Rat::from(counts[t])), Up::ZERO, span);
        Ok(sum.plus(&Rat::ONE, &first).plus(&Rat::ONE, &floors).scaled(scale).plus(&Rat::ONE, &shifts))
    }

    /// `sort(x)` on integers: `lo + Σ_k 1[#{x ≤ k} ≤ i]`.
    fn sort(&mut self, e: &Expr, of: &Expr, scope: &Scope) -> Result<Form> {
        let of = self.number(of, scope)?;
        let Some((lo, hi)) = self.graph.integers(&of) else {
            return Err(self
                .decline("sorting real numbers is not a circuit of moderate size", e, "this sort")
                .note("try", "`on integers 0..8`; or --norm l2 (lattice constructions)"));
        };
        let index = self.position(&expr(Node::Index), &Scope { running: false, ..scope.clone() })?;
        let mut sorted = Form::constant(Rat::from(lo));
        for k in lo..hi {
            let below = self.compare(CompareOp::LessEqual, &of.plus(&-Rat::ONE, &Form::constant(Rat::from(k))), e)?;
            let count = self.pool(e, Aggregate::Sum, &below, Mask::ALL)?;
            let passed = self.compare(CompareOp::LessEqual, &count.plus(&-Rat::ONE, &index), e)?;
            sorted = sorted.plus(&Rat::ONE, &passed);
        }
        Ok(sorted)
    }

    /// The mask of a filter: an interval of positions.
    fn mask(&self, filter: &Expr) -> Result<Mask> {
        match &filter.node {
            Node::And(a, b) => {
                let (a, b) = (self.mask(a)?, self.mask(b)?);
                let within = |a: Limits, b: Limits| {
                    let most = |a: Option<i64>, b: Option<i64>| a.map_or(b, |a| Some(b.map_or(a, |b| a.max(b))));
                    let least = |a: Option<i64>, b: Option<i64>| a.map_or(b, |a| Some(b.map_or(a, |b| a.min(b))));
                    (most(a.0, b.0), least(a.1, b.1))
                };
                Ok(Mask {
                    relative: within(a.relative, b.relative),
                    absolute: within(a.absolute, b.absolute),
                    first: false,
                })
            }
            Node::Compare(op, a, b) => {
                let (op, other) = if matches!(a.node, Node::Running) { (*op, b) } else { (mirrored(*op), a) };
                let (relative, place) = shifted(other).ok_or_else(|| {
                    self.decline("a filter compares positions with something unknown", filter, "this filter")
                })?;
                let limits = match op {
                    CompareOp::Less => (None, Some(place - 1)),
                    CompareOp::LessEqual => (None, Some(place)),
                    CompareOp::Greater => (Some(place + 1), None),
                    CompareOp::GreaterEqual => (Some(place), None),
                    CompareOp::Equal => (Some(place), Some(place)),
                    CompareOp::NotEqual => {
                        return Err(self
                            .decline("a filter with `!=` is not an interval of positions", filter, "this filter")
                            .note("try", "the whole aggregate minus the one token: `sum(x) - x`"));
                    }
                };
                Ok(if relative {
                    Mask { relative: limits, ..Mask::ALL }
                } else {
                    Mask { absolute: limits, ..Mask::ALL }
                })
            }
            _ => Err(self.decline("a filter can only compare positions", filter, "this filter")),
        }
    }
}

/// `if condition then 1 else 0`
fn indicator(condition: &Expr) -> Expr {
    let (one, zero) = (number(Rat::ONE), number(Rat::ZERO));
    let node = Node::If(Box::new(condition.clone()), Box::new(one), Box::new(zero));
    Expr { node, span: condition.span.clone() }
}

/// The largest parts that depend on the output token and not on the running one.
fn outer_parts(e: &Expr) -> Vec<&Expr> {
    if e.is_condition() || runs(e) {
        e.parts().into_iter().flat_map(outer_parts).collect()
    } else if e.depends_on_output() {
        vec![e]
    } else {
        vec![]
    }
}

/// `e` with every occurrence of a part replaced.
fn replaced(e: &Expr, part: &Expr, by: &Expr) -> Expr {
    match &e.node {
        _ if e == part => by.clone(),
        // A coordinate of the part is another number.
        Node::Coordinate(token, _) if **token == *part => e.clone(),
        _ => e.map_parts(|inner| replaced(inner, part, by)),
    }
}

fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessEqual => CompareOp::GreaterEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterEqual => CompareOp::LessEqual,
        op => op,
    }
}

/// `i + c` or `c`: whether it is relative to `i`, and `c`.
fn shifted(e: &Expr) -> Option<(bool, i64)> {
    let whole = |e: &Expr| -> Option<i64> {
        let integer = |value: &Rat| {
            let size =
                value.to_int().map(|value: Int| value.abs()).and_then(|value| i64::try_from(value.to_u64()?).ok());
            size.map(|size| if value.is_negative() { -size } else { size })
        };
        match &e.node {
            Node::Number(value) => integer(value),
            Node::Negate(e) => match &e.node {
                Node::Number(value) => integer(value).map(|value| -value),
                _ => None,
            },
            _ => None,
        }
    };
    match &e.node {
        Node::Index => Some((true, 0)),
        Node::Binary(BinaryOp::Add, a, b) if a.node == Node::Index => Some((true, whole(b)?)),
        Node::Binary(BinaryOp::Sub, a, b) if a.node == Node::Index => Some((true, -whole(b)?)),
        _ => Some((false, whole(e)?)),
    }
}
