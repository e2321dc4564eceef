//! Runs end to end: they learn, they go on where they were, and they do not depend on what runs beside them.

use std::fs;
use std::path::Path;

use burn::backend::{Autodiff, Flex};
use formwright_lab::config::{Budget, Experiment, Run};
use formwright_lab::execute;
use formwright_lab::folder::Folder;
use formwright_lab::study::Study as _;
use formwright_lab::train::{Ended, Epoch, Progress};
use formwright_lab::{plot, summary};

use super::support::quiet::go;

const SMALL: &str = r#"
title = "small"
targets = ["times-mean"]
seeds = [1, 2]

[[model]]
kind = "polynomial-sumformer"
hidden = 16
layers = 2

[[model]]
kind = "mlp-sumformer"
hidden = 16
layers = 2

[[model]]
kind = "transformer"
blocks = [1]
width = [8]
norm = "pre"
positions = true

[data]
training = 256
validation = 256
batch = 50

[optimiser]
rate = 5e-3
warm_up = 10
decay = "cosine"

[budget]
epochs = 60
flat = 0
checkpoint = 7
"#;

/// The results of runs, without their times.
fn curves(dir: &Path) -> Vec<(Run, Vec<Epoch>, Option<Ended>)> {
    let runs = Folder::<Experiment>::open(dir).expect("a folder").runs().expect("runs");
    let timeless = |(run, known): (Run, Option<_>)| {
        let (_, progress): (_, Progress) = known.expect("a run that has begun");
        (run, progress.epochs.into_iter().map(|epoch| Epoch { seconds: 0.0, ..epoch }).collect(), progress.ended)
    };
    runs.into_iter().map(timeless).collect()
}

#[test]
fn runs_learn_and_going_on_equals_not_stopping() {
    let scratch = tempfile::tempdir().expect("a folder");
    let whole = scratch.path().join("whole");
    assert!(go(&Folder::<Experiment>::create(&whole, SMALL).expect("new"), 2, usize::MAX));
    for group in summary::groups(&Folder::open(&whole).expect("a folder")).expect("groups") {
        let best = group.best().expect("epochs");
        assert!(best.most < group.best_constant / 10.0, "{}: {best:?}, {}", group.model, group.best_constant);
    }
    // Stopped again and again, two at a time where one is stopped inside of an epoch, a checkpoint now older than the last line of metrics.
    let broken = scratch.path().join("broken");
    let folder = Folder::<Experiment>::create(&broken, SMALL).expect("new");
    for (jobs, epochs) in [(1, 3), (2, 11), (1, 29), (2, 48), (2, 2)] {
        assert!(!go(&folder, jobs, epochs));
    }
    let killed = folder.of(&folder.experiment.runs().expect("runs")[1], 1);
    let metrics = fs::read_to_string(killed.join("metrics.csv")).expect("metrics");
    fs::write(killed.join("metrics.csv"), format!("{metrics}999,9990,1.0,1e-9,1e-9,1e-9\n")).expect("a line too many");
    assert!(go(&folder, 1, usize::MAX));
    assert_eq!(curves(&broken), curves(&whole));
    // The same bytes for the same results: pictures have no clock.
    let draw = |dir: &Path| plot::figure(&Folder::open(dir).expect("a folder")).expect("a picture");
    assert_eq!(draw(&broken), draw(&whole));
    // What has ended is not run again.
    assert!(go(&folder, 1, 1));
}

#[test]
fn a_run_ends_when_it_is_flat_and_not_before() {
    let scratch = tempfile::tempdir().expect("a folder");
    // Nothing is to be learned of a constant: the first epochs are the best sooner or later.
    let text = SMALL
        .replace("\"times-mean\"", "\"0 * x\"")
        .replace("flat = 0", "flat = 0.25\nleast = 8")
        .replace("epochs = 60", "epochs = 400");
    let dir = scratch.path().join("flat");
    assert!(go(&Folder::<Experiment>::create(&dir, &text).expect("new"), 2, usize::MAX));
    for (run, epochs, ended) in curves(&dir) {
        let since = |upto: usize| {
            let best = (0..upto)
                .min_by(|a, b| epochs[*a].validation.loss.total_cmp(&epochs[*b].validation.loss))
                .expect("epochs");
            upto - 1 - best
        };
        let Budget { least, .. } = run.budget;
        let flat = |upto: usize| upto as u64 >= least && 4 * since(upto) >= upto;
        assert!((1..epochs.len()).all(|upto| !flat(upto)), "{run:?} went on though it was flat");
        assert_eq!(ended, Some(if flat(epochs.len()) { Ended::Flat } else { Ended::Budget }));
    }
}

#[test]
fn a_loss_that_is_no_number_ends_a_run_and_no_other() {
    let scratch = tempfile::tempdir().expect("a folder");
    let text = SMALL.replace("rate = 5e-3", "rate = 1e30").replace("warm_up = 10", "warm_up = 0");
    let dir = scratch.path().join("diverged");
    assert!(go(&Folder::<Experiment>::create(&dir, &text).expect("new"), 1, usize::MAX));
    let ends: Vec<Option<Ended>> = curves(&dir).into_iter().map(|(_, _, ended)| ended).collect();
    assert!(ends.contains(&Some(Ended::Diverged)), "{ends:?}");
    // What is no number is written down as well: the best weights can still be read.
    let folder = Folder::<Experiment>::open(&dir).expect("a folder");
    for (index, run) in folder.experiment.runs().expect("runs").iter().enumerate() {
        let device = burn::tensor::Device::<Flex>::default();
        execute::best::<Autodiff<Flex>>(&folder.of(run, index), run, &device).expect("weights");
    }
    let page = summary::page(&Folder::open(&dir).expect("a folder")).expect("a page");
    assert!(page.contains("diverged"), "{page}");
}
