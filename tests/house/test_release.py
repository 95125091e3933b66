"""What a release says of itself in several places is the same in all of them."""

import re
import tomllib

import pytest
from conftest import ROOT

import skstructured

RECIPE = ROOT / ".ci" / "conda" / "recipe.yaml"


def project():
    """What pyproject.toml says of the package and of how it is built."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        read = tomllib.load(file)
    return read["project"], read["build-system"]["requires"]


def recipe_lines(section):
    """Entries of a list of requirements in the recipe."""
    text = RECIPE.read_text(encoding="utf-8")
    return re.search(rf"^  {section}:\n((?:    - .*\n)+)", text, re.M)[1].split("    - ")[1:]


def as_pip(line):
    """A requirement of the recipe as pip writes it."""
    return line.strip().replace(" ", "", 1)


def test_the_recipe_is_of_this_version():
    text = RECIPE.read_text(encoding="utf-8")
    assert f'  version: "{skstructured.__version__}"\n' in text
    assert "  version: ${{ version }}\n" in text


def test_the_recipe_has_the_dependencies_of_the_package():
    described, build = project()
    python, *run = map(as_pip, recipe_lines("run"))
    assert sorted(run) == sorted(described["dependencies"])
    least = re.search(r'python_min: "(.*)"', RECIPE.read_text(encoding="utf-8"))[1]
    assert python == "python>=${{ python_min }}"
    assert described["requires-python"] == f">={least}"
    host = [as_pip(line) for line in recipe_lines("host")]
    assert host[1:] == ["pip", *build]


def test_the_recipe_says_what_the_package_says():
    described, text = project()[0], RECIPE.read_text(encoding="utf-8")
    for line in (
        f"  name: {described['name']}\n",
        f"  summary: {described['description']}\n",
        f"  license: {described['license']}\n",
        f"  license_file: {described['license-files'][0]}\n",
    ):
        assert line in text


def test_the_recipe_is_yaml():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    read = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    assert set(read) == {
        *("schema_version", "context", "package", "source", "build"),
        *("requirements", "tests", "about"),
    }
    assert (RECIPE.parent / read["source"]["path"] / "pyproject.toml").samefile(
        ROOT / "pyproject.toml"
    )


def test_the_version_stands_in_one_place_of_the_package():
    """Others read it: pyproject.toml by `dynamic`, the site by importing the package."""
    described, _ = project()
    assert "version" in described["dynamic"] and "version" not in described
    written = re.compile(rf"(?<![\d.]){re.escape(skstructured.__version__)}(?![\d.])")
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("skstructured", "docs", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md", ".rst", ".yaml") and "_build" not in path.parts
        if written.search(path.read_text(encoding="utf-8"))
    }
    citable = "docs/errata.md"  # a page that says by which version it is to be cited
    assert found == {"skstructured/__init__.py", ".ci/conda/recipe.yaml", citable}


def test_the_changelog_begins_with_this_version_and_goes_by_topic():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    titles = [section.partition("\n")[0] for section in sections]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \((unreleased|\d{4}-\d\d-\d\d)\)", t) for t in titles)
    number, _, when = titles[0].partition(" ")
    version, dev, _ = skstructured.__version__.partition(".dev")
    assert number == version and (when == "(unreleased)") == bool(dev)
    for section in sections:
        topics = re.split(r"^\*\*(.+)\*\*$", section.partition("\n")[2], flags=re.M)
        names, lists = topics[1::2], topics[2::2]
        assert topics[0].strip() == "" and len(set(names)) == len(names) > 0
        assert all(re.match(r"\n\n- ", entries) for entries in lists)


def test_zenodo_reads_the_citation_file():
    """Which has all of it: a .zenodo.json would take its place, and has to be kept as well."""
    assert (ROOT / "CITATION.cff").exists() and not (ROOT / ".zenodo.json").exists()
