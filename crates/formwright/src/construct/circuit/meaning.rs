//! What registers mean: after every stage `offset + Σ factor · atom`, exactly, to within an error that is proved.
//!
//! An **atom** here is a name: an input coordinate, the index, numbers by position, a gate. What each name stands for is a formula of the target
//! language over the names before it, or a table of numbers by position. A meaning is about the numbers that are *meant*: formulas without error,
//! weights before they are rounded. What gates approximate and what floats lose is the `error`: for every token, every input of the domain and
//! every execution, `|register - (offset + Σ factor · atom)| ≤ error`.
//!
//! A register does not hold its gates as they are. A slot adds what its atom *is* in the stream ([`super::layout::Source`]), and everybody who reads
//! it adds the rest:
//!
//! ```text
//! input        x - middle of the domain
//! curve        f(T) - base                    base: the value at the knot that the hinges face outward from
//! product      ab - m_b a - m_a b + m_a m_b - bases
//! selection    ca - floor c
//! mean, sum    s · mean(T) - s · (what is added to T's registers)
//! maximum      max(T) - (the same) - half of what the average loses
//! ```
//!
//! This file is the only place that undoes it.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};

use super::analysis::Analysis;
use super::form::Form;
use super::graph::{Graph, Kind};
use super::layout::{Layout, Source, arguments};
use super::names::{Names, term};
use crate::exact::Rat;
use crate::network::FloatNetwork;
use crate::rounding::TERMS;
use crate::words::rounded;

/// What a register holds: `offset + Σ factor · atom`, to within the error.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    /// What is added.
    pub offset: Rat,
    /// Names, each with its factor, in the order of their definitions; no factor is 0.
    pub terms: Vec<(String, Rat)>,
    /// How far what is computed may be from that: gates that approximate, rounding.
    pub error: f64,
}

impl Meaning {
    /// A number, exactly.
    pub fn number(offset: Rat) -> Self {
        Self { offset, terms: Vec::new(), error: 0.0 }
    }

    /// As files have it: numbers are exact, and strings.
    pub fn to_json(&self) -> Value {
        let term = |(atom, factor): &(String, Rat)| json!({"atom": atom, "factor": factor});
        let terms: Vec<Value> = self.terms.iter().map(term).collect();
        json!({"offset": self.offset, "terms": terms, "error": self.error})
    }
}

/// The one way in which people read it; long numbers end in `…` where digits are left out.
impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (name, factor) in &self.terms {
            term(&mut text, factor, &brief(&factor.abs()), name);
        }
        if text.is_empty() || !self.offset.is_zero() {
            term(&mut text, &self.offset, "1", &brief(&self.offset.abs()));
        }
        f.write_str(&text)
    }
}

/// A number that is `≥ 0`, in few characters.
fn brief(value: &Rat) -> String {
    let text = value.to_string();
    if text.len() <= 12 { text } else { format!("{}…", rounded(value.to_f64())) }
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// What it is.
    pub formula: Formula,
}

/// What a name is short for.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// An expression of the target language, over the input and the names before.
    Expression(String),
    /// A number for each position.
    Positions(Vec<Rat>),
}

impl Definition {
    /// As files have it.
    pub fn to_json(&self) -> Value {
        match &self.formula {
            Formula::Expression(text) => json!({"name": self.name, "formula": text}),
            Formula::Positions(values) => json!({"name": self.name, "values": values}),
        }
    }
}

/// A place of the residual stream at which a trace has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the stage before it, or `embed`.
    pub stage: String,
    /// The block, counted from 0, and whether it is behind its attention; `None` behind the embedding.
    pub block: Option<(usize, bool)>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block {
            None => f.write_str("embedding"),
            Some((block, true)) => write!(f, "attention of block {block}"),
            Some((block, false)) => write!(f, "feed-forward of block {block}"),
        }
    }
}

/// What a register holds from some place on, until something else is said.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The place, as [`Meanings::places`] counts them.
    pub from: usize,
    /// What it holds.
    pub meaning: Meaning,
}

/// What all registers hold at all places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meanings {
    /// The names, each made of those before it.
    pub definitions: Vec<Definition>,
    /// The embedding, then every stage: as a trace has them.
    pub places: Vec<Place>,
    /// Of every coordinate of the residual stream what it holds, from place 0 on.
    pub registers: Vec<Vec<Held>>,
}

impl Meanings {
    /// What a register holds at a place.
    pub fn at(&self, register: usize, place: usize) -> Option<&Meaning> {
        self.registers.get(register)?.iter().rfind(|held| held.from <= place).map(|held| &held.meaning)
    }

