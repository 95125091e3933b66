"""Compiled functions: kept on disk by numba, and safe when processes start together."""

import gc
import logging
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from conftest import INTERPRETED, ROOT
from numba import types
from numba.core import event

import skstructured
from skstructured._engine import compiled
from skstructured._engine.compiled import kernel, kernel_over
from skstructured._engine.types import FUNCTION_TYPES, VECTOR, address, function_at
from skstructured.spaces.simplex import softmax

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")

PACKAGE = Path(skstructured.__file__).parent

#: The path of Python of scripts that import from the tests or the examples.
ROOMS = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "docs" / "snippets")))

#: Learns with one small loop, and prints what was warned of and the score.
LEARN = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np
    from skstructured import MulticlassPerceptron
    X = np.eye(3)
    model = MulticlassPerceptron(max_iter=5, tol=None).fit(X, [0, 1, 2])
print(sum("cannot keep its compiled loops" in str(w.message) for w in caught))
print(model.score(X, [0, 1, 2]))
"""

#: The sums of vertices that compiled oracles of subsets of k labels write, for each k given.
SUBSETS = """
import sys
import numpy as np
from skstructured.extend import kernel
from skstructured._engine.compiled import kernel_over
from example_spaces import top_k_kernel
ORACLE = None
def best(theta, vertex):
    ORACLE(theta, vertex)
theta, vertex = np.arange(6.0), np.zeros(6)
for k in map(int, sys.argv[1:]):
    over = kernel_over(best, ORACLE=top_k_kernel(k))
    own = kernel(top_k_kernel(k).py_func)
    for oracle in (over, own):
        oracle(theta, vertex)
        print(vertex.sum())
"""

#: Learns by functions that are compiled over others: rules of single weights, oracles of spaces.
LEARN_OVER = """
import numpy as np
from coordinate_steps import AdaGrad
from example_spaces import KSubsets
import skstructured as s
X, y = np.eye(3), [0, 1, 2]
for optimizer in (AdaGrad(), s.optimizers.PiSTOL(per_coordinate=True)):
    s.OnlineStructuredPredictor(optimizer=optimizer, max_iter=2).fit(X, y)
for k in (1, 2):
    s.OnlineStructuredPredictor(KSubsets(k), max_iter=2).fit(X, np.eye(3)[y] == (k == 1))
"""

#: Every public estimator learns and predicts; the functions that are compiled are printed.
LEARN_EVERY = """
import warnings
import numba.core.event as event
from sklearn.base import clone
class Printed(event.Listener):
    def on_start(self, e): print(case, "compiles", e.data["dispatcher"].py_func.__qualname__)
    def on_end(self, e): pass
case = "the import"
event.register("numba:compile", Printed())
warnings.simplefilter("ignore")
from fitted import FITTED, learns_in_parts
for case, (estimator, X, y) in FITTED.items():
    models = [FITTED[case].started(), clone(estimator).fit(X, y)]
    if learns_in_parts(estimator):
        FITTED[case].go_on(models[0])
    for model in models:
        for method in ("predict", "predict_proba"):
            hasattr(model, method) and getattr(model, method)(X)
"""

#: Compiling is an error from here on.
REFUSE = """
import numba.core.event as event
class Refuse(event.Listener):
    def on_start(self, e): raise AssertionError(e.data["dispatcher"])
    def on_end(self, e): pass
event.register("numba:compile", Refuse())
"""


def copy_to(folder):
    """The folder, with a copy of the package and no compiled code."""
    shutil.copytree(PACKAGE, folder / "skstructured", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def copied(tmp_path):
    """A folder with a copy of the package, and no compiled code."""
    return copy_to(tmp_path / "site")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A folder with a copy of the package, and the code that a process compiled next to it."""
    site = copy_to(tmp_path_factory.mktemp("learned") / "site")
    assert run(LEARN, site) == ["0", "1.0"]
    return site


def start(script, site=PACKAGE.parent, **environment):
    """A process that runs `script` with a package and variables of its own."""
    dropped = ("NUMBA_CACHE_DIR", "COV_CORE_SOURCE", "COV_CORE_CONFIG")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    given = kept | {"PYTHONPATH": str(site), **environment}
    return subprocess.Popen(command, env=given, cwd="/", **pipes)


def run(script, site=PACKAGE.parent, timeout=300, **environment):
    """The words that `script` printed."""
    process = start(script, site, **environment)
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == 0, err
    return out.split()


