//! The lines of a certificate, rewritten for a network whose registers, units and heads have other numbers.
//!
//! ```text
//! run      sizes        of the varied network
//! mask     of the heads in their new order
//! gate     w F n (u F)  units by their new numbers
//! head     w F h v      heads by their new numbers
//! holds    r F          registers by their new numbers, ascending
//! F        o n (w c)    a wire that a split head makes becomes half of it and half of its twin
//! ```
//!
//! Nothing is believed of what comes out: the checker proves every line from the weights, or the variant is not taken.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::SplitAsciiWhitespace;

use crate::exact::Rat;

/// The new numbers, layer by layer: of the embedding, and of every sub-layer in the order of execution.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Of the registers, in all layers.
    pub registers: Vec<usize>,
    /// Of the hidden units, or of the heads, of each layer.
    pub places: Vec<Vec<usize>>,
    /// The heads that are split, by layer and number as they were, with the number of their twins.
    pub twins: BTreeMap<(usize, usize), usize>,
    /// Registers that hold a multiple of the first coordinate of the input, from the embedding on.
    pub spare: Vec<(usize, Rat)>,
}

/// The kinds of a word of a line: a form, a wire, a hidden unit, a head, a register; anything else stays.
#[derive(Clone, Copy)]
enum Word {
    Form,
    Wire,
    Place,
    Register,
    Other,
    /// A count, and what follows so many times.
    Each(&'static [Word]),
    /// All that is left.
    Rest,
}

use Word::{Each, Form, Other, Place, Register, Rest, Wire};

/// The words of a line behind its name.
fn grammar(name: &str, kind: &str) -> &'static [Word] {
    match (name, kind) {
        ("wire", "curve" | "points") => &[Other, Form, Rest],
        ("wire", "product" | "gather" | "select") => &[Other, Form, Form],
        ("wire", "exchange") => &[Other, Form, Form, Form],
        ("wire", "mean") => &[Other, Other, Form],
        ("wire", "hub") => &[Other, Other, Other, Form],
        ("wire", "seen") => &[Other, Other, Other, Other, Other, Other, Other, Other, Form],
        ("wire", "attend") => &[Other, Other, Other, Other, Other, Other, Form, Each(&[Form, Form])],
        ("wire", "cases") => &[Other, Form],
        ("wire", "teeth") => &[Other, Form, Form, Other, Each(&[Form, Each(&[Wire])])],
        ("gate", _) => &[Wire, Form, Each(&[Place, Form])],
        ("head", _) => &[Wire, Form, Place, Other],
        ("holds", _) => &[Register, Form],
        ("output", _) => &[Form],
        _ => &[Rest],
    }
}

type Words<'a> = Peekable<SplitAsciiWhitespace<'a>>;

/// A form: what is added, and factors of wires.
#[derive(Clone, Debug, PartialEq)]
struct Sum {
    offset: Rat,
    terms: BTreeMap<usize, Rat>,
}

fn count(words: &mut Words) -> Option<usize> {
    words.next()?.parse().ok()
}

fn form(words: &mut Words) -> Option<Sum> {
    let offset = words.next()?.parse().ok()?;
    let terms = (0..count(words)?).map(|_| Some((count(words)?, words.next()?.parse().ok()?)));
    Some(Sum { offset, terms: terms.collect::<Option<_>>()? })
}

/// The new wires of each old one: one, or two that are half of it each.
type Wires = Vec<Vec<usize>>;

impl Sum {
    /// With `made`, the form of the first or the second head that makes a wire, which is about this one alone.
    fn renamed(&self, wires: &Wires, made: Option<usize>) -> Option<Self> {
        let mut terms = BTreeMap::new();
        for (wire, factor) in &self.terms {
            let new = wires.get(*wire)?;
            if let Some(made) = made {
                terms.insert(new[made.min(new.len() - 1)], factor.clone());
                continue;
            }
            let share = factor / &Rat::from(new.len());
            terms.extend(new.iter().map(|wire| (*wire, share.clone())));
        }
        Some(Self { offset: self.offset.clone(), terms })
    }

