//! The pages that people read: their commands print what stands there, and their links lead somewhere. Commands in tables
//! are run too, and must succeed.
//!
//! `UPDATE_PAGES=1 cargo test -p formwright-cli the_examples` writes what the commands print into the pages; look at the
//! difference before you believe it. Python examples are run by pytest (`pyproject.toml`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::cli::Scratch;

fn repository() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the repository")
}

/// Pages of the guide without an example of their own: the contents, and the lab, which is another program.
const WITHOUT: [&str; 2] = ["README.md", "lab.md"];

/// Part of a page: lines of text, or a fenced block with its language.
#[derive(Debug, PartialEq)]
struct Part<'p> {
    language: Option<&'p str>,
    line: usize,
    lines: Vec<&'p str>,
}

fn parts(page: &str) -> Vec<Part<'_>> {
    let mut parts = vec![Part { language: None, line: 1, lines: Vec::new() }];
    for (number, line) in (1..).zip(page.lines()) {
        let last = parts.last_mut().expect("a part");
        match (line.strip_prefix("```"), last.language) {
            (Some(language), None) => parts.push(Part { language: Some(language), line: number, lines: Vec::new() }),
            (Some(_), Some(_)) => parts.push(Part { language: None, line: number, lines: Vec::new() }),
            (None, _) => last.lines.push(line),
        }
    }
    parts
}

/// A command and what it prints.
type Example<'p> = (&'p str, Vec<&'p str>);

/// The examples of a block `console`.
fn examples<'p>(lines: &[&'p str]) -> Vec<Example<'p>> {
    let mut found: Vec<Example> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command, Vec::new())),
            (None, Some((_, printed))) => printed.push(line),
            (None, None) => panic!("a block begins without a command: {line}"),
        }
    }
    found
}

/// The commands in the tables of a part.
fn in_tables<'p>(part: &Part<'p>) -> Vec<&'p str> {
    let rows = part.lines.iter().filter(|line| part.language.is_none() && line.starts_with('|'));
    let code = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    code.filter(|code| code.starts_with("formwright ")).collect()
}

/// A reason why a part would not be run as it looks: an example may not hide in another kind of block.
fn misplaced(part: &Part) -> Option<String> {
    let looks_run = |line: &str| ["$ ", ">>> ", "```", "~~~"].iter().any(|begin| line.trim_start().starts_with(begin));
    let first = part.lines.first().copied().unwrap_or_default();
    let wrong = match part.language {
        Some("console") => !first.starts_with("$ "),
        Some("python") => !first.starts_with(">>> "),
        // The lab is a program of its own, whose runs take minutes.
        Some("sh") => {
            part.lines.iter().any(|line| line.starts_with("formwright") && !line.starts_with("formwright lab "))
        }
        Some("text" | "json") | None => {
            part.lines.iter().any(|line| looks_run(line) || line.starts_with("    formwright"))
        }
        Some(_) => true,
    };
    wrong.then(|| format!("line {}, {:?}: {first}", part.line, part.language))
}

/// README.md and the pages of the guide.
fn pages() -> Vec<PathBuf> {
    let guide = fs::read_dir(repository().join("docs/guide")).expect("the guide");
    let mut pages: Vec<PathBuf> = guide.map(|entry| entry.expect("a page").path()).collect();
    pages.push(repository().join("README.md"));
    pages.sort();
    pages
}

