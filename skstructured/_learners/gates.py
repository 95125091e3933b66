"""Predictions beside a thread that learns: they read between two blocks, never within one.

As long as nobody learns, readers of an estimator note that they read, and wait for nobody. Who
begins to learn waits until those are done. From then on readers wait at the gate of the learner,
which lets those that have come pass after every block.
"""

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

#: Seconds between two looks at who is still reading, and of those that wait at whether a signal
#: kept the other side from telling them.
LOOK, WAIT = 5e-5, 0.1

#: The gate of every estimator that learns now, by identity; also gates that are no longer `held`,
#: where a signal came before they were removed.
_LEARNING: dict[int, "Gate"] = {}

#: Held while a gate is removed.
_REMOVING = threading.Lock()

#: (identity of an estimator, thread) of those that read while nobody learned.
_READING: dict[tuple[int, int], None] = {}


class Ticket:
    """A reader at a gate: it waits for the lock `go`, and the learning thread for `done`.

    Events of `threading` are not for what a signal may interrupt: they hold a lock of their own.
    """

    def __init__(self) -> None:
        self.go, self.done, self.is_over = threading.Lock(), threading.Lock(), False
        self.go.acquire()
        self.done.acquire()

    def let_go(self) -> None:
        """Let the reader go on, unless it was let go before."""
        with contextlib.suppress(RuntimeError):
            self.go.release()


class Gate:
    """The gate of a thread that learns: readers wait here, and pass between blocks.

    It is in use as long as `held` is not empty. A signal may raise wherever a function of Python
    begins, but not between the parts of ``gate.held.clear()``, which is how learning ends.
    """

    __slots__ = ("held", "thread", "waiting")

    def __init__(self) -> None:
        self.thread, self.held = threading.get_ident(), [True]
        self.waiting: dict[Ticket, None] = {}

    def take(self, estimator: object) -> "Gate":
        """The gate by which the thread learns: itself, or one before. RuntimeError if others do."""
        while True:
            held = _LEARNING.setdefault(id(estimator), self)
            if held is self:
                return held
            if held.held:
                break
            held.remove(estimator)
        if held.thread != self.thread:
            raise _refusal(estimator)
        return held

    def close(self, estimator: object) -> None:
        """Wait for the readers that began before to finish."""
        key = id(estimator)
        while _READING and self._is_read(key):
            time.sleep(LOOK)

    def _is_read(self, key: int) -> bool:
        """Whether another thread reads the estimator of this identity."""
        return any(who == key and thread != self.thread for who, thread in list(_READING))

    def let_pass(self) -> None:
        """Let all waiting readers read side by side, and wait for them."""
        here = list(self.waiting)
        for ticket in here:
            ticket.let_go()
        for ticket in here:
            while not ticket.done.acquire(timeout=WAIT) and ticket in self.waiting:
                continue

    def remove(self, estimator: object) -> None:
        """Remove the gate once it is not held any more; waiting readers go on without it."""
        with _REMOVING:
            if _LEARNING.get(id(estimator)) is self:
                del _LEARNING[id(estimator)]
        for ticket in list(self.waiting):
            ticket.is_over = True
            ticket.let_go()

    def passed(self, key: tuple[int, int], read: Callable[[], T]) -> tuple[T] | None:
        """What `read` returns between two blocks, in a tuple; None where learning has ended."""
        ticket = Ticket()
        self.waiting[ticket] = None
        try:
            while not ticket.go.acquire(timeout=WAIT if self.held else 0.0):
                if not self.held:
                    return None
            if ticket.is_over:
                return None
            _READING[key] = None
            return (read(),)
        finally:
            _READING.pop(key, None)
            self.waiting.pop(ticket, None)
            ticket.done.release()


def gate_of(key: int) -> Gate | None:
    """The gate of the estimator of this identity, None where nobody learns with it."""
    gate = _LEARNING.get(key)
    return gate if gate is not None and gate.held else None


def _refusal(estimator: object) -> RuntimeError:
    return RuntimeError(
        f"this {type(estimator).__name__} is learning in another thread: one thread at a time "
        "may call its fit, partial_fit or update, or save it, while any number predict."
    )


def refuse_elsewhere(estimator: object) -> None:
    """Raise a RuntimeError if another thread learns with the estimator."""
    gate = gate_of(id(estimator))
    if gate is not None and gate.thread != threading.get_ident():
        raise _refusal(estimator)


def reads_state(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Have a method that reads what was learned see it between two blocks of a learning thread."""

    @functools.wraps(method)
    def reads(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (id(self), threading.get_ident())
        if key in _READING:
            return method(self, *args, **kwargs)
        gate = gate_of(key[0]) if _LEARNING else None
        if gate is not None and gate.thread == key[1]:
            return method(self, *args, **kwargs)
        while True:
            _READING[key] = None
            try:
                gate = gate_of(key[0]) if _LEARNING else None
                if gate is None:
                    return method(self, *args, **kwargs)
            finally:
                _READING.pop(key, None)
            found = gate.passed(key, lambda: method(self, *args, **kwargs))
            if found is not None:
                return found[0]

    return reads


def between_blocks(estimator: object) -> None:
    """Say that a block has been learned, so that readers may pass."""
    gate = gate_of(id(estimator))
    if gate is not None and gate.waiting:
        gate.let_pass()


def _forget() -> None:
    """Forget all gates in a child process, which has none of the parent's threads."""
    _LEARNING.clear()
    _READING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
