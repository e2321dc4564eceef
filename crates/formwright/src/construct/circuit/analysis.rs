//! How far the circuit, as executed, is from what is meant: wire by wire, and from the approximations of gates and the rounding of floats alike.
//!
//! For a wire with value `t`, the computed one is within `e(t)` ([`Profile`]). With `P` the piecewise-linear function of a gate and `f` the curve,
//!
//! ```text
//! |P(t̃) - f(t)| ≤ sup|P'| · e + |P(t) - f(t)|             the slope over the range that t̃ may reach: widened by e
//! |ãb̃ - ab|     ≤ |a| e_b + |b| e_a + e_a e_b + gate
//! mean           ê(t) + θ · mean|v|,  ê concave ≥ e        (Jensen); θ by the kind of attention: `network/attention/loss.rs`
//! exchange       max(e_a, e_b): the larger of two numbers moves by no more than they do
//! maximum        0 ≤ max - softmax-average ≤ W((n-1)/e)/λ ≤ ln(1 + (n-1)/e)/λ; half of it is added
//! gather         2 exp(-λ(1 - 2e_t))/(1 - exp(-λ)) of the weight leaks, e_t ≤ ¼
//! ```
//!
//! **Rounding** (execution model `ieee-any-order`, numbers in `rounding.rs`): a sum of `k` products is within `γ_k Σ|products|`, weights
//! included, in any order. What a register loses when something is added to it (`u·|z|`) is charged to those who read it; what a gate loses
//! inside, to the gate. A register that was empty loses nothing. Of a pair of units that empties a register (`registers.rs`) a number stays there,
//! exactly, which its readers take away.
//!
//! Every bound is a sum of products of numbers `≥ 0`, and an [`Up`]: the doubles in which it is computed are rounded up.
//!
//! | file | idea |
//! |---|---|
//! | `reading.rs` | what is read from registers, and what is lost then |
//! | `registers.rs` | what registers lose when something is added to them |
//! | `exact.rs` | where nothing is rounded |
//! | `curve.rs` | gates of one argument, and selections |
//! | `exchange.rs` | the larger or the smaller of two numbers |
//! | `product.rs` | products by two squares, and squares and products by teeth |
//! | `head.rs` | means, sums, maxima and gathers |
//! | `housing.rs` | what a stock Transformer's norms and activations add |

mod curve;
mod exact;
mod exchange;
mod head;
mod housing;
mod product;
mod reading;
mod registers;

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, HashMap};

use super::form::Form;
use super::graph::{Graph, Kind};
use super::hinges::Hinges;
use super::layout::{Layout, Source};
use super::profile::Profile;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::{Interval, Up};
use crate::network::{Precision, Realisation};
use crate::rounding::TERMS;

pub(crate) use housing::{Hiding, Housing, Stream};
pub(crate) use product::quarter_squares;

/// The choices that are left once everything has its place.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// For each wire that is a gate, its hinges; those of a product are made for the reach that the analysis finds.
    pub hinges: Vec<Option<Hinges>>,
    /// For each product, half the number of its segments.
    pub halves: Vec<usize>,
    /// For each wire that is a maximum or a gather, the temperature.
    pub temperature: Vec<f64>,
    /// For each wire, what its own approximation is multiplied by: 1, except to see what it contributes.
    pub weight: Vec<f64>,
}

/// The machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    /// The format.
    pub precision: Precision,
    /// The number of tokens.
    pub tokens: usize,
    /// How uniform sums are realised.
    pub attention: Realisation,
    /// The stock Transformer that the circuit lives in, if it does.
    pub housing: Option<Housing>,
}

impl Machine {
    fn unit(self) -> Up {
        self.precision.unit().into()
    }

    fn gamma(self, k: usize) -> Up {
        self.precision.gamma(k)
    }

    /// The most that flushing to 0 may lose.
    fn tiny(self) -> Up {
        self.precision.flushed(TERMS)
    }

