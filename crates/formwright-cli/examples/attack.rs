//! Attacks on the checker: what it must accept, reject and decline, and what was tried to make it accept what is not so.
//!
//! ```sh
//! cargo run --release -p formwright-cli --example attack corpus     # writes corpus/
//! cargo run --release -p formwright-cli --example attack mutants    # some minutes; writes attacks/mutants.json
//! cargo run --release -p formwright-cli --example attack needles    # likewise attacks/needles.json
//! cargo run --release -p formwright-cli --example attack circuits --count 5000 --rounds 20   # an hour; writes attacks/circuits.json
//! cargo run --release -p formwright-cli --example attack tents      # likewise attacks/tents.json
//! cargo run --release -p formwright-cli --example attack aimed      # likewise attacks/aimed.json
//! cargo run --release -p formwright-cli --example attack programs   # minutes to an hour; writes attacks/programs.json
//! cargo run --release -p formwright-cli --example attack page       # writes attacks/README.md and the figures of TRUST.md
//! ```

#[path = "../tests/attack/mod.rs"]
mod attack;
#[path = "../../formwright/tests/support/report.rs"]
mod report;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use attack::artifacts::{Artifact, families};
use attack::{Tally, aimed, circuits};
use clap::{Args, Parser, Subcommand};
use report::{duration, grouped, machine, table, today};
use serde_json::{Value, json};

/// Attacks on the checker.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes corpus/ anew.
    Corpus,
    /// True claims with one change somewhere.
    Mutants(How),
    /// Networks and targets that are wrong at one place.
    Needles(How),
    /// Circuits with one change or two somewhere.
    Circuits(How),
    /// Circuits with a tent in a gate.
    Tents(How),
    /// Circuits with a change that is aimed at a rule.
    Aimed(How),
    /// Random programs, compiled and checked.
    Programs {
        /// The number of programs.
        #[arg(long, default_value_t = 5_000)]
        count: u64,
    },
    /// Writes what was recorded of all of them into attacks/README.md and TRUST.md.
    Page,
}

#[derive(Args)]
struct How {
    /// The number of changes.
    #[arg(long, default_value_t = 10_000)]
    count: usize,
    /// How many besides of those families whose false claims take long to reject.
    #[arg(long, default_value_t = 0)]
    slow: usize,
    /// The seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many times so many, of circuits, with the seeds that follow, two at a time; what was said is recorded after these.
    #[arg(long, default_value_t = 1)]
    rounds: u64,
}

type Outcome = Result<(), Box<dyn Error>>;

/// A place in the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn write(folder: &Path, files: impl IntoIterator<Item = (&'static str, Vec<u8>)>) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    files.into_iter().try_for_each(|(name, bytes)| fs::write(folder.join(name), bytes))
}

fn corpus() -> Outcome {
    let (corpus, cases) = (repository("corpus"), attack::corpus::cases());
    for verdict in ["accept", "reject", "decline"] {
        drop(fs::remove_dir_all(corpus.join(verdict)));
    }
    cases.into_iter().try_for_each(|case| write(&corpus.join(case.folder()), case.files()))?;
    let hosts = corpus.join("hosts");
    drop(fs::remove_dir_all(&hosts));
    attack::hosts::cases().into_iter().try_for_each(|case| write(&hosts.join(case.folder()), case.contents()))?;
    Ok(())
}

/// One kind of attack on artifacts: so many of it, with a seed.
type Run = fn(&[Artifact], usize, u64) -> Tally;

/// Runs and records what is tried of every family.
fn record(name: &str, how: &How, run: Run) -> Outcome {
    let (quick, slow): (Vec<_>, Vec<_>) = families().into_iter().partition(Artifact::is_quick);
    let start = Instant::now();
    record_of(name, how, start, &[run(&quick, how.count, how.seed), run(&slow, how.slow, how.seed)])
}

