//! Functions of one number, written as expressions of `x`: evaluated, enclosed, and enclosed with their curvature.

use super::evaluate::{At, Evaluator};
use super::expr::{BinaryOp, Expr, Function, Node};
use super::number::Number;
use super::slope::Slope;
use crate::error::Result;
use crate::exact::Rat;
use crate::interval::Interval;
use crate::interval::dual::{Dual, Order};

/// An expression without a place.
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

/// The value in double precision; NaN where there is none.
pub(crate) fn value(function: &Expr, x: f64) -> f64 {
    at(function, x).unwrap_or(f64::NAN)
}

/// The value, exactly, where it is rational.
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
