//! Networks and targets that differ at exactly one place: one sequence of integers, or the orders of one, or one cell. That they do, and where, is
//! found out by the evaluators before the checker is asked.

use formwright::exact::Rat;
use formwright_check::Verdict;
use serde_json::{Value, json};

use super::artifacts::Artifact;
use super::corpus::{target, with_target};
use super::judge::{Subject, Wrong};
use super::mutants::said;
use super::weights::{Weights, with_weights};
use super::{Random, Tally, syntax};

/// The message where `point` is not met at the needle but at some other place, to which the checker cannot follow the
/// changed weights.
pub const ELSEWHERE: &str = "point, elsewhere";

/// A kind of needle: its place, its name, and the function that makes it, or nothing where it cannot be made.
type Kind = (&'static str, &'static str, fn(&Artifact, &mut Random) -> Option<Artifact>);

const KINDS: &[Kind] = &[
    ("target", "another value at one sequence", at_sequence),
    ("target", "another value at one token of one multiset", at_multiset),
    ("target", "one entry of a table", at_entry),
    ("weights", "one weight", one_weight),
    ("weights", "one knot: three weights in a row", one_knot),
];

/// A number that a claim does not allow for: a large one, or one just beyond twice the bound, or, where equality is claimed, a tiny one.
fn step(artifact: &Artifact, random: &mut Random) -> Value {
    let bound = artifact.line("bound").parse::<Rat>().expect("a bound").to_f64();
    let places = if bound == 0.0 {
        *random.of(&[15, 25])
    } else {
        (1..30).rfind(|k| 10_f64.powi(-k) > 2.0 * bound).unwrap_or(1)
    };
    json!({"number": random.of(&["1".to_owned(), "1/2".to_owned(), format!("1/1{}", "0".repeat(usize::try_from(places).expect("small")))])})
}

fn whole(k: i64) -> Value {
    if k < 0 { json!({"negate": {"number": (-k).to_string()}}) } else { json!({"number": k.to_string()}) }
}

fn equal(a: &Value, k: i64) -> Value {
    json!({"compare": ["equal", a, whole(k)]})
}

fn both(all: Vec<Value>) -> Value {
    all.into_iter().reduce(|a, b| json!({"and": [a, b]})).expect("a condition")
}

/// The condition that a token is this one, coordinate by coordinate.
fn is(token: &Value, value: &[i64]) -> Value {
    both(value.iter().enumerate().map(|(c, k)| equal(&json!({"coordinate": [token, c]}), *k)).collect())
}

/// Some sequence of the domain, of some length.
fn sequence(artifact: &Artifact, random: &mut Random) -> Option<Vec<Vec<i64>>> {
    let (from, to) = syntax::integers(&target(artifact))?;
    let lengths: Vec<usize> = artifact.line("tokens").split(' ').map(|n| n.parse().expect("a count")).collect();
    let dims: usize = artifact.line("dims").parse().expect("a count");
    let side = usize::try_from(to - from).expect("a domain");
    let mut entry = || from + i64::try_from(random.below(side)).expect("small");
    let tokens = lengths[0] + usize::try_from(entry() - from).expect("small") % (lengths[1] - lengths[0] + 1);
    Some((0..tokens).map(|_| (0..dims).map(|_| entry()).collect()).collect())
}

/// The target with one of its expressions moved by a step where a condition holds.
fn moved(artifact: &Artifact, condition: &Value, random: &mut Random) -> Artifact {
    let mut file = target(artifact);
    let step = step(artifact, random);
    let body = &mut file["ast"]["body"];
    let expression = match body["coordinates"].as_array().map(Vec::len) {
        Some(outputs) => &mut body["coordinates"][random.below(outputs)],
        None => &mut body["each"],
    };
    let sign = random.of(&["add", "sub"]);
    *expression = json!({"if": [condition, {"binary": [sign, expression, step]}, expression]});
    // `body["coordinates"]` of a body that has none has left a null there.
    if let Some(body) = file["ast"]["body"].as_object_mut() {
        body.retain(|_, value| !value.is_null());
    }
    with_target(artifact, &file)
}

fn at_sequence(artifact: &Artifact, random: &mut Random) -> Option<Artifact> {
    let sequence = sequence(artifact, random)?;
    let token = |t: usize| json!({"gather": {"number": t.to_string()}});
    let here = both(sequence.iter().enumerate().map(|(t, value)| is(&token(t), value)).collect());
    // In a shorter sequence there is no such token to look at.
    let length = i64::try_from(sequence.len()).expect("small");
    let chosen = json!({"if": [equal(&json!("length"), length), {"if": [here, {"number": "1"}, {"number": "0"}]}, {"number": "0"}]});
    Some(moved(artifact, &equal(&chosen, 1), random))
}

