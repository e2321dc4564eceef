//! The variance in disguise: `mean(e^2) - mean(e)^2` *is* `var(e)`.
//!
//! As a difference, its enclosure straddles 0, so that it can neither be a divisor nor have a root; as a variance it is
//! not negative and is computed in the centred form. A sum is taken apart into its signed terms; a mean of squares with
//! `+` and the square of the same mean with `-` (same running expression, same filter) become one variance. These
//! spellings are recognised,
//!
//! ```text
//! mean of squares    mean(e^2)    mean(e * e)        sum(e^2) / n    sum(e * e) / n
//! square of mean     mean(e)^2    mean(e) * mean(e)  and the same with sum(e) / n for mean(e)
//! ```
//!
//! in any order and with any other terms around them. The values are the same; the simplified form serves only for
//! enclosures.

use super::expr::{Aggregate, BinaryOp, Binding, Body, Expr, Expression, Node};

/// The same target with its variances written as such.
pub(super) fn simplify(target: &Expression) -> Expression {
    let body = match &target.body {
        Body::Each(expr) => Body::Each(simplified(expr)),
        Body::Coordinates(exprs) => Body::Coordinates(exprs.iter().map(simplified).collect()),
    };
    let lets = target.lets.iter().map(|binding| Binding { value: simplified(&binding.value), ..binding.clone() });
    Expression { lets: lets.collect(), body, ..target.clone() }
}

fn simplified(expr: &Expr) -> Expr {
    let expr = expr.map_parts(simplified);
    match expr.node {
        Node::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => with_variance(expr),
        _ => expr,
    }
}

/// A mean over tokens: the running expression and the filter.
type Mean = (Expr, Option<Expr>);

/// A sum with one pair of its terms replaced by a variance, if there is one.
fn with_variance(expr: Expr) -> Expr {
    let mut terms = Vec::new();
    collect_terms(&expr, true, &mut terms);
    let pair = terms.iter().enumerate().find_map(|(plus, (positive, term))| {
        let mean = mean_of_squares(term).filter(|_| *positive)?;
        let same = |(positive, term): &(bool, Expr)| !positive && square_of_mean(term).as_ref() == Some(&mean);
        Some((plus, terms.iter().position(same)?, mean))
    });
    let Some((plus, minus, (running, filter))) = pair else { return expr };
    let variance = Node::Aggregate(Aggregate::Var, Box::new(running), filter.map(Box::new));
    let variance = Expr { node: variance, span: expr.span.clone() };
    let rest = terms.into_iter().enumerate().filter(|(k, _)| *k != plus && *k != minus).map(|(_, term)| term);
    // The rest may hold another pair.
    with_variance(rest.fold(variance, |sum, (positive, term)| {
        let op = if positive { BinaryOp::Add } else { BinaryOp::Sub };
        Expr { node: Node::Binary(op, Box::new(sum), Box::new(term)), span: expr.span.clone() }
    }))
}

/// The signed terms of a sum.
fn collect_terms(expr: &Expr, positive: bool, terms: &mut Vec<(bool, Expr)>) {
    match &expr.node {
        Node::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            collect_terms(a, positive, terms);
            collect_terms(b, positive == (*op == BinaryOp::Add), terms);
        }
        Node::Negate(e) => collect_terms(e, !positive, terms),
        _ => terms.push((positive, expr.clone())),
    }
}

/// `e` of `e^2` or `e * e`.
fn square(expr: &Expr) -> Option<&Expr> {
    match &expr.node {
        Node::Power(e, 2) => Some(e),
        Node::Binary(BinaryOp::Mul, a, b) if a == b => Some(a),
        _ => None,
    }
}

/// `mean(e)`, or `sum(e) / n`.
fn mean(expr: &Expr) -> Option<Mean> {
    match &expr.node {
        Node::Aggregate(Aggregate::Mean, e, filter) => Some(((**e).clone(), filter.as_deref().cloned())),
        Node::Binary(BinaryOp::Div, sum, n) => match (&sum.node, &n.node) {
            (Node::Aggregate(Aggregate::Sum, e, None), Node::Length) => Some(((**e).clone(), None)),
            _ => None,
        },
        _ => None,
    }
}

fn mean_of_squares(expr: &Expr) -> Option<Mean> {
    let (running, filter) = mean(expr)?;
    Some((square(&running)?.clone(), filter))
}

fn square_of_mean(expr: &Expr) -> Option<Mean> {
    mean(square(expr)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simple(text: &str) -> String {
        simplify(&Expression::parse(text).expect(text)).to_string()
    }

    #[test]
    fn every_spelling_of_a_variance_is_one() {
        for (text, expected) in [
            ("mean(x^2) - mean(x)^2", "var(x)"),
            ("mean(x * x) - mean(x) * mean(x)", "var(x)"),
            ("sum(x^2) / n - (sum(x) / n)^2", "var(x)"),
            ("-mean(x)^2 + mean(x^2)", "var(x)"),
            ("1 + mean(x^2) + 2 - mean(x)^2", "var(x) + 1 + 2"),
            ("sqrt(mean((x - 1)^2) - mean(x - 1)^2 + 1/10)", "sqrt(var(x - 1) + 1 / 10)"),
            ("mean(x^2, j <= i) - mean(x, j <= i)^2", "var(x, j <= i)"),
            ("mean(x^2) - mean(x)^2 + (mean(x.0^2) - mean(x.0)^2)", "var(x) + var(x.0)"),
            ("max(mean(x^2) - mean(x)^2)", "max(var(x))"),
            ("let v = mean(x^2) - mean(x)^2; mean(v^2) - mean(v)^2", "let v = var(x); var(v)"),
        ] {
            assert_eq!(simple(text), Expression::parse(expected).expect(expected).to_string(), "{text}");
        }
    }

    #[test]
    fn what_is_no_variance_is_left_alone() {
        for text in [
            "mean(x)^2 - mean(x^2)",
            "mean(x^2) - mean(x)",
            "mean(x^2) + mean(x)^2",
            "mean(x^2, j <= i) - mean(x)^2",
            "mean(x^3) - mean(x)^2",
            "mean(x^2) - mean(2 * x)^2",
            "sum(x^2) / 3 - (sum(x) / 3)^2",
        ] {
            assert_eq!(simple(text), Expression::parse(text).expect(text).to_string(), "{text}");
        }
    }
}
