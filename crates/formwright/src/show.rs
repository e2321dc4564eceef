//! Numbers as people read them: terminals, pages and messages write them alike.

use serde_json::{Value, json};

use crate::exact::{Int, Rat, Sequence};
use crate::network::Precision;

/// A number, shortened to its leading digits where it is long.
pub fn short(value: &Rat) -> String {
    match value.to_int() {
        Some(integer) => short_int(&integer),
        None if value.denominator().bits() <= 20 && value.numerator().bits() <= 60 => value.to_string(),
        None => format!("≈ {:.6e}", value.to_f64()),
    }
}

/// An integer, shortened to its leading digits where it is long.
pub fn short_int(value: &Int) -> String {
    let text = value.to_string();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    if digits.len() <= 15 {
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or("")).collect();
        return format!("{sign}{}", if digits.len() > 4 { groups.join(",") } else { digits.to_owned() });
    }
    format!("{sign}{}.{}e{}", &digits[..1], &digits[1..5], digits.len() - 1)
}

/// A number of bytes.
pub fn kilobytes(bytes: &Int) -> String {
    let rounded = |unit: u64| (Rat::new(bytes.clone(), Int::from(unit)) + Rat::new(1, 2)).floor();
    let thousands = |unit: u64| match rounded(unit / 10).div_rem(&Int::from(10)) {
        (whole, tenth) if whole < Int::from(10) && tenth > Int::ZERO => format!("{whole}.{tenth}"),
        _ => short_int(&rounded(unit)),
    };
    match bytes.to_u64() {
        Some(0..1000) => format!("{bytes} bytes"),
        Some(1000..1_000_000) => format!("{} kB", thousands(1000)),
        Some(1_000_000..1_000_000_000) => format!("{} MB", thousands(1_000_000)),
        _ => format!("{} GB", thousands(1_000_000_000)),
    }
}

/// A sequence's numbers as they are shown.
pub fn shown(x: &Sequence) -> Vec<Vec<String>> {
    x.iter().map(|token| token.iter().map(short).collect()).collect()
}

impl Precision {
    /// A sequence's numbers as they are shown, of floats of this format.
    pub fn shown(self, x: &[Vec<f64>]) -> Vec<Vec<String>> {
        x.iter().map(|token| token.iter().map(|x| float(*x, self)).collect()).collect()
    }

    /// The same in six digits, of numbers that are not exact anyway, in any format.
    pub fn shown_rounded(x: &[Vec<f64>]) -> Vec<Vec<String>> {
        x.iter().map(|token| token.iter().map(|x| rounded(*x)).collect()).collect()
    }

    /// The same as JSON.
    pub fn to_json(self, x: &[Vec<f64>]) -> Value {
        x.iter().map(|token| token.iter().map(|x| json_float(*x, self)).collect::<Value>()).collect()
    }
}

/// A float in the fewest digits that give it back in its own format: of single precision 0.1, not 0.10000000149011612.
pub(crate) fn float(x: f64, precision: Precision) -> String {
    let plain = x.abs() < 1e15;
    match (precision, plain) {
        (Precision::F32, true) => format!("{}", single(x)),
        (Precision::F32, false) => format!("{:e}", single(x)),
        (Precision::F64, true) => format!("{x}"),
        (Precision::F64, false) => format!("{x:e}"),
    }
}

/// A float as a JSON number, in the fewest digits of its own format.
pub(crate) fn json_float(x: f64, precision: Precision) -> Value {
    match precision {
        Precision::F32 => json!(single(x)),
        Precision::F64 => json!(x),
    }
}

/// A number of single precision as what it is.
#[expect(clippy::cast_possible_truncation, reason = "values of single precision lose nothing")]
fn single(x: f64) -> f32 {
    x as f32
}

/// A number in six digits.
pub(crate) fn rounded(x: f64) -> String {
    match format!("{x:.5e}").parse::<f64>() {
        Ok(rounded) if rounded == 0.0 || (1e-4..1e7).contains(&rounded.abs()) => format!("{rounded}"),
        _ => format!("{x:.5e}"),
    }
}

/// A number in a few digits.
pub fn brief(x: f64) -> String {
    let short = format!("{}", (x * 1000.0).round() / 1000.0);
    if x.abs() >= 1e6 || (x != 0.0 && x.abs() < 1e-2) { format!("{x:.2e}") } else { short }
}

/// A count with what is counted.
pub fn plural(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}
