//! Changes by somebody who has read the checker: each is aimed at one rule of CERTIFICATE.md, section 7, at the weights and lines that the rule looks
//! at. Some break one of its hypotheses in the weights, some in the lines, some in both, so that lines are true of the network and the network is no
//! longer the target; and some change nothing.

use std::ops::Range;

use formwright::exact::Rat;
use serde_json::{Value, json};

use super::artifacts::{Artifact, F32, F64, circuit};
use super::circuits::with_units;
use super::mutants::{examine, node};
use super::weights::{Weights, with_weights};
use super::{Random, Tally, circuits};

/// A sub-layer: its tensors, and the lines about it.
struct Layer {
    /// What the names of its tensors begin with; its place in them, which is that of its block in the run; the run.
    prefix: String,
    index: usize,
    run: usize,
    made: Range<usize>,
    holds: Range<usize>,
}

impl Layer {
    fn has_units(&self) -> bool {
        self.prefix.rsplit('.').next() == Some("ff")
    }
}

/// A circuit, with its lines in words.
struct Circuit<'a> {
    artifact: &'a Artifact,
    lines: Vec<Vec<String>>,
    wires: Range<usize>,
    layers: Vec<Layer>,
    weights: Weights,
    bound: f64,
}

/// The words behind a form that begins at a place.
fn behind(words: &[String], at: usize) -> Option<usize> {
    Some(at + 2 + 2 * words.get(at + 1)?.parse::<usize>().ok()?)
}

/// The numbers of so many forms, one behind the other; and what is behind them.
fn of_forms(words: &[String], at: usize, count: usize) -> Option<(Vec<usize>, usize)> {
    let (mut numbers, mut at) = (Vec::new(), at);
    for _ in 0..count {
        let end = behind(words, at)?;
        numbers.push(at);
        numbers.extend((at + 3..end).step_by(2));
        at = end;
    }
    Some((numbers, at))
}

/// The numbers of a line that say something of what is computed: offsets, factors, values.
fn numbers(words: &[String]) -> Option<Vec<usize>> {
    let text: Vec<&str> = words.iter().map(String::as_str).collect();
    let with = |(mut numbers, _): (Vec<usize>, usize), more: Range<usize>| {
        numbers.extend(more.filter(|at| words[*at].parse::<Rat>().is_ok()));
        numbers
    };
    let all = 0..words.len();
    Some(match text.as_slice() {
        ["wire", "position", ..] => (2..words.len()).collect(),
        ["wire", "curve" | "points", ..] => {
            let forms = of_forms(words, 2, 1)?;
            let rest = forms.1..words.len();
            with(forms, rest)
        }
        ["wire", "product" | "gather" | "select", ..] => of_forms(words, 2, 2)?.0,
        ["wire", "exchange", ..] => of_forms(words, 2, 3)?.0,
        ["wire", "mean", ..] => with(of_forms(words, 3, 1)?, 2..3),
        ["wire", "hub", ..] => with(of_forms(words, 4, 1)?, 3..4),
        ["wire", "seen", ..] => with(of_forms(words, 9, 1)?, 8..9),
        ["wire", "attend", ..] => {
            let (mut numbers, at) = of_forms(words, 7, 1)?;
            let rows: usize = words.get(at)?.parse().ok()?;
            numbers.extend(of_forms(words, at + 1, 2 * rows)?.0);
            numbers
        }
        ["wire", "teeth", ..] => {
            let forms = of_forms(words, 2, 2)?;
            let reach = forms.1..forms.1 + 1;
            with(forms, reach)
        }
        ["wire", "cases", ..] | ["gate" | "head" | "holds", ..] => of_forms(words, 2, 1)?.0,
        ["output", ..] => of_forms(words, 1, 1)?.0,
        _ => all.filter(|_| false).collect(),
    })
}

/// A number that is a little other, or as much as matters where so much is claimed.
fn nudged(random: &mut Random, bound: f64, x: f64) -> f64 {
    let little = 0.5_f64.powi(i32::try_from(1 + random.below(22)).expect("small"));
    let large = bound * random.of(&[1.5, 8.0, 64.0, 4096.0]) + 1e-30;
    *random.of(&[x * (1.0 + little), x * (1.0 - little), x + large, x - large])
}

fn halved(_: &mut Random, _: f64, x: f64) -> f64 {
    x / 2.0
}

fn turned(_: &mut Random, _: f64, x: f64) -> f64 {
    -x
}

fn silenced(_: &mut Random, _: f64, _: f64) -> f64 {
    0.0
}

/// A change of a number, where so much is claimed.
type Change = fn(&mut Random, f64, f64) -> f64;

impl<'a> Circuit<'a> {
    fn of(artifact: &'a Artifact) -> Option<Self> {
        let lines: Vec<Vec<String>> =
            artifact.text().lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect();
        let first = |word: &str| lines.iter().position(|words| words[0] == word);
        let count = |at: usize, place: usize| lines[at].get(place)?.parse::<usize>().ok();
        let (meanings, mut at) = (first("meanings")?, first("layers")? + 1);
        let (mut places, mut block) = (vec![("embed".to_owned(), 0, 0)], 0);
        for (run, words) in lines.iter().filter(|words| words[0] == "run").enumerate() {
            let blocks: usize = words[1].parse().ok()?;
            for index in 0..blocks {
                for (word, part) in [("attention", "attn"), ("ff", "ff")] {
                    if words.iter().any(|known| known == word) {
                        places.push((format!("{block}.{part}"), index, run));
                    }
                }
            }
            block += blocks;
        }
        let mut layers = Vec::new();
        for (prefix, index, run) in places {
            let (made, held) = (count(at, 1)?, count(at, 2)?);
            let holds = at + 1 + made..at + 1 + made + held;
            layers.push(Layer { prefix, index, run, made: at + 1..holds.start, holds: holds.clone() });
            at = holds.end;
        }
        let bound = artifact.line("bound").parse::<Rat>().ok()?.to_f64();
        let wires = meanings + 1..meanings + 1 + count(meanings, 1)?;
        Some(Self { artifact, lines, wires, layers, weights: Weights::of(artifact), bound })
    }

