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
    for name in ["bert-mean", "gpt2-prefix", "bert-product", "opt-product", "t5-product", "llama-product"] {
        let host = host(name);
        for file in ["model.safetensors", "inputs.safetensors"] {
            let all = numbers(&host[file]);
            let mut count: BTreeMap<String, usize> = all.iter().map(|(tensor, _)| (tensor.clone(), 0)).collect();
            for (tensor, at) in all {
                let mut host = host.clone();
                let bytes = host.get_mut(file).expect("a file");
                let number = f32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
                bytes[at..at + 4].copy_from_slice(&(1.0 + 1.25 * number).to_le_bytes());
                // Over a box the row of the vocabulary is not used, nor are the first two rows of OPT's positions.
                let words = ["word_embeddings.weight", "wte.weight", "embed_tokens.weight", "shared.weight"];
                let before = tensor.ends_with("embed_positions.weight") && count[&tensor] < 2 * 8;
                let unused = before || words.iter().any(|word| tensor.ends_with(word));
                *count.get_mut(&tensor).expect("a tensor") += 1;
                assert_eq!(is_accepted(&host), unused, "{name}: {tensor} at byte {at}: {}", verdict(&host));
            }
        }
    }
}

/// Rotations, windows, and names that say nothing yet: what is not known must not change what runs.
#[test]
fn every_part_of_a_setting_counts() {
    for (name, field, others) in [
        (
            "llama-product",
            "rope_parameters",
            [json!({}), json!({"rope_type": "default", "rope_theta": 1e4}), json!(null)],
        ),
        ("llama-product", "head_dim", [json!(8), json!(1), json!("4")]),
        ("llama-product", "num_key_value_heads", [json!(1), json!(4), json!(null)]),
        (
            "modernbert-product",
            "layer_types",
            [json!([]), json!(["full_attention", "full_attention"]), json!("full_attention")],
        ),
        ("t5-product", "d_kv", [json!(2), json!(4), json!(8)]),
        ("opt-product", "word_embed_proj_dim", [json!(4), json!(16), json!(null)]),
        ("opt-product", "dtype", [json!("float64"), json!("float16"), json!("bfloat16")]),
    ] {
        let host = host(name);
        let config: Value = serde_json::from_slice(&host["config.json"]).expect("settings");
        for other in others {
            let mut changed = config.clone();
            changed[field] = other;
            let mut host = host.clone();
            host.insert("config.json".to_owned(), changed.to_string().into_bytes());
            assert!(matches!(verdict(&host), Verdict::Rejected(_)), "{name}: {field} {}", changed[field]);
        }
    }
    let host = host("modernbert-product");
    let config: Value = serde_json::from_slice(&host["config.json"]).expect("settings");
    for kind in ["full_attention", "sliding_attention"] {
        for (part, other) in
            [("factor", json!(1)), ("factor", json!(1e299)), ("rope_theta", json!(1)), ("rope_type", json!("yarn"))]
        {
            let mut changed = config.clone();
            changed["rope_parameters"][kind][part] = other;
            let mut host = host.clone();
            host.insert("config.json".to_owned(), changed.to_string().into_bytes());
            assert!(matches!(verdict(&host), Verdict::Rejected(_)), "{kind}: {part}");
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