    /// Numbers up to this are far enough from the end of the format for sums and products.
    fn largest(self) -> f64 {
        match self.precision {
            Precision::F32 => 2_f64.powi(110),
            Precision::F64 => 2_f64.powi(950),
        }
    }
}

/// The result of the analysis.
#[derive(Clone, Debug)]
pub(crate) struct Analysis {
    /// The error of every wire.
    #[cfg(test)]
    pub errors: Vec<Option<Profile>>,
    /// What is added to what registers hold when they are read.
    pub constants: Constants,
    /// How registers are emptied: by slot and register.
    pub emptied: BTreeMap<(usize, usize), Emptying>,
    /// The hinges of every gate atom, one set for each argument, with its sign.
    pub gates: Vec<Vec<(Hinges, f64)>>,
    /// The error of each output coordinate.
    pub outputs: Vec<Up>,
    /// The largest of them.
    pub output: Up,
    /// The largest number that turns up.
    pub largest: Up,
    /// The largest sum of the squares of what all registers hold.
    pub squares: Up,
    /// How far each atom, as it is in the stream, may be from what it is meant to be there.
    own: Vec<Up>,
    /// The loss of each register before each slot.
    lost: Vec<Vec<Up>>,
    /// The most that flushing to 0 may lose.
    tiny: Up,
}

impl Analysis {
    /// How far a register that holds this row before a slot may be from it. In one that has been emptied, what flushing has put there on the side
    /// of 0 that no unit clears may be left.
    pub fn register_error(&self, row: &Form, register: usize, slot: usize, emptied: bool) -> f64 {
        let atoms: Up = row.terms.iter().map(|(atom, c)| Up::from(c) * self.own[*atom]).sum();
        let error = atoms + self.lost[slot].get(register).copied().unwrap_or_default();
        if error == 0.0 && !emptied { 0.0 } else { (error + self.tiny).get() }
    }
}

/// The numbers that are added to what registers hold when they are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constants {
    /// What is added to each atom, exactly.
    pub bases: Vec<Rat>,
    /// What each register holds besides its atoms, before each slot, exactly.
    pub left: Vec<Vec<Rat>>,
}

impl Constants {
    /// The number that is added when a form over atoms is read in a slot.
    pub fn of(&self, form: &Form, slot: usize, layout: &Layout) -> Rat {
        let bases = form.terms.iter().map(|(atom, c)| c * &self.bases[*atom]);
        let mut sum = bases.fold(form.constant.clone(), |sum, base| sum + base);
        if self.left[slot].iter().any(|left| !left.is_zero()) {
            for (c, left) in layout.coordinates(form, slot).iter().zip(&self.left[slot]) {
                sum -= &(c * left);
            }
        }
        sum
    }

    /// What a register holds besides its atoms.
    pub fn left(&self, slot: usize, register: usize) -> Rat {
        self.left[slot].get(register).cloned().unwrap_or_default()
    }
}

/// A unit that reads one register.
#[derive(Clone, Debug)]
pub(crate) struct Emptier {
    /// Its weight: 1 or -1.
    pub read: f64,
    /// Its bias.
    pub bias: f64,
    /// What it adds to the register, times its height.
    pub adds: f64,
}

/// How a register is emptied.
#[derive(Clone, Debug)]
pub(crate) struct Emptying {
    /// By these units, which may be a gate's as well.
    pub units: Vec<Emptier>,
    /// The number that stays.
    pub left: Rat,
}

/// A cell of a curve's argument, with the values there and the error.
struct Piece {
    argument: Interval,
    values: Interval,
    error: Up,
}