    /// The kind of the wire that a line makes: its word, and of what is seen what is made of it.
    fn kind(&self, line: usize) -> Option<String> {
        let wire: usize = self.lines[line].get(1)?.parse().ok()?;
        let words = self.lines.get(self.wires.start + wire)?;
        Some(if words[1] == "seen" { words[7].clone() } else { words[1].clone() })
    }

    /// A line `gate` or `head` that makes a wire of one of these kinds.
    fn made(&self, kinds: &[&str], random: &mut Random) -> Option<(&Layer, usize)> {
        let lines = self.layers.iter().flat_map(|layer| layer.made.clone().map(move |line| (layer, line)));
        let wanted = |line: usize| self.kind(line).is_some_and(|kind| kinds.contains(&kind.as_str()));
        let all: Vec<(&Layer, usize)> = lines.filter(|(_, line)| wanted(*line)).collect();
        if all.is_empty() { None } else { Some(*random.of(&all)) }
    }

    /// The places of a tensor's numbers in the file, and its shape.
    fn tensor(&self, name: &str) -> Option<(Range<usize>, Vec<usize>)> {
        let found = self.weights.tensors().into_iter().find(|(known, _)| known == name)?;
        Some((found.1, self.weights.shape(name)))
    }

    /// The rows of a layer's units.
    fn rows(&self, layer: &Layer) -> Option<Vec<Vec<f64>>> {
        let (places, shape) = self.tensor(&format!("{}.w1", layer.prefix))?;
        let (hidden, width) = (shape[1], shape[2]);
        let row = |unit: usize| {
            let from = places.start + (layer.index * hidden + unit) * width;
            (from..from + width).map(|place| self.weights.get(place)).collect()
        };
        Some((0..hidden).map(row).collect())
    }

    /// The units of a gate: those that it names, and all that read the same up to sign.
    fn units(&self, layer: &Layer, line: usize) -> Option<Vec<usize>> {
        let (words, rows) = (&self.lines[line], self.rows(layer)?);
        let mut at = behind(words, 2)?;
        let count: usize = words.get(at)?.parse().ok()?;
        at += 1;
        let mut units = Vec::new();
        for _ in 0..count {
            let named = rows.get(words.get(at)?.parse::<usize>().ok()?)?;
            let opposite: Vec<f64> = named.iter().map(|x| -x).collect();
            units.extend((0..rows.len()).filter(|unit| rows[*unit] == *named || rows[*unit] == opposite));
            at = behind(words, at + 1)?;
        }
        Some(units)
    }

    /// A unit that two gates of its layer have.
    fn shared_unit(&self, random: &mut Random) -> Option<(&Layer, usize)> {
        let mut all = Vec::new();
        for layer in self.layers.iter().filter(|layer| layer.has_units()) {
            let gates: Vec<Vec<usize>> = layer.made.clone().filter_map(|line| self.units(layer, line)).collect();
            let shared = |unit: &usize| gates.iter().filter(|units| units.contains(unit)).count() > 1;
            all.extend((0..self.rows(layer)?.len()).filter(shared).map(|unit| (layer, unit)));
        }
        if all.is_empty() { None } else { Some(*random.of(&all)) }
    }

    /// The places of a unit's numbers in a tensor of its layer: what it reads, what is added, what it writes.
    fn places_of_unit(&self, layer: &Layer, tensor: &str, unit: usize) -> Option<Vec<usize>> {
        let (places, shape) = self.tensor(&format!("{}.{tensor}", layer.prefix))?;
        let start = places.start + layer.index * shape[1..].iter().product::<usize>();
        Some(match tensor {
            "w1" => (0..shape[2]).map(|register| start + unit * shape[2] + register).collect(),
            "b1" => vec![start + unit],
            _ => (0..shape[1]).map(|register| start + register * shape[2] + unit).collect(),
        })
    }

    /// The files with other numbers at some places.
    fn with_numbers(&self, numbers: &[(usize, f64)]) -> Artifact {
        let mut weights = self.weights.clone();
        for (place, number) in numbers {
            weights.set(*place, *number);
        }
        with_weights(self.artifact, weights.bytes())
    }

    /// The files with a number changed, of these places; one that is 0 only if all are.
    fn with_one(&self, places: &[usize], change: Change, random: &mut Random) -> Option<Artifact> {
        let there: Vec<usize> = places.iter().copied().filter(|place| self.weights.get(*place) != 0.0).collect();
        let places = if there.is_empty() { places } else { &there };
        let place = if places.is_empty() { return None } else { *random.of(places) };
        Some(self.with_numbers(&[(place, change(random, self.bound, self.weights.get(place)))]))
    }

    /// A number of a unit of a gate of these kinds.
    fn unit(&self, kinds: &[&str], tensor: &str, change: Change, random: &mut Random) -> Option<Artifact> {
        let (layer, line) = self.made(kinds, random)?;
        let units = self.units(layer, line).filter(|units| !units.is_empty())?;
        self.with_one(&self.places_of_unit(layer, tensor, *random.of(&units))?, change, random)
    }

