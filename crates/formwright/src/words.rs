//! What is told of a model, in words and numbers that people read: terminals and pages say the same.

use crate::bound::baseline::baseline;
use crate::bound::measured::Measured;
use crate::bound::norm::upward;
use crate::bound::{Baseline, Budget, Norm, Term};
use crate::compile::{Built, Certified, Check, Lowered, Model, Proof};
use crate::construct::yun::AsPrinted;
use crate::error::{Error, ErrorKind, Result};
use crate::exact::{Int, Rat};
use crate::network::{Precision, Realisation, Sequence, TokenNetwork};
use serde_json::{Value, json};

/// What a program that fails ends with: its exit code, and its JSON document.
pub fn failure(error: &Error) -> (u8, Value) {
    let (code, kind) = match error.kind() {
        ErrorKind::Rejected => (1, "rejected"),
        ErrorKind::Declined => (2, "declined"),
        ErrorKind::Input => (3, "error"),
    };
    let notes: Vec<Value> = error.notes().iter().map(|(label, text)| json!({"label": label, "text": text})).collect();
    (code, json!({"verdict": kind, "reason": error.headline(), "notes": notes}))
}

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

/// The same, of floats of a format.
pub fn shown_floats(x: &[Vec<f64>], precision: Precision) -> Vec<Vec<String>> {
    x.iter().map(|token| token.iter().map(|x| float(*x, precision)).collect()).collect()
}

/// A float in the fewest digits that give it back in its own format: of single precision 0.1, not 0.10000000149011612.
pub fn float(x: f64, precision: Precision) -> String {
    let plain = x.abs() < 1e15;
    match (precision, plain) {
        (Precision::F32, true) => format!("{}", single(x)),
        (Precision::F32, false) => format!("{:e}", single(x)),
        (Precision::F64, true) => format!("{x}"),
        (Precision::F64, false) => format!("{x:e}"),
    }
}

/// The same as a JSON number.
pub fn json_float(x: f64, precision: Precision) -> Value {
    match precision {
        Precision::F32 => json!(single(x)),
        Precision::F64 => json!(x),
    }
}

/// The same of a sequence.
pub fn json_floats(x: &[Vec<f64>], precision: Precision) -> Value {
    x.iter().map(|token| token.iter().map(|x| json_float(*x, precision)).collect::<Value>()).collect()
}

/// A number of single precision as what it is.
#[expect(clippy::cast_possible_truncation, reason = "values of single precision lose nothing")]
fn single(x: f64) -> f32 {
    x as f32
}

/// The same, in six digits: of numbers that are not exact anyway.
pub fn shown_rounded(x: &[Vec<f64>]) -> Vec<Vec<String>> {
    x.iter().map(|token| token.iter().map(|x| rounded(*x)).collect()).collect()
}

