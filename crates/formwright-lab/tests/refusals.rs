//! Refusals and their words; nothing is lost by them.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_formwright-lab"))
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .expect("the binary");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code().expect("a code"), text(output.stdout), text(output.stderr))
    }

    /// An experiment that takes a second.
    fn tiny() -> String {
        "title = \"tiny\"\ntargets = [\"times-mean\"]\n\n[[model]]\nkind = \"mlp-sumformer\"\nhidden = 4\nlayers = 1\n\n[data]\ntraining = 64\nvalidation = 64\nbatch = 32\n\n[budget]\nepochs = 3\n".to_owned()
    }
}

/// Every refusal ends with 3 and leaves no folder behind.
#[test]
fn experiments_that_make_no_sense_are_refused_before_anything_is_written() {
    let scratch = Scratch::new();
    let tiny = Scratch::tiny();
    let changed = |from: &str, to: &str| {
        assert!(tiny.contains(from), "{from}");
        tiny.replacen(from, to, 1)
    };
    let cases = [
        ("an unknown key", changed("title", "titel")),
        ("an unknown key of a section", changed("epochs", "epoch")),
        ("an unknown key of a model", changed("hidden", "hiden")),
        ("a key like no other", changed("hidden", "zzzzzzzz")),
        ("an unknown kind of model", changed("mlp-sumformer", "mlp-sumforner")),
        ("a model without a kind", changed("kind = \"mlp-sumformer\"\n", "")),
        ("no TOML", changed("title =", "title")),
        ("a text where a number is due", changed("epochs = 3", "epochs = \"three\"")),
        ("no targets", changed("[\"times-mean\"]", "[]")),
        ("an unknown target", changed("times-mean", "times-maen")),
        ("a target on integers", changed("times-mean", "sort-integers")),
        ("no seeds", changed("title", "seeds = []\ntitle")),
        ("no tokens", changed("title", "tokens = 0\ntitle")),
        ("no latent dimension", changed("layers = 1", "latent = [0]")),
        ("a batch larger than the data", changed("batch = 32", "batch = 65")),
        ("no batch", changed("batch = 32", "batch = 0")),
        ("a rate below zero", changed("[budget]", "[optimiser]\nrate = -1\n\n[budget]")),
        ("a share above one", changed("epochs = 3", "flat = 1.5")),
        ("a network larger than memory", changed("hidden = 4\nlayers = 1", "hidden = 1000000\nlayers = 2")),
        (
            "heads that do not share a width",
            "targets = [\"z-score\"]\n[[model]]\nkind = \"transformer\"\nwidth = [10]\nheads = 3\n".to_owned(),
        ),
        ("targets without a partner", changed("title", "paired = true\ndims = [1, 2]\ntitle")),
    ];
    let mut said = String::new();
    for (what, text) in cases {
        fs::write(scratch.path("experiment.toml"), text).expect("a file");
        let (code, out, message) = scratch.run(&["run", "experiment.toml", "-o", "runs"]);
        assert_eq!((code, out.as_str()), (3, ""), "{what}: {message}");
        assert!(!scratch.path("runs").exists() && !scratch.path("runs.new").exists(), "{what}");
        said.extend([what, "\n", &message, "\n"]);
    }
    insta::assert_snapshot!(said);
}

/// The files of a folder, with their bytes.
fn bytes(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(bytes(&path));
        } else {
            all.push((path.display().to_string(), fs::read(&path).expect("a file")));
        }
    }
    all.sort();
    all
}

#[test]
fn what_is_there_is_kept() {
    let scratch = Scratch::new();
    fs::write(scratch.path("tiny.toml"), Scratch::tiny()).expect("a file");
    let (code, page, message) = scratch.run(&["run", "tiny.toml"]);
    assert_eq!(code, 0, "{message}");
    assert!(page.contains("written to tiny: summary.md, results.csv, figure.svg"), "{page}");
    let before = bytes(&scratch.path("tiny"));
    let run = "001-times-mean-mlp-sumformer-1x4-latent-3-d1-s1";
    let mut said = String::new();
    let mut refuse = |what: &str, arguments: &[&str]| {
        let (code, _, message) = scratch.run(arguments);
        assert_eq!(code, 3, "{what}: {message}");
        said.extend([what, "\n", &message, "\n"]);
    };
    refuse("a folder that is there", &["run", "tiny.toml"]);
    refuse("a folder that is there, asked for", &["run", "quick", "-o", "tiny"]);
    refuse("an experiment that is not there", &["run", "quik"]);
    refuse("a folder that is not there", &["resume", "nowhere"]);
    refuse("a folder below a file", &["run", "quick", "-o", "tiny.toml/runs"]);
    refuse("CUDA that is not there", &["run", "quick", "--device", "cuda"]);
    refuse("LibTorch that is not there", &["run", "quick", "--device", "libtorch"]);
    assert_eq!(bytes(&scratch.path("tiny")), before);
    assert!(!scratch.path("quick").exists());
    // The experiment was changed while its runs are there.
    fs::write(scratch.path("tiny/experiment.toml"), Scratch::tiny().replace("batch = 32", "batch = 16"))
        .expect("a file");
    refuse("an experiment that was changed", &["resume", "tiny"]);
    fs::write(scratch.path("tiny/experiment.toml"), Scratch::tiny()).expect("a file");
    assert_eq!(bytes(&scratch.path("tiny")), before);
    // A checkpoint of another configuration, and one that was cut short.
    let dir = scratch.path("tiny/runs").join(run);
    let about = fs::read_to_string(dir.join("run.json")).expect("a file");
    let checkpoint = fs::read(dir.join("checkpoint")).expect("a file");
    fs::write(dir.join("run.json"), about.replace("\"ended\": \"budget\"", "\"ended\": null")).expect("a file");
    let colon = checkpoint.windows(7).position(|bytes| bytes == b"\"run\":\"").expect("a header") + 7;
    let mut other = checkpoint.clone();
    other[colon] = if other[colon] == b'0' { b'1' } else { b'0' };
    fs::write(dir.join("checkpoint"), &other).expect("a file");
    let (code, _, message) = scratch.run(&["resume", "tiny"]);
    assert!(code == 3 && message.contains("belongs to another configuration"), "{message}");
    fs::write(dir.join("checkpoint"), &checkpoint[..checkpoint.len() - 1]).expect("a file");
    refuse("a checkpoint that was cut short", &["resume", "tiny"]);
    fs::write(dir.join("checkpoint"), b"").expect("a file");
    refuse("a checkpoint that is empty", &["resume", "tiny"]);
    insta::assert_snapshot!(said);
}

#[test]
fn help_and_lists() {
    let scratch = Scratch::new();
    let mut said = String::new();
    for arguments in [
        &["--help"][..],
        &["text", "--help"],
        &["run", "--help"],
        &["compare", "--help"],
        &["compile", "--help"],
        &["list"],
        &["list", "quick"],
    ] {
        let (code, out, message) = scratch.run(arguments);
        assert_eq!((code, message.as_str()), (0, ""));
        said.extend(["$ formwright lab ", &arguments.join(" "), "\n", &out, "\n"]);
    }
    insta::assert_snapshot!(said);
}