    /// A number of a head that makes a wire of these kinds.
    fn head(&self, kinds: &[&str], tensor: &str, change: Change, random: &mut Random) -> Option<Artifact> {
        let (layer, line) = self.made(kinds, random)?;
        let (places, shape) = self.tensor(&format!("{}.{tensor}", layer.prefix))?;
        let head: usize = self.lines[line].get(self.lines[line].len() - 2)?.parse().ok()?;
        let size: usize = shape[2..].iter().product();
        let from = places.start + (layer.index * shape[1] + head) * size;
        let all: Vec<usize> = (from..from + size).collect();
        // What is 0 matters too: scores that should not be there.
        if random.below(3) == 0 {
            let place = *random.of(&all);
            return Some(self.with_numbers(&[(place, change(random, self.bound, self.weights.get(place)))]));
        }
        self.with_one(&all, change, random)
    }

    /// A number of a tensor.
    fn any(&self, tensor: &str, change: Change, random: &mut Random) -> Option<Artifact> {
        let (places, _) = self.tensor(tensor)?;
        self.with_one(&places.collect::<Vec<_>>(), change, random)
    }

    fn with_lines(&self, lines: &[Vec<String>]) -> Artifact {
        let text: String = lines.iter().map(|words| words.join(" ") + "\n").collect();
        Artifact { certificate: text.into_bytes(), ..self.artifact.clone() }
    }

    /// One of the lines with a number changed.
    fn told(&self, lines: impl Iterator<Item = usize>, random: &mut Random) -> Option<Artifact> {
        let places = lines.flat_map(|line| numbers(&self.lines[line]).into_iter().flatten().map(move |at| (line, at)));
        let places: Vec<(usize, usize)> = places.collect();
        let (line, at) = if places.is_empty() { return None } else { *random.of(&places) };
        let mut told = self.lines.clone();
        let old: Rat = told[line][at].parse().ok()?;
        let little = Rat::from(1) + Rat::new(1_u64, 1_u64 << (1 + random.below(22)));
        let claimed: Rat = self.artifact.line("bound").parse().ok()?;
        let much = claimed * Rat::from(i64::try_from(2 + random.below(100)).expect("small"));
        let new = match random.below(6) {
            0 => old.clone() + much,
            1 => old.clone() - much,
            2 => -old.clone(),
            3 => old.clone() * Rat::from(2),
            _ => old.clone() * little,
        };
        told[line][at] = new.to_string();
        (new != old).then(|| self.with_lines(&told))
    }

    /// The line of a wire of these kinds with a number changed.
    fn wire(&self, kinds: &[&str], random: &mut Random) -> Option<Artifact> {
        let wanted = |line: &usize| {
            let words = &self.lines[*line];
            kinds.contains(&words[1].as_str()) || (words[1] == "seen" && kinds.contains(&words[7].as_str()))
        };
        self.told(self.wires.clone().filter(wanted), random)
    }

    /// A line about a register behind a layer that makes wires of these kinds.
    fn holds(&self, kinds: &[&str], random: &mut Random) -> Option<Artifact> {
        let (layer, _) = self.made(kinds, random)?;
        self.told(layer.holds.clone(), random)
    }

    /// The line that makes a wire of these kinds: what is added besides, and what units read.
    fn maker(&self, kinds: &[&str], random: &mut Random) -> Option<Artifact> {
        let (_, line) = self.made(kinds, random)?;
        let behind = line + 1;
        self.told(line..behind, random)
    }

    /// Units that take a register away: the register and the unit.
    fn clearing(&self, random: &mut Random) -> Option<(&Layer, usize, usize)> {
        let mut all = Vec::new();
        for layer in self.layers.iter().filter(|layer| layer.has_units()) {
            for (unit, row) in self.rows(layer)?.iter().enumerate() {
                let reads: Vec<usize> = (0..row.len()).filter(|register| row[*register] != 0.0).collect();
                let writes = self.places_of_unit(layer, "w2", unit)?;
                if let [register] = reads[..] {
                    let there = self.weights.get(writes[register]);
                    if (there * row[register].abs()).abs().to_bits() == 1.0_f64.to_bits() && there * row[register] < 0.0
                    {
                        all.push((layer, unit, register));
                    }
                }
            }
        }
        if all.is_empty() { None } else { Some(*random.of(&all)) }
    }

    /// What a unit that clears writes, changed.
    fn uncleared(&self, change: Change, random: &mut Random) -> Option<Artifact> {
        let (layer, unit, register) = self.clearing(random)?;
        let place = self.places_of_unit(layer, "w2", unit)?[register];
        Some(self.with_numbers(&[(place, change(random, self.bound, self.weights.get(place)))]))
    }

    /// Units added to a gate of these kinds: by what it reads at some knots, with some weights, into a register that has a part in it.
    fn more_units(
        &self,
        kinds: &[&str],
        units: impl Fn(&mut Random, f64) -> Vec<(f64, f64)>,
        random: &mut Random,
    ) -> Option<Artifact> {
        let (layer, line) = self.made(kinds, random)?;
        let block = layer.prefix.split('.').next()?.parse().ok()?;
        if !layer.prefix.ends_with("ff") || layer.index > 0 || self.tensor(&format!("{}.w1", layer.prefix))?.1[0] != 1 {
            return None;
        }
        let units_there = self.units(layer, line).filter(|units| !units.is_empty())?;
        let unit = *random.of(&units_there);
        let writes = self.places_of_unit(layer, "w2", unit)?;
        let written: Vec<usize> = (0..writes.len()).filter(|place| self.weights.get(writes[*place]) != 0.0).collect();
        let register = if written.is_empty() { return None } else { *random.of(&written) };
        let row = self.rows(layer)?.swap_remove(unit);
        let bias = self.weights.get(*self.places_of_unit(layer, "b1", unit)?.first()?);
        let added: Vec<_> =
            units(random, bias).into_iter().map(|(bias, weight)| (row.clone(), bias, register, weight)).collect();
        Some(with_units(self.artifact, layer.run, block, &added))
    }