struct Analyst<'a> {
    graph: &'a Graph,
    layout: &'a Layout,
    choice: &'a Choice,
    machine: Machine,
    errors: Vec<Option<Profile>>,
    constants: Constants,
    emptied: BTreeMap<(usize, usize), Emptying>,
    gates: Vec<Vec<(Hinges, f64)>>,
    /// How far an atom, as it is in the stream, may be from what it is meant to be there.
    own: Vec<Up>,
    /// The largest value of an atom, its base apart.
    sizes: Vec<Up>,
    /// The largest value of forms over atoms that are an exchange, constants and bases apart: less than that of all their
    /// atoms together.
    exchanged: HashMap<Form, Up>,
    /// The loss inside of each atom.
    inner: Vec<Up>,
    /// The largest number that turns up.
    largest: Cell<Up>,
    /// The pieces of each curve.
    pieces: BTreeMap<usize, Vec<Piece>>,
    /// The error of a selection that is off.
    off: BTreeMap<usize, Up>,
    /// For each atom, true if it is a multiple of a small power of two, and computed exactly.
    exact: Vec<bool>,
    /// The distance of each tooth of a square from the teeth of the number that the first of them reads.
    teeth: Vec<Up>,
    /// The errors of squares and products of teeth, once they are known.
    aliases: Vec<OnceCell<Profile>>,
    /// The loss of each register before each slot.
    lost: Vec<Vec<Up>>,
    /// How often each register was rounded before each slot.
    times: Vec<Vec<Up>>,
    /// The further loss of each register, before each slot, if `times` is finite.
    fixed: Vec<Vec<Up>>,
    /// The largest sum of the squares of what all registers hold.
    squares: Up,
}

/// Bounds the error of a circuit.
pub(crate) fn analyse(
    graph: &Graph,
    layout: &Layout,
    outputs: &[Form],
    choice: &Choice,
    machine: Machine,
) -> Result<Analysis> {
    let atoms = layout.atoms.len();
    let mut analyst = Analyst {
        graph,
        layout,
        choice,
        machine,
        errors: vec![None; graph.wires.len()],
        constants: Constants { bases: vec![Rat::ZERO; atoms], left: vec![Vec::new()] },
        emptied: BTreeMap::new(),
        gates: vec![Vec::new(); atoms],
        own: vec![Up::ZERO; atoms],
        sizes: vec![Up::ZERO; atoms],
        exchanged: HashMap::new(),
        inner: vec![Up::ZERO; atoms],
        largest: Cell::new(Up::ZERO),
        pieces: BTreeMap::new(),
        off: BTreeMap::new(),
        exact: vec![false; atoms],
        teeth: vec![Up::ZERO; graph.wires.len()],
        aliases: vec![OnceCell::new(); graph.wires.len()],
        lost: vec![Vec::new()],
        times: vec![Vec::new()],
        fixed: vec![Vec::new()],
        squares: Up::ZERO,
    };
    for slot in 0..=layout.last() {
        for atom in (0..atoms).filter(|atom| layout.atoms[*atom].slot == slot) {
            analyst.atom(atom)?;
        }
        analyst.registers(slot);
    }
    let outputs: Vec<Up> = outputs.iter().map(|form| analyst.output(form)).collect();
    let most = analyst.largest.get();
    let largest = most.get();
    if largest > machine.largest() {
        let precision = machine.precision;
        return Err(Error::declined(format!("numbers up to {largest:.1e} are out of the reach of {precision}"))
            .note("try", "another unit for the domain or for the values"));
    }
    let Analyst {
        #[cfg(test)]
        errors,
        constants,
        emptied,
        gates,
        own,
        lost,
        squares,
        ..
    } = analyst;
    let output = outputs.iter().copied().fold(Up::ZERO, Up::max);
    Ok(Analysis {
        #[cfg(test)]
        errors,
        constants,
        emptied,
        gates,
        outputs,
        output,
        largest: most,
        squares,
        own,
        lost,
        tiny: machine.tiny(),
    })
}

