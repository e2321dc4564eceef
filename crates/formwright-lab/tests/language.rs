//! Texts end to end: encoders learn masked words, strings, pairs and questions, go on where they were, and refuse what does not fit.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use formwright::random;
use formwright_lab::encoder::Part;
use formwright_lab::folder::Folder;
use formwright_lab::language::{Experiment, Run, Source, given, page, prepare};
use formwright_lab::study::Study as _;
use formwright_lab::text::entropy;
use formwright_lab::train::{Ended, Epoch, Progress};
use tempfile::TempDir;

use super::support::quiet::{go, try_go};

/// A language in which a word tells what its neighbours are about: every article has words of one of four kinds, in a cycle.
fn corpus(articles: usize, mut seed: u64) -> String {
    let kinds =
        [["red", "blue", "green"], ["stone", "river", "cloud"], ["leaf", "sand", "wind"], ["fire", "snow", "moon"]];
    let mut text = String::new();
    for article in 0..articles {
        let kind = kinds[random::below(&mut seed, kinds.len())];
        let _ = write!(text, "= Article {article} =\n\n");
        for line in 0..4 {
            let words: Vec<&str> = (line..line + 12).map(|place| kind[place % 3]).collect();
            let _ = writeln!(text, "{}", words.join(" "));
        }
        text.push('\n');
    }
    text
}

/// Pairs whose label is told by the second sentence; questions whose answer is the word behind `river`.
fn examples(dir: &Path) {
    let pair = |(number, label): (usize, &str)| {
        let premise = ["red stone", "blue leaf", "wind and sand"][number % 3];
        let hypothesis = match label {
            "entailment" => "moon snow",
            "neutral" => "fire river",
            _ => "green cloud",
        };
        format!("{{\"premise\": \"{premise}\", \"hypothesis\": \"{hypothesis}\", \"label\": \"{label}\"}}\n")
    };
    let labels = ["entailment", "neutral", "contradiction"];
    let pairs = |count: usize| (0..count).map(|number| pair((number, labels[number % 7 % 3]))).collect::<String>();
    fs::create_dir_all(dir.join("pairs")).expect("a folder");
    fs::write(dir.join("pairs/train.jsonl"), pairs(50)).expect("written");
    fs::write(dir.join("pairs/validation.jsonl"), pairs(23)).expect("written");
    let question = |number: usize| {
        let before = ["red ", "blue leaf ", "wind sand snow ", ""][number % 4];
        let context = format!("{before}river moon fire");
        format!(
            "{{\"context\": \"{context}\", \"qas\": [{{\"id\": \"q{number}\", \"question\": \"stone ?\", \"answers\": [{{\"text\": \"moon\", \"answer_start\": {}}}]}}]}}",
            before.len() + 6
        )
    };
    let questions = |count: usize| {
        let all: Vec<String> = (0..count).map(question).collect();
        format!("{{\"version\": \"1.1\", \"data\": [{{\"title\": \"t\", \"paragraphs\": [{}]}}]}}", all.join(", "))
    };
    fs::create_dir_all(dir.join("questions")).expect("a folder");
    fs::write(dir.join("questions/train.json"), questions(24)).expect("written");
    fs::write(dir.join("questions/validation.json"), questions(9)).expect("written");
}

/// A folder with a corpus in pieces.
fn texts() -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().expect("a folder");
    let [file, validation] = ["corpus.txt", "validation.txt"].map(|name| scratch.path().join(name));
    fs::write(&file, corpus(150, 5)).expect("written");
    fs::write(&validation, corpus(30, 6)).expect("written");
    let dir = scratch.path().join("text");
    prepare(&dir, &[file], &[validation], None, 200, &mut |_, _, _| {}).expect("texts");
    examples(&dir);
    (scratch, dir)
}

const MASKED: &str = r#"
title = "toy"
tasks = ["masked"]
layouts = ["attention*2", "sepconv:5:4*1,average*1"]

[encoder]
tokens = 16
width = 32
heads = 2
hidden = 64
norm = "pre"

[data]
batch = 16
validation = 128

[optimiser]
rate = 1e-2
warm_up = 20
decay = "linear"
clip = 1

[budget]
steps = 400
evaluate = 25
checkpoint = 3
"#;

fn made(scratch: &TempDir, name: &str, file: &str, text: &Path, from: Option<&Path>) -> Folder<Experiment> {
    let file = given(file, Some(text), from).expect("a file");
    Folder::create(&scratch.path().join(name), &file).expect("new")
}

