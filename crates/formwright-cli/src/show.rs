//! Tables and lines for people.

use std::path::Path;
use std::time::Duration;

use comfy_table::{Table, presets};
use formwright::bound::measured::Measured;
use formwright::bound::norm::upward;
use formwright::bound::{Baseline, Budget, Norm, Term};
use formwright::compile::{Built, Certified, Check, Circuit, Lowered, Model, Proof};
use formwright::construct::sumformer::continuous::Continuous;
use formwright::construct::yun::AsPrinted;
use formwright::error::Result;
use formwright::exact::{Int, Rat};
use formwright::network::{Realisation, Sequence};
use indicatif::ProgressBar;
use serde_json::{Value, json};

/// How many tokens an example shows.
const MOST_TOKENS: usize = 6;

/// Shows on a terminal that something is going on, until the returned guard is dropped; elsewhere it is silent.
pub fn working(message: &'static str) -> Working {
    let bar = ProgressBar::new_spinner().with_message(message);
    bar.enable_steady_tick(Duration::from_millis(100));
    Working(bar)
}

/// See [`working`].
pub struct Working(ProgressBar);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A table without frames: a header, a rule, rows.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    table
}

/// Trailing spaces are of no use to anybody.
pub fn lines(table: &Table) -> String {
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
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

/// A token's entries, in brackets if there are several.
fn token(entries: &[String]) -> String {
    if entries.len() == 1 { entries.concat() } else { format!("({})", entries.join(", ")) }
}

/// A sequence's numbers as they are shown.
pub fn shown(x: &Sequence) -> Vec<Vec<String>> {
    x.iter().map(|token| token.iter().map(short).collect()).collect()
}

/// The same, of floats.
pub fn shown_floats(x: &[Vec<f64>]) -> Vec<Vec<String>> {
    let entry = |x: &f64| if x.abs() < 1e15 { format!("{x}") } else { format!("{x:e}") };
    x.iter().map(|token| token.iter().map(entry).collect()).collect()
}

/// The same, in six digits: of numbers that are not exact anyway.
pub fn shown_rounded(x: &[Vec<f64>]) -> Vec<Vec<String>> {
    let entry = |x: &f64| match format!("{x:.5e}").parse::<f64>() {
        Ok(rounded) if rounded == 0.0 || (1e-4..1e7).contains(&rounded.abs()) => format!("{rounded}"),
        _ => format!("{x:.5e}"),
    };
    x.iter().map(|token| token.iter().map(entry).collect()).collect()
}

/// A sequence on one line.
pub fn sequence(x: &[Vec<String>]) -> String {
    let tokens: Vec<String> = x.iter().map(|t| token(t)).collect();
    format!("[{}]", tokens.join(", "))
}

fn plural(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// What is built, in two lines.
pub fn header(model: &Model) -> String {
    let name = &model.target.name;
    let text = model.source.text().filter(|text| text != name).map_or_else(String::new, |text| format!(": {text}"));
    let grid = &model.grid;
    let by = match &model.built {
        Built::Lattice(lattice) => {
            let theorem = if lattice.options.positional { "Theorem 3" } else { "Theorem 2" };
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
            let attention = match circuit.wish.attention {
                Realisation::Softmax => String::new(),
                attention => format!(", {attention} attention"),
            };
            match circuit.basis {
                Some(basis) => {
                    format!("sumformer (Theorem 4.1, --basis {basis} --trade {trade}), {precision}{attention}")
                }
                None => format!("circuit (--trade {trade}), {precision}{attention}"),
            }
        }
        Built::SumCode(coded) => {
            format!("{} ({}; values {}), {}", coded.name(), coded.code, coded.options.values, model.precision())
        }
    };
    let shape = format!("{} of {}", plural(grid.tokens(), "token"), plural(grid.dims(), "coordinate"));
    let place = match model.built {
        Built::Lattice(_) | Built::SumCode(_) => {
            format!("{} cells a side on [{}, {})", grid.resolution(), grid.low(), grid.high())
        }
        Built::Circuit(_) => format!("on {}", model.domain_name()),
    };
    let form = model.circuit().and_then(Circuit::proof).and_then(|proof| proof.form.as_ref());
    format!("{name}{text}\nby {by}, for {shape}, {place}{}", form.map(normal_form).unwrap_or_default())
}

/// The latent dimension of a Sumformer, its φ and its ψ.
fn normal_form(form: &Continuous) -> String {
    let (latent, theorem) = (form.phi.len(), &form.theorem);
    let phi = if form.phi.is_empty() { "nothing".to_owned() } else { form.phi.join(", ") };
    let text = format!("φ = {phi}: latent dimension {latent}, where the theorem takes C(n+d, d) - 1 = {theorem}");
    format!("\n{}\n{}", wrap(&text, ""), wrap(&format!("ψ = {}", form.psi_text()), ""))
}

/// The first gates of a circuit, in the order of execution.
pub fn gate_table(circuit: &Circuit, most: usize) -> String {
    let Some(Proof { gates, .. }) = circuit.proof() else {
        return "no gates are shown: these weights are not the ones that are compiled".to_owned();
    };
    if gates.is_empty() {
        return "no gates: every output is an affine function of its token".to_owned();
    }
    let mut table = table(&["gate", "formula", "kind", "block", "units", "heads", "range", "share"]);
    let count = |count: usize| if count == 0 { String::new() } else { count.to_string() };
    for gate in gates.iter().take(most) {
        let (low, high) = gate.range;
        let share = if gate.share == 0.0 { "0".to_owned() } else { upward(gate.share, 1) };
        table.add_row([
            gate.name.clone(),
            gate.formula.clone(),
            gate.kind.to_owned(),
            gate.block.to_string(),
            count(gate.units),
            count(gate.heads),
            format!("[{}, {}]", brief(low), brief(high)),
            share,
        ]);
    }
    for column in 3..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
    let left_out = gates.len().saturating_sub(most);
    let more = if left_out == 0 { String::new() } else { format!("\n … and {}", plural(left_out, "more gate")) };
    format!("{}{more}", lines(&table))
}

/// A number in a few digits, for people.
fn brief(x: f64) -> String {
    let short = format!("{}", (x * 1000.0).round() / 1000.0);
    if x.abs() >= 1e6 || (x != 0.0 && x.abs() < 1e-2) { format!("{x:.2e}") } else { short }
}

/// Stages, their layers and what they do.
pub fn stage_table(model: &Model) -> String {
    let mut table = table(&["stage", "statement", "layers", "kind", "what it does"]);
    for stage in model.stages() {
        let layers = short_int(&stage.layers);
        table.add_row([&stage.name, &stage.statement, &layers, stage.kind.name(), &stage.meaning]);
    }
    if let Some(column) = table.column_mut(2) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    lines(&table)
}

/// Counts on one line.
pub fn size_line(model: &Model) -> String {
    let size = model.size();
    let layers = |count: &Int, one: &str, shape: String| {
        let plural = if *count == Int::ONE { "" } else { "s" };
        let shape = if *count == Int::ZERO { String::new() } else { format!(" ({shape})") };
        format!("{} {one}{plural}{shape}", short_int(count))
    };
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
            format!("{}, size {}", plural(size.heads, "head"), size.head_size)
        ),
        layers(&size.feed_forward_layers, "feed-forward layer", format!("hidden {}", size.hidden)),
        short_int(&size.parameters),
    )
}

