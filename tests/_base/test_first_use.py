"""Public names and modules are imported at their first use."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from public_names import public_modules

import skstructured


def printed(code, *arguments):
    """What a new process prints."""
    command = [sys.executable, "-c", code, *arguments]
    given = {"capture_output": True, "text": True, "cwd": ROOT, "check": False}
    done = subprocess.run(command, **given)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_package_alone_imports_nothing_that_takes_long():
    code = "import sys, skstructured; print(*sys.modules, sep='\\n')"
    slow = {"numpy", "scipy", "sklearn", "numba", "pandas"}
    assert slow.isdisjoint(printed(code))


def test_type_checkers_read_the_same_names_and_modules():
    tree = ast.parse(Path(skstructured.__file__).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    found = {alias.name: node.module for node in imports for alias in node.names}
    assert found == {k: f"skstructured.{v}" for k, v in skstructured._MODULES.items()}
    assert sorted(skstructured.__all__) == sorted(ast.literal_eval(tree.body[-1].value))


def test_names_are_listed_before_they_are_used():
    lines = printed("import skstructured as s; print(*dir(s)); print('bandits' in vars(s))")
    assert {*skstructured.__all__} <= {*lines[0].split()} and lines[1] == "False"


def test_a_star_imports_all_of_them():
    code = "from skstructured import *; import skstructured as s; print(*{*s.__all__} - {*dir()})"
    assert printed(code) == [""]


def test_modules_are_attributes():
    code = "import skstructured as s; print(s.streaming.__name__, 'bandits' in vars(s))"
    assert printed(code) == ["skstructured.streaming False"]


@pytest.mark.parametrize("name", ["OnlineStructuredPredicto", "_engin", "", "a.b", "__wrapped__"])
def test_other_names_are_missing_as_from_any_module(name):
    with pytest.raises(AttributeError, match=rf"^module 'skstructured' has no attribute '{name}'$"):
        getattr(skstructured, name)
    with pytest.raises(ImportError):
        exec("from skstructured import no_such_name")


def test_a_module_whose_imports_fail_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "skstructured.torch", None)
    assert not hasattr(skstructured, "torch")


def test_names_are_one_object_wherever_they_are_imported_from():
    from skstructured.estimators.online import OnlineStructuredPredictor

    assert skstructured.OnlineStructuredPredictor is OnlineStructuredPredictor
    assert pickle.loads(pickle.dumps(OnlineStructuredPredictor)) is OnlineStructuredPredictor


THREADS = """
import threading, skstructured
names, found, start = skstructured.__all__, [], threading.Barrier(8)
def use(k):
    start.wait()
    found.append({name: getattr(skstructured, name) for name in names[k:] + names[:k]})
threads = [threading.Thread(target=use, args=(5 * k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), all(one == found[0] for one in found))
"""


@pytest.mark.exhaustive
def test_threads_may_be_the_first_to_use_them():
    assert printed(THREADS) == ["8 True"]


#: Processes that have imported only what is not of the package.
FIRST = """
import importlib, os, sys
import numba, sklearn.linear_model, sklearn.pipeline, sklearn.preprocessing
for name in sys.argv[1:]:
    if os.fork() == 0:
        importlib.import_module(f"skstructured.{name}")
        os._exit(0)
    print(name * (os.wait()[1] == 0))
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that begin as copies")
def test_any_module_may_be_the_first():
    names = [*public_modules(), "__main__", "utils.warm_up", "streaming.table_encoder"]
    assert printed(FIRST, *names) == names


TYPED = """
import skstructured
from skstructured import *
from skstructured import RiskMonitor as Monitor
reveal_type(skstructured.StructuredPredictor())
reveal_type(Monitor())
reveal_type(TableEncoder())
skstructured.NoSuchName
"""


@pytest.mark.exhaustive
def test_type_checkers_see_them(tmp_path):
    api = pytest.importorskip("mypy.api")
    (tmp_path / "typed.py").write_text(TYPED)
    out, *_ = api.run(["--strict", "--follow-imports=silent", str(tmp_path / "typed.py")])
    for name in ("StructuredPredictor", "RiskMonitor", "TableEncoder"):
        assert f'.{name}"' in out
    assert 'Module has no attribute "NoSuchName"' in out and "Found 1 error" in out