/// The same of circuits that are proved by lines.
fn record_circuits(name: &str, how: &How, circuits: &[Artifact], run: Run) -> Outcome {
    let (start, mut tallies, mut outcome) = (Instant::now(), Vec::new(), Ok(()));
    let rounds: Vec<u64> = (0..how.rounds).collect();
    for some in rounds.chunks(2) {
        let tried = |round: &u64| run(circuits, how.count, how.seed + round);
        tallies.extend(thread::scope(|scope| {
            let running: Vec<_> = some.iter().map(|round| scope.spawn(move || tried(round))).collect();
            running.into_iter().map(|round| round.join().expect("a round")).collect::<Vec<Tally>>()
        }));
        outcome = record_of(name, how, start, &tallies);
    }
    outcome
}

/// Compiles and checks random programs; what was said is recorded after each hundred.
fn record_programs(count: u64) -> Outcome {
    let (start, mut programs) = (Instant::now(), attack::programs::Programs::default());
    for seed in 0..count {
        programs.try_one(seed);
        if (seed + 1) % 100 == 0 || seed + 1 == count {
            let row = |((said, why), of): (&(&str, String), &attack::programs::Said)| json!({"said": said, "why": why, "programs": of.count, "seed": of.seed, "tokens": of.tokens, "shortest": of.text});
            let record = json!({
                "date": today(),
                "machine": machine(),
                "tried": programs.tried,
                "seconds": start.elapsed().as_secs(),
                "said": programs.said.iter().map(row).collect::<Vec<_>>(),
            });
            fs::write(repository("attacks/programs.json"), format!("{record:#}\n"))?;
        }
    }
    write_failures("programs", &programs.failures)
}

/// Records what was said; what should not be is written beside the record.
fn record_of(name: &str, how: &How, start: Instant, tallies: &[Tally]) -> Outcome {
    let failures: Vec<(String, Artifact)> = tallies.iter().flat_map(|tally| tally.failures.clone()).collect();
    let mut said: BTreeMap<&str, BTreeMap<&str, BTreeMap<&str, usize>>> = BTreeMap::new();
    for ((group, kind), verdicts) in tallies.iter().flat_map(|tally| &tally.said) {
        for (verdict, count) in verdicts {
            *said.entry(group).or_default().entry(kind).or_default().entry(verdict).or_default() += count;
        }
    }
    let record = json!({
        "date": today(),
        "machine": machine(),
        "seed": how.seed,
        "rounds": tallies.len(),
        "tried": tallies.iter().map(|tally| tally.tried).sum::<usize>(),
        "seconds": start.elapsed().as_secs(),
        "failures": failures.len(),
        "said": said,
    });
    fs::create_dir_all(repository("attacks"))?;
    fs::write(repository(&format!("attacks/{name}.json")), format!("{record:#}\n"))?;
    write_failures(name, &failures)
}

/// Writes the files of what should not be.
fn write_failures(name: &str, failures: &[(String, Artifact)]) -> Outcome {
    for (number, (what, artifact)) in failures.iter().enumerate() {
        let folder = repository(&format!("attacks/failures/{name}-{number}"));
        write(&folder, artifact.files().map(|(name, bytes)| (name, bytes.to_vec())))?;
        eprintln!("{}: {what}: {}", artifact.name, folder.display());
    }
    if failures.is_empty() { Ok(()) } else { Err(format!("{} failures", failures.len()).into()) }
}

/// The record of a run.
struct Recorded(Value);

impl Recorded {
    fn read(name: &str) -> Result<Self, Box<dyn Error>> {
        Ok(Self(serde_json::from_slice(&fs::read(repository(&format!("attacks/{name}.json")))?)?))
    }

    /// How often something was said, in all; of one kind of change, of one group, or of everything.
    fn count(&self, said: &str) -> u64 {
        let groups = self.0["said"].as_object().into_iter().flatten();
        groups
            .flat_map(|(_, kinds)| kinds.as_object().into_iter().flatten())
            .filter_map(|(_, all)| all[said].as_u64())
            .sum()
    }

    fn tried(&self) -> u64 {
        self.0["tried"].as_u64().unwrap_or(0)
    }

