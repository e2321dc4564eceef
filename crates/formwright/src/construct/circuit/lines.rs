//! The lines of a certificate that say what registers mean (CERTIFICATE.md, section 7): what a checker needs to prove a bound in the supremum
//! norm. Wires as they are defined, for every layer what it makes, and what registers hold behind it.
//!
//! Nothing of it is believed there. Circuits with wires for which there is no rule have no lines.
//!
//! Where sums are put aside ([`Detour`]), a head makes the mean times `λ`, and the layer behind it a curve, `x/λ`; or a
//! head makes what the hub adds up, another one of it the mean, and the layer behind it empties registers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::deepen::is_tooth;
use super::form::Form;
use super::graph::Kind;
use super::layout::{Atom, Source, arguments};
use super::meaning::Circuit;
use crate::exact::Rat;
use crate::network::attention::Detour;
use crate::target::expr::{BinaryOp, Expr, Function, Node};
use crate::target::univariate::exact;

/// The places of the parts of a gate or a head in its block.
pub(crate) struct Parts {
    /// A hidden unit for every argument of every atom; for a head its number and that of the value.
    pub of: Vec<Vec<usize>>,
}

/// A value of a head that is put aside.
struct Aside {
    atom: usize,
    wire: usize,
    slot: usize,
    /// Its later divisor.
    by: Rat,
    register: usize,
    /// A unit that reads it there.
    unit: usize,
}

/// The wires that have a number in the certificate.
struct Numbers {
    of: Vec<Option<usize>>,
    /// What wires of gates without units are said to be: what is computed of them, which is nothing but what others add.
    silent: BTreeMap<usize, Form>,
}

impl Numbers {
    /// A form without wires of gates that have no units.
    fn spoken(&self, form: &Form) -> Form {
        let mut spoken = form.clone();
        while let Some((wire, factor)) = spoken.terms.iter().rev().find(|(wire, _)| self.silent.contains_key(wire)) {
            let (wire, factor) = (*wire, factor.clone());
            spoken = spoken.plus(&-factor.clone(), &Form::of(wire)).plus(&factor, &self.silent[&wire]);
        }
        spoken
    }

    /// A form: what is added, how many terms, the terms.
    fn form(&self, form: &Form) -> Option<String> {
        let form = self.spoken(form);
        let mut text = format!("{} {}", form.constant, form.terms.len());
        for (wire, factor) in &form.terms {
            let number = self.of.get(*wire).copied().flatten()?;
            let _ = write!(text, " {number} {factor}");
        }
        Some(text)
    }
}