/// The results of runs, without their times.
fn curves(folder: &Folder<Experiment>) -> Vec<(Run, Vec<Epoch>, Option<Ended>)> {
    let timeless = |(run, known): (Run, Option<_>)| {
        let (_, progress): (_, Progress) = known.expect("a run that has begun");
        (run, progress.epochs.into_iter().map(|epoch| Epoch { seconds: 0.0, ..epoch }).collect(), progress.ended)
    };
    folder.runs().expect("runs").into_iter().map(timeless).collect()
}

#[test]
fn masked_words_are_learned_below_their_frequencies_and_going_on_equals_not_stopping() {
    let (scratch, text) = texts();
    let whole = made(&scratch, "whole", MASKED, &text, None);
    assert!(go(&whole, 2, usize::MAX));
    for group in page::groups(&whole).expect("groups") {
        let loss = group.last(|epoch| epoch.validation.loss).expect("judged");
        assert!(
            loss.most < 0.75 * group.best_constant,
            "{}: {loss:?}, frequencies {}",
            group.layout,
            group.best_constant
        );
        // Nor by seeing what stands in the place of a word.
        let source = Source::read(&whole.experiment).expect("texts");
        let (cache, vocabulary) = (source.cache.expect("a corpus"), source.vocabulary.expect("a vocabulary"));
        let (single, right) = entropy::single(&cache.validation, &vocabulary);
        assert!(loss.most < single, "{}: {loss:?}, single words {single}", group.layout);
        // Twelve words by chance, three of a kind.
        assert!(
            group.score(0).expect("judged").least > right.max(0.2),
            "{}: {:?}, {right}",
            group.layout,
            group.score(0)
        );
        assert_eq!(group.parts.iter().map(Part::parameters).sum::<usize>(), group.parameters, "{:?}", group.parts);
    }
    let broken = made(&scratch, "broken", MASKED, &text, None);
    // Two at a time: where one is at the end of an epoch, the other is stopped inside of one.
    for (jobs, epochs) in [(1, 2), (2, 7), (2, 1), (1, 3), (2, 2)] {
        assert!(!go(&broken, jobs, epochs));
    }
    assert!(go(&broken, 2, usize::MAX));
    assert_eq!(curves(&broken), curves(&whole));
    assert_eq!(page::figure(&broken).expect("a picture"), page::figure(&whole).expect("a picture"));
}

#[test]
fn what_is_accumulated_is_what_a_larger_batch_has() {
    let (scratch, text) = texts();
    let ends = |name: &str, file: &str| {
        let folder = made(&scratch, name, &file.replace("steps = 400", "steps = 25"), &text, None);
        assert!(go(&folder, 2, usize::MAX));
        curves(&folder).into_iter().map(|(_, epochs, _)| epochs[0].validation.loss).collect::<Vec<f64>>()
    };
    let large = ends("large", MASKED);
    // The same sequences in the same steps: masks are drawn for a sequence by its place, and each asks for equally many words.
    let parts =
        ends("parts", &MASKED.replace("batch = 16", "batch = 4").replace("clip = 1", "clip = 1\naccumulate = 4"));
    for (large, parts) in large.iter().zip(&parts) {
        assert!((large - parts).abs() < 2e-2, "{large} {parts}");
    }
    let other = ends("other", &MASKED.replace("batch = 16", "batch = 4"));
    assert!(large.iter().zip(&other).any(|(large, other)| (large - other).abs() > 5e-2), "{large:?} {other:?}");
}

