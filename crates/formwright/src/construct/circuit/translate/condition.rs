//! Conditions: forms that are 0 or 1. `and` is a product, `or` what is left of it, and a comparison a step, decided at once where the range decides it.

use super::{Scope, Translator};
use crate::construct::circuit::form::Form;
use crate::error::Result;
use crate::exact::Rat;
use crate::target::expr::{CompareOp, Expr, Node};
use crate::target::univariate::{expr, number, variable};

impl Translator<'_> {
    /// A condition, as a form that is 0 or 1.
    pub(super) fn condition(&mut self, e: &Expr, scope: &Scope) -> Result<Form> {
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

    /// The condition that a difference compares so with 0.
    pub(super) fn compare(&mut self, op: CompareOp, difference: &Form, e: &Expr) -> Result<Form> {
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
}
