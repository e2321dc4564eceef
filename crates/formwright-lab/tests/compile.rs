//! A trained Sumformer, compiled, is the trained Sumformer.

use std::fs;
use std::path::PathBuf;

use formwright::artifact;
use formwright::error::ErrorKind;
use formwright::eval::float::Engine;
use formwright::network::Precision;
use formwright_lab::compile::{POINTS, compile};
use formwright_lab::config::Experiment;
use formwright_lab::folder::Folder;
use formwright_lab::study::Study as _;
use tempfile::TempDir;

use super::support::quiet::go;

/// Trains two models for a few epochs; the folders of the runs.
fn trained() -> (TempDir, Vec<PathBuf>) {
    let scratch = tempfile::tempdir().expect("a folder");
    let text = r#"
targets = ["[x.0 * mean(x.1), max(x.0) - x.1]"]
dims = [2]
tokens = 5
seeds = [3]
[[model]]
kind = "mlp-sumformer"
hidden = 12
layers = 2
latent = [7]
[[model]]
kind = "polynomial-sumformer"
hidden = 4
layers = 1
[data]
training = 256
validation = 64
[budget]
epochs = 20
flat = 0
"#;
    let folder = Folder::<Experiment>::create(&scratch.path().join("runs"), text).expect("new");
    assert!(go(&folder, 1, usize::MAX));
    let runs = folder.experiment.runs().expect("runs");
    let dirs = runs.iter().enumerate().map(|(index, run)| folder.of(run, index)).collect();
    (scratch, dirs)
}

#[test]
fn a_compiled_sumformer_is_the_trained_one_under_every_attention() {
    let (scratch, runs) = trained();
    for attention in ["softmax", "average", "linformer:1", "linformer:3", "performer:1", "performer:4"] {
        for precision in [Precision::F32, Precision::F64] {
            let attention = attention.parse().expect("a kind");
            let (model, held) = compile(&runs[0], attention, precision, POINTS).expect("the same function");
            assert_eq!(held.points, POINTS);
            assert!(
                held.largest <= held.allowed_there && held.allowed_there <= held.allowed,
                "{attention} {precision}: {held:?}"
            );
            // Of numbers around 1 in f32, and the bound is no excuse for more.
            assert!(
                held.largest > 0.0 && held.largest < 1e-5 && held.allowed_there < 1e-2,
                "{attention} {precision}: {held:?}"
            );
            let dir = scratch.path().join(format!("{attention}-{precision}"));
            artifact::write(&model, &dir).expect("written");
            let read = formwright::open(&dir).expect("read");
            let x = vec![(0..5).map(|k| vec![0.1 * f64::from(k), 0.9 - 0.2 * f64::from(k)]).collect::<Vec<_>>()];
            let run = |model: &formwright::compile::Model| {
                Engine::new(model.float().expect("floats")).and_then(|engine| engine.run(&x)).expect("outputs")
            };
            assert_eq!(run(&read), run(&model));
            assert!(!read.is_edited());
        }
    }
}

#[test]
fn what_is_no_trained_sumformer_is_refused() {
    let (scratch, runs) = trained();
    let refuse = |dir: &PathBuf| {
        compile(dir, "softmax".parse().expect("a kind"), Precision::F32, 10).map(|_| ()).expect_err("refused")
    };
    let polynomial = refuse(&runs[1]);
    assert_eq!(polynomial.kind(), ErrorKind::Declined);
    assert!(polynomial.headline().starts_with("polynomial Sumformer does not become"), "{polynomial}");
    let nowhere = refuse(&scratch.path().join("nowhere"));
    assert!(nowhere.to_string().contains("is not the folder of a run"), "{nowhere}");
    // A run without a checkpoint, and one whose configuration was changed.
    let checkpoint = fs::read(runs[0].join("checkpoint")).expect("a checkpoint");
    fs::remove_file(runs[0].join("checkpoint")).expect("gone");
    assert!(refuse(&runs[0]).to_string().contains("cannot read"));
    fs::write(runs[0].join("checkpoint"), checkpoint).expect("back");
    let about = fs::read_to_string(runs[0].join("run.json")).expect("a run");
    fs::write(runs[0].join("run.json"), about.replace("\"seed\": 3", "\"seed\": 4")).expect("changed");
    assert!(refuse(&runs[0]).to_string().contains("belongs to another configuration"));
}
