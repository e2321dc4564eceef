//! `formwright patterns`.

use std::path::PathBuf;

use clap::Args;
use formwright::artifact;
use formwright::error::{Error, Result};
use formwright::pattern::{Assumptions, Connections, Family, Pattern};
use formwright::show::plural;
use serde_json::{Value, json};

use crate::Answer;
use crate::show::{lines, table};

/// The default number of tokens.
const TOKENS: usize = 16;

/// The most tokens: a pattern is written out, connection by connection.
const MOST_TOKENS: usize = 4096;

/// The most tokens whose picture fits a terminal.
const MOST_SHOWN: usize = 64;

#[derive(Args)]
pub struct Patterns {
    /// dense, window:W, star, hub, strided:W, fixed:W, strided-causal:W, fixed-causal:W, bigbird:SEED, random:K:SEED,
    /// dilated:W:G, block:W, or file:PATH with the keys that each token sees, [[0, 1], [0, 1, 2], …], or a list of such
    /// layers. Without it, all of them are compared.
    pattern: Option<String>,
    /// The number of tokens; 16 unless a file has its own.
    #[arg(long, value_name = "T")]
    tokens: Option<usize>,
    /// Write the picture to a file.
    #[arg(long, value_name = "FILE", requires = "pattern")]
    svg: Option<PathBuf>,
}

impl Patterns {
    pub fn execute(&self) -> Result<Answer> {
        let tokens = self.tokens.unwrap_or(TOKENS);
        if !(1..=MOST_TOKENS).contains(&tokens) {
            return Err(Error::input(format!("--tokens is {tokens}"))
                .note("expected", format!("1 to {MOST_TOKENS}: a pattern is written out")));
        }
        match &self.pattern {
            None => compare(tokens),
            Some(name) => {
                let name = name.strip_prefix("sparse:").unwrap_or(name);
                let pattern = Pattern::named(name, tokens)?;
                if self.tokens.is_some_and(|tokens| tokens != pattern.tokens()) {
                    return Err(Error::input(format!("{name} is for {} tokens, not for {tokens}", pattern.tokens()))
                        .note("try", "leave out --tokens"));
                }
                if let Some(file) = &self.svg {
                    artifact::write_new(file, pattern.to_svg().as_bytes())?;
                }
                Ok(self.show(name, &pattern))
            }
        }
    }

    /// One pattern: its picture, and the verdict in words.
    fn show(&self, name: &str, pattern: &Pattern) -> Answer {
        let assumptions = Assumptions::of(pattern);
        let counts: Vec<String> = pattern.cycle().iter().map(|layer| layer.count().to_string()).collect();
        let n = pattern.tokens();
        let picture = if n <= MOST_SHOWN {
            pattern.to_text()
        } else {
            format!("the picture of {n} tokens is too wide for a terminal: --svg FILE draws it\n")
        };
        let verdict = match assumptions.satisfied(pattern) {
            Ok((_, _, s)) => format!(
                "it serves: yun --attention sparse:{name} takes {}(n-1)D + {s} attention layers for its contextual map",
                if pattern.period() == 1 { String::new() } else { format!("{}·", pattern.period()) }
            ),
            Err(error) => error.headline().to_owned(),
        };
        let written = self.svg.as_ref().map_or_else(String::new, |file| format!("\nwritten: {}", file.display()));
        let text = format!(
            "{}, {n} tokens, {} of {} connections{}\n\n{picture}\nAssumption 1 of Yun et al. 2020b\n  {}\n{verdict}{written}",
            pattern.name(),
            counts.join(" and "),
            n * n,
            if pattern.period() == 1 { String::new() } else { format!(", a cycle of p = {} layers", pattern.period()) },
            assumptions.in_words().join("\n  "),
        );
        Answer { text, json: to_json(pattern, &assumptions) }
    }
}

fn to_json(pattern: &Pattern, assumptions: &Assumptions) -> Value {
    json!({
        "pattern": pattern.name(),
        "tokens": pattern.tokens(),
        "period": pattern.period(),
        "connections": pattern.cycle().iter().map(Connections::count).collect::<Vec<_>>(),
        "assumptions": assumptions,
        "serves": assumptions.satisfied(pattern).is_ok(),
        "words": assumptions.in_words(),
    })
}

/// A table with one row per pattern.
fn compare(tokens: usize) -> Result<Answer> {
    let mut rows = table(&["pattern", "connections", "p", "s", "Assumption 1"]);
    let mut patterns = Vec::new();
    for family in Family::examples(tokens) {
        let pattern = family.pattern(tokens)?;
        let assumptions = Assumptions::of(&pattern);
        let counts: Vec<String> = pattern.cycle().iter().map(|layer| layer.count().to_string()).collect();
        let s = assumptions.hops().map_or_else(|| "none".to_owned(), |s| s.to_string());
        let failing: Vec<String> =
            assumptions.in_words().into_iter().filter(|words| !words.contains("holds")).collect();
        let order = if assumptions.is_reordered() { ", by another order of the tokens" } else { "" };
        let verdict = if failing.is_empty() { format!("holds{order}") } else { failing.join("; ") };
        rows.add_row([pattern.name(), &counts.join(" / "), &pattern.period().to_string(), &s, &verdict]);
        patterns.push(to_json(&pattern, &assumptions));
    }
    let text = format!(
        "{}, {} where all see all\n\n{}\n\nformwright patterns star --tokens {tokens} shows one of them",
        plural(tokens, "token"),
        plural(tokens * tokens, "connection"),
        lines(&rows)
    );
    Ok(Answer { text, json: json!({"patterns": patterns}) })
}
