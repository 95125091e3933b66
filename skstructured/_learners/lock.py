"""One lock for the learned state: held while a block is learned, and while the state is read.

A reader then sees a state between two blocks, and threads that learn take turns by blocks. The
thread that holds the lock may acquire it again, so a signal handler never waits.
"""

import contextlib
import copy
import os
import threading
import weakref
from typing import Any, TypeVar

from skstructured._engine.state import at_once, own

T = TypeVar("T")


class _Lock:
    """A lock that is renewed in a child process, in which no thread would release the old one."""

    __slots__ = ("__weakref__", "held")

    def __init__(self) -> None:
        self.held = threading.RLock()
        _LOCKS.add(self)

    def __reduce__(self) -> Any:
        return _Lock, ()


#: All locks of the process.
_LOCKS: weakref.WeakSet[_Lock] = weakref.WeakSet()


def _forked() -> None:
    for lock in _LOCKS:
        lock.held = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@property  # type: ignore[misc]  # of the classes that `locked` makes
def _held(self: Any) -> Any:
    """The lock, which pickles and deep copies do not have."""
    try:
        return self._lock.held
    except AttributeError:
        return vars(self).setdefault("_lock", _Lock()).held


def _copied(self: Any) -> Any:
    with self.lock:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        return twin


def locked(kind: type[T]) -> type[T]:
    """Class decorator: objects have a `lock`; copies and pickles are made between two blocks."""
    pickled: Any = kind.__getstate__

    def state(self: Any) -> dict[str, Any]:
        with self.lock:
            return {name: own(value) for name, value in pickled(self).items() if name != "_lock"}

    methods = {"lock": _held, "__copy__": _copied, "__getstate__": state}
    for name, method in methods.items():
        setattr(kind, name, method)
    return kind


UNLOCKED: Any = contextlib.nullcontext()


def lock_of(learner: Any) -> Any:
    """The lock of an estimator's learned state: that of its model, or its own."""
    return getattr(getattr(learner, "_model", learner), "lock", UNLOCKED)


class learning_on_a_copy:  # noqa: N801
    """Context manager: a copy of an estimator learns a block, and hands it over as a whole.

    An error, or a signal handler that raises, leaves the estimator unchanged. The copy has its own
    generator if it `draws`.
    """

    def __init__(self, estimator: Any, draws: bool = False) -> None:
        self._estimator, self._draws = estimator, draws
        self._twin = copy.copy(estimator)

    def __enter__(self) -> Any:
        state = vars(self._twin)
        state.update({name: own(part) for name, part in state.items() if name[0] == "_"})
        if self._draws:
            self._twin.random_state_ = copy.deepcopy(self._twin.random_state_)
        return self._twin

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            return
        learned, calls = vars(self._twin), []
        if self._draws:
            rng = self._estimator.random_state_
            calls = [(rng.set_state, learned["random_state_"].get_state(legacy=False))]
            learned = learned | {"random_state_": rng}
        at_once((vars(self._estimator).update, learned), *calls)
