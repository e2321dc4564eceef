//! The meanings of registers in files, against the numbers that registers hold.
//!
//! Formulas are read anew by the target language and evaluated exactly, or enclosed where they are not rational: the compiler's graph, its analysis
//! and its evaluator have no part in it.

#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};

use formwright::exact::Rat;
use formwright::interval::Interval;
use formwright::random::{below, uniform};
use formwright::target::{Checked, Domain, Expression};
use serde_json::Value;

/// `[tokens][coordinates]`.
pub type State = Vec<Vec<f64>>;

/// Bindings of a target, at most.
const LETS: usize = 64;

/// The names of a file, ready to be evaluated.
pub struct Atoms {
    groups: Vec<(Vec<String>, Checked)>,
}

/// Between what ends the value of a name lies, token by token.
pub type Values = BTreeMap<String, Vec<(Rat, Rat)>>;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

fn rational(value: &Value) -> Rat {
    text(value).parse().unwrap_or_else(|_| panic!("{value} is no number"))
}

/// The formula of a name, in the language.
fn formula(atom: &Value) -> String {
    match &atom["values"] {
        Value::Null => text(&atom["formula"]).to_owned(),
        values => format!("table(i; {})", list(values).iter().map(text).collect::<Vec<_>>().join(", ")),
    }
}

impl Atoms {
    /// Reads the names of a file; a name is defined by the input and by names before it.
    pub fn read(atoms: &Value, dims: usize, domain: &Domain) -> Self {
        let domain = match domain {
            Domain::Interval(low, high) => format!("on [{low}, {high}]"),
            Domain::Integers(from, to) => format!("on integers {from}..{to}"),
        };
        let mut needed: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        let (mut names, mut lets): (Vec<String>, Vec<Option<String>>) = (Vec::new(), Vec::new());
        for atom in list(atoms) {
            let (name, formula) = (text(&atom["name"]).to_owned(), formula(atom));
            let own = name == formula;
            let words = formula.split(|c: char| !c.is_alphanumeric() && c != '_');
            let mut parts: BTreeSet<usize> = words.filter_map(|word| needed.get(word)).flatten().copied().collect();
            if !own {
                parts.insert(names.len());
            }
            lets.push((!own).then(|| format!("let {name} = {formula}; ")));
            assert!(needed.insert(name.clone(), parts).is_none(), "{name} is defined twice");
            names.push(name);
        }
        let mut groups = Vec::new();
        let (mut group, mut used): (Vec<String>, BTreeSet<usize>) = (Vec::new(), BTreeSet::new());
        let mut close = |group: &mut Vec<String>, used: &mut BTreeSet<usize>| {
            let bound: String = used.iter().filter_map(|place| lets[*place].as_deref()).collect();
            let target = format!("{bound}[{}] {domain}", group.join(", "));
            let checked = Expression::parse(&target).and_then(|target| target.check(dims));
            groups.push((std::mem::take(group), checked.unwrap_or_else(|error| panic!("{target}\n{error}"))));
            used.clear();
        };
        for name in &names {
            let more: BTreeSet<usize> = used.union(&needed[name]).copied().collect();
            if more.len() > LETS {
                close(&mut group, &mut used);
            }
            used.extend(&needed[name]);
            group.push(name.clone());
        }
        // A constant is made of nothing.
        if !group.is_empty() {
            close(&mut group, &mut used);
        }
        Self { groups }
    }

