//! `formwright runtime`: the folder, the judgement and its exit codes, and what is refused.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Runs the binary in a folder.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_formwright"))
        .arg("runtime")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the binary")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The allowed answers of a probe, each the lowest.
fn lowest(folder: &Path) -> Value {
    let probe: Value = serde_json::from_slice(&fs::read(folder.join("probe.json")).expect("a file")).expect("JSON");
    let low = |y: &Value| if y.is_array() { y[0].clone() } else { y.clone() };
    let token = |row: &Value| -> Value { row.as_array().expect("outputs").iter().map(low).collect() };
    let case = |case: &Value| -> Value { case["allowed"].as_array().expect("tokens").iter().map(token).collect() };
    probe["cases"].as_array().expect("cases").iter().map(case).collect()
}

#[test]
fn answers_are_judged_with_a_witness_and_an_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    for precision in ["f32", "f64"] {
        let written = run(folder.path(), &["-o", precision, "--precision", precision]);
        assert!(written.status.success() && text(&written.stdout).starts_with(&format!("written to {precision}")));
        let mut answers = lowest(&folder.path().join(precision));
        let judged = |answers: &Value| {
            fs::write(folder.path().join("answers.json"), answers.to_string()).expect("a file");
            run(folder.path(), &["--answers", "answers.json", "--precision", precision, "--json"])
        };
        let good = judged(&answers);
        let document: Value = serde_json::from_slice(&good.stdout).expect("JSON");
        assert_eq!((good.status.code(), &document["verdict"]), (Some(0), &json!("inside")));
        answers[3][5][0] = json!("nan");
        let bad = judged(&answers);
        let document: Value = serde_json::from_slice(&bad.stdout).expect("JSON");
        assert_eq!(
            (bad.status.code(), &document["verdict"], &document["outside"]),
            (Some(1), &json!("outside"), &json!(1))
        );
        let witness = &document["witnesses"][0];
        assert_eq!(
            (&witness["case"], &witness["token"], &witness["found"]),
            (&json!("large numbers"), &json!(5), &json!("NaN"))
        );
        assert_eq!(witness["input"].as_array().map(Vec::len), Some(32));
        let told = run(folder.path(), &["--answers", "answers.json", "--precision", precision]);
        assert!(
            text(&told.stdout).contains("large numbers: product = a (1 + 2u), token 5 (1 of 32)"),
            "{}",
            text(&told.stdout)
        );
    }
    let own = run(folder.path(), &[]);
    assert!(own.status.success() && text(&own.stdout).contains("inside of ieee-any-order f32"));
}

#[test]
fn a_folder_that_is_there_and_answers_that_are_not_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("there")).expect("a folder");
    fs::write(folder.path().join("bad.json"), "[[[1, 2]]]").expect("a file");
    for (arguments, expected) in [
        (&["-o", "there"][..], "there exists, and nothing is overwritten"),
        (&["--answers", "nowhere"], "cannot read nowhere"),
        (&["--answers", "bad.json"], "bad.json does not have the shape of the answers, at []"),
        (&["--answers", "there"], "cannot read there"),
        (&["--precision", "f16"], "'f16' is no precision"),
    ] {
        let refused = run(folder.path(), arguments);
        assert_eq!(refused.status.code(), Some(3), "{arguments:?}");
        assert!(text(&refused.stderr).contains(expected), "{arguments:?}: {}", text(&refused.stderr));
    }
}
