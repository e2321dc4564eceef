//! The circuit as a graph of wires: numbers that every token has, each made of others.
//!
//! Whatever is affine is a [`Form`] over wires and costs nothing. A wire is what costs: a curve, a product, an attention head. The same
//! wire is made once. **Fusion**: whatever depends on one argument only is one curve, however it is written: `1/sqrt(v + 1/100)`,
//! `x * exp(x)`, `if x < 3 then 1 else 0`.

use super::form::Form;
use super::hinges;
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::{Interval, Up};
use crate::network::Mask;
use crate::target::expr::{BinaryOp, Expr, Function, Node, Span};
use crate::target::univariate::{affine, binary, call, compose, enclose, exact, number, variable};

/// Pieces into which an argument's range is cut to enclose the values of a curve.
const PIECES: usize = 64;

/// Integers of an argument for which a table is made, at most.
pub(crate) const TABLE: usize = 1 << 13;

/// The kinds of wires.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A coordinate of the input token.
    Input(usize),
    /// A number for each position.
    Position(Vec<Rat>),
    /// A function of one argument.
    Curve {
        /// The function, written in `x`.
        function: Expr,
        /// The argument, normalised.
        of: Form,
    },
    /// A product of two.
    Product(Form, Form),
    /// `condition · value`, the condition 0 or 1.
    Select {
        /// 0 or 1.
        condition: Form,
        /// A number.
        value: Form,
    },
    /// The larger of two numbers at some positions, the smaller at the others: one end of a comparator.
    Exchange {
        /// 1 at the positions that keep the larger one, else 0.
        side: Form,
        /// The number that is there.
        own: Form,
        /// The other one.
        other: Form,
    },
    /// A sum of selections of which exactly one is on: it costs nothing, but its range is known better than that of a sum.
    Cases(Form),
    /// A form that stands for something else, off by no more than this.
    Alias {
        /// The form that it computes.
        form: Form,
        /// How far it may be from what is meant,
        deviation: Up,
        /// which is a square or a product,
        meaning: Box<Kind>,
        /// while these are no larger than the reach.
        arguments: Vec<Form>,
        /// See there.
        reach: f64,
    },
    /// `scale ·` the mean of the visible tokens.
    Mean {
        /// The form that it is taken of.
        of: Form,
        /// The visible tokens.
        mask: Mask,
        /// The factor: 1 for a mean, the number of tokens for a sum.
        scale: Rat,
    },
    /// The sum over the visible tokens, whose number depends on the position; the first token is a sink whose value is 0.
    Sink {
        /// The form that it is taken of; 0 at the first token.
        of: Form,
        /// The visible tokens, the first one among them.
        mask: Mask,
        /// The logarithm of the sink's weight, a value of each position.
        query: Form,
        /// 1 at the first position, else 0.
        key: Form,
    },
    /// The maximum of the visible tokens.
    Largest {
        /// The form that it is taken of.
        of: Form,
        /// The visible tokens.
        mask: Mask,
    },
    /// The mean of the visible tokens, weighted by the softmax of scores.
    Attend {
        /// The wires that it is taken of.
        of: Form,
        /// The visible tokens.
        mask: Mask,
        /// The score: a sum of products, each of a form of the token that sees and one of the token that is seen.
        rows: Vec<(Form, Form)>,
        /// The part of the score that depends on the token that sees alone: it changes nothing, and nobody computes it.
        rest: Form,
    },
    /// The value at another position.
    Gather {
        /// The position, an integer.
        index: Form,
        /// The value.
        of: Form,
        /// The positions 0, 1, … and their squares.
        keys: (Form, Form),
    },
}

/// A number that every token has.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// Its kind.
    pub kind: Kind,
    /// All its values.
    pub range: Interval,
    /// True if all its values are integers.
    pub integer: bool,
    /// How far stored values may be from what is meant: irrational numbers of positions.
    pub slack: Up,
    /// Its place in the text.
    pub span: Span,
}