#[test]
fn the_examples_of_the_pages_are_true() {
    let update = std::env::var_os("UPDATE_PAGES").is_some();
    for path in pages() {
        let page = fs::read_to_string(&path).expect("a page");
        let name = path.strip_prefix(repository()).expect("in the repository").display().to_string();
        let parts = parts(&page);
        assert_eq!(parts.iter().filter_map(misplaced).collect::<Vec<_>>(), [] as [String; 0], "{name}");
        let text = parts.iter().filter(|part| part.language.is_none()).flat_map(|part| &part.lines);
        let long: Vec<_> = text.filter(|line| line.chars().count() > 120 && !line.starts_with('|')).collect();
        assert_eq!(long, [] as [&&str; 0], "{name}");
        let runs = parts.iter().any(|part| matches!(part.language, Some("console" | "python")));
        let without = name.starts_with("docs/") && WITHOUT.iter().any(|page| name.ends_with(page));
        assert_eq!(runs, !without, "{name} has examples that are run, or is one of {WITHOUT:?}");

        let scratch = Scratch::new();
        fs::create_dir(scratch.path("examples")).expect("a folder");
        let gap = "examples/lemma7-gap.json";
        fs::copy(repository().join(gap), scratch.path(gap)).expect("a copy");
        let mut written = page.clone();
        for part in &parts {
            for command in in_tables(part) {
                assert_eq!(scratch.shell(command).0, 0, "{name}: {command}");
            }
            let listings = if part.language == Some("console") { examples(&part.lines) } else { Vec::new() };
            for (command, expected) in listings {
                let (code, printed) = scratch.shell(command);
                assert_eq!(code, 0, "{name}: {command}");
                let lines = |printed: &[&str]| printed.iter().fold(String::new(), |text, line| text + "\n" + line);
                let (old, new) = (lines(&expected), lines(&printed.trim_end().lines().collect::<Vec<_>>()));
                if update {
                    written = written.replacen(&format!("$ {command}{old}\n"), &format!("$ {command}{new}\n"), 1);
                } else {
                    assert!(old == new, "{name}: $ {command}\n\non the page:{old}\n\nprinted:{new}\n");
                }
            }
        }
        if update && written != page {
            fs::write(&path, written).expect("a page");
        }
    }
}

#[test]
fn an_example_that_would_not_be_run_is_seen() {
    let page = "# a\n```console\n$ b\nc\n\nd\n$ e\n```\nf\n```python\n>>> g\n```\n";
    let found = parts(page);
    assert_eq!(
        found.iter().map(|part| (part.line, part.language)).collect::<Vec<_>>(),
        [(1, None), (2, Some("console")), (8, None), (10, Some("python")), (12, None)]
    );
    assert_eq!(examples(&found[1].lines), [("b", vec!["c", "", "d"]), ("e", vec![])]);
    assert_eq!(found.iter().filter_map(misplaced).count(), 0);
    let table = parts(
        "`formwright a`\n| `formwright b` | `formwright.build` and `formwright c` |\n```text\n| `formwright d` |\n```",
    );
    assert_eq!(table.iter().flat_map(in_tables).collect::<Vec<_>>(), ["formwright b", "formwright c"]);
    for hidden in [
        "```console\nformwright targets\n```",
        "```bash\n$ formwright targets\n```",
        "```\n$ formwright targets\n```",
        "```text\n$ formwright targets\n```",
        "```sh\nformwright targets\n```",
        "```python\nimport formwright\n```",
        "```python\n```",
        "    formwright targets",
        ">>> import formwright",
        "- in a list\n\n  ```console\n  $ formwright targets\n  ```",
        "~~~console\n~~~",
        "````console\n$ formwright targets\n````",
    ] {
        assert_eq!(parts(hidden).iter().filter_map(misplaced).count(), 1, "{hidden}");
    }
    assert_eq!(parts("```sh\nformwright lab list\ncargo run\n```").iter().filter_map(misplaced).count(), 0);
}

/// All pages of the repository.
fn markdown(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            // A page in a folder of tests is a template of another one; environments of Python are not ours.
            let left_out = name.starts_with('.') || ["target", "tests"].contains(&name.as_str());
            if !left_out && !path.join("pyvenv.cfg").exists() {
                markdown(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The text without what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The places that a page links to, and its pictures.
fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in parts(page).iter().filter(|part| part.language.is_none()) {
        let text = without_code(&part.lines.join("\n"));
        let ends = |rest: &str, end: char| rest.split(end).next().unwrap_or_default().trim().to_owned();
        found.extend(text.split("](").skip(1).map(|rest| ends(rest, ')')));
        for attribute in ["src=\"", "href=\""] {
            found.extend(text.split(attribute).skip(1).map(|rest| ends(rest, '"')));
        }
    }
    found
}

/// The names by which GitHub calls the headings of a page.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for part in parts(page).iter().filter(|part| part.language.is_none()) {
        for line in &part.lines {
            let title = line.trim_start_matches('#');
            let depth = line.len() - title.len();
            if !(1..=6).contains(&depth) || !title.starts_with(' ') {
                continue;
            }
            let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            let mut anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
            let times = seen.entry(anchor.clone()).or_default();
            if *times > 0 {
                write!(anchor, "-{times}").expect("a text");
            }
            *times += 1;
            anchors.insert(anchor);
        }
    }
    anchors
}

