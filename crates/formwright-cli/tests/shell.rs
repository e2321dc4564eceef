//! Completions and pages of the manual, by the programs that read them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the binary in a folder.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_formwright")).args(arguments).current_dir(folder).output().expect("the binary")
}

/// The commands that `--help` lists.
fn commands(folder: &Path) -> Vec<String> {
    let help = String::from_utf8(run(folder, &["--help"]).stdout).expect("UTF-8");
    let (_, rest) = help.split_once("Commands:\n").expect("commands");
    let (list, _) = rest.split_once("\n\n").expect("an end");
    list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// What bash offers behind these words.
fn offered(folder: &Path, words: &str) -> String {
    let count = words.split(' ').count() - 1;
    let script = format!(
        "source completions.bash && COMP_WORDS=({words}) && [ \"${{COMP_WORDS[-1]}}\" != '' ] ; \
         COMP_WORDS+=('') ; COMP_CWORD={} ; _formwright formwright '' '' ; echo \"${{COMPREPLY[@]}}\"",
        count + 1
    );
    let done = Command::new("bash").args(["-c", &script]).current_dir(folder).output().expect("bash");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("UTF-8")
}

#[test]
fn bash_offers_every_command_and_its_options() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = run(folder.path(), &["completions", "bash"]);
    assert!(script.status.success());
    fs::write(folder.path().join("completions.bash"), script.stdout).expect("a file");
    let words = offered(folder.path(), "formwright");
    let words: Vec<&str> = words.split_whitespace().collect();
    let commands = commands(folder.path());
    assert!(commands.len() > 12);
    assert!(commands.iter().all(|command| words.contains(&command.as_str())), "{words:?}");
    let options = offered(folder.path(), "formwright zoo");
    assert!(
        ["--output", "--seeds", "--only", "--force", "--json"].iter().all(|option| options.contains(option)),
        "{options}"
    );
}

#[test]
fn other_shells_have_scripts_and_an_unknown_one_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = run(folder.path(), &["completions", shell]);
        assert!(script.status.success() && script.stdout.len() > 10_000, "{shell}");
    }
    assert_eq!(run(folder.path(), &["completions", "sh"]).status.code(), Some(3));
}

#[test]
fn every_command_has_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(run(folder.path(), &["man", "-o", "man"]).status.success());
    for command in commands(folder.path()).iter().filter(|command| *command != "help") {
        let page = fs::read_to_string(folder.path().join(format!("man/formwright-{command}.1"))).expect(command);
        assert!(page.contains(".TH") && page.contains("\\-\\-json"), "{command}");
    }
    assert_eq!(run(folder.path(), &["man", "-o", "man"]).status.code(), Some(3), "it is there");
}