    /// A mask, in the claim and in the lines that name it.
    fn masked(&self, everywhere: bool, random: &mut Random) -> Option<Artifact> {
        let mut told = self.lines.clone();
        let masks: Vec<usize> = (0..told.len()).filter(|at| told[*at][0] == "mask").collect();
        let line = if masks.is_empty() { return None } else { *random.of(&masks) };
        let old = told[line][1..].to_vec();
        let place = random.below(5);
        let words: &[&str] = if place == 4 { &["yes", "no"] } else { &["*", "0", "1", "-1", "2", "-2"] };
        (*random.of(words)).clone_into(&mut told[line][1 + place]);
        let new = told[line][1..].to_vec();
        if everywhere {
            for at in self.wires.clone() {
                if ["seen", "attend"].contains(&told[at][1].as_str()) && told[at][2..7] == old {
                    told[at].splice(2..7, new.clone());
                }
            }
        }
        Some(self.with_lines(&told))
    }

    /// All that heads which make wires of these kinds read times a number, in the weights and in the lines.
    fn scaled(&self, kinds: &[&str], random: &mut Random) -> Option<Artifact> {
        let (layer, line) = self.made(kinds, random)?;
        let words = &self.lines[line];
        let [head, value] = [2, 1].map(|k| words[words.len() - k].parse::<usize>().expect("a count"));
        let (places, shape) = self.tensor(&format!("{}.v", layer.prefix))?;
        let from = places.start + ((layer.index * shape[1] + head) * shape[2] + value) * shape[3];
        let times = *random.of(&[2.0, 0.5, -1.0, 1.0 + 1.0 / 1024.0]);
        let changed: Vec<_> = (from..from + shape[3]).map(|place| (place, times * self.weights.get(place))).collect();
        let mut told = self.lines.clone();
        let times: Rat = Rat::from_f64(times)?;
        let wire = self.wires.start + words[1].parse::<usize>().ok()?;
        let scale = if told[wire][1] == "seen" { 8 } else { 2 };
        for (line, at) in [(wire, scale), (line, 2)] {
            told[line][at] = (told[line][at].parse::<Rat>().ok()? * times.clone()).to_string();
        }
        let both = Artifact { certificate: self.with_lines(&told).certificate, ..self.with_numbers(&changed) };
        Some(both.hashed())
    }

    /// A tent at a whole number, in the units and in the values of the line.
    fn another_value(&self, random: &mut Random) -> Option<Artifact> {
        let (layer, line) = self.made(&["points"], random)?;
        let block = layer.prefix.split('.').next()?.parse().ok()?;
        if layer.index > 0 || self.tensor(&format!("{}.w1", layer.prefix))?.1[0] != 1 {
            return None;
        }
        let wire: usize = self.lines[line][1].parse().ok()?;
        let mut told = self.lines.clone();
        let words = &mut told[self.wires.start + wire];
        let first = behind(words, 2)?;
        let at = first + 1 + random.below(words.len() - first - 1);
        let point = words[first].parse::<f64>().ok()? + f64::from(u32::try_from(at - first - 1).ok()?);
        let held: Vec<(usize, f64)> = layer.holds.clone().filter_map(|line| self.factor(line, wire)).collect();
        let (register, factor) = if held.is_empty() { return None } else { *random.of(&held) };
        words[at] = (words[at].parse::<Rat>().ok()? + Rat::from(1)).to_string();
        let unit = self.named(line)?;
        let row = self.rows(layer)?.swap_remove(unit);
        let tent = [(1.0, 1.0), (0.0, -2.0), (-1.0, 1.0)];
        let units: Vec<_> = tent.map(|(shift, times)| (row.clone(), shift - point, register, times * factor)).into();
        let artifact = Artifact { certificate: self.with_lines(&told).certificate, ..self.artifact.clone() };
        Some(with_units(&artifact, layer.run, block, &units))
    }

    /// The unit that a gate names first.
    fn named(&self, line: usize) -> Option<usize> {
        self.lines[line].get(behind(&self.lines[line], 2)? + 1)?.parse().ok()
    }

    /// The register of a line, and the factor that a wire has there.
    fn factor(&self, line: usize, wire: usize) -> Option<(usize, f64)> {
        let words = &self.lines[line];
        let at = (4..words.len()).step_by(2).find(|at| words[*at] == wire.to_string())?;
        Some((words[1].parse().ok()?, words[at + 1].parse::<Rat>().ok()?.to_f64()))
    }

