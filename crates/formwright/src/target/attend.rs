//! The mean of values, weighted by the softmax of scores: what one attention head computes.
//!
//! ```text
//! attend(s, v)      is short for  sum(exp(s) * v) / sum(exp(s))
//! attend(s, v, c)   is short for  sum(exp(s) * v, c) / sum(exp(s), c)
//! ```
//!
//! The short form and the long one are the same expression. Whoever evaluates, encloses or compiles it asks
//! [`attended`], so that both are known to lie among the values, and neither overflows where its scores are large.

use super::expr::{Aggregate, BinaryOp, Expr, Function, Node};

/// The parts of `attend(score, value, filter)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attended<'e> {
    /// The score of the running token.
    pub score: &'e Expr,
    /// Its value; 1 if there is none.
    pub value: Option<&'e Expr>,
    /// The tokens that count; all if there is none.
    pub filter: Option<&'e Expr>,
}

/// The most parts of a score: it is written twice, so that scores within scores double.
pub(super) const MAX_SCORE: usize = 1 << 10;

/// `attend(score, value, filter)`, written out; none if the score is too long.
pub(super) fn written_out(score: Expr, value: Expr, filter: Option<&Expr>) -> Option<Node> {
    fn parts(e: &Expr) -> usize {
        e.parts().into_iter().map(parts).fold(1, usize::saturating_add)
    }
    if parts(&score) > MAX_SCORE {
        return None;
    }
    let span = score.span.start..value.span.end;
    let at = |node| Expr { node, span: span.clone() };
    let power = Expr { span: score.span.clone(), node: Node::Call(Function::Exp, vec![score]) };
    let weighed = at(Node::Binary(BinaryOp::Mul, Box::new(power.clone()), Box::new(value)));
    let sum = |of: Expr| at(Node::Aggregate(Aggregate::Sum, Box::new(of), filter.cloned().map(Box::new)));
    Some(Node::Binary(BinaryOp::Div, Box::new(sum(weighed)), Box::new(sum(power))))
}

/// The parts of an expression that is such a mean: a quotient of two sums, or of two means, over the same tokens.
pub(crate) fn attended(node: &Node) -> Option<Attended<'_>> {
    let Node::Binary(BinaryOp::Div, above, below) = node else { return None };
    let (Node::Aggregate(f, weighed, filter), Node::Aggregate(g, power, same)) = (&above.node, &below.node) else {
        return None;
    };
    let Node::Call(Function::Exp, score) = &power.node else { return None };
    if f != g || filter != same || !matches!(f, Aggregate::Sum | Aggregate::Mean) {
        return None;
    }
    let value = match &weighed.node {
        _ if weighed == power => None,
        Node::Binary(BinaryOp::Mul, a, b) if a == power => Some(&**b),
        Node::Binary(BinaryOp::Mul, a, b) if b == power => Some(&**a),
        _ => return None,
    };
    Some(Attended { score: score.first()?, value, filter: filter.as_deref() })
}

/// True of the very expression that `attend(…)` stands for.
pub(super) fn short(node: &Node) -> Option<(&Expr, &Expr, Option<&Expr>)> {
    let Attended { score, value: Some(value), filter } = attended(node)? else { return None };
    let Node::Binary(_, above, _) = node else { return None };
    let Node::Aggregate(Aggregate::Sum, weighed, _) = &above.node else { return None };
    let Node::Binary(_, _, last) = &weighed.node else { return None };
    std::ptr::eq(&raw const **last, value).then_some((score, value, filter))
}

#[cfg(test)]
mod tests {
    use super::super::expr::Expression;
    use super::*;

    fn body(text: &str) -> Expr {
        Expression::parse(text).expect(text).body.exprs()[0].clone()
    }

    #[test]
    fn the_short_form_is_the_long_one() {
        for (short, long) in [
            ("attend(x, x)", "sum(exp(x) * x) / sum(exp(x))"),
            ("attend(2 * x * x[i], x + 1)", "sum(exp(2 * x * x[i]) * (x + 1)) / sum(exp(2 * x * x[i]))"),
            ("attend(x, x, j <= i)", "sum(exp(x) * x, j <= i) / sum(exp(x), j <= i)"),
            ("1 - attend(x, x)^2", "1 - (sum(exp(x) * x) / sum(exp(x)))^2"),
        ] {
            assert_eq!(body(short), body(long));
            assert_eq!(body(long).to_string(), short);
        }
    }

    #[test]
    fn other_spellings_are_recognised_and_printed_as_they_are() {
        for text in ["mean(exp(x) * x) / mean(exp(x))", "sum(x * exp(x)) / sum(exp(x))", "sum(exp(x)) / sum(exp(x))"] {
            assert!(attended(&body(text).node).is_some(), "{text}");
            assert_eq!(body(text).to_string(), text);
        }
    }

    #[test]
    fn other_quotients_are_not_taken_for_one() {
        for text in [
            "sum(exp(x) * x) / mean(exp(x))",
            "sum(exp(x) * x) / sum(exp(2 * x))",
            "sum(exp(x) * x, j <= i) / sum(exp(x))",
            "sum(exp(x) * x, j <= i) / sum(exp(x), j < i)",
            "sum(exp(x) + x) / sum(exp(x))",
            "max(exp(x) * x) / max(exp(x))",
            "sum(exp(x)) / sum(exp(x) * x)",
            "sum(x * x) / sum(x)",
            "exp(x) / sum(exp(x))",
        ] {
            assert!(attended(&body(text).node).is_none(), "{text}");
        }
    }

    #[test]
    fn scores_within_scores_do_not_exhaust_the_memory() {
        let nested = |depth: usize| format!("{}x{}", "attend(".repeat(depth), ", x)".repeat(depth));
        assert!(Expression::parse(&nested(4)).is_ok());
        let error = Expression::parse(&nested(40)).expect_err("a long score");
        assert_eq!(error.headline(), "a score of more than 1024 parts");
    }
}
