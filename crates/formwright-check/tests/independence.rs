//! The checker shares nothing with the compiler: no crate, no code; and its sources keep to what is promised of them.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The most lines that the checker has, without tests, comments and empty lines.
const MOST_LINES: usize = 3140;

/// So many equal lines in a row are no accident.
const ALIKE: usize = 6;

/// What the manifest warns of, and no source allows.
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

#[test]
fn only_big_integers_and_a_hash_are_needed() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(crates().with_file_name("Cargo.toml"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("cargo's metadata");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // `cargo run` is the compiler's: the README says no more than that.
    let default = list(&metadata["workspace_default_members"]);
    assert!(
        !default.iter().any(|member| text(member).contains("formwright-check")),
        "cargo run has two binaries: {default:?}"
    );
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|p| (text(&p["id"]), p)).collect();
    let needs: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            // Neither tests nor build scripts are part of it.
            let plain = |dep: &Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            (
                text(&node["id"]),
                list(&node["deps"]).iter().filter(|dep| plain(dep)).map(|dep| text(&dep["pkg"])).collect(),
            )
        })
        .collect();
    let name = |id: &String| text(&packages[id]["name"]);
    let root = packages.keys().find(|id| name(id) == "formwright-check").expect("the checker").clone();
    let direct: BTreeSet<String> = needs[&root].iter().map(name).collect();
    assert_eq!(direct, ["dashu-base", "dashu-int", "sha2"].map(str::to_owned).into());
    let (mut all, mut open) = (BTreeSet::new(), needs[&root].clone());
    while let Some(id) = open.pop() {
        assert!(!packages[&id]["source"].is_null(), "{id} is of this workspace");
        if all.insert(id.clone()) {
            open.extend(needs[&id].clone());
        }
    }
    println!("the checker needs {:?}", all.iter().map(name).collect::<Vec<_>>());
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
fn the_checker_is_short() {
    let count: usize = lines("formwright-check").iter().map(|(_, lines)| lines.len()).sum();
    println!("the checker has {count} lines, without tests, comments and empty lines");
    assert!(count <= MOST_LINES, "{count} lines, more than {MOST_LINES}");
}
