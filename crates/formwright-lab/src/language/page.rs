//! The summary and the picture of an experiment on texts. All of it is `measured`.

use std::fmt::Write as _;

use formwright::error::Result;
use formwright::markdown::wrapped;
use serde_json::{Value, json};

use crate::encoder::{Layout, Mix, Part};
use crate::folder::{About, Folder, replace};
use crate::plot::{Line, Panel, Scale, draw};
use crate::study::Study;
use crate::summary::{Spread, ends};
use crate::train::{Epoch, Progress};

use super::config::{Asked, Experiment, Plot};

/// The runs that differ in their seeds alone.
pub struct Group {
    /// The task.
    pub task: Asked,
    /// The layout.
    pub layout: Layout,
    /// Trained numbers.
    pub parameters: usize,
    /// The parts that hold them.
    pub parts: Vec<Part>,
    /// The loss of the best model that ignores its input.
    pub best_constant: f64,
    /// Tokens of a step.
    pub tokens: u64,
    /// The runs, by seeds.
    pub runs: Vec<Progress>,
}

impl Group {
    /// A number at the end of every run that has been judged.
    pub fn last(&self, number: impl Fn(&Epoch) -> f64) -> Option<Spread> {
        Spread::of(self.runs.iter().filter_map(|run| run.epochs.last()).map(number))
    }

    /// One of the scores.
    pub fn score(&self, place: usize) -> Option<Spread> {
        self.last(|epoch| epoch.validation.scores.get(place).copied().unwrap_or(f64::NAN))
    }

    /// Thousands of tokens per second, validation included.
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    fn rate(&self) -> Option<Spread> {
        self.last(|epoch| (epoch.step * self.tokens) as f64 / epoch.seconds / 1e3)
    }
}

/// The groups of an experiment, in the order of its runs; runs that have not been judged are left out.
pub fn groups(folder: &Folder<Experiment>) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for (run, known) in folder.runs()? {
        let Some((About { parameters, best_constant, .. }, progress)) = known else { continue };
        if progress.epochs.is_empty() {
            continue;
        }
        let tokens = Experiment::tokens_a_step(&run).unwrap_or_default();
        match groups.last_mut() {
            Some(last) if last.task == run.task && last.layout == run.layout => last.runs.push(progress),
            _ => groups.push(Group {
                task: run.task,
                parts: run.parts(parameters),
                layout: run.layout,
                parameters,
                best_constant,
                tokens,
                runs: vec![progress],
            }),
        }
    }
    Ok(groups)
}

fn percent(spread: Option<Spread>) -> String {
    spread.map_or_else(String::new, |Spread { least, middle, most }| {
        let of = |share: f64| format!("{:.2}", 100.0 * share);
        if least < most { format!("{} [{}, {}]", of(middle), of(least), of(most)) } else { of(middle) }
    })
}

fn number(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or_else(String::new, |Spread { least, middle, most }| {
        let of = |number: f64| format!("{number:.digits$}");
        if least < most { format!("{} [{}, {}]", of(middle), of(least), of(most)) } else { of(middle) }
    })
}

/// The layouts from the best to the worst: `>` if every seed of one is above every seed of the other, `≳` if seeds
/// overlap, or there is only one.
pub fn order(groups: &[&Group]) -> String {
    let mut ranked: Vec<(&Group, Spread)> = groups
        .iter()
        .filter_map(|group| Some((*group, group.score(0)?)))
        .filter(|(_, score)| !score.middle.is_nan())
        .collect();
    ranked.sort_by(|a, b| b.1.middle.total_cmp(&a.1.middle));
    let mut text = String::new();
    for (place, (group, score)) in ranked.iter().enumerate() {
        if place > 0 {
            let (above, over) = &ranked[place - 1];
            let decided = score.below(over) && above.runs.len() > 1 && group.runs.len() > 1;
            text.push_str(if decided { " > " } else { " ≳ " });
        }
        let _ = write!(text, "`{}`", group.layout);
    }
    text
}

