//! The checker under attack. The full runs are recorded in `attacks/README.md`; `cargo run --release -p formwright-cli --example attack` is behind them.

#[path = "attack/mod.rs"]
mod attack;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use attack::artifacts::{Artifact, families};
use attack::corpus::{Case, cases};
use attack::programs::Programs;
use attack::{Tally, aimed, circuits, hosts, mutants, needles};

/// Every folder of the corpus, read from the disk.
fn stored() -> Vec<Case> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut stored = Vec::new();
    for verdict in ["accept", "reject", "decline"] {
        for folder in fs::read_dir(corpus.join(verdict)).expect("a folder") {
            let folder = folder.expect("a folder").path();
            let read = |name: &str| fs::read(folder.join(name)).expect("a file");
            let why =
                (verdict != "accept").then(|| String::from_utf8(read("why")).expect("a line").trim_end().to_owned());
            let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
            let [certificate, target, weights] = ["certificate.fwc", "target.json", "model.safetensors"].map(read);
            stored.push(Case { verdict, why, artifact: Artifact { name, certificate, target, weights } });
        }
    }
    stored
}

#[test]
fn the_corpus_is_small_and_covers_every_obligation() {
    let stored = stored();
    let size = |case: &Case| case.files().values().map(Vec::len).sum::<usize>();
    assert!(stored.iter().all(|case| size(case) < 70_000) && stored.iter().map(size).sum::<usize>() < 2_500_000);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &stored {
        *counts
            .entry(case.why.as_deref().map_or("none", |why| why.split(':').next().expect("an obligation")))
            .or_default() += 1;
    }
    for (obligation, least) in
        [("none", 15), ("format", 20), ("hash", 3), ("weights", 10), ("target", 8), ("claim", 6), ("finite", 3)]
    {
        assert!(counts[obligation] >= least, "{counts:?}");
    }
    assert!(counts["median"] >= 6, "{counts:?}");
    assert!(counts["point"] >= 6 && counts["integral"] >= 4 && counts["scope"] >= 8, "{counts:?}");
}

#[test]
fn the_corpus_is_what_its_command_writes() {
    let folders =
        |cases: Vec<Case>| -> BTreeMap<_, _> { cases.iter().map(|case| (case.folder(), case.files())).collect() };
    assert!(
        folders(stored()) == folders(cases()),
        "write it anew: cargo run --release -p formwright-cli --example attack corpus"
    );
}

#[test]
fn the_corpus_of_hosts_is_what_its_command_writes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/hosts");
    let mut written = 0;
    for case in hosts::cases() {
        for (name, bytes) in case.contents() {
            let path = corpus.join(case.folder()).join(name);
            assert!(fs::read(&path).is_ok_and(|found| found == bytes), "write it anew: {}", path.display());
            written += 1;
        }
    }
    let folders = fs::read_dir(corpus).expect("a folder").map(|entry| entry.expect("a folder").path());
    let cases = folders.flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let files = cases.flat_map(|case| fs::read_dir(case.expect("a folder").path()).expect("a folder"));
    assert_eq!(files.count(), written);
}

/// Those whose false claims are rejected at once.
fn quick() -> Vec<Artifact> {
    families().into_iter().filter(Artifact::is_quick).collect()
}

/// Whatever must not be, and how often the checker said something.
fn outcome(tally: &Tally, word: &str) -> (Vec<String>, usize) {
    let failures = tally.failures.iter().map(|(what, artifact)| format!("{}: {what}", artifact.name)).collect();
    (failures, tally.said.values().filter_map(|said| said.get(word)).sum())
}

#[test]
fn what_is_accepted_of_changed_files_is_still_true() {
    let tally = mutants::run(&quick(), 1500, 20_200_226);
    let (failures, accepted) = outcome(&tally, "accepted");
    assert_eq!((tally.tried, failures), (1500, vec![]));
    assert!((100..1000).contains(&accepted), "{accepted} of the changes are harmless");
}

#[test]
fn what_is_wrong_at_one_place_is_found_there() {
    let tally = needles::run(&quick(), 500, 20_200_226);
    let (failures, elsewhere) = outcome(&tally, needles::ELSEWHERE);
    assert_eq!((tally.tried, failures), (500, vec![]));
    assert!(elsewhere < 50, "{elsewhere} times another place is named");
}

/// Every fifth of the circuits: each costs a build.
fn some_circuits() -> Vec<Artifact> {
    circuits::families().into_iter().step_by(5).collect()
}

#[test]
fn what_is_accepted_of_changed_circuits_is_still_true() {
    let tally = circuits::run(&some_circuits(), 150, 20_200_226);
    let (failures, accepted) = outcome(&tally, "accepted");
    assert_eq!((tally.tried, failures), (150, vec![]));
    assert!((8..75).contains(&accepted), "{accepted} of the changes are harmless");
}

#[test]
fn no_tent_in_a_gate_is_accepted() {
    let tally = circuits::tents(&some_circuits(), 60, 20_200_226);
    let (failures, accepted) = outcome(&tally, "accepted");
    assert_eq!((tally.tried, failures, accepted), (60, vec![], 0));
}

#[test]
fn what_is_aimed_at_a_rule_is_accepted_only_if_it_is_true() {
    let some: Vec<Artifact> = aimed::families().into_iter().step_by(4).collect();
    let tally = aimed::run(&some, 120, 20_200_226);
    let (failures, accepted) = outcome(&tally, "accepted");
    assert_eq!((tally.tried, failures), (120, vec![]));
    assert!((5..60).contains(&accepted), "{accepted} of the changes are harmless");
}

#[test]
fn random_programs_are_accepted_or_declined() {
    let mut programs = Programs::default();
    (0..60).for_each(|seed| programs.try_one(seed));
    let failures: Vec<&String> = programs.failures.iter().map(|(what, _)| what).collect();
    assert!(programs.tried == 60 && failures.is_empty(), "{failures:?}");
    assert!(programs.said[&("accepted", String::new())].count > 40, "{:?}", programs.said);
    assert!(programs.said.values().all(|said| said.seed < 60 && (2..9).contains(&said.tokens)), "{:?}", programs.said);
}
