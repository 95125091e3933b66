"""How the house is laid out: no arrow upwards, no circle, no import inside a function."""

import ast
import functools
from graphlib import TopologicalSorter
from pathlib import Path

from conftest import ROOT

import skstructured

PACKAGE = Path(skstructured.__file__).parent

#: Rooms from the ground up; a module may import from its own floor and from those before it.
FLOORS = """
_engine / _base / _chains extend / spaces / regularizers / losses / _learners / guarantees
/ optimizers / metrics / decoders / sequences / experts / estimators / items / bandits streaming
/ evaluation / checkpoints utils / _cli / __main__ __init__
"""
FLOOR = {room: i for i, rooms in enumerate(FLOORS.split("/")) for room in rooms.split()}

#: Folders of tests that are of no single room.
OF_SEVERAL_ROOMS = {"every_learner", "house"}

#: Loops over rows, which calls of parts would slow down: as long as they need. And what makes those
#: that score rows ahead, whose arguments take half of the lines.
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
    documented = ast.get_docstring(function) and function.body[1:]
    return function.end_lineno - function.body[1 if documented else 0].lineno + 1


def test_arrows_point_down():
    upwards = [
        f"{path}:{line} imports {name}"
        for path, tree in trees().items()
        for name, line in imports_of(tree)
        if FLOOR[name.split(".")[0]] > FLOOR[path.with_suffix("").parts[0]]
    ]
    assert upwards == []


def test_imports_stand_at_the_top():
    assert [(path, f.name) for path, f in functions() if list(imports_of(f))] == []


def test_modules_and_functions_are_short():
    long = {(path, f.name) for path, f in functions() if length_of(f) > 40}
    assert [(path, name) for path, name in long if name not in HOT_LOOPS] == []
    lengths = {path: (PACKAGE / path).read_text("utf-8").count("\n") for path in trees()}
    assert [path for path, length in lengths.items() if length > 600] == []


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
    assert {folder.partition("/")[0] for folder in folders} == rooms | OF_SEVERAL_ROOMS
    assert all((PACKAGE / folder).is_dir() for folder in folders - OF_SEVERAL_ROOMS)
    assert len({path.name for path in files}) == len(files)  # pytest imports them by their names