    /// A row a kind of change, a column a word of the checker's.
    fn table(&self, words: &[&str]) -> String {
        let mut rows = Vec::new();
        for (group, kinds) in self.0["said"].as_object().into_iter().flatten() {
            for (kind, all) in kinds.as_object().into_iter().flatten() {
                let count = |word: &&str| all[*word].as_u64().map_or(String::new(), grouped);
                let tried = all.as_object().into_iter().flatten().filter_map(|(_, n)| n.as_u64()).sum::<u64>();
                let row = [group.clone(), kind.clone(), grouped(tried)];
                rows.push(row.into_iter().chain(words.iter().map(count)).collect());
            }
        }
        let total = ["all".to_owned(), String::new(), grouped(self.tried())];
        rows.push(total.into_iter().chain(words.iter().map(|word| grouped(self.count(word)))).collect());
        table(&[&["of", "what", "tried"], words].concat(), &rows)
    }

    /// What was said of programs, and why: so many, and the shortest of them.
    fn reasons(&self) -> String {
        let mut rows: Vec<&Value> = self.0["said"].as_array().into_iter().flatten().collect();
        rows.sort_by_key(|row| (row["said"].to_string(), std::cmp::Reverse(row["programs"].as_u64())));
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().replace('|', "\\|");
        let cells = |row: &&Value| {
            let shortest = format!("`{}`", text(row, "shortest"));
            vec![text(row, "said"), row["programs"].to_string(), text(row, "why"), shortest, row["tokens"].to_string()]
        };
        table(&["", "programs", "reason", "the shortest", "tokens"], &rows.iter().map(cells).collect::<Vec<_>>())
    }

    /// The date, the machine and the duration of the run, and the seeds if there are any.
    fn when(&self) -> String {
        let text = |name: &str| self.0[name].as_str().unwrap_or_default();
        let seconds = self.0["seconds"].as_u64().and_then(|s| u32::try_from(s).ok()).map_or(0.0, f64::from);
        let seeds = match (self.0["seed"].as_u64(), self.0["rounds"].as_u64()) {
            (None, _) => String::new(),
            (Some(seed), Some(rounds)) if rounds > 1 => format!("seeds {seed} to {}, ", seed + rounds - 1),
            (Some(seed), _) => format!("seed {seed}, "),
        };
        format!("{}, {}; {seeds}{}", text("date"), text("machine"), duration(seconds))
    }
}

/// The lines of sources that are neither tests nor comments nor empty.
fn lines(folder: &Path) -> std::io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            count += lines(&path)?;
        } else if !path.ends_with("tests.rs") {
            let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
            count += fs::read_to_string(path)?.lines().filter(code).count();
        }
    }
    Ok(count)
}

/// What is said of circuits whose lines are proved.
const ON_LINES: [&str; 9] = ["accepted", "declined", "format", "line", "weights", "target", "claim", "finite", "point"];

