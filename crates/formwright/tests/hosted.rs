//! Models that are built for a host: their tolerance is met there, they remember it, and what is advised where something
//! has no place has one.

use formwright::compile::Model;
use formwright::error::{Error, ErrorKind};
use formwright::export::hf;
use serde_json::Value;

fn built(text: &str, tokens: usize, host: &str, eps: &str) -> Result<Model, Error> {
    formwright::build(text).tokens(tokens).eps(eps).host(host).model()
}

/// What the exported folder claims: the bound, and the words.
fn claimed(model: &Model, host: &str) -> (f64, String) {
    let (files, claim) = hf::files(model, host, None, |_| None).unwrap_or_else(|error| panic!("{error}"));
    let manifest = files.iter().find(|(name, _)| name == "formwright.json").expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest.1).expect("JSON");
    (manifest["claim"]["bound"].as_f64().expect("a bound"), claim)
}

#[test]
fn a_tolerance_is_met_in_the_host_and_not_only_by_the_network() {
    let mut missed = 0;
    for (text, tokens, host, eps) in [
        ("z-score", 16, "bert", "1/100"),
        ("z-score", 16, "modernbert", "1/100"),
        ("x * mean(x)", 4, "t5", "1/1000"),
        ("x * mean(x)", 4, "bert", "1/1000000"),
        ("(x - mean(x, j <= i)) * mean(x, j <= i)", 4, "gpt2", "1/1000"),
        ("(x - mean(x, j <= i)) * mean(x, j <= i)", 4, "llama", "1/1000"),
        ("sort(x) on integers 0..4", 4, "bert", "1/100"),
    ] {
        let tolerance: formwright::exact::Rat = eps.parse().expect("a number");
        let model = built(text, tokens, host, eps).unwrap_or_else(|error| panic!("{text} in {host}: {error}"));
        assert_eq!(model.host(), Some(host));
        let (bound, claim) = claimed(&model, host);
        assert!(bound <= tolerance.to_f64() && !claim.contains("MORE"), "{text} in {host}: {claim}");
        let told = model.claims().expect("claims");
        assert!(told.iter().any(|(_, words)| words.starts_with(&format!("in {host} every output"))), "{told:?}");
        assert!(model.host_to_json().expect("a host")["bound"] == bound);
        let alone = formwright::build(text).tokens(tokens).eps(eps).model().expect("a network");
        let in_reach = hf::files(&alone, host, None, |_| None);
        missed += usize::from(in_reach.is_ok_and(|_| claimed(&alone, host).0 > tolerance.to_f64()));
        // A double has room where a single has not.
        if eps == "1/1000000" {
            assert_eq!(model.precision(), "f64");
            let single = formwright::build(text).tokens(tokens).eps(eps).host(host).precision("f32").model();
            assert_eq!(single.map(|_| ()).expect_err("too fine").kind(), ErrorKind::Rejected);
        }
    }
    assert!(missed >= 2, "{missed}: the host term would have been too much");
}

#[test]
fn by_name_or_by_plan_the_host_is_the_same_and_a_folder_remembers_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let named =
        formwright::build("x * mean(x)").tokens(4).construction("circuit").host("bert").model().expect("a model");
    let planned = built("x * mean(x)", 4, "bert", "1/100").expect("a model");
    assert_eq!(named.host(), planned.host());
    let dir = folder.path().join("model");
    formwright::artifact::write(&planned, &dir).expect("written");
    let again = formwright::open(&dir).expect("a model");
    assert!(!again.is_edited() && again.host_to_json() == planned.host_to_json());
    let path = dir.join("model.json");
    let text = std::fs::read_to_string(&path).expect("text");
    std::fs::write(&path, text.replace("\"class\": \"bert\"", "\"class\": \"brt\"")).expect("written");
    let error = formwright::open(&dir).map(|_| ()).expect_err("no class of that name");
    assert!(error.to_string().contains("'brt' is no host"), "{error}");
}

/// What is met in one class may be missed in another.
#[test]
fn an_export_into_another_class_says_what_is_missed_there() {
    let model = built("z-score", 16, "bert", "1/100").expect("a model");
    let (bound, claim) = claimed(&model, "modernbert");
    assert!(bound > 0.01 && claim.contains("MORE than the tolerance 1/100 that is met in bert"), "{claim}");
}

