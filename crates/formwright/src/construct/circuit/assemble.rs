//! From registers, knots and temperatures to tensors.

use std::collections::HashMap;

use super::analysis::{Analysis, Emptier};
use super::form::Form;
use super::graph::{Graph, Kind};
use super::layout::{Atom, Layout, Scores, Source};
use super::lines::Parts;
use super::names::Names;
use super::tune::Tuned;
use crate::exact::Rat;
use crate::network::{
    AttentionKind, AttentionRun, Coordinate, FeedForwardRun, FloatAffine, FloatNetwork, FloatStage, Mask, Precision,
    Realisation, Run,
};
use crate::show::plural;

/// The statement that circuits realise.
const STATEMENT: &str = "circuit";

struct Assembler<'a> {
    graph: &'a Graph,
    layout: &'a Layout,
    tuned: &'a Tuned,
    analysis: &'a Analysis,
    precision: Precision,
    width: usize,
}

/// A head with the atoms that are its values.
struct Group {
    scores: Scores,
    mask: Mask,
    temperature: f64,
    atoms: Vec<usize>,
}

/// A hidden unit: the atoms, and their arguments, that it is a part of, what it reads, and what it adds to each register.
struct Unit {
    atoms: Vec<(usize, usize)>,
    read: Vec<f64>,
    bias: f64,
    writes: Vec<f64>,
}

/// The places of every atom in its block: heads, or hidden units.
pub(crate) fn places(graph: &Graph, layout: &Layout, tuned: &Tuned, precision: Precision) -> Vec<Vec<usize>> {
    let width = layout.width.max(1);
    let assembler = Assembler { graph, layout, tuned, analysis: &tuned.analysis, precision, width };
    let mut places = vec![Vec::new(); layout.atoms.len()];
    for slot in 1..=layout.last() {
        let heads = assembler.groups(slot).into_iter().map(|group| group.atoms);
        let owners = |unit: Unit| {
            let mut owners: Vec<usize> = unit.atoms.into_iter().map(|(atom, _)| atom).collect();
            owners.dedup();
            owners
        };
        let units = assembler.units(slot).into_iter().map(owners);
        let parts: Vec<Vec<usize>> = if slot % 2 == 1 { heads.collect() } else { units.collect() };
        for (part, atom) in
            parts.iter().enumerate().flat_map(|(part, atoms)| atoms.iter().map(move |atom| (part, *atom)))
        {
            places[atom].push(part);
        }
    }
    places
}

/// For each argument of every atom a unit that reads it; for a head, its number and that of its value.
pub(crate) fn sources(graph: &Graph, layout: &Layout, tuned: &Tuned, precision: Precision) -> Parts {
    let width = layout.width.max(1);
    let assembler = Assembler { graph, layout, tuned, analysis: &tuned.analysis, precision, width };
    let mut of: Vec<Vec<usize>> = vec![Vec::new(); layout.atoms.len()];
    for slot in 1..=layout.last() {
        if slot % 2 == 1 {
            for (head, group) in assembler.groups(slot).into_iter().enumerate() {
                for (value, atom) in group.atoms.into_iter().enumerate() {
                    of[atom] = vec![head, value];
                }
            }
            continue;
        }
        let units = assembler.units(slot);
        // In the order of the arguments: one without units ends the list.
        for argument in 0..2 {
            for (number, unit) in units.iter().enumerate() {
                for (atom, _) in unit.atoms.iter().filter(|(_, of)| *of == argument) {
                    if of[*atom].len() == argument {
                        of[*atom].push(number);
                    }
                }
            }
        }
    }
    Parts { of }
}

