//! Random targets for tests, from a seed: any syntax, or only targets that pass the check.

use super::expr::{
    Aggregate, BinaryOp, Binding, Body, Bound, CompareOp, Domain, Expr, Expression, Function, Node, Source,
};
use crate::exact::Rat;

/// A small generator of numbers (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % limit as u64).expect("a machine word")
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A rational number that is not always a decimal and not always positive.
    fn rational(&mut self) -> Rat {
        Rat::from(self.below(9)) / Rat::from(self.below(6) + 1) - Rat::from(self.below(3))
    }

    /// A number that is one token.
    fn literal(&mut self) -> Rat {
        let unit = self.pick(&["1", "1", "1", "0.1", "0.25", "1e12", "1e-30", "7.5e-3"]);
        unit.parse::<Rat>().expect("a number") * Rat::from(self.below(20))
    }
}

pub(crate) fn expr(node: Node) -> Expr {
    Expr { node, span: 0..0 }
}

fn boxed(node: Node) -> Box<Expr> {
    Box::new(expr(node))
}

/// The expression, or 3 in place of a plain 0, since the check refuses division by a plain 0.
fn not_zero(e: Expr) -> Expr {
    if e.node == Node::Number(Rat::ZERO) { expr(Node::Number(Rat::from(3))) } else { e }
}

/// The use of binding `index`, by its name.
fn bound(index: usize) -> Bound {
    Bound { index, name: ["b", "c1", "δ_"][index].into() }
}

/// Some bindings, whose definitions `value` makes from the number of those before.
fn lets(random: &mut Random, mut value: impl FnMut(&mut Random, usize) -> Expr) -> Vec<Binding> {
    let number = [0, 0, 1, 1, 2, 3][random.below(6)];
    (0..number).map(|index| Binding { name: bound(index).name, value: value(random, index) }).collect()
}

/// Any target that a text can say, whether it is meaningful or not.
pub(crate) fn any_target(random: &mut Random, domain: Domain) -> Expression {
    let depth = random.below(6);
    let lets = lets(random, |random, bound| syntax(random, depth.min(3), bound));
    let body = match random.below(3) {
        0 => Body::Coordinates((0..=random.below(3)).map(|_| syntax(random, depth, lets.len())).collect()),
        _ => Body::Each(syntax(random, depth, lets.len())),
    };
    Expression { lets, body, domain, source: Source::default() }
}

/// Any syntax that a text can say after so many bindings, whether it is meaningful or not.
pub(crate) fn syntax(random: &mut Random, depth: usize, bindings: usize) -> Expr {
    let token = |random: &mut Random| match random.below(4) {
        0 => Node::Token,
        1 => Node::Gather(Box::new(syntax(random, depth.saturating_sub(1), bindings))),
        _ if bindings == 0 => Node::Token,
        2 => Node::Bound(bound(random.below(bindings))),
        _ => {
            let index = Box::new(syntax(random, depth.saturating_sub(1), bindings));
            Node::GatherBound(bound(random.below(bindings)), index)
        }
    };
    if depth == 0 {
        return expr(match random.below(6) {
            0 => Node::Number(random.literal()),
            5 if bindings > 0 => Node::Bound(bound(random.below(bindings))),
            1 | 5 => Node::Token,
            2 => Node::Index,
            3 => Node::Running,
            _ => Node::Length,
        });
    }
    let mut part = || Box::new(syntax(random, depth - 1, bindings));
    let (a, b, c) = (part(), part(), part());
    let filtered = |e: &Expr| e.is_condition();
    expr(match random.below(16) {
        0 => token(random),
        1 => Node::Coordinate(boxed(token(random)), random.below(12)),
        2 => Node::Negate(a),
        3..=5 => Node::Binary(random.pick(BinaryOp::ALL), a, b),
        6 => Node::Power(a, u32::try_from(random.below(12)).expect("small")),
        7 => Node::Compare(random.pick(CompareOp::ALL), a, b),
        8 => Node::And(a, b),
        9 => Node::Or(a, b),
        10 => Node::Not(a),
        11 => Node::If(a, b, c),
        12 => match random.pick(Function::ALL) {
            function @ (Function::Min | Function::Max) if filtered(&b) => {
                Node::Call(function, vec![*b, expr(Node::Token)])
            }
            function @ (Function::Min | Function::Max) => Node::Call(function, vec![*a, *b]),
            function => Node::Call(function, [*a, *b, *c].into_iter().take(random.below(4)).collect()),
        },
        13 => match random.pick(Aggregate::ALL) {
            aggregate @ (Aggregate::Min | Aggregate::Max) => {
                Node::Aggregate(aggregate, a, Some(b).filter(|b| filtered(b)))
            }
            aggregate => Node::Aggregate(aggregate, a, Some(b).filter(|_| random.below(2) == 0)),
        },
        14 => Node::Sort(a),
        _ => Node::Table(a, (0..=random.below(4)).map(|_| random.rational()).collect()),
    })
}

