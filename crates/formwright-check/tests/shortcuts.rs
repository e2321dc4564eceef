//! Shortcuts change no verdict, and no word of it: not on the corpus, not on changed weights, targets and bounds.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use formwright_check::{Effort, Files, Verdict, check, check_with, sha256};

use super::support::{Artifact, Head, on_integers, seeing_all};

fn said(certificate: &[u8], target: &[u8], weights: &[u8]) -> (Verdict, Verdict) {
    let files = Files { certificate, target, weights };
    (check(&files), check_with(&files, &Effort { plain: true, threads: Some(1), ..Effort::default() }))
}

/// The verdict, which is the same without shortcuts.
fn same(certificate: &[u8], target: &[u8], weights: &[u8], what: &str) -> Verdict {
    let (quick, plain) = said(certificate, target, weights);
    assert_eq!(quick.to_string(), plain.to_string(), "{what}");
    quick
}

fn folders() -> Vec<PathBuf> {
    let crate_folder = std::env::var("CARGO_MANIFEST_DIR").expect("the crate's folder");
    let corpus = Path::new(&crate_folder).join("../../corpus");
    let kinds = ["accept", "reject", "decline"].map(|kind| fs::read_dir(corpus.join(kind)).expect("a folder"));
    let mut folders: Vec<PathBuf> = kinds.into_iter().flatten().map(|entry| entry.expect("an entry").path()).collect();
    folders.sort();
    folders
}

#[test]
fn the_corpus_gets_the_same_verdicts() {
    for folder in folders() {
        let read = |name: &str| fs::read(folder.join(name)).expect("a file");
        let (certificate, target, weights) = (read("certificate.fwc"), read("target.json"), read("model.safetensors"));
        same(&certificate, &target, &weights, &folder.display().to_string());
    }
}

/// A certificate about other files, with another bound.
fn about(certificate: &str, target: &[u8], weights: &[u8], bound: Option<&str>) -> String {
    let line = |line: &str| match line.split(' ').next() {
        Some("sha256") if line.contains("target.json") => format!("sha256 target.json {}", sha256(target)),
        Some("sha256") => format!("sha256 model.safetensors {}", sha256(weights)),
        Some("bound") if bound.is_some() => format!("bound {}", bound.unwrap_or_default()),
        _ => line.to_owned(),
    };
    certificate.lines().map(|text| line(text) + "\n").collect()
}

/// Every circuit on integers of the corpus, with one weight changed a little, or much; and with other bounds.
#[test]
fn changed_weights_get_the_same_verdicts() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for folder in folders() {
        let certificate = fs::read_to_string(folder.join("certificate.fwc")).unwrap_or_default();
        let accepted = folder.parent().is_some_and(|kind| kind.ends_with("accept"));
        if !accepted || !certificate.contains("\nover integers\n") {
            continue;
        }
        let read = |name: &str| fs::read(folder.join(name)).expect("a file");
        let (target, weights) = (read("target.json"), read("model.safetensors"));
        let header = usize::try_from(u64::from_le_bytes(weights[..8].try_into().expect("8 bytes"))).expect("a size");
        let data = weights.len() - 8 - header;
        for case in 0..24_usize {
            let mut weights = weights.clone();
            let size = if certificate.contains("ieee-any-order f32") { 4 } else { 8 };
            let entry = 8 + header + case.wrapping_mul(0x9e37_79b9) % (data / size) * size;
            // From the last place of the significand to its first ones.
            weights[entry + case % (size - 1)] ^= 1 << (case % 7);
            let bound = [None, Some("0"), Some("1/1000000"), Some("2")][case % 4];
            let certificate = about(&certificate, &target, &weights, bound);
            let what = format!("{}, case {case}", folder.display());
            let verdict = same(certificate.as_bytes(), &target, &weights, &what);
            *counts.entry(verdict.name()).or_default() += 1;
        }
    }
    assert!(counts["accepted"] > 20 && counts["rejected"] > 100, "{counts:?}");
}

/// The answer without shortcuts, which is that with them.
fn answer(artifact: &Artifact) -> String {
    let (target, weights) = (artifact.target.as_bytes(), artifact.weights());
    let certificate = artifact.certificate(target, &weights);
    same(certificate.as_bytes(), target, &weights, "an artifact").to_string()
}

/// One token of many that differ is not overlooked because the others agree: whichever token, symbol or place is at
/// fault, it is found.
#[test]
fn a_fault_at_one_sequence_is_found() {
    let (token, index) = (r#""token""#, r#""index""#);
    // x at all inputs but one; the network is the identity.
    let but = |condition: &str| format!(r#"{{"if":[{condition},{{"number":"9"}},{token}]}}"#);
    let is = |a: &str, b: &str| format!(r#"{{"compare":["equal",{a},{{"number":"{b}"}}]}}"#);
    let and = |a: &str, b: &str| format!(r#"{{"and":[{a},{b}]}}"#);
    let at = |place: usize| format!(r#"{{"gather":{{"number":"{place}"}}}}"#);
    let sum = r#"{"aggregate":["sum","token",null]}"#;
    let own = seeing_all(&[0.0], &[0.0], &[0.0], &[0.0]);
    let network = |target: String| Artifact::new(on_integers(&target, 0, 3), 3, "0", &[(1.0, 0.0)], &[1.0]);
    assert!(answer(&network(token.to_owned())).starts_with("accepted"));
    assert!(answer(&network(at(1))).starts_with("rejected: point"));
    for condition in [
        // The multiset, the own token and its place.
        is(token, "2"),
        is(index, "1"),
        and(&is(token, "1"), &is(index, "2")),
        is(sum, "6"),
        and(&is(sum, "5"), &is(token, "1")),
        and(&is(sum, "1"), &and(&is(token, "1"), &is(index, "0"))),
        // The order.
        and(&is(&at(0), "2"), &is(&at(2), "1")),
        and(&and(&is(&at(0), "2"), &is(&at(1), "2")), &and(&is(&at(2), "2"), &is(index, "1"))),
    ] {
        let artifact = network(but(&condition));
        assert!(answer(&artifact).starts_with("rejected: point"), "{condition}");
        let attends = artifact.attention(std::slice::from_ref(&own));
        assert!(answer(&attends).starts_with("rejected: point"), "{condition}, behind a head");
    }
    // A target without a value at one sequence.
    let quotient = r#"{"binary":["div",{"number":"0"},{"binary":["sub",{"gather":{"number":"2"}},{"number":"1"}]}]}"#;
    assert!(answer(&network(format!(r#"{{"binary":["add",{token},{quotient}]}}"#))).starts_with("rejected: target"));
}

/// A head that is blind to all but one key, one that is not quite, and one that sees all.
#[test]
fn what_a_head_sees_matters() {
    let gathers = |mask: &'static str, target: &str, bound: &str| {
        let head = Head { mask, ..seeing_all(&[0.0], &[0.0], &[1.0], &[1.0]) };
        let network = Artifact::new(on_integers(target, 0, 3), 3, bound, &[(1.0, 0.0)], &[0.5]);
        answer(&network.attention(std::slice::from_ref(&head)))
    };
    // (x_i + x_i)/2 with the own key alone; (x_i + mean of the tokens seen)/2 otherwise.
    assert!(gathers("0 0 * * no", r#""token""#, "0").starts_with("accepted"));
    assert!(gathers("* * * * no", r#""token""#, "0").starts_with("rejected: point"));
    assert!(gathers("* 0 * * no", r#""token""#, "1/2").starts_with("rejected: point"));
    assert!(gathers("* 0 * * no", r#""token""#, "2").starts_with("accepted"));
}
