//! Statements about a model, in words and numbers that people read: terminals and pages say the same.

use crate::bound::baseline::baseline;
use crate::bound::measured::Measured;
use crate::bound::norm::upward;
use crate::bound::{Baseline, Budget, Norm, Term};
use crate::error::{Error, ErrorKind, Result};
use crate::exact::Int;
use crate::model::{Certified, Check, InHost, Model};
use crate::option::Front;
use crate::show::{plural, short_int};
use serde_json::{Value, json};

impl Error {
    /// The exit code and the JSON document of a program that fails.
    pub fn document(&self, front: Front) -> (u8, Value) {
        let told = self.told(front);
        let (code, kind) = match self.kind() {
            ErrorKind::Rejected => (1, "rejected"),
            ErrorKind::Declined => (2, "declined"),
            ErrorKind::Input => (3, "error"),
        };
        let notes: Vec<Value> =
            told.notes().iter().map(|(label, text)| json!({"label": label, "text": text})).collect();
        (code, json!({"verdict": kind, "reason": told.headline(), "notes": notes}))
    }
}

impl Model {
    /// The target's name, and its text if that says more.
    pub fn title(&self) -> String {
        let name = &self.target.name;
        let text = self.source.text().filter(|text| text != name).map_or_else(String::new, |text| format!(": {text}"));
        format!("{name}{text}")
    }

    /// The construction that it is made by, and its target.
    pub fn made(&self) -> String {
        let grid = &self.grid;
        let shape = format!("{} of {}", plural(grid.tokens(), "token"), plural(grid.dims(), "coordinate"));
        let place = if self.has_cells() {
            format!("{} cells a side on [{}, {})", grid.resolution(), grid.low(), grid.high())
        } else {
            format!("on {}", self.domain_name())
        };
        format!("by {}, for {shape}, {place}", self.built.made())
    }

    /// The latent dimension of a Sumformer with its `φ`, and its `ψ`.
    pub fn normal_form(&self) -> Option<[String; 2]> {
        self.built.normal_form()
    }

    /// Counts on one line.
    pub fn size_line(&self) -> String {
        let size = self.size();
        let layers = |count: &Int, one: &str, shape: String| {
            let plural = if *count == Int::ONE { "" } else { "s" };
            let shape = if *count == Int::ZERO { String::new() } else { format!(" ({shape})") };
            format!("{} {one}{plural}{shape}", short_int(count))
        };
        let connections = size.connections.map_or(String::new(), |count| format!(", {}", plural(count, "connection")));
        let ends = match (self.id_bits(), self.coordinates().len()) {
            (Some(bits), _) => format!("ids of {bits} bits"),
            (None, width) => format!("width {width}"),
        };
        format!(
            "{} block{}: {}, {}; {} parameters; {ends}",
            short_int(&size.blocks),
            if size.blocks == Int::ONE { "" } else { "s" },
            layers(
                &size.attention_layers,
                "attention layer",
                format!("{}, size {}{connections}", plural(size.heads, "head"), size.head_size)
            ),
            layers(&size.feed_forward_layers, "feed-forward layer", format!("hidden {}", size.hidden)),
            short_int(&size.parameters),
        )
    }

    /// The claims behind their badges, and the lines that they are to be read beside, each behind its label: `baseline`,
    /// `assuming`, `checked`; `no claim` if there is none.
    pub fn claims(&self) -> Result<Vec<(&'static str, String)>> {
        let Some(domain) = self.claim() else {
            let why = if self.is_edited() {
                "these stages are not the ones that the construction builds"
            } else if self.float().is_some() {
                "the proofs for floats need every step repaired and a derived temperature"
            } else {
                "the values reach into the windows, and as printed nothing keeps them out (see formwright theorems lemma7)"
            };
            return Ok(vec![line("no claim", why)]);
        };
        if self.built.is_measured() {
            return measured_claims(self, domain);
        }
        let badge = self.badge();
        let mut lines = vec![match (self.built.supremum(), self.float()) {
            (Some(sup), _) => line(badge, format!("{domain}; {}{}", sup.method.name(), terms(sup))),
            (None, None) => line("exact-on-grid", format!("equal to the target at {domain}")),
            (None, Some(_)) => line("certified", format!("on the grid, at {domain}")),
        }];
        if let Some(found) = self.in_host() {
            lines.push(self.claim_in_host(found));
        }
        let mut assumptions = self.assumptions.clone();
        if let Some(Certified { budget, baseline }) = self.certified()? {
            let bound = format!("{} error on {} at most {}", budget.norm, self.domain_name(), upward(budget.bound, 4));
            match (self.built.supremum(), &budget.norm) {
                // That is what the claim says.
                (Some(_), Norm::Sup) => {}
                (Some(_), Norm::Lp(_)) => lines.push(line(badge, bound)),
                _ => {
                    lines.push(line(badge, format!("{bound}, {}{}", budget.method.name(), terms(budget))));
                }
            }
            lines.extend(self.measured()?.map(|measured| line("measured", found(measured))));
            lines.extend(self.too_long_to_measure().map(|work| {
                let (work, tokens) = (short_int(&Int::from(work)), self.grid.tokens());
                line("measured", format!("not at all: a run on {tokens} tokens takes about {work} operations"))
            }));
            lines.extend(baseline.map(|baseline| line("baseline", baseline.in_words(&budget.norm))));
            assumptions.extend(budget.assumptions.iter().cloned());
        }
        lines.extend(assumptions.into_iter().map(|text| line("assuming", format!("that {text}"))));
        let check = self.check();
        if check != Check::NotRun {
            let why = check.reason().map_or_else(String::new, |reason| format!(" ({reason})"));
            let when = format!("{} when it was built{why}; again: formwright check DIR", check.name());
            lines.push(line("checked", when));
        }
        Ok(lines)
    }
}

