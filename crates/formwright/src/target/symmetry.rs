//! Equivariance and continuity, as far as the syntax alone proves them.
//!
//! **Equivariance.** If the text has no `i`, no `j`, no `sort`, no gather other than `x[i]` and no filter, then every
//! part is a function of the token (or of the running token) and of the multiset of all tokens: a permutation of the
//! input permutes the output. Otherwise nothing is concluded. A bound name is a sequence that is permuted with the
//! input if its definition has none of these, and then it counts as more coordinates of the tokens.
//!
//! **Continuity.** On an integer domain every function is continuous. On an interval, a composition of continuous parts
//! is continuous; not continuous by form are a comparison of values (in `if` or `count`) and `floor`, `mod` and `table`
//! of values. The same operations on positions alone are a choice between functions, made once, and harmless. The
//! target must also be defined everywhere: either it has a range ([`super::range`]), or the ranges and signs of the
//! parts show that no denominator has a zero, `log` a positive argument, `sqrt` one that is not negative, that indices
//! name a token or an entry, and that filters let a token pass.

use super::attend::attended;
use super::expr::{Aggregate, BinaryOp, Domain, Expr, Function, Node};
use super::number::Number;
use super::range::{Bounds, Ranges};
use super::typing::Checked;
use crate::error::Error;
use crate::exact::Rat;

/// A property of the target, as far as its syntax shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Proof {
    /// It holds, for this reason.
    Proved(&'static str),
    /// It is not shown, because of this part. It may hold all the same.
    NotShown(Error),
}

impl Proof {
    /// True if the property holds for certain.
    pub fn is_proved(&self) -> bool {
        matches!(self, Self::Proved(_))
    }
}

impl Checked {
    /// Proves that permuting the input tokens permutes the output tokens, or says why not.
    pub(crate) fn equivariance(&self) -> Proof {
        let found = self.expression().exprs().find_map(positional);
        match found {
            None => Proof::Proved("neither `i`, `j`, `sort`, a filter, nor a gather other than `x[i]` occurs"),
            Some((part, what)) => self.not_shown("equivariance is not shown by the syntax", part, what),
        }
    }

    /// Proves that the target is continuous on its domain, for sequences of `tokens` tokens, or says why not.
    pub(crate) fn continuity(&self, tokens: usize) -> Proof {
        if matches!(self.expression().domain, Domain::Integers(..)) {
            return Proof::Proved("every function on an integer domain is continuous");
        }
        let defined = self.range_exact(tokens).is_ok();
        let x = self.box_of(tokens);
        let mut search = Search::new(self, &x, defined);
        match self.expression().exprs().find_map(|expr| search.jump(expr, false)) {
            None => Proof::Proved("a composition of continuous parts, each of them defined everywhere"),
            Some((part, what)) => self.not_shown("continuity is not shown by the syntax", part, what),
        }
    }

    fn not_shown(&self, headline: &str, part: &Expr, what: &str) -> Proof {
        Proof::NotShown(Error::declined(headline).place(&self.expression().source.text, &part.span, what))
    }
}

/// A part of an expression, and the problem with it.
type Finding<'e> = (&'e Expr, &'static str);

/// The first part that depends on positions.
fn positional(expr: &Expr) -> Option<Finding<'_>> {
    match &expr.node {
        Node::Index => Some((expr, "the output token's index")),
        Node::Running => Some((expr, "the running token's index")),
        Node::Sort(_) => Some((expr, "the order of positions")),
        Node::Gather(index) | Node::GatherBound(_, index) if matches!(index.node, Node::Index) => None,
        Node::Gather(_) | Node::GatherBound(..) => Some((expr, "a token at a given position")),
        Node::Aggregate(_, e, Some(filter)) => positional(e).or(Some((filter, "a filter of positions"))),
        _ => expr.parts().into_iter().find_map(positional),
    }
}

/// The search for parts that may not be continuous.
struct Search<'e> {
    ranges: Ranges<'e, Bounds>,
    tokens: usize,
    /// True if the range of the target shows that it is defined everywhere.
    defined: bool,
    /// For each binding, true if it depends on the values of the tokens.
    varying: Vec<bool>,
    /// The signs of the bindings where they may matter.
    signs: Vec<Sign>,
}

