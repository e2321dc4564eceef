//! Gates of one argument, cell by cell of the argument, and selections, which are one unit each.
//!
//! A gate loses twice: its units read registers, a knot each, and then they are added up, weighted by their slopes.

use super::exact::is_difference;
use super::reading::Reading;
use super::{Analyst, Piece, exactly};
use crate::construct::circuit::deepen::is_tooth;
use crate::construct::circuit::form::Form;
use crate::construct::circuit::hinges::{Active, Anchor, Hinges};
use crate::construct::circuit::layout::{arguments, selection};
use crate::construct::circuit::profile::{Profile, edges};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::{Interval, Up};
use crate::target::expr::Expr;
use crate::target::univariate::enclose;

/// The units of a gate, with what is the same of them wherever the argument is.
pub(super) struct Units<'a> {
    hinges: &'a Hinges,
    /// The relative loss of adding up what they read, and of adding them up.
    reads: Up,
    adds: (usize, Up),
    /// The constant that is read.
    offset: Up,
    /// How far what they read may be from what is added up, at any knot.
    reach: Up,
    /// True if they read one register, and true if all their biases are numbers of the format.
    single: bool,
    stored: bool,
    /// In a host, the loss of adding up, and of a knot.
    in_host: Up,
    pinned: Up,
    /// The error of their activations, and of flushing.
    fixed: Up,
}

