"""How the house is laid out: no arrow upwards, no circle, no import inside a function."""

import ast
from pathlib import Path

import pytest

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
    ["bandits", "streaming"],
    ["evaluation"],
    ["checkpoints", "utils"],
    ["_cli"],
    ["__main__", "__init__"],
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Loops over rows, which calls of parts would slow down: as long as they need.
HOT_LOOPS = ["epoch"]


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


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


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
class TestEveryModule:
    def test_arrows_point_down(self, path):
        for name, line in imports_of(ast.parse(path.read_text(encoding="utf-8"))):
            below = FLOOR[name.split(".")[0]] <= FLOOR[room_of(path)]
            assert below, f"{path.name}:{line} imports {name} from a floor above"

    def test_imports_stand_at_the_top(self, path):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for function in inner:
            found = list(imports_of(function))
            assert not found, f"{path.name}: {function.name} imports {found}"

    def test_modules_and_functions_are_short(self, path):
        source = path.read_text(encoding="utf-8")
        assert len(source.splitlines()) <= 300
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and node.name not in HOT_LOOPS:
                first = node.body[1] if ast.get_docstring(node) and node.body[1:] else node.body[0]
                length = node.end_lineno - first.lineno + 1
                assert length <= 40, f"{path.name}: {node.name} has {length} lines"


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
