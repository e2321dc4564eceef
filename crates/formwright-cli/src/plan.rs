//! `formwright plan`.

use std::fmt::Write as _;

use clap::Args;
use formwright::bound::norm::upward;
use formwright::error::Result;
use formwright::option::Front;
use formwright::plan::{Candidate, Cells, LeftOut, Plan as Sketches, Rows, Sketch, sized_up};
use formwright::show::{kilobytes, short_int};

use crate::Answer;
use crate::build::Wish;
use crate::show::{lines, table, working};

#[derive(Args)]
pub struct Plan {
    #[command(flatten)]
    wish: Wish,
    /// Look at every construction, also where it cannot be the smallest that serves: finding its grid may take minutes.
    #[arg(long)]
    all: bool,
}

impl Plan {
    pub fn execute(&self) -> Result<Answer> {
        let request = self.wish.planned()?;
        let working = working("sizing up constructions; finer grids until the tolerance is met");
        let rows = if self.all { Rows::All } else { Rows::Needed };
        // Each row is shown as soon as it is known, if somebody waits; the answer has them all, sorted.
        let plan = sized_up(&request, rows, &mut |candidate| working.say(&at_once(candidate)))?;
        drop(working);
        Ok(Answer { text: tell(&plan), json: plan.to_json() })
    }
}

/// A row in one line, shown as soon as it is known.
fn at_once(candidate: &Candidate) -> String {
    let name = candidate.name();
    match (&candidate.outcome, candidate.reason()) {
        (Ok(sketch), None) => format!("{name}: {}, {}", weighs(candidate, sketch), upward(sketch.budget.bound, 3)),
        (_, reason) => Front::CommandLine.shows(&format!("{name}: {}", reason.map_or("", |reason| reason.headline()))),
    }
}

fn weighs(candidate: &Candidate, sketch: &Sketch) -> String {
    let bytes = candidate.bytes().map_or_else(String::new, |bytes| format!(", {}", kilobytes(&bytes)));
    format!("{} parameters{bytes}", short_int(&sketch.size.parameters))
}

fn tell(plan: &Sketches) -> String {
    let mut rows = table(&[
        "construction",
        "precision",
        "N",
        "blocks",
        "parameters",
        "bytes",
        "id bits",
        "certified",
        "per number",
        "meets",
    ]);
    // A reason that refuses several rows is given once.
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    let mut tell = |name: String, reason: String| match reasons.iter_mut().find(|(told, _)| *told == reason) {
        Some((_, names)) => names.push(name),
        None => reasons.push((reason, vec![name])),
    };
    for candidate in &plan.candidates {
        match &candidate.outcome {
            Ok(sketch) => {
                let of_cells = |tell: fn(&Cells) -> String| sketch.cells().map_or_else(String::new, tell);
                rows.add_row([
                    candidate.way.construction().as_str(),
                    candidate.way.precision(),
                    &of_cells(|cells| cells.resolution.to_string()),
                    &short_int(&sketch.size.blocks),
                    &short_int(&sketch.size.parameters),
                    &candidate.bytes().map_or_else(String::new, |bytes| short_int(&bytes)),
                    &of_cells(|cells| cells.id_bits.to_string()),
                    &upward(sketch.budget.bound, 3),
                    &sketch.ratio().map_or_else(String::new, |ratio| format!("{ratio:.1}")),
                    if sketch.why_not.is_none() { "yes" } else { "no" },
                ]);
                if let Some(reason) = &sketch.why_not {
                    tell(candidate.name(), reason.written());
                }
            }
            Err(error) => {
                let way = &candidate.way;
                rows.add_row([way.construction().as_str(), way.precision(), "", "", "", "", "", "", "", "no"]);
                tell(candidate.name(), error.written());
            }
        }
    }
    let asked = plan.eps.as_ref().map_or_else(|| "no tolerance,".to_owned(), |eps| format!("tolerance {eps}"));
    let mut text = format!("{asked} in {}\n\n{}\n", plan.norm, lines(&rows));
    text.push_str(&hosts(plan));
    if let Some(baseline) = plan.baseline_in_words() {
        let _ = writeln!(text, "\n{baseline}");
    }
    let none_serves = plan.chosen().is_none();
    for candidate in plan.candidates.iter().filter(|candidate| none_serves || candidate.serves()) {
        if let Some(cells) = candidate.outcome.as_ref().ok().and_then(Sketch::cells) {
            let _ = writeln!(
                text,
                "{}: any approximation by these cells remembers {} numbers, a residual network about {}",
                candidate.name(),
                short_int(&cells.to_remember),
                short_int(&cells.residual_network)
            );
        }
    }
    let mut assumed: Vec<&String> =
        plan.candidates.iter().filter_map(|c| c.outcome.as_ref().ok()).flat_map(|s| &s.assumptions).collect();
    assumed.dedup();
    for assumption in assumed {
        let _ = writeln!(text, "assuming that {assumption}");
    }
    for (reason, names) in reasons {
        let _ = writeln!(text, "\n{}: {reason}", together(plan, &names));
    }
    text.push_str(&not_looked_at(plan));
    match plan.chosen() {
        Some(candidate) => {
            let why = "of those that serve, the fewest bytes; exact numbers where no float serves";
            let _ = writeln!(text, "\nbuild would take {}: {why}", candidate.name());
            if let Some(other) = plan.other() {
                let size = format!("{} parameters, {}", short_int(&other.parameters), kilobytes(&other.bytes));
                let _ =
                    writeln!(text, "in {} it would have {size} ({})", other.way.precision(), other.way.construction());
            }
        }
        None => text.push_str("\nno construction serves this request\n"),
    }
    text
}

