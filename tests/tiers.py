"""Kernels in one form or in both, for tests."""

import copy
import gc

import numpy as np

from skstructured._engine import compiled
from skstructured._engine.compiled import Kernel, in_python, interpreted, is_kernel
from skstructured._engine.rounds import Kernels
from skstructured._engine.types import address

#: By how much both forms of a kernel may differ: compiled sums are in another order.
TOLERANCE = 1e-10


def every_kernel():
    """All kernels there are."""
    return [kernel for kernel in gc.get_objects() if type(kernel) is Kernel]


def cool_down(monkeypatch):
    """All kernels are as in a new process on a new machine."""
    event = type(compiled.Kernel.at_once)()
    monkeypatch.setattr(compiled.Kernel, "at_once", event)
    monkeypatch.setattr(compiled, "compile_at_once", event.set)
    monkeypatch.setattr(Kernel, "_is_on_disk", False)  # of kernels that are made later
    for kernel in every_kernel():
        monkeypatch.setitem(vars(kernel), "_is_on_disk", False)
        monkeypatch.setattr(kernel, "is_warm", False)
        monkeypatch.setattr(kernel, "interpreted_steps", 0.0)


def assert_alike(a, b):
    """Arguments or results of both forms are the same numbers."""
    if isinstance(a, (tuple, list)):
        for x, y in zip(a, b, strict=True):
            assert_alike(x, y)
    elif isinstance(a, (np.ndarray, float, int)):
        scale = np.max(np.abs(np.asarray(b)[np.isfinite(b)]), initial=1.0)
        np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * scale)


def copied(value, memo):
    """A copy in which arrays share memory where they did."""
    if isinstance(value, tuple):
        return tuple([copied(item, memo) for item in value])
    if not isinstance(value, np.ndarray):
        return copy.deepcopy(value)
    base = value
    while isinstance(base.base, np.ndarray):
        base = base.base
    if not base.flags.forc:
        return value.copy()
    whole = memo.setdefault(id(base), base.copy(order="K"))
    offset = value.ctypes.data - base.ctypes.data
    return np.ndarray(value.shape, value.dtype, whole.reshape(-1, order="A"), offset, value.strides)


class BothForms:
    """Every kernel is called in both forms, and these are compared.

    Attributes
    ----------
    names : set
        Kernels that were compared.
    """

    def __init__(self, monkeypatch):
        self.names = set()

        def call_with(kernel, function, *args):
            return self.call_with(kernel, function, *args)

        def form_of(kernels, loop, steps=0.0):
            return self.loop(kernels, loop)

        monkeypatch.setattr(Kernel, "form_for", lambda kernel, args, times=1.0: self.form(kernel))
        monkeypatch.setattr(Kernel, "_call_with", call_with)
        for kernel in every_kernel():  # warm ones are called without `form_for`
            monkeypatch.setattr(kernel, "is_warm", False)
        monkeypatch.setattr(Kernels, "form_of", form_of)

    def form(self, kernel):
        return lambda *args: self.compare(kernel, args, args)

    def call_with(self, kernel, function, *args):
        if not is_kernel(function):
            return in_python(kernel)(function, *args)
        code = address(function, kernel.function_type)
        return self.compare(kernel, (code, *args), (interpreted(function), *args))

    def loop(self, kernels, loop):
        if kernels.in_python:
            return in_python(loop), kernels.functions
        interpreted_functions = kernels.interpreted_functions
        functions = dict(zip(map(id, kernels.addresses), interpreted_functions, strict=True))

        def call(*args):
            others = [functions.get(id(x), x) for x in args]
            if type(others[0]) is int:  # the loop of `ahead`
                others[0] = interpreted(kernels.loop)
            return self.compare(loop, args, others)

        return call, kernels.addresses

    def compare(self, kernel, args, others):
        """The result of the compiled form of a kernel, after that of the interpreted one."""
        same = [x is y for x, y in zip(args, others, strict=True)]
        memo = {}
        copies = [copied(y, memo) if own else y for y, own in zip(others, same, strict=True)]
        other, result = kernel.interpret(*copies), kernel.dispatcher(*args)
        assert_alike(result, other)
        for x, y, own in zip(args, copies, same, strict=True):
            if own:
                assert_alike(x, y)
        self.names.add(kernel.__name__)
        return result
