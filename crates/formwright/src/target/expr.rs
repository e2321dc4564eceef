//! The abstract syntax of the target language, which defines output token `i` of the sequence.
//!
//! `x` is the token itself; inside an aggregate it is the running token (index `j`), while `x[i]` and `i` stay the
//! output token's. Without brackets an expression acts on each coordinate; `[e0, e1, …]` sets the output coordinates.
//! `let b = e; …` binds a name to a sequence like `x`: token `t` of `b` is the value of `e` for output token `t`.

use std::ops::Range;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::exact::Rat;

/// A place in the text, in bytes.
pub(crate) type Span = Range<usize>;

/// A whole target: bindings, a body and the domain it lives on. Equality ignores the text it was read from.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Expression {
    /// `let b = e;`, each of which may use those before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lets: Vec<Binding>,
    /// The output token.
    pub body: Body,
    /// The domain of the inputs.
    pub domain: Domain,
    /// The text behind the spans, so that a later error can point into it.
    #[serde(skip)]
    pub source: Source,
}

/// The text that an expression was read from; empty for one that was built by a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    /// The whole text.
    pub text: Arc<str>,
    /// The place of the domain in it.
    pub domain: Span,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.lets == other.lets && self.body == other.body && self.domain == other.domain
    }
}

impl Expression {
    /// The definitions of the bindings and the expressions of the body, in order.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.lets.iter().map(|binding| &binding.value).chain(self.body.exprs())
    }
}

/// `let b = e;`: a sequence, computed from the input and the bindings before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Binding {
    /// `b`.
    pub name: String,
    /// Token `i` of the sequence.
    pub value: Expr,
}

/// The use of a bound name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The index of the binding in [`Expression::lets`].
    pub index: usize,
    /// Its name there, so that a part of an expression can be printed by itself.
    pub name: String,
}

/// Writes the name alone, since it is bound once.
impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

/// The output coordinates.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Body {
    /// One expression, applied to each coordinate.
    Each(Expr),
    /// One scalar expression for each output coordinate.
    Coordinates(Vec<Expr>),
}

impl Body {
    /// The expressions of the body, in order.
    pub fn exprs(&self) -> &[Expr] {
        match self {
            Self::Each(expr) => std::slice::from_ref(expr),
            Self::Coordinates(exprs) => exprs,
        }
    }
}

/// The set each input coordinate ranges over.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Domain {
    /// The interval `[a, b]`; `[0, 1]` unless the text says otherwise.
    Interval(Rat, Rat),
    /// The integers `from ≤ x < to`.
    Integers(i64, i64),
}

impl Default for Domain {
    fn default() -> Self {
        Self::Interval(Rat::ZERO, Rat::ONE)
    }
}

/// An expression and its place in the text; equality ignores the place.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    /// The kind of expression, with its parts.
    pub node: Node,
    /// The place in the text.
    pub span: Span,
}

/// The syntax alone, without its place.
impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.node.serialize(serializer)
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl Expr {
    /// The direct parts, from left to right.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.node {
            Node::Number(_) | Node::Token | Node::Bound(_) | Node::Index | Node::Running | Node::Length => vec![],
            Node::Gather(e)
            | Node::GatherBound(_, e)
            | Node::Coordinate(e, _)
            | Node::Negate(e)
            | Node::Power(e, _)
            | Node::Not(e)
            | Node::Sort(e)
            | Node::Table(e, _) => vec![e],
            Node::Binary(_, a, b) | Node::Compare(_, a, b) | Node::And(a, b) | Node::Or(a, b) => vec![a, b],
            Node::If(c, a, b) => vec![c, a, b],
            Node::Call(_, arguments) => arguments.iter().collect(),
            Node::Aggregate(_, e, filter) => std::iter::once(e).chain(filter).map(AsRef::as_ref).collect(),
        }
    }

    /// The same expression with `f` applied to its direct parts.
    pub fn map_parts(&self, f: impl Fn(&Expr) -> Expr) -> Expr {
        let boxed = |e: &Expr| Box::new(f(e));
        let node = match &self.node {
            Node::Number(_) | Node::Token | Node::Bound(_) | Node::Index | Node::Running | Node::Length => {
                self.node.clone()
            }
            Node::Gather(e) => Node::Gather(boxed(e)),
            Node::GatherBound(bound, e) => Node::GatherBound(bound.clone(), boxed(e)),
            Node::Coordinate(e, k) => Node::Coordinate(boxed(e), *k),
            Node::Negate(e) => Node::Negate(boxed(e)),
            Node::Power(e, k) => Node::Power(boxed(e), *k),
            Node::Not(e) => Node::Not(boxed(e)),
            Node::Sort(e) => Node::Sort(boxed(e)),
            Node::Table(e, entries) => Node::Table(boxed(e), entries.clone()),
            Node::Binary(op, a, b) => Node::Binary(*op, boxed(a), boxed(b)),
            Node::Compare(op, a, b) => Node::Compare(*op, boxed(a), boxed(b)),
            Node::And(a, b) => Node::And(boxed(a), boxed(b)),
            Node::Or(a, b) => Node::Or(boxed(a), boxed(b)),
            Node::If(c, a, b) => Node::If(boxed(c), boxed(a), boxed(b)),
            Node::Call(function, arguments) => Node::Call(*function, arguments.iter().map(f).collect()),
            Node::Aggregate(aggregate, e, filter) => {
                Node::Aggregate(*aggregate, boxed(e), filter.as_deref().map(boxed))
            }
        };
        Expr { node, span: self.span.clone() }
    }

    /// True if the expression or anything inside it satisfies `test`.
    pub fn any(&self, test: &impl Fn(&Node) -> bool) -> bool {
        test(&self.node) || self.parts().into_iter().any(|part| part.any(test))
    }

    /// True if the expression is a condition by its form: a comparison, or conditions joined by `and`, `or`, `not`.
    pub fn is_condition(&self) -> bool {
        matches!(self.node, Node::Compare(..) | Node::And(..) | Node::Or(..) | Node::Not(_))
    }

    /// True if the value depends on the output token: on `i`, and so on `x[i]` or `b[i]`.
    ///
    /// This is for use in an aggregate, inside which `x`, `j` and bound names belong to the running token.
    pub fn depends_on_output(&self) -> bool {
        self.any(&|node| matches!(node, Node::Index))
    }

    /// True if the value may depend on the values of the tokens, and not on their number and places alone. A bound name
    /// is assumed to.
    pub fn depends_on_values(&self) -> bool {
        self.depends_on_values_if(&|_| true)
    }

    /// As [`Expr::depends_on_values`], where `bound` answers for each bound name.
    pub(super) fn depends_on_values_if(&self, bound: &impl Fn(&Bound) -> bool) -> bool {
        self.any(&|node| match node {
            Node::Token | Node::Gather(_) => true,
            Node::Bound(name) | Node::GatherBound(name, _) => bound(name),
            _ => false,
        })
    }
}