impl Analyst<'_> {
    /// The error of an output, as it is read.
    fn output(&self, form: &Form) -> Up {
        let reading = self.read(form, self.layout.last() + 1);
        let constant = self.machine.gamma(reading.count + 2) * reading.offset();
        reading.total(self.machine).sup() + constant + self.machine.tiny()
    }

    /// The error of a form over wires, as a function of its value.
    fn form_error(&self, form: &Form) -> Profile {
        let range = self.graph.range(form);
        let error = |wire: usize| match &self.graph.wires[wire].kind {
            Kind::Cases(form) => Profile::constant(self.graph.wires[wire].range, self.cases_error(form)),
            Kind::Alias { .. } => self.alias_error(wire),
            _ => self.errors[wire].clone().unwrap_or_else(|| Profile::constant(range, Up::ZERO)),
        };
        if let Some((wire, scale)) = form.single() {
            return error(wire).scaled(scale, &form.constant);
        }
        let sum = form.terms.iter().map(|(wire, c)| Up::from(c) * error(*wire).sup()).sum();
        Profile::constant(range, sum)
    }

    /// The error of a sum of selections of which one is on.
    fn cases_error(&self, form: &Form) -> Up {
        let (mut on, mut off) = (Up::ZERO, Up::ZERO);
        for (wire, c) in &form.terms {
            let error = self.form_error(&Form::of(*wire)).sup();
            on = on.max(Up::from(c) * error);
            off += Up::from(c) * self.off.get(wire).copied().unwrap_or(error);
        }
        on + off
    }

    /// The largest value of a form over atoms, constants and bases apart.
    fn size(&self, row: &Form) -> Up {
        if let Some(size) = self.exchanged.get(row) {
            return *size;
        }
        row.terms.iter().map(|(atom, c)| Up::from(c) * self.sizes[*atom]).sum()
    }

    /// The largest value of a register before a slot.
    fn held(&self, slot: usize, register: usize) -> Up {
        let row = self.layout.before[slot].get(register);
        row.map_or(Up::ZERO, |row| self.size(row)) + Up::from(&self.constants.left(slot, register))
    }

    /// Remembers how large numbers get.
    fn note_size(&self, size: Up) {
        self.largest.set(self.largest.get().max(size));
    }

    fn atom(&mut self, atom: usize) -> Result<()> {
        let wire = self.layout.atoms[atom].wire;
        let (range, slack) = (self.graph.wires[wire].range, self.graph.wires[wire].slack);
        match &self.layout.atoms[atom].source {
            Source::Input(_, middle) => {
                let integer = self.graph.wires[wire].integer;
                let unit = if integer { Up::ZERO } else { self.machine.unit() };
                self.sizes[atom] = (range - Interval::from(middle)).into();
                self.exact[atom] = integer && self.sizes[atom] < self.exact_reach();
                self.errors[wire] = Some(Profile::new(range, |cell| unit * Up::from(cell)));
            }
            Source::Position(_) => {
                self.sizes[atom] = range.into();
                let table = self.graph.positional(&Form::of(wire)).unwrap_or_default();
                self.exact[atom] = slack == 0.0 && table.iter().all(exact::is_dyadic);
                self.errors[wire] = Some(Profile::constant(range, slack));
            }
            Source::Gate(_) => self.gate(atom, wire)?,
            Source::Head { .. } => self.head(atom, wire)?,
        }
        // What is read with an atom only adds to the error of its wire; products see to themselves.
        if !matches!(self.graph.wires[wire].kind, Kind::Product(..)) {
            self.own[atom] = self.errors[wire].as_ref().map_or(Up::ZERO, Profile::sup);
        }
        Ok(())
    }

    fn gate(&mut self, atom: usize, wire: usize) -> Result<()> {
        match &self.graph.wires[wire].kind {
            Kind::Curve { function, of } => return self.curve(atom, wire, function, of),
            Kind::Product(a, b) => self.product(atom, wire, a, b),
            Kind::Select { condition, value } => self.selection(atom, wire, condition, value),
            Kind::Exchange { own, other, .. } => self.exchange(atom, wire, own, other),
            _ => {}
        }
        Ok(())
    }
}

/// A double as what it is.
fn exactly(x: f64) -> Rat {
    Rat::from_f64(x).unwrap_or_default()
}
