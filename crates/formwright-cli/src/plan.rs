//! `formwright plan`.

use std::fmt::Write as _;

use clap::Args;
use formwright::bound::norm::upward;
use formwright::error::Result;
use formwright::plan::{Candidate, Plan as Sketches, plan};

use crate::Answer;
use crate::build::Wish;
use crate::show::{lines, short_int, table, working};

#[derive(Args)]
pub struct Plan {
    #[command(flatten)]
    wish: Wish,
}

impl Plan {
    pub fn execute(&self) -> Result<Answer> {
        let request = self.wish.planned()?;
        let _working = working("sizing up every construction; finer grids until the tolerance is met");
        let plan = plan(&request)?;
        Ok(Answer { text: tell(&plan), json: plan.to_json() })
    }
}

fn name(candidate: &Candidate) -> String {
    format!("{}, {}", candidate.construction(), candidate.precision())
}

fn tell(plan: &Sketches) -> String {
    let mut rows = table(&[
        "construction",
        "precision",
        "N",
        "blocks",
        "parameters",
        "id bits",
        "fits",
        "certified",
        "per number",
        "meets",
    ]);
    let mut reasons = String::new();
    for candidate in &plan.candidates {
        match &candidate.outcome {
            Ok(sketch) => {
                rows.add_row([
                    candidate.construction(),
                    candidate.precision(),
                    &sketch.resolution.to_string(),
                    &short_int(&sketch.size.blocks),
                    &short_int(&sketch.size.parameters),
                    &sketch.id_bits.to_string(),
                    sketch.precision_needed(),
                    &upward(sketch.budget.bound, 3),
                    &format!("{:.1}", sketch.ratio()),
                    if sketch.why_not.is_none() { "yes" } else { "no" },
                ]);
                if let Some(reason) = &sketch.why_not {
                    let _ = writeln!(reasons, "\n{}: {reason}", name(candidate));
                }
            }
            Err(error) => {
                rows.add_row([candidate.construction(), candidate.precision(), "", "", "", "", "", "", "", "no"]);
                let _ = writeln!(reasons, "\n{}: {error}", name(candidate));
            }
        }
    }
    let asked = plan.eps.as_ref().map_or_else(|| "no tolerance,".to_owned(), |eps| format!("tolerance {eps}"));
    let mut text = format!("{asked} in {}\n\n{}\n", plan.norm, lines(&rows));
    if let Some(baseline) = plan.baseline {
        let _ = writeln!(
            text,
            "\nthe best constant is off by about {:.3e} (± {:.1e})",
            baseline.best_constant, baseline.within
        );
    }
    for (candidate, sketch) in
        plan.candidates.iter().filter_map(|candidate| Some((candidate, candidate.outcome.as_ref().ok()?)))
    {
        let _ = writeln!(
            text,
            "{}: any approximation by these cells remembers {} numbers, a residual network about {}",
            name(candidate),
            short_int(&sketch.to_remember),
            short_int(&sketch.residual_network)
        );
    }
    let mut assumed: Vec<&String> =
        plan.candidates.iter().filter_map(|c| c.outcome.as_ref().ok()).flat_map(|s| &s.assumptions).collect();
    assumed.dedup();
    for assumption in assumed {
        let _ = writeln!(text, "assuming that {assumption}");
    }
    text.push_str(&reasons);
    match plan.chosen() {
        Some(candidate) => {
            let _ =
                writeln!(text, "\nbuild would take {}: the fewest parameters among those that serve", name(candidate));
        }
        None => text.push_str("\nno construction serves this request\n"),
    }
    text
}
