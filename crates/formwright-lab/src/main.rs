//! The command line of the lab, which `formwright lab` calls.
//!
//! Exit codes: 0 done; 2 declined; 3 usage, input or output error; 130 interrupted and saved.

mod progress;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use comfy_table::{Table, presets::NOTHING};
use formwright::artifact::{self, Contents};
use formwright::error::{Error, Result};
use formwright::network::{Precision, Realisation};
use formwright::option::Front;
use formwright_lab::compile::{Agreement, POINTS, compile};
use formwright_lab::config::Experiment;
use formwright_lab::device::Device;
use formwright_lab::execute::execute;
use formwright_lab::folder::Folder;
use formwright_lab::language::{self, page};
use formwright_lab::study::Study;
use formwright_lab::text::entropy::{single, unigram};
use formwright_lab::{compare, plot, presets, summary};
use serde_json::{Value, json};

use crate::progress::{Bar, Bars, Doing};

/// Train the architectures of the theorems, beside what the theorems write down.
///
/// Start with `formwright lab run quick`.
#[derive(Parser)]
#[command(name = "formwright lab", bin_name = "formwright lab", version, max_term_width = 100)]
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
    /// Make a folder with texts: a vocabulary, and a corpus in its pieces.
    ///
    /// Experiments on texts read it (--text). Pairs of sentences go into its folder pairs (train.jsonl and
    /// validation.jsonl, with premise, hypothesis and label a line), questions into its folder questions (train.json
    /// and validation.json, as SQuAD v1.1 has them).
    Text {
        /// Plain text: a paragraph a line, blank lines or `= Title =` between articles.
        #[arg(required = true)]
        corpus: Vec<PathBuf>,
        /// Plain text to judge by; without it, one article in a hundred is held back, which a vocabulary that is
        /// trained has seen.
        #[arg(long)]
        validation: Vec<PathBuf>,
        /// A file with a piece a line, BERT's among them; without it, one is trained.
        #[arg(long)]
        vocabulary: Option<PathBuf>,
        /// Pieces of a vocabulary that is trained.
        #[arg(long, default_value_t = 8192)]
        size: usize,
        /// The folder, which must not be there yet.
        #[arg(short, default_value = "text")]
        output: PathBuf,
    },
    /// Run an experiment in a new folder.
    Run {
        /// A file, or the name of an experiment that comes with the lab.
        experiment: String,
        /// The folder, which must not be there yet; without it, the experiment's name.
        #[arg(short)]
        output: Option<PathBuf>,
        /// The folder with texts that formwright lab text has made.
        #[arg(long)]
        text: Option<PathBuf>,
        /// The experiment whose encoders are fine-tuned.
        #[arg(long)]
        from: Option<PathBuf>,
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
    /// On the same fresh samples, for each of its functions: trained networks, and yun --pack, sum-code, sumformer and
    /// circuit at a ladder of sizes. Errors are measured; what is proved of a construction stands beside. Writes
    /// compare.md, compare.csv and a picture a function.
    Compare {
        /// Its folder.
        dir: PathBuf,
    },
    /// Compile what a run has trained: an MLP Sumformer becomes a Transformer with one attention layer.
    ///
    /// The folder is one like any other: formwright inspect, run, export. The network is held to the trained model at
    /// 10,000 points.
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
        /// Replace the folder even if it holds another model.
        #[arg(long)]
        force: bool,
    },
}