impl<'e> Search<'e> {
    fn new(target: &'e Checked, x: &'e [Vec<Bounds>], defined: bool) -> Self {
        let ranges = target.ranges(x);
        let mut search = Self { ranges, tokens: x.len(), defined, varying: Vec::new(), signs: Vec::new() };
        for binding in &target.expression().lets {
            let varying = search.varies(&binding.value);
            search.varying.push(varying);
            let sign = if defined { Sign::Unknown } else { search.sign(&binding.value, false) };
            search.signs.push(sign);
        }
        search
    }

    fn varies(&self, expr: &Expr) -> bool {
        expr.depends_on_values_if(&|bound| self.varying[bound.index])
    }

    /// The reason why this part itself may jump, if there is one.
    fn jumps<'p>(&self, expr: &'p Expr) -> Option<Finding<'p>> {
        let what = match &expr.node {
            Node::Compare(..) => "a comparison of values",
            Node::Table(..) => "a table of values",
            Node::Call(Function::Floor, _) => "a floor of values",
            Node::Binary(BinaryOp::Mod, ..) => "a remainder of values",
            _ => return None,
        };
        self.varies(expr).then_some((expr, what))
    }

    /// The first part that may jump or be undefined, `inside` an aggregate or not. A bound name behaves as its
    /// definition, which is searched by itself.
    fn jump<'p>(&mut self, expr: &'p Expr, inside: bool) -> Option<Finding<'p>> {
        let within = inside || matches!(expr.node, Node::Aggregate(..));
        let in_parts = expr.parts().into_iter().find_map(|part| self.jump(part, within));
        let found = in_parts.or_else(|| self.jumps(expr));
        if found.is_some() || self.defined { found } else { self.undefined(expr, inside) }
    }

    /// The reason why this part itself may have no value, if there is one.
    fn undefined<'p>(&mut self, expr: &'p Expr, inside: bool) -> Option<Finding<'p>> {
        match &expr.node {
            // The sum of powers is positive as soon as it has a term.
            node if let Some(pooled) = attended(node) => {
                let filter = pooled.filter.filter(|filter| !self.passes(filter))?;
                Some((filter, "not shown to let a token pass"))
            }
            Node::Binary(BinaryOp::Div | BinaryOp::Mod, _, b) if !self.nonzero(b, inside) => {
                Some((b, "not shown to differ from 0"))
            }
            Node::Call(Function::Log, e) if self.sign(&e[0], inside) < Sign::Positive => {
                Some((&e[0], "not shown to be positive"))
            }
            Node::Call(Function::Sqrt, e) if self.sign(&e[0], inside) < Sign::NotNegative => {
                Some((&e[0], "not shown to be at least 0"))
            }
            Node::Gather(index) | Node::GatherBound(_, index) if !self.names_one_of(self.tokens, index, inside) => {
                Some((index, "not shown to lie in the sequence"))
            }
            Node::Table(index, entries) if !self.names_one_of(entries.len(), index, inside) => {
                Some((index, "not shown to lie in the table"))
            }
            Node::Aggregate(aggregate, _, Some(filter)) => {
                let of_none = matches!(aggregate, Aggregate::Sum | Aggregate::Count);
                (!of_none && !self.passes(filter)).then_some((filter, "not shown to let a token pass"))
            }
            _ => None,
        }
    }

    /// True if the index is one of `0..size`.
    fn names_one_of(&mut self, size: usize, index: &Expr, inside: bool) -> bool {
        self.ranges.of(index, inside).is_ok_and(|range| range.positions(size).is_ok())
    }

    /// True if some running token passes the filter, for every output token.
    fn passes(&mut self, filter: &Expr) -> bool {
        let number = Expr { node: Node::Aggregate(Aggregate::Count, Box::new(filter.clone()), None), span: 0..0 };
        self.sign(&number, false) == Sign::Positive
    }

    fn nonzero(&mut self, expr: &Expr, inside: bool) -> bool {
        let range = self.ranges.of(expr, inside);
        range.is_ok_and(|range| range.high.is_negative()) || self.sign(expr, inside) == Sign::Positive
    }

    /// The sign, as far as it is known from the signs of the parts, or else from the range.
    fn sign(&mut self, expr: &Expr, inside: bool) -> Sign {
        let mut of = |e: &Expr| self.sign(e, inside);
        let by_parts = match &expr.node {
            Node::Bound(bound) | Node::GatherBound(bound, _) => self.signs[bound.index],
            Node::Coordinate(token, _) => of(token),
            Node::Call(Function::Exp, _) => Sign::Positive,
            Node::Call(Function::Sqrt, e) => of(&e[0]).max(Sign::NotNegative),
            Node::Call(Function::Abs | Function::Relu, _) | Node::Aggregate(Aggregate::Var | Aggregate::Count, ..) => {
                Sign::NotNegative
            }
            Node::Power(_, exponent) if exponent.is_multiple_of(2) => Sign::NotNegative,
            Node::Aggregate(Aggregate::Sum, e, Some(_)) => self.sign(e, true).min(Sign::NotNegative),
            Node::Aggregate(_, e, _) => self.sign(e, true),
            Node::Binary(BinaryOp::Add, a, b) => match (of(a), of(b)) {
                (Sign::Unknown, _) | (_, Sign::Unknown) => Sign::Unknown,
                (a, b) => a.max(b),
            },
            Node::Binary(BinaryOp::Mul, a, b) => of(a).min(of(b)),
            Node::Binary(BinaryOp::Div, a, b) if of(b) == Sign::Positive => of(a),
            _ => Sign::Unknown,
        };
        if by_parts == Sign::Positive {
            return by_parts;
        }
        match self.ranges.of(expr, inside) {
            Ok(range) if range.low > Rat::ZERO => Sign::Positive,
            Ok(range) if range.low == Rat::ZERO => Sign::NotNegative,
            _ => by_parts,
        }
    }
}