/// The page of an experiment.
pub fn page(folder: &Folder<Experiment>) -> Result<String> {
    let groups = groups(folder)?;
    let Experiment { title, seeds, encoder, optimiser, data, from, .. } = &folder.experiment;
    let mut page = format!(
        "# {title}\n\nmeasured: sequences of {} tokens, width {}, {} heads, {} hidden units, batches of {} sequences, \
         {} of them a step, activations in {:?}, seeds {seeds:?}. Numbers are those at the end of a run; in brackets \
         the least and the largest of the seeds. `constant` is the loss of frequencies alone; for questions, that of \
         all pieces of a window alike.\n",
        encoder.tokens,
        encoder.width,
        encoder.heads,
        encoder.hidden,
        data.batch,
        optimiser.accumulate,
        encoder.precision,
    );
    if !from.is_empty() {
        let _ = writeln!(page, "\nEncoders begin as `{from}` has trained them.");
    }
    for task in &folder.experiment.tasks {
        let here: Vec<&Group> = groups.iter().filter(|group| group.task == *task).collect();
        if here.is_empty() {
            continue;
        }
        let scores = task.scores();
        let names: Vec<String> = scores.iter().map(|name| format!("{} %", name.replace('_', " "))).collect();
        let _ = writeln!(
            page,
            "\n## {}\n\n| layout | parameters | {} | loss | constant | M tokens | k tokens/s | seconds | runs |\n|---|---|{}---|---|---|---|---|---|",
            task.name(),
            names.join(" | "),
            "---|".repeat(scores.len())
        );
        for group in &here {
            let shares: Vec<String> = (0..scores.len()).map(|place| percent(group.score(place))).collect();
            #[expect(clippy::cast_precision_loss, reason = "millions")]
            let tokens = group.last(|epoch| (epoch.step * group.tokens) as f64 / 1e6);
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} | {:.3} | {} | {} | {} | {} |",
                group.layout,
                group.parameters,
                shares.join(" | "),
                number(group.last(|epoch| epoch.validation.loss), 3),
                group.best_constant,
                number(tokens, 1),
                number(group.rate(), 0),
                number(group.last(|epoch| epoch.seconds), 0),
                ends(&group.runs),
            );
        }
        if here.len() > 1 {
            let _ =
                writeln!(page, "\nFrom the best to the worst: {} (`>`: in every seed; `≳`: undecided).", order(&here));
        }
        page.push_str("\nWhere the parameters are:\n\n");
        for group in &here {
            let parts: Vec<String> = group.parts.iter().map(Part::to_string).collect();
            let _ = writeln!(page, "- `{}`: {}", group.layout, parts.join(", "));
        }
    }
    Ok(wrapped(&page))
}

/// A line a run.
pub fn table(folder: &Folder<Experiment>) -> Result<String> {
    let mut table =
        "task,layout,seed,parameters,best_constant,steps,tokens,loss,score,second_score,seconds,ended\n".to_owned();
    for (run, known) in folder.runs()? {
        let Some((about, progress)) = known else { continue };
        let Some(last) = progress.epochs.last() else { continue };
        let ended =
            serde_json::to_value(about.ended).ok().and_then(|end| end.as_str().map(str::to_owned)).unwrap_or_default();
        let second = last.validation.scores.get(1).map(|score| format!("{score:.6}")).unwrap_or_default();
        let _ = writeln!(
            table,
            "{},\"{}\",{},{},{:.6},{},{},{:.6},{:.6},{second},{:.3},{ended}",
            run.task.name(),
            run.layout,
            run.seed,
            about.parameters,
            about.best_constant,
            last.step,
            last.step * Experiment::tokens_a_step(&run).unwrap_or_default(),
            last.validation.loss,
            last.validation.score(),
            last.seconds,
        );
    }
    Ok(table)
}