    fn text(&self) -> String {
        let terms = self.terms.iter().map(|(wire, factor)| format!(" {wire} {factor}"));
        format!("{} {}{}", self.offset, self.terms.len(), terms.collect::<String>())
    }
}

/// A line with everything renamed.
struct Renamed<'a> {
    wires: &'a Wires,
    registers: &'a [usize],
    places: &'a [usize],
    /// In a line about a head: 0 for the head, 1 for its twin.
    made: Option<usize>,
    /// The number of the twin, if it is a line about one.
    twin: Option<usize>,
}

impl Renamed<'_> {
    fn words(&self, grammar: &[Word], words: &mut Words, out: &mut Vec<String>) -> Option<()> {
        for word in grammar {
            match word {
                Form => out.push(form(words)?.renamed(self.wires, self.made)?.text()),
                Wire => {
                    let new = self.wires.get(count(words)?)?;
                    out.push(new[self.made.unwrap_or(0).min(new.len() - 1)].to_string());
                }
                Place => {
                    let place = count(words)?;
                    out.push(self.twin.map_or_else(|| self.places.get(place).copied(), Some)?.to_string());
                }
                Register => out.push(self.registers.get(count(words)?)?.to_string()),
                Other => out.push(words.next()?.to_owned()),
                Each(grammar) => {
                    let times = count(words)?;
                    out.push(times.to_string());
                    for _ in 0..times {
                        self.words(grammar, words, out)?;
                    }
                }
                Rest => out.extend(words.by_ref().map(str::to_owned)),
            }
        }
        Some(())
    }

    /// A line; `None` if it is of no form that is known here.
    fn line(&self, line: &str) -> Option<String> {
        let (name, rest) = line.split_once(' ')?;
        let mut words = rest.split_ascii_whitespace().peekable();
        let kind = if name == "wire" { words.peek().copied().unwrap_or_default() } else { "" };
        let mut out = vec![name.to_owned()];
        self.words(grammar(name, kind), &mut words, &mut out)?;
        words.next().is_none().then(|| out.join(" "))
    }
}

/// The head of a line about one, and the wire that it makes.
fn head(line: &str) -> Option<(usize, usize)> {
    let mut words = line.strip_prefix("head ")?.split_ascii_whitespace().peekable();
    let wire = count(&mut words)?;
    form(&mut words)?;
    Some((count(&mut words)?, wire))
}

/// The wires that heads make, by layer and head.
fn made(lines: &[&str]) -> Option<Vec<((usize, usize), usize)>> {
    let (mut layers, mut made) = (0_usize, Vec::new());
    for line in lines {
        layers += usize::from(line.starts_with("layer "));
        if line.starts_with("head ") {
            let (head, wire) = head(line)?;
            made.push(((layers.checked_sub(1)?, head), wire));
        }
    }
    Some(made)
}

/// The lines of the meanings for the new numbers, from `meanings` to the last `output`; `None` if something in them is
/// of no form that is known here.
pub(super) fn rewritten(lines: &[&str], numbers: &Numbers) -> Option<Vec<String>> {
    let split = made(lines)?.into_iter().filter(|(head, _)| numbers.twins.contains_key(head));
    let split: Vec<usize> = split.map(|(_, wire)| wire).collect();
    let mut next = 0;
    let wires: Wires = (0..lines.iter().filter(|line| line.starts_with("wire ")).count())
        .map(|wire| {
            let first = next;
            next += if split.contains(&wire) { 2 } else { 1 };
            (first..next).collect()
        })
        .collect();
    let input = lines.iter().filter(|line| line.starts_with("wire ")).position(|line| *line == "wire input 0");
    let (mut out, mut layer, mut wire) = (Vec::new(), None, 0);
    let mut holds: BTreeMap<usize, String> = BTreeMap::new();
    for line in lines {
        let at = layer.unwrap_or(0);
        let places = numbers.places.get(at).map_or(&[][..], Vec::as_slice);
        let renamed = |made, twin| Renamed { wires: &wires, registers: &numbers.registers, places, made, twin };
        let name = line.split(' ').next()?;
        if name != "holds" {
            out.extend(std::mem::take(&mut holds).into_values());
        }
        match name {
            "meanings" => out.push(format!("meanings {next}")),
            "wire" => {
                let text = renamed(None, None).line(line)?;
                out.extend(vec![text; wires.get(wire)?.len()]);
                wire += 1;
            }
            "layer" => {
                layer = Some(layer.map_or(0, |layer| layer + 1));
                out.push((*line).to_owned());
                if layer == Some(0) {
                    for (register, factor) in &numbers.spare {
                        holds.insert(*register, format!("holds {register} 0 1 {} {factor}", wires[input?][0]));
                    }
                }
            }
            "head" => {
                out.push(renamed(Some(0), None).line(line)?);
                if let Some(twin) = numbers.twins.get(&(at, head(line)?.0)) {
                    out.push(renamed(Some(1), Some(*twin)).line(line)?);
                }
            }
            "holds" => {
                let text = renamed(None, None).line(line)?;
                let register = text.split(' ').nth(1)?.parse().ok()?;
                holds.insert(register, text);
            }
            _ => out.push(renamed(None, None).line(line)?),
        }
    }
    counted(&mut out);
    Some(out)
}

