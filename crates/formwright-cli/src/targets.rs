//! `formwright targets`.

use formwright::error::Result;
use formwright::target::{Source, catalogue};
use serde_json::{Value, json};

use crate::Answer;
use crate::show::{lines, table};

pub fn execute() -> Result<Answer> {
    let mut rows = table(&["name", "expression", "symmetry", "continuous", "what it is"]);
    let mut targets: Vec<Value> = Vec::new();
    for (name, text) in catalogue::CATALOGUE {
        let source = Source::expression(name, text)?;
        let expression = source.text().unwrap_or_default();
        let (symmetry, continuous) = source.properties()?;
        rows.add_row([
            *name,
            &shortened(&expression),
            symmetry,
            if continuous { "yes" } else { "no" },
            catalogue::about(text),
        ]);
        targets.push(json!({
            "name": name,
            "expression": expression,
            "symmetry": symmetry,
            "continuous": continuous,
            "tokens": source.tokens(),
            "dims": source.dims(),
        }));
    }
    let text = format!(
        "{}\n\nAll of them take any number of tokens and coordinates. Those with symmetry none need --positional in lattice \
         networks (yun);\ncircuits have positions where they need them. What ends in … is told in full by --json.",
        lines(&rows)
    );
    Ok(Answer { text, json: json!({"targets": targets}) })
}

/// The longest expression that the table shows in full.
const MOST_CHARACTERS: usize = 64;

/// An expression, cut to fit on a line.
fn shortened(expression: &str) -> String {
    match expression.char_indices().nth(MOST_CHARACTERS) {
        Some(_) => format!("{}…", expression.chars().take(MOST_CHARACTERS - 1).collect::<String>()),
        None => expression.to_owned(),
    }
}
