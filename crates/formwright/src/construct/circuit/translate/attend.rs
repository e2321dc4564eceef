//! A mean weighted by a softmax is one head, if scores and values separate:
//!
//! ```text
//! s = Σ_k q_k(i) k_k(j),  v = Σ_k a_k(i) b_k(j)        attend(s, v) = Σ_k a_k(i) · attend(s, b_k)
//! ```
//!
//! What a score has of the output token alone, constants of keys among it, changes no weight. A head has as many rows as
//! there are products left: keys that are the same up to a factor are one, and so are queries.

use super::{Scope, Translator};
use crate::construct::circuit::form::Form;
use crate::construct::circuit::graph::Kind;
use crate::error::Result;
use crate::exact::Rat;
use crate::network::Mask;
use crate::target::attend::Attended;
use crate::target::expr::{Aggregate, Expr};
use crate::target::univariate::number;

/// A score: products of a query and a key, and what changes no weight.
#[derive(Clone)]
struct Score {
    rows: Vec<(Form, Form)>,
    rest: Form,
}

impl Translator<'_> {
    /// The mean as a head; nothing if its scores or values do not separate, or heads have no scores.
    pub(super) fn attended(&mut self, e: &Expr, pooled: Attended<'_>, scope: &Scope) -> Result<Option<Form>> {
        if !self.scored {
            return Ok(None);
        }
        let mask = pooled.filter.map_or(Ok(Mask::ALL), |filter| self.mask(filter))?;
        self.sees(pooled.filter.unwrap_or(e), mask)?;
        let one = Expr { node: number(Rat::ONE).node, span: e.span.clone() };
        let inside = self.running(scope);
        let Some(score) = self.separate(pooled.score, scope, &inside)? else { return Ok(None) };
        let Some(value) = self.separate(pooled.value.unwrap_or(&one), scope, &inside)? else { return Ok(None) };
        let score = Score::of(score);
        let mut sum = Form::default();
        for (factor, of) in value {
            let mean = self.weigh(e, of, mask, &score)?;
            sum = sum.plus(&Rat::ONE, &self.graph.product(&factor, &mean, &e.span)?);
        }
        Ok(Some(sum))
    }

    /// The mean of a form by these scores.
    fn weigh(&mut self, e: &Expr, of: Form, mask: Mask, score: &Score) -> Result<Form> {
        if of.as_constant().is_some() {
            return Ok(of);
        }
        if score.rows.is_empty() {
            return self.pool(e, Aggregate::Mean, &of, mask);
        }
        let range = self.graph.range(&of);
        let Score { rows, rest } = score.clone();
        Ok(self.graph.wire(Kind::Attend { of, mask, rows, rest }, range, false, &e.span))
    }
}

impl Score {
    /// As few products as their forms show.
    fn of(score: Vec<(Form, Form)>) -> Self {
        let (mut by_key, mut rest): (Vec<(Form, Form)>, _) = (Vec::new(), Form::default());
        for (query, key) in score {
            let (normal, scale, shift) = key.normalised();
            rest = rest.plus(&shift, &query);
            let query = query.scaled(&scale);
            match by_key.iter_mut().find(|(_, known)| *known == normal) {
                Some((sum, _)) => *sum = sum.plus(&Rat::ONE, &query),
                None => by_key.push((query, normal)),
            }
        }
        let mut rows: Vec<(Form, Form)> = Vec::new();
        let none = Form::default();
        for (query, key) in by_key.into_iter().filter(|(query, key)| *query != none && *key != none) {
            match rows.iter_mut().find_map(|(known, keys)| Some((ratio(&query, known)?, keys))) {
                Some((scale, keys)) => *keys = keys.plus(&scale, &key),
                None => rows.push(match query.as_constant() {
                    Some(scale) => (Form::constant(Rat::ONE), key.scaled(scale)),
                    None => (query, key),
                }),
            }
        }
        rows.retain(|(_, key)| *key != none);
        Self { rows, rest }
    }
}

/// The number that a form is another one times, if it is.
fn ratio(form: &Form, other: &Form) -> Option<Rat> {
    let scale = match other.terms.first_key_value() {
        Some((wire, factor)) => form.terms.get(wire)? / factor,
        None => form.as_constant()? / other.as_constant()?,
    };
    (*form == other.scaled(&scale)).then_some(scale)
}