impl Circuit<'_> {
    /// The lines; none if there is a wire for which there is no rule. `slots` are those of the stages.
    pub fn lines(
        &self,
        (width, detour): (usize, &Detour),
        slots: &[usize],
        outputs: &[Form],
        parts: &Parts,
    ) -> Option<Vec<String>> {
        let silent = self.silent(parts);
        let needed = |wire: usize| self.layout.wires[wire].is_some() && !silent.contains_key(&wire);
        let aside = self.aside(detour, slots, parts)?;
        let mut count = 0..;
        let mut number = |wire: usize| {
            // What is put aside is a wire before it.
            let skipped = aside.iter().filter(|aside| aside.wire == wire && needed(wire)).count();
            if needed(wire) { count.nth(skipped) } else { None }
        };
        let of = (0..self.graph.wires.len()).map(&mut number).collect();
        let numbers = Numbers { of, silent: silent.clone() };
        let mut wires = Vec::new();
        for (wire, _) in self.graph.wires.iter().enumerate().filter(|(wire, _)| needed(*wire)) {
            if let Some(aside) = aside.iter().find(|aside| aside.wire == wire) {
                let Kind::Mean { of, mask, scale } = &self.graph.wires[wire].kind else { return None };
                if !mask.is_all() {
                    return None;
                }
                let mean = format!("{} {}", scale * &aside.by, numbers.form(of)?);
                wires.extend(match detour.hub {
                    Some(token) => [format!("wire hub {token} {mean}"), format!("wire mean {mean}")],
                    None => [
                        format!("wire mean {mean}"),
                        format!("wire curve 0 1 {} 1 x {} mul", numbers.of[wire]? - 1, Rat::ONE / aside.by.clone()),
                    ],
                });
            } else {
                wires.push(format!("wire {}", self.wire(wire, &numbers)?));
            }
        }
        let mut lines = vec![format!("meanings {}", wires.len())];
        lines.extend(wires);
        let more = if detour.hub.is_some() { 2 } else { 1 };
        lines.push(format!("layers {}", slots.len() + 1 + more * detour.divided.len()));
        let end = self.layout.last() + 1;
        // What registers hold; and the same with wires of gates without units.
        let mut held: Vec<(Form, Form)> = vec![Default::default(); width];
        let befores = slots.iter().copied().chain([end]);
        for (layer, before) in befores.enumerate() {
            let slot = layer.checked_sub(1).map(|layer| slots[layer]);
            let speaks = |atom: &Atom| !silent.contains_key(&atom.wire);
            let made = self.layout.atoms.iter().enumerate();
            let made = made.filter(|(_, atom)| Some(atom.slot) == slot && speaks(atom));
            let here: Vec<&Aside> = aside.iter().filter(|aside| Some(aside.slot) == slot).collect();
            let made: Vec<String> = if here.is_empty() {
                made.map(|(atom, _)| self.made(atom, &numbers, parts)).collect::<Option<_>>()?
            } else {
                lines.push(format!("layer {} {}", here.len(), here.len()));
                let forms = here.iter().map(|aside| self.put_aside(aside, &numbers, parts, detour));
                let forms: Vec<[String; 3]> = forms.collect::<Option<_>>()?;
                for part in 0..2 {
                    lines.extend(forms.iter().map(|form| form[part].clone()));
                }
                forms.into_iter().map(|[_, _, moved]| moved).collect()
            };
            let emptied: Vec<String> = here.iter().map(|aside| format!("holds {} 0 0", aside.register)).collect();
            let mut holds = Vec::new();
            for (register, (held, whole)) in held.iter_mut().enumerate() {
                let left = self.analysis.constants.left(before, register);
                let row = self.layout.before[before].get(register);
                let all = row.map_or_else(Form::default, |row| self.meant_row(row, &left));
                let now = numbers.spoken(&all);
                // Units that take away what nobody says is there have no rule.
                let taken = |wire: &usize| silent.contains_key(wire) && !all.terms.contains_key(wire);
                if *held == Form::default() && whole.terms.keys().any(taken) {
                    return None;
                }
                if now != *held {
                    holds.push(format!("holds {register} {}", numbers.form(&now)?));
                }
                (*held, *whole) = (now, all);
            }
            // What others do not know of.
            let constant = |(register, number): &(usize, Rat)| format!("holds {register} {number} 0");
            holds.extend(detour.held.iter().filter(|_| slot.is_none()).map(constant));
            if detour.hub.is_none() {
                holds.extend(emptied.iter().cloned());
            }
            lines.push(format!("layer {} {}", made.len(), holds.len()));
            lines.extend(made);
            lines.extend(holds);
            if detour.hub.is_some() && !emptied.is_empty() {
                lines.push(format!("layer 0 {}", emptied.len()));
                lines.extend(emptied);
            }
        }
        lines.push(format!("outputs {}", outputs.len()));
        for form in outputs {
            lines.push(format!("output {}", numbers.form(form)?));
        }
        Some(lines)
    }

    /// The wires of gates without units: where a function is so near to a number that it takes none, it is said to be that number, and the target
    /// is as far from the outputs' forms.
    fn silent(&self, parts: &Parts) -> BTreeMap<usize, Form> {
        let atoms = self.layout.atoms.iter().enumerate();
        let gates = atoms.filter(|(atom, known)| matches!(known.source, Source::Gate(_)) && parts.of[*atom].is_empty());
        gates.map(|(atom, known)| (known.wire, Form::of(known.wire).plus(&-Rat::ONE, &self.meant(atom)))).collect()
    }

    /// The values of heads that are put aside, in the order of their registers.
    fn aside(&self, detour: &Detour, slots: &[usize], parts: &Parts) -> Option<Vec<Aside>> {
        let layers = slots.iter().copied().filter(|slot| slot % 2 == 1);
        let mut aside = Vec::new();
        for (slot, divided) in layers.zip(&detour.divided) {
            let atoms = self.layout.atoms.iter().enumerate().filter(|(_, atom)| atom.slot == slot);
            let atoms: Vec<(usize, usize)> = atoms.map(|(atom, known)| (atom, known.wire)).collect();
            let size = atoms.len();
            for (atom, wire) in atoms {
                let [head, value] = parts.of[atom][..] else { return None };
                let (by, place) = (divided.get(head)?.clone(), head * size + value);
                aside.push(Aside { atom, wire, slot, by, register: detour.first + place, unit: 2 * place });
            }
        }
        aside.sort_by_key(|aside| (aside.slot, aside.register));
        Some(aside)
    }

    /// How a head makes what is put aside, what the register holds then, and how the layer behind it makes the wire.
    fn put_aside(&self, aside: &Aside, numbers: &Numbers, parts: &Parts, detour: &Detour) -> Option<[String; 3]> {
        let wire = numbers.of[aside.wire]?;
        let [head, value] = parts.of[aside.atom][..] else { return None };
        let adds = self.meant(aside.atom);
        let shift = adds.plus(&-Rat::ONE, &Form::of(aside.wire));
        if !shift.terms.is_empty() {
            return None;
        }
        let mean = format!("{} 1 {} 1", &shift.constant * &aside.by, wire - 1);
        let adds = numbers.form(&adds)?;
        let moved = match detour.hub {
            Some(_) => format!("head {wire} {adds} {head} {value}"),
            None => format!("gate {wire} {adds} 1 {} 0 1 {} 1", aside.unit, wire - 1),
        };
        Some([format!("head {} {mean} {head} {value}", wire - 1), format!("holds {} {mean}", aside.register), moved])
    }

    fn wire(&self, wire: usize, numbers: &Numbers) -> Option<String> {
        Some(match &self.graph.wires[wire].kind {
            Kind::Input(c) => format!("input {c}"),
            Kind::Curve { function, of } => match self.points(function, of) {
                Some((from, values)) => {
                    let first = format!("points {} {from}", numbers.form(of)?);
                    values.iter().fold(first, |text, value| format!("{text} {value}"))
                }
                None => format!("curve {} {}", numbers.form(of)?, words(function)?),
            },
            Kind::Product(a, b) => format!("product {} {}", numbers.form(a)?, numbers.form(b)?),
            Kind::Mean { of, mask, scale } if mask.is_all() => format!("mean {scale} {}", numbers.form(of)?),
            Kind::Mean { of, mask, scale } => format!("seen {} mean {scale} {}", mask.limits(), numbers.form(of)?),
            Kind::Sink { of, mask, .. } => format!("seen {} sum 1 {}", mask.limits(), numbers.form(of)?),
            Kind::Largest { of, mask } => format!("seen {} max 1 {}", mask.limits(), numbers.form(of)?),
            Kind::Attend { of, mask, rows, rest } => {
                let row =
                    |(query, key): &(Form, Form)| Some(format!(" {} {}", numbers.form(query)?, numbers.form(key)?));
                let mut rows = rows.iter().map(row).collect::<Option<Vec<_>>>()?;
                // Where it is made of wires that nobody needs, the score is another one of the same weights.
                let one = Form::constant(Rat::ONE);
                rows.extend(row(&(rest.clone(), one)).filter(|_| *rest != Form::default()));
                format!("attend {} {} {}{}", mask.limits(), numbers.form(of)?, rows.len(), rows.concat())
            }
            Kind::Gather { index, of, .. } => format!("gather {} {}", numbers.form(index)?, numbers.form(of)?),
            Kind::Select { condition, value } => {
                format!("select {} {}", numbers.form(condition)?, numbers.form(value)?)
            }
            Kind::Exchange { side, own, other } => {
                format!("exchange {} {} {}", numbers.form(side)?, numbers.form(own)?, numbers.form(other)?)
            }
            Kind::Position(values) => {
                values.iter().fold("position".to_owned(), |text, value| format!("{text} {value}"))
            }
            Kind::Alias { form, meaning, arguments, reach, .. } => {
                let [a, b] = match &**meaning {
                    Kind::Curve { of, .. } => [of, of],
                    Kind::Product(a, b) => [a, b],
                    _ => return None,
                };
                let reach = Rat::from_f64(*reach)?;
                let mut text = format!("teeth {} {} {reach} {}", numbers.form(a)?, numbers.form(b)?, arguments.len());
                for argument in arguments {
                    let chain = self.chain(argument, &reach, form);
                    let _ = write!(text, " {} {}", numbers.form(argument)?, chain.len());
                    for tooth in chain {
                        let _ = write!(text, " {}", numbers.of[tooth]?);
                    }
                }
                text
            }
            // A sum whose range is known for another reason, as that of a variance is, has no rule.
            Kind::Cases(form) => {
                let is_case = |wire: &usize| {
                    matches!(self.graph.wires[*wire].kind, Kind::Select { .. })
                        || self.graph.is_boolean(&Form::of(*wire))
                };
                form.terms.keys().all(is_case).then_some(())?;
                format!("cases {}", numbers.form(form)?)
            }
        })
    }

    /// The values of a curve whose argument is an integer, and the first of these integers, if all of them are rational.
    fn points(&self, function: &Expr, of: &Form) -> Option<(i64, Vec<Rat>)> {
        let (lo, hi) = self.graph.integers(of)?;
        let values: Option<Vec<Rat>> = (lo..=hi).map(|k| exact(function, &Rat::from(k)).ok()).collect();
        Some((lo, values?))
    }

    /// The teeth of an argument, the first one first.
    fn chain(&self, argument: &Form, reach: &Rat, sum: &Form) -> Vec<usize> {
        let half = Rat::new(1, 2);
        let mut of = Form::constant(half.clone()).plus(&(half / reach.clone()), argument);
        let mut chain = Vec::new();
        let tooth = |of: &Form| {
            let next = |wire: &&usize| matches!(&self.graph.wires[**wire].kind, Kind::Curve { function, of: found } if is_tooth(function) && found == of);
            sum.terms.keys().find(next).copied()
        };
        while let Some(next) = tooth(&of) {
            chain.push(next);
            of = Form::of(next);
        }
        chain
    }

    /// How a layer makes an atom.
    fn made(&self, atom: usize, numbers: &Numbers, parts: &Parts) -> Option<String> {
        let known = &self.layout.atoms[atom];
        let (wire, adds) = (numbers.of[known.wire]?, numbers.form(&self.meant(atom))?);
        let parts = &parts.of[atom];
        match &known.source {
            Source::Head { .. } => Some(format!("head {wire} {adds} {} {}", parts.first()?, parts.get(1)?)),
            Source::Gate(_) => {
                let (forms, _) = arguments(self.graph, known.wire);
                let mut text = format!("gate {wire} {adds} {}", forms.len());
                for (argument, form) in forms.iter().enumerate() {
                    let _ = write!(text, " {} {}", parts.get(argument)?, numbers.form(form)?);
                }
                Some(text)
            }
            _ => None,
        }
    }
}

