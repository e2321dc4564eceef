//! Tables and lines for people.

use std::path::Path;
use std::time::Duration;

use comfy_table::{Table, presets};
use formwright::bound::norm::upward;
use formwright::compile::{Certified, Lowered, Model};
use formwright::construct::yun::AsPrinted;
use formwright::error::Result;
use formwright::exact::{Int, Rat};
use formwright::network::Sequence;
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
    let theorem = if model.options.positional { "Theorem 3" } else { "Theorem 2" };
    let printed: Vec<&str> = model.options.as_printed.iter().map(|step| AsPrinted::name(*step)).collect();
    let printed = if printed.is_empty() { String::new() } else { format!(", as printed: {}", printed.join(", ")) };
    let grid = &model.grid;
    let arithmetic = match &model.lowered {
        None => "exact".to_owned(),
        Some(Lowered { lowering, network }) => {
            format!("{}, softmax at temperature 2^{}", network.precision, lowering.temperature)
        }
    };
    format!(
        "{name}{text}\nby yun ({theorem}{printed}), {arithmetic}, for {} of {}, {} cells a side on [{}, {})",
        plural(grid.tokens(), "token"),
        plural(grid.dims(), "coordinate"),
        grid.resolution(),
        grid.low(),
        grid.high()
    )
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
    format!(
        "{} blocks: {} attention layers ({}, size {}), {} feed-forward layers (hidden {}); {} parameters; ids of {} bits",
        short_int(&size.blocks),
        short_int(&size.attention_layers),
        plural(size.heads, "head"),
        size.head_size,
        short_int(&size.feed_forward_layers),
        size.hidden,
        short_int(&size.parameters),
        model.id_bits()
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
        } else if model.lowered.is_some() {
            "no claim: the proofs for floats need every step repaired and a derived temperature".to_owned()
        } else {
            "no claim: the values reach into the windows, and as printed nothing keeps them out (see formwright theorems lemma7)"
                .to_owned()
        });
    };
    let mut lines = vec![match &model.lowered {
        None => format!("exact-on-grid: equal to the target at {domain}"),
        Some(_) => format!("certified: on the grid, at {domain}"),
    }];
    let mut assumptions = model.assumptions.clone();
    if let Some(Certified { budget, baseline }) = model.certified()? {
        let terms: Vec<String> =
            budget.terms.iter().map(|term| format!("{} {}", term.name, upward(term.bound, 3))).collect();
        lines.push(format!(
            "certified: {} error on {} at most {}, {} ({})",
            budget.norm,
            model.domain_name(),
            upward(budget.bound, 4),
            budget.method.name(),
            terms.join(", ")
        ));
        if let Some(measured) = model.measured()? {
            lines.push(format!(
                "measured: {} error about {:.4e} (95 %: {:.4e} to {:.4e}; {} quasi-random points, seed {})",
                measured.norm,
                measured.value,
                measured.confidence.0,
                measured.confidence.1,
                measured.points,
                measured.seed
            ));
        }
        if let Some(baseline) = baseline {
            lines.push(format!(
                "baseline: the best constant is off by about {:.4e} (± {:.1e})",
                baseline.best_constant, baseline.within
            ));
        }
        assumptions.extend(budget.assumptions.iter().cloned());
    }
    lines.extend(assumptions.iter().map(|text| format!("assuming that {text}")));
    Ok(lines.join("\n"))
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
