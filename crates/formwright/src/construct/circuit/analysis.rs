//! How far the circuit, as executed, is from what is meant: wire by wire, and from the approximations of gates and the rounding of floats alike.
//!
//! For a wire with value `t`, the computed one is within `e(t)` ([`Profile`]). With `P` the piecewise-linear function of a gate and `f` the curve,
//!
//! ```text
//! |P(t̃) - f(t)| ≤ sup|P'| · e + |P(t) - f(t)|             the slope over the range that t̃ may reach: inflated by e
//! |ãb̃ - ab|     ≤ |a| e_b + |b| e_a + e_a e_b + gate
//! mean           ê(t) + θ · mean|v|,  ê concave ≥ e        (Jensen); θ by the kind of attention: `lower/realise.rs`
//! maximum        0 ≤ max - softmax-average ≤ W((n-1)/e)/λ ≤ ln(1 + (n-1)/e)/λ; half of it is added
//! gather         2 exp(-λ(1 - 2e_t))/(1 - exp(-λ)) of the weight leaks, e_t ≤ ¼
//! ```
//!
//! **Rounding** (execution model `ieee-any-order`): a sum of `k` products is within `γ_k Σ|products|`, weights included, in any order; an `exp` is
//! within `η = 2^-20` (f32) or `2^-49` (f64). What a register loses when something is added to it (`u·|z|`) is charged to those who read it;
//! what a gate loses inside, to the gate. A register that was empty loses nothing.
//!
//! Every bound is a sum of products of numbers `≥ 0`; the factor `1 + 10^-9` at the end covers the doubles in which it is computed.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

use super::deepen::is_tooth;
use super::form::Form;
use super::graph::{Graph, Kind, Wire, is_table_product};
use super::hinges::{Active, Hinges};
use super::layout::{Layout, Scores, Source, arguments};
use super::profile::Profile;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Interval;
use crate::lower::realise::Loss;
use crate::network::{Precision, Realisation};
use crate::target::expr::{Expr, Node};
use crate::target::univariate::enclose;

/// The choices that are left once everything has its place.
#[derive(Clone, Debug)]
pub struct Choice {
    /// For each wire that is a gate, its hinges; those of a product are made for the reach that the analysis finds.
    pub hinges: Vec<Option<Hinges>>,
    /// For each product, half the number of its segments.
    pub halves: Vec<usize>,
    /// For each wire that is a maximum or a gather, the temperature.
    pub temperature: Vec<f64>,
    /// For each wire, what its own approximation is multiplied by: 1, except to see what it contributes.
    pub weight: Vec<f64>,
}

/// The machine, and what is taken into account; everything is, except in tests that show why.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The format.
    pub precision: Precision,
    /// The number of tokens.
    pub tokens: usize,
    /// How uniform sums are realised.
    pub attention: Realisation,
    /// Whether slopes are taken over ranges inflated by the errors.
    pub inflated: bool,
    /// Whether errors depend on the value.
    pub subdivided: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The error of every wire.
    pub errors: Vec<Option<Profile>>,
    /// The constant that is added to an atom when it is read, exactly.
    pub bases: Vec<Rat>,
    /// The hinges of every gate atom, one set for each argument, with its sign.
    pub gates: Vec<Vec<(Hinges, f64)>>,
    /// The error of each output coordinate.
    pub outputs: Vec<f64>,
    /// The largest of them.
    pub output: f64,
    /// How far each atom, as it is in the stream, may be from what it is meant to be there.
    own: Vec<f64>,
    /// What each register has lost before each slot.
    lost: Vec<Vec<f64>>,
    /// What flushing to 0 may lose.
    tiny: f64,
}

impl Analysis {
    /// How far a register that holds this row before a slot may be from it.
    pub fn register_error(&self, row: &Form, register: usize, slot: usize) -> f64 {
        let atoms: f64 = row.terms.iter().map(|(atom, c)| float(c).abs() * self.own[*atom]).sum();
        let error = (atoms + self.lost[slot].get(register).copied().unwrap_or(0.0)) * (1.0 + 1e-9);
        if error == 0.0 { 0.0 } else { error + self.tiny }
    }
}

impl Machine {
    fn unit(self) -> f64 {
        0.5_f64.powi(i32::try_from(self.precision.digits()).unwrap_or(53))
    }

    fn gamma(self, k: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a number of operations")]
        let ku = k as f64 * self.unit();
        if ku < 0.5 { ku / (1.0 - ku) * (1.0 + 1e-12) } else { f64::INFINITY }
    }

    /// The relative error of an `exp`.
    fn exp(self) -> f64 {
        match self.precision {
            Precision::F32 => 2_f64.powi(-20),
            Precision::F64 => 2_f64.powi(-49),
        }
    }

    /// What flushing to 0 may lose.
    fn tiny(self) -> f64 {
        match self.precision {
            Precision::F32 => 2_f64.powi(-110),
            Precision::F64 => 2_f64.powi(-1000),
        }
    }
}

/// What is known of a number that is read from registers.
struct Reading {
    /// Its range.
    range: Interval,
    /// The error of the atoms that it is made of.
    value: Profile,
    /// What the registers have lost, in absolute terms.
    lost: f64,
    /// How often the only register was rounded, if there is only one, with one atom in it.
    alone: Option<f64>,
    /// What is added to the registers' sum.
    constant: f64,
    /// `Σ |c_p| |z_p|` at most.
    size: f64,
    /// The number of registers.
    count: usize,
    /// Whether it is one register times a power of two: nothing is lost before something is added.
    single: bool,
}

impl Reading {
    /// `Σ |c_p| |z_p|` where the number lies between `lo` and `hi`.
    fn size(&self, lo: f64, hi: f64) -> f64 {
        if self.alone.is_some() {
            (lo - self.constant).abs().max((hi - self.constant).abs()) + self.value.over(lo, hi)
        } else {
            self.size
        }
    }

    /// What the registers lost and the sum loses, at most.
    fn rounding(&self, machine: Machine) -> f64 {
        let (lo, hi) = (self.range.lo(), self.range.hi());
        self.lost(lo, hi, machine.unit()) + machine.gamma(self.count + 2) * self.size(lo, hi)
    }

    /// What the registers have lost.
    fn lost(&self, lo: f64, hi: f64, unit: f64) -> f64 {
        self.alone.map_or(self.lost, |times| times * unit * self.size(lo, hi))
    }