#[test]
fn encoders_are_fine_tuned_on_pairs_and_on_questions() {
    let (scratch, text) = texts();
    let trained = made(&scratch, "trained", &MASKED.replace("steps = 400", "steps = 100"), &text, None);
    assert!(go(&trained, 2, usize::MAX));
    let file = |task: &str| {
        format!(
            "tasks = [\"{task}\"]\n[data]\nbatch = 8\nstride = 4\n[optimiser]\nrate = 3e-3\nclip = 1\n[budget]\nsteps = 150\nevaluate = 50\n"
        )
    };
    for task in ["pairs", "questions"] {
        let folder = made(&scratch, task, &file(task), &text, Some(trained.path()));
        assert_eq!(folder.experiment.layouts, trained.experiment.layouts, "they are those of the encoders");
        assert_eq!(folder.experiment.encoder, trained.experiment.encoder);
        // Stopped once, to see that the encoder of a checkpoint is not the one of the beginning.
        assert!(!go(&folder, 1, 1));
        assert!(go(&folder, 2, usize::MAX));
        for group in page::groups(&folder).expect("groups") {
            let loss = group.last(|epoch| epoch.validation.loss).expect("judged");
            assert!(
                loss.most < 0.3 * group.best_constant,
                "{task}, {}: {loss:?} {}",
                group.layout,
                group.best_constant
            );
            assert!(group.score(0).expect("judged").least > 0.9, "{task}, {}", group.layout);
        }
    }
    // What is fine-tuned begins with what was trained: after one step of next to no length the encoders still know their words.
    let still = MASKED.replace("steps = 400", "steps = 25").replace("rate = 1e-2", "rate = 1e-9");
    let layouts = still.lines().find(|line| line.starts_with("layouts")).expect("layouts");
    let fresh = made(&scratch, "fresh", &still, &text, None);
    assert!(go(&fresh, 2, usize::MAX));
    let kept = made(&scratch, "kept", &still.replace(layouts, ""), &text, Some(trained.path()));
    assert!(go(&kept, 2, usize::MAX));
    for (kept, fresh) in page::groups(&kept).expect("groups").iter().zip(page::groups(&fresh).expect("groups")) {
        let loss = |group: &page::Group| group.last(|epoch| epoch.validation.loss).expect("judged").middle;
        assert!(loss(kept) < loss(&fresh) - 0.2, "{} {}", loss(kept), loss(&fresh));
    }
}

#[test]
fn strings_are_copied_where_a_pattern_lets_them_through() {
    let scratch = tempfile::tempdir().expect("a folder");
    // Places 0 to 3 are copied to 4 to 11. A window of one on either side reaches two places in two layers, and copies nothing from four places away.
    let file = r#"
title = "copying"
tasks = ["copying"]
layouts = ["attention*2", "sparse:window:1*2"]
[encoder]
tokens = 12
width = 32
heads = 2
hidden = 64
[copying]
distance = 4
symbols = 4
[data]
batch = 32
validation = 64
[optimiser]
rate = 3e-3
warm_up = 20
[budget]
steps = 400
evaluate = 100
"#;
    let folder = Folder::<Experiment>::create(&scratch.path().join("copying"), file).expect("new");
    assert!(go(&folder, 2, usize::MAX));
    let scores: Vec<f64> =
        page::groups(&folder).expect("groups").iter().map(|group| group.score(0).expect("judged").middle).collect();
    assert!(scores[0] > 0.95 && scores[1] < 0.5, "{scores:?}");
}

