//! `formwright theorems questions`.

use std::fmt::Write as _;

use formwright::error::Result;
use formwright::questions::{Answer as Answered, Part, answers};
use serde_json::{Value, json};

use crate::Answer;
use crate::show::{lines, table, wrap};

pub fn execute() -> Result<Answer> {
    let answers = answers()?;
    // Writing to a String cannot fail.
    let mut text = String::from(
        "Questions that readers of Yun et al. 2020 ask, and one about Alberti et al. 2023; every number is computed here and now.\n",
    );
    for Answered { number, asked, answer, parts, commands, .. } in &answers {
        let parts: Vec<String> = parts.iter().map(told).collect();
        let _ = write!(text, "\n{number}. {asked}\n\n{}\n\n{}\n", wrap(answer, "  "), indent(&parts.join("\n")));
        for command in commands {
            let _ = write!(text, "\n  $ {command}");
        }
        text.push('\n');
    }
    text.push_str(
        "\nTwo more, 2 and 3, are for experiments: whether layer normalisation may be left out, and whether training finds such weights.\n\
         The lab has put both to the test (results/README.md of the repository):\n\n  \
         $ formwright lab run construction\n  $ formwright lab compare construction\n",
    );
    let documents: Vec<Value> = answers.into_iter().map(document).collect();
    Ok(Answer { text, json: json!({"questions": documents}) })
}

fn document(Answered { number, asked, answer, numbers, commands, .. }: Answered) -> Value {
    json!({"number": number, "question": asked, "answer": answer, "numbers": numbers, "commands": commands})
}

fn told(part: &Part) -> String {
    match part {
        Part::Line(line) => line.clone(),
        Part::Table(heads, rows) => {
            let mut shown = table(heads);
            shown.add_rows(rows);
            lines(&shown)
        }
    }
}

/// Puts two spaces in front of every line that is not empty.
fn indent(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("  {}", line.trim_start()) };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
