//! `formwright zoo`: what is in it is accepted when it is read again, the same bytes each time, and scored; an edited
//! model is not accepted, and nothing that is no zoo is replaced.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use formwright_check::{Files, Verdict};
use serde_json::Value;

/// Runs the binary in a folder.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_formwright")).args(arguments).current_dir(folder).output().expect("the binary")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn zoo(folder: &Path, name: &str, only: &str) -> PathBuf {
    let made = run(folder, &["zoo", "-o", name, "--only", only, "--seeds", "2"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    folder.join(name)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

/// The verdict on a folder, as `fwcheck` reads it.
fn verdict(folder: &Path) -> Verdict {
    if folder.join("config.json").exists() {
        return formwright_check::check_folder(folder).expect("files");
    }
    let read = |name: &str| fs::read(folder.join(name)).expect("a file");
    let (certificate, target, weights) = (read("certificate.fwc"), read("target.json"), read("model.safetensors"));
    formwright_check::check(&Files { certificate: &certificate, target: &target, weights: &weights })
}

/// All files, by path.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(path).expect("a file"));
        }
    }
    found
}

#[test]
fn every_model_is_accepted_when_it_is_read_again_and_kinds_of_change_are_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut kinds = BTreeMap::new();
    let mut cut = [0, 0];
    for only in ["times-mean-n3-f32", "parity-n3-f32", "variance-n3-f64", "mean-centring-n5-f32"] {
        let dir = zoo(folder.path(), only, only);
        let index = json(&dir.join("zoo.json"));
        for model in index["models"].as_array().expect("models") {
            let name = model["name"].as_str().expect("a name");
            assert!(name.contains(only), "{name}");
            match verdict(&dir.join(name)) {
                Verdict::Accepted(_) => {}
                other => panic!("{name}: {other}"),
            }
            *kinds.entry(model["change"]["kind"].as_str().expect("a kind").to_owned()).or_insert(0) += 1;
            for (count, key) in cut.iter_mut().zip(["split_units", "split_heads"]) {
                *count += u32::from(model["change"]["kind"] == "varied" && model["change"][key] == true);
            }
        }
        let page = fs::read_to_string(dir.join("index.html")).expect("a page");
        assert!(
            page.contains("A zoo of certified Transformers") && !page.contains("http:") && !page.contains("https:"),
            "{only}"
        );
    }
    assert!(["compiled", "varied", "turned", "host"].iter().all(|kind| kinds.contains_key(*kind)), "{kinds:?}");
    assert!(cut.iter().all(|count| *count > 0), "{cut:?}");
}

#[test]
fn the_manifest_names_what_every_unit_and_head_of_a_variant_computes() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = zoo(folder.path(), "small", "times-mean-n3-f32");
    let plain = json(&dir.join("times-mean-n3-f32/manifest.json"));
    let parts = |manifest: &Value, key: &str| -> Vec<Vec<Value>> {
        let layers = manifest["layers"].as_array().expect("layers").iter();
        layers.filter_map(|layer| layer[key].as_array().cloned()).collect()
    };
    for seed in ["s1", "s2"] {
        let varied = json(&dir.join(format!("times-mean-n3-f32-{seed}/manifest.json")));
        for key in ["units", "heads"] {
            for (old, new) in parts(&plain, key).iter().zip(parts(&varied, key)) {
                let living: Vec<&Value> = new.iter().filter(|part| part["idle"] == false).collect();
                assert!(living.len() >= old.len() && (key == "heads" || living.len() < new.len()));
                for part in living {
                    let of = usize::try_from(part["of"].as_u64().expect("a number")).expect("small");
                    assert_eq!(part["gates"], old[of]["gates"]);
                }
            }
        }
    }
}

#[test]
fn the_same_zoo_has_the_same_bytes_and_an_edited_model_is_not_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = zoo(folder.path(), "first", "square-n3-f32");
    let second = zoo(folder.path(), "second", "square-n3-f32");
    let of = |dir: &Path| -> Vec<(PathBuf, Vec<u8>)> {
        let inside = |path: &Path| path.strip_prefix(dir).expect("inside").to_owned();
        files(dir).into_iter().map(|(path, bytes)| (inside(&path), bytes)).collect()
    };
    assert_eq!(of(&first), of(&second));
    let model = first.join("square-n3-f32-s1");
    let certificate = fs::read_to_string(model.join("certificate.fwc")).expect("a file");
    let line = certificate.lines().find(|line| line.starts_with("holds ")).expect("a line");
    let mut words: Vec<&str> = line.split(' ').collect();
    words[2] = if words[2] == "7" { "8" } else { "7" };
    fs::write(model.join("certificate.fwc"), certificate.replacen(line, &words.join(" "), 1)).expect("a file");
    assert!(!matches!(verdict(&model), Verdict::Accepted(_)));
}

#[test]
fn nothing_that_is_no_zoo_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments =
        |more: &[&'static str]| [&["zoo", "-o", "there", "--only", "identity-n3-f32", "--seeds", "0"], more].concat();
    fs::create_dir(folder.path().join("there")).expect("a folder");
    for more in [&[][..], &["--force"]] {
        let refused = run(folder.path(), &arguments(more));
        assert_eq!(refused.status.code(), Some(3));
        assert!(
            text(&refused.stderr).starts_with("error: there exists, and nothing is overwritten"),
            "{}",
            text(&refused.stderr)
        );
    }
    fs::remove_dir(folder.path().join("there")).expect("it is empty");
    let made = run(folder.path(), &arguments(&[]));
    assert!(
        made.status.success() && text(&made.stdout).contains("all of them accepted by the checker"),
        "{}",
        text(&made.stderr)
    );
    assert_eq!(run(folder.path(), &arguments(&[])).status.code(), Some(3));
    assert!(run(folder.path(), &arguments(&["--force"])).status.success());
    for (more, expected) in
        [(&["--seeds", "65"][..], "too many"), (&["--only", "unicorn"], "no model has a name with 'unicorn' in it")]
    {
        let refused = run(folder.path(), &[&["zoo", "-o", "other"], more].concat());
        assert_eq!(refused.status.code(), Some(3));
        assert!(text(&refused.stderr).contains(expected), "{}", text(&refused.stderr));
        assert!(!folder.path().join("other").exists());
    }
}
