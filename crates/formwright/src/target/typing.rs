//! The checks before anything runs: types, arities, coordinates, places of `j`, filters, the domain.
//!
//! A value is a number or a condition. It is a vector if it mentions a whole token (`x`, `x[e]`, `sort(x)`) of more
//! than one coordinate, and then it acts on each of them; otherwise it is a scalar and goes with every coordinate. A
//! number is *known to be an integer* if it is built from `i`, `j`, `n`, integer literals, counts, floors and, on an
//! integer domain, tokens, by operations that keep integers; `==`, `!=`, `mod`, `table` and indices require that. A
//! bound name has the type of its definition.

use super::explain::is_of_the_language;
use super::expr::{Aggregate, BinaryOp, Body, Bound, CompareOp, Domain, Expr, Expression, Function, Node, Span};
use super::simplify::simplify;
use crate::error::{Error, Result};

/// The largest exponent.
const MAX_EXPONENT: u32 = 1000;

/// A target that passed the check, for tokens of a given number of coordinates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checked {
    expression: Expression,
    /// The form that enclosures are taken of.
    simplified: Expression,
    dims: usize,
}

impl Checked {
    /// The target.
    pub(crate) fn expression(&self) -> &Expression {
        &self.expression
    }

    /// True if it uses only operations that keep rational numbers rational.
    pub fn is_rational(&self) -> bool {
        use super::expr::Function::{Cos, Exp, Log, Sin, Sqrt, Tanh};
        let irrational = |node: &Node| matches!(node, Node::Call(Exp | Log | Sqrt | Tanh | Sin | Cos, _));
        !self.expression.exprs().any(|expr| expr.any(&irrational))
    }

    /// The number of coordinates of an input token.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// The number of coordinates of an output token: those in brackets, or as many as the input has.
    pub fn output_dims(&self) -> usize {
        match &self.expression.body {
            Body::Each(_) => self.dims,
            Body::Coordinates(exprs) => exprs.len(),
        }
    }

    /// The form that enclosures are taken of: the same values, better ranges.
    pub(crate) fn simplified(&self) -> &Expression {
        &self.simplified
    }

    /// For each output coordinate the expression that gives it, and the coordinate that `x` stands for in it.
    pub(crate) fn outputs<'e>(&self, form: &'e Expression) -> Vec<(&'e Expr, usize)> {
        match &form.body {
            Body::Each(expr) => (0..self.dims).map(|c| (expr, c)).collect(),
            Body::Coordinates(exprs) => exprs.iter().map(|expr| (expr, 0)).collect(),
        }
    }
}

impl Expression {
    /// Checks the target for tokens of `dims` coordinates.
    pub fn check(&self, dims: usize) -> Result<Checked> {
        if dims == 0 {
            return Err(Error::input("a token has no coordinates").note("expected", "at least 1 coordinate"));
        }
        let mut checker = Checker { text: &self.source.text, domain: &self.domain, dims, lets: Vec::new() };
        checker.domain(&self.source.domain)?;
        for binding in &self.lets {
            if is_of_the_language(&binding.name) || checker.lets.iter().any(|(name, _)| *name == &*binding.name) {
                return Err(Error::input(format!("`{}` is not free to be bound", binding.name)));
            }
            let found = checker.number(&binding.value, Scope::Token)?;
            checker.lets.push((&binding.name, found));
        }
        for expr in self.body.exprs() {
            let found = checker.number(expr, Scope::Token)?;
            if found.vector && matches!(self.body, Body::Coordinates(_)) {
                return Err(checker
                    .complain("an output coordinate is one number, and this is a whole token", expr, "a vector")
                    .note("expected", format!("a scalar; a token has {dims} coordinates"))
                    .note("try", "one of its coordinates, such as `x.0`"));
            }
        }
        Ok(Checked { expression: self.clone(), simplified: simplify(self), dims })
    }
}

/// The type of a value.
#[derive(Clone, Copy)]
struct Type {
    kind: Kind,
    vector: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Real,
    Condition,
}

impl Type {
    /// The type of a number that is an integer if all of these are, and a vector if any of these is.
    fn of(parts: &[Type]) -> Self {
        let integer = parts.iter().all(|part| part.kind == Kind::Integer);
        let kind = if integer { Kind::Integer } else { Kind::Real };
        Self { kind, vector: parts.iter().any(|part| part.vector) }
    }

    fn kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}

/// The token that `x` stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The output token.
    Token,
    /// The running token, inside an aggregate.
    Aggregate,
}

struct Checker<'e> {
    text: &'e str,
    domain: &'e Domain,
    dims: usize,
    /// The bindings so far.
    lets: Vec<(&'e str, Type)>,
}

