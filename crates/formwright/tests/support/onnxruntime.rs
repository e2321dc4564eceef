//! onnxruntime and numpy, in a virtual environment of their own: `target/parity-venv`, made on first use from `parity/requirements.txt`.

// A test takes of it what it needs.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUIREMENTS: &str = include_str!("../parity/requirements.txt");

/// `[batch][token][coordinate]`.
pub type Batch = Vec<Vec<Vec<f64>>>;

/// The sides of outputs, by name.
type Sides = Vec<(String, [usize; 3])>;

/// The outputs of one case.
pub struct Outputs {
    pub properties: BTreeMap<String, String>,
    /// By the way of running, then by the name of the output.
    pub runs: BTreeMap<String, BTreeMap<String, Batch>>,
}

/// Runs models on batches, each in a folder of its number: names are formulas, and may contain what paths may not. Panics if there is no Python or no onnxruntime: parity is then not shown.
pub fn run(cases: &[(String, Vec<u8>, Batch)]) -> Vec<Outputs> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |number: usize| folder.path().join(format!("{number:05}"));
    for (number, (_, model, inputs)) in cases.iter().enumerate() {
        let case = place(number);
        fs::create_dir(&case).expect("a folder for a case");
        fs::write(case.join("model.onnx"), model).expect("writing the model");
        let sides = (inputs.len(), inputs[0].len(), inputs[0][0].len());
        fs::write(case.join("inputs.json"), serde_json::to_string(&sides).expect("JSON")).expect("writing the inputs");
        let numbers: Vec<u8> = inputs.iter().flatten().flatten().flat_map(|x| x.to_le_bytes()).collect();
        fs::write(case.join("inputs.bin"), numbers).expect("writing the inputs");
    }
    script("run.py", folder.path()).expect("onnxruntime did not run all cases");
    (0..cases.len()).map(|number| read(&place(number))).collect()
}

fn read(case: &Path) -> Outputs {
    let text = fs::read_to_string(case.join("outputs.json")).expect("outputs");
    let written: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let sides: Vec<(String, Sides)> =
        serde_json::from_value(written["runs"].clone()).expect("outputs as run.py writes them");
    let bytes = fs::read(case.join("outputs.bin")).expect("outputs");
    let mut numbers = bytes.chunks_exact(8).map(|number| f64::from_le_bytes(number.try_into().expect("8 bytes")));
    let mut batch = |[batch, tokens, width]: [usize; 3]| -> Batch {
        let mut token = || numbers.by_ref().take(width).collect();
        let mut sequence = || (0..tokens).map(|_| token()).collect();
        (0..batch).map(|_| sequence()).collect()
    };
    let mut runs = BTreeMap::new();
    for (way, outputs) in sides {
        runs.insert(way, outputs.into_iter().map(|(name, sides)| (name, batch(sides))).collect());
    }
    assert!(numbers.next().is_none(), "numbers of no output");
    Outputs { properties: serde_json::from_value(written["properties"].clone()).expect("properties"), runs }
}

/// The folder of the scripts, for tests of any crate.
fn parity() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../formwright/tests/parity")
}

/// Runs one of the scripts on a folder; what it said, if it fails.
pub fn script(name: &str, folder: &Path) -> Result<String, String> {
    let output = Command::new(python()).arg(parity().join(name)).arg(folder).output().expect("an interpreter");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// The environment's interpreter.
pub fn python() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let target = program.ancestors().nth(3).expect("the target folder");
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
    let requirements = parity().join("requirements.txt");
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
