//! The tolerance, split over the gates so that hidden units are few.
//!
//! A gate with deviation `ε_g` has about `c_g ε_g^{-1/2}` units and moves the output by `s_g ε_g`. Minimising `Σ c_g ε_g^{-1/2}` under
//! `Σ s_g ε_g = ε - rounding` gives
//!
//! ```text
//! ε_g ∝ (c_g / s_g)^{2/3}
//! ```
//!
//! with `c_g` and `s_g` as they are found at the present split; a few rounds settle it. Temperatures cost no units: they are the smallest powers
//! of two for which the maxima together take at most 1/32 of the tolerance, and the gathers less than rounding.
//!
//! Gates that play the same part in their coordinates (`alike.rs`) are given the same: one of them is looked at for all.
//!
//! All of this is a search: nothing is claimed here, and numbers are plain doubles. What is chosen in the end, the analysis judges.

use std::collections::BTreeMap;

use super::alike::alike;
use super::analysis::{Analysis, Choice, Machine, analyse};
use super::form::Form;
use super::graph::{Graph, Kind, is_table_product, of_rational, table_of};
use super::hinges::{Anchor, Hinges, Tolerance, fit, piecewise, straightened};
use super::layout::{Layout, arguments};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Interval;
use crate::network::Precision;

/// Rounds of splitting.
const ROUNDS: usize = 5;

/// Other searches, where there are many units: how coarse they start, and for how much of the tolerance. One search may end where a little less
/// tolerance leads to fewer units.
const OTHERS: [(f64, f64); 2] = [(0.5, 0.99), (0.25, 0.95)];

/// Steps towards a finer split, each by a factor 1.6.
const STEPS: usize = 16;

/// The slope that a maximum is taken to have before it is known.
const COLD: f64 = 1024.0;

/// How tolerances may grow over the range of the values, upwards and downwards.
const GROWTHS: [f64; 13] = [0.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, -4.0, -16.0, -64.0, -256.0, -1024.0, -4096.0];

/// Units of which fewer are not worth another search.
const MANY: usize = 24;

/// Units of which fewer are not worth shaping.
const FEW: usize = 12;

/// The share of the tolerance that all maxima together may take.
const MAXIMA: f64 = 1.0 / 32.0;

/// A circuit whose knots and temperatures are chosen.
#[derive(Clone, Debug)]
pub(crate) struct Tuned {
    /// The choice.
    pub choice: Choice,
    /// Its analysis.
    pub analysis: Analysis,
    /// The wires whose approximation has a share in the error, with that share.
    pub shares: Vec<(usize, f64)>,
    /// The part of the error that is rounding.
    pub rounding: f64,
}

/// A gate that can be made finer.
#[derive(Clone, Copy, Debug)]
struct Tunable {
    wire: usize,
    product: bool,
    /// How its tolerance grows with its value.
    growth: f64,
}

/// A split of the tolerance.
struct Found {
    /// The hidden units; as many as can be if it is not fine enough.
    units: usize,
    tolerances: Vec<f64>,
    choice: Choice,
}

/// The point from which hinges face outward; tests ask what happens if they do not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// The anchor of curves.
    pub anchor: Anchor,
    /// True if tolerances may grow with the values.
    pub shaped: bool,
    /// True if tables at integers are flat around every integer, at twice the units: errors of their arguments are then
    /// forgotten.
    pub robust: bool,
}

