//! Piecewise-linear functions of one number as sums of ReLUs, and how far they are from a curve.
//!
//! Through nodes `(t_k, y_k)` with slopes `s_k` on `[t_k, t_{k+1}]`, hinged **outward** from an anchor `m`:
//!
//! ```text
//! P(x) = y_m + s_m R(x - t_m) + Σ_{k>m} (s_k - s_{k-1}) R(x - t_k) - s_{m-1} R(t_m - x) + Σ_{0<k<m} (s_k - s_{k-1}) R(t_k - x)
//! ```
//!
//! Hinges between the anchor and `x` alone are active, so that rounding is relative to `P(x) - y_m`.
//!
//! **Knots.** Each segment reaches as far as the tolerance allows. A node is moved off a convex curve by `-ε`, off a concave one by `+ε`, so
//! that a segment may leave the curve by `2ε` one-sidedly: `h²/8 · |f''| ≤ 2ε`.
//!
//! **Proof.** On `[a, b]`, a line `ℓ` and a curve `f`: `ℓ - f = (ℓ - chord) + ½ f''(ξ)(t - a)(b - t)`, the first part linear. Where `f''` is not
//! bounded, the values of `f` on the piece speak, and pieces are halved until that is enough.

use std::ops::Range;

use crate::error::Result;
use crate::exact::Rat;
use crate::interval::{Interval, Up};
use crate::network::Precision;
use crate::target::expr::{BinaryOp, Expr, Function, Node};
use crate::target::univariate::{Fast, curvature, enclose};

/// One ReLU: `slope · R(x - knot)`, or `slope · R(knot - x)` if it faces left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hinge {
    /// The number at which it begins.
    pub knot: f64,
    /// True if it is active above the knot.
    pub right: bool,
    /// Its slope.
    pub slope: f64,
}

/// A piecewise-linear function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hinges {
    /// The value at the anchor.
    pub base: f64,
    /// The ReLUs: those to the right by increasing, then those to the left by decreasing knot.
    pub units: Vec<Hinge>,
    /// The nodes.
    pub nodes: Vec<(f64, f64)>,
    /// For each segment, how far it may be from the curve.
    pub deviations: Vec<Up>,
    /// True if only integers are asked of it.
    pub integers: bool,
    /// The value at each node, and the slope on the segment before it, as the ReLUs add them up.
    lines: Vec<(Interval, Interval)>,
    /// The active units at each knot to the right, and at each to the left, going outward.
    active: [Vec<(f64, Active)>; 2],
}

/// The active units at some point, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Active {
    /// How many units.
    pub count: usize,
    /// `Σ |slope|`
    pub slopes: Up,
    /// `Σ |slope| · |knot|`
    pub knots: Up,
    /// `Σ |slope| · |x - knot|`
    pub heights: Up,
}

impl Active {
    /// Farther out by a distance, with the same units.
    fn farther(self, distance: Up) -> Self {
        Self { heights: self.heights + self.slopes * distance, ..self }
    }

    /// Adds one unit, whose height is 0.
    fn and(self, unit: &Hinge) -> Self {
        let slope = Up::from(unit.slope);
        let (slopes, knots) = (self.slopes + slope, self.knots + slope * Up::from(unit.knot));
        Self { count: self.count + 1, slopes, knots, ..self }
    }

    /// Both.
    fn plus(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            slopes: self.slopes + other.slopes,
            knots: self.knots + other.knots,
            heights: self.heights + other.heights,
        }
    }

    /// How large the terms are, together.
    pub fn size(&self) -> Up {
        self.heights + self.knots + self.slopes
    }
}

/// Nodes with rational coordinates.
pub(crate) type Nodes = Vec<(Rat, Rat)>;

