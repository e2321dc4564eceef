//! From syntax to text, with as few parentheses as the grammar of [`super::parse`] allows.
//!
//! Reading the text back gives the same syntax, provided that a text can say every [`Node::Number`]: it is not
//! negative, and a decimal. Other numbers print as an expression of the same value, `-2` or `1/3`.

use std::fmt::{self, Display, Formatter};

use super::attend::short;
use super::expr::{BinaryOp, Body, Domain, Expr, Expression, Node};
use crate::exact::{Int, Rat};

/// The strength with which an expression holds together: the levels of the grammar, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// `if`, which reaches as far to the right as it can.
    If,
    Or,
    And,
    Not,
    Compare,
    Sum,
    Product,
    Minus,
    Power,
    Atom,
}

impl Level {
    fn of(node: &Node) -> Self {
        match node {
            Node::If(..) => Self::If,
            Node::Or(..) => Self::Or,
            Node::And(..) => Self::And,
            Node::Not(_) => Self::Not,
            Node::Compare(..) => Self::Compare,
            Node::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => Self::Sum,
            node if short(node).is_some() => Self::Atom,
            Node::Binary(..) => Self::Product,
            Node::Negate(_) => Self::Minus,
            Node::Power(..) => Self::Power,
            Node::Number(value) if literal(&value.abs()).is_none() => Self::Product,
            Node::Number(value) if value.is_negative() => Self::Minus,
            _ => Self::Atom,
        }
    }

    /// The next tighter level, which the other side of an operator of this level must have.
    fn tighter(self) -> Self {
        match self {
            Self::If => Self::Or,
            Self::Or => Self::And,
            Self::And => Self::Not,
            Self::Not => Self::Compare,
            Self::Compare => Self::Sum,
            Self::Sum => Self::Product,
            Self::Product => Self::Minus,
            Self::Minus => Self::Power,
            Self::Power | Self::Atom => Self::Atom,
        }
    }
}

/// An expression that must hold together at least as tightly as the level.
struct AtLeast<'e>(Level, &'e Expr);

impl Display for AtLeast<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if Level::of(&self.1.node) < self.0 { write!(f, "({})", self.1) } else { self.1.fmt(f) }
    }
}

/// Values with commas between them.
struct List<'e, T>(&'e [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{item}")?;
        }
        Ok(())
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let level = Level::of(&self.node);
        let tighter = level.tighter();
        if let Some((score, value, filter)) = short(&self.node) {
            let filter = filter.map_or_else(String::new, |filter| format!(", {filter}"));
            return write!(f, "attend({score}, {value}{filter})");
        }
        match &self.node {
            Node::Number(value) => Constant(value).fmt(f),
            Node::Token => f.write_str("x"),
            Node::Gather(index) => write!(f, "x[{index}]"),
            Node::Bound(bound) => f.write_str(&bound.name),
            Node::GatherBound(bound, index) => write!(f, "{}[{index}]", bound.name),
            Node::Coordinate(token, k) => write!(f, "{token}.{k}"),
            Node::Index => f.write_str("i"),
            Node::Running => f.write_str("j"),
            Node::Length => f.write_str("n"),
            Node::Negate(e) => write!(f, "-{}", AtLeast(level, e)),
            Node::Not(e) => write!(f, "not {}", AtLeast(level, e)),
            Node::Power(e, k) => write!(f, "{}^{k}", AtLeast(tighter, e)),
            Node::Binary(BinaryOp::Div, a, b) if is_literal(a) && is_literal(b) => write!(f, "{a}/{b}"),
            Node::Binary(op, a, b) => write!(f, "{} {} {}", AtLeast(level, a), op.name(), AtLeast(tighter, b)),
            Node::Compare(op, a, b) => write!(f, "{} {} {}", AtLeast(tighter, a), op.name(), AtLeast(tighter, b)),
            Node::And(a, b) => write!(f, "{} and {}", AtLeast(level, a), AtLeast(tighter, b)),
            Node::Or(a, b) => write!(f, "{} or {}", AtLeast(level, a), AtLeast(tighter, b)),
            Node::If(c, a, b) => write!(f, "if {c} then {a} else {b}"),
            Node::Call(function, arguments) => write!(f, "{}({})", function.name(), List(arguments)),
            Node::Aggregate(aggregate, e, None) => write!(f, "{}({e})", aggregate.name()),
            Node::Aggregate(aggregate, e, Some(filter)) => write!(f, "{}({e}, {filter})", aggregate.name()),
            Node::Sort(e) => write!(f, "sort({e})"),
            Node::Table(e, entries) => {
                let entries: Vec<Constant<'_>> = entries.iter().map(Constant).collect();
                write!(f, "table({e}; {})", List(&entries))
            }
        }
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for binding in &self.lets {
            write!(f, "let {} = {}; ", binding.name, binding.value)?;
        }
        match &self.body {
            Body::Each(expr) => expr.fmt(f)?,
            Body::Coordinates(exprs) => write!(f, "[{}]", List(exprs))?,
        }
        if self.domain == Domain::default() { Ok(()) } else { write!(f, " on {}", self.domain) }
    }
}

impl Display for Domain {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interval(low, high) => write!(f, "[{}, {}]", Constant(low), Constant(high)),
            Self::Integers(from, to) => write!(f, "integers {from}..{to}"),
        }
    }
}

/// A number as text: a decimal where there is one, a fraction otherwise.
struct Constant<'e>(&'e Rat);

impl Display for Constant<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sign = if self.0.is_negative() { "-" } else { "" };
        match literal(&self.0.abs()) {
            Some(decimal) => write!(f, "{sign}{decimal}"),
            None => self.0.fmt(f),
        }
    }
}

