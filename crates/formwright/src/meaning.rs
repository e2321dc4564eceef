//! The meaning of registers: after every stage `offset + Σ factor · atom`, exactly, to within a proved error.
//!
//! An **atom** is a name: an input coordinate, the index, numbers by position, a gate. A [`Definition`] says what each
//! name stands for, by a formula of the target language over the names before it, or by a number for each position.

use std::fmt;

use serde_json::{Value, json};

use crate::exact::Rat;
use crate::show::rounded;

/// The meaning of a register: `offset + Σ factor · atom`, to within the error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Meaning {
    /// The constant term.
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

    /// The form in files: numbers are exact, and strings.
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

/// A name with its formula.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    /// The name.
    pub name: String,
    /// Its formula.
    pub formula: Formula,
}

/// The formulas that names are short for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Formula {
    /// An expression of the target language, over the input and the names before.
    Expression(String),
    /// A number for each position.
    Positions(Vec<Rat>),
}

impl Definition {
    /// The form in files.
    pub fn to_json(&self) -> Value {
        match &self.formula {
            Formula::Expression(text) => json!({"name": self.name, "formula": text}),
            Formula::Positions(values) => json!({"name": self.name, "values": values}),
        }
    }
}

/// A place of the residual stream at which a trace has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
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

/// The meaning of a register from some place on, until something else is said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    /// The place, as [`Meanings::places`] counts them.
    pub from: usize,
    /// Its meaning.
    pub meaning: Meaning,
}

/// The meanings of all registers at all places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meanings {
    /// The names, each made of those before it.
    pub(crate) definitions: Vec<Definition>,
    /// The embedding, then every stage: as a trace has them.
    pub(crate) places: Vec<Place>,
    /// The contents of every coordinate of the residual stream, from place 0 on.
    pub(crate) registers: Vec<Vec<Held>>,
    /// The names of the wires of the certificate, in their order there.
    pub(crate) wires: Vec<String>,
}

impl Meanings {
    /// The names of the wires of the certificate, in their order there.
    pub fn wires(&self) -> &[String] {
        &self.wires
    }

    /// The place behind a layer of the certificate, in words; 0 is the embedding.
    pub fn place(&self, layer: usize) -> Option<String> {
        self.places.get(layer).map(Place::to_string)
    }

    /// The stage that is this layer of the certificate; 0 is the embedding.
    pub fn stage(&self, layer: usize) -> Option<&str> {
        self.places.get(layer).map(|place| place.stage.as_str())
    }

    /// A form over wires of the certificate, in words as coordinates have it; none if it is about others.
    pub fn form_in_words(&self, offset: &str, terms: &[(usize, String)]) -> Option<String> {
        let term = |(wire, factor): &(usize, String)| Some((self.wires.get(*wire)?.clone(), factor.parse().ok()?));
        let terms = terms.iter().map(term).collect::<Option<Vec<_>>>()?;
        Some(Meaning { offset: offset.parse().ok()?, terms, error: 0.0 }.to_string())
    }

    /// The meanings of a register, from place to place, in words.
    pub fn in_words(&self, register: usize) -> String {
        let held = self.registers.get(register).into_iter().flatten();
        let words: Vec<String> = held
            .skip_while(|held| held.from == 0 && held.meaning == Meaning::number(Rat::ZERO))
            .map(|held| format!("{} (from the {})", held.meaning, self.places[held.from]))
            .collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(THEN) }
    }

    /// The meanings of a register, as files have them.
    pub fn to_json(&self, register: usize) -> Value {
        let held = self.registers.get(register).into_iter().flatten();
        held.map(|held| {
            let mut meaning = held.meaning.to_json();
            meaning["from"] = json!(self.places[held.from].stage);
            meaning
        })
        .collect()
    }

    /// The names and their formulas, as files have them.
    pub fn atoms_to_json(&self) -> Value {
        self.definitions.iter().map(Definition::to_json).collect()
    }
}

/// Between what a register holds and what it holds then.
pub(crate) const THEN: &str = ", then ";

/// Adds `scale · name` to a sum; `size` is how `|scale|` is written.
pub(crate) fn term(sum: &mut String, scale: &Rat, size: &str, name: &str) {
    let sign = match (sum.is_empty(), scale.is_negative()) {
        (true, true) => "-",
        (true, false) => "",
        (false, true) => " - ",
        (false, false) => " + ",
    };
    sum.push_str(sign);
    if size != "1" {
        sum.push_str(size);
        sum.push('*');
    }
    sum.push_str(name);
}
