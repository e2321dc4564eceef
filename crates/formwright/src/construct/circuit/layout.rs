//! The layout of a circuit: slots, atoms, registers.
//!
//! Slot 0 is the embedding; block `b` has attention in slot `2b+1` and feed-forward in slot `2b+2`. An **atom** is what one slot adds to the
//! residual stream: an input, a number of the positions, a gate (a sum of ReLUs), a value of a head. A wire is an affine form over atoms.
//!
//! **Registers.** What is read after slot `s` are forms; of these only the parts over the atoms of slots `≤ s` are needed then, and only their
//! *span*: `x - mean(x)` needs one register, because the mean is added to the one that holds `x`. Registers are a basis of that span, adapted
//! slot by slot: `z ← z + W·new`, with `W` solved for so that every form is still a combination of registers. A new direction takes a fresh
//! register, or one whose content nobody needs, cleared by one ReLU if its sign is known and by two if it is not, or by
//! units that are there.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use super::form::Form;
use super::graph::{Graph, Kind, is_table_product};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Interval;
use crate::network::{Mask, Precision};

/// How the scores of a head come about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scores {
    /// All equal.
    Uniform,
    /// The first token weighs as many as are missing.
    Sink {
        /// The logarithm of its weight.
        query: Form,
        /// 1 at the first token.
        key: Form,
    },
    /// Proportional to the value.
    Largest,
    /// A sum of products, each of a query and a key.
    Products(Vec<(Form, Form)>),
    /// `λ(2tp - p²)`.
    Gather {
        /// `t`
        index: Form,
        /// `p` and `p²`
        keys: (Form, Form),
    },
}

/// The kinds of atoms.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a few dozen of them")]
pub(crate) enum Source {
    /// An input coordinate, minus the middle of the domain unless it is an integer.
    Input(usize, Rat),
    /// A number for each position.
    Position(usize),
    /// The sum of ReLU functions of these arguments; the hinges are chosen later.
    Gate(Vec<Form>),
    /// A head.
    Head {
        /// Its scores.
        scores: Scores,
        /// The tokens that it sees.
        mask: Mask,
        /// The form that it averages.
        value: Form,
        /// The factor.
        scale: Rat,
    },
}

impl Source {
    /// The forms over atoms that it is computed from.
    pub fn forms(&self) -> Vec<&Form> {
        match self {
            Self::Input(..) | Self::Position(_) => Vec::new(),
            Self::Gate(arguments) => arguments.iter().collect(),
            Self::Head { scores, value, .. } => match scores {
                Scores::Uniform | Scores::Largest => vec![value],
                Scores::Sink { query, key } => vec![value, query, key],
                Scores::Products(rows) => std::iter::once(value).chain(both(rows)).collect(),
                Scores::Gather { index, keys } => vec![value, index, &keys.0, &keys.1],
            },
        }
    }
}

/// A group of units that one slot adds.
#[derive(Clone, Debug)]
pub(crate) struct Atom {
    /// The slot.
    pub slot: usize,
    /// The wire that it belongs to.
    pub wire: usize,
    /// Its kind.
    pub source: Source,
}

/// A register that is emptied.
#[derive(Clone, Debug)]
pub(crate) struct Clear {
    /// Its number.
    pub register: usize,
    /// Its content, over atoms.
    pub content: Form,
}

/// Everything in its place.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The atoms, by slot.
    pub atoms: Vec<Atom>,
    /// The wires as forms over atoms; empty for wires that nobody needs. Every atom counts with its base.
    pub wires: Vec<Option<Form>>,
    /// The outputs, as forms over atoms.
    pub outputs: Vec<Form>,
    /// The content of each register before each slot, over atoms.
    pub before: Vec<Vec<Form>>,
    /// The form that each slot adds to each register, over the atoms of that slot.
    pub writes: Vec<BTreeMap<usize, Form>>,
    /// The registers that a slot empties.
    pub clears: Vec<Vec<Clear>>,
    /// The number of registers.
    pub width: usize,
    /// The combinations of registers that were asked for.
    known: RefCell<HashMap<(usize, Form), Vec<Rat>>>,
    /// The cells of the argument of each curve, with the values there: computed once.
    pub cells: Vec<OnceLock<Vec<(Interval, Interval)>>>,
}

