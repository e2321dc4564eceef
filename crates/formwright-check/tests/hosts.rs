//! Networks in stock Transformers: whatever is changed in a file of one, it is not accepted, unless it is not used or the
//! claim still holds. The corpus has what must be rejected for which reason.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use formwright_check::{Files, Verdict, check, check_named, sha256};
use serde_json::{Value, json};

type Host = BTreeMap<String, Vec<u8>>;

fn host(name: &str) -> Host {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/hosts/accept").join(name);
    let entries = fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    entries.map(|path| (name(&path), fs::read(&path).expect("a file"))).collect()
}

/// The hosts of the corpus that are accepted.
fn hosts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/hosts/accept");
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The verdict on files, with hashes that are theirs.
fn verdict(host: &Host) -> Verdict {
    let mut host = host.clone();
    let text = String::from_utf8(host["certificate.fwc"].clone()).expect("a text");
    let line = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        ["sha256", name, _] => format!("sha256 {name} {}\n", sha256(&host[name])),
        _ => format!("{line}\n"),
    };
    let hashed = text.lines().map(line).collect::<String>().into_bytes();
    host.insert("certificate.fwc".to_owned(), hashed);
    check_named(&host.into_iter().collect::<Vec<_>>()).expect("a certificate")
}

fn is_accepted(host: &Host) -> bool {
    matches!(verdict(host), Verdict::Accepted(_))
}

#[test]
fn every_setting_counts() {
    for name in hosts() {
        let host = host(&name);
        assert!(is_accepted(&host), "{name}: {}", verdict(&host));
        let config: Value = serde_json::from_slice(&host["config.json"]).expect("settings");
        for (field, value) in config.as_object().expect("an object") {
            let other = match value {
                Value::Number(_) if field.contains("eps") => json!(1e12),
                Value::Number(number) => json!(number.as_f64().expect("a number") as i64 + 1),
                Value::String(text) => json!(format!("{text}x")),
                Value::Bool(yes) => json!(!yes),
                Value::Null => json!(0),
                _ => json!({}),
            };
            let mut changed = config.clone();
            changed[field.as_str()] = other;
            let mut missing = config.clone();
            missing.as_object_mut().expect("an object").remove(field);
            for settings in [changed, missing] {
                let mut host = host.clone();
                host.insert("config.json".to_owned(), settings.to_string().into_bytes());
                assert!(!is_accepted(&host), "{name}: {field}");
            }
        }
    }
}

/// The numbers of a file of tensors, with the name of the tensor and the byte at which each begins.
fn numbers(bytes: &[u8]) -> Vec<(String, usize)> {
    let (length, rest) = bytes.split_first_chunk::<8>().expect("a length");
    let length = usize::try_from(u64::from_le_bytes(*length)).expect("a length");
    let header: BTreeMap<String, Value> = serde_json::from_slice(&rest[..length]).expect("a header");
    let mut found = Vec::new();
    for (name, about) in header {
        let end = |k: usize| usize::try_from(about["data_offsets"][k].as_u64().expect("an offset")).expect("an offset");
        found.extend((end(0)..end(1)).step_by(4).map(|at| (name.clone(), 8 + length + at)));
    }
    found
}

#[test]
fn every_weight_counts() {
    for name in ["bert-mean", "gpt2-prefix", "bert-product"] {
        let host = host(name);
        for file in ["model.safetensors", "inputs.safetensors"] {
            for (tensor, at) in numbers(&host[file]) {
                let mut host = host.clone();
                let bytes = host.get_mut(file).expect("a file");
                let number = f32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
                bytes[at..at + 4].copy_from_slice(&(1.0 + 1.25 * number).to_le_bytes());
                // Over a box the row of the vocabulary is not used.
                let unused = tensor.ends_with("word_embeddings.weight") || tensor.ends_with("wte.weight");
                assert_eq!(is_accepted(&host), unused, "{name}: {tensor} at byte {at}: {}", verdict(&host));
            }
        }
    }
}

#[test]
fn what_is_cut_off_is_rejected() {
    let host = host("bert-product");
    let text = String::from_utf8(host["certificate.fwc"].clone()).expect("a text");
    let lines: Vec<&str> = text.lines().collect();
    for drop in 0..lines.len() {
        let mut kept = lines.clone();
        kept.remove(drop);
        let mut host = host.clone();
        host.insert("certificate.fwc".to_owned(), (kept.join("\n") + "\n").into_bytes());
        // The first two lines say that it is a host.
        if drop > 1 {
            assert!(!is_accepted(&host), "without line {drop}: {}", lines[drop]);
        }
    }
    for file in ["config.json", "model.safetensors", "inputs.safetensors", "target.json"] {
        for part in 0..16 {
            let mut host = host.clone();
            let bytes = host.get_mut(file).expect("a file");
            bytes.truncate(bytes.len() * part / 16);
            assert!(!is_accepted(&host), "{part}/16 of {file}");
        }
    }
}

#[test]
fn three_files_are_no_host() {
    let host = host("bert-mean");
    let files = Files {
        certificate: &host["certificate.fwc"],
        target: &host["target.json"],
        weights: &host["model.safetensors"],
    };
    assert!(matches!(check(&files), Verdict::Declined(_)));
    // And a host without its settings has no verdict.
    let mut some: Vec<(String, Vec<u8>)> = host.into_iter().collect();
    some.retain(|(name, _)| name != "config.json");
    assert!(check_named(&some).is_none());
}
