//! Aggregates whose body may mix the running and the output token: pooled as they are, separated, or told apart by cases.
//!
//! ```text
//! Σ_j Σ_k a_k(i) b_k(j) = Σ_k a_k(i) · Σ_j b_k(j)
//! agg_j F(a(i), j) = Σ_v 1[a(i) = v] · agg_j F(v, j)         if a(i) is one of few integers
//! ```

use super::separate::runs;
use super::{Scope, Translator};
use crate::construct::circuit::form::Form;
use crate::construct::circuit::graph::Kind;
use crate::error::Result;
use crate::exact::Rat;
use crate::interval::Interval;
use crate::network::Mask;
use crate::target::expr::{Aggregate, BinaryOp, CompareOp, Expr, Node};
use crate::target::univariate::number;

/// Values of an output token's integer that an aggregate is told apart by, at most.
const CASES: i64 = 64;

impl Translator<'_> {
    /// `sum(e, filter) / c(i)`, where `c(i)` is the number of tokens that pass, is a mean.
    pub(super) fn filtered_mean(&mut self, op: BinaryOp, a: &Expr, b: &Expr, scope: &Scope) -> Option<Expr> {
        let Node::Aggregate(aggregate @ (Aggregate::Sum | Aggregate::Count), body, Some(filter)) = &a.node else {
            return None;
        };
        if op != BinaryOp::Div || b.depends_on_values() {
            return None;
        }
        let mask = self.mask(filter).ok()?;
        let divisor = self.position(b, scope).ok()?;
        let divisor = self.graph.positional(&divisor)?;
        let passes = |t: usize| Rat::from(mask.keys(t, self.graph.tokens).range.len());
        if !divisor.iter().enumerate().all(|(t, divisor)| *divisor == passes(t)) {
            return None;
        }
        let body = match aggregate {
            Aggregate::Count => Box::new(indicator(body)),
            _ => body.clone(),
        };
        let mean = Node::Aggregate(Aggregate::Mean, body, Some(filter.clone()));
        Some(Expr { node: mean, span: a.span.clone() })
    }

    /// Declines a filter that some token does not pass at all.
    pub(super) fn sees(&self, filter: &Expr, mask: Mask) -> Result<()> {
        let tokens = self.graph.tokens;
        let Some(t) = (0..tokens).find(|t| mask.keys(*t, tokens).range.is_empty()) else { return Ok(()) };
        Err(self
            .decline(format!("no token passes the filter at token {t}"), filter, "this filter")
            .note(
                "reason",
                "a head's weights always add up to 1: it must see something, also where an `if` discards it",
            )
            .note("try", "a filter that some token always passes, such as `j <= i`"))
    }

    /// The expressions that names stand for inside of an aggregate.
    pub(super) fn running(&self, scope: &Scope) -> Scope {
        Scope { running: true, live: vec![true; self.graph.tokens], ..scope.clone() }
    }

    pub(super) fn aggregate(
        &mut self,
        e: &Expr,
        aggregate: Aggregate,
        body: &Expr,
        filter: Option<&Expr>,
        scope: &Scope,
    ) -> Result<Form> {
        let mask = filter.map_or(Ok(Mask::ALL), |filter| self.mask(filter))?;
        if !matches!(aggregate, Aggregate::Sum | Aggregate::Count) {
            self.sees(filter.unwrap_or(e), mask)?;
        }
        let inside = self.running(scope);
        let counted;
        let (aggregate, body) = match aggregate {
            Aggregate::Count => {
                counted = indicator(body);
                (Aggregate::Sum, &counted)
            }
            aggregate => (aggregate, body),
        };
        if !body.depends_on_output() {
            let of = self.branch(body, &inside)?;
            return self.pool(e, aggregate, &of, mask);
        }
        if !runs(body) && matches!(aggregate, Aggregate::Mean | Aggregate::Max | Aggregate::Min) {
            return self.number(body, scope);
        }
        if let Some(parts) = self.separate(body, scope, &inside)? {
            let ones = |form: &Form| form.as_constant().is_some();
            match aggregate {
                Aggregate::Sum | Aggregate::Mean => {
                    let mut sum = Form::default();
                    for (out, run) in parts {
                        let pooled = self.pool(e, aggregate, &run, mask)?;
                        sum = sum.plus(&Rat::ONE, &self.graph.product(&out, &pooled, &e.span)?);
                    }
                    return Ok(sum);
                }
                Aggregate::Max | Aggregate::Min | Aggregate::Var if parts.iter().all(|(a, b)| ones(a) || ones(b)) => {
                    let (mut outer, mut inner) = (Form::default(), Form::default());
                    for (out, run) in parts {
                        match (out.as_constant(), run.as_constant()) {
                            (_, Some(scale)) => outer = outer.plus(scale, &out),
                            (Some(scale), _) => inner = inner.plus(scale, &run),
                            (None, None) => {}
                        }
                    }
                    let pooled = self.pool(e, aggregate, &inner, mask)?;
                    return Ok(if aggregate == Aggregate::Var { pooled } else { outer.plus(&Rat::ONE, &pooled) });
                }
                _ => {}
            }
        }
        self.by_cases(e, aggregate, body, filter, scope)
    }

    /// The aggregate, told apart by the values of an integer of the output token.
    fn by_cases(
        &mut self,
        e: &Expr,
        aggregate: Aggregate,
        body: &Expr,
        filter: Option<&Expr>,
        scope: &Scope,
    ) -> Result<Form> {
        let mut found = None;
        for part in outer_parts(body) {
            let form = self.number(part, scope)?;
            if let Some((lo, hi)) = self.graph.integers(&form).filter(|(lo, hi)| hi - lo < CASES) {
                found = Some((part.clone(), form, lo, hi));
                break;
            }
        }
        let Some((part, form, lo, hi)) = found else {
            return Err(self
                .decline("an aggregate mixes the running and the output token and does not separate", body, "this body")
                .note("reason", "attention adds up what each token has by itself: only finite sums of products `a(i)·b(j)` can be had")
                .note("try", "an integer domain of few values; or ⟨norm=l2⟩ (lattice constructions)"));
        };
        let mut sum = Form::default();
        let (mut hull, mut whole) = (None, true);
        for value in lo..=hi {
            let number = number(Rat::from(value));
            let fixed = replaced(body, &part, &number);
            let case = Node::Aggregate(aggregate, Box::new(fixed), filter.cloned().map(Box::new));
            let case = self.number(&Expr { node: case, span: e.span.clone() }, scope)?;
            let is_value =
                self.compare(CompareOp::Equal, &form.plus(&-Rat::ONE, &Form::constant(Rat::from(value))), e)?;
            let range = self.graph.range(&case);
            hull = Some(hull.map_or(range, |hull: Interval| hull.hull(range)));
            whole &= self.graph.is_integer(&case);
            sum = sum.plus(&Rat::ONE, &self.graph.product(&is_value, &case, &e.span)?);
        }
        match hull {
            Some(range) if sum.terms.len() > 1 && !self.graph.is_positional(&sum) => {
                Ok(self.graph.wire(Kind::Cases(sum), range, whole, &e.span))
            }
            _ => Ok(sum),
        }
    }
}

/// `if condition then 1 else 0`
fn indicator(condition: &Expr) -> Expr {
    let (one, zero) = (number(Rat::ONE), number(Rat::ZERO));
    let node = Node::If(Box::new(condition.clone()), Box::new(one), Box::new(zero));
    Expr { node, span: condition.span.clone() }
}

/// The largest parts that depend on the output token and not on the running one.
fn outer_parts(e: &Expr) -> Vec<&Expr> {
    if e.is_condition() || runs(e) {
        e.parts().into_iter().flat_map(outer_parts).collect()
    } else if e.depends_on_output() {
        vec![e]
    } else {
        vec![]
    }
}

/// `e` with every occurrence of a part replaced.
fn replaced(e: &Expr, part: &Expr, by: &Expr) -> Expr {
    match &e.node {
        _ if e == part => by.clone(),
        // A coordinate of the part is another number.
        Node::Coordinate(token, _) if **token == *part => e.clone(),
        _ => e.map_parts(|inner| replaced(inner, part, by)),
    }
}