impl Model {
    /// The claim in the class that it was built for. A checker is asked when that is exported.
    fn claim_in_host(&self, found: Result<&InHost>) -> Line {
        let host = self.host().unwrap_or_default();
        match found {
            Ok(InHost { bound, term }) => {
                let (bound, term) = (upward(*bound, 4), upward(*term, 2));
                let domain = self.domain_name();
                line(
                    self.badge(),
                    format!(
                        "in {host} every output is within {bound} of the target on {domain}, of which {term} is the \
                         host's, by formwright's own analysis"
                    ),
                )
            }
            Err(error) => line("no claim", format!("in {host}: {}", error.headline())),
        }
    }

    /// The class that it was built for, with the tolerance and the bound there, as it is written.
    pub fn host_to_json(&self) -> Option<Value> {
        let (host, found) = (self.host.as_ref()?, self.in_host()?.ok());
        Some(json!({
            "class": host.class,
            "eps": host.eps,
            "bound": found.map(|found| found.bound),
            "host_term": found.map(|found| found.term),
        }))
    }
}

impl Baseline {
    /// The error of the best constant: in an integral an estimate, as a supremum what was found.
    pub fn in_words(&self, norm: &Norm) -> String {
        let Baseline { best_constant, within } = self;
        match norm {
            Norm::Sup => format!("the best constant is off by at least {best_constant:.3e}"),
            Norm::Lp(_) => format!("the best constant is off by about {best_constant:.3e} (± {within:.1e})"),
        }
    }
}

/// A line of a claim, or to be read beside one: a badge, `baseline`, `assuming`, `checked`, or `no claim` if there is
/// none; and the statement.
type Line = (&'static str, String);

fn line(label: &'static str, text: impl Into<String>) -> Line {
    (label, text.into())
}

/// The measured error of a trained Sumformer, beside the proof of its rounding.
fn measured_claims(model: &Model, rounding: String) -> Result<Vec<Line>> {
    let measured = [model.measured()?, model.measured_mean()?].into_iter().flatten();
    let mut lines: Vec<Line> = measured.map(|measured| line(model.badge(), found(measured))).collect();
    lines.push(line("certified", rounding));
    let baseline = baseline(&model.target, &model.grid, &Norm::Sup);
    lines.extend(baseline.map(|baseline| line("baseline", baseline.in_words(&Norm::Sup))));
    Ok(lines)
}

/// The most terms that are told.
const MOST_TERMS: usize = 5;

/// The terms of a bound in brackets, the largest if there are many.
fn terms(budget: &Budget) -> String {
    let mut terms: Vec<&Term> = budget.terms.iter().collect();
    if terms.is_empty() {
        return String::new();
    }
    let left_out = terms.len().saturating_sub(MOST_TERMS);
    if left_out > 0 {
        terms.sort_by(|a, b| b.bound.total_cmp(&a.bound));
        terms.truncate(MOST_TERMS);
    }
    let mut told: Vec<String> = terms.iter().map(|term| format!("{} {}", term.name, upward(term.bound, 3))).collect();
    if left_out > 0 {
        told.push(format!("{left_out} smaller ones"));
    }
    format!(" ({})", told.join(", "))
}

/// The measured error, in words.
fn found(measured: &Measured) -> String {
    let Measured { norm, points, seed, value, confidence, exhaustive, .. } = measured;
    match confidence {
        _ if *exhaustive && *value == 0.0 => format!("{norm} error 0 (all {points} points)"),
        _ if *exhaustive => format!("{norm} error {value:.4e} (all {points} points)"),
        Some((low, high)) => format!(
            "{norm} error about {value:.4e} (95 %: {low:.4e} to {high:.4e}; {points} quasi-random points, seed {seed})"
        ),
        None => format!("{norm} error at least {value:.4e} (found by ascent; {points} points, seed {seed})"),
    }
}
