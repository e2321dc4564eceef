//! `explore.html`: pages in a browser, used as a reader would, against `formwright run`; the command, with good and bad input.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Map, Value, json};

/// Runs the binary in a folder.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_formwright")).args(arguments).current_dir(folder).output().expect("the binary")
}

/// The same; it must succeed.
fn formwright(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The same; it must fail with this code, and say nothing but why.
fn refused(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// A model that is used in the browser: how it is built, its tokens, a gate that is clicked, what breaks it, what its page says of the input.
struct Used {
    name: &'static str,
    build: &'static [&'static str],
    x: &'static [&'static str],
    gate: Option<&'static str>,
    breaks: Option<(&'static str, &'static str)>,
    status: &'static str,
}

const USED: [Used; 6] = [
    Used {
        name: "z-score",
        build: &["z-score", "--tokens", "8", "--trade", "width"],
        x: &["0.25", "0.9", "3/8", "1e-1", "0.75", "1", "0", "0.3"],
        gate: Some("g2"),
        breaks: Some(("format", "bf16")),
        status: "in",
    },
    Used {
        name: "sorted",
        build: &["sort-integers", "--tokens", "6"],
        x: &["3", "0", "7", "3", "1", "7"],
        gate: Some("g3"),
        breaks: None,
        status: "in",
    },
    Used {
        name: "pooling",
        build: &["attention-pooling", "--tokens", "5"],
        x: &["0.25", "0.9", "3/8", "1e-1", "0.75"],
        gate: Some("g1"),
        breaks: Some(("format", "bf16")),
        status: "in",
    },
    Used {
        name: "largest",
        build: &["max-broadcast", "--tokens", "4"],
        x: &["0.25", "0.9", "3/8", "0.875"],
        gate: Some("g1"),
        breaks: Some(("scale", "-8")),
        status: "in",
    },
    Used {
        name: "outside",
        build: &["x * mean(x)", "--tokens", "2", "--attention", "performer:2", "--eps", "1/10"],
        x: &["1.5", "0.25"],
        gate: None,
        breaks: None,
        status: "none",
    },
    Used {
        name: "yun",
        build: &["x * mean(x)", "--tokens", "2", "--construction", "yun", "--eps", "1/5", "--norm", "l2"],
        x: &["0.25", "0.9"],
        gate: None,
        breaks: None,
        status: "none",
    },
];

impl Used {
    /// Builds it, writes its page, and says what the page must show.
    fn expected(&self, folder: &Path, pages: &Path) -> Value {
        formwright(folder, &[&["build"], self.build, &["-o", self.name]].concat());
        let page = pages.join(format!("{}.html", self.name));
        formwright(folder, &["explore", self.name, "-o", page.to_str().expect("a path")]);
        let x: Vec<[&str; 1]> = self.x.iter().map(|entry| [*entry]).collect();
        fs::write(folder.join("x.json"), json!([x]).to_string()).expect("a file");
        let ran = formwright(folder, &["run", self.name, "--input", "x.json", "--trace", "--json"]);
        let ran: Value = serde_json::from_str(&ran).expect("JSON");
        let inspected: Value =
            serde_json::from_str(&formwright(folder, &["inspect", self.name, "--json"])).expect("JSON");
        let trace: Vec<&Value> =
            ran["trace"].as_array().expect("a trace").iter().map(|after| &after["state"]).collect();
        let mut expected = json!({"x": x, "y": ran["outputs"][0], "status": self.status});
        if let Some(gate) = self.gate {
            // Of a circuit, every layer is a stage.
            expected["trace"] = json!(trace);
            expected["gate"] = json!(gate);
        }
        if let Some((knob, value)) = self.breaks {
            expected["breaks"] = json!({knob: value});
            expected["bound"] = inspected["error"]["bound"].clone();
        }
        expected
    }
}

#[test]
fn pages_are_used_in_a_browser_and_give_the_numbers_of_run() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (folder, pages) = (scratch.path(), scratch.path().join("pages"));
    fs::create_dir(&pages).expect("a folder");
    let expected: Map<String, Value> =
        USED.iter().map(|used| (used.name.to_owned(), used.expected(folder, &pages))).collect();
    fs::write(pages.join("expected.json"), Value::from(expected).to_string()).expect("a file");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/explore.py");
    let output = Command::new("python3").arg(script).arg(&pages).output().expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("{} pages used", USED.len()));
}

#[test]
fn a_page_is_written_anew_in_place_and_nowhere_over_anything_else() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    formwright(folder, &["build", "x - mean(x)", "--tokens", "2", "-o", "model"]);
    insta::assert_snapshot!("explore", formwright(folder, &["explore", "model"]).replace(char::is_numeric, "9"));
    let file = folder.join("model/explore.html");
    let page = fs::read(&file).expect("a page");
    assert!(page.len() < 1_000_000);
    // The same bytes, from the folder and beside it; a page of ours is replaced.
    fs::write(&file, "<meta name=\"generator\" content=\"formwright explore\">").expect("a file");
    formwright(folder, &["explore", "model"]);
    formwright(folder, &["explore", "model", "-o", "page.html"]);
    assert!(fs::read(&file).expect("a page") == page && fs::read(folder.join("page.html")).expect("a page") == page);
    insta::assert_snapshot!("explore_over_a_file", refused(folder, &["explore", "model", "-o", "page.html"], 3));
    // A folder with a page is a model's folder, and is replaced as one.
    formwright(folder, &["build", "x", "--tokens", "2", "-o", "model", "--force"]);
    // What is not ours is left as it is, by every command.
    fs::write(&file, "mine").expect("a file");
    insta::assert_snapshot!("explore_over_somebody_elses", refused(folder, &["explore", "model"], 3));
    refused(folder, &["build", "x", "--tokens", "2", "-o", "model", "--force"], 3);
    assert_eq!(fs::read_to_string(&file).expect("a file"), "mine");
}

#[test]
fn bad_input_is_refused_and_nothing_is_claimed_of_an_edited_folder() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    insta::assert_snapshot!("explore_no_folder", refused(folder, &["explore", "nowhere"], 3));
    formwright(folder, &["build", "x - mean(x)", "--tokens", "2", "--resolution", "4", "-o", "exact"]);
    insta::assert_snapshot!("explore_exact", refused(folder, &["explore", "exact"], 2));
    let large =
        ["x * mean(x)", "--tokens", "2", "--construction", "sum-code", "--resolution", "150", "--precision", "f64"];
    formwright(folder, &[&["build"], &large[..], &["-o", "large", "--no-check"]].concat());
    insta::assert_snapshot!("explore_large", refused(folder, &["explore", "large"], 2));
    assert!(!folder.join("large/explore.html").exists());

    formwright(folder, &["build", "x - mean(x)", "--tokens", "2", "-o", "model"]);
    let weights = folder.join("model/model.safetensors");
    let mut bytes = fs::read(&weights).expect("a file");
    let last = bytes.len() - 1;
    // The sign of the last number.
    bytes[last] ^= 0x80;
    fs::write(&weights, bytes).expect("a file");
    insta::assert_snapshot!("explore_edited", formwright(folder, &["explore", "model"]).replace(char::is_numeric, "9"));
    let page = fs::read_to_string(folder.join("model/explore.html")).expect("a page");
    assert!(page.contains("no claim") && page.contains("\"claim\":null") && !page.contains("certified</span>"));
}
