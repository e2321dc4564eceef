"""A check of a claim over integers in shards, on the machines of a Ray cluster.

    verdict = formwright.distributed.check("folder")                            # this machine's cores
    verdict = formwright.distributed.check("folder", address="auto", shards=256)

The work is that of `fwcheck --shard` and `fwcheck merge` (CERTIFICATE.md, section 9), and so is the verdict: Ray carries
files and parts. A shard whose worker is lost is checked again. Every machine needs `fwcheck`.
"""

from __future__ import annotations

import subprocess
import tempfile
from os import PathLike
from pathlib import Path

import ray

from formwright import Verdict
from formwright.errors import InputError

FILES = ("certificate.fwc", "target.json", "model.safetensors")

# Shards a core: some take longer than others.
SHARES = 4


def check(
    folder: str | PathLike[str],
    *,
    shards: int | None = None,
    retries: int = 3,
    fwcheck: str = "fwcheck",
    address: str | None = None,
) -> Verdict:
    """The verdict on a folder, from so many shards; four a core of the cluster unless said otherwise.

    A shard is checked again, `retries` times at most, if its worker is lost. If there is no connection to a cluster yet,
    one is made to `address`, or a cluster of this machine's cores is started, and ended again.
    """
    if shards is not None and shards < 1:
        raise InputError(f"{shards} shards: one is needed at least")
    files = {name: _read(Path(folder) / name) for name in FILES}
    connected = ray.is_initialized()
    if not connected:
        ray.init(address=address, log_to_driver=False)
    try:
        count = shards or SHARES * max(1, int(ray.cluster_resources().get("CPU", 1)))
        task = ray.remote(_part).options(max_retries=retries, num_cpus=1)
        here = ray.put(files)
        waiting = [task.remote(here, f"{at}/{count}", fwcheck) for at in range(1, count + 1)]
        return _merged(files, ray.get(waiting), fwcheck)
    finally:
        if not connected:
            ray.shutdown()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _part(files: dict[str, bytes], shard: str, fwcheck: str) -> bytes:
    """The result of a shard's check, on some machine."""
    with tempfile.TemporaryDirectory() as place:
        for name, content in files.items():
            (Path(place) / name).write_bytes(content)
        part = Path(place) / "part"
        _run([fwcheck, "--threads", "1", "--shard", shard, "-o", str(part), place])
        return part.read_bytes()


def _merged(files: dict[str, bytes], parts: list[bytes], fwcheck: str) -> Verdict:
    """The verdict that parts give together, about these files."""
    with tempfile.TemporaryDirectory() as place:
        for name, content in files.items():
            (Path(place) / name).write_bytes(content)
        names = [Path(place) / f"part-{at}" for at, _ in enumerate(parts, 1)]
        for path, part in zip(names, parts, strict=True):
            path.write_bytes(part)
        text = _run([fwcheck, "merge", "--of", place, *map(str, names)])
    verdict, _, rest = text.partition(": ")
    if verdict == "accepted":
        return Verdict(verdict, None, None, text)
    obligation, _, reason = rest.partition(": ")
    return Verdict(verdict, obligation, reason, text)


def _run(command: list[str]) -> str:
    """The words of a run that gives a verdict."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise InputError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode not in (0, 1, 2):
        raise InputError(done.stderr.strip() or f"{command[0]} ended with {done.returncode}")
    return done.stdout.strip()