#[test]
fn what_does_not_fit_is_refused_and_no_checkpoint_is_lost() {
    let (scratch, text) = texts();
    let short = MASKED.replace("steps = 400", "steps = 25");
    let folder = made(&scratch, "short", &short, &text, None);
    assert!(go(&folder, 2, usize::MAX));
    let plain = |error: formwright::error::Error| {
        let text = error.to_string().replace(&scratch.path().display().to_string(), "SCRATCH");
        let words = text.split(' ').map(|word| if word.len() > 60 { "…" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    let mut said = String::new();
    let mut refuse = |what: &str, result: Result<bool, formwright::error::Error>| {
        said.extend([what, "\n", &plain(result.expect_err(what)), "\n\n"]);
    };
    let tried = |name: &str, file: &str, text: &Path, from: Option<&Path>| {
        let file = given(file, Some(text), from)?;
        try_go(&Folder::<Experiment>::create(&scratch.path().join(name), &file)?, 1, usize::MAX)
    };
    let prepared = |name: &str, content: &str| {
        let file = scratch.path().join(name);
        fs::write(&file, content).expect("written");
        prepare(&scratch.path().join("other"), &[file], &[], None, 60, &mut |_, _, _| {}).map(|_| true)
    };
    refuse("texts that are not there", tried("a", &short, &scratch.path().join("nowhere"), None));
    refuse(
        "a corpus that is not there",
        prepare(&scratch.path().join("b"), &[scratch.path().join("no.txt")], &[], None, 60, &mut |_, _, _| {})
            .map(|_| true),
    );
    refuse("a corpus without text", prepared("empty.txt", "\n\n"));
    refuse("a folder that is there", prepare(&text, &[], &[], None, 60, &mut |_, _, _| {}).map(|_| true));
    refuse("sequences longer than the corpus", tried("c", &short.replace("tokens = 16", "tokens = 4096"), &text, None));
    refuse(
        "no such layout in the encoders",
        tried("d", "tasks = [\"pairs\"]\nlayouts = [\"bproj*2\"]\n", &text, Some(folder.path())),
    );
    refuse(
        "other sizes than the encoders",
        tried("e", "tasks = [\"pairs\"]\n[encoder]\ntokens = 16\nwidth = 48\nheads = 2\n", &text, Some(folder.path())),
    );
    refuse("an experiment that names its own text", tried("f", &format!("text = \"x\"\n{short}"), &text, None));
    // Another vocabulary than that of the encoders, and than that of a checkpoint.
    prepared("other.txt", &corpus(150, 5).replace("river", "lake").replace("moon", "sun")).expect("texts");
    let other = scratch.path().join("other");
    examples(&other);
    refuse("encoders of another vocabulary", tried("g", "tasks = [\"pairs\"]\n", &other, Some(folder.path())));
    let unfinished = made(&scratch, "unfinished", MASKED, &text, None);
    assert!(!go(&unfinished, 1, 4));
    fs::rename(&text, scratch.path().join("aside")).expect("renamed");
    fs::rename(&other, &text).expect("renamed");
    refuse("a checkpoint of another vocabulary", try_go(&unfinished, 1, usize::MAX));
    fs::rename(&text, &other).expect("renamed");
    fs::rename(scratch.path().join("aside"), &text).expect("renamed");
    fs::write(text.join("pairs/train.jsonl"), "{\"premise\": \"a\", \"hypothesis\": \"b\", \"label\": \"maybe\"}\n")
        .expect("written");
    refuse("a label outside of the set", tried("h", "tasks = [\"pairs\"]\n", &text, Some(folder.path())));
    fs::remove_file(text.join("questions/validation.json")).expect("removed");
    refuse("questions that are not there", tried("i", "tasks = [\"questions\"]\n", &text, Some(folder.path())));
    insta::assert_snapshot!(said);
    // What was begun goes on as if nothing had been.
    assert!(go(&unfinished, 2, usize::MAX));
    let whole = made(&scratch, "whole", MASKED, &text, None);
    assert!(go(&whole, 2, usize::MAX));
    assert_eq!(curves(&unfinished), curves(&whole));
}

#[test]
fn files_that_make_no_sense_are_refused() {
    let changed = |from: &str, to: &str| {
        assert!(MASKED.contains(from), "{from}");
        MASKED.replacen(from, to, 1)
    };
    let cases = [
        ("an unknown key", changed("title", "titel")),
        ("an unknown key of a section", changed("evaluate", "evalute")),
        ("an unknown task", changed("\"masked\"", "\"maskd\"")),
        ("an unknown mixer", changed("average", "avarage")),
        ("no tasks", changed("[\"masked\"]", "[]")),
        ("no layouts", changed("layouts = [\"attention*2\", \"sepconv:5:4*1,average*1\"]", "")),
        ("heads that do not share the width", changed("heads = 2", "heads = 3")),
        ("steps that are not judged", changed("steps = 400", "steps = 410")),
        ("no batch", changed("batch = 16", "batch = 0")),
        ("pairs for no encoder", "tasks = [\"pairs\"]".to_owned()),
        ("a clip below zero", changed("clip = 1", "clip = -1")),
        ("no batches of a step", changed("clip = 1", "accumulate = 0")),
        ("a pattern that does not fit", changed("attention*2", "sparse:file:nowhere.txt*2")),
        ("a string longer than a sequence", changed("\"masked\"", "\"copying\"")),
        (
            "strings from words",
            changed("tasks = [\"masked\"]", "from = \"other\"\ntasks = [\"copying\"]\ncopying = {distance = 3}"),
        ),
    ];
    let mut said = String::new();
    for (what, text) in cases {
        let error = Experiment::parse(&text).expect_err(what);
        said.extend([what, "\n", &error.to_string(), "\n\n"]);
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_run_that_another_process_is_at_is_left_to_it() {
    let (scratch, text) = texts();
    let folder = made(&scratch, "shared", &MASKED.replace("steps = 400", "steps = 25"), &text, None);
    let runs = folder.experiment.runs().expect("runs");
    let dir = folder.of(&runs[0], 0);
    let lock = formwright_lab::folder::claim(&dir).expect("a lock").expect("nobody else is there");
    assert!(!go(&folder, 1, usize::MAX), "one run is not done");
    assert!(!dir.join("run.json").exists() && folder.of(&runs[1], 1).join("checkpoint").exists());
    drop(lock);
    assert!(go(&folder, 1, usize::MAX));
}
