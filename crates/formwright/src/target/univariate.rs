//! Functions of one number, written as expressions of `x`: evaluated, enclosed, and enclosed with their curvature.

use super::evaluate::{At, Evaluator};
use super::expr::{BinaryOp, Expr, Function, Node};
use super::number::Number;
use super::slope::Slope;
use crate::error::Result;
use crate::exact::Rat;
use crate::interval::Interval;
use crate::interval::dual::{Dual, Order};

/// An expression without a place in a text.
pub(crate) fn expr(node: Node) -> Expr {
    Expr { node, span: 0..0 }
}

/// The variable.
pub(crate) fn variable() -> Expr {
    expr(Node::Token)
}

/// A number.
pub(crate) fn number(value: Rat) -> Expr {
    expr(Node::Number(value))
}

/// `a ∘ b`
pub(crate) fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    expr(Node::Binary(op, Box::new(a), Box::new(b)))
}

/// `function(a)`
pub(crate) fn call(function: Function, a: Expr) -> Expr {
    expr(Node::Call(function, vec![a]))
}

/// `scale · e + shift`, written as briefly as possible.
pub(crate) fn affine(scale: &Rat, e: Expr, shift: &Rat) -> Expr {
    let scaled = match scale {
        scale if *scale == Rat::ONE => e,
        scale if *scale == -Rat::ONE => expr(Node::Negate(Box::new(e))),
        scale => binary(BinaryOp::Mul, number(scale.clone()), e),
    };
    if shift.is_zero() {
        scaled
    } else if shift.is_negative() {
        binary(BinaryOp::Sub, scaled, number(-shift.clone()))
    } else {
        binary(BinaryOp::Add, scaled, number(shift.clone()))
    }
}

/// `outer` with its variable replaced by `inner`.
pub(crate) fn compose(outer: &Expr, inner: &Expr) -> Expr {
    if matches!(outer.node, Node::Token) { inner.clone() } else { outer.map_parts(|part| compose(part, inner)) }
}

fn at<T: Number>(function: &Expr, x: T) -> Result<T> {
    let x = [vec![x]];
    Evaluator::bare("", &x).number(function, At { i: 0, j: None, c: 0 })
}

/// A function in double precision, prepared for many evaluations; NaN where there is no value.
#[derive(Clone, Debug)]
pub(crate) enum Fast {
    /// The variable.
    Variable,
    /// A number.
    Number(f64),
    /// `a ∘ b`
    Binary(BinaryOp, Box<Self>, Box<Self>),
    /// `a^k`
    Power(Box<Self>, i32),
    /// A function of one number.
    Call(fn(f64) -> f64, Box<Self>),
    /// Anything else.
    Slow(Expr),
}

impl Fast {
    /// Prepares a function.
    pub(crate) fn new(function: &Expr) -> Self {
        let part = |e: &Expr| Box::new(Self::new(e));
        let slow = || Self::Slow(function.clone());
        match &function.node {
            Node::Token => Self::Variable,
            Node::Number(value) => Self::Number(value.to_f64()),
            Node::Negate(e) => Self::Binary(BinaryOp::Sub, Box::new(Self::Number(0.0)), part(e)),
            Node::Binary(op, a, b) if *op != BinaryOp::Mod => Self::Binary(*op, part(a), part(b)),
            Node::Power(e, k) => i32::try_from(*k).map_or_else(|_| slow(), |k| Self::Power(part(e), k)),
            Node::Call(function, e) => match function {
                Function::Exp => Self::Call(f64::exp, part(&e[0])),
                Function::Log => Self::Call(f64::ln, part(&e[0])),
                Function::Sqrt => Self::Call(f64::sqrt, part(&e[0])),
                Function::Tanh => Self::Call(f64::tanh, part(&e[0])),
                Function::Sin => Self::Call(f64::sin, part(&e[0])),
                Function::Cos => Self::Call(f64::cos, part(&e[0])),
                Function::Abs => Self::Call(f64::abs, part(&e[0])),
                _ => slow(),
            },
            _ => slow(),
        }
    }

    /// The value.
    pub(crate) fn at(&self, x: f64) -> f64 {
        match self {
            Self::Variable => x,
            Self::Number(value) => *value,
            Self::Binary(op, a, b) => {
                let (a, b) = (a.at(x), b.at(x));
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div => a / b,
                    BinaryOp::Mod => f64::NAN,
                }
            }
            Self::Power(a, k) => a.at(x).powi(*k),
            Self::Call(function, a) => function(a.at(x)),
            Self::Slow(function) => at(function, x).unwrap_or(f64::NAN),
        }
    }
}

/// The exact value, where it is rational.
pub(crate) fn exact(function: &Expr, x: &Rat) -> Result<Rat> {
    at(function, x.clone())
}

/// An enclosure of the values on an interval.
pub(crate) fn enclose(function: &Expr, x: Interval) -> Result<Interval> {
    at(function, x)
}

/// An enclosure of the values on an interval, and of the second derivative, unless there may be a kink.
pub(crate) fn curvature(function: &Expr, x: Interval) -> Result<(Interval, Option<Interval>)> {
    let slope = at(function, Slope::Varying(Dual::variable(x, 0, 1, Order::Second)))?;
    let dual = slope.dual(1, Order::Second);
    Ok((dual.value(), dual.second(0, 0)))
}
