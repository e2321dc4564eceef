//! `formwright inspect --meanings`: what registers hold, as the checker proves it.

use std::path::Path;

use formwright::artifact::Contents;
use formwright::compile::Model;
use formwright::error::{Error, Result};
use formwright_check::{About, Files, FormText, Line, proved_lines};
use serde_json::{Value, json};

use crate::Answer;
use crate::show::{lines, table, working};

pub fn execute(dir: &Path) -> Result<Answer> {
    let contents = Contents::read(dir)?;
    let Contents { target, weights: Some(weights), certificate: Some(certificate) } = &contents else {
        return Err(Contents::no_certificate(dir));
    };
    let model = formwright::open(dir)?;
    let _working = working("proving the lines");
    let proved = proved_lines(&Files { certificate, target, weights }).map_err(|verdict| {
        Error::declined("the certificate has no lines that the checker proves").note("check", verdict.to_string())
    })?;
    let names = Names { model: &model };
    let mut shown = table(&["behind the", "of", "within", "by", "holds"]);
    for line in &proved {
        let (of, holds) = names.line(line);
        shown.add_row([names.place(line), of, line.error.clone(), line.rules.join(", "), holds]);
    }
    let json: Vec<Value> = proved.iter().map(|line| names.to_json(line)).collect();
    Ok(Answer { text: lines(&shown), json: json!({"dir": dir.display().to_string(), "lines": json}) })
}

/// The names of wires and layers. An edited folder has no names, and is told by numbers.
struct Names<'m> {
    model: &'m Model,
}

impl Names<'_> {
    fn wire(&self, wire: usize) -> String {
        let name = self.model.meanings().and_then(|meanings| meanings.wires().get(wire).cloned());
        name.unwrap_or_else(|| format!("w{wire}"))
    }

    fn place(&self, line: &Line) -> String {
        let place = self.model.meanings().and_then(|meanings| meanings.place(line.layer));
        match line.about {
            About::Output(_) => "read-out".to_owned(),
            _ => place.unwrap_or_else(|| format!("layer {}", line.layer)),
        }
    }

    /// The subject and the statement of a line, in words.
    fn line(&self, line: &Line) -> (String, String) {
        let of = match line.about {
            About::Wire(wire) => self.wire(wire),
            About::Register(place) => format!("register {place}"),
            About::Output(output) => format!("output {output}"),
        };
        let words = |form: &FormText| {
            let words = self.model.meanings().and_then(|m| m.form_in_words(&form.offset, &form.terms));
            words.unwrap_or_else(|| form.to_string())
        };
        (of, line.form.as_ref().map_or_else(String::new, words))
    }

    fn to_json(&self, line: &Line) -> Value {
        let stage = self.model.meanings().and_then(|meanings| meanings.stage(line.layer));
        let mut json = json!({"layer": line.layer, "stage": stage, "error": line.error, "rules": line.rules});
        match line.about {
            About::Wire(wire) => json["wire"] = json!({"number": wire, "name": self.wire(wire)}),
            About::Register(place) => json["register"] = json!(place),
            About::Output(output) => json["output"] = json!(output),
        }
        if let Some(form) = &line.form {
            json["offset"] = json!(form.offset);
            let term = |(wire, factor): &(usize, String)| json!({"atom": self.wire(*wire), "factor": factor});
            json["terms"] = form.terms.iter().map(term).collect();
        }
        json
    }
}