#[derive(Args)]
struct How {
    /// The device to compute on.
    #[arg(long, value_enum, default_value_t = Device::Cpu)]
    device: Device,
    /// Runs at a time, each on one core; without it, as many as there are cores, and one with cuda or libtorch.
    #[arg(long)]
    jobs: Option<usize>,
    /// Stop after so many minutes, and save; formwright lab resume goes on.
    #[arg(long)]
    minutes: Option<f64>,
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
        Command::Text { corpus, validation, vocabulary, size, output } => {
            texts(output, corpus, validation, vocabulary.as_deref(), *size)
        }
        Command::Run { experiment, output, text, from, how } => {
            run(experiment, output.as_deref(), [text.as_deref(), from.as_deref()], how)
        }
        Command::Resume { dir, how } => opened(dir).and_then(|folder| match folder {
            Either::Functions(folder) => train(&folder, how, functions),
            Either::Texts(folder) => train(&folder, how, readings),
        }),
        Command::Plot { dir } => opened(dir).and_then(|folder| match folder {
            Either::Functions(folder) => functions(&folder),
            Either::Texts(folder) => readings(&folder),
        }),
        Command::Compile { run, attention, precision, output, force } => {
            compiled(run, *attention, *precision, output.as_deref(), *force)
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
    let (code, document) = error.document(Front::CommandLine);
    // Where messages cannot be written there is nobody to tell; the exit code still speaks.
    drop(writeln!(io::stderr(), "error: {}", error.told(Front::CommandLine)));
    if json {
        drop(writeln!(io::stdout(), "{document:#}"));
    }
    ExitCode::from(code)
}

/// The number of runs that a file asks for, and its title. A file that takes its layouts from another experiment cannot
/// tell the number yet.
fn asked(file: &str) -> Result<(Option<usize>, String)> {
    let table = file.parse::<toml::Table>().unwrap_or_default();
    if !about_texts(file) {
        let experiment = Experiment::parse(file)?;
        Ok((Some(experiment.runs()?.len()), experiment.title))
    } else if table.contains_key("layouts") {
        let experiment = language::Experiment::parse(file)?;
        Ok((Some(experiment.runs()?.len()), experiment.title))
    } else {
        let title = table.get("title").and_then(toml::Value::as_str).unwrap_or_default();
        Ok((None, title.to_owned()))
    }
}

fn list(experiment: Option<&str>) -> Result<Answer> {
    if let Some(name) = experiment {
        let text = presets::text(name)?;
        asked(&text)?;
        return Ok(Answer::new(text.clone(), json!({"name": name, "file": text})));
    }
    let mut rows = Table::new();
    rows.load_style(NOTHING).set_header(["name", "runs", "what it asks"]);
    let mut all = Vec::new();
    for (name, text) in presets::PRESETS {
        let (runs, title) = asked(text)?;
        rows.add_row([*name, &runs.map_or_else(|| "--from".to_owned(), |runs| runs.to_string()), &title]);
        all.push(json!({"name": name, "runs": runs, "title": title}));
    }
    let lines: Vec<String> = rows.lines().map(|line| line.trim_end().to_owned()).collect();
    let text = format!(
        "{}\n\nformwright lab list NAME prints a file; change it, and formwright lab run FILE runs yours.",
        lines.join("\n")
    );
    Ok(Answer::new(text, json!({"experiments": all})))
}

/// A folder of one kind or the other.
enum Either {
    Functions(Folder),
    Texts(Folder<language::Experiment>),
}

/// True if a file is about texts: it names tasks, not targets.
fn about_texts(file: &str) -> bool {
    file.parse::<toml::Table>().is_ok_and(|table| table.contains_key("tasks"))
}

fn opened(dir: &Path) -> Result<Either> {
    let file = fs::read_to_string(dir.join("experiment.toml")).unwrap_or_default();
    if about_texts(&file) { Folder::open(dir).map(Either::Texts) } else { Folder::open(dir).map(Either::Functions) }
}

fn run(experiment: &str, output: Option<&Path>, given: [Option<&Path>; 2], how: &How) -> Result<Answer> {
    how.device.check()?;
    let file = presets::text(experiment)?;
    let dir = match output {
        Some(dir) => dir.to_owned(),
        None => PathBuf::from(Path::new(experiment).file_stem().unwrap_or_default()),
    };
    let [text, from] = given;
    if about_texts(&file) {
        let file = language::given(&file, text, from)?;
        // Data that cannot be read is found before a folder is made.
        drop(language::Source::read(&language::Experiment::parse(&file)?)?);
        return train(&Folder::<language::Experiment>::create(&dir, &file)?, how, readings);
    }
    if text.or(from).is_some() {
        return Err(Error::input("--text and --from are for experiments on texts")
            .note("found", "one on functions: it names targets"));
    }
    train(&Folder::<Experiment>::create(&dir, &file)?, how, functions)
}

fn texts(
    dir: &Path,
    corpus: &[PathBuf],
    validation: &[PathBuf],
    vocabulary: Option<&Path>,
    size: usize,
) -> Result<Answer> {
    let bar = Bar::new();
    let (vocabulary, cache) =
        language::prepare(dir, corpus, validation, vocabulary, size, &mut |what, done, all| bar.tell(what, done, all))?;
    drop(bar);
    let pieces = vocabulary.pieces().len();
    let [train, held_back] = [&cache.train, &cache.validation].map(|split| (split.len(), split.articles));
    let unigram = unigram(&cache.validation, &vocabulary);
    let (loss, right) = single(&cache.validation, &vocabulary);
    let percent = 100.0 * right;
    let text = format!(
        "{}: a vocabulary of {pieces} pieces; {} pieces of {} articles to train on, {} of {} to judge by\n\
         without context, a masked word costs {unigram:.3} nats by frequencies alone, and {loss:.3} for a reader who sees what stands in its place and is right in {percent:.1} % of all cases\ntry: formwright lab list, and formwright lab run NAME --text {0}",
        dir.display(),
        train.0,
        train.1,
        held_back.0,
        held_back.1
    );
    let split = |(pieces, articles)| json!({"pieces": pieces, "articles": articles});
    let json = json!({"dir": dir, "vocabulary": pieces, "sha256": vocabulary.sha256(), "train": split(train), "validation": split(held_back), "without_context": {"unigram": unigram, "loss": loss, "accuracy": right}});
    Ok(Answer::new(text, json))
}

/// Warns where kernels are not kept, since they are compiled and tuned for minutes, and where a card is missing that
/// could be expected.
fn tell_of(device: Device) {
    #[cfg(feature = "libtorch")]
    if device == Device::Libtorch && formwright_lab::device::libtorch() == burn::backend::libtorch::LibTorchDevice::Cpu
    {
        drop(writeln!(io::stderr(), "LibTorch sees no card: it computes on the processor"));
    }
    let kept = ["cubecl.toml", "CubeCL.toml"].iter().any(|file| Path::new(file).exists());
    if device == Device::Cuda && !kept {
        // Where messages cannot be written there is nobody to tell.
        drop(writeln!(
            io::stderr(),
            "kernels are compiled and tuned first, which takes minutes; to keep them in this folder, write a cubecl.toml with\n\
             [autotune]\ncache = \"local\"\n[compilation]\ncache = \"local\""
        ));
    }
}

fn train<E: Study>(folder: &Folder<E>, how: &How, report: fn(&Folder<E>) -> Result<Answer>) -> Result<Answer> {
    tell_of(how.device);
    let stop = Arc::new(AtomicBool::new(false));
    if let Some(minutes) = how.minutes {
        let limit = Duration::try_from_secs_f64(60.0 * minutes)
            .map_err(|_| Error::input(format!("--minutes is {minutes}")).note("expected", "a time"))?;
        let stop = Arc::clone(&stop);
        // It ends with the process, if that ends first.
        std::thread::spawn(move || {
            std::thread::sleep(limit);
            stop.store(true, Ordering::Relaxed);
        });
    }
    let (asked, stopped) = (AtomicBool::new(false), Arc::clone(&stop));
    // A process that is asked twice and does not end is left to the system.
    let handler = move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        stopped.store(true, Ordering::Relaxed);
    };
    drop(ctrlc::set_handler(handler));
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let runs = folder.runs()?;
    let done = runs.iter().filter(|(_, known)| known.as_ref().is_some_and(|(about, _)| about.ended.is_some())).count();
    let jobs =
        how.jobs.unwrap_or_else(|| if how.device == Device::Cpu { cores() } else { 1 }).clamp(1, runs.len().max(1));
    let ended = execute(folder, how.device, jobs, &stop, &Bars::new(jobs, runs.len(), done))?;
    let answer = report(folder)?;
    if ended {
        return Ok(answer);
    }
    let how = if stop.load(Ordering::Relaxed) { "interrupted, and saved" } else { "another process is at the rest" };
    let text = format!("{how}; go on with: formwright lab resume {}", folder.path().display());
    Ok(Answer { text: format!("{}\n\n{text}", answer.text), code: 130, ..answer })
}

