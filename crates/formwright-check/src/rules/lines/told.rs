//! The proof as it is told to people, line by line. Nothing that is proved rests on it.

use std::fmt;

use super::{Dyadic, Form, Prover, Stop};
use crate::kernel::number::Range;
use crate::read::certificate::{Pooled, Wire};

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// A wire: how far what is computed may be from what is meant.
    Wire(usize),
    /// A register: how far it may be from what it holds.
    Register(usize),
    /// An output.
    Output(usize),
}

/// A line that has been proved: for every token, every input of the domain and every execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The layer behind which it holds: 0 is the embedding, and outputs stand behind the last one.
    pub layer: usize,
    /// Its subject.
    pub about: About,
    /// A register's or an output's form, over the numbers of wires, as the certificate has it. A wire has none: it is itself.
    pub form: Option<FormText>,
    /// How far what is computed may be from what is meant, rounded up.
    pub error: String,
    /// The rules by which it was proved (CERTIFICATE.md, section 7).
    pub rules: Vec<&'static str>,
}

/// A form in numbers of the certificate: what is added, and wires with their factors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormText {
    /// The constant term.
    pub offset: String,
    /// Wires, ascending, with their factors.
    pub terms: Vec<(usize, String)>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.about {
            About::Wire(wire) => write!(f, "layer {}: wire {wire}", self.layer)?,
            About::Register(place) => write!(f, "layer {}: register {place}", self.layer)?,
            About::Output(output) => write!(f, "output {output}")?,
        }
        if let Some(form) = &self.form {
            write!(f, " = {form}")?;
        }
        write!(f, ", within {}: {}", self.error, self.rules.join(", "))
    }
}

impl fmt::Display for FormText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.offset)?;
        self.terms.iter().try_for_each(|(wire, factor)| write!(f, " + {factor} w{wire}"))
    }
}

impl FormText {
    fn of(form: &Form) -> Self {
        let terms = form.terms.iter().map(|(wire, factor)| (*wire, factor.text())).collect();
        Self { offset: form.offset.text(), terms }
    }
}

/// A number in a few digits that is not smaller.
fn above(x: &Dyadic) -> String {
    // What is shown is cut off behind six digits.
    let more = &(x * &Dyadic::power_of_two(-16)) + x;
    let whole = x.to_string();
    if whole.contains('e') { Range::point(more).tidy().hi.to_string() } else { whole }
}

/// The rule that proves what is computed of a wire.
fn rule(wire: &Wire) -> &'static str {
    match wire {
        Wire::Input(_) | Wire::Position(_) => "embedding",
        Wire::Curve { .. } => "curve",
        Wire::Product(..) => "product",
        Wire::Teeth { .. } => "teeth",
        Wire::Points { .. } => "points",
        Wire::Cases(_) => "cases",
        Wire::Select { .. } => "selection",
        Wire::Exchange { .. } => "exchange",
        Wire::Mean { .. } | Wire::Seen { pooled: Pooled::Mean, .. } => "mean",
        Wire::Hub { .. } => "hub",
        Wire::Seen { pooled: Pooled::Sum, .. } | Wire::Gather { .. } => "scores by position",
        Wire::Seen { pooled: Pooled::Largest, .. } => "largest",
        Wire::Attend { .. } => "softmax head",
    }
}

impl Prover<'_> {
    /// Tells of a wire that has been made.
    pub(super) fn tell_wire(&mut self, wire: usize, error: &Dyadic) {
        let rules = self.hints.wires.get(wire).map(rule).into_iter().collect();
        self.told.push(Line { layer: self.layer, about: About::Wire(wire), form: None, error: above(error), rules });
    }

    /// Tells of a register that holds something else behind a layer, by a rule, and by those of the wires that it gets.
    pub(super) fn tell_register(&mut self, place: usize, first: &'static str) -> Result<(), Stop> {
        let Some(register) = self.registers.get(place) else { return Ok(()) };
        let made = |line: &&Line| line.layer == self.layer && self.layer > 0;
        let holds = |line: &&Line| matches!(line.about, About::Wire(wire) if register.form.terms.contains_key(&wire));
        let mut rules = vec![first];
        for line in self.told.iter().filter(made).filter(holds) {
            rules.extend(line.rules.iter().filter(|rule| !rules.contains(*rule)).copied().collect::<Vec<_>>());
        }
        let error = above(&(&self.error(&register.form)? + &register.lost));
        let (layer, form) = (self.layer, Some(FormText::of(&register.form)));
        self.told.push(Line { layer, about: About::Register(place), form, error, rules });
        Ok(())
    }

    /// Tells of an output, and of the rule that compares it with the target.
    pub(super) fn tell_output(&mut self, output: usize, form: &Form, error: &Dyadic, rule: &'static str) {
        let (layer, form, rules) = (self.layer, Some(FormText::of(form)), vec![rule]);
        self.told.push(Line { layer, about: About::Output(output), form, error: above(error), rules });
    }
}
