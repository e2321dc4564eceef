//! onnxruntime, in a virtual environment of its own: `target/parity-venv`, made on first use from `parity/requirements.txt`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

const REQUIREMENTS: &str = include_str!("../parity/requirements.txt");

/// `[batch][token][coordinate]`.
pub type Batch = Vec<Vec<Vec<f64>>>;

/// What came out of one case.
#[derive(Deserialize)]
pub struct Outputs {
    #[allow(dead_code)]
    pub properties: BTreeMap<String, String>,
    /// By the way of running, then by the name of the output.
    pub runs: BTreeMap<String, BTreeMap<String, Batch>>,
}

/// Runs models on batches; the names are those of folders. Panics if there is no Python or no onnxruntime: parity is then not shown.
pub fn run(cases: &[(String, Vec<u8>, Batch)]) -> Vec<Outputs> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, model, inputs) in cases {
        let case = folder.path().join(name);
        fs::create_dir(&case).expect("a folder for a case");
        fs::write(case.join("model.onnx"), model).expect("writing the model");
        fs::write(case.join("inputs.json"), serde_json::to_string(inputs).expect("JSON")).expect("writing the inputs");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parity/run.py");
    command(Command::new(python()).arg(script).arg(folder.path()), "onnxruntime did not run all cases");
    let outputs = |(name, _, _): &(String, _, _)| {
        let text = fs::read_to_string(folder.path().join(name).join("outputs.json")).expect("outputs");
        serde_json::from_str(&text).expect("outputs as run.py writes them")
    };
    cases.iter().map(outputs).collect()
}

/// The environment's interpreter.
fn python() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let venv = target.join("parity-venv");
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    // One process makes it; others wait.
    let lock = File::create(target.join("parity-venv.lock")).expect("a lock file in the target folder");
    lock.lock().expect("the lock");
    let ready = venv.join("installed.txt");
    if fs::read_to_string(&ready).is_ok_and(|installed| installed == REQUIREMENTS) {
        return python;
    }
    if venv.exists() {
        fs::remove_dir_all(&venv).expect("removing an environment that is out of date");
    }
    let what = "no parity without onnxruntime: python3 (3.11 or later, with venv) and a way to PyPI are needed";
    command(Command::new("python3").args(["-m", "venv"]).arg(&venv), what);
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parity/requirements.txt");
    command(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(requirements),
        what,
    );
    fs::write(ready, REQUIREMENTS).expect("a note of what is installed");
    python
}

/// Runs a command to its end, or panics with what it said.
fn command(command: &mut Command, what: &str) {
    let output = command.output().unwrap_or_else(|error| panic!("{what}\n{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{what}\n{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