/// The network by itself, in every class.
fn hosts(plan: &Sketches) -> String {
    let Some(candidate) = &plan.by_itself else { return String::new() };
    let mut rows = table(&["host", "certified", "host term", "why not"]);
    for (name, found) in &plan.hosts {
        let row = match found {
            Ok((bound, term)) => [upward(*bound, 3), upward(*term, 2), String::new()],
            Err(error) => [String::new(), String::new(), Front::CommandLine.shows(error.headline())],
        };
        rows.add_row([[(*name).to_owned()].as_slice(), row.as_slice()].concat());
    }
    format!("\n{} without a host, put into each class:\n\n{}\n", candidate.name(), lines(&rows))
}

/// The rows that were left out, and why: rows with one reason together.
fn not_looked_at(plan: &Sketches) -> String {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for LeftOut { way, reason } in &plan.left_out {
        match reasons.iter_mut().find(|(told, _)| told == reason.headline()) {
            Some((_, names)) => names.push(way.name()),
            None => reasons.push((reason.headline().to_owned(), vec![way.name()])),
        }
    }
    let Some(first) = plan.chosen().filter(|_| !reasons.is_empty()) else { return String::new() };
    let mut text = format!("\nleft out, since they cannot come before {} (--all looks at them):\n", first.name());
    for (reason, names) in reasons {
        let _ = writeln!(text, "  {}: {reason}", names.join("; "));
    }
    text
}

/// The names of candidates. If they are a whole family, or the whole plan, it is named instead.
fn together(plan: &Sketches, names: &[String]) -> String {
    if names.len() == plan.candidates.len() && plan.left_out.is_empty() {
        return "all of them".to_owned();
    }
    let mut left: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut told: Vec<String> = Vec::new();
    for family in in_the_order_of_turns(plan) {
        let all: Vec<String> =
            plan.candidates.iter().filter(|c| c.way.family() == family).map(Candidate::name).collect();
        let whole = plan.left_out.iter().all(|row| row.way.family() != family);
        if whole && all.len() > 1 && all.iter().all(|name| names.contains(name)) {
            left.retain(|name| !all.iter().any(|other| other == name));
            told.push(format!("every {family}"));
        }
    }
    told.extend(left.into_iter().map(str::to_owned));
    told.join("; ")
}

/// The families of a plan, as they were looked at.
fn in_the_order_of_turns(plan: &Sketches) -> Vec<&'static str> {
    let mut families: Vec<(usize, &'static str)> = plan.turns.clone();
    families.sort_unstable_by_key(|(turn, _)| *turn);
    families.into_iter().map(|(_, family)| family).collect()
}