/// The counts in the lines `layer`, of what stands behind them.
fn counted(lines: &mut [String]) {
    let starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("layer ")).collect();
    for start in starts {
        let here = lines[start + 1..].iter().take_while(|line| !line.starts_with("layer "));
        let of = |names: &[&str]| {
            here.clone().filter(|line| line.split(' ').next().is_some_and(|name| names.contains(&name))).count()
        };
        lines[start] = format!("layer {} {}", of(&["gate", "head"]), of(&["holds"]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 13] = [
        "meanings 4",
        "wire input 0",
        "wire mean 1 0 1 0 1",
        "wire curve 0 2 0 1 1 -1 1 x relu",
        "wire teeth 0 0 1/2 1 2 1 1/4 1 0 0 1 2",
        "layers 3",
        "layer 0 1",
        "holds 0 0 1 0 1",
        "layer 1 1",
        "head 1 -1/2 1 1 1 0 0",
        "holds 1 0 1 1 1",
        "outputs 1",
        "output 0 1 1 2",
    ];

    fn numbers() -> Numbers {
        Numbers {
            registers: vec![2, 0],
            places: vec![vec![], vec![1]],
            twins: BTreeMap::new(),
            spare: vec![(1, Rat::new(3, 8))],
        }
    }

    #[test]
    fn registers_heads_and_spare_registers_have_their_new_numbers_in_order() {
        let lines = rewritten(&LINES, &numbers()).expect("lines");
        assert_eq!(lines[6..8], ["layer 0 2", "holds 1 0 1 0 3/8"]);
        assert_eq!(
            lines[8..],
            ["holds 2 0 1 0 1", "layer 1 1", "head 1 -1/2 1 1 1 1 0", "holds 0 0 1 1 1", "outputs 1", "output 0 1 1 2"]
        );
    }

    #[test]
    fn a_split_head_makes_two_wires_that_are_half_of_it_each() {
        let twins = BTreeMap::from([((1, 0), 4)]);
        let lines = rewritten(&LINES, &Numbers { twins, ..numbers() }).expect("lines");
        assert_eq!(lines[0], "meanings 5");
        assert_eq!(lines[2..4], ["wire mean 1 0 1 0 1", "wire mean 1 0 1 0 1"]);
        assert_eq!(lines[4], "wire curve 0 3 0 1 1 -1/2 2 -1/2 1 x relu");
        let about: Vec<&String> =
            lines.iter().filter(|line| line.starts_with("head") || line.starts_with("holds 0")).collect();
        assert_eq!(about, ["head 1 -1/2 1 1 1 1 0", "head 2 -1/2 1 2 1 4 0", "holds 0 0 2 1 1/2 2 1/2"]);
    }

    #[test]
    fn what_is_not_understood_is_not_rewritten() {
        for line in ["gate 1 0 1 2", "holds 9 0 0", "wire mean 1 0 1 9 1", "output 0 1 1 2 3", "head x 0 0 0 0"] {
            let lines: Vec<&str> = LINES.iter().copied().chain([line]).collect();
            assert_eq!(rewritten(&lines, &numbers()), None, "{line}");
        }
    }
}