/// The features that a random target may use.
#[derive(Clone, Copy)]
pub(crate) struct Features {
    /// The coordinates of a token.
    pub dims: usize,
    /// True if the domain is one of integers.
    pub integers: bool,
    /// True if `i`, `j`, sorting, gathering and filters may occur.
    pub positions: bool,
}

/// A target that passes the check and whose values, where it has any, are rational.
pub(crate) fn target(random: &mut Random, kind: Features) -> Expression {
    let depth = random.below(5);
    let mut writer = Writer { random, kind, vector: true, running: false, lets: Vec::new() };
    let lets = writer.lets(depth.min(2));
    let body = if writer.random.below(2) == 0 {
        Body::Each(writer.number(depth))
    } else {
        writer.vector = kind.dims == 1;
        Body::Coordinates((0..=writer.random.below(3)).map(|_| writer.number(depth)).collect())
    };
    let domain = if kind.integers { Domain::Integers(-1, 3) } else { Domain::Interval(Rat::from(-1), Rat::new(1, 2)) };
    Expression { lets, body, domain, source: Source::default() }
}

/// The known properties of a binding.
#[derive(Clone, Copy)]
struct Shape {
    vector: bool,
    integer: bool,
}

struct Writer<'r> {
    random: &'r mut Random,
    kind: Features,
    /// True if a whole token may be used.
    vector: bool,
    /// True if this is inside of an aggregate.
    running: bool,
    /// The bindings so far.
    lets: Vec<Shape>,
}

