//! ARCHITECTURE.md tells the truth about the folders: each imports only those that stand before it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The line of ARCHITECTURE.md behind which the folders stand, lowest first,
const FOLDERS: &str = "<!-- layers -->";

/// that behind which those of the constructions stand,
const CONSTRUCTIONS: &str = "<!-- layers of construct -->";

/// and the line behind each of the two.
const END: &str = "<!-- end of layers -->";

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The modules behind this path that a source mentions outside of its comments and its tests.
fn mentioned(source: &str, path: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut modules = BTreeSet::new();
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for rest in line.split(path).skip(1) {
            modules.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
        // `use crate::{a, b}` would hide names from this test.
        assert!(!line.contains(&format!("use {path}{{")), "one import a folder: {line}");
    }
    modules
}

/// The folders of a table of the page, one behind the other.
fn layers(begin: &str) -> Vec<String> {
    let page = include_str!("../../../ARCHITECTURE.md");
    let (_, rest) = page.split_once(begin).expect("the layers begin");
    let (table, _) = rest.split_once(END).expect("the layers end");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    rows.map(|(name, _)| name.to_owned()).collect()
}

/// Holds the folders below `root`, which are modules of `path`, to a table of the page; `free` may import all of them.
fn hold(root: &Path, path: &str, begin: &str, free: &str) {
    let layers = layers(begin);
    let place = |module: &str| layers.iter().position(|layer| layer == module);
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for file in sources(root) {
        let inside = file.strip_prefix(root).expect("a source of ours");
        let first = inside.iter().next().expect("a name").to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        if module == free {
            continue;
        }
        let own = place(&module).unwrap_or_else(|| panic!("{module} is not in ARCHITECTURE.md"));
        for other in mentioned(&fs::read_to_string(&file).expect("a source"), path) {
            match place(&other) {
                Some(other) if other <= own => {}
                found => wrong.push(format!("{} imports {other} ({found:?} behind {own})", inside.display())),
            }
        }
        seen.insert(module);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let named: BTreeSet<String> = layers.into_iter().collect();
    assert_eq!(seen, named, "the page names the modules of {path} and no others");
}

#[test]
fn folders_import_only_what_stands_before_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    hold(&root, "crate::", FOLDERS, "lib");
    hold(&root.join("construct"), "crate::construct::", CONSTRUCTIONS, "mod");
}

/// The reader of imports sees what it is to see.
#[test]
fn imports_are_seen_in_paths_and_not_in_comments_or_tests() {
    let source =
        "use crate::exact::Int;\n// crate::plan\nfn f() { crate::show::short(); }\n#[cfg(test)]\nuse crate::words;";
    assert_eq!(mentioned(source, "crate::"), ["exact".to_owned(), "show".to_owned()].into());
    assert_eq!(mentioned("use crate::construct::yun::build;", "crate::construct::"), ["yun".to_owned()].into());
}

/// The functions, types, traits and constants of a source that are public.
fn public_items(source: &str) -> usize {
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "static"];
    let public = |line: &str| line.strip_prefix("pub ").is_some_and(|item| kinds.iter().any(|kind| starts(item, kind)));
    source.lines().filter(|line| public(line)).count()
}

fn starts(item: &str, kind: &str) -> bool {
    item.split(' ').next() == Some(kind)
}

/// The number may fall. Whoever wants it to grow says here what for.
/// `network::attention::Detour` is how a kind tells a checker what its heads compute, `export::hf::files` the files of a
/// stock Transformer and `export::hf::onnx` its blocks in one, `explore::page` a page to try a model on, as
/// `report::page` is one to read.
const PUBLIC_ITEMS: usize = 152;

#[test]
fn the_front_door_is_no_wider() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let count = |file: &PathBuf| public_items(&fs::read_to_string(file).expect("a source"));
    let found: usize = sources(&root).iter().map(count).sum();
    assert!(
        found <= PUBLIC_ITEMS,
        "{found} public items, and the front door has {PUBLIC_ITEMS}: is pub(crate) enough?"
    );
}

#[test]
fn public_items_are_counted_and_methods_are_not() {
    let source = "pub fn f() {}\npub(crate) fn g() {}\npub struct S;\nimpl S {\n    pub fn h(&self) {}\n}\npub mod m;\n// pub fn";
    assert_eq!(public_items(source), 2);
}
