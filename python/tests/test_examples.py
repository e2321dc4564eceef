"""Every script in examples/ runs and says something."""

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs(script, capsys):
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_the_picture_of_the_readme_shows_what_is_compiled():
    picture = runpy.run_path(str(SCRIPTS[0].parents[1] / "docs" / "picture.py"))
    assert picture["PICTURE"].read_text() == picture["picture"]()