impl Checker<'_> {
    fn complain(&self, headline: impl Into<String>, expr: &Expr, label: &str) -> Error {
        Error::input(headline).place(self.text, &expr.span, label)
    }

    fn domain(&self, span: &Span) -> Result<()> {
        let (empty, attempt) = match self.domain {
            Domain::Interval(low, high) => (low > high, "the smaller end first"),
            Domain::Integers(from, to) => (from >= to, "`0..8` for 0, …, 7: the end is not included"),
        };
        if !empty {
            return Ok(());
        }
        let error = Error::input(format!("the domain {} is empty", self.domain));
        Err(error.place(self.text, span, "no input lies here").note("try", attempt))
    }

    /// The type of an expression that must be a number.
    fn number(&self, expr: &Expr, scope: Scope) -> Result<Type> {
        let found = self.any(expr, scope)?;
        if found.kind == Kind::Condition {
            let error = self.complain("a condition stands where a number is expected", expr, "a condition");
            return Err(error.note("try", "`if c then 1 else 0`, or `count(c)`"));
        }
        Ok(found)
    }

    /// The type of an expression that must be a condition, such as the example.
    fn condition(&self, expr: &Expr, scope: Scope, example: &str) -> Result<Type> {
        let found = self.any(expr, scope)?;
        if found.kind != Kind::Condition {
            let error = self.complain("a number stands where a condition is expected", expr, "a number");
            return Err(error.note("try", format!("a comparison, such as `{example}`")));
        }
        Ok(found)
    }

    /// The type of an expression that must be known to be an integer, for the given reason.
    fn integer(&self, expr: &Expr, scope: Scope, reason: &str) -> Result<Type> {
        let found = self.number(expr, scope)?;
        if found.kind != Kind::Integer {
            let error =
                self.complain(format!("{reason}, and this is not known to be one"), expr, "may be a fraction").note(
                    "known",
                    "i, j, n, whole literals, count, floor, x on an integer domain, and + - * min max of these",
                );
            let values = matches!(self.domain, Domain::Interval(..)) && expr.depends_on_values();
            return Err(error.note("try", if values { "`on integers 0..8`, or `floor(e)`" } else { "`floor(e)`" }));
        }
        Ok(found)
    }

    fn any(&self, expr: &Expr, scope: Scope) -> Result<Type> {
        let scalar = |kind| Ok(Type { kind, vector: false });
        match &expr.node {
            Node::Number(value) => scalar(if value.is_int() { Kind::Integer } else { Kind::Real }),
            Node::Token => Ok(self.token()),
            Node::Index | Node::Length => scalar(Kind::Integer),
            Node::Running if scope == Scope::Aggregate => scalar(Kind::Integer),
            Node::Running => Err(self
                .complain("`j` stands outside of an aggregate", expr, "no running token here")
                .note("try", "`i` for the output token's index")),
            Node::Bound(bound) => self.bound(expr, bound),
            Node::Gather(index) => self.index(index, scope).map(|()| self.token()),
            Node::GatherBound(bound, index) => self.index(index, scope).and_then(|()| self.bound(expr, bound)),
            Node::Coordinate(token, k) => self.coordinate(expr, token, *k, scope),
            Node::Negate(e) => self.number(e, scope),
            Node::Power(e, k) => self.power(expr, e, *k, scope),
            Node::Binary(op, a, b) => self.binary(*op, a, b, scope),
            Node::Compare(op, a, b) => self.comparison(*op, a, b, scope),
            Node::And(a, b) | Node::Or(a, b) => {
                let (a, b) = (self.condition(a, scope, "x > 0")?, self.condition(b, scope, "x > 0")?);
                Ok(Type::of(&[a, b]).kind(Kind::Condition))
            }
            Node::Not(e) => self.condition(e, scope, "x > 0"),
            Node::If(c, a, b) => {
                let c = self.condition(c, scope, "x > 0")?;
                let branches = [self.number(a, scope)?, self.number(b, scope)?];
                let vector = c.vector || branches.iter().any(|branch| branch.vector);
                Ok(Type { vector, ..Type::of(&branches) })
            }
            Node::Call(function, arguments) => self.call(expr, *function, arguments, scope),
            Node::Aggregate(aggregate, e, filter) => self.aggregate(*aggregate, e, filter.as_deref()),
            Node::Sort(of) => self.sort(expr, of, scope),
            Node::Table(index, entries) => {
                let found = self.integer(index, scope, "`table` takes an integer")?;
                let whole = entries.iter().all(crate::exact::Rat::is_int);
                Ok(found.kind(if whole { Kind::Integer } else { Kind::Real }))
            }
        }
    }

    fn index(&self, index: &Expr, scope: Scope) -> Result<()> {
        if self.integer(index, scope, "an index is an integer")?.vector {
            return Err(self
                .complain("an index is one number, and this is a whole token", index, "a vector")
                .note("try", "one of its coordinates, such as `x.0`"));
        }
        Ok(())
    }

    /// The type of a bound name's definition. Only a target that was built by a program can lack it.
    fn bound(&self, expr: &Expr, bound: &Bound) -> Result<Type> {
        let found = self.lets.get(bound.index).filter(|(name, _)| *name == &*bound.name);
        found.map(|(_, found)| *found).ok_or_else(|| {
            self.complain(format!("unknown name `{}`", bound.name), expr, "not bound by a `let` before it")
        })
    }

    /// The type of a whole token; with one coordinate it is a scalar.
    fn token(&self) -> Type {
        let kind = if matches!(self.domain, Domain::Integers(..)) { Kind::Integer } else { Kind::Real };
        Type { kind, vector: self.dims > 1 }
    }

    fn coordinate(&self, expr: &Expr, token: &Expr, k: usize, scope: Scope) -> Result<Type> {
        let found = self.number(token, scope)?;
        match &token.node {
            Node::Bound(bound) | Node::GatherBound(bound, _) if !found.vector && self.dims > 1 => {
                let headline = format!("`{}` is one number and has no coordinates", bound.name);
                return Err(self.complain(headline, expr, "a scalar").note("try", format!("`{}` itself", bound.name)));
            }
            Node::Token | Node::Gather(_) | Node::Bound(_) | Node::GatherBound(..) => {}
            _ => return Err(self.complain("only a token has coordinates", token, "not `x` or `x[e]`")),
        }
        if k >= self.dims {
            let dims = self.dims;
            let plural = if dims == 1 { "" } else { "s" };
            let headline = format!("coordinate {k} does not exist: a token has {dims} coordinate{plural}");
            let error = self.complain(headline, expr, "no such coordinate");
            let error =
                error.note("expected", if dims == 1 { "`.0`".into() } else { format!("`.0` to `.{}`", dims - 1) });
            return Err(error.note("try", format!("tokens of {} coordinates (⟨dims={}⟩)", k + 1, k + 1)));
        }
        Ok(Type { vector: false, ..found })
    }

    fn power(&self, expr: &Expr, base: &Expr, exponent: u32, scope: Scope) -> Result<Type> {
        if exponent > MAX_EXPONENT {
            let error = self.complain(format!("exponent {exponent} is too large"), expr, "this power");
            return Err(error.note("limit", MAX_EXPONENT.to_string()));
        }
        self.number(base, scope)
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr, scope: Scope) -> Result<Type> {
        let zero = matches!(&b.node, Node::Number(value) if value.is_zero());
        if zero && matches!(op, BinaryOp::Div | BinaryOp::Mod) {
            return Err(self.complain("a division by 0", b, "this is 0"));
        }
        Ok(match op {
            BinaryOp::Mod => Type::of(&[
                self.integer(a, scope, "`mod` takes integers")?,
                self.integer(b, scope, "`mod` takes integers")?,
            ]),
            BinaryOp::Div => Type::of(&[self.number(a, scope)?, self.number(b, scope)?]).kind(Kind::Real),
            _ => Type::of(&[self.number(a, scope)?, self.number(b, scope)?]),
        })
    }

    fn comparison(&self, op: CompareOp, a: &Expr, b: &Expr, scope: Scope) -> Result<Type> {
        let operands = if matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
            let reason = format!("`{}` compares integers", op.name());
            [self.integer(a, scope, &reason)?, self.integer(b, scope, &reason)?]
        } else {
            [self.number(a, scope)?, self.number(b, scope)?]
        };
        Ok(Type::of(&operands).kind(Kind::Condition))
    }

    fn call(&self, expr: &Expr, function: Function, arguments: &[Expr], scope: Scope) -> Result<Type> {
        let (name, arity, given) = (function.name(), function.arity(), arguments.len());
        if given != arity {
            let plural = if arity == 1 { "" } else { "s" };
            let error =
                self.complain(format!("`{name}` takes {arity} argument{plural}, not {given}"), expr, "this call");
            return Err(match function {
                Function::Min | Function::Max => error.note("try", format!("`{name}({name}(a, b), c)`")),
                Function::Clamp => error.note("try", "`clamp(e, low, high)`"),
                _ => error.note("try", format!("`{name}(e)`")),
            });
        }
        let types = arguments.iter().map(|argument| self.number(argument, scope)).collect::<Result<Vec<_>>>()?;
        let found = Type::of(&types);
        Ok(match function {
            Function::Abs | Function::Relu | Function::Min | Function::Max | Function::Clamp => found,
            Function::Floor => found.kind(Kind::Integer),
            _ => found.kind(Kind::Real),
        })
    }

    fn aggregate(&self, aggregate: Aggregate, e: &Expr, filter: Option<&Expr>) -> Result<Type> {
        let found = match aggregate {
            Aggregate::Count => self.condition(e, Scope::Aggregate, "x > 0")?.kind(Kind::Integer),
            Aggregate::Sum | Aggregate::Max | Aggregate::Min => self.number(e, Scope::Aggregate)?,
            Aggregate::Mean | Aggregate::Var => self.number(e, Scope::Aggregate)?.kind(Kind::Real),
        };
        if let Some(filter) = filter {
            self.condition(filter, Scope::Aggregate, "j <= i")?;
            self.filter(filter)?;
        }
        Ok(found)
    }

    /// A filter compares `j` with `i`, with `i` plus or minus a whole number, or with a whole number; `and` joins
    /// filters.
    fn filter(&self, filter: &Expr) -> Result<()> {
        match &filter.node {
            Node::And(a, b) => self.filter(a).and_then(|()| self.filter(b)),
            Node::Compare(_, a, b) if is_running(a) && is_shifted_index(b) => Ok(()),
            Node::Compare(_, a, b) if is_running(b) && is_shifted_index(a) => Ok(()),
            _ => Err(self
                .complain("a filter can only compare positions", filter, "this filter")
                .note(
                    "expected",
                    "`j` compared with `i`, `i + c`, `i - c` or `c`, where c is a whole number; joined by `and`",
                )
                .note("try", "an `if` inside of the aggregate, as in `sum(if x > 0 then x else 0)`")),
        }
    }

    fn sort(&self, expr: &Expr, of: &Expr, scope: Scope) -> Result<Type> {
        let plain = |expr: &Expr| matches!(expr.node, Node::Token | Node::Bound(_));
        if !plain(of) && !matches!(&of.node, Node::Coordinate(token, _) if plain(token)) {
            return Err(self
                .complain("`sort` takes `x`, `x.k` or a bound name", of, "none of them")
                .note("try", format!("a name for it, `let s = {of};`, and `sort(s)`")));
        }
        if scope == Scope::Aggregate {
            let error = self.complain("`sort` stands inside of an aggregate", expr, "which token's place?");
            return Err(error.note("try", "`let b = sort(x);` at the start, and `b` here"));
        }
        self.number(of, scope)
    }
}

