//! Tables and lines for people.

use std::cell::Cell;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use comfy_table::{Table, presets};
use formwright::bound::norm::upward;
use formwright::compile::Model;
use formwright::construct::circuit::built::Circuit;
use formwright::error::Result;
use formwright::show::{brief, plural, short_int};
use indicatif::{ProgressBar, ProgressDrawTarget};
use serde_json::{Value, json};

/// The most tokens that an example shows.
const MOST_TOKENS: usize = 6;

/// Shows that work is going on, until the returned guard is dropped: a spinner on a terminal; elsewhere a line with the
/// seconds that have passed, after two seconds and whenever they have doubled, so that a log stays short.
pub fn working(message: &'static str) -> Working {
    let bar = ProgressBar::new_spinner().with_message(message);
    if QUIET.load(Ordering::Relaxed) {
        bar.set_draw_target(ProgressDrawTarget::hidden());
        return Working { bar, done: None };
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    let done = bar.is_hidden().then(|| tell_time(message, FIRST, io::stderr()));
    Working { bar, done }
}

/// Work of several parts, which are counted: on a terminal a line; elsewhere a line whenever the seconds that have
/// passed since the first word have doubled.
pub fn counted(message: &'static str) -> Counted {
    let bar = ProgressBar::new_spinner().with_message(message);
    if QUIET.load(Ordering::Relaxed) {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    } else {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    Counted { message, bar, started: Instant::now(), next: Cell::new(FIRST) }
}

/// See [`counted`].
pub struct Counted {
    message: &'static str,
    bar: ProgressBar,
    started: Instant,
    /// The time at which the next line is due.
    next: Cell<Duration>,
}

impl Counted {
    /// Tells the part that is being worked on, and how many are done of how many.
    pub fn tell(&self, done: usize, all: usize, name: &str) {
        let line = format!("{}: {done} of {all}, {name}", self.message);
        let passed = self.started.elapsed();
        if !self.bar.is_hidden() {
            self.bar.set_message(line);
        } else if !QUIET.load(Ordering::Relaxed) && passed >= self.next.get() {
            self.next.set(2 * passed);
            // Nothing depends on whether it can be shown.
            drop(writeln!(io::stderr(), "{line}: {} s", passed.as_secs()));
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// No progress is shown from now on.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Set once, by the arguments of the process.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Tells the seconds until the returned end is dropped.
fn tell_time(message: &'static str, first: Duration, mut out: impl Write + Send + 'static) -> Sender<()> {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        let mut pause = first;
        let mut passed = Duration::ZERO;
        while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            passed += pause;
            pause = passed;
            // Nothing depends on whether it can be shown.
            drop(out.write_all(format!("{message}: {} s\n", passed.as_secs()).as_bytes()));
        }
    });
    done
}

/// Work that takes less than this needs no word.
const FIRST: Duration = Duration::from_secs(2);

/// See [`working`].
pub struct Working {
    bar: ProgressBar,
    /// Ends the lines that tell the time.
    done: Option<Sender<()>>,
}

impl Working {
    /// Prints a line above the spinner.
    pub fn say(&self, line: &str) {
        self.bar.println(line);
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.done.take();
        self.bar.finish_and_clear();
    }
}

/// A table without frames: a header, a rule, rows.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    table
}

/// The lines of a table, without trailing spaces.
pub fn lines(table: &Table) -> String {
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// A token's entries, in brackets if there are several.
fn token(entries: &[String]) -> String {
    if entries.len() == 1 { entries.concat() } else { format!("({})", entries.join(", ")) }
}

/// A sequence on one line.
pub fn sequence(x: &[Vec<String>]) -> String {
    let tokens: Vec<String> = x.iter().map(|t| token(t)).collect();
    format!("[{}]", tokens.join(", "))
}

/// The construction in two lines; for a Sumformer its normal form as well.
pub fn header(model: &Model) -> String {
    let form = model.normal_form().into_iter().flatten().map(|line| format!("\n{}", wrap(&line, "")));
    format!("{}\n{}{}", model.title(), model.made(), form.collect::<String>())
}

/// The claim with its badge, and remarks on how to read it.
pub fn badge(model: &Model) -> Result<String> {
    let line = |(label, text): &(&str, String)| match *label {
        "assuming" => format!("{label} {text}"),
        label => format!("{label}: {text}"),
    };
    Ok(model.claims()?.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// The first gates of a circuit, in the order of execution.
pub fn gate_table(circuit: &Circuit, most: usize) -> String {
    let Some(gates) = circuit.gates() else {
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

/// The stages, with their layers and effects.
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

/// A state of a run: a name, the numbers `[token][coordinate]`, a remark.
pub type Row = (String, Vec<Vec<String>>, String);

/// The states of a run: a row per state, a column per token.
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

/// The JSON of `build` and `inspect`: the model's folder and its summary.
pub fn document(model: &Model, dir: Option<&Path>) -> Result<Value> {
    let mut document = json!({"dir": dir.map(|dir| dir.display().to_string())});
    if let (Some(document), Value::Object(summary)) = (document.as_object_mut(), model.summary()?) {
        document.extend(summary);
        document.extend(model.host_to_json().map(|host| ("host".to_owned(), host)));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands over what is written.
    struct Told(Sender<Vec<u8>>);

    impl Write for Told {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn time_is_told_until_the_work_is_done() {
        let (sender, told) = mpsc::channel();
        let done = tell_time("compiling", Duration::from_millis(1), Told(sender));
        assert_eq!(told.recv().as_deref(), Ok(&b"compiling: 0 s\n"[..]));
        drop(done);
        // The writer is gone: what it still had to tell has an end.
        assert!(told.iter().count() < 100);
    }
}
