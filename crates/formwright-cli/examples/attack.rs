//! Attacks on the checker: what it must accept, reject and decline, and what was tried to make it accept what is not so.
//!
//! ```sh
//! cargo run --release -p formwright-cli --example attack corpus
//! ```

#[path = "../tests/attack/mod.rs"]
mod attack;

use std::fs;
use std::path::{Path, PathBuf};

use attack::Tally;
use attack::artifacts::{Artifact, families};
use clap::{Args, Parser, Subcommand};

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
}

#[derive(Args)]
struct How {
    /// How many.
    #[arg(long, default_value_t = 20_000)]
    count: usize,
    /// How many besides of those families whose false claims take long to reject.
    #[arg(long, default_value_t = 0)]
    slow: usize,
    /// What chance begins with.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A place in the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn corpus() -> std::io::Result<()> {
    let (corpus, cases) = (repository("corpus"), attack::corpus::cases());
    for verdict in ["accept", "reject", "decline"] {
        drop(fs::remove_dir_all(corpus.join(verdict)));
    }
    for case in cases {
        let folder = corpus.join(case.folder());
        fs::create_dir_all(&folder)?;
        for (name, bytes) in case.files() {
            fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}

fn report(how: &How, run: fn(&[Artifact], usize, u64) -> Tally) -> std::io::Result<()> {
    let t = std::time::Instant::now();
    let (quick, slow): (Vec<_>, Vec<_>) = families().into_iter().partition(Artifact::is_quick);
    let tally = run(&quick, how.count, how.seed).and(run(&slow, how.slow, how.seed));
    for (what, said) in &tally.said {
        println!("{what:?} {said:?}");
    }
    println!("{} in {:?}", tally.tried, t.elapsed());
    for (k, (what, artifact)) in tally.failures.iter().enumerate() {
        println!("FAIL {k} {} {what}", artifact.name);
        if k < 200 {
            let dir = std::env::temp_dir().join(format!("fail-{k}"));
            fs::create_dir_all(&dir)?;
            for (name, bytes) in artifact.files() {
                fs::write(dir.join(name), bytes)?;
            }
        }
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    match Arguments::parse().command {
        Command::Corpus => corpus(),
        Command::Mutants(how) => report(&how, attack::mutants::run),
        Command::Needles(how) => report(&how, attack::needles::run),
    }
}