impl Writer<'_> {
    /// Some bindings: integers, scalars and whole tokens.
    fn lets(&mut self, depth: usize) -> Vec<Binding> {
        let number = [0, 0, 1, 1, 2, 3][self.random.below(6)];
        let binding = |index| {
            let (integer, whole) = (self.random.below(3) == 0, self.random.below(2) == 0);
            let vector = std::mem::replace(&mut self.vector, self.kind.dims == 1 || whole && !integer);
            let value = match (integer, whole) {
                (true, _) => self.integer(depth),
                (false, false) => self.number(depth),
                (false, true) => {
                    let op = self.random.pick(&[BinaryOp::Add, BinaryOp::Mul]);
                    expr(Node::Binary(op, boxed(Node::Token), Box::new(self.number(depth))))
                }
            };
            self.vector = vector;
            self.lets.push(Shape { vector: whole && !integer && self.kind.dims > 1, integer });
            Binding { name: bound(index).name, value }
        };
        (0..number).map(binding).collect()
    }

    /// The index of a gather.
    fn index(&mut self) -> Expr {
        if !self.kind.positions || self.random.below(2) == 0 {
            return expr(Node::Index);
        }
        let vector = std::mem::replace(&mut self.vector, self.kind.dims == 1);
        let index = self.integer(1);
        self.vector = vector;
        index
    }

    /// A bound name that fits, if there is one.
    fn bound(&mut self, integer: bool) -> Option<Expr> {
        let index = self.random.below(self.lets.len().max(1));
        let shape = *self.lets.get(index).filter(|shape| shape.integer || !integer)?;
        let name = if self.random.below(3) > 0 {
            Node::Bound(bound(index))
        } else {
            Node::GatherBound(bound(index), Box::new(self.index()))
        };
        let whole = !shape.vector || self.vector && self.random.below(2) == 0;
        Some(expr(if whole { name } else { Node::Coordinate(boxed(name), self.random.below(self.kind.dims)) }))
    }

    fn token(&mut self) -> Expr {
        if self.random.below(3) == 0
            && let Some(bound) = self.bound(false)
        {
            return bound;
        }
        self.input()
    }

    /// A token of the input.
    fn input(&mut self) -> Expr {
        let gathers = if self.kind.positions { 3 } else { 2 };
        let token = match self.random.below(gathers) {
            0 => Node::Token,
            1 => Node::Gather(boxed(Node::Index)),
            _ => Node::Gather(Box::new(self.index())),
        };
        if self.vector && self.random.below(2) == 0 {
            return expr(token);
        }
        expr(Node::Coordinate(boxed(token), self.random.below(self.kind.dims)))
    }

    fn inside<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let running = std::mem::replace(&mut self.running, true);
        let written = write(self);
        self.running = running;
        written
    }

    fn filter(&mut self) -> Option<Box<Expr>> {
        if !self.kind.positions || self.random.below(2) == 0 {
            return None;
        }
        let shift = boxed(Node::Number(Rat::from(self.random.below(3))));
        let op = self.random.pick(&[BinaryOp::Add, BinaryOp::Sub]);
        let place = if self.random.below(2) == 0 { shift } else { boxed(Node::Binary(op, boxed(Node::Index), shift)) };
        Some(boxed(Node::Compare(self.random.pick(CompareOp::ALL), boxed(Node::Running), place)))
    }

    fn number(&mut self, depth: usize) -> Expr {
        if depth == 0 {
            return if self.random.below(3) == 0 { expr(Node::Number(self.random.literal())) } else { self.token() };
        }
        let depth = depth - 1;
        expr(match self.random.below(12) {
            0 => Node::Negate(Box::new(self.number(depth))),
            1..=3 => {
                let op = self.random.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div]);
                Node::Binary(op, Box::new(self.number(depth)), Box::new(not_zero(self.number(depth))))
            }
            4 => Node::Power(Box::new(self.number(depth)), u32::try_from(self.random.below(4)).expect("small")),
            5 => {
                let (c, a, b) = (self.condition(depth), self.number(depth), self.number(depth));
                Node::If(Box::new(c), Box::new(a), Box::new(b))
            }
            6 => {
                let function =
                    self.random.pick(&[Function::Abs, Function::Relu, Function::Min, Function::Max, Function::Clamp]);
                Node::Call(function, (0..function.arity()).map(|_| self.number(depth)).collect())
            }
            7 | 8 => {
                let kinds = [Aggregate::Sum, Aggregate::Mean, Aggregate::Var, Aggregate::Max, Aggregate::Min];
                let aggregate = self.random.pick(&kinds);
                let of = self.inside(|writer| writer.number(depth));
                Node::Aggregate(aggregate, Box::new(of), self.filter())
            }
            9 if self.kind.positions && !self.running && self.vector => {
                let index = self.random.below(2 * self.lets.len() + 1);
                Node::Sort(boxed(if index < self.lets.len() { Node::Bound(bound(index)) } else { Node::Token }))
            }
            9 | 10 => return self.integer(depth),
            _ => return self.token(),
        })
    }

    /// A number that is known to be an integer.
    fn integer(&mut self, depth: usize) -> Expr {
        if depth == 0 {
            return expr(match self.random.below(4) {
                0 => Node::Length,
                1 if self.kind.positions => Node::Index,
                2 if self.kind.positions && self.running => Node::Running,
                _ => Node::Number(Rat::from(self.random.below(4))),
            });
        }
        let depth = depth - 1;
        expr(match self.random.below(7) {
            0 => {
                let op = self.random.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Mod]);
                Node::Binary(op, Box::new(self.integer(depth)), Box::new(not_zero(self.integer(depth))))
            }
            1 => Node::Call(Function::Floor, vec![self.number(depth)]),
            2 => {
                let of = self.inside(|writer| writer.condition(depth));
                Node::Aggregate(Aggregate::Count, Box::new(of), self.filter())
            }
            3 => Node::Table(Box::new(self.integer(depth)), (0..4).map(|k| Rat::from(k * k - 3)).collect()),
            4 if self.kind.integers => return self.input(),
            5 => return self.bound(true).unwrap_or_else(|| expr(Node::Length)),
            _ => return self.integer(depth),
        })
    }

    fn condition(&mut self, depth: usize) -> Expr {
        let smaller = depth.saturating_sub(1);
        let kind = if depth == 0 { 3 + self.random.below(3) } else { self.random.below(6) };
        expr(match kind {
            0 => Node::And(Box::new(self.condition(smaller)), Box::new(self.condition(smaller))),
            1 => Node::Or(Box::new(self.condition(smaller)), Box::new(self.condition(smaller))),
            2 => Node::Not(Box::new(self.condition(smaller))),
            3 => {
                let op = self.random.pick(&[CompareOp::Equal, CompareOp::NotEqual]);
                Node::Compare(op, Box::new(self.integer(smaller)), Box::new(self.integer(smaller)))
            }
            _ => {
                let op = self.random.pick(&CompareOp::ALL[..4]);
                Node::Compare(op, Box::new(self.number(smaller)), Box::new(self.number(smaller)))
            }
        })
    }
}

/// A point of the domain of [`target`].
pub(crate) fn input(random: &mut Random, tokens: usize, kind: Features) -> Vec<Vec<Rat>> {
    let (step, steps) = if kind.integers { (Rat::ONE, 4) } else { (Rat::new(3, 16), 9) };
    let mut value = || Rat::from(random.below(steps)) * &step - Rat::ONE;
    (0..tokens).map(|_| (0..kind.dims).map(|_| value()).collect()).collect()
}
