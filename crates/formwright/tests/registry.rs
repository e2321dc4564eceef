//! The registry of statements, THEOREMS.md and the tests stay in step.

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

#[test]
fn ids_are_unique() {
    for (k, statement) in STATEMENTS.iter().enumerate() {
        assert!(STATEMENTS[..k].iter().all(|other| other.id != statement.id));
    }
}
