//! `formwright theorems`.

use std::fmt::Write as _;

use clap::Args;
use formwright::error::{Error, Result, nearest};
use formwright::theorems::{STATEMENTS, Statement};
use serde_json::json;

use crate::show::{lines, table, wrap};
use crate::{Answer, questions};

/// The word that stands in place of an id.
const QUESTIONS: &str = "questions";

#[derive(Args)]
pub struct Theorems {
    /// A statement's id; without it all are listed. `questions` answers what readers of the paper ask, with numbers.
    id: Option<String>,
}

impl Theorems {
    pub fn execute(&self) -> Result<Answer> {
        let Some(id) = &self.id else { return Ok(list()) };
        if id == QUESTIONS {
            return questions::execute();
        }
        let statement = STATEMENTS.iter().find(|statement| statement.id == id).ok_or_else(|| {
            let error = Error::input(format!("there is no statement '{id}'"));
            match nearest(id, STATEMENTS.iter().map(|statement| statement.id).chain([QUESTIONS])) {
                Some(near) => error.note("try", format!("formwright theorems {near}")),
                None => error.note("try", "formwright theorems"),
            }
        })?;
        Ok(Answer { text: tell(statement), json: json!({"statements": [statement]}) })
    }
}

fn list() -> Answer {
    let mut rows = table(&["id", "source", "gaps", "what it says"]);
    rows.set_content_arrangement(comfy_table::ContentArrangement::Dynamic).set_width(120);
    for statement in STATEMENTS {
        let gaps = statement.departures.iter().filter(|departure| departure.kind() == "gap").count();
        let gaps = if gaps == 0 { String::new() } else { gaps.to_string() };
        rows.add_row([statement.id, statement.source, &gaps, statement.statement]);
    }
    let text = format!(
        "{}\n\nformwright theorems ID tells where one is built, what checks it, and where the printed proof was repaired;\n\
         formwright theorems questions answers what readers of the paper ask, with numbers computed on the spot.",
        lines(&rows)
    );
    Answer { text, json: json!({"statements": STATEMENTS}) }
}

fn tell(statement: &Statement) -> String {
    let Statement { id, source, statement, module, checked, machine_checked, departures } = statement;
    // Writing to a String cannot fail.
    let mut text = String::new();
    let _ = writeln!(text, "{id} ({source})\n\n{}\n\nbuilt in    {module}", wrap(statement, ""));
    for test in *checked {
        let _ = writeln!(text, "checked by  {test}");
    }
    for theorem in *machine_checked {
        let (file, name) = theorem.split_once('.').unwrap_or((theorem, ""));
        let _ = writeln!(text, "in Coq      {name} (formal/theories/{file}.v)");
    }
    for departure in *departures {
        let _ = write!(text, "\n{}\n{}\n", departure.kind(), wrap(departure.text, "  "));
        if let Some(command) = departure.show {
            let _ = writeln!(text, "  shown by: {command}");
        }
    }
    text
}
