//! `report.html`: the pages of every family, their numbers against `inspect --json`, and in a browser.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs the binary in a folder; it must succeed.
fn formwright(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_formwright"));
    let output = command.args(arguments).current_dir(folder).output().expect("the binary");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&formwright(folder, arguments)).expect("JSON")
}

/// A model of every family: its name, and how it is built.
const MODELS: [(&str, &[&str]); 13] = [
    ("exact", &["x * mean(x)", "--tokens", "2", "--resolution", "8"]),
    ("exact-slices", &["x - mean(x)", "--tokens", "3", "--resolution", "4"]),
    ("exact-trillions", &["x - mean(x)", "--tokens", "3", "--resolution", "20000"]),
    ("yun", &["x * mean(x)", "--tokens", "2", "--construction", "yun", "--eps", "1/5", "--norm", "l2"]),
    ("positional", &["sort", "--tokens", "2", "--construction", "yun", "--positional", "--eps", "1/5", "--norm", "l2"]),
    ("sum-code", &["x * mean(x)", "--tokens", "2", "--construction", "sum-code", "--eps", "1/5", "--norm", "l2"]),
    ("sumformer-discrete", &["x", "--tokens", "2", "--construction", "sumformer-discrete", "--resolution", "3"]),
    ("sumformer", &["x * mean(x)", "--tokens", "2", "--construction", "sumformer", "--eps", "1/10"]),
    ("circuit", &["x * mean(x)", "--tokens", "2", "--eps", "1/10", "--trade", "width"]),
    ("deep", &["z-score", "--tokens", "16", "--trade", "depth"]),
    ("planar", &["x - mean(x)", "--tokens", "3", "--dims", "2", "--construction", "circuit"]),
    ("integers", &["sort(x) on integers 0..4", "--tokens", "5"]),
    ("hostile", &["hostile.json"]),
];

/// A table whose name would be markup, if anybody let it.
const HOSTILE: &str = r#"{"kind":"table","name":"<script>alert('&amp;')</script>","tokens":2,"dims":1,"output_dims":1,"resolution":2,
    "symmetry":"equivariant","values":[[[0],[0]],[[1],["1/3"]],[["1/3"],[1]],[[0],[0]]]}"#;

/// The `value`s of a class.
fn values<'a>(page: &'a str, class: &str) -> Vec<&'a str> {
    let start = format!("<data class=\"{class}\" value=\"");
    page.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn numbers(page: &str, class: &str) -> Vec<f64> {
    values(page, class).iter().map(|value| value.parse().expect("a number")).collect()
}

/// The number behind a text.
fn number_after(page: &str, text: &str) -> Option<f64> {
    let rest = &page[page.find(text)? + text.len()..];
    rest.split([' ', '<']).next()?.parse().ok()
}

fn check(name: &str, page: &str, inspected: &Value) {
    assert!(page.len() < 1 << 20, "{name}: {} bytes", page.len());
    assert!(!page.contains("://") && !page.contains("<script"), "{name}");
    let size = &inspected["size"];
    for (class, field) in [
        ("blocks", "blocks"),
        ("attention-layers", "attention_layers"),
        ("feed-forward-layers", "feed_forward_layers"),
        ("parameters", "parameters"),
        ("not-fixed-to-0", "nonzeros"),
    ] {
        assert_eq!(values(page, class), [size[field].as_str().expect("a count")], "{name}: {field}");
    }
    let stages = inspected["stages"].as_array().expect("stages");
    let layers: Vec<String> = stages.iter().map(|stage| stage["layers"].to_string()).collect();
    assert_eq!(values(page, "layers"), layers, "{name}");
    let error = &inspected["error"];
    let badge = format!("<span class=\"badge {0}\">{0}</span>", error["badge"].as_str().expect("a badge"));
    assert!(page.contains(&badge), "{name}: {badge}");
    let checked = error["checked"].as_str().expect("a verdict");
    assert_eq!(page.contains(&format!("{checked} when it was built")), checked != "not-run", "{name}");
    let terms = error["terms"].as_array().expect("terms");
    let mut terms: Vec<f64> =
        terms.iter().filter_map(|term| term["bound"].as_f64()).filter(|bound| *bound > 0.0).collect();
    terms.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(numbers(page, "term"), terms, "{name}");
    if error["method"].is_string() {
        assert_eq!(numbers(page, "bound"), [error["bound"].as_f64().expect("a bound")], "{name}");
        let constant = format!("{:.3e}", error["baseline"]["best_constant"].as_f64().expect("a baseline"));
        assert!(page.contains(&constant), "{name}: {constant}");
    }
    // What the pictures show is what the network does: no error above a proved one, and none that is nothing but 0.
    if let (Some(bound), "sup") = (error["bound"].as_f64(), error["norm"].as_str().unwrap_or_default()) {
        let seen = number_after(page, "</i>|: at most ").expect("an error");
        assert!(seen <= bound, "{name}: {seen} above {bound}");
        assert_eq!(seen > 0.0, inspected["target"]["expression"] != "sort(x) on integers 0..4", "{name}: {seen}");
    }
}