/// A function of one variable in postfix notation.
fn words(e: &Expr) -> Option<String> {
    let call = |f: Function| {
        Some(match f {
            Function::Exp => "exp",
            Function::Log => "log",
            Function::Sqrt => "sqrt",
            Function::Tanh => "tanh",
            Function::Sin => "sin",
            Function::Cos => "cos",
            Function::Abs => "abs",
            Function::Relu => "relu",
            Function::Min => "min",
            Function::Max => "max",
            Function::Clamp | Function::Floor => return None,
        })
    };
    Some(match &e.node {
        Node::Token => "x".to_owned(),
        Node::Number(number) => number.to_string(),
        Node::Negate(e) => format!("{} negate", words(e)?),
        Node::Power(e, k) => format!("{} power {k}", words(e)?),
        Node::Binary(op, a, b) => {
            let op = match op {
                BinaryOp::Add => "add",
                BinaryOp::Sub => "sub",
                BinaryOp::Mul => "mul",
                BinaryOp::Div => "div",
                BinaryOp::Mod => return None,
            };
            format!("{} {} {op}", words(a)?, words(b)?)
        }
        Node::Call(Function::Clamp, parts) => match &parts[..] {
            [a, low, high] => format!("{} {} max {} min", words(a)?, words(low)?, words(high)?),
            _ => return None,
        },
        Node::Call(f, parts) => {
            let parts = parts.iter().map(words).collect::<Option<Vec<_>>>()?;
            format!("{} {}", parts.join(" "), call(*f)?)
        }
        _ => return None,
    })
}
