//! The names of the wires of a circuit.

use super::form::Form;
use super::graph::{Graph, Kind};
use super::layout::Layout;
use crate::exact::Rat;
use crate::meaning::term;
use crate::network::Mask;

/// Names and definitions of all wires.
pub(crate) struct Names {
    names: Vec<String>,
    definitions: Vec<String>,
}

impl Names {
    /// Names in the order of the wires: inputs by their coordinate, everything else by a number.
    pub fn new(graph: &Graph, dims: usize) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut definitions = Vec::new();
        let mut counts = (0, 0);
        for wire in &graph.wires {
            let name = match &wire.kind {
                Kind::Input(_) if dims == 1 => "x".to_owned(),
                Kind::Input(c) => format!("x.{c}"),
                Kind::Position(table) if is_index(table) => "i".to_owned(),
                Kind::Position(_) => {
                    counts.0 += 1;
                    format!("p{}", counts.0)
                }
                _ => {
                    counts.1 += 1;
                    format!("g{}", counts.1)
                }
            };
            let text = |form: &Form| show(form, &names, "i");
            // Inside of an aggregate the index is that of the running token.
            let running = |form: &Form| show(form, &names, "j");
            // What stands for something else is called by what it stands for.
            let kind = if let Kind::Alias { meaning, .. } = &wire.kind { meaning } else { &wire.kind };
            let definition = match kind {
                Kind::Input(_) => "input".to_owned(),
                Kind::Position(table) => position(table),
                Kind::Curve { function, of } => replace_variable(&function.to_string(), &text(of)),
                Kind::Cases(form) | Kind::Alias { form, .. } => text(form),
                Kind::Product(a, b) => format!("({}) * ({})", text(a), text(b)),
                Kind::Select { condition, value } => format!("({}) * ({})", text(condition), text(value)),
                Kind::Exchange { side, own, other } => {
                    let (side, own, other) = (text(side), text(own), text(other));
                    format!("if {side} == 1 then max({own}, {other}) else min({own}, {other})")
                }
                Kind::Mean { of, mask, scale } => {
                    if let Some(place) = one_place(mask) {
                        gathered(of, &place.to_string(), &names)
                    } else {
                        let what = if *scale == Rat::ONE { "mean" } else { "sum" };
                        format!("{what}({}{})", running(of), filter(mask))
                    }
                }
                Kind::Sink { of, mask, .. } => format!("sum({}{})", running(of), filter(mask)),
                Kind::Largest { of, mask } => format!("max({}{})", running(of), filter(mask)),
                Kind::Attend { of, mask, rows, .. } => {
                    format!("attend({}, {}{})", score(rows, &names), running(of), filter(mask))
                }
                Kind::Gather { index, of, .. } => gathered(of, &text(index), &names),
            };
            names.push(name);
            definitions.push(definition);
        }
        Self { names, definitions }
    }

    /// A wire's name.
    pub fn name(&self, wire: usize) -> &str {
        &self.names[wire]
    }

    /// The formula of a wire.
    pub fn formula(&self, wire: usize) -> &str {
        &self.definitions[wire]
    }

    /// `name = formula`
    pub fn definition(&self, wire: usize) -> String {
        format!("{} = {}", self.names[wire], self.definitions[wire])
    }

    /// The wires that forms over atoms are made of.
    pub fn read(&self, layout: &Layout, forms: &[&Form]) -> Vec<String> {
        let mut wires: Vec<usize> =
            forms.iter().flat_map(|form| form.terms.keys()).map(|atom| layout.atoms[*atom].wire).collect();
        wires.sort_unstable();
        wires.dedup();
        wires.into_iter().map(|wire| self.names[wire].clone()).collect()
    }
}

fn is_index(table: &[Rat]) -> bool {
    table.iter().enumerate().all(|(t, value)| *value == Rat::from(t))
}

fn position(table: &[Rat]) -> String {
    let shown: Vec<String> = table.iter().take(4).map(brief).collect();
    format!("{}{} by position", shown.join(", "), if table.len() > 4 { ", …" } else { "" })
}

/// A number in few characters.
fn brief(value: &Rat) -> String {
    let text = value.to_string();
    if text.len() <= 12 { text } else { format!("{:.6}", value.to_f64()) }
}

/// A form as an expression of the language, over the names of wires; `index` is what the index is called there.
fn show(form: &Form, names: &[String], index: &str) -> String {
    written(form, &|wire| if names[wire] == "i" { index.to_owned() } else { names[wire].clone() })
}

/// A form at another place: every name of it is gathered.
fn gathered(of: &Form, index: &str, names: &[String]) -> String {
    written(of, &|wire| match names[wire].split_once('.') {
        _ if names[wire] == "i" => format!("({index})"),
        Some((token, k)) => format!("{token}[{index}].{k}"),
        None => format!("{}[{index}]", names[wire]),
    })
}

/// A form as an expression of the language.
fn written(form: &Form, name: &dyn Fn(usize) -> String) -> String {
    let mut text = String::new();
    for (wire, scale) in &form.terms {
        term(&mut text, scale, &scale.abs().to_string(), &name(*wire));
    }
    if text.is_empty() || !form.constant.is_zero() {
        term(&mut text, &form.constant, "1", &form.constant.abs().to_string());
    }
    text
}

/// A score, as an aggregate has it: what belongs to the output token is gathered.
fn score(rows: &[(Form, Form)], names: &[String]) -> String {
    let product = |(query, key): &(Form, Form)| match query.as_constant() {
        Some(one) if *one == Rat::ONE => show(key, names, "j"),
        _ => format!("({}) * ({})", gathered(query, "i", names), show(key, names, "j")),
    };
    rows.iter().map(product).collect::<Vec<_>>().join(" + ")
}

/// The only place that all queries see.
fn one_place(mask: &Mask) -> Option<i64> {
    let Mask { relative: (None, None), absolute: (Some(low), Some(high)), first: false } = *mask else { return None };
    (low == high).then_some(low)
}

fn filter(mask: &Mask) -> String {
    let mut parts = Vec::new();
    let mut limit = |op: &str, from: &str, place: Option<i64>| match place {
        Some(0) if from == "i" => parts.push(format!("j {op} i")),
        Some(place) if from == "i" => {
            parts.push(format!("j {op} i {} {}", if place < 0 { "-" } else { "+" }, place.abs()));
        }
        Some(place) => parts.push(format!("j {op} {place}")),
        None => {}
    };
    limit(">=", "i", mask.relative.0);
    limit("<=", "i", mask.relative.1);
    limit(">=", "", mask.absolute.0);
    limit("<=", "", mask.absolute.1);
    if parts.is_empty() { String::new() } else { format!(", {}", parts.join(" and ")) }
}

/// A function's text with the word `x` replaced.
fn replace_variable(text: &str, by: &str) -> String {
    let by = if by.contains(' ') { format!("({by})") } else { by.to_owned() };
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        out.push_str(if word == "x" { &by } else { &word });
        word.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out
}