/// All wires; each is made of earlier ones.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    /// The number of tokens.
    pub tokens: usize,
    /// The text, for messages.
    pub text: std::sync::Arc<str>,
    /// The wires.
    pub wires: Vec<Wire>,
    /// The positions at which what is being made is needed; elsewhere it may have no value.
    pub live: Vec<bool>,
}

impl Kind {
    /// The same with other forms.
    pub fn with_forms(&self, f: &dyn Fn(&Form) -> Form) -> Self {
        match self {
            Self::Input(_) | Self::Position(_) => self.clone(),
            Self::Curve { function, of } => Self::Curve { function: function.clone(), of: f(of) },
            Self::Product(a, b) => Self::Product(f(a), f(b)),
            Self::Select { condition, value } => Self::Select { condition: f(condition), value: f(value) },
            Self::Exchange { side, own, other } => Self::Exchange { side: f(side), own: f(own), other: f(other) },
            Self::Cases(form) => Self::Cases(f(form)),
            Self::Alias { form, deviation, meaning, arguments, reach } => Self::Alias {
                form: f(form),
                deviation: *deviation,
                meaning: Box::new(meaning.with_forms(f)),
                arguments: arguments.iter().map(f).collect(),
                reach: *reach,
            },
            Self::Mean { of, mask, scale } => Self::Mean { of: f(of), mask: *mask, scale: scale.clone() },
            Self::Sink { of, mask, query, key } => Self::Sink { of: f(of), mask: *mask, query: f(query), key: f(key) },
            Self::Largest { of, mask } => Self::Largest { of: f(of), mask: *mask },
            Self::Attend { of, mask, rows, rest } => {
                let rows = rows.iter().map(|(query, key)| (f(query), f(key))).collect();
                Self::Attend { of: f(of), mask: *mask, rows, rest: f(rest) }
            }
            Self::Gather { index, of, keys } => {
                Self::Gather { index: f(index), of: f(of), keys: (f(&keys.0), f(&keys.1)) }
            }
        }
    }
}

impl Graph {
    /// The range of a form.
    pub fn range(&self, form: &Form) -> Interval {
        if let Some(constant) = form.as_constant() {
            return Interval::from(constant);
        }
        if let Some(table) = self.positional(form) {
            let hull = table.iter().map(Interval::from).reduce(Interval::hull).unwrap_or(Interval::ZERO);
            return hull.widened(self.slack(form));
        }
        let terms = form.terms.iter().map(|(wire, scale)| Interval::from(scale) * self.wires[*wire].range);
        terms.fold(Interval::from(&form.constant), |sum, term| sum + term)
    }

    /// True if all values are integers.
    pub fn is_integer(&self, form: &Form) -> bool {
        form.constant.is_int() && form.terms.iter().all(|(wire, scale)| scale.is_int() && self.wires[*wire].integer)
    }

    /// True if all values are 0 or 1.
    pub fn is_boolean(&self, form: &Form) -> bool {
        let range = self.range(form);
        self.is_integer(form) && range.lo() >= 0.0 && range.hi() <= 1.0
    }

    /// The integers from the smallest to the largest value, if all values are integers and these are not too many.
    pub fn integers(&self, form: &Form) -> Option<(i64, i64)> {
        let range = self.range(form);
        #[expect(clippy::cast_possible_truncation, reason = "both are below 2^40")]
        let ends = || (range.lo().ceil() as i64, range.hi().floor() as i64);
        let small = range.mag() < 1e12;
        (self.is_integer(form) && small).then(ends).filter(|(lo, hi)| hi.abs_diff(*lo) < TABLE as u64)
    }

    /// How far stored values of positions may be from what is meant.
    pub fn slack(&self, form: &Form) -> Up {
        form.terms.iter().map(|(wire, c)| Up::from(c) * self.wires[*wire].slack).sum()
    }