/// The kinds of expression.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Node {
    /// A number, exact.
    Number(Rat),
    /// `x`.
    Token,
    /// `x[e]`: the token at index `e` of the input.
    Gather(Box<Expr>),
    /// `b`, a bound name: this token's value, inside an aggregate the running token's.
    Bound(Bound),
    /// `b[e]`: the value of a bound name at index `e` of the sequence.
    GatherBound(Bound, Box<Expr>),
    /// `x.k` or `x[e].k`: one coordinate of a token; `b.k` or `b[e].k` the same of a bound name.
    Coordinate(Box<Expr>, usize),
    /// `i`, the output token's index.
    Index,
    /// `j`, the running token's index inside an aggregate.
    Running,
    /// `n`, the number of tokens.
    Length,
    /// `-e`.
    Negate(Box<Expr>),
    /// `a + b` and the like.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `e ^ k`.
    Power(Box<Expr>, u32),
    /// `a < b` and the like.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `a and b`.
    And(Box<Expr>, Box<Expr>),
    /// `a or b`.
    Or(Box<Expr>, Box<Expr>),
    /// `not a`.
    Not(Box<Expr>),
    /// `if c then a else b`; only the branch that is taken is evaluated.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `exp(e)` and the like.
    Call(Function, Vec<Expr>),
    /// `sum(e)`, `mean(e, filter)` and the like.
    Aggregate(Aggregate, Box<Expr>, Option<Box<Expr>>),
    /// `sort(x)` or `sort(b)`: output token `i` gets the `i`-th smallest, coordinate by coordinate.
    Sort(Box<Expr>),
    /// `table(e; v0, v1, …)`: the entry at the integer `e`.
    Table(Box<Expr>, Vec<Rat>),
}

/// Operators between numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `mod`, on integers; the result lies in `0..|b|`.
    Mod,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CompareOp {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `==`, on integers.
    Equal,
    /// `!=`, on integers.
    NotEqual,
}

/// Functions of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Function {
    /// `exp(e)`
    Exp,
    /// `log(e)`, natural.
    Log,
    /// `sqrt(e)`
    Sqrt,
    /// `tanh(e)`
    Tanh,
    /// `sin(e)`
    Sin,
    /// `cos(e)`
    Cos,
    /// `abs(e)`
    Abs,
    /// `relu(e)`
    Relu,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
    /// `clamp(e, low, high)`
    Clamp,
    /// `floor(e)`
    Floor,
}

/// Aggregates over tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Aggregate {
    /// `sum(e)`
    Sum,
    /// `mean(e)`
    Mean,
    /// `var(e)`, the mean squared distance from the mean.
    Var,
    /// `max(e)`
    Max,
    /// `min(e)`
    Min,
    /// `count(c)`, the number of tokens for which the condition holds.
    Count,
}

/// Gives an enumeration the names its variants have in the text.
macro_rules! names {
    ($kind:ident: $($variant:ident $name:literal)*) => {
        impl $kind {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its spelling.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The variant with this spelling.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.name() == name)
            }
        }
    };
}

names! { BinaryOp: Add "+" Sub "-" Mul "*" Div "/" Mod "mod" }
names! { CompareOp: Less "<" LessEqual "<=" Greater ">" GreaterEqual ">=" Equal "==" NotEqual "!=" }
names! { Function:
    Exp "exp" Log "log" Sqrt "sqrt" Tanh "tanh" Sin "sin" Cos "cos" Abs "abs" Relu "relu" Min "min" Max "max" Clamp "clamp"
    Floor "floor"
}
names! { Aggregate: Sum "sum" Mean "mean" Var "var" Max "max" Min "min" Count "count" }

impl Function {
    /// The number of arguments.
    pub fn arity(self) -> usize {
        match self {
            Self::Min | Self::Max => 2,
            Self::Clamp => 3,
            _ => 1,
        }
    }
}

impl CompareOp {
    /// True if the comparison holds for operands in this order; none holds for operands without one.
    pub fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self {
            Self::Less => order == Some(Less),
            Self::LessEqual => matches!(order, Some(Less | Equal)),
            Self::Greater => order == Some(Greater),
            Self::GreaterEqual => matches!(order, Some(Greater | Equal)),
            Self::Equal => order == Some(Equal),
            Self::NotEqual => order != Some(Equal),
        }
    }
}