#[test]
fn every_family_has_a_page_that_says_what_inspect_says_and_looks_right() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (folder, pages) = (scratch.path(), scratch.path().join("pages"));
    fs::create_dir(&pages).expect("a folder");
    fs::write(folder.join("hostile.json"), HOSTILE).expect("a file");
    for (name, arguments) in MODELS {
        formwright(folder, &[&["build"], arguments, &["-o", name]].concat());
        let page = fs::read_to_string(folder.join(name).join("report.html")).expect("a page");
        check(name, &page, &json(folder, &["inspect", name, "--json"]));
        fs::write(pages.join(format!("{name}.html")), &page).expect("a file");
        // Nothing but the model goes into it: what is read from the folder gives the same bytes.
        let again = format!("{name}.html");
        formwright(folder, &["report", name, "-o", &again]);
        assert_eq!(fs::read_to_string(folder.join(again)).expect("a page"), page, "{name}");
    }
    let page = |name: &str| fs::read_to_string(pages.join(format!("{name}.html"))).expect("a page");
    // A cell in eight has both tokens in it, and no value there is 0, which is what Theorem 2 gives.
    assert!(page("exact").contains("512 of 4096 points have two tokens in one cell"));
    assert!(page("positional").contains("at none of these 4096 points"));
    assert!(page("hostile").contains("&lt;script&gt;alert("));
    // A box for the input, for every gate and for the output.
    let gates = json(folder, &["inspect", "deep", "--json"])["circuit"].as_array().expect("gates").len();
    assert_eq!(page("deep").matches("<g class=\"node ").count(), gates + 2);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/look.py");
    let output = Command::new("python3").arg(script).arg(&pages).output().expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim(), format!("{} pages looked at", MODELS.len()));
}

#[test]
fn a_page_is_written_anew_in_place_and_nowhere_else_over_anything() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    formwright(folder, &["build", "x - mean(x)", "--tokens", "2", "--resolution", "4", "-o", "model"]);
    let file = folder.join("model/report.html");
    let page = fs::read(&file).expect("a page");
    fs::write(&file, "out of date").expect("a file");
    let told = json(folder, &["report", "model", "--json"]);
    assert_eq!(fs::read(&file).expect("a page"), page);
    assert_eq!(
        (told["bytes"].as_u64(), &told["files"][0]),
        (Some(page.len() as u64), &Value::from("model/report.html"))
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_formwright"));
    let refused =
        command.args(["report", "model", "-o", "model/report.html"]).current_dir(folder).output().expect("an end");
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("nothing is overwritten"));
    // An edited model has a page that claims nothing.
    let model = folder.join("model/model.json");
    let text = fs::read_to_string(&model).expect("a file");
    fs::write(&model, text.replacen("\"scale\": \"4\"", "\"scale\": \"5\"", 1)).expect("a file");
    formwright(folder, &["report", "model"]);
    let edited = fs::read_to_string(&file).expect("a page");
    assert!(edited.contains("no claim") && !edited.contains("exact-on-grid</span>"));
    // A folder with a page is a model's folder, and is replaced as one.
    formwright(folder, &["build", "x", "--tokens", "2", "--resolution", "4", "-o", "model", "--force"]);
    assert_ne!(fs::read(&file).expect("a page"), page);
}