/// The nodes of a function that is piecewise linear by its form, on a range.
pub(crate) fn piecewise(function: &Expr, range: &(Rat, Rat)) -> Option<Nodes> {
    let (lo, hi) = range;
    let part = |e: &Expr| piecewise(e, range);
    let constant = |value: &Rat| vec![(lo.clone(), value.clone()), (hi.clone(), value.clone())];
    let zero = || constant(&Rat::ZERO);
    let scaled = |nodes: Nodes, scale: &Rat| nodes.into_iter().map(|(t, y)| (t, y * scale)).collect::<Nodes>();
    let level = |nodes: &Nodes| nodes.iter().all(|(_, y)| *y == nodes[0].1).then(|| nodes[0].1.clone());
    Some(match &function.node {
        Node::Token => vec![(lo.clone(), lo.clone()), (hi.clone(), hi.clone())],
        Node::Number(value) => constant(value),
        Node::Negate(e) => scaled(part(e)?, &-Rat::ONE),
        Node::Binary(BinaryOp::Add, a, b) => combine(&part(a)?, &part(b)?, &Rat::ONE),
        Node::Binary(BinaryOp::Sub, a, b) => combine(&part(a)?, &part(b)?, &-Rat::ONE),
        Node::Binary(BinaryOp::Mul, a, b) => {
            let (a, b) = (part(a)?, part(b)?);
            match (level(&a), level(&b)) {
                (Some(scale), _) => scaled(b, &scale),
                (_, Some(scale)) => scaled(a, &scale),
                _ => return None,
            }
        }
        Node::Binary(BinaryOp::Div, a, b) => scaled(part(a)?, &level(&part(b)?)?.recip()?),
        Node::Power(e, 1) => part(e)?,
        Node::Call(Function::Abs, e) => {
            let e = part(&e[0])?;
            larger(&e, &scaled(e.clone(), &-Rat::ONE))
        }
        Node::Call(Function::Relu, e) => larger(&part(&e[0])?, &zero()),
        Node::Call(Function::Max, e) => larger(&part(&e[0])?, &part(&e[1])?),
        Node::Call(Function::Min, e) => smaller(part(&e[0])?, part(&e[1])?),
        Node::Call(Function::Clamp, e) => smaller(larger(&part(&e[0])?, &part(&e[1])?), part(&e[2])?),
        _ => return None,
    })
}

/// The value of a piecewise-linear function.
fn interpolate(nodes: &Nodes, t: &Rat) -> Rat {
    let next = nodes.partition_point(|(knot, _)| knot < t).clamp(1, nodes.len() - 1);
    let ((a, ya), (b, yb)) = (&nodes[next - 1], &nodes[next]);
    if a == b { ya.clone() } else { ya + &((yb - ya) * ((t - a) / (b - a))) }
}

/// `a + scale · b`
fn combine(a: &Nodes, b: &Nodes, scale: &Rat) -> Nodes {
    let mut knots: Vec<Rat> = a.iter().chain(b).map(|(t, _)| t.clone()).collect();
    knots.sort();
    knots.dedup();
    if knots.len() == 1 {
        knots.push(knots[0].clone());
    }
    straightened(knots.into_iter().map(|t| (t.clone(), interpolate(a, &t) + interpolate(b, &t) * scale)).collect())
}

/// `max(a, b) = b + R(a - b)`
fn larger(a: &Nodes, b: &Nodes) -> Nodes {
    let difference = combine(a, b, &-Rat::ONE);
    let mut positive: Nodes = Vec::new();
    for (t, y) in difference {
        if let Some((s, z)) = positive.last().cloned() {
            let before = interpolate(&combine(a, b, &-Rat::ONE), &s);
            if (before.is_negative() && y > Rat::ZERO) || (before > Rat::ZERO && y.is_negative()) {
                let root = &s + &((&t - &s) * (before.clone() / (before - y.clone())));
                positive.push((root, Rat::ZERO));
            }
            drop(z);
        }
        positive.push((t, y.max(Rat::ZERO)));
    }
    combine(b, &positive, &Rat::ONE)
}

fn smaller(a: Nodes, b: Nodes) -> Nodes {
    let negative = |nodes: Nodes| nodes.into_iter().map(|(t, y)| (t, -y)).collect::<Nodes>();
    negative(larger(&negative(a), &negative(b)))
}

/// Without nodes on a straight line.
pub(crate) fn straightened(nodes: Nodes) -> Nodes {
    let mut kept: Nodes = Vec::new();
    for node in nodes {
        if let [.., (a, ya), (b, yb)] = &kept[..]
            && (yb - ya) * (&node.0 - b) == (&node.1 - yb) * (b - a)
        {
            kept.pop();
        }
        kept.push(node);
    }
    kept
}

/// The point from which the hinges of a function face outward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The node that keeps what is active small.
    Best,
    /// The first node: hinges of functions of the same argument are then the same.
    First,
}

