//! `formwright contextual`.

use std::fmt::Write as _;

use clap::Args;
use formwright::bound::norm::upward;
use formwright::contextual::{Answer as Found, Definition, Draws, Failure, Inquiry, Pair};
use formwright::error::Result;
use formwright::exact::Rat;
use formwright::show::short;

use crate::Answer;
use crate::build::whole;
use crate::show::{lines, sequence, table, working};

#[derive(Args)]
pub struct Contextual {
    /// `attention[:K]` (the paper's stack, K windows a layer; `attention-only` is the same), `feed-forward-only`,
    /// `sum-code`, `average`, `linformer[:k][:gaussian]`, `performer[:k]`, each of these three with `ff-` in front for
    /// a feed-forward layer before it, `sumformer[:SEED]` (one continuous number a token), `bproj[:SEED]`,
    /// `sepconv:K[:SEED]`, `sparse:PATTERN`.
    mixer: String,
    /// The definition: paper (Definition 5.1: all numbers of all tokens of all sequences differ), permutation (not
    /// those of a sequence and its permutations), columns (nor those of equal tokens of a sequence). All three are
    /// answered; this one is the verdict.
    #[arg(long, value_name = "NAME", default_value = "paper")]
    definition: String,
    /// The sequences: grid (all), distinct (those with distinct columns), file:PATH (JSON,
    /// `[sequences][tokens][coordinates]`), or, of sumformer, halfway (two that no continuous number tells apart).
    /// Coordinates count cells, 0 to N-1. The default is grid, of sumformer halfway.
    #[arg(long, value_name = "SET")]
    set: Option<String>,
    /// The number of tokens; 3 by default.
    #[arg(long, value_name = "T", value_parser = whole::<usize>, allow_negative_numbers = true)]
    tokens: Option<usize>,
    /// The coordinates of a token; 1 by default.
    #[arg(long, value_name = "K", value_parser = whole::<usize>, allow_negative_numbers = true)]
    dims: Option<usize>,
    /// The number of cells a side of the grid; 4 by default.
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_negative_numbers = true)]
    resolution: Option<u64>,
    /// With a positional encoding; sparse attention has one anyway.
    #[arg(long)]
    positional: bool,
    /// Draw so many times, from the mixer's seed on, and tell the margins.
    #[arg(long, value_name = "M", value_parser = whole::<usize>, allow_negative_numbers = true)]
    seeds: Option<usize>,
}

impl Contextual {
    pub fn execute(&self) -> Result<Answer> {
        let asked = Inquiry {
            mixer: self.mixer.clone(),
            definition: Some(self.definition.clone()),
            set: self.set.clone(),
            tokens: self.tokens,
            dims: self.dims,
            resolution: self.resolution,
            positional: self.positional,
            seeds: self.seeds,
            sequences: None,
        };
        let _working = working("comparing every two tokens");
        let found = asked.answer()?;
        Ok(Answer { text: tell(&found), json: found.to_json() })
    }
}

fn tell(found: &Found) -> String {
    let mut text = format!("{}\n\n", found.subject());
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}", found.in_words());
    if let Some(pair) = found.counterexample().or(found.closest()) {
        let _ = writeln!(text, "{}", pair_table(pair));
    }
    let mut rows = table(&["definition", "verdict", "margin"]);
    for (definition, pair) in &found.found {
        let holds = found.holds(*definition);
        let margin = pair.as_ref().filter(|_| holds).map_or_else(String::new, |pair| short(&pair.distance()));
        rows.add_row([definition.name(), if holds { "contextual" } else { "not contextual" }, &margin]);
    }
    let _ = writeln!(text, "\n{}", lines(&rows));
    if let Some(draws) = &found.draws {
        let _ = writeln!(
            text,
            "\n{}",
            drawn(draws, found.failure.as_ref().filter(|_| found.definition == Definition::Paper))
        );
    } else if let Some(failure) = &found.failure {
        let [_, _, [a, b]] = Failure::PROBABILITIES;
        let margin = downward(&failure.margin(&Rat::new(a, b)));
        let _ = writeln!(
            text,
            "\ncertified: of a random W_P the margin (paper) is less than {margin} with probability {a}/{b} at most"
        );
    }
    for remark in found.remarks() {
        let _ = writeln!(text, "\n{remark}");
    }
    text
}

/// Two tokens and their numbers.
fn pair_table(pair: &Pair) -> String {
    let mut rows = table(&["sequence", "token", "number"]);
    for (x, token, number) in Found::shown(pair) {
        rows.add_row([sequence(&x), token.to_string(), number]);
    }
    let seed = pair.seed.map_or_else(String::new, |seed| format!("\n seed {seed}"));
    format!("{}{seed}", lines(&rows))
}

/// The margins of several draws, and the proved bound on them.
fn drawn(draws: &Draws, failure: Option<&Failure>) -> String {
    let [least, middle, largest] = draws.range().map(|margin| short(&margin));
    let count = draws.margins.len();
    let mut text = format!(
        "measured: margins from {least} to {largest}, half of them at least {middle} ({count} draws, seeds from {})",
        draws.first
    );
    if let Some(failure) = failure {
        let mut rows = table(&["probability at most", "of a margin below (certified)", "draws below (measured)"]);
        for [a, b] in Failure::PROBABILITIES {
            let margin = failure.margin(&Rat::new(a, b));
            rows.add_row([format!("{a}/{b}"), downward(&margin), format!("{} of {count}", draws.below(&margin))]);
        }
        let _ = write!(text, "\n{}", lines(&rows));
    }
    text
}

/// A positive number in four digits, rounded down.
fn downward(x: &Rat) -> String {
    upward(-x.to_f64().next_down(), 3).trim_start_matches('-').to_owned()
}