/// A reason why a link of the page leads nowhere.
fn broken(page: &Path, link: &str) -> Option<String> {
    if ["https://", "http://", "mailto:"].iter().any(|elsewhere| link.starts_with(elsewhere)) {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let mut path = page.to_path_buf();
    if !file.is_empty() {
        path.pop();
        for part in Path::new(file).components() {
            match part {
                Component::ParentDir => drop(path.pop()),
                Component::CurDir => {}
                part => path.push(part),
            }
        }
    }
    if !path.starts_with(repository()) || !path.exists() {
        return Some(format!("{}: {link} is not there", page.display()));
    }
    // A folder shows its README.md.
    let path = if path.is_dir() { path.join("README.md") } else { path };
    let anchor = anchor?;
    let found = fs::read_to_string(&path).is_ok_and(|text| anchors(&text).contains(anchor));
    (!found).then(|| format!("{}: {} has no heading {anchor}", page.display(), path.display()))
}

#[test]
fn every_link_of_every_page_leads_somewhere() {
    let mut pages = Vec::new();
    markdown(&repository(), &mut pages);
    let mut followed = 0;
    let mut wrong = Vec::new();
    for page in &pages {
        for link in links(&fs::read_to_string(page).expect("a page")) {
            followed += 1;
            wrong.extend(broken(page, &link));
        }
    }
    assert_eq!(wrong, [] as [String; 0]);
    assert!(pages.len() > 40 && followed > 200, "{} pages, {followed} links", pages.len());
}

#[test]
fn the_contents_of_the_guide_have_every_page() {
    let guide = repository().join("docs/guide");
    let contents = fs::read_to_string(guide.join("README.md")).expect("the contents");
    let listed = links(&contents).into_iter().filter(|link| !link.contains('/'));
    let names = fs::read_dir(guide).expect("the guide").map(|page| page.expect("a page").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "README.md");
    assert_eq!(listed.collect::<BTreeSet<_>>(), names.collect());
}

#[test]
fn a_link_that_leads_nowhere_is_seen() {
    let page = repository().join("docs/guide/README.md");
    for link in ["absent.md", "../absent.svg", "#absent", "../../LANGUAGE.md#absent", "../../../outside.md"] {
        assert!(broken(&page, link).is_some(), "{link}");
    }
    for link in
        ["../picture.svg", "../../LANGUAGE.md#tokens-and-coordinates", "../../attacks/", "https://example.org/#a"]
    {
        assert_eq!(broken(&page, link), None);
    }
    assert_eq!(
        links("[a](b.md), `[c](d.md)` ![e](f.svg)\n<img src=\"g.svg\">\n```text\n[h](i.md)\n```\n[j\nk](l.md#m)"),
        ["b.md", "f.svg", "g.svg", "l.md#m"]
    );
    let headings = anchors("# `NumPy`: its functions, *twice*\n## A B\n```sh\n# no heading\n```\n## A B\n#no\n");
    assert_eq!(headings, ["a-b", "a-b-1", "numpy-its-functions-twice"].map(str::to_owned).into());
}

/// All files below a folder with one of these extensions.
fn sources(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, extensions, found);
        } else if path.extension().is_some_and(|extension| extensions.iter().any(|known| *known == extension)) {
            found.push(path);
        }
    }
}

#[test]
fn every_page_that_help_messages_and_comments_name_is_there() {
    let mut files = Vec::new();
    for folder in
        ["crates/formwright/src", "crates/formwright-cli/src", "crates/formwright-check/src", "python/formwright"]
    {
        sources(&repository().join(folder), &["rs", "py"], &mut files);
    }
    let mut named = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source");
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_-./#".contains(c)));
        for word in words.filter(|word| word.contains(".md")) {
            // Pages of the repository are in capitals, or in its folders; other names are of files that are written.
            let word = word.trim_end_matches('.');
            let stem = word.split(".md").next().unwrap_or_default();
            if stem.contains('/') || (stem.len() > 1 && !stem.contains(char::is_lowercase)) {
                named.insert(word.to_owned());
            }
        }
    }
    let wrong = named.iter().filter_map(|name| broken(&repository().join("README.md"), name)).collect::<Vec<_>>();
    assert_eq!(wrong, [] as [String; 0]);
    assert!(named.contains("CERTIFICATE.md") && named.contains("results/README.md"), "{named:?}");
}