/// A row a pair: every coordinate of the host is told once, beside its mirror.
#[test]
fn a_report_folds_the_mirrored_pairs_of_a_host() {
    let model = built("x * mean(x)", 4, "bert", "1/100").expect("a model");
    let page = formwright::report::page(&model).expect("a page");
    let (_, section) = page.split_once("<section id=\"host\">").expect("a section");
    let (section, _) = section.split_once("</section>").expect("its end");
    let (files, _) = hf::files(&model, "bert", None, |_| None).expect("files");
    let manifest = files.iter().find(|(name, _)| name == "formwright.json").expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest.1).expect("JSON");
    let mut rows = 0;
    for pair in manifest["coordinates"].as_array().expect("coordinates").iter().chain([&manifest["pin"]]) {
        let row = format!("<td>{}, {}</td>", pair["coordinate"], pair["mirror"]);
        assert_eq!(section.matches(&row).count(), 1, "{row}");
        rows += 1;
    }
    assert_eq!(section.matches("<tr>").count(), rows + 1, "{section}");
    let alone = formwright::build("x * mean(x)").tokens(4).model().expect("a model");
    assert!(!formwright::report::page(&alone).expect("a page").contains("id=\"host\""));
}

/// What is advised where a tolerance is missed serves: a larger one by its number, double precision where there is one.
#[test]
fn where_a_tolerance_is_missed_the_advice_is_true() {
    let (mut larger, mut double, mut neither) = (0, 0, 0);
    for (text, tokens, host, eps) in [
        ("x - mean(x)", 3, "modernbert", "1/300000"),
        ("z-score", 16, "modernbert", "1/1000"),
        ("l2-normalise", 4, "t5", "1/20000"),
        ("x - mean(x)", 3, "t5", "1/1000000"),
        ("x - mean(x)", 3, "bert", "1/400000"),
    ] {
        let asked = || formwright::build(text).tokens(tokens).host(host);
        let error = asked().eps(eps).precision("f32").model().map(|_| ()).expect_err("too fine");
        let advice = error.notes().iter().find(|(label, _)| *label == "try").map(|(_, text)| text.clone());
        let advice = advice.unwrap_or_else(|| panic!("no advice: {error}"));
        let named = advice.split_once("⟨eps=").and_then(|(_, rest)| rest.split_once('⟩')).map(|(eps, _)| eps);
        if let Some(eps) = named {
            let again = asked().eps(eps).precision("f32").model();
            again.unwrap_or_else(|again| panic!("{text} in {host}: {error}\n{again}"));
            larger += 1;
        }
        if advice.contains("⟨precision=f64⟩") {
            let again = asked().eps(eps).precision("f64").model();
            again.unwrap_or_else(|again| panic!("{text} in {host}: {error}\n{again}"));
            double += 1;
        }
        neither += usize::from(named.is_none() && !advice.contains("⟨precision=f64⟩"));
    }
    assert!(larger >= 3 && double >= 1 && neither >= 1, "{larger} {double} {neither}");
}

/// Whoever follows the advice arrives.
#[test]
fn where_a_class_has_no_place_the_advice_is_true() {
    let (mut sent, mut none) = (0, 0);
    for (text, tokens) in [
        ("x - mean(x)", 3),
        ("mean(x, j <= i)", 3),
        ("mean(x, j <= i)", 70),
        ("max(x, j <= i)", 3),
        ("max(x, j <= i) + x[0]", 3),
        ("mean(x, j >= i - 1)", 3),
        ("max(x) + max(x, j <= i)", 3),
        ("mean(x) + mean(x, j <= i)", 3),
        ("mean(x, j <= i) + i / 4", 4),
        ("reverse", 4),
        ("max(x, j >= i - 1 and j <= i)", 4),
        ("(x - mean(x)) * 1000000000000 on [0, 1000000000000]", 3),
    ] {
        for precision in ["f32", "f64"] {
            let model = formwright::build(text).tokens(tokens).construction("circuit").precision(precision);
            let Ok(model) = model.eps("1/100").model() else { continue };
            for host in ["bert", "gpt2", "t5", "opt", "llama", "modernbert"] {
                let Err(error) = hf::files(&model, host, None, |_| None) else { continue };
                let advice = error.notes().iter().find(|(label, _)| *label == "try").map(|(_, text)| text.clone());
                let advice = advice.unwrap_or_else(|| panic!("no advice: {error}"));
                if let Some(other) = advice.strip_prefix("⟨host=").and_then(|rest| rest.strip_suffix('⟩')) {
                    let followed = hf::files(&model, other, None, |_| None);
                    assert!(followed.is_ok(), "{text} {precision} in {host}: {error}\n{advice}");
                    sent += 1;
                } else {
                    let serves = |other: &&str| hf::files(&model, other, None, |_| None).is_ok();
                    let served = ["bert", "gpt2", "t5", "opt", "llama", "modernbert"].into_iter().find(serves);
                    assert_eq!(served, None, "{text} {precision} in {host}: {error}");
                    none += 1;
                }
            }
        }
    }
    assert!(sent >= 30 && none >= 6, "{sent} {none}");
}
