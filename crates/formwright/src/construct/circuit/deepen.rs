//! Depth instead of width: squares and products by sawtooth gates (Yarotsky).
//!
//! With `g(t) = 2R(t) - 4R(t - ½)` and `s = (u + r)/2r ∈ [0, 1]` for `|u| ≤ r`, `T_1 = g(s)`, `T_k = g(T_{k-1})`:
//!
//! ```text
//! 0 ≤ r² - 4r² Σ_{k≤m} T_k / 4^k - u² ≤ 4r² · 4^{-(m+1)}
//! ```
//!
//! `m` blocks of a few units each, where a piecewise-linear square needs `2^m` units: parameters grow like `log 1/ε`. A product is the
//! difference of two squares; their errors are one-sided and of the same sign, so that it is off by no more than one of them.

use super::form::Form;
use super::graph::{Graph, Kind, Wire, is_table_product};
use super::layout::arguments;
use crate::exact::Rat;
use crate::interval::{Interval, Up};
use crate::target::expr::{BinaryOp, Expr, Function, Node};
use crate::target::univariate::{affine, binary, call, variable};

/// `2R(x) - 4R(x - 1/2)`
fn tooth() -> Expr {
    let relu = |shift: Rat| call(Function::Relu, affine(&Rat::ONE, variable(), &shift));
    let scaled = |scale: i64, e: Expr| affine(&Rat::from(scale), e, &Rat::ZERO);
    binary(BinaryOp::Sub, scaled(2, relu(Rat::ZERO)), scaled(4, relu(Rat::new(-1, 2))))
}

/// True if a function is a tooth.
pub(crate) fn is_tooth(function: &Expr) -> bool {
    *function == tooth()
}

/// True if a wire is a square or a product that can be made deep.
pub(crate) fn is_deep(graph: &Graph, wire: usize) -> bool {
    match &graph.wires[wire].kind {
        Kind::Curve { function, of } => {
            matches!(&function.node, Node::Power(base, 2) if base.node == Node::Token) && !graph.is_integer(of)
        }
        Kind::Product(..) => !is_table_product(graph, wire),
        _ => false,
    }
}

/// The largest argument of the squares of a wire, with room for errors.
pub(crate) fn reach(graph: &Graph, wire: usize) -> f64 {
    let (forms, _) = arguments(graph, wire);
    // How much room is a choice: where errors need more, the better bound of the two that the analysis has is not taken.
    let reach = forms.iter().map(|form| graph.range(form).mag()).fold(0.0, f64::max) * (1.0 + 1.0 / 64.0);
    // What is always 0 has a reach as well.
    let reach = reach.max(2_f64.powi(-90));
    // A few digits are enough, and keep all numbers short.
    #[expect(clippy::cast_possible_truncation, reason = "between -90 and 90")]
    let unit = 2_f64.powi(reach.log2().floor().min(90.0) as i32 - 6);
    (reach / unit).ceil() * unit
}

/// The circuit with the wires of positive depth made deep.
pub(crate) fn deepen(graph: &Graph, outputs: &[Form], depths: &[usize]) -> (Graph, Vec<Form>) {
    let mut deep = Graph { wires: Vec::new(), ..graph.clone() };
    let mut new: Vec<usize> = Vec::new();
    let moved = |form: &Form, new: &[usize]| Form {
        terms: form.terms.iter().map(|(wire, c)| (new[*wire], c.clone())).collect(),
        constant: form.constant.clone(),
    };
    for (wire, known) in graph.wires.iter().enumerate() {
        let kind = if depths[wire] > 0 {
            let (forms, rest) = arguments(graph, wire);
            let reach = reach(graph, wire);
            let mut sum = moved(&rest, &new);
            for (form, sign) in forms.iter().zip([Rat::ONE, -Rat::ONE]) {
                let square = deep.square(&moved(form, &new), reach, depths[wire], known);
                sum = sum.plus(&sign, &square);
            }
            let levels = i32::try_from(depths[wire]).unwrap_or(i32::MAX);
            let deviation = 0.25_f64.powi(levels) * (Up::from(reach) * Up::from(reach));
            let arguments = forms.iter().map(|form| moved(form, &new)).collect();
            let meaning = Box::new(known.kind.with_forms(&|form| moved(form, &new)));
            Kind::Alias { form: sum, deviation, meaning, arguments, reach }
        } else {
            known.kind.with_forms(&|form| moved(form, &new))
        };
        deep.wires.push(Wire { kind, ..known.clone() });
        new.push(deep.wires.len() - 1);
    }
    let outputs = outputs.iter().map(|form| moved(form, &new)).collect();
    (deep, outputs)
}

impl Graph {
    /// `u²` by teeth.
    fn square(&mut self, u: &Form, reach: f64, depth: usize, like: &Wire) -> Form {
        let reach = Rat::from_f64(reach).unwrap_or(Rat::ONE);
        let half = Rat::new(1, 2);
        let mut argument = Form::constant(half.clone()).plus(&(half / reach.clone()), u);
        let square = &reach * &reach;
        let mut sum = Form::constant(square.clone());
        let mut share = square * Rat::from(4);
        let range = Interval::ZERO.hull(Interval::ONE);
        for _ in 0..depth {
            share = share / Rat::from(4);
            let kind = Kind::Curve { function: tooth(), of: argument };
            self.wires.push(Wire { kind, range, integer: false, slack: Up::ZERO, span: like.span.clone() });
            argument = Form::of(self.wires.len() - 1);
            sum = sum.plus(&-share.clone(), &argument);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::reach;
    use crate::construct::circuit::translate::translate;
    use crate::network::Realisation;
    use crate::target::Source;

    #[test]
    fn a_square_has_a_reach_even_if_it_is_always_zero() {
        let target = Source::expression("t", "var(x^0) + x^2").and_then(|source| source.target(1)).expect("a target");
        let translated =
            translate(target.expression().expect("an expression"), 3, &Realisation::SOFTMAX).expect("a circuit");
        for wire in 0..translated.graph.wires.len() {
            assert!(reach(&translated.graph, wire) > 0.0);
        }
    }
}