/// The first feed-forward slot after another.
fn feed_forward_after(slot: usize) -> usize {
    (slot / 2 + 1) * 2
}

/// The first attention slot after another.
fn attention_after(slot: usize) -> usize {
    slot.div_ceil(2) * 2 + 1
}

/// About the middle of a range: a number of every format.
pub(crate) fn middle(range: Interval) -> Rat {
    Rat::from_f64(Precision::F32.round(range.mid())).unwrap_or_default()
}

/// The floor and the reach of a selection: `condition · value = R(value - floor + reach · (condition - 1)) + floor · condition`.
pub(crate) fn selection(graph: &Graph, value: &Form) -> (Rat, Rat) {
    let range = graph.range(value);
    let end = |x: f64| Rat::from_f64(x).unwrap_or_default();
    let (lo, hi) = (end(range.lo()), end(range.hi()));
    // A little more than needed, so that errors are swallowed where the condition is 0; a power of two for integers, which keeps them exact.
    let reach = if graph.is_integer(value) {
        let whole = (&hi - &lo).ceil();
        Rat::from(2).pow(whole.bits().max(1))
    } else {
        (&hi - &lo) * Rat::new(9, 8)
    };
    (lo, reach)
}

/// More than two numbers of an exchange can be apart: a number of every format, so that no position rounds it.
pub(crate) fn apart(graph: &Graph, own: &Form, other: &Form) -> Rat {
    let apart = graph.range(own).hull(graph.range(other)).width();
    Rat::from_f64(Precision::F32.round(apart * 1.125)).unwrap_or_default()
}

/// `α ≈ √(r_y/r_x)`, to a few digits, so that both squares of a product have the same range.
pub(crate) fn balance(x: Interval, y: Interval) -> Rat {
    let ratio = (y.width() / x.width()).sqrt();
    if !ratio.is_finite() || ratio <= 0.0 {
        return Rat::ONE;
    }
    // Beyond this one factor is as good as constant.
    let ratio = ratio.clamp(2_f64.powi(-60), 2_f64.powi(60));
    #[expect(clippy::cast_possible_truncation, reason = "between -60 and 60")]
    let scale = 2_f64.powi(ratio.log2().floor() as i32 - 4);
    Rat::from_f64((ratio / scale).round() * scale).unwrap_or(Rat::ONE)
}

/// The arguments of the ReLU functions of a gate, over wires, and what is added to their sum.
///
/// ```text
/// product      a b = S(u) - S(v) + m_b a + m_a b - m_a m_b,  u, v = (α(a - m_a) ± (b - m_b)/α)/2,  S(t) = t²,  m the middle of the range
/// of integers  a b = S(a + b) - S(a - b),                    S(t) = t²/4
/// selection    c a = R(a - floor + reach (c - 1)) + floor c
/// exchange     a + R(t - M) - R(-t), t = b - a + M s: the larger of a and b where s is 1, the smaller where it is 0
/// ```
pub(crate) fn arguments(graph: &Graph, wire: usize) -> (Vec<Form>, Form) {
    let minus = -Rat::ONE;
    match &graph.wires[wire].kind {
        Kind::Curve { of, .. } => (vec![of.clone()], Form::default()),
        Kind::Product(a, b) if is_table_product(graph, wire) => {
            (vec![a.plus(&Rat::ONE, b), a.plus(&minus, b)], Form::default())
        }
        Kind::Product(a, b) => {
            let (range_a, range_b) = (graph.range(a), graph.range(b));
            let (mid_a, mid_b) = (middle(range_a), middle(range_b));
            let alpha = balance(range_a, range_b);
            let half = Rat::new(1, 2);
            let centred = |form: &Form, mid: &Rat| form.plus(&minus, &Form::constant(mid.clone()));
            let left = centred(a, &mid_a).scaled(&(&alpha * &half));
            let right = centred(b, &mid_b).scaled(&(half / alpha));
            let rest = Form::constant(-(&mid_a * &mid_b)).plus(&mid_a, b).plus(&mid_b, a);
            (vec![left.plus(&Rat::ONE, &right), left.plus(&minus, &right)], rest)
        }
        Kind::Select { condition, value } => {
            let (floor, reach) = selection(graph, value);
            let shift = Form::constant(-(&floor + &reach));
            let argument = value.plus(&reach, condition).plus(&Rat::ONE, &shift);
            (vec![argument], condition.scaled(&floor))
        }
        Kind::Exchange { side, own, other } => {
            (vec![other.plus(&minus, own).plus(&apart(graph, own, other), side)], own.clone())
        }
        _ => (vec![], Form::default()),
    }
}

