//! The checker shares nothing with the compiler: no crate, no code; and its sources keep to what is promised of them.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The most lines that the kernel has, without tests, comments and empty lines: it is read in one evening.
const MOST_LINES: usize = 1200;

/// So many equal lines in a row are no accident.
const ALIKE: usize = 6;

/// The lints that the manifest sets, and no source allows.
const LINTS: [&str; 11] = [
    "unwrap_used",
    "expect_used",
    "panic",
    "unreachable",
    "todo",
    "unimplemented",
    "indexing_slicing",
    "string_slice",
    "arithmetic_side_effects",
    "float_arithmetic",
    "as_conversions",
];

fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of crates")
}

/// The Rust files below a folder, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") && path.file_name().is_some_and(|name| name != "tests.rs")
        {
            found.push(path);
        }
    }
}

/// The lines of the sources of a crate, trimmed, without comments and empty lines, file by file.
fn lines(name: &str) -> Vec<(PathBuf, Vec<String>)> {
    let mut files = Vec::new();
    sources(&crates().join(name).join("src"), &mut files);
    files.sort();
    let text = |path: &PathBuf| fs::read_to_string(path).expect("a source");
    let code = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = |line: &String| !line.is_empty() && !line.starts_with("//");
    files.iter().map(|path| (path.clone(), text(path).lines().map(code).filter(kept).collect())).collect()
}

/// Returns cargo's output about this workspace.
fn cargo(arguments: &[&str]) -> String {
    let manifest = crates().with_file_name("Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--locked", "--manifest-path"])
        .arg(manifest)
        .output()
        .expect("cargo runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "cargo {arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn only_big_integers_and_a_hash_are_needed() {
    // `cargo run` is the compiler's: the README says no more than that.
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).expect("cargo's metadata");
    let default = metadata["workspace_default_members"].to_string();
    assert!(default.contains("formwright") && !default.contains("formwright-check"), "cargo run has two: {default}");
    // Neither tests nor build scripts are part of it: edges are the normal ones.
    let tree = |depth: &str| -> BTreeSet<String> {
        let edges =
            ["tree", "--package", "formwright-check", "--edges", "normal", "--prefix", "none", "--depth", depth];
        let found = cargo(&edges);
        let mut lines = found.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with("formwright-check ")), "{found}");
        assert!(!lines.clone().any(|line| line.contains("formwright")), "one is of this workspace:\n{found}");
        lines.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    };
    assert_eq!(tree("1"), ["dashu-base", "dashu-int", "sha2"].map(str::to_owned).into());
    println!("the checker needs {:?}", tree("99"));
}

#[test]
fn no_code_is_shared() {
    let trivial = |line: &String| line.starts_with("use ") || !line.chars().any(char::is_alphanumeric);
    let windows = |name: &str| {
        let mut found = BTreeMap::new();
        for (path, lines) in lines(name) {
            let lines: Vec<String> = lines.into_iter().filter(|line| !trivial(line)).collect();
            found.extend(lines.windows(ALIKE).map(|window| (window.to_vec(), path.clone())));
        }
        found
    };
    let checker = windows("formwright-check");
    for name in ["formwright", "formwright-cli", "formwright-oracle"] {
        for (window, path) in windows(name) {
            let here = checker.get(&window);
            assert!(here.is_none(), "{} and {here:?} share\n{}", path.display(), window.join("\n"));
        }
    }
}

#[test]
fn the_sources_keep_to_their_lints() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).expect("a manifest");
    assert!(manifest.contains("unsafe_code = \"forbid\""), "unsafe code is not forbidden");
    for lint in LINTS {
        assert!(manifest.contains(&format!("\n{lint} = \"warn\"")), "the manifest does not warn of {lint}");
    }
    for (path, lines) in lines("formwright-check") {
        for line in &lines {
            // Anything may stand in a text.
            let bare: String = line.split('"').step_by(2).collect();
            let word = |word: &str| bare.split(|c: char| !c.is_alphanumeric() && c != '_').any(|known| known == word);
            let digits = |w: &[u8]| w[0].is_ascii_digit() && w[1] == b'.' && w[2].is_ascii_digit();
            let float = word("f32") || word("f64") || bare.as_bytes().windows(3).any(digits);
            assert!(!float, "{} has a float: {line}", path.display());
            assert!(!word("unsafe") && !word("allow"), "{} is unsafe or allows: {line}", path.display());
        }
    }
}

#[test]
fn the_kernel_is_short_and_stands_alone() {
    let kernel: Vec<_> = lines("formwright-check")
        .into_iter()
        .filter(|(path, _)| path.components().any(|part| part.as_os_str() == "kernel"))
        .collect();
    assert!(!kernel.is_empty(), "there is no kernel");
    for (path, lines) in &kernel {
        for line in lines {
            assert!(!line.contains("crate::"), "{} reaches out of the kernel: {line}", path.display());
        }
    }
    let count: usize = kernel.iter().map(|(_, lines)| lines.len()).sum();
    println!("the kernel has {count} lines, without tests, comments and empty lines");
    assert!(count <= MOST_LINES, "{count} lines, more than {MOST_LINES}");
}
