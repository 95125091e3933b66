"""How the house is laid out, and what a release says of itself in several places."""

import ast
import functools
import importlib
import inspect
import re
import shutil
import subprocess
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from conftest import ROOT
from planted.__main__ import apply, bugs
from selection import FOLDERS

import skstructured
from benchmarks.kept import CHEAP, moved, result
from skstructured import __version__

PACKAGE = Path(skstructured.__file__).parent

#: Rooms from the ground up; a module may import from its own floor and from those before it.
FLOORS = """
_engine / _base / _chains extend / spaces / regularizers / losses / _learners / guarantees
/ optimizers / metrics / decoders / sequences / experts / estimators / items / bandits streaming
/ evaluation / checkpoints utils torch / _cli / __main__ __init__
"""
FLOOR = {room: i for i, rooms in enumerate(FLOORS.split("/")) for room in rooms.split()}

#: Folders of tests that are of no single room.
OF_SEVERAL_ROOMS = {"every_learner", "house"}

#: Loops over rounds, which calls of parts would slow down: as long as they need.
HOT_LOOPS = ["learn_rounds", "learn_rows"]


def imports_of(tree):
    """Modules of the package that a module imports, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skstructured"):
            parts = node.module.split(".")[1:]
            for name in [".".join(parts)] if parts else [alias.name for alias in node.names]:
                yield name, node.lineno
        if isinstance(node, ast.Import):
            parts = [alias.name.partition("skstructured.") for alias in node.names]
            yield from ((name, node.lineno) for before, _, name in parts if name and not before)


@functools.cache
def trees():
    """The syntax tree of each module, by its name below the package."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE): ast.parse(path.read_text("utf-8")) for path in paths}


def functions():
    """(module, syntax tree) of all functions."""
    for path, tree in trees().items():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def length_of(function):
    """Lines of a function from the first after its docstring on."""
    inherit_parameters = ast.get_docstring(function) and function.body[1:]
    return function.end_lineno - function.body[1 if inherit_parameters else 0].lineno + 1


def test_arrows_point_down():
    upwards = [
        f"{path}:{line} imports {name}"
        for path, tree in trees().items()
        for name, line in imports_of(tree)
        if FLOOR[name.split(".")[0]] > FLOOR[path.with_suffix("").parts[0]]
    ]
    assert upwards == []


def test_only_the_module_for_pytorch_imports_it():
    importing = re.compile(r"^\s*(import|from) (torch|skstructured\.torch)\b", re.MULTILINE)
    found = [path for path in trees() if importing.search((PACKAGE / path).read_text("utf-8"))]
    assert found == [Path("torch.py")]


def test_imports_stand_at_the_top():
    """But those of the command line, whose errors of arguments and files come before them."""
    inner = {(str(path), f.name) for path, f in functions() if list(imports_of(f))}
    assert inner == {("__main__.py", "_run_predict"), ("__main__.py", "_screen")}


def test_modules_and_functions_are_short():
    long = {(path, f.name) for path, f in functions() if length_of(f) > 40}
    assert [(path, name) for path, name in long if name not in HOT_LOOPS] == []
    lengths = {path: (PACKAGE / path).read_text("utf-8").count("\n") for path in trees()}
    assert [path for path, length in lengths.items() if length > 600] == []


def test_classes_have_few_bases():
    """A method is found in at most four classes of the package."""
    for path in trees():
        name = ".".join(["skstructured", *path.with_suffix("").parts]).removesuffix(".__init__")
        if path.stem in ("__main__", "torch"):
            continue
        for kind in filter(inspect.isclass, vars(importlib.import_module(name)).values()):
            own = [base for base in kind.__mro__ if base.__module__.startswith("skstructured")]
            assert len(own) <= 4, kind


def test_modules_import_without_a_circle():
    edges = {}
    for path, tree in trees().items():
        parts = path.with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        edges[name] = {target for target, _ in imports_of(tree)}
    assert list(TopologicalSorter(edges).static_order())  # or it names a circle


def test_tests_lie_in_folders_of_the_names_of_the_rooms():
    tests = ROOT / "tests"
    files = list(tests.rglob("test_*.py"))
    folders = {path.parent.relative_to(tests).as_posix() for path in files}
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    rooms.add(".")  # of single modules
    assert {folder.partition("/")[0] for folder in folders} == rooms | OF_SEVERAL_ROOMS
    assert all((PACKAGE / folder).is_dir() for folder in folders - OF_SEVERAL_ROOMS)
    assert len({path.name for path in files}) == len(files)  # pytest imports them by their names


def test_the_plain_command_leaves_out_no_folder(request):
    """Each folder has a test that is neither slow nor exhaustive."""
    if request.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        pytest.skip("needs the tests of all folders")
    assert [name for name, plain in request.config.stash[FOLDERS].items() if not plain] == []


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
        if path.suffix in (".py", ".md", ".rst", ".yaml")
        and not {"_build", "results"} & {*path.parts}
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


KEPT = sorted((ROOT / "benchmarks").glob("*/results/*.txt"))
COMMAND = re.compile(r"command: python -m (benchmarks\.\w+\.\w+)")
COMMIT = re.compile(r"commit ([0-9a-f]{7,40})\b")


def git(*words):
    """The words that git answers with; none without a repository."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_kept_results_name_their_commands_and_commits():
    whole = git("rev-parse", "--is-shallow-repository") == ["false"]
    history = git("rev-list", "HEAD")
    for path in KEPT:
        first, second = path.read_text("utf-8").splitlines()[:2]
        script = ROOT / (COMMAND.match(first)[1].replace(".", "/") + ".py")
        assert script.exists(), path
        assert path.parent == script.parent / "results" and path.stem.startswith(script.stem)
        commit = COMMIT.match(second)[1]
        assert not whole or any(one.startswith(commit) for one in history), path


def test_what_is_made_again_is_kept():
    for path in (result(ROOT, name) for name in CHEAP):
        script = path.parents[1] / f"{path.stem}.py"
        assert path.exists() and path.with_suffix(".txt").exists() and script.exists(), path


@pytest.mark.parametrize(
    ("losses", "lines"),
    [("0.1004 nan", 0), ("0.102 nan", 1), ("-0.1 nan", 1), ("x 0.2", 2), ("0.1", 1), ("", 2)],
)
def test_rows_that_moved_are_found(losses, lines):
    kept = [{"set": "iris", "loss": "0.1", "seconds": "1"}, {"set": "wine", "loss": "nan"}]
    now = [row | {"loss": a, "seconds": "9"} for row, a in zip(kept, losses.split(), strict=False)]
    assert len(moved(kept, now)) == len(moved(now, kept)) == lines


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("git") is None, reason="git apply reads the patches")
def test_planted_bugs_fit_the_code():
    assert [bug.name for bug in bugs() if not apply(bug, ROOT, "--check")] == []


def names_in(path):
    """Names of the tests of a test file, those of classes as Class::name."""
    groups = {"": ast.parse(path.read_text("utf-8"))}
    groups |= {f"{n.name}::": n for n in groups[""].body if isinstance(n, ast.ClassDef)}
    return {f"{a}{n.name}" for a, group in groups.items() for n in group.body if hasattr(n, "name")}


def test_tests_of_planted_bugs_exist():
    named = {test.partition("[")[0].partition("::")[::2] for bug in bugs() for test in bug.tests}
    there = {file: names_in(ROOT / file) for file in {file for file, _ in named}}
    assert [pair for pair in named if pair[1] not in there[pair[0]]] == []
