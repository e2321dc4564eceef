//! A body that mixes the running and the output token, as a sum of products of parts that do not: `Σ_k a_k(i) b_k(j)`.
//!
//! Products of sums are multiplied out, and `exp(a + b) = exp(a) exp(b)`.

use super::{Scope, Translator};
use crate::construct::circuit::form::Form;
use crate::error::Result;
use crate::exact::Rat;
use crate::target::expr::{BinaryOp, Expr, Function, Node, Span};
use crate::target::univariate::{call, variable};

/// A sum of products, each of a part of the output token and a part of the running token.
type Separated = Vec<(Form, Form)>;

/// True if a part depends on the running token.
pub(super) fn runs(e: &Expr) -> bool {
    match &e.node {
        Node::Token | Node::Bound(_) | Node::Running => true,
        // Its running token is its own.
        Node::Aggregate(..) => false,
        _ => e.parts().into_iter().any(runs),
    }
}

impl Translator<'_> {
    /// A body as a sum of products, where its form shows that it is one.
    pub(super) fn separate(&mut self, body: &Expr, out: &Scope, run: &Scope) -> Result<Option<Separated>> {
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

    /// A product whose factors are taken out, so that `(-x)(-x)` is the square that others have.
    fn product(&mut self, a: &Form, b: &Form, span: &Span) -> Result<Form> {
        let bare = |form: &Form| match form.single() {
            Some((wire, scale)) if form.constant.is_zero() => (Form::of(wire), scale.clone()),
            _ => (form.clone(), Rat::ONE),
        };
        let ((a, scale), (b, other)) = (bare(a), bare(b));
        Ok(self.graph.product(&a, &b, span)?.scaled(&(scale * other)))
    }

    fn products(&mut self, a: &[(Form, Form)], b: &[(Form, Form)], span: &Span) -> Result<Separated> {
        let mut products: Separated = Vec::new();
        for (p, q) in a {
            for (r, s) in b {
                let (out, run) = (self.product(p, r, span)?, self.product(q, s, span)?);
                match products.iter_mut().find(|(_, known)| *known == run) {
                    Some((known, _)) => *known = known.plus(&Rat::ONE, &out),
                    None => products.push((out, run)),
                }
            }
        }
        Ok(products)
    }
}
