"""Locks of an estimator: calls that learn take turns, and readers see the state of one moment.

A call that learns holds the `turn`. It moves the state under the `lock`, a block at a time, or
learns on a copy whose attributes then replace those of the estimator at once. The thread that holds
a lock may acquire it again, so a signal handler never waits.

Products of small matrices have one thread of BLAS: threads that wait for each other cost time.
"""

import contextlib
import copy
import functools
import operator
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

from threadpoolctl import ThreadpoolController

from skstructured._engine.state import at_once, is_learned, own

Estimator = TypeVar("Estimator")


class _Locks:
    """Two locks, renewed in a child process, in which no thread would release the old ones."""

    __slots__ = ("__weakref__", "lock", "turn")
    of_process: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()

    def __init__(self) -> None:
        self.renew()
        self.of_process.add(self)

    def renew(self) -> None:
        """Replace both locks."""
        self.lock, self.turn = threading.RLock(), threading.RLock()

    def __reduce__(self) -> Any:
        return _Locks, ()


def _forked() -> None:
    for locks in _Locks.of_process:
        locks.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class _MadeOnDemand:
    """The `_Locks` of an object, which pickles and deep copies do not have."""

    def __get__(self, estimator: Any, kind: type) -> Any:
        return self if estimator is None else vars(estimator).setdefault("_lock", _Locks())


def _copied(self: Any) -> Any:
    with self.lock:
        return snapshot(self, dict(vars(self)))


def locked(kind: type[Estimator]) -> type[Estimator]:
    """Class decorator: objects have a `lock` and a `turn`; copies and pickles hold the `lock`."""
    pickled: Any = kind.__getstate__

    def state(self: Any) -> dict[str, Any]:
        with self.lock:
            attributes = dict(pickled(self))
            return {name: own(value) for name, value in attributes.items() if name != "_lock"}

    attributes = {
        "__copy__": _copied,
        "__getstate__": state,
        "_lock": _MadeOnDemand(),
        "lock": property(operator.attrgetter("_lock.lock"), doc="Held while the state moves."),
        "turn": property(operator.attrgetter("_lock.turn"), doc="Held by a call that learns."),
    }
    for name, attribute in attributes.items():
        setattr(kind, name, attribute)
    return kind


@contextlib.contextmanager
def first_call(estimator: Any, attribute: str) -> Iterator[Any]:
    """Bind a copy that starts and learns aside, if no other thread has set the `attribute`.

    Later calls bind the estimator.
    """
    with contextlib.nullcontext() if hasattr(estimator, attribute) else estimator.turn:
        if hasattr(estimator, attribute):
            yield estimator
        else:
            with learning_aside(estimator) as new:
                yield new


def lock_of(estimator: Any) -> Any:
    """The lock of an estimator's learned state, if it has one."""
    return getattr(estimator, "lock", None) or contextlib.nullcontext()


def snapshot(estimator: Any, attributes: dict[str, Any] | None = None) -> Any:
    """An object with the estimator's attributes of now, which another thread may replace."""
    twin = object.__new__(type(estimator))
    twin.__dict__ = estimator.__dict__ if attributes is None else attributes
    return twin


@contextlib.contextmanager
def learning_aside(estimator: Any, continues: bool = False, draws: bool = False) -> Iterator[Any]:
    """Bind a copy of an estimator that learns; then its attributes replace those of it.

    They do at once. An error, or a signal handler that raises, leaves the estimator unchanged. A
    copy that `continues` has its own arrays, and if it `draws` its own generator.
    """
    attributes = dict(vars(estimator))
    if continues:
        attributes |= {name: own(value) for name, value in attributes.items() if is_learned(name)}
    if draws:
        attributes["random_state_"] = copy.deepcopy(attributes["random_state_"])
    twin, calls = snapshot(estimator, attributes), []
    yield twin
    learned = vars(twin)
    if draws:
        rng = estimator.random_state_
        calls = [(rng.set_state, learned["random_state_"].get_state(legacy=False))]
        learned = learned | {"random_state_": rng}
    with lock_of(estimator):
        at_once((setattr, estimator, "__dict__", learned), *calls)


#: Held by the thread that has set the number of threads, which is one for the process.
BLAS_LOCK = threading.Lock()


@functools.cache
def _blas() -> Any:
    """The BLAS libraries of this process; finding them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Products have one thread, unless another thread has set it already."""
    if not BLAS_LOCK.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        BLAS_LOCK.release()
