//! Products: `ab = ((a + b)² - (a - b)²)/4` by two squares, which are piecewise linear, tables at integers, or made of teeth.
//!
//! **Lemma** (deviations and variance): if `v = mean(d²)` and `mean(d) = 0`, then `d_i² ≤ (n-1) v`, since `d_i = -Σ_{j≠i} d_j`. So where a factor is a
//! function of the variance, the other one, a deviation, is not large while the first is.

use super::{Analyst, Piece, exactly};
use crate::construct::circuit::form::Form;
use crate::construct::circuit::graph::{Kind, Wire, is_table_product};
use crate::construct::circuit::hinges::{Anchor, Hinges};
use crate::construct::circuit::layout::{arguments, middle};
use crate::construct::circuit::profile::Profile;
use crate::exact::Rat;
use crate::interval::{Interval, Up};
use crate::target::expr::Node;

/// A factor of a product, its range and its error.
type Side<'a> = (&'a Form, Interval, Profile);

/// The two squares of a product.
struct Squares {
    /// With signs.
    gates: Vec<(Hinges, f64)>,
    deviation: Up,
    /// The loss inside of them.
    inner: Up,
    /// How far errors of their arguments move them.
    moved: Up,
}

/// The deviation of which a factor is a multiple, and the variance of which the other one is a function.
struct Deviation<'a> {
    /// The pieces of that function.
    pieces: &'a [Piece],
    /// `|factor| √(n-1)`.
    factor: Up,
}

impl Deviation<'_> {
    /// The largest multiple for a variance among these.
    fn most(&self, variance: Interval) -> Up {
        self.factor * Up::from(variance.relu().hi()).sqrt()
    }
}