    /// The value at each position, if it depends on nothing else.
    pub fn positional(&self, form: &Form) -> Option<Vec<Rat>> {
        // Most forms depend on values: they are told apart before there is a table of all positions.
        if !self.is_positional(form) {
            return None;
        }
        let mut table = vec![form.constant.clone(); self.tokens];
        for (wire, scale) in &form.terms {
            let Kind::Position(values) = &self.wires[*wire].kind else { return None };
            for (sum, value) in table.iter_mut().zip(values) {
                *sum += &(scale * value);
            }
        }
        Some(table)
    }

    /// True if it depends on nothing but the position.
    pub fn is_positional(&self, form: &Form) -> bool {
        form.terms.keys().all(|wire| matches!(self.wires[*wire].kind, Kind::Position(_)))
    }

    /// The wire, made unless it is there.
    pub fn wire(&mut self, kind: Kind, range: Interval, integer: bool, span: &Span) -> Form {
        let known = self.wires.iter().position(|wire| wire.kind == kind);
        Form::of(known.unwrap_or_else(|| {
            self.wires.push(Wire { kind, range, integer, slack: Up::ZERO, span: span.clone() });
            self.wires.len() - 1
        }))
    }

    /// A number for each position; `slack` is how far it may be from what is meant.
    pub fn position(&mut self, table: Vec<Rat>, slack: Up, span: &Span) -> Form {
        if slack == 0.0 && table.iter().all(|value| *value == table[0]) {
            return Form::constant(table[0].clone());
        }
        if slack == 0.0
            && let Some(known) = self.wires.iter().enumerate().find_map(|(wire, known)| match &known.kind {
                Kind::Position(other) if known.slack == 0.0 => {
                    // Shifted by much, it would be rounded by as much.
                    let (scale, shift) = affinely(&table, other)?;
                    let near = scale.abs() == Rat::ONE && shift.abs() <= Rat::from(self.tokens);
                    near.then_some((wire, (scale, shift)))
                }
                _ => None,
            })
        {
            let (wire, (scale, shift)) = known;
            return Form::constant(shift).plus(&scale, &Form::of(wire));
        }
        let range = table.iter().map(Interval::from).reduce(Interval::hull).unwrap_or(Interval::ZERO);
        let integer = slack == 0.0 && table.iter().all(Rat::is_int);
        let form = self.wire(Kind::Position(table), range.widened(slack), integer, span);
        if let Some((wire, _)) = form.single() {
            self.wires[wire].slack = self.wires[wire].slack.max(slack);
        }
        form
    }

    /// A form as a function of one argument: the argument, normalised, and the function.
    pub fn argument(&self, form: &Form) -> (Form, Expr) {
        let base = |wire: usize| match &self.wires[wire].kind {
            Kind::Curve { function, of } => (of.clone(), function.clone()),
            _ => (Form::of(wire), variable()),
        };
        let mut parts = form.terms.iter().map(|(wire, scale)| (base(*wire), scale));
        if let Some(((argument, function), scale)) = parts.next() {
            let mut sum = affine(scale, function, &Rat::ZERO);
            let mut same = true;
            for ((other, function), scale) in parts {
                same &= other == argument;
                sum = binary(BinaryOp::Add, sum, affine(scale, function, &Rat::ZERO));
            }
            if same {
                return (argument, affine(&Rat::ONE, sum, &form.constant));
            }
        }
        let (normal, scale, shift) = self.normalised(form);
        (normal, affine(&scale, variable(), &shift))
    }

    /// `(normal, scale, shift)` with `form = scale · normal + shift`: whole coefficients without a common divisor for integers, else the first
    /// coefficient 1.
    pub fn normalised(&self, form: &Form) -> (Form, Rat, Rat) {
        if !self.is_integer(&form.linear()) {
            return form.normalised();
        }
        let divisor = form.terms.values().fold(Int::ZERO, |divisor, c| gcd(divisor, &c.floor().abs()));
        let negative = form.terms.first_key_value().is_some_and(|(_, c)| c.is_negative());
        let scale = if divisor == Int::ZERO { Rat::ONE } else { Rat::from(divisor) };
        let scale = if negative { -scale } else { scale };
        (form.linear().scaled(&(Rat::ONE / scale.clone())), scale, form.constant.clone())
    }