/// The most inputs and gates that are laid out.
pub(crate) const MOST_GATES: usize = 1 << 11;

/// Declines a circuit of more inputs and gates than are laid out.
pub(crate) fn check_gates(gates: usize) -> Result<()> {
    if gates <= MOST_GATES {
        return Ok(());
    }
    Err(Error::declined(format!("the circuit would have {gates} inputs and gates"))
        .note("limit", format!("{MOST_GATES} are laid out in registers"))
        .note("try", "fewer ⟨dims⟩, a smaller domain of integers, or a shorter expression"))
}

impl Layout {
    /// The registers that an atom is added to.
    pub fn registers(&self, atom: usize) -> Vec<usize> {
        let writes = self.writes.get(self.atoms[atom].slot).into_iter().flatten();
        writes.filter(|(_, form)| form.terms.contains_key(&atom)).map(|(register, _)| *register).collect()
    }

    /// Declines a circuit of more gates than are laid out, in which every gate is held against every register.
    fn check_size(&self) -> Result<()> {
        check_gates(self.atoms.len())
    }

    /// Puts a circuit into slots and registers; with `clear`, registers are emptied and used again.
    ///
    /// Fails if something that is read is not in the registers, which would be an error of this program.
    pub fn new(graph: &Graph, outputs: &[Form], clear: bool) -> Result<Self> {
        let mut layout = Self {
            atoms: Vec::new(),
            wires: vec![None; graph.wires.len()],
            outputs: Vec::new(),
            before: Vec::new(),
            writes: Vec::new(),
            clears: Vec::new(),
            width: 0,
            known: RefCell::default(),
            cells: vec![OnceLock::new(); graph.wires.len()],
        };
        layout.place(graph, outputs);
        layout.check_size()?;
        layout.outputs = outputs.iter().map(|form| layout.lower(form)).collect();
        // A comparator reads two numbers and a position: whatever takes a position's register would be in all of them.
        let is_exchange = |atom: &Atom| matches!(graph.wires[atom.wire].kind, Kind::Exchange { .. });
        let kept = layout.atoms.iter().any(is_exchange);
        layout.allocate(clear, kept);
        let mut echelons: BTreeMap<usize, Echelon> = BTreeMap::new();
        for (slot, form) in layout.reads() {
            let rows = &layout.before[slot];
            if echelons.entry(slot).or_insert_with(|| Echelon::new(rows)).solve(&form, rows.len()).is_none() {
                return Err(Error::declined(format!("a form that slot {slot} reads is in no register")));
            }
        }
        Ok(layout)
    }

    /// A form over wires as a form over atoms.
    pub fn lower(&self, form: &Form) -> Form {
        let mut lowered = Form::constant(form.constant.clone());
        for (wire, scale) in &form.terms {
            if let Some(known) = &self.wires[*wire] {
                lowered = lowered.plus(scale, known);
            }
        }
        lowered
    }

    fn slot_of(&self, form: &Form) -> usize {
        form.terms.keys().map(|atom| self.atoms[*atom].slot).max().unwrap_or(0)
    }

    /// The last slot.
    pub fn last(&self) -> usize {
        self.atoms.iter().map(|atom| atom.slot).max().unwrap_or(0)
    }