impl Hinges {
    /// The function through nodes, with what is proved of each segment.
    ///
    /// Slopes are rounded, so that the ReLUs do not add up to the lines between the nodes exactly. The difference is a line on each segment: it is
    /// largest at a node, and added to what is proved.
    pub fn through(nodes: &[(f64, f64)], deviations: &[Up], anchor: Anchor, integers: bool) -> Self {
        let slope = |k: usize| {
            let ((a, ya), (b, yb)) = (nodes[k], nodes[k + 1]);
            if b > a { (yb - ya) / (b - a) } else { 0.0 }
        };
        let segments = nodes.len().saturating_sub(1);
        let hinged = |m: usize| {
            let mut units = Vec::new();
            for (k, (knot, _)) in nodes.iter().enumerate().take(segments).skip(m) {
                let change = if k == m { slope(k) } else { slope(k) - slope(k - 1) };
                units.push(Hinge { knot: *knot, right: true, slope: change });
            }
            for k in (1..=m).rev() {
                let change = if k == m { -slope(k - 1) } else { slope(k) - slope(k - 1) };
                units.push(Hinge { knot: nodes[k].0, right: false, slope: change });
            }
            units.retain(|unit| unit.slope != 0.0);
            let active = [true, false].map(|right| activity(units.iter().filter(|unit| unit.right == right)));
            let (nodes, deviations) = (nodes.to_vec(), deviations.to_vec());
            Self { base: nodes[m].1, units, nodes, deviations, integers, lines: Vec::new(), active }
        };
        let flattest = (0..segments).min_by(|a, b| slope(*a).abs().total_cmp(&slope(*b).abs())).unwrap_or(0);
        let smallest = (0..nodes.len()).min_by(|a, b| nodes[*a].1.abs().total_cmp(&nodes[*b].1.abs())).unwrap_or(0);
        let candidates = match anchor {
            Anchor::First => vec![0],
            Anchor::Best => vec![smallest, flattest, flattest + 1, segments / 2, segments, 0],
        };
        let cost = |hinges: &Self| {
            let ends = [nodes[0].0, nodes[segments].0].map(|end| hinges.active(end));
            let worst = ends.iter().map(Active::size).fold(Up::ZERO, Up::max);
            (worst + Up::from(hinges.base)).get()
        };
        let best = candidates
            .into_iter()
            .map(hinged)
            .min_by(|a, b| a.units.len().cmp(&b.units.len()).then(cost(a).total_cmp(&cost(b))));
        best.unwrap_or_else(|| hinged(0)).proved()
    }

    /// With the lines that the ReLUs add up to, and how far they are from the nodes.
    fn proved(mut self) -> Self {
        let lines = self.lines();
        let off =
            lines.iter().zip(&self.nodes).map(|((value, _), (_, y))| Up::from(*value - Interval::point_or_entire(*y)));
        let off = off.fold(Up::ZERO, Up::max);
        self.deviations.iter_mut().for_each(|deviation| *deviation += off);
        self.lines = lines;
        self
    }

    /// The value at each node, and the slope on the segment before it, as the ReLUs add them up.
    fn lines(&self) -> Vec<(Interval, Interval)> {
        let slope = |unit: &Hinge| Interval::point_or_entire(unit.slope);
        let side = |right: bool| self.units.iter().filter(move |unit| unit.right == right);
        let step =
            |k: usize| Interval::point_or_entire(self.nodes[k].0) - Interval::point_or_entire(self.nodes[k - 1].0);
        let mut lines = vec![(Interval::ZERO, Interval::ZERO); self.nodes.len()];
        // To the right of the anchor, hinges come one by one, node by node.
        let (mut units, mut steep, mut value) = (side(true).peekable(), Interval::ZERO, Interval::ZERO);
        for (k, line) in lines.iter_mut().enumerate().skip(1) {
            while let Some(unit) = units.next_if(|unit| unit.knot <= self.nodes[k - 1].0) {
                steep = steep + slope(unit);
            }
            value = value + steep * step(k);
            *line = (value, steep);
        }
        // And so they do to the left.
        let (mut units, mut steep, mut value) = (side(false).peekable(), Interval::ZERO, Interval::ZERO);
        for k in (1..self.nodes.len()).rev() {
            while let Some(unit) = units.next_if(|unit| unit.knot >= self.nodes[k].0) {
                steep = steep + slope(unit);
            }
            value = value + steep * step(k);
            lines[k].1 = lines[k].1 - steep;
            lines[k - 1].0 = lines[k - 1].0 + value;
        }
        for line in &mut lines {
            line.0 = line.0 + Interval::point_or_entire(self.base);
        }
        lines
    }