@pytest.mark.exhaustive
def test_a_second_process_compiles_nothing(learned):
    assert run(REFUSE + LEARN, learned) == ["0", "1.0"]


@pytest.mark.slow
def test_functions_over_others_are_kept_too(tmp_path):
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": ROOMS}
    run(LEARN_OVER, **places)
    assert run(REFUSE + LEARN_OVER, **places) == []


@pytest.mark.slow
def test_a_second_process_compiles_nothing_for_any_public_estimator(tmp_path):
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": ROOMS}
    assert run(LEARN_EVERY, timeout=1800, **places) != []
    assert run(LEARN_EVERY, timeout=600, **places) == []


@pytest.mark.exhaustive
def test_a_folder_that_can_only_be_read_is_read(learned):
    folders = [path for path in learned.rglob("*") if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    assert run(REFUSE + LEARN, learned, HOME="/nowhere", XDG_CACHE_HOME="") == ["0", "1.0"]


@pytest.mark.slow
def test_learning_works_without_a_folder_to_keep_code_in(copied, tmp_path):
    (tmp_path / "nowhere").write_text("a file in the folder's place")
    (copied / "skstructured" / "_engine" / "__pycache__").write_text("a file too")
    for folder in copied.rglob("*"):
        if folder.is_dir() and not (folder / "__pycache__").exists():
            (folder / "__pycache__").write_text("a file in the folder's place")
    nowhere = {"HOME": str(tmp_path / "nowhere"), "XDG_CACHE_HOME": str(tmp_path / "nowhere")}
    assert run(LEARN, copied, PYTHONDONTWRITEBYTECODE="1", **nowhere) == ["1", "1.0"]


@pytest.mark.slow
def test_twelve_processes_fill_one_empty_folder(tmp_path):
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    together = [start(LEARN, **places) for _ in range(12)]
    ended = [process.communicate(timeout=900) for process in together]
    assert [out.split() for out, _ in ended] == 12 * [["0", "1.0"]], ended
    assert run(REFUSE + LEARN, **places) == ["0", "1.0"]


class TestNotice:
    @pytest.fixture
    def clock(self, monkeypatch):
        """Seconds, which each look at the clock adds to."""
        now = [0.0]
        monkeypatch.setattr(compiled.time, "perf_counter", lambda: now[0])
        return now

    def compile(self, notice, clock, *seconds):
        """Compile kernels that need others, which are compiled within them."""
        notice.on_start(None)
        clock[0] += seconds[0] / 2.0
        if len(seconds) > 1:
            self.compile(notice, clock, *seconds[1:])
        clock[0] += seconds[0] / 2.0
        notice.on_end(None)

    def test_says_once_how_long_it_has_taken(self, clock, caplog):
        notice = compiled.CompilingNotice()
        with caplog.at_level(logging.WARNING, logger="skstructured"):
            self.compile(notice, clock, 0.5)
            clock[0] += 100.0  # in which nothing is compiled
            self.compile(notice, clock, 2.0, 0.4)
            assert not caplog.records  # kernels within others count once
            self.compile(notice, clock, 0.8)
            self.compile(notice, clock, 50.0)
        (record,) = caplog.records
        assert "4 s so far" in record.getMessage()

    def test_garbage_is_not_collected_meanwhile(self):
        notice = compiled.CompilingNotice()
        for collects in (True, False):
            (gc.enable if collects else gc.disable)()
            try:
                notice.on_start(None)
                notice.on_start(None)
                notice.on_end(None)
                assert not gc.isenabled()
                notice.on_end(None)
                assert gc.isenabled() == collects
            finally:
                gc.enable()

    def test_compiling_is_heard(self, monkeypatch, caplog):
        monkeypatch.setattr(compiled.CompilingNotice, "patience", 0.0)
        notice = compiled.CompilingNotice()
        event.register("numba:compile", notice)
        try:
            kernel(lambda x: x + 1.0, cached=False)(1.0)
        finally:
            event.unregister("numba:compile", notice)
        assert notice.seconds > 0.0 and notice.depth == 0 and notice.is_given


def test_a_kernel_of_code_that_has_no_module_runs():
    names = {"kernel": kernel}
    exec("@kernel\ndef doubled(a):\n    return 2.0 * a", names)
    assert names["doubled"](3.0) == 6.0


def test_kernels_that_close_over_others_are_not_kept():
    def calling(other):
        @kernel
        def called(x):
            return other(x)

        return called

    added = kernel(lambda x: x + 1.0)
    assert type(calling(added).dispatcher._cache).__name__ == "NullCache"
    assert calling(added)(1.0) == 2.0


POWER, OTHER = 1, None


def power_of_other(x):
    return OTHER(x) ** POWER


@kernel
def added_one(x):
    return x + 1.0


@kernel
def added_two(x):
    return x + 2.0


class TestCopies:
    def test_have_what_they_are_given(self):
        names = set()
        for power in (2, 3):
            found = kernel_over(power_of_other, OTHER=added_one, POWER=power)
            assert (
                found(2.0) == 3.0**power and type(found.dispatcher._cache).__name__ != "NullCache"
            )
            names.add(found.py_func.__qualname__)
        again = kernel_over(power_of_other, OTHER=added_one, POWER=2)
        assert len(names) == 2 and again.py_func.__qualname__ in names
        other = kernel_over(power_of_other, OTHER=added_two, POWER=2)
        assert other(2.0) == 16.0 and other.py_func.__qualname__ not in names

    def test_of_code_in_no_file_are_not_kept(self):
        names = {"kernel": kernel}
        exec("@kernel\ndef doubled(a):\n    return 2.0 * a", names)
        found = kernel_over(power_of_other, OTHER=names["doubled"], POWER=2)
        assert found(3.0) == 36.0 and type(found.dispatcher._cache).__name__ == "NullCache"

    def test_of_a_file_that_has_changed_are_others(self, tmp_path):
        path, names = tmp_path / "given.py", set()
        for value in ("1.0", "22.0"):
            path.write_text(f"VALUE = {value}\ndef of(x):\n    return x + VALUE\n")
            there = {}
            exec(compile(path.read_text(), str(path), "exec"), there)
            found = kernel_over(power_of_other, OTHER=kernel(there["of"], cached=False), POWER=1)
            assert found(0.0) == float(value)
            names.add(found.py_func.__qualname__)
        assert len(names) == 2


@pytest.mark.slow
def test_closures_that_processes_keep_on_disk_are_not_called_for_each_other(tmp_path):
    script = tmp_path / "subsets.py"
    script.write_text(SUBSETS)
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": ROOMS}
    environment = os.environ | places
    for sizes in (["2"], ["3"], ["2", "3"], ["4", "3", "2"]):
        command = [sys.executable, str(script), *sizes]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert list(map(float, done.stdout.split())) == [float(k) for k in sizes for _ in range(2)]


def test_an_address_is_the_kernel():
    """If this fails with a new numba, `types.address` needs the new way to a pointer."""
    as_loss = function_at(FUNCTION_TYPES.loss)

    @kernel(cached=False)
    def value_at(place, theta, truth, g, params, work):
        return as_loss(place)(theta, truth, g, params, work)

    theta, truth = np.array([0.3, -1.0, 2.0]), np.array([0.0, 1.0, 0.0])
    g, again = np.empty(3), np.empty(3)
    none, place = np.zeros(0), address(softmax, FUNCTION_TYPES.loss)
    assert place > 0 and place == address(softmax, FUNCTION_TYPES.loss)
    value = value_at(place, theta, truth, g, none, none)
    assert value == softmax(theta, truth, again, none, none)
    assert value == pytest.approx(np.log(np.exp(theta).sum()))
    np.testing.assert_array_equal(g, again)
    assert address(softmax, types.FunctionType(types.float64(*5 * [VECTOR]))) > 0


class TestThreads:
    """The one that compiles a kernel for its signature lets no other compile it."""

    def test_a_kernel_that_another_thread_has_compiled_meanwhile_is_compiled(self):
        @kernel(signature=types.float64(types.float64))
        def double(x):
            return 2.0 * x

        compile_first = double.dispatcher.compile

        def compile_second(signature):
            compile_first(signature)
            double.dispatcher.disable_compile()
            return compile_first(signature)

        double.dispatcher.compile = compile_second
        double._compile()
        assert double.is_warm and double(3.0) == 6.0

    def test_other_errors_are_raised(self):
        @kernel(signature=types.float64(types.float64))
        def double(x):
            return 2.0 * x

        def fail(signature):
            raise RuntimeError("no room")

        double.dispatcher.compile = fail
        with pytest.raises(RuntimeError, match="no room"):
            double._compile()
        assert not double.is_warm