/// The knowledge of a sign; each variant after the first tells more than the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    Unknown,
    NotNegative,
    Positive,
}

#[cfg(test)]
mod tests {
    use super::super::expr::Expression;
    use super::super::random::{Features, Random, input, target};
    use super::*;

    fn checked(text: &str) -> Checked {
        Expression::parse(text).and_then(|target| target.check(1)).expect(text)
    }

    #[test]
    fn targets_without_positions_are_equivariant() {
        for text in "x | x[i] | x - mean(x) | (x - mean(x)) / sqrt(var(x) + 1/10) | exp(x) / sum(exp(x)) | n * x | \
             max(x) - min(x) | count(x < x[i]) | count(x == x[i]) on integers 0..10 | sum(x * x[i]) | \
             if x > mean(x) then 1 else 0 | table(x; 1, 2) on integers 0..2 | \
             let b = x - mean(x); b / sqrt(var(b) + 1/10) | let r = count(x < x[i]); count(r == r[i])"
            .split(" | ")
        {
            assert!(checked(text).equivariance().is_proved(), "{text}");
        }
    }

    #[test]
    fn positions_leave_equivariance_open() {
        for (text, part, what) in [
            ("x + i", "i", "the output token's index"),
            ("sum(x * j)", "j", "the running token's index"),
            ("sort(x) on integers 0..8", "sort(x)", "the order of positions"),
            ("x[n-1-i]", "x[n-1-i]", "a token at a given position"),
            ("x[0]", "x[0]", "a token at a given position"),
            ("x + sum(x[j])", "x[j]", "a token at a given position"),
            ("sum(x, j <= i)", "j <= i", "a filter of positions"),
            ("sum(x, j < 9)", "j < 9", "a filter of positions"),
            ("if i == 0 then x else x", "i", "the output token's index"),
            ("let b = x + i; mean(b)", "i", "the output token's index"),
            ("let b = x; sort(b)", "sort(b)", "the order of positions"),
            ("let b = x; b[0]", "b[0]", "a token at a given position"),
            ("let b = x; sum(b, j < 2)", "j < 2", "a filter of positions"),
        ] {
            let Proof::NotShown(error) = checked(text).equivariance() else {
                panic!("{text} is not equivariant by form")
            };
            let underline = format!("{} {what}", "^".repeat(part.len()));
            assert!(error.notes()[0].1.ends_with(&underline), "{text}: {error}");
        }
    }

    #[test]
    fn proved_equivariance_is_equivariance() {
        let mut proved = 0;
        for seed in 0..4_000 {
            let random = &mut Random::new(seed);
            let kind =
                Features { dims: 1 + random.below(2), integers: random.below(2) == 0, positions: random.below(4) == 0 };
            let target = target(random, kind).check(kind.dims).expect("a checked target");
            if !target.equivariance().is_proved() {
                continue;
            }
            let x = input(random, 4, kind);
            let swap = |tokens: &[Vec<Rat>]| [3, 1, 0, 2].map(|t: usize| tokens[t].clone()).to_vec();
            match (target.evaluate_exact(&x), target.evaluate_exact(&swap(&x))) {
                (Ok(y), Ok(swapped)) => assert_eq!(swap(&y), swapped, "seed {seed}: {}", target.expression()),
                (Err(_), Err(_)) => continue,
                (y, swapped) => panic!("{}: {y:?} {swapped:?}", target.expression()),
            }
            proved += 1;
        }
        assert!(proved > 1_000, "only {proved} targets");
    }