    /// A function that is piecewise linear itself.
    pub fn exactly(nodes: &Nodes, anchor: Anchor, integers: bool) -> Self {
        let near: Vec<(f64, f64)> = nodes.iter().map(|(t, y)| (t.to_f64(), y.to_f64())).collect();
        let off = Self::off(nodes, &near);
        Self::through(&near, &vec![off; nodes.len().saturating_sub(1)], anchor, integers)
    }

    /// How far a function is from the one through the same nodes, rounded: farthest at a node of either.
    fn off(nodes: &Nodes, near: &[(f64, f64)]) -> Up {
        let exact = |(t, y): &(f64, f64)| Some((Rat::from_f64(*t)?, Rat::from_f64(*y)?));
        let Some(near) = near.iter().map(exact).collect::<Option<Nodes>>() else { return Up::INFINITY };
        if near == *nodes {
            return Up::ZERO;
        }
        let apart = |t: &Rat| Up::from(&(interpolate(nodes, t) - interpolate(&near, t)));
        nodes.iter().chain(&near).map(|(t, _)| apart(t)).fold(Up::ZERO, Up::max)
    }

    /// `t²` on `[-reach, reach]` by `2·half` equal segments: too large by `reach²/(2·half)²` at most, but for what nodes are rounded by.
    #[expect(clippy::cast_precision_loss, reason = "numbers of segments")]
    pub fn square(reach: f64, half: usize) -> Self {
        let step = reach / half as f64;
        // The last node reaches as far as is asked for, and the first one.
        let knot = |k: usize| if k == half { reach } else { k as f64 * step };
        let knot = |k: usize| if k < half { -knot(half - k) } else { knot(k - half) };
        let nodes: Vec<(f64, f64)> = (0..=2 * half).map(|k| (knot(k), knot(k) * knot(k))).collect();
        // Between two points of the curve a line is too large by (t - a)(b - t) ≤ (b - a)²/4.
        let width = nodes.windows(2).map(|pair| Up::distance(pair[1].0, pair[0].0)).fold(Up::ZERO, Up::max);
        let rounded =
            |(t, y): &(f64, f64)| Up::from(Interval::point_or_entire(*y) - Interval::point_or_entire(*t).sqr());
        let deviation = 0.25 * (width * width) + nodes.iter().map(rounded).fold(Up::ZERO, Up::max);
        Self::through(&nodes, &vec![deviation; 2 * half], Anchor::Best, false)
    }

    /// The segments that an interval meets; what is outside belongs to the first and the last.
    fn segments(&self, values: Interval) -> Range<usize> {
        let last = self.nodes.len() - 2;
        let first = self.nodes.partition_point(|(t, _)| *t <= values.lo()).saturating_sub(1).min(last);
        let behind = self.nodes.partition_point(|(t, _)| *t <= values.hi());
        first..behind.clamp(first + 1, last + 1)
    }

    /// The largest slope in an interval, in absolute value.
    pub fn steepest(&self, values: Interval) -> Up {
        let lines = &self.lines[1..][self.segments(values)];
        lines.iter().map(|(_, slope)| Up::from(*slope)).fold(Up::ZERO, Up::max)
    }

    /// How far it may be from the curve in an interval.
    pub fn deviation(&self, values: Interval) -> Up {
        self.deviations[self.segments(values)].iter().copied().fold(Up::ZERO, Up::max)
    }

    /// The largest deviation.
    pub fn worst(&self) -> Up {
        self.deviations.iter().copied().fold(Up::ZERO, Up::max)
    }

    /// The active units at a point.
    pub fn active(&self, x: f64) -> Active {
        let [right, left] = &self.active;
        let right = right[..right.partition_point(|(knot, _)| *knot <= x)].last();
        let left = left[..left.partition_point(|(knot, _)| *knot >= x)].last();
        let at = |(knot, active): &(f64, Active)| active.farther(Up::distance(x, *knot));
        right.map(at).unwrap_or_default().plus(left.map(at).unwrap_or_default())
    }