/// The picture that an experiment asks for: for every task its loss and its score.
pub fn figure(folder: &Folder<Experiment>) -> Result<String> {
    let groups = groups(folder)?;
    let mut panels = Vec::new();
    for task in &folder.experiment.tasks {
        let here: Vec<&Group> = groups.iter().filter(|group| group.task == *task).collect();
        let Some(first) = here.first() else { continue };
        let score = format!("{}, %", task.scores()[0].replace('_', " "));
        let numbers: [(&str, Number); 2] =
            [("validation loss", |epoch| epoch.validation.loss), (&score, |epoch| 100.0 * epoch.validation.score())];
        for (y, number) in numbers {
            let (x, lines) = match folder.experiment.plot {
                Plot::Steps => ("million tokens", here.iter().map(|group| curve(group, number)).collect()),
                Plot::Layers => ("layers that are not attention", vec![by_layers(&here, task.name(), number)]),
            };
            let constant = Some((first.best_constant, "frequencies alone".to_owned()));
            let level = constant.filter(|_| y == "validation loss" && folder.experiment.plot == Plot::Steps);
            let title = format!("{}: {y}", task.name());
            panels.push(Panel {
                title,
                x: x.to_owned(),
                across: Scale::Plain,
                y: y.to_owned(),
                up: Scale::Plain,
                lines,
                level,
            });
        }
    }
    draw(&panels)
}

/// A number of a judgement.
type Number = fn(&Epoch) -> f64;

/// A number against the tokens that were seen.
#[expect(clippy::cast_precision_loss, reason = "millions of tokens")]
fn curve(group: &Group, number: Number) -> Line {
    let longest =
        group.runs.iter().max_by_key(|run| run.epochs.len()).map(|run| run.epochs.as_slice()).unwrap_or_default();
    let at = |place: usize| Spread::of(group.runs.iter().filter_map(|run| run.epochs.get(place)).map(number));
    let points = longest.iter().enumerate();
    let points =
        points.filter_map(|(place, epoch)| Some(((epoch.step * group.tokens) as f64 / 1e6, at(place)?))).collect();
    Line { name: group.layout.to_string(), points, marked: false }
}

/// A number at the end against the layers that are not attention.
#[expect(clippy::cast_precision_loss, reason = "a few layers")]
fn by_layers(groups: &[&Group], name: &str, number: Number) -> Line {
    let others = |layout: &Layout| layout.layers().iter().filter(|mix| **mix != Mix::Attention).count() as f64;
    let mut points: Vec<(f64, Spread)> =
        groups.iter().filter_map(|group| Some((others(&group.layout), group.last(number)?))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Line { name: name.to_owned(), points, marked: true }
}

/// Writes the page, the table and the picture.
pub fn write(folder: &Folder<Experiment>) -> Result<()> {
    replace(&folder.path().join("summary.md"), page(folder)?.as_bytes())?;
    replace(&folder.path().join("results.csv"), table(folder)?.as_bytes())?;
    replace(&folder.path().join("figure.svg"), figure(folder)?.as_bytes())
}

/// The results as JSON.
pub fn to_json(folder: &Folder<Experiment>) -> Result<Value> {
    let spread = |spread: Option<Spread>| {
        spread.map(|spread| json!({"least": spread.least, "middle": spread.middle, "most": spread.most}))
    };
    let group = |group: &Group| {
        let scores: serde_json::Map<String, Value> = (0..)
            .zip(group.task.scores())
            .map(|(place, name)| ((*name).to_owned(), json!(spread(group.score(place)))))
            .collect();
        json!({
            "task": group.task.name(), "layout": group.layout.to_string(), "parameters": group.parameters.to_string(),
            "parts": group.parts.iter().map(|part| json!({"name": part.name, "times": part.times, "each": part.each.to_string()})).collect::<Vec<Value>>(), "seeds": group.runs.len(),
            "best_constant": group.best_constant, "badge": "measured", "validation_loss": spread(group.last(|epoch| epoch.validation.loss)), "scores": scores,
        })
    };
    Ok(json!(groups(folder)?.iter().map(group).collect::<Vec<Value>>()))
}