/// Writes the summary and the picture of an experiment on texts, and shows the summary.
fn readings(folder: &Folder<language::Experiment>) -> Result<Answer> {
    page::write(folder)?;
    let text =
        format!("{}\nwritten to {}: summary.md, results.csv, figure.svg", page::page(folder)?, folder.path().display());
    Ok(Answer::new(text, json!({"dir": folder.path(), "groups": page::to_json(folder)?})))
}

/// Writes the summary and the picture of an experiment on functions, and shows the summary.
fn functions(folder: &Folder) -> Result<Answer> {
    summary::write(folder)?;
    plot::write(folder)?;
    let dir = folder.path().display();
    let groups: Vec<Value> = summary::groups(folder)?
        .iter()
        .filter_map(|group| {
            let (best, sup) = (group.best()?, group.sup()?);
            let spread = |spread: summary::Spread| json!({"least": spread.least, "middle": spread.middle, "most": spread.most});
            Some(json!({
                "target": group.target, "dims": group.dims, "model": group.model.to_string(), "parameters": group.parameters.to_string(),
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

fn compiled(
    run: &Path,
    attention: Realisation,
    precision: Precision,
    output: Option<&Path>,
    force: bool,
) -> Result<Answer> {
    if let Some(dir) = output {
        artifact::check_place(dir, None)?;
    }
    let (model, held) = compile(run, attention, precision, POINTS)?;
    if let Some(dir) = output {
        let contents = Contents::of(&model)?;
        if force { contents.replace(&model, dir) } else { contents.write(&model, dir) }?;
    }
    let claims: Vec<String> = model.claims()?.iter().map(|(label, text)| format!("{label}: {text}")).collect();
    let Agreement { points, largest, allowed, bounded, allowed_there } = held;
    let held = format!(
        "held to the trained model: their outputs differ by at most {largest:.2e} at {points} points; rounding allows {allowed:.2e} at every point, and {allowed_there:.2e} at most at {bounded} of these"
    );
    let written = output.map_or_else(
        || "nothing is written; try: -o DIR".to_owned(),
        |dir| format!("written to {}; try: formwright inspect {0}", dir.display()),
    );
    let text = [
        &[model.title(), model.made(), model.size_line(), String::new()],
        &claims[..],
        &[held, String::new(), written],
    ]
    .concat();
    let mut json = model.summary()?;
    json["held"] = json!({"points": points, "largest": largest, "allowed": allowed, "bounded": bounded, "allowed_there": allowed_there});
    json["dir"] = json!(output);
    Ok(Answer::new(text.join("\n"), json))
}
