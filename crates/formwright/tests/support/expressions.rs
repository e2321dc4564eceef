//! Targets that were written at random, random boxes, points of boxes, and what it means for an interval to hold an exact number.

#![allow(dead_code)]

use std::collections::BTreeSet;

use formwright::exact::{Int, Rat};
use formwright::interval::Interval;
use formwright::network::Sequence;
use formwright::target::expr::{Expr, Function, Node};
use formwright::target::modulus::Cube;
use formwright::target::{Checked, Expression};

use super::Random;
pub use super::texts::{Kind, random_program, text};

/// Reads and checks a text that must be a target.
pub fn checked(text: &str, dims: usize) -> Checked {
    Expression::parse(text).and_then(|target| target.check(dims)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The constructs of a target, by name.
pub fn constructs(target: &Checked) -> BTreeSet<String> {
    fn collect(expr: &Expr, found: &mut BTreeSet<String>) {
        found.insert(match &expr.node {
            Node::Binary(op, ..) => op.name().to_owned(),
            Node::Compare(op, ..) => op.name().to_owned(),
            Node::Call(function @ (Function::Min | Function::Max), _) => format!("{} of two", function.name()),
            Node::Call(function, _) => function.name().to_owned(),
            Node::Aggregate(aggregate, _, filter) => {
                format!("{}{}", aggregate.name(), if filter.is_some() { ", filtered" } else { "" })
            }
            Node::Power(..) => "^".to_owned(),
            Node::Gather(index) | Node::GatherBound(_, index) if index.depends_on_values() => {
                "gather by value".to_owned()
            }
            Node::Gather(_) => "gather".to_owned(),
            Node::Bound(_) => "bound name".to_owned(),
            Node::GatherBound(..) => "gather of a bound name".to_owned(),
            Node::Table(..) => "table".to_owned(),
            Node::Sort(of) if matches!(of.node, Node::Bound(_)) => "sort of a bound name".to_owned(),
            Node::Sort(_) => "sort".to_owned(),
            Node::If(..) => "if".to_owned(),
            Node::And(..) => "and".to_owned(),
            Node::Or(..) => "or".to_owned(),
            Node::Not(_) => "not".to_owned(),
            Node::Negate(_) => "-e".to_owned(),
            _ => return,
        });
        expr.parts().into_iter().for_each(|part| collect(part, found));
    }
    let mut found = BTreeSet::new();
    target.expression().exprs().for_each(|expr| collect(expr, &mut found));
    found
}

/// The number that a float is.
pub fn exact(x: f64) -> Rat {
    Rat::from_f64(x).expect("a finite float")
}

/// True if the exact number is a member of the interval.
pub fn holds(interval: Interval, x: &Rat) -> bool {
    (interval.lo().is_infinite() || exact(interval.lo()) <= *x)
        && (interval.hi().is_infinite() || *x <= exact(interval.hi()))
}

/// A box: of one point, of a few floats, or wide; on integers, from one integer to another or from the middle between two.
pub fn cube(random: &mut Random, tokens: usize, kind: Kind) -> Cube {
    let widths = [0.0, 0.0, 1e-15, 1e-9, 1e-3, 0.125, 0.125, 0.6, 1.0, 1.0, 3.0];
    let pick = |random: &mut Random, from: &[f64]| from[usize::try_from(random.below(from.len() as u64)).expect("few")];
    let width = pick(random, &widths);
    let one_width = random.below(3) > 0;
    let same_side = random.below(4) == 0;
    let side = |random: &mut Random| {
        if kind.integers {
            let margin = pick(random, &[0.0, 0.0, 0.25, 0.5]);
            let low = small(random.below(6)) - 3.0;
            let high = low + small(random.below(if width == 0.0 { 1 } else { 3 }));
            return Interval::new(low - margin, high + margin).expect("ends in order");
        }
        let width = if one_width { width } else { pick(random, &widths) };
        let low = match random.below(3) {
            0 => small(random.below(5)) / 2.0 - 1.0,
            _ => small(random.below(1 << 30)) / 3e8 - 1.5,
        };
        Interval::new(low, low + width).expect("ends in order")
    };
    let first = side(random);
    let mut sides = || if same_side { first } else { side(random) };
    (0..tokens).map(|_| (0..kind.dims).map(|_| sides()).collect()).collect()
}

fn small(x: u64) -> f64 {
    f64::from(u32::try_from(x).expect("below 2^32"))
}

/// A point of the box, exactly: corners, middles, fractions of the sides; sometimes as many equal coordinates as the sides allow.
pub fn point(random: &mut Random, cube: &Cube, kind: Kind) -> Sequence {
    let style = random.below(4);
    let common = random.below(8);
    let mut at = |side: Interval| {
        let (low, high) = (exact(side.lo()), exact(side.hi()));
        if kind.integers {
            let (low, high) = (Rat::from(low.ceil()), Rat::from(high.floor()));
            let steps = (&high - &low).to_int().and_then(|steps| steps.to_u64()).expect("an integer lies in the side");
            return low + Rat::from(random.below(steps + 1));
        }
        let share = match style {
            0 => Rat::from(random.below(2)),
            1 => Rat::new(common, 7),
            2 => Rat::new(random.below(5), 4),
            _ => Rat::new(random.below(98), 97),
        };
        &low + (&high - &low) * share.min(Rat::ONE)
    };
    cube.iter().map(|token| token.iter().map(|side| at(*side)).collect()).collect()
}

/// The smallest box around a point.
pub fn around(x: &[Vec<Rat>]) -> Cube {
    x.iter().map(|token| token.iter().map(Interval::from).collect()).collect()
}

/// True if the interval has a number so near to `x` that they could be the same, when `x` has at least 150 digits.
pub fn nearly_holds(interval: Interval, x: &Rat) -> bool {
    let slack = (x.abs() + Rat::ONE) / Rat::from(Int::from(2).pow(150));
    (interval.lo().is_infinite() || exact(interval.lo()) <= x + &slack)
        && (interval.hi().is_infinite() || x - &slack <= exact(interval.hi()))
}

/// The point in double precision.
pub fn floats(x: &[Vec<Rat>]) -> Vec<Vec<f64>> {
    x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect()
}