    /// The error of the linear part, as the sum is computed.
    fn total(&self, machine: Machine) -> Profile {
        let gamma = machine.gamma(self.count + 2);
        let more = |lo: f64, hi: f64| self.lost(lo, hi, machine.unit()) + gamma * self.size(lo, hi);
        let value = if self.alone.is_some() {
            Profile::new(self.range, |lo, hi| self.value.over(lo, hi))
        } else {
            self.value.clone()
        };
        value.plus(more)
    }
}

/// A factor of a product, its range and its error.
type Side<'a> = (&'a Form, Interval, Profile);

struct Analyst<'a> {
    graph: &'a Graph,
    layout: &'a Layout,
    choice: &'a Choice,
    machine: Machine,
    errors: Vec<Option<Profile>>,
    bases: Vec<Rat>,
    gates: Vec<Vec<(Hinges, f64)>>,
    /// How far an atom, as it is in the stream, may be from what it is meant to be there.
    own: Vec<f64>,
    /// The largest value of an atom, its base apart.
    sizes: Vec<f64>,
    /// What an atom loses inside.
    inner: Vec<f64>,
    /// The largest number that turns up.
    largest: Cell<f64>,
    /// The cells of a curve's argument, with the values there and the error.
    cells: BTreeMap<usize, Vec<(f64, f64, Interval, f64)>>,
    /// The error of a selection that is off.
    off: BTreeMap<usize, f64>,
    /// Whether an atom is a multiple of a small power of two, and computed exactly.
    exact: Vec<bool>,
    /// What each tooth of a square is off by from the teeth of what the first of them reads.
    teeth: Vec<f64>,
    /// The errors of squares and products of teeth, once they are known.
    aliases: Vec<OnceCell<Profile>>,
    /// What each register has lost before each slot.
    lost: Vec<Vec<f64>>,
    /// How often each register was rounded before each slot.
    times: Vec<Vec<f64>>,
}

/// Bounds the error of a circuit.
pub fn analyse(
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
        bases: vec![Rat::ZERO; atoms],
        gates: vec![Vec::new(); atoms],
        own: vec![0.0; atoms],
        sizes: vec![0.0; atoms],
        inner: vec![0.0; atoms],
        largest: Cell::new(0.0),
        cells: BTreeMap::new(),
        off: BTreeMap::new(),
        exact: vec![false; atoms],
        teeth: vec![0.0; graph.wires.len()],
        aliases: vec![OnceCell::new(); graph.wires.len()],
        lost: vec![Vec::new()],
        times: vec![Vec::new()],
    };
    for slot in 0..=layout.last() {
        for atom in (0..atoms).filter(|atom| layout.atoms[*atom].slot == slot) {
            analyst.atom(atom)?;
        }
        analyst.registers(slot);
    }
    let end = layout.last() + 1;
    let mut errors_out = Vec::new();
    for form in outputs {
        let reading = analyst.read(form, end);
        let constant = machine.gamma(reading.count + 2) * reading.constant.abs();
        errors_out.push((reading.total(machine).sup() + constant + machine.tiny()) * (1.0 + 1e-9));
    }
    let limit = match machine.precision {
        Precision::F32 => 2_f64.powi(110),
        Precision::F64 => 2_f64.powi(950),
    };
    if analyst.largest.get() > limit {
        return Err(Error::declined(format!(
            "numbers up to {:.1e} are out of the reach of {}",
            analyst.largest.get(),
            machine.precision
        ))
        .note("try", "another unit for the domain or for the values"));
    }
    let Analyst { errors, bases, gates, own, lost, .. } = analyst;
    let output = errors_out.iter().copied().fold(0.0, f64::max);
    let output = if errors_out.iter().any(|error| error.is_nan()) { f64::INFINITY } else { output };
    Ok(Analysis { errors, bases, gates, outputs: errors_out, output, own, lost, tiny: machine.tiny() })
}

fn float(x: &Rat) -> f64 {
    x.to_f64()
}