/// True if the expression is one token; `2/3`, made of two such, is written as one number.
fn is_literal(expr: &Expr) -> bool {
    matches!(&expr.node, Node::Number(value) if !value.is_negative() && literal(value).is_some())
}

/// The longest number that is written or read, in characters, and the largest exponent of ten.
pub(super) const MAX_NUMBER: usize = 300;
/// Longer runs of zeros than this become an exponent.
const MAX_ZEROS: usize = 9;

/// A nonnegative number as the text of one token, `0.125` or `5e-30`, if it has one of acceptable length.
pub(super) fn literal(value: &Rat) -> Option<String> {
    let mut rest = value.denominator();
    let mut places = 0;
    for prime in [2, 5].map(Int::from) {
        let mut count = 0;
        while &rest % &prime == Int::ZERO {
            (rest, count) = (rest.div_rem(&prime).0, count + 1);
        }
        places = places.max(count);
    }
    if rest != Int::ONE || places > 2 * MAX_NUMBER {
        return None;
    }
    let digits = (value * Rat::from(Int::from(10).pow(places))).numerator().to_string();
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let (text, exponent) = if places == 0 && zeros > MAX_ZEROS {
        (format!("{}e{zeros}", &digits[..digits.len() - zeros]), zeros)
    } else if places > digits.len() + MAX_ZEROS {
        (format!("{digits}e-{places}"), places)
    } else {
        let padded = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = padded.split_at(padded.len() - places);
        (if places == 0 { whole.to_string() } else { format!("{whole}.{fraction}") }, 0)
    };
    (text.len() <= MAX_NUMBER && exponent <= MAX_NUMBER).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::super::random::{Features, Random, any_target, expr, target};
    use super::*;

    fn reread(text: &str) -> Option<Expression> {
        Expression::parse(text).ok()
    }

    #[test]
    fn reading_what_was_printed_gives_the_same_syntax() {
        for seed in 0..20_000 {
            let random = &mut Random::new(seed);
            let domain = match random.below(3) {
                0 => Domain::default(),
                1 => Domain::Integers(-5, 10),
                _ => Domain::Interval(Rat::new(-1, 3), Rat::new(5, 2)),
            };
            let printed = any_target(random, domain);
            assert_eq!(reread(&printed.to_string()), Some(printed.clone()), "seed {seed}: {printed}");
        }
    }

    #[test]
    fn no_parentheses_can_be_left_out() {
        let kind = Features { dims: 2, integers: true, positions: true };
        let mut pairs = 0;
        for seed in 0..8_000 {
            let text = target(&mut Random::new(seed), kind).to_string();
            for (open, close) in parentheses(&text) {
                let mut without = text.clone();
                without.replace_range(close..=close, " ");
                without.replace_range(open..=open, " ");
                assert_ne!(reread(&without), reread(&text), "seed {seed}: {text} and {without}");
                pairs += 1;
            }
        }
        assert!(pairs > 1_000, "only {pairs} pairs were tried");
    }

    /// The parentheses that belong to no call and hold no `if`: those that are there for the reader's sake.
    fn parentheses(text: &str) -> Vec<(usize, usize)> {
        let mut open = Vec::new();
        let mut pairs = Vec::new();
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'(' => open.push(at),
                b')' => pairs.push((open.pop().expect("an open one"), at)),
                _ => {}
            }
        }
        let call = |at: usize| text[..at].ends_with(|before: char| before.is_ascii_alphabetic());
        pairs.retain(|(open, _)| !call(*open) && !text[open + 1..].starts_with("if"));
        pairs
    }

    #[test]
    fn numbers_are_printed_the_way_they_are_read() {
        for (value, text) in [
            ("0", "0"),
            ("0.10", "0.1"),
            ("12.5", "12.5"),
            ("1000000000", "1000000000"),
            ("10000000000", "1e10"),
            ("1e-9", "0.000000001"),
            ("3e-30", "3e-30"),
        ] {
            assert_eq!(literal(&value.parse().expect("a number")).as_deref(), Some(text));
        }
        assert_eq!(literal(&Rat::new(1, 3)), None);
        assert_eq!(literal(&Rat::new(1, Int::from(2).pow(2000))), None);
    }

    #[test]
    fn numbers_that_no_token_can_say_print_as_expressions_of_the_same_value() {
        for (value, printed) in
            [(Rat::new(-2, 1), "(-2)^3"), (Rat::new(1, 3), "(1/3)^3"), (Rat::new(-1, 3), "(-1/3)^3")]
        {
            let power = Node::Power(Box::new(expr(Node::Number(value))), 3);
            assert_eq!(expr(power).to_string(), printed);
        }
    }

    #[test]
    fn the_printed_form_is_the_usual_one() {
        for text in [
            "x - mean(x)",
            "(x - mean(x)) / sqrt(var(x) + 1/10)",
            "-x^2 + (-x)^2 - (x + 1)^2",
            "a - (b - c)".replace('a', "x").replace('b', "i").replace('c', "n").as_str(),
            "[x.0 * mean(x.1), max(x.0) - x[i].1] on [-1, 2.5]",
            "if i == 0 or not (x < 1/2 and x > 1/4) then table(i; 1, -1/3) else x[n - 1 - i] on integers 0..8",
            "2 * (x mod 3) mod 2 on integers -3..8",
            "max(x, j <= i and j >= i - 2) + max(x, 1/2)",
            "let b = sum(2 * x - 1, j <= i); let c2 = b[0].0 - b; if min(b) < 0 then c2 else b.0 on integers 0..2",
        ] {
            assert_eq!(reread(text).expect("a target").to_string(), text);
        }
    }
}