    #[test]
    fn compositions_of_continuous_parts_are_continuous() {
        for text in "x - mean(x) | (x - mean(x)) / sqrt(var(x) + 1/10) | exp(x) / sum(exp(x)) | x[n-1-i] | \
             sum(x, j <= i) | sort(x) | max(x) - min(x, j <= i) | abs(x) + relu(x) + clamp(x, 0, 1/2) | \
             if i == 0 then x else x[i-1] | x / n | x / (x + 1) | 1 / (x - 2) | if i == 0 then x else x / i | \
             x * count(j < i) | x * table(i; 1, 2, 3, 4) | x * floor(i / 2) | log(x + 1) | log(exp(x)) | sqrt(x) | \
             sqrt(sum((x - x[i])^2)) | tanh(sin(x)) + cos(x) | x / (1 + exp(-x)) | mean(x / (1 + exp(x[i]))) | \
             count(x == x[i]) on integers 0..4 | 1 / (sqrt(x) + 1) | exp(x[n-1-i]) | exp(mean(x, j <= i)) | exp(sum(x, j < i)) | \
             exp(x) * table(i; 1, 2, 3, 4) | exp(x) * (n mod (i + 1)) | exp(x) / (exp(x) * exp(mean(x))) | \
             let b = exp(x); b / sum(b) | let p = i mod 2; if p == 0 then exp(x) else x[p] | let b = exp(x); sort(b) | \
             let b = exp(x); let c = b * b; let d = c / b[0]; log(d + c[i])"
            .split(" | ")
        {
            assert!(checked(text).continuity(4).is_proved(), "{text}: {:?}", checked(text).continuity(4));
        }
    }

    #[test]
    fn what_may_jump_leaves_continuity_open() {
        for (text, what) in [
            ("if x < 1/2 then 0 else 1", "a comparison of values"),
            ("if i == 0 or x < 1/2 then 0 else 1", "a comparison of values"),
            ("count(x > x[i])", "a comparison of values"),
            ("sum(if x > 0 then 1 else 0)", "a comparison of values"),
            ("floor(x)", "a floor of values"),
            ("let b = floor(x); 1", "a floor of values"),
            ("let b = mean(x); if b < 1/2 then 0 else 1", "a comparison of values"),
            ("let b = sin(x); 1 / b", "not shown to differ from 0"),
            ("let b = exp(x); b[i + 1]", "not shown to lie in the sequence"),
            ("x[floor(x)]", "a floor of values"),
            ("floor(3 * x) mod 2", "a floor of values"),
            ("1 / x", "not shown to differ from 0"),
            ("mean(1 / x)", "not shown to differ from 0"),
            ("1 / (x - mean(x))", "not shown to differ from 0"),
            ("1 / sin(x)", "not shown to differ from 0"),
            ("1 / (exp(x) + 5 * sin(x))", "not shown to differ from 0"),
            ("x / i", "not shown to differ from 0"),
            ("1 / sum(exp(x), j < i)", "not shown to differ from 0"),
            ("exp(x) / i", "not shown to differ from 0"),
            ("exp(x) * (1 mod i)", "not shown to differ from 0"),
            ("exp(x[i+1])", "not shown to lie in the sequence"),
            ("exp(x) * table(i; 1, 2)", "not shown to lie in the table"),
            ("exp(mean(x, j < i))", "not shown to let a token pass"),
            ("exp(max(x, j > 3))", "not shown to let a token pass"),
            ("log(x)", "not shown to be positive"),
            ("log(sqrt(x))", "not shown to be positive"),
            ("sqrt(x - 1/2)", "not shown to be at least 0"),
            ("sqrt(sin(x))", "not shown to be at least 0"),
        ] {
            let Proof::NotShown(error) = checked(text).continuity(4) else {
                panic!("{text} is not continuous by form")
            };
            assert!(error.notes()[0].1.ends_with(what), "{text}: {error}");
        }
    }
}