    /// `function(form)`; `span` is its place in the text.
    pub fn apply(&mut self, function: &Expr, form: &Form, span: &Span) -> Result<Form> {
        if let Some(table) = self.positional(form) {
            return self.tabulate(function, &table, self.slack(form), span);
        }
        let (argument, inner) = self.argument(form);
        self.curve(compose(function, &inner), argument, span)
    }

    /// A function of a normalised argument.
    fn curve(&mut self, function: Expr, of: Form, span: &Span) -> Result<Form> {
        let range = self.range(&of);
        if let Some((lo, hi)) = self.integers(&of) {
            if let Some((values, _)) = table_of(&function, lo, hi) {
                let steps: Vec<Rat> = values.windows(2).map(|pair| &pair[1] - &pair[0]).collect();
                if steps.iter().all(|step| *step == steps[0]) {
                    let slope = steps.first().cloned().unwrap_or_default();
                    let shift = Form::constant(&values[0] - &(&slope * &Rat::from(lo)));
                    return Ok(shift.plus(&slope, &of));
                }
                let hull = values.iter().map(Interval::from).reduce(Interval::hull).unwrap_or(Interval::ZERO);
                let integer = values.iter().all(Rat::is_int);
                return Ok(self.wire(Kind::Curve { function, of }, hull, integer, span));
            }
        } else if jumps(&function) {
            return Err(Error::declined("a step has no continuous approximation in the supremum norm")
                .place(&self.text, span, "this jumps")
                .note(
                    "reason",
                    format!("its argument takes all values of {range}, and attention and ReLU are continuous"),
                )
                .note("try", "an integer domain (`on integers 0..8`), or ⟨norm=l2⟩ (lattice constructions)"));
        }
        if let Some(nodes) = hinges::piecewise(&function, &of_rational(range))
            && let [(a, ya), (b, yb)] = &nodes[..]
        {
            let slope = if a == b { Rat::ZERO } else { (yb - ya) / (b - a) };
            let shift = Form::constant(ya - &(&slope * a));
            return Ok(shift.plus(&slope, &of));
        }
        let values = self.values(&function, range, span)?;
        Ok(self.wire(Kind::Curve { function, of }, values, false, span))
    }

    /// All values of a function on a range, by pieces.
    fn values(&self, function: &Expr, range: Interval, span: &Span) -> Result<Interval> {
        let mut hull: Option<Interval> = None;
        for piece in pieces(range, PIECES) {
            let value = enclose(function, piece).and_then(|value| {
                let bounded = value.is_bounded().then_some(value);
                bounded.ok_or_else(|| Error::declined(format!("not bounded on {piece}")))
            });
            let value = value.map_err(|error| {
                let denominator = function.any(&|node| matches!(node, Node::Binary(BinaryOp::Div, ..)));
                let (headline, attempt) = if denominator {
                    (
                        "a denominator is not shown to differ from 0",
                        "a denominator that stays away from 0, such as `… + 1/100`",
                    )
                } else {
                    (
                        "a function is not shown to be defined",
                        "an argument whose range stays inside of the function's domain",
                    )
                };
                Error::declined(headline)
                    .place(&self.text, span, "here")
                    .note("range", format!("its argument takes values in {range}"))
                    .note("reason", error.headline().to_owned())
                    .note("try", attempt)
            })?;
            hull = Some(hull.map_or(value, |hull| hull.hull(value)));
        }
        Ok(hull.unwrap_or(Interval::ZERO))
    }

