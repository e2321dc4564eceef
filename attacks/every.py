"""Every artifact that the test-suite builds, checked.

    python3 attacks/every.py FOLDER [--only formwright]

Copies the repository to FOLDER/tree, has its compiler keep the files of every model that it compiles and that has a certificate, runs the
tests there, and hands every kept folder to the checker. Says how many are accepted, and for which reasons others are declined; one that is
rejected, or takes more than five minutes, is an error.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEEPING = """
/// Compiles a target, and keeps what is claimed of it.
pub fn compile(request: &Request) -> Result<Model> {
    let model = compile_only(request)?;
    if let Some(files) = crate::artifact::Contents::of(&model).ok().filter(|contents| contents.certificate.is_some()) {
        let name = crate::artifact::sha256(files.certificate.as_deref().unwrap_or_default());
        let folder = std::path::Path::new(&std::env::var("KEPT").expect("a folder")).join(name);
        if std::fs::create_dir(&folder).is_ok() {
            files.files().into_iter().for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes).expect("written"));
        }
    }
    Ok(model)
}
"""


def tests(folder, only):
    """Runs the tests of a copy of the repository whose compiler keeps what it compiles."""
    tree, kept = folder / "tree", folder / "kept"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    subprocess.run(["git", "clone", "--quiet", ROOT, tree], check=True)
    source = tree / "crates" / "formwright" / "src" / "compile" / "mod.rs"
    text, count = re.subn(r"^pub fn compile\(", "fn compile_only(", source.read_text(), flags=re.M)
    assert count == 1, "the compiler has another way in"
    source.write_text(text + KEEPING)
    packages = ["--package", only] if only else ["--workspace"]
    environment = os.environ | {"KEPT": str(kept), "CARGO_TARGET_DIR": str(folder / "target")}
    subprocess.run(["cargo", "test", "--quiet", "--no-fail-fast", *packages], cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["cargo", "build", "--quiet", "--release", "--package", "formwright-check"], cwd=tree, env=environment, check=True)
    return sorted(kept.iterdir())


def verdict(fwcheck, artifact):
    """The checker's verdict on a folder."""
    try:
        done = subprocess.run([fwcheck, artifact], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "no answer"
    # How far it is, it says on the other stream.
    return done.stdout.strip() or done.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="the tests of this package alone")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    artifacts = tests(folder, arguments.only)
    fwcheck = folder / "target" / "release" / "fwcheck"
    counts, wrong = Counter(), []
    with ThreadPoolExecutor(2) as pool:
        for artifact, said in zip(artifacts, pool.map(lambda artifact: verdict(fwcheck, artifact), artifacts)):
            # Numbers differ; reasons are few.
            counts["accepted" if said.startswith("accepted") else re.sub(r"[\d/^-]+", "…", said)[:120]] += 1
            if not said.startswith(("accepted", "declined")):
                wrong.append(f"{artifact.name}: {said}")
    print(f"{len(artifacts)} artifacts with a certificate")
    for said, count in counts.most_common():
        print(f"{count:6} {said}")
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong or not artifacts else 0)


if __name__ == "__main__":
    main()