    /// An enclosure of its value.
    pub fn value(&self, x: f64) -> Interval {
        let x = Interval::point_or_entire(x);
        let k = self.segments(x).start;
        let ((value, _), (_, slope)) = (self.lines[k], self.lines[k + 1]);
        value + slope * (x - Interval::point_or_entire(self.nodes[k].0))
    }
}

/// The active units at the knot of each of some units that come one by one, going outward.
fn activity<'u>(units: impl Iterator<Item = &'u Hinge>) -> Vec<(f64, Active)> {
    let mut known: Vec<(f64, Active)> = Vec::new();
    for unit in units {
        let before = known.last().map(|(knot, active)| active.farther(Up::distance(unit.knot, *knot)));
        known.push((unit.knot, before.unwrap_or_default().and(unit)));
    }
    known
}

/// Points of a segment at which a fit is tried.
const SAMPLES: [f64; 9] = [0.03, 0.12, 0.25, 0.38, 0.5, 0.62, 0.75, 0.88, 0.97];

/// A tolerance that grows with the value: `eps · (1 + growth · share)`, where the share of the range goes from 0 at one end to 1 at the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tolerance {
    /// The smallest.
    pub eps: f64,
    /// How much larger it is at the far end, times `eps`; negative if it is smallest at the largest value.
    pub growth: f64,
}

impl Tolerance {
    /// For a value in a range.
    fn at(self, y: f64, values: Interval) -> f64 {
        let share = ((y - values.lo()) / (values.hi() - values.lo())).clamp(0.0, 1.0);
        if self.growth == 0.0 || share.is_nan() {
            self.eps
        } else if self.growth > 0.0 {
            self.eps * (1.0 + self.growth * share)
        } else {
            self.eps * (1.0 - self.growth * (1.0 - share))
        }
    }
}

/// A piecewise-linear function about as near to a curve as the tolerance says; its deviations are proved, or else what is expected of them.
///
/// How nodes are searched for, and the small numbers that are used then, decide how many there are and where. What is proved does not rest on it.
pub(crate) fn fit(
    function: &Expr,
    (range, values): (Interval, Interval),
    tolerance: Tolerance,
    anchor: Anchor,
    prove: bool,
) -> Result<Hinges> {
    let (lo, hi) = (range.lo(), range.hi());
    let fast = Fast::new(function);
    let f = |t: f64| fast.at(t.clamp(lo, hi));
    let width = hi - lo;
    let allowed = |t: f64| tolerance.at(f(t), values);
    // Which side of the curve a node lies on: below where it is convex.
    let offset = |t: f64| {
        let h = (width * 1e-4).min((hi - t).max(t - lo));
        let (a, b) = ((t - h).max(lo), (t + h).min(hi));
        let middle = f64::midpoint(a, b);
        let bend = f(a) + f(b) - 2.0 * f(middle);
        if bend.is_nan() || bend == 0.0 { 0.0 } else { -0.985 * allowed(t) * bend.signum() }
    };
    let fits = |a: f64, ya: f64, b: f64, yb: f64| {
        SAMPLES.iter().all(|share| {
            let y = f(a + (b - a) * share);
            (ya + (yb - ya) * share - y).abs() <= tolerance.at(y, values)
        })
    };
    // Knots inside are numbers of every format: as biases they are not rounded.
    let node = |t: f64| {
        let near = Precision::F32.round(t);
        let inside = t > lo && t < hi && near > lo && near < hi;
        let t = if inside { near } else { t };
        (t, f(t) + offset(t))
    };
    let mut nodes = vec![node(lo)];
    let mut step = width / 8.0;
    while let Some((a, ya)) = nodes.last().copied().filter(|(a, _)| *a < hi) {
        let reaches = |step: f64| {
            let (b, yb) = node((a + step).min(hi));
            fits(a, ya, b, yb)
        };
        // The longest step, by doubling or halving and then bisection.
        let (mut good, mut bad);
        if reaches(step) {
            (good, bad) = (step, step);
            while reaches(bad) && a + bad < hi {
                good = bad;
                bad *= 2.0;
            }
            if reaches(bad) {
                good = bad;
            }
        } else {
            (good, bad) = (step, step);
            while !reaches(good) && good > width * 1e-12 {
                bad = good;
                good /= 2.0;
            }
        }
        for _ in 0..9 {
            let middle = f64::midpoint(good, bad);
            if reaches(middle) { good = middle } else { bad = middle }
        }
        step = good.max((width * 1e-12).max(a.abs() * 1e-6));
        let end = a + step;
        // A crumb at the end is left to the last segment but one.
        let next = node(if hi - end < width * 1e-9 { hi } else { end });
        // Rounded, it may not have moved.
        nodes.push(if next.0 > a { next } else { (end.min(hi), f(end) + offset(end)) });
        if nodes.len() > MOST {
            return Err(crate::error::Error::declined(format!("a curve needs more than {MOST} segments"))
                .note("try", "a larger ⟨eps⟩"));
        }
    }
    if nodes.len() < 2 {
        nodes.push((hi, nodes[0].1));
    }
    let mut deviations = Vec::with_capacity(nodes.len());
    for pair in nodes.windows(2) {
        let enough = allowed(pair[0].0).min(allowed(pair[1].0));
        let deviation = if prove { deviation(function, pair[0], pair[1], enough)? } else { enough };
        deviations.push(Up::from(deviation));
    }
    Ok(Hinges::through(&nodes, &deviations, anchor, false))
}