    /// What is read out and what the line says of it, changed alike.
    fn read_out(&self, random: &mut Random) -> Option<Artifact> {
        let outputs: Vec<usize> = (0..self.lines.len()).filter(|at| self.lines[*at][0] == "output").collect();
        let output = random.below(outputs.len());
        let mut told = self.lines.clone();
        let words = &mut told[outputs[output]];
        let (weights, shape) = self.tensor("read_out.weight")?;
        let (bias, _) = self.tensor("read_out.bias")?;
        let mut changed = Vec::new();
        if random.below(2) == 0 {
            let row = weights.start + output * shape[1];
            let all = (row..row + shape[1]).chain([bias.start + output]);
            changed.extend(all.map(|place| (place, 2.0 * self.weights.get(place))));
            for at in numbers(words)? {
                words[at] = (words[at].parse::<Rat>().ok()? * Rat::from(2)).to_string();
            }
        } else {
            let old = self.weights.get(bias.start + output);
            let new = self.weights.neighbour(old + 2.0 * self.bound + 1e-30, true);
            changed.push((bias.start + output, new));
            let more = Rat::from_f64(new)? - Rat::from_f64(old)?;
            words[1] = (words[1].parse::<Rat>().ok()? + more).to_string();
        }
        let both = Artifact { certificate: self.with_lines(&told).certificate, ..self.with_numbers(&changed) };
        Some(both.hashed())
    }

    /// A position, in the weights and in the wire, at one token.
    fn moved(&self, random: &mut Random) -> Option<Artifact> {
        let (places, shape) = self.tensor("pos")?;
        let held = self.layers[0].holds.clone().filter_map(|line| {
            let wires = self.wires.clone().filter(|at| self.lines[*at][1] == "position");
            let mut found = wires.filter_map(|at| Some((at, self.factor(line, at - self.wires.start)?)));
            found.next_back()
        });
        let held: Vec<(usize, (usize, f64))> = held.collect();
        let (wire, (register, factor)) = if held.is_empty() { return None } else { *random.of(&held) };
        let token = random.below(shape[0]);
        let by = *random.of(&[1.0, 0.5, -1.0, 0.25]);
        let place = places.start + token * shape[1] + register;
        let mut told = self.lines.clone();
        let number = &mut told[wire][2 + token];
        *number = (number.parse::<Rat>().ok()? + Rat::from_f64(by)?).to_string();
        let moved = self.with_numbers(&[(place, self.weights.get(place) + by * factor)]);
        let both = Artifact { certificate: self.with_lines(&told).certificate, ..moved };
        Some(both.hashed())
    }

    /// A unit that reads twice as much, and writes half of it.
    fn same_unit(&self, kinds: &[&str], random: &mut Random) -> Option<Artifact> {
        let (layer, line) = self.made(kinds, random)?;
        let (units, named) = (self.units(layer, line)?, self.named(line)?);
        let others: Vec<usize> = units.into_iter().filter(|unit| *unit != named).collect();
        let unit = if others.is_empty() { return None } else { *random.of(&others) };
        let mut changed = Vec::new();
        for (tensor, times) in [("w1", 2.0), ("b1", 2.0), ("w2", 0.5)] {
            let places = self.places_of_unit(layer, tensor, unit)?;
            changed.extend(places.into_iter().map(|place| (place, times * self.weights.get(place))));
        }
        Some(self.with_numbers(&changed))
    }

    /// True if the network is near its target, and no nearer.
    fn is_near(&self) -> bool {
        ["hats", "fit"].iter().any(|basis| self.artifact.name.contains(basis))
    }

    fn over_integers(&self) -> bool {
        self.artifact.line("over") == "integers"
    }

    fn has(&self, kind: &str) -> bool {
        self.wires.clone().any(|at| self.lines[at][1] == kind)
    }

    /// The target with a number changed by one, or by a little.
    fn target_number(&self, random: &mut Random) -> Option<Artifact> {
        let is_number = |node: &Value| node.get("number").is_some();
        let change = |node: &mut Value, random: &mut Random| {
            let more = *random.of(&["1", "-1", "1/1024", "-1/2"]);
            *node = json!({"binary": ["add", node, {"number": more}]});
        };
        node(self.artifact, random, is_number, change)
    }

    /// The target with another word of a group.
    fn target_word(&self, group: &'static [&'static str], random: &mut Random) -> Option<Artifact> {
        let is_one = |node: &Value| group.iter().any(|word| *node == **word);
        node(self.artifact, random, is_one, |node, random| *node = json!(random.of(group)))
    }

    /// The target on a domain that is larger by a little, or begins below 0.
    fn wider(&self, random: &mut Random) -> Option<Artifact> {
        let times = *random.of(&["1025/1024", "17/16", "2"]);
        let end = random.below(2);
        let change = |node: &mut Value, _: &mut Random| {
            if let Some(Value::Array(ends)) = node.get_mut("interval") {
                let old: Rat = ends[end].as_str().and_then(|text| text.parse().ok()).unwrap_or(Rat::ZERO);
                let new =
                    if old == Rat::ZERO { Rat::new(-1, 1024_u64) } else { old * times.parse().unwrap_or(Rat::ZERO) };
                ends[end] = json!(new.to_string());
            }
            if let Some(Value::Array(ends)) = node.get_mut("integers") {
                let more = if end == 0 { -1 } else { 1 };
                ends[end] = json!(ends[end].as_i64().unwrap_or(0) + more);
            }
        };
        let is_domain = |node: &Value| node.get("interval").is_some() || node.get("integers").is_some();
        node(self.artifact, random, is_domain, change)
    }
}

