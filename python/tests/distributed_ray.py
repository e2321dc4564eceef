"""A check on a Ray cluster of two workers, one of which is killed in the middle. Needs Ray and a built `fwcheck`, and is
no part of the quick tests; measurements/check.md says when it was run.

    FWCHECK=target/release/fwcheck python -m pytest python/tests/distributed_ray.py
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'formwright[ray]'")

import formwright.distributed  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
FWCHECK = str(Path(os.environ.get("FWCHECK", "fwcheck")).resolve()) if "FWCHECK" in os.environ else shutil.which("fwcheck")

pytestmark = pytest.mark.skipif(FWCHECK is None, reason="fwcheck is not built: set FWCHECK, or put it in the path")

# Checks a shard as fwcheck does; but the first time at shard 3/8, the worker that asks for it is killed.
KILLER = """#!/bin/sh
case "$*" in
  *"--shard 3/8"*) if mkdir "{mark}" 2> /dev/null; then kill -9 "$PPID"; exit 9; fi; echo again >> "{mark}/again" ;;
esac
exec "{fwcheck}" "$@"
"""


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def alone(folder):
    return subprocess.run([FWCHECK, str(folder)], capture_output=True, text=True).stdout.strip()


def killer(tmp_path):
    script, mark = tmp_path / "fwcheck", tmp_path / "killed"
    script.write_text(KILLER.format(mark=mark, fwcheck=FWCHECK))
    script.chmod(0o755)
    return script, mark


@pytest.mark.parametrize("name", ["accept/circuit-sort", "accept/circuit-gather", "accept/yun-4x3"])
def test_a_worker_that_is_killed_changes_nothing(cluster, tmp_path, name):
    folder = ROOT / "corpus" / name
    script, mark = killer(tmp_path)
    verdict = formwright.distributed.check(folder, shards=8, fwcheck=str(script))
    assert mark.is_dir(), "no worker was killed"
    assert (mark / "again").read_text().splitlines() == ["again"], "the shard was not checked again"
    assert verdict.accepted and verdict.text == alone(folder)


def test_without_retries_a_lost_worker_is_no_verdict(cluster, tmp_path):
    script, mark = killer(tmp_path)
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        formwright.distributed.check(ROOT / "corpus/accept/circuit-sort", shards=8, retries=0, fwcheck=str(script))
    assert mark.is_dir()


def test_a_false_claim_is_rejected_as_on_one_machine(cluster):
    # Claims over a box are not cut into shards.
    folders = sorted((ROOT / "corpus/reject").iterdir())
    cut = [folder for folder in folders if b"\nover box\n" not in (folder / "certificate.fwc").read_bytes()]
    wrong = [folder for folder in cut if alone(folder).startswith("rejected: point")]
    assert len(wrong) > 2
    for folder in wrong[:3]:
        verdict = formwright.distributed.check(folder, shards=4, fwcheck=FWCHECK)
        assert (verdict.verdict, verdict.obligation) == ("rejected", "point")
        assert verdict.text == alone(folder)


def test_what_cannot_be_asked_is_said(cluster, tmp_path):
    with pytest.raises(formwright.InputError, match="cannot read"):
        formwright.distributed.check(tmp_path)
    with pytest.raises(formwright.InputError, match="0 shards"):
        formwright.distributed.check(ROOT / "corpus/accept/circuit-sort", shards=0)
    with pytest.raises(ray.exceptions.RayTaskError, match="cannot run"):
        formwright.distributed.check(ROOT / "corpus/accept/circuit-sort", shards=1, fwcheck="no-such-program")