/// A state of a run: a name, the numbers `[token][coordinate]`, a remark.
pub type Row = (String, Vec<Vec<String>>, String);

/// The states of a run, a row each and a column a token.
pub fn example_table(rows: &[Row]) -> String {
    let tokens = rows.first().map_or(0, |(_, tokens, _)| tokens.len());
    let shown = tokens.min(MOST_TOKENS);
    let more = if tokens > shown { format!("… and {} more", tokens - shown) } else { String::new() };
    let names: Vec<String> = (0..shown).map(|j| format!("token {j}")).collect();
    let header: Vec<&str> = std::iter::once("after")
        .chain(names.iter().map(String::as_str))
        .chain(std::iter::once(more.as_str()))
        .collect();
    let mut table = table(&header);
    for (name, state, remark) in rows {
        let cells = state.iter().take(shown).map(|t| token(t));
        table.add_row(std::iter::once(name.clone()).chain(cells).chain(std::iter::once(remark.clone())));
    }
    lines(&table)
}

/// The claim with its badge, and what it is to be read beside.
pub fn badge(model: &Model) -> Result<String> {
    let Some(domain) = model.claim() else {
        return Ok(if model.is_edited() {
            "no claim: these stages are not the ones that the construction builds".to_owned()
        } else if model.float().is_some() {
            "no claim: the proofs for floats need every step repaired and a derived temperature".to_owned()
        } else {
            "no claim: the values reach into the windows, and as printed nothing keeps them out (see formwright theorems lemma7)"
                .to_owned()
        });
    };
    let mut lines = vec![match (&model.built, model.float()) {
        (Built::Circuit(circuit), _) => {
            let how = |proof: &Proof| format!("; {}{}", proof.sup.method.name(), terms(&proof.sup));
            format!("{}: {domain}{}", model.badge(), circuit.proof().map(how).unwrap_or_default())
        }
        (Built::Lattice(_) | Built::SumCode(_), None) => format!("exact-on-grid: equal to the target at {domain}"),
        (Built::Lattice(_) | Built::SumCode(_), Some(_)) => format!("certified: on the grid, at {domain}"),
    }];
    let mut assumptions = model.assumptions.clone();
    if let Some(Certified { budget, baseline }) = model.certified()? {
        let badge = model.badge();
        let bound =
            format!("{badge}: {} error on {} at most {}", budget.norm, model.domain_name(), upward(budget.bound, 4));
        match (&model.built, &budget.norm) {
            // That is what the claim says.
            (Built::Circuit(_), Norm::Sup) => {}
            (Built::Circuit(_), Norm::Lp(_)) => lines.push(bound),
            (Built::Lattice(_) | Built::SumCode(_), _) => {
                lines.push(format!("{bound}, {}{}", budget.method.name(), terms(budget)));
            }
        }
        if let Some(measured) = model.measured()? {
            lines.push(found(measured));
        }
        if let Some(baseline) = baseline {
            lines.push(format!("baseline: {}", best_constant(baseline, &budget.norm)));
        }
        assumptions.extend(budget.assumptions.iter().cloned());
    }
    lines.extend(assumptions.iter().map(|text| format!("assuming that {text}")));
    if model.check() != Check::NotRun {
        lines.push(format!("checked: {} when it was built; again: formwright check DIR", model.check().name()));
    }
    Ok(lines.join("\n"))
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
        _ if *exhaustive => format!("measured: {norm} error {value:.4e} (all {points} points)"),
        Some((low, high)) => format!(
            "measured: {norm} error about {value:.4e} (95 %: {low:.4e} to {high:.4e}; {points} quasi-random points, seed {seed})"
        ),
        None => format!("measured: {norm} error at least {value:.4e} (found by ascent; {points} points, seed {seed})"),
    }
}

/// The JSON of `build` and `inspect`: where the model lies, and its summary.
pub fn document(model: &Model, dir: Option<&Path>) -> Result<Value> {
    let mut document = json!({"dir": dir.map(|dir| dir.display().to_string())});
    if let (Some(document), Value::Object(summary)) = (document.as_object_mut(), model.summary()?) {
        document.extend(summary);
    }
    Ok(document)
}

/// Breaks a text into lines of at most a hundred characters.
pub fn wrap(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().filter(|line| line.chars().count() + word.chars().count() < 100);
        match last {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}