impl Analyst<'_> {
    /// The units of a gate that are added up with so many others.
    pub(super) fn units<'h>(&self, hinges: &'h Hinges, reading: &Reading, company: usize) -> Units<'h> {
        let constant = reading.constant.to_f64();
        let difference = |knot: f64| is_difference(constant, knot, self.machine.precision);
        let stored = Rat::from_f64(constant).is_some_and(|near| near == reading.constant)
            && hinges.units.iter().all(|unit| difference(unit.knot));
        let knots = hinges.units.iter().map(|unit| Up::from(unit.knot)).fold(Up::ZERO, Up::max);
        let (reads, in_host) = (self.machine.gamma(reading.count + 3), reading.in_host());
        Units {
            hinges,
            reads,
            adds: (company + 4, self.unit_factor()),
            offset: reading.offset(),
            reach: reads * (reading.all() + knots) + (in_host + reading.pinned * knots),
            single: reading.single,
            stored,
            in_host,
            pinned: reading.pinned,
            fixed: self.activations(hinges) + self.machine.tiny(),
        }
    }

    /// The loss of a gate's units for arguments that are off by an error, read from registers of a size: in reading,
    /// then in adding up.
    pub(super) fn inside(&self, units: &Units<'_>, arguments: Interval, (size, error): (Up, Up)) -> Up {
        let reached = arguments.widened(error + units.reach);
        let ends = [reached.lo(), reached.hi()].map(|end| units.hinges.active(end));
        let most = |f: fn(&Active) -> Up| f(&ends[0]).max(f(&ends[1]));
        let (slopes, heights, knots) = (most(|a| a.slopes), most(|a| a.heights), most(|a| a.knots));
        let size = size + error;
        let read = if self.machine.housing.is_some() {
            // Two halves, exact if it is a single register; two halves of a bias, each rounded, and once before if it is
            // not a number of the format.
            let reads = if units.single { self.machine.gamma(if units.stored { 4 } else { 5 }) } else { units.reads };
            reads * (slopes * (size + units.offset) + knots) + slopes * units.in_host + units.pinned * knots
        } else if units.single {
            // One rounding of the sum, which is the height, and one of the bias, unless it is a number of the format.
            let biases = slopes * units.offset + knots;
            2.0 * (self.machine.unit() * if units.stored { heights } else { heights + biases })
        } else {
            units.reads * (slopes * (size + units.offset) + knots)
        };
        let count = ends[0].count.max(ends[1].count);
        let add = (self.machine.gamma(count + units.adds.0) + units.adds.1) * heights;
        self.note_size(heights + slopes * size);
        read + add + units.fixed
    }

    /// The error that activations other than ReLUs add to a gate.
    fn activations(&self, hinges: &Hinges) -> Up {
        let slopes = || hinges.units.iter().map(|unit| Up::from(unit.slope)).sum::<Up>();
        let gated = Up::ONE + self.unit_factor() + self.gate_factor();
        self.machine.housing.map_or(Up::ZERO, |housing| 3.0 * housing.activation * gated * slopes())
    }

    /// `|P(t̃) - f(t)| ≤ sup|P'| · e + |P(t) - f(t)|`, cell by cell of the argument.
    pub(super) fn curve(&mut self, atom: usize, wire: usize, function: &Expr, of: &Form) -> Result<()> {
        let slot = self.layout.atoms[atom].slot;
        let (known, weight) = (&self.graph.wires[wire], self.choice.weight[wire]);
        let Some(hinges) = self.choice.hinges[wire].clone() else {
            return Err(Error::declined("a curve without hinges"));
        };
        let reading = self.read(of, slot);
        let exact = hinges.integers && self.is_exact_gate(&reading, of, slot, &hinges);
        let units = self.units(&hinges, &reading, self.company(atom));
        let taken: Up = of.terms.iter().map(|(wire, c)| Up::from(c) * self.teeth[*wire]).sum();
        let (mut inner, mut tooth) = (Up::ZERO, Up::ZERO);
        let mut piece = |(argument, values): (Interval, Interval), deviation: Up| {
            let here = reading.at(argument, self.machine);
            let (lost, error) = (here.lost, here.error());
            let steepest = hinges.steepest(argument.widened(error));
            let inside = if exact { Up::ZERO } else { self.inside(&units, argument, (here.size, error)) };
            let own = steepest * error + weight * deviation + inside;
            let factor = self.gate_factor() * (Up::from(values - Interval::point_or_entire(hinges.base)) + own);
            inner = inner.max(inside);
            tooth = tooth.max(steepest * (taken + lost) + inside + factor);
            Piece { argument, values, error: own + factor }
        };
        let pieces: Vec<Piece> = if hinges.integers {
            let values = integer_values(&hinges, reading.range);
            values.into_iter().map(|(t, y)| piece((Interval::point(t), y), hinges.worst())).collect()
        } else {
            let cells = self.layout.cells[wire].get_or_init(|| cells(function, reading.range));
            cells.iter().map(|cell| piece(*cell, hinges.deviation(cell.0))).collect()
        };
        let errors: Vec<(Interval, Up)> = pieces.iter().map(|piece| (piece.values, piece.error)).collect();
        let profile = Profile::gathered(known.range, &errors);
        self.pieces.insert(wire, pieces);
        self.exact[atom] = exact;
        self.constants.bases[atom] = exactly(hinges.base);
        self.sizes[atom] = Up::from(known.range - Interval::point(hinges.base)) + profile.sup();
        self.inner[atom] = inner;
        if is_tooth(function) {
            self.teeth[wire] = tooth;
        }
        self.errors[wire] = Some(profile);
        self.gates[atom] = vec![(hinges, 1.0)];
        Ok(())
    }

    /// `condition · value = R(value - floor + reach · (condition - 1)) + floor · condition`
    pub(super) fn selection(&mut self, atom: usize, wire: usize, condition: &Form, value: &Form) {
        let slot = self.layout.atoms[atom].slot;
        let (forms, _) = arguments(self.graph, wire);
        let reading = self.read(&forms[0], slot);
        let (lo, hi) = (reading.range.lo(), reading.range.hi());
        let (of_condition, of_value) = (self.form_error(condition).sup(), self.form_error(value));
        let (floor, reach) = selection(self.graph, value);
        let here = reading.at(reading.range.relu(), self.machine);
        let lost = reading.lost(reading.range, self.machine);
        let nodes = [(lo.min(-1.0), 0.0), (0.0, 0.0), (hi.max(1.0), hi.max(1.0))];
        let hinges = Hinges::through(&nodes, &[Up::ZERO; 2], Anchor::First, false);
        let exact = self.is_exact_gate(&reading, &forms[0], slot, &hinges);
        let inside = if exact {
            Up::ZERO
        } else {
            let units = self.units(&hinges, &reading, self.company(atom));
            self.inside(&units, reading.range.relu(), (here.size, lost + of_condition + of_value.sup()))
        };
        let fixed = of_condition * (Up::from(&reach) + Up::from(&floor)) + lost + inside;
        let factor = self.gate_factor();
        // Off, the argument is negative, errors included, and the unit is silent.
        let room = (Interval::from(&reach) - Interval::point_or_entire(self.graph.range(value).width())).lo();
        let reads = self.machine.gamma(reading.count + 3) * reading.all() + reading.in_host();
        let silent = of_value.sup() + of_condition * Up::from(&reach) + lost + inside + reads;
        if of_condition == 0.0 && (floor.is_zero() || exact) && silent < room {
            self.off.insert(wire, self.activations(&hinges));
        }
        let beyond = Interval::point_or_entire(silent.get()) - Interval::point_or_entire(room);
        let scaled = |cell: Interval, error: Up| error + factor * (Up::from(cell) + Up::from(&floor) + error);
        let on = of_value.cells().map(|(cell, error)| (cell, scaled(cell, error + fixed)));
        let off = (Interval::ZERO, scaled(Interval::ZERO, fixed + Up::from(beyond.relu())));
        let errors: Vec<_> = on.chain([off]).collect();
        self.exact[atom] = exact;
        self.sizes[atom] = (Up::from(&reach) + of_value.sup() + fixed) * (Up::ONE + factor);
        self.inner[atom] = inside;
        self.errors[wire] = Some(Profile::gathered(self.graph.wires[wire].range, &errors));
        self.gates[atom] = vec![(hinges, 1.0)];
    }
}

/// The cells of a curve's argument, with enclosures of the values there.
fn cells(function: &Expr, range: Interval) -> Vec<(Interval, Interval)> {
    let edges = edges(range);
    let cells = edges.windows(2).map(|cell| Interval::new(cell[0], cell[1]).unwrap_or(range));
    cells.map(|cell| (cell, enclose(function, cell).unwrap_or(Interval::ENTIRE))).collect()
}

/// The integers of a range, with the values that are meant there.
fn integer_values(hinges: &Hinges, range: Interval) -> Vec<(f64, Interval)> {
    let mut values = Vec::new();
    let mut t = range.lo().ceil();
    while t <= range.hi() {
        values.push((t, hinges.value(t).widened(hinges.worst())));
        t += 1.0;
    }
    values
}