/// Segments of a curve, at most.
const MOST: usize = 1 << 12;

/// A bound that is within this factor of what was seen, or of what is enough, is not improved.
const CLOSE: f64 = 1.01;

/// How far a segment may be from the curve: proved, and not above `enough` if that is easily shown.
pub(crate) fn deviation(function: &Expr, a: (f64, f64), b: (f64, f64), enough: f64) -> Result<f64> {
    if a.0 >= b.0 {
        let at = enclose(function, Interval::point(a.0))?;
        return Ok((Interval::point(a.1) - at).mag());
    }
    let (rise, run) = (Interval::point(b.1) - Interval::point(a.1), Interval::point(b.0) - Interval::point(a.0));
    let line = |t: f64| Interval::point(a.1) + (Interval::point(t) - Interval::point(a.0)) * div(rise, run);
    let mut stack = vec![(a.0, b.0, 0)];
    // What is proved, and what was seen: there is no use in proving much less than that.
    let (mut worst, mut seen) = (0.0_f64, enough);
    while let Some((lo, hi, depth)) = stack.pop() {
        let piece = Interval::new(lo, hi).unwrap_or(Interval::ENTIRE);
        let (values, bend) = curvature(function, piece)?;
        let ends = line(lo).hull(line(hi));
        let mut bound = (ends - values).mag();
        if let Some(bend) = bend.filter(|bend| bend.is_bounded()) {
            let at = |t: f64| enclose(function, Interval::point(t));
            let linear = (line(lo) - at(lo)?).hull(line(hi) - at(hi)?);
            let half = Interval::point(0.125) * (Interval::point(hi) - Interval::point(lo)).sqr();
            bound = bound.min((linear + (bend * half).hull(Interval::ZERO)).mag());
        }
        let middle = f64::midpoint(lo, hi);
        if bound > seen * CLOSE {
            seen = seen.max((line(middle) - enclose(function, Interval::point(middle))?).mig());
        }
        if bound <= seen * CLOSE || depth >= 40 || bound <= worst {
            worst = worst.max(bound);
        } else {
            stack.extend([(lo, middle, depth + 1), (middle, hi, depth + 1)]);
        }
    }
    Ok(worst)
}

