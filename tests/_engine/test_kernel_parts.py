"""Kernels that others call: the same code and results, compiled without what only Python needs."""

import dis
import gc
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import INTERPRETED
from numba.core.codegen import JITCPUCodegen

import skstructured
from skstructured._engine import compiled, kernel_parts
from skstructured._engine.compiled import LOSS, address, kernel
from skstructured._engine.kernel_parts import raises

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")


def pair(cached=False, **options):
    """A kernel, and one that calls it."""

    @kernel(cached=cached, **options)
    def part(x):
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i] * x[i]
        return total

    @kernel(cached=False)
    def whole(x):
        return part(x) + 1.0

    return part, whole


@pytest.mark.parametrize("options", [{}, {"fastmath": compiled.FASTMATH}, {"inline": True}])
def test_a_part_can_be_called_from_kernels_and_from_python_in_any_order(options):
    x = np.arange(4.0)
    part, whole = pair(**options)
    assert (whole(x), part(x), whole(x)) == (15.0, 14.0, 15.0)
    part, whole = pair(**options)
    assert (part(x), whole(x), part(x)) == (14.0, 15.0, 14.0)
    assert whole(np.arange(4)) == 15.0  # another type, another variant


def test_the_part_of_a_kernel_has_no_wrapper_and_is_not_called_from_python():
    part, whole = pair()
    whole(np.arange(4.0))
    assert part.signatures == []
    part(np.arange(4.0))
    assert len(part.signatures) == 1


def test_without_numbas_private_parts_callers_take_the_kernel_as_it_is(monkeypatch):
    monkeypatch.setattr(kernel_parts, "_POSSIBLE", False)
    part, whole = pair()
    assert whole(np.arange(4.0)) == 15.0
    assert len(part.signatures) == 1


def test_an_address_stays_one_and_its_code_alive():
    @kernel(cached=False)
    def loss(theta, truth, gradient, params, work):
        gradient[0] = theta[0]
        return 2.0 * theta[0]

    @kernel(cached=False)
    def call(at, theta, gradient):
        return compiled.as_loss(at)(theta, theta, gradient, theta, theta)

    at, gradient = address(loss, LOSS), np.zeros(1)
    assert at == address(loss, LOSS)
    assert call(at, np.full(1, 3.0), gradient) == 6.0 and gradient[0] == 3.0
    assert loss.signatures == []


#: Names of what a first fit compiles.
FIRST_FIT = """
import numpy as np
from numba.core import event
import skstructured

class Names(event.Listener):
    def on_start(self, e): print(e.data["dispatcher"].py_func.__qualname__)
    def on_end(self, e): pass

event.register("numba:compile", Names())
X, y = np.random.RandomState(0).randn(30, 3), np.arange(30) % 3
if {sequences}:
    X, y = [X[:15], X[15:]], [y[:15], y[15:]]
skstructured.{learner}.fit(X, y).predict(X)
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("learner", "others"),
    [
        ("OnlineStructuredPredictor()", "csr"),
        ("KernelStructuredPredictor()", "_products"),
        ("FolkloreClassifier()", "csr"),
        ("ConditionalRandomField('sequence')", "csr"),
        ("MaxMinMarginNetwork()", "assign"),
        ("StructuralSVM()", "solve_saddle"),
    ],
)
def test_a_first_fit_compiles_what_it_uses(learner, others, tmp_path):
    """No kernels of other outputs, and no texts of errors, which numba compiles for seconds."""
    script = FIRST_FIT.format(learner=learner, sequences="sequence" in learner)
    paths = os.pathsep.join([str(fresh_copy(tmp_path)), *sys.path])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    names = done.stdout.split()
    assert len(names) > 10
    assert not [name for name in names if "raise_with_shape_context" in name or others in name]


def fresh_copy(folder):
    """A copy of the package, without compiled kernels beside it."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(skstructured.__file__).parent, folder / "skstructured", ignore=ignore)
    return folder


@pytest.mark.parametrize("options", [{}, {"fastmath": compiled.FASTMATH}])
def test_no_machine_code_is_made_of_parts(options, monkeypatch):
    add, names = JITCPUCodegen._add_module, []

    def noting(self, module):
        names.append(module.name)
        return add(self, module)

    monkeypatch.setattr(JITCPUCodegen, "_add_module", noting)
    _, whole = pair(**options)
    assert whole(np.arange(4.0)) == 15.0
    assert names and "part of a kernel" not in names


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_looked_for_again_after_a_compilation(collects):
    seen = []
    calm = kernel_parts.without_collections(lambda: seen.append(gc.isenabled()) or 1 / 0)
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        with pytest.raises(ZeroDivisionError):
            calm()
        assert (seen, gc.isenabled()) == ([False], collects)
    finally:
        (gc.enable if before else gc.disable)()


def test_a_part_that_raises_says_what_it_was_given():
    """An error made with numbers of a run, as kernels of users may raise."""

    @kernel(cached=False)
    def limited(n):
        if n > 3:
            raise ValueError("too many", n)
        return n + 1

    @kernel(cached=False)
    def whole(n):
        return limited(n) * 2

    assert whole(2) == 6
    with pytest.raises(ValueError, match="too many") as caught:
        whole(7)
    assert caught.value.args == ("too many", 7)


def test_raises_are_told_as_dis_tells_them():
    def small(x):
        if x < 0:
            raise ValueError
        return x

    def silent(x):
        return [x + RAISE_BYTE, x * 130, "raise"]

    functions = [small, silent]
    for name, module in list(sys.modules.items()):
        if name.startswith("skstructured"):
            things = (getattr(thing, "py_func", thing) for thing in vars(module).values())
            functions += [thing for thing in things if inspect.isfunction(thing)]
    told = [raises(function) for function in functions]
    steps = (dis.get_instructions(function) for function in functions)
    assert told == [any(step.opname == "RAISE_VARARGS" for step in each) for each in steps]
    assert told[:2] == [True, False] and 20 < sum(told) < len(told) - 500


#: As an argument it is the byte that the instruction is.
RAISE_BYTE = dis.opmap["RAISE_VARARGS"]
