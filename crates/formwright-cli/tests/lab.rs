//! `formwright lab` hands over to a program that may not be there.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// The binary by another name, in a folder where no lab is beside it.
///
/// A link, and no copy: a file that is being written cannot be executed, and a process that another test starts meanwhile inherits the
/// open file for a moment. So no test executes a file that it has written. The folder is on the binary's own file system, as links want it.
fn lonely() -> TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    fs::hard_link(env!("CARGO_BIN_EXE_formwright"), folder.path().join("formwright")).expect("a link");
    folder
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(folder.path().join("formwright"));
    command.args(arguments).env("PATH", folder.path().join("nowhere")).output().expect("the binary")
}

#[test]
fn a_lab_that_is_not_there_is_named_with_the_way_to_get_it() {
    let output = run(&lonely(), &["lab", "list"]);
    assert_eq!(output.status.code(), Some(3));
    insta::assert_snapshot!(String::from_utf8(output.stderr).expect("UTF-8"));
}

#[test]
fn the_lab_beside_gets_all_arguments_and_its_exit_code_is_ours() {
    let folder = lonely();
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/formwright-lab");
    symlink(lab, folder.path().join("formwright-lab")).expect("a link");
    for (arguments, handed) in [
        (&["lab", "run", "quick", "-o", "x", "--jobs", "2"][..], "run quick -o x --jobs 2\n"),
        (&["lab", "--help"], "--help\n"),
        (&["--json", "lab", "list"], "list --json\n"),
        (&["lab", "list", "--json"], "list --json\n"),
    ] {
        let output = run(&folder, arguments);
        assert_eq!(output.status.code(), Some(130));
        assert_eq!(String::from_utf8(output.stdout).expect("UTF-8"), handed);
    }
}