    /// What a register holds, from place to place, in words.
    pub fn in_words(&self, register: usize) -> String {
        let held = self.registers.get(register).into_iter().flatten();
        let words: Vec<String> = held
            .skip_while(|held| held.from == 0 && held.meaning == Meaning::number(Rat::ZERO))
            .map(|held| format!("{} (from the {})", held.meaning, self.places[held.from]))
            .collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(THEN) }
    }

    /// What a register holds, as files have it.
    pub fn to_json(&self, register: usize) -> Value {
        let held = self.registers.get(register).into_iter().flatten();
        held.map(|held| {
            let mut meaning = held.meaning.to_json();
            meaning["from"] = json!(self.places[held.from].stage);
            meaning
        })
        .collect()
    }

    /// What the names stand for, as files have it.
    pub fn atoms_to_json(&self) -> Value {
        self.definitions.iter().map(Definition::to_json).collect()
    }
}

/// Between what a register holds and what it holds then.
pub const THEN: &str = ", then ";

/// What is known of a circuit once its stages are made.
pub struct Circuit<'a> {
    /// What it computes.
    pub graph: &'a Graph,
    /// Where.
    pub layout: &'a Layout,
    /// How far it is from that.
    pub analysis: &'a Analysis,
    /// What it is called.
    pub names: &'a Names,
}

impl Circuit<'_> {
    /// What the registers hold; `slots` are those of the stages, with their blocks.
    pub fn meanings(&self, network: &FloatNetwork, slots: &[(usize, usize)]) -> Meanings {
        let place = |(stage, (slot, block)): (&crate::network::FloatStage, &(usize, usize))| Place {
            stage: stage.name.clone(),
            block: Some((*block, slot % 2 == 1)),
        };
        let embedding = Place { stage: "embed".to_owned(), block: None };
        let places: Vec<Place> =
            std::iter::once(embedding).chain(network.stages.iter().zip(slots).map(place)).collect();
        // Behind a stage it is as before the next one: a slot without a stage adds nothing but what rounds to 0 everywhere.
        let end = self.layout.last() + 1;
        let befores: Vec<usize> = slots.iter().map(|(slot, _)| *slot).chain([end]).collect();
        let mut registers: Vec<Vec<Held>> = Vec::new();
        for register in 0..network.width() {
            let mut held: Vec<Held> = Vec::new();
            for (from, before) in befores.iter().enumerate() {
                let meaning = self.meaning(network, register, *before);
                if held.last().is_none_or(|last| last.meaning != meaning) {
                    held.push(Held { from, meaning });
                }
            }
            registers.push(held);
        }
        Meanings { definitions: self.definitions(), places, registers }
    }

    /// What a register holds before a slot.
    fn meaning(&self, network: &FloatNetwork, register: usize, slot: usize) -> Meaning {
        let Some(row) = self.layout.before[slot].get(register) else {
            if register < self.layout.width {
                return Meaning::number(Rat::ZERO);
            }
            // What another kind of attention keeps there is 1, or empty again behind its stage but for what is below the normal range.
            let constant = network.embed.bias[register];
            let error = if constant == 0.0 { network.precision.flushed(TERMS).get() } else { 0.0 };
            return Meaning { error, ..Meaning::number(Rat::from_f64(constant).unwrap_or_default()) };
        };
        let mut meant = Form::default();
        for (atom, factor) in &row.terms {
            meant = meant.plus(factor, &self.meant(*atom));
        }
        let name = |(wire, factor): (&usize, &Rat)| (self.names.name(*wire).to_owned(), factor.clone());
        let terms = meant.terms.iter().map(name).collect();
        Meaning { offset: meant.constant, terms, error: self.analysis.register_error(row, register, slot) }
    }

    /// What an atom is in the stream, over wires.
    fn meant(&self, atom: usize) -> Form {
        let known = &self.layout.atoms[atom];
        let wire = Form::of(known.wire);
        let minus = -Rat::ONE;
        match &known.source {
            Source::Input(_, middle) => wire.plus(&minus, &Form::constant(middle.clone())),
            Source::Position(_) => wire,
            Source::Gate(_) | Source::Head { .. } => {
                let (_, rest) = arguments(self.graph, known.wire);
                let base = Form::constant(self.analysis.bases[atom].clone());
                wire.plus(&minus, &rest).plus(&minus, &base)
            }
        }
    }

    /// Everything that has a name and is needed, in the order in which it is made.
    fn definitions(&self) -> Vec<Definition> {
        let mut seen = BTreeSet::new();
        let mut definitions = Vec::new();
        for (number, wire) in self.graph.wires.iter().enumerate().filter(|(wire, _)| self.layout.wires[*wire].is_some())
        {
            let name = self.names.name(number);
            let formula = match &wire.kind {
                Kind::Position(values) if name != "i" => Formula::Positions(values.clone()),
                Kind::Position(_) | Kind::Input(_) => Formula::Expression(name.to_owned()),
                _ => Formula::Expression(self.names.formula(number).to_owned()),
            };
            if seen.insert(name) {
                definitions.push(Definition { name: name.to_owned(), formula });
            }
        }
        definitions
    }
}
