"""The guide names what there is: all public names, and the functions that are read as formulas."""

import fnmatch
import inspect
import re
from pathlib import Path

import numpy_functions
import pytest

import formwright

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


def page(name):
    return (ROOT / "docs" / "guide" / name).read_text()


def in_code(text):
    """The names between backticks, without their arguments."""
    return {re.match(r"\w*", code)[0] for code in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))}


def options_of(function):
    return {name for name, option in inspect.signature(function).parameters.items() if option.kind is option.KEYWORD_ONLY}


def test_all_public_names_are_there():
    members = {name for name in vars(formwright.Network) if not name.startswith("_")}
    options = set(formwright.Options.__annotations__)
    public = {*formwright.__all__, *members, *options, *options_of(formwright.build)}
    assert len(public) > 50 and public <= in_code(page("python.md")), public - in_code(page("python.md"))


@pytest.mark.parametrize("heading, place", [("function", formwright), ("attribute", formwright.Network)])
def test_a_name_in_a_table_is_public(heading, place):
    (table,) = re.findall(rf"^\| {heading} \|.*\n\|---.*\n((?:\|.*\n)+)", page("python.md"), re.MULTILINE)
    names = re.findall(r"^\| `(\w+)(?:\(|`)", table, re.MULTILINE)
    assert len(names) == table.count("\n") and all(hasattr(place, name) for name in names), names


def section(heading):
    """A part of the page about NumPy, and the number that it begins with."""
    text = page("numpy.md").split(heading)[1].split("\n## ")[0]
    return text, int(re.search(r"\d+", text)[0])


def named(function):
    return function.__name__.replace("_", " ")


def test_the_functions_that_are_read_are_those_of_the_page():
    text, count = section("## What is read")
    told = re.sub(r"\s+", " ", text).lower()
    listed = [name.strip() for names in re.findall(r"\*: ([\w ,]+)\.", told) for name in names.split(",")]
    assert sorted(listed) == sorted(named(function) for function, _ in numpy_functions.TRACED) and len(listed) == count


def test_the_functions_that_are_refused_are_those_of_the_page():
    text, count = section("## What is not")
    rows = re.findall(r"^\| ([\w ]+) \| `.*` \| (.*) \|$", text, re.MULTILINE)
    assert sorted(rows) == sorted((named(function), words) for function, words in numpy_functions.UNTRACED)
    assert len(rows) == count


@pytest.mark.parametrize("path", [path for path in PAGES if ">>> " in path.read_text()], ids=lambda path: path.stem)
def test_the_python_of_a_page_is_run(path, request):
    places = [ROOT / place for place in request.config.getini("testpaths")]
    assert any(place == path or place in path.parents for place in places)
    assert any(fnmatch.fnmatch(str(path), f"*/{glob}") for glob in request.config.getoption("doctestglob"))


def test_three_pages_have_python():
    assert {path.name for path in PAGES if ">>> " in path.read_text()} >= {"README.md", "numpy.md", "python.md"}
