//! `formwright inspect --meanings`: what people read of registers is what the checker proves, offset by offset, factor by factor.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A command, whether it succeeds, and what it prints.
fn command(arguments: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_formwright")).args(arguments).output().expect("the binary");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// A command that must succeed.
fn run(arguments: &[&str]) -> String {
    let (done, printed, told) = command(arguments);
    assert!(done, "{arguments:?}: {told}");
    printed
}

/// An error is shown rounded up in the sixth digit.
const SHOWN: f64 = 1.0 / 32_768.0;

/// The entry of `model.json` for a register behind a stage: the last that it held.
fn said<'f>(held: &'f [Value], stages: &[String], stage: &str) -> &'f Value {
    let at = |stage: &str| stages.iter().position(|known| known == stage).expect("a stage");
    let mut before = held.iter().filter(|held| at(held["from"].as_str().expect("a stage")) <= at(stage));
    before.next_back().expect("what it holds")
}

/// Compares all lines that are proved of a folder with its `model.json`; how many registers' lines there are.
fn compare(dir: &Path, name: &str) -> usize {
    let file: Value = serde_json::from_slice(&std::fs::read(dir.join("model.json")).expect("a file")).expect("JSON");
    let printed = run(&["inspect", "--meanings", "--json", &dir.display().to_string()]);
    let proved: Value = serde_json::from_str(&printed).expect("JSON");
    let lines = proved["lines"].as_array().expect("lines");
    let mut stages: Vec<String> = Vec::new();
    for line in lines {
        let stage = line["stage"].as_str().expect("a stage");
        if stages.last().is_none_or(|last| last != stage) {
            stages.push(stage.to_owned());
        }
        assert!(!line["rules"].as_array().expect("rules").is_empty(), "{name}: no rule: {line}");
    }
    let (mut count, mut last) = (0, BTreeMap::new());
    for line in lines {
        let Some(register) = line["register"].as_u64() else { continue };
        let register = usize::try_from(register).expect("a register");
        let held = file["coordinates"][register]["held"].as_array().expect("what it holds");
        let said = said(held, &stages, line["stage"].as_str().expect("a stage"));
        assert_eq!((&line["offset"], &line["terms"]), (&said["offset"], &said["terms"]), "{name}: {line}");
        let error: f64 = line["error"].as_str().expect("a number").parse().expect("a number");
        let shown = said["error"].as_f64().expect("a number");
        assert!(error <= shown * (1.0 + SHOWN), "{name}: {error:e} is proved, and {shown:e} is shown: {line}");
        count += 1;
        last.insert(register, (line["offset"].clone(), line["terms"].clone()));
    }
    // What is shown is in the certificate: a register that is shown to hold something has a line.
    for (register, coordinate) in file["coordinates"].as_array().expect("registers").iter().enumerate() {
        let held = coordinate["held"].as_array().expect("held").last().expect("what it holds");
        assert_eq!(last[&register], (held["offset"].clone(), held["terms"].clone()), "{name}: register {register}");
    }
    count
}

#[test]
fn what_is_shown_is_what_is_proved() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut lines, mut compared) = (0, 0);
    for (name, tokens, precision, trade) in [
        ("mean-centring", "3", "f32", "width"),
        ("z-score", "3", "f32", "width"),
        ("z-score", "3", "f64", "depth"),
        ("z-score", "2", "f32", "depth"),
        ("times-mean", "4", "f32", "depth"),
        ("prefix-sum", "2", "f32", "width"),
        ("moving-average", "5", "f64", "width"),
        ("max-broadcast", "8", "f32", "width"),
        ("reverse", "4", "f32", "width"),
        ("difference", "4", "f64", "width"),
        ("attention-pooling", "3", "f64", "width"),
        ("softmax", "4", "f32", "width"),
        ("l2-normalise", "3", "f64", "depth"),
    ] {
        let dir = folder.path().join(format!("{name}-{tokens}-{precision}-{trade}"));
        let to = dir.display().to_string();
        let options = ["--tokens", tokens, "--precision", precision, "--trade", trade, "--construction", "circuit"];
        run(&[&["build", name, "-o", &to][..], &options].concat());
        lines += compare(&dir, &format!("{name}, {tokens} tokens, {precision}, {trade}"));
        compared += 1;
    }
    assert!(compared == 13 && lines > 100, "{lines} lines of {compared} folders");
}

#[test]
fn a_folder_without_proved_lines_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("square");
    let to = dir.display().to_string();
    run(&["build", "square", "--construction", "circuit", "--tokens", "2", "-o", &to]);
    let certificate = dir.join("certificate.fwc");
    let text = std::fs::read_to_string(&certificate).expect("a certificate");
    // An offset that the target does not have.
    let (before, after) = text.split_once("\noutput 0 ").expect("an output");
    std::fs::write(&certificate, format!("{before}\noutput 1 {after}")).expect("a file");
    let (done, _, told) = command(&["inspect", "--meanings", &to]);
    let reason =
        "declined: scope: output 0 of token 0 of 1 is not shown to be the target: its form is 1 from the target";
    assert!(!done && told.contains(reason), "{told}");
}

/// Claims over integers of which there are far too many to be told one by one are decided by lines.
#[test]
fn claims_over_many_integers_are_decided_by_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, target, tokens) in [
        ("sort", "sort(x) on integers 0..10", "10"),
        ("reverse", "x[n - 1 - i] on integers 0..16", "12"),
        ("prefix", "sum(x, j <= i) on integers 0..10", "16"),
        ("steps", "(if x == 3 then 1 else 0) + x mod 7 on integers 0..100", "9"),
        ("histogram", "count(x == x[i]) on integers 0..6", "24"),
        ("brackets", "dyck-1", "20"),
        ("addition", "addition", "6"),
    ] {
        let dir = folder.path().join(name);
        let to = dir.display().to_string();
        run(&["build", target, "--tokens", tokens, "--construction", "circuit", "-o", &to]);
        let said = run(&["check", &to]);
        assert!(said.starts_with("accepted") && said.contains("line by line"), "{target}: {said}");
        compare(&dir, target);
    }
}
