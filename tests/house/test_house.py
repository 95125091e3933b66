"""How the house is laid out: no arrow upwards, no circle, no import inside a function."""

import ast
from pathlib import Path

from conftest import ROOT

import skstructured

PACKAGE = Path(skstructured.__file__).parent

#: Rooms from the ground up; a module may import from its own line and from those before it.
FLOORS = [
    ["_engine"],
    ["_base"],
    ["_chains", "extend"],
    ["spaces"],
    ["regularizers"],
    ["losses"],
    ["_learners"],
    ["guarantees"],
    ["optimizers"],
    ["metrics"],
    ["decoders"],
    ["sequences"],
    ["experts"],
    ["estimators"],
    ["items"],
    ["bandits", "streaming"],
    ["evaluation"],
    ["checkpoints", "utils"],
    ["_cli"],
    ["__main__", "__init__"],
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Folders of tests that are of no single room.
OF_SEVERAL_ROOMS = {"every_learner", "house"}

#: Loops over rows, which calls of parts would slow down: as long as they need. And what makes those
#: that score rows ahead, whose arguments take half of the lines.
HOT_LOOPS = ["epoch", "mixture_epoch", "ahead", "ahead_of", "mixture_ahead_of", "item_epoch"]


def imports_of(tree):
    """Modules of the package that a module imports, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skstructured"):
            parts = node.module.split(".")[1:]
            for name in [".".join(parts)] if parts else [alias.name for alias in node.names]:
                yield name, node.lineno
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("skstructured."):
                    yield alias.name.partition(".")[2], node.lineno


def trees():
    """Each module's name below the package, and its syntax tree."""
    for path in MODULES:
        yield path.relative_to(PACKAGE), ast.parse(path.read_text(encoding="utf-8"))


def functions_of(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def length_of(function):
    """Lines of a function from the first after its docstring on."""
    documented = ast.get_docstring(function) and function.body[1:]
    return function.end_lineno - function.body[1 if documented else 0].lineno + 1


def test_arrows_point_down():
    upwards = [
        f"{path}:{line} imports {name}"
        for path, tree in trees()
        for name, line in imports_of(tree)
        if FLOOR[name.split(".")[0]] > FLOOR[path.with_suffix("").parts[0]]
    ]
    assert upwards == []


def test_imports_stand_at_the_top():
    inner = [
        f"{path}:{line} imports {name} in {function.name}"
        for path, tree in trees()
        for function in functions_of(tree)
        for name, line in imports_of(function)
    ]
    assert inner == []


def test_modules_and_functions_are_short():
    long = [
        f"{path}: {function.name}"
        for path, tree in trees()
        for function in functions_of(tree)
        if function.name not in HOT_LOOPS and length_of(function) > 40
    ]
    assert long == []
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > 600} == {}


def test_modules_import_without_a_circle():
    edges = {}
    for path in MODULES:
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        edges[name] = {target for target, _ in imports_of(tree)}
    done = set()
    while True:
        free = {n for n, targets in edges.items() if targets & edges.keys() <= done} - done
        if not free:
            break
        done |= free
    assert edges.keys() == done, f"a circle among {sorted(edges.keys() - done)}"


def test_tests_lie_in_folders_of_the_names_of_the_rooms():
    tests = ROOT / "tests"
    files = list(tests.rglob("test_*.py"))
    folders = {path.parent.relative_to(tests).as_posix() for path in files}
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert {folder.partition("/")[0] for folder in folders} == rooms | OF_SEVERAL_ROOMS
    assert all((PACKAGE / folder).is_dir() for folder in folders - OF_SEVERAL_ROOMS)
    assert len({path.name for path in files}) == len(files)  # pytest imports them by their names