fn at_multiset(artifact: &Artifact, random: &mut Random) -> Option<Artifact> {
    let sequence = sequence(artifact, random)?;
    let mut here = vec![equal(&json!("length"), i64::try_from(sequence.len()).expect("small"))];
    here.push(is(&json!("token"), random.of(&sequence).as_slice()));
    for value in &sequence {
        let times = sequence.iter().filter(|other| *other == value).count();
        let count = json!({"aggregate": ["count", is(&json!("token"), value), null]});
        here.push(equal(&count, i64::try_from(times).expect("small")));
    }
    Some(moved(artifact, &both(here), random))
}

fn at_entry(artifact: &Artifact, random: &mut Random) -> Option<Artifact> {
    let mut file = target(artifact);
    let values = file["values"].as_array_mut()?;
    let cell = random.below(values.len());
    let tokens = values[cell].as_array()?.len();
    let entry = &mut values[cell][random.below(tokens)][0];
    let number: Rat = entry.as_str()?.parse().ok()?;
    let step: Rat = random.of(&["1", "-1/2", "1/100", "-1/10000"]).parse().ok()?;
    *entry = json!((number + step).to_string());
    Some(with_target(artifact, &file))
}

/// The places of the numbers of feed-forward tensors of which there is something to change.
fn places(weights: &Weights, last: &str) -> Vec<usize> {
    let tensors = weights.tensors().into_iter().filter(|(name, _)| name.contains(".ff.") && name.ends_with(last));
    tensors.flat_map(|(_, range)| range).filter(|place| weights.get(*place) != 0.0).collect()
}

fn one_weight(artifact: &Artifact, random: &mut Random) -> Option<Artifact> {
    let mut weights = Weights::of(artifact);
    let places = places(&weights, random.of::<&str>(&["w2", "b2", "b1", "w1"]));
    if places.is_empty() {
        return None;
    }
    let place = *random.of(&places);
    let x = weights.get(place);
    let changed = *random.of(&[x + 1.0, x - 1.0, 2.0 * x, x / 2.0, 0.0, -x, x * 1.25, x * (1.0 + 1.0 / 4096.0)]);
    weights.set(place, changed);
    Some(with_weights(artifact, weights.bytes()))
}

fn one_knot(artifact: &Artifact, random: &mut Random) -> Option<Artifact> {
    let mut weights = Weights::of(artifact);
    let places = places(&weights, "w2");
    if places.is_empty() {
        return None;
    }
    let place = *random.of(&places);
    let step = *random.of(&[1.0, -1.0, 0.5, 0.125]);
    if place + 2 >= weights.len() {
        return None;
    }
    for (at, times) in [(place, 1.0), (place + 1, -2.0), (place + 2, 1.0)] {
        weights.set(at, weights.get(at) + step * times);
    }
    Some(with_weights(artifact, weights.bytes()))
}

/// True if all of these are the same sequence in some order, and there are any.
fn is_needle(wrong: &[Wrong]) -> bool {
    let sorted = |wrong: &Wrong| {
        let mut tokens = wrong.sequence.clone();
        tokens.sort();
        tokens
    };
    !wrong.is_empty() && wrong.iter().all(|other| sorted(other) == sorted(&wrong[0]))
}

/// True if a message names one of these sequences.
fn names(message: &str, wrong: &[Wrong]) -> bool {
    let token = |token: &Vec<i64>| token.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let shown = |wrong: &Wrong| wrong.sequence.iter().map(token).collect::<Vec<_>>().join("; ");
    wrong.iter().any(|wrong| message.starts_with(&format!("at ({}), token", shown(wrong))))
}

/// Makes so many needles, of every kind in turn, and has them looked for.
pub fn run(families: &[Artifact], count: usize, seed: u64) -> Tally {
    let mut tally = Tally::default();
    let mut random = Random::new(seed);
    for attempt in 0..400 * count {
        if tally.tried == count {
            break;
        }
        let (group, name, make) = KINDS[attempt % KINDS.len()];
        let artifact = random.of(families);
        let Some(needle) = make(artifact, &mut random).filter(|needle| needle != artifact) else { continue };
        let cells = artifact.line("cells").parse::<usize>().map_or(1, |cells| cells.max(1));
        let Ok(subject) = Subject::read(&needle) else { continue };
        let Ok(wrong) = subject.wrong(cells, 0) else { continue };
        if !is_needle(&wrong) || !subject.exceeds(cells) {
            continue;
        }
        let said = match needle.verdict() {
            Verdict::Rejected(reason) if reason.obligation == "point" && !names(&reason.what, &wrong) => {
                ELSEWHERE.to_owned()
            }
            Verdict::Rejected(reason) => reason.obligation.to_owned(),
            _ => said(&needle),
        };
        if ["accepted", "declined", "panicked"].contains(&said.as_str()) {
            tally.failures.push((format!("{said}, {group}, {name}, wrong at {:?}", wrong[0].sequence), needle));
        }
        tally.count(group, name, &said);
    }
    tally
}
