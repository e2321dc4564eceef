//! `x[index]`: the value at another position. Of positions it is a table; at one place, a mean that sees that place alone; else a gather.

use super::{Scope, Translator};
use crate::construct::circuit::form::Form;
use crate::construct::circuit::graph::Kind;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Up;
use crate::network::Mask;
use crate::target::expr::{Expr, Node};
use crate::target::univariate::{expr, variable};

impl Translator<'_> {
    /// `x[index]`, or the same of a bound name.
    pub(super) fn gather(&mut self, of: Form, index: &Expr, scope: &Scope) -> Result<Form> {
        let own = if scope.running { Node::Running } else { Node::Index };
        if index.node == own {
            return Ok(of);
        }
        let position = self.number(index, scope)?;
        self.gather_from(&of, &position, index, scope)
    }

    /// The value of a form at another position.
    fn gather_from(&mut self, of: &Form, position: &Form, index: &Expr, scope: &Scope) -> Result<Form> {
        let tokens = self.graph.tokens;
        let last = Rat::from(tokens - 1);
        let inside = |value: &Rat| !value.is_negative() && *value <= last;
        let mut position = position.clone();
        let outside = |at: String| {
            Error::declined(format!("an index is not shown to be among 0, …, {last}: {at}"))
                .place(&self.graph.text, &index.span, "this index")
                .note("try", "`x[clamp(e, 0, n - 1)]`, which stays inside of the sequence")
        };
        if let Some(mut table) = self.graph.positional(&position) {
            for (t, value) in table.iter_mut().enumerate() {
                if !inside(value) {
                    if scope.live[t] {
                        return Err(outside(format!("at token {t} it is {value}")));
                    }
                    *value = Rat::ZERO;
                }
            }
            position = self.graph.position(table, Up::ZERO, &index.span);
        } else {
            let range = self.graph.range(&position);
            if range.lo() < 0.0 || range.hi() > last.to_f64() {
                return Err(outside(format!("its range is {range}")));
            }
        }
        if let Some(table) = self.graph.positional(of) {
            if let Some(positions) = self.graph.positional(&position) {
                let pick = |p: &Rat| table[p.floor().to_usize().unwrap_or(0)].clone();
                let slack = self.graph.slack(of);
                return Ok(self.graph.position(positions.iter().map(pick).collect(), slack, &index.span));
            }
            if self.graph.slack(of) > 0.0 {
                return Err(self.decline("irrational numbers of positions, gathered by values", index, "this index"));
            }
            let table = expr(Node::Table(Box::new(variable()), table));
            return self.graph.apply(&table, &position, &index.span);
        }
        let (normal, scale, shift) = self.graph.normalised(of);
        let (range, integer) = (self.graph.range(&normal), self.graph.is_integer(&normal));
        let kind = if let Some(place) = position.as_constant() {
            let place = place.to_int().and_then(|place| i64::try_from(place.to_u64()?).ok()).unwrap_or(0);
            let mask = Mask { absolute: (Some(place), Some(place)), ..Mask::ALL };
            Kind::Mean { of: normal, mask, scale: Rat::ONE }
        } else {
            let place = |t: usize| Rat::from(t);
            let keys = self.graph.position((0..tokens).map(place).collect(), Up::ZERO, &index.span);
            let squares =
                self.graph.position((0..tokens).map(|t| place(t) * place(t)).collect(), Up::ZERO, &index.span);
            Kind::Gather { index: position, of: normal, keys: (keys, squares) }
        };
        let gathered = self.graph.wire(kind, range, integer, &index.span);
        Ok(Form::constant(shift).plus(&scale, &gathered))
    }
}