/// The network, before its sums are realised and its registers described; of every slot the block in which it will be then, and of
/// every stage its slot.
pub(crate) fn assemble(
    graph: &Graph,
    layout: &Layout,
    tuned: &Tuned,
    (precision, attention): (Precision, &Realisation),
    (dims, lengths): (usize, (usize, usize)),
    names: &Names,
) -> (FloatNetwork, Vec<usize>, Vec<usize>) {
    let width = layout.width.max(1);
    let assembler = Assembler { graph, layout, tuned, analysis: &tuned.analysis, precision, width };
    let (mut stages, mut slots) = (Vec::new(), Vec::new());
    let mut runs = Vec::new();
    let blocks = layout.last().div_ceil(2);
    let (before, apart) = attention.more_blocks();
    let mut numbers = vec![0; 2 * blocks + 1];
    let mut next = 0;
    for block in 0..blocks {
        let attention = assembler.attention(2 * block + 1, stages.len());
        if attention.is_some() {
            stages.push(assembler.stage("attend", block, 2 * block + 1, names));
            slots.push(2 * block + 1);
        }
        let feed_forward = assembler.feed_forward(2 * block + 2, stages.len());
        if feed_forward.is_some() {
            stages.push(assembler.stage("gates", block, 2 * block + 2, names));
            slots.push(2 * block + 2);
        }
        if attention.is_some() {
            next += before;
            numbers[2 * block + 1] = next;
            next += usize::from(apart && feed_forward.is_some());
        }
        numbers[2 * block + 2] = next;
        if attention.is_some() || feed_forward.is_some() {
            next += 1;
            runs.push(Run { blocks: 1, attention, feed_forward });
        }
    }
    let network = FloatNetwork {
        precision,
        tokens: graph.tokens,
        lengths,
        coordinates: (0..width)
            .map(|register| Coordinate { name: format!("r{register}"), meaning: String::new() })
            .collect(),
        embed: assembler.embed(dims),
        positions: assembler.positions(),
        stages,
        runs,
        read_out: assembler.read_out(),
    };
    (network, numbers, slots)
}