    /// A function of positions, whose values are known to within `off`.
    fn tabulate(&mut self, function: &Expr, table: &[Rat], off: Up, span: &Span) -> Result<Form> {
        let (mut values, mut slack) = (Vec::new(), Up::ZERO);
        for (t, value) in table.iter().enumerate() {
            if off == 0.0
                && let Ok(value) = exact(function, value)
            {
                values.push(value);
                continue;
            }
            let near = enclose(function, Interval::from(value).widened(off)).ok().filter(|near| near.is_bounded());
            let near = near.or_else(|| (!self.live[t]).then_some(Interval::ZERO)).ok_or_else(|| {
                Error::declined("a function is not defined at some position").place(&self.text, span, "here")
            })?;
            if jumps(function) && near.width() > 0.0 {
                return Err(Error::declined("a comparison of irrational numbers is not decided")
                    .place(&self.text, span, "here")
                    .note("try", "rational numbers, where they are to be compared"));
            }
            slack = slack.max(near.width().into());
            values.push(Rat::from_f64(near.mid()).unwrap_or_default());
        }
        Ok(self.position(values, slack, span))
    }

    /// `a · b`
    pub fn product(&mut self, a: &Form, b: &Form, span: &Span) -> Result<Form> {
        if let Some(scale) = a.as_constant() {
            return Ok(b.scaled(scale));
        }
        if let Some(scale) = b.as_constant() {
            return Ok(a.scaled(scale));
        }
        if let (Some(left), Some(right)) = (self.positional(a), self.positional(b)) {
            // |ab - a'b'| ≤ |a'| e_b + |b'| e_a + e_a e_b for stored a' and b'.
            let size = |table: &[Rat]| table.iter().map(Up::from).fold(Up::ZERO, Up::max);
            let (of_a, of_b) = (self.slack(a), self.slack(b));
            let slack = size(&left) * of_b + size(&right) * of_a + of_a * of_b;
            let table = left.iter().zip(&right).map(|(x, y)| x * y).collect();
            return Ok(self.position(table, slack, span));
        }
        let ((left, f), (right, g)) = (self.argument(a), self.argument(b));
        if left == right {
            let product = if f == g { expr_power(f, 2) } else { binary(BinaryOp::Mul, f, g) };
            return self.curve(product, left, span);
        }
        for (condition, value) in [(a, b), (b, a)] {
            if self.is_boolean(condition) {
                let (range, integer) = (self.range(value).hull(Interval::ZERO), self.is_integer(value));
                let select = Kind::Select { condition: condition.clone(), value: value.clone() };
                return Ok(self.wire(select, range, integer, span));
            }
        }
        // exp(a)·b = exp(a + log b): one curve instead of a product.
        for (power, factor, other) in [(&f, a, b), (&g, b, a)] {
            if let Node::Call(Function::Exp, inner) = &power.node
                && self.range(other).lo() > 0.0
            {
                let exponent = self.apply_to_base(&inner[0], factor, span)?;
                let logarithm = self.apply(&call(Function::Log, variable()), other, span)?;
                return self.apply(&call(Function::Exp, variable()), &exponent.plus(&Rat::ONE, &logarithm), span);
            }
        }
        // Only the scale is taken out: what is added belongs to the range.
        let unscaled = |form: &Form| {
            let scale = form.terms.first_key_value().map_or(Rat::ONE, |(_, scale)| scale.clone());
            (form.scaled(&(Rat::ONE / scale.clone())), scale)
        };
        let ((a, scale_a), (b, scale_b)) = (unscaled(a), unscaled(b));
        let range = self.range(&a) * self.range(&b);
        let integer = self.is_integer(&a) && self.is_integer(&b);
        let ordered = if a.terms.keys().lt(b.terms.keys()) { (a, b) } else { (b, a) };
        let product = self.wire(Kind::Product(ordered.0, ordered.1), range, integer, span);
        Ok(product.scaled(&(scale_a * scale_b)))
    }

    /// A function of the argument of a form that is itself a curve.
    fn apply_to_base(&mut self, function: &Expr, form: &Form, span: &Span) -> Result<Form> {
        let (argument, _) = self.argument(form);
        self.curve(function.clone(), argument, span)
    }