    /// Atoms and their slots, one level of attention after the other.
    fn place(&mut self, graph: &Graph, outputs: &[Form]) {
        let needed = needed(graph, outputs);
        let levels = levels(graph);
        let mut attention = 0;
        for level in 0..=levels.iter().copied().max().unwrap_or(0) {
            let of_level = |wire: &usize| needed[*wire] && levels[*wire] == level;
            let wires: Vec<usize> = (0..graph.wires.len()).filter(of_level).collect();
            let heads: Vec<usize> = wires.iter().copied().filter(|wire| is_head(&graph.wires[*wire].kind)).collect();
            let ready = heads.iter().flat_map(|wire| inputs(&graph.wires[*wire].kind));
            let ready = ready.map(|form| self.slot_of(&self.lower(form))).max().unwrap_or(0);
            if !heads.is_empty() {
                attention = attention_after(ready.max(attention));
            }
            for wire in heads {
                self.place_head(graph, wire, attention);
            }
            for wire in wires {
                if !is_head(&graph.wires[wire].kind) {
                    self.place_gate(graph, wire);
                }
            }
        }
    }

    fn atom(&mut self, slot: usize, wire: usize, source: Source) -> Form {
        self.atoms.push(Atom { slot, wire, source });
        Form::of(self.atoms.len() - 1)
    }

    fn place_head(&mut self, graph: &Graph, wire: usize, slot: usize) {
        let (scores, mask, of, scale) = match &graph.wires[wire].kind {
            Kind::Mean { of, mask, scale } => (Scores::Uniform, *mask, of, scale.clone()),
            Kind::Sink { of, mask, query, key } => {
                let scores = Scores::Sink { query: self.lower(query), key: self.lower(key) };
                (scores, *mask, of, Rat::from(graph.tokens))
            }
            Kind::Largest { of, mask } => (Scores::Largest, *mask, of, Rat::ONE),
            Kind::Attend { of, mask, rows, .. } => {
                let rows = rows.iter().map(|(query, key)| (self.lower(query), self.lower(key))).collect();
                (Scores::Products(rows), *mask, of, Rat::ONE)
            }
            Kind::Gather { index, of, keys } => {
                let keys = (self.lower(&keys.0), self.lower(&keys.1));
                (Scores::Gather { index: self.lower(index), keys }, Mask::ALL, of, Rat::ONE)
            }
            _ => return,
        };
        let value = self.lower(of);
        let form = self.atom(slot, wire, Source::Head { scores, mask, value, scale });
        self.wires[wire] = Some(form);
    }

    fn place_gate(&mut self, graph: &Graph, wire: usize) {
        let form = match &graph.wires[wire].kind {
            Kind::Input(c) => {
                let known = &graph.wires[wire];
                let middle = if known.integer { Rat::ZERO } else { middle(known.range) };
                let atom = self.atom(0, wire, Source::Input(*c, middle.clone()));
                atom.plus(&Rat::ONE, &Form::constant(middle))
            }
            Kind::Position(_) => self.atom(0, wire, Source::Position(wire)),
            Kind::Cases(form) | Kind::Alias { form, .. } => self.lower(form),
            Kind::Curve { .. } | Kind::Product(..) | Kind::Select { .. } | Kind::Exchange { .. } => {
                let (arguments, rest) = arguments(graph, wire);
                let lowered = arguments.iter().map(|form| self.lower(form)).collect();
                self.gate(wire, lowered).plus(&Rat::ONE, &self.lower(&rest))
            }
            _ => return,
        };
        self.wires[wire] = Some(form);
    }

    fn gate(&mut self, wire: usize, arguments: Vec<Form>) -> Form {
        let ready = arguments.iter().map(|form| self.slot_of(form)).max().unwrap_or(0);
        self.atom(feed_forward_after(ready), wire, Source::Gate(arguments))
    }

