"""What a release says of itself in several places is the same in all of them."""

import re
import tomllib

from conftest import ROOT

from skstructured import __version__

RECIPE = (ROOT / ".ci" / "conda" / "recipe.yaml").read_text("utf-8")
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = SETUP["project"]


def required(section):
    """A list of requirements in the recipe, as pip writes them."""
    lines = re.search(rf"^  {section}:\n((?:    - .*\n)+)", RECIPE, re.M)[1].splitlines()
    return [line.removeprefix("    - ").replace(" ", "", 1) for line in lines]


def test_the_recipe_has_the_dependencies_of_the_package():
    python, *run = required("run")
    assert sorted(run) == sorted(PROJECT["dependencies"])
    least = re.search(r'python_min: "(.*)"', RECIPE)[1]
    assert python == "python>=${{ python_min }}" and PROJECT["requires-python"] == f">={least}"
    assert required("host")[1:] == ["pip", *SETUP["build-system"]["requires"]]


def test_the_recipe_says_what_the_package_says():
    named = {"name": PROJECT["name"], "summary": PROJECT["description"]}
    named |= {"license": PROJECT["license"], "license_file": PROJECT["license-files"][0]}
    named |= {"version": f'"{__version__}"'}
    assert all(f"  {key}: {value}\n" in RECIPE for key, value in named.items())
    assert "  version: ${{ version }}\n" in RECIPE


def test_the_version_stands_in_one_place_of_the_package():
    """Others read it: pyproject.toml by `dynamic`, the site by importing the package."""
    assert SETUP["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "skstructured.__version__"}
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    written = re.compile(rf"(?<![\d.]){re.escape(__version__)}(?![\d.])")
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("skstructured", "docs", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md", ".rst", ".yaml") and "_build" not in path.parts
        if written.search(path.read_text("utf-8"))
    }
    citable = "docs/errata.md"  # a page that says by which version it is to be cited
    assert found == {"skstructured/__init__.py", ".ci/conda/recipe.yaml", citable}
    assert (ROOT / citable).read_text("utf-8").count(f"version {__version__}, ") == 2
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_changelog_begins_with_this_version_and_goes_by_topic():
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.M)[1:]
    titles = [section.partition("\n")[0] for section in sections]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \((unreleased|\d{4}-\d\d-\d\d)\)", t) for t in titles)
    number, _, when = titles[0].partition(" ")
    version, dev, _ = __version__.partition(".dev")
    assert number == version and (when == "(unreleased)") == bool(dev)
    for section in sections:
        topics = re.split(r"^\*\*(.+)\*\*$", section.partition("\n")[2], flags=re.M)
        names, lists = topics[1::2], topics[2::2]
        assert topics[0].strip() == "" and len(set(names)) == len(names) > 0
        assert all(re.match(r"\n\n- ", entries) for entries in lists)