impl Analyst<'_> {
    /// The constant of a form over atoms, their bases included.
    fn constant(&self, form: &Form) -> f64 {
        constant(form, &self.bases)
    }

    /// The error of a form over wires, as a function of its value.
    fn form_error(&self, form: &Form) -> Profile {
        let range = self.graph.range(form);
        let error = |wire: usize| match &self.graph.wires[wire].kind {
            Kind::Cases(form) => Profile::constant(self.graph.wires[wire].range, self.cases_error(form)),
            Kind::Alias { .. } => self.alias_error(wire),
            _ => self.errors[wire].clone().unwrap_or_else(|| Profile::constant(range, 0.0)),
        };
        match form.single() {
            Some((wire, scale)) if self.machine.subdivided => error(wire).scaled(float(scale), float(&form.constant)),
            _ => {
                let sum = form.terms.iter().map(|(wire, c)| float(c).abs() * error(*wire).sup()).sum();
                Profile::constant(range, sum)
            }
        }
    }

    /// The error of a square or a product of teeth, of which there are two bounds. The teeth are steep, and add up what they take over:
    /// `2r e_u` for a square, whatever the value. But they are also the square of what they read, up to their deviation and what they lose
    /// themselves, so that
    ///
    /// ```text
    /// |Ŝ(ũ) - u²| ≤ 2|u| e_u + e_u² + deviation + lost,     |P̂(ã, b̃) - ab| ≤ |a| e_b + |b| e_a + e_a e_b + deviation + lost
    /// ```
    fn alias_error(&self, wire: usize) -> Profile {
        if let Some(known) = self.aliases[wire].get() {
            return known.clone();
        }
        let Wire { kind: Kind::Alias { form, deviation, meaning, arguments, reach }, range, .. } =
            &self.graph.wires[wire]
        else {
            return Profile::constant(self.graph.wires[wire].range, f64::INFINITY);
        };
        let deviation = deviation * self.choice.weight[wire];
        let steep = Profile::constant(*range, self.form_error(form).sup() + deviation);
        let lost: f64 = form.terms.iter().map(|(wire, c)| float(c).abs() * self.teeth[*wire]).sum();
        let within = |form: &Form| self.graph.range(form).mag() + self.form_error(form).sup() <= *reach;
        if !self.machine.subdivided || !arguments.iter().all(within) {
            return steep;
        }
        let read = match &**meaning {
            Kind::Curve { of, .. } => {
                let error = self.form_error(of);
                Profile::new(*range, |lo, hi| {
                    let (near, far) = (lo.max(0.0).sqrt() * (1.0 - 1e-12), hi.max(0.0).sqrt() * (1.0 + 1e-12));
                    let error = error.over(near, far).max(error.over(-far, -near));
                    2.0 * far * error + error * error + deviation + lost
                })
            }
            Kind::Product(a, b) => {
                let sides = [a, b].map(|form| (form, self.graph.range(form), self.form_error(form)));
                Profile::constant(*range, self.pairs(&sides[0], &sides[1], (0.0, 0.0)) + deviation + lost)
            }
            _ => steep.clone(),
        };
        let better = if read.sup() <= steep.sup() { read } else { steep };
        if form.terms.keys().all(|wire| self.errors[*wire].is_some() || self.aliases[*wire].get().is_some()) {
            let _ = self.aliases[wire].set(better.clone());
        }
        better
    }

    /// What a wire is meant to be.
    fn meant(&self, wire: usize) -> &Kind {
        match &self.graph.wires[wire].kind {
            Kind::Alias { meaning, .. } => meaning,
            kind => kind,
        }
    }

    /// **Lemma** (deviations and variance): if `v = mean(d²)` and `mean(d) = 0`, then `d_i² ≤ (n-1) v`, since `d_i = -Σ_{j≠i} d_j`.
    ///
    /// If `a = c·d` and `b` is a function of `v`: the cells of `v`, and the largest `|a|` for a variance up to a given one.
    #[expect(clippy::type_complexity, reason = "cells, and a function of their ends")]
    fn deviation_and_variance(
        &self,
        a: &Form,
        b: &Form,
    ) -> Option<(&Vec<(f64, f64, Interval, f64)>, impl Fn(f64) -> f64 + use<>)> {
        let wire =
            |form: &Form| form.single().filter(|(_, c)| **c == Rat::ONE && form.constant.is_zero()).map(|(k, _)| k);
        let (curve, scale) = b.single().filter(|_| b.constant.is_zero()).filter(|(_, c)| **c == Rat::ONE)?;
        let _ = scale;
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
        #[expect(clippy::cast_precision_loss, reason = "a number of tokens")]
        let others = (self.machine.tokens - 1) as f64;
        let factor = float(&factor).abs();
        Some((self.cells.get(&curve)?, move |most: f64| factor * (others * most.max(0.0)).sqrt() * (1.0 + 1e-12)))
    }

    /// Whether the mean of a form is 0 by its making: `e - mean(e)`.
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

    /// The error of a sum of selections of which one is on.
    fn cases_error(&self, form: &Form) -> f64 {
        let (mut on, mut off) = (0.0_f64, 0.0);
        for (wire, c) in &form.terms {
            let error = self.form_error(&Form::of(*wire)).sup();
            on = on.max(float(c).abs() * error);
            off += float(c).abs() * self.off.get(wire).copied().unwrap_or(error);
        }
        on + off
    }

    /// What is known of a form over wires that is read in a slot.
    fn read(&self, form: &Form, slot: usize) -> Reading {
        let lowered = self.layout.lower(form);
        let coordinates = self.layout.coordinates(&lowered, slot);
        let rows = &self.layout.before[slot];
        let used: Vec<usize> = (0..rows.len()).filter(|p| !coordinates[*p].is_zero()).collect();
        let weight = |p: usize| float(&coordinates[p]).abs();
        let mut lost: f64 = used.iter().map(|p| weight(*p) * self.lost[slot][*p]).sum();
        // An atom that several registers share was rounded in each of them.
        for atom in lowered.terms.keys().chain(used.iter().flat_map(|p| rows[*p].terms.keys())) {
            let shared: f64 =
                used.iter().filter_map(|p| Some(weight(*p) * float(rows[*p].terms.get(atom)?).abs())).sum();
            let own = lowered.terms.get(atom).map_or(0.0, |c| float(c).abs());
            lost += (shared - own).max(0.0) * self.inner[*atom];
        }
        let alone = match used[..] {
            [p] if rows[p].terms.len() == 1 && self.machine.subdivided && lost <= weight(p) * self.lost[slot][p] => {
                Some(self.times[slot][p]).filter(|times| times.is_finite())
            }
            _ => None,
        };
        let size: f64 = used.iter().map(|p| weight(*p) * self.size(&rows[*p])).sum();
        self.note_size(size + self.constant(&lowered).abs());
        Reading {
            range: self.graph.range(form),
            value: self.form_error(form),
            lost,
            alone,
            constant: self.constant(&lowered),
            size,
            count: used.len(),
            single: matches!(used[..], [p] if weight(p).log2().fract() == 0.0),
        }
    }

    /// The largest value of a form over atoms, constants and bases apart.
    fn size(&self, row: &Form) -> f64 {
        row.terms.iter().map(|(atom, c)| float(c).abs() * self.sizes[*atom]).sum()
    }

    /// What the registers lose in a slot.
    fn registers(&mut self, slot: usize) {
        let (mut lost, mut times) = (self.lost[slot].clone(), self.times[slot].clone());
        let after = &self.layout.before[slot + 1];
        lost.resize(after.len(), 0.0);
        times.resize(after.len(), 0.0);
        for clear in &self.layout.clears[slot] {
            (lost[clear.register], times[clear.register]) = (0.0, 0.0);
        }
        for (register, addition) in &self.layout.writes[slot] {
            let was_empty = self.layout.before[slot].get(*register).is_none_or(|row| row.terms.is_empty());
            if self.is_exact(&after[*register]) {
                continue;
            }
            if slot == 0 {
                let (loss, once) = self.embedding_loss(addition);
                lost[*register] += loss;
                times[*register] = if once { 1.0 + 1e-6 } else { f64::INFINITY };
            } else if !was_empty {
                // What was there takes part in the sum, in any order.
                let terms = self.active(addition) + 2;
                let before = self.layout.before[slot].get(*register).map_or(0.0, |row| self.size(row));
                lost[*register] += self.machine.gamma(terms) * (before + self.size(&after[*register]));
                times[*register] = f64::INFINITY;
            }
            if slot % 2 == 1 && addition.terms.len() > 1 {
                // Several heads add up before they reach the register.
                lost[*register] += self.machine.gamma(addition.terms.len() + 1) * self.size(addition);
                times[*register] = f64::INFINITY;
            }
            for clear in self.layout.clears[slot].iter().filter(|clear| clear.register == *register) {
                let units = self.active(addition);
                lost[*register] += 2.0 * self.machine.gamma(units + 4) * self.size(&clear.content);
                // The register is not alone any more: what was cleared left its rounding.
                times[*register] = f64::INFINITY;
            }
        }
        for (times, lost) in times.iter_mut().zip(&lost) {
            if times.is_infinite() && *lost == 0.0 {
                *times = 0.0;
            }
        }
        for row in after {
            self.note_size(self.size(row));
        }
        self.lost.push(lost);
        self.times.push(times);
    }

    /// What the embedding loses in a register, and whether it is one rounding of what the register holds: a single input, only moved.
    fn embedding_loss(&self, row: &Form) -> (f64, bool) {
        let sizes = row.terms.iter().map(|(atom, c)| match &self.layout.atoms[*atom].source {
            Source::Input(_, middle) => {
                let wire = self.layout.atoms[*atom].wire;
                float(c).abs() * (self.graph.wires[wire].range.mag() + float(middle).abs())
            }
            _ => float(c).abs() * self.sizes[*atom],
        });
        let all = self.machine.gamma(row.terms.len() + 5) * sizes.sum::<f64>();
        let moved = row.single().filter(|(_, c)| c.abs() == Rat::ONE).map(|(atom, _)| &self.layout.atoms[atom]);
        match moved.map(|atom| (&atom.source, atom.wire)) {
            // Both the input and the middle are numbers of the format.
            Some((Source::Input(..), wire)) if is_centre(self.graph.wires[wire].range) => {
                (self.machine.unit() * self.size(row) * (1.0 + 1e-6), true)
            }
            _ => (all, false),
        }
    }

    /// Whether a register holds multiples of a small power of two, exactly: sums and products of such numbers are not rounded.
    fn is_exact(&self, row: &Form) -> bool {
        row.terms.iter().all(|(atom, c)| self.exact[*atom] && is_dyadic(float(c)))
            && self.size(row) < self.exact_reach()
    }

    /// Multiples of `2^-12` below this are numbers of the format, and so are their partial sums.
    fn exact_reach(&self) -> f64 {
        2_f64.powi(i32::try_from(self.machine.precision.digits()).unwrap_or(24) - 14)
    }

    /// What the atoms of a form that are in several registers lose inside.
    fn spread(&self, form: &Form, slot: usize) -> f64 {
        let lowered = self.layout.lower(form);
        let several =
            |atom: usize| self.layout.before[slot].iter().filter(|row| row.terms.contains_key(&atom)).count() > 1;
        lowered
            .terms
            .iter()
            .filter(|(atom, _)| several(**atom))
            .map(|(atom, c)| float(c).abs() * self.inner[*atom])
            .sum()
    }

    /// Whether a form is read exactly: from registers that are exact, with weights that are.
    fn reads_exactly(&self, form: &Form, slot: usize) -> bool {
        let coordinates = self.layout.coordinates(&self.layout.lower(form), slot);
        coordinates
            .iter()
            .zip(&self.layout.before[slot])
            .enumerate()
            .all(|(p, (c, row))| c.is_zero() || is_dyadic(float(c)) && self.lost[slot][p] == 0.0 && self.is_exact(row))
    }

    /// Remembers how large numbers get.
    fn note_size(&self, size: f64) {
        self.largest.set(self.largest.get().max(if size.is_nan() { f64::INFINITY } else { size }));
    }

    /// Whether a gate reads exact numbers and adds them up exactly.
    fn is_exact_gate(&self, reading: &Reading, form: &Form, slot: usize, hinges: &Hinges) -> bool {
        let exact_reads = self.reads_exactly(form, slot);
        let exact_units = hinges.units.iter().all(|unit| is_dyadic(unit.knot) && is_dyadic(unit.slope));
        let ends = [hinges.active(reading.range.lo()), hinges.active(reading.range.hi())];
        let most = ends.iter().map(|active| active.heights + active.slopes + active.knots).fold(0.0, f64::max);
        let small = most + reading.size + reading.constant.abs() + hinges.base.abs() < self.exact_reach();
        let no_error = reading.value.sup() == 0.0 && reading.lost == 0.0;
        exact_reads && exact_units && small && no_error && is_dyadic(reading.constant) && is_dyadic(hinges.base)
    }

    /// The terms that are not 0 when atoms are added to a register: active units, or the values of heads.
    fn active(&self, addition: &Form) -> usize {
        let of_hinges = |hinges: &Hinges| {
            hinges
                .units
                .iter()
                .filter(|unit| unit.right)
                .count()
                .max(hinges.units.iter().filter(|unit| !unit.right).count())
        };
        let of_atom =
            |atom: &usize| self.gates[*atom].iter().map(|(hinges, _)| of_hinges(hinges)).sum::<usize>().max(1);
        addition.terms.keys().map(of_atom).sum()
    }

    /// The units that others write, or clear, where an atom is written: they take part in its sums.
    fn company(&self, atom: usize) -> usize {
        let slot = self.layout.atoms[atom].slot;
        let others = self.layout.writes[slot].values().filter(|addition| addition.terms.contains_key(&atom));
        let count = |addition: &Form| {
            let others = addition.terms.keys().filter(|other| **other != atom);
            others.map(|other| self.expected_units(*other)).sum::<usize>()
        };
        2 + others.map(count).max().unwrap_or(0)
    }

    /// The units of a gate, before its hinges are known.
    fn expected_units(&self, atom: usize) -> usize {
        let wire = self.layout.atoms[atom].wire;
        if is_table_product(self.graph, wire) {
            let widths = arguments(self.graph, wire).0.iter().map(|form| self.graph.range(form).width()).sum::<f64>();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousand")]
            return widths as usize + 4;
        }
        match &self.choice.hinges[wire] {
            Some(hinges) => hinges.units.len(),
            None => 4 * self.choice.halves[wire] + 2,
        }
    }

    fn atom(&mut self, atom: usize) -> Result<()> {
        let wire = self.layout.atoms[atom].wire;
        let (range, slack) = (self.graph.wires[wire].range, self.graph.wires[wire].slack);
        match &self.layout.atoms[atom].source {
            Source::Input(_, middle) => {
                let integer = self.graph.wires[wire].integer;
                let unit = if integer { 0.0 } else { self.machine.unit() };
                self.sizes[atom] = (range - Interval::from(middle)).mag();
                self.exact[atom] = integer && self.sizes[atom] < self.exact_reach();
                self.errors[wire] = Some(Profile::new(range, |lo, hi| unit * lo.abs().max(hi.abs())));
            }
            Source::Position(_) => {
                self.sizes[atom] = range.mag();
                let table = self.graph.positional(&Form::of(wire)).unwrap_or_default();
                self.exact[atom] = slack == 0.0 && table.iter().all(|value| is_dyadic(float(value)) && is_float(value));
                self.errors[wire] = Some(Profile::constant(range, slack));
            }
            Source::Gate(_) => self.gate(atom, wire)?,
            Source::Head { .. } => self.head(atom, wire)?,
        }
        // What is read with an atom only adds to the error of its wire; products see to themselves.
        if !matches!(self.graph.wires[wire].kind, Kind::Product(..)) {
            self.own[atom] = self.errors[wire].as_ref().map_or(0.0, Profile::sup);
        }
        Ok(())
    }

    /// What a sum that a unit reads loses by rounding.
    fn reading_error(&self, reading: &Reading) -> f64 {
        self.machine.gamma(reading.count + 3) * (reading.size + reading.constant.abs())
    }

    /// What the units of a gate lose between two arguments: reading, then adding up.
    fn inside(&self, hinges: &Hinges, reading: &Reading, (lo, hi): (f64, f64), error: f64, company: usize) -> f64 {
        let machine = self.machine;
        let knots = hinges.units.iter().map(|unit| unit.knot.abs()).fold(0.0, f64::max);
        let reach = error + machine.gamma(reading.count + 3) * (reading.size + reading.constant.abs() + knots);
        let ends = [hinges.active(lo - reach), hinges.active(hi + reach)];
        let most = |f: fn(&Active) -> f64| ends.iter().map(f).fold(0.0, f64::max);
        let count = ends.iter().map(|active| active.count).max().unwrap_or(0);
        let slopes = most(|active| active.slopes);
        let size = reading.size(lo, hi) + error;
        let heights = most(|active| active.heights);
        let read = if reading.single {
            // One rounding of the sum, which is the height, and one of the bias, unless it is a number of the format.
            let exact = hinges.units.iter().all(|unit| is_difference(reading.constant, unit.knot, machine.precision));
            let biases = slopes * reading.constant.abs() + most(|active| active.knots);
            2.0 * machine.unit() * heights + if exact { 0.0 } else { 2.0 * machine.unit() * biases }
        } else {
            machine.gamma(reading.count + 3) * (slopes * (size + reading.constant.abs()) + most(|active| active.knots))
        };
        let add = machine.gamma(count + company + 4) * heights;
        self.note_size(heights + slopes * size);
        (read + add) * (1.0 + 1e-6) + machine.tiny()
    }

    fn gate(&mut self, atom: usize, wire: usize) -> Result<()> {
        match &self.graph.wires[wire].kind {
            Kind::Curve { function, of } => self.curve(atom, wire, function, of),
            Kind::Product(a, b) => {
                self.product(atom, wire, a, b);
                Ok(())
            }
            Kind::Select { condition, value } => {
                self.selection(atom, wire, condition, value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// `|P(t̃) - f(t)| ≤ sup|P'| · e + |P(t) - f(t)|`, cell by cell of the argument.
    fn curve(&mut self, atom: usize, wire: usize, function: &Expr, of: &Form) -> Result<()> {
        let slot = self.layout.atoms[atom].slot;
        let known = &self.graph.wires[wire];
        let (unit, company, weight) = (self.machine.unit(), self.company(atom), self.choice.weight[wire]);
        let Some(hinges) = self.choice.hinges[wire].clone() else {
            return Err(Error::declined("a curve without hinges"));
        };
        let reading = self.read(of, slot);
        let exact = hinges.integers && self.is_exact_gate(&reading, of, slot, &hinges);
        let mut pieces: Vec<(Interval, f64)> = Vec::new();
        let mut cells = Vec::new();
        let (mut inner, mut tooth) = (0.0_f64, 0.0_f64);
        let taken: f64 = of.terms.iter().map(|(wire, c)| float(c).abs() * self.teeth[*wire]).sum();
        let mut piece = |lo: f64, hi: f64, value: Interval, deviation: f64| {
            let error = reading.value.over(lo, hi) + reading.lost(lo, hi, unit);
            let reach = if self.machine.inflated { error } else { 0.0 };
            let steepest = hinges.steepest(lo - reach, hi + reach);
            let inside = if exact { 0.0 } else { self.inside(&hinges, &reading, (lo, hi), error, company) };
            inner = inner.max(inside);
            tooth = tooth.max(steepest * (taken + reading.lost(lo, hi, unit)) + inside);
            let error = steepest * error + deviation * weight + inside;
            pieces.push((value, error));
            cells.push((lo, hi, value, error));
        };
        if hinges.integers {
            for (t, y) in integer_values(&hinges, reading.range) {
                piece(t, t, Interval::point(y), hinges.worst());
            }
        } else {
            let known = self.layout.cells[wire].get_or_init(|| {
                let values = |lo, hi| enclose(function, Interval::new(lo, hi).unwrap_or(reading.range));
                let cells = super::profile::edges(reading.range);
                let cells = cells.windows(2).map(|cell| (cell[0], cell[1]));
                cells.map(|(lo, hi)| (lo, hi, values(lo, hi).unwrap_or(Interval::ENTIRE))).collect()
            });
            for (lo, hi, values) in known {
                piece(*lo, *hi, *values, hinges.deviation(*lo, *hi));
            }
        }
        let profile = Profile::gathered(known.range, &pieces);
        let profile = if self.machine.subdivided { profile } else { Profile::constant(known.range, profile.sup()) };
        self.cells.insert(wire, cells);
        self.exact[atom] = exact;
        self.bases[atom] = exactly(hinges.base);
        self.sizes[atom] = (known.range - Interval::point(hinges.base)).mag() + profile.sup();
        self.inner[atom] = inner;
        if is_tooth(function) {
            self.teeth[wire] = tooth;
        }
        self.errors[wire] = Some(profile);
        self.gates[atom] = vec![(hinges, 1.0)];
        Ok(())
    }

    /// The two squares of a product, with signs; their deviation, what they lose inside, and how far errors of their arguments move them.
    fn squares(&self, atom: usize, wire: usize) -> Squares {
        let slot = self.layout.atoms[atom].slot;
        let (unit, company) = (self.machine.unit(), self.company(atom) + self.expected_units(atom));
        let (forms, _) = arguments(self.graph, wire);
        let readings: Vec<Reading> = forms.iter().map(|form| self.read(form, slot)).collect();
        let (mut gates, mut inner) = (Vec::new(), 0.0_f64);
        let mut deviation = 0.0_f64;
        let mut tables = 0.0_f64;
        for (reading, sign) in readings.iter().zip([1.0, -1.0]) {
            let (lo, hi) = (reading.range.lo(), reading.range.hi());
            let error = reading.value.sup() + reading.lost(lo, hi, unit);
            let inflation = if self.machine.inflated { error } else { 0.0 };
            let hinges = match &self.choice.hinges[wire] {
                Some(_) => quarter_squares(reading.range),
                None => Hinges::square((reading.range.mag() + inflation) * (1.0 + 1e-6), self.choice.halves[wire]),
            };
            tables += hinges.steepest(lo - error, hi + error) * error;
            deviation = deviation.max(hinges.worst());
            inner += self.inside(&hinges, reading, (lo, hi), error, company);
            gates.push((hinges, sign));
        }
        Squares { gates, deviation, inner, moved: tables }
    }

    /// `|a| e_b + |b| e_a + e_a e_b`, the errors of registers apart where they enter only once.
    fn pairs(
        &self,
        (a, range_a, left): &Side<'_>,
        (b, range_b, right): &Side<'_>,
        (lost_a, lost_b): (f64, f64),
    ) -> f64 {
        let mut worst = 0.0_f64;
        let mut pair = |x: f64, of_a: f64, y: f64, of_b: f64| {
            worst = worst.max(x * of_b + y * of_a + (of_a + lost_a) * (of_b + lost_b));
        };
        if let Some((cells, size)) = self.deviation_and_variance(a, b) {
            let of_a = left.sup();
            for (_, most, values, of_b) in cells {
                pair(size(*most).min(range_a.mag()), of_a, values.mag(), *of_b);
            }
        } else if let Some((cells, size)) = self.deviation_and_variance(b, a) {
            let of_b = right.sup();
            for (_, most, values, of_a) in cells {
                pair(values.mag(), *of_a, size(*most).min(range_b.mag()), of_b);
            }
        } else {
            for (lo, hi, of_a) in left.cells() {
                let x = lo.abs().max(hi.abs());
                for (lo, hi, of_b) in right.cells() {
                    pair(x, of_a, lo.abs().max(hi.abs()), of_b);
                }
            }
        }
        worst
    }

    fn product(&mut self, atom: usize, wire: usize, a: &Form, b: &Form) {
        let slot = self.layout.atoms[atom].slot;
        let (left, right) = (self.read(a, slot), self.read(b, slot));
        let (range_a, range_b) = (left.range, right.range);
        let unit = self.machine.unit();
        let (lost_a, lost_b) =
            (left.lost(range_a.lo(), range_a.hi(), unit), right.lost(range_b.lo(), range_b.hi(), unit));
        let Squares { gates, mut deviation, inner, moved } = self.squares(atom, wire);
        let sides = [(a, range_a, left.value), (b, range_b, right.value)];
        let mut worst = self.pairs(&sides[0], &sides[1], (lost_a, lost_b));
        let known = &self.graph.wires[wire];
        // The registers lose before the gate reads them, and not before the rest is read.
        worst += lost_a * range_b.width() + lost_b * range_a.width();
        // What several registers hold is not rounded alike in all of them.
        worst += 2.0 * (self.spread(a, slot) * range_b.mag() + self.spread(b, slot) * range_a.mag());
        if is_table_product(self.graph, wire) {
            (worst, deviation) = (moved, 0.0);
        }
        let error = worst + deviation * self.choice.weight[wire] + inner;
        let reach: f64 = if is_table_product(self.graph, wire) {
            known.range.mag()
        } else {
            range_a.width() * range_b.width() / 4.0
        };
        // In the stream it is (a - m_a)(b - m_b), whatever is read with it.
        let middle = |range: Interval| (range - Interval::from(&super::layout::middle(range))).mag();
        let (of_a, of_b) = (sides[0].2.sup() + lost_a, sides[1].2.sup() + lost_b);
        self.own[atom] = if is_table_product(self.graph, wire) {
            error
        } else {
            let moved = middle(range_a) * of_b + middle(range_b) * of_a + of_a * of_b;
            moved + deviation * self.choice.weight[wire] + inner
        };
        let bases = gates.iter().map(|(hinges, sign)| exactly(sign * hinges.base));
        self.bases[atom] = bases.fold(Rat::ZERO, |sum, base| sum + base);
        self.sizes[atom] = reach + error + float(&self.bases[atom]).abs();
        self.inner[atom] = inner;
        self.errors[wire] = Some(Profile::constant(known.range, error));
        self.gates[atom] = gates;
    }

    /// `condition · value = R(value - floor + reach · (condition - 1)) + floor · condition`
    fn selection(&mut self, atom: usize, wire: usize, condition: &Form, value: &Form) {
        let slot = self.layout.atoms[atom].slot;
        let (forms, _) = arguments(self.graph, wire);
        let known = &self.graph.wires[wire];
        let (unit, company) = (self.machine.unit(), self.company(atom));
        let reading = self.read(&forms[0], slot);
        let (lo, hi) = (reading.range.lo(), reading.range.hi());
        let (of_condition, of_value) = (self.form_error(condition).sup(), self.form_error(value));
        let (floor, reach) = super::layout::selection(self.graph, value);
        let lost = reading.lost(lo, hi, unit);
        let hinges = Hinges::through(
            &[(lo.min(-1.0), 0.0), (0.0, 0.0), (hi.max(1.0), hi.max(1.0))],
            &[0.0; 2],
            super::hinges::Anchor::First,
            false,
        );
        let exact = self.is_exact_gate(&reading, &forms[0], slot, &hinges);
        let inside =
            self.inside(&hinges, &reading, (lo.max(0.0), hi.max(0.0)), lost + of_condition + of_value.sup(), company);
        let inside = if exact { 0.0 } else { inside };
        let fixed = of_condition * (float(&reach) + float(&floor).abs()) + lost + inside;
        // Off, the argument is negative, errors included, and the unit is silent.
        let room = float(&reach) - self.graph.range(value).width();
        let silent = of_value.sup() + of_condition * float(&reach) + lost + inside + self.reading_error(&reading);
        if of_condition == 0.0 && (floor.is_zero() || exact) && silent < room {
            self.off.insert(wire, 0.0);
        }
        let pieces: Vec<(Interval, f64)> = of_value
            .cells()
            .filter_map(|(lo, hi, error)| Some((Interval::new(lo, hi).ok()?, error + fixed)))
            .chain([(Interval::ZERO, fixed + (silent - room).max(0.0))])
            .collect();
        self.exact[atom] = exact;
        self.sizes[atom] = float(&reach) + of_value.sup() + fixed;
        self.inner[atom] = inside;
        self.errors[wire] = Some(Profile::gathered(known.range, &pieces));
        self.gates[atom] = vec![(hinges, 1.0)];
    }

    fn head(&mut self, atom: usize, wire: usize) -> Result<()> {
        let Source::Head { scores, mask, value, scale } = &self.layout.atoms[atom].source else { return Ok(()) };
        let (slot, machine) = (self.layout.atoms[atom].slot, self.machine);
        let known = &self.graph.wires[wire];
        let (Kind::Mean { of, .. } | Kind::Sink { of, .. } | Kind::Largest { of, .. } | Kind::Gather { of, .. }) =
            &known.kind
        else {
            return Ok(());
        };
        let tokens = if mask.is_all() || machine.tokens != self.graph.tokens {
            machine.tokens
        } else {
            let seen = (0..machine.tokens).map(|t| mask.keys(t, machine.tokens).positions().count());
            seen.max().unwrap_or(1)
        };
        let reading = self.read(of, slot);
        let linear = reading.range - Interval::point_or_entire(reading.constant);
        // The weights: exp, their sum, the quotient, or a reciprocal and a product; then the sum of the products. Or whatever takes their place.
        let Loss { relative: theta, absolute } = match scores {
            Scores::Uniform => Loss::of(&machine.attention, tokens, machine.precision),
            _ => Loss::of(&Realisation::SOFTMAX, tokens, machine.precision),
        };
        let total = reading.total(machine);
        #[expect(clippy::cast_precision_loss, reason = "a number of tokens")]
        let seen = Seen { many: tokens as f64, theta, linear, total, factor: float(scale), reading };
        let profile = match scores {
            Scores::Uniform => Self::mean(known.range, &seen),
            Scores::Sink { .. } => self.sink(wire, slot, &seen),
            Scores::Largest => self.largest(atom, wire, &seen),
            Scores::Gather { .. } => self.gather(wire, slot, &seen)?,
        };
        let profile = profile.plus(|_, _| absolute);
        let profile = if machine.subdivided { profile } else { Profile::constant(known.range, profile.sup()) };
        let base = scale * &exact_constant(value, &self.bases);
        self.bases[atom] += &base;
        self.sizes[atom] = match scores {
            Scores::Sink { .. } => known.range.mag(),
            _ => seen.factor * linear.mag(),
        } + profile.sup();
        let growth = machine.attention.kind.growth(&machine.attention.choice);
        if growth > 1.0 {
            self.note_size(growth * self.sizes[atom]);
        }
        self.inner[atom] = theta * self.sizes[atom];
        self.errors[wire] = Some(profile);
        Ok(())
    }

    /// `ê(t) + θ · mean|v|` (Jensen).
    fn mean(range: Interval, seen: &Seen) -> Profile {
        let Seen { theta, linear, total, factor, reading, .. } = seen;
        let one_sign = linear.lo() >= 0.0 || linear.hi() <= 0.0;
        let concave = total.concave();
        let over = |lo: f64, hi: f64| {
            let (lo, hi) = (lo / factor, hi / factor);
            let size = (lo - reading.constant).abs().max((hi - reading.constant).abs());
            let size = if one_sign { size } else { linear.mag() };
            factor * (concave.over(lo, hi) * (1.0 + theta) + theta * size)
        };
        Profile::new(range, over)
    }

    /// A sum with a sink: every token weighs `1/n`, the sink what is left.
    fn sink(&self, wire: usize, slot: usize, seen: &Seen) -> Profile {
        let Kind::Sink { query, key, .. } = &self.graph.wires[wire].kind else {
            return Profile::constant(Interval::ENTIRE, f64::INFINITY);
        };
        let (machine, range) = (self.machine, self.graph.wires[wire].range);
        let Seen { many, theta, reading, .. } = seen;
        let (query_read, key_read) = (self.read(query, slot), self.read(key, slot));
        let (asked, held) = (query_read.size + query_read.constant.abs(), key_read.size + key_read.constant.abs());
        let off = query_read.value.sup() + query_read.rounding(machine);
        let score = machine.gamma(10) * asked * held + off * held + asked * key_read.rounding(machine);
        let theta = theta + 4.0 * score.min(1.0);
        #[expect(clippy::cast_precision_loss, reason = "a number of tokens")]
        let all = self.graph.tokens as f64;
        // The sink weighs up to n, and its value is 0 but for rounding.
        let own = reading.rounding(machine);
        Profile::constant(range, (many * reading.value.sup() + 2.0 * all * own) * (1.0 + theta) + theta * range.mag())
    }

    /// A maximum: below by what the average loses, half of which is added.
    fn largest(&mut self, atom: usize, wire: usize, seen: &Seen) -> Profile {
        let (machine, range) = (self.machine, self.graph.wires[wire].range);
        let Seen { many, theta, linear, reading, .. } = seen;
        let lambda = self.choice.temperature[wire];
        let average = (1.0 + (many - 1.0) / std::f64::consts::E).ln() / lambda;
        self.bases[atom] = exactly(average / 2.0);
        self.note_size(lambda * (linear.mag() + reading.value.sup()));
        let sizes = linear.mag() + reading.value.sup();
        let rounding = 3.0 * reading.rounding(machine) + (theta + machine.gamma(6)) * sizes;
        Profile::new(range, |_, _| {
            reading.value.sup() + rounding + average / 2.0 * self.choice.weight[wire] * (1.0 + 1e-5)
        })
    }

    /// The value at another position: what leaks from the others.
    fn gather(&self, wire: usize, slot: usize, seen: &Seen) -> Result<Profile> {
        let known = &self.graph.wires[wire];
        let Kind::Gather { index: position, keys, .. } = &known.kind else {
            return Err(Error::declined("a gather without keys"));
        };
        let (machine, range) = (self.machine, known.range);
        let Seen { many, theta, linear, total, reading, .. } = seen;
        let lambda = self.choice.temperature[wire];
        let asked = self.read(position, slot);
        let off = asked.total(machine).sup() + machine.gamma(asked.count + 2) * asked.constant.abs();
        if off > 0.25 {
            return Err(Error::declined(format!("an index is known only to within {off:.2e}"))
                .place(&self.graph.text, &known.span, "this index")
                .note("reason", "a gather needs it to within 1/4")
                .note("try", "--precision f64"));
        }
        let (place, square) = (self.read(&keys.0, slot), self.read(&keys.1, slot));
        let asked_size = asked.size + asked.constant.abs();
        let sizes = 2.0 * asked_size * (place.size + place.constant.abs()) + square.size + square.constant.abs();
        self.note_size(lambda * sizes);
        let exact = [position, &keys.0, &keys.1].iter().all(|form| self.reads_exactly(form, slot))
            && is_dyadic(asked.constant)
            && self.grain(&[position, &keys.0, &keys.1], slot) * sizes < 0.25 / machine.unit();
        let lost = 2.0 * (asked_size + 1.0) * place.rounding(machine) + square.rounding(machine);
        let score = if exact { 0.0 } else { lambda * (machine.gamma(14) * sizes + 2.0 * lost) };
        let leak = 2.0 * (-lambda * (1.0 - 2.0 * off) + 2.0 * score).exp() / (1.0 - (-lambda).exp());
        let leak = leak * (1.0 + 4.0 * machine.exp()) * (1.0 + 1e-6);
        let lost = leak * (4.0 * many + 8.0) * (linear.mag() + total.sup()) * self.choice.weight[wire];
        let over = |lo: f64, hi: f64| {
            let size = (lo - reading.constant).abs().max((hi - reading.constant).abs());
            total.over(lo, hi) * (1.0 + theta) + machine.gamma(8) * size + lost
        };
        Ok(Profile::new(range, over))
    }

    /// One over a power of two that all products of two of these, as read, are multiples of: 1 for integers.
    fn grain(&self, forms: &[&Form], slot: usize) -> f64 {
        let integer = |form: &Form| {
            let coordinates = self.layout.coordinates(&self.layout.lower(form), slot);
            let whole = |row: &Form| {
                let known = |atom: usize| self.graph.wires[self.layout.atoms[atom].wire].integer;
                row.terms.iter().all(|(atom, c)| c.is_int() && known(*atom))
            };
            coordinates.iter().zip(&self.layout.before[slot]).all(|(c, row)| c.is_zero() || c.is_int() && whole(row))
        };
        if forms.iter().all(|form| integer(form)) { 1.0 } else { 4096.0 }
    }
}

/// The two squares of a product.
struct Squares {
    gates: Vec<(Hinges, f64)>,
    deviation: f64,
    inner: f64,
    moved: f64,
}

/// What a head sees.
struct Seen {
    /// How many tokens, at most.
    many: f64,
    /// The relative error of weights and sums.
    theta: f64,
    /// The values, their constant apart.
    linear: Interval,
    /// Their errors, as read.
    total: Profile,
    /// What the result is multiplied by.
    factor: f64,
    /// What is read.
    reading: Reading,
}

/// A double as what it is.
fn exactly(x: f64) -> Rat {
    Rat::from_f64(x).unwrap_or_default()
}

/// The constant of a form over atoms, their bases included.
fn exact_constant(form: &Form, bases: &[Rat]) -> Rat {
    let bases = form.terms.iter().map(|(atom, c)| c * &bases[*atom]);
    bases.fold(form.constant.clone(), |sum, base| sum + base)
}

/// The same, rounded once.
pub fn constant(form: &Form, bases: &[Rat]) -> f64 {
    exact_constant(form, bases).to_f64()
}

/// Whether a double is a number of the format.
#[expect(clippy::float_cmp, reason = "equality is what is asked for")]
fn is_number_of(x: f64, precision: Precision) -> bool {
    precision.round(x) == x
}

/// Whether `a - b` is a number of the format.
fn is_difference(a: f64, b: f64, precision: Precision) -> bool {
    let difference = a - b;
    // The rounding of the difference itself, without rounding.
    let back = difference - a;
    let rest = (a - (difference - back)) - (b + back);
    rest == 0.0 && is_number_of(difference, precision)
}

/// Whether the middle of a range is a number of every format.
fn is_centre(range: Interval) -> bool {
    let middle = float(&super::layout::middle(range));
    is_number_of(middle, Precision::F32)
}

/// Whether a number is a multiple of 1/64.
fn is_dyadic(x: f64) -> bool {
    x.is_finite() && x.abs() < 1e12 && (x * 64.0).fract() == 0.0
}

/// Whether a number is a double.
fn is_float(x: &Rat) -> bool {
    Rat::from_f64(float(x)).is_some_and(|near| near == *x)
}

/// The integers of a range, with the values there.
fn integer_values(hinges: &Hinges, range: Interval) -> Vec<(f64, f64)> {
    let mut values = Vec::new();
    let mut t = range.lo().ceil();
    while t <= range.hi() {
        values.push((t, hinges.value(t)));
        t += 1.0;
    }
    values
}

/// `t²/4` at the integers of a range.
pub fn quarter_squares(range: Interval) -> Hinges {
    let mut nodes = Vec::new();
    let mut t = range.lo().floor();
    while t <= range.hi().ceil() {
        nodes.push((t, t * t / 4.0));
        t += 1.0;
    }
    let deviations = vec![0.0; nodes.len().saturating_sub(1)];
    Hinges::through(&nodes, &deviations, super::hinges::Anchor::First, true)
}