    /// `a / b`
    pub fn quotient(&mut self, a: &Form, b: &Form, span: &Span) -> Result<Form> {
        if let Some(divisor) = b.as_constant() {
            let inverse = divisor.recip().ok_or_else(|| {
                Error::declined("a division by 0").place(&self.text, span, "this divisor is always 0")
            })?;
            return Ok(a.scaled(&inverse));
        }
        let ((left, f), (right, g)) = (self.argument(a), self.argument(b));
        if left == right && !self.is_positional(a) {
            return self.curve(binary(BinaryOp::Div, f, g), left, span);
        }
        let range = self.range(b);
        if range.contains(0.0) && !self.is_positional(b) {
            return Err(Error::declined("a denominator is not shown to differ from 0")
                .place(&self.text, span, "this quotient")
                .note("range", format!("the denominator takes values in {range}"))
                .note("try", "a denominator that stays away from 0, such as `… + 1/100`"));
        }
        let inverse = self.apply(&binary(BinaryOp::Div, number(Rat::ONE), variable()), b, span)?;
        self.product(a, &inverse, span)
    }
}

/// `(scale, shift)` with `table = scale · other + shift`, if there are such.
fn affinely(table: &[Rat], other: &[Rat]) -> Option<(Rat, Rat)> {
    let differs = other.iter().position(|value| *value != other[0])?;
    let scale = (&table[differs] - &table[0]) / (&other[differs] - &other[0]);
    let shift = &table[0] - &(&scale * &other[0]);
    table.iter().zip(other).all(|(a, b)| *a == &scale * b + shift.clone()).then_some((scale, shift))
}

/// The values of a function at the integers from `lo` to `hi`, and how far they may be from what is meant.
pub(crate) fn table_of(function: &Expr, lo: i64, hi: i64) -> Option<(Vec<Rat>, Up)> {
    let mut off = Up::ZERO;
    let value = |k: i64| {
        exact(function, &Rat::from(k)).ok().or_else(|| {
            let near = enclose(function, Interval::from(&Rat::from(k))).ok().filter(|near| near.is_bounded())?;
            off = off.max(near.width().into());
            Rat::from_f64(near.mid())
        })
    };
    let values: Option<Vec<Rat>> = (lo..=hi).map(value).collect();
    // Beyond that it is treated as a curve; whatever it is, it is counted.
    values.filter(|_| off < 1e-6).map(|values| (values, off))
}

/// True if a product is one of integers, of which there are not too many.
pub(crate) fn is_table_product(graph: &Graph, wire: usize) -> bool {
    let Kind::Product(a, b) = &graph.wires[wire].kind else { return false };
    #[expect(clippy::cast_precision_loss, reason = "2^13")]
    let small = |form: &Form| graph.range(form).width() < TABLE as f64;
    graph.wires[wire].integer && small(&a.plus(&Rat::ONE, b)) && small(&a.plus(&-Rat::ONE, b))
}

/// True if a function may jump, by its form.
fn jumps(function: &Expr) -> bool {
    function.any(&|node| {
        matches!(node, Node::Compare(..) | Node::If(..) | Node::Table(..) | Node::Binary(BinaryOp::Mod, ..))
            || matches!(node, Node::Call(Function::Floor, _))
    })
}

fn gcd(a: Int, b: &Int) -> Int {
    if *b == Int::ZERO { a } else { gcd(b.clone(), &a.div_rem(b).1) }
}

fn expr_power(base: Expr, exponent: u32) -> Expr {
    crate::target::univariate::expr(Node::Power(Box::new(base), exponent))
}

/// An interval cut into equal pieces.
pub(crate) fn pieces(range: Interval, count: usize) -> Vec<Interval> {
    let (lo, hi) = (range.lo(), range.hi());
    #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
    let at = |k: usize| if k == count { hi } else { lo + (hi - lo) * (k as f64 / count as f64) };
    if lo >= hi {
        return vec![range];
    }
    (0..count).filter_map(|k| Interval::new(at(k), at(k + 1)).ok()).collect()
}

/// The ends of a range, exactly.
pub(crate) fn of_rational(range: Interval) -> (Rat, Rat) {
    let end = |x: f64| Rat::from_f64(x).unwrap_or_default();
    (end(range.lo()), end(range.hi()))
}