impl Assembler<'_> {
    fn round(&self, x: f64) -> f64 {
        // Without a negative zero: files are compared by their bytes.
        self.precision.round(x) + 0.0
    }

    fn rounded(&self, entries: impl IntoIterator<Item = f64>) -> Vec<f64> {
        entries.into_iter().map(|entry| self.round(entry)).collect()
    }

    /// The number that is added when a form over atoms is read in a slot.
    fn constant(&self, form: &Form, slot: usize) -> f64 {
        self.analysis.constants.of(form, slot, self.layout).to_f64()
    }

    /// The registers' weights of a form over atoms that is read in a slot.
    fn weights(&self, form: &Form, slot: usize) -> Vec<f64> {
        let mut weights: Vec<f64> = self.layout.coordinates(form, slot).iter().map(Rat::to_f64).collect();
        weights.resize(self.width, 0.0);
        weights
    }

    fn atoms(&self, slot: usize) -> impl Iterator<Item = (usize, &Atom)> {
        self.layout.atoms.iter().enumerate().filter(move |(_, atom)| atom.slot == slot)
    }

    /// How much of an atom a slot adds to a register.
    fn written(&self, slot: usize, register: usize, atom: usize) -> f64 {
        let addition = self.layout.writes.get(slot).and_then(|writes| writes.get(&register));
        addition.and_then(|addition| addition.terms.get(&atom)).map_or(0.0, Rat::to_f64)
    }

    fn embed(&self, dims: usize) -> FloatAffine {
        let mut weight = vec![0.0; self.width * dims];
        let mut bias = vec![0.0; self.width];
        for (index, atom) in self.atoms(0) {
            if let Source::Input(c, middle) = &atom.source {
                for register in 0..self.width {
                    let written = self.written(0, register, index);
                    weight[register * dims + c] += written;
                    bias[register] -= written * middle.to_f64();
                }
            }
        }
        FloatAffine { inputs: dims, outputs: self.width, weight: self.rounded(weight), bias: self.rounded(bias) }
    }

    fn positions(&self) -> Option<Vec<f64>> {
        let mut positions = vec![0.0; self.graph.tokens * self.width];
        let mut any = false;
        for (index, atom) in self.atoms(0) {
            let Kind::Position(table) = &self.graph.wires[atom.wire].kind else { continue };
            any = true;
            for (t, value) in table.iter().enumerate() {
                for register in 0..self.width {
                    positions[t * self.width + register] += self.written(0, register, index) * value.to_f64();
                }
            }
        }
        any.then(|| self.rounded(positions))
    }

    fn read_out(&self) -> FloatAffine {
        let end = self.layout.last() + 1;
        let outputs = &self.layout.outputs;
        let weight = outputs.iter().flat_map(|form| self.weights(form, end));
        let bias = outputs.iter().map(|form| self.constant(form, end));
        FloatAffine {
            inputs: self.width,
            outputs: outputs.len(),
            weight: self.rounded(weight),
            bias: self.rounded(bias),
        }
    }

    /// The heads of a slot, those of the same scores together.
    fn groups(&self, slot: usize) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (index, atom) in self.atoms(slot) {
            let Source::Head { scores, mask, .. } = &atom.source else { continue };
            let temperature = self.tuned.choice.temperature[atom.wire];
            let shared = groups
                .iter_mut()
                .find(|group| group.scores == *scores && group.mask == *mask && *scores != Scores::Largest);
            match shared {
                Some(group) => group.atoms.push(index),
                None => groups.push(Group { scores: scores.clone(), mask: *mask, temperature, atoms: vec![index] }),
            }
        }
        groups
    }

    fn attention(&self, slot: usize, stage: usize) -> Option<AttentionRun> {
        let groups = self.groups(slot);
        if groups.is_empty() {
            return None;
        }
        let width = self.width;
        let rows_of = |group: &Group| match &group.scores {
            Scores::Gather { .. } => 2,
            Scores::Products(rows) => rows.len(),
            _ => 1,
        };
        let head_size = groups.iter().map(rows_of).max().unwrap_or(1);
        let value_size = groups.iter().map(|group| group.atoms.len()).max().unwrap_or(1);
        let (mut q, mut q_bias, mut k, mut v, mut o) = (vec![], vec![], vec![], vec![], vec![]);
        let scaled = |weights: Vec<f64>, scale: f64| weights.into_iter().map(|w| w * scale).collect::<Vec<f64>>();
        for group in &groups {
            let none = || vec![0.0; width];
            let lambda = group.temperature;
            let rows = match &group.scores {
                Scores::Uniform => vec![(none(), 0.0, none())],
                Scores::Sink { query, key } => {
                    vec![(self.weights(query, slot), self.constant(query, slot), self.weights(key, slot))]
                }
                Scores::Largest => {
                    let Source::Head { value, .. } = &self.layout.atoms[group.atoms[0]].source else { continue };
                    vec![(none(), lambda, self.weights(value, slot))]
                }
                Scores::Products(rows) => rows
                    .iter()
                    .map(|(query, key)| {
                        (self.weights(query, slot), self.constant(query, slot), self.weights(key, slot))
                    })
                    .collect(),
                Scores::Gather { index, keys } => vec![
                    (
                        scaled(self.weights(index, slot), 2.0 * lambda),
                        2.0 * lambda * self.constant(index, slot),
                        self.weights(&keys.0, slot),
                    ),
                    (none(), -lambda, self.weights(&keys.1, slot)),
                ],
            };
            for row in 0..head_size {
                let (query, bias, key) = rows.get(row).cloned().unwrap_or_else(|| (none(), 0.0, none()));
                q.extend(query);
                q_bias.push(bias);
                k.extend(key);
            }
            for row in 0..value_size {
                let atom = group.atoms.get(row).map(|atom| &self.layout.atoms[*atom].source);
                match atom {
                    Some(Source::Head { value, scale, .. }) => {
                        v.extend(scaled(self.weights(value, slot), scale.to_f64()));
                    }
                    _ => v.extend(none()),
                }
            }
            for register in 0..width {
                for row in 0..value_size {
                    o.push(group.atoms.get(row).map_or(0.0, |atom| self.written(slot, register, *atom)));
                }
            }
        }
        Some(AttentionRun {
            stage,
            kind: AttentionKind::softmax(),
            heads: groups.len(),
            head_size,
            value_size,
            masks: groups.iter().map(|group| group.mask).collect(),
            connections: Vec::new(),
            q: self.rounded(q),
            q_bias: self.rounded(q_bias),
            k: self.rounded(k),
            v: self.rounded(v),
            o: self.rounded(o),
        })
    }

    /// The hidden units of a slot, equal ones once.
    fn units(&self, slot: usize) -> Vec<Unit> {
        let mut units: Vec<Unit> = Vec::new();
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let width = self.width;
        let mut add = |atom: Option<(usize, usize)>, read: Vec<f64>, bias: f64, writes: &dyn Fn(usize) -> f64| {
            let (read, bias) = (self.rounded(read), self.round(bias));
            let key: Vec<u64> = read.iter().chain([&bias]).map(|x| x.to_bits()).collect();
            let unit = *known.entry(key).or_insert_with(|| {
                units.push(Unit { atoms: Vec::new(), read, bias, writes: vec![0.0; width] });
                units.len() - 1
            });
            let unit = &mut units[unit];
            for (register, written) in unit.writes.iter_mut().enumerate() {
                *written += writes(register);
            }
            if unit.atoms.last() != atom.as_ref() {
                unit.atoms.extend(atom);
            }
        };
        let minus = |weights: &[f64]| weights.iter().map(|w| -w).collect::<Vec<f64>>();
        for (index, atom) in self.atoms(slot) {
            let Source::Gate(arguments) = &atom.source else { continue };
            for (place, (argument, (hinges, sign))) in arguments.iter().zip(&self.analysis.gates[index]).enumerate() {
                let (weights, constant) = (self.weights(argument, slot), self.constant(argument, slot));
                for hinge in &hinges.units {
                    let writes = |register: usize| sign * hinge.slope * self.written(slot, register, index);
                    if hinge.right {
                        add(Some((index, place)), weights.clone(), constant - hinge.knot, &writes);
                    } else {
                        add(Some((index, place)), minus(&weights), hinge.knot - constant, &writes);
                    }
                }
            }
        }
        for clear in self.layout.clears.get(slot).into_iter().flatten() {
            let Some(emptied) = self.analysis.emptied.get(&(slot, clear.register)) else { continue };
            for Emptier { read, bias, adds } in &emptied.units {
                let at = |value: f64| move |register: usize| if register == clear.register { value } else { 0.0 };
                add(None, (0..width).map(at(*read)).collect(), *bias, &at(*adds));
            }
        }
        units
    }

    fn feed_forward(&self, slot: usize, stage: usize) -> Option<FeedForwardRun> {
        let units = self.units(slot);
        if units.is_empty() {
            return None;
        }
        let hidden = units.len();
        let w2 = (0..self.width).flat_map(|register| units.iter().map(move |unit| unit.writes[register]));
        let w2 = self.rounded(w2);
        Some(FeedForwardRun {
            stage,
            hidden,
            w1: units.iter().flat_map(|unit| unit.read.iter().copied()).collect(),
            b1: units.iter().map(|unit| unit.bias).collect(),
            w2,
            b2: vec![0.0; self.width],
        })
    }

    fn stage(&self, what: &str, block: usize, slot: usize, names: &Names) -> FloatStage {
        let made = self.atoms(slot).map(|(_, atom)| names.definition(atom.wire));
        let mut made: Vec<String> = made.collect();
        made.dedup();
        let clears = self.layout.clears.get(slot).map_or(0, Vec::len);
        if clears > 0 {
            made.push(format!("{} emptied", plural(clears, "register")));
        }
        FloatStage { name: format!("{what}-{block}"), statement: STATEMENT.to_owned(), meaning: made.join("; ") }
    }
}
