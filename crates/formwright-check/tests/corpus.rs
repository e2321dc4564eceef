//! Every folder of the corpus gets the verdict that it must have, for the reason that it has; and what is said of it, word by word and number by number.

#![allow(clippy::expect_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use formwright_check::{Files, Verdict, check, check_folder};

/// The three files of a folder.
struct Case {
    certificate: Vec<u8>,
    target: Vec<u8>,
    weights: Vec<u8>,
}

impl Case {
    fn read(folder: &Path) -> Self {
        let read = |name: &str| fs::read(folder.join(name)).expect("a file");
        Self { certificate: read("certificate.fwc"), target: read("target.json"), weights: read("model.safetensors") }
    }

    fn verdict(&self) -> Verdict {
        check(&Files { certificate: &self.certificate, target: &self.target, weights: &self.weights })
    }

    /// The same with a claim that is true of few networks: what is proved then stands in the rejection.
    fn without_error(&self) -> Self {
        let certificate = String::from_utf8(self.certificate.clone()).expect("a text");
        let lines = certificate.lines().map(|line| if line.starts_with("bound ") { "bound 0" } else { line });
        let certificate = lines.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes();
        Self { certificate, target: self.target.clone(), weights: self.weights.clone() }
    }
}

/// The folders of a verdict, in order. The place is asked for when the test runs: `mutants.py` runs it elsewhere.
fn folders(verdict: &str) -> Vec<PathBuf> {
    let crate_folder = std::env::var("CARGO_MANIFEST_DIR").expect("the crate's folder");
    let corpus = Path::new(&crate_folder).join("../../corpus").join(verdict);
    let mut folders: Vec<PathBuf> =
        fs::read_dir(corpus).expect("a folder").map(|entry| entry.expect("a folder").path()).collect();
    folders.sort();
    folders
}

#[test]
fn the_corpus_gets_the_verdicts_it_must_have() {
    for wanted in ["accept", "reject", "decline"] {
        for folder in folders(wanted) {
            let verdict = Case::read(&folder).verdict();
            let obligation = match &verdict {
                Verdict::Accepted(_) => None,
                Verdict::Rejected(reason) | Verdict::Declined(reason) => Some(reason.obligation),
            };
            let why = fs::read_to_string(folder.join("why")).ok();
            assert!(verdict.name().starts_with(wanted), "{}: {verdict}", folder.display());
            let named = why.as_deref().map(|why| why.split(": ").next().expect("an obligation"));
            assert_eq!(obligation, named, "{}: {verdict}", folder.display());
        }
    }
}

/// `UPDATE_VERDICTS=1` writes what is said now.
#[test]
fn what_is_said_of_the_corpus_stays() {
    let mut said = String::new();
    for wanted in ["accept", "reject", "decline"] {
        for folder in folders(wanted) {
            let (case, name) = (Case::read(&folder), folder.file_name().expect("a name").to_string_lossy());
            writeln!(said, "{wanted}/{name}\n  {}", case.verdict()).expect("a text");
            if wanted == "accept" {
                writeln!(said, "  with the bound 0: {}", case.without_error().verdict()).expect("a text");
            }
        }
    }
    if std::env::var_os("UPDATE_VERDICTS").is_some() {
        let crate_folder = std::env::var("CARGO_MANIFEST_DIR").expect("the crate's folder");
        fs::write(Path::new(&crate_folder).join("tests/verdicts.txt"), &said).expect("written");
        return;
    }
    for (now, before) in said.lines().zip(include_str!("verdicts.txt").lines()) {
        assert_eq!(now, before);
    }
    assert_eq!(said.lines().count(), include_str!("verdicts.txt").lines().count());
}

/// Hosts have more files.
#[test]
fn the_hosts_of_the_corpus_get_the_verdicts_they_must_have() {
    let mut count = 0;
    for wanted in ["hosts/accept", "hosts/reject", "hosts/decline"] {
        for folder in folders(wanted) {
            let verdict = check_folder(&folder).expect("files");
            let obligation = match &verdict {
                Verdict::Accepted(_) => None,
                Verdict::Rejected(reason) | Verdict::Declined(reason) => Some(reason.obligation),
            };
            let why = fs::read_to_string(folder.join("why")).ok();
            let given = wanted.trim_start_matches("hosts/");
            assert!(verdict.name().starts_with(given), "{}: {verdict}", folder.display());
            let named = why.as_deref().map(|why| why.split(": ").next().expect("an obligation"));
            assert_eq!(obligation, named, "{}: {verdict}", folder.display());
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}