/// Chooses knots and temperatures for a tolerance.
pub(crate) fn tune(
    graph: &Graph,
    layout: &Layout,
    outputs: &[Form],
    eps: f64,
    machine: Machine,
    style: Style,
) -> Result<Tuned> {
    let count = graph.wires.len();
    let mut choice = Choice {
        hinges: vec![None; count],
        halves: vec![1; count],
        temperature: vec![1.0; count],
        weight: vec![1.0; count],
    };
    let mut tunable = Vec::new();
    let mut maxima = Vec::new();
    let mut fixed = Vec::new();
    for wire in (0..count).filter(|wire| layout.wires[*wire].is_some()) {
        match &graph.wires[wire].kind {
            Kind::Curve { of, .. } => match exact_hinges(graph, wire, of, style.robust) {
                Some(hinges) => choice.hinges[wire] = Some(hinges),
                None => tunable.push(Tunable { wire, product: false, growth: 0.0 }),
            },
            Kind::Product(..) if is_table_product(graph, wire) => {
                // Any hinges: tables are made for the range.
                choice.hinges[wire] = Some(super::analysis::quarter_squares(Interval::ZERO));
            }
            Kind::Product(..) => tunable.push(Tunable { wire, product: true, growth: 0.0 }),
            Kind::Largest { .. } => maxima.push(wire),
            Kind::Alias { .. } => fixed.push(wire),
            Kind::Gather { index, .. } => {
                choice.temperature[wire] = gather_temperature(graph, index, machine);
            }
            _ => {}
        }
    }
    let parts = alike(graph, outputs);
    let mut tuner =
        Tuner { graph, layout, outputs, eps, aim: eps, machine, style, tunable, maxima, fixed, parts, prove: false };
    tuner.run(choice)
}

/// A curve that is piecewise linear itself, or asked at integers only.
fn exact_hinges(graph: &Graph, wire: usize, of: &Form, robust: bool) -> Option<Hinges> {
    let Kind::Curve { function, .. } = &graph.wires[wire].kind else { return None };
    if let Some((lo, hi)) = graph.integers(of) {
        let (values, off) = table_of(function, lo, hi)?;
        let nodes: Vec<(Rat, Rat)> = (lo..=hi).map(Rat::from).zip(values).collect();
        let exact = |wire: &usize| matches!(graph.wires[*wire].kind, Kind::Input(_) | Kind::Position(_));
        let nodes = if robust { nodes } else { straightened(nodes) };
        // What is not known exactly is kept away from the kinks, where that costs nothing.
        let nodes = match (of.terms.keys().all(exact), robust) {
            (true, _) => straightened(nodes),
            (false, true) => straightened(flattened(&nodes)),
            (false, false) => steepened(nodes),
        };
        let anchor = if robust { Anchor::Best } else { Anchor::First };
        let mut hinges = Hinges::exactly(&nodes, anchor, true);
        for deviation in &mut hinges.deviations {
            *deviation += off;
        }
        return Some(hinges);
    }
    let nodes = piecewise(function, &of_rational(graph.range(of)))?;
    Some(Hinges::exactly(&nodes, Anchor::Best, false))
}

/// A jump between two integers, flat on both sides, is made in the middle half of the way.
fn steepened(mut nodes: Vec<(Rat, Rat)>) -> Vec<(Rat, Rat)> {
    let flat = |a: &(Rat, Rat), b: &(Rat, Rat)| a.1 == b.1;
    let quarter = Rat::new(1, 4);
    for k in 1..nodes.len().saturating_sub(2) {
        let jump = &nodes[k + 1].0 - &nodes[k].0 == Rat::ONE && !flat(&nodes[k], &nodes[k + 1]);
        if jump && flat(&nodes[k - 1], &nodes[k]) && flat(&nodes[k + 1], &nodes[k + 2]) {
            nodes[k].0 += &quarter;
            nodes[k + 1].0 -= &quarter;
        }
    }
    nodes
}

/// Flat around every integer.
fn flattened(nodes: &[(Rat, Rat)]) -> Vec<(Rat, Rat)> {
    let quarter = Rat::new(1, 4);
    nodes.iter().flat_map(|(t, y)| [(t - &quarter, y.clone()), (t + &quarter, y.clone())]).collect()
}

/// The smallest power of two for which what leaks is below rounding, whatever the index is known to.
fn gather_temperature(graph: &Graph, index: &Form, machine: Machine) -> f64 {
    let off = if graph.is_positional(index) { 0.0 } else { 0.25 };
    #[expect(clippy::cast_precision_loss, reason = "a number of tokens")]
    let many = machine.tokens as f64;
    // A choice: what leaks then is bounded by the analysis.
    let mut lambda = 1.0_f64;
    while 2.0 * (-lambda * (1.0 - 2.0 * off)).exp() / (1.0 - (-lambda).exp()) * (4.0 * many + 8.0)
        > machine.precision.unit()
    {
        lambda *= 2.0;
    }
    lambda
}

