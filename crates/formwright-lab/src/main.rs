//! The command line of the lab, which `formwright lab` calls.
//!
//! Exit codes: 0 done; 2 declined; 3 usage, input or output error; 130 interrupted, and saved.

mod progress;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, Parser, Subcommand};
use comfy_table::{Table, presets::NOTHING};
use formwright::artifact;
use formwright::error::{Error, ErrorKind, Result};
use formwright::network::{Precision, Realisation};
use formwright::words;
use formwright_lab::compile::{Agreement, POINTS, compile};
use formwright_lab::config::Experiment;
use formwright_lab::device::Device;
use formwright_lab::execute::execute;
use formwright_lab::folder::Folder;
use formwright_lab::{compare, plot, presets, summary};
use serde_json::{Value, json};

use crate::progress::{Bars, Doing};

/// Train the architectures of the theorems, beside what the theorems write down.
///
/// Start with `formwright lab run quick`.
#[derive(Parser)]
#[command(name = "formwright lab", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print one JSON document on standard output.
    #[arg(long, global = true, overrides_with = "json")]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// List the experiments that come with the lab; with a name, print its file.
    List {
        /// An experiment.
        experiment: Option<String>,
    },
    /// Run an experiment in a new folder.
    Run {
        /// A file, or the name of an experiment that comes with the lab.
        experiment: String,
        /// The folder, which must not be there yet; without it, the experiment's name.
        #[arg(short)]
        output: Option<PathBuf>,
        #[command(flatten)]
        how: How,
    },
    /// Go on with an experiment that was interrupted.
    Resume {
        /// Its folder.
        dir: PathBuf,
        #[command(flatten)]
        how: How,
    },
    /// Write the summary and draw the picture of an experiment anew.
    Plot {
        /// Its folder.
        dir: PathBuf,
    },
    /// Put what an experiment has trained beside the networks that the compiler writes down.
    ///
    /// On the same fresh samples, for each of its functions: trained networks, and yun --pack, sum-code, sumformer and circuit at
    /// a ladder of sizes. Errors are measured; what is proved of a construction stands beside. Writes compare.md, compare.csv and
    /// a picture a function.
    Compare {
        /// Its folder.
        dir: PathBuf,
    },
    /// Compile what a run has trained: an MLP Sumformer becomes a Transformer with one attention layer.
    ///
    /// The folder is one like any other: formwright inspect, run, export. The network is held to the trained model at 10,000 points.
    Compile {
        /// The folder of a run: DIR/runs/NAME.
        run: PathBuf,
        /// How the sum is attended to: softmax, average, linformer[:k], performer[:k].
        #[arg(long, default_value = "softmax")]
        attention: Realisation,
        /// The format of the network.
        #[arg(long, default_value = "f32")]
        precision: Precision,
        /// The folder to write; without it, nothing is written.
        #[arg(short)]
        output: Option<PathBuf>,
    },
}

#[derive(Args)]
struct How {
    /// Where to compute.
    #[arg(long, value_enum, default_value_t = Device::Cpu)]
    device: Device,
    /// Runs at a time, each on one core; without it, as many as there are cores.
    #[arg(long)]
    jobs: Option<usize>,
}

struct Answer {
    text: String,
    json: Value,
    code: u8,
}

impl Answer {
    fn new(text: impl Into<String>, json: Value) -> Self {
        Self { text: text.into(), json, code: 0 }
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is no reason to fail twice.
            drop(error.print());
            return ExitCode::from(if error.use_stderr() { 3 } else { 0 });
        }
    };
    let answer = match &arguments.command {
        Command::List { experiment } => list(experiment.as_deref()),
        Command::Run { experiment, output, how } => run(experiment, output.as_deref(), how),
        Command::Resume { dir, how } => Folder::open(dir).and_then(|folder| train(&folder, how)),
        Command::Plot { dir } => Folder::open(dir).and_then(|folder| report(&folder)),
        Command::Compile { run, attention, precision, output } => {
            compiled(run, *attention, *precision, output.as_deref())
        }
        Command::Compare { dir } => Folder::open(dir).and_then(|folder| compare(&folder)),
    };
    match answer {
        Ok(answer) => {
            let text = if arguments.json { format!("{:#}", answer.json) } else { answer.text };
            // A reader that has gone away is no error.
            drop(writeln!(io::stdout(), "{}", text.trim_end()));
            ExitCode::from(answer.code)
        }
        Err(error) => fail(&error, arguments.json),
    }
}

fn fail(error: &Error, json: bool) -> ExitCode {
    let (code, kind) = match error.kind() {
        ErrorKind::Rejected => (1, "rejected"),
        ErrorKind::Declined => (2, "declined"),
        ErrorKind::Input => (3, "error"),
    };
    // Where messages cannot be written there is nobody to tell; the exit code still speaks.
    drop(writeln!(io::stderr(), "error: {error}"));
    if json {
        let notes: Vec<Value> =
            error.notes().iter().map(|(label, text)| json!({"label": label, "text": text})).collect();
        drop(writeln!(io::stdout(), "{:#}", json!({"verdict": kind, "reason": error.headline(), "notes": notes})));
    }
    ExitCode::from(code)
}

