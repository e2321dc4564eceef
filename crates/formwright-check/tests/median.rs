//! The median of copies: shortcuts prove what is proved without them, and what the lines of copies say is not believed.

#![allow(clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};

use formwright_check::{Effort, Files, Verdict, check_with};

fn folder(name: &str) -> PathBuf {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("the crate's folder");
    Path::new(&root).join("../../corpus").join(name)
}

fn verdict(name: &str, change: impl Fn(String) -> String, plain: bool) -> Verdict {
    let read = |file: &str| fs::read(folder(name).join(file)).expect("a file");
    let certificate = change(String::from_utf8(read("certificate.fwc")).expect("a text"));
    let (target, weights) = (read("target.json"), read("model.safetensors"));
    let files = Files { certificate: certificate.as_bytes(), target: &target, weights: &weights };
    check_with(&files, &Effort { plain, ..Effort::default() })
}

#[test]
fn shortcuts_prove_what_is_proved_without_them() {
    for name in ["median", "median-f64", "median-positional", "median-table", "median-table-constant"] {
        let name = format!("accept/{name}");
        let [fast, plain] = [false, true].map(|plain| verdict(&name, |text| text, plain).to_string());
        assert_eq!(fast, plain);
        assert!(fast.starts_with("accepted"), "{fast}");
    }
    for name in ["median-copy", "median-moved", "median-margins", "median-bound", "median-target"] {
        let name = format!("reject/{name}");
        let [fast, plain] = [false, true].map(|plain| verdict(&name, |text| text, plain).to_string());
        assert_eq!(fast, plain);
    }
}

#[test]
fn no_line_of_a_copy_is_believed() {
    let lines = ["grid 1/10 3", "grid 3/10 7", "grid 1/2 11", "grid 7/10 15", "grid 9/10 19"];
    for line in lines {
        let (shift, register) = line.strip_prefix("grid ").and_then(|rest| rest.split_once(' ')).expect("a line");
        for other in ["0", "1", "1/20", "1/5", "2/5", "3/5", "4/5", "19/20", "-1/10", "11/10"] {
            let moved = format!("grid {other} {register}");
            let found = verdict("accept/median", |text| text.replacen(line, &moved, 1), false);
            assert_eq!(found.name(), "rejected", "{moved}: {found}");
        }
        for other in [0, 1, 2, 4, 6, 18] {
            let read = format!("grid {shift} {other}");
            let found = verdict("accept/median", |text| text.replacen(line, &read, 1), false);
            assert_eq!(found.name(), "rejected", "{read}: {found}");
        }
    }
}

#[test]
fn margins_may_be_smaller_only_if_copies_are_right_there() {
    for (margins, name) in
        [("1/10 1/10", "accepted"), ("1/11 1/11", "rejected"), ("1/9 1/9", "rejected"), ("0 0", "rejected")]
    {
        let line = |text: String| text.replacen("margins 1/10 1/10", &format!("margins {margins}"), 1);
        let found = verdict("accept/median", line, false);
        assert_eq!(found.name(), name, "{margins}: {found}");
    }
    let two = verdict("accept/median", |text| text.replacen("margins 1/10 1/10", "margins 1/10 1/11", 1), false);
    assert_eq!(two.name(), "declined", "{two}");
}

#[test]
fn a_table_changes_by_no_more_than_its_constant_exactly() {
    // From 0 to 1 across a corner, half a box apart.
    let (nines, fives) = ("9".repeat(40), format!("5{}", "0".repeat(39)));
    for (constant, name) in [("2", "accepted"), (&format!("{nines}/{fives}"), "rejected"), ("199/100", "rejected")] {
        let line = |text: String| text.replacen("lipschitz 3", &format!("lipschitz {constant}"), 1);
        let found = verdict("accept/median-table-constant", line, false);
        assert_eq!(found.name(), name, "{constant}: {found}");
    }
}