/// What is aimed at, and how; nothing where the circuit has no place for it.
type Aim = (&'static str, &'static str, fn(&Circuit<'_>, &mut Random) -> Option<Artifact>);

const CURVES: &[&str] = &["curve"];
const COMPARISONS: &[&str] = &["less", "less-equal", "greater", "greater-equal", "equal", "not-equal"];
const MEANS: &[&str] = &["mean"];
const PLACED: &[&str] = &["gather", "sum"];

/// A tent of so small a width beside a number, higher than what is claimed.
fn tent(random: &mut Random, bias: f64, bound: f64) -> Vec<(f64, f64)> {
    let half = *random.of(&[1e-6, 1e-3, 0.25]);
    let height = bound * random.of(&[2.0, 1e3, 1e6]) + 1e-6;
    let at = bias + *random.of(&[0.0, 0.5, -0.5, half]);
    [(half, 1.0), (0.0, -2.0), (-half, 1.0)].map(|(shift, times)| (at + shift, times * height / half)).into()
}

const AIMS: &[Aim] = &[
    ("embedding", "a weight", |c, r| c.any("embed.weight", nudged, r)),
    ("embedding", "a bias", |c, r| c.any("embed.bias", nudged, r)),
    ("embedding", "a position of one token", |c, r| c.any("pos", nudged, r)),
    ("embedding", "a number of the wire of a position", |c, r| c.wire(&["position"], r)),
    ("embedding", "a position, in weights and wire", |c, r| c.moved(r)),
    ("embedding", "what a register holds", |c, r| c.told(c.layers[0].holds.clone(), r)),
    ("what may be computed", "a larger domain", |c, r| c.wider(r)),
    ("curve", "what a unit reads", |c, r| c.unit(CURVES, "w1", nudged, r)),
    ("curve", "a knot", |c, r| c.unit(CURVES, "b1", nudged, r)),
    ("curve", "a slope", |c, r| c.unit(CURVES, "w2", nudged, r)),
    ("curve", "a unit turned round", |c, r| c.unit(CURVES, "w1", turned, r)),
    ("curve", "a number of the function", |c, r| c.wire(CURVES, r)),
    ("curve", "what is added besides", |c, r| c.maker(CURVES, r)),
    ("curve", "a tent", |c, r| {
        let bound = c.bound;
        c.more_units(CURVES, move |random, bias| tent(random, bias, bound), r)
    }),
    ("curve", "two large units that cancel", |c, r| {
        let sizes = [2.0_f64.powi(20), 2.0_f64.powi(40), 2.0_f64.powi(53), 2.0_f64.powi(90)];
        c.more_units(CURVES, move |random, bias| [1.0, -1.0].map(|s| (bias, s * random.of(&sizes))).into(), r)
    }),
    ("curve", "a unit that is never on", |c, r| c.more_units(CURVES, |_, _| vec![(-1e6, 1.0)], r)),
    ("curve", "a unit of twice its row, and half its slope", |c, r| c.same_unit(CURVES, r)),
    ("shared units", "a slope in one of the registers", |c, r| {
        let (layer, unit) = c.shared_unit(r)?;
        c.with_one(&c.places_of_unit(layer, "w2", unit)?, nudged, r)
    }),
    ("shared units", "a knot", |c, r| {
        let (layer, unit) = c.shared_unit(r)?;
        c.with_one(&c.places_of_unit(layer, "b1", unit)?, nudged, r)
    }),
    ("shared units", "a slope from one register to another", |c, r| {
        let (layer, unit) = c.shared_unit(r)?;
        let places = c.places_of_unit(layer, "w2", unit)?;
        let there: Vec<usize> = places.iter().copied().filter(|at| c.weights.get(*at) != 0.0).collect();
        let [from, to] = if there.len() < 2 { return None } else { [*r.of(&there), *r.of(&there)] };
        let (a, b) = (c.weights.get(from), c.weights.get(to));
        Some(c.with_numbers(&[(from, a - b / 4.0), (to, b + a / 4.0)]))
    }),
    ("shared units", "what a register holds", |c, r| {
        let (layer, _) = c.shared_unit(r)?;
        c.told(layer.holds.clone(), r)
    }),
    ("shared units", "a number of a function, or what it reads", |c, r| {
        let (layer, _) = c.shared_unit(r)?;
        let wires: Vec<usize> = layer.made.clone().filter_map(|line| c.lines[line][1].parse().ok()).collect();
        c.told(wires.into_iter().map(|wire: usize| c.wires.start + wire), r)
    }),
    ("product", "what a unit reads", |c, r| c.unit(&["product"], "w1", nudged, r)),
    ("product", "a knot", |c, r| c.unit(&["product"], "b1", nudged, r)),
    ("product", "a slope", |c, r| c.unit(&["product"], "w2", nudged, r)),
    ("product", "a square turned round", |c, r| c.unit(&["product"], "w2", turned, r)),
    ("product", "a factor", |c, r| c.wire(&["product"], r)),
    ("product", "what makes it, besides squares", |c, r| c.maker(&["product"], r)),
    ("teeth", "the reach, or a factor", |c, r| c.wire(&["teeth"], r)),
    ("teeth", "a slope of a tooth", |c, r| if c.has("teeth") { c.unit(CURVES, "w2", nudged, r) } else { None }),
    ("teeth", "a knot of a tooth", |c, r| if c.has("teeth") { c.unit(CURVES, "b1", nudged, r) } else { None }),
    ("teeth", "what a register holds", |c, r| if c.has("teeth") { c.holds(CURVES, r) } else { None }),
    ("teeth", "a larger domain", |c, r| if c.has("teeth") { c.wider(r) } else { None }),
    ("whole numbers", "tokens of another number", |c, r| {
        let n: usize = c.over_integers().then(|| c.artifact.line("tokens").split(' ').next_back())??.parse().ok()?;
        let other = *r.of(&[(n - 1, n), (1, n), (n + 1, n + 1), (n - 1, n - 1)]);
        Some(c.artifact.with_line("tokens", &format!("{} {}", other.0, other.1)))
    }),
    ("whole numbers", "a number of a mean", |c, r| if c.over_integers() { c.wire(MEANS, r) } else { None }),
    ("whole numbers", "what a head reads", |c, r| if c.over_integers() { c.head(MEANS, "v", nudged, r) } else { None }),
    ("points", "a value", |c, r| c.wire(&["points"], r)),
    ("points", "a knot", |c, r| c.unit(&["points"], "b1", nudged, r)),
    ("points", "a slope", |c, r| c.unit(&["points"], "w2", nudged, r)),
    ("points", "what a unit reads", |c, r| c.unit(&["points"], "w1", nudged, r)),
    ("points", "a tent, at a point or between two", |c, r| {
        let bound = c.bound;
        c.more_units(&["points"], move |random, bias| tent(random, bias, bound), r)
    }),
    ("points", "a value, in units and line", |c, r| c.another_value(r)),
    ("cases", "a factor, or what is added", |c, r| c.wire(&["cases"], r)),
    ("selection", "what a unit reads", |c, r| c.unit(&["select"], "w1", nudged, r)),
    ("selection", "half of what a condition adds", |c, r| c.unit(&["select"], "w1", halved, r)),
    ("selection", "a number of the position", |c, r| c.unit(&["select"], "b1", nudged, r)),
    ("selection", "what is selected, or by what", |c, r| c.wire(&["select"], r)),
    ("selection", "what a unit is said to read", |c, r| c.maker(&["select"], r)),
    ("mean", "a query", |c, r| c.head(MEANS, "q", nudged, r)),
    ("mean", "a key", |c, r| c.head(MEANS, "k", nudged, r)),
    ("mean", "what is read", |c, r| c.head(MEANS, "v", nudged, r)),
    ("mean", "its number, or what is averaged", |c, r| c.wire(MEANS, r)),
    ("mean", "its number, in weights and lines", |c, r| c.scaled(MEANS, r)),
    ("mean", "a mask, in claim and lines", |c, r| c.masked(true, r)),
    ("mean", "a query and a key", |c, r| {
        let queried = c.head(MEANS, "q", nudged, r)?;
        Circuit::of(&queried)?.head(MEANS, "k", nudged, r)
    }),
    ("hub", "what a token sees", |c, r| {
        let sees: Vec<usize> = (0..c.lines.len()).filter(|at| c.lines[*at][0] == "sees").collect();
        let line = if sees.is_empty() { return None } else { *r.of(&sees) };
        let mut told = c.lines.clone();
        let tokens: usize = c.artifact.line("tokens").split(' ').next()?.parse().ok()?;
        let seen: Vec<usize> = (0..tokens).filter(|_| r.below(2) == 0).collect();
        told[line].splice(1.., seen.iter().map(usize::to_string));
        (!seen.is_empty()).then(|| c.with_lines(&told))
    }),
    ("hub", "its number, or what is added up", |c, r| c.wire(&["hub"], r)),
    ("hub", "what is handed on", |c, r| if c.has("hub") { c.head(MEANS, "v", nudged, r) } else { None }),
    ("hub", "what it reads", |c, r| c.head(&["hub"], "v", nudged, r)),
    ("average, linformer, performer", "a feature", |c, r| c.head(MEANS, "w", nudged, r)),
    ("average, linformer, performer", "a weight of a mixture", |c, r| c.head(MEANS, "f", nudged, r)),
    ("average, linformer, performer", "a weight of a mixture of keys", |c, r| c.head(MEANS, "e", nudged, r)),
    ("average, linformer, performer", "a bias of a query", |c, r| {
        let kinds = ["average", "linformer", "performer"];
        let other = c
            .lines
            .iter()
            .any(|words| words[0] == "run" && words.get(3).is_some_and(|kind| kinds.contains(&kind.as_str())));
        if other { c.head(MEANS, "q_bias", nudged, r) } else { None }
    }),
    ("scores by position", "a query", |c, r| c.head(PLACED, "q", nudged, r)),
    ("scores by position", "half of a query", |c, r| c.head(PLACED, "q", halved, r)),
    ("scores by position", "a key", |c, r| c.head(PLACED, "k", nudged, r)),
    ("scores by position", "what is read", |c, r| c.head(PLACED, "v", nudged, r)),
    ("scores by position", "the index, or what is gathered", |c, r| c.wire(&["gather"], r)),
    ("scores by position", "a number of a sum", |c, r| c.wire(&["sum"], r)),
    ("what heads write", "a weight", |c, r| c.head(&["mean", "max", "sum", "gather", "attend", "hub"], "o", nudged, r)),
    ("what heads write", "nothing", |c, r| c.head(&["mean", "max", "sum", "gather", "attend"], "o", silenced, r)),
    ("what heads write", "a number besides", |c, r| c.maker(&["mean", "max", "sum", "gather", "attend"], r)),
    ("what heads write", "what a register holds", |c, r| c.holds(&["mean", "max", "sum", "gather", "attend"], r)),
    ("largest", "half of the temperature", |c, r| c.head(&["max"], "q_bias", halved, r)),
    ("largest", "the least", |c, r| c.head(&["max"], "q_bias", turned, r)),
    ("largest", "a query", |c, r| c.head(&["max"], "q", nudged, r)),
    ("largest", "a key", |c, r| c.head(&["max"], "k", nudged, r)),
    ("largest", "what is read", |c, r| c.head(&["max"], "v", nudged, r)),
    ("largest", "its number, or what is compared", |c, r| c.wire(&["max"], r)),
    ("softmax head", "a query", |c, r| c.head(&["attend"], "q", nudged, r)),
    ("softmax head", "a bias of a query", |c, r| c.head(&["attend"], "q_bias", nudged, r)),
    ("softmax head", "a key", |c, r| c.head(&["attend"], "k", nudged, r)),
    ("softmax head", "what is read", |c, r| c.head(&["attend"], "v", nudged, r)),
    ("softmax head", "a score, or what is averaged", |c, r| c.wire(&["attend"], r)),
    ("signs", "a domain that begins below 0", |c, r| c.clearing(r).and_then(|_| c.wider(r))),
    ("clearing", "one unit less", |c, r| c.uncleared(silenced, r)),
    ("clearing", "half of it", |c, r| c.uncleared(halved, r)),
    ("clearing", "a little more or less", |c, r| c.uncleared(nudged, r)),
    ("clearing", "another sign", |c, r| c.uncleared(turned, r)),
    ("clearing", "a register said to be empty", |c, r| {
        let held: Vec<usize> = c.layers.iter().skip(1).flat_map(|layer| layer.holds.clone()).collect();
        let line = if held.is_empty() { return None } else { *r.of(&held) };
        let mut told = c.lines.clone();
        told[line].splice(2.., ["0".to_owned(), "0".to_owned()]);
        Some(c.with_lines(&told))
    }),
    ("read-out", "a weight", |c, r| c.any("read_out.weight", nudged, r)),
    ("read-out", "a bias", |c, r| c.any("read_out.bias", nudged, r)),
    ("read-out", "the output's line", |c, r| {
        let outputs: Vec<usize> = (0..c.lines.len()).filter(|at| c.lines[*at][0] == "output").collect();
        c.told(outputs.into_iter(), r)
    }),
    ("read-out", "weights and line", |c, r| c.read_out(r)),
    ("read-out", "a number of the target", |c, r| if c.over_integers() { None } else { c.target_number(r) }),
    ("read-out", "a word of the target", |c, r| c.target_word(&["add", "sub", "mul", "div", "max", "min"], r)),
    ("read-out over integers", "a number of the target", |c, r| {
        c.over_integers().then(|| c.target_number(r)).flatten()
    }),
    ("read-out over integers", "a comparison", |c, r| {
        c.over_integers().then(|| c.target_word(COMPARISONS, r)).flatten()
    }),
    ("read-out over integers", "a larger domain", |c, r| c.over_integers().then(|| c.wider(r)).flatten()),
    ("read-out by masks", "a filter", |c, r| if c.has("position") { None } else { c.target_word(COMPARISONS, r) }),
    ("read-out by masks", "a mask in the claim", |c, r| c.masked(false, r)),
    ("read-out by masks", "an aggregate", |c, r| c.target_word(&["sum", "mean", "var", "max", "min"], r)),
    ("read-out, token by token", "a filter", |c, r| c.has("position").then(|| c.target_word(COMPARISONS, r)).flatten()),
    ("read-out, token by token", "a number", |c, r| c.has("position").then(|| c.target_number(r)).flatten()),
    ("read-out, token by token", "a leaf", |c, r| {
        c.has("position").then(|| c.target_word(&["token", "index", "length", "running"], r)).flatten()
    }),
    ("read-out within a distance", "a bound", |c, r| {
        let bound: Rat = c.artifact.line("bound").parse().ok()?;
        let factor = Rat::new(i64::try_from(r.below(1024)).ok()?, 1024_u64);
        c.is_near().then(|| c.artifact.with_line("bound", &(bound * factor).to_string()))
    }),
    ("read-out within a distance", "a little more than a token in the target", |c, r| {
        let more = *r.of(&["1/1024", "1/16", "-1/4"]);
        let change = |node: &mut Value, _: &mut Random| *node = json!({"binary": ["add", node, {"number": more}]});
        c.is_near().then(|| node(c.artifact, r, |node| *node == "token", change)).flatten()
    }),
    ("read-out within a distance", "a knot, in the line", |c, r| c.is_near().then(|| c.wire(CURVES, r)).flatten()),
    ("read-out within a distance", "a larger domain", |c, r| c.is_near().then(|| c.wider(r)).flatten()),
];

/// The circuits that are aimed at: those that are attacked anyway, and some in which rules turn up that are rare there.
pub fn families() -> Vec<Artifact> {
    let mut all = circuits::families();
    for (text, tokens, precision) in [
        ("attend(2 * x * x[i] + x, 1 - x, j <= i)", 3, F32),
        ("attend(x * x[i], x)", 4, F64),
        ("max(x, j <= i) * x on [-1, 1]", 3, F64),
        ("x[0] * x + i", 3, F64),
        ("max(x, mean(x, j <= i)) + x[0]", 4, F32),
    ] {
        all.push(Artifact::new(&format!("{text}, {tokens} tokens, {precision}"), &circuit(text, tokens, precision)));
    }
    all
}

/// How often a place for an aim is looked for.
const LOOKED: usize = 400;

/// Tries so many changes, of every aim in turn.
pub fn run(families: &[Artifact], count: usize, seed: u64) -> Tally {
    let (mut tally, mut random) = (Tally::default(), Random::new(seed));
    for round in 0.. {
        let before = tally.tried;
        for (rule, what, aim) in AIMS {
            let found = (0..LOOKED).find_map(|_| {
                let artifact = random.of(families);
                let mutant = Circuit::of(artifact).and_then(|circuit| aim(&circuit, &mut random))?;
                (mutant != *artifact).then_some(mutant)
            });
            if let Some(mutant) = found.filter(|_| tally.tried < count) {
                examine(&mut tally, (rule, what), mutant, 1);
            }
        }
        assert!(round > 0 || tally.tried == count || tally.tried > before, "nothing to aim at");
        if tally.tried == count {
            break;
        }
    }
    tally
}