fn is_running(expr: &Expr) -> bool {
    matches!(expr.node, Node::Running)
}

/// `i`, `i + 2`, `i - 2`, `2`, `-2`.
fn is_shifted_index(expr: &Expr) -> bool {
    let whole = |expr: &Expr| match &expr.node {
        Node::Number(value) => value.is_int(),
        Node::Negate(e) => matches!(&e.node, Node::Number(value) if value.is_int()),
        _ => false,
    };
    match &expr.node {
        Node::Index => true,
        Node::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => matches!(a.node, Node::Index) && whole(b),
        _ => whole(expr),
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{Features, Random, target};
    use super::*;

    fn check(text: &str, dims: usize) -> Result<Checked> {
        Expression::parse(text).expect("a text that can be read").check(dims)
    }

    #[test]
    fn random_targets_pass() {
        for seed in 0..4_000 {
            let random = &mut Random::new(seed);
            let kind =
                Features { dims: 1 + random.below(3), integers: random.below(2) == 0, positions: random.below(2) == 0 };
            let target = target(random, kind);
            assert!(target.check(kind.dims).is_ok(), "seed {seed}: {target}\n{:?}", target.check(kind.dims));
        }
    }

    #[test]
    fn brackets_set_the_output_coordinates() {
        assert_eq!(check("x", 3).expect("a target").output_dims(), 3);
        assert_eq!(check("i", 3).expect("a target").output_dims(), 3);
        assert_eq!(check("[x.0, x.1 + 1]", 3).expect("a target").output_dims(), 2);
        assert_eq!(check("[x, 2 * x, i]", 1).expect("a target").output_dims(), 3);
    }

    #[test]
    fn integers_are_recognised() {
        for text in "x[i + 1] | x[n - 1 - i] | x[-1 + 2 * i] | x[count(x > 0)] | x[floor(x)] | x[min(i, 3)] | \
             x[abs(i - 2)] | x[i^2] | x[i mod 3] | x[if x > 0 then i else 0] | x[table(i; 0, 2)] | x[sum(j)] | \
             x[max(j, j < i)] | x[clamp(i, 0, 2)] | x[relu(i - 1)] | x[x] on integers 0..3 | \
             x[sort(x)] on integers 0..3 | x mod 2 on integers 0..3 | x[x[i]] on integers 0..3 | \
             count(x == x[i]) on integers 0..3 | if i == 0 then 1/2 else x | sum(x, j != i) | \
             x[max(x)] on integers 0..3"
            .split(" | ")
        {
            assert!(check(text, 1).is_ok(), "{text}: {:?}", check(text, 1));
        }
    }

    #[test]
    fn what_may_be_a_fraction_is_not_taken_for_an_integer() {
        for text in "x[x] | x[i / 2] | x[1/2] | x[0.5] | x[mean(j)] | x[var(j)] | x[sqrt(i)] | x[exp(i)] | \
             x[table(i; 0, 1/2)] | x[min(i, x)] | x[clamp(i, 0, 1/2)] | x[if i == 0 then i else x] | x[sum(x)] | \
             x[sort(x)] | x[i + x] | x[-x] | x mod 2 | i mod x | x == 1 | 1 / 2 != i | count(x == x[i]) | \
             table(x; 1) | x[x / 1] on integers 0..3 | x[mean(x)] on integers 0..3"
            .split(" | ")
        {
            let error = check(text, 1).expect_err(text);
            assert!(error.headline().contains("integer") || error.headline().contains("condition"), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_and_conditions_are_told_apart() {
        for text in "x < 1 | x + (x < 1) | -(x < 1) | not x | x and x < 1 | x < 1 or i | if x then 1 else 2 | \
             if x < 1 then x < 1 else 2 | count(x) | sum(x < 1) | exp(x < 1) | (x < 1) < 2 | x[x < 1] | \
             table(x < 1; 1) | (x < 1)^2 | sum(x, 1) | [x < 1]"
            .split(" | ")
        {
            let error = check(text, 1).expect_err(text);
            assert!(error.headline().contains("condition"), "{text}: {error}");
        }
    }

    #[test]
    fn filters_only_compare_positions() {
        for text in "j <= i | j < i + 2 | j >= i - 2 | i > j | j == i | j != 3 | j >= -1 | 3 < j | \
             j < i and j > i - 3 and j > 0"
            .split(" | ")
        {
            assert!(check(&format!("sum(x, {text})"), 1).is_ok(), "{text}");
        }
        for text in "x > 0 | j < x | j < n | j < n + 2 | j < x - 1 | j + 1 < i | j < 2 * i | j < i + n | j < i - 1/2 | \
             i < 2 | j < j | j < 0.5 | j < 2 + i | j < i or j > i | not j < i | j < i and x > 0 | j < i - (1 + 1)"
            .split(" | ")
        {
            let error = check(&format!("sum(x, {text})"), 1).expect_err(text);
            assert_eq!(error.headline(), "a filter can only compare positions", "{text}");
        }
    }

    #[test]
    fn coordinates_vectors_and_scopes_are_checked() {
        let bad = [
            "x.1 | j | x + j | sum(x) + j | sort(x + 1) | sort(x[i]) | sort(2) | sum(sort(x)) | exp(x, 2) | exp() | \
             clamp(x, 1) | min(1, 2, 3) | x^1001 | x / 0 | x / 0.0 | i mod 0 | x on [1, 0] | x on integers 2..2 | \
             x on integers 3..2",
            "x.2 | x[i].5 | sort(x.2) | [x] | [mean(x)] | [x.0, x[i]] | [sort(x)] | [count(x > 0)] | x[floor(x)] | \
             [if x > 0 then 1 else 2] | [if x.0 > 0 then 1 else x]",
        ];
        let good = [
            "x.0 | [x] | sum(j) | sum(sum(j)) | x^1000 | x on [1, 1] | x on integers 2..3 | x / (1 - 1)",
            "x.1 | [mean(x.1)] | x - x.0 | x * i | sort(x.1) | [if x.0 > 0 then 1 else x.1] | [count(x.0 > x[i].1)]",
        ];
        for (dims, (bad, good)) in (1..).zip(bad.into_iter().zip(good)) {
            for text in bad.split(" | ") {
                assert!(check(text, dims).is_err(), "{text} with {dims} coordinates");
            }
            for text in good.split(" | ") {
                assert!(check(text, dims).is_ok(), "{text} with {dims} coordinates: {:?}", check(text, dims));
            }
        }
        assert!(check("x", 0).is_err());
    }
}
