//! Aggregates of what each token has by itself: a head each, or a table where positions alone decide. Sums with as many terms as a position sees have a
//! sink, and a sort is a sum of comparisons of counts.

use super::Translator;
use crate::construct::circuit::form::Form;
use crate::construct::circuit::graph::Kind;
use crate::error::Result;
use crate::exact::Rat;
use crate::interval::{Interval, Up};
use crate::network::Mask;
use crate::target::expr::{Aggregate, Expr, Function, Node, Span};
use crate::target::univariate::{call, expr, variable};

impl Translator<'_> {
    /// An aggregate of what each token has by itself.
    pub(super) fn pool(&mut self, e: &Expr, aggregate: Aggregate, of: &Form, mask: Mask) -> Result<Form> {
        let (tokens, span) = (self.graph.tokens, &e.span);
        let (normal, scale, shift) = self.graph.normalised(of);
        match aggregate {
            Aggregate::Min => Ok(self.pool(e, Aggregate::Max, &of.scaled(&-Rat::ONE), mask)?.scaled(&-Rat::ONE)),
            _ if self.graph.is_positional(of) => {
                // The sum of a constant knows the number of tokens.
                self.fixed |= of.as_constant().is_none() || aggregate == Aggregate::Sum;
                let table = self.graph.positional(of).unwrap_or_default();
                let pooled = |t: usize| {
                    let seen: Vec<&Rat> = mask.keys(t, tokens).positions().map(|j| &table[j]).collect();
                    let count = Rat::from(seen.len().max(1));
                    let sum = seen.iter().fold(Rat::ZERO, |sum, value| sum + (*value).clone());
                    match aggregate {
                        Aggregate::Sum | Aggregate::Count => sum,
                        Aggregate::Mean => sum / count,
                        Aggregate::Var => {
                            let mean = sum / count.clone();
                            let square = |value: &Rat| (value - &mean) * (value - &mean);
                            seen.iter().fold(Rat::ZERO, |sum, value| sum + square(value)) / count
                        }
                        Aggregate::Max | Aggregate::Min => seen.into_iter().max().cloned().unwrap_or_default(),
                    }
                };
                // A variance moves by as much as the numbers do, times their range.
                let slack = self.graph.slack(of);
                let slack = match aggregate {
                    Aggregate::Sum | Aggregate::Count => slack * Up::from(tokens),
                    Aggregate::Var => 4.0 * (slack * (Up::from(self.graph.range(of).width()) + slack)),
                    _ => slack,
                };
                Ok(self.graph.position((0..tokens).map(pooled).collect(), slack, span))
            }
            Aggregate::Mean => {
                let range = self.graph.range(&normal);
                let mean = self.graph.wire(Kind::Mean { of: normal, mask, scale: Rat::ONE }, range, false, span);
                Ok(Form::constant(shift).plus(&scale, &mean))
            }
            Aggregate::Sum | Aggregate::Count => self.sum(&normal, &scale, &shift, mask, span),
            Aggregate::Var => {
                let mean = self.pool(e, Aggregate::Mean, &normal, mask)?;
                let square = expr(Node::Power(Box::new(variable()), 2));
                if mask.is_all() {
                    let centred = normal.plus(&-Rat::ONE, &mean);
                    let squares = self.graph.apply(&square, &centred, span)?;
                    let variance = self.pool(e, Aggregate::Mean, &squares, mask)?;
                    // Lemma: the variance of numbers in [a, b] is at most (b - a)²/4.
                    if let Some((wire, _)) = variance.single() {
                        let width = self.graph.range(&normal).width();
                        let most = Interval::ZERO.hull(Interval::point(width).sqr() * Interval::point(0.25));
                        let wire = &mut self.graph.wires[wire];
                        wire.range = wire.range.intersect(most).unwrap_or(wire.range);
                    }
                    return Ok(variance.scaled(&(&scale * &scale)));
                }
                let squares = self.graph.apply(&square, &normal, span)?;
                let mean_square = self.pool(e, Aggregate::Mean, &squares, mask)?;
                let square_mean = self.graph.apply(&square, &mean, span)?;
                let variance = mean_square.plus(&-Rat::ONE, &square_mean);
                let width = self.graph.range(&normal).width();
                let most = Interval::ZERO.hull(Interval::point(width).sqr() * Interval::point(0.25));
                Ok(self.graph.wire(Kind::Cases(variance), most, false, span).scaled(&(&scale * &scale)))
            }
            Aggregate::Max => {
                // The sign matters: a maximum of -e is a minimum of e.
                let (of, scale) =
                    if scale.is_negative() { (normal.scaled(&-Rat::ONE), -scale) } else { (normal, scale) };
                let (range, integer) = (self.graph.range(&of), self.graph.is_integer(&of));
                let largest = self.graph.wire(Kind::Largest { of, mask }, range, integer, span);
                Ok(Form::constant(shift).plus(&scale, &largest))
            }
        }
    }

    /// `Σ (scale · normal + shift)` over the visible tokens.
    fn sum(&mut self, normal: &Form, scale: &Rat, shift: &Rat, mask: Mask, span: &Span) -> Result<Form> {
        let tokens = self.graph.tokens;
        self.fixed = true;
        let counts: Vec<usize> = (0..tokens).map(|t| mask.keys(t, tokens).range.len()).collect();
        let (range, integer) = (self.graph.range(normal), self.graph.is_integer(normal));
        let whole = |count: usize| Interval::from(&Rat::from(count));
        if counts.iter().all(|count| *count == counts[0]) && counts[0] > 0 {
            let factor = Rat::from(counts[0]);
            let kind = Kind::Mean { of: normal.clone(), mask, scale: factor.clone() };
            let sum = self.graph.wire(kind, range * whole(counts[0]), integer, span);
            return Ok(Form::constant(shift * &factor).plus(scale, &sum));
        }
        // Shifted to begin at 0, and 0 at the first token, which is the sink.
        let floor = Rat::from_f64(range.lo()).unwrap_or_default();
        let raised = normal.plus(&-Rat::ONE, &Form::constant(floor.clone()));
        let table = |f: &dyn Fn(usize) -> Rat| (0..tokens).map(f).collect::<Vec<Rat>>();
        let zero_one = |holds: bool| if holds { Rat::ONE } else { Rat::ZERO };
        let key = self.graph.position(table(&|t| zero_one(t == 0)), Up::ZERO, span);
        let rest = self.graph.position(table(&|t| zero_one(t > 0)), Up::ZERO, span);
        let without = self.graph.product(&rest, &raised, span)?;
        let others = |t: usize| counts[t] - usize::from(mask.sees(t, 0));
        let weight = |t: usize| Rat::from(tokens - others(t));
        let weights = self.graph.position(table(&weight), Up::ZERO, span);
        let query = self.graph.apply(&call(Function::Log, variable()), &weights, span)?;
        let most = (0..tokens).map(others).max().unwrap_or(0);
        let sums = (self.graph.range(&raised) * whole(most)).hull(Interval::ZERO);
        let kind = Kind::Sink { of: without, mask: Mask { first: true, ..mask }, query, key };
        let sum = self.graph.wire(kind, sums, integer, span);
        // The first token, where it is visible.
        let first_mask = Mask { absolute: (Some(0), Some(0)), ..Mask::ALL };
        let at_first = Kind::Mean { of: normal.clone(), mask: first_mask, scale: Rat::ONE };
        let sees_first = self.graph.position(table(&|t| zero_one(mask.sees(t, 0))), Up::ZERO, span);
        let first = if sees_first.as_constant().is_some_and(Rat::is_zero) {
            Form::default()
        } else {
            let first = self.graph.wire(at_first, range, integer, span);
            self.graph.product(&sees_first, &first, span)?
        };
        let floors = self.graph.position(table(&|t| &floor * &Rat::from(others(t))), Up::ZERO, span);
        let shifts = self.graph.position(table(&|t| shift * &Rat::from(counts[t])), Up::ZERO, span);
        Ok(sum.plus(&Rat::ONE, &first).plus(&Rat::ONE, &floors).scaled(scale).plus(&Rat::ONE, &shifts))
    }
}