/// A number in six digits.
pub fn rounded(x: f64) -> String {
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

/// The target's name, and its text if that says more.
pub fn title(model: &Model) -> String {
    let name = &model.target.name;
    let text = model.source.text().filter(|text| text != name).map_or_else(String::new, |text| format!(": {text}"));
    format!("{name}{text}")
}

/// Which attention, where it is not softmax.
fn named(attention: Realisation) -> String {
    if attention.is_softmax() { String::new() } else { format!(", {attention} attention") }
}

/// What it is made by, and for what.
pub fn made(model: &Model) -> String {
    let grid = &model.grid;
    let by = match &model.built {
        Built::Lattice(lattice) => {
            let theorem = match (&lattice.options.sparse, lattice.options.positional) {
                (Some(sparse), _) => format!("sparse:{}", sparse.pattern().name()),
                (None, true) => "Theorem 3".to_owned(),
                (None, false) => "Theorem 2".to_owned(),
            };
            let printed: Vec<&str> = lattice.options.as_printed.iter().map(|step| AsPrinted::name(*step)).collect();
            let printed =
                if printed.is_empty() { String::new() } else { format!(", as printed: {}", printed.join(", ")) };
            let arithmetic = match &lattice.lowered {
                None => "exact".to_owned(),
                Some(Lowered { lowering, network }) => {
                    format!("{}, softmax at temperature 2^{}", network.precision, lowering.temperature)
                }
            };
            format!("yun ({theorem}{printed}), {arithmetic}")
        }
        Built::Circuit(circuit) => {
            let (trade, precision) = (circuit.wish.trade.name(), model.precision());
            let attention = named(circuit.wish.attention);
            match circuit.basis {
                Some(basis) => {
                    format!("sumformer (Theorem 4.1, --basis {basis} --trade {trade}), {precision}{attention}")
                }
                None => format!("circuit (--trade {trade}), {precision}{attention}"),
            }
        }
        Built::SumCode(coded) => {
            let attention = named(coded.options.attention);
            let (name, values, precision) = (coded.name(), coded.options.values, model.precision());
            format!("{name} ({}; values {values}), {precision}{attention}", coded.code)
        }
        Built::Learned(learned) => {
            let theorem = learned.attention.kind.theorem();
            format!(
                "training, as a Sumformer of latent dimension {} ({theorem}), {}, {} attention",
                learned.sumformer.latent(),
                model.precision(),
                learned.attention
            )
        }
    };
    let shape = format!("{} of {}", plural(grid.tokens(), "token"), plural(grid.dims(), "coordinate"));
    let place = match model.built {
        Built::Lattice(_) | Built::SumCode(_) => {
            format!("{} cells a side on [{}, {})", grid.resolution(), grid.low(), grid.high())
        }
        Built::Circuit(_) | Built::Learned(_) => format!("on {}", model.domain_name()),
    };
    format!("by {by}, for {shape}, {place}")
}

/// Of a Sumformer: its latent dimension with its `φ`, and its `ψ`.
pub fn normal_form(model: &Model) -> Option<[String; 2]> {
    if let Some(learned) = model.learned() {
        let layers =
            |network: &TokenNetwork| network.sizes().iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ");
        let (phi, psi) = (learned.sumformer.phi(), learned.sumformer.psi());
        return Some([
            format!("φ: {}, trained; {} weights", layers(phi), phi.parameters()),
            format!("ψ: {}, trained; {} weights", layers(psi), psi.parameters()),
        ]);
    }
    let form = model.circuit()?.proof()?.form.as_ref()?;
    let (latent, theorem) = (form.phi.len(), &form.theorem);
    let phi = if form.phi.is_empty() { "nothing".to_owned() } else { form.phi.join(", ") };
    Some([
        format!("φ = {phi}: latent dimension {latent}, where the theorem takes C(n+d, d) - 1 = {theorem}"),
        format!("ψ = {}", form.psi_text()),
    ])
}

/// Counts on one line.
pub fn size_line(model: &Model) -> String {
    let size = model.size();
    let layers = |count: &Int, one: &str, shape: String| {
        let plural = if *count == Int::ONE { "" } else { "s" };
        let shape = if *count == Int::ZERO { String::new() } else { format!(" ({shape})") };
        format!("{} {one}{plural}{shape}", short_int(count))
    };
    let connections = size.connections.map_or(String::new(), |count| format!(", {}", plural(count, "connection")));
    let ends = match (model.id_bits(), model.coordinates().len()) {
        (Some(bits), _) => format!("ids of {bits} bits"),
        (None, width) => format!("width {width}"),
    };
    format!(
        "{} block{}: {}, {}; {} parameters; {ends}",
        short_int(&size.blocks),
        if size.blocks == Int::ONE { "" } else { "s" },
        layers(
            &size.attention_layers,
            "attention layer",
            format!("{}, size {}{connections}", plural(size.heads, "head"), size.head_size)
        ),
        layers(&size.feed_forward_layers, "feed-forward layer", format!("hidden {}", size.hidden)),
        short_int(&size.parameters),
    )
}

/// What is claimed, or is to be read beside a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// A badge, `baseline`, `assuming`, `checked`; `no claim` if there is none.
    pub label: &'static str,
    /// What is so.
    pub text: String,
}

impl Line {
    fn new(label: &'static str, text: impl Into<String>) -> Self {
        Self { label, text: text.into() }
    }
}