    /// Everything that is read, with the slot that reads it.
    pub fn reads(&self) -> Vec<(usize, Form)> {
        let mut reads = Vec::new();
        for atom in &self.atoms {
            match &atom.source {
                Source::Input(..) | Source::Position(_) => {}
                Source::Gate(arguments) => reads.extend(arguments.iter().map(|form| (atom.slot, form.linear()))),
                Source::Head { scores, value, .. } => {
                    reads.push((atom.slot, value.linear()));
                    match scores {
                        Scores::Uniform | Scores::Largest => {}
                        Scores::Sink { query, key } => {
                            reads.extend([(atom.slot, query.linear()), (atom.slot, key.linear())]);
                        }
                        Scores::Products(rows) => {
                            reads.extend(both(rows).map(|form| (atom.slot, form.linear())));
                        }
                        Scores::Gather { index, keys } => {
                            reads.extend([index, &keys.0, &keys.1].map(|form| (atom.slot, form.linear())));
                        }
                    }
                }
            }
        }
        let end = self.last() + 1;
        reads.extend(self.outputs.iter().map(|form| (end, form.linear())));
        reads
    }

    /// Registers, slot by slot; with `kept`, positions stay where they are.
    fn allocate(&mut self, clear: bool, kept: bool) {
        let mut reads = self.reads();
        let last = self.last();
        let positions = self.atoms.iter().enumerate().filter(|(_, atom)| matches!(atom.source, Source::Position(_)));
        reads.extend(positions.filter(|_| kept).map(|(atom, _)| (last + 1, Form::of(atom))));
        let mut rows: Vec<Form> = Vec::new();
        let mut idle: Vec<bool> = Vec::new();
        for slot in 0..=last {
            self.before.push(rows.clone());
            self.writes.push(BTreeMap::new());
            self.clears.push(Vec::new());
            let old = |form: &Form| self.part(form, |s| s < slot);
            let new = |form: &Form| self.part(form, |s| s == slot);
            let mut demands: Vec<(Vec<Rat>, Form)> = Vec::new();
            let echelon = Echelon::new(&rows);
            for (_, form) in reads.iter().filter(|(at, _)| *at > slot) {
                let coordinates = echelon.solve(&old(form), rows.len()).unwrap_or_else(|| vec![Rat::ZERO; rows.len()]);
                let demand = (coordinates, new(form));
                if !demands.contains(&demand) {
                    demands.push(demand);
                }
            }
            let weight =
                |demand: &(Vec<Rat>, Form)| (demand.0.iter().filter(|c| !c.is_zero()).count(), demand.1.terms.len());
            demands.sort_by_key(weight);
            let (pivots, fresh) = eliminate(demands);
            for (register, _, addition) in &pivots {
                if !addition.terms.is_empty() {
                    self.writes[slot].insert(*register, addition.clone());
                }
            }
            let used = |register: usize| pivots.iter().any(|(_, row, _)| !row[register].is_zero());
            let now_idle: Vec<bool> = (0..rows.len()).map(|register| !used(register)).collect();
            let mut taken = Vec::new();
            for addition in fresh {
                let feed_forward = slot > 0 && slot % 2 == 0;
                let spare = (0..rows.len()).filter(|register| {
                    now_idle.get(*register) == Some(&true)
                        && !taken.contains(register)
                        && (rows[*register].terms.is_empty()
                            || clear && (feed_forward || slot > 2 && idle.get(*register) == Some(&true)))
                });
                let empty = |register: &usize| rows[*register].terms.is_empty();
                let emptier = |register: usize| self.emptier(&addition, slot, register);
                let found = spare.min_by_key(|register| (!empty(register), emptier(*register).is_none()));
                let register = found.unwrap_or(rows.len());
                // In a chain of gates that empty a register what they leave there stays small if signs alternate.
                let chained = self.clears.iter().flatten().any(|clear| Some(clear.register) == found);
                let turned = chained && found.and_then(emptier) == Some(1.0);
                let addition = if turned { addition.scaled(&-Rat::ONE) } else { addition };
                rows.resize(rows.len().max(register + 1), Form::default());
                if !rows[register].terms.is_empty() {
                    // In this slot, or in the feed-forward slot just before.
                    let at = if feed_forward { slot } else { slot - 1 };
                    let content = std::mem::take(&mut rows[register]);
                    if !feed_forward {
                        self.before[slot][register] = Form::default();
                    }
                    self.clears[at].push(Clear { register, content });
                }
                taken.push(register);
                self.writes[slot].insert(register, addition);
            }
            for (register, addition) in &self.writes[slot] {
                rows[*register] = rows[*register].plus(&Rat::ONE, addition);
            }
            idle = (0..rows.len())
                .map(|register| now_idle.get(register).copied().unwrap_or(false) && !taken.contains(&register))
                .collect();
        }
        self.width = rows.len();
        self.before.push(rows);
    }