    /// The values of the names on a sequence.
    pub fn values(&self, x: &[Vec<f64>]) -> Values {
        let mut values = Values::new();
        for (names, checked) in &self.groups {
            let shown = || format!("{:?} of {x:?}", checked.expression().source.text);
            let ends: Vec<Vec<(Rat, Rat)>> = if checked.is_rational() {
                let exact: Vec<Vec<Rat>> = x.iter().map(|token| token.iter().map(|x| exact(*x)).collect()).collect();
                let values = checked.evaluate_exact(&exact).unwrap_or_else(|error| panic!("{}\n{error}", shown()));
                values.into_iter().map(|token| token.into_iter().map(|y| (y.clone(), y)).collect()).collect()
            } else {
                let point = x.iter().map(|token| token.iter().map(|x| Interval::point(*x)).collect()).collect();
                let values = checked.enclose(&point).unwrap_or_else(|error| panic!("{}\n{error}", shown()));
                let end = |y: &Interval| (exact(y.lo()), exact(y.hi()));
                values.iter().map(|token| token.iter().map(end).collect()).collect()
            };
            for (k, name) in names.iter().enumerate() {
                values.insert(name.clone(), ends.iter().map(|token| token[k].clone()).collect());
            }
        }
        values
    }
}

fn exact(x: f64) -> Rat {
    Rat::from_f64(x).unwrap_or_else(|| panic!("{x} is no number"))
}

/// Compares the meanings of coordinates in a file with states with the names of their places, in order: the first
/// register that is further from its meaning than its error, or how many numbers were compared.
pub fn compare(coordinates: &Value, states: &[(String, State)], values: &Values) -> Result<usize, String> {
    let mut compared = 0;
    for (register, coordinate) in list(coordinates).iter().enumerate() {
        let held = list(&coordinate["held"]);
        let froms: Vec<usize> = held
            .iter()
            .map(|held| {
                let from = text(&held["from"]);
                states.iter().position(|(name, _)| name == from).unwrap_or_else(|| panic!("no place {from}"))
            })
            .collect();
        assert!(froms.first() == Some(&0) && froms.is_sorted_by(|a, b| a < b), "{coordinate}");
        for (place, (name, state)) in states.iter().enumerate() {
            let meaning = &held[froms.partition_point(|from| *from <= place) - 1];
            let error = exact(meaning["error"].as_f64().ok_or("no error")?);
            for (token, z) in state.iter().enumerate() {
                let (mut low, mut high) = (rational(&meaning["offset"]), rational(&meaning["offset"]));
                for term in list(&meaning["terms"]) {
                    let factor = rational(&term["factor"]);
                    let atom = values.get(text(&term["atom"])).ok_or_else(|| format!("no atom {}", term["atom"]))?;
                    let (a, b) = &atom[token];
                    let (a, b) = if factor.is_negative() { (b, a) } else { (a, b) };
                    (low, high) = (low + &factor * a, high + &factor * b);
                }
                let z = exact(z[register]);
                let off = (&low - &z).max(&z - &high);
                if off > error {
                    return Err(format!(
                        "{} of token {token} after {name} is {}, and is said to be {} within {:e}: {}",
                        text(&coordinate["name"]),
                        z.to_f64(),
                        low.to_f64(),
                        error.to_f64(),
                        coordinate["meaning"]
                    ));
                }
                compared += 1;
            }
        }
    }
    Ok(compared)
}

/// A random sequence of a domain: any tokens, ends of the domain, equal tokens.
pub fn sequence(state: &mut u64, tokens: usize, dims: usize, domain: &Domain) -> State {
    let number = |state: &mut u64| match domain {
        Domain::Integers(from, to) => {
            let many = usize::try_from(to - from).expect("integers");
            let place = match below(state, 8) {
                0 => 0,
                1 => many - 1,
                _ => below(state, many),
            };
            (Rat::from(*from) + Rat::from(place)).to_f64()
        }
        Domain::Interval(low, high) => {
            let share = match below(state, 8) {
                0 => 0.0,
                1 => 1.0,
                _ => uniform(state),
            };
            let x = (low + &((high - low) * exact(share))).to_f64();
            // An end that is no double is rounded inward.
            let inside = |x: f64| exact(x) >= *low && exact(x) <= *high;
            [x, x.next_up(), x.next_down()].into_iter().find(|x| inside(*x)).expect("a double of the domain")
        }
    };
    let all = below(state, 6) == 0;
    let first: Vec<f64> = (0..dims).map(|_| number(state)).collect();
    (0..tokens).map(|_| if all { first.clone() } else { (0..dims).map(|_| number(state)).collect() }).collect()
}
