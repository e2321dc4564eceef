"""Every script and every notebook in examples/ runs, and says what it says."""

import contextlib
import io
import json
import os
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs(script, capsys):
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom_and_prints_what_it_shows(path):
    """`UPDATE_NOTEBOOKS=1` writes what its cells print now."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    update, names = bool(os.environ.get("UPDATE_NOTEBOOKS")), {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 3
    for count, cell in enumerate(cells, 1):
        printed = io.StringIO()
        # Lines of a traceback are looked up in a file of this name; functions are read without their text.
        code = compile("".join(cell["source"]), f"{path.name}, cell {count}", "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        lines = printed.getvalue().splitlines(keepends=True)
        if update:
            cell["execution_count"] = count
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
        shown = [line for output in cell["outputs"] for line in output["text"]]
        assert lines == shown, f"cell {count}"
    if update:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def test_the_picture_of_the_readme_shows_what_is_compiled():
    picture = runpy.run_path(str(SCRIPTS[0].parents[1] / "docs" / "picture.py"))
    assert picture["PICTURE"].read_text() == picture["picture"]()
