//! The scripts of `examples/` run, with the binary of this build and numpy.

#[path = "../../formwright/tests/support/onnxruntime.rs"]
mod onnxruntime;

use std::path::Path;
use std::process::Command;

fn run(script: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let output = Command::new(onnxruntime::python())
        .arg(examples.join(script))
        .env("FORMWRIGHT", env!("CARGO_BIN_EXE_formwright"))
        .output()
        .expect("an interpreter");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{script}: {}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Which answers change where logits are equal without a part may depend on the machine; who is found and who is blamed does not.
#[test]
fn ablation_is_judged_by_the_ground_truth() {
    let said = run("ground_truth.py");
    assert!(said.contains("of 10 parts that compute something ablation finds 9;"), "{said}");
    assert!(said.contains("of 6 that fill blocks up it blames 0"), "{said}");
}