/// The claims with their badges, and what they are to be read beside.
pub fn claims(model: &Model) -> Result<Vec<Line>> {
    let Some(domain) = model.claim() else {
        let why = if model.is_edited() {
            "these stages are not the ones that the construction builds"
        } else if model.float().is_some() {
            "the proofs for floats need every step repaired and a derived temperature"
        } else {
            "the values reach into the windows, and as printed nothing keeps them out (see formwright theorems lemma7)"
        };
        return Ok(vec![Line::new("no claim", why)]);
    };
    if model.learned().is_some() {
        return learned_claims(model, domain);
    }
    let badge = model.badge();
    let mut lines = vec![match (&model.built, model.float()) {
        (Built::Circuit(circuit), _) => {
            let how = |proof: &Proof| format!("; {}{}", proof.sup.method.name(), terms(&proof.sup));
            Line::new(badge, format!("{domain}{}", circuit.proof().map(how).unwrap_or_default()))
        }
        (_, None) => Line::new("exact-on-grid", format!("equal to the target at {domain}")),
        (_, Some(_)) => Line::new("certified", format!("on the grid, at {domain}")),
    }];
    let mut assumptions = model.assumptions.clone();
    if let Some(Certified { budget, baseline }) = model.certified()? {
        let bound = format!("{} error on {} at most {}", budget.norm, model.domain_name(), upward(budget.bound, 4));
        match (&model.built, &budget.norm) {
            // That is what the claim says.
            (Built::Circuit(_), Norm::Sup) => {}
            (Built::Circuit(_), Norm::Lp(_)) => lines.push(Line::new(badge, bound)),
            _ => {
                lines.push(Line::new(badge, format!("{bound}, {}{}", budget.method.name(), terms(budget))));
            }
        }
        lines.extend(model.measured()?.map(|measured| Line::new("measured", found(measured))));
        lines.extend(model.too_long_to_measure().map(|work| {
            let (work, tokens) = (short_int(&Int::from(work)), model.grid.tokens());
            Line::new("measured", format!("not at all: a run on {tokens} tokens takes about {work} operations"))
        }));
        lines.extend(baseline.map(|baseline| Line::new("baseline", best_constant(&baseline, &budget.norm))));
        assumptions.extend(budget.assumptions.iter().cloned());
    }
    lines.extend(assumptions.into_iter().map(|text| Line::new("assuming", format!("that {text}"))));
    let check = model.check();
    if check != Check::NotRun {
        let why = check.reason().map_or_else(String::new, |reason| format!(" ({reason})"));
        let when = format!("{} when it was built{why}; again: formwright check DIR", check.name());
        lines.push(Line::new("checked", when));
    }
    Ok(lines)
}

/// What is measured of a trained Sumformer, beside what is proved of its rounding.
fn learned_claims(model: &Model, rounding: String) -> Result<Vec<Line>> {
    let measured = [model.measured()?, model.measured_mean()?].into_iter().flatten();
    let mut lines: Vec<Line> = measured.map(|measured| Line::new(model.badge(), found(measured))).collect();
    lines.push(Line::new("certified", rounding));
    let baseline = baseline(&model.target, &model.grid, &Norm::Sup);
    lines.extend(baseline.map(|baseline| Line::new("baseline", best_constant(&baseline, &Norm::Sup))));
    Ok(lines)
}

/// The most terms that are told.
const MOST_TERMS: usize = 5;

/// The terms of a bound in brackets, the largest if there are many.
fn terms(budget: &Budget) -> String {
    let mut terms: Vec<&Term> = budget.terms.iter().collect();
    if terms.is_empty() {
        return String::new();
    }
    let left_out = terms.len().saturating_sub(MOST_TERMS);
    if left_out > 0 {
        terms.sort_by(|a, b| b.bound.total_cmp(&a.bound));
        terms.truncate(MOST_TERMS);
    }
    let mut told: Vec<String> = terms.iter().map(|term| format!("{} {}", term.name, upward(term.bound, 3))).collect();
    if left_out > 0 {
        told.push(format!("{left_out} smaller ones"));
    }
    format!(" ({})", told.join(", "))
}

/// The error of the best constant: in an integral an estimate, as a supremum what was found.
pub fn best_constant(baseline: &Baseline, norm: &Norm) -> String {
    let Baseline { best_constant, within } = baseline;
    match norm {
        Norm::Sup => format!("the best constant is off by at least {best_constant:.3e}"),
        Norm::Lp(_) => format!("the best constant is off by about {best_constant:.3e} (± {within:.1e})"),
    }
}

/// What was measured.
fn found(measured: &Measured) -> String {
    let Measured { norm, points, seed, value, confidence, exhaustive, .. } = measured;
    match confidence {
        _ if *exhaustive && *value == 0.0 => format!("{norm} error 0 (all {points} points)"),
        _ if *exhaustive => format!("{norm} error {value:.4e} (all {points} points)"),
        Some((low, high)) => format!(
            "{norm} error about {value:.4e} (95 %: {low:.4e} to {high:.4e}; {points} quasi-random points, seed {seed})"
        ),
        None => format!("{norm} error at least {value:.4e} (found by ascent; {points} points, seed {seed})"),
    }
}