fn div(a: Interval, b: Interval) -> Interval {
    a.checked_div(b).unwrap_or(Interval::ENTIRE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Expression;

    fn function(text: &str) -> Expr {
        Expression::parse(text).expect(text).body.exprs()[0].clone()
    }

    fn exact(x: f64) -> Rat {
        Rat::from_f64(x).expect("a number")
    }

    /// How far inside of its unit a number is.
    fn height(unit: &Hinge, t: &Rat) -> Rat {
        let height = t - &exact(unit.knot);
        if unit.right { height } else { -height }
    }

    /// The ReLUs, added up exactly.
    fn summed(hinges: &Hinges, t: &Rat) -> Rat {
        let unit = |unit: &Hinge| exact(unit.slope) * height(unit, t).max(Rat::ZERO);
        hinges.units.iter().map(unit).sum::<Rat>() + exact(hinges.base)
    }

    /// The statements about ReLUs hold for their exact numbers: values, slopes, deviations, and the active units.
    #[test]
    fn bounds_are_above_what_the_units_are_exactly() {
        for (reach, half) in [(1.0, 1), (0.3, 7), (1.0 / 3.0, 64), (1e-7, 5), (12345.678, 30), (1e5, 256)] {
            let hinges = Hinges::square(reach, half);
            let mut last = (exact(-reach), summed(&hinges, &exact(-reach)));
            for k in -70..=70 {
                let t = reach * f64::from(k) / 70.0;
                let (t, at) = (exact(t), Interval::point(t));
                let value = summed(&hinges, &t);
                let within = hinges.value(at.lo());
                assert!(exact(within.lo()) <= value && value <= exact(within.hi()), "{reach}/{half} at {at}");
                let off = (&value - &(&t * &t)).abs();
                assert!(off <= exact(hinges.deviation(at).get()), "{reach}/{half} at {at}");
                let active: Vec<&Hinge> = hinges.units.iter().filter(|unit| !height(unit, &t).is_negative()).collect();
                let found = hinges.active(at.lo());
                assert_eq!(found.count, active.len());
                let sum = |f: &dyn Fn(&Hinge) -> Rat| active.iter().map(|unit| f(unit)).sum::<Rat>();
                let slope = |unit: &Hinge| exact(unit.slope).abs();
                assert!(exact(found.slopes.get()) >= sum(&slope));
                assert!(exact(found.knots.get()) >= sum(&|unit| slope(unit) * exact(unit.knot).abs()));
                assert!(exact(found.heights.get()) >= sum(&|unit| slope(unit) * height(unit, &t)));
                let run = &t - &last.0;
                let steepest = hinges.steepest(Interval::from(&last.0).hull(at));
                assert!((&value - &last.1).abs() <= exact(steepest.get()) * run.abs(), "{reach}/{half} at {at}");
                last = (t, value);
            }
        }
    }

    #[test]
    fn fits_are_within_what_is_proved_and_about_what_is_asked() {
        for (text, lo, hi) in [
            ("exp(x)", 0.0, 1.0),
            ("1/sqrt(x + 1/100)", 0.0, 0.25),
            ("sqrt(x)", 0.0, 1.0),
            ("x^3 - x", -1.0, 1.0),
            ("sin(3*x)", -2.0, 2.0),
            ("tanh(5*x)", -1.0, 1.0),
            ("abs(x) + exp(x)", -1.0, 1.0),
        ] {
            let f = function(text);
            for eps in [1e-1, 1e-2, 1e-3] {
                let range = Interval::new(lo, hi).expect("a range");
                let tolerance = Tolerance { eps, growth: 0.0 };
                let hinges = fit(&f, (range, range), tolerance, Anchor::Best, true).expect(text);
                assert!(hinges.worst() <= eps * 1.25, "{text} {eps}: {:?}", hinges.worst());
                for k in 0..=2000 {
                    let t = lo + (hi - lo) * f64::from(k) / 2000.0;
                    let value = summed(&hinges, &Rat::from_f64(t).expect("a number"));
                    let off = (value.to_f64() - Fast::new(&f).at(t)).abs();
                    let proved = hinges.deviation(Interval::point(t)).get();
                    assert!(off <= proved + 1e-12, "{text} {eps} at {t}: {off}");
                }
            }
        }
    }

    #[test]
    fn piecewise_linear_functions_are_exact() {
        let range = (Rat::from(-2), Rat::from(3));
        for (text, knots) in
            [("x", 2), ("abs(x)", 3), ("relu(x - 1)", 3), ("clamp(x, 0, 1)", 4), ("max(x, 1 - x) + 2*min(x, 0)", 4)]
        {
            let nodes = piecewise(&function(text), &range).expect(text);
            assert_eq!(nodes.len(), knots, "{text} {nodes:?}");
            for k in -20..=30 {
                let t = Rat::new(k, 10);
                let expected = crate::target::univariate::exact(&function(text), &t).expect(text);
                assert_eq!(interpolate(&nodes, &t), expected, "{text} at {t}");
            }
        }
        assert!(piecewise(&function("x^2"), &range).is_none());
    }
}