    /// The weight of a register, 1 or -1, if a form is read from it alone in a slot.
    pub fn alone(&self, form: &Form, slot: usize, register: usize) -> Option<f64> {
        let coordinates = self.coordinates(form, slot);
        let others = coordinates.iter().enumerate().any(|(other, c)| other != register && !c.is_zero());
        coordinates.get(register).filter(|c| !others && c.abs() == Rat::ONE).map(Rat::to_f64)
    }

    /// The weight of a register, 1 or -1, if a gate of what is written into it reads it alone: its units may empty it.
    fn emptier(&self, addition: &Form, slot: usize, register: usize) -> Option<f64> {
        let arguments = |atom: &usize| match &self.atoms[*atom].source {
            Source::Gate(arguments) => &arguments[..],
            _ => &[],
        };
        addition.terms.keys().flat_map(arguments).find_map(|form| self.alone(form, slot, register))
    }

    /// The part of a form over the atoms of some slots.
    fn part(&self, form: &Form, slots: impl Fn(usize) -> bool) -> Form {
        let terms = form.terms.iter().filter(|(atom, _)| slots(self.atoms[**atom].slot));
        Form { terms: terms.map(|(atom, c)| (*atom, c.clone())).collect(), constant: Rat::ZERO }
    }

    /// A form as a combination of registers before a slot.
    pub fn coordinates(&self, form: &Form, slot: usize) -> Vec<Rat> {
        let key = (slot, form.linear());
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let rows = &self.before[slot];
        let found = Echelon::new(rows).solve(&key.1, rows.len()).unwrap_or_else(|| vec![Rat::ZERO; rows.len()]);
        self.known.borrow_mut().insert(key, found.clone());
        found
    }
}

/// A register, its row, and what is added to it.
type Pivot = (usize, Vec<Rat>, Form);

/// Gauss-Jordan on demands `(c, f)`: registers with what is added to each, and what needs fresh registers.
fn eliminate(demands: Vec<(Vec<Rat>, Form)>) -> (Vec<Pivot>, Vec<Form>) {
    let mut pivots: Vec<Pivot> = Vec::new();
    let mut fresh: Vec<Form> = Vec::new();
    for (mut row, mut addition) in demands {
        for (register, pivot, known) in &pivots {
            let factor = row[*register].clone();
            if !factor.is_zero() {
                for (entry, other) in row.iter_mut().zip(pivot) {
                    *entry -= &(&factor * other);
                }
                addition = addition.plus(&-factor, known);
            }
        }
        let largest = (0..row.len())
            .filter(|k| !row[*k].is_zero())
            .max_by(|a, b| row[*a].abs().cmp(&row[*b].abs()).then(b.cmp(a)));
        let Some(register) = largest else {
            // Nothing of what is there is needed for it.
            if !addition.terms.is_empty() && Echelon::new(&fresh).solve(&addition, fresh.len()).is_none() {
                fresh.push(addition);
            }
            continue;
        };
        let scale = Rat::ONE / row[register].clone();
        for entry in &mut row {
            *entry = &*entry * &scale;
        }
        addition = addition.scaled(&scale);
        for (_, other, known) in &mut pivots {
            let factor = other[register].clone();
            if !factor.is_zero() {
                for (entry, new) in other.iter_mut().zip(&row) {
                    *entry -= &(&factor * new);
                }
                *known = known.plus(&-factor, &addition);
            }
        }
        pivots.push((register, row, addition));
    }
    (pivots, fresh)
}

/// Rows brought into echelon form, with how they came about.
pub(crate) struct Echelon {
    /// The first atom, the row, and the combination of the given rows that it is: few of many, so that wide streams cost little.
    rows: Vec<(usize, Form, Form)>,
}

