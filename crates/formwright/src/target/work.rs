//! The work of evaluating a target, known before it is spent so that it can be limited.

use super::expr::{Expr, Expression, Node};

impl Expression {
    /// The approximate number of steps that the evaluator takes for one sequence. It keeps an aggregate that does not
    /// depend on the output token; any other runs over all tokens for each of them.
    pub(super) fn steps(&self, tokens: usize, dims: usize) -> u128 {
        let (tokens, dims) = (tokens as u128, dims as u128);
        let coordinate = self.exprs().map(|part| {
            let (each, once) = steps(part, tokens);
            once.saturating_add(each.saturating_mul(tokens))
        });
        coordinate.fold(0, u128::saturating_add).saturating_mul(dims)
    }
}

/// The steps at each token, and those of the whole sequence.
fn steps(expr: &Expr, tokens: u128) -> (u128, u128) {
    let parts = expr.parts().into_iter().map(|part| steps(part, tokens));
    let (each, once) = parts
        .fold((1, 0), |(each, once): (u128, u128), part| (each.saturating_add(part.0), once.saturating_add(part.1)));
    match &expr.node {
        Node::Aggregate(..) if expr.depends_on_output() => (each.saturating_mul(tokens), once),
        Node::Aggregate(..) | Node::Sort(_) => (1, once.saturating_add(each.saturating_mul(tokens))),
        _ => (each, once),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Expression;

    #[test]
    fn what_depends_on_the_output_token_is_counted_for_every_pair() {
        let steps = |text: &str, tokens| Expression::parse(text).expect(text).steps(tokens, 1);
        for (text, each, once, pairs) in [
            ("x", 1, 0, 0),
            ("x - mean(x)", 3, 2, 0),
            ("count(x == x[i])", 0, 0, 5),
            ("let c = count(x == x[i]); max(c)", 1, 2, 5),
        ] {
            for n in [1, 10, 1000] {
                assert_eq!(steps(text, n), (each + once) * n as u128 + pairs * (n * n) as u128, "{text}, {n}");
            }
        }
        assert_eq!(steps("x", usize::MAX), usize::MAX as u128);
    }
}
