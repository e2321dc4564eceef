"""The models of a zoo, and its script: the network of the script is the target, the truth scores 1, an example that
knows nothing scores less, and idle units are found by taking them out."""

import json
import subprocess
import sys

import numpy
import pytest

import formwright
from formwright import _native


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")
    for only in ("times-mean-n3-f32", "parity-n3-f32", "prefix-mean-n3-f64"):
        for name, content in _native.zoo_files(1, only):
            if "/" in name or name == "score.py":
                path = folder / name
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
    return folder


def run(zoo, *arguments):
    return subprocess.run([sys.executable, zoo / "score.py", zoo, *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def script(zoo):
    space = {"__name__": "score"}
    exec(compile((zoo / "score.py").read_text(), "score.py", "exec"), space)
    return space


TARGETS = {
    "times-mean": lambda x: x * x.mean(1, keepdims=True),
    "parity": lambda x: numpy.broadcast_to(x.sum(1, keepdims=True) % 2, x.shape),
    "prefix-mean": lambda x: x.cumsum(1) / numpy.arange(1, x.shape[1] + 1)[:, None],
}


def test_every_model_is_within_its_bound_of_its_target(zoo, script):
    found = 0
    for folder in zoo.glob("*/manifest.json"):
        model = script["Model"](folder.parent)
        (target,) = (target for name, target in TARGETS.items() if folder.parent.name.startswith(name + "-n"))
        for seed in range(3):
            x = model.inputs(seed)
            assert numpy.abs(model(x) - target(x.astype(float))).max() <= model.manifest["claim"]["bound"], folder
        found += 1
    assert found >= 10


def test_models_are_proved_again_by_the_checker(zoo):
    for folder in zoo.glob("*/certificate.fwc"):
        assert formwright.check(folder.parent).accepted, folder


def test_idle_units_are_the_ones_that_change_nothing(zoo, script):
    idle = 0
    for folder in zoo.glob("*-s1/manifest.json"):
        model = script["Model"](folder.parent)
        x = model.inputs()
        for layer, units in enumerate(layer["units"] for layer in model.manifest["layers"] if "units" in layer):
            for number, unit in enumerate(units):
                if unit["idle"]:
                    numpy.testing.assert_array_equal(model(x, (layer, number)), model(x))
                    idle += 1
    assert idle >= 3


def test_the_truth_scores_one_and_a_guess_does_not(zoo, script, tmp_path):
    names = [folder.parent.name for folder in zoo.glob("*/manifest.json")]
    truth = {name: list(script["Model"](zoo / name).truth()) for name in names}
    guess = {name: [{"alive": [True] * len(layer["alive"]), "group": [0] * len(layer["group"])} for layer in layers] for name, layers in truth.items()}
    scores = []
    for answers in (truth, guess):
        file = tmp_path / "answers.json"
        file.write_text(json.dumps(answers))
        done = run(zoo, "--answers", file)
        assert done.returncode == 0, done.stderr
        scores.append(done.stdout.splitlines()[-1])
    assert scores[0] == f"{len(names)} models: idle units 1.000, groups 1.000" and scores[1] != scores[0]
    file.write_text(json.dumps({names[0]: truth[names[0]][1:]}))
    short = run(zoo, "--answers", file)
    assert short.returncode == 1 and "layers, expected" in short.stderr


def scores(done):
    assert done.returncode == 0, done.stderr
    words = done.stdout.splitlines()[-1].replace(",", "").split()
    return float(words[-3]), float(words[-1])


def test_examples_are_told_apart_by_their_scores(zoo, tmp_path):
    """What units write tells the idle ones, and taking them out does not: some units act on few inputs."""
    by_weights, by_ablation = scores(run(zoo, "--method", "weights")), scores(run(zoo, "--write", tmp_path / "answers.json"))
    assert by_weights[0] == 1 and by_weights[1] > 0.5 and 0 < by_ablation[0] < 1 and by_ablation[1] < by_weights[1]
    assert scores(run(zoo, "--answers", tmp_path / "answers.json")) == by_ablation