impl Echelon {
    /// Of these rows.
    pub fn new(rows: &[Form]) -> Self {
        let mut echelon = Self { rows: Vec::new() };
        for (k, row) in rows.iter().enumerate() {
            let (rest, combination) = echelon.reduce(row.clone(), Form::of(k));
            if let Some((atom, scale)) = rest.terms.first_key_value() {
                let (atom, inverse) = (*atom, Rat::ONE / scale.clone());
                echelon.rows.push((atom, rest.scaled(&inverse), combination.scaled(&inverse)));
            }
        }
        echelon
    }

    fn reduce(&self, mut form: Form, mut combination: Form) -> (Form, Form) {
        for (atom, row, made) in &self.rows {
            if let Some(factor) = form.terms.get(atom).cloned() {
                form = form.plus(&-factor.clone(), row);
                combination = combination.plus(&-factor, made);
            }
        }
        (form, combination)
    }

    /// The combination of rows that a form is.
    pub fn solve(&self, form: &Form, count: usize) -> Option<Vec<Rat>> {
        let (rest, combination) = self.reduce(form.clone(), Form::default());
        rest.terms.is_empty().then(|| {
            let mut coordinates = vec![Rat::ZERO; count];
            combination.terms.into_iter().for_each(|(row, c)| coordinates[row] = -c);
            coordinates
        })
    }
}

/// The queries and the keys of a score.
fn both(rows: &[(Form, Form)]) -> impl Iterator<Item = &Form> {
    rows.iter().flat_map(|(query, key)| [query, key])
}

/// True if a wire is a head.
pub(crate) fn is_head(kind: &Kind) -> bool {
    use Kind::{Attend, Gather, Largest, Mean, Sink};
    matches!(kind, Mean { .. } | Sink { .. } | Largest { .. } | Attend { .. } | Gather { .. })
}

/// The forms that a wire is made of.
pub(crate) fn inputs(kind: &Kind) -> Vec<&Form> {
    match kind {
        Kind::Input(_) | Kind::Position(_) => vec![],
        Kind::Curve { of, .. }
        | Kind::Mean { of, .. }
        | Kind::Largest { of, .. }
        | Kind::Cases(of)
        | Kind::Alias { form: of, .. } => vec![of],
        Kind::Product(a, b) => vec![a, b],
        Kind::Select { condition, value } => vec![condition, value],
        Kind::Exchange { side, own, other } => vec![side, own, other],
        Kind::Sink { of, query, key, .. } => vec![of, query, key],
        Kind::Attend { of, rows, .. } => std::iter::once(of).chain(both(rows)).collect(),
        Kind::Gather { index, of, keys } => vec![index, of, &keys.0, &keys.1],
    }
}

/// Marks the wires that the outputs are made of.
fn needed(graph: &Graph, outputs: &[Form]) -> Vec<bool> {
    let mut needed = vec![false; graph.wires.len()];
    for wire in outputs.iter().flat_map(|form| form.terms.keys()) {
        needed[*wire] = true;
    }
    for wire in (0..graph.wires.len()).rev() {
        if needed[wire] {
            for input in inputs(&graph.wires[wire].kind).iter().flat_map(|form| form.terms.keys()) {
                needed[*input] = true;
            }
        }
    }
    needed
}

/// How many heads one after the other lead to a wire.
fn levels(graph: &Graph) -> Vec<usize> {
    let mut levels: Vec<usize> = Vec::new();
    for wire in &graph.wires {
        let below = inputs(&wire.kind).iter().flat_map(|form| form.terms.keys()).map(|k| levels[*k]).max().unwrap_or(0);
        levels.push(below + usize::from(is_head(&wire.kind)));
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::{Interval, Rat, balance};

    #[test]
    fn factors_of_any_width_are_balanced() {
        let side = |width: f64| Interval::hull(Interval::ZERO, Interval::point(width));
        assert_eq!(balance(side(1.0), side(4.0)), Rat::from(2));
        assert_eq!(balance(side(2.0), side(0.0)), Rat::ONE);
        for (x, y) in [(1.0, 1e-300), (1e-300, 1.0), (1e-200, 1e200)] {
            assert!(balance(side(x), side(y)) > Rat::ZERO, "{x}, {y}");
        }
    }
}
