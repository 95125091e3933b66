"""Guards of learning: signals such as Ctrl-C wait for whole rounds; other threads are refused."""

import _signal  # without the enums of `signal`, which cost more than a row of learning
import functools
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from skstructured._learners.gates import Gate, between_blocks

P = ParamSpec("P")
T = TypeVar("T")

#: Signals whose handlers may raise in the middle of a round, as Ctrl-C does.
RAISING = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGALRM", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGBREAK")
    if hasattr(signal, name)
)


class uninterrupted:  # noqa: N801
    """A block that Ctrl-C and other signals do not interrupt: handlers are called right after it.

    Weights that have moved are then always counted. Python calls handlers in the main thread alone,
    so that learning in another one is never interrupted. After it those pass that wait to predict
    with `estimator`.
    """

    def __init__(self, estimator: object = None) -> None:
        self._estimator = estimator

    def __enter__(self) -> Self:
        self._came: list[tuple[int, FrameType | None]] = []
        self._handlers: dict[int, Callable[..., object]] = {}
        self._held: list[int] = []
        if threading.current_thread() is threading.main_thread():
            try:
                self._hold()
            except BaseException:  # a signal that came while others were held already
                self._release()
                raise
        return self

    def _hold(self) -> None:
        for number in RAISING:
            handler = _signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                self._held.append(number)
                _signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came.append((number, frame))

    def _release(self) -> None:
        """Give every handler back, although the first ones given back may raise meanwhile."""
        try:
            while self._held:
                _signal.signal(self._held[-1], self._handlers[self._held[-1]])
                self._held.pop()
        except BaseException:
            self._release()
            raise

    def __exit__(self, *error: object) -> None:
        try:
            if error[0] is None:
                between_blocks(self._estimator)
        finally:
            self._release()
        if self._came:
            self._call_handlers()

    def _call_handlers(self) -> None:
        """Call the handler of every signal that came, also where the one before it raised."""
        number, frame = self._came.pop(0)
        try:
            self._handlers[number](number, frame)
        finally:
            if self._came:
                self._call_handlers()


def exclusive(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Have a method that learns refuse to run beside another thread's on the same estimator.

    Those that predict are let pass between two blocks, see `gates`.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        mine = Gate()
        try:
            held = mine.take(self)
            if held is not mine:
                return method(self, *args, **kwargs)
            mine.close(self)
            return method(self, *args, **kwargs)
        finally:
            mine.held.clear()  # one step, before any that a signal can come in between
            mine.remove(self)

    return guarded