/// The most by which one analysis exceeds another in some coordinate; no bound, but a measure of sensitivity.
fn moved(more: &Analysis, less: &Analysis) -> f64 {
    more.outputs.iter().zip(&less.outputs).map(|(a, b)| a.get() - b.get()).fold(0.0, f64::max)
}

struct Tuner<'a> {
    graph: &'a Graph,
    layout: &'a Layout,
    outputs: &'a [Form],
    eps: f64,
    /// What is searched for: `eps`, or less.
    aim: f64,
    machine: Machine,
    style: Style,
    tunable: Vec<Tunable>,
    maxima: Vec<usize>,
    /// Wires with a deviation that is not chosen here.
    fixed: Vec<usize>,
    /// The part that each wire plays.
    parts: Vec<u64>,
    /// True if deviations are proved: not while there is much to try.
    prove: bool,
}

impl Tuner<'_> {
    fn analyse(&self, choice: &Choice) -> Result<Analysis> {
        analyse(self.graph, self.layout, self.outputs, choice, self.machine)
    }

    /// The analysis if the approximations of some wires count `weight` times.
    fn weighted(&self, choice: &Choice, wires: &[usize], weight: f64) -> Result<Analysis> {
        let mut choice = choice.clone();
        for wire in wires {
            choice.weight[*wire] = weight;
        }
        self.analyse(&choice)
    }

    /// Returns a finding for each of these wires, asked once for all that play the same part.
    fn by_part<T: Clone>(&self, wires: &[usize], mut find: impl FnMut(usize) -> Result<T>) -> Result<Vec<T>> {
        let mut known: BTreeMap<u64, T> = BTreeMap::new();
        let mut found = Vec::with_capacity(wires.len());
        for (at, wire) in wires.iter().enumerate() {
            let one = match known.get(&self.parts[*wire]) {
                Some(one) => one.clone(),
                None => find(at)?,
            };
            known.entry(self.parts[*wire]).or_insert_with(|| one.clone());
            found.push(one);
        }
        Ok(found)
    }

    /// The wires of the gates that can be made finer.
    fn tunable(&self) -> Vec<usize> {
        self.tunable.iter().map(|gate| gate.wire).collect()
    }

    /// The error then.
    fn with_weight(&self, choice: &Choice, wires: &[usize], weight: f64) -> Result<f64> {
        Ok(self.weighted(choice, wires, weight)?.output.get())
    }

    /// Knots for these tolerances.
    fn refit(&self, choice: &mut Choice, tolerances: &[f64]) -> Result<()> {
        let wires = self.tunable();
        let knots = self.by_part(&wires, |gate| {
            self.refit_one(choice, gate, tolerances[gate])?;
            Ok((choice.hinges[wires[gate]].clone(), choice.halves[wires[gate]]))
        })?;
        for (wire, (hinges, halves)) in wires.into_iter().zip(knots) {
            (choice.hinges[wire], choice.halves[wire]) = (hinges, halves);
        }
        Ok(())
    }

    /// Knots for one gate.
    fn refit_one(&self, choice: &mut Choice, gate: usize, tolerance: f64) -> Result<()> {
        let gate = &self.tunable[gate];
        let wire = gate.wire;
        if gate.product {
            let (forms, _) = arguments(self.graph, wire);
            let reach = forms.iter().map(|form| self.graph.range(form).mag()).fold(0.0, f64::max);
            let half = (reach / (2.0 * tolerance.sqrt())).ceil().max(1.0);
            if half > 4096.0 {
                return Err(Error::declined("a product needs more than 16384 hidden units")
                    .place(&self.graph.text, &self.graph.wires[wire].span, "this product")
                    .note("try", "⟨trade=depth⟩, or a larger ⟨eps⟩"));
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 4096")]
            let half = half as usize;
            choice.halves[wire] = half;
        } else if let Kind::Curve { function, of } = &self.graph.wires[wire].kind {
            let ranges = (self.graph.range(of), self.graph.wires[wire].range);
            let tolerance = Tolerance { eps: tolerance, growth: gate.growth };
            let hinges = fit(function, ranges, tolerance, self.style.anchor, self.prove);
            let place = |error: Error| error.place(&self.graph.text, &self.graph.wires[wire].span, "this curve");
            choice.hinges[wire] = Some(hinges.map_err(place)?);
        }
        Ok(())
    }

    /// The units of each gate.
    fn now(&self, analysis: &Analysis) -> Vec<f64> {
        let found = |gate: &Tunable| {
            let atom = self.layout.atoms.iter().position(|atom| atom.wire == gate.wire);
            let gates = atom.map(|atom| &analysis.gates[atom][..]).unwrap_or_default();
            let units: usize = gates.iter().map(|(hinges, _)| hinges.units.len()).sum();
            #[expect(clippy::cast_precision_loss, reason = "a number of units")]
            let units = units as f64;
            units
        };
        self.tunable.iter().map(found).collect()
    }

    fn run(&mut self, mut choice: Choice) -> Result<Tuned> {
        // Hot at first, so that what is seen is not the maxima's.
        self.temperatures(&mut choice, &vec![COLD; self.maxima.len()]);
        let mut best = self.attempt(choice.clone(), 1.0, 1.0)?;
        if self.tunable.len() > 1 && best.units >= MANY {
            for (start, aim) in OTHERS {
                let found = self.attempt(choice.clone(), start, aim).ok();
                best = found.filter(|found| found.units < best.units).unwrap_or(best);
            }
        }
        self.finish(best.choice)
    }

    /// Searches for a split, and proves what it finds: from tolerances so many times those of an even split, for so much of
    /// the tolerance.
    fn attempt(&mut self, choice: Choice, start: f64, aim: f64) -> Result<Found> {
        (self.prove, self.aim) = (false, aim * self.eps);
        self.tunable.iter_mut().for_each(|gate| gate.growth = 0.0);
        let Found { mut tolerances, mut choice, .. } = self.search(choice, start)?;
        // What proofs show may be a little more than what was expected.
        self.prove = true;
        let mut units = usize::MAX;
        for _ in 0..STEPS {
            self.refit(&mut choice, &tolerances)?;
            let analysis = self.analyse(&choice)?;
            if analysis.output <= self.eps {
                units = Self::units(&analysis);
            }
            if self.tunable.is_empty() || units < usize::MAX {
                break;
            }
            for tolerance in &mut tolerances {
                *tolerance *= 0.98;
            }
        }
        Ok(Found { units, tolerances, choice })
    }

    /// The split with the fewest units that is found from an even one, which is so much coarser than a fair one.
    fn search(&mut self, mut choice: Choice, start: f64) -> Result<Found> {
        #[expect(clippy::cast_precision_loss, reason = "a few gates")]
        let gates = self.tunable.len().max(1) as f64;
        let mut tolerances = vec![start * self.aim / (4.0 * gates); self.tunable.len()];
        let mut best: Option<Found> = None;
        self.soften(&mut choice, &mut tolerances)?;
        for round in 0..ROUNDS {
            self.refit(&mut choice, &tolerances)?;
            self.cool(&mut choice)?;
            if self.tunable.is_empty() {
                break;
            }
            if round == 1 && self.style.shaped {
                self.shape(&choice, &tolerances)?;
                self.refit(&mut choice, &tolerances)?;
            }
            let analysis = self.analyse(&choice)?;
            let shares = self.split(&choice, &analysis, &tolerances)?;
            // The coarsest multiple of the split that is fine enough.
            let scale = tolerances.iter().zip(&shares).map(|(a, b)| a / b).fold(0.0, f64::max);
            let Some((found, chosen)) = self.coarsest(&choice, &shares, scale)? else {
                if round > 0 {
                    break;
                }
                continue;
            };
            let units = Self::units(&self.analyse(&chosen)?);
            tolerances = shares.iter().map(|share| share * found).collect();
            let fewest = best.as_ref().map(|best| best.units);
            if fewest.is_none_or(|fewest| units < fewest) {
                let settled = fewest.is_some_and(|fewest| units * 50 > fewest * 49);
                best = Some(Found { units, tolerances: tolerances.clone(), choice: chosen });
                if settled {
                    break;
                }
            } else if round > 1 {
                break;
            }
        }
        Ok(best.unwrap_or(Found { units: usize::MAX, tolerances, choice }))
    }

    /// Makes those gates finer that take too much, until errors are small enough to be split.
    fn soften(&self, choice: &mut Choice, tolerances: &mut [f64]) -> Result<()> {
        #[expect(clippy::cast_precision_loss, reason = "a few gates")]
        let fair = self.eps / self.tunable.len().max(1) as f64;
        for _ in 0..STEPS {
            self.refit(choice, tolerances)?;
            let all = self.analyse(choice)?;
            // What is left without the gates does not get less by finer knots.
            let wires = self.tunable();
            if all.output <= 2.0 * self.eps || self.with_weight(choice, &wires, 0.0)? > self.eps {
                break;
            }
            let mut moved = false;
            let own = |gate: usize| Ok(all.output.get() - self.with_weight(choice, &[wires[gate]], 0.0)?);
            for (own, tolerance) in self.by_part(&wires, own)?.into_iter().zip(&mut *tolerances) {
                if own > fair {
                    *tolerance *= (0.5 * fair / own).max(1.0 / 64.0);
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        Ok(())
    }

    /// The hidden units of the gates that can be made finer.
    fn units(analysis: &Analysis) -> usize {
        analysis.gates.iter().flatten().map(|(hinges, _)| hinges.units.len()).sum()
    }

    /// The split that the model asks for, up to a factor.
    fn split(&self, choice: &Choice, analysis: &Analysis, tolerances: &[f64]) -> Result<Vec<f64>> {
        let (wires, units) = (self.tunable(), self.now(analysis));
        self.by_part(&wires, |gate| {
            let (deviation, more) = (tolerances[gate], self.weighted(choice, &[wires[gate]], 1.25)?);
            // Not 0: a gate that does not matter may be as coarse as it likes.
            let sensitivity = (moved(&more, analysis) / (0.25 * deviation)).max(1e-9);
            Ok((units[gate].max(1.0) * deviation.sqrt() / sensitivity).powf(2.0 / 3.0))
        })
    }

    /// The largest multiple of a split for which the tolerance is met, and what is chosen then.
    fn coarsest(&self, choice: &Choice, shares: &[f64], start: f64) -> Result<Option<(f64, Choice)>> {
        let attempt = |scale: f64| -> Result<Option<Choice>> {
            let mut tried = choice.clone();
            let tolerances: Vec<f64> = shares.iter().map(|share| share * scale).collect();
            self.refit(&mut tried, &tolerances)?;
            let met = self.analyse(&tried)?.output <= self.aim;
            Ok(met.then_some(tried))
        };
        if self.with_weight(choice, &self.tunable(), 0.0)? > self.aim {
            return Ok(None);
        }
        let mut scale = start;
        let mut found = attempt(scale).ok().flatten();
        if found.is_some() {
            while let Some(coarser) = attempt(scale * 1.6).ok().flatten().filter(|_| scale < start * 1e6) {
                scale *= 1.6;
                found = Some(coarser);
            }
        } else {
            for _ in 0..STEPS {
                scale /= 1.6;
                // Finer than this, there is no room for more units.
                match attempt(scale) {
                    Ok(tried) => found = tried,
                    Err(_) => break,
                }
                if found.is_some() {
                    break;
                }
            }
        }
        let Some(mut chosen) = found else { return Ok(None) };
        let (mut good, mut bad) = (scale, scale * 1.6);
        for _ in 0..4 {
            let middle = (good * bad).sqrt();
            match attempt(middle)? {
                Some(tried) => (good, chosen) = (middle, tried),
                None => bad = middle,
            }
        }
        Ok(Some((good, chosen)))
    }

    /// Temperatures as low as they may be.
    fn cool(&self, choice: &mut Choice) -> Result<()> {
        if self.maxima.is_empty() {
            return Ok(());
        }
        let all = self.analyse(choice)?;
        let slopes = self.by_part(&self.maxima, |at| {
            let wire = self.maxima[at];
            let without = self.weighted(choice, &[wire], 0.0)?;
            let own = self.average() / (2.0 * choice.temperature[wire]);
            Ok((moved(&all, &without) / own).max(1.0 / COLD))
        })?;
        let hot = choice.temperature.clone();
        self.temperatures(choice, &slopes);
        // A step may hide what a maximum would do if it were hotter.
        if self.analyse(choice)?.output > all.output.get() + 2.0 * MAXIMA * self.eps {
            choice.temperature = hot;
        }
        Ok(())
    }

    /// Lets tolerances grow with the values where that saves units: `units² · share` is what counts.
    fn shape(&mut self, choice: &Choice, tolerances: &[f64]) -> Result<()> {
        for (gate, tolerance) in tolerances.iter().enumerate() {
            let wire = self.tunable[gate].wire;
            let earlier = self.tunable[..gate].iter().find(|other| self.parts[other.wire] == self.parts[wire]);
            if let Some(other) = earlier {
                self.tunable[gate].growth = other.growth;
                continue;
            }
            if self.tunable[gate].product {
                continue;
            }
            let mut best = (f64::INFINITY, 0.0);
            for growth in GROWTHS {
                self.tunable[gate].growth = growth;
                let mut tried = choice.clone();
                self.refit_one(&mut tried, gate, *tolerance)?;
                let units = tried.hinges[wire].as_ref().map_or(0, |hinges| hinges.units.len());
                if units < FEW {
                    break;
                }
                let share = self.analyse(&tried)?.output.get() - self.with_weight(&tried, &[wire], 0.0)?;
                #[expect(clippy::cast_precision_loss, reason = "a number of units")]
                let cost = (units as f64).powi(2) * share.max(0.0);
                if cost < best.0 * 0.98 {
                    best = (cost, growth);
                }
            }
            self.tunable[gate].growth = best.1;
        }
        Ok(())
    }

    fn finish(&self, choice: Choice) -> Result<Tuned> {
        let analysis = self.analyse(&choice)?;
        let approximations: Vec<usize> =
            self.tunable.iter().map(|gate| gate.wire).chain(self.maxima.iter().chain(&self.fixed).copied()).collect();
        let rounding = self.with_weight(&choice, &approximations, 0.0)?;
        if analysis.output > self.eps {
            return Err(self.not_met(&analysis, rounding));
        }
        let share =
            |at: usize| Ok((analysis.output.get() - self.with_weight(&choice, &[approximations[at]], 0.0)?).max(0.0));
        let found = self.by_part(&approximations, share)?;
        let shares = approximations.iter().copied().zip(found).collect();
        Ok(Tuned { choice, analysis, shares, rounding })
    }

    fn not_met(&self, analysis: &Analysis, rounding: f64) -> Error {
        // The tolerance as it was asked for: what is here was rounded down.
        let shorter = |a: f64, b: f64| if a.to_string().len() < b.to_string().len() { a } else { b };
        let (eps, precision) = (shorter(self.eps.next_up(), self.eps), self.machine.precision);
        let error = Error::rejected(format!(
            "the tolerance {eps} is not met: the certified error is {:.3e}",
            analysis.output.get()
        ));
        let attempt = match precision {
            Precision::F32 => "⟨precision=f64⟩, or a larger ⟨eps⟩",
            Precision::F64 => "a larger ⟨eps⟩",
        };
        error
            .note(
                "rounding",
                format!("{rounding:.3e} of it is rounding in {precision}, with {} tokens", self.machine.tokens),
            )
            .note("try", attempt)
    }

    /// `ln(1 + (n-1)/e)`
    fn average(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a number of tokens")]
        let many = self.machine.tokens as f64;
        (1.0 + (many - 1.0) / std::f64::consts::E).ln()
    }

    fn temperatures(&self, choice: &mut Choice, slopes: &[f64]) {
        #[expect(clippy::cast_precision_loss, reason = "a few maxima")]
        let each = self.eps * MAXIMA / self.maxima.len().max(1) as f64;
        for (wire, slope) in self.maxima.iter().zip(slopes) {
            let least = self.average() * slope / (2.0 * each);
            choice.temperature[*wire] = 2_f64.powf(least.max(1.0).log2().ceil());
        }
    }
}