fn page() -> Outcome {
    let (mutants, needles) = (Recorded::read("mutants")?, Recorded::read("needles")?);
    let (circuits, tents, aimed) = (Recorded::read("circuits")?, Recorded::read("tents")?, Recorded::read("aimed")?);
    let programs = Recorded::read("programs")?;
    let folders = |verdict: &str| fs::read_dir(repository("corpus").join(verdict)).map_or(0, Iterator::count);
    let [accept, reject, decline] = ["accept", "reject", "decline"].map(folders);
    let (accepted, failures) =
        (mutants.count("accepted"), [&mutants, &needles].map(|run| run.0["failures"].to_string()));
    let page = format!(
        include_str!("../tests/attack/page.md"),
        accept = accept,
        reject = reject,
        decline = decline,
        mutants_when = mutants.when(),
        mutants = grouped(mutants.tried()),
        accepted = grouped(accepted),
        mutants_failures = failures[0],
        mutants_table = mutants.table(&[
            "accepted", "declined", "format", "hash", "weights", "target", "claim", "finite", "point", "integral"
        ]),
        needles_when = needles.when(),
        needles = grouped(needles.tried()),
        needles_failures = failures[1],
        elsewhere = grouped(needles.count(attack::needles::ELSEWHERE)),
        needles_table =
            needles.table(&["accepted", "declined", "point", attack::needles::ELSEWHERE, "integral", "finite"]),
        circuits_when = circuits.when(),
        circuits = grouped(circuits.tried()),
        circuits_accepted = grouped(circuits.count("accepted")),
        circuits_failures = circuits.0["failures"],
        circuits_table = circuits.table(&ON_LINES),
        tents_when = tents.when(),
        tents = grouped(tents.tried()),
        tents_accepted = tents.count("accepted"),
        tents_table = tents.table(&ON_LINES),
        aimed_when = aimed.when(),
        aimed = grouped(aimed.tried()),
        aimed_accepted = grouped(aimed.count("accepted")),
        aimed_failures = aimed.0["failures"],
        aimed_table = aimed.table(&ON_LINES),
        programs_when = programs.when(),
        programs = grouped(programs.tried()),
        programs_table = programs.reasons(),
    );
    fs::write(repository("attacks/README.md"), page)?;
    let lines = lines(&repository("crates/formwright-check/src"))?;
    let figures = table(
        &["", "", ""],
        &[
            vec![
                "the checker".into(),
                format!("{} lines of Rust, without tests, comments and empty lines", grouped(lines)),
                "`crates/formwright-check/src`".into(),
            ],
            vec![
                "corpus".into(),
                format!("{accept} accepted, {reject} rejected, {decline} declined, as they must be"),
                "`corpus/`".into(),
            ],
            vec![
                "mutants".into(),
                format!(
                    "{} tried, {} accepted, of which false or not shown true {}",
                    grouped(mutants.tried()),
                    grouped(accepted),
                    failures[0]
                ),
                "`attacks/README.md`".into(),
            ],
            vec![
                "needles".into(),
                format!(
                    "{} hidden, {} found",
                    grouped(needles.tried()),
                    grouped(needles.tried() - needles.count("accepted") - needles.count("declined"))
                ),
                "`attacks/README.md`".into(),
            ],
            vec![
                "mutants of circuits".into(),
                format!(
                    "{} at random and {} aimed at a rule; {} accepted, of which false or not shown true {}",
                    grouped(circuits.tried()),
                    grouped(aimed.tried()),
                    grouped(circuits.count("accepted") + aimed.count("accepted")),
                    [&circuits, &aimed].iter().filter_map(|run| run.0["failures"].as_u64()).sum::<u64>()
                ),
                "`attacks/README.md`".into(),
            ],
            vec![
                "tents in a gate".into(),
                format!("{} hidden, {} accepted", grouped(tents.tried()), tents.count("accepted")),
                "`attacks/README.md`".into(),
            ],
        ],
    );
    let trust = fs::read_to_string(repository("TRUST.md"))?;
    let (before, rest) = trust.split_once(BEGIN).ok_or("TRUST.md has no place for figures")?;
    let (_, after) = rest.split_once(END).ok_or("the figures of TRUST.md have no end")?;
    fs::write(repository("TRUST.md"), format!("{before}{BEGIN}\n{figures}{END}{after}"))?;
    Ok(())
}

/// Between these TRUST.md has its figures.
const BEGIN: &str = "<!-- figures, by the command `attack page` -->";
const END: &str = "<!-- end of the figures -->";

fn main() -> Outcome {
    match Arguments::parse().command {
        Command::Corpus => corpus(),
        Command::Mutants(how) => record("mutants", &how, attack::mutants::run),
        Command::Needles(how) => record("needles", &how, attack::needles::run),
        Command::Circuits(how) => record_circuits("circuits", &how, &circuits::families(), circuits::run),
        Command::Tents(how) => record_circuits("tents", &how, &circuits::families(), circuits::tents),
        Command::Aimed(how) => record_circuits("aimed", &how, &aimed::families(), aimed::run),
        Command::Programs { count } => record_programs(count),
        Command::Page => page(),
    }
}