fn list(experiment: Option<&str>) -> Result<Answer> {
    if let Some(name) = experiment {
        let text = presets::text(name)?;
        Experiment::parse(&text)?;
        return Ok(Answer::new(text.clone(), json!({"name": name, "file": text})));
    }
    let mut rows = Table::new();
    rows.load_style(NOTHING).set_header(["name", "runs", "what it asks"]);
    let mut all = Vec::new();
    for (name, text) in presets::PRESETS {
        let experiment = Experiment::parse(text)?;
        let runs = experiment.runs()?.len();
        rows.add_row([*name, &runs.to_string(), &experiment.title]);
        all.push(json!({"name": name, "runs": runs, "title": experiment.title}));
    }
    let lines: Vec<String> = rows.lines().map(|line| line.trim_end().to_owned()).collect();
    let text = format!(
        "{}\n\nformwright lab list NAME prints a file; change it, and formwright lab run FILE runs yours.",
        lines.join("\n")
    );
    Ok(Answer::new(text, json!({"experiments": all})))
}

fn run(experiment: &str, output: Option<&Path>, how: &How) -> Result<Answer> {
    how.device.check()?;
    let text = presets::text(experiment)?;
    let dir = match output {
        Some(dir) => dir.to_owned(),
        None => PathBuf::from(Path::new(experiment).file_stem().unwrap_or_default()),
    };
    train(&Folder::create(&dir, &text)?, how)
}

fn train(folder: &Folder, how: &How) -> Result<Answer> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    // Asked twice, a process that does not come to its end is left to the system.
    let handler = move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    drop(ctrlc::set_handler(handler));
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let runs = folder.runs()?;
    let done = runs.iter().filter(|(_, known)| known.as_ref().is_some_and(|(about, _)| about.ended.is_some())).count();
    let jobs = how.jobs.unwrap_or_else(cores).clamp(1, runs.len().max(1));
    let ended = execute(folder, how.device, jobs, &stop, &Bars::new(jobs, runs.len(), done))?;
    let answer = report(folder)?;
    if ended {
        return Ok(answer);
    }
    let text = format!("interrupted, and saved; go on with: formwright lab resume {}", folder.path().display());
    Ok(Answer { text: format!("{}\n\n{text}", answer.text), code: 130, ..answer })
}

/// Writes the summary and the picture, and shows the summary.
fn report(folder: &Folder) -> Result<Answer> {
    summary::write(folder)?;
    plot::write(folder)?;
    let dir = folder.path().display();
    let groups: Vec<Value> = summary::groups(folder)?
        .iter()
        .filter_map(|group| {
            let (best, sup) = (group.best()?, group.sup()?);
            let spread = |spread: summary::Spread| json!({"least": spread.least, "middle": spread.middle, "most": spread.most});
            Some(json!({
                "target": group.target, "dims": group.dims, "model": group.model.to_string(), "parameters": group.parameters,
                "seeds": group.runs.len(), "best_constant": group.best_constant, "badge": "measured",
                "validation_loss": spread(best), "sup": spread(sup),
            }))
        })
        .collect();
    let text = format!("{}\nwritten to {dir}: summary.md, results.csv, figure.svg", summary::page(folder)?);
    Ok(Answer::new(text, json!({"dir": folder.path(), "groups": groups})))
}

/// Compares, writes what comes of it, and shows the page.
fn compare(folder: &Folder) -> Result<Answer> {
    let doing = Doing::new();
    let comparisons = compare::compare(folder, |what| doing.tell(what))?;
    let files = compare::write(folder, &comparisons)?;
    let page = compare::page(folder, &comparisons);
    let text = format!("{page}\nwritten to {}: {}", folder.path().display(), files.join(", "));
    let targets: Vec<Value> = comparisons.iter().map(compare::to_json).collect();
    Ok(Answer::new(text, json!({"dir": folder.path(), "files": files, "targets": targets})))
}

fn compiled(run: &Path, attention: Realisation, precision: Precision, output: Option<&Path>) -> Result<Answer> {
    if let Some(dir) = output {
        artifact::check_place(dir)?;
    }
    let (model, held) = compile(run, attention, precision, POINTS)?;
    if let Some(dir) = output {
        artifact::write(&model, dir)?;
    }
    let claims: Vec<String> =
        words::claims(&model)?.iter().map(|line| format!("{}: {}", line.label, line.text)).collect();
    let Agreement { points, largest, allowed, bounded, allowed_there } = held;
    let held = format!(
        "held to the trained model: their outputs differ by at most {largest:.2e} at {points} points; rounding allows {allowed:.2e} at every point, and {allowed_there:.2e} at most at {bounded} of these"
    );
    let written = output.map_or_else(
        || "nothing is written; try: -o DIR".to_owned(),
        |dir| format!("written to {}; try: formwright inspect {0}", dir.display()),
    );
    let text = [
        &[words::title(&model), words::made(&model), words::size_line(&model), String::new()],
        &claims[..],
        &[held, String::new(), written],
    ]
    .concat();
    let mut json = model.summary()?;
    json["held"] = json!({"points": points, "largest": largest, "allowed": allowed, "bounded": bounded, "allowed_there": allowed_there});
    json["dir"] = json!(output);
    Ok(Answer::new(text.join("\n"), json))
}