impl Analyst<'_> {
    /// The two squares of a product.
    fn squares(&self, atom: usize, wire: usize) -> Squares {
        let slot = self.layout.atoms[atom].slot;
        let company = self.company(atom) + self.expected_units(atom);
        let (forms, _) = arguments(self.graph, wire);
        let mut squares = Squares { gates: Vec::new(), deviation: Up::ZERO, inner: Up::ZERO, moved: Up::ZERO };
        for (form, sign) in forms.iter().zip([1.0, -1.0]) {
            let reading = self.read(form, slot);
            let (range, here) = (reading.range, reading.at(reading.range, self.machine));
            let error = here.error();
            let hinges = match &self.choice.hinges[wire] {
                Some(_) => quarter_squares(range),
                // As far as the factors, as they are read, may go.
                None => Hinges::square((Up::from(range) + error).get(), self.choice.halves[wire]),
            };
            squares.moved += hinges.steepest(range.widened(error)) * error;
            squares.deviation = squares.deviation.max(hinges.worst());
            squares.inner += self.inside(&self.units(&hinges, &reading, company), range, (here.size, error));
            squares.gates.push((hinges, sign));
        }
        squares
    }

    /// `|a| e_b + |b| e_a + e_a e_b`, the errors of registers apart where they enter only once.
    fn pairs(&self, (a, range_a, left): &Side<'_>, (b, range_b, right): &Side<'_>, (lost_a, lost_b): (Up, Up)) -> Up {
        let pair = |(x, of_a): (Up, Up), (y, of_b): (Up, Up)| x * of_b + y * of_a + (of_a + lost_a) * (of_b + lost_b);
        let largest = |errors: &mut dyn Iterator<Item = Up>| errors.fold(Up::ZERO, Up::max);
        let limit = |size: Up, range: &Interval| size.min(Up::from(*range));
        if let Some(deviation) = self.deviation_and_variance(a, b) {
            let of_a = left.sup();
            largest(&mut deviation.pieces.iter().map(|Piece { argument, values, error }| {
                pair((limit(deviation.most(*argument), range_a), of_a), (Up::from(*values), *error))
            }))
        } else if let Some(deviation) = self.deviation_and_variance(b, a) {
            let of_b = right.sup();
            largest(&mut deviation.pieces.iter().map(|Piece { argument, values, error }| {
                pair((Up::from(*values), *error), (limit(deviation.most(*argument), range_b), of_b))
            }))
        } else {
            let (left, right) = (front(left), front(right));
            largest(&mut left.iter().flat_map(|a| right.iter().map(|b| pair(*a, *b))))
        }
    }

    /// If `a = c·d` and `b` is a function of `v`, as in the lemma: what the two have to do with each other.
    fn deviation_and_variance(&self, a: &Form, b: &Form) -> Option<Deviation<'_>> {
        let wire = |form: &Form| {
            let plain = form.single().filter(|(_, c)| **c == Rat::ONE && form.constant.is_zero());
            plain.map(|(wire, _)| wire)
        };
        let curve = wire(b)?;
        let Kind::Curve { of: variance, .. } = &self.graph.wires[curve].kind else { return None };
        let Kind::Mean { of: squares, mask, scale } = &self.graph.wires[wire(variance)?].kind else { return None };
        let Kind::Curve { function, of: deviation } = self.meant(wire(squares)?) else { return None };
        let square = matches!(&function.node, Node::Power(base, 2) if base.node == Node::Token);
        if !square || !mask.is_all() || *scale != Rat::ONE || !self.is_centred(deviation) {
            return None;
        }
        let (_, c) = a.terms.first_key_value()?;
        let (_, d) = deviation.terms.first_key_value()?;
        let factor = c / d;
        if deviation.scaled(&factor) != *a {
            return None;
        }
        let factor = Up::from(&factor) * Up::from(self.machine.tokens - 1).sqrt();
        Some(Deviation { pieces: self.pieces.get(&curve)?, factor })
    }

    /// The meaning of a wire.
    fn meant(&self, wire: usize) -> &Kind {
        match &self.graph.wires[wire].kind {
            Kind::Alias { meaning, .. } => meaning,
            kind => kind,
        }
    }

    /// True if the mean of a form is 0 by its making: `e - mean(e)`.
    fn is_centred(&self, form: &Form) -> bool {
        form.constant.is_zero()
            && form.terms.iter().any(|(wire, c)| match &self.graph.wires[*wire].kind {
                Kind::Mean { of, mask, scale } => {
                    mask.is_all()
                        && *scale == Rat::ONE
                        && form.plus(&-c.clone(), &Form::of(*wire)) == of.scaled(&-c.clone())
                }
                _ => false,
            })
    }

    pub(super) fn product(&mut self, atom: usize, wire: usize, a: &Form, b: &Form) {
        let slot = self.layout.atoms[atom].slot;
        let (left, right) = (self.read(a, slot), self.read(b, slot));
        let (range_a, range_b) = (left.range, right.range);
        let (lost_a, lost_b) = (left.lost(range_a, self.machine), right.lost(range_b, self.machine));
        let Squares { gates, deviation, inner, moved } = self.squares(atom, wire);
        let (known, table) = (self.graph.wires[wire].range, is_table_product(self.graph, wire));
        let (mut error, mut own, reach): (Up, Up, Up);
        if table {
            error = moved + inner;
            (own, reach) = (error, known.into());
        } else {
            let gate = self.choice.weight[wire] * deviation + inner;
            let (of_a, of_b) = (left.value.sup() + lost_a, right.value.sup() + lost_b);
            let (wide_a, wide_b) = (Up::from(range_a.width()), Up::from(range_b.width()));
            let pairs = self.pairs(&(a, range_a, left.value), &(b, range_b, right.value), (lost_a, lost_b));
            // The registers lose before the gate reads them, and not before the rest is read.
            let early = lost_a * wide_b + lost_b * wide_a;
            // What several registers hold is not rounded alike in all of them.
            let spread = self.spread(a, slot) * Up::from(range_b) + self.spread(b, slot) * Up::from(range_a);
            error = pairs + early + 2.0 * spread + gate;
            // In the stream it is (a - m_a)(b - m_b), whatever is read with it.
            let around = |range: Interval| Up::from(range - Interval::from(&middle(range)));
            own = around(range_a) * of_b + around(range_b) * of_a + of_a * of_b + gate;
            reach = 0.25 * (wide_a * wide_b);
        }
        let bases = gates.iter().map(|(hinges, sign)| exactly(sign * hinges.base));
        self.constants.bases[atom] = bases.fold(Rat::ZERO, |sum, base| sum + base);
        // In a host all units of a token have a common factor.
        let factor = self.gate_factor() * (reach + error + Up::from(&self.constants.bases[atom]));
        (error, own) = (error + factor, own + factor);
        self.own[atom] = own;
        self.sizes[atom] = reach + error + Up::from(&self.constants.bases[atom]);
        self.inner[atom] = inner;
        self.errors[wire] = Some(Profile::constant(known, error));
        self.gates[atom] = gates;
    }

    /// The error of a square or a product of teeth, of which there are two bounds. The teeth are steep, and add up what they take over:
    /// `2r e_u` for a square, whatever the value. But they are also the square of what they read, up to their deviation and what they lose
    /// themselves, so that
    ///
    /// ```text
    /// |Ŝ(ũ) - u²| ≤ 2|u| e_u + e_u² + deviation + lost,     |P̂(ã, b̃) - ab| ≤ |a| e_b + |b| e_a + e_a e_b + deviation + lost
    /// ```
    pub(super) fn alias_error(&self, wire: usize) -> Profile {
        if let Some(known) = self.aliases[wire].get() {
            return known.clone();
        }
        let Wire { kind: Kind::Alias { form, deviation, meaning, arguments, reach }, range, .. } =
            &self.graph.wires[wire]
        else {
            return Profile::constant(self.graph.wires[wire].range, Up::INFINITY);
        };
        let deviation = self.choice.weight[wire] * *deviation;
        let steep = Profile::constant(*range, self.form_error(form).sup() + deviation);
        let lost: Up = form.terms.iter().map(|(wire, c)| Up::from(c) * self.teeth[*wire]).sum();
        let within = |form: &Form| Up::from(self.graph.range(form)) + self.form_error(form).sup() <= *reach;
        if !arguments.iter().all(within) {
            return steep;
        }
        let read = match &**meaning {
            Kind::Curve { of, .. } => {
                let error = self.form_error(of);
                Profile::new(*range, |squares| {
                    let u = squares.relu().sqrt().unwrap_or(Interval::ENTIRE);
                    let error = error.over(u).max(error.over(-u));
                    2.0 * (Up::from(u) * error) + error * error + deviation + lost
                })
            }
            Kind::Product(a, b) => {
                let sides = [a, b].map(|form| (form, self.graph.range(form), self.form_error(form)));
                Profile::constant(*range, self.pairs(&sides[0], &sides[1], (Up::ZERO, Up::ZERO)) + deviation + lost)
            }
            _ => steep.clone(),
        };
        let better = if read.sup() <= steep.sup() { read } else { steep };
        if form.terms.keys().all(|wire| self.errors[*wire].is_some() || self.aliases[*wire].get().is_some()) {
            let _ = self.aliases[wire].set(better.clone());
        }
        better
    }
}

/// The sizes and errors of a profile's cells, without those that another cell exceeds in both: they do not matter to what grows with both.
fn front(profile: &Profile) -> Vec<(Up, Up)> {
    let mut cells: Vec<(Up, Up)> = profile.cells().map(|(cell, error)| (Up::from(cell), error)).collect();
    cells.sort_by(|(a, _), (b, _)| b.get().total_cmp(&a.get()));
    let mut front: Vec<(Up, Up)> = Vec::new();
    for cell in cells {
        if front.last().is_none_or(|(_, error)| cell.1 > *error) {
            front.push(cell);
        }
    }
    front
}

/// `t²/4` at the integers of a range.
pub(crate) fn quarter_squares(range: Interval) -> Hinges {
    let mut nodes = Vec::new();
    let mut t = range.lo().floor();
    while t <= range.hi().ceil() {
        nodes.push((t, t * t / 4.0));
        t += 1.0;
    }
    let deviations = vec![Up::ZERO; nodes.len().saturating_sub(1)];
    Hinges::through(&nodes, &deviations, Anchor::First, true)
}
