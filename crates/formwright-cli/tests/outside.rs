//! A construction from outside of the crates, in one file (`examples/outside/constant.rs`), is served by every command.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The example, which cargo builds beside the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().expect("this program");
    let profile = tests.parent().and_then(Path::parent).expect("target/PROFILE/deps");
    profile.join("examples").join(format!("outside{}", std::env::consts::EXE_SUFFIX))
}

fn outside(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(folder);
    command.output().unwrap_or_else(|error| panic!("{}: {error}; cargo builds it", program().display()))
}

fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = outside(folder, arguments);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

const TARGET: &str = "x mod 2 on integers 0..3";

#[test]
fn a_construction_of_somebody_else_is_planned_built_run_inspected_exported_and_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    let plan = said(dir, &["plan", TARGET, "--tokens", "2", "--eps", "1"]);
    assert!(plan.contains("build would take constant, f32"), "{plan}");
    let built = said(dir, &["build", TARGET, "--tokens", "2", "--eps", "1", "-o", "half"]);
    assert!(built.contains("by constant, f32") && built.contains("checked: accepted"), "{built}");
    std::fs::write(dir.join("x.json"), "[[[1], [2]]]").expect("a file");
    assert!(said(dir, &["run", "half", "--input", "x.json"]).contains("[0.5, 0.5]"));
    assert!(said(dir, &["inspect", "half"]).contains("every output is within 5.0000e-1"));
    assert!(said(dir, &["check", "half"]).starts_with("accepted"));
    said(dir, &["export", "half", "-o", "half.onnx"]);
    said(dir, &["report", "half"]);
    // In a box, where a checker does not decide the supremum, it says so.
    let boxed = said(dir, &["build", "x", "--tokens", "2", "--construction", "constant", "--eps", "1", "-o", "middle"]);
    assert!(boxed.contains("checked: declined"), "{boxed}");
}

#[test]
fn what_it_cannot_do_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused =
        outside(folder.path(), &["build", TARGET, "--tokens", "2", "--construction", "constant", "--eps", "1/4"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let unknown = outside(folder.path(), &["build", TARGET, "--construction", "constants"]);
    assert_eq!(unknown.status.code(), Some(3), "{unknown:?}");
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("constant"), "it is in the list");
}
