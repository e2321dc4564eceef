//! The registry of statements, THEOREMS.md and the tests stay in step.

use std::collections::BTreeSet;
use std::path::Path;

use formwright::theorems::{STATEMENTS, markdown};

#[test]
fn theorems_md_is_the_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../THEOREMS.md");
    if std::env::var_os("UPDATE_THEOREMS").is_some() {
        std::fs::write(&path, markdown()).expect("THEOREMS.md is written");
    }
    let page = std::fs::read_to_string(path).expect("THEOREMS.md");
    assert!(
        page == markdown(),
        "THEOREMS.md is out of date: UPDATE_THEOREMS=1 cargo test -p formwright --lib registry"
    );
}

#[test]
fn every_test_and_module_that_is_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for statement in STATEMENTS {
        assert!(root.join("../..").join(statement.module).is_file(), "{}: no file {}", statement.id, statement.module);
        assert!(!statement.checked.is_empty(), "{} is checked by nothing", statement.id);
        for test in statement.checked {
            let (file, name) = test.split_once("::").expect("file::test");
            let source = std::fs::read_to_string(root.join("tests").join(format!("{file}.rs"))).expect(file);
            assert!(source.contains(&format!("fn {name}(")), "{}: there is no test {test}", statement.id);
        }
    }
}

/// Every theorem that a statement names is proved, and every one that is proved without an axiom has its statement.
#[test]
fn statements_name_the_theorems_in_coq() {
    let formal = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../formal");
    let listed = std::fs::read_to_string(formal.join("theorems.txt")).expect("theorems.txt");
    // Those with a second word are the rules of CERTIFICATE.md, which has its own links.
    let listed: BTreeSet<&str> = listed.lines().filter(|line| !line.contains(' ')).collect();
    let named: Vec<&str> = STATEMENTS.iter().flat_map(|statement| statement.machine_checked).copied().collect();
    assert_eq!(named.iter().copied().collect::<BTreeSet<_>>(), listed);
    assert_eq!(named.len(), listed.len(), "a theorem that belongs to two statements");
    for theorem in named {
        let (file, name) = theorem.split_once('.').expect("File.theorem");
        let source = std::fs::read_to_string(formal.join(format!("theories/{file}.v"))).expect(file);
        let proved = ["Theorem", "Lemma", "Corollary"].map(|word| format!("{word} {name}"));
        let follows = |line: &str, start: &str| {
            line.strip_prefix(start).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        assert!(source.lines().any(|line| proved.iter().any(|start| follows(line, start))), "no theorem {theorem}");
    }
}

#[test]
fn ids_are_unique() {
    for (k, statement) in STATEMENTS.iter().enumerate() {
        assert!(STATEMENTS[..k].iter().all(|other| other.id != statement.id));
    }
}
