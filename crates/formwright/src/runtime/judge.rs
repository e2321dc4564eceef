//! The answers of a runtime, read and judged.

use std::fmt::Write as _;
use std::io::Read;

use serde_json::{Value, json};

use super::Probe;
use super::network::{INPUTS, OUTPUTS};
use crate::error::{Error, Result};
use crate::input::npy::{self, Npy};
use crate::input::parse_json;
use crate::network::Precision;

/// The longest file of answers.
const MOST_BYTES: u64 = 1 << 26;

/// The witnesses that are shown.
const MOST: usize = 12;

/// A number that the model does not allow.
struct Witness {
    case: usize,
    token: usize,
    output: usize,
    /// How many outputs of this name are not allowed in this case.
    count: usize,
    found: f64,
}

impl Probe {
    /// The answers in a file: what `numpy.save` writes, or lists in JSON.
    pub fn read(&self, file: impl Read, name: &str) -> Result<Vec<f64>> {
        let mut bytes = Vec::new();
        let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| Error::input(format!("cannot read {name}: {error}")))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(Error::input(format!(
                "{name} has more than {MOST_BYTES} bytes, expected {:?} numbers",
                self.shape()
            )));
        }
        if bytes.starts_with(npy::MAGIC) {
            let [cases, tokens, outputs] = self.shape();
            return Npy::floats(&bytes[..], name, cases, (tokens, tokens), outputs);
        }
        let text = String::from_utf8(bytes).map_err(|_| {
            Error::input(format!("{name} is neither an array of numpy nor a text"))
                .note("try", "numpy.save(\"answers.npy\", y)")
        })?;
        self.lists(&parse_json(&text, name)?, name)
    }

    /// Numbers in lists.
    fn lists(&self, document: &Value, name: &str) -> Result<Vec<f64>> {
        let mut flat = Vec::new();
        let wrong = |place: &[usize]| {
            let place = place.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            Error::input(format!("{name} does not have the shape of the answers, at [{place}]"))
                .note("expected", format!("lists of the shape {:?} [cases, tokens, outputs]", self.shape()))
                .note("", "what is no number as \"nan\", \"inf\" or \"-inf\"")
        };
        let list = |value: &Value, place: &[usize]| -> Result<Vec<Value>> {
            let entries = value.as_array().filter(|entries| entries.len() == self.shape()[place.len()]);
            entries.cloned().ok_or_else(|| wrong(place))
        };
        for (i, case) in list(document, &[])?.iter().enumerate() {
            for (t, token) in list(case, &[i])?.iter().enumerate() {
                for (o, entry) in list(token, &[i, t])?.iter().enumerate() {
                    flat.push(number(entry).ok_or_else(|| wrong(&[i, t, o]))?);
                }
            }
        }
        Ok(flat)
    }

    /// The judgement: whether all numbers are allowed, in words, and as JSON.
    pub fn judge(&self, answers: &[f64]) -> Result<(bool, String, Value)> {
        let [cases, tokens, outputs] = self.shape();
        if answers.len() != cases * tokens * outputs {
            let (count, shape) = (answers.len(), self.shape());
            return Err(Error::input(format!("{count} numbers, expected {shape:?} of them")));
        }
        let witnesses = self.witnesses(answers);
        let wrong: usize = witnesses.iter().map(|witness| witness.count).sum();
        let points = self.allowed.iter().flatten().flatten().filter(|y| y.width() == 0.0).count();
        let json = json!({
            "verdict": if wrong == 0 { "inside" } else { "outside" },
            "execution": format!("ieee-any-order {}", self.network.precision),
            "numbers": answers.len(),
            "exact": points,
            "outside": wrong,
            "witnesses": witnesses.iter().map(|witness| self.to_document(witness)).collect::<Vec<_>>(),
        });
        Ok((wrong == 0, self.told(&witnesses, (wrong, points)), json))
    }

    /// The first number of each case and output that is not allowed.
    fn witnesses(&self, answers: &[f64]) -> Vec<Witness> {
        let [_, tokens, outputs] = self.shape();
        let mut witnesses: Vec<Witness> = Vec::new();
        for (case, rows) in self.allowed.iter().enumerate() {
            for output in 0..outputs {
                let found = |token: usize| answers[(case * tokens + token) * outputs + output];
                let mut wrong = (0..tokens).filter(|token| !rows[*token][output].contains(found(*token)));
                if let Some(token) = wrong.next() {
                    witnesses.push(Witness { case, token, output, count: 1 + wrong.count(), found: found(token) });
                }
            }
        }
        witnesses
    }

    fn to_document(&self, witness: &Witness) -> Value {
        let Witness { case, token, output, count, found } = witness;
        let allowed = self.allowed[*case][*token][*output];
        let found = if found.is_finite() { json!(found) } else { json!(found.to_string()) };
        json!({
            "case": self.cases[*case].name,
            "number": case,
            "finds": self.cases[*case].finds,
            "output": OUTPUTS[*output].0,
            "formula": OUTPUTS[*output].1,
            "token": token,
            "input": self.cases[*case].x,
            "found": found,
            "allowed": [allowed.lo(), allowed.hi()],
            "count": count,
        })
    }

    fn told(&self, witnesses: &[Witness], (wrong, points): (usize, usize)) -> String {
        let (precision, all) = (self.network.precision, self.shape().iter().product::<usize>());
        if witnesses.is_empty() {
            return format!(
                "inside of ieee-any-order {precision}, as far as {all} numbers tell: all are allowed, {points} of them to the last digit"
            );
        }
        let mut text = format!("outside of ieee-any-order {precision}: {wrong} of {all} numbers are not allowed\n");
        for witness in witnesses.iter().take(MOST) {
            let Witness { case, token, output, count, found } = witness;
            let (case, (name, formula)) = (&self.cases[*case], OUTPUTS[*output]);
            let x = case.x[*token].iter().zip(INPUTS).map(|(x, name)| format!("{name} = {}", shown(*x, precision)));
            let allowed = self.allowed[witness.case][*token][*output];
            let ends = if allowed.width() == 0.0 {
                shown(allowed.lo(), precision)
            } else {
                format!("{:e} to {:e}", allowed.lo(), allowed.hi())
            };
            let _ = writeln!(text, "\n{}: {name} = {formula}, token {token} ({count} of {})", case.name, case.x.len());
            let _ = writeln!(text, "  input    {}", x.collect::<Vec<_>>().join(", "));
            let _ = writeln!(text, "  output   {}", shown(*found, precision));
            let _ = writeln!(text, "  allowed  {ends}");
            let _ = writeln!(text, "  finds    {}", case.finds);
        }
        if witnesses.len() > MOST {
            let _ = writeln!(text, "\nand {} more; --json has all", witnesses.len() - MOST);
        }
        text
    }
}

/// A number as the format writes it, with all digits of a number that is none of the format.
#[expect(clippy::cast_possible_truncation, reason = "a number of the format")]
fn shown(x: f64, precision: Precision) -> String {
    if precision == Precision::F32 && precision.round(x).to_bits() == x.to_bits() {
        return format!("{:?}", x as f32);
    }
    format!("{x:?}")
}

/// A number of JSON, or a text for what is none.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Null => Some(f64::NAN),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "nan" => Some(f64::NAN),
            "inf" | "infinity" => Some(f64::INFINITY),
            "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}
